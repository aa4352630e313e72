//! Tests of the operators of joins.

use std::sync::Arc;

use functions::bind::{TypeEnv, call};
use functions::{EvalContext, Expr};
use planner::plan::{self, JoinKey, JoinKind, Rel};
use types::{Collation, SqlType};

use crate::join;
use crate::operators::{Plan, Translated};
use crate::shapes::{column, scan, shape};

fn key(left: Expr, right: Expr) -> JoinKey {
    JoinKey {
        left,
        right,
        null_safe: false,
    }
}

/// A join of two tables of three integers, of which the right one has about `right_rows`.
fn joined(
    kind: JoinKind,
    keys: Vec<JoinKey>,
    residual: Option<Expr>,
    right_rows: u64,
    spilling: Option<usize>,
) -> Plan {
    let join = plan::Join {
        kind,
        left: Box::new(Rel::OneRow),
        right: Box::new(Rel::OneRow),
        right_rows,
        rows: 1.0,
        keys,
        residual,
    };
    let left = Translated {
        plan: scan(),
        positions: false,
        whole_groups: false,
    };
    let eval = Arc::new(EvalContext::default());
    join::joined(left, scan(), &join, Vec::new(), spilling, &eval)
        .unwrap()
        .plan
}

/// The lines of a plan without the projection above a join, which names its columns, and without what ends it after KILL.
fn below_projection(plan: &Plan) -> Vec<String> {
    let mut lines = shape(plan);
    let join = lines.iter().position(|line| line.contains("Join")).unwrap();
    let above: Vec<String> = lines.drain(..join).collect();
    assert!(above.iter().any(|line| line == "Watched"), "{above:?}");
    assert!(above.len() <= 2, "{above:?}");
    lines
}

const SCAN: &str = "StreamingTableExec: partition_sizes=2, projection=[c0, c1, c2]";

#[test]
fn a_small_right_side_is_one_hash_table() {
    let plan = joined(JoinKind::Left, vec![key(column(0), column(1))], None, 10, None);
    let lines = below_projection(&plan);
    assert!(lines[0].starts_with("HashJoinExec: mode=CollectLeft, join_type=Right, on=[(c1@1, c0@0)]"));
    assert_eq!(lines[1..], ["CoalescePartitionsExec", SCAN, SCAN]);
    assert_eq!(plan.schema().fields().len(), 6);
}

#[test]
fn a_large_right_side_is_cut_by_its_keys() {
    let plan = joined(
        JoinKind::Semi,
        vec![key(column(0), column(1))],
        None,
        1_000_000,
        None,
    );
    let lines = below_projection(&plan);
    assert!(lines[0].starts_with("HashJoinExec: mode=Partitioned, join_type=RightSemi"));
    assert!(lines[1].starts_with("RepartitionExec: partitioning=Hash([c1@1]"));
    assert!(lines[3].starts_with("RepartitionExec: partitioning=Hash([c0@0]"));
    assert_eq!(plan.schema().fields().len(), 3);
}

#[test]
fn a_join_that_spills_sorts_both_sides() {
    let plan = joined(JoinKind::Anti, vec![key(column(0), column(1))], None, 10, Some(2));
    let lines = below_projection(&plan);
    assert!(
        lines[0].starts_with("SortMergeJoinExec: join_type=LeftAnti"),
        "{lines:?}"
    );
    assert!(lines[1].starts_with("SortExec: expr=[c0@0 ASC"));
    assert!(lines[2].starts_with("RepartitionExec: partitioning=Hash([c0@0]"));
    assert!(lines[4].starts_with("SortExec: expr=[c1@1 ASC"));
}

#[test]
fn a_join_that_spills_in_one_partition_cuts_nothing() {
    let plan = joined(
        JoinKind::Inner,
        vec![key(column(0), column(1))],
        None,
        10,
        Some(1),
    );
    let lines = below_projection(&plan);
    assert!(
        lines[0].starts_with("SortMergeJoinExec: join_type=Inner"),
        "{lines:?}"
    );
    assert!(
        lines.iter().all(|line| !line.starts_with("RepartitionExec")),
        "{lines:?}"
    );
    assert_eq!(plan.properties().output_partitioning().partition_count(), 1);
}

#[test]
fn texts_are_compared_by_their_sort_keys() {
    let text = || Expr::Cast {
        input: Box::new(column(2)),
        ty: SqlType::varchar(20, Collation::Utf8mb40900AiCi),
        implicit: true,
    };
    let plan = joined(JoinKind::Inner, vec![key(text(), text())], None, 10, None);
    let lines = below_projection(&plan);
    assert!(lines[0].contains("on=[(c3@3, c3@3)]"), "{lines:?}");
    assert!(
        lines[0].contains("projection=[c0@4, c1@5, c2@6, c0@0, c1@1, c2@2]"),
        "{lines:?}"
    );
    let keyed = "ProjectionExec: expr=[c0@0 as c0, c1@1 as c1, c2@2 as c2, Comparable";
    assert_eq!(
        lines.iter().filter(|line| line.starts_with(keyed)).count(),
        2,
        "{lines:?}"
    );
}

#[test]
fn without_keys_all_pairs_are_compared() {
    let residual = call("<", vec![column(0), column(4)], &TypeEnv::default()).unwrap();
    let plan = joined(JoinKind::Inner, Vec::new(), Some(residual), 10, Some(2));
    let lines = below_projection(&plan);
    assert!(
        lines[0].starts_with("NestedLoopJoinExec: join_type=Inner, filter=watched(truth("),
        "{lines:?}"
    );
    assert_eq!(lines[1..], ["CoalescePartitionsExec", SCAN, SCAN]);
}
