//! How fast each stage of a backup is, alone and together, in MB/s (10^6 bytes) on data that is the same on every run.
//!
//! `cargo bench --bench bench` runs everything, `cargo bench --bench bench -- index` what has `index` in its name.
//! The numbers to compare with stand in ARCHITECTURE.md. Own harness, because all that is wanted is the best time: what
//! the machine does when nothing else wants it.
#![expect(clippy::unwrap_used, reason = "a bench says what went wrong by failing there")]
#![expect(clippy::print_stdout, reason = "numbers are what a bench is for")]

#[path = "bench/large.rs"]
mod large;
#[path = "bench/quickassist.rs"]
mod quickassist;
#[path = "bench/stages.rs"]
mod stages;
#[path = "bench/whole.rs"]
mod whole;

use nightjar::base::clock::{Clock as _, SystemClock};
use std::time::Duration;

/// How long a measurement goes on, and how often at least.
const LEAST_TIME: Duration = Duration::from_millis(200);
const LEAST_ROUNDS: u32 = 5;

/// What measures and prints.
pub(crate) struct Bench {
    clock: SystemClock,
    filter: String,
}

impl Bench {
    /// Whether the bench `name` was asked for.
    pub(crate) fn wants(&self, name: &str) -> bool {
        name.contains(&self.filter)
    }

    /// Whether just this was asked for.
    pub(crate) fn asks_for(&self, name: &str) -> bool {
        self.filter == name
    }

    /// How long `work` takes once.
    pub(crate) fn once<T>(&self, work: impl FnOnce() -> T) -> (Duration, T) {
        let began = self.clock.monotonic();
        let result = work();
        (self.clock.monotonic().saturating_sub(began), result)
    }

    /// The shortest time that `work` takes.
    pub(crate) fn best<T>(&self, mut work: impl FnMut() -> T) -> Duration {
        let (mut best, mut total, mut rounds) = (Duration::MAX, Duration::ZERO, 0);
        while rounds < LEAST_ROUNDS || total < LEAST_TIME {
            let (time, _) = self.once(|| std::hint::black_box(work()));
            best = best.min(time);
            total += time;
            rounds += 1;
        }
        best
    }
}

pub(crate) fn title(title: &str) {
    println!("\n{title}");
}

/// One line: a name and the values of its columns.
pub(crate) fn line(name: &str, columns: &[String]) {
    print!("  {name:<30}");
    for column in columns {
        print!("{column:>16}");
    }
    println!();
}

/// Throughput as it is printed.
pub(crate) fn rate(bytes: usize, time: Duration) -> String {
    let bytes = f64::from(u32::try_from(bytes).unwrap());
    format!("{:.0} MB/s", bytes / 1e6 / time.as_secs_f64())
}

#[expect(clippy::disallowed_methods, reason = "a bench has no cli above it")]
fn main() {
    let filter = std::env::args().skip(1).find(|arg| !arg.starts_with("--"));
    let bench = Bench { clock: SystemClock::default(), filter: filter.unwrap_or_default() };
    stages::run(&bench);
    whole::run(&bench);
    quickassist::run(&bench);
    large::run(&bench);
}
