//! Texts are MySQL 8.0.33's answers to SHOW CREATE TABLE for the same definitions.

use std::collections::HashMap;

use functions::TimeZone;
use types::{Collation, SqlType, TypeKind};

use super::{Style, database};
use crate::definition::TableDefinition;
use crate::model::{Column, Database, Default, Handle, Table};
use crate::new_table;
use crate::test_support::*;

fn made(table: &str, definition: TableDefinition) -> Table {
    new_table(&name(table), &definition, 0).unwrap().0
}

/// Makes the table `t` and shows it.
fn shown(definition: TableDefinition) -> String {
    super::table(&made("t", definition), None, &Style::PLAIN)
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).collect()
}

fn integer(kind: TypeKind, length: u32, unsigned: bool) -> SqlType {
    SqlType {
        kind,
        length,
        unsigned,
        ..SqlType::BIGINT
    }
}

fn string(kind: TypeKind, length: u32, collation: Collation) -> SqlType {
    SqlType {
        kind,
        ..SqlType::varchar(length, collation)
    }
}

fn fixed_float(base: SqlType, length: u32, decimals: u8, unsigned: bool) -> SqlType {
    SqlType {
        length,
        decimals,
        unsigned,
        ..base
    }
}

fn explicit(name: &str, ty: SqlType) -> Column {
    Column {
        explicit_collation: true,
        ..column(name, ty)
    }
}

fn commented(column: Column, comment: &str) -> Column {
    Column {
        comment: comment.to_owned(),
        ..column
    }
}

#[test]
fn numbers() {
    let columns = vec![
        column("a", int()),
        Column {
            nullable: false,
            ..with_default("b", integer(TypeKind::Int, 10, true), "5")
        },
        column("c", integer(TypeKind::TinyInt, 1, false)),
        with_default("d", integer(TypeKind::TinyInt, 1, false), "1"),
        column("e", integer(TypeKind::TinyInt, 3, true)),
        column("f", integer(TypeKind::SmallInt, 6, false)),
        column("g", integer(TypeKind::MediumInt, 9, false)),
        Column {
            default: Default::Null,
            ..column("h", SqlType::BIGINT_UNSIGNED)
        },
        column("j", SqlType::YEAR),
        with_default("k", SqlType::YEAR, "2024"),
        with_default("l", SqlType::decimal(10, 2), "1.50"),
        column("m", SqlType::decimal(10, 0)),
        column(
            "n",
            SqlType {
                unsigned: true,
                ..SqlType::decimal(5, 0)
            },
        ),
        column("o", SqlType::FLOAT),
        column("p", SqlType::DOUBLE),
        column("q", fixed_float(SqlType::FLOAT, 7, 3, false)),
        column("r", fixed_float(SqlType::DOUBLE, 10, 2, true)),
        Column {
            nullable: false,
            ..with_default(
                "s",
                SqlType {
                    unsigned: true,
                    ..SqlType::FLOAT
                },
                "0.5",
            )
        },
        with_default("t", SqlType::DOUBLE, "1e100"),
    ];
    assert_eq!(
        shown(heap(columns, vec![])),
        "CREATE TABLE `t` (
  `a` int DEFAULT NULL,
  `b` int unsigned NOT NULL DEFAULT '5',
  `c` tinyint(1) DEFAULT NULL,
  `d` tinyint(1) DEFAULT '1',
  `e` tinyint unsigned DEFAULT NULL,
  `f` smallint DEFAULT NULL,
  `g` mediumint DEFAULT NULL,
  `h` bigint unsigned DEFAULT NULL,
  `j` year DEFAULT NULL,
  `k` year DEFAULT '2024',
  `l` decimal(10,2) DEFAULT '1.50',
  `m` decimal(10,0) DEFAULT NULL,
  `n` decimal(5,0) unsigned DEFAULT NULL,
  `o` float DEFAULT NULL,
  `p` double DEFAULT NULL,
  `q` float(7,3) DEFAULT NULL,
  `r` double(10,2) unsigned DEFAULT NULL,
  `s` float unsigned NOT NULL DEFAULT '0.5',
  `t` double DEFAULT '1e100'
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci"
    );
}

