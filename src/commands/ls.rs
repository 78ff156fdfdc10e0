//! `nightjar ls`: what is in a snapshot.

use super::named::{put_name, record};
use super::{CommandError, Context, Exit, when};
use crate::format::{Node, NodeKind};
use crate::repo::{ChunkReader, RepoError, SnapshotRef, TreeReader};
use crate::restore::{Selected, select};
use crate::ui::escape;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

/// Options of `ls`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Snapshot: the beginning of its id, `latest` or `latest~N`, with `:/path` for what is at or below a path
    #[arg(value_name = "SNAPSHOT[:/PATH]")]
    snapshot: OsString,
    /// Mode, owner, size, time and link target too
    #[arg(short, long)]
    long: bool,
}

/// Runs `ls`.
///
/// # Errors
/// When the repository, the snapshot or the path is not there. Damaged directories are told, and the rest is listed.
pub fn run(args: &Args, context: &Context) -> Result<Exit, CommandError> {
    let wanted = SnapshotRef::parse(args.snapshot.as_bytes())?;
    let repository = context.open()?;
    let (found, others_damaged) = context.find(&repository, &wanted)?;
    let (index, damaged) = context.index(&repository)?;
    let mut listing = Listing {
        context,
        long: args.long,
        reader: ChunkReader::new(&repository, &index),
        damaged: damaged || others_damaged,
    };
    let path = wanted.path.as_deref().unwrap_or_default();
    let selected = select(&mut listing.reader, &found.snapshot, path)?;
    listing.list(normal(path), selected)?;
    context.output.flush()?;
    context.tell_cache(&repository);
    Ok(if listing.damaged { Exit::Damage } else { Exit::Done })
}

/// A path inside a snapshot as it is shown: one `/` before each name, nothing for the root.
fn normal(path: &[u8]) -> Vec<u8> {
    let names = path.split(|b| *b == b'/').filter(|name| !name.is_empty() && *name != b".");
    names.flat_map(|name| [b"/", name].concat()).collect()
}

struct Listing<'a> {
    context: &'a Context,
    long: bool,
    reader: ChunkReader,
    damaged: bool,
}

