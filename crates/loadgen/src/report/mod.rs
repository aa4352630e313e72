//! `stemdb bench report`: one self-contained HTML page of any number of results.
//!
//! `compare` sorts results by workload and peer and takes medians of repeated runs. `page` writes the page,
//! with the charts of `chart`. The page loads nothing: its charts are SVG, and it has no script.

mod axis;
mod chart;
mod compare;
mod page;
mod text;

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::result::BenchResult;

/// Parts of a page. `stemdb replay` writes pages with them, too.
pub use chart::{Across, BarChart, Line, LineChart, escape};

/// The style sheet of a page.
pub const STYLE: &str = include_str!("style.css");

/// Reads results and writes the page. Returns medians and ratios as text.
pub fn report(files: &[PathBuf], out: &Path, baseline: Option<&str>) -> Result<String> {
    let results = files
        .iter()
        .map(|path| BenchResult::read(path))
        .collect::<Result<Vec<_>>>()?;
    let comparisons = compare::comparisons(&results, baseline)?;
    std::fs::write(out, page::page(&comparisons, &results)).map_err(|source| Error::File {
        path: out.to_owned(),
        source,
    })?;
    Ok(text::text(&comparisons))
}

/// The page. `baseline` names the peer that ratios refer to.
#[cfg(test)]
fn html(results: &[BenchResult], baseline: Option<&str>) -> Result<String> {
    let comparisons = compare::comparisons(results, baseline)?;
    Ok(page::page(&comparisons, results))
}

#[cfg(test)]
mod tests;
