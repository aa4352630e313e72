//! This process on its store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kv::{Durability, Interrupt, Reader, Store};
use schema::model::{Database, Schema};
use types::Result;

use crate::TransactionLocks;
use crate::fills::Fills;
use crate::follow::{Follower, Installation};
use crate::ids::IdAllocator;
use crate::lease::Lease;
use crate::message::{Messages, Reply, Request, Responder};
use crate::meta::{Meta, decode_counter, keys, read_counter};
use crate::metadata_lock::MetadataLocks;
use crate::node::{Node, NodeOptions, NodeRecord, read_nodes};
use crate::prepared::XaBranches;
use crate::schema_cache::{SchemaCache, read_frozen};
use crate::settings::Settings;
use crate::wait::{Deadline, WaitLimit};
use crate::watch::Watches;
use crate::workers::{AFTER_FAILURE, Wake, Workers};

/// While definitions change, the store is read this often ...
const BUSY_POLL: Duration = Duration::from_millis(20);
/// ... and for this long after the last change.
const BUSY_FOR: Duration = Duration::from_secs(2);
/// How often a statement checks whether the other nodes have followed.
const FOLLOWED_CHECK: Duration = Duration::from_millis(5);

/// How often to look for XA branches whose nodes are gone.
const XA_LOOK: Duration = Duration::from_secs(1);

/// What the sessions of one process share of its store: definitions, metadata locks, ids and, where other
/// processes use the store too, this node.
pub struct Cluster {
    store: Store,
    schemas: SchemaCache,
    locks: Arc<MetadataLocks>,
    ids: Arc<IdAllocator>,
    settings: Settings,
    xa: Arc<XaBranches>,
    /// Whether to look for branches whose nodes are gone.
    may_have_xa_branches: Arc<AtomicBool>,
    fills: Fills,
    workers: Workers,
    membership: Option<Membership>,
}

/// What a process has as one of several nodes.
struct Membership {
    lease: Lease,
    follower: Follower,
    watches: Watches,
    messages: Arc<Messages>,
}

impl Cluster {
    /// Opens a store that no other process may use meanwhile. `system`: the databases that the server itself
    /// provides.
    ///
    /// # Errors
    /// 1105 with what is damaged when stored metadata make no sense; those of the store.
    pub fn open(store: Store, system: Vec<Arc<Database>>) -> Result<Arc<Self>> {
        initialize(&store)?;
        let cluster = Self::new(store, system, Workers::default(), None);
        cluster.reload_schema()?;
        cluster.xa.reinstate()?;
        cluster.fills.reinstate()?;
        Ok(Arc::new(cluster))
    }

    /// Opens a store as one of several nodes. `system`: the databases that the server itself provides.
    ///
    /// # Errors
    /// As [`Cluster::open`].
    pub fn join(store: Store, system: Vec<Arc<Database>>, options: NodeOptions) -> Result<Arc<Self>> {
        initialize(&store)?;
        let workers = Workers::default();
        let lease = Lease::join(store.clone(), options, now_us(), Arc::clone(&workers.signal))?;
        let messages = Arc::new(Messages::new(store.clone(), lease.node().id));
        let membership = Membership {
            lease,
            follower: Follower::default(),
            watches: Watches::default(),
            messages,
        };
        let cluster = Arc::new(Self::new(store, system, workers, Some(membership)));
        let may_have = Arc::clone(&cluster.may_have_xa_branches);
        cluster.watch(keys::xa_branches_version(), move |_| {
            may_have.store(true, Ordering::SeqCst);
            Ok(())
        });
        if let Some(membership) = &cluster.membership {
            let started = membership.follower.start(cluster.installation());
            // It has done nothing that other nodes would have to wait for.
            started
                .and_then(|()| cluster.tick())
                .inspect_err(|_| membership.lease.abandon())?;
        }
        Ok(cluster)
    }

