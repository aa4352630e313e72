//! SIGNAL: raises a condition with the number, the message and the SQLSTATE that the statement says.
//!
//! Source: manual 13.6.7.5 "SIGNAL Statement".

use functions::{Expr, Strictness};
use syntax::ast::{ConditionItem, Signal};
use types::{Error, Result, Value, Warning, errno};

use crate::diagnostics::Signalled;
use crate::session::Session;

/// The longest message and the longest other item, in characters.
const MESSAGE_CHARS: usize = 128;
const ITEM_CHARS: usize = 64;

/// RESIGNAL outside of a handler.
pub fn no_handler() -> Error {
    Error::new(
        errno::ER_RESIGNAL_WITHOUT_ACTIVE_HANDLER,
        "RESIGNAL when handler not active",
    )
}

/// Fails with the condition, unless it is a warning.
pub fn run(session: &mut Session, signal: &Signal<Expr>) -> Result<()> {
    let class = signal.state.get(..2).unwrap_or_default();
    let (mut number, message) = match class {
        "01" => (errno::ER_SIGNAL_WARN, "Unhandled user-defined warning condition"),
        "02" => (
            errno::ER_SIGNAL_NOT_FOUND,
            "Unhandled user-defined not found condition",
        ),
        _ => (
            errno::ER_SIGNAL_EXCEPTION,
            "Unhandled user-defined exception condition",
        ),
    };
    let mut message = message.to_owned();
    let mut items = Vec::new();
    for (item, name, value) in &signal.items {
        match item {
            ConditionItem::Number => number = number_of(session, name, value)?,
            ConditionItem::Message => message = text_of(session, name, value, MESSAGE_CHARS)?,
            item => items.push((*item, text_of(session, name, value, ITEM_CHARS)?)),
        }
    }
    session.diagnostics.signalled = Some(Box::new(Signalled {
        state: signal.state.clone(),
        items,
        place: session.diagnostics.warnings.len(),
    }));
    if class == "01" {
        session.diagnostics.add(Warning::warning(number, message));
        return Ok(());
    }
    Err(Error::new(number, message))
}

fn value_of(session: &mut Session, value: &Expr) -> Result<Value> {
    let eval = session.command_context(Strictness::Ignore);
    functions::eval_value(value, &eval)
}

fn number_of(session: &mut Session, name: &str, expr: &Expr) -> Result<u16> {
    let value = value_of(session, expr)?;
    let text = value.display_text(&expr.ty());
    let number = match &value {
        Value::Int(number) => Some(*number),
        Value::UInt(number) => i64::try_from(*number).ok(),
        _ => text
            .trim()
            .parse::<f64>()
            .ok()
            .map(|number| number.round() as i64),
    };
    let number = number.and_then(|number| u16::try_from(number).ok());
    number
        .filter(|number| *number > 0)
        .ok_or_else(|| wrong_value(name, &text))
}

fn text_of(session: &mut Session, name: &str, expr: &Expr, max: usize) -> Result<String> {
    let value = value_of(session, expr)?;
    let Some(bytes) = value.to_text(&expr.ty()) else {
        return Err(wrong_value(name, "NULL"));
    };
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    let Some((end, _)) = text.char_indices().nth(max) else {
        return Ok(text);
    };
    if session.settings.sql_mode.strict {
        let message = format!("Data too long for condition item '{name}'");
        return Err(Error::new(errno::ER_COND_ITEM_TOO_LONG, message));
    }
    let message = format!("Data truncated for condition item '{name}'");
    session
        .diagnostics
        .add(Warning::warning(errno::WARN_COND_ITEM_TRUNCATED, message));
    text.truncate(end);
    Ok(text)
}

fn wrong_value(name: &str, text: &str) -> Error {
    Error::new(
        errno::ER_WRONG_VALUE_FOR_VAR,
        format!("Variable '{name}' can't be set to the value of '{text}'"),
    )
}
