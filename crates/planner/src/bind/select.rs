//! Query blocks: their clauses are bound in the order in which names become visible, and become operators.
//!
//! From below: FROM, the subqueries of WHERE, its filter, the subqueries that groups or the select list need,
//! the groups, the subqueries above them, HAVING, windows, the order, the select list, LIMIT. DISTINCT comes
//! between the select list and the order.

use std::borrow::Cow;
use std::cell::RefCell;

use functions::Expr;
use functions::aggregate;
use syntax::ast::{self, Hint, Hints, NumberText, Select, TableRef};
use types::{Error, Result, errno};

use super::block::Block;
use super::bound_block::{BoundBlock, OrderNames, is_constant};
use super::bound_query::{BoundQuery, QueryColumn, QueryPlace, as_it_stands, limited};
use super::context::{Aggregates, Context, PendingWindow, invalid_group_function};
use super::from_place::{From, FromPlace, filtered};
use super::grouping::{Groups, rollup_order};
use super::name_lookup::{ColumnsThenItems, FieldsAndItems, ItemsAndKeys};
use super::names::{FIELD_LIST, GROUP_STATEMENT, HAVING_CLAUSE, ORDER_CLAUSE, WHERE_CLAUSE};
use super::output::Item;
use super::relation::Relation;
use super::scope::{Scope, ScopeNames};
use super::subqueries::Subqueries;
use super::window::windowed;
use super::{
    Binder, filter, from, full_group_by, hints, limit, name_lookup, output, resolution, values, window,
};
use crate::errno::{ER_AGGREGATE_ORDER_NON_AGG_QUERY, ER_UNRESOLVED_TABLE_LOCK};
use crate::logical::{ColumnId, Logical, columns_of};
use crate::plan::{OutputLimit, SortKey};

/// The keys of GROUP BY; of those that name an item of the select list: key and item.
type GroupKeys = (Vec<Expr>, Vec<(usize, usize)>);