    fn new(
        store: Store,
        system: Vec<Arc<Database>>,
        workers: Workers,
        membership: Option<Membership>,
    ) -> Self {
        let ids = Arc::new(IdAllocator::new(store.clone()));
        let schemas = SchemaCache::new(system);
        let changed = Arc::clone(&ids);
        // After ALTER TABLE ... AUTO_INCREMENT on another node, ids that were leased and not used are lost.
        schemas.observe(Box::new(move |table| changed.forget(table)));
        let locks = Arc::<MetadataLocks>::default();
        let node = membership.as_ref().map(|membership| membership.lease.node().id);
        Self {
            settings: Settings::new(store.clone()),
            xa: Arc::new(XaBranches::new(store.clone(), Arc::clone(&locks), node)),
            may_have_xa_branches: Arc::new(AtomicBool::new(true)),
            fills: Fills::new(store.clone()),
            store,
            schemas,
            locks,
            ids,
            workers,
            membership,
        }
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Whether other processes may use the same store.
    pub fn is_shared(&self) -> bool {
        self.membership.is_some()
    }

    pub fn ids(&self) -> &IdAllocator {
        &self.ids
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Bulk loads into tables with readers.
    pub fn fills(&self) -> &Fills {
        &self.fills
    }

    /// XA transactions.
    pub fn xa(&self) -> &Arc<XaBranches> {
        &self.xa
    }

    /// All definitions at one version. The caller's copy never changes.
    pub fn schema(&self) -> Arc<Schema> {
        self.schemas.current()
    }

    /// The version of [`Cluster::schema`]: one atomic load.
    pub fn schema_version(&self) -> u64 {
        self.schemas.version()
    }

    /// The definitions as the store has them now.
    ///
    /// # Errors
    /// As [`Cluster::open`].
    pub fn read_schema(&self) -> Result<Schema> {
        self.schemas.read(&self.store.snapshot_now()?)
    }

    /// Installs the definitions as the store has them now.
    ///
    /// # Errors
    /// As [`Cluster::open`].
    pub fn reload_schema(&self) -> Result<()> {
        self.schemas.install(self.read_schema()?);
        Ok(())
    }

    /// Makes a schema visible to all sessions of a process that has the store to itself. The caller has
    /// stored it. `dropped`: ids of the tables that are gone.
    pub fn install_schema(&self, schema: Schema, dropped: &[i64]) {
        self.schemas.install(schema);
        for &table in dropped {
            self.schemas.table_changed(table);
            self.locks.forget(table);
        }
    }

    /// Has `forget` called with the id of each table that has been dropped, or changed by another node, so
    /// that nothing stays cached about it.
    pub fn on_table_change(&self, forget: impl Fn(i64) + Send + Sync + 'static) {
        self.schemas.observe(Box::new(forget));
    }

    pub fn metadata_locks(&self) -> &Arc<MetadataLocks> {
        &self.locks
    }

    fn installation(&self) -> Installation<'_> {
        Installation {
            store: &self.store,
            schemas: &self.schemas,
            locks: &self.locks,
        }
    }
}

/// Nodes. Where one process has the store to itself, these do nothing.
impl Cluster {
    /// This process as a node; `None` if it has the store to itself.
    pub fn node(&self) -> Option<Arc<Node>> {
        self.lease().map(Lease::node)
    }

    /// The lease that transactions rely on; `None` if one process has the store to itself.
    pub fn lease(&self) -> Option<&Lease> {
        self.membership.as_ref().map(|membership| &membership.lease)
    }

    /// How long a statement waits for a lease; 0 where one process has the store to itself.
    pub fn lease_wait(&self) -> Duration {
        self.lease()
            .map_or(Duration::ZERO, |lease| lease.options().lease_wait)
    }

    /// Whether a statement may begin now.
    pub fn has_lease(&self) -> bool {
        self.lease().is_none_or(|lease| lease.node().is_valid())
    }

    /// Waits until a statement may begin.
    ///
    /// # Errors
    /// 8027 when it may not in time, 1317 when interrupted.
    pub fn await_lease(&self, limit: &WaitLimit) -> Result<()> {
        match self.lease() {
            Some(lease) => lease.wait_for(None, &|_| true, limit).map(drop),
            None => Ok(()),
        }
    }

    /// Keeps the locks of a transaction whose commit has an unknown outcome, until the store would refuse
    /// that commit.
    pub fn keep_undetermined(&self, locks: TransactionLocks) {
        if let Some(membership) = &self.membership {
            membership.follower.keep_undetermined(locks);
        }
    }

    /// The nodes whose leases last, this one included, in the order in which they joined.
    ///
    /// # Errors
    /// Those of the store.
    pub fn live_nodes(&self) -> Result<Vec<NodeRecord>> {
        let seen = self.store.snapshot_now()?;
        let mut nodes = read_nodes(&seen)?;
        nodes.retain(|node| node.lease_end >= seen.ts());
        Ok(nodes)
    }

    /// Whether this node does the work that one node does for all.
    ///
    /// # Errors
    /// Those of the store.
    pub fn is_first_node(&self) -> Result<bool> {
        Ok(self.nodes_before()? == 0)
    }

