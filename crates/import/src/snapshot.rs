//! Many connections to the source that all see the same point, and where the binary log is at that point.

use crate::Result;
use crate::endpoint::{Client, Endpoint, Flavour, literal, quoted};
use crate::error::Error;
use crate::inventory::Inventory;

/// A place in the source's binary log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) file: String,
    pub(crate) offset: u64,
    /// The transactions before it, as GTIDs. Empty if the source has none.
    pub(crate) gtids: String,
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.offset)
    }
}

pub(crate) struct Snapshot {
    pub(crate) readers: Vec<Client>,
    pub(crate) inventory: Inventory,
    /// `None` if the source writes no binary log, or does not let the account see where it is.
    pub(crate) position: Option<Position>,
}

impl Snapshot {
    /// Stops the source's writes for as long as it takes to open the transactions.
    pub(crate) fn open(source: &Endpoint, databases: &[String], readers: usize) -> Result<Self> {
        let mut locking = source.connect()?;
        let (flavour, _) = locking.flavour()?;
        let mut clients = (0..readers)
            .map(|_| source.connect())
            .collect::<Result<Vec<_>>>()?;
        let locked = lock(&mut locking, databases, readers)?;
        for client in &mut clients {
            client.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
            client.run("START TRANSACTION WITH CONSISTENT SNAPSHOT")?;
        }
        let position = match locked {
            true => position(&mut locking, flavour).unwrap_or_default(),
            false => None,
        };
        let inventory = Inventory::read(&mut locking, databases)?;
        if locked {
            locking.run("UNLOCK TABLES")?;
        }
        Ok(Self {
            readers: clients,
            inventory,
            position,
        })
    }
}

/// Locks the databases against writes. Returns whether it does: with one reader no lock is needed.
fn lock(client: &mut Client, databases: &[String], readers: usize) -> Result<bool> {
    client.run("SET SESSION lock_wait_timeout = 60")?;
    let Err(refused) = lock_all(client) else {
        return Ok(true);
    };
    let tables = client.rows(&format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES \
         WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA IN ({})",
        databases
            .iter()
            .map(|name| literal(name))
            .collect::<Vec<_>>()
            .join(", ")
    ))?;
    let tables = tables
        .iter()
        .map(|row| format!("{}.{} READ", quoted(&row.text(0)), quoted(&row.text(1))));
    let tables: Vec<String> = tables.collect();
    if tables.is_empty() {
        return Ok(false);
    }
    match client.run(&format!("LOCK TABLES {}", tables.join(", "))) {
        Ok(()) => Ok(true),
        Err(_) if readers == 1 => Ok(false),
        Err(tables) => Err(Error::Source(format!(
            "several connections cannot begin at the same point without a lock. \
             The account needs RELOAD ({refused}), or LOCK TABLES on the databases ({tables}). \
             With --threads 1 no lock is needed, but --follow is not possible then"
        ))),
    }
}

/// Stops all writes on the server.
pub(crate) fn lock_all(client: &mut Client) -> Result<()> {
    client.run("FLUSH TABLES WITH READ LOCK")
}

/// Where the binary log is now.
pub(crate) fn position(client: &mut Client, flavour: Flavour) -> Result<Option<Position>> {
    // MySQL has renamed the statement in 8.2, and dropped the old name in 8.4.
    let rows = match client.rows("SHOW MASTER STATUS") {
        Err(_) if flavour == Flavour::MySql => client.rows("SHOW BINARY LOG STATUS")?,
        other => other?,
    };
    let Some(row) = rows.first() else { return Ok(None) };
    let gtids = match flavour {
        Flavour::MariaDb => client.one("SELECT @@GLOBAL.gtid_binlog_pos")?.unwrap_or_default(),
        _ => row.text(4).replace(['\n', ' '], ""),
    };
    Ok(Some(Position {
        file: row.text(0),
        offset: row.number(1),
        gtids,
    }))
}
