//! The JSON of a histogram, as information_schema.COLUMN_STATISTICS shows it. Source: manual 8.9.6 "Optimizer Statistics".

use types::{SqlType, TypeKind};

/// What a histogram says besides its buckets.
#[derive(Debug, Clone, PartialEq)]
pub struct HistogramHead {
    /// The share of the rows that are NULL.
    pub nulls: f64,
    pub collation: u16,
    pub sampling_rate: f64,
    /// Each bucket is one value.
    pub is_singleton: bool,
    pub buckets_wanted: u32,
}

impl HistogramHead {
    /// A bucket. `share_before`: the share of the rows up to its end.
    pub fn bucket(&self, (lower, upper): (&str, &str), share_before: f64, distinct: u64) -> String {
        match self.is_singleton {
            true => format!("[{upper}, {share_before:?}]"),
            false => format!("[{lower}, {upper}, {share_before:?}, {distinct}]"),
        }
    }

    /// The document, its members in the order in which MySQL stores them. `ty`: the column's. `updated`: UTC, with
    /// microseconds.
    pub fn json(&self, buckets: &[String], ty: &SqlType, updated: &str) -> String {
        format!(
            "{{\"buckets\": [{}], \"data-type\": \"{}\", \"null-values\": {:?}, \"collation-id\": {}, \
             \"last-updated\": \"{updated}\", \"sampling-rate\": {:?}, \"histogram-type\": \"{}\", \
             \"number-of-buckets-specified\": {}}}",
            buckets.join(", "),
            data_type(ty).unwrap_or_default(),
            self.nulls,
            self.collation,
            self.sampling_rate,
            match self.is_singleton {
                true => "singleton",
                false => "equi-height",
            },
            self.buckets_wanted
        )
    }
}

/// `data-type`; `None` for types that cannot have a histogram.
pub fn data_type(ty: &SqlType) -> Option<&'static str> {
    Some(match ty.kind {
        TypeKind::Null | TypeKind::Json => return None,
        TypeKind::BigInt if ty.unsigned => "uint",
        TypeKind::TinyInt
        | TypeKind::SmallInt
        | TypeKind::MediumInt
        | TypeKind::Int
        | TypeKind::BigInt
        | TypeKind::Year
        | TypeKind::Bit => "int",
        TypeKind::Enum(_) => "enum",
        TypeKind::Set(_) => "set",
        TypeKind::Date => "date",
        TypeKind::DateTime | TypeKind::Timestamp => "datetime",
        TypeKind::Time => "time",
        TypeKind::Float | TypeKind::Double => "double",
        TypeKind::Decimal => "decimal",
        _ if ty.is_string() => "string",
        _ => return None,
    })
}
