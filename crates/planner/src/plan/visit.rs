//! Walks over the operators of a query.

use std::iter::successors;

use functions::{Expr, RowPlace};
use schema::model::Table;
use syntax::ast::{IndexHint, IndexHintKind};
use types::SqlType;

use super::{
    Access, ApplyKind, JoinKind, Locking, Plan, ROW_KEY, Range, RangeBoundValue, RangeValue, Rel, TableScan,
};

impl Rel {
    /// The operator whose rows this one takes; `None` for those that make rows themselves, or that take the
    /// rows of several.
    #[inline]
    pub fn input(&self) -> Option<&Self> {
        match self {
            Self::Filter { input, .. }
            | Self::Project { input, .. }
            | Self::Aggregate { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. }
            | Self::Measured { input, .. }
            | Self::Pushed { input }
            | Self::Repeat { input, .. }
            | Self::Window { input, .. }
            | Self::Distinct { input } => Some(input),
            Self::OneRow
            | Self::Scan(_)
            | Self::Virtual(_)
            | Self::Values { .. }
            | Self::JsonTable(_)
            | Self::CommonTable { .. }
            | Self::Join(_)
            | Self::LookupJoin(_)
            | Self::Apply(_)
            | Self::SetOperation { .. }
            | Self::With { .. }
            | Self::Recursive { .. } => None,
        }
    }

    /// The operators right below, subqueries and definitions included.
    pub fn inputs(&self) -> Vec<&Self> {
        match self {
            Self::Join(join) => vec![&join.left, &join.right],
            Self::LookupJoin(join) => vec![&join.left],
            Self::Apply(apply) => vec![&apply.input, &apply.subquery],
            Self::SetOperation { left, right, .. } => vec![left, right],
            Self::With { definition, body, .. } => vec![definition, body],
            Self::Recursive { seed, step, .. } => vec![seed, step],
            single => single.input().into_iter().collect(),
        }
    }

    /// The same, to be changed.
    pub fn inputs_mut(&mut self) -> Vec<&mut Self> {
        match self {
            Self::Join(join) => vec![&mut join.left, &mut join.right],
            Self::LookupJoin(join) => vec![&mut join.left],
            Self::Apply(apply) => vec![&mut apply.input, &mut apply.subquery],
            Self::SetOperation { left, right, .. } => vec![left, right],
            Self::With { definition, body, .. } => vec![definition, body],
            Self::Recursive { seed, step, .. } => vec![seed, step],
            Self::Filter { input, .. }
            | Self::Project { input, .. }
            | Self::Aggregate { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. }
            | Self::Measured { input, .. }
            | Self::Pushed { input }
            | Self::Repeat { input, .. }
            | Self::Window { input, .. }
            | Self::Distinct { input } => vec![input],
            Self::OneRow
            | Self::Scan(_)
            | Self::Virtual(_)
            | Self::Values { .. }
            | Self::JsonTable(_)
            | Self::CommonTable { .. } => Vec::new(),
        }
    }

    /// Calls `visit` with this operator and all below it, outermost first.
    pub fn walk<'r>(&'r self, visit: &mut dyn FnMut(&'r Self)) {
        visit(self);
        for input in self.inputs() {
            input.walk(visit);
        }
    }

