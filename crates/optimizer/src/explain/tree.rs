//! EXPLAIN FORMAT=TREE: the operators of a plan under the names that MySQL has for them.
//!
//! Costs are the optimizer's microseconds. The estimates of an operator are derived from those of the tables
//! below it, as when the plan was made.

use std::collections::HashMap;

use functions::Expr;
use functions::aggregate::AggregateCall;
use functions::window::WindowCall;
use planner::logical::{CommonTableId, SetOperator};
use planner::plan::{
    Apply, ApplyKind, InsertMode, InsertSource, Join, JoinKind, LookupJoin, Measure, Plan, Rel, Route,
    SortKey, TableScan, Target, VirtualScan,
};

use super::access_text::access_text;
use super::expression::Scope;
use super::names::identifier;
use super::node::Node;
use crate::limit::literal_count;
use crate::{cost, estimates, print};

/// Sorting, per row and doubling of their number.
const SORT: f64 = 0.02;

/// The lines of a plan; `analyzed`: with what was measured.
pub fn tree(plan: &Plan, analyzed: bool) -> String {
    let mut tree = Tree::default();
    let root = match plan {
        Plan::Query(query) => {
            let root = tree.rel(&query.root).0;
            match query.route {
                Route::Transactional => root,
                Route::Analytical => Node::plain("Analytical executor", vec![root]),
            }
        }
        Plan::Insert(insert) => {
            let verb = if matches!(insert.mode, InsertMode::Replace) {
                "Replace"
            } else {
                "Insert"
            };
            let input = match &insert.source {
                InsertSource::Values(rows) => rows_before(rows.len()),
                InsertSource::Literals(values) => rows_before(values.rows.len()),
                InsertSource::Query(query) => tree.rel(&query.root).0,
                // EXPLAIN has no LOAD DATA.
                InsertSource::File(_) => Node::plain("Rows of a file".to_owned(), Vec::new()),
            };
            let mut inputs = vec![input];
            for root in insert.row_queries() {
                inputs.extend(tree.rel(root).0.inputs);
            }
            Node::plain(format!("{verb} into {}", insert.table.name), inputs)
        }
        Plan::Update(update) => tree.target("Update", &update.target),
        Plan::Delete(delete) => tree.target("Delete from", &delete.target),
        Plan::FoundWrite(write) => {
            let verb = if write.is_update { "Update" } else { "Delete from" };
            let names: Vec<&str> = write
                .tables
                .iter()
                .map(|table| table.table.name.as_str())
                .collect();
            let input = tree.rel(&write.root).0;
            // What the write itself takes is not measured.
            let measure = input.measure.as_ref().map(Measure::without_rows);
            Node {
                measure,
                ..Node::plain(format!("{verb} {}", names.join(", ")), vec![input])
            }
        }
    };
    let mut text = String::new();
    root.write(0, analyzed, &mut text);
    text
}

#[derive(Default)]
struct Tree {
    /// How many query blocks have been shown besides the first.
    subqueries: usize,
    /// Names of the columns of rows around subqueries.
    outer: HashMap<usize, String>,
    /// Common tables whose rows have been shown, by their ids.
    common_tables: Vec<(CommonTableId, Option<Node>)>,
}

type Named = (Node, Vec<String>);

impl Tree {
    fn rel(&mut self, rel: &Rel) -> Named {
        types::stack::with_room(|| self.operator(rel))
    }

