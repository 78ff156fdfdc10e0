//! Damage: every byte of a small repository flipped; random damage found, repaired, and nothing lost by the repair; repairs
//! cut at every changing call.

use super::*;
use nightjar::base::entropy::{Entropy, SystemEntropy};
use nightjar::check::Watch as CheckWatch;
use nightjar::check::{
    CheckReport, RepairError, RepairReport, RepairRequest, Sample, Subset, Verified, check, repair, scrub,
};
use nightjar::crypto::RecoveryKey;
use nightjar::storage::{ObjectName, PutMode};
use std::collections::BTreeSet;

const ALL: Sample = Sample { subset: Subset::All, every: None };

fn names(storage: &Arc<dyn Storage>) -> Vec<ObjectMeta> {
    let mut found = Vec::new();
    for folder in Folder::ALL {
        let mut see = |meta: ObjectMeta| {
            found.push(meta);
            ControlFlow::Continue(())
        };
        storage.list(folder, &mut see).unwrap();
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

fn all_bytes(storage: &Arc<dyn Storage>) -> BTreeMap<ObjectName, Vec<u8>> {
    let names = names(storage);
    names.into_iter().map(|meta| (meta.name.clone(), storage.get(&meta.name).unwrap().to_vec())).collect()
}

fn replace(storage: &Arc<dyn Storage>, name: &ObjectName, bytes: Vec<u8>) {
    storage.delete(name).unwrap();
    storage.put(name, &[bytes.into()], PutMode::Keep).unwrap();
}

fn watch() -> CheckWatch {
    CheckWatch { meter: Arc::new(Meter::new()), cancel: Cancel::new(), threads: 2 }
}

fn checked(repository: &Arc<Repository>) -> Result<CheckReport, nightjar::check::CheckError> {
    check(repository, Some(&ALL), &mut Verified::default(), &watch())
}

fn scrubbed(storage: &Arc<dyn Storage>) -> Vec<String> {
    let report = scrub(&**storage, &ALL, &mut Verified::default(), (0, &SystemEntropy), &watch()).unwrap();
    report.damage.into_iter().map(|damage| damage.object).collect()
}

fn repaired(
    storage: &Arc<dyn Storage>,
    from: Option<&Arc<dyn Storage>>,
    apply: bool,
) -> Result<RepairReport, RepairError> {
    let repository = open(storage)?;
    let from = from.map(|from| Arc::new(repository.at(Arc::clone(from)).unwrap()));
    let request =
        RepairRequest { from: from.as_ref(), sample: Some(ALL), apply, wait: Duration::ZERO, grace: Duration::ZERO };
    let engine = SoftwareEngine::new(1, 2).unwrap();
    repair(&repository, &engine, &request, &mut Verified::default(), &watch())
}

/// What can be restored whole: contents of files, by the sequence number of the snapshot and the path. Never anything
/// wrong: every chunk is compared with its id on the way.
fn restorable(storage: &Arc<dyn Storage>) -> BTreeMap<(u64, PathBuf), Vec<u8>> {
    let mut found = BTreeMap::new();
    let Ok(repository) = open(storage) else { return found };
    let Ok(index) = Index::load(&repository).map(Arc::new) else { return found };
    let Ok(list) = SnapshotList::load(&repository) else { return found };
    let mut reader = ChunkReader::new(&repository, &index);
    for named in list.snapshots {
        let mut open = vec![(PathBuf::from("/"), named.snapshot.root)];
        while let Some((path, tree)) = open.pop() {
            let mut tree = TreeReader::new(tree);
            loop {
                match tree.next(&mut reader) {
                    Ok(None) => break,
                    Err(_) => {}
                    Ok(Some(node)) => {
                        let path = path.join(String::from_utf8(node.name.clone()).unwrap());
                        match (node.tree, &node.content) {
                            (Some(below), _) => open.push((path, below)),
                            (None, Some(content)) => {
                                if let Ok(bytes) = read_content(&mut reader, content, node.size) {
                                    found.insert((named.snapshot.sequence, path), bytes);
                                }
                            }
                            _ => {}
                        }
                    }
                }
            }
        }
    }
    found
}

/// Three snapshots with much in common; what they hold, by sequence number.
fn three_snapshots(source: &Path, seed: u64) -> (MemoryStorage, BTreeMap<(u64, PathBuf), Vec<u8>>) {
    let memory = MemoryStorage::new();
    run_init(Arc::new(memory.clone())).unwrap();
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let mut contents = make_source(source, seed, 120_000);
    let mut truth = BTreeMap::new();
    for n in 1..=3_u64 {
        let name = source.join(format!("folder{}/new{n}", n % 2));
        let bytes = noise(seed * 7 + n, 30_000);
        std::fs::write(&name, &bytes).unwrap();
        contents.insert(name, bytes);
        run_backup(&storage, source, RARELY).unwrap();
        truth.extend(contents.iter().map(|(path, bytes)| ((n, path.clone()), bytes.clone())));
    }
    (memory, truth)
}

/// Numbers from a seed.
struct Dice(blake3::OutputReader);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(blake3::Hasher::new().update(b"dice").update(&seed.to_le_bytes()).finalize_xof())
    }

    fn below(&mut self, limit: usize) -> usize {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        usize::try_from(u64::from_le_bytes(bytes) % limit.max(1) as u64).unwrap()
    }
}

