//! Safe update mode (`sql_safe_updates`): UPDATE and DELETE that read all of a table to find the rows they change, although
//! no LIMIT ends them, are refused.
//!
//! MySQL reads a table by a key there if any condition lets it. The optimizer takes the cheaper way, which for many rows and
//! for small tables is to read all. So what counts is that a key could be used: by a condition on its first column, or by a
//! join that finds the partners of another table's rows.
//!
//! Source: manual 4.5.1.6, "Using Safe-Updates Mode", and MySQL 8.0.33's answers.

use std::ptr;

use functions::{EvalContext, Expr};
use planner::plan::{
    Access, FoundWritePlan, Join, JoinKind, LookupJoin, Plan, Range, RangeBoundValue, Rel, TableScan, Target,
};
use schema::model::Column;
use types::{Error, Result, Value};

/// Error 1175. `context` has the statement's parameters.
pub fn check(plan: &Plan, context: &EvalContext) -> Result<()> {
    let reads_all = match plan {
        Plan::Update(update) => reads_all(&update.target, context),
        Plan::Delete(delete) => reads_all(&delete.target, context),
        Plan::FoundWrite(write) => finds_by_all(write, context),
        Plan::Query(_) | Plan::Insert(_) => false,
    };
    match reads_all {
        false => Ok(()),
        true => Err(Error::new(
            1175,
            "You are using safe update mode and you tried to update a table without a WHERE that uses a KEY column. ",
        )),
    }
}

fn reads_all(target: &Target, context: &EvalContext) -> bool {
    let written = Written::of(&target.scan, context);
    !is_limit(target.limit.as_ref(), context) && is_unkeyed(&target.scan) && !written.is_limited_by_filter()
}

/// Whether a plan's limit ends the reading early. A condition without columns makes one, too: of no rows, or of all.
fn is_limit(limit: Option<&Expr>, context: &EvalContext) -> bool {
    most_rows(limit, context).is_some_and(|most| most < u64::MAX)
}

fn most_rows(limit: Option<&Expr>, context: &EvalContext) -> Option<u64> {
    functions::eval_value(limit?, context).ok()?.as_u64()
}

/// Whether a written table is read from end to end. Joins find rows of a table by its key for those of another one, so one
/// table has to be read otherwise.
fn finds_by_all(write: &FoundWritePlan, context: &EvalContext) -> bool {
    if is_limited_at_top(&write.root, context) {
        return false;
    }
    let scans = write.root.scans();
    let is_written = |scan: &&TableScan| write.tables.iter().any(|found| found.table.id == scan.table.id);
    let read_whole = scans
        .iter()
        .copied()
        .filter(is_written)
        .filter(|scan| is_unkeyed(scan));
    let mut joined = 0;
    for written in read_whole.map(|scan| Written::of(scan, context)) {
        if written.is_limited(&write.root) {
            continue;
        }
        if !written.is_joined(&write.root) {
            return true;
        }
        joined += 1;
    }
    joined > 0 && joined == scans.len()
}

/// Whether all rows are below a limit, or there are none by a condition without columns.
fn is_limited_at_top(rel: &Rel, context: &EvalContext) -> bool {
    match rel {
        Rel::Limit { input, count, .. } => {
            is_limit(count.as_ref(), context) || is_limited_at_top(input, context)
        }
        Rel::Project { input, .. } | Rel::Filter { input, .. } | Rel::Sort { input, .. } => {
            is_limited_at_top(input, context)
        }
        _ => is_empty(rel, context),
    }
}

fn is_empty(rel: &Rel, context: &EvalContext) -> bool {
    match rel {
        Rel::Limit { input, count, .. } => {
            most_rows(count.as_ref(), context) == Some(0) || is_empty(input, context)
        }
        Rel::Project { input, .. } | Rel::Filter { input, .. } | Rel::Sort { input, .. } => {
            is_empty(input, context)
        }
        Rel::Join(join) => {
            is_empty(&join.left, context) || join.kind == JoinKind::Inner && is_empty(&join.right, context)
        }
        Rel::LookupJoin(join) => is_empty(&join.left, context),
        _ => false,
    }
}

/// Whether all of a table is read, be it in the order of an index. The conditions of a union are of several keys.
fn is_unkeyed(scan: &TableScan) -> bool {
    match &scan.access {
        Access::Full { .. } | Access::Union { .. } => true,
        Access::PrimaryRanges { ranges, .. } | Access::IndexRanges { ranges, .. } => {
            ranges.iter().any(|range| is_whole(range, scan))
        }
        _ => false,
    }
}

