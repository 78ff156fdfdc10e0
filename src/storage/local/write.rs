//! How a file becomes an object: a file in `tmp/`, its bytes made durable, its name given, the name made durable.

use super::calls::{Calls, reopening};
use super::temporary::Writer;
use super::{Folder, LocalStorage, ObjectName, PutMode, TEMPORARY, length_of, pack_folders};
use bytes::Bytes;
use rustix::io::Errno;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// How often a name may be found taken and then free again before we give up.
const PLACING_TRIES: u32 = 16;

/// How many names in `tmp/` are tried; taken ones are leftovers of writers that /proc told nothing about.
const NAMING_TRIES: u32 = 1000;

/// A put that writes nothing for so long has no writer any more, whoever it was.
const ABANDONED: Duration = Duration::from_hours(7 * 24);

/// Held between looking and renaming on file systems that cannot do both at once.
static PLACING: Mutex<()> = Mutex::new(());

/// A file in `tmp/`, removed when this is dropped.
struct Temporary<'a> {
    calls: &'a dyn Calls,
    path: PathBuf,
    file: File,
}

impl<'a> Temporary<'a> {
    fn create(calls: &'a dyn Calls, folder: &Path, writer: &Writer) -> io::Result<Self> {
        for _ in 0..NAMING_TRIES {
            let path = folder.join(writer.next_name());
            match reopening(|| calls.create(&path)) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                file => {
                    return Ok(Self { calls, file: file?, path });
                }
            }
        }
        Err(io::Error::other("no free name for a temporary file"))
    }

    /// Whether `target` is another name of this file.
    fn is(&self, target: &Path) -> io::Result<bool> {
        let (mine, other) = (self.file.metadata()?, fs::symlink_metadata(target));
        Ok(other.is_ok_and(|other| (mine.dev(), mine.ino()) == (other.dev(), other.ino())))
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        // What cannot be removed (an append-only folder) stays for a later sweep; the put itself is decided.
        let _ = self.calls.remove(&self.path);
    }
}

