//! The calls of aggregate functions in a query: function, arguments, and the types of the results.

use types::{Collation, Decimal, Error, Result, SqlType, TypeKind, errno};

use super::binary_bits::LONGEST;
use super::collect::Concat;
use crate::Expr;
use crate::bind::arguments::{digits, implicit_cast, numeric_type, read_members, reads_branches, text_type};
use crate::bind::env::TypeEnv;
use crate::ops::bits::{as_unsigned, is_binary};
use crate::quotient::{computed_type, quotient_scale};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AggregateFunction {
    /// `COUNT(*)` has no argument; `COUNT(DISTINCT a, b)` several.
    Count,
    Sum,
    Avg,
    Min,
    Max,
    /// The value of the group's first row.
    AnyValue,
    BitAnd,
    BitOr,
    BitXor,
    /// STD, STDDEV and STDDEV_POP.
    StdPop,
    StdSamp,
    /// VARIANCE and VAR_POP.
    VarPop,
    VarSamp,
    GroupConcat,
    JsonArray,
    JsonObject,
}

impl AggregateFunction {
    /// Whether it can be computed from parts of a group whose results are merged.
    pub fn is_mergeable(self) -> bool {
        matches!(
            self,
            Self::Count | Self::Sum | Self::Avg | Self::Min | Self::Max | Self::AnyValue
        )
    }

    /// Whether what is known of a group's rows takes no more than a value of the argument, however many they are
    /// (without DISTINCT).
    pub fn has_small_state(self) -> bool {
        !matches!(self, Self::GroupConcat | Self::JsonArray | Self::JsonObject)
    }

    /// Whether the result depends on the order of the group's rows.
    pub fn depends_on_order(self) -> bool {
        matches!(
            self,
            Self::AnyValue | Self::GroupConcat | Self::JsonArray | Self::JsonObject
        )
    }

    /// The function with an SQL name in lower case.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "count" => Self::Count,
            "sum" => Self::Sum,
            "avg" => Self::Avg,
            "min" => Self::Min,
            "max" => Self::Max,
            "any_value" => Self::AnyValue,
            "bit_and" => Self::BitAnd,
            "bit_or" => Self::BitOr,
            "bit_xor" => Self::BitXor,
            "std" | "stddev" | "stddev_pop" => Self::StdPop,
            "stddev_samp" => Self::StdSamp,
            "variance" | "var_pop" => Self::VarPop,
            "var_samp" => Self::VarSamp,
            "group_concat" => Self::GroupConcat,
            "json_arrayagg" => Self::JsonArray,
            "json_objectagg" => Self::JsonObject,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Sum => "sum",
            Self::Avg => "avg",
            Self::Min => "min",
            Self::Max => "max",
            Self::AnyValue => "any_value",
            Self::BitAnd => "bit_and",
            Self::BitOr => "bit_or",
            Self::BitXor => "bit_xor",
            Self::StdPop => "std",
            Self::StdSamp => "stddev_samp",
            Self::VarPop => "variance",
            Self::VarSamp => "var_samp",
            Self::GroupConcat => "group_concat",
            Self::JsonArray => "json_arrayagg",
            Self::JsonObject => "json_objectagg",
        }
    }

    /// How many arguments a call has, except COUNT.
    fn arguments(self) -> usize {
        1 + usize::from(self == Self::JsonObject)
    }
}

/// One call in a query. Arguments have been cast to what the function computes in.
#[derive(Debug, Clone, PartialEq)]
pub struct AggregateCall {
    pub function: AggregateFunction,
    pub args: Vec<Expr>,
    pub distinct: bool,
    /// GROUP_CONCAT's other clauses.
    pub concat: Option<Box<Concat>>,
    /// The type of the aggregation's output. It includes the hidden digits of a quotient, so that `AVG(x) *
    /// 100` gives MySQL's result.
    pub ty: SqlType,
    /// The type that the call has in the query above the aggregation; see [`super::result`].
    pub shown: SqlType,
}

/// The type of a GROUP_CONCAT: a text that is as long as `@@group_concat_max_len` allows.
fn concat_type(collation: Collation, env: &TypeEnv) -> SqlType {
    const VARCHAR_CHARS_MAX: u64 = 512;
    let charset = collation.charset();
    let chars = env.group_concat_max_len / charset.min_bytes_per_char() as u64;
    let length = |length: u64| u32::try_from(length).unwrap_or(u32::MAX);
    match chars <= VARCHAR_CHARS_MAX {
        true => SqlType::varchar(length(chars), collation),
        false => SqlType {
            kind: TypeKind::LongText,
            ..SqlType::varchar(
                length(chars.saturating_mul(u64::from(charset.max_bytes_per_char()))),
                collation,
            )
        },
    }
}

impl AggregateCall {
    /// Calls `visit` with each argument.
    pub fn expressions(&self, visit: &mut dyn FnMut(&Expr)) {
        self.args.iter().for_each(visit);
    }

