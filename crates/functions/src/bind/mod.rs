//! Turns names and typed arguments into typed calls: checks numbers of arguments, makes implicit conversions,
//! determines result types.
//!
//! [`call()`] binds functions and operators. [`cast`] and [`case`] bind CAST and CASE,
//! [`crate::aggregate::bind`] binds aggregates. In a bound expression, every conversion is an explicit
//! [`Expr::Cast`].
//!
//! - [`compare`]: the type that two values are compared as.
//! - [`collation`]: the collation of mixed strings.
//! - [`common`]: the type of CASE, IF, COALESCE and UNION.
//! - [`arguments`]: conversions of arguments.
//! - [`mod@env`]: the environment that binding depends on.

pub(crate) mod arguments;
mod call;
pub(crate) mod collation;
pub(crate) mod common;
pub(crate) mod compare;
pub(crate) mod env;
pub(crate) mod fraction;
pub(crate) mod key;

use types::{Collation, Result, SqlType, TypeKind, Value};

use crate::{Expr, cast as conversion};

use compare::ComparisonKind;

pub use arguments::{branch_condition, literal_type, output_text};
pub use call::{call, call_as_written, wrong_count};
pub use collation::strength_of;
pub use common::common_type;
pub use compare::{row_list_pair, row_list_texts};
pub use env::{BindNotes, TypeEnv};
pub use key::{KeyRounding, bytes_as_key, key_cast};

/// `CAST(input AS ty)`. A string type whose [`SqlType::length`] is `u32::MAX` stands for CHAR or BINARY
/// without a length; BIGINT is SIGNED, BIGINT UNSIGNED is UNSIGNED. Fails with 1425, 1426, 1427 for
/// impossible sizes.
pub fn cast(input: Expr, ty: SqlType) -> Result<Expr> {
    conversion::check_explicit(&ty)?;
    let input = arguments::hex_as_number(input, &ty);
    let from = input.ty();
    let input = if arguments::reads_branches(&input, &ty) {
        let branch_type = if ty.is_string() {
            arguments::text_type(&from, ty.collation)
        } else {
            ty
        };
        // An expression that is text is converted to an integer from its text, even if its branches have
        // other types.
        if from.is_string() && ty.is_integer() {
            input
        } else {
            arguments::implicit_cast(input, branch_type)
        }
    } else {
        let reads_text = |form: &Expr| ty.is_integer() && (is_day_name(&input) || form.ty().is_float());
        match arguments::value_behind_text(&input).filter(|form| ty.is_numeric() && !reads_text(form)) {
            Some(form) => form,
            None => input,
        }
    };
    let explicit = |ty| Expr::Cast {
        input: Box::new(input),
        ty,
        implicit: false,
    };
    if ty.is_integer() && ty.kind != TypeKind::Year {
        return Ok(explicit(SqlType { length: 21, ..ty }));
    }
    if !ty.is_string() {
        return Ok(explicit(ty));
    }
    if ty.length != conversion::text::UNLIMITED {
        return Ok(explicit(arguments::text_result(ty.length, ty.collation)));
    }
    // The inner conversion truncates nothing. The outer one changes only the length of the type.
    let length = arguments::text_length(&from);
    let length = match ty.is_binary() {
        true => arguments::bytes_of(length, &from),
        false => length,
    };
    Ok(Expr::Cast {
        input: Box::new(explicit(ty)),
        ty: arguments::text_result(length, ty.collation),
        implicit: true,
    })
}

/// `CAST(DAYNAME(d) AS SIGNED)` reads the name, unlike all other numeric contexts (as GREATEST of a TIME its text).
fn is_day_name(expr: &Expr) -> bool {
    matches!(expr, Expr::Call { function, .. } if function.0.name == "dayname")
}

/// Converts an expression implicitly: texts of warnings and metadata do not change. For plans that need
/// another type (index keys, columns of UNION). Returns the expression itself if it has the type already.
pub fn implicit_cast(input: Expr, ty: SqlType) -> Expr {
    arguments::implicit_cast(input, ty)
}

