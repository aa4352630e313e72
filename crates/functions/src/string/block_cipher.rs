//! AES in the modes of `@@block_encryption_mode`, over whole values.
//!
//! Not here: the SQL functions, and how keys are made ([`super::aes`]).

use aes::cipher::generic_array::GenericArray;
use aes::cipher::{BlockCipher, BlockDecrypt, BlockEncrypt, BlockSizeUser, KeyInit, consts::U16};
use aes::{Aes128, Aes192, Aes256};
use types::Result;

use crate::pace::{Pace, Steps};

/// Bytes of a block, and of an initialization vector.
pub(crate) const BLOCK: usize = 16;

/// The values of `@@block_encryption_mode`. The variable can also be set to a position in this list.
pub const BLOCK_ENCRYPTION_MODES: &[&str] = &[
    "aes-128-ecb",
    "aes-192-ecb",
    "aes-256-ecb",
    "aes-128-cbc",
    "aes-192-cbc",
    "aes-256-cbc",
    "aes-128-cfb1",
    "aes-192-cfb1",
    "aes-256-cfb1",
    "aes-128-cfb8",
    "aes-192-cfb8",
    "aes-256-cfb8",
    "aes-128-cfb128",
    "aes-192-cfb128",
    "aes-256-cfb128",
    "aes-128-ofb",
    "aes-192-ofb",
    "aes-256-ofb",
];

/// One of [`BLOCK_ENCRYPTION_MODES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockEncryption {
    pub(crate) key_bytes: usize,
    pub(crate) chaining: Chaining,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chaining {
    Ecb,
    Cbc,
    /// Cipher feedback, with this number of bits at a time.
    Cfb(u32),
    Ofb,
}

impl Default for BlockEncryption {
    /// `aes-128-ecb`.
    fn default() -> Self {
        Self {
            key_bytes: 16,
            chaining: Chaining::Ecb,
        }
    }
}

impl BlockEncryption {
    /// By its name, in lower case.
    pub fn from_name(name: &str) -> Option<Self> {
        let (bits, chaining) = name.strip_prefix("aes-")?.split_once('-')?;
        Some(Self {
            key_bytes: match bits {
                "128" => 16,
                "192" => 24,
                "256" => 32,
                _ => return None,
            },
            chaining: match chaining {
                "ecb" => Chaining::Ecb,
                "cbc" => Chaining::Cbc,
                "cfb1" => Chaining::Cfb(1),
                "cfb8" => Chaining::Cfb(8),
                "cfb128" => Chaining::Cfb(128),
                "ofb" => Chaining::Ofb,
                _ => return None,
            },
        })
    }

    /// Returns the cipher text. `key` has [`Self::key_bytes`]; for another length the result is `None`. All
    /// modes except ECB use the initialization vector.
    pub(crate) fn encrypt(
        self,
        key: &[u8],
        iv: [u8; BLOCK],
        data: Vec<u8>,
        pace: &mut Pace<'_>,
    ) -> Result<Option<Vec<u8>>> {
        self.run(Direction::Encrypt, key, (iv, data), pace)
    }

    /// Returns the plain text; `None` if the data cannot be the encryption of a text with this key.
    pub(crate) fn decrypt(
        self,
        key: &[u8],
        iv: [u8; BLOCK],
        data: Vec<u8>,
        pace: &mut Pace<'_>,
    ) -> Result<Option<Vec<u8>>> {
        self.run(Direction::Decrypt, key, (iv, data), pace)
    }

