//! The watchdog: requests that do not come back are done on the CPU, and their worker is left behind.

use super::counters::add;
use super::device::note_abandoned;
use super::worker::{Flight, Shared};
use crate::engine::queue::Task;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// How often it looks.
const MOST_OFTEN: Duration = Duration::from_millis(10);
const LEAST_OFTEN: Duration = Duration::from_secs(1);

/// Looks after the workers until `stop` closes. It never calls the library and so never hangs.
pub(super) fn watch(shared: &Shared, waiting: &Receiver<Task>, software: &Sender<Task>, stop: &Receiver<()>) {
    let tick = (shared.timeout / 4).clamp(MOST_OFTEN, LEAST_OFTEN);
    while stop.recv_timeout(tick) == Err(RecvTimeoutError::Timeout) {
        for number in 0..shared.slots.len() {
            if let Some(flight) = overdue(shared, number) {
                abandon(shared, flight, software);
            }
        }
        if shared.trust.off().is_some() {
            // Perhaps no worker is left to take them.
            while let Ok(task) = waiting.try_recv() {
                add(&shared.counters.after_off, 1);
                let _ = software.send(task);
            }
        }
    }
}

/// What worker `number` has had inside the library for too long.
fn overdue(shared: &Shared, number: usize) -> Option<Flight> {
    let mut slot = shared.slots[number].lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let since = slot.as_ref()?.since;
    let late = shared.clock.monotonic().saturating_sub(since) > shared.timeout;
    if late { slot.take() } else { None }
}

fn abandon(shared: &Shared, flight: Flight, software: &Sender<Task>) {
    note_abandoned();
    add(&shared.counters.abandoned, 1);
    add(&shared.counters.fallback_blocks, 1);
    add(&shared.counters.fallback_bytes, flight.task.job.input.len());
    shared.trust.turn_off(format!("a request was not answered within {} s", shared.timeout.as_secs_f32()));
    // The engine waits for this thread before it ends its software workers, so somebody takes it.
    let _ = software.send(flight.task);
}