impl LocalStorage {
    /// Stores an object; when this returns without error, its bytes and its name are durable.
    pub(super) fn write(&self, name: &ObjectName, parts: &[Bytes], mode: PutMode) -> io::Result<()> {
        match self.write_once(name, parts, mode) {
            // A folder that was there before has gone: look again, make it.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                self.durable().clear();
                self.write_once(name, parts, mode)
            }
            written => written,
        }
    }

    fn write_once(&self, name: &ObjectName, parts: &[Bytes], mode: PutMode) -> io::Result<()> {
        let target = self.path(name);
        let folder = target.parent().unwrap_or(&self.root);
        let length = parts.iter().map(|part| part.len() as u64).sum();
        self.ensure_folder(folder)?;
        match (mode, length_of(&target)?) {
            (PutMode::Exclusive, Some(_)) => return Err(io::ErrorKind::AlreadyExists.into()),
            // Whoever put it may not have come as far as making its name durable.
            (PutMode::Keep, Some(there)) if there == length => return self.sync_folder(folder),
            _ => {}
        }
        let temporary_folder = self.root.join(TEMPORARY);
        self.ensure_folder(&temporary_folder)?;
        let writer = self.writer.get_or_init(Writer::this_process);
        let temporary = Temporary::create(&*self.calls, &temporary_folder, writer)?;
        self.swept.call_once(|| {
            // Files of the dead only take space; a put does not fail over them.
            let now = temporary.file.metadata().and_then(|metadata| metadata.modified());
            let _ = self.clear_ended_writers(now.ok());
        });
        for part in parts {
            self.calls.write(&temporary.file, part)?;
        }
        self.calls.sync_file(&temporary.file)?;
        self.place(&temporary, &target, length, mode)?;
        self.sync_folder(folder)
    }

    /// Gives a complete file its name.
    fn place(&self, temporary: &Temporary<'_>, target: &Path, length: u64, mode: PutMode) -> io::Result<()> {
        for _ in 0..PLACING_TRIES {
            match self.name_new(&temporary.path, target) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                named => return named,
            }
            // NFS: our own link, whose first answer was lost.
            if temporary.is(target)? {
                return Ok(());
            }
            match (mode, length_of(target)?) {
                (_, None) => {}
                (PutMode::Exclusive, Some(_)) => return Err(io::ErrorKind::AlreadyExists.into()),
                (PutMode::Keep, Some(there)) if there == length => return Ok(()),
                // Objects come into being whole, so one of another length is damaged.
                (PutMode::Keep, Some(_)) => return reopening(|| self.calls.rename(&temporary.path, target)),
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// Gives the file at `from` a name that nothing has, by the strictest way the file system knows.
    fn name_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        match reopening(|| self.calls.link(from, to)) {
            Err(e) if is_unsupported(&e) => {}
            linked => return linked,
        }
        match reopening(|| self.calls.rename_new(from, to)) {
            Err(e) if is_unsupported(&e) => {}
            renamed => return renamed,
        }
        self.exclusive.store(false, Ordering::Relaxed);
        let _one_at_a_time = PLACING.lock().unwrap_or_else(PoisonError::into_inner);
        match length_of(to)? {
            Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
            None => reopening(|| self.calls.rename(from, to)),
        }
    }

    /// Removes a file durably; its absence is success, once that is durable too (the answer of an earlier try, which
    /// did not come that far, was an error).
    pub(super) fn remove(&self, path: &Path) -> io::Result<()> {
        match reopening(|| self.calls.remove(path)) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            removed => removed?,
        }
        match self.sync_folder(path.parent().unwrap_or(&self.root)) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            synced => synced,
        }
    }

    /// Makes the top and all folders below it; every name is durable afterwards.
    pub(super) fn make_folders(&self) -> io::Result<()> {
        self.make_top()?;
        let mut made = vec![self.root.join(TEMPORARY)];
        made.extend(Folder::ALL.iter().map(|folder| self.root.join(folder.as_str())));
        for folder in &made {
            self.make_folder(folder)?;
        }
        self.sync_folder(&self.root)?;
        let packs = self.root.join(Folder::Packs.as_str());
        for digits in pack_folders() {
            let folder = packs.join(digits);
            self.make_folder(&folder)?;
            made.push(folder);
        }
        self.sync_folder(&packs)?;
        self.durable().extend(made);
        Ok(())
    }

    fn make_top(&self) -> io::Result<()> {
        let missing: Vec<&Path> = self.root.ancestors().take_while(|folder| !folder.exists()).collect();
        for folder in missing.iter().rev() {
            self.make_folder(folder)?;
            if let Some(parent) = folder.parent() {
                self.sync_folder(parent)?;
            }
        }
        match self.root.parent() {
            // Perhaps made just now by someone who has not come as far; a parent we may not read is the owner's care.
            Some(parent) if missing.is_empty() => match self.sync_folder(parent) {
                Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Ok(()),
                synced => synced,
            },
            _ => Ok(()),
        }
    }

    /// Makes sure that `folder`, somewhere below the top, is there and its name durable.
    fn ensure_folder(&self, folder: &Path) -> io::Result<()> {
        if folder == self.root || self.durable().contains(folder) {
            return Ok(());
        }
        let parent = folder.parent().unwrap_or(&self.root);
        self.ensure_folder(parent)?;
        if !folder.is_dir() {
            self.refuse_vanished_repository()?;
            self.make_folder(folder)?;
        }
        // Also when it was there: who made it may not have come as far.
        self.sync_folder(parent)?;
        self.durable().insert(folder.to_owned());
        Ok(())
    }

    /// A mount point whose disk was taken away must not be filled with folders.
    fn refuse_vanished_repository(&self) -> io::Result<()> {
        if self.root.join(Folder::Config.as_str()).is_dir() {
            return Ok(());
        }
        let text = "there is no repository here; is the file system mounted?";
        Err(io::Error::new(io::ErrorKind::NotFound, text))
    }

    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        match reopening(|| self.calls.make_folder(folder)) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
            made => made,
        }
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        reopening(|| self.calls.sync_folder(folder))
    }

    fn durable(&self) -> MutexGuard<'_, HashSet<PathBuf>> {
        self.durable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the files of ended writers from `tmp/`, and, where the time `now` of this file system is known, those
    /// that nobody has touched for longer than any put can take.
    pub(super) fn clear_ended_writers(&self, now: Option<SystemTime>) -> io::Result<u64> {
        let folder = self.root.join(TEMPORARY);
        let entries = match reopening(|| fs::read_dir(&folder)) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(0),
            entries => entries?,
        };
        let me = self.writer.get_or_init(Writer::this_process);
        let mut removed = 0;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let Some(text) = name.to_str() else { continue };
            let abandoned = Writer::of(text).is_some() && is_abandoned(&entry, now);
            if !abandoned && !me.knows_ended(text) {
                continue;
            }
            match self.calls.remove(&folder.join(&name)) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                done => {
                    done?;
                    removed += 1;
                }
            }
        }
        Ok(removed)
    }
}

/// Whether a file was last written so long before `now` that its writer must be gone.
fn is_abandoned(entry: &fs::DirEntry, now: Option<SystemTime>) -> bool {
    let modified = entry.metadata().and_then(|metadata| metadata.modified());
    let age = now.zip(modified.ok()).and_then(|(now, modified)| now.duration_since(modified).ok());
    age.is_some_and(|age| age > ABANDONED)
}

/// Whether a file system says in this way that it has no such call. EPERM is what FAT says to `link`.
fn is_unsupported(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::MLINK | Errno::XDEV)
    )
}
