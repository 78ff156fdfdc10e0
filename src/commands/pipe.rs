//! Content for a backup that comes from standard input or from a command.

use super::CommandError;
use crate::archive::Stream;
use crate::base::cancel::Cancel;
use crate::ui::escape;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command, Stdio};

/// How long one look for more content, or for a request to stop, takes.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// A pipe whose reader is not kept waiting when a stop is asked for.
struct Pipe {
    file: File,
    cancel: Cancel,
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut ready = [PollFd::new(&self.file, PollFlags::IN)];
        // Whoever reads tries again, and looks whether it is to stop before it does.
        if self.cancel.requested().is_some() || poll(&mut ready, Some(&LOOK))? == 0 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        self.file.read(buffer)
    }
}

/// Standard input as the content of a file called `name`.
pub(super) fn standard_input(name: Vec<u8>, cancel: &Cancel) -> Result<Stream, CommandError> {
    let input = io::stdin().as_fd().try_clone_to_owned().map_err(|error| {
        CommandError::failed("could not read standard input", error.to_string(), "give input with a pipe or `<`")
    })?;
    Ok(stream(name, input, cancel, || Ok(())))
}

/// The output of a command as the content of a file called `name`.
pub(super) fn command(name: Vec<u8>, words: &[OsString], cancel: &Cancel) -> Result<Stream, CommandError> {
    let shown = words.first().map(|word| escape(word.as_bytes())).unwrap_or_default();
    let failed = |error: io::Error| {
        CommandError::failed(
            format!("could not run the command `{shown}`"),
            error.to_string(),
            "check its name, and that it is installed",
        )
    };
    let Some((program, arguments)) = words.split_first() else {
        return Err(failed(io::ErrorKind::InvalidInput.into()));
    };
    let mut running = Running(
        Command::new(program)
            .args(arguments)
            .env_remove("NIGHTJAR_PASSWORD")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?,
    );
    let output = running.0.stdout.take().ok_or_else(|| failed(io::ErrorKind::BrokenPipe.into()))?;
    Ok(stream(name, OwnedFd::from(output), cancel, move || running.end(&shown)))
}

fn stream(
    name: Vec<u8>,
    from: OwnedFd,
    cancel: &Cancel,
    finish: impl FnOnce() -> Result<(), String> + Send + 'static,
) -> Stream {
    let pipe = Pipe { file: File::from(from), cancel: cancel.clone() };
    Stream { name, reader: Box::new(pipe), finish: Box::new(finish) }
}

/// A command that does not outlive its backup.
struct Running(Child);

impl Running {
    fn end(mut self, shown: &str) -> Result<(), String> {
        match self.0.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("the command `{shown}` ended with {status}")),
            Err(error) => Err(format!("the command `{shown}` cannot be waited for: {error}")),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Harmless when it has ended already; nobody is left to tell when it cannot be ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
