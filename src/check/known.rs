//! Damage inside packs that was found once, for looking at a repository again without reading it again.

use super::Damage;
use super::pack::Verdict;
use super::structure::Gaps;
use crate::repo::Index;
use std::collections::{BTreeMap, HashSet};

/// What is damaged in one pack.
#[derive(Clone, Debug, Default)]
struct InPack {
    damage: Vec<Damage>,
    /// Offsets of blocks of which nothing can be had.
    blocks: HashSet<u64>,
    /// Chunks with other bytes: offset of the block, first byte in it.
    copies: HashSet<(u64, u32)>,
}

/// Damage found in packs, by their names: numbers of an index mean nothing to the next one.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    packs: BTreeMap<[u8; 32], InPack>,
    /// Packs that no index object names.
    loose: BTreeMap<[u8; 32], Vec<Damage>>,
}

impl Known {
    /// Remembers what was found in a pack of `index`.
    pub(super) fn note(&mut self, pack: [u8; 32], verdict: &Verdict, index: &Index) {
        if verdict.damage.is_empty() {
            return;
        }
        let offset = |block: &u32| index.block_place(*block).range.start;
        let found = self.packs.entry(pack).or_default();
        found.damage.extend(verdict.damage.iter().cloned());
        found.blocks.extend(verdict.bad_blocks.iter().map(offset));
        found.copies.extend(verdict.bad_copies.iter().map(|(block, start)| (offset(block), *start)));
    }

    /// Remembers what is wrong with a pack that no index object names.
    pub(super) fn note_loose(&mut self, pack: [u8; 32], damage: Vec<Damage>) {
        self.loose.insert(pack, damage);
    }

    /// What is known to be wrong with a pack that no index object names.
    pub(super) fn of_loose(&self, pack: &[u8; 32]) -> &[Damage] {
        self.loose.get(pack).map_or(&[], Vec::as_slice)
    }

    /// A pack was replaced.
    pub(super) fn forget(&mut self, pack: &[u8; 32]) {
        self.packs.remove(pack);
        self.loose.remove(pack);
    }

    /// Adds what is known of the packs of `index` to what is known of it; gives the names of the packs.
    pub(super) fn apply(&self, index: &Index, gaps: &mut Gaps, damage: &mut Vec<Damage>) -> Vec<[u8; 32]> {
        let mut names = Vec::new();
        for view in index.pack_views() {
            let Some(found) = self.packs.get(&view.name) else { continue };
            names.push(view.name);
            damage.extend(found.damage.iter().cloned());
            for block in view.blocks {
                let offset = index.block_place(block).range.start;
                if found.blocks.contains(&offset) {
                    gaps.blocks.insert(block);
                }
                let copies = found.copies.iter().filter(|(at, _)| *at == offset);
                gaps.copies.extend(copies.map(|(_, start)| (block, *start)));
            }
        }
        names
    }
}
