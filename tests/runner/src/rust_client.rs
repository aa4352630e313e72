//! Checks of a MySQL server through the `mysql` crate: the same checks as the programs under
//! `tests/clients/` make.

use mysql::consts::CapabilityFlags;
use mysql::prelude::Queryable;
use mysql::{ChangeUserOpts, Compression, Conn, OptsBuilder, Params, SslOpts, TxOpts, Value, params};

use crate::report::Report;
use crate::server::Address;

const DATABASE: &str = "client_rust";

type Check = fn(&Address) -> Result<(), Failure>;

/// Why a check failed.
struct Failure(String);

impl<E: std::fmt::Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

pub fn check(address: &Address, report: &mut Report) {
    let checks: [(&str, Check); 22] = [
        ("set up", set_up),
        ("connect over the socket", socket),
        ("caching_sha2_password over TLS", tls),
        ("caching_sha2_password by RSA", |a| login(a, "rust_rsa")),
        ("caching_sha2_password, the fast way", |a| login(a, "rust_rsa")),
        ("mysql_native_password", |a| login(a, "rust_native")),
        ("wrong password", wrong_password),
        ("change user and reset", change_user),
        ("types", types),
        ("statements", statements),
        ("types of parameters", parameter_types),
        ("counting found rows", found_rows),
        ("spaces before parentheses", ignore_space),
        ("wide results", wide_results),
        ("unions of 5,000 queries", long_unions),
        ("what the server says of itself", shown),
        ("transactions", transactions),
        ("EXPLAIN ANALYZE of writes", explained_writes),
        ("errors", errors),
        ("views of accounts", views_of_accounts),
        ("big packets", |a| big_packets(a, None)),
        ("compression", |a| big_packets(a, Some(Compression::default()))),
    ];
    for (name, check) in checks {
        report.check(&format!("rust: {name}"), check(address).map_err(|f| f.0));
    }
}

fn long_unions(address: &Address) -> Result<(), Failure> {
    let mut connection = connect(address)?;
    for (union, rows) in [("UNION ALL", 5_000), ("UNION", 1_000)] {
        let parts: Vec<String> = (0..5_000).map(|i| format!("SELECT {} AS a", i % 1_000)).collect();
        let parts = parts.join(&format!(" {union} "));
        let found: Option<(u64, u64)> =
            connection.query_first(format!("SELECT COUNT(*), SUM(a) FROM ({parts}) d"))?;
        equal(union, found, Some((rows, rows / 1_000 * 499_500)))?;
        let all: Vec<u64> = connection.query(parts)?;
        equal("in their order", all.first().zip(all.last()), Some((&0, &999)))?;
    }
    Ok(())
}

/// The queries of writes run and are measured, and nothing is written.
fn explained_writes(address: &Address) -> Result<(), Failure> {
    let mut connection = connect(address)?;
    connection.query_drop("DROP TABLE IF EXISTS written, looked_up")?;
    connection.query_drop("CREATE TABLE written (id INT PRIMARY KEY, n INT)")?;
    connection.query_drop("CREATE TABLE looked_up (id INT PRIMARY KEY, n INT)")?;
    connection.query_drop("INSERT INTO written VALUES (1, 1), (2, 2), (3, 3)")?;
    connection.query_drop("INSERT INTO looked_up VALUES (1, 5), (2, 6)")?;
    for (statement, first, is_counted) in [
        (
            "UPDATE written JOIN looked_up USING (id) SET written.n = 9",
            "-> Update written",
            true,
        ),
        (
            "UPDATE written SET n = 9 WHERE id IN (SELECT n - 4 FROM looked_up)",
            "-> Update written",
            true,
        ),
        (
            "DELETE written FROM written JOIN looked_up USING (id)",
            "-> Delete from written",
            true,
        ),
        (
            "INSERT INTO written SELECT id + 10, n FROM looked_up",
            "-> Insert into written",
            false,
        ),
        (
            "REPLACE INTO written SELECT id, n FROM looked_up",
            "-> Replace into written",
            false,
        ),
        (
            "UPDATE written SET n = 9 WHERE id = 1",
            "<not executable by iterator executor>",
            false,
        ),
    ] {
        let text: Option<String> = connection.query_first(format!("EXPLAIN ANALYZE {statement}"))?;
        let text = text.unwrap_or_default();
        let mut lines = text.lines();
        let line = lines.next().unwrap_or_default();
        let is_measured = line.starts_with('<') || lines.any(|line| line.contains("rows=2 loops=1"));
        if !line.starts_with(first) || !is_measured || line.contains("rows=0 loops=1") != is_counted {
            return Err(Failure(format!("{statement}: {text}")));
        }
    }
    let rows: Vec<(i32, i32)> = connection.query("SELECT id, n FROM written ORDER BY id")?;
    equal("rows", rows, vec![(1, 1), (2, 2), (3, 3)])
}

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, got: T, expected: T) -> Result<(), Failure> {
    if got == expected {
        return Ok(());
    }
    Err(Failure(format!("{what}: {got:.200?}, expected {expected:.200?}")))
}

