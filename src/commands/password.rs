//! Where the password comes from. Never from an argument, which every user of the host could read.

use super::CommandError;
use crate::crypto::Secret;
use crate::ui::{Output, PromptError, escape, prompt};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use zeroize::Zeroizing;

/// No password or recovery key is longer than this many bytes.
const LONGEST: usize = 4096;

/// Where the password comes from.
#[derive(Clone)]
pub enum PasswordSource {
    /// The one line of this file.
    File(PathBuf),
    /// What this shell command prints.
    Command(String),
    /// This text.
    Given(Zeroizing<String>),
    /// Whoever sits at the terminal.
    Terminal,
}

impl std::fmt::Debug for PasswordSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::File(_) => "File(..)",
            Self::Command(_) => "Command(..)",
            Self::Given(_) => "Given(..)",
            Self::Terminal => "Terminal",
        })
    }
}

/// Whether a password is asked for once, or twice because it is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asking {
    Known,
    New,
}

impl PasswordSource {
    /// The password.
    pub(super) fn read(&self, output: &Output, asking: Asking) -> Result<Secret, CommandError> {
        let text = match self {
            Self::File(path) => from_file(path, output)?,
            Self::Command(command) => from_command(command)?,
            Self::Given(text) => text.clone(),
            Self::Terminal => from_terminal(asking)?,
        };
        Ok(Secret::new(text))
    }
}

fn from_file(path: &Path, output: &Output) -> Result<Zeroizing<String>, CommandError> {
    let shown = escape(path.as_os_str().as_bytes());
    let failed = |error: io::Error| {
        CommandError::password(
            format!("could not read the password file `{shown}`"),
            error.to_string(),
            "check the path and the permissions",
        )
    };
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_file() && metadata.mode() & 0o044 != 0 {
        output.warn(&format!("other users can read the password file `{shown}`; `chmod 600` takes that away"));
    }
    one_line(&read_short(file).map_err(failed)?)
        .map_err(|because| bad_text(format!("the password file `{shown}` cannot be used"), because))
}

fn from_command(command: &str) -> Result<Zeroizing<String>, CommandError> {
    let failed = |because: String| {
        CommandError::password("the password command failed", because, "run the command by itself and see what it says")
    };
    let mut child = Command::new("/bin/sh")
        .args(["-c", command])
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("the shell could not be started: {error}")))?;
    let text = match child.stdout.take() {
        Some(stdout) => read_short(stdout),
        None => Ok(Zeroizing::new(Vec::new())),
    };
    let status = child.wait().map_err(|error| failed(error.to_string()))?;
    if !status.success() {
        return Err(failed(format!("it ended with {status}")));
    }
    let text = text.map_err(|error| failed(error.to_string()))?;
    one_line(&text).map_err(|because| bad_text("what the password command printed cannot be used".to_owned(), because))
}

fn from_terminal(asking: Asking) -> Result<Zeroizing<String>, CommandError> {
    let ask = |question: &str| prompt(question).map_err(|error| no_answer(&error));
    if asking == Asking::Known {
        let text = ask("password of the repository: ")?;
        return one_line(text.as_bytes())
            .map_err(|because| bad_text("this password cannot be used".to_owned(), because));
    }
    let first = ask("password for the new repository: ")?;
    let first =
        one_line(first.as_bytes()).map_err(|because| bad_text("this password cannot be used".to_owned(), because))?;
    if ask("the same again: ")? != first {
        return Err(CommandError::password(
            "the passwords differ",
            "the second was not typed like the first",
            "try again",
        ));
    }
    Ok(first)
}

fn no_answer(error: &PromptError) -> CommandError {
    match error {
        PromptError::Interrupted => CommandError::Interrupted(2),
        PromptError::NoTerminal => CommandError::usage(
            "a password is needed",
            "none was given, and nobody can be asked because standard input is no terminal",
            "use `--password-file`, `--password-command` or the variable NIGHTJAR_PASSWORD_FILE",
        ),
        error => CommandError::password(
            "could not read the password from the terminal",
            error.to_string(),
            "use `--password-file`",
        ),
    }
}

fn bad_text(what: String, because: &'static str) -> CommandError {
    CommandError::password(what, because, "a password is one line of text and nothing else")
}

/// All of a short input; one byte more than is allowed at most.
fn read_short(from: impl Read) -> io::Result<Zeroizing<Vec<u8>>> {
    // Room for all of it from the start: growing would leave copies behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(LONGEST + 64));
    from.take(LONGEST as u64 + 3).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The one line of a text, without its line end.
fn one_line(text: &[u8]) -> Result<Zeroizing<String>, &'static str> {
    let line = text.strip_suffix(b"\n").unwrap_or(text);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.is_empty() {
        return Err("it is empty");
    }
    if line.len() > LONGEST {
        return Err("it is longer than 4096 bytes");
    }
    if line.contains(&b'\n') {
        return Err("there is a second line");
    }
    let text = std::str::from_utf8(line).map_err(|_| "it is not UTF-8")?;
    Ok(Zeroizing::new(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn one_line_end_is_removed_and_nothing_else() {
        for (text, password) in [
            ("secret", "secret"),
            ("secret\n", "secret"),
            ("secret\r\n", "secret"),
            (" secret \t\n", " secret \t"),
            ("a\rb\n", "a\rb"),
        ] {
            assert_eq!(one_line(text.as_bytes()).unwrap().as_str(), password);
        }
        for bad in ["", "\n", "\r\n", "a\nb", "a\n\n"] {
            assert!(one_line(bad.as_bytes()).is_err(), "{bad:?}");
        }
        assert!(one_line(b"\xff").is_err());
        assert!(one_line(&[b'x'; 4097]).is_err());
    }
}
