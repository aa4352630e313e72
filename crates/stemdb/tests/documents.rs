//! Compares the documents with the repository: which crate may use which, whether links have a target, and
//! whether the tests exist that `docs/commit.md` names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use toml::Table;

/// The root folder of the repository.
fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("crates/stemdb lies in the repository")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn manifest(folder: &Path) -> Table {
    let path = folder.join("Cargo.toml");
    toml::from_str(&read(&path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The `[dependencies]` of a manifest.
fn dependencies(manifest: &Table) -> Table {
    let found = manifest.get("dependencies").and_then(|found| found.as_table());
    found.cloned().unwrap_or_default()
}

fn folders(of: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(of).unwrap_or_else(|error| panic!("{}: {error}", of.display()));
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}

/// The crates of the workspace by the names that ARCHITECTURE.md gives them (`crates/kv` is `kv`,
/// `tests/runner` stays as it is), each with the other crates of the workspace that it depends on.
/// Dev-dependencies do not count.
fn crates() -> BTreeMap<String, BTreeSet<String>> {
    let root = root();
    let workspace = manifest(&root);
    let workspace = workspace["workspace"].as_table().expect("[workspace]");
    let ours: BTreeSet<&String> = workspace["dependencies"]
        .as_table()
        .expect("[workspace.dependencies]")
        .iter()
        .filter(|(_, dependency)| dependency.get("path").is_some())
        .map(|(name, _)| name)
        .collect();
    let mut crates = BTreeMap::new();
    for member in workspace["members"].as_array().expect("members") {
        let member = member.as_str().expect("a member's path");
        let found = match member.strip_suffix("/*") {
            Some(parent) => folders(&root.join(parent)),
            None => vec![root.join(member)],
        };
        for folder in found.iter().filter(|folder| folder.join("Cargo.toml").exists()) {
            let path = folder.strip_prefix(&root).expect("a folder of the repository");
            let path = path.to_str().expect("UTF-8");
            let name = path.strip_prefix("crates/").unwrap_or(path);
            let uses = dependencies(&manifest(folder)).into_iter();
            let uses = uses.filter(|(used, how)| ours.contains(used) || how.get("path").is_some());
            crates.insert(name.to_owned(), uses.map(|(used, _)| used).collect());
        }
    }
    crates
}

/// The texts between backquotes.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The rows of ARCHITECTURE.md's table of parts, from the top: a crate, and those that it may use.
fn documented() -> Vec<(String, BTreeSet<String>)> {
    let text = read(&root().join("ARCHITECTURE.md"));
    let header = text
        .lines()
        .position(|line| line.starts_with("| part |") && line.ends_with("| it uses |"));
    let header = header.expect("ARCHITECTURE.md has a table `| part | ... | it uses |`");
    let rows = text
        .lines()
        .skip(header + 2)
        .take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        assert_eq!(
            cells.len(),
            3,
            "ARCHITECTURE.md, a row of the table of parts: {row}"
        );
        let name = quoted(cells[0])
            .pop()
            .unwrap_or_else(|| panic!("no crate in the first cell: {row}"));
        (name, quoted(cells[2]).into_iter().collect())
    })
    .collect()
}

#[test]
fn the_table_of_parts_is_what_the_manifests_say() {
    let crates = crates();
    let documented = documented();
    let mut wrong = Vec::new();
    let rows: BTreeSet<&String> = documented.iter().map(|(name, _)| name).collect();
    for name in crates.keys().filter(|name| !rows.contains(name)) {
        wrong.push(format!("the crate `{name}` has no row"));
    }
    for (at, (name, allowed)) in documented.iter().enumerate() {
        let Some(used) = crates.get(name) else {
            wrong.push(format!("`{name}` has a row and is no crate of the workspace"));
            continue;
        };
        for dependency in used.difference(allowed) {
            wrong.push(format!(
                "the Cargo.toml of `{name}` depends on `{dependency}`, which its row does not allow"
            ));
        }
        for dependency in allowed.difference(used) {
            wrong.push(format!(
                "the row of `{name}` allows `{dependency}`, on which its Cargo.toml does not depend"
            ));
        }
        for dependency in allowed {
            if !documented[at + 1..].iter().any(|(below, _)| below == dependency) {
                wrong.push(format!("`{dependency}` is not below `{name}`, which uses it"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "ARCHITECTURE.md, the table of parts:\n  {}",
        wrong.join("\n  ")
    );
}

/// The Markdown files of the repository. Skips hidden folders, and those of build results (they hold a
/// `CACHEDIR.TAG`) and of fetched packages.
fn markdown_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        if path.is_dir() {
            let foreign =
                ["target", "var", "node_modules"].contains(&name) || path.join("CACHEDIR.TAG").exists();
            if !foreign && !name.starts_with('.') {
                markdown_files(&path, found);
            }
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

/// The lines of a Markdown text that are not code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let fence = line.starts_with("```");
        fenced ^= fence;
        !fence && !fenced && !line.starts_with("    ")
    })
}

/// The anchors of a Markdown text's headings, made as GitHub and GitLab make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    headings
        .map(|heading| {
            let heading = heading.trim_start_matches('#').trim().to_lowercase();
            let shown = heading
                .chars()
                .filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
            shown.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

/// The targets of a text's links that lead into the repository.
fn relative_links(text: &str) -> Vec<String> {
    let targets = prose(text).flat_map(|line| line.split("](").skip(1));
    let targets = targets.filter_map(|rest| rest.split(')').next());
    targets
        .filter(|target| !target.contains("://"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut files = Vec::new();
    markdown_files(&root(), &mut files);
    assert!(files.len() > 10, "only {files:?}");
    let mut broken = Vec::new();
    for file in &files {
        for link in relative_links(&read(file)) {
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match path {
                "" => file.clone(),
                path => file.with_file_name(path),
            };
            let found = match anchor {
                "" => target.exists(),
                anchor => target.is_file() && anchors(&read(&target)).contains(anchor),
            };
            if !found {
                broken.push(format!(
                    "{}: {link}",
                    file.strip_prefix(root()).unwrap_or(file).display()
                ));
            }
        }
    }
    assert!(
        broken.is_empty(),
        "links that lead nowhere:\n  {}",
        broken.join("\n  ")
    );
}

/// The documentation of a crate opens with what it is, then says what it is not and where to go next.
#[test]
fn crates_say_what_they_are_not_and_where_to_go_next() {
    let mut wrong = Vec::new();
    for name in crates().keys() {
        let folder = root().join("crates").join(name);
        let folder = if folder.exists() {
            folder
        } else {
            root().join(name)
        };
        let sources = ["src/lib.rs", "src/main.rs"].map(|file| folder.join(file));
        let source = sources
            .iter()
            .find(|file| file.exists())
            .expect("a crate's first file");
        let text = read(source);
        let opening = text.lines().take_while(|line| line.starts_with("//!"));
        let opening = opening.map(|line| line.trim_start_matches("//!").trim());
        let opening = opening.collect::<Vec<_>>().join(" ");
        let goes_on = [
            "Where to go next",
            "Where to find what",
            "tart at",
            "tart in",
            "tart there",
            "To follow a query",
        ];
        if !opening.contains("Not here") || !goes_on.iter().any(|words| opening.contains(words)) {
            wrong.push(name.clone());
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// ARCHITECTURE.md follows a SELECT and an UPDATE through files. The functions behind each link are in that file.
#[test]
fn functions_on_the_way_of_a_statement_exist() {
    let text = read(&root().join("ARCHITECTURE.md"));
    let (_, rest) = text
        .split_once("## One SELECT")
        .expect("the section that follows a SELECT");
    let (way, _) = rest.split_once("\n## ").expect("the next section");
    let mut wrong = Vec::new();
    let mut count = 0;
    for link in way.split("](").skip(1) {
        let (file, behind) = link.split_once(')').expect("the end of a link");
        let mut behind = behind.trim_start();
        while let Some((name, rest)) = behind.strip_prefix('`').and_then(|name| name.split_once('`')) {
            let function = name.rsplit("::").next().unwrap_or(name);
            if !read(&root().join(file)).contains(&format!("fn {function}")) {
                wrong.push(format!("{file}: {name}"));
            }
            count += 1;
            behind = rest.trim_start_matches([',', ' ']);
        }
    }
    assert!(wrong.is_empty() && count > 10, "{count}: {wrong:?}");
}

/// The table of invariants in `docs/commit.md` names the tests that pin each of them. A renamed test would leave its
/// invariant without one.
#[test]
fn tests_that_pin_the_invariants_of_a_commit_exist() {
    let root = root();
    let text = read(&root.join("docs/commit.md"));
    let (_, rows) = text.split_once("## Invariants").expect("the table of invariants");
    let rows = rows.split("\n## ").next().unwrap_or_default();
    let is_function =
        |name: &String| name.len() > 20 && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let named: Vec<String> = rows
        .lines()
        .filter(|line| line.starts_with("| "))
        .flat_map(quoted)
        .filter(is_function)
        .collect();
    assert!(named.len() > 15, "{named:?}");
    let mut sources = String::new();
    add_sources(&root.join("crates"), &mut sources);
    let missing: Vec<&String> = named
        .iter()
        .filter(|name| !sources.contains(&format!("fn {name}(")))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/commit.md names tests that are not there: {missing:?}"
    );
}

fn add_sources(folder: &Path, sources: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            add_sources(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push_str(&read(&path));
        }
    }
}
