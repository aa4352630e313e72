//! `utf8mb4_0900_ai_ci`: the primary weights of the Default Unicode Collation Element Table, version 9.0.
//!
//! A string's weights are those of its code points, one after the other: MySQL neither normalises nor looks
//! for contractions under this collation. Code points with no primary weight (controls, combining marks) do
//! not count.
//!
//! The table is `allkeys.txt` of UCA 9.0.0 with everything but primary weights left out. It agrees with what
//! `WEIGHT_STRING` of MySQL 8.0.33 says of every code point; the 13 on which the two differ are handled here
//! as MySQL does and named where they are.
//!
//! `ducet_9_0_primary.bin`, all numbers little-endian 16 bits unless said otherwise:
//!
//! ```text
//! 4352 bytes: for each page of 256 code points its number plus 1, or 0
//! 256 entries for each page: 0 ignorable | below 0x8000 the weight | 0xffff not in the table
//!                            | 0x8000 + place of a list
//! lists: length, weights
//! ```
//!
//! Sources: UTS #10 version 9.0, <https://www.unicode.org/Public/UCA/9.0.0/>; implicit weights: its section
//! 10.1.3.

const DATA: &[u8] = include_bytes!("ducet_9_0_primary.bin");
const PAGE_COUNT: usize = 4352;
const PAGE_BYTES: usize = 512;
const NOT_IN_TABLE: u16 = 0xffff;
const LIST: u16 = 0x8000;

/// The most weights one code point has.
const MAX_WEIGHTS: usize = 8;

const fn page_count() -> usize {
    let (mut page, mut largest) = (0, 0);
    while page < PAGE_COUNT {
        if DATA[page] > largest {
            largest = DATA[page];
        }
        page += 1;
    }
    largest as usize
}

const LISTS: usize = PAGE_COUNT + page_count() * PAGE_BYTES;

const fn u16_at(at: usize) -> u16 {
    u16::from_le_bytes([DATA[at], DATA[at + 1]])
}

const fn entry(code_point: u32) -> u16 {
    match DATA[(code_point >> 8) as usize] {
        0 => NOT_IN_TABLE,
        page => u16_at(PAGE_COUNT + (page as usize - 1) * PAGE_BYTES + (code_point & 0xff) as usize * 2),
    }
}

/// The weight of each ASCII character: each has one or none.
static ASCII: [u16; 128] = {
    let mut table = [0; 128];
    let mut i = 0;
    while i < 128 {
        table[i] = entry(i as u32);
        assert!(table[i] < LIST);
        i += 1;
    }
    table
};

/// The weights of one code point.
#[derive(Clone, Copy, Default)]
struct WeightList {
    weights: [u16; MAX_WEIGHTS],
    len: u8,
}

impl WeightList {
    fn push(&mut self, weight: u16) {
        if let Some(slot) = self.weights.get_mut(usize::from(self.len)) {
            *slot = weight;
            self.len += 1;
        }
    }
}

#[cold]
fn weights_of(code_point: u32) -> WeightList {
    let mut list = WeightList::default();
    if code_point > 0x10_ffff {
        return list;
    }
    match entry(code_point) {
        NOT_IN_TABLE => push_implicit(code_point, &mut list),
        0 => {}
        weight if weight < LIST => list.push(weight),
        place => {
            let start = LISTS + usize::from(place & !LIST) * 2;
            for i in 1..=usize::from(u16_at(start)) {
                list.push(u16_at(start + i * 2));
            }
        }
    }
    list
}

/// Appends the weights of a code point that is not in the table and follows a rule.
fn push_implicit(code_point: u32, list: &mut WeightList) {
    match syllable(code_point) {
        Some(parts) => parts
            .into_iter()
            .flatten()
            .for_each(|part| list.push(entry(part))),
        None => implicit(code_point)
            .into_iter()
            .for_each(|weight| list.push(weight)),
    }
}

/// The two or three letters of a Hangul syllable.
pub(super) fn syllable(code_point: u32) -> Option<[Option<u32>; 3]> {
    // MySQL treats the twelve code points after the last syllable as syllables, too.
    if !(0xac00..=0xd7af).contains(&code_point) {
        return None;
    }
    let syllable = code_point - 0xac00;
    let trailing = syllable % 28;
    Some([
        Some(0x1100 + syllable / 588),
        Some(0x1161 + syllable % 588 / 28),
        (trailing > 0).then_some(0x11a7 + trailing),
    ])
}

