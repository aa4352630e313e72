//! The session's transaction: when one begins, what its statements see, how it ends.
//!
//! With autocommit on and no BEGIN, a statement that only reads takes a snapshot and nothing else; one that writes or
//! locks is a transaction of its own. Otherwise the first statement opens a transaction, which lasts until COMMIT,
//! ROLLBACK, or a statement that commits implicitly (manual 13.3.3).

use std::sync::Arc;

use cluster::metadata_lock::Use;
use kv::{CommitDone, Durability, Fence, Savepoint, Store, Transaction, TxnOptions};
use types::{Result, errno};

use crate::errors;
use crate::track::Deeds;
use crate::variables::settings::{Isolation, Settings};

/// `SET TRANSACTION` without a scope: for the next transaction only.
#[derive(Debug, Clone, Copy, Default)]
pub struct Characteristics {
    pub isolation: Option<Isolation>,
    pub read_only: Option<bool>,
}

/// The open transaction, and what the next one is to be.
#[derive(Default)]
pub struct TransactionState {
    open: Option<Open>,
    /// Savepoints that were set with autocommit off before the first statement that opens the transaction.
    early_savepoints: Vec<String>,
    pub next: Characteristics,
    /// What the open transaction has done, or the statement that is about to open one.
    pub deeds: Deeds,
    /// The next transaction of a statement's own may leave it to its commit to find duplicates.
    check_late: bool,
}

struct Open {
    transaction: Transaction,
    /// Begun by BEGIN or START TRANSACTION, or with autocommit off: outlives the statement.
    lasting: bool,
    /// Begun by BEGIN or START TRANSACTION.
    explicit: bool,
    /// What SET TRANSACTION and START TRANSACTION asked for.
    asked: Characteristics,
    isolation: Isolation,
    read_only: bool,
    /// Whether plain reads have fixed what they see (REPEATABLE READ does so with the first one).
    snapshot_taken: bool,
    /// WITH CONSISTENT SNAPSHOT.
    began_with_snapshot: bool,
    /// Where the statement began that has opened the transaction, until that ends.
    first_statement: Option<Savepoint>,
    savepoints: Vec<(String, Savepoint)>,
}

/// What BEGIN asks for.
#[derive(Debug, Clone, Copy, Default)]
pub struct BeginOptions {
    pub read_only: Option<bool>,
    pub consistent_snapshot: bool,
    pub optimistic: Option<bool>,
}

