//! Making a repository.

use super::object::{self, part};
use super::slots::{self, SlotSecret};
use super::{Environment, RepoError, Repository};
use crate::crypto::{KeyTable, RecoveryKey, SaltSource, Secret};
use crate::format::{Class, Config, Kdf, Keyring, Suite};
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
}

/// Makes a repository in `storage`.
///
/// # Errors
/// [`RepoError::Exists`] when there is one, also when another `init` was faster; a size outside its limits; the storage.
pub fn init(storage: Arc<dyn Storage>, env: Environment, options: &InitOptions) -> Result<Initialized, RepoError> {
    if !object::configs(&*storage)?.is_empty() {
        return Err(RepoError::Exists(storage.location().to_owned()));
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
    let mut objects = vec![(
        Folder::Keys,
        slots::seal(&keyring, &options.slot, options.suite, salts.next(&[])?)?,
    )];
    let mut recovery = None;
    if options.recovery {
        let key = RecoveryKey::new(Zeroizing::new(salts.random()?));
        "recovery".clone_into(&mut keyring.label);
        let secret = Secret::new(key.to_text());
        let slot = SlotSecret {
            secret,
            kdf: Kdf::Key,
            label: keyring.label.clone(),
        };
        objects.push((
            Folder::Keys,
            slots::seal(&keyring, &slot, options.suite, salts.next(&[])?)?,
        ));
        recovery = Some(key);
    }
    let keys = KeyTable::new(&keyring);
    objects.push((
        Folder::Config,
        seal_config(&keys, &config, options.suite, salts.next(&[])?),
    ));
    storage.prepare()?;
    put_all(&*storage, objects)?;
    Ok(Initialized {
        repository: Repository::new(storage, env, keys, config, options.suite),
        recovery,
    })
}

fn seal_config(keys: &KeyTable, config: &Config, suite: Suite, salt: [u8; 32]) -> Vec<u8> {
    let (header, key) = keys.begin(Class::Config, None, suite, salt);
    let mut record = config.to_bytes();
    key.seal(part(Class::Config), 0, &mut record);
    [&header.to_bytes()[..], &record].concat()
}

/// Puts the objects in order, the config last; then sees whether another `init` was at work and has the smaller name.
fn put_all(storage: &dyn Storage, objects: Vec<(Folder, Vec<u8>)>) -> Result<(), RepoError> {
    let mut names = Vec::new();
    for (folder, bytes) in objects {
        let name = ObjectName::hashed(folder, blake3::hash(&bytes).as_bytes());
        storage.put(&name, &[Bytes::from(bytes)], PutMode::Keep)?;
        names.push(name);
    }
    let first = object::list(storage, Folder::Config)?
        .into_iter()
        .next()
        .map(|meta| meta.name);
    if first.as_ref() == names.last() {
        return Ok(());
    }
    for name in names.iter().rev() {
        storage.delete(name)?;
    }
    Err(RepoError::Exists(storage.location().to_owned()))
}