#[test]
fn dates_and_times() {
    let now = |column: Column| Column {
        default: Default::Now,
        ..column
    };
    let updated = |column: Column| Column {
        on_update_now: true,
        ..column
    };
    let columns = vec![
        with_default("a", SqlType::DATE, "2020-01-01"),
        column("b", SqlType::datetime(0)),
        updated(now(column("c", SqlType::datetime(6)))),
        column("d", SqlType::timestamp(0)),
        updated(now(not_null("f", SqlType::timestamp(0)))),
        with_default("g", SqlType::time(3), "10:11:12.500"),
        Column {
            default: Default::Null,
            ..column("h", SqlType::timestamp(0))
        },
        with_default("i", SqlType::timestamp(3), "2020-01-01 00:00:00.000"),
        updated(column("j", SqlType::datetime(0))),
        now(column("k", SqlType::timestamp(0))),
        with_default("l", SqlType::datetime(0), "2020-01-01 00:00:00"),
    ];
    let text = shown(heap(columns, vec![]));
    assert_eq!(
        lines(&text)[1..12],
        [
            "`a` date DEFAULT '2020-01-01',",
            "`b` datetime DEFAULT NULL,",
            "`c` datetime(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),",
            "`d` timestamp NULL DEFAULT NULL,",
            "`f` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,",
            "`g` time(3) DEFAULT '10:11:12.500',",
            "`h` timestamp NULL DEFAULT NULL,",
            "`i` timestamp(3) NULL DEFAULT '2020-01-01 00:00:00.000',",
            "`j` datetime DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP,",
            "`k` timestamp NULL DEFAULT CURRENT_TIMESTAMP,",
            "`l` datetime DEFAULT '2020-01-01 00:00:00'",
        ]
    );
}

#[test]
fn strings() {
    let text_of = |kind| string(kind, 0, Collation::DEFAULT);
    let blob_of = |kind| string(kind, 0, Collation::Binary);
    let binary = |length| string(TypeKind::Char, length, Collation::Binary);
    let columns = vec![
        column("a", string(TypeKind::Char, 10, Collation::DEFAULT)),
        not_null("b", varchar(20)),
        with_default("c", varchar(20), ""),
        with_default("d", varchar(10), "it's\n\\"),
        column("e", binary(4)),
        with_default("f", SqlType::varchar(10, Collation::Binary), "0x6162"),
        column("g", text_of(TypeKind::Text)),
        column("h", text_of(TypeKind::TinyText)),
        not_null("i", text_of(TypeKind::MediumText)),
        column("j", text_of(TypeKind::LongText)),
        column("k", blob_of(TypeKind::Text)),
        column("l", blob_of(TypeKind::TinyText)),
        column("m", blob_of(TypeKind::MediumText)),
        column("n", blob_of(TypeKind::LongText)),
        column("o", SqlType::JSON),
        column("p", string(TypeKind::Char, 1, Collation::DEFAULT)),
        with_default("q", binary(4), "0x61000000"),
        with_default("r", SqlType::varchar(10, Collation::Binary), "0x00ff"),
        with_default("s", binary(4), "0xfffe0000"),
        with_default("u", SqlType::varchar(5, Collation::Binary), "0x"),
    ];
    assert_eq!(
        shown(heap(columns, vec![])),
        "CREATE TABLE `t` (
  `a` char(10) DEFAULT NULL,
  `b` varchar(20) NOT NULL,
  `c` varchar(20) DEFAULT '',
  `d` varchar(10) DEFAULT 'it''s\\n\\\\',
  `e` binary(4) DEFAULT NULL,
  `f` varbinary(10) DEFAULT 'ab',
  `g` text,
  `h` tinytext,
  `i` mediumtext NOT NULL,
  `j` longtext,
  `k` blob,
  `l` tinyblob,
  `m` mediumblob,
  `n` longblob,
  `o` json DEFAULT NULL,
  `p` char(1) DEFAULT NULL,
  `q` binary(4) DEFAULT 'a\\0\\0\\0',
  `r` varbinary(10) DEFAULT 0x00FF,
  `s` binary(4) DEFAULT 0xFFFE0000,
  `u` varbinary(5) DEFAULT ''
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci"
    );
}

fn collated(columns: Vec<Column>, collation: Collation) -> String {
    shown(TableDefinition {
        collation,
        ..heap(columns, vec![])
    })
}

