//! `performance_schema.metadata_locks`: the tables that transactions use, which keep their definitions from
//! changing, the locks of LOCK TABLES and of statements that change definitions, and those of GET_LOCK(). They are
//! read from those who have them when a statement asks.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use cluster::TableUse;
use cluster::metadata_lock::{ClaimNow, Purpose, Stage};
use schema::model::Table;
use types::{Result, Value};

use crate::table::{Context, Row, SystemTable};
use crate::values::text;

pub(crate) struct MetadataLocks;

impl SystemTable for MetadataLocks {
    fn name(&self) -> &'static str {
        "performance_schema.metadata_locks"
    }

    fn columns(&self) -> &'static str {
        r#"
OBJECT_TYPE varchar(64) ai NOT
OBJECT_SCHEMA varchar(64) ai NULL
OBJECT_NAME varchar(64) ai NULL
COLUMN_NAME varchar(64) ai NULL
OBJECT_INSTANCE_BEGIN bigint_unsigned - NOT
LOCK_TYPE varchar(32) ai NOT
LOCK_DURATION varchar(32) ai NOT
LOCK_STATUS varchar(32) ai NOT
SOURCE varchar(64) ai NULL
OWNER_THREAD_ID bigint_unsigned - NULL
OWNER_EVENT_ID bigint_unsigned - NULL
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let tables = ctx
            .schema
            .databases
            .values()
            .flat_map(|database| database.tables.values());
        let mut listed = Listed {
            tables: tables.map(|table| (table.id, table)).collect(),
            rows: Vec::new(),
        };
        let claims = ctx.sources.cluster.metadata_locks().claims();
        let transactions = ctx.sources.server.transactions();
        let uses = transactions
            .iter()
            .flat_map(|one| one.tables.iter().map(|used| (one.session, *used)));
        let uses: Vec<(u64, TableUse)> = uses.collect();
        let stopped = stopped(&claims, &uses);
        for session in &stopped {
            listed.push(*session, ALL, "INTENTION_EXCLUSIVE", "STATEMENT", true);
        }
        for claim in claims.iter().filter(|claim| !stopped.contains(&claim.session)) {
            listed.claim(claim);
        }
        for (session, used) in uses {
            if !(used.waits && stopped.contains(&session)) {
                let kind = if used.writes {
                    "SHARED_WRITE"
                } else {
                    "SHARED_READ"
                };
                listed.table(session, used.table, kind, used.waits);
            }
        }
        for lock in ctx.sources.server.user_locks() {
            let object = ("USER LEVEL LOCK", None, Some(lock.name.as_str()));
            listed.push(lock.session, object, "EXCLUSIVE", "EXPLICIT", lock.waits);
        }
        Ok(listed.rows)
    }
}

/// What is locked: its kind, database and name.
type Object<'a> = (&'a str, Option<&'a str>, Option<&'a str>);

/// What FLUSH TABLES WITH READ LOCK locks.
const ALL: Object<'static> = ("GLOBAL", None, None);
const COMMIT: Object<'static> = ("COMMIT", None, None);
const BACKUP: Object<'static> = ("BACKUP LOCK", None, None);

/// The sessions that wait for the end of FLUSH TABLES WITH READ LOCK: they would write while it is held.
fn stopped(claims: &[ClaimNow], uses: &[(u64, TableUse)]) -> HashSet<u64> {
    let is_locked = claims
        .iter()
        .any(|claim| claim.purpose == Purpose::LockAll && claim.stage == Stage::Holds);
    if !is_locked {
        return HashSet::new();
    }
    let waits = |claim: &&ClaimNow| match claim.purpose {
        Purpose::Alter | Purpose::Replace => matches!(claim.stage, Stage::Waits | Stage::WaitsAlone),
        Purpose::LockTables => claim.stage == Stage::Waits && claim.tables.iter().any(|(_, write)| *write),
        _ => false,
    };
    let of_claims = claims.iter().filter(waits).map(|claim| claim.session);
    let of_uses = uses.iter().filter(|(_, used)| used.waits && used.writes);
    of_claims.chain(of_uses.map(|(session, _)| *session)).collect()
}