impl Listing<'_> {
    /// Shows what was found at `path` and all below it, directory by directory, without recursion.
    fn list(&mut self, mut path: Vec<u8>, selected: Selected) -> Result<(), CommandError> {
        let mut open = Vec::new();
        match selected {
            Selected::Directory(tree, node) => {
                if let Some(node) = node {
                    self.show(&path, &node)?;
                }
                open.push((TreeReader::new(tree), path.len()));
            }
            Selected::Entry(node) => self.show(&path, &node)?,
        }
        while let Some((nodes, length)) = open.last_mut() {
            path.truncate(*length);
            match nodes.next(&mut self.reader) {
                Ok(Some(node)) => {
                    path.push(b'/');
                    path.extend_from_slice(&node.name);
                    self.show(&path, &node)?;
                    open.extend(node.tree.map(|tree| (TreeReader::new(tree), path.len())));
                }
                Ok(None) => drop(open.pop()),
                // The next call goes on behind the piece that is damaged.
                Err(error) if error.is_damage() => self.tell_damage(&path, &error),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn tell_damage(&mut self, path: &[u8], error: &RepoError) {
        self.damaged = true;
        let shown = if path.is_empty() { "/".to_owned() } else { escape(path) };
        let mut fields = record("warning");
        put_name(&mut fields, "path", if path.is_empty() { b"/" } else { path });
        self.context
            .output
            .warn_about(&format!("the directory `{shown}` cannot be listed whole: {error}"), Value::from(fields));
    }

    fn show(&self, path: &[u8], node: &Node) -> Result<(), CommandError> {
        let output = &self.context.output;
        if output.mode().json {
            output.record(&json_of(path, node))?;
        } else if self.long {
            output.line(&self.long_line(path, node))?;
        } else {
            output.line(&escape(path))?;
        }
        Ok(())
    }

    fn long_line(&self, path: &[u8], node: &Node) -> String {
        let name = |name: &Option<String>, id: u32| match name {
            Some(name) => escape(name.as_bytes()),
            None => id.to_string(),
        };
        let size = match node.kind {
            NodeKind::CharDevice | NodeKind::BlockDevice => format!("{}, {}", node.rdev.0, node.rdev.1),
            _ => node.size.to_string(),
        };
        let time = node.mtime.map_or_else(|| "-".to_owned(), |time| when::local(time, &self.context.zone));
        let target = match node.kind {
            NodeKind::Symlink => format!(" -> {}", escape(&node.target)),
            _ => String::new(),
        };
        format!(
            "{} {:<8} {:<8} {size:>12} {time:<26} {}{target}",
            mode_string(node),
            name(&node.user, node.uid),
            name(&node.group, node.gid),
            escape(path)
        )
    }
}

fn kind_name(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::File => "file",
        NodeKind::Directory => "directory",
        NodeKind::Symlink => "symlink",
        NodeKind::Fifo => "fifo",
        NodeKind::CharDevice => "char_device",
        NodeKind::BlockDevice => "block_device",
        NodeKind::Socket => "socket",
    }
}

/// Kind and permissions as `ls -l` writes them.
fn mode_string(node: &Node) -> String {
    let mut text = String::with_capacity(10);
    text.push(match node.kind {
        NodeKind::File => '-',
        NodeKind::Directory => 'd',
        NodeKind::Symlink => 'l',
        NodeKind::Fifo => 'p',
        NodeKind::CharDevice => 'c',
        NodeKind::BlockDevice => 'b',
        NodeKind::Socket => 's',
    });
    for (shift, special, mark) in [(6, 0o4000, 's'), (3, 0o2000, 's'), (0, 0o1000, 't')] {
        let bits = node.mode >> shift;
        let flag = |bit: u32, c: char| if bits & bit == 0 { '-' } else { c };
        text.push(flag(4, 'r'));
        text.push(flag(2, 'w'));
        text.push(match (node.mode & special != 0, bits & 1 != 0) {
            (true, true) => mark,
            (true, false) => mark.to_ascii_uppercase(),
            (false, _) => flag(1, 'x'),
        });
    }
    text
}

fn json_of(path: &[u8], node: &Node) -> Value {
    let mut fields = record("node");
    put_name(&mut fields, "path", path);
    let more = json!({
        "kind": kind_name(node.kind), "mode": node.mode, "permissions": mode_string(node),
        "uid": node.uid, "gid": node.gid, "user": node.user, "group": node.group, "size": node.size,
        "mtime": node.mtime.and_then(when::utc), "ctime": node.ctime.and_then(when::utc),
        "birth": node.birth.and_then(when::utc), "inode": node.inode, "links": node.links,
    });
    if let Value::Object(more) = more {
        fields.extend(more);
    }
    match node.kind {
        NodeKind::Symlink => put_name(&mut fields, "target", &node.target),
        NodeKind::CharDevice | NodeKind::BlockDevice => {
            fields.insert("major".to_owned(), json!(node.rdev.0));
            fields.insert("minor".to_owned(), json!(node.rdev.1));
        }
        _ => {}
    }
    Value::from(fields)
}

#[cfg(test)]
mod tests {
    use super::mode_string;
    use crate::format::{Node, NodeKind};

    #[test]
    fn modes_look_like_those_of_ls() {
        for (kind, mode, text) in [
            (NodeKind::File, 0o644, "-rw-r--r--"),
            (NodeKind::Directory, 0o1777, "drwxrwxrwt"),
            (NodeKind::File, 0o6755, "-rwsr-sr-x"),
            (NodeKind::File, 0o7000, "---S--S--T"),
            (NodeKind::Symlink, 0o777, "lrwxrwxrwx"),
        ] {
            let mut node = Node::new(b"x", kind);
            node.mode = mode;
            assert_eq!(mode_string(&node), text);
        }
    }
}