    pub fn expressions_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.args.iter_mut().for_each(visit);
    }

    /// Types the call and converts its arguments.
    pub(crate) fn bind(
        function: AggregateFunction,
        args: Vec<Expr>,
        distinct: bool,
        env: &TypeEnv,
    ) -> Result<Self> {
        let mut args = Self::read_members(function, args);
        let fits = match function {
            AggregateFunction::Count if distinct => !args.is_empty(),
            AggregateFunction::Count => args.len() <= 1,
            _ => args.len() == function.arguments(),
        };
        if !fits {
            return Err(Error::new(
                errno::ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT,
                format!(
                    "Incorrect parameter count in the call to native function '{}'",
                    function.name()
                ),
            ));
        }
        let (ty, shown) = match function {
            AggregateFunction::Count => {
                let ty = SqlType {
                    length: 21,
                    ..SqlType::BIGINT
                };
                (ty, ty)
            }
            AggregateFunction::Min | AggregateFunction::Max | AggregateFunction::AnyValue => {
                let ty = args.first().map_or(SqlType::NULL, Expr::ty).computed();
                (ty, ty)
            }
            AggregateFunction::Sum | AggregateFunction::Avg => {
                let arg = args.pop().unwrap_or_else(Expr::null);
                let arg = as_number(arg);
                let shown = sum_type(function, &arg, env);
                let arg = with_hidden_digits(arg, env.div_precision_increment);
                let ty = inner_type(function, &shown, arg.ty().decimals, env);
                args.push(arg);
                (ty, shown)
            }
            AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor => {
                let arg = as_bits(args.pop().unwrap_or_else(Expr::null))?;
                let ty = match is_binary(&arg) {
                    true => SqlType::varchar(arg.ty().length + 1, Collation::Binary),
                    false => crate::ops::bits::result(),
                };
                args.push(arg);
                (ty, ty)
            }
            AggregateFunction::StdPop
            | AggregateFunction::StdSamp
            | AggregateFunction::VarPop
            | AggregateFunction::VarSamp => {
                let arg = args.pop().unwrap_or_else(Expr::null);
                args.push(implicit_cast(arg, SqlType::DOUBLE));
                (SqlType::COMPUTED_DOUBLE, SqlType::COMPUTED_DOUBLE)
            }
            AggregateFunction::JsonArray | AggregateFunction::JsonObject => {
                if let Some(value) = args.pop() {
                    args.push(with_hidden_digits(value, env.div_precision_increment));
                }
                if function == AggregateFunction::JsonObject
                    && let Some(name) = args.first_mut()
                {
                    let arg = std::mem::replace(name, Expr::null());
                    // Binary data, which cannot be a name, stays what it is.
                    *name = match arg.ty().is_string() && arg.ty().is_binary() {
                        true => arg,
                        false => {
                            let ty = text_type(&arg.ty(), Collation::Utf8mb4Bin);
                            implicit_cast(arg, ty)
                        }
                    };
                }
                (SqlType::JSON, SqlType::JSON)
            }
            AggregateFunction::GroupConcat => return Err(Error::internal("GROUP_CONCAT is bound elsewhere")),
        };
        // DISTINCT does not change the results of these.
        let idempotent = matches!(
            function,
            AggregateFunction::Min | AggregateFunction::Max | AggregateFunction::AnyValue
        );
        Ok(Self {
            function,
            args,
            distinct: distinct && !idempotent,
            concat: None,
            ty,
            shown,
        })
    }

    /// The arguments, with ENUMs and SETs converted to text. COUNT needs no conversion.
    fn read_members(function: AggregateFunction, args: Vec<Expr>) -> Vec<Expr> {
        let read = |arg: Expr| match function {
            AggregateFunction::Count => arg,
            AggregateFunction::Min | AggregateFunction::Max if arg.ty().has_members() => {
                let ty = arg.ty();
                let text = SqlType {
                    kind: TypeKind::Char,
                    ..text_type(&ty, ty.collation)
                };
                implicit_cast(arg, text)
            }
            _ => read_members(arg),
        };
        args.into_iter().map(read).collect()
    }

    /// Types a GROUP_CONCAT of `args`. `order`: the sort keys, and whether each is descending.
    pub(crate) fn bind_concat(
        args: Vec<Expr>,
        distinct: bool,
        order: Vec<(Expr, bool)>,
        separator: String,
        env: &TypeEnv,
    ) -> Result<Self> {
        // Numbers keep their own type before they become text: here IF and CASE do not show the type of the
        // chosen branch.
        // MySQL stores rows that it sorts, and a BIT as a number.
        let is_stored = distinct || !order.is_empty();
        let of_bits = |arg: Expr| match arg.ty().kind {
            TypeKind::Bit if is_stored => implicit_cast(arg, SqlType::BIGINT_UNSIGNED),
            _ => arg,
        };
        let kept = |arg: Expr| match text_type(&arg.ty(), env.collation) {
            ty if arg.ty().is_numeric() && reads_branches(&arg, &ty) => Expr::Cast {
                input: Box::new(arg),
                ty,
                implicit: true,
            },
            _ => arg,
        };
        let text = crate::bind::call(
            "concat",
            args.iter().cloned().map(of_bits).map(kept).collect(),
            env,
        )?;
        let collation = text.ty().collation;
        let ty = concat_type(collation, env);
        let distinct_args = if distinct { args.len() } else { 0 };
        let mut all = vec![text];
        all.extend(args.into_iter().take(distinct_args));
        let (keys, descending) = order.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
        all.extend(keys);
        Ok(Self {
            function: AggregateFunction::GroupConcat,
            args: all,
            distinct,
            concat: Some(Box::new(Concat {
                separator,
                distinct_args,
                descending,
            })),
            ty,
            shown: ty,
        })
    }

    /// Whether values can be added one by one, not only as arrays: the call has at most one argument, and
    /// does not compare a row with earlier ones.
    pub fn takes_values(&self) -> bool {
        let keeps_rows = matches!(
            self.function,
            AggregateFunction::GroupConcat | AggregateFunction::JsonArray | AggregateFunction::JsonObject
        );
        !keeps_rows && !self.distinct && self.args.len() <= 1
    }

    /// Whether the result may be NULL.
    pub fn nullable(&self) -> bool {
        !matches!(
            self.function,
            AggregateFunction::Count
                | AggregateFunction::BitAnd
                | AggregateFunction::BitOr
                | AggregateFunction::BitXor
        )
    }

    pub(crate) fn out_of_range(&self, kind: &str) -> Error {
        out_of_range(kind, &self.text())
    }

    /// The call as messages print it.
    pub(super) fn text(&self) -> String {
        let args: Vec<String> = self.args.iter().map(|a| crate::print::expr(a, None)).collect();
        let distinct = if self.distinct { "distinct " } else { "" };
        format!("{}({distinct}{})", self.function.name(), args.join(","))
    }
}

