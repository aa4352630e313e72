//! The messages of TiKV's and PD's public gRPC interfaces, as far as this crate uses them, written by hand.
//!
//! Field numbers are those of kvproto and etcd; a test in `tests/tikv-stand-in/internal/protocol` compares
//! them. Fields that we do not read are left out, which protobuf allows. The messages are Rust structures
//! for two reasons: the build needs no compiler for `.proto` files, and the batch stream can carry its
//! commands as bytes, so that the calling threads encode and decode them, not the sending one.

pub mod coprocessor;
pub mod errorpb;
pub mod etcdserverpb;
pub mod keyspacepb;
pub mod kvrpcpb;
pub mod metapb;
pub mod mvccpb;
pub mod pdpb;
pub mod tikvpb;