    /// Calls `visit` with each expression of this operator, those of its scan's access path included.
    pub fn expressions(&self, visit: &mut dyn FnMut(&Expr)) {
        match self {
            Self::OneRow
            | Self::Distinct { .. }
            | Self::Measured { .. }
            | Self::Pushed { .. }
            | Self::Repeat { .. }
            | Self::SetOperation { .. }
            | Self::With { .. }
            | Self::Recursive { .. }
            | Self::CommonTable { .. } => {}
            Self::Scan(scan) => scan.expressions(visit),
            Self::Virtual(scan) => scan.conditions.iter().for_each(visit),
            Self::Filter { predicate, .. } => visit(predicate),
            Self::Project { exprs, .. } => exprs.iter().for_each(visit),
            Self::Aggregate { keys, aggregates, .. } => {
                keys.iter().for_each(&mut *visit);
                aggregates.iter().for_each(|call| call.expressions(visit));
            }
            Self::Sort { keys, limit, .. } => {
                keys.iter().map(|key| &key.expr).for_each(&mut *visit);
                limit.iter().for_each(visit);
            }
            Self::Limit { offset, count, .. } => offset.iter().chain(count).for_each(visit),
            Self::Values { rows, .. } => rows.iter().flatten().for_each(visit),
            Self::JsonTable(scan) => visit(&scan.document),
            Self::Join(join) => {
                for key in &join.keys {
                    visit(&key.left);
                    visit(&key.right);
                }
                join.residual.iter().for_each(visit);
            }
            Self::LookupJoin(join) => {
                join.right.expressions(visit);
                join.residual.iter().for_each(visit);
            }
            Self::Apply(apply) => match &apply.kind {
                ApplyKind::Scalar | ApplyKind::Exists => {}
                ApplyKind::Any { condition } => visit(condition),
                ApplyKind::Lateral { condition, .. } => condition.iter().for_each(visit),
            },
            Self::Window {
                partition_by,
                order_by,
                frame,
                calls,
                ..
            } => {
                frame.expressions(visit);
                partition_by.iter().for_each(&mut *visit);
                order_by.iter().map(|key| &key.expr).for_each(&mut *visit);
                calls.iter().for_each(|call| call.expressions(visit));
            }
        }
    }

    /// All scans of stored tables, those of lookup joins included.
    pub fn scans(&self) -> Vec<&TableScan> {
        let mut scans = Vec::new();
        self.walk(&mut |rel| match rel {
            Self::Scan(scan) => scans.push(scan),
            Self::LookupJoin(join) => scans.push(&join.right),
            _ => {}
        });
        scans
    }

    /// Whether it reads the present of a stored table without locks, unless the statement locks all that it
    /// reads.
    pub fn reads_without_locks(&self) -> bool {
        let is_plain = |scan: &TableScan| scan.as_of.is_none() && scan.locking.is_none();
        let mut reads = false;
        self.walk(&mut |rel| match rel {
            Self::Scan(scan) => reads |= is_plain(scan),
            Self::LookupJoin(join) => reads |= is_plain(&join.right),
            _ => {}
        });
        reads
    }

    /// This operator and those below it, from the top down to the first that has no input or several.
    #[inline]
    pub fn operators(&self) -> impl Iterator<Item = &Self> {
        successors(Some(self), |rel| rel.input())
    }

    /// The lowest of [`Rel::operators`]: a table, or what brings several inputs together.
    #[inline]
    pub fn source(&self) -> &Self {
        let mut rel = self;
        while let Some(input) = rel.input() {
            rel = input;
        }
        rel
    }

    /// The stored table that the rows come from, if it is the only source.
    #[inline]
    pub fn scan(&self) -> Option<&TableScan> {
        match self.source() {
            Self::Scan(scan) => Some(scan),
            _ => None,
        }
    }

    /// The types of the columns of its rows.
    pub fn output_types(&self) -> Vec<SqlType> {
        match self {
            Self::OneRow => Vec::new(),
            Self::Scan(scan) => scan.output_types(),
            Self::Virtual(scan) => scan.table.columns.iter().map(|column| column.ty).collect(),
            Self::Project { exprs, .. } => exprs.iter().map(Expr::ty).collect(),
            Self::Aggregate { keys, aggregates, .. } => {
                let results = aggregates.iter().map(|call| call.ty);
                keys.iter().map(Expr::ty).chain(results).collect()
            }
            Self::Repeat { input, .. } => std::iter::once(SqlType::BIGINT)
                .chain(input.output_types())
                .collect(),
            Self::Filter { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. }
            | Self::Measured { input, .. }
            | Self::Pushed { input }
            | Self::Distinct { input } => input.output_types(),
            Self::JsonTable(scan) => scan.table.types().to_vec(),
            Self::Values { columns, .. }
            | Self::Recursive { columns, .. }
            | Self::CommonTable { columns, .. } => columns.iter().map(|column| column.ty).collect(),
            Self::Join(join) => joined(join.kind, &join.left, join.right.output_types()),
            Self::LookupJoin(join) => joined(join.kind, &join.left, join.right.output_types()),
            Self::Apply(apply) => {
                let mut types = apply.input.output_types();
                match apply.kind {
                    ApplyKind::Scalar | ApplyKind::Lateral { .. } => {
                        types.extend(apply.subquery.output_types());
                    }
                    ApplyKind::Exists | ApplyKind::Any { .. } => types.push(SqlType::BIGINT),
                }
                types
            }
            Self::Window { input, calls, .. } => {
                let mut types = input.output_types();
                types.extend(calls.iter().map(|call| call.ty));
                types
            }
            Self::SetOperation { left, .. } => left.output_types(),
            Self::With { body, .. } => body.output_types(),
        }
    }
}

