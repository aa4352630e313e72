//! Which conditions, keys and aggregates are pushed down: those that mean exactly the same in TiKV, for every
//! value. Each was compared with TiKV's sources, in the folder `components` of its repository:
//!
//! | pushed down | because | source |
//! |---|---|---|
//! | a comparison of a column with a constant or a column of the same kind: integers; DATE and DATETIME; TIME; DECIMAL; FLOAT and DOUBLE | their stored forms have the order of the values ([`crate::form`]) | `tidb_query_expr/src/impl_compare.rs`; integers of different signs: `map_int_sig` of `lib.rs` |
//! | of TIMESTAMP with a constant, or with another under a fixed offset from UTC | as DATETIME, with the constant in UTC; not where the zone's offset changes near to it (`as_stored`) | the same |
//! | of strings under `binary` and `utf8mb4_0900_bin` | both compare bytes | `tidb_query_datatype/src/codec/collation/collator/binary.rs` |
//! | of strings under `utf8mb4_bin` and `utf8mb4_general_ci`: `=`, `<>`, `<=>`, IN | trailing spaces are ignored there and here; the weights of all code points are MySQL's, and none but the space has the space's. `<` is not: TiKV finds `'a\n'` greater than `'a'`, MySQL does not | `collator/utf8mb4_binary.rs`, `collator/utf8mb4_general_ci.rs` |
//! | `IN` a list of constants | sets of integers, of doubles, and of strings under their collation | `tidb_query_expr/src/impl_compare_in.rs`; older versions of it ignore signs, so all are of the column's |
//! | `BETWEEN`, `IS [NOT] NULL`, `AND`, `OR`, `NOT` of such | three-valued logic is the same | `tidb_query_expr/src/impl_op.rs` |
//! | COUNT, MIN and MAX of numbers and times; SUM and AVG of integers and of DECIMAL with few digits | exact, whatever the order of the rows | `tidb_query_aggr/src/impl_count.rs`, `impl_max_min.rs`, `impl_sum.rs`; it casts integers first (`util.rs`) |
//! | groups by integers, dates, times and DECIMAL | equal values have equal bytes; groups that a store takes for different ones are merged above | `tidb_query_executors/src/fast_hash_aggr_executor.rs`, `slow_hash_aggr_executor.rs` |
//! | the first rows in the order of those and of numbers | NULL is the least | `cmp_sort_key` of `tidb_query_datatype/src/codec/data_type/scalar.rs` |
//!
//! What is not pushed down, and why:
//!
//! - `utf8mb4_0900_ai_ci`: TiKV's weights (`collator/utf8mb4_uca/data_0900.rs`) are not MySQL's for 880 code points: it ignores
//!   no variation selectors, takes U+2F800 to U+2FA1D for characters of their own, and reads beyond the end of its table for
//!   U+2CEA1, which is a panic;
//! - `utf8mb4_unicode_ci`: 15 other characters have the weight of a space, which MySQL pads with, and TiKV does not ignore them
//!   at the end; other collations: TiKV has none, or they were not compared;
//! - YEAR, ENUM, SET, BIT, JSON: compared in several ways;
//! - IN of DECIMAL: 1.0 and 1.00 would have to be the same member of a set;
//! - arithmetic and other functions: their warnings, overflows and hidden digits differ;
//! - SUM and AVG of FLOAT and DOUBLE: the last digits depend on the order of the additions;
//! - a column of the row around a subquery: the subquery reads few rows each time;
//! - a comparison of a column with a constant of another kind, for example of an integer with text or `1.5`.

use std::ops::RangeInclusive;

use functions::aggregate::{AggregateCall, AggregateFunction, MergeableFunction};
use functions::{EvalContext, Expr, TimeZone};
use types::temporal::DateTime;
use types::{Collation, SqlType, TypeKind, Value};

use crate::form::{self, BINARY, Form, UTF8MB4_BIN, UTF8MB4_GENERAL_CI, condition_type};
use crate::tipb::{self, expr_type, scalar_func_sig as sig};

