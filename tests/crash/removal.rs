//! Forgetting, bringing back, marking and sweeping: cut at every changing call; and with a backup or an undo that stands
//! still at any of its calls, while marks are put and swept, and then goes on.

use super::hook::HookStorage;
use super::*;
use std::slice;

/// The clock when marks are put, and when they are swept, in nanoseconds.
const EARLY: i64 = 1_800_000_000_000_000_000;
const LATE: i64 = EARLY + 25 * 3_600_000_000_000;

/// A repository with two snapshots that have half of their contents in common, and what they hold.
fn two_snapshots(source: &Path) -> (MemoryStorage, Contents, Contents) {
    let before = MemoryStorage::new();
    run_init(Arc::new(before.clone())).unwrap();
    let storage: Arc<dyn Storage> = Arc::new(before.clone());
    let first = make_source(source, 1, 300_000);
    run_backup(&storage, source, RARELY).unwrap();
    let mut second = first.clone();
    for n in 0..4_u64 {
        let name = source.join(format!("folder{}/file{n}", n % 2));
        let bytes = noise(900 + n, 60_000);
        std::fs::write(&name, &bytes).unwrap();
        second.insert(name, bytes);
    }
    run_backup(&storage, source, RARELY).unwrap();
    (before, first, second)
}

fn forget_second(storage: &Arc<dyn Storage>) -> Result<(), RepoError> {
    let repository = open(storage)?;
    let list = SnapshotList::load(&repository)?;
    repository.forget(&list.snapshots[1].name)
}

fn bring_back(storage: &Arc<dyn Storage>) -> Result<(), RepoError> {
    let repository = open(storage)?;
    let forgotten = repository.forgotten()?;
    let name = forgotten.snapshots.first().ok_or(RepoError::NoSnapshot(String::new()))?.name;
    repository.bring_back(&nightjar::base::hex::encode(&name)).map(|_| ())
}

#[test]
fn forgetting_and_bringing_back_cut_anywhere_lose_nothing() {
    let source = tempfile::tempdir().unwrap();
    let (before, first, second) = two_snapshots(source.path());
    cut_everywhere_of(
        2,
        &before,
        |storage| forget_second(&storage),
        |storage, acknowledged| {
            let visible = read_all(storage).unwrap();
            assert_eq!(visible[0], first);
            assert_eq!(visible.len(), if acknowledged { 1 } else { visible.len() });
            // It is here, or there, or in both places.
            if visible.len() == 1 {
                bring_back(storage).unwrap();
                assert_eq!(read_all(storage).unwrap(), [first.clone(), second.clone()]);
            }
        },
    );
    forget_second(&(Arc::new(before.clone()) as Arc<dyn Storage>)).unwrap();
    cut_everywhere(
        &before,
        |storage| bring_back(&storage),
        |storage, acknowledged| {
            let visible = read_all(storage).unwrap();
            assert!(!acknowledged || visible.last() == Some(&second));
            let _ = bring_back(storage);
            assert_eq!(read_all(storage).unwrap().last(), Some(&second));
        },
    );
}

/// Prunes without a grace.
fn prune_now(storage: &Arc<dyn Storage>) -> Result<PruneReport, PruneError> {
    let repository = open(storage)?;
    prune_with(&repository, Duration::ZERO)
}

