//! An application on sqlx.

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, Utc};
use framework_checks::{step, url};
use futures::TryStreamExt;
use serde_json::{Value, json};
use sqlx::migrate::{Migrate, Migrator};
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlPool, MySqlPoolOptions};
use sqlx::types::{BigDecimal, Json};
use sqlx::{Acquire, Column, Connection, Either, Executor, FromRow, QueryBuilder, Row, Statement, TypeInfo};

const DATABASE: &str = "framework_sqlx";
static MIGRATIONS: Migrator = sqlx::migrate!("migrations/sqlx");

#[derive(sqlx::Type)]
#[sqlx(rename_all = "lowercase")]
enum Kind {
    Small,
    Large,
}

#[derive(Debug, FromRow)]
#[allow(dead_code)]
struct Customer {
    id: u64,
    name: String,
    kind: String,
    balance: BigDecimal,
    born: Option<NaiveDate>,
    seen: Option<NaiveDateTime>,
    at: Option<DateTime<Utc>>,
    opens: Option<NaiveTime>,
    active: bool,
    picture: Option<Vec<u8>>,
    score: Option<f64>,
    ratio: Option<f32>,
    small: Option<i8>,
    big: Option<i64>,
    flags: Option<u8>,
    year: Option<u16>,
    data: Option<Json<Value>>,
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(run()).expect("the steps that all others need");
}

async fn run() -> Result<(), sqlx::Error> {
    let mut root = MySqlConnection::connect(&url("")).await?;
    root.execute(format!("DROP DATABASE IF EXISTS {DATABASE}").as_str())
        .await?;
    root.execute(format!("CREATE DATABASE {DATABASE}").as_str())
        .await?;
    root.close().await?;
    let pool = MySqlPoolOptions::new()
        .max_connections(4)
        .connect(&url(DATABASE))
        .await?;
    migrations(&pool).await;
    step("write every type", insert(&pool).await);
    step("read it", read(&pool, "Ann").await);
    step("read what is NULL", read(&pool, "Bob").await);
    step("text protocol", text(&pool).await);
    step("tuples and scalars", scalars(&pool).await);
    step("decimals", decimals(&pool).await);
    step("chrono", dates(&pool).await);
    step("JSON", documents(&pool).await);
    step("many rows in one statement", many(&pool).await);
    step("upsert", upsert(&pool).await);
    step("transactions", transactions(&pool).await);
    step("locks", locks(&pool).await);
    step("several statements", several(&pool).await);
    step("describe", describe(&pool).await);
    step("errors", errors(&pool).await);
    step("streams", streams(&pool).await);
    step("sessions", sessions(&pool).await);
    step("undo", undo(&pool).await);
    pool.close().await;
    Ok(())
}

/// What the macro read at compile time, run forward, again, and looked at.
async fn migrations(pool: &MySqlPool) {
    step("migrate", MIGRATIONS.run(pool).await);
    step("migrate again", MIGRATIONS.run(pool).await);
    let listed = async {
        let mut connection = pool.acquire().await?;
        connection.ensure_migrations_table().await?;
        connection.lock().await?;
        let list = connection.list_applied_migrations().await?;
        connection.unlock().await?;
        Ok::<_, sqlx::Error>(
            list.iter()
                .map(|m| (m.version, m.checksum.len()))
                .collect::<Vec<_>>(),
        )
    };
    step("applied migrations", listed.await);
}

async fn insert(pool: &MySqlPool) -> Result<(u64, u64, u64), sqlx::Error> {
    let ann = sqlx::query(
        "INSERT INTO customer (name, kind, balance, born, seen, at, opens, active, picture, score, ratio, small, big, flags, year, data)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind("Ann")
    .bind(Kind::Large)
    .bind("12.50".parse::<BigDecimal>().expect("a decimal"))
    .bind(NaiveDate::from_ymd_opt(1990, 2, 28))
    .bind(NaiveDate::from_ymd_opt(2024, 5, 6).and_then(|d| d.and_hms_micro_opt(7, 8, 9, 123_456)))
    .bind(DateTime::from_timestamp_millis(1_700_000_000_123))
    .bind(NaiveTime::from_hms_opt(9, 30, 1))
    .bind(false)
    .bind(vec![0_u8, 255, 39])
    .bind(-2.5e300)
    .bind(1.5_f32)
    .bind(-128_i8)
    .bind(i64::MIN)
    .bind(5_u8)
    .bind(2155_u16)
    .bind(Json(json!({"a": [1, null, "😀"], "b": 1.5})))
    .execute(pool)
    .await?;
    let bob = sqlx::query("INSERT INTO customer (name) VALUES (?)")
        .bind("Bob")
        .execute(pool)
        .await?;
    Ok((ann.last_insert_id(), ann.rows_affected(), bob.last_insert_id()))
}

async fn read(pool: &MySqlPool, name: &str) -> Result<Option<Customer>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM customer WHERE name = ?")
        .bind(name)
        .fetch_optional(pool)
        .await
}

