//! What backups and restores have in common: the engine, progress, and failed items.

use super::named::{put_name, record};
use super::{CommandError, Context};
use crate::base::meter::Meter;
use crate::engine::SoftwareEngine;
use crate::format::FailedItem;
use crate::ui::{Activity, Output, Progress, count, escape, several, words};
use serde_json::{Map, Value, json};
use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;

/// Failed items are named again at the end, up to this many.
const NAMED_AGAIN: usize = 20;

/// Processors that may be used.
pub(super) fn processors() -> usize {
    available_parallelism().map_or(1, NonZero::get)
}

/// The engine that all processors work for; each of its lanes may have `depth` blocks in flight, which bounds their memory.
pub(super) fn engine(depth: usize) -> Result<SoftwareEngine, CommandError> {
    SoftwareEngine::new(processors(), depth).map_err(|error| {
        CommandError::failed(
            "could not start working threads",
            error.to_string(),
            "raise the limits of processes and memory, and try again",
        )
    })
}

/// Says, with `-v`, how much memory the run has taken; gives it for the summary.
pub(super) fn peak_memory(output: &Output) -> Option<u64> {
    let peak = crate::base::host::peak_memory();
    if let Some(peak) = peak {
        output.detail(&format!("peak memory {}", crate::ui::bytes(peak)));
    }
    peak
}

/// Shows how far `meter` is until the result is dropped.
pub(super) fn progress(context: &Context, activity: Activity, meter: &Arc<Meter>) -> Progress {
    Progress::start(&context.output, activity, meter, &context.environment.clock)
}

fn fields(item: &FailedItem) -> Map<String, Value> {
    let mut fields = record("warning");
    put_name(&mut fields, "path", &item.path);
    fields.insert("reason".to_owned(), json!(words(&item.reason)));
    fields
}

fn line(item: &FailedItem) -> String {
    format!("`{}`: {}", escape(&item.path), words(&item.reason))
}

/// Tells of an item that failed just now.
pub(super) fn tell_failed(output: &Output, item: &FailedItem) {
    output.warn_about(&line(item), Value::from(fields(item)));
}

/// Names failed items again, so that they stand at the end of a log.
pub(super) fn tell_again(output: &Output, what: &str, items: &[FailedItem]) {
    // Programs that read JSON have seen them all.
    if items.is_empty() || output.mode().json {
        return;
    }
    let number = several(items.len() as u64, "item");
    output.warn(&format!("{number} {what}:"));
    for item in items.iter().take(NAMED_AGAIN) {
        output.warn(&format!("  {}", line(item)));
    }
    if items.len() > NAMED_AGAIN {
        output.warn(&format!("  and {} more", count((items.len() - NAMED_AGAIN) as u64)));
    }
}

/// Failed items for a summary.
pub(super) fn failed_records(items: &[FailedItem]) -> Vec<Value> {
    let records = items.iter().map(|item| {
        let mut fields = fields(item);
        fields.remove("type");
        Value::from(fields)
    });
    records.collect()
}
