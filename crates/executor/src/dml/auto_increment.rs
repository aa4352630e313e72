//! AUTO_INCREMENT and AUTO_RANDOM ids of one statement.
//!
//! Ids are allocated in blocks: as many at once as the statement's remaining rows may need, so that the rows of
//! one INSERT get consecutive ids, and one more for each row before the first that needs one. Where nobody knows how
//! many rows there will be, each block is twice as large as the one before. What is left of a block is lost, but for
//! partitioned tables. All of that is as in MySQL.
//!
//! Rows get their ids a batch at a time, before any of them is written. If one of them cannot be written, the blocks of
//! those behind it are given back: MySQL would not have allocated them.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use cluster::ids::{align, largest_id};
use kv::Timestamp;
use schema::model::{Column, Table};
use schema::sharded_id::{self, IdLayout};
use types::{Decimal, Error, Result, SqlType, TypeKind, Value};

use crate::context::ExecContext;

/// ER_AUTOINC_READ_FAILED.
const ER_AUTOINC_READ_FAILED: u16 = 1467;

/// The most ids that are allocated at once for an unknown number of rows.
const GROWN_BLOCK_MAX: u64 = u16::MAX as u64;

pub(super) struct AutoIncrement<'p> {
    table: &'p Table,
    /// Offset and type of the column.
    pub column: usize,
    ty: SqlType,
    nullable: bool,
    /// AUTO_RANDOM: how an id is composed of a counted number, and when the transaction began. All other
    /// fields are about those numbers.
    random: Option<(IdLayout, Timestamp)>,
    /// The largest possible id.
    last: u64,
    zero_is_a_value: bool,
    /// The unused part of the block: the next id, and the number of ids left.
    next: u64,
    left: u64,
    /// From one id of the block to the next.
    increment: u64,
    /// How many blocks there have been.
    blocks: u32,
    /// The first id of each block that may be given back, and the one behind its last.
    returnable: Vec<(u64, u64)>,
    is_partitioned: bool,
    /// Whether the counter passes an explicit id even if its row is left out as a duplicate: for the rows of queries and
    /// files, as in InnoDB.
    counts_refused: bool,
    /// How many rows came before the first that asked for an id.
    rows_before: u64,
    /// The ids begin where `SET insert_id` has said.
    is_forced: bool,
    /// The largest id given explicitly that the counter does not cover yet.
    explicit: u64,
    /// The largest id of the rows that have been written; of those whose ids were given explicitly; and the largest
    /// generated id of a row that the statement tried to write.
    written: u64,
    written_explicit: u64,
    tried: u64,
    /// The explicit id of the row at which the statement failed, if that counts.
    failed_explicit: u64,
    /// Ids that were generated for rows which were not inserted, in ascending order.
    unused: VecDeque<u64>,
}

impl<'p> AutoIncrement<'p> {
    /// `None` if the table has no such column.
    pub fn of(
        table: &'p Table,
        counts_refused: bool,
        start_ts: Timestamp,
        ctx: &ExecContext<'_>,
    ) -> Option<Self> {
        let column = table.id_column()?;
        let &Column { ty, nullable, .. } = table.columns.get(column)?;
        let layout = table.auto_random_layout();
        Some(Self {
            table,
            column,
            ty,
            nullable,
            random: layout.map(|layout| (layout, start_ts)),
            last: layout.map_or_else(|| largest_id(&ty), IdLayout::last),
            zero_is_a_value: ctx.eval.sql_mode.no_auto_value_on_zero,
            next: 0,
            left: 0,
            increment: 1,
            blocks: 0,
            returnable: Vec::new(),
            is_partitioned: table.partitioning.is_some(),
            counts_refused,
            rows_before: 0,
            is_forced: false,
            explicit: 0,
            written: 0,
            written_explicit: 0,
            tried: 0,
            failed_explicit: 0,
            unused: VecDeque::new(),
        })
    }