fn connect(address: &Address) -> mysql::Result<Conn> {
    address.connect_to(DATABASE)
}

fn refused<T>(result: mysql::Result<T>, code: u16, state: &str) -> Result<(), Failure> {
    match result {
        Err(mysql::Error::MySqlError(e)) => equal(&e.message, (e.code, e.state.as_str()), (code, state)),
        Err(e) => Err(e.into()),
        Ok(_) => Err(Failure(format!("no error where {code} was expected"))),
    }
}

fn set_up(address: &Address) -> Result<(), Failure> {
    let mut conn = address.connect()?;
    conn.query_drop("DROP DATABASE IF EXISTS client_rust")?;
    conn.query_drop("CREATE DATABASE client_rust")?;
    for (user, plugin) in [
        ("rust_tls", "caching_sha2_password"),
        ("rust_rsa", "caching_sha2_password"),
        ("rust_native", "mysql_native_password"),
    ] {
        conn.query_drop(format!("DROP USER IF EXISTS '{user}'@'%'"))?;
        conn.query_drop(format!(
            "CREATE USER '{user}'@'%' IDENTIFIED WITH {plugin} BY 'sesame'"
        ))?;
        conn.query_drop(format!("GRANT ALL ON {DATABASE}.* TO '{user}'@'%'"))?;
    }
    Ok(())
}

fn socket(address: &Address) -> Result<(), Failure> {
    let Some(path) = &address.socket else {
        return Ok(());
    };
    let opts = OptsBuilder::new()
        .socket(Some(path.display().to_string()))
        .user(Some("root"))
        .db_name(Some(DATABASE));
    let database: Option<String> = Conn::new(opts)?.query_first("SELECT DATABASE()")?;
    equal("database", database.as_deref(), Some(DATABASE))
}

