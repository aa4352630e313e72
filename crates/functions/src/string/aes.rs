//! AES_ENCRYPT, AES_DECRYPT: arguments, and the derivation of keys. Manual 12.13.
//!
//! Not here: the cipher's modes ([`super::block_cipher`]).

use hkdf::Hkdf;
use pbkdf2::pbkdf2_hmac;
use sha2::Sha512;
use types::{Collation, Error, Result, SqlType, Value, errno};

use super::block_cipher::{BLOCK, Chaining};
use super::hash::argument_bytes;
use crate::bind::arguments::bytes_of;
use crate::datum::Datum;
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::pace::Pace;
use crate::registry::{Family, function};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

// The mode is that of the session at the time of the call.
static FUNCTIONS: &[FunctionDef] = &[
    function("aes_encrypt", 2, 6, resolve_encrypt, encrypt)
        .nullability(Nullability::Always)
        .sees_null()
        .session(),
    function("aes_decrypt", 2, 6, resolve_decrypt, decrypt)
        .nullability(Nullability::Always)
        .sees_null()
        .session(),
];

// Positions of arguments.
const KEY: usize = 1;
const IV: usize = 2;
const KDF_NAME: usize = 3;
const SALT: usize = 4;
/// The info of HKDF, or the number of iterations of PBKDF2.
const LAST_OPTION: usize = 5;

const ITERATIONS: std::ops::RangeInclusive<u32> = 1000..=65_535;
/// What an iteration reads.
const BYTES_OF_ITERATION: usize = 256;
/// The default number of iterations.
const FEWEST_ITERATIONS: &[u8] = b"1000";

fn resolve_encrypt(binding: &mut Binding<'_>) -> Result<SqlType> {
    // The length in modes that pad blocks. In the other modes the result is as long as the data.
    let length = resolve_arguments(binding) / BLOCK as u32 + 1;
    Ok(binding.text_result(length.saturating_mul(BLOCK as u32), Collation::Binary))
}

fn resolve_decrypt(binding: &mut Binding<'_>) -> Result<SqlType> {
    let length = resolve_arguments(binding);
    Ok(binding.text_result(length, Collation::Binary))
}

/// Types the arguments. Returns how many bytes the first one may have.
fn resolve_arguments(binding: &mut Binding<'_>) -> u32 {
    let data = binding.ty(0);
    for index in 0..binding.args.len() {
        binding.text(index);
    }
    bytes_of(binding.total_length(0..1), &data)
}

fn encrypt(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some((data, key, iv)) = arguments(call, args)? else {
        return Ok(Value::Null);
    };
    let mode = call.ctx.block_encryption;
    if args.len() <= KDF_NAME && key.len() > mode.key_bytes {
        call.ctx.warn(
            errno::ER_AES_KEY_SIZE,
            format!(
                "AES key size should be {} bytes length or secure KDF methods hkdf or pbkdf2_hmac should be used, please provide exact AES key size or use KDF methods for better security.",
                mode.key_bytes
            ),
        )?;
    }
    let key = fold_key(&key, mode.key_bytes);
    let sealed = mode.encrypt(&key, iv, data, &mut Pace::of(call.ctx))?;
    Ok(sealed.map_or(Value::Null, Value::Bytes))
}

fn decrypt(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some((data, key, iv)) = arguments(call, args)? else {
        return Ok(Value::Null);
    };
    let mode = call.ctx.block_encryption;
    let key = fold_key(&key, mode.key_bytes);
    let plain = mode.decrypt(&key, iv, data, &mut Pace::of(call.ctx))?;
    Ok(plain.map_or(Value::Null, Value::Bytes))
}

type Arguments = (Vec<u8>, Vec<u8>, [u8; BLOCK]);

/// The data, the key and the initialization vector, in the order in which MySQL checks them. `None`: no data,
/// or no key.
fn arguments(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Option<Arguments>> {
    let (Some(data), Some(key)) = (given(call, args, 0), given(call, args, KEY)) else {
        return Ok(None);
    };
    let iv = initialization_vector(call, args)?;
    let key = match args.get(KDF_NAME) {
        None => key,
        Some(_) => derive_key(call, args, &key)?,
    };
    Ok(Some((data, key, iv)))
}

/// An argument's bytes; `None` for NULL, and if there is none.
fn given(call: &Call<'_>, args: &[Datum<'_>], index: usize) -> Option<Vec<u8>> {
    let present = args.get(index).is_some_and(|arg| !arg.is_null());
    present.then(|| argument_bytes(call, args, index))
}

