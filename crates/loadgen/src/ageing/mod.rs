//! A table under inserts, updates and deletes in balance, for a long time. What accumulates beside the live
//! rows (old versions, free space, levels not merged yet) shows as throughput or P99 that gets worse from
//! interval to interval.
//!
//! `table` creates and checks the table, `worker` changes it. The result's series has the intervals; the
//! figures compare its last tenth with its first.

mod table;
mod worker;

use std::sync::Mutex;

use crate::error::Result;
use crate::options::OptionSpec;
use crate::result::{Figure, Interval, Rung};
use crate::workload::WorkloadSpec;
use crate::workload::{Checks, Context, Worker, Workload};

const ROWS: OptionSpec = OptionSpec::new(
    "rows",
    "200000",
    "rows there are first, and about as many all the time; about 250 bytes each",
);

pub const WORKLOADS: &[WorkloadSpec] = &[WorkloadSpec {
    name: "ageing",
    summary: "inserts, updates and deletes in balance, some reads: does it slow down over time? (--seconds 3600)",
    options: &[ROWS],
    build: |options| {
        Ok(Box::new(Ageing {
            rows: options.integer(ROWS.name, 100..=1_000_000_000)?,
            live: Mutex::new(Live::default()),
        }))
    },
}];

/// The operations with their percentages. Inserts and deletes are in balance.
const OPERATIONS: [(&str, u64); 5] = [
    ("insert", 20),
    ("update", 30),
    ("delete", 20),
    ("read", 20),
    ("range by index", 10),
];

struct Ageing {
    rows: u64,
    live: Mutex<Live>,
}

/// Rows that no worker has taken yet. Each row is changed by one worker only.
#[derive(Debug, Default)]
struct Live {
    ids: Vec<i64>,
    /// Workers that have taken their share.
    served: usize,
}

impl Live {
    /// An even share for one of `threads` workers. A worker that comes after all of them (after a reconnect)
    /// gets the remaining rows.
    fn share(&mut self, threads: usize) -> Vec<i64> {
        let shares = threads.saturating_sub(self.served).max(1);
        self.served += 1;
        let keep = self.ids.len() - self.ids.len() / shares;
        self.ids.split_off(keep)
    }
}

impl Workload for Ageing {
    fn operations(&self) -> Vec<String> {
        OPERATIONS.iter().map(|(name, _)| (*name).to_owned()).collect()
    }

    fn prepare(&self, context: &Context) -> Result<()> {
        table::prepare(self.rows, context)
    }

    fn open(&self, context: &Context) -> Result<()> {
        let ids = table::ids(context)?;
        *self.live.lock().map_err(|_| crate::Error::Worker)? = Live { ids, served: 0 };
        Ok(())
    }

    fn worker(&self, context: &Context, number: usize, threads: usize) -> Result<Box<dyn Worker + '_>> {
        worker::open(self, context, number, threads)
    }

    fn figures(&self, rung: &Rung) -> Vec<Figure> {
        decay(&rung.series)
    }

    fn check(&self, context: &Context, checks: &mut Checks) -> Result<()> {
        table::check(context, checks)
    }

    fn cleanup(&self, context: &Context) -> Result<()> {
        table::cleanup(context)
    }
}

/// The ratio of the last tenth of the intervals to the first. 1: no decay.
fn decay(series: &[Interval]) -> Vec<Figure> {
    let measured: Vec<&Interval> = series.iter().filter(|i| i.start_seconds >= 0.0).collect();
    let tenth = measured.len() / 10;
    if tenth == 0 {
        return Vec::new();
    }
    let mean = |part: &[&Interval], of: fn(&Interval) -> f64| {
        part.iter().map(|interval| of(interval)).sum::<f64>() / part.len() as f64
    };
    let ratio = |name: &str, of: fn(&Interval) -> f64| {
        let (first, _) = measured.split_at(tenth);
        let (_, last) = measured.split_at(measured.len() - tenth);
        Figure {
            name: name.to_owned(),
            value: mean(last, of) / mean(first, of).max(f64::MIN_POSITIVE),
        }
    };
    vec![
        ratio("throughput of the last tenth against the first", |i| {
            i.operations as f64 / i.seconds.max(1e-9)
        }),
        ratio("P99 of the last tenth against the first", |i| i.latency.p99_us),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::Latency;

    #[test]
    fn shares_are_whole_and_in_balance() {
        assert_eq!(OPERATIONS.iter().map(|(_, share)| share).sum::<u64>(), 100);
        assert_eq!(OPERATIONS[0].1, OPERATIONS[2].1);
    }

    #[test]
    fn rows_are_shared_out_evenly_and_given_back() {
        let mut live = Live {
            ids: (0..10).collect(),
            served: 0,
        };
        let shares: Vec<usize> = (0..3).map(|_| live.share(3).len()).collect();
        assert_eq!(shares, [3, 3, 4]);
        assert!(live.share(3).is_empty());
        live.ids.push(7);
        assert_eq!(live.share(3), [7]);
    }

    #[test]
    fn decay_leaves_the_warm_up_out() {
        let interval = |second: i32, operations| Interval {
            start_seconds: f64::from(second),
            seconds: 1.0,
            operations,
            latency: Latency {
                p99_us: 1e6 / operations as f64,
                ..Latency::default()
            },
            ..Interval::default()
        };
        let mut series = vec![interval(-1, 1)];
        series.extend((0..20).map(|second| interval(second, if second < 2 { 1000 } else { 500 })));
        let figures = decay(&series);
        assert_eq!(figures[0].value, 0.5);
        assert_eq!(figures[1].value, 2.0);
        assert!(decay(&series[..5]).is_empty());
    }
}
