//! Expressions as written.

use super::VariableScope;
use super::query::Query;
use super::window::Window;

/// `[[database.]table.]column`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnName {
    pub database: Option<String>,
    pub table: Option<String>,
    pub column: String,
}

/// An item of ORDER BY.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderItem {
    pub expr: Expr,
    pub descending: bool,
}

/// An expression. A chain of AND or of OR is a flat list, so that ten thousand conditions need no deep
/// recursion.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    Null,
    /// TRUE and FALSE.
    Bool(bool),
    Number(NumberText),
    Text(String),
    /// A keyword among a function's arguments: a unit, a character set. In lower case if case does not
    /// matter.
    Keyword(String),
    /// Bytes that are text in a given character set.
    Introduced {
        charset: Introducer,
        bytes: Vec<u8>,
        /// Written as text. The bytes of `x'41'` must be valid text, too.
        quoted: bool,
    },
    /// `x'41'`, `0x41`, `b'1'`.
    Bytes(Vec<u8>),
    /// `DATE '...'`, `TIME '...'`, `TIMESTAMP '...'`.
    Temporal {
        kind: TemporalKind,
        text: String,
        /// ODBC's `{d '...'}`: a text that is no such value stands for itself.
        is_odbc: bool,
    },
    /// `?`, by its number among the statement's parameters.
    Parameter(usize),
    Column(ColumnName),
    /// `@@x`, `@@session.x`, `@@global.x`.
    SystemVariable {
        scope: Option<VariableScope>,
        name: String,
    },
    /// `@x`
    UserVariable(String),
    /// `@x := value`
    Assign {
        name: String,
        value: Box<Expr>,
    },
    Unary {
        op: UnaryOp,
        operand: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Is {
        operand: Box<Expr>,
        test: TruthTest,
        negated: bool,
    },
    Between {
        operand: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        negated: bool,
    },
    In {
        operand: Box<Expr>,
        list: Vec<Expr>,
        negated: bool,
    },
    Like {
        operand: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<Box<Expr>>,
        negated: bool,
    },
    Regexp {
        operand: Box<Expr>,
        pattern: Box<Expr>,
        negated: bool,
    },
    Case {
        operand: Option<Box<Expr>>,
        branches: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    Cast {
        operand: Box<Expr>,
        ty: CastType,
    },
    ConvertUsing {
        operand: Box<Expr>,
        charset: String,
    },
    Collate {
        operand: Box<Expr>,
        collation: String,
    },
    /// `BINARY x`
    Binarize(Box<Expr>),
    /// `ROW(a, b)` and `(a, b)`.
    Row(Vec<Expr>),
    /// A function by its name, as written. Special syntax (`EXTRACT(unit FROM x)`, `x + INTERVAL n unit`,
    /// `TRIM(LEADING ...)`) has been changed to plain arguments, as `functions::bind::call` expects them.
    Function {
        name: String,
        args: Vec<Expr>,
    },
    /// An aggregate such as COUNT or SUM, by its name in lower case. `COUNT(*)` has no argument.
    Aggregate {
        name: &'static str,
        distinct: bool,
        args: Vec<Expr>,
    },
    GroupConcat {
        distinct: bool,
        args: Vec<Expr>,
        order_by: Vec<OrderItem>,
        separator: String,
    },
    /// `DEFAULT`, `DEFAULT(column)`.
    Default(Option<ColumnName>),
    /// `VALUES(column)` of ON DUPLICATE KEY UPDATE.
    Values(ColumnName),
    /// `(SELECT ...)` as a value or a row.
    Subquery(Box<Query>),
    /// `EXISTS (SELECT ...)`
    Exists(Box<Query>),
    /// `x IN (SELECT ...)`
    InSubquery {
        operand: Box<Expr>,
        query: Box<Query>,
        negated: bool,
    },
    /// `x > ALL (SELECT ...)`
    Quantified {
        op: BinaryOp,
        operand: Box<Expr>,
        quantifier: Quantifier,
        query: Box<Query>,
    },
    /// `function OVER window`
    Over {
        function: Box<Expr>,
        window: Window,
    },
}

/// A number as written. Its form decides which of MySQL's types it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NumberText {
    Integer(String),
    Decimal(String),
    Float(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantifier {
    All,
    /// ANY and SOME.
    Any,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemporalKind {
    Date,
    Time,
    Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOp {
    Minus,
    BitNot,
    Not,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOp {
    Plus,
    Minus,
    Multiply,
    Divide,
    IntegerDivide,
    Modulo,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Equal,
    NullSafeEqual,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Xor,
    JsonExtract,
    JsonUnquote,
}

impl BinaryOp {
    /// The name of the operator in `functions::bind::call`.
    pub fn function(self) -> &'static str {
        match self {
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::IntegerDivide => "div",
            Self::Modulo => "%",
            Self::BitAnd => "&",
            Self::BitOr => "|",
            Self::BitXor => "^",
            Self::ShiftLeft => "<<",
            Self::ShiftRight => ">>",
            Self::Equal => "=",
            Self::NullSafeEqual => "<=>",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Xor => "xor",
            Self::JsonExtract => "->",
            Self::JsonUnquote => "->>",
        }
    }

    pub fn is_arithmetic(self) -> bool {
        use BinaryOp::*;
        matches!(self, Plus | Minus | Multiply | Divide | IntegerDivide | Modulo)
    }

    pub fn is_comparison(self) -> bool {
        use BinaryOp::*;
        matches!(
            self,
            Equal | NullSafeEqual | NotEqual | Less | LessOrEqual | Greater | GreaterOrEqual
        )
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TruthTest {
    Null,
    True,
    False,
    Unknown,
}

/// Where the character set of a literal's bytes comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Introducer {
    /// `_charset`, without the underscore.
    Named(String),
    /// `N'text'`
    National,
    /// No introducer: the client's character set. Some of the bytes are invalid in it.
    Client,
}

/// The types CAST and CONVERT know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CastType {
    Binary(Option<u32>),
    Char {
        length: Option<u32>,
        charset: Option<String>,
        /// `BINARY` after the type: the character set's binary collation.
        binary: bool,
    },
    /// NCHAR: utf8mb3.
    NChar(Option<u32>),
    Signed,
    Unsigned,
    Date,
    Time(u8),
    DateTime(u8),
    Year,
    Decimal {
        precision: u32,
        scale: u8,
    },
    Float,
    Double,
    Json,
    /// `type ARRAY`, of a multi-valued index.
    Array(Box<CastType>),
}

impl Expr {
    /// Calls `visit` with each direct part of the expression. Parts of subqueries and of windows are not
    /// visited.
    pub fn children(&self, visit: &mut dyn FnMut(&Expr)) {
        match self {
            Self::Unary { operand, .. }
            | Self::Is { operand, .. }
            | Self::Cast { operand, .. }
            | Self::ConvertUsing { operand, .. }
            | Self::Collate { operand, .. }
            | Self::Assign { value: operand, .. }
            | Self::InSubquery { operand, .. }
            | Self::Quantified { operand, .. }
            | Self::Binarize(operand) => visit(operand),
            Self::Binary { left, right, .. } => {
                visit(left);
                visit(right);
            }
            Self::And(list) | Self::Or(list) | Self::Row(list) => list.iter().for_each(visit),
            Self::Function { args, .. } | Self::Aggregate { args, .. } => args.iter().for_each(visit),
            Self::GroupConcat { args, order_by, .. } => {
                args.iter().for_each(&mut *visit);
                order_by.iter().for_each(|item| visit(&item.expr));
            }
            Self::Between {
                operand, low, high, ..
            } => {
                visit(operand);
                visit(low);
                visit(high);
            }
            Self::In { operand, list, .. } => {
                visit(operand);
                list.iter().for_each(visit);
            }
            Self::Like {
                operand,
                pattern,
                escape,
                ..
            } => {
                visit(operand);
                visit(pattern);
                escape.iter().for_each(|e| visit(e));
            }
            Self::Regexp { operand, pattern, .. } => {
                visit(operand);
                visit(pattern);
            }
            Self::Case {
                operand,
                branches,
                otherwise,
            } => {
                operand.iter().for_each(|e| visit(e));
                for (when, then) in branches {
                    visit(when);
                    visit(then);
                }
                otherwise.iter().for_each(|e| visit(e));
            }
            Self::Null
            | Self::Bool(_)
            | Self::Number(_)
            | Self::Text(_)
            | Self::Keyword(_)
            | Self::Introduced { .. }
            | Self::Bytes(_)
            | Self::Temporal { .. }
            | Self::Parameter(_)
            | Self::Column(_)
            | Self::SystemVariable { .. }
            | Self::UserVariable(_)
            | Self::Default(_)
            | Self::Values(_)
            | Self::Subquery(_)
            | Self::Exists(_)
            | Self::Over { .. } => {}
        }
    }

    /// Whether the expression, or a part of it, is a window function's call.
    pub fn has_window(&self) -> bool {
        if matches!(self, Self::Over { .. }) {
            return true;
        }
        let mut found = false;
        self.children(&mut |child| found = found || child.has_window());
        found
    }

    /// Whether the expression, or a part of it, is an aggregate call.
    pub fn has_aggregate(&self) -> bool {
        if matches!(self, Self::Aggregate { .. } | Self::GroupConcat { .. }) {
            return true;
        }
        let mut found = false;
        self.children(&mut |child| found = found || child.has_aggregate());
        found
    }
}

impl Expr {
    /// Whether it is a literal without a sign.
    pub fn is_literal(&self) -> bool {
        matches!(
            self,
            Self::Null
                | Self::Bool(_)
                | Self::Number(_)
                | Self::Text(_)
                | Self::Introduced { .. }
                | Self::Bytes(_)
                | Self::Temporal { .. }
        )
    }
}
