//! Rows are those of MySQL 8.0.33 for the same definitions, except for sizes.

use std::sync::Arc;

use accounts::{Account, AccountName, AccountStore, Privileges};
use arrow::array::Array;
use cluster::message::ProcessRow;
use ddl::SchemaChanger;
use ddl::test_support::*;
use functions::{EvalContext, Expr, TimeZone};
use kv::Interrupt;
use schema::model::{Column, Default};
use schema::privilege::PrivilegeSet;
use types::{Collation, SqlType, TypeKind};

use crate::columns::column_key;
use crate::{Server, Sources, StatisticsCatalog, batches};

struct TestServer(Arc<Interrupt>, Arc<Account>);

impl Server for TestServer {
    fn processes(&self) -> Vec<ProcessRow> {
        vec![ProcessRow {
            id: 7,
            user: "root".into(),
            command: "Query".into(),
            ..ProcessRow::default()
        }]
    }
    fn cluster_processes(&self) -> types::Result<Vec<(String, ProcessRow)>> {
        let row = |node: &str| (node.to_owned(), self.processes().remove(0));
        Ok(["one:4000", "two:4000"].map(row).into())
    }
    fn transactions(&self) -> Vec<crate::SessionTransaction> {
        Vec::new()
    }
    fn user_locks(&self) -> Vec<crate::UserLock> {
        Vec::new()
    }
    fn variables(&self, global: bool) -> Vec<(String, String)> {
        vec![("autocommit".into(), if global { "ON" } else { "OFF" }.into())]
    }
    fn status(&self, _global: bool) -> Vec<(String, String)> {
        Vec::new()
    }
    fn measurements(&self, _: &str, _: &str) -> Vec<Vec<types::Value>> {
        Vec::new()
    }
    fn privileges(&self) -> &Privileges {
        &self.1.privileges
    }
    fn account(&self) -> (&Arc<Account>, &[AccountName]) {
        (&self.1, &[])
    }
    fn time_zone(&self) -> TimeZone {
        TimeZone::UTC
    }
    fn interrupt(&self) -> &Arc<Interrupt> {
        &self.0
    }
}

/// A store, and what the tables read of it.
struct Db {
    changer: Arc<SchemaChanger>,
    accounts: Arc<AccountStore>,
    statistics: Arc<StatisticsCatalog>,
    server: TestServer,
}

impl Db {
    fn new() -> Self {
        let changer = new_db_with(crate::databases().unwrap());
        let account = Account {
            privileges: Privileges {
                on_databases: ["d", "e", "mysql", "sys"]
                    .map(|name| (name.to_owned(), PrivilegeSet::DATABASE))
                    .into(),
                ..Privileges::default()
            },
            ..Account::none()
        };
        Self {
            accounts: AccountStore::open(changer.cluster()).unwrap(),
            statistics: StatisticsCatalog::new(changer.cluster()),
            server: TestServer(Interrupt::new(), Arc::new(account)),
            changer,
        }
    }

    fn sources(&self) -> Sources<'_> {
        Sources {
            cluster: self.changer.cluster(),
            accounts: &self.accounts,
            statistics: &self.statistics,
            server: &self.server,
        }
    }

    fn schema(&self) -> Arc<schema::model::Schema> {
        self.changer.cluster().schema()
    }
}

fn made() -> Db {
    let db = Db::new();
    let binary = SqlType {
        kind: TypeKind::Char,
        ..SqlType::varchar(4, Collation::Binary)
    };
    let columns = vec![
        auto("id", int()),
        Column {
            comment: "cc".into(),
            ..with_default(
                "a",
                SqlType {
                    kind: TypeKind::TinyInt,
                    length: 1,
                    ..int()
                },
                "1",
            )
        },
        not_null("b", SqlType::BIGINT_UNSIGNED),
        with_default("c", SqlType::varchar(10, Collation::Utf8mb4Bin), "x"),
        column("d", SqlType::decimal(10, 2)),
        column("e", SqlType::FLOAT),
        Column {
            default: Default::Now,
            on_update_now: true,
            ..column("g", SqlType::datetime(3))
        },
        with_default("n", binary, "0x61620000"),
        column("p", SqlType::JSON),
        column("l", text_type()),
    ];
    let indexes = vec![
        unique("u1", &[2]),
        prefix(key("k1", &[3, 4]), 3),
        unique("u2", &[4, 1]),
    ];
    let mut definition = by_id(columns, indexes);
    definition.comment = "tc".into();
    create(&db.changer, "t", definition).unwrap();
    db
}

fn of(db: &Db, database: &str, table: &str) -> Vec<Vec<String>> {
    let schema = db.schema();
    let table = schema.require_table(database, table).unwrap();
    let all: Vec<usize> = (0..table.columns.len()).collect();
    crate::rows(db.sources(), table, &all, &[], &EvalContext::default())
        .unwrap()
        .iter()
        .map(|row| {
            assert_eq!(row.len(), table.columns.len());
            row.iter()
                .zip(&table.columns)
                .map(|(value, column)| value.display_text(&column.ty))
                .collect()
        })
        .collect()
}

