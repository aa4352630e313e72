//! Replaces the literals of a statement's text by `?`, so that texts that differ only in literals share one
//! plan.
//!
//! This takes one pass over the tokens and no parse. A literal stays if it means more than its value: in a
//! select list, also that of a derived table (it names the column), in GROUP BY and ORDER BY (it is a
//! position), in types (`CHAR(10)`), in patterns, units and names. If planning a normalised text fails for
//! any reason, the caller plans the original text.

pub mod template;

use types::{Collation, Decimal, SqlMode, SqlType, Value};

use crate::lexer::Lexer;
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::raw_bytes::{bytes_of, has_carried};
use crate::lexer::token::{Kind, Token};
use crate::parser::literal::unquote;
use template::{Placeholder, Template};

/// Longer texts are not worth their memory in the plan cache.
const TEXT_BYTES_MAX: usize = 16 * 1024;
const PARAMS_MAX: usize = 512;

/// A text with `?` for its literals, and what they were.
#[derive(Debug, Clone, PartialEq)]
pub struct Normalized {
    pub template: Template,
    pub params: Vec<Value>,
}

/// Normalises a text that is one SELECT, INSERT, REPLACE, UPDATE or DELETE. `None`: any other text, and texts
/// for which a shared plan has no advantage. `collation` is `@@collation_connection`, which string literals
/// have.
pub fn normalize(text: &str, mode: &SqlMode, collation: Collation) -> Option<Normalized> {
    if text.len() > TEXT_BYTES_MAX || may_set_variables(text) {
        return None;
    }
    let mut walk = Walk::new(text, mode, collation)?;
    loop {
        let token = walk.lexer.next_token();
        match token.kind {
            Kind::End => break,
            Kind::Bad | Kind::Parameter => return None,
            Kind::Semicolon => {
                if walk.lexer.next_token().kind != Kind::End {
                    return None;
                }
                break;
            }
            _ => walk.token(token)?,
        }
    }
    walk.finish()
}

/// Whether a text may have the hint SET_VAR, which must be read each time the statement runs.
fn may_set_variables(text: &str) -> bool {
    text.contains("/*+") && text.to_ascii_lowercase().contains("set_var")
}

/// A part of the statement, as far as literals are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Literals may be replaced.
    Open,
    /// The select list, GROUP BY, ORDER BY: literals stay.
    Fixed,
}

/// The statement, or a query in parentheses.
#[derive(Debug, Clone, Copy)]
struct Query {
    /// The depth of parentheses at which its own keywords stand. Deeper ones belong to its expressions.
    depth: usize,
    part: Part,
    /// Behind LIMIT, where only integers may stand.
    in_limit: bool,
}

struct Walk<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    out: String,
    /// How many bytes of the text have been copied to `out`.
    copied: usize,
    params: Vec<Value>,
    types: Vec<SqlType>,
    placeholders: Vec<Placeholder>,
    depth: usize,
    query: Query,
    /// The queries around `query`, outermost first.
    outer: Vec<Query>,
    /// The depth of a parenthesis after the name of a type or function, within which literals stay.
    fixed_below: Option<usize>,
    /// The previous token, if it keeps literals after it.
    last: Last,
    backslash_escapes: bool,
    collation: Collation,
    /// Where a `_binary` begins, if its text comes next.
    binary_from: Option<usize>,
}

/// What the previous token means for a literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Anything,
    /// A word after which a literal is not a plain value, or a string literal after which another continues
    /// it.
    Fixes,
    /// The name of a type. A literal or a parenthesis after it belongs to the type.
    TypeName,
    Minus,
}