struct Listed<'a> {
    tables: HashMap<i64, &'a Arc<Table>>,
    rows: Vec<Row>,
}

impl Listed<'_> {
    fn push(&mut self, session: u64, object: Object<'_>, kind: &str, duration: &str, waits: bool) {
        self.push_at(0, session, object, kind, duration, waits);
    }

    fn push_at(
        &mut self,
        place: u64,
        session: u64,
        (object_type, database, name): Object<'_>,
        kind: &str,
        duration: &str,
        waits: bool,
    ) {
        self.rows.push(vec![
            text(object_type),
            database.map_or(Value::Null, text),
            name.map_or(Value::Null, text),
            Value::Null,
            Value::UInt(place),
            text(kind),
            text(duration),
            text(if waits { "PENDING" } else { "GRANTED" }),
            Value::Null,
            match session {
                0 => Value::Null,
                session => Value::UInt(session),
            },
            Value::Null,
        ]);
    }

    /// The lock of a table, unless it has been dropped.
    fn table(&mut self, session: u64, id: i64, kind: &str, waits: bool) {
        if let Some(table) = self.tables.get(&id).copied() {
            let object = ("TABLE", Some(table.database.as_str()), Some(table.name.as_str()));
            self.push_at(id.unsigned_abs(), session, object, kind, "TRANSACTION", waits);
        }
    }

    /// The databases of the tables that a claim writes.
    fn databases(&mut self, claim: &ClaimNow) {
        let written = claim.tables.iter().filter(|(_, write)| *write);
        let databases: BTreeSet<String> = written
            .filter_map(|(id, _)| self.tables.get(id))
            .map(|table| table.database.clone())
            .collect();
        for database in &databases {
            let object = ("SCHEMA", Some(database.as_str()), None);
            self.push(claim.session, object, "INTENTION_EXCLUSIVE", "TRANSACTION", false);
        }
    }

    fn claim(&mut self, claim: &ClaimNow) {
        let (session, waits) = (claim.session, claim.stage == Stage::Waits);
        match claim.purpose {
            Purpose::LockAll => {
                self.push(session, ALL, "SHARED", "EXPLICIT", waits);
                if !waits {
                    self.push(session, COMMIT, "SHARED", "EXPLICIT", false);
                }
            }
            Purpose::Backup => self.push(session, BACKUP, "SHARED", "EXPLICIT", waits),
            Purpose::Definition => {
                self.push(session, ALL, "INTENTION_EXCLUSIVE", "STATEMENT", false);
                self.push(session, BACKUP, "INTENTION_EXCLUSIVE", "TRANSACTION", waits);
            }
            Purpose::LockTables => {
                if claim.tables.iter().any(|(_, write)| *write) {
                    self.push(session, ALL, "INTENTION_EXCLUSIVE", "STATEMENT", false);
                    self.databases(claim);
                }
                for (table, write) in &claim.tables {
                    let kind = if *write {
                        "SHARED_NO_READ_WRITE"
                    } else {
                        "SHARED_READ_ONLY"
                    };
                    self.table(session, *table, kind, waits);
                }
            }
            Purpose::Alter | Purpose::Replace => self.change(claim),
        }
    }

    fn change(&mut self, claim: &ClaimNow) {
        self.databases(claim);
        for (table, _) in &claim.tables {
            if claim.purpose == Purpose::Alter {
                let waits = claim.stage == Stage::Waits;
                self.table(claim.session, *table, "SHARED_UPGRADABLE", waits);
            }
            let exclusive = match claim.stage {
                Stage::Waits if claim.purpose == Purpose::Replace => Some(true),
                Stage::WaitsAlone => Some(true),
                Stage::Alone => Some(false),
                Stage::Waits | Stage::Holds => None,
            };
            if let Some(waits) = exclusive {
                self.table(claim.session, *table, "EXCLUSIVE", waits);
            }
        }
    }
}
