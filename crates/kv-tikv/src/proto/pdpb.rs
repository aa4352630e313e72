//! PD's messages: timestamps, regions, safe points.

use super::metapb;
use bytes::Bytes;

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct RequestHeader {
    #[prost(uint64, tag = "1")]
    pub cluster_id: u64,
    #[prost(string, tag = "4")]
    pub caller_component: String,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ResponseHeader {
    #[prost(uint64, tag = "1")]
    pub cluster_id: u64,
    #[prost(message, optional, tag = "2")]
    pub error: Option<Error>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Error {
    /// 0: none.
    #[prost(int32, tag = "1")]
    pub r#type: i32,
    #[prost(string, tag = "2")]
    pub message: String,
}

/// The keyspace asked for does not exist.
pub const ENTRY_NOT_FOUND: i32 = 9;

/// No region contains the key, or none that PD knows.
pub const REGION_NOT_FOUND: i32 = 6;

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct TsoRequest {
    #[prost(message, optional, tag = "1")]
    pub header: Option<RequestHeader>,
    #[prost(uint32, tag = "2")]
    pub count: u32,
    #[prost(string, tag = "3")]
    pub dc_location: String,
}

#[derive(Clone, Copy, PartialEq, Eq, ::prost::Message)]
pub struct Timestamp {
    /// Milliseconds.
    #[prost(int64, tag = "1")]
    pub physical: i64,
    #[prost(int64, tag = "2")]
    pub logical: i64,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct TsoResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(uint32, tag = "2")]
    pub count: u32,
    /// The last of `count`.
    #[prost(message, optional, tag = "3")]
    pub timestamp: Option<Timestamp>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Member {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(uint64, tag = "2")]
    pub member_id: u64,
    #[prost(string, repeated, tag = "4")]
    pub client_urls: Vec<String>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct GetMembersRequest {
    #[prost(message, optional, tag = "1")]
    pub header: Option<RequestHeader>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct GetMembersResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(message, repeated, tag = "2")]
    pub members: Vec<Member>,
    #[prost(message, optional, tag = "3")]
    pub leader: Option<Member>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct GetRegionRequest {
    #[prost(message, optional, tag = "1")]
    pub header: Option<RequestHeader>,
    #[prost(bytes = "vec", tag = "2")]
    pub region_key: Vec<u8>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct GetRegionResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(message, optional, tag = "2")]
    pub region: Option<metapb::Region>,
    #[prost(message, optional, tag = "3")]
    pub leader: Option<metapb::Peer>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ScanRegionsRequest {
    #[prost(message, optional, tag = "1")]
    pub header: Option<RequestHeader>,
    #[prost(bytes = "vec", tag = "2")]
    pub start_key: Vec<u8>,
    #[prost(int32, tag = "3")]
    pub limit: i32,
    #[prost(bytes = "vec", tag = "4")]
    pub end_key: Vec<u8>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Region {
    #[prost(message, optional, tag = "1")]
    pub region: Option<metapb::Region>,
    #[prost(message, optional, tag = "2")]
    pub leader: Option<metapb::Peer>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ScanRegionsResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(message, repeated, tag = "4")]
    pub regions: Vec<Region>,
}

/// Asks PD to place a region where it balances the load.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ScatterRegionRequest {
    #[prost(message, optional, tag = "1")]
    pub header: Option<RequestHeader>,
    #[prost(uint64, tag = "2")]
    pub region_id: u64,
    /// For a region so new that it has not reported to PD yet.
    #[prost(message, optional, tag = "3")]
    pub region: Option<metapb::Region>,
    #[prost(message, optional, tag = "4")]
    pub leader: Option<metapb::Peer>,
    /// The regions of one group are spread evenly among the stores.
    #[prost(string, tag = "5")]
    pub group: String,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ScatterRegionResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
}

/// Asks what PD is doing with a region.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct GetOperatorRequest {
    #[prost(message, optional, tag = "1")]
    pub header: Option<RequestHeader>,
    #[prost(uint64, tag = "2")]
    pub region_id: u64,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct GetOperatorResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(bytes = "bytes", tag = "3")]
    pub desc: Bytes,
    /// See [`OPERATOR_RUNNING`].
    #[prost(int32, tag = "4")]
    pub status: i32,
}

pub const OPERATOR_RUNNING: i32 = 4;

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct GetStoreRequest {
    #[prost(message, optional, tag = "1")]
    pub header: Option<RequestHeader>,
    #[prost(uint64, tag = "2")]
    pub store_id: u64,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct GetStoreResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(message, optional, tag = "2")]
    pub store: Option<metapb::Store>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct GetAllStoresRequest {
    #[prost(message, optional, tag = "1")]
    pub header: Option<RequestHeader>,
    #[prost(bool, tag = "2")]
    pub exclude_tombstone_stores: bool,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct GetAllStoresResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(message, repeated, tag = "2")]
    pub stores: Vec<metapb::Store>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct GetGcSafePointRequest {
    #[prost(message, optional, tag = "1")]
    pub header: Option<RequestHeader>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct GetGcSafePointResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(uint64, tag = "2")]
    pub safe_point: u64,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct UpdateGcSafePointRequest {
    #[prost(message, optional, tag = "1")]
    pub header: Option<RequestHeader>,
    #[prost(uint64, tag = "2")]
    pub safe_point: u64,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct UpdateGcSafePointResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(uint64, tag = "2")]
    pub new_safe_point: u64,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct UpdateServiceGcSafePointRequest {
    #[prost(message, optional, tag = "1")]
    pub header: Option<RequestHeader>,
    #[prost(bytes = "vec", tag = "2")]
    pub service_id: Vec<u8>,
    /// Seconds; 0 or less removes the service.
    #[prost(int64, tag = "3")]
    pub ttl: i64,
    #[prost(uint64, tag = "4")]
    pub safe_point: u64,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct UpdateServiceGcSafePointResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(bytes = "bytes", tag = "2")]
    pub service_id: Bytes,
    #[prost(int64, tag = "3")]
    pub ttl: i64,
    /// The smallest over all services.
    #[prost(uint64, tag = "4")]
    pub min_safe_point: u64,
}
