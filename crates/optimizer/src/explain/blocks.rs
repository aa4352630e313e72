//! The query blocks of a plan: each is a SELECT with an id, and has a row for each of its tables.
//!
//! A plan does not say where its operators were written. What a join reads that is grouped, ordered or cut by
//! itself was a derived table.

use std::collections::HashMap;

use planner::logical::{CommonTableId, SetOperator};
use planner::plan::{Apply, ApplyKind, QueryPlan, Rel, Route};

use super::names::{Names, of_columns};
use super::row::Row;
use crate::limit::literal_count;

pub struct Blocks<'a> {
    /// By alias: the indexes that could have served.
    possible_keys: &'a [(String, Vec<String>)],
    /// What is written.
    written: Option<Row>,
    /// The rows of block `n + 1`.
    blocks: Vec<(&'static str, Vec<Row>)>,
    common_tables: HashMap<CommonTableId, usize>,
    outer: HashMap<usize, Option<String>>,
}

impl<'a> Blocks<'a> {
    pub fn new(possible_keys: &'a [(String, Vec<String>)]) -> Self {
        Self {
            possible_keys,
            written: None,
            blocks: Vec::new(),
            common_tables: HashMap::new(),
            outer: HashMap::new(),
        }
    }

    pub fn write(&mut self, row: Row) {
        self.written = Some(row);
    }

    pub fn query(&mut self, query: &QueryPlan) {
        let first = self.block("PRIMARY", &query.root);
        if query.route == Route::Analytical
            && let Some((_, rows)) = self.blocks.get_mut(first - 1)
            && let Some(row) = rows.first_mut()
        {
            row.extra.push("Analytical executor".into());
        }
    }

    /// Rows that are found first and written then.
    pub fn found_write(&mut self, name: &'static str, root: &Rel) {
        self.block(name, root);
    }

    pub fn into_rows(mut self) -> Vec<Row> {
        if let [(name @ "PRIMARY", _)] = self.blocks.as_mut_slice() {
            *name = "SIMPLE";
        }
        let mut all: Vec<Row> = Vec::new();
        all.extend(self.written.map(|row| Row { id: Some(1), ..row }));
        for (position, (name, rows)) in self.blocks.into_iter().enumerate() {
            all.extend(rows.into_iter().map(|row| Row {
                id: Some(position as u64 + 1),
                select_type: name,
                ..row
            }));
        }
        for row in &mut all {
            let keys = self
                .possible_keys
                .iter()
                .find(|(alias, _)| Some(alias) == row.table.as_ref());
            row.possible_keys = keys
                .map(|(_, keys)| keys.join(","))
                .filter(|keys| !keys.is_empty());
        }
        all
    }

    /// Adds a block. Returns its id.
    fn block(&mut self, name: &'static str, rel: &Rel) -> usize {
        self.blocks.push((name, Vec::new()));
        let id = self.blocks.len();
        self.operators(rel, id);
        id
    }

    fn add(&mut self, id: usize, row: Row) {
        if let Some((_, rows)) = self.blocks.get_mut(id - 1) {
            rows.push(row);
        }
    }

    fn count(&self, id: usize) -> usize {
        self.blocks.get(id - 1).map_or(0, |(_, rows)| rows.len())
    }

    fn row(&mut self, id: usize, position: usize) -> Option<&mut Row> {
        self.blocks.get_mut(id - 1)?.1.get_mut(position)
    }

