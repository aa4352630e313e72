//! RocksDB's manifest: the table files, and the first log that is needed (`db/version_edit.cc`). No I/O, no
//! panic on any bytes.
//!
//! It has the format of a log. Its batches are edits of the state before them: fields, each with a tag.

use super::log_format::{self, BLOCK_BYTES, End, Found, Part};
use std::collections::BTreeMap;

const COMPARATOR: u32 = 1;
const LOG_NUMBER: u32 = 2;
const NEXT_FILE_NUMBER: u32 = 3;
const LAST_SEQUENCE: u32 = 4;
const COMPACT_CURSOR: u32 = 5;
const DELETED_FILE: u32 = 6;
const PREVIOUS_LOG_NUMBER: u32 = 9;
const MIN_LOG_NUMBER: u32 = 10;
const NEW_FILE_4: u32 = 103;
const FAMILY: u32 = 200;
const FAMILY_ADDED: u32 = 201;
const FAMILY_DROPPED: u32 = 202;
const MAX_FAMILY: u32 = 203;
const IN_ATOMIC_GROUP: u32 = 300;
/// A field whose tag has this bit may be skipped: after the tag is its length.
const MAY_BE_IGNORED: u32 = 1 << 13;

/// Tags of a new file's further fields: the end, and the log number that two-phase commits need.
const END_OF_FIELDS: u32 = 1;
const MIN_LOG_NUMBER_OF_FILE: u32 = 3;

/// A table file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    pub bytes: u64,
    pub largest_sequence: u64,
}

/// A column family.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Family {
    pub name: String,
    /// Its entries in logs below this one are in tables.
    pub log_number: u64,
    /// The last sequence number at the time of that edit.
    log_sequence: u64,
    pub tables: BTreeMap<u64, Table>,
}

/// The state after all edits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    pub families: BTreeMap<u32, Family>,
    pub last_sequence: u64,
    min_log_number: u64,
}

impl Default for Manifest {
    fn default() -> Self {
        let default = Family {
            name: "default".to_owned(),
            ..Family::default()
        };
        Self {
            families: BTreeMap::from([(0, default)]),
            last_sequence: 0,
            min_log_number: 0,
        }
    }
}

impl Manifest {
    /// Reads the whole file. A record at its end that a crash has torn was never in force.
    ///
    /// # Errors
    /// A description of the damage, and where it is.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut manifest = Self::default();
        let mut group = Vec::new();
        let mut record = None::<Vec<u8>>;
        for (n, block) in bytes.chunks(BLOCK_BYTES).enumerate() {
            let mut at = 0;
            loop {
                let place = n * BLOCK_BYTES + at;
                let fragment = match log_format::read(block, at, 0) {
                    Found::Fragment(fragment) => fragment,
                    Found::NextBlock => break,
                    Found::End(End::OfFile) => return Ok(manifest),
                    Found::End(End::Broken(_)) if is_cut_off(block, at) => {
                        return Ok(manifest);
                    }
                    Found::End(End::Zeros) => return Err(format!("at byte {place}: zeros")),
                    Found::End(End::OlderLog) => {
                        return Err(format!("at byte {place}: an unknown kind of record"));
                    }
                    Found::End(End::Broken(what)) => return Err(format!("at byte {place}: {what}")),
                };
                at = fragment.end;
                match (fragment.part, &mut record) {
                    (Part::Whole, None) => manifest.add(fragment.payload.to_vec(), &mut group),
                    (Part::First, None) => {
                        record = Some(fragment.payload.to_vec());
                        Ok(())
                    }
                    (Part::Middle, Some(so_far)) => {
                        so_far.extend_from_slice(fragment.payload);
                        Ok(())
                    }
                    (Part::Last, Some(so_far)) => {
                        so_far.extend_from_slice(fragment.payload);
                        manifest.add(record.take().unwrap_or_default(), &mut group)
                    }
                    _ => Err("a record without beginning or end".to_owned()),
                }
                .map_err(|what| format!("at byte {place}: {what}"))?;
            }
        }
        Ok(manifest)
    }

    /// Applies an edit, or collects edits that are in force only together.
    fn add(&mut self, record: Vec<u8>, group: &mut Vec<Edit>) -> Result<(), String> {
        let edit = Edit::parse(&record)?;
        let more = edit.more_in_group;
        group.push(edit);
        if more == 0 {
            for edit in group.drain(..) {
                self.apply(edit);
            }
        }
        Ok(())
    }

    fn apply(&mut self, edit: Edit) {
        self.last_sequence = self.last_sequence.max(edit.last_sequence);
        self.min_log_number = self.min_log_number.max(edit.min_log_number);
        if edit.is_dropped {
            self.families.remove(&edit.family);
            return;
        }
        if let Some(name) = edit.added {
            self.families.insert(
                edit.family,
                Family {
                    name,
                    ..Family::default()
                },
            );
        }
        let Some(family) = self.families.get_mut(&edit.family) else {
            return;
        };
        if edit.log_number > family.log_number {
            family.log_number = edit.log_number;
            family.log_sequence = edit.last_sequence;
        }
        for number in edit.deleted {
            family.tables.remove(&number);
        }
        family.tables.extend(edit.new);
    }

    /// The first log with entries that are in no table.
    pub fn first_log_number(&self) -> u64 {
        let of_families = self.families.values().map(|family| family.log_number).min();
        self.min_log_number.max(of_families.unwrap_or(0))
    }

    /// The last sequence number when that log became the first. A start of RocksDB makes a number the first
    /// that no log has yet; the first entry after it follows this one.
    pub fn first_log_sequence(&self) -> u64 {
        let first = self.first_log_number();
        let since = self.families.values().filter(|family| family.log_number == first);
        since.map(|family| family.log_sequence).max().unwrap_or(0)
    }

    /// The largest sequence number in a table.
    pub fn largest_sequence(&self) -> u64 {
        let largest = self.tables().map(|(_, table)| table.largest_sequence);
        largest.max().unwrap_or(0)
    }

    /// Whether it may be the manifest of a store without a log: RocksDB writes the first one before it
    /// creates the other column families.
    pub fn is_first(&self) -> bool {
        self.families.len() == 1 && self.last_sequence == 0 && self.tables().next().is_none()
    }

    pub fn family(&self, name: &str) -> Option<&Family> {
        self.families.values().find(|family| family.name == name)
    }

    pub fn tables(&self) -> impl Iterator<Item = (u64, &Table)> {
        let tables = self.families.values().flat_map(|family| &family.tables);
        tables.map(|(number, table)| (*number, table))
    }
}

