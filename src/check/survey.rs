//! The whole check: one thing after the other, and what is known at the end.

use super::known::Known;
use super::pack::{PackReader, Shared, Verdict, on_threads};
use super::sample::Candidate;
use super::structure::{Gaps, Naming, Walk};
use super::{CheckError, CheckReport, Damage, LOST_MAX, Lost, Sample, Verified, Watch, scrub};
use crate::base::meter::Meter;
use crate::format::limits::RECORD_LEN_MAX;
use crate::repo::{
    Forgotten, Index, Marks, NamedSnapshot, PackView, RepoError, Repository, SnapshotList, list, list_packs,
};
use crate::storage::{Folder, ObjectMeta, ObjectName};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A check with what it knows, for those who act on it.
pub(super) struct Survey {
    pub(super) report: CheckReport,
    pub(super) ground: Shared,
    pub(super) gaps: Gaps,
    pub(super) snapshots: SnapshotList,
    /// Packs that are damaged, short or missing, by name.
    pub(super) bad_packs: HashSet<[u8; 32]>,
    /// Packs that stand and that no index object names, with their lengths.
    pub(super) unknown: Vec<([u8; 32], u64)>,
}

impl Survey {
    /// Checks. When something is damaged and the repository was changed meanwhile, it is looked at again: a prune removes
    /// what was listed before it.
    pub(super) fn take(
        repository: &Arc<Repository>,
        sample: Option<&Sample>,
        verified: &mut Verified,
        known: &mut Known,
        watch: &Watch,
    ) -> Result<Self, CheckError> {
        const ROUNDS: usize = 4;
        let mut sample = sample;
        let mut read = (0, 0);
        for round in 1.. {
            let before = standing(repository)?;
            let mut survey = Self::look(repository, sample, verified, known, watch)?;
            let index = before.iter().filter(|name| name.folder() == Folder::Index);
            survey.report.index_objects = index.count() as u64;
            read = (read.0 + survey.report.packs_read, read.1 + survey.report.bytes_read);
            let bad = survey.report.is_damaged() || survey.report.is_uncertain();
            if !bad || round == ROUNDS || standing(repository)? == before {
                (survey.report.packs_read, survey.report.bytes_read) = read;
                return Ok(survey);
            }
            // What was found inside packs is known by now.
            sample = None;
        }
        unreachable!("the last round returns")
    }

    fn look(
        repository: &Arc<Repository>,
        sample: Option<&Sample>,
        verified: &mut Verified,
        known: &mut Known,
        watch: &Watch,
    ) -> Result<Self, CheckError> {
        let mut report = CheckReport::default();
        records(repository, &mut report, watch)?;
        // In this order: what a snapshot needs was named before it stood, and what an index object names was put before.
        let mut snapshots = SnapshotList::load(repository)?;
        let mut forgotten = repository.forgotten()?;
        let trouble = snapshots.damaged.drain(..).chain(forgotten.damaged.drain(..));
        trouble.for_each(|error| report.note(&error));
        let (index, listed) = index_and_packs(repository)?;
        index.damaged().iter().for_each(|error| report.note(error));
        let index_unread = index.damaged().iter().any(|error| !error.is_damage());
        let mut survey = Self {
            report,
            ground: (Arc::clone(repository), Arc::new(index)),
            gaps: Gaps { index_unread, ..Gaps::default() },
            snapshots,
            bad_packs: HashSet::new(),
            unknown: Vec::new(),
        };
        survey.packs(&listed);
        let index = Arc::clone(&survey.ground.1);
        let found = known.apply(&index, &mut survey.gaps, &mut survey.report.damage);
        survey.bad_packs.extend(found);
        survey.read(sample, (verified, known), watch)?;
        survey.read_loose(sample.is_some(), known, watch)?;
        survey.trees(&forgotten, watch)?;
        survey.ground.1.check_sound()?;
        survey.report.damage.sort();
        survey.report.damage.dedup();
        Ok(survey)
    }

