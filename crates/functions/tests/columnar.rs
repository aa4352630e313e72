//! The columnar kernels against the evaluation of single rows: the same values, and errors where a row has
//! one.

#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use arrow::record_batch::RecordBatch;
use common::{bind_text, columns, context};
use functions::{TimeZone, eval_array, eval_predicate, eval_row};
use types::array::{ColumnBuilder, value_at};
use types::{Decimal, SqlMode, SqlType, TypeKind, Value};

const ROWS: usize = 64;

/// A small generator, so that a failure can be seen again.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize].clone()
    }

    fn value(&mut self, ty: &SqlType) -> Value {
        use TypeKind::*;
        if self.below(6) == 0 {
            return Value::Null;
        }
        let small = self.below(10) as i64 - 3;
        match ty.kind {
            BigInt if ty.unsigned => Value::UInt(self.pick(&[0, 1, 4, 7, u64::MAX, 1 << 63])),
            BigInt => Value::Int(self.pick(&[small, small, i64::MIN, i64::MAX, 1 << 53])),
            TinyInt | Int if ty.unsigned => Value::UInt(small.unsigned_abs()),
            TinyInt | Int => Value::Int(small),
            Year => Value::UInt(self.pick(&[0, 1999, 2024])),
            Decimal => Value::Decimal(types::Decimal::from_i128(
                self.pick(&[0, 650, -150, 300, 9_999_999_999]),
                2,
            )),
            Float | Double => Value::Double(self.pick(&[0.0, -0.0, 1.5, 7.5, -2.0, 1e300])),
            Date => Value::UInt(self.pick(&[0, date(2024, 2, 3), date(2024, 0, 0), date(1999, 12, 31)])),
            DateTime | Timestamp => Value::UInt(self.pick(&[date(2024, 1, 2), date(2024, 1, 2) + 5, 0])),
            Time => Value::Int(self.pick(&[0, -3_600_000_000, 40_333_450_000])),
            Json => {
                let text = self.pick(&["1", "\"a\"", "[1, 2]", "{\"a\": 1}", "null"]);
                Value::Json(types::json::JsonBinary::parse(text.as_bytes()).unwrap())
            }
            _ if ty.is_binary() => Value::Bytes(self.pick(&[&b""[..], b"xyz", b"\xff", b"1"]).to_vec()),
            _ => Value::from(self.pick(&["", "abc", "ABC", "def ", "é", "1", "2024-02-03", "7.5x"])),
        }
    }
}

fn date(year: u16, month: u8, day: u8) -> u64 {
    types::temporal::DateTime::from_date(year, month, day).pack()
}

fn random_batch(random: &mut Random) -> (RecordBatch, Vec<Vec<Value>>) {
    let columns = columns();
    let mut rows = vec![Vec::new(); ROWS];
    let mut arrays = Vec::new();
    let mut fields = Vec::new();
    for (name, ty, _) in &columns {
        let mut out = ColumnBuilder::new(ty, ROWS);
        for row in &mut rows {
            let value = random.value(ty);
            out.append(&value).unwrap();
            row.push(value);
        }
        arrays.push(out.finish());
        fields.push(Field::new(*name, ty.arrow_type(), true));
    }
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap();
    (batch, rows)
}

/// Evaluates both ways and says how they differ.
fn difference(text: &str, batch: &RecordBatch, rows: &[Vec<Value>]) -> Option<String> {
    let expr = bind_text(text, SqlMode::default(), TimeZone::UTC).ok()?;
    let ty = expr.ty();
    let ctx = context(SqlMode::default(), TimeZone::UTC);
    let single: Result<Vec<Value>, _> = rows.iter().map(|row| eval_row(&expr, row, &ctx)).collect();
    let (_, single_warnings) = ctx.warnings.take();
    let array = eval_array(&expr, batch, &ctx);
    let (_, array_warnings) = ctx.warnings.take();
    match (single, array) {
        (Err(a), Err(b)) if a.code == b.code => None,
        (Err(a), _) => Some(format!("{text}: rows fail with {a}, columns do not")),
        (Ok(_), Err(b)) => Some(format!("{text}: columns fail with {b}, rows do not")),
        (Ok(single), Ok(array)) => {
            if *array.data_type() != ty.arrow_type() {
                return Some(format!(
                    "{text}: {} is not {}",
                    array.data_type(),
                    ty.arrow_type()
                ));
            }
            for (i, expected) in single.iter().enumerate() {
                let got = value_at(&array, i, &ty);
                if got.display_text(&ty) != expected.display_text(&ty) {
                    return Some(format!(
                        "{text}: {:?} gives {expected:?}, in a column {got:?}",
                        rows[i]
                    ));
                }
            }
            let holds = eval_predicate(&expr, batch, &ctx).ok()?;
            let truth = |v: &Value| match v {
                Value::Int(v) => *v != 0,
                Value::UInt(v) => *v != 0,
                Value::Double(v) => *v != 0.0,
                Value::Decimal(d) => *d != Decimal::ZERO,
                _ => false,
            };
            let conditions = ty.is_numeric() && !ty.is_decimal();
            if conditions && single.iter().enumerate().any(|(i, v)| truth(v) != holds.value(i)) {
                return Some(format!("{text}: the predicate differs from the value"));
            }
            let constant = single_warnings > 0 && array_warnings == 0;
            constant.then(|| format!("{text}: rows warn, columns do not"))
        }
    }
}

