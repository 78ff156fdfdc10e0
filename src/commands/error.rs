//! Errors as people and scripts get them.

use super::Exit;
use crate::archive::ArchiveError;
use crate::repo::RepoError;
use crate::restore::RestoreError;
use crate::storage::{StorageError, StorageFault};
use crate::ui::{Report, escape};
use std::io;

/// A command that did not do what it was asked to.
#[derive(Debug)]
pub enum CommandError {
    /// The command line, a variable or a file named by them is wrong.
    Usage(Report),
    /// No usable password came from where it should.
    Password(Report),
    /// Something else that is described completely.
    Failed(Report),
    /// Stored data is damaged.
    Damage(Report),
    /// Something could not be read this time.
    Unreadable(Report),
    /// Somebody else is at work.
    Busy(Report),
    /// The place that a restore writes to is full.
    NoSpace(Report),
    /// The repository.
    Repo(RepoError),
    /// Standard output could not be written to.
    Output(io::Error),
    /// A signal with this number asked to stop.
    Interrupted(usize),
}

impl From<RepoError> for CommandError {
    fn from(error: RepoError) -> Self {
        Self::Repo(error)
    }
}

impl From<ArchiveError> for CommandError {
    fn from(error: ArchiveError) -> Self {
        match error {
            ArchiveError::NothingToSave(items) => Self::failed(
                "there is nothing to back up, and no snapshot was made",
                match &items[..] {
                    [] => "none of the sources could be read".to_owned(),
                    [first, ..] => format!("`{}`: {}", escape(&first.path), first.reason),
                },
                "check the paths, and that what they are on is mounted",
            ),
            ArchiveError::Stream(reason) => Self::failed(
                "the input could not be saved, and no snapshot was made",
                reason,
                "make the command or pipe that gives the input succeed, and run it again",
            ),
            ArchiveError::Cancelled(signal) => Self::Interrupted(signal),
            ArchiveError::Repo(error) => Self::Repo(error),
        }
    }
}

impl From<RestoreError> for CommandError {
    fn from(error: RestoreError) -> Self {
        match error {
            RestoreError::Target(error) => Self::failed(
                "could not restore into the target folder",
                error.to_string(),
                "choose a folder that can be made or written to",
            ),
            RestoreError::NoSpace(error) => Self::NoSpace(report(
                "could not restore everything",
                format!("the target is full: {error}"),
                "make space there and run the command again, or choose another target",
            )),
            RestoreError::Cancelled(signal) => Self::Interrupted(signal),
            RestoreError::Repo(error) => Self::Repo(error),
        }
    }
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl CommandError {
    /// A mistake in what the user gave.
    #[must_use]
    pub fn usage(what: impl Into<String>, because: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage(report(what, because, hint))
    }

    /// A password that is not to be had.
    #[must_use]
    pub fn password(what: impl Into<String>, because: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Password(report(what, because, hint))
    }

    /// A failure of something outside the repository.
    #[must_use]
    pub fn failed(what: impl Into<String>, because: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Failed(report(what, because, hint))
    }

    /// Damage that a command found.
    #[must_use]
    pub fn damage(what: impl Into<String>, because: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Damage(report(what, because, hint))
    }

    /// Something that could not be read this time.
    #[must_use]
    pub fn unreadable(what: impl Into<String>, because: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Unreadable(report(what, because, hint))
    }

    /// Somebody else is at work.
    #[must_use]
    pub fn busy(what: impl Into<String>, because: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Busy(report(what, because, hint))
    }

    /// How the process ends.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::Password(_) => Exit::WrongSecret,
            Self::Failed(_) | Self::Output(_) => Exit::Failed,
            Self::Damage(_) => Exit::Damage,
            Self::NoSpace(_) => Exit::NoSpace,
            Self::Unreadable(_) => Exit::Storage,
            Self::Busy(_) => Exit::Lease,
            Self::Repo(error) => exit_of(error),
            Self::Interrupted(signal) => Exit::Signal(u8::try_from(*signal).unwrap_or(0)),
        }
    }

    /// Whether nobody wants to hear of it: the reader of our output has gone.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The three lines.
    #[must_use]
    pub fn report(&self) -> Report {
        match self {
            Self::Usage(report)
            | Self::Password(report)
            | Self::Failed(report)
            | Self::Damage(report)
            | Self::Unreadable(report)
            | Self::Busy(report)
            | Self::NoSpace(report) => report.clone(),
            Self::Repo(error) => report_of(error),
            Self::Output(error) => report(
                "could not print the result",
                format!("standard output failed: {error}"),
                "look at where the output goes, such as a full disk behind a redirection",
            ),
            Self::Interrupted(signal) => report(
                "stopped before the end",
                format!("signal {signal} asked to stop"),
                "run the same command again; what a backup has stored it does not store twice",
            ),
        }
    }
}

fn report(what: impl Into<String>, because: impl Into<String>, hint: impl Into<String>) -> Report {
    Report { what: what.into(), because: because.into(), hint: hint.into() }
}

fn exit_of(error: &RepoError) -> Exit {
    match error {
        RepoError::NoRepository(_) => Exit::NoRepository,
        RepoError::WrongSecret => Exit::WrongSecret,
        RepoError::TooNew { .. } => Exit::TooNew,
        RepoError::LeaseLost | RepoError::Conflict => Exit::Lease,
        RepoError::Option(_) => Exit::Usage,
        RepoError::Storage(error) if error.fault == StorageFault::NoSpace => Exit::NoSpace,
        error if error.is_damage() => Exit::Damage,
        RepoError::Storage(_) => Exit::Storage,
        _ => Exit::Failed,
    }
}