/// Whether the file ends within the record at `at`: the record would be longer, and no other record is after
/// its start.
fn is_cut_off(block: &[u8], at: usize) -> bool {
    let rest = block.get(at..).unwrap_or_default();
    let is_longer = match rest.get(4..7) {
        Some(&[low, high, _]) => rest.len() - 7 < usize::from(u16::from_le_bytes([low, high])),
        _ => true,
    };
    let mut behind = at + 1..block.len();
    let is_fragment = |at| matches!(log_format::read(block, at, 0), Found::Fragment(_));
    block.len() < BLOCK_BYTES && is_longer && !behind.any(is_fragment)
}

/// One record of the manifest.
#[derive(Debug, Default)]
struct Edit {
    family: u32,
    added: Option<String>,
    is_dropped: bool,
    log_number: u64,
    min_log_number: u64,
    last_sequence: u64,
    deleted: Vec<u64>,
    new: Vec<(u64, Table)>,
    /// How many edits after this one it is in force with.
    more_in_group: u32,
}

impl Edit {
    fn parse(record: &[u8]) -> Result<Self, String> {
        let mut edit = Self::default();
        let mut fields = Fields(record);
        while !fields.0.is_empty() {
            let tag = fields.tag().ok_or("a tag that ends early")?;
            edit.add(tag, &mut fields)
                .ok_or_else(|| format!("the field {tag} cannot be read"))?;
        }
        Ok(edit)
    }

    fn add(&mut self, tag: u32, fields: &mut Fields) -> Option<()> {
        match tag {
            COMPARATOR => drop(fields.bytes()?),
            LOG_NUMBER => self.log_number = fields.number()?,
            NEXT_FILE_NUMBER | PREVIOUS_LOG_NUMBER | MAX_FAMILY => drop(fields.number()?),
            LAST_SEQUENCE => self.last_sequence = fields.number()?,
            COMPACT_CURSOR => {
                fields.number()?;
                fields.bytes()?;
            }
            DELETED_FILE => {
                fields.number()?;
                self.deleted.push(fields.number()?);
            }
            MIN_LOG_NUMBER => self.min_log_number = fields.number()?,
            NEW_FILE_4 => self.add_file(fields)?,
            FAMILY => self.family = fields.tag()?,
            FAMILY_ADDED => self.added = Some(String::from_utf8_lossy(fields.bytes()?).into_owned()),
            FAMILY_DROPPED => self.is_dropped = true,
            IN_ATOMIC_GROUP => self.more_in_group = fields.tag()?,
            _ if tag & MAY_BE_IGNORED != 0 => drop(fields.bytes()?),
            _ => return None,
        }
        Some(())
    }