    /// Compares the packs that are named with those that are there.
    fn packs(&mut self, listed: &HashMap<[u8; 32], u64>) {
        let index = Arc::clone(&self.ground.1);
        let mut known = HashSet::new();
        for view in index.pack_views() {
            known.insert(view.name);
            self.report.packs += 1;
            self.report.pack_bytes += u64::from(view.length);
            let reason = match listed.get(&view.name) {
                Some(length) if *length == u64::from(view.length) => continue,
                Some(length) => format!("it has {length} bytes instead of {}", view.length),
                None => "it is not there".to_owned(),
            };
            let name = ObjectName::hashed(Folder::Packs, &view.name);
            self.report.damage.push(Damage::new(name, reason));
            self.bad_packs.insert(view.name);
            // What of a short pack is there can still be good.
            let there = listed.get(&view.name).copied().unwrap_or(0);
            let gone = view.blocks.clone().filter(|block| index.block_place(*block).range.end > there);
            self.gaps.add(gone.collect(), Vec::new());
        }
        self.unknown = listed.iter().filter(|(name, _)| !known.contains(*name)).map(|(n, l)| (*n, *l)).collect();
        self.unknown.sort_unstable();
        self.report.packs_unknown = self.unknown.len() as u64;
    }

    /// Reads the packs that were chosen.
    fn read(
        &mut self,
        sample: Option<&Sample>,
        (verified, known): (&mut Verified, &mut Known),
        watch: &Watch,
    ) -> Result<(), CheckError> {
        let index = Arc::clone(&self.ground.1);
        let repository = Arc::clone(&self.ground.0);
        let names: HashSet<[u8; 32]> = index.pack_views().map(|view| view.name).collect();
        verified.retain(|name| names.contains(name));
        let Some(sample) = sample else { return Ok(()) };
        let candidate = |what: PackView| Candidate { name: what.name, length: u64::from(what.length), what };
        let all = index.pack_views().filter(|view| !self.bad_packs.contains(&view.name)).map(candidate).collect();
        let mut turn = [0; 8];
        repository.env().entropy.fill(&mut turn).map_err(RepoError::from)?;
        let now = repository.env().now().seconds;
        let chosen = sample.choose(all, verified, now, u64::from_le_bytes(turn));
        // Those that are short are read as far as they go.
        let short = index.pack_views().filter(|view| self.bad_packs.contains(&view.name)).map(candidate);
        let short: Vec<_> = short.filter(|one| self.is_there(&one.what)).collect();
        let chosen: Vec<_> = chosen.into_iter().chain(short).collect();
        let total = chosen.iter().map(|one| one.length).sum();
        Meter::add(&watch.meter.bytes_total, total);
        Meter::add(&watch.meter.files_total, chosen.len() as u64);
        watch.meter.total_known.store(true, Ordering::Relaxed);
        let each = |(one, verdict): (&Candidate<PackView>, Verdict)| {
            self.report.packs_read += 1;
            self.report.bytes_read += one.length;
            if verdict.is_good() {
                verified.note(one.name, now);
            } else {
                verified.forget(&one.name);
            }
            known.note(one.name, &verdict, &index);
            self.weigh(one.name, verdict);
        };
        on_threads(watch.threads, &chosen, each, |keep, mine| {
            let mut reader = PackReader::new(&repository, &index, &watch.meter);
            for one in mine {
                watch.check()?;
                keep((one, reader.read(&one.what)?));
                Meter::add(&watch.meter.files_done, 1);
            }
            Ok(())
        })
    }

    /// Packs that no index object names are compared with their names, so that damage does not hide among them.
    fn read_loose(&mut self, asked: bool, known: &mut Known, watch: &Watch) -> Result<(), CheckError> {
        let storage = Arc::clone(self.ground.0.storage());
        let own = self.ground.0.config().repository;
        let each = |(name, outcome): ([u8; 32], Result<Vec<String>, RepoError>)| {
            let object = ObjectName::hashed(Folder::Packs, &name);
            let mut damage = Vec::new();
            scrub::sort(&object, outcome, &mut damage, &mut self.report.unreadable);
            if !damage.is_empty() {
                known.note_loose(name, damage);
            }
        };
        if asked {
            on_threads(watch.threads, &self.unknown, each, |keep, mine| {
                for (name, length) in mine {
                    watch.check()?;
                    let meta = ObjectMeta { name: ObjectName::hashed(Folder::Packs, name), length: *length };
                    keep((*name, scrub::object(&*storage, &meta, Some(&own), &watch.meter)));
                }
                Ok(())
            })?;
        }
        let found = self.unknown.iter().flat_map(|(name, _)| known.of_loose(name)).cloned();
        self.report.damage.extend(found);
        Ok(())
    }

    fn is_there(&self, view: &PackView) -> bool {
        view.blocks.clone().any(|block| !self.gaps.blocks.contains(&block))
    }

