//! An application on diesel, through the C client library.

use bigdecimal::BigDecimal;
use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use diesel::connection::{AnsiTransactionManager, Instrumentation, TransactionManager};
use diesel::dsl::{count_star, exists, max, sql, sum};
use diesel::prelude::*;
use diesel::result::Error;
use diesel::sql_types::{BigInt, Decimal, Integer, Nullable, Text, Unsigned};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use framework_checks::{step, url};
use serde_json::{Value, json};

const DATABASE: &str = "framework_diesel";
const MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations/diesel");

// The tables that the migrations make.
diesel::table! {
    customers (id) {
        id -> Unsigned<Bigint>,
        #[max_length = 80]
        name -> Varchar,
        balance -> Decimal,
        born -> Nullable<Date>,
        seen -> Nullable<Datetime>,
        opens -> Nullable<Time>,
        active -> Bool,
        picture -> Nullable<Blob>,
        score -> Nullable<Double>,
        data -> Nullable<Json>,
    }
}
diesel::table! {
    purchases (id) {
        id -> Unsigned<Bigint>,
        customer_id -> Unsigned<Bigint>,
        #[max_length = 200]
        note -> Varchar,
        total -> Integer,
    }
}
diesel::table! {
    tags (purchase_id, name) {
        purchase_id -> Unsigned<Bigint>,
        #[max_length = 20]
        name -> Varchar,
    }
}
diesel::joinable!(purchases -> customers (customer_id));
diesel::joinable!(tags -> purchases (purchase_id));
diesel::allow_tables_to_appear_in_same_query!(customers, purchases, tags);

diesel::define_sql_function!(fn upper(text: Text) -> Text);

#[derive(Debug, Clone, Queryable, Selectable, Identifiable, AsChangeset)]
struct Customer {
    id: u64,
    name: String,
    balance: BigDecimal,
    born: Option<NaiveDate>,
    seen: Option<NaiveDateTime>,
    opens: Option<NaiveTime>,
    active: bool,
    picture: Option<Vec<u8>>,
    score: Option<f64>,
    data: Option<Value>,
}

#[derive(Debug, Queryable, Selectable, Identifiable, Associations)]
#[diesel(belongs_to(Customer))]
#[allow(dead_code)]
struct Purchase {
    id: u64,
    customer_id: u64,
    note: String,
    total: i32,
}

#[derive(Insertable)]
#[diesel(table_name = customers)]
struct NewCustomer<'a> {
    name: &'a str,
    balance: BigDecimal,
    born: Option<NaiveDate>,
    seen: Option<NaiveDateTime>,
    opens: Option<NaiveTime>,
    active: bool,
    picture: Option<&'a [u8]>,
    score: Option<f64>,
    data: Option<Value>,
}

#[derive(Debug, QueryableByName)]
#[allow(dead_code)]
struct Column {
    #[diesel(sql_type = Text)]
    column_name: String,
    #[diesel(sql_type = Text)]
    data_type: String,
    #[diesel(sql_type = Nullable<Unsigned<BigInt>>)]
    character_maximum_length: Option<u64>,
}

fn decimal(text: &str) -> BigDecimal {
    text.parse().expect("a decimal")
}

fn main() {
    let mut root = MysqlConnection::establish(&url("")).expect("a connection");
    diesel::sql_query(format!("DROP DATABASE IF EXISTS {DATABASE}"))
        .execute(&mut root)
        .expect("dropped");
    diesel::sql_query(format!("CREATE DATABASE {DATABASE}"))
        .execute(&mut root)
        .expect("created");
    let c = &mut MysqlConnection::establish(&url(DATABASE)).expect("a connection");
    c.set_instrumentation(None::<Box<dyn Instrumentation>>);
    step("migrate", migrate(c));
    step("columns that schema inference reads", columns(c));
    step("insert", insert(c));
    step("read", customers::table.order(customers::id).load::<Customer>(c));
    step("filters", filters(c));
    step("change", change(c));
    step("upsert", upsert(c));
    step("associations", associations(c));
    step("joins", joins(c));
    step("groups", groups(c));
    step("subqueries", subqueries(c));
    step("replace, and insert what is not there", replace(c));
    step("functions and raw SQL", raw(c));
    step("transactions", transactions(c));
    step("locks", locks(c));
    step("errors", errors(c));
    step("rows one by one", one_by_one(c));
    step(
        "undo migrations",
        c.revert_all_migrations(MIGRATIONS)
            .map(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>()),
    );
}

