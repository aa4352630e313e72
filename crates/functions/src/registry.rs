//! All functions: constructors for the entries of each family's table, and [`find`], which searches all
//! tables.
//!
//! Each family of functions (`string`, `math`, ...) has a table of [`FunctionDef`]s. Not here: how a call is
//! bound ([`crate::bind`]) and evaluated ([`mod@crate::eval`]).

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::expr::{Eval, Function, FunctionDef, LazyFn, Nullability, ResolveFn, ScalarFn, VectorFn};

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
        has_effects: false,
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
        has_effects: false,
        fallible: false,
    }
}

impl FunctionDef {
    /// Whether it returns one of its other arguments, chosen by the first.
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

    /// `eval` is called with NULL arguments, too.
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

    /// See [`FunctionDef::has_effects`].
    pub(crate) const fn effects(self) -> Self {
        Self {
            has_effects: true,
            ..self.volatile()
        }
    }

    /// See [`FunctionDef::reads_session`].
    pub(crate) const fn session(self) -> Self {
        Self {
            reads_session: true,
            ..self
        }
    }

    /// It causes neither errors nor warnings.
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
