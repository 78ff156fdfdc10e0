//! Power cuts: every operation that changes a repository, cut at every changing call, before and after its effect. Then
//! everything acknowledged is there to the last byte, every visible snapshot is complete, and the operation run again ends well.
#![expect(clippy::unwrap_used, reason = "a test stops at the first thing that fails")]

#[path = "crash/damage.rs"]
mod damage;
#[path = "crash/hook.rs"]
mod hook;
#[path = "crash/interleave.rs"]
mod interleave;
#[path = "crash/keys.rs"]
mod keys;
#[path = "crash/removal.rs"]
mod removal;

use nightjar::archive::{
    About, ArchiveError, BackupReport, BackupRequest, ParentChoice, Source, Stream, Watch, backup,
};
use nightjar::base::cancel::Cancel;
use nightjar::base::clock::ManualClock;
use nightjar::base::meter::Meter;
use nightjar::codec::Compression;
use nightjar::crypto::Secret;
use nightjar::engine::SoftwareEngine;
use nightjar::files::{Root, Selection};
use nightjar::format::{ChunkSizes, Config, Content, Extent, Kdf, PackKind, Suite, Time};
use nightjar::prune::{PruneError, PruneReport, PruneRequest, prune};
use nightjar::repo::{
    ChunkReader, Environment, ExtentReader, Index, InitOptions, RepoError, Repository, SlotSecret, SnapshotList,
    TreeReader, init,
};
use nightjar::restore::{RestoreRequest, restore, select};
use nightjar::storage::{FaultStorage, Folder, MemoryStorage, Moment, ObjectMeta, Storage, StorageFault, Verb};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Bytes of a file that fills several packs.
const LARGE: usize = 2_500_000;
/// How often a checkpoint comes when a test does not want one.
const RARELY: Duration = Duration::from_mins(5);

type Contents = BTreeMap<PathBuf, Vec<u8>>;

fn secret() -> Secret {
    Secret::new("password".to_owned().into())
}

fn init_options() -> InitOptions {
    let chunks = ChunkSizes { min: 4 << 10, avg: 8 << 10, max: 16 << 10 };
    let created = Time { seconds: 0, nanos: 0 };
    let (data_pack, tree_pack, block) = (1 << 20, 1 << 20, 64 << 10);
    let compression = "off".to_owned();
    let config = Config {
        generation: 0,
        repository: [0; 16],
        chunks,
        block,
        data_pack,
        tree_pack,
        compression,
        created,
        reserve: 0,
    };
    let kdf = Kdf::Argon2id { memory_kib: 8 << 10, passes: 1, lanes: 1 };
    let slot = SlotSecret { secret: secret(), kdf, label: "password".into() };
    InitOptions { config, suite: Suite::Aes256Gcm, slot, recovery: true }
}

fn run_init(storage: Arc<dyn Storage>) -> Result<(), RepoError> {
    init(storage, Environment::system(), &init_options()).map(|_| ())
}

fn open(storage: &Arc<dyn Storage>) -> Result<Arc<Repository>, RepoError> {
    Repository::open(Arc::clone(storage), Environment::system(), &secret()).map(Arc::new)
}

fn request(source: Source, parent: ParentChoice, checkpoint: Duration) -> BackupRequest {
    let about = About {
        host: "host".into(),
        user: "user".into(),
        job: None,
        tags: vec![],
        paths: vec![b"/source".to_vec()],
        options: vec![],
        zone_seconds: 0,
        skip_if_unchanged: false,
        lamport: 0,
        accept_shrink: false,
        dry_run: false,
        readers: 2,
        checkpoint,
        estimate: false,
    };
    BackupRequest { source, parent, compression: Compression::Off, about }
}

