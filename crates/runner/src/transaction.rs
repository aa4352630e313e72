//! The transaction that statements run in: when one is opened, what its statements see, how it ends.
//!
//! With autocommit on and no BEGIN, a statement that only reads takes a snapshot and nothing else; a
//! statement that writes or locks is a transaction of its own. Otherwise the first statement opens a
//! transaction, which lasts until COMMIT, ROLLBACK, or a statement that commits implicitly (manual 13.3.3).
//!
//! Not here: waits for a lease ([`crate::lease`]), the end of a statement ([`crate::runner`]).

use std::sync::Arc;

use cluster::metadata_lock::MetadataLocks;
use cluster::prepared::ActiveBranch;
use cluster::{TableUses, TransactionLocks};
use kv::{CommitDone, Durability, Fence, KeyRange, PrivateKeys, Savepoint, Transaction, TxnOptions};
use planner::object_access::LockMode;
use types::{Error, Result, errno};

use crate::engine::Counters;
use crate::environment::Environment;
use crate::settings::Isolation;

/// `SET TRANSACTION` without a scope: for the next transaction only.
#[derive(Debug, Clone, Copy, Default)]
pub struct Characteristics {
    pub isolation: Option<Isolation>,
    pub read_only: Option<bool>,
}

/// What BEGIN asks for.
#[derive(Debug, Clone, Copy, Default)]
pub struct BeginOptions {
    pub read_only: Option<bool>,
    pub consistent_snapshot: bool,
    pub optimistic: Option<bool>,
}

/// How the open transaction has used tables, and whether it has returned rows.
#[derive(Debug, Clone, Copy, Default)]
pub struct TransactionUses {
    pub read: bool,
    pub written: bool,
    pub returned_rows: bool,
}

impl TransactionUses {
    pub fn note(&mut self, mode: LockMode) {
        match mode {
            LockMode::Read => self.read = true,
            LockMode::Write => self.written = true,
        }
    }

    /// Whether it has used any table.
    pub fn any(self) -> bool {
        self.read || self.written
    }
}

/// The open transaction with its metadata locks, and what the next one is to be.
pub struct TransactionContext {
    open: Option<Open>,
    pub(crate) locks: TransactionLocks,
    /// Savepoints that were set with autocommit off, before the first statement that opens the transaction.
    early_savepoints: Vec<String>,
    pub next: Characteristics,
    /// Of the open transaction, or of the statement that is about to open one.
    pub uses: TransactionUses,
    defers_duplicates: bool,
    /// The session's own keys: rows of its temporary tables. `None`: it has had none.
    private: Option<Arc<PrivateKeys>>,
    /// Changes of temporary tables that the open transaction cannot roll back.
    pub temporary_changes: TemporaryChanges,
    /// How transactions have ended since the session last read this.
    pub ends: TransactionEnds,
    /// The XA branch that the session has begun, and has neither ended nor prepared.
    pub xa: Option<XaBranch>,
}

/// An XA branch of the session.
pub struct XaBranch {
    pub active: ActiveBranch,
    pub state: XaState,
}

/// What XA statements have made of a branch (manual 13.3.8.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XaState {
    Active,
    /// After XA END.
    Idle,
    /// It was rolled back by an error.
    RollbackOnly {
        deadlock: bool,
    },
}

impl XaState {
    /// The error of a branch that an error has rolled back.
    pub fn rolled_back(deadlock: bool) -> Error {
        match deadlock {
            true => Error::new(
                errno::ER_XA_RBDEADLOCK,
                "XA_RBDEADLOCK: Transaction branch was rolled back: deadlock was detected",
            ),
            false => Error::new(
                errno::ER_XA_RBROLLBACK,
                "XA_RBROLLBACK: Transaction branch was rolled back",
            ),
        }
    }

