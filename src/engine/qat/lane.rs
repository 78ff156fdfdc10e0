//! Which jobs go to the device and which to the CPU.

use super::counters::add;
use super::worker::{Shared, unfit};
use crate::engine::queue::{Route, Task};
use crossbeam_channel::Sender;
use std::sync::Arc;

/// The two queues.
#[derive(Debug)]
pub(super) struct QatRoute {
    pub(super) shared: Arc<Shared>,
    pub(super) device: Sender<Task>,
    pub(super) software: Sender<Task>,
}

impl Route for QatRoute {
    fn send(&self, task: Task) -> Result<(), Box<Task>> {
        match unfit(&task.job, &self.shared) {
            Some(reason) => {
                add(reason, 1);
                Route::send(&self.software, task)
            }
            None => Route::send(&self.device, task),
        }
    }

    fn is_broken(&self) -> bool {
        self.shared.trust.is_broken()
    }

    fn note_again(&self) {
        add(&self.shared.counters.made_again, 1);
    }
}
