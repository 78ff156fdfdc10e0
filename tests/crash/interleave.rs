//! Two backups, a forget that is taken back, and prunes at once, the real code over one storage: at every call a die says
//! who goes on. Now and then one of the writers stands still until all others have ended, through mark and sweep.

use super::*;
use bytes::Bytes;
use nightjar::storage::{Capabilities, ObjectName, PutMode, StorageError};
use std::collections::VecDeque;
use std::ops::Range;

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::SystemTime;

const EARLY: i64 = 1_800_000_000_000_000_000;

/// Who takes part.
const WRITERS: [usize; 2] = [0, 1];
const UNDO: usize = 2;
const PRUNE: usize = 3;
const ACTORS: usize = 4;

/// Says whose call is next.
#[derive(Debug)]
struct Stage {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    dice: blake3::OutputReader,
    next: u64,
    waiting: [VecDeque<u64>; ACTORS],
    ended: [bool; ACTORS],
    /// After how many calls of all each goes on.
    until: [usize; ACTORS],
    granted: Option<u64>,
    order: Vec<u8>,
    pauses: usize,
}

impl State {
    fn below(&mut self, limit: usize) -> usize {
        let mut bytes = [0; 8];
        self.dice.fill(&mut bytes);
        usize::try_from(u64::from_le_bytes(bytes) % limit as u64).unwrap()
    }

    /// Grants a call once everybody has made one or has ended: then nothing depends on who is faster.
    fn advance(&mut self) {
        let undecided = (0..ACTORS).any(|n| !self.ended[n] && self.waiting[n].is_empty());
        if self.granted.is_some() || undecided {
            return;
        }
        if self.below(60) == 0 {
            let writer = WRITERS[self.below(WRITERS.len())];
            // For a while, or until all others have ended.
            let length = if self.below(3) == 0 { usize::MAX / 2 } else { self.below(150) };
            self.until[writer] = self.order.len() + length;
            self.pauses += usize::from(!self.ended[writer]);
        }
        let goes_on = |n: &usize| !self.ended[*n] && self.order.len() >= self.until[*n];
        let mut ready: Vec<usize> = (0..ACTORS).filter(goes_on).collect();
        if ready.is_empty() {
            self.until = [0; ACTORS];
            ready = (0..ACTORS).filter(|n| !self.ended[*n]).collect();
        }
        if !ready.is_empty() {
            let actor = ready[self.below(ready.len())];
            self.order.push(u8::try_from(actor).unwrap());
            self.granted = self.waiting[actor].pop_front();
        }
    }
}

impl Stage {
    fn new(seed: u64, late: bool) -> Self {
        let dice = blake3::Hasher::new().update(b"stage").update(&seed.to_le_bytes()).finalize_xof();
        let mut state = State {
            dice,
            next: 0,
            waiting: Default::default(),
            ended: [false; ACTORS],
            until: [0; ACTORS],
            granted: None,
            order: Vec::new(),
            pauses: 0,
        };
        // Some begin when there is a mark, or when it is about to be swept.
        for writer in WRITERS.into_iter().filter(|_| late) {
            state.until[writer] = state.below(150);
        }
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn call<T>(&self, actor: usize, effect: impl FnOnce() -> T) -> T {
        let mut state = self.lock();
        let ticket = state.next;
        state.next += 1;
        state.waiting[actor].push_back(ticket);
        state.advance();
        self.changed.notify_all();
        while state.granted != Some(ticket) {
            state = self.changed.wait(state).unwrap();
        }
        drop(state);
        let result = effect();
        let mut state = self.lock();
        state.granted = None;
        state.advance();
        self.changed.notify_all();
        result
    }

    fn end(&self, actor: usize) {
        let mut state = self.lock();
        state.ended[actor] = true;
        state.advance();
        self.changed.notify_all();
    }
}

/// The storage as one of those who take part has it.
#[derive(Debug)]
struct Staged {
    inner: MemoryStorage,
    stage: Arc<Stage>,
    actor: usize,
}

impl Storage for Staged {
    fn location(&self) -> &str {
        self.inner.location()
    }
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }
    fn prepare(&self) -> Result<(), StorageError> {
        self.inner.prepare()
    }
    fn put(&self, name: &ObjectName, parts: &[Bytes], mode: PutMode) -> Result<(), StorageError> {
        self.stage.call(self.actor, || self.inner.put(name, parts, mode))
    }
    fn get(&self, name: &ObjectName) -> Result<Bytes, StorageError> {
        self.stage.call(self.actor, || self.inner.get(name))
    }
    fn get_range(&self, name: &ObjectName, range: Range<u64>) -> Result<Bytes, StorageError> {
        self.stage.call(self.actor, || self.inner.get_range(name, range))
    }
    fn head(&self, name: &ObjectName) -> Result<ObjectMeta, StorageError> {
        self.stage.call(self.actor, || self.inner.head(name))
    }
    fn put_time(&self, name: &ObjectName) -> Result<Option<SystemTime>, StorageError> {
        self.stage.call(self.actor, || self.inner.put_time(name))
    }
    fn list(&self, folder: Folder, each: &mut dyn FnMut(ObjectMeta) -> ControlFlow<()>) -> Result<(), StorageError> {
        self.stage.call(self.actor, || self.inner.list(folder, each))
    }
    fn delete(&self, name: &ObjectName) -> Result<(), StorageError> {
        self.stage.call(self.actor, || self.inner.delete(name))
    }
}

