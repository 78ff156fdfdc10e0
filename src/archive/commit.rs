//! The parent at the beginning of a run, and the snapshot at its end.

use super::assemble::Saved;
use super::{About, ArchiveError, BackupReport, BackupRequest, ParentChoice};
use crate::format::{Snapshot, Time};
use crate::repo::{NamedSnapshot, RepoError, Repository, Session, SnapshotList};
use std::time::Duration;

/// With fewer files than these, half of them may well be removed in a day.
const FEWEST: u64 = 10;

/// What is known of the run when it ends.
#[derive(Debug)]
pub(super) struct Run<'k> {
    pub(super) time: Time,
    pub(super) began: Duration,
    pub(super) known: &'k SnapshotList,
    pub(super) parent: Option<NamedSnapshot>,
    /// Damage met on the way.
    pub(super) damage: Vec<String>,
}

/// The snapshot whose unchanged files are taken over.
pub(super) fn choose_parent(request: &BackupRequest, known: &SnapshotList) -> Result<Option<NamedSnapshot>, RepoError> {
    let about = &request.about;
    match &request.parent {
        ParentChoice::None => Ok(None),
        ParentChoice::Named(wanted) => known.find(wanted).map(|found| Some(found.clone())),
        ParentChoice::Auto => {
            let of_group = || known.snapshots.iter().rev().filter(|named| is_of_group(&named.snapshot, about));
            // One that lacks most of the files would have them all read again.
            let whole = of_group().find(|named| !named.snapshot.suspicious);
            Ok(whole.or_else(|| of_group().next()).cloned())
        }
    }
}

/// Whether a snapshot is one of those that this run goes on with.
fn is_of_group(snapshot: &Snapshot, about: &About) -> bool {
    let same_paths = snapshot.paths == about.paths;
    snapshot.host == about.host && snapshot.job == about.job && (about.job.is_some() || same_paths)
}

/// How many files the last snapshot of the group had that was as it should be, when less than half of them are there now.
fn shrunk_from(known: &SnapshotList, about: &About, now: u64) -> Option<u64> {
    let good = |snapshot: &Snapshot| is_of_group(snapshot, about) && !snapshot.partial && !snapshot.suspicious;
    let before = known.snapshots.iter().rev().find(|named| good(&named.snapshot))?.snapshot.statistics.files();
    (before >= FEWEST && now < before / 2).then_some(before)
}

/// Puts the snapshot and ends the lease.
pub(super) fn commit(
    session: Session,
    about: &About,
    run: Run<'_>,
    saved: Saved,
) -> Result<BackupReport, ArchiveError> {
    let repository = std::sync::Arc::clone(session.repository());
    let stored = session.stored();
    let mut statistics = saved.statistics;
    (statistics.chunks_new, statistics.bytes_new, statistics.bytes_stored) =
        (stored.chunks, stored.plain, stored.stored);
    let elapsed = repository.env().clock.monotonic().saturating_sub(run.began);
    statistics.nanos = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
    let unchanged = run.parent.as_ref().is_some_and(|parent| parent.snapshot.root == saved.root);
    let mut report = BackupReport {
        snapshot: None,
        statistics,
        failed: saved.failed,
        parent: run.parent,
        shrunk_from: shrunk_from(run.known, about, statistics.files()).filter(|_| !about.accept_shrink),
        unchanged,
        damage: run.damage,
        notes: Vec::new(),
    };
    let skipped = unchanged && about.skip_if_unchanged;
    if !about.dry_run && !skipped {
        let writer = writer_id(&repository);
        let before = run.known.snapshots.iter().filter(|n| n.snapshot.writer == writer && n.snapshot.job == about.job);
        let previous = before.max_by_key(|named| named.snapshot.sequence);
        let lamport = run.known.snapshots.iter().map(|named| named.snapshot.lamport).max().unwrap_or(0);
        let lamport = lamport.max(about.lamport);
        let mut snapshot = Snapshot {
            time: run.time,
            zone_seconds: about.zone_seconds,
            job: about.job.clone(),
            host: about.host.clone(),
            user: about.user.clone(),
            paths: about.paths.clone(),
            tags: about.tags.clone(),
            root: saved.root,
            parent: report.parent.as_ref().map(|parent| parent.name),
            program: concat!("nightjar ", env!("CARGO_PKG_VERSION")).to_owned(),
            options: about.options.clone(),
            statistics,
            failed: report.failed.clone(),
            partial: saved.partial,
            suspicious: report.shrunk_from.is_some(),
            lease: session.lease(),
            writer,
            sequence: previous.map_or(0, |named| named.snapshot.sequence).saturating_add(1),
            previous: previous.map(|named| named.name),
            lamport: lamport.saturating_add(1).min(Snapshot::LAMPORT_MAX),
            original: None,
        };
        snapshot.cut_to_limits();
        let made = repository.put_snapshot(&snapshot)?;
        session.confirm(&made.name)?;
        report.snapshot = Some(made);
    }
    if let Err(error) = session.end() {
        // The backup is made all the same; a lease that was not ended goes stale by itself.
        report.notes.push(format!("the lease of this run could not be ended: {error}"));
    }
    Ok(report)
}

/// The id of this host as a writer of this repository, from its name and its random machine id: the same on every run,
/// another for a clone with another name.
fn writer_id(repository: &Repository) -> [u8; 16] {
    let host = &repository.env().host;
    let mut hasher = blake3::Hasher::new_derive_key("nightjar v1 2026-12 writer");
    hasher.update(&repository.keys().repository());
    hasher.update(host.name.as_bytes());
    hasher.update(&[0]);
    hasher.update(host.machine.as_bytes());
    let mut id = [0; 16];
    id.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    id
}
