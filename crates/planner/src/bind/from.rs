//! FROM: tables, derived tables and joins, as operators and as the names they bring.

use std::sync::Arc;

use functions::Expr;
use functions::bind::implicit_cast;
use schema::bound::BoundExpressions;
use schema::model::{Table, wrong_object};
use syntax::ast::{
    ColumnName, DerivedTable, Join as WrittenJoin, JoinCondition, JoinKind as WrittenKind, LockWait,
    LockingClause, NamedTable, ObjectName, TableRef,
};
use types::{Error, Result, SqlType, errno};

use super::expr::Context;
use super::query::BoundQuery;
use super::scope::{
    ColumnRef, FROM_CLAUSE, NO_NAMES, ON_CLAUSE, Relation, RelationColumn, Scope, ScopeNames, unknown_column,
};
use super::subquery::Subqueries;
use super::write_target::WrittenTable;
use super::{Binder, json_table, view_definition};
use crate::errno::{
    ER_CANT_REOPEN_TABLE, ER_TOO_MANY_TABLES, ER_UPDATE_TABLE_USED, ER_VIEW_SELECT_TMPTABLE,
    ER_WRONG_COLUMN_LIST,
};
use crate::logical::{Apply, ApplyKind, Get, Join, JoinKind, Logical};
use crate::object_access::{ColumnIds, LockMode, OneOf, TableNeeds};
use crate::plan::{Locking, LockingWait};
use schema::privilege::PrivilegeSet;

/// How many tables a join may have (manual 8.4.6, "Limits on Number of Databases and Tables").
const TABLES_MAX: usize = 61;

/// Where a FROM clause stands.
#[derive(Clone, Copy)]
pub struct FromPlace<'a> {
    /// The place of the query, if it is a subquery.
    pub outer: Option<&'a Context<'a>>,
    /// The block's locking clauses.
    pub locking: &'a [LockingClause],
    /// The relations to the left, which LATERAL tables can name.
    pub left: Option<&'a Scope>,
    /// The statement writes to the tables, and needs this of each: rows come with their keys, and the caller notes
    /// the accesses.
    pub for_writing: Option<TableNeeds>,
}

impl FromPlace<'_> {
    /// What the statement needs of a table or view.
    pub fn needs_of(&self, alias: &str) -> TableNeeds {
        let locks = self
            .locking
            .iter()
            .any(|clause| clause.exclusive && clause.is_about(alias));
        self.for_writing.unwrap_or(TableNeeds {
            all: PrivilegeSet::SELECT,
            one_of: locks.then_some(OneOf::Locks),
        })
    }
}

/// A FROM clause or a part of it.
pub struct From {
    pub rel: Logical,
    pub scope: Scope,
    /// It names columns of the relations to the left.
    pub lateral: bool,
    /// Of the inner joins that are written in it, where the statement writes to the tables.
    pub conditions: Vec<Expr>,
}