    /// How many nodes come before this one.
    ///
    /// # Errors
    /// Those of the store.
    pub fn nodes_before(&self) -> Result<usize> {
        let Some(node) = self.node() else { return Ok(0) };
        let nodes = self.live_nodes()?;
        Ok(nodes.iter().position(|other| other.id == node.id).unwrap_or(0))
    }

    /// Sends a request to nodes, by their ids, and waits at most `timeout` for the replies. Nodes that do not
    /// reply in time are not in the result.
    ///
    /// # Errors
    /// Those of the store, 1317 once `interrupt` is raised.
    pub fn request(
        &self,
        nodes: &[i64],
        request: &Request,
        timeout: Duration,
        interrupt: &Interrupt,
    ) -> Result<Vec<(i64, Reply)>> {
        match &self.membership {
            Some(membership) => membership.messages.request(nodes, request, timeout, interrupt),
            None => Ok(Vec::new()),
        }
    }

    #[cfg(test)]
    pub(crate) fn messages(&self) -> Option<&Messages> {
        self.membership
            .as_ref()
            .map(|membership| membership.messages.as_ref())
    }

    /// Has `responder` answer the requests of other nodes.
    pub fn answer_requests(&self, responder: Arc<dyn Responder>) {
        let Some(membership) = &self.membership else {
            return;
        };
        let messages = Arc::clone(&membership.messages);
        messages.set_responder(responder);
        let version = keys::message_version(membership.lease.node().id);
        membership.watches.add(version, move |_| messages.receive());
    }

    /// Has `changed` called once soon, and then whenever a node has stored settings; again after an error.
    pub fn watch_settings(&self, changed: impl Fn() -> Result<()> + Send + Sync + 'static) {
        self.watch(keys::global_variables_version(), move |_| changed());
    }

    /// Has `on_value` called, on the thread that follows the store, with the value of a key and then whenever
    /// the value has changed: within a second, and not for each value in between.
    pub fn watch(
        &self,
        key: Vec<u8>,
        on_value: impl Fn(Option<&[u8]>) -> Result<()> + Send + Sync + 'static,
    ) {
        if let Some(membership) = &self.membership {
            membership.watches.add(key, on_value);
        }
    }

    /// Ends [`Cluster::watch`] of a key.
    pub fn unwatch(&self, key: &[u8]) {
        if let Some(membership) = &self.membership {
            membership.watches.remove(key);
        }
    }
}

/// Schema versions among nodes.
impl Cluster {
    /// Brings this node as near to the newest version as its transactions permit.
    ///
    /// # Errors
    /// Those of the store.
    pub fn follow(&self) -> Result<()> {
        if self.membership.is_none() {
            return Ok(());
        }
        let stored = read_counter(&self.store.latest(), &keys::schema_version())?;
        self.follow_to(stored.unwrap_or(0))
    }

    fn follow_to(&self, stored: u64) -> Result<()> {
        let Some(membership) = &self.membership else {
            return Ok(());
        };
        let renumbered = membership
            .follower
            .follow(self.installation(), &membership.lease, stored)?;
        if let Some(number) = renumbered {
            membership.messages.renumbered(number);
        }
        Ok(())
    }

    /// Whether all live nodes and prepared XA branches use a version, the newest. Removes the records of nodes
    /// whose leases are over.
    ///
    /// # Errors
    /// Those of the store.
    pub fn all_nodes_have(&self, version: u64, meta: &mut Meta<'_>) -> Result<bool> {
        match self.lease() {
            Some(lease) => Ok(lease.all_nodes_have(version, meta)? && self.xa_permits()?),
            None => Ok(true),
        }
    }

    /// Whether prepared XA branches use the definitions that this node has. To be called after the nodes were
    /// found to have them: until then a node may be preparing a branch.
    fn xa_permits(&self) -> Result<bool> {
        self.xa
            .permit(&self.schema(), &|| read_frozen(&self.store.latest()))
    }

    /// Waits until all live nodes and prepared XA branches use a version; false when they do not by `until`.
    ///
    /// # Errors
    /// Those of `check`, which is called in each round; 1205 after the deadline, 1317 when interrupted; those
    /// of the store.
    pub fn wait_for_nodes(
        &self,
        version: u64,
        check: &dyn Fn() -> Result<()>,
        deadline: &Deadline,
        until: Option<Instant>,
    ) -> Result<bool> {
        loop {
            self.follow()?;
            if self.live_nodes()?.iter().all(|node| node.version >= version) && self.xa_permits()? {
                return Ok(true);
            }
            check()?;
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(false);
            }
            std::thread::sleep(deadline.next_sleep()?.min(FOLLOWED_CHECK));
        }
    }

