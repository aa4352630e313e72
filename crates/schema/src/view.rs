//! Views. A view is a [`crate::model::Table`] with a [`View`]: it has a name, columns and a revision as a
//! table has, and no rows and no indexes of its own.

use serde::{Deserialize, Serialize};
use types::{Charset, Collation};

/// What a view is besides its name and columns. The columns of the table are those of the query at the time
/// of CREATE VIEW, for DESCRIBE; statements that read the view compute them again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// The query in MySQL's canonical form: each table has its database, each column its table, and `*` is
    /// spelled out, so that the text means the same in every session.
    pub query: String,
    /// CREATE VIEW has a list of column names.
    pub columns_are_named: bool,
    pub algorithm: ViewAlgorithm,
    pub definer: Definer,
    pub security: ViewSecurity,
    pub check_option: Option<CheckOption>,
    /// Rows can be updated or deleted through it, as information_schema.VIEWS says.
    pub is_updatable: bool,
    /// Of the session that created it: string literals of the query are of this collation.
    pub charset_client: Charset,
    pub collation_connection: Collation,
}

/// An account by its two names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definer {
    pub user: String,
    pub host: String,
}

/// `ALGORITHM = ...` (manual 23.5.2, "View Processing Algorithms").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum ViewAlgorithm {
    #[default]
    Undefined,
    Merge,
    TempTable,
}

/// `SQL SECURITY ...`: whose privileges on the tables of the query are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum ViewSecurity {
    #[default]
    Definer,
    Invoker,
}

/// `WITH ... CHECK OPTION` (manual 23.5.4, "The View WITH CHECK OPTION Clause").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CheckOption {
    Local,
    Cascaded,
}

impl ViewAlgorithm {
    pub fn name(self) -> &'static str {
        match self {
            Self::Undefined => "UNDEFINED",
            Self::Merge => "MERGE",
            Self::TempTable => "TEMPTABLE",
        }
    }
}

impl ViewSecurity {
    pub fn name(self) -> &'static str {
        match self {
            Self::Definer => "DEFINER",
            Self::Invoker => "INVOKER",
        }
    }
}

impl CheckOption {
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "LOCAL",
            Self::Cascaded => "CASCADED",
        }
    }
}
