//! What a pack says of itself, without an index (`repo-format.md`, chapter 7).

use super::{RepoError, Repository, object};
use crate::crypto::ObjectKey;
use crate::format::limits::{HEADER_LEN, PACK_LEN_MAX};
use crate::format::{Class, Header, IndexedPack, PackTable, Part, TAIL_LEN, Trailer};
use crate::storage::{Folder, ObjectName};

/// The end of a pack, opened: what is needed to read the footer before it.
struct Tail {
    name: ObjectName,
    length: u32,
    header: Header,
    key: ObjectKey,
    trailer: Trailer,
    /// Where the footer begins and ends.
    footer: std::ops::Range<u64>,
}

impl Repository {
    /// Reads the footer of a pack of `length` bytes: which blocks and chunks it holds.
    ///
    /// # Errors
    /// When its last bytes are damaged; the storage.
    pub fn read_footer(&self, pack: &[u8; 32], length: u64) -> Result<IndexedPack, RepoError> {
        let name = ObjectName::hashed(Folder::Packs, pack);
        let at = length.checked_sub(TAIL_LEN as u64).ok_or_else(|| no_such_length(&name))?;
        let tail = self.storage().get_range(&name, at..length)?;
        let tail = self.open_tail(name, length, &tail)?;
        let footer = self.storage().get_range(&tail.name, tail.footer.clone())?;
        tail.table(*pack, footer.to_vec())
    }

    /// The same from the last bytes of the pack, which were read already: all behind its blocks.
    ///
    /// # Errors
    /// When they are damaged.
    pub fn open_footer(&self, pack: &[u8; 32], length: u64, end: &[u8]) -> Result<IndexedPack, RepoError> {
        let name = ObjectName::hashed(Folder::Packs, pack);
        let at = end.len().checked_sub(TAIL_LEN).ok_or_else(|| no_such_length(&name))?;
        let (front, tail) = end.split_at(at);
        let tail = self.open_tail(name, length, tail)?;
        let footer_len = tail.trailer.footer_len as usize;
        let footer = front.len().checked_sub(footer_len).map(|at| front[at..].to_vec());
        let footer = footer.ok_or_else(|| RepoError::damaged(&tail.name, "its footer begins before its blocks end"))?;
        tail.table(*pack, footer)
    }

    fn open_tail(&self, name: ObjectName, length: u64, tail: &[u8]) -> Result<Tail, RepoError> {
        let short = u32::try_from(length).ok().filter(|length| *length <= PACK_LEN_MAX);
        let short = short.ok_or_else(|| no_such_length(&name))?;
        let header = object::header(&name, tail, Class::Pack)?;
        let key = self.keys().find(&header).map_err(|error| RepoError::damaged(&name, error))?;
        let mut trailer = tail[HEADER_LEN..].to_vec();
        key.open(Part::Trailer, 0, &mut trailer).map_err(|error| RepoError::damaged(&name, error))?;
        let trailer = Trailer::from_bytes(&trailer, length).map_err(|error| RepoError::format(&name, &error))?;
        let end = length - TAIL_LEN as u64;
        let start = end.checked_sub(u64::from(trailer.footer_len));
        let start = start.ok_or_else(|| RepoError::damaged(&name, "its footer is longer than the pack"))?;
        Ok(Tail { name, length: short, header, key, trailer, footer: start..end })
    }
}

impl Tail {
    fn table(self, pack: [u8; 32], mut footer: Vec<u8>) -> Result<IndexedPack, RepoError> {
        let Self { name, length, header, key, trailer, footer: at } = self;
        key.open(Part::Footer, 0, &mut footer).map_err(|error| RepoError::damaged(&name, error))?;
        let table = PackTable::from_footer(&footer, trailer.blocks, at.start);
        let table = table.map_err(|error| RepoError::format(&name, &error))?;
        Ok(IndexedPack { name: pack, header, length, table })
    }
}

fn no_such_length(name: &ObjectName) -> RepoError {
    RepoError::damaged(name, "no pack has this length")
}
