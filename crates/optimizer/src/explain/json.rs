//! EXPLAIN FORMAT=JSON: query blocks with their tables, nested by what is done with their rows.
//!
//! Source: manual 8.8.2 "EXPLAIN Output Format", and MySQL 8.0.33's own output. Costs are the optimizer's
//! microseconds.

use std::collections::HashMap;

use functions::Expr;
use planner::logical::{CommonTableId, SetOperator};
use planner::plan::{
    Apply, ApplyKind, InsertMode, InsertSource, Join, JoinKind, LookupJoin, Plan, Rel, TableScan, Target,
    VirtualScan,
};

use super::expression::Scope;
use super::json_text::Json;
use super::names::{Names, of_columns};
use super::row::Row;
use crate::PlannedStatement;
use crate::limit::literal_count;
use crate::print;

/// The document.
pub fn json(planned: &PlannedStatement) -> String {
    let mut blocks = Blocks {
        planned,
        count: 0,
        outer: HashMap::new(),
        outer_texts: HashMap::new(),
        common_tables: HashMap::new(),
    };
    let block = match &planned.plan {
        Plan::Query(query) => blocks.block(&query.root),
        Plan::Insert(insert) => {
            let verb = if matches!(insert.mode, InsertMode::Replace) {
                "replace"
            } else {
                "insert"
            };
            let mut table = Json::object();
            table.put(verb, Json::Bool(true));
            table.put("table_name", Json::text(&insert.table.name));
            table.put("access_type", Json::text("ALL"));
            let mut block = Json::object();
            block.put("select_id", Json::number(1));
            block.put("table", table);
            if let InsertSource::Query(query) = &insert.source {
                blocks.count = 0;
                let from = blocks.block(&query.root);
                block.put("insert_from", from.without("select_id"));
            }
            let mut subqueries = Vec::new();
            for root in insert.row_queries() {
                blocks.count = blocks.count.max(1);
                blocks.subqueries(root, &mut subqueries);
            }
            if !subqueries.is_empty() {
                block.put("insert_update_subqueries", Json::Array(subqueries));
            }
            block
        }
        Plan::Update(update) => blocks.target("update", &update.target),
        Plan::Delete(delete) => blocks.target("delete", &delete.target),
        Plan::FoundWrite(write) => {
            let mut block = blocks.block(&write.root);
            block.put(
                if write.is_update { "update" } else { "delete" },
                Json::Bool(true),
            );
            block
        }
    };
    let mut document = Json::object();
    document.put("query_block", block);
    document.to_string()
}

struct Blocks<'a> {
    planned: &'a PlannedStatement,
    /// How many blocks there are so far.
    count: usize,
    /// Columns of rows around subqueries, by slot: for `ref`, and for conditions.
    outer: HashMap<usize, Option<String>>,
    outer_texts: HashMap<usize, String>,
    common_tables: HashMap<CommonTableId, Json>,
}

/// What an operator gives: its tables in the order of reading, rows and cost so far, and names of its
/// columns.
#[derive(Default)]
struct Tables {
    tables: Vec<Json>,
    rows: f64,
    cost: f64,
    texts: Vec<String>,
    message: Option<&'static str>,
}