/// For a value that is no longer a column: an ENUM or SET becomes plain text, also in a numeric context.
pub fn without_members(expr: Expr) -> Expr {
    let ty = expr.ty();
    if !ty.has_members() {
        return expr;
    }
    Expr::Cast {
        input: Box::new(expr),
        ty: SqlType {
            kind: TypeKind::Char,
            ..arguments::text_type(&ty, ty.collation)
        },
        implicit: false,
    }
}

/// The type of a column of UNION, INTERSECT or EXCEPT. `parts` are its columns in the operands. Error 1267 if
/// their collations are incompatible.
pub fn union_type(parts: &mut [Expr], env: &TypeEnv) -> Result<SqlType> {
    if let Some(members) = members_of_one(parts) {
        return Ok(members);
    }
    let ty = common::unify(parts, "UNION", env)?;
    if ty.is_string() {
        collation::check_combined(parts)?;
    }
    // MySQL counts the bytes of a TEXT as characters here, so that a larger type is needed.
    let widens = ty.collation.charset().max_bytes_per_char() > 1;
    let kind = match ty.kind {
        TypeKind::TinyText if widens => TypeKind::Text,
        TypeKind::Text if widens => TypeKind::MediumText,
        TypeKind::MediumText if widens => TypeKind::LongText,
        kind => kind,
    };
    Ok(SqlType { kind, ..ty })
}

/// The ENUM or SET of the only column that is not NULL.
fn members_of_one(parts: &[Expr]) -> Option<SqlType> {
    let mut typed = parts.iter().map(Expr::ty).filter(|ty| ty.kind != TypeKind::Null);
    let ty = typed.next().filter(SqlType::has_members)?;
    (parts.len() > 1 && typed.next().is_none()).then_some(ty)
}

/// Converts a column of an operand to the type of the result. In a text column, a BIT becomes the digits of
/// its number. A column of CHAR or VARCHAR takes a number as a table's column does: a FLOAT or DOUBLE with as many
/// digits as the column is wide, and others without ZEROFILL. A column of BINARY pads its values.
pub fn in_union(expr: Expr, ty: SqlType) -> Expr {
    let from = expr.ty();
    let is_bounded = matches!(ty.kind, TypeKind::Char | TypeKind::VarChar);
    match from.kind {
        _ if is_bounded && from.is_float() => crate::assign::stored_in(expr, ty, ""),
        _ if is_bounded && from.zerofill => {
            let number = SqlType {
                zerofill: false,
                ..from
            };
            implicit_cast(implicit_cast(expr, number), ty)
        }
        TypeKind::Bit if ty.is_string() => implicit_cast(implicit_cast(expr, SqlType::BIGINT_UNSIGNED), ty),
        _ if ty.kind == TypeKind::Char && ty.is_binary() && expr.ty() != ty => Expr::Cast {
            input: Box::new(expr),
            ty,
            implicit: false,
        },
        _ => implicit_cast(expr, ty),
    }
}

/// `CASE [operand] WHEN w THEN v ... ELSE e END`. The operand of a simple CASE is compared with `=`, except
/// JSON: see [`case_operands`].
pub fn case(
    operand: Option<Expr>,
    branches: Vec<(Expr, Expr)>,
    otherwise: Option<Expr>,
    env: &TypeEnv,
) -> Result<Expr> {
    let (whens, mut values): (Vec<Expr>, Vec<Expr>) = branches.into_iter().unzip();
    let conditions = case_conditions(operand, whens, env)?;
    let has_otherwise = otherwise.is_some();
    values.extend(otherwise);
    let ty = common::unify(&mut values, "case", env)?;
    let otherwise = if has_otherwise {
        values.pop().map(Box::new)
    } else {
        None
    };
    Ok(Expr::Case {
        branches: conditions.into_iter().zip(values).collect(),
        otherwise,
        ty,
    })
}

