//! Joins against a model that looks at all pairs of rows, by every way to find partners.

mod support;

use functions::Expr;
use planner::plan::{Access, ExecutionCache, Join, JoinKey, JoinKind, LookupJoin, Rel, TableScan};
use support::rel::*;
use support::{Conn, Db};
use types::Value;

const KINDS: [JoinKind; 5] = [
    JoinKind::Inner,
    JoinKind::Left,
    JoinKind::Semi,
    JoinKind::Anti,
    JoinKind::Mark,
];

type Row = Vec<Option<i64>>;

/// The columns of the right side: `id`, `k` (indexed), `u` (unique), `v`.
const WIDTH: usize = 4;

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n) as i64
    }

    fn maybe(&mut self, n: u64) -> Option<i64> {
        let value = self.below(n + 1);
        (value > 0).then_some(value)
    }
}

/// A join on `left.0 = right.column`, and with `residual` on `left.1 < right.3`.
#[derive(Debug, Clone, Copy)]
struct Spec {
    kind: JoinKind,
    column: usize,
    residual: bool,
    null_safe: bool,
}

impl Spec {
    fn condition(self) -> Option<Expr> {
        self.residual
            .then(|| call("<", vec![column(1, INT), column(2 + 3, INT)]))
    }

    fn truth(self, left: &Row, right: &Row) -> Option<bool> {
        let key = match (self.null_safe, left[0], right[self.column]) {
            (true, a, b) => Some(a == b),
            (false, Some(a), Some(b)) => Some(a == b),
            _ => None,
        };
        let residual = match (left[1], right[3]) {
            _ if !self.residual => Some(true),
            (Some(a), Some(b)) => Some(a < b),
            _ => None,
        };
        match (key, residual) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        }
    }

    fn model(self, left: &[Row], right: &[Row]) -> Vec<String> {
        let mut out = Vec::new();
        for l in left {
            let truths: Vec<_> = right.iter().map(|r| self.truth(l, r)).collect();
            let has = |truth| truths.contains(&truth);
            let mut push = |more: &[Option<i64>]| out.push(line(&[l.as_slice(), more].concat()));
            match self.kind {
                JoinKind::Inner | JoinKind::Left => {
                    let pairs = right.iter().zip(&truths).filter(|(_, t)| **t == Some(true));
                    pairs.for_each(|(r, _)| push(r));
                    if self.kind == JoinKind::Left && !has(Some(true)) {
                        push(&[None; WIDTH]);
                    }
                }
                JoinKind::Semi if has(Some(true)) => push(&[]),
                JoinKind::Anti if !has(Some(true)) => push(&[]),
                JoinKind::Mark if has(Some(true)) => push(&[Some(1)]),
                JoinKind::Mark if has(None) => push(&[None]),
                JoinKind::Mark => push(&[Some(0)]),
                _ => {}
            }
        }
        out
    }

    fn hash(self, left: Rel, right: Rel) -> Rel {
        Rel::Join(Join {
            kind: self.kind,
            left: Box::new(left),
            right: Box::new(right),
            right_rows: 0,
            rows: 1.0,
            keys: vec![JoinKey {
                left: column(0, INT),
                right: column(self.column, INT),
                null_safe: self.null_safe,
            }],
            residual: self.condition(),
        })
    }

    fn nested(self, left: Rel, right: Rel) -> Rel {
        let name = if self.null_safe { "<=>" } else { "=" };
        let key = call(name, vec![column(0, INT), column(2 + self.column, INT)]);
        Rel::Join(Join {
            kind: self.kind,
            left: Box::new(left),
            right: Box::new(right),
            right_rows: 0,
            rows: 1.0,
            keys: Vec::new(),
            residual: Some(match self.condition() {
                Some(residual) => call("and", vec![key, residual]),
                None => key,
            }),
        })
    }

    fn lookup(self, left: Rel, right: TableScan) -> Rel {
        Rel::LookupJoin(LookupJoin {
            kind: self.kind,
            left: Box::new(left),
            right,
            residual: self.condition(),
            rows: 1.0,
            execution_cache: ExecutionCache::default(),
        })
    }

    /// Whether the rows that a lookup does not read could make a mark NULL.
    fn is_for_lookups(self) -> bool {
        self.kind != JoinKind::Mark && !self.null_safe
    }
}

