//! Collations whose weights no rule gives: they come from a table for a language or a character set.
//!
//! `weights.bin` has a table for each tailoring, stored as the differences to a rule. The tables were made
//! from `WEIGHT_STRING` of MySQL 8.0.33 for all code points and for contractions of them. A table is unpacked
//! when it is first used.
//!
//! The file: the number of tables, 1 byte; for each its name (length, 1 byte, and characters) and its length
//! in the file, 4 bytes, little-endian; the tables, each compressed by zlib. A table is, in LEB128 unless
//! said otherwise (signed: zigzag):
//!
//! ```text
//! rule, levels, bytes a weight takes: 1 byte each
//! for each level: number of shifts; each: first weight, count, signed difference, prefix or 0
//! number of code points that the rule does not give; their differences to the one before
//! for each level: the number of weights of each; the weights, each a signed difference to that at the same
//!     place of the code point before
//! number of contractions; each: length, code points, for each level number of weights and weights
//! ```

use std::sync::OnceLock;

use super::characters::next_code_point;
use super::definitions::Order;
use super::{Collation, ducet, general_ci, uca};
use crate::Charset;
use crate::charset::gb18030_number;
use crate::packed::{Numbers, unpack};

const FILE: &[u8] = include_bytes!("weights.bin");
const PAGES: usize = 0x1100;
/// The table of the whole DUCET 9.0, with its three levels. The tables of languages are differences to it.
const ROOT: &str = "9.0 root";
/// Added to code points outside the character set, so that they sort after all others.
const NOT_IN_SET: u16 = 0x100;

/// The source of the weights of code points that are not in the table.
#[derive(Debug, Clone, Copy)]
enum Rule {
    /// The root's table, and for what it lacks the rule of DUCET.
    Ducet,
    Unicode(uca::Version),
    General,
    /// The bytes in the character set.
    Encoded(Charset),
    /// As [`Rule::Encoded`], but characters of four bytes sort by their number, after all others.
    Gb18030,
}

/// A range of weights that is moved as a whole, as where a language's script comes first.
#[derive(Debug, Clone, Copy)]
struct Shift {
    first: u16,
    count: u16,
    difference: i32,
    /// A weight to insert before, or 0.
    prefix: u16,
}

pub(super) struct Table {
    rule: Rule,
    /// `None` for the root itself.
    parent: Option<&'static Table>,
    /// The number of levels that are compared.
    levels: usize,
    /// The number of levels that have weights.
    all_levels: usize,
    /// Bytes per weight.
    pub width: usize,
    shifts: Vec<Vec<Shift>>,
    /// For each page of 256 code points, its index in `cells` plus 1, or 0.
    pages: Vec<u16>,
    /// The position in `pool` of a code point's weights plus 1 (0: the rule gives them), combined with
    /// [`HEAD`].
    cells: Vec<[u32; 256]>,
    /// For each list: the number of weights of each level, and the weights.
    pool: Vec<u16>,
    /// In order. A contraction comes before its own prefixes.
    contractions: Vec<(Vec<u32>, u32)>,
    pub space: u16,
}

/// Set if contractions begin with the code point.
const HEAD: u32 = 1 << 31;

impl Collation {
    /// The table of a collation that has one.
    pub(super) fn table(self) -> &'static Table {
        static BUILT: [OnceLock<Table>; Collation::ALL.len()] =
            [const { OnceLock::new() }; Collation::ALL.len()];
        let Some(slot) = BUILT.get(self as usize) else {
            return root();
        };
        slot.get_or_init(|| match self.order() {
            Order::Table(name, levels) => Table::named(name, self.charset(), usize::from(levels)),
            _ => Table::of_rule(Rule::Encoded(self.charset())),
        })
    }
}

fn root() -> &'static Table {
    static ROOT_TABLE: OnceLock<Table> = OnceLock::new();
    ROOT_TABLE.get_or_init(|| Table::named(ROOT, Charset::Utf8mb4, 3))
}