impl<'a> Walk<'a> {
    fn new(text: &'a str, mode: &SqlMode, collation: Collation) -> Option<Self> {
        let mut lexer = Lexer::new(text, 0, mode);
        let first = lexer.next_token();
        let part = match first.keyword? {
            Kw::SELECT => Part::Fixed,
            Kw::INSERT | Kw::REPLACE | Kw::UPDATE | Kw::DELETE => Part::Open,
            _ => return None,
        };
        Some(Self {
            text,
            lexer,
            out: String::with_capacity(text.len()),
            copied: 0,
            params: Vec::with_capacity(8),
            types: Vec::with_capacity(8),
            placeholders: Vec::with_capacity(8),
            depth: 0,
            query: Query {
                depth: 0,
                part,
                in_limit: false,
            },
            outer: Vec::new(),
            fixed_below: None,
            last: Last::Anything,
            backslash_escapes: !mode.no_backslash_escapes,
            collation,
            binary_from: None,
        })
    }

    fn token(&mut self, token: Token) -> Option<()> {
        let last = std::mem::replace(&mut self.last, Last::Anything);
        let binary_from = self.binary_from.take();
        match token.kind {
            Kind::Word => {
                let word = &self.text[token.start..token.end];
                self.word(word, token.keyword);
                if word.eq_ignore_ascii_case("_binary") && self.query.part == Part::Open {
                    self.binary_from = Some(token.start);
                }
            }
            Kind::LeftParen => {
                self.depth += 1;
                if last == Last::TypeName && self.fixed_below.is_none() {
                    self.fixed_below = Some(self.depth);
                }
            }
            Kind::RightParen => {
                if self.fixed_below == Some(self.depth) {
                    self.fixed_below = None;
                }
                if self.depth == self.query.depth
                    && let Some(outer) = self.outer.pop()
                {
                    self.query = outer;
                }
                self.depth = self.depth.saturating_sub(1);
            }
            // A JSON path stays, because it names the column. The text of `@'variable'` is a name.
            Kind::Arrow | Kind::LongArrow | Kind::At | Kind::AtAt => self.last = Last::Fixes,
            // `{d '2024-01-01'}`
            Kind::LeftBrace => return None,
            // The smallest integer is one literal with its sign.
            Kind::Minus => self.last = Last::Minus,
            Kind::Text | Kind::Integer | Kind::Decimal | Kind::Float => {
                if token.kind == Kind::Text {
                    self.last = Last::Fixes;
                }
                if let (Some(start), Kind::Text) = (binary_from, token.kind) {
                    return self.binary(start, token);
                }
                if self.query.in_limit && token.kind != Kind::Integer {
                    return None;
                }
                let source = &self.text[token.start..token.end];
                if last == Last::Minus && token.kind == Kind::Integer && source.parse::<i64>().is_err() {
                    return None;
                }
                let plain = !matches!(last, Last::Fixes | Last::TypeName);
                if plain && self.query.part == Part::Open && self.fixed_below.is_none() {
                    return self.literal(token);
                }
            }
            _ => {}
        }
        Some(())
    }

    fn word(&mut self, word: &str, keyword: Option<Kw>) {
        let meaning = meaning(word, keyword);
        self.last = match meaning {
            Meaning::Fixes => Last::Fixes,
            // `DATE '2024-01-01'`, but also `DATE(column)` and `CAST(x AS DATE)`.
            Meaning::TypeName => Last::TypeName,
            _ => Last::Anything,
        };
        if meaning == Meaning::Closes && self.depth > self.query.depth && keyword == Some(Kw::SELECT) {
            self.outer.push(self.query);
            self.query.depth = self.depth;
        }
        if self.depth == self.query.depth {
            match meaning {
                Meaning::Closes => self.query.part = Part::Fixed,
                // A query within a select list is part of a column's name as a whole.
                Meaning::Opens if self.outer.iter().all(|outer| outer.part == Part::Open) => {
                    self.query.part = Part::Open;
                    self.query.in_limit = keyword == Some(Kw::LIMIT);
                }
                _ => {}
            }
        }
    }

