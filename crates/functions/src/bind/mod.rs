//! From names and typed arguments to typed calls: counts of arguments, implicit conversions, result types.
//!
//! [`call`] is what the planner uses for functions and operators alike; [`cast`], [`case`] and [`aggregate`] for what is
//! not a call. A bound expression needs no further coercion: each conversion is a [`Expr::Cast`] in it.
//!
//! - [`compare`]: what two values are compared as.
//! - [`collation`]: whose collation wins.
//! - [`common`]: the type of CASE, IF, COALESCE and UNION.
//! - [`arguments`]: conversions that functions ask for.

pub(crate) mod arguments;
pub(crate) mod collation;
pub(crate) mod common;
pub(crate) mod compare;
pub(crate) mod key;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use types::{Collation, Error, Result, SqlMode, SqlType, TypeKind, Value, errno};

use crate::aggregate::{AggregateCall, AggregateFunction};
use crate::registry;
use crate::string::ill_formed::refuse_in_json;
use crate::{Expr, cast as conversion};

pub use arguments::output_text;
pub use common::common_type;
pub use key::{KeyRounding, key_cast};

/// What typing depends on besides the expression. A cached plan holds for one such environment.
#[derive(Debug, Clone)]
pub struct TypeEnv {
    /// The default database: where an unknown function is said to be missing.
    pub database: Option<String>,
    /// `@@collation_connection`: of literals, and of numbers turned into text.
    pub collation: Collation,
    pub sql_mode: SqlMode,
    /// `@@div_precision_increment`.
    pub div_precision_increment: u8,
    /// Their values' types become the types of `@name`, read by `call("@", [name])`.
    pub user_variables: Arc<HashMap<String, Value>>,
    /// Types of those that the statement assigns to, which take their place.
    pub variable_types: HashMap<String, SqlType>,
    /// The statement's parameters stand for literals, taken out of its text for the plan to be shared.
    pub literal_params: bool,
    pub notes: BindNotes,
}

/// What binding has to say besides what it makes.
#[derive(Debug, Clone, Default)]
pub struct BindNotes {
    /// What was bound depends on the value of a literal that is not known: the text has to be bound as it stands.
    pub needs_literals: Cell<bool>,
    /// Constants that are not of the type they are compared with: warnings 1292, errors in strict writes.
    pub incorrect: RefCell<Vec<String>>,
    /// How often a JSON value stands where a truth value is wanted: warnings 3986.
    pub json_truths: Cell<u32>,
    /// The types of user variables that are assigned to: of what they are before, and of what they become.
    pub assigned: RefCell<HashMap<String, SqlType>>,
}

/// The arguments of a call while it is being bound.
pub(crate) struct Binding<'a> {
    pub name: &'static str,
    pub args: Vec<Expr>,
    pub env: &'a TypeEnv,
}

/// Resolves a function or operator by its lower-case name.
///
/// Operators: `+ - * / div % unary - ~ & | ^ << >>`, `= <=> <> < <= > >=`, `between` (3 arguments), `in`
/// (the value, then the list), `like` (value, pattern[, escape]), `regexp`, `and or xor not`, `is null`, `is true`,
/// `is false`, `is unknown` and the same with `is not`, `binary`, `collate` (value, name as a string literal),
/// `convert using` (value, name), `->`, `->>`, `@` (name). `!=`, `mod`, `&&`, `||` (as OR), `!`, `rlike`, `not between`, `not in`, `not like` and
/// `not regexp` are understood too. An interval is two arguments, the amount and its unit as a string literal:
/// `date_add(d, INTERVAL 1 DAY)` is `call("date_add", [d, 1, 'day'])`; so are the units of `extract('year', d)`,
/// `timestampdiff('day', a, b)`, `timestampadd` and `get_format('date', 'usa')`. `trim(LEADING x FROM s)` is
/// `call("trim leading", [s, x])`, likewise `trim trailing` and `trim both`; `char(n, ... USING cs)` is `char`
/// with the character set's name (`binary` if there is none) as its last argument; `weight_string(s AS CHAR(n))` is
/// `weight_string(s, 'char', n)`; `position(a IN b)` is `locate(a, b)`.
///
/// Fails with 1582 on a wrong number of arguments, 1305 on an unknown name, 1267 where collations do not mix.
pub fn call(name: &str, args: Vec<Expr>, env: &TypeEnv) -> Result<Expr> {
    if let Some(positive) = name.strip_prefix("not ")
        && matches!(positive, "between" | "in" | "like" | "regexp" | "rlike")
    {
        return call("not", vec![call(positive, args, env)?], env);
    }
    let Some(function) = registry::find(name) else {
        return Err(unknown_function(name, env));
    };
    let def = function.0;
    if args.len() < def.min_args || args.len() > def.max_args {
        return Err(Error::new(
            errno::ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT,
            format!("Incorrect parameter count in the call to native function '{name}'"),
        ));
    }
    refuse_in_json(def.name, &args)?;
    let mut binding = Binding {
        name: def.name,
        args,
        env,
    };
    if let Some(rewritten) = compare::rewrite(&mut binding)? {
        return Ok(rewritten);
    }
    let ty = (def.resolve)(&mut binding)?;
    Ok(Expr::Call {
        function,
        args: binding.args,
        ty,
    })
}

