//! Base 64, with the alphabet of TO_BASE64 and FROM_BASE64.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base 64 with padding, on one line.
pub fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |i: usize| chunk.get(i).copied().map_or(0, u32::from);
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            if i <= chunk.len() {
                let index = (bits >> (18 - 6 * i) & 63) as usize;
                out.push(ALPHABET.get(index).copied().map_or('=', char::from));
            } else {
                out.push('=');
            }
        }
    }
    out
}

/// Base 64 with padding, in lines of 76 characters.
pub fn encode_lines(bytes: &[u8]) -> String {
    const LINE: usize = 76;
    let text = encode(bytes);
    let lines: Vec<&str> = (0..text.len())
        .step_by(LINE)
        .filter_map(|at| text.get(at..text.len().min(at + LINE)))
        .collect();
    lines.join("\n")
}

/// Decodes base 64 text, ignoring white space; `None` if the text is not base 64.
pub fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut digits, mut padding) = (0u32, 0, 0);
    for byte in text.iter().filter(|b| !b.is_ascii_whitespace()) {
        let value = match byte {
            b'=' => {
                padding += 1;
                0
            }
            _ if padding > 0 => return None,
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        digits += 1;
        if digits == 4 {
            if padding > 2 {
                return None;
            }
            let all = bits.to_be_bytes();
            out.extend_from_slice(all.get(1..4 - padding)?);
            (bits, digits) = (0, 0);
        }
    }
    (digits == 0).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for (bytes, text) in [
            (&b""[..], ""),
            (b"f", "Zg=="),
            (b"fo", "Zm8="),
            (b"foo", "Zm9v"),
            (b"foobar", "Zm9vYmFy"),
            (&[0xff, 0xfe, 0x00], "//4A"),
        ] {
            assert_eq!(encode(bytes), text);
            assert_eq!(decode(text.as_bytes()).as_deref(), Some(bytes));
        }
        assert_eq!(decode(b"Zm9\n v"), Some(b"foo".to_vec()));
        for wrong in ["Z", "Zg=", "Zg==Zg==", "Z!==", "===="] {
            assert_eq!(decode(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
