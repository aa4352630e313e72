//! Character sets and collations: lookup by name, and the ones that a definition gets.

use types::{Charset, Collation, Error, Result, Warning, errno};

use super::Binder;
use crate::errno::{
    ER_DEPRECATED_NATIONAL, ER_DEPRECATED_UTF8_ALIAS, ER_WARN_DEPRECATED_COLLATION,
    ER_WARN_DEPRECATED_SYNTAX, ER_WARN_DEPRECATED_UTF8MB3_COLLATION,
};
use syntax::ast::DataType;

/// Fails with 1115.
pub fn charset_named(name: &str) -> Result<Charset> {
    Charset::from_name(name).ok_or_else(|| {
        Error::new(
            errno::ER_UNKNOWN_CHARACTER_SET,
            format!("Unknown character set: '{name}'"),
        )
    })
}

/// Fails with 1273.
pub fn collation_named(name: &str) -> Result<Collation> {
    Collation::from_name(name).ok_or_else(|| {
        Error::new(
            errno::ER_UNKNOWN_COLLATION,
            format!("Unknown collation: '{name}'"),
        )
    })
}

/// The collation that a pair of clauses gives; `None` without either. Fails with 1253 if they contradict each
/// other.
pub fn of_clauses(charset: Option<&str>, collation: Option<&str>) -> Result<Option<Collation>> {
    let charset = charset.map(charset_named).transpose()?;
    let collation = collation.map(collation_named).transpose()?;
    match (charset, collation) {
        (Some(charset), Some(collation)) if collation.charset() != charset => {
            Err(mismatch(collation, charset))
        }
        (_, Some(collation)) => Ok(Some(collation)),
        (Some(charset), None) => Ok(Some(charset.default_collation())),
        (None, None) => Ok(None),
    }
}

/// The collation that a character type names or inherits, and whether SHOW CREATE TABLE shows it even if it is the
/// table's.
pub fn own_collation(ty: &DataType, written: Option<Collation>, inherited: Collation) -> (Collation, bool) {
    let mut collation = written.unwrap_or(inherited);
    // Beside a character set, COLLATE decides.
    if ty.binary && (ty.charset.is_none() || ty.collation.is_none()) {
        collation = collation.charset().bytewise_collation();
    }
    let explicit = written.is_some() && collation.charset() != Charset::Binary;
    (collation, explicit)
}

/// Error 1302.
pub fn conflicting(first: Charset, second: Charset) -> Error {
    Error::new(
        errno::ER_CONFLICTING_DECLARATIONS,
        format!(
            "Conflicting declarations: 'CHARACTER SET {}' and 'CHARACTER SET {}'",
            first.name(),
            second.name()
        ),
    )
}

/// Error 1253.
pub fn mismatch(collation: Collation, charset: Charset) -> Error {
    Error::new(
        errno::ER_COLLATION_CHARSET_MISMATCH,
        format!(
            "COLLATION '{}' is not valid for CHARACTER SET '{}'",
            collation.name(),
            charset.name()
        ),
    )
}

/// Character sets that MySQL will remove, besides `utf8mb3`.
const DEPRECATED: [&str; 5] = ["dec8", "hp8", "macce", "macroman", "ucs2"];

/// The warning that MySQL gives where a character set is named that it will remove; `None` for the others.
pub fn deprecated_charset(name: &str) -> Option<Warning> {
    if name.eq_ignore_ascii_case("utf8") {
        return Some(Warning::warning(
            ER_DEPRECATED_UTF8_ALIAS,
            "'utf8' is currently an alias for the character set UTF8MB3, but will be an alias for UTF8MB4 in a future \
             release. Please consider using UTF8MB4 in order to be unambiguous.",
        ));
    }
    let mut names = DEPRECATED.into_iter().chain(["utf8mb3"]);
    let name = names.find(|deprecated| deprecated.eq_ignore_ascii_case(name))?;
    Some(Warning::warning(
        ER_WARN_DEPRECATED_SYNTAX,
        format!("'{name}' is deprecated and will be removed in a future release. Please use utf8mb4 instead"),
    ))
}

