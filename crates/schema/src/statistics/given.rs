//! Histograms that are given as JSON: `ANALYZE TABLE ... UPDATE HISTOGRAM ... USING DATA`, with what
//! information_schema.COLUMN_STATISTICS shows on another server.
//!
//! Problems have MySQL 8.0.33's words, and are found in its order.

use codec::datum;
use functions::assign::{self, integer_range};
use functions::{EvalContext, Strictness};
use types::json::{Json, JsonBinary};
use types::{Collation, Decimal, SqlType, TypeKind, Value, base64};

use super::document::{HistogramHead, data_type};
use super::requested::shown;
use super::{Bucket, ColumnStatistics, KEY_BYTES_MAX};

/// A histogram, but for the column that it is of.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenHistogram {
    pub head: HistogramHead,
    buckets: Vec<GivenBucket>,
}

#[derive(Debug, Clone, PartialEq)]
struct GivenBucket {
    lower: GivenValue,
    upper: GivenValue,
    /// The share of the rows up to the bucket's end.
    share_before: f64,
    distinct: u64,
}

#[derive(Debug, Clone, PartialEq)]
struct GivenValue {
    /// As COLUMN_STATISTICS shows it.
    text: String,
    sort_key: Vec<u8>,
}

/// Why a text is no histogram of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// It is no JSON object.
    Text(&'static str),
    /// What MySQL adds to the row that says that there is no histogram.
    Histogram(String),
}

/// What is wrong with a value.
type Wrong = &'static str;

const WRONG_TYPE: Wrong = "Wrong attribute type";
const WRONG_FORMAT: Wrong = "Value format error";
const OUT_OF_RANGE: Wrong = "Out of range value for column";
const WRONG_SHARE: Wrong = "The frequency must be greater than or equal to 0 and less than or equal to 1";

/// `ty`: the column's.
///
/// # Errors
/// What is wrong with the text.
pub fn parse(text: &str, ty: &SqlType) -> Result<GivenHistogram, Problem> {
    let document = JsonBinary::parse(text.as_bytes()).map_err(|_| Problem::Text("JSON format error."))?;
    let json = document.root().to_tree();
    if !matches!(json, Json::Object(_)) {
        return Err(Problem::Text("JSON data is not an object"));
    }
    histogram(&json, ty).map_err(Problem::Histogram)
}

impl GivenHistogram {
    /// The JSON that is stored. `updated`: UTC, with microseconds.
    pub fn json(&self, ty: &SqlType, updated: &str) -> String {
        let buckets = self.buckets.iter().map(|bucket| {
            let ends = (bucket.lower.text.as_str(), bucket.upper.text.as_str());
            self.head.bucket(ends, bucket.share_before, bucket.distinct)
        });
        self.head.json(&buckets.collect::<Vec<_>>(), ty, updated)
    }

    /// What it says of the column.
    pub fn statistics(&self, id: i64, ty: SqlType) -> ColumnStatistics {
        let cut = |value: &GivenValue| value.sort_key[..value.sort_key.len().min(KEY_BYTES_MAX)].to_vec();
        let mut before = 0.0;
        let buckets = self.buckets.iter().map(|bucket| Bucket {
            lower: cut(&bucket.lower),
            upper: cut(&bucket.upper),
            share: bucket.share_before - std::mem::replace(&mut before, bucket.share_before),
            distinct: bucket.distinct,
        });
        ColumnStatistics {
            id,
            ty,
            distinct: self
                .buckets
                .iter()
                .fold(0, |sum, bucket| sum.saturating_add(bucket.distinct)),
            nulls: self.head.nulls,
            buckets: buckets.collect(),
        }
    }
}

fn at(wrong: Wrong, place: &str) -> String {
    format!("{wrong} at '{place}'.")
}

/// The place of a member, as a JSON path.
fn place(name: &str) -> String {
    match name.contains('-') {
        true => format!("$.\"{name}\""),
        false => format!("$.{name}"),
    }
}

/// A member's value, if `of` makes something of it.
fn member<'j, T>(json: &'j Json, name: &str, of: impl FnOnce(&'j Json) -> Option<T>) -> Result<T, String> {
    let member = json
        .get(name)
        .ok_or_else(|| at("Missing attribute", &place(name)))?;
    of(member).ok_or_else(|| at(WRONG_TYPE, &place(name)))
}