/// The largest depth of a condition. A store refuses a request with more than 1000 nested messages.
const DEPTH_MAX: u32 = 64;
/// The years of constants that are compared with TIMESTAMPs: the days before and after them are dates, too.
const YEARS: RangeInclusive<u16> = 1_000..=9_998;
/// The largest difference between two offsets of a time zone.
const ZONE_HOURS_MAX: i64 = 28;
/// Sums of longer numbers may have more digits than TiKV supports.
const SUM_DIGITS_MAX: u32 = 45;

/// Whether the types in a condition over stored columns permit to push it down. The value of a constant may
/// still prevent it when the statement runs.
pub fn goes_down(condition: &Expr) -> bool {
    Expressions::default().condition(condition).is_some()
}

/// Translates expressions. `None` if they cannot be pushed down.
#[derive(Clone, Copy, Default)]
pub struct Expressions<'a> {
    /// The values of parameters. `None` while a plan is made, when constants have no values yet.
    pub values: Option<&'a EvalContext>,
    /// The position of each column of the scan among those that the store reads. `None`: they are the same.
    pub places: Option<&'a [usize]>,
}

/// Types whose values are compared with each other without conversion.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Integer,
    Moment,
    /// TIMESTAMP: stored in UTC, and compared in the session's time zone.
    Stamp,
    Time,
    Decimal,
    Real,
    Text(Collation),
}

impl Kind {
    fn of(ty: &SqlType) -> Option<Self> {
        Some(match ty.kind {
            TypeKind::TinyInt
            | TypeKind::SmallInt
            | TypeKind::MediumInt
            | TypeKind::Int
            | TypeKind::BigInt => Self::Integer,
            TypeKind::Date | TypeKind::DateTime => Self::Moment,
            TypeKind::Timestamp => Self::Stamp,
            TypeKind::Time => Self::Time,
            TypeKind::Decimal => Self::Decimal,
            TypeKind::Float | TypeKind::Double if ty.decimals == SqlType::NOT_FIXED => Self::Real,
            _ if !ty.is_string() || ty.has_members() => return None,
            _ if matches!(
                ty.collation,
                Collation::Binary
                    | Collation::Utf8mb40900Bin
                    | Collation::Utf8mb4Bin
                    | Collation::Utf8mb4GeneralCi
            ) =>
            {
                Self::Text(ty.collation)
            }
            _ => return None,
        })
    }

    /// Whether comparing such a column with a constant of this type works as comparing the column's values
    /// does.
    fn takes(self, constant: &SqlType) -> bool {
        if constant.kind == TypeKind::Null {
            return true;
        }
        let Some(other) = Self::of(constant) else {
            return false;
        };
        self == other
            || matches!(
                (self, other),
                (Self::Decimal, Self::Integer)
                    | (Self::Real, Self::Integer | Self::Decimal)
                    | (Self::Stamp, Self::Moment)
            )
    }

    /// The number of the collation under which TiKV finds the same values equal as we do.
    fn collate(self) -> i32 {
        match self {
            Self::Text(Collation::Utf8mb4Bin) => UTF8MB4_BIN,
            Self::Text(Collation::Utf8mb4GeneralCi) => UTF8MB4_GENERAL_CI,
            _ => BINARY,
        }
    }

    /// Whether the stored forms also sort as the values do.
    fn is_ordered(self) -> bool {
        match self {
            Self::Text(collation) => matches!(collation, Collation::Binary | Collation::Utf8mb40900Bin),
            _ => true,
        }
    }
}

