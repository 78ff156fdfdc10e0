//! The contract of engines as tests; every engine runs them.

use super::{Done, Engine, EngineError, Job, Operation, SoftwareEngine};
use crate::codec::Compression;
use crate::crypto::{KeyTable, ObjectKey};
use crate::format::Suite;
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

fn key(salt: u8) -> Arc<ObjectKey> {
    KeyTable::for_trials().data_pack(Suite::Aes256Gcm, [salt; 32])
}

fn job(ticket: u64, operation: Operation, input: Vec<u8>, plain_len: usize) -> Job {
    let number = u32::try_from(ticket).unwrap();
    Job {
        ticket,
        operation,
        key: key(1),
        number,
        plain_len: u32::try_from(plain_len).unwrap(),
        input: Bytes::from(input),
    }
}

/// Runs all jobs through one lane and returns them by ticket.
fn run(engine: &dyn Engine, jobs: impl IntoIterator<Item = Job>) -> BTreeMap<u64, Done> {
    let mut waiting: VecDeque<Job> = jobs.into_iter().collect();
    let mut lane = engine.lane().unwrap();
    let mut all = BTreeMap::new();
    while !waiting.is_empty() || lane.in_flight() > 0 {
        lane.submit(&mut waiting);
        assert!(lane.in_flight() <= lane.depth());
        let mut done = Vec::new();
        lane.reap(Duration::from_secs(5), &mut done);
        for done in done {
            assert!(all.insert(done.job.ticket, done).is_none(), "a job came back twice");
        }
    }
    all
}

fn text(n: u64) -> Vec<u8> {
    format!("block {n}, ").into_bytes().repeat(usize::try_from(n * 37 % 5000 + 1).unwrap())
}

fn every_job_comes_back_once_and_opens_again(engine: &dyn Engine) {
    let software = SoftwareEngine::new(2, 4).unwrap();
    for compression in [Compression::Off, Compression::Zstd(1), Compression::Deflate(1), Compression::Lz4] {
        let seal = (0..200).map(|n| job(n, Operation::Seal(compression), text(n), text(n).len()));
        let sealed = run(engine, seal);
        assert_eq!(sealed.len(), 200);
        let open = sealed.into_values().map(|done| {
            let (ticket, length) = (done.job.ticket, done.job.plain_len as usize);
            job(ticket, Operation::Open, done.outcome.unwrap(), length)
        });
        for (ticket, done) in run(&software, open) {
            assert_eq!(done.outcome.unwrap(), text(ticket));
        }
    }
}

fn damage_is_the_datas_fault(engine: &dyn Engine) {
    let sealed = run(engine, [job(0, Operation::Seal(Compression::AUTO), text(9), text(9).len())]);
    let sealed = sealed[&0].outcome.clone().unwrap();
    let length = text(9).len();
    let mut flipped = sealed.clone();
    flipped[5] ^= 1;
    let mut cases = vec![
        job(0, Operation::Open, flipped, length),
        job(0, Operation::Open, sealed[..20].to_vec(), length),
        job(0, Operation::Open, vec![], length),
        job(1, Operation::Open, sealed.clone(), length),
        job(0, Operation::Open, sealed.clone(), length + 1),
        Job { key: key(2), ..job(0, Operation::Open, sealed, length) },
    ];
    for (ticket, case) in (0..).zip(&mut cases) {
        case.ticket = ticket;
    }
    let done = run(engine, cases);
    assert_eq!(done.len(), 6);
    for (ticket, done) in done {
        assert!(matches!(done.outcome, Err(EngineError::Corrupt(_))), "case {ticket}");
    }
}

fn a_dropped_lane_leaves_the_others_alone(engine: &dyn Engine) {
    let mut lane = engine.lane().unwrap();
    let mut jobs: VecDeque<Job> = (0..50).map(|n| job(n, Operation::Seal(Compression::AUTO), text(n), 1)).collect();
    assert_eq!(lane.submit(&mut jobs), lane.depth());
    drop(lane);
    every_job_comes_back_once_and_opens_again(engine);
}

#[test]
fn the_software_engine_keeps_the_contract() {
    for threads in [1, 3] {
        let engine = SoftwareEngine::new(threads, 5).unwrap();
        every_job_comes_back_once_and_opens_again(&engine);
        damage_is_the_datas_fault(&engine);
        a_dropped_lane_leaves_the_others_alone(&engine);
    }
}

#[test]
fn the_qat_engine_keeps_the_contract() {
    let library = std::env::current_exe().unwrap().with_file_name("libqatzip_sim.so");
    let (api, _) = super::qat::load(Some(&library)).unwrap();
    let settings = super::qat::QatSettings {
        level: 1,
        workers: Some(1),
        depth: 5,
        threads: 2,
        verify: super::qat::Verify::Suspect,
        timeout: super::qat::QatSettings::TIMEOUT,
        on_off: Arc::new(|reason: &str| panic!("{reason}")),
    };
    let engine = super::qat::QatEngine::start(api, &settings).unwrap();
    every_job_comes_back_once_and_opens_again(&engine);
    damage_is_the_datas_fault(&engine);
    a_dropped_lane_leaves_the_others_alone(&engine);
    assert!(engine.counters().requests > 100, "{:?}", engine.counters());
}