fn histogram(json: &Json, ty: &SqlType) -> Result<GivenHistogram, String> {
    let kind = member(json, "histogram-type", text)?;
    let type_name = member(json, "data-type", text)?;
    if data_type(ty) != Some(type_name) {
        return Err(at(
            "Histogram data type does not match column data type",
            &place("data-type"),
        ));
    }
    let is_singleton = match kind {
        "singleton" => true,
        "equi-height" => false,
        _ => return Err(at("Unsupported histogram type", &place("histogram-type"))),
    };
    let sampling_rate = member(json, "sampling-rate", double)?;
    let wanted = member(json, "number-of-buckets-specified", integer)?;
    let nulls = member(json, "null-values", double)?;
    let collation = member(json, "collation-id", integer)?;
    if !is_share(sampling_rate) {
        let problem = "The sampling rate must be greater than or equal to 0 and less than or equal to 1";
        return Err(at(problem, &place("sampling-rate")));
    }
    let buckets_wanted = u32::try_from(wanted)
        .ok()
        .filter(|wanted| (1..=1024).contains(wanted));
    let buckets_wanted = buckets_wanted.ok_or_else(|| {
        at(
            "The value of attribute number-of-buckets-specified must be an integer in the range from 1 to 1024",
            &place("number-of-buckets-specified"),
        )
    })?;
    if !is_share(nulls) {
        return Err(at(WRONG_SHARE, &place("null-values")));
    }
    let id = u16::try_from(collation).ok().and_then(Collation::from_id);
    let id = id.ok_or_else(|| at("The charset ID does not exist", &place("collation-id")))?;
    let made = GivenHistogram {
        buckets: buckets(json, is_singleton, ty)?,
        head: HistogramHead {
            nulls,
            collation: id.id(),
            sampling_rate,
            is_singleton,
            buckets_wanted,
        },
    };
    check_sum(&made)?;
    Ok(made)
}

fn check_sum(made: &GivenHistogram) -> Result<(), String> {
    /// Shares are rounded.
    const ROUNDED: f64 = 1e-9;
    match made.buckets.last() {
        None if made.head.nulls != 0.0 && made.head.nulls != 1.0 => {
            return Err("The null values fraction should be 0 or 1.".to_owned());
        }
        Some(last) if (last.share_before + made.head.nulls - 1.0).abs() > ROUNDED => {
            return Err(
                "The sum of the null values fraction and the cumulative frequency of the last bucket should \
                 be 1.'"
                    .to_owned(),
            );
        }
        _ => {}
    }
    if made.buckets.len() > made.head.buckets_wanted as usize {
        return Err(
            "The number of real buckets must be less than or equal to the number specified by attribute \
             number-of-buckets-specified."
                .to_owned(),
        );
    }
    Ok(())
}

fn buckets(json: &Json, is_singleton: bool, ty: &SqlType) -> Result<Vec<GivenBucket>, String> {
    let array = member(json, "buckets", |json| match json {
        Json::Array(elements) => Some(elements),
        _ => None,
    })?;
    let mut made: Vec<GivenBucket> = Vec::with_capacity(array.len());
    for (number, element) in array.iter().enumerate() {
        let place = format!("$.buckets[{number}]");
        let Json::Array(parts) = element else {
            return Err(at(WRONG_TYPE, &place));
        };
        let next = bucket(parts, is_singleton, ty, &place)?;
        if let Some(before) = made.last() {
            check_order(before, &next, is_singleton, &place)?;
        }
        made.push(next);
    }
    Ok(made)
}

fn bucket(parts: &[Json], is_singleton: bool, ty: &SqlType, place: &str) -> Result<GivenBucket, String> {
    let part = |number: usize| format!("{place}[{number}]");
    let given = |json, number| value(json, ty).map_err(|wrong| at(wrong, &part(number)));
    let (lower, upper, share, share_at, distinct) = match parts {
        [value, share] if is_singleton => {
            let share = double(share).ok_or_else(|| at(WRONG_TYPE, &part(1)))?;
            let value = given(value, 0)?;
            (value.clone(), value, share, 1, 1)
        }
        [lower, upper, share, distinct] if !is_singleton => {
            let share = double(share).ok_or_else(|| at(WRONG_TYPE, &part(2)))?;
            let distinct = integer(distinct).ok_or_else(|| at(WRONG_TYPE, &part(3)))?;
            let (lower, upper) = (given(lower, 0)?, given(upper, 1)?);
            let distinct = u64::try_from(distinct).ok().filter(|distinct| *distinct > 0);
            let distinct = distinct.ok_or_else(|| {
                at(
                    "The number of distinct values must be a positive integer",
                    &part(3),
                )
            })?;
            (lower, upper, share, 2, distinct)
        }
        _ if is_singleton => return Err(at("Two elements required for bucket", place)),
        _ => return Err(at("Four elements required for bucket", place)),
    };
    if !is_share(share) {
        return Err(at(WRONG_SHARE, &part(share_at)));
    }
    if lower.sort_key > upper.sort_key {
        return Err(format!(
            "The lower inclusive value of bucket at '{}' must be less than or equal to upper inclusive value.",
            part(0)
        ));
    }
    Ok(GivenBucket {
        lower,
        upper,
        share_before: share,
        distinct,
    })
}

