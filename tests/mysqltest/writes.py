#!/usr/bin/env python3
"""Random tables and random writes into them, on MySQL 8.0.33 and on StemDB side by side.

    tests/mysqltest/writes.py --mysql 3306 --stemdb 4000 [--seed 1] [--count 1000]

Each case makes a table of two columns of any type, with attributes, character sets, and perhaps a key, a generated column,
a CHECK, partitions, or a child with a foreign key. Then it writes values of every kind into it, in some sql_mode: INSERT,
REPLACE, UPDATE, DELETE, LOAD DATA, several rows in one statement, IGNORE, ON DUPLICATE KEY UPDATE, INSERT ... SELECT.
It compares, for each statement, the error, the number of rows, SHOW WARNINGS and LAST_INSERT_ID(); and at the end all rows,
SHOW CREATE TABLE and information_schema.columns. It prints the cases that differ, as a script, with both answers (M: MySQL).
Both servers are at 127.0.0.1, have a user `root` without a password, and read any file (`secure_file_priv` is empty).
Needs PyMySQL.

What differs still, and is known: the second error of a row; warnings of constants, and of generated columns and functional
indexes that MySQL computes once more; literals with introducers in definitions; YEAR and BIT columns that are assigned
columns of dates, which MySQL takes as numbers; BIGINT columns that are compared with JSON.
"""

import os
import tempfile

from side_by_side import answer, compare, is_large

