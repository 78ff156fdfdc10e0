//! Telling once a second how a bench goes: for a graph beside that of the system's load.

use super::measure::float;
use super::plan::Row;
use super::write;
use crate::base::clock::Clock;
use crate::base::host::cpu_time;
use crate::commands::{CommandError, Context};
use crate::ui::Output;
use crossbeam_channel::{RecvTimeoutError, Sender, bounded};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often it is told.
const EVERY: Duration = Duration::from_secs(1);

/// Where it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Live {
    /// Influx line protocol on standard output.
    Influx,
    /// A file of metrics for Prometheus's textfile collector.
    Prometheus(PathBuf),
}

impl FromStr for Live {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            None if text == "influx" => Ok(Self::Influx),
            Some(("prometheus", file)) if !file.is_empty() => Ok(Self::Prometheus(PathBuf::from(file))),
            _ => Err(format!("`{text}` is neither influx nor prometheus:FILE")),
        }
    }
}

#[derive(Debug, Default)]
struct Shared {
    bytes: AtomicU64,
    blocks: AtomicU64,
    /// Labels of the row that is measured, with their values.
    labels: Mutex<Vec<(&'static str, String)>>,
}

/// What is counted, and the thread that tells it until the meter is dropped.
#[derive(Debug)]
pub(super) struct Meter {
    shared: Arc<Shared>,
    stop: Option<Sender<()>>,
    teller: Option<JoinHandle<()>>,
}

impl Meter {
    pub(super) fn start(live: Live, context: &Context) -> Result<Self, CommandError> {
        let shared = Arc::new(Shared::default());
        let (stop, stopped) = bounded::<()>(0);
        let mut teller = Teller {
            live,
            shared: Arc::clone(&shared),
            output: Arc::clone(&context.output),
            clock: Arc::clone(&context.environment.clock),
            last: (context.environment.clock.monotonic(), cpu_time(), 0, 0),
        };
        let tell = move || {
            loop {
                let over = stopped.recv_timeout(EVERY) != Err(RecvTimeoutError::Timeout);
                // Also at the end, so that a short bench leaves its mark.
                teller.tell();
                if over {
                    break;
                }
            }
        };
        let teller = std::thread::Builder::new().name("live".to_owned()).spawn(tell).map_err(|error| {
            CommandError::failed("could not start a thread", error.to_string(), "raise the limit of processes")
        })?;
        Ok(Self { shared, stop: Some(stop), teller: Some(teller) })
    }

    /// Another row begins.
    pub(super) fn begin(&self, row: &Row) {
        *self.shared.labels.lock().unwrap_or_else(PoisonError::into_inner) = vec![
            ("codec", row.what.to_string()),
            ("engine", if row.at_device { "qat" } else { "cpu" }.to_owned()),
            ("cipher", row.cipher.to_string()),
            ("block", row.block.to_string()),
            ("jobs", row.jobs.to_string()),
            ("threads", row.threads.to_string()),
            ("depth", row.depth.to_string()),
        ];
    }

    /// A block of so many plain bytes is done.
    pub(super) fn add(&self, bytes: usize) {
        self.shared.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.shared.blocks.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(teller) = self.teller.take() {
            let _ = teller.join();
        }
    }
}

struct Teller {
    live: Live,
    shared: Arc<Shared>,
    output: Arc<Output>,
    clock: Arc<dyn Clock>,
    /// Time, processor time, bytes and blocks at the last telling.
    last: (Duration, Duration, u64, u64),
}

impl Teller {
    fn tell(&mut self) {
        let bytes = self.shared.bytes.load(Ordering::Relaxed);
        let blocks = self.shared.blocks.load(Ordering::Relaxed);
        let now = (self.clock.monotonic(), cpu_time(), bytes, blocks);
        let seconds = now.0.saturating_sub(self.last.0).as_secs_f64().max(1e-9);
        let values = [
            ("bytes_per_second", float(now.2 - self.last.2) / seconds),
            ("operations_per_second", float(now.3 - self.last.3) / seconds),
            ("cpu_percent", 100.0 * now.1.saturating_sub(self.last.1).as_secs_f64() / seconds),
        ];
        self.last = now;
        let labels = self.shared.labels.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match &self.live {
            Live::Influx => {
                let line = influx(&labels, &values, self.clock.unix_nanos());
                // Whoever reads is gone; the end of the bench will say so.
                let _ = self.output.raw(line.as_bytes()).and_then(|()| self.output.flush());
            }
            Live::Prometheus(file) => {
                if let Err(error) = write(file, &prometheus(&labels, &values)) {
                    self.output.warn(&error.report().because);
                }
            }
        }
    }
}

/// A line of Influx line protocol; no label has a character that needs a backslash.
fn influx(labels: &[(&'static str, String)], values: &[(&str, f64)], nanos: i128) -> String {
    let tags: String = labels.iter().fold(String::new(), |text, (name, value)| text + "," + name + "=" + value);
    let fields: Vec<String> = values.iter().map(|(name, value)| format!("{name}={value:.3}")).collect();
    format!("nightjar_bench{tags} {} {nanos}\n", fields.join(","))
}

/// Prometheus's text format.
fn prometheus(labels: &[(&'static str, String)], values: &[(&str, f64)]) -> String {
    let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
    let labels = labels.join(",");
    let mut text = String::new();
    for (name, value) in values {
        text.extend([format!("# TYPE nightjar_bench_{name} gauge\nnightjar_bench_{name}{{{labels}}} {value:.3}\n")]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Live, influx, prometheus};
    use std::path::PathBuf;

    #[test]
    fn lines_are_as_influx_and_prometheus_read_them() {
        let labels = [("codec", "zstd:3".to_owned()), ("jobs", "2".to_owned())];
        let values = [("bytes_per_second", 1.5), ("cpu_percent", 200.0)];
        let expected = "nightjar_bench,codec=zstd:3,jobs=2 bytes_per_second=1.500,cpu_percent=200.000 17\n";
        assert_eq!(influx(&labels, &values, 17), expected);
        let text = prometheus(&labels, &values);
        assert!(text.contains("# TYPE nightjar_bench_cpu_percent gauge\n"));
        assert!(text.contains("nightjar_bench_bytes_per_second{codec=\"zstd:3\",jobs=\"2\"} 1.500\n"), "{text}");
    }

    #[test]
    fn where_to_tell_is_one_of_two() {
        assert_eq!("influx".parse(), Ok(Live::Influx));
        assert_eq!("prometheus:/a:b".parse(), Ok(Live::Prometheus(PathBuf::from("/a:b"))));
        for bad in ["", "prometheus", "prometheus:", "influx:x", "file"] {
            assert!(bad.parse::<Live>().is_err(), "{bad}");
        }
    }
}
