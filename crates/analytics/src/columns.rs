//! The columns of an operator's output. They are named `c0, c1, ...` by position.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion_physical_expr::PhysicalExprRef;
use datafusion_physical_expr::expressions::Column;
use types::SqlType;

/// The name of an operator's output column.
pub fn column_name(index: usize) -> String {
    format!("c{index}")
}

/// A schema of nullable columns, named by position.
pub fn schema_of(types: impl IntoIterator<Item = SqlType>) -> SchemaRef {
    let field = |(i, ty): (usize, SqlType)| Field::new(column_name(i), ty.arrow_type(), true);
    Arc::new(Schema::new(
        types.into_iter().enumerate().map(field).collect::<Vec<_>>(),
    ))
}

/// The columns of a schema.
pub fn columns(schema: &Schema) -> Vec<PhysicalExprRef> {
    let fields = schema.fields().iter().enumerate();
    fields
        .map(|(index, field)| Arc::new(Column::new(field.name(), index)) as PhysicalExprRef)
        .collect()
}
