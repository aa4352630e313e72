//! What happens to the rows that refer to removed or changed ones, and then to those that refer to these.

use kv::Transaction;
use planner::foreign_key::ChildKey;
use schema::foreign_key::row_is_referenced;
use schema::model::{ReferenceAction, Table};
use types::{Error, Result, Value, errno};

use super::children::{Purpose, Referring, Search};
use super::layout::{no_such_table, picked};
use super::state::ForeignKeys;
use crate::dml::assign::NullRule;
use crate::dml::computed::Computed;
use crate::dml::image::{Image, ImageMaker, Row};
use crate::dml::writer::{Writer, unique_keys};

/// InnoDB's limit (manual, 13.1.20.5).
const LEVELS_MAX: usize = 15;
const ER_FK_DEPTH_EXCEEDED: u16 = 3008;

/// The way from the statement's table to the one that is acted on.
#[derive(Default)]
pub(super) struct Chain {
    levels: usize,
    /// The tables on the way whose rows are updated: an update of one of them again is refused, as InnoDB
    /// does.
    updated: Vec<usize>,
}

impl Chain {
    pub fn of_update(table: usize) -> Self {
        Self {
            levels: 0,
            updated: vec![table],
        }
    }

    /// The way with one more level.
    fn next(&self) -> Result<Self> {
        // The statement's own table is the first level.
        if self.levels + 1 == LEVELS_MAX {
            return Err(Error::new(
                ER_FK_DEPTH_EXCEEDED,
                format!("Foreign key cascade delete/update exceeds max depth of {LEVELS_MAX}."),
            ));
        }
        Ok(Self {
            levels: self.levels + 1,
            updated: self.updated.clone(),
        })
    }
}

/// A change of a row, with its key.
struct Change {
    key: Vec<u8>,
    old: Row,
    new: Row,
}

impl<'p> ForeignKeys<'p> {
    pub(super) fn act_on_removed(
        &mut self,
        table: usize,
        rows: &[Row],
        chain: &mut Chain,
        txn: &mut Transaction,
    ) -> Result<()> {
        let (plan, layout) = (self.plan, self.layout);
        let keyed = plan.tables.get(table).ok_or_else(no_such_table)?;
        for (key, finder) in keyed.children.iter().zip(&layout.table(table)?.children) {
            let action = plan.key(key).ok_or_else(no_such_table)?.on_delete;
            let parents: Vec<(usize, Vec<Value>)> = rows
                .iter()
                .enumerate()
                .filter_map(|(at, row)| Some((at, picked(row, &key.parent_columns)?)))
                .collect();
            // InnoDB counts the row itself among those that refer to it.
            let refers_to_itself = |row: &Row| {
                let parent = picked(row, &key.parent_columns);
                parent.is_some() && parent == picked(row, &key.columns)
            };
            if key.child == table && !action.writes() && rows.iter().any(refers_to_itself) {
                return Err(self.is_referenced(key));
            }
            let found = Search::new(self, finder, purpose_of(action)).rows_of(&parents, txn)?;
            if found.is_empty() {
                continue;
            }
            match action {
                ReferenceAction::Cascade => self.remove(key.child, found, &mut chain.next()?, txn)?,
                ReferenceAction::SetNull if !chain.updated.contains(&key.child) => {
                    let changes = found.into_iter().map(|referring| changed(key, referring, None));
                    self.change(key, (table, rows), changes.collect(), &mut chain.next()?, txn)?;
                }
                _ => return Err(self.is_referenced(key)),
            }
        }
        Ok(())
    }

