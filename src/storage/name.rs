//! Names of objects: which exist, and how they are written.

use crate::base::hex;
use std::fmt;

/// The folders of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Folder {
    /// Settings of the repository.
    Config,
    /// Key slots.
    Keys,
    /// Packs, spread over 256 folders by the first two digits of their names.
    Packs,
    /// Index objects.
    Index,
    /// Snapshots.
    Snapshots,
    /// Marks of prune.
    Marks,
    /// Snapshots that were forgotten but can still be brought back.
    Forgotten,
    /// Leases of writers, named by id and counter, not by a hash.
    Leases,
    /// Censuses of prune, named as their marks.
    Census,
    /// Space that is kept back for the day when the disk is full.
    Reserve,
    /// What a repair has set aside because it was damaged, named by the bytes it has.
    Aside,
}

impl Folder {
    /// All folders, in the order in which they are made.
    pub const ALL: [Self; 11] = [
        Self::Config,
        Self::Keys,
        Self::Packs,
        Self::Index,
        Self::Snapshots,
        Self::Marks,
        Self::Forgotten,
        Self::Leases,
        Self::Census,
        Self::Reserve,
        Self::Aside,
    ];

    /// The folder's name in a repository.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Keys => "keys",
            Self::Packs => "packs",
            Self::Index => "index",
            Self::Snapshots => "snapshots",
            Self::Marks => "marks",
            Self::Forgotten => "forgotten",
            Self::Leases => "leases",
            Self::Census => "census",
            Self::Reserve => "reserve",
            Self::Aside => "aside",
        }
    }
}

/// A name that an object of a repository can have; anything else cannot be written as one.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectName {
    folder: Folder,
    base: String,
}

impl ObjectName {
    /// The name of the object in `folder` whose bytes have the BLAKE3 hash `hash`.
    #[must_use]
    pub fn hashed(folder: Folder, hash: &[u8; 32]) -> Self {
        Self { folder, base: hex::encode(hash) }
    }

    /// The name of the `counter`th renewal of the lease `id`.
    #[must_use]
    pub fn lease(id: &[u8; 16], counter: u64) -> Self {
        Self { folder: Folder::Leases, base: format!("{}-{counter}", hex::encode(id)) }
    }

    /// The name of the object that ends the lease `id`.
    #[must_use]
    pub fn lease_end(id: &[u8; 16]) -> Self {
        Self { folder: Folder::Leases, base: format!("{}-end", hex::encode(id)) }
    }

    /// The name of the object that makes the lease `id` void.
    #[must_use]
    pub fn lease_void(id: &[u8; 16]) -> Self {
        Self { folder: Folder::Leases, base: format!("{}-void", hex::encode(id)) }
    }

    /// The name of the object that says which snapshots of the void lease `id` count.
    #[must_use]
    pub fn lease_honoured(id: &[u8; 16]) -> Self {
        Self { folder: Folder::Leases, base: format!("{}-honoured", hex::encode(id)) }
    }

    /// The name of the census of a mark.
    #[must_use]
    pub fn census(&self) -> Self {
        Self { folder: Folder::Census, base: self.base.clone() }
    }

    /// The name with the last part `base` in `folder`, if such a name can be.
    #[must_use]
    pub fn parse(folder: Folder, base: &str) -> Option<Self> {
        let valid = match folder {
            Folder::Leases => is_lease(base),
            _ => hex::decode::<32>(base).is_some(),
        };
        valid.then(|| Self { folder, base: base.to_owned() })
    }

    /// The folder the object is in.
    #[must_use]
    pub fn folder(&self) -> Folder {
        self.folder
    }

    /// The last part of the name.
    #[must_use]
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The hash that the object's bytes must have; `None` for leases and censuses.
    #[must_use]
    pub fn hash(&self) -> Option<[u8; 32]> {
        match self.folder {
            Folder::Leases | Folder::Census => None,
            _ => hex::decode(&self.base),
        }
    }

    /// Whether it is the name of an object with these bytes; of leases and censuses, whose names say nothing of their
    /// bytes, never.
    #[must_use]
    pub fn is_of(&self, bytes: &[u8]) -> bool {
        self.hash().is_some_and(|hash| blake3::hash(bytes) == hash)
    }

    /// The name whose [path](Self::path) this is.
    #[must_use]
    pub fn from_path(path: &str) -> Option<Self> {
        let (folder, rest) = path.split_once('/')?;
        let folder = Folder::ALL.into_iter().find(|one| one.as_str() == folder)?;
        let base = rest.rsplit_once('/').map_or(rest, |(_, base)| base);
        Self::parse(folder, base).filter(|name| name.path() == path)
    }

    /// The object's path below the top of the repository, with `/` between the parts.
    #[must_use]
    pub fn path(&self) -> String {
        let folder = self.folder.as_str();
        match self.folder {
            Folder::Packs => format!("{folder}/{}/{}", &self.base[..2], self.base),
            _ => format!("{folder}/{}", self.base),
        }
    }
}

fn is_lease(base: &str) -> bool {
    let Some((id, rest)) = base.split_once('-') else {
        return false;
    };
    let counter = !rest.is_empty() && rest.len() <= 20 && rest.bytes().all(|b| b.is_ascii_digit());
    hex::decode::<16>(id).is_some() && (counter || matches!(rest, "end" | "void" | "honoured"))
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path())
    }
}

impl fmt::Debug for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path())
    }
}

#[cfg(test)]
mod tests {
    use super::{Folder, ObjectName};

    #[test]
    fn only_names_of_the_grammar_parse() {
        let hash = "ab".repeat(32);
        let pack = ObjectName::parse(Folder::Packs, &hash).unwrap();
        assert_eq!(pack.path(), format!("packs/ab/{hash}"));
        assert_eq!(pack.hash(), Some([0xab; 32]));
        for bad in ["", ".DS_Store", "@eaDir", "x.tmp", "../../etc/passwd", &hash[1..], &hash.to_uppercase()] {
            assert_eq!(ObjectName::parse(Folder::Packs, bad), None, "{bad}");
        }
        let id = "0f".repeat(16);
        for rest in ["0", "17", "end", "void", "honoured"] {
            assert!(ObjectName::parse(Folder::Leases, &format!("{id}-{rest}")).is_some(), "{rest}");
        }
        for rest in ["", "-1", "1x", "ended", "123456789012345678901"] {
            assert!(ObjectName::parse(Folder::Leases, &format!("{id}-{rest}")).is_none(), "{rest}");
        }
        assert_eq!(ObjectName::lease(&[15; 16], 3).path(), format!("leases/{id}-3"));
        for name in [pack, ObjectName::lease(&[15; 16], 3)] {
            assert_eq!(ObjectName::from_path(&name.path()), Some(name));
        }
        for bad in
            ["", "packs", "packs/ab", &format!("packs/{hash}"), &format!("index/ab/{hash}"), "config/x", "other/x"]
        {
            assert_eq!(ObjectName::from_path(bad), None, "{bad}");
        }
    }
}