fn check(texts: impl Iterator<Item = String>) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (batch, rows) = random_batch(&mut random);
    let wrong: Vec<String> = texts.filter_map(|t| difference(&t, &batch, &rows)).collect();
    let shown: Vec<&String> = wrong.iter().take(20).collect();
    assert!(wrong.is_empty(), "{} expressions differ: {shown:#?}", wrong.len());
}

const OPERANDS: &[&str] = &[
    "i",
    "u",
    "b",
    "bu",
    "ti",
    "d",
    "f",
    "db",
    "c",
    "v",
    "vb",
    "bn",
    "dt",
    "da",
    "tm",
    "y",
    "js",
    "0",
    "1",
    "-2",
    "1.5",
    "2e0",
    "'abc'",
    "'1'",
    "'2024-02-03'",
    "null",
    "18446744073709551615",
    "x'31'",
    "true",
];

const OPERATORS: &[&str] = &[
    "+", "-", "*", "/", "div", "%", "=", "<>", "<", "<=", ">", ">=", "<=>", "&", "and", "or", "xor",
];

#[test]
fn operators() {
    let pairs = OPERANDS.iter().flat_map(|a| OPERANDS.iter().map(move |b| (a, b)));
    check(pairs.flat_map(|(a, b)| OPERATORS.iter().map(move |op| format!("{a} {op} {b}"))));
}

#[test]
fn forms() {
    let forms = [
        "$ is null",
        "not $",
        "-$",
        "$ in (1, 2, null)",
        "$ in ('abc', 'x', 'ABC')",
        "$ in (0, 1.5, 7.5)",
        "$ in (i, 3)",
        "$ between 0 and 5",
        "$ between 'a' and 'd'",
        "$ like 'a%'",
        "$ like '%b%'",
        "if($, i, d)",
        "if($, v, i)",
        "ifnull($, 'none')",
        "coalesce($, b, 1)",
        "nullif($, 1)",
        "case when $ then i when i > 2 then b else u end",
        "case $ when 1 then 'one' when 'abc' then 'text' end",
        "case when i > 0 then 100 / i else $ end",
        "i > 0 and 10 / i > 3 and $",
        "i = 0 or 10 / i > 3 or $",
        "b > 0 and b < 100 and b + 1 > $",
        "greatest($, 1)",
        "cast($ as signed)",
        "cast($ as unsigned)",
        "cast($ as char)",
        "cast($ as binary)",
        "cast($ as decimal(10, 1))",
        "cast($ as double)",
        "cast($ as date)",
        "cast($ as datetime(2))",
        "cast($ as time)",
        "concat($, 'x', i)",
        "length($)",
        "upper($)",
        "abs($)",
        "round($, 1)",
        "ceil($)",
        "year($)",
        "date_add(da, interval $ day)",
        "date_format($, '%Y-%m')",
        "hex($)",
        "md5($)",
        "substring(v, $)",
        "locate('b', $)",
        "$ + 0 = $",
        "$ / 3 * 3",
        "$ * 1.5 + d",
        "json_array($)",
    ];
    check(
        forms
            .iter()
            .flat_map(|form| OPERANDS.iter().map(move |a| form.replace('$', a))),
    );
}

/// A branch that is not taken must not fail or warn, whichever way it is evaluated.
#[test]
fn branches_not_taken_are_silent() {
    let mut random = Random(42);
    let (batch, rows) = random_batch(&mut random);
    for text in [
        "i <> 0 and 10 / i is not null",
        "if(i = 0, null, 10 / i)",
        "case when i = 0 then 0 else 10 / i end",
        "b between -1000 and 1000 and b * 1000000 > 5",
        "coalesce(1, 10 / i)",
        "if(v = '7.5x', 0, cast('1' as signed) + i)",
    ] {
        let expr = bind_text(text, SqlMode::default(), TimeZone::UTC).unwrap();
        let ctx = context(SqlMode::default(), TimeZone::UTC);
        eval_array(&expr, &batch, &ctx).unwrap();
        for row in &rows {
            eval_row(&expr, row, &ctx).unwrap();
        }
        assert_eq!(
            ctx.warnings.count(),
            0,
            "{text}: {:?}",
            ctx.warnings.take().0.first()
        );
    }
}
