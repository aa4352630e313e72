//! SHOW OPEN TABLES.

use std::collections::HashMap;

use cluster::metadata_lock::{Purpose, Stage};
use types::{Collation, Value};

use crate::listing::{Listing, int_type, text, text_type};
use crate::session::Session;

/// All stored tables, since all definitions are in memory, and how many statements and LOCK TABLES use each.
pub fn open_tables(session: &Session, database: Option<&str>, pattern: Option<&str>) -> Listing {
    let mut listing = Listing::new(&[
        ("Database", text_type(64)),
        ("Table", text_type(64)),
        ("In_use", int_type(1)),
        ("Name_locked", int_type(4)),
    ])
    .all_never_null();
    let uses = uses(session);
    let schema = session.shared.engine.cluster.schema();
    let mut tables: Vec<_> = schema.tables().collect();
    tables.sort_by(|a, b| (&a.database, &a.name).cmp(&(&b.database, &b.name)));
    for table in tables {
        let is_named = database.is_none_or(|database| database == table.database)
            && pattern.is_none_or(|pattern| functions::like(pattern, &table.name, Collation::Utf8mb4Bin));
        let is_listed = table.view.is_none()
            && !table.is_virtual()
            && session.client.privileges.may_see(&table.database, &table.name);
        if is_named && is_listed {
            let used = uses.get(&table.id).copied().unwrap_or(0);
            listing.push(vec![
                text(&table.database),
                text(&table.name),
                Value::Int(used),
                Value::Int(0),
            ]);
        }
    }
    listing
}

/// How many statements and sessions use each table, by its id. Those of a transaction count while one of its statements
/// runs.
fn uses(session: &Session) -> HashMap<i64, i64> {
    let mut uses: HashMap<i64, i64> = HashMap::new();
    for claim in session.shared.engine.cluster.metadata_locks().claims() {
        let counts = match claim.purpose {
            Purpose::LockTables => claim.stage == Stage::Holds,
            Purpose::Alter => claim.stage != Stage::Waits,
            _ => false,
        };
        for (table, _) in claim.tables.iter().filter(|_| counts) {
            *uses.entry(*table).or_default() += 1;
        }
    }
    for process in session.shared.processes.all() {
        let is_running = process.id != session.process.id && process.activity().statement.is_some();
        for used in process
            .table_uses()
            .iter()
            .filter(|used| is_running && !used.waits)
        {
            *uses.entry(used.table).or_default() += 1;
        }
    }
    uses
}
