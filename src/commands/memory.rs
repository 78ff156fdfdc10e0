//! What this host remembers of repositories, and what it says when one is no longer what it was.

use super::{CommandError, Context};
use crate::base::{hex, memo};
use crate::repo::{NamedSnapshot, Repository, Seen, SnapshotList, Vanished, gaps};
use crate::ui::clean;
use std::path::PathBuf;

const SEEN: &[u8; 8] = b"NJSEEN01";
const PLACE: &[u8; 8] = b"NJPLACE1";
/// A file with more bytes is not read.
const LIMIT: u64 = 64 << 20;

impl Context {
    fn seen_file(&self, repository: &Repository) -> Option<PathBuf> {
        let name = hex::encode(&repository.config().repository);
        self.state.as_ref().map(|state| state.join("seen").join(name))
    }

    /// The file that says which repository was at a place.
    fn place_file(&self, location: &str) -> Option<PathBuf> {
        let name = hex::encode(&blake3::hash(location.as_bytes()).as_bytes()[..16]);
        self.state.as_ref().map(|state| state.join("places").join(name))
    }

    /// What this host has seen of the repository.
    pub(super) fn seen(&self, repository: &Repository) -> Seen {
        let Some(file) = self.seen_file(repository) else { return Seen::default() };
        let read = memo::read(&file, SEEN, LIMIT);
        let seen = read.map(|bytes| bytes.map_or(Some(Seen::default()), |bytes| Seen::from_bytes(&bytes)));
        seen.ok().flatten().unwrap_or_else(|| {
            let file = file.display();
            self.output.warn(&format!("what was seen of this repository before is not known: `{file}` is damaged"));
            Seen::default()
        })
    }

    /// Remembers snapshots; where that is not possible it is said, and nothing fails over it.
    pub(super) fn remember<'s>(&self, repository: &Repository, snapshots: impl IntoIterator<Item = &'s NamedSnapshot>) {
        self.store(repository, &Seen::of(snapshots), false);
    }

    fn store(&self, repository: &Repository, seen: &Seen, replace: bool) {
        let Some(file) = self.seen_file(repository) else { return };
        let stored = (|| {
            // Whoever comes in between adds to what is known, and must not be forgotten.
            let _held = memo::lock(&file)?;
            let mut all = if replace { Seen::default() } else { self.seen(repository) };
            let before = all.clone();
            all.merge(seen);
            if replace || all != before { memo::write(&file, SEEN, &all.to_bytes()) } else { Ok(()) }
        })();
        if let Err(error) = stored {
            let file = file.display();
            self.output.warn(&format!("what was seen of this repository is not remembered: `{file}`: {error}"));
        }
    }

    /// Refuses a place where another repository was before.
    pub(super) fn check_place(&self, repository: &Repository) -> Result<(), CommandError> {
        let location = repository.storage().location();
        let Some(file) = self.place_file(location) else {
            self.output.detail("nothing says where this host could remember what it saw of the repository");
            return Ok(());
        };
        let own = repository.config().repository;
        match memo::read(&file, PLACE, LIMIT) {
            Ok(Some(known)) if known == own => Ok(()),
            Ok(Some(known)) => Err(CommandError::damage(
                format!("another repository is at `{}` than before, and nothing was done", clean(location)),
                format!("repository {} was there, and now it is {}", hex::encode(&known), hex::encode(&own)),
                "look whether the right disk is mounted; if this is meant to be, `nightjar repo accept` takes it as it is",
            )),
            _ => {
                self.store_place(repository);
                Ok(())
            }
        }
    }

    /// Refuses to make a repository unasked where this host knows of one that is gone.
    pub(super) fn check_no_place(&self, location: &str) -> Result<(), CommandError> {
        let file = self.place_file(location);
        let known = file.and_then(|file| memo::read(&file, PLACE, LIMIT).ok().flatten());
        let Some(known) = known else { return Ok(()) };
        Err(CommandError::damage(
            format!("the repository that was at `{}` is gone, and no other was made", clean(location)),
            format!("this host has seen repository {} there", hex::encode(&known)),
            "look whether the right disk is mounted; if a new one is meant to be, make it with `nightjar init`",
        ))
    }

    /// Remembers which repository is at its place.
    pub(super) fn store_place(&self, repository: &Repository) {
        let Some(file) = self.place_file(repository.storage().location()) else { return };
        if let Err(error) = memo::write(&file, PLACE, &repository.config().repository) {
            let file = file.display();
            self.output.warn(&format!("which repository this is is not remembered: `{file}`: {error}"));
        }
    }

    /// Compares the snapshots with what this host has seen before, and says what has vanished; whether anything has. What
    /// is there is remembered when nothing has.
    pub(super) fn compare(&self, repository: &Repository, list: &SnapshotList) -> Result<bool, CommandError> {
        let vanished = self.seen(repository).vanished(repository, list)?;
        for one in &vanished {
            self.output.warn(&in_words(one));
        }
        let missing = gaps(repository, list)?;
        for (named, before) in &missing {
            self.output.warn(&in_between(named, before));
        }
        if vanished.is_empty() {
            self.remember(repository, &list.snapshots);
        }
        if !vanished.is_empty() || !missing.is_empty() {
            self.output.warn(
                "the repository went back, or lost snapshots; if that is meant to be, `nightjar repo accept` takes it as it is",
            );
        }
        Ok(!vanished.is_empty() || !missing.is_empty())
    }

    /// As [`compare`](Self::compare), for what must not be done to a repository that went back.
    pub(super) fn refuse_vanished(&self, repository: &Repository, list: &SnapshotList) -> Result<(), CommandError> {
        let vanished = self.seen(repository).vanished(repository, list)?;
        let Some(first) = vanished.first() else { return Ok(()) };
        Err(CommandError::damage(
            "the repository went back, or lost snapshots, and nothing was removed",
            in_words(first),
            "look for a copy that still has them; if this is meant to be, `nightjar repo accept` takes it as it is",
        ))
    }

    /// Takes the repository as it is; gives what had vanished.
    pub(super) fn accept(&self, repository: &Repository, list: &SnapshotList) -> Result<Vec<String>, CommandError> {
        let vanished = self.seen(repository).vanished(repository, list)?;
        let missing = gaps(repository, list)?;
        // A gap is seen by all hosts, so it is written down for all of them.
        repository.accept_gaps(&missing.iter().map(|(_, before)| *before).collect::<Vec<_>>())?;
        self.store_place(repository);
        self.store(repository, &Seen::of(&list.snapshots), true);
        let gaps = missing.iter().map(|(named, before)| in_between(named, before));
        Ok(vanished.iter().map(in_words).chain(gaps).collect())
    }
}

fn in_between(named: &NamedSnapshot, before: &[u8; 32]) -> String {
    let before = hex::encode(&before[..4]);
    format!(
        "snapshot {} says that {before} was before it, which is not there and was not removed on purpose",
        named.short()
    )
}

fn in_words(vanished: &Vanished) -> String {
    let Vanished { seen, job, present } = vanished;
    let job = if job.is_empty() { String::new() } else { format!(", job `{}`", clean(job)) };
    let present =
        present.map_or("none is there".to_owned(), |sequence| format!("the newest there is number {sequence}"));
    format!(
        "this host has seen snapshot {} (number {} of host `{}`{job}), which is gone; {present}",
        hex::encode(&seen.name[..4]),
        seen.sequence,
        clean(&seen.host)
    )
}
