//! The tables, derived tables, common table expressions and views that a query block names.

use std::sync::Arc;

use functions::Expr;
use functions::coercibility::Strength;
use functions::expr::Label;
use schema::model::{Default, INFORMATION_SCHEMA, Index, IndexPart, SchemaState, Table};
use syntax::ast::{ColumnName, ObjectName};
use types::{Result, SqlType, TypeKind};

use crate::logical::{ApplyKind, ColumnId, Logical};
use crate::object_access::ThroughView;
use crate::plan::ResultColumn;

/// How many characters a BIGINT may have.
const BIGINT_CHARS: u32 = 20;

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
    /// How the column is announced, if its query is merged into the one around it, or if it is a table's column.
    pub origin: Option<Box<ResultColumn>>,
    /// The type that is announced, if expressions take the column for a wider one.
    pub announced: Option<SqlType>,
    /// Its query is merged into the one around it, as MySQL does it.
    pub is_merged: bool,
    /// The table's column that it is, if its query is merged into the one around it.
    pub base: Option<BaseColumn>,
}

/// A column of a table in FROM.
#[derive(Debug, Clone)]
pub struct BaseColumn {
    pub table: Arc<Table>,
    /// The id of the table's first column there.
    pub first: ColumnId,
    pub offset: usize,
}

/// The type of an expression as a column of a temporary table, which MySQL stores some results in before it sends them.
/// Source: `Item::tmp_table_field_from_field_type` and `create_tmp_field_from_item` of MySQL.
pub fn type_in_temporary_table(ty: SqlType) -> SqlType {
    /// The digits of the longest number that is an INT there.
    const INT_CHARS: u32 = 9;
    let kind = match ty.kind {
        TypeKind::Bit => return ty,
        _ if ty.is_integer() && ty.length > INT_CHARS => TypeKind::BigInt,
        _ if ty.is_integer() => TypeKind::Int,
        TypeKind::Char => TypeKind::VarChar,
        _ => return ty,
    };
    SqlType {
        kind,
        zerofill: false,
        ..ty
    }
}

impl RelationColumn {
    /// Takes an expression's column for one of a temporary table that a query block fills. It is announced with the
    /// width of its values.
    pub fn set_made(&mut self) {
        let narrow = type_in_temporary_table(self.ty);
        if self.ty.is_integer() && self.ty.kind != narrow.kind && self.ty.kind != TypeKind::BigInt {
            self.announced = Some(narrow);
            return;
        }
        if self.ty.kind != TypeKind::BigInt || narrow.kind == TypeKind::BigInt {
            return;
        }
        self.announced = Some(narrow);
        self.ty = SqlType {
            length: if narrow.unsigned { 10 } else { 11 },
            ..narrow
        };
    }

    /// Takes the column for one of a temporary table that a set operation or a recursion fills: an integer of any
    /// width is a BIGINT there, and is announced with the width of its values.
    pub fn set_stored(&mut self, ty: SqlType) {
        let is_narrow = ty.kind == TypeKind::BigInt && ty.length < BIGINT_CHARS;
        self.announced = is_narrow.then_some(ty);
        self.ty = match is_narrow {
            true => SqlType {
                length: BIGINT_CHARS,
                ..ty
            },
            false => ty,
        };
    }
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
    pub tables: Vec<ViewTable>,
    /// The conditions of the view and of the views below it.
    pub filters: Vec<Expr>,
    /// Those that a changed row has to satisfy: WITH CHECK OPTION.
    pub checks: Vec<Expr>,
    /// The subqueries of all conditions, where some have to be satisfied.
    pub subqueries: Vec<(ApplyKind, Logical)>,
    /// The columns that are expressions, and not of a table or another query.
    pub computed: Vec<ColumnId>,
    pub collated: Vec<CollatedColumn>,
    /// The ids of the tables that subqueries of the view's own conditions read: no statement may write to them
    /// through the view.
    pub read_by_subqueries: Vec<i64>,
    /// How many of its relations are no tables, and cannot be written to.
    pub others: usize,
}

/// A column `c COLLATE x` of a view.
#[derive(Debug, Clone)]
pub struct CollatedColumn {
    pub id: ColumnId,
    /// The column `c` of a table, which is written.
    pub written: ColumnId,
    /// What it is, over the columns of the table.
    pub expr: Expr,
}

/// A table below a view.
#[derive(Debug, Clone)]
pub struct ViewTable {
    pub relation: Relation,
    pub through: Option<Arc<ThroughView>>,
}

impl WrittenView {
    pub fn is_computed(&self, column: ColumnId) -> bool {
        self.computed.contains(&column)
    }

    /// The column that is written where the statement names `column`: below `c COLLATE x`, the column itself.
    pub fn written_as(&self, column: ColumnId) -> ColumnId {
        self.collated_as(column)
            .map_or(column, |collated| collated.written)
    }

