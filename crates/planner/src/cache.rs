//! Plans that all connections share.
//!
//! The key of a plan is its text, the default database, the types of its parameters, and a hash of everything
//! else that planning depends on. The caller checks whether a plan still fits the schema
//! ([`CachedPlan::is_current`]). Plans that depend on estimates are checked at intervals: a statement is
//! planned again when a table has become much larger or smaller, or when its statistics have changed.
//!
//! The cache has shards, each with a lock of its own that is held for a lookup. A full shard evicts by the
//! clock algorithm.

use std::any::Any;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::{Duration, Instant};

use hashbrown::{DefaultHashBuilder, HashMap};
use parking_lot::RwLock;
use schema::temporary_tables::TemporaryTables;
use syntax::ast::SqlCommand;
use types::{SqlType, Warning};

use crate::object_access::ObjectAccess;
use crate::plan::{Access, Plan, Rel, TableScan};
use crate::plan_traits::PlanTraits;

const SHARDS: usize = 16;
const ENTRIES_PER_SHARD: usize = 512;
/// Bytes of text the keys of a shard may take together.
const TEXT_BYTES_PER_SHARD: usize = 256 << 10;
/// Longer texts are not cached: a plan is many times larger than its text.
const TEXT_BYTES_MAX: usize = 16 << 10;
/// How long a plan that depends on estimates is used before these are looked at again.
const ESTIMATES_HOLD: Duration = Duration::from_secs(10);
/// The factor by which a table may grow or shrink until its plans are made again.
const ROWS_FACTOR: u64 = 8;
/// An execution that looks at fewer rows is not worth a plan of its own.
const READS_MANY: u64 = 10_000;
/// Smaller tables are all alike.
const ROWS_MIN: u64 = 1_000;
/// Moments are kept as nanoseconds since this one.
static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The key of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PlanKey<'a> {
    pub text: &'a str,
    pub database: Option<&'a str>,
    pub params: &'a [SqlType],
    /// A hash of sql_mode, collation_connection, and everything else that the binder reads.
    pub environment: u64,
}