/// Without prepared statements all values are text.
async fn text(pool: &MySqlPool) -> Result<Vec<(String, String)>, sqlx::Error> {
    let row = pool.fetch_one("SELECT * FROM customer WHERE id = 1").await?;
    let types = row
        .columns()
        .iter()
        .map(|c| (c.name().to_owned(), c.type_info().name().to_owned()))
        .collect();
    let customer = Customer::from_row(&row)?;
    println!("text protocol, the row: {customer:?}");
    Ok(types)
}

async fn scalars(pool: &MySqlPool) -> Result<(i64, (BigDecimal, i64), Option<String>, bool), sqlx::Error> {
    let count = sqlx::query_scalar("SELECT COUNT(*) FROM customer")
        .fetch_one(pool)
        .await?;
    let pair = sqlx::query_as("SELECT SUM(balance), CAST(? AS SIGNED) + 1 FROM customer")
        .bind(41)
        .fetch_one(pool)
        .await?;
    let none = sqlx::query_scalar("SELECT MAX(name) FROM customer WHERE id > ?")
        .bind(100)
        .fetch_one(pool)
        .await?;
    let truth = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM customer WHERE active)")
        .fetch_one(pool)
        .await?;
    Ok((count, pair, none, truth))
}

async fn decimals(pool: &MySqlPool) -> Result<Vec<BigDecimal>, sqlx::Error> {
    let mut all = Vec::new();
    for text in [
        "0",
        "-0.01",
        "99999999999999999999999999999999999.999999999999999999999999999999",
        "1E+10",
        "-5",
    ] {
        let decimal: BigDecimal = text.parse().expect("a decimal");
        all.push(
            sqlx::query_scalar("SELECT CAST(? AS DECIMAL(65, 30))")
                .bind(decimal)
                .fetch_one(pool)
                .await?,
        );
    }
    all.push(
        sqlx::query_scalar("SELECT ? / 3")
            .bind("10".parse::<BigDecimal>().expect("a decimal"))
            .fetch_one(pool)
            .await?,
    );
    Ok(all)
}

async fn dates(pool: &MySqlPool) -> Result<(Vec<String>, Vec<Option<NaiveDateTime>>), sqlx::Error> {
    let mut times = Vec::new();
    for (hours, micro) in [(0, 0), (23, 999_999), (0, 1)] {
        let time = NaiveTime::from_hms_micro_opt(hours, 0, 0, micro);
        let back: NaiveTime = sqlx::query_scalar("SELECT CAST(? AS TIME(6))")
            .bind(time)
            .fetch_one(pool)
            .await?;
        times.push(back.to_string());
    }
    let mut all = Vec::new();
    for (year, month, day) in [(1000, 1, 1), (9999, 12, 31), (2024, 2, 29)] {
        let day = NaiveDate::from_ymd_opt(year, month, day).and_then(|d| d.and_hms_opt(0, 0, 0));
        all.push(
            sqlx::query_scalar("SELECT CAST(? AS DATETIME(6)) - INTERVAL 0 SECOND")
                .bind(day)
                .fetch_one(pool)
                .await?,
        );
    }
    let range = sqlx::query_scalar::<_, Option<NaiveDateTime>>(
        "SELECT seen FROM customer WHERE seen BETWEEN ? AND ?",
    )
    .bind(NaiveDate::from_ymd_opt(2024, 5, 6))
    .bind(DateTime::from_timestamp(1_800_000_000, 0));
    all.extend(range.fetch_all(pool).await?);
    Ok((times, all))
}