/// What the statement says of a column's collation is repeated; what it inherits is shown only where it has
/// to be.
#[test]
fn collations_of_columns_and_tables() {
    use Collation::*;
    let of = |collation| SqlType::varchar(5, collation);
    let given = vec![
        explicit("a", string(TypeKind::Char, 10, Latin1SwedishCi)),
        explicit("b", of(Utf8mb4Bin)),
        explicit("c", of(Utf8mb40900AiCi)),
        explicit("e", of(AsciiBin)),
        explicit("g", of(Utf8mb4GeneralCi)),
    ];
    let expected = [
        "`a` char(10) CHARACTER SET latin1 COLLATE latin1_swedish_ci DEFAULT NULL,",
        "`b` varchar(5) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,",
        "`c` varchar(5) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci DEFAULT NULL,",
        "`e` varchar(5) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,",
        "`g` varchar(5) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci DEFAULT NULL,",
    ];
    for (collation, inherited, options) in [
        (
            Utf8mb40900AiCi,
            "`z` varchar(5) DEFAULT NULL",
            "utf8mb4 COLLATE=utf8mb4_0900_ai_ci",
        ),
        (Latin1SwedishCi, "`z` varchar(5) DEFAULT NULL", "latin1"),
        (
            Utf8mb4Bin,
            "`z` varchar(5) COLLATE utf8mb4_bin DEFAULT NULL",
            "utf8mb4 COLLATE=utf8mb4_bin",
        ),
        (
            AsciiBin,
            "`z` varchar(5) COLLATE ascii_bin DEFAULT NULL",
            "ascii COLLATE=ascii_bin",
        ),
        (
            Utf8mb4GeneralCi,
            "`z` varchar(5) COLLATE utf8mb4_general_ci DEFAULT NULL",
            "utf8mb4 COLLATE=utf8mb4_general_ci",
        ),
        (Binary, "`z` varbinary(5) DEFAULT NULL", "binary"),
    ] {
        let mut columns = given.clone();
        columns.push(column("z", of(collation)));
        let text = collated(columns, collation);
        let lines = lines(&text);
        assert_eq!(lines[1..6], expected);
        assert_eq!(lines[6], inherited);
        assert_eq!(lines[7], format!(") ENGINE=InnoDB DEFAULT CHARSET={options}"));
    }
}

#[test]
fn keys_are_in_mysqls_order() {
    let columns = || {
        vec![
            auto("id", int()),
            column("a", int()),
            not_null("b", int()),
            column("c", varchar(10)),
        ]
    };
    let keys = vec![
        key("k1", &[1]),
        unique("u_null", &[1]),
        unique("u_nn", &[2]),
        prefix(key("k2", &[3]), 3),
        descending(key("k3", &[1, 2]), 1),
        prefix(unique("u_pre", &[3]), 2),
        unique("u2", &[2, 0]),
    ];
    let mut definition = by_id(columns(), keys);
    definition.comment = "it's a \"table\"\\".to_owned();
    definition.auto_increment_start = 17;
    let made = made("t", definition);
    assert_eq!(
        super::table(&made, Some(made.auto_increment_start), &Style::PLAIN),
        "CREATE TABLE `t` (
  `id` int NOT NULL AUTO_INCREMENT,
  `a` int DEFAULT NULL,
  `b` int NOT NULL,
  `c` varchar(10) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `u_nn` (`b`),
  UNIQUE KEY `u2` (`b`,`id`),
  UNIQUE KEY `u_null` (`a`),
  UNIQUE KEY `u_pre` (`c`(2)),
  KEY `k1` (`a`),
  KEY `k2` (`c`(3)),
  KEY `k3` (`a`,`b` DESC)
) ENGINE=InnoDB AUTO_INCREMENT=17 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='it''s a \"table\"\\\\'"
    );
}

