//! The variables that statements read, parsed once each time one is set.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use functions::{BlockEncryption, Locale, TimeZone};
use optimizer::Switches;
use planner::plan::Route;
use runner::Isolation;
use syntax::ast::ExplainFormat;
use types::{Charset, Collation, SqlMode};

use super::convert::parse_time_zone;
use super::values::SessionVariables;
use super::{optimizer_switch, sql_mode};
use crate::diagnostics::WarningLimits;

/// `session_track_transaction_info`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrackTransaction {
    Off,
    /// The state of the transaction.
    State,
    /// The state, and the statements that would begin the transaction again.
    Characteristics,
}

/// `completion_type`: what COMMIT and ROLLBACK do if they do not say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletionType {
    NoChain,
    /// The next transaction begins at once.
    Chain,
    /// The connection ends.
    Release,
}

/// The isolation level by the value of `transaction_isolation`.
pub fn isolation_named(name: &str) -> Isolation {
    match name {
        "READ-COMMITTED" | "READ-UNCOMMITTED" => Isolation::ReadCommitted,
        _ => Isolation::RepeatableRead,
    }
}

/// A session's variables in the form that statements use.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Those that the runner reads.
    pub run: runner::Settings,
    pub sql_mode: SqlMode,
    pub time_zone: TimeZone,
    pub charset_client: Charset,
    /// The collation of texts in results: the default collation of `character_set_results`, or the one that
    /// the login or SET NAMES gave with it. `None`: results are not converted.
    pub collation_results: Option<Collation>,
    pub collation_connection: Collation,
    pub collation_database: Collation,
    pub collation_server: Collation,
    pub div_precision_increment: u8,
    pub default_week_format: u8,
    pub max_allowed_packet: usize,
    pub group_concat_max_len: usize,
    pub block_encryption: BlockEncryption,
    pub locale: &'static Locale,
    /// 0 means none.
    pub max_execution: Duration,
    pub net_read_timeout: Duration,
    pub net_write_timeout: Duration,
    pub interactive_timeout: Duration,
    pub wait_timeout: Duration,
    /// Overrides the planner's choice of executor.
    pub route: Option<Route>,
    /// Switches of the optimizer.
    pub switches: Switches,
    /// The format of an EXPLAIN without FORMAT.
    pub explain_format: ExplainFormat,
    /// How long SPLIT TABLE waits until the new regions are on their stores.
    pub split_wait: Duration,
    pub warnings: WarningLimits,
    pub track_schema: bool,
    pub track_state: bool,
    pub track_variables: String,
    pub track_transaction: TrackTransaction,
    /// `SET timestamp = n`: microseconds since 1970, instead of the clock.
    pub timestamp_us: Option<i64>,
    /// A hash of everything that a plan depends on besides text, database and parameter types.
    pub plan_environment: u64,
    pub foreign_key_checks: bool,
    pub require_primary_key: bool,
    /// Statements that take this long or longer are slow.
    pub long_query_time: Duration,
    pub min_examined_row_limit: u64,
    pub sql_log_off: bool,
    pub profiling: bool,
    pub profiling_history: usize,
    /// `sql_warnings`: the reply to an INSERT of one row has the text about its warnings.
    pub sql_warnings: bool,
    pub completion: CompletionType,
    /// LOAD DATA of a longer file into an empty table is a bulk load.
    pub bulk_load_bytes: usize,
}

/// The variables of [`Settings::plan_environment`].
const PLAN_ENVIRONMENT: [&str; 13] = [
    "sql_mode",
    "character_set_client",
    "collation_connection",
    "stemdb_route",
    "optimizer_switch",
    "stemdb_optimizer_rules",
    "div_precision_increment",
    "default_week_format",
    "group_concat_max_len",
    "foreign_key_checks",
    "lc_time_names",
    "sql_require_primary_key",
    "sql_auto_is_null",
];

/// See [`Settings::collation_results`].
fn collation_results(variables: &SessionVariables, charset: Option<Charset>) -> Option<Collation> {
    let charset = charset?;
    let named = variables.named_collation();
    Some(
        named
            .filter(|named| named.charset() == charset)
            .unwrap_or(charset.default_collation()),
    )
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
            cte_max_recursion_depth: integer("cte_max_recursion_depth"),
            select_limit: integer("sql_select_limit"),
            safe_updates: on("sql_safe_updates"),
            max_join_size: (!on("sql_big_selects")).then(|| integer("max_join_size")),
            is_admin: false,
        };
        Self {
            run,
            sql_mode: sql_mode::parsed(&text("sql_mode")),
            time_zone: parse_time_zone(&text("time_zone")).unwrap_or(TimeZone::Offset(0)),
            charset_client: charset("character_set_client").unwrap_or(Charset::Utf8mb4),
            collation_results: collation_results(variables, charset("character_set_results")),
            collation_connection: collation("collation_connection"),
            collation_database: collation("collation_database"),
            collation_server: collation("collation_server"),
            div_precision_increment: integer("div_precision_increment") as u8,
            default_week_format: integer("default_week_format") as u8,
            max_allowed_packet: integer("max_allowed_packet") as usize,
            group_concat_max_len: integer("group_concat_max_len") as usize,
            locale: Locale::named(&text("lc_time_names")).unwrap_or(Locale::en_us()),
            block_encryption: BlockEncryption::from_name(&text("block_encryption_mode")).unwrap_or_default(),
            long_query_time: Duration::try_from_secs_f64(text("long_query_time").parse().unwrap_or(10.0))
                .unwrap_or(Duration::MAX),
            min_examined_row_limit: integer("min_examined_row_limit"),
            sql_log_off: on("sql_log_off"),
            profiling: on("profiling"),
            profiling_history: integer("profiling_history_size") as usize,
            sql_warnings: on("sql_warnings"),
            completion: match text("completion_type").as_str() {
                "CHAIN" => CompletionType::Chain,
                "RELEASE" => CompletionType::Release,
                _ => CompletionType::NoChain,
            },
            bulk_load_bytes: integer("stemdb_bulk_load_bytes") as usize,
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
            switches: optimizer_switch::parsed(&text("optimizer_switch"), &text("stemdb_optimizer_rules")),
            explain_format: match text("explain_format").as_str() {
                "TREE" => ExplainFormat::Tree,
                "JSON" => ExplainFormat::Json,
                _ => ExplainFormat::Traditional,
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
            timestamp_us: (timestamp > 0.0).then_some((timestamp * 1e6).round() as i64),
            plan_environment: {
                let mut hasher = DefaultHasher::new();
                PLAN_ENVIRONMENT.map(text).hash(&mut hasher);
                hasher.finish()
            },
            foreign_key_checks: on("foreign_key_checks"),
            require_primary_key: on("sql_require_primary_key"),
        }
    }
}
