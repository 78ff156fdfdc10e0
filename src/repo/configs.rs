//! The config objects: which is in force, and another put in its place (`repo-format.md`, chapter 6).
//!
//! A config is never changed: one with the next generation is put, then the older ones go. Whatever is cut, the highest
//! generation that stands is in force and whole.

use super::object::{self, part};
use super::{RepoError, Repository};
use crate::crypto::KeyTable;
use crate::format::{Class, Config, Header, Suite};
use crate::storage::{Folder, ObjectName, PutMode, Storage};
use bytes::Bytes;

/// What is to change of a config; `None` stays as it is. Chunk sizes, cipher and id never change: chunks of before
/// would not be found again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Most plain bytes of a block.
    pub block: Option<u32>,
    /// Bytes of a data pack.
    pub data_pack: Option<u32>,
    /// Bytes of a tree pack.
    pub tree_pack: Option<u32>,
    /// Compression for writers, as on the command line.
    pub compression: Option<String>,
    /// Bytes that are kept back for prunes on a full disk.
    pub reserve: Option<u32>,
}

impl Settings {
    fn apply(&self, config: &Config) -> Config {
        let mut config = config.clone();
        config.block = self.block.unwrap_or(config.block);
        config.data_pack = self.data_pack.unwrap_or(config.data_pack);
        config.tree_pack = self.tree_pack.unwrap_or(config.tree_pack);
        config.reserve = self.reserve.unwrap_or(config.reserve);
        config.compression = self.compression.clone().unwrap_or(config.compression);
        config
    }
}

/// A change of settings that is in force.
#[derive(Debug)]
pub struct ChangedSettings {
    /// The config that was in force before.
    pub before: Config,
    /// The config in force now; the same where nothing was to change.
    pub after: Config,
    /// Why older config objects could not be deleted; they do no harm.
    pub left: Vec<RepoError>,
}

/// All config objects as they stand in the storage.
#[derive(Debug)]
pub(super) struct SealedConfigs {
    objects: Vec<(ObjectName, Header, Bytes)>,
    trouble: Option<RepoError>,
}

/// A config object of this repository.
#[derive(Debug)]
pub(super) struct OpenConfig {
    name: ObjectName,
    pub(super) config: Config,
    pub(super) suite: Suite,
}

impl SealedConfigs {
    /// Reads all config objects; at least one has a header.
    pub(super) fn load(storage: &dyn Storage) -> Result<Self, RepoError> {
        let loaded = object::load_all(storage, || object::configs(storage))?;
        if loaded.is_empty() {
            return Err(Repository::absence(storage));
        }
        let mut sealed = Self { objects: Vec::new(), trouble: None };
        for (name, bytes) in loaded {
            match bytes.and_then(|bytes| Ok((object::header(&name, &bytes, Class::Config)?, bytes))) {
                Ok((header, bytes)) => sealed.objects.push((name, header, bytes)),
                Err(error @ RepoError::TooNew { .. }) => return Err(error),
                Err(error) => sealed.trouble = Some(error),
            }
        }
        if sealed.objects.is_empty() {
            return Err(sealed.trouble.expect("an object that is not in the list gave an error"));
        }
        Ok(sealed)
    }

    /// The ids that the headers name. Until a keyring is open nobody knows which is ours: whoever can write can plant one.
    pub(super) fn repositories(&self) -> Vec<[u8; 16]> {
        self.objects.iter().map(|(_, header, _)| header.repository).collect()
    }

    /// Those that `keys` open, by name; at least one.
    pub(super) fn open(self, keys: &KeyTable) -> Result<Vec<OpenConfig>, RepoError> {
        let (mut open, mut trouble) = (Vec::new(), self.trouble);
        for (name, header, bytes) in self.objects {
            let opened = object::open_record(keys, &name, &bytes, Class::Config)
                .and_then(|record| Config::from_bytes(&record).map_err(|error| RepoError::format(&name, &error)));
            match opened {
                Ok(config) if config.repository != keys.repository() => {
                    trouble = Some(RepoError::damaged(&name, "it is of another repository"));
                }
                Ok(config) => open.push(OpenConfig { name, config, suite: header.suite }),
                Err(error) => trouble = Some(error),
            }
        }
        if open.is_empty() {
            return Err(trouble.expect("a config that does not count gave an error"));
        }
        Ok(open)
    }
}

/// The one in force: the highest generation, among equals the smallest name.
pub(super) fn in_force(configs: &[OpenConfig]) -> &OpenConfig {
    let rank = |open: &&OpenConfig| (open.config.generation, std::cmp::Reverse(open.name.clone()));
    configs.iter().max_by_key(rank).expect("a repository that is open has a config")
}

/// The bytes of a config object.
pub(super) fn seal(keys: &KeyTable, config: &Config, suite: Suite, salt: [u8; 32]) -> Vec<u8> {
    let (header, key) = keys.begin(Class::Config, None, suite, salt);
    let mut record = config.to_bytes();
    key.seal(part(Class::Config), 0, &mut record);
    [&header.to_bytes()[..], &record].concat()
}

impl Repository {
    /// Changes settings for all writers that open the repository from now on; this one keeps what it was opened with.
    ///
    /// # Errors
    /// [`RepoError::Option`] for a value outside its limits; [`RepoError::Conflict`] when another change came at the same
    /// time, and this one is not in force; the storage, and then the old or the new config is in force.
    pub fn set(&self, settings: &Settings) -> Result<ChangedSettings, RepoError> {
        let storage = &**self.storage();
        let standing = SealedConfigs::load(storage)?.open(self.keys())?;
        let current = in_force(&standing);
        let before = current.config.clone();
        let mut after = settings.apply(&before);
        after.check().map_err(|error| RepoError::Option(error.to_string()))?;
        if after == before {
            return Ok(ChangedSettings { before, after, left: Vec::new() });
        }
        let next = before.generation.checked_add(1);
        after.generation = next.ok_or_else(|| RepoError::Option("there is no higher generation".to_owned()))?;
        let bytes = seal(self.keys(), &after, current.suite, self.salts().next(&[])?);
        let name = ObjectName::hashed(Folder::Config, blake3::hash(&bytes).as_bytes());
        storage.put(&name, &[Bytes::from(bytes)], PutMode::Keep)?;
        self.yield_to_rivals(&name, &after, settings)?;
        let left = standing.iter().filter_map(|old| storage.delete(&old.name).err().map(RepoError::from)).collect();
        Ok(ChangedSettings { before, after, left })
    }

    /// Looks for changes that came at the same time. Of two with one generation neither knows whether the other has seen
    /// it, so each that sees another takes its own away. A higher generation was made out of ours, or out of a rival.
    fn yield_to_rivals(&self, name: &ObjectName, own: &Config, settings: &Settings) -> Result<(), RepoError> {
        let storage = &**self.storage();
        let standing = SealedConfigs::load(storage)?.open(self.keys())?;
        let generation = in_force(&standing).config.generation;
        let rival = standing.iter().any(|other| other.name != *name && other.config.generation == own.generation);
        let built_on =
            generation > own.generation && settings.apply(&in_force(&standing).config) == in_force(&standing).config;
        if rival || generation != own.generation && !built_on {
            storage.delete(name)?;
            return Err(RepoError::Conflict);
        }
        Ok(())
    }
}
