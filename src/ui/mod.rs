//! Floor 2: what commands print with; the only room besides `main` that writes to stdout and stderr.
//!
//! Data goes to stdout, everything else to stderr; with `--json` everything is one object a line on stdout. Nothing
//! that came from outside reaches a terminal without [`escape()`] or [`clean`].

mod base64;
mod escape;
mod output;
mod progress;
mod prompt;
mod quantity;
mod table;

pub use base64::base64;
pub use escape::{clean, escape, words};
pub use output::{Level, Mode, Output, Report};
pub use progress::{Activity, Progress};
pub use prompt::{PromptError, prompt};
pub use quantity::{bytes, count, duration, rate, ratio, several};
pub use table::Table;
