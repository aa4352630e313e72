//! What EXPLAIN ANALYZE has measured of one operator.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::Rel;

/// Totals of one operator over all its runs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Measured {
    /// How often it ran.
    pub loops: u64,
    pub rows: u64,
    /// Until the first row, and until the last, with the time of the operators below.
    pub first: Duration,
    pub all: Duration,
}

/// The place where an operator counts. Shared by the plan that runs and the one that is shown.
#[derive(Default, Clone)]
pub struct Measure(Arc<Counters>);

#[derive(Default)]
struct Counters {
    loops: AtomicU64,
    rows: AtomicU64,
    first_ns: AtomicU64,
    all_ns: AtomicU64,
    /// Reads the measurements of an operator that another engine runs.
    elsewhere: Mutex<Option<Elsewhere>>,
}

type Elsewhere = Box<dyn Fn() -> Option<Measured> + Send>;

impl Measure {
    pub fn begin_loop(&self) {
        self.begin_loops(1);
    }

    pub fn begin_loops(&self, loops: u64) {
        self.0.loops.fetch_add(loops, Ordering::Relaxed);
    }

    /// One call for rows. `is_first`: of this run.
    pub fn called(&self, took: Duration, rows: usize, is_first: bool) {
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.0.all_ns.fetch_add(ns, Ordering::Relaxed);
        if is_first {
            self.0.first_ns.fetch_add(ns, Ordering::Relaxed);
        }
        self.add_rows(rows as u64);
    }

    pub fn add_rows(&self, rows: u64) {
        self.0.rows.fetch_add(rows, Ordering::Relaxed);
    }

    /// Takes the figures from `measured`; `None`: nothing was measured.
    pub fn take_from(&self, measured: impl Fn() -> Option<Measured> + Send + 'static) {
        if let Ok(mut elsewhere) = self.0.elsewhere.lock() {
            *elsewhere = Some(Box::new(measured));
        }
    }

    /// The same times, of an operator that gives no rows.
    #[must_use]
    pub fn without_rows(&self) -> Self {
        let (of_input, measure) = (self.clone(), Self::default());
        measure.take_from(move || {
            Some(Measured {
                rows: 0,
                ..of_input.get()?
            })
        });
        measure
    }

    pub fn get(&self) -> Option<Measured> {
        if let Ok(elsewhere) = self.0.elsewhere.lock()
            && let Some(measured) = &*elsewhere
        {
            return measured();
        }
        let time = |ns: &AtomicU64| Duration::from_nanos(ns.load(Ordering::Relaxed));
        Some(Measured {
            loops: self.0.loops.load(Ordering::Relaxed),
            rows: self.0.rows.load(Ordering::Relaxed),
            first: time(&self.0.first_ns),
            all: time(&self.0.all_ns),
        })
    }
}

impl fmt::Debug for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Measure")
    }
}

/// The plan with a measure around each operator.
pub fn measured(mut rel: Rel) -> Rel {
    // The stores measure nothing.
    let is_pushed = matches!(rel, Rel::Pushed { .. });
    for input in rel.inputs_mut().into_iter().filter(|_| !is_pushed) {
        let below = std::mem::replace(input, Rel::OneRow);
        *input = measured(below);
    }
    match &mut rel {
        Rel::Scan(scan) => scan.read = Some(Measure::default()),
        Rel::LookupJoin(join) => join.right.read = Some(Measure::default()),
        _ => {}
    }
    match rel {
        // It is part of the operator above.
        Rel::Recursive { .. } => rel,
        rel => Rel::Measured {
            input: Box::new(rel),
            measure: Measure::default(),
        },
    }
}
