//! What binding depends on besides the expression, and what it notes.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use types::{Collation, SqlMode, SqlType, Value};

/// What typing depends on besides the expression. A cached plan holds for one such environment.
#[derive(Debug, Clone)]
pub struct TypeEnv {
    /// The default database: where an unknown function is said to be missing.
    pub database: Option<String>,
    /// `@@collation_connection`: of literals, and of numbers turned into text.
    pub collation: Collation,
    pub sql_mode: SqlMode,
    /// `@@div_precision_increment`.
    pub div_precision_increment: u8,
    /// Their values' types become the types of `@name`, read by `call("@", [name])`.
    pub user_variables: Arc<HashMap<String, Value>>,
    /// Types of those that the statement assigns to, which take their place.
    pub variable_types: HashMap<String, SqlType>,
    /// The statement's parameters stand for literals, taken out of its text for the plan to be shared.
    pub literal_params: bool,
    pub notes: BindNotes,
}

/// What binding has to say besides what it makes.
#[derive(Debug, Clone, Default)]
pub struct BindNotes {
    /// What was bound depends on the value of a literal that is not known: the text has to be bound as it stands.
    pub needs_literals: Cell<bool>,
    /// Constants that are not of the type they are compared with: warnings 1292, errors in strict writes.
    pub incorrect: RefCell<Vec<String>>,
    /// How often a JSON value stands where a truth value is wanted: warnings 3986.
    pub json_truths: Cell<u32>,
    /// The types of user variables that are assigned to: of what they are before, and of what they become.
    pub assigned: RefCell<HashMap<String, SqlType>>,
}

impl Default for TypeEnv {
    fn default() -> Self {
        Self {
            database: None,
            collation: Collation::DEFAULT,
            sql_mode: SqlMode::default(),
            div_precision_increment: 4,
            user_variables: Arc::default(),
            variable_types: HashMap::new(),
            literal_params: false,
            notes: BindNotes::default(),
        }
    }
}
