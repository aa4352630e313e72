//! The workloads by name.

use crate::error::{Error, Result};
use crate::workload::WorkloadSpec;

/// All workloads, in the order of the list. For a new workload, add its module's `WORKLOADS` here.
pub fn all() -> impl Iterator<Item = WorkloadSpec> {
    let lists = [
        crate::orders::WORKLOADS,
        crate::sysbench::WORKLOADS,
        crate::tpcc::WORKLOADS,
        crate::tpch::WORKLOADS,
        crate::ch::WORKLOADS,
        crate::ontime::WORKLOADS,
        crate::joins::WORKLOADS,
        crate::ycsb::WORKLOADS,
        crate::ageing::WORKLOADS,
    ];
    lists.into_iter().flatten().copied()
}

/// Fails with one line that lists the names.
pub fn find(name: &str) -> Result<WorkloadSpec> {
    all().find(|spec| spec.name == name).ok_or_else(|| {
        let names: Vec<&str> = all().map(|spec| spec.name).collect();
        Error::Arguments(format!("no workload {name}; there are: {}", names.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;

    #[test]
    fn names_are_unique_and_defaults_are_valid() {
        let mut names: Vec<&str> = all().map(|spec| spec.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        for spec in all() {
            let options = Options::resolve(spec.name, spec.options, &[]).unwrap();
            let workload = (spec.build)(&options).unwrap_or_else(|e| panic!("{}: {e}", spec.name));
            assert!(!workload.operations().is_empty(), "{}", spec.name);
        }
    }

    #[test]
    fn an_unknown_name_is_one_line_that_lists_the_known() {
        let Err(error) = find("nonsense") else { panic!() };
        assert!(error.to_string().starts_with("no workload nonsense; there are: "));
    }
}