/// Whether a range has all keys. IS NOT NULL of a column that is never NULL leaves none out.
fn is_whole(range: &Range, scan: &TableScan) -> bool {
    let parts = match scan.access {
        Access::IndexRanges { index, .. } => scan.table.indexes[index].parts.first().map(|part| part.column),
        _ => scan.table.primary_parts().first().map(|part| part.column),
    };
    let is_nullable = parts
        .and_then(|column| scan.table.columns.get(column))
        .is_some_and(|column| column.nullable);
    let is_from_first = match &range.lower {
        None => true,
        Some(lower) => matches!(lower.value, RangeBoundValue::Null) && !is_nullable,
    };
    range.prefix.is_empty() && is_from_first && range.upper.is_none()
}

/// A table that is written, and the first columns of its keys, by offset.
struct Written<'p> {
    scan: &'p TableScan,
    first_of_keys: Vec<usize>,
    context: &'p EvalContext,
}

impl<'p> Written<'p> {
    fn of(scan: &'p TableScan, context: &'p EvalContext) -> Self {
        let visible = scan
            .table
            .public_indexes()
            .filter(|index| !index.invisible && scan.allows_index(&index.name));
        let first = visible.filter_map(|index| index.parts.first());
        let of_primary = scan.table.primary_parts();
        let of_primary = of_primary.first().filter(|_| scan.allows_index("PRIMARY"));
        Self {
            scan,
            first_of_keys: first.chain(of_primary).map(|part| part.column).collect(),
            context,
        }
    }

    /// Whether a condition of the plan lets the table be read by a key.
    fn is_limited(&self, root: &Rel) -> bool {
        let mut is_limited = self.is_limited_by_filter();
        root.walk(&mut |rel| {
            if let Rel::Filter { input, predicate } = rel {
                is_limited |= self.is_limited_by(predicate, &|index| self.column(input, index));
            }
        });
        is_limited
    }

    /// Whether a join lets its rows be found by a key.
    fn is_joined(&self, root: &Rel) -> bool {
        let mut is_joined = false;
        root.walk(&mut |rel| {
            is_joined |= match rel {
                Rel::Join(join) => self.is_found_by(join),
                Rel::LookupJoin(join) => self.is_looked_up_for(join),
                _ => false,
            }
        });
        is_joined
    }

    fn is_limited_by_filter(&self) -> bool {
        let column = |index: usize| self.scan.columns.get(index).copied();
        let filter = self.scan.filter.as_ref();
        filter.is_some_and(|filter| self.is_limited_by(filter, &column))
    }

    /// The table's column that a column of an operator's rows is.
    fn column(&self, rel: &Rel, index: usize) -> Option<usize> {
        let (scan, column) = origin(rel, index)?;
        ptr::eq(scan, self.scan).then_some(column)
    }

    fn is_key(&self, rel: &Rel, expr: &Expr) -> bool {
        let Expr::Column { index, .. } = expr else {
            return false;
        };
        self.column(rel, *index)
            .is_some_and(|column| self.first_of_keys.contains(&column))
    }

    /// Whether rows of the table are partners that a hash join looks for.
    fn is_found_by(&self, join: &Join) -> bool {
        let (of_left, of_right) = match join.kind {
            JoinKind::Inner => (true, true),
            JoinKind::Semi => (!self.is_looked_up_in(&join.right), false),
            JoinKind::Left => (false, true),
            JoinKind::Anti | JoinKind::Mark => (false, false),
        };
        join.keys.iter().any(|key| {
            of_left && self.is_key(&join.left, &key.left) || of_right && self.is_key(&join.right, &key.right)
        })
    }

    /// Whether MySQL would rather read the written table and look its rows up in the other one: all of a table that is not
    /// smaller.
    fn is_looked_up_in(&self, other: &Rel) -> bool {
        match other.scans().as_slice() {
            [scan] => {
                scan.filter.is_none() && is_unkeyed(scan) && scan.expected.rows >= self.scan.expected.rows
            }
            _ => false,
        }
    }

    /// Whether the table's key is compared with the key of the table that is looked up.
    fn is_looked_up_for(&self, join: &LookupJoin) -> bool {
        let mut is_key = false;
        join.right
            .key_expressions(&mut |expr| is_key |= self.is_key(&join.left, expr));
        match join.kind {
            JoinKind::Inner => is_key,
            JoinKind::Semi => is_key && join.right.filter.is_some(),
            _ => false,
        }
    }

