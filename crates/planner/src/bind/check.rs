//! CHECK constraints of a new table: their names, and whether they refer only to what they are allowed to.

use schema::check_constraints::generated_check_name;
use schema::definition::TableDefinition;
use schema::expression::Check;
use schema::model::{Column, Table};
use syntax::ast::{CheckDefinition, TableElement};
use types::Result;

use super::table_expressions::expressions;
use super::{Binder, stored};

/// The constraints of a CREATE TABLE, each with the offset in `columns` of the column whose definition it is
/// a part of. Those without a name are numbered in the order in which they are written.
pub(super) fn bind_checks(
    binder: &Binder<'_>,
    table: &str,
    elements: &[TableElement],
    columns: &[Column],
) -> Vec<(Check, Option<usize>)> {
    let (mut checks, mut number) = (Vec::new(), 0);
    let mut add = |definition: &CheckDefinition, column: Option<usize>| {
        let name = definition.name.clone().unwrap_or_else(|| {
            number += 1;
            generated_check_name(table, number)
        });
        let check = Check {
            name,
            expression: stored::stored_expression(binder, &definition.condition),
            enforced: definition.enforced,
            validating: false,
        };
        checks.push((check, column));
    };
    for element in elements {
        match element {
            TableElement::Column(column) => {
                // Columns that CREATE TABLE ... SELECT selects come after the others.
                let is_it = |c: &Column| types::same_name(&c.name, &column.name);
                let offset = columns.iter().position(is_it);
                column.checks.iter().for_each(|check| add(check, offset));
            }
            TableElement::Check(check) => add(check, None),
            TableElement::Index(_) | TableElement::ForeignKey(_) => {}
        }
    }
    checks
}

/// Checks the expressions of a table that is being created.
///
/// # Errors
/// As [`expressions`].
pub fn check_expressions((database, name): (&str, &str), definition: &TableDefinition) -> Result<()> {
    let table = Table {
        checks: definition.checks.clone(),
        indexes: definition.indexes.clone(),
        ..Table::of_columns(0, database, name, definition.columns.clone())
    };
    expressions(&table).map(drop)
}
