//! Lanes into engines whose workers are threads: jobs leave over one queue and come back over another.

use super::{Done, Job, Lane};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use std::collections::VecDeque;
use std::fmt::Debug;
use std::time::Duration;

/// A job with the way back to its lane.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) job: Job,
    pub(super) reply: Sender<Finished>,
}

/// What a worker gives back.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) done: Done,
    /// Whether a device made it and nobody has looked whether it is right.
    pub(super) doubtful: bool,
}

impl From<Done> for Finished {
    fn from(done: Done) -> Self {
        Self { done, doubtful: false }
    }
}

/// Where a lane's jobs go.
pub(super) trait Route: Debug {
    /// Hands a task to a worker; gives it back when there is none any more.
    fn send(&self, task: Task) -> Result<(), Box<Task>>;

    /// Whether results that nobody has looked at may be wrong.
    fn is_broken(&self) -> bool {
        false
    }

    /// Notes that a result is made again.
    fn note_again(&self) {}
}

impl Route for Sender<Task> {
    fn send(&self, task: Task) -> Result<(), Box<Task>> {
        Sender::send(self, task).map_err(|refused| Box::new(refused.into_inner()))
    }
}

/// One thread's queue over a route.
#[derive(Debug)]
pub(super) struct QueueLane<R> {
    route: R,
    reply: Sender<Finished>,
    done: Receiver<Finished>,
    in_flight: usize,
    depth: usize,
}

impl<R: Route> QueueLane<R> {
    pub(super) fn new(route: R, depth: usize) -> Self {
        let (reply, done) = bounded(depth);
        Self { route, reply, done, in_flight: 0, depth }
    }

    /// Passes a result on, unless it has to be made again.
    fn take(&mut self, finished: Finished, done: &mut Vec<Done>) {
        if finished.doubtful && self.route.is_broken() {
            self.route.note_again();
            let again = Task { job: finished.done.job, reply: self.reply.clone() };
            match self.route.send(again) {
                Ok(()) => return,
                Err(task) => {
                    let outcome = Err(super::EngineError::Device("no worker is left to do it again".to_owned()));
                    done.push(Done { job: task.job, outcome });
                }
            }
        } else {
            done.push(finished.done);
        }
        self.in_flight -= 1;
    }
}

impl<R: Route> Lane for QueueLane<R> {
    fn submit(&mut self, jobs: &mut VecDeque<Job>) -> usize {
        let mut taken = 0;
        while self.in_flight < self.depth {
            let Some(job) = jobs.pop_front() else { break };
            if let Err(refused) = self.route.send(Task { job, reply: self.reply.clone() }) {
                jobs.push_front(refused.job);
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
            Ok(first) => self.take(first, done),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
        }
        while let Ok(next) = self.done.try_recv() {
            self.take(next, done);
        }
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }

    fn depth(&self) -> usize {
        self.depth
    }

    fn is_distrusted(&self) -> bool {
        self.route.is_broken()
    }
}

impl<R> Drop for QueueLane<R> {
    fn drop(&mut self) {
        // Whatever the result of a job in flight, nobody wants it any more.
        while self.in_flight > 0 && self.done.recv().is_ok() {
            self.in_flight -= 1;
        }
    }
}
