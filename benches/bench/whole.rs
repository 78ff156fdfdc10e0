//! The index with a million chunks, and whole backups into memory and restores from there, on all cores.

use super::{Bench, line, rate, title};
use nightjar::archive::{About, BackupReport, BackupRequest, ParentChoice, Source, backup};
use nightjar::base::cancel::Cancel;
use nightjar::base::meter::Meter;
use nightjar::base::specimen::{SORTS, random};
use nightjar::codec::Compression;
use nightjar::crypto::Secret;
use nightjar::engine::SoftwareEngine;
use nightjar::files::{Root, Selection};
use nightjar::format::{
    BlockRecord, ChunkId, ChunkRecord, ChunkSizes, Class, Config, IndexedPack, Kdf, PackKind, PackTable, Suite, Time,
};
use nightjar::repo::{ChunkReader, Environment, Index, InitOptions, Repository, SlotSecret, init};
use nightjar::restore::{RestoreRequest, restore, select};
use nightjar::storage::{MemoryStorage, Storage};
use nightjar::{archive, restore as restoring};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use zeroize::Zeroizing;

const PACKS: u32 = 50;
const BLOCKS_IN_PACK: u32 = 10;
const CHUNKS_IN_BLOCK: u32 = 2_000;
const CHUNKS: usize = 1_000_000;
/// How often a whole backup is made and restored.
const ROUNDS: u32 = 3;

pub(crate) fn run(bench: &Bench) {
    if bench.wants("index") {
        index(bench);
    }
    if bench.wants("whole") {
        for threads in [1, std::thread::available_parallelism().map_or(1, usize::from)] {
            whole(bench, threads);
        }
    }
}

fn repository() -> Arc<Repository> {
    Arc::new(repository_in(Arc::new(MemoryStorage::new()), Environment::system()))
}

/// A new repository.
pub(crate) fn repository_in(storage: Arc<dyn Storage>, environment: Environment) -> Repository {
    let options = InitOptions {
        config: Config {
            generation: 0,
            repository: [0; 16],
            chunks: ChunkSizes::default(),
            block: 1 << 20,
            data_pack: 32 << 20,
            tree_pack: 8 << 20,
            compression: "auto".to_owned(),
            created: Time { seconds: 0, nanos: 0 },
            reserve: 0,
        },
        suite: Suite::Aes256Gcm,
        slot: SlotSecret {
            secret: Secret::new(Zeroizing::new("bench".to_owned())),
            kdf: Kdf::Argon2id { memory_kib: 8 << 10, passes: 1, lanes: 1 },
            label: "password".to_owned(),
        },
        recovery: false,
    };
    init(storage, environment, &options).unwrap().repository
}

/// The id of the `n`th chunk of the index; none of those from `CHUNKS` on is in it.
fn id(ids: &[u8], n: usize) -> ChunkId {
    ChunkId(*ids[n * 32..].first_chunk().unwrap())
}

fn pack(repository: &Repository, ids: &[u8], number: u32) -> IndexedPack {
    let salt = *blake3::hash(&number.to_le_bytes()).as_bytes();
    let (header, _) = repository.keys().begin(Class::Pack, Some(PackKind::Data), Suite::Aes256Gcm, salt);
    let sealed_len = CHUNKS_IN_BLOCK * 100 + 20;
    let block = |number| BlockRecord {
        number,
        offset: 128 + number * sealed_len,
        sealed_len,
        plain_len: CHUNKS_IN_BLOCK * 100,
        chunks: u16::try_from(CHUNKS_IN_BLOCK).unwrap(),
    };
    let in_pack = BLOCKS_IN_PACK * CHUNKS_IN_BLOCK;
    let chunk = |n: u32| ChunkRecord { id: id(ids, usize::try_from(number * in_pack + n).unwrap()), length: 100 };
    IndexedPack {
        name: salt,
        header,
        length: (128 + BLOCKS_IN_PACK * sealed_len).next_multiple_of(4096),
        table: PackTable {
            blocks: (0..BLOCKS_IN_PACK).map(block).collect(),
            chunks: (0..in_pack).map(chunk).collect(),
        },
    }
}

