//! Foreign keys: which columns of a table refer to which of another, what must be true of both, and the
//! tables that refer to a table.
//!
//! A key is part of the table that refers (the child) and names the table referred to (the parent), which
//! need not exist: with `foreign_key_checks = 0` the child may be created first.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use types::name::check_length;
use types::{Collation, Error, Result, SqlType, TypeKind, errno};

use crate::check_constraints::{generated_check_name, generated_check_number};
use crate::definition::NewForeignKey;
use crate::model::{
    Column, ForeignKey, Handle, Index, IndexPart, Reference, ReferenceAction, Schema, SchemaState, Table,
    TableName,
};

const ER_FK_NO_INDEX_PARENT: u16 = 1822;
const ER_FK_CANNOT_OPEN_PARENT: u16 = 1824;
const ER_FK_DUP_NAME: u16 = 1826;
const ER_FK_COLUMN_NOT_NULL: u16 = 1830;
const ER_WRONG_FK_OPTION_FOR_GENERATED_COLUMN: u16 = 3104;
const ER_FK_CANNOT_USE_VIRTUAL_COLUMN: u16 = 3733;
const ER_FK_NO_COLUMN_PARENT: u16 = 3734;
const ER_FK_INCOMPATIBLE_COLUMNS: u16 = 3780;

impl Schema {
    /// The keys that refer to a table, in the order of their names. The schema must not be changed any more.
    pub fn references_to(&self, database: &str, name: &str) -> &[Reference] {
        let index = self.references.0.get_or_init(|| {
            let mut index: HashMap<String, HashMap<String, Vec<Reference>>> = HashMap::new();
            for (parent, reference) in self.all_references() {
                let database = index.entry(parent.database).or_default();
                database.entry(parent.name).or_default().push(reference);
            }
            let lists = index.values_mut().flat_map(HashMap::values_mut);
            lists.for_each(|list| sort(list));
            index
        });
        let found = index.get(database).and_then(|tables| tables.get(name));
        found.map_or(&[], Vec::as_slice)
    }

    /// The same while the schema is being changed: a search through all tables.
    pub fn find_references_to(&self, database: &str, name: &str) -> Vec<Reference> {
        let is_parent = |parent: &TableName| parent.database == database && parent.name == name;
        let found = self.all_references().filter(|(parent, _)| is_parent(parent));
        let mut found: Vec<Reference> = found.map(|(_, reference)| reference).collect();
        sort(&mut found);
        found
    }

    fn all_references(&self) -> impl Iterator<Item = (TableName, Reference)> + '_ {
        self.tables().flat_map(|table| {
            let keys = table.foreign_keys.iter().enumerate();
            keys.map(|(key, definition)| {
                let child = Arc::clone(table);
                (definition.parent.clone(), Reference { child, key })
            })
        })
    }
}

/// InnoDB acts on keys in the order of their names, which begin with the database.
fn sort(references: &mut [Reference]) {
    references.sort_by(|a, b| {
        let name = |r: &Reference| {
            let key = r.key().map_or_else(String::new, |key| key.name.clone());
            (r.child.database.clone(), key)
        };
        name(a).cmp(&name(b))
    });
}

/// Where rows can be found by some columns: an index that begins with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyIndex {
    Primary,
    /// Position in [`Table::indexes`].
    Secondary(usize),
}

/// The columns as the first parts of a key, in their order.
fn leads(parts: &[IndexPart], columns: &[usize]) -> bool {
    parts.len() >= columns.len()
        && parts
            .iter()
            .zip(columns)
            .all(|(part, column)| part.column == *column && part.prefix.is_none())
}

impl KeyIndex {
    /// The index by which rows with given values of `columns` are found: a unique one if there is one.
    pub fn of(table: &Table, columns: &[usize]) -> Option<Self> {
        let primary = table.primary_parts();
        if !primary.is_empty() && leads(&primary, columns) && primary.len() == columns.len() {
            return Some(Self::Primary);
        }
        let usable = |index: &&(usize, &Index)| {
            index.1.state == SchemaState::Public && !index.1.primary && leads(&index.1.parts, columns)
        };
        let all: Vec<(usize, &Index)> = table.indexes.iter().enumerate().collect();
        let unique = all
            .iter()
            .filter(usable)
            .find(|(_, index)| index.unique && index.parts.len() == columns.len());
        if let Some((at, _)) = unique {
            return Some(Self::Secondary(*at));
        }
        if !primary.is_empty() && leads(&primary, columns) {
            return Some(Self::Primary);
        }
        all.iter().find(usable).map(|(at, _)| Self::Secondary(*at))
    }

