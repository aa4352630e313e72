//! The arithmetic of authentication, for both plugins: what is stored, what travels, how the two are compared.
//!
//! - [`native`]: `mysql_native_password` (SHA-1).
//! - [`caching_sha2`]: `caching_sha2_password`: the fast scramble and what is stored, a salted SHA-crypt.
//! - [`Nonce`]: 20 random bytes, new for each attempt.
//!
//! Not here: the exchange itself, the cache and the RSA key (`server`); who may log in (`session`, `catalog`).
//! All comparisons of secrets take the same time whatever differs.

pub mod caching_sha2;
pub mod native;
mod nonce;
mod sha256_crypt;

pub use nonce::Nonce;

/// The plugins' names, as in `mysql.user`.
pub const CACHING_SHA2_PASSWORD: &str = "caching_sha2_password";
pub const MYSQL_NATIVE_PASSWORD: &str = "mysql_native_password";
