//! Our computations as DataFusion's expressions.
//!
//! DataFusion sees which columns an expression reads, and nothing that it could convert or simplify by rules
//! that are not MySQL's.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Schema};
use arrow::record_batch::RecordBatch;
use datafusion_common::Result;
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::{PhysicalExpr, PhysicalExprRef};

/// A computation over arrays.
pub trait Operation: fmt::Debug + Send + Sync + 'static {
    /// The type of the result.
    fn data_type(&self) -> DataType;

    /// Whether the same arguments may give different results.
    fn is_volatile(&self) -> bool {
        false
    }

    /// Computes a value for each of `rows` rows.
    fn apply(&self, arguments: Vec<ArrayRef>, rows: usize) -> Result<ArrayRef>;
}

/// An expression that applies `operation` to `arguments`.
pub fn call(operation: impl Operation, arguments: Vec<PhysicalExprRef>) -> PhysicalExprRef {
    Arc::new(Call {
        operation: Arc::new(operation),
        arguments,
    })
}

#[derive(Debug, Clone)]
struct Call {
    operation: Arc<dyn Operation>,
    arguments: Vec<PhysicalExprRef>,
}

/// Two calls are equal only if they share their operation.
impl PartialEq for Call {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.operation, &other.operation) && self.arguments == other.arguments
    }
}

impl Eq for Call {}

impl Hash for Call {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.operation).cast::<()>().hash(state);
        self.arguments.hash(state);
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}(", self.operation)?;
        for (index, argument) in self.arguments.iter().enumerate() {
            write!(f, "{}{argument}", if index > 0 { ", " } else { "" })?;
        }
        write!(f, ")")
    }
}

impl PhysicalExpr for Call {
    fn data_type(&self, _: &Schema) -> Result<DataType> {
        Ok(self.operation.data_type())
    }

    fn nullable(&self, _: &Schema) -> Result<bool> {
        Ok(true)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let rows = batch.num_rows();
        let arguments = self.arguments.iter();
        let arguments = arguments
            .map(|argument| argument.evaluate(batch)?.into_array(rows))
            .collect::<Result<_>>()?;
        Ok(ColumnarValue::Array(self.operation.apply(arguments, rows)?))
    }

    fn children(&self) -> Vec<&PhysicalExprRef> {
        self.arguments.iter().collect()
    }

    fn with_new_children(self: Arc<Self>, arguments: Vec<PhysicalExprRef>) -> Result<PhysicalExprRef> {
        Ok(Arc::new(Self {
            operation: self.operation.clone(),
            arguments,
        }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }

    fn is_volatile_node(&self) -> bool {
        self.operation.is_volatile()
    }
}