/// Damages some objects at random, but nothing without which the repository cannot be opened.
fn damage(storage: &Arc<dyn Storage>, dice: &mut Dice) -> BTreeSet<ObjectName> {
    let mut hit = BTreeSet::new();
    for _ in 0..=dice.below(4) {
        let candidates: Vec<_> = names(storage)
            .into_iter()
            .filter(|meta| matches!(meta.name.folder(), Folder::Packs | Folder::Index | Folder::Snapshots))
            .collect();
        let name = candidates[dice.below(candidates.len())].name.clone();
        let mut bytes = storage.get(&name).unwrap().to_vec();
        match dice.below(6) {
            0 => {
                storage.delete(&name).unwrap();
                hit.insert(name);
                continue;
            }
            1 => bytes.truncate(dice.below(bytes.len())),
            2 => bytes = noise(dice.below(1_000) as u64, bytes.len()),
            3 => bytes.extend_from_slice(b"more"),
            // A sector of zeros.
            4 => {
                let at = dice.below(bytes.len());
                let end = (at + 512).min(bytes.len());
                bytes[at..end].fill(0);
            }
            _ => {
                let at = dice.below(bytes.len());
                bytes[at] ^= 1 << dice.below(8);
            }
        }
        replace(storage, &name, bytes);
        hit.insert(name);
    }
    hit
}

fn is_within(part: &BTreeMap<(u64, PathBuf), Vec<u8>>, whole: &BTreeMap<(u64, PathBuf), Vec<u8>>) -> bool {
    part.iter().all(|(key, bytes)| whole.get(key) == Some(bytes))
}