/// A view reads with the privileges of its definer or its invoker (manual 25.6, "Stored Object Access
/// Control").
fn views_of_accounts(address: &Address) -> Result<(), Failure> {
    let mut root = address.connect()?;
    for statement in [
        "DROP DATABASE IF EXISTS client_rust_secret",
        "CREATE DATABASE client_rust_secret",
        "CREATE TABLE client_rust_secret.t (a INT PRIMARY KEY)",
        "INSERT INTO client_rust_secret.t VALUES (7)",
        "CREATE OR REPLACE VIEW client_rust.of_definer AS SELECT a FROM client_rust_secret.t",
        "CREATE OR REPLACE SQL SECURITY INVOKER VIEW client_rust.of_invoker AS SELECT a FROM client_rust_secret.t",
        "CREATE OR REPLACE SQL SECURITY INVOKER VIEW client_rust.outside AS SELECT a FROM client_rust.of_definer",
        "CREATE OR REPLACE VIEW client_rust.around AS SELECT a FROM client_rust.of_invoker",
        "CREATE OR REPLACE DEFINER = 'rust_rsa'@'%' VIEW client_rust.of_other AS SELECT a FROM client_rust_secret.t",
        "CREATE OR REPLACE DEFINER = 'nobody'@'%' VIEW client_rust.of_nobody AS SELECT a FROM client_rust_secret.t",
    ] {
        root.query_drop(statement)?;
    }
    let mut other = as_user(address, "rust_rsa", "sesame")?;
    let read =
        |conn: &mut Conn, view: &str| conn.query_first::<i64, _>(format!("SELECT a FROM client_rust.{view}"));
    for view in ["of_definer", "outside", "around"] {
        equal(view, read(&mut other, view)?, Some(7))?;
    }
    other.query_drop("UPDATE client_rust.of_definer SET a = 8")?;
    equal("written", read(&mut root, "of_invoker")?, Some(8))?;
    refused(read(&mut other, "of_invoker"), 1356, "HY000")?;
    refused(
        other.query_drop("UPDATE client_rust.of_invoker SET a = 9"),
        1356,
        "HY000",
    )?;
    refused(read(&mut root, "of_other"), 1356, "HY000")?;
    refused(read(&mut root, "of_nobody"), 1449, "HY000")?;
    refused(
        other.query_drop("CREATE DEFINER = 'root'@'localhost' VIEW client_rust.stolen AS SELECT 1"),
        1227,
        "42000",
    )?;
    other.query_drop("CREATE OR REPLACE VIEW client_rust.own AS SELECT a FROM client_rust.of_definer")?;
    equal("own", read(&mut root, "own")?, Some(8))?;
    Ok(root.query_drop("DROP DATABASE client_rust_secret")?)
}

fn as_user(address: &Address, user: &str, password: &str) -> mysql::Result<Conn> {
    let opts = address
        .builder()
        .user(Some(user))
        .pass(Some(password))
        .db_name(Some(DATABASE));
    Conn::new(opts)
}

fn whoami(conn: &mut Conn) -> mysql::Result<Option<String>> {
    conn.query_first("SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)")
}

fn login(address: &Address, user: &str) -> Result<(), Failure> {
    let mut conn = as_user(address, user, "sesame")?;
    equal("user", whoami(&mut conn)?.as_deref(), Some(user))
}

fn tls(address: &Address) -> Result<(), Failure> {
    // The server's certificate is self-signed.
    let ssl = SslOpts::default()
        .with_danger_accept_invalid_certs(true)
        .with_danger_skip_domain_validation(true);
    let opts = address
        .builder()
        .user(Some("rust_tls"))
        .pass(Some("sesame"))
        .ssl_opts(ssl);
    let mut conn = Conn::new(opts)?;
    equal("user", whoami(&mut conn)?.as_deref(), Some("rust_tls"))?;
    let cipher: Option<(String, String)> = conn.query_first("SHOW STATUS LIKE 'Ssl_cipher'")?;
    equal(
        "encrypted",
        cipher.is_some_and(|(_, cipher)| !cipher.is_empty()),
        true,
    )
}

