//! A repository that was opened: storage, keys and config.

use super::configs::{self, SealedConfigs};
use super::object;
use super::slots::{self, Slot};
use super::{Cache, Environment, RepoError};
use crate::chunker::Chunker;
use crate::crypto::{KeyTable, SaltSource, Secret};
use crate::format::{Config, Keyring, Suite};
use crate::storage::Storage;
use bytes::Bytes;
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
    cache: Option<Result<Cache, String>>,
}

impl Repository {
    /// Opens the repository in `storage` with a password or key; reads, never writes.
    ///
    /// # Errors
    /// [`RepoError::NoRepository`], [`RepoError::TooNew`], [`RepoError::WrongSecret`], [`RepoError::Damaged`] or the storage.
    pub fn open(storage: Arc<dyn Storage>, env: Environment, secret: &Secret) -> Result<Self, RepoError> {
        Ok(Self::unlock(storage, env, secret)?.0)
    }

    /// The same, with the slot that was opened and what was in it.
    pub(super) fn unlock(
        storage: Arc<dyn Storage>,
        env: Environment,
        secret: &Secret,
    ) -> Result<(Self, Slot, Keyring), RepoError> {
        let sealed = SealedConfigs::load(&*storage)?;
        let (slot, keyring) = slots::find(&*storage, &sealed.repositories(), secret)?;
        let keys = KeyTable::new(&keyring);
        let open = sealed.open(&keys)?;
        let newest = configs::in_force(&open);
        let (config, suite) = (newest.config.clone(), newest.suite);
        Ok((Self::new(storage, env, Arc::new(keys), config, suite), slot, keyring))
    }

    /// The same repository in another place, opened with the keys of this one.
    ///
    /// # Errors
    /// When no config that these keys open is there: it is another repository, or none.
    pub fn at(&self, storage: Arc<dyn Storage>) -> Result<Self, RepoError> {
        let open = SealedConfigs::load(&*storage)?.open(&self.keys)?;
        let newest = configs::in_force(&open);
        let (config, suite) = (newest.config.clone(), newest.suite);
        // What is kept is of that place, and whoever looks at another wants to see what is there.
        let env = Environment { cache: None, ..self.env.clone() };
        Ok(Self::new(storage, env, Arc::clone(&self.keys), config, suite))
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
        keys: Arc<KeyTable>,
        config: Config,
        suite: Suite,
    ) -> Self {
        let salts = SaltSource::new(Arc::clone(&env.entropy), Arc::clone(&env.clock), &env.process());
        let open =
            |place| Cache::open(place, &config.repository, Arc::clone(&env.clock)).map_err(|error| error.to_string());
        let cache = env.cache.as_ref().map(open);
        Self { storage, env, keys, config, suite, salts, cache }
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

    /// Where objects of it are kept on this host, or why they are not; `None` where that was not asked for.
    #[must_use]
    pub fn cache(&self) -> Option<&Result<Cache, String>> {
        self.cache.as_ref()
    }

    /// An object, from the cache or from the storage; `verify` makes something of it.
    pub(super) fn cached<T>(
        &self,
        key: &str,
        fetch: impl FnOnce() -> Result<Bytes, RepoError>,
        verify: impl Fn(&Bytes) -> Result<T, RepoError>,
    ) -> Result<T, RepoError> {
        match &self.cache {
            Some(Ok(cache)) => cache.through(key, fetch, verify),
            _ => verify(&fetch()?),
        }
    }

    pub(super) fn salts(&self) -> &SaltSource {
        &self.salts
    }
}
