//! Sums of statements by the names of their events: `events_statements_summary_by_thread_by_event_name` and its like.
//! Each session has its own. A sum over all sessions is computed when it is read.

use parking_lot::Mutex;

use super::event::StatementEvent;
use super::event_name::{EventName, NAMES};
use super::sums::Sum;

/// The sums of one session, or of all sessions that have ended. The lock is the session's own, so it is free nearly always.
#[derive(Default)]
pub struct SumsByName(Mutex<Inner>);

struct Inner {
    /// Where the sums of a name are, plus one; 0: there are none.
    places: [u8; NAMES],
    sums: Vec<NameSums>,
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            places: [0; NAMES],
            sums: Vec::new(),
        }
    }
}

/// The statements of one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameSums {
    pub count: u64,
    pub least_ns: u64,
    pub most_ns: u64,
    pub sums: [u64; Sum::COUNT],
}

impl Default for NameSums {
    fn default() -> Self {
        Self {
            count: 0,
            least_ns: u64::MAX,
            most_ns: 0,
            sums: [0; Sum::COUNT],
        }
    }
}

impl NameSums {
    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.least_ns = self.least_ns.min(other.least_ns);
        self.most_ns = self.most_ns.max(other.most_ns);
        self.sums
            .iter_mut()
            .zip(other.sums)
            .for_each(|(sum, by)| *sum += by);
    }
}

impl Inner {
    #[inline]
    fn of(&mut self, name: u8) -> &mut NameSums {
        let place = match self.places[usize::from(name)] {
            0 => self.new_place(name),
            place => place,
        };
        &mut self.sums[usize::from(place) - 1]
    }

    #[cold]
    fn new_place(&mut self, name: u8) -> u8 {
        self.sums.push(NameSums::default());
        // There are fewer names than 255.
        let place = self.sums.len() as u8;
        self.places[usize::from(name)] = place;
        place
    }

    fn add(&mut self, other: &Self) {
        for (name, place) in other.places.iter().enumerate() {
            if let Some(sums) = usize::from(*place).checked_sub(1).map(|at| &other.sums[at]) {
                self.of(name as u8).add(sums);
            }
        }
    }
}

impl SumsByName {
    /// Adds a statement that has ended.
    #[inline]
    pub fn record(&self, event: &StatementEvent, took_ns: u64) {
        let mut inner = self.0.lock();
        let sums = inner.of(event.name.place());
        sums.count += 1;
        sums.least_ns = sums.least_ns.min(took_ns);
        sums.most_ns = sums.most_ns.max(took_ns);
        event.for_each_sum(took_ns, |sum, by| sums.sums[sum as usize] += by);
    }

    /// Adds another session's.
    pub fn add_all(&self, other: &Self) {
        let other = other.0.lock();
        if !other.sums.is_empty() {
            self.0.lock().add(&other);
        }
    }

    /// Moves all sums to `to`.
    pub fn move_to(&self, to: &Self) {
        let taken = std::mem::take(&mut *self.0.lock());
        to.0.lock().add(&taken);
    }

    /// How many names there are sums of.
    pub fn used(&self) -> usize {
        self.0.lock().sums.len()
    }

    /// TRUNCATE TABLE of a summary.
    pub fn reset(&self) {
        *self.0.lock() = Inner::default();
    }

    /// The sums of all names that MySQL has, in its order.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, NameSums)> {
        let inner = self.0.lock();
        let used = (0..NAMES).filter(|name| inner.places[*name] > 0);
        let found: Vec<(String, NameSums)> = used
            .map(|name| {
                let sums = inner.sums[usize::from(inner.places[name]) - 1];
                (EventName::at(name as u8).text(), sums)
            })
            .collect();
        names().map(move |(name, _)| {
            let sums = found.iter().find(|(used, _)| used == name);
            (name, sums.map(|(_, sums)| *sums).unwrap_or_default())
        })
    }
}

/// The names of all events of statements, in MySQL's order, and what MySQL documents about them.
pub fn names() -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
    let lines = include_str!("statement_events.txt").lines();
    lines
        .filter(|line| !line.starts_with('#'))
        .map(|line| match line.split_once('\t') {
            Some((name, text)) => (name, Some(text)),
            None => (line, None),
        })
}

#[cfg(test)]
mod tests {
    use super::super::event_name::ProtocolCommand;
    use super::*;
    use syntax::ast::SqlCommand;

    #[test]
    fn mysql_has_all_names() {
        let known: Vec<&str> = names().map(|(name, _)| name).collect();
        for name in 0..NAMES as u8 {
            let name = EventName::at(name);
            let is_known = known.contains(&name.text().as_str());
            // The commands of the protocol have names of their own.
            let is_counted = name.command() != Some(SqlCommand::AdminCommands);
            assert_eq!(is_known, is_counted, "{}", name.text());
        }
    }

    #[test]
    fn statements_are_summed_up_by_name() {
        let (session, other, sum) = (
            SumsByName::default(),
            SumsByName::default(),
            SumsByName::default(),
        );
        let event = |name: EventName, rows: u64| StatementEvent {
            name,
            rows_sent: rows,
            ..StatementEvent::default()
        };
        let select = EventName::from(Some(SqlCommand::Select));
        session.record(&event(select, 3), 100);
        session.record(&event(select, 4), 50);
        session.record(&event(ProtocolCommand::Ping.into(), 0), 7);
        other.record(&event(select, 1), 200);
        sum.add_all(&session);
        sum.add_all(&other);
        let of = |from: &SumsByName, wanted: &str| {
            let found = from.all().find(|(name, _)| *name == wanted).expect("a name").1;
            let of = |sum: Sum| found.sums[sum as usize];
            (
                found.count,
                found.least_ns,
                found.most_ns,
                of(Sum::TimeNs),
                of(Sum::RowsSent),
            )
        };
        assert_eq!(of(&sum, "statement/sql/select"), (3, 50, 200, 350, 8));
        assert_eq!(of(&sum, "statement/com/Ping"), (1, 7, 7, 7, 0));
        assert_eq!(of(&sum, "statement/sql/error"), (0, u64::MAX, 0, 0, 0));
        session.move_to(&other);
        assert_eq!(of(&session, "statement/sql/select").0, 0);
        assert_eq!(of(&other, "statement/sql/select"), (3, 50, 200, 350, 8));
        other.reset();
        assert_eq!(of(&other, "statement/sql/select").0, 0);
    }
}
