//! Prepared branches of a store that processes share ([`kv::detached`]): they belong to no node. Their rows are
//! prewritten, and what any node needs to end them is stored.
//!
//! A branch has a record under `XaBranches` ([`crate::meta::keys`]) and the keys of its locks in parts beside it.
//! A change of a branch and its end lock its record. The record has three states:
//!
//! - *preparing*, before anything is prewritten: rows are, or will be, locked without a time limit by the node that the record
//!   names. If that node is gone, any other one undoes the branch.
//! - *prepared*, once everything is prewritten. XA COMMIT and XA ROLLBACK decide with the branch's primary, a key
//!   under `XaOutcomes`, then end the other keys, and then remove the record. If the node is killed in between,
//!   another one finds that the primary is decided, and does the rest.
//! - *rolling back*: no node can finish preparing the branch any more.
//!
//! The record holds the tables of the branch, with the revisions of their definitions. It is committed while the
//! node has the metadata locks of these tables, and within its lease. From then on a version of the definitions is
//! complete ([`crate::Cluster::all_nodes_have`]) only if the branch has used the same definitions: as if it were a
//! node that does not follow.

use std::collections::BTreeSet;
use std::time::Duration;

use kv::{Detached, DetachedEnd, Durability, Fence, Reader, Store, Timestamp, Transaction};
use schema::model::Schema;
use serde::{Deserialize, Serialize};
use types::{Error, Result, errno};

use super::{
    PART_BYTES, PreparedBranches, Preparing, Xid, duplicate_xid, not_ended, not_prepared, unknown_xid,
};
use crate::meta::record::{Record, decode};
use crate::meta::{Meta, keys, read_all};
use crate::metadata_lock::ClosedTo;
use crate::node::ticks;
use crate::schema_cache::Closing;

/// A branch that is still preparing after that long is given up, although its node lives.
const PREPARING_MAX: Duration = Duration::from_secs(600);

/// What names the records in errors.
const WHAT: &str = "XA branch";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum BranchState {
    Preparing,
    Prepared,
    RollingBack,
}

/// A table that a branch uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct BranchTable {
    id: i64,
    /// Of the definition that the branch has used.
    revision: u64,
    writes: bool,
}

/// A branch, as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct BranchRecord {
    xid: Xid,
    state: BranchState,
    start_ts: Timestamp,
    /// How many parts its keys are stored in.
    parts: u32,
    tables: Vec<BranchTable>,
    /// The node that prepares it, and until when.
    node: i64,
    prepared_until: Timestamp,
}

impl Record for BranchRecord {}

impl BranchRecord {
    fn primary(&self) -> Vec<u8> {
        keys::xa_outcome(&self.xid.to_bytes(), self.start_ts)
    }

    /// Enough to tell how it has ended.
    fn without_keys(&self) -> Detached {
        Detached {
            start_ts: self.start_ts,
            primary: self.primary(),
            keys: Vec::new(),
        }
    }

    /// Whether it has used its tables as `schema` defines them, and none is closed to it.
    fn is_at(&self, schema: &Schema, closed: &BTreeSet<Closing>) -> bool {
        self.tables.iter().all(|used| {
            let closing = |to| Closing { table: used.id, to };
            let is_closed_to = |to| closed.contains(&closing(to));
            let to_writers = is_closed_to(ClosedTo::Writers) || is_closed_to(ClosedTo::WritersUntilAlone);
            let is_closed = is_closed_to(ClosedTo::All) || used.writes && to_writers;
            let now = schema.table_by_id(used.id);
            !is_closed && now.is_some_and(|table| table.revision == used.revision)
        })
    }
}

/// See the module.
pub(super) struct SharedBranches {
    store: Store,
    node: i64,
}

impl SharedBranches {
    pub(super) fn new(store: Store, node: i64) -> Self {
        Self { store, node }
    }

    fn records(&self) -> Result<Vec<BranchRecord>> {
        read_all(&self.store.latest(), &keys::xa_branches(), WHAT)
    }

    fn record(&self, xid: &Xid) -> Result<Option<BranchRecord>> {
        let stored = self.store.latest().get(&keys::xa_branch(&xid.to_bytes()))?;
        stored.map(|bytes| decode(&bytes, WHAT)).transpose()
    }