/// A plan, ready to run with any parameters of its types.
#[derive(Debug)]
pub struct CachedPlan {
    pub plan: Plan,
    /// The privileges and locks that it needs.
    pub accesses: Vec<ObjectAccess>,
    /// The version of the schema it was made for.
    pub schema_version: u64,
    pub parameters: usize,
    /// The parameters that stand for literals and must be dates: with another text, the plan is not the statement's.
    pub date_params: Vec<usize>,
    /// Whether it holds for other sessions, and for later executions.
    pub cacheable: bool,
    /// Whether it names temporary tables of its session.
    pub uses_temporary: bool,
    /// How it finds its rows, for the counters of statements.
    pub traits: PlanTraits,
    /// The kind of its statement.
    pub command: Option<SqlCommand>,
    /// The number of its statement's digest, once the session has found it; 0 before.
    pub digest: AtomicU32,
    /// What it was made from, if it depends on estimates.
    estimates: Option<PlanEstimates>,
    /// What its statement warns of whenever it runs, for example of deprecated syntax.
    pub warnings: Vec<Warning>,
    /// What the session derives from the plan at its first run. It is dropped with the plan.
    pub attachment: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl CachedPlan {
    pub fn new(
        plan: Plan,
        accesses: Vec<ObjectAccess>,
        schema_version: u64,
        parameters: usize,
        cacheable: bool,
    ) -> Self {
        Self {
            uses_temporary: accesses.iter().any(|access| access.table.is_temporary()),
            traits: PlanTraits::of(&plan),
            command: None,
            digest: AtomicU32::new(0),
            estimates: None,
            plan,
            accesses,
            schema_version,
            parameters,
            date_params: Vec::new(),
            cacheable,
            warnings: Vec::new(),
            attachment: OnceLock::new(),
        }
    }

    /// With what it was made from: `known` returns that for a table id. `generation`: of all statistics.
    #[must_use]
    pub fn made_from(mut self, generation: u64, known: impl Fn(i64) -> TableKnowledge) -> Self {
        if depends_on_estimates(&self.plan) {
            let tables = self.plan.scans().into_iter().map(|scan| scan.table.id);
            self.estimates = Some(PlanEstimates {
                tables: tables.map(|id| (id, known(id))).collect(),
                generation: AtomicU64::new(generation),
                holds_until_ns: AtomicU64::new(holds_until()),
                reads: expected_reads(&self.plan).filter(|_| self.parameters > 0),
                varies: AtomicBool::new(false),
            });
        }
        self
    }

    /// Records how many rows an execution has looked at. If that is many more than estimated, the plan is not
    /// good for all values of its parameters.
    pub fn observe(&self, examined: u64) {
        if let Some(estimates) = &self.estimates
            && let Some(reads) = estimates.reads
            && examined > READS_MANY
            && examined > reads.saturating_mul(ROWS_FACTOR)
        {
            estimates.varies.store(true, Ordering::Relaxed);
        }
    }

    /// Whether each execution is to be planned with its own parameters.
    pub fn varies(&self) -> bool {
        let estimates = self.estimates.as_ref();
        estimates.is_some_and(|estimates| estimates.varies.load(Ordering::Relaxed))
    }

    /// The plan is for one execution of a statement whose plans vary.
    #[must_use]
    pub fn of_one_execution(self) -> Self {
        if let Some(estimates) = &self.estimates {
            estimates.varies.store(true, Ordering::Relaxed);
        }
        self
    }

    /// Whether its names mean the same tables to a session with these temporary ones.
    #[inline]
    pub fn resolves_with(&self, temporary: &TemporaryTables) -> bool {
        !self.uses_temporary && temporary.is_empty() || self.names_the_same(temporary)
    }

    fn names_the_same(&self, temporary: &TemporaryTables) -> bool {
        let named = |access: &&ObjectAccess| access.through.is_none() && !access.is_implied;
        self.accesses.iter().filter(named).all(|access| {
            let table = &access.table;
            match temporary.find(&table.database, &table.name) {
                Some(now) => Arc::ptr_eq(now, table),
                None => !table.is_temporary(),
            }
        })
    }

    /// Whether the plan is for this schema version, and what it was made from still holds.
    #[inline]
    pub fn is_current(
        &self,
        schema_version: u64,
        generation: impl FnOnce() -> u64,
        known: impl Fn(i64) -> TableKnowledge,
    ) -> bool {
        self.schema_version == schema_version
            && self
                .estimates
                .as_ref()
                .is_none_or(|estimates| estimates.hold(generation(), known))
    }
}

/// What is known about a table when a plan is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableKnowledge {
    pub rows: u64,
    /// Of its statistics; 0: it has none.
    pub statistics_version: u64,
}

impl TableKnowledge {
    /// Whether a plan made from this would be about the same.
    fn is_like(self, other: Self) -> bool {
        let (less, more) = (self.rows.min(other.rows), self.rows.max(other.rows));
        let is_size_alike = more <= ROWS_MIN || more <= less.saturating_mul(ROWS_FACTOR);
        is_size_alike && self.statistics_version == other.statistics_version
    }
}

/// What a plan was made from.
#[derive(Debug)]
struct PlanEstimates {
    tables: Vec<(i64, TableKnowledge)>,
    /// Of all statistics, when they were last looked at.
    generation: AtomicU64,
    holds_until_ns: AtomicU64,
    /// How many rows it was expected to look at, if that depends on parameters.
    reads: Option<u64>,
    /// Executions differ too much to share a plan.
    varies: AtomicBool,
}

impl PlanEstimates {
    fn hold(&self, generation: u64, known: impl Fn(i64) -> TableKnowledge) -> bool {
        if self.varies.load(Ordering::Relaxed) {
            return false;
        }
        let is_fresh = self.generation.load(Ordering::Relaxed) == generation
            && now_ns() < self.holds_until_ns.load(Ordering::Relaxed);
        if is_fresh {
            return true;
        }
        let holds = self.tables.iter().all(|(id, before)| before.is_like(known(*id)));
        if holds {
            self.generation.store(generation, Ordering::Relaxed);
            self.holds_until_ns.store(holds_until(), Ordering::Relaxed);
        }
        holds
    }
}