fn initialization_vector(call: &Call<'_>, args: &[Datum<'_>]) -> Result<[u8; BLOCK]> {
    if call.ctx.block_encryption.chaining == Chaining::Ecb {
        if args.len() == IV + 1 {
            call.ctx.warn(errno::WARN_OPTION_IGNORED, "<IV> option ignored")?;
        }
        return Ok([0; BLOCK]);
    }
    let name = call.def.name;
    if args.len() <= IV {
        return Err(Error::new(
            errno::ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT,
            format!("Incorrect parameter count in the call to native function '{name}'"),
        ));
    }
    let iv = given(call, args, IV).unwrap_or_default();
    iv.first_chunk().copied().ok_or_else(|| {
        Error::new(
            errno::ER_AES_INVALID_IV,
            format!(
                "The initialization vector supplied to {name} is too short. Must be at least {BLOCK} bytes long"
            ),
        )
    })
}

/// Folds a key of any length to the mode's length by XOR, as MySQL does.
fn fold_key(key: &[u8], key_bytes: usize) -> Vec<u8> {
    let mut folded = vec![0; key_bytes];
    for part in key.chunks(key_bytes) {
        for (sum, byte) in folded.iter_mut().zip(part) {
            *sum ^= byte;
        }
    }
    folded
}

/// Derives a key with HKDF (RFC 5869) or PBKDF2 (RFC 8018), both with SHA-512.
fn derive_key(call: &Call<'_>, args: &[Datum<'_>], key: &[u8]) -> Result<Vec<u8>> {
    let name = option(call, args, KDF_NAME, b"", 256)?;
    let mut derived = vec![0; call.ctx.block_encryption.key_bytes];
    match name.as_slice() {
        b"hkdf" => {
            let salt = option(call, args, SALT, b"", 256)?;
            let info = option(call, args, LAST_OPTION, b"", 256)?;
            Hkdf::<Sha512>::new(Some(&salt), key)
                .expand(&info, &mut derived)
                .map_err(Error::internal)?;
        }
        b"pbkdf2_hmac" => {
            let salt = option(call, args, SALT, b"", 256)?;
            let count = iterations(&option(call, args, LAST_OPTION, FEWEST_ITERATIONS, 6)?)?;
            call.ctx.count_work(count as usize * BYTES_OF_ITERATION)?;
            pbkdf2_hmac::<Sha512>(key, &salt, count, &mut derived);
        }
        _ => {
            return Err(Error::new(
                errno::ER_AES_INVALID_KDF_NAME,
                "KDF method name is not valid. Please use hkdf or pbkdf2_hmac method name",
            ));
        }
    }
    Ok(derived)
}

/// An option of less than `limit` bytes. It may be missing, but not NULL.
fn option(call: &Call<'_>, args: &[Datum<'_>], index: usize, absent: &[u8], limit: usize) -> Result<Vec<u8>> {
    if args.len() <= index {
        return Ok(absent.to_vec());
    }
    let value = given(call, args, index).filter(|value| value.len() < limit);
    value.ok_or_else(|| {
        Error::new(
            errno::ER_AES_INVALID_KDF_OPTION_SIZE,
            format!("KDF option size is invalid, please provide valid size < {limit} bytes and not NULL"),
        )
    })
}

/// The number of iterations at the beginning of a text.
fn iterations(text: &[u8]) -> Result<u32> {
    let text = text.trim_ascii_start();
    let text = text.strip_prefix(b"+").unwrap_or(text);
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    let count = digits.fold(0u32, |count, digit| {
        count.saturating_mul(10).saturating_add(u32::from(digit - b'0'))
    });
    if !ITERATIONS.contains(&count) {
        return Err(Error::new(
            errno::ER_AES_INVALID_KDF_ITERATIONS,
            "For KDF method pbkdf2_hmac iterations value less than 1000 or more than 65535 is not allowed due to security reasons. Please provide iterations >= 1000 and iterations < 65535",
        ));
    }
    Ok(count)
}