    fn add_file(&mut self, fields: &mut Fields) -> Option<()> {
        let _level = fields.number()?;
        let number = fields.number()?;
        let bytes = fields.number()?;
        let _smallest = fields.bytes()?;
        let _largest = fields.bytes()?;
        let _smallest_sequence = fields.number()?;
        let largest_sequence = fields.number()?;
        self.new.push((
            number,
            Table {
                bytes,
                largest_sequence,
            },
        ));
        loop {
            match fields.tag()? {
                END_OF_FIELDS => return Some(()),
                tag => {
                    let value = fields.bytes()?;
                    if tag == MIN_LOG_NUMBER_OF_FILE {
                        let number = u64::from_le_bytes(*value.first_chunk()?);
                        self.min_log_number = self.min_log_number.max(number);
                    }
                }
            }
        }
    }
}

/// The bytes of a record that have not been read yet.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// A varint: seven bits per byte, the lowest first; the last byte has its highest bit clear.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn tag(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rocksdb::{DB, Options};

    /// A store of two column families with tables of both, one of which has been removed.
    fn real() -> (tempfile::TempDir, DB) {
        let dir = tempfile::tempdir().unwrap();
        let mut options = Options::default();
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        let db = DB::open_cf(&options, dir.path(), ["default", "latest", "gone"]).unwrap();
        for round in 0..3 {
            for name in ["default", "latest", "gone"] {
                let family = db.cf_handle(name).unwrap();
                for key in 0..100_u32 {
                    db.put_cf(family, key.to_be_bytes(), [round; 50]).unwrap();
                }
                if name != "default" || round == 0 {
                    db.flush_cf(family).unwrap();
                }
            }
        }
        db.compact_range_cf(db.cf_handle("latest").unwrap(), None::<&[u8]>, None::<&[u8]>);
        let mut db = db;
        db.drop_cf("gone").unwrap();
        (dir, db)
    }

    fn file(dir: &std::path::Path) -> Vec<u8> {
        let name = std::fs::read_to_string(dir.join("CURRENT")).unwrap();
        std::fs::read(dir.join(name.trim_end())).unwrap()
    }

    #[test]
    fn it_is_what_rocksdb_knows() {
        let (dir, db) = real();
        let manifest = Manifest::parse(&file(dir.path())).unwrap();
        let names: Vec<_> = manifest
            .families
            .values()
            .map(|family| family.name.as_str())
            .collect();
        assert_eq!(names, ["default", "latest"]);
        let mut live: Vec<_> = db.live_files().unwrap();
        live.retain(|file| file.column_family_name != "gone");
        assert_eq!(manifest.tables().count(), live.len());
        for file in live {
            let family = manifest.family(&file.column_family_name).unwrap();
            let number: u64 = file
                .name
                .trim_matches(|c: char| !c.is_ascii_digit())
                .parse()
                .unwrap();
            assert_eq!(family.tables[&number].bytes, file.size as u64);
        }
        assert!(manifest.last_sequence >= 900, "{}", manifest.last_sequence);
        let logs = std::fs::read_dir(dir.path()).unwrap().filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            name.strip_suffix(".log")?.parse::<u64>().ok()
        });
        // `default` was flushed once, before the other: its log is the oldest.
        assert_eq!(Some(manifest.first_log_number()), logs.min());
        let [default, latest] = ["default", "latest"].map(|name| manifest.family(name).unwrap());
        assert!(default.log_number < latest.log_number);
    }

    #[test]
    fn what_a_crash_cut_off_was_not_in_force() {
        let (dir, _db) = real();
        let bytes = file(dir.path());
        let mut last = usize::MAX;
        for end in (0..bytes.len()).rev() {
            let manifest = Manifest::parse(&bytes[..end]).unwrap();
            let edits = manifest.last_sequence as usize;
            assert!(edits <= last);
            last = edits;
        }
        assert_eq!(last, 0);
    }

    #[test]
    fn damage_is_an_error() {
        let (dir, _db) = real();
        let bytes = file(dir.path());
        let whole = Manifest::parse(&bytes).unwrap();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            // A length beyond the end of the file looks like a record that a crash has torn.
            if let Ok(manifest) = Manifest::parse(&damaged) {
                assert_ne!(manifest, whole, "byte {at}");
            }
        }
    }
}
