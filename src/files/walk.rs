//! The walk: everything below the roots, depth first, names in byte order.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, OFlags, Statx, StatxFlags, statx};

use super::directory::{Directory, Names, Pool, begins_with};
use super::entry::{Entry, Owners, bare_node_of, device_of, node_of, target_of};
use super::path::Root;
use super::roots::Roots;
use super::selection::Selection;
use crate::format::NodeKind;

/// Bytes of directory entries asked for at once.
const LIST_BUFFER: usize = 64 << 10;

/// What [`Walker`] meets.
#[derive(Debug)]
pub enum Event {
    /// A directory, before what is in it; a [`Event::Leave`] follows in any case.
    Enter(Box<Entry>),
    /// Anything but a directory.
    Entry(Box<Entry>),
    /// The end of the directory entered last.
    Leave,
    /// Something that could not be looked at or listed.
    Unreadable(Unreadable),
}

/// What could not be read, and why.
#[derive(Debug)]
pub struct Unreadable {
    /// Absolute path.
    pub path: Vec<u8>,
    /// `NotFound` when it vanished (or was never there, for a root).
    pub error: io::Error,
    /// The path is one of the roots.
    pub root: bool,
}

/// What is wanted of a directory.
#[derive(Clone, Copy, Debug)]
enum Scope {
    /// Nothing but the way to the roots below.
    Passage,
    /// All that the selection allows; the path relative to the root begins at byte `base`.
    Selected { base: usize, device: u64 },
}

#[derive(Debug)]
struct Frame {
    directory: Option<Arc<Directory>>,
    names: Names,
    next: usize,
    /// Length of the directory's path.
    path: usize,
    branch: Option<usize>,
    scope: Scope,
    /// Names of the tag files found, when all other entries are left out because of them.
    tags: Vec<Vec<u8>>,
}

/// An iterator over all that is to be saved.
///
/// The directories above the roots are given too, as one tree from `/` down, flagged `ancestor`; `/` itself is not
/// given. Above a root, links are followed, because the user named them; below one, never. At most a few hundred
/// handles are open, however deep the tree and however many entries the caller holds. With `one_file_system`, only
/// directories are judged by their device.
#[derive(Debug)]
pub struct Walker {
    selection: Selection,
    roots: Roots,
    owners: Owners,
    frames: Vec<Frame>,
    path: Vec<u8>,
    pending: VecDeque<Event>,
    buffer: Vec<u8>,
}

impl Walker {
    /// A walk over `roots`; a root that lies below another one is met once.
    #[must_use]
    pub fn new(roots: &[Root], selection: Selection) -> Self {
        let mut walker = Self {
            selection,
            roots: Roots::new(roots),
            owners: Owners::default(),
            frames: Vec::new(),
            path: Vec::new(),
            pending: VecDeque::new(),
            buffer: Vec::with_capacity(LIST_BUFFER),
        };
        if let Err(error) = walker.start() {
            walker.pending.push_back(Event::Unreadable(Unreadable { path: b"/".to_vec(), error, root: true }));
        }
        walker
    }

    fn start(&mut self) -> io::Result<()> {
        let top = Directory::top(&Arc::new(Pool::default()))?;
        let whole = self.roots.get(Some(0)).is_some_and(|branch| branch.root);
        if !whole {
            self.push(Some(top), Scope::Passage, Some(0));
            return Ok(());
        }
        let device = device_of(&statx(&*top.handle()?, c".", AtFlags::empty(), StatxFlags::BASIC_STATS)?);
        let listed = Directory::open(&top, b".", OFlags::RDONLY)?;
        self.push(Some(listed), Scope::Selected { base: 1, device }, Some(0));
        Ok(())
    }

    /// Lists a directory that was just announced (its path stands in `self.path`) and makes it the current one.
    fn push(&mut self, directory: Option<Arc<Directory>>, scope: Scope, branch: Option<usize>) {
        let mut frame = Frame {
            directory,
            names: Names::default(),
            next: 0,
            path: self.path.len(),
            branch,
            scope,
            tags: Vec::new(),
        };
        if let (Scope::Selected { .. }, Some(directory)) = (scope, &frame.directory) {
            let listed = directory.handle().map(|handle| {
                let (names, result) = Names::read(&*handle, &mut self.buffer);
                let tagged = self.selection.tags.iter().filter(|tag| names.has(&tag.name));
                frame.tags = tagged
                    .filter(|tag| begins_with(&*handle, &tag.name, &tag.header))
                    .map(|t| t.name.clone())
                    .collect();
                frame.names = names;
                result
            });
            if let Err(error) = listed.and_then(|result| result) {
                let path = if self.path.is_empty() { b"/".to_vec() } else { self.path.clone() };
                self.pending.push_back(Event::Unreadable(Unreadable { path, error, root: false }));
            }
        }
        // Roots are met even where the listing does not show them, so that a missing one is reported.
        if let Some(branch) = self.roots.get(branch) {
            let hidden: Vec<_> = branch.names().filter(|name| !frame.names.has(name)).map(<[u8]>::to_vec).collect();
            for name in &hidden {
                frame.names.push(name, FileType::Unknown);
            }
            frame.names.sort();
        }
        self.frames.push(frame);
    }

