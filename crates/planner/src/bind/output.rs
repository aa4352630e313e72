//! The select list: what it holds once `*` is spelled out.

use functions::Expr;
use functions::bind::implicit_cast;
use schema::model::Table;
use syntax::ast::{self, ObjectName, SelectItem};
use types::{Error, Result, SqlType, TypeKind, errno};

use super::Binder;
use super::expr::{Context, GUESSED_CHARS};
use super::scope::TableBinding;

/// One column of the output.
#[derive(Debug, Clone)]
pub struct Item {
    /// Over all columns of the table, and the results of aggregates.
    pub expr: Expr,
    pub name: String,
    /// Offset of the column it simply is.
    pub column: Option<usize>,
}

impl Binder<'_> {
    pub fn items(
        &self,
        items: &[SelectItem],
        table: Option<&TableBinding>,
        context: &Context<'_>,
    ) -> Result<Vec<Item>> {
        let mut out = Vec::with_capacity(items.len());
        for item in items {
            match item {
                SelectItem::All => match table {
                    Some(table) => out.extend(all_columns(table)),
                    None => return Err(Error::new(errno::ER_NO_TABLES_USED, "No tables used")),
                },
                SelectItem::AllOf(name) => match table.filter(|table| table.is_named(name)) {
                    Some(table) => out.extend(all_columns(table)),
                    None => return Err(unknown_table(name)),
                },
                SelectItem::Expr { expr, name, aliased } => {
                    let mut item = self.item(expr, name, table, context)?;
                    if let (false, Some(offset), Some(table)) = (*aliased, item.column, table)
                        && table.table.system.is_view
                    {
                        // The column of a view has the view's spelling, whatever that of the query is.
                        item.name.clone_from(&table.table.columns[offset].name);
                    }
                    out.push(item);
                }
            }
        }
        Ok(out)
    }

    fn item(
        &self,
        expr: &ast::Expr,
        name: &str,
        table: Option<&TableBinding>,
        context: &Context<'_>,
    ) -> Result<Item> {
        let mut bound = self.shown(self.scalar(expr, context)?);
        if let Expr::Param { ty, .. } = &bound
            && ty.kind == TypeKind::Null
        {
            // The column of a parameter has a type that other values of its kind have too.
            bound = implicit_cast(bound, SqlType::varchar(GUESSED_CHARS, self.types.collation));
        }
        let column = match (expr, table) {
            (ast::Expr::Column(name), Some(table)) => table.find(name),
            _ => None,
        };
        Ok(Item {
            expr: bound,
            name: name.to_owned(),
            column,
        })
    }
}

fn all_columns(table: &TableBinding) -> impl Iterator<Item = Item> + '_ {
    let columns: &Table = &table.table;
    columns.public_columns().map(|offset| Item {
        expr: table.column(offset),
        name: columns.columns[offset].name.clone(),
        column: Some(offset),
    })
}

fn unknown_table(name: &ObjectName) -> Error {
    let qualified = match &name.database {
        Some(database) => format!("{database}.{}", name.name),
        None => name.name.clone(),
    };
    Error::new(errno::ER_BAD_TABLE_ERROR, format!("Unknown table '{qualified}'"))
}
