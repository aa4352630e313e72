//! STATEMENT_DIGEST and STATEMENT_DIGEST_TEXT, which identify a statement regardless of its literals.
//!
//! Source: manual 12.14 "Encryption and Compression Functions". This crate does not know the grammar: the
//! session supplies the function that computes a digest.

use sha2::{Digest, Sha256};
use types::{Result, SqlType, Value};

use crate::datum::Datum;
use crate::expr::{Binding, Call, FunctionDef};
use crate::registry::{Family, function};
use crate::string::encode::hex_digits;

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] = &[
    function(
        "statement_digest",
        1,
        1,
        |binding| {
            binding.text(0);
            Ok(SqlType::varchar(64, binding.env.collation))
        },
        |call, args| Ok(Value::String(digest_of(&digest(call, args)?.1))),
    ),
    function("statement_digest_text", 1, 1, resolve_text, |call, args| {
        Ok(Value::String(digest(call, args)?.0))
    }),
];

fn resolve_text(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    Ok(SqlType {
        kind: types::TypeKind::LongText,
        ..SqlType::varchar(u32::MAX, binding.env.collation)
    })
}

fn digest(call: &Call<'_>, args: &[Datum<'_>]) -> Result<(String, Vec<u8>)> {
    let statement = match args.first() {
        Some(Datum::String(text)) => text.to_string(),
        Some(other) => String::from_utf8_lossy(other.bytes()).into_owned(),
        None => String::new(),
    };
    (call.ctx.digest)(&statement, &call.ctx.sql_mode)
}

/// The digest of a statement, from its tokens, as MySQL shows it.
pub fn digest_of(tokens: &[u8]) -> String {
    hex_digits(&Sha256::digest(tokens)).to_ascii_lowercase()
}
