//! Functional dependence: which columns are determined by others.
//!
//! A column is determined if it is equal to a constant or a determined column, if a key of its table is
//! determined, or if all it is computed of is determined. Source: manual 12.20.4 "Detection of Functional
//! Dependence"; SQL:1999, 4.18.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use functions::Expr;
use functions::aggregate::AggregateFunction;
use schema::bound::add_columns;
use schema::model::{IndexPart, SchemaState, Table};

use super::{Apply, ApplyKind, ColumnId, CommonTableId, Get, JoinKind, Logical, columns_of};
use crate::conjuncts::conjuncts;

const COMPARISONS: &[&str] = &["=", "<", "<=", ">", ">=", "<>"];

/// Conditions that are not true where an operand is NULL. (`x IN (...)` is not where `x` is; a column in its
/// list may be.)
const NOT_TRUE_OF_NULL: &[&str] = &[
    "=",
    "<",
    "<=",
    ">",
    ">=",
    "<>",
    "between",
    "like",
    "is not null",
    "is true",
    "is false",
];

/// The definition of a common table expression that a query uses and does not hold itself.
pub type Definitions<'a> = &'a dyn Fn(CommonTableId) -> Option<Arc<Logical>>;

/// The columns of a query's operators that have one value if the columns `given` and all outer columns have.
pub fn determined(
    rel: &Logical,
    given: HashSet<ColumnId>,
    definitions: Definitions<'_>,
) -> HashSet<ColumnId> {
    let mut made = HashSet::new();
    rel.walk(&mut |operator| made.extend(operator.output().iter().map(|column| column.id)));
    let not_null = columns_with_values(rel);
    let mut dependence = Dependence {
        determined: given,
        made,
        not_null,
        required: Vec::new(),
        of_whole_rows: HashSet::new(),
        held: Vec::new(),
        definitions,
    };
    loop {
        let before = dependence.determined.len();
        dependence.rows(rel, true);
        if dependence.determined.len() == before {
            return dependence.determined;
        }
    }
}

struct Dependence<'a> {
    determined: HashSet<ColumnId>,
    /// Columns that some operator of the query makes. Any other is an outer column.
    made: HashSet<ColumnId>,
    /// Columns that conditions keep from being NULL.
    not_null: HashSet<ColumnId>,
    /// Columns that the conditions above the operator at hand keep from being NULL: the outer joins that would
    /// make them NULL are inner joins.
    required: Vec<ColumnId>,
    /// Columns of tables of which a key is determined.
    of_whole_rows: HashSet<ColumnId>,
    /// The definitions that the operators above hold.
    held: Vec<(CommonTableId, Arc<Logical>)>,
    definitions: Definitions<'a>,
}