fn migrate(
    c: &mut MysqlConnection,
) -> Result<(Vec<String>, bool, Vec<String>), Box<dyn std::error::Error + Send + Sync>> {
    let run = c
        .run_pending_migrations(MIGRATIONS)?
        .iter()
        .map(ToString::to_string)
        .collect();
    c.revert_last_migration(MIGRATIONS)?;
    c.run_pending_migrations(MIGRATIONS)?;
    let pending = c.has_pending_migration(MIGRATIONS)?;
    let applied = c.applied_migrations()?.iter().map(ToString::to_string).collect();
    Ok((run, pending, applied))
}

fn columns(c: &mut MysqlConnection) -> QueryResult<Vec<Column>> {
    diesel::sql_query(
        "SELECT column_name AS column_name, column_type AS data_type, character_maximum_length AS character_maximum_length
         FROM information_schema.columns WHERE table_schema = ? AND table_name = ? ORDER BY ordinal_position",
    )
    .bind::<Text, _>(DATABASE)
    .bind::<Text, _>("purchases")
    .load(c)
}

fn insert(c: &mut MysqlConnection) -> QueryResult<(usize, usize, usize)> {
    let ann = NewCustomer {
        name: "Ann",
        balance: decimal("12.50"),
        born: NaiveDate::from_ymd_opt(1990, 2, 28),
        seen: NaiveDate::from_ymd_opt(2024, 5, 6).and_then(|d| d.and_hms_micro_opt(7, 8, 9, 123_456)),
        opens: NaiveTime::from_hms_opt(9, 30, 1),
        active: false,
        picture: Some(&[0, 255, 39]),
        score: Some(-2.5e300),
        data: Some(json!({"a": [1, null, "😀"]})),
    };
    let one = diesel::insert_into(customers::table).values(&ann).execute(c)?;
    let more = diesel::insert_into(customers::table)
        .values(&["Bob", "Cid", "Dan"].map(|name| customers::name.eq(name)))
        .execute(c)?;
    let rows: Vec<_> = (0..60)
        .map(|i| {
            (
                purchases::customer_id.eq(1 + i % 3),
                purchases::total.eq(i as i32),
            )
        })
        .collect();
    Ok((
        one,
        more,
        diesel::insert_into(purchases::table).values(&rows).execute(c)?,
    ))
}

fn filters(c: &mut MysqlConnection) -> QueryResult<Vec<Vec<String>>> {
    use self::customers::dsl::*;
    let day = NaiveDate::from_ymd_opt(2024, 1, 1)
        .and_then(|d| d.and_hms_opt(0, 0, 0))
        .expect("a time");
    Ok(vec![
        customers
            .select(name)
            .filter(name.like("%n%").and(active.eq(false)))
            .load(c)?,
        customers
            .select(name)
            .filter(born.is_null().or(seen.gt(day)))
            .order((born.desc(), name.asc()))
            .limit(2)
            .offset(1)
            .load(c)?,
        customers
            .select(name)
            .filter(name.eq_any(["Bob", "Dan", "Eve"]))
            .order(name)
            .load(c)?,
        customers
            .select(name)
            .filter(balance.between(decimal("1"), decimal("20.0")))
            .load(c)?,
        customers
            .select(name)
            .filter(id.ne_all([1_u64, 2]))
            .distinct()
            .order(name.desc())
            .load(c)?,
        customers
            .select(name)
            .filter(seen.lt(diesel::dsl::sql("NOW(6)")))
            .load(c)?,
        customers
            .select(name)
            .filter(picture.eq(vec![0_u8, 255, 39]))
            .load(c)?,
        customers
            .select(name)
            .filter(opens.le(NaiveTime::from_hms_opt(10, 0, 0)))
            .load(c)?,
    ])
}

