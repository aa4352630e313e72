//! Programs that a store runs over its data.

use super::errorpb;
use super::kvrpcpb;
use bytes::Bytes;

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct KeyRange {
    #[prost(bytes = "vec", tag = "1")]
    pub start: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub end: Vec<u8>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Request {
    #[prost(message, optional, tag = "1")]
    pub context: Option<kvrpcpb::Context>,
    /// See [`DAG`].
    #[prost(int64, tag = "2")]
    pub tp: i64,
    #[prost(bytes = "bytes", tag = "3")]
    pub data: Bytes,
    #[prost(message, repeated, tag = "4")]
    pub ranges: Vec<KeyRange>,
    #[prost(uint64, tag = "7")]
    pub start_ts: u64,
    /// 0: the response is whole.
    #[prost(uint64, tag = "10")]
    pub paging_size: u64,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Response {
    #[prost(bytes = "bytes", tag = "1")]
    pub data: Bytes,
    #[prost(message, optional, tag = "2")]
    pub region_error: Option<errorpb::Error>,
    #[prost(message, optional, tag = "3")]
    pub locked: Option<kvrpcpb::LockInfo>,
    #[prost(string, tag = "4")]
    pub other_error: String,
    /// With a paging size: what has been read so far. None: all of it.
    #[prost(message, optional, tag = "5")]
    pub range: Option<KeyRange>,
}

/// The type of request whose data is a `tipb.DAGRequest`.
pub const DAG: i64 = 103;
