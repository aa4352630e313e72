//! The result file of a run, in JSON: the input of `stemdb bench report` and of scripts.
//!
//! Times are in microseconds or seconds, as the names say, sizes in bytes, rates per second.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Incremented when a field changes its meaning. New fields do not change it.
pub const FORMAT: u32 = 1;

/// One `stemdb bench run`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchResult {
    pub format: u32,
    pub workload: String,
    /// The name in reports: the given label, or the server's name.
    pub label: String,
    /// Seconds since 1970.
    pub started_at: u64,
    pub server: ServerInfo,
    pub client: ClientInfo,
    pub settings: Settings,
    /// One for each number of threads.
    pub rungs: Vec<Rung>,
    /// Why the run ended early, if it did.
    pub failure: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerInfo {
    pub version: String,
    pub comment: String,
    /// The server's process, if it is on this host and was found.
    pub pid: Option<u32>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientInfo {
    /// The version of the load generator.
    pub version: String,
    pub processors: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Without the password.
    pub dsn: String,
    /// `prepared` or `text`.
    pub protocol: String,
    /// `wire` or `driver`; empty in older files, which had only the first.
    #[serde(default)]
    pub client: String,
    /// `closed`, or `open` if a rate was given.
    pub r#loop: String,
    pub rate: Option<f64>,
    pub seconds: f64,
    pub warm_up_seconds: f64,
    pub seed: u64,
    /// The workload's own options.
    pub options: BTreeMap<String, String>,
}

/// The measurements with one number of threads.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Rung {
    pub threads: usize,
    pub elapsed_seconds: f64,
    /// Successful operations per second.
    pub throughput: f64,
    /// Statements per second; each statement of a transaction counts.
    pub statements_per_second: f64,
    /// All operations together.
    pub all: Operation,
    pub operations: Vec<Operation>,
    pub errors: Vec<ErrorCount>,
    /// Open loop: operations that were due and were never sent.
    pub missed: u64,
    pub server: Option<Cost>,
    pub client: Option<Cost>,
    /// The workload's own figures.
    #[serde(default)]
    pub figures: Vec<Figure>,
    pub series: Vec<Interval>,
    pub failure: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Operation {
    pub name: String,
    pub count: u64,
    pub errors: u64,
    pub per_second: f64,
    /// Of successful operations.
    pub latency: Latency,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    pub mean_us: f64,
    pub p50_us: f64,
    pub p90_us: f64,
    pub p95_us: f64,
    pub p99_us: f64,
    pub p999_us: f64,
    pub max_us: f64,
}

/// A named figure; the name includes the unit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    pub name: String,
    pub value: f64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ErrorCount {
    pub code: u16,
    pub count: u64,
    /// The first error's message.
    pub message: String,
}

/// A process's resource usage during the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    pub user_seconds: f64,
    pub system_seconds: f64,
    pub cpu_us_per_operation: f64,
    pub cpu_us_per_statement: f64,
    pub resident_bytes_start: u64,
    pub resident_bytes_end: u64,
    pub resident_bytes_max: u64,
}

/// One interval of a run: a second, or the value of `--interval`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Since the clock started; negative while warming up.
    pub start_seconds: f64,
    pub seconds: f64,
    pub operations: u64,
    pub errors: u64,
    pub latency: Latency,
    /// Processors in use: 1.5 is one and a half.
    pub server_cpu: Option<f64>,
    pub server_resident_bytes: Option<u64>,
}

impl BenchResult {
    pub fn write(&self, path: &Path) -> Result<()> {
        let file = |source| Error::File {
            path: path.to_owned(),
            source,
        };
        let mut text = serde_json::to_vec_pretty(self).map_err(|e| file(e.into()))?;
        text.push(b'\n');
        // Written to another file and then renamed, so that a reader never sees half a file.
        let beside = path.with_extension("json.part");
        fs::write(&beside, text).map_err(file)?;
        fs::rename(&beside, path).map_err(file)
    }

    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read(path).map_err(|source| Error::File {
            path: path.to_owned(),
            source,
        })?;
        let format = |message: String| Error::Format {
            path: path.to_owned(),
            message,
        };
        let result: Self = serde_json::from_slice(&text).map_err(|e| format(e.to_string()))?;
        if result.format != FORMAT {
            return Err(format(format!("its format is {}, not {FORMAT}", result.format)));
        }
        Ok(result)
    }

    /// Successful operations of all rungs.
    pub fn successes(&self) -> u64 {
        self.rungs.iter().map(|rung| rung.all.count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> BenchResult {
        BenchResult {
            format: FORMAT,
            workload: "w".to_owned(),
            label: "l".to_owned(),
            started_at: 1,
            server: ServerInfo::default(),
            client: ClientInfo::default(),
            settings: Settings::default(),
            rungs: vec![Rung {
                threads: 8,
                series: vec![Interval::default()],
                ..Rung::default()
            }],
            failure: None,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        example().write(&path).unwrap();
        assert_eq!(BenchResult::read(&path).unwrap(), example());
    }

    #[test]
    fn other_files_are_refused_in_one_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        for text in ["", "{}", "[1]", "no json"] {
            fs::write(&path, text).unwrap();
            let message = BenchResult::read(&path).unwrap_err().to_string();
            assert!(
                message.contains("not a result of `stemdb bench run`"),
                "{message}"
            );
            assert!(!message.contains('\n'));
        }
        let newer = BenchResult {
            format: FORMAT + 1,
            ..example()
        };
        newer.write(&path).unwrap();
        assert!(
            BenchResult::read(&path)
                .unwrap_err()
                .to_string()
                .contains("format is 2")
        );
        assert!(BenchResult::read(&directory.path().join("none")).is_err());
    }
}
