//! The one place where lines leave the program.

use super::{clean, words};
use indicatif::ProgressBar;
use serde_json::{Value, json};
use std::io::{self, BufWriter, IsTerminal, Stdout, Write, stderr, stdout};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How much is told besides data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Warnings and errors.
    Quiet,
    /// Progress and notes too.
    #[default]
    Usual,
    /// Details too.
    Verbose,
    /// And why things are as they are.
    Thorough,
}

/// How a command prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mode {
    /// One JSON object a line on stdout and nothing else.
    pub json: bool,
    /// How much is told besides data.
    pub level: Level,
    /// Whether `NO_COLOR` or the like forbids colours.
    pub plain: bool,
}

/// An error in the three lines that people get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What could not be done.
    pub what: String,
    /// Why.
    pub because: String,
    /// What to do about it.
    pub hint: String,
}

/// Where commands print; may be used from many threads.
#[derive(Debug)]
pub struct Output {
    mode: Mode,
    out: Mutex<BufWriter<Stdout>>,
    bar: Mutex<Option<ProgressBar>>,
}

impl Output {
    /// Prints in this mode.
    #[must_use]
    pub fn new(mode: Mode) -> Self {
        Self { mode, out: Mutex::new(BufWriter::with_capacity(1 << 16, stdout())), bar: Mutex::new(None) }
    }

    /// How it prints.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether stderr is a terminal.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        stderr().is_terminal()
    }

    /// Whether stdout is a terminal.
    #[must_use]
    pub fn out_is_terminal() -> bool {
        stdout().is_terminal()
    }

    fn out(&self) -> MutexGuard<'_, BufWriter<Stdout>> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A line of data; nothing with `--json`.
    ///
    /// # Errors
    /// When stdout cannot be written to.
    pub fn line(&self, text: &str) -> io::Result<()> {
        if self.mode.json {
            return Ok(());
        }
        writeln!(self.out(), "{text}")
    }

    /// Bytes as they are, in whatever mode: what was asked for is not made of lines.
    ///
    /// # Errors
    /// When stdout cannot be written to.
    pub fn raw(&self, bytes: &[u8]) -> io::Result<()> {
        self.out().write_all(bytes)
    }

    /// A JSON object; nothing without `--json`.
    ///
    /// # Errors
    /// When stdout cannot be written to.
    pub fn record(&self, record: &Value) -> io::Result<()> {
        if !self.mode.json {
            return Ok(());
        }
        writeln!(self.out(), "{record}")
    }

    /// As [`record`](Self::record), seen at once by whoever reads.
    ///
    /// # Errors
    /// When stdout cannot be written to.
    pub fn record_now(&self, record: &Value) -> io::Result<()> {
        self.record(record)?;
        self.flush()
    }

    /// Hands everything over.
    ///
    /// # Errors
    /// When stdout cannot be written to.
    pub fn flush(&self) -> io::Result<()> {
        self.out().flush()
    }

    /// A line for people about what is going on; nothing when quiet or with `--json`.
    pub fn note(&self, text: &str) {
        if self.mode.level > Level::Quiet && !self.mode.json {
            self.tell(text);
        }
    }

    /// A line that only those see who asked for details.
    pub fn detail(&self, text: &str) {
        if self.mode.level >= Level::Verbose {
            self.note(text);
        }
    }

    /// A line that only those see who asked for everything.
    pub fn reason(&self, text: &str) {
        if self.mode.level == Level::Thorough {
            self.note(text);
        }
    }

    /// Something that is not as it should be and does not stop the work.
    pub fn warn(&self, text: &str) {
        self.warn_about(text, json!({}));
    }

    /// A warning with more fields for `--json`.
    pub fn warn_about(&self, text: &str, mut fields: Value) {
        let text = clean(&words(text));
        if self.mode.json {
            fields["type"] = json!("warning");
            fields["message"] = json!(text);
            // Whoever reads is gone; the next line of data will say so.
            let _ = self.record_now(&fields);
        } else {
            self.tell(&format!("{} {text}", self.paint("warning:", "33")));
        }
    }

    /// An error, at the end.
    pub fn fail(&self, report: &Report, exit_code: u8) {
        let Report { what, because, hint } = report;
        let (what, because, hint) = (clean(what), clean(&words(because)), clean(hint));
        if self.mode.json {
            let record = json!({
                "type": "error", "message": what, "because": because, "hint": hint, "exit_code": exit_code,
            });
            let _ = self.record_now(&record);
        } else {
            let _ = self.flush();
            self.tell(&format!(
                "{} {what}\n  {} {because}\n  {} {hint}",
                self.paint("error:", "31"),
                self.paint("because:", "1"),
                self.paint("hint:", "1")
            ));
        }
    }

    fn paint(&self, word: &str, colour: &str) -> String {
        if self.mode.plain || !self.is_terminal() { word.to_owned() } else { format!("\x1b[{colour}m{word}\x1b[0m") }
    }

    /// A line on stderr, above the progress if there is one.
    pub(super) fn tell(&self, text: &str) {
        let print = || {
            // Nobody is left to tell when stderr is gone.
            let _ = writeln!(stderr(), "{text}");
        };
        match &*self.bar.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Puts a progress bar under what is told, or takes it away.
    pub(super) fn set_bar(&self, bar: Option<ProgressBar>) {
        *self.bar.lock().unwrap_or_else(PoisonError::into_inner) = bar;
    }
}