fn report_of(error: &RepoError) -> Report {
    match error {
        RepoError::NoRepository(place) => report(
            format!("there is no repository at `{place}`"),
            "no config object was found there",
            "check the location and that the disk is mounted; `nightjar init` makes a new repository",
        ),
        RepoError::Exists(place) => report(
            "could not make a repository",
            format!("there is one at `{place}` already"),
            "use it as it is, or choose another location",
        ),
        RepoError::WrongSecret => report(
            "could not open the repository",
            "no key slot opens with this password",
            "check which password is used; the recovery key works in its place",
        ),
        RepoError::LeaseLost => report(
            "the backup does not count",
            error.to_string(),
            "run it again; what it has stored and is still there is not stored twice",
        ),
        RepoError::TooNew { .. } => {
            report("could not open the repository", error.to_string(), "use a newer version of nightjar")
        }
        RepoError::NoPath(path) => report(
            format!("there is no `{}` in the snapshot", escape(path)),
            "none of its directories holds such a name",
            "`nightjar ls SNAPSHOT` shows all paths, always from the root",
        ),
        RepoError::NoSnapshot(_) | RepoError::Ambiguous(_) => report(
            "could not find the snapshot",
            error.to_string(),
            "`nightjar snapshots` lists them; give more digits, or `latest`",
        ),
        RepoError::Option(reason) => report(
            "the command cannot be run like this",
            reason.clone(),
            "see `nightjar help` and the help of the command",
        ),
        RepoError::NoSlot(_)
        | RepoError::AmbiguousSlot(_)
        | RepoError::LastSlot
        | RepoError::SlotExists(_)
        | RepoError::NoPassword
        | RepoError::Conflict => report_of_change(error),
        RepoError::Storage(error) => report_of_storage(error),
        error if error.is_damage() => report(
            "the repository is damaged",
            error.to_string(),
            "keep it as it is, and get the named object back from a copy of the repository",
        ),
        error => report(
            "the command failed",
            error.to_string(),
            "try again; if it stays like this, report it with these lines",
        ),
    }
}

/// What went wrong with a change of key slots or settings.
fn report_of_change(error: &RepoError) -> Report {
    let (what, hint) = match error {
        RepoError::LastSlot => (
            "could not remove the key slot",
            "add another with `nightjar key add` first; without any nobody can read the repository, ever",
        ),
        RepoError::SlotExists(_) => {
            ("could not add the password", "there is nothing to do; or choose another password")
        }
        RepoError::NoPassword => (
            "could not change the password",
            "add a password with `nightjar key add`, then remove the slot of the old one with `nightjar key remove ID`",
        ),
        RepoError::Conflict => {
            ("the settings were not changed", "see what they are now with `nightjar repo show`, and try again")
        }
        _ => ("could not find the key slot", "`nightjar key list` shows them; give more digits of the id"),
    };
    report(what, error.to_string(), hint)
}

fn report_of_storage(error: &StorageError) -> Report {
    let hint = match error.fault {
        StorageFault::NoSpace => "make space on the disk of the repository; what is in it is untouched and usable",
        StorageFault::Denied => "check owner and permissions of the repository, and whether it is mounted read-only",
        StorageFault::NotFound | StorageFault::ShortRead => {
            "keep the repository as it is, and get the named object back from a copy of it"
        }
        _ => "check that the disk or server of the repository is there, and try again",
    };
    report(
        format!("could not {} `{}` in `{}`", error.action, error.object, error.location),
        error.source.to_string(),
        hint,
    )
}

#[cfg(test)]
mod tests {
    use super::CommandError;
    use crate::repo::RepoError;
    use crate::storage::StorageError;
    use std::io;

    #[test]
    fn every_kind_of_failure_has_its_own_code() {
        let storage = |kind: io::ErrorKind| {
            RepoError::from(StorageError::new("read", "config/1", "/repo", io::Error::from(kind)))
        };
        let damaged = RepoError::Damaged { object: "x".into(), reason: "y".into() };
        let too_new = RepoError::TooNew { object: "x".into(), version: 2 };
        for (error, code) in [
            (RepoError::NoRepository("/x".into()), 10),
            (RepoError::Exists("/x".into()), 1),
            (RepoError::WrongSecret, 12),
            (too_new, 14),
            (damaged, 4),
            (RepoError::NoSnapshot("x".into()), 1),
            (RepoError::NoSlot("x".into()), 1),
            (RepoError::LastSlot, 1),
            (RepoError::SlotExists("x".into()), 1),
            (RepoError::NoPassword, 1),
            (RepoError::Conflict, 11),
            (RepoError::Option("x".into()), 2),
            (storage(io::ErrorKind::PermissionDenied), 13),
            (storage(io::ErrorKind::StorageFull), 15),
            (storage(io::ErrorKind::TimedOut), 13),
            (storage(io::ErrorKind::NotFound), 4),
        ] {
            let error = CommandError::from(error);
            assert_eq!(error.exit().code(), code, "{error:?}");
            let report = error.report();
            for line in [report.what, report.because, report.hint] {
                assert!(!line.is_empty() && !line.starts_with(char::is_uppercase), "{line}");
            }
        }
        assert_eq!(CommandError::Interrupted(2).exit().code(), 130);
        assert_eq!(CommandError::Interrupted(15).exit().code(), 143);
    }
}
