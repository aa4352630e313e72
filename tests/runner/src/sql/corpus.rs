//! All scripts of the corpus: finding and running them, and comparing or recording their results.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use mysql::prelude::Queryable;
use mysql::{Conn, Opts, Row};

use super::play::{Route, Servers, play};
use super::script::{Block, Item, Script};
use crate::report::Report;

/// How many differences are shown per script. Further ones are counted.
const DIFFERENCES_SHOWN_MAX: usize = 12;

#[derive(Debug, Clone)]
pub struct Selection {
    pub directory: PathBuf,
    /// Only scripts whose path contains one of these; all if empty.
    pub filters: Vec<String>,
}

/// Runs the scripts and compares: one passed or failed check per script.
pub fn check(selection: &Selection, opts: &Opts, stemdb: bool, routes: &[Route], report: &mut Report) {
    check_on(selection, &Servers::one(opts), stemdb, routes, report);
}

/// The same, for scripts whose connections use different servers.
pub fn check_on(
    selection: &Selection,
    servers: &Servers,
    stemdb: bool,
    routes: &[Route],
    report: &mut Report,
) {
    for &route in routes {
        for path in paths(selection) {
            let name = format!("sql {} ({})", shown(selection, &path), route.name());
            match check_one(&path, servers, stemdb, route, routes.first() == Some(&route)) {
                Ok(None) => {}
                Ok(Some(differences)) if differences.is_empty() => report.pass(&name),
                Ok(Some(differences)) => report.fail(&name, &differences),
                Err(e) => report.fail(&name, &e),
            }
        }
    }
}

/// Runs the scripts and writes the results into them.
pub fn record(selection: &Selection, opts: &Opts, stemdb: bool, report: &mut Report) {
    for path in paths(selection) {
        let name = format!("record {}", shown(selection, &path));
        match record_one(&path, opts, stemdb) {
            Ok(true) => report.pass(&name),
            Ok(false) => {}
            Err(e) => report.fail(&name, &e),
        }
    }
}

fn check_one(
    path: &Path,
    servers: &Servers,
    stemdb: bool,
    route: Route,
    first_route: bool,
) -> Result<Option<String>, String> {
    let script = read(path)?;
    if (script.only_stemdb && !stemdb) || (script.one_route && !first_route) {
        return Ok(None);
    }
    if script.only_embedded && stemdb && shares_its_store(&servers.main).map_err(|e| e.to_string())? {
        return Ok(None);
    }
    let answers = play(&script, servers, &database(path), route).map_err(|e| e.to_string())?;
    let mut out = String::new();
    let mut count = 0;
    for (block, answer) in script.blocks().zip(&answers) {
        if block.answer == *answer {
            continue;
        }
        count += 1;
        if count <= DIFFERENCES_SHOWN_MAX {
            out.push_str(&difference(path, block, answer));
        }
    }
    if count > DIFFERENCES_SHOWN_MAX {
        out.push_str(&format!("... {count} differences in all\n"));
    }
    Ok(Some(out))
}

/// Whether servers share the store.
fn shares_its_store(opts: &Opts) -> Result<bool, mysql::Error> {
    let engine: Option<Row> = Conn::new(opts.clone())?.query_first("SHOW ENGINES")?;
    let comment: Option<String> = engine.and_then(|row| row.get("Comment"));
    Ok(comment.is_some_and(|comment| comment.contains("(tikv)")))
}

fn record_one(path: &Path, opts: &Opts, stemdb: bool) -> Result<bool, String> {
    let mut script = read(path)?;
    if script.only_stemdb != stemdb {
        return Ok(false);
    }
    let answers =
        play(&script, &Servers::one(opts), &database(path), Route::Planner).map_err(|e| e.to_string())?;
    let mut answers = answers.into_iter();
    for item in &mut script.items {
        if let Item::Block(block) = item {
            block.answer = answers.next().unwrap_or_default();
        }
    }
    fs::write(path, script.print()).map_err(|e| e.to_string())?;
    Ok(true)
}

fn read(path: &Path) -> Result<Script, String> {
    let text = fs::read_to_string(path).map_err(|e| e.to_string())?;
    Script::parse(&text)
}

fn difference(path: &Path, block: &Block, answer: &[String]) -> String {
    let mut out = format!("{}:{}: {}\n", path.display(), block.line, statement(block));
    let common_head = block
        .answer
        .iter()
        .zip(answer)
        .take_while(|(a, b)| a == b)
        .count();
    for line in block.answer.iter().skip(common_head) {
        if !answer.contains(line) {
            out.push_str(&format!("    - {line}\n"));
        }
    }
    for line in answer.iter().skip(common_head) {
        if !block.answer.contains(line) {
            out.push_str(&format!("    + {line}\n"));
        }
    }
    if block.answer.len() == answer.len() && block.answer.iter().all(|l| answer.contains(l)) {
        out.push_str("    the same lines in another order\n");
    }
    out
}

fn statement(block: &Block) -> String {
    use super::script::Action::*;
    match &block.action {
        Run { connection, sql } | Send { connection, sql } => format!("{connection}: {sql}"),
        Collect { connection } | Close { connection } => connection.clone(),
        Login { connection, login } => format!("{connection}: login {}", login.user),
    }
}

/// A script's database has the script's name, so that messages which contain it are always the same.
fn database(path: &Path) -> String {
    let part = |p: Option<&OsStr>| p.map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let folder = part(path.parent().and_then(Path::file_name));
    format!("{folder}_{}", part(path.file_stem()))
}

fn shown(selection: &Selection, path: &Path) -> String {
    path.strip_prefix(&selection.directory)
        .unwrap_or(path)
        .display()
        .to_string()
}

fn paths(selection: &Selection) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(&selection.directory, &mut found);
    found.sort();
    found.retain(|path| {
        let path = path.to_string_lossy();
        selection.filters.is_empty() || selection.filters.iter().any(|f| path.contains(f.as_str()))
    });
    found
}

fn collect(directory: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|e| e == "test") {
            found.push(path);
        }
    }
}
