//! The contract of a storage, held by every implementation that needs no server.
#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]

use bytes::Bytes;
use nightjar::storage::{
    FaultStorage, Folder, LocalStorage, MemoryStorage, ObjectMeta, ObjectName, PutMode, Storage, StorageFault,
};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use tempfile::TempDir;

#[path = "storage/fault.rs"]
mod fault;
#[path = "storage/local.rs"]
mod local;

/// A storage under test, with the folder it lies in if there is one.
struct Place {
    storage: Box<dyn Storage>,
    scratch: Option<TempDir>,
}

fn local_place() -> Place {
    let scratch = tempfile::tempdir().unwrap();
    let storage = LocalStorage::open(scratch.path().join("repository"));
    storage.prepare().unwrap();
    Place { storage: Box::new(storage), scratch: Some(scratch) }
}

fn memory_place() -> Place {
    Place { storage: Box::new(MemoryStorage::new()), scratch: None }
}

fn fault_place() -> Place {
    Place { storage: Box::new(FaultStorage::new(MemoryStorage::new())), scratch: None }
}

/// Every rule of the contract, as a test of every storage.
macro_rules! contract {
    ($($rule:ident),+ $(,)?) => {
        mod contract {
            mod of_local {
                $(#[test] fn $rule() { crate::$rule(&crate::local_place()); })+
            }
            mod of_memory {
                $(#[test] fn $rule() { crate::$rule(&crate::memory_place()); })+
            }
            mod of_fault {
                $(#[test] fn $rule() { crate::$rule(&crate::fault_place()); })+
            }
        }
    };
}

contract!(
    what_was_put_is_read_found_and_listed,
    an_absent_object_is_not_found,
    every_folder_lists_its_own_objects_only,
    prepare_twice_harms_nothing,
    exactly_the_range_is_read_or_it_is_short,
    an_existing_object_is_kept,
    an_existing_object_of_another_length_is_damaged_and_replaced_by_keep,
    an_existing_object_makes_an_exclusive_put_fail,
    of_eight_exclusive_puts_exactly_one_wins,
    eight_keeping_puts_all_succeed,
    no_reader_ever_sees_a_part,
    many_threads_put_read_and_delete,
    a_listing_stops_when_told_and_may_use_the_storage,
    deleting_works_and_the_absence_is_success,
);

fn name(folder: Folder, bytes: &[u8]) -> ObjectName {
    ObjectName::hashed(folder, blake3::hash(bytes).as_bytes())
}

fn pack(bytes: &[u8]) -> ObjectName {
    name(Folder::Packs, bytes)
}

/// Bytes that are not the same everywhere.
fn noise(length: usize, seed: u8) -> Bytes {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().update(&[seed]).finalize_xof().fill(&mut bytes);
    bytes.into()
}

fn put(storage: &dyn Storage, name: &ObjectName, bytes: &[u8], mode: PutMode) -> Result<(), StorageFault> {
    storage.put(name, &[Bytes::copy_from_slice(bytes)], mode).map_err(|e| e.fault)
}

fn listed(storage: &dyn Storage, folder: Folder) -> BTreeMap<ObjectName, u64> {
    let mut found = BTreeMap::new();
    let mut each = |meta: ObjectMeta| {
        assert_eq!(found.insert(meta.name, meta.length), None, "listed twice");
        ControlFlow::Continue(())
    };
    storage.list(folder, &mut each).unwrap();
    found
}

#[track_caller]
fn assert_fault<T: Debug>(result: Result<T, nightjar::storage::StorageError>, fault: StorageFault) {
    assert_eq!(result.unwrap_err().fault, fault);
}

fn what_was_put_is_read_found_and_listed(place: &Place) {
    let storage = &*place.storage;
    let large = noise(5_000_000, 1);
    let parts = [large.slice(..1), Bytes::new(), large.slice(1..3_000_000), large.slice(3_000_000..)];
    storage.put(&pack(&large), &parts, PutMode::Keep).unwrap();
    storage.put(&pack(b""), &[], PutMode::Exclusive).unwrap();
    assert!(storage.get(&pack(&large)).unwrap() == large);
    assert!(storage.get(&pack(b"")).unwrap().is_empty());
    assert_eq!(storage.head(&pack(&large)).unwrap().length, 5_000_000);
    assert_eq!(storage.head(&pack(b"")).unwrap().length, 0);
    let expected = BTreeMap::from([(pack(&large), 5_000_000), (pack(b""), 0)]);
    assert_eq!(listed(storage, Folder::Packs), expected);
}

fn an_absent_object_is_not_found(place: &Place) {
    let (storage, absent) = (&*place.storage, pack(b"absent"));
    assert_fault(storage.get(&absent), StorageFault::NotFound);
    assert_fault(storage.get_range(&absent, 0..0), StorageFault::NotFound);
    assert_fault(storage.head(&absent), StorageFault::NotFound);
    for folder in Folder::ALL {
        assert_eq!(listed(storage, folder), BTreeMap::new());
    }
}

fn every_folder_lists_its_own_objects_only(place: &Place) {
    let storage = &*place.storage;
    let object = |folder| match folder {
        Folder::Leases => ObjectName::lease(&[7; 16], 3),
        _ => name(folder, folder.as_str().as_bytes()),
    };
    for (folder, length) in Folder::ALL.into_iter().zip(1..) {
        put(storage, &object(folder), &vec![0; length], PutMode::Exclusive).unwrap();
    }
    for (folder, length) in Folder::ALL.into_iter().zip(1..) {
        assert_eq!(listed(storage, folder), BTreeMap::from([(object(folder), length)]));
    }
}

fn prepare_twice_harms_nothing(place: &Place) {
    let storage = &*place.storage;
    put(storage, &pack(b"one"), b"one", PutMode::Keep).unwrap();
    storage.prepare().unwrap();
    assert_eq!(storage.get(&pack(b"one")).unwrap(), "one");
}

fn exactly_the_range_is_read_or_it_is_short(place: &Place) {
    let (storage, object) = (&*place.storage, pack(b"0123456789"));
    put(storage, &object, b"0123456789", PutMode::Keep).unwrap();
    let cases: [(Range<u64>, &str); 6] =
        [(0..10, "0123456789"), (0..1, "0"), (9..10, "9"), (3..7, "3456"), (4..4, ""), (10..10, "")];
    for (range, expected) in cases {
        assert_eq!(storage.get_range(&object, range.clone()).unwrap(), expected, "{range:?}");
    }
    for short in [0..11, 9..11, 10..11, 11..11, 50..60, 0..u64::MAX, u64::MAX..u64::MAX] {
        assert_fault(storage.get_range(&object, short), StorageFault::ShortRead);
    }
    #[expect(clippy::reversed_empty_ranges, reason = "the call must refuse it")]
    let reversed = 7..3;
    assert_fault(storage.get_range(&object, reversed), StorageFault::Other);
}

fn an_existing_object_is_kept(place: &Place) {
    let (storage, object) = (&*place.storage, pack(b"first"));
    put(storage, &object, b"first", PutMode::Exclusive).unwrap();
    put(storage, &object, b"other", PutMode::Keep).unwrap();
    assert_eq!(storage.get(&object).unwrap(), "first");
}

fn an_existing_object_of_another_length_is_damaged_and_replaced_by_keep(place: &Place) {
    let (storage, object) = (&*place.storage, pack(b"whole"));
    for damaged in ["who", "", "whole and more"] {
        storage.delete(&object).unwrap();
        put(storage, &object, damaged.as_bytes(), PutMode::Keep).unwrap();
        put(storage, &object, b"whole", PutMode::Keep).unwrap();
        assert_eq!(storage.get(&object).unwrap(), "whole", "{damaged}");
        assert_eq!(listed(storage, Folder::Packs), BTreeMap::from([(object.clone(), 5)]));
    }
}

fn an_existing_object_makes_an_exclusive_put_fail(place: &Place) {
    let (storage, object) = (&*place.storage, ObjectName::lease(&[1; 16], 0));
    put(storage, &object, b"first", PutMode::Exclusive).unwrap();
    for other in ["other", "longer than the first", ""] {
        let again = put(storage, &object, other.as_bytes(), PutMode::Exclusive);
        assert_eq!(again, Err(StorageFault::Exists));
    }
    assert_eq!(storage.get(&object).unwrap(), "first");
}

/// Lets eight threads put different bytes of one length under one name, and says what each was told.
fn race(storage: &dyn Storage, object: &ObjectName, mode: PutMode) -> Vec<Result<(), StorageFault>> {
    let start = std::sync::Barrier::new(8);
    thread::scope(|scope| {
        let racers: Vec<_> = (0..8)
            .map(|racer| {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    put(storage, object, &[racer; 1000], mode)
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).collect()
    })
}

fn of_eight_exclusive_puts_exactly_one_wins(place: &Place) {
    for round in 0..10 {
        let object = ObjectName::lease(&[2; 16], round);
        let told = race(&*place.storage, &object, PutMode::Exclusive);
        assert_eq!(told.iter().filter(|told| told.is_ok()).count(), 1, "{told:?}");
        let lost = told.iter().filter(|told| **told == Err(StorageFault::Exists));
        assert_eq!(lost.count(), 7, "{told:?}");
        let winner = told.iter().position(Result::is_ok).unwrap();
        let stored = place.storage.get(&object).unwrap();
        assert!(stored.iter().all(|byte| usize::from(*byte) == winner), "another's bytes");
    }
}

fn eight_keeping_puts_all_succeed(place: &Place) {
    let object = ObjectName::lease(&[3; 16], 0);
    let told = race(&*place.storage, &object, PutMode::Keep);
    assert!(told.iter().all(Result::is_ok), "{told:?}");
    let stored = place.storage.get(&object).unwrap();
    assert_eq!(stored.len(), 1000);
    assert!(stored.iter().all(|byte| *byte == stored[0]));
}

fn no_reader_ever_sees_a_part(place: &Place) {
    let storage = &*place.storage;
    let objects: Vec<Bytes> = (0..10).map(|seed| noise(1_000_000, seed)).collect();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for object in &objects {
                let parts: Vec<Bytes> = object.chunks(10_000).map(|part| object.slice_ref(part)).collect();
                storage.put(&pack(object), &parts, PutMode::Exclusive).unwrap();
            }
            done.store(true, Ordering::SeqCst);
        });
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                for (_, length) in listed(storage, Folder::Packs) {
                    assert_eq!(length, 1_000_000);
                }
            }
        });
        while !done.load(Ordering::SeqCst) {
            for object in &objects {
                match storage.get(&pack(object)) {
                    Ok(read) => assert!(read == *object),
                    Err(e) => assert!(e.is_not_found(), "{e}"),
                }
            }
        }
    });
    assert_eq!(listed(storage, Folder::Packs).len(), objects.len());
}