    /// Whether at most one row has given values of all `columns`, and the index has no other parts.
    pub fn is_unique_on(self, table: &Table, columns: usize) -> bool {
        match self {
            Self::Primary => table.primary_parts().len() == columns,
            Self::Secondary(at) => table
                .indexes
                .get(at)
                .is_some_and(|index| index.unique && index.parts.len() == columns),
        }
    }
}

/// The unique index of a parent that a key refers to, for information_schema.
pub fn unique_index_named<'t>(parent: &'t Table, columns: &[String]) -> Option<&'t str> {
    let offsets = parent.offsets_of(columns)?;
    match KeyIndex::of(parent, &offsets)? {
        index if !index.is_unique_on(parent, offsets.len()) => None,
        KeyIndex::Primary => Some("PRIMARY"),
        KeyIndex::Secondary(at) => parent.indexes.get(at).map(|index| index.name.as_str()),
    }
}

/// Removes indexes that were made for foreign keys only, where another index serves as well; of equal ones
/// the last stays. MySQL does so without a word.
pub fn is_superfluous(indexes: &[(Vec<IndexPart>, bool)], primary: &[IndexPart], at: usize) -> bool {
    let Some((parts, true)) = indexes.get(at) else {
        return false;
    };
    let columns: Vec<usize> = parts.iter().map(|part| part.column).collect();
    // MySQL: only an index whose first parts ascend, as those of the generated one do, replaces it.
    let serves = |parts: &[IndexPart]| {
        leads(parts, &columns) && !parts.iter().take(columns.len()).any(|part| part.descending)
    };
    if serves(primary) {
        return true;
    }
    indexes.iter().enumerate().any(|(other, (longer, is_generated))| {
        other != at && serves(longer) && (!is_generated || longer.len() > parts.len() || other > at)
    })
}

/// The keys of a definition, with names. `existing`: the keys that the table has.
///
/// # Errors
/// 1072 for an unknown column, 1060 for one that is named twice, 1239, 1830.
pub fn new_keys(
    table: &Table,
    existing: &[ForeignKey],
    definitions: &[NewForeignKey],
) -> Result<Vec<ForeignKey>> {
    let prefix = generated_prefix(&table.name);
    let number = |key: &ForeignKey| key.name.strip_prefix(&prefix)?.parse::<u32>().ok();
    let mut next = existing.iter().filter_map(number).max().unwrap_or(0);
    let mut keys = Vec::with_capacity(definitions.len());
    for definition in definitions {
        let name = match &definition.name {
            Some(name) => name.clone(),
            None => {
                next += 1;
                format!("{prefix}{next}")
            }
        };
        keys.push(new_key(table, name, definition)?);
    }
    Ok(keys)
}

/// Error 1826.
fn duplicate_name(name: &str) -> Error {
    Error::new(
        ER_FK_DUP_NAME,
        format!("Duplicate foreign key constraint name '{name}'"),
    )
}

fn generated_prefix(table: &str) -> String {
    format!("{table}_ibfk_")
}

fn new_key(table: &Table, name: String, definition: &NewForeignKey) -> Result<ForeignKey> {
    let mut columns = Vec::with_capacity(definition.columns.len());
    for column in &definition.columns {
        let offset = table.column_offset(column).ok_or_else(|| {
            Error::new(
                errno::ER_KEY_COLUMN_DOES_NOT_EXITS,
                format!("Key column '{column}' doesn't exist in table"),
            )
        })?;
        columns.push(offset);
    }
    // A table that refers to itself spells its own columns.
    let is_own = definition.parent == TableName::of(table);
    let spelled = |name: &String| match table.column_offset(name).filter(|_| is_own) {
        Some(at) => table.columns[at].name.clone(),
        None => name.clone(),
    };
    let key = ForeignKey {
        name,
        columns,
        parent: definition.parent.clone(),
        parent_columns: definition.parent_columns.iter().map(spelled).collect(),
        on_delete: definition.on_delete,
        on_update: definition.on_update,
        validating: false,
    };
    check_child(table, &key)?;
    Ok(key)
}

/// # Errors
/// 3733 for a column that is not stored, 3104 if an action changes a generated column, 1830 for SET NULL
/// of a column that cannot be NULL.
pub fn check_child(table: &Table, key: &ForeignKey) -> Result<()> {
    for column in key.columns.iter().filter_map(|&at| table.columns.get(at)) {
        check_stored(column, key)?;
        if let Some(action) = column.generated.as_ref().and_then(|_| changing_action(key)) {
            return Err(Error::new(
                ER_WRONG_FK_OPTION_FOR_GENERATED_COLUMN,
                format!("Cannot define foreign key with {action} clause on a generated column."),
            ));
        }
    }
    let sets_null = [key.on_delete, key.on_update].contains(&ReferenceAction::SetNull);
    let mut columns = key.columns.iter().filter_map(|&at| table.columns.get(at));
    match columns.find(|column| sets_null && !column.nullable) {
        None => Ok(()),
        Some(column) => Err(Error::new(
            ER_FK_COLUMN_NOT_NULL,
            format!(
                "Column '{}' cannot be NOT NULL: needed in a foreign key constraint '{}' SET NULL",
                column.name, key.name
            ),
        )),
    }
}

