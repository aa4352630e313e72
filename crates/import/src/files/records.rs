//! Lines of CSV and TSV: cut at the ends of records, and not cut into fields. The server does that (LOAD
//! DATA), so that there is one reader of fields.

use std::io::{self, Read};

use crate::Result;
use crate::error::Error;

const READ_BYTES: usize = 256 << 10;
/// A longer record is a file that is something else.
const RECORD_BYTES_MAX: usize = 1 << 30;

/// How records and fields are separated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Format {
    pub(super) fields_terminated: Vec<u8>,
    pub(super) enclosed: Option<u8>,
    pub(super) escaped: Option<u8>,
    pub(super) lines_starting: Vec<u8>,
    pub(super) lines_terminated: Vec<u8>,
    pub(super) charset: String,
}

impl Format {
    pub(super) fn check(&self) -> Result<()> {
        if self.lines_terminated.is_empty() || self.fields_terminated.is_empty() {
            return Err(Error::Arguments(
                "fields without separators cannot be cut into parts: use LOAD DATA".to_owned(),
            ));
        }
        if matches!(self.charset.as_str(), "ucs2" | "utf16" | "utf16le" | "utf32") {
            return Err(Error::Arguments(format!(
                "LOAD DATA reads no {}: convert the file first (iconv -t utf8)",
                self.charset
            )));
        }
        Ok(())
    }

    /// Whether a byte begins a character of two bytes, the second of which may look like a separator.
    fn is_lead(&self, byte: u8) -> bool {
        match self.charset.as_str() {
            "sjis" | "cp932" => matches!(byte, 0x81..=0x9f | 0xe0..=0xfc),
            "gbk" | "gb18030" | "big5" => byte >= 0x81,
            _ => false,
        }
    }
}

/// Some records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Records {
    pub(super) offset: u64,
    /// The first is this record of the file, from 1.
    pub(super) number: u64,
    pub(super) count: u64,
    pub(super) bytes: Vec<u8>,
}

impl Records {
    pub(super) fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }
}

pub(super) struct Reader<'f, R> {
    input: R,
    format: &'f Format,
    /// Bytes that need a closer look, outside of quotes.
    is_special: [bool; 256],
    buffer: Vec<u8>,
    offset: u64,
    number: u64,
    at_end: bool,
}

impl<'f, R: Read> Reader<'f, R> {
    pub(super) fn new(input: R, format: &'f Format) -> Self {
        let mut is_special = [false; 256];
        for byte in 0..=u8::MAX {
            is_special[usize::from(byte)] = format.is_lead(byte)
                || Some(byte) == format.escaped
                || Some(&byte) == format.lines_terminated.first()
                || format.enclosed.is_some() && Some(&byte) == format.fields_terminated.first();
        }
        Self {
            input,
            format,
            is_special,
            buffer: Vec::new(),
            offset: 0,
            number: 1,
            at_end: false,
        }
    }

    /// As many records as have about this many bytes, and at least one.
    pub(super) fn next(&mut self, bytes: usize) -> io::Result<Option<Records>> {
        let mut ends = Ends::default();
        loop {
            let stopped = self.scan(&mut ends, bytes);
            if stopped || self.at_end {
                break;
            }
            if self.buffer.len() > RECORD_BYTES_MAX.max(bytes * 2) {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("record {} has no end within 1 GiB", self.number),
                ));
            }
            let length = self.buffer.len();
            self.buffer.resize(length + READ_BYTES.max(length / 2), 0);
            let read = loop {
                match self.input.read(self.buffer.get_mut(length..).unwrap_or_default()) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    other => break other,
                }
            };
            self.buffer.truncate(length + *read.as_ref().unwrap_or(&0));
            self.at_end = read? == 0;
        }
        if self.at_end && ends.at >= self.buffer.len() && ends.last < self.buffer.len() {
            // The last record has no separator after it.
            ends.last = self.buffer.len();
            ends.count += 1;
        }
        if ends.last == 0 {
            return Ok(None);
        }
        let rest = self.buffer.split_off(ends.last);
        let records = Records {
            offset: self.offset,
            number: self.number,
            count: ends.count,
            bytes: std::mem::replace(&mut self.buffer, rest),
        };
        self.offset = records.end();
        self.number += records.count;
        Ok(Some(records))
    }

    /// Looks for ends of records from where the last scan stopped. `true`: there are enough.
    fn scan(&self, ends: &mut Ends, bytes: usize) -> bool {
        let format = self.format;
        let longest = format.fields_terminated.len().max(format.lines_terminated.len());
        let needed = if self.at_end { 1 } else { longest + 1 };
        loop {
            if ends.is_line_start {
                ends.is_line_start = false;
                match skip_prefix(
                    self.buffer.get(ends.at..).unwrap_or_default(),
                    &format.lines_starting,
                ) {
                    Some(length) => ends.at += length,
                    None => ends.is_line_start = !self.at_end,
                }
                if ends.is_line_start {
                    return false;
                }
            }
            let rest = self.buffer.get(ends.at..).unwrap_or_default();
            if rest.len() < needed {
                return false;
            }
            let first = rest.first().copied().unwrap_or_default();
            if ends.is_field_start {
                ends.is_field_start = false;
                if Some(first) == format.enclosed {
                    ends.is_enclosed = true;
                    ends.at += 1;
                    continue;
                }
            }
            if ends.is_enclosed {
                ends.at += self.within_quotes(rest, &mut ends.is_enclosed);
                continue;
            }
            let Some(found) = rest.iter().position(|byte| self.is_special[usize::from(*byte)]) else {
                ends.at += rest.len();
                continue;
            };
            ends.at += found;
            let rest = rest.get(found..).unwrap_or_default();
            if rest.len() < needed {
                return false;
            }
            if Some(rest[0]) == format.escaped || format.is_lead(rest[0]) {
                ends.at += 2.min(rest.len());
            } else if rest.starts_with(&format.lines_terminated) {
                ends.at += format.lines_terminated.len();
                ends.last = ends.at;
                ends.count += 1;
                ends.is_field_start = true;
                ends.is_line_start = !format.lines_starting.is_empty();
                if ends.last >= bytes {
                    return true;
                }
            } else if rest.starts_with(&format.fields_terminated) {
                ends.at += format.fields_terminated.len();
                ends.is_field_start = true;
            } else {
                ends.at += 1;
            }
        }
    }

    /// How many bytes within quotes can be passed on.
    fn within_quotes(&self, rest: &[u8], is_enclosed: &mut bool) -> usize {
        let format = self.format;
        let Some(quote) = format.enclosed else { return 1 };
        let escape = format.escaped.unwrap_or(quote);
        let Some(found) = memchr::memchr2(quote, escape, rest) else {
            return rest.len();
        };
        let rest = rest.get(found..).unwrap_or_default();
        let behind = rest.get(1..).unwrap_or_default();
        let length = longest_separator(format) + 1;
        if rest.len() < length && !self.at_end {
            // Too few bytes to decide. The bytes before are passed on, and these are looked at again with
            // more.
            return found;
        }
        if rest.first() != Some(&quote) || behind.first() == Some(&quote) {
            return found + 2.min(rest.len());
        }
        let closes = behind.is_empty()
            || behind.starts_with(&format.fields_terminated)
            || behind.starts_with(&format.lines_terminated);
        *is_enclosed = !closes;
        found + 1
    }
}

