//! A file's bytes to lines and fields: LOAD DATA.
//!
//! The bytes are cut before they are decoded, so that a file may hold several character sets. Memory is bounded
//! by the longest field. Source: manual 13.2.9, "LOAD DATA Statement", and MySQL 8.0.33's answers.

use std::cell::RefCell;

use planner::plan::FileFormat;
use types::{Charset, Error, Result, errno};

/// Where the bytes of a file come from: the server's disk or the client.
pub trait FileSource {
    /// The number of bytes that it has put into the buffer; 0 at the end of the file.
    ///
    /// # Errors
    /// The file cannot be read, or the client is gone.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize>;
}

/// A file that a statement reads, at the place where it is.
pub trait LoadedFile {
    /// # Errors
    /// Those of `read`.
    fn with_reader(&self, read: &mut dyn FnMut(&mut FieldReader<'_>) -> Result<()>) -> Result<()>;

    /// Whether LOCK TABLES keeps others from the table.
    fn table_is_locked(&self) -> bool;

    /// A file that is not longer is not worth a bulk load.
    fn bulk_bytes(&self) -> usize;
}

/// The file of a LOAD DATA.
pub struct LoadInput<'a> {
    pub reader: RefCell<FieldReader<'a>>,
    pub table_is_locked: bool,
    pub bulk_bytes: usize,
}

impl LoadedFile for LoadInput<'_> {
    fn with_reader(&self, read: &mut dyn FnMut(&mut FieldReader<'_>) -> Result<()>) -> Result<()> {
        read(&mut self.reader.borrow_mut())
    }

    fn table_is_locked(&self) -> bool {
        self.table_is_locked
    }

    fn bulk_bytes(&self) -> usize {
        self.bulk_bytes
    }
}

/// One read of the source.
const READ_BYTES: usize = 128 * 1024;
/// By so much a buffer grows that reads ahead.
const AHEAD_STEP: usize = 1 << 20;

/// Cuts a file into lines and fields. A new one stands before the first line.
pub struct FieldReader<'a> {
    source: Box<dyn FileSource + 'a>,
    format: FileFormat,
    charset: Charset,
    /// Bytes that need a closer look; all others are parts of a field.
    is_special: [bool; 256],
    /// A separator of lines is given. It is of no use if it is that of fields.
    has_lines: bool,
    /// A special byte may begin a character of several bytes.
    has_wide_characters: bool,
    buffer: Vec<u8>,
    /// The bytes of the buffer that have been read, and not been taken yet.
    start: usize,
    end: usize,
    field: Vec<u8>,
    field_bytes_max: usize,
    is_enclosed: bool,
    is_null: bool,
    /// What comes before a line's prefix (STARTING BY) has not been skipped yet.
    is_before_prefix: bool,
    /// The last field of the line has been read.
    is_line_over: bool,
    is_over: bool,
    /// The line had more fields than were read.
    pub is_truncated: bool,
    /// Lines that still are to be ignored, where no byte ends a line.
    pub ignored: u64,
    /// How many rows the file has given so far.
    pub rows: u64,
}

impl<'a> FieldReader<'a> {
    /// `field_bytes_max`: a longer field is an error.
    pub fn new(
        source: Box<dyn FileSource + 'a>,
        format: &FileFormat,
        charset: Charset,
        field_bytes_max: usize,
    ) -> Self {
        let has_lines = !format.lines_terminated.is_empty();
        let mut format = format.clone();
        if format.lines_terminated == format.fields_terminated {
            format.lines_terminated.clear();
        }
        let has_wide_characters = !charset.is_utf8() && charset.max_bytes_per_char() > 1;
        let mut is_special = [false; 256];
        for (byte, special) in (0..=u8::MAX).zip(&mut is_special) {
            *special = has_wide_characters && (charset.min_bytes_per_char() > 1 || !byte.is_ascii())
                || [format.enclosed, format.escaped].contains(&Some(byte))
                || [format.fields_terminated.first(), format.lines_terminated.first()].contains(&Some(&byte));
        }
        Self {
            is_before_prefix: !format.lines_starting.is_empty(),
            source,
            format,
            charset,
            is_special,
            has_lines,
            has_wide_characters,
            buffer: vec![0; READ_BYTES],
            start: 0,
            end: 0,
            field: Vec::new(),
            field_bytes_max,
            is_enclosed: false,
            is_null: false,
            is_line_over: false,
            is_over: false,
            is_truncated: false,
            ignored: 0,
            rows: 0,
        }
    }