#[test]
fn a_repair_loses_nothing_that_was_restorable_before() {
    let source = tempfile::tempdir().unwrap();
    let (before, truth) = three_snapshots(source.path(), 1);
    let (mut marked, mut salvaged, mut indexed) = (0, 0, 0);
    for seed in 0..60 {
        let memory = before.snapshot();
        let storage: Arc<dyn Storage> = Arc::new(memory.clone());
        let hit = damage(&storage, &mut Dice::new(seed));
        let had = restorable(&storage);
        assert!(is_within(&had, &truth), "seed {seed}: a wrong byte");
        // Looking changes nothing.
        let bytes = all_bytes(&storage);
        let planned = repaired(&storage, None, false).unwrap();
        assert!(all_bytes(&storage) == bytes, "seed {seed}");
        let done = repaired(&storage, None, true).unwrap();
        assert_eq!(planned.is_needed(), done.is_needed(), "seed {seed}");
        let has = restorable(&storage);
        assert!(is_within(&has, &truth), "seed {seed}: a wrong byte");
        assert!(is_within(&had, &has), "seed {seed}: {hit:?}: less than before");
        marked += done.mended.len();
        salvaged += done.salvaged.len();
        indexed += done.indexed.len();
        // Nothing is left to be done, and nobody stumbles any more.
        let repository = open(&storage).unwrap();
        let report = checked(&repository).unwrap();
        assert!(!report.is_damaged(), "seed {seed}: {hit:?}: {:?} {:?}", report.damage, report.lost);
        assert!(scrubbed(&storage).is_empty(), "seed {seed}: {hit:?}: {:?} {done:?}", scrubbed(&storage));
        let again = repaired(&storage, None, true).unwrap();
        assert!(!again.is_needed(), "seed {seed}: {hit:?}: {again:?}");
        prune_with(&repository, Duration::ZERO).unwrap();
        assert!(is_within(&had, &restorable(&storage)), "seed {seed}: less after a prune");
        // The next backup stores again what the source still has; what older snapshots share with it comes back.
        run_backup(&storage, source.path(), RARELY).unwrap();
        let whole = restorable(&storage);
        let last = whole.keys().map(|(sequence, _)| *sequence).max().unwrap();
        let latest: Contents =
            whole.into_iter().filter(|((n, _), _)| *n == last).map(|((_, path), bytes)| (path, bytes)).collect();
        let wanted: Contents = truth
            .iter()
            .filter(|((n, _), _)| *n == 3)
            .map(|((_, path), bytes)| (path.clone(), bytes.clone()))
            .collect();
        assert!(latest == wanted, "seed {seed}");
    }
    assert!(marked > 5 && salvaged > 10 && indexed > 5, "{marked} {salvaged} {indexed}: the damage was felt");
}

#[test]
fn another_copy_brings_everything_back_bit_for_bit() {
    let source = tempfile::tempdir().unwrap();
    let (before, truth) = three_snapshots(source.path(), 2);
    let copy: Arc<dyn Storage> = Arc::new(before.snapshot());
    let wanted = all_bytes(&copy);
    for seed in 0..40 {
        let storage: Arc<dyn Storage> = Arc::new(before.snapshot());
        damage(&storage, &mut Dice::new(1_000 + seed));
        let bytes = all_bytes(&storage);
        let planned = repaired(&storage, Some(&copy), false).unwrap();
        assert!(all_bytes(&storage) == bytes, "seed {seed}");
        let done = repaired(&storage, Some(&copy), true).unwrap();
        assert_eq!(planned.fetched, done.fetched, "seed {seed}");
        assert!(restorable(&storage) == truth, "seed {seed}");
        assert!(done.mended.is_empty() && !checked(&open(&storage).unwrap()).unwrap().is_damaged(), "seed {seed}");
        let mut is = all_bytes(&storage);
        is.retain(|name, _| name.folder() != Folder::Aside && name.folder() != Folder::Leases);
        for (name, bytes) in &wanted {
            if !matches!(name.folder(), Folder::Index | Folder::Leases) {
                assert!(is.get(name) == Some(bytes), "seed {seed}: {name}");
            }
        }
        assert!(all_bytes(&copy) == wanted, "the copy is only read");
    }
}

#[test]
fn what_the_other_copy_has_damaged_too_is_not_taken() {
    let source = tempfile::tempdir().unwrap();
    let (before, truth) = three_snapshots(source.path(), 3);
    let (storage, copy): (Arc<dyn Storage>, Arc<dyn Storage>) =
        (Arc::new(before.snapshot()), Arc::new(before.snapshot()));
    for storage in [&storage, &copy] {
        let pack = names(storage).into_iter().find(|meta| meta.name.folder() == Folder::Packs).unwrap().name;
        let mut bytes = storage.get(&pack).unwrap().to_vec();
        bytes[200] ^= 4;
        replace(storage, &pack, bytes);
    }
    let had = restorable(&storage);
    let done = repaired(&storage, Some(&copy), true).unwrap();
    assert_eq!((done.fetched.len(), done.unfetched.len()), (0, 1));
    assert!(is_within(&had, &restorable(&storage)) && is_within(&restorable(&storage), &truth));
    // A copy of another repository is none.
    let other: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    run_init(Arc::clone(&other)).unwrap();
    assert!(open(&storage).unwrap().at(other).is_err());
}

