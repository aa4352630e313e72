//! Plans as indented text: what golden tests compare.

use functions::Expr;
use schema::model::Table;

use crate::print;
use planner::plan::{
    Access, Assignment, InsertMode, InsertPlan, InsertSource, LockingWait, Plan, QueryPlan, Range,
    RangeBound, RangeBoundValue, RangeValue, Rel, Route, RowUpdate, SortKey, TableScan, Target,
};

/// A plan, one operator a line, inputs below and indented.
pub fn plan(plan: &Plan) -> String {
    let mut dump = Dump::default();
    match plan {
        Plan::Query(query) => dump.query(query),
        Plan::Insert(insert) => dump.insert(insert),
        Plan::Update(update) => {
            let names = column_names(&update.target.scan.table);
            let ignore = if update.ignore { " ignore" } else { "" };
            let sets = assignments(&update.assignments, &names, &names);
            dump.line(format!(
                "Update{ignore} {}: {sets}",
                update.target.scan.table.name
            ));
            dump.target(&update.target);
        }
        Plan::FoundWrite(write) => {
            let verb = if write.is_update { "Update" } else { "Delete" };
            let names: Vec<&str> = write.tables.iter().map(|t| t.table.name.as_str()).collect();
            dump.line(format!("{verb} found rows of {}", names.join(", ")));
            dump.depth += 1;
            dump.rel(&write.root);
            dump.depth -= 1;
        }
        Plan::Delete(delete) => {
            let ignore = if delete.ignore { " ignore" } else { "" };
            dump.line(format!("Delete{ignore} from {}", delete.target.scan.table.name));
            dump.target(&delete.target);
        }
    }
    dump.text
}

mod several;

#[derive(Default)]
struct Dump {
    text: String,
    depth: usize,
}

impl Dump {
    fn line(&mut self, line: impl AsRef<str>) {
        self.text += &"  ".repeat(self.depth);
        self.text += line.as_ref();
        self.text.push('\n');
    }

    fn query(&mut self, query: &QueryPlan) {
        let route = match query.route {
            Route::Transactional => "transactional",
            Route::Analytical => "analytical",
        };
        let mut line = format!("Query ({route})");
        if let Some(locking) = &query.locking {
            line += if locking.exclusive {
                " for update"
            } else {
                " for share"
            };
            line += match locking.wait {
                LockingWait::Wait => "",
                LockingWait::NoWait => " nowait",
                LockingWait::SkipLocked => " skip locked",
            };
        }
        let names: Vec<&str> = query.columns.iter().map(|column| column.name.as_str()).collect();
        line += &format!(": {}", names.join(", "));
        self.line(line);
        self.depth += 1;
        self.rel(&query.root);
        self.depth -= 1;
    }

    /// Writes an operator and those below it. Returns the names of its output columns.
    fn rel(&mut self, rel: &Rel) -> Vec<String> {
        match rel {
            Rel::OneRow => {
                self.line("OneRow");
                Vec::new()
            }
            Rel::Scan(scan) => self.scan(scan, &[]),
            Rel::Measured { input, .. } => self.rel(input),
            Rel::Pushed { input } => self.above(input, |names| ("Pushed".to_owned(), names.to_vec())),
            Rel::Virtual(scan) => {
                self.line(format!("Virtual {}.{}", scan.database, scan.table.name));
                column_names(&scan.table)
            }
            Rel::Filter { input, predicate } => self.above(input, |names| {
                (
                    format!("Filter {}", print::expr(predicate, names)),
                    names.to_vec(),
                )
            }),
            Rel::Project { input, exprs } => self.above(input, |names| {
                let line = format!("Project {}", print::list(exprs, names, ", "));
                (line, exprs.iter().map(|e| print::expr(e, names)).collect())
            }),
            Rel::Aggregate {
                input,
                keys,
                aggregates,
            } => self.above(input, |names| {
                let mut out: Vec<String> = keys.iter().map(|key| print::expr(key, names)).collect();
                let calls: Vec<String> = aggregates
                    .iter()
                    .map(|call| print::aggregate(call, names))
                    .collect();
                let line = format!("Aggregate by ({}): {}", out.join(", "), calls.join(", "));
                out.extend(calls);
                (line, out)
            }),
            Rel::Sort { input, keys, limit } => self.above(input, |names| {
                let limit = limit
                    .as_ref()
                    .map_or(String::new(), |l| format!(", first {}", print::expr(l, names)));
                (
                    format!("Sort by {}{limit}", sort_keys(keys, names)),
                    names.to_vec(),
                )
            }),
            Rel::Limit { input, offset, count } => self.above(input, |names| {
                let mut line = "Limit".to_owned();
                if let Some(count) = count {
                    line += &format!(" {}", print::expr(count, names));
                }
                if let Some(offset) = offset {
                    line += &format!(" offset {}", print::expr(offset, names));
                }
                (line, names.to_vec())
            }),
            Rel::Repeat { input, times } => self.above(input, |names| {
                let copy = std::iter::once("copy".to_owned());
                (
                    format!("Repeat {times}"),
                    copy.chain(names.iter().cloned()).collect(),
                )
            }),
            Rel::Distinct { input } => self.above(input, |names| ("Distinct".to_owned(), names.to_vec())),
            Rel::Values { .. }
            | Rel::JsonTable(_)
            | Rel::Join(_)
            | Rel::LookupJoin(_)
            | Rel::Apply(_)
            | Rel::Window { .. }
            | Rel::SetOperation { .. }
            | Rel::With { .. }
            | Rel::Recursive { .. }
            | Rel::CommonTable { .. } => self.several(rel),
        }
    }

