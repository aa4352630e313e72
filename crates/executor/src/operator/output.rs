//! What comes out of an operator.

use planner::plan::Rel;
use types::SqlType;

/// The types of the columns that come out of `rel`.
pub(crate) fn output_types(rel: &Rel) -> Vec<SqlType> {
    match rel {
        Rel::OneRow => Vec::new(),
        Rel::Scan(scan) => scan
            .columns
            .iter()
            .filter_map(|&c| scan.table.columns.get(c))
            .map(|c| c.ty)
            .collect(),
        Rel::Virtual(scan) => scan.table.columns.iter().map(|c| c.ty).collect(),
        Rel::Project { exprs, .. } => exprs.iter().map(|e| e.ty()).collect(),
        Rel::Aggregate { keys, aggregates, .. } => keys
            .iter()
            .map(|e| e.ty())
            .chain(aggregates.iter().map(|a| a.ty))
            .collect(),
        Rel::Repeat { input, .. } => std::iter::once(SqlType::BIGINT)
            .chain(output_types(input))
            .collect(),
        Rel::Filter { input, .. }
        | Rel::Sort { input, .. }
        | Rel::Limit { input, .. }
        | Rel::Distinct { input } => output_types(input),
    }
}