fn joined(kind: JoinKind, left: &Rel, right: Vec<SqlType>) -> Vec<SqlType> {
    let mut types = left.output_types();
    match kind {
        JoinKind::Inner | JoinKind::Left => types.extend(right),
        JoinKind::Semi | JoinKind::Anti => {}
        JoinKind::Mark => types.push(SqlType::BIGINT),
    }
    types
}

impl Rel {
    /// The strongest lock of any of its scans.
    pub fn strongest_lock(&self) -> Option<Locking> {
        let locks = self.scans().into_iter().filter_map(|scan| scan.locking);
        locks.reduce(|a, b| if a.exclusive { a } else { b })
    }
}

impl Plan {
    /// All scans of stored tables.
    pub fn scans(&self) -> Vec<&TableScan> {
        match self {
            Self::Query(query) => query.root.scans(),
            Self::Insert(insert) => insert.queries().flat_map(Rel::scans).collect(),
            Self::Update(update) => vec![&update.target.scan],
            Self::Delete(delete) => vec![&delete.target.scan],
            Self::FoundWrite(write) => write.queries().flat_map(Rel::scans).collect(),
        }
    }

    /// [`Rel::reads_without_locks`] of what a write reads. UPDATE and DELETE of one table lock the rows that
    /// they read.
    pub fn reads_without_locks(&self) -> bool {
        match self {
            Self::Query(query) => query.root.reads_without_locks(),
            Self::Insert(insert) => insert.queries().any(Rel::reads_without_locks),
            Self::Update(_) | Self::Delete(_) => false,
            Self::FoundWrite(write) => write.root.reads_without_locks(),
        }
    }
}

impl TableScan {
    /// Whether USE, FORCE and IGNORE INDEX let the rows be read by an index.
    pub fn allows_index(&self, index: &str) -> bool {
        let is_named = |hint: &IndexHint| hint.indexes.iter().any(|name| types::same_name(name, index));
        let of_rows = || self.hints.iter().filter(|hint| hint.for_rows);
        let is_ignored = of_rows().any(|hint| hint.kind == IndexHintKind::Ignore && is_named(hint));
        let mut used = of_rows()
            .filter(|hint| hint.kind != IndexHintKind::Ignore)
            .peekable();
        !is_ignored && (used.peek().is_none() || used.any(is_named))
    }

    /// The table and the index that it reads.
    pub fn place(&self) -> RowPlace {
        RowPlace {
            table: self.table.id,
            index: self.access.index_of(&self.table),
        }
    }

    /// Calls `visit` with each expression that decides which rows are read: keys and ranges, and partitions.
    pub fn key_expressions(&self, visit: &mut dyn FnMut(&Expr)) {
        self.access.expressions(visit);
        if let Some(partitions) = &self.partitions {
            partitions.expressions(visit);
        }
    }

