//! What a statement needs of the objects it names: privileges, and a metadata lock. One entry per object, and
//! part of the plan: which accounts may run the plan, and what must be locked for it, follows from it alone.
//!
//! The binder makes the entries as it resolves names. `session` checks the privileges of the account it runs
//! for, and `runner` takes the locks.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use schema::definition::TableName;
use schema::model::Table;
use schema::privilege::PrivilegeSet;
use schema::view::Definer;

use crate::logical::{ColumnId, LogicalStatement};

/// What a statement needs of one table, under one alias.
#[derive(Debug, Clone)]
pub struct ObjectAccess {
    pub table: Arc<Table>,
    /// What the statement calls the table: LOCK TABLES locks aliases (manual 13.3.6).
    pub alias: String,
    /// Those on the table. SELECT, INSERT and UPDATE may be missing on the table where each of `columns` has them.
    pub privileges: PrivilegeSet,
    /// What the statement does with columns of the table: offset and privileges.
    pub columns: Vec<(usize, PrivilegeSet)>,
    /// `None`: the server makes the table's rows, or it is a temporary table, and nothing is locked.
    pub lock: Option<LockMode>,
    /// The view whose query names the object; `None`: the statement does.
    pub through: Option<Arc<ThroughView>>,
    /// The statement does not name the table: foreign keys lead to it, and it needs no privileges.
    pub is_implied: bool,
}

/// How a statement comes to use an object that it does not name.
#[derive(Debug, PartialEq, Eq)]
pub struct ThroughView {
    /// The view that the statement names. Errors say no more.
    pub view: TableName,
    /// The account whose privileges are checked (SQL SECURITY DEFINER); `None`: that of the session.
    pub definer: Option<Definer>,
}

impl ObjectAccess {
    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.table, &other.table)
            && self.alias == other.alias
            && self.privileges == other.privileges
            && self.lock == other.lock
            && self.through == other.through
            && self.is_implied == other.is_implied
            && self.columns == other.columns
    }
}

/// The shared metadata lock of a transaction that uses a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockMode {
    Read,
    Write,
}

/// An entry, and the ids of the table's columns wherever the statement names the table.
#[derive(Debug)]
pub(crate) struct NotedAccess {
    access: ObjectAccess,
    columns: Vec<ColumnIds>,
}

/// The ids of a table's columns.
#[derive(Debug)]
pub(crate) enum ColumnIds {
    /// Those of a table that is read: the first one, the others follow.
    From(ColumnId),
    /// Those of a view.
    Listed(Vec<ColumnId>),
}

impl ColumnIds {
    fn of(&self, offset: usize) -> Option<ColumnId> {
        match self {
            Self::From(first) => Some(ColumnId(first.0 + offset)),
            Self::Listed(ids) => ids.get(offset).copied(),
        }
    }
}

impl NotedAccess {
    /// The columns that the statement reads need SELECT.
    fn finish(mut self, used: &BTreeSet<ColumnId>) -> ObjectAccess {
        let is_read = |offset: &usize| {
            let ids = self.columns.iter().filter_map(|ids| ids.of(*offset));
            ids.into_iter().any(|id| used.contains(&id))
        };
        let read: Vec<usize> = (0..self.access.table.columns.len()).filter(is_read).collect();
        if !read.is_empty() {
            self.access.privileges |= PrivilegeSet::SELECT;
        }
        let read = read.into_iter().map(|offset| (offset, PrivilegeSet::SELECT));
        self.access.columns.extend(read);
        self.access
    }
}

/// Whether others may use the table at the same time, or change it.
fn is_shared(table: &Table) -> bool {
    !table.is_virtual() && !table.is_temporary()
}

/// The entries of a statement that is being bound.
#[derive(Debug, Default)]
pub(crate) struct Accesses {
    all: RefCell<Vec<NotedAccess>>,
    /// The view whose query is being bound.
    through: Option<Arc<ThroughView>>,
}