#[test]
fn keys_without_names_get_them() {
    let mut comment = unique("foo", &[0]);
    comment.comment = "c'omm".to_owned();
    let indexes = vec![
        primary(&[1, 0]),
        key("", &[0]),
        key("", &[0]),
        key("", &[1, 0]),
        unique("", &[1]),
        comment,
    ];
    let mut definition = heap(vec![column("a", int()), column("b", int())], indexes);
    definition.handle = Handle::Clustered { index: 0 };
    assert_eq!(
        shown(definition),
        "CREATE TABLE `t` (
  `a` int NOT NULL,
  `b` int NOT NULL,
  PRIMARY KEY (`b`,`a`),
  UNIQUE KEY `b_2` (`b`),
  UNIQUE KEY `foo` (`a`) COMMENT 'c''omm',
  KEY `a` (`a`),
  KEY `a_2` (`a`),
  KEY `b` (`b`,`a`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci"
    );
}

#[test]
fn unique_columns_and_comments() {
    let columns = vec![
        commented(column("a", int()), "p"),
        column("b", int()),
        commented(column("c", int()), "q"),
        not_null("d", int()),
    ];
    let indexes = vec![unique("b", &[1]), unique("c", &[2]), unique("d", &[3])];
    assert_eq!(
        shown(by_id(columns, indexes)),
        "CREATE TABLE `t` (
  `a` int NOT NULL COMMENT 'p',
  `b` int DEFAULT NULL,
  `c` int DEFAULT NULL COMMENT 'q',
  `d` int NOT NULL,
  PRIMARY KEY (`a`),
  UNIQUE KEY `d` (`d`),
  UNIQUE KEY `b` (`b`),
  UNIQUE KEY `c` (`c`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci"
    );
}

#[test]
fn names_are_quoted() {
    let columns = vec![commented(column("a b", int()), "x\ty"), not_null("select", int())];
    let weird = made("d.we`ird", heap(columns, vec![key("k`x", &[0])]));
    assert_eq!(
        super::table(&weird, None, &Style::PLAIN),
        "CREATE TABLE `we``ird` (
  `a b` int DEFAULT NULL COMMENT 'x\ty',
  `select` int NOT NULL,
  KEY `k``x` (`a b`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci"
    );
}

#[test]
fn prefixes() {
    let columns = vec![
        column("a", varchar(10)),
        column("b", string(TypeKind::Text, 65_535, Collation::Binary)),
        column("c", text_type()),
        column("d", varchar(5)),
    ];
    let indexes = vec![
        primary(&[0]),
        prefix(key("", &[1]), 10),
        prefix(key("", &[2]), 5),
        prefix(key("", &[3]), 5),
    ];
    let definition = TableDefinition {
        handle: Handle::Clustered { index: 0 },
        ..heap(columns, indexes)
    };
    assert_eq!(
        lines(&shown(definition))[1..9],
        [
            "`a` varchar(10) NOT NULL,",
            "`b` blob,",
            "`c` text,",
            "`d` varchar(5) DEFAULT NULL,",
            "PRIMARY KEY (`a`),",
            "KEY `b` (`b`(10)),",
            "KEY `c` (`c`(5)),",
            "KEY `d` (`d`)",
        ]
    );
}

#[test]
fn timestamps_defaults_are_in_the_sessions_zone() {
    let columns = vec![
        with_default("a", SqlType::timestamp(0), "2020-01-01 00:00:00"),
        with_default("b", SqlType::datetime(0), "2020-01-01 00:00:00"),
    ];
    let made = made("t", heap(columns, vec![]));
    let west = Style {
        time_zone: TimeZone::Offset(-3600),
        ..Style::PLAIN
    };
    let text = super::table(&made, None, &west);
    assert_eq!(
        lines(&text)[1],
        "`a` timestamp NULL DEFAULT '2019-12-31 23:00:00',"
    );
    assert_eq!(lines(&text)[2], "`b` datetime DEFAULT '2020-01-01 00:00:00'");
}

#[test]
fn databases() {
    let made = |name: &str, collation| Database {
        id: 1,
        name: name.to_owned(),
        collation,
        tables: HashMap::new(),
    };
    let shown = |made: &Database| database(made, false, &Style::PLAIN);
    assert_eq!(
        shown(&made("d", Collation::DEFAULT)),
        "CREATE DATABASE `d` /*!40100 DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci */ \
         /*!80016 DEFAULT ENCRYPTION='N' */"
    );
    assert_eq!(
        shown(&made("information_schema", Collation::Utf8mb3GeneralCi)),
        "CREATE DATABASE `information_schema` /*!40100 DEFAULT CHARACTER SET utf8mb3 */ \
         /*!80016 DEFAULT ENCRYPTION='N' */"
    );
    let latin = made("d", Collation::Latin1SwedishCi);
    assert_eq!(
        database(&latin, true, &Style::PLAIN),
        "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `d` /*!40100 DEFAULT CHARACTER SET latin1 */ \
         /*!80016 DEFAULT ENCRYPTION='N' */"
    );
}