/// A result may have more columns than a table, as text and in binary, from every part of the server that
/// computes results.
fn wide_results(address: &Address) -> Result<(), Failure> {
    let mut conn = connect(address)?;
    conn.query_drop("DROP TABLE IF EXISTS wide")?;
    conn.query_drop("CREATE TABLE wide (id INT PRIMARY KEY, v INT)")?;
    conn.query_drop("INSERT INTO wide VALUES (1, 10), (2, 20), (3, 10)")?;
    let routes = conn.query_first::<mysql::Row, _>("SHOW VARIABLES LIKE 'stemdb_route'")?;
    let routes: &[&str] = if routes.is_some() {
        &["transactional", "analytical"]
    } else {
        &[""]
    };
    for route in routes {
        if !route.is_empty() {
            conn.query_drop(format!("SET stemdb_route = '{route}'"))?;
        }
        for columns in [5_000, 20_000] {
            let list = |item: &str| {
                (0..columns)
                    .map(|n| format!("{item}+{n} AS c{n}"))
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            wide_result(&mut conn, &format!("SELECT {}", list("0")), columns, &[0])?;
            let rows = format!("SELECT {} FROM wide ORDER BY id", list("v"));
            wide_result(&mut conn, &rows, columns, &[10, 20, 10])?;
            let sum = format!("SELECT {} FROM wide WHERE id < 3", list("SUM(v)"));
            wide_result(&mut conn, &sum, columns, &[30])?;
        }
        let list = |count: usize| vec!["v"; count].join(", ");
        wide_result_of(
            &mut conn,
            &format!("SELECT DISTINCT {} FROM wide ORDER BY 1", list(5_000)),
            5_000,
            2,
        )?;
        wide_result_of(
            &mut conn,
            &format!("SELECT {} FROM wide GROUP BY v", list(5_000)),
            5_000,
            2,
        )?;
    }
    Ok(())
}

/// Reads rows whose first values are `firsts`. Each further value is one more than the value before it.
fn wide_result(conn: &mut Conn, query: &str, columns: usize, firsts: &[i64]) -> Result<(), Failure> {
    let text: Vec<mysql::Row> = conn.query(query)?;
    let binary: Vec<mysql::Row> = conn.exec(query, ())?;
    for rows in [text, binary] {
        equal("rows", rows.len(), firsts.len())?;
        for (row, first) in rows.into_iter().zip(firsts) {
            equal(
                "the last column's name",
                row.columns_ref()[columns - 1].name_str().into_owned(),
                format!("c{}", columns - 1),
            )?;
            let values: Vec<i64> = row.unwrap().into_iter().map(mysql::from_value).collect();
            let expected: Vec<i64> = (0..columns as i64).map(|n| first + n).collect();
            equal("values", values == expected, true)?;
        }
    }
    Ok(())
}

fn wide_result_of(conn: &mut Conn, query: &str, columns: usize, count: usize) -> Result<(), Failure> {
    let rows: Vec<mysql::Row> = conn.query(query)?;
    equal("rows", rows.len(), count)?;
    equal("columns", rows.iter().all(|row| row.len() == columns), true)
}

fn found_rows(address: &Address) -> Result<(), Failure> {
    let opts = address
        .builder()
        .db_name(Some(DATABASE))
        .additional_capabilities(CapabilityFlags::CLIENT_FOUND_ROWS);
    let mut conn = Conn::new(opts)?;
    conn.query_drop("CREATE TABLE found (id INT PRIMARY KEY, v INT)")?;
    conn.query_drop("INSERT INTO found VALUES (1, 1), (2, 2)")?;
    let rows = "VALUES (1, 1), (2, 3), (3, 3) ON DUPLICATE KEY UPDATE v = VALUES(v)";
    conn.query_drop(format!("INSERT INTO found {rows}"))?;
    equal("affected", conn.affected_rows(), 4)?;
    let said = conn.info_str().starts_with("Records: 3  Duplicates: 2 ");
    equal("duplicates", said, true)?;
    conn.query_drop("UPDATE found SET v = 3")?;
    equal("matched", conn.affected_rows(), 3)
}

/// The flag of the login sets the mode, also for the next account of the connection.
fn ignore_space(address: &Address) -> Result<(), Failure> {
    let opts = address
        .builder()
        .db_name(Some(DATABASE))
        .additional_capabilities(CapabilityFlags::CLIENT_IGNORE_SPACE);
    let mut conn = Conn::new(opts)?;
    let query =
        "SELECT COUNT (*), FIND_IN_SET('IGNORE_SPACE', @@sql_mode) > 0, @@global.sql_mode LIKE '%SPACE%'";
    equal("with it", conn.query_first(query)?, Some((1, 1, 0)))?;
    conn.change_user(ChangeUserOpts::DEFAULT)?;
    equal("as another user", conn.query_first(query)?, Some((1, 1, 0)))?;
    let plain: Option<u8> = connect(address)?.query_first("SELECT @@sql_mode LIKE '%SPACE%'")?;
    equal("without it", plain, Some(0))
}

fn shown(address: &Address) -> Result<(), Failure> {
    let mut conn = connect(address)?;
    let _other = connect(address)?;
    let most: Option<(String, u64)> = conn.query_first("SHOW STATUS LIKE 'Max_used_connections'")?;
    equal("most connections", most.is_some_and(|(_, most)| most >= 2), true)?;
    let plugins: Vec<mysql::Row> = conn.query("SHOW PLUGINS")?;
    let names = plugins.iter().filter_map(|row| row.get::<String, _>("Name"));
    let known = names.filter(|name| name.ends_with("_password")).count();
    equal("authentication plugins", known >= 2, true)
}

fn wrong_password(address: &Address) -> Result<(), Failure> {
    // Not an unknown user: for those MySQL chooses an authentication method at random, and this driver
    // lacks one of them.
    for user in ["rust_rsa", "rust_native"] {
        refused(as_user(address, user, "wrong"), 1045, "28000")?;
    }
    Ok(())
}

fn change_user(address: &Address) -> Result<(), Failure> {
    let mut conn = connect(address)?;
    conn.query_drop("SET @kept = 1, sql_mode = ''")?;
    conn.query_drop("BEGIN")?;
    conn.reset()?;
    let kept: Option<(Option<u8>, String)> = conn.query_first("SELECT @kept, @@sql_mode")?;
    let Some((None, mode)) = kept else {
        return Err(Failure(format!("after a reset: {kept:?}")));
    };
    equal("sql_mode kept", mode.is_empty(), false)?;
    let opts = ChangeUserOpts::new()
        .with_user(Some("rust_native".to_string()))
        .with_pass(Some("sesame".to_string()))
        .with_db_name(Some(DATABASE.to_string()));
    conn.change_user(opts)?;
    equal("user", whoami(&mut conn)?.as_deref(), Some("rust_native"))
}

fn types(address: &Address) -> Result<(), Failure> {
    let bytes = |text: &str| Value::Bytes(text.as_bytes().to_vec());
    let typed: Vec<(&str, Value)> = vec![
        ("TINYINT", Value::Int(-128)),
        ("SMALLINT UNSIGNED", Value::Int(65535)),
        ("MEDIUMINT", Value::Int(-8388608)),
        ("INT", Value::Int(-2147483648)),
        ("BIGINT", Value::Int(i64::MIN)),
        ("BIGINT UNSIGNED", Value::UInt(u64::MAX)),
        ("DECIMAL(20,5)", bytes("-123456789012345.12345")),
        ("FLOAT", Value::Float(1.5)),
        ("DOUBLE", Value::Double(-2.25e300)),
        ("CHAR(5)", bytes("äöü")),
        ("VARCHAR(50)", bytes("😀 it's \\ \"text\"")),
        ("VARBINARY(10)", Value::Bytes(vec![0, 255, 10])),
        ("LONGTEXT", bytes(&"t".repeat(70_000))),
        ("BLOB", Value::Bytes(vec![])),
        ("DATE", Value::Date(2024, 2, 29, 0, 0, 0, 0)),
        ("DATETIME(6)", Value::Date(2024, 2, 29, 12, 34, 56, 789_012)),
        ("TIMESTAMP(3) NULL", Value::Date(2024, 2, 29, 12, 34, 56, 789_000)),
        ("TIME(6)", Value::Time(true, 34, 22, 59, 59, 0)),
        ("YEAR", Value::Int(2155)),
        ("JSON", bytes(r#"{"a": [1, null]}"#)),
        ("INT", Value::NULL),
    ];
    let mut conn = connect(address)?;
    let columns: Vec<String> = typed
        .iter()
        .enumerate()
        .map(|(i, (kind, _))| format!("c{i} {kind}"))
        .collect();
    conn.query_drop(format!("CREATE TABLE ty ({})", columns.join(", ")))?;
    let marks = vec!["?"; typed.len()].join(", ");
    let values: Vec<Value> = typed.iter().map(|(_, value)| value.clone()).collect();
    conn.exec_drop(
        format!("INSERT INTO ty VALUES ({marks})"),
        Params::Positional(values),
    )?;
    let row: Option<mysql::Row> = conn.exec_first("SELECT * FROM ty WHERE 1 = ?", (1,))?;
    let row = row.ok_or("no row")?.unwrap();
    for ((kind, written), read) in typed.into_iter().zip(row) {
        equal(kind, read, written)?;
    }
    Ok(())
}

fn statements(address: &Address) -> Result<(), Failure> {
    let mut conn = connect(address)?;
    conn.query_drop("CREATE TABLE s (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20))")?;
    conn.exec_batch(
        "INSERT INTO s (v) VALUES (?)",
        (0..50).map(|i| (format!("value {i}"),)),
    )?;
    equal("insert id", conn.last_insert_id(), 50)?;
    conn.exec_drop(
        "UPDATE s SET v = :v WHERE id <= :id",
        params! { "v" => "x", "id" => 10 },
    )?;
    equal("affected", conn.affected_rows(), 10)?;
    equal(
        "info",
        conn.info_str().into_owned(),
        "Rows matched: 10  Changed: 10  Warnings: 0".to_string(),
    )?;
    let mut results = conn.query_iter("SELECT 1; SELECT 2, 3; DO 0")?;
    let mut columns = Vec::new();
    while let Some(set) = results.iter() {
        columns.push(set.columns().as_ref().len());
    }
    drop(results);
    equal("several statements", columns, vec![1, 2, 0])?;
    conn.ping()?;
    conn.select_db("mysql")?;
    refused(conn.select_db("no_such_database"), 1049, "42000")
}

/// What a client is told of the parameters of a statement that it prepares. The expected types are MySQL 8.0.33's.
fn parameter_types(address: &Address) -> Result<(), Failure> {
    let mut conn = connect(address)?;
    conn.query_drop(
        "CREATE TABLE p (i INT, u BIGINT UNSIGNED, d DECIMAL(10,2), f FLOAT, at DATETIME(3), day DATE, t TIME, \
         y YEAR, b BIT(5), v VARCHAR(20), blobs BLOB, j JSON)",
    )?;
    let all = "long long newdecimal double datetime date time year bit var_string long_blob json";
    for (statement, expected) in [
        ("INSERT INTO p VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", all),
        (
            "UPDATE p SET i=?,u=?,d=?,f=?,at=?,day=?,t=?,y=?,b=?,v=?,blobs=?,j=?",
            all,
        ),
        (
            "SELECT 1 FROM p WHERE i=? AND u>? AND d<? AND f<=? AND at=? AND day=? AND t=? AND y=? AND b=? AND v=? AND blobs=? AND j=?",
            all,
        ),
        (
            "SELECT i FROM p WHERE i IN (?, ?) OR at BETWEEN ? AND ? LIMIT ?, ?",
            "long long datetime datetime long long",
        ),
        (
            "SELECT ?, ? + 1, CONCAT(?), IF(?, ?, i), COALESCE(?, d) FROM p",
            "var_string long var_string long long newdecimal",
        ),
        (
            "SELECT SUBSTRING(v, ?, ?), ROUND(d, ?), POW(?, ?), YEAR(?) FROM p",
            "long long long double double datetime",
        ),
        (
            "SELECT at + INTERVAL ? DAY, at - INTERVAL ? SECOND, CAST(? AS SIGNED), j->'$.a' = ? FROM p",
            "long newdecimal long json",
        ),
        (
            "SELECT i, COUNT(*) FROM p WHERE (i, v) = (?, ?) GROUP BY i HAVING SUM(i) > ?",
            "long var_string newdecimal",
        ),
    ] {
        let statement = conn.prep(statement)?;
        let kind = |column: &mysql::Column| {
            let name = format!("{:?}", column.column_type()).to_lowercase();
            name.replace("mysql_type_", "").replace("longlong", "long")
        };
        let kinds: Vec<String> = statement.params().iter().map(kind).collect();
        equal("types", kinds.join(" "), expected.to_owned())?;
    }
    Ok(())
}

fn transactions(address: &Address) -> Result<(), Failure> {
    let (mut conn, mut other) = (connect(address)?, connect(address)?);
    other.query_drop("CREATE TABLE tr (id INT PRIMARY KEY)")?;
    let mut count = || other.query_first::<u32, _>("SELECT COUNT(*) FROM tr");
    let mut transaction = conn.start_transaction(TxOpts::default())?;
    transaction.query_drop("INSERT INTO tr VALUES (1)")?;
    equal("before the commit", count()?, Some(0))?;
    transaction.rollback()?;
    let mut transaction = conn.start_transaction(TxOpts::default())?;
    transaction.query_drop("INSERT INTO tr VALUES (1), (2)")?;
    transaction.commit()?;
    equal("after the commit", count()?, Some(2))?;
    let read_only = TxOpts::default().set_access_mode(Some(mysql::AccessMode::ReadOnly));
    let mut transaction = conn.start_transaction(read_only)?;
    refused(transaction.query_drop("DELETE FROM tr"), 1792, "25006")
}

fn errors(address: &Address) -> Result<(), Failure> {
    let mut conn = connect(address)?;
    conn.query_drop("CREATE TABLE er (id INT PRIMARY KEY, v VARCHAR(2) NOT NULL)")?;
    conn.query_drop("INSERT INTO er VALUES (1, 'a')")?;
    for (statement, code, state) in [
        ("INSERT INTO er VALUES (1, 'b')", 1062, "23000"),
        ("INSERT INTO er VALUES (2, 'long')", 1406, "22001"),
        ("SELECT * FROM nowhere", 1146, "42S02"),
        ("SELEC 1", 1064, "42000"),
    ] {
        refused(conn.query_drop(statement), code, state)?;
        refused(conn.exec_drop(statement, ()), code, state)?;
    }
    equal("afterwards", conn.query_first("SELECT 1")?, Some(1))
}

fn big_packets(address: &Address, compression: Option<Compression>) -> Result<(), Failure> {
    let opts = address.builder().db_name(Some(DATABASE)).compress(compression);
    let mut conn = Conn::new(opts)?;
    conn.query_drop("DROP TABLE IF EXISTS big")?;
    conn.query_drop("CREATE TABLE big (id INT PRIMARY KEY, v LONGBLOB)")?;
    for (id, size) in [100, 70_000, (1 << 24) - 60, (1 << 24) - 1, 17 << 20]
        .into_iter()
        .enumerate()
        .filter(|(_, size)| address.large_rows || *size < 1 << 20)
    {
        let value: Vec<u8> = (0..size).map(|i: usize| (i * 7) as u8).collect();
        conn.exec_drop("INSERT INTO big VALUES (?, ?)", (id, &value))?;
        let read: Option<Vec<u8>> = conn.exec_first("SELECT v FROM big WHERE id = ?", (id,))?;
        if read.as_ref() != Some(&value) {
            return Err(Failure(format!("{size} bytes came back as others")));
        }
    }
    conn.query_drop("DROP TABLE big")?;
    Ok(())
}
