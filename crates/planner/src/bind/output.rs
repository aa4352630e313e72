//! The select list: what it holds once `*` is spelled out.

use functions::Expr;
use functions::bind::implicit_cast;
use syntax::ast::{self, ObjectName, SelectItem};
use types::{Error, Result, SqlType, TypeKind, errno};

use super::Binder;
use super::expr::{Context, GUESSED_CHARS};
use super::scope::{ColumnRef, Scope};

/// One column of the output.
#[derive(Debug, Clone)]
pub struct Item {
    pub expr: Expr,
    pub name: String,
    /// The column of FROM that it simply is.
    pub column: Option<ColumnRef>,
}

impl Binder<'_> {
    pub fn items(&self, items: &[SelectItem], scope: &Scope, context: &Context<'_>) -> Result<Vec<Item>> {
        let mut out = Vec::with_capacity(items.len());
        for item in items {
            match item {
                SelectItem::All if scope.relations.is_empty() => {
                    return Err(Error::new(errno::ER_NO_TABLES_USED, "No tables used"));
                }
                SelectItem::All => {
                    let columns = scope.all();
                    self.note_star(item, &columns, scope);
                    out.extend(columns.into_iter().map(|column| scope.item(column)));
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
                    self.note_star(item, &columns, scope);
                    out.extend(columns.into_iter().map(|column| scope.item(column)));
                }
                SelectItem::Expr { expr, name, aliased } => {
                    let mut item = self.item(expr, name, scope, context)?;
                    if let (false, Some(column)) = (*aliased, item.column) {
                        let relation = scope.relation(column);
                        // The column of a view or of a query has its own spelling, whatever that of this query
                        // is.
                        if relation.table().is_none_or(|table| table.system.is_view) {
                            item.name = relation.name(column.position).to_owned();
                        }
                    }
                    out.push(item);
                }
            }
        }
        Ok(out)
    }

    fn item(&self, expr: &ast::Expr, name: &str, scope: &Scope, context: &Context<'_>) -> Result<Item> {
        let mut bound = self.shown(self.scalar(expr, context)?);
        if let Expr::Param { ty, .. } = &bound
            && ty.kind == TypeKind::Null
        {
            // The column of a parameter has a type that other values of its kind have too.
            bound = implicit_cast(bound, SqlType::varchar(GUESSED_CHARS, self.types.collation));
        }
        let column = match expr {
            ast::Expr::Column(name) => scope.find(name, super::scope::FIELD_LIST)?,
            _ => None,
        };
        Ok(Item {
            expr: bound,
            name: name.to_owned(),
            column,
        })
    }
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
