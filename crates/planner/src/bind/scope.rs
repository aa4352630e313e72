//! What names mean where they stand: the columns of a block's relations, of a SHOW's output, or nothing at
//! all.

use std::sync::Arc;

use functions::Expr;
use functions::coercibility::Strength;
use functions::expr::Label;
use schema::model::{Default, INFORMATION_SCHEMA, SchemaState, Table};
use syntax::ast::{ColumnName, ObjectName};
use types::{Error, Result, SqlType, errno};

use super::expr::Context;
use crate::logical::ColumnId;
use crate::object_access::ThroughView;
use crate::plan::ResultColumn;

/// A table, a derived table or a common table expression as a query block names it.
#[derive(Debug, Clone)]
pub struct Relation {
    pub alias: String,
    pub source: RelationSource,
    /// It is on the inner side of an outer join, which may leave its columns NULL.
    pub or_null: bool,
    /// Under PAD_CHAR_TO_FULL_LENGTH: its CHAR columns are stored without the spaces that statements see.
    pub pads: bool,
    /// The view that the name means, whose query these are the columns of.
    pub view: Option<Arc<ViewRelation>>,
}

#[derive(Debug, Clone)]
pub enum RelationSource {
    /// The column at offset `n` has the id `first + n`.
    Table { table: Arc<Table>, first: ColumnId },
    /// The columns of a query.
    Query(Vec<RelationColumn>),
}

#[derive(Debug, Clone)]
pub struct RelationColumn {
    pub name: String,
    pub id: ColumnId,
    pub ty: SqlType,
    pub nullable: bool,
    /// How strong its collation is; `None`: as that of a table's column.
    pub strength: Option<Strength>,
    /// How the column is announced, if its query is merged into the one around it.
    pub origin: Option<Box<ResultColumn>>,
}

/// A view as a query block names it.
#[derive(Debug, Clone)]
pub struct ViewRelation {
    pub definition: Arc<Table>,
    /// Its columns are announced as those of the view, and not of a temporary table.
    pub is_merged: bool,
    /// `None`: no rows can be changed through it.
    pub written: Option<WrittenView>,
}

/// The tables below a view, and the rows it shows of them.
#[derive(Debug, Clone, Default)]
pub struct WrittenView {
    pub tables: Vec<WrittenTable>,
    /// The conditions of the view and of the views below it.
    pub filters: Vec<Expr>,
    /// Those that a changed row has to satisfy: WITH CHECK OPTION.
    pub checks: Vec<Expr>,
    /// The columns that are expressions, and not of a table or another query.
    pub computed: Vec<ColumnId>,
}

/// A table below a view.
#[derive(Debug, Clone)]
pub struct WrittenTable {
    pub relation: Relation,
    pub through: Option<Arc<ThroughView>>,
}

impl WrittenView {
    pub fn is_computed(&self, column: ColumnId) -> bool {
        self.computed.contains(&column)
    }

    /// The table that a column of the view is of, and its offset there; `None` for an expression.
    pub fn table_of(&self, column: ColumnId) -> Option<(&WrittenTable, usize)> {
        self.tables
            .iter()
            .find_map(|table| Some((table, table.relation.position(column)?)))
    }
}

impl ViewRelation {
    /// `database.name`, as in errors.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.definition.database, self.definition.name)
    }
}

/// A column of a block: which relation, and which of its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ColumnRef {
    pub relation: usize,
    pub position: usize,
}

/// Resolves the names of one place in a statement.
pub trait Names {
    fn column(&self, name: &ColumnName) -> Result<Expr>;

    /// A name in a subquery, of which no query between that and this place knows the meaning.
    fn named_within(&self, name: &ColumnName) -> Result<Expr> {
        self.column(name)
    }

    /// The column that `DEFAULT(column)` is about.
    fn defaulted<'s>(&'s self, name: &ColumnName) -> Result<(&'s Relation, usize)> {
        Err(unknown_column(name, FIELD_LIST))
    }

    /// `VALUES(column)`.
    fn values(&self, name: &ColumnName) -> Result<Expr>;
}

pub const FIELD_LIST: &str = "field list";
pub const ON_CLAUSE: &str = "on clause";
pub const FROM_CLAUSE: &str = "from clause";
pub const WHERE_CLAUSE: &str = "where clause";
pub const HAVING_CLAUSE: &str = "having clause";
pub const ORDER_CLAUSE: &str = "order clause";
pub const GROUP_STATEMENT: &str = "group statement";
/// What stands left of IN, ANY and ALL.
pub const SUBQUERY_OPERAND: &str = "IN/ALL/ANY subquery";

