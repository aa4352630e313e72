//! `sha256_password`: the client sends the password itself at each login, through TLS, the socket or RSA.
//!
//! Stored: `$5$`, 20 bytes of salt, `$` and 43 characters of SHA-crypt with 5,000 rounds. The dialogue has no
//! fast path, so `caching_sha2_password` is the better choice; MySQL 8 has deprecated this one.
//!
//! <https://dev.mysql.com/doc/refman/8.0/en/sha256-pluggable-authentication.html>

use subtle::ConstantTimeEq;

use super::caching_sha2::PASSWORD_BYTES_MAX;
use super::nonce::fill_salt;
use super::sha256_crypt;

const PREFIX: &str = "$5$";
const SALT_BYTES: usize = 20;
const ROUNDS: u32 = 5000;

/// The stored form of a new password, or empty for the empty password. Takes some milliseconds.
pub fn stored(password: &[u8]) -> std::io::Result<String> {
    if password.is_empty() {
        return Ok(String::new());
    }
    let mut salt = [0; SALT_BYTES];
    fill_salt(&mut salt)?;
    let digest = sha256_crypt::digest(password, &salt, ROUNDS);
    // The salt is 7-bit by construction.
    Ok(format!("{PREFIX}{}${digest}", String::from_utf8_lossy(&salt)))
}

/// Salt and digest.
fn parse(stored: &str) -> Option<(&[u8], &[u8])> {
    let rest = stored.strip_prefix(PREFIX)?.as_bytes();
    let (salt, rest) = rest.split_at_checked(SALT_BYTES)?;
    let (dollar, digest) = rest.split_first()?;
    (*dollar == b'$' && digest.len() == sha256_crypt::TEXT_BYTES).then_some((salt, digest))
}

/// Whether `stored` has the form that [`stored`] returns.
pub fn is_stored_form(stored: &str) -> bool {
    stored.is_empty() || parse(stored).is_some()
}

/// Whether `stored` was made from `password`. Takes some milliseconds.
pub fn verify_password(stored: &str, password: &[u8]) -> bool {
    if stored.is_empty() || password.is_empty() {
        return stored.is_empty() && password.is_empty();
    }
    let Some((salt, digest)) = parse(stored).filter(|_| password.len() <= PASSWORD_BYTES_MAX) else {
        return false;
    };
    let computed = sha256_crypt::digest(password, salt, ROUNDS);
    bool::from(computed.as_bytes().ct_eq(digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_has_mysqls_form_and_verifies() {
        let text = stored(b"secret").unwrap();
        assert_eq!(text.len(), 67);
        assert!(is_stored_form(&text));
        assert!(verify_password(&text, b"secret"));
        assert!(!verify_password(&text, b"Secret"));
        assert!(!verify_password(&text, b""));
        assert!(verify_password("", b""));
    }

    #[test]
    fn damaged_stored_forms_never_match_and_never_panic() {
        for text in [
            "$5$",
            "$5$short",
            "$5$01234567890123456789",
            "$A$005$x",
            "*ABC",
            "$5$€",
        ] {
            assert!(!is_stored_form(text), "{text}");
            assert!(!verify_password(text, b"x"));
        }
    }
}
