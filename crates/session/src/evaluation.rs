//! Evaluation contexts: the data of a statement and its session that expressions read, and the effects that
//! they leave.

use std::sync::Arc;

use functions::{EvalContext, InsertId, Strictness};
use types::Value;

use crate::view::SessionView;

/// Makes the evaluation contexts of a session's statements. Reuses the previous one if it is no longer in
/// use.
#[derive(Default)]
pub struct EvalContexts {
    unused: Option<Arc<EvalContext>>,
}

impl EvalContexts {
    /// The context for the statement that starts now.
    pub fn next(
        &mut self,
        view: SessionView<'_>,
        params: Vec<Value>,
        strictness: Strictness,
    ) -> Arc<EvalContext> {
        if let Some(mut unused) = self.unused.take()
            && let Some(context) = Arc::get_mut(&mut unused)
        {
            renew(context, view, params, strictness);
            return unused;
        }
        // All fields are given, because defaults would allocate.
        Arc::new(EvalContext {
            params,
            sql_mode: view.settings.sql_mode,
            strictness,
            time_zone: view.settings.time_zone,
            now_us: view.now_us(),
            connection_id: view.process.id,
            identity: view.client.identity.clone(),
            database: view.database.clone(),
            last_insert_id: view.last.insert_id,
            row_count: view.last.row_count,
            found_rows: view.last.found_rows,
            div_precision_increment: view.settings.div_precision_increment,
            max_allowed_packet: view.settings.max_allowed_packet,
            group_concat_max_len: view.settings.group_concat_max_len,
            block_encryption: view.settings.block_encryption,
            locale: view.settings.locale,
            version: crate::shared::VERSION,
            interrupted: view.interrupted.clone(),
            user_variables: view.user_variables.shared().clone(),
            warnings: Default::default(),
            set_last_insert_id: Default::default(),
            insert_id: InsertId {
                id: view.last.forced_id,
                ..InsertId::default()
            },
            generated_id: Default::default(),
            user_locks: view.user_locks.clone(),
            server: view.shared.clone(),
            state: Default::default(),
            digest: crate::events::digest,
            reads: Default::default(),
            work: Default::default(),
        })
    }

    /// Takes a context back for the next statement, without its parameters, which may be large. Its interrupt,
    /// its user-level locks and the server's files stay the same during a session.
    pub fn give_back(&mut self, mut context: Arc<EvalContext>) -> Vec<Value> {
        match Arc::get_mut(&mut context) {
            Some(unused) => {
                let params = std::mem::take(&mut unused.params);
                self.unused = Some(context);
                params
            }
            None => context.params.clone(),
        }
    }
}

/// Turns the context of the previous statement into that of the one that starts now. Most of it stays the
/// same.
fn renew(context: &mut EvalContext, view: SessionView<'_>, given: Vec<Value>, strictly: Strictness) {
    // Every field is named, so that none is forgotten.
    let EvalContext {
        params,
        sql_mode,
        strictness,
        time_zone,
        now_us,
        connection_id,
        identity,
        database,
        last_insert_id,
        row_count,
        found_rows,
        div_precision_increment,
        max_allowed_packet,
        group_concat_max_len,
        block_encryption,
        locale,
        version,
        warnings,
        interrupted: _,
        set_last_insert_id,
        insert_id,
        generated_id,
        user_variables,
        user_locks: _,
        server: _,
        state,
        digest: _,
        // Counts are taken at the end of each statement.
        reads: _,
        work: _,
    } = context;
    *params = given;
    *sql_mode = view.settings.sql_mode;
    *strictness = strictly;
    *time_zone = view.settings.time_zone;
    *now_us = view.now_us();
    *connection_id = view.process.id;
    share(identity, &view.client.identity);
    match (&mut *database, view.database) {
        (Some(database), Some(now)) => share(database, now),
        (None, None) => {}
        _ => *database = view.database.clone(),
    }
    *last_insert_id = view.last.insert_id;
    *row_count = view.last.row_count;
    *found_rows = view.last.found_rows;
    *div_precision_increment = view.settings.div_precision_increment;
    *max_allowed_packet = view.settings.max_allowed_packet;
    *group_concat_max_len = view.settings.group_concat_max_len;
    *block_encryption = view.settings.block_encryption;
    *locale = view.settings.locale;
    *version = crate::shared::VERSION;
    drop(warnings.take());
    *set_last_insert_id.get_mut().unwrap_or_else(|e| e.into_inner()) = None;
    insert_id.id = view.last.forced_id;
    *insert_id.is_used.get_mut() = false;
    *generated_id.get_mut() = 0;
    share(user_variables, view.user_variables.shared());
    state.clear();
}

/// Makes `held` point to the present value. If it is the same one, no reference count changes.
fn share<T: ?Sized>(held: &mut Arc<T>, now: &Arc<T>) {
    if !Arc::ptr_eq(held, now) {
        held.clone_from(now);
    }
}
