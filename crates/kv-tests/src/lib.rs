//! kv-tests
