//! The environment of binding, and the notes that binding leaves.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use types::{Collation, SqlMode, SqlType};

use crate::user_variable::UserVariable;

/// What types depend on besides the expression. A cached plan is valid for one such environment.
#[derive(Debug, Clone)]
pub struct TypeEnv {
    /// The default database, which the error for an unknown function names.
    pub database: Option<String>,
    /// `@@collation_connection`: of literals, and of numbers turned into text.
    pub collation: Collation,
    pub sql_mode: SqlMode,
    /// `@@div_precision_increment`.
    pub div_precision_increment: u8,
    /// `@@default_week_format`: the mode of WEEK() without one.
    pub default_week_format: u8,
    /// `@@group_concat_max_len`, in bytes.
    pub group_concat_max_len: u64,
    /// The session's user variables. The type of `@name`, bound by `call("@", [name])`, is that of its value.
    pub user_variables: Arc<HashMap<String, UserVariable>>,
    /// The types of variables that the statement assigns to, which override those of the values.
    pub variable_types: HashMap<String, SqlType>,
    /// The statement's parameters stand for literals that were taken out of its text, so that its plan can be
    /// shared.
    pub literal_params: bool,
    /// The expression is part of a query, or of an UPDATE or DELETE of several tables: MySQL compares a text with a date
    /// that is not constant otherwise than in UPDATE and DELETE of one table and in expressions of tables.
    pub is_in_query: Cell<bool>,
    pub notes: BindNotes,
}

/// A constant text that is no date.
#[derive(Debug, Clone)]
pub struct NoDate {
    /// The message of 1292.
    pub incorrect: String,
    /// The error of 1525.
    pub wrong: String,
}

/// Notes of binding, besides the bound expression.
#[derive(Debug, Clone, Default)]
pub struct BindNotes {
    /// The result depends on the value of a literal that was replaced by a parameter, so the original text
    /// must be bound.
    pub needs_literals: Cell<bool>,
    /// Constants that are not valid for the type they are compared with: warnings 1292, errors in strict
    /// writes.
    pub incorrect: RefCell<Vec<String>>,
    /// Constant texts that are compared with dates and are none: error 1525, in strict writes 1292.
    pub no_dates: RefCell<Vec<NoDate>>,
    /// The parameters that stand for constant texts that are compared with dates. A statement where one is no date is bound
    /// with its literals.
    pub date_params: RefCell<Vec<usize>>,
    /// How often a JSON value is used as a truth value: warnings 3986.
    pub json_truths: Cell<u32>,
    /// The types of assigned user variables: the type of the current value combined with that of the new one.
    pub assigned: RefCell<HashMap<String, SqlType>>,
}

impl Default for TypeEnv {
    fn default() -> Self {
        Self {
            database: None,
            collation: Collation::DEFAULT,
            sql_mode: SqlMode::default(),
            div_precision_increment: 4,
            default_week_format: 0,
            group_concat_max_len: 1024,
            user_variables: Arc::default(),
            variable_types: HashMap::new(),
            literal_params: false,
            is_in_query: Cell::new(false),
            notes: BindNotes::default(),
        }
    }
}