    /// 1399 for a statement that the state does not permit.
    pub fn refusal(state: Option<Self>) -> Error {
        let name = match state {
            None => "NON-EXISTING",
            Some(Self::Active) => "ACTIVE",
            Some(Self::Idle) => "IDLE",
            Some(Self::RollbackOnly { .. }) => "ROLLBACK ONLY",
        };
        Error::new(
            errno::ER_XAER_RMFAIL,
            format!(
                "XAER_RMFAIL: The command cannot be executed when global transaction is in the  {name} state"
            ),
        )
    }
}

/// How often a session's transactions have ended, and have returned to a savepoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TransactionEnds {
    pub commits: u32,
    pub rollbacks: u32,
    pub prepares: u32,
    pub savepoints: u32,
    pub savepoint_rollbacks: u32,
}

/// Temporary tables that were created and dropped while a transaction was open.
#[derive(Debug, Clone, Copy, Default)]
pub struct TemporaryChanges {
    pub created: bool,
    pub dropped: bool,
}

struct Open {
    transaction: Transaction,
    /// It outlives the statement: begun by BEGIN or START TRANSACTION, or with autocommit off.
    lasting: bool,
    /// Begun by BEGIN or START TRANSACTION.
    explicit: bool,
    /// What SET TRANSACTION and START TRANSACTION asked for.
    asked: Characteristics,
    isolation: Isolation,
    read_only: bool,
    /// Whether plain reads have fixed what they see: REPEATABLE READ does so with the first one.
    snapshot_taken: bool,
    /// WITH CONSISTENT SNAPSHOT.
    began_with_snapshot: bool,
    /// The savepoint at the start of the statement that opened the transaction, until that statement ends.
    first_statement: Option<Savepoint>,
    savepoints: Vec<(String, Savepoint)>,
}

impl TransactionContext {
    pub fn new(locks: Arc<MetadataLocks>) -> Self {
        Self {
            open: None,
            locks: TransactionLocks::new(locks),
            early_savepoints: Vec::new(),
            next: Characteristics::default(),
            uses: TransactionUses::default(),
            defers_duplicates: false,
            private: None,
            temporary_changes: TemporaryChanges::default(),
            ends: TransactionEnds::default(),
            xa: None,
        }
    }

    /// Whether any transaction is open, a single statement's own included.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether a schema change waits for the end of the open transaction.
    pub fn delays_change(&self) -> bool {
        self.locks.delays_change()
    }

    /// Whether a transaction is open that outlives the statement: SERVER_STATUS_IN_TRANS.
    pub fn in_transaction(&self) -> bool {
        self.open.as_ref().is_some_and(|o| o.lasting)
    }

    /// Shows the tables that the session's transactions use to other sessions.
    pub fn show_tables(&mut self) -> Arc<TableUses> {
        self.locks.show()
    }

    /// What state the session's XA branch is in.
    pub fn xa_state(&self) -> Option<XaState> {
        self.xa.as_ref().map(|branch| branch.state)
    }

    /// Fails with 1399 for a statement that ends a transaction, in an XA branch.
    pub fn check_outside_xa(&self) -> Result<()> {
        match self.xa_state() {
            None => Ok(()),
            state => Err(XaState::refusal(state)),
        }
    }

    /// Fails with 1399 for a statement that uses tables, in an XA branch that has ended.
    fn check_xa_active(&self) -> Result<()> {
        match self.xa_state() {
            None | Some(XaState::Active) => Ok(()),
            Some(XaState::RollbackOnly { deadlock }) => Err(XaState::rolled_back(deadlock)),
            state => Err(XaState::refusal(state)),
        }
    }

    /// The transaction was rolled back by an error.
    pub(crate) fn fail_xa(&mut self, deadlock: bool) {
        if let Some(branch) = &mut self.xa {
            branch.state = XaState::RollbackOnly { deadlock };
        }
    }

    /// The open transaction with its metadata locks, which another owner ends.
    pub fn detach(&mut self) -> Option<(Transaction, TransactionLocks)> {
        let open = self.close()?;
        Some((open.transaction, self.locks.hand_over()))
    }

