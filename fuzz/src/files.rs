//! Files from elsewhere: files that LOAD DATA reads, binary logs for `stemdb import`, logs and dumps for
//! `stemdb replay` and `stemdb check-compat`.

use executor::{FieldReader, FileSource};
use planner::plan::FileFormat;
use types::Charset;

const FIELD_BYTES_MAX: usize = 1 << 16;

/// Returns a few bytes at a time.
struct Pieces<'a>(&'a [u8], usize);

impl FileSource for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> types::Result<usize> {
        let count = self.1.min(self.0.len()).min(buffer.len());
        let (now, later) = self.0.split_at(count);
        for (byte, read) in buffer.iter_mut().zip(now) {
            *byte = *read;
        }
        self.0 = later;
        Ok(count)
    }
}

/// The formats with special rules.
fn formats() -> Vec<FileFormat> {
    let format = |fields: &[u8], enclosed, escaped, starting: &[u8], lines: &[u8]| FileFormat {
        fields_terminated: fields.into(),
        enclosed,
        optionally_enclosed: false,
        escaped,
        lines_starting: starting.into(),
        lines_terminated: lines.into(),
    };
    vec![
        format(b"\t", None, Some(b'\\'), b"", b"\n"),
        format(b",", Some(b'"'), Some(b'"'), b"", b"\r\n"),
        format(b"<|>", None, None, b"##", b";;"),
        format(b",", Some(b'\''), Some(b'\\'), b"", b""),
        format(b"", None, Some(b'\\'), b"", b""),
        format(b"", None, None, b"", b"\n"),
        format(b"xx", Some(b'x'), Some(b'x'), b"x", b"x"),
    ]
}

/// The first byte selects the format, the second one the character set.
pub fn lines(input: &[u8]) {
    let [format, charset, bytes @ ..] = input else {
        return;
    };
    let formats = formats();
    let Some(format) = formats.get(usize::from(*format) % formats.len()) else {
        return;
    };
    let names = [
        "utf8mb4", "latin1", "binary", "sjis", "gb18030", "utf16", "utf32", "utf16le", "big5",
    ];
    let name = names
        .get(usize::from(*charset) % names.len())
        .copied()
        .unwrap_or("utf8mb4");
    let charset = Charset::from_name(name).unwrap_or(Charset::Utf8mb4);
    for piece in [1, 1000] {
        let source = Box::new(Pieces(bytes, piece));
        let mut reader = FieldReader::new(source, format, charset, FIELD_BYTES_MAX);
        drop(reader.ignore_lines(1));
        loop {
            let read = match format.has_fixed_rows() {
                true => reader.read_fixed_line(100).map(usize::from),
                false => fields(&mut reader),
            };
            if !read.is_ok_and(|fields| fields > 0) || !reader.next_line().unwrap_or(false) {
                break;
            }
        }
    }
}

fn fields(reader: &mut FieldReader<'_>) -> types::Result<usize> {
    let mut count = 0;
    while reader.read_field()? {
        let _ = (reader.field().len(), reader.is_null());
        count += 1;
    }
    Ok(count)
}

pub fn line_seeds() -> Vec<Vec<u8>> {
    let texts: [&[u8]; 7] = [
        b"a\\tb\t\\N\t\\\\N\n\tNULL\tx\\\ny\n1\t2\t3",
        b"1,\"a\"\"b,\r\n\"\r\nNULL,\"NULL\"\r\n\"x\"y,z\r\n\"open",
        b"junk##1<|>2<|;;; ##3<|>;;#nothing",
        b"'a','b\\'c',NULL,'d''e'",
        b"12345\\a\\b\\N0000000000",
        b"fixed\nlines\n\xff\xfe",
        b"xaxxbxxxxcxx",
    ];
    let seed = |(at, text): (usize, &&[u8])| [&[at as u8, at as u8][..], text].concat();
    texts.iter().enumerate().map(seed).collect()
}

pub fn binary_log(bytes: &[u8]) {
    let _ = import::binlog::count_changes(bytes);
}

/// Events with their headers, as in a binary log.
pub fn binary_log_seeds() -> Vec<Vec<u8>> {
    let event = |kind: u8, data: &[u8]| {
        let mut event = vec![1, 2, 3, 4, kind, 1, 0, 0, 0];
        event.extend((19 + data.len() as u32).to_le_bytes());
        event.extend([0; 6]);
        event.extend(data);
        event
    };
    // Integer, text, decimal, datetime(3), JSON, bit, enum.
    let mut map = b"\x07\0\0\0\0\0\0\0\x01d\0\x01t\0\x07\x03\x0f\xf6\x12\xf5\x10\xfe\x0b".to_vec();
    map.extend(b"\x14\0\x0e\x04\x03\x04\x01\x01\xf7\x01\x7f");
    let mut row = b"\0\x05\0\0\0\x03abc\x81\x0d\xfb\x38\xd2\x04\xd2\x99\xb3\x42\x00\x00\x00\x0a".to_vec();
    let json = b"\x00\x01\x00\x0d\x00\x0b\x00\x01\x00\x05\x07\x00a";
    row.extend((json.len() as u32).to_le_bytes());
    row.extend(json);
    row.extend(b"\x01\x07\x01");
    let rows = [&b"\x07\0\0\0\0\0\0\0\x02\0\x07\x7f"[..], &row, &row].concat();
    let update = [&b"\x07\0\0\0\0\0\0\0\x02\0\x07\x7f\x7f"[..], &row, &row].concat();
    let all = [
        event(19, &map),
        event(30, &rows),
        event(31, &update),
        event(16, &[0; 8]),
    ]
    .concat();
    // A transaction that is not compressed: type 255, then the events.
    let payload = event(40, &[&b"\x02\x01\xff\0"[..], &all].concat());
    let query = event(
        2,
        b"\0\0\0\0\0\0\0\0\x01\0\0\x0e\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0d\0BEGIN",
    );
    vec![
        all.clone(),
        payload,
        [query, event(4, b"\x04\0\0\0\0\0\0\0bin.000002"), all].concat(),
    ]
}

pub fn statement_log(bytes: &[u8]) {
    let _ = replay::count_statements(bytes);
}

pub fn statement_log_seeds() -> Vec<Vec<u8>> {
    let texts: [&[u8]; 4] = [
        b"2026-11-24T03:35:36.123456Z\t    8 Connect\troot@localhost on d using TCP/IP\n\
          2026-11-24T03:35:36.123456+01:00\t    8 Query\tSELECT 'a', 1.5, `b` /* c */ -- d\nFROM t\n\t\t    8 Quit\t\n",
        b"241124  3:35:36\t    8 Query\tINSERT INTO t VALUES (1, 'x\\'y'), (2, \"z\")\n",
        b"# Time: 2026-11-24T03:35:36.123456Z\n# User@Host: root[root] @ localhost []  Id:     8\n\
          # Query_time: 0.1\nuse d;\nSET timestamp=1790000000;\nSELECT 1;\n# administrator command: Quit;\n",
        b"-- a; comment\nSELECT 1;SELECT ';' /* ; */;\nDELIMITER ;;\nCREATE TRIGGER x BEGIN SELECT 1; END ;;\nDELIMITER ;\n",
    ];
    texts.iter().map(|text| text.to_vec()).collect()
}
