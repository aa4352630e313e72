//! Requests to PD other than timestamps: regions, stores, keyspaces, safe points. Each is retried until a
//! deadline, and the leader is looked for again after each failure.

use super::members::{Members, unary};
use crate::backoff::Until;
use crate::io::Io;
use crate::keys;
use crate::proto::etcdserverpb::{RangeRequest, RangeResponse};
use crate::proto::keyspacepb::{KeyspaceMeta, LoadKeyspaceRequest, LoadKeyspaceResponse};
use crate::proto::{metapb, pdpb::*};
use bytes::Bytes;
use kv::{Error, Part, Result, Timestamp};
use prost::Message;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

const REQUEST_TIMEOUT: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(100);
/// Requests sent at the same time.
const REQUESTS_MAX: usize = 256;

/// The prefix of refusals that a retry cannot change.
const GC_REFUSAL: &str = "[PD:gc:";
/// PD 9 refuses to move the collector's safe point back. Older versions ignore such a request silently.
const GOES_BACK: &str = "ErrDecreasingTxnSafePoint";

/// The service under whose name the collector asks PD. PD requires that it exists.
const COLLECTOR_SERVICE: &str = "gc_worker";

/// A region as PD describes it, with decoded bounds.
#[derive(Debug, Clone)]
pub struct RegionInfo {
    pub region: metapb::Region,
    /// `None` for a moment after the region was created.
    pub leader: Option<metapb::Peer>,
}

trait PdRequest: Message + Clone + 'static {
    type Response: Message + Default + 'static;
    const PATH: &'static str;
    fn set_header(&mut self, header: RequestHeader);
    fn header(response: &mut Self::Response) -> Option<ResponseHeader>;
}

macro_rules! requests {
    ($($request:ident $response:ident $path:literal,)*) => {
        $(
            impl PdRequest for $request {
                type Response = $response;
                const PATH: &'static str = $path;

                fn set_header(&mut self, header: RequestHeader) {
                    self.header = Some(header);
                }

                fn header(response: &mut $response) -> Option<ResponseHeader> {
                    response.header.take()
                }
            }
        )*
    };
}

requests! {
    GetRegionRequest GetRegionResponse "/pdpb.PD/GetRegion",
    ScanRegionsRequest ScanRegionsResponse "/pdpb.PD/ScanRegions",
    ScatterRegionRequest ScatterRegionResponse "/pdpb.PD/ScatterRegion",
    GetOperatorRequest GetOperatorResponse "/pdpb.PD/GetOperator",
    GetStoreRequest GetStoreResponse "/pdpb.PD/GetStore",
    GetAllStoresRequest GetAllStoresResponse "/pdpb.PD/GetAllStores",
    GetGcSafePointRequest GetGcSafePointResponse "/pdpb.PD/GetGCSafePoint",
    UpdateGcSafePointRequest UpdateGcSafePointResponse "/pdpb.PD/UpdateGCSafePoint",
    UpdateServiceGcSafePointRequest UpdateServiceGcSafePointResponse "/pdpb.PD/UpdateServiceGCSafePoint",
    LoadKeyspaceRequest LoadKeyspaceResponse "/keyspacepb.Keyspace/LoadKeyspace",
}

/// A request to the etcd inside PD, which has no PD headers.
impl PdRequest for RangeRequest {
    type Response = RangeResponse;
    const PATH: &'static str = "/etcdserverpb.KV/Range";

    fn set_header(&mut self, _: RequestHeader) {}

    fn header(_: &mut RangeResponse) -> Option<ResponseHeader> {
        None
    }
}

/// Where TiDB servers register while they run: servers without a keyspace, and, followed by the keyspace's
/// id, servers of a keyspace.
const TIDB_SERVERS: &str = "/tidb/server/info/";
const TIDB_KEYSPACES: &str = "/keyspaces/tidb/";

/// See the module.
pub struct PdClient {
    io: Arc<Io>,
    members: Arc<Members>,
}

impl PdClient {
    pub fn new(io: Arc<Io>, members: Arc<Members>) -> Self {
        Self { io, members }
    }

    /// The region that contains a key; `None` if PD knows none yet.
    pub fn region(&self, key: &[u8], until: Until) -> Result<Option<RegionInfo>> {
        let response = self.send(
            GetRegionRequest {
                region_key: keys::encode(key),
                ..Default::default()
            },
            until,
        )?;
        response
            .region
            .map(|region| region_info(region, response.leader))
            .transpose()
    }

    /// Up to `limit` regions that overlap a range, in order. An empty `end` is no bound.
    pub fn regions(&self, start: &[u8], end: &[u8], limit: i32, until: Until) -> Result<Vec<RegionInfo>> {
        let response = self.send(
            ScanRegionsRequest {
                start_key: keys::encode(start),
                end_key: if end.is_empty() {
                    Vec::new()
                } else {
                    keys::encode(end)
                },
                limit,
                ..Default::default()
            },
            until,
        )?;
        response
            .regions
            .into_iter()
            .filter_map(|found| Some(region_info(found.region?, found.leader)))
            .collect()
    }