/// Prunes on a day that is so many days and hours from the first; whether anything was swept.
fn prune_on(storage: &Arc<dyn Storage>, day: i64) -> bool {
    let report = prune_at(storage, EARLY + day * 25 * 3_600_000_000_000);
    report.unwrap_or_else(|error| panic!("a prune stopped: {error}")).swept_packs > 0
}

/// What one run came to.
struct Scene {
    acknowledged: [bool; 2],
    swept: bool,
    brought_back: bool,
    order: Vec<u8>,
    pauses: usize,
}

fn play(seed: u64, before: &MemoryStorage, sources: &[PathBuf]) -> (MemoryStorage, Scene) {
    let memory = before.snapshot();
    let stage = Arc::new(Stage::new(seed, true));
    let of = |actor: usize| -> Arc<dyn Storage> {
        Arc::new(Staged { inner: memory.clone(), stage: Arc::clone(&stage), actor })
    };
    let mut scene = Scene { acknowledged: [false; 2], swept: false, brought_back: false, order: vec![], pauses: 0 };
    std::thread::scope(|scope| {
        let writers = WRITERS.map(|actor| {
            let (storage, source, stage) = (of(actor), &sources[actor], &stage);
            scope.spawn(move || {
                let made = run_backup(&storage, source, RARELY);
                stage.end(actor);
                match made {
                    Ok(report) => (true, report.damage),
                    Err(ArchiveError::Repo(RepoError::LeaseLost)) => (false, Vec::new()),
                    Err(error) => panic!("seed {seed}: {error}"),
                }
            })
        });
        let (storage, stage_of_undo) = (of(UNDO), &stage);
        let undo = scope.spawn(move || {
            // What is brought back keeps what the writers count on.
            if !seed.is_multiple_of(3) {
                stage_of_undo.end(UNDO);
                return false;
            }
            let repository = open(&storage).unwrap();
            let forgotten = repository.forgotten().unwrap();
            let back = forgotten
                .snapshots
                .first()
                .map(|named| repository.bring_back(&nightjar::base::hex::encode(&named.name)));
            stage_of_undo.end(UNDO);
            back.is_some_and(|back| back.is_ok())
        });
        let (storage, stage_of_prune) = (of(PRUNE), &stage);
        let sweeps = scope.spawn(move || {
            let swept = (0..4).filter(|day| prune_on(&storage, *day)).count() > 0;
            stage_of_prune.end(PRUNE);
            swept
        });
        let writers = writers.map(|writer| writer.join().unwrap());
        scene.acknowledged = [writers[0].0, writers[1].0];
        // One that was taken for lost can name packs that are gone, until the next prune; nothing else is ever missing.
        if scene.acknowledged == [true; 2] {
            assert!(writers.iter().all(|(_, damage)| damage.is_empty()), "seed {seed}: {writers:?}");
        }
        scene.brought_back = undo.join().unwrap();
        scene.swept = sweeps.join().unwrap();
    });
    let at_end = stage.lock();
    (scene.order, scene.pauses) = (at_end.order.clone(), at_end.pauses);
    drop(at_end);
    (memory, scene)
}

