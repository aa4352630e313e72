//! The computations of authentication: the stored form, the data sent, and how they are compared, for each
//! [`Plugin`].
//!
//! - [`native`]: `mysql_native_password` (SHA-1).
//! - [`caching_sha2`]: `caching_sha2_password`: the fast scramble, and the stored form, a salted SHA-crypt.
//! - [`sha256`]: `sha256_password`: another stored form of the same hash, and the password itself sent each time.
//! - [`Nonce`]: 20 random bytes, new for each attempt.
//!
//! Not here: the packet exchange, the cache and the RSA key (`server`), and which accounts exist
//! (`accounts`). All comparisons of secrets take constant time.

pub mod caching_sha2;
pub mod native;
mod nonce;
pub mod sha256;
mod sha256_crypt;

pub use nonce::{Nonce, random_password};

/// The plugins' names, as in `mysql.user`.
pub const CACHING_SHA2_PASSWORD: &str = "caching_sha2_password";
pub const MYSQL_NATIVE_PASSWORD: &str = "mysql_native_password";
pub const SHA256_PASSWORD: &str = "sha256_password";

/// How an account's password is stored, and how a client proves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plugin {
    CachingSha2,
    Native,
    Sha256,
}

impl Plugin {
    const ALL: [Self; 3] = [Self::CachingSha2, Self::Native, Self::Sha256];

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|plugin| plugin.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::CachingSha2 => CACHING_SHA2_PASSWORD,
            Self::Native => MYSQL_NATIVE_PASSWORD,
            Self::Sha256 => SHA256_PASSWORD,
        }
    }

    /// The stored form of a new password; empty for the empty one.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn stored(self, password: &[u8]) -> std::io::Result<String> {
        match self {
            Self::CachingSha2 => caching_sha2::stored(password),
            Self::Native => Ok(native::stored(password)),
            Self::Sha256 => sha256::stored(password),
        }
    }

    /// Whether a text has the form of [`Plugin::stored`].
    pub fn is_stored_form(self, stored: &str) -> bool {
        match self {
            Self::CachingSha2 => caching_sha2::is_stored_form(stored),
            Self::Native => native::is_stored_form(stored),
            Self::Sha256 => sha256::is_stored_form(stored),
        }
    }

    /// Whether `stored` was made from `password`.
    pub fn verify_password(self, stored: &str, password: &[u8]) -> bool {
        match self {
            Self::CachingSha2 => caching_sha2::verify_password(stored, password),
            Self::Native => native::stored(password).eq_ignore_ascii_case(stored),
            Self::Sha256 => sha256::verify_password(stored, password),
        }
    }
}
