//! What is told of Intel QuickAssist: what the host has, why it is not used, and what it did.

use super::Context;
use crate::engine::qat::{Access, Device, Missing, Probe, QatEngine, QatSettings, load, named};
use crate::ui::{bytes, count};
use serde_json::{Value, json};
use std::path::Path;

/// Begins the use of the device, or says why not.
pub(super) fn start(settings: &QatSettings, context: &Context) -> Result<QatEngine, Missing> {
    let probe = Probe::of(&context.engine.root);
    for line in probe_lines(&probe) {
        context.output.reason(&line);
    }
    let (engine, found) = bring_up(&probe, settings, context)?;
    context.output.reason(&found);
    Ok(engine)
}

/// Begins the use of a device that a probe found; gives what was found of library and instances, too.
pub(super) fn bring_up(
    probe: &Probe,
    settings: &QatSettings,
    context: &Context,
) -> Result<(QatEngine, String), Missing> {
    if let Some(missing) = probe.missing.clone() {
        return Err(missing);
    }
    let (api, library) =
        load(context.engine.library.as_deref()).map_err(|(library, error)| unloadable(&library, &error))?;
    let engine = QatEngine::start(api, settings).map_err(|refusal| Missing {
        reason: format!("the library `{}` refuses: {refusal}", library.display()),
        hint: "see what the service `qat` and the kernel log say of the device; the CPU does the same work".to_owned(),
    })?;
    let instances = engine.instances().map_or("an unknown number of".to_owned(), |number| number.to_string());
    let workers = engine.workers();
    let found = format!(
        "quickassist library `{}`: {}, {instances} instances, {workers} workers",
        library.display(),
        api.version()
    );
    Ok((engine, found))
}

fn unloadable(library: &Path, error: &dyn std::fmt::Display) -> Missing {
    Missing {
        reason: format!("the library `{}` cannot be used: {error}", library.display()),
        hint: "install QATzip, or name its file in the variable NIGHTJAR_QATZIP_LIB".to_owned(),
    }
}

/// What was found, a line each.
pub(super) fn probe_lines(probe: &Probe) -> Vec<String> {
    let memlock = probe.memlock.map_or("no limit".to_owned(), bytes);
    let devices = probe.devices.iter().map(|device| format!("quickassist {}", device_line(device)));
    devices.chain([format!("quickassist memory that may be locked: {memlock}")]).collect()
}

fn device_line(device: &Device) -> String {
    let kind = if device.is_virtual { "virtual function" } else { "device" };
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
    let mut line = format!("{kind} {} {}, driver {}", device.address, device.model, text(&device.driver));
    if let Some(state) = &device.state {
        line.extend([format!(", {state}")]);
    }
    if let Some(services) = &device.services {
        line.extend([format!(", services {services}")]);
    }
    match &device.access {
        Some(Access::Granted(path)) => line.extend([format!(", `{}` may be opened", path.display())]),
        Some(Access::Denied(path)) => line.extend([format!(", `{}` may not be opened", path.display())]),
        Some(Access::Absent(path)) => line.extend([format!(", `{}` is not there", path.display())]),
        None => {}
    }
    line
}

/// The same for scripts.
pub(super) fn probe_record(probe: &Probe, missing: Option<&Missing>) -> Value {
    let devices = probe.devices.iter().map(|device| {
        let access = match &device.access {
            None => Value::Null,
            Some(Access::Granted(_)) => json!("granted"),
            Some(Access::Denied(_)) => json!("denied"),
            Some(Access::Absent(_)) => json!("absent"),
        };
        json!({
            "address": device.address, "model": device.model, "virtual": device.is_virtual, "driver": device.driver,
            "state": device.state, "services": device.services, "access": access,
        })
    });
    json!({
        "devices": devices.collect::<Vec<_>>(), "memlock_bytes": probe.memlock,
        "usable": missing.is_none(), "reason": missing.map(|m| &m.reason), "hint": missing.map(|m| &m.hint),
    })
}

/// What the device did, a line each.
pub(super) fn lines(engine: &QatEngine) -> Vec<String> {
    let c = engine.counters();
    let mut lines = vec![
        format!(
            "engine  qat, {} workers; {} of {} blocks offered were compressed there, {} into {}",
            engine.workers(),
            count(c.requests),
            count(c.offered),
            bytes(c.bytes_in),
            bytes(c.bytes_out)
        ),
        format!(
            "        on the CPU instead: {} incompressible, {} failed, {} abandoned; {} verified, {} of them wrong",
            count(c.incompressible),
            count(c.failed),
            count(c.abandoned),
            count(c.verified),
            count(c.verify_failed)
        ),
    ];
    if let Some(reason) = engine.off() {
        lines.push(format!("        no longer used: {reason}"));
    }
    lines
}

/// The same, and everything else that is counted, for scripts.
pub(super) fn record(engine: &QatEngine) -> Value {
    let counters = engine.counters();
    let mut record: serde_json::Map<String, Value> =
        counters.numbers().into_iter().map(|(name, number)| (name.to_owned(), json!(number))).collect();
    let failures = counters.failures.iter().map(|(code, number)| (code.to_string(), json!(number)));
    record.insert("failures".to_owned(), Value::Object(failures.collect()));
    record.insert("instances".to_owned(), json!(engine.instances()));
    record.insert("workers".to_owned(), json!(engine.workers()));
    record.insert("off".to_owned(), json!(engine.off()));
    Value::Object(record)
}

/// Names and meanings of what is counted.
pub(super) fn glossary() -> Vec<(&'static str, &'static str)> {
    named()
}
