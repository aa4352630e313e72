//! Why a region did not serve a request.

use super::metapb::{Peer, Region};

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct NotLeader {
    #[prost(uint64, tag = "1")]
    pub region_id: u64,
    #[prost(message, optional, tag = "2")]
    pub leader: Option<Peer>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct EpochNotMatch {
    #[prost(message, repeated, tag = "1")]
    pub current_regions: Vec<Region>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ServerIsBusy {
    #[prost(string, tag = "1")]
    pub reason: String,
    #[prost(uint64, tag = "2")]
    pub backoff_ms: u64,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct RaftEntryTooLarge {
    #[prost(uint64, tag = "1")]
    pub region_id: u64,
    #[prost(uint64, tag = "2")]
    pub entry_size: u64,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct DiskFull {
    #[prost(uint64, repeated, tag = "1")]
    pub store_id: Vec<u64>,
    #[prost(string, tag = "2")]
    pub reason: String,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct UndeterminedResult {
    #[prost(string, tag = "1")]
    pub message: String,
}

/// A message of which only the presence counts.
#[derive(Clone, Copy, PartialEq, Eq, ::prost::Message)]
pub struct Present {}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Error {
    #[prost(string, tag = "1")]
    pub message: String,
    #[prost(message, optional, tag = "2")]
    pub not_leader: Option<NotLeader>,
    #[prost(message, optional, tag = "3")]
    pub region_not_found: Option<Present>,
    #[prost(message, optional, tag = "4")]
    pub key_not_in_region: Option<Present>,
    #[prost(message, optional, tag = "5")]
    pub epoch_not_match: Option<EpochNotMatch>,
    #[prost(message, optional, tag = "6")]
    pub server_is_busy: Option<ServerIsBusy>,
    #[prost(message, optional, tag = "7")]
    pub stale_command: Option<Present>,
    #[prost(message, optional, tag = "8")]
    pub store_not_match: Option<Present>,
    #[prost(message, optional, tag = "9")]
    pub raft_entry_too_large: Option<RaftEntryTooLarge>,
    #[prost(message, optional, tag = "15")]
    pub disk_full: Option<DiskFull>,
    #[prost(message, optional, tag = "17")]
    pub flashback_in_progress: Option<Present>,
    #[prost(message, optional, tag = "20")]
    pub mismatch_peer_id: Option<Present>,
    #[prost(message, optional, tag = "22")]
    pub undetermined_result: Option<UndeterminedResult>,
}