    fn collated_as(&self, column: ColumnId) -> Option<&CollatedColumn> {
        self.collated.iter().find(|collated| collated.id == column)
    }

    /// An expression over columns of views below, over those of their tables.
    pub fn over_tables(&self, expr: &Expr) -> Result<Expr> {
        match expr {
            Expr::Column { index, .. } => {
                let collated = self.collated_as(ColumnId(*index));
                Ok(collated.map_or_else(|| expr.clone(), |collated| collated.expr.clone()))
            }
            other => other.of_parts(&mut |part| self.over_tables(part)),
        }
    }

    /// Whether a column is one of the tables'.
    pub fn is_of_table(&self, column: ColumnId) -> bool {
        let mut tables = self.tables.iter();
        tables.any(|table| table.relation.position(column).is_some())
    }

    /// Whether a subquery of the view reads the table.
    pub fn reads(&self, table: &ViewTable) -> bool {
        let table = table.relation.table();
        table.is_some_and(|table| self.read_by_subqueries.contains(&table.id))
    }

    /// The table that a column of the view is of, and its offset there; `None` for an expression.
    pub fn table_of(&self, column: ColumnId) -> Option<(&ViewTable, usize)> {
        let column = self.written_as(column);
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

    /// Whether a column has its own spelling in results, whatever that of the query is: a column of a query that is
    /// merged into the one around it, and of the server's views.
    pub fn keeps_spelling(&self, position: usize) -> bool {
        match &self.source {
            RelationSource::Table { table, .. } => table.system.is_view,
            RelationSource::Query(columns) => columns.get(position).is_some_and(|column| column.is_merged),
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

    /// The table's column that a column is, through queries that are merged.
    pub fn base(&self, position: usize) -> Option<BaseColumn> {
        match &self.source {
            RelationSource::Table { table, first } => Some(BaseColumn {
                table: Arc::clone(table),
                first: *first,
                offset: position,
            }),
            RelationSource::Query(columns) => columns.get(position)?.base.clone(),
        }
    }

    /// Whether its rows are not those of a temporary table, as far as its columns tell.
    pub fn is_merged(&self) -> bool {
        match &self.source {
            RelationSource::Table { .. } => true,
            RelationSource::Query(columns) => columns.iter().any(|column| column.base.is_some()),
        }
    }

    /// The table or view that the name means.
    pub fn definition(&self) -> Option<&Arc<Table>> {
        self.table().or_else(|| Some(&self.view.as_ref()?.definition))
    }

    /// Position of a column that a query may name.
    pub fn find(&self, name: &ColumnName) -> Option<usize> {
        if !self.may_own(name) {
            return None;
        }
        match &self.source {
            RelationSource::Table { table, .. } => table.public_column(&name.column),
            RelationSource::Query(columns) => columns
                .iter()
                .position(|column| types::same_name(&column.name, &name.column)),
        }
    }

    /// Whether a name has no other relation's name before it.
    fn may_own(&self, name: &ColumnName) -> bool {
        // A derived table is in no database, and MySQL does not look at the one that is written.
        let is_here = |database: &String| self.definition().is_none() || self.is_in(database);
        name.table.as_ref().is_none_or(|table| *table == self.alias)
            && name.database.as_ref().is_none_or(is_here)
    }

    /// The position of the column that `_rowid` means.
    pub fn find_row_id(&self, name: &ColumnName) -> Option<usize> {
        match &self.source {
            RelationSource::Table { table, .. } if self.may_own(name) => row_id(table),
            _ => None,
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
    pub fn named_positions(&self) -> Vec<usize> {
        match &self.source {
            RelationSource::Table { table, .. } => table.public_columns().collect(),
            RelationSource::Query(columns) => (0..columns.len()).collect(),
        }
    }

    pub fn is_visible(&self, position: usize) -> bool {
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
                    ty: column.ty.as_operand(),
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

/// The column that `_rowid` means: the integer that alone is the primary key, or, where there is none, the first
/// unique key without NULL.
fn row_id(table: &Table) -> Option<usize> {
    let primary = table.primary_parts();
    let key = match primary.is_empty() {
        true => &stand_in(table, &primary)?.parts,
        false => &primary,
    };
    match key.as_slice() {
        [part] if part.prefix.is_none() && table.columns[part.column].ty.is_integer() => Some(part.column),
        _ => None,
    }
}

/// Where there is no primary key, MySQL takes the first unique key whose columns are all NOT NULL for one.
pub(super) fn stand_in<'t>(table: &'t Table, primary: &[IndexPart]) -> Option<&'t Index> {
    if !primary.is_empty() {
        return None;
    }
    table.indexes.iter().find(|index| {
        let whole = |part: &IndexPart| part.prefix.is_none() && !table.columns[part.column].nullable;
        index.unique && index.state == SchemaState::Public && index.parts.iter().all(whole)
    })
}
