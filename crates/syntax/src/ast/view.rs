//! CREATE VIEW and ALTER VIEW as written.

use super::{AccountName, ObjectName, Query, QueryBody};

#[derive(Debug, Clone)]
pub struct CreateView {
    pub verb: ViewVerb,
    pub name: ObjectName,
    /// Empty: the query names them.
    pub columns: Vec<String>,
    pub query: Box<Query>,
    pub algorithm: Option<ViewAlgorithm>,
    /// `None`: the account of the session; for ALTER VIEW that of the view.
    pub definer: Option<AccountName>,
    /// `SQL SECURITY`: true for INVOKER, false for DEFINER.
    pub invoker: Option<bool>,
    pub check_option: Option<CheckOption>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewVerb {
    Create,
    /// CREATE OR REPLACE
    Replace,
    Alter,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewAlgorithm {
    Undefined,
    Merge,
    TempTable,
}

/// `WITH [LOCAL | CASCADED] CHECK OPTION`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckOption {
    Local,
    Cascaded,
}

impl CreateView {
    /// A statement whose clauses, name and query are set later.
    pub(crate) fn new(verb: ViewVerb) -> Self {
        Self {
            verb,
            name: ObjectName {
                database: None,
                name: String::new(),
            },
            columns: Vec::new(),
            query: Box::new(Query::of(QueryBody::Values(Vec::new()))),
            algorithm: None,
            definer: None,
            invoker: None,
            check_option: None,
        }
    }
}