/// The relations of a query block.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    pub relations: Vec<Relation>,
    /// What `*` means, if a join has merged columns (USING, NATURAL). Columns that are not here can only be
    /// named with their relation.
    /// Invisible columns are among them, though `*` leaves them out.
    pub merged: Option<Vec<ColumnRef>>,
}

/// The names of a block's relations; names that none of them has are looked up around the query.
pub struct ScopeNames<'a> {
    pub scope: &'a Scope,
    /// Where the names stand, as error 1054 says it.
    pub clause: &'static str,
    /// The place where the query stands, if it is a subquery.
    pub outer: Option<&'a Context<'a>>,
    /// They stand in the argument of an aggregate, which may be one of the query around.
    pub in_aggregate: bool,
}

/// The names of a place for a subquery there that has none of its own.
pub struct FromWithin<'a>(pub &'a dyn Names);

/// The same names in another clause, which error 1054 tells.
pub struct InClause<'a> {
    pub names: &'a dyn Names,
    pub clause: &'static str,
}

/// The columns of a SHOW statement's output.
pub struct ListNames<'a> {
    pub columns: &'a [(String, SqlType)],
}

/// No columns at all; names may be found around the query.
pub struct NoNames<'a> {
    pub outer: Option<&'a Context<'a>>,
}

/// No columns, and no query around.
pub const NO_NAMES: NoNames<'static> = NoNames { outer: None };

impl Relation {
    /// A stored table or one of the server's.
    pub fn of_table(table: Arc<Table>, alias: &str, first: ColumnId, pads: bool) -> Self {
        Self {
            alias: alias.to_owned(),
            pads: pads && !table.is_virtual(),
            source: RelationSource::Table { table, first },
            or_null: false,
            view: None,
        }
    }

    /// The table whose columns these are.
    pub fn table(&self) -> Option<&Arc<Table>> {
        match &self.source {
            RelationSource::Table { table, .. } => Some(table),
            RelationSource::Query(_) => None,
        }
    }

    /// The columns of a query under a name of their own.
    pub fn of_query(columns: Vec<RelationColumn>, alias: &str) -> Self {
        Self {
            alias: alias.to_owned(),
            source: RelationSource::Query(columns),
            or_null: false,
            pads: false,
            view: None,
        }
    }

    /// The table or view that the name means.
    pub fn definition(&self) -> Option<&Arc<Table>> {
        self.table().or_else(|| Some(&self.view.as_ref()?.definition))
    }

    /// Position of a column that a query may name.
    pub fn find(&self, name: &ColumnName) -> Option<usize> {
        if name.table.as_ref().is_some_and(|table| *table != self.alias) {
            return None;
        }
        if name.database.as_ref().is_some_and(|d| !self.is_in(d)) {
            return None;
        }
        match &self.source {
            RelationSource::Table { table, .. } => {
                let offset = table.column_offset(&name.column)?;
                (table.columns[offset].state == SchemaState::Public && !table.columns[offset].hidden)
                    .then_some(offset)
            }
            RelationSource::Query(columns) => columns
                .iter()
                .position(|column| column.name.eq_ignore_ascii_case(&name.column)),
        }
    }

    fn is_in(&self, database: &str) -> bool {
        self.definition().is_some_and(|table| {
            let own = &table.database;
            database == own || own == INFORMATION_SCHEMA && database.eq_ignore_ascii_case(own)
        })
    }

    /// Whether `[database.]name.*` means this relation.
    pub fn is_named(&self, name: &ObjectName) -> bool {
        name.name == self.alias && name.database.as_ref().is_none_or(|d| self.is_in(d))
    }

    /// The positions of the columns that `*` means.
    pub fn positions(&self) -> Vec<usize> {
        match &self.source {
            RelationSource::Table { table, .. } => table.visible_columns().collect(),
            RelationSource::Query(columns) => (0..columns.len()).collect(),
        }
    }

    /// The same with the columns that are invisible.
    fn named_positions(&self) -> Vec<usize> {
        match &self.source {
            RelationSource::Table { table, .. } => table.public_columns().collect(),
            RelationSource::Query(columns) => (0..columns.len()).collect(),
        }
    }

    fn is_visible(&self, position: usize) -> bool {
        self.table()
            .is_none_or(|table| !table.columns[position].invisible)
    }

    pub fn name(&self, position: usize) -> &str {
        match &self.source {
            RelationSource::Table { table, .. } => &table.columns[position].name,
            RelationSource::Query(columns) => &columns[position].name,
        }
    }

    pub fn id(&self, position: usize) -> ColumnId {
        match &self.source {
            RelationSource::Table { first, .. } => ColumnId(first.0 + position),
            RelationSource::Query(columns) => columns[position].id,
        }
    }