    /// `_binary'...'`, as clients write BLOBs.
    fn binary(&mut self, start: usize, token: Token) -> Option<()> {
        let mut ahead = self.lexer;
        if ahead.next_token().kind == Kind::Text || self.params.len() == PARAMS_MAX {
            return None;
        }
        let bytes = bytes_of(unquote(
            &self.text[token.start..token.end],
            self.backslash_escapes,
        ));
        let ty = SqlType::given(bytes.len(), Collation::Binary);
        self.take_out((start, token.end), None, Value::Bytes(bytes), ty);
        Some(())
    }

    /// Replaces a literal by `?`. `kind` is the kind of its only token, if the text before it means the same
    /// before any other literal.
    fn take_out(&mut self, (start, end): (usize, usize), kind: Option<Kind>, value: Value, ty: SqlType) {
        self.out.push_str(&self.text[self.copied..start]);
        // Digits at that place would be read as the version of a comment.
        let opens_comment = |text: &str| {
            text.trim_end_matches(|c: char| c.is_ascii_digit())
                .ends_with("/*!")
        };
        self.placeholders.push(Placeholder {
            at: self.out.len(),
            kind: kind.filter(|_| !opens_comment(&self.out)),
        });
        self.out.push('?');
        self.copied = end;
        self.params.push(value);
        self.types.push(ty);
    }

    fn literal(&mut self, token: Token) -> Option<()> {
        // `'a' 'b'` is one literal: it stays whole.
        let next = self.text.as_bytes().get(token.end);
        if token.kind == Kind::Text && !matches!(next, Some(b',' | b')')) {
            let mut ahead = self.lexer;
            if ahead.next_token().kind == Kind::Text {
                return Some(());
            }
        }
        let source = &self.text[token.start..token.end];
        let (value, ty) = literal(token.kind, source, self.backslash_escapes, self.collation)?;
        if self.params.len() == PARAMS_MAX {
            return None;
        }
        self.take_out((token.start, token.end), Some(token.kind), value, ty);
        Some(())
    }

    fn finish(mut self) -> Option<Normalized> {
        if self.params.is_empty() {
            return None;
        }
        self.out.push_str(&self.text[self.copied..]);
        let template = Template {
            text: self.out,
            types: self.types,
            placeholders: self.placeholders,
            collation: self.collation,
        };
        Some(Normalized {
            template,
            params: self.params,
        })
    }
}

/// The value and type of a literal of one token as a parameter. `None`: it must stay in the text.
pub(crate) fn literal(
    kind: Kind,
    source: &str,
    backslash_escapes: bool,
    collation: Collation,
) -> Option<(Value, SqlType)> {
    Some(match kind {
        Kind::Text => {
            let value = unquote(source, backslash_escapes);
            if collation == Collation::Binary {
                let bytes = bytes_of(value);
                let ty = SqlType::given(bytes.len(), collation);
                return Some((Value::Bytes(bytes), ty));
            }
            let chars = match value.is_ascii() {
                true => value.len(),
                false if has_carried(&value) || !collation.charset().has_all_of(&value) => return None,
                false => value.chars().count(),
            };
            let ty = SqlType::given(chars, collation);
            (Value::String(value), ty)
        }
        Kind::Integer => integer(source)?,
        Kind::Decimal => {
            let value = Decimal::parse(source)?;
            let digits = source.bytes().filter(u8::is_ascii_digit).count();
            let precision = [18, 38, 65].into_iter().find(|&p| p as usize >= digits)?;
            (Value::Decimal(value), SqlType::decimal(precision, value.scale))
        }
        _ => (
            Value::Double(source.parse().ok().filter(|d: &f64| d.is_finite())?),
            SqlType::DOUBLE,
        ),
    })
}

/// Integers up to 64 bits. Larger ones are DECIMAL and stay, and so does the integer that is valid only with
/// a `-` before it.
fn integer(source: &str) -> Option<(Value, SqlType)> {
    if let Ok(value) = source.parse::<i64>() {
        return Some((Value::Int(value), SqlType::BIGINT));
    }
    source
        .parse::<u64>()
        .ok()
        .map(|value| (Value::UInt(value), SqlType::BIGINT_UNSIGNED))
}

