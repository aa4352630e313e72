//! Which partitions the conditions of a statement leave: ranges of the columns that partition the table, made
//! as for an index on them.
//!
//! `WHERE a = 5 AND b < 3` of a table partitioned by `HASH (a)`: the range `a = 5`. The executor, which has
//! the values, finds the partitions ([`schema::partition::prune`]).

use planner::plan::{Range, ScanPartitions};
use schema::model::IndexPart;
use schema::partition::function::Level;

use super::paths::{Candidate, Conditions};
use super::{Request, sarg, tuple};

/// `None` for a table without partitions. `ordered`: rows must come in the order of the access path.
pub fn of(request: &Request<'_>, ordered: bool) -> Option<Box<ScanPartitions>> {
    let table = request.table;
    let function = table.partition_function().ok().flatten()?;
    let conditions = Conditions {
        sargs: request.conjuncts.iter().map(|c| sarg::of(c, table)).collect(),
        tuples: request.conjuncts.iter().map(|c| tuple::of(c, table)).collect(),
    };
    let ranges = |level: &Level| -> Option<Vec<Range>> {
        let parts = level.columns.iter().map(|&column| IndexPart::whole(column));
        let candidate = Candidate {
            index: None,
            parts: parts.collect(),
            unique: false,
            array: None,
            table,
        };
        let path = candidate.path(&conditions);
        path.useful.then_some(path.ranges)
    };
    Some(Box::new(ScanPartitions {
        named: request.named_partitions.map(<[usize]>::to_vec),
        top: ranges(&function.top),
        sub: function.sub.as_ref().and_then(ranges),
        ordered,
    }))
}
