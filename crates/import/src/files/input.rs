//! The files of an import, in the order in which they are read, and their bytes.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::arguments::Kind;
use crate::Result;
use crate::error::Error;

/// A file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Input {
    /// What it is called in messages, and on the target.
    pub(super) name: String,
    /// `None`: standard input.
    pub(super) path: Option<PathBuf>,
    pub(super) kind: Kind,
    pub(super) database: Option<String>,
    pub(super) table: Option<String>,
    /// A file of a directory that mydumper or `stemdb export` has written.
    pub(super) is_of_directory: bool,
    pub(super) bytes: u64,
}

/// The files that are named, and those of directories.
pub(super) fn inputs(paths: &[PathBuf], format: Option<Kind>) -> Result<Vec<Input>> {
    let mut inputs = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            inputs.push(Input {
                name: "-".to_owned(),
                path: None,
                kind: format.unwrap_or(Kind::Sql),
                database: None,
                table: None,
                is_of_directory: false,
                bytes: 0,
            });
        } else if path.is_dir() {
            inputs.extend(directory(path, format)?);
        } else {
            let name = file_name(path);
            let kind = format.or_else(|| kind(stem(&name).1)).ok_or_else(|| {
                Error::Arguments(format!(
                    "{}: what it holds cannot be told from its name; say it with --format",
                    path.display()
                ))
            })?;
            inputs.push(input(path, kind, kind != Kind::Sql)?);
        }
    }
    Ok(inputs)
}

fn input(path: &Path, kind: Kind, is_named: bool) -> Result<Input> {
    let bytes = std::fs::metadata(path)
        .map_err(|error| unreadable(path, &error))?
        .len();
    let name = file_name(path);
    let (database, table) = match is_named {
        true => names(stem(&name).0),
        false => (None, None),
    };
    Ok(Input {
        name,
        path: Some(path.to_owned()),
        kind,
        database,
        table,
        is_of_directory: false,
        bytes,
    })
}

/// The files of a directory that mydumper or `stemdb export` has written: databases, tables, rows, views, and
/// the rest.
fn directory(path: &Path, format: Option<Kind>) -> Result<Vec<Input>> {
    let entries = std::fs::read_dir(path).map_err(|error| unreadable(path, &error))?;
    let mut names = Vec::new();
    for entry in entries {
        names.push(file_name(
            &entry.map_err(|error| unreadable(path, &error))?.path(),
        ));
    }
    names.sort();
    check_complete(path, &names)?;
    let mut found = Vec::new();
    for name in &names {
        let (plain, extension) = stem(name);
        let Some(kind) =
            kind(extension).filter(|kind| *kind == Kind::Sql || format.is_none_or(|wanted| wanted == *kind))
        else {
            continue;
        };
        // Its statement, LOAD DATA, is in another file of the directory.
        let is_read_by_statement = kind != Kind::Sql
            && ["sql", "sql.gz", "sql.zst"]
                .iter()
                .any(|end| names.contains(&format!("{plain}.{end}")));
        if is_read_by_statement {
            continue;
        }
        let file = Input {
            is_of_directory: true,
            ..input(&path.join(name), kind, true)?
        };
        found.push((rank(plain, kind), file));
    }
    if found.is_empty() {
        return Err(Error::Input(format!("{}: no dump is there", path.display())));
    }
    found.sort_by_key(|(rank, _)| *rank);
    Ok(found.into_iter().map(|(_, input)| input).collect())
}

/// Fails for a dump that was not finished.
fn check_complete(path: &Path, names: &[String]) -> Result<()> {
    let is_partial = names.iter().any(|name| name == "metadata.partial");
    let metadata = std::fs::read(path.join("metadata"));
    let is_open = match &metadata {
        Ok(text) => {
            let text = String::from_utf8_lossy(text);
            text.contains("Started dump at") && !text.contains("Finished dump at")
        }
        Err(_) => false,
    };
    match is_partial || is_open {
        false => Ok(()),
        true => Err(Error::Input(format!(
            "{}: the dump was not finished (its file `metadata` says so): dump again",
            path.display()
        ))),
    }
}

/// When a file of a directory is read.
fn rank(plain: &str, kind: Kind) -> u8 {
    const ENDS: [(&str, u8); 6] = [
        ("-schema-create", 0),
        ("-schema-view", 4),
        ("-schema-triggers", 5),
        ("-schema-post", 6),
        ("-schema-sequence", 1),
        ("-schema", 2),
    ];
    match kind {
        Kind::Sql => ENDS
            .iter()
            .find(|(end, _)| plain.ends_with(end))
            .map_or(3, |(_, rank)| *rank),
        _ => 3,
    }
}