TYPES = [
    "TINYINT", "TINYINT UNSIGNED", "SMALLINT", "SMALLINT(4) UNSIGNED ZEROFILL", "MEDIUMINT", "MEDIUMINT UNSIGNED", "INT",
    "INT UNSIGNED", "BIGINT", "BIGINT UNSIGNED", "BOOL", "FLOAT", "FLOAT UNSIGNED", "FLOAT(7,3)", "DOUBLE", "DOUBLE UNSIGNED",
    "DOUBLE(8,2) ZEROFILL", "DECIMAL(10,2)", "DECIMAL(5,0) UNSIGNED", "DECIMAL(65,30)", "DECIMAL(6,3) ZEROFILL", "BIT(1)",
    "BIT(8)", "BIT(64)", "YEAR", "DATE", "DATETIME", "DATETIME(3)", "TIMESTAMP", "TIMESTAMP(6)", "TIME", "TIME(2)", "CHAR(5)",
    "CHAR(0)", "CHAR(4) CHARACTER SET latin1", "CHAR(3) CHARACTER SET utf8mb3", "VARCHAR(10)", "VARCHAR(4) COLLATE utf8mb4_bin",
    "VARCHAR(6) CHARACTER SET ucs2", "VARCHAR(8) CHARACTER SET gbk", "VARCHAR(8) CHARACTER SET ascii",
    "VARCHAR(8) COLLATE utf8mb4_general_ci", "VARCHAR(5) BINARY", "NCHAR(4)", "BINARY(4)", "VARBINARY(6)", "TINYTEXT",
    "TEXT", "MEDIUMTEXT", "LONGTEXT CHARACTER SET latin1", "TEXT(70000)", "TINYBLOB", "BLOB", "LONGBLOB",
    "ENUM('a','b','12')", "ENUM('x','Y','') CHARACTER SET latin1", "SET('a','b','c')", "SET('1','2','4','x')", "JSON",
]
MODES = [
    "DEFAULT", "DEFAULT", "DEFAULT", "''", "''", "'ANSI'", "'STRICT_ALL_TABLES'", "'STRICT_TRANS_TABLES'",
    "'NO_ZERO_DATE'", "'NO_ZERO_IN_DATE,STRICT_TRANS_TABLES'", "'NO_ZERO_DATE,STRICT_ALL_TABLES'", "'ALLOW_INVALID_DATES'",
    "'STRICT_ALL_TABLES,PAD_CHAR_TO_FULL_LENGTH'", "'NO_UNSIGNED_SUBTRACTION'", "'HIGH_NOT_PRECEDENCE'",
    "'TIME_TRUNCATE_FRACTIONAL'", "'NO_AUTO_VALUE_ON_ZERO'", "'ERROR_FOR_DIVISION_BY_ZERO'", "'TRADITIONAL'",
    "'NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,REAL_AS_FLOAT'",
]
# What DEFAULT takes as it is.
LITERALS = [
    "0", "1", "-1", "5", "12", "255", "256", "-129", "70000", "2147483648", "-9223372036854775808", "18446744073709551615",
    "18446744073709551616", "1.5", "-0.5", "2.5", "99999999.995", "0.123456789012345678901234567891", "1e5", "1.17e-38", "1e20",
    "-0e0", "123456789012345678901234567890.5", "20200229", "20200230", "101112", "20200229101112.6", "1970", "70", "NULL", "TRUE",
    "'0'", "'1'", "' 7 '", "'-5'", "'12.6'", "'1e2'", "'1e400'", "'abc'", "'5x'", "''", "' '", "'a'", "'B'", "'a,b'", "'a,z'",
    "'b,a'", "'3'", "'abc  '", "'abcdefghijkl'", "'2020-02-29'", "'2020-02-30'", "'2020-00-00'", "'0000-00-00'",
    "'2020-02-29 12:34:56'", "'2020-02-29 12:34:56.789999'", "'2020-1-2T3:4:5'", "'20-1-2'", "'20200102030405'",
    "'2020-02-29 25:00:00'", "'1969-12-31 00:00:00'", "'2038-01-19 03:14:08'", "'2020-01-01 00:00:00+05:30'",
    "'9999-12-31 23:59:59.9999999'", "'10:11:12'", "'-10:11:12.55'", "'839:00:00'", "'1 10:11'", "'10:61:00'", "'11:12.5'", "'{}'",
    "'[1, 2.50]'", "'{\"b\":1,\"a\":null}'", "'null'", "x'41'", "x'ff00'", "0x4142434445464748", "0x3132", "b'1'", "b'101010101'",
    "X''", "DATE'2020-02-29'", "TIMESTAMP'2020-02-29 01:02:03.5'", "TIME'-01:02:03.456'",
]
EXPRESSIONS = [
    "N'n'", "_binary'ab\\0'", "1 - 2", "NOT 1 BETWEEN -5 AND 5", "1/3", "1/0", "'a' || 'b'", "CAST('[1]' AS JSON)", "1 = 1",
    "CAST(1.5 AS JSON)", "JSON_OBJECT('k', TIME'10:11:12')", "JSON_QUOTE('a')", "CAST('abc' AS BINARY)", "REPEAT('x', 300)",
    "CAST('7.5x' AS DECIMAL(5,2))", "NULLIF(1, 1)", "CAST(2.5 AS DOUBLE)", "CAST('2020-02-29' AS DATE) + 1", "'a\\'b\\n'",
    "JSON_EXTRACT('[\"a\"]', '$[0]')", "1 + '2x'", "SUBSTRING('2020-02-29', 1, 4)",
]
VALUES = LITERALS + EXPRESSIONS + [
    "DEFAULT", "DEFAULT", "NULL", "'é'", "'€uro'", "'\U0001f42c'", "_latin1'\xe9'", "_utf8mb4 x'f09f90ac'", "CONVERT('é' USING latin1)",
    "CAST(1 AS UNSIGNED) - 2", "@v",
]
# What LOAD DATA reads: text only.
FIELDS = [value.strip("'") for value in VALUES if value[0] == value[-1] == "'" and "|" not in value] + ["\\N", "\\N"]
FURTHER = [
    "g VARCHAR(60) AS (CONCAT(a, '-', id)) {}", "g INT AS (a + 1) {}", "g JSON AS (JSON_ARRAY(a)) {}", "g DOUBLE AS (b / 2) {}",
    "g TEXT AS (b) {}", "g DATETIME AS (a) {}", "CHECK (a <> 'a')", "CHECK (a IS NULL OR a > 0)",
    "CONSTRAINT `c``1` CHECK (LENGTH(b) < 5)", "KEY f ((a + 1))", "UNIQUE KEY f ((LOWER(b)))", "KEY f ((CAST(b AS UNSIGNED)), a)",
    "g BIGINT AS (id * 2) {} UNIQUE INVISIBLE",
]
PARTITIONS = [
    "HASH (id) PARTITIONS 3", "KEY () PARTITIONS 2",
    "RANGE (id) (PARTITION p0 VALUES LESS THAN (3), PARTITION p1 VALUES LESS THAN (300))",
    "LIST (id) (PARTITION p0 VALUES IN (1, 3, 5, 7), PARTITION p1 VALUES IN (0, 2, 4, 6, 8))",
]
ACTIONS = [
    "", " ON DELETE CASCADE", " ON UPDATE CASCADE ON DELETE SET NULL", " ON UPDATE SET NULL", " ON DELETE RESTRICT",
    " ON UPDATE CASCADE",
]
OPTIONS = [
    "", "", "", "CHARSET latin1", "CHARSET utf8mb4 COLLATE utf8mb4_bin", "COMMENT 'it''s'", "ROW_FORMAT=COMPRESSED",
    "CHARSET utf8mb3", "AUTO_INCREMENT=100", "CHARSET ascii", "STATS_PERSISTENT=0", "CHARSET binary",
]