impl Expressions<'_> {
    pub fn condition(self, expr: &Expr) -> Option<tipb::Expr> {
        self.nested(expr, DEPTH_MAX)
    }

    /// A condition whose calls are nested at most `depth` deep, not counting comparisons.
    fn nested(self, expr: &Expr, depth: u32) -> Option<tipb::Expr> {
        let Expr::Call { function, args, .. } = expr else {
            return None;
        };
        match (function.0.name, args.as_slice()) {
            ("and", args) => self.all_of(sig::LOGICAL_AND, args, depth),
            ("or", args) => self.all_of(sig::LOGICAL_OR, args, depth),
            ("not", [arg]) => Some(not(self.nested(arg, depth.checked_sub(1)?)?)),
            ("is null", [arg]) => self.is_null(arg),
            ("is not null", [arg]) => Some(not(self.is_null(arg)?)),
            ("between", [value, low, high]) => {
                let low = self.compare(sig::GE_INT, value, low)?;
                Some(call(
                    sig::LOGICAL_AND,
                    vec![low, self.compare(sig::LE_INT, value, high)?],
                ))
            }
            ("in", [value, list @ ..]) => self.is_in(value, list),
            (name, [a, b]) => self.compare(comparison(name)?, a, b),
            _ => None,
        }
    }

    /// Applies a binary operator to any number of operands, halving the list, so that the depth grows with
    /// its logarithm.
    fn all_of(self, operator: i32, args: &[Expr], depth: u32) -> Option<tipb::Expr> {
        match args {
            [] => None,
            [arg] => self.nested(arg, depth),
            _ => {
                let (first, second) = args.split_at(args.len() / 2);
                let depth = depth.checked_sub(1)?;
                let first = self.all_of(operator, first, depth)?;
                Some(call(operator, vec![first, self.all_of(operator, second, depth)?]))
            }
        }
    }

    fn compare(self, operator: i32, a: &Expr, b: &Expr) -> Option<tipb::Expr> {
        let (column, kind) = match (column_kind(a), column_kind(b)) {
            (Some(one), Some(other)) if one == other && self.compares_stored(one) => (a, one),
            (Some(kind), None) => (a, kind),
            (None, Some(kind)) => (b, kind),
            _ => return None,
        };
        let needs_order = !matches!(operator, sig::EQ_INT | sig::NE_INT | sig::NULL_EQ_INT);
        if needs_order && !kind.is_ordered() {
            return None;
        }
        let side = |expr: &Expr| match column_kind(expr) {
            Some(_) => self.column_ref(expr),
            None => self.constant(expr, kind, &column.ty()),
        };
        let form = Form::of(&column.ty())?;
        Some(tipb::Expr {
            field_type: Some(condition_type(kind.collate())),
            ..call(operator + form.offset(), vec![side(a)?, side(b)?])
        })
    }

    fn is_in(self, value: &Expr, list: &[Expr]) -> Option<tipb::Expr> {
        let (kind, ty) = (column_kind(value)?, value.ty());
        // TiKV distinguishes the decimals of a set by their digits.
        if kind == Kind::Decimal {
            return None;
        }
        let form = Form::of(&ty)?;
        let mut all = vec![self.column_ref(value)?];
        for item in list {
            let item = self.constant(item, kind, &ty)?;
            // A store looks up all items in one set, whose members must have the column's own form.
            let is_same =
                item.field_type.as_ref().map(|ty| ty.flag) == all[0].field_type.as_ref().map(|ty| ty.flag);
            if !is_same {
                return None;
            }
            all.push(item);
        }
        Some(tipb::Expr {
            field_type: Some(condition_type(kind.collate())),
            ..call(sig::IN_INT + form.offset(), all)
        })
    }

    /// A constant that is compared with a column of this kind and type.
    fn constant(self, expr: &Expr, kind: Kind, column: &SqlType) -> Option<tipb::Expr> {
        let mut has_outer = false;
        expr.walk(&mut |e| has_outer |= matches!(e, Expr::Outer { .. }));
        if !kind.takes(&expr.ty()) || !expr.is_constant() || has_outer {
            return None;
        }
        let null = || tipb::Expr {
            tp: Some(expr_type::NULL),
            field_type: Form::of(column).map(|form| form.field_type(column)),
            ..Default::default()
        };
        let Some(values) = self.values else {
            return Some(null());
        };
        let value = match expr {
            Expr::Literal { value, .. } => value,
            Expr::Param { index, .. } => values.params.get(*index)?,
            _ => return None,
        };
        if value.is_null() {
            return Some(null());
        }
        let value = match (kind, value) {
            (Kind::Stamp, Value::UInt(local)) if expr.ty().kind != TypeKind::Timestamp => {
                Value::UInt(as_stored(*local, values.time_zone)?)
            }
            (Kind::Stamp, _) => return None,
            // An integer in the column's own form, if it can have that.
            (Kind::Integer, Value::Int(n)) if column.unsigned => {
                u64::try_from(*n).map_or_else(|_| value.clone(), Value::UInt)
            }
            (Kind::Integer, Value::UInt(n)) if !column.unsigned => {
                i64::try_from(*n).map_or_else(|_| value.clone(), Value::Int)
            }
            _ => value.clone(),
        };
        let (form, bytes) = form::constant(&value, column)?;
        Some(tipb::Expr {
            tp: Some(match form {
                Form::Int => expr_type::INT64,
                Form::UInt => expr_type::UINT64,
                Form::Real => expr_type::FLOAT64,
                Form::Decimal => expr_type::MYSQL_DECIMAL,
                Form::Bytes => expr_type::BYTES,
            }),
            val: Some(bytes),
            field_type: Some(form.field_type(column)),
            ..Default::default()
        })
    }

    fn is_null(self, expr: &Expr) -> Option<tipb::Expr> {
        let sig = match Form::of(&expr.ty())? {
            Form::Int | Form::UInt => sig::INT_IS_NULL,
            Form::Real => sig::REAL_IS_NULL,
            Form::Decimal => sig::DECIMAL_IS_NULL,
            Form::Bytes => sig::STRING_IS_NULL,
        };
        Some(call(sig, vec![self.column_ref(expr)?]))
    }

    /// A column of the scan, of any type.
    fn column_ref(self, expr: &Expr) -> Option<tipb::Expr> {
        let Expr::Column { index, ty, .. } = expr else {
            return None;
        };
        let place = match self.places {
            Some(places) => *places.get(*index)?,
            None => *index,
        };
        column_at(place, ty)
    }

    /// Whether two values of a kind compare in the same way in their stored form. In zones with summer time,
    /// two moments can have the same local time.
    fn compares_stored(self, kind: Kind) -> bool {
        let is_fixed = |zone: TimeZone| match zone {
            TimeZone::Offset(_) => true,
            TimeZone::Named(_) => ["UTC", "GMT"].contains(&&*zone.name()) || zone.name().starts_with("Etc/"),
        };
        kind != Kind::Stamp || self.values.is_none_or(|eval| is_fixed(eval.time_zone))
    }

    /// Whether the stored forms of a kind sort as the values do.
    fn keeps_order(self, kind: Kind) -> bool {
        kind.is_ordered() && self.compares_stored(kind)
    }

    /// A key to sort by.
    pub fn order_key(self, expr: &Expr) -> Option<tipb::Expr> {
        self.keeps_order(column_kind(expr)?)
            .then(|| self.column_ref(expr))?
    }

    /// A key to group by.
    pub fn group_key(self, expr: &Expr) -> Option<tipb::Expr> {
        match column_kind(expr)? {
            Kind::Real | Kind::Text(_) => None,
            Kind::Integer | Kind::Moment | Kind::Stamp | Kind::Time | Kind::Decimal => self.column_ref(expr),
        }
    }

    /// An aggregate, and the type of its result.
    pub fn aggregate(self, call: &AggregateCall) -> Option<(tipb::Expr, SqlType)> {
        if call.distinct {
            return None;
        }
        let of = |tp: i32, arg: tipb::Expr, ty: SqlType, form: Form| {
            let expr = tipb::Expr {
                tp: Some(tp),
                children: vec![arg],
                field_type: Some(form.field_type(&ty)),
                ..Default::default()
            };
            Some((expr, ty))
        };
        match (call.function, call.args.as_slice()) {
            (AggregateFunction::Count, args) => {
                let counted = match args {
                    [] => one(),
                    [Expr::Literal { value, .. }] if !value.is_null() => one(),
                    [arg] => self.column_ref(arg)?,
                    _ => return None,
                };
                of(expr_type::COUNT, counted, SqlType::BIGINT, Form::Int)
            }
            (AggregateFunction::Sum, [arg]) => {
                let ty = arg.ty();
                let is_short = match column_kind(arg)? {
                    Kind::Integer => true,
                    Kind::Decimal => ty.length <= SUM_DIGITS_MAX,
                    _ => false,
                };
                let sum = MergeableFunction::sum_of(&ty).result_type();
                is_short.then(|| of(expr_type::SUM, self.column_ref(arg)?, sum, Form::Decimal))?
            }
            (AggregateFunction::Min | AggregateFunction::Max, [arg]) => {
                let ty = arg.ty();
                let kind = column_kind(arg)?;
                let goes_down = !matches!(kind, Kind::Text(_)) && self.keeps_order(kind);
                let tp = match call.function {
                    AggregateFunction::Min => expr_type::MIN,
                    _ => expr_type::MAX,
                };
                goes_down.then(|| of(tp, self.column_ref(arg)?, call.ty, Form::of(&ty)?))?
            }
            _ => None,
        }
    }
}