impl Binder<'_> {
    pub fn block(&self, block: Block<'_>, place: QueryPlace<'_>) -> Result<BoundQuery> {
        self.windows.borrow_mut().push(block.windows.clone());
        let straight = Hints {
            list: vec![Hint::JoinFixedOrder { block: None }],
            error: None,
        };
        // SELECT STRAIGHT_JOIN says the same as a hint.
        let hints = match (block.straight_join, &block.hints) {
            (false, hints) => hints.as_deref().map(Cow::Borrowed),
            (true, None) => Some(Cow::Owned(straight)),
            (true, Some(hints)) => Some(Cow::Owned(Hints {
                list: [straight.list, hints.list.clone()].concat(),
                error: hints.error.clone(),
            })),
        };
        hints::enter_block(self, hints.as_deref());
        let mut bound = self.block_with_windows(block, place);
        if let Ok(bound) = &mut bound
            && place.as_set
        {
            let root = std::mem::replace(&mut bound.root, Logical::OneRow);
            bound.root = hints::of_subquery(self, root);
        }
        hints::leave_block(self);
        self.windows.borrow_mut().pop();
        bound
    }

    fn block_with_windows(&self, block: Block<'_>, place: QueryPlace<'_>) -> Result<BoundQuery> {
        if let Some(rows) = block.values {
            return values::bind_values(self, rows, &block, place);
        }
        window::check_windows(self, &block.windows)?;
        let first_own = self.next_column();
        let From { rel, scope, .. } = self.from(
            &block.from,
            FromPlace {
                outer: place.outer,
                locking: block.locking,
                left: None,
                for_writing: None,
            },
        )?;
        check_locks(self, &block, &scope)?;
        hints::check_hinted_names(self, &scope);
        let in_where = Subqueries::default();
        let filter = {
            let names = names_of(&scope, WHERE_CLAUSE, place);
            let in_arguments = ScopeNames {
                in_aggregate: true,
                ..names_of(&scope, WHERE_CLAUSE, place)
            };
            let context = Context {
                argument_names: &in_arguments,
                subqueries: Some(&in_where),
                outer: place.outer,
                first_own,
                ..Context::of(&names)
            };
            filter::bind_filter(self, block.filter.as_ref(), &context)?
        };
        let bound = self.clauses(&block, place, scope, first_own)?;
        let rel = filtered(in_where.applied_to(rel), filter);
        full_group_by::check_grouping(self, &bound, &rel)?;
        self.operators(bound, rel, &block, place)
    }

    /// Everything after WHERE.
    fn clauses(
        &self,
        block: &Block<'_>,
        place: QueryPlace<'_>,
        scope: Scope,
        first_own: ColumnId,
    ) -> Result<BoundBlock> {
        let aggregates = Aggregates::default();
        let windows = RefCell::default();
        let (below, above) = (Subqueries::default(), Subqueries::default());
        let drops_groups = place.as_set && has_idle_groups(block);
        let mut grouped = is_grouped(block) && !drops_groups;
        let fields = names_of(&scope, FIELD_LIST, place);
        let in_arguments = ScopeNames {
            in_aggregate: true,
            ..names_of(&scope, FIELD_LIST, place)
        };
        let bound_items = RefCell::default();
        let names = FieldsAndItems {
            fields,
            items: &bound_items,
            written: &block.items,
            aggregates: &aggregates,
            windows: &windows,
        };
        let context = Context {
            aggregates: Some(&aggregates),
            grouped,
            windows: Some(&windows),
            subqueries: Some(&above),
            argument_subqueries: Some(&below),
            outer: place.outer,
            first_own,
            argument_names: &in_arguments,
            ..Context::of(&names)
        };
        output::bind_items(self, &block.items, &scope, &context, &bound_items)?;
        let items = bound_items.borrow().clone();
        window::check_named_windows(self, &block.windows, &context)?;
        let (keys, key_items) = {
            let names = ColumnsThenItems {
                items: &items,
                tables: names_of(&scope, GROUP_STATEMENT, place),
                of_groups: Some((&aggregates, &windows)),
                named: RefCell::default(),
            };
            let context = Context {
                subqueries: Some(&below),
                outer: place.outer,
                first_own,
                ..Context::of(&names)
            };
            let is_of_groups = |key: &Expr| {
                let mut columns = columns_of(key);
                let in_subqueries: Vec<ColumnId> = columns
                    .iter()
                    .flat_map(|id| above.outer_columns_of(*id))
                    .collect();
                columns.extend(in_subqueries);
                aggregates.borrow().iter().any(|(id, _)| columns.contains(id))
                    || windows
                        .borrow()
                        .iter()
                        .any(|w: &PendingWindow| columns.contains(&w.id))
            };
            self.group_by(block, &items, &context, &names, &is_of_groups)?
        };
        let (keys, key_items) = match drops_groups {
            true => GroupKeys::default(),
            false => (keys, key_items),
        };
        // A subquery of the select list that is a key by its alias.
        let of_keys = keys.iter().flat_map(columns_of).collect();
        above.move_to(&below, &of_keys);
        let having = match &block.having {
            Some(having) => {
                let tables = ScopeNames {
                    in_aggregate: true,
                    ..names_of(&scope, HAVING_CLAUSE, place)
                };
                let inner = ItemsAndKeys {
                    binder: self,
                    items: &items,
                    tables: names_of(&scope, HAVING_CLAUSE, place),
                    keys: &keys,
                    grouped,
                    windows: &windows,
                };
                let context = Context {
                    names: &inner,
                    argument_names: &tables,
                    windows: None,
                    ..context
                };
                Some(filter::condition(self, having, &context)?)
            }
            None => None,
        };
        let (order_by, order_names) = {
            let names = ColumnsThenItems {
                items: &items,
                tables: names_of(&scope, ORDER_CLAUSE, place),
                of_groups: None,
                named: RefCell::default(),
            };
            let context = Context {
                names: &names,
                argument_names: &names.tables,
                aggregates: grouped.then_some(&aggregates),
                ..context
            };
            self.order_by(block, &items, &context, &names)?
        };
        // An aggregate of this block may stand in a subquery.
        grouped = !block.group_by.is_empty() && !drops_groups || !aggregates.borrow().is_empty();
        let distinct = block.distinct && (block.rollup || !groups_are_distinct(grouped, &keys, &items));
        Ok(BoundBlock {
            items,
            grouped,
            keys,
            rollup: block.rollup,
            key_items,
            aggregates,
            windows,
            having,
            order_by,
            order_of_groups: Vec::new(),
            order_names,
            distinct,
            below,
            above,
            scope,
        })
    }

    /// The block's operators above its filtered rows.
    fn operators(
        &self,
        mut bound: BoundBlock,
        mut rel: Logical,
        block: &Block<'_>,
        place: QueryPlace<'_>,
    ) -> Result<BoundQuery> {
        // A query that counts all its rows makes all of them. LIMIT is applied where the rows are sent.
        let mut limit = limit::bind_limit(self, block.limit)?;
        let counts = place.is_statement && block.counts_all_rows && limit.count.is_some();
        let limit_of_output = counts.then(|| std::mem::take(&mut limit));
        let is_rolled = bound.rollup;
        let mut results: Vec<_> = bound
            .items
            .iter()
            // An item that may be the sum row of ROLLUP is not announced as a column.
            .map(|item| super::result_column(item, (!is_rolled).then_some(&bound.scope)))
            .collect();
        let shown: Vec<Expr> = bound.items.iter().map(|item| item.expr.clone()).collect();
        let stored: Vec<bool> = bound.items.iter().map(|item| bound.is_stored(item)).collect();
        let is_merged = !bound.grouped
            && !bound.distinct
            && limit.count.is_none()
            && bound.windows.borrow().is_empty()
            && !bound.scope.relations.is_empty();
        let block_read = (!bound.grouped).then(|| (bound.scope.clone(), bound.items.clone()));

        rel = std::mem::take(&mut bound.below).applied_to(rel);
        if !is_rolled {
            bound.order_by.retain(|key| !is_constant(&key.expr));
        }
        if bound.grouped {
            rel = self.grouped(&mut bound, rel)?;
            // A key may be rolled up, and a group may have no row.
            for (result, item) in results.iter_mut().zip(&bound.items) {
                result.nullable = item.expr.nullable();
            }
        }
        rel = std::mem::take(&mut bound.above).applied_to(rel);
        rel = filtered(rel, bound.having.take());
        if !bound.order_of_groups.is_empty() {
            rel = Logical::Sort {
                input: Box::new(rel),
                keys: std::mem::take(&mut bound.order_of_groups),
            };
        }
        rel = windowed(rel, bound.windows.take());

        let mut exprs: Vec<Expr> = bound.items.iter().map(|item| item.expr.clone()).collect();
        if place.is_statement {
            for (expr, stored) in exprs.iter_mut().zip(stored) {
                // A DECIMAL made by IF or CASE is sent with the digits of the branch. Where MySQL stores rows
                // in a temporary table before it sends them, it has the common type of the branches.
                if let Some(text) = functions::bind::output_text(expr).filter(|_| !stored) {
                    *expr = text;
                }
            }
        }
        let mut in_order = false;
        let ids = if bound.distinct {
            let (sorted, ids, by_hidden) = self.distinct(rel, &exprs, bound.order_by)?;
            rel = limited(sorted, limit);
            in_order = by_hidden;
            ids
        } else {
            if !bound.order_by.is_empty() {
                rel = Logical::Sort {
                    input: Box::new(rel),
                    keys: bound.order_by,
                };
            }
            // The rows that OFFSET leaves out are not computed: their items do not fail.
            let (projected, ids) = self.projected(limited(rel, limit), &exprs);
            rel = projected;
            ids
        };
        let columns = ids.into_iter().zip(&exprs).zip(shown).zip(results);
        let columns = columns.map(|(((id, expr), shown), result)| QueryColumn {
            id,
            ty: expr.ty(),
            nullable: result.nullable,
            expr: shown,
            result,
        });
        Ok(BoundQuery {
            root: rel,
            columns: columns.collect(),
            limit_of_output: limit_of_output.and_then(|limit| {
                Some(OutputLimit {
                    offset: limit.offset,
                    count: limit.count?,
                })
            }),
            max_execution: hints::time_limit(self, place.is_statement),
            in_order,
            is_merged,
            block: block_read,
        })
    }

    /// The groups of the rows, and the block's expressions over them.
    fn grouped(&self, bound: &mut BoundBlock, input: Logical) -> Result<Logical> {
        let key_ids: Vec<ColumnId> = bound.keys.iter().map(|_| self.new_column()).collect();
        let rollup = bound.rollup.then(|| self.new_column());
        let below: std::collections::BTreeSet<ColumnId> = input.output().iter().map(|c| c.id).collect();
        let mut groups = Groups {
            binder: self,
            keys: &bound.keys,
            key_ids: &key_ids,
            rollup,
            aggregates: &bound.aggregates,
            below: &below,
        };
        for (position, item) in bound.items.iter_mut().enumerate() {
            let own = bound.key_items.iter().find(|(of, _)| *of == position);
            item.expr = match own {
                Some((_, key)) => groups.key(*key, &item.expr),
                None => groups.rewrite(&item.expr)?,
            };
        }
        if let Some(having) = &mut bound.having {
            *having = groups.rewrite(having)?;
        }
        // Without GROUP BY there is one row.
        if bound.keys.is_empty() {
            bound.order_by.clear();
        }
        for key in &mut bound.order_by {
            key.expr = groups.rewrite(&key.expr)?;
        }
        for pending in bound.windows.borrow_mut().iter_mut() {
            groups.rewrite_window(pending)?;
        }
        bound.above.rewrite(&mut |expr| groups.rewrite(expr))?;
        // DISTINCT comes before the order, which is then by what is shown.
        if let Some(rollup) = rollup {
            let order = rollup_order(self, &bound.keys, &key_ids, rollup)?;
            if !bound.windows.borrow().is_empty() {
                bound.order_of_groups.clone_from(&order);
            }
            if !bound.distinct {
                bound.order_by.extend(order);
            }
        }
        Ok(Logical::Aggregate {
            input: Box::new(input),
            keys: key_ids.into_iter().zip(std::mem::take(&mut bound.keys)).collect(),
            aggregates: bound.aggregates.take(),
            rollup,
        })
    }

    /// The rows with the columns of expressions and no others; and the id of each.
    pub fn projected(&self, input: Logical, exprs: &[Expr]) -> (Logical, Vec<ColumnId>) {
        let below: std::collections::BTreeSet<ColumnId> = input.output().iter().map(|c| c.id).collect();
        let mut columns: Vec<(ColumnId, Expr)> = Vec::with_capacity(exprs.len());
        let mut ids = Vec::with_capacity(exprs.len());
        for expr in exprs {
            let own = match expr {
                // A column of another query's rows is a new one here.
                Expr::Column { index, .. } => Some(ColumnId(*index)).filter(|id| below.contains(id)),
                _ => None,
            };
            let id = own.unwrap_or_else(|| self.new_column());
            if !columns.iter().any(|(other, _)| *other == id) {
                columns.push((id, expr.clone()));
            }
            ids.push(id);
        }
        let projected = Logical::Project {
            input: Box::new(input),
            columns,
        };
        (projected, ids)
    }

    /// Rows are made distinct before they are ordered, so the order is by what they show. Without
    /// ONLY_FULL_GROUP_BY it may be by columns that they do not show: then by those of the first of the equal
    /// rows, as MySQL does. The last result says whether it is.
    fn distinct(
        &self,
        input: Logical,
        items: &[Expr],
        order_by: Vec<SortKey>,
    ) -> Result<(Logical, Vec<ColumnId>, bool)> {
        let mut hidden = Vec::new();
        let ids: Vec<ColumnId> = items.iter().map(|_| self.new_column()).collect();
        let mut keys = Vec::with_capacity(order_by.len());
        for key in order_by {
            keys.push(SortKey {
                expr: self.over_items(&key.expr, items, &ids, &mut hidden)?,
                descending: key.descending,
            });
        }
        let by_hidden = !hidden.is_empty();
        let shown: Vec<(ColumnId, Expr)> = ids.iter().copied().zip(items.iter().cloned()).collect();
        let mut rel = if by_hidden {
            Logical::Aggregate {
                input: Box::new(input),
                keys: shown,
                aggregates: hidden
                    .into_iter()
                    .map(|(id, column)| {
                        let call = aggregate::bind("any_value", vec![column], false, &self.types)?;
                        Ok((id, call))
                    })
                    .collect::<Result<_>>()?,
                rollup: None,
            }
        } else {
            Logical::Distinct {
                input: Box::new(Logical::Project {
                    input: Box::new(input),
                    columns: shown,
                }),
            }
        };
        if !keys.is_empty() {
            rel = Logical::Sort {
                input: Box::new(rel),
                keys,
            };
        }
        if by_hidden {
            let columns = ids.iter().zip(items);
            rel = Logical::Project {
                input: Box::new(rel),
                columns: columns
                    .map(|(id, item)| (*id, Expr::column(id.0, item.ty(), item.nullable())))
                    .collect(),
            };
        }
        Ok((rel, ids, by_hidden))
    }

    /// An expression over the columns of the items, instead of what they are made of. Columns that are in none
    /// of them come as `hidden` lists them.
    fn over_items(
        &self,
        expr: &Expr,
        items: &[Expr],
        ids: &[ColumnId],
        hidden: &mut Vec<(ColumnId, Expr)>,
    ) -> Result<Expr> {
        if let Some(index) = items.iter().position(|item| item == expr) {
            return Ok(Expr::column(ids[index].0, expr.ty(), expr.nullable()));
        }
        if matches!(expr, Expr::Column { .. }) {
            let same = hidden
                .iter()
                .find(|(_, column)| column == expr)
                .map(|(id, _)| *id);
            let id = same.unwrap_or_else(|| {
                let id = self.new_column();
                hidden.push((id, expr.clone()));
                id
            });
            return Ok(Expr::column(id.0, expr.ty(), expr.nullable()));
        }
        expr.of_parts(&mut |part| self.over_items(part, items, ids, hidden))
    }

    fn group_by(
        &self,
        select: &Select,
        items: &[Item],
        context: &Context<'_>,
        names: &ColumnsThenItems<'_>,
        is_of_groups: &dyn Fn(&Expr) -> bool,
    ) -> Result<GroupKeys> {
        let mut keys: Vec<Expr> = Vec::with_capacity(select.group_by.len());
        let mut key_items = Vec::new();
        let mut named = Vec::new();
        for item in &select.group_by {
            let (key, called) = match &item.expr {
                ast::Expr::Parameter(_) if self.types.literal_params => return Err(as_it_stands()),
                ast::Expr::Number(NumberText::Integer(digits)) => {
                    let item = ordinal(digits, items, GROUP_STATEMENT)?;
                    (item.expr.clone(), item.name.clone())
                }
                ast::Expr::Column(name) => {
                    let key = name_lookup::group_name(self, name, items, &names.tables);
                    let key = key.map_err(|error| resolution::hidden_column(self, name, error))?;
                    resolution::note_column(self, name, &key);
                    (key, name.column.clone())
                }
                expr if expr.has_aggregate() => {
                    return Err(self.aggregate_as_key(expr, &item.text, items, context));
                }
                expr => (self.scalar(expr, context)?, "???".to_owned()),
            };
            if is_of_groups(&key) {
                return Err(cannot_group_on(&called));
            }
            let is_meant = |item: &Item| item.expr == key && item.name.eq_ignore_ascii_case(&called);
            let meant = items.iter().position(is_meant);
            if !keys.contains(&key) {
                named.extend(meant);
                keys.push(key);
            } else if select.rollup {
                // Equal keys are rolled up one by one. An item that is the name of one is not of another.
                if let Some(item) = meant.filter(|item| !named.contains(item)) {
                    named.push(item);
                    key_items.push((item, keys.len()));
                }
                keys.push(key);
            }
        }
        Ok((keys, key_items))
    }

    /// 1056 if the aggregate is a select item, else 1111.
    fn aggregate_as_key(&self, expr: &ast::Expr, text: &str, items: &[Item], context: &Context<'_>) -> Error {
        let aggregates = Aggregates::default();
        let context = Context {
            aggregates: Some(&aggregates),
            ..*context
        };
        match self.scalar(expr, &context) {
            Ok(_) if items.iter().any(|item| item.name.eq_ignore_ascii_case(text)) => cannot_group_on(text),
            Ok(_) => invalid_group_function(),
            Err(error) => error,
        }
    }

    pub fn order_by(
        &self,
        select: &Block<'_>,
        items: &[Item],
        context: &Context<'_>,
        names: &ColumnsThenItems<'_>,
    ) -> Result<(Vec<SortKey>, Vec<OrderNames>)> {
        // An aggregate in ORDER BY alone does not make a query one with groups.
        let plain = select.group_by.is_empty() && !has_aggregates_to_show(select);
        let own = || context.aggregates.map_or(0, |own| own.borrow().len());
        let mut keys: Vec<SortKey> = Vec::with_capacity(select.order_by.len());
        let mut named = Vec::with_capacity(select.order_by.len());
        for (position, item) in select.order_by.iter().enumerate() {
            let before = own();
            let expr = match &item.expr {
                ast::Expr::Parameter(_) if self.types.literal_params => return Err(as_it_stands()),
                ast::Expr::Number(NumberText::Integer(digits)) => {
                    ordinal(digits, items, ORDER_CLAUSE)?.expr.clone()
                }
                ast::Expr::Column(name) => {
                    let key = name_lookup::order_name(name, items, &names.tables);
                    let key = key.map_err(|error| resolution::hidden_column(self, name, error))?;
                    resolution::note_column(self, name, &key);
                    key
                }
                expr => self.scalar(expr, context)?,
            };
            if plain && own() > before {
                return Err(aggregate_in_plain_order(position + 1));
            }
            let items = names.named.take();
            // A second key of the same value orders nothing.
            if !keys.iter().any(|key| key.expr == expr) {
                named.push(OrderNames {
                    items,
                    any_value: is_any_value(&item.expr),
                });
                keys.push(SortKey {
                    expr,
                    descending: item.descending,
                });
            }
        }
        Ok((keys, named))
    }
}

