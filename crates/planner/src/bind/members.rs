//! The types ENUM, SET and BIT of a column definition.

use std::borrow::Cow;

use syntax::ast::{DataType, Member, TypeName};
use types::{Charset, Collation, Error, Members, Result, SqlType, Warning, errno};

use super::Binder;
use super::collation::own_collation;

const ER_TOO_BIG_SET: u16 = 1097;
const ER_DUPLICATED_VALUE_IN_TYPE: u16 = 1291;
const ER_ILLEGAL_VALUE_FOR_TYPE: u16 = 1367;
const ER_TOO_BIG_ENUM: u16 = 3500;
const ER_INVALID_FIELD_SIZE: u16 = 3013;
const ER_TOO_LONG_MEMBER: u16 = 3505;
const BITS_MAX: u64 = 64;
const MEMBER_CHARS_MAX: usize = 255;

/// ENUM or SET, and whether SHOW CREATE TABLE shows its collation.
pub(super) fn with_members(
    binder: &Binder<'_>,
    name: &str,
    ty: &DataType,
    written: Option<Collation>,
    inherited: Collation,
) -> Result<(SqlType, bool)> {
    let (collation, _) = own_collation(ty, written, inherited);
    let explicit = written.is_some() || ty.binary;
    let is_set = ty.name == TypeName::Set;
    let members = members(binder, name, ty, is_set, collation)?;
    let ty = match is_set {
        true => SqlType::of_set(members, collation),
        false => SqlType::of_enum(members, collation),
    };
    Ok((ty, explicit))
}

fn members(
    binder: &Binder<'_>,
    name: &str,
    ty: &DataType,
    is_set: bool,
    collation: Collation,
) -> Result<Members> {
    let (kind, most) = match is_set {
        true => ("SET", Members::SET_MAX),
        false => ("ENUM", Members::ENUM_MAX),
    };
    let mut texts: Vec<String> = Vec::with_capacity(ty.members.len());
    for written in &ty.members {
        let written = text_of(written, collation.charset())?;
        // Trailing spaces are not part of a member, but of a binary one.
        let text = match collation {
            Collation::Binary => &*written,
            _ => written.trim_end_matches(' '),
        };
        if is_set && text.contains(',') {
            return Err(Error::new(
                ER_ILLEGAL_VALUE_FOR_TYPE,
                format!("Illegal set '{text}' value found during parsing"),
            ));
        }
        if !collation.charset().has_all_of(text) && collation.charset() != Charset::Binary {
            return Err(invalid_member(name));
        }
        if text.chars().count() > MEMBER_CHARS_MAX {
            return Err(Error::new(
                ER_TOO_LONG_MEMBER,
                format!("Too long enumeration/set value for column {name}."),
            ));
        }
        texts.push(text.to_owned());
    }
    if texts.len() > most {
        return Err(match is_set {
            true => Error::new(
                ER_TOO_BIG_SET,
                format!("Too many strings for column {name} and SET"),
            ),
            false => Error::new(
                ER_TOO_BIG_ENUM,
                format!("Too many enumeration values for column {name}."),
            ),
        });
    }
    refuse_duplicates(binder, name, &texts, kind, collation)?;
    Ok(Members::new(texts))
}

/// The text of a member. (One of a binary ENUM has to be UTF-8, because members are stored as text.)
fn text_of(member: &Member, charset: Charset) -> Result<Cow<'_, str>> {
    match member {
        Member::Text(text) => Ok(Cow::Borrowed(text)),
        Member::Bytes(bytes) => decoded(bytes, charset),
    }
}

/// The text of a literal of bytes in a column's character set.
pub(super) fn decoded(bytes: &[u8], charset: Charset) -> Result<Cow<'_, str>> {
    let charset = match charset {
        Charset::Binary => Charset::Utf8mb4,
        charset => charset,
    };
    let invalid = || Error::new(errno::ER_INVALID_CHARACTER_STRING, charset.invalid_message(bytes));
    match charset.whole_characters(bytes) {
        Cow::Borrowed(bytes) => charset.decode(bytes).ok_or_else(invalid),
        Cow::Owned(whole) => {
            let text = charset.decode(&whole).map(|text| Cow::Owned(text.into_owned()));
            text.ok_or_else(invalid)
        }
    }
}

/// Error 1291, a note in modes that are not strict.
fn refuse_duplicates(
    binder: &Binder<'_>,
    name: &str,
    texts: &[String],
    kind: &str,
    collation: Collation,
) -> Result<()> {
    let mut seen = std::collections::HashSet::with_capacity(texts.len());
    for text in texts {
        let mut key = Vec::new();
        collation.sort_key(text.as_bytes(), &mut key);
        if seen.insert(key) {
            continue;
        }
        let first = |other: &&String| collation.compare(other.as_bytes(), text.as_bytes()).is_eq();
        let shown = texts.iter().find(first).unwrap_or(text);
        let message = format!("Column '{name}' has duplicated value '{shown}' in {kind}");
        if binder.env.sql_mode.strict {
            return Err(Error::new(ER_DUPLICATED_VALUE_IN_TYPE, message));
        }
        binder.warn(Warning::note(ER_DUPLICATED_VALUE_IN_TYPE, message));
    }
    Ok(())
}

fn invalid_member(name: &str) -> Error {
    Error::new(
        errno::ER_INVALID_DEFAULT,
        format!("Invalid default value for '{name}'"),
    )
}

/// BIT, BIT(n).
pub(super) fn bit(name: &str, bits: Option<u64>) -> Result<SqlType> {
    match bits.unwrap_or(1) {
        0 => Err(Error::new(
            ER_INVALID_FIELD_SIZE,
            format!("Invalid size for column '{name}'."),
        )),
        bits @ 1..=BITS_MAX => Ok(SqlType::bit(bits as u32)),
        _ => Err(Error::new(
            crate::errno::ER_TOO_BIG_DISPLAYWIDTH,
            format!("Display width out of range for column '{name}' (max = {BITS_MAX})"),
        )),
    }
}
