//! The parts of `@@sql_mode` that change how statements are parsed and what expressions return.

/// Flags of `@@sql_mode`. Source: manual 5.1.11 "Server SQL Modes".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct SqlMode {
    /// STRICT_TRANS_TABLES or STRICT_ALL_TABLES.
    pub strict: bool,
    pub no_zero_date: bool,
    pub no_zero_in_date: bool,
    pub error_for_division_by_zero: bool,
    pub only_full_group_by: bool,
    pub no_auto_value_on_zero: bool,
    pub ansi_quotes: bool,
    pub pipes_as_concat: bool,
    pub no_backslash_escapes: bool,
    pub no_unsigned_subtraction: bool,
    pub high_not_precedence: bool,
    pub ignore_space: bool,
    pub real_as_float: bool,
    /// Accepts days up to the 31st in any month.
    pub allow_invalid_dates: bool,
    /// Fractions of a second are truncated, not rounded.
    pub time_truncate_fractional: bool,
    /// CHAR columns are returned with trailing spaces up to their length.
    pub pad_char_to_full_length: bool,
    /// NO_ENGINE_SUBSTITUTION is off: an unknown storage engine is replaced, with a warning.
    pub substitutes_engines: bool,
    /// NO_DIR_IN_CREATE: DATA DIRECTORY and INDEX DIRECTORY are ignored.
    pub no_dir_in_create: bool,
}

impl Default for SqlMode {
    /// MySQL 8.0's default: ONLY_FULL_GROUP_BY, STRICT_TRANS_TABLES, NO_ZERO_IN_DATE, NO_ZERO_DATE,
    /// ERROR_FOR_DIVISION_BY_ZERO, NO_ENGINE_SUBSTITUTION.
    fn default() -> Self {
        Self {
            strict: true,
            no_zero_date: true,
            no_zero_in_date: true,
            error_for_division_by_zero: true,
            only_full_group_by: true,
            no_auto_value_on_zero: false,
            ansi_quotes: false,
            pipes_as_concat: false,
            no_backslash_escapes: false,
            no_unsigned_subtraction: false,
            high_not_precedence: false,
            ignore_space: false,
            real_as_float: false,
            allow_invalid_dates: false,
            time_truncate_fractional: false,
            pad_char_to_full_length: false,
            substitutes_engines: false,
            no_dir_in_create: false,
        }
    }
}
