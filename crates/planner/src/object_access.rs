//! What a statement needs of the objects it names: privileges, and a metadata lock. One entry per object, and
//! part of the plan: which accounts may run the plan, and what must be locked for it, follows from it alone.
//!
//! The binder makes the entries as it resolves names. `session` checks the privileges of the account it runs
//! for, and `runner` takes the locks.

use std::cell::RefCell;
use std::ops::BitOr;
use std::sync::Arc;

use schema::definition::TableName;
use schema::model::Table;
use schema::view::Definer;

/// What a statement needs of one table, under one alias.
///
/// Privileges on single columns would be a list beside `privileges`, which is about the whole table.
#[derive(Debug, Clone)]
pub struct ObjectAccess {
    pub table: Arc<Table>,
    /// What the statement calls the table: LOCK TABLES locks aliases (manual 13.3.6).
    pub alias: String,
    pub privileges: PrivilegeSet,
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
    }
}

/// The shared metadata lock of a transaction that uses a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockMode {
    Read,
    Write,
}

/// Privileges of a table (manual 6.2.2, "Privileges Provided by MySQL").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrivilegeSet(u32);

impl PrivilegeSet {
    pub const SELECT: Self = Self(1);
    pub const INSERT: Self = Self(1 << 1);
    pub const UPDATE: Self = Self(1 << 2);
    pub const DELETE: Self = Self(1 << 3);

    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for PrivilegeSet {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Whether others may use the table at the same time, or change it.
fn is_shared(table: &Table) -> bool {
    !table.is_virtual() && !table.is_temporary()
}

/// The entries of a statement that is being bound.
#[derive(Debug, Default)]
pub(crate) struct Accesses {
    all: RefCell<Vec<ObjectAccess>>,
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

    pub fn add(&self, table: &Arc<Table>, alias: &str, privileges: PrivilegeSet, lock: LockMode) {
        self.add_through(table, alias, (privileges, lock), self.through.clone());
    }

    pub fn add_through(
        &self,
        table: &Arc<Table>,
        alias: &str,
        (privileges, lock): (PrivilegeSet, LockMode),
        through: Option<Arc<ThroughView>>,
    ) {
        self.push(ObjectAccess {
            table: Arc::clone(table),
            alias: alias.to_owned(),
            privileges,
            lock: is_shared(table).then_some(lock),
            through,
            is_implied: false,
        });
    }

    /// A table that foreign keys lead to.
    pub fn add_implied(&self, table: &Arc<Table>, lock: LockMode) {
        self.push(ObjectAccess {
            table: Arc::clone(table),
            alias: table.name.clone(),
            privileges: PrivilegeSet(0),
            lock: is_shared(table).then_some(lock),
            through: None,
            is_implied: true,
        });
    }

    pub fn push(&self, access: ObjectAccess) {
        let mut all = self.all.borrow_mut();
        if !all.iter().any(|other| other.is_same(&access)) {
            all.push(access);
        }
    }

    pub fn len(&self) -> usize {
        self.all.borrow().len()
    }

    /// A table among those that were added after the first ones.
    pub fn find(&self, after: usize, is_wanted: impl Fn(&Table) -> bool) -> Option<Arc<Table>> {
        let all = self.all.borrow();
        let mut added = all[after..].iter().map(|access| &access.table);
        added.find(|table| is_wanted(table)).cloned()
    }

    pub fn take(&self) -> Vec<ObjectAccess> {
        self.all.take()
    }
}