/// Whether a weight is the first of the two implicit weights of a code point.
pub(super) fn is_implicit(weight: u16) -> bool {
    (0xfb00..=0xfbff).contains(&weight)
}

/// The implicit weights of a code point that is in no table and no syllable.
pub(super) fn implicit(code_point: u32) -> [u16; 2] {
    if (0x1_7000..=0x1_8aff).contains(&code_point) {
        return [0xfb00, (code_point - 0x1_7000) as u16 | 0x8000];
    }
    let base = match code_point {
        0x4e00..=0x9fd5
        | 0xfa0e
        | 0xfa0f
        | 0xfa11
        | 0xfa13
        | 0xfa14
        | 0xfa1f
        | 0xfa21
        | 0xfa23
        | 0xfa24
        | 0xfa27..=0xfa29 => 0xfb40,
        0x3400..=0x4db5
        | 0x2_0000..=0x2_a6d6
        | 0x2_a700..=0x2_b734
        | 0x2_b740..=0x2_b81d
        | 0x2_b820..=0x2_cea1 => 0xfb80,
        _ => 0xfbc0,
    };
    let high = base + (code_point >> 15) as u16;
    [high, (code_point & 0x7fff) as u16 | 0x8000]
}

/// The weights of UTF-8 text, in order.
pub(super) struct Weights<'a> {
    rest: &'a [u8],
    pending: WeightList,
    at: u8,
}

impl<'a> Weights<'a> {
    pub(super) fn of(text: &'a [u8]) -> Self {
        Self {
            rest: text,
            pending: WeightList::default(),
            at: 0,
        }
    }
}

impl Iterator for Weights<'_> {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        loop {
            if self.at < self.pending.len {
                self.at += 1;
                return Some(self.pending.weights[usize::from(self.at) - 1]);
            }
            match *self.rest.first()? {
                byte @ 0..=0x7f => {
                    self.rest = &self.rest[1..];
                    match ASCII[usize::from(byte)] {
                        0 => {}
                        weight => return Some(weight),
                    }
                }
                _ => {
                    self.pending = weights_of(super::characters::next_code_point(&mut self.rest)?);
                    self.at = 0;
                }
            }
        }
    }
}

/// The weights of the first four characters as one number, if all four are ASCII and each has one weight.
pub(super) fn four_of_ascii(text: &[u8]) -> Option<u64> {
    let first: &[u8; 4] = text.first_chunk()?;
    first.iter().try_fold(0, |number, byte| {
        let weight = *ASCII.get(usize::from(*byte))?;
        (weight != 0).then_some((number << 16) | u64::from(weight))
    })
}

/// Appends each weight as two bytes, the high one first.
pub(super) fn sort_key(text: &[u8], out: &mut Vec<u8>) {
    out.reserve(text.len() * 2);
    let mut rest = text;
    while !rest.is_empty() {
        let ascii = if rest.is_ascii() {
            rest.len()
        } else {
            rest.iter().take_while(|byte| byte.is_ascii()).count()
        };
        let (run, others) = rest.split_at(ascii);
        sort_key_of_ascii(run, out);
        rest = others;
        while rest.first().is_some_and(|byte| !byte.is_ascii()) {
            let Some(code_point) = super::characters::next_code_point(&mut rest) else {
                return;
            };
            let list = weights_of(code_point);
            for weight in list.weights.iter().take(usize::from(list.len)) {
                out.extend_from_slice(&weight.to_be_bytes());
            }
        }
    }
}

/// [`ASCII`] as keys have it, the high byte first; 0 for characters without weight.
static ASCII_KEYS: [[u8; 2]; 128] = {
    let mut keys = [[0; 2]; 128];
    let mut byte = 0;
    while byte < keys.len() {
        keys[byte] = ASCII[byte].to_be_bytes();
        byte += 1;
    }
    keys
};

/// Whether an ASCII character has no weight. Some control characters have none.
fn is_weightless(byte: u8) -> bool {
    ASCII[usize::from(byte & 0x7f)] == 0
}

