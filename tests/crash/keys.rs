//! Key slots and settings: cut at every changing call; and changed by somebody else at any call of another.

use super::hook::HookStorage;
use super::*;
use nightjar::repo::{KeySlots, ReplacedSlots, Settings};

const OLD: &str = "password";
const NEW: &str = "another";
const QUICK: Kdf = Kdf::Argon2id { memory_kib: 8 << 10, passes: 1, lanes: 1 };

fn slot(text: &str) -> SlotSecret {
    SlotSecret { secret: Secret::new(text.to_owned().into()), kdf: QUICK, label: "password".into() }
}

fn slots(storage: &Arc<dyn Storage>, text: &str) -> Result<KeySlots, RepoError> {
    KeySlots::open(Arc::clone(storage), Environment::system(), &slot(text).secret)
}

/// Whether the password opens the repository; anything but a clear answer ends the test.
fn opens(storage: &Arc<dyn Storage>, text: &str) -> bool {
    match slots(storage, text) {
        Ok(_) => true,
        Err(RepoError::WrongSecret) => false,
        Err(error) => panic!("{error}"),
    }
}

fn change(storage: &Arc<dyn Storage>, old: &str, new: &str) -> Result<ReplacedSlots, RepoError> {
    let mut replaced = slots(storage, old)?.replace(&slot(new))?;
    match replaced.kept.pop() {
        Some((_, error)) => Err(error),
        None => Ok(replaced),
    }
}

fn remove_own(storage: &Arc<dyn Storage>, text: &str) -> Result<(), RepoError> {
    let slots = slots(storage, text)?;
    slots.remove(slots.own().base()).map(|_| ())
}

/// A repository with these passwords, the first of them that of `init`, and without a recovery key.
fn repository(more: &[&str]) -> (MemoryStorage, Arc<dyn Storage>) {
    let memory = MemoryStorage::new();
    let options = InitOptions { recovery: false, ..init_options() };
    init(Arc::new(memory.clone()), Environment::system(), &options).unwrap();
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    for text in more {
        slots(&storage, OLD).unwrap().add(&slot(text)).unwrap();
    }
    (memory, storage)
}

#[test]
fn a_password_added_with_a_cut_anywhere_leaves_the_old_one_and_can_be_added_again() {
    let (before, _) = repository(&[]);
    let add = |storage: &Arc<dyn Storage>| slots(storage, OLD)?.add(&slot(NEW));
    cut_everywhere_of(
        1,
        &before,
        |storage| add(&storage),
        |storage, acknowledged| {
            assert!(opens(storage, OLD));
            assert!(!acknowledged || opens(storage, NEW));
            match add(storage) {
                Ok(_) | Err(RepoError::SlotExists(_)) => {}
                Err(error) => panic!("{error}"),
            }
            assert!(opens(storage, OLD) && opens(storage, NEW));
            assert_eq!(count(storage, Folder::Keys), 2);
        },
    );
}

#[test]
fn a_slot_removed_with_a_cut_anywhere_is_there_or_not_and_the_others_stay() {
    let (before, _) = repository(&[NEW]);
    cut_everywhere_of(
        1,
        &before,
        |storage| remove_own(&storage, NEW),
        |storage, acknowledged| {
            assert!(opens(storage, OLD));
            assert!(!acknowledged || !opens(storage, NEW));
            match remove_own(storage, NEW) {
                Ok(()) | Err(RepoError::WrongSecret) => {}
                Err(error) => panic!("{error}"),
            }
            assert!(opens(storage, OLD) && !opens(storage, NEW));
            assert!(matches!(remove_own(storage, OLD), Err(RepoError::LastSlot)));
            assert!(opens(storage, OLD));
        },
    );
}

#[test]
fn a_password_changed_with_a_cut_anywhere_leaves_the_old_or_the_new_one_and_goes_on_when_run_again() {
    let (before, _) = repository(&["third"]);
    cut_everywhere_of(
        2,
        &before,
        |storage| change(&storage, OLD, NEW),
        |storage, acknowledged| {
            assert!(opens(storage, "third"));
            assert!(opens(storage, OLD) || opens(storage, NEW));
            assert!(!acknowledged || !opens(storage, OLD));
            if opens(storage, OLD) {
                change(storage, OLD, NEW).unwrap();
            }
            assert!(opens(storage, NEW) && !opens(storage, OLD));
            assert_eq!(count(storage, Folder::Keys), 2, "what was cut left no slot behind");
        },
    );
}