    /// The same, to be changed.
    pub fn key_expressions_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.access.expressions_mut(visit);
        if let Some(partitions) = &mut self.partitions {
            partitions.expressions_mut(visit);
        }
    }

    /// Calls `visit` with each expression of the scan.
    fn expressions(&self, visit: &mut dyn FnMut(&Expr)) {
        self.key_expressions(visit);
        self.filter.iter().chain(&self.as_of).for_each(visit);
    }

    /// The types of the columns of its rows.
    pub fn output_types(&self) -> Vec<SqlType> {
        let ty = |&offset: &usize| self.table.columns.get(offset).map_or(ROW_KEY, |column| column.ty);
        self.columns.iter().map(ty).collect()
    }

    /// Positions of the partitions that the statement names; `None`: it names none.
    pub fn named_partitions(&self) -> Option<&[usize]> {
        self.partitions.as_ref()?.named.as_deref()
    }

    /// Whether the rows' keys are among the columns.
    pub fn reads_key(&self) -> bool {
        self.columns.contains(&self.table.columns.len())
    }
}

impl Access {
    /// The id of the index that it reads, 0 for a primary key that is no index. `None`: the whole table.
    fn index_of(&self, table: &Table) -> Option<i64> {
        let id = |index: usize| table.indexes.get(index).map(|index| index.id);
        match self {
            Self::Full { .. } => None,
            Self::UniquePoints { index, .. }
            | Self::IndexRanges { index, .. }
            | Self::GroupEnds {
                index: Some(index), ..
            } => id(*index),
            Self::PrimaryPoints { .. } | Self::PrimaryRanges { .. } | Self::GroupEnds { index: None, .. } => {
                let primary = table.indexes.iter().position(|index| index.primary);
                Some(primary.and_then(id).unwrap_or(0))
            }
            Self::Union { parts } => parts.first().and_then(|part| part.index_of(table)),
        }
    }

    /// Calls `visit` with each expression of its keys or ranges.
    pub fn expressions(&self, visit: &mut dyn FnMut(&Expr)) {
        match self {
            Self::Full { .. } => {}
            Self::PrimaryPoints { keys } | Self::UniquePoints { keys, .. } => {
                keys.iter().flatten().for_each(visit);
            }
            Self::PrimaryRanges { ranges, .. }
            | Self::IndexRanges { ranges, .. }
            | Self::GroupEnds { ranges, .. } => {
                ranges.iter().for_each(|range| range.expressions(visit));
            }
            Self::Union { parts } => parts.iter().for_each(|part| part.expressions(visit)),
        }
    }

    /// The same, to be changed.
    pub fn expressions_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        match self {
            Self::Full { .. } => {}
            Self::PrimaryPoints { keys } | Self::UniquePoints { keys, .. } => {
                keys.iter_mut().flatten().for_each(visit);
            }
            Self::PrimaryRanges { ranges, .. }
            | Self::IndexRanges { ranges, .. }
            | Self::GroupEnds { ranges, .. } => {
                ranges.iter_mut().for_each(|range| range.expressions_mut(visit));
            }
            Self::Union { parts } => parts.iter_mut().for_each(|part| part.expressions_mut(visit)),
        }
    }
}

impl Range {
    pub(super) fn expressions(&self, visit: &mut dyn FnMut(&Expr)) {
        for value in &self.prefix {
            match value {
                RangeValue::Equal(expr) | RangeValue::NullSafe(expr) | RangeValue::Words(expr, _) => {
                    visit(expr);
                }
                RangeValue::IsNull => {}
            }
        }
        for bound in self.lower.iter().chain(&self.upper) {
            match &bound.value {
                RangeBoundValue::Value(expr) => visit(expr),
                RangeBoundValue::Null => {}
            }
        }
    }

    /// The same, to be changed.
    pub(super) fn expressions_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        for value in &mut self.prefix {
            match value {
                RangeValue::Equal(expr) | RangeValue::NullSafe(expr) | RangeValue::Words(expr, _) => {
                    visit(expr);
                }
                RangeValue::IsNull => {}
            }
        }
        for bound in self.lower.iter_mut().chain(&mut self.upper) {
            match &mut bound.value {
                RangeBoundValue::Value(expr) => visit(expr),
                RangeBoundValue::Null => {}
            }
        }
    }
}