fn line(row: &[Option<i64>]) -> String {
    let text = |value: &Option<i64>| value.map_or("NULL".to_owned(), |v| v.to_string());
    row.iter().map(text).collect::<Vec<_>>().join(" ")
}

fn rel_of(rows: &[Row]) -> Rel {
    let slices: Vec<&[Option<i64>]> = rows.iter().map(Vec::as_slice).collect();
    match slices.is_empty() {
        true => values(&[INT, INT], &[]),
        false => ints(&slices),
    }
}

fn table(rows: &[Row]) -> Db {
    let db = Db::with(
        "create table r (id bigint primary key, k bigint, u bigint, v bigint, key k (k), unique u (u), key kv (k, v))",
    );
    for chunk in rows.chunks(500) {
        let rows: Vec<_> = chunk
            .iter()
            .map(|row| format!("({})", line(row).replace(' ', ", ")))
            .collect();
        db.conn()
            .exec(&format!("insert into r values {}", rows.join(", ")));
    }
    db
}

fn random_right(random: &mut Random, count: usize, keys: u64) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for id in 1..=count as i64 {
        let u = random
            .maybe(count as u64)
            .filter(|u| rows.iter().all(|row| row[2] != Some(*u)));
        rows.push(vec![Some(id * 2), random.maybe(keys), u, random.maybe(9)]);
    }
    rows
}

/// All ways to run a join, each with its name.
fn ways(c: &Conn<'_>, spec: Spec, left: &[Row]) -> Vec<(&'static str, Rel)> {
    let left = || rel_of(left);
    let mut ways = vec![
        ("hash", spec.hash(left(), full(c, "r"))),
        ("nested", spec.nested(left(), full(c, "r"))),
    ];
    if !spec.is_for_lookups() {
        return ways;
    }
    let key = || column(0, INT);
    let index = |name| Access::IndexRanges {
        index: index(c, "r", name),
        ranges: vec![equal_range(key())],
        reverse: false,
        covering: false,
    };
    let accesses: Vec<(&str, Access)> = match spec.column {
        0 => vec![
            (
                "points",
                Access::PrimaryPoints {
                    keys: vec![vec![key()]],
                },
            ),
            (
                "ranges",
                Access::PrimaryRanges {
                    ranges: vec![equal_range(key())],
                    reverse: false,
                },
            ),
        ],
        1 => vec![("index", index("k"))],
        2 => vec![
            (
                "unique points",
                Access::UniquePoints {
                    index: support::rel::index(c, "r", "u"),
                    keys: vec![vec![key()]],
                },
            ),
            ("unique ranges", index("u")),
        ],
        _ => vec![],
    };
    for (name, access) in accesses {
        ways.push((name, spec.lookup(left(), scan(c, "r", access))));
    }
    ways
}

fn check(c: &mut Conn<'_>, spec: Spec, left: &[Row], right: &[Row], limits: &[i64]) {
    let expected = spec.model(left, right);
    for (name, rel) in ways(c, spec, left) {
        assert_eq!(
            c.rel(rel.clone()),
            expected,
            "{name} {spec:?}\n{left:?}\n{right:?}"
        );
        for count in limits {
            let some: Vec<_> = expected.iter().take(*count as usize).cloned().collect();
            assert_eq!(
                c.rel(limit(rel.clone(), *count)),
                some,
                "{name} {spec:?} limit {count}"
            );
        }
    }
}

fn specs() -> Vec<Spec> {
    let mut specs = Vec::new();
    for kind in KINDS {
        for column in 0..3 {
            for (residual, null_safe) in [(false, false), (true, false), (false, true), (true, true)] {
                specs.push(Spec {
                    kind,
                    column,
                    residual,
                    null_safe,
                });
            }
        }
    }
    specs
}

#[test]
fn random_joins_are_those_of_the_model() {
    let mut random = Random(0x1234_5678_9abc);
    for (left_rows, right_rows, keys) in [(0, 5, 3), (5, 0, 3), (12, 9, 4), (30, 40, 6), (7, 60, 2)] {
        let right = random_right(&mut random, right_rows, keys);
        let db = table(&right);
        let mut c = db.conn();
        let left: Vec<Row> = (0..left_rows)
            .map(|_| vec![random.maybe(keys * 2), random.maybe(9)])
            .collect();
        for spec in specs() {
            check(&mut c, spec, &left, &right, &[0, 1, 3]);
        }
    }
}

