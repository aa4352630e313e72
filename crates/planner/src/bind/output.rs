//! The select list, with `*` expanded.

use std::cell::RefCell;

use functions::Expr;
use functions::bind::implicit_cast;
use syntax::ast::{self, ObjectName, SelectItem};
use types::{Error, Result, SqlType, TypeKind, errno};

use super::context::Context;
use super::parameter::GUESSED_CHARS;
use super::scope::{ColumnRef, Scope};
use super::{Binder, parameter, resolution};

/// One column of the output.
#[derive(Debug, Clone)]
pub struct Item {
    pub expr: Expr,
    pub name: String,
    /// The column of FROM, if it is nothing else.
    pub column: Option<ColumnRef>,
}

/// The items, one after the other, so that the subqueries of one can name those before it.
pub(super) fn bind_items(
    binder: &Binder<'_>,
    items: &[SelectItem],
    scope: &Scope,
    context: &Context<'_>,
    out: &RefCell<Vec<Item>>,
) -> Result<()> {
    for item in items {
        match item {
            SelectItem::All if scope.relations.is_empty() => {
                return Err(Error::new(errno::ER_NO_TABLES_USED, "No tables used"));
            }
            SelectItem::All => {
                let columns = scope.all();
                resolution::note_star(binder, item, &columns, scope);
                out.borrow_mut()
                    .extend(columns.into_iter().map(|column| scope.item(column)));
            }
            SelectItem::AllOf(name) => {
                let found = scope
                    .relations
                    .iter()
                    .position(|relation| relation.is_named(name));
                let relation = found.ok_or_else(|| unknown_table(name))?;
                let positions = scope.relations[relation].positions().into_iter();
                let columns: Vec<_> = positions
                    .map(|position| ColumnRef { relation, position })
                    .collect();
                resolution::note_star(binder, item, &columns, scope);
                out.borrow_mut()
                    .extend(columns.into_iter().map(|column| scope.item(column)));
            }
            SelectItem::Expr { expr, name, aliased } => {
                let mut item = bind_item(binder, expr, name, scope, context)?;
                if let (
                    false,
                    ast::Expr::Temporal {
                        text, is_odbc: true, ..
                    },
                ) = (*aliased, expr)
                    && item.expr.ty().is_string()
                {
                    item.name.clone_from(text);
                }
                // The query of a view that is being defined names its columns as it spells them.
                if let (false, Some(column), None) = (*aliased, item.column, &binder.defined) {
                    let relation = scope.relation(column);
                    if relation.keeps_spelling(column.position) {
                        item.name = relation.name(column.position).to_owned();
                    }
                }
                out.borrow_mut().push(item);
            }
        }
    }
    Ok(())
}

fn bind_item(
    binder: &Binder<'_>,
    expr: &ast::Expr,
    name: &str,
    scope: &Scope,
    context: &Context<'_>,
) -> Result<Item> {
    let mut bound = parameter::shown(binder, binder.scalar(expr, context)?);
    if let Expr::Param { ty, .. } = &bound
        && ty.kind == TypeKind::Null
    {
        // The result column has a type that fits other values of the parameter, too.
        bound = implicit_cast(bound, SqlType::varchar(GUESSED_CHARS, binder.types.collation));
    }
    let column = match expr {
        ast::Expr::Column(name) => scope.find(name, super::names::FIELD_LIST)?,
        _ => None,
    };
    Ok(Item {
        expr: bound,
        name: name.to_owned(),
        column,
    })
}

impl Scope {
    /// The item that is a column.
    fn item(&self, column: ColumnRef) -> Item {
        Item {
            expr: self.column(column),
            name: self.relation(column).name(column.position).to_owned(),
            column: Some(column),
        }
    }
}

fn unknown_table(name: &ObjectName) -> Error {
    let qualified = match &name.database {
        Some(database) => format!("{database}.{}", name.name),
        None => name.name.clone(),
    };
    Error::new(errno::ER_BAD_TABLE_ERROR, format!("Unknown table '{qualified}'"))
}