/// The error for a result that is out of its type's range. `text`: the call.
pub(super) fn out_of_range(kind: &str, text: &str) -> Error {
    Error::new(
        errno::ER_DATA_OUT_OF_RANGE,
        format!("{kind} value is out of range in '{text}'"),
    )
}

fn as_number(arg: Expr) -> Expr {
    let ty = arg.ty();
    if ty.kind == TypeKind::Null {
        return implicit_cast(arg, SqlType::DOUBLE);
    }
    implicit_cast(arg, numeric_type(&ty))
}

/// Binary strings unchanged; other values as integers.
fn as_bits(arg: Expr) -> Result<Expr> {
    if is_binary(&arg) {
        return match arg.ty().length {
            0..=LONGEST => Ok(arg),
            _ => Err(Error::new(
                errno::ER_INVALID_BITWISE_AGGREGATE_OPERANDS_SIZE,
                format!(
                    "Aggregate bitwise functions cannot accept arguments longer than {LONGEST} bytes; consider \
                     using the SUBSTRING() function"
                ),
            )),
        };
    }
    Ok(match as_unsigned(&arg.ty()) {
        Some(target) => implicit_cast(arg, target),
        None => arg,
    })
}

fn sum_type(function: AggregateFunction, arg: &Expr, env: &TypeEnv) -> SqlType {
    if arg.ty().is_float() {
        // FLOAT(M,D) has D digits after the point. A quotient has more.
        let decimals = match (arg.ty().decimals, function) {
            (SqlType::NOT_FIXED, _) => SqlType::NOT_FIXED,
            (fixed, AggregateFunction::Avg) => fixed
                .saturating_add(env.div_precision_increment)
                .min(SqlType::NOT_FIXED),
            (fixed, _) => fixed,
        };
        return SqlType {
            decimals,
            ..SqlType::COMPUTED_DOUBLE
        };
    }
    let (whole, scale) = digits(arg);
    let precision = whole + u32::from(scale);
    if function == AggregateFunction::Sum {
        return SqlType::decimal((precision + 22).min(65), scale);
    }
    let increment = u32::from(env.div_precision_increment);
    let wide = (u32::from(scale) + increment).min(u32::from(Decimal::MAX_SCALE));
    SqlType::decimal((precision + increment).clamp(wide.max(1), 65), wide as u8)
}

/// The type of a sum or an average with all its digits, for an argument of scale `scale`.
fn inner_type(function: AggregateFunction, shown: &SqlType, scale: u8, env: &TypeEnv) -> SqlType {
    if !shown.is_decimal() {
        return *shown;
    }
    let inner = match function {
        AggregateFunction::Avg => quotient_scale(scale, 0, env.div_precision_increment),
        _ => scale,
    };
    let scale = inner.max(shown.decimals);
    let whole = shown.length.saturating_sub(u32::from(shown.decimals));
    SqlType::decimal((whole + u32::from(scale)).min(65), scale)
}

/// Keeps the digits of a quotient in the argument that its own type does not show.
fn with_hidden_digits(arg: Expr, increment: u8) -> Expr {
    let ty = computed_type(&arg, increment);
    match arg {
        Expr::Call { function, args, .. } => Expr::Call { function, args, ty },
        arg => arg,
    }
}
