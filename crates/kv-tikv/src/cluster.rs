//! Sends commands to regions: finds the region, its leader and its store, and retries when one of them has
//! moved or is down. The layers above use keys and responses only.

use crate::backoff::{Backoff, Until};
use crate::channel::Connector;
use crate::command::{Command, RegionResponse, decode, encode};
use crate::connection::{CallError, Pending};
use crate::counters::{Counters, WaitCounters};
use crate::io::Io;
use crate::keys::Keyspace;
use crate::options::TikvOptions;
use crate::pd::client::RegionInfo;
use crate::pd::members::Members;
use crate::pd::{Oracle, PdClient};
use crate::proto::errorpb;
use crate::proto::kvrpcpb::Context;
use crate::region::{Region, RegionCache};
use crate::stores::Stores;
use crate::txn_status::EndedTxns;
use kv::{Error, Interrupt, Part, Result, Timestamp};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Regions read from PD at a time: the next keys asked for are usually near.
const REGIONS_AHEAD: i32 = 32;

/// After so many failures PD is asked again where the region is.
const PEERS_TRIED: u32 = 3;

/// A server that starts reports soon that the cluster is missing; a supervisor may start it again.
const START_PATIENCE: Duration = Duration::from_secs(10);

/// A cluster, with caches of what PD and the stores have said.
pub struct Cluster {
    pub pd: PdClient,
    pub oracle: Oracle,
    pub keyspace: Keyspace,
    pub regions: RegionCache,
    pub options: TikvOptions,
    pub io: Arc<Io>,
    pub connector: Connector,
    pub ended_txns: EndedTxns,
    pub lock_waits: Arc<WaitCounters>,
    pub counters: Counters,
    stores: Stores,
}

/// A command that has been sent.
pub struct Sent<C> {
    pub region: Arc<Region>,
    pending: Result<Pending, CallError>,
    deadline: Instant,
    command: PhantomData<C>,
}

/// What became of a command.
pub enum Outcome<A> {
    Answered(A),
    /// The region did not serve it; it has not been executed.
    Refused(Box<errorpb::Error>),
    /// No response.
    Failed(CallError),
}

impl<A: RegionResponse> Outcome<A> {
    fn of(mut response: A) -> Self {
        match response.take_region_error() {
            None => Self::Answered(response),
            Some(mut error) => match error.undetermined_result.take() {
                // The store itself does not know the outcome.
                Some(undetermined) => Self::Failed(CallError::Lost(undetermined.message)),
                None => Self::Refused(Box::new(error)),
            },
        }
    }
}

impl<C: Command> Sent<C> {
    /// # Errors
    /// [`Error::Interrupted`]: the response may still be waited for. [`Error::Unavailable`]: the response
    /// cannot be decoded.
    pub fn wait(&mut self, interrupt: Option<&Interrupt>) -> Result<Outcome<C::Response>> {
        let element = match &mut self.pending {
            Err(error) => return Ok(Outcome::Failed(error.clone())),
            Ok(pending) => match pending.wait(self.deadline, interrupt)? {
                Ok(element) => element,
                Err(error) => return Ok(Outcome::Failed(error)),
            },
        };
        Ok(Outcome::of(decode::<C>(element)?))
    }
}

impl Cluster {
    pub fn connect(options: TikvOptions) -> Result<Arc<Self>> {
        let deadline = Instant::now() + options.operation_timeout.min(START_PATIENCE);
        let io = Arc::new(Io::start(options.io_threads)?);
        let connector = Connector::new(&options)?;
        let members = Arc::new(Members::new(connector.clone(), options.endpoints.clone()));
        let pd = PdClient::new(Arc::clone(&io), Arc::clone(&members));
        let keyspace = match &options.keyspace {
            Some(name) => Keyspace::with_id(pd.keyspace(name, deadline)?.id),
            None => Keyspace::whole(options.effective_limits().key_bytes),
        }
        .within(&options.key_prefix);
        let oracle = Oracle::start(io.handle(0), members);
        oracle.timestamp(deadline.into())?;
        Ok(Arc::new(Self {
            pd,
            oracle,
            keyspace,
            regions: RegionCache::default(),
            stores: Stores::new(Arc::clone(&io), connector.clone()),
            options,
            io,
            connector,
            ended_txns: EndedTxns::default(),
            lock_waits: Arc::default(),
            counters: Counters::default(),
        }))
    }

