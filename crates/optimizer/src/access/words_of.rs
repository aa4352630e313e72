//! Conditions that a FULLTEXT index serves: that a row has a word, and MATCH of a query that is known.

use functions::Expr;
use functions::full_text::{self, Mode, Query};
use schema::model::Table;
use types::Value;

use super::fold::{self, is_constant};
use super::generated::is_same;

/// The most words of which an index is read.
const KEYS_MAX: usize = 64;

/// The hidden column whose value is an expression, and the key of a word in its index. The index has a word once for
/// each row that has it, by the same comparison.
pub fn key(words: &Expr, word: &Expr, table: &Table) -> Option<(usize, Expr)> {
    let expressions = table.expressions().ok().flatten()?;
    let is_it = |generated: &&schema::bound::ColumnExpression| is_same(words, &generated.value);
    let column = expressions.generated.iter().find(is_it)?.column;
    let ty = table.columns.get(column)?.elements?;
    let same = word.ty().collation == ty.collation && is_constant(word);
    same.then(|| (column, in_type(word, ty)))
}

/// The hidden column of the words of MATCH's columns, and the words of which a row that it finds has one.
pub fn keys(args: &[Expr], table: &Table) -> Option<(usize, Vec<Expr>)> {
    let [query, mode, counts, _, _, rest @ ..] = args else {
        return None;
    };
    let counts = match fold::value(counts)? {
        Value::Int(counts) => usize::try_from(counts).ok()?,
        _ => return None,
    };
    let columns = rest.get(counts..)?;
    let (Value::String(text), Value::String(mode)) = (fold::value(query)?, fold::value(mode)?) else {
        return None;
    };
    let mode = Mode::of_code(mode.as_bytes());
    let expressions = table.expressions().ok().flatten()?;
    let is_of = |value: &Expr| match value {
        Expr::Call { function, args, .. } => {
            let has = |all: &[Expr], one: &Expr| all.iter().any(|other| is_same(other, one));
            full_text::parser_of(function.name()) == Some(mode.parser)
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
    let query = Query::parse(&text, mode, ty.collation).ok()?;
    let words = query.alternatives()?;
    if words.len() > KEYS_MAX {
        return None;
    }
    let key = |word: &str| Expr::literal(Value::String(word.to_owned()), ty);
    Some((column, words.into_iter().map(key).collect()))
}

fn in_type(word: &Expr, ty: types::SqlType) -> Expr {
    match fold::value(word) {
        Some(value) => Expr::literal(value, ty),
        None => Expr::Cast {
            input: Box::new(word.clone()),
            ty,
            implicit: true,
        },
    }
}