    /// The operators of a block down to its tables.
    fn operators(&mut self, rel: &Rel, id: usize) {
        let first = self.count(id);
        let (mut temporary, mut sorts, mut impossible, mut filtered) = (false, false, false, false);
        let mut pushed = false;
        let mut source = rel;
        while let Some(input) = source.input() {
            match source {
                Rel::Sort { .. } => sorts = true,
                Rel::Aggregate { keys, .. } => temporary |= !keys.is_empty(),
                Rel::Distinct { .. } => temporary = true,
                Rel::Window { .. } => sorts = true,
                Rel::Filter { .. } => filtered = true,
                Rel::Pushed { .. } => pushed = true,
                Rel::Limit { count, .. } => impossible |= count.as_ref().and_then(literal_count) == Some(0),
                _ => {}
            }
            source = input;
        }
        if impossible && matches!(source, Rel::Scan(_)) {
            self.add(id, remark("Impossible WHERE"));
            return;
        }
        if let Rel::SetOperation { .. } = source {
            self.set_operation(source, id, sorts);
            return;
        }
        self.source(source, id);
        if let Some(row) = self.row(id, first).filter(|row| row.table.is_some()) {
            let extras = [
                (
                    filtered && row.filtered.is_some() && !row.has("Using where"),
                    "Using where",
                ),
                (pushed, "cop[tikv]"),
                (temporary, "Using temporary"),
                (sorts, "Using filesort"),
            ];
            let extras = extras.into_iter().filter(|(holds, _)| *holds);
            row.extra.extend(extras.map(|(_, extra)| extra.into()));
        }
    }

    fn source(&mut self, rel: &Rel, id: usize) {
        match rel {
            Rel::Scan(scan) => {
                let mut row = Row::default();
                row.scan(scan, &self.names(Vec::new()));
                self.add(id, row);
            }
            Rel::JsonTable(scan) => self.add(
                id,
                Row {
                    table: Some(scan.alias.clone()),
                    how: Some("ALL"),
                    extra: vec!["Table function: json_table".into(), "Using temporary".into()],
                    ..Row::default()
                },
            ),
            Rel::Virtual(scan) => self.add(
                id,
                Row {
                    table: Some(scan.table.name.clone()),
                    how: Some("ALL"),
                    extra: vec!["Made by the server".into()],
                    ..Row::default()
                },
            ),
            Rel::Join(join) => {
                self.side(&join.left, id);
                let right = self.count(id);
                self.side(&join.right, id);
                if let Some(row) = self.row(id, right) {
                    row.extra.push("Using join buffer (hash join)".into());
                }
            }
            Rel::LookupJoin(join) => {
                self.side(&join.left, id);
                let mut row = Row::default();
                row.lookup(&join.right, &self.names(of_columns(&join.left)));
                self.add(id, row);
            }
            Rel::Apply(apply) => self.apply(apply, id),
            Rel::SetOperation { .. } => self.set_operation(rel, id, false),
            Rel::With {
                id: table,
                definition,
                body,
            } => {
                // The uses in the body name the block of the definition.
                let defined = self.derived(definition);
                self.common_tables.insert(*table, defined);
                self.side(body, id);
            }
            Rel::CommonTable { id: table, .. } => {
                let defined = self.common_tables.get(table).copied();
                self.add(id, derived_table(defined));
            }
            Rel::Recursive { seed, step, .. } => {
                self.side(seed, id);
                self.block("UNION", step);
            }
            _ => self.add(id, remark("No tables used")),
        }
    }

    /// What a join reads: a table, a join, or a derived table.
    fn side(&mut self, rel: &Rel, id: usize) {
        let mut source = rel;
        let mut is_derived = false;
        while let Some(input) = source.input() {
            is_derived |= !matches!(source, Rel::Filter { .. } | Rel::Project { .. })
                && !matches!(source, Rel::Limit { .. } if matches!(input, Rel::Scan(_)));
            source = input;
        }
        if is_derived || matches!(source, Rel::SetOperation { .. } | Rel::With { .. }) {
            let derived = self.derived(rel);
            self.add(id, derived_table(Some(derived)));
        } else {
            self.operators(rel, id);
        }
    }

    fn derived(&mut self, rel: &Rel) -> usize {
        self.block("DERIVED", rel)
    }

