//! The text behind AGAINST: what it asks of a row, in the order in which InnoDB asks.
//!
//! A boolean query has operators before words, phrases and parentheses. In a natural one, only quotes and a
//! lone `*` mean something. The order matters: words that are neither required nor excluded come first, then
//! the required ones (`+`), then the excluded ones (`-`), at each level.

use std::collections::HashMap;

use types::collation::character_count;
use types::{Collation, Error, Result, errno};

use super::sort_keys::{Keys, sort_key};
use super::words::{self, CHARS_MAX, CHARS_MIN, Indexed, NGRAM_CHARS, Parser};

/// How many words a phrase may have.
const PHRASE_WORDS_MAX: usize = 128;
/// How many pairs of parentheses a query may have. Each is a level of what recursive functions read, also those
/// that stand side by side.
const PARENTHESES_MAX: usize = 128;
/// How many different words a query may have. The statement counts the rows of each.
const WORDS_MAX: usize = 20_000;

/// How a query's text is read, and how texts are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode {
    /// IN BOOLEAN MODE.
    pub boolean: bool,
    pub parser: Parser,
}

impl Mode {
    /// The mode as an argument of functions has it.
    pub fn code(self) -> &'static str {
        match (self.boolean, self.parser) {
            (false, Parser::BuiltIn) => "natural",
            (true, Parser::BuiltIn) => "boolean",
            (false, Parser::Ngram) => "natural ngram",
            (true, Parser::Ngram) => "boolean ngram",
        }
    }

    pub fn of_code(code: &[u8]) -> Self {
        Self {
            boolean: code.starts_with(b"boolean"),
            parser: match code.ends_with(b"ngram") {
                true => Parser::Ngram,
                false => Parser::BuiltIn,
            },
        }
    }
}

/// What a word, a phrase or a query in parentheses does to the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    None,
    /// `+`
    Required,
    /// `-`
    Excluded,
    /// `~`
    Negated,
    /// `<`
    Less,
    /// `>`
    More,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Operand {
    /// The number of a word among the query's.
    Word(usize),
    Phrase(Phrase),
    Query(Vec<(Operator, Operand)>),
}

/// A text in quotes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Phrase {
    /// The numbers of its words that an index can have; the first is also the first of `parts`.
    pub words: Vec<usize>,
    /// All of its words from the first of those on, as numbers of [`Query::keys`].
    pub parts: Vec<usize>,
    /// Those of them that an index can have.
    pub indexed: Vec<usize>,
    /// `@n`: the words are among `n` words of the text, in any order.
    pub distance: Option<usize>,
}

/// A word that a query searches.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryWord {
    pub text: String,
    /// `word*`: all words that begin with it.
    pub is_prefix: bool,
    /// How often it is searched. InnoDB counts the rows that have it anew each time.
    pub searches: u64,
    /// Its number among the parts of [`Query::keys`], if an index can have it and it is no prefix.
    pub(super) part: Option<usize>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query {
    pub words: Vec<QueryWord>,
    pub(super) steps: Vec<(Operator, Operand)>,
    pub(super) keys: Keys,
    /// The whole query is a word without an operator.
    pub(super) is_word: bool,
}

impl Query {
    /// # Errors
    /// 1064 for a boolean query whose operators do not stand where they can; 1235 for one with too many words or
    /// parentheses.
    pub fn parse(text: &str, mode: Mode, collation: Collation) -> Result<Self> {
        let text = words::folded(text, collation);
        let indexed = Indexed::new(mode.parser, collation);
        let reader = Reader {
            mode,
            indexed: &indexed,
            tokens: tokens(&text, mode.boolean),
            at: 0,
            parentheses: 0,
        };
        let mut query = Self::default();
        let nodes = match (mode.parser, mode.boolean) {
            (Parser::Ngram, false) => words::ngrams(&text).map(|word| Node::word(word, false)).collect(),
            _ => reader.read()?,
        };
        query.is_word = matches!(nodes.as_slice(), [Node::Word { .. }]);
        let mut steps = Vec::new();
        let mut made = Made {
            query: &mut query,
            numbers: HashMap::new(),
            mode,
            indexed: &indexed,
            collation,
        };
        made.list(Operator::None, &nodes, &mut steps)?;
        query.steps = steps;
        Ok(query)
    }

