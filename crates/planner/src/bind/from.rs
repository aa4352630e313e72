//! FROM: tables, derived tables and joins, as operators and as names.

use std::sync::Arc;

use functions::Expr;
use functions::bind::implicit_cast;
use schema::bound::BoundExpressions;
use schema::model::{Table, wrong_object};
use syntax::ast::{
    DerivedTable, Join as WrittenJoin, JoinKind as WrittenKind, LockWait, LockingClause, NamedTable,
    ObjectName, TableRef,
};
use types::{Error, Result, SqlType};

use super::bound_query::BoundQuery;
use super::context::Context;
use super::from_place::{From, FromPlace, cannot_reopen, named_columns};
use super::join::Joined;
use super::names::FROM_CLAUSE;
use super::relation::Relation;
use super::scope::{NO_NAMES, Scope, ScopeNames};
use super::{
    Binder, common_table, defined_view, hints, join, json_table, read_and_written, resolution, view,
};
use crate::errno::{ER_TOO_MANY_TABLES, ER_VIEW_SELECT_TMPTABLE};
use crate::logical::{CommonTable, Get, Logical};
use crate::object_access::{ColumnIds, LockMode, OneOf, TableNeeds};
use crate::plan::{Locking, LockingWait};
use schema::privilege::PrivilegeSet;

/// How many tables a join may have (manual 8.4.6, "Limits on Number of Databases and Tables").
const TABLES_MAX: usize = 61;