#[test]
fn a_new_slot_that_cannot_be_read_back_is_not_counted_on() {
    let (before, _) = repository(&[]);
    let mut taken_back = 0;
    for nth in 1..=12 {
        for fault in [StorageFault::Transient, StorageFault::NotFound] {
            let storage = FaultStorage::new(before.snapshot());
            storage.fail(Verb::Get, nth, fault);
            let shared: Arc<dyn Storage> = Arc::new(storage.clone());
            let changed = change(&shared, OLD, NEW);
            storage.clear_faults();
            let was_put = storage.calls().iter().any(|call| call.verb == Verb::Put);
            taken_back += u32::from(changed.is_err() && was_put);
            assert!(opens(&shared, if changed.is_ok() { NEW } else { OLD }), "{nth} {fault:?}");
            assert_eq!(count(&shared, Folder::Keys), 1, "{nth} {fault:?}: {changed:?}");
        }
    }
    assert!(taken_back > 0);
}

#[test]
fn every_slot_of_the_old_password_goes_with_it() {
    let (memory, _) = repository(&[]);
    let storage = FaultStorage::new(memory);
    let shared: Arc<dyn Storage> = Arc::new(storage.clone());
    // The same password again, and the old slot cannot be deleted: two slots of one password.
    storage.fail(Verb::Delete, 1, StorageFault::Denied);
    let kept = slots(&shared, OLD).unwrap().replace(&slot(OLD)).unwrap().kept;
    assert_eq!(kept.len(), 1);
    assert_eq!(count(&shared, Folder::Keys), 2);
    assert_eq!(change(&shared, OLD, NEW).unwrap().removed.len(), 2);
    assert!(opens(&shared, NEW) && !opens(&shared, OLD));
    assert_eq!(count(&shared, Folder::Keys), 1);
}

#[test]
fn a_full_storage_leaves_the_old_password() {
    let (memory, _) = repository(&[]);
    let storage = FaultStorage::new(memory);
    storage.limit_space(Some(100));
    let shared: Arc<dyn Storage> = Arc::new(storage.clone());
    assert!(
        matches!(change(&shared, OLD, NEW), Err(RepoError::Storage(error)) if error.fault == StorageFault::NoSpace)
    );
    assert!(opens(&shared, OLD) && !opens(&shared, NEW));
}

/// Runs `operation` on copies of `before`, with `meanwhile` at each of its calls, and lets `check` look at what came of both.
fn everywhere_meanwhile<A, B>(
    before: &MemoryStorage,
    operation: impl Fn(&Arc<dyn Storage>) -> A,
    meanwhile: impl Fn(&Arc<dyn Storage>) -> B + Clone + Send + Sync + 'static,
    check: impl Fn(&Arc<dyn Storage>, A, B),
) where
    B: Send + 'static,
{
    for nth in 1.. {
        let mut reached = true;
        for after in [false, true] {
            let memory = before.snapshot();
            let plain: Arc<dyn Storage> = Arc::new(memory.clone());
            let outcome = Arc::new(std::sync::Mutex::new(None));
            let (store, place, meanwhile) = (Arc::clone(&plain), Arc::clone(&outcome), meanwhile.clone());
            let hook = move || *place.lock().unwrap() = Some(meanwhile(&store));
            let hooked = Arc::new(HookStorage::new(memory, nth, after, hook));
            let shared: Arc<dyn Storage> = Arc::clone(&hooked) as Arc<dyn Storage>;
            let own = operation(&shared);
            let other = outcome.lock().unwrap().take();
            match other {
                Some(other) => check(&plain, own, other),
                None => reached = false,
            }
        }
        if !reached {
            assert!(nth > 8, "the operation has calls");
            return;
        }
    }
}

#[test]
fn two_who_remove_slots_at_once_never_remove_the_last() {
    let (before, _) = repository(&[NEW]);
    everywhere_meanwhile(
        &before,
        |storage| remove_own(storage, NEW),
        |storage| remove_own(storage, OLD),
        |storage, own, other| {
            assert!(opens(storage, OLD) || opens(storage, NEW), "{own:?} {other:?}");
            assert!(own.is_ok() || other.is_ok(), "{own:?} {other:?}");
            assert!(own.is_err() || !opens(storage, NEW));
            assert!(other.is_err() || !opens(storage, OLD));
        },
    );
}

#[test]
fn whoever_opens_the_repository_while_it_is_changed_finds_it_whole() {
    let (before, _) = repository(&["third"]);
    for text in ["third", OLD, NEW] {
        everywhere_meanwhile(
            &before,
            move |storage| slots(storage, text).map(|_| ()),
            |storage| change(storage, OLD, NEW).unwrap(),
            |_, opened, _| match opened {
                Ok(()) => {}
                Err(RepoError::WrongSecret) if text != "third" => {}
                Err(error) => panic!("{text}: {error}"),
            },
        );
    }
    everywhere_meanwhile(
        &before,
        |storage| open(storage).map(|repository| repository.config().generation),
        |storage| open(storage).unwrap().set(&Settings { block: Some(1 << 20), ..Settings::default() }).unwrap(),
        |_, opened, _| assert!(opened.unwrap() <= 1),
    );
}

