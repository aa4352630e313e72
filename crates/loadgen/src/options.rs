//! The options of a workload: declared once, and checked before anything is sent.

use std::collections::BTreeMap;

use crate::error::{Error, Result};

/// An option of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionSpec {
    /// The name on the command line, without dashes: `table-size`.
    pub name: &'static str,
    pub default: &'static str,
    pub help: &'static str,
}

impl OptionSpec {
    pub const fn new(name: &'static str, default: &'static str, help: &'static str) -> Self {
        Self { name, default, help }
    }
}

/// The values of a workload's options, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    values: BTreeMap<String, String>,
}

impl Options {
    /// The given values, with defaults for the others. Fails on names that the workload does not have.
    pub fn resolve(workload: &str, specs: &[OptionSpec], given: &[(String, String)]) -> Result<Self> {
        let mut values: BTreeMap<String, String> = specs
            .iter()
            .map(|spec| (spec.name.to_owned(), spec.default.to_owned()))
            .collect();
        for (name, value) in given {
            match values.get_mut(name) {
                Some(slot) => slot.clone_from(value),
                None => {
                    let known: Vec<&str> = specs.iter().map(|spec| spec.name).collect();
                    return Err(Error::Arguments(format!(
                        "{workload} has no option {name}; it has: {}",
                        known.join(", ")
                    )));
                }
            }
        }
        Ok(Self { values })
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub fn text(&self, name: &str) -> Result<&str> {
        self.values
            .get(name)
            .map(String::as_str)
            .ok_or_else(|| Error::Arguments(format!("the workload declares no option {name}")))
    }

    /// A whole number within bounds.
    pub fn integer(&self, name: &str, bounds: std::ops::RangeInclusive<u64>) -> Result<u64> {
        let text = self.text(name)?;
        match text.parse() {
            Ok(value) if bounds.contains(&value) => Ok(value),
            _ => Err(Error::Arguments(format!(
                "{name} must be a whole number from {} to {}, not {text}",
                bounds.start(),
                bounds.end()
            ))),
        }
    }

    pub fn float(&self, name: &str) -> Result<f64> {
        let text = self.text(name)?;
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
            _ => Err(Error::Arguments(format!("{name} must be a number, not {text}"))),
        }
    }

    /// `on` or `off`.
    pub fn switch(&self, name: &str) -> Result<bool> {
        match self.text(name)? {
            "on" | "true" | "1" => Ok(true),
            "off" | "false" | "0" => Ok(false),
            other => Err(Error::Arguments(format!("{name} must be on or off, not {other}"))),
        }
    }

    /// One of some words.
    pub fn word(&self, name: &str, words: &[&'static str]) -> Result<&'static str> {
        let text = self.text(name)?;
        words.iter().copied().find(|word| *word == text).ok_or_else(|| {
            Error::Arguments(format!("{name} must be one of {}, not {text}", words.join(", ")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECS: &[OptionSpec] = &[
        OptionSpec::new("tables", "1", ""),
        OptionSpec::new("distribution", "uniform", ""),
    ];

    fn resolve(name: &str, value: &str) -> Result<Options> {
        Options::resolve("w", SPECS, &[(name.to_owned(), value.to_owned())])
    }

    #[test]
    fn defaults_and_what_was_given() {
        let options = resolve("tables", "4").unwrap();
        assert_eq!(options.integer("tables", 1..=10).unwrap(), 4);
        assert_eq!(
            options.word("distribution", &["zipfian", "uniform"]).unwrap(),
            "uniform"
        );
    }

    #[test]
    fn one_clear_line_for_each_mistake() {
        let message = |result: Result<Options>| result.unwrap_err().to_string();
        assert_eq!(
            message(resolve("scale", "1")),
            "w has no option scale; it has: tables, distribution"
        );
        let options = resolve("tables", "0").unwrap();
        assert_eq!(
            options.integer("tables", 1..=10).unwrap_err().to_string(),
            "tables must be a whole number from 1 to 10, not 0"
        );
        assert!(resolve("tables", "x").unwrap().integer("tables", 1..=10).is_err());
        assert!(resolve("tables", "x").unwrap().switch("tables").is_err());
        assert!(resolve("tables", "NaN").unwrap().float("tables").is_err());
        assert!(
            resolve("distribution", "x")
                .unwrap()
                .word("distribution", &["y"])
                .is_err()
        );
    }
}
