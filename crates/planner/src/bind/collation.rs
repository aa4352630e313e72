//! Character sets and collations by name, and which of them a definition gets.

use types::{Charset, Collation, Error, Result, errno};

/// Fails with 1115.
pub fn charset_named(name: &str) -> Result<Charset> {
    Charset::from_name(name).ok_or_else(|| {
        Error::new(
            errno::ER_UNKNOWN_CHARACTER_SET,
            format!("Unknown character set: '{name}'"),
        )
    })
}

/// Fails with 1273. Collations of utf8mb3 are read as those of utf8mb4, as its character set is.
pub fn collation_named(name: &str) -> Result<Collation> {
    let lower = name.to_ascii_lowercase();
    let suffix = lower
        .strip_prefix("utf8mb3_")
        .or_else(|| lower.strip_prefix("utf8_"));
    let wanted = suffix.map(|suffix| format!("utf8mb4_{suffix}")).unwrap_or(lower);
    Collation::from_name(&wanted).ok_or_else(|| {
        Error::new(
            errno::ER_UNKNOWN_COLLATION,
            format!("Unknown collation: '{name}'"),
        )
    })
}

/// The collation that a pair of clauses gives; `None` where neither is there. Fails with 1253 where they contradict.
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

/// The bytewise collation of a character set: the attribute BINARY.
pub fn binary_of(charset: Charset) -> Result<Collation> {
    match charset {
        Charset::Utf8mb4 => Ok(Collation::Utf8mb4Bin),
        Charset::Ascii => Ok(Collation::AsciiBin),
        Charset::Binary => Ok(Collation::Binary),
        Charset::Latin1 => Err(Error::not_supported(
            "the collation latin1_bin",
            "use utf8mb4_bin",
        )),
    }
}