    fn operator(&mut self, rel: &Rel) -> Named {
        match rel {
            Rel::OneRow => (fetched(1), Vec::new()),
            Rel::Values { columns, rows } => (fetched(rows.len()), print::numbered("column", columns.len())),
            Rel::JsonTable(scan) => (
                table_function(),
                print::numbered("column", scan.table.types().len()),
            ),
            Rel::Scan(scan) => self.scan(scan, &[], None),
            Rel::Virtual(scan) => virtual_scan(scan),
            Rel::Measured { input, measure } => {
                let (mut node, names) = self.rel(input);
                node.measure = Some(measure.clone());
                (node, names)
            }
            // TiDB's name for the task.
            Rel::Pushed { input } => {
                let (input, names) = self.rel(input);
                let (cost, rows) = (input.cost(), input.rows());
                (
                    Node::new("Pushed down: cop[tikv]", cost, rows, vec![input]),
                    names,
                )
            }
            Rel::Filter { input, predicate } => {
                let (input, names) = self.rel(input);
                let text = format!("Filter: {}", self.text(predicate, &names));
                let rows = input.rows() * estimates::UNKNOWN_CONDITION;
                (Node::new(text, input.cost(), rows.max(1.0), vec![input]), names)
            }
            Rel::Project { input, exprs } => {
                let (input, names) = self.rel(input);
                let names = exprs.iter().map(|expr| self.text(expr, &names)).collect();
                (input, names)
            }
            Rel::Aggregate {
                input,
                keys,
                aggregates,
            } => self.aggregate(input, keys, aggregates),
            Rel::Sort { input, keys, limit } => self.sort(input, keys, limit.as_ref()),
            Rel::Limit { input, offset, count } => self.limit(input, offset.as_ref(), count.as_ref()),
            Rel::Repeat { input, times } => self.repeated(input, *times),
            Rel::Distinct { input } => self.distinct(input),
            Rel::Join(join) => self.join(join),
            Rel::LookupJoin(join) => self.lookup_join(join),
            Rel::Apply(apply) => self.apply(apply),
            Rel::Window {
                input,
                partition_by,
                order_by,
                calls,
                ..
            } => self.window(input, (partition_by, order_by), calls),
            Rel::SetOperation { operator, all, .. } => {
                let mut inputs = Vec::new();
                let names = self.operands(rel, *operator, *all, &mut inputs);
                (set_operation(*operator, *all, inputs), names)
            }
            Rel::With { id, definition, body } => {
                let made = self.rel(definition).0;
                self.common_tables.push((*id, Some(made)));
                self.rel(body)
            }
            Rel::CommonTable {
                id,
                columns,
                recursive,
            } => (
                self.common_table(*id, *recursive),
                print::numbered("column", columns.len()),
            ),
            Rel::Recursive { seed, step, .. } => self.recursive(seed, step),
        }
    }

    fn repeated(&mut self, input: &Rel, times: u32) -> Named {
        let (input, names) = self.rel(input);
        let rows = input.rows() * f64::from(times);
        let names = std::iter::once("<copy>".to_owned()).chain(names).collect();
        let text = format!("Each row {times} times, for ROLLUP");
        (Node::new(text, input.cost(), rows, vec![input]), names)
    }

    fn distinct(&mut self, input: &Rel) -> Named {
        let (input, names) = self.rel(input);
        let (rows, cost) = (input.rows(), input.cost() + input.rows() * cost::HASH_BUILD);
        let text = "Temporary table with deduplication";
        (temporary(text, cost, rows, vec![input]), names)
    }

    fn recursive(&mut self, seed: &Rel, step: &Rel) -> Named {
        let (seed, names) = self.rel(seed);
        let step = self.rel(step).0;
        let repeated = Node::plain("Repeat until convergence", vec![step]);
        (
            Node::plain("Materialize recursive CTE", vec![seed, repeated]),
            names,
        )
    }

    fn aggregate(&mut self, input: &Rel, keys: &[Expr], aggregates: &[AggregateCall]) -> Named {
        let (input, names) = self.rel(input);
        let mut out: Vec<String> = keys.iter().map(|key| self.text(key, &names)).collect();
        let outer = |slot| self.outer_name(slot);
        let scope = Scope {
            columns: &names,
            outer: &outer,
        };
        let calls: Vec<String> = aggregates.iter().map(|call| scope.aggregate(call)).collect();
        let cost = input.cost() + input.rows() * cost::HASH_BUILD;
        let node = if keys.is_empty() {
            Node::new(format!("Aggregate: {}", calls.join(", ")), cost, 1.0, vec![input])
        } else {
            let groups = (input.rows() / 10.0).max(1.0);
            temporary("Aggregate using temporary table", cost, groups, vec![input])
        };
        out.extend(calls);
        (node, out)
    }