fn names_of<'a>(scope: &'a Scope, clause: &'static str, place: QueryPlace<'a>) -> ScopeNames<'a> {
    ScopeNames {
        scope,
        clause,
        outer: place.outer,
        in_aggregate: false,
    }
}

/// Error 3568 for a table of a locking clause that FROM has not, 3569 for a derived table, whose own query says what
/// it locks.
fn check_locks(binder: &Binder<'_>, block: &Block<'_>, scope: &Scope) -> Result<()> {
    for name in block.locking.iter().flat_map(|clause| &clause.of) {
        // Tables of two databases may have one name.
        let is_named = |relation: &Relation| {
            let is_of = |database: &String| match relation.definition() {
                Some(definition) => definition.database == *database,
                None => binder.env.database == Some(database.as_str()),
            };
            relation.alias == name.name && name.database.iter().all(is_of)
        };
        if !scope.relations.iter().any(is_named) {
            let database = name.database.iter().map(|database| format!("`{database}`."));
            return Err(Error::new(
                ER_UNRESOLVED_TABLE_LOCK,
                format!(
                    "Unresolved table name {}`{}` in locking clause.",
                    database.collect::<String>(),
                    name.name
                ),
            ));
        }
        if block.from.iter().any(|table| is_derived(table, &name.name)) {
            return Err(from::locked_twice(&name.name));
        }
    }
    Ok(())
}