    fn pop(&mut self) {
        let Some(left) = self.frames.pop() else { return };
        let Some(frame) = self.frames.last() else { return };
        self.path.truncate(frame.path);
        if let (Some(parent), Some(child)) = (&frame.directory, &left.directory) {
            parent.return_from(child);
        }
        if let Some(parent) = &frame.directory {
            parent.keep_open();
        }
        self.pending.push_back(Event::Leave);
    }

    /// Looks at the next name of the current directory; `None` when the walk is over.
    fn step(&mut self) -> Option<()> {
        let frame = self.frames.last_mut()?;
        self.path.truncate(frame.path);
        let Some((name, kind)) = frame.names.get(frame.next) else {
            self.pop();
            return Some(());
        };
        frame.next += 1;
        self.path.push(b'/');
        self.path.extend_from_slice(name);
        let branch = self.roots.child(frame.branch, name);
        let known = self.roots.get(branch);
        let (is_root, leads_on) = known.map_or((false, false), |branch| (branch.root, branch.leads_on()));
        let Some(directory) = frame.directory.clone() else {
            self.lost(&io::ErrorKind::PermissionDenied.into(), branch);
            return Some(());
        };
        let passes = matches!(frame.scope, Scope::Passage) && !is_root;
        let follows = passes || known.is_some_and(|branch| branch.follow);
        let visit = Visit {
            parent: directory,
            scope: frame.scope,
            branch,
            is_root,
            leads_on,
            links: if follows { Links::Follow } else { Links::Keep },
            hidden: !frame.tags.is_empty() && !frame.tags.iter().any(|tag| tag == name),
        };
        let name_at = frame.path + 1;
        if kind != FileType::Unknown && !visit.is_wanted(&self.selection, &self.path, kind == FileType::Directory) {
            return Some(());
        }
        match visit.look(&self.path[name_at..]) {
            Ok(stat) => self.meet(&visit, &stat, name_at),
            Err(error) if known.is_some() => self.lost(&error, branch),
            Err(error) => self.unreadable(error, false),
        }
        Some(())
    }

    fn unreadable(&mut self, error: io::Error, root: bool) {
        let path = self.path.clone();
        self.pending.push_back(Event::Unreadable(Unreadable { path, error, root }));
    }

    /// Tells of each root at and below the current path that it cannot be reached.
    fn lost(&mut self, error: &io::Error, branch: Option<usize>) {
        self.lost_paths(error, self.roots.at_and_below(branch));
    }

