//! The transactional commands of a store.
//!
//! Bytes in requests are owned vectors. Bytes in responses point into the received message.

use super::errorpb;
use super::metapb::{self, Peer, RegionEpoch};
use bytes::Bytes;

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Context {
    #[prost(uint64, tag = "1")]
    pub region_id: u64,
    #[prost(message, optional, tag = "2")]
    pub region_epoch: Option<RegionEpoch>,
    #[prost(message, optional, tag = "3")]
    pub peer: Option<Peer>,
    #[prost(bool, tag = "8")]
    pub not_fill_cache: bool,
    /// Transactions whose locks a read may ignore: they will commit at a later timestamp than the read's.
    #[prost(uint64, repeated, tag = "13")]
    pub resolved_locks: Vec<u64>,
    #[prost(uint64, tag = "14")]
    pub max_execution_duration_ms: u64,
    #[prost(bool, tag = "20")]
    pub is_retry_request: bool,
    /// See [`API_V2`].
    #[prost(int32, tag = "21")]
    pub api_version: i32,
    /// Transactions whose locks a read may treat as versions: they have committed at or before its
    /// timestamp.
    #[prost(uint64, repeated, tag = "22")]
    pub committed_locks: Vec<u64>,
    #[prost(string, tag = "24")]
    pub request_source: String,
    #[prost(uint32, tag = "32")]
    pub keyspace_id: u32,
}

/// Keys begin with a mode byte and a keyspace.
pub const API_V2: i32 = 2;

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct LockInfo {
    #[prost(bytes = "bytes", tag = "1")]
    pub primary_lock: Bytes,
    /// The start timestamp of the transaction that holds it.
    #[prost(uint64, tag = "2")]
    pub lock_version: u64,
    #[prost(bytes = "bytes", tag = "3")]
    pub key: Bytes,
    /// Milliseconds since the start timestamp.
    #[prost(uint64, tag = "4")]
    pub lock_ttl: u64,
    /// How many keys the transaction has written, as far as the lock's writer knew.
    #[prost(uint64, tag = "5")]
    pub txn_size: u64,
    #[prost(int32, tag = "6")]
    pub lock_type: i32,
    #[prost(uint64, tag = "7")]
    pub lock_for_update_ts: u64,
    #[prost(bool, tag = "8")]
    pub use_async_commit: bool,
    #[prost(uint64, tag = "9")]
    pub min_commit_ts: u64,
    #[prost(bytes = "vec", repeated, tag = "10")]
    pub secondaries: Vec<Vec<u8>>,
}

