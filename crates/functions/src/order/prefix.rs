//! The first 64 bits of a value's order. If two values of one type have different prefixes, they compare as
//! their prefixes do.
//!
//! Numbers, dates and times with the same prefix are equal. Texts with the same prefix are compared by their
//! collation ([`types::Collation::order_number`]). NULL has no prefix.

const SIGN: u64 = 1 << 63;

pub fn of_int(value: i64) -> u64 {
    value as u64 ^ SIGN
}

pub fn of_uint(value: u64) -> u64 {
    value
}

pub fn of_double(value: f64) -> u64 {
    // Adding 0 makes -0 a 0.
    match (value + 0.0).to_bits() {
        bits if bits & SIGN == 0 => bits | SIGN,
        bits => !bits,
    }
}

/// The prefix of a key whose bytes compare as rows do.
pub fn of_key(key: &[u8]) -> u64 {
    match key.first_chunk() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            let mut first = [0; 8];
            first.iter_mut().zip(key).for_each(|(to, byte)| *to = *byte);
            u64::from_be_bytes(first)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_compare_as_values_do() {
        let ints = [i64::MIN, -2, -1, 0, 1, i64::MAX];
        assert!(ints.windows(2).all(|pair| of_int(pair[0]) < of_int(pair[1])));
        let doubles = [f64::MIN, -1.5, -1e-300, 0.0, 1e-300, 1.5, f64::MAX];
        assert!(
            doubles
                .windows(2)
                .all(|pair| of_double(pair[0]) < of_double(pair[1]))
        );
        assert_eq!(of_double(-0.0), of_double(0.0));
        let keys: [&[u8]; 5] = [b"", b"\x01", b"a", b"ab", b"abcdefgh"];
        assert!(keys.windows(2).all(|pair| of_key(pair[0]) < of_key(pair[1])));
        assert_eq!(of_key(b"abcdefghi"), of_key(b"abcdefghj"));
    }
}
