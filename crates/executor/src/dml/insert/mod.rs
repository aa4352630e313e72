//! INSERT and REPLACE, with IGNORE and ON DUPLICATE KEY UPDATE.
//!
//! [`rows`] makes the rows, and [`on_duplicate`] changes an existing row for ON DUPLICATE KEY UPDATE. This
//! file writes the rows, a batch at a time: all keys of a batch are locked in one call, whose results show
//! which rows are duplicates. [`bulk`] is another way to write the rows of a file.

mod bulk;
mod existing;
mod file;
mod literals;
mod on_duplicate;
mod rows;

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::record_batch::RecordBatch;
use functions::Expr;
use kv::{Timestamp, Transaction};
use planner::plan::{InsertMode, InsertPlan, InsertSource, QueryPlan, Rel};
use schema::layout::RowHandle;
use schema::model::{Handle, IndexPart, Table};
use types::{Error, Result};

use self::existing::existing;
use self::on_duplicate::OnDuplicate;
use self::rows::{NewRow, NewRows, RowMaker, Template};
use super::auto_increment::number_of;
use super::foreign_key::ForeignKeys;
use super::image::{Image, ImageMaker, UniqueKey, is_misplaced};
use super::row_check::{self, ViewChecker};
use super::table_codec::TableCodec;
use super::touched::Touched;
use super::writer::{Conflict, Writer};
use super::{assign, duplicate};
use crate::batch::ALL_ROWS;
use crate::context::{DmlResult, ExecContext};
use crate::dml::{last_insert_id_set, warn};
use crate::env::{Env, check_interrupted};
use crate::memory::Memory;
use crate::operator::{sort, tree};
use crate::source::ReadSource;
use crate::spill::HeldRows;

/// Runs an INSERT or REPLACE in a transaction. On failure the caller undoes what was written.
///
/// # Errors
/// 1062, 1048, 1364, 1467, what conversions and the query fail with, and failures of locks and of the store.
pub fn insert(plan: &InsertPlan, txn: &mut Transaction, ctx: &ExecContext<'_>) -> Result<DmlResult> {
    let table: &Table = &plan.table;
    let layout = plan.execution_cache.get_or_make(|| InsertLayout::of(plan))?;
    let maker = ImageMaker::new(table, &layout.codec, plan.partitions.as_deref(), ctx.eval)?;
    let template = match &layout.template {
        Some(template) => Cow::Borrowed(template),
        None => Cow::Owned(Template::of(plan, &layout.codec, ctx.eval)?),
    };
    let memory = match (&plan.source, &plan.foreign_keys) {
        (InsertSource::Values(_) | InsertSource::Literals(_), None)
            if plan.row_queries().next().is_none() =>
        {
            None
        }
        _ => Some(Memory::in_transaction(ctx, txn)),
    };
    let mut insert = Insert {
        table,
        plan,
        ctx,
        rows: RowMaker::new(plan, template, txn.start_ts(), ctx)?,
        on_duplicate: match (&plan.mode, &layout.touched) {
            (InsertMode::Update(update), Some(touched)) => {
                Some(OnDuplicate::new(plan, update, touched, memory.as_ref())?)
            }
            _ => None,
        },
        keys: ForeignKeys::of(plan.foreign_keys.as_deref(), memory.as_ref(), ctx)?,
        check: ViewChecker::of(plan.check.as_ref(), memory.as_ref())?,
        result: DmlResult::default(),
        last_id: 0,
    };
    let written = insert.write_source(memory.as_ref(), txn, &maker);
    let ids = insert.rows.finish(written.is_err());
    written.and(ids)?;
    Ok(insert.result())
}

/// The parts of an INSERT that are the same in every execution.
struct InsertLayout {
    codec: Arc<TableCodec>,
    /// What ON DUPLICATE KEY UPDATE changes.
    touched: Option<Touched>,
    /// Set if the defaults are the same in every execution, too.
    template: Option<Template>,
}

impl InsertLayout {
    fn of(plan: &InsertPlan) -> Result<Self> {
        let codec = TableCodec::of(&plan.table)?;
        let touched = match &plan.mode {
            InsertMode::Update(update) => Some(Touched::by(&update.assignments, &plan.table, &codec)?),
            InsertMode::Insert | InsertMode::Replace => None,
        };
        Ok(Self {
            template: Template::constant(plan, &codec),
            codec,
            touched,
        })
    }
}

/// The images of a batch's rows.
struct Images {
    images: Vec<Image>,
    /// The positions of the rows that have none, because no partition takes them, in ascending order; and why.
    misplaced: Vec<(usize, Error)>,
}

