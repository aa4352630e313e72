//! Options of CREATE and ALTER TABLE that mean nothing to the way rows are stored here. They are kept as they
//! are in InnoDB: SHOW CREATE TABLE and information_schema show them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Values by the names of options, in capital letters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateOptions(BTreeMap<String, String>);

/// The order in SHOW CREATE TABLE.
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

/// The order in `information_schema.tables.create_options`.
const LISTED: &[&str] = &[
    "MAX_ROWS",
    "MIN_ROWS",
    "AVG_ROW_LENGTH",
    "ROW_FORMAT",
    "STATS_SAMPLE_PAGES",
    "STATS_AUTO_RECALC",
    "STATS_PERSISTENT",
    "PACK_KEYS",
    "CHECKSUM",
    "DELAY_KEY_WRITE",
    "KEY_BLOCK_SIZE",
    "COMPRESSION",
];

impl CreateOptions {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sets an option; the default value removes it. Options that nothing shows are left out.
    pub fn set(&mut self, name: &str, value: &str) {
        // The default of a flag that can be 0 and 1 is a third value.
        let has_default = matches!(name, "PACK_KEYS" | "STATS_PERSISTENT" | "STATS_AUTO_RECALC");
        let is_default = value.eq_ignore_ascii_case("DEFAULT") || value == "0" && !has_default;
        if is_default {
            self.0.remove(name);
        } else if SHOWN.contains(&name) {
            let value = match name {
                "COMPRESSION" => value.to_owned(),
                _ => value.to_uppercase(),
            };
            self.0.insert(name.to_owned(), value);
        }
    }

    /// ` MAX_ROWS=10 ROW_FORMAT=COMPACT`
    pub fn shown(&self) -> String {
        self.text(SHOWN, |name| name.to_owned(), " ", "")
    }

    /// `max_rows=10 row_format=COMPACT`
    pub fn listed(&self) -> String {
        self.text(LISTED, str::to_lowercase, "", " ")
    }

    fn text(&self, order: &[&str], name: impl Fn(&str) -> String, before: &str, between: &str) -> String {
        let set = order
            .iter()
            .filter_map(|option| Some((option, self.0.get(*option)?)));
        let quote = |option: &str| if option == "COMPRESSION" { "'" } else { "" };
        let texts = set.map(|(option, value)| {
            let quote = quote(option);
            format!("{before}{}={quote}{value}{quote}", name(option))
        });
        texts.collect::<Vec<_>>().join(between)
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