    /// Stores the record of a branch and its keys, within the lease that its definitions are from.
    fn begin(&self, record: &BranchRecord, keys: &[u8], fence: Option<&Fence>) -> Result<()> {
        let name = record.xid.to_bytes();
        let mut txn = Meta::begin(&self.store)?;
        let mut meta = Meta::new(&mut txn);
        if meta
            .lock_value::<BranchRecord>(&keys::xa_branch(&name), WHAT)?
            .is_some()
        {
            // A session of another node has prepared one that has this xid.
            return Err(duplicate_xid());
        }
        meta.put(keys::xa_branch(&name), record)?;
        meta.put_new_version(keys::xa_branches_version())?;
        for (number, part) in (0..).zip(keys.chunks(PART_BYTES)) {
            txn.put(keys::xa_branch_part(&name, number), part.to_vec())?;
        }
        txn.commit_within(Durability::Sync, fence)?;
        Ok(())
    }

    /// Changes the state of a branch that is preparing. False: it is not.
    fn settle(&self, record: &BranchRecord, state: BranchState) -> Result<bool> {
        let key = keys::xa_branch(&record.xid.to_bytes());
        let mut txn = Meta::begin(&self.store)?;
        let mut meta = Meta::new(&mut txn);
        let Some(mut stored) = meta.lock_value::<BranchRecord>(&key, WHAT)? else {
            return Ok(false);
        };
        if stored.start_ts != record.start_ts || stored.state != BranchState::Preparing {
            return Ok(false);
        }
        stored.state = state;
        meta.put(key, &stored)?;
        txn.commit(Durability::Sync)?;
        Ok(true)
    }

    /// Undoes a branch that is preparing.
    fn undo(&self, record: &BranchRecord) -> Result<()> {
        self.settle(record, BranchState::RollingBack)?;
        self.end_recorded(&record.xid, |stored| {
            let is_it = stored.start_ts == record.start_ts && stored.state == BranchState::RollingBack;
            is_it.then_some(false)
        })
        .map(drop)
    }

    /// [`SharedBranches::undo`] after XA PREPARE has failed.
    fn clean_up(&self, record: &BranchRecord) {
        if let Err(error) = self.undo(record) {
            tracing::warn!(%error, "what is left of an XA branch is removed later");
        }
    }

    /// Ends a branch, and removes its record. `commits` looks at the record, which is locked: whether to commit
    /// the branch, or `None` to leave it. Returns how it has ended, which another node may have decided.
    fn end_recorded(
        &self,
        xid: &Xid,
        commits: impl FnOnce(&BranchRecord) -> Option<bool>,
    ) -> Result<Option<DetachedEnd>> {
        let name = xid.to_bytes();
        let mut txn = Meta::begin(&self.store)?;
        let mut meta = Meta::new(&mut txn);
        let Some(record) = meta.lock_value::<BranchRecord>(&keys::xa_branch(&name), WHAT)? else {
            return Ok(None);
        };
        let Some(commit) = commits(&record) else {
            return Ok(None);
        };
        let detached = self.detached(&record)?;
        let end = self.store.end_detached(&detached, commit)?;
        let finished = self.store.finish_detached(&detached, end);
        let removed = finished
            .map_err(Error::from)
            .and_then(|()| remove(txn, &record, end));
        if let Err(error) = removed {
            // It is decided. A later look does the rest.
            tracing::warn!(%error, "the record of an XA branch that has ended stays for now");
        }
        Ok(Some(end))
    }

    fn detached(&self, record: &BranchRecord) -> Result<Detached> {
        let name = record.xid.to_bytes();
        let parts: Vec<Vec<u8>> = (0..record.parts)
            .map(|part| keys::xa_branch_part(&name, part))
            .collect();
        let stored = self.store.latest().batch_get(&parts)?;
        let parts: Option<Vec<Vec<u8>>> = stored.into_iter().collect();
        let parts = parts.ok_or_else(|| Error::internal("a part of an XA branch is missing"))?;
        Ok(Detached::decode(&parts.concat())?)
    }

    /// Whether a branch is prepared and waits for its end.
    fn is_waiting(&self, record: &BranchRecord) -> Result<bool> {
        Ok(record.state == BranchState::Prepared
            && self.store.detached_end(&record.without_keys())?.is_none())
    }

