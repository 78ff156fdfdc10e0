//! Making a repository.

use super::configs;
use super::object;
use super::slots::{self, SlotSecret};
use super::{Environment, RepoError, Repository};
use crate::crypto::{KeyTable, RecoveryKey, SaltSource, Secret};
use crate::format::{Config, Kdf, Keyring, Suite};
use crate::storage::{Folder, ObjectName, PutMode, Storage};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;
use zeroize::Zeroizing;

/// What a new repository is to be like. Its id, generation and creation time in `config` are filled in by [`init`].
#[derive(Clone, Debug)]
pub struct InitOptions {
    /// Sizes and compression.
    pub config: Config,
    /// Cipher.
    pub suite: Suite,
    /// What opens it.
    pub slot: SlotSecret,
    /// Whether to make a recovery key too.
    pub recovery: bool,
}

/// A new repository, and the recovery key that nothing will show again.
#[derive(Debug)]
pub struct Initialized {
    /// The repository.
    pub repository: Repository,
    /// The recovery key, if one was wanted.
    pub recovery: Option<RecoveryKey>,
    /// Why there is no reserve, if it could not be made.
    pub reserve: Option<RepoError>,
}

/// Makes a repository in `storage`.
///
/// # Errors
/// [`RepoError::Exists`] when there is one, also when another `init` is making one; a size outside its limits; the storage.
pub fn init(storage: Arc<dyn Storage>, env: Environment, options: &InitOptions) -> Result<Initialized, RepoError> {
    if !object::configs(&*storage)?.is_empty() {
        return Err(RepoError::Exists(storage.location().to_owned()));
    }
    if object::has_lost_config(&*storage)? {
        // What is there would be lost behind a new config.
        return Err(Repository::absence(&*storage));
    }
    let salts = SaltSource::new(Arc::clone(&env.entropy), Arc::clone(&env.clock), &env.process());
    let mut config = options.config.clone();
    (config.generation, config.repository, config.created) = (0, salts.random()?, env.now());
    config.check().map_err(|error| RepoError::Option(error.to_string()))?;
    let mut keyring = Keyring {
        repository: config.repository,
        secret: salts.random()?,
        masters: BTreeMap::from([(1, Zeroizing::new(salts.random()?))]),
        label: options.slot.label.clone(),
        created: env.now(),
    };
    let mut objects = vec![(Folder::Keys, slots::seal(&keyring, &options.slot, options.suite, salts.next(&[])?)?)];
    let mut recovery = None;
    if options.recovery {
        let key = RecoveryKey::new(Zeroizing::new(salts.random()?));
        "recovery".clone_into(&mut keyring.label);
        let slot = SlotSecret { secret: Secret::new(key.to_text()), kdf: Kdf::Key, label: keyring.label.clone() };
        objects.push((Folder::Keys, slots::seal(&keyring, &slot, options.suite, salts.next(&[])?)?));
        recovery = Some(key);
    }
    let keys = KeyTable::new(&keyring);
    objects.push((Folder::Config, configs::seal(&keys, &config, options.suite, salts.next(&[])?)));
    storage.prepare()?;
    put_all(&*storage, objects)?;
    let repository = Repository::new(storage, env, Arc::new(keys), config, options.suite);
    // The repository is made: one that has no room for its reserve serves all the same.
    let reserve = repository.renew_reserve().err();
    Ok(Initialized { repository, recovery, reserve })
}

/// Puts the objects in order, the config last. If there is another config then, another `init` is at work: whichever was
/// first, neither can know whether the other has seen it, so each that sees another takes its own away again.
fn put_all(storage: &dyn Storage, objects: Vec<(Folder, Vec<u8>)>) -> Result<(), RepoError> {
    let mut names = Vec::new();
    for (folder, bytes) in objects {
        let name = ObjectName::hashed(folder, blake3::hash(&bytes).as_bytes());
        storage.put(&name, &[Bytes::from(bytes)], PutMode::Keep)?;
        names.push(name);
    }
    let configs = object::list(storage, Folder::Config)?;
    if configs.iter().all(|meta| Some(&meta.name) == names.last()) {
        return Ok(());
    }
    for name in names.iter().rev() {
        storage.delete(name)?;
    }
    Err(RepoError::Exists(storage.location().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::put_all;
    use crate::repo::RepoError;
    use crate::storage::{Capabilities, Folder, MemoryStorage, ObjectMeta, ObjectName, PutMode, Storage, StorageError};
    use bytes::Bytes;
    use std::ops::{ControlFlow, Range};
    use std::time::SystemTime;

    /// Puts another config whenever a config was put, before anybody can list.
    #[derive(Debug)]
    struct Rival(MemoryStorage, Vec<u8>);

    impl Storage for Rival {
        fn location(&self) -> &str {
            self.0.location()
        }
        fn capabilities(&self) -> Capabilities {
            self.0.capabilities()
        }
        fn prepare(&self) -> Result<(), StorageError> {
            self.0.prepare()
        }
        fn put(&self, name: &ObjectName, parts: &[Bytes], mode: PutMode) -> Result<(), StorageError> {
            self.0.put(name, parts, mode)?;
            let own = ObjectName::hashed(Folder::Config, blake3::hash(&self.1).as_bytes());
            self.0.put(&own, &[Bytes::from(self.1.clone())], mode)
        }
        fn get(&self, name: &ObjectName) -> Result<Bytes, StorageError> {
            self.0.get(name)
        }
        fn get_range(&self, name: &ObjectName, range: Range<u64>) -> Result<Bytes, StorageError> {
            self.0.get_range(name, range)
        }
        fn head(&self, name: &ObjectName) -> Result<ObjectMeta, StorageError> {
            self.0.head(name)
        }
        fn put_time(&self, name: &ObjectName) -> Result<Option<SystemTime>, StorageError> {
            self.0.put_time(name)
        }
        fn list(
            &self,
            folder: Folder,
            each: &mut dyn FnMut(ObjectMeta) -> ControlFlow<()>,
        ) -> Result<(), StorageError> {
            self.0.list(folder, each)
        }
        fn delete(&self, name: &ObjectName) -> Result<(), StorageError> {
            self.0.delete(name)
        }
    }

    #[test]
    fn an_init_that_sees_another_leaves_only_the_other_whatever_their_names() {
        for seed in 0..8_u8 {
            let rival = Rival(MemoryStorage::new(), vec![b'r']);
            let objects = vec![(Folder::Keys, vec![seed, 1]), (Folder::Config, vec![seed, 2])];
            let refused = put_all(&rival, objects);
            assert!(matches!(refused, Err(RepoError::Exists(_))));
            let mut left = Vec::new();
            for folder in [Folder::Keys, Folder::Config] {
                let mut see = |meta: ObjectMeta| {
                    left.push(meta.name);
                    ControlFlow::Continue(())
                };
                rival.list(folder, &mut see).unwrap();
            }
            assert_eq!(left, [ObjectName::hashed(Folder::Config, blake3::hash(b"r").as_bytes())]);
        }
    }
}
