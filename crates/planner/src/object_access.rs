//! The privileges and metadata locks that a statement needs, one entry per object. They are part of the plan,
//! and decide alone which accounts may run it and what must be locked for it.
//!
//! The binder makes the entries as it resolves names. `session` checks the privileges of the account it runs
//! for, and `runner` takes the locks.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use schema::definition::TableName;
use schema::model::Table;
use schema::privilege::{Privilege, PrivilegeSet};
use schema::view::Definer;

use crate::logical::{ColumnId, LogicalStatement};

/// What a statement needs of one table, under one alias.
#[derive(Debug, Clone)]
pub struct ObjectAccess {
    pub table: Arc<Table>,
    /// The alias of the table in the statement: LOCK TABLES locks aliases (manual 13.3.6).
    pub alias: String,
    pub needs: TableNeeds,
    /// What the statement does with columns of the table: offset and privileges. Each is needed on the table or
    /// on the column.
    pub columns: Vec<(usize, PrivilegeSet)>,
    /// All that is needed of the table and its columns, together. Set when the statement is bound.
    pub everything: PrivilegeSet,
    /// Those that it needs on all columns because it lists none: `SELECT *`, INSERT without a list.
    pub on_all_columns: PrivilegeSet,
    /// `None`: the server makes the table's rows, or it is a temporary table, and nothing is locked.
    pub lock: Option<LockMode>,
    /// The view whose query names the object; `None`: the statement does.
    pub through: Option<Arc<ThroughView>>,
    /// The statement does not name the table: foreign keys lead to it, and it needs no privileges.
    pub is_implied: bool,
}

/// What a statement needs on a table, or on one of its columns at least, before anything else is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TableNeeds {
    pub all: PrivilegeSet,
    /// Besides, one of several.
    pub one_of: Option<OneOf>,
}

/// Privileges of which one is enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OneOf {
    /// SELECT ... FOR UPDATE.
    Locks,
    /// A table of an UPDATE of several.
    ReadsOrUpdates,
    /// A table that the query of a new view names.
    OfViews,
}

impl OneOf {
    pub fn privileges(self) -> PrivilegeSet {
        match self {
            Self::Locks => PrivilegeSet::of(&[Privilege::Update, Privilege::Delete, Privilege::LockTables]),
            Self::ReadsOrUpdates => PrivilegeSet::SELECT | PrivilegeSet::UPDATE,
            Self::OfViews => {
                PrivilegeSet::SELECT | PrivilegeSet::INSERT | PrivilegeSet::UPDATE | PrivilegeSet::DELETE
            }
        }
    }

    /// Its name in error 1142.
    pub fn command(self) -> &'static str {
        match self {
            Self::Locks => "SELECT with locking clause",
            Self::ReadsOrUpdates => "SELECT",
            Self::OfViews => "ANY",
        }
    }
}

impl From<PrivilegeSet> for TableNeeds {
    fn from(all: PrivilegeSet) -> Self {
        Self { all, one_of: None }
    }
}

impl From<OneOf> for TableNeeds {
    fn from(one: OneOf) -> Self {
        Self {
            all: PrivilegeSet::NONE,
            one_of: Some(one),
        }
    }
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
            && self.needs == other.needs
            && self.on_all_columns == other.on_all_columns
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
    /// What is named in the statement, or in the view's query, that names the object; `None` while it is bound.
    named: Option<Rc<NamedColumns>>,
}

/// Columns that a statement names, or the query of a view.
#[derive(Debug, Default)]
struct NamedColumns {
    /// With the order in which they are named first.
    all: BTreeMap<ColumnId, usize>,
    /// Those that `*` stands for.
    by_star: BTreeSet<ColumnId>,
    /// Those that are read whether or not the plan uses them.
    read: BTreeSet<ColumnId>,
}

impl NamedColumns {
    fn of(names: Vec<NamedColumn>) -> Self {
        let mut named = Self::default();
        for (at, name) in names.into_iter().enumerate() {
            named.all.entry(name.id).or_insert(at);
            if name.how != NamedHow::IfUsed {
                named.read.insert(name.id);
            }
            if name.how == NamedHow::ByStar {
                named.by_star.insert(name.id);
            }
        }
        named
    }
}

