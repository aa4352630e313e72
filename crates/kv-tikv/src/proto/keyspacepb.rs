//! Keyspaces: separate databases within one cluster.

use super::pdpb::{RequestHeader, ResponseHeader};

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct LoadKeyspaceRequest {
    #[prost(message, optional, tag = "1")]
    pub header: Option<RequestHeader>,
    #[prost(string, tag = "2")]
    pub name: String,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct KeyspaceMeta {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(string, tag = "2")]
    pub name: String,
    /// 0: enabled.
    #[prost(int32, tag = "3")]
    pub state: i32,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct LoadKeyspaceResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(message, optional, tag = "2")]
    pub keyspace: Option<KeyspaceMeta>,
}