impl TransactionState {
    /// Whether any transaction is open, a single statement's own included.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether a transaction is open that outlives the statement: SERVER_STATUS_IN_TRANS.
    pub fn in_transaction(&self) -> bool {
        self.open.as_ref().is_some_and(|o| o.lasting)
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

    /// Whether a statement that writes what it reads elsewhere locks that: above READ COMMITTED (manual 15.7.3).
    pub fn locks_what_it_reads(&self) -> bool {
        let repeats = |open: &&Open| open.isolation == Isolation::RepeatableRead;
        self.open
            .as_ref()
            .filter(repeats)
            .is_some_and(|open| !open.transaction.is_optimistic())
    }

    /// What COMMIT or ROLLBACK AND CHAIN give to the next transaction: this one's characteristics.
    pub fn chained(&self) -> Characteristics {
        let of_open = |open: &Open| Characteristics {
            isolation: Some(open.isolation),
            read_only: Some(open.read_only),
        };
        self.open.as_ref().map_or(self.next, of_open)
    }

    pub fn set_check_late(&mut self, check_late: bool) {
        self.check_late = check_late;
    }

    /// BEGIN. The caller has committed what was open.
    pub fn begin(
        &mut self,
        store: &Store,
        settings: &Settings,
        interrupt: &Arc<kv::Interrupt>,
        options: BeginOptions,
    ) -> Result<()> {
        self.open(store, settings, interrupt, options, true)?;
        self.deeds = Deeds::default();
        if let Some(open) = &mut self.open {
            open.explicit = true;
        }
        if options.consistent_snapshot {
            self.deeds.note(Use::Read);
        }
        Ok(())
    }

    /// `lasting`: beyond the statement that runs.
    fn open(
        &mut self,
        store: &Store,
        settings: &Settings,
        interrupt: &Arc<kv::Interrupt>,
        options: BeginOptions,
        lasting: bool,
    ) -> Result<()> {
        let next = std::mem::take(&mut self.next);
        let read_only = options.read_only.or(next.read_only).unwrap_or(settings.read_only);
        let mut transaction = store.begin(TxnOptions {
            optimistic: options.optimistic.unwrap_or(settings.optimistic),
            read_only,
            single_statement: !lasting,
            check_late: self.check_late && !lasting,
            lock_ttl: None,
            commit_lock_wait: settings.innodb_lock_wait,
            interrupt: Some(interrupt.clone()),
            max_bytes: None,
        })?;
        let early = self.early_savepoints.drain(..);
        let savepoints = early.map(|name| (name, transaction.savepoint())).collect();
        let mut open = Open {
            transaction,
            lasting,
            explicit: false,
            asked: Characteristics {
                isolation: next.isolation,
                read_only: options.read_only.or(next.read_only),
            },
            began_with_snapshot: options.consistent_snapshot,
            isolation: next.isolation.unwrap_or(settings.isolation),
            read_only,
            snapshot_taken: false,
            first_statement: None,
            savepoints,
        };
        // "WITH CONSISTENT SNAPSHOT applies only to REPEATABLE READ" (manual 13.3.1).
        open.snapshot_taken = options.consistent_snapshot && open.isolation == Isolation::RepeatableRead;
        self.open = Some(open);
        Ok(())
    }

    /// Fails with 1792 if the open transaction, or else the one that a statement would open now, may only read. A statement
    /// that fails so leaves SET TRANSACTION to the next one.
    pub fn check_read_write(&self, settings: &Settings) -> Result<()> {
        let read_only = match &self.open {
            Some(open) => open.read_only,
            None => self.next.read_only.unwrap_or(settings.read_only),
        };
        match read_only {
            true => Err(errors::read_only_transaction()),
            false => Ok(()),
        }
    }

    /// The transaction a writing or locking statement runs in, opened if there is none.
    pub fn for_write(
        &mut self,
        store: &Store,
        settings: &Settings,
        interrupt: &Arc<kv::Interrupt>,
    ) -> Result<&mut Transaction> {
        self.check_read_write(settings)?;
        self.ensure(store, settings, interrupt)?;
        Ok(&mut self.opened()?.transaction)
    }

    /// The transaction a plain read of tables runs in, at the snapshot its isolation level asks for. `None`: the read needs
    /// none, being one of its own.
    pub fn for_read(
        &mut self,
        store: &Store,
        settings: &Settings,
        interrupt: &Arc<kv::Interrupt>,
    ) -> Result<Option<&mut Transaction>> {
        if self.open.is_none() && settings.autocommit {
            self.next = Characteristics::default();
            return Ok(None);
        }
        self.ensure(store, settings, interrupt)?;
        let open = self.opened()?;
        if open.isolation == Isolation::ReadCommitted || !open.snapshot_taken {
            open.transaction.refresh_snapshot()?;
            open.snapshot_taken = true;
        }
        Ok(Some(&mut open.transaction))
    }

    /// A statement has read definitions, or looked at tables only: where autocommit is off it is the first of a transaction.
    /// `fixes_snapshot`: as a plain read of tables does.
    pub fn joined_by_command(
        &mut self,
        fixes_snapshot: bool,
        store: &Store,
        settings: &Settings,
        interrupt: &Arc<kv::Interrupt>,
    ) -> Result<()> {
        if fixes_snapshot {
            self.for_read(store, settings, interrupt)?;
        } else if !settings.autocommit {
            self.ensure(store, settings, interrupt)?;
        }
        self.end_statement(None, true);
        Ok(())
    }

    /// What [`TransactionState::for_read`] has opened, or found open.
    pub fn opened_for_read(&self) -> Option<&Transaction> {
        self.open.as_ref().map(|open| &open.transaction)
    }

    /// The transaction a locking read runs in. FOR SHARE is allowed in a READ ONLY transaction, FOR UPDATE is not.
    pub fn for_locking_read(
        &mut self,
        exclusive: bool,
        store: &Store,
        settings: &Settings,
        interrupt: &Arc<kv::Interrupt>,
    ) -> Result<&mut Transaction> {
        if exclusive {
            return self.for_write(store, settings, interrupt);
        }
        self.ensure(store, settings, interrupt)?;
        Ok(&mut self.opened()?.transaction)
    }

    fn ensure(&mut self, store: &Store, settings: &Settings, interrupt: &Arc<kv::Interrupt>) -> Result<()> {
        if self.open.is_none() {
            let lasting = !settings.autocommit;
            self.open(store, settings, interrupt, BeginOptions::default(), lasting)?;
            if let Some(open) = self.open.as_mut().filter(|o| o.lasting) {
                open.first_statement = Some(open.transaction.savepoint());
            }
        }
        Ok(())
    }

    fn opened(&mut self) -> Result<&mut Open> {
        self.open
            .as_mut()
            .ok_or_else(|| types::Error::internal("no transaction is open"))
    }

    /// Whether what is open ends with the statement.
    pub fn ends_with_statement(&self) -> bool {
        self.open.as_ref().is_some_and(|o| !o.lasting)
    }

    /// Waits for what the statement's own transaction rests on ([`Transaction::settle`]), which its commit would wait for.
    pub fn settle_with_statement(&self) -> Result<()> {
        match &self.open {
            Some(open) if !open.lasting => Ok(open.transaction.settle()?),
            _ => Ok(()),
        }
    }

    /// Marks the start of a statement that may have to be undone alone.
    pub fn statement_savepoint(&mut self) -> Option<Savepoint> {
        self.open
            .as_mut()
            .filter(|o| o.lasting)
            .map(|o| o.transaction.savepoint())
    }

    /// Ends a statement: keeps its writes, or undoes them. Without a savepoint it is the statement that has opened the
    /// transaction (autocommit is off), which stays open.
    pub fn end_statement(&mut self, savepoint: Option<Savepoint>, keep: bool) {
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

    /// Whether the transaction has written or locked rows, by what it was told of definitions.
    pub fn has_locked(&self) -> bool {
        let open = self.open.as_ref();
        open.is_some_and(|o| has_locked(&o.transaction))
    }

    /// COMMIT, not after the fence; nothing open is no error.
    pub fn commit(&mut self, durability: Durability, fence: Option<&Fence>) -> Result<()> {
        match self.close() {
            Some(open) => open
                .transaction
                .commit_within(durability, fence)
                .map(drop)
                .map_err(Into::into),
            None => Ok(()),
        }
    }

    /// As [`TransactionState::commit`], for who does not wait for it. `done` is told the outcome, now or by another thread.
    pub fn commit_then(&mut self, durability: Durability, fence: Option<&Fence>, done: CommitDone) {
        match self.close() {
            Some(open) => open.transaction.commit_then(durability, fence, done),
            None => done(Ok(0)),
        }
    }

    /// ROLLBACK; nothing open is no error.
    pub fn rollback(&mut self) {
        if let Some(open) = self.close() {
            open.transaction.rollback();
        }
    }

    fn close(&mut self) -> Option<Open> {
        self.early_savepoints.clear();
        self.open.take()
    }

    /// SAVEPOINT: a name used again moves. With autocommit on and no transaction it has no effect.
    pub fn savepoint(&mut self, name: &str, autocommit: bool) {
        let is_same = |other: &String| other.eq_ignore_ascii_case(name);
        if let Some(open) = self.open.as_mut().filter(|o| o.lasting) {
            open.savepoints.retain(|(other, _)| !is_same(other));
            let savepoint = open.transaction.savepoint();
            open.savepoints.push((name.to_owned(), savepoint));
        } else if !autocommit {
            self.early_savepoints.retain(|other| !is_same(other));
            self.early_savepoints.push(name.to_owned());
        }
    }

    /// ROLLBACK TO SAVEPOINT: those set after it are gone, it stays.
    pub fn rollback_to(&mut self, name: &str) -> Result<()> {
        let position = self.find_savepoint(name)?;
        self.keep_savepoints(position + 1);
        if let Some(open) = &mut self.open {
            let savepoint = open.savepoints[position].1;
            open.transaction.rollback_to(savepoint);
        }
        Ok(())
    }

    /// RELEASE SAVEPOINT: it and those set after it are gone, the writes stay.
    pub fn release(&mut self, name: &str) -> Result<()> {
        let position = self.find_savepoint(name)?;
        // The store's savepoint is left to the transaction: releasing it would end older names set after it by reuse.
        self.keep_savepoints(position);
        Ok(())
    }

    fn keep_savepoints(&mut self, count: usize) {
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
        position.ok_or_else(|| errors::no_savepoint(name))
    }

    /// SET TRANSACTION for the next transaction: not while one is open.
    pub fn set_next(&mut self, isolation: Option<Isolation>, read_only: Option<bool>) -> Result<()> {
        if self.in_transaction() {
            return Err(types::Error::new(
                errno::ER_CANT_CHANGE_TX_CHARACTERISTICS,
                "Transaction characteristics can't be changed while a transaction is in progress",
            ));
        }
        self.next.isolation = isolation.or(self.next.isolation);
        self.next.read_only = read_only.or(self.next.read_only);
        Ok(())
    }
}

pub fn has_locked(transaction: &Transaction) -> bool {
    transaction.is_dirty() || transaction.lock_count() > 0
}

/// Whether an error ends the whole transaction, as InnoDB's deadlocks do; any other undoes its statement alone.
pub fn ends_transaction(code: u16) -> bool {
    matches!(
        code,
        errno::ER_LOCK_DEADLOCK | errno::ER_RESULT_UNDETERMINED | errno::ER_SCHEMA_OUT_OF_DATE
    )
}