fn unknown_function(name: &str, env: &TypeEnv) -> Error {
    match &env.database {
        Some(database) => Error::new(
            errno::ER_SP_DOES_NOT_EXIST,
            format!("FUNCTION {database}.{name} does not exist"),
        ),
        None => Error::new(errno::ER_NO_DB_ERROR, "No database selected"),
    }
}

/// `CAST(input AS ty)`. A string type whose [`SqlType::length`] is `u32::MAX` stands for CHAR or BINARY without a length;
/// BIGINT is SIGNED, BIGINT UNSIGNED is UNSIGNED. Fails with 1425, 1426, 1427 for impossible sizes.
pub fn cast(input: Expr, ty: SqlType) -> Result<Expr> {
    conversion::check_explicit(&ty)?;
    let input = arguments::hex_as_number(input, &ty);
    let from = input.ty();
    let input = if arguments::reads_branches(&input, &ty) {
        let branch_type = if ty.is_string() {
            arguments::text_type(&from, ty.collation)
        } else {
            ty
        };
        // What is text is read as an integer as text, whatever it was before.
        if from.is_string() && ty.is_integer() {
            input
        } else {
            arguments::implicit_cast(input, branch_type)
        }
    } else {
        input
    };
    let explicit = |ty| Expr::Cast {
        input: Box::new(input),
        ty,
        implicit: false,
    };
    if ty.is_integer() && ty.kind != TypeKind::Year {
        return Ok(explicit(SqlType { length: 21, ..ty }));
    }
    if !ty.is_string() {
        return Ok(explicit(ty));
    }
    if ty.length != conversion::text::UNLIMITED {
        return Ok(explicit(arguments::text_result(ty.length, ty.collation)));
    }
    // The inner conversion cuts nothing; the outer one, which does nothing, tells the length.
    let length = arguments::text_length(&from);
    Ok(Expr::Cast {
        input: Box::new(explicit(ty)),
        ty: arguments::text_result(length, ty.collation),
        implicit: true,
    })
}

/// Converts without a trace in warnings' wording or metadata, for plans that need a value in another type (index keys,
/// UNION's columns). The expression itself when it has the type already.
pub fn implicit_cast(input: Expr, ty: SqlType) -> Expr {
    arguments::implicit_cast(input, ty)
}

/// `CASE [operand] WHEN w THEN v ... ELSE e END`. The operand of a simple CASE is compared with `=`, but for JSON: see
/// [`case_operands`].
pub fn case(
    operand: Option<Expr>,
    branches: Vec<(Expr, Expr)>,
    otherwise: Option<Expr>,
    env: &TypeEnv,
) -> Result<Expr> {
    let mut conditions = Vec::with_capacity(branches.len());
    let mut values = Vec::with_capacity(branches.len() + 1);
    for (when, then) in branches {
        conditions.push(match &operand {
            Some(operand) => call("=", case_operands(operand.clone(), when), env)?,
            None => arguments::condition(when),
        });
        values.push(then);
    }
    let has_otherwise = otherwise.is_some();
    values.extend(otherwise);
    let ty = common::unify(&mut values, "case", env)?;
    let otherwise = if has_otherwise {
        values.pop().map(Box::new)
    } else {
        None
    };
    Ok(Expr::Case {
        branches: conditions.into_iter().zip(values).collect(),
        otherwise,
        ty,
    })
}

