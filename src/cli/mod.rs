//! Floor 9: the command line. The only room that reads arguments and the environment; flags beat variables, and
//! variables beat defaults.

mod arguments;
mod help;
mod process;
mod settings;
mod usage;

pub use arguments::program;

use crate::base::cancel::Cancel;
use crate::commands::{self, CommandError, Context, Exit};
use crate::engine::qat::{abandoned, leave};
use crate::repo::Environment;
use crate::ui::{Mode, Output};
use arguments::{Arguments, Verb};
use clap::{CommandFactory, FromArgMatches};
use jiff::tz::TimeZone;
use settings::Variables;
use std::ffi::OsString;
use std::sync::Arc;

/// Runs the program; gives the exit code.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the room that reads arguments")]
pub fn main() -> u8 {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let variables = Variables::read();
    let parsed = program().try_get_matches_from(&arguments).and_then(|matches| Arguments::from_arg_matches(&matches));
    let mode = match &parsed {
        Ok(arguments) => arguments.global.mode(&variables),
        Err(_) => Mode { json: usage::wants_json(&arguments), plain: variables.no_color, ..Mode::default() },
    };
    let output = Arc::new(Output::new(mode));
    let result = match parsed {
        Ok(arguments) => run(&arguments, &variables, &output),
        Err(error) => usage::answer(&error, &output),
    };
    let exit = match result {
        Ok(exit) => exit,
        Err(error) => {
            if !error.is_silent() {
                output.fail(&error.report(), error.exit().code());
            }
            error.exit()
        }
    };
    if abandoned() {
        leave(exit.code());
    }
    exit.code()
}

fn run(arguments: &Arguments, variables: &Variables, output: &Arc<Output>) -> Result<Exit, CommandError> {
    let cancel = Cancel::new();
    process::harden();
    if arguments.verb.stops_cleanly() {
        process::listen_for_signals(&cancel).map_err(|error| {
            CommandError::failed("could not prepare for signals", error.to_string(), "try again; the system refuses")
        })?;
    }
    let global = &arguments.global;
    let context = Context {
        output: Arc::clone(output),
        environment: Environment { scratch: Some(settings::scratch(variables)), ..Environment::system() },
        cancel,
        zone: TimeZone::system(),
        location: settings::location(global, variables)?,
        password: settings::password(global, variables)?,
        compression: settings::compression(global, variables)?,
        engine: settings::engine(global, variables)?,
        user: variables.user(),
        temporary: variables.temporary.clone(),
        state: settings::state(variables)?,
        cache: settings::cache(global, variables)?,
    };
    match &arguments.verb {
        Verb::Backup(args) => commands::backup::run(args, &context),
        Verb::Restore(args) => commands::restore::run(args, &context),
        Verb::Demo(args) => commands::demo::run(args, &context),
        Verb::Bench(args) => commands::bench::run(args, &context),
        Verb::Forget(args) => commands::forget::run(args, &context),
        Verb::Prune(args) => commands::prune::run(args, &context),
        Verb::Check(args) => commands::check::run(args, &context),
        Verb::Scrub(args) => commands::scrub::run(args, &context),
        Verb::Repair(args) => commands::repair::run(args, &context),
        Verb::Cache(args) => commands::cache::run(args, &context),
        Verb::Init(args) => commands::init::run(args, &context),
        Verb::Snapshots(args) => commands::snapshots::run(args, &context),
        Verb::Ls(args) => commands::ls::run(args, &context),
        Verb::Key(args) => commands::key::run(args, &context),
        Verb::Repo(args) => commands::repo::run(args, global.compression, &context),
        Verb::Stats(args) => commands::stats::run(args, &context),
        Verb::Completions(args) => commands::completions::run(args, &program(), &context),
        Verb::Man(args) => commands::man::run(args, &program(), &context),
    }
}

impl Arguments {
    fn command() -> clap::Command {
        <Self as CommandFactory>::command()
    }
}
