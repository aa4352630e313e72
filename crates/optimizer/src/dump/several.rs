//! Operators that have several inputs or none, and windows.

use planner::logical::SetOperator;
use planner::plan::{Apply, ApplyKind, Join, JoinKey, JoinKind, LookupJoin, Rel};

use super::{Dump, sort_keys};
use crate::print;

impl Dump {
    pub(super) fn several(&mut self, rel: &Rel) -> Vec<String> {
        match rel {
            Rel::Values { columns, rows } => {
                let rows: Vec<String> = rows
                    .iter()
                    .map(|row| format!("({})", print::list(row, &[], ", ")))
                    .collect();
                self.line(format!("Values {}", rows.join(" ")));
                print::numbered("column", columns.len())
            }
            Rel::JsonTable(scan) => {
                self.line(format!(
                    "JsonTable {}: {}",
                    scan.alias,
                    print::expr(&scan.document, &[])
                ));
                print::numbered("column", scan.table.types().len())
            }
            Rel::Join(join) => self.join(join),
            Rel::LookupJoin(join) => self.lookup_join(join),
            Rel::Apply(apply) => self.apply(apply),
            Rel::Window {
                input,
                partition_by,
                order_by,
                frame,
                calls,
            } => self.above(input, |names| {
                let calls: Vec<String> = calls.iter().map(|call| print::window(call, names)).collect();
                let line = format!(
                    "Window partition by ({}) order by ({}) {}: {}",
                    print::list(partition_by, names, ", "),
                    sort_keys(order_by, names),
                    print::frame(frame, names),
                    calls.join(", ")
                );
                (line, names.iter().cloned().chain(calls).collect())
            }),
            Rel::SetOperation {
                operator,
                all,
                left,
                right,
            } => {
                let name = match operator {
                    SetOperator::Union => "Union",
                    SetOperator::Intersect => "Intersect",
                    SetOperator::Except => "Except",
                };
                self.line(format!("{name}{}", if *all { " all" } else { "" }));
                let names = self.below(left);
                self.below(right);
                names
            }
            Rel::With { id, definition, body } => {
                self.line(format!("With {}", id.0));
                self.below(definition);
                self.below(body)
            }
            Rel::Recursive {
                seed, step, distinct, ..
            } => {
                self.line(if *distinct {
                    "Recursive distinct"
                } else {
                    "Recursive"
                });
                let names = self.below(seed);
                self.below(step);
                names
            }
            Rel::CommonTable {
                id,
                columns,
                recursive,
            } => {
                let round = if *recursive { ", last round" } else { "" };
                self.line(format!("Common table {}{round}", id.0));
                print::numbered("column", columns.len())
            }
            _ => Vec::new(),
        }
    }

    fn below(&mut self, rel: &Rel) -> Vec<String> {
        self.depth += 1;
        let names = self.rel(rel);
        self.depth -= 1;
        names
    }

    fn join(&mut self, join: &Join) -> Vec<String> {
        let (mut left, mut right) = (self.deeper(), self.deeper());
        let (left_names, right_names) = (left.rel(&join.left), right.rel(&join.right));
        let both: Vec<String> = left_names.iter().chain(&right_names).cloned().collect();
        let key = |key: &JoinKey| {
            let sign = if key.null_safe { "<=>" } else { "=" };
            let (left, right) = (
                print::expr(&key.left, &left_names),
                print::expr(&key.right, &right_names),
            );
            format!("{left} {sign} {right}")
        };
        let keys: Vec<String> = join.keys.iter().map(key).collect();
        let mut line = format!("Join {}", kind_name(join.kind));
        if !keys.is_empty() {
            line += &format!(" by {}", keys.join(", "));
        }
        if let Some(residual) = &join.residual {
            line += &format!(" if {}", print::expr(residual, &both));
        }
        self.line(line);
        self.text += &left.text;
        self.text += &right.text;
        print::joined(join.kind, left_names, both, "mark")
    }

    fn lookup_join(&mut self, join: &LookupJoin) -> Vec<String> {
        let (mut left, mut right) = (self.deeper(), self.deeper());
        let left_names = left.rel(&join.left);
        let right_names = right.scan(&join.right, &left_names);
        let both: Vec<String> = left_names.iter().chain(&right_names).cloned().collect();
        let mut line = format!("Lookup join {}", kind_name(join.kind));
        if let Some(residual) = &join.residual {
            line += &format!(" if {}", print::expr(residual, &both));
        }
        self.line(line);
        self.text += &left.text;
        self.text += &right.text;
        print::joined(join.kind, left_names, both, "mark")
    }

    fn apply(&mut self, apply: &Apply) -> Vec<String> {
        let (mut input, mut subquery) = (self.deeper(), self.deeper());
        let (mut names, inner) = (input.rel(&apply.input), subquery.rel(&apply.subquery));
        let both: Vec<String> = names.iter().chain(&inner).cloned().collect();
        let outer: Vec<String> = apply
            .outer
            .iter()
            .map(|outer| format!("{} = {}", outer.slot, names[outer.position]))
            .collect();
        let mut line = match &apply.kind {
            ApplyKind::Scalar => "Apply scalar".to_owned(),
            ApplyKind::Exists => "Apply exists".to_owned(),
            ApplyKind::Any { condition } => format!("Apply any {}", print::expr(condition, &both)),
            ApplyKind::Lateral { left, condition } => {
                let left = if *left { " left" } else { "" };
                let condition = condition
                    .as_ref()
                    .map(|c| format!(" if {}", print::expr(c, &both)));
                format!("Apply lateral{left}{}", condition.unwrap_or_default())
            }
        };
        if !outer.is_empty() {
            line += &format!(", outer {}", outer.join(", "));
        }
        self.line(line);
        self.text += &input.text;
        self.text += &subquery.text;
        match apply.kind {
            ApplyKind::Scalar | ApplyKind::Lateral { .. } => both,
            ApplyKind::Exists | ApplyKind::Any { .. } => {
                names.push("mark".to_owned());
                names
            }
        }
    }

    fn deeper(&self) -> Self {
        Self {
            text: String::new(),
            depth: self.depth + 1,
        }
    }
}

fn kind_name(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "inner",
        JoinKind::Left => "left",
        JoinKind::Semi => "semi",
        JoinKind::Anti => "anti",
        JoinKind::Mark => "mark",
    }
}