#[test]
fn a_repair_cut_anywhere_has_lost_nothing_and_is_finished_by_the_next() {
    let source = tempfile::tempdir().unwrap();
    let (before, truth) = three_snapshots(source.path(), 4);
    let copy: Arc<dyn Storage> = Arc::new(before.snapshot());
    let storage: Arc<dyn Storage> = Arc::new(before.clone());
    // A data pack and a tree pack, and an index object.
    let all = names(&storage);
    let mut packs = all.iter().filter(|meta| meta.name.folder() == Folder::Packs);
    let index = all.iter().find(|meta| meta.name.folder() == Folder::Index).unwrap();
    for meta in [packs.next().unwrap(), packs.next().unwrap(), index] {
        let mut bytes = storage.get(&meta.name).unwrap().to_vec();
        bytes[140] ^= 1;
        replace(&storage, &meta.name, bytes);
    }
    let had = restorable(&storage);
    let finish = |storage: &Arc<dyn Storage>, from: Option<&Arc<dyn Storage>>| {
        assert!(is_within(&restorable(storage), &truth));
        // The lease of the run that was cut is that of a process that lives: this one.
        end_leases(storage);
        repaired(storage, from, true).unwrap();
        assert!(is_within(&had, &restorable(storage)), "less than before");
        assert!(!checked(&open(storage).unwrap()).unwrap().is_damaged());
    };
    let alone = |storage: Arc<dyn Storage>| repaired(&storage, None, true);
    cut_everywhere(&before, alone, |storage, _| finish(storage, None));
    let healed = |storage: Arc<dyn Storage>| repaired(&storage, Some(&copy), true);
    cut_everywhere(&before, healed, |storage, _| {
        finish(storage, Some(&copy));
        assert!(restorable(storage) == truth);
    });
}

fn end_leases(storage: &Arc<dyn Storage>) {
    for meta in names(storage).into_iter().filter(|meta| meta.name.folder() == Folder::Leases) {
        storage.delete(&meta.name).unwrap();
    }
}

#[test]
fn a_full_storage_stops_a_repair_and_nothing_is_lost() {
    let source = tempfile::tempdir().unwrap();
    let (before, truth) = three_snapshots(source.path(), 5);
    let good = before.snapshot();
    let storage: Arc<dyn Storage> = Arc::new(before.clone());
    let pack = names(&storage).into_iter().find(|meta| meta.name.folder() == Folder::Packs).unwrap().name;
    let mut bytes = storage.get(&pack).unwrap().to_vec();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    replace(&storage, &pack, bytes);
    let copy: Arc<dyn Storage> = Arc::new(good);
    for space in [0, 1_000, 10_000, 50_000, 100_000, 200_000] {
        for from in [None, Some(&copy)] {
            let faulty = FaultStorage::new(before.snapshot());
            faulty.limit_space(Some(space));
            let storage: Arc<dyn Storage> = Arc::new(faulty);
            let _ = repaired(&storage, from, true);
            assert!(restorable(&storage) == truth, "{space} bytes");
        }
    }
    for verb in [Verb::Get, Verb::GetRange, Verb::Put, Verb::List, Verb::Head, Verb::Delete] {
        for nth in 1..40 {
            let faulty = FaultStorage::new(before.snapshot());
            faulty.fail(verb, nth, StorageFault::Transient);
            let storage: Arc<dyn Storage> = Arc::new(faulty.clone());
            let _ = repaired(&storage, None, true);
            faulty.clear_faults();
            assert!(restorable(&storage) == truth, "{verb:?} {nth}");
        }
    }
}

