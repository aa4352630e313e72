//! What the names of a query mean, for the stored text of a view: each name is qualified with its table and
//! database, and each `*` is replaced by its columns.
//!
//! Names are identified by their address in the parsed query, which does not move while it is bound.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ptr;

use functions::Expr;
use syntax::ast::{ColumnName, Join, ObjectName, Select, SelectItem};
use syntax::print::Names;

use super::Binder;
use super::relation::Relation;
use super::scope::{ColumnRef, Scope};
use crate::logical::ColumnId;
use types::{Error, errno};

#[derive(Default)]
pub struct Resolution(RefCell<Resolved>);

#[derive(Default)]
struct Resolved {
    columns: HashMap<*const ColumnName, ColumnName>,
    tables: HashMap<*const ObjectName, ObjectName>,
    stars: HashMap<*const SelectItem, Vec<(ColumnName, String)>>,
    joins: HashMap<*const Join, Vec<(ColumnName, ColumnName)>>,
    /// Database and alias of the tables that have one: their columns are named without the database.
    aliases: HashSet<(String, String)>,
}

/// Error 1143 in place of 1054 for an account that may not read a column of this name of the first table: it does not
/// learn which columns the table has. MySQL does so outside of subqueries and derived tables only.
pub(super) fn hidden_column(binder: &Binder<'_>, name: &ColumnName, is_inner: bool, error: Error) -> Error {
    if error.code != errno::ER_BAD_FIELD_ERROR || is_inner || binder.derived_depth.get() > 0 {
        return error;
    }
    let Some(table) = binder.accesses.first() else {
        return error;
    };
    (binder.env.denied_column)(&table.database, &table.name, &name.column).unwrap_or(error)
}

/// Notes which column a name means.
pub(super) fn note_column(binder: &Binder<'_>, name: &ColumnName, meant: &Expr) {
    meant.walk(&mut |expr| {
        if let Expr::Column { index, .. } = expr {
            let id = ColumnId(*index);
            match binder.derived_depth.get() {
                0 => binder.accesses.names(id),
                _ => binder.accesses.names_if_used(id),
            }
        }
    });
    let Some(Resolution(resolved)) = &binder.resolution else {
        return;
    };
    let label = match meant {
        Expr::Column { label, .. } => label.as_str(),
        _ => None,
    };
    let parts = label.and_then(|label| label.strip_prefix('`')?.strip_suffix('`'));
    let parts: Vec<&str> = parts.map_or_else(Vec::new, |parts| parts.split("`.`").collect());
    let (database, table, column) = match parts.as_slice() {
        [database, table, column] => (*database, *table, *column),
        [table, column] => ("", *table, *column),
        _ => return,
    };
    // The alias of a select item stays.
    if !types::same_name(column, &name.column) {
        return;
    }
    let mut resolved = resolved.borrow_mut();
    let database = database.to_owned();
    let has_alias = resolved.aliases.contains(&(database.clone(), table.to_owned()));
    resolved.columns.insert(
        ptr::from_ref(name),
        ColumnName {
            database: Some(database).filter(|database| !database.is_empty() && !has_alias),
            table: Some(table.to_owned()),
            column: column.to_owned(),
        },
    );
}

/// Notes the database of a table of FROM.
pub(super) fn note_table(binder: &Binder<'_>, name: &ObjectName, database: &str, alias: Option<&String>) {
    let Some(Resolution(resolved)) = &binder.resolution else {
        return;
    };
    let mut resolved = resolved.borrow_mut();
    if let Some(alias) = alias.filter(|alias| **alias != name.name) {
        resolved.aliases.insert((database.to_owned(), alias.clone()));
    }
    let qualified = ObjectName {
        database: Some(database.to_owned()),
        name: name.name.clone(),
    };
    resolved.tables.insert(ptr::from_ref(name), qualified);
}

/// Notes the columns that `*` or `t.*` stands for.
pub(super) fn note_star(binder: &Binder<'_>, item: &SelectItem, columns: &[ColumnRef], scope: &Scope) {
    for column in columns {
        let relation = scope.relation(*column);
        let id = relation.id(column.position);
        let is_read = binder.unread_stars.get() != Some(binder.query_depth.get());
        // The columns of a derived table have the ids of those that it names itself.
        match is_read && (relation.table().is_some() || relation.view.is_some()) {
            true => binder.accesses.names_by_star(id),
            false => binder.accesses.names_if_used(id),
        }
    }
    let Some(Resolution(resolved)) = &binder.resolution else {
        return;
    };
    let named = columns.iter().map(|column| {
        let relation = scope.relation(*column);
        (
            relation.column_name(*column),
            relation.name(column.position).to_owned(),
        )
    });
    resolved
        .borrow_mut()
        .stars
        .insert(ptr::from_ref(item), named.collect());
}

/// Notes the columns that USING or NATURAL compares.
pub(super) fn note_join(
    binder: &Binder<'_>,
    join: &Join,
    pairs: &[(ColumnRef, ColumnRef)],
    (left, right): (&Scope, &Scope),
) {
    for (l, r) in pairs {
        binder.accesses.names_if_used(left.relation(*l).id(l.position));
        binder.accesses.names_if_used(right.relation(*r).id(r.position));
    }
    let Some(Resolution(resolved)) = &binder.resolution else {
        return;
    };
    let named = pairs.iter().map(|(l, r)| {
        (
            left.relation(*l).column_name(*l),
            right.relation(*r).column_name(*r),
        )
    });
    resolved
        .borrow_mut()
        .joins
        .insert(ptr::from_ref(join), named.collect());
}

impl Relation {
    /// A column with its table, and with its database unless the table has an alias.
    fn column_name(&self, column: ColumnRef) -> ColumnName {
        let table = self.definition().filter(|table| table.name == self.alias);
        ColumnName {
            database: table.map(|table| table.database.clone()),
            table: Some(self.alias.clone()),
            column: self.name(column.position).to_owned(),
        }
    }
}

impl Resolution {
    /// How many columns a `*` stands for.
    pub fn width_of_star(&self, item: &SelectItem) -> usize {
        let resolved = self.0.borrow();
        resolved.stars.get(&ptr::from_ref(item)).map_or(1, Vec::len)
    }
}

impl Names for Resolution {
    fn column<'a>(&'a self, name: &'a ColumnName) -> Cow<'a, ColumnName> {
        match self.0.borrow().columns.get(&ptr::from_ref(name)) {
            Some(resolved) => Cow::Owned(resolved.clone()),
            None => Cow::Borrowed(name),
        }
    }

    fn table<'a>(&'a self, name: &'a ObjectName) -> Cow<'a, ObjectName> {
        match self.0.borrow().tables.get(&ptr::from_ref(name)) {
            Some(resolved) => Cow::Owned(resolved.clone()),
            None => Cow::Borrowed(name),
        }
    }

    fn star(&self, _: &Select, item: &SelectItem) -> Option<Vec<(ColumnName, String)>> {
        self.0.borrow().stars.get(&ptr::from_ref(item)).cloned()
    }

    fn expands_positions(&self) -> bool {
        true
    }

    fn joined(&self, join: &Join) -> Option<Vec<(ColumnName, ColumnName)>> {
        self.0.borrow().joins.get(&ptr::from_ref(join)).cloned()
    }
}
