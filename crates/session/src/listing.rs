//! The rows of SHOW, EXPLAIN and ADMIN statements, which the server itself produces.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use planner::plan::ResultColumn;
use syntax::ast::Expr;
use types::array::ColumnBuilder;
use types::{Collation, Error, Result, SqlType, TypeKind, Value};

/// Columns and rows, all in memory.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    pub columns: Vec<ResultColumn>,
    pub rows: Vec<Vec<Value>>,
    /// A condition with subqueries, which has not been applied to the rows yet.
    pub pending_filter: Option<Expr>,
}

impl Listing {
    pub fn new(columns: &[(&str, SqlType)]) -> Self {
        let column = |(name, ty): &(&str, SqlType)| ResultColumn::unnamed(name, *ty, true);
        Self {
            columns: columns.iter().map(column).collect(),
            rows: Vec::new(),
            pending_filter: None,
        }
    }

    /// A listing in which all columns are text.
    pub fn texts(names: &[&str]) -> Self {
        Self::new(
            &names
                .iter()
                .map(|name| (*name, text_type(256)))
                .collect::<Vec<_>>(),
        )
    }

    /// The same listing, whose columns are described as those of a table: MySQL answers with a query of
    /// `information_schema` or `performance_schema`.
    pub fn of_catalogue(mut self) -> Self {
        for column in &mut self.columns {
            column.original_name.clone_from(&column.name);
        }
        self
    }

    /// The same listing, where these columns are never NULL.
    pub fn never_null(mut self, names: &[&str]) -> Self {
        for column in &mut self.columns {
            column.nullable &= !names.contains(&column.name.as_str());
        }
        self
    }

    /// The same listing, where no column is ever NULL.
    pub fn all_never_null(mut self) -> Self {
        self.columns.iter_mut().for_each(|column| column.nullable = false);
        self
    }

    pub fn push(&mut self, row: Vec<Value>) {
        self.rows.push(row);
    }

    /// The rows as one batch.
    pub fn batch(&self) -> Result<RecordBatch> {
        let mut arrays = Vec::with_capacity(self.columns.len());
        for (index, column) in self.columns.iter().enumerate() {
            let mut builder = ColumnBuilder::new(&column.ty, self.rows.len());
            for row in &self.rows {
                builder.append(&row[index])?;
            }
            arrays.push(builder.finish());
        }
        let field = |column: &ResultColumn| Field::new(&column.name, column.ty.arrow_type(), true);
        let schema = Schema::new(self.columns.iter().map(field).collect::<Vec<_>>());
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows.len()));
        RecordBatch::try_new_with_options(Arc::new(schema), arrays, &options).map_err(Error::internal)
    }
}

/// INT, as wide as MySQL says.
pub fn int_type(length: u32) -> SqlType {
    SqlType {
        kind: TypeKind::Int,
        length,
        ..SqlType::BIGINT
    }
}

/// INT UNSIGNED, as wide as MySQL says.
pub fn unsigned_int_type(length: u32) -> SqlType {
    SqlType {
        kind: TypeKind::Int,
        length,
        ..SqlType::BIGINT_UNSIGNED
    }
}

/// TEXT, MEDIUMTEXT or LONGTEXT in the default collation.
pub fn text_of_kind(kind: TypeKind) -> SqlType {
    let bytes = match kind {
        TypeKind::Text => 65_535,
        TypeKind::MediumText => 16_777_215,
        _ => u32::MAX,
    };
    SqlType {
        kind,
        ..text_type(bytes)
    }
}

/// VARCHAR(length) in the default collation.
pub fn text_type(length: u32) -> SqlType {
    SqlType::varchar(length, Collation::DEFAULT)
}

pub fn text(value: impl Into<String>) -> Value {
    Value::String(value.into())
}