    fn sort(&mut self, input: &Rel, keys: &[SortKey], limit: Option<&Expr>) -> Named {
        let (input, names) = self.rel(input);
        let outer = |slot| self.outer_name(slot);
        let scope = Scope {
            columns: &names,
            outer: &outer,
        };
        let mut text = format!("Sort: {}", scope.sort_keys(keys));
        if let Some(limit) = limit {
            text += &format!(", limit input to {} row(s) per chunk", scope.expr(limit));
        }
        let rows = input.rows();
        let cost = input.cost() + SORT * rows * rows.max(2.0).log2();
        (Node::new(text, cost, rows, vec![input]), names)
    }

    fn window(
        &mut self,
        input: &Rel,
        (partition_by, order_by): (&[Expr], &[SortKey]),
        calls: &[WindowCall],
    ) -> Named {
        let (input, mut names) = self.rel(input);
        let outer = |slot| self.outer_name(slot);
        let scope = Scope {
            columns: &names,
            outer: &outer,
        };
        let mut keys: Vec<String> = partition_by.iter().map(|expr| scope.expr(expr)).collect();
        let mut over = String::new();
        if !partition_by.is_empty() {
            over += &format!("PARTITION BY {} ", keys.join(","));
        }
        if !order_by.is_empty() {
            over += &format!("ORDER BY {} ", scope.sort_keys(order_by));
            keys.push(scope.sort_keys(order_by));
        }
        let calls: Vec<String> = calls
            .iter()
            .map(|call| format!("{} OVER ({over})", print::window(call, &names)))
            .collect();
        let (cost, rows) = (input.cost(), input.rows());
        let below = match keys.is_empty() {
            true => input,
            false => Node::new(format!("Sort: {}", keys.join(", ")), cost, rows, vec![input]),
        };
        let node = Node::new(
            format!("Window aggregate: {}", calls.join(", ")),
            cost,
            rows,
            vec![below],
        );
        names.extend(calls);
        (node, names)
    }

    fn target(&mut self, verb: &str, target: &Target) -> Node {
        let (mut node, names) = self.scan(&target.scan, &[], None);
        let outer = |slot| self.outer_name(slot);
        let scope = Scope {
            columns: &names,
            outer: &outer,
        };
        if !target.order_by.is_empty() {
            let text = format!("Sort: {}", scope.sort_keys(&target.order_by));
            node = Node::new(text, node.cost(), node.rows(), vec![node]);
        }
        if let Some(limit) = &target.limit {
            node = Node::plain(format!("Limit: {} row(s)", scope.expr(limit)), vec![node]);
        }
        Node::plain(format!("{verb} {}", target.scan.table.name), vec![node])
    }

    fn limit(&mut self, input: &Rel, offset: Option<&Expr>, count: Option<&Expr>) -> Named {
        let (input, names) = self.rel(input);
        let shown = |expr: &Expr| self.text(expr, &[]);
        let most = count.and_then(literal_count);
        if most == Some(0) {
            return (
                Node::new("Zero rows (Impossible WHERE)", 0.0, 0.0, Vec::new()),
                names,
            );
        }
        let rows = most.map_or(input.rows(), |most| input.rows().min(most as f64));
        let text = match (offset, count) {
            (None, Some(count)) => format!("Limit: {} row(s)", shown(count)),
            (Some(offset), Some(count)) => format!("Limit/Offset: {}/{} row(s)", shown(count), shown(offset)),
            (Some(offset), None) => format!("Offset: {} row(s)", shown(offset)),
            (None, None) => return (input, names),
        };
        (Node::new(text, input.cost(), rows, vec![input]), names)
    }

    /// `left`: the columns that the keys of a lookup are made of. `pairs`: what a pair must satisfy.
    fn scan(&mut self, scan: &TableScan, left: &[String], pairs: Option<&Expr>) -> Named {
        let column = |&offset: &usize| match scan.table.columns.get(offset) {
            Some(column) => format!("{}.{}", identifier(&scan.alias), identifier(&column.name)),
            None => "<row key>".to_owned(),
        };
        let names: Vec<String> = scan.columns.iter().map(column).collect();
        let outer = |slot| self.outer_name(slot);
        let expected = &scan.expected;
        let of_left = Scope {
            columns: left,
            outer: &outer,
        };
        let mut node = Node::new(
            access_text(scan, &of_left),
            expected.cost,
            expected.read,
            Vec::new(),
        );
        // A locking scan filters while it reads, in passes: what it reads is not counted.
        if scan.locking.is_none() {
            node.measure.clone_from(&scan.read);
        }
        if let Some(filter) = &scan.filter {
            let text = format!("Filter: {}", self.text(filter, &names));
            node = Node::new(text, expected.cost, expected.rows, vec![node]);
        }
        if let Some(pairs) = pairs {
            let both: Vec<String> = left.iter().chain(&names).cloned().collect();
            let text = format!("Filter: {}", self.text(pairs, &both));
            node = Node::new(text, expected.cost, expected.rows, vec![node]);
        }
        (node, names)
    }

