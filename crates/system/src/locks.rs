//! Row locks as the system tables show them. They are read from the lock table when a statement asks for
//! them; nothing is recorded in advance.

use std::collections::HashMap;
use std::sync::Arc;

use codec::key::{TableKey, int_handle};
use kv::{LockMode, LockedKey};
use schema::model::Table;
use types::Value;

use crate::table::{Context, SessionTransaction};

/// The most locks that are listed.
const LISTED_MAX: usize = 100_000;
pub(crate) const ENGINE: &str = "INNODB";
/// The width of a lock's id.
const LOCK_ID_BYTES: usize = 128;

/// The locks of this moment.
pub(crate) struct Locks<'a> {
    pub(crate) keys: Vec<LockedKey>,
    /// By the owner of their locks.
    pub(crate) transactions: HashMap<u64, SessionTransaction>,
    /// By the ids in keys, with the position of the partition.
    tables: HashMap<i64, (&'a Arc<Table>, usize)>,
}

/// What is locked.
pub(crate) struct Place<'a> {
    pub(crate) table: &'a Table,
    pub(crate) partition: Option<String>,
    pub(crate) subpartition: Option<String>,
    pub(crate) index: String,
    pub(crate) data: String,
}

impl<'a> Locks<'a> {
    pub(crate) fn now(ctx: &Context<'a>) -> Self {
        let mut tables = HashMap::new();
        for table in ctx
            .schema
            .databases
            .values()
            .flat_map(|database| database.tables.values())
        {
            let ids = table.physical_ids().into_iter().enumerate();
            tables.extend(ids.map(|(leaf, id)| (id, (table, leaf))));
        }
        let transactions = ctx.sources.server.transactions().into_iter();
        Self {
            keys: ctx.sources.cluster.store().locked_keys(LISTED_MAX),
            transactions: transactions.map(|one| (one.owner, one)).collect(),
            tables,
        }
    }

    /// The locked rows and index entries.
    pub(crate) fn of_tables(&self) -> impl Iterator<Item = (&LockedKey, Place<'a>)> {
        let keys = self.keys.iter();
        keys.filter_map(|locked| Some((locked, self.place(&locked.key)?)))
    }

    /// The number of the session that owns a lock; NULL for a prepared XA transaction, and for one of the
    /// server.
    pub(crate) fn session(&self, owner: u64) -> Value {
        let transaction = self.transactions.get(&owner);
        transaction.map_or(Value::Null, |found| Value::UInt(found.session))
    }

    /// `None`: it is not a key of a table.
    pub(crate) fn place(&self, key: &[u8]) -> Option<Place<'a>> {
        let parsed = TableKey::parse(key).ok()?;
        let (TableKey::Row { table_id, .. } | TableKey::Index { table_id, .. }) = parsed;
        let (table, leaf) = *self.tables.get(&table_id)?;
        let (index, data) = match parsed {
            TableKey::Row { handle, .. } => {
                let data = int_handle(key).map_or_else(|_| hexadecimal(handle), |handle| handle.to_string());
                ("PRIMARY".to_owned(), data)
            }
            TableKey::Index { index_id, parts, .. } => {
                let index = table.indexes.iter().find(|index| index.id == index_id)?;
                (index.name.clone(), hexadecimal(parts))
            }
        };
        let leaf = table.partitioning.as_ref().and_then(|by| by.leaves().nth(leaf));
        Some(Place {
            table,
            partition: leaf.as_ref().map(|leaf| leaf.partition.name.clone()),
            subpartition: leaf.and_then(|leaf| Some(leaf.subpartition?.name.clone())),
            index,
            data,
        })
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    format!("0x{digits}")
}

/// Identifies a lock, or a request for one, as long as it lasts.
pub(crate) fn lock_id(owner: u64, place: &Place<'_>) -> String {
    let mut id = format!("{owner}:{}:{}:{}", place.table.id, place.index, place.data);
    id.truncate(id.floor_char_boundary(LOCK_ID_BYTES));
    id
}

pub(crate) fn mode_name(mode: LockMode) -> &'static str {
    match mode {
        LockMode::Shared => "S,REC_NOT_GAP",
        LockMode::Exclusive => "X,REC_NOT_GAP",
    }
}
