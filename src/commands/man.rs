//! `nightjar man`: the manual.

use super::{CommandError, Context, Exit};
use crate::ui::escape;
use clap_mangen::Man;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Options of `man`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Folder for all pages, one a command [default: the page of nightjar itself goes to standard output]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Runs `man` for the command line `program`.
///
/// # Errors
/// When the folder or standard output cannot be written to.
pub fn run(args: &Args, program: &clap::Command, context: &Context) -> Result<Exit, CommandError> {
    let pages = pages(program)?;
    let Some(folder) = &args.folder else {
        let (_, page) = &pages[0];
        context.output.raw(page)?;
        context.output.flush()?;
        return Ok(Exit::Done);
    };
    let failed = |error: io::Error| {
        CommandError::failed(
            format!("could not write the manual to `{}`", escape(folder.as_os_str().as_bytes())),
            error.to_string(),
            "choose a folder that you may write to",
        )
    };
    fs::create_dir_all(folder).map_err(failed)?;
    for (name, page) in &pages {
        fs::write(folder.join(name), page).map_err(failed)?;
    }
    context.output.note(&format!("wrote {} pages", pages.len()));
    Ok(Exit::Done)
}

/// Adds the commands below `parent`, whose page is called `page`, each under the name of its own page.
fn collect(parent: &clap::Command, page: &str, commands: &mut Vec<clap::Command>) {
    for verb in parent.get_subcommands().filter(|verb| verb.get_name() != "help") {
        let page = format!("{page}-{}", verb.get_name());
        commands.push(verb.clone().name(page.clone()).display_name(page.clone()));
        collect(verb, &page, commands);
    }
}

/// File name and text of every page; that of the program itself comes first.
///
/// # Errors
/// None that memory would not give.
pub fn pages(program: &clap::Command) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut program = program.clone();
    program.build();
    let name = program.get_name().to_owned();
    let mut commands = vec![program.clone().disable_help_subcommand(true)];
    collect(&program, &name, &mut commands);
    let mut pages = Vec::new();
    for command in commands {
        let man = Man::new(command);
        let mut page = Vec::new();
        man.render(&mut page)?;
        pages.push((man.get_filename(), page));
    }
    Ok(pages)
}
