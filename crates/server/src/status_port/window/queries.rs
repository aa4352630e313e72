//! The queries of the page. It sends a name and arguments, which become SQL here. It sends no SQL.

use serde_json::{Value, json};
use types::{Error, Result};

use super::client::{Client, Rows};

/// The lists that need no argument.
const LISTS: &[(&str, &str)] = &[
    (
        "statements",
        "SELECT DIGEST, SCHEMA_NAME, DIGEST_TEXT, COUNT_STAR, SUM_TIMER_WAIT, AVG_TIMER_WAIT, QUANTILE_95, \
         QUANTILE_99, SUM_ROWS_EXAMINED, SUM_ROWS_SENT, SUM_ERRORS, LAST_SEEN \
         FROM performance_schema.events_statements_summary_by_digest ORDER BY SUM_TIMER_WAIT DESC LIMIT 50",
    ),
    (
        "connections",
        "SELECT ID, USER, HOST, DB, COMMAND, TIME, STATE, INFO FROM information_schema.PROCESSLIST \
         ORDER BY COMMAND = 'Sleep', TIME DESC, ID LIMIT 500",
    ),
    (
        "locks",
        "SELECT THREAD_ID, OBJECT_SCHEMA, OBJECT_NAME, INDEX_NAME, LOCK_TYPE, LOCK_MODE, LOCK_STATUS, LOCK_DATA \
         FROM performance_schema.data_locks ORDER BY LOCK_STATUS = 'GRANTED', THREAD_ID LIMIT 500",
    ),
    (
        "waits",
        "SELECT waiting_pid, waiting_query, wait_age, locked_table, locked_index, waiting_lock_mode, blocking_pid, \
         blocking_query FROM sys.innodb_lock_waits LIMIT 200",
    ),
    ("jobs", "ADMIN SHOW DDL JOBS"),
];

/// How long a query may take: 5,000 milliseconds.
const LIMIT: &str = "SET SESSION max_execution_time = 5000";

/// Runs the query of `{"query": NAME, ...}`.
pub(super) fn run(client: &mut Client, body: &Value) -> Result<Value> {
    let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
    let name = text("query");
    client.query(LIMIT)?;
    if let Some((_, sql)) = LISTS.iter().find(|(list, _)| *list == name) {
        return client.query(sql).map(rows);
    }
    match name {
        "plan" => plan(client, text("digest"), text("schema")),
        "ranges" => {
            let table = format!("{}.{}", quoted_name(text("schema")), quoted_name(text("table")));
            client.query(&format!("SHOW TABLE {table} REGIONS")).map(rows)
        }
        "kill" => {
            let id = body.get("id").and_then(Value::as_u64).ok_or_else(unknown)?;
            let what = match body.get("connection").and_then(Value::as_bool) {
                Some(true) => "CONNECTION",
                _ => "QUERY",
            };
            client.query(&format!("KILL {what} {id}")).map(rows)
        }
        _ => Err(unknown()),
    }
}

/// The sample of a digest, and the plan of that sample, as the account that has logged in would run it.
fn plan(client: &mut Client, digest: &str, schema: &str) -> Result<Value> {
    let sample = client.query(&format!(
        "SELECT QUERY_SAMPLE_TEXT FROM performance_schema.events_statements_summary_by_digest \
         WHERE DIGEST = {} AND SCHEMA_NAME <=> {} LIMIT 1",
        quoted_text(digest),
        if schema.is_empty() {
            "NULL".to_owned()
        } else {
            quoted_text(schema)
        },
    ))?;
    let sample = sample.rows.into_iter().flatten().next();
    let Some(Value::String(sample)) = sample else {
        return Ok(json!({ "sample": null, "plan": "There is no sample of this statement." }));
    };
    if !schema.is_empty() {
        client.query(&format!("USE {}", quoted_name(schema)))?;
    }
    let plan = match client.query(&format!("EXPLAIN FORMAT=TREE {sample}")) {
        Ok(rows) => rows.rows.into_iter().flatten().next().unwrap_or_default(),
        Err(error) => Value::String(format!("ERROR {}: {}", error.code, error.message)),
    };
    Ok(json!({ "sample": sample, "plan": plan }))
}

fn rows(rows: Rows) -> Value {
    json!({ "columns": rows.columns, "rows": rows.rows })
}

fn quoted_name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A literal under every `sql_mode`.
fn quoted_text(text: &str) -> String {
    let digits: String = text.bytes().map(|byte| format!("{byte:02X}")).collect();
    format!("CONVERT(X'{digits}' USING utf8mb4)")
}

fn unknown() -> Error {
    Error::new(types::errno::ER_UNKNOWN_ERROR, "unknown query")
}
