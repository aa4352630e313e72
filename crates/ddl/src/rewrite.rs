//! Why an ALTER TABLE rewrites the rows of its table, and what MySQL says about that.
//!
//! The rewritten rows are those of a *shadow table* ([`schema::shadow`]) until all of them are there. How a
//! row is rewritten: [`crate::conversion`].

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rewrite {
    /// MySQL does it with ALGORITHM=COPY, refuses ALGORITHM=INPLACE, and reports the number of rows.
    pub copies: bool,
    /// The reason that it gives with error 1846; otherwise it gives 1845.
    pub reason: Option<&'static str>,
    /// No other statement can use the table meanwhile: rows get ids in their order.
    pub closed: bool,
}

impl Rewrite {
    /// The type of a column, its character set or its members.
    pub(crate) const TYPE: Self = Self {
        copies: true,
        reason: Some("Cannot change column type INPLACE"),
        closed: false,
    };
    /// Stored values of generated columns, or of defaults that read other columns.
    pub(crate) const COMPUTED: Self = Self {
        copies: true,
        reason: None,
        closed: false,
    };
    /// NULL to NOT NULL outside strict mode.
    pub(crate) const NULLS: Self = Self {
        copies: true,
        reason: Some("cannot silently convert NULL values, as required in this SQL_MODE"),
        closed: false,
    };
    /// DROP PRIMARY KEY.
    pub(crate) const NO_PRIMARY_KEY: Self = Self {
        copies: true,
        reason: Some("Dropping a primary key is not allowed without also adding a new primary key"),
        closed: true,
    };
    /// A new AUTO_INCREMENT column.
    pub(crate) const NEW_IDS: Self = Self {
        copies: false,
        reason: Some("Adding an auto-increment column requires a lock"),
        closed: true,
    };
    /// What MySQL does INPLACE.
    pub(crate) const IN_PLACE: Self = Self {
        copies: false,
        reason: None,
        closed: false,
    };
}

/// Adds a reason to those that a statement has already.
pub(crate) fn rewrites(all: &mut Option<Rewrite>, why: Rewrite) {
    *all = Some(match *all {
        None => why,
        Some(before) => Rewrite {
            copies: before.copies || why.copies,
            reason: before.reason.or(why.reason),
            closed: before.closed || why.closed,
        },
    });
}
