use super::*;

/// Answers of MySQL 8.0.33's `CONVERT(... USING ...)`.
#[test]
fn bytes_as_mysql_has_them() {
    for (charset, text, bytes) in [
        (Charset::Latin1, "é€\u{81}", &b"\xe9\x80\x81"[..]),
        (Charset::Gbk, "a中", b"a\xd6\xd0"),
        (
            Charset::Gb18030,
            "a中é€\u{20000}",
            b"a\xd6\xd0\xa8\xa6\xa2\xe3\x95\x32\x82\x36",
        ),
        (Charset::Big5, "中", b"\xa4\xa4"),
        (
            Charset::Sjis,
            "日本\\\u{301c}ｱ",
            b"\x93\xfa\x96\x7b\\\x81\x60\xb1",
        ),
        (
            Charset::Cp932,
            "日本～ｱ①",
            b"\x93\xfa\x96\x7b\x81\x60\xb1\x87\x40",
        ),
        (Charset::Ujis, "日本ｱ丂", b"\xc6\xfc\xcb\xdc\x8e\xb1\x8f\xb0\xa1"),
        (Charset::Euckr, "한국", b"\xc7\xd1\xb1\xb9"),
        (Charset::Cp1251, "Жж", b"\xc6\xe6"),
        (Charset::Koi8r, "Жж", b"\xf6\xd6"),
        (Charset::Ucs2, "aЖ", b"\0a\x04\x16"),
        (Charset::Utf16, "a😀", b"\0a\xd8\x3d\xde\x00"),
        (Charset::Utf16le, "a😀", b"a\0\x3d\xd8\x00\xde"),
        (Charset::Utf32, "a😀", b"\0\0\0a\0\x01\xf6\x00"),
        (Charset::Swe7, "Å", b"]"),
    ] {
        assert_eq!(charset.encode(text).as_ref(), bytes, "{charset:?}");
        assert_eq!(charset.decode(bytes).as_deref(), Some(text), "{charset:?}");
        assert_eq!(charset.encoded_len(text), bytes.len(), "{charset:?}");
    }
}

#[test]
fn what_a_character_set_has_comes_back() {
    for charset in Charset::ALL {
        for character in (0..0x11_0000).step_by(3).filter_map(char::from_u32) {
            let mut bytes = [0; 4];
            let length = charset.encode_into(character, &mut bytes);
            assert_eq!(length > 0, charset.has(character));
            if length > 0 {
                assert_eq!(
                    charset.decode_char(&bytes[..length]),
                    Some((character, length)),
                    "{charset:?}"
                );
            }
        }
        let holds_ascii = (0..128_u8).all(|b| charset.encode(&char::from(b).to_string()).as_ref() == [b]);
        assert_eq!(holds_ascii, charset.holds_ascii(), "{charset:?}");
        assert_eq!(
            charset.encode("\u{10ffff}").len(),
            charset.encoded_len("\u{10ffff}")
        );
    }
}

#[test]
fn bytes_that_are_no_text() {
    assert_eq!(Charset::Gbk.decode_prefix(b"ab\x81\xff\xd6\xd0").1, 2);
    assert!(Charset::Gbk.is_incomplete(b"\x81"));
    assert_eq!(Charset::Utf16.valid_len(b"\0a\xd8\x00\0b"), 2);
    assert_eq!(Charset::Ucs2.decode(b"\0a\0"), None);
    for charset in Charset::ALL {
        for bytes in [&b"\xff\xff\xff\xff\xff"[..], b"\x8f", b"\x81\x30\x81", b"\0", b""] {
            let (text, length) = charset.decode_prefix(bytes);
            assert!(length <= bytes.len());
            assert_eq!(charset.decode(bytes).is_some(), length == bytes.len());
            assert!(charset.valid_len(bytes) == length && text.len() <= 4 * bytes.len());
        }
    }
}
