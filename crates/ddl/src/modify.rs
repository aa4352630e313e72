//! MODIFY and CHANGE COLUMN: which changes leave all stored values and index entries unchanged.
//!
//! These only change metadata, and are done at once. The others rewrite the table ([`crate::rewrite`]).

use schema::model::{Column, Table};
use schema::sharded_id;
use types::{Charset, Error, Result, SqlMode, SqlType, TypeKind};

use crate::rewrite::Rewrite;

/// Why the rows must be rewritten if `old` becomes `new`; `None` if stored values do not change. `indexed`:
/// whether an index or the primary key has the column.
pub(crate) fn compatible(old: &Column, new: &Column, indexed: bool, mode: &SqlMode) -> Option<Rewrite> {
    if !type_is_compatible(old, new, indexed) {
        return Some(Rewrite::TYPE);
    }
    let forbids_null = old.nullable && !new.nullable;
    if new.auto_increment && (!old.auto_increment || forbids_null) {
        // MySQL replaces a 0 by the next value.
        return Some(Rewrite {
            stops_writers: true,
            ..Rewrite::TYPE
        });
    }
    match (forbids_null, mode.strict) {
        (false, _) => None,
        (true, true) if !is_in_place(&old.ty, &new.ty) => Some(Rewrite::TYPE),
        (true, true) => Some(Rewrite::IN_PLACE),
        (true, false) => Some(Rewrite::NULLS),
    }
}

/// The same for generated columns. `regenerates`: the column has a new expression. MySQL copies the table for a
/// virtual column, too, whose values must fit then.
///
/// # Errors
/// 3106 for a change between a virtual column and one that is stored.
pub(crate) fn regenerated(old: &Column, new: &Column, regenerates: bool) -> Result<Option<Rewrite>> {
    if old.is_virtual() != new.is_virtual() {
        return Err(Error::new(
            3106,
            "'Changing the STORED status' is not supported for generated columns.",
        ));
    }
    let recomputes = regenerates || (new.is_virtual() && old.ty != new.ty && !grows(&old.ty, &new.ty));
    Ok(recomputes.then_some(Rewrite::BY_COPY))
}

/// Whether MySQL can change the type without a copy of the table, too, which decides how it refuses a NULL.
fn is_in_place(from: &SqlType, to: &SqlType) -> bool {
    let is_number = integer_rank(from.kind).is_some() || from.is_float();
    let is_alike = (from.kind, from.unsigned) == (to.kind, to.unsigned);
    from == to || is_alike && is_number || grows(from, to) || has_members_of(from.kind, to.kind)
}

/// Whether a VARCHAR becomes longer, with as many bytes for its length: MySQL changes only the definition.
fn grows(from: &SqlType, to: &SqlType) -> bool {
    let is_long = |ty: &SqlType| ty.max_bytes() > 255;
    let is_text = from.kind == TypeKind::VarChar && to.kind == TypeKind::VarChar;
    is_text && from.collation == to.collation && from.length <= to.length && is_long(from) == is_long(to)
}

/// MODIFY and CHANGE can only give AUTO_RANDOM more shards, or turn an AUTO_INCREMENT primary key into
/// AUTO_RANDOM. The counter continues, so that no id is allocated twice.
///
/// # Errors
/// 8216, with TiDB's texts.
pub(crate) fn check_auto_random(table: &Table, before: usize, new: &Column) -> Result<()> {
    let Some(old) = table.columns.get(before) else {
        return Ok(());
    };
    let refused = match (old.auto_random, new.auto_random) {
        (None, None) => return Ok(()),
        (Some(_), None) => "adding/dropping/modifying auto_random is not supported",
        (Some(old), Some(new)) if new.range_bits != old.range_bits => {
            "alter the range bits of auto_random column is not supported"
        }
        (Some(old), Some(new)) if new.shard_bits < old.shard_bits => {
            "decreasing auto_random shard bits is not supported"
        }
        (Some(_), Some(_)) if new.ty != old.ty => "modifying the auto_random column type is not supported",
        (Some(_), Some(_)) => return Ok(()),
        (None, Some(_)) if old.auto_increment && leads_primary_key(table, before) => return Ok(()),
        (None, Some(_)) => "auto_random can only be converted from auto_increment clustered primary key",
    };
    Err(sharded_id::invalid(refused))
}