    /// Whether a transaction is open that may only read: SERVER_STATUS_IN_TRANS_READONLY.
    pub fn is_read_only(&self) -> bool {
        self.open.as_ref().is_some_and(|o| o.read_only)
    }

    /// Whether a transaction is open that BEGIN or START TRANSACTION began.
    pub fn is_explicit(&self) -> bool {
        self.open.as_ref().is_some_and(|o| o.explicit)
    }

    /// What the open transaction, or the next one, was asked to be, and whether it began with a snapshot.
    pub fn asked(&self) -> (Characteristics, bool) {
        self.open
            .as_ref()
            .filter(|o| o.lasting)
            .map_or((self.next, false), |o| (o.asked, o.began_with_snapshot))
    }

    /// Whether a statement that writes what it reads elsewhere locks that: above READ COMMITTED (manual
    /// 15.7.3).
    pub(crate) fn locks_what_it_reads(&self) -> bool {
        let repeats = |open: &&Open| open.isolation == Isolation::RepeatableRead;
        self.open
            .as_ref()
            .filter(repeats)
            .is_some_and(|open| !open.transaction.is_optimistic())
    }

    /// What COMMIT or ROLLBACK AND CHAIN give to the next transaction: the characteristics of this one.
    pub fn chained(&self) -> Characteristics {
        let of_open = |open: &Open| Characteristics {
            isolation: Some(open.isolation),
            read_only: Some(open.read_only),
        };
        self.open.as_ref().map_or(self.next, of_open)
    }

    /// Whether the next single-statement transaction lets its commit check for duplicates ([`crate::Retry`]).
    pub fn set_defers_duplicates(&mut self, defers: bool) {
        self.defers_duplicates = defers;
    }

    /// BEGIN. The caller has committed what was open.
    ///
    /// # Errors
    /// Those of the store.
    pub fn begin(&mut self, env: Environment<'_>, options: BeginOptions) -> Result<()> {
        let open = self.open(env, options, true)?;
        open.explicit = true;
        self.uses = TransactionUses {
            read: options.consistent_snapshot,
            ..TransactionUses::default()
        };
        Ok(())
    }

    /// `lasting`: it outlives the statement.
    fn open(&mut self, env: Environment<'_>, options: BeginOptions, lasting: bool) -> Result<&mut Open> {
        let settings = env.settings;
        let next = std::mem::take(&mut self.next);
        let read_only = options.read_only.or(next.read_only).unwrap_or(settings.read_only);
        let mut transaction = env.engine.store.begin(TxnOptions {
            optimistic: options.optimistic.unwrap_or(settings.optimistic),
            read_only,
            single_statement: !lasting,
            defer_duplicate_checks: self.defers_duplicates && !lasting,
            lock_ttl: None,
            locks_only: false,
            commit_lock_wait: settings.row_lock_wait,
            interrupt: Some(env.interrupt.clone()),
            max_bytes: None,
            private: self.private.clone(),
        })?;
        let early = self.early_savepoints.drain(..);
        let savepoints = early.map(|name| (name, transaction.savepoint())).collect();
        let isolation = next.isolation.unwrap_or(settings.isolation);
        // "WITH CONSISTENT SNAPSHOT applies only to REPEATABLE READ" (manual 13.3.1).
        let snapshot_taken = options.consistent_snapshot && isolation == Isolation::RepeatableRead;
        if snapshot_taken {
            transaction.keep_snapshot();
        }
        if let Some(own) = next.isolation {
            self.locks.show_isolation(own.name());
        }
        Ok(self.open.insert(Open {
            transaction,
            lasting,
            explicit: false,
            asked: Characteristics {
                isolation: next.isolation,
                read_only: options.read_only.or(next.read_only),
            },
            began_with_snapshot: options.consistent_snapshot,
            isolation,
            read_only,
            snapshot_taken,
            first_statement: None,
            savepoints,
        }))
    }