    pub(super) fn act_on_changed(
        &mut self,
        table: usize,
        rows: &[(Row, Row)],
        chain: &mut Chain,
        txn: &mut Transaction,
    ) -> Result<()> {
        let (plan, layout) = (self.plan, self.layout);
        let keyed = plan.tables.get(table).ok_or_else(no_such_table)?;
        for (key, finder) in keyed.children.iter().zip(&layout.table(table)?.children) {
            let same = |(old, new): &(Row, Row)| {
                let columns = &key.parent_columns;
                columns.iter().all(|&column| old.get(column) == new.get(column))
            };
            let parents: Vec<(usize, Vec<Value>)> = rows
                .iter()
                .enumerate()
                .filter(|(_, change)| !same(change))
                .filter_map(|(at, (old, _))| Some((at, picked(old, &key.parent_columns)?)))
                .collect();
            if parents.is_empty() {
                continue;
            }
            let action = plan.key(key).ok_or_else(no_such_table)?.on_update;
            let found = Search::new(self, finder, purpose_of(action)).rows_of(&parents, txn)?;
            if found.is_empty() {
                continue;
            }
            if !action.writes() || chain.updated.contains(&key.child) {
                return Err(self.is_referenced(key));
            }
            let changes = found.into_iter().map(|referring| {
                let parent = rows.get(referring.parent).map(|(_, new)| new);
                let parent = parent.filter(|_| action == ReferenceAction::Cascade);
                changed(key, referring, parent)
            });
            let changes: Vec<Change> = changes.collect();
            let child = plan.tables.get(key.child).ok_or_else(no_such_table)?;
            if changes
                .iter()
                .any(|change| !fits(&child.table, &key.columns, &change.new))
            {
                return Err(self.is_referenced(key));
            }
            let parents: Vec<Row> = rows.iter().map(|(_, new)| new.clone()).collect();
            self.change(key, (table, &parents), changes, &mut chain.next()?, txn)?;
        }
        Ok(())
    }

    /// Error 1451.
    fn is_referenced(&self, key: &ChildKey) -> Error {
        let child = self.plan.tables.get(key.child);
        match (child, self.plan.key(key)) {
            (Some(child), Some(key)) => row_is_referenced(&child.table, key),
            _ => no_such_table(),
        }
    }

    /// Removes locked rows, and acts on what refers to them.
    fn remove(
        &mut self,
        table: usize,
        rows: Vec<Referring>,
        chain: &mut Chain,
        txn: &mut Transaction,
    ) -> Result<()> {
        let (plan, layout) = (self.plan, self.layout);
        let keyed = plan.tables.get(table).ok_or_else(no_such_table)?;
        let maker = ImageMaker::new(&keyed.table, &layout.table(table)?.codec, None, self.ctx.eval)?;
        if !keyed.is_cyclic {
            let rows = self.remove_rows(&maker, rows, txn)?;
            return self.act_on_removed(table, &rows, chain, txn);
        }
        for row in rows {
            // What was done for the rows before may have removed or changed this one.
            let current = match txn.writes().get(&row.key) {
                Some(None) => continue,
                Some(Some(stored)) => maker.decode(&row.key, stored)?,
                None => row.row.clone(),
            };
            let row = Referring { row: current, ..row };
            let rows = self.remove_rows(&maker, vec![row], txn)?;
            self.act_on_removed(table, &rows, chain, txn)?;
        }
        Ok(())
    }

    fn remove_rows(
        &self,
        maker: &ImageMaker<'_>,
        rows: Vec<Referring>,
        txn: &mut Transaction,
    ) -> Result<Vec<Row>> {
        let mut writer = Writer::new(txn, maker, self.ctx);
        let images = rows.iter().map(|row| {
            let handle = maker.handle(&row.key)?;
            maker.image(&row.row, Some(&handle), maker.secondary())
        });
        let images = images.collect::<Result<Vec<_>>>()?;
        self.memory.grow(images.iter().map(Image::size_bytes).sum())?;
        let entries = images.iter().flat_map(|image| unique_keys(image).skip(1));
        let entries: Vec<Vec<u8>> = entries.map(<[u8]>::to_vec).collect();
        self.lock_if_optimistic(&entries, writer.txn)?;
        writer.lock(entries.into_iter())?;
        writer.find_outdated(images.iter().map(|image| image.key.as_slice()))?;
        for image in images {
            writer.delete(image)?;
        }
        Ok(rows.into_iter().map(|row| row.row).collect())
    }

