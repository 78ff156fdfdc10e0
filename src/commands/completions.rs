//! `nightjar completions`: what a shell needs to complete command lines.

use super::{CommandError, Context, Exit};
use clap_complete::{Shell, generate};

/// Options of `completions`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs `completions` for the command line `program`.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &Args, program: &clap::Command, context: &Context) -> Result<Exit, CommandError> {
    context.output.raw(&script(args.shell, program))?;
    context.output.flush()?;
    Ok(Exit::Done)
}

/// The completions of `program` for `shell`.
#[must_use]
pub fn script(shell: Shell, program: &clap::Command) -> Vec<u8> {
    let mut script = Vec::new();
    generate(shell, &mut program.clone(), program.get_name(), &mut script);
    script
}