impl Binder<'_> {
    /// The tables of FROM; one row without columns where there are none.
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
            from = Some(match from {
                None => part,
                Some(left) => self.joined(left, part, Joined::Listed, place)?,
            });
        }
        let from = from.unwrap_or_else(|| From {
            rel: Logical::OneRow,
            scope: Scope::default(),
            lateral: false,
            conditions: Vec::new(),
        });
        if from.scope.relations.len() > TABLES_MAX {
            return Err(Error::new(
                ER_TOO_MANY_TABLES,
                format!("Too many tables; MySQL can only use {TABLES_MAX} tables in a join"),
            ));
        }
        Ok(from)
    }

    fn table_ref(&self, table: &TableRef, place: FromPlace<'_>) -> Result<From> {
        syntax::stack::with_room(|| match table {
            TableRef::Table(table) => self.named_table(table, place),
            TableRef::Derived(table) => self.derived_table(table, place),
            TableRef::Json(table) => json_table::bind_json_table(self, table, place),
            TableRef::Nested(tables) => self.from(tables, place),
            TableRef::Join(join) => self.join(join, place),
        })
    }

    fn named_table(&self, table: &NamedTable, place: FromPlace<'_>) -> Result<From> {
        let alias = table.alias.as_ref().unwrap_or(&table.name.name);
        if let Some((rel, relation)) = self.common_table(table)? {
            return Ok(From::of(rel, relation));
        }
        let found = self.table(&table.name, place.needs_of(alias))?;
        self.note_table(&table.name, &found.database, table.alias.as_ref());
        if found.view.is_some() && !table.partitions.is_empty() {
            return Err(Error::not_supported(
                "PARTITION (...) of a view",
                "name the partitions in its definition",
            ));
        }
        if let Some(view) = &found.view {
            return self.view(&found, view, table, place);
        }
        self.open(&found, alias)?;
        let get = self.get(found, table, alias, place.for_writing.is_some())?;
        if place.outer.is_some() {
            self.check_not_written(&get.table, alias)?;
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
        self.accesses
            .add(&get.table, &get.alias, (place.needs_of(alias), lock), columns);
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
                "AS OF TIMESTAMP on tables of the server and on temporary tables",
                "leave it out",
            ));
        }
        Ok(Get {
            first: self.new_columns(found.columns.len() + usize::from(with_key)),
            // A table of information_schema is called as the statement writes it, not as it is.
            alias: alias.to_owned(),
            hints: [table.hints.clone(), self.index_hints(&found, alias)].concat(),
            order: self.order_places(alias),
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
        view_definition::check_not_defined(self, table)?;
        // The columns of a view show the defaults of its tables, whose other columns it may not have.
        if table.view.is_none() {
            super::stored::expressions(table)?;
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
        self.derived_depth.set(self.derived_depth.get() + 1);
        let query = self.query_of_derived(table, place, &mut reaches_left);
        self.derived_depth.set(self.derived_depth.get() - 1);
        let query = query?;
        let columns = named_columns(query.relation_columns(), &table.columns)?;
        Ok(From::of_columns(query.root, &table.alias, columns, reaches_left))
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
                let context = Context::of(&names);
                let query = self.query(&table.query, Some(&context))?;
                *reaches_left = query.root.outer_columns().iter().any(|id| left.owns(*id));
                Ok(query)
            }
            None => self.query(&table.query, place.outer),
        }
    }

    /// Error 1093 for a subquery that reads a table the statement writes to, other than through a derived table,
    /// whose rows are there before.
    pub fn check_not_written(&self, table: &Arc<Table>, alias: &str) -> Result<()> {
        let written = self.written.borrow();
        let found = written
            .iter()
            .find(|target| target.id == table.id && (!target.only_by_name || target.alias == alias));
        match found.filter(|_| self.derived_depth.get() == 0) {
            Some(WrittenTable { alias: target, .. }) => Err(Error::new(
                ER_UPDATE_TABLE_USED,
                format!("You can't specify target table '{target}' for update in FROM clause"),
            )),
            None => Ok(()),
        }
    }

    fn join(&self, join: &WrittenJoin, place: FromPlace<'_>) -> Result<From> {
        let left = self.table_ref(&join.left, place)?;
        let right = {
            // The left side of a RIGHT JOIN is not there yet.
            let before = (join.kind != WrittenKind::Right).then_some(&left);
            let scope = visible(place.left, before);
            self.table_ref(
                &join.right,
                FromPlace {
                    left: scope.as_ref(),
                    ..place
                },
            )?
        };
        self.joined(left, right, Joined::Written(join), place)
    }

    fn joined(
        &self,
        mut left: From,
        mut right: From,
        joined: Joined<'_>,
        place: FromPlace<'_>,
    ) -> Result<From> {
        let outer = place.outer;
        let (kind, condition) = joined.parts();
        check_aliases(&left.scope, &right.scope)?;
        match kind {
            WrittenKind::Left => right.scope.make_nullable(),
            WrittenKind::Right => left.scope.make_nullable(),
            WrittenKind::Inner | WrittenKind::Straight => {}
        }
        let names = match condition {
            JoinCondition::Using(names) => names.clone(),
            JoinCondition::Natural if kind == WrittenKind::Right => common_names(&right.scope, &left.scope),
            JoinCondition::Natural => common_names(&left.scope, &right.scope),
            JoinCondition::None | JoinCondition::On(_) => Vec::new(),
        };
        let mut conditions = Vec::with_capacity(names.len());
        let mut pairs = Vec::with_capacity(names.len());
        for name in names {
            let pair = (
                column_named(&left.scope, &name)?,
                column_named(&right.scope, &name)?,
            );
            if pairs.contains(&pair) {
                continue;
            }
            let (l, r) = (left.scope.column(pair.0), right.scope.column(pair.1));
            conditions.push(self.call("=", vec![l, r])?);
            pairs.push(pair);
        }
        if let (Joined::Written(join), false) = (joined, pairs.is_empty()) {
            self.note_join(join, &pairs, (&left.scope, &right.scope));
        }
        let merges = matches!(condition, JoinCondition::Using(_) | JoinCondition::Natural);
        let scope = left
            .scope
            .joined(right.scope, merges.then_some(&pairs), kind == WrittenKind::Right);
        let subqueries = Subqueries::default();
        if let JoinCondition::On(on) = condition {
            let names = ScopeNames {
                scope: &scope,
                clause: ON_CLAUSE,
                outer,
                in_aggregate: false,
            };
            let context = Context {
                subqueries: Some(&subqueries),
                outer,
                ..Context::of(&names)
            };
            conditions.push(self.condition(on, &context)?);
        }
        let condition = self.all(conditions)?;
        let mut inner = Vec::new();
        if place.for_writing.is_some() && matches!(kind, WrittenKind::Inner | WrittenKind::Straight) {
            inner.append(&mut left.conditions);
            inner.append(&mut right.conditions);
            inner.extend(condition.clone());
        }
        let rel = joined_rows(
            left.rel,
            right.rel,
            JoinOn {
                kind,
                condition,
                subqueries,
                lateral: right.lateral,
                straight: kind == WrittenKind::Straight || self.joins_as_written(),
            },
        )?;
        Ok(From {
            rel,
            scope,
            lateral: left.lateral || right.lateral,
            conditions: inner,
        })
    }
}