/// The conditions of a CASE. A simple one compares all texts under one collation, as IN does.
fn case_conditions(operand: Option<Expr>, whens: Vec<Expr>, env: &TypeEnv) -> Result<Vec<Expr>> {
    let Some(operand) = operand else {
        return Ok(whens.into_iter().map(arguments::condition).collect());
    };
    let operand = arguments::read_members(operand);
    let mut whens: Vec<Expr> = whens.into_iter().map(arguments::read_members).collect();
    let is_text = |when: &Expr| operand.ty().is_string() && when.ty().is_string();
    let mut text = operand.clone();
    let mut texts = vec![&mut text];
    texts.extend(whens.iter_mut().filter(|when| is_text(when)));
    if texts.len() > 1 {
        compare::under_one_collation(&mut texts, "case", env)?;
    }
    let compared = |when: Expr| match is_text(&when) {
        true => compare::equal(text.clone(), when),
        false => call("=", case_operands(operand.clone(), when, env)?, env),
    };
    whens.into_iter().map(compared).collect()
}

/// What a simple CASE compares. Unlike `=`, which compares documents, it compares two JSON values, or a JSON
/// value and a string, by their texts, and a JSON value and a number as DOUBLEs. So `CASE JSON_EXTRACT(d,
/// '$.k') WHEN 'null'` finds the JSON null. A text after WHEN that is compared with a date is converted to a
/// date, but a text before WHEN is compared with the text of the date.
fn case_operands(operand: Expr, when: Expr, env: &TypeEnv) -> Result<Vec<Expr>> {
    let (of_operand, of_when) = (operand.ty(), when.ty());
    if of_operand.is_datetime() && (of_when.is_string() || of_when.is_numeric()) {
        let (operand, when) = compare::pair(operand, when, "=", env, ComparisonKind::Case)?;
        return Ok(vec![operand, when]);
    }
    if of_operand.is_string() && of_when.is_temporal() {
        let text = arguments::text_type(&of_when, of_operand.collation);
        return Ok(vec![operand, arguments::implicit_cast(when, text)]);
    }
    let is_json = |e: &Expr| e.ty().kind == TypeKind::Json;
    // All digits of a FLOAT(M,D) are compared. `=` would compare D of them.
    let whole = |e: Expr| match e.ty() {
        ty if ty.is_float() && ty.decimals != SqlType::NOT_FIXED => implicit_cast(e, SqlType::DOUBLE),
        _ => e,
    };
    let mut both = [operand, when].map(whole);
    // `=` would compare a BIGINT exactly with a double that is an integer.
    if both.iter().any(|e| e.ty().is_float()) {
        both = both.map(|e| match e.ty().kind {
            TypeKind::BigInt => implicit_cast(e, SqlType::DOUBLE),
            _ => e,
        });
    }
    // Integers are compared as if all had a sign.
    if both.iter().all(|e| e.ty().is_integer()) && both[0].ty().unsigned != both[1].ty().unsigned {
        return Ok(both.map(|e| implicit_cast(e, SqlType::BIGINT)).into());
    }
    let others = |is: fn(&SqlType) -> bool| both.iter().all(|e| is_json(e) || is(&e.ty()));
    let ty = if others(SqlType::is_string) {
        SqlType {
            kind: TypeKind::LongText,
            ..SqlType::varchar(u32::MAX, Collation::Utf8mb4Bin)
        }
    } else if others(SqlType::is_numeric) {
        SqlType::DOUBLE
    } else {
        return Ok(both.into());
    };
    let of_json = |e| Expr::Cast {
        input: Box::new(e),
        ty,
        implicit: true,
    };
    let converted = both.into_iter().map(|e| if is_json(&e) { of_json(e) } else { e });
    Ok(converted.collect())
}

/// The type of a value: that of a parameter or a user variable.
pub fn type_of_value(value: &Value, collation: Collation) -> SqlType {
    match value {
        Value::Null => SqlType::NULL,
        Value::Int(_) => SqlType::BIGINT,
        Value::UInt(_) => SqlType::BIGINT_UNSIGNED,
        Value::Double(_) => SqlType::DOUBLE,
        Value::Decimal(d) => {
            let scale = d.scale.min(types::Decimal::MAX_SCALE);
            SqlType::decimal(u32::from(d.digits().max(scale + 1)), scale)
        }
        Value::String(s) => literal_type(s.chars().count(), collation),
        Value::Bytes(b) => literal_type(b.len(), Collation::Binary),
        Value::Json(_) => SqlType::JSON,
    }
}
