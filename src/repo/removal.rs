//! What a prune changes, one step at a time; the order of the steps is `prune`'s (`repo-format.md`, chapters 12 and 15).

use super::index::{load_one, seal};
use super::marks::{LeaseId, leases};
use super::{RepoError, Repository, object};
use crate::format::{Census, Class, Honoured, IndexTable, IndexedPack, Mark, pack_len};
use crate::storage::{Folder, ObjectMeta, ObjectName, PutMode};
use bytes::Bytes;
use std::collections::HashSet;

/// An empty map: all that a `-void` object holds.
const VOID: &[u8] = &[0xa0];
/// An index object is ended at about this many bytes.
pub(super) const INDEX_OBJECT_LEN: usize = 48 << 20;

impl Repository {
    /// Puts a mark; gives its name.
    ///
    /// # Errors
    /// The storage, or no randomness.
    pub fn put_mark(&self, mark: &Mark) -> Result<ObjectName, RepoError> {
        let (header, key) = self.keys().begin(Class::Mark, None, self.suite(), self.salts().next(&[])?);
        let mut record = mark.to_bytes();
        key.seal(object::part(Class::Mark), 0, &mut record);
        let bytes = [&header.to_bytes()[..], &record].concat();
        let name = ObjectName::hashed(Folder::Marks, blake3::hash(&bytes).as_bytes());
        self.storage().put(&name, &[Bytes::from(bytes)], PutMode::Keep)?;
        Ok(name)
    }

    /// Lists the leases and puts the census of a mark that stands; leases of `own` are left out. Gives how many it names.
    ///
    /// # Errors
    /// The storage.
    pub fn put_census(&self, mark: &ObjectName, own: &[LeaseId]) -> Result<usize, RepoError> {
        let hash = mark.hash().ok_or_else(|| RepoError::damaged(mark, "it is not named by a hash"))?;
        let seen = leases(&**self.storage())?.into_iter().filter(|(id, state)| state.is_live() && !own.contains(id));
        let census = Census { mark: hash, leases: seen.map(|(id, state)| (id, state.counter.unwrap_or(0))).collect() };
        self.storage().put(&mark.census(), &[object::with_sum(&census.to_bytes())], PutMode::Keep)?;
        Ok(census.leases.len())
    }

    /// Makes a lease void and writes down which of its snapshots count: those that stand now.
    ///
    /// # Errors
    /// The storage, or a snapshot that cannot be read: it may be one of them.
    pub fn settle(&self, lease: &LeaseId) -> Result<(), RepoError> {
        self.storage().put(&ObjectName::lease_void(lease), &[Bytes::from_static(VOID)], PutMode::Keep)?;
        let mut snapshots = Vec::new();
        for meta in object::list(&**self.storage(), Folder::Snapshots)? {
            match super::snapshots::open_snapshot(self, &meta.name) {
                Ok(named) if named.snapshot.lease == *lease => snapshots.push(named.name),
                Ok(_) => {}
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        let honoured = Honoured { lease: *lease, snapshots };
        let name = ObjectName::lease_honoured(lease);
        Ok(self.storage().put(&name, &[object::with_sum(&honoured.to_bytes())], PutMode::Keep)?)
    }

    /// Removes packs from the index: every index object that names one of them is replaced by one that does not. What is
    /// smaller than `merge` bytes is merged on the way when there are several. Gives how many objects were replaced.
    ///
    /// # Errors
    /// The storage, or an index object that cannot be read.
    pub fn unlist_packs(&self, packs: &HashSet<[u8; 32]>, merge: u64) -> Result<usize, RepoError> {
        let storage = &**self.storage();
        let all = object::list(storage, Folder::Index)?;
        let small = all.iter().filter(|meta| meta.length < merge).count();
        if packs.is_empty() && small < 2 {
            return Ok(0);
        }
        let (mut old, mut kept, mut seen, mut length, mut replaced) = (Vec::new(), Vec::new(), HashSet::new(), 0, 0);
        for meta in all {
            let table = load_one(self, &meta)?;
            if !table.packs.iter().any(|pack| packs.contains(&pack.name)) && (meta.length >= merge || small < 2) {
                continue;
            }
            old.push(meta.name);
            let stays = |pack: &IndexedPack| !packs.contains(&pack.name) && seen.insert(pack.name);
            let new: Vec<_> = table.packs.into_iter().filter(stays).collect();
            length += new.iter().map(pack_len).sum::<usize>();
            kept.extend(new);
            // As much as fits an object is enough: memory does not grow with the index.
            if length >= INDEX_OBJECT_LEN {
                replaced += self.replace_index(std::mem::take(&mut old), std::mem::take(&mut kept))?;
                length = 0;
            }
        }
        Ok(replaced + self.replace_index(old, kept)?)
    }

    /// Puts index objects over `packs`, then deletes the old ones.
    fn replace_index(&self, mut old: Vec<ObjectName>, packs: Vec<IndexedPack>) -> Result<usize, RepoError> {
        let new = self.put_index(packs)?;
        old.retain(|name| new.iter().all(|meta| meta.name != *name));
        for name in &old {
            self.storage().delete(name)?;
        }
        Ok(old.len())
    }

    /// Keeps the bytes of a damaged object under the hash that they have, and takes the object away.
    ///
    /// # Errors
    /// When it cannot be read or kept; then it stays where it is.
    pub fn set_aside(&self, name: &ObjectName) -> Result<(), RepoError> {
        let bytes = self.storage().get(name)?;
        let kept = ObjectName::hashed(Folder::Aside, blake3::hash(&bytes).as_bytes());
        self.storage().put(&kept, &[bytes], PutMode::Keep)?;
        Ok(self.storage().delete(name)?)
    }

    /// Puts index objects over `packs`; gives their names and lengths.
    ///
    /// # Errors
    /// The storage, or no randomness.
    pub fn put_index(&self, packs: Vec<IndexedPack>) -> Result<Vec<ObjectMeta>, RepoError> {
        let (mut packs, mut names) = (packs.into_iter().peekable(), Vec::new());
        while packs.peek().is_some() {
            let mut table = IndexTable::default();
            let mut length = 0;
            while let Some(pack) = packs.next_if(|pack| length == 0 || length + pack_len(pack) < INDEX_OBJECT_LEN) {
                length += pack_len(&pack);
                table.packs.push(pack);
            }
            let object = seal(self, &table)?;
            let name = ObjectName::hashed(Folder::Index, blake3::hash(&object).as_bytes());
            let length = object.len() as u64;
            self.storage().put(&name, &[Bytes::from(object)], PutMode::Keep)?;
            names.push(ObjectMeta { name, length });
        }
        Ok(names)
    }
}