    /// An operator above its input: the line depends on the input's names, and stands before it.
    fn above(
        &mut self,
        input: &Rel,
        describe: impl FnOnce(&[String]) -> (String, Vec<String>),
    ) -> Vec<String> {
        let mut below = Dump {
            text: String::new(),
            depth: self.depth + 1,
        };
        let names = below.rel(input);
        let (line, out) = describe(&names);
        self.line(line);
        self.text += &below.text;
        out
    }

    /// `outer`: the columns that the keys of a lookup are made of.
    fn scan(&mut self, scan: &TableScan, outer: &[String]) -> Vec<String> {
        let table = &scan.table;
        let names: Vec<String> = scan
            .columns
            .iter()
            .map(|&c| table.columns[c].name.clone())
            .collect();
        let alias = if scan.alias == table.name {
            String::new()
        } else {
            format!(" as {}", scan.alias)
        };
        self.line(format!("Scan {}{alias} [{}]", table.name, names.join(", ")));
        self.depth += 1;
        self.line(access(&scan.access, table, outer));
        if let Some(filter) = &scan.filter {
            self.line(format!("filter {}", print::expr(filter, &names)));
        }
        if let Some(as_of) = &scan.as_of {
            self.line(format!("as of {}", print::expr(as_of, &[])));
        }
        self.depth -= 1;
        names
    }

    fn insert(&mut self, insert: &InsertPlan) {
        let names = column_names(&insert.table);
        let columns: Vec<&str> = insert.columns.iter().map(|&c| names[c].as_str()).collect();
        let verb = match insert.mode {
            InsertMode::Replace => "Replace",
            _ if insert.ignore => "Insert ignore",
            _ => "Insert",
        };
        self.line(format!(
            "{verb} into {} ({})",
            insert.table.name,
            columns.join(", ")
        ));
        self.depth += 1;
        match &insert.source {
            InsertSource::Values(rows) => {
                for row in rows {
                    let values: Vec<String> = row
                        .iter()
                        .map(|value| value_text(value.as_ref(), &names))
                        .collect();
                    self.line(format!("values ({})", values.join(", ")));
                }
            }
            InsertSource::Literals(values) => self.line(format!("{} rows of literals", values.rows.len())),
            InsertSource::Query(query) => self.query(query),
            InsertSource::File(_) => self.line("rows of a file"),
        }
        if let InsertMode::Update(update) = &insert.mode {
            self.row_update(update, &names, insert);
        }
        self.depth -= 1;
    }

    fn row_update(&mut self, update: &RowUpdate, names: &[String], insert: &InsertPlan) {
        let offered = names.iter().map(|name| format!("new.{name}"));
        let mut row: Vec<String> = names.iter().cloned().chain(offered).collect();
        if let InsertSource::Query(query) = &insert.source {
            let further = query.columns.len().saturating_sub(insert.columns.len());
            row.extend(print::numbered("further", further));
        }
        let subqueries = update.subqueries.iter();
        let width = subqueries
            .map(|subqueries| subqueries.query.root.output_types().len())
            .sum();
        row.extend(print::numbered("subquery", width));
        self.line(format!(
            "on duplicate key update {}",
            assignments(&update.assignments, names, &row)
        ));
        self.depth += 1;
        for subqueries in &update.subqueries {
            let taken = subqueries.query.outer.iter();
            let taken: Vec<String> = taken
                .map(|outer| format!("outer{} = {}", outer.slot, row[outer.position]))
                .collect();
            self.line(format!(
                "subqueries of assignment {} ({})",
                subqueries.assignment,
                taken.join(", ")
            ));
            self.depth += 1;
            self.rel(&subqueries.query.root);
            self.depth -= 1;
        }
        self.depth -= 1;
    }

