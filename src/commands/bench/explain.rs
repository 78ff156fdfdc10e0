//! What this host could reach at best, what limits each row, and what an accelerator would change.

use super::measure::{Bench, Measured, alone};
use super::plan::{Cipher, Plan, What};
use crate::base::clock::Clock;
use crate::codec::Compression;
use crate::commands::CommandError;
use crate::crypto::KeyTable;
use crate::format::{Part, Suite};
use std::collections::HashMap;
use std::hint::black_box;
use std::time::Duration;

/// Bytes that memory is measured with: more than any cache holds.
const MEMORY: usize = 256 << 20;
/// Bytes that ciphers and hashes are measured with: as a block, in cache.
const BLOCK: usize = 64 << 10;
/// Bytes moved through memory for each plain byte of a block: in from the source, into the block, out of the codec, sealed.
const PASSES: f64 = 4.0;

/// Published rates of devices, 10^6 bytes a second: model, deflate level 1 at 64 KiB, AES-GCM.
pub(super) const PUBLISHED: [(&str, f64, f64); 2] =
    [("4xxx", 45e3 / 8.0, 95e3 / 8.0), ("420xx", 40e3 / 8.0, 95e3 / 8.0)];

/// The best this host can do, measured; rates in 10^6 bytes a second and of one thread unless it says otherwise.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    /// Copying in memory, all threads together.
    pub(super) memory: f64,
    pub(super) aes: f64,
    pub(super) chacha: f64,
    /// Keyed BLAKE3.
    pub(super) hash: f64,
    /// Each codec without encryption, by its name and block size.
    pub(super) codecs: HashMap<(String, u32), f64>,
    pub(super) processors: usize,
}

/// Measures everything alone.
pub(super) fn measure(bench: &Bench<'_>, plan: &Plan) -> Result<Limits, CommandError> {
    let context = bench.context;
    let clock = &*context.environment.clock;
    let processors = crate::commands::work::processors();
    let mut codecs = HashMap::new();
    for row in &plan.rows {
        let name = (row.what.to_string(), row.block);
        if !codecs.contains_key(&name) && row.what != What::Ours(Compression::Off) {
            codecs.insert(name, alone(bench, row.what, row.block, plan)?);
        }
    }
    Ok(Limits {
        memory: memory(clock, processors),
        aes: cipher(clock, Suite::Aes256Gcm),
        chacha: cipher(clock, Suite::ChaCha20Poly1305),
        hash: hash(clock),
        codecs,
        processors,
    })
}

/// How fast `work`, which handles so many bytes, is at its best, in 10^6 bytes a second.
fn best(clock: &dyn Clock, bytes: usize, mut work: impl FnMut()) -> f64 {
    let (mut least, mut total) = (Duration::MAX, Duration::ZERO);
    while total < Duration::from_millis(150) {
        let began = clock.monotonic();
        work();
        let time = clock.monotonic().saturating_sub(began);
        least = least.min(time);
        total += time.max(Duration::from_nanos(1));
    }
    super::measure::float(bytes as u64) / 1e6 / least.as_secs_f64().max(1e-9)
}

fn memory(clock: &dyn Clock, threads: usize) -> f64 {
    let mut buffers: Vec<(Vec<u8>, Vec<u8>)> =
        (0..threads).map(|_| (vec![1; MEMORY / threads / 2], vec![2; MEMORY / threads / 2])).collect();
    best(clock, MEMORY / 2, || {
        std::thread::scope(|scope| {
            for (from, to) in &mut buffers {
                scope.spawn(|| black_box(to).copy_from_slice(black_box(from)));
            }
        });
    })
}

fn cipher(clock: &dyn Clock, suite: Suite) -> f64 {
    let key = KeyTable::for_trials().data_pack(suite, [0; 32]);
    let mut block = vec![7; BLOCK];
    best(clock, BLOCK, || {
        block.truncate(BLOCK);
        key.seal(Part::Block, 1, black_box(&mut block));
    })
}

fn hash(clock: &dyn Clock) -> f64 {
    let block = vec![7; BLOCK];
    best(clock, BLOCK, || _ = black_box(blake3::keyed_hash(&[9; 32], black_box(&block))))
}

impl Limits {
    /// What a row could reach at best, and which resource limits it.
    pub(super) fn of(&self, measured: &Measured) -> (f64, &'static str) {
        let row = &measured.row;
        let cipher = match row.cipher {
            Cipher::None => f64::INFINITY,
            Cipher::Of(Suite::Aes256Gcm) => self.aes,
            Cipher::Of(Suite::ChaCha20Poly1305) => self.chacha,
        };
        let codec = self.codecs.get(&(row.what.to_string(), row.block)).copied().unwrap_or(f64::INFINITY);
        let threads = super::measure::float(row.threads.min(self.processors) as u64);
        // What is encrypted is smaller than what is compressed by the ratio.
        let cpu = threads / (1.0 / codec + 1.0 / (cipher * measured.ratio.max(1.0)));
        let memory = self.memory / PASSES * 2.0;
        if memory < cpu {
            (memory, "memory")
        } else if codec <= cipher * measured.ratio.max(1.0) {
            (cpu, "codec")
        } else {
            (cpu, "cipher")
        }
    }

    /// For each published device: its name, 10^6 bytes a second that it would compress here, the percentage of the host's
    /// CPU that encryption would take then, and what would be the limit.
    pub(super) fn with_devices(&self, ratio: f64) -> Vec<(&'static str, f64, f64, &'static str)> {
        let processors = super::measure::float(self.processors as u64);
        let cipher = self.aes.max(self.chacha) * ratio.max(1.0);
        let with = |&(model, deflate, _): &(&'static str, f64, f64)| {
            let limits = [(deflate, "device"), (cipher * processors, "cipher"), (self.memory / PASSES * 2.0, "memory")];
            let (rate, limit) = limits.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, "device"));
            (model, rate, 100.0 * rate / cipher / processors, limit)
        };
        PUBLISHED.iter().map(with).collect()
    }
}
