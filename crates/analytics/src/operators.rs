//! DataFusion's operators, combined as its own planner would.
//!
//! A plan's rows come in partitions, one for each thread. An operator that needs all rows at one place merges
//! the partitions first.

mod join;

use std::sync::Arc;

use datafusion_common::{Result, ScalarValue};
use datafusion_physical_expr::aggregate::AggregateExprBuilder;
use datafusion_physical_expr::expressions::{Column, Literal};
use datafusion_physical_expr::{LexOrdering, Partitioning, PhysicalExprRef, PhysicalSortExpr};
use datafusion_physical_plan::aggregates::{AggregateExec, AggregateMode, LimitOptions, PhysicalGroupBy};
use datafusion_physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion_physical_plan::empty::EmptyExec;
use datafusion_physical_plan::filter::FilterExecBuilder;
use datafusion_physical_plan::limit::GlobalLimitExec;
use datafusion_physical_plan::projection::{ProjectionExec, ProjectionExpr, remove_unnecessary_projections};
use datafusion_physical_plan::repartition::RepartitionExec;
use datafusion_physical_plan::sorts::sort::SortExec;
use datafusion_physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion_physical_plan::union::UnionExec;
use datafusion_physical_plan::{
    ChildrenPropertiesMode, ExecutionPlan, ExecutionPlanProperties, ReplaceChildrenOptions,
};
use functions::aggregate::MergeableFunction;
use functions::order::sort_options;

use crate::accumulators;
use crate::columns::{column_name, columns};

pub use join::{JoinMethod, Sides, join};

pub type Plan = Arc<dyn ExecutionPlan>;

/// A translated operator.
pub struct Translated {
    pub plan: Plan,
    /// Whether another column follows its own: the position of each row in the order of the scan.
    pub positions: bool,
    /// Whether all rows of a group are in one partition, for the grouping that requested it
    /// ([`crate::scan_filter::ScanFilters::group`]).
    pub whole_groups: bool,
}

impl Translated {
    pub fn columns(&self) -> Vec<PhysicalExprRef> {
        columns(&self.plan.schema())
    }
}

/// An aggregate function of columns of its input. Without arguments it counts all rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    pub function: MergeableFunction,
    pub arguments: Vec<usize>,
    /// Each value counts once.
    pub distinct: bool,
}

/// Computes the columns `c0, c1, ...`. The projection is merged with one below if possible.
pub fn project(input: Plan, exprs: Vec<PhysicalExprRef>) -> Result<Plan> {
    let named = exprs.into_iter().enumerate().map(|(index, expr)| ProjectionExpr {
        expr,
        alias: column_name(index),
    });
    let projection: Plan = Arc::new(ProjectionExec::try_new(named, input)?);
    Ok(remove_unnecessary_projections(projection)?.data)
}

/// The rows that satisfy a condition, `batch_rows` of them at a time.
pub fn filter(input: Plan, condition: PhysicalExprRef, batch_rows: usize) -> Result<Plan> {
    let constant = condition.downcast_ref::<Literal>().map(Literal::value);
    match constant {
        Some(ScalarValue::Boolean(Some(true))) => Ok(input),
        Some(_) => Ok(nothing(&input)),
        None => {
            let filter = FilterExecBuilder::new(condition, input).with_batch_size(batch_rows);
            Ok(Arc::new(filter.build()?))
        }
    }
}

/// The rows of both inputs.
pub fn union(left: Plan, right: Plan) -> Result<Plan> {
    UnionExec::try_new(vec![left, right])
}

/// Whether a plan returns no rows, whatever is stored.
pub fn is_empty(plan: &Plan) -> bool {
    match plan.downcast_ref::<ProjectionExec>() {
        Some(projection) => is_empty(projection.input()),
        None => plan.downcast_ref::<EmptyExec>().is_some(),
    }
}

fn nothing(input: &Plan) -> Plan {
    Arc::new(EmptyExec::new(input.schema()))
}

/// Groups rows by the columns `keys`. Columns of the result: the keys, then the aggregates. `whole_groups`:
/// the rows of a group are in one partition.
pub fn group(input: Plan, keys: &[usize], aggregates: &[Aggregate], whole_groups: bool) -> Result<Plan> {
    let Some(argument) = single_distinct(aggregates) else {
        return group_at_once(input, keys, aggregates, whole_groups);
    };
    // Group by the keys and the argument first, so that each value occurs once. Groups spill and are computed
    // in parallel; the set of values of one aggregate is not.
    let mut inner_keys = keys.to_vec();
    inner_keys.push(argument);
    let mut inner = Vec::new();
    let mut outer = Vec::with_capacity(aggregates.len());
    for aggregate in aggregates {
        let column = if aggregate.distinct {
            keys.len()
        } else {
            inner.push(aggregate.clone());
            keys.len() + inner.len()
        };
        outer.push(Aggregate {
            function: aggregate.function,
            arguments: vec![column],
            distinct: false,
        });
    }
    let outer_keys: Vec<usize> = (0..keys.len()).collect();
    let inner = group_at_once(input, &inner_keys, &inner, whole_groups)?;
    group_at_once(inner, &outer_keys, &outer, whole_groups)
}

