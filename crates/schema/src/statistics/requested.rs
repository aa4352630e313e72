//! Histograms that `ANALYZE TABLE ... UPDATE HISTOGRAM` makes, as information_schema.COLUMN_STATISTICS shows
//! them.
//!
//! Source: manual 8.9.6 "Optimizer Statistics". With no more values than buckets there is a bucket a value
//! ("singleton"), else values fill buckets of about equal height.

use serde::{Deserialize, Serialize};
use types::{SqlType, TypeKind, Value};

use super::document::HistogramHead;

/// Characters of a string that a histogram has.
pub const CHARACTERS_MAX: usize = 42;

/// The collation of numbers and dates, and that of BIT.
const LATIN1: u16 = 8;
const BINARY: u16 = 63;

/// One column's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestedHistogram {
    /// The column's id.
    pub column: i64,
    /// WITH n BUCKETS.
    pub buckets: u32,
    pub json: String,
}

/// A column's values in a sample.
pub struct Values {
    /// In order; each with the number of rows that have it.
    pub counts: Vec<(Value, u64)>,
    pub nulls: u64,
}

/// The histogram's JSON. `updated`: UTC, with microseconds.
pub fn json(values: &Values, ty: &SqlType, buckets: u32, sampling_rate: f64, updated: &str) -> String {
    let rows: u64 = values.nulls + values.counts.iter().map(|(_, count)| count).sum::<u64>();
    let share = |count: u64| count as f64 / rows.max(1) as f64;
    let head = HistogramHead {
        nulls: share(values.nulls),
        collation: match ty.kind {
            TypeKind::Bit => BINARY,
            TypeKind::Enum(_) | TypeKind::Set(_) => ty.collation.id(),
            _ if ty.is_string() => ty.collation.id(),
            _ => LATIN1,
        },
        sampling_rate,
        is_singleton: values.counts.len() <= buckets as usize,
        buckets_wanted: buckets,
    };
    let mut made = Vec::new();
    let mut before = 0;
    let count = buckets as usize;
    for bucket in fill(&values.counts, height(&values.counts, count), count) {
        let (Some((first, _)), Some((last, _))) = (bucket.first(), bucket.last()) else {
            continue;
        };
        before += bucket.iter().map(|(_, count)| count).sum::<u64>();
        let ends = (shown(first, ty), shown(last, ty));
        made.push(head.bucket((&ends.0, &ends.1), share(before), bucket.len() as u64));
    }
    head.json(&made, ty, updated)
}

/// Buckets of at most `height` rows each; a value with more has its own. As soon as no more values are left
/// than buckets, each has its own too.
fn fill(counts: &[(Value, u64)], height: u64, mut buckets: usize) -> impl Iterator<Item = &[(Value, u64)]> {
    let mut rest = counts;
    std::iter::from_fn(move || {
        let mut rows = rest.first()?.1;
        buckets = buckets.saturating_sub(1);
        let mut left = rest.len() - 1;
        let further = rest[1..].iter().take_while(|(_, count)| {
            rows += count;
            let fits = rows <= height && left > buckets;
            left -= 1;
            fits
        });
        let (bucket, after) = rest.split_at(1 + further.count());
        rest = after;
        Some(bucket)
    })
}

/// The least height at which the values fit into this number of buckets.
fn height(counts: &[(Value, u64)], buckets: usize) -> u64 {
    let (mut low, mut high): (u64, u64) = (1, counts.iter().map(|(_, count)| count).sum());
    while low < high {
        let middle = low.midpoint(high);
        if fill(counts, middle, 0).count() <= buckets {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// What a histogram shows of a value: to keep all of a long one would take memory for nothing.
pub fn cut(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(start_of_text(&text).to_owned()),
        Value::Bytes(bytes) => Value::Bytes(start_of_bytes(&bytes).to_vec()),
        other => other,
    }
}

fn start_of_text(text: &str) -> &str {
    let end = text.char_indices().nth(CHARACTERS_MAX);
    &text[..end.map_or(text.len(), |(at, _)| at)]
}

fn start_of_bytes(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(CHARACTERS_MAX)]
}

pub(super) fn shown(value: &Value, ty: &SqlType) -> String {
    match value {
        Value::Double(number) => format!("{number:?}"),
        // Numbers, whatever they stand for.
        Value::UInt(number) if !ty.is_temporal() => number.to_string(),
        Value::String(text) => encoded(&ty.collation.charset().encode(start_of_text(text))),
        Value::Bytes(bytes) => encoded(start_of_bytes(bytes)),
        other => {
            let ty = SqlType {
                decimals: if ty.is_temporal() { 6 } else { ty.decimals },
                ..*ty
            };
            let text = other.display_text(&ty);
            if ty.is_temporal() && ty.kind != TypeKind::Year {
                format!("\"{text}\"")
            } else {
                text
            }
        }
    }
}

/// MySQL writes strings as opaque values of its type 254.
fn encoded(bytes: &[u8]) -> String {
    format!("\"base64:type254:{}\"", types::base64::encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[(i64, u64)], buckets: u32) -> String {
        let counts = values
            .iter()
            .map(|&(value, count)| (Value::Int(value), count))
            .collect();
        let text = json(
            &Values { counts, nulls: 0 },
            &SqlType::BIGINT,
            buckets,
            1.0,
            "now",
        );
        text[..text.find(", \"data-type\"").unwrap()].to_owned()
    }

    #[test]
    fn few_values_have_a_bucket_each() {
        assert_eq!(of(&[(1, 1), (5, 3)], 10), r#"{"buckets": [[1, 0.25], [5, 1.0]]"#);
    }

    #[test]
    fn many_values_fill_buckets_of_about_equal_height() {
        assert_eq!(
            of(&[(1, 1), (2, 1), (3, 1), (4, 1)], 2),
            r#"{"buckets": [[1, 2, 0.5, 2], [3, 4, 1.0, 2]]"#
        );
        // As MySQL 8.0.33 makes it.
        let mut counts = vec![(1, 2), (2, 1), (3, 1), (4, 1), (5, 2)];
        counts.extend((6..10).map(|value| (value, 1)));
        assert_eq!(of(&counts, 3).matches("], [").count(), 2);
    }

    #[test]
    fn strings_are_in_base64() {
        let text = |value: &str| shown(&Value::String(value.to_owned()), &SqlType::BIGINT);
        assert_eq!(text("abc"), "\"base64:type254:YWJj\"");
        assert_eq!(text("x"), "\"base64:type254:eA==\"");
        assert_eq!(text("xy"), "\"base64:type254:eHk=\"");
    }
}
