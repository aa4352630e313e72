//! The optimizer hint SET_VAR: sets system variables for one statement.
//!
//! Source: manual 8.9.3, "Variable-Setting Hint Syntax"; which variables may be set so: 5.1.8.

use syntax::ast::{Expr, NumberText, UnaryOp};
use types::{Error, Value, Warning, errno};

use crate::session::Session;
use crate::statement::set::set_session_variable;
use crate::variables::lookup;

const ER_UNRESOLVED_HINT_NAME: u16 = 3128;
const ER_NOT_HINT_UPDATABLE_VARIABLE: u16 = 3637;

/// Variables that SET_VAR takes.
const HINTABLE: &[&str] = &[
    "auto_increment_increment",
    "auto_increment_offset",
    "big_tables",
    "bulk_insert_buffer_size",
    "cte_max_recursion_depth",
    "default_tmp_storage_engine",
    "div_precision_increment",
    "end_markers_in_json",
    "eq_range_index_dive_limit",
    "foreign_key_checks",
    "group_concat_max_len",
    "insert_id",
    "internal_tmp_mem_storage_engine",
    "join_buffer_size",
    "lock_wait_timeout",
    "max_error_count",
    "max_execution_time",
    "max_heap_table_size",
    "max_join_size",
    "max_length_for_sort_data",
    "max_points_in_geometry",
    "max_seeks_for_key",
    "max_sort_length",
    "optimizer_prune_level",
    "optimizer_search_depth",
    "optimizer_switch",
    "range_alloc_block_size",
    "range_optimizer_max_mem_size",
    "read_buffer_size",
    "read_rnd_buffer_size",
    "secondary_engine_cost_threshold",
    "sort_buffer_size",
    "sql_auto_is_null",
    "sql_big_selects",
    "sql_buffer_result",
    "sql_mode",
    "sql_require_primary_key",
    "sql_safe_updates",
    "sql_select_limit",
    "stemdb_optimizer_rules",
    "time_zone",
    "timestamp",
    "tmp_table_size",
    "unique_checks",
    "updatable_views_with_limit",
    "use_secondary_engine",
    "windowing_use_high_precision",
];

/// Runs a statement with the variables that its hints set, and restores them. A variable that cannot be set
/// gives a warning.
pub fn run_with<T>(
    session: &mut Session,
    hinted: &[(String, Expr)],
    run: impl FnOnce(&mut Session) -> T,
) -> T {
    if hinted.is_empty() {
        return run(session);
    }
    let (before, forced_id) = (session.variables.clone(), session.last.forced_id);
    let mut set: Vec<&str> = Vec::new();
    for (name, value) in hinted {
        if set.contains(&name.as_str()) {
            let text = format!("Hint SET_VAR({name}) is ignored as conflicting/duplicated");
            session.diagnostics.add(Warning::warning(3126, text));
            continue;
        }
        set.push(name);
        if let Err(error) = set_hinted(session, name, value) {
            session
                .diagnostics
                .add(Warning::warning(error.code, error.message));
        }
    }
    let result = run(session);
    session.variables = before;
    let is_insert_id = |name: &&str| lookup(name).is_some_and(|found| found.canonical().name == "insert_id");
    if set.iter().any(is_insert_id) {
        session.last.forced_id = forced_id;
    }
    session.tracker.clear_changes();
    session.settings_changed();
    result
}

fn set_hinted(session: &mut Session, name: &str, value: &Expr) -> types::Result<()> {
    let Some(definition) = lookup(name) else {
        return Err(Error::new(
            ER_UNRESOLVED_HINT_NAME,
            format!("Unresolved name '{name}' for SET_VAR hint"),
        ));
    };
    let name = definition.canonical().name;
    if !HINTABLE.contains(&name) {
        return Err(Error::new(
            ER_NOT_HINT_UPDATABLE_VARIABLE,
            format!("Variable '{name}' cannot be set using SET_VAR hint."),
        ));
    }
    let value = literal(value).ok_or_else(|| {
        Error::new(
            errno::ER_WRONG_TYPE_FOR_VAR,
            format!("Incorrect argument type to variable '{name}'"),
        )
    })?;
    set_session_variable(session, name, value)
}

/// The value of a literal.
fn literal(expr: &Expr) -> Option<Value> {
    match expr {
        Expr::Text(text) => Some(Value::String(text.clone())),
        Expr::Bool(value) => Some(Value::Int(i64::from(*value))),
        Expr::Number(NumberText::Integer(digits)) => {
            let small = digits.parse().map(Value::Int);
            small.or_else(|_| digits.parse().map(Value::UInt)).ok()
        }
        Expr::Number(NumberText::Decimal(digits) | NumberText::Float(digits)) => {
            digits.parse().map(Value::Double).ok()
        }
        Expr::Unary {
            op: UnaryOp::Minus,
            operand,
        } => match literal(operand)? {
            Value::Int(value) => Some(Value::Int(-value)),
            Value::Double(value) => Some(Value::Double(-value)),
            _ => None,
        },
        _ => None,
    }
}