/// The unpacked data of a table.
fn data_of(name: &str) -> Option<Vec<u8>> {
    let (count, mut rest) = FILE.split_first()?;
    let (mut skipped, mut length) = (0, None);
    for _ in 0..*count {
        let (name_length, after) = rest.split_first()?;
        let (own, after) = after.split_at_checked(usize::from(*name_length))?;
        let (bytes, after) = after.split_first_chunk::<4>()?;
        let bytes = u32::from_le_bytes(*bytes) as usize;
        match length {
            None if own == name.as_bytes() => length = Some(bytes),
            None => skipped += bytes,
            Some(_) => {}
        }
        rest = after;
    }
    Some(unpack(rest.get(skipped..skipped + length?)?))
}

impl Table {
    fn of_rule(rule: Rule) -> Self {
        Self {
            rule,
            parent: None,
            levels: 1,
            all_levels: 1,
            width: 1,
            shifts: Vec::new(),
            pages: vec![0; PAGES],
            cells: Vec::new(),
            pool: Vec::new(),
            contractions: Vec::new(),
            space: u16::from(b' '),
        }
    }

    fn named(name: &str, charset: Charset, levels: usize) -> Self {
        let data = data_of(name).unwrap_or_default();
        let Some(([rule, all_levels, width], numbers)) = data.split_first_chunk::<3>() else {
            debug_assert!(false, "no table {name}");
            return Self::of_rule(Rule::Encoded(charset));
        };
        let rule = match rule {
            0 if charset == Charset::Gb18030 => Rule::Gb18030,
            0 => Rule::Encoded(charset),
            1 => Rule::Ducet,
            2 => Rule::Unicode(uca::Version::V4_0),
            3 => Rule::Unicode(uca::Version::V5_2),
            _ => Rule::General,
        };
        let mut table = Self {
            levels,
            all_levels: usize::from(*all_levels),
            width: usize::from(*width),
            parent: (matches!(rule, Rule::Ducet) && name != ROOT).then(root),
            ..Self::of_rule(rule)
        };
        let mut numbers = Numbers::of(numbers);
        table.read_shifts(&mut numbers);
        table.read_code_points(&mut numbers);
        table.read_contractions(&mut numbers);
        table.space = Weights::of(&table, 0, b" ").next().unwrap_or(0);
        table
    }

    fn read_shifts(&mut self, numbers: &mut Numbers<'_>) {
        for _ in 0..self.all_levels {
            let shifts = (0..numbers.next()).map(|_| Shift {
                first: numbers.next() as u16,
                count: numbers.next() as u16,
                difference: numbers.next_signed(),
                prefix: numbers.next() as u16,
            });
            let shifts = shifts.collect();
            self.shifts.push(shifts);
        }
    }

    fn read_code_points(&mut self, numbers: &mut Numbers<'_>) {
        let count = numbers.next() as usize;
        let mut code_point = 0;
        let code_points: Vec<u32> = (0..count)
            .map(|_| {
                code_point += numbers.next();
                code_point
            })
            .collect();
        let mut lists: Vec<Vec<u16>> = vec![Vec::new(); count];
        for _ in 0..self.all_levels {
            let lengths: Vec<u32> = (0..count).map(|_| numbers.next()).collect();
            let mut before = [0_i32; 8];
            for (list, length) in lists.iter_mut().zip(&lengths) {
                list.push(*length as u16);
                for place in 0..*length as usize {
                    let weight = &mut before[place.min(7)];
                    *weight += numbers.next_signed();
                    list.push(*weight as u16);
                }
            }
        }
        for (code_point, list) in code_points.into_iter().zip(lists) {
            let place = self.add_list(&list);
            *self.cell_mut(code_point) = place + 1;
        }
    }

    fn read_contractions(&mut self, numbers: &mut Numbers<'_>) {
        for _ in 0..numbers.next() {
            let points: Vec<u32> = (0..numbers.next()).map(|_| numbers.next()).collect();
            let mut list = Vec::new();
            for _ in 0..self.all_levels {
                let length = numbers.next();
                list.push(length as u16);
                list.extend((0..length).map(|_| numbers.next() as u16));
            }
            let place = self.add_list(&list);
            *self.cell_mut(points.first().copied().unwrap_or(0)) |= HEAD;
            self.contractions.push((points, place));
        }
        self.contractions
            .sort_by(|(a, _), (b, _)| match a.starts_with(b) {
                true => std::cmp::Ordering::Less,
                false if b.starts_with(a) => std::cmp::Ordering::Greater,
                false => a.cmp(b),
            });
    }

