//! The members of PD, and a connection to their leader.

use crate::channel::{Connector, RESPONSE_BYTES_MAX};
use crate::connection::with_cause;
use crate::proto::pdpb::{GetMembersRequest, GetMembersResponse, RequestHeader};
use http::uri::PathAndQuery;
use kv::{Error, Result};
use parking_lot::Mutex;
use prost::Message;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::timeout;
use tonic::client::Grpc;
use tonic::transport::Channel;
use tonic_prost::ProstCodec;

/// Time for one request to one member.
const MEMBER_TIMEOUT: Duration = Duration::from_secs(3);

/// See the module.
pub struct Members {
    connector: Connector,
    state: Mutex<MemberState>,
    /// 0: unknown yet. It never changes: a member of another cluster is refused.
    cluster_id: AtomicU64,
}

struct MemberState {
    addresses: Vec<String>,
    leader: Option<(String, Channel)>,
}

impl Members {
    pub fn new(connector: Connector, addresses: Vec<String>) -> Self {
        Self {
            connector,
            state: Mutex::new(MemberState {
                addresses,
                leader: None,
            }),
            cluster_id: AtomicU64::new(0),
        }
    }

    pub fn header(&self) -> RequestHeader {
        RequestHeader {
            cluster_id: self.cluster_id.load(Ordering::Relaxed),
            caller_component: "stemdb".into(),
        }
    }

    /// A connection to the leader. If it is unknown, the members are asked one after the other.
    pub async fn leader(&self) -> Result<Channel> {
        let addresses = {
            let state = self.state.lock();
            if let Some((_, channel)) = &state.leader {
                return Ok(channel.clone());
            }
            state.addresses.clone()
        };
        let mut reasons = Vec::new();
        for address in addresses {
            match self.leader_by(&address).await {
                Ok(channel) => return Ok(channel),
                Err(reason) => reasons.push(format!("{address}: {reason}")),
            }
        }
        Err(Error::Unavailable(format!(
            "no PD leader: {}",
            reasons.join("; ")
        )))
    }

    /// Forgets the leader after it failed to serve.
    pub fn forget_leader(&self) {
        self.state.lock().leader = None;
    }

    async fn leader_by(&self, address: &str) -> Result<Channel, String> {
        let channel = self.connect(address).await?;
        let response: GetMembersResponse = timeout(
            MEMBER_TIMEOUT,
            unary(channel, "/pdpb.PD/GetMembers", GetMembersRequest::default()),
        )
        .await
        .map_err(|_| "no answer in time".to_owned())??;
        let header = response.header.unwrap_or_default();
        if let Some(error) = header.error.filter(|error| error.r#type != 0) {
            return Err(error.message);
        }
        self.check_cluster(header.cluster_id)?;
        let leader = response.leader.ok_or("no leader is elected")?;
        let mut reason = "the leader announces no address".to_owned();
        for url in &leader.client_urls {
            match self.connect(url).await {
                Ok(channel) => {
                    tracing::debug!(url, "PD leader");
                    let mut state = self.state.lock();
                    state.leader = Some((url.clone(), channel.clone()));
                    for url in response.members.iter().flat_map(|member| &member.client_urls) {
                        let host = url.split_once("://").map_or(url.as_str(), |(_, host)| host);
                        if !state.addresses.iter().any(|known| known == host) {
                            state.addresses.push(host.to_owned());
                        }
                    }
                    return Ok(channel);
                }
                Err(error) => reason = error,
            }
        }
        Err(reason)
    }

    fn check_cluster(&self, id: u64) -> Result<(), String> {
        match self
            .cluster_id
            .compare_exchange(0, id, Ordering::Relaxed, Ordering::Relaxed)
        {
            Ok(_) => Ok(()),
            Err(known) if known == id => Ok(()),
            Err(known) => Err(format!("belongs to cluster {id}, not {known}")),
        }
    }

    async fn connect(&self, address: &str) -> Result<Channel, String> {
        let endpoint = self
            .connector
            .endpoint(address)
            .map_err(|error| error.to_string())?;
        endpoint.connect().await.map_err(|error| with_cause(&error))
    }
}

/// One unary call.
pub async fn unary<Q, A>(channel: Channel, path: &'static str, request: Q) -> Result<A, String>
where
    Q: Message + 'static,
    A: Message + Default + 'static,
{
    let mut grpc = Grpc::new(channel).max_decoding_message_size(RESPONSE_BYTES_MAX);
    grpc.ready().await.map_err(|error| with_cause(&error))?;
    let codec = ProstCodec::<Q, A>::default();
    grpc.unary(
        tonic::Request::new(request),
        PathAndQuery::from_static(path),
        codec,
    )
    .await
    .map(tonic::Response::into_inner)
    .map_err(|status| format!("{} ({:?})", status.message(), status.code()))
}
