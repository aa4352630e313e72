//! GET DIAGNOSTICS: user variables get what the statement before has left in the diagnostics area.
//!
//! Source: manual 13.6.7.3 "GET DIAGNOSTICS Statement".

use functions::{Expr, Strictness};
use syntax::ast::{ConditionItem, Diagnostics, StatementItem};
use types::{Error, Result, Value, Warning, errno};

use crate::session::Session;

/// Whether the condition is there. One that is not is one more condition, and no failure of the statement.
pub fn run(session: &mut Session, asked: &Diagnostics<Expr>) -> Result<bool> {
    let assigned = match asked {
        Diagnostics::OfStatement(items) => items
            .iter()
            .map(|(name, item)| (name.clone(), of_statement(session, *item)))
            .collect(),
        Diagnostics::OfCondition { number, items } => {
            let Some(place) = place(session, number)? else {
                let message = "Invalid condition number";
                session
                    .diagnostics
                    .add_error(&Error::new(errno::ER_DA_INVALID_CONDITION_NUMBER, message));
                return Ok(false);
            };
            let of_item =
                |(name, item): &(String, ConditionItem)| (name.clone(), of_condition(session, place, *item));
            items.iter().map(of_item).collect::<Vec<_>>()
        }
    };
    for (name, value) in assigned {
        session.user_variables.set(&name, value);
    }
    session.state_changed();
    Ok(true)
}

/// Where the condition with a number is, if it is there.
fn place(session: &mut Session, number: &Expr) -> Result<Option<usize>> {
    let eval = session.command_context(Strictness::Warn);
    let number = match functions::eval_value(number, &eval)? {
        Value::Int(number) => usize::try_from(number).ok(),
        Value::UInt(number) => usize::try_from(number).ok(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    let place = number.and_then(|number| number.checked_sub(1));
    Ok(place.filter(|place| *place < session.diagnostics.warnings.len()))
}

fn of_statement(session: &Session, item: StatementItem) -> Value {
    match item {
        StatementItem::Number => Value::Int(session.diagnostics.warnings.len() as i64),
        StatementItem::RowCount => Value::Int(session.last.row_count),
    }
}

fn of_condition(session: &Session, place: usize, item: ConditionItem) -> Value {
    let Some(condition) = session.diagnostics.warnings.get(place) else {
        return Value::Null;
    };
    match (item, session.diagnostics.signalled_at(place)) {
        (ConditionItem::Number | ConditionItem::Message, _) | (_, None) => of_number(condition, item),
        (ConditionItem::SqlState, Some(signalled)) => Value::from(signalled.state.as_str()),
        (item, Some(signalled)) => {
            let set = signalled.items.iter().find(|(set, _)| *set == item);
            Value::from(set.map_or("", |(_, text)| text.as_str()))
        }
    }
}

/// What follows from the number and the message of a condition.
fn of_number(condition: &Warning, item: ConditionItem) -> Value {
    let state = errno::sqlstate(condition.code);
    let origin = |is_of_standard| Value::from(if is_of_standard { "ISO 9075" } else { "MySQL" });
    match item {
        ConditionItem::Number => Value::Int(i64::from(condition.code)),
        ConditionItem::Message => Value::String(condition.message.clone()),
        ConditionItem::SqlState => Value::from(state),
        ConditionItem::ClassOrigin => origin(is_of_standard(state)),
        ConditionItem::SubclassOrigin => origin(is_of_standard(state) || state.ends_with("000")),
        _ => Value::from(""),
    }
}

/// Whether the SQL standard, not MySQL, says what a SQLSTATE's class means.
fn is_of_standard(state: &str) -> bool {
    state
        .bytes()
        .next()
        .is_some_and(|first| matches!(first, b'0'..=b'4' | b'A'..=b'H'))
}