    fn weigh(&mut self, pack: [u8; 32], verdict: Verdict) {
        if !verdict.damage.is_empty() {
            self.bad_packs.insert(pack);
        }
        self.report.damage.extend(verdict.damage);
        self.report.unreadable.extend(verdict.unreadable);
        self.gaps.add(verdict.bad_blocks, verdict.bad_copies);
        self.gaps.unread.extend(verdict.unread);
    }

    /// Goes through all trees, and names what is lost.
    fn trees(&mut self, forgotten: &Forgotten, watch: &Watch) -> Result<(), CheckError> {
        self.report.snapshots = self.snapshots.snapshots.len() as u64;
        self.report.forgotten = forgotten.snapshots.len() as u64;
        let all = self.snapshots.snapshots.iter().chain(&forgotten.snapshots);
        let roots: Vec<_> = all.map(|named| named.snapshot.root).collect();
        let walk = Walk::new(&self.ground, &self.gaps, &watch.cancel);
        let lost = walk.run(&roots, watch.threads)?;
        self.report.directories = walk.directories.load(Ordering::Relaxed);
        self.report.entries = walk.entries.load(Ordering::Relaxed);
        if !lost {
            return Ok(());
        }
        let (mut found, mut more) = (Vec::new(), 0);
        let mut tell = |lost: Lost| if found.len() < LOST_MAX { found.push(lost) } else { more += 1 };
        let all = self.snapshots.snapshots.iter().chain(&forgotten.snapshots);
        let replaced = all.filter_map(|named| named.snapshot.original).collect();
        let mut naming = Naming::new(&self.ground, &self.gaps, &watch.cancel, replaced, &mut tell);
        let name = |naming: &mut Naming<'_>, of: &[NamedSnapshot], gone| {
            of.iter().try_for_each(|named| naming.snapshot(named, gone))
        };
        name(&mut naming, &self.snapshots.snapshots, false)?;
        name(&mut naming, &forgotten.snapshots, true)?;
        (self.report.lost, self.report.lost_more) = (found, more);
        Ok(())
    }
}

impl CheckReport {
    fn note(&mut self, error: &RepoError) {
        let place = if error.is_damage() { &mut self.damage } else { &mut self.unreadable };
        match error {
            RepoError::Damaged { object, reason } => place.push(Damage::new(object, reason)),
            RepoError::Storage(error) => place.push(Damage::new(&error.object, &error.source)),
            other => place.push(Damage::new("index", other)),
        }
    }
}

/// Reads all objects of one record, whose bytes must have the hash that is their name: configs, key slots and marks.
fn records(repository: &Repository, report: &mut CheckReport, watch: &Watch) -> Result<(), CheckError> {
    for folder in [Folder::Config, Folder::Keys] {
        for meta in list(&**repository.storage(), folder)? {
            watch.check()?;
            if meta.length > RECORD_LEN_MAX {
                report.damage.push(Damage::new(&meta.name, "it is longer than such an object can be"));
                continue;
            }
            let own = Some(&repository.config().repository);
            let outcome = scrub::object(&**repository.storage(), &meta, own, &watch.meter);
            scrub::sort(&meta.name, outcome, &mut report.damage, &mut report.unreadable);
        }
    }
    for error in Marks::load(repository)?.damaged {
        report.note(&error);
    }
    Ok(())
}

/// Names of what changes when somebody else is at work.
fn standing(repository: &Repository) -> Result<Vec<ObjectName>, CheckError> {
    let mut names = Vec::new();
    for folder in [Folder::Index, Folder::Snapshots, Folder::Forgotten] {
        names.extend(list(&**repository.storage(), folder)?.into_iter().map(|meta| meta.name));
    }
    Ok(names)
}

/// The index, and the packs that were there after it was read. A sweep takes packs off the index before it removes them,
/// so a pack that is named and missing is looked for in the index of later, a few times.
fn index_and_packs(repository: &Repository) -> Result<(Index, HashMap<[u8; 32], u64>), CheckError> {
    const ROUNDS: usize = 3;
    let mut round = 1;
    loop {
        let index = Index::load(repository)?;
        let listed = list_packs(&**repository.storage())?;
        if round == ROUNDS || index.pack_views().all(|view| listed.contains_key(&view.name)) {
            return Ok((index, listed));
        }
        round += 1;
    }
}
