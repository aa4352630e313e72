//! The names of columns in the listing's column `ref`.

use std::collections::HashMap;

use functions::Expr;
use planner::plan::{ApplyKind, JoinKind, Rel, TableScan};

/// The columns that a lookup's keys are computed from.
#[derive(Debug, Default, Clone)]
pub struct Names {
    /// Of the columns of the rows that it is made for.
    pub columns: Vec<Option<String>>,
    /// Of the columns of rows that a subquery runs for, by slot.
    pub outer: HashMap<usize, Option<String>>,
}

impl Names {
    /// `const`, a column's name, or `func`.
    pub fn of(&self, expr: &Expr) -> String {
        let computed = || "func".to_owned();
        match expr {
            Expr::Column { index, .. } => self
                .columns
                .get(*index)
                .cloned()
                .flatten()
                .unwrap_or_else(computed),
            Expr::Outer { slot, .. } => self.outer.get(slot).cloned().flatten().unwrap_or_else(computed),
            Expr::Cast { input, .. } => self.of(input),
            Expr::Call { function, args, .. } if function.0.name.starts_with("key ") => {
                args.first().map_or_else(computed, |arg| self.of(arg))
            }
            other => {
                let mut constant = true;
                other.walk(&mut |e| constant &= !matches!(e, Expr::Column { .. } | Expr::Outer { .. }));
                if constant { "const".to_owned() } else { computed() }
            }
        }
    }
}

/// The names of an operator's columns; `None` for what is computed.
pub fn of_columns(rel: &Rel) -> Vec<Option<String>> {
    match rel {
        Rel::Scan(scan) => of_table(scan),
        Rel::Filter { input, .. } | Rel::Sort { input, .. } | Rel::Limit { input, .. } => of_columns(input),
        Rel::Measured { input, .. } | Rel::Pushed { input } => of_columns(input),
        Rel::Project { input, exprs } => {
            let below = of_columns(input);
            let name = |expr: &Expr| match expr {
                Expr::Column { index, .. } => below.get(*index).cloned().flatten(),
                _ => None,
            };
            exprs.iter().map(name).collect()
        }
        Rel::Join(join) => joined(join.kind, of_columns(&join.left), of_columns(&join.right)),
        Rel::LookupJoin(join) => joined(join.kind, of_columns(&join.left), of_table(&join.right)),
        Rel::Apply(apply) => {
            let mut names = of_columns(&apply.input);
            match apply.kind {
                ApplyKind::Scalar | ApplyKind::Lateral { .. } => names.extend(of_columns(&apply.subquery)),
                ApplyKind::Exists | ApplyKind::Any { .. } => names.push(None),
            }
            names
        }
        other => vec![None; other.output_types().len()],
    }
}

fn of_table(scan: &TableScan) -> Vec<Option<String>> {
    let name = |offset: &usize| {
        let column = scan.table.columns.get(*offset)?;
        Some(format!("{}.{}.{}", scan.table.database, scan.alias, column.name))
    };
    scan.columns.iter().map(name).collect()
}

fn joined(kind: JoinKind, mut left: Vec<Option<String>>, right: Vec<Option<String>>) -> Vec<Option<String>> {
    match kind {
        JoinKind::Inner | JoinKind::Left => left.extend(right),
        JoinKind::Semi | JoinKind::Anti => {}
        JoinKind::Mark => left.push(None),
    }
    left
}

/// A name, in quotes where it is a word of the grammar, as MySQL writes it.
pub fn identifier(name: &str) -> String {
    let is_plain = name
        .chars()
        .all(|c| c.is_alphanumeric() || c == '_' || c == '$' || c == '<' || c == '>');
    let is_word = || syntax::keywords::of_mysql().any(|(word, _)| word.eq_ignore_ascii_case(name));
    match is_plain && !is_word() {
        true => name.to_owned(),
        false => format!("`{}`", name.replace('`', "``")),
    }
}