    /// Whether this value is replaced by the next id.
    pub fn asks_for_id(&self, value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Int(0) | Value::UInt(0) => !self.zero_is_a_value,
            Value::Double(v) => *v == 0.0 && !self.zero_is_a_value,
            _ => false,
        }
    }

    /// Stores a generated id. Where the column may be NULL, NULL stays, though an id was taken for it, as in MySQL.
    pub fn set(&self, cell: &mut Value, id: Value) {
        if !(self.nullable && cell.is_null()) {
            *cell = id;
        }
    }

    /// Fails if rows may not have explicit ids.
    pub fn check_explicit(&self, ctx: &ExecContext<'_>) -> Result<()> {
        if self.random.is_none() || ctx.explicit_auto_random {
            return Ok(());
        }
        Err(sharded_id::invalid(
            "Explicit insertion on auto_random column is disabled. \
             Try to set @@allow_auto_random_explicit_insert = true.",
        ))
    }

    /// The next id, for the row with a number in the statement, from 1 on. `rows`: how many rows remain, including this
    /// one, if that is known.
    pub fn generate(
        &mut self,
        row_number: u64,
        rows: Option<usize>,
        ctx: &ExecContext<'_>,
    ) -> Result<(u64, Value)> {
        if self.left == 0 {
            if self.blocks == 0 {
                self.rows_before = row_number.saturating_sub(1);
            }
            self.next_block(rows, ctx)?;
        }
        let id = self.next;
        if id > self.last {
            return Err(exhausted());
        }
        self.left -= 1;
        if self.is_forced {
            self.explicit = self.explicit.max(id);
        }
        let (increment, offset) = ctx.auto_increment;
        let next = match self.is_forced {
            // Only the first id is the one that was set.
            true => id.checked_add(1).map(|next| align(next, increment, offset)),
            false => id.checked_add(self.increment),
        };
        match next {
            Some(next) => self.next = next,
            None => self.left = 0,
        }
        let id = match self.random {
            Some((layout, start_ts)) => layout.id(start_ts, id),
            None => id,
        };
        Ok((id, value_of(id, &self.ty)))
    }

    fn next_block(&mut self, rows: Option<usize>, ctx: &ExecContext<'_>) -> Result<()> {
        let forced = &ctx.eval.insert_id;
        if forced.id > 0 && self.blocks == 0 && self.random.is_none() {
            forced.is_used.store(true, Ordering::Relaxed);
            (self.is_forced, self.next, self.left) = (true, forced.id, u64::MAX);
            self.increment = 1;
            return Ok(());
        }
        self.report_explicit(ctx)?;
        let (increment, offset) = ctx.auto_increment;
        let count = match rows {
            Some(rows) => self.rows_before + rows.max(1) as u64,
            None => 1_u64
                .checked_shl(self.blocks)
                .unwrap_or(u64::MAX)
                .min(GROWN_BLOCK_MAX),
        };
        self.next = ctx.cluster.ids().allocate(self.table, count, increment, offset)?;
        self.left = count;
        self.increment = increment.max(1);
        if rows.is_none() || self.is_partitioned {
            let end = self.next.saturating_add(count.saturating_mul(self.increment));
            self.returnable.push((self.next, end));
        }
        self.blocks += 1;
        Ok(())
    }

    /// A new id for one row whose id belongs to another row. It does not come from the statement's block,
    /// which is for the remaining rows.
    pub fn generate_alone(&self, ctx: &ExecContext<'_>) -> Result<(u64, Value)> {
        let (increment, offset) = ctx.auto_increment;
        let id = ctx.cluster.ids().allocate(self.table, 1, increment, offset)?;
        if id > self.last {
            return Err(exhausted());
        }
        Ok((id, value_of(id, &self.ty)))
    }

    /// A row is about to be written with a generated id. The first unused id instead of it, which is unused then.
    pub fn exchange(&mut self, id: u64) -> Option<(u64, Value)> {
        let Some(first) = self.unused.pop_front() else {
            self.tried = self.tried.max(self.sequence_of(id));
            return None;
        };
        self.unused.push_back(id);
        self.tried = self.tried.max(self.sequence_of(first));
        Some((first, value_of(first, &self.ty)))
    }

    /// Notes that a row has been written.
    pub fn wrote(&mut self, id: &Value, is_generated: bool) {
        let id = self.counted(id);
        self.written = self.written.max(id);
        if is_generated {
            self.tried = self.tried.max(id);
        }
        if !is_generated || self.is_forced {
            self.written_explicit = self.written_explicit.max(id);
        }
    }

    /// The statement fails at a row of a query with this explicit id, which is a duplicate: the counter passes it, as in
    /// InnoDB.
    pub fn failed_at(&mut self, id: &Value) {
        self.failed_explicit = self.counted(id);
    }

    /// Keeps the id of a row that was not inserted.
    pub fn keep_unused(&mut self, id: u64) {
        match self.unused.front() {
            Some(&first) if id < first => self.unused.push_front(id),
            _ => self.unused.push_back(id),
        }
    }

    /// Ids that are generated after an explicit one are larger.
    pub fn drop_unused_up_to(&mut self, explicit: &Value) {
        if self
            .unused
            .front()
            .is_some_and(|&first| first <= number_of(explicit))
        {
            self.unused.clear();
        }
    }

    /// Whether a row can get another id. The last id is repeated, and neither AUTO_RANDOM nor `SET insert_id` skips
    /// ids.
    pub fn can_skip(&self, id: u64) -> bool {
        self.random.is_none() && id < self.last && !self.is_forced
    }

    /// Notes the explicit id of a row. Later ids are larger.
    pub fn note(&mut self, value: &Value) {
        let id = self.counted(value);
        self.explicit = self.explicit.max(id);
        if self.left > 0 && id >= self.next && !self.is_forced {
            // The ids of the block behind it remain.
            let passed = ((id - self.next) / self.increment).saturating_add(1);
            self.left = self.left.saturating_sub(passed);
            if self.left > 0 {
                self.next = self.next.saturating_add(passed.saturating_mul(self.increment));
            }
        }
    }

    /// The number that the counter compares: 0 for a negative id; of AUTO_RANDOM, without its shard.
    fn counted(&self, value: &Value) -> u64 {
        let id = match value {
            Value::UInt(id) => *id,
            Value::Int(id) => u64::try_from(*id).unwrap_or(0),
            Value::Double(id) if *id > 0.0 => id.round_ties_even() as u64,
            Value::Decimal(id) => id.to_u64().unwrap_or(0),
            _ => 0,
        };
        self.sequence_of(id)
    }

    fn sequence_of(&self, id: u64) -> u64 {
        self.random.map_or(id, |(layout, _)| layout.sequence_of(id))
    }

    /// The statement writes no more rows. Raises the counter above explicit ids, and gives back the ids that are left
    /// where MySQL has them for later statements.
    pub fn finish(&mut self, has_failed: bool, ctx: &ExecContext<'_>) -> Result<()> {
        if has_failed || !self.counts_refused {
            self.explicit = self.written_explicit.max(self.failed_explicit);
        }
        self.report_explicit(ctx)?;
        if self.is_partitioned {
            self.give_back(self.written, ctx);
        } else if has_failed {
            self.give_back(self.tried, ctx);
        }
        Ok(())
    }

    /// All rows of the statement will be there, or none of them: no block is given back.
    pub fn finish_at_once(&mut self, ctx: &ExecContext<'_>) -> Result<()> {
        self.returnable.clear();
        self.report_explicit(ctx)
    }

    /// Gives back the blocks behind an id; of a partitioned table, what is left of that id's block, too.
    fn give_back(&mut self, last: u64, ctx: &ExecContext<'_>) {
        while let Some((first, end)) = self.returnable.pop() {
            let from = match last.checked_sub(first) {
                None => first,
                Some(passed) => {
                    let used = (passed / self.increment).saturating_add(1);
                    first.saturating_add(used.saturating_mul(self.increment))
                }
            };
            let is_whole = from == first;
            if from < end && (is_whole || self.is_partitioned) {
                ctx.cluster.ids().give_back(self.table, from, end);
            }
            if !is_whole {
                break;
            }
        }
    }

    /// Raises the counter above the ids that the statement has given explicitly.
    pub fn report_explicit(&mut self, ctx: &ExecContext<'_>) -> Result<()> {
        let explicit = std::mem::take(&mut self.explicit);
        if explicit > 0 {
            ctx.cluster.ids().raise_to(self.table, explicit)?;
        }
        Ok(())
    }
}

/// The value of an AUTO_INCREMENT column in LAST_INSERT_ID() and the OK packet.
pub(super) fn number_of(value: &Value) -> u64 {
    match value {
        Value::UInt(id) => *id,
        Value::Int(id) => *id as u64,
        Value::Double(id) => id.round_ties_even() as u64,
        _ => 0,
    }
}

fn value_of(id: u64, ty: &SqlType) -> Value {
    match ty.kind {
        TypeKind::Float | TypeKind::Double => Value::Double(id as f64),
        TypeKind::Decimal => Value::Decimal(Decimal::from(id)),
        _ if ty.unsigned => Value::UInt(id),
        _ => Value::Int(id as i64),
    }
}

#[cold]
fn exhausted() -> Error {
    Error::new(
        ER_AUTOINC_READ_FAILED,
        "Failed to read auto-increment value from storage engine",
    )
}