impl Images {
    /// The image of each row in turn, or the error of one that has none.
    fn of_rows(self) -> impl Iterator<Item = Result<Image>> {
        let (mut images, mut misplaced) = (self.images.into_iter(), self.misplaced.into_iter().peekable());
        (0..).map_while(move |number| match misplaced.next_if(|(at, _)| *at == number) {
            Some((_, error)) => Some(Err(error)),
            None => images.next().map(Ok),
        })
    }
}

struct Insert<'p> {
    table: &'p Table,
    plan: &'p InsertPlan,
    ctx: &'p ExecContext<'p>,
    rows: RowMaker<'p>,
    on_duplicate: Option<OnDuplicate<'p>>,
    keys: Option<ForeignKeys<'p>>,
    check: Option<ViewChecker<'p>>,
    result: DmlResult,
    /// The AUTO_INCREMENT column's value in the last row, as the statement wrote it. It is the insert id if
    /// the statement wrote rows and generated no id.
    last_id: u64,
}

impl Insert<'_> {
    fn write_source(
        &mut self,
        memory: Option<&Memory<'_>>,
        txn: &mut Transaction,
        maker: &ImageMaker<'_>,
    ) -> Result<()> {
        match (&self.plan.source, memory) {
            (InsertSource::Query(query), Some(memory)) => self.write_query(query, memory, txn, maker),
            (InsertSource::File(file), Some(memory)) => self.write_file(file, memory, txn, maker),
            (InsertSource::Values(rows), _) => {
                let mut writer = Writer::new(txn, maker, self.ctx);
                let mut rest = rows.as_slice();
                while !rest.is_empty() {
                    let (new, count) = self.rows.of_values(rest);
                    rest = rest.get(count..).unwrap_or_default();
                    self.write(new, &mut writer)?;
                }
                Ok(())
            }
            (InsertSource::Literals(values), _) => {
                let mut writer = Writer::new(txn, maker, self.ctx);
                let mut first = 0;
                while first < values.rows.len() {
                    let (new, count) = self.rows.of_literals(values, first);
                    first += count;
                    self.write(new, &mut writer)?;
                }
                Ok(())
            }
            _ => Err(Error::internal("an INSERT without its memory")),
        }
    }

    /// INSERT ... SELECT: the query sees the data as it was before the statement.
    fn write_query(
        &mut self,
        query: &QueryPlan,
        memory: &Memory<'_>,
        txn: &mut Transaction,
        maker: &ImageMaker<'_>,
    ) -> Result<()> {
        let ctx = self.ctx;
        let (below, projected) = match without_decimals(&query.root) {
            Some((below, exprs)) => (below, Some(exprs)),
            None => (Cow::Borrowed(&query.root), None),
        };
        let implied = ctx.insert_select.filter(|_| !reads_past(&below));
        let holds_least_after_sort = sort::holds_least_after_sort(&below);
        if query.locking.or(implied).is_some() {
            let gathers = !locks_at_once(&below, false, implied.is_some());
            let mut gathered = HeldRows::builder();
            let mut root = None;
            loop {
                let mut source = ReadSource::Transaction(txn);
                let mut env = Env {
                    implied_locking: implied,
                    holds_least_after_sort,
                    ..Env::new(ctx, &mut source, memory)
                };
                let root = match &mut root {
                    Some(root) => root,
                    None => root.insert(tree::open(&below, &mut env)?),
                };
                match root.next(&mut env, ALL_ROWS)? {
                    Some(batch) if gathers => {
                        gathered.add(batch, memory, ctx)?;
                    }
                    Some(batch) => {
                        let new = self.rows_of(&batch, query, projected);
                        self.write(new, &mut Writer::new(txn, maker, ctx))?;
                    }
                    None => break,
                }
            }
            let mut writer = Writer::new(txn, maker, ctx);
            let mut gathered = Rc::new(gathered.finish()?).read()?;
            while let Some(batch) = gathered.next()? {
                let new = self.rows_of(&batch, query, projected);
                self.write(new, &mut writer)?;
            }
            return Ok(());
        }
        let view = txn.view();
        let mut source = ReadSource::View {
            view: &view,
            snapshot_ts: txn.snapshot_ts(),
        };
        let mut env = Env {
            holds_least_after_sort,
            ..Env::new(ctx, &mut source, memory)
        };
        let mut root = tree::open(&below, &mut env)?;
        let mut writer = Writer::new(txn, maker, ctx);
        while let Some(batch) = root.next(&mut env, ALL_ROWS)? {
            let new = self.rows_of(&batch, query, projected);
            self.write(new, &mut writer)?;
        }
        Ok(())
    }

    fn rows_of(&mut self, batch: &RecordBatch, query: &QueryPlan, projected: Option<&[Expr]>) -> NewRows {
        match projected {
            Some(exprs) => self.rows.of_projected(batch, exprs, query),
            None => self.rows.of_batch(batch, query),
        }
    }

    /// Writes some rows, in order. All of them have been made before; still, errors and warnings come in the
    /// order of the rows: the error of writing a row comes before the failure to make a later one, and its
    /// warnings before those of later rows.
    fn write(&mut self, new: NewRows, writer: &mut Writer<'_, '_>) -> Result<()> {
        check_interrupted(self.ctx)?;
        let NewRows { rows, failed, warned } = new;
        let mut warnings = self.ctx.eval.warnings.take_back(warned);
        let images = self.images(&rows, writer.maker, writer.txn.start_ts())?;
        let fails = failed.is_some() || !images.misplaced.is_empty();
        match self.plan.mode {
            InsertMode::Insert if !self.plan.ignore && !fails => writer.expect_new(&images.images)?,
            InsertMode::Insert => writer.lock_images(&images.images, false)?,
            InsertMode::Replace | InsertMode::Update(_) => writer.lock_images(&images.images, true)?,
        }
        writer.find_outdated(images.images.iter().map(|image| image.key.as_slice()))?;
        if let Some(keys) = &mut self.keys {
            keys.lock_parents(rows.iter().map(|row| (None, &row.values)), writer.txn)?;
        }
        for (row, image) in rows.into_iter().zip(images.of_rows()) {
            warnings.report_until(row.warned);
            let (check, ignore) = (self.check.as_ref(), self.plan.ignore);
            if !row_check::view_admits(check, &row.values, ignore, writer.txn, self.ctx)? {
                self.rows.keep_unused_id(&row);
                continue;
            }
            self.result.records += 1;
            match image {
                Ok(image) => self.write_one(row, image, writer)?,
                Err(error) => self.leave_out(&row, error)?,
            }
        }
        warnings.report_all();
        writer.forget();
        failed.map_or(Ok(()), Err)
    }

    /// With IGNORE, a row that no partition takes is left out.
    fn leave_out(&mut self, row: &NewRow, error: Error) -> Result<()> {
        if !self.plan.ignore {
            return Err(error);
        }
        self.result.duplicates += 1;
        warn(self.ctx.eval, error.code, error.message);
        self.rows.keep_unused_id(row);
        Ok(())
    }

    /// The images of rows, up to the first that no partition takes; with IGNORE, of all others.
    fn images(&self, rows: &[NewRow], maker: &ImageMaker<'_>, start_ts: Timestamp) -> Result<Images> {
        let mut hidden = match self.table.handle {
            Handle::Hidden if !rows.is_empty() => {
                let first = self
                    .ctx
                    .cluster
                    .ids()
                    .allocate_row_ids(self.table, rows.len() as u64)?;
                let layout = self.table.row_id_layout();
                Some((first..).map(move |sequence| layout.id(start_ts, sequence) as i64))
            }
            _ => None,
        };
        let mut made = Images {
            images: Vec::with_capacity(rows.len()),
            misplaced: Vec::new(),
        };
        for (number, row) in rows.iter().enumerate() {
            let handle = hidden.as_mut().and_then(Iterator::next).map(RowHandle::Int);
            match maker.image(&row.values, handle.as_ref(), maker.secondary()) {
                Ok(image) => made.images.push(image),
                Err(error) if is_misplaced(&error) => {
                    made.misplaced.push((number, error));
                    if !self.plan.ignore {
                        break;
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(made)
    }

    fn duplicate(&self, key: UniqueKey, row: &NewRow) -> Error {
        duplicate::error(self.table, key, &row.values, &self.ctx.eval.sql_mode)
    }

    fn write_one(&mut self, mut row: NewRow, mut image: Image, writer: &mut Writer<'_, '_>) -> Result<()> {
        if self.rows.take_unused_id(&mut row) {
            image = self.image_with_id(&row, &image, writer)?;
        }
        while let Some(conflict) = writer.conflict(&image, None)? {
            match (&self.plan.mode, &self.on_duplicate) {
                _ if self.is_id_of_another_server(&row, conflict) => {
                    image = self.give_another_id(&mut row, &image, writer)?;
                }
                _ if conflict.is_building => {
                    return Err(self.duplicate(conflict.key, &row));
                }
                // The last id is repeated when ids have run out: the row that has it is no older version of this one.
                (InsertMode::Replace, _) if self.rows.has_made_part(&row, &self.parts_of(conflict.key)) => {
                    return Err(self.duplicate(conflict.key, &row));
                }
                (InsertMode::Replace, _) => {
                    if self.replace(&row, &image, conflict, writer)? {
                        self.rows.wrote(&row);
                        self.note_last_id(&row);
                        return Ok(());
                    }
                }
                (InsertMode::Update(_), Some(on_duplicate)) => {
                    let old = existing(&image, conflict, writer)?;
                    let number = self.result.records;
                    let changed = on_duplicate.run(
                        &old,
                        (&row.values, &row.further),
                        number,
                        &self.rows.warned_nulls,
                        (writer, self.keys.as_mut()),
                        self.ctx,
                    )?;
                    changed.count(&mut self.result, self.plan.ignore);
                    self.rows.keep_unused_id(&row);
                    if let Some(id) = &changed.id {
                        self.rows.note_id(id);
                    }
                    if let Some(id) = changed.id.as_ref().or_else(|| self.rows.id_of(&old.row)) {
                        self.last_id = number_of(id);
                    }
                    return Ok(());
                }
                _ => {
                    let error = self.duplicate(conflict.key, &row);
                    if !self.plan.ignore {
                        if matches!(self.plan.source, InsertSource::Query(_)) {
                            self.rows.failed_at(&row);
                        }
                        return Err(error);
                    }
                    warn(self.ctx.eval, error.code, error.message);
                    self.result.duplicates += 1;
                    self.rows.keep_unused_id(&row);
                    self.note_last_id(&row);
                    return Ok(());
                }
            }
        }
        if let Some(keys) = &mut self.keys {
            // Nothing has been written for the row, so there is nothing to undo.
            let checked = keys.check_parents(None, &row.values, writer.txn);
            let savepoint = self.plan.ignore.then(|| writer.txn.savepoint());
            if !keys.settle(checked, savepoint, writer.txn)? {
                self.rows.keep_unused_id(&row);
                self.result.duplicates += 1;
                return Ok(());
            }
        }
        let value = writer.maker.value(&row.values)?;
        writer.insert(image, value)?;
        self.result.affected += 1;
        self.result.matched += 1;
        self.note_id(&row);
        Ok(())
    }

    /// Notes the id of a row that has been written.
    fn note_id(&mut self, row: &NewRow) {
        if let Some(id) = row.generated {
            let first = *self.result.generated_id.get_or_insert(id);
            if self.plan.sets_last_id {
                self.ctx.eval.generated_id.store(first, Ordering::Relaxed);
            }
        }
        self.rows.wrote(row);
        self.note_last_id(row);
    }

    /// Whether the id that was generated for a row belongs to another row. MySQL never generates such an id,
    /// except for the last one when ids have run out. Here a client of another server can have inserted it
    /// explicitly, out of the range that this server has leased.
    fn is_id_of_another_server(&self, row: &NewRow, conflict: Conflict) -> bool {
        self.ctx.cluster.node().is_some() && self.rows.has_made_key(row, &self.parts_of(conflict.key))
    }

    fn parts_of(&self, key: UniqueKey) -> Vec<IndexPart> {
        match key {
            UniqueKey::Primary => self.table.primary_parts(),
            UniqueKey::Index(index) => self
                .table
                .indexes
                .get(index)
                .map_or_else(Vec::new, |index| index.parts.clone()),
        }
    }

    fn give_another_id(
        &mut self,
        row: &mut NewRow,
        image: &Image,
        writer: &mut Writer<'_, '_>,
    ) -> Result<Image> {
        check_interrupted(self.ctx)?;
        self.rows.give_another_id(row)?;
        self.image_with_id(row, image, writer)
    }

    /// The image of a row that has got another id since `image` was made.
    fn image_with_id(&self, row: &NewRow, image: &Image, writer: &mut Writer<'_, '_>) -> Result<Image> {
        let maker = writer.maker;
        let hidden = match maker.hides_handles() {
            true => Some(maker.handle(&image.key)?),
            false => None,
        };
        let image = maker.image(&row.values, hidden.as_ref(), maker.secondary())?;
        let reads_rows = !matches!(self.plan.mode, InsertMode::Insert);
        writer.lock_images(std::slice::from_ref(&image), reads_rows)?;
        Ok(image)
    }

    fn note_last_id(&mut self, row: &NewRow) {
        if let Some(id) = self.rows.id_of(&row.values) {
            self.last_id = number_of(id);
        }
    }

    /// Removes the existing row for a REPLACE. `true` if the existing row is the same and stays.
    fn replace(
        &mut self,
        row: &NewRow,
        image: &Image,
        conflict: Conflict,
        writer: &mut Writer<'_, '_>,
    ) -> Result<bool> {
        let old = existing(image, conflict, writer)?;
        // MySQL updates the row in place if no other unique key can conflict, and does not count a row that
        // stays the same.
        let is_referenced = self.keys.as_ref().is_some_and(ForeignKeys::has_children);
        if conflict.last && !is_referenced && assign::is_same_row(&old.row, &row.values) {
            self.result.affected += 1;
            self.result.matched += 1;
            return Ok(true);
        }
        let maker = writer.maker;
        let image = maker.image_beside(&old.key, &old.row, Some(&old.handle), maker.secondary())?;
        if let Some(keys) = &mut self.keys {
            keys.lock_removed(std::iter::once((old.key.as_slice(), &old.row)), writer)?;
        }
        writer.delete(image)?;
        if let Some(keys) = &mut self.keys {
            keys.removed(std::slice::from_ref(&old.row), writer.txn)?;
        }
        self.result.affected += 1;
        self.result.matched += 1;
        self.result.duplicates += 1;
        Ok(false)
    }

    fn result(self) -> DmlResult {
        let set = last_insert_id_set(self.ctx.eval);
        // MySQL reports no such id for INSERT ... SELECT ... ON DUPLICATE KEY UPDATE.
        let updates_from_query = matches!(
            (&self.plan.mode, self.plan.given_rows),
            (InsertMode::Update(_), None)
        );
        let last_id = if self.result.affected > 0 && !updates_from_query {
            self.last_id
        } else {
            0
        };
        let ok_insert_id = self.result.generated_id.or(set).unwrap_or(last_id);
        DmlResult {
            ok_insert_id,
            ..self.result
        }
    }
}

/// The plan below a query's last projection, and its expressions, if one of them computes a DECIMAL: an array
/// would cut all its rows to the scale of the type.
fn without_decimals(root: &Rel) -> Option<(Cow<'_, Rel>, &[Expr])> {
    let is_computed =
        |expr: &Expr| expr.ty().is_decimal() && matches!(expr, Expr::Call { .. } | Expr::Case { .. });
    match root {
        Rel::Project { input, exprs } if exprs.iter().any(is_computed) => Some((Cow::Borrowed(input), exprs)),
        Rel::Limit { input, offset, count } => {
            let (below, exprs) = without_decimals(input)?;
            let limited = Rel::Limit {
                input: Box::new(below.into_owned()),
                offset: offset.clone(),
                count: count.clone(),
            };
            Some((Cow::Owned(limited), exprs))
        }
        _ => None,
    }
}

/// Whether the scans of a query lock all rows that the query needs before it returns its first row, so that
/// the query cannot see what the statement writes. Operators that drop rows below a LIMIT ask for more rows
/// later, and expressions that assign variables ask for one row after the other. Joins and subqueries read
/// some of their tables row by row. `locks_all`: scans without a locking clause lock, too.
fn locks_at_once(rel: &Rel, is_limited: bool, locks_all: bool) -> bool {
    let at_once = |input, is_limited| locks_at_once(input, is_limited, locks_all);
    match rel {
        Rel::OneRow | Rel::Virtual(_) | Rel::Values { .. } | Rel::JsonTable(_) => true,
        Rel::Scan(scan) => locks_all || scan.locking.is_some(),
        Rel::Limit { input, .. } => at_once(input, true),
        Rel::Measured { input, .. } | Rel::Pushed { input } => at_once(input, is_limited),
        Rel::Sort { input, .. } | Rel::Aggregate { input, .. } => at_once(input, false),
        Rel::Project { input, exprs } => !exprs.iter().any(functions::assigns) && at_once(input, is_limited),
        Rel::Filter { input, predicate } => {
            !is_limited && !functions::assigns(predicate) && at_once(input, false)
        }
        Rel::Distinct { input } | Rel::Repeat { input, .. } => !is_limited && at_once(input, false),
        Rel::Join(_)
        | Rel::LookupJoin(_)
        | Rel::Apply(_)
        | Rel::Window { .. }
        | Rel::SetOperation { .. }
        | Rel::With { .. }
        | Rel::Recursive { .. }
        | Rel::CommonTable { .. } => false,
    }
}

/// Whether a query reads the past, where nothing can be locked.
fn reads_past(rel: &Rel) -> bool {
    rel.scans().iter().any(|scan| scan.as_of.is_some())
}
