//! The stand-in, with region boundaries within tables; or a real cluster.

use std::path::{Path, PathBuf};

use testkit::StandIn;

use super::program;
use crate::server::Program;

/// The first id a table can have in a new database.
pub const FIRST_ID: i64 = 101;

/// One table in so many has its rows in several regions.
const SPLIT_EVERY: usize = 17;
const LAST_SPLIT_ID: i64 = 2_500;

/// A cluster for one suite.
pub struct Cluster {
    url: String,
    /// `None`: a real cluster, in which the tests cannot inject faults.
    stand_in: Option<StandIn>,
    binary: PathBuf,
}

impl Cluster {
    /// Starts three stores. Metadata and some tables are in regions of their own. The rows of those tables
    /// are in two regions, and so are their indexes.
    pub fn start(binary: &Path) -> Result<Self, String> {
        let stand_in = StandIn::start(&["-stores", "3", "-split", "t"])?;
        let cluster = Self {
            url: stand_in.url(),
            stand_in: Some(stand_in),
            binary: binary.to_owned(),
        };
        for table in (FIRST_ID..LAST_SPLIT_ID).step_by(SPLIT_EVERY) {
            cluster.split(&table_key(table, b""))?;
            cluster.split(&table_key(table, b"_i\x80\0\0\0\0\0\0\x02"))?;
            cluster.split(&row_key(table, 3))?;
        }
        Ok(cluster)
    }

    /// A running cluster, given as for `stemdb serve --store`.
    pub fn real(binary: &Path, url: &str) -> Self {
        Self {
            url: url.to_owned(),
            stand_in: None,
            binary: binary.to_owned(),
        }
    }

    pub fn is_real(&self) -> bool {
        self.stand_in.is_none()
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn program(&self) -> Program {
        program(&self.binary, &self.url)
    }

    pub fn stand_in(&self) -> Result<&StandIn, String> {
        self.stand_in
            .as_ref()
            .ok_or_else(|| "only the stand-in has a control port".to_owned())
    }

    pub fn control(&self, path: &str) -> Result<String, String> {
        self.stand_in()?.control(path)
    }

    /// Makes a region start at a key.
    pub fn split(&self, key: &[u8]) -> Result<(), String> {
        self.control(&format!("/split?hexkey={}", hex(key))).map(drop)
    }

    /// Moves the leader of a key's region to one of the stores, 1 to 3.
    pub fn move_leader(&self, key: &[u8], store: u64) -> Result<(), String> {
        self.control(&format!("/leader?hexkey={}&store={store}", hex(key)))
            .map(drop)
    }
}

/// The prefix of a table's keys, followed by `rest` (`docs/format.md`).
pub fn table_key(table: i64, rest: &[u8]) -> Vec<u8> {
    let mut key = vec![b't'];
    key.extend(ordered(table));
    key.extend(rest);
    key
}

/// The key of a row with an integer primary key.
pub fn row_key(table: i64, id: i64) -> Vec<u8> {
    let mut key = table_key(table, b"_r");
    key.extend(ordered(id));
    key
}

fn ordered(number: i64) -> [u8; 8] {
    (number ^ i64::MIN).to_be_bytes()
}

fn hex(key: &[u8]) -> String {
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}
