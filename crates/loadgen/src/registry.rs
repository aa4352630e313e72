//! The workloads by name.

use crate::error::{Error, Result};
use crate::options::{OptionSpec, Options};
use crate::workload::Workload;

/// A workload that can be asked for.
#[derive(Clone, Copy)]
pub struct Entry {
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    pub options: &'static [OptionSpec],
    /// Reads the options and makes it. Sends nothing.
    pub build: fn(&Options) -> Result<Box<dyn Workload>>,
}

impl Entry {
    pub const fn new(
        name: &'static str,
        summary: &'static str,
        options: &'static [OptionSpec],
        build: fn(&Options) -> Result<Box<dyn Workload>>,
    ) -> Self {
        Self {
            name,
            summary,
            options,
            build,
        }
    }
}

/// All of them, in the order of the list. A new workload's module has `ENTRIES` and one line here.
pub fn entries() -> impl Iterator<Item = Entry> {
    let lists = [
        crate::orders::ENTRIES,
        crate::sysbench::ENTRIES,
        crate::tpcc::ENTRIES,
        crate::ontime::ENTRIES,
        crate::ycsb::ENTRIES,
        crate::ageing::ENTRIES,
    ];
    lists.into_iter().flatten().copied()
}

/// Fails with one line that names what there is.
pub fn find(name: &str) -> Result<Entry> {
    entries().find(|entry| entry.name == name).ok_or_else(|| {
        let names: Vec<&str> = entries().map(|entry| entry.name).collect();
        Error::Arguments(format!("no workload {name}; there are: {}", names.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_defaults_are_valid() {
        let mut names: Vec<&str> = entries().map(|entry| entry.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        for entry in entries() {
            let options = Options::resolve(entry.name, entry.options, &[]).unwrap();
            let workload = (entry.build)(&options).unwrap_or_else(|e| panic!("{}: {e}", entry.name));
            assert!(!workload.operations().is_empty(), "{}", entry.name);
        }
    }

    #[test]
    fn an_unknown_name_is_one_line_that_lists_the_known() {
        let Err(error) = find("nonsense") else { panic!() };
        assert!(error.to_string().starts_with("no workload nonsense; there are: "));
    }
}
