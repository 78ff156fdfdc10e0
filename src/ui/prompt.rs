//! Asking for a password on the terminal.

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{IsTerminal, Write, stderr, stdin};
use thiserror::Error;
use zeroize::Zeroizing;

/// No password came from the terminal.
#[derive(Debug, Error)]
pub enum PromptError {
    /// Standard input is no terminal.
    #[error("standard input is not a terminal")]
    NoTerminal,
    /// Ctrl-C was typed.
    #[error("interrupted")]
    Interrupted,
    /// What was typed is not UTF-8.
    #[error("the password is not UTF-8")]
    NotText,
    /// The terminal failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Puts the terminal back as it was.
struct Restore(Termios);

impl Drop for Restore {
    fn drop(&mut self) {
        // There is nobody to tell when even that fails.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.0);
    }
}

/// Shows `question` and reads one line from standard input without showing it.
///
/// # Errors
/// [`PromptError::NoTerminal`] when nobody could answer; Ctrl-C; a terminal that fails.
pub fn prompt(question: &str) -> Result<Zeroizing<String>, PromptError> {
    if !stdin().is_terminal() {
        return Err(PromptError::NoTerminal);
    }
    let mut modes = tcgetattr(stdin()).map_err(std::io::Error::from)?;
    let restore = Restore(modes.clone());
    // Signals are taken as characters, so that the terminal is never left without echo.
    modes.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
    tcsetattr(stdin(), OptionalActions::Flush, &modes).map_err(std::io::Error::from)?;
    write!(stderr(), "{question}")?;
    stderr().flush()?;
    let line = read_line();
    drop(restore);
    writeln!(stderr())?;
    let line = line?;
    let text = std::str::from_utf8(&line).map_err(|_| PromptError::NotText)?;
    Ok(Zeroizing::new(text.to_owned()))
}

fn read_line() -> Result<Zeroizing<Vec<u8>>, PromptError> {
    // Larger than any password, so that no part of one is left behind by growing.
    let mut line = Zeroizing::new(Vec::with_capacity(4096));
    loop {
        let mut byte = [0_u8];
        let read = match rustix::io::read(stdin(), &mut byte) {
            Err(rustix::io::Errno::INTR) => continue,
            other => other.map_err(std::io::Error::from)?,
        };
        match byte[0] {
            _ if read == 0 => return Err(PromptError::NoTerminal),
            b'\n' | b'\r' => return Ok(line),
            3 => return Err(PromptError::Interrupted),
            4 if line.is_empty() => return Err(PromptError::NoTerminal),
            8 | 127 => drop_char(&mut line),
            // Ctrl-U
            21 => line.clear(),
            byte if line.len() < 4096 => line.push(byte),
            _ => {}
        }
    }
}

/// Takes the last character away, which may be several bytes.
fn drop_char(line: &mut Vec<u8>) {
    while line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
}
