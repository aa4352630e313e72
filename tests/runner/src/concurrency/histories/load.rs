//! Transactions that read lists and append to them, by every kind of statement and access path.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use loadgen::random::Random;
use mysql::Conn;
use mysql::prelude::Queryable;

use super::super::{Mode, text, try_again};
use super::history::{History, List, Moment, Read};

/// A list is a row: its elements are in `v`, their number in `n`.
pub const TABLES: [&str; 3] = [
    "CREATE TABLE lists0 (id INT PRIMARY KEY, s INT NOT NULL, u INT NOT NULL, n INT NOT NULL, v TEXT NOT NULL, \
     KEY s (s), UNIQUE KEY u (u), KEY n (n))",
    "CREATE TABLE lists1 (id VARCHAR(20) PRIMARY KEY, s INT NOT NULL, u INT NOT NULL, n INT NOT NULL, \
     v VARCHAR(700) NOT NULL, KEY s (s, n, v), UNIQUE KEY u (u), KEY n (n, s))",
    "CREATE TABLE lists2 (id INT PRIMARY KEY, s INT NOT NULL, u INT NOT NULL, n INT NOT NULL, v TEXT NOT NULL, \
     KEY s (s), KEY u (u), KEY n (n)) PARTITION BY HASH (id) PARTITIONS 3",
];
const LISTS: u64 = 8;
const STATEMENTS: u64 = 5;

/// What all clients share.
#[derive(Default)]
pub struct Shared {
    history: Mutex<History>,
    values: AtomicU64,
}

impl Shared {
    pub fn into_history(self) -> Result<History, String> {
        self.history.into_inner().map_err(text)
    }

    fn record(&self, add: impl FnOnce(&mut History)) -> Result<(), String> {
        self.history
            .lock()
            .map(|mut history| add(&mut history))
            .map_err(text)
    }
}

pub struct Client<'a> {
    conn: Conn,
    number: u64,
    transactions: u64,
    random: Random,
    mode: Mode,
    shared: &'a Shared,
}

/// A transaction that is open.
struct Open {
    /// REPEATABLE READ: the snapshot begins with the first read, and all others join it.
    one_snapshot: bool,
    /// When BEGIN was sent.
    begun: Instant,
    snapshots: Vec<Moment>,
    locked: Vec<Read>,
    appends: Vec<(List, u64)>,
    /// How many appends there were at the savepoint.
    savepoint: Option<usize>,
}

/// Why a transaction ends early.
enum End {
    /// The server has chosen it, as it may.
    Aborted,
    Failed(String),
}

impl From<mysql::Error> for End {
    fn from(error: mysql::Error) -> Self {
        match try_again(&error) {
            true => Self::Aborted,
            false => Self::Failed(text(error)),
        }
    }
}

/// Number of the table, key, number of elements, elements.
type Row = (u64, u64, u64, String);

impl<'a> Client<'a> {
    /// `mode`: that of the connection's transactions.
    pub fn new(conn: Conn, number: u64, mode: Mode, shared: &'a Shared) -> Self {
        Self {
            conn,
            mode,
            number,
            transactions: 0,
            random: Random::new(number),
            shared,
        }
    }

    pub fn transaction(&mut self) -> Result<(), String> {
        self.transactions += 1;
        let mut open = Open {
            one_snapshot: self.random.below(2) == 0,
            begun: Instant::now(),
            snapshots: Vec::new(),
            locked: Vec::new(),
            appends: Vec::new(),
            savepoint: None,
        };
        let level = match open.one_snapshot {
            true => "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
            false => "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
        };
        self.conn.query_drop(level).map_err(text)?;
        self.conn.query_drop("BEGIN").map_err(text)?;
        let asked = match self.statements(&mut open) {
            Ok(()) if self.random.below(10) > 0 => {
                let asked = Instant::now();
                self.conn
                    .query_drop("COMMIT")
                    .map(|()| Some(asked))
                    .map_err(End::from)
            }
            Ok(()) => Err(End::Aborted),
            Err(end) => Err(end),
        };
        let asked = match asked {
            Err(End::Failed(error)) => return Err(error),
            Err(End::Aborted) => self.conn.query_drop("ROLLBACK").map(|()| None).map_err(text)?,
            Ok(asked) => asked,
        };
        self.end(open, asked)
    }

    /// `asked`: when the COMMIT was sent that has succeeded.
    fn end(&self, open: Open, asked: Option<Instant>) -> Result<(), String> {
        let commit = asked.map(|asked| self.moment("commit", open.locked, asked));
        self.shared.record(|history| {
            history.moments.extend(open.snapshots);
            match commit {
                Some(commit) => history.moments.push(Moment {
                    appends: open.appends,
                    ..commit
                }),
                None => history
                    .aborted
                    .extend(open.appends.iter().map(|(_, value)| value)),
            }
        })
    }