impl Accesses {
    /// Those of a view's query.
    pub fn within(through: Arc<ThroughView>) -> Self {
        Self {
            all: RefCell::default(),
            through: Some(through),
        }
    }

    pub fn through(&self) -> Option<&Arc<ThroughView>> {
        self.through.as_ref()
    }

    /// A table that the statement names. `columns`: `None` where its columns have no ids yet
    /// ([`Self::columns_of`]).
    pub fn add(
        &self,
        table: &Arc<Table>,
        alias: &str,
        (privileges, lock): (PrivilegeSet, LockMode),
        columns: Option<ColumnIds>,
    ) {
        self.add_through(table, alias, (privileges, lock), self.through.clone(), columns);
    }

    pub fn add_through(
        &self,
        table: &Arc<Table>,
        alias: &str,
        (privileges, lock): (PrivilegeSet, LockMode),
        through: Option<Arc<ThroughView>>,
        columns: Option<ColumnIds>,
    ) {
        self.push(NotedAccess {
            access: ObjectAccess {
                table: Arc::clone(table),
                alias: alias.to_owned(),
                privileges,
                columns: Vec::new(),
                lock: is_shared(table).then_some(lock),
                through,
                is_implied: false,
            },
            columns: columns.into_iter().collect(),
        });
    }

    /// A table that foreign keys lead to.
    pub fn add_implied(&self, table: &Arc<Table>, lock: LockMode) {
        self.push(NotedAccess {
            access: ObjectAccess {
                table: Arc::clone(table),
                alias: table.name.clone(),
                privileges: PrivilegeSet::NONE,
                columns: Vec::new(),
                lock: is_shared(table).then_some(lock),
                through: None,
                is_implied: true,
            },
            columns: Vec::new(),
        });
    }

    /// Columns of a table that the statement writes, by offset.
    pub fn writes(&self, table: &Table, alias: &str, privilege: PrivilegeSet, columns: &[usize]) {
        let mut all = self.all.borrow_mut();
        let written = |noted: &&mut NotedAccess| {
            let access = &noted.access;
            access.table.id == table.id && access.alias == alias && access.lock == Some(LockMode::Write)
        };
        for noted in all.iter_mut().filter(written) {
            for column in columns {
                let need = (*column, privilege);
                if !noted.access.columns.contains(&need) {
                    noted.access.columns.push(need);
                }
            }
        }
    }

    /// The ids of the columns of a view that was added without.
    pub fn columns_of(&self, table: &Table, alias: &str, ids: Vec<ColumnId>) {
        let mut all = self.all.borrow_mut();
        let noted = all
            .iter_mut()
            .rev()
            .find(|noted| noted.access.table.id == table.id && noted.access.alias == alias);
        if let Some(noted) = noted {
            noted.columns.push(ColumnIds::Listed(ids));
        }
    }

    pub fn push(&self, noted: NotedAccess) {
        let mut all = self.all.borrow_mut();
        match all.iter_mut().find(|other| other.access.is_same(&noted.access)) {
            Some(other) => other.columns.extend(noted.columns),
            None => all.push(noted),
        }
    }

    pub fn len(&self) -> usize {
        self.all.borrow().len()
    }

    /// A table among those that were added after the first ones.
    pub fn find(&self, after: usize, is_wanted: impl Fn(&Table) -> bool) -> Option<Arc<Table>> {
        let all = self.all.borrow();
        let mut added = all[after..].iter().map(|noted| &noted.access.table);
        added.find(|table| is_wanted(table)).cloned()
    }

    pub fn take(&self) -> Vec<NotedAccess> {
        self.all.take()
    }

    /// The entries of a statement that is bound.
    pub fn of_statement(&self, statement: &LogicalStatement) -> Vec<ObjectAccess> {
        let mut used = BTreeSet::new();
        statement.walk_columns(&mut |id| {
            used.insert(id);
        });
        self.take().into_iter().map(|noted| noted.finish(&used)).collect()
    }
}
