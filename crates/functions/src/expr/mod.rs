//! Bound, typed expressions, and the functions that they call. `planner` makes them from SQL text, and both
//! executors evaluate them.
//!
//! An expression names functions, and a function is given expressions: when a call is bound ([`Binding`]) and
//! when it is computed ([`Call`]). So [`Expr`] and [`FunctionDef`] stand in one file. `walk.rs` visits and
//! rewrites the parts of an expression.
//!
//! Not here: which functions there are ([`crate::registry`]), how calls are resolved and typed
//! ([`crate::bind`]), how they are computed ([`mod@crate::eval`]).

mod walk;

use std::sync::Arc;

use types::stack::with_room;
use types::{Error, Result, SqlType, Value};

use crate::EvalContext;
use crate::bind::env::TypeEnv;
use crate::coercibility::Strength;
use crate::datum::{Cell, Datum};
use crate::input::{ColumnarValue, Row};

/// An expression whose names and types are resolved. Every implicit conversion of MySQL is an explicit
/// [`Expr::Cast`] in it, or part of the called function. Nothing is coerced later.
#[derive(Debug, PartialEq)]
pub enum Expr {
    /// Column `index` of the input batch.
    Column {
        index: usize,
        ty: SqlType,
        nullable: bool,
        /// Its name in error messages.
        label: Label,
    },
    /// Parameter `index` of the statement; its value is in [`crate::EvalContext::params`] and has type `ty`.
    Param {
        index: usize,
        ty: SqlType,
        /// A client's parameter is reported as nullable, whatever its value. One that stands for a literal is
        /// not.
        nullable: bool,
    },
    Literal {
        value: Value,
        ty: SqlType,
    },
    /// In a subquery: a column of the row that it runs for. The value is set in
    /// [`crate::state::StatementState::set_outer`] before the subquery is opened.
    Outer {
        slot: usize,
        ty: SqlType,
        nullable: bool,
    },
    /// A call of a built-in function or operator.
    Call {
        function: Function,
        args: Vec<Expr>,
        ty: SqlType,
    },
    /// `CAST`, explicit or implicit. `implicit` decides which losses warn, and how strings are converted to
    /// numbers.
    Cast {
        input: Box<Expr>,
        ty: SqlType,
        implicit: bool,
    },
    /// `CASE WHEN c1 THEN v1 ... ELSE e END`; only the branch that is taken is evaluated per row. All values
    /// have type `ty`.
    Case {
        branches: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
        ty: SqlType,
    },
}

/// What is known of a column besides its type: its quoted name for messages such as "BIGINT value is out of
/// range in '(`shop`.`t`.`a` + 1)'", and the coercibility of its collation if it is not a column of a table.
/// Expressions that differ only in labels are equal.
#[derive(Debug, Clone, Default)]
pub struct Label {
    name: Option<Arc<str>>,
    strength: Option<Strength>,
    /// Whether a row passes EXISTS, IN or a quantified comparison.
    truth: bool,
}

impl Label {
    pub const NONE: Self = Self {
        name: None,
        strength: None,
        truth: false,
    };
    /// The label of the result of EXISTS, IN and quantified comparisons.
    const TRUTH: Self = Self {
        truth: true,
        ..Self::NONE
    };

    /// `` `database`.`table`.`column` ``, or `` `table`.`column` `` of a table in no database.
    pub fn column(database: &str, table: &str, column: &str) -> Self {
        let named = match database.is_empty() {
            true => ["`", table, "`.`", column, "`"].concat(),
            false => ["`", database, "`.`", table, "`.`", column, "`"].concat(),
        };
        Self::of_text(named.into())
    }

