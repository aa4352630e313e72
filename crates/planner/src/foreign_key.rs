//! The foreign keys that a write has to obey: what it checks, and which tables it may change besides its own.
//! It is made with the plan, so a statement on tables without keys does nothing for them.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use schema::foreign_key::KeyIndex;
use schema::model::{ForeignKey, Reference, ReferenceAction, Schema, Table};

use crate::execution_cache::ExecutionCache;

/// What a statement does to the rows of a table.
#[derive(Debug, Clone, Default)]
pub(crate) struct RowChanges {
    pub inserts: bool,
    pub deletes: bool,
    /// Offsets of the columns that an update may change.
    pub updates: BTreeSet<usize>,
}

impl RowChanges {
    pub fn deletion() -> Self {
        Self {
            deletes: true,
            ..Self::default()
        }
    }

    pub fn of_columns(columns: impl IntoIterator<Item = usize>) -> Self {
        Self {
            updates: columns.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Adds other changes; false if they were all there.
    fn add(&mut self, other: &Self) -> bool {
        let before = (self.deletes, self.updates.len());
        self.deletes |= other.deletes;
        self.updates.extend(&other.updates);
        before != (self.deletes, self.updates.len())
    }
}

/// The tables that a write reaches through foreign keys; the first is its own.
#[derive(Debug, Clone)]
pub struct ForeignKeyPlan {
    pub tables: Vec<KeyedTable>,
    pub execution_cache: ExecutionCache,
}

/// One of the tables, and the keys that a change of its rows concerns.
#[derive(Debug, Clone)]
pub struct KeyedTable {
    pub table: Arc<Table>,
    /// The keys in which it refers to others.
    pub parents: Vec<ParentKey>,
    /// The keys that refer to it, in the order in which they are acted on.
    pub children: Vec<ChildKey>,
    /// Whether a change of its rows can lead to other rows of the same table.
    pub is_cyclic: bool,
    /// Whether the write may change its rows. Those of a RESTRICT are only looked for.
    pub is_changed: bool,
}

/// A key whose parent must have a row for each new row of the child.
#[derive(Debug, Clone)]
pub struct ParentKey {
    /// Position in the child's foreign keys.
    pub key: usize,
    /// The child's columns, by offset.
    pub columns: Vec<usize>,
    /// `None`: the parent does not exist, so no row of the child may refer to it.
    pub parent: Option<ParentIndex>,
}

/// Where the rows of a parent are found.
#[derive(Debug, Clone)]
pub struct ParentIndex {
    pub table: Arc<Table>,
    /// By offset.
    pub columns: Vec<usize>,
    pub index: KeyIndex,
    /// At most one row has given values.
    pub is_unique: bool,
}

/// A key that refers to rows which are removed or changed.
#[derive(Debug, Clone)]
pub struct ChildKey {
    /// Position in [`ForeignKeyPlan::tables`].
    pub child: usize,
    /// Position in the child's foreign keys.
    pub key: usize,
    /// The parent's columns, by offset, and the child's.
    pub parent_columns: Vec<usize>,
    pub columns: Vec<usize>,
    /// How the child's rows are found.
    pub index: KeyIndex,
}

impl ForeignKeyPlan {
    pub fn key(&self, child: &ChildKey) -> Option<&ForeignKey> {
        self.tables.get(child.child)?.table.foreign_keys.get(child.key)
    }

    /// The columns of the statement's own table that its keys are about, by offset.
    pub fn columns_of_target(&self) -> impl Iterator<Item = usize> + '_ {
        let own = self.tables.iter().take(1);
        own.flat_map(|keyed| {
            let parents = keyed.parents.iter().flat_map(|key| &key.columns);
            let children = keyed.children.iter().flat_map(|key| &key.parent_columns);
            parents.chain(children).copied()
        })
    }

    /// Whether the write may change rows of a table through its keys.
    pub fn may_change(&self, table: i64) -> bool {
        self.tables
            .iter()
            .enumerate()
            .any(|(at, keyed)| keyed.table.id == table && (at > 0 || keyed.is_cyclic))
    }

    /// What an INSERT or REPLACE of the rows of a table has to obey that the schema does not have yet.
    pub fn of_new(schema: &Schema, table: &Arc<Table>, replaces: bool) -> Option<Self> {
        // The table may refer to itself.
        let mut schema = Schema::clone(schema);
        let database = Arc::make_mut(schema.databases.get_mut(&table.database)?);
        database.tables.insert(table.name.clone(), Arc::clone(table));
        let changes = RowChanges {
            inserts: true,
            deletes: replaces,
            ..RowChanges::default()
        };
        Self::of(&schema, table, &changes)
    }

    /// All tables that a write of a table may lead to, and whether it may change their rows. LOCK TABLES locks them with
    /// the table.
    pub fn tables_beside(schema: &Schema, table: &Arc<Table>) -> Vec<(Arc<Table>, bool)> {
        let changes = RowChanges {
            inserts: true,
            deletes: true,
            updates: (0..table.columns.len()).collect(),
        };
        let plan = Self::of(schema, table, &changes);
        plan.iter().flat_map(Self::led_to).collect()
    }

    /// The tables besides the statement's own that its keys lead to, and whether their rows may be changed.
    pub(crate) fn led_to(&self) -> impl Iterator<Item = (Arc<Table>, bool)> + '_ {
        self.tables.iter().enumerate().flat_map(|(at, keyed)| {
            let child = (at > 0).then(|| (Arc::clone(&keyed.table), keyed.is_changed));
            let parents = keyed.parents.iter().filter_map(|key| key.parent.as_ref());
            child
                .into_iter()
                .chain(parents.map(|parent| (Arc::clone(&parent.table), false)))
        })
    }