/// What a word means for the literals after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// The next literal is not a plain value.
    Fixes,
    /// A parenthesis after it contains lengths or formats. A literal after it has this type.
    TypeName,
    /// Begins a select list, a GROUP BY or an ORDER BY.
    Closes,
    /// Ends them.
    Opens,
    Nothing,
}

fn meaning(word: &str, keyword: Option<Kw>) -> Meaning {
    let Some(keyword) = keyword else {
        return match word.as_bytes() {
            [b'_', ..] | [b'n' | b'N' | b'x' | b'X' | b'b' | b'B'] => Meaning::Fixes,
            _ => Meaning::Nothing,
        };
    };
    match keyword {
        Kw::FROM
        | Kw::HAVING
        | Kw::LIMIT
        | Kw::SET
        | Kw::VALUES
        | Kw::VALUE
        | Kw::WHERE
        | Kw::ON
        | Kw::INTO => Meaning::Opens,
        Kw::SELECT | Kw::GROUP | Kw::ORDER => Meaning::Closes,
        Kw::AS
        | Kw::AT
        | Kw::CHARACTER
        | Kw::CHARSET
        | Kw::COLLATE
        | Kw::ESCAPE
        | Kw::INTERVAL
        | Kw::LIKE
        | Kw::MATCH
        | Kw::NAMES
        | Kw::REGEXP
        | Kw::RLIKE
        | Kw::SEPARATOR
        | Kw::USING => Meaning::Fixes,
        Kw::BINARY
        | Kw::CAST
        | Kw::CHAR
        | Kw::CONVERT
        | Kw::DATE
        | Kw::DATETIME
        | Kw::DEC
        | Kw::DECIMAL
        | Kw::DOUBLE
        | Kw::FIXED
        | Kw::FLOAT
        | Kw::NCHAR
        | Kw::NUMERIC
        | Kw::TIME
        | Kw::TIMESTAMP
        | Kw::VARBINARY
        | Kw::VARCHAR
        | Kw::YEAR
        | Kw::EXTRACT
        | Kw::DATE_FORMAT
        | Kw::STR_TO_DATE
        | Kw::JSON_EXTRACT
        | Kw::JSON_VALUE
        | Kw::WEIGHT_STRING => Meaning::TypeName,
        _ => Meaning::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str) -> Option<(String, Vec<Value>)> {
        normalize(text, &SqlMode::default(), Collation::DEFAULT).map(|n| (n.template.text, n.params))
    }

    fn text_of(text: &str) -> String {
        run(text).map(|(text, _)| text).unwrap_or_default()
    }

    #[test]
    fn literals_become_parameters() {
        let (text, params) = run("SELECT c FROM t WHERE id = 5 AND s='it''s' AND d > 1.50 LIMIT 3;").unwrap();
        assert_eq!(text, "SELECT c FROM t WHERE id = ? AND s=? AND d > ? LIMIT ?;");
        assert_eq!(params[0], Value::Int(5));
        assert_eq!(params[1], Value::String("it's".into()));
        assert_eq!(params[3], Value::Int(3));
        assert_eq!(
            text_of("insert into t values (1,'a'),(-2,'b')"),
            "insert into t values (?,?),(-?,?)"
        );
    }

    #[test]
    fn what_names_a_column_of_a_derived_table_stays() {
        assert_eq!(run("SELECT * FROM (SELECT 1, 'a' FROM t ORDER BY 2) d"), None);
        assert_eq!(
            text_of("SELECT a FROM (SELECT b + 1 FROM t WHERE c = 2 LIMIT 3) d WHERE e = (4)"),
            "SELECT a FROM (SELECT b + 1 FROM t WHERE c = ? LIMIT ?) d WHERE e = (?)"
        );
        assert_eq!(
            text_of(
                "SELECT (SELECT 1 FROM t WHERE b = 2), 3 FROM t WHERE a IN (SELECT 4 FROM u WHERE b = 5) AND c = 6"
            ),
            "SELECT (SELECT 1 FROM t WHERE b = 2), 3 FROM t WHERE a IN (SELECT 4 FROM u WHERE b = ?) AND c = ?"
        );
        assert_eq!(
            text_of("INSERT INTO t SELECT * FROM (SELECT 1 FROM (SELECT 2) e WHERE 3) d WHERE 4"),
            "INSERT INTO t SELECT * FROM (SELECT 1 FROM (SELECT 2) e WHERE ?) d WHERE ?"
        );
    }

    #[test]
    fn literals_that_mean_more_stay() {
        assert_eq!(run("SELECT 1, 'a' FROM t"), None);
        assert_eq!(
            text_of("SELECT a, 1 FROM t WHERE b = 2 GROUP BY 1 ORDER BY 2 LIMIT 7"),
            "SELECT a, 1 FROM t WHERE b = ? GROUP BY 1 ORDER BY 2 LIMIT ?"
        );
        assert_eq!(
            text_of("SELECT a FROM t WHERE b = DATE '2024-01-01' AND c = 1"),
            "SELECT a FROM t WHERE b = DATE '2024-01-01' AND c = ?"
        );
        assert_eq!(
            text_of("SELECT a FROM t WHERE CAST(b AS CHAR(3)) = 'x'"),
            "SELECT a FROM t WHERE CAST(b AS CHAR(3)) = ?"
        );
        assert_eq!(
            text_of("SELECT a FROM t WHERE b LIKE 'x%' AND c = 'y'"),
            "SELECT a FROM t WHERE b LIKE 'x%' AND c = ?"
        );
        assert_eq!(
            text_of("SELECT a FROM t WHERE b = 'x' 'y' AND c = 1"),
            "SELECT a FROM t WHERE b = 'x' 'y' AND c = ?"
        );
        assert_eq!(
            text_of("SELECT a FROM t WHERE b = _latin1'x' AND c = 0x41 OR d = 1"),
            "SELECT a FROM t WHERE b = _latin1'x' AND c = 0x41 OR d = ?"
        );
        assert_eq!(
            text_of("SELECT a FROM t WHERE j->'$.a' = 1 AND x > NOW() - INTERVAL 5 DAY"),
            "SELECT a FROM t WHERE j->'$.a' = ? AND x > NOW() - INTERVAL 5 DAY"
        );
    }

    #[test]
    fn blobs_are_parameters_and_limits_are_integers() {
        let (text, params) = run("INSERT INTO t VALUES (1, _binary'a\\0b', _BINARY 'x')").unwrap();
        assert_eq!(text, "INSERT INTO t VALUES (?, ?, ?)");
        assert_eq!(
            params[1..],
            [Value::Bytes(b"a\0b".to_vec()), Value::Bytes(b"x".to_vec())]
        );
        assert_eq!(run("SELECT a FROM t WHERE b = 1 LIMIT 1.5"), None);
        assert_eq!(run("SELECT a FROM t LIMIT 'a'"), None);
    }

    #[test]
    fn signs_and_names_are_no_literals() {
        assert_eq!(
            text_of("SELECT a FROM t WHERE b = @'x' AND c = -5"),
            "SELECT a FROM t WHERE b = @'x' AND c = -?"
        );
        assert_eq!(run("SELECT a FROM t WHERE b = -9223372036854775808"), None);
        assert_eq!(run("SELECT a FROM t WHERE b = {d '2024-01-01'}"), None);
    }

    #[test]
    fn other_texts_are_left_alone() {
        assert_eq!(run("CREATE TABLE t (a INT DEFAULT 1)"), None);
        assert_eq!(run("SELECT a FROM t WHERE b = 1; SELECT 2"), None);
        assert_eq!(run("SELECT a FROM t WHERE b = ?"), None);
        assert_eq!(run("SELECT a FROM t WHERE b = 'open"), None);
        assert_eq!(run(""), None);
    }
}
