//! What is known of the tables of the golden tests.
//!
//! - `@ rows TABLE N`
//! - `@ column TABLE COLUMN DISTINCT [LEAST GREATEST]`: values between the two are equally frequent. A value with
//!   spaces has `_` in their place.
//! - `@ index TABLE INDEX DISTINCT ...`: how many values the first part has, the first two parts have, and so on.

use std::collections::HashMap;
use std::sync::Arc;

use functions::bind::implicit_cast;
use functions::{EvalContext, Expr};
use optimizer::Estimates;
use schema::model::{Handle, Table};
use schema::statistics::{Bucket, ColumnStatistics, IndexStatistics, TableStatistics, sort_key};
use types::{Collation, SqlType, Value};

#[derive(Default)]
pub struct Known {
    rows: HashMap<i64, u64>,
    statistics: HashMap<i64, TableStatistics>,
    /// Of all tables.
    pub has_coprocessor: bool,
}

impl Estimates for Known {
    fn rows(&self, table: i64) -> u64 {
        self.rows.get(&table).copied().unwrap_or(0)
    }

    fn statistics(&self, table: i64) -> Option<Arc<TableStatistics>> {
        self.statistics.get(&table).cloned().map(Arc::new)
    }

    fn has_coprocessor(&self, _table: i64) -> bool {
        self.has_coprocessor
    }
}

impl Known {
    pub fn learn(&mut self, table: &Table, what: &str, words: &[&str]) {
        match (what, words) {
            ("rows", [rows]) => {
                self.rows.insert(table.id, rows.parse().unwrap());
            }
            ("column", [name, distinct, ends @ ..]) => {
                let column = table.columns.iter().find(|column| column.name == *name).unwrap();
                let key = |text: &str| sort_key(&value(text, column.ty), &column.ty).unwrap();
                let distinct = distinct.parse().unwrap();
                let bucket = |[least, greatest]: &[&str; 2]| Bucket {
                    lower: key(least),
                    upper: key(greatest),
                    share: 1.0,
                    distinct,
                };
                let statistics = self.statistics.entry(table.id).or_default();
                statistics.columns.push(ColumnStatistics {
                    id: column.id,
                    ty: column.ty,
                    distinct,
                    nulls: 0.0,
                    buckets: <&[&str; 2]>::try_from(ends).map(bucket).into_iter().collect(),
                });
            }
            ("index", [name, distinct @ ..]) => {
                let id = match table
                    .indexes
                    .iter()
                    .find(|index| index.name.eq_ignore_ascii_case(name))
                {
                    Some(index) => index.id,
                    None => {
                        assert!(matches!(table.handle, Handle::Integer { .. }), "{name}");
                        0
                    }
                };
                let statistics = self.statistics.entry(table.id).or_default();
                statistics.indexes.push(IndexStatistics {
                    id,
                    distinct: distinct.iter().map(|number| number.parse().unwrap()).collect(),
                });
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A value that is written as text.
fn value(text: &str, ty: SqlType) -> Value {
    let text = text.replace('_', " ");
    let literal = Expr::literal(
        Value::from(text.as_str()),
        SqlType::varchar(100, Collation::DEFAULT),
    );
    functions::eval_value(&implicit_cast(literal, ty), &EvalContext::default()).unwrap()
}
