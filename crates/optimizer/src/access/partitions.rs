//! Which partitions the conditions of a statement leave: ranges of the columns that partition the table, made
//! as for an index on them.
//!
//! `WHERE a = 5 AND b < 3` of a table partitioned by `HASH (a)`: the range `a = 5`. The executor, which has
//! the values, finds the partitions ([`schema::partition::prune`]).

use planner::plan::{Range, ScanPartitions};
use schema::model::IndexPart;
use schema::partition::function::Level;

use super::Request;
use super::alternatives::Conditions;
use super::paths::Candidate;

/// `None` for a table without partitions. `ordered`: rows must come in the order of the access path.
pub fn of(request: &Request<'_>, ordered: bool) -> Option<Box<ScanPartitions>> {
    let table = request.table;
    let function = table.partition_function().ok().flatten()?;
    let conditions = Conditions::of(&request.conjuncts, table);
    let ranges = |level: &Level| -> Option<Vec<Range>> {
        let parts = level.columns.iter().map(|&column| IndexPart::whole(column));
        let candidate = Candidate {
            index: None,
            parts: parts.collect(),
            unique: false,
            array: None,
            table,
        };
        let paths = conditions.paths(&candidate).into_iter();
        // Reversed: of equals, the last one is the maximum.
        let narrowest = paths.rev().max_by_key(|path| (path.fixed_parts, path.bounded))?;
        narrowest.is_useful().then_some(narrowest.ranges)
    };
    Some(Box::new(ScanPartitions {
        named: request.named_partitions.map(<[usize]>::to_vec),
        top: ranges(&function.top),
        sub: function.sub.as_ref().and_then(ranges),
        ordered,
    }))
}