    /// Skips lines before the first row.
    ///
    /// # Errors
    /// Those of the source.
    pub fn ignore_lines(&mut self, lines: u64) -> Result<()> {
        if !self.has_lines {
            self.ignored = lines;
            return Ok(());
        }
        for _ in 0..lines {
            if !self.next_line()? {
                break;
            }
        }
        Ok(())
    }

    /// Reads more of the file ahead, with a larger buffer where what has been read fills it; `false`: there is no
    /// more. The buffer is small again when what it holds has been taken.
    ///
    /// # Errors
    /// Those of the source.
    pub fn read_ahead(&mut self) -> Result<bool> {
        if self.end == self.buffer.len() && self.start == 0 {
            self.buffer.resize(self.end + AHEAD_STEP, 0);
        }
        self.fill()
    }

    /// The bytes that have been read and not been taken.
    pub fn ahead(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// How many bytes of memory the buffer has beyond what every reader has.
    pub fn ahead_bytes(&self) -> usize {
        self.buffer.len().saturating_sub(READ_BYTES)
    }

    /// The last byte of what ends lines, if something does.
    pub fn line_end(&self) -> Option<u8> {
        self.format.lines_terminated.last().copied()
    }

    /// The bytes of the field that was read last, with escapes resolved.
    pub fn field(&self) -> &[u8] {
        // The character in front was kept in case that none closes the field.
        let from = usize::from(self.is_enclosed);
        self.field.get(from..).unwrap_or_default()
    }

    /// Whether that field is NULL: `\N`, or the word where fields can be enclosed and this one is not.
    pub fn is_null(&self) -> bool {
        self.is_null && self.field.len() == 1
            || self.format.enclosed.is_some() && !self.is_enclosed && self.field == b"NULL"
    }

    /// Whether the whole file has been read.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Reads the next field of the line; `false` if it has no more.
    ///
    /// # Errors
    /// Those of the source; 1153 for a field beyond the limit.
    pub fn read_field(&mut self) -> Result<bool> {
        self.field.clear();
        self.is_null = false;
        self.is_enclosed = false;
        if !self.begin_field()? {
            return Ok(false);
        }
        let Some(first) = self.peek()? else {
            self.end_of_file();
            return Ok(false);
        };
        let enclosing = self.format.enclosed.filter(|enclosed| *enclosed == first);
        if enclosing.is_some() {
            self.take();
        }
        loop {
            self.take_plain()?;
            let Some(byte) = self.peek()? else {
                self.end_of_file();
                return Ok(true);
            };
            self.start += 1;
            if Some(byte) == self.format.escaped && self.take_escaped(byte)? {
                if self.is_over {
                    return Ok(true);
                }
                continue;
            }
            if enclosing.is_none() {
                if self.ends_line(byte)? {
                    return Ok(true);
                }
                if self.ends_field(byte)? {
                    return Ok(true);
                }
            } else if Some(byte) == enclosing && self.closes(byte)? {
                return Ok(true);
            }
            self.push_character(byte)?;
        }
    }

    /// Reads a line of fields that have fixed widths, `width` bytes in all: it becomes the field.
    ///
    /// # Errors
    /// As [`FieldReader::read_field`].
    pub fn read_fixed_line(&mut self, width: usize) -> Result<bool> {
        self.field.clear();
        self.is_null = false;
        self.is_enclosed = false;
        if !self.begin_field()? {
            return Ok(false);
        }
        while self.field.len() < width {
            let Some(byte) = self.peek()? else {
                self.end_of_file();
                return Ok(!self.field.is_empty());
            };
            self.start += 1;
            if Some(byte) == self.format.escaped {
                match self.peek()? {
                    Some(next) => {
                        self.start += 1;
                        self.push_unescaped(next)?;
                    }
                    None => self.field.push(byte),
                }
            } else if self.ends_line(byte)? {
                return Ok(true);
            } else {
                self.push(byte)?;
            }
        }
        Ok(true)
    }

    /// Goes to the next line; `false` at the end of the file.
    ///
    /// # Errors
    /// Those of the source.
    pub fn next_line(&mut self) -> Result<bool> {
        self.is_truncated = false;
        self.is_before_prefix = !self.format.lines_starting.is_empty();
        if self.is_line_over || self.is_over {
            self.is_line_over = false;
            return Ok(!self.is_over);
        }
        if self.format.lines_terminated.is_empty() {
            return Ok(true);
        }
        while let Some(byte) = self.peek()? {
            self.start += 1;
            if Some(byte) == self.format.escaped {
                self.is_truncated = true;
                if self.peek()?.is_some() {
                    self.start += 1;
                }
            } else if self.is_first_of(byte, true) && self.has_rest(true)? {
                return Ok(true);
            } else {
                self.is_truncated = true;
                self.start += self.width_of(byte)? - 1;
            }
        }
        self.is_over = true;
        Ok(false)
    }

    /// Skips what comes before a line's prefix, and the prefix. `false`: the line has no further field.
    fn begin_field(&mut self) -> Result<bool> {
        if self.is_line_over {
            return Ok(false);
        }
        if !std::mem::take(&mut self.is_before_prefix) {
            return Ok(true);
        }
        let prefix = std::mem::take(&mut self.format.lines_starting);
        let found = self.skip_to(&prefix);
        self.format.lines_starting = prefix;
        if !found? {
            self.end_of_file();
            return Ok(false);
        }
        Ok(true)
    }

    /// Takes all bytes up to the end of `prefix`.
    fn skip_to(&mut self, prefix: &[u8]) -> Result<bool> {
        loop {
            while self.end - self.start < prefix.len() {
                if !self.fill()? {
                    self.start = self.end;
                    return Ok(false);
                }
            }
            let window = &self.buffer[self.start..self.end];
            match window.windows(prefix.len()).position(|bytes| bytes == prefix) {
                Some(at) => {
                    self.start += at + prefix.len();
                    return Ok(true);
                }
                None => self.start = self.end + 1 - prefix.len(),
            }
        }
    }

    /// Takes the bytes of the field up to the next special one.
    fn take_plain(&mut self) -> Result<()> {
        loop {
            let arrived = &self.buffer[self.start..self.end];
            let special = |byte: &u8| self.is_special[usize::from(*byte)];
            let count = arrived.iter().position(special);
            self.field
                .extend_from_slice(&arrived[..count.unwrap_or(arrived.len())]);
            if self.field.len() > self.field_bytes_max {
                return Err(too_long());
            }
            match count {
                Some(count) => {
                    self.start += count;
                    return Ok(());
                }
                None => self.start = self.end,
            }
            if !self.fill()? {
                return Ok(());
            }
        }
    }

    /// Takes the character after the escape character. `false`: the latter encloses fields, too, and is not
    /// doubled here.
    fn take_escaped(&mut self, escape: u8) -> Result<bool> {
        let Some(next) = self.peek()? else {
            self.field.push(escape);
            self.end_of_file();
            return Ok(true);
        };
        if self.format.escaped == self.format.enclosed && next != escape {
            return Ok(false);
        }
        self.start += 1;
        if !next.is_ascii() && self.has_wide_characters {
            // MySQL writes an escape character before both bytes of such a character.
            self.push(next)?;
            if self.peek()? == Some(escape) {
                self.start += 1;
                if let Some(second) = self.peek()? {
                    self.start += 1;
                    self.push_unescaped(second)?;
                }
            }
            return Ok(true);
        }
        self.push_unescaped(next)?;
        Ok(true)
    }

    /// Whether the enclosing character, which has been taken, closes the field. It is part of the field if it is
    /// doubled, or if no separator follows.
    fn closes(&mut self, enclosing: u8) -> Result<bool> {
        match self.peek()? {
            Some(next) if next == enclosing => {
                self.start += 1;
                return Ok(false);
            }
            None => self.is_line_over = true,
            Some(_) => {
                self.is_line_over = self.takes_terminator(true)?;
                if !self.is_line_over && !self.takes_terminator(false)? {
                    return Ok(false);
                }
            }
        }
        self.is_enclosed = true;
        Ok(true)
    }

    /// Takes what ends lines, or else fields, if that follows.
    fn takes_terminator(&mut self, line: bool) -> Result<bool> {
        let follows = match self.peek()? {
            Some(next) if self.is_first_of(next, line) => {
                let length = self.terminator(line).len();
                while self.end - self.start < length {
                    if !self.fill()? {
                        return Ok(false);
                    }
                }
                self.buffer[self.start..self.end].starts_with(self.terminator(line))
            }
            _ => false,
        };
        if follows {
            self.start += self.terminator(line).len();
        }
        Ok(follows)
    }

    fn terminator(&self, line: bool) -> &[u8] {
        match line {
            true => &self.format.lines_terminated,
            false => &self.format.fields_terminated,
        }
    }

    /// Whether a byte, which has been taken, begins the end of the line. Takes the rest of it.
    fn ends_line(&mut self, byte: u8) -> Result<bool> {
        let ends = self.is_first_of(byte, true) && self.has_rest(true)?;
        self.is_line_over |= ends;
        Ok(ends)
    }

    fn ends_field(&mut self, byte: u8) -> Result<bool> {
        Ok(self.is_first_of(byte, false) && self.has_rest(false)?)
    }

    /// Whether a byte is the first of what ends lines, or else fields.
    fn is_first_of(&self, byte: u8, line: bool) -> bool {
        self.terminator(line).first() == Some(&byte)
    }

    /// Takes the other bytes of what ends lines or fields, if they follow.
    fn has_rest(&mut self, line: bool) -> Result<bool> {
        let length = self.terminator(line).len() - 1;
        while self.end - self.start < length {
            if !self.fill()? {
                return Ok(false);
            }
        }
        let follows = self.buffer[self.start..self.start + length] == self.terminator(line)[1..];
        if follows {
            self.start += length;
        }
        Ok(follows)
    }

    /// Appends a byte that has been taken, with the rest of its character.
    fn push_character(&mut self, byte: u8) -> Result<()> {
        let width = self.width_of(byte)?;
        self.push(byte)?;
        for _ in 1..width {
            self.take();
        }
        Ok(())
    }

    /// How many bytes the character takes whose first byte has been taken; 1 if it is not valid.
    fn width_of(&mut self, byte: u8) -> Result<usize> {
        if !self.has_wide_characters || self.charset.min_bytes_per_char() == 1 && byte.is_ascii() {
            return Ok(1);
        }
        let most = self.charset.max_bytes_per_char() as usize - 1;
        while self.end - self.start < most {
            if !self.fill()? {
                break;
            }
        }
        let mut character = [byte; 4];
        let rest = &self.buffer[self.start..self.end.min(self.start + most.min(3))];
        character[1..=rest.len()].copy_from_slice(rest);
        let width = self.charset.first_character_len(&character[..=rest.len()]);
        Ok(width.unwrap_or(1))
    }

    fn push(&mut self, byte: u8) -> Result<()> {
        if self.field.len() >= self.field_bytes_max {
            return Err(too_long());
        }
        self.field.push(byte);
        Ok(())
    }

    fn push_unescaped(&mut self, byte: u8) -> Result<()> {
        self.is_null |= byte == b'N';
        self.push(match byte {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 8,
            b'0' => 0,
            b'Z' => 26,
            other => other,
        })
    }

    /// Appends the next byte, which has arrived.
    fn take(&mut self) {
        self.field.push(self.buffer[self.start]);
        self.start += 1;
    }

    fn end_of_file(&mut self) {
        self.is_line_over = true;
        self.is_over = true;
    }

    /// The next byte; `None` at the end of the file.
    fn peek(&mut self) -> Result<Option<u8>> {
        if self.start == self.end && !self.fill()? {
            return Ok(None);
        }
        Ok(Some(self.buffer[self.start]))
    }

    /// Reads more of the file after what has arrived; `false` at its end. There is room: what has arrived and has
    /// not been taken is a part of a separator or of a character.
    fn fill(&mut self) -> Result<bool> {
        let left = self.end - self.start;
        if self.start > 0 && left < READ_BYTES && self.buffer.len() > READ_BYTES {
            // It was read ahead. The rest is a part of a separator or of a character.
            let mut buffer = vec![0; READ_BYTES];
            buffer[..left].copy_from_slice(&self.buffer[self.start..self.end]);
            self.buffer = buffer;
        } else {
            self.buffer.copy_within(self.start..self.end, 0);
        }
        (self.start, self.end) = (0, left);
        if self.end == self.buffer.len() {
            // A separator that is longer than the buffer.
            self.buffer.resize(self.end * 2, 0);
        }
        // A read after the end of the file is the source's to answer with 0 again.
        let count = self.source.read(&mut self.buffer[self.end..])?;
        self.end += count;
        Ok(count > 0)
    }
}

/// Error 1153.
#[cold]
fn too_long() -> Error {
    Error::new(
        errno::ER_NET_PACKET_TOO_LARGE,
        "Got a packet bigger than 'max_allowed_packet' bytes: a field of the file is longer",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time, so that every separator is cut somewhere.
    struct Pieces<'a>(&'a [u8], usize);

    impl FileSource for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
            let count = self.1.min(self.0.len()).min(buffer.len());
            let (now, later) = self.0.split_at(count);
            buffer[..count].copy_from_slice(now);
            self.0 = later;
            Ok(count)
        }
    }

    fn lines(file: &[u8], format: &FileFormat, charset: Charset) -> Vec<Vec<Option<String>>> {
        let of_pieces = |piece| {
            let mut reader = FieldReader::new(Box::new(Pieces(file, piece)), format, charset, 1 << 20);
            let mut lines = Vec::new();
            loop {
                let mut line = Vec::new();
                while reader.read_field().unwrap() {
                    let text = String::from_utf8_lossy(reader.field()).into_owned();
                    line.push((!reader.is_null()).then_some(text));
                }
                if line.is_empty() {
                    return lines;
                }
                lines.push(line);
                if !reader.next_line().unwrap() {
                    return lines;
                }
            }
        };
        let all: Vec<_> = [1, 2, 3, 1000].map(of_pieces).into_iter().collect();
        assert!(all.windows(2).all(|two| two[0] == two[1]), "{all:?}");
        all.into_iter().next().unwrap()
    }

    fn format(
        fields: &str,
        enclosed: Option<u8>,
        escaped: Option<u8>,
        starting: &str,
        lines: &str,
    ) -> FileFormat {
        FileFormat {
            fields_terminated: fields.into(),
            enclosed,
            optionally_enclosed: false,
            escaped,
            lines_starting: starting.into(),
            lines_terminated: lines.into(),
        }
    }

    fn texts(line: &[&str]) -> Vec<Option<String>> {
        line.iter()
            .map(|text| (*text != "NULL!").then(|| (*text).to_owned()))
            .collect()
    }

    #[test]
    fn what_is_read_ahead_is_read_once_and_then_the_buffer_is_small_again() {
        let file: Vec<u8> = (0..400_000)
            .flat_map(|n: u32| format!("{n}\n").into_bytes())
            .collect();
        let default = format("\t", None, Some(b'\\'), "", "\n");
        let source = Box::new(Pieces(&file, 10_000));
        let mut reader = FieldReader::new(source, &default, Charset::Utf8mb4, 1 << 20);
        while reader.ahead().len() < 2_000_000 {
            assert!(reader.read_ahead().unwrap());
        }
        assert!(reader.ahead_bytes() > 1_500_000 && file.starts_with(reader.ahead()));
        for n in 0..400_000_u32 {
            assert!(reader.read_field().unwrap());
            assert_eq!(reader.field(), n.to_string().as_bytes());
            assert!(reader.next_line().unwrap());
        }
        assert!(!reader.read_field().unwrap());
        assert_eq!(reader.ahead_bytes(), 0);
    }

    #[test]
    fn escapes_and_nulls() {
        let default = format("\t", None, Some(b'\\'), "", "\n");
        let read = lines(b"a\\tb\t\\N\t\\\\N\n\tNULL\tx\\\ny", &default, Charset::Utf8mb4);
        assert_eq!(
            read,
            [texts(&["a\tb", "NULL!", "\\N"]), texts(&["", "NULL", "x\ny"])]
        );
    }

    #[test]
    fn enclosed_fields() {
        let csv = format(",", Some(b'"'), Some(b'"'), "", "\r\n");
        let read = lines(
            b"1,\"a\"\"b,\r\n\"\r\nNULL,\"NULL\"\r\n\"x\"y,z\r\n\"open",
            &csv,
            Charset::Utf8mb4,
        );
        assert_eq!(
            read,
            [
                texts(&["1", "a\"b,\r\n"]),
                texts(&["NULL!", "NULL"]),
                texts(&["\"x\"y,z\r\n\"open"]),
            ]
        );
        // The begin of a line's end after the quote, with the rest not there yet.
        let read = lines(b"\"a\"\r\"b\"\n,\"c\"\r\n", &csv, Charset::Utf8mb4);
        assert_eq!(read, [texts(&["a\"\r\"b\"\n,\"c"])]);
    }

    #[test]
    fn prefixes_and_long_separators() {
        let odd = format("<|>", None, None, "##", ";;");
        let read = lines(b"junk##1<|>2<|;;; ##3<|>;;#nothing", &odd, Charset::Utf8mb4);
        assert_eq!(read, [texts(&["1", "2<|"]), texts(&["3", ""])]);
    }

    /// The second byte of a character can be a backslash.
    #[test]
    fn characters_of_several_bytes() {
        let default = format("\t", None, Some(b'\\'), "", "\n");
        let read = lines(b"\x95\\\tb\n", &default, Charset::from_name("sjis").unwrap());
        assert_eq!(read[0].len(), 2);
    }
}