    fn moment(&self, kind: &str, reads: Vec<Read>, asked: Instant) -> Moment {
        Moment {
            name: format!("{kind} of {}.{}", self.number, self.transactions),
            reads,
            appends: Vec::new(),
            asked,
            answered: Instant::now(),
        }
    }

    fn statements(&mut self, open: &mut Open) -> Result<(), End> {
        for _ in 0..=self.random.below(STATEMENTS) {
            match self.random.below(10) {
                0..4 => self.read(open)?,
                4 => self.lock(open)?,
                // A savepoint before the first read does not keep the snapshot on MySQL.
                5 if !open.snapshots.is_empty() => self.savepoint(open)?,
                _ => self.append(open)?,
            }
        }
        Ok(())
    }

    fn savepoint(&mut self, open: &mut Open) -> Result<(), End> {
        let Some(kept) = open.savepoint.take() else {
            self.conn.query_drop("SAVEPOINT s")?;
            open.savepoint = Some(open.appends.len());
            return Ok(());
        };
        self.conn.query_drop("ROLLBACK TO s")?;
        let undone = open.appends.split_off(kept);
        self.shared
            .record(|history| history.aborted.extend(undone.iter().map(|(_, value)| value)))
            .map_err(End::Failed)
    }

    /// Reads without locks. Lists that are not found are empty.
    fn read(&mut self, open: &mut Open) -> Result<(), End> {
        let (table, id) = self.list();
        let all = (0..LISTS).map(|id| (table, id));
        let other = (table + 1) % TABLES.len() as u64;
        let (condition, lists): (String, Vec<List>) = match self.random.below(7) {
            0 => (key(table, id), vec![(table, id)]),
            1 => (format!("s = {id}"), vec![(table, id)]),
            2 => (format!("u = {id}"), vec![(table, id)]),
            3 => ("s BETWEEN 0 AND 7 ORDER BY s DESC".to_owned(), all.collect()),
            4 => ("n > 0 ORDER BY n".to_owned(), all.collect()),
            5 => ("n + 0 > 0".to_owned(), all.collect()),
            _ => (
                format!("n > 0 UNION ALL {} n > 0", select(other)),
                all.chain((0..LISTS).map(|id| (other, id))).collect(),
            ),
        };
        // An optimistic transaction that has written stays at the snapshot of its writes, which may be as old as it is.
        let asked = match self.mode == Mode::Optimistic && !open.appends.is_empty() {
            true => open.begun,
            false => Instant::now(),
        };
        let rows = self.rows(&format!("{} {condition}", select(table)))?;
        let moment = self.moment("snapshot", Vec::new(), asked);
        if !open.one_snapshot || open.snapshots.is_empty() {
            open.snapshots.push(moment);
        }
        for list in lists {
            let values = rows.get(&list).cloned().unwrap_or_default();
            if open.appends.iter().any(|(own, _)| *own == list) {
                open.lock(list, values)?;
            } else if let Some(snapshot) = open.snapshots.last_mut() {
                snapshot.reads.push(Read { list, values });
            }
        }
        Ok(())
    }

    /// Locks rows. There is no promise about rows that do not exist.
    fn lock(&mut self, open: &mut Open) -> Result<(), End> {
        let (table, id) = self.list();
        let condition = match self.random.below(4) {
            0 => key(table, id),
            1 => format!("u = {id}"),
            2 => format!("s = {id}"),
            _ => "s BETWEEN 2 AND 4".to_owned(),
        };
        let mode = ["FOR UPDATE", "FOR SHARE", "FOR UPDATE SKIP LOCKED"][self.random.below(3) as usize];
        let rows = self.rows(&format!("{} {condition} {mode}", select(table)))?;
        rows.into_iter()
            .try_for_each(|(list, values)| open.lock(list, values))
    }

    fn append(&mut self, open: &mut Open) -> Result<(), End> {
        let list @ (table, id) = self.list();
        let key = key(table, id);
        let value = self.shared.values.fetch_add(1, Ordering::Relaxed);
        // Until the statement has succeeded, the value is not there.
        open.appends.push((list, value));
        let found = match self.random.below(6) {
            0 => self.update(table, &key, value)?,
            1 => self.update(table, &format!("s = {id}"), value)?,
            2 => self.update(table, &format!("u = {id}"), value)?,
            3 => false,
            kind => self.read_and_replace(open, list, value, kind == 4)?,
        };
        if found {
            return Ok(());
        }
        let row = row(table, id, 1, &format!(",{value}"));
        self.run(&format!(
            "INSERT INTO lists{table} VALUES {row} ON DUPLICATE KEY UPDATE n = n + 1, v = CONCAT(v, VALUES(v))"
        ))?;
        Ok(())
    }

