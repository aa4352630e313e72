//! Results side by side: by workload, then by peer, then by number of threads, medians over repeated runs.

use crate::error::{Error, Result};
use crate::result::{BenchResult, Interval, Latency, Operation, Rung};
use crate::target::Client;

/// All measurements of one workload with the same settings.
#[derive(Debug)]
pub(super) struct Comparison<'a> {
    pub(super) workload: &'a str,
    /// Options, protocol and loop.
    pub(super) settings: String,
    pub(super) peers: Vec<Peer<'a>>,
    /// The position in `peers` of the one that ratios refer to.
    pub(super) baseline: Option<usize>,
}

#[derive(Debug)]
pub(super) struct Peer<'a> {
    pub(super) label: &'a str,
    pub(super) version: &'a str,
    /// By number of threads, ascending.
    pub(super) rungs: Vec<MedianRung<'a>>,
}

/// The runs of one peer with one number of threads.
#[derive(Debug)]
pub(super) struct MedianRung<'a> {
    pub(super) threads: usize,
    pub(super) runs: Vec<&'a Rung>,
    pub(super) throughput: f64,
    pub(super) latency: Latency,
    pub(super) errors: u64,
    pub(super) cpu_us_per_operation: Option<f64>,
    pub(super) resident_bytes: Option<f64>,
}

/// Fails if no result has the label `baseline`.
pub(super) fn comparisons<'a>(
    results: &'a [BenchResult],
    baseline: Option<&str>,
) -> Result<Vec<Comparison<'a>>> {
    let mut comparisons: Vec<Comparison<'a>> = Vec::new();
    for result in results {
        let settings = settings(result);
        let found = comparisons
            .iter()
            .position(|c| c.workload == result.workload && c.settings == settings);
        let position = found.unwrap_or_else(|| {
            comparisons.push(Comparison {
                workload: &result.workload,
                settings,
                peers: Vec::new(),
                baseline: None,
            });
            comparisons.len() - 1
        });
        if let Some(comparison) = comparisons.get_mut(position) {
            comparison.add(result);
        }
    }
    for comparison in &mut comparisons {
        comparison.finish(baseline);
    }
    if let Some(label) = baseline
        && comparisons.iter().all(|comparison| comparison.baseline.is_none())
    {
        return Err(Error::Arguments(format!("no result has the label {label}")));
    }
    Ok(comparisons)
}

fn settings(result: &BenchResult) -> String {
    let settings = &result.settings;
    let mut parts: Vec<String> = settings
        .options
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    parts.push(format!("{} statements", settings.protocol));
    if settings.client == Client::Driver.to_string() {
        parts.push("by the mysql crate".to_owned());
    }
    parts.push(match settings.rate {
        Some(rate) => format!("open loop at {rate} operations/s"),
        None => "closed loop".to_owned(),
    });
    parts.join(", ")
}

impl<'a> Comparison<'a> {
    fn add(&mut self, result: &'a BenchResult) {
        let found = self.peers.iter().position(|peer| peer.label == result.label);
        let position = found.unwrap_or_else(|| {
            self.peers.push(Peer {
                label: &result.label,
                version: &result.server.version,
                rungs: Vec::new(),
            });
            self.peers.len() - 1
        });
        let Some(peer) = self.peers.get_mut(position) else {
            return;
        };
        for rung in &result.rungs {
            match peer.rungs.iter_mut().find(|known| known.threads == rung.threads) {
                Some(known) => known.runs.push(rung),
                None => peer.rungs.push(MedianRung {
                    threads: rung.threads,
                    runs: vec![rung],
                    throughput: 0.0,
                    latency: Latency::default(),
                    errors: 0,
                    cpu_us_per_operation: None,
                    resident_bytes: None,
                }),
            }
        }
    }

    fn finish(&mut self, baseline: Option<&str>) {
        // StemDB comes first, whatever the order of the files, so that colours are the same on every page.
        self.peers.sort_by_key(|peer| !peer.version.contains("StemDB"));
        for peer in &mut self.peers {
            peer.rungs.sort_by_key(|rung| rung.threads);
            peer.rungs.iter_mut().for_each(MedianRung::finish);
        }
        self.baseline = match baseline {
            Some(label) => self.peers.iter().position(|peer| peer.label == label),
            // Of two peers, the one that is not StemDB is the baseline.
            None if self.peers.len() > 1 => self
                .peers
                .iter()
                .position(|peer| !peer.version.contains("StemDB"))
                .or(Some(0)),
            None => None,
        };
    }

    /// Every number of threads that any peer was run with, ascending.
    pub(super) fn threads(&self) -> Vec<usize> {
        let mut threads: Vec<usize> = self
            .peers
            .iter()
            .flat_map(|peer| peer.rungs.iter().map(|rung| rung.threads))
            .collect();
        threads.sort_unstable();
        threads.dedup();
        threads
    }

    /// The largest number of threads that all peers were run with, or else that any was.
    pub(super) fn common_threads(&self) -> Option<usize> {
        let all = self.threads();
        let common = all
            .iter()
            .rev()
            .find(|threads| self.peers.iter().all(|peer| peer.rung(**threads).is_some()));
        common.or(all.last()).copied()
    }
}

impl<'a> Peer<'a> {
    pub(super) fn rung(&self, threads: usize) -> Option<&MedianRung<'a>> {
        self.rungs.iter().find(|rung| rung.threads == threads)
    }
}

impl MedianRung<'_> {
    fn finish(&mut self) {
        let of = |get: &dyn Fn(&Rung) -> f64| median(self.runs.iter().map(|run| get(run)).collect());
        let latency = |get: fn(&Latency) -> f64| of(&|run| get(&run.all.latency)).unwrap_or_default();
        let throughput = of(&|run| run.throughput).unwrap_or_default();
        let latency = Latency {
            mean_us: latency(|l| l.mean_us),
            p50_us: latency(|l| l.p50_us),
            p90_us: latency(|l| l.p90_us),
            p95_us: latency(|l| l.p95_us),
            p99_us: latency(|l| l.p99_us),
            p999_us: latency(|l| l.p999_us),
            max_us: latency(|l| l.max_us),
        };
        let costs = |get: fn(&crate::result::Cost) -> f64| {
            median(
                self.runs
                    .iter()
                    .filter_map(|run| run.server.as_ref())
                    .map(get)
                    .collect(),
            )
        };
        let cpu = costs(|cost| cost.cpu_us_per_operation);
        let resident = costs(|cost| cost.resident_bytes_max as f64);
        self.errors = self.runs.iter().map(|run| run.all.errors).sum();
        self.throughput = throughput;
        self.latency = latency;
        self.cpu_us_per_operation = cpu;
        self.resident_bytes = resident;
    }

    /// The run with the median throughput. The page shows its course over time.
    pub(super) fn typical(&self) -> Option<&Rung> {
        self.runs.iter().copied().min_by(|a, b| {
            let far = |run: &Rung| (run.throughput - self.throughput).abs();
            far(a).total_cmp(&far(b))
        })
    }

    pub(super) fn series(&self) -> impl Iterator<Item = &Interval> {
        let series = self
            .typical()
            .map(|run| run.series.as_slice())
            .unwrap_or_default();
        series.iter().filter(|interval| interval.start_seconds >= 0.0)
    }

    pub(super) fn operations(&self) -> &[Operation] {
        self.typical()
            .map(|run| run.operations.as_slice())
            .unwrap_or_default()
    }
}

/// The middle value, or the mean of the two in the middle.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = values.get(values.len() / 2)?;
    let lower = values.get((values.len() - 1) / 2)?;
    Some((lower + upper) / 2.0)
}
