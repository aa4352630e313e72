//! Parses XPath expressions. Source: XPath 1.0, with the functions and axes that MySQL has.

use types::{Error, Result, errno};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum XPath {
    Number(f64),
    Text(String),
    /// `$@name`: a user variable.
    Variable(String),
    Call(Function, Vec<XPath>),
    Binary(Operator, Box<XPath>, Box<XPath>),
    Negate(Box<XPath>),
    /// Steps from an expression's nodes.
    Path(Start, Vec<Step>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Start {
    Root,
    Here,
    Nodes(Box<XPath>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Step {
    pub axis: Axis,
    pub test: Test,
    pub predicates: Vec<XPath>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Axis {
    Child,
    Descendant,
    DescendantOrSelf,
    Parent,
    Ancestor,
    AncestorOrSelf,
    /// The same nodes, at the same positions.
    Unchanged,
    Attribute,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Test {
    Any,
    Name(String),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Plus,
    Minus,
    Times,
    Divide,
    Modulo,
    Union,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Function {
    Not,
    Sum,
    Last,
    True,
    False,
    Count,
    Floor,
    Round,
    Ceiling,
    Concat,
    Number,
    Boolean,
    Position,
    Contains,
    Substring,
    StringLength,
}

/// Names, functions, and the fewest and most arguments.
const FUNCTIONS: &[(&str, Function, usize, usize)] = &[
    ("not", Function::Not, 1, 1),
    ("sum", Function::Sum, 1, 1),
    ("last", Function::Last, 0, 1),
    ("true", Function::True, 0, 0),
    ("false", Function::False, 0, 0),
    ("count", Function::Count, 1, 1),
    ("floor", Function::Floor, 1, 1),
    ("round", Function::Round, 1, 1),
    ("ceiling", Function::Ceiling, 1, 1),
    ("concat", Function::Concat, 1, 255),
    ("number", Function::Number, 0, 1),
    ("boolean", Function::Boolean, 1, 1),
    ("position", Function::Position, 0, 0),
    ("contains", Function::Contains, 2, 2),
    ("substring", Function::Substring, 2, 3),
    ("string-length", Function::StringLength, 0, 1),
];

const AXES: &[(&str, Axis)] = &[
    ("ancestor", Axis::Ancestor),
    ("ancestor-or-self", Axis::AncestorOrSelf),
    ("attribute", Axis::Attribute),
    ("child", Axis::Child),
    ("descendant", Axis::Descendant),
    ("descendant-or-self", Axis::DescendantOrSelf),
    ("parent", Axis::Parent),
    ("self", Axis::Unchanged),
];

/// Operators by precedence, the loosest first. An operator comes before those that are a prefix of it.
const LEVELS: &[&[(&str, Operator)]] = &[
    &[("or", Operator::Or)],
    &[("and", Operator::And)],
    &[("=", Operator::Equal), ("!=", Operator::NotEqual)],
    &[
        ("<=", Operator::LessOrEqual),
        ("<", Operator::Less),
        (">=", Operator::GreaterOrEqual),
        (">", Operator::Greater),
    ],
    &[("+", Operator::Plus), ("-", Operator::Minus)],
    &[
        ("*", Operator::Times),
        ("div", Operator::Divide),
        ("mod", Operator::Modulo),
    ],
];

/// How much of an expression its error shows, in characters.
const SHOWN: usize = 32;

/// How deep expressions may be nested.
const MAX_DEPTH: usize = 200;

/// Reads an expression. Error 1105 has the text from the first unexpected token on.
pub(super) fn parse(text: &str) -> Result<XPath> {
    let mut parser = Parser {
        text,
        at: 0,
        depth: 0,
        predicates: 0,
        refused: None,
    };
    let parsed = parser.binary(0);
    parser.spaces();
    let error = |message: &str, at: usize| {
        let shown: String = text.get(at..).unwrap_or_default().chars().take(SHOWN).collect();
        Err(Error::new(
            errno::ER_UNKNOWN_ERROR,
            format!("{message}: '{shown}'"),
        ))
    };
    if let Some((message, at)) = parser.refused {
        return error(message, at);
    }
    match parsed {
        Some(path) if parser.rest().is_empty() => Ok(path),
        _ => error("XPATH syntax error", parser.at),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// How many predicates the position is in.
    predicates: usize,
    /// What MySQL refuses although it is well formed, and where it begins.
    refused: Option<(&'static str, usize)>,
}

impl Operator {
    fn compares(self) -> bool {
        matches!(
            self,
            Self::Equal
                | Self::NotEqual
                | Self::Less
                | Self::LessOrEqual
                | Self::Greater
                | Self::GreaterOrEqual
        )
    }
}

impl XPath {
    /// Whether the value is a set of nodes.
    fn is_nodes(&self) -> bool {
        matches!(self, Self::Path(..) | Self::Binary(Operator::Union, ..))
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || "_-.".contains(c)
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn spaces(&mut self) {
        self.at += self.rest().len() - self.rest().trim_ascii_start().len();
    }

    /// Takes a given sign or whole word.
    fn eat(&mut self, token: &str) -> bool {
        self.spaces();
        let Some(behind) = self.rest().strip_prefix(token) else {
            return false;
        };
        let is_word = token.starts_with(is_name) && token != "." && token != ".." && token != "-";
        if is_word && behind.starts_with(is_name) {
            return false;
        }
        self.at += token.len();
        true
    }

    fn name(&mut self) -> Option<&'a str> {
        self.spaces();
        let rest = self.rest();
        let first = rest.chars().next()?;
        if !(first.is_alphabetic() || first == '_') {
            return None;
        }
        let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length)
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn binary(&mut self, level: usize) -> Option<XPath> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.binary(level + 1)?;
        loop {
            self.spaces();
            let start = self.at;
            let Some((_, operator)) = operators.iter().find(|(token, _)| self.eat(token)) else {
                break;
            };
            let right = self.nested(|parser| parser.binary(level + 1))?;
            if operator.compares() && left.is_nodes() && right.is_nodes() {
                let message = "XPATH error: comparison of two nodesets is not supported";
                self.refused.get_or_insert((message, start));
            }
            left = XPath::Binary(*operator, Box::new(left), Box::new(right));
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<XPath> {
        if self.eat("-") {
            let operand = self.nested(Self::unary)?;
            return Some(XPath::Negate(Box::new(operand)));
        }
        let mut left = self.path()?;
        while self.eat("|") {
            let right = self.nested(Self::path)?;
            left = XPath::Binary(Operator::Union, Box::new(left), Box::new(right));
        }
        Some(left)
    }

    fn path(&mut self) -> Option<XPath> {
        self.spaces();
        if self.rest().starts_with('/') {
            let mut steps = Vec::new();
            if !self.rest().starts_with("//") {
                self.eat("/");
                self.spaces();
                let start = self.at;
                match self.step(Axis::Child) {
                    Some(step) => steps.push(step),
                    None if self.at == start => return Some(XPath::Path(Start::Root, steps)),
                    None => return None,
                }
            }
            self.steps(&mut steps)?;
            return Some(XPath::Path(Start::Root, steps));
        }
        if let Some(primary) = self.primary()? {
            if !self.rest().trim_ascii_start().starts_with('/') || !primary.is_nodes() {
                return Some(primary);
            }
            let mut steps = Vec::new();
            self.steps(&mut steps)?;
            return Some(XPath::Path(Start::Nodes(Box::new(primary)), steps));
        }
        let mut steps = vec![self.step(Axis::Child)?];
        self.steps(&mut steps)?;
        Some(XPath::Path(Start::Here, steps))
    }

    /// `/step`, `//step`
    fn steps(&mut self, steps: &mut Vec<Step>) -> Option<()> {
        loop {
            match (self.eat("//"), self.eat("/")) {
                (true, _) => steps.push(bare(Axis::DescendantOrSelf, Test::Any)),
                (_, true) => {}
                _ => return Some(()),
            }
            steps.push(self.step(Axis::Child)?);
        }
    }

    fn step(&mut self, mut axis: Axis) -> Option<Step> {
        if self.eat("..") {
            return Some(bare(Axis::Parent, Test::Any));
        }
        if self.eat(".") {
            return Some(bare(Axis::Unchanged, Test::Any));
        }
        let start = self.at;
        if self.eat("@") {
            axis = Axis::Attribute;
        } else if let Some(name) = self.name() {
            match AXES.iter().find(|(axis, _)| *axis == name) {
                Some((_, found)) if self.eat("::") => axis = *found,
                _ => self.at = start,
            }
        }
        let test = if self.eat("*") {
            Test::Any
        } else {
            let name = self.name()?;
            match name {
                // In MySQL these mean the elements themselves, because the value of a node is its texts.
                "text" | "node" if self.eat("(") => {
                    if !self.eat(")") {
                        return None;
                    }
                    axis = Axis::Unchanged;
                    Test::Any
                }
                name => match self.rest().strip_prefix(':') {
                    Some(local) if !local.starts_with(':') => {
                        self.at += 1;
                        Test::Name(format!("{name}:{}", self.name()?))
                    }
                    _ => Test::Name(name.to_owned()),
                },
            }
        };
        let mut step = bare(axis, test);
        while self.eat("[") {
            self.predicates += 1;
            let predicate = self.nested(|parser| parser.binary(0))?;
            self.predicates -= 1;
            step.predicates.push(predicate);
            if !self.eat("]") {
                return None;
            }
        }
        Some(step)
    }

    /// An expression that is not a step. The outer `None` is an error.
    fn primary(&mut self) -> Option<Option<XPath>> {
        self.spaces();
        let start = self.at;
        if self.eat("(") {
            let inner = self.nested(|parser| parser.binary(0))?;
            return self.eat(")").then_some(Some(inner));
        }
        if self.eat("$@") {
            return Some(Some(XPath::Variable(self.name()?.to_owned())));
        }
        if self.eat("$") {
            // The variables of stored programs.
            self.refused.get_or_insert(("Unknown XPATH variable at", start));
            return None;
        }
        let rest = self.rest();
        match rest.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let length = rest.get(1..)?.find(quote)?;
                self.at += length + 2;
                return rest
                    .get(1..=length)
                    .map(|text| Some(XPath::Text(text.to_owned())));
            }
            Some(c) if c.is_ascii_digit() => {
                let length = rest
                    .find(|c: char| !c.is_ascii_digit() && c != '.')
                    .unwrap_or(rest.len());
                let number = rest.get(..length)?.parse().ok()?;
                self.at += length;
                return Some(Some(XPath::Number(number)));
            }
            _ => {}
        }
        let name = self.name();
        let function = name.and_then(|name| FUNCTIONS.iter().find(|(function, ..)| *function == name));
        if let Some((_, function, fewest, most)) = function
            && self.eat("(")
        {
            let mut args = Vec::new();
            if *fewest > 0 || !self.eat(")") {
                loop {
                    args.push(self.nested(|parser| parser.binary(0))?);
                    if !self.eat(",") {
                        break;
                    }
                }
                if !self.eat(")") {
                    return None;
                }
            }
            // Without arguments it is about the node that a predicate is tried on.
            let here = matches!(
                function,
                Function::Last | Function::Number | Function::Position | Function::StringLength
            );
            let fits =
                (*fewest..=*most).contains(&args.len()) && (self.predicates > 0 || !here || !args.is_empty());
            return fits.then_some(Some(XPath::Call(*function, args)));
        }
        self.at = start;
        Some(None)
    }
}

fn bare(axis: Axis, test: Test) -> Step {
    Step {
        axis,
        test,
        predicates: Vec::new(),
    }
}
