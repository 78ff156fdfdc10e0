//! The stages one by one, each on one thread.

use super::{Bench, line, rate, title};
use bytes::Bytes;
use nightjar::base::specimen::SORTS;
use nightjar::chunker::Chunker;
use nightjar::codec::Compression;
use nightjar::crypto::{KeyTable, ObjectKey, chunk_id};
use nightjar::engine::{Contexts, Job, Operation};
use nightjar::format::{ChunkSizes, Class, PackKind, Suite};
use std::sync::Arc;

const CODECS: [Compression; 7] = [
    Compression::Off,
    Compression::Lz4,
    Compression::Zstd(1),
    Compression::Zstd(3),
    Compression::Zstd(7),
    Compression::Deflate(1),
    Compression::Deflate(6),
];

pub(crate) fn run(bench: &Bench) {
    cut(bench);
    ids(bench);
    for suite in [Suite::Aes256Gcm, Suite::ChaCha20Poly1305] {
        blocks(bench, suite);
    }
}

fn chunker() -> Chunker {
    let sizes = ChunkSizes::default();
    Chunker::new(KeyTable::for_trials().gear(), sizes.min, sizes.avg, sizes.max)
}

/// The lengths of all chunks of `bytes`.
fn lengths(chunker: &Chunker, mut bytes: &[u8]) -> Vec<usize> {
    let mut lengths = Vec::new();
    while !bytes.is_empty() {
        let length = chunker.cut(bytes);
        lengths.push(length);
        bytes = &bytes[length..];
    }
    lengths
}

fn cut(bench: &Bench) {
    if !bench.wants("chunker") {
        return;
    }
    title("chunker: cutting 16 MiB, default sizes");
    let chunker = chunker();
    for (sort, make) in SORTS {
        let bytes = make(1, 16 << 20);
        let time = bench.best(|| lengths(&chunker, &bytes).len());
        line(sort, &[rate(bytes.len(), time)]);
    }
}

fn ids(bench: &Bench) {
    if !bench.wants("ids") {
        return;
    }
    title("ids: keyed BLAKE3 of chunks");
    let bytes = nightjar::base::specimen::random(1, 16 << 20);
    for length in [4 << 10, 32 << 10, 128 << 10, 256 << 10] {
        let time = bench.best(|| {
            for chunk in bytes.chunks(length) {
                std::hint::black_box(chunk_id(&[7; 32], chunk));
            }
        });
        let warm = bench.best(|| {
            for _ in bytes.chunks(length) {
                std::hint::black_box(chunk_id(&[7; 32], &bytes[..length]));
            }
        });
        let name = format!("chunks of {} KiB", length >> 10);
        let cached = format!("{} cached", rate(bytes.len(), warm).trim_end_matches(" MB/s"));
        line(&name, &[rate(bytes.len(), time), cached]);
    }
}

fn job(key: &Arc<ObjectKey>, operation: Operation, plain_len: usize, input: &[u8]) -> Job {
    Job {
        ticket: 0,
        operation,
        key: Arc::clone(key),
        number: 0,
        plain_len: u32::try_from(plain_len).unwrap(),
        input: Bytes::copy_from_slice(input),
    }
}

fn blocks(bench: &Bench, suite: Suite) {
    if !bench.wants(&format!("blocks {}", suite.as_str())) {
        return;
    }
    title(&format!("blocks {}: seal | open | ratio", suite.as_str()));
    let (_, key) = KeyTable::for_trials().begin(Class::Pack, Some(PackKind::Data), suite, [4; 32]);
    let key = Arc::new(key);
    let mut contexts = Contexts::default();
    for compression in CODECS {
        for length in [64 << 10, 1 << 20] {
            for (sort, make) in SORTS {
                let plain = make(1, length);
                let seal = job(&key, Operation::Seal(compression), length, &plain);
                let sealed = contexts.run(&seal).unwrap();
                let open = job(&key, Operation::Open, length, &sealed);
                let sealing = bench.best(|| contexts.run(&seal).unwrap());
                let opening = bench.best(|| contexts.run(&open).unwrap());
                let ratio = f64::from(seal.plain_len) / f64::from(u32::try_from(sealed.len()).unwrap());
                let name = format!("{compression} {} KiB {sort}", length >> 10);
                let columns = [rate(length, sealing), rate(length, opening), format!("{ratio:.2}")];
                line(&name, &columns);
            }
        }
    }
}