    /// The retry budget of one operation.
    pub fn backoff<'a>(&self, interrupt: Option<&'a Interrupt>) -> Backoff<'a> {
        Backoff::new(self.options.operation_timeout, interrupt)
    }

    pub fn timestamp(&self, interrupt: Option<&Interrupt>) -> Result<Timestamp> {
        self.counters.timestamps.fetch_add(1, Ordering::Relaxed);
        self.oracle.timestamp(Until {
            deadline: Instant::now() + self.options.operation_timeout,
            interrupt,
        })
    }

    /// The region that contains a key.
    pub fn region(&self, key: &[u8], backoff: &mut Backoff) -> Result<Arc<Region>> {
        loop {
            if let Some(region) = self.regions.find(key) {
                return Ok(region);
            }
            let found = self.pd.regions(key, &[], REGIONS_AHEAD, backoff.until());
            self.learn(found.map_err(|error| backoff.explain(error))?);
            if let Some(region) = self.regions.find(key) {
                return Ok(region);
            }
            let found = self.pd.region(key, backoff.until());
            if let Some(found) = found.map_err(|error| backoff.explain(error))? {
                self.learn(vec![found]);
            }
            if self.regions.find(key).is_none() {
                backoff.pause(Part::Region, &"PD knows none for a key")?;
            }
        }
    }

    /// The region that contains the greatest key below `end`, which is not empty.
    pub fn region_below(&self, end: &[u8], backoff: &mut Backoff) -> Result<Arc<Region>> {
        loop {
            if let Some(region) = self.regions.find_below(end) {
                return Ok(region);
            }
            // PD finds regions by a key they contain, so this makes a key just below `end`. Some other key
            // may lie between the two, hence the lookup of `below..end` that follows.
            let mut below = end.to_vec();
            match below.last_mut() {
                Some(0) => {
                    below.pop();
                }
                Some(last) => {
                    *last -= 1;
                    below.resize(below.len() + 64, 0xFF);
                }
                None => return Err(Error::Internal("a region below the empty key".into())),
            }
            self.region(&below, backoff)?;
            let found = self.pd.regions(&below, end, REGIONS_AHEAD, backoff.until());
            self.learn(found.map_err(|error| backoff.explain(error))?);
            if self.regions.find_below(end).is_none() {
                backoff.pause(Part::Region, &"PD knows none for a key")?;
            }
        }
    }

    fn learn(&self, found: Vec<RegionInfo>) {
        for info in found {
            if let Some(region) = Region::new(info) {
                self.regions.insert(region);
            }
        }
    }

    /// `None`: PD does not know such a store.
    pub fn store_address(&self, id: u64, until: Until) -> Result<Option<String>> {
        let store = self.stores.get(id, &self.pd, until)?;
        Ok(store.map(|store| store.address.clone()))
    }

    /// Addresses a request to a region.
    pub fn fill(&self, context: &mut Context, region: &Region) {
        region.fill(context);
        context.api_version = self.keyspace.api_version;
        context.keyspace_id = self.keyspace.id;
    }

    /// Sends a command to a region and does not wait for the response.
    pub fn send<'a, C: Command>(
        &self,
        region: Arc<Region>,
        mut command: C,
        until: impl Into<Until<'a>>,
    ) -> Result<Sent<C>> {
        let until = until.into();
        self.fill(command.context_mut(), &region);
        self.counters.requests.fetch_add(1, Ordering::Relaxed);
        let pending = match self.stores.get(region.leader.store_id, &self.pd, until) {
            Ok(Some(store)) => self.stores.submit(&store, encode(&command)),
            Ok(None) => Err(CallError::Unsent(format!("no store {}", region.leader.store_id))),
            // Only this request has run out of time, not the operation. PD may say on the next attempt
            // where the store is.
            Err(error @ Error::ClusterTimeout { .. }) => Err(CallError::Unsent(error.to_string())),
            Err(error) => return Err(error),
        };
        Ok(Sent {
            region,
            pending,
            deadline: until.deadline,
            command: PhantomData,
        })
    }

    /// Sends a command to the region of `key` until it gets a response.
    pub fn call<C: Command + Clone>(
        &self,
        key: &[u8],
        command: &C,
        backoff: &mut Backoff,
    ) -> Result<C::Response> {
        Ok(self.call_region(key, command, backoff)?.0)
    }

    /// [`Cluster::call`]; also returns the region that responded.
    pub fn call_region<C: Command + Clone>(
        &self,
        key: &[u8],
        command: &C,
        backoff: &mut Backoff,
    ) -> Result<(C::Response, Arc<Region>)> {
        loop {
            let region = self.region(key, backoff)?;
            let until = backoff.request(self.options.request_timeout);
            let mut sent = self.send(region, command.clone(), until)?;
            match sent.wait(backoff.interrupt)? {
                Outcome::Answered(response) => return Ok((response, sent.region)),
                Outcome::Refused(error) => self.refused(&sent.region, &error, backoff)?,
                Outcome::Failed(error) => self.failed(&sent.region, &error, backoff)?,
            }
        }
    }

    /// Updates the caches from a region's refusal, and pauses as long as the refusal asks for.
    ///
    /// # Errors
    /// Refusals that a retry cannot change.
    pub fn refused(&self, region: &Region, error: &errorpb::Error, backoff: &mut Backoff) -> Result<()> {
        self.counters.refusals.fetch_add(1, Ordering::Relaxed);
        if let Some(not_leader) = &error.not_leader {
            return match not_leader.leader.filter(|leader| leader.id != 0) {
                Some(leader) => {
                    self.regions.set_leader(region, leader);
                    backoff.retry_at_once(Part::Region, &"its leader moves")
                }
                None => {
                    self.regions.forget(region);
                    backoff.pause(Part::Region, &"it has no leader")
                }
            };
        }
        if let Some(mismatch) = &error.epoch_not_match {
            self.regions.forget(region);
            for current in &mismatch.current_regions {
                self.learn(vec![region.part(current.clone())?]);
            }
            return backoff.retry_at_once(Part::Region, &"it splits");
        }
        if let Some(busy) = &error.server_is_busy {
            let proposed = Duration::from_millis(busy.backoff_ms.min(2_000));
            let text = format!("store {}: {}", region.leader.store_id, busy.reason);
            return backoff.pause_at_least(proposed, Duration::from_millis(200), Part::BusyStore, &text);
        }
        if let Some(large) = &error.raft_entry_too_large {
            return Err(Error::ValueTooLarge {
                size_bytes: usize::try_from(large.entry_size).unwrap_or(usize::MAX),
                limit_bytes: self.options.effective_limits().value_bytes,
            });
        }
        if let Some(full) = &error.disk_full {
            return Err(Error::DiskFull(format!(
                "stores {:?}: {}",
                full.store_id, full.reason
            )));
        }
        if error.store_not_match.is_some() {
            self.stores.forget(region.leader.store_id);
        }
        let is_stale = error.region_not_found.is_some()
            || error.key_not_in_region.is_some()
            || error.store_not_match.is_some()
            || error.mismatch_peer_id.is_some();
        if is_stale {
            self.regions.forget(region);
        }
        backoff.pause(Part::Region, &format!("{}: {}", region.id, error.message))
    }

    /// Updates the caches after a store did not respond, and pauses.
    pub fn failed(&self, region: &Region, error: &CallError, backoff: &mut Backoff) -> Result<()> {
        self.counters.failures.fetch_add(1, Ordering::Relaxed);
        tracing::debug!(region = region.id, store = region.leader.store_id, %error, "no answer");
        self.stores.forget_unless_connected(region.leader.store_id);
        self.regions.try_next_leader(region);
        backoff.failures += 1;
        if backoff.failures.is_multiple_of(PEERS_TRIED) {
            // All peers may have moved; PD knows where.
            self.regions.forget(region);
        }
        backoff.pause(Part::Store, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::kvrpcpb::CommitResponse;

    #[test]
    fn what_a_store_does_not_know_may_have_run() {
        let of = |region_error| {
            Outcome::of(CommitResponse {
                region_error,
                ..Default::default()
            })
        };
        assert!(matches!(of(None), Outcome::Answered(_)));
        assert!(matches!(of(Some(errorpb::Error::default())), Outcome::Refused(_)));
        let unknown = errorpb::Error {
            undetermined_result: Some(errorpb::UndeterminedResult::default()),
            ..Default::default()
        };
        assert!(matches!(of(Some(unknown)), Outcome::Failed(error) if error.may_have_run()));
    }
}
