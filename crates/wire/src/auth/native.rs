//! `mysql_native_password`: stored as `*` and the hexadecimal SHA1(SHA1(password)).
//!
//! The client sends `SHA1(password) XOR SHA1(nonce + SHA1(SHA1(password)))`.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_protocol_connection_phase_authentication_methods_native_password_authentication.html>

use sha1::{Digest, Sha1};
use subtle::ConstantTimeEq;

use super::Nonce;

/// The stored form of a password: 41 characters, or empty for the empty password.
pub fn stored(password: &[u8]) -> String {
    if password.is_empty() {
        return String::new();
    }
    let twice = Sha1::digest(Sha1::digest(password));
    let mut text = String::with_capacity(41);
    text.push('*');
    for byte in twice {
        text.push_str(&format!("{byte:02X}"));
    }
    text
}

/// Whether `stored` has the form that [`stored`] returns.
pub fn is_stored_form(stored: &str) -> bool {
    stored.is_empty() || parse(stored).is_some()
}

fn parse(stored: &str) -> Option<[u8; 20]> {
    let digits = stored.strip_prefix('*')?.as_bytes();
    let mut hash = [0; 20];
    if digits.len() != 2 * hash.len() {
        return None;
    }
    for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(hash)
}

/// The data with which a client proves that it knows `password`.
pub fn scramble(password: &[u8], nonce: &Nonce) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = Sha1::digest(password);
    xor_with_mask(&once, &Sha1::digest(once), nonce)
}

fn xor_with_mask(bytes: &[u8], twice: &[u8], nonce: &Nonce) -> Vec<u8> {
    let mask = Sha1::new()
        .chain_update(nonce.as_bytes())
        .chain_update(twice)
        .finalize();
    bytes.iter().zip(mask).map(|(byte, mask)| byte ^ mask).collect()
}

/// Whether `scramble` proves the password that `stored` was made from. An empty password is proved by empty
/// data.
pub fn verify(stored: &str, scramble: &[u8], nonce: &Nonce) -> bool {
    if stored.is_empty() || scramble.is_empty() {
        return stored.is_empty() && scramble.is_empty();
    }
    let Some(twice) = parse(stored) else {
        return false;
    };
    if scramble.len() != 20 {
        return false;
    }
    let once = xor_with_mask(scramble, &twice, nonce);
    bool::from(Sha1::digest(once).as_slice().ct_eq(&twice))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_as_mysql_stores_it() {
        // SELECT authentication_string of a MySQL 8.0 account IDENTIFIED WITH mysql_native_password BY
        // 'password'.
        assert_eq!(stored(b"password"), "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19");
        assert_eq!(stored(b""), "");
    }

    #[test]
    fn only_the_right_password_passes() {
        let nonce = Nonce::from_bytes(*b"01234567890123456789");
        let stored = stored(b"secret");
        assert!(verify(&stored, &scramble(b"secret", &nonce), &nonce));
        assert!(!verify(&stored, &scramble(b"Secret", &nonce), &nonce));
        assert!(!verify(
            &stored,
            &scramble(b"secret", &Nonce::from_bytes([1; 20])),
            &nonce
        ));
        assert!(!verify(&stored, b"", &nonce));
        assert!(!verify("", &scramble(b"secret", &nonce), &nonce));
        assert!(verify("", b"", &nonce));
        assert!(!verify(
            "*not hexadecimal at all, but has 41 chars",
            &[0; 20],
            &nonce
        ));
        assert!(!verify("*ä", &[0; 20], &nonce));
    }
}