fn check_order(
    before: &GivenBucket,
    next: &GivenBucket,
    is_singleton: bool,
    place: &str,
) -> Result<(), String> {
    if next.lower.sort_key <= before.upper.sort_key {
        return Err(match is_singleton {
            true => format!("The value at '{place}[0]' must be greater than that of previous bucket."),
            false => format!(
                "The lower inclusive value of bucket at '{place}[0]' must be greater than the upper inclusive value of \
                 previous bucket."
            ),
        });
    }
    if next.share_before < before.share_before {
        let share_at = if is_singleton { 1 } else { 2 };
        return Err(format!(
            "The cumulative frequency of bucket at '{place}[{share_at}]' must be greater than that of previous bucket."
        ));
    }
    Ok(())
}

fn text(json: &Json) -> Option<&str> {
    match json {
        Json::String(text) => Some(text),
        _ => None,
    }
}

fn double(json: &Json) -> Option<f64> {
    match json {
        Json::Double(number) => Some(*number),
        _ => None,
    }
}

fn integer(json: &Json) -> Option<i128> {
    match json {
        Json::Int(number) => Some(i128::from(*number)),
        Json::UInt(number) => Some(i128::from(*number)),
        _ => None,
    }
}

fn is_share(share: f64) -> bool {
    (0.0..=1.0).contains(&share)
}

/// A value of the column.
fn value(json: &Json, ty: &SqlType) -> Result<GivenValue, Wrong> {
    let value = match ty.kind {
        TypeKind::Float | TypeKind::Double => double_value(double(json).ok_or(WRONG_TYPE)?, ty)?,
        TypeKind::Decimal => decimal_value(json, ty)?,
        TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp | TypeKind::Time => {
            moment(text(json).ok_or(WRONG_TYPE)?, ty)?
        }
        _ if ty.is_string() => string(text(json).ok_or(WRONG_TYPE)?, ty)?,
        _ => integer_value(integer(json).ok_or(WRONG_TYPE)?, ty)?,
    };
    let mut sort_key = Vec::new();
    datum::encode(&value, ty, &mut sort_key).map_err(|_| OUT_OF_RANGE)?;
    let text = match (&value, json) {
        // A DECIMAL has the digits that it was given with, and a YEAR the number.
        (Value::Decimal(decimal), _) => decimal.to_string(),
        (_, Json::Int(_) | Json::UInt(_)) => json.to_text(),
        _ => shown(&value, ty),
    };
    Ok(GivenValue { text, sort_key })
}

fn integer_value(number: i128, ty: &SqlType) -> Result<Value, Wrong> {
    let (least, greatest) = match ty.kind {
        TypeKind::Enum(members) => (0, i128::from(members.enum_max())),
        TypeKind::Set(members) => (0, i128::from(members.set_max())),
        TypeKind::Bit => (0, (1 << ty.length.clamp(1, 64)) - 1),
        _ => integer_range(ty),
    };
    if !(least..=greatest).contains(&number) {
        return Err(OUT_OF_RANGE);
    }
    let is_unsigned = ty.unsigned
        || matches!(
            ty.kind,
            TypeKind::Enum(_) | TypeKind::Set(_) | TypeKind::Bit | TypeKind::Year
        );
    match is_unsigned {
        true => u64::try_from(number).map(Value::UInt),
        false => i64::try_from(number).map(Value::Int),
    }
    .map_err(|_| OUT_OF_RANGE)
}

fn double_value(number: f64, ty: &SqlType) -> Result<Value, Wrong> {
    let fits = ty.kind == TypeKind::Double || number.abs() <= f64::from(f32::MAX);
    let fits = fits && (!ty.unsigned || number >= 0.0);
    fits.then_some(Value::Double(number)).ok_or(OUT_OF_RANGE)
}

