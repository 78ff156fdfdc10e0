//! Sealing and opening on the CPU: threads that all do the whole work and take the next job when they are free.

use super::job::Contexts;
use super::{Done, Engine, EngineError, Job, Lane};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::JoinHandle;
use std::time::Duration;

#[derive(Debug)]
struct Task {
    job: Job,
    reply: Sender<Done>,
}

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
        let outcome = catch_unwind(AssertUnwindSafe(|| contexts.run(&job))).unwrap_or_else(|_| {
            contexts = Contexts::default();
            Err(EngineError::Device("a worker panicked".to_owned()))
        });
        // A lane that is gone no longer wants it.
        let _ = reply.send(Done { job, outcome });
    }
}

impl Engine for SoftwareEngine {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn lane(&self) -> Result<Box<dyn Lane>, EngineError> {
        let (reply, done) = bounded(self.depth);
        let queue = self.queue.clone().ok_or_else(|| EngineError::Device("the engine has stopped".to_owned()))?;
        Ok(Box::new(SoftwareLane { queue, reply, done, in_flight: 0, depth: self.depth }))
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

#[derive(Debug)]
struct SoftwareLane {
    queue: Sender<Task>,
    reply: Sender<Done>,
    done: Receiver<Done>,
    in_flight: usize,
    depth: usize,
}

impl Lane for SoftwareLane {
    fn accepts(&self, _job: &Job) -> bool {
        true
    }

    fn submit(&mut self, jobs: &mut VecDeque<Job>) -> usize {
        let mut taken = 0;
        while self.in_flight < self.depth {
            let Some(job) = jobs.pop_front() else { break };
            let task = Task { job, reply: self.reply.clone() };
            if let Err(refused) = self.queue.send(task) {
                jobs.push_front(refused.into_inner().job);
                break;
            }
            self.in_flight += 1;
            taken += 1;
        }
        taken
    }

    fn reap(&mut self, wait: Duration, done: &mut Vec<Done>) {
        if self.in_flight == 0 {
            return;
        }
        match self.done.recv_timeout(wait) {
            Ok(first) => {
                self.in_flight -= 1;
                done.push(first);
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
        }
        while let Ok(next) = self.done.try_recv() {
            self.in_flight -= 1;
            done.push(next);
        }
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }

    fn depth(&self) -> usize {
        self.depth
    }
}

impl Drop for SoftwareLane {
    fn drop(&mut self) {
        let mut rest = Vec::new();
        while self.in_flight > 0 {
            self.reap(Duration::from_secs(1), &mut rest);
            rest.clear();
        }
    }
}
