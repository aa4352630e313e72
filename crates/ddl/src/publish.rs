//! Publishes a change of definitions: stores it in one transaction as the next schema version, and makes it
//! visible.
//!
//! The transaction locks the stored version first, so that the changes of all nodes are serialised. A node
//! with an older version bases its change on the stored definitions, as soon as all nodes use them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster::Cluster;
use cluster::meta::Meta;
use cluster::wait::{Deadline, WaitLimit};
use kv::Durability;
use parking_lot::Mutex;
use schema::model::Schema;
use types::{Error, Result, errno};

use crate::about::About;
use crate::change::{Change, Outcome, StoredChange};

/// How long it may take until all nodes use a version for which statements wait.
pub(crate) const ROUND: Duration = Duration::from_secs(3);

/// Which nodes must use the previous version before the next is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Requires {
    /// All live nodes: the change is safe between neighbouring versions.
    AllNodes,
    /// None: the change takes back a version. Nodes that have not followed that version need not follow it.
    NoNode,
}

pub(crate) struct Publisher {
    pub(crate) cluster: Arc<Cluster>,
    /// One change at a time, in a store that is not shared.
    publishing: Mutex<()>,
}

impl Publisher {
    pub(crate) fn new(cluster: Arc<Cluster>) -> Self {
        Self {
            cluster,
            publishing: Mutex::default(),
        }
    }

    /// Makes one change. If it concerns existing tables, the caller has their exclusive locks. `about`: the
    /// statement that this change completes, for the history.
    ///
    /// # Errors
    /// Those of `make`. If several processes share the store, also 1205 if the others do not follow in time,
    /// and 1317.
    pub(crate) fn publish<T>(
        &self,
        limit: &WaitLimit,
        requires: Requires,
        about: Option<&About>,
        make: impl FnOnce(&mut Change<'_>) -> Result<Outcome<T>>,
    ) -> Result<T> {
        let cluster = &self.cluster;
        let _publishing = (!cluster.is_shared()).then(|| self.publishing.lock());
        let deadline = Deadline::new(limit);
        loop {
            let mut txn = Meta::begin(cluster.store())?;
            let mut meta = Meta::new(&mut txn);
            let stored = meta.lock_schema_version()?;
            if requires == Requires::AllNodes && !cluster.all_nodes_have(stored, &mut meta)? {
                drop(txn);
                let until = Instant::now() + ROUND;
                cluster.wait_for_nodes(stored, &|| Ok(()), &deadline, Some(until))?;
                continue;
            }
            let base = self.schema_at(stored)?;
            let mut change = Change::new(&base, meta, cluster.store().current_ts()?);
            let result = match make(&mut change)? {
                Outcome::Done(result) => result,
                Outcome::Nothing(result) => return Ok(result),
                Outcome::Stored(result) => {
                    txn.commit(Durability::Sync)?;
                    return Ok(result);
                }
            };
            change.meta.put_schema_version(change.schema.version)?;
            if let Some(about) = about {
                change.record(&base, about)?;
            }
            let stored = change.into_stored();
            txn.commit(Durability::Sync)?;
            self.install(stored);
            return Ok(result);
        }
    }

    /// The definitions of the stored version, which the caller has locked.
    fn schema_at(&self, stored: u64) -> Result<Arc<Schema>> {
        let installed = self.cluster.schema();
        if installed.version == stored {
            return Ok(installed);
        }
        if self.cluster.is_shared() {
            return Ok(Arc::new(self.cluster.read_schema()?));
        }
        self.cluster.reload_schema()?;
        Err(Error::new(
            errno::ER_SCHEMA_CHANGED,
            "Information schema is changed during the execution of the statement. [try again later]",
        ))
    }

    /// Makes a stored change visible. If nodes share the store, this node follows like the others.
    fn install(&self, change: StoredChange) {
        if self.cluster.is_shared() {
            // The change is stored. If the store does not respond now, the node follows at the next check.
            if let Err(error) = self.cluster.follow() {
                tracing::warn!(%error, "a change of definitions is not seen here yet");
            }
            return;
        }
        self.cluster.install_schema(change.schema, &change.dropped);
        for table in change.recounted {
            self.cluster.ids().forget(table);
        }
    }
}