async fn documents(pool: &MySqlPool) -> Result<(Value, String, Vec<i64>), sqlx::Error> {
    sqlx::query("UPDATE customer SET data = JSON_SET(data, '$.c', CAST(? AS JSON)) WHERE id = 1")
        .bind(Json(json!({"deep": [true]})))
        .execute(pool)
        .await?;
    let Json(whole) = sqlx::query_scalar("SELECT data FROM customer WHERE id = 1")
        .fetch_one(pool)
        .await?;
    let part =
        sqlx::query_scalar("SELECT CAST(data->>'$.a[2]' AS CHAR(10)) FROM customer WHERE data->'$.b' > ?")
            .bind(1)
            .fetch_one(pool)
            .await?;
    let rows = sqlx::query_scalar(
        "SELECT t.n FROM JSON_TABLE(?, '$[*]' COLUMNS (n BIGINT PATH '$')) t ORDER BY t.n DESC",
    )
    .bind(Json(json!([3, 1, 2])))
    .fetch_all(pool)
    .await?;
    Ok((whole, part, rows))
}

async fn many(pool: &MySqlPool) -> Result<(u64, Vec<(u64, BigDecimal)>), sqlx::Error> {
    let mut builder: QueryBuilder<sqlx::MySql> =
        QueryBuilder::new("INSERT INTO purchase (customer_id, total) ");
    builder.push_values(0..1000, |mut row, i| {
        row.push_bind(1 + i % 2).push_bind(i);
    });
    let inserted = builder.build().execute(pool).await?.rows_affected();
    let mut builder = QueryBuilder::new("SELECT customer_id, total FROM totals WHERE customer_id IN (");
    let mut list = builder.separated(", ");
    for id in [1, 2, 3] {
        list.push_bind(id);
    }
    builder.push(") ORDER BY customer_id");
    Ok((inserted, builder.build_query_as().fetch_all(pool).await?))
}

async fn upsert(pool: &MySqlPool) -> Result<Vec<(u64, u64)>, sqlx::Error> {
    let mut all = Vec::new();
    for (name, balance) in [("Cid", 1), ("Cid", 2), ("Cid", 2)] {
        let done = sqlx::query("INSERT INTO customer (name, balance) VALUES (?, ?) AS new ON DUPLICATE KEY UPDATE balance = new.balance")
            .bind(name)
            .bind(balance)
            .execute(pool)
            .await?;
        all.push((done.rows_affected(), done.last_insert_id()));
    }
    Ok(all)
}

async fn transactions(pool: &MySqlPool) -> Result<Vec<i64>, sqlx::Error> {
    let count = "SELECT COUNT(*) FROM purchase WHERE total > 5000";
    let add = "INSERT INTO purchase (customer_id, total) VALUES (1, ?)";
    let mut counts = Vec::new();
    let mut outer = pool.begin().await?;
    sqlx::query(add).bind(6000).execute(&mut *outer).await?;
    let mut inner = outer.begin().await?;
    sqlx::query(add).bind(6001).execute(&mut *inner).await?;
    counts.push(sqlx::query_scalar(count).fetch_one(&mut *inner).await?);
    inner.rollback().await?;
    counts.push(sqlx::query_scalar(count).fetch_one(&mut *outer).await?);
    counts.push(sqlx::query_scalar(count).fetch_one(pool).await?);
    outer.commit().await?;
    {
        // Given up without a word: it is rolled back when the connection is used next.
        let mut dropped = pool.begin().await?;
        sqlx::query(add).bind(6002).execute(&mut *dropped).await?;
    }
    counts.push(sqlx::query_scalar(count).fetch_one(pool).await?);
    let mut read_only = pool.begin_with("START TRANSACTION READ ONLY").await?;
    let refused = sqlx::query(add)
        .bind(6003)
        .execute(&mut *read_only)
        .await
        .expect_err("it is read only");
    println!("read-only transaction: {refused}");
    Ok(counts)
}

async fn locks(pool: &MySqlPool) -> Result<(Vec<u64>, String), sqlx::Error> {
    let mut first = pool.begin().await?;
    sqlx::query("SELECT id FROM customer WHERE id = 1 FOR UPDATE")
        .fetch_one(&mut *first)
        .await?;
    let mut second = pool.begin().await?;
    let others = sqlx::query_scalar("SELECT id FROM customer ORDER BY id FOR UPDATE SKIP LOCKED")
        .fetch_all(&mut *second)
        .await?;
    let refused = sqlx::query("SELECT id FROM customer WHERE id = 1 FOR SHARE NOWAIT")
        .fetch_one(&mut *second)
        .await;
    Ok((others, refused.err().map(|e| e.to_string()).unwrap_or_default()))
}

