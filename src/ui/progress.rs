//! How far a backup or a restore is, shown while it works.

use super::{Level, Output, bytes, count, duration, escape};
use crate::base::clock::Clock;
use crate::base::meter::Meter;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// How often it is shown: on a terminal, in a log, and with `--json`.
const ON_TERMINAL: Duration = Duration::from_millis(100);
const IN_LOG: Duration = Duration::from_mins(1);
const AS_JSON: Duration = Duration::from_secs(1);
/// The rate is that of about this time.
const RATE_SPAN: f64 = 5.0;

/// What the progress is of, in the words of its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// `backup`
    Backup,
    /// `restore`
    Restore,
    /// `check` and `scrub`
    Check,
}

impl Activity {
    fn word(self) -> &'static str {
        match self {
            Self::Backup => "saved",
            Self::Restore => "restored",
            Self::Check => "checked",
        }
    }
}

/// Shows a [`Meter`] until it is dropped.
#[derive(Debug)]
pub struct Progress {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    output: Arc<Output>,
}

impl Progress {
    /// Begins to show `meter`, if anybody wants to see it.
    #[must_use]
    pub fn start(output: &Arc<Output>, activity: Activity, meter: &Arc<Meter>, clock: &Arc<dyn Clock>) -> Self {
        let mut progress = Self { stop: None, thread: None, output: Arc::clone(output) };
        let mode = output.mode();
        let every = match (mode.json, output.is_terminal()) {
            (true, _) => AS_JSON,
            (false, true) => ON_TERMINAL,
            (false, false) => IN_LOG,
        };
        if mode.level == Level::Quiet {
            return progress;
        }
        let bar = (every == ON_TERMINAL).then(bar);
        output.set_bar(bar.clone());
        let (stop, stopped) = bounded::<()>(0);
        let view =
            View { output: Arc::clone(output), activity, meter: Arc::clone(meter), clock: Arc::clone(clock), bar };
        let show = move || view.show(every, &stopped);
        // Without a thread there is no progress to see, which is no reason not to work.
        progress.thread = std::thread::Builder::new().name("progress".to_owned()).spawn(show).ok();
        progress.stop = Some(stop);
        progress
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.output.set_bar(None);
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
    bar.set_style(ProgressStyle::with_template("{wide_msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar
}

#[derive(Debug)]
struct View {
    output: Arc<Output>,
    activity: Activity,
    meter: Arc<Meter>,
    clock: Arc<dyn Clock>,
    bar: Option<ProgressBar>,
}

impl View {
    fn show(&self, every: Duration, stopped: &Receiver<()>) {
        let (start, mut rate) = (self.clock.monotonic(), Rate::default());
        while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            let elapsed = self.clock.monotonic().saturating_sub(start);
            let status = Status::of(&self.meter, elapsed, &mut rate);
            match &self.bar {
                Some(bar) => {
                    bar.set_message(status.line(self.activity));
                    bar.tick();
                }
                None if self.output.mode().json => {
                    let _ = self.output.record_now(&status.record());
                }
                None => self.output.tell(&status.line(self.activity)),
            }
        }
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Bytes per second, smoothed.
#[derive(Debug, Default)]
struct Rate {
    elapsed: Duration,
    done: u64,
    value: f64,
}

impl Rate {
    fn update(&mut self, elapsed: Duration, done: u64) -> f64 {
        let span = elapsed.saturating_sub(self.elapsed);
        let now = super::rate(done.saturating_sub(self.done), span);
        let weight = if self.elapsed.is_zero() { 1.0 } else { 1.0 - (-span.as_secs_f64() / RATE_SPAN).exp() };
        self.value += weight * (now - self.value);
        (self.elapsed, self.done) = (elapsed, done);
        self.value
    }
}

/// A meter at one moment.
#[derive(Debug)]
struct Status {
    files: u64,
    bytes: u64,
    /// Files and bytes in all, once they are known.
    totals: Option<(u64, u64)>,
    failed: u64,
    rate: f64,
    elapsed: Duration,
    current: Vec<u8>,
}

impl Status {
    fn of(meter: &Meter, elapsed: Duration, rate: &mut Rate) -> Self {
        let bytes = Meter::read(&meter.bytes_done);
        let known = meter.total_known.load(std::sync::atomic::Ordering::Relaxed);
        Self {
            files: Meter::read(&meter.files_done),
            bytes,
            totals: known.then(|| (Meter::read(&meter.files_total), Meter::read(&meter.bytes_total))),
            failed: Meter::read(&meter.failed),
            rate: rate.update(elapsed, bytes),
            elapsed,
            current: meter.current(),
        }
    }

    /// Between 0 and 1; by bytes, or by files where there are no bytes.
    fn done(&self) -> Option<f64> {
        let (files, bytes) = self.totals?;
        let done = if bytes > 0 { super::ratio(self.bytes, bytes) } else { super::ratio(self.files, files) };
        Some(done.unwrap_or(1.0).min(1.0))
    }

    fn eta(&self) -> Option<Duration> {
        let (_, total) = self.totals?;
        let left = total.saturating_sub(self.bytes);
        if self.rate < 1.0 {
            return None;
        }
        // A rate of one byte a second is what a span of one second and one byte would give.
        Duration::try_from_secs_f64(super::rate(left, Duration::from_secs(1)) / self.rate).ok()
    }

    fn line(&self, activity: Activity) -> String {
        let mut parts = Vec::new();
        if let Some(done) = self.done() {
            // Never 100 % before the end.
            parts.push(format!("{:4.1} %", (done * 100.0).min(99.9)));
        }
        let of = |total: Option<String>| total.map(|total| format!(" of {total}")).unwrap_or_default();
        parts.push(format!(
            "{}{} {}",
            bytes(self.bytes),
            of(self.totals.map(|totals| bytes(totals.1))),
            activity.word()
        ));
        parts.push(format!("{} files", count(self.files)));
        parts.push(format!("{:.1} MB/s", self.rate / 1e6));
        if let Some(eta) = self.eta() {
            parts.push(format!("ETA {}", duration(eta)));
        }
        if self.failed > 0 {
            parts.push(format!("{} failed", count(self.failed)));
        }
        if !self.current.is_empty() {
            parts.push(escape(&self.current));
        }
        parts.join(" · ")
    }

    fn record(&self) -> Value {
        json!({
            "type": "status",
            "seconds_elapsed": self.elapsed.as_secs_f64(),
            "seconds_remaining": self.eta().map(|eta| eta.as_secs()),
            "percent_done": self.done().map(|done| done * 100.0),
            "files_done": self.files,
            "files_total": self.totals.map(|totals| totals.0),
            "bytes_done": self.bytes,
            "bytes_total": self.totals.map(|totals| totals.1),
            "bytes_per_second": self.rate,
            "items_failed": self.failed,
            "current": String::from_utf8_lossy(&self.current),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Activity, Rate, Status};
    use crate::base::meter::Meter;
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    #[test]
    fn percent_and_eta_appear_when_the_total_is_known() {
        let meter = Meter::new();
        Meter::add(&meter.bytes_total, 300 << 20);
        Meter::add(&meter.bytes_done, 100 << 20);
        meter.set_current(b"/a\nb");
        let mut rate = Rate::default();
        let status = Status::of(&meter, Duration::from_secs(10), &mut rate);
        let line = status.line(Activity::Backup);
        assert_eq!(line, "100 MiB saved · 0 files · 10.5 MB/s · /a\\x0ab");
        meter.total_known.store(true, Ordering::Relaxed);
        let status = Status::of(&meter, Duration::from_secs(10), &mut rate);
        let line = status.line(Activity::Restore);
        assert!(line.starts_with("33.3 % · 100 MiB of 300 MiB restored"), "{line}");
        assert!(line.contains("ETA 20.0 s"), "{line}");
        assert_eq!(status.record()["seconds_remaining"], 20);
    }
}
