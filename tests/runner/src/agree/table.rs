//! The table of the queries: a column of every type, NULLs, and so few different values that many rows are
//! equal.

use super::random::Random;

pub const ROWS: usize = 3000;

const ROWS_PER_INSERT: usize = 250;

/// A column, its type and literals to choose from. The key `id` is separate.
pub struct Column {
    pub name: &'static str,
    ty: &'static str,
    literals: &'static [&'static str],
}

const fn column(name: &'static str, ty: &'static str, literals: &'static [&'static str]) -> Column {
    Column { name, ty, literals }
}

const WORDS: &[&str] = &[
    "''", "' '", "'a'", "'A'", "'a '", "'ä'", "'b'", "'B'", "'ab'", "'Ab'", "'abc'", "'zz'", "'ß'", "'ss'",
    "'é'", "'e'",
];

pub const COLUMNS: &[Column] = &[
    column("ti", "TINYINT", &["-128", "-1", "0", "1", "2", "127"]),
    column("su", "SMALLINT UNSIGNED", &["0", "1", "2", "300", "65535"]),
    column("mi", "MEDIUMINT", &["-8388608", "-3", "0", "3", "8388607"]),
    column(
        "i",
        "INT",
        &["-2147483648", "-10", "-1", "0", "1", "10", "2147483647"],
    ),
    column(
        "bi",
        "BIGINT",
        &[
            "-9223372036854775808",
            "-1",
            "0",
            "1",
            "5000000000",
            "9223372036854775807",
        ],
    ),
    column(
        "bu",
        "BIGINT UNSIGNED",
        &["0", "1", "9223372036854775808", "18446744073709551615"],
    ),
    column(
        "d1",
        "DECIMAL(10,2)",
        &["-99999999.99", "-1.50", "0", "0.01", "1.5", "2", "99999999.99"],
    ),
    column(
        "d2",
        "DECIMAL(30,5)",
        &[
            "-9999999999999999999999999.99999",
            "-1",
            "0",
            "0.00001",
            "9999999999999999999999999.99999",
        ],
    ),
    column(
        "d3",
        "DECIMAL(38,0)",
        &[
            "-99999999999999999999999999999999999999",
            "0",
            "7",
            "99999999999999999999999999999999999999",
        ],
    ),
    column(
        "d4",
        "DECIMAL(65,10)",
        &[
            "-9999999999999999999999999999999999999999999999999999999.9999999999",
            "0",
            "1.5",
            "9999999999999999999999999999999999999999999999999999999.9999999999",
        ],
    ),
    column("f", "FLOAT", &["-1.5", "0", "-0.0", "0.1", "3.25", "100000"]),
    column("db", "DOUBLE", &["-2.5", "0e0", "-0e0", "0.1", "1e300", "3"]),
    column(
        "dt",
        "DATE",
        &[
            "'1000-01-01'",
            "'2023-12-31'",
            "'2024-02-29'",
            "'2024-03-01'",
            "'9999-12-31'",
        ],
    ),
    column(
        "dm",
        "DATETIME(6)",
        &[
            "'1000-01-01 00:00:00'",
            "'2024-02-29 23:59:59.999999'",
            "'2024-02-29'",
            "'2024-03-01 01:02:03.4'",
        ],
    ),
    column(
        "ts",
        "TIMESTAMP(3) NULL",
        &[
            "'1970-01-01 00:00:01'",
            "'2024-02-29 23:59:59.999'",
            "'2024-02-29'",
            "'2038-01-19 03:14:07'",
        ],
    ),
    column(
        "tm",
        "TIME(2)",
        &[
            "'-838:59:59'",
            "'-00:00:01'",
            "'00:00:00'",
            "'12:34:56.78'",
            "'838:59:59'",
        ],
    ),
    column("y", "YEAR", &["0", "1901", "1999", "2000", "2024", "2155"]),
    column("c", "CHAR(6) COLLATE utf8mb4_general_ci", WORDS),
    column("v", "VARCHAR(20) COLLATE utf8mb4_0900_ai_ci", WORDS),
    column("vb", "VARCHAR(20) COLLATE utf8mb4_bin", WORDS),
    column("l", "VARCHAR(20) CHARACTER SET latin1", WORDS),
    column("tx", "TEXT", WORDS),
    column("fb", "BINARY(3)", &["''", "'a'", "'A'", "'ab'", "'abc'"]),
    column(
        "vy",
        "VARBINARY(8)",
        &["''", "'a'", "'A'", "'a '", "'ab'", "X'00FF'"],
    ),
    column("bl", "BLOB", &["''", "'a'", "'A'", "X'0000'", "X'FFFF'"]),
    column(
        "j",
        "JSON",
        &[
            "'1'",
            "'1.0'",
            "'-7'",
            "'null'",
            "'\"a\"'",
            "'[2]'",
            "'[1, 2]'",
            "'{\"a\": 1}'",
            "'true'",
            "'{}'",
        ],
    ),
];

/// The statements that create the table `t`, and `none`, which has the same columns and no rows.
pub fn statements(random: &mut Random) -> Vec<String> {
    let columns: Vec<String> = COLUMNS.iter().map(|c| format!("{} {}", c.name, c.ty)).collect();
    let mut statements = vec![
        format!("CREATE TABLE t (id BIGINT PRIMARY KEY, {})", columns.join(", ")),
        format!(
            "CREATE TABLE none (id BIGINT PRIMARY KEY, {})",
            columns.join(", ")
        ),
    ];
    let ids: Vec<usize> = (1..=ROWS).collect();
    for chunk in ids.chunks(ROWS_PER_INSERT) {
        let rows: Vec<String> = chunk.iter().map(|&id| row(id, random)).collect();
        statements.push(format!("INSERT INTO t VALUES {}", rows.join(", ")));
    }
    statements
}

fn row(id: usize, random: &mut Random) -> String {
    let values: Vec<&str> = COLUMNS.iter().map(|c| value(c, random)).collect();
    format!("({id}, {})", values.join(", "))
}

fn value(column: &Column, random: &mut Random) -> &'static str {
    if random.one_in(8) {
        "NULL"
    } else {
        random.pick(column.literals)
    }
}

/// A literal that the column may contain.
pub fn literal(name: &str, random: &mut Random) -> &'static str {
    let column = COLUMNS.iter().find(|c| c.name == name);
    column.map_or("1", |c| random.pick(c.literals))
}
