//! `sql_mode`: the list of modes as a text, as a number, and as statements use it (manual 5.1.11, "Server SQL
//! Modes").

use types::SqlMode;

/// Every mode of MySQL 8.0, in the order in which it prints them, each with its bit in a number.
const MODES: &[(&str, u32)] = &[
    ("REAL_AS_FLOAT", 0),
    ("PIPES_AS_CONCAT", 1),
    ("ANSI_QUOTES", 2),
    ("IGNORE_SPACE", 3),
    // It has no effect, in MySQL either.
    ("NOT_USED", 4),
    ("ONLY_FULL_GROUP_BY", 5),
    ("NO_UNSIGNED_SUBTRACTION", 6),
    ("NO_DIR_IN_CREATE", 7),
    ("ANSI", 18),
    ("NO_AUTO_VALUE_ON_ZERO", 19),
    ("NO_BACKSLASH_ESCAPES", 20),
    ("STRICT_TRANS_TABLES", 21),
    ("STRICT_ALL_TABLES", 22),
    ("NO_ZERO_IN_DATE", 23),
    ("NO_ZERO_DATE", 24),
    ("ALLOW_INVALID_DATES", 25),
    ("ERROR_FOR_DIVISION_BY_ZERO", 26),
    ("TRADITIONAL", 27),
    ("HIGH_NOT_PRECEDENCE", 29),
    ("NO_ENGINE_SUBSTITUTION", 30),
    ("PAD_CHAR_TO_FULL_LENGTH", 31),
    ("TIME_TRUNCATE_FRACTIONAL", 32),
];

/// Brings a mode list into MySQL's order, with combination modes expanded. Fails with the first unknown name.
pub fn normalized(text: &str) -> Result<String, String> {
    let mut bits = 0;
    for name in text.split(',').filter(|name| !name.is_empty()) {
        let mode = MODES.iter().find(|(mode, _)| mode.eq_ignore_ascii_case(name));
        let (_, bit) = mode.ok_or_else(|| name.to_owned())?;
        bits |= 1 << bit;
    }
    of_bits(bits)
}

fn all_modes() -> i128 {
    MODES.iter().fold(0, |all, (_, bit)| all | 1 << bit)
}

/// The bits of a number for modes of older versions.
pub fn retired(bits: i128) -> i128 {
    match bits {
        0..0x2_0000_0000 => bits & !all_modes(),
        _ => 0,
    }
}

/// The modes for the bits of a number, in the form of [`normalized`]. Fails with the number if a bit is not a
/// mode's.
pub fn of_bits(bits: i128) -> Result<String, String> {
    let has = |bit: u32| bits >> bit & 1 == 1;
    let parts = |name: &str| -> &[&str] {
        match name {
            "ANSI" => &[
                "REAL_AS_FLOAT",
                "PIPES_AS_CONCAT",
                "ANSI_QUOTES",
                "IGNORE_SPACE",
                "ONLY_FULL_GROUP_BY",
            ],
            "TRADITIONAL" => &[
                "STRICT_TRANS_TABLES",
                "STRICT_ALL_TABLES",
                "NO_ZERO_IN_DATE",
                "NO_ZERO_DATE",
                "ERROR_FOR_DIVISION_BY_ZERO",
                "NO_ENGINE_SUBSTITUTION",
            ],
            _ => &[],
        }
    };
    if bits < 0 || bits & !all_modes() != 0 {
        return Err(bits.to_string());
    }
    let asked: Vec<&str> = MODES
        .iter()
        .filter(|(_, bit)| has(*bit))
        .map(|(name, _)| *name)
        .collect();
    let included: Vec<&str> = asked.iter().flat_map(|name| parts(name)).copied().collect();
    let on = |name: &&str| asked.contains(name) || included.contains(name);
    let names: Vec<&str> = MODES.iter().map(|(name, _)| *name).filter(on).collect();
    Ok(names.join(","))
}

/// Reads a list in printed form. The result has the modes that affect statements.
pub fn parsed(text: &str) -> SqlMode {
    let has = |name: &str| text.split(',').any(|m| m == name);
    SqlMode {
        strict: has("STRICT_TRANS_TABLES") || has("STRICT_ALL_TABLES"),
        no_zero_date: has("NO_ZERO_DATE"),
        no_zero_in_date: has("NO_ZERO_IN_DATE"),
        error_for_division_by_zero: has("ERROR_FOR_DIVISION_BY_ZERO"),
        only_full_group_by: has("ONLY_FULL_GROUP_BY"),
        no_auto_value_on_zero: has("NO_AUTO_VALUE_ON_ZERO"),
        ansi_quotes: has("ANSI_QUOTES"),
        pipes_as_concat: has("PIPES_AS_CONCAT"),
        no_backslash_escapes: has("NO_BACKSLASH_ESCAPES"),
        no_unsigned_subtraction: has("NO_UNSIGNED_SUBTRACTION"),
        high_not_precedence: has("HIGH_NOT_PRECEDENCE"),
        ignore_space: has("IGNORE_SPACE"),
        real_as_float: has("REAL_AS_FLOAT"),
        allow_invalid_dates: has("ALLOW_INVALID_DATES"),
        time_truncate_fractional: has("TIME_TRUNCATE_FRACTIONAL"),
        pad_char_to_full_length: has("PAD_CHAR_TO_FULL_LENGTH"),
        substitutes_engines: !has("NO_ENGINE_SUBSTITUTION"),
        no_dir_in_create: has("NO_DIR_IN_CREATE"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sql_mode_is_sorted_and_combinations_are_spelled_out() {
        assert_eq!(
            normalized("no_zero_date,,ansi_quotes").as_deref(),
            Ok("ANSI_QUOTES,NO_ZERO_DATE")
        );
        assert_eq!(normalized(""), Ok(String::new()));
        assert!(normalized("TRADITIONAL").is_ok_and(|m| m.contains("STRICT_ALL_TABLES")));
        assert_eq!(normalized("SILLY"), Err("SILLY".to_owned()));
        assert_eq!(normalized("ansi, silly"), Err(" silly".to_owned()));
        assert_eq!(of_bits(4 + (1 << 24)).as_deref(), Ok("ANSI_QUOTES,NO_ZERO_DATE"));
        for bits in [1 << 28, 1 << 33, -1] {
            assert_eq!(of_bits(bits), Err(bits.to_string()));
        }
    }
}
