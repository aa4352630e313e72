//! The computations of authentication, for both plugins: the stored form, the data sent, and how they are
//! compared.
//!
//! - [`native`]: `mysql_native_password` (SHA-1).
//! - [`caching_sha2`]: `caching_sha2_password`: the fast scramble, and the stored form, a salted SHA-crypt.
//! - [`Nonce`]: 20 random bytes, new for each attempt.
//!
//! Not here: the packet exchange, the cache and the RSA key (`server`), and which accounts exist
//! (`accounts`). All comparisons of secrets take constant time.

pub mod caching_sha2;
pub mod native;
mod nonce;
mod sha256_crypt;

pub use nonce::{Nonce, random_password};

/// The plugins' names, as in `mysql.user`.
pub const CACHING_SHA2_PASSWORD: &str = "caching_sha2_password";
pub const MYSQL_NATIVE_PASSWORD: &str = "mysql_native_password";