/// Only a number that the column has exactly.
fn decimal_value(json: &Json, ty: &SqlType) -> Result<Value, Wrong> {
    let decimal = match json {
        Json::Int(_) | Json::UInt(_) => Decimal::parse(&json.to_text()),
        Json::Double(number) => Decimal::from_f64(*number),
        Json::Decimal(decimal) => Some(*decimal),
        _ => return Err(WRONG_TYPE),
    };
    let decimal = decimal.ok_or(OUT_OF_RANGE)?;
    let from = SqlType::decimal(65, decimal.scale);
    let stored = store(Value::Decimal(decimal), &from, ty)?;
    let is_same = matches!(&stored, Value::Decimal(stored) if stored.rescale(decimal.scale) == Some(decimal)
        && decimal.rescale(stored.scale) == Some(*stored));
    is_same.then_some(Value::Decimal(decimal)).ok_or(OUT_OF_RANGE)
}

/// A DATE, TIME, DATETIME or TIMESTAMP.
fn moment(text: &str, ty: &SqlType) -> Result<Value, Wrong> {
    let full = SqlType {
        kind: match ty.kind {
            TypeKind::Time => TypeKind::Time,
            _ => TypeKind::DateTime,
        },
        decimals: 6,
        ..*ty
    };
    let as_text = SqlType::varchar(64, Collation::DEFAULT);
    let given = |to: &SqlType| store(Value::String(text.to_owned()), &as_text, to);
    let is_zero = |b| matches!(b, b'0' | b'-' | b':' | b'.' | b' ');
    if ty.kind != TypeKind::Time && text.contains('0') && text.bytes().all(is_zero) {
        return Err(OUT_OF_RANGE);
    }
    let complete = given(&full).map_err(|_| WRONG_FORMAT)?.display_text(&full);
    if ty.kind == TypeKind::Date && !complete.ends_with(" 00:00:00.000000") {
        return Err(OUT_OF_RANGE);
    }
    given(ty)
}

/// `base64:type254:...`
fn string(text: &str, ty: &SqlType) -> Result<Value, Wrong> {
    let encoded = text.strip_prefix("base64:type254:").ok_or(WRONG_FORMAT)?;
    let bytes = base64::decode(encoded.as_bytes()).ok_or(WRONG_FORMAT)?;
    if ty.is_binary() {
        let fits = bytes.len() <= ty.length as usize;
        return fits.then_some(Value::Bytes(bytes)).ok_or(OUT_OF_RANGE);
    }
    let text = functions::text_of(&bytes, ty.collation.charset()).ok_or(OUT_OF_RANGE)?;
    let fits = text.chars().count() <= ty.length as usize;
    fits.then_some(Value::String(text)).ok_or(OUT_OF_RANGE)
}

/// What a column stores of a value.
fn store(value: Value, from: &SqlType, to: &SqlType) -> Result<Value, Wrong> {
    let strict = EvalContext {
        strictness: Strictness::Error,
        ..EvalContext::default()
    };
    assign::value(value, from, to, "", 1, &strict).map_err(|_| OUT_OF_RANGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(buckets: &str) -> String {
        let text = format!(
            "{{\"buckets\": {buckets}, \"data-type\": \"int\", \"null-values\": 0.0, \"collation-id\": 8,
               \"sampling-rate\": 1.0, \"histogram-type\": \"singleton\", \"number-of-buckets-specified\": 2}}"
        );
        let int = SqlType {
            kind: TypeKind::Int,
            ..SqlType::BIGINT
        };
        match parse(&text, &int) {
            Ok(given) => format!(
                "{:?}",
                given
                    .statistics(1, int)
                    .buckets
                    .iter()
                    .map(|b| b.share)
                    .collect::<Vec<_>>()
            ),
            Err(Problem::Text(problem)) => problem.to_owned(),
            Err(Problem::Histogram(problem)) => problem,
        }
    }

    /// Answers of MySQL 8.0.33.
    #[test]
    fn problems_have_their_place() {
        assert_eq!(problem("[[1, 0.25], [2, 1.0]]"), "[0.25, 0.75]");
        assert_eq!(problem("[[1, 1]]"), "Wrong attribute type at '$.buckets[0][1]'.");
        assert_eq!(
            problem("[[3000000000, 1.0]]"),
            "Out of range value for column at '$.buckets[0][0]'."
        );
        assert_eq!(
            problem("[[1, 0.5], [2]]"),
            "Two elements required for bucket at '$.buckets[1]'."
        );
        assert_eq!(
            problem("[[2, 0.5], [1, 1.0]]"),
            "The value at '$.buckets[1][0]' must be greater than that of previous bucket."
        );
        assert_eq!(problem("["), "JSON format error.");
    }
}