/// Rows of the table `t`, its name being column `at`, cut to the columns from there on.
fn of_t(db: &Db, table: &str, at: usize) -> Vec<String> {
    of(db, "information_schema", table)
        .into_iter()
        .filter(|row| row[at] == "t")
        .map(|row| row[at + 1..].join(" "))
        .collect()
}

/// On a cluster it takes reading some of each table's rows.
#[test]
fn sizes_that_nobody_asks_for_are_not_estimated() {
    let db = made();
    let schema = db.schema();
    for (name, expensive) in [("TABLES", 7..14), ("PARTITIONS", 12..18), ("STATISTICS", 9..10)] {
        let table = schema.require_table("information_schema", name).unwrap();
        let others: Vec<usize> = (0..table.columns.len())
            .filter(|o| !expensive.contains(o))
            .collect();
        let rows = crate::rows(db.sources(), table, &others, &[], &EvalContext::default()).unwrap();
        let t = rows
            .iter()
            .find(|row| row[2] == types::Value::String("t".into()))
            .unwrap();
        assert_eq!(t[expensive.start], types::Value::Null, "{name}");
        assert_eq!(db.statistics.cached_estimates(), 0, "{name}");
    }
    of(&db, "information_schema", "TABLES");
    assert!(db.statistics.cached_estimates() > 0);
}

#[test]
fn every_virtual_table_makes_batches_of_its_columns() {
    let db = made();
    let schema = db.schema();
    for database in schema.databases.values().filter(|d| d.is_system()) {
        for table in database.tables.values() {
            let all: Vec<usize> = (0..table.columns.len()).collect();
            for batch in batches(db.sources(), table, &all, &[], &EvalContext::default()).unwrap() {
                assert_eq!(batch.num_columns(), table.columns.len(), "{}", table.name);
                for (column, array) in table.columns.iter().zip(batch.columns()) {
                    assert_eq!(array.data_type(), &column.ty.arrow_type());
                    let nulls = array.null_count();
                    assert!(
                        column.nullable || nulls == 0,
                        "{}.{} is NULL",
                        table.name,
                        column.name
                    );
                }
            }
        }
    }
}

#[test]
fn columns_say_what_mysqls_do() {
    assert_eq!(
        of_t(&made(), "COLUMNS", 2),
        [
            "id 1 NULL NO int NULL NULL 10 0 NULL NULL NULL int PRI auto_increment select,insert,update,references   NULL",
            "a 2 1 YES tinyint NULL NULL 3 0 NULL NULL NULL tinyint(1)   select,insert,update,references cc  NULL",
            "b 3 NULL NO bigint NULL NULL 20 0 NULL NULL NULL bigint unsigned UNI  select,insert,update,references   NULL",
            "c 4 x YES varchar 10 40 NULL NULL NULL utf8mb4 utf8mb4_bin varchar(10) MUL  select,insert,update,references   NULL",
            "d 5 NULL YES decimal NULL NULL 10 2 NULL NULL NULL decimal(10,2) MUL  select,insert,update,references   NULL",
            "e 6 NULL YES float NULL NULL 12 NULL NULL NULL NULL float   select,insert,update,references   NULL",
            "g 7 CURRENT_TIMESTAMP(3) YES datetime NULL NULL NULL NULL 3 NULL NULL datetime(3)  \
             DEFAULT_GENERATED on update CURRENT_TIMESTAMP(3) select,insert,update,references   NULL",
            "n 8 0x6162 YES binary 4 4 NULL NULL NULL NULL NULL binary(4)   select,insert,update,references   NULL",
            "p 9 NULL YES json NULL NULL NULL NULL NULL NULL NULL json   select,insert,update,references   NULL",
            "l 10 NULL YES text 65535 65535 NULL NULL NULL utf8mb4 utf8mb4_0900_ai_ci text   \
             select,insert,update,references   NULL",
        ]
    );
}

#[test]
fn keys_and_constraints() {
    let db = made();
    assert_eq!(
        of_t(&db, "STATISTICS", 2),
        [
            "0 d PRIMARY 1 id A 0 NULL NULL  BTREE   YES NULL",
            "0 d u1 1 b A 0 NULL NULL  BTREE   YES NULL",
            "0 d u2 1 d A NULL NULL NULL YES BTREE   YES NULL",
            "0 d u2 2 a A 0 NULL NULL YES BTREE   YES NULL",
            "1 d k1 1 c A NULL 3 NULL YES BTREE   YES NULL",
            "1 d k1 2 d A NULL NULL NULL YES BTREE   YES NULL",
        ]
    );
    assert_eq!(
        of_t(&db, "KEY_COLUMN_USAGE", 5),
        [
            "id 1 NULL NULL NULL NULL",
            "b 1 NULL NULL NULL NULL",
            "d 1 NULL NULL NULL NULL",
            "a 2 NULL NULL NULL NULL",
        ]
    );
    assert_eq!(
        of_t(&db, "TABLE_CONSTRAINTS", 4),
        ["PRIMARY KEY YES", "UNIQUE YES", "UNIQUE YES"]
    );
}

