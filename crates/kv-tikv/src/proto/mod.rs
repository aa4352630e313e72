//! The messages of TiKV's and PD's public gRPC interface: the part this crate needs, defined by hand.
//!
//! Field numbers are the public ones (kvproto, etcd), with which `tests/tikv-stand-in/internal/protocol` compares them; fields
//! that nobody reads are left out, which protobuf allows. Written as Rust structures because that needs no compiler for
//! `.proto` files at build time, and because the batch stream can then carry its commands as bytes: they are encoded and
//! decoded by the threads that ask, not by the one that sends.

pub mod errorpb;
pub mod etcdserverpb;
pub mod keyspacepb;
pub mod kvrpcpb;
pub mod metapb;
pub mod mvccpb;
pub mod pdpb;
pub mod tikvpb;
