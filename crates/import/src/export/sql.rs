//! Files of SQL.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::mpsc::Receiver;

use mysql::Value;

use super::output::Output;
use super::value::{Kind, hexadecimal, kind, text};
use super::{RowWriter, in_order};
use crate::Result;
use crate::endpoint::quoted;
use crate::error::Error;
use crate::inventory::{Column, Inventory, Table, View};

/// The session settings that the following statements need.
pub(super) const HEADER: &str = "/*!40101 SET NAMES utf8mb4 */;\n\
     /*!40103 SET TIME_ZONE='+00:00' */;\n\
     /*!40014 SET FOREIGN_KEY_CHECKS=0, UNIQUE_CHECKS=0 */;\n\
     /*!40101 SET SQL_MODE='NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES' */;\n";

/// The first and the last line of one file, by which a loader sees whether it is whole.
const FIRST_LINE: &str = "-- MySQL dump of stemdb export\n--\n";
const LAST_LINE: &str = "-- Dump completed\n";

/// A statement is as long as this, or as its only row.
const STATEMENT_BYTES: usize = 1 << 20;

pub(super) fn database(create: &str) -> String {
    format!(
        "{};\n",
        create.replacen("CREATE DATABASE", "CREATE DATABASE IF NOT EXISTS", 1)
    )
}

/// A table that views can be made of until the view is there.
pub(super) fn in_place_of(view: &View) -> String {
    let columns: Vec<String> = view
        .columns
        .iter()
        .map(|name| format!("{} INT", quoted(name)))
        .collect();
    format!(
        "CREATE TABLE IF NOT EXISTS {} ({});\n",
        quoted(&view.name),
        columns.join(", ")
    )
}

pub(super) fn view(view: &View) -> String {
    format!(
        "DROP TABLE IF EXISTS {0};\nDROP VIEW IF EXISTS {0};\nSET collation_connection = {1};\n{2};\n",
        quoted(&view.name),
        view.collation,
        view.create.replacen("CREATE ", "CREATE OR REPLACE ", 1)
    )
}

/// INSERT statements of a chunk.
pub(super) struct Rows {
    head: Vec<u8>,
    kinds: Vec<Kind>,
    statement: Vec<u8>,
    output: Output,
}

impl Rows {
    pub(super) fn new(table: &Table, columns: &[&Column], mut output: Output) -> Result<Self> {
        if !output.is_in_order {
            output.write(HEADER.as_bytes())?;
        }
        let names: Vec<String> = columns.iter().map(|column| quoted(&column.name)).collect();
        Ok(Self {
            head: format!(
                "INSERT INTO {} ({}) VALUES\n",
                quoted(&table.name),
                names.join(",")
            )
            .into_bytes(),
            kinds: columns.iter().map(|column| kind(column)).collect(),
            statement: Vec::new(),
            output,
        })
    }

    fn flush(&mut self) -> Result<()> {
        if !self.statement.is_empty() {
            self.statement.extend_from_slice(b";\n");
            self.output.write(&self.statement)?;
            self.statement.clear();
        }
        Ok(())
    }
}

impl RowWriter for Rows {
    fn row(&mut self, row: Vec<Value>) -> Result<()> {
        if self.statement.len() > STATEMENT_BYTES {
            self.flush()?;
        }
        match self.statement.is_empty() {
            true => self.statement.extend_from_slice(&self.head),
            false => self.statement.extend_from_slice(b",\n"),
        }
        self.statement.push(b'(');
        for (position, (value, kind)) in row.iter().zip(&self.kinds).enumerate() {
            if position > 0 {
                self.statement.push(b',');
            }
            literal(value, *kind, &mut self.statement);
        }
        self.statement.push(b')');
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<String>> {
        self.flush()?;
        self.output.finish()?;
        Ok(Vec::new())
    }
}

fn literal(value: &Value, kind: Kind, out: &mut Vec<u8>) {
    let Some(bytes) = text(value) else {
        return out.extend_from_slice(b"NULL");
    };
    match kind {
        Kind::Number => out.extend_from_slice(&bytes),
        Kind::Binary if bytes.is_empty() => out.extend_from_slice(b"''"),
        Kind::Binary => {
            out.extend_from_slice(b"0x");
            hexadecimal(&bytes, out);
        }
        Kind::Text => {
            out.push(b'\'');
            for byte in bytes.iter() {
                match byte {
                    0 => out.extend_from_slice(b"\\0"),
                    b'\n' => out.extend_from_slice(b"\\n"),
                    b'\r' => out.extend_from_slice(b"\\r"),
                    0x1a => out.extend_from_slice(b"\\Z"),
                    b'\\' => out.extend_from_slice(b"\\\\"),
                    b'\'' => out.extend_from_slice(b"''"),
                    other => out.push(*other),
                }
            }
            out.push(b'\'');
        }
    }
}

/// The chunks of an export in their order: the table of each, and where its bytes come from.
pub(super) type Chunks = VecDeque<(String, Receiver<Vec<u8>>)>;

/// One file: definitions, and the chunks in their order as they come.
pub(super) fn whole(path: &Path, inventory: &Inventory, chunks: &mut Chunks) -> Result<()> {
    let mut output = Output::file(path)?;
    output.write(FIRST_LINE.as_bytes())?;
    output.write(HEADER.as_bytes())?;
    for (name, create) in &inventory.databases {
        output.write(format!("\n{}USE {};\n", database(create), quoted(name)).as_bytes())?;
        let tables = || inventory.tables.iter().filter(|table| table.database == *name);
        for table in tables() {
            let drop = format!(
                "\nDROP TABLE IF EXISTS {};\n{};\n",
                quoted(&table.name),
                table.create
            );
            output.write(drop.as_bytes())?;
            // The chunks of a table are one after the other, and the tables in this order.
            while let Some((_, receiver)) = chunks.pop_front_if(|(name, _)| *name == table.shown()) {
                copy(&receiver, &mut output)?;
            }
        }
    }
    for found in in_order(&inventory.views) {
        output.write(format!("\nUSE {};\n{}", quoted(&found.database), view(found)).as_bytes())?;
    }
    output.write(LAST_LINE.as_bytes())?;
    output.finish()
}

/// Copies a chunk up to its end, which is an empty buffer.
fn copy(chunk: &Receiver<Vec<u8>>, output: &mut Output) -> Result<()> {
    loop {
        let bytes = chunk.recv().map_err(|_| Error::Thread)?;
        if bytes.is_empty() {
            return Ok(());
        }
        output.write(&bytes)?;
    }
}