#[test]
fn tables_and_schemata() {
    let db = made();
    create_database(&db.changer, "hidden").unwrap();
    create(&db.changer, "hidden.t", heap(vec![column("a", int())], vec![])).unwrap();
    assert_eq!(
        of_t(&db, "TABLES", 2),
        [
            "BASE TABLE InnoDB 10 Dynamic 0 0 0 0 0 0 1 2023-11-14 22:13:20 NULL NULL utf8mb4_0900_ai_ci NULL  tc"
        ]
    );
    let schemata: Vec<String> = of(&db, "information_schema", "SCHEMATA")
        .iter()
        .map(|r| r.join(" "))
        .collect();
    assert_eq!(
        schemata,
        [
            "def d utf8mb4 utf8mb4_0900_ai_ci NULL NO",
            "def information_schema utf8mb3 utf8mb3_general_ci NULL NO",
            "def mysql utf8mb4 utf8mb4_0900_ai_ci NULL NO",
            "def performance_schema utf8mb4 utf8mb4_0900_ai_ci NULL NO",
            "def sys utf8mb4 utf8mb4_0900_ai_ci NULL NO",
        ]
    );
}

#[test]
fn what_the_server_says() {
    let db = Db::new();
    let of =
        |database, table| -> Vec<String> { of(&db, database, table).iter().map(|r| r.join(" ")).collect() };
    assert_eq!(
        of("information_schema", "PROCESSLIST"),
        ["7 root  NULL Query 0 NULL NULL"]
    );
    assert_eq!(of("performance_schema", "global_variables"), ["autocommit ON"]);
    assert_eq!(of("performance_schema", "session_variables"), ["autocommit OFF"]);
    assert!(
        of("information_schema", "COLLATIONS")
            .contains(&"utf8mb4_0900_ai_ci utf8mb4 255 Yes Yes 0 NO PAD".into())
    );
    assert!(
        of("information_schema", "COLLATIONS").contains(&"utf8mb4_bin utf8mb4 46  Yes 1 PAD SPACE".into())
    );
    assert!(
        of("information_schema", "CHARACTER_SETS")
            .contains(&"utf8mb4 utf8mb4_0900_ai_ci UTF-8 Unicode 4".into())
    );
    assert!(of("mysql", "user")[0].starts_with("localhost root Y Y Y"));
    assert_eq!(of("information_schema", "USER_PRIVILEGES").len(), 66);
    assert!(of("information_schema", "TRIGGERS").is_empty());
}

#[test]
fn a_unique_key_stands_in_for_a_missing_primary_key() {
    let db = Db::new();
    let columns = vec![column("a", int()), not_null("b", int()), not_null("c", int())];
    create(
        &db.changer,
        "t",
        heap(columns, vec![unique("", &[0]), unique("", &[1, 2])]),
    )
    .unwrap();
    let table = table(&db.changer, "t");
    assert_eq!([0, 1, 2].map(|at| column_key(&table, at)), ["UNI", "PRI", "PRI"]);
}

/// The rows that a table makes are those of the definitions that it has visited.
#[test]
fn conditions_on_names_reach_the_table() {
    let db = made();
    for name in ["t2", "u"] {
        create(
            &db.changer,
            name,
            heap(vec![column("a", int()), column("b", int())], vec![]),
        )
        .unwrap();
    }
    create_database(&db.changer, "e").unwrap();
    create(&db.changer, "e.t", heap(vec![column("a", int())], vec![])).unwrap();
    let schema = db.schema();
    let visited = |table: &str, conditions: &[(&str, usize, &str)]| {
        let table = schema.require_table("information_schema", table).unwrap();
        let conditions: Vec<Expr> = conditions
            .iter()
            .map(|&(operator, index, value)| {
                let ty = table.columns[index].ty;
                let column = Expr::column(index, ty, true);
                let value = Expr::literal(text(value), ty);
                let env = functions::bind::TypeEnv::default();
                functions::bind::call(operator, vec![column, value], &env).unwrap()
            })
            .collect();
        let all: Vec<usize> = (0..table.columns.len()).collect();
        crate::rows(db.sources(), table, &all, &conditions, &EvalContext::default())
            .unwrap()
            .len()
    };
    assert_eq!(visited("COLUMNS", &[("=", 1, "d"), ("=", 2, "u")]), 2);
    assert_eq!(
        visited("COLUMNS", &[("=", 1, "d"), ("=", 2, "u"), ("=", 3, "B")]),
        1
    );
    assert_eq!(visited("TABLES", &[("=", 1, "d"), ("like", 2, "t%")]), 2);
    assert_eq!(visited("TABLES", &[("=", 2, "u")]), 1);
    assert_eq!(visited("SCHEMATA", &[("=", 1, "e")]), 1);
    assert_eq!(visited("STATISTICS", &[("=", 1, "d"), ("=", 2, "t2")]), 0);
}