/// The argument of the aggregates of distinct values, if all have the same one, and if the other aggregates
/// can be applied to their own results.
fn single_distinct(aggregates: &[Aggregate]) -> Option<usize> {
    let mut arguments = aggregates.iter().filter(|a| a.distinct).map(|a| &a.arguments);
    let first = arguments.next()?;
    let twice = |function: MergeableFunction| match function {
        MergeableFunction::Sum(_) => true,
        MergeableFunction::Min(_) | MergeableFunction::Max(_) => !function.takes_positions(),
        MergeableFunction::Count | MergeableFunction::First(_) => false,
    };
    let [argument] = first.as_slice() else { return None };
    let same = arguments.all(|other| other == first);
    let others = aggregates.iter().all(|a| a.distinct || twice(a.function));
    (same && others).then_some(*argument)
}

fn group_at_once(input: Plan, keys: &[usize], aggregates: &[Aggregate], whole_groups: bool) -> Result<Plan> {
    let schema = input.schema();
    let inputs = columns(&schema);
    let keys = keys
        .iter()
        .enumerate()
        .map(|(index, &key)| (inputs[key].clone(), column_name(index)));
    let keys = Arc::new(PhysicalGroupBy::new_single(keys.collect()));
    let mut functions = Vec::with_capacity(aggregates.len());
    for (index, aggregate) in aggregates.iter().enumerate() {
        let mut arguments: Vec<_> = aggregate.arguments.iter().map(|&a| inputs[a].clone()).collect();
        if arguments.is_empty() {
            arguments.push(Arc::new(Literal::new(ScalarValue::Int64(Some(1)))));
        }
        let function =
            AggregateExprBuilder::new(Arc::new(accumulators::aggregate(aggregate.function)), arguments)
                .schema(schema.clone())
                .alias(column_name(keys.expr().len() + index))
                .with_distinct(aggregate.distinct)
                .build()?;
        functions.push(Arc::new(function));
    }
    let filters = vec![None; functions.len()];
    let aggregate = |mode, keys, input| -> Result<AggregateExec> {
        AggregateExec::try_new(
            mode,
            keys,
            functions.clone(),
            filters.clone(),
            input,
            schema.clone(),
        )
    };
    let partitions = input.output_partitioning().partition_count();
    if partitions == 1 {
        return Ok(Arc::new(aggregate(AggregateMode::Single, keys, input)?));
    }
    if whole_groups {
        return Ok(Arc::new(aggregate(
            AggregateMode::SinglePartitioned,
            keys,
            input,
        )?));
    }
    let partial = aggregate(AggregateMode::Partial, keys.clone(), input)?;
    let groups = partial.output_group_expr();
    let last_keys = Arc::new(keys.as_final());
    Ok(Arc::new(if groups.is_empty() {
        let together = Arc::new(CoalescePartitionsExec::new(Arc::new(partial)));
        aggregate(AggregateMode::Final, last_keys, together)?
    } else {
        let by_key = Partitioning::Hash(groups, partitions);
        let shuffled = Arc::new(RepartitionExec::try_new(Arc::new(partial), by_key)?);
        aggregate(AggregateMode::FinalPartitioned, last_keys, shuffled)?
    }))
}

/// Sorts all rows into one partition. `keys`: each with whether it is descending. `fetch`: how many rows it should
/// hold. `limit`: how many are needed.
pub fn sort(
    input: Plan,
    keys: Vec<(PhysicalExprRef, bool)>,
    fetch: Option<usize>,
    limit: Option<usize>,
) -> Result<Plan> {
    let key = |(expr, descending)| PhysicalSortExpr::new(expr, sort_options(descending));
    let Some(order) = LexOrdering::new(keys.into_iter().map(key)) else {
        return Ok(input);
    };
    if limit == Some(0) {
        return Ok(nothing(&input));
    }
    let input = match (order.iter().as_slice(), fetch) {
        ([key], Some(fetch)) => with_few_groups(input, key, fetch)?,
        _ => input,
    };
    let sorted = SortExec::new(order.clone(), input.clone()).with_fetch(fetch);
    if input.output_partitioning().partition_count() == 1 {
        return Ok(match limit == fetch {
            true => Arc::new(sorted),
            false => Arc::new(GlobalLimitExec::new(Arc::new(sorted), 0, limit)),
        });
    }
    let sorted = Arc::new(sorted.with_preserve_partitioning(true));
    Ok(Arc::new(
        SortPreservingMergeExec::new(order, sorted).with_fetch(limit),
    ))
}

