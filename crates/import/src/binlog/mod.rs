//! MySQL's and MariaDB's binary log in row format: events, and the rows in them.
//!
//! The connection to the source is the driver's; what is inside an event is read here, because each value has
//! to be exact: unsigned numbers where the log does not say so, `YEAR` 0, fractions, JSON with its decimals.
//! Sources: "MySQL Internals", "Replication Protocol"; MariaDB's knowledge base, "Replication Protocol".
//!
//! - [`bytes`]: reading without panics. [`event`]: events. [`table_map`] and [`rows`]: what changed.
//! - [`value`]: one column, [`packed`] what it shares with [`json`]: MySQL's binary JSON as text.
//! - [`gtid`]: sets of transactions. [`reader`]: events from a server, on a thread of its own.

mod bytes;
pub(crate) mod event;
pub(crate) mod gtid;
mod json;
mod packed;
pub(crate) mod reader;
pub(crate) mod rows;
pub(crate) mod table_map;
mod value;

/// Reads a part of a log: the number of changed rows, and of bytes in them. `None` if it is not one.
pub fn count_changes(mut log: &[u8]) -> Option<(usize, usize)> {
    let mut maps = std::collections::HashMap::new();
    let mut pending: std::collections::VecDeque<event::RawEvent> = std::collections::VecDeque::new();
    let (mut rows, mut bytes) = (0, 0);
    loop {
        let event = match pending.pop_front() {
            Some(event) => event,
            None if log.is_empty() => return Some((rows, bytes)),
            None => {
                let event = event::RawEvent::parse(log).ok()?;
                log = log.get(event.size as usize..).unwrap_or_default();
                event
            }
        };
        match event.read().ok()? {
            event::Event::TableMap(map) => drop(maps.insert(map.id, map)),
            event::Event::Rows(changed) => {
                let changed = changed.rows(maps.get(&changed.table)?, &[]).ok()?;
                rows += changed.len();
                bytes += event.data.len();
            }
            event::Event::Payload(events) => pending.extend(events),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