    fn of_text(name: Arc<str>) -> Self {
        Self {
            name: Some(name),
            ..Self::NONE
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// `` `column` ``.
    pub fn name_only(column: &str) -> Self {
        Self::of_text(format!("`{column}`").into())
    }

    /// The label of a column that a query makes, with the strength of its collation.
    #[must_use]
    pub fn with_strength(self, strength: Option<Strength>) -> Self {
        Self { strength, ..self }
    }

    pub fn strength(&self) -> Option<Strength> {
        self.strength
    }

    pub(crate) fn is_truth(&self) -> bool {
        self.truth
    }

    /// The column's own name.
    pub(crate) fn name(&self) -> Option<&str> {
        self.as_str()?.rsplit('`').nth(1)
    }
}

impl PartialEq for Label {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Clone for Expr {
    fn clone(&self) -> Self {
        match self {
            Self::Column {
                index,
                ty,
                nullable,
                label,
            } => Self::Column {
                index: *index,
                ty: *ty,
                nullable: *nullable,
                label: label.clone(),
            },
            Self::Param { index, ty, nullable } => Self::Param {
                index: *index,
                ty: *ty,
                nullable: *nullable,
            },
            Self::Literal { value, ty } => Self::Literal {
                value: value.clone(),
                ty: *ty,
            },
            Self::Outer { slot, ty, nullable } => Self::Outer {
                slot: *slot,
                ty: *ty,
                nullable: *nullable,
            },
            Self::Call { function, args, ty } => Self::Call {
                function: *function,
                args: with_room(|| args.clone()),
                ty: *ty,
            },
            Self::Cast { input, ty, implicit } => Self::Cast {
                input: with_room(|| input.clone()),
                ty: *ty,
                implicit: *implicit,
            },
            Self::Case {
                branches,
                otherwise,
                ty,
            } => Self::Case {
                branches: with_room(|| branches.clone()),
                otherwise: with_room(|| otherwise.clone()),
                ty: *ty,
            },
        }
    }
}

impl Expr {
    /// A column without a label.
    pub fn column(index: usize, ty: SqlType, nullable: bool) -> Self {
        Self::Column {
            index,
            ty,
            nullable,
            label: Label::NONE,
        }
    }

    /// A column that a query made.
    pub fn made_column(index: usize, ty: SqlType, nullable: bool, strength: Strength) -> Self {
        Self::Column {
            index,
            ty,
            nullable,
            label: Label::NONE.with_strength(Some(strength)),
        }
    }

    /// The column with the result of EXISTS, IN or a quantified comparison.
    pub fn truth_column(index: usize, nullable: bool) -> Self {
        Self::Column {
            index,
            ty: SqlType::BOOL,
            nullable,
            label: Label::TRUTH,
        }
    }

    pub fn literal(value: Value, ty: SqlType) -> Self {
        Self::Literal { value, ty }
    }

    pub fn null() -> Self {
        Self::Literal {
            value: Value::Null,
            ty: SqlType::NULL,
        }
    }

    pub fn ty(&self) -> SqlType {
        match self {
            Self::Column { ty, .. }
            | Self::Param { ty, .. }
            | Self::Literal { ty, .. }
            | Self::Outer { ty, .. }
            | Self::Call { ty, .. }
            | Self::Cast { ty, .. }
            | Self::Case { ty, .. } => *ty,
        }
    }

    /// Whether a result's column of this expression is reported as nullable.
    pub fn nullable(&self) -> bool {
        match self {
            Self::Column { nullable, .. } | Self::Param { nullable, .. } | Self::Outer { nullable, .. } => {
                *nullable
            }
            Self::Literal { value, .. } => value.is_null(),
            Self::Call { function, args, ty } => function.0.nullability.of(args, ty),
            Self::Cast { input, ty, implicit } => {
                let made_other = !implicit && !ty.is_numeric();
                made_other || input.nullable() || crate::cast::loss::may_be_null(&input.ty(), ty)
            }
            Self::Case {
                branches, otherwise, ..
            } => {
                branches.iter().any(|(_, v)| v.nullable()) || otherwise.as_ref().is_none_or(|o| o.nullable())
            }
        }
    }

    /// Whether its value is the same for all rows of a statement: it has no columns and no volatile
    /// functions.
    pub fn is_constant(&self) -> bool {
        let mut constant = true;
        self.walk(&mut |e| match e {
            Self::Column { .. } => constant = false,
            Self::Call { function, .. } if function.0.volatile => constant = false,
            _ => {}
        });
        constant
    }
}

/// A built-in function or operator, by its entry in the registry.
#[derive(Clone, Copy)]
pub struct Function(pub &'static FunctionDef);

impl Function {
    /// The name in MySQL's messages.
    pub fn name(self) -> &'static str {
        self.0.name
    }
}

/// Computes one value from the values of the arguments.
pub type ScalarFn = fn(&Call<'_>, &[Datum<'_>]) -> Result<Value>;

/// Computes one value from the argument expressions, and evaluates only those that it needs.
pub type LazyFn = for<'a> fn(&Call<'a>, &Row<'a>) -> Result<Cell<'a>>;

/// Computes a whole column; `None` for arguments that it does not support.
pub type VectorFn = fn(&Call<'_>, &[ColumnarValue], usize) -> Result<Option<ColumnarValue>>;

/// Checks and converts the arguments, and returns the result's type.
pub(crate) type ResolveFn = fn(&mut Binding<'_>) -> Result<SqlType>;

#[derive(Clone, Copy)]
pub(crate) enum Eval {
    Scalar(ScalarFn),
    Lazy(LazyFn),
}

/// When a call's result may be NULL, according to result metadata.
#[derive(Clone, Copy)]
pub enum Nullability {
    /// If any argument may be NULL. Also if the result is text, because in strict mode, MySQL's default, text
    /// that is not well formed becomes NULL.
    Usual,
    /// If any argument may be NULL.
    AnyArgument,
    /// If all arguments may be NULL.
    AllArguments,
    Always,
    Never,
    /// If any argument after the first may be NULL: IF, and other functions for which
    /// [`FunctionDef::chooses`] is true.
    Branches,
}

impl Nullability {
    pub(crate) fn of(self, args: &[Expr], ty: &SqlType) -> bool {
        match self {
            Self::Usual => ty.is_string() || args.iter().any(Expr::nullable),
            Self::AnyArgument => args.iter().any(Expr::nullable),
            Self::AllArguments => args.iter().all(Expr::nullable),
            Self::Always => true,
            Self::Never => false,
            Self::Branches => args.iter().skip(1).any(Expr::nullable),
        }
    }
}

pub struct FunctionDef {
    /// The SQL name in lower case. Operators have their symbol (`+`, `<=>`, `and`, `like`).
    pub name: &'static str,
    pub min_args: usize,
    pub max_args: usize,
    pub(crate) resolve: ResolveFn,
    pub(crate) eval: Eval,
    pub(crate) vector: Option<VectorFn>,
    pub(crate) nullability: Nullability,
    /// A scalar function that takes JSON values unchanged. All others take their text.
    pub(crate) takes_json: bool,
    /// A NULL argument makes the result NULL. `eval` is not called then.
    pub(crate) null_in_null_out: bool,
    /// Its result depends on the session or the time: `NOW()`, `DATABASE()`. Constant within a statement, but
    /// not between two.
    pub reads_session: bool,
    /// Two calls with the same arguments in one statement may differ, or have effects: `RAND()`, `SLEEP()`.
    pub volatile: bool,
    /// A call does more than compute its value, such as `SLEEP()` or `GET_LOCK()`.
    pub(crate) has_effects: bool,
    /// A call may fail or leave a warning, so that it must not be made for a row that does not need it.
    pub fallible: bool,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name)
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

/// The arguments of a call while it is being bound.
pub(crate) struct Binding<'a> {
    pub name: &'static str,
    /// The name as the statement has it.
    pub written: &'a str,
    pub args: Vec<Expr>,
    pub env: &'a TypeEnv,
}

impl Binding<'_> {
    pub fn ty(&self, index: usize) -> SqlType {
        self.args.get(index).map_or(SqlType::NULL, Expr::ty)
    }

    /// The text of an argument that the grammar only allows as a literal: a unit, a collation's name.
    pub fn keyword(&self, index: usize) -> Result<&str> {
        match self.args.get(index) {
            Some(Expr::Literal {
                value: Value::String(text),
                ..
            }) => Ok(text),
            _ => Err(Error::internal(format!(
                "{}: argument {index} is not a keyword",
                self.name
            ))),
        }
    }
}

/// The call that a function computes.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub ctx: &'a EvalContext,
    pub def: &'static FunctionDef,
    pub args: &'a [Expr],
    pub ty: SqlType,
}

impl Call<'_> {
    /// The type of argument `index`.
    pub fn arg_type(&self, index: usize) -> SqlType {
        self.args.get(index).map_or(SqlType::NULL, Expr::ty)
    }
}