/// [`sort_key`] for text that is all ASCII, as most text is: without a branch for each character.
fn sort_key_of_ascii(text: &[u8], out: &mut Vec<u8>) {
    let key = |byte: &u8| ASCII_KEYS[usize::from(byte & 0x7f)];
    // Except for one, the characters without weight are below the space. This compares many characters at
    // once.
    let may_be_weightless = text
        .iter()
        .fold(false, |any, &byte| any | (byte < b' ') | (byte == 0x7f));
    if may_be_weightless {
        let with_weight = text.iter().filter(|byte| !is_weightless(**byte));
        out.extend(with_weight.flat_map(key));
        return;
    }
    let start = out.len();
    out.resize(start + text.len() * 2, 0);
    let (slots, _) = out[start..].as_chunks_mut::<2>();
    let (slots_of_4, last_slots) = slots.as_chunks_mut::<4>();
    let (bytes_of_4, last_bytes) = text.as_chunks::<4>();
    for (slots, bytes) in slots_of_4.iter_mut().zip(bytes_of_4) {
        let [a, b, c, d] = bytes;
        *slots = [key(a), key(b), key(c), key(d)];
    }
    for (slot, byte) in last_slots.iter_mut().zip(last_bytes) {
        *slot = key(byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(text: &str) -> Vec<u16> {
        Weights::of(text.as_bytes()).collect()
    }

    #[test]
    fn ascii_has_the_keys_of_its_weights() {
        // The fast path relies on these characters having weights.
        assert!((b' '..0x7f).all(|byte| !is_weightless(byte)));
        for first in 0..128_u8 {
            let text: Vec<u8> = (0..11).map(|i| (first + i * 7) % 128).collect();
            let expected: Vec<u8> = Weights::of(&text).flat_map(u16::to_be_bytes).collect();
            let mut key = Vec::new();
            sort_key(&text, &mut key);
            assert_eq!(key, expected, "{text:?}");
        }
    }

    /// Answers of MySQL 8.0.33's `WEIGHT_STRING(... COLLATE utf8mb4_0900_ai_ci)`.
    #[test]
    fn weights_as_mysql_has_them() {
        assert_eq!(weights("abÄß"), [0x1c47, 0x1c60, 0x1c47, 0x1e71, 0x1e71]);
        assert_eq!(weights("😀"), [0x15fb]);
        assert_eq!(weights("中"), [0xfb40, 0xce2d]);
        assert_eq!(weights("가각"), [0x3bf5, 0x3c73, 0x3bf5, 0x3c73, 0x3cd1]);
        assert_eq!(weights("\0\u{301}"), [0u16; 0]);
        // No contraction: prevowel and consonant stay in their order.
        assert_eq!(weights("เก"), [0x2dad, 0x2d73]);
        // Eight weights are the most.
        assert_eq!(
            weights("\u{fdfa}"),
            [0x2364, 0x239c, 0x23c5, 0x0209, 0x230b, 0x239c, 0x239c, 0x23b1]
        );
        assert_eq!(weights("\u{d7a4}"), [0x3c08, 0x3c73]);
        assert_eq!(weights("\u{10ffff}"), [0xfbe1, 0xffff]);
        assert_eq!(weights("\u{17000}"), [0xfb00, 0x8000]);
    }

    #[test]
    fn keys_are_the_weights_one_after_the_other() {
        let long = "a\u{1}B-9 ".repeat(40);
        for text in [
            "",
            "a",
            "\u{1}",
            "aÄ\u{301}b😀",
            "Ä",
            &long,
            &format!("{long}ß{long}é"),
        ] {
            let mut key = Vec::new();
            sort_key(text.as_bytes(), &mut key);
            let expected: Vec<u8> = weights(text).into_iter().flat_map(u16::to_be_bytes).collect();
            assert_eq!(key, expected, "{text:?}");
        }
    }

    /// `UCA_ALLKEYS=allkeys.txt cargo test -p stemdb-types -- --ignored`: the table against its source.
    #[test]
    #[ignore = "needs allkeys.txt of UCA 9.0.0"]
    fn the_table_is_the_published_one() {
        let source = std::fs::read_to_string(std::env::var("UCA_ALLKEYS").unwrap()).unwrap();
        let mut seen = 0;
        for line in source.lines() {
            let line = line.split('#').next().unwrap();
            let Some((code_points, elements)) = line.split_once(';') else {
                continue;
            };
            let Ok(code_point) = u32::from_str_radix(code_points.trim(), 16) else {
                continue;
            };
            let primary = |element: &str| u16::from_str_radix(element.get(1..5)?, 16).ok();
            let expected: Vec<u16> = elements
                .split('[')
                .filter_map(primary)
                .filter(|w| *w != 0)
                .take(MAX_WEIGHTS)
                .collect();
            let list = weights_of(code_point);
            assert_eq!(&list.weights[..usize::from(list.len)], expected, "{code_point:x}");
            seen += 1;
        }
        assert_eq!(seen, 29_809);
    }
}