#[test]
fn whatever_the_order_every_visible_snapshot_is_complete_and_every_acknowledged_one_is_visible() {
    let folder = tempfile::tempdir().unwrap();
    let sources: Vec<PathBuf> = ["one", "two", "old"].iter().map(|name| folder.path().join(name)).collect();
    // What both writers save was in the snapshot that is forgotten: they deduplicate against what is to be removed.
    let shared = noise(1, 200_000);
    let mut contents = Vec::new();
    for (n, source) in (0_u64..).zip(&sources) {
        std::fs::create_dir_all(source).unwrap();
        std::fs::write(source.join("shared"), &shared).unwrap();
        std::fs::write(source.join("own"), noise(10 + n, 30_000)).unwrap();
        contents.push(Contents::from([
            (source.join("own"), noise(10 + n, 30_000)),
            (source.join("shared"), shared.clone()),
        ]));
    }
    let before = MemoryStorage::new();
    run_init(Arc::new(before.clone())).unwrap();
    let storage: Arc<dyn Storage> = Arc::new(before.clone());
    run_backup(&storage, &sources[2], RARELY).unwrap();
    let repository = open(&storage).unwrap();
    repository.forget(&SnapshotList::load(&repository).unwrap().snapshots[0].name).unwrap();
    let (mut lost, mut swept, mut back, mut pauses, mut orders) = (0, 0, 0, 0, std::collections::HashSet::new());
    for seed in 0..60 {
        let (memory, scene) = play(seed, &before, &sources);
        let storage: Arc<dyn Storage> = Arc::new(memory);
        let check = |storage: &Arc<dyn Storage>| {
            let visible = read_all(storage).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            for (actor, acknowledged) in WRITERS.into_iter().zip(scene.acknowledged) {
                assert!(
                    !acknowledged || visible.contains(&contents[actor]),
                    "seed {seed}: an acknowledged one is gone"
                );
            }
            assert!(!scene.brought_back || visible.contains(&contents[2]), "seed {seed}: what came back is gone");
            assert!(visible.iter().all(|one| contents.contains(one)), "seed {seed}");
        };
        check(&storage);
        // And the prunes of the days after change nothing about it, and leave nothing that anybody stumbles over.
        for day in 5..8 {
            prune_on(&storage, day);
            check(&storage);
        }
        let repository = open(&storage).unwrap();
        let watch = nightjar::check::Watch { meter: Arc::new(Meter::new()), cancel: Cancel::new(), threads: 1 };
        let report =
            nightjar::check::check(&repository, None, &mut nightjar::check::Verified::default(), &watch).unwrap();
        assert!(!report.is_damaged(), "seed {seed}: {:?} {:?}", report.damage, report.lost);
        lost += scene.acknowledged.iter().filter(|acknowledged| !**acknowledged).count();
        swept += usize::from(scene.swept);
        back += usize::from(scene.brought_back);
        pauses += scene.pauses;
        orders.insert(scene.order);
    }
    assert_eq!(orders.len(), 60, "every run goes its own way");
    let felt = [lost, swept, back, pauses];
    assert!(felt.iter().all(|number| *number > 1), "lost leases, sweeps, undos, pauses: {felt:?}");
}

#[test]
fn the_same_seed_grants_in_the_same_order_as_long_as_nobody_has_several_threads_at_work() {
    let order = |seed| {
        let stage = Arc::new(Stage::new(seed, false));
        std::thread::scope(|scope| {
            for actor in 0..ACTORS {
                let stage = Arc::clone(&stage);
                scope.spawn(move || {
                    (0..20).for_each(|_| stage.call(actor, || ()));
                    stage.end(actor);
                });
            }
        });
        stage.lock().order.clone()
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
    assert_eq!(order(3).len(), 80);
}
