//! Metrics for `/metrics`, in Prometheus' terms. On the way of a query only atomic counters are
//! incremented, which are looked up when the server starts.

use std::sync::Arc;
use std::time::Duration;

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{Gauge, Histogram, HistogramOpts, IntCounter, IntCounterVec, Opts, Registry, TextEncoder};
use wire::command::code;

/// The server's own metrics. Sessions, transactions and engines register theirs in the same [`Registry`].
pub struct Metrics {
    pub connections: IntCounter,
    /// Connections whose login failed.
    pub aborted_logins: IntCounter,
    /// Logins to locked accounts.
    pub locked_logins: IntCounter,
    /// Connections refused because there were `max_connections` already.
    pub refused: IntCounter,
    /// Connections that asked for TLS, and those that got it.
    pub tls_accepts: IntCounter,
    pub tls_finished: IntCounter,
    /// Connections that ended without COM_QUIT.
    pub aborted_clients: IntCounter,
    pub bytes_received: IntCounter,
    pub bytes_sent: IntCounter,
    commands: Vec<IntCounter>,
    query_seconds: Histogram,
    execute_seconds: Histogram,
    prepare_seconds: Histogram,
}

/// All that `/metrics` shows.
#[derive(Clone, Default)]
pub struct Figures {
    /// Counters, gauges and histograms. The server registers its own when it starts.
    pub registry: Registry,
    /// Writers of further metrics in Prometheus' text form, called for each request.
    pub append: Vec<Append>,
}

/// Appends lines in Prometheus' text form.
pub type Append = Arc<dyn Fn(&mut String) + Send + Sync>;

impl Figures {
    /// The counters of connections, under their names in SHOW STATUS.
    pub fn of_connections(&self) -> Vec<(&'static str, u64)> {
        let families = self.registry.gather();
        let value = |name: &str| {
            let family = families.iter().find(|family| family.name() == name);
            let metrics = family.map(MetricFamily::get_metric).unwrap_or_default();
            metrics
                .iter()
                .map(|metric| metric.get_counter().get_value() + metric.get_gauge().get_value())
                .sum::<f64>()
        };
        CONNECTIONS
            .iter()
            .map(|(shown, name)| (*shown, value(name) as u64))
            .collect()
    }

    /// All metrics in Prometheus' text form.
    pub fn to_text(&self) -> prometheus::Result<String> {
        let mut text = TextEncoder::new().encode_to_string(&self.registry.gather())?;
        for append in &self.append {
            append(&mut text);
        }
        Ok(text)
    }
}

/// Figures of connections: the name in SHOW STATUS, and the name here.
const CONNECTIONS: [(&str, &str); 11] = [
    ("Connections", "stemdb_connections_total"),
    ("Aborted_connects", "stemdb_aborted_logins_total"),
    ("Aborted_clients", "stemdb_aborted_clients_total"),
    ("Bytes_received", "stemdb_bytes_received_total"),
    ("Bytes_sent", "stemdb_bytes_sent_total"),
    (
        "Connection_errors_max_connections",
        "stemdb_connections_refused_total",
    ),
    ("Locked_connects", "stemdb_locked_logins_total"),
    ("Ssl_accepts", "stemdb_tls_accepts_total"),
    ("Ssl_finished_accepts", "stemdb_tls_accepts_finished_total"),
    ("Threads_cached", "stemdb_connection_threads_idle"),
    ("Threads_created", "stemdb_connection_threads_created"),
];

/// Names of commands by their code, as in `SHOW STATUS`.
const COMMANDS: [(u8, &str); 19] = [
    (code::QUIT, "quit"),
    (code::INIT_DB, "init_db"),
    (code::QUERY, "query"),
    (code::FIELD_LIST, "field_list"),
    (code::REFRESH, "refresh"),
    (code::STATISTICS, "statistics"),
    (code::PROCESS_INFO, "process_info"),
    (code::PROCESS_KILL, "process_kill"),
    (code::DEBUG, "debug"),
    (code::PING, "ping"),
    (code::CHANGE_USER, "change_user"),
    (code::STMT_PREPARE, "stmt_prepare"),
    (code::STMT_EXECUTE, "stmt_execute"),
    (code::STMT_SEND_LONG_DATA, "stmt_send_long_data"),
    (code::STMT_CLOSE, "stmt_close"),
    (code::STMT_RESET, "stmt_reset"),
    (code::SET_OPTION, "set_option"),
    (code::STMT_FETCH, "stmt_fetch"),
    (code::RESET_CONNECTION, "reset_connection"),
];