/// Kinds of mutations and locks.
pub mod op {
    pub const PUT: i32 = 0;
    pub const DELETE: i32 = 1;
    pub const LOCK: i32 = 2;
    /// A put that fails if the key exists.
    pub const INSERT: i32 = 4;
    pub const PESSIMISTIC_LOCK: i32 = 5;
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct WriteConflict {
    #[prost(uint64, tag = "1")]
    pub start_ts: u64,
    #[prost(uint64, tag = "2")]
    pub conflict_ts: u64,
    #[prost(bytes = "bytes", tag = "3")]
    pub key: Bytes,
    #[prost(uint64, tag = "5")]
    pub conflict_commit_ts: u64,
    /// See [`SELF_ROLLED_BACK`].
    #[prost(int32, tag = "6")]
    pub reason: i32,
}

/// The transaction has been rolled back, by another one.
pub const SELF_ROLLED_BACK: i32 = 3;

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Deadlock {
    #[prost(uint64, tag = "1")]
    pub lock_ts: u64,
    #[prost(bytes = "bytes", tag = "2")]
    pub lock_key: Bytes,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct CommitTsExpired {
    #[prost(uint64, tag = "1")]
    pub start_ts: u64,
    #[prost(uint64, tag = "4")]
    pub min_commit_ts: u64,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct KeyError {
    #[prost(message, optional, tag = "1")]
    pub locked: Option<LockInfo>,
    #[prost(string, tag = "2")]
    pub retryable: String,
    #[prost(string, tag = "3")]
    pub abort: String,
    #[prost(message, optional, tag = "4")]
    pub conflict: Option<WriteConflict>,
    #[prost(message, optional, tag = "5")]
    pub already_exist: Option<errorpb::Present>,
    #[prost(message, optional, tag = "6")]
    pub deadlock: Option<Deadlock>,
    #[prost(message, optional, tag = "7")]
    pub commit_ts_expired: Option<CommitTsExpired>,
    #[prost(message, optional, tag = "8")]
    pub txn_not_found: Option<errorpb::Present>,
    #[prost(message, optional, tag = "9")]
    pub commit_ts_too_large: Option<errorpb::Present>,
    #[prost(message, optional, tag = "11")]
    pub primary_mismatch: Option<errorpb::Present>,
    #[prost(message, optional, tag = "12")]
    pub txn_lock_not_found: Option<errorpb::Present>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct KvPair {
    #[prost(message, optional, tag = "1")]
    pub error: Option<KeyError>,
    #[prost(bytes = "bytes", tag = "2")]
    pub key: Bytes,
    #[prost(bytes = "bytes", tag = "3")]
    pub value: Bytes,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct GetRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(bytes = "vec", tag = "2")]
    pub key: Vec<u8>,
    #[prost(uint64, tag = "3")]
    pub version: u64,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct GetResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(message, optional, tag = "2")]
    pub error: Option<KeyError>,
    #[prost(bytes = "bytes", tag = "3")]
    pub value: Bytes,
    #[prost(bool, tag = "4")]
    pub not_found: bool,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct BatchGetRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub keys: Vec<Vec<u8>>,
    #[prost(uint64, tag = "3")]
    pub version: u64,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct BatchGetResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    /// Keys that do not exist are left out.
    #[prost(message, repeated, tag = "2")]
    pub pairs: Vec<KvPair>,
    #[prost(message, optional, tag = "5")]
    pub error: Option<KeyError>,
}

/// Forward: `start_key <= key < end_key`. Reverse: the bounds change places, `end_key <= key < start_key`.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ScanRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(bytes = "vec", tag = "2")]
    pub start_key: Vec<u8>,
    #[prost(uint32, tag = "3")]
    pub limit: u32,
    #[prost(uint64, tag = "4")]
    pub version: u64,
    #[prost(bool, tag = "5")]
    pub key_only: bool,
    #[prost(bool, tag = "6")]
    pub reverse: bool,
    #[prost(bytes = "vec", tag = "7")]
    pub end_key: Vec<u8>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ScanResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(message, repeated, tag = "2")]
    pub pairs: Vec<KvPair>,
    #[prost(message, optional, tag = "3")]
    pub error: Option<KeyError>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Mutation {
    #[prost(int32, tag = "1")]
    pub op: i32,
    #[prost(bytes = "vec", tag = "2")]
    pub key: Vec<u8>,
    #[prost(bytes = "bytes", tag = "3")]
    pub value: Bytes,
}

/// What a prewrite checks for a key of a pessimistic transaction.
pub mod pessimistic_action {
    /// The transaction holds the key's pessimistic lock.
    pub const DO_PESSIMISTIC_CHECK: i32 = 1;
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct PrewriteRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(message, repeated, tag = "2")]
    pub mutations: Vec<Mutation>,
    #[prost(bytes = "vec", tag = "3")]
    pub primary_lock: Vec<u8>,
    #[prost(uint64, tag = "4")]
    pub start_version: u64,
    #[prost(uint64, tag = "5")]
    pub lock_ttl: u64,
    /// One per mutation. Empty for an optimistic transaction.
    #[prost(int32, repeated, tag = "7")]
    pub pessimistic_actions: Vec<i32>,
    #[prost(uint64, tag = "8")]
    pub txn_size: u64,
    #[prost(uint64, tag = "9")]
    pub for_update_ts: u64,
    #[prost(uint64, tag = "10")]
    pub min_commit_ts: u64,
    #[prost(bool, tag = "13")]
    pub try_one_pc: bool,
    #[prost(uint64, tag = "14")]
    pub max_commit_ts: u64,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct PrewriteResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(message, repeated, tag = "2")]
    pub errors: Vec<KeyError>,
    #[prost(uint64, tag = "3")]
    pub min_commit_ts: u64,
    /// 0: the keys are prewritten only.
    #[prost(uint64, tag = "4")]
    pub one_pc_commit_ts: u64,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct PessimisticLockRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(message, repeated, tag = "2")]
    pub mutations: Vec<Mutation>,
    #[prost(bytes = "vec", tag = "3")]
    pub primary_lock: Vec<u8>,
    #[prost(uint64, tag = "4")]
    pub start_version: u64,
    #[prost(uint64, tag = "5")]
    pub lock_ttl: u64,
    #[prost(uint64, tag = "6")]
    pub for_update_ts: u64,
    #[prost(bool, tag = "7")]
    pub is_first_lock: bool,
    /// Milliseconds; see [`NO_WAIT`].
    #[prost(int64, tag = "8")]
    pub wait_timeout: i64,
    #[prost(bool, tag = "10")]
    pub return_values: bool,
    #[prost(uint64, tag = "11")]
    pub min_commit_ts: u64,
}