impl Binder<'_> {
    /// The tables of FROM; one row without columns if there are none.
    pub fn from(&self, tables: &[TableRef], place: FromPlace<'_>) -> Result<From> {
        let mut from: Option<From> = None;
        for table in tables {
            let part = {
                let left = visible(place.left, from.as_ref());
                self.table_ref(
                    table,
                    FromPlace {
                        left: left.as_ref(),
                        ..place
                    },
                )?
            };
            let joined = match from {
                None => part,
                Some(left) => join::joined(self, left, part, Joined::Listed, place)?,
            };
            // Each table takes as long as there are tables before it, so the list is not read to its end.
            if joined.scope.relations.len() > TABLES_MAX {
                return Err(Error::new(
                    ER_TOO_MANY_TABLES,
                    format!("Too many tables; MySQL can only use {TABLES_MAX} tables in a join"),
                ));
            }
            from = Some(joined);
        }
        Ok(from.unwrap_or_else(|| From {
            rel: Logical::OneRow,
            scope: Scope::default(),
            lateral: false,
            conditions: Vec::new(),
        }))
    }

    fn table_ref(&self, table: &TableRef, place: FromPlace<'_>) -> Result<From> {
        types::stack::with_room(|| match table {
            TableRef::Table(table) => self.named_table(table, place),
            TableRef::Derived(table) => self.derived_table(table, place),
            TableRef::Json(table) => json_table::bind_json_table(self, table, place),
            TableRef::Nested(tables) => self.from(tables, place),
            TableRef::Join(join) => self.join(join, place),
        })
    }

    fn named_table(&self, table: &NamedTable, place: FromPlace<'_>) -> Result<From> {
        let alias = table.alias.as_ref().unwrap_or(&table.name.name);
        if let Some((rel, relation)) = common_table::bind_common_table(self, table)? {
            return Ok(From::of(rel, relation));
        }
        let database = self.database(table.name.database.as_deref())?;
        let found = self.table(&table.name, place.needs_of(&database, alias))?;
        resolution::note_table(self, &table.name, &found.database, table.alias.as_ref());
        if found.view.is_some() && !table.partitions.is_empty() {
            return Err(Error::not_supported(
                "PARTITION (...) of a view",
                "name the partitions in its definition",
            ));
        }
        if let Some(view) = &found.view {
            return view::bind_view(self, &found, view, table, place);
        }
        self.open(&found, alias)?;
        let get = self.get(found, table, alias, place.for_writing.is_some())?;
        if place.outer.is_some() {
            read_and_written::check_table(self, &get.table, alias)?;
        }
        let get = Get {
            locking: locking_of(&get, place.locking)?,
            ..get
        };
        if place.for_writing.is_some() {
            let relation = self.relation(&get);
            return Ok(From::of(Logical::Get(get), relation));
        }
        let lock = match get.locking {
            Some(Locking { exclusive: true, .. }) => LockMode::Write,
            _ => LockMode::Read,
        };
        let columns = vec![ColumnIds::From(get.first)];
        self.accesses.add(
            &get.table,
            &get.alias,
            (place.needs_of(&database, alias), lock),
            columns,
        );
        let relation = self.relation(&get);
        Ok(From::of(Logical::Get(get), relation))
    }

    /// A table with new ids for its columns.
    fn get(&self, found: Arc<Table>, table: &NamedTable, alias: &str, with_key: bool) -> Result<Get> {
        if found
            .expressions()?
            .is_some_and(|all| has_indexed_literals(&found, all))
        {
            // A condition may be the expression of an indexed column, literals included.
            self.types.notes.needs_literals.set(true);
        }
        let as_of = match &table.as_of {
            None => None,
            Some(expr) => {
                let bound = self.scalar(expr, &Context::of(&NO_NAMES))?;
                Some(implicit_cast(bound, SqlType::datetime(6)))
            }
        };
        if as_of.is_some() && (found.is_virtual() || found.is_temporary()) {
            return Err(Error::not_supported(
                "AS OF TIMESTAMP on system tables and temporary tables",
                "leave it out",
            ));
        }
        hints::check_index_hints(&found, &table.hints)?;
        Ok(Get {
            first: self.new_columns(found.columns.len() + usize::from(with_key)),
            // A table of information_schema is called as the statement writes it, not as it is.
            alias: alias.to_owned(),
            hints: [table.hints.clone(), hints::index_hints(self, &found, alias)].concat(),
            order: hints::order_places(self, alias),
            partitions: found.selected_leaves(&table.partitions)?,
            table: found,
            as_of,
            locking: None,
            with_key,
        })
    }

    pub fn relation(&self, get: &Get) -> Relation {
        Relation::of_table(
            get.table.clone(),
            &get.alias,
            get.first,
            self.env.sql_mode.pad_char_to_full_length,
        )
    }

    /// A table or view. Fails with 1046, 1049, 1109, 1142 or 1146.
    pub fn table(&self, name: &ObjectName, needs: TableNeeds) -> Result<Arc<Table>> {
        let database = self.database(name.database.as_deref())?;
        let temporary = self.env.temporary.find(&database, &name.name);
        if temporary.is_some() && self.defined.is_some() {
            return Err(Error::new(
                ER_VIEW_SELECT_TMPTABLE,
                format!("View's SELECT refers to a temporary table '{}'", name.name),
            ));
        }
        let table = match temporary {
            Some(table) => table,
            None => {
                let needs = match self.defined {
                    Some(_) => OneOf::OfViews.into(),
                    None => needs,
                };
                (self.env.check_table)(&database, &name.name, needs)?;
                self.env.schema.require_table(&database, &name.name)?
            }
        };
        defined_view::check_not_defined(self, table)?;
        // A view's columns have the defaults of its tables. A default may name a column that the view does
        // not have.
        if table.view.is_none() {
            super::table_expressions::expressions(table)?;
        }
        Ok(Arc::clone(table))
    }

    /// A statement names a table to read or write its rows. It can do so once for a temporary one: 1137.
    pub fn open(&self, table: &Table, alias: &str) -> Result<()> {
        if !table.is_temporary() {
            return Ok(());
        }
        let mut opened = self.opened.borrow_mut();
        if let Some((_, first)) = opened.iter().find(|(id, _)| *id == table.id) {
            return Err(cannot_reopen(first));
        }
        opened.push((table.id, alias.to_owned()));
        Ok(())
    }

    /// The same; 1347 for a view.
    pub fn base_table(&self, name: &ObjectName, privileges: PrivilegeSet) -> Result<Arc<Table>> {
        let table = self.table(name, privileges.into())?;
        match table.view {
            None => Ok(table),
            Some(_) => Err(wrong_object(&table.database, &table.name, "BASE TABLE")),
        }
    }

    fn derived_table(&self, table: &DerivedTable, place: FromPlace<'_>) -> Result<From> {
        let mut reaches_left = false;
        let names_before = self.accesses.names_so_far();
        self.derived_depth.set(self.derived_depth.get() + 1);
        let query = self.query_of_derived(table, place, &mut reaches_left);
        self.derived_depth.set(self.derived_depth.get() - 1);
        let query = query?;
        if !query.is_merged {
            self.accesses.reads_all_from(names_before);
        }
        let columns = named_columns(query.relation_columns(), &table.columns)?;
        let mut root = hints::of_derived(self, query.root, &table.alias);
        if !reaches_left {
            root = self.with_effects(root, query.is_merged);
        }
        Ok(From::of_columns(root, &table.alias, columns, reaches_left))
    }

    /// The rows of a derived table or view. MySQL stores those of a query that it does not merge into the one around it,
    /// with all columns, whether or not these are used: `SELECT 1 FROM (SELECT GET_LOCK('a', 1)) t` takes the lock.
    pub(super) fn with_effects(&self, root: Logical, is_merged: bool) -> Logical {
        let assigns = self.assigns && any_expression(&root, functions::assigns);
        if assigns || !is_merged && any_expression(&root, functions::has_effects) {
            return self.made_at_once(root);
        }
        root
    }

    /// Rows that are all made before the first of them is used: what they assign to variables is seen by the query
    /// around them as it is after the last one.
    fn made_at_once(&self, definition: Logical) -> Logical {
        let id = self.new_common_table();
        let columns = definition.output();
        Logical::With {
            id,
            definition: Box::new(definition),
            body: Box::new(Logical::CommonTable(CommonTable {
                id,
                columns,
                recursive: false,
            })),
        }
    }

    fn query_of_derived(
        &self,
        table: &DerivedTable,
        place: FromPlace<'_>,
        reaches_left: &mut bool,
    ) -> Result<BoundQuery> {
        let none = Scope::default();
        match table.lateral.then(|| place.left.unwrap_or(&none)) {
            Some(left) => {
                let names = ScopeNames {
                    scope: left,
                    clause: FROM_CLAUSE,
                    outer: place.outer,
                    in_aggregate: false,
                };
                // An aggregate in the table may be one of a query further out.
                let context = Context {
                    outer: place.outer,
                    first_own: left.first_column().unwrap_or(self.next_column()),
                    ..Context::of(&names)
                };
                let query = self.query(&table.query, Some(&context))?;
                *reaches_left = query.root.outer_columns().iter().any(|id| left.owns(*id));
                Ok(query)
            }
            None => self.query(&table.query, place.outer),
        }
    }

    fn join(&self, join: &WrittenJoin, place: FromPlace<'_>) -> Result<From> {
        let (left, right) = match join.kind {
            // `a RIGHT JOIN b` is `b LEFT JOIN a`: what is written first sees what is written last.
            WrittenKind::Right if may_name_others(&join.left) => {
                let right = self.table_ref(&join.right, place)?;
                (self.beside(&join.left, &right, place)?, right)
            }
            WrittenKind::Right => {
                let left = self.table_ref(&join.left, place)?;
                (left, self.table_ref(&join.right, place)?)
            }
            WrittenKind::Inner | WrittenKind::Left | WrittenKind::Straight => {
                let left = self.table_ref(&join.left, place)?;
                let right = self.beside(&join.right, &left, place)?;
                (left, right)
            }
        };
        join::joined(self, left, right, Joined::Written(join), place)
    }

    /// A part of FROM that may name the columns of another one.
    fn beside(&self, table: &TableRef, other: &From, place: FromPlace<'_>) -> Result<From> {
        let scope = visible(place.left, Some(other));
        let left = scope.as_ref();
        self.table_ref(table, FromPlace { left, ..place })
    }
}