/// Whether a name is that of a derived table.
fn is_derived(table: &TableRef, name: &str) -> bool {
    match table {
        TableRef::Table(_) => false,
        TableRef::Derived(derived) => derived.alias == name,
        TableRef::Json(json) => json.alias == name,
        TableRef::Join(join) => is_derived(&join.left, name) || is_derived(&join.right, name),
        TableRef::Nested(tables) => tables.iter().any(|table| is_derived(table, name)),
    }
}

fn is_grouped(select: &Block<'_>) -> bool {
    !select.group_by.is_empty()
        || has_aggregates_to_show(select)
        || select.order_by.iter().any(|item| item.expr.has_aggregate())
}

/// Whether GROUP BY only leaves out rows, of which the equal ones count once in any case.
fn has_idle_groups(block: &Block<'_>) -> bool {
    let makes = |expr: &ast::Expr| expr.has_aggregate() || expr.has_window();
    let in_item = |item: &ast::SelectItem| match item {
        ast::SelectItem::Expr { expr, .. } => makes(expr),
        ast::SelectItem::All | ast::SelectItem::AllOf(_) => false,
    };
    !block.group_by.is_empty()
        && !block.rollup
        && block.having.is_none()
        && block.limit.is_none()
        && !block.items.iter().any(in_item)
        && !block.order_by.iter().any(|item| makes(&item.expr))
}