impl Dependence<'_> {
    /// Adds what follows from one operator and all below it. `always`: its rows are never replaced by NULLs, as
    /// those of the inner side of an outer join are. Where they may be, no constant decides a column alone.
    fn rows(&mut self, rel: &Logical, always: bool) {
        match rel {
            Logical::OneRow
            | Logical::Values { .. }
            | Logical::TableFunction(_)
            | Logical::SetOperation(_)
            | Logical::Recursive(_) => {}
            Logical::Get(get) => self.keys(get),
            Logical::Filter { input, predicate } => {
                self.requiring(Some(predicate), |this| this.rows(input, always));
                self.equalities(predicate, always, &|_| true);
            }
            Logical::Project { input, columns } => {
                self.rows(input, always);
                for (id, expr) in columns {
                    self.computed(*id, expr, always);
                }
            }
            Logical::Join(join) => {
                let condition = join.condition.as_ref();
                if matches!(join.kind, JoinKind::Semi | JoinKind::Anti) {
                    return self.rows(&join.left, always);
                }
                let is_outer = join.kind == JoinKind::Left && !self.requires(&join.right);
                let of_both = condition.filter(|_| !is_outer);
                self.requiring(of_both, |this| {
                    this.rows(&join.left, always);
                    this.joined(&join.right, is_outer, condition, always);
                });
            }
            Logical::Apply(apply) => {
                self.rows(&apply.input, always);
                self.applied(apply, always);
            }
            Logical::Aggregate {
                input,
                keys,
                aggregates,
                rollup,
            } => {
                self.rows(input, always);
                if rollup.is_some() {
                    return;
                }
                for (id, expr) in keys {
                    self.computed(*id, expr, always);
                }
                // Where the groups decide a column, its first value in a group is its only one.
                for (id, call) in aggregates {
                    if call.function == AggregateFunction::AnyValue
                        && let Some(column) = call.args.first().and_then(column_of)
                        && self.determined.contains(id)
                    {
                        self.determined.insert(column);
                    }
                }
                let of_groups = keys.iter().all(|(id, _)| self.determined.contains(id));
                // A determined result that is never NULL shows whether an outer join has made the only row
                // NULLs.
                let mut decided = aggregates.iter().filter(|(id, _)| self.determined.contains(id));
                let is_told = decided.any(|(_, call)| !call.nullable());
                if of_groups && (always || !keys.is_empty() || is_told) {
                    self.determined.extend(aggregates.iter().map(|(id, _)| *id));
                }
            }
            Logical::Window { input, .. }
            | Logical::Sort { input, .. }
            | Logical::Limit { input, .. }
            | Logical::Distinct { input } => self.rows(input, always),
            Logical::With { id, definition, body } => {
                self.held.push((*id, Arc::new(Logical::clone(definition))));
                self.rows(body, always);
                self.held.pop();
            }
            Logical::CommonTable(table) => {
                let held = self.held.iter().find(|(id, _)| *id == table.id);
                let found = held.map(|(_, held)| Arc::clone(held));
                let found = found.or_else(|| (self.definitions)(table.id));
                let Some(definition) = found.filter(|_| !table.recursive) else {
                    return;
                };
                let output = definition.output();
                let pairs = || table.columns.iter().zip(&output);
                let given = pairs().filter(|(used, _)| self.determined.contains(&used.id));
                let given = given.map(|(_, defined)| defined.id).collect();
                let within = determined(&definition, given, self.definitions);
                let found = pairs().filter(|(_, defined)| within.contains(&defined.id));
                let found: Vec<ColumnId> = found.map(|(used, _)| used.id).collect();
                self.determined.extend(found);
            }
        }
    }

    fn applied(&mut self, apply: &Apply, always: bool) {
        match &apply.kind {
            ApplyKind::Lateral { left, condition } => {
                let is_outer = *left && !self.requires(&apply.subquery);
                self.joined(&apply.subquery, is_outer, condition.as_ref(), always);
            }
            ApplyKind::Scalar { .. } | ApplyKind::Exists { .. } | ApplyKind::Any { .. } => {
                let mut named = apply.subquery.outer_columns();
                if let ApplyKind::Any { condition, .. } = &apply.kind {
                    let of_subquery: HashSet<ColumnId> =
                        apply.subquery.output().iter().map(|c| c.id).collect();
                    named.extend(
                        columns_of(condition)
                            .into_iter()
                            .filter(|id| !of_subquery.contains(id)),
                    );
                }
                if named.iter().all(|id| self.has_one_value(*id)) && (always || !named.is_empty()) {
                    self.determined.extend(apply.kind.columns());
                }
            }
        }
    }

    /// The right side of a join. In an outer join, the condition decides columns of that side alone.
    fn joined(&mut self, right: &Logical, outer: bool, condition: Option<&Expr>, always: bool) {
        self.rows(right, always && !outer);
        let Some(condition) = condition else { return };
        if !outer {
            return self.equalities(condition, always, &|_| true);
        }
        // Whether a row of the left side has a partner is determined only if all columns of that side in the
        // condition are determined.
        let inner: HashSet<ColumnId> = right.output().iter().map(|column| column.id).collect();
        let is_decided = |id: &ColumnId| inner.contains(id) || self.has_one_value(*id);
        if columns_of(condition).iter().all(is_decided) && functions::is_deterministic(condition) {
            self.equalities(condition, always, &|id| inner.contains(&id));
        }
    }

    /// Visits what lies below a condition.
    fn requiring(&mut self, condition: Option<&Expr>, visit: impl FnOnce(&mut Self)) {
        let before = self.required.len();
        self.required
            .extend(condition.into_iter().flat_map(not_null_columns));
        visit(self);
        self.required.truncate(before);
    }

    /// Whether a condition above leaves out rows in which all columns of an operator are NULL.
    fn requires(&self, rel: &Logical) -> bool {
        rel.output()
            .iter()
            .any(|column| self.required.contains(&column.id))
    }

    /// The keys of a table decide its other columns, and columns those that are generated of them.
    fn keys(&mut self, get: &Get) {
        if let Ok(Some(bound)) = crate::bind::expressions(&get.table) {
            for generated in &bound.generated {
                let mut of = Vec::new();
                add_columns(&generated.value, &mut of);
                if !of.is_empty() && of.iter().all(|offset| self.determined.contains(&get.id(*offset))) {
                    self.determined.insert(get.id(generated.column));
                }
            }
        }
        let has_value =
            |offset: usize| !get.table.columns[offset].nullable || self.not_null.contains(&get.id(offset));
        let is_determined = |offset: &usize| self.determined.contains(&get.id(*offset));
        if unique_keys(&get.table, &has_value).any(|key| key.iter().all(is_determined)) {
            let columns = (0..get.table.columns.len()).map(|offset| get.id(offset));
            self.of_whole_rows.extend(columns.clone());
            self.determined.extend(columns);
        }
    }

    /// `id` is the value of an expression; a column under another id is decided by it as well.
    fn computed(&mut self, id: ColumnId, expr: &Expr, always: bool) {
        if let Some(column) = column_of(expr)
            && self.determined.contains(&id)
        {
            self.determined.insert(column);
        }
        let columns = columns_of(expr);
        // As in MySQL, what names no column counts as a constant, RAND() too.
        let decided = columns.iter().all(|column| self.has_one_value(*column));
        let of_nulls = always || columns.is_empty() || self.is_null_of_nulls(expr);
        if decided && of_nulls && (columns.is_empty() || functions::is_deterministic(expr)) {
            self.determined.insert(id);
        }
    }

    /// Whether an expression is NULL if an outer join has made NULLs of its columns, or reads a column of a
    /// table whose key is determined: no row of the table has a NULL in it, so the key shows that.
    fn is_null_of_nulls(&self, expr: &Expr) -> bool {
        let is_strict =
            |function: &str| matches!(function, "+" | "-" | "*" | "/" | "%" | "div" | "neg" | "concat");
        match expr.as_stored() {
            Expr::Column { .. } => true,
            Expr::Cast { input, .. } => self.is_null_of_nulls(input),
            Expr::Call { function, args, .. } if is_strict(function.0.name) => args
                .iter()
                .any(|arg| !columns_of(arg).is_empty() && self.is_null_of_nulls(arg)),
            _ => columns_of(expr).iter().any(|id| self.of_whole_rows.contains(id)),
        }
    }

    /// The columns among `targets` that the equalities of a condition decide.
    fn equalities(&mut self, condition: &Expr, constants: bool, targets: &dyn Fn(ColumnId) -> bool) {
        for conjunct in conjuncts(Some(condition)) {
            let Some((left, right)) = equated(conjunct) else {
                continue;
            };
            for (left, right) in [(left, right), (right, left)] {
                let decided = match column_of(right) {
                    Some(column) if self.made.contains(&column) => self.determined.contains(&column),
                    Some(_) => true,
                    // A constant, or made of outer columns.
                    None => {
                        constants
                            && columns_of(right).iter().all(|id| !self.made.contains(id))
                            && functions::is_known_when_planned(right)
                    }
                };
                if let (Some(column), true) = (column_of(left).filter(|id| targets(*id)), decided) {
                    self.determined.insert(column);
                }
            }
        }
    }

    fn has_one_value(&self, id: ColumnId) -> bool {
        self.determined.contains(&id) || !self.made.contains(&id)
    }
}