#[test]
fn a_storage_with_no_byte_free_is_forgotten_from_and_pruned_out_of_the_reserve() {
    let source = tempfile::tempdir().unwrap();
    let (before, first, _) = two_snapshots(source.path());
    let storage: Arc<dyn Storage> = Arc::new(before.clone());
    let settings = nightjar::repo::Settings { reserve: Some(400_000), ..nightjar::repo::Settings::default() };
    open(&storage).unwrap().set(&settings).unwrap();
    open(&storage).unwrap().renew_reserve().unwrap();
    let (packs, reserve) = (count(&storage, Folder::Packs), count(&storage, Folder::Reserve));
    assert!(reserve > 0);
    for space in [0, 1, 100, 1_000, 4_000, 20_000] {
        let full = FaultStorage::new(before.snapshot());
        full.limit_space(Some(space));
        let storage: Arc<dyn Storage> = Arc::new(full.clone());
        forget_second(&storage).unwrap();
        let report = prune_now(&storage).unwrap();
        assert!(report.swept_packs > 0 && report.swept_snapshots == 1, "{space}: {report:?}");
        assert!(count(&storage, Folder::Packs) < packs + 1);
        assert_eq!(read_all(&storage).unwrap()[0], first);
        // There is room again, so it is kept back again.
        assert!(count(&storage, Folder::Reserve) > 0, "{space}");
        assert_eq!((count(&storage, Folder::Marks), count(&storage, Folder::Leases)), (1, 0), "{space}");
    }
    // Without a reserve it is said, and nothing is lost.
    let bare = before.snapshot();
    let storage: Arc<dyn Storage> = Arc::new(bare.clone());
    open(&storage).unwrap().release_reserve().unwrap();
    let full = FaultStorage::new(bare);
    full.limit_space(Some(0));
    let storage: Arc<dyn Storage> = Arc::new(full);
    assert!(matches!(forget_second(&storage), Err(error) if error.is_full()));
    assert!(matches!(prune_now(&storage), Err(PruneError::Repo(error)) if error.is_full()));
    assert_eq!(read_all(&storage).unwrap().len(), 2);
}

#[test]
fn a_restore_that_a_prune_overtakes_at_any_of_its_reads_restores_everything() {
    let source = tempfile::tempdir().unwrap();
    let (before, _, second) = two_snapshots(source.path());
    let storage: Arc<dyn Storage> = Arc::new(before.clone());
    let list = SnapshotList::load(&open(&storage).unwrap()).unwrap();
    open(&storage).unwrap().forget(&list.snapshots[0].name).unwrap();
    let mut moved = 0;
    for nth in 1.. {
        let memory = before.snapshot();
        let plain: Arc<dyn Storage> = Arc::new(memory.clone());
        let act = move || {
            prune_now(&plain).unwrap();
        };
        let hooked = Arc::new(HookStorage::new(memory.clone(), nth, true, act));
        let storage: Arc<dyn Storage> = Arc::clone(&hooked) as Arc<dyn Storage>;
        let repository = open(&storage).unwrap();
        let list = SnapshotList::load(&repository).unwrap();
        let index = Arc::new(Index::load(&repository).unwrap());
        let mut reader = ChunkReader::new(&repository, &index);
        let selected = select(&mut reader, &list.snapshots.last().unwrap().snapshot, b"").unwrap();
        let target = tempfile::tempdir().unwrap();
        let request = RestoreRequest { selected, target: target.path().join("back"), readers: 2 };
        let watch = nightjar::restore::Watch { meter: Arc::new(Meter::new()), cancel: Cancel::new(), failed: &|_| {} };
        let engine = SoftwareEngine::new(1, 2).unwrap();
        let report = restore(&repository, &index, &engine, &request, &watch).unwrap();
        assert!(report.failed.is_empty() && report.damaged.is_empty(), "call {nth}: {report:?}");
        for (path, bytes) in &second {
            let back = target.path().join("back").join(path.strip_prefix("/").unwrap());
            assert!(std::fs::read(back).unwrap() == *bytes, "call {nth}: {}", path.display());
        }
        let left = open(&(Arc::new(memory) as Arc<dyn Storage>)).map(|now| Index::load(&now).unwrap()).unwrap();
        moved += usize::from(index.packs().any(|(name, _)| !left.packs().any(|(other, _)| other == name)));
        if hooked.calls() < nth {
            break;
        }
    }
    assert!(moved > 2, "the prune was felt {moved} times");
}

