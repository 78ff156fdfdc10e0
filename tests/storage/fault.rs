//! The storage for tests and drills fails exactly as told.

use super::{assert_fault, listed, noise, pack, put};
use nightjar::storage::{
    Call, FaultStorage, Folder, MemoryStorage, Moment, ObjectName, PutMode, Storage, StorageFault, Verb,
};

fn storage() -> FaultStorage<MemoryStorage> {
    FaultStorage::new(MemoryStorage::new())
}

#[test]
fn the_nth_call_of_a_verb_fails_and_no_other() {
    let storage = storage();
    storage.fail(Verb::Put, 2, StorageFault::Transient);
    storage.fail(Verb::Get, 1, StorageFault::Denied);
    storage.fail(Verb::Head, 1, StorageFault::NotFound);
    storage.fail(Verb::List, 1, StorageFault::Other);
    put(&storage, &pack(b"one"), b"one", PutMode::Keep).unwrap();
    assert_fault(storage.get(&pack(b"one")), StorageFault::Denied);
    assert_eq!(put(&storage, &pack(b"two"), b"two", PutMode::Keep), Err(StorageFault::Transient));
    assert_fault(storage.inner().get(&pack(b"two")), StorageFault::NotFound);
    put(&storage, &pack(b"two"), b"two", PutMode::Keep).unwrap();
    assert_eq!(storage.get(&pack(b"two")).unwrap(), "two");
    assert_fault(storage.head(&pack(b"one")), StorageFault::NotFound);
    assert_eq!(storage.head(&pack(b"one")).unwrap().length, 3);
    let listing = storage.list(Folder::Packs, &mut |_| unreachable!());
    assert_fault(listing, StorageFault::Other);
    assert_eq!(listed(&storage, Folder::Packs).len(), 2);
}

#[test]
fn a_lost_acknowledgement_leaves_the_effect() {
    let storage = storage();
    storage.lose_acknowledgement(Verb::Put, 1, StorageFault::Transient);
    storage.lose_acknowledgement(Verb::Delete, 1, StorageFault::Transient);
    let told = put(&storage, &pack(b"one"), b"one", PutMode::Exclusive);
    assert_eq!(told, Err(StorageFault::Transient));
    let again = put(&storage, &pack(b"one"), b"one", PutMode::Exclusive);
    assert_eq!(again, Err(StorageFault::Exists));
    assert_fault(storage.delete(&pack(b"one")), StorageFault::Transient);
    assert_fault(storage.get(&pack(b"one")), StorageFault::NotFound);
}

#[test]
fn space_ends_at_the_given_byte() {
    let storage = storage();
    storage.limit_space(Some(5));
    put(&storage, &pack(b"one"), b"one", PutMode::Keep).unwrap();
    assert_eq!(put(&storage, &pack(b"two"), b"two", PutMode::Keep), Err(StorageFault::NoSpace));
    assert_fault(storage.get(&pack(b"two")), StorageFault::NotFound);
    put(&storage, &pack(b"22"), b"22", PutMode::Keep).unwrap();
    assert_eq!(put(&storage, &pack(b"3"), b"3", PutMode::Keep), Err(StorageFault::NoSpace));
    storage.limit_space(None);
    put(&storage, &pack(b"3"), b"3", PutMode::Keep).unwrap();
}

#[test]
fn bits_flip_in_what_is_read_and_not_in_what_is_stored() {
    let storage = storage();
    put(&storage, &pack(b"abcd"), b"abcd", PutMode::Keep).unwrap();
    put(&storage, &pack(b"efgh"), b"efgh", PutMode::Keep).unwrap();
    storage.flip(&pack(b"abcd"), 2, 0x20);
    storage.flip(&pack(b"abcd"), 99, 0xff);
    assert_eq!(storage.get(&pack(b"abcd")).unwrap(), "abCd");
    assert_eq!(storage.get_range(&pack(b"abcd"), 2..4).unwrap(), "Cd");
    assert_eq!(storage.get_range(&pack(b"abcd"), 0..2).unwrap(), "ab");
    assert_eq!(storage.get_range(&pack(b"abcd"), 3..4).unwrap(), "d");
    assert_eq!(storage.get(&pack(b"efgh")).unwrap(), "efgh");
    assert_eq!(storage.inner().get(&pack(b"abcd")).unwrap(), "abcd");
    storage.clear_faults();
    assert_eq!(storage.get(&pack(b"abcd")).unwrap(), "abcd");
}

