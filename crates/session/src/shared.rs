//! The state that all sessions of a server share. Created once, when the server starts.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use accounts::AccountName;
use kv::{Durability, Store};
use parking_lot::Mutex;
use planner::PlanCache;
use runner::{Engine, ReadOnly};
use types::Result;

use crate::account_limits::AccountUsage;
use crate::catalog::Catalog;
use crate::events::Events;
use crate::process::ProcessList;
use crate::statistics::Statistics;
use crate::user_locks::UserLockTable;
use crate::variables::GlobalVariables;

/// The version that clients see: that of the MySQL server whose behaviour StemDB has, and its own.
pub const VERSION: &str = concat!("8.0.33-StemDB-", env!("CARGO_PKG_VERSION"));

/// The server as its sessions see it.
pub struct Shared {
    /// The engine that runs statements.
    pub engine: Engine,
    pub catalog: Catalog,
    pub plans: PlanCache,
    pub variables: GlobalVariables,
    pub processes: ProcessList,
    pub statistics: Statistics,
    pub events: Events,
    /// When the server was started: microseconds since 1970.
    pub(crate) started_us: i64,
    pub(crate) user_locks: Arc<UserLockTable>,
    pub(crate) account_usage: AccountUsage,
    pub started: Instant,
    /// Prepared statements open in all sessions, bounded by `max_prepared_stmt_count`.
    pub(crate) prepared_count: Arc<AtomicU64>,
    /// Locked while global variables are read from the store and applied, so that older values never replace
    /// newer ones.
    pub(crate) globals_turn: Mutex<()>,
    /// The layer that holds the connections. Not set before the server listens.
    pub(crate) connection_layer: OnceLock<Box<dyn ConnectionLayer>>,
}

/// The part of the server that holds the connections and checks passwords, as used by statements.
pub trait ConnectionLayer: Send + Sync {
    /// Counters of connections by their names in SHOW STATUS.
    fn counters(&self) -> Vec<(&'static str, u64)>;

    /// The public key for passwords on connections without TLS, in PEM; empty if there is none.
    fn public_key(&self) -> String;

    /// When the server's certificate begins and ends to be valid, as OpenSSL prints it; empty without TLS.
    fn certificate_dates(&self) -> (String, String);

    /// FLUSH PRIVILEGES: the next login to each account needs the password itself.
    fn forget_passwords(&self);
}

impl Shared {
    pub fn new(
        store: Store,
        catalog: Catalog,
        variables: GlobalVariables,
        spill_directory: PathBuf,
    ) -> Arc<Self> {
        let shared = Self {
            events: Events::new(&variables),
            started_us: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_micros() as i64),
            engine: Engine::new(store, Arc::clone(&catalog.cluster), spill_directory),
            catalog,
            plans: PlanCache::default(),
            variables,
            processes: ProcessList::default(),
            statistics: Statistics::default(),
            user_locks: Arc::default(),
            account_usage: AccountUsage::default(),
            started: Instant::now(),
            prepared_count: Arc::default(),
            globals_turn: Mutex::default(),
            connection_layer: OnceLock::new(),
        };
        shared.globals_changed();
        let shared = Arc::new(shared);
        shared.take_over_persisted();
        shared.join_other_nodes();
        shared
    }

    /// Starts the background work.
    ///
    /// # Errors
    /// When the operating system has no more threads.
    pub fn start(self: &Arc<Self>) -> Result<()> {
        self.catalog.start()?;
        let shared = Arc::downgrade(self);
        self.catalog.statistics.start(&self.catalog.cluster, move || {
            shared
                .upgrade()
                .is_some_and(|shared| shared.variables.boolean("innodb_stats_auto_recalc"))
        })
    }

    /// Only the first call has an effect.
    pub fn set_connection_layer(&self, layer: Box<dyn ConnectionLayer>) {
        let _ = self.connection_layer.set(layer);
    }

    /// `@@activate_all_roles_on_login`.
    pub(crate) fn activates_all_roles(&self) -> bool {
        self.variables.boolean("activate_all_roles_on_login")
    }

    pub(crate) fn globals_changed(&self) {
        let durability = match self.variables.integer("innodb_flush_log_at_trx_commit") {
            0 => Durability::Lazy,
            2 => Durability::Os,
            _ => Durability::Sync,
        };
        self.events.configure(&self.variables);
        if self.variables.boolean("offline_mode") {
            self.processes.end_of_clients();
        }
        let mandatory = crate::variables::lookup("mandatory_roles").and_then(|d| self.variables.get(d));
        // A value that cannot be read was refused before.
        let mandatory = mandatory.and_then(|names| role_names(&names)).unwrap_or_default();
        self.catalog.accounts.set_mandatory(mandatory);
        self.engine.set_durability(durability);
        self.engine
            .set_read_only(match self.variables.boolean("super_read_only") {
                true => ReadOnly::Super,
                false if self.variables.boolean("read_only") => ReadOnly::On,
                false => ReadOnly::Off,
            });
        self.engine
            .store
            .set_gc_age(Duration::from_secs(self.variables.integer("stemdb_gc_age")));
    }

    /// The line of COM_STATISTICS.
    pub(crate) fn one_line(&self) -> String {
        let questions = self.statistics.questions();
        format!(
            "Uptime: {}  Threads: {}  Questions: {}  Slow queries: {}  Opens: 0  Flush tables: 0  Open tables: 0  Queries per second avg: {:.3}",
            self.started.elapsed().as_secs(),
            self.processes.count(),
            questions,
            self.statistics.slow_queries.load(Ordering::Relaxed),
            questions as f64 / self.started.elapsed().as_secs_f64().max(1.0),
        )
    }
}

/// The names of `mandatory_roles`: `name[@host], ...`, in quotes or not. `None`: it cannot be read.
pub(crate) fn role_names(text: &str) -> Option<Vec<AccountName>> {
    let mut names = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (user, after) = role_name_part(rest)?;
        let (host, after) = match after.trim_start().strip_prefix('@') {
            Some(after) => role_name_part(after.trim_start())?,
            None => ("%".to_owned(), after),
        };
        names.push((user, host.to_ascii_lowercase()));
        rest = after.trim_start();
        if let Some(after) = rest.strip_prefix(',') {
            rest = after.trim_start();
            if rest.is_empty() {
                return None;
            }
        } else if !rest.is_empty() {
            return None;
        }
    }
    Some(names)
}

/// A name at the start of a text, and the text after it.
fn role_name_part(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '`' | '\'' | '"'));
    let Some(quote) = quote else {
        let end = text.find([',', '@', ' ', '\t']).unwrap_or(text.len());
        let (name, after) = text.split_at(end);
        return (!name.is_empty()).then(|| (name.to_owned(), after));
    };
    let inner = text.get(1..)?;
    let (name, after) = inner.split_once(quote)?;
    Some((name.to_owned(), after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_roles_are_read_with_and_without_quotes() {
        let names = |text| {
            role_names(text).map(|names| {
                names
                    .iter()
                    .map(|(u, h)| format!("{u}/{h}"))
                    .collect::<Vec<_>>()
                    .join(" ")
            })
        };
        assert_eq!(names(""), Some(String::new()));
        assert_eq!(
            names("a, `b c`@'LocalHost' ,\"d\"@%"),
            Some("a/% b c/localhost d/%".to_owned())
        );
        for broken in ["a,", ",a", "`a", "a b", "@h", "a@"] {
            assert_eq!(names(broken), None, "{broken}");
        }
    }
}