fn change(c: &mut MysqlConnection) -> QueryResult<(usize, usize, Customer, usize)> {
    use self::customers::dsl::*;
    let some = diesel::update(customers.filter(name.eq("Bob")))
        .set((balance.eq(balance + decimal("1.25")), active.eq(false)))
        .execute(c)?;
    let mut ann: Customer = customers.find(1).first(c)?;
    ann.score = Some(0.1);
    let same = diesel::update(&ann).set(&ann).execute(c)?;
    let bob = customers.filter(name.eq("Bob")).first(c)?;
    Ok((
        some,
        same,
        bob,
        diesel::delete(customers.filter(name.eq("Dan"))).execute(c)?,
    ))
}

fn upsert(c: &mut MysqlConnection) -> QueryResult<(Vec<usize>, BigDecimal)> {
    use self::customers::dsl::*;
    use diesel::dsl::DuplicatedKeys;
    let mut counts = Vec::new();
    for amount in ["5", "6", "6"] {
        let done = diesel::insert_into(customers)
            .values((name.eq("Eve"), balance.eq(decimal(amount))))
            .on_conflict(DuplicatedKeys)
            .do_update()
            .set(balance.eq(balance + sql::<Decimal>("VALUES(balance)")))
            .execute(c);
        counts.push(done?);
    }
    Ok((counts, customers.select(balance).filter(name.eq("Eve")).first(c)?))
}

fn associations(c: &mut MysqlConnection) -> QueryResult<Vec<(String, usize, Option<i32>)>> {
    let owners = customers::table.order(customers::id).load::<Customer>(c)?;
    let bought = Purchase::belonging_to(&owners)
        .order(purchases::id)
        .load::<Purchase>(c)?
        .grouped_by(&owners);
    Ok(owners
        .into_iter()
        .zip(bought)
        .map(|(owner, all)| (owner.name, all.len(), all.last().map(|p| p.total)))
        .collect())
}

fn joins(c: &mut MysqlConnection) -> QueryResult<(usize, Vec<(String, Option<i32>)>)> {
    diesel::insert_into(tags::table)
        .values([
            (tags::purchase_id.eq(1), tags::name.eq("new")),
            (tags::purchase_id.eq(2), tags::name.eq("old")),
        ])
        .execute(c)?;
    let three = customers::table
        .inner_join(purchases::table.inner_join(tags::table))
        .filter(tags::name.eq("old"));
    let three = three
        .select((Customer::as_select(), Purchase::as_select(), tags::name))
        .load::<(Customer, Purchase, String)>(c)?;
    let left = customers::table
        .left_join(
            purchases::table.on(purchases::customer_id
                .eq(customers::id)
                .and(purchases::total.gt(57))),
        )
        .order(customers::name)
        .select((customers::name, purchases::total.nullable()))
        .load(c)?;
    Ok((three.len(), left))
}

fn groups(c: &mut MysqlConnection) -> QueryResult<(Vec<(u64, Option<i64>, Option<i32>, i64)>, i64)> {
    let groups = purchases::table
        .group_by(purchases::customer_id)
        .having(count_star().gt(2))
        .select((
            purchases::customer_id,
            sum(purchases::total),
            max(purchases::total),
            count_star(),
        ))
        .order(purchases::customer_id.desc())
        .load(c)?;
    Ok((groups, purchases::table.count().get_result(c)?))
}

fn subqueries(c: &mut MysqlConnection) -> QueryResult<(Vec<String>, Vec<String>, bool)> {
    use self::customers::dsl::*;
    let rich = customers
        .select(name)
        .filter(
            id.eq_any(
                purchases::table
                    .select(purchases::customer_id)
                    .filter(purchases::total.gt(58)),
            ),
        )
        .load(c)?;
    let none = customers
        .select(name)
        .filter(diesel::dsl::not(exists(
            purchases::table.filter(purchases::customer_id.eq(id)),
        )))
        .load(c)?;
    let there = diesel::select(exists(customers.filter(name.eq("Ann")))).get_result(c)?;
    Ok((rich, none, there))
}