#[test]
fn after_a_power_cut_nothing_answers_until_the_power_is_back() {
    for (moment, survives) in [(Moment::Before, false), (Moment::After, true)] {
        let storage = storage();
        storage.cut_power(3, moment);
        storage.prepare().unwrap();
        put(&storage, &pack(b"one"), b"one", PutMode::Keep).unwrap();
        storage.get(&pack(b"one")).unwrap();
        assert!(!storage.is_dark());
        let cut = storage.put(&pack(b"two"), &[], PutMode::Keep).unwrap_err();
        assert_eq!((cut.fault, cut.source.to_string()), (StorageFault::Other, "power cut".into()));
        assert!(storage.is_dark());
        assert_fault(storage.get(&pack(b"one")), StorageFault::Other);
        assert_fault(storage.get_range(&pack(b"one"), 0..1), StorageFault::Other);
        assert_fault(storage.head(&pack(b"one")), StorageFault::Other);
        assert_fault(storage.list(Folder::Packs, &mut |_| unreachable!()), StorageFault::Other);
        assert_fault(storage.prepare(), StorageFault::Other);
        assert_fault(storage.delete(&pack(b"one")), StorageFault::Other);
        storage.restore_power();
        assert_eq!(storage.get(&pack(b"one")).unwrap(), "one");
        assert_eq!(storage.get(&pack(b"two")).is_ok(), survives, "{moment:?}");
        put(&storage, &pack(b"two"), b"", PutMode::Keep).unwrap();
    }
}

#[test]
fn nothing_takes_effect_after_a_power_cut_however_many_threads_write() {
    // Large enough for a put to be under way while another one is cut.
    let bytes = noise(300_000, 1);
    for _ in 0..10 {
        let storage = storage();
        storage.cut_power(20, Moment::After);
        let write = |name: &ObjectName| put(&storage, name, &bytes, PutMode::Exclusive).is_ok();
        let acknowledged: usize = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..8_u8)
                .map(|writer| {
                    let write = &write;
                    scope.spawn(move || (0..10).filter(|round| write(&pack(&[writer, *round]))).count())
                })
                .collect();
            writers.into_iter().map(|writer| writer.join().unwrap()).sum()
        });
        assert_eq!(acknowledged, 19);
        storage.restore_power();
        assert_eq!(listed(&storage, Folder::Packs).len(), 20);
    }
}

#[test]
fn calls_are_recorded_in_order_and_changes_counted() {
    let storage = storage();
    let shared = storage.clone();
    storage.prepare().unwrap();
    shared.fail(Verb::Put, 1, StorageFault::Transient);
    put(&storage, &pack(b"one"), b"one", PutMode::Keep).unwrap_err();
    storage.get(&pack(b"one")).unwrap_err();
    listed(&storage, Folder::Index);
    storage.delete(&pack(b"one")).unwrap();
    let call = |verb, object: &str| Call { verb, object: object.to_owned() };
    let path = pack(b"one").path();
    let expected = [
        call(Verb::Prepare, "folders"),
        call(Verb::Put, &path),
        call(Verb::Get, &path),
        call(Verb::List, "index"),
        call(Verb::Delete, &path),
    ];
    assert_eq!(shared.calls(), expected);
    assert_eq!(shared.changes(), 3);
    storage.clear_calls();
    assert_eq!((shared.calls().len(), shared.changes()), (0, 0));
}
