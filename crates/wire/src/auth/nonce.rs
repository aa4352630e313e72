//! The random bytes that make the proof of a password different at each login.

/// 20 bytes without `0`, which ends strings in the protocol, and `$`, which ends the salt of stored
/// passwords.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nonce([u8; 20]);

impl Nonce {
    /// Fails only if the operating system provides no random bytes.
    pub fn generate() -> std::io::Result<Self> {
        let mut bytes = [0; 20];
        fill_salt(&mut bytes)?;
        Ok(Self(bytes))
    }

    pub fn from_bytes(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    pub fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }
}

/// Fills `out` with random 7-bit characters other than `0` and `$`, as MySQL does.
pub(super) fn fill_salt(out: &mut [u8]) -> std::io::Result<()> {
    getrandom::fill(out).map_err(|error| std::io::Error::other(error.to_string()))?;
    for byte in out {
        *byte &= 0x7f;
        if matches!(*byte, 0 | b'$') {
            *byte += 1;
        }
    }
    Ok(())
}

/// A password that the server makes (IDENTIFIED BY RANDOM PASSWORD).
pub fn random_password(length: usize) -> std::io::Result<String> {
    const CHARACTERS: &[u8; 64] = b"abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ2345678!#%&()*+";
    let mut bytes = vec![0; length];
    getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
    let character = |byte: &u8| char::from(CHARACTERS[usize::from(byte % 64)]);
    Ok(bytes.iter().map(character).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_zero_no_dollar_and_never_the_same() {
        let first = Nonce::generate().unwrap();
        for _ in 0..1000 {
            let nonce = Nonce::generate().unwrap();
            assert!(nonce.as_bytes().iter().all(|&b| b != 0 && b != b'$' && b < 0x80));
            assert_ne!(nonce, first);
        }
    }
}