    fn target(&mut self, target: &Target) {
        self.depth += 1;
        let names = column_names(&target.scan.table);
        if let Some(limit) = &target.limit {
            self.line(format!("limit {}", print::expr(limit, &names)));
        }
        if !target.order_by.is_empty() {
            self.line(format!("order by {}", sort_keys(&target.order_by, &names)));
        }
        self.line(access(&target.scan.access, &target.scan.table, &[]));
        if let Some(filter) = &target.scan.filter {
            self.line(format!("filter {}", print::expr(filter, &names)));
        }
        self.depth -= 1;
    }
}

fn column_names(table: &Table) -> Vec<String> {
    table.columns.iter().map(|column| column.name.clone()).collect()
}

fn value_text(value: Option<&Expr>, names: &[String]) -> String {
    value.map_or_else(|| "default".to_owned(), |value| print::expr(value, names))
}

fn assignments(list: &[Assignment], targets: &[String], names: &[String]) -> String {
    let one = |a: &Assignment| format!("{} = {}", targets[a.column], value_text(a.value.as_ref(), names));
    list.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn sort_keys(keys: &[SortKey], names: &[String]) -> String {
    let one = |key: &SortKey| {
        let direction = if key.descending { " desc" } else { "" };
        format!("{}{direction}", print::expr(&key.expr, names))
    };
    keys.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// How a table is read, in a line.
fn access(access: &Access, table: &Table, names: &[String]) -> String {
    let direction = |reverse: bool| if reverse { ", backwards" } else { "" };
    match access {
        Access::Full { reverse } => format!("all rows{}", direction(*reverse)),
        Access::PrimaryPoints { keys } => format!("primary points {}", key_list(keys, names)),
        Access::UniquePoints { index, keys } => {
            format!(
                "unique points of {} {}",
                table.indexes[*index].name,
                key_list(keys, names)
            )
        }
        Access::PrimaryRanges { ranges, reverse } => {
            format!(
                "primary ranges {}{}",
                range_list(ranges, names),
                direction(*reverse)
            )
        }
        Access::IndexRanges {
            index,
            ranges,
            reverse,
            covering,
        } => {
            let covering = if *covering { ", covering" } else { "" };
            let name = &table.indexes[*index].name;
            format!(
                "index ranges of {name} {}{covering}{}",
                range_list(ranges, names),
                direction(*reverse)
            )
        }
        Access::GroupEnds {
            index,
            ranges,
            parts,
            first,
            last,
        } => {
            let name = index.map_or("primary", |index| table.indexes[index].name.as_str());
            let ends = match (first, last) {
                (true, true) => "first and last",
                (true, false) => "first",
                _ => "last",
            };
            format!(
                "{ends} of each {parts} parts of {name} {}",
                range_list(ranges, names)
            )
        }
        Access::Union { parts } => {
            let parts: Vec<String> = parts
                .iter()
                .map(|part| self::access(part, table, names))
                .collect();
            format!("union of {}", parts.join("; "))
        }
    }
}

/// Keys or ranges beyond this are counted only.
const SHOWN_MAX: usize = 8;

fn shown(count: usize, text: impl Fn(usize) -> String) -> String {
    let mut texts: Vec<String> = (0..count.min(SHOWN_MAX)).map(text).collect();
    if count > SHOWN_MAX {
        texts.push(format!("... {} more", count - SHOWN_MAX));
    }
    texts.join(" ")
}

fn key_list(keys: &[Vec<Expr>], names: &[String]) -> String {
    shown(keys.len(), |i| {
        format!("({})", print::list(&keys[i], names, ", "))
    })
}

fn range_list(ranges: &[Range], names: &[String]) -> String {
    shown(ranges.len(), |i| range(&ranges[i], names))
}

fn range(range: &Range, names: &[String]) -> String {
    let value = |value: &RangeValue| match value {
        RangeValue::Equal(expr) => print::expr(expr, names),
        RangeValue::NullSafe(expr) => format!("<=>{}", print::expr(expr, names)),
        RangeValue::IsNull => "NULL".to_owned(),
        RangeValue::Words(keys, _) => format!("any of {}", print::expr(keys, names)),
    };
    let mut parts: Vec<String> = range.prefix.iter().map(value).collect();
    let end = |bound: &RangeBound, sign: &str| {
        let value = match &bound.value {
            RangeBoundValue::Value(expr) => print::expr(expr, names),
            RangeBoundValue::Null => "NULL".to_owned(),
        };
        format!("{sign}{} {value}", if bound.inclusive { "=" } else { "" })
    };
    parts.extend(range.lower.as_ref().map(|bound| end(bound, ">")));
    parts.extend(range.upper.as_ref().map(|bound| end(bound, "<")));
    format!("[{}]", parts.join(", "))
}