    fn add_list(&mut self, list: &[u16]) -> u32 {
        let place = self.pool.len() as u32;
        self.pool.extend_from_slice(list);
        place
    }

    fn cell_mut(&mut self, code_point: u32) -> &mut u32 {
        let page = &mut self.pages[(code_point >> 8) as usize % PAGES];
        if *page == 0 {
            self.cells.push([0; 256]);
            *page = self.cells.len() as u16;
        }
        &mut self.cells[usize::from(*page) - 1][(code_point & 0xff) as usize]
    }

    fn cell(&self, code_point: u32) -> u32 {
        match self.pages.get((code_point >> 8) as usize) {
            None | Some(0) => 0,
            Some(page) => self.cells[usize::from(*page) - 1][(code_point & 0xff) as usize],
        }
    }

    /// One level of a list of weights.
    fn list(&self, place: u32, level: usize) -> &[u16] {
        let mut at = place as usize;
        for _ in 0..level {
            at += 1 + usize::from(self.pool.get(at).copied().unwrap_or(0));
        }
        let length = usize::from(self.pool.get(at).copied().unwrap_or(0));
        self.pool.get(at + 1..at + 1 + length).unwrap_or_default()
    }

    /// Whether contractions begin with this character, so that the next one may change its weight.
    pub fn begins_contraction(&self, character: char) -> bool {
        self.cell(u32::from(character)) & HEAD != 0
    }

    /// The longest contraction at a code point and the text after it, and the rest of the text.
    #[cold]
    fn contraction<'a>(&self, first: u32, rest: &'a [u8]) -> Option<(u32, &'a [u8])> {
        let start = self.contractions.partition_point(|(points, _)| points[0] < first);
        self.contractions[start..]
            .iter()
            .take_while(|(points, _)| points[0] == first)
            .find_map(|(points, place)| {
                let mut rest = rest;
                let follows = points[1..].iter().all(|p| next_code_point(&mut rest) == Some(*p));
                follows.then_some((*place, rest))
            })
    }

    /// Appends the weights of one level of a code point.
    fn push(&self, code_point: u32, level: usize, out: &mut Pending) {
        if level >= self.all_levels {
            return;
        }
        match self.cell(code_point) & !HEAD {
            0 => self.push_by_rule(code_point, level, out),
            place => self.list(place - 1, level).iter().for_each(|w| out.push(*w)),
        }
    }

    fn push_by_rule(&self, code_point: u32, level: usize, out: &mut Pending) {
        match self.rule {
            Rule::Encoded(charset) => push_encoded(charset, code_point, out),
            Rule::Gb18030 => push_gb18030(code_point, out),
            Rule::General => out.push(general_ci::weight(code_point)),
            Rule::Unicode(version) => version.push(code_point, |weight| out.push(weight)),
            Rule::Ducet => match self.parent {
                Some(parent) => {
                    let mut weights = Pending::default();
                    parent.push(code_point, level, &mut weights);
                    self.push_shifted(level, weights.of(), out);
                }
                None => self.push_implicit(code_point, level, out),
            },
        }
    }

    /// The root's weights, moved to where the language has them.
    fn push_shifted(&self, level: usize, weights: &[u16], out: &mut Pending) {
        let shifts = self.shifts.get(level).map_or(&[][..], Vec::as_slice);
        let mut is_second = false;
        for &weight in weights {
            let shift = shifts.iter().find(|s| weight.wrapping_sub(s.first) < s.count);
            match shift {
                Some(shift) if !is_second => {
                    if shift.prefix != 0 {
                        out.push(shift.prefix);
                    }
                    out.push((i32::from(weight) + shift.difference) as u16);
                }
                _ => out.push(weight),
            }
            // The second implicit weight is a number and is not moved.
            is_second = level == 0 && !is_second && ducet::is_implicit(weight);
        }
    }

    /// Code points that follow DUCET's rule: primary weights as under `utf8mb4_0900_ai_ci`.
    fn push_implicit(&self, code_point: u32, level: usize, out: &mut Pending) {
        if let Some(syllable) = ducet::syllable(code_point) {
            for part in syllable.into_iter().flatten() {
                self.push(part, level, out);
            }
            return;
        }
        match level {
            0 => ducet::implicit(code_point).into_iter().for_each(|w| out.push(w)),
            1 => out.push(0x20),
            2 => out.push(0x02),
            _ => {}
        }
    }
}

