//! A repository that was opened: storage, keys and config.

use super::object;
use super::slots;
use super::{Environment, RepoError};
use crate::chunker::Chunker;
use crate::crypto::{KeyTable, SaltSource, Secret};
use crate::format::{Class, Config, Suite};
use crate::storage::Storage;
use std::sync::Arc;

/// An open repository.
#[derive(Debug)]
pub struct Repository {
    storage: Arc<dyn Storage>,
    env: Environment,
    keys: Arc<KeyTable>,
    config: Config,
    suite: Suite,
    salts: SaltSource,
}

impl Repository {
    /// Opens the repository in `storage` with a password or key; reads, never writes.
    ///
    /// # Errors
    /// [`RepoError::NoRepository`], [`RepoError::TooNew`], [`RepoError::WrongSecret`], [`RepoError::Damaged`] or the storage.
    pub fn open(storage: Arc<dyn Storage>, env: Environment, secret: &Secret) -> Result<Self, RepoError> {
        let names = object::configs(&*storage)?;
        if names.is_empty() {
            return Err(Self::absence(&*storage));
        }
        let (mut configs, mut trouble) = (Vec::new(), None);
        for meta in names {
            let loaded = object::load_record(&*storage, &meta.name)
                .and_then(|bytes| Ok((object::header(&meta.name, &bytes, Class::Config)?, bytes)));
            match loaded {
                Ok((header, bytes)) => configs.push((meta.name, header, bytes)),
                Err(error @ RepoError::TooNew { .. }) => return Err(error),
                Err(error) => trouble = Some(error),
            }
        }
        if configs.is_empty() {
            return Err(trouble.expect("an object that is not in the list gave an error"));
        }
        // Until a keyring is open nobody knows which of the configs is ours: whoever can write can plant one.
        let ids: Vec<_> = configs.iter().map(|(_, header, _)| header.repository).collect();
        let keys = KeyTable::new(&slots::find(&*storage, &ids, secret)?);
        let mut newest: Option<(Config, Suite)> = None;
        for (name, header, bytes) in &configs {
            let opened = object::open_record(&keys, name, bytes, Class::Config)
                .and_then(|record| Config::from_bytes(&record).map_err(|error| RepoError::format(name, &error)));
            match opened {
                Ok(config) if config.repository != keys.repository() => {
                    trouble = Some(RepoError::damaged(name, "it is of another repository"));
                }
                Ok(config) => {
                    if newest.as_ref().is_none_or(|(known, _)| known.generation < config.generation) {
                        newest = Some((config, header.suite));
                    }
                }
                Err(error) => trouble = Some(error),
            }
        }
        match newest {
            Some((config, suite)) => Ok(Self::new(storage, env, keys, config, suite)),
            None => Err(trouble.expect("a config that does not count gave an error")),
        }
    }

    /// Why no repository can be opened in a storage without a config object: there is none, or it has lost its config.
    #[must_use]
    pub fn absence(storage: &dyn Storage) -> RepoError {
        match object::has_lost_config(storage) {
            Ok(false) => RepoError::NoRepository(storage.location().to_owned()),
            Ok(true) => RepoError::damaged("config", "no object is in it, but there are snapshots or index objects"),
            Err(error) => error,
        }
    }

    pub(super) fn new(
        storage: Arc<dyn Storage>,
        env: Environment,
        keys: KeyTable,
        config: Config,
        suite: Suite,
    ) -> Self {
        let salts = SaltSource::new(Arc::clone(&env.entropy), Arc::clone(&env.clock), &env.process());
        Self { storage, env, keys: Arc::new(keys), config, suite, salts }
    }

    /// Where its objects are.
    #[must_use]
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// Clock, randomness and host.
    #[must_use]
    pub fn env(&self) -> &Environment {
        &self.env
    }

    /// Its keys.
    #[must_use]
    pub fn keys(&self) -> &Arc<KeyTable> {
        &self.keys
    }

    /// The chunker that cuts content for this repository.
    #[must_use]
    pub fn chunker(&self) -> Chunker {
        let sizes = self.config.chunks;
        Chunker::new(self.keys.gear(), sizes.min, sizes.avg, sizes.max)
    }

    /// The config in force.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The cipher for new objects.
    #[must_use]
    pub fn suite(&self) -> Suite {
        self.suite
    }

    pub(super) fn salts(&self) -> &SaltSource {
        &self.salts
    }
}