/// The warning that MySQL gives for collations of these character sets.
pub fn deprecated_collation(collation: Collation) -> Option<Warning> {
    let (name, charset) = (collation.name(), collation.charset());
    if charset == Charset::Utf8mb3 {
        return Some(Warning::warning(
            ER_WARN_DEPRECATED_UTF8MB3_COLLATION,
            format!(
                "'{name}' is a collation of the deprecated character set UTF8MB3. Please consider using UTF8MB4 with an \
                 appropriate collation instead."
            ),
        ));
    }
    DEPRECATED.contains(&charset.name()).then(|| {
        Warning::warning(
            ER_WARN_DEPRECATED_COLLATION,
            format!(
                "'{name}' is a collation of the deprecated character set {}. Please consider using utf8mb4 with an \
                 appropriate collation instead.",
                charset.name()
            ),
        )
    })
}

/// MySQL's warning for NCHAR, NVARCHAR and the other national types.
fn deprecated_national() -> Warning {
    Warning::warning(
        ER_DEPRECATED_NATIONAL,
        "NATIONAL/NCHAR/NVARCHAR implies the character set UTF8MB3, which will be replaced by UTF8MB4 in a future release. \
         Please consider using CHAR(x) CHARACTER SET UTF8MB4 in order to be unambiguous.",
    )
}

/// MySQL's warning for an attribute of a character type that it will remove.
fn deprecated_attribute(attribute: &str) -> Warning {
    let (what, instead) = match attribute {
        "BINARY" => (
            "BINARY as attribute of a type",
            "a CHARACTER SET clause with _bin collation",
        ),
        attribute => (attribute, "CHARACTER SET charset_name"),
    };
    Warning::warning(
        ER_WARN_DEPRECATED_SYNTAX,
        format!(
            "'{what}' is deprecated and will be removed in a future release. Please use {instead} instead"
        ),
    )
}

/// The character set that an expression names.
pub(super) fn charset_of_expression(binder: &Binder<'_>, name: &str) -> Result<Charset> {
    let charset = charset_named(name)?;
    if let Some(warning) = deprecated_charset(name) {
        binder.warn_each_time(warning);
    }
    Ok(charset)
}

/// The character set of `N'...'` and NCHAR.
pub(super) fn national_charset(binder: &Binder<'_>) -> Charset {
    binder.warn_each_time(deprecated_national());
    Charset::Utf8mb3
}

/// [`of_clauses`] for a definition, with warnings.
pub(super) fn collation_of_clauses(
    binder: &Binder<'_>,
    charset: Option<&str>,
    collation: Option<&str>,
) -> Result<Option<Collation>> {
    warn_of_clauses(binder, charset, collation);
    of_clauses(charset, collation)
}

/// Warns of names that MySQL will remove.
pub(super) fn warn_of_clauses(binder: &Binder<'_>, charset: Option<&str>, collation: Option<&str>) {
    charset
        .and_then(deprecated_charset)
        .into_iter()
        .for_each(|w| binder.warn_of_text(w));
    let named = collation.and_then(Collation::from_name);
    named
        .and_then(deprecated_collation)
        .into_iter()
        .for_each(|w| binder.warn_of_text(w));
}

/// The same for a column's type.
pub(super) fn collation_of_type(binder: &Binder<'_>, ty: &DataType) -> Result<Option<Collation>> {
    for attribute in &ty.deprecated {
        binder.warn_of_text(deprecated_attribute(attribute));
    }
    if ty.national {
        binder.warn_of_text(deprecated_national());
        return of_clauses(ty.charset.as_deref(), ty.collation.as_deref());
    }
    if ty.deprecated.contains(&"UNICODE") {
        return of_clauses(ty.charset.as_deref(), ty.collation.as_deref());
    }
    collation_of_clauses(binder, ty.charset.as_deref(), ty.collation.as_deref())
}