/// What a condition says is equal: `a = b`, `a IN (b)`, `a BETWEEN b AND b`, `NOT a <> b`.
fn equated(condition: &Expr) -> Option<(&Expr, &Expr)> {
    let Expr::Call { function, args, .. } = condition else {
        return None;
    };
    match (function.0.name, args.as_slice()) {
        ("=" | "in", [left, right]) => Some((left, right)),
        ("between", [value, low, high]) if low == high => Some((value, low)),
        ("not", [Expr::Call { function, args, .. }]) if function.0.name == "<>" => match args.as_slice() {
            [left, right] => Some((left, right)),
            _ => None,
        },
        _ => None,
    }
}

/// Columns that the conditions of a query keep from being NULL.
fn columns_with_values(rel: &Logical) -> HashSet<ColumnId> {
    let mut of_marks = HashMap::new();
    rel.walk(&mut |operator| {
        if let Logical::Apply(apply) = operator
            && let ApplyKind::Any { mark, condition } = &apply.kind
            && is_joined(&apply.subquery)
            && conjuncts(Some(condition)).iter().all(|part| is_equality(part))
        {
            of_marks.insert(*mark, not_null_columns(condition));
        }
    });
    let mut values = ColumnsWithValues {
        of_marks,
        found: HashSet::new(),
    };
    values.below(rel, &HashSet::new());
    values.found
}