/// A column, where a statement names it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NamedColumn {
    id: ColumnId,
    how: NamedHow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NamedHow {
    Directly,
    /// In a derived table or common table expression that MySQL merges into the query around it: what nothing uses is
    /// not read.
    IfUsed,
    ByStar,
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
    /// The columns that the statement reads need SELECT. A view's columns have the ids of those of its tables, and
    /// its query may use them where the statement does not: of a view, those count that the statement names.
    fn finish(mut self, used: &BTreeSet<ColumnId>) -> ObjectAccess {
        let named = self.named.unwrap_or_default();
        let is_view = self.access.table.view.is_some();
        // The query of a view is merged, as far as MySQL can, and its text has no `*`.
        let is_within_view = self.access.through.is_some();
        let mut all_read = Vec::new();
        for offset in 0..self.access.table.columns.len() {
            let ids = self.columns.iter().filter_map(|ids| ids.of(offset));
            let is_read = |id: &ColumnId| {
                (!is_within_view && named.read.contains(id))
                    || (used.contains(id) && (!is_view || named.all.contains_key(id)))
            };
            let read: Vec<ColumnId> = ids.filter(is_read).collect();
            if read.iter().any(|id| named.by_star.contains(id)) {
                self.access.on_all_columns |= PrivilegeSet::SELECT;
            }
            // MySQL checks a column as it resolves its name.
            let place = |id: &ColumnId| named.all.get(id).copied().unwrap_or(usize::MAX);
            if let Some(first) = read.iter().map(place).min() {
                all_read.push((first, offset));
            }
        }
        all_read.sort_unstable();
        let needs = all_read
            .into_iter()
            .map(|(_, offset)| (offset, PrivilegeSet::SELECT));
        self.access.columns.extend(needs);
        let one_of = self
            .access
            .needs
            .one_of
            .map_or(PrivilegeSet::NONE, OneOf::privileges);
        let of_columns = self.access.columns.iter().map(|(_, needed)| *needed);
        self.access.everything = of_columns.fold(self.access.needs.all | one_of, |all, needed| all | needed);
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
    /// In the order of the text.
    named: RefCell<Vec<NamedColumn>>,
    /// The view whose query is being bound.
    through: Option<Arc<ThroughView>>,
}

impl Accesses {
    /// Those of a view's query.
    pub fn within(through: Arc<ThroughView>) -> Self {
        Self {
            through: Some(through),
            ..Self::default()
        }
    }

    pub fn through(&self) -> Option<&Arc<ThroughView>> {
        self.through.as_ref()
    }

    /// What the statement names to read a table: the table or a view.
    pub fn name_of(&self, table: &Arc<Table>) -> String {
        let all = self.all.borrow();
        let noted = all.iter().find(|noted| Arc::ptr_eq(&noted.access.table, table));
        let view = noted.and_then(|noted| noted.access.through.as_ref());
        view.map_or(&table.name, |through| &through.view.name).clone()
    }

    /// A table that the statement names. `columns`: none where they have no ids yet ([`Self::columns_of`]).
    pub fn add(
        &self,
        table: &Arc<Table>,
        alias: &str,
        (needs, lock): (TableNeeds, LockMode),
        columns: Vec<ColumnIds>,
    ) {
        self.add_through(table, alias, (needs, lock), self.through.clone(), columns);
    }

    pub fn add_through(
        &self,
        table: &Arc<Table>,
        alias: &str,
        (needs, lock): (TableNeeds, LockMode),
        through: Option<Arc<ThroughView>>,
        columns: Vec<ColumnIds>,
    ) {
        self.push(NotedAccess {
            access: ObjectAccess {
                table: Arc::clone(table),
                alias: alias.to_owned(),
                needs,
                columns: Vec::new(),
                everything: PrivilegeSet::NONE,
                on_all_columns: PrivilegeSet::NONE,
                lock: is_shared(table).then_some(lock),
                through,
                is_implied: false,
            },
            columns,
            named: None,
        });
    }

    /// A table that foreign keys lead to.
    pub fn add_implied(&self, table: &Arc<Table>, lock: LockMode) {
        self.push(NotedAccess {
            access: ObjectAccess {
                table: Arc::clone(table),
                alias: table.name.clone(),
                needs: TableNeeds::default(),
                columns: Vec::new(),
                everything: PrivilegeSet::NONE,
                on_all_columns: PrivilegeSet::NONE,
                lock: is_shared(table).then_some(lock),
                through: None,
                is_implied: true,
            },
            columns: Vec::new(),
            named: None,
        });
    }

    /// Columns of a table or view that the statement writes, by offset.
    pub fn writes(&self, table: &Table, alias: &str, privilege: PrivilegeSet, columns: &[usize]) {
        self.edit(table, alias, |access| {
            for column in columns {
                let need = (*column, privilege);
                if !access.columns.contains(&need) {
                    access.columns.push(need);
                }
            }
        });
    }

    /// The statement lists no columns, and writes all of them.
    pub fn writes_all(&self, table: &Table, alias: &str, privilege: PrivilegeSet) {
        self.edit(table, alias, |access| access.on_all_columns |= privilege);
    }

    /// Rows are deleted through a view.
    pub fn deletes(&self, view: &Table, alias: &str) {
        self.edit(view, alias, |access| access.needs.all |= PrivilegeSet::DELETE);
    }

    fn edit(&self, table: &Table, alias: &str, change: impl Fn(&mut ObjectAccess)) {
        let mut all = self.all.borrow_mut();
        let written = |noted: &&mut NotedAccess| {
            let access = &noted.access;
            access.table.id == table.id
                && access.alias == alias
                && (access.lock == Some(LockMode::Write) || table.view.is_some())
        };
        for noted in all.iter_mut().filter(written) {
            change(&mut noted.access);
        }
    }

    /// The statement names a column, which is read whether or not the plan uses it. DEFAULT() of a column needs the
    /// same privilege as the column itself.
    pub fn names(&self, id: ColumnId) {
        self.name(id, NamedHow::Directly);
    }

    /// It names a column that is read if the plan uses it.
    pub fn names_if_used(&self, id: ColumnId) {
        self.name(id, NamedHow::IfUsed);
    }

    /// `*` in it stands for a column of a table or view.
    pub fn names_by_star(&self, id: ColumnId) {
        self.name(id, NamedHow::ByStar);
    }

    fn name(&self, id: ColumnId, how: NamedHow) {
        self.named.borrow_mut().push(NamedColumn { id, how });
    }

    /// How many names there were so far.
    pub fn names_so_far(&self) -> usize {
        self.named.borrow().len()
    }

    /// The query that the names from a place on are from has rows of its own: MySQL reads all columns in it.
    pub fn reads_all_from(&self, place: usize) {
        for name in &mut self.named.borrow_mut()[place..] {
            if name.how == NamedHow::IfUsed {
                name.how = NamedHow::Directly;
            }
        }
    }

    /// Takes the names from a place on: those of a common table expression, which count once something uses it.
    pub fn take_names_from(&self, place: usize) -> Vec<NamedColumn> {
        self.named.borrow_mut().split_off(place)
    }

    pub fn add_names(&self, names: &[NamedColumn]) {
        self.named.borrow_mut().extend_from_slice(names);
    }

    /// The table or view that it names first.
    pub fn first(&self) -> Option<Arc<Table>> {
        let all = self.all.borrow();
        all.first().map(|noted| Arc::clone(&noted.access.table))
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

    /// The ids of the tables that were added after the first ones.
    pub fn ids_from(&self, after: usize) -> Vec<i64> {
        let all = self.all.borrow();
        all[after..].iter().map(|noted| noted.access.table.id).collect()
    }

    pub fn take(&self) -> Vec<NotedAccess> {
        let named = Rc::new(NamedColumns::of(self.named.take()));
        let mut all = self.all.take();
        for noted in &mut all {
            noted.named.get_or_insert_with(|| Rc::clone(&named));
        }
        all
    }

    /// The entries of a statement that cannot be bound: what it had named by then.
    pub fn of_failed_statement(&self) -> Vec<ObjectAccess> {
        let used = BTreeSet::new();
        self.take().into_iter().map(|noted| noted.finish(&used)).collect()
    }

    /// The entries of a statement that is bound.
    pub fn of_statement(&self, statement: &LogicalStatement) -> Vec<ObjectAccess> {
        let used = used_columns(statement);
        self.take().into_iter().map(|noted| noted.finish(&used)).collect()
    }
}

/// The columns that a statement uses. What a derived table or a view gives and nothing uses does not count.
fn used_columns(statement: &LogicalStatement) -> BTreeSet<ColumnId> {
    let mut used = BTreeSet::new();
    let mut within: BTreeMap<ColumnId, Vec<ColumnId>> = BTreeMap::new();
    statement.walk_columns(&mut |of, id| match of {
        None => {
            used.insert(id);
        }
        Some(of) => within.entry(of).or_default().push(id),
    });
    let mut pending: Vec<ColumnId> = used.iter().copied().collect();
    while let Some(id) = pending.pop() {
        for inner in within.get(&id).into_iter().flatten() {
            if used.insert(*inner) {
                pending.push(*inner);
            }
        }
    }
    used
}