impl Blocks<'_> {
    /// A query block.
    fn block(&mut self, rel: &Rel) -> Json {
        self.count += 1;
        let id = self.count;
        if let Rel::SetOperation { operator, all, .. } = rel.source()
            && rel
                .operators()
                .all(|rel| !matches!(rel, Rel::Aggregate { .. } | Rel::Window { .. }))
        {
            return self.set_operation(rel.source(), *operator, *all);
        }
        let mut operations: Vec<(&'static str, Vec<&'static str>)> = Vec::new();
        for rel in rel.operators() {
            match rel {
                Rel::Sort { .. } => operations.push(("ordering_operation", vec!["using_filesort"])),
                Rel::Aggregate { keys, .. } if !keys.is_empty() => {
                    operations.push(("grouping_operation", vec!["using_temporary_table"]));
                }
                Rel::Distinct { .. } => {
                    operations.push(("duplicates_removal", vec!["using_temporary_table"]))
                }
                Rel::Window { .. } => operations.push(("windowing", vec!["using_filesort"])),
                Rel::Limit { count, .. } if count.as_ref().and_then(literal_count) == Some(0) => {
                    return message(id, "Impossible WHERE");
                }
                _ => {}
            }
        }
        let found = self.tables(rel);
        let mut content = Json::object();
        let mut tables = found.tables;
        match (tables.len(), found.message) {
            (0, text) => return message(id, text.unwrap_or("No tables used")),
            (1, _) => content.put("table", tables.remove(0)),
            _ => {
                let each = |table| {
                    let mut one = Json::object();
                    one.put("table", table);
                    one
                };
                content.put("nested_loop", Json::Array(tables.into_iter().map(each).collect()));
            }
        }
        for (name, flags) in operations.into_iter().rev() {
            let mut operation = Json::object();
            for flag in flags {
                operation.put(flag, Json::Bool(true));
            }
            operation.append(content);
            content = Json::object();
            content.put(name, operation);
        }
        let mut block = Json::object();
        block.put("select_id", Json::number(id as u64));
        let mut cost = Json::object();
        cost.put("query_cost", Json::cost(found.cost));
        block.put("cost_info", cost);
        block.append(content);
        block
    }

    fn set_operation(&mut self, rel: &Rel, operator: SetOperator, all: bool) -> Json {
        self.count -= 1;
        let mut queries = Vec::new();
        let first = self.count + 1;
        self.operands(rel, operator, all, &mut queries);
        let ids: Vec<String> = (first..first + queries.len()).map(|id| id.to_string()).collect();
        let name = match operator {
            SetOperator::Union => "union",
            SetOperator::Intersect => "intersect",
            SetOperator::Except => "except",
        };
        let materializes = !all || operator != SetOperator::Union;
        let mut result = Json::object();
        result.put("using_temporary_table", Json::Bool(materializes));
        if materializes {
            result.put("table_name", Json::text(&format!("<{name}{}>", ids.join(","))));
            result.put("access_type", Json::text("ALL"));
        }
        result.put("query_specifications", Json::Array(queries));
        let mut block = Json::object();
        block.put(&format!("{name}_result"), result);
        block
    }

    fn operands(&mut self, rel: &Rel, operator: SetOperator, all: bool, queries: &mut Vec<Json>) {
        match rel {
            Rel::SetOperation {
                operator: below,
                all: below_all,
                left,
                right,
            } if *below == operator && *below_all == all => {
                self.operands(left, operator, all, queries);
                self.operands(right, operator, all, queries);
            }
            other => {
                let block = self.block(other);
                queries.push(subquery(false, block));
            }
        }
    }

    /// The tables of an operator, those of its inputs first.
    fn tables(&mut self, rel: &Rel) -> Tables {
        match rel {
            Rel::Scan(scan) => self.scan(scan),
            Rel::Virtual(scan) => virtual_table(scan),
            Rel::Filter { input, predicate } => {
                let mut found = self.tables(input);
                let text = self.text(predicate, &found.texts);
                if let Some(last) = found.tables.last_mut() {
                    last.put("attached_condition", Json::text(&text));
                }
                found
            }
            Rel::Project { input, exprs } => {
                let mut found = self.tables(input);
                found.texts = exprs.iter().map(|expr| self.text(expr, &found.texts)).collect();
                found
            }
            Rel::Join(join) => self.hash_join(join),
            Rel::LookupJoin(join) => self.lookup_join(join),
            Rel::Apply(apply) => self.apply(apply),
            Rel::With { id, definition, body } => {
                let block = self.block(definition);
                self.common_tables.insert(*id, block);
                self.tables(body)
            }
            Rel::CommonTable { id, columns, .. } => self.common_table(*id, columns.len()),
            Rel::Recursive { seed, step, .. } => {
                let mut found = self.tables(seed);
                let further = self.tables(step);
                found.tables.extend(further.tables);
                found
            }
            Rel::Values { columns, .. } => Tables {
                texts: print::numbered("column", columns.len()),
                rows: 1.0,
                ..Tables::default()
            },
            other => match other.input() {
                Some(input) => {
                    let mut found = self.tables(input);
                    let count = other.output_types().len();
                    found.texts.resize_with(count, || "?".to_owned());
                    found
                }
                None => Tables {
                    rows: 1.0,
                    texts: print::numbered("column", other.output_types().len()),
                    ..Tables::default()
                },
            },
        }
    }

    /// A join whose right side is read into memory.
    fn hash_join(&mut self, join: &Join) -> Tables {
        let mut left = self.side(&join.left);
        let right = self.side(&join.right);
        let texts: Vec<String> = left.texts.iter().chain(&right.texts).cloned().collect();
        let mut conditions: Vec<String> = join
            .keys
            .iter()
            .map(|key| {
                let sign = if key.null_safe { "<=>" } else { "=" };
                let (left, right) = (
                    self.text(&key.left, &left.texts),
                    self.text(&key.right, &right.texts),
                );
                format!("({right} {sign} {left})")
            })
            .collect();
        conditions.extend(join.residual.iter().map(|residual| self.text(residual, &texts)));
        left.cost += right.cost + right.rows * crate::cost::HASH_BUILD + left.rows * crate::cost::HASH_PROBE;
        left.rows = join.rows;
        for (at, mut table) in right.tables.into_iter().enumerate() {
            if at == 0 {
                table.put("using_join_buffer", Json::text("hash join"));
                mark_kind(&mut table, join.kind);
                if !conditions.is_empty() {
                    table.put("attached_condition", Json::text(&conjunction(&conditions)));
                }
                table.put_in("cost_info", "prefix_cost", Json::cost(left.cost));
            }
            left.tables.push(table);
        }
        left.texts = print::joined(join.kind, left.texts, texts, "<match>");
        left
    }

    fn common_table(&mut self, id: CommonTableId, columns: usize) -> Tables {
        let mut table = Json::object();
        table.put("table_name", Json::text(&format!("<cte{}>", id.0)));
        table.put("access_type", Json::text("ALL"));
        if let Some(block) = self.common_tables.remove(&id) {
            table.put("materialized_from_subquery", materialized(block));
        }
        Tables {
            tables: vec![table],
            rows: 1_000.0,
            texts: print::numbered("column", columns),
            ..Tables::default()
        }
    }

    /// What a join reads: a table, a join, or a derived table.
    fn side(&mut self, rel: &Rel) -> Tables {
        let is_derived = rel.operators().any(|rel| {
            matches!(
                rel,
                Rel::Sort { .. }
                    | Rel::Aggregate { .. }
                    | Rel::Distinct { .. }
                    | Rel::Window { .. }
                    | Rel::SetOperation { .. }
            )
        });
        if !is_derived {
            return self.tables(rel);
        }
        let block = self.block(rel);
        let mut table = Json::object();
        table.put("table_name", Json::text(&format!("<derived{}>", self.count)));
        table.put("access_type", Json::text("ALL"));
        table.put("materialized_from_subquery", materialized(block));
        Tables {
            tables: vec![table],
            rows: 10.0,
            texts: print::numbered("column", rel.output_types().len()),
            ..Tables::default()
        }
    }

    fn scan(&mut self, scan: &TableScan) -> Tables {
        let names = Names {
            columns: Vec::new(),
            outer: self.outer.clone(),
        };
        let mut row = Row::default();
        row.scan(scan, &names);
        let expected = scan.expected;
        let table = self.table(scan, row, expected.rows, expected.cost);
        Tables {
            tables: vec![table],
            rows: expected.rows,
            cost: expected.cost,
            texts: texts_of(scan),
            message: None,
        }
    }

    fn lookup_join(&mut self, join: &LookupJoin) -> Tables {
        let mut left = self.side(&join.left);
        let names = Names {
            columns: of_columns(&join.left),
            outer: self.outer.clone(),
        };
        let mut row = Row::default();
        row.lookup(&join.right, &names);
        left.cost += left.rows * join.right.expected.cost;
        left.rows = join.rows;
        let mut table = self.table(&join.right, row, left.rows, left.cost);
        let right = texts_of(&join.right);
        let texts: Vec<String> = left.texts.iter().chain(&right).cloned().collect();
        if let Some(residual) = &join.residual {
            let mut conditions = vec![self.text(residual, &texts)];
            conditions.extend(join.right.filter.as_ref().map(|filter| self.text(filter, &right)));
            table.put("attached_condition", Json::text(&conjunction(&conditions)));
        }
        mark_kind(&mut table, join.kind);
        left.tables.push(table);
        left.texts = print::joined(join.kind, left.texts, texts, "<match>");
        left
    }

    /// `produced`: rows of the join up to here; `cost`: of it.
    fn table(&self, scan: &TableScan, row: Row, produced: f64, cost: f64) -> Json {
        let mut table = Json::object();
        table.put("table_name", Json::text(&scan.alias));
        if let Some(partitions) = &row.partitions {
            table.put("partitions", Json::texts(partitions.split(',')));
        }
        if let Some(how) = row.how {
            table.put("access_type", Json::text(how));
        }
        let keys = &self.planned.possible_keys;
        if let Some((_, keys)) = keys.iter().find(|(alias, _)| *alias == scan.alias)
            && !keys.is_empty()
        {
            table.put("possible_keys", Json::texts(keys.iter().map(String::as_str)));
        }
        if let Some(key) = &row.key {
            table.put("key", Json::text(key));
            table.put(
                "used_key_parts",
                Json::texts(row.key_parts.iter().map(String::as_str)),
            );
        }
        if let Some(length) = row.key_len {
            table.put("key_length", Json::text(&length.to_string()));
        }
        if let Some(reference) = &row.reference {
            table.put("ref", Json::texts(reference.split(',')));
        }
        table.put("rows_examined_per_scan", Json::number(row.rows.unwrap_or(1)));
        table.put(
            "rows_produced_per_join",
            Json::number(produced.round().max(0.0) as u64),
        );
        table.put(
            "filtered",
            Json::text(&format!("{:.2}", row.filtered.unwrap_or(100.0))),
        );
        if let Some(index) = &row.checked_index {
            table.put("range_checked_for_each_record", Json::text(index));
        }
        if row.has("Using index") {
            table.put("using_index", Json::Bool(true));
        }
        if row.has("Backward index scan") {
            table.put("backward_index_scan", Json::Bool(true));
        }
        let mut costs = Json::object();
        costs.put("read_cost", Json::cost(scan.expected.cost));
        costs.put("prefix_cost", Json::cost(cost));
        table.put("cost_info", costs);
        let used = scan
            .columns
            .iter()
            .filter_map(|&offset| scan.table.columns.get(offset));
        table.put(
            "used_columns",
            Json::texts(used.map(|column| column.name.as_str())),
        );
        if let Some(filter) = &scan.filter {
            table.put(
                "attached_condition",
                Json::text(&self.text(filter, &texts_of(scan))),
            );
        }
        table
    }

    /// The subqueries of a statement's assignments, whose row is no table.
    fn subqueries(&mut self, rel: &Rel, out: &mut Vec<Json>) {
        match rel {
            Rel::Apply(apply) => {
                self.subqueries(&apply.input, out);
                self.take_outer(apply, &[]);
                let block = self.block(&apply.subquery);
                out.push(subquery(!apply.outer.is_empty(), block));
            }
            Rel::Join(join) => {
                self.subqueries(&join.left, out);
                let block = self.block(&join.right);
                out.push(subquery(false, block));
            }
            other => {
                if let Some(input) = other.input() {
                    self.subqueries(input, out);
                }
            }
        }
    }

    fn take_outer(&mut self, apply: &Apply, texts: &[String]) {
        let names = of_columns(&apply.input);
        for outer in &apply.outer {
            self.outer
                .insert(outer.slot, names.get(outer.position).cloned().flatten());
            let text = texts.get(outer.position).cloned().unwrap_or_default();
            self.outer_texts.insert(outer.slot, text);
        }
    }

    fn apply(&mut self, apply: &Apply) -> Tables {
        let mut found = self.tables(&apply.input);
        self.take_outer(apply, &found.texts);
        let is_dependent = !apply.outer.is_empty();
        let block = self.block(&apply.subquery);
        let id = self.count;
        if let ApplyKind::Lateral { .. } = apply.kind {
            let mut table = Json::object();
            table.put("table_name", Json::text(&format!("<derived{id}>")));
            table.put("access_type", Json::text("ALL"));
            table.put("materialized_from_subquery", materialized(block));
            found.tables.push(table);
            found
                .texts
                .extend(print::numbered("column", apply.subquery.output_types().len()));
            return found;
        }
        let one = subquery(is_dependent, block);
        match found.tables.last_mut() {
            Some(last) => last.push_to("attached_subqueries", one),
            None => found.message = Some("No tables used"),
        }
        let width = match apply.kind {
            ApplyKind::Scalar => apply.subquery.output_types().len(),
            _ => 1,
        };
        found
            .texts
            .extend(std::iter::repeat_n(format!("(/* select#{id} */)"), width));
        found
    }

    fn target(&mut self, verb: &str, target: &Target) -> Json {
        let found = self.scan(&target.scan);
        let mut table = Json::object();
        table.put(verb, Json::Bool(true));
        if let Some(of_scan) = found.tables.into_iter().next() {
            table.append(of_scan);
        }
        let mut block = Json::object();
        block.put("select_id", Json::number(1));
        if target.order_by.is_empty() {
            block.put("table", table);
        } else {
            let mut operation = Json::object();
            operation.put("using_filesort", Json::Bool(true));
            operation.put("table", table);
            block.put("ordering_operation", operation);
        }
        block
    }

    fn text(&self, expr: &Expr, names: &[String]) -> String {
        let outer = |slot: usize| {
            self.outer_texts
                .get(&slot)
                .cloned()
                .unwrap_or_else(|| "?".to_owned())
        };
        let scope = Scope {
            columns: names,
            outer: &outer,
        };
        scope.expr(expr)
    }
}