/// # Errors
/// 3733
fn check_stored(column: &Column, key: &ForeignKey) -> Result<()> {
    if !column.is_virtual() {
        return Ok(());
    }
    Err(Error::new(
        ER_FK_CANNOT_USE_VIRTUAL_COLUMN,
        format!(
            "Foreign key '{}' uses virtual column '{}' which is not supported.",
            key.name, column.name
        ),
    ))
}

/// The action of a key that changes its columns, if one does.
pub fn changing_action(key: &ForeignKey) -> Option<&'static str> {
    match (key.on_update, key.on_delete) {
        (ReferenceAction::SetNull, _) => Some("ON UPDATE SET NULL"),
        (ReferenceAction::Cascade, _) => Some("ON UPDATE CASCADE"),
        (_, ReferenceAction::SetNull) => Some("ON DELETE SET NULL"),
        _ => None,
    }
}

/// Error 1824.
pub fn unknown_parent(key: &ForeignKey) -> Error {
    Error::new(
        ER_FK_CANNOT_OPEN_PARENT,
        format!("Failed to open the referenced table '{}'", key.parent.name),
    )
}

/// Whether the parent has what the key refers to.
///
/// # Errors
/// 3734, 3780 and 1822.
pub fn check_parent(child: &Table, key: &ForeignKey, parent: &Table, compares_charsets: bool) -> Result<()> {
    if parent.partitioning.is_some() || child.partitioning.is_some() {
        return Err(Error::new(
            1506,
            "Foreign keys are not yet supported in conjunction with partitioning",
        ));
    }
    let mut offsets = Vec::with_capacity(key.parent_columns.len());
    for name in &key.parent_columns {
        let offset = parent.column_offset(name).ok_or_else(|| {
            Error::new(
                ER_FK_NO_COLUMN_PARENT,
                format!(
                    "Failed to add the foreign key constraint. Missing column '{name}' for constraint '{}' in \
                     the referenced table '{}'",
                    key.name, parent.name
                ),
            )
        })?;
        offsets.push(offset);
    }
    for (&of_child, &of_parent) in key.columns.iter().zip(&offsets) {
        let (of_child, of_parent) = (&child.columns[of_child], &parent.columns[of_parent]);
        check_stored(of_parent, key)?;
        if !is_comparable(of_child, of_parent, compares_charsets) {
            return Err(Error::new(
                ER_FK_INCOMPATIBLE_COLUMNS,
                format!(
                    "Referencing column '{}' and referenced column '{}' in foreign key constraint '{}' are \
                     incompatible.",
                    of_child.name, of_parent.name, key.name
                ),
            ));
        }
    }
    if KeyIndex::of(parent, &offsets).is_none() {
        return Err(Error::new(
            ER_FK_NO_INDEX_PARENT,
            format!(
                "Failed to add the foreign key constraint. Missing index for constraint '{}' in the referenced \
                 table '{}'",
                key.name, parent.name
            ),
        ));
    }
    Ok(())
}

/// Whether values of both columns have the same keys in an index.
fn is_comparable(child: &Column, parent: &Column, compares_charsets: bool) -> bool {
    let (child, parent) = (&child.ty, &parent.ty);
    let is_char = |kind| matches!(kind, TypeKind::Char | TypeKind::VarChar);
    if is_char(child.kind) && is_char(parent.kind) {
        return child.is_binary() == parent.is_binary()
            && (!compares_charsets || child.collation == parent.collation);
    }
    // Members are compared by number, FLOATs by value.
    let by_number = |ty: &SqlType| match ty.kind {
        TypeKind::Enum(_) => Some(TypeKind::TinyInt),
        TypeKind::Set(_) => Some(TypeKind::BigInt),
        TypeKind::Float | TypeKind::Double => Some(ty.kind),
        _ => None,
    };
    if let (Some(child_kind), Some(parent_kind)) = (by_number(child), by_number(parent)) {
        return child_kind == parent_kind && child.unsigned == parent.unsigned;
    }
    child.kind == parent.kind
        && child.unsigned == parent.unsigned
        && child.decimals == parent.decimals
        && (!child.is_decimal() || child.length == parent.length)
}

