//! The steps of a demo, one after the other.

use super::compare::Comparison;
use super::scratch::{Scratch, copy_tree};
use super::{Row, tree};
use crate::archive::{About, BackupRequest, ParentChoice, Source};
use crate::base::hex;
use crate::commands::{CommandError, Context, backup, init, restore, work};
use crate::crypto::Secret;
use crate::files::{Root, Selection};
use crate::format::FailedItem;
use crate::repo::{Repository, SnapshotList, init as make};
use crate::storage::LocalStorage;
use crate::ui::count;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use zeroize::Zeroizing;

/// The job that joins the two snapshots.
const JOB: &str = "demo";

/// A demo as far as it has come.
pub(super) struct Steps<'a> {
    context: &'a Context,
    scratch: &'a Scratch,
    password: Zeroizing<String>,
    roots: Vec<Root>,
    /// What happened.
    pub(super) rows: Vec<Row>,
    /// What could not be read.
    pub(super) failed: Vec<FailedItem>,
    entries: u64,
}

impl<'a> Steps<'a> {
    pub(super) fn new(scratch: &'a Scratch, path: Option<&Path>, context: &'a Context) -> Result<Self, CommandError> {
        let mut random = Zeroizing::new([0; 16]);
        let entropy = &context.environment.entropy;
        entropy.fill(&mut *random).map_err(|e| failed("choose a password", &e))?;
        let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        let mut roots = Vec::new();
        for path in [Some(scratch.path().join("source").as_path()), path].into_iter().flatten() {
            roots.push(Root::new(path, &here).map_err(|e| failed("find what is to be saved", &e))?);
        }
        Ok(Self {
            context,
            scratch,
            password: Zeroizing::new(hex::encode(&*random)),
            roots,
            rows: Vec::new(),
            failed: Vec::new(),
            entries: 0,
        })
    }

    /// Does all steps; gives what differs at the end.
    pub(super) fn run(&mut self) -> Result<Vec<String>, CommandError> {
        let source = self.path("source");
        self.timed("make files", |_| {
            tree::make(&source).map_err(|e| failed("make the files", &e))?;
            Ok((None, None, "texts, noise, a sparse file, links, odd names".to_owned()))
        })?;
        let repository = self.init()?;
        self.backup("first backup", &repository)?;
        tree::change(&source).map_err(|e| failed("change the files", &e))?;
        self.backup("second backup", &repository)?;
        drop(repository);
        let (from, nas) = (self.path("repository"), self.path("nas"));
        self.timed("copy to the NAS", |_| {
            let copied = copy_tree(&from, &nas).map_err(|e| failed("copy the repository", &e))?;
            let remark = "a plain copy in `nas/`, as a stand-in for replication".to_owned();
            Ok((Some(copied), None, remark))
        })?;
        self.restore(&nas)?;
        self.compare()
    }

    /// Entries that were compared.
    pub(super) fn compared(&self) -> String {
        format!("{} entries", count(self.entries))
    }