/// A moment of a zone in the stored form of a TIMESTAMP. `None`: the zone's offset changes so near to it that
/// stored moments around it sort differently from local ones.
fn as_stored(local: u64, zone: TimeZone) -> Option<u64> {
    if local == 0 {
        return Some(0);
    }
    if !YEARS.contains(&DateTime::unpack(local).year) {
        return None;
    }
    if let TimeZone::Named(_) = zone {
        let hour = zone.to_unix_us(&DateTime::unpack(local))? / 3_600_000_000;
        let offset = |hour: i64| zone.offset_at(hour * 3_600);
        let around = hour - ZONE_HOURS_MAX..=hour + ZONE_HOURS_MAX;
        if around.map(offset).any(|other| other != offset(hour)) {
            return None;
        }
    }
    zone.local_to_utc(local)
}

fn comparison(name: &str) -> Option<i32> {
    Some(match name {
        "=" => sig::EQ_INT,
        "<>" => sig::NE_INT,
        "<" => sig::LT_INT,
        "<=" => sig::LE_INT,
        ">" => sig::GT_INT,
        ">=" => sig::GE_INT,
        "<=>" => sig::NULL_EQ_INT,
        _ => return None,
    })
}

fn call(sig: i32, children: Vec<tipb::Expr>) -> tipb::Expr {
    tipb::Expr {
        tp: Some(expr_type::SCALAR_FUNC),
        sig: Some(sig),
        children,
        field_type: Some(condition_type(BINARY)),
        ..Default::default()
    }
}