def make_column(rng, name, kind):
    parts = [name, kind]
    nulls = rng.choice(["", "", "NOT NULL", "NULL"])
    parts.append(nulls)
    if rng.random() < 0.35:
        parts.append(rng.choice([f"DEFAULT {rng.choice(LITERALS)}", f"DEFAULT ({rng.choice(EXPRESSIONS)})"]))
    if kind.startswith(("DATETIME", "TIMESTAMP")) and rng.random() < 0.1:
        parts.append("COMMENT 'when'")
    elif rng.random() < 0.08:
        unique = "UNIQUE" if not is_large(kind) else ""
        parts.append(rng.choice(["COMMENT 'c\\'x'", "INVISIBLE", "COLUMN_FORMAT DYNAMIC", "COMMENT ''", unique]))
    return " ".join(part for part in parts if part)


def make_tables(rng, kinds):
    parts = ["id INT AUTO_INCREMENT"] + [make_column(rng, name, kind) for name, kind in zip("ab", kinds)]
    partition = rng.random() < 0.1
    key_a = rng.random() < 0.4
    parts.append("PRIMARY KEY (id)")
    if key_a:
        length = "(10)" if is_large(kinds[0]) else ""
        key = "KEY" if partition else rng.choice(["KEY", "UNIQUE KEY", "KEY"])
        parts.append(f"{key} k (a{length}{rng.choice(['', ' DESC'])})")
    if rng.random() < 0.3:
        parts.append(rng.choice(FURTHER).format(rng.choice(["STORED", "VIRTUAL"])))
    options = rng.choice(OPTIONS) + (f" PARTITION BY {rng.choice(PARTITIONS)}" if partition else "")
    yield f"CREATE TABLE t ({', '.join(parts)}) {options}".rstrip()
    if key_a and not partition and not is_large(kinds[0]) and rng.random() < 0.3:
        reference = f"FOREIGN KEY (a) REFERENCES t (a){rng.choice(ACTIONS)}"
        yield f"CREATE TABLE child (n INT PRIMARY KEY AUTO_INCREMENT, a {kinds[0]}, KEY (a), {reference})"


