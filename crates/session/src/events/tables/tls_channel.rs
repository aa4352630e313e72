//! `tls_channel_status`: TLS of the only channel that there is. There is no port for administration.

use std::collections::HashMap;

use super::table::{Emptied, MeasuredTable, Row, texts};
use crate::view::SessionView;

pub const STATUS: MeasuredTable = MeasuredTable {
    name: "performance_schema.tls_channel_status",
    rows,
    emptied: Emptied::Never,
};

/// The status variables that the table shows, in MySQL's order.
const PROPERTIES: [&str; 25] = [
    "Ssl_accept_renegotiates",
    "Ssl_accepts",
    "Ssl_callback_cache_hits",
    "Ssl_client_connects",
    "Ssl_connect_renegotiates",
    "Ssl_ctx_verify_depth",
    "Ssl_ctx_verify_mode",
    "Current_tls_ca",
    "Current_tls_capath",
    "Current_tls_cert",
    "Current_tls_cipher",
    "Current_tls_ciphersuites",
    "Current_tls_crl",
    "Current_tls_crlpath",
    "Current_tls_key",
    "Current_tls_version",
    "Ssl_finished_accepts",
    "Ssl_finished_connects",
    "Ssl_server_not_after",
    "Ssl_server_not_before",
    "Ssl_session_cache_hits",
    "Ssl_session_cache_misses",
    "Ssl_session_cache_mode",
    "Ssl_session_cache_overflows",
    "Ssl_session_cache_size",
];

fn rows(view: SessionView<'_>) -> Vec<Row> {
    let status: HashMap<String, String> = view.status(true).into_iter().collect();
    let value = |name: &str| status.get(name).map_or("", String::as_str);
    let is_on = match value("Ssl_server_not_after") {
        "" => "No",
        _ => "Yes",
    };
    let row = |name: &str, value: &str| texts(&["mysql_main", name, value]);
    let properties = PROPERTIES.iter().map(|name| row(name, value(name)));
    std::iter::once(row("Enabled", is_on)).chain(properties).collect()
}
