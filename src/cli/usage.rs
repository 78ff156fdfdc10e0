//! Answers to command lines that are no command: help, the version, mistakes.

use crate::commands::{CommandError, Exit};
use crate::ui::Output;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;

/// Whether a command line that could not be read asks for JSON.
pub(super) fn wants_json(arguments: &[OsString]) -> bool {
    let before_dashes = arguments.iter().take_while(|argument| *argument != "--");
    before_dashes.into_iter().any(|argument| argument == "--json")
}

/// Prints the help that was asked for, or says what is wrong.
pub(super) fn answer(error: &clap::Error, output: &Output) -> Result<Exit, CommandError> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let text = error.render();
            let text = if output.mode().plain || !Output::out_is_terminal() {
                text.to_string()
            } else {
                text.ansi().to_string()
            };
            output.raw(text.as_bytes())?;
            output.flush()?;
            Ok(Exit::Done)
        }
        _ => Err(mistake(error)),
    }
}

fn mistake(error: &clap::Error) -> CommandError {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let first: Vec<&str> = text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim).collect();
    let because = first.join(" ").replace('\'', "`");
    let verb = match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => verb_in(&usage.to_string()),
        _ => None,
    };
    let help = verb.map_or("nightjar --help".to_owned(), |verb| format!("nightjar {verb} --help"));
    let tips: Vec<String> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("tip: "))
        .map(|tip| format!("{}; ", tip.replace('\'', "`")))
        .collect();
    CommandError::usage(
        "the command line is not complete or not right",
        because,
        format!("{}see `{help}`", tips.concat()),
    )
}

/// The command in a usage line, with the one below it where it has such.
fn verb_in(usage: &str) -> Option<String> {
    let words = usage.split_whitespace().skip_while(|word| *word != "nightjar").skip(1);
    let is_name = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
    let verb: Vec<&str> = words.skip_while(|word| !is_name(word)).take_while(is_name).collect();
    (!verb.is_empty()).then(|| verb.join(" "))
}

#[cfg(test)]
mod tests {
    use super::{mistake, verb_in, wants_json};
    use std::ffi::OsString;

    #[test]
    fn a_mistake_becomes_three_lines_with_the_right_help() {
        assert_eq!(verb_in("Usage: nightjar ls [OPTIONS] <SNAPSHOT>"), Some("ls".to_owned()));
        assert_eq!(verb_in("Usage: nightjar key remove [OPTIONS] <ID>"), Some("key remove".to_owned()));
        assert_eq!(verb_in("Usage: nightjar [OPTIONS] <COMMAND>"), None);
        let error = super::super::program().try_get_matches_from(["nightjar", "ls"]).unwrap_err();
        let report = mistake(&error).report();
        assert!(report.because.contains("<SNAPSHOT[:/PATH]>"), "{report:?}");
        assert_eq!(report.hint, "see `nightjar ls --help`");
        let error = super::super::program().try_get_matches_from(["nightjar", "snapshot"]).unwrap_err();
        let report = mistake(&error).report();
        assert!(report.because.contains("`snapshot`"), "{report:?}");
        assert!(report.hint.contains("`snapshots`"), "{report:?}");
    }

    #[test]
    fn json_is_asked_for_before_two_dashes_only() {
        let line = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        assert!(wants_json(&line(&["nightjar", "ls", "--json"])));
        assert!(!wants_json(&line(&["nightjar", "backup", "--", "x", "--json"])));
    }
}
