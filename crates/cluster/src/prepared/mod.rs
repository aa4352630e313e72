//! XA transactions (manual 13.3.8): which branches sessions of this process have begun, and the prepared
//! ones, which keep their row locks and metadata locks until any session ends them, after a restart too.
//!
//! [`PreparedBranches`] is what a store does for them: `held` where one process has the store to itself, and
//! `shared` where several share it.

mod held;
mod shared;

use std::collections::BTreeSet;
use std::sync::Arc;

use kv::{Durability, Store, Transaction, TxnOptions};
use parking_lot::Mutex;
use schema::model::Schema;
use serde::{Deserialize, Serialize};
use types::{Error, Result, errno};

use crate::TransactionLocks;
use crate::metadata_lock::MetadataLocks;
use crate::schema_cache::Closing;
use held::HeldBranches;
use shared::SharedBranches;

/// What the bytes of a branch are cut into.
const PART_BYTES: usize = 1 << 20;

/// What identifies a branch of a global transaction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Xid {
    pub format: u64,
    pub global: Vec<u8>,
    pub branch: Vec<u8>,
}

impl Xid {
    /// Different for each.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.format.to_be_bytes().to_vec();
        bytes.push(u8::try_from(self.global.len()).unwrap_or(u8::MAX));
        bytes.extend(&self.global);
        bytes.extend(&self.branch);
        bytes
    }
}

/// A transaction that is to be prepared.
struct Preparing<'a> {
    xid: &'a Xid,
    transaction: Transaction,
    /// Its metadata locks.
    tables: TransactionLocks,
    /// The definitions that it uses.
    schema: &'a Schema,
    durability: Durability,
}

/// The prepared branches of a store.
trait PreparedBranches: Send + Sync {
    /// Loads them with their locks, before anything else uses the store.
    fn reinstate(&self) -> Result<()>;

    fn contains(&self, xid: &Xid) -> Result<bool>;

    fn prepare(&self, branch: Preparing<'_>) -> Result<()>;

    fn end(&self, xid: &Xid, commit: bool, durability: Durability) -> Result<()>;

    /// In order.
    fn list(&self) -> Result<Vec<Xid>>;

    /// Whether every table that a prepared branch uses has in `schema` the definition that the branch has used,
    /// and is not closed to it. Where branches hold metadata locks, those see to it.
    fn permit(&self, schema: &Schema, closed: &dyn Fn() -> Result<BTreeSet<Closing>>) -> Result<bool>;

    /// Ends what processes that are gone have begun to prepare or to end. True if there are branches for which
    /// this has to be called again. `is_live`: whether a node lives.
    fn clear(&self, is_live: &dyn Fn(i64) -> bool) -> Result<bool>;
}

/// The branches of a process.
pub struct XaBranches {
    store: Store,
    prepared: Box<dyn PreparedBranches>,
    in_use: Mutex<InUse>,
}

/// Xids of this process.
#[derive(Default)]
struct InUse {
    /// Sessions have begun them and not yet prepared them.
    active: BTreeSet<Xid>,
    /// Sessions are ending them.
    ending: BTreeSet<Xid>,
}

/// A branch that a session has begun. Dropping it frees its xid.
pub struct ActiveBranch {
    branches: Arc<XaBranches>,
    xid: Xid,
}

impl ActiveBranch {
    pub fn xid(&self) -> &Xid {
        &self.xid
    }
}

impl Drop for ActiveBranch {
    fn drop(&mut self) {
        self.branches.in_use.lock().active.remove(&self.xid);
    }
}

/// A prepared branch that a session is ending.
struct EndingBranch<'a> {
    branches: &'a XaBranches,
    xid: &'a Xid,
}

impl Drop for EndingBranch<'_> {
    fn drop(&mut self) {
        self.branches.in_use.lock().ending.remove(self.xid);
    }
}

impl XaBranches {
    /// `node`: this process among those that share the store.
    pub(crate) fn new(store: Store, locks: Arc<MetadataLocks>, node: Option<i64>) -> Self {
        let prepared: Box<dyn PreparedBranches> = match node {
            Some(node) => Box::new(SharedBranches::new(store.clone(), node)),
            None => Box::new(HeldBranches::new(store.clone(), locks)),
        };
        Self {
            store,
            prepared,
            in_use: Mutex::default(),
        }
    }

