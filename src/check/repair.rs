//! What can be done about damage, one step after the other, each of which leaves the repository no worse:
//!
//! 1. objects that are damaged or missing are fetched from another copy of the repository, bit for bit;
//! 2. packs that no index object names any more get into the index again, from their footers;
//! 3. the good blocks of damaged packs are stored again, and the damaged packs set aside;
//! 4. snapshots that have lost something are marked, with what is lost of them.

use super::known::Known;
use super::mend::{self, Mended};
use super::pack::PackReader;
use super::salvage::{self, Salvaged};
use super::survey::Survey;
use super::{CheckError, CheckReport, Damage, Sample, Verified, Watch, heal};
use crate::crypto::KeyError;
use crate::engine::Engine;
use crate::format::{Class, Header, IndexedPack};
use crate::repo::{Index, Marks, RepoError, Repository, Turn, take_turn};
use crate::storage::{Folder, ObjectName};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// What a repair is asked to do.
#[derive(Clone, Copy, Debug)]
pub struct RepairRequest<'r> {
    /// Another copy of the repository.
    pub from: Option<&'r Arc<Repository>>,
    /// Which packs are read to find damage inside them.
    pub sample: Option<Sample>,
    /// Whether to do it; otherwise it is only said what would be done.
    pub apply: bool,
    /// How long to wait for a prune or another repair to end.
    pub wait: Duration,
    /// After which time without renewal a prune counts as gone.
    pub grace: Duration,
}

/// What a repair did, or would do.
#[derive(Debug, Default)]
pub struct RepairReport {
    /// What was found before anything was done.
    pub before: CheckReport,
    /// Objects fetched from the other copy, with their lengths.
    pub fetched: Vec<(ObjectName, u64)>,
    /// Objects that could not be fetched.
    pub unfetched: Vec<Damage>,
    /// Packs that got into the index again.
    pub indexed: Vec<[u8; 32]>,
    /// Damaged packs whose good blocks were stored again.
    pub salvaged: Vec<Salvaged>,
    /// Objects that were set aside, each with why.
    pub aside: Vec<Damage>,
    /// Snapshots that have lost something.
    pub mended: Vec<Mended>,
    /// What could not be done.
    pub notes: Vec<String>,
    /// What is there afterwards; nothing when nothing was done.
    pub after: Option<CheckReport>,
}

impl RepairReport {
    /// Whether there was anything to do.
    #[must_use]
    pub fn is_needed(&self) -> bool {
        let lists =
            [self.fetched.len(), self.unfetched.len(), self.indexed.len(), self.salvaged.len(), self.aside.len()];
        self.before.is_damaged() || !self.mended.is_empty() || lists.into_iter().any(|length| length > 0)
    }

    /// Whether everything that was to be done is done.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.after.is_some() || !self.is_needed()
    }
}

/// Why a repair ended early.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// A prune or another repair is at work.
    #[error("a prune or another repair is at work: {0}")]
    Busy(String),
    /// Something could not be read this time, so what is lost cannot be known.
    #[error("{0}")]
    Unreadable(String),
    /// As for a check.
    #[error(transparent)]
    Check(#[from] CheckError),
}

impl From<RepoError> for RepairError {
    fn from(error: RepoError) -> Self {
        Self::Check(error.into())
    }
}

/// Everything a step needs.
pub(super) struct Work<'w> {
    pub(super) repository: &'w Arc<Repository>,
    pub(super) engine: &'w dyn Engine,
    pub(super) watch: &'w Watch,
    pub(super) apply: bool,
}

/// Finds what is damaged, and repairs it or says what would be done.
///
/// # Errors
/// [`RepairError`]. What was done until then stays done and is right as it is; run again, it goes on.
pub fn repair(
    repository: &Arc<Repository>,
    engine: &dyn Engine,
    request: &RepairRequest<'_>,
    verified: &mut Verified,
    watch: &Watch,
) -> Result<RepairReport, RepairError> {
    let lease = if request.apply {
        match take_turn(repository, "repair", (request.wait, request.grace), &watch.cancel)? {
            Turn::Mine(lease) => Some(lease),
            Turn::Busy(other) => return Err(RepairError::Busy(other)),
            Turn::Cancelled(signal) => return Err(CheckError::Cancelled(signal).into()),
        }
    } else {
        None
    };
    if request.apply {
        // Repositories of before have no place for what is set aside.
        repository.storage().prepare().map_err(RepoError::from)?;
    }
    let work = Work { repository, engine, watch, apply: request.apply };
    let mut known = Known::default();
    let mut survey = Survey::take(repository, request.sample.as_ref(), verified, &mut known, watch)?;
    let mut report = RepairReport { before: survey.report.clone(), ..RepairReport::default() };
    let again = |known: &mut Known, verified: &mut Verified| Survey::take(repository, None, verified, known, watch);
    refuse_uncertain(&work, &survey)?;
    if let Some(from) = request.from {
        heal::heal(&work, &survey, from, &mut report)?;
        for (name, _) in &report.fetched {
            name.hash().iter().for_each(|name| known.forget(name));
        }
        if work.apply && !report.fetched.is_empty() {
            survey = again(&mut known, verified)?;
            refuse_uncertain(&work, &survey)?;
        }
    }
    if index_again(&work, &survey, &mut known, &mut report)? && work.apply {
        survey = again(&mut known, verified)?;
        refuse_uncertain(&work, &survey)?;
    }
    set_aside(&work, &survey, &mut report);
    let fetched: HashSet<_> = report.fetched.iter().filter_map(|(name, _)| name.hash()).collect();
    survey.bad_packs.retain(|name| !fetched.contains(name));
    if salvage::salvage(&work, &survey, &mut report)? && work.apply {
        survey = again(&mut known, verified)?;
        refuse_uncertain(&work, &survey)?;
    }
    mend::mend(&work, &survey, &mut report)?;
    if work.apply && report.is_needed() {
        report.after = Some(again(&mut known, verified)?.report);
    }
    if let Some(lease) = lease {
        lease.end()?;
    }
    Ok(report)
}

