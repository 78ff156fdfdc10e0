//! What a pack says of itself, without an index (`repo-format.md`, chapter 7).

use super::{RepoError, Repository, object};
use crate::format::limits::{HEADER_LEN, PACK_LEN_MAX};
use crate::format::{Class, IndexedPack, PackTable, Part, TAIL_LEN, Trailer};
use crate::storage::{Folder, ObjectName};

impl Repository {
    /// Reads the footer of a pack of `length` bytes: which blocks and chunks it holds.
    ///
    /// # Errors
    /// When its last bytes are damaged; the storage.
    pub fn read_footer(&self, pack: &[u8; 32], length: u64) -> Result<IndexedPack, RepoError> {
        let name = ObjectName::hashed(Folder::Packs, pack);
        let damaged = |reason: &str| RepoError::damaged(&name, reason);
        let tail_len = TAIL_LEN as u64;
        let short = u32::try_from(length).ok().filter(|length| *length <= PACK_LEN_MAX);
        let (Some(short), Some(tail_at)) = (short, length.checked_sub(tail_len)) else {
            return Err(damaged("no pack has this length"));
        };
        let tail = self.storage().get_range(&name, tail_at..length)?;
        let header = object::header(&name, &tail, Class::Pack)?;
        let key = self.keys().find(&header).map_err(|error| RepoError::damaged(&name, error))?;
        let mut trailer = tail[HEADER_LEN..].to_vec();
        key.open(Part::Trailer, 0, &mut trailer).map_err(|error| RepoError::damaged(&name, error))?;
        let trailer = Trailer::from_bytes(&trailer, length).map_err(|error| RepoError::format(&name, &error))?;
        let footer_at = tail_at
            .checked_sub(u64::from(trailer.footer_len))
            .ok_or_else(|| damaged("its footer is longer than the pack"))?;
        let mut footer = self.storage().get_range(&name, footer_at..tail_at)?.to_vec();
        key.open(Part::Footer, 0, &mut footer).map_err(|error| RepoError::damaged(&name, error))?;
        let table = PackTable::from_footer(&footer, trailer.blocks, footer_at);
        let table = table.map_err(|error| RepoError::format(&name, &error))?;
        Ok(IndexedPack { name: *pack, header, length: short, table })
    }
}
