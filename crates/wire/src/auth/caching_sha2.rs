//! `caching_sha2_password`: stored as a salted hash that is slow to compute, proved by a fast one.
//!
//! Stored: `$A$005$`, 20 bytes of salt and 43 characters of SHA-crypt with 5,000 rounds (`005` counts
//! thousands, in hexadecimal). The fast path compares the client's scramble `SHA256(password) XOR
//! SHA256(SHA256(SHA256(password)) + nonce)` with what the server has cached, `SHA256(SHA256(password))`;
//! the first login of a user therefore takes the full path, in which the password itself travels through
//! TLS, the socket or RSA.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_caching_sha2_authentication_exchanges.html>

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::nonce::fill_salt;
use super::{Nonce, sha256_crypt};

const SALT_BYTES: usize = 20;
/// Default of `caching_sha2_password_digest_rounds`.
const ROUNDS_DEFAULT: u32 = 5000;
const ROUNDS_PER_UNIT: u32 = 1000;
/// Longer passwords are refused by MySQL's full authentication.
pub const PASSWORD_BYTES_MAX: usize = 256;

/// The value that the fast path needs: `SHA256(SHA256(password))`. A client that has it can log in, so it is
/// never stored on disk.
#[derive(Clone, PartialEq, Eq)]
pub struct CachedDigest([u8; 32]);

impl CachedDigest {
    pub fn of(password: &[u8]) -> Self {
        Self(Sha256::digest(Sha256::digest(password)).into())
    }

    /// Whether `scramble` proves the password.
    pub fn verify(&self, scramble: &[u8], nonce: &Nonce) -> bool {
        if scramble.len() != 32 {
            return false;
        }
        let once = xor_with_mask(scramble, &self.0, nonce);
        bool::from(Sha256::digest(once).as_slice().ct_eq(&self.0))
    }
}

impl std::fmt::Debug for CachedDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CachedDigest(..)")
    }
}

fn xor_with_mask(bytes: &[u8], twice: &[u8], nonce: &Nonce) -> Vec<u8> {
    let mask = Sha256::new()
        .chain_update(twice)
        .chain_update(nonce.as_bytes())
        .finalize();
    bytes.iter().zip(mask).map(|(byte, mask)| byte ^ mask).collect()
}

/// The client's first data: empty for the empty password.
pub fn scramble(password: &[u8], nonce: &Nonce) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = Sha256::digest(password);
    xor_with_mask(&once, &Sha256::digest(once), nonce)
}

/// The stored form of a new password: 70 characters, or empty for the empty password. Takes some
/// milliseconds.
pub fn stored(password: &[u8]) -> std::io::Result<String> {
    if password.is_empty() {
        return Ok(String::new());
    }
    let mut salt = [0; SALT_BYTES];
    fill_salt(&mut salt)?;
    Ok(format_stored(password, &salt, ROUNDS_DEFAULT))
}

fn format_stored(password: &[u8], salt: &[u8], rounds: u32) -> String {
    let digest = sha256_crypt::digest(password, salt, rounds);
    // The salt is 7-bit by construction.
    format!(
        "$A${:03X}${}{digest}",
        rounds / ROUNDS_PER_UNIT,
        String::from_utf8_lossy(salt)
    )
}

struct Stored<'a> {
    rounds: u32,
    salt: &'a [u8],
    digest: &'a [u8],
}

fn parse(stored: &str) -> Option<Stored<'_>> {
    let rest = stored.strip_prefix("$A$")?.as_bytes();
    let (rounds, rest) = rest.split_at_checked(3)?;
    let (dollar, rest) = rest.split_first()?;
    let (salt, digest) = rest.split_at_checked(SALT_BYTES)?;
    let rounds = u32::from_str_radix(std::str::from_utf8(rounds).ok()?, 16).ok()? * ROUNDS_PER_UNIT;
    (*dollar == b'$' && rounds > 0 && digest.len() == sha256_crypt::TEXT_BYTES).then_some(Stored {
        rounds,
        salt,
        digest,
    })
}

/// Whether `stored` has the form that [`stored`] returns.
pub fn is_stored_form(stored: &str) -> bool {
    stored.is_empty() || parse(stored).is_some()
}

/// Full authentication: whether `stored` was made from `password`. Takes some milliseconds.
pub fn verify_password(stored: &str, password: &[u8]) -> bool {
    if stored.is_empty() || password.is_empty() {
        return stored.is_empty() && password.is_empty();
    }
    let Some(parsed) = parse(stored) else {
        return false;
    };
    if password.len() > PASSWORD_BYTES_MAX {
        return false;
    }
    let digest = sha256_crypt::digest(password, parsed.salt, parsed.rounds);
    bool::from(digest.as_bytes().ct_eq(parsed.digest))
}

/// Removes the nonce from a password that was encrypted with RSA: the password is XORed with the nonce, and
/// ends with a zero byte.
pub fn unmask_password(masked: &mut Vec<u8>, nonce: &Nonce) -> bool {
    for (byte, mask) in masked.iter_mut().zip(nonce.as_bytes().iter().cycle()) {
        *byte ^= mask;
    }
    masked.pop() == Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_has_mysqls_form_and_verifies() {
        let text = stored(b"secret").unwrap();
        assert_eq!(text.len(), 70);
        assert!(text.starts_with("$A$005$"));
        assert!(is_stored_form(&text));
        assert!(verify_password(&text, b"secret"));
        assert!(!verify_password(&text, b"Secret"));
        assert!(!verify_password(&text, b""));
        assert_ne!(stored(b"secret").unwrap(), text);
    }

    #[test]
    fn a_password_that_mysql_stored() {
        // CREATE USER .. IDENTIFIED WITH caching_sha2_password BY 'secret' on MySQL 8.0.33.
        let text =
            "$A$005$\x13OW\x0eeYE\x18\x16\x1f\x0a2#)q ]:k\x1a5jlVbGKMivnrVdP5KMWiHciPGrLGAL7gdtBu8ZhQ5v6";
        assert!(verify_password(text, b"secret"));
        assert!(!verify_password(text, b"secret2"));
    }

    #[test]
    fn damaged_stored_forms_never_match_and_never_panic() {
        for text in [
            "$A$",
            "$A$005",
            "$A$005$short",
            "$A$ZZZ$0123456789012345678901234567890",
            "*ABC",
            "$A$€",
        ] {
            assert!(!is_stored_form(text), "{text}");
            assert!(!verify_password(text, b"x"));
        }
    }

    #[test]
    fn fast_path() {
        let nonce = Nonce::from_bytes(*b"abcdefghijklmnopqrst");
        let cached = CachedDigest::of(b"secret");
        assert!(cached.verify(&scramble(b"secret", &nonce), &nonce));
        assert!(!cached.verify(&scramble(b"secreT", &nonce), &nonce));
        assert!(!cached.verify(&scramble(b"secret", &Nonce::from_bytes([1; 20])), &nonce));
        assert!(!cached.verify(b"", &nonce));
    }

    #[test]
    fn masked_passwords() {
        let nonce = Nonce::from_bytes([7; 20]);
        let mut masked: Vec<u8> = b"a long password, longer than twenty\0"
            .iter()
            .map(|b| b ^ 7)
            .collect();
        assert!(unmask_password(&mut masked, &nonce));
        assert_eq!(masked, b"a long password, longer than twenty");
        assert!(!unmask_password(&mut vec![1], &nonce));
    }
}