    fn run(
        self,
        direction: Direction,
        key: &[u8],
        input: ([u8; BLOCK], Vec<u8>),
        pace: &mut Pace<'_>,
    ) -> Result<Option<Vec<u8>>> {
        let chaining = self.chaining;
        match self.key_bytes {
            16 => match Aes128::new_from_slice(key) {
                Ok(cipher) => chain(&cipher, chaining, direction, input, pace),
                Err(_) => Ok(None),
            },
            24 => match Aes192::new_from_slice(key) {
                Ok(cipher) => chain(&cipher, chaining, direction, input, pace),
                Err(_) => Ok(None),
            },
            _ => match Aes256::new_from_slice(key) {
                Ok(cipher) => chain(&cipher, chaining, direction, input, pace),
                Err(_) => Ok(None),
            },
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Encrypt,
    Decrypt,
}

trait Cipher: BlockCipher + BlockSizeUser<BlockSize = U16> + BlockEncrypt + BlockDecrypt {
    fn encrypted(&self, block: u128) -> u128 {
        let mut bytes = GenericArray::from(block.to_be_bytes());
        self.encrypt_block(&mut bytes);
        u128::from_be_bytes(bytes.into())
    }

    fn decrypted(&self, block: u128) -> u128 {
        let mut bytes = GenericArray::from(block.to_be_bytes());
        self.decrypt_block(&mut bytes);
        u128::from_be_bytes(bytes.into())
    }
}

impl<C: BlockCipher + BlockSizeUser<BlockSize = U16> + BlockEncrypt + BlockDecrypt> Cipher for C {}

fn chain<C: Cipher>(
    cipher: &C,
    chaining: Chaining,
    direction: Direction,
    (iv, mut data): ([u8; BLOCK], Vec<u8>),
    pace: &mut Pace<'_>,
) -> Result<Option<Vec<u8>>> {
    let register = u128::from_be_bytes(iv);
    let chained = chaining == Chaining::Cbc;
    match (chaining, direction) {
        (Chaining::Ecb | Chaining::Cbc, Direction::Encrypt) => {
            pad(&mut data);
            encrypt_blocks(cipher, chained.then_some(register), &mut data, pace)?;
        }
        (Chaining::Ecb | Chaining::Cbc, Direction::Decrypt) => {
            decrypt_blocks(cipher, chained.then_some(register), &mut data, pace)?;
            if unpad(&mut data).is_none() {
                return Ok(None);
            }
        }
        (Chaining::Cfb(1), _) => feed_back_bits(cipher, direction, register, &mut data, pace)?,
        (Chaining::Cfb(bits), _) => {
            feed_back(cipher, direction, bits, register, &mut data, pace)?;
        }
        (Chaining::Ofb, _) => key_stream(cipher, register, &mut data, pace)?,
    }
    Ok(Some(data))
}

/// PKCS #7: adds as many bytes as are missing to a whole block, each with that number. If none is missing,
/// adds a whole block.
fn pad(data: &mut Vec<u8>) {
    let missing = BLOCK - data.len() % BLOCK;
    data.resize(data.len() + missing, missing as u8);
}

fn unpad(data: &mut Vec<u8>) -> Option<()> {
    let padding = usize::from(*data.last()?);
    let rest = data.len().checked_sub(padding)?;
    let whole = data.len().is_multiple_of(BLOCK) && (1..=BLOCK).contains(&padding);
    if !whole || data[rest..].iter().any(|byte| usize::from(*byte) != padding) {
        return None;
    }
    data.truncate(rest);
    Some(())
}

/// Encrypts whole blocks. With `previous`, each block is combined with the previous cipher text.
fn encrypt_blocks<C: Cipher>(
    cipher: &C,
    mut previous: Option<u128>,
    data: &mut [u8],
    pace: &mut Pace<'_>,
) -> Result<()> {
    for block in data.as_chunks_mut::<BLOCK>().0 {
        pace.step(BLOCK)?;
        let plain = u128::from_be_bytes(*block) ^ previous.unwrap_or(0);
        let sealed = cipher.encrypted(plain);
        *block = sealed.to_be_bytes();
        previous = previous.map(|_| sealed);
    }
    Ok(())
}

fn decrypt_blocks<C: Cipher>(
    cipher: &C,
    mut previous: Option<u128>,
    data: &mut [u8],
    pace: &mut Pace<'_>,
) -> Result<()> {
    for block in data.as_chunks_mut::<BLOCK>().0 {
        pace.step(BLOCK)?;
        let sealed = u128::from_be_bytes(*block);
        *block = (cipher.decrypted(sealed) ^ previous.unwrap_or(0)).to_be_bytes();
        previous = previous.map(|_| sealed);
    }
    Ok(())
}

/// Cipher feedback: the next 8 or 128 bits are combined with the cipher text of the register, and the
/// resulting cipher text is shifted into the register.
fn feed_back<C: Cipher>(
    cipher: &C,
    direction: Direction,
    bits: u32,
    mut register: u128,
    data: &mut [u8],
    pace: &mut Pace<'_>,
) -> Result<()> {
    let bytes = bits as usize / 8;
    for segment in data.chunks_mut(bytes) {
        pace.step(BLOCK)?;
        let mask = cipher.encrypted(register).to_be_bytes();
        for (byte, mask) in segment.iter_mut().zip(mask) {
            let read = *byte;
            *byte ^= mask;
            let sealed = if direction == Direction::Encrypt {
                *byte
            } else {
                read
            };
            register = register << 8 | u128::from(sealed);
        }
    }
    Ok(())
}

/// Cipher feedback of single bits, from the highest bit of each byte on.
fn feed_back_bits<C: Cipher>(
    cipher: &C,
    direction: Direction,
    mut register: u128,
    data: &mut [u8],
    pace: &mut Pace<'_>,
) -> Result<()> {
    for byte in data {
        pace.step(8 * BLOCK)?;
        let read = *byte;
        for position in (0..8).rev() {
            let mask = (cipher.encrypted(register) >> 127) as u8;
            *byte ^= mask << position;
            let sealed = if direction == Direction::Encrypt {
                *byte
            } else {
                read
            };
            register = register << 1 | u128::from(sealed >> position & 1);
        }
    }
    Ok(())
}

/// Output feedback: the data is combined with the cipher text of the register, then with the cipher text of
/// that, and so on.
fn key_stream<C: Cipher>(cipher: &C, mut register: u128, data: &mut [u8], pace: &mut Pace<'_>) -> Result<()> {
    for segment in data.chunks_mut(BLOCK) {
        pace.step(BLOCK)?;
        register = cipher.encrypted(register);
        for (byte, mask) in segment.iter_mut().zip(register.to_be_bytes()) {
            *byte ^= mask;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EvalContext;

    fn run(
        mode: BlockEncryption,
        direction: Direction,
        key: &[u8],
        iv: [u8; BLOCK],
        data: &[u8],
    ) -> Option<Vec<u8>> {
        let input = (iv, data.to_vec());
        mode.run(direction, key, input, &mut Pace::of(&EvalContext::default()))
            .unwrap()
    }

    #[test]
    fn every_mode_has_its_name_and_gives_back_what_it_took() {
        for name in BLOCK_ENCRYPTION_MODES {
            let mode = BlockEncryption::from_name(name).unwrap_or_else(|| panic!("{name}"));
            let key: Vec<u8> = (0..mode.key_bytes as u8).collect();
            let iv = [7; BLOCK];
            for length in 0..50 {
                let plain: Vec<u8> = (0..length).collect();
                let sealed = run(mode, Direction::Encrypt, &key, iv, &plain).unwrap_or_default();
                if length > 0 {
                    assert_ne!(sealed, plain, "{name}");
                }
                assert_eq!(
                    run(mode, Direction::Decrypt, &key, iv, &sealed),
                    Some(plain),
                    "{name}"
                );
            }
            assert_eq!(run(mode, Direction::Encrypt, &key[1..], iv, &[]), None, "{name}");
        }
    }

    #[test]
    fn what_was_never_padded_is_no_plain_text() {
        let mode = BlockEncryption::default();
        let key = [1; 16];
        for garbage in [&[][..], &[0; 15], &[0; 16], &[9; 33]] {
            assert_eq!(run(mode, Direction::Decrypt, &key, [0; BLOCK], garbage), None);
        }
    }
}
