//! kv-rocksdb