fn index(bench: &Bench) {
    title("index: a million chunks");
    let repository = repository();
    let ids = random(1, 2 * CHUNKS * 32);
    repository.put_index((0..PACKS).map(|number| pack(&repository, &ids, number)).collect()).unwrap();
    let (time, index) = bench.once(|| Index::load(&repository).unwrap());
    assert_eq!(index.counts().2, CHUNKS);
    line("load", &[format!("{:.0} ms", time.as_secs_f64() * 1e3)]);
    for (name, first) in [("lookup, hit", 0), ("lookup, miss", CHUNKS)] {
        let (mut known, mut lookups) = (0, 0);
        let time = bench.best(|| {
            // A step that has no factor in common with the number of chunks, so that the order is not that of the table.
            for n in 0..CHUNKS {
                known += usize::from(index.contains(&id(&ids, first + n * 7_919 % CHUNKS)));
            }
            lookups += CHUNKS;
        });
        assert_eq!(known, if first == 0 { lookups } else { 0 });
        let each = time.as_secs_f64() * 1e9 / 1e6;
        line(name, &[format!("{each:.0} ns")]);
    }
}

/// Writes 64 MiB: four files of 8 MiB, 64 of 256 KiB and 1,024 of 16 KiB.
fn write_tree(top: &Path, make: fn(u64, usize) -> Vec<u8>) -> usize {
    let mut total = 0;
    for (count, length) in [(4, 8 << 20), (64, 256 << 10), (1_024, 16 << 10)] {
        let bytes = make(u64::try_from(length).unwrap(), count * length);
        total += bytes.len();
        for (number, part) in bytes.chunks(length).enumerate() {
            fs::write(top.join(format!("{length}-{number:04}")), part).unwrap();
        }
    }
    total
}

fn save(repository: &Arc<Repository>, engine: &SoftwareEngine, top: &Path, parent: ParentChoice) -> BackupReport {
    let request = BackupRequest {
        source: Source::Paths { roots: vec![Root::new(top, Path::new("/")).unwrap()], selection: Selection::new() },
        parent,
        compression: Compression::AUTO,
        about: About {
            host: "bench".to_owned(),
            user: "bench".to_owned(),
            job: None,
            tags: Vec::new(),
            paths: Vec::new(),
            options: Vec::new(),
            zone_seconds: 0,
            skip_if_unchanged: false,
            lamport: 0,
            accept_shrink: false,
            dry_run: false,
            readers: 2,
            checkpoint: Duration::from_mins(5),
            estimate: false,
        },
    };
    let watch =
        archive::Watch { meter: Arc::default(), cancel: Cancel::new(), failed: &|item| panic!("{}", item.reason) };
    backup(repository, engine, request, &watch).unwrap()
}

fn bring_back(repository: &Arc<Repository>, engine: &SoftwareEngine, report: &BackupReport, target: &Path) -> u64 {
    let index = Arc::new(Index::load(repository).unwrap());
    let mut reader = ChunkReader::new(repository, &index);
    let snapshot = &report.snapshot.as_ref().unwrap().snapshot;
    let request = RestoreRequest {
        selected: select(&mut reader, snapshot, b"").unwrap(),
        target: target.to_path_buf(),
        readers: 2,
    };
    let watch = restoring::Watch {
        meter: Arc::<Meter>::default(),
        cancel: Cancel::new(),
        failed: &|item| panic!("{}", item.reason),
    };
    restore(repository, &index, engine, &request, &watch).unwrap().bytes
}

fn whole(bench: &Bench, threads: usize) {
    let columns = "new | known | unchanged | restore | ratio";
    title(&format!("whole: 64 MiB in 1,092 files, {threads} threads seal: {columns}"));
    let engine = SoftwareEngine::new(threads, 4 * threads).unwrap();
    for (sort, make) in SORTS {
        let (source, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let length = write_tree(source.path(), make);
        let mut best = [Duration::MAX; 4];
        let mut stored = 0;
        for round in 0..ROUNDS {
            let repository = repository();
            let target = target.path().join(round.to_string());
            let save = |parent| bench.once(|| save(&repository, &engine, source.path(), parent));
            let (new, report) = save(ParentChoice::None);
            let (known, _) = save(ParentChoice::None);
            let (unchanged, _) = save(ParentChoice::Auto);
            let (restored, bytes) = bench.once(|| bring_back(&repository, &engine, &report, &target));
            assert_eq!(usize::try_from(bytes).unwrap(), length);
            for (best, time) in best.iter_mut().zip([new, known, unchanged, restored]) {
                *best = time.min(*best);
            }
            stored = u32::try_from(report.statistics.bytes_stored).unwrap();
        }
        let [new, known, unchanged, restored] = best;
        let ratio = f64::from(u32::try_from(length).unwrap()) / f64::from(stored);
        let unchanged = format!("{:.1} ms", unchanged.as_secs_f64() * 1e3);
        let columns = [rate(length, new), rate(length, known), unchanged, rate(length, restored)];
        line(sort, &[&columns[..], &[format!("{ratio:.2}")]].concat());
    }
}