/// What stands between two parts of FROM.
#[derive(Clone, Copy)]
enum Joined<'q> {
    /// A comma.
    Listed,
    Written(&'q WrittenJoin),
}

impl<'q> Joined<'q> {
    fn parts(self) -> (WrittenKind, &'q JoinCondition) {
        match self {
            Self::Listed => (WrittenKind::Inner, &JoinCondition::None),
            Self::Written(join) => (join.kind, &join.condition),
        }
    }
}

/// How two parts of FROM are joined.
struct JoinOn {
    kind: WrittenKind,
    condition: Option<Expr>,
    /// Those of the condition.
    subqueries: Subqueries,
    /// The right part names columns of the left one, or of what is further left.
    lateral: bool,
    /// The left part is read first.
    straight: bool,
}

fn joined_rows(left: Logical, right: Logical, on: JoinOn) -> Result<Logical> {
    let depends = on.lateral && {
        let outer = right.outer_columns();
        left.output().iter().any(|column| outer.contains(&column.id))
    };
    let is_left = match on.kind {
        WrittenKind::Right if depends => {
            return Err(Error::internal("a lateral table beside what it cannot name"));
        }
        WrittenKind::Right => {
            let on = JoinOn {
                kind: WrittenKind::Left,
                lateral: false,
                ..on
            };
            return joined_rows(right, left, on);
        }
        WrittenKind::Left => true,
        WrittenKind::Inner | WrittenKind::Straight => false,
    };
    if depends {
        let right = on.subqueries.applied_to(right);
        return Ok(lateral(left, right, is_left, on.condition));
    }
    if on.subqueries.is_empty() {
        return Ok(Logical::Join(Join {
            kind: if is_left { JoinKind::Left } else { JoinKind::Inner },
            left: Box::new(left),
            right: Box::new(right),
            condition: on.condition,
            straight: on.straight,
        }));
    }
    if is_left {
        // The subqueries of the condition may name columns of both sides.
        let right = filtered(on.subqueries.applied_to(right), on.condition);
        return Ok(lateral(left, right, true, None));
    }
    let pairs = Logical::Join(Join {
        kind: JoinKind::Inner,
        left: Box::new(left),
        right: Box::new(right),
        condition: None,
        straight: on.kind == WrittenKind::Straight,
    });
    Ok(filtered(on.subqueries.applied_to(pairs), on.condition))
}