struct ColumnsWithValues {
    /// What has a value where `x IN (SELECT ...)` is true, by the column that says whether it is.
    of_marks: HashMap<ColumnId, Vec<ColumnId>>,
    found: HashSet<ColumnId>,
}

impl ColumnsWithValues {
    /// `kept`: columns of rows that outer joins keep, whatever the conditions on the other side say. Operators come
    /// before those below them, so conditions that make an outer join an inner one have been seen.
    fn below(&mut self, rel: &Logical, kept: &HashSet<ColumnId>) {
        match rel {
            Logical::Filter { predicate, .. } => self.condition(predicate, kept),
            Logical::Join(join) => {
                let is_outer = join.kind == JoinKind::Left && !self.has_column_of(&join.right);
                let kept = with_columns(kept, is_outer.then_some(&*join.left));
                if let Some(condition) = &join.condition {
                    self.condition(condition, &kept);
                }
            }
            Logical::Apply(apply) => {
                let is_left = matches!(apply.kind, ApplyKind::Lateral { left: true, .. });
                let is_outer = is_left && !self.has_column_of(&apply.subquery);
                self.below(&apply.input, kept);
                let kept = with_columns(kept, is_outer.then_some(&*apply.input));
                return self.below(&apply.subquery, &kept);
            }
            _ => {}
        }
        for input in rel.inputs() {
            self.below(input, kept);
        }
    }

    fn condition(&mut self, condition: &Expr, kept: &HashSet<ColumnId>) {
        let marks = conjuncts(Some(condition)).into_iter().filter_map(mark_of);
        let of_marks = marks.filter_map(|mark| self.of_marks.get(&mark)).flatten();
        let columns = not_null_columns(condition).into_iter().chain(of_marks.copied());
        let columns: Vec<ColumnId> = columns.filter(|id| !kept.contains(id)).collect();
        self.found.extend(columns);
    }

    fn has_column_of(&self, rel: &Logical) -> bool {
        rel.output().iter().any(|column| self.found.contains(&column.id))
    }
}