fn not(condition: tipb::Expr) -> tipb::Expr {
    call(sig::UNARY_NOT_INT, vec![condition])
}

fn column_kind(expr: &Expr) -> Option<Kind> {
    match expr {
        Expr::Column { ty, .. } => Kind::of(ty),
        _ => None,
    }
}

/// A reference to a column, by its position among those that the store reads.
fn column_at(position: usize, ty: &SqlType) -> Option<tipb::Expr> {
    let mut val = Vec::new();
    codec::memcomparable::encode_i64(i64::try_from(position).ok()?, &mut val);
    Some(tipb::Expr {
        tp: Some(expr_type::COLUMN_REF),
        val: Some(val),
        field_type: Some(Form::of(ty)?.field_type(ty)),
        ..Default::default()
    })
}

/// A reference to such a column as a key to sort by.
pub fn order_at(position: usize, ty: &SqlType) -> Option<tipb::Expr> {
    Kind::of(ty)?.is_ordered().then(|| column_at(position, ty))?
}

pub fn count_of_rows() -> tipb::Expr {
    tipb::Expr {
        tp: Some(expr_type::COUNT),
        children: vec![one()],
        field_type: Some(Form::Int.field_type(&SqlType::BIGINT)),
        ..Default::default()
    }
}

/// The constant 1, as the argument of COUNT(*).
fn one() -> tipb::Expr {
    let mut val = Vec::new();
    codec::memcomparable::encode_i64(1, &mut val);
    tipb::Expr {
        tp: Some(expr_type::INT64),
        val: Some(val),
        field_type: Some(Form::Int.field_type(&SqlType::BIGINT)),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use functions::bind::{TypeEnv, call as bind, implicit_cast};
    use types::Decimal;

    fn column(ty: SqlType) -> Expr {
        Expr::column(0, ty, true)
    }

    fn integer(value: i64) -> Expr {
        Expr::literal(Value::Int(value), SqlType::BIGINT)
    }

    fn text(value: &str, collation: Collation) -> Expr {
        Expr::literal(
            Value::from(value),
            SqlType::varchar(value.len() as u32, collation),
        )
    }

    fn of(name: &str, args: Vec<Expr>) -> Expr {
        bind(name, args, &TypeEnv::default()).unwrap()
    }

    #[test]
    fn what_goes_down() {
        let bin = |name| {
            of(
                name,
                vec![
                    column(SqlType::varchar(9, Collation::Utf8mb4Bin)),
                    text("a", Collation::Utf8mb4Bin),
                ],
            )
        };
        let decimal = || column(SqlType::decimal(10, 2));
        for (condition, down) in [
            (of("=", vec![column(SqlType::BIGINT), integer(5)]), true),
            (of("<", vec![integer(5), column(SqlType::BIGINT_UNSIGNED)]), true),
            (of("<=>", vec![column(SqlType::BIGINT), Expr::null()]), true),
            (of(">", vec![decimal(), integer(5)]), true),
            (of(">", vec![column(SqlType::DOUBLE), integer(5)]), true),
            (
                of("between", vec![column(SqlType::BIGINT), integer(1), integer(2)]),
                true,
            ),
            (
                of("in", vec![column(SqlType::BIGINT), integer(1), integer(2)]),
                true,
            ),
            (of("is null", vec![column(SqlType::JSON)]), true),
            (bin("="), true),
            (bin("<>"), true),
            (of("not", vec![bin("=")]), true),
            (
                of(
                    "and",
                    vec![bin("="), of("is not null", vec![column(SqlType::YEAR)])],
                ),
                true,
            ),
            // Trailing spaces, and what follows them.
            (bin("<"), false),
            (of("in", vec![decimal(), integer(1)]), false),
            (
                of(
                    "=",
                    vec![
                        column(SqlType::varchar(9, Collation::DEFAULT)),
                        text("a", Collation::DEFAULT),
                    ],
                ),
                false,
            ),
            (
                of(
                    "=",
                    vec![
                        column(SqlType::BIGINT),
                        Expr::literal(Value::Decimal(Decimal::from_i128(15, 1)), SqlType::decimal(2, 1)),
                    ],
                ),
                false,
            ),
            (of("=", vec![column(SqlType::YEAR), integer(5)]), false),
            (
                of(
                    "=",
                    vec![
                        implicit_cast(column(SqlType::BIGINT), SqlType::DOUBLE),
                        integer(5),
                    ],
                ),
                false,
            ),
            (
                of(
                    ">",
                    vec![of("+", vec![column(SqlType::BIGINT), integer(1)]), integer(5)],
                ),
                false,
            ),
            (of("and", vec![bin("="), bin("<")]), false),
            (column(SqlType::BIGINT), false),
        ] {
            assert_eq!(goes_down(&condition), down, "{condition:?}");
        }
    }

    fn depth(expr: &tipb::Expr) -> usize {
        1 + expr.children.iter().map(depth).max().unwrap_or(0)
    }

    #[test]
    fn conditions_are_not_deep() {
        let term = |i: i64| of("=", vec![column(SqlType::BIGINT), integer(i)]);
        for (count, deepest) in [(2, 3), (3, 4), (3_000, 14), (40_000, 18)] {
            let any = of("or", (0..count).map(term).collect());
            let sent = Expressions::default().condition(&any).unwrap();
            assert_eq!(depth(&sent), deepest, "{count} terms");
        }
        for (levels, down) in [(20, true), (30, true), (40, false)] {
            let deep = (0..levels).fold(term(0), |inner, i| {
                of("or", vec![term(i), of("and", vec![inner, term(i)])])
            });
            assert_eq!(goes_down(&deep), down, "{levels} levels");
        }
    }

    #[test]
    fn a_constant_has_its_own_form_or_does_not_go_down() {
        let eval = EvalContext::default();
        let with = Expressions {
            values: Some(&eval),
            places: None,
        };
        let compared = |ty: SqlType, value: Value| {
            let condition = of("<", vec![column(ty), Expr::literal(value, ty)]);
            let sent = with.condition(&condition)?.children.pop()?;
            Some((sent.tp?, sent.val?))
        };
        let unsigned = SqlType::BIGINT_UNSIGNED;
        assert_eq!(
            compared(SqlType::BIGINT, Value::UInt(5)),
            Some((expr_type::INT64, vec![0x80, 0, 0, 0, 0, 0, 0, 5]))
        );
        assert_eq!(
            compared(unsigned, Value::Int(5)),
            Some((expr_type::UINT64, vec![0, 0, 0, 0, 0, 0, 0, 5]))
        );
        assert_eq!(
            compared(unsigned, Value::Int(-1)),
            Some((expr_type::INT64, vec![0x7F, 255, 255, 255, 255, 255, 255, 255]))
        );
        assert_eq!(
            compared(SqlType::BIGINT, Value::UInt(u64::MAX)),
            Some((expr_type::UINT64, vec![255; 8]))
        );
        // Nanoseconds.
        assert_eq!(
            compared(SqlType::time(0), Value::Int(1)),
            Some((expr_type::INT64, vec![0x80, 0, 0, 0, 0, 0, 3, 0xE8]))
        );
        assert_eq!(compared(SqlType::time(0), Value::Int(i64::MAX)), None);
        assert_eq!(compared(SqlType::DOUBLE, Value::Int(i64::MAX)), None);
        // A constant that a set of unsigned integers cannot hold.
        let of_set = of("in", vec![column(unsigned), integer(1), integer(-1)]);
        assert!(goes_down(&of_set) && with.condition(&of_set).is_none());
    }

    #[test]
    fn a_timestamp_is_compared_in_utc_where_the_zone_is_steady() {
        let moment = |month, day, hour| DateTime::new(2024, month, day, hour, 30, 0, 7).pack();
        let paris = TimeZone::parse("Europe/Paris").unwrap();
        assert_eq!(as_stored(moment(7, 1, 12), paris), Some(moment(7, 1, 10)));
        assert_eq!(
            as_stored(moment(1, 1, 0), TimeZone::Offset(1_800)),
            Some(moment(1, 1, 0) - (30 << 30))
        );
        // The clocks are put back at 3 o'clock.
        assert_eq!(as_stored(moment(10, 27, 2), paris), None);
        assert_eq!(as_stored(moment(10, 26, 9), paris), None);
        assert_eq!(as_stored(moment(10, 29, 9), paris), Some(moment(10, 29, 8)));
        assert_eq!(as_stored(0, paris), Some(0));
        assert_eq!(
            as_stored(DateTime::new(9_999, 12, 31, 23, 0, 0, 0).pack(), TimeZone::UTC),
            None
        );

        let stamp = || column(SqlType::timestamp(6));
        let constant = || Expr::literal(Value::UInt(moment(7, 1, 12)), SqlType::datetime(6));
        let later = of(">", vec![stamp(), constant()]);
        let each_other = of("=", vec![stamp(), stamp()]);
        for (zone, between_columns) in [
            (paris, false),
            (TimeZone::Offset(7_200), true),
            (TimeZone::UTC, true),
        ] {
            let eval = EvalContext {
                time_zone: zone,
                ..EvalContext::default()
            };
            let with = Expressions {
                values: Some(&eval),
                places: None,
            };
            let sent = with.condition(&later).map(|sent| sent.children[1].val.clone());
            let utc = zone.local_to_utc(moment(7, 1, 12)).unwrap();
            assert_eq!(sent, Some(Some(utc.to_be_bytes().to_vec())), "{zone:?}");
            assert_eq!(with.condition(&each_other).is_some(), between_columns, "{zone:?}");
            assert_eq!(with.order_key(&stamp()).is_some(), between_columns, "{zone:?}");
        }
    }
}
