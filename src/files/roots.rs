//! The roots of a walk as one tree of names, so that roots below one another are met once.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;

use super::path::Root;

/// A name on the way to a root, or a root.
#[derive(Debug, Default)]
pub(super) struct Branch {
    pub(super) root: bool,
    pub(super) follow: bool,
    children: BTreeMap<Vec<u8>, usize>,
}

impl Branch {
    /// Whether there are roots below.
    pub(super) fn leads_on(&self) -> bool {
        !self.children.is_empty()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.children.keys().map(Vec::as_slice)
    }
}

/// All branches; the first is `/`.
#[derive(Debug)]
pub(super) struct Roots(Vec<Branch>);

impl Roots {
    pub(super) fn new(roots: &[Root]) -> Self {
        let mut branches = vec![Branch::default()];
        for root in roots {
            let mut at = 0;
            let components = root.path.as_os_str().as_bytes().split(|b| *b == b'/').filter(|name| !name.is_empty());
            for name in components {
                let new = branches.len();
                at = *branches[at].children.entry(name.to_vec()).or_insert(new);
                if at == new {
                    branches.push(Branch::default());
                }
            }
            branches[at].root = true;
            branches[at].follow |= root.follow;
        }
        Self(branches)
    }

    pub(super) fn get(&self, branch: Option<usize>) -> Option<&Branch> {
        self.0.get(branch?)
    }

    pub(super) fn child(&self, branch: Option<usize>, name: &[u8]) -> Option<usize> {
        self.get(branch)?.children.get(name).copied()
    }

    /// The paths, relative to a branch, of the roots at and below it.
    pub(super) fn at_and_below(&self, branch: Option<usize>) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        let mut open: Vec<(usize, Vec<u8>)> = branch.map(|branch| (branch, Vec::new())).into_iter().collect();
        while let Some((at, path)) = open.pop() {
            let Some(branch) = self.0.get(at) else { continue };
            let below = branch.children.iter().rev();
            open.extend(below.map(|(name, child)| (*child, [path.as_slice(), b"/", name].concat())));
            if branch.root {
                found.push(path);
            }
        }
        found
    }
}
