//! SHOW of objects that StemDB does not have: MySQL's columns, no rows.

use types::{Warning, errno};

use crate::listing::Listing;

/// The columns of each, by the words of SHOW.
const COLUMNS: &[(&str, &[&str])] = &[
    (
        "TRIGGERS",
        &[
            "Trigger",
            "Event",
            "Table",
            "Statement",
            "Timing",
            "Created",
            "sql_mode",
            "Definer",
            "character_set_client",
            "collation_connection",
            "Database Collation",
        ],
    ),
    (
        "EVENTS",
        &[
            "Db",
            "Name",
            "Definer",
            "Time zone",
            "Type",
            "Execute at",
            "Interval value",
            "Interval field",
            "Starts",
            "Ends",
            "Status",
            "Originator",
            "character_set_client",
            "collation_connection",
            "Database Collation",
        ],
    ),
    (
        "PROCEDURE STATUS",
        &[
            "Db",
            "Name",
            "Type",
            "Definer",
            "Modified",
            "Created",
            "Security_type",
            "Comment",
            "character_set_client",
            "collation_connection",
            "Database Collation",
        ],
    ),
    (
        "FUNCTION STATUS",
        &[
            "Db",
            "Name",
            "Type",
            "Definer",
            "Modified",
            "Created",
            "Security_type",
            "Comment",
            "character_set_client",
            "collation_connection",
            "Database Collation",
        ],
    ),
    (
        "MASTER STATUS",
        &[
            "File",
            "Position",
            "Binlog_Do_DB",
            "Binlog_Ignore_DB",
            "Executed_Gtid_Set",
        ],
    ),
    (
        "BINARY LOG STATUS",
        &[
            "File",
            "Position",
            "Binlog_Do_DB",
            "Binlog_Ignore_DB",
            "Executed_Gtid_Set",
        ],
    ),
    (
        "REPLICA STATUS",
        &[
            "Replica_IO_State",
            "Source_Host",
            "Source_User",
            "Source_Port",
            "Connect_Retry",
            "Source_Log_File",
            "Read_Source_Log_Pos",
            "Relay_Log_File",
            "Relay_Log_Pos",
            "Relay_Source_Log_File",
            "Replica_IO_Running",
            "Replica_SQL_Running",
            "Replicate_Do_DB",
            "Replicate_Ignore_DB",
            "Replicate_Do_Table",
            "Replicate_Ignore_Table",
            "Replicate_Wild_Do_Table",
            "Replicate_Wild_Ignore_Table",
            "Last_Errno",
            "Last_Error",
            "Skip_Counter",
            "Exec_Source_Log_Pos",
            "Relay_Log_Space",
            "Until_Condition",
            "Until_Log_File",
            "Until_Log_Pos",
            "Source_SSL_Allowed",
            "Source_SSL_CA_File",
            "Source_SSL_CA_Path",
            "Source_SSL_Cert",
            "Source_SSL_Cipher",
            "Source_SSL_Key",
            "Seconds_Behind_Source",
            "Source_SSL_Verify_Server_Cert",
            "Last_IO_Errno",
            "Last_IO_Error",
            "Last_SQL_Errno",
            "Last_SQL_Error",
            "Replicate_Ignore_Server_Ids",
            "Source_Server_Id",
            "Source_UUID",
            "Source_Info_File",
            "SQL_Delay",
            "SQL_Remaining_Delay",
            "Replica_SQL_Running_State",
            "Source_Retry_Count",
            "Source_Bind",
            "Last_IO_Error_Timestamp",
            "Last_SQL_Error_Timestamp",
            "Source_SSL_Crl",
            "Source_SSL_Crlpath",
            "Retrieved_Gtid_Set",
            "Executed_Gtid_Set",
            "Auto_Position",
            "Replicate_Rewrite_DB",
            "Channel_Name",
            "Source_TLS_Version",
            "Source_public_key_path",
            "Get_Source_public_key",
            "Network_Namespace",
        ],
    ),
    (
        "REPLICAS",
        &["Server_Id", "Host", "Port", "Source_Id", "Replica_UUID"],
    ),
    ("BINLOG EVENTS", EVENTS_OF_LOG),
    ("RELAYLOG EVENTS", EVENTS_OF_LOG),
];

const EVENTS_OF_LOG: &[&str] = &[
    "Log_name",
    "Pos",
    "Event_type",
    "Server_id",
    "End_log_pos",
    "Info",
];

pub fn listing(what: &str) -> Listing {
    let (words, has_old_names) = match what {
        "SLAVE STATUS" => ("REPLICA STATUS", true),
        "SLAVE HOSTS" => return Listing::texts(&["Server_id", "Host", "Port", "Master_id", "Slave_UUID"]),
        other => (other, false),
    };
    let kind = COLUMNS.iter().find(|(kind, _)| kind.eq_ignore_ascii_case(words));
    let columns = kind.map_or(&["Name"][..], |(_, columns)| *columns);
    match has_old_names {
        false => Listing::texts(columns).of_catalogue(),
        true => {
            let old: Vec<String> = columns.iter().copied().map(old_name).collect();
            Listing::texts(&old.iter().map(String::as_str).collect::<Vec<_>>())
        }
    }
}

fn old_name(column: &str) -> String {
    match column {
        "Get_Source_public_key" => "Get_master_public_key".to_owned(),
        other => other
            .replace("Source_", "Master_")
            .replace("Replica_", "Slave_")
            .replace("_Source", "_Master"),
    }
}

/// The warning for the words of a SHOW statement that MySQL has deprecated.
pub fn deprecated(what: &str) -> Option<Warning> {
    let instead = match what {
        "SLAVE STATUS" => "SHOW REPLICA STATUS",
        "SLAVE HOSTS" => "SHOW REPLICAS",
        "PROFILE" | "PROFILES" => "Performance Schema",
        _ => return None,
    };
    let message = format!(
        "'SHOW {what}' is deprecated and will be removed in a future release. Please use {instead} instead"
    );
    Some(Warning::warning(errno::ER_WARN_DEPRECATED_SYNTAX, message))
}
