//! `utf8mb4_unicode_ci` and `utf8mb4_unicode_520_ci`: the primary weights of two older versions of the
//! Default Unicode Collation Element Table, 4.0.0 and 5.2.0. Both pad with spaces.
//!
//! As under `utf8mb4_0900_ai_ci` ([`super::ducet`], whose file format the tables share) a string's weights
//! are those of its code points, without normalisation and contractions, and code points with no primary
//! weight do not count. The weights are what `WEIGHT_STRING` of MySQL 8.0.33 says of every code point: under
//! 4.0.0 those above U+FFFF all weigh 0xfffd.

use super::characters::next_code_point;

const PAGES: usize = 4352;
const PAGE_BYTES: usize = 512;
const NOT_IN_TABLE: u16 = 0xffff;
const LIST: u16 = 0x8000;
const SUPPLEMENTARY: u16 = 0xfffd;

const V4_0: &[u8] = include_bytes!("ducet_4_0_primary.bin");
const V4_0_LISTS: usize = lists_of(V4_0);
const V5_2: &[u8] = include_bytes!("ducet_5_2_primary.bin");
const V5_2_LISTS: usize = lists_of(V5_2);

const fn lists_of(data: &[u8]) -> usize {
    let (mut page, mut largest) = (0, 0);
    while page < PAGES {
        if data[page] > largest {
            largest = data[page];
        }
        page += 1;
    }
    PAGES + largest as usize * PAGE_BYTES
}

/// One version's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    V4_0,
    V5_2,
}

impl Version {
    fn data(self) -> &'static [u8] {
        match self {
            Self::V4_0 => V4_0,
            Self::V5_2 => V5_2,
        }
    }

    /// Where the lists of weights begin.
    fn lists(self) -> usize {
        match self {
            Self::V4_0 => V4_0_LISTS,
            Self::V5_2 => V5_2_LISTS,
        }
    }

    fn word(self, at: usize) -> Option<u16> {
        let bytes = self.data().get(at..at + 2)?;
        Some(u16::from_le_bytes([*bytes.first()?, *bytes.get(1)?]))
    }

    /// The table's entry for a code point: 0 (no weight), one weight, or the position of a list.
    fn entry(self, code_point: u32) -> u16 {
        let pages = self.data().get(..PAGES).unwrap_or_default();
        match usize::from(pages.get((code_point >> 8) as usize).copied().unwrap_or(0)) {
            0 => NOT_IN_TABLE,
            page => {
                let at = PAGES + (page - 1) * PAGE_BYTES + (code_point & 0xff) as usize * 2;
                self.word(at).unwrap_or(NOT_IN_TABLE)
            }
        }
    }

    /// The list at an entry's position: its weights, two bytes each.
    fn list(self, place: u16) -> &'static [u8] {
        let start = self.lists() + usize::from(place & !LIST) * 2;
        let len = usize::from(self.word(start).unwrap_or(0)) * 2;
        self.data().get(start + 2..start + 2 + len).unwrap_or_default()
    }

    /// The weight of a space.
    pub const fn space(self) -> u16 {
        match self {
            Self::V4_0 => 0x0209,
            Self::V5_2 => 0x020a,
        }
    }

    /// The weights of code points that follow a rule: UTS #10, "Implicit Weights", with the ideographs of
    /// Unicode 3.1 in both versions.
    fn implicit(self, code_point: u32) -> (u16, Option<u16>) {
        if self == Self::V4_0 && code_point > 0xffff {
            return (SUPPLEMENTARY, None);
        }
        let base = match code_point {
            0x4e00..=0x9fa5 => 0xfb40,
            0x3400..=0x4db5 => 0xfb80,
            _ => 0xfbc0,
        };
        let low = (code_point & 0x7fff) as u16 | 0x8000;
        (base + (code_point >> 15) as u16, Some(low))
    }
}

impl Version {
    /// The weights of one code point.
    pub(super) fn push(self, code_point: u32, mut push: impl FnMut(u16)) {
        match self.entry(code_point) {
            0 => {}
            NOT_IN_TABLE => {
                let (first, second) = self.implicit(code_point);
                push(first);
                second.into_iter().for_each(push);
            }
            weight if weight < LIST => push(weight),
            place => {
                let (weights, _) = self.list(place).as_chunks::<2>();
                weights
                    .iter()
                    .for_each(|weight| push(u16::from_le_bytes(*weight)));
            }
        }
    }
}

/// The weights of UTF-8 text, in order.
pub(super) fn weights(version: Version, text: &[u8]) -> Weights<'_> {
    Weights {
        version,
        rest: text,
        list: &[],
        second: None,
    }
}

pub(super) struct Weights<'a> {
    version: Version,
    rest: &'a [u8],
    /// The remaining weights of a list.
    list: &'static [u8],
    /// The second of two implicit weights.
    second: Option<u16>,
}

impl Iterator for Weights<'_> {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        loop {
            if let Some(weight) = self.second.take() {
                return Some(weight);
            }
            if let Some((weight, rest)) = self.list.split_first_chunk::<2>() {
                self.list = rest;
                return Some(u16::from_le_bytes(*weight));
            }
            let code_point = next_code_point(&mut self.rest)?;
            match self.version.entry(code_point) {
                0 => {}
                NOT_IN_TABLE => {
                    let (first, second) = self.version.implicit(code_point);
                    self.second = second;
                    return Some(first);
                }
                weight if weight < LIST => return Some(weight),
                place => self.list = self.version.list(place),
            }
        }
    }
}

/// Two bytes, the high one first.
pub(super) fn write_weight(weight: u16, out: &mut Vec<u8>) {
    out.extend_from_slice(&weight.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(version: Version, text: &str) -> String {
        weights(version, text.as_bytes())
            .map(|w| format!("{w:04X}"))
            .collect()
    }

    /// Answers of MySQL 8.0.33's `WEIGHT_STRING`.
    #[test]
    fn weights_as_mysql_has_them() {
        for (text, old, new) in SAMPLES {
            assert_eq!(hex(Version::V4_0, text), *old, "{text:?}");
            assert_eq!(hex(Version::V5_2, text), *new, "{text:?}");
        }
        assert_eq!(hex(Version::V4_0, " "), format!("{:04X}", Version::V4_0.space()));
        assert_eq!(hex(Version::V5_2, " "), format!("{:04X}", Version::V5_2.space()));
    }

    const SAMPLES: &[(&str, &str, &str)] = &[
        ("abÄß", "0E330E4A0E330FEA0FEA", "120F1225120F14101410"),
        ("łŁ", "0F360F36", "13301330"),
        ("\u{4e2d}\u{ac00}", "FB40CE2DFBC1AC00", "FB40CE2DFBC1AC00"),
        ("\u{0}\u{301}", "", ""),
        ("\u{fdfa}", "FBC1FDFA", "18FC192B194F020A18AD192B192B193D"),
        ("\u{1f600}", "FFFD", "FBC3F600"),
        ("\u{20000}", "FFFD", "FBC48000"),
        ("\u{3400}", "FB80B400", "FB80B400"),
        ("æ", "0E38", "120F126B"),
        ("\u{9fa6}", "FBC19FA6", "FBC19FA6"),
    ];
}