/// Whether a part of FROM has tables that may name columns of others.
fn may_name_others(table: &TableRef) -> bool {
    match table {
        TableRef::Table(_) => false,
        TableRef::Derived(derived) => derived.lateral,
        TableRef::Json(_) => true,
        TableRef::Nested(tables) => tables.iter().any(may_name_others),
        TableRef::Join(join) => may_name_others(&join.left) || may_name_others(&join.right),
    }
}

/// Whether an expression of the query, or of one in it, is such.
fn any_expression(rel: &Logical, is_such: impl Fn(&Expr) -> bool) -> bool {
    let mut any = false;
    rel.walk(&mut |rel| rel.expressions(&mut |expr| any |= is_such(expr)));
    any
}

/// The relations to the left of the next one.
fn visible(before: Option<&Scope>, from: Option<&From>) -> Option<Scope> {
    match (before, from) {
        (None, None) => None,
        (Some(before), None) => Some(before.clone()),
        (None, Some(from)) => Some(from.scope.clone()),
        (Some(before), Some(from)) => Some(before.clone().joined(from.scope.clone(), None, false)),
    }
}

/// Error 3569. `name`: as it is shown.
pub(super) fn locked_twice(name: &str) -> Error {
    Error::new(3569, format!("Table {name} appears in multiple locking clauses."))
}

/// How a locking clause applies to a table.
fn locking_of(get: &Get, clauses: &[LockingClause]) -> Result<Option<Locking>> {
    let about = |clause: &&LockingClause| clause.is_about(&get.table.database, &get.alias);
    match clauses.iter().filter(about).nth(1) {
        None => {}
        // MySQL does not quote the name if the second clause names no tables.
        Some(second) if second.of.is_empty() => return Err(locked_twice(&get.alias)),
        Some(_) => return Err(locked_twice(&format!("`{}`", get.alias))),
    }
    let Some(clause) = clauses.iter().find(about).filter(|_| !get.table.is_virtual()) else {
        return Ok(None);
    };
    if get.as_of.is_some() {
        return Err(Error::not_supported(
            "a locking clause with AS OF TIMESTAMP",
            "leave one of them out",
        ));
    }
    Ok(Some(Locking {
        exclusive: clause.exclusive,
        wait: match clause.wait {
            LockWait::Wait => LockingWait::Wait,
            LockWait::NoWait => LockingWait::NoWait,
            LockWait::SkipLocked => LockingWait::SkipLocked,
        },
        of_write: false,
    }))
}

/// Whether the expression of an indexed generated column has literals.
fn has_indexed_literals(table: &Table, expressions: &BoundExpressions) -> bool {
    let is_indexed = |column: usize| {
        let mut parts = table.indexes.iter().flat_map(|index| &index.parts);
        parts.any(|part| part.column == column)
    };
    let has_literals = |expr: &Expr| {
        let mut has = false;
        expr.walk(&mut |expr| has |= matches!(expr, Expr::Literal { .. }));
        has
    };
    let mut generated = expressions.generated.iter();
    generated.any(|generated| is_indexed(generated.column) && has_literals(&generated.value))
}
