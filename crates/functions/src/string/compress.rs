//! COMPRESS, UNCOMPRESS, UNCOMPRESSED_LENGTH, RANDOM_BYTES.
//!
//! Compressed data consists of the length of the original (four bytes, little-endian) and zlib's format. An
//! empty string stays empty. If the data ends in a space, a point is appended, because columns could lose the
//! space (manual 12.13).

use std::io::{ErrorKind, Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use types::{Collation, Error, Result, SqlType, Value, errno};

use super::hash::bytes;
use crate::bind::arguments::bytes_of;
use crate::datum::Datum;
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::registry::{Family, function};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] = &[
    function("compress", 1, 1, resolve_compress, compress).nullability(Nullability::Always),
    function("uncompress", 1, 1, resolve_uncompress, uncompress).nullability(Nullability::Always),
    function("uncompressed_length", 1, 1, resolve_length, uncompressed_length)
        .nullability(Nullability::AnyArgument),
    function("random_bytes", 1, 1, resolve_random, random_bytes)
        .nullability(Nullability::Always)
        .volatile(),
];

/// The bits of the first four bytes that are the length.
const LENGTH_MASK: u32 = 0x3fff_ffff;
/// So much is compressed or read between two looks at the interruption.
const PIECE: usize = 256 << 10;
/// MySQL's compression level.
const LEVEL: Compression = Compression::new(6);
/// The most bytes that RANDOM_BYTES returns.
const MOST_RANDOM_BYTES: i64 = 1024;

fn resolve_compress(binding: &mut Binding<'_>) -> Result<SqlType> {
    let ty = binding.ty(0);
    binding.text(0);
    let bytes = bytes_of(binding.total_length(0..1), &ty);
    // What zlib's compressBound() says, the length before it, and a point behind it.
    let bound = bytes.saturating_add((bytes >> 12) + (bytes >> 14) + (bytes >> 25) + 13);
    Ok(binding.text_result(bound.saturating_add(5), Collation::Binary))
}

fn compress(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let plain = bytes(call, args);
    if plain.is_empty() {
        return Ok(Value::Bytes(plain));
    }
    let length = u32::try_from(plain.len()).map_or(LENGTH_MASK, |length| length & LENGTH_MASK);
    let mut encoder = ZlibEncoder::new(length.to_le_bytes().to_vec(), LEVEL);
    for piece in plain.chunks(PIECE) {
        call.ctx.count_work(piece.len())?;
        encoder.write_all(piece).map_err(Error::internal)?;
    }
    let mut packed = encoder.finish().map_err(Error::internal)?;
    if packed.last() == Some(&b' ') {
        packed.push(b'.');
    }
    Ok(Value::Bytes(packed))
}

fn resolve_uncompress(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    Ok(binding.text_of_any_length(Collation::Binary))
}

fn uncompress(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let packed = bytes(call, args);
    if packed.is_empty() {
        return Ok(Value::Bytes(packed));
    }
    let Some((length, data)) = parts(&packed) else {
        return corrupted(call);
    };
    let most = call.ctx.max_allowed_packet;
    if length as usize > most {
        call.ctx.warn(
            errno::ER_TOO_BIG_FOR_UNCOMPRESS,
            format!(
                "Uncompressed data size too large; the maximum size is {most} (probably, length of uncompressed data was corrupted)"
            ),
        )?;
        return Ok(Value::Null);
    }
    // Reading one byte more than the stated length shows whether the length is wrong. Memory is allocated as
    // data is decompressed, because the stated length cannot be trusted.
    let mut plain = Vec::new();
    let mut decoder = ZlibDecoder::new(data).take(u64::from(length) + 1);
    let read = loop {
        call.ctx.count_work(PIECE)?;
        match decoder.by_ref().take(PIECE as u64).read_to_end(&mut plain) {
            Ok(PIECE) => {}
            end => break end,
        }
    };
    match read {
        Ok(_) if plain.len() <= length as usize => Ok(Value::Bytes(plain)),
        Err(error) if error.kind() != ErrorKind::UnexpectedEof || plain.len() < length as usize => {
            corrupted(call)
        }
        // The data is too long, or complete but for its checksum.
        _ => {
            call.ctx.warn(
                errno::ER_ZLIB_Z_BUF_ERROR,
                "ZLIB: Not enough room in the output buffer (probably, length of uncompressed data was corrupted)",
            )?;
            Ok(Value::Null)
        }
    }
}

/// The length of the original, and the data in zlib's format. `None`: too short.
fn parts(packed: &[u8]) -> Option<(u32, &[u8])> {
    let (length, data) = packed.split_first_chunk::<4>()?;
    (!data.is_empty()).then_some((u32::from_le_bytes(*length) & LENGTH_MASK, data))
}

fn corrupted(call: &Call<'_>) -> Result<Value> {
    call.ctx
        .warn(errno::ER_ZLIB_Z_DATA_ERROR, "ZLIB: Input data corrupted")?;
    Ok(Value::Null)
}

fn resolve_length(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    Ok(SqlType {
        length: 10,
        ..SqlType::BIGINT
    })
}

fn uncompressed_length(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let packed = bytes(call, args);
    let length = match parts(&packed) {
        Some((length, _)) => i64::from(length),
        None => {
            if !packed.is_empty() {
                corrupted(call)?;
            }
            0
        }
    };
    Ok(Value::Int(length))
}

fn resolve_random(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.integer(0);
    Ok(binding.text_result(MOST_RANDOM_BYTES as u32, Collation::Binary))
}

fn random_bytes(_: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    match args.first().map_or(0, Datum::int) {
        count @ 1..=MOST_RANDOM_BYTES => {
            let mut random = vec![0; count as usize];
            getrandom::fill(&mut random).map_err(Error::internal)?;
            Ok(Value::Bytes(random))
        }
        _ => Err(Error::new(
            errno::ER_DATA_OUT_OF_RANGE,
            "length value is out of range in 'random_bytes'",
        )),
    }
}