fn now_ns() -> u64 {
    u64::try_from(EPOCH.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn holds_until() -> u64 {
    now_ns().saturating_add(u64::try_from(ESTIMATES_HOLD.as_nanos()).unwrap_or(u64::MAX))
}

/// See the module's documentation. Hits take one shared lock and allocate nothing.
pub struct PlanCache {
    shards: Vec<RwLock<Shard>>,
    hasher: DefaultHashBuilder,
}

#[derive(Default)]
struct Shard {
    /// By the key's hash; keys that collide are in one list.
    entries: HashMap<u64, Vec<CacheEntry>>,
    count: usize,
    text_bytes: usize,
}

struct CacheEntry {
    text: Box<str>,
    database: Option<Box<str>>,
    params: Box<[SqlType]>,
    environment: u64,
    /// `None`: the text cannot share a plan. It is planned with its literals each time.
    plan: Option<Arc<CachedPlan>>,
    used: AtomicBool,
}

impl CacheEntry {
    fn is(&self, key: &PlanKey) -> bool {
        self.environment == key.environment
            && *self.text == *key.text
            && self.database.as_deref() == key.database
            && *self.params == *key.params
    }
}

impl Default for PlanCache {
    fn default() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| RwLock::default()).collect(),
            hasher: DefaultHashBuilder::default(),
        }
    }
}

impl PlanCache {
    fn hash(&self, key: &PlanKey) -> u64 {
        self.hasher.hash_one(key)
    }

    fn shard(&self, hash: u64) -> &RwLock<Shard> {
        &self.shards[(hash >> 48) as usize % SHARDS]
    }

    fn find<T>(&self, key: &PlanKey, found: impl FnOnce(&CacheEntry) -> T) -> Option<T> {
        let hash = self.hash(key);
        let shard = self.shard(hash).read();
        let entry = shard.entries.get(&hash)?.iter().find(|e| e.is(key))?;
        if !entry.used.load(Ordering::Relaxed) {
            entry.used.store(true, Ordering::Relaxed);
        }
        Some(found(entry))
    }

    pub fn get(&self, key: &PlanKey) -> Option<Arc<CachedPlan>> {
        self.find(key, |entry| entry.plan.clone()).flatten()
    }

    /// Caches a plan, in place of an older one of the same key.
    pub fn insert(&self, key: &PlanKey, plan: Arc<CachedPlan>) {
        self.put(key, Some(plan));
    }

    /// Whether the text was found not to share a plan.
    pub fn is_unshareable(&self, key: &PlanKey) -> bool {
        self.find(key, |entry| entry.plan.is_none()).unwrap_or(false)
    }

    pub fn mark_unshareable(&self, key: &PlanKey) {
        self.put(key, None);
    }

    /// The number of texts in the cache.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|s| s.read().count).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn put(&self, key: &PlanKey, plan: Option<Arc<CachedPlan>>) {
        let hash = self.hash(key);
        let mut shard = self.shard(hash).write();
        if let Some(entry) = shard
            .entries
            .get_mut(&hash)
            .and_then(|l| l.iter_mut().find(|e| e.is(key)))
        {
            entry.plan = plan;
            return;
        }
        if key.text.len() > TEXT_BYTES_MAX {
            return;
        }
        shard.make_room(key.text.len());
        shard.count += 1;
        shard.text_bytes += key.text.len();
        shard.entries.entry(hash).or_default().push(CacheEntry {
            text: key.text.into(),
            database: key.database.map(Into::into),
            params: key.params.into(),
            environment: key.environment,
            plan,
            used: AtomicBool::new(true),
        });
    }
}

/// Points are the best path for a table of any size. Other paths were chosen by cost.
fn depends_on_estimates(plan: &Plan) -> bool {
    let weighed = |scan: &TableScan| {
        !matches!(
            scan.access,
            Access::PrimaryPoints { .. } | Access::UniquePoints { .. }
        )
    };
    let chosen_by_cost = |root: &Rel| match root.scan() {
        Some(scan) => weighed(scan),
        // The order of joins is.
        None => !root.scans().is_empty(),
    };
    match plan {
        Plan::Query(query) => chosen_by_cost(&query.root),
        Plan::Insert(insert) => insert.queries().any(chosen_by_cost),
        Plan::Update(update) => weighed(&update.target.scan),
        Plan::Delete(delete) => weighed(&delete.target.scan),
        Plan::FoundWrite(write) => write.queries().any(chosen_by_cost),
    }
}

/// How many rows a query of tables that are read once looks at; `None` if rows of one are looked up for
/// those of another.
fn expected_reads(plan: &Plan) -> Option<u64> {
    let Plan::Query(query) = plan else {
        return None;
    };
    let mut reads = 0.0;
    let mut once = true;
    query.root.walk(&mut |rel| match rel {
        Rel::Scan(scan) => reads += scan.expected.read,
        Rel::LookupJoin(_) | Rel::Apply(_) => once = false,
        _ => {}
    });
    once.then_some(reads as u64)
}

