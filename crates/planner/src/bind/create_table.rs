//! CREATE TABLE. The catalog checks names, counts and sizes of the whole.

use schema::create_options::CreateOptions;
use schema::definition::{Ddl, TableDefinition, TableName};
use schema::limits::{
    check_column_names, check_key_part, check_table_name, key_part_bytes_max, shortened_part,
};
use schema::model::{Column, Handle, Index, IndexPart, SchemaState, Table};
use types::{Collation, Error, Result, TypeKind, Warning, errno};

use super::check::check_expressions;
use super::comment::{self, Commented};
use super::engine::{Engine, engine_named, warn_of_engine};
use super::foreign_key::index_of;
use super::partition_error::foreign_key_and_partitions;
use super::stored::check_new_constraint;
use super::table_options::{OptionsOf, check_row_format, shown_options};
use super::{
    Binder, check, collation, column, default_value, foreign_key, full_text_index, functional_index,
    generated_key, partition,
};
use crate::errno::{ER_UNSUPPORTED_INDEX_ALGORITHM, WARN_OPTION_IGNORED};
use syntax::ast::{
    ColumnDefinition, CreateTable, IndexDefinition, IndexKind, IndexType, TableElement, TableOptions,
};

/// `selected`: the columns of CREATE TABLE ... SELECT's query.
pub(super) fn bind_create_table(
    binder: &Binder<'_>,
    create: &CreateTable,
    selected: Vec<Column>,
) -> Result<Ddl> {
    let name = binder.table_name(&create.name)?;
    check_table_name(&name.name)?;
    let collation = table_collation(binder, &name, &create.options).inspect_err(|_| {
        let (charset, collation) = (&create.options.charset, &create.options.collation);
        collation::warn_of_clauses(binder, charset.as_deref(), collation.as_deref());
    })?;
    let mut builder = TableBuilder {
        columns: Vec::new(),
        indexes: Vec::new(),
    };
    check_partitioned(create)?;
    let generated = generated_key::of(binder, create)?;
    let written = create.elements.iter().filter_map(as_column);
    let columns: Vec<&ColumnDefinition> = generated.iter().chain(written).collect();
    for (at, definition) in columns.iter().enumerate() {
        let column = column::written_column(binder, definition, collation).inspect_err(|_| {
            let rest = columns.get(at + 1..).unwrap_or_default();
            warn_of_text(binder, rest, collation, &create.options);
        })?;
        builder.columns.push(column);
    }
    warn_of_text(binder, &[], collation, &create.options);
    if engine_named(binder, create.options.engine.as_deref())? != Engine::InnoDb {
        warn_of_engine(binder, &name.name);
    }
    check_directories(binder, &create.options, binder.env.sql_mode.no_dir_in_create)?;
    builder.columns = with_selected(binder, builder.columns, selected)?;
    let checks = check::bind_checks(binder, &name.name, &create.elements, &builder.columns);
    let columns_only = Table::of_columns(0, &name.database, &name.name, builder.columns.clone());
    for (check, column) in &checks {
        check_new_constraint(&columns_only, check, *column)?;
    }
    check_column_names(&builder.columns)?;
    for definition in &columns {
        builder.inline_indexes(definition)?;
    }
    let mut foreign_keys = Vec::new();
    for element in &create.elements {
        match element {
            TableElement::Column(_) | TableElement::Check(_) => {}
            TableElement::Index(definition) => {
                check_full_text(create, definition)?;
                note_hash(binder, definition);
                let mut definition = definition.clone();
                definition.comment = comment::of_index(binder, &definition)?;
                index_expressions(binder, &name, &mut builder, &mut definition)?;
                builder.index(&definition, false)?;
            }
            TableElement::ForeignKey(definition) => {
                foreign_keys.push(foreign_key::bind_foreign_key(binder, definition, &name.database)?);
                builder.index(&index_of(definition), true)?;
            }
        }
    }
    builder.check_parts(&columns)?;
    for definition in &columns {
        let is_it = |column: &Column| types::same_name(&column.name, &definition.name);
        if let Some(at) = builder.columns.iter().position(is_it) {
            let written = builder.columns[at].clone();
            builder.columns[at] = column::with_default(binder, definition, written)?;
        }
    }
    let (mut builder, handle) = builder.finish()?;
    let options = &create.options;
    let shown = create_options(binder, create, &name)?;
    builder.shorten_parts(binder, &shown);
    let is_random = builder.columns.iter().any(|column| column.auto_random.is_some());
    let start = if is_random {
        options.auto_random_base
    } else {
        options.auto_increment
    };
    let definition = TableDefinition {
        columns: builder.columns,
        indexes: builder.indexes,
        handle,
        collation,
        comment: comment::limited(
            binder,
            options.comment.as_deref().unwrap_or_default(),
            Commented::Table(&name.name),
        )?,
        auto_increment_start: start.unwrap_or(1).max(1),
        shard_row_id_bits: options.shard_row_id_bits.unwrap_or(0),
        pre_split_regions: options.pre_split_regions.unwrap_or(0),
        checks: checks.iter().map(|(check, _)| check.clone()).collect(),
        foreign_keys,
        options: shown,
        partitioning: match &create.partitioning {
            Some(written) => Some(Box::new(partition::bind_partitioning(binder, written)?)),
            None => None,
        },
    };
    check_expressions((&name.database, &name.name), &definition)?;
    Ok(Ddl::CreateTable {
        name,
        definition,
        if_not_exists: create.if_not_exists,
    })
}