fn run_backup(storage: &Arc<dyn Storage>, source: &Path, checkpoint: Duration) -> Result<BackupReport, ArchiveError> {
    let repository = open(storage)?;
    let roots = vec![Root::new(source, Path::new("/")).unwrap()];
    let source = Source::Paths { roots, selection: Selection::new() };
    let engine = SoftwareEngine::new(1, 2).unwrap();
    let watch = Watch { meter: Arc::new(Meter::new()), cancel: Cancel::new(), failed: &|_| {} };
    backup(&repository, &engine, request(source, ParentChoice::Auto, checkpoint), &watch)
}

fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

/// A small source: folders, small files, and one file of several packs' worth.
fn make_source(path: &Path, seed: u64, large: usize) -> Contents {
    let mut contents = Contents::new();
    for n in 0..6_u64 {
        let name = path.join(format!("folder{}/file{n}", n % 2));
        contents.insert(name, noise(seed * 100 + n, usize::try_from(n * n * 700).unwrap()));
    }
    contents.insert(path.join("large"), noise(seed * 100 + 50, large));
    for (name, bytes) in &contents {
        std::fs::create_dir_all(name.parent().unwrap()).unwrap();
        std::fs::write(name, bytes).unwrap();
    }
    contents
}

/// A prune that copies and removes all it can, and waits for nobody.
fn prune_request(grace: Duration) -> PruneRequest {
    PruneRequest { grace, wait: Duration::ZERO, max_unused: 0, max_repack: 1000, dry_run: false }
}

/// Prunes at a time, in nanoseconds, with a grace of a day.
fn prune_at(storage: &Arc<dyn Storage>, nanos: i64) -> Result<PruneReport, PruneError> {
    let mut env = Environment { clock: Arc::new(ManualClock::at(nanos)), ..Environment::system() };
    // A process that is gone when anybody looks: one that was cut is.
    (env.host.pid, env.host.started) = (1 << 40, 1);
    let repository = Arc::new(Repository::open(Arc::clone(storage), env, &secret())?);
    prune_with(&repository, Duration::from_hours(24))
}

/// Prunes a repository that is open.
fn prune_with(repository: &Arc<Repository>, grace: Duration) -> Result<PruneReport, PruneError> {
    prune(repository, &SoftwareEngine::new(1, 2).unwrap(), &prune_request(grace), &Cancel::new())
}

/// How many objects stand in a folder.
fn count(storage: &Arc<dyn Storage>, folder: Folder) -> usize {
    let mut number = 0;
    let mut see = |_: ObjectMeta| {
        number += 1;
        ControlFlow::Continue(())
    };
    storage.list(folder, &mut see).unwrap();
    number
}

/// Contents of every file of every visible snapshot, oldest first; fails where anything is missing.
fn read_all(storage: &Arc<dyn Storage>) -> Result<Vec<Contents>, RepoError> {
    let repository = open(storage)?;
    let index = Arc::new(Index::load(&repository)?);
    assert!(index.damaged().is_empty(), "{:?}", index.damaged());
    let list = SnapshotList::load(&repository)?;
    assert!(list.damaged.is_empty(), "{:?}", list.damaged);
    let mut reader = ChunkReader::new(&repository, &index);
    list.snapshots.iter().map(|named| read_tree(&mut reader, named.snapshot.root)).collect()
}

fn read_tree(reader: &mut ChunkReader, root: nightjar::format::ChunkId) -> Result<Contents, RepoError> {
    let mut contents = Contents::new();
    let mut open = vec![(PathBuf::from("/"), root)];
    while let Some((path, tree)) = open.pop() {
        for node in TreeReader::new(tree).collect(reader)? {
            let path = path.join(String::from_utf8(node.name).unwrap());
            if let Some(tree) = node.tree {
                open.push((path, tree));
            } else if let Some(content) = node.content {
                contents.insert(path, read_content(reader, &content, node.size)?);
            }
        }
    }
    Ok(contents)
}