/// Error 1826 if one of some new keys has the name of another key of its table.
pub fn check_distinct(existing: &[ForeignKey], new: &[ForeignKey]) -> Result<()> {
    let mut taken: HashSet<Vec<u8>> = existing.iter().map(|key| compared_name(&key.name)).collect();
    match new.iter().find(|key| !taken.insert(compared_name(&key.name))) {
        Some(key) => Err(duplicate_name(&key.name)),
        None => Ok(()),
    }
}

/// Error 1826 if two keys of a database have the same name.
///
/// `table`: what holds `keys` in place of the table with this id.
pub fn check_names(schema: &Schema, table: &Table) -> Result<()> {
    let others = schema.tables().filter(|other| {
        other.database == table.database && other.id != table.id && !other.foreign_keys.is_empty()
    });
    let mut taken: HashSet<Vec<u8>> = others
        .flat_map(|other| &other.foreign_keys)
        .map(|key| compared_name(&key.name))
        .collect();
    for key in &table.foreign_keys {
        if !taken.insert(compared_name(&key.name)) {
            return Err(duplicate_name(&key.name));
        }
    }
    Ok(())
}

/// The form in which MySQL compares the names of foreign keys: neither case nor accents count.
fn compared_name(name: &str) -> Vec<u8> {
    let mut key = Vec::new();
    Collation::Utf8mb3GeneralCi.sort_key(name.as_bytes(), &mut key);
    key
}

/// The new names of generated names, and of references to itself, when a table gets another name.
///
/// # Errors
/// 1059 if a new name is too long.
pub fn rename_child(table: &mut Table, from: &TableName, to: &TableName) -> Result<()> {
    for check in &table.checks {
        if let Some(number) = generated_check_number(&from.name, &check.name) {
            check_length(&generated_check_name(&to.name, number))?;
        }
    }
    let (old, new) = (generated_prefix(&from.name), generated_prefix(&to.name));
    for key in &mut table.foreign_keys {
        if let Some(number) = key
            .name
            .strip_prefix(&old)
            .filter(|rest| rest.parse::<u32>().is_ok())
        {
            key.name = format!("{new}{number}");
            check_length(&key.name)?;
        }
        if key.parent == *from {
            key.parent = to.clone();
        }
    }
    Ok(())
}

/// `CONSTRAINT ...` as errors 1451 and 1452 show it, which is also how SHOW CREATE TABLE does. `identifier`
/// quotes a name.
pub fn describe(child: &Table, key: &ForeignKey, identifier: &dyn Fn(&str) -> String) -> String {
    let list = |names: &mut dyn Iterator<Item = &str>| names.map(identifier).collect::<Vec<_>>().join(", ");
    let mut columns = key
        .columns
        .iter()
        .filter_map(|&at| child.columns.get(at))
        .map(|column| column.name.as_str());
    let parent = match key.parent.database == child.database {
        true => identifier(&key.parent.name),
        false => format!(
            "{}.{}",
            identifier(&key.parent.database),
            identifier(&key.parent.name)
        ),
    };
    let mut text = format!(
        "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {parent} ({})",
        identifier(&key.name),
        list(&mut columns),
        list(&mut key.parent_columns.iter().map(String::as_str)),
    );
    for (clause, action) in [("DELETE", key.on_delete), ("UPDATE", key.on_update)] {
        if action != ReferenceAction::NoAction {
            text.push_str(&format!(" ON {clause} {}", action.sql()));
        }
    }
    text
}

/// A name in backticks.
pub fn backticked(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Error 1451: rows of the child refer to a row that would be removed or changed.
pub fn row_is_referenced(child: &Table, key: &ForeignKey) -> Error {
    violated(
        errno::ER_ROW_IS_REFERENCED_2,
        "Cannot delete or update a parent row",
        child,
        key,
    )
}

/// Error 1452: a row of the child refers to a row that does not exist.
pub fn no_referenced_row(child: &Table, key: &ForeignKey) -> Error {
    violated(
        errno::ER_NO_REFERENCED_ROW_2,
        "Cannot add or update a child row",
        child,
        key,
    )
}

fn violated(code: u16, what: &str, child: &Table, key: &ForeignKey) -> Error {
    Error::new(
        code,
        format!(
            "{what}: a foreign key constraint fails ({}.{}, {})",
            backticked(&child.database),
            backticked(&child.name),
            describe(child, key, &backticked)
        ),
    )
}

/// Whether a key's child has the index that finds its rows.
pub fn has_child_index(table: &Table, key: &ForeignKey) -> bool {
    KeyIndex::of(table, &key.columns).is_some()
        || matches!(table.handle, Handle::Integer { column } if key.columns == [column])
}