    /// Writes the password into the scratch folder; gives the file.
    pub(super) fn keep(&self) -> Result<PathBuf, CommandError> {
        let path = self.path("password");
        fs::write(&path, self.password.as_bytes()).map_err(|e| failed("write the password down", &e))?;
        let only_owner = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(&path, only_owner).map_err(|e| failed("write the password down", &e))?;
        Ok(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Does a step and keeps its row: the bytes it worked on, those it stored, and a remark.
    fn timed(
        &mut self,
        step: &'static str,
        work: impl FnOnce(&mut Self) -> Result<(Option<u64>, Option<(u64, u64)>, String), CommandError>,
    ) -> Result<Duration, CommandError> {
        if let Some(signal) = self.context.cancel.requested() {
            return Err(CommandError::Interrupted(signal));
        }
        self.context.output.note(&format!("{step} ..."));
        let clock = Arc::clone(&self.context.environment.clock);
        let start = clock.monotonic();
        let (worked, stored, remark) = work(self)?;
        let time = clock.monotonic().saturating_sub(start);
        self.rows.push(Row { step, time, worked, stored, remark });
        Ok(time)
    }

    fn init(&mut self) -> Result<Arc<Repository>, CommandError> {
        let mut made = None;
        self.timed("init", |steps| {
            let secret = Secret::new(steps.password.clone());
            let options = init::options(&init::Args::defaults(true), || Ok(secret), steps.context)?;
            let storage = Arc::new(LocalStorage::open(steps.path("repository")));
            let repository = make(storage, steps.context.environment.clone(), &options)?.repository;
            let remark = format!("{}, Argon2id with 64 MiB", repository.suite().as_str());
            made = Some(Arc::new(repository));
            Ok((None, None, remark))
        })?;
        Ok(made.expect("the step that ended well has made it"))
    }

    fn backup(&mut self, step: &'static str, repository: &Arc<Repository>) -> Result<(), CommandError> {
        self.timed(step, |steps| {
            let about = steps.about();
            let sealing = backup::sealing(steps.context, repository)?;
            let request = BackupRequest {
                source: Source::Paths { roots: steps.roots.clone(), selection: Selection::new() },
                parent: ParentChoice::Auto,
                compression: sealing.compression,
                about,
            };
            let report = backup::save(repository, request, &sealing, steps.context)?;
            let s = report.statistics;
            let files = format!("{} of {} files read", count(s.files_new + s.files_changed), count(s.files()));
            steps.failed = report.failed;
            Ok((Some(s.bytes_read), Some((s.bytes_stored, s.bytes_new)), files))
        })?;
        Ok(())
    }

    fn about(&self) -> About {
        let paths = self.roots.iter().map(|root| root.path.as_os_str().as_bytes().to_vec());
        About {
            host: self.context.environment.host.name.clone(),
            user: self.context.user.clone(),
            job: Some(JOB.to_owned()),
            tags: Vec::new(),
            paths: paths.collect(),
            options: Vec::new(),
            zone_seconds: 0,
            skip_if_unchanged: false,
            lamport: 0,
            accept_shrink: false,
            dry_run: false,
            readers: work::processors().min(4),
            checkpoint: Duration::from_mins(5),
            estimate: true,
        }
    }

    fn restore(&mut self, nas: &Path) -> Result<(), CommandError> {
        self.timed("restore from it", |steps| {
            let storage = Arc::new(LocalStorage::open(nas));
            let secret = Secret::new(steps.password.clone());
            let repository = Arc::new(Repository::open(storage, steps.context.environment.clone(), &secret)?);
            let list = SnapshotList::load(&repository)?;
            let newest = list.snapshots.last().ok_or_else(|| {
                CommandError::failed("could not restore", "the copy holds no snapshot", "report this with these lines")
            })?;
            let (index, _) = steps.context.index(&repository)?;
            let target = steps.path("restored");
            let report = restore::fetch(&repository, &index, (newest, b""), &target, steps.context)?;
            let remark = match report.failed.len() + report.damaged.len() {
                0 => format!("{} files, opened with the password alone", count(report.files)),
                n => format!("{} files, {} failed", count(report.files), count(n as u64)),
            };
            Ok((Some(report.bytes), None, remark))
        })?;
        Ok(())
    }

    fn compare(&mut self) -> Result<Vec<String>, CommandError> {
        let mut comparison = Comparison::default();
        self.timed("compare", |steps| {
            let left_out: BTreeSet<Vec<u8>> = steps.failed.iter().map(|item| item.path.clone()).collect();
            for root in &steps.roots {
                let below = root.path.strip_prefix("/").unwrap_or(&root.path);
                comparison.of(&root.path, &steps.path("restored").join(below), &left_out);
            }
            steps.entries = comparison.entries;
            let remark = format!("bytes and metadata of {} entries", count(comparison.entries));
            Ok((Some(comparison.bytes), None, remark))
        })?;
        Ok(comparison.differences)
    }
}

fn failed(what: &str, error: &io::Error) -> CommandError {
    CommandError::failed(
        format!("could not {what}"),
        error.to_string(),
        "choose another place for the scratch folder with `--dir`",
    )
}