    /// The words of which a row that is found has at least one.
    pub fn alternatives(&self) -> Vec<&QueryWord> {
        let mut found = Vec::new();
        alternatives(&self.steps, &mut found);
        found
            .iter()
            .filter_map(|number| self.words.get(*number))
            .collect()
    }
}

/// Adds the words of which a row that satisfies the steps has one.
fn alternatives(steps: &[(Operator, Operand)], found: &mut Vec<usize>) {
    let adds = |operator: &Operator| !matches!(operator, Operator::Excluded | Operator::Negated);
    let required = steps
        .iter()
        .rposition(|(operator, _)| *operator == Operator::Required);
    // What was found before a required word is left only if it has that word.
    let adding = steps.iter().skip(required.unwrap_or(0));
    for (_, operand) in adding.filter(|(operator, _)| adds(operator)) {
        match operand {
            Operand::Word(word) => found.push(*word),
            Operand::Phrase(phrase) => found.extend(phrase.words.first()),
            Operand::Query(steps) => alternatives(steps, found),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Token<'t> {
    Operator(char),
    Number(&'t str),
    Term(&'t str),
    /// Without its quotes.
    Text(&'t str),
}

impl Token<'_> {
    /// As MySQL's error names it.
    fn name(token: Option<Self>) -> String {
        match token {
            None => "$end".to_owned(),
            Some(Self::Operator(operator)) => format!("'{operator}'"),
            Some(Self::Number(_)) => "FTS_NUMB".to_owned(),
            Some(Self::Term(_)) => "FTS_TERM".to_owned(),
            Some(Self::Text(_)) => "FTS_TEXT".to_owned(),
        }
    }
}

fn tokens(text: &str, boolean: bool) -> Vec<Token<'_>> {
    let is_operator = |character: char| boolean && "*()+-<>~@".contains(character);
    let ends_term = |character: char| " \n\"%".contains(character) || is_operator(character);
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let term = rest.find(ends_term).unwrap_or(rest.len());
        let taken = if blanks > 0 && blanks >= term {
            blanks
        } else if is_operator(first) || (first == '*' && term == 1) {
            tokens.push(Token::Operator(first));
            first.len_utf8()
        } else if term > 0 {
            let word = &rest[..term];
            let is_number = boolean && word.bytes().all(|byte| byte.is_ascii_digit());
            tokens.push(match is_number {
                true => Token::Number(word),
                false => Token::Term(word),
            });
            term
        } else {
            match quoted(rest) {
                Some(inside) => {
                    tokens.push(Token::Text(inside));
                    inside.len() + 2
                }
                None => first.len_utf8(),
            }
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    tokens
}

/// What is between the quote that a text begins with and the next one on the same line.
fn quoted(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('"')?;
    let end = inside.find(['"', '\n'])?;
    inside[end..].starts_with('"').then_some(&inside[..end])
}

/// A query as it is written.
enum Node {
    Operator(Operator),
    Word {
        text: String,
        is_prefix: bool,
    },
    Text {
        text: String,
        distance: Option<usize>,
    },
    List(Vec<Self>),
    /// In parentheses.
    Query(Vec<Self>),
}

impl Node {
    fn word(text: &str, is_prefix: bool) -> Self {
        Self::Word {
            text: text.to_owned(),
            is_prefix,
        }
    }
}

struct Reader<'t> {
    mode: Mode,
    indexed: &'t Indexed,
    tokens: Vec<Token<'t>>,
    at: usize,
    /// How many pairs of them were begun.
    parentheses: usize,
}

impl<'t> Reader<'t> {
    fn read(mut self) -> Result<Vec<Node>> {
        let nodes = self.list()?;
        match self.peek() {
            None => Ok(nodes),
            Some(_) => Err(self.unexpected("$end")),
        }
    }

    fn peek(&self) -> Option<Token<'t>> {
        self.tokens.get(self.at).copied()
    }

    fn eat(&mut self, operator: char) -> bool {
        let is_it = self.peek() == Some(Token::Operator(operator));
        self.at += usize::from(is_it);
        is_it
    }

    fn unexpected(&self, expected: &str) -> Error {
        let found = Token::name(self.peek());
        let expecting = match expected {
            "" => String::new(),
            expected => format!(", expecting {expected}"),
        };
        Error::new(
            errno::ER_PARSE_ERROR,
            format!("syntax error, unexpected {found}{expecting}"),
        )
    }

    /// The words, phrases and queries up to what is none of them.
    fn list(&mut self) -> Result<Vec<Node>> {
        let mut nodes = Vec::new();
        loop {
            let operator = self.operator();
            if self.eat('(') {
                self.parentheses += 1;
                if self.parentheses > PARENTHESES_MAX {
                    return Err(too_many("parentheses"));
                }
                let inner = self.list()?;
                if !self.eat(')') {
                    return Err(self.unexpected(""));
                }
                // What stands before parentheses is complete before them.
                let before = std::mem::take(&mut nodes);
                nodes.push(Node::List(before));
                let query = Node::Query(vec![Node::List(inner)]);
                nodes.push(with_operator(operator, Some(query)));
                continue;
            }
            match self.peek() {
                Some(Token::Number(_) | Token::Term(_) | Token::Operator('*')) => {
                    let term = self.term()?;
                    nodes.push(with_operator(operator, term));
                }
                Some(Token::Text(text)) => {
                    self.at += 1;
                    let distance = self.distance()?;
                    let node = (!text.is_empty()).then(|| Node::Text {
                        text: text.to_owned(),
                        distance,
                    });
                    nodes.push(with_operator(operator, node));
                }
                _ if operator.is_some() => return Err(self.unexpected("")),
                _ => return Ok(nodes),
            }
        }
    }

    fn operator(&mut self) -> Option<Operator> {
        let Some(Token::Operator(sign)) = self.peek() else {
            return None;
        };
        let operator = match sign {
            '+' => Operator::Required,
            '-' => Operator::Excluded,
            '~' => Operator::Negated,
            '<' => Operator::Less,
            '>' => Operator::More,
            _ => return None,
        };
        self.at += 1;
        Some(operator)
    }

    /// `@n` behind a phrase.
    fn distance(&mut self) -> Result<Option<usize>> {
        if !self.eat('@') {
            return Ok(None);
        }
        match self.peek() {
            Some(Token::Number(digits)) => {
                self.at += 1;
                Ok(Some(digits.parse().unwrap_or(usize::MAX)))
            }
            _ => Err(self.unexpected("FTS_NUMB")),
        }
    }

    /// A word, or the several that one without blanks has: `don't`. `None`: it has no letters.
    fn term(&mut self) -> Result<Option<Node>> {
        while self.eat('*') {
            if !matches!(
                self.peek(),
                Some(Token::Number(_) | Token::Term(_) | Token::Operator('*'))
            ) {
                return Err(self.unexpected("FTS_TERM or FTS_NUMB or '*'"));
            }
        }
        let Some(Token::Number(text) | Token::Term(text)) = self.peek() else {
            return Ok(None);
        };
        self.at += 1;
        let is_prefix = self.eat('*');
        if self.mode.parser == Parser::Ngram {
            return self.ngram_term(text, is_prefix);
        }
        let mut found: Vec<Node> = Vec::new();
        for run in words::runs(text) {
            let chars = character_count(run);
            // The first may be short: no row has it then.
            if chars <= CHARS_MAX && (chars >= CHARS_MIN || found.is_empty()) {
                found.push(Node::word(run, false));
            }
        }
        if let Some(Node::Word {
            is_prefix: of_last, ..
        }) = found.last_mut()
        {
            *of_last = is_prefix;
        }
        Ok(match found.len() {
            0 | 1 => found.pop(),
            _ => Some(Node::List(found)),
        })
    }

    /// The pairs of characters of a word are a phrase.
    fn ngram_term(&self, text: &str, is_prefix: bool) -> Result<Option<Node>> {
        if !is_prefix {
            return Ok(Some(Node::Text {
                text: text.to_owned(),
                distance: None,
            }));
        }
        if character_count(text) >= NGRAM_CHARS || !self.indexed.has(text) {
            return Err(Error::not_supported(
                "word* where the index is of ngrams",
                "leave the * out: the parts of words are found without it",
            ));
        }
        Ok(Some(Node::word(text, true)))
    }
}

fn too_many(what: &str) -> Error {
    Error::not_supported(
        format_args!("so many {what} in a full-text query"),
        "write a shorter query",
    )
}

fn with_operator(operator: Option<Operator>, node: Option<Node>) -> Node {
    match (operator, node) {
        (None, Some(node)) => node,
        (None, None) => Node::List(Vec::new()),
        (Some(operator), node) => {
            let mut list = vec![Node::Operator(operator)];
            list.extend(node);
            Node::List(list)
        }
    }
}

/// Makes steps of nodes.
struct Made<'q> {
    query: &'q mut Query,
    /// The numbers of its words, by sort key and [`QueryWord::is_prefix`].
    numbers: HashMap<(Vec<u8>, bool), usize>,
    mode: Mode,
    indexed: &'q Indexed,
    collation: Collation,
}

impl Made<'_> {
    /// The steps of a list, where `around` is the operator before it. Returns whether it has some that are to
    /// come later: [`Self::later`] adds those.
    fn list(
        &mut self,
        around: Operator,
        nodes: &[Node],
        steps: &mut Vec<(Operator, Operand)>,
    ) -> Result<bool> {
        let mut operator = around;
        let mut has_later = false;
        let mut revisits = false;
        for node in nodes {
            match node {
                Node::Operator(other) => operator = *other,
                Node::List(inner) => revisits |= self.list(operator, inner, steps)?,
                node if matches!(operator, Operator::Required | Operator::Excluded) => {
                    has_later |= !matches!(node, Node::Operator(_));
                }
                node => {
                    let operand = self.operand(node)?;
                    steps.extend(operand.map(|operand| (operator, operand)));
                }
            }
        }
        if revisits {
            for pass in [Operator::Required, Operator::Excluded] {
                let mut before = around;
                for node in nodes {
                    match node {
                        Node::Operator(other) => before = *other,
                        Node::List(inner) => self.later(before, inner, pass, steps)?,
                        _ => {}
                    }
                }
            }
        }
        Ok(has_later)
    }

    /// The steps of a list that were left out: those with one operator.
    fn later(
        &mut self,
        around: Operator,
        nodes: &[Node],
        pass: Operator,
        steps: &mut Vec<(Operator, Operand)>,
    ) -> Result<()> {
        let mut operator = around;
        for node in nodes {
            match node {
                Node::Operator(other) => operator = *other,
                Node::List(_) => {}
                node if operator == pass => {
                    let operand = self.operand(node)?;
                    steps.extend(operand.map(|operand| (operator, operand)));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn operand(&mut self, node: &Node) -> Result<Option<Operand>> {
        Ok(match node {
            Node::Word { text, is_prefix } => Some(Operand::Word(self.word(text, *is_prefix)?)),
            Node::Text { text, distance } => Some(Operand::Phrase(self.phrase(text, *distance)?)),
            Node::Query(nodes) => {
                let mut steps = Vec::new();
                self.list(Operator::None, nodes, &mut steps)?;
                Some(Operand::Query(steps))
            }
            Node::Operator(_) | Node::List(_) => None,
        })
    }

    fn phrase(&mut self, text: &str, distance: Option<usize>) -> Result<Phrase> {
        let mut phrase = Phrase {
            words: Vec::new(),
            parts: Vec::new(),
            indexed: Vec::new(),
            distance: distance.filter(|distance| *distance > 0),
        };
        for part in words::parts(self.mode.parser, text) {
            let is_indexed = self.indexed.has(part);
            if is_indexed {
                phrase.words.push(self.word(part, false)?);
            }
            if !phrase.words.is_empty() {
                let part = self.query.keys.add_part(sort_key(self.collation, part));
                phrase.parts.push(part);
                phrase.indexed.extend(is_indexed.then_some(part));
            }
        }
        phrase.indexed.sort_unstable();
        phrase.indexed.dedup();
        match phrase.words.len() > PHRASE_WORDS_MAX {
            true => Err(Error::new(
                errno::ER_UNKNOWN_ERROR,
                "Too many words in a FTS phrase or proximity search",
            )),
            false => Ok(phrase),
        }
    }

    /// The number of a word.
    fn word(&mut self, text: &str, is_prefix: bool) -> Result<usize> {
        let key = sort_key(self.collation, text);
        let count = self.query.words.len();
        let number = *self.numbers.entry((key.clone(), is_prefix)).or_insert(count);
        if let Some(word) = self.query.words.get_mut(number) {
            // As InnoDB counts: rows with a prefix are not counted again.
            word.searches += u64::from(!is_prefix);
            return Ok(number);
        }
        if count == WORDS_MAX {
            return Err(too_many("words"));
        }
        if is_prefix {
            self.query
                .keys
                .add_prefix(character_count(text), key.clone(), number);
        }
        let is_part = !is_prefix && self.indexed.has(text);
        self.query.words.push(QueryWord {
            text: text.to_owned(),
            is_prefix,
            searches: 1,
            part: is_part.then(|| self.query.keys.add_part(key)),
        });
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOOLEAN: Mode = Mode {
        boolean: true,
        parser: Parser::BuiltIn,
    };

    fn error(text: &str) -> String {
        match Query::parse(text, BOOLEAN, Collation::DEFAULT) {
            Err(error) => error.message,
            Ok(_) => String::new(),
        }
    }

    #[test]
    fn errors_name_what_was_not_expected() {
        let cases = [
            ("++apple", "'+'"),
            ("apple -", "$end"),
            ("apple)", "')', expecting $end"),
            ("(apple @", "'@'"),
            ("app**", "$end, expecting FTS_TERM or FTS_NUMB or '*'"),
            ("\"a b\" @x", "FTS_TERM, expecting FTS_NUMB"),
        ];
        for (text, found) in cases {
            assert_eq!(error(text), format!("syntax error, unexpected {found}"));
        }
        assert_eq!(error("*apple +(\"a b\" @3 -c*) <d >e ~f \"open"), "");
    }

    #[test]
    fn required_and_excluded_words_come_last() {
        let query = Query::parse("-one two +three four", BOOLEAN, Collation::DEFAULT).unwrap();
        let operators: Vec<Operator> = query.steps.iter().map(|(operator, _)| *operator).collect();
        use Operator::{Excluded, None, Required};
        assert_eq!(operators, [None, None, Required, Excluded]);
        assert_eq!(alternatives(&query), ["three"]);
    }

    fn alternatives(query: &Query) -> Vec<&str> {
        let all = query.alternatives().into_iter();
        all.map(|word| word.text.as_str()).collect()
    }

    #[test]
    fn queries_are_bounded() {
        let texts = |part: &dyn Fn(usize) -> String, count| (0..count).map(part).collect::<String>();
        let beside = |count| texts(&|_| "(apple)".to_owned(), count);
        let nested = |count| format!("{}apple{}", "+(".repeat(count), ")".repeat(count));
        let words = |count| texts(&|number| format!(" word{number}"), count);
        let cases = [
            (
                "parentheses",
                beside(PARENTHESES_MAX),
                beside(PARENTHESES_MAX + 1),
            ),
            (
                "parentheses",
                nested(PARENTHESES_MAX),
                nested(PARENTHESES_MAX + 1),
            ),
            ("parentheses", beside(1), beside(200_000)),
            ("parentheses", nested(1), nested(200_000)),
            ("words", words(WORDS_MAX), words(WORDS_MAX + 1)),
            ("words", " apple".repeat(50_000), words(50_000)),
        ];
        for (what, enough, more) in cases {
            assert_eq!(error(&enough), "");
            assert!(error(&more).contains(&format!("so many {what}")));
        }
    }

    #[test]
    fn a_prefix_is_a_key() {
        let query = Query::parse("one tw*", BOOLEAN, Collation::DEFAULT).unwrap();
        assert_eq!(alternatives(&query), ["one", "tw"]);
    }
}