fn message(id: usize, text: &str) -> Json {
    let mut block = Json::object();
    block.put("select_id", Json::number(id as u64));
    block.put("message", Json::text(text));
    block
}

fn subquery(dependent: bool, block: Json) -> Json {
    let mut one = Json::object();
    one.put("dependent", Json::Bool(dependent));
    one.put("cacheable", Json::Bool(!dependent));
    one.put("query_block", block);
    one
}

fn materialized(block: Json) -> Json {
    let mut one = Json::object();
    one.put("using_temporary_table", Json::Bool(true));
    one.append(subquery(false, block));
    one
}

fn virtual_table(scan: &VirtualScan) -> Tables {
    let mut table = Json::object();
    table.put("table_name", Json::text(&scan.table.name));
    table.put("access_type", Json::text("ALL"));
    let texts = scan
        .table
        .columns
        .iter()
        .map(|column| format!("`{}`", column.name));
    Tables {
        tables: vec![table],
        rows: 100.0,
        cost: 1_000.0,
        texts: texts.collect(),
        message: None,
    }
}

/// A table that is not read for pairs.
fn mark_kind(table: &mut Json, kind: JoinKind) {
    match kind {
        JoinKind::Semi | JoinKind::Mark => table.put("first_match", Json::Bool(true)),
        JoinKind::Anti => table.put("not_exists", Json::Bool(true)),
        JoinKind::Inner | JoinKind::Left => {}
    }
}

fn conjunction(conditions: &[String]) -> String {
    match conditions {
        [one] => one.clone(),
        several => format!("({})", several.join(" and ")),
    }
}

/// Columns as conditions name them.
fn texts_of(scan: &TableScan) -> Vec<String> {
    let text = |&offset: &usize| match scan.table.columns.get(offset) {
        Some(column) => format!("`{}`.`{}`.`{}`", scan.table.database, scan.alias, column.name),
        None => "<row key>".to_owned(),
    };
    scan.columns.iter().map(text).collect()
}
