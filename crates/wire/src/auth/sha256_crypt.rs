//! SHA-crypt on SHA-256, the hash of the passwords that `caching_sha2_password` and
//! `sha256_password` store.
//!
//! Source: Ulrich Drepper, "Unix crypt using SHA-256 and SHA-512", 2008; MySQL takes 20 bytes of salt
//! instead of 16.

use sha2::{Digest, Sha256};

/// Characters of the digest: 32 bytes, six bits a character.
pub const TEXT_BYTES: usize = 43;

const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Which bytes of the digest become each group of four characters.
const GROUPS: [[usize; 3]; 10] = [
    [0, 10, 20],
    [21, 1, 11],
    [12, 22, 2],
    [3, 13, 23],
    [24, 4, 14],
    [15, 25, 5],
    [6, 16, 26],
    [27, 7, 17],
    [18, 28, 8],
    [9, 19, 29],
];

/// The digest of a password, as text.
pub fn digest(password: &[u8], salt: &[u8], rounds: u32) -> String {
    let alternate: [u8; 32] = Sha256::new()
        .chain_update(password)
        .chain_update(salt)
        .chain_update(password)
        .finalize()
        .into();

    let mut first = Sha256::new().chain_update(password).chain_update(salt);
    update_repeated(&mut first, &alternate, password.len());
    let mut bits = password.len();
    while bits > 0 {
        if bits & 1 == 1 {
            first.update(alternate);
        } else {
            first.update(password);
        }
        bits >>= 1;
    }
    let mut current: [u8; 32] = first.finalize().into();

    let mut passwords = Sha256::new();
    for _ in 0..password.len() {
        passwords.update(password);
    }
    let p_bytes = repeated(&passwords.finalize().into(), password.len());

    let mut salts = Sha256::new();
    for _ in 0..16 + usize::from(current[0]) {
        salts.update(salt);
    }
    let s_bytes = repeated(&salts.finalize().into(), salt.len());

    for round in 0..rounds {
        let mut hash = Sha256::new();
        let odd = round % 2 == 1;
        hash.update(if odd { &p_bytes[..] } else { &current[..] });
        if round % 3 != 0 {
            hash.update(&s_bytes);
        }
        if round % 7 != 0 {
            hash.update(&p_bytes);
        }
        hash.update(if odd { &current[..] } else { &p_bytes[..] });
        current = hash.finalize().into();
    }
    to_text(&current)
}

fn update_repeated(hash: &mut Sha256, block: &[u8; 32], length: usize) {
    let mut rest = length;
    while rest > 0 {
        let take = rest.min(block.len());
        hash.update(&block[..take]);
        rest -= take;
    }
}

fn repeated(block: &[u8; 32], length: usize) -> Vec<u8> {
    block.iter().copied().cycle().take(length).collect()
}

fn to_text(digest: &[u8; 32]) -> String {
    let mut text = String::with_capacity(TEXT_BYTES);
    let mut put = |mut bits: u32, characters: usize| {
        for _ in 0..characters {
            text.push(char::from(ALPHABET[(bits & 0x3f) as usize]));
            bits >>= 6;
        }
    };
    for [a, b, c] in GROUPS {
        put(
            u32::from(digest[a]) << 16 | u32::from(digest[b]) << 8 | u32::from(digest[c]),
            4,
        );
    }
    put(u32::from(digest[31]) << 8 | u32::from(digest[30]), 3);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The specification's test vectors.
    #[test]
    fn the_specifications_vectors() {
        for (password, salt, rounds, expected) in [
            (
                "Hello world!",
                "saltstring",
                5000,
                "5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5",
            ),
            (
                "Hello world!",
                "saltstringsaltst",
                10_000,
                "3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA",
            ),
            (
                "This is just a test",
                "toolongsaltstrin",
                5000,
                "Un/5jzAHMgOGZ5.mWJpuVolil07guHPvOW8mGRcvxa5",
            ),
            (
                "a very much longer text to encrypt.  This one even stretches over morethan one line.",
                "anotherlongsalts",
                1400,
                "Rx.j8H.h8HjEDGomFU8bDkXm3XIUnzyxf12oP84Bnq1",
            ),
        ] {
            assert_eq!(digest(password.as_bytes(), salt.as_bytes(), rounds), expected);
        }
    }
}
