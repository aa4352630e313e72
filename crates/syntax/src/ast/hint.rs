//! Optimizer hints: the comment `/*+ ... */` after the first word of a query block or a write. Source: manual
//! 8.9.3 "Optimizer Hints".

/// The hints of one query block.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Hints {
    pub list: Vec<Hint>,
    /// If a part of the comment is not a list of hints: the text of warning 1064. The hints before that part
    /// are used.
    pub error: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Hint {
    /// Milliseconds.
    MaxExecutionTime(u64),
    /// `SET_VAR(name = value)` is in [`crate::Parsed::set_vars`].
    SetVar,
    QueryBlockName(String),
    ResourceGroup(String),
    /// `JOIN_FIXED_ORDER([@block])`
    JoinFixedOrder {
        block: Option<String>,
    },
    JoinOrder {
        kind: JoinOrderKind,
        block: Option<String>,
        tables: Vec<HintTable>,
    },
    /// `INDEX([@block] table[@block] [index, ...])` and similar hints.
    Index {
        name: &'static str,
        use_of: IndexUse,
        negated: bool,
        table: HintTable,
        indexes: Vec<String>,
    },
    /// How to run a subquery: `SEMIJOIN([@block] [FIRSTMATCH, ...])`, `NO_SEMIJOIN`, `SUBQUERY`.
    Subquery {
        name: &'static str,
        block: Option<String>,
        strategies: Vec<&'static str>,
    },
    /// How to run a query: `BKA(t)`, `NO_MERGE(d)`, `HASH_JOIN(a, b)`.
    Strategy {
        name: &'static str,
        block: Option<String>,
        tables: Vec<HintTable>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinOrderKind {
    /// These tables in this order; others may come between.
    Order,
    /// The first tables.
    Prefix,
    /// The last tables.
    Suffix,
}

/// The use of an index that a hint allows or forbids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexUse {
    All,
    Rows,
    Group,
    Order,
    /// INDEX_MERGE, MRR, NO_ICP, NO_RANGE_OPTIMIZATION, SKIP_SCAN: ways to read an index.
    Way,
}

/// `table[@block]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HintTable {
    pub name: String,
    pub block: Option<String>,
}
