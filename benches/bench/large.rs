//! The index of a large repository, simulated: index objects on a disk that name packs which are not there. Only when it is
//! asked for (`cargo bench --bench bench -- many-chunks`), because it takes minutes and 4 GB of disk.

use super::{Bench, line, title};
use nightjar::format::{BlockRecord, ChunkId, ChunkRecord, Class, IndexedPack, PackKind, PackTable, Suite};
use nightjar::repo::{Environment, Index, Repository};
use nightjar::storage::LocalStorage;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// As in a repository with chunks of 128 KiB and blocks of 2 MiB.
const CHUNKS_IN_BLOCK: u64 = 16;
const BLOCKS_IN_PACK: u64 = 32;
const LENGTH: u32 = 128 << 10;

pub(crate) fn run(bench: &Bench) {
    if !bench.asks_for("many-chunks") {
        return;
    }
    for millions in [1, 10, 50] {
        title(&format!("index: {millions} million chunks"));
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        measure(bench, folder.path(), millions * 1_000_000);
    }
}

fn id(n: u64) -> ChunkId {
    ChunkId(*blake3::hash(&n.to_le_bytes()).as_bytes())
}

fn pack(repository: &Repository, number: u64) -> IndexedPack {
    let name = *blake3::hash(format!("pack {number}").as_bytes()).as_bytes();
    let (header, _) = repository.keys().begin(Class::Pack, Some(PackKind::Data), Suite::Aes256Gcm, name);
    let chunks = u32::try_from(CHUNKS_IN_BLOCK).unwrap();
    let sealed_len = LENGTH * chunks / 2;
    let block = |n: u64| {
        let number = u32::try_from(n).unwrap();
        let (offset, plain_len) = (128 + number * sealed_len, LENGTH * chunks);
        BlockRecord { number, offset, sealed_len, plain_len, chunks: u16::try_from(chunks).unwrap() }
    };
    let first = number * BLOCKS_IN_PACK * CHUNKS_IN_BLOCK;
    let chunk = |n: u64| ChunkRecord { id: id(first + n), length: LENGTH };
    let table = PackTable {
        blocks: (0..BLOCKS_IN_PACK).map(block).collect(),
        chunks: (0..BLOCKS_IN_PACK * CHUNKS_IN_BLOCK).map(chunk).collect(),
    };
    IndexedPack { name, header, length: (33 << 20) + 4096, table }
}

/// Bytes of memory that are resident now, and that were at most.
fn memory() -> (f64, f64) {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").trim().parse::<f64>().unwrap() * 1024.0
    };
    (field("VmRSS:"), field("VmHWM:"))
}

fn measure(bench: &Bench, folder: &Path, chunks: u64) {
    let environment = Environment { scratch: Some(folder.join("scratch")), ..Environment::system() };
    let storage = Arc::new(LocalStorage::open(folder.join("repo")));
    let repository = super::whole::repository_in(storage, environment);
    let packs = chunks / (BLOCKS_IN_PACK * CHUNKS_IN_BLOCK);
    let made: Vec<u64> = (0..packs).collect();
    for numbers in made.chunks(2_000) {
        repository.put_index(numbers.iter().map(|number| pack(&repository, *number)).collect()).unwrap();
    }
    let chunks = packs * BLOCKS_IN_PACK * CHUNKS_IN_BLOCK;
    // The peak begins anew.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let (before, _) = memory();
    let (time, index) = bench.once(|| Index::load(&repository).unwrap());
    let (after, peak) = memory();
    assert_eq!(index.counts().2 as u64, chunks);
    let each = |bytes: f64| format!("{:.1} B", (bytes - before) / f64::from(u32::try_from(chunks).unwrap()));
    line("load", &[format!("{:.1} s", time.as_secs_f64())]);
    line("memory for a chunk, at most", &[each(after), each(peak)]);
    line(
        "memory in all, at most",
        &[format!("{:.0} MiB", (after - before) / 1_048_576.0), format!("{:.0} MiB", (peak - before) / 1_048_576.0)],
    );
    for (name, first) in [("lookup, hit", 0), ("lookup, miss", chunks)] {
        const LOOKUPS: u64 = 1_000_000;
        let ids: Vec<ChunkId> = (0..LOOKUPS).map(|n| id(first + n * 7_919_777 % chunks)).collect();
        let (time, known) = bench.once(|| ids.iter().filter(|id| index.contains(id)).count() as u64);
        assert_eq!(known, if first == 0 { LOOKUPS } else { 0 });
        line(name, &[format!("{:.0} ns", time.as_secs_f64() * 1e9 / 1e6)]);
    }
}