    /// Fails with 1792 if the open transaction, or else the one that a statement would open now, may only
    /// read. SET TRANSACTION stays in force for the next statement where this one fails so.
    pub fn check_read_write(&self, read_only_by_default: bool) -> Result<()> {
        let read_only = match &self.open {
            Some(open) => open.read_only,
            None => self.next.read_only.unwrap_or(read_only_by_default),
        };
        match read_only {
            true => Err(Error::new(
                errno::ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION,
                "Cannot execute statement in a READ ONLY transaction.",
            )),
            false => Ok(()),
        }
    }

    /// The transaction a write runs in, opened if there is none.
    pub(crate) fn for_write(&mut self, env: Environment<'_>) -> Result<&mut Transaction> {
        self.check_read_write(env.settings.read_only)?;
        self.ensure(env)
    }

    /// The session's own keys, if it has any.
    pub fn private(&self) -> Option<&Arc<PrivateKeys>> {
        self.private.as_ref()
    }

    /// Gives the session keys of its own, which all its statements see from now on.
    pub fn attach_private(&mut self, private: Arc<PrivateKeys>) {
        if let Some(open) = &mut self.open {
            open.transaction.attach_private(&private);
        }
        self.private = Some(private);
    }

    /// Removes keys of the session's own, those written by the open transaction included, for good.
    pub fn remove_private(&mut self, range: &KeyRange) {
        if let Some(open) = &mut self.open {
            open.transaction.forget_private(range);
        }
        if let Some(private) = &self.private {
            private.remove(range);
        }
    }

    /// Whether the open transaction has written keys of the session's own.
    pub(crate) fn has_private_writes(&self) -> bool {
        self.open
            .as_ref()
            .is_some_and(|o| o.transaction.has_private_writes())
    }

    /// Prepares the transaction that a plain read of tables runs in, at the snapshot its isolation level asks
    /// for. `false`: the read needs none, being one of its own.
    pub(crate) fn for_read(&mut self, env: Environment<'_>) -> Result<bool> {
        if self.open.is_none() && env.settings.autocommit {
            self.check_xa_active()?;
            self.next = Characteristics::default();
            return Ok(false);
        }
        self.ensure(env)?;
        self.take_snapshot()?;
        Ok(true)
    }

    /// Moves the open transaction's plain reads to where its isolation level wants them for a statement that
    /// begins.
    fn take_snapshot(&mut self) -> Result<()> {
        if let Some(open) = &mut self.open
            && (open.isolation == Isolation::ReadCommitted || !open.snapshot_taken)
        {
            open.transaction.refresh_snapshot()?;
            open.snapshot_taken = true;
            if open.isolation == Isolation::RepeatableRead {
                open.transaction.keep_snapshot();
            }
        }
        Ok(())
    }

    /// The same for a statement that locks or writes and reads some of its tables without locks. The
    /// transaction is open. One that began with the statement has its snapshot.
    pub(crate) fn take_snapshot_beside_locks(&mut self) -> Result<()> {
        match self.in_transaction() {
            true => self.take_snapshot(),
            false => Ok(()),
        }
    }

    /// A statement without a plan has read definitions, or looked at tables only: with autocommit off it is
    /// the first statement of a transaction. `fixes_snapshot`: as a plain read of tables does.
    ///
    /// # Errors
    /// Those of the store.
    pub fn join(&mut self, env: Environment<'_>, fixes_snapshot: bool) -> Result<()> {
        if fixes_snapshot {
            self.for_read(env)?;
        } else if !env.settings.autocommit {
            self.ensure(env)?;
        }
        self.end_statement(None, true);
        Ok(())
    }

    /// The transaction a locking read runs in. FOR SHARE is allowed in a READ ONLY transaction, FOR UPDATE is
    /// not.
    pub(crate) fn for_locking_read(
        &mut self,
        needs_read_write: bool,
        env: Environment<'_>,
    ) -> Result<&mut Transaction> {
        match needs_read_write {
            true => self.for_write(env),
            false => self.ensure(env),
        }
    }