fn read_content(reader: &mut ChunkReader, content: &Content, size: u64) -> Result<Vec<u8>, RepoError> {
    if let Content::Inline(bytes) = content {
        return Ok(bytes.clone());
    }
    let mut extents = ExtentReader::new(content, size);
    let mut bytes = Vec::new();
    while let Some(extent) = extents.next(reader)? {
        match extent {
            Extent::Chunk { id, .. } => bytes.extend_from_slice(&reader.read(PackKind::Data, &id)?),
            Extent::Hole { length } => bytes.resize(bytes.len() + usize::try_from(length).unwrap(), 0),
        }
    }
    Ok(bytes)
}

/// Runs `operation` on copies of `before`, cut at every changing call, and lets `check` look at what is left with the
/// power back; `check` is told whether the operation was acknowledged.
fn cut_everywhere<T, E: std::fmt::Debug>(
    before: &MemoryStorage,
    operation: impl Fn(Arc<dyn Storage>) -> Result<T, E>,
    check: impl Fn(&Arc<dyn Storage>, bool),
) {
    cut_everywhere_of(3, before, operation, check);
}

/// The same for an operation that makes at least `least` changing calls.
fn cut_everywhere_of<T, E: std::fmt::Debug>(
    least: u64,
    before: &MemoryStorage,
    operation: impl Fn(Arc<dyn Storage>) -> Result<T, E>,
    check: impl Fn(&Arc<dyn Storage>, bool),
) {
    let whole = FaultStorage::new(before.snapshot());
    operation(Arc::new(whole.clone())).unwrap();
    let changes = whole.changes();
    assert!(changes >= least, "an operation that changes next to nothing proves nothing");
    let mut cut = 0;
    for nth in 1..=changes {
        for moment in [Moment::Before, Moment::After] {
            let storage = FaultStorage::new(before.snapshot());
            storage.cut_power(nth, moment);
            let acknowledged = operation(Arc::new(storage.clone())).is_ok();
            cut += u64::from(!acknowledged);
            storage.restore_power();
            let storage: Arc<dyn Storage> = Arc::new(storage);
            check(&storage, acknowledged);
        }
    }
    assert!(cut > changes, "the cuts were felt: {cut} of {changes}");
}

#[test]
fn init_cut_anywhere_is_whole_or_can_be_done_again() {
    cut_everywhere(&MemoryStorage::new(), run_init, |storage, acknowledged| {
        match open(storage) {
            Ok(_) => {}
            Err(RepoError::NoRepository(_)) if !acknowledged => run_init(Arc::clone(storage)).unwrap(),
            Err(error) => panic!("{error}"),
        }
        assert!(matches!(run_init(Arc::clone(storage)), Err(RepoError::Exists(_))));
        assert_eq!(read_all(storage).unwrap(), Vec::<Contents>::new());
    });
}

#[test]
fn a_first_backup_cut_anywhere_loses_nothing_and_can_be_run_again() {
    // With a checkpoint at every chunk, the order of packs and index objects is tried many times over.
    for (checkpoint, large) in [(Duration::ZERO, 100_000), (RARELY, LARGE)] {
        let source = tempfile::tempdir().unwrap();
        let contents = make_source(source.path(), 1, large);
        let before = MemoryStorage::new();
        run_init(Arc::new(before.clone())).unwrap();
        let run = |storage: Arc<dyn Storage>| run_backup(&storage, source.path(), checkpoint);
        cut_everywhere(&before, run, |storage, acknowledged| {
            let visible = read_all(storage).unwrap();
            assert!(visible.iter().all(|snapshot| *snapshot == contents));
            assert!(!acknowledged || visible.len() == 1);
            run_backup(storage, source.path(), checkpoint).unwrap();
            assert_eq!(read_all(storage).unwrap().last().unwrap(), &contents);
        });
    }
}