    /// What a write with these changes has to obey; `None`: nothing.
    pub(crate) fn of(schema: &Schema, table: &Arc<Table>, changes: &RowChanges) -> Option<Self> {
        let has_keys =
            !table.foreign_keys.is_empty() || !schema.references_to(&table.database, &table.name).is_empty();
        if !has_keys {
            return None;
        }
        let reached = reached(schema, table, changes);
        let mut tables: Vec<KeyedTable> = reached
            .iter()
            .map(|(table, changes)| KeyedTable {
                table: Arc::clone(table),
                parents: parents(schema, table, changes),
                children: children(schema, table, changes, &reached),
                is_cyclic: false,
                is_changed: changes.inserts || changes.deletes || !changes.updates.is_empty(),
            })
            .collect();
        for at in 0..tables.len() {
            tables[at].is_cyclic = leads_back(&tables, at);
        }
        let concerns = |keyed: &KeyedTable| !keyed.parents.is_empty() || !keyed.children.is_empty();
        tables.first().is_some_and(concerns).then(|| Self {
            tables,
            execution_cache: ExecutionCache::default(),
        })
    }
}

/// All tables whose rows may be read or changed as children, with the changes.
fn reached(schema: &Schema, table: &Arc<Table>, changes: &RowChanges) -> Vec<(Arc<Table>, RowChanges)> {
    let mut reached = vec![(Arc::clone(table), changes.clone())];
    let mut pending = VecDeque::from([0]);
    while let Some(at) = pending.pop_front() {
        let (parent, changes) = reached[at].clone();
        for reference in schema.references_to(&parent.database, &parent.name) {
            let Some((key, columns)) = acted_on(&parent, reference, &changes) else {
                continue;
            };
            let mut caused = RowChanges::default();
            if changes.deletes {
                match key.on_delete {
                    ReferenceAction::Cascade => caused.deletes = true,
                    ReferenceAction::SetNull => caused.updates.extend(&key.columns),
                    _ => {}
                }
            }
            let is_updated = columns.iter().any(|column| changes.updates.contains(column));
            if is_updated && key.on_update.writes() {
                caused.updates.extend(&key.columns);
            }
            if !caused.updates.is_empty() {
                caused.updates.extend(generated_columns(&reference.child));
            }
            let found = reached
                .iter()
                .position(|(known, _)| known.id == reference.child.id);
            match found {
                None => {
                    reached.push((Arc::clone(&reference.child), caused));
                    pending.push_back(reached.len() - 1);
                }
                Some(known) => {
                    if reached[known].1.add(&caused) {
                        pending.push_back(known);
                    }
                }
            }
        }
    }
    reached
}