/// A lock request that fails at once. 0 would be the store's default.
pub const NO_WAIT: i64 = -1;

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct PessimisticLockResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(message, repeated, tag = "2")]
    pub errors: Vec<KeyError>,
    #[prost(bytes = "bytes", repeated, tag = "5")]
    pub values: Vec<Bytes>,
    #[prost(bool, repeated, tag = "6")]
    pub not_founds: Vec<bool>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct PessimisticRollbackRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(uint64, tag = "2")]
    pub start_version: u64,
    /// Locks taken at a later timestamp are not released.
    #[prost(uint64, tag = "3")]
    pub for_update_ts: u64,
    #[prost(bytes = "vec", repeated, tag = "4")]
    pub keys: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct PessimisticRollbackResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(message, repeated, tag = "2")]
    pub errors: Vec<KeyError>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct TxnHeartBeatRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(bytes = "vec", tag = "2")]
    pub primary_lock: Vec<u8>,
    #[prost(uint64, tag = "3")]
    pub start_version: u64,
    #[prost(uint64, tag = "4")]
    pub advise_lock_ttl: u64,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct TxnHeartBeatResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(message, optional, tag = "2")]
    pub error: Option<KeyError>,
    #[prost(uint64, tag = "3")]
    pub lock_ttl: u64,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct CheckTxnStatusRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(bytes = "vec", tag = "2")]
    pub primary_key: Vec<u8>,
    #[prost(uint64, tag = "3")]
    pub lock_ts: u64,
    /// The reader's timestamp: the transaction is asked to commit after it. With 0, nothing is asked. With
    /// the largest value nothing is asked either, and the response says that a running transaction will
    /// commit later.
    #[prost(uint64, tag = "4")]
    pub caller_start_ts: u64,
    /// Decides whether the lock has expired.
    #[prost(uint64, tag = "5")]
    pub current_ts: u64,
    #[prost(bool, tag = "6")]
    pub rollback_if_not_exist: bool,
    #[prost(bool, tag = "7")]
    pub force_sync_commit: bool,
    #[prost(bool, tag = "8")]
    pub resolving_pessimistic_lock: bool,
    /// Fail with `primary_mismatch` if the lock found there names another primary.
    #[prost(bool, tag = "9")]
    pub verify_is_primary: bool,
}

/// What a check of a transaction's primary lock has done.
pub mod action {
    pub const MIN_COMMIT_TS_PUSHED: i32 = 3;
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct CheckTxnStatusResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(message, optional, tag = "2")]
    pub error: Option<KeyError>,
    /// Not 0: the transaction is running.
    #[prost(uint64, tag = "3")]
    pub lock_ttl: u64,
    /// Not 0: the transaction is committed. 0, and no time to live: rolled back.
    #[prost(uint64, tag = "4")]
    pub commit_version: u64,
    #[prost(int32, tag = "5")]
    pub action: i32,
    /// The primary's lock, if it is there.
    #[prost(message, optional, tag = "6")]
    pub lock_info: Option<LockInfo>,
}

/// Asks whether a transaction that commits asynchronously has prewritten some of its keys. A key without a
/// prewrite is rolled back, so that it never will be prewritten.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct CheckSecondaryLocksRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub keys: Vec<Vec<u8>>,
    #[prost(uint64, tag = "3")]
    pub start_version: u64,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct CheckSecondaryLocksResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(message, optional, tag = "2")]
    pub error: Option<KeyError>,
    /// One per requested key; fewer if the outcome is decided.
    #[prost(message, repeated, tag = "3")]
    pub locks: Vec<LockInfo>,
    /// Not 0: the transaction is committed.
    #[prost(uint64, tag = "4")]
    pub commit_ts: u64,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct CommitRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(uint64, tag = "2")]
    pub start_version: u64,
    #[prost(bytes = "vec", repeated, tag = "3")]
    pub keys: Vec<Vec<u8>>,
    #[prost(uint64, tag = "4")]
    pub commit_version: u64,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct CommitResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(message, optional, tag = "2")]
    pub error: Option<KeyError>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct BatchRollbackRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(uint64, tag = "2")]
    pub start_version: u64,
    #[prost(bytes = "vec", repeated, tag = "3")]
    pub keys: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct BatchRollbackResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(message, optional, tag = "2")]
    pub error: Option<KeyError>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ScanLockRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(uint64, tag = "2")]
    pub max_version: u64,
    #[prost(bytes = "vec", tag = "3")]
    pub start_key: Vec<u8>,
    #[prost(uint32, tag = "4")]
    pub limit: u32,
    #[prost(bytes = "vec", tag = "5")]
    pub end_key: Vec<u8>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ScanLockResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(message, optional, tag = "2")]
    pub error: Option<KeyError>,
    #[prost(message, repeated, tag = "3")]
    pub locks: Vec<LockInfo>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ResolveLockRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(uint64, tag = "2")]
    pub start_version: u64,
    /// 0: rolled back.
    #[prost(uint64, tag = "3")]
    pub commit_version: u64,
    /// Empty: all locks of the transaction in the region.
    #[prost(bytes = "vec", repeated, tag = "5")]
    pub keys: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ResolveLockResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(message, optional, tag = "2")]
    pub error: Option<KeyError>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct SplitRegionRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    /// Raw keys, not memory-comparable encoded ones.
    #[prost(bytes = "vec", repeated, tag = "3")]
    pub split_keys: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct SplitRegionResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    /// The region's parts, in order. The last one has the old region's id.
    #[prost(message, repeated, tag = "4")]
    pub regions: Vec<metapb::Region>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct UnsafeDestroyRangeRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(bytes = "vec", tag = "2")]
    pub start_key: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    pub end_key: Vec<u8>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct UnsafeDestroyRangeResponse {
    #[prost(string, tag = "2")]
    pub error: String,
}
