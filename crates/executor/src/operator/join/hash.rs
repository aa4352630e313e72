//! Partners by keys: the right side is held in a hash table.
//!
//! Rows are held in memory and counted; if there is no memory for all of them, a block at a time. Keys are equal under the collations of their types. A key with a NULL
//! has no partner, but for a mark join its comparison is NULL with all rows whose other keys are not
//! different.

use std::hash::BuildHasher;

use arrow::array::Array;
use arrow::buffer::NullBuffer;
use arrow::record_batch::RecordBatch;
use arrow::row::Rows;
use functions::Expr;
use functions::order::RowKeys;
use hashbrown::{DefaultHashBuilder, HashTable};
use planner::plan::{JoinKey, JoinKind};
use types::{Error, Result};

use super::page::{Found, Page};
use super::partners::Partners;
use super::right_side::RightSide;
use crate::batch::RowWidths;
use crate::env::Env;
use crate::memory::Held;
use crate::operator::project::evaluate;

/// What a row costs in the table beside its columns and its key.
const ENTRY_BYTES: usize = 24;

pub(in crate::operator) struct HashPartners<'p> {
    right: RightSide<'p>,
    keys: &'p [JoinKey],
    /// NULL in a key matters.
    marks: bool,
    encoder: RowKeys,
    hasher: DefaultHashBuilder,
    table: Option<Table>,
    /// What the table takes beside the rows.
    held: Held,
    left: Option<LeftKeys>,
    row: usize,
    next: Next,
}

/// Where to go on with a left row.
#[derive(Clone, Copy)]
enum Next {
    Lookup,
    /// A right row with an equal key, if there is another one.
    Equal(Option<u32>),
    /// A right row with which the comparison may be NULL: a position in the list of them.
    Unknown(usize),
}

/// The right side.
struct Table {
    rows: RecordBatch,
    widths: RowWidths,
    keys: SideKeys,
    /// The first row of each key.
    first: HashTable<u32>,
    /// The next row with the same key.
    following: Vec<Option<u32>>,
    /// Rows with a NULL in a key, for mark joins.
    with_null: Vec<u32>,
}

struct LeftKeys {
    rows: usize,
    keys: SideKeys,
}

/// The keys of the rows of one side.
struct SideKeys {
    whole: Rows,
    /// Rows with a NULL in a key under which NULL is equal to nothing.
    nulls: Option<NullBuffer>,
    /// Each key column by itself, for mark joins by several keys.
    columns: Vec<KeyColumn>,
}

struct KeyColumn {
    keys: Rows,
    nulls: Option<NullBuffer>,
}

impl<'p> HashPartners<'p> {
    pub fn new(right: RightSide<'p>, keys: &'p [JoinKey], kind: JoinKind) -> Result<Self> {
        Ok(Self {
            right,
            keys,
            marks: kind == JoinKind::Mark,
            encoder: RowKeys::new(keys.iter().map(|key| key.left.ty()).collect())?,
            hasher: DefaultHashBuilder::default(),
            table: None,
            held: Held::default(),
            left: None,
            row: 0,
            next: Next::Lookup,
        })
    }

    fn side_keys<'x>(
        &self,
        batch: &RecordBatch,
        exprs: impl Iterator<Item = &'x Expr>,
        env: &Env<'_, '_>,
    ) -> Result<SideKeys> {
        let columns = evaluate(exprs, batch, env)?;
        let mut nulls = None;
        let mut each = Vec::new();
        for (key, column) in self.keys.iter().zip(&columns) {
            let own = column.logical_nulls().filter(|_| !key.null_safe);
            nulls = NullBuffer::union(nulls.as_ref(), own.as_ref());
            if self.marks && self.keys.len() > 1 {
                let encoder = RowKeys::new(vec![key.left.ty()])?;
                each.push(KeyColumn {
                    keys: encoder.encode(std::slice::from_ref(column))?,
                    nulls: own,
                });
            }
        }
        Ok(SideKeys {
            whole: self.encoder.encode(&columns)?,
            nulls,
            columns: each,
        })
    }

    /// Reads the right side, or a block of it if there is no memory for all its rows and keys.
    fn build(&mut self, env: &mut Env<'_, '_>) -> Result<Table> {
        let rows = self.right.rows(env)?;
        let mark = env.eval().warnings.count();
        let keys = self.right_keys(&rows, env)?;
        if self.right.is_in_blocks() || self.held.try_resize(keys.size_bytes(), env.memory)? {
            return self.table(rows, keys, env);
        }
        // They are computed again, block by block.
        drop(keys);
        drop(env.eval().warnings.take_back(mark));
        let rows = self.right.first_of_blocks(rows, env)?;
        let keys = self.right_keys(&rows, env)?;
        self.table(rows, keys, env)
    }

    fn right_keys(&self, rows: &RecordBatch, env: &Env<'_, '_>) -> Result<SideKeys> {
        self.side_keys(rows, self.keys.iter().map(|key| &key.right), env)
    }

    fn table(&mut self, rows: RecordBatch, keys: SideKeys, env: &Env<'_, '_>) -> Result<Table> {
        self.held.resize(keys.size_bytes(), env.memory)?;
        let count = rows.num_rows();
        let mut table = Table {
            widths: RowWidths::of(&rows),
            rows,
            first: HashTable::with_capacity(count),
            following: vec![None; count],
            with_null: Vec::new(),
            keys,
        };
        // Backwards, so that the rows of a key come in their order.
        for row in (0..count).rev() {
            if table.keys.has_null(row) {
                if self.marks {
                    table.with_null.push(row as u32);
                }
                continue;
            }
            table.insert(row, &self.hasher)?;
        }
        table.with_null.reverse();
        Ok(table)
    }
}