    /// Whether a condition limits the values of a key's first column. `column`: the table's column that a column of the
    /// condition's rows is.
    fn is_limited_by(&self, condition: &Expr, column: &dyn Fn(usize) -> Option<usize>) -> bool {
        self.first_of_keys
            .iter()
            .any(|first| self.is_key_limited(*first, condition, column))
    }

    /// The same of the keys that begin with one column.
    fn is_key_limited(
        &self,
        first: usize,
        condition: &Expr,
        column: &dyn Fn(usize) -> Option<usize>,
    ) -> bool {
        let Expr::Call { function, args, .. } = condition else {
            return false;
        };
        let is_key = |expr: &Expr| match expr.as_stored() {
            Expr::Column { index, .. } => column(*index) == Some(first),
            _ => false,
        };
        let is_nullable = |column: &Column| column.nullable;
        let is_given = |expr: &Expr| {
            let mut is_own = false;
            expr.walk(&mut |part| {
                is_own |= matches!(part, Expr::Column { index, .. } if column(*index).is_some());
            });
            !is_own
        };
        match (function.name(), args.as_slice()) {
            ("and", parts) => parts.iter().any(|part| self.is_key_limited(first, part, column)),
            ("or", parts) => parts.iter().all(|part| self.is_key_limited(first, part, column)),
            ("not", [part]) => is_range_both_ways(part) && self.is_key_limited(first, part, column),
            ("=" | "<=>" | "<" | "<=" | ">" | ">=" | "<>", [left, right]) => {
                is_key(left) && is_given(right) || is_key(right) && is_given(left)
            }
            ("in" | "between", [tested, values @ ..]) => is_key(tested) && values.iter().all(is_given),
            ("is null", [tested]) => is_key(tested),
            ("is not null", [tested]) => {
                is_key(tested) && self.scan.table.columns.get(first).is_some_and(is_nullable)
            }
            ("like", [tested, pattern, ..]) => is_key(tested) && self.has_prefix(pattern),
            _ => false,
        }
    }

    /// Whether a pattern of LIKE begins with a character that stands for itself.
    fn has_prefix(&self, pattern: &Expr) -> bool {
        let value = match pattern.is_constant() {
            true => functions::eval_value(pattern, self.context),
            false => Ok(Value::Null),
        };
        matches!(value, Ok(Value::String(pattern)) if !pattern.starts_with(['%', '_']))
    }
}

/// Whether NOT of a condition makes ranges of it, too.
fn is_range_both_ways(condition: &Expr) -> bool {
    const BOTH_WAYS: &[&str] = &["=", "<", "<=", ">", ">=", "<>", "in", "between"];
    matches!(condition, Expr::Call { function, .. } if BOTH_WAYS.contains(&function.name()))
}

/// The table and its column that a column of an operator's rows is.
fn origin(rel: &Rel, index: usize) -> Option<(&TableScan, usize)> {
    match rel {
        Rel::Scan(scan) => scan.columns.get(index).map(|column| (scan, *column)),
        Rel::Filter { input, .. }
        | Rel::Sort { input, .. }
        | Rel::Limit { input, .. }
        | Rel::Measured { input, .. }
        | Rel::Pushed { input }
        | Rel::Distinct { input } => origin(input, index),
        Rel::Project { input, exprs } => match exprs.get(index)? {
            Expr::Column { index, .. } => origin(input, *index),
            _ => None,
        },
        Rel::Window { input, .. } => origin(input, index),
        Rel::Apply(apply) => match index.checked_sub(apply.input.output_types().len()) {
            None => origin(&apply.input, index),
            Some(_) => None,
        },
        Rel::Join(join) => match index.checked_sub(join.left.output_types().len()) {
            None => origin(&join.left, index),
            Some(index) => origin(&join.right, index).filter(|_| has_columns_of_both(join.kind)),
        },
        Rel::LookupJoin(join) => match index.checked_sub(join.left.output_types().len()) {
            None => origin(&join.left, index),
            Some(index) => {
                let column = join.right.columns.get(index)?;
                has_columns_of_both(join.kind).then_some((&join.right, *column))
            }
        },
        _ => None,
    }
}

fn has_columns_of_both(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::Inner | JoinKind::Left)
}