#[test]
fn joins_of_more_rows_than_a_batch() {
    let mut random = Random(0x1357);
    let right = random_right(&mut random, 3000, 900);
    let db = table(&right);
    let mut c = db.conn();
    let left: Vec<Row> = (0..2500)
        .map(|_| vec![random.maybe(6000), random.maybe(9)])
        .collect();
    for kind in KINDS {
        for column in 0..3 {
            let spec = Spec {
                kind,
                column,
                residual: column == 1,
                null_safe: false,
            };
            let expected = spec.model(&left, &right);
            for (name, rel) in ways(&c, spec, &left) {
                // All pairs of so many rows take too long here.
                if name != "nested" {
                    assert_eq!(c.rel(rel.clone()), expected, "{name} {spec:?}");
                    assert_eq!(
                        c.rel(limit(rel, 1500)),
                        expected[..expected.len().min(1500)],
                        "{name}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_lookup_filters_the_table_and_reads_covering_entries() {
    let right: Vec<Row> = (1..=40)
        .map(|id| vec![Some(id), Some(id % 4), None, Some(id % 7)])
        .collect();
    let db = table(&right);
    let mut c = db.conn();
    let left = || {
        ints(&[
            &[Some(1), Some(0)],
            &[None, Some(0)],
            &[Some(9), Some(0)],
            &[Some(3), Some(0)],
        ])
    };
    let mut table = scan(
        &c,
        "r",
        Access::IndexRanges {
            index: index(&c, "r", "kv"),
            ranges: vec![equal_range(column(0, INT))],
            reverse: false,
            covering: true,
        },
    );
    table.columns = vec![3, 0];
    table.filter = Some(call("<", vec![column(0, INT), int(2)]));
    let join = |kind, residual| {
        Rel::LookupJoin(LookupJoin {
            kind,
            left: Box::new(left()),
            right: table.clone(),
            residual,
            rows: 1.0,
            execution_cache: ExecutionCache::default(),
        })
    };
    assert_eq!(
        c.line(join(JoinKind::Inner, None)),
        "1 0 0 21, 1 0 1 1, 1 0 1 29, 3 0 0 7, 3 0 0 35, 3 0 1 15"
    );
    let residual = || Some(call(">", vec![column(3, INT), int(30)]));
    assert_eq!(
        c.line(join(JoinKind::Left, residual())),
        "1 0 NULL NULL, NULL 0 NULL NULL, 9 0 NULL NULL, 3 0 0 35"
    );
    assert_eq!(c.line(join(JoinKind::Semi, residual())), "3 0");
    assert_eq!(c.line(join(JoinKind::Anti, None)), "NULL 0, 9 0");
    assert_eq!(c.line(limit(join(JoinKind::Inner, residual()), 1)), "3 0 0 35");
}

#[test]
fn several_points_of_a_row_find_a_partner_once() {
    let right: Vec<Row> = (1..=9)
        .map(|id| vec![Some(id), None, Some(id + 100), None])
        .collect();
    let db = table(&right);
    let mut c = db.conn();
    let join = Rel::LookupJoin(LookupJoin {
        kind: JoinKind::Left,
        left: Box::new(ints(&[
            &[Some(2), Some(1)],
            &[Some(3), Some(3)],
            &[None, Some(20)],
            &[Some(2), None],
        ])),
        right: scan(
            &c,
            "r",
            Access::PrimaryPoints {
                keys: vec![vec![column(0, INT)], vec![column(1, INT)]],
            },
        ),
        residual: None,
        rows: 1.0,
        execution_cache: ExecutionCache::default(),
    });
    assert_eq!(
        c.line(project(join, vec![column(0, INT), column(2, INT)])),
        "2 1, 2 2, 3 3, NULL NULL, 2 2"
    );
}

#[test]
fn text_keys_compare_by_their_collation() {
    let db = Db::new();
    let mut c = db.conn();
    let join = |kind| {
        Rel::Join(Join {
            kind,
            left: Box::new(texts(&[Some("a"), Some("Ä"), None, Some("b"), Some("x")])),
            right: Box::new(texts(&[Some("A"), Some("B"), Some("ä"), Some("c")])),
            right_rows: 0,
            rows: 1.0,
            keys: vec![JoinKey {
                left: column(0, text()),
                right: column(0, text()),
                null_safe: false,
            }],
            residual: None,
        })
    };
    assert_eq!(c.line(join(JoinKind::Inner)), "a A, a ä, Ä A, Ä ä, b B");
    assert_eq!(c.line(join(JoinKind::Anti)), "NULL, x");
    assert_eq!(c.line(join(JoinKind::Mark)), "a 1, Ä 1, NULL NULL, b 1, x 0");
}

#[test]
fn marks_of_several_keys_are_null_only_where_no_key_differs() {
    let db = Db::new();
    let mut c = db.conn();
    let left = [
        [Some(1), Some(1)],
        [Some(1), None],
        [None, None],
        [Some(5), None],
        [Some(2), Some(7)],
        [Some(3), Some(7)],
        [None, Some(8)],
    ];
    let right = [
        [Some(1), Some(1)],
        [Some(1), Some(2)],
        [Some(2), None],
        [None, Some(9)],
    ];
    let key = |position| JoinKey {
        left: column(position, INT),
        right: column(position, INT),
        null_safe: false,
    };
    let keys = vec![key(0), key(1)];
    let slices = |rows: &[[Option<i64>; 2]]| {
        let rows: Vec<&[Option<i64>]> = rows.iter().map(|row| row.as_slice()).collect();
        ints(&rows)
    };
    let join = |keys: Vec<JoinKey>, residual| {
        Rel::Join(Join {
            kind: JoinKind::Mark,
            left: Box::new(slices(&left)),
            right: Box::new(slices(&right)),
            right_rows: 0,
            rows: 1.0,
            keys,
            residual,
        })
    };
    let expected = "1 1 1, 1 NULL NULL, NULL NULL NULL, 5 NULL NULL, 2 7 NULL, 3 7 0, NULL 8 NULL";
    assert_eq!(c.line(join(keys.clone(), None)), expected);
    let both = call(
        "and",
        vec![
            equal(column(0, INT), column(2, INT)),
            equal(column(1, INT), column(3, INT)),
        ],
    );
    assert_eq!(c.line(join(Vec::new(), Some(both))), expected);
    // What the residual makes false is false.
    let never = call("<", vec![column(0, INT), int(-1)]);
    assert_eq!(
        c.line(join(keys, Some(never))),
        "1 1 0, 1 NULL 0, NULL NULL NULL, 5 NULL 0, 2 7 0, 3 7 0, NULL 8 NULL"
    );
}

#[test]
fn a_join_without_a_condition_pairs_all_rows() {
    let db = Db::new();
    let mut c = db.conn();
    let join = |kind, left: Rel, right: Rel| {
        Rel::Join(Join {
            kind,
            left: Box::new(left),
            right: Box::new(right),
            right_rows: 0,
            rows: 1.0,
            keys: Vec::new(),
            residual: None,
        })
    };
    let two = || ints(&[&[Some(1)], &[None]]);
    let none = || values(&[INT], &[]);
    assert_eq!(
        c.line(join(JoinKind::Inner, two(), two())),
        "1 1, 1 NULL, NULL 1, NULL NULL"
    );
    assert_eq!(c.line(join(JoinKind::Inner, two(), none())), "");
    assert_eq!(c.line(join(JoinKind::Inner, none(), two())), "");
    assert_eq!(c.line(join(JoinKind::Left, two(), none())), "1 NULL, NULL NULL");
    assert_eq!(c.line(join(JoinKind::Semi, two(), two())), "1, NULL");
    assert_eq!(c.line(join(JoinKind::Anti, two(), none())), "1, NULL");
    assert_eq!(c.line(join(JoinKind::Mark, two(), none())), "1 0, NULL 0");
    let many: Vec<Vec<Value>> = (0..1500).map(|n| vec![Value::Int(n)]).collect();
    let pairs = c.rel(join(
        JoinKind::Inner,
        values(&[INT], &many),
        ints(&[&[Some(1)], &[Some(2)]]),
    ));
    assert_eq!((pairs.len(), pairs[2999].as_str()), (3000, "1499 2"));
}

#[test]
fn a_limit_above_a_lookup_join_reads_few_rows() {
    let right: Vec<Row> = (1..=20_000)
        .map(|id| vec![Some(id), Some(1), None, Some(id)])
        .collect();
    let db = table(&right);
    let mut c = db.conn();
    let join = |c: &Conn<'_>| {
        Rel::LookupJoin(LookupJoin {
            kind: JoinKind::Inner,
            left: Box::new(full(c, "r")),
            right: scan(
                c,
                "r",
                Access::IndexRanges {
                    index: index(c, "r", "k"),
                    ranges: vec![equal_range(column(1, INT))],
                    reverse: false,
                    covering: false,
                },
            ),
            residual: None,
            rows: 1.0,
            execution_cache: ExecutionCache::default(),
        })
    };
    // Each of 20,000 rows has 20,000 partners: all pairs would take minutes.
    let join = limit(join(&c), 2);
    let started = std::time::Instant::now();
    assert_eq!(c.line(join), "1 1 NULL 1 1 1 NULL 1, 1 1 NULL 1 2 1 NULL 2");
    assert!(started.elapsed() < std::time::Duration::from_secs(20));
}

#[test]
fn locking_lookups_lock_the_rows_they_return() {
    let right: Vec<Row> = (1..=6)
        .map(|id| vec![Some(id), Some(id % 2), Some(id + 10), None])
        .collect();
    let db = table(&right);
    let mut c = db.conn();
    let locking = Some(planner::plan::Locking {
        exclusive: true,
        wait: planner::plan::LockingWait::Wait,
        of_write: true,
    });
    let accesses = [
        Access::PrimaryPoints {
            keys: vec![vec![column(0, INT)]],
        },
        Access::UniquePoints {
            index: index(&c, "r", "u"),
            keys: vec![vec![call("+", vec![column(0, INT), int(10)])]],
        },
        Access::PrimaryRanges {
            ranges: vec![equal_range(column(0, INT))],
            reverse: false,
        },
    ];
    for access in accesses {
        for kind in [JoinKind::Inner, JoinKind::Semi, JoinKind::Left] {
            let mut table = scan(&c, "r", access.clone());
            table.locking = locking;
            let join = Rel::LookupJoin(LookupJoin {
                kind,
                left: Box::new(ints(&[&[Some(2)], &[Some(99)], &[Some(5)]])),
                right: table,
                residual: None,
                rows: 1.0,
                execution_cache: ExecutionCache::default(),
            });
            c.begin();
            let rows = c.rel(join).len();
            assert_eq!(rows, if kind == JoinKind::Left { 3 } else { 2 });
            let mut other = db.conn();
            assert!(other.error("update r set v = 1 where id = 5").starts_with("1205"));
            assert_eq!(other.exec("update r set v = 1 where id = 4").matched, 1);
            c.rollback();
        }
    }
}

#[test]
fn a_right_side_without_memory_comes_in_blocks() {
    let db = Db::new();
    let mut c = db.conn();
    c.memory_limit_bytes = 64 << 10;
    let many: Vec<Vec<Value>> = (0..20_000).map(|n| vec![Value::Int(n)]).collect();
    for keys in [true, false] {
        let key = JoinKey {
            left: column(0, INT),
            right: column(0, INT),
            null_safe: false,
        };
        let join = Rel::Join(Join {
            kind: JoinKind::Semi,
            left: Box::new(ints(&[&[Some(1)]])),
            right: Box::new(values(&[INT], &many)),
            right_rows: 0,
            rows: 1.0,
            keys: keys.then_some(key).into_iter().collect(),
            residual: None,
        });
        assert_eq!(c.rel(join).len(), 1);
    }
}

#[test]
fn the_first_rows_of_a_join_in_blocks_are_those_of_the_whole() {
    let db = Db::new();
    let mut c = db.conn();
    let enough = c.memory_limit_bytes;
    let of = |step: i64| -> Vec<Vec<Value>> { (0..12_000).map(|n| vec![Value::Int(n * step)]).collect() };
    let (left, right) = (of(2), of(3));
    for kind in [JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti] {
        let join = || {
            Rel::Join(Join {
                kind,
                left: Box::new(values(&[INT], &left)),
                right: Box::new(values(&[INT], &right)),
                right_rows: 0,
                rows: 1.0,
                keys: vec![JoinKey {
                    left: column(0, INT),
                    right: column(0, INT),
                    null_safe: false,
                }],
                residual: None,
            })
        };
        c.memory_limit_bytes = enough;
        let all = c.rel(join());
        c.memory_limit_bytes = 64 << 10;
        // The left rows of one chunk, of several, and all.
        for count in [1, 500, 3000, 11_000] {
            let first = all.len().min(count as usize);
            assert_eq!(c.rel(limit(join(), count)), all[..first]);
        }
    }
}
