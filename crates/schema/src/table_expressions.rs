//! A table's expressions: whether it has any, and what `planner` has bound of them.

use std::sync::Arc;

use types::{Error, Result};

use crate::bound::BoundExpressions;
use crate::model::{Default, Table};
use crate::partition::function::PartitionFunction;

impl Table {
    /// Whether the definition has an expression of any kind.
    pub fn has_expressions(&self) -> bool {
        !self.checks.is_empty()
            || self.partitioning.is_some()
            || self
                .columns
                .iter()
                .any(|c| c.generated.is_some() || matches!(c.default, Default::Expression(_)))
    }

    /// The bound expressions; `None` if the definition has none.
    ///
    /// # Errors
    /// 1105 if they have not been bound yet.
    pub fn expressions(&self) -> Result<Option<&Arc<BoundExpressions>>> {
        match self.bound.get() {
            Some(bound) => Ok(bound),
            None if !self.has_expressions() => Ok(None),
            None => Err(Error::internal(format!(
                "the expressions of table {}.{} are not bound",
                self.database, self.name
            ))),
        }
    }

    /// What decides in which partition a row lies; `None`: the table has no partitions.
    ///
    /// # Errors
    /// As [`Table::expressions`].
    pub fn partition_function(&self) -> Result<Option<&Arc<PartitionFunction>>> {
        match &self.partitioning {
            None => Ok(None),
            Some(_) => Ok(self.expressions()?.and_then(|bound| bound.partitions.as_ref())),
        }
    }

    /// The bound expressions; `bind` binds them at the first call.
    ///
    /// # Errors
    /// Those of `bind`.
    pub fn bind_expressions(
        &self,
        bind: impl FnOnce(&Self) -> Result<BoundExpressions>,
    ) -> Result<Option<&Arc<BoundExpressions>>> {
        if let Some(bound) = self.bound.get() {
            return Ok(bound);
        }
        let bound = match self.has_expressions() {
            true => Some(Arc::new(bind(self)?)),
            false => None,
        };
        Ok(self.bound.set_once(bound))
    }
}
