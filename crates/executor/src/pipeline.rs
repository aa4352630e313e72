//! Pipelines: operators that run row by row (lookup joins, subqueries that take values of each row, and filters and
//! projections between them), over rows that another engine reads. `analytics` runs a pipeline on each of its threads.
//!
//! Not here: where a plan is cut, and how rows get to threads (`analytics`).

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arrow::record_batch::RecordBatch;
use cluster::Cluster;
use functions::{EvalContext, Expr};
use kv::{Snapshot, Store};
use memory::Broker;
use planner::plan::{Apply, ApplyKind, CommonTableId, LookupJoin, OutputColumn, Rel};
use types::{Error, Result, SqlType};

use crate::batch::ALL_ROWS;
use crate::context::{ExecContext, NoVirtualTables};
use crate::env::Env;
use crate::memory::Memory;
use crate::operator::given::{Given, NextBatch};
use crate::operator::tree;
use crate::source::ReadSource;
use crate::spill::SpillSpace;

/// The name of the input in a pipeline's plan. No statement has so many common tables.
const INPUT: CommonTableId = CommonTableId(usize::MAX);

/// What pipelines of a statement use. Each thread has its own [`EvalContext`] besides.
#[derive(Clone)]
pub struct PipelineResources {
    pub store: Store,
    pub cluster: Arc<Cluster>,
    pub interrupt: Arc<kv::Interrupt>,
    pub memory: &'static Broker,
    pub memory_limit_bytes: usize,
    /// The directory of what they spill.
    pub spill_directory: PathBuf,
    pub cte_max_recursion_depth: u64,
}

/// A part of a plan, from its top down to an input that comes from outside.
#[derive(Debug)]
pub struct Pipeline {
    root: Rel,
    /// Where the position of the input's row is in the output, if the input has one.
    position: Option<usize>,
}

impl Pipeline {
    /// The operators from `top` down to, and without, `input`. `positions`: a column of positions follows the input's own.
    ///
    /// # Errors
    /// 1105 if there is an operator between them that does not run row by row.
    pub fn new(top: &Rel, input: &Rel, positions: bool) -> Result<Self> {
        let (root, position) = above(top, input, positions)?;
        Ok(Self { root, position })
    }

    /// Where the position of the input's row is in the output, if the input has one.
    pub fn position(&self) -> Option<usize> {
        self.position
    }

    /// The types of the output's columns, with the position.
    pub fn output_types(&self) -> Vec<SqlType> {
        self.root.output_types()
    }

    /// Runs the pipeline over some rows. `sink` says whether to go on.
    ///
    /// # Errors
    /// Those of the input, of expressions, of the store and of the sink; 8175 beyond the memory limit; 1317 once
    /// interrupted.
    pub fn run(
        &self,
        resources: &PipelineResources,
        (snapshot, eval): (&Snapshot, &EvalContext),
        input: NextBatch<'_>,
        sink: &mut dyn FnMut(RecordBatch) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let ctx = ExecContext {
            eval,
            store: &resources.store,
            cluster: &resources.cluster,
            virtual_tables: &NoVirtualTables,
            interrupt: &resources.interrupt,
            lock_wait: Duration::ZERO,
            memory_limit_bytes: resources.memory_limit_bytes,
            spill: SpillSpace::new(&resources.spill_directory),
            memory: resources.memory,
            auto_increment: (1, 1),
            insert_select: None,
            explicit_auto_random: false,
            file: None,
            alone_wait: None,
            cte_max_recursion_depth: resources.cte_max_recursion_depth,
        };
        let mut source = ReadSource::Snapshot(snapshot);
        let memory = Memory::of_part(&ctx);
        let mut env = Env::new(&ctx, &mut source, &memory);
        let mut root = tree::open_over(&self.root, (INPUT, Box::new(Given::new(input))), &mut env)?;
        while let Some(batch) = root.next(&mut env, ALL_ROWS)? {
            if sink(batch)?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// The operators of a plan over [`INPUT`], and where the position is in their rows.
fn above(rel: &Rel, input: &Rel, positions: bool) -> Result<(Rel, Option<usize>)> {
    if std::ptr::eq(rel, input) {
        let mut types = input.output_types();
        let position = positions.then_some(types.len());
        types.extend(position.map(|_| SqlType::BIGINT_UNSIGNED));
        let column = |ty| OutputColumn { ty, nullable: true };
        let named = Rel::CommonTable {
            id: INPUT,
            columns: types.into_iter().map(column).collect(),
            recursive: false,
        };
        return Ok((named, position));
    }
    let below = |rel: &Rel| above(rel, input, positions);
    match rel {
        Rel::Measured { input, measure } => {
            let (input, position) = below(input)?;
            let measured = Rel::Measured {
                input: Box::new(input),
                measure: measure.clone(),
            };
            Ok((measured, position))
        }
        Rel::Filter { input, predicate } => {
            let (input, position) = below(input)?;
            let filter = Rel::Filter {
                input: Box::new(input),
                predicate: moved(predicate.clone(), position),
            };
            Ok((filter, position))
        }
        Rel::Project { input, exprs } => {
            let (input, position) = below(input)?;
            let mut exprs: Vec<Expr> = exprs.iter().map(|expr| moved(expr.clone(), position)).collect();
            let passed_on = exprs.len();
            exprs.extend(position.map(|position| Expr::column(position, SqlType::BIGINT_UNSIGNED, true)));
            let project = Rel::Project {
                input: Box::new(input),
                exprs,
            };
            Ok((project, position.map(|_| passed_on)))
        }
        Rel::LookupJoin(join) => {
            let (left, position) = below(&join.left)?;
            Ok((Rel::LookupJoin(lookup_over(join, left, position)), position))
        }
        Rel::Apply(apply) => {
            let (input, position) = below(&apply.input)?;
            Ok((Rel::Apply(apply_over(apply, input, position)), position))
        }
        _ => Err(Error::internal("an operator that cannot be part of a pipeline")),
    }
}

fn lookup_over(join: &LookupJoin, left: Rel, position: Option<usize>) -> LookupJoin {
    let mut right = join.right.clone();
    right.key_expressions_mut(&mut |expr| *expr = moved(expr.clone(), position));
    LookupJoin {
        kind: join.kind,
        left: Box::new(left),
        right,
        residual: join.residual.clone().map(|residual| moved(residual, position)),
        rows: join.rows,
        execution_cache: join.execution_cache.clone(),
    }
}

fn apply_over(apply: &Apply, input: Rel, position: Option<usize>) -> Apply {
    let mut outer = apply.outer.clone();
    for column in &mut outer {
        column.position = behind(column.position, position);
    }
    let kind = match &apply.kind {
        ApplyKind::Scalar => ApplyKind::Scalar,
        ApplyKind::Exists => ApplyKind::Exists,
        ApplyKind::Any { condition } => ApplyKind::Any {
            condition: moved(condition.clone(), position),
        },
        ApplyKind::Lateral { left, condition } => ApplyKind::Lateral {
            left: *left,
            condition: condition.clone().map(|condition| moved(condition, position)),
        },
    };
    Apply {
        kind,
        input: Box::new(input),
        subquery: apply.subquery.clone(),
        outer,
    }
}

/// An expression over columns between which the position has been put.
fn moved(mut expr: Expr, position: Option<usize>) -> Expr {
    if position.is_some() {
        expr.map_columns(&|column| behind(column, position));
    }
    expr
}

fn behind(column: usize, position: Option<usize>) -> usize {
    column + usize::from(position.is_some_and(|position| column >= position))
}