impl Metrics {
    /// Fails if the registry already has metrics of these names.
    pub fn new(registry: &Registry) -> prometheus::Result<Self> {
        let counter = |name: &str, help: &str| -> prometheus::Result<IntCounter> {
            let counter = IntCounter::new(name, help)?;
            registry.register(Box::new(counter.clone()))?;
            Ok(counter)
        };
        let by_command = IntCounterVec::new(
            Opts::new("stemdb_commands_total", "Commands received, by kind"),
            &["command"],
        )?;
        registry.register(Box::new(by_command.clone()))?;
        let unknown = by_command.with_label_values(&["unknown"]);
        let mut commands = vec![unknown; 256];
        for (code, name) in COMMANDS {
            if let Some(slot) = commands.get_mut(usize::from(code)) {
                *slot = by_command.with_label_values(&[name]);
            }
        }
        let seconds = |command: &str| -> prometheus::Result<Histogram> {
            let histogram = Histogram::with_opts(
                HistogramOpts::new(
                    "stemdb_command_seconds",
                    "Time from a command's last byte to its answer's last byte, by kind",
                )
                .const_label("command", command)
                .buckets(buckets()),
            )?;
            registry.register(Box::new(histogram.clone()))?;
            Ok(histogram)
        };
        Ok(Self {
            connections: counter("stemdb_connections_total", "Connections accepted")?,
            aborted_logins: counter("stemdb_aborted_logins_total", "Connections that did not log in")?,
            locked_logins: counter("stemdb_locked_logins_total", "Logins to locked accounts")?,
            refused: counter(
                "stemdb_connections_refused_total",
                "Connections refused because of max_connections",
            )?,
            tls_accepts: counter("stemdb_tls_accepts_total", "Connections that asked for TLS")?,
            tls_finished: counter(
                "stemdb_tls_accepts_finished_total",
                "TLS handshakes that succeeded",
            )?,
            aborted_clients: counter(
                "stemdb_aborted_clients_total",
                "Connections that ended without goodbye",
            )?,
            bytes_received: counter("stemdb_bytes_received_total", "Bytes received from clients")?,
            bytes_sent: counter("stemdb_bytes_sent_total", "Bytes sent to clients")?,
            commands,
            query_seconds: seconds("query")?,
            execute_seconds: seconds("stmt_execute")?,
            prepare_seconds: seconds("stmt_prepare")?,
        })
    }

    pub fn observe_command(&self, command: u8, took: Duration) {
        if let Some(counter) = self.commands.get(usize::from(command)) {
            counter.inc();
        }
        let histogram = match command {
            code::QUERY => &self.query_seconds,
            code::STMT_EXECUTE => &self.execute_seconds,
            code::STMT_PREPARE => &self.prepare_seconds,
            _ => return,
        };
        histogram.observe(took.as_secs_f64());
    }
}

/// From 20 us to 84 s; each bucket is twice as large as the one before.
fn buckets() -> Vec<f64> {
    (0..23).map(|power| 20e-6 * f64::from(1u32 << power)).collect()
}

/// A metric that is read on request, from an engine, a cache or a pool.
pub struct Measured {
    gauge: Gauge,
    measure: Box<dyn Fn() -> f64 + Send + Sync>,
}

impl Measured {
    /// Registers the metric.
    pub fn register(
        registry: &Registry,
        name: &str,
        help: &str,
        measure: impl Fn() -> f64 + Send + Sync + 'static,
    ) -> prometheus::Result<()> {
        let measured = Self {
            gauge: Gauge::new(name, help)?,
            measure: Box::new(measure),
        };
        registry.register(Box::new(measured))
    }
}

impl Collector for Measured {
    fn desc(&self) -> Vec<&Desc> {
        self.gauge.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.gauge.set((self.measure)());
        self.gauge.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_counted_by_name() {
        let registry = Registry::new();
        let metrics = Metrics::new(&registry).unwrap();
        metrics.observe_command(code::QUERY, Duration::from_micros(30));
        metrics.observe_command(code::PING, Duration::from_micros(30));
        metrics.observe_command(0xee, Duration::from_micros(30));
        Measured::register(&registry, "stemdb_answer", "The answer", || 42.0).unwrap();
        let text = prometheus::TextEncoder::new()
            .encode_to_string(&registry.gather())
            .unwrap();
        assert!(
            text.contains("stemdb_commands_total{command=\"query\"} 1"),
            "{text}"
        );
        assert!(
            text.contains("stemdb_commands_total{command=\"unknown\"} 1"),
            "{text}"
        );
        assert!(
            text.contains("stemdb_command_seconds_count{command=\"query\"} 1"),
            "{text}"
        );
        assert!(
            text.contains("stemdb_command_seconds_bucket{command=\"query\",le=\"0.00004\"} 1"),
            "{text}"
        );
        assert!(text.contains("stemdb_answer 42"), "{text}");
        assert!(Metrics::new(&registry).is_err());
    }
}
