//! A device that was found to lie: what it made before, and is not stored yet, is looked at.

use nightjar::codec::Compression;
use nightjar::crypto::Secret;
use nightjar::engine::{Done, Engine, EngineError, Job, Lane, SoftwareEngine};
use nightjar::format::{ChunkSizes, Config, Kdf, Suite, Time};
use nightjar::repo::{Environment, InitOptions, Session, SessionOptions, SlotSecret, init};
use nightjar::storage::{Folder, MemoryStorage, Storage};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// Seals another block than the one it was given, and says that it is not to be trusted.
#[derive(Debug)]
struct Liar {
    trusted: bool,
    honest: SoftwareEngine,
}

#[derive(Debug)]
struct LyingLane {
    trusted: bool,
    honest: Box<dyn Lane>,
}

impl Engine for Liar {
    fn name(&self) -> &'static str {
        "liar"
    }

    fn lane(&self) -> Result<Box<dyn Lane>, EngineError> {
        Ok(Box::new(LyingLane { trusted: self.trusted, honest: self.honest.lane()? }))
    }
}

impl Lane for LyingLane {
    fn submit(&mut self, jobs: &mut VecDeque<Job>) -> usize {
        for job in jobs.iter_mut().filter(|job| !self.trusted && job.input.len() > 1000) {
            let mut other = job.input.to_vec();
            other[500] ^= 1;
            job.input = other.into();
        }
        self.honest.submit(jobs)
    }

    fn reap(&mut self, wait: Duration, done: &mut Vec<Done>) {
        self.honest.reap(wait, done);
    }

    fn in_flight(&self) -> usize {
        self.honest.in_flight()
    }

    fn depth(&self) -> usize {
        self.honest.depth()
    }

    fn is_distrusted(&self) -> bool {
        true
    }
}

#[test]
fn what_a_distrusted_engine_made_is_opened_before_it_is_stored() {
    for trusted in [true, false] {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let config = Config {
            generation: 0,
            repository: [0; 16],
            chunks: ChunkSizes { min: 4 << 10, avg: 8 << 10, max: 16 << 10 },
            block: 64 << 10,
            data_pack: 1 << 20,
            tree_pack: 1 << 20,
            compression: "off".to_owned(),
            created: Time { seconds: 0, nanos: 0 },
            reserve: 0,
        };
        let kdf = Kdf::Argon2id { memory_kib: 8 << 10, passes: 1, lanes: 1 };
        let slot = SlotSecret { secret: Secret::new("password".to_owned().into()), kdf, label: String::new() };
        let options = InitOptions { config, suite: Suite::Aes256Gcm, slot, recovery: false };
        let repository = init(Arc::clone(&storage), Environment::system(), &options).unwrap().repository;
        let engine = Liar { trusted, honest: SoftwareEngine::new(1, 2).unwrap() };
        let options = SessionOptions { compression: Compression::AUTO, uploads: 1, dry_run: false };
        let mut session = Session::start(&Arc::new(repository), &engine, options, "test").unwrap();
        session.add_tree(&[7; 5000]).unwrap();
        let result = session.checkpoint();
        let mut packs = 0;
        let mut see = |_| {
            packs += 1;
            ControlFlow::Continue(())
        };
        storage.list(Folder::Packs, &mut see).unwrap();
        assert_eq!((result.is_ok(), packs), (trusted, i32::from(trusted)), "{result:?}");
        if let Err(error) = result {
            assert!(error.to_string().contains("wrong block, which is not stored"), "{error}");
        }
    }
}