fn replace(c: &mut MysqlConnection) -> QueryResult<(usize, usize, usize, Vec<(u64, String)>)> {
    use self::tags::dsl::*;
    let row = (purchase_id.eq(1), name.eq("new"));
    let replaced = diesel::replace_into(tags).values(row).execute(c)?;
    let ignored = diesel::insert_or_ignore_into(tags).values(row).execute(c)?;
    let copied = purchases::table
        .filter(purchases::total.gt(57))
        .select((purchases::id, sql::<Text>("'copied'")));
    let copied = diesel::insert_into(tags)
        .values(copied)
        .into_columns((purchase_id, name))
        .execute(c)?;
    Ok((
        replaced,
        ignored,
        copied,
        tags.order((purchase_id, name)).load(c)?,
    ))
}

fn raw(c: &mut MysqlConnection) -> QueryResult<(Vec<String>, Vec<i32>)> {
    let upper = customers::table
        .select(upper(customers::name))
        .order(customers::id)
        .load(c)?;
    let numbers = sql::<Integer>("SELECT total FROM purchases WHERE total < ")
        .bind::<Integer, _>(3)
        .sql(" ORDER BY total DESC")
        .load(c)?;
    Ok((upper, numbers))
}

fn transactions(c: &mut MysqlConnection) -> QueryResult<Vec<i64>> {
    let mut counts = Vec::new();
    let add = |c: &mut MysqlConnection| {
        diesel::insert_into(customers::table)
            .values(customers::name.eq("Fay"))
            .execute(c)
    };
    let rolled_back = c.transaction::<(), Error, _>(|c| {
        add(c)?;
        counts.push(customers::table.count().get_result(c)?);
        let inner = c.transaction::<(), Error, _>(|c| {
            diesel::delete(tags::table).execute(c)?;
            Err(Error::RollbackTransaction)
        });
        println!("savepoint: {inner:?}");
        counts.push(tags::table.count().get_result(c)?);
        Err(Error::RollbackTransaction)
    });
    println!("rolled back: {rolled_back:?}");
    counts.push(customers::table.count().get_result(c)?);
    // A duplicate key ends the statement, not the transaction.
    c.transaction::<(), Error, _>(|c| {
        add(c)?;
        println!("within: {:?}", add(c).is_err());
        Ok(())
    })?;
    counts.push(customers::table.count().get_result(c)?);
    AnsiTransactionManager::begin_transaction_sql(
        c,
        "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
    )?;
    println!("read only: {:?}", add(c).map_err(|e| e.to_string()));
    AnsiTransactionManager::rollback_transaction(c)?;
    Ok(counts)
}

fn locks(c: &mut MysqlConnection) -> QueryResult<(u64, Vec<u64>, Option<String>)> {
    let other =
        &mut MysqlConnection::establish(&url(DATABASE)).map_err(|e| Error::QueryBuilderError(Box::new(e)))?;
    c.transaction(|c| {
        let held = customers::table
            .select(customers::id)
            .filter(customers::id.eq(1))
            .for_update()
            .first(c)?;
        let free = customers::table
            .select(customers::id)
            .order(customers::id)
            .for_update()
            .skip_locked()
            .load(other)?;
        let refused = customers::table
            .filter(customers::id.eq(1))
            .select(customers::name)
            .for_share()
            .no_wait()
            .load::<String>(other);
        Ok((held, free, refused.err().map(|e| e.to_string())))
    })
}

fn errors(c: &mut MysqlConnection) -> Result<Vec<String>, Error> {
    let results = [
        diesel::insert_into(customers::table)
            .values(customers::name.eq("Ann"))
            .execute(c),
        diesel::insert_into(purchases::table)
            .values((purchases::customer_id.eq(77), purchases::total.eq(1)))
            .execute(c),
        diesel::sql_query("INSERT INTO customers (name) VALUES (NULL)").execute(c),
        diesel::sql_query("SELECT nothing FROM customers").execute(c),
        customers::table
            .filter(customers::id.eq(999))
            .first::<Customer>(c)
            .map(|_| 0),
    ];
    Ok(results.into_iter().map(|r| format!("{r:?}")).collect())
}

fn one_by_one(c: &mut MysqlConnection) -> QueryResult<(usize, i32)> {
    let (mut count, mut total) = (0, 0);
    for row in purchases::table
        .select(purchases::total)
        .load_iter::<i32, diesel::connection::DefaultLoadingMode>(c)?
    {
        total += row?;
        count += 1;
    }
    Ok((count, total))
}