/// The database and the table of `db.table.00001`, `db.table-schema`, `db-schema-create` and `table`.
fn names(plain: &str) -> (Option<String>, Option<String>) {
    let mut plain = plain;
    for end in [
        "-schema-create",
        "-schema-view",
        "-schema-triggers",
        "-schema-post",
        "-schema-sequence",
        "-schema",
    ] {
        plain = plain.strip_suffix(end).unwrap_or(plain);
    }
    while let Some((front, number)) = plain.rsplit_once('.') {
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            break;
        }
        plain = front;
    }
    match plain.split_once('.') {
        Some((database, table)) => (Some(database.to_owned()), Some(table.to_owned())),
        None => (None, Some(plain.to_owned())),
    }
}

/// The name without its endings, and the ending that says what it is.
fn stem(name: &str) -> (&str, &str) {
    let plain = [".gz", ".zst"]
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(name);
    plain.rsplit_once('.').unwrap_or((plain, ""))
}

fn kind(extension: &str) -> Option<Kind> {
    match extension {
        "sql" => Some(Kind::Sql),
        "csv" => Some(Kind::Csv),
        "tsv" | "txt" | "dat" => Some(Kind::Tsv),
        "parquet" => Some(Kind::Parquet),
        _ => None,
    }
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

pub(super) fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::Input(format!("cannot read {}: {error}", path.display()))
}

/// The bytes of a file, unpacked if they are packed by gzip or zstd.
///
/// # Errors
/// Those of the file.
pub fn open_file(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    open(Some(path), &Arc::default())
}

/// The bytes of a file, unpacked if they are packed. `done` counts the bytes that are read of it.
pub(super) fn open(path: Option<&Path>, done: &Arc<AtomicU64>) -> io::Result<Box<dyn Read + Send>> {
    let raw: Box<dyn Read + Send> = match path {
        Some(path) => Box::new(File::open(path)?),
        None => Box::new(io::stdin()),
    };
    let mut raw = BufReader::with_capacity(
        256 << 10,
        Counted {
            raw,
            done: Arc::clone(done),
        },
    );
    // Its first bytes are more reliable than its name.
    let head = raw.fill_buf()?;
    Ok(if head.starts_with(&[0x1f, 0x8b]) {
        Box::new(flate2::bufread::MultiGzDecoder::new(raw))
    } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        Box::new(zstd::Decoder::with_buffer(raw)?)
    } else {
        Box::new(raw)
    })
}

struct Counted<R> {
    raw: R,
    done: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.raw.read(buffer)?;
        self.done.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Remembers how a text begins and ends: a dump says there whether it is whole.
pub(super) struct Watched<R> {
    input: R,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl<R> Watched<R> {
    const KEPT: usize = 512;

    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            head: Vec::new(),
            tail: Vec::new(),
        }
    }

    /// Whether a dump of mysqldump says at its beginning that it is one, and not at its end that it is whole.
    pub(super) fn is_unfinished_dump(&self) -> bool {
        let head = String::from_utf8_lossy(&self.head);
        let is_dump = ["-- MySQL dump ", "-- MariaDB dump "]
            .iter()
            .any(|mark| head.contains(mark));
        is_dump && !String::from_utf8_lossy(&self.tail).contains("-- Dump completed")
    }
}

impl<R: Read> Read for &mut Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        let new = buffer.get(..count).unwrap_or_default();
        if self.head.len() < Watched::<R>::KEPT {
            self.head.extend(new.iter().take(Watched::<R>::KEPT));
        }
        let kept = new
            .get(new.len().saturating_sub(Watched::<R>::KEPT)..)
            .unwrap_or_default();
        self.tail.extend_from_slice(kept);
        let excess = self.tail.len().saturating_sub(Watched::<R>::KEPT);
        self.tail.drain(..excess);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files() {
        let both = |database: &str, table: &str| (Some(database.to_owned()), Some(table.to_owned()));
        for (name, expected) in [
            ("shop.item.00001.sql.gz", both("shop", "item")),
            ("shop.item-schema.sql", both("shop", "item")),
            ("shop.v-schema-view.sql", both("shop", "v")),
            ("shop.item.sql", both("shop", "item")),
            ("item.csv.zst", (None, Some("item".to_owned()))),
            ("item.00002.csv", (None, Some("item".to_owned()))),
            ("shop-schema-create.sql", (None, Some("shop".to_owned()))),
        ] {
            assert_eq!(names(stem(name).0), expected, "{name}");
        }
    }

    #[test]
    fn schemas_come_before_rows_and_views_behind_them() {
        let mut names = vec![
            "d.t.sql",
            "d.v-schema-view.sql",
            "d-schema-create.sql",
            "d.t-schema.sql",
            "d-schema-post.sql",
        ];
        names.sort_by_key(|name| rank(stem(name).0, Kind::Sql));
        assert_eq!(
            names,
            [
                "d-schema-create.sql",
                "d.t-schema.sql",
                "d.t.sql",
                "d.v-schema-view.sql",
                "d-schema-post.sql"
            ]
        );
    }
}