/// What could not be read this time may be whole: nothing is done that would take it for lost.
fn refuse_uncertain(work: &Work<'_>, survey: &Survey) -> Result<(), RepairError> {
    let report = &survey.report;
    if !work.apply || !report.is_uncertain() {
        return Ok(());
    }
    let unread = report.unreadable.first().map(|damage| format!("`{}`: {}", damage.object, damage.reason));
    let lost = report.lost.iter().find(|lost| !lost.is_certain).map(|lost| lost.reason.clone());
    Err(RepairError::Unreadable(unread.or(lost).unwrap_or_default()))
}

/// Packs that stand and that no index object names, where some index object or chunk is missing: they get into the index
/// again. Says whether there were any.
fn index_again(
    work: &Work<'_>,
    survey: &Survey,
    known: &mut Known,
    report: &mut RepairReport,
) -> Result<bool, RepairError> {
    let index_damaged = survey.report.damage.iter().any(|damage| damage.object.starts_with("index/"));
    if !index_damaged && survey.report.lost.is_empty() {
        return Ok(false);
    }
    let marks = Marks::load(work.repository)?;
    let marked: HashSet<[u8; 32]> = marks.standing.iter().flat_map(|mark| mark.mark.packs.iter().copied()).collect();
    let fetched: HashSet<_> = report.fetched.iter().filter_map(|(name, _)| name.hash()).collect();
    let mut packs: Vec<IndexedPack> = Vec::new();
    for (name, length) in survey.unknown.iter().filter(|(name, _)| !marked.contains(name) && !fetched.contains(name)) {
        work.watch.check()?;
        match work.repository.read_footer(name, *length) {
            Ok(pack) => packs.push(pack),
            Err(error) if error.is_not_found() => {}
            Err(error) => report.notes.push(format!("a pack that is not in the index stays out of it: {error}")),
        }
    }
    if packs.is_empty() {
        return Ok(false);
    }
    // What is counted on must be right.
    let index = Index::of(packs.clone());
    let mut reader = PackReader::new(work.repository, &index, &work.watch.meter);
    for view in index.pack_views() {
        work.watch.check()?;
        known.note(view.name, &reader.read(&view)?, &index);
    }
    report.indexed.extend(packs.iter().map(|pack| pack.name));
    if work.apply {
        work.repository.put_index(packs)?;
    }
    Ok(true)
}

/// Sets aside what nobody can read and others stumble over: index objects, snapshots, key slots and configs, and packs that
/// are in no index.
fn set_aside(work: &Work<'_>, survey: &Survey, report: &mut RepairReport) {
    let folders = [Folder::Index, Folder::Snapshots, Folder::Forgotten, Folder::Keys, Folder::Config];
    let indexed: HashSet<[u8; 32]> = report.indexed.iter().copied().collect();
    let loose: HashSet<[u8; 32]> = survey.unknown.iter().map(|(name, _)| *name).collect();
    let is_loose = |name: &ObjectName| {
        let hash = name.hash().filter(|_| name.folder() == Folder::Packs);
        hash.is_some_and(|hash| loose.contains(&hash) && !indexed.contains(&hash))
    };
    let mut done = HashSet::new();
    for damage in &survey.report.damage {
        // What a damaged record of a settled lease said is lost: then its snapshots count, and what they lack is marked.
        let is_settled = |name: &ObjectName| name.folder() == Folder::Leases && name.base().ends_with("-honoured");
        let concerns = |name: &ObjectName| folders.contains(&name.folder()) || is_loose(name) || is_settled(name);
        let Some(name) = ObjectName::from_path(&damage.object).filter(concerns) else { continue };
        if !done.insert(name.clone()) {
            continue;
        }
        if report.fetched.iter().any(|(fetched, _)| *fetched == name) {
            continue;
        }
        if is_of_unknown_epoch(work.repository, &name) {
            report.notes.push(format!("`{name}` was sealed with a key that this key slot does not have, so it stays"));
            continue;
        }
        match if work.apply { work.repository.set_aside(&name) } else { Ok(()) } {
            Ok(()) => report.aside.push(damage.clone()),
            Err(error) if error.is_not_found() => {}
            Err(error) => report.notes.push(format!("`{name}` could not be set aside: {error}")),
        }
    }
}

/// Whether an object is whole and only the key for it is missing.
fn is_of_unknown_epoch(repository: &Repository, name: &ObjectName) -> bool {
    let Ok(bytes) = repository.storage().get(name) else { return false };
    let Ok(header) = Header::from_bytes(&bytes) else { return false };
    name.is_of(&bytes)
        && header.class != Class::KeySlot
        && matches!(repository.keys().find(&header), Err(KeyError::UnknownEpoch(_)))
}
