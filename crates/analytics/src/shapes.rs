//! Tests of the operators that plans consist of. Losing an optimisation changes no result, but fails here.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::aggregates::AggregateExec;
use datafusion_physical_plan::streaming::{PartitionStream, StreamingTableExec};
use datafusion_physical_plan::{EmptyRecordBatchStream, displayable};
use functions::aggregate::{AggregateCall, AggregateFunction, MergeableFunction};
use functions::{EvalContext, Expr};
use types::{SqlType, Value};

use crate::aggregate;
use crate::columns::{columns, schema_of};
use crate::operators::{self, Aggregate, Plan, Translated};

#[derive(Debug)]
struct Nothing(SchemaRef);

impl PartitionStream for Nothing {
    fn schema(&self) -> &SchemaRef {
        &self.0
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        Box::pin(EmptyRecordBatchStream::new(self.0.clone()))
    }
}

/// A scan of three integers in two partitions.
pub fn scan() -> Plan {
    let schema = schema_of([SqlType::BIGINT; 3]);
    let partition = || Arc::new(Nothing(schema.clone())) as Arc<dyn PartitionStream>;
    let partitions = vec![partition(), partition()];
    Arc::new(StreamingTableExec::try_new(schema.clone(), partitions, None, [], false, None).unwrap())
}

/// The operators of a plan, from the top.
pub fn shape(plan: &Plan) -> Vec<String> {
    let mut lines = vec![match plan.downcast_ref::<AggregateExec>() {
        Some(group) => {
            let functions: Vec<_> = group
                .aggr_expr()
                .iter()
                .map(|f| {
                    format!(
                        "{}{}",
                        if f.is_distinct() { "distinct " } else { "" },
                        f.fun().name()
                    )
                })
                .collect();
            let limit = group
                .limit_options()
                .map_or(String::new(), |l| format!(" limit {}", l.limit));
            let keys = group.group_expr().num_group_exprs();
            format!("{:?} by {keys}: {}{limit}", group.mode(), functions.join(", "))
        }
        None => displayable(plan.as_ref())
            .one_line()
            .to_string()
            .trim()
            .to_owned(),
    }];
    for child in plan.children() {
        lines.extend(shape(child));
    }
    lines
}

const MIN: MergeableFunction = MergeableFunction::Min(SqlType::BIGINT);
const MAX: MergeableFunction = MergeableFunction::Max(SqlType::BIGINT);

const SCAN: &str = "StreamingTableExec: partition_sizes=2, projection=[c0, c1, c2]";

fn of(function: MergeableFunction, column: usize) -> Aggregate {
    Aggregate {
        function,
        arguments: vec![column],
        distinct: false,
    }
}

fn distinct(column: usize) -> Aggregate {
    Aggregate {
        distinct: true,
        ..of(MergeableFunction::Count, column)
    }
}

pub fn column(index: usize) -> Expr {
    Expr::column(index, SqlType::BIGINT, true)
}

fn cast(index: usize) -> Expr {
    Expr::Cast {
        input: Box::new(column(index)),
        ty: SqlType::DOUBLE,
        implicit: true,
    }
}

fn aggregated(keys: &[Expr], calls: &[(AggregateFunction, Expr, SqlType)]) -> Plan {
    let calls: Vec<_> = calls
        .iter()
        .map(|(function, arg, ty)| AggregateCall {
            function: *function,
            args: vec![arg.clone()],
            distinct: false,
            concat: None,
            ty: *ty,
            shown: *ty,
        })
        .collect();
    let input = Translated {
        plan: scan(),
        positions: false,
        whole_groups: false,
    };
    aggregate::grouped(input, keys, &calls, &Arc::new(EvalContext::default())).unwrap()
}

#[test]
fn whole_groups_are_made_once() {
    let plan = operators::group(scan(), &[0], &[of(MergeableFunction::Count, 1)], true).unwrap();
    assert_eq!(shape(&plan), ["SinglePartitioned by 1: count", SCAN]);
}

#[test]
fn groups_are_made_twice_and_shuffled_between() {
    let plan = operators::group(scan(), &[0], &[of(MergeableFunction::Count, 1)], false).unwrap();
    let expected = [
        "FinalPartitioned by 1: count",
        "RepartitionExec: partitioning=Hash([c0@0], 2), input_partitions=2",
        "Partial by 1: count",
        SCAN,
    ];
    assert_eq!(shape(&plan), expected);
}

#[test]
fn what_has_no_groups_is_not_shuffled() {
    let plan = operators::group(scan(), &[], &[of(MAX, 1)], false).unwrap();
    let expected = [
        "Final by 0: greatest",
        "CoalescePartitionsExec",
        "Partial by 0: greatest",
        SCAN,
    ];
    assert_eq!(shape(&plan), expected);
    let again = operators::group(plan, &[0], &[], false).unwrap();
    assert_eq!(shape(&again)[0], "Single by 1: ");
}

#[test]
fn distinct_values_of_one_argument_are_grouped_first() {
    let all = [distinct(1), of(MIN, 2)];
    let plan = operators::group(scan(), &[0], &all, false).unwrap();
    let lines = shape(&plan);
    assert_eq!(lines[0], "FinalPartitioned by 1: count, least");
    assert_eq!(lines[3], "FinalPartitioned by 2: least");
    assert_eq!(lines.last().map(String::as_str), Some(SCAN));
    let plan = operators::group(scan(), &[0], &[distinct(1), distinct(2)], false).unwrap();
    assert_eq!(
        shape(&plan)[0],
        "FinalPartitioned by 1: distinct count, distinct count"
    );
}