/// A repository of one small snapshot, opened by a key, because a password hash for every byte takes too long.
fn tiny(source: &Path) -> (MemoryStorage, Secret, Contents) {
    let memory = MemoryStorage::new();
    let mut bytes = [0; 32];
    SystemEntropy.fill(&mut bytes).unwrap();
    let text = RecoveryKey::new(bytes.into()).to_text();
    let secret = Secret::new(text.to_string().into());
    let slot = SlotSecret { secret: secret.clone(), kdf: Kdf::Key, label: "key".into() };
    let options = InitOptions { slot, recovery: false, ..init_options() };
    init(Arc::new(memory.clone()), Environment::system(), &options).unwrap();
    let mut contents = Contents::new();
    for (name, length) in [("folder/one", 3_000), ("two", 100), ("three", 600)] {
        contents.insert(source.join(name), noise(9, length));
    }
    for (name, bytes) in &contents {
        std::fs::create_dir_all(name.parent().unwrap()).unwrap();
        std::fs::write(name, bytes).unwrap();
    }
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let repository = Arc::new(Repository::open(storage, Environment::system(), &secret).unwrap());
    let roots = vec![Root::new(source, Path::new("/")).unwrap()];
    let source = Source::Paths { roots, selection: Selection::new() };
    let engine = SoftwareEngine::new(1, 2).unwrap();
    let watch = Watch { meter: Arc::new(Meter::new()), cancel: Cancel::new(), failed: &|_| {} };
    backup(&repository, &engine, request(source, ParentChoice::None, RARELY), &watch).unwrap();
    (memory, secret, contents)
}

#[test]
fn every_byte_of_a_repository_flipped_is_found_by_name_and_never_becomes_a_wrong_result() {
    let source = tempfile::tempdir().unwrap();
    let (memory, secret, contents) = tiny(source.path());
    let storage: Arc<dyn Storage> = Arc::new(memory);
    let open = || Repository::open(Arc::clone(&storage), Environment::system(), &secret).map(Arc::new);
    // A second snapshot that is forgotten and marked, while a writer is at work; and one of a lease that was settled.
    let repository = open().unwrap();
    let list = SnapshotList::load(&repository).unwrap();
    let mut other = list.snapshots[0].snapshot.clone();
    other.lease = [8; 16];
    repository.put_snapshot(&other).unwrap();
    repository.settle(&[8; 16]).unwrap();
    let mut third = list.snapshots[0].snapshot.clone();
    third.lamport += 1;
    let third = repository.put_snapshot(&third).unwrap();
    repository.forget(&third.name).unwrap();
    let writer = nightjar::repo::HeldLease::take(&repository, "backup").unwrap();
    prune_with(&repository, Duration::from_hours(24)).unwrap();
    let classes: BTreeSet<Folder> = names(&storage).iter().map(|meta| meta.name.folder()).collect();
    assert_eq!(classes.len(), 9, "all but the reserve and what is set aside: {classes:?}");
    let (mut flips, mut restored) = (0_u32, 0_u32);
    for meta in names(&storage) {
        let good = storage.get(&meta.name).unwrap().to_vec();
        if meta.name.base().ends_with("-void") {
            // Of which only the name counts.
            continue;
        }
        for at in 0..good.len() {
            flips += 1;
            let mut bytes = good.clone();
            bytes[at] ^= 1 << (at % 8);
            replace(&storage, &meta.name, bytes);
            assert_eq!(scrubbed(&storage), [meta.name.path()], "byte {at} of {}", meta.name);
            let Ok(repository) = open() else { continue };
            let report = checked(&repository).unwrap();
            // Who is at work is no content of a repository; a prune waits for whom it cannot read.
            if meta.name.folder() == Folder::Census || meta.name == ObjectName::lease(&writer.id(), 0) {
                assert!(!report.is_damaged());
                continue;
            }
            let names = report.damage.iter().map(|damage| damage.object.clone()).collect::<BTreeSet<_>>();
            assert!(names.contains(&meta.name.path()), "byte {at} of {}: {:?}", meta.name, report.damage);
            let Ok(index) = Index::load(&repository).map(Arc::new) else { continue };
            let mut reader = ChunkReader::new(&repository, &index);
            for named in SnapshotList::load(&repository).unwrap().snapshots {
                if let Ok(read) = read_tree(&mut reader, named.snapshot.root) {
                    assert!(read == contents, "byte {at} of {}", meta.name);
                    restored += 1;
                }
            }
        }
        replace(&storage, &meta.name, good);
    }
    assert!(!checked(&open().unwrap()).unwrap().is_damaged());
    writer.end().unwrap();
    assert!(flips > 9_000 && restored > 3_000, "{flips} flips, {restored} restored all the same");
}

