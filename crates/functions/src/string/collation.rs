//! COLLATE, CONVERT ... USING, BINARY, CHARSET(), COLLATION() and COERCIBILITY().

use types::{Charset, Collation, Error, Result, SqlType, TypeKind, Value, errno};

use crate::Expr;
use crate::bind::arguments::{bytes_of, text_length, text_result};
use crate::bind::collation::derive;
use crate::cast::text::invalid;
use crate::charset;
use crate::datum::Datum;
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::registry::{Family, function};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] = &[
    function("collate", 2, 2, resolve_collate, same).infallible(),
    function("convert using", 2, 2, resolve_convert, convert).nullability(Nullability::Always),
    function("binary", 1, 1, resolve_binary, binary).infallible(),
    function("charset", 1, 1, resolve_charset, same)
        .sees_null()
        .infallible(),
    function("collation", 1, 1, resolve_collation, same)
        .sees_null()
        .infallible(),
    function("coercibility", 1, 1, resolve_coercibility, same)
        .sees_null()
        .infallible(),
];

fn resolve_collate(binding: &mut Binding<'_>) -> Result<SqlType> {
    let name = binding.keyword(1)?.to_owned();
    let collation = Collation::from_name(&name).ok_or_else(|| {
        Error::new(
            errno::ER_UNKNOWN_COLLATION,
            format!("Unknown collation: '{name}'"),
        )
    })?;
    let written = binding.ty(0);
    binding.text(0);
    let ty = binding.ty(0);
    // The text of a number or a date has any character set.
    let is_made = ty.kind == TypeKind::Null || written.is_numeric() || written.is_temporal();
    let charset = match is_made {
        true => collation.charset(),
        false => ty.collation.charset(),
    };
    if charset != collation.charset() {
        return Err(Error::new(
            errno::ER_COLLATION_CHARSET_MISMATCH,
            format!(
                "COLLATION '{}' is not valid for CHARACTER SET '{}'",
                collation.name(),
                charset.name()
            ),
        ));
    }
    let kind = match ty.kind {
        TypeKind::Char => TypeKind::VarChar,
        kind => kind,
    };
    Ok(SqlType {
        kind,
        collation,
        ..ty
    })
}

fn same(_: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    Ok(args.first().map_or(Value::Null, |d| d.to_value()))
}

fn resolve_convert(binding: &mut Binding<'_>) -> Result<SqlType> {
    let name = binding.keyword(1)?.to_owned();
    let charset = Charset::from_name(&name).ok_or_else(|| {
        Error::new(
            errno::ER_UNKNOWN_CHARACTER_SET,
            format!("Unknown character set: '{name}'"),
        )
    })?;
    let from = binding.ty(0);
    binding.text(0);
    let length = text_length(&binding.ty(0));
    Ok(match charset {
        Charset::Binary => text_result(bytes_of(length, &from), Collation::Binary),
        charset => text_result(length, charset.default_collation()),
    })
}

fn convert(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let target = call.ty.collation.charset();
    Ok(match args.first() {
        Some(Datum::String(text)) if call.ty.is_binary() => {
            Value::Bytes(charset::encode(text, call.arg_type(0).collation.charset()).into_owned())
        }
        Some(Datum::String(text)) => Value::String(charset::restrict(text, target).into_owned()),
        Some(Datum::Bytes(bytes)) if call.ty.is_binary() => Value::Bytes(bytes.to_vec()),
        Some(Datum::Bytes(bytes)) => match charset::decode(bytes, target) {
            Some(text) => Value::String(text),
            None => invalid(bytes, target, call.ctx)?.map_or(Value::Null, Value::String),
        },
        _ => Value::Null,
    })
}

fn resolve_binary(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    let ty = binding.ty(0);
    let bytes = text_length(&ty).saturating_mul(ty.collation.charset().max_bytes_per_char());
    Ok(text_result(bytes, Collation::Binary))
}

fn binary(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    Ok(match args.first() {
        Some(Datum::String(text)) => {
            Value::Bytes(charset::encode(text, call.arg_type(0).collation.charset()).into_owned())
        }
        Some(other) => Value::Bytes(other.bytes().to_vec()),
        None => Value::Null,
    })
}

/// Replaces the arguments by the result, which is known when the call is bound.
fn answer(binding: &mut Binding<'_>, value: Value, ty: SqlType) -> SqlType {
    binding.args = vec![Expr::Literal { value, ty }];
    ty
}

/// The collation of the first argument; `binary` if it is not text.
fn collation_of(binding: &Binding<'_>) -> Collation {
    match binding.args.first() {
        Some(expr) if expr.ty().is_string() => expr.ty().collation,
        Some(expr) if expr.ty().kind == TypeKind::Json => Collation::Utf8mb4Bin,
        _ => Collation::Binary,
    }
}

fn resolve_charset(binding: &mut Binding<'_>) -> Result<SqlType> {
    let name = collation_of(binding).charset().name();
    let ty = SqlType::varchar(64, Collation::Utf8mb3GeneralCi);
    Ok(answer(binding, Value::from(name), ty))
}

fn resolve_collation(binding: &mut Binding<'_>) -> Result<SqlType> {
    let name = collation_of(binding).name();
    let ty = SqlType::varchar(64, Collation::Utf8mb3GeneralCi);
    Ok(answer(binding, Value::from(name), ty))
}

fn resolve_coercibility(binding: &mut Binding<'_>) -> Result<SqlType> {
    let strength = binding.args.first().map_or(6, |a| derive(a).coercibility as i64);
    let ty = SqlType {
        length: 10,
        ..SqlType::BIGINT
    };
    Ok(answer(binding, Value::Int(strength), ty))
}