    fn join(&mut self, join: &Join) -> Named {
        let ((left, left_names), (right, right_names)) = (self.rel(&join.left), self.rel(&join.right));
        let both: Vec<String> = left_names.iter().chain(&right_names).cloned().collect();
        let keys: Vec<String> = join
            .keys
            .iter()
            .map(|key| {
                let sign = if key.null_safe { "<=>" } else { "=" };
                let (left, right) = (
                    self.text(&key.left, &left_names),
                    self.text(&key.right, &right_names),
                );
                format!("({left} {sign} {right})")
            })
            .collect();
        let name = match join.kind {
            JoinKind::Inner => "Inner hash join",
            JoinKind::Left => "Left hash join",
            JoinKind::Semi => "Hash semijoin",
            JoinKind::Anti => "Hash antijoin",
            JoinKind::Mark => "Hash join that marks matches",
        };
        let mut text = match keys.is_empty() {
            true => format!("{name} (no condition)"),
            false => format!("{name} {}", keys.join(", ")),
        };
        if let Some(residual) = &join.residual {
            text += &format!(", extra conditions: {}", self.text(residual, &both));
        }
        let pairs = if keys.is_empty() {
            left.rows() * right.rows() * cost::PAIR
        } else {
            0.0
        };
        let cost = left.cost()
            + right.cost()
            + right.rows() * cost::HASH_BUILD
            + left.rows() * cost::HASH_PROBE
            + pairs;
        let node = Node::new(
            text,
            cost,
            join.rows,
            vec![left, Node::plain("Hash", vec![right])],
        );
        (node, print::joined(join.kind, left_names, both, "<match>"))
    }

    fn lookup_join(&mut self, join: &LookupJoin) -> Named {
        let (left, left_names) = self.rel(&join.left);
        let (mut right, right_names) = self.scan(&join.right, &left_names, join.residual.as_ref());
        // What a lookup finds is counted after its filters.
        right.innermost().measure = None;
        right.measure.clone_from(&join.right.read);
        let both: Vec<String> = left_names.iter().chain(&right_names).cloned().collect();
        let cost = left.cost() + left.rows() * join.right.expected.cost + join.rows * cost::OUTPUT;
        let node = Node::new(nested_loop(join.kind), cost, join.rows, vec![left, right]);
        (node, print::joined(join.kind, left_names, both, "<match>"))
    }

    fn apply(&mut self, apply: &Apply) -> Named {
        let (mut input, mut names) = self.rel(&apply.input);
        for outer in &apply.outer {
            let name = names.get(outer.position).cloned().unwrap_or_default();
            self.outer.insert(outer.slot, name);
        }
        self.subqueries += 1;
        let number = self.subqueries + 1;
        let (mut subquery, inner) = self.rel(&apply.subquery);
        let is_dependent = !apply.outer.is_empty();
        if let ApplyKind::Lateral { left, .. } = apply.kind {
            let kind = if left { JoinKind::Left } else { JoinKind::Inner };
            let (rows, cost) = (
                input.rows() * subquery.rows(),
                input.cost() + input.rows() * (cost::OPEN + subquery.cost()),
            );
            let made = Node::plain("Materialize for each row", vec![subquery]);
            names.extend(inner);
            return (Node::new(nested_loop(kind), cost, rows, vec![input, made]), names);
        }
        let how = if is_dependent {
            "dependent"
        } else {
            "run only once"
        };
        subquery.heading = Some(format!("Select #{number} (subquery; {how})"));
        input.inputs.push(subquery);
        match apply.kind {
            ApplyKind::Scalar => names.extend(inner.iter().map(|_| format!("(select #{number})"))),
            ApplyKind::Exists => names.push(format!("exists(select #{number})")),
            _ => names.push(format!("<in>(select #{number})")),
        }
        (input, names)
    }