    /// Asks PD to move a region, possibly a new one, to where it balances the load. All regions that one
    /// node asks for form one group. PD does it later.
    pub fn scatter(&self, info: &RegionInfo, deadline: Instant) -> Result<()> {
        let mut region = info.region.clone();
        keys::encode_bounds(&mut region);
        let request = ScatterRegionRequest {
            region_id: region.id,
            region: Some(region),
            leader: info.leader,
            group: "stemdb".into(),
            ..Default::default()
        };
        self.send(request, deadline.into()).map(drop)
    }

    /// What PD is doing with each region, under PD's name for it; `None` if nothing. PD answers for one
    /// region at a time.
    pub fn running_operators(&self, regions: &[u64], until: Until) -> Result<Vec<Option<Bytes>>> {
        let request = |region: &u64| GetOperatorRequest {
            region_id: *region,
            ..Default::default()
        };
        let mut operators = Vec::with_capacity(regions.len());
        for regions in regions.chunks(REQUESTS_MAX) {
            let responses = self.send_all(regions.iter().map(request).collect(), until)?;
            operators.extend(responses.into_iter().map(|response: GetOperatorResponse| {
                (response.status == OPERATOR_RUNNING).then_some(response.desc)
            }));
        }
        Ok(operators)
    }

    /// `None`: no such store, or it was removed.
    pub fn store(&self, id: u64, until: Until) -> Result<Option<metapb::Store>> {
        let request = GetStoreRequest {
            store_id: id,
            ..Default::default()
        };
        let store = self.send(request, until)?.store;
        Ok(store.filter(|store| store.state != metapb::STATE_TOMBSTONE))
    }

    /// All stores that hold rows. Columnar replicas (TiFlash) hold none.
    pub fn stores(&self, deadline: Instant) -> Result<Vec<metapb::Store>> {
        let request = GetAllStoresRequest {
            exclude_tombstone_stores: true,
            ..Default::default()
        };
        let mut stores = self.send(request, deadline.into())?.stores;
        stores.retain(|store| {
            let is_columnar =
                |label: &metapb::StoreLabel| label.key == "engine" && label.value.starts_with("tiflash");
            store.state != metapb::STATE_TOMBSTONE && !store.labels.iter().any(is_columnar)
        });
        Ok(stores)
    }

    /// The safe point: older versions may have been collected.
    pub fn gc_safe_point(&self, deadline: Instant) -> Result<Timestamp> {
        Ok(self
            .send(GetGcSafePointRequest::default(), deadline.into())?
            .safe_point)
    }

    /// Moves the safe point. Returns where it is now.
    pub fn set_gc_safe_point(&self, safe_point: Timestamp, deadline: Instant) -> Result<Timestamp> {
        let request = UpdateGcSafePointRequest {
            safe_point,
            ..Default::default()
        };
        Ok(self.send(request, deadline.into())?.new_safe_point)
    }

    /// Holds garbage collection back at `safe_point` for `ttl_s` seconds in the name of `service`. A time
    /// of 0 ends that. Returns the timestamp below which nothing may be read: the smallest that any service
    /// holds, or (PD 9) what the collector may collect. If it is above `safe_point`, nothing is held back:
    /// it is too late.
    pub fn hold_gc(
        &self,
        service: &str,
        ttl_s: i64,
        safe_point: Timestamp,
        deadline: Instant,
    ) -> Result<Timestamp> {
        let request = UpdateServiceGcSafePointRequest {
            service_id: service.as_bytes().to_vec(),
            ttl: ttl_s,
            safe_point,
            ..Default::default()
        };
        Ok(self.send(request, deadline.into())?.min_safe_point)
    }

    /// Asks how far garbage may be collected, up to `wanted`. From then on PD refuses to hold back an older
    /// timestamp. `None`: another collector has already asked for more.
    pub fn advance_gc(&self, wanted: Timestamp, deadline: Instant) -> Result<Option<Timestamp>> {
        match self.hold_gc(COLLECTOR_SERVICE, i64::MAX, wanted, deadline) {
            Err(Error::Unavailable(reason)) if reason.contains(GOES_BACK) => Ok(None),
            response => response.map(Some),
        }
    }