#[test]
fn a_sort_with_a_limit_keeps_few_rows_and_few_groups() {
    let sorted = |plan: Plan, column: usize, descending| {
        let key = columns(&plan.schema())[column].clone();
        shape(&operators::sort(plan, vec![(key, descending)], Some(5), Some(5)).unwrap())
    };
    let expected = [
        "SortPreservingMergeExec: [c1@1 DESC NULLS LAST], fetch=5",
        "SortExec: TopK(fetch=5), expr=[c1@1 DESC NULLS LAST], preserve_partitioning=[true]",
        SCAN,
    ];
    assert_eq!(sorted(scan(), 1, true), expected);

    let group = |function| operators::group(scan(), &[0], &[of(function, 1)], false).unwrap();
    assert_eq!(
        sorted(group(MAX), 1, true)[2],
        "FinalPartitioned by 1: greatest limit 5"
    );
    assert_eq!(sorted(group(MAX), 1, false)[2], "FinalPartitioned by 1: greatest");
    assert_eq!(
        sorted(group(MergeableFunction::Count), 1, true)[2],
        "FinalPartitioned by 1: count"
    );
    let keys = operators::group(scan(), &[0], &[], false).unwrap();
    let lines = sorted(keys, 0, false);
    assert_eq!(lines[2], "FinalPartitioned by 1:  limit 5");
    assert_eq!(lines[4], "Partial by 1:  limit 5");
}

#[test]
fn a_sort_may_spill_in_each_partition() {
    let sorted = |fetch| {
        let key = columns(&scan().schema())[0].clone();
        operators::sort(scan(), vec![(key, false)], fetch, fetch).unwrap()
    };
    assert_eq!(operators::spilling_sorts(&scan()).unwrap(), 0);
    assert_eq!(operators::spilling_sorts(&sorted(None)).unwrap(), 2);
    assert_eq!(operators::spilling_sorts(&sorted(Some(5))).unwrap(), 0);
    let again = |column: usize| {
        let key = columns(&scan().schema())[column].clone();
        operators::sort(sorted(None), vec![(key, false)], None, None).unwrap()
    };
    assert_eq!(operators::spilling_sorts(&again(1)).unwrap(), 3);
    // In order already.
    assert_eq!(operators::spilling_sorts(&again(0)).unwrap(), 2);
}

#[test]
fn what_is_computed_of_sorted_rows_leaves_them_in_order() {
    let inputs = columns(&scan().schema());
    let sorted = operators::sort(scan(), vec![(inputs[0].clone(), false)], None, None).unwrap();
    let plan = operators::project(sorted, vec![inputs[2].clone(), inputs[0].clone()]).unwrap();
    assert!(plan.properties().output_ordering().is_some());
    let lines = shape(&plan);
    assert!(
        !lines.iter().any(|line| line.starts_with("RepartitionExec")),
        "{lines:?}"
    );
}

#[test]
fn a_limit_goes_down_to_the_scan() {
    let plan = operators::limit(scan(), 0, Some(5)).unwrap();
    let expected = [
        "CoalescePartitionsExec: fetch=5".to_owned(),
        format!("{SCAN}, fetch=5"),
    ];
    assert_eq!(shape(&plan), expected);
    let plan = operators::limit(scan(), 2, Some(5)).unwrap();
    let expected = [
        "GlobalLimitExec: skip=2, fetch=5".to_owned(),
        "CoalescePartitionsExec: fetch=7".to_owned(),
        format!("{SCAN}, fetch=7"),
    ];
    assert_eq!(shape(&plan), expected);
    let keys = operators::group(scan(), &[0], &[], false).unwrap();
    assert_eq!(
        shape(&operators::limit(keys, 0, Some(5)).unwrap())[1],
        "FinalPartitioned by 1:  limit 5"
    );
    assert_eq!(
        shape(&operators::limit(scan(), 1, Some(0)).unwrap()),
        ["EmptyExec"]
    );
}

#[test]
fn a_repeated_argument_is_computed_once() {
    let sum = (AggregateFunction::Sum, cast(1), SqlType::DOUBLE);
    let average = (AggregateFunction::Avg, cast(1), SqlType::DOUBLE);
    let count = (AggregateFunction::Count, cast(1), SqlType::BIGINT);
    let plan = aggregated(&[column(0)], &[sum, average, count]);
    let lines = shape(&plan);
    assert_eq!(lines[1], "FinalPartitioned by 1: sum, count");
    assert_eq!(lines[4], "ProjectionExec: expr=[c0@0 as c0, value(c1@1) as c1]");
}

#[test]
fn columns_that_are_there_come_from_the_scan() {
    let plan = aggregated(
        &[column(0)],
        &[(AggregateFunction::Max, column(1), SqlType::BIGINT)],
    );
    let lines = shape(&plan);
    assert_eq!(lines[0], "FinalPartitioned by 1: greatest");
    assert_eq!(
        lines[3],
        "StreamingTableExec: partition_sizes=2, projection=[c0, c1]"
    );
}

#[test]
fn a_condition_that_is_always_false_reads_nothing() {
    let eval = Arc::new(EvalContext::default());
    let never = Expr::literal(Value::Int(0), SqlType::BIGINT);
    let condition = crate::expression::predicate(&never, &[], &eval).unwrap();
    assert_eq!(
        shape(&operators::filter(scan(), condition, 1).unwrap()),
        ["EmptyExec"]
    );
}
