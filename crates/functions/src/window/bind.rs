//! Turns names and typed arguments of window functions into typed calls.

use types::{Collation, Error, Result, SqlType, TypeKind, Value, errno};

use super::{WindowCall, WindowFunction};
use crate::Expr;
use crate::aggregate::{AggregateCall, AggregateFunction};
use crate::bind::arguments::{read_members, text_length};
use crate::bind::common;
use crate::bind::env::TypeEnv;
use crate::context::EvalContext;
use crate::eval::eval_value;

/// Binds a window function by its name in lower case, if there is one that is not an aggregate. The parser
/// has checked the number of arguments. Error 1210 for a number of rows that is out of range. A parameter is
/// checked when the call runs.
pub fn bind(name: &str, args: Vec<Expr>, env: &TypeEnv) -> Result<WindowCall> {
    let mut args: Vec<Expr> = args.into_iter().map(read_members).collect();
    let function = WindowFunction::from_name(name)
        .ok_or_else(|| Error::internal(format!("{name} is not a window function")))?;
    if let Some(rows) = function.row_count(&args) {
        if !rows.is_constant() {
            return Err(function.wrong_arguments());
        }
        if matches!(rows, Expr::Literal { .. }) {
            function.count(rows, &EvalContext::default())?;
        }
    }
    let rank = SqlType {
        length: 21,
        ..SqlType::BIGINT_UNSIGNED
    };
    let (ty, nullable) = match function {
        WindowFunction::RowNumber
        | WindowFunction::Rank
        | WindowFunction::DenseRank
        | WindowFunction::Ntile => (rank, false),
        WindowFunction::PercentRank | WindowFunction::CumeDist => (SqlType::COMPUTED_DOUBLE, false),
        WindowFunction::Lead | WindowFunction::Lag if args.len() > 2 => {
            let (ty, nullable) = bind_default(&mut args, name, env)?;
            (stored(ty), nullable)
        }
        _ => (stored(args.first().map_or(SqlType::NULL, Expr::ty)), true),
    };
    Ok(WindowCall {
        function,
        args,
        ty,
        nullable,
    })
}

/// Converts the value and the default of LEAD or LAG to one type.
fn bind_default(args: &mut [Expr], name: &str, env: &TypeEnv) -> Result<(SqlType, bool)> {
    let [value, _, default] = args else {
        return Err(Error::internal("LEAD takes three arguments"));
    };
    let mut both = [value.clone(), default.clone()];
    let ty = common::unify(&mut both, name, env)?;
    [*value, *default] = both;
    Ok((ty, value.nullable() || default.nullable()))
}

impl WindowCall {
    /// An aggregate with OVER. Error 1235 for those that MySQL does not support either.
    pub fn of_aggregate(call: AggregateCall) -> Result<Self> {
        if call.distinct {
            return Err(not_yet("<window function>(DISTINCT ..)"));
        }
        if call.function == AggregateFunction::GroupConcat {
            return Err(not_yet("group_concat as window function"));
        }
        Ok(Self {
            ty: stored(call.shown),
            nullable: call.nullable(),
            args: Vec::new(),
            function: WindowFunction::Aggregate(Box::new(call)),
        })
    }
}

fn not_yet(what: &str) -> Error {
    Error::new(
        errno::ER_NOT_SUPPORTED_YET,
        format!("This version of MySQL doesn't yet support '{what}'"),
    )
}

impl WindowFunction {
    fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "row_number" => Self::RowNumber,
            "rank" => Self::Rank,
            "dense_rank" => Self::DenseRank,
            "percent_rank" => Self::PercentRank,
            "cume_dist" => Self::CumeDist,
            "ntile" => Self::Ntile,
            "lead" => Self::Lead,
            "lag" => Self::Lag,
            "first_value" => Self::FirstValue,
            "last_value" => Self::LastValue,
            "nth_value" => Self::NthValue,
            _ => return None,
        })
    }

    fn name(&self) -> &'static str {
        match self {
            Self::RowNumber => "row_number",
            Self::Rank => "rank",
            Self::DenseRank => "dense_rank",
            Self::PercentRank => "percent_rank",
            Self::CumeDist => "cume_dist",
            Self::Ntile => "ntile",
            Self::Lead => "lead",
            Self::Lag => "lag",
            Self::FirstValue => "first_value",
            Self::LastValue => "last_value",
            Self::NthValue => "nth_value",
            Self::Aggregate(call) => call.function.name(),
        }
    }

    /// The argument that is a number of rows or of buckets.
    pub(super) fn row_count<'a>(&self, args: &'a [Expr]) -> Option<&'a Expr> {
        match self {
            Self::Ntile => args.first(),
            Self::Lead | Self::Lag | Self::NthValue => args.get(1),
            _ => None,
        }
    }

    /// The value of that argument.
    pub(super) fn count(&self, arg: &Expr, ctx: &EvalContext) -> Result<usize> {
        let count = match eval_value(arg, ctx)? {
            Value::Int(count) => usize::try_from(count).ok(),
            Value::UInt(count) => i64::try_from(count).ok().map(|count| count as usize),
            _ => None,
        };
        let least = usize::from(matches!(self, Self::Ntile | Self::NthValue));
        count
            .filter(|count| *count >= least)
            .ok_or_else(|| self.wrong_arguments())
    }

    /// Error 1210.
    fn wrong_arguments(&self) -> Error {
        Error::new(
            errno::ER_WRONG_ARGUMENTS,
            format!("Incorrect arguments to {}", self.name()),
        )
    }
}

/// The longest text, in characters, that is a VARCHAR in a temporary table.
const LONGEST_VARCHAR: u32 = 512;

/// The type of a temporary table's column for values of `ty`. MySQL stores the results of windows in such a
/// table, and clients see its types. Source: `create_tmp_field_from_item` and `Item::make_string_field` of
/// MySQL.
fn stored(ty: SqlType) -> SqlType {
    use TypeKind::{BigInt, Char, Int, Null, Text, TinyText, VarChar};
    let kind = match ty.kind {
        Null => {
            return SqlType {
                kind: Char,
                ..SqlType::varchar(0, Collation::Binary)
            };
        }
        _ if ty.is_integer() && ty.length > 9 => BigInt,
        _ if ty.is_integer() => Int,
        Char | VarChar | TinyText if text_length(&ty) <= LONGEST_VARCHAR => VarChar,
        Char | VarChar | Text => {
            let per_char = ty.collation.charset().max_bytes_per_char();
            return SqlType {
                kind: Text,
                length: ty.length.saturating_mul(per_char),
                ..ty
            };
        }
        kind => kind,
    };
    SqlType { kind, ..ty }.computed()
}
