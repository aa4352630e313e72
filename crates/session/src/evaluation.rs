//! What expressions of a statement know of it and of its session, and what they leave behind.

use std::sync::Arc;

use functions::{EvalContext, Strictness};
use types::{Value, Warning};

use crate::session::Session;

impl Session {
    /// What expressions of the statement that starts now know.
    pub(crate) fn eval_context(&self, params: Vec<Value>, strictness: Strictness) -> Arc<EvalContext> {
        if let Some(mut kept) = self.kept_context.lock().take()
            && let Some(context) = Arc::get_mut(&mut kept)
        {
            self.renew(context, params, strictness);
            return kept;
        }
        // All fields are named: defaults would be allocated first.
        Arc::new(EvalContext {
            params,
            sql_mode: self.settings.sql_mode,
            strictness,
            time_zone: self.settings.time_zone,
            now_us: self.now_us(),
            connection_id: self.process.id,
            user: self.user.clone(),
            current_user: self.current_user.clone(),
            database: self.database.clone(),
            last_insert_id: self.last_insert_id,
            row_count: self.row_count,
            found_rows: self.found_rows,
            div_precision_increment: self.settings.div_precision_increment,
            max_allowed_packet: self.settings.max_allowed_packet,
            group_concat_max_len: self.settings.group_concat_max_len,
            block_encryption: self.settings.block_encryption,
            version: crate::shared::VERSION,
            interrupted: self.interrupted.clone(),
            user_variables: self.user_variables.clone(),
            warnings: Default::default(),
            set_last_insert_id: Default::default(),
            user_locks: self.user_locks.clone(),
            state: Default::default(),
        })
    }

    /// Makes the context of the statement before that of the one which starts now. Most of it is the same.
    fn renew(&self, context: &mut EvalContext, given: Vec<Value>, strictly: Strictness) {
        // Every field is named, so that none is forgotten.
        let EvalContext {
            params,
            sql_mode,
            strictness,
            time_zone,
            now_us,
            connection_id,
            user,
            current_user,
            database,
            last_insert_id,
            row_count,
            found_rows,
            div_precision_increment,
            max_allowed_packet,
            group_concat_max_len,
            block_encryption,
            version,
            warnings,
            interrupted: _,
            set_last_insert_id,
            user_variables,
            user_locks: _,
            state,
        } = context;
        *params = given;
        *sql_mode = self.settings.sql_mode;
        *strictness = strictly;
        *time_zone = self.settings.time_zone;
        *now_us = self.now_us();
        *connection_id = self.process.id;
        follow(user, &self.user);
        follow(current_user, &self.current_user);
        match (&mut *database, &self.database) {
            (Some(database), Some(now)) => follow(database, now),
            (None, None) => {}
            _ => *database = self.database.clone(),
        }
        *last_insert_id = self.last_insert_id;
        *row_count = self.row_count;
        *found_rows = self.found_rows;
        *div_precision_increment = self.settings.div_precision_increment;
        *max_allowed_packet = self.settings.max_allowed_packet;
        *group_concat_max_len = self.settings.group_concat_max_len;
        *block_encryption = self.settings.block_encryption;
        *version = crate::shared::VERSION;
        drop(warnings.take());
        *set_last_insert_id.get_mut().unwrap_or_else(|e| e.into_inner()) = None;
        follow(user_variables, &self.user_variables);
        state.clear();
    }

    /// Keeps a context for the next statement, unless somebody still uses it, but for its parameters, which may be large. Neither
    /// what it interrupts nor what it locks changes in a session's life.
    pub(crate) fn keep_context(&self, mut context: Arc<EvalContext>) -> Vec<Value> {
        match Arc::get_mut(&mut context) {
            Some(unused) => {
                let params = std::mem::take(&mut unused.params);
                *self.kept_context.lock() = Some(context);
                params
            }
            None => context.params.clone(),
        }
    }

    /// Moves the statement's warnings to the diagnostics area.
    pub(crate) fn collect_warnings(&mut self, eval: &EvalContext) {
        self.keep_warnings(eval.warnings.take());
    }

    /// The same for warnings of planning.
    pub(crate) fn collect_planning_warnings(&mut self) {
        self.keep_warnings(self.planning_warnings.take());
    }

    pub(crate) fn keep_warnings(&mut self, (warnings, count): (Vec<Warning>, u64)) {
        if count == 0 {
            return;
        }
        let notes = self.settings.notes;
        let kept: Vec<Warning> = warnings
            .into_iter()
            .filter(|w| notes || w.level != types::WarningLevel::Note)
            .collect();
        let dropped = count.saturating_sub(kept.len() as u64);
        self.diagnostics.count += kept.len() as u64 + if notes { dropped } else { 0 };
        let room = self
            .settings
            .max_error_count
            .saturating_sub(self.diagnostics.warnings.len());
        self.diagnostics.warnings.extend(kept.into_iter().take(room));
    }

    /// Keeps what functions left for the session: LAST_INSERT_ID(expr).
    pub(crate) fn end_of_evaluation(&mut self, eval: &EvalContext) {
        let set = eval
            .set_last_insert_id
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .take();
        if let Some(id) = set {
            self.last_insert_id = id;
        }
        let assigned = eval.state.take_assigned();
        if !assigned.is_empty() {
            Arc::make_mut(&mut self.user_variables).extend(assigned);
            self.assignments += 1;
        }
    }
}

/// Owners of what is the same are not counted again.
fn follow<T: ?Sized>(kept: &mut Arc<T>, now: &Arc<T>) {
    if !Arc::ptr_eq(kept, now) {
        kept.clone_from(now);
    }
}
