//! The report of an import, and the files with the rows that it could not load.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::journal::Journal;
use super::part::Tally;
use crate::Result;
use crate::endpoint::Client;
use crate::error::Error;

/// How many reasons are printed.
const SHOWN: u64 = 5;

/// Writes the rows that the target did not take. Returns where they are, and why they are there.
pub(super) fn write(target: &mut Client, journal: Journal, prefix: &Path) -> Result<Option<String>> {
    let named = |ending: &str| {
        let mut name = prefix.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    let mut log = RowFile::new(named(".log"));
    let mut sql = RowFile::new(named(".sql"));
    let mut records = RowFile::new(named(".csv"));
    let mut count = 0;
    let mut reasons = Vec::new();
    journal.rejected(target, |rejected| {
        count += 1;
        let reason = format!("{}, line {}: {}", rejected.file, rejected.line, rejected.reason);
        if count <= SHOWN {
            reasons.push(reason.clone());
        }
        log.line(reason.as_bytes(), b"")?;
        match rejected.is_sql {
            true => sql.line(&rejected.row, b";"),
            false => records.line(rejected.row.strip_suffix(b"\n").unwrap_or(&rejected.row), b""),
        }
    })?;
    if count == 0 {
        return Ok(None);
    }
    let mut places = Vec::new();
    for file in [sql, records, log] {
        places.extend(file.finish()?);
    }
    if count > SHOWN {
        reasons.push(format!("and {} more", count - SHOWN));
    }
    Ok(Some(format!(
        "{count} rows were not taken; they are in {}:\n  {}",
        places.join(", "),
        reasons.join("\n  ")
    )))
}

/// A file that is created with its first line.
struct RowFile {
    path: PathBuf,
    out: Option<BufWriter<File>>,
}

impl RowFile {
    fn new(path: PathBuf) -> Self {
        Self { path, out: None }
    }

    fn line(&mut self, bytes: &[u8], end: &[u8]) -> Result<()> {
        let path = self.path.display().to_string();
        let failed = |error| Error::Output { path, error };
        let written = (|| {
            let out = match &mut self.out {
                Some(out) => out,
                None => self.out.insert(BufWriter::new(File::create(&self.path)?)),
            };
            out.write_all(bytes)?;
            out.write_all(end)?;
            out.write_all(b"\n")
        })();
        written.map_err(failed)
    }

    fn finish(self) -> Result<Option<String>> {
        let path = self.path.display().to_string();
        let Some(mut out) = self.out else { return Ok(None) };
        match out.flush() {
            Ok(()) => Ok(Some(path)),
            Err(error) => Err(Error::Output { path, error }),
        }
    }
}

pub(super) fn summary(tally: &Tally, files: usize, start: Instant, is_resumed: bool) {
    let seconds = start.elapsed().as_secs_f64();
    let rows = tally.rows.load(Ordering::Relaxed);
    println!(
        "{files} files, {rows} rows in {seconds:.1} s ({:.0} rows/s){}.",
        rows as f64 / seconds.max(1e-3),
        if is_resumed {
            "; the others were loaded by an earlier run"
        } else {
            ""
        }
    );
    let warnings = tally.warnings.load(Ordering::Relaxed);
    if warnings > 0 {
        let shown = tally.shown_warnings.lock().map(|shown| shown.join("\n  "));
        eprintln!(
            "{warnings} warnings:\n  {}{}",
            shown.unwrap_or_default(),
            if warnings > 10 { "\n  ..." } else { "" }
        );
    }
}