#[test]
fn a_prune_that_runs_out_of_space_anywhere_has_lost_nothing_and_is_finished_later() {
    let source = tempfile::tempdir().unwrap();
    let (before, first, second) = two_snapshots(source.path());
    let storage: Arc<dyn Storage> = Arc::new(before.clone());
    let list = SnapshotList::load(&open(&storage).unwrap()).unwrap();
    open(&storage).unwrap().forget(&list.snapshots[0].name).unwrap();
    for space in (0..40).map(|n| n * 8_000) {
        let full = FaultStorage::new(before.snapshot());
        full.limit_space(Some(space));
        let storage: Arc<dyn Storage> = Arc::new(full.clone());
        let _ = prune_now(&storage);
        assert_eq!(read_all(&storage).unwrap(), slice::from_ref(&second), "{space}");
        full.limit_space(None);
        prune_now(&storage).unwrap();
        assert_eq!(read_all(&storage).unwrap(), slice::from_ref(&second), "{space}");
    }
    for verb in [Verb::Get, Verb::GetRange, Verb::Put, Verb::List, Verb::Head, Verb::Delete] {
        for nth in 1..60 {
            for lost in [false, true] {
                let faulty = FaultStorage::new(before.snapshot());
                if lost {
                    faulty.lose_acknowledgement(verb, nth, StorageFault::Transient);
                } else {
                    faulty.fail(verb, nth, StorageFault::Transient);
                }
                let storage: Arc<dyn Storage> = Arc::new(faulty.clone());
                let _ = prune_now(&storage);
                faulty.clear_faults();
                assert_eq!(read_all(&storage).unwrap(), slice::from_ref(&second), "{verb:?} {nth} {lost}");
            }
        }
    }
    drop(first);
}

#[test]
fn a_mark_cut_anywhere_hurts_nothing_and_is_put_again() {
    let source = tempfile::tempdir().unwrap();
    let (before, first, _) = two_snapshots(source.path());
    forget_second(&(Arc::new(before.clone()) as Arc<dyn Storage>)).unwrap();
    cut_everywhere(
        &before,
        |storage| prune_at(&storage, EARLY),
        |storage, _| {
            assert_eq!(read_all(storage).unwrap(), slice::from_ref(&first));
            prune_at(storage, EARLY).unwrap();
            // The lease of the run that was cut stands until the sweep takes it for lost.
            sweep_all(storage);
            assert_eq!(read_all(storage).unwrap(), slice::from_ref(&first));
            assert_eq!(count(storage, Folder::Forgotten), 0);
        },
    );
}

#[test]
fn a_sweep_cut_anywhere_hurts_nothing_and_is_finished_by_the_next() {
    let source = tempfile::tempdir().unwrap();
    let (before, first, _) = two_snapshots(source.path());
    let storage: Arc<dyn Storage> = Arc::new(before.clone());
    let packs = count(&storage, Folder::Packs);
    forget_second(&storage).unwrap();
    prune_at(&storage, EARLY).unwrap();
    cut_everywhere(
        &before,
        |storage| prune_at(&storage, LATE),
        |storage, _| {
            assert_eq!(read_all(storage).unwrap(), slice::from_ref(&first));
            sweep_all(storage);
            assert_eq!(read_all(storage).unwrap(), slice::from_ref(&first));
            assert_eq!((count(storage, Folder::Forgotten), count(storage, Folder::Census)), (0, 0));
            assert!(count(storage, Folder::Packs) < packs + 2);
            // What the repository holds can be built upon.
            run_backup(storage, source.path(), RARELY).unwrap();
            assert_eq!(read_all(storage).unwrap().len(), 2);
        },
    );
}

/// Prunes until nothing is left to be swept, each a day after the last.
fn sweep_all(storage: &Arc<dyn Storage>) {
    for day in 1..6 {
        prune_at(storage, LATE + day * (LATE - EARLY)).unwrap();
    }
}

