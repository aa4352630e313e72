//! The partitions of tables. A table that is not partitioned has one row, without names.

use schema::model::Table;
use schema::partition::{Leaf, Partitioning, show};
use types::{Result, Value};

use super::sizes;
use crate::table::{Context, Row, SystemTable};
use crate::values::{CATALOG, number, text};

pub(crate) struct Partitions;

impl SystemTable for Partitions {
    fn name(&self) -> &'static str {
        "information_schema.PARTITIONS"
    }

    fn columns(&self) -> &'static str {
        r#"
TABLE_CATALOG varchar(64) bin NOT
TABLE_SCHEMA varchar(64) bin NOT
TABLE_NAME varchar(64) bin NOT
PARTITION_NAME varchar(64) ci NULL
SUBPARTITION_NAME varchar(64) ci NULL
PARTITION_ORDINAL_POSITION int_unsigned - NULL
SUBPARTITION_ORDINAL_POSITION int_unsigned - NULL
PARTITION_METHOD varchar(13) ci NULL
SUBPARTITION_METHOD varchar(13) ci NULL
PARTITION_EXPRESSION varchar(2048) bin NULL
SUBPARTITION_EXPRESSION varchar(2048) bin NULL
PARTITION_DESCRIPTION text bin NULL
TABLE_ROWS bigint_unsigned - NULL
AVG_ROW_LENGTH bigint_unsigned - NULL
DATA_LENGTH bigint_unsigned - NULL
MAX_DATA_LENGTH bigint_unsigned - NULL
INDEX_LENGTH bigint_unsigned - NULL
DATA_FREE bigint_unsigned - NULL
CREATE_TIME timestamp - NOT
UPDATE_TIME datetime - NULL
CHECK_TIME datetime - NULL
CHECKSUM bigint - NULL
PARTITION_COMMENT text bin NOT
NODEGROUP varchar(256) ci NULL
TABLESPACE_NAME varchar(268) bin NULL
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let row = |table: &Table, leaf: Option<[Value; 9]>, comment: &str, nodegroup: &str| {
            let mut row = vec![text(CATALOG), text(&table.database), text(&table.name)];
            match leaf {
                Some(leaf) => row.extend(leaf),
                None => row.extend(std::iter::repeat_n(Value::Null, 9)),
            }
            row.extend(sizes::of(ctx, table, row.len()));
            row.extend([
                ctx.timestamp(table.created_us),
                Value::Null,
                Value::Null,
                Value::Null,
                text(comment),
                text(nodegroup),
                Value::Null,
            ]);
            row
        };
        let rows = |table: &Table| -> Vec<Row> {
            let Some(partitioning) = &table.partitioning else {
                return vec![row(table, None, "", "")];
            };
            let mut rows = Vec::new();
            let mut within = (0, 0);
            for leaf in partitioning.leaves() {
                within = match leaf.subpartition {
                    Some(_) if within.1 < leaf.partition.width() && within.0 > 0 => (within.0, within.1 + 1),
                    _ => (within.0 + 1, 1),
                };
                let options = match leaf.subpartition {
                    Some(sub) if partitioning.subpartitions_listed => &sub.options,
                    _ => &leaf.partition.options,
                };
                let nodegroup = options.nodegroup.map_or("default".to_owned(), |n| n.to_string());
                // The sizes of its place.
                let place = Table {
                    id: leaf.id,
                    physical: None,
                    partitioning: None,
                    ..table.clone()
                };
                let described = described(partitioning, &leaf, within);
                rows.push(row(&place, Some(described), &options.comment, &nodegroup));
            }
            rows
        };
        let tables = ctx.tables(1, 2)?.into_iter();
        Ok(tables
            .filter(|table| !table.is_virtual() && table.view.is_none())
            .flat_map(rows)
            .collect())
    }
}

/// The columns from PARTITION_NAME to PARTITION_DESCRIPTION. `within`: the numbers of the partition, and of
/// the subpartition in it.
fn described(partitioning: &Partitioning, leaf: &Leaf<'_>, within: (usize, usize)) -> [Value; 9] {
    let optional = |value: Option<String>| value.map_or(Value::Null, Value::String);
    let sub = partitioning.sub.as_ref();
    [
        text(&leaf.partition.name),
        optional(leaf.subpartition.map(|sub| sub.name.clone())),
        number(within.0 as u64),
        sub.map_or(Value::Null, |_| number(within.1 as u64)),
        text(partitioning.by.method_name()),
        optional(sub.map(|sub| sub.method_name())),
        optional(show::expression(&partitioning.by)),
        optional(sub.and_then(show::expression)),
        optional(show::values(&partitioning.by, leaf.partition)),
    ]
}
