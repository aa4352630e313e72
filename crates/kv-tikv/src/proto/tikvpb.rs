//! The stream that carries the commands of all threads to one store.

use bytes::Bytes;

/// The public message, with its commands already encoded. A length-delimited field has the same bytes
/// whether it is declared as a message or as bytes.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct BatchCommandsRequest {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub requests: Vec<Bytes>,
    #[prost(uint64, repeated, tag = "2")]
    pub request_ids: Vec<u64>,
}

/// See [`BatchCommandsRequest`].
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct BatchCommandsResponse {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub responses: Vec<Bytes>,
    #[prost(uint64, repeated, tag = "2")]
    pub request_ids: Vec<u64>,
}