/// The columns that may change with any other.
fn generated_columns(table: &Table) -> impl Iterator<Item = usize> + '_ {
    (0..table.columns.len()).filter(|&at| table.columns[at].generated.is_some())
}

/// The key of a reference, with the columns of the parent, if the changes of the parent's rows concern it.
fn acted_on<'s>(
    parent: &Table,
    reference: &'s Reference,
    changes: &RowChanges,
) -> Option<(&'s ForeignKey, Vec<usize>)> {
    let key = reference.key()?;
    let columns = parent.offsets_of(&key.parent_columns)?;
    let concerned = changes.deletes || columns.iter().any(|column| changes.updates.contains(column));
    concerned.then_some((key, columns))
}

fn children(
    schema: &Schema,
    table: &Table,
    changes: &RowChanges,
    reached: &[(Arc<Table>, RowChanges)],
) -> Vec<ChildKey> {
    let references = schema.references_to(&table.database, &table.name).iter();
    let mut children: Vec<ChildKey> = references
        .filter_map(|reference| {
            let (key, parent_columns) = acted_on(table, reference, changes)?;
            Some(ChildKey {
                child: reached
                    .iter()
                    .position(|(known, _)| known.id == reference.child.id)?,
                key: reference.key,
                parent_columns,
                columns: key.columns.clone(),
                index: KeyIndex::of(&reference.child, &key.columns)?,
            })
        })
        .collect();
    children.sort_by_key(|child| index_position(table, &child.parent_columns));
    children
}

/// InnoDB checks the keys of an index as it changes the index: those of the primary key first.
fn index_position(table: &Table, columns: &[usize]) -> usize {
    match KeyIndex::of(table, columns) {
        Some(KeyIndex::Primary) => 0,
        Some(KeyIndex::Secondary(at)) => at + 1,
        None => usize::MAX,
    }
}

fn parents(schema: &Schema, table: &Table, changes: &RowChanges) -> Vec<ParentKey> {
    let keys = table.foreign_keys.iter().enumerate();
    let keys = keys.filter_map(|(position, key)| {
        let concerned = changes.inserts || key.columns.iter().any(|column| changes.updates.contains(column));
        concerned.then(|| ParentKey {
            key: position,
            columns: key.columns.clone(),
            parent: parent_index(schema, key),
        })
    });
    let mut keys: Vec<ParentKey> = keys.collect();
    keys.sort_by_key(|key| index_position(table, &key.columns));
    keys
}

fn parent_index(schema: &Schema, key: &ForeignKey) -> Option<ParentIndex> {
    let table = schema.table(&key.parent.database, &key.parent.name)?;
    let columns = table.offsets_of(&key.parent_columns)?;
    let index = KeyIndex::of(table, &columns)?;
    Some(ParentIndex {
        table: Arc::clone(table),
        index,
        is_unique: index.is_unique_on(table, columns.len()),
        columns,
    })
}

/// Whether a table is among the children of its children.
fn leads_back(tables: &[KeyedTable], from: usize) -> bool {
    let mut seen = vec![false; tables.len()];
    let mut pending: Vec<usize> = vec![from];
    while let Some(at) = pending.pop() {
        for child in &tables[at].children {
            if child.child == from {
                return true;
            }
            if !std::mem::replace(&mut seen[child.child], true) {
                pending.push(child.child);
            }
        }
    }
    false
}