impl Table {
    fn insert(&mut self, row: usize, hasher: &DefaultHashBuilder) -> Result<()> {
        let keys = &self.keys.whole;
        let hash_of = |row: &u32| hasher.hash_one(keys.row(*row as usize).data());
        let key = keys.row(row).data();
        let number = u32::try_from(row).map_err(Error::internal)?;
        let same = |other: &u32| keys.row(*other as usize).data() == key;
        match self.first.find_mut(hasher.hash_one(key), same) {
            Some(first) => {
                let after = std::mem::replace(first, number);
                if let Some(following) = self.following.get_mut(row) {
                    *following = Some(after);
                }
            }
            None => {
                self.first.insert_unique(hasher.hash_one(key), number, hash_of);
            }
        }
        Ok(())
    }

    /// The first row with the key of a left row.
    fn find(&self, left: &SideKeys, row: usize, hasher: &DefaultHashBuilder) -> Option<u32> {
        if left.has_null(row) {
            return None;
        }
        let key = left.whole.row(row);
        let same = |other: &u32| self.keys.whole.row(*other as usize).data() == key.data();
        self.first.find(hasher.hash_one(key.data()), same).copied()
    }

    /// The right row at `at` in the list of those with which a left row may compare as NULL: all if the left
    /// row has a NULL, otherwise those that have one.
    fn maybe_unknown(&self, left: &SideKeys, row: usize, at: usize) -> Option<u32> {
        match left.has_null(row) {
            true => (at < self.rows.num_rows()).then_some(at as u32),
            false => self.with_null.get(at).copied(),
        }
    }

    /// Whether the keys of two rows, one of which has a NULL, compare as NULL: none of them is different.
    fn is_unknown(&self, left: &SideKeys, left_row: usize, right_row: usize) -> bool {
        let mut columns = left.columns.iter().zip(&self.keys.columns);
        columns.all(|(left, right)| {
            left.is_null(left_row)
                || right.is_null(right_row)
                || left.keys.row(left_row).data() == right.keys.row(right_row).data()
        })
    }
}

impl SideKeys {
    /// What they and the rows' entries take.
    fn size_bytes(&self) -> usize {
        let columns: usize = self.columns.iter().map(|column| column.keys.size()).sum();
        self.whole.size() + columns + self.whole.num_rows() * ENTRY_BYTES
    }

    fn has_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }
}

impl KeyColumn {
    fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }
}

impl Partners for HashPartners<'_> {
    fn begin(&mut self, left: &RecordBatch, env: &mut Env<'_, '_>) -> Result<bool> {
        if self.table.is_none() {
            self.table = Some(self.build(env)?);
        }
        let keys = self.side_keys(left, self.keys.iter().map(|key| &key.left), env)?;
        self.left = Some(LeftKeys {
            rows: left.num_rows(),
            keys,
        });
        (self.row, self.next) = (0, Next::Lookup);
        Ok(self.table.as_ref().is_some_and(|table| table.rows.num_rows() > 0))
    }

    fn find(&mut self, page: &mut Page, found: &[Found], _: &mut Env<'_, '_>) -> Result<()> {
        let (Some(table), Some(LeftKeys { rows, keys: left })) = (&self.table, &self.left) else {
            return Ok(());
        };
        page.add_right(table.rows.clone());
        while self.row < *rows && !page.is_full() {
            let row = self.row;
            let found = found.get(row).copied().unwrap_or(Found::Nothing);
            let next = match self.next {
                _ if page.is_settled(found) => None,
                Next::Lookup => Some(Next::Equal(table.find(left, row, &self.hasher))),
                Next::Equal(Some(right)) => {
                    page.push(row, right);
                    page.count_bytes(table.widths.wide(right as usize));
                    let following = table.following.get(right as usize).copied().flatten();
                    (!page.settles_at_once()).then_some(Next::Equal(following))
                }
                Next::Equal(None) => self.marks.then_some(Next::Unknown(0)),
                Next::Unknown(_) if found == Found::Unknown => None,
                Next::Unknown(at) => match table.maybe_unknown(left, row, at) {
                    Some(right) if table.is_unknown(left, row, right as usize) => {
                        page.push_unknown(row, right);
                        (!page.settles_at_once()).then_some(Next::Unknown(at + 1))
                    }
                    Some(_) => Some(Next::Unknown(at + 1)),
                    None => None,
                },
            };
            self.next = next.unwrap_or(Next::Lookup);
            self.row += usize::from(next.is_none());
        }
        page.set_done(self.row);
        Ok(())
    }

    fn is_in_blocks(&self) -> bool {
        self.right.is_in_blocks()
    }

    fn is_last_block(&self) -> bool {
        self.right.is_last_block()
    }

    fn next_block(&mut self, env: &mut Env<'_, '_>) -> Result<bool> {
        self.table = None;
        self.held.resize(0, env.memory)?;
        if let Some(rows) = self.right.next_block(env)? {
            let keys = self.right_keys(&rows, env)?;
            self.table = Some(self.table(rows, keys, env)?);
        }
        Ok(self.table.is_some())
    }

    fn first_block_again(&mut self, env: &mut Env<'_, '_>) -> Result<()> {
        self.table = None;
        self.held.resize(0, env.memory)?;
        let mark = env.eval().warnings.count();
        let rows = self.right.first_block_again(env)?;
        let keys = self.right_keys(&rows, env)?;
        drop(env.eval().warnings.take_back(mark));
        self.table = Some(self.table(rows, keys, env)?);
        Ok(())
    }

    fn row_bytes(&self) -> usize {
        self.table.as_ref().map_or(0, |table| table.widths.even)
    }
}