    pub fn position(&self, id: ColumnId) -> Option<usize> {
        match &self.source {
            RelationSource::Table { table, first } => {
                let offset = id.0.checked_sub(first.0)?;
                (offset < table.columns.len()).then_some(offset)
            }
            RelationSource::Query(columns) => columns.iter().position(|column| column.id == id),
        }
    }

    /// A column as statements see it.
    pub fn column(&self, position: usize) -> Expr {
        self.shown(self.stored(position))
    }

    /// A column of this relation as statements see it.
    pub fn shown(&self, stored: Expr) -> Expr {
        match self.pads {
            true => functions::padded_char(stored),
            false => stored,
        }
    }

    /// The type of a column as it is stored.
    pub fn stored_type(&self, position: usize) -> SqlType {
        match &self.source {
            RelationSource::Table { table, .. } => table.columns[position].ty,
            RelationSource::Query(columns) => columns[position].ty,
        }
    }

    /// A column as it is stored.
    pub fn stored(&self, position: usize) -> Expr {
        match &self.source {
            RelationSource::Table { table, .. } => {
                let column = &table.columns[position];
                Expr::Column {
                    index: self.id(position).0,
                    ty: column.ty,
                    nullable: column.nullable || self.or_null,
                    label: Label::column(&table.database, &self.alias, &column.name),
                }
            }
            RelationSource::Query(columns) => {
                let column = &columns[position];
                Expr::Column {
                    index: column.id.0,
                    ty: column.ty,
                    nullable: column.nullable || self.or_null,
                    label: Label::column(
                        self.definition().map_or("", |view| &view.database),
                        &self.alias,
                        &column.name,
                    )
                    .with_strength(column.strength),
                }
            }
        }
    }

    /// `database.alias.column`, as error 1055 names it.
    pub fn qualified(&self, position: usize) -> String {
        let column = self.name(position);
        match self.definition() {
            None => format!("{}.{column}", self.alias),
            Some(table) => format!("{}.{}.{column}", table.database, self.alias),
        }
    }
}

/// Whether a column of a table must be given a value by INSERT.
pub fn has_no_default(table: &Table, offset: usize) -> bool {
    let column = &table.columns[offset];
    if column.generated.is_some() {
        return false;
    }
    match column.default {
        Default::None => !column.nullable && !column.makes_ids(),
        Default::Dropped => true,
        _ => false,
    }
}

impl Scope {
    pub fn of(relation: Relation) -> Self {
        Self {
            relations: vec![relation],
            merged: None,
        }
    }

    /// The column that a name means; `None` where there is none.
    ///
    /// # Errors
    /// 1052 where there are several.
    pub fn find(&self, name: &ColumnName, clause: &str) -> Result<Option<ColumnRef>> {
        let mut found: Option<ColumnRef> = None;
        for (relation, of) in self.relations.iter().enumerate() {
            let Some(position) = of.find(name) else {
                continue;
            };
            let column = ColumnRef { relation, position };
            if name.table.is_none() && self.is_hidden(column) {
                continue;
            }
            if found.is_some() {
                return Err(ambiguous_column(&full_name(name), clause));
            }
            found = Some(column);
        }
        Ok(found)
    }

    fn is_hidden(&self, column: ColumnRef) -> bool {
        self.merged
            .as_ref()
            .is_some_and(|merged| !merged.contains(&column))
    }

    /// The columns that `*` means.
    pub fn all(&self) -> Vec<ColumnRef> {
        let mut all = self.named();
        all.retain(|column| self.relation(*column).is_visible(column.position));
        all
    }

    /// The columns that can be named without their relation, the invisible ones included.
    pub fn named(&self) -> Vec<ColumnRef> {
        if let Some(merged) = &self.merged {
            return merged.clone();
        }
        let mut named = Vec::new();
        for (relation, of) in self.relations.iter().enumerate() {
            let positions = of.named_positions().into_iter();
            named.extend(positions.map(|position| ColumnRef { relation, position }));
        }
        named
    }

    pub fn relation(&self, column: ColumnRef) -> &Relation {
        &self.relations[column.relation]
    }

    pub fn column(&self, column: ColumnRef) -> Expr {
        self.relation(column).column(column.position)
    }

    /// The relation and position of a column of the block.
    pub fn of_id(&self, id: ColumnId) -> Option<ColumnRef> {
        self.relations.iter().enumerate().find_map(|(relation, of)| {
            let position = of.position(id)?;
            Some(ColumnRef { relation, position })
        })
    }

    pub fn owns(&self, id: ColumnId) -> bool {
        self.of_id(id).is_some()
    }
}

