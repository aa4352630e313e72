//! The plugins, for information_schema.PLUGINS and SHOW PLUGINS.

use types::Value;

use crate::table::Row;
use crate::values::text;

/// Rows of information_schema.PLUGINS.
pub fn plugins() -> Vec<Row> {
    const PASSWORDS: (&str, &str, &str) = ("AUTHENTICATION", "2.1", "Password authentication");
    [
        ("caching_sha2_password", PASSWORDS),
        ("mysql_native_password", PASSWORDS),
        ("sha256_password", PASSWORDS),
        (
            "InnoDB",
            ("STORAGE ENGINE", "80033.0", "StemDB's transactional store"),
        ),
        ("ngram", ("FTPARSER", "1.1", "Ngram Full-Text Parser")),
    ]
    .into_iter()
    .map(|(name, (kind, version, description))| {
        vec![
            text(name),
            text("1.0"),
            text("ACTIVE"),
            text(kind),
            text(version),
            Value::Null,
            Value::Null,
            text("StemDB"),
            text(description),
            text("Apache-2.0"),
            text("FORCE"),
        ]
    })
    .collect()
}