/// How many sorts of a plan may spill, counting the sort of each partition.
pub fn spilling_sorts(plan: &Plan) -> Result<usize> {
    let mut sorts = 0;
    for child in plan.children() {
        sorts += spilling_sorts(child)?;
    }
    // A sort with a limit holds only that many rows. A sort whose input is already in order passes its rows
    // on.
    if let Some(sort) = plan.downcast_ref::<SortExec>()
        && sort.fetch().is_none()
        && !sort
            .input()
            .equivalence_properties()
            .ordering_satisfy(sort.expr().clone())?
    {
        sorts += plan.output_partitioning().partition_count();
    }
    Ok(sorts)
}

/// Below a sort by one column with a limit, limits the number of groups that a grouping holds. The column
/// must be the grouping's only key, without aggregates, or its only aggregate, which must grow in the sort's
/// direction.
fn with_few_groups(plan: Plan, key: &PhysicalSortExpr, fetch: usize) -> Result<Plan> {
    let Some(column) = key.expr.downcast_ref::<Column>() else {
        return Ok(plan);
    };
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let source = &projection.expr()[column.index()].expr;
        let key = PhysicalSortExpr::new(source.clone(), key.options);
        let input = with_few_groups(projection.input().clone(), &key, fetch)?;
        return above(plan, input);
    }
    let Some(top) = plan.downcast_ref::<AggregateExec>() else {
        return Ok(plan);
    };
    let descending = key.options.descending;
    let by_key = top.aggr_expr().is_empty() && column.index() == 0;
    // A group whose extreme is NULL so far would sort last and be dropped, though a later row may move it to
    // the front.
    let by_extreme = top.get_minmax_desc().is_some_and(|(_, greatest)| {
        column.index() == 1 && greatest == descending && !key.options.nulls_first
    });
    let types: Vec<_> = plan
        .schema()
        .fields()
        .iter()
        .map(|f| f.data_type().clone())
        .collect();
    let (Some(first), Some(last)) = (types.first(), types.last()) else {
        return Ok(plan);
    };
    let known = datafusion_physical_plan::aggregates::topk_types_supported(first, last);
    if top.group_expr().num_group_exprs() != 1 || !known || !(by_key || by_extreme) {
        return Ok(plan);
    }
    limit_groups(plan, LimitOptions::new_with_order(fetch, descending))
}

/// The same operator above another input.
fn above(plan: Plan, input: Plan) -> Result<Plan> {
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    plan.replace_children(vec![input], options)
}

/// Sets the limit of groups in the partial and the final phase of a grouping. A grouping below it keeps all
/// of its groups, because those are this one's rows.
fn limit_groups(plan: Plan, limit: LimitOptions) -> Result<Plan> {
    let Some(half) = plan.downcast_ref::<AggregateExec>() else {
        // An operator that brings the partial phase's rows together.
        return match plan.children().as_slice() {
            [input] => above(Arc::clone(&plan), limit_groups(Arc::clone(input), limit)?),
            _ => Ok(plan),
        };
    };
    // If the rows arrive in the order of the groups, DataFusion treats the limit as one of the best groups.
    let is_plain = half.is_unordered_unfiltered_group_by_distinct();
    let limited: Plan = match limit.descending.is_some() || is_plain {
        true => Arc::new(half.with_new_limit_options(Some(limit))),
        false => Arc::clone(&plan),
    };
    if !matches!(
        half.mode(),
        AggregateMode::Final | AggregateMode::FinalPartitioned
    ) {
        return Ok(limited);
    }
    above(limited, limit_groups(Arc::clone(half.input()), limit)?)
}

/// Skips `skip` rows, and returns at most `fetch` of the following.
pub fn limit(input: Plan, skip: usize, fetch: Option<usize>) -> Result<Plan> {
    if fetch == Some(0) {
        return Ok(nothing(&input));
    }
    let enough = fetch.map(|fetch| skip + fetch);
    let mut plan = match enough {
        Some(enough) => with_fetch(input, enough)?,
        None => input,
    };
    if plan.output_partitioning().partition_count() > 1 {
        plan = Arc::new(CoalescePartitionsExec::new(plan).with_fetch(enough));
    }
    if skip == 0 && plan.fetch() == fetch {
        return Ok(plan);
    }
    Ok(Arc::new(GlobalLimitExec::new(plan, skip, fetch)))
}

/// Allows each partition to stop after `enough` rows.
fn with_fetch(plan: Plan, enough: usize) -> Result<Plan> {
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let input = with_fetch(projection.input().clone(), enough)?;
        return above(plan, input);
    }
    if let Some(groups) = plan.downcast_ref::<AggregateExec>()
        && groups.is_unordered_unfiltered_group_by_distinct()
    {
        return limit_groups(plan, LimitOptions::new(enough));
    }
    let enough = plan.fetch().map_or(enough, |fetch| fetch.min(enough));
    Ok(plan.with_fetch(Some(enough)).unwrap_or(plan))
}
