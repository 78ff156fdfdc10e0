//! What is done to one block.

use crate::codec::{CodecError, Compression, Compressor, Decompressor};
use crate::crypto::ObjectKey;
use crate::format::Part;
use bytes::Bytes;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The two directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Compress as chosen, then encrypt.
    Seal(Compression),
    /// Decrypt, then decompress.
    Open,
    /// Compress as chosen and leave it at that: for measuring what encryption costs. The output is stored nowhere.
    Compress(Compression),
    /// Compress as `gzip -6` does, by zlib: the yardstick that others are measured with. The output is stored nowhere.
    Gzip,
}

/// One block to seal or open: a pure function of its fields.
#[derive(Clone, Debug)]
pub struct Job {
    /// The caller's own number for it.
    pub ticket: u64,
    /// What to do.
    pub operation: Operation,
    /// Key of the pack.
    pub key: Arc<ObjectKey>,
    /// Number of the block in its pack, which decides the nonce.
    pub number: u32,
    /// Plain length in bytes.
    pub plain_len: u32,
    /// Plain or sealed bytes.
    pub input: Bytes,
}

/// Why a job has no output.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// The data is at fault: final.
    #[error("block is damaged: {0}")]
    Corrupt(String),
    /// The engine is at fault: the job can be run elsewhere.
    #[error("engine failed: {0}")]
    Device(String),
}

/// A job that is finished, with the job itself, so that it can be run again and its input be used again.
#[derive(Debug)]
pub struct Done {
    /// The job as it was submitted.
    pub job: Job,
    /// Sealed or plain bytes.
    pub outcome: Result<Vec<u8>, EngineError>,
}

/// The contexts one thread needs to run jobs on the CPU.
#[derive(Debug, Default)]
pub struct Contexts {
    compressor: Compressor,
    decompressor: Decompressor,
}

impl Contexts {
    /// As [`run`](Self::run); a panic in a codec becomes an error of the engine.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_guarded(&mut self, job: &Job) -> Result<Vec<u8>, EngineError> {
        catch_unwind(AssertUnwindSafe(|| self.run(job))).unwrap_or_else(|_| {
            *self = Self::default();
            Err(EngineError::Device("a worker panicked".to_owned()))
        })
    }

    /// Runs a job on the calling thread.
    ///
    /// # Errors
    /// [`EngineError::Corrupt`] when the sealed bytes are not what was sealed.
    pub fn run(&mut self, job: &Job) -> Result<Vec<u8>, EngineError> {
        match job.operation {
            Operation::Seal(compression) => {
                let mut block = self.compressor.compress(compression, &job.input).map_err(EngineError::Device)?;
                job.key.seal(Part::Block, u64::from(job.number), &mut block);
                Ok(block)
            }
            Operation::Compress(compression) => {
                self.compressor.compress(compression, &job.input).map_err(EngineError::Device)
            }
            Operation::Gzip => self.compressor.gzip(&job.input).map_err(EngineError::Device),
            Operation::Open => {
                let mut block = job.input.to_vec();
                let opened = job.key.open(Part::Block, u64::from(job.number), &mut block);
                opened.map_err(|error| EngineError::Corrupt(error.to_string()))?;
                let plain = self.decompressor.decompress(block, job.plain_len);
                plain.map_err(|error: CodecError| EngineError::Corrupt(error.to_string()))
            }
        }
    }
}
