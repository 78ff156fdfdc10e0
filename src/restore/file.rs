//! One file on its way back: open, parked, or in its place.

use crate::files::{DirId, FileHandle, Part, Target, TargetError, write_sparse_at};
use crate::format::Node;
use crate::repo::RepoError;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Files kept open at once while they wait for more.
const OPEN_MAX: usize = 256;

/// Whether the target is full, or a quota on it.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// A piece that cannot be had.
#[derive(Clone, Debug)]
pub(super) struct Loss {
    pub(super) reason: String,
    /// Whether stored data is damaged, as opposed to out of reach.
    pub(super) damage: bool,
}

impl Loss {
    pub(super) fn damage(reason: String) -> Self {
        Self { reason, damage: true }
    }
}

impl From<RepoError> for Loss {
    fn from(error: RepoError) -> Self {
        Self { reason: error.to_string(), damage: error.is_damage() }
    }
}

/// A file that waits for pieces.
#[derive(Debug)]
pub(super) struct File {
    pub(super) dir: DirId,
    pub(super) node: Node,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    place: Place,
    /// Pieces still to come; the plan holds one more until it has planned them all.
    waiting: u64,
    /// Why the content is not whole.
    loss: Option<Loss>,
    /// Why the file cannot be written.
    trouble: Option<String>,
}

#[derive(Debug)]
enum Place {
    Nowhere,
    Open(FileHandle),
    Parked(Part),
}

/// What became of a file.
#[derive(Debug)]
pub(super) enum Fate {
    /// It is in its place; what of its metadata could not be set.
    Restored(Vec<TargetError>),
    /// Its content is not whole; what there is of it stands under another name.
    Lost(Loss),
    /// It could not be made.
    Failed(String),
}

/// Where files are restored, and how many are open.
#[derive(Debug)]
pub(super) struct Site<'t> {
    pub(super) target: &'t Target,
    open: AtomicUsize,
}

impl<'t> Site<'t> {
    pub(super) fn new(target: &'t Target) -> Self {
        Self { target, open: AtomicUsize::new(0) }
    }
}

impl File {
    pub(super) fn new(dir: DirId, node: Node) -> Self {
        let state = State { place: Place::Nowhere, waiting: 1, loss: None, trouble: None };
        Self { dir, node, state: Mutex::new(state) }
    }

    /// Counts a piece that will come.
    pub(super) fn expect_piece(&self) {
        self.lock().waiting += 1;
    }

    /// Whether pieces are still to come.
    pub(super) fn is_waiting(&self) -> bool {
        self.lock().waiting > 0
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Writes a piece, or notes why it cannot be had; the file's fate when it was the last.
    ///
    /// # Errors
    /// When the target is full.
    pub(super) fn piece(
        &self,
        site: &Site<'_>,
        offset: u64,
        bytes: Result<&[u8], Loss>,
    ) -> Result<Option<Fate>, io::Error> {
        let mut state = self.lock();
        match bytes {
            Ok(bytes) if state.trouble.is_none() => {
                if let Err(error) = self.write(&mut state, site, offset, bytes) {
                    if is_full(&error) {
                        return Err(error);
                    }
                    state.trouble = Some(error.to_string());
                }
            }
            Ok(_) => {}
            Err(loss) => state.loss = Some(loss),
        }
        Ok(self.arrived(&mut state, site))
    }

    /// Ends the planning of the file; its fate when no piece is outstanding.
    ///
    /// # Errors
    /// When the target is full.
    pub(super) fn planned(&self, site: &Site<'_>) -> Result<Option<Fate>, io::Error> {
        let mut state = self.lock();
        if state.waiting == 1
            && let Err(error) = self.ready(&mut state, site)
        {
            if is_full(&error) {
                return Err(error);
            }
            state.trouble = Some(error.to_string());
        }
        Ok(self.arrived(&mut state, site))
    }

    fn write(&self, state: &mut State, site: &Site<'_>, offset: u64, bytes: &[u8]) -> Result<(), io::Error> {
        self.ready(state, site)?;
        if let Place::Open(handle) = &state.place {
            write_sparse_at(&handle.file, offset, bytes)?;
        }
        Ok(())
    }

    /// Makes the file, or opens it again.
    fn ready(&self, state: &mut State, site: &Site<'_>) -> Result<(), io::Error> {
        let handle = match std::mem::replace(&mut state.place, Place::Nowhere) {
            Place::Open(handle) => {
                state.place = Place::Open(handle);
                return Ok(());
            }
            Place::Nowhere => site.target.create_file(self.dir, &self.node.name, self.node.size),
            Place::Parked(part) => site.target.resume(part),
        };
        site.open.fetch_add(1, Ordering::Relaxed);
        state.place = Place::Open(handle.map_err(|error| {
            site.open.fetch_sub(1, Ordering::Relaxed);
            error.source
        })?);
        Ok(())
    }

    fn arrived(&self, state: &mut State, site: &Site<'_>) -> Option<Fate> {
        state.waiting -= 1;
        let many = site.open.load(Ordering::Relaxed) > OPEN_MAX;
        let place = std::mem::replace(&mut state.place, Place::Nowhere);
        if state.waiting > 0 {
            state.place = match place {
                Place::Open(handle) if many => {
                    site.open.fetch_sub(1, Ordering::Relaxed);
                    Place::Parked(handle.park())
                }
                place => place,
            };
            return None;
        }
        let handle = match place {
            Place::Open(handle) => {
                site.open.fetch_sub(1, Ordering::Relaxed);
                Ok(handle)
            }
            Place::Parked(part) => site.target.resume(part).map_err(|error| error.to_string()),
            Place::Nowhere => Err("it could not be made".to_owned()),
        };
        Some(self.end(state, site.target, handle))
    }

    fn end(&self, state: &mut State, target: &Target, handle: Result<FileHandle, String>) -> Fate {
        match (state.loss.take(), state.trouble.take(), handle) {
            (Some(Loss { reason, damage }), _, Ok(handle)) => {
                let reason = match target.set_aside(handle) {
                    Ok(name) => format!("{reason}; what is left of it is in `{}`", String::from_utf8_lossy(&name)),
                    Err(error) => format!("{reason}; {error}"),
                };
                Fate::Lost(Loss { reason, damage })
            }
            (Some(loss), _, Err(_)) => Fate::Lost(loss),
            (None, Some(trouble), handle) => {
                if let Ok(handle) = handle {
                    target.discard(handle);
                }
                Fate::Failed(trouble)
            }
            (None, None, Ok(handle)) => match target.finish(handle, &self.node) {
                Ok(errors) => Fate::Restored(errors),
                Err(error) => Fate::Failed(error.to_string()),
            },
            (None, None, Err(trouble)) => Fate::Failed(trouble),
        }
    }
}
