//! `tis620_thai_ci`: the order of a Thai dictionary.
//!
//! A vowel that is written before its consonant is ordered after it. Marks above a syllable count only if all
//! else is equal: they move to the end, with a weight that says where they stood.

use crate::Charset;

const NOT_IN_SET: u16 = 0x100;

fn is_consonant(byte: u8) -> bool {
    matches!(byte, 0xa1..=0xce)
}

fn is_leading_vowel(byte: u8) -> bool {
    matches!(byte, 0xe0..=0xe4)
}

/// The rank of a mark: one that silences a consonant, one that shortens a vowel, or one of four tones.
fn mark(byte: u8) -> Option<u8> {
    match byte {
        0xec => Some(1),
        0xe7..=0xeb => Some(byte - 0xe7 + 2),
        _ => None,
    }
}

/// The weights of UTF-8 text.
pub(super) fn weights(text: &[u8]) -> std::vec::IntoIter<u16> {
    let text = String::from_utf8_lossy(text);
    let mut weights = Vec::with_capacity(text.len());
    let mut marks = Vec::new();
    // MySQL counts consonants in one byte, which overflows.
    let mut before: u8 = 256_u16.wrapping_sub(8) as u8;
    // Characters outside tis620 sort after all others.
    let byte = |c: char| {
        let mut bytes = [0; 4];
        let length = Charset::Tis620.encode_into(c, &mut bytes);
        (length > 0).then_some(bytes[0])
    };
    let mut rest = text.chars().map(byte).peekable();
    while let Some(byte) = rest.next() {
        let Some(byte) = byte else {
            weights.push(NOT_IN_SET);
            continue;
        };
        if byte.is_ascii() {
            before = before.wrapping_sub(8);
            weights.push(u16::from(byte.to_ascii_lowercase()));
            continue;
        }
        if is_consonant(byte) {
            before = before.wrapping_sub(8);
        }
        let swaps = |next: &Option<u8>| is_leading_vowel(byte) && next.is_some_and(is_consonant);
        if let Some(Some(consonant)) = rest.next_if(swaps) {
            weights.extend([u16::from(consonant), u16::from(byte)]);
        } else if let Some(rank) = mark(byte) {
            marks.push(u16::from(before.wrapping_add(rank)));
        } else {
            weights.push(u16::from(byte));
        }
    }
    weights.append(&mut marks);
    weights.into_iter()
}