    /// The queries of one operation, from left to right.
    fn operands(
        &mut self,
        rel: &Rel,
        operator: SetOperator,
        all: bool,
        inputs: &mut Vec<Node>,
    ) -> Vec<String> {
        match rel {
            Rel::SetOperation {
                operator: below,
                all: below_all,
                left,
                right,
            } if *below == operator && *below_all == all => {
                let names = self.operands(left, operator, all, inputs);
                let further = self.rel(right).0;
                inputs.push(further);
                names
            }
            other => {
                let (input, names) = self.rel(other);
                inputs.push(input);
                names
            }
        }
    }

    fn common_table(&mut self, id: CommonTableId, recursive: bool) -> Node {
        if recursive {
            return Node::plain(format!("Scan new records on <cte{}>", id.0), Vec::new());
        }
        let text = format!("Table scan on <cte{}>", id.0);
        let known = self.common_tables.iter_mut().find(|(known, _)| *known == id);
        match known.and_then(|(_, made)| made.take()) {
            Some(made) => {
                let (cost, rows) = (made.cost(), made.rows());
                let made = match made.text.starts_with("Materialize") {
                    true => made,
                    false => Node::new(format!("Materialize CTE <cte{}>", id.0), cost, rows, vec![made]),
                };
                Node::new(text, cost, rows, vec![made])
            }
            None => Node::plain(text, Vec::new()),
        }
    }

    fn outer_name(&self, slot: usize) -> String {
        self.outer.get(&slot).cloned().unwrap_or_else(|| "?".to_owned())
    }

    fn text(&self, expr: &Expr, names: &[String]) -> String {
        let outer = |slot| self.outer_name(slot);
        let scope = Scope {
            columns: names,
            outer: &outer,
        };
        scope.expr(expr)
    }
}

fn fetched(rows: usize) -> Node {
    Node::new("Rows fetched before execution", 0.0, rows as f64, Vec::new())
}

/// Rows that are collected before the first row is returned.
fn temporary(text: &str, cost: f64, rows: f64, inputs: Vec<Node>) -> Node {
    let gathered = Node::plain(text, inputs);
    Node::new("Table scan on <temporary>", cost, rows, vec![gathered])
}

fn set_operation(operator: SetOperator, all: bool, inputs: Vec<Node>) -> Node {
    let cost: f64 = inputs.iter().map(Node::cost).sum();
    let sum: f64 = inputs.iter().map(Node::rows).sum();
    let first = inputs.first().map_or(0.0, Node::rows);
    let (name, rows) = match operator {
        SetOperator::Union => ("union", sum),
        SetOperator::Intersect => ("intersect", first),
        SetOperator::Except => ("except", first),
    };
    if all && operator == SetOperator::Union {
        return Node::new("Append", cost, rows, inputs);
    }
    let (initial, rest) = name.split_at(1);
    let how = if all {
        " all materialize"
    } else {
        " materialize with deduplication"
    };
    let made = Node::plain(format!("{}{rest}{how}", initial.to_uppercase()), inputs);
    let cost = cost + sum * cost::HASH_BUILD;
    Node::new(
        format!("Table scan on <{name} temporary>"),
        cost,
        rows,
        vec![made],
    )
}

fn nested_loop(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "Nested loop inner join",
        JoinKind::Left => "Nested loop left join",
        JoinKind::Semi => "Nested loop semijoin",
        JoinKind::Anti => "Nested loop antijoin",
        JoinKind::Mark => "Nested loop that marks matches",
    }
}

/// Rows that the statement itself has.
fn rows_before(count: usize) -> Node {
    Node::new("Rows fetched before execution", 0.0, count as f64, Vec::new())
}

fn table_function() -> Node {
    let rows = cost::TABLE_FUNCTION_ROWS;
    let text = "Materialize table function".to_owned();
    Node::new(text, rows * cost::NEXT_ROW, rows, Vec::new())
}

fn virtual_scan(scan: &VirtualScan) -> Named {
    let names = scan.table.columns.iter().map(|column| identifier(&column.name));
    let text = format!("Table scan on {}", scan.table.name);
    (Node::new(text, 1_000.0, 100.0, Vec::new()), names.collect())
}
