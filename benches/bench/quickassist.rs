//! What the engine itself costs around an accelerator, over the simulated library: how many requests are in flight, and
//! processor time a block without the simulation's own. It says nothing about how fast a device is.
//!
//! `QATZIP_SIM=instances=8,base-us=1000 cargo bench --bench bench -- qat`

use super::{Bench, line, title};
use bytes::Bytes;
use nightjar::base::host::cpu_time;
use nightjar::base::specimen::text;
use nightjar::codec::Compression;
use nightjar::crypto::KeyTable;
use nightjar::engine::qat::{QatEngine, QatSettings, Verify, load};
use nightjar::engine::{Engine, Job, Operation};
use nightjar::format::Suite;
use std::collections::VecDeque;
use std::ffi::{CString, c_char};
use std::sync::Arc;
use std::time::Duration;

const BLOCKS: u64 = 4000;
const DEPTH: usize = 32;

pub(crate) fn run(bench: &Bench) {
    if !bench.wants("qat engine over the simulator") {
        return;
    }
    let library = std::env::current_exe().unwrap().with_file_name("libqatzip_sim.so");
    let (api, _) = load(Some(&library)).unwrap();
    let settings = QatSettings {
        level: 1,
        workers: None,
        depth: DEPTH,
        threads: 2,
        verify: Verify::Off,
        timeout: QatSettings::TIMEOUT,
        on_off: Arc::new(|reason: &str| panic!("{reason}")),
    };
    let engine = QatEngine::start(api, &settings).unwrap();
    // SAFETY: it is loaded already, and its initialisers have run.
    let library = unsafe { libloading::Library::new(&library) }.unwrap();
    title("qat engine over the simulator: in flight at most, blocks/s, CPU a block without the simulation's own");
    let ours = Compression::Deflate(1);
    for size in [4 << 10, 64 << 10, 512 << 10] {
        let data = Bytes::from(text(1, size));
        for (name, operation) in [("compress", Operation::Compress(ours)), ("compress and seal", Operation::Seal(ours))]
        {
            let own = || counter(&library, "own_nanos");
            let (own_before, cpu_before) = (own(), cpu_time());
            let (time, ()) = bench.once(|| through(&engine, operation, &data));
            let cpu = cpu_time().saturating_sub(cpu_before).saturating_sub(Duration::from_nanos(own() - own_before));
            let columns = [
                counter(&library, "most_in_flight").to_string(),
                format!("{:.0}", f64::from(u32::try_from(BLOCKS).unwrap()) / time.as_secs_f64()),
                format!("{:.1} us", cpu.as_secs_f64() * 1e6 / f64::from(u32::try_from(BLOCKS).unwrap())),
            ];
            line(&format!("{} KiB {name}", size >> 10), &columns);
        }
    }
}

fn counter(library: &libloading::Library, name: &str) -> u64 {
    let name = CString::new(name).unwrap();
    // SAFETY: that is the function's type, and the name ends.
    unsafe {
        let counter = library.get::<unsafe extern "C" fn(*const c_char) -> u64>(b"qatzip_sim_counter\0").unwrap();
        counter(name.as_ptr())
    }
}

fn through(engine: &QatEngine, operation: Operation, data: &Bytes) {
    let key = KeyTable::for_trials().data_pack(Suite::Aes256Gcm, [7; 32]);
    let job = |ticket: u64| Job {
        ticket,
        operation,
        key: Arc::clone(&key),
        number: u32::try_from(ticket).unwrap(),
        plain_len: u32::try_from(data.len()).unwrap(),
        input: data.clone(),
    };
    let mut lane = engine.lane().unwrap();
    let (mut waiting, mut done, mut next) = (VecDeque::new(), Vec::new(), 0);
    while next < BLOCKS || lane.in_flight() > 0 {
        while next < BLOCKS && waiting.len() + lane.in_flight() < DEPTH {
            waiting.push_back(job(next));
            next += 1;
        }
        lane.submit(&mut waiting);
        lane.reap(Duration::from_secs(1), &mut done);
        done.drain(..).for_each(|done| drop(done.outcome.unwrap()));
    }
}
