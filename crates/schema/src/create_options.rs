//! Options of CREATE and ALTER TABLE that mean nothing to the way rows are stored here. They are kept as they
//! are in InnoDB: SHOW CREATE TABLE and information_schema show them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use types::quoted;

/// Values by the names of options, in capital letters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateOptions(BTreeMap<String, String>);

/// The order in SHOW CREATE TABLE, before `ENGINE`.
const SHOWN_FIRST: &[&str] = &["TABLESPACE", "AUTOEXTEND_SIZE"];

/// The order after the character set.
const SHOWN: &[&str] = &[
    "MIN_ROWS",
    "MAX_ROWS",
    "AVG_ROW_LENGTH",
    "PACK_KEYS",
    "STATS_PERSISTENT",
    "STATS_AUTO_RECALC",
    "STATS_SAMPLE_PAGES",
    "CHECKSUM",
    "DELAY_KEY_WRITE",
    "ROW_FORMAT",
    "KEY_BLOCK_SIZE",
    "COMPRESSION",
];

/// The order after `COMMENT`.
const SHOWN_LAST: &[&str] = &["CONNECTION", "SECONDARY_ENGINE"];

/// Attributes of a column, in the order of SHOW CREATE TABLE.
const OF_COLUMN: &[&str] = &["STORAGE", "COLUMN_FORMAT"];

/// Options of a primary key that has no index of its own.
const PRIMARY_COMMENT: &str = "PRIMARY KEY COMMENT";
const PRIMARY_USING: &str = "PRIMARY KEY USING";
const PRIMARY_ORDER: &str = "PRIMARY KEY ORDER";

/// The order in `information_schema.tables.create_options`.
const LISTED: &[&str] = &[
    "MAX_ROWS",
    "MIN_ROWS",
    "AVG_ROW_LENGTH",
    "ROW_FORMAT",
    "STATS_SAMPLE_PAGES",
    "STATS_AUTO_RECALC",
    "KEY_BLOCK_SIZE",
    "COMPRESSION",
    "STATS_PERSISTENT",
    "PACK_KEYS",
    "CHECKSUM",
    "DELAY_KEY_WRITE",
    "SECONDARY_ENGINE",
];

impl CreateOptions {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sets an option; the default value removes it. Options that nothing shows are left out.
    pub fn set(&mut self, name: &str, value: &str) {
        let is_default = match name {
            // The default of a flag that can be 0 and 1 is a third value.
            "PACK_KEYS" | "STATS_PERSISTENT" | "STATS_AUTO_RECALC" => value.eq_ignore_ascii_case("DEFAULT"),
            "CONNECTION" => value.is_empty(),
            "SECONDARY_ENGINE" => value.eq_ignore_ascii_case("NULL"),
            _ => value.eq_ignore_ascii_case("DEFAULT") || value == "0",
        };
        let known = [SHOWN_FIRST, SHOWN, SHOWN_LAST, OF_COLUMN];
        if is_default {
            self.0.remove(name);
        } else if known.iter().any(|names| names.contains(&name)) {
            let value = match name {
                "COMPRESSION" | "CONNECTION" | "SECONDARY_ENGINE" | "TABLESPACE" => value.to_owned(),
                _ => value.to_uppercase(),
            };
            self.0.insert(name.to_owned(), value);
        }
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// ` /*!80023 AUTOEXTEND_SIZE=4194304 */`
    pub(crate) fn shown_first(&self, identifier: &dyn Fn(&str) -> String) -> String {
        self.text(SHOWN_FIRST, |name, value| match name {
            "TABLESPACE" => format!(" /*!50100 TABLESPACE {} */", identifier(value)),
            _ => format!(" /*!80023 {name}={value} */"),
        })
    }

    /// ` MAX_ROWS=10 ROW_FORMAT=COMPACT`
    pub fn shown(&self) -> String {
        self.text(SHOWN, |name, value| match name {
            "COMPRESSION" => format!(" {name}={}", quoted(value)),
            _ => format!(" {name}={value}"),
        })
    }

    /// ` CONNECTION='a'`
    pub(crate) fn shown_last(&self) -> String {
        self.text(SHOWN_LAST, |name, value| match name {
            "CONNECTION" => format!(" {name}={}", quoted(value)),
            _ => format!(" {name}={value}"),
        })
    }

    /// ` /*!50606 COLUMN_FORMAT FIXED */` of a column.
    pub(crate) fn shown_of_column(&self) -> String {
        self.text(OF_COLUMN, |name, value| format!(" /*!50606 {name} {value} */"))
    }

    /// `max_rows=10 row_format=COMPACT`
    pub fn listed(&self) -> String {
        let listed = self.text(LISTED, |name, value| match name {
            "KEY_BLOCK_SIZE" => format!(" {name}={value}"),
            "COMPRESSION" => format!(" {name}=\"{value}\""),
            "SECONDARY_ENGINE" => format!(" {name}=\"{value}\" SECONDARY_LOAD=\"0\""),
            _ => format!(" {}={value}", name.to_lowercase()),
        });
        listed.trim_start().to_owned()
    }

    fn text(&self, order: &[&str], show: impl Fn(&str, &str) -> String) -> String {
        let set = order.iter().filter_map(|name| Some((*name, self.get(name)?)));
        set.map(|(name, value)| show(name, value)).collect()
    }

    pub(crate) fn primary_comment(&self) -> &str {
        self.get(PRIMARY_COMMENT).unwrap_or_default()
    }

    pub(crate) fn primary_using_btree(&self) -> bool {
        self.get(PRIMARY_USING).is_some()
    }

    pub(crate) fn primary_descending(&self) -> bool {
        self.get(PRIMARY_ORDER).is_some()
    }

    /// Of a primary key that has no index: its comment, and whether `USING BTREE` and DESC were written.
    pub fn set_primary(&mut self, comment: &str, using_btree: bool, descending: bool) {
        let options = [
            (PRIMARY_COMMENT, comment, !comment.is_empty()),
            (PRIMARY_USING, "BTREE", using_btree),
            (PRIMARY_ORDER, "DESC", descending),
        ];
        for (name, value, is_set) in options {
            match is_set {
                true => self.0.insert(name.to_owned(), value.to_owned()),
                false => self.0.remove(name),
            };
        }
    }

    /// The options with the `ROW_FORMAT` that the table has.
    pub(crate) fn with_row_format(&self) -> Self {
        let mut options = self.clone();
        options.set("ROW_FORMAT", self.row_format());
        options
    }

    /// `ROW_FORMAT` as InnoDB has it.
    pub fn row_format(&self) -> &'static str {
        match self.0.get("ROW_FORMAT").map(String::as_str) {
            Some("COMPACT") => "Compact",
            Some("REDUNDANT") => "Redundant",
            Some("COMPRESSED") => "Compressed",
            _ => "Dynamic",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_shown_in_the_order_of_mysql() {
        let mut options = CreateOptions::default();
        for (name, value) in [
            ("ROW_FORMAT", "compact"),
            ("MAX_ROWS", "9"),
            ("PACK_KEYS", "0"),
            ("CHECKSUM", "0"),
            ("PASSWORD", "x"),
        ] {
            options.set(name, value);
        }
        assert_eq!(options.shown(), " MAX_ROWS=9 PACK_KEYS=0 ROW_FORMAT=COMPACT");
        assert_eq!(options.listed(), "max_rows=9 row_format=COMPACT pack_keys=0");
        options.set("MAX_ROWS", "0");
        options.set("PACK_KEYS", "default");
        options.set("ROW_FORMAT", "DEFAULT");
        assert!(options.is_empty());
    }
}
