//! The reasons why an ALTER TABLE rewrites the rows of its table, with MySQL's texts.
//!
//! The rewritten rows belong to a *shadow table* ([`schema::shadow`]) until all rows are rewritten.
//! [`crate::conversion`] tells how a row is rewritten.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rewrite {
    /// MySQL uses ALGORITHM=COPY, refuses ALGORITHM=INPLACE, and reports the number of rows.
    pub copies: bool,
    /// The reason that MySQL gives with error 1846; `None` if the error is 1845.
    pub reason: Option<&'static str>,
    /// No other statement can write the table meanwhile, because rows get ids in their order.
    pub stops_writers: bool,
    /// Rows of several partitions come together, which may have the same hidden ids.
    pub regroups: bool,
}

impl Rewrite {
    /// The type of a column, its character set or its members.
    pub(crate) const TYPE: Self = Self {
        copies: true,
        reason: Some("Cannot change column type INPLACE"),
        stops_writers: false,
        regroups: false,
    };
    /// MySQL copies the rows and names no reason: stored values of generated columns, or of defaults that read
    /// other columns; ALGORITHM=COPY; WITH VALIDATION.
    pub(crate) const BY_COPY: Self = Self {
        reason: None,
        ..Self::TYPE
    };
    /// NULL to NOT NULL outside strict mode.
    pub(crate) const NULLS: Self = Self {
        reason: Some("cannot silently convert NULL values, as required in this SQL_MODE"),
        ..Self::TYPE
    };
    /// DROP PRIMARY KEY.
    pub(crate) const NO_PRIMARY_KEY: Self = Self {
        reason: Some("Dropping a primary key is not allowed without also adding a new primary key"),
        ..Self::TYPE
    };
    /// A new AUTO_INCREMENT column.
    pub(crate) const NEW_IDS: Self = Self {
        copies: false,
        reason: Some("Adding an auto-increment column requires a lock"),
        stops_writers: true,
        ..Self::TYPE
    };
    /// A rewrite that MySQL does INPLACE.
    pub(crate) const IN_PLACE: Self = Self {
        copies: false,
        reason: None,
        ..Self::TYPE
    };
}

/// Adds a reason to those of a statement.
pub(crate) fn rewrites(all: &mut Option<Rewrite>, why: Rewrite) {
    *all = Some(match *all {
        None => why,
        Some(before) => Rewrite {
            copies: before.copies || why.copies,
            reason: before.reason.or(why.reason),
            stops_writers: before.stops_writers || why.stops_writers,
            regroups: before.regroups || why.regroups,
        },
    });
}
