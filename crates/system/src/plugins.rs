//! The plugins, for information_schema.PLUGINS and SHOW PLUGINS.

use types::Value;

use crate::table::Row;
use crate::values::text;

/// Rows of information_schema.PLUGINS.
pub fn plugins() -> Vec<Row> {
    [
        "caching_sha2_password",
        "mysql_native_password",
        "sha256_password",
    ]
    .into_iter()
    .map(|name| {
        vec![
            text(name),
            text("1.0"),
            text("ACTIVE"),
            text("AUTHENTICATION"),
            text("2.1"),
            Value::Null,
            Value::Null,
            text("StemDB"),
            text("Password authentication"),
            text("Apache-2.0"),
            text("FORCE"),
        ]
    })
    .collect()
}