    /// Changes locked rows for `key`, and acts on what refers to them. `parent`: the table that the key
    /// refers to, and its rows.
    fn change(
        &mut self,
        key: &ChildKey,
        parent: (usize, &[Row]),
        mut changes: Vec<Change>,
        chain: &mut Chain,
        txn: &mut Transaction,
    ) -> Result<()> {
        let (plan, layout) = (self.plan, self.layout);
        let keyed = plan.tables.get(key.child).ok_or_else(no_such_table)?;
        let maker = ImageMaker::new(&keyed.table, &layout.table(key.child)?.codec, None, self.ctx.eval)?;
        let moves = keyed
            .table
            .primary_parts()
            .iter()
            .any(|part| key.columns.contains(&part.column));
        if let Some(computed) = Computed::of_new_rows(&keyed.table)? {
            for change in &mut changes {
                computed.generate(&mut change.new, 1, NullRule::Error, self.ctx.eval)?;
                computed.admits(&change.new, false, self.ctx.eval)?;
            }
        }
        let pairs = changes.iter().map(|change| (Some(&change.old), &change.new));
        self.lock_parents_of(key.child, pairs, txn)?;
        let mut done = Vec::with_capacity(changes.len());
        for Change { key: row, old, new } in changes {
            self.check_parents_of(key.child, (Some(&old), &new), Some(key.key), txn)?;
            let handle = maker.handle(&row)?;
            let before = maker.image(&old, Some(&handle), maker.secondary())?;
            let after = maker.image(&new, Some(&handle).filter(|_| !moves), maker.secondary())?;
            let mut writer = Writer::new(txn, &maker, self.ctx);
            if before.entries != after.entries || moves {
                let keys = unique_keys(&before).chain(unique_keys(&after));
                let keys: Vec<Vec<u8>> = keys.map(<[u8]>::to_vec).collect();
                self.lock_if_optimistic(&keys, writer.txn)?;
                writer.lock(keys.into_iter())?;
            }
            if let Some(conflict) = writer.conflict(&after, Some(&before))? {
                let index = crate::dml::duplicate::name(&keyed.table, conflict.key);
                return Err(self.leads_to_duplicate(key, parent, &new, &index));
            }
            writer.update(before, after, maker.value(&new)?)?;
            done.push((old, new));
        }
        chain.updated.push(key.child);
        self.act_on_changed(key.child, &done, chain, txn)
    }

    /// Error 1761.
    fn leads_to_duplicate(
        &self,
        key: &ChildKey,
        (parent, rows): (usize, &[Row]),
        child: &Row,
        index: &str,
    ) -> Error {
        let name = |at: usize| self.plan.tables.get(at).map_or("", |keyed| &keyed.table.name);
        let values = picked(child, &key.columns);
        let row = rows.iter().find(|row| picked(row, &key.parent_columns) == values);
        let record = row.map_or_else(String::new, |row| self.record(parent, row));
        Error::new(
            errno::ER_FOREIGN_DUPLICATE_KEY_WITH_CHILD_INFO,
            format!(
                "Foreign key constraint for table '{}', record '{record}' would lead to a duplicate entry in \
                 table '{}', key '{index}'",
                name(parent),
                name(key.child),
            ),
        )
    }

    /// The primary key of a row, as messages show it.
    fn record(&self, table: usize, row: &Row) -> String {
        let Some(keyed) = self.plan.tables.get(table) else {
            return String::new();
        };
        let parts = keyed.table.primary_parts();
        let texts = parts.iter().filter_map(|part| {
            let column = keyed.table.columns.get(part.column)?;
            Some(row.get(part.column)?.display_text(&column.ty))
        });
        texts.collect::<Vec<_>>().join("-")
    }
}

/// Whether the child's columns can hold what the parent's do.
fn fits(child: &Table, columns: &[usize], row: &Row) -> bool {
    columns.iter().all(|&at| {
        let (Some(column), Some(value)) = (child.columns.get(at), row.get(at)) else {
            return false;
        };
        match value {
            Value::Null => column.nullable,
            Value::String(text) => text.chars().count() <= column.ty.length as usize,
            Value::Bytes(bytes) => bytes.len() <= column.ty.length as usize,
            _ => true,
        }
    })
}

fn purpose_of(action: ReferenceAction) -> Purpose {
    match action.writes() {
        true => Purpose::Change,
        false => Purpose::Exist,
    }
}

/// The row with the values of its changed parent, or with NULLs.
fn changed(key: &ChildKey, referring: Referring, parent: Option<&Row>) -> Change {
    let mut new = referring.row.clone();
    for (&own, &of_parent) in key.columns.iter().zip(&key.parent_columns) {
        if let Some(cell) = new.get_mut(own) {
            *cell = parent
                .and_then(|row| row.get(of_parent))
                .cloned()
                .unwrap_or(Value::Null);
        }
    }
    Change {
        key: referring.key,
        old: referring.row,
        new,
    }
}
