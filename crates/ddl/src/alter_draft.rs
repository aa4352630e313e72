//! A definition while an ALTER TABLE changes it: what becomes of its columns and indexes ([`crate::alter_plan`]).

use schema::default_value;
use schema::definition::{AlterChange, IndexColumn, Position};
use schema::foreign_key::is_superfluous;
use schema::indexes;
use schema::limits::{key_part_bytes_max, shortened_part};
use schema::model::{Column, Default, ForeignKey, Index, IndexPart, SchemaState, Table};
use schema::sharded_id;
use types::{Error, Result, SqlType, TypeKind, Warning};

use crate::alter_messages as messages;
use crate::altered::Altered;
use crate::context::DdlContext;
use crate::modify::{self, compatible};
use crate::primary_key;
use crate::rewrite::{Rewrite, rewrites};

pub struct DraftColumn {
    column: Column,
    /// Offset before the change; `None` for a new column.
    before: Option<usize>,
}

struct DraftIndex {
    index: Index,
    /// Its id before the change, which stays if the index is built again; `None` for a new index.
    before: Option<i64>,
    /// Column ids, since offsets change, and the parts before the change.
    parts: Vec<(i64, IndexPart)>,
}

struct DraftKey {
    key: ForeignKey,
    /// Ids of its columns.
    columns: Vec<i64>,
}

/// The columns and indexes of a table while its definition is changed.
pub struct Draft<'a> {
    foreign_keys: Vec<DraftKey>,
    base: &'a Table,
    ctx: &'a DdlContext,
    pub columns: Vec<DraftColumn>,
    indexes: Vec<DraftIndex>,
    max_column_id: i64,
    max_index_id: i64,
    only_if_empty: Option<Error>,
    rewrite: Option<Rewrite>,
    /// See [`Altered::recomputed`].
    recomputed: Vec<i64>,
    /// Names of columns that have a new meaning, so that an expression with the same text is a different one.
    pub renames: Vec<String>,
    warnings: Vec<Warning>,
}

fn renames_index(change: &AlterChange, name: &str) -> bool {
    matches!(change, AlterChange::RenameIndex { from, .. } if types::same_name(from, name))
}

/// Whether a key part can be such a prefix of a column.
fn takes_prefix(column: &Column, prefix: Option<u32>) -> bool {
    let ty = &column.ty;
    let longest = match ty.is_blob_or_text() {
        true => ty.max_bytes(),
        false => u64::from(ty.length),
    };
    let is_text = ty.is_string() && !ty.has_members() && ty.kind != TypeKind::Json;
    prefix.is_none_or(|prefix| is_text && u64::from(prefix) <= longest)
}

