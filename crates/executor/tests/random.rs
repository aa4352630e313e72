//! Random statements, in random transactions: indexes agree with rows, every access path finds the same, and
//! what a statement or a transaction that failed had written is gone.

mod support;

use support::{Conn, Db};

/// Xorshift: the same statements on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    fn text(&mut self) -> String {
        let words = ["a", "A", "ab", "abc", "ABCD", "abcde", "b", "B ", "", "zz", "ä"];
        match self.below(12) {
            11 => "null".into(),
            n => format!("'{}'", words[n as usize]),
        }
    }

    fn number(&mut self) -> String {
        match self.below(10) {
            9 => "null".into(),
            n => n.to_string(),
        }
    }

    fn condition(&mut self) -> String {
        let (n, m, t) = (self.below(12), self.below(12), self.text());
        match self.below(10) {
            0 => format!("id = {n}"),
            1 => format!("id in ({n}, {m}, {n})"),
            2 => format!("id between {n} and {}", n + m),
            3 => format!("u = {m}"),
            4 => format!("u > {m}"),
            5 => format!("a = {n} and b = {t}"),
            6 => format!("a in ({n}, {m}) and b >= {t}"),
            7 => "b like 'ab%' or a is null".into(),
            8 => format!("s = {t}"),
            _ => format!("a < {n} or u is null"),
        }
    }

    fn statement(&mut self) -> String {
        let (id, u, a, b, s) = (
            self.below(12),
            self.number(),
            self.number(),
            self.text(),
            self.text(),
        );
        let ignore = if self.below(3) == 0 { "ignore" } else { "" };
        let row = format!("({id}, {u}, {a}, {b}, {s})");
        match self.below(12) {
            0..=2 => format!("insert {ignore} into t values {row}"),
            3 => format!(
                "insert {ignore} into t select id + 6, u + 6, a, b, concat(s, 'x') from t where {}",
                self.condition()
            ),
            4 => format!(
                "replace into t values {row}, ({}, {a}, {u}, {s}, {b})",
                self.below(12)
            ),
            5 => format!(
                "insert {ignore} into t values {row} on duplicate key update u = {u}, a = values(a), b = {s}"
            ),
            6 => format!("insert {ignore} into t values {row} on duplicate key update id = id + 1, s = {b}"),
            7 => format!(
                "update {ignore} t set u = {u}, b = {b} where {}",
                self.condition()
            ),
            8 => format!(
                "update {ignore} t set id = id + {}, a = {a} where {}",
                self.below(3),
                self.condition()
            ),
            9 => format!(
                "update {ignore} t set s = {s}, a = a + 1 where {} order by u limit 3",
                self.condition()
            ),
            10 => format!("delete from t where {}", self.condition()),
            _ => format!(
                "delete from t where {} order by b desc, id limit 2",
                self.condition()
            ),
        }
    }
}

fn all(c: &mut Conn<'_>) -> Vec<String> {
    c.rows("select id, u, a, b, s from t order by id")
}

fn run(table: &str, seed: u64) {
    let db = Db::with(table);
    let mut c = db.conn();
    let mut random = Random(seed);
    let mut committed = Vec::new();
    let (mut changes, mut failures) = (0, 0);
    for step in 0..400 {
        if c.txn.is_none() && random.below(3) == 0 {
            c.begin();
        }
        let (sql, before) = (random.statement(), all(&mut c));
        let result = c.run(&sql, &[]);
        changes += usize::from(all(&mut c) != before);
        if let Err(error) = result {
            failures += 1;
            assert!([1062, 1048].contains(&error.code), "{sql}: {error}");
            assert_eq!(
                all(&mut c),
                before,
                "step {step}: {sql} failed and left something"
            );
        }
        if c.txn.is_none() {
            committed = all(&mut c);
        } else if random.below(4) == 0 {
            match random.below(3) {
                0 => c.rollback(),
                _ => {
                    committed = all(&mut c);
                    c.commit();
                }
            }
            assert_eq!(all(&mut c), committed, "step {step}");
        }
        // A condition on plain columns, and the same where no index can serve it.
        let condition = random.condition();
        let by_index = c.rows(&format!("select id, b from t where {condition} order by id"));
        let by_scan = c.rows(&format!(
            "select id, b from (t) where ({condition}) is true order by id"
        ));
        assert_eq!(by_index, by_scan, "step {step}: {condition}");
        if step % 10 == 0 {
            db.check("t");
        }
    }
    assert!(
        changes > 100 && failures > 20,
        "{changes} changes, {failures} failures"
    );
    if c.txn.is_some() {
        c.rollback();
    }
    assert_eq!(all(&mut c), committed);
    db.check("t");
}

const INDEXES: &str = "unique uu (u), key ab (a, b), key bp (b(2)), unique sp (s(3), a), key sa (s, a)";

#[test]
fn integer_keys() {
    for seed in [1, 2, 3] {
        run(
            &format!(
                "create table t (id int primary key, u int, a int, b varchar(10), s varchar(10), {INDEXES})"
            ),
            seed * 0x9e37_79b9,
        );
    }
}

#[test]
fn clustered_keys() {
    for seed in [4, 5] {
        run(
            &format!(
                "create table t (id bigint unsigned, u int, a int, b varchar(10) collate utf8mb4_bin, s varchar(10), primary key (id), {INDEXES})"
            ),
            seed * 0x9e37_79b9,
        );
    }
}

#[test]
fn hidden_keys() {
    for seed in [6, 7] {
        run(
            &format!(
                "create table t (id int, u int, a int, b varchar(10), s varchar(10) collate latin1_swedish_ci, {INDEXES}, unique (id))"
            ),
            seed * 0x9e37_79b9,
        );
    }
}
