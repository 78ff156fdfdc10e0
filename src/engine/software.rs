//! Sealing and opening on the CPU: threads that all do the whole work and take the next job when they are free.

use super::job::Contexts;
use super::queue::{QueueLane, Task};
use super::{Done, Engine, EngineError, Lane};
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::thread::JoinHandle;

/// The engine that is always there.
#[derive(Debug)]
pub struct SoftwareEngine {
    queue: Option<Sender<Task>>,
    workers: Vec<JoinHandle<()>>,
    depth: usize,
}

impl SoftwareEngine {
    /// An engine of `threads` workers; each lane may have `depth` jobs in flight.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn new(threads: usize, depth: usize) -> Result<Self, std::io::Error> {
        let (queue, tasks) = unbounded::<Task>();
        let worker = |n: usize| {
            let tasks = tasks.clone();
            std::thread::Builder::new().name(format!("seal-{n}")).spawn(move || work(&tasks))
        };
        let workers = (0..threads.max(1)).map(worker).collect::<Result<_, _>>()?;
        Ok(Self { queue: Some(queue), workers, depth: depth.max(1) })
    }
}

fn work(tasks: &Receiver<Task>) {
    let mut contexts = Contexts::default();
    for Task { job, reply } in tasks {
        let outcome = contexts.run_guarded(&job);
        // A lane that is gone no longer wants it.
        let _ = reply.send(Done { job, outcome }.into());
    }
}

impl SoftwareEngine {
    /// The queue that the workers take from.
    pub(super) fn queue(&self) -> Result<Sender<Task>, EngineError> {
        self.queue.clone().ok_or_else(|| EngineError::Device("the engine has stopped".to_owned()))
    }
}

impl Engine for SoftwareEngine {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn lane(&self) -> Result<Box<dyn Lane>, EngineError> {
        Ok(Box::new(QueueLane::new(self.queue()?, self.depth)))
    }
}

impl Drop for SoftwareEngine {
    fn drop(&mut self) {
        self.queue = None;
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}