#[test]
fn what_cannot_be_read_is_never_taken_for_what_is_not_needed() {
    let source = tempfile::tempdir().unwrap();
    let (before, first, _) = two_snapshots(source.path());
    let storage: Arc<dyn Storage> = Arc::new(before.clone());
    forget_second(&storage).unwrap();
    prune_at(&storage, EARLY).unwrap();
    for verb in [Verb::Get, Verb::GetRange, Verb::List, Verb::Head] {
        for nth in 1..60 {
            for fault in [StorageFault::Transient, StorageFault::Denied] {
                let storage = FaultStorage::new(before.snapshot());
                storage.fail(verb, nth, fault);
                let shared: Arc<dyn Storage> = Arc::new(storage.clone());
                let _ = prune_at(&shared, LATE);
                storage.clear_faults();
                assert_eq!(read_all(&shared).unwrap(), slice::from_ref(&first), "{verb:?} {nth}");
            }
        }
    }
    // A damaged object of any kind that says what is needed.
    for folder in [Folder::Snapshots, Folder::Index] {
        let storage = FaultStorage::new(before.snapshot());
        let mut names = Vec::new();
        let mut see = |meta: ObjectMeta| {
            names.push(meta.name);
            ControlFlow::Continue(())
        };
        storage.list(folder, &mut see).unwrap();
        storage.flip(&names[0], 200, 1);
        let shared: Arc<dyn Storage> = Arc::new(storage.clone());
        let packs = count(&shared, Folder::Packs);
        assert!(prune_at(&shared, LATE).is_err());
        assert_eq!(count(&shared, Folder::Packs), packs, "{folder:?}");
    }
}

/// Lets `actor`, which says whether it was told that all is well, stand still at each of its calls, before the call has
/// its effect and after it, while `meanwhile` happens; then `check` looks. Gives how often all was well, and how often not.
fn stands_still_everywhere(
    before: &MemoryStorage,
    actor: &dyn Fn(&Arc<dyn Storage>) -> bool,
    meanwhile: fn(&Arc<dyn Storage>),
    check: &dyn Fn(&Arc<dyn Storage>, bool),
) -> (usize, usize) {
    let whole = Arc::new(HookStorage::new(before.snapshot(), u64::MAX, false, || {}));
    assert!(actor(&(whole.clone() as Arc<dyn Storage>)), "it ends well when nothing happens meanwhile");
    let (mut well, mut turned_away) = (0, 0);
    for nth in 1..=whole.calls() {
        for after in [false, true] {
            let inner = before.snapshot();
            let world: Arc<dyn Storage> = Arc::new(inner.clone());
            let seen = Arc::clone(&world);
            let hooked = HookStorage::new(inner, nth, after, move || meanwhile(&seen));
            let acknowledged = actor(&(Arc::new(hooked) as Arc<dyn Storage>));
            well += usize::from(acknowledged);
            turned_away += usize::from(!acknowledged);
            check(&world, acknowledged);
        }
    }
    (well, turned_away)
}

/// A mark is put, its grace passes, it is swept.
fn mark_and_sweep(storage: &Arc<dyn Storage>) {
    prune_at(storage, EARLY).unwrap();
    prune_at(storage, LATE).unwrap();
}

/// The second snapshot is forgotten first.
fn forget_mark_and_sweep(storage: &Arc<dyn Storage>) {
    forget_second(storage).unwrap();
    mark_and_sweep(storage);
}

/// The mark stands already; its grace passes.
fn sweep(storage: &Arc<dyn Storage>) {
    prune_at(storage, LATE).unwrap();
}