fn has_aggregates_to_show(select: &Select) -> bool {
    let in_item = |item: &ast::SelectItem| match item {
        ast::SelectItem::Expr { expr, .. } => expr.has_aggregate(),
        _ => false,
    };
    select.items.iter().any(in_item) || select.having.as_ref().is_some_and(ast::Expr::has_aggregate)
}

/// A query that shows all its groups' keys shows no two equal rows, nor does one whose rows are one group.
fn groups_are_distinct(grouped: bool, keys: &[Expr], items: &[Item]) -> bool {
    grouped && keys.iter().all(|key| items.iter().any(|item| item.expr == *key))
}

/// The select item of a number in GROUP BY or ORDER BY.
fn ordinal<'i>(digits: &str, items: &'i [Item], clause: &str) -> Result<&'i Item> {
    let position: Option<usize> = digits.parse().ok();
    let item = position.and_then(|p| p.checked_sub(1)).and_then(|p| items.get(p));
    item.ok_or_else(|| {
        Error::new(
            errno::ER_BAD_FIELD_ERROR,
            format!("Unknown column '{digits}' in '{clause}'"),
        )
    })
}

fn is_any_value(expr: &ast::Expr) -> bool {
    matches!(expr, ast::Expr::Function { name, .. } if name.eq_ignore_ascii_case("any_value"))
}

/// Error 3029.
fn aggregate_in_plain_order(position: usize) -> Error {
    Error::new(
        ER_AGGREGATE_ORDER_NON_AGG_QUERY,
        format!(
            "Expression #{position} of ORDER BY contains aggregate function and applies to the result of a non-aggregated \
             query"
        ),
    )
}

/// Error 1056.
fn cannot_group_on(name: &str) -> Error {
    Error::new(errno::ER_WRONG_GROUP_FIELD, format!("Can't group on '{name}'"))
}