    fn lost_paths(&mut self, error: &io::Error, below: Vec<Vec<u8>>) {
        for below in below {
            let path = [self.path.as_slice(), &below].concat();
            let error = error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error);
            self.pending.push_back(Event::Unreadable(Unreadable { path, error, root: true }));
        }
    }

    fn meet(&mut self, visit: &Visit, stat: &Statx, name_at: usize) {
        let is_directory = FileType::from_raw_mode(u32::from(stat.stx_mode)) == FileType::Directory;
        if !visit.is_wanted(&self.selection, &self.path, is_directory) {
            return;
        }
        let device = device_of(stat);
        let scope = visit.scope_of(&self.selection, &self.path, is_directory, device);
        let name = &self.path[name_at..];
        let node = match scope {
            Scope::Passage => bare_node_of(name, stat),
            Scope::Selected { .. } => node_of(name, stat, &mut self.owners),
        };
        let Some(mut node) = node else {
            // A kind of entry that no format of this program knows.
            return self.unreadable(io::Error::other("its kind is unknown"), visit.is_root);
        };
        let is_named = visit.is_root || visit.leads_on || matches!(scope, Scope::Passage);
        if is_directory && !is_named && self.selection.leaves_out(device, stat.stx_ino) {
            return;
        }
        if !is_directory {
            let error = io::ErrorKind::NotADirectory.into();
            if visit.links == Links::Follow {
                // The user wrote a slash behind it, or named something below it.
                return self.lost(&error, visit.branch);
            }
            if visit.leads_on {
                let mut below = self.roots.at_and_below(visit.branch);
                below.retain(|path| !path.is_empty());
                self.lost_paths(&error, below);
            }
            let is_large = self.selection.largest.is_some_and(|largest| node.size > largest);
            if matches!(scope, Scope::Passage) || is_large && !visit.is_root {
                return;
            }
            if node.kind == NodeKind::Symlink {
                match target_of(&visit.parent, &node.name) {
                    Ok(target) => node.target = target,
                    Err(error) => return self.unreadable(error, visit.is_root),
                }
            }
        }
        let entry = Box::new(Entry {
            path: self.path.clone(),
            node,
            device,
            ancestor: matches!(scope, Scope::Passage),
            root: visit.is_root,
            allocated: u64::MAX,
            parent: Arc::clone(&visit.parent),
            own: None,
        });
        if is_directory {
            self.enter(visit, entry, scope);
        } else {
            self.pending.push_back(Event::Entry(entry));
        }
    }

    fn enter(&mut self, visit: &Visit, mut entry: Box<Entry>, scope: Scope) {
        let is_mount = match scope {
            Scope::Selected { device, .. } => self.selection.one_file_system && device != entry.device,
            Scope::Passage => false,
        };
        let scope = if is_mount { Scope::Passage } else { scope };
        let inode = (!entry.ancestor).then_some((entry.device, entry.node.inode));
        let opened = match (scope, visit.leads_on || !is_mount) {
            (Scope::Selected { .. }, _) => visit.open(&entry.node.name, OFlags::RDONLY, inode),
            (Scope::Passage, true) => visit.open(&entry.node.name, OFlags::PATH, inode),
            (Scope::Passage, false) => Ok(None),
        };
        let mut problem = None;
        let (directory, scope) = match opened {
            Ok(directory) => (directory, scope),
            Err(error) => {
                problem = Some(error);
                // What lies below may be reachable even where listing is forbidden.
                (visit.open(&entry.node.name, OFlags::PATH, inode).ok().flatten(), Scope::Passage)
            }
        };
        entry.own.clone_from(&directory);
        let is_root = entry.root;
        self.pending.push_back(Event::Enter(entry));
        if let Some(error) = problem {
            self.unreadable(error, is_root);
        }
        self.push(directory, scope, visit.branch);
    }
}

impl Iterator for Walker {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return Some(event);
            }
            self.step()?;
        }
    }
}

/// Whether a link standing for a directory is taken for what it points to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Links {
    Follow,
    Keep,
}

/// One name about to be looked at.
struct Visit {
    parent: Arc<Directory>,
    scope: Scope,
    branch: Option<usize>,
    is_root: bool,
    leads_on: bool,
    links: Links,
    /// Left out because of a tag file.
    hidden: bool,
}

impl Visit {
    fn is_excluded(&self, selection: &Selection, path: &[u8], is_directory: bool) -> bool {
        match self.scope {
            Scope::Passage => false,
            Scope::Selected { base, .. } => self.hidden || selection.excludes(path, base, is_directory),
        }
    }

    fn is_wanted(&self, selection: &Selection, path: &[u8], is_directory: bool) -> bool {
        self.is_root || self.leads_on || !self.is_excluded(selection, path, is_directory)
    }

    /// What is wanted of this entry, given that something is.
    fn scope_of(&self, selection: &Selection, path: &[u8], is_directory: bool, device: u64) -> Scope {
        let own = Scope::Selected { base: path.len() + 1, device };
        let excluded = self.is_excluded(selection, path, is_directory);
        match self.scope {
            Scope::Selected { device: above, .. } if self.is_root => {
                let crosses = selection.one_file_system && above != device;
                if excluded || crosses { own } else { self.scope }
            }
            Scope::Passage if self.is_root => own,
            Scope::Selected { .. } if excluded => Scope::Passage,
            scope => scope,
        }
    }

    fn look(&self, name: &[u8]) -> io::Result<Statx> {
        let follow = if self.links == Links::Follow { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        Ok(statx(&*self.parent.handle()?, name, follow | AtFlags::NO_AUTOMOUNT, wanted)?)
    }

    fn open(&self, name: &[u8], flags: OFlags, expected: Option<(u64, u64)>) -> io::Result<Option<Arc<Directory>>> {
        let nofollow = if self.links == Links::Follow { OFlags::empty() } else { OFlags::NOFOLLOW };
        let directory = Directory::open(&self.parent, name, flags | nofollow)?;
        if expected.is_some_and(|(device, inode)| !directory.is(device, inode)) {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the directory was replaced while it was read"));
        }
        Ok(Some(directory))
    }
}

#[cfg(test)]
mod tests;