#[test]
fn a_backup_that_stands_still_for_longer_than_the_grace_is_whole_or_does_not_count() {
    let source = tempfile::tempdir().unwrap();
    let (before, first, second) = two_snapshots(source.path());
    // What the forgotten snapshot held is still in the source, so the backup would build on what is being removed.
    let run = |storage: &Arc<dyn Storage>| match run_backup(storage, source.path(), Duration::ZERO) {
        Ok(_) => true,
        // While everything goes well with the storage, only one thing may keep a backup from counting.
        Err(ArchiveError::Repo(RepoError::LeaseLost)) => false,
        Err(error) => panic!("{error}"),
    };
    let check = |storage: &Arc<dyn Storage>, acknowledged: bool| {
        let visible = read_all(storage).unwrap();
        assert_eq!(visible[0], first);
        assert_eq!(visible.last() == Some(&second), acknowledged, "{} snapshots", visible.len());
        sweep_all(storage);
        assert_eq!(read_all(storage).unwrap(), visible);
        run_backup(storage, source.path(), RARELY).unwrap();
        assert_eq!(read_all(storage).unwrap().last(), Some(&second));
    };
    let (well, turned_away) = stands_still_everywhere(&before, &run, forget_mark_and_sweep, &check);
    assert!(well > 5 && turned_away > 5, "{well} {turned_away}");
    // The mark stands before the backup begins.
    let storage: Arc<dyn Storage> = Arc::new(before.clone());
    forget_second(&storage).unwrap();
    prune_at(&storage, EARLY).unwrap();
    let (well, turned_away) = stands_still_everywhere(&before, &run, sweep, &check);
    assert!(well > 5 && turned_away == 0, "nobody has to wait for a mark that is older: {well} {turned_away}");
}

#[test]
fn an_undo_that_stands_still_brings_a_whole_snapshot_back_or_none() {
    let source = tempfile::tempdir().unwrap();
    let (before, first, second) = two_snapshots(source.path());
    let storage: Arc<dyn Storage> = Arc::new(before.clone());
    forget_second(&storage).unwrap();
    let run = |storage: &Arc<dyn Storage>| match bring_back(storage) {
        Ok(()) => true,
        Err(RepoError::LeaseLost | RepoError::NoSnapshot(_)) => false,
        Err(error) => panic!("{error}"),
    };
    let check = |storage: &Arc<dyn Storage>, acknowledged: bool| {
        let visible = read_all(storage).unwrap();
        let expected = if acknowledged { vec![first.clone(), second.clone()] } else { vec![first.clone()] };
        assert_eq!(visible, expected);
        sweep_all(storage);
        assert_eq!(read_all(storage).unwrap(), visible);
    };
    let (well, turned_away) = stands_still_everywhere(&before, &run, mark_and_sweep, &check);
    assert!(well > 2 && turned_away > 2, "{well} {turned_away}");
    prune_at(&storage, EARLY).unwrap();
    let (well, turned_away) = stands_still_everywhere(&before, &run, sweep, &check);
    assert!(well > 2 && turned_away > 2, "{well} {turned_away}");
}

#[test]
fn a_prune_that_stands_still_while_another_and_a_backup_run_hurts_neither() {
    let source = tempfile::tempdir().unwrap();
    let (before, first, second) = two_snapshots(source.path());
    let storage: Arc<dyn Storage> = Arc::new(before.clone());
    forget_second(&storage).unwrap();
    prune_at(&storage, EARLY).unwrap();
    let path = source.path().to_owned();
    SOURCE.set(path).unwrap();
    let meanwhile = |storage: &Arc<dyn Storage>| {
        run_backup(storage, SOURCE.get().unwrap(), RARELY).unwrap();
    };
    let run = |storage: &Arc<dyn Storage>| prune_at(storage, LATE).is_ok();
    let check = |storage: &Arc<dyn Storage>, _: bool| {
        assert_eq!(read_all(storage).unwrap(), [first.clone(), second.clone()]);
        sweep_all(storage);
        assert_eq!(read_all(storage).unwrap(), [first.clone(), second.clone()]);
    };
    stands_still_everywhere(&before, &run, meanwhile, &check);
}

static SOURCE: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