/// MySQL reports this before everything that is wrong with columns and partitions.
///
/// # Errors
/// 1506
fn check_partitioned(create: &CreateTable) -> Result<()> {
    let is_key = |element: &TableElement| matches!(element, TableElement::ForeignKey(_));
    match create.partitioning.is_some() && create.elements.iter().any(is_key) {
        true => Err(foreign_key_and_partitions()),
        false => Ok(()),
    }
}

/// Errors 1796 and 1214 for tables that have no FULLTEXT indexes.
fn check_full_text(create: &CreateTable, index: &IndexDefinition) -> Result<()> {
    match (index.kind, create.temporary, &create.partitioning) {
        (IndexKind::FullText, true, _) => Err(full_text_index::on_temporary()),
        (IndexKind::FullText, false, Some(_)) => Err(full_text_index::on_partitions()),
        _ => Ok(()),
    }
}

/// Adds the hidden columns of an index's expressions.
fn index_expressions(
    binder: &Binder<'_>,
    name: &TableName,
    builder: &mut TableBuilder,
    index: &mut IndexDefinition,
) -> Result<()> {
    if index.kind != IndexKind::FullText && index.parts.iter().all(|part| part.expression.is_none()) {
        return Ok(());
    }
    let table = Table::of_columns(0, &name.database, &name.name, builder.columns.clone());
    let indexes = &builder.indexes;
    let is_taken = |name: &str| indexes.iter().any(|index| types::same_name(&index.name, name));
    let columns = functional_index::hidden_columns(binder, &table, index, &is_taken)?;
    builder.columns.extend(columns);
    Ok(())
}

/// The collation of the table's options, else the database's.
pub(super) fn table_collation(
    binder: &Binder<'_>,
    name: &TableName,
    options: &TableOptions,
) -> Result<Collation> {
    let written = collation::of_clauses(options.charset.as_deref(), options.collation.as_deref())?;
    if let Some(collation) = written {
        return Ok(collation);
    }
    Ok(binder.env.schema.require_database(&name.database)?.collation)
}

/// Gives the warnings of what some columns say, and the table's options behind them. MySQL gives them as it reads the
/// text, before it looks at any column.
pub(super) fn warn_of_text(
    binder: &Binder<'_>,
    columns: &[&ColumnDefinition],
    collation: Collation,
    options: &TableOptions,
) {
    for column in columns {
        // What is wrong with it is not reported: an earlier column's error is.
        let _ = column::column_type(binder, &column.name, &column.ty, collation);
    }
    collation::warn_of_clauses(binder, options.charset.as_deref(), options.collation.as_deref());
}

/// USING HASH is accepted and gives a BTREE, as with InnoDB.
pub(super) fn note_hash(binder: &Binder<'_>, index: &IndexDefinition) {
    if index.using == Some(IndexType::Hash) {
        binder.warn(Warning::note(
            ER_UNSUPPORTED_INDEX_ALGORITHM,
            "This storage engine does not support the HASH index algorithm, storage engine default was used instead.",
        ));
    }
}