    pub(crate) fn ensure(&mut self, env: Environment<'_>) -> Result<&mut Transaction> {
        self.check_xa_active()?;
        if self.open.is_none() {
            let lasting = !env.settings.autocommit;
            let open = self.open(env, BeginOptions::default(), lasting)?;
            if lasting {
                open.first_statement = Some(open.transaction.savepoint());
            }
        }
        self.opened()
    }

    /// The transaction that is open.
    pub(crate) fn opened(&mut self) -> Result<&mut Transaction> {
        self.open
            .as_mut()
            .map(|open| &mut open.transaction)
            .ok_or_else(|| Error::internal("no transaction is open"))
    }

    /// Whether what is open ends with the statement.
    pub(crate) fn ends_with_statement(&self) -> bool {
        self.open.as_ref().is_some_and(|o| !o.lasting)
    }

    /// Waits for what the statement's own transaction depends on ([`Transaction::settle`]), which its commit
    /// would wait for.
    pub(crate) fn settle_with_statement(&self) -> Result<()> {
        match &self.open {
            Some(open) if !open.lasting => Ok(open.transaction.settle()?),
            _ => Ok(()),
        }
    }

    /// Marks the start of a statement that may have to be undone alone.
    pub(crate) fn statement_savepoint(&mut self) -> Option<Savepoint> {
        self.open
            .as_mut()
            .filter(|o| o.lasting)
            .map(|o| o.transaction.savepoint())
    }

    /// Ends a statement: its writes stay, or are undone. Without a savepoint it is the statement that has
    /// opened the transaction (autocommit is off), which stays open.
    pub(crate) fn end_statement(&mut self, savepoint: Option<Savepoint>, keep: bool) {
        let Some(open) = &mut self.open else { return };
        let Some(savepoint) = savepoint.or(open.first_statement.take()) else {
            return;
        };
        if !keep {
            open.transaction.rollback_to(savepoint);
        }
        open.transaction.release(savepoint);
    }

    /// Whether there is anything to commit.
    pub fn is_dirty(&self) -> bool {
        self.open.as_ref().is_some_and(|o| o.transaction.is_dirty())
    }

    /// Whether the open transaction has written keys that are not the session's own.
    pub(crate) fn has_stored_writes(&self) -> bool {
        let open = self.open.as_ref();
        open.is_some_and(|o| o.transaction.has_stored_writes())
    }

    /// Whether the transaction has written or locked rows, under the definitions of its lease.
    pub(crate) fn has_locked(&self) -> bool {
        let open = self.open.as_ref();
        open.is_some_and(|o| o.transaction.is_dirty() || o.transaction.lock_count() > 0)
    }

    /// COMMIT, within the lease that the metadata locks were taken under. Does nothing without an open
    /// transaction.
    pub(crate) fn commit(&mut self, durability: Durability) -> Result<()> {
        match self.close() {
            Some(open) => open
                .transaction
                .commit_within(durability, self.locks.fence())
                .map(drop)
                .map_err(Into::into),
            None => Ok(()),
        }
    }

    /// COMMIT without a wait. `done` gets the outcome, on this thread or on another one.
    pub(crate) fn commit_then(&mut self, durability: Durability, fence: Option<&Fence>, done: CommitDone) {
        match self.close() {
            Some(open) => open.transaction.commit_then(durability, fence, done),
            None => done(Ok(0)),
        }
    }

    /// Rolls back the open transaction, if there is one, and releases its metadata locks.
    pub fn abandon(&mut self) {
        if let Some(open) = self.close() {
            open.transaction.rollback();
        }
        self.locks.release_all();
    }