impl Shard {
    /// Evicts what was not used since the last round, or everything if all was used.
    fn make_room(&mut self, text_bytes: usize) {
        if self.count < ENTRIES_PER_SHARD && self.text_bytes + text_bytes <= TEXT_BYTES_PER_SHARD {
            return;
        }
        let before = self.count;
        self.retain(|entry| entry.used.swap(false, Ordering::Relaxed));
        if self.count == before {
            self.retain(|_| false);
        }
    }

    fn retain(&mut self, keep: impl Fn(&CacheEntry) -> bool) {
        let (mut count, mut text_bytes) = (0, 0);
        self.entries.retain(|_, list| {
            list.retain(|entry| {
                let keeps = keep(entry);
                if keeps {
                    count += 1;
                    text_bytes += entry.text.len();
                }
                keeps
            });
            !list.is_empty()
        });
        (self.count, self.text_bytes) = (count, text_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{QueryPlan, Rel, Route};

    fn plan(schema_version: u64) -> Arc<CachedPlan> {
        let query = QueryPlan {
            root: Rel::OneRow,
            columns: Vec::new(),
            locking: None,
            route: Route::Transactional,
            limit_of_output: None,
            max_execution: None,
            larger: None,
        };
        Arc::new(CachedPlan::new(
            Plan::Query(query),
            Vec::new(),
            schema_version,
            0,
            true,
        ))
    }

    fn key<'a>(text: &'a str, database: &'a str, params: &'a [SqlType]) -> PlanKey<'a> {
        PlanKey {
            text,
            database: Some(database),
            params,
            environment: 7,
        }
    }

    #[test]
    fn whatever_decides_a_plan_is_part_of_its_key() {
        let cache = PlanCache::default();
        let types = [SqlType::BIGINT];
        let base = key("SELECT ?", "a", &types);
        cache.insert(&base, plan(1));
        assert_eq!(cache.get(&base).map(|p| p.schema_version), Some(1));
        assert!(cache.get(&key("SELECT ? ", "a", &types)).is_none());
        assert!(cache.get(&key("SELECT ?", "b", &types)).is_none());
        assert!(cache.get(&key("SELECT ?", "a", &[SqlType::DOUBLE])).is_none());
        assert!(
            cache
                .get(&PlanKey {
                    environment: 8,
                    ..base
                })
                .is_none()
        );
        cache.insert(&base, plan(2));
        assert_eq!(
            (cache.get(&base).map(|p| p.schema_version), cache.len()),
            (Some(2), 1)
        );
    }

    #[test]
    fn a_plan_holds_while_its_tables_are_about_as_large() {
        let known = |rows, statistics_version| TableKnowledge {
            rows,
            statistics_version,
        };
        let before = known(10_000, 1);
        assert!(before.is_like(known(70_000, 1)) && before.is_like(known(1_500, 1)));
        assert!(!before.is_like(known(90_000, 1)) && !before.is_like(known(1_000, 1)));
        assert!(!before.is_like(known(10_000, 2)), "it has been analyzed");
        assert!(known(0, 0).is_like(known(1_000, 0)), "both are small");
    }

    #[test]
    fn a_text_that_cannot_share_is_remembered_and_may_change_its_mind() {
        let cache = PlanCache::default();
        let key = key("SELECT ROUND(?)", "a", &[]);
        assert!(!cache.is_unshareable(&key));
        cache.mark_unshareable(&key);
        assert!(cache.is_unshareable(&key) && cache.get(&key).is_none());
        cache.insert(&key, plan(1));
        assert!(!cache.is_unshareable(&key));
    }

    #[test]
    fn the_cache_stays_bounded_and_keeps_what_is_used() {
        let cache = PlanCache::default();
        let hot = key("hot", "a", &[]);
        cache.insert(&hot, plan(1));
        for i in 0..SHARDS * ENTRIES_PER_SHARD * 4 {
            cache.insert(&key(&format!("SELECT {i}"), "a", &[]), plan(1));
            assert!(cache.get(&hot).is_some() || i > 0);
        }
        assert!(cache.len() <= SHARDS * ENTRIES_PER_SHARD);
    }
}