/// What a simple CASE compares: a JSON value beside a string or another JSON value by its text, beside a number as a DOUBLE,
/// where `=` compares documents. So `CASE JSON_EXTRACT(d, '$.k') WHEN 'null'` finds the JSON null.
fn case_operands(operand: Expr, when: Expr) -> Vec<Expr> {
    let is_json = |e: &Expr| e.ty().kind == TypeKind::Json;
    // FLOAT(M,D) with all its digits, where `=` looks at D of them.
    let whole = |e: Expr| match e.ty() {
        ty if ty.is_float() && ty.decimals != SqlType::NOT_FIXED => implicit_cast(e, SqlType::DOUBLE),
        _ => e,
    };
    let both = [operand, when].map(whole);
    let others = |is: fn(&SqlType) -> bool| both.iter().all(|e| is_json(e) || is(&e.ty()));
    let ty = if others(SqlType::is_string) {
        SqlType {
            kind: TypeKind::LongText,
            ..SqlType::varchar(u32::MAX, Collation::Utf8mb4Bin)
        }
    } else if others(SqlType::is_numeric) {
        SqlType::DOUBLE
    } else {
        return both.into();
    };
    let of_json = |e| Expr::Cast {
        input: Box::new(e),
        ty,
        implicit: true,
    };
    both.into_iter()
        .map(|e| if is_json(&e) { of_json(e) } else { e })
        .collect()
}

/// Binds an aggregate by its lower-case name: `count` (no argument means `COUNT(*)`), `sum` and so on, but for
/// [`group_concat`].
pub fn aggregate(name: &str, args: Vec<Expr>, distinct: bool, env: &TypeEnv) -> Result<AggregateCall> {
    let function = AggregateFunction::from_name(name)
        .ok_or_else(|| Error::not_supported(format!("{}()", name.to_uppercase()), ""))?;
    AggregateCall::bind(function, args, distinct, env)
}

/// Binds `GROUP_CONCAT(args ORDER BY order SEPARATOR separator)`; `true` in `order` stands for descending.
pub fn group_concat(
    args: Vec<Expr>,
    distinct: bool,
    order: Vec<(Expr, bool)>,
    separator: String,
    env: &TypeEnv,
) -> Result<AggregateCall> {
    AggregateCall::bind_concat(args, distinct, order, separator, env)
}

/// The type of a string literal of `chars` characters.
pub fn literal_type(chars: usize, collation: Collation) -> SqlType {
    SqlType::varchar(u32::try_from(chars).unwrap_or(u32::MAX), collation)
}

/// The type a value has by itself: what a parameter or a user variable is typed as.
pub fn type_of_value(value: &Value, collation: Collation) -> SqlType {
    match value {
        Value::Null => SqlType::NULL,
        Value::Int(_) => SqlType::BIGINT,
        Value::UInt(_) => SqlType::BIGINT_UNSIGNED,
        Value::Double(_) => SqlType::DOUBLE,
        Value::Decimal(d) => {
            let scale = d.scale.min(types::Decimal::MAX_SCALE);
            SqlType::decimal(u32::from(d.digits().max(scale + 1)), scale)
        }
        Value::String(s) => literal_type(s.chars().count(), collation),
        Value::Bytes(b) => literal_type(b.len(), Collation::Binary),
    }
}

impl Default for TypeEnv {
    fn default() -> Self {
        Self {
            database: None,
            collation: Collation::DEFAULT,
            sql_mode: SqlMode::default(),
            div_precision_increment: 4,
            user_variables: Arc::default(),
            variable_types: HashMap::new(),
            literal_params: false,
            notes: BindNotes::default(),
        }
    }
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
                "{}: argument {index} is no keyword",
                self.name
            ))),
        }
    }
}