fn lateral(left: Logical, right: Logical, is_left: bool, condition: Option<Expr>) -> Logical {
    Logical::Apply(Apply {
        kind: ApplyKind::Lateral {
            left: is_left,
            condition,
        },
        input: Box::new(left),
        subquery: Box::new(right),
    })
}

/// The rows that satisfy a condition, if there is one.
pub fn filtered(input: Logical, predicate: Option<Expr>) -> Logical {
    match predicate {
        None => input,
        Some(predicate) => Logical::Filter {
            input: Box::new(input),
            predicate,
        },
    }
}

impl From {
    /// Rows that are no table's.
    pub fn of_columns(rel: Logical, alias: &str, columns: Vec<RelationColumn>, lateral: bool) -> Self {
        Self {
            lateral,
            ..Self::of(rel, Relation::of_query(columns, alias))
        }
    }

    pub fn of(rel: Logical, relation: Relation) -> Self {
        Self {
            rel,
            scope: Scope::of(relation),
            lateral: false,
            conditions: Vec::new(),
        }
    }
}

impl Scope {
    fn make_nullable(&mut self) {
        for relation in &mut self.relations {
            relation.or_null = true;
        }
    }

    /// The relations of both; `pairs` are columns that are one in `*`, and `from_right` says which of each.
    fn joined(mut self, right: Self, pairs: Option<&Vec<(ColumnRef, ColumnRef)>>, from_right: bool) -> Self {
        // A join with ON has its columns in the order of its sides.
        let from_right = from_right && pairs.is_some();
        let shift = self.relations.len();
        let shifted = |column: &ColumnRef| ColumnRef {
            relation: column.relation + shift,
            ..*column
        };
        self.merged = match pairs {
            None if self.merged.is_none() && right.merged.is_none() => None,
            pairs => {
                let none = Vec::new();
                let pairs = pairs.unwrap_or(&none);
                let (all_of_left, right_all) = (self.named(), right.named());
                let left_rest = all_of_left
                    .iter()
                    .copied()
                    .filter(|column| !pairs.iter().any(|(l, _)| l == column));
                let right_rest = right_all
                    .iter()
                    .filter(|column| !pairs.iter().any(|(_, r)| r == *column))
                    .map(shifted);
                // They come in the order of the table that they are taken from.
                let of_left = |column: &&ColumnRef| pairs.iter().any(|(l, _)| l == *column);
                let of_right = |column: &&ColumnRef| pairs.iter().any(|(_, r)| r == *column);
                let common: Vec<ColumnRef> = match from_right {
                    true => right_all.iter().filter(of_right).map(shifted).collect(),
                    false => all_of_left.iter().filter(of_left).copied().collect(),
                };
                let common = common.into_iter();
                Some(match from_right {
                    true => common.chain(right_rest).chain(left_rest).collect(),
                    false => common.chain(left_rest).chain(right_rest).collect(),
                })
            }
        };
        self.relations.extend(right.relations);
        self
    }
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

/// The names that both sides have, in the order of the left side.
fn common_names(left: &Scope, right: &Scope) -> Vec<String> {
    let names = |scope: &Scope| -> Vec<String> {
        let all = scope.all().into_iter();
        all.map(|column| scope.relation(column).name(column.position).to_owned())
            .collect()
    };
    let right = names(right);
    let mut common = names(left);
    common.retain(|name| right.iter().any(|other| other.eq_ignore_ascii_case(name)));
    common
}

/// The column of one side that USING or NATURAL is about.
fn column_named(scope: &Scope, name: &str) -> Result<ColumnRef> {
    let name = ColumnName {
        database: None,
        table: None,
        column: name.to_owned(),
    };
    let found = scope.find(&name, FROM_CLAUSE)?;
    found.ok_or_else(|| unknown_column(&name, FROM_CLAUSE))
}

/// Error 1066 where both sides have a relation of the same name.
fn check_aliases(left: &Scope, right: &Scope) -> Result<()> {
    let database = |relation: &Relation| relation.definition().map(|table| table.database.clone());
    for relation in &right.relations {
        let same = |other: &&Relation| other.alias == relation.alias && database(other) == database(relation);
        if left.relations.iter().any(|other| same(&other)) {
            return Err(Error::new(
                errno::ER_NONUNIQ_TABLE,
                format!("Not unique table/alias: '{}'", relation.alias),
            ));
        }
    }
    Ok(())
}

/// How a locking clause is about a table.
fn locking_of(get: &Get, clauses: &[LockingClause]) -> Result<Option<Locking>> {
    let about = |clause: &&LockingClause| clause.is_about(&get.alias);
    if clauses.iter().filter(about).count() > 1 {
        return Err(Error::new(
            3569,
            format!("Table `{}` appears in multiple locking clauses.", get.alias),
        ));
    }
    let Some(clause) = clauses.iter().find(about).filter(|_| !get.table.is_virtual()) else {
        return Ok(None);
    };
    if get.as_of.is_some() {
        return Err(Error::not_supported(
            "locking rows of the past",
            "leave AS OF TIMESTAMP out",
        ));
    }
    Ok(Some(Locking {
        exclusive: clause.exclusive,
        wait: match clause.wait {
            LockWait::Wait => LockingWait::Wait,
            LockWait::NoWait => LockingWait::NoWait,
            LockWait::SkipLocked => LockingWait::SkipLocked,
        },
    }))
}

/// The columns of a derived table or common table expression under the names of its list, if it has one.
///
/// # Errors
/// 1060 for two of the same name, 1353 for a list of another length.
pub fn named_columns(mut columns: Vec<RelationColumn>, names: &[String]) -> Result<Vec<RelationColumn>> {
    if !names.is_empty() {
        if names.len() != columns.len() {
            return Err(Error::new(
                ER_WRONG_COLUMN_LIST,
                "In definition of view, derived table or common table expression, SELECT list and column names list have \
                 different column counts",
            ));
        }
        for (column, name) in columns.iter_mut().zip(names) {
            column.name.clone_from(name);
        }
    }
    for (position, column) in columns.iter().enumerate() {
        let same = |other: &&RelationColumn| other.name.eq_ignore_ascii_case(&column.name);
        if let Some(first) = columns[..position].iter().find(same) {
            return Err(Error::new(
                errno::ER_DUP_FIELDNAME,
                format!(
                    "Duplicate column name '{}'",
                    if names.is_empty() {
                        &column.name
                    } else {
                        &first.name
                    }
                ),
            ));
        }
    }
    Ok(columns)
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

/// Error 1137. `alias`: what the statement has called the temporary table before.
pub fn cannot_reopen(alias: &str) -> Error {
    Error::new(ER_CANT_REOPEN_TABLE, format!("Can't reopen table: '{alias}'"))
}