    /// Undoes or finishes a branch that no session will undo or finish.
    fn clear_one(&self, record: &BranchRecord, now: Timestamp, is_live: &dyn Fn(i64) -> bool) -> Result<()> {
        match record.state {
            BranchState::Preparing if is_live(record.node) && now <= record.prepared_until => Ok(()),
            BranchState::Prepared if self.is_waiting(record)? => Ok(()),
            BranchState::Prepared => {
                // The decision stands, whatever is asked for here.
                let is_it = |stored: &BranchRecord| (stored.start_ts == record.start_ts).then_some(false);
                self.end_recorded(&record.xid, is_it).map(drop)
            }
            BranchState::Preparing | BranchState::RollingBack => self.undo(record),
        }
    }
}

impl PreparedBranches for SharedBranches {
    fn reinstate(&self) -> Result<()> {
        Ok(())
    }

    fn contains(&self, xid: &Xid) -> Result<bool> {
        Ok(self.record(xid)?.is_some())
    }

    fn prepare(&self, branch: Preparing<'_>) -> Result<()> {
        let Preparing {
            xid,
            mut transaction,
            tables,
            schema,
            durability: _,
        } = branch;
        let start_ts = transaction.start_ts();
        let primary = keys::xa_outcome(&xid.to_bytes(), start_ts);
        let detached = transaction.prepare_detached(primary).map_err(rolled_back)?;
        let keys = detached.encode()?;
        let used = |(id, writes)| {
            schema.table_by_id(id).map(|table| BranchTable {
                id,
                revision: table.revision,
                writes,
            })
        };
        let record = BranchRecord {
            xid: xid.clone(),
            state: BranchState::Preparing,
            start_ts,
            parts: u32::try_from(keys.len().div_ceil(PART_BYTES)).map_err(Error::internal)?,
            tables: tables.uses().filter_map(used).collect(),
            node: self.node,
            prepared_until: self.store.current_ts()? + ticks(PREPARING_MAX),
        };
        if let Err(error) = self.begin(&record, &keys, tables.fence()) {
            if error.code == errno::ER_RESULT_UNDETERMINED {
                self.clean_up(&record);
            }
            return Err(error);
        }
        let prepared = transaction.detach(&detached).map_err(rolled_back).and_then(|()| {
            match self.settle(&record, BranchState::Prepared)? {
                true => Ok(()),
                false => Err(rolled_back(kv::Error::Deadlock)),
            }
        });
        if let Err(error) = &prepared
            && error.code != errno::ER_RESULT_UNDETERMINED
        {
            self.clean_up(&record);
        }
        prepared
    }

    fn end(&self, xid: &Xid, commit: bool, _: Durability) -> Result<()> {
        let commits = |record: &BranchRecord| (record.state == BranchState::Prepared).then_some(commit);
        match self.end_recorded(xid, commits) {
            Ok(Some(end)) if end.is_committed() == commit => Ok(()),
            Ok(_) => Err(unknown_xid()),
            Err(error) => Err(not_ended(&error)),
        }
    }

    fn list(&self) -> Result<Vec<Xid>> {
        let mut waiting = Vec::new();
        for record in self.records()? {
            if self.is_waiting(&record)? {
                waiting.push(record.xid);
            }
        }
        waiting.sort();
        Ok(waiting)
    }

    fn permit(&self, schema: &Schema, closed: &dyn Fn() -> Result<BTreeSet<Closing>>) -> Result<bool> {
        let records = self.records()?;
        if records.is_empty() {
            return Ok(true);
        }
        let closed = closed()?;
        Ok(records.iter().all(|record| record.is_at(schema, &closed)))
    }

    fn clear(&self, is_live: &dyn Fn(i64) -> bool) -> Result<bool> {
        let records = self.records()?;
        if records.is_empty() {
            return Ok(false);
        }
        let now = self.store.current_ts()?;
        let mut cleared = Ok(());
        for record in &records {
            // One that cannot be dealt with does not keep the others from it.
            cleared = cleared.and(self.clear_one(record, now, is_live));
        }
        cleared?;
        // Also one that has ended and could not be removed.
        Ok(!self.records()?.is_empty())
    }
}