def make_write(rng, has_child):
    """A statement, or the rows of a file and whether it is loaded with IGNORE."""

    def value():
        return rng.choice(VALUES)

    def selected():
        return rng.choice(VALUES).replace("DEFAULT", "NULL")

    ignore = rng.choice(["", "", "IGNORE "])
    some_id = rng.randint(1, 4)
    rows = ", ".join(f"({value()}, {value()})" for _ in range(rng.choice([1, 1, 2, 3, 5])))
    where = rng.choice(["", f", b = {value()}", f" WHERE id <= {some_id}"])
    condition = rng.choice(["id = 1", f"a = {selected()}", f"b < {selected()}", "id > 2"])
    of_table = rng.choice(["a, b", "b, a", "id, b", f"a, {selected()}", "b, b", "a + 1, a"])
    explicit = rng.choice(["0", "1", "7", "NULL", "-3", "DEFAULT"])
    lines = [[rng.choice(FIELDS) for _ in range(rng.choice([2, 2, 2, 1, 3]))] for _ in range(rng.randint(1, 3))]
    on_duplicate = f"ON DUPLICATE KEY UPDATE a = {rng.choice(['VALUES(a)', 'b', value()])}, b = {value()}"
    kinds = [
        (30, f"INSERT {ignore}INTO t (a, b) VALUES {rows}"),
        (4, f"INSERT {ignore}INTO t (a) VALUES ({value()}), ({value()})"),
        (3, f"INSERT {ignore}INTO t SET b = {value()}, a = {value()}"),
        (4, f"INSERT {ignore}INTO t (id, a) VALUES ({explicit}, {value()}), (NULL, {value()})"),
        (8, f"INSERT {ignore}INTO t (id, a, b) VALUES ({some_id}, {value()}, {value()}) {on_duplicate}"),
        (6, f"REPLACE INTO t (id, a, b) VALUES ({some_id}, {value()}, {value()}), (NULL, {value()}, {value()})"),
        (14, f"UPDATE {ignore}t SET a = {rng.choice([value(), value(), 'b'])}{where} ORDER BY id"),
        (6, f"INSERT {ignore}INTO t (a, b) SELECT {of_table} FROM t ORDER BY id LIMIT 3"),
        (5, f"INSERT {ignore}INTO t (a, b) SELECT {selected()}, {selected()}"),
        (3, f"DELETE {ignore}FROM t WHERE {condition} ORDER BY id"),
        (3, f"UPDATE t SET id = id + 10 WHERE {rng.choice(['id = 1', 'id < 3'])}"),
        (8, (lines, ignore)),
        (20 * has_child, f"INSERT {ignore}INTO child (a) SELECT a FROM t ORDER BY id LIMIT 2"),
        (5 * has_child, f"INSERT {ignore}INTO child (a) VALUES ({value()})"),
    ]
    return rng.choices([write for _, write in kinds], [weight for weight, _ in kinds])[0]


def load(lines, ignore, file):
    with open(file, "w", encoding="utf8") as out:
        out.writelines("\t".join(fields) + "\n" for fields in lines)
    return f"LOAD DATA INFILE '{file}' {ignore}INTO TABLE t CHARACTER SET utf8mb4 (a, b)"


COLUMNS = (
    "column_name, ordinal_position, column_default, is_nullable, data_type, character_maximum_length, character_octet_length,"
    " numeric_precision, numeric_scale, datetime_precision, character_set_name, collation_name, column_type, column_key,"
    " extra, column_comment, generation_expression"
)
AFTERWARDS = [
    "SHOW CREATE TABLE t",
    "SELECT * FROM t ORDER BY id",
    "SELECT HEX(a), HEX(b), b + 0, LENGTH(a) FROM t ORDER BY id",
    f"SELECT {COLUMNS} FROM information_schema.columns WHERE table_name = 't' AND table_schema = 'writes' ORDER BY 2",
]


def set_mode(mode):
    return f"SET sql_mode = {mode}, @v = 12.50"


def run(cursor, tables, mode, writes):
    """Pairs of a statement and its answer."""
    answers = []

    def ask(statement):
        answers.append((statement, answer(cursor, statement)))
        return answers[-1][1][0] != "error"

    cursor.execute("DROP TABLE IF EXISTS child, t")
    cursor.execute("SELECT LAST_INSERT_ID(0)")
    ask(set_mode(mode))
    for statement in [*tables, *writes]:
        is_done = ask(statement)
        ask("SHOW WARNINGS")
        ask("SELECT LAST_INSERT_ID(), ROW_COUNT()")
        if statement in tables and not is_done:
            return answers
    if "PAD_CHAR" in mode:
        ask("SELECT * FROM t ORDER BY id")
    cursor.execute("SET sql_mode = DEFAULT")
    for statement in AFTERWARDS + ["SHOW CREATE TABLE child", "SELECT * FROM child ORDER BY n"] * (len(tables) > 1):
        ask(statement)
    return answers


def make_case(rng, number, folder):
    kinds, mode = rng.choices(TYPES, k=2), rng.choice(MODES)
    tables = list(make_tables(rng, kinds))
    writes = [make_write(rng, len(tables) > 1) for _ in range(rng.randint(2, 6))]
    for at, write in enumerate(writes):
        if isinstance(write, tuple):
            writes[at] = load(*write, f"{folder}/{number}-{at}")
    return [set_mode(mode), *tables, *writes], lambda cursor: run(cursor, tables, mode, writes)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        settings = "time_zone = '+00:00', max_error_count = 100, timestamp = 1600000000"
        compare(__doc__, "writes", settings, lambda rng, number: make_case(rng, number, folder))


if __name__ == "__main__":
    main()
