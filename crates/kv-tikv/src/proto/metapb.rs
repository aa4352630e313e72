//! Regions, peers and stores.

use bytes::Bytes;

#[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
pub struct RegionEpoch {
    #[prost(uint64, tag = "1")]
    pub conf_ver: u64,
    #[prost(uint64, tag = "2")]
    pub version: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
pub struct Peer {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(uint64, tag = "2")]
    pub store_id: u64,
    /// 0: a voter; see [`ROLE_LEARNER`].
    #[prost(int32, tag = "3")]
    pub role: i32,
    #[prost(bool, tag = "4")]
    pub is_witness: bool,
}

/// A peer that never leads.
pub const ROLE_LEARNER: i32 = 1;

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Region {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(bytes = "bytes", tag = "2")]
    pub start_key: Bytes,
    #[prost(bytes = "bytes", tag = "3")]
    pub end_key: Bytes,
    #[prost(message, optional, tag = "4")]
    pub region_epoch: Option<RegionEpoch>,
    #[prost(message, repeated, tag = "5")]
    pub peers: Vec<Peer>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct StoreLabel {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Store {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(string, tag = "2")]
    pub address: String,
    /// See [`STATE_TOMBSTONE`].
    #[prost(int32, tag = "3")]
    pub state: i32,
    #[prost(message, repeated, tag = "4")]
    pub labels: Vec<StoreLabel>,
}

/// A store that is gone for good.
pub const STATE_TOMBSTONE: i32 = 2;