impl<'a> Draft<'a> {
    pub fn new(base: &'a Table, ctx: &'a DdlContext) -> Self {
        let columns = base
            .columns
            .iter()
            .enumerate()
            .map(|(at, column)| DraftColumn {
                column: column.clone(),
                before: Some(at),
            })
            .collect();
        let indexes = base
            .public_indexes()
            .cloned()
            .chain(base.integer_key())
            .map(|index| DraftIndex {
                before: Some(index.id),
                parts: index
                    .parts
                    .iter()
                    .filter_map(|p| Some((base.columns.get(p.column)?.id, *p)))
                    .collect(),
                index,
            })
            .collect();
        let foreign_keys = base.foreign_keys.iter().map(|key| DraftKey {
            columns: key.columns.iter().map(|&at| base.columns[at].id).collect(),
            key: key.clone(),
        });
        Self {
            foreign_keys: foreign_keys.collect(),
            base,
            ctx,
            columns,
            indexes,
            max_column_id: base.max_column_id,
            max_index_id: base.max_index_id,
            only_if_empty: None,
            rewrite: None,
            recomputed: Vec::new(),
            renames: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// The current position of a column, by its name before the change.
    fn find_before(&self, name: &str) -> Option<usize> {
        let before = self.base.column_offset(name)?;
        if self.base.columns[before].hidden {
            return None;
        }
        self.columns.iter().position(|c| c.before == Some(before))
    }

    fn require_before(&self, name: &str) -> Result<usize> {
        self.find_before(name)
            .ok_or_else(|| messages::unknown_column(name, self.base))
    }

    fn find_after(&self, name: &str) -> Option<usize> {
        let columns = || self.columns.iter().map(|c| c.column.name.as_str());
        let exact = columns().position(|column| column.eq_ignore_ascii_case(name));
        exact.or_else(|| columns().position(|column| types::same_name(column, name)))
    }

    /// Whether a column, by its offset before the change, is in the primary key, and the primary key stays.
    fn in_primary_key(&self, before: usize) -> bool {
        let id = self.base.columns.get(before).map(|column| column.id);
        let primary = self.indexes.iter().filter(|draft| draft.index.primary);
        primary
            .flat_map(|draft| &draft.parts)
            .any(|(part, _)| Some(*part) == id)
    }

    pub fn drop_primary_key(&mut self, changes: &[AlterChange]) -> Result<()> {
        let drops = changes.iter().any(|change| match change {
            AlterChange::DropPrimaryKey => true,
            AlterChange::DropIndex { name } => name.eq_ignore_ascii_case("PRIMARY"),
            _ => false,
        });
        if drops {
            let at = self.indexes.iter().position(|draft| draft.index.primary);
            self.indexes
                .remove(at.ok_or_else(|| messages::cannot_drop("PRIMARY"))?);
        }
        Ok(())
    }

    /// Removes foreign keys. Returns the other changes, with DROP CONSTRAINT of an index as DROP INDEX.
    pub fn drop_keys(&mut self, changes: &[AlterChange]) -> Result<Vec<AlterChange>> {
        let mut rest = Vec::with_capacity(changes.len());
        for change in changes {
            let name = match change {
                AlterChange::DropForeignKey { name } | AlterChange::DropConstraint { name } => name,
                other => {
                    rest.push(other.clone());
                    continue;
                }
            };
            let found = self
                .foreign_keys
                .iter()
                .position(|k| types::same_name(&k.key.name, name));
            let is_constraint = matches!(change, AlterChange::DropConstraint { .. });
            let is_unique = |index: &Index| index.unique && types::same_name(&index.name, name);
            match found {
                Some(at) => drop(self.foreign_keys.remove(at)),
                None if is_constraint && self.base.public_indexes().any(is_unique) => {
                    rest.push(AlterChange::DropIndex { name: name.clone() });
                }
                None if is_constraint => {
                    return Err(messages::no_constraint(name));
                }
                None => return Err(messages::cannot_drop(name)),
            }
        }
        Ok(rest)
    }

    /// Returns why a column cannot be dropped: 1828 before 1091. What is wrong with other columns comes before that.
    pub fn drop_columns(&mut self, changes: &[AlterChange]) -> Option<Error> {
        let (mut needed, mut absent) = (None, None);
        for change in changes {
            let AlterChange::DropColumn { name } = change else {
                continue;
            };
            let Some(at) = self.find_before(name) else {
                absent.get_or_insert_with(|| messages::cannot_drop(name));
                continue;
            };
            let id = self.columns.remove(at).column.id;
            if let Some(key) = self.foreign_keys.iter().find(|key| key.columns.contains(&id)) {
                needed.get_or_insert_with(|| messages::own_column_needed(name, &key.key));
            }
        }
        needed.or(absent)
    }

    pub fn change_columns(&mut self, changes: &[AlterChange]) -> Result<()> {
        for change in changes {
            match change {
                AlterChange::ModifyColumn { name, column, .. } => self.modify_column(name, column)?,
                AlterChange::RenameColumn { from, to } => {
                    if types::name::is_too_long(to) {
                        return Err(Error::wrong_column_name(to));
                    }
                    let at = self.require_before(from)?;
                    self.columns[at].column.name.clone_from(to);
                }
                AlterChange::SetDefault { column, default } => {
                    let at = self.require_before(column)?;
                    let column = &mut self.columns[at].column;
                    if column.generated.is_some() {
                        continue;
                    }
                    column.default = match default {
                        Some(default) => default.clone(),
                        None if column.nullable => Default::Dropped,
                        None => Default::None,
                    };
                    column.default = column.effective_default();
                }
                AlterChange::SetColumnVisibility { column, invisible } => {
                    let at = self.require_before(column)?;
                    self.columns[at].column.invisible = *invisible;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn modify_column(&mut self, name: &str, new: &Column) -> Result<()> {
        let at = self.require_before(name)?;
        let Some(before) = self.columns[at].before else {
            return Err(messages::unknown_column(name, self.base));
        };
        let old = &self.base.columns[before];
        let primary = self.in_primary_key(before);
        let indexed = primary
            || self
                .indexes
                .iter()
                .any(|i| i.parts.iter().any(|(id, _)| *id == old.id));
        let new = Column {
            id: old.id,
            state: old.state,
            original_default: old.original_default.clone(),
            default: new.effective_default(),
            nullable: new.nullable && !primary,
            ..new.clone()
        };
        modify::check_auto_random(self.base, before, &new)?;
        // A column's expression cannot have its own name.
        let renames = self.renames.iter().any(|other| !types::same_name(other, name));
        let regenerates = new.generated.is_some() && (renames || old.generated != new.generated);
        if let Some(why) = modify::regenerated(old, &new, regenerates)? {
            rewrites(&mut self.rewrite, why);
        }
        let changes_values = regenerates || (&old.generated, &old.ty) != (&new.generated, &new.ty);
        if changes_values {
            self.recompute_from(before, &new.ty)?;
        }
        if new.is_virtual() {
            if changes_values && self.is_indexed(new.id) {
                rewrites(&mut self.rewrite, Rewrite::IN_PLACE);
            }
        } else if let Some(why) = compatible(old, &new, indexed, &self.ctx.sql_mode) {
            rewrites(&mut self.rewrite, why);
        }
        self.columns[at].column = new;
        Ok(())
    }

    /// Whether an index has a column. Its entries would be wrong after a change of the column's values.
    fn is_indexed(&self, column: i64) -> bool {
        let mut parts = self.indexes.iter().flat_map(|index| &index.parts);
        parts.any(|(id, _)| *id == column)
    }

    /// The rows are rewritten for generated columns that depend on a column whose values change: for indexes of VIRTUAL
    /// columns, and for values of STORED ones.
    fn recompute_from(&mut self, changed: usize, ty: &SqlType) -> Result<()> {
        let base = self.base;
        let from = &base.columns[changed].ty;
        if modify::computes_the_same(from, ty) {
            return Ok(());
        }
        let Some(expressions) = planner::expressions(base)? else {
            return Ok(());
        };
        // MySQL does not copy the table for another character set that has the same texts.
        let why = match from.collation == ty.collation {
            true => Rewrite::TYPE,
            false => Rewrite::IN_PLACE,
        };
        for at in expressions.generated_from(&[changed]) {
            let column = &base.columns[at];
            if column.is_virtual() && self.is_indexed(column.id) {
                rewrites(&mut self.rewrite, why);
            } else if !column.is_virtual() && self.columns.iter().any(|c| c.before == Some(at)) {
                rewrites(&mut self.rewrite, Rewrite::BY_COPY);
                self.recomputed.push(column.id);
            }
        }
        Ok(())
    }

    /// Adds columns, and moves those for which MODIFY has a position, from left to right.
    pub fn place_columns(&mut self, changes: &[AlterChange]) -> Result<()> {
        for change in changes {
            let (column, position) = match change {
                AlterChange::AddColumn { column, position } => (self.new_column(column)?, position),
                AlterChange::ModifyColumn {
                    name,
                    position: Some(position),
                    ..
                } => {
                    let at = self.require_before(name)?;
                    (self.columns.remove(at), position)
                }
                _ => continue,
            };
            let at = match position {
                Position::Last => self.columns.len(),
                Position::First => 0,
                Position::After(name) => {
                    let before = self
                        .find_after(name)
                        .ok_or_else(|| messages::unknown_column(name, self.base))?;
                    before + 1
                }
            };
            self.columns.insert(at, column);
        }
        Ok(())
    }

    fn new_column(&mut self, column: &Column) -> Result<DraftColumn> {
        if column.auto_random.is_some() {
            return Err(sharded_id::invalid(format!(
                "unsupported add column '{}' constraint AUTO_RANDOM when altering '{}.{}'",
                column.name, self.base.database, self.base.name
            )));
        }
        self.max_column_id += 1;
        let original_default = default_value::for_existing_rows(column, self.ctx.now_us, &self.ctx.time_zone);
        self.require_empty_for(column);
        Ok(DraftColumn {
            column: Column {
                id: self.max_column_id,
                state: SchemaState::Public,
                default: column.effective_default(),
                original_default,
                ..column.clone()
            },
            before: None,
        })
    }

    /// Some new columns can be added only to an empty table.
    fn require_empty_for(&mut self, column: &Column) {
        if column.auto_increment {
            rewrites(&mut self.rewrite, Rewrite::NEW_IDS);
        }
        let mode = &self.ctx.sql_mode;
        let is_implicit =
            matches!(column.default, Default::None) && !column.nullable && column.generated.is_none();
        // MySQL does not check a TIMESTAMP.
        let is_date = matches!(column.ty.kind, TypeKind::Date | TypeKind::DateTime);
        if is_implicit && is_date && mode.strict && mode.no_zero_date {
            self.only_if_empty = Some(messages::zero_date(column));
        }
    }

    /// Where an index is, by its name before the change.
    fn find_index(&self, name: &str) -> Option<usize> {
        let key = self.base.integer_key();
        let mut before = self.base.public_indexes().chain(&key);
        let named = before.find(|index| types::same_name(&index.name, name))?.id;
        self.indexes.iter().position(|draft| draft.before == Some(named))
    }

    /// What is wrong with an index to drop comes before what is wrong with others.
    pub fn drop_indexes(&mut self, changes: &[AlterChange]) -> Result<()> {
        for change in changes {
            if let AlterChange::DropIndex { name } = change
                && !name.eq_ignore_ascii_case("PRIMARY")
            {
                let at = self.find_index(name).ok_or_else(|| messages::cannot_drop(name))?;
                self.indexes.remove(at);
            }
        }
        Ok(())
    }

    /// Renames indexes, and makes them visible or invisible. Indexes of which all columns are dropped are gone already.
    pub fn change_indexes(&mut self, changes: &[AlterChange]) -> Result<()> {
        for (number, change) in changes.iter().enumerate() {
            match change {
                AlterChange::RenameIndex { from, .. } if from.eq_ignore_ascii_case("PRIMARY") => {
                    return Err(messages::wrong_index_name(from));
                }
                AlterChange::RenameIndex { from, to } => {
                    let renamed_before = changes[..number].iter().any(|change| renames_index(change, from));
                    let at = self
                        .find_index(from)
                        .filter(|&at| !self.indexes[at].index.primary && !renamed_before)
                        .ok_or_else(|| messages::no_key(from, self.base))?;
                    let index = &mut self.indexes[at].index;
                    index.name.clone_from(to);
                    // A user has named it, so it stays if another index can be used instead.
                    index.generated = false;
                }
                AlterChange::SetIndexVisibility { index, invisible } => {
                    let at = self.find_index(index);
                    if *invisible && at.is_some_and(|at| self.indexes[at].index.primary) {
                        return Err(messages::primary_invisible());
                    }
                    let at = at.filter(|_| !changes.iter().any(|change| renames_index(change, index)));
                    let at = at.ok_or_else(|| messages::no_key(index, self.base))?;
                    self.indexes[at].index.invisible = *invisible;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Removes dropped columns from indexes. A column that is added again under the same name takes its
    /// place. An index that loses a column becomes a new one, which must be built.
    pub fn shrink_indexes(&mut self) {
        let ids: Vec<i64> = self.columns.iter().map(|c| c.column.id).collect();
        let added_again = |id: i64| {
            let before = self.base.columns.iter().find(|column| column.id == id)?;
            let mut added = self.columns.iter().filter(|c| c.before.is_none());
            let same = added.find(|c| types::same_name(&c.column.name, &before.name))?;
            Some(same.column.id)
        };
        for index in &mut self.indexes {
            let before = index.parts.clone();
            index.parts.retain_mut(|(id, _)| {
                if ids.contains(id) {
                    return true;
                }
                let again = added_again(*id);
                again.inspect(|again| *id = *again).is_some()
            });
            if index.parts != before && !index.parts.is_empty() {
                self.max_index_id += 1;
                index.index.id = self.max_index_id;
            }
        }
        self.indexes.retain(|i| !i.parts.is_empty());
    }

    /// Makes key parts whole whose column gets a type of which no such prefix can be a part: one that is no text, or one
    /// that is shorter. Such an index becomes a new one.
    pub fn lengthen_parts(&mut self) {
        for draft in &mut self.indexes {
            let mut is_changed = false;
            for (id, part) in &mut draft.parts {
                let column = self.columns.iter().find(|column| column.column.id == *id);
                if column.is_some_and(|column| !takes_prefix(&column.column, part.prefix)) {
                    part.prefix = None;
                    is_changed = true;
                }
            }
            if is_changed && draft.before == Some(draft.index.id) {
                self.max_index_id += 1;
                draft.index.id = self.max_index_id;
            }
        }
    }

    pub fn add_indexes(&mut self, changes: &[AlterChange]) -> Result<()> {
        for change in changes {
            let AlterChange::AddIndex {
                name,
                columns,
                unique,
                comment,
                invisible,
                generated,
                primary,
                using_btree,
                full_text,
            } = change
            else {
                continue;
            };
            if *primary && self.indexes.iter().any(|draft| draft.index.primary) {
                return Err(messages::several_primary_keys());
            }
            let parts = columns
                .iter()
                .map(|c| self.new_part(c, *primary))
                .collect::<Result<Vec<_>>>()?;
            self.max_index_id += 1;
            self.indexes.push(DraftIndex {
                before: None,
                index: Index {
                    id: self.max_index_id,
                    name: name.clone().unwrap_or_default(),
                    parts: Vec::new(),
                    unique: *unique,
                    primary: *primary,
                    comment: comment.clone(),
                    invisible: *invisible,
                    state: SchemaState::Public,
                    generated: *generated,
                    using_btree: *using_btree,
                    full_text: full_text.clone(),
                },
                parts,
            });
        }
        Ok(())
    }

    fn new_part(&self, part: &IndexColumn, primary: bool) -> Result<(i64, IndexPart)> {
        let at = self
            .find_after(&part.name)
            .ok_or_else(|| messages::no_key_column(&part.name))?;
        let made = IndexPart {
            column: at,
            prefix: part.prefix,
            descending: part.descending,
            stored_descending: part.descending && !primary,
        };
        Ok((self.columns[at].column.id, made))
    }

    /// Shortens key parts that are too long for indexes that are not unique, outside strict mode.
    pub fn shorten_parts(&mut self, changes: &[AlterChange]) {
        if self.ctx.sql_mode.strict {
            return;
        }
        let mut options = self.base.options.clone();
        for change in changes {
            if let AlterChange::Options(written) = change {
                written.iter().for_each(|(name, value)| options.set(name, value));
            }
        }
        let most = key_part_bytes_max(&options);
        let before = key_part_bytes_max(&self.base.options);
        // An index that was too long before, in a table of an earlier version, stays.
        let was_too_long = |id: i64, prefix: Option<u32>| {
            let column = self.base.columns.iter().find(|column| column.id == id);
            column.is_some_and(|column| shortened_part(column, prefix, before).is_some())
        };
        for draft in self.indexes.iter_mut().filter(|draft| !draft.index.unique) {
            let mut is_shortened = false;
            for (id, part) in &mut draft.parts {
                if draft.before.is_some() && was_too_long(*id, part.prefix) {
                    continue;
                }
                let column = self.columns.iter().find(|column| column.column.id == *id);
                if let Some((prefix, warning)) =
                    column.and_then(|column| shortened_part(&column.column, part.prefix, most))
                {
                    part.prefix = Some(prefix);
                    self.warnings.push(warning);
                    is_shortened = true;
                }
            }
            if is_shortened && draft.before == Some(draft.index.id) {
                self.max_index_id += 1;
                draft.index.id = self.max_index_id;
            }
        }
    }

    /// Removes the hidden columns of dropped indexes. New indexes have not got their hidden columns yet.
    pub fn drop_unused_expressions(&mut self) {
        let indexes = &self.indexes;
        let is_part = |id: i64| indexes.iter().flat_map(|i| &i.parts).any(|(part, _)| *part == id);
        self.columns
            .retain(|c| !c.column.hidden || c.before.is_none() || is_part(c.column.id));
    }

    /// Drops indexes that were created for foreign keys if another index can be used instead.
    fn drop_superfluous_indexes(&mut self) {
        if !self.indexes.iter().any(|draft| draft.index.generated) {
            return;
        }
        // The columns are only compared, so ids can be used instead of offsets.
        let as_parts = |draft: &DraftIndex| -> Vec<IndexPart> {
            let parts = draft.parts.iter();
            parts
                .map(|&(id, part)| IndexPart {
                    column: id as usize,
                    ..part
                })
                .collect()
        };
        let indexes: Vec<_> = self
            .indexes
            .iter()
            .map(|draft| (as_parts(draft), draft.index.generated))
            .collect();
        let primary = self.indexes.iter().find(|draft| draft.index.primary);
        let primary = primary.map(as_parts).unwrap_or_default();
        let mut at = 0;
        self.indexes.retain(|_| {
            let stays = !is_superfluous(&indexes, &primary, at);
            at += 1;
            stays
        });
    }

    pub fn finish(mut self) -> Result<Altered> {
        self.drop_superfluous_indexes();
        let offset = |id: i64| {
            self.columns
                .iter()
                .position(|c| c.column.id == id)
                .ok_or_else(|| Error::internal(format!("there is no column with id {id}")))
        };
        let mut new_indexes = Vec::new();
        let mut table = self.base.clone();
        table.indexes.clear();
        for draft in &self.indexes {
            let parts = draft
                .parts
                .iter()
                .map(|&(id, part)| {
                    Ok(IndexPart {
                        column: offset(id)?,
                        ..part
                    })
                })
                .collect::<Result<Vec<_>>>()?;
            if draft.index.id > self.base.max_index_id && !draft.index.primary {
                new_indexes.push(draft.index.id);
            }
            table.indexes.push(Index {
                parts,
                ..draft.index.clone()
            });
        }
        let dropped_indexes = self
            .base
            .indexes
            .iter()
            .map(|i| i.id)
            .filter(|id| !self.indexes.iter().any(|i| i.index.id == *id))
            .collect();
        let keys = self.foreign_keys.iter().map(|draft| {
            Ok(ForeignKey {
                columns: draft
                    .columns
                    .iter()
                    .map(|&id| offset(id))
                    .collect::<Result<_>>()?,
                ..draft.key.clone()
            })
        });
        table.foreign_keys = keys.collect::<Result<_>>()?;
        table.columns = self.columns.into_iter().map(|c| c.column).collect();
        table.max_column_id = self.max_column_id;
        table.max_index_id = self.max_index_id;
        primary_key::choose_handle(&mut table)?;
        // Sorting the indexes also updates the position of a clustered primary index.
        indexes::normalize(&mut table)?;
        // An added column that the primary key makes NOT NULL.
        let is_added = |column: &&mut Column| column.id > self.base.max_column_id;
        for column in table.columns.iter_mut().filter(is_added) {
            if column.original_default.is_none() && column.generated.is_none() && !column.makes_ids() {
                column.original_default =
                    default_value::for_existing_rows(column, self.ctx.now_us, &self.ctx.time_zone);
            }
        }
        if let Some(why) = primary_key::moves_rows(self.base, &table, &self.recomputed) {
            rewrites(&mut self.rewrite, why);
        }
        Ok(Altered {
            sql_mode: self.ctx.sql_mode,
            table,
            new_indexes,
            dropped_indexes,
            new_checks: Vec::new(),
            adds_checks: false,
            only_if_empty: self.only_if_empty,
            rewrite: self.rewrite,
            recomputed: self.recomputed,
            conversion: None,
            drops_misplaced: false,
            rename: None,
            new_keys: Vec::new(),
            keys_unchecked: !self.ctx.foreign_key_checks,
            auto_increment: None,
            auto_random_base: None,
            rows: 0,
            warnings: self.warnings,
        })
    }
}