/// DATA DIRECTORY and INDEX DIRECTORY.
pub(super) fn check_directories(binder: &Binder<'_>, options: &TableOptions, ignores: bool) -> Result<()> {
    for name in &options.directories {
        if !ignores {
            return Err(Error::not_supported(*name, "leave it out"));
        }
        let message = format!("<{name}> option ignored");
        binder.warn(Warning::warning(WARN_OPTION_IGNORED, message));
    }
    Ok(())
}

/// The columns that are written come first. One that is selected too has its place among those of the query, and
/// the definition that is written, except its comment and whether its collation was written.
///
/// # Errors
/// 1067 for the default of a selected column that `sql_mode` refuses.
fn with_selected(
    binder: &Binder<'_>,
    mut written: Vec<Column>,
    selected: Vec<Column>,
) -> Result<Vec<Column>> {
    let mut last = Vec::with_capacity(selected.len());
    for column in selected {
        let same = written
            .iter()
            .position(|w| types::same_name(&w.name, &column.name));
        last.push(match same {
            Some(at) => Column {
                comment: column.comment,
                explicit_collation: column.explicit_collation,
                ..written.remove(at)
            },
            None => {
                default_value::check_again(binder, &column)?;
                column
            }
        });
    }
    written.extend(last);
    Ok(written)
}

/// Whether the statement makes a column part of the primary key, other than after the column.
pub(super) fn is_primary(create: &CreateTable, column: &str) -> bool {
    create.elements.iter().any(|element| match element {
        TableElement::Index(index) if index.kind == IndexKind::Primary => {
            let mut parts = index.parts.iter();
            parts.any(|part| types::same_name(&part.column, column))
        }
        _ => false,
    })
}

pub(super) fn as_column(element: &TableElement) -> Option<&ColumnDefinition> {
    match element {
        TableElement::Column(column) => Some(column),
        TableElement::Index(_) | TableElement::ForeignKey(_) | TableElement::Check(_) => None,
    }
}

struct TableBuilder {
    columns: Vec<schema::model::Column>,
    indexes: Vec<Index>,
}

impl TableBuilder {
    /// PRIMARY KEY and UNIQUE in a column's definition.
    fn inline_indexes(&mut self, column: &ColumnDefinition) -> Result<()> {
        for definition in inline_indexes(column) {
            self.index(&definition, false)?;
        }
        Ok(())
    }

    /// `generated`: for a foreign key only.
    fn index(&mut self, definition: &IndexDefinition, generated: bool) -> Result<()> {
        let primary = definition.kind == IndexKind::Primary;
        if primary && definition.invisible {
            return Err(Error::new(3522, "A primary key index cannot be invisible"));
        }
        if primary && self.indexes.iter().any(|index| index.primary) {
            return Err(Error::new(
                errno::ER_MULTIPLE_PRI_KEY,
                "Multiple primary key defined",
            ));
        }
        let mut parts = Vec::with_capacity(definition.parts.len());
        for part in &definition.parts {
            let column = self
                .columns
                .iter()
                .position(|column| types::same_name(&column.name, &part.column))
                .ok_or_else(|| unknown_key_column(&part.column))?;
            parts.push(IndexPart {
                column,
                prefix: part
                    .prefix
                    .filter(|&prefix| !is_whole(&self.columns[column].ty, prefix)),
                descending: part.descending,
                stored_descending: part.descending && !primary,
            });
        }
        self.indexes.push(Index {
            id: 0,
            name: if primary {
                "PRIMARY".into()
            } else {
                definition.name.clone().unwrap_or_default()
            },
            parts,
            unique: primary || definition.kind == IndexKind::Unique,
            primary,
            comment: definition.comment.clone(),
            state: SchemaState::Public,
            invisible: definition.invisible,
            generated,
            using_btree: definition.using == Some(IndexType::BTree),
            full_text: full_text_index::of_definition(definition),
        });
        Ok(())
    }