#[test]
fn a_backup_with_a_parent_cut_anywhere_keeps_the_parent_and_can_be_run_again() {
    let source = tempfile::tempdir().unwrap();
    let first = make_source(source.path(), 1, LARGE);
    let before = MemoryStorage::new();
    run_init(Arc::new(before.clone())).unwrap();
    let storage: Arc<dyn Storage> = Arc::new(before.clone());
    run_backup(&storage, source.path(), RARELY).unwrap();
    let mut second = first.clone();
    for (name, bytes) in [("folder0/file0", noise(7, 5_000)), ("new", noise(8, 100_000))] {
        std::fs::write(source.path().join(name), &bytes).unwrap();
        second.insert(source.path().join(name), bytes);
    }
    let run = |storage: Arc<dyn Storage>| run_backup(&storage, source.path(), RARELY);
    cut_everywhere(&before, run, |storage, acknowledged| {
        let visible = read_all(storage).unwrap();
        assert_eq!(visible[0], first, "what was acknowledged is there");
        assert!(visible[1..].iter().all(|snapshot| *snapshot == second));
        assert!(!acknowledged || visible.len() == 2);
        run_backup(storage, source.path(), RARELY).unwrap();
        assert_eq!(read_all(storage).unwrap().last().unwrap(), &second);
    });
}

#[test]
fn a_backup_with_lost_acknowledgements_leaves_only_whole_snapshots() {
    let source = tempfile::tempdir().unwrap();
    let contents = make_source(source.path(), 1, LARGE);
    let before = MemoryStorage::new();
    run_init(Arc::new(before.clone())).unwrap();
    for nth in 1..=8 {
        let storage = FaultStorage::new(before.snapshot());
        storage.lose_acknowledgement(Verb::Put, nth, StorageFault::Transient);
        let storage: Arc<dyn Storage> = Arc::new(storage);
        let _ = run_backup(&storage, source.path(), RARELY);
        assert!(read_all(&storage).unwrap().iter().all(|snapshot| *snapshot == contents));
        run_backup(&storage, source.path(), RARELY).unwrap();
        assert_eq!(read_all(&storage).unwrap().last().unwrap(), &contents);
    }
}

#[test]
fn a_full_storage_ends_the_run_and_keeps_what_was_there() {
    let source = tempfile::tempdir().unwrap();
    let first = make_source(source.path(), 1, LARGE);
    let before = MemoryStorage::new();
    run_init(Arc::new(before.clone())).unwrap();
    let storage: Arc<dyn Storage> = Arc::new(before.clone());
    run_backup(&storage, source.path(), RARELY).unwrap();
    make_source(source.path(), 2, LARGE);
    for limit in [0, 1_000, 100_000, 1_100_000, 2_400_000] {
        let storage = FaultStorage::new(before.snapshot());
        storage.limit_space(Some(limit));
        let full: Arc<dyn Storage> = Arc::new(storage.clone());
        match run_backup(&full, source.path(), RARELY).unwrap_err() {
            ArchiveError::Repo(RepoError::Storage(error)) => assert_eq!(error.fault, StorageFault::NoSpace, "{limit}"),
            other => panic!("{other}"),
        }
        assert_eq!(read_all(&full).unwrap(), vec![first.clone()]);
        storage.limit_space(None);
        run_backup(&full, source.path(), RARELY).unwrap();
        assert_eq!(read_all(&full).unwrap().len(), 2);
    }
}

#[test]
fn what_an_interrupted_run_made_findable_is_not_stored_again() {
    let source = tempfile::tempdir().unwrap();
    let contents = make_source(source.path(), 1, LARGE);
    let storage = MemoryStorage::new();
    run_init(Arc::new(storage.clone())).unwrap();
    let storage: Arc<dyn Storage> = Arc::new(storage);
    // Stopped by a signal behind the first file: the run ends with a checkpoint.
    let cancel = Cancel::new();
    let repository = open(&storage).unwrap();
    let engine = SoftwareEngine::new(1, 2).unwrap();
    let reader = Box::new(StopAt { bytes: noise(150, 2_500_000), at: 0, stop: cancel.clone() });
    let stream = Stream { name: b"large".to_vec(), reader, finish: Box::new(|| Ok(())) };
    let watch = Watch { meter: Arc::new(Meter::new()), cancel, failed: &|_| {} };
    let stopped = request(Source::Stream(stream), ParentChoice::None, RARELY);
    let outcome = backup(&repository, &engine, stopped, &watch);
    assert!(matches!(outcome, Err(ArchiveError::Cancelled(15))), "{outcome:?}");
    assert!(read_all(&storage).unwrap().is_empty());
    let report = run_backup(&storage, source.path(), RARELY).unwrap();
    let total: usize = contents.values().map(Vec::len).sum();
    assert!(report.statistics.bytes_new + 1_900_000 < total as u64, "{:?}", report.statistics);
    assert_eq!(read_all(&storage).unwrap(), vec![contents]);
}

