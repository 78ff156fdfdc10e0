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

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asking {
    /// The password of a repository.
    Known,
    /// The password of a repository to be made.
    New,
    /// Another password of a repository.
    Changed,
    /// A recovery key.
    Recovery,
}

impl Asking {
    fn noun(self) -> &'static str {
        match self {
            Self::Known | Self::New => "password",
            Self::Changed => "new password",
            Self::Recovery => "recovery key",
        }
    }

    fn question(self) -> &'static str {
        match self {
            Self::Known => "password of the repository: ",
            Self::New => "password for the new repository: ",
            Self::Changed => "new password: ",
            Self::Recovery => "recovery key: ",
        }
    }

    /// Whether what is typed must be typed twice, because nothing else would show a mistake.
    fn is_new(self) -> bool {
        matches!(self, Self::New | Self::Changed)
    }

    /// What to use where nobody can be asked.
    fn elsewhere(self) -> &'static str {
        match self {
            Self::Known | Self::New => {
                "use `--password-file`, `--password-command` or the variable NIGHTJAR_PASSWORD_FILE"
            }
            Self::Changed => "use `--new-password-file` or `--new-password-command`",
            Self::Recovery => "use `--key-file`",
        }
    }
}

impl PasswordSource {
    /// The password.
    pub(super) fn read(&self, output: &Output, asking: Asking) -> Result<Secret, CommandError> {
        let text = match self {
            Self::File(path) => from_file(path, output, asking)?,
            Self::Command(command) => from_command(command)?,
            Self::Given(text) => text.clone(),
            Self::Terminal => from_terminal(asking)?,
        };
        Ok(Secret::new(text))
    }
}

fn from_file(path: &Path, output: &Output, asking: Asking) -> Result<Zeroizing<String>, CommandError> {
    let (noun, shown) = (asking.noun(), escape(path.as_os_str().as_bytes()));
    let failed = |error: io::Error| {
        CommandError::password(
            format!("could not read the {noun} file `{shown}`"),
            error.to_string(),
            "check the path and the permissions",
        )
    };
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_file() && metadata.mode() & 0o044 != 0 {
        output.warn(&format!("other users can read the {noun} file `{shown}`; `chmod 600` takes that away"));
    }
    one_line(&read_short(file).map_err(failed)?)
        .map_err(|because| bad_text(format!("the {noun} file `{shown}` cannot be used"), because))
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
    let ask = |question: &str| prompt(question).map_err(|error| no_answer(&error, asking));
    let typed = ask(asking.question())?;
    let first = one_line(typed.as_bytes())
        .map_err(|because| bad_text(format!("this {} cannot be used", asking.noun()), because))?;
    if asking.is_new() && ask("the same again: ")? != first {
        return Err(CommandError::password(
            "the passwords differ",
            "the second was not typed like the first",
            "try again",
        ));
    }
    Ok(first)
}

fn no_answer(error: &PromptError, asking: Asking) -> CommandError {
    let noun = asking.noun();
    match error {
        PromptError::Interrupted => CommandError::Interrupted(2),
        PromptError::NoTerminal => CommandError::usage(
            format!("a {noun} is needed"),
            "none was given, and nobody can be asked because standard input is no terminal",
            asking.elsewhere(),
        ),
        error => CommandError::password(
            format!("could not read the {noun} from the terminal"),
            error.to_string(),
            asking.elsewhere(),
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