    /// The keyspaces in which a TiDB server runs now; `None` stands for a server without a keyspace, which
    /// uses the keys of the whole cluster.
    pub fn tidb_keyspaces(&self, deadline: Instant) -> Result<Vec<Option<u32>>> {
        let request = |prefix: &str| RangeRequest {
            key: prefix.as_bytes().to_vec(),
            range_end: kv::successor_of_prefix(prefix.as_bytes()),
            keys_only: true,
        };
        let requests = [TIDB_SERVERS, TIDB_KEYSPACES].map(request).to_vec();
        let responses: Vec<RangeResponse> = self.send_all(requests, deadline.into())?;
        let keys = responses
            .iter()
            .flat_map(|response| &response.kvs)
            .map(|kv| &kv.key);
        let mut found: Vec<Option<u32>> = keys.filter_map(|key| tidb_keyspace(key)).collect();
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    pub fn keyspace(&self, name: &str, deadline: Instant) -> Result<KeyspaceMeta> {
        let request = LoadKeyspaceRequest {
            name: name.to_owned(),
            ..Default::default()
        };
        let response = self.send(request, deadline.into())?;
        response
            .keyspace
            .filter(|found| found.state == 0)
            .ok_or_else(|| Error::Unavailable(format!("the cluster has no enabled keyspace '{name}'")))
    }

    fn send<Q: PdRequest>(&self, request: Q, until: Until) -> Result<Q::Response> {
        let response = self.send_all(vec![request], until)?.pop();
        response.ok_or_else(|| Error::Internal("a request to PD without a response".into()))
    }

    /// Sends all requests at once. Returns the responses in their order.
    fn send_all<Q: PdRequest>(&self, requests: Vec<Q>, until: Until) -> Result<Vec<Q::Response>> {
        let failed = |text: &dyn std::fmt::Display| Error::ClusterTimeout {
            part: Part::Oracle,
            reason: format!("{}: {text}", Q::PATH),
        };
        loop {
            let once = Until {
                deadline: until.deadline.min(Instant::now() + REQUEST_TIMEOUT),
                ..until
            };
            let sent = self.send_once(requests.clone(), once);
            let error = match sent {
                // REGION_NOT_FOUND is an empty response, and no error.
                Ok(mut responses) => {
                    let refusal = responses.iter_mut().find_map(|response| {
                        let error = Q::header(response)?.error?;
                        (error.r#type != 0 && error.r#type != REGION_NOT_FOUND).then_some(error)
                    });
                    match refusal {
                        Some(error) if error.r#type == ENTRY_NOT_FOUND => {
                            return Err(Error::Unavailable(format!("PD {}: {}", Q::PATH, error.message)));
                        }
                        Some(error) => failed(&error.message),
                        None => return Ok(responses),
                    }
                }
                Err(Error::Unavailable(reason)) if reason.contains(GC_REFUSAL) => {
                    return Err(Error::Unavailable(format!("PD {}: {reason}", Q::PATH)));
                }
                Err(Error::Unavailable(reason)) => failed(&reason),
                Err(error) => return Err(error),
            };
            self.members.forget_leader();
            if Instant::now() + PAUSE >= until.deadline {
                return Err(error);
            }
            thread::sleep(PAUSE);
        }
    }

    fn send_once<Q: PdRequest>(&self, requests: Vec<Q>, until: Until) -> Result<Vec<Q::Response>> {
        let members = Arc::clone(&self.members);
        self.io.run(until, "PD", async move {
            let leader = members.leader().await?;
            let send = |mut request: Q| -> InFlight<Q::Response> {
                request.set_header(members.header());
                tokio::spawn(unary(leader.clone(), Q::PATH, request))
            };
            let sent: Vec<InFlight<Q::Response>> = requests.into_iter().map(send).collect();
            let mut responses = Vec::with_capacity(sent.len());
            for response in sent {
                let response = response.await.unwrap_or_else(|error| Err(error.to_string()));
                responses.push(response.map_err(Error::Unavailable)?);
            }
            Ok(responses)
        })
    }
}

/// The keyspace of a TiDB server's registration. The outer `None`: the key is not a TiDB server's.
fn tidb_keyspace(key: &[u8]) -> Option<Option<u32>> {
    let key = std::str::from_utf8(key).ok()?;
    if key.starts_with(TIDB_SERVERS) {
        return Some(None);
    }
    let (id, rest) = key.strip_prefix(TIDB_KEYSPACES)?.split_once('/')?;
    let is_server = TIDB_SERVERS
        .strip_prefix('/')
        .is_some_and(|path| rest.starts_with(path));
    is_server.then(|| id.parse().ok()).flatten().map(Some)
}

/// A request in flight.
type InFlight<A> = JoinHandle<Result<A, String>>;

fn region_info(mut region: metapb::Region, leader: Option<metapb::Peer>) -> Result<RegionInfo> {
    keys::decode_bounds(&mut region)?;
    Ok(RegionInfo {
        region,
        leader: leader.filter(|peer| peer.id != 0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_tidb_are_told_from_what_else_it_registers() {
        assert_eq!(tidb_keyspace(b"/tidb/server/info/7f"), Some(None));
        assert_eq!(
            tidb_keyspace(b"/keyspaces/tidb/12/tidb/server/info/7f"),
            Some(Some(12))
        );
        for other in [
            &b"/tidb/ddl/global_schema_version"[..],
            b"/keyspaces/tidb/12/tidb/ddl/fg/owner/1",
            b"/keyspaces/tidb/12",
            b"/keyspaces/tidb/x/tidb/server/info/7f",
            b"/keyspaces/tidb/99999999999/tidb/server/info/7f",
            b"\xFF",
        ] {
            assert_eq!(tidb_keyspace(other), None);
        }
    }
}