async fn several(pool: &MySqlPool) -> Result<Vec<String>, sqlx::Error> {
    let mut connection = pool.acquire().await?;
    let mut results =
        connection.fetch_many("SELECT 1 AS a; UPDATE customer SET score = 1 WHERE id = 2; SELECT 'two' AS b");
    let mut all = Vec::new();
    while let Some(result) = results.try_next().await? {
        all.push(match result {
            Either::Left(done) => format!("{} rows affected", done.rows_affected()),
            Either::Right(row) => format!("a row of {:?}", row.column(0).name()),
        });
    }
    Ok(all)
}

async fn describe(pool: &MySqlPool) -> Result<(Vec<(String, String, Option<bool>)>, String), sqlx::Error> {
    let described = pool.describe("SELECT c.*, p.total, p.total + 1 AS more FROM customer c LEFT JOIN purchase p ON p.customer_id = c.id WHERE p.id = ?").await?;
    let columns = described.columns().iter().enumerate();
    let columns = columns
        .map(|(i, c)| {
            (
                c.name().to_owned(),
                c.type_info().name().to_owned(),
                described.nullable(i),
            )
        })
        .collect();
    let prepared = pool.prepare("SELECT ?, ?").await?;
    Ok((columns, format!("{:?}", prepared.parameters())))
}

async fn errors(pool: &MySqlPool) -> Result<Vec<String>, sqlx::Error> {
    let mut all = Vec::new();
    for sql in [
        "INSERT INTO customer (name) VALUES ('Ann')",
        "INSERT INTO purchase (customer_id, total) VALUES (77, 1)",
        "INSERT INTO purchase (customer_id, total) VALUES (1, -1)",
        "INSERT INTO customer (name) VALUES (NULL)",
        "SELECT nothing FROM customer",
        "SELEC 1",
    ] {
        let error = sqlx::query(sql).execute(pool).await.expect_err("it is refused");
        let error = error.as_database_error().expect("the server's");
        let kind = (
            error.is_unique_violation(),
            error.is_foreign_key_violation(),
            error.is_check_violation(),
        );
        all.push(format!("{:?} {:?} {kind:?}", error.code(), error.message()));
    }
    Ok(all)
}

async fn streams(pool: &MySqlPool) -> Result<(usize, i64), sqlx::Error> {
    let mut rows = sqlx::query_as::<_, (i32,)>("SELECT total FROM purchase WHERE total < ? ORDER BY id")
        .bind(5000)
        .fetch(pool);
    let (mut count, mut sum) = (0, 0);
    while let Some((total,)) = rows.try_next().await? {
        sum += i64::from(total);
        count += 1;
    }
    Ok((count, sum))
}

async fn sessions(pool: &MySqlPool) -> Result<(String, String, String), sqlx::Error> {
    let charsets = "SELECT CONCAT_WS(' ', @@character_set_client, @@collation_connection)";
    let usual = sqlx::query_scalar(charsets).fetch_one(pool).await?;
    let options: MySqlConnectOptions = url(DATABASE).parse()?;
    let options = options
        .charset("latin1")
        .collation("latin1_german1_ci")
        .timezone(None)
        .no_engine_substitution(false)
        .pipes_as_concat(false)
        .set_names(true);
    let mut plain = MySqlConnection::connect_with(&options).await?;
    let other = sqlx::query_scalar(charsets).fetch_one(&mut plain).await?;
    plain.ping().await?;
    let umlauts = sqlx::query_scalar("SELECT CONCAT('äö', ?)")
        .bind("ü")
        .fetch_one(&mut plain)
        .await?;
    plain.close().await?;
    Ok((usual, other, umlauts))
}

async fn undo(pool: &MySqlPool) -> Result<Vec<String>, sqlx::migrate::MigrateError> {
    MIGRATIONS.undo(pool, 20240101000000).await?;
    let tables = "SELECT CAST(TABLE_NAME AS CHAR(64)) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? ORDER BY 1";
    let mut left: Vec<String> = sqlx::query_scalar(tables).bind(DATABASE).fetch_all(pool).await?;
    MIGRATIONS.undo(pool, 0).await?;
    left.push("then".to_owned());
    left.extend(
        sqlx::query_scalar::<_, String>(tables)
            .bind(DATABASE)
            .fetch_all(pool)
            .await?,
    );
    Ok(left)
}
