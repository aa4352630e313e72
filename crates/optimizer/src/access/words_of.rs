//! Conditions that a FULLTEXT index serves: that a row has a word, or one that begins with a text, and MATCH.

use functions::full_text::{self, Key, Mode};
use functions::{Expr, bind};
use planner::plan::RangeValue;
use schema::model::Table;
use types::{SqlType, Value};

use super::fold::{self, is_constant};
use super::generated::is_same;
use super::interval::Interval;

/// The most words whose ranges are known in the plan.
const KEYS_MAX: usize = 64;

/// The hidden column whose value is an expression, and the entries with a word. The index has a word once for each row
/// that has it, by the same comparison.
pub fn with_word(words: &Expr, word: &Expr, table: &Table) -> Option<(usize, Interval)> {
    let (column, ty) = column_of(words, table)?;
    let same = word.ty().collation == ty.collation && is_constant(word);
    same.then(|| (column, Interval::Point(RangeValue::Equal(in_type(word, ty)))))
}

/// The same with the words that begin with a text.
pub fn with_prefix(words: &Expr, prefix: &Expr, table: &Table) -> Option<(usize, Interval)> {
    let (column, ty) = column_of(words, table)?;
    is_constant(prefix).then(|| (column, Interval::Point(RangeValue::Words(prefix.clone(), ty))))
}

fn column_of(words: &Expr, table: &Table) -> Option<(usize, SqlType)> {
    let expressions = table.expressions().ok().flatten()?;
    let is_it = |generated: &&schema::bound::ColumnExpression| is_same(words, &generated.value);
    let column = expressions.generated.iter().find(is_it)?.column;
    Some((column, table.columns.get(column)?.elements?))
}

/// The hidden column of the words of MATCH's columns, and the entries of which a row that it finds has one.
pub fn found(args: &[Expr], table: &Table) -> Option<(usize, Vec<Interval>)> {
    let [query, mode, _, _, columns @ ..] = args else {
        return None;
    };
    let Value::String(code) = fold::value(mode)? else {
        return None;
    };
    let parser = Mode::of_code(code.as_bytes()).parser;
    let expressions = table.expressions().ok().flatten()?;
    let is_of = |value: &Expr| match value {
        Expr::Call { function, args, .. } => {
            let has = |all: &[Expr], one: &Expr| all.iter().any(|other| is_same(other, one));
            full_text::parser_of(function.name()) == Some(parser)
                && args.iter().all(|arg| has(columns, arg))
                && columns.iter().all(|column| has(args, column))
        }
        _ => false,
    };
    let column = expressions
        .generated
        .iter()
        .find(|generated| is_of(&generated.value))?
        .column;
    let ty = table.columns.get(column)?.elements?;
    if !is_constant(query) {
        return None;
    }
    let text = |text: &str| Expr::literal(Value::from(text), ty);
    let keys = vec![query.clone(), mode.clone(), text(full_text::OF_FOUND), text("")];
    let keys = bind::call(full_text::KEYS, keys, &bind::TypeEnv::default()).ok()?;
    Some((column, intervals(keys, ty)))
}

/// The words of a document of keys, one by one if there are few.
fn intervals(keys: Expr, ty: SqlType) -> Vec<Interval> {
    let at_run_time = |keys| vec![Interval::Point(RangeValue::Words(keys, ty))];
    let Some(Value::Json(known)) = fold::value_of_call(&keys) else {
        return at_run_time(keys);
    };
    let word = |key: Key<'_>| match key {
        Key::Word(word) => Some(Interval::Point(RangeValue::Equal(Expr::literal(
            Value::from(word),
            ty,
        )))),
        Key::Prefix(_) => None,
    };
    let known = full_text::keys_of(known.root());
    let words = known
        .iter()
        .map(|key| word(*key))
        .collect::<Option<Vec<Interval>>>();
    let words = words.filter(|words| words.len() <= KEYS_MAX);
    words.unwrap_or_else(|| at_run_time(keys))
}

fn in_type(word: &Expr, ty: SqlType) -> Expr {
    match fold::value(word) {
        Some(value) => Expr::literal(value, ty),
        None => Expr::Cast {
            input: Box::new(word.clone()),
            ty,
            implicit: true,
        },
    }
}
