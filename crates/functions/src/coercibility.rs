//! Coercibility: which collation wins when two texts with different collations meet.
//!
//! Source: manual 10.8.4 "Collation Coercibility in Expressions".

/// The coercibility of an expression's collation. The number is what `COERCIBILITY()` returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Coercibility {
    Explicit = 0,
    /// A mix of two columns' collations: it can be displayed, but not compared.
    None = 1,
    Implicit = 2,
    SystemConstant = 3,
    Coercible = 4,
    Numeric = 5,
    Ignorable = 6,
}

impl Coercibility {
    pub fn name(self) -> &'static str {
        match self {
            Self::Explicit => "EXPLICIT",
            Self::None => "NONE",
            Self::Implicit => "IMPLICIT",
            Self::SystemConstant => "SYSCONST",
            Self::Coercible => "COERCIBLE",
            Self::Numeric => "NUMERIC",
            Self::Ignorable => "IGNORABLE",
        }
    }
}

/// The coercibility of a query's column, which comes from its expression: the collation of a literal yields
/// to that of a table's column, also if the literal is a column of a derived table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strength {
    pub(crate) coercibility: Coercibility,
    /// The text is certainly ASCII.
    pub(crate) ascii: bool,
    /// It is the result of an aggregate.
    pub(crate) of_aggregate: bool,
}

impl Strength {
    /// The strength of an aggregate's result.
    #[must_use]
    pub fn of_aggregate(self) -> Self {
        Self {
            of_aggregate: true,
            ..self
        }
    }

    /// The strength that another query sees: grouped rows are stored in a table.
    #[must_use]
    pub fn in_table(self) -> Self {
        Self {
            coercibility: match self.of_aggregate {
                true => Coercibility::Implicit,
                false => self.coercibility,
            },
            of_aggregate: false,
            ..self
        }
    }
}
