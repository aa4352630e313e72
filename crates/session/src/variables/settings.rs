//! The variables that statements look at, parsed once each time one is set.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use functions::{BlockEncryption, TimeZone};
use planner::plan::Route;
use runner::Isolation;
use types::{Charset, Collation, Error, Result, SqlMode, errno};

use super::values::SessionVariables;
use crate::diagnostics::WarningLimits;

/// `session_track_transaction_info`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrackTransaction {
    Off,
    /// What the transaction has done.
    State,
    /// And the statements that would begin it again.
    Characteristics,
}

/// The isolation level by the value of `transaction_isolation`.
pub fn isolation_named(name: &str) -> Isolation {
    match name {
        "READ-COMMITTED" | "READ-UNCOMMITTED" => Isolation::ReadCommitted,
        _ => Isolation::RepeatableRead,
    }
}

/// A session's variables in the form statements use them.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What the runner goes by.
    pub run: runner::Settings,
    pub sql_mode: SqlMode,
    pub time_zone: TimeZone,
    pub charset_client: Charset,
    /// `None`: results are sent as they are.
    pub charset_results: Option<Charset>,
    pub collation_connection: Collation,
    pub collation_database: Collation,
    pub collation_server: Collation,
    pub div_precision_increment: u8,
    pub max_allowed_packet: usize,
    pub group_concat_max_len: usize,
    pub block_encryption: BlockEncryption,
    /// 0 means none.
    pub max_execution: Duration,
    pub net_read_timeout: Duration,
    pub net_write_timeout: Duration,
    pub interactive_timeout: Duration,
    pub wait_timeout: Duration,
    /// Overrides the planner's choice of executor.
    pub route: Option<Route>,
    /// How long SPLIT TABLE waits for the new regions to find their places.
    pub split_wait: Duration,
    pub warnings: WarningLimits,
    pub track_schema: bool,
    pub track_state: bool,
    pub track_variables: String,
    pub track_transaction: TrackTransaction,
    /// `SET timestamp = n`: microseconds since 1970, instead of the clock.
    pub timestamp_us: Option<i64>,
    /// A hash of whatever decides a plan besides text, database and parameter types.
    pub plan_environment: u64,
}

impl Settings {
    pub fn read(variables: &SessionVariables) -> Self {
        let text = |name: &str| {
            let found = super::lookup(name).and_then(|d| variables.text(d));
            found.map(|t| t.to_string()).unwrap_or_default()
        };
        let on = |name: &str| text(name) == "ON";
        let integer = |name: &str| text(name).parse::<u64>().unwrap_or(0);
        let seconds = |name: &str| Duration::from_secs(integer(name));
        let charset = |name: &str| Charset::from_name(&text(name));
        let collation = |name: &str| Collation::from_name(&text(name)).unwrap_or(Collation::DEFAULT);
        let plan_environment = {
            let names = [
                "sql_mode",
                "character_set_client",
                "collation_connection",
                "stemdb_route",
                "div_precision_increment",
            ];
            let mut hasher = DefaultHasher::new();
            names.map(text).hash(&mut hasher);
            hasher.finish()
        };
        let timestamp: f64 = text("timestamp").parse().unwrap_or(0.0);
        let run = runner::Settings {
            autocommit: on("autocommit"),
            isolation: isolation_named(&text("transaction_isolation")),
            read_only: on("transaction_read_only"),
            optimistic: text("stemdb_transaction_mode") == "optimistic",
            row_lock_wait: seconds("innodb_lock_wait_timeout"),
            metadata_lock_wait: seconds("lock_wait_timeout"),
            memory_limit_bytes: integer("stemdb_memory_limit") as usize,
            auto_increment: (
                integer("auto_increment_increment"),
                integer("auto_increment_offset"),
            ),
            explicit_auto_random: on("allow_auto_random_explicit_insert"),
            select_limit: integer("sql_select_limit"),
            safe_updates: on("sql_safe_updates"),
        };
        Self {
            run,
            sql_mode: parse_sql_mode(&text("sql_mode")),
            time_zone: parse_time_zone(&text("time_zone")).unwrap_or(TimeZone::Offset(0)),
            charset_client: charset("character_set_client").unwrap_or(Charset::Utf8mb4),
            charset_results: charset("character_set_results"),
            collation_connection: collation("collation_connection"),
            collation_database: collation("collation_database"),
            collation_server: collation("collation_server"),
            div_precision_increment: integer("div_precision_increment") as u8,
            max_allowed_packet: integer("max_allowed_packet") as usize,
            group_concat_max_len: integer("group_concat_max_len") as usize,
            block_encryption: BlockEncryption::from_name(&text("block_encryption_mode")).unwrap_or_default(),
            max_execution: Duration::from_millis(integer("max_execution_time")),
            net_read_timeout: seconds("net_read_timeout"),
            net_write_timeout: seconds("net_write_timeout"),
            interactive_timeout: seconds("interactive_timeout"),
            wait_timeout: seconds("wait_timeout"),
            route: match text("stemdb_route").as_str() {
                "transactional" => Some(Route::Transactional),
                "analytical" => Some(Route::Analytical),
                _ => None,
            },
            split_wait: match on("tidb_wait_split_region_finish") {
                true => seconds("tidb_wait_split_region_timeout"),
                false => Duration::ZERO,
            },
            warnings: WarningLimits {
                notes: on("sql_notes"),
                max_listed: integer("max_error_count") as usize,
            },
            track_schema: on("session_track_schema"),
            track_state: on("session_track_state_change"),
            track_variables: text("session_track_system_variables"),
            track_transaction: match text("session_track_transaction_info").as_str() {
                "STATE" => TrackTransaction::State,
                "CHARACTERISTICS" => TrackTransaction::Characteristics,
                _ => TrackTransaction::Off,
            },
            timestamp_us: (timestamp > 0.0).then_some((timestamp * 1e6) as i64),
            plan_environment,
        }
    }
}

