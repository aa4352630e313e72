//! The parts of a store that all sessions share, besides rows: definitions, accounts, and the services that
//! change them.

use std::sync::Arc;

use accounts::AccountStore;
use cluster::Cluster;
use cluster::node::NodeOptions;
use ddl::SchemaChanger;
use kv::Store;
use system::StatisticsCatalog;
use types::Result;

/// See the module. There is one for each store.
pub struct Catalog {
    pub cluster: Arc<Cluster>,
    pub changer: Arc<SchemaChanger>,
    pub accounts: Arc<AccountStore>,
    pub statistics: Arc<StatisticsCatalog>,
}

impl Catalog {
    /// Opens a store for this process alone. A new store gets the account `root@localhost` without a
    /// password.
    ///
    /// # Errors
    /// 1105 if stored metadata are damaged; those of the store.
    pub fn open(store: Store) -> Result<Self> {
        Self::with(Cluster::open(store, system::databases()?)?)
    }

    /// Opens a store as one of several nodes.
    ///
    /// # Errors
    /// As [`Catalog::open`].
    pub fn join(store: Store, options: NodeOptions) -> Result<Self> {
        Self::with(Cluster::join(store, system::databases()?, options)?)
    }

    fn with(cluster: Arc<Cluster>) -> Result<Self> {
        let parts = SchemaChanger::open(Arc::clone(&cluster))
            .and_then(|changer| Ok((changer, AccountStore::open(&cluster)?)));
        match parts {
            Ok((changer, accounts)) => Ok(Self {
                changer,
                accounts,
                statistics: StatisticsCatalog::new(&cluster),
                cluster,
            }),
            Err(error) => {
                // The node does not start, so other nodes should not have to wait for its lease.
                if let Err(also) = cluster.close() {
                    tracing::warn!(error = %also, "the node's lease stays until it runs out");
                }
                Err(error)
            }
        }
    }

    /// Starts the background work.
    ///
    /// # Errors
    /// When the operating system has no more threads.
    pub fn start(&self) -> Result<()> {
        self.cluster.start()?;
        self.changer.start()
    }

    /// Clean shutdown. Sessions must have ended.
    ///
    /// # Errors
    /// Those of [`Cluster::close`].
    pub fn close(&self) -> Result<()> {
        self.statistics.stop();
        self.changer.stop();
        self.cluster.close()
    }
}