    fn update(&mut self, table: u64, condition: &str, value: u64) -> Result<bool, End> {
        self.run(&format!(
            "UPDATE lists{table} SET n = n + 1, v = CONCAT(v, ',{value}') WHERE {condition}"
        ))?;
        Ok(self.conn.affected_rows() == 1)
    }

    /// Computes the list in the client.
    fn read_and_replace(
        &mut self,
        open: &mut Open,
        list @ (table, id): List,
        value: u64,
        replace: bool,
    ) -> Result<bool, End> {
        let key = key(table, id);
        let rows = self.rows(&format!("{} {key} FOR UPDATE", select(table)))?;
        let Some(values) = rows.get(&list) else {
            return Ok(false);
        };
        // The new value is not written yet.
        let new = open.appends.pop();
        open.lock(list, values.clone())?;
        open.appends.extend(new);
        let old: String = values.iter().map(|value| format!(",{value}")).collect();
        let row = row(table, id, values.len() as u64 + 1, &format!("{old},{value}"));
        if replace {
            self.run(&format!("REPLACE INTO lists{table} VALUES {row}"))?;
        } else {
            self.run(&format!("DELETE FROM lists{table} WHERE {key}"))?;
            self.run(&format!("INSERT INTO lists{table} VALUES {row}"))?;
        }
        Ok(true)
    }

    /// Reads every list, as the last moment of the history.
    pub fn read_everything(mut self) -> Result<(), String> {
        let queries: Vec<String> = (0..TABLES.len() as u64)
            .map(|table| format!("{} n > 0", select(table)))
            .collect();
        let asked = Instant::now();
        let rows = match self.rows(&queries.join(" UNION ALL ")) {
            Ok(rows) => rows,
            Err(End::Failed(error)) => return Err(error),
            Err(End::Aborted) => return Err("a plain read was aborted".to_owned()),
        };
        let reads = rows.into_iter().map(|(list, values)| Read { list, values });
        let last = self.moment("snapshot", reads.collect(), asked);
        self.shared.record(|history| history.moments.push(last))
    }

    fn list(&mut self) -> List {
        let table = self.random.below(TABLES.len() as u64);
        (table, self.random.below(LISTS))
    }

    fn run(&mut self, statement: &str) -> Result<(), End> {
        let run = match self.number % 2 {
            0 => self.conn.query_drop(statement),
            _ => self.conn.exec_drop(statement, ()),
        };
        run.map_err(End::from)
    }

    fn rows(&mut self, query: &str) -> Result<HashMap<List, Vec<u64>>, End> {
        let rows: Vec<Row> = match self.number % 2 {
            0 => self.conn.query(query)?,
            _ => self.conn.exec(query, ())?,
        };
        let mut lists = HashMap::new();
        for (table, id, count, elements) in rows {
            let values: Vec<u64> = elements
                .split(',')
                .filter_map(|value| value.parse().ok())
                .collect();
            if values.len() as u64 != count {
                return Err(End::Failed(format!("{query}: n = {count} and v = {elements}")));
            }
            if lists.insert((table, id), values).is_some() {
                return Err(End::Failed(format!("{query}: row {id} twice")));
            }
        }
        Ok(lists)
    }
}

impl Open {
    /// The row is locked, or written by this transaction: it has not changed since, and ends with its own
    /// elements.
    fn lock(&mut self, list: List, mut values: Vec<u64>) -> Result<(), End> {
        let own = self.appends.iter().filter(|(own, _)| *own == list);
        let own: Vec<u64> = own.map(|(_, value)| *value).collect();
        if !values.ends_with(&own) {
            return Err(End::Failed(format!(
                "own elements {own:?} are not at the end of {values:?}"
            )));
        }
        values.truncate(values.len() - own.len());
        let before = self.locked.iter().find(|read| read.list == list);
        if let Some(before) = before.filter(|before| before.values != values) {
            return Err(End::Failed(format!(
                "locked {list:?} changed: {before:?}, {values:?}"
            )));
        }
        self.locked.push(Read { list, values });
        Ok(())
    }
}

fn select(table: u64) -> String {
    format!("SELECT {table}, s, n, v FROM lists{table} WHERE")
}

fn key(table: u64, id: u64) -> String {
    format!("id = {}", literal(table, id))
}

fn row(table: u64, id: u64, count: u64, elements: &str) -> String {
    format!("({}, {id}, {id}, {count}, '{elements}')", literal(table, id))
}

/// The keys of the second table are strings.
fn literal(table: u64, id: u64) -> String {
    match table {
        1 => format!("'list {id}'"),
        _ => id.to_string(),
    }
}
