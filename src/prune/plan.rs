//! Which packs go, and which are copied: those that hold the least of what is needed, first.

use super::live::Live;
use super::{KINDS, PruneRequest};
use crate::format::{ChunkRecord, Config, PackKind};
use crate::repo::{Index, PackView};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// A run copies small packs into larger ones when there are at least so many of a kind.
const SMALL_PACKS: usize = 8;
/// A pack is small below this share of the size that packs are to have.
const SMALL: u64 = 4;

/// What of a pack is needed.
#[derive(Clone, Debug)]
pub struct Share {
    /// The pack.
    pub name: [u8; 32],
    /// What it holds.
    pub kind: PackKind,
    /// Its length in bytes.
    pub length: u64,
    /// Bytes of its blocks that are needed, sealed.
    pub used: u64,
    /// Bytes of its blocks that nothing needs, sealed.
    pub unused: u64,
    /// Whether nothing of it is needed. Not the same as no bytes used: those are rounded.
    pub is_dead: bool,
    /// Its number in the index.
    pub(super) number: u32,
    /// Its blocks.
    pub(super) blocks: Range<u32>,
}

/// What a run is going to do.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Packs of which nothing is needed.
    pub dead: Vec<Share>,
    /// Packs that are copied and then go.
    pub sparse: Vec<Share>,
    /// Packs that no index object names, with their lengths.
    pub leftovers: Vec<([u8; 32], u64)>,
    /// Packs that stay.
    pub kept_packs: usize,
    /// Their bytes.
    pub kept_bytes: u64,
    /// Bytes among these that nothing needs.
    pub unused_bytes: u64,
    /// Bytes of all packs that were looked at.
    pub total_bytes: u64,
    /// Chunks that snapshots need and that no index object knows.
    pub chunks_missing: u64,
    claims: Claims,
}

/// Of chunks that lie in several packs, which pack's copy counts: that in the pack of which the most is needed.
#[derive(Clone, Debug, Default)]
struct Claims(HashMap<u32, u32>);

impl Claims {
    /// The chunks of a block that are needed, and needed from this pack.
    fn needed(&self, index: &Index, live: &Live, (pack, block): (u32, u32)) -> Vec<ChunkRecord> {
        let counts = |chunk: &ChunkRecord| {
            let ordinal = index.ordinal(&chunk.id);
            live.contains(&chunk.id) && ordinal.is_some_and(|n| self.0.get(&n).is_none_or(|claimed| *claimed == pack))
        };
        let mut seen = HashSet::new();
        index.block_chunks(block).filter(|chunk| counts(chunk) && seen.insert(chunk.id)).collect()
    }
}

impl Plan {
    /// What of a block of a pack is to be copied.
    pub(super) fn needed(&self, index: &Index, live: &Live, share: &Share, block: u32) -> Vec<ChunkRecord> {
        self.claims.needed(index, live, (share.number, block))
    }

    /// Plans over the packs of `index` that are not marked yet.
    pub(super) fn make(index: &Index, live: &Live, request: &PruneRequest, config: &Config) -> Self {
        let (mut shares, claims) = shares(index, live);
        let total_bytes = shares.iter().map(|share| share.length).sum();
        let mut plan = Self { total_bytes, claims, ..Self::default() };
        let thousandths = |share: u32| u128::from(plan.total_bytes) * u128::from(share) / 1000;
        let (allowed, budget) = (thousandths(request.max_unused), thousandths(request.max_repack));
        plan.dead = shares.extract_if(.., |share| share.is_dead).collect();
        let small: HashSet<[u8; 32]> = KINDS.iter().flat_map(|kind| small(&shares, *kind, config)).collect();
        // The emptiest first: they give back the most for each byte that is copied. Small ones come before all.
        shares.sort_by_key(|share| (!small.contains(&share.name), share.used * 1000 / share.length.max(1), share.name));
        let mut unused: u128 = shares.iter().map(|share| u128::from(share.unused)).sum();
        let mut copied = 0_u128;
        for share in shares {
            let wanted = small.contains(&share.name) || unused > allowed && share.unused > 0;
            if wanted && copied + u128::from(share.used) <= budget {
                copied += u128::from(share.used);
                unused -= u128::from(share.unused);
                plan.sparse.push(share);
            } else {
                plan.kept_packs += 1;
                plan.kept_bytes += share.length;
            }
        }
        plan.unused_bytes = u64::try_from(unused).unwrap_or(u64::MAX);
        plan
    }
}

/// Names of the packs of a kind that are so small that they are worth merging.
fn small(shares: &[Share], kind: PackKind, config: &Config) -> Vec<[u8; 32]> {
    let size = if kind == PackKind::Data { config.data_pack } else { config.tree_pack };
    let fits = |share: &&Share| share.kind == kind && share.length < u64::from(size) / SMALL;
    let found: Vec<_> = shares.iter().filter(fits).map(|share| share.name).collect();
    if found.len() < SMALL_PACKS { Vec::new() } else { found }
}

/// What of each pack is needed, and whose copies count.
fn shares(index: &Index, live: &Live) -> (Vec<Share>, Claims) {
    let mut packs: Vec<(u64, PackView)> = index
        .pack_views()
        .filter(|pack| !index.is_avoided(pack.number))
        .map(|pack| (used_plain(index, live, &pack), pack))
        .collect();
    packs.sort_by_key(|(used, pack)| (std::cmp::Reverse(*used), pack.name));
    let mut claims = Claims::default();
    for chunk in packs.iter().flat_map(|(_, pack)| {
        let number = pack.number;
        pack.blocks.clone().flat_map(|block| index.block_chunks(block)).map(move |chunk| (number, chunk))
    }) {
        let (pack, ChunkRecord { id, .. }) = chunk;
        // Only chunks with several copies need to be remembered, and those are few.
        if live.contains(&id) && index.copies(&id) > 1 {
            index.ordinal(&id).map(|n| claims.0.entry(n).or_insert(pack));
        }
    }
    let shares = packs.into_iter().map(|(_, pack)| share(index, live, &pack, &claims)).collect();
    (shares, claims)
}

fn used_plain(index: &Index, live: &Live, pack: &PackView) -> u64 {
    let chunks = pack.blocks.clone().flat_map(|block| index.block_chunks(block));
    chunks.filter(|chunk| live.contains(&chunk.id)).map(|chunk| u64::from(chunk.length)).sum()
}

fn share(index: &Index, live: &Live, pack: &PackView, claims: &Claims) -> Share {
    let mut share = Share {
        name: pack.name,
        kind: pack.kind,
        length: u64::from(pack.length),
        used: 0,
        unused: 0,
        is_dead: true,
        number: pack.number,
        blocks: pack.blocks.clone(),
    };
    for block in pack.blocks.clone() {
        let place = index.block_place(block);
        let sealed = place.range.end - place.range.start;
        let needed = claims.needed(index, live, (pack.number, block));
        let plain: u64 = needed.iter().map(|chunk| u64::from(chunk.length)).sum();
        let used = sealed * plain / u64::from(place.plain_len.max(1));
        share.used += used;
        share.unused += sealed - used;
        share.is_dead &= needed.is_empty();
    }
    share
}
