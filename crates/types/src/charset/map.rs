//! Tables of character sets: codes to characters and back.
//!
//! The tables hold what MySQL 8.0.33 returns for `CONVERT(... USING ...)` for every code and every character.
//! A table is unpacked when it is first used.
//!
//! `maps.bin`: the number of tables, 1 byte; the length of each, 4 bytes, little-endian; the tables, each
//! compressed by zlib. A table is three lists of runs: pairs of code and character that convert both ways,
//! from code to character only, and from character to code only. A list begins with its length. A run is
//! three numbers: how much its first code, and its first character, differ from what would follow the run
//! before, and how many pairs it has. Numbers are LEB128, differences zigzag.
//!
//! A *code* is a character's bytes as a number. Those of more than two bytes begin at 0x10000: `8F xx yy`
//! (ujis) is 0x10000 + xxyy, and the four-byte characters of gb18030 are numbered from there.

use std::sync::OnceLock;

use crate::packed::{Numbers, unpack};

const FILE: &[u8] = include_bytes!("maps.bin");
const TABLES: usize = FILE[0] as usize;

/// Codes from here on have more than two bytes.
const LONG: u32 = 0x1_0000;
/// gb18030: the number of U+10000. The code points after it follow in order.
const SUPPLEMENTARY: u32 = LONG + 189_000;

pub(super) struct Map {
    /// The character of each code; 0 for none.
    characters: Vec<u16>,
    /// For each page of 256 code points, its index in `codes`.
    pages: [u8; 256],
    /// The code of each code point plus 1; 0 for none.
    codes: Vec<[u32; 256]>,
    /// Whether long characters take four bytes (gb18030) instead of three.
    is_gb18030: bool,
}

/// The bytes of one character.
#[derive(Debug, Clone, Copy)]
pub(super) struct Encoded {
    bytes: [u8; 4],
    at: u8,
}

impl Iterator for Encoded {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(usize::from(self.at))?;
        self.at += 1;
        Some(byte)
    }
}

/// The table at an index of the file.
pub(super) fn of(table: u8) -> &'static Map {
    static BUILT: [OnceLock<Map>; TABLES] = [const { OnceLock::new() }; TABLES];
    BUILT[usize::from(table)].get_or_init(|| Map::unpacked(table))
}

impl Map {
    fn unpacked(table: u8) -> Self {
        let lengths: Vec<usize> = FILE[1..1 + 4 * TABLES]
            .as_chunks::<4>()
            .0
            .iter()
            .map(|bytes| u32::from_le_bytes(*bytes) as usize)
            .collect();
        let at = usize::from(table);
        let start = 1 + 4 * TABLES + lengths.iter().take(at).sum::<usize>();
        let data = unpack(&FILE[start..start + lengths[at]]);
        let mut numbers = Numbers::of(&data);
        let mut map = Self {
            characters: Vec::new(),
            pages: [u8::MAX; 256],
            codes: Vec::new(),
            is_gb18030: false,
        };
        for list in 0..3 {
            let (mut code, mut character) = (0_u32, 0_u32);
            for _ in 0..numbers.next() {
                code = code.wrapping_add_signed(numbers.next_signed());
                character = character.wrapping_add_signed(numbers.next_signed());
                for _ in 0..numbers.next() {
                    if list != 2 {
                        map.add_character(code, character);
                    }
                    if list != 1 {
                        map.add_code(character, code);
                    }
                    code += 1;
                    character += 1;
                }
            }
        }
        // Only gb18030 has a four-byte character at the first of the long codes.
        map.is_gb18030 = map.characters.get(LONG as usize).is_some_and(|c| *c != 0);
        map
    }

    fn add_character(&mut self, code: u32, character: u32) {
        let at = code as usize;
        if self.characters.len() <= at {
            self.characters.resize(at + 1, 0);
        }
        self.characters[at] = character as u16;
    }

    fn add_code(&mut self, character: u32, code: u32) {
        let page = &mut self.pages[(character >> 8) as usize & 0xff];
        if *page == u8::MAX {
            *page = self.codes.len() as u8;
            self.codes.push([0; 256]);
        }
        self.codes[usize::from(*page)][(character & 0xff) as usize] = code + 1;
    }

    pub fn encode(&self, character: char) -> Option<Encoded> {
        let point = u32::from(character);
        let code = match u16::try_from(point) {
            Ok(point) => {
                let page = self.codes.get(usize::from(self.pages[usize::from(point >> 8)]))?;
                page[usize::from(point & 0xff)].checked_sub(1)?
            }
            Err(_) if self.is_gb18030 => SUPPLEMENTARY + (point - 0x1_0000),
            Err(_) => return None,
        };
        let (bytes, length) = match code {
            0..=0xff => (code.to_be_bytes(), 1),
            0x100..=0xffff => (code.to_be_bytes(), 2),
            _ if self.is_gb18030 => (gb18030_bytes(code - LONG), 4),
            _ => ((0x8f_0000 | (code - LONG)).to_be_bytes(), 3),
        };
        Some(Encoded {
            bytes,
            at: 4 - length,
        })
    }

    /// Decodes the first character, and returns how many bytes it takes.
    pub fn decode(&self, bytes: &[u8]) -> Option<(char, usize)> {
        let first = *bytes.first()?;
        if let Some(character) = self.character(u32::from(first)) {
            return Some((character, 1));
        }
        let pair = u16::from_be_bytes(*bytes.first_chunk()?);
        if pair >= 0x100
            && let Some(character) = self.character(u32::from(pair))
        {
            return Some((character, 2));
        }
        if self.is_gb18030 {
            let code = LONG + gb18030_number(*bytes.first_chunk()?)?;
            let character = match code.checked_sub(SUPPLEMENTARY) {
                Some(above) => char::from_u32(above + 0x1_0000)?,
                None => self.character(code)?,
            };
            return Some((character, 4));
        }
        let [0x8f, high, low] = bytes.first_chunk()? else {
            return None;
        };
        let code = LONG + u32::from(u16::from_be_bytes([*high, *low]));
        Some((self.character(code)?, 3))
    }

    /// Only code 0 stands for U+0000. For all other codes 0 means "no character".
    fn character(&self, code: u32) -> Option<char> {
        match *self.characters.get(code as usize)? {
            0 if code != 0 => None,
            character => char::from_u32(u32::from(character)),
        }
    }
}

fn gb18030_bytes(number: u32) -> [u8; 4] {
    let digit = |n: u32, base: u8| base + n as u8;
    [
        digit(number / 12_600, 0x81),
        digit(number / 1260 % 10, 0x30),
        digit(number / 10 % 126, 0x81),
        digit(number % 10, 0x30),
    ]
}

/// The number of a four-byte character.
pub(crate) fn gb18030_number(bytes: [u8; 4]) -> Option<u32> {
    let [a @ 0x81..=0xfe, b @ 0x30..=0x39, c @ 0x81..=0xfe, d @ 0x30..=0x39] = bytes else {
        return None;
    };
    let place = |byte: u8, base: u8| u32::from(byte - base);
    Some(place(a, 0x81) * 12_600 + place(b, 0x30) * 1260 + place(c, 0x81) * 10 + place(d, 0x30))
}