#[test]
fn a_storage_that_fails_during_a_restore_is_not_called_damaged_and_gives_no_wrong_file() {
    let source = tempfile::tempdir().unwrap();
    let contents = make_source(source.path(), 1, LARGE);
    let storage = FaultStorage::new(MemoryStorage::new());
    run_init(Arc::new(storage.clone())).unwrap();
    let shared: Arc<dyn Storage> = Arc::new(storage.clone());
    run_backup(&shared, source.path(), RARELY).unwrap();
    let repository = open(&shared).unwrap();
    let index = Arc::new(Index::load(&repository).unwrap());
    let list = SnapshotList::load(&repository).unwrap();
    let selected = select(&mut ChunkReader::new(&repository, &index), &list.snapshots[0].snapshot, b"/").unwrap();
    let target = tempfile::tempdir().unwrap();
    for nth in 1..=200 {
        storage.fail(Verb::GetRange, nth + 1, StorageFault::Transient);
    }
    let engine = SoftwareEngine::new(1, 2).unwrap();
    let request = RestoreRequest { selected, target: target.path().into(), readers: 2 };
    let watch = nightjar::restore::Watch { meter: Arc::default(), cancel: Cancel::new(), failed: &|_| {} };
    let report = restore(&repository, &index, &engine, &request, &watch).unwrap();
    assert!(report.storage_failed && report.damaged.is_empty(), "{report:?}");
    assert!(!report.failed.is_empty());
    for (path, bytes) in contents {
        let restored = target.path().join(path.strip_prefix("/").unwrap());
        assert!(std::fs::read(restored).map_or(true, |restored| restored == bytes));
    }
}

#[test]
fn one_object_that_cannot_be_read_does_not_take_the_others_with_it() {
    let source = tempfile::tempdir().unwrap();
    make_source(source.path(), 1, LARGE);
    let storage = FaultStorage::new(MemoryStorage::new());
    run_init(Arc::new(storage.clone())).unwrap();
    let shared: Arc<dyn Storage> = Arc::new(storage.clone());
    for name in ["a", "b", "c"] {
        std::fs::write(source.path().join("large"), name).unwrap();
        run_backup(&shared, source.path(), RARELY).unwrap();
    }
    let repository = open(&shared).unwrap();
    for nth in 1..=3 {
        storage.fail(Verb::Get, nth, StorageFault::Transient);
        let list = SnapshotList::load(&repository).unwrap();
        assert_eq!((list.snapshots.len(), list.damaged.len()), (2, 1));
        storage.fail(Verb::Get, nth, StorageFault::Denied);
        let index = Index::load(&repository).unwrap();
        assert_eq!(index.damaged().len(), 1);
        assert!(index.counts().0 > 0);
    }
    for nth in 1..=3 {
        storage.fail(Verb::Get, nth, StorageFault::Transient);
    }
    let none = SnapshotList::load(&repository);
    assert!(matches!(none, Err(RepoError::Storage(_))), "that is no damage, but a storage out of reach");
}

/// Content that asks for a stop when 2 MB of it were read.
struct StopAt {
    bytes: Vec<u8>,
    at: usize,
    stop: Cancel,
}

impl std::io::Read for StopAt {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = buffer.len().min(100_000).min(self.bytes.len() - self.at);
        buffer[..length].copy_from_slice(&self.bytes[self.at..self.at + length]);
        self.at += length;
        if self.at >= 2_200_000 {
            self.stop.request(15);
        }
        Ok(length)
    }
}
