//! MD5, SHA1, SHA2, CRC32.

use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};
use types::{Charset, Result, SqlType, Value, errno};

use super::encode::hex_digits;
use crate::Expr;
use crate::charset;
use crate::datum::Datum;
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::registry::{Alias, Family, function};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[Alias {
        name: "sha",
        of: "sha1",
    }],
};

static FUNCTIONS: &[FunctionDef] = &[
    function(
        "md5",
        1,
        1,
        |b| resolve(b, 32),
        |c, a| digest::<Md5>(c, &bytes(c, a)),
    )
    .infallible(),
    function(
        "sha1",
        1,
        1,
        |b| resolve(b, 40),
        |c, a| digest::<Sha1>(c, &bytes(c, a)),
    )
    .infallible(),
    function("sha2", 2, 2, resolve_sha2, sha2).nullability(Nullability::Always),
    function("crc32", 1, 1, resolve_crc32, |c, a| {
        Ok(Value::UInt(u64::from(crc32fast::hash(&bytes(c, a)))))
    })
    .infallible(),
];

fn resolve(binding: &mut Binding<'_>, digits: u32) -> Result<SqlType> {
    binding.text(0);
    binding.integer_if_given(1);
    Ok(SqlType::varchar(digits, binding.env.collation))
}

fn resolve_crc32(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    Ok(SqlType {
        length: 10,
        ..SqlType::BIGINT_UNSIGNED
    })
}

/// The bytes of the first argument in its own character set.
pub(super) fn bytes(call: &Call<'_>, args: &[Datum<'_>]) -> Vec<u8> {
    argument_bytes(call, args, 0)
}

/// The bytes of any argument in its own character set.
pub(super) fn argument_bytes(call: &Call<'_>, args: &[Datum<'_>], index: usize) -> Vec<u8> {
    match args.get(index) {
        Some(Datum::String(text)) => {
            let charset = call.arg_type(index).collation.charset();
            let charset = if charset == Charset::Binary {
                Charset::Utf8mb4
            } else {
                charset
            };
            charset::encode(text, charset).into_owned()
        }
        Some(other) => other.bytes().to_vec(),
        None => Vec::new(),
    }
}

/// Takes long data in pieces, because it may be interrupted.
fn digest<D: Digest>(call: &Call<'_>, data: &[u8]) -> Result<Value> {
    const PIECE: usize = 64 << 10;
    let mut digest = D::new();
    for (index, piece) in data.chunks(PIECE).enumerate() {
        if index > 0 {
            call.ctx.count_work(PIECE)?;
        }
        digest.update(piece);
    }
    Ok(Value::String(hex_digits(&digest.finalize()).to_ascii_lowercase()))
}

fn resolve_sha2(binding: &mut Binding<'_>) -> Result<SqlType> {
    let bits = match binding.args.get(1) {
        Some(Expr::Literal { value, .. }) => value.as_u64().unwrap_or(512),
        _ => 512,
    };
    resolve(binding, if bits == 0 { 64 } else { bits.min(512) as u32 / 4 })
}

fn sha2(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let data = bytes(call, args);
    Ok(match args.get(1).map_or(0, Datum::int) {
        224 => digest::<Sha224>(call, &data)?,
        0 | 256 => digest::<Sha256>(call, &data)?,
        384 => digest::<Sha384>(call, &data)?,
        512 => digest::<Sha512>(call, &data)?,
        _ => {
            let message = "Incorrect parameters in the call to native function 'sha2'";
            call.ctx.warn(errno::ER_WRONG_FCT_PARAMETERS, message)?;
            Value::Null
        }
    })
}