    /// The subqueries of a statement's assignments, whose row is no table.
    pub fn subqueries(&mut self, rel: &Rel) {
        if self.blocks.is_empty() {
            self.blocks.push(("PRIMARY", Vec::new()));
        }
        match rel {
            Rel::Apply(apply) => {
                self.subqueries(&apply.input);
                self.subquery(apply, 1);
            }
            Rel::Join(join) => {
                self.subqueries(&join.left);
                self.block("SUBQUERY", &join.right);
            }
            other => other.input().into_iter().for_each(|input| self.subqueries(input)),
        }
    }

    fn apply(&mut self, apply: &Apply, id: usize) {
        self.side(&apply.input, id);
        self.subquery(apply, id);
    }

    fn subquery(&mut self, apply: &Apply, id: usize) {
        let names = of_columns(&apply.input);
        for outer in &apply.outer {
            self.outer
                .insert(outer.slot, names.get(outer.position).cloned().flatten());
        }
        let is_dependent = !apply.outer.is_empty();
        if let ApplyKind::Lateral { .. } = apply.kind {
            let name = if is_dependent {
                "DEPENDENT DERIVED"
            } else {
                "DERIVED"
            };
            let derived = self.block(name, &apply.subquery);
            self.add(id, derived_table(Some(derived)));
        } else {
            self.block(
                if is_dependent {
                    "DEPENDENT SUBQUERY"
                } else {
                    "SUBQUERY"
                },
                &apply.subquery,
            );
        }
    }

    /// The queries of an operation, and its result, which is a block as well: rows that are distinct or sorted.
    fn set_operation(&mut self, rel: &Rel, id: usize, sorts: bool) {
        let Rel::SetOperation { operator, all, .. } = rel else {
            return;
        };
        let mut ids = Vec::new();
        self.operands(rel, *operator, *all, id, true, &mut ids);
        if sorts || !*all || *operator != SetOperator::Union {
            let (name, mut row) = result_of(*operator, &ids);
            row.extra.extend(sorts.then(|| "Using filesort".into()));
            self.blocks.push((name, vec![row]));
        }
    }

    /// The queries of one operation, from left to right.
    fn operands(
        &mut self,
        rel: &Rel,
        operator: SetOperator,
        all: bool,
        id: usize,
        is_first: bool,
        ids: &mut Vec<usize>,
    ) {
        match rel {
            Rel::SetOperation {
                operator: below,
                all: below_all,
                left,
                right,
            } if *below == operator && *below_all == all => {
                self.operands(left, operator, all, id, is_first, ids);
                self.operands(right, operator, all, id, false, ids);
            }
            first if is_first => {
                self.operators(first, id);
                ids.push(id);
            }
            further => {
                let name = match operator {
                    SetOperator::Union => "UNION",
                    SetOperator::Intersect => "INTERSECT",
                    SetOperator::Except => "EXCEPT",
                };
                ids.push(self.block(name, further));
            }
        }
    }

    fn names(&self, columns: Vec<Option<String>>) -> Names {
        Names {
            columns,
            outer: self.outer.clone(),
        }
    }
}

fn remark(extra: &'static str) -> Row {
    Row {
        extra: vec![extra.into()],
        ..Row::default()
    }
}

fn derived_table(id: Option<usize>) -> Row {
    Row {
        // Within its own definition it has no id yet.
        table: Some(id.map_or_else(|| "<derived>".to_owned(), |id| format!("<derived{id}>"))),
        how: Some("ALL"),
        filtered: Some(100.0),
        ..Row::default()
    }
}

fn result_of(operator: SetOperator, ids: &[usize]) -> (&'static str, Row) {
    let (select_type, name) = match operator {
        SetOperator::Union => ("UNION RESULT", "union"),
        SetOperator::Intersect => ("INTERSECT RESULT", "intersect"),
        SetOperator::Except => ("EXCEPT RESULT", "except"),
    };
    let ids: Vec<String> = ids.iter().map(usize::to_string).collect();
    let row = Row {
        table: Some(format!("<{name}{}>", ids.join(","))),
        how: Some("ALL"),
        extra: vec!["Using temporary".into()],
        ..Row::default()
    };
    (select_type, row)
}