fn longest_separator(format: &Format) -> usize {
    format.fields_terminated.len().max(format.lines_terminated.len())
}

/// How far a scan is.
struct Ends {
    at: usize,
    /// Behind the last whole record.
    last: usize,
    count: u64,
    is_field_start: bool,
    is_line_start: bool,
    is_enclosed: bool,
}

impl Default for Ends {
    fn default() -> Self {
        Self {
            at: 0,
            last: 0,
            count: 0,
            is_field_start: true,
            is_line_start: true,
            is_enclosed: false,
        }
    }
}

/// Where a line begins after its prefix (LINES STARTING BY).
fn skip_prefix(text: &[u8], prefix: &[u8]) -> Option<usize> {
    if prefix.is_empty() {
        return Some(0);
    }
    let found = text.windows(prefix.len()).position(|window| window == prefix)?;
    Some(found + prefix.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::Slowly;

    fn csv() -> Format {
        Format {
            fields_terminated: b",".to_vec(),
            enclosed: Some(b'"'),
            escaped: None,
            lines_starting: Vec::new(),
            lines_terminated: b"\n".to_vec(),
            charset: "utf8mb4".to_owned(),
        }
    }

    fn records(text: &[u8], format: &Format) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        for step in [usize::MAX, 1, 2, 3, 5] {
            let mut reader = Reader::new(Slowly(text, step), format);
            let mut found = Vec::new();
            while let Some(records) = reader.next(1).unwrap() {
                assert_eq!(records.count, 1);
                assert_eq!(records.number, found.len() as u64 + 1);
                found.push(records.bytes);
            }
            assert_eq!(found.concat(), text);
            all.push(found);
        }
        assert!(all.iter().all(|found| *found == all[0]), "{all:?}");
        all.swap_remove(0)
    }

    #[test]
    fn records_end_outside_of_quotes() {
        let text = b"1,\"a\nb\"\n2,\"x\"\"\n,\"\n3,a\"b\n\n4,\"in \"the\" middle\"\n5,end";
        let expected: [&[u8]; 6] = [
            b"1,\"a\nb\"\n",
            b"2,\"x\"\"\n,\"\n",
            b"3,a\"b\n",
            b"\n",
            b"4,\"in \"the\" middle\"\n",
            b"5,end",
        ];
        assert_eq!(records(text, &csv()), expected);
    }

    #[test]
    fn escapes_and_wide_characters() {
        let mut format = Format {
            enclosed: None,
            escaped: Some(b'\\'),
            fields_terminated: b"\t".to_vec(),
            ..csv()
        };
        assert_eq!(
            records(b"a\\\nb\tc\\\\\nd", &format),
            [&b"a\\\nb\tc\\\\\n"[..], b"d"]
        );
        format.charset = "sjis".to_owned();
        assert_eq!(records(b"\x83\\\nb\n", &format), [&b"\x83\\\n"[..], b"b\n"]);
    }

    #[test]
    fn long_separators_and_prefixes() {
        let format = Format {
            lines_starting: b">>".to_vec(),
            lines_terminated: b"\r\n".to_vec(),
            fields_terminated: b"||".to_vec(),
            ..csv()
        };
        assert_eq!(
            records(b"x>>1||\"a\r\n\"\r\n>>2||b\r\n", &format),
            [&b"x>>1||\"a\r\n\"\r\n"[..], b">>2||b\r\n"]
        );
    }

    #[test]
    fn several_at_once() {
        let format = csv();
        let mut reader = Reader::new(&b"1\n2\n3\n4\n"[..], &format);
        let first = reader.next(3).unwrap().unwrap();
        assert_eq!(
            (first.count, first.bytes.as_slice(), first.end()),
            (2, &b"1\n2\n"[..], 4)
        );
        let second = reader.next(100).unwrap().unwrap();
        assert_eq!((second.number, second.count, second.offset), (3, 2, 4));
        assert_eq!(reader.next(100).unwrap(), None);
    }
}
