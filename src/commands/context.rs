//! What every verb needs: where to print, which repository, who is asking.

use super::password::Asking;
use super::{CacheSettings, CommandError, EngineSettings, Location, PasswordSource};
use crate::base::cancel::Cancel;
use crate::base::hex;
use crate::codec::Compression;
use crate::crypto::Secret;
use crate::repo::{Environment, Index, KeySlots, NamedSnapshot, RepoError, Repository, SnapshotList, SnapshotRef};
use crate::storage::{Folder, LocalStorage, Storage};
use crate::ui::{Output, count, duration};
use jiff::tz::TimeZone;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

/// The settings of one run, as flags and environment gave them.
#[derive(Debug)]
pub struct Context {
    /// Where to print.
    pub output: Arc<Output>,
    /// Clock, randomness and host.
    pub environment: Environment,
    /// Set when a signal asks for a stop.
    pub cancel: Cancel,
    /// The time zone of whoever reads.
    pub zone: TimeZone,
    /// The repository's place.
    pub location: Option<Location>,
    /// Where its password comes from.
    pub password: PasswordSource,
    /// Compression, if one was asked for.
    pub compression: Option<Compression>,
    /// Where blocks are compressed.
    pub engine: EngineSettings,
    /// The name of whoever runs the program.
    pub user: String,
    /// The folder for scratch files.
    pub temporary: PathBuf,
    /// The folder for what this host remembers of repositories, if there is a place for it.
    pub state: Option<PathBuf>,
    /// What may be kept of repositories on other hosts.
    pub cache: CacheSettings,
}

impl Context {
    /// The place of the repository.
    ///
    /// # Errors
    /// When none was given.
    pub(super) fn storage(&self) -> Result<Arc<LocalStorage>, CommandError> {
        let location = self.location.as_ref().ok_or_else(|| {
            CommandError::usage(
                "a repository is needed",
                "neither `--repo` nor the variable NIGHTJAR_REPO says where it is",
                "give its path, such as `--repo /srv/backup/repo`",
            )
        })?;
        Ok(location.storage())
    }

    /// The password of an existing repository.
    pub(super) fn secret(&self) -> Result<Secret, CommandError> {
        self.password.read(&self.output, Asking::Known)
    }

    /// The password of a repository to be made.
    pub(super) fn new_secret(&self) -> Result<Secret, CommandError> {
        self.password.read(&self.output, Asking::New)
    }

    /// The place of the repository, where one is. Nobody should have to type a password to learn that the disk is not
    /// mounted.
    pub(super) fn existing(&self) -> Result<Arc<LocalStorage>, CommandError> {
        let storage = self.storage()?;
        if !exists(&*storage)? {
            return Err(Repository::absence(&*storage).into());
        }
        Ok(storage)
    }

    /// Opens the repository; reads, never writes.
    pub(super) fn open(&self) -> Result<Arc<Repository>, CommandError> {
        self.unlock(Repository::open, |repository| repository, true).map(Arc::new)
    }

    /// The same, and all that is read comes from the repository itself.
    pub(super) fn open_itself(&self) -> Result<Arc<Repository>, CommandError> {
        let open =
            |storage, env, secret: &Secret| Repository::open(storage, Environment { cache: None, ..env }, secret);
        self.unlock(open, |repository| repository, true).map(Arc::new)
    }

    /// The same, whatever repository was at this place before.
    pub(super) fn open_any(&self) -> Result<Arc<Repository>, CommandError> {
        self.unlock(Repository::open, |repository| repository, false).map(Arc::new)
    }

    /// Opens the repository for work on its key slots; reads, never writes.
    pub(super) fn open_slots(&self) -> Result<KeySlots, CommandError> {
        self.unlock(KeySlots::open, KeySlots::repository, true)
    }

    fn unlock<T>(
        &self,
        open: impl FnOnce(Arc<dyn Storage>, Environment, &Secret) -> Result<T, RepoError>,
        repository: impl Fn(&T) -> &Repository,
        check_place: bool,
    ) -> Result<T, CommandError> {
        let storage = self.existing()?;
        let secret = self.secret()?;
        let clock = &self.environment.clock;
        let start = clock.monotonic();
        let place = self.location.as_ref().and_then(|location| self.cache.place(location.folder()));
        let environment = Environment { cache: place, ..self.environment.clone() };
        let opened = open(storage, environment, &secret)?;
        let repository = repository(&opened);
        match repository.cache() {
            Some(Ok(cache)) => self.output.detail(&format!("cache in `{}`", cache.folder().display())),
            Some(Err(error)) => self.output.warn(&format!("there is no cache: {error}")),
            None => {}
        }
        self.output.detail(&format!(
            "repository {} with {}, opened in {}",
            hex::encode(&repository.config().repository),
            repository.suite().as_str(),
            duration(clock.monotonic().saturating_sub(start))
        ));
        if check_place {
            self.check_place(repository)?;
        }
        Ok(opened)
    }

    /// Says, with `-v`, how a cache was used.
    pub(super) fn tell_cache(&self, repository: &Repository) {
        if let Some(Ok(cache)) = repository.cache() {
            let used = cache.usage();
            let (hits, misses, damaged) = (count(used.hits), count(used.misses), count(used.damaged));
            self.output.detail(&format!("cache: {hits} found, {misses} fetched, {damaged} damaged and fetched again"));
        }
    }

    /// The snapshot that `wanted` names, and whether any is damaged; those are told.
    ///
    /// # Errors
    /// When there is none; with damaged ones about it may be one of them, so that counts as damage.
    pub(super) fn find(
        &self,
        repository: &Repository,
        wanted: &SnapshotRef,
    ) -> Result<(NamedSnapshot, bool), CommandError> {
        let list = SnapshotList::load(repository)?;
        for error in &list.damaged {
            self.output.warn(&error.to_string());
        }
        let whole = !self.compare(repository, &list)? && list.damaged.is_empty();
        match (list.find(wanted), list.damaged.is_empty()) {
            (Ok(found), _) => Ok((found.clone(), !whole)),
            (Err(error), true) => Err(error.into()),
            (Err(_), false) => Err(CommandError::damage(
                "could not find the snapshot",
                "some snapshots are damaged, and it may be one of them",
                "get the named objects back from a copy of the repository, or choose another snapshot",
            )),
        }
    }

    /// Loads the index; what of it is damaged is told, and whether any is.
    pub(super) fn index(&self, repository: &Repository) -> Result<(Arc<Index>, bool), CommandError> {
        let clock = &self.environment.clock;
        let start = clock.monotonic();
        let index = Index::load(repository)?;
        for error in index.damaged() {
            self.output.warn(&error.to_string());
        }
        let (packs, blocks, chunks) = index.counts();
        self.output.detail(&format!(
            "index of {} packs, {} blocks and {} chunks, loaded in {}",
            count(packs as u64),
            count(blocks as u64),
            count(chunks as u64),
            duration(clock.monotonic().saturating_sub(start))
        ));
        let damaged = !index.damaged().is_empty();
        Ok((Arc::new(index), damaged))
    }
}

/// Whether there is a repository: some config object.
pub(super) fn exists(storage: &dyn Storage) -> Result<bool, CommandError> {
    let mut found = false;
    let mut see = |_| {
        found = true;
        ControlFlow::Break(())
    };
    match storage.list(Folder::Config, &mut see) {
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(RepoError::from(error).into()),
        Ok(()) => Ok(found),
    }
}
