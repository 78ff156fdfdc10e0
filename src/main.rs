//! The `nightjar` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(nightjar::cli::main())
}