fn push_encoded(charset: Charset, code_point: u32, out: &mut Pending) {
    let mut bytes = [0; 4];
    match char::from_u32(code_point).map_or(0, |c| charset.encode_into(c, &mut bytes)) {
        0 => out.push(NOT_IN_SET.saturating_add(u16::try_from(code_point).unwrap_or(u16::MAX))),
        length => bytes[..length].iter().for_each(|byte| out.push(u16::from(*byte))),
    }
}

fn push_gb18030(code_point: u32, out: &mut Pending) {
    let mut bytes = [0; 4];
    let length = char::from_u32(code_point).map_or(0, |c| Charset::Gb18030.encode_into(c, &mut bytes));
    match gb18030_number(bytes) {
        Some(number) if length == 4 => {
            out.push(0xff);
            let bytes = number.to_be_bytes();
            bytes[1..].iter().for_each(|byte| out.push(u16::from(*byte)));
        }
        _ => push_encoded(Charset::Gb18030, code_point, out),
    }
}

/// The weights of one character, at most 18.
#[derive(Default)]
struct Pending {
    weights: [u16; 24],
    len: u8,
    at: u8,
}

impl Pending {
    fn push(&mut self, weight: u16) {
        if let Some(slot) = self.weights.get_mut(usize::from(self.len)) {
            *slot = weight;
            self.len += 1;
        }
    }

    fn of(&self) -> &[u16] {
        &self.weights[..usize::from(self.len)]
    }
}

/// The weights of one level of UTF-8 text, in order.
pub(super) struct Weights<'a> {
    table: &'a Table,
    level: usize,
    rest: &'a [u8],
    pending: Pending,
}

impl<'a> Weights<'a> {
    pub fn of(table: &'a Table, level: usize, text: &'a [u8]) -> Self {
        Self {
            table,
            level,
            rest: text,
            pending: Pending::default(),
        }
    }
}

impl Iterator for Weights<'_> {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        loop {
            if self.pending.at < self.pending.len {
                self.pending.at += 1;
                return Some(self.pending.weights[usize::from(self.pending.at) - 1]);
            }
            let code_point = next_code_point(&mut self.rest)?;
            (self.pending.len, self.pending.at) = (0, 0);
            if self.table.cell(code_point) & HEAD != 0
                && let Some((place, rest)) = self.table.contraction(code_point, self.rest)
            {
                self.rest = rest;
                let list = self.table.list(place, self.level);
                list.iter().for_each(|weight| self.pending.push(*weight));
                continue;
            }
            self.table.push(code_point, self.level, &mut self.pending);
        }
    }
}

impl Table {
    pub fn weights<'a>(&'a self, text: &'a [u8]) -> Weights<'a> {
        Weights::of(self, 0, text)
    }

    /// Compares level by level, without padding.
    pub fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        (0..self.levels)
            .map(|level| Weights::of(self, level, a).cmp(Weights::of(self, level, b)))
            .find(|order| order.is_ne())
            .unwrap_or(std::cmp::Ordering::Equal)
    }

    /// Whether the weights of a character may depend on its neighbours.
    pub fn has_contractions(&self) -> bool {
        !self.contractions.is_empty()
    }

    /// The weights of all levels, 2 bytes each, with 0 between levels. This is the key, and what
    /// WEIGHT_STRING shows. The fourth level is appended only if the text has weights of it.
    pub fn sort_key(&self, text: &[u8], out: &mut Vec<u8>) {
        for level in 0..self.levels {
            let mut weights = Weights::of(self, level, text).peekable();
            if level > 0 && (level < 3 || weights.peek().is_some()) {
                out.extend_from_slice(&[0, 0]);
            }
            weights.for_each(|weight| out.extend_from_slice(&weight.to_be_bytes()));
        }
    }
}