fn with_columns(columns: &HashSet<ColumnId>, of: Option<&Logical>) -> HashSet<ColumnId> {
    let more = of.into_iter().flat_map(Logical::output).map(|column| column.id);
    columns.iter().copied().chain(more).collect()
}

/// Whether MySQL joins the rows of `x IN (SELECT ...)` like a table ("semijoin"): no set operations, aggregates or
/// windows. Only of such does it conclude that x has a value.
fn is_joined(subquery: &Logical) -> bool {
    match subquery {
        Logical::Project { input, .. }
        | Logical::Filter { input, .. }
        | Logical::Sort { input, .. }
        | Logical::Distinct { input } => is_joined(input),
        Logical::With { body, .. } => is_joined(body),
        Logical::Aggregate {
            input,
            keys,
            aggregates,
            rollup: None,
        } => !keys.is_empty() && aggregates.is_empty() && is_joined(input),
        Logical::Aggregate { .. }
        | Logical::Window { .. }
        | Logical::SetOperation(_)
        | Logical::Values { .. } => false,
        _ => true,
    }
}

/// `x IN (SELECT ...)` as a condition: the column that says whether there is such a row.
fn mark_of(condition: &Expr) -> Option<ColumnId> {
    match condition {
        Expr::Call { function, args, .. } if function.0.name == "is true" => mark_of(args.first()?),
        _ => column_of(condition),
    }
}

fn is_equality(condition: &Expr) -> bool {
    matches!(condition, Expr::Call { function, .. } if function.0.name == "=")
}

fn not_null_columns(condition: &Expr) -> Vec<ColumnId> {
    let conjuncts = conjuncts(Some(condition)).into_iter();
    let rejecting = conjuncts.filter_map(operands_with_values).flatten();
    rejecting.filter_map(column_behind_casts).collect()
}

/// The column that an operand is or is converted from. It has a value where the operand has one.
fn column_behind_casts(operand: &Expr) -> Option<ColumnId> {
    match operand.as_stored() {
        Expr::Cast {
            input,
            implicit: true,
            ..
        } => column_behind_casts(input),
        operand => column_of(operand),
    }
}

/// The operands that are not NULL where a condition is true.
fn operands_with_values(condition: &Expr) -> Option<&[Expr]> {
    let Expr::Call { function, args, .. } = condition else {
        return None;
    };
    let inner = match args.first() {
        Some(Expr::Call { function, args, .. }) => Some((function.0.name, args.as_slice())),
        _ => None,
    };
    match (function.0.name, inner) {
        ("is true", Some(_)) => operands_with_values(args.first()?),
        ("is false", Some((name, args))) => (COMPARISONS.contains(&name) || name == "like").then_some(args),
        ("in", _) => args.get(..1),
        ("not", Some(("is null" | "like" | "=" | "<>", args))) => Some(args),
        ("not", Some(("in" | "between", args))) => args.get(..1),
        (name, _) => NOT_TRUE_OF_NULL.contains(&name).then_some(args.as_slice()),
    }
}

/// The column that an expression is.
pub fn column_of(expr: &Expr) -> Option<ColumnId> {
    match expr.as_stored() {
        Expr::Column { index, .. } => Some(ColumnId(*index)),
        _ => None,
    }
}

/// Columns of each key that no two rows share, given which columns are not NULL.
fn unique_keys<'t>(
    table: &'t Table,
    has_value: &'t dyn Fn(usize) -> bool,
) -> impl Iterator<Item = Vec<usize>> + 't {
    let primary: Vec<usize> = table.primary_parts().iter().map(|part| part.column).collect();
    let primary = (!primary.is_empty()).then_some(primary);
    let secondary = table.indexes.iter().filter(move |index| {
        let whole = |part: &IndexPart| part.prefix.is_none() && has_value(part.column);
        index.unique && index.state == SchemaState::Public && index.parts.iter().all(whole)
    });
    primary
        .into_iter()
        .chain(secondary.map(|index| index.parts.iter().map(|part| part.column).collect()))
}