    /// Checks that the columns can be parts of their indexes, which MySQL does before it converts their defaults.
    ///
    /// # Errors
    /// 1170, 3152, 1167; 1171 for a column of the primary key that is defined as NULL.
    fn check_parts(&self, definitions: &[&ColumnDefinition]) -> Result<()> {
        for index in self.indexes.iter().filter(|index| index.full_text.is_none()) {
            for part in &index.parts {
                let column = &self.columns[part.column];
                // [`functional_index`] has checked those of expressions.
                if !column.hidden {
                    check_key_part(column, part)?;
                }
                let mut definitions = definitions.iter();
                let says_null = definitions.any(|definition| {
                    column::says_null(definition) && types::same_name(&definition.name, &column.name)
                });
                if index.primary && says_null {
                    return Err(column::primary_with_null());
                }
            }
        }
        Ok(())
    }

    /// Shortens key parts that are too long for indexes that are not unique, outside strict mode.
    fn shorten_parts(&mut self, binder: &Binder<'_>, options: &CreateOptions) {
        if binder.env.sql_mode.strict {
            return;
        }
        let most = key_part_bytes_max(options);
        for index in self.indexes.iter_mut().filter(|index| !index.unique) {
            for part in &mut index.parts {
                let shortened = shortened_part(&self.columns[part.column], part.prefix, most);
                if let Some((prefix, warning)) = shortened {
                    part.prefix = Some(prefix);
                    binder.warn(warning);
                }
            }
        }
    }

    /// Makes the primary key the handle. One of a single integer needs no index of its own: its value is the
    /// row's key.
    fn finish(mut self) -> Result<(Self, Handle)> {
        let Some(position) = self.indexes.iter().position(|index| index.primary) else {
            return Ok((self, Handle::Hidden));
        };
        for part in &self.indexes[position].parts {
            let column = &mut self.columns[part.column];
            if column.is_virtual() {
                return Err(Error::new(
                    3106,
                    "'Defining a virtual generated column as primary key' is not supported for generated columns.",
                ));
            }
            if column.default == schema::model::Default::Null {
                return Err(Error::new(
                    errno::ER_INVALID_DEFAULT,
                    format!("Invalid default value for '{}'", column.name),
                ));
            }
            column.nullable = false;
        }
        if let [part] = self.indexes[position].parts.as_slice() {
            let ty = &self.columns[part.column].ty;
            // Handles are signed 64 bits: the upper half of BIGINT UNSIGNED would come first.
            let fits = ty.is_integer()
                && !matches!(ty.kind, TypeKind::Year | TypeKind::Bit)
                && !(ty.kind == TypeKind::BigInt && ty.unsigned);
            if fits && part.prefix.is_none() {
                let column = part.column;
                return Ok((self, Handle::Integer { column }));
            }
        }
        Ok((self, Handle::Clustered { index: position }))
    }
}

/// The indexes that a column's own attributes define.
pub fn inline_indexes(column: &ColumnDefinition) -> Vec<IndexDefinition> {
    let index = |kind| IndexDefinition {
        kind,
        name: None,
        parts: vec![syntax::ast::IndexPart {
            column: column.name.clone(),
            expression: None,
            prefix: None,
            descending: false,
            ordered: false,
        }],
        comment: String::new(),
        using: None,
        invisible: false,
        parser: None,
        words_of: Vec::new(),
    };
    let mut indexes = Vec::new();
    if column.primary {
        indexes.push(index(IndexKind::Primary));
    }
    if column.unique {
        indexes.push(index(IndexKind::Unique));
    }
    indexes
}

/// Error 1072.
fn unknown_key_column(name: &str) -> Error {
    Error::new(
        errno::ER_KEY_COLUMN_DOES_NOT_EXITS,
        format!("Key column '{name}' doesn't exist in table"),
    )
}

/// A prefix as long as the column means the whole column.
pub fn is_whole(ty: &types::SqlType, prefix: u32) -> bool {
    matches!(ty.kind, TypeKind::Char | TypeKind::VarChar) && prefix == ty.length
}

/// The options that are only shown.
pub(super) fn create_options(
    binder: &Binder<'_>,
    create: &CreateTable,
    name: &TableName,
) -> Result<CreateOptions> {
    let of = OptionsOf {
        table: &name.name,
        temporary: create.temporary,
        partitioned: create.partitioning.is_some(),
    };
    check_row_format(binder, &create.options, (&name.name, true))?;
    let mut options = CreateOptions::default();
    for (name, value) in shown_options(binder, &create.options, of)? {
        options.set(&name, &value);
    }
    Ok(options)
}