    /// Reads the stored schema version and all watched keys once, and deals with what has changed.
    ///
    /// # Errors
    /// Those of the store, and of what is called.
    pub fn tick(&self) -> Result<()> {
        let Some(membership) = &self.membership else {
            return Ok(());
        };
        let mut wanted = vec![keys::schema_version()];
        wanted.extend(membership.watches.keys());
        let values = self.store.latest().batch_get(&wanted)?;
        let version = decode_counter(values.first().and_then(|v| v.as_deref()), "schema version")?;
        let mut outcome = self.follow_to(version);
        for (key, value) in wanted.iter().zip(values).skip(1) {
            outcome = outcome.and(membership.watches.report(key, value));
        }
        outcome
    }
}

/// Background work, start and end.
impl Cluster {
    /// Starts the threads that renew the lease and follow the store. They end with [`Cluster::close`].
    ///
    /// # Errors
    /// When the operating system has no more threads.
    pub fn start(self: &Arc<Self>) -> Result<()> {
        if !self.is_shared() || self.workers.is_running() {
            return Ok(());
        }
        // Several threads: each may have to wait for a part of the store, and the others must not.
        self.workers
            .repeat(self, "cluster-lease", Wake::ByTimeOrSignal, |cluster, _| {
                cluster.lease().map_or(Duration::MAX, |lease| {
                    if let Err(error) = lease.renew_if_due(cluster.schema_version()) {
                        tracing::warn!(%error, "the lease in the store could not be renewed; it is tried again");
                    }
                    lease.interval()
                })
            })?;
        self.workers
            .repeat(self, "cluster-xa", Wake::ByTime, |cluster, _| {
                if let Err(error) = cluster.clear_xa_branches() {
                    tracing::warn!(%error, "XA branches of servers that are gone could not be dealt with");
                }
                XA_LOOK
            })?;
        self.workers
            .repeat(self, "cluster-follow", Wake::ByTimeOrSignal, |cluster, _| {
                if let Err(error) = cluster.tick() {
                    tracing::warn!(%error, "the store could not be asked for changed definitions");
                    return AFTER_FAILURE;
                }
                cluster.poll_interval()
            })
    }

    /// Deals with XA branches whose nodes are gone, while there are any branches.
    fn clear_xa_branches(&self) -> Result<()> {
        if !self.may_have_xa_branches.swap(false, Ordering::SeqCst) {
            return Ok(());
        }
        let are_left = self.live_nodes().and_then(|nodes| {
            let is_live = |id| nodes.iter().any(|node| node.id == id);
            self.xa.clear(&is_live)
        });
        if !matches!(are_left, Ok(false)) {
            self.may_have_xa_branches.store(true, Ordering::SeqCst);
        }
        are_left.map(drop)
    }

    fn poll_interval(&self) -> Duration {
        let Some(membership) = &self.membership else {
            return Duration::MAX;
        };
        let options = membership.lease.options();
        let poll = options.poll.min(options.lease / 10);
        match membership.follower.busy_since() {
            Some(since) if since.elapsed() < BUSY_FOR => poll.min(BUSY_POLL),
            _ => poll,
        }
    }

    /// Ends the threads of [`Cluster::start`].
    pub fn stop(&self) {
        self.workers.stop();
    }

    /// Clean shutdown: ends the background work, returns the ids that were leased and not used, so that none
    /// is skipped after a restart, and removes this node. Sessions must have ended.
    ///
    /// # Errors
    /// Those of the store. Then some ids may be skipped, and the other nodes wait for the end of the lease.
    pub fn close(&self) -> Result<()> {
        self.stop();
        self.ids.return_leased()?;
        match self.lease() {
            Some(lease) => lease.end(),
            None => Ok(()),
        }
    }

    /// Has the lease renewed by the next [`Cluster::follow`].
    #[cfg(feature = "test-support")]
    pub fn make_lease_due(&self) {
        if let Some(lease) = self.lease() {
            lease.make_due();
        }
    }
}

/// Gives an empty store its first schema version.
fn initialize(store: &Store) -> Result<()> {
    let mut txn = Meta::begin(store)?;
    let mut meta = Meta::new(&mut txn);
    if meta.lock_schema_version()? > 0 {
        return Ok(());
    }
    meta.put_schema_version(1)?;
    txn.commit(Durability::Sync)?;
    Ok(())
}

/// Microseconds since 1970.
pub fn now_us() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|age| i64::try_from(age.as_micros()).ok())
        .unwrap_or(0)
}