fn set_block(storage: &Arc<dyn Storage>) -> Result<(), RepoError> {
    let settings = Settings { block: Some(1 << 20), data_pack: Some(2 << 20), ..Settings::default() };
    let mut changed = open(storage)?.set(&settings)?;
    changed.left.pop().map_or(Ok(()), Err)
}

fn set_compression(storage: &Arc<dyn Storage>) -> Result<(), RepoError> {
    let settings = Settings { compression: Some("zstd:9".into()), ..Settings::default() };
    let mut changed = open(storage)?.set(&settings)?;
    changed.left.pop().map_or(Ok(()), Err)
}

#[test]
fn settings_changed_with_a_cut_anywhere_are_the_old_or_the_new_ones() {
    let source = tempfile::tempdir().unwrap();
    let contents = make_source(source.path(), 1, 100_000);
    let (before, storage) = repository(&[]);
    run_backup(&storage, source.path(), RARELY).unwrap();
    cut_everywhere_of(
        2,
        &before,
        |storage| set_block(&storage),
        |storage, acknowledged| {
            let config = open(storage).unwrap().config().clone();
            match config.generation {
                0 => assert!(config.block == 64 << 10 && config.data_pack == 1 << 20 && !acknowledged),
                1 => assert!(config.block == 1 << 20 && config.data_pack == 2 << 20),
                other => panic!("generation {other}"),
            }
            assert_eq!(read_all(storage).unwrap(), std::slice::from_ref(&contents));
            // Whatever was left over goes with the next change.
            set_block(storage).unwrap();
            set_compression(storage).unwrap();
            assert_eq!(count(storage, Folder::Config), 1);
            let config = open(storage).unwrap().config().clone();
            assert!(config.block == 1 << 20 && config.data_pack == 2 << 20 && config.compression == "zstd:9");
        },
    );
}

#[test]
fn of_two_changes_of_settings_at_once_what_was_acknowledged_is_in_force() {
    let (before, _) = repository(&[]);
    let conflicts = std::cell::Cell::new(0);
    everywhere_meanwhile(&before, set_block, set_compression, |storage, own, other| {
        let config = open(storage).unwrap().config().clone();
        for (outcome, holds) in [(&own, config.block == 1 << 20), (&other, config.compression == "zstd:9")] {
            match outcome {
                Ok(()) => assert!(holds, "{own:?} {other:?} {config:?}"),
                Err(RepoError::Conflict) => conflicts.set(conflicts.get() + 1),
                Err(error) => panic!("{error}"),
            }
        }
        assert!(own.is_ok() || other.is_ok());
        assert_eq!(count(storage, Folder::Config), 1);
    });
    assert!(conflicts.get() > 0);
}

#[test]
fn a_change_that_another_has_overwritten_is_not_acknowledged() {
    let (before, _) = repository(&[]);
    let set_other_block = |storage: &Arc<dyn Storage>| {
        open(storage)?.set(&Settings { block: Some(512 << 10), ..Settings::default() }).map(|_| ())
    };
    let conflicts = std::cell::Cell::new(0);
    everywhere_meanwhile(&before, set_block, set_other_block, |storage, own, _| match own {
        // Or the other came when it was in force already, and was made out of it.
        Ok(()) => {
            let config = open(storage).unwrap().config().clone();
            assert!(config.block == 1 << 20 || config.generation == 2, "{config:?}");
            assert_eq!(config.data_pack, 2 << 20);
        }
        Err(RepoError::Conflict) => conflicts.set(conflicts.get() + 1),
        Err(error) => panic!("{error}"),
    });
    assert!(conflicts.get() > 0);
}

#[test]
fn the_last_slot_is_not_even_touched() {
    let (memory, _) = repository(&[]);
    let storage = FaultStorage::new(memory);
    let shared: Arc<dyn Storage> = Arc::new(storage.clone());
    assert!(matches!(remove_own(&shared, OLD), Err(RepoError::LastSlot)));
    assert_eq!(storage.changes(), 0);
}

#[test]
fn settings_outside_their_limits_change_nothing() {
    let (_, storage) = repository(&[]);
    let repository = open(&storage).unwrap();
    for settings in [
        Settings { block: Some(8 << 10), ..Settings::default() },
        Settings { block: Some(8 << 20), ..Settings::default() },
        Settings { data_pack: Some(1), ..Settings::default() },
        Settings { tree_pack: Some(256 << 20), ..Settings::default() },
    ] {
        assert!(matches!(repository.set(&settings), Err(RepoError::Option(_))), "{settings:?}");
    }
    let same = repository.set(&Settings { block: Some(64 << 10), ..Settings::default() }).unwrap();
    assert_eq!(same.before, same.after);
    assert_eq!(open(&storage).unwrap().config().generation, 0);
}