fn many_threads_put_read_and_delete(place: &Place) {
    let storage = &*place.storage;
    thread::scope(|scope| {
        for worker in 0..16_u8 {
            scope.spawn(move || {
                for round in 0..8_u8 {
                    let bytes = noise(2_000, worker * 8 + round);
                    let object = pack(&bytes);
                    storage.put(&object, std::slice::from_ref(&bytes), PutMode::Exclusive).unwrap();
                    assert_eq!(storage.head(&object).unwrap().length, 2_000);
                    assert_eq!(listed(storage, Folder::Packs)[&object], 2_000);
                    assert!(storage.get_range(&object, 500..1_500).unwrap() == bytes.slice(500..1_500));
                    if round % 2 == 0 {
                        storage.delete(&object).unwrap();
                        assert!(!listed(storage, Folder::Packs).contains_key(&object));
                    }
                }
            });
        }
    });
    assert_eq!(listed(storage, Folder::Packs).len(), 16 * 4);
}

fn a_listing_stops_when_told_and_may_use_the_storage(place: &Place) {
    let storage = &*place.storage;
    for folder in [Folder::Packs, Folder::Index] {
        for seed in 0..5 {
            put(storage, &name(folder, &[seed]), &[seed], PutMode::Keep).unwrap();
        }
        let mut seen = 0;
        let mut each = |meta: ObjectMeta| {
            seen += 1;
            assert_eq!(storage.get(&meta.name).unwrap().len(), 1);
            storage.delete(&meta.name).unwrap();
            if seen == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        storage.list(folder, &mut each).unwrap();
        assert_eq!(seen, 3);
        assert_eq!(listed(storage, folder).len(), 2);
    }
}

fn deleting_works_and_the_absence_is_success(place: &Place) {
    let (storage, object) = (&*place.storage, pack(b"one"));
    storage.delete(&object).unwrap();
    put(storage, &object, b"one", PutMode::Keep).unwrap();
    storage.delete(&object).unwrap();
    storage.delete(&object).unwrap();
    assert_fault(storage.get(&object), StorageFault::NotFound);
    put(storage, &object, b"one", PutMode::Exclusive).unwrap();
    assert_eq!(storage.get(&object).unwrap(), "one");
}

/// No rule of the contract may leave temporary files behind.
impl Drop for Place {
    fn drop(&mut self) {
        if let Some(scratch) = &self.scratch {
            let left = std::fs::read_dir(scratch.path().join("repository/tmp")).unwrap().count();
            assert!(left == 0 || thread::panicking(), "{left} temporary files were left");
        }
    }
}