    /// Loads the prepared branches of a store that one process has to itself, before anything else uses it.
    ///
    /// # Errors
    /// 1105 for a record that is damaged; those of the store.
    pub(crate) fn reinstate(&self) -> Result<()> {
        self.prepared.reinstate()
    }

    /// XA START.
    ///
    /// # Errors
    /// 1440 for an xid that is in use; those of the store.
    pub fn begin(self: &Arc<Self>, xid: Xid) -> Result<ActiveBranch> {
        let mut in_use = self.in_use.lock();
        if in_use.ending.contains(&xid) || !in_use.active.insert(xid.clone()) {
            return Err(duplicate_xid());
        }
        drop(in_use);
        let branch = ActiveBranch {
            branches: Arc::clone(self),
            xid,
        };
        match self.prepared.contains(&branch.xid)? {
            true => Err(duplicate_xid()),
            false => Ok(branch),
        }
    }

    /// XA PREPARE: from here on any session may end the branch, after a restart too. `tables`: the metadata
    /// locks of the transaction. `schema`: the definitions that it has used.
    ///
    /// # Errors
    /// 1235 for a transaction that cannot be prepared; those of the store. The branch is rolled back, unless it
    /// is unknown whether it has been prepared. Then XA RECOVER tells once the store answers again: where one
    /// process has the store to itself, after the next start, and the store takes no writes until then.
    pub fn prepare(
        &self,
        branch: &ActiveBranch,
        transaction: Transaction,
        tables: TransactionLocks,
        schema: &Schema,
        durability: Durability,
    ) -> Result<()> {
        // One that has written nothing keeps no row locks, as in InnoDB.
        let transaction = match transaction.is_dirty() {
            true => transaction,
            false => {
                transaction.rollback();
                self.store.begin(TxnOptions::default())?
            }
        };
        self.prepared.prepare(Preparing {
            xid: &branch.xid,
            transaction,
            tables,
            schema,
            durability,
        })
    }

    /// XA COMMIT and XA ROLLBACK of a prepared branch.
    ///
    /// # Errors
    /// 1397 for an xid that is not prepared; 1401 if the store fails: then the branch is as it was, or has
    /// ended, and another call tells.
    pub fn end(&self, xid: &Xid, commit: bool, durability: Durability) -> Result<()> {
        if !self.in_use.lock().ending.insert(xid.clone()) {
            return Err(unknown_xid());
        }
        let _ending = EndingBranch { branches: self, xid };
        self.prepared.end(xid, commit, durability)
    }

    /// The prepared branches, for XA RECOVER.
    ///
    /// # Errors
    /// Those of the store.
    pub fn prepared(&self) -> Result<Vec<Xid>> {
        self.prepared.list()
    }

    /// Whether nodes may go on from a version in which the tables that `closed` returns are closed: prepared
    /// branches count like transactions of a node.
    ///
    /// # Errors
    /// Those of the store and of `closed`.
    pub(crate) fn permit(
        &self,
        schema: &Schema,
        closed: &dyn Fn() -> Result<BTreeSet<Closing>>,
    ) -> Result<bool> {
        self.prepared.permit(schema, closed)
    }

    /// See [`PreparedBranches::clear`].
    pub(crate) fn clear(&self, is_live: &dyn Fn(i64) -> bool) -> Result<bool> {
        self.prepared.clear(is_live)
    }
}

fn unknown_xid() -> Error {
    Error::new(errno::ER_XAER_NOTA, "XAER_NOTA: Unknown XID")
}

fn duplicate_xid() -> Error {
    Error::new(errno::ER_XAER_DUPID, "XAER_DUPID: The XID already exists")
}

/// The error of an end that the store has refused.
fn not_ended(error: &dyn std::fmt::Display) -> Error {
    tracing::error!(%error, "a prepared XA transaction was not ended");
    Error::new(
        errno::ER_XAER_RMERR,
        format!(
            "XAER_RMERR: Fatal error occurred in the transaction branch - check your data for consistency ({error})"
        ),
    )
}

/// The error of a transaction that cannot be prepared.
fn not_prepared(error: kv::Error) -> Error {
    match error {
        kv::Error::NotPrepared => Error::not_supported(
            "XA PREPARE of an optimistic transaction, or of one that has written temporary tables",
            "use XA COMMIT ... ONE PHASE",
        ),
        error => error.into(),
    }
}
