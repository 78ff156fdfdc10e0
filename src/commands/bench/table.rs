//! The rows as text, JSON and comma-separated values.

use super::explain::Limits;
use super::input::Input;
use super::measure::Measured;
use super::plan::{Kind, Plan, What};
use crate::commands::CommandError;
use crate::commands::work::processors;
use crate::ui::{Output, Table};
use serde_json::{Value, json};
use std::time::Duration;

/// Everything that was measured.
pub(super) struct Report<'m> {
    pub(super) rows: &'m [Measured],
    pub(super) input: &'m Input,
    pub(super) limits: Option<Limits>,
    /// Whether the rows are all that were planned.
    whole: bool,
    at_device: bool,
}

impl<'m> Report<'m> {
    pub(super) fn new(rows: &'m [Measured], input: &'m Input, plan: &Plan, limits: Option<Limits>) -> Self {
        Self { rows, input, limits, whole: rows.len() == plan.rows.len(), at_device: plan.device.is_some() }
    }

    pub(super) fn of(&self, kind: Kind) -> impl Iterator<Item = &'m Measured> {
        self.rows.iter().filter(move |measured| measured.row.kind == kind)
    }

    /// How many times as fast as gzip with the same blocks and threads; 1 thread of gzip for `single`.
    pub(super) fn factor(&self, measured: &Measured, single: bool) -> Option<f64> {
        let row = &measured.row;
        let threads = if single { 1 } else { row.threads };
        let mut gzip = self.of(Kind::Codec).filter(|other| other.row.what == What::Gzip);
        let same = gzip.find(|other| other.row.block == row.block && other.row.threads == threads)?;
        (row.kind == Kind::Codec && same.rate > 0.0).then(|| measured.rate / same.rate)
    }

    /// The row without encryption beside one of the second table.
    pub(super) fn plain_of(&self, measured: &Measured) -> Option<&'m Measured> {
        let row = &measured.row;
        let fits = |other: &&Measured| {
            let other = &other.row;
            other.cipher == super::plan::Cipher::None && (other.jobs, other.depth) == (row.jobs, row.depth)
        };
        self.of(Kind::Cipher).find(fits)
    }

    pub(super) fn print(&self, output: &Output) -> Result<(), CommandError> {
        output.line(&format!("data: {}", self.input.name))?;
        output.line(&format!("host: {} processors", processors()))?;
        output.line("")?;
        for line in self.codecs().lines() {
            output.line(&line)?;
        }
        if let Some(line) = self.best() {
            output.line(&line)?;
        }
        if self.of(Kind::Cipher).next().is_some() {
            output.line("")?;
            output.line("what encryption costs blocks of 4 KiB that are not compressed")?;
            for line in self.ciphers().lines() {
                output.line(&line)?;
            }
        }
        for line in self.explanation() {
            output.line(&line)?;
        }
        if !self.whole {
            output.line("")?;
            output.line("stopped before all rows were measured")?;
        }
        for measured in self.rows {
            output.record(&self.record(measured))?;
        }
        Ok(output.record(&self.summary())?)
    }

    /// The fastest row that compresses at least as well as gzip does with the same blocks.
    fn best(&self) -> Option<String> {
        let gzip = |block| self.of(Kind::Codec).find(|m| m.row.what == What::Gzip && m.row.block == block);
        let as_well = |m: &&Measured| gzip(m.row.block).is_some_and(|gzip| m.ratio >= gzip.ratio);
        let best = self.of(Kind::Codec).filter(as_well).max_by(|a, b| a.rate.total_cmp(&b.rate))?;
        let times = |single| self.factor(best, single).map_or("?".to_owned(), |factor| format!("{factor:.1}"));
        Some(format!(
            "fastest with at least gzip's ratio: {} on {}, blocks of {}, {} jobs: {:.0} MB/s, {} times gzip with as many jobs, {} \
             times gzip with one",
            best.row.what,
            engine(best),
            size(best.row.block),
            best.row.threads,
            best.rate,
            times(false),
            times(true)
        ))
    }

    fn codecs(&self) -> Table {
        let mut table = Table::new(&[
            "codec",
            "engine",
            "cipher",
            ">block",
            ">jobs",
            ">MB/s",
            ">op/s",
            ">ratio",
            ">CPU %",
            ">host %",
            ">p50 us",
            ">p99 us",
            ">p99.9 us",
            ">x gzip",
            ">x gzip 1",
            ">limit MB/s",
            "by",
        ]);
        for measured in self.of(Kind::Codec) {
            let row = &measured.row;
            let times = |single| self.factor(measured, single).map(|f| format!("{f:.1}")).unwrap_or_default();
            let limit = self.limits.as_ref().map(|limits| limits.of(measured));
            let mut cells = vec![
                row.what.to_string(),
                engine(measured).to_owned(),
                row.cipher.to_string(),
                size(row.block),
                row.threads.to_string(),
            ];
            cells.extend(figures(measured));
            cells.extend([times(false), times(true)]);
            cells.push(limit.map(|(rate, _)| format!("{rate:.0}")).unwrap_or_default());
            cells.push(limit.map(|(_, by)| by.to_owned()).unwrap_or_default());
            table.row(cells);
        }
        table
    }

    fn ciphers(&self) -> Table {
        let mut table = Table::new(&[
            "cipher",
            ">jobs",
            ">depth",
            ">MB/s",
            ">op/s",
            ">CPU %",
            ">host %",
            ">p50 us",
            ">p99 us",
            ">p99.9 us",
            ">of plain %",
        ]);
        for measured in self.of(Kind::Cipher) {
            let row = &measured.row;
            let [rate, operations, _, cpu, host, latencies @ ..] = figures(measured);
            let share = self.plain_of(measured).map(|plain| format!("{:.0}", 100.0 * measured.rate / plain.rate));
            let mut cells = vec![row.cipher.to_string(), row.jobs.to_string(), row.depth.to_string()];
            cells.extend([rate, operations, cpu, host]);
            cells.extend(latencies);
            cells.push(share.unwrap_or_default());
            table.row(cells);
        }
        table
    }

    /// What this host can do at best.
    pub(super) fn explanation(&self) -> Vec<String> {
        let Some(limits) = &self.limits else { return Vec::new() };
        let mut lines = vec![
            String::new(),
            "at best, each alone (MB/s, one thread; memory with all)".to_owned(),
            format!(
                "  memory copy {:.0}, AES-256-GCM {:.0}, ChaCha20-Poly1305 {:.0}, keyed BLAKE3 {:.0}",
                limits.memory, limits.aes, limits.chacha, limits.hash
            ),
            "  `limit` is threads / (1 / codec + 1 / cipher), or what memory can move; `by` is the slowest of them"
                .to_owned(),
        ];
        if self.at_device {
            return lines;
        }
        let ratio = self.of(Kind::Codec).find(|m| m.row.what == What::Gzip).map_or(1.0, |m| m.ratio);
        lines.push("with a QuickAssist device (published rates, not measured here)".to_owned());
        for (model, rate, host, limit) in limits.with_devices(ratio) {
            lines.push(format!(
                "  {model}: deflate at about {rate:.0} MB/s, limited by the {limit}, with {host:.0} % of this host's CPU for encryption"
            ));
        }
        lines
    }

    fn record(&self, measured: &Measured) -> Value {
        let row = &measured.row;
        let micros = measured.latency.map(micros);
        let limit = self.limits.as_ref().map(|limits| limits.of(measured));
        json!({
            "type": "measurement", "table": table(row.kind), "codec": row.what.to_string(), "engine": engine(measured),
            "cipher": row.cipher.to_string(), "block_bytes": row.block, "jobs": row.jobs, "threads": row.threads,
            "depth": row.depth, "mb_per_second": measured.rate, "operations_per_second": measured.operations,
            "ratio": measured.ratio, "cpu_percent_of_core": measured.cpu, "cpu_percent_of_host": measured.cpu_host,
            "p50_us": micros[0], "p99_us": micros[1], "p999_us": micros[2],
            "times_gzip": self.factor(measured, false), "times_gzip_one_thread": self.factor(measured, true),
            "limit_mb_per_second": limit.map(|(rate, _)| rate).filter(|rate| rate.is_finite()),
            "limited_by": limit.map(|(_, by)| by),
        })
    }

    fn summary(&self) -> Value {
        let limits = self.limits.as_ref().map(|limits| {
            let ratio = self.of(Kind::Codec).find(|m| m.row.what == What::Gzip).map_or(1.0, |m| m.ratio);
            let devices = limits.with_devices(ratio).into_iter().map(|(model, rate, host, limit)| {
                json!({"model": model, "published": true, "mb_per_second": rate, "cpu_percent_of_host": host, "limited_by": limit})
            });
            json!({
                "memory_mb_per_second": limits.memory, "aes_mb_per_second": limits.aes,
                "chacha_mb_per_second": limits.chacha, "blake3_mb_per_second": limits.hash,
                "devices": devices.collect::<Vec<_>>(),
            })
        });
        json!({
            "type": "summary", "command": "bench", "data": self.input.name, "data_bytes": self.input.data.len(),
            "processors": processors(), "rows": self.rows.len(), "complete": self.whole, "limits": limits,
        })
    }

    /// All rows, with a line of names on top.
    pub(super) fn csv(&self) -> String {
        let mut text =
            "table,codec,engine,cipher,block_bytes,jobs,threads,depth,mb_per_second,operations_per_second,ratio,\
             cpu_percent_of_core,cpu_percent_of_host,p50_us,p99_us,p999_us,times_gzip,times_gzip_one_thread\n"
                .to_owned();
        for measured in self.rows {
            let row = &measured.row;
            let [p50, p99, p999] = measured.latency.map(micros);
            let times = |single| self.factor(measured, single).map(|f| format!("{f:.3}")).unwrap_or_default();
            text.extend([format!(
                "{},{},{},{},{},{},{},{},{:.3},{:.3},{:.4},{:.2},{:.2},{p50:.3},{p99:.3},{p999:.3},{},{}\n",
                table(row.kind),
                row.what,
                engine(measured),
                row.cipher,
                row.block,
                row.jobs,
                row.threads,
                row.depth,
                measured.rate,
                measured.operations,
                measured.ratio,
                measured.cpu,
                measured.cpu_host,
                times(false),
                times(true)
            )]);
        }
        text
    }
}

fn table(kind: Kind) -> &'static str {
    match kind {
        Kind::Codec => "codec",
        Kind::Cipher => "cipher",
    }
}

pub(super) fn engine(measured: &Measured) -> &'static str {
    if measured.row.at_device { "qat" } else { "cpu" }
}

/// A size of a block as it is written: `64K`.
pub(super) fn size(block: u32) -> String {
    if block.is_multiple_of(1 << 20) { format!("{}M", block >> 20) } else { format!("{}K", block >> 10) }
}

fn micros(latency: Duration) -> f64 {
    latency.as_secs_f64() * 1e6
}

/// MB/s, operations a second, ratio, CPU of a core and of the host, and the three latencies.
fn figures(measured: &Measured) -> [String; 8] {
    let [p50, p99, p999] = measured.latency.map(|latency| format!("{:.0}", micros(latency)));
    let rate = if measured.rate < 100.0 { format!("{:.1}", measured.rate) } else { format!("{:.0}", measured.rate) };
    [
        rate,
        format!("{:.0}", measured.operations),
        format!("{:.2}", measured.ratio),
        format!("{:.0}", measured.cpu),
        format!("{:.0}", measured.cpu_host),
        p50,
        p99,
        p999,
    ]
}
