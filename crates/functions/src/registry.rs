//! Which functions there are: name, number of arguments, types, evaluation.
//!
//! Each family of functions (`string`, `math`, ...) has a table of [`FunctionDef`]s; [`find`] looks in all of
//! them. Not here: how a call is bound ([`crate::bind`]) and evaluated ([`mod@crate::eval`]).

use std::collections::HashMap;
use std::sync::OnceLock;

use types::{Result, SqlType, Value};

use crate::Expr;
use crate::call::Binding;
use crate::call::{Call, ColumnarValue, Row};
use crate::datum::{Cell, Datum};

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

/// Computes one value from the argument expressions themselves, evaluating only those it needs.
pub type LazyFn = for<'a> fn(&Call<'a>, &Row<'a>) -> Result<Cell<'a>>;

/// Computes a whole column; `None` for arguments that it does not support.
pub type VectorFn = fn(&Call<'_>, &[ColumnarValue], usize) -> Result<Option<ColumnarValue>>;

/// Checks and converts the arguments and says what the result's type is.
pub(crate) type ResolveFn = fn(&mut Binding<'_>) -> Result<SqlType>;

#[derive(Clone, Copy)]
pub(crate) enum Eval {
    Scalar(ScalarFn),
    Lazy(LazyFn),
}

/// When a call's result may be NULL, according to result metadata.
#[derive(Clone, Copy)]
pub enum Nullability {
    /// If any argument may, and if it is text: in strict mode, MySQL's default, text that is not well formed
    /// becomes NULL.
    Usual,
    /// If any argument may.
    AnyArgument,
    /// If all arguments may.
    AllArguments,
    Always,
    Never,
    /// If any argument after the first may: IF, and others of which [`FunctionDef::chooses`] is true.
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
    /// Lower-case SQL name; operators by their symbol (`+`, `<=>`, `and`, `like`).
    pub name: &'static str,
    pub min_args: usize,
    pub max_args: usize,
    pub(crate) resolve: ResolveFn,
    pub(crate) eval: Eval,
    pub(crate) vector: Option<VectorFn>,
    pub(crate) nullability: Nullability,
    /// A scalar function that takes JSON values as they are. All others take their text.
    pub(crate) takes_json: bool,
    /// A NULL argument makes the result NULL, without a call of `eval`.
    pub(crate) null_in_null_out: bool,
    /// Its result depends on the session or the time: `NOW()`, `DATABASE()`. Constant within a statement, but
    /// not between two.
    pub reads_session: bool,
    /// Two calls with the same arguments in one statement may differ, or have effects: `RAND()`, `SLEEP()`.
    pub volatile: bool,
    /// A call may fail or leave a warning, so that it must not be made for a row that does not need it.
    pub fallible: bool,
}

/// [`FunctionDef::max_args`] of functions that take any number.
pub const MANY: usize = usize::MAX;

/// The usual function: NULL for a NULL argument, the same result for the same arguments, and possibly an
/// error.
pub(crate) const fn function(
    name: &'static str,
    min_args: usize,
    max_args: usize,
    resolve: ResolveFn,
    eval: ScalarFn,
) -> FunctionDef {
    FunctionDef {
        name,
        min_args,
        max_args,
        resolve,
        eval: Eval::Scalar(eval),
        vector: None,
        nullability: Nullability::Usual,
        takes_json: false,
        null_in_null_out: true,
        reads_session: false,
        volatile: false,
        fallible: true,
    }
}

/// A function of JSON documents.
pub(crate) const fn of_json(
    name: &'static str,
    min_args: usize,
    max_args: usize,
    resolve: ResolveFn,
    eval: ScalarFn,
) -> FunctionDef {
    function(name, min_args, max_args, resolve, eval).takes_json()
}

/// A function that decides which of its arguments are evaluated.
pub(crate) const fn lazy(
    name: &'static str,
    min_args: usize,
    max_args: usize,
    resolve: ResolveFn,
    eval: LazyFn,
) -> FunctionDef {
    FunctionDef {
        name,
        min_args,
        max_args,
        resolve,
        eval: Eval::Lazy(eval),
        vector: None,
        nullability: Nullability::Usual,
        takes_json: false,
        null_in_null_out: false,
        reads_session: false,
        volatile: false,
        fallible: false,
    }
}

impl FunctionDef {
    /// Whether it returns one of its arguments, which the first one chooses.
    pub(crate) fn chooses(&self) -> bool {
        matches!(self.nullability, Nullability::Branches)
    }

    pub(crate) const fn vector(self, vector: VectorFn) -> Self {
        Self {
            vector: Some(vector),
            ..self
        }
    }

    /// See [`FunctionDef::takes_json`].
    pub(crate) const fn takes_json(self) -> Self {
        Self {
            takes_json: true,
            ..self
        }
    }

    /// `eval` sees NULL arguments itself.
    pub(crate) const fn sees_null(self) -> Self {
        Self {
            null_in_null_out: false,
            ..self
        }
    }

    pub(crate) const fn nullability(self, nullability: Nullability) -> Self {
        Self { nullability, ..self }
    }

    pub(crate) const fn volatile(self) -> Self {
        Self {
            volatile: true,
            ..self
        }
    }

    /// See [`FunctionDef::reads_session`].
    pub(crate) const fn session(self) -> Self {
        Self {
            reads_session: true,
            ..self
        }
    }

    /// Neither errors nor warnings come of it.
    pub(crate) const fn infallible(self) -> Self {
        Self {
            fallible: false,
            ..self
        }
    }
}

/// Another name for the same function.
pub(crate) struct Alias {
    pub name: &'static str,
    pub of: &'static str,
}

/// Finds a function or operator by its lower-case name.
pub fn find(name: &str) -> Option<Function> {
    static BY_NAME: OnceLock<HashMap<&'static str, &'static FunctionDef>> = OnceLock::new();
    let by_name = BY_NAME.get_or_init(|| {
        let mut map: HashMap<&'static str, &'static FunctionDef> = HashMap::new();
        for family in crate::families() {
            map.extend(family.functions.iter().map(|def| (def.name, def)));
        }
        for alias in crate::families().iter().flat_map(|f| f.aliases) {
            if let Some(def) = map.get(alias.of).copied() {
                map.insert(alias.name, def);
            }
        }
        map
    });
    by_name.get(name).copied().map(Function)
}

/// One family's tables.
pub(crate) struct Family {
    pub functions: &'static [FunctionDef],
    pub aliases: &'static [Alias],
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