/// `AUTO_RANDOM_BASE = next`.
///
/// # Errors
/// 8216, with TiDB's texts.
pub(crate) fn check_base(table: &Table, next: u64) -> Result<u64> {
    let Some(layout) = table.auto_random_layout() else {
        return Err(sharded_id::invalid(
            "alter auto_random_base of a non auto_random table",
        ));
    };
    if next > layout.last() {
        return Err(sharded_id::invalid(format!(
            "alter auto_random_base to {next} overflows the incremental bits, max allowed base is {}",
            layout.last()
        )));
    }
    Ok(next.max(1))
}

fn leads_primary_key(table: &Table, column: usize) -> bool {
    table
        .primary_parts()
        .first()
        .is_some_and(|part| part.column == column)
}

/// Whether stored values, including keys, do not change.
pub(crate) fn keeps_values(old: &Column, new: &Column) -> bool {
    type_is_compatible(old, new, true) && old.generated == new.generated
}

fn type_is_compatible(old: &Column, new: &Column, indexed: bool) -> bool {
    let (from, to) = (&old.ty, &new.ty);
    // Text of all character sets is stored as UTF-8, and utf8mb4 contains utf8mb3.
    let charsets = (from.collation.charset(), to.collation.charset());
    let text_stays = charsets.0 == charsets.1 || charsets == (Charset::Utf8mb3, Charset::Utf8mb4);
    if from.unsigned != to.unsigned || !text_stays {
        return false;
    }
    // Index entries are sort keys, except for ENUM and SET.
    if indexed && from.collation != to.collation && !from.has_members() {
        return false;
    }
    if let (Some(from), Some(to)) = (integer_rank(from.kind), integer_rank(to.kind)) {
        return from <= to;
    }
    if let (Some(from), Some(to)) = (text_rank(from.kind), text_rank(to.kind)) {
        return from <= to;
    }
    match (from.kind, to.kind) {
        (TypeKind::Enum(_), TypeKind::Enum(_)) | (TypeKind::Set(_), TypeKind::Set(_)) => {
            has_members_of(from.kind, to.kind)
        }
        (TypeKind::Bit, TypeKind::Bit) => from.length <= to.length,
        (TypeKind::VarChar, TypeKind::VarChar) => from.length <= to.length,
        // BINARY is padded with zeros to its length; CHAR is stored without its padding.
        (TypeKind::Char, TypeKind::Char | TypeKind::VarChar) if !from.is_binary() => from.length <= to.length,
        (TypeKind::DateTime, TypeKind::DateTime)
        | (TypeKind::Timestamp, TypeKind::Timestamp)
        | (TypeKind::Time, TypeKind::Time) => from.decimals <= to.decimals,
        (a, b) => a == b && from.length == to.length && from.decimals == to.decimals,
    }
}

/// Whether expressions over a column keep their values if the column gets a wider type.
pub(crate) fn computes_the_same(from: &SqlType, to: &SqlType) -> bool {
    let shown_alike = from.unsigned == to.unsigned && from.collation == to.collation;
    let integers = integer_rank(from.kind).is_some() && integer_rank(to.kind).is_some();
    let texts = from.kind == TypeKind::VarChar && to.kind == TypeKind::VarChar;
    let members = has_members_of(from.kind, to.kind);
    // ZEROFILL pads the displayed text to the type's width.
    shown_alike && !from.zerofill && !to.zerofill && (integers || texts || members)
}

/// Whether the members of an ENUM or a SET have the same numbers in another one. A value is the number of its member, so
/// members can be added at the end.
fn has_members_of(from: TypeKind, to: TypeKind) -> bool {
    match (from, to) {
        (TypeKind::Enum(from), TypeKind::Enum(to)) | (TypeKind::Set(from), TypeKind::Set(to)) => {
            to.texts().starts_with(from.texts())
        }
        _ => false,
    }
}

fn integer_rank(kind: TypeKind) -> Option<u8> {
    match kind {
        TypeKind::TinyInt => Some(1),
        TypeKind::SmallInt => Some(2),
        TypeKind::MediumInt => Some(3),
        TypeKind::Int => Some(4),
        TypeKind::BigInt => Some(5),
        _ => None,
    }
}

fn text_rank(kind: TypeKind) -> Option<u8> {
    match kind {
        TypeKind::TinyText => Some(1),
        TypeKind::Text => Some(2),
        TypeKind::MediumText => Some(3),
        TypeKind::LongText => Some(4),
        _ => None,
    }
}