/// Removes the record of a branch that has ended at all keys. `txn` has locked it.
fn remove(mut txn: Transaction, record: &BranchRecord, end: DetachedEnd) -> Result<()> {
    let name = record.xid.to_bytes();
    let mut meta = Meta::new(&mut txn);
    meta.delete(keys::xa_branch(&name))?;
    if end.is_committed() {
        meta.delete(record.primary())?;
    }
    for part in 0..record.parts {
        meta.delete(keys::xa_branch_part(&name, part))?;
    }
    txn.commit(Durability::Sync)?;
    Ok(())
}

/// The error of a branch that was rolled back instead of being prepared.
fn rolled_back(error: kv::Error) -> Error {
    match error {
        kv::Error::Deadlock => Error::new(
            errno::ER_XA_RBDEADLOCK,
            "XA_RBDEADLOCK: Transaction branch was rolled back: deadlock was detected",
        ),
        kv::Error::LockTimeout => Error::new(
            errno::ER_XA_RBTIMEOUT,
            "XA_RBTIMEOUT: Transaction branch was rolled back: took too long",
        ),
        error => not_prepared(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::record::encode;
    use schema::model::{Database, Table};
    use std::sync::Arc;
    use types::Collation;

    fn record() -> BranchRecord {
        let used = |id, revision, writes| BranchTable { id, revision, writes };
        BranchRecord {
            xid: Xid {
                format: 1,
                global: b"\x00g".to_vec(),
                branch: Vec::new(),
            },
            state: BranchState::Preparing,
            start_ts: 77,
            parts: 2,
            tables: vec![used(7, 3, true), used(8, 1, false)],
            node: 5,
            prepared_until: 100,
        }
    }

    /// Of tables with ids and revisions.
    fn schema(tables: &[(i64, u64)]) -> Schema {
        let table = |(id, revision): &(i64, u64)| {
            let mut table = Table::of_columns(*id, "d", &format!("t{id}"), Vec::new());
            table.revision = *revision;
            (table.name.clone(), Arc::new(table))
        };
        let mut schema = Schema::default();
        let database = Database {
            id: 1,
            name: "d".into(),
            collation: Collation::DEFAULT,
            tables: tables.iter().map(table).collect(),
        };
        schema.databases.insert("d".into(), Arc::new(database));
        schema
    }

    #[test]
    fn a_branch_is_at_the_definitions_that_it_has_used() {
        let closed = |table, to| BTreeSet::from([Closing { table, to }]);
        let open = BTreeSet::new();
        let branch = record();
        let at = |tables: &[(i64, u64)], closed: &BTreeSet<Closing>| branch.is_at(&schema(tables), closed);
        let used = [(7, 3), (8, 1), (9, 5)];
        assert!(at(&used, &open));
        assert!(!at(&[(7, 4), (8, 1)], &open), "changed");
        assert!(!at(&[(7, 3), (8, 2)], &open), "changed, and only read");
        assert!(!at(&[(7, 3)], &open), "dropped");
        for (table, to, is_at) in [
            (7, ClosedTo::All, false),
            (8, ClosedTo::All, false),
            (9, ClosedTo::All, true),
            (7, ClosedTo::Writers, false),
            (8, ClosedTo::Writers, true),
            (7, ClosedTo::WritersUntilAlone, false),
            (8, ClosedTo::WritersUntilAlone, true),
        ] {
            assert_eq!(at(&used, &closed(table, to)), is_at, "table {table}, {to:?}");
        }
    }

    #[test]
    fn records_are_stored_as_they_have_been() {
        let bytes = String::from_utf8(encode(&record()).unwrap()).unwrap();
        assert_eq!(
            bytes,
            "{\"format\":1,\"value\":{\"xid\":{\"format\":1,\"global\":[0,103],\"branch\":[]},\"state\":\"Preparing\",\
             \"start_ts\":77,\"parts\":2,\"tables\":[{\"id\":7,\"revision\":3,\"writes\":true},\
             {\"id\":8,\"revision\":1,\"writes\":false}],\"node\":5,\"prepared_until\":100}}"
        );
        let read: BranchRecord = decode(bytes.as_bytes(), WHAT).unwrap();
        assert_eq!((read.tables, read.start_ts), (record().tables, 77));
    }
}
