//! Joins of two inputs.

use std::sync::Arc;

use arrow::compute::SortOptions;
use datafusion_common::{JoinType, NullEquality, Result};
use datafusion_physical_expr::{LexOrdering, Partitioning, PhysicalExprRef, PhysicalSortExpr};
use datafusion_physical_plan::ExecutionPlanProperties;
use datafusion_physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion_physical_plan::joins::utils::JoinFilter;
use datafusion_physical_plan::joins::{
    HashJoinExecBuilder, NestedLoopJoinExec, PartitionMode, SortMergeJoinExec,
};
use datafusion_physical_plan::repartition::RepartitionExec;
use datafusion_physical_plan::sorts::sort::SortExec;

use super::{Plan, project};
use crate::columns::columns;
use crate::limits::partitions;

/// How the partners of rows are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinMethod {
    /// All pairs are compared. The right side is held in memory.
    Pairs,
    /// The right side is held in memory, in a hash table. `one_table`: all partitions of the left side share
    /// one table; otherwise both sides are partitioned by their keys.
    Hash { one_table: bool },
    /// Both sides are partitioned by their keys, with this many partitions, and sorted by them. The sorts
    /// spill.
    SortMerge { partitions: usize },
}

/// The sides of a join.
pub struct Sides {
    pub left: Plan,
    pub right: Plan,
    /// Columns of the left side, and of the right side, that have to be equal. NULL is equal to nothing.
    pub keys: Vec<(PhysicalExprRef, PhysicalExprRef)>,
    /// A further condition on pairs.
    pub filter: Option<JoinFilter>,
}

/// A join, of one of the types `Inner`, `Left`, `LeftSemi` and `LeftAnti`. `output`: the columns that are wanted,
/// counted over the left side and then the right one.
pub fn join(method: JoinMethod, sides: Sides, join_type: JoinType, output: Vec<usize>) -> Result<Plan> {
    match method {
        JoinMethod::SortMerge { partitions } => sort_merge(sides, join_type, output, partitions),
        JoinMethod::Pairs => {
            let sides = exchanged(sides, join_type, output);
            let build = together(sides.left);
            Ok(Arc::new(NestedLoopJoinExec::try_new(
                build,
                sides.right,
                sides.filter,
                &sides.join_type,
                Some(sides.output),
            )?))
        }
        JoinMethod::Hash { one_table } => {
            let mut sides = exchanged(sides, join_type, output);
            let mode = if one_table {
                sides.left = together(sides.left);
                PartitionMode::CollectLeft
            } else {
                let (left, right) = sides.keys.iter().cloned().unzip();
                sides.left = cut(sides.left, left, partitions())?;
                sides.right = cut(sides.right, right, partitions())?;
                PartitionMode::Partitioned
            };
            HashJoinExecBuilder::new(sides.left, sides.right, sides.keys, sides.join_type)
                .with_filter(sides.filter)
                .with_projection(Some(sides.output))
                .with_partition_mode(mode)
                .with_null_equality(NullEquality::NullEqualsNothing)
                .build_exec()
        }
    }
}

/// A join with its sides exchanged: the side that DataFusion holds in memory is the left one.
struct Exchanged {
    left: Plan,
    right: Plan,
    keys: Vec<(PhysicalExprRef, PhysicalExprRef)>,
    filter: Option<JoinFilter>,
    join_type: JoinType,
    output: Vec<usize>,
}

fn exchanged(sides: Sides, join_type: JoinType, output: Vec<usize>) -> Exchanged {
    let left_width = sides.left.schema().fields().len();
    let right_width = sides.right.schema().fields().len();
    let both = matches!(join_type, JoinType::Inner | JoinType::Left);
    let moved = |index: usize| match index.checked_sub(left_width) {
        Some(index) => index,
        None if both => index + right_width,
        None => index,
    };
    Exchanged {
        left: sides.right,
        right: sides.left,
        keys: sides
            .keys
            .into_iter()
            .map(|(left, right)| (right, left))
            .collect(),
        filter: sides.filter.map(|filter| filter.swap()),
        join_type: join_type.swap(),
        output: output.into_iter().map(moved).collect(),
    }
}

fn sort_merge(sides: Sides, join_type: JoinType, output: Vec<usize>, partitions: usize) -> Result<Plan> {
    let options = SortOptions::default();
    let sorted = |side: Plan, keys: Vec<PhysicalExprRef>| -> Result<Plan> {
        let cut = cut(side, keys.clone(), partitions)?;
        let keys = keys.into_iter().map(|key| PhysicalSortExpr::new(key, options));
        Ok(match LexOrdering::new(keys) {
            Some(order) => Arc::new(SortExec::new(order, cut).with_preserve_partitioning(true)),
            None => cut,
        })
    };
    let (left, right) = sides.keys.iter().cloned().unzip();
    let joined: Plan = Arc::new(SortMergeJoinExec::try_new(
        sorted(sides.left, left)?,
        sorted(sides.right, right)?,
        sides.keys.clone(),
        sides.filter,
        join_type,
        vec![options; sides.keys.len()],
        NullEquality::NullEqualsNothing,
    )?);
    let all = columns(&joined.schema());
    project(
        joined,
        output.into_iter().map(|index| all[index].clone()).collect(),
    )
}

/// Partitions the rows by their keys.
fn cut(plan: Plan, keys: Vec<PhysicalExprRef>, partitions: usize) -> Result<Plan> {
    if partitions == 1 {
        return Ok(together(plan));
    }
    let by_key = Partitioning::Hash(keys, partitions);
    Ok(Arc::new(RepartitionExec::try_new(plan, by_key)?))
}

/// Merges the rows into one partition.
fn together(plan: Plan) -> Plan {
    match plan.output_partitioning().partition_count() {
        1 => plan,
        _ => Arc::new(CoalescePartitionsExec::new(plan)),
    }
}