impl ScopeNames<'_> {
    /// A name that no relation of the block has.
    pub fn around(&self, name: &ColumnName) -> Result<Expr> {
        let unknown = || unknown_column(name, self.clause);
        let Some(outer) = self.outer else {
            let is_before_tables = matches!(self.clause, HAVING_CLAUSE | FROM_CLAUSE);
            return Err(match self.scope.relations.is_empty() && !is_before_tables {
                true => unknown_without_tables(name, self.clause),
                false => unknown(),
            });
        };
        let names = match self.in_aggregate {
            true => outer.argument_names,
            false => outer.names,
        };
        match names.named_within(name) {
            Ok(column) => Ok(column),
            Err(error) if error.code == errno::ER_BAD_FIELD_ERROR => Err(unknown()),
            Err(error) => Err(error),
        }
    }
}

impl Names for ScopeNames<'_> {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        match self.scope.find(name, self.clause)? {
            Some(column) => Ok(self.scope.column(column)),
            None => self.around(name),
        }
    }

    fn defaulted<'s>(&'s self, name: &ColumnName) -> Result<(&'s Relation, usize)> {
        match self.scope.find(name, self.clause)? {
            Some(column) => Ok((self.scope.relation(column), column.position)),
            None => Err(unknown_column(name, self.clause)),
        }
    }

    /// Outside ON DUPLICATE KEY UPDATE it is NULL.
    fn values(&self, name: &ColumnName) -> Result<Expr> {
        let column = self.column(name)?;
        Ok(functions::bind::implicit_cast(Expr::null(), column.ty()))
    }
}

impl Names for FromWithin<'_> {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        let meant = self.0.named_within(name);
        meant.map_err(|error| match error.code {
            errno::ER_BAD_FIELD_ERROR => unknown_column(name, FIELD_LIST),
            _ => error,
        })
    }

    fn defaulted<'s>(&'s self, name: &ColumnName) -> Result<(&'s Relation, usize)> {
        self.0.defaulted(name)
    }

    fn values(&self, name: &ColumnName) -> Result<Expr> {
        self.0.values(name)
    }
}

impl Names for InClause<'_> {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        self.names.column(name).map_err(|error| match error.code {
            errno::ER_BAD_FIELD_ERROR => unknown_column(name, self.clause),
            _ => error,
        })
    }

    fn named_within(&self, name: &ColumnName) -> Result<Expr> {
        self.names.named_within(name)
    }

    fn defaulted<'s>(&'s self, name: &ColumnName) -> Result<(&'s Relation, usize)> {
        self.names.defaulted(name)
    }

    fn values(&self, name: &ColumnName) -> Result<Expr> {
        self.names.values(name)
    }
}

impl Names for ListNames<'_> {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        let found = self
            .columns
            .iter()
            .position(|(c, _)| c.eq_ignore_ascii_case(&name.column));
        match found {
            Some(index) if name.table.is_none() => Ok(Expr::column(index, self.columns[index].1, true)),
            _ => Err(unknown_column(name, WHERE_CLAUSE)),
        }
    }

    fn values(&self, name: &ColumnName) -> Result<Expr> {
        Err(unknown_column(name, WHERE_CLAUSE))
    }
}

impl Names for NoNames<'_> {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        match self.outer {
            Some(outer) => outer.names.named_within(name),
            None => Err(unknown_without_tables(name, FIELD_LIST)),
        }
    }

    fn values(&self, name: &ColumnName) -> Result<Expr> {
        Err(unknown_column(name, FIELD_LIST))
    }
}

/// Error 1054.
pub fn unknown_column(name: &ColumnName, clause: &str) -> Error {
    Error::new(
        errno::ER_BAD_FIELD_ERROR,
        format!("Unknown column '{}' in '{clause}'", full_name(name)),
    )
}

/// The same where no table is there at all: error 1109 for a name that has its table's.
fn unknown_without_tables(name: &ColumnName, clause: &str) -> Error {
    let Some(table) = &name.table else {
        return unknown_column(name, clause);
    };
    let table = match &name.database {
        Some(database) => format!("{database}.{table}"),
        None => table.clone(),
    };
    Error::new(
        errno::ER_UNKNOWN_TABLE,
        format!("Unknown table '{table}' in {clause}"),
    )
}

/// Error 1052.
pub fn ambiguous_column(name: &str, clause: &str) -> Error {
    Error::new(errno::ER_NON_UNIQ_ERROR, ambiguous_text(name, clause))
}

pub fn ambiguous_text(name: &str, clause: &str) -> String {
    format!("Column '{name}' in {clause} is ambiguous")
}

pub fn full_name(name: &ColumnName) -> String {
    [
        name.database.as_deref(),
        name.table.as_deref(),
        Some(&name.column),
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<_>>()
    .join(".")
}