#[test]
fn what_only_looks_puts_nothing_and_works_where_nothing_can_be_put() {
    let source = tempfile::tempdir().unwrap();
    let (before, truth) = three_snapshots(source.path(), 7);
    damage(&(Arc::new(before.clone()) as Arc<dyn Storage>), &mut Dice::new(3));
    let faulty = FaultStorage::new(before);
    let storage: Arc<dyn Storage> = Arc::new(faulty.clone());
    faulty.limit_space(Some(0));
    for nth in 1..20 {
        faulty.fail(Verb::Delete, nth, StorageFault::Denied);
    }
    scrubbed(&storage);
    checked(&open(&storage).unwrap()).unwrap();
    repaired(&storage, None, false).unwrap();
    assert!(is_within(&restorable(&storage), &truth));
    assert_eq!(faulty.changes(), 0);
    assert!(repaired(&storage, None, true).is_err());
}

#[test]
fn a_damaged_record_of_who_is_at_work_stops_nobody_for_ever() {
    let source = tempfile::tempdir().unwrap();
    let (before, truth) = three_snapshots(source.path(), 8);
    let storage: Arc<dyn Storage> = Arc::new(before);
    let repository = open(&storage).unwrap();
    let list = SnapshotList::load(&repository).unwrap();
    let lease = list.snapshots[1].snapshot.lease;
    repository.settle(&lease).unwrap();
    let name = ObjectName::lease_honoured(&lease);
    let mut bytes = storage.get(&name).unwrap().to_vec();
    bytes[25] ^= 1;
    replace(&storage, &name, bytes);
    // What it said is lost: the snapshot does not count, and that is said.
    let list = SnapshotList::load(&repository).unwrap();
    assert_eq!((list.snapshots.len(), list.damaged.len()), (2, 1));
    assert!(checked(&repository).unwrap().is_damaged());
    repaired(&storage, None, true).unwrap();
    assert!(!checked(&repository).unwrap().is_damaged());
    assert!(restorable(&storage) == truth);
    // A writer whose lease cannot be read is waited for, and then taken for lost like any other.
    let id = [9; 16];
    storage.put(&ObjectName::lease(&id, 3), &[vec![0xff; 50].into()], PutMode::Keep).unwrap();
    let refused = prune_with(&repository, Duration::ZERO);
    assert!(matches!(refused, Err(PruneError::Company(_))), "{refused:?}");
    prune_with(&repository, Duration::from_hours(1)).unwrap();
    assert!(restorable(&storage) == truth);
}

#[test]
fn writers_and_prunes_at_work_are_no_damage() {
    let source = tempfile::tempdir().unwrap();
    let (before, _) = three_snapshots(source.path(), 6);
    let storage: Arc<dyn Storage> = Arc::new(before.clone());
    let repository = open(&storage).unwrap();
    let list = SnapshotList::load(&repository).unwrap();
    repository.forget(&list.snapshots[0].name).unwrap();
    // At each of its reads the checker meets a repository that has just been pruned, or backed up into.
    for nth in 1..60 {
        let memory = before.snapshot();
        let plain: Arc<dyn Storage> = Arc::new(memory.clone());
        let folder = source.path().to_path_buf();
        let act = move || {
            let repository = open(&plain).unwrap();
            prune_with(&repository, Duration::ZERO).unwrap();
            std::fs::write(folder.join("again"), noise(77 + nth, 9_000)).unwrap();
            run_backup(&plain, &folder, RARELY).unwrap();
        };
        let hooked: Arc<dyn Storage> = Arc::new(super::hook::HookStorage::new(memory, nth, true, act));
        let report = check(&open(&hooked).unwrap(), None, &mut Verified::default(), &watch()).unwrap();
        assert!(!report.is_damaged(), "call {nth}: {:?} {:?}", report.damage, report.lost);
    }
}