/// Every mode of MySQL 8.0, in the order in which it prints them, each with its bit in a number.
const MODES: &[(&str, u32)] = &[
    ("REAL_AS_FLOAT", 0),
    ("PIPES_AS_CONCAT", 1),
    ("ANSI_QUOTES", 2),
    ("IGNORE_SPACE", 3),
    // Which does nothing, in MySQL either.
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

/// Brings a mode list into MySQL's order, with combination modes spelled out. Fails with the name that is not one.
pub fn normalize_sql_mode(text: &str) -> Result<String, String> {
    let mut bits = 0;
    for name in text.split(',').filter(|name| !name.is_empty()) {
        let mode = MODES.iter().find(|(mode, _)| mode.eq_ignore_ascii_case(name));
        let (_, bit) = mode.ok_or_else(|| name.to_owned())?;
        bits |= 1 << bit;
    }
    sql_mode_of_bits(bits)
}

fn all_modes() -> i128 {
    MODES.iter().fold(0, |all, (_, bit)| all | 1 << bit)
}

/// Those of a number's bits that meant modes once.
pub fn retired_modes(bits: i128) -> i128 {
    match bits {
        0..0x2_0000_0000 => bits & !all_modes(),
        _ => 0,
    }
}

/// The same for modes as the bits of a number. Fails with the number, or the mode that there is not.
pub fn sql_mode_of_bits(bits: i128) -> Result<String, String> {
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

fn parse_sql_mode(text: &str) -> SqlMode {
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
    }
}

/// `SYSTEM`, `+05:30`, or a named zone.
pub fn parse_time_zone(text: &str) -> Result<TimeZone> {
    TimeZone::parse(text).ok_or_else(|| {
        Error::new(
            errno::ER_UNKNOWN_TIME_ZONE,
            format!("Unknown or incorrect time zone: '{text}'"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sql_mode_is_sorted_and_combinations_are_spelled_out() {
        assert_eq!(
            normalize_sql_mode("no_zero_date,,ansi_quotes").as_deref(),
            Ok("ANSI_QUOTES,NO_ZERO_DATE")
        );
        assert_eq!(normalize_sql_mode(""), Ok(String::new()));
        assert!(normalize_sql_mode("TRADITIONAL").is_ok_and(|m| m.contains("STRICT_ALL_TABLES")));
        assert_eq!(normalize_sql_mode("SILLY"), Err("SILLY".to_owned()));
        assert_eq!(normalize_sql_mode("ansi, silly"), Err(" silly".to_owned()));
        assert_eq!(
            sql_mode_of_bits(4 + (1 << 24)).as_deref(),
            Ok("ANSI_QUOTES,NO_ZERO_DATE")
        );
        for bits in [1 << 28, 1 << 33, -1] {
            assert_eq!(sql_mode_of_bits(bits), Err(bits.to_string()));
        }
    }
}