    /// ROLLBACK: [`Self::abandon`], counted.
    pub(crate) fn roll_back(&mut self, counters: &Counters) {
        if self.is_open() {
            counters.count_end(false);
            self.ends.rollbacks += 1;
        }
        self.abandon();
        // An XA branch that the session has not prepared is over: nothing of it can be committed any more.
        self.fail_xa(false);
    }

    fn close(&mut self) -> Option<Open> {
        self.early_savepoints.clear();
        self.temporary_changes = TemporaryChanges::default();
        let closed = self.open.take();
        if closed.as_ref().is_some_and(|open| open.asked.isolation.is_some()) {
            self.locks.show_isolation("");
        }
        closed
    }

    /// Releases the metadata locks of a statement, unless a transaction that outlives it has them.
    pub fn release_statement_locks(&mut self) {
        if !self.in_transaction() {
            self.locks.release_all();
        }
    }

    /// SAVEPOINT: a name used again moves. With autocommit on and no transaction it has no effect.
    pub fn savepoint(&mut self, name: &str, autocommit: bool) {
        let is_same = |other: &String| other.eq_ignore_ascii_case(name);
        if let Some(open) = self.open.as_mut().filter(|o| o.lasting) {
            open.savepoints.retain(|(other, _)| !is_same(other));
            let savepoint = open.transaction.savepoint();
            open.savepoints.push((name.to_owned(), savepoint));
            self.ends.savepoints += u32::from(self.uses.any());
        } else if !autocommit {
            self.early_savepoints.retain(|other| !is_same(other));
            self.early_savepoints.push(name.to_owned());
        }
    }

    /// ROLLBACK TO SAVEPOINT: removes the savepoints set after it, and keeps this one.
    ///
    /// # Errors
    /// 1305 if there is none of this name.
    pub fn rollback_to(&mut self, name: &str) -> Result<()> {
        let position = self.find_savepoint(name)?;
        self.truncate_savepoints(position + 1);
        if let Some(open) = &mut self.open {
            let savepoint = open.savepoints[position].1;
            open.transaction.rollback_to(savepoint);
            self.ends.savepoint_rollbacks += u32::from(self.uses.any());
        }
        Ok(())
    }

    /// RELEASE SAVEPOINT: removes it and those set after it, and keeps the writes.
    ///
    /// # Errors
    /// 1305 if there is none of this name.
    pub fn release(&mut self, name: &str) -> Result<()> {
        let position = self.find_savepoint(name)?;
        // The store's savepoint is not released before the transaction ends. A name that was used again may
        // precede older savepoints here and follow them in the store, where releasing it would end those too.
        self.truncate_savepoints(position);
        Ok(())
    }

    fn truncate_savepoints(&mut self, count: usize) {
        match &mut self.open {
            Some(open) => open.savepoints.truncate(count),
            None => self.early_savepoints.truncate(count),
        }
    }

    fn find_savepoint(&self, name: &str) -> Result<usize> {
        let is_same = |other: &str| other.eq_ignore_ascii_case(name);
        let position = match &self.open {
            Some(open) => open.savepoints.iter().position(|(other, _)| is_same(other)),
            None => self.early_savepoints.iter().position(|other| is_same(other)),
        };
        position.ok_or_else(|| {
            Error::new(
                errno::ER_SP_DOES_NOT_EXIST,
                format!("SAVEPOINT {name} does not exist"),
            )
        })
    }

    /// SET TRANSACTION for the next transaction.
    ///
    /// # Errors
    /// 1568 while one is open.
    pub fn set_next(&mut self, isolation: Option<Isolation>, read_only: Option<bool>) -> Result<()> {
        if self.in_transaction() {
            return Err(Error::new(
                errno::ER_CANT_CHANGE_TX_CHARACTERISTICS,
                "Transaction characteristics can't be changed while a transaction is in progress",
            ));
        }
        self.next.isolation = isolation.or(self.next.isolation);
        self.next.read_only = read_only.or(self.next.read_only);
        Ok(())
    }
}
