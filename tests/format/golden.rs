//! Golden repositories: both suites and all codecs, written once, read by every later version and by the reader in Python.

use crate::{bless, fixed_world, fixtures, model, password, same_as_fixture};
use nightjar::codec::Compression;
use nightjar::crypto::Secret;
use nightjar::engine::SoftwareEngine;
use nightjar::format::{ChunkSizes, Config, Kdf, Snapshot, Statistics, Suite, Time};
use nightjar::repo::{
    ChunkReader, Index, InitOptions, Repository, Session, SessionOptions, SlotSecret, SnapshotList, init,
};
use nightjar::restore::{RestoreRequest, Watch, restore, select};
use nightjar::storage::LocalStorage;
use std::path::Path;
use std::sync::Arc;

const GOLDEN: [(&str, Suite, Compression); 8] = [
    ("aes-stored", Suite::Aes256Gcm, Compression::Off),
    ("aes-zstd", Suite::Aes256Gcm, Compression::Zstd(3)),
    ("aes-deflate", Suite::Aes256Gcm, Compression::Deflate(6)),
    ("aes-lz4", Suite::Aes256Gcm, Compression::Lz4),
    ("chacha-stored", Suite::ChaCha20Poly1305, Compression::Off),
    ("chacha-zstd", Suite::ChaCha20Poly1305, Compression::Zstd(19)),
    ("chacha-deflate", Suite::ChaCha20Poly1305, Compression::Deflate(9)),
    ("chacha-lz4", Suite::ChaCha20Poly1305, Compression::Lz4),
];

pub(crate) fn options(suite: Suite) -> InitOptions {
    InitOptions {
        config: Config {
            generation: 0,
            repository: [0; 16],
            chunks: ChunkSizes { min: 4 << 10, avg: 8 << 10, max: 16 << 10 },
            block: 64 << 10,
            data_pack: 1 << 20,
            tree_pack: 1 << 20,
            compression: "zstd:3".into(),
            created: Time { seconds: 0, nanos: 0 },
            reserve: 0,
        },
        suite,
        slot: SlotSecret {
            secret: password(),
            kdf: Kdf::Argon2id { memory_kib: 8 << 10, passes: 1, lanes: 1 },
            label: "password".into(),
        },
        recovery: true,
    }
}

pub(crate) fn snapshot(session: &Session, root: nightjar::format::ChunkId, sequence: u64) -> Snapshot {
    Snapshot {
        time: session.repository().env().now(),
        zone_seconds: 3600,
        job: Some("golden".into()),
        host: "golden".into(),
        user: "root".into(),
        paths: vec![b"/top".to_vec()],
        tags: vec!["a tag".into()],
        root,
        parent: None,
        program: "nightjar".into(),
        options: vec!["--exclude=*.o".into()],
        statistics: Statistics { files_new: 1516, ..Statistics::default() },
        failed: vec![],
        partial: false,
        suspicious: false,
        lease: session.lease(),
        writer: [9; 16],
        sequence,
        previous: None,
        lamport: sequence,
        original: None,
    }
}

fn write(path: &Path, suite: Suite, compression: Compression) {
    let _ = std::fs::remove_dir_all(path);
    let env = fixed_world(suite as u64 * 100 + compression.to_string().len() as u64);
    let made = init(Arc::new(LocalStorage::open(path)), env, &options(suite)).unwrap();
    std::fs::write(path.join("recovery-key.txt"), format!("{}\n", *made.recovery.unwrap().to_text())).unwrap();
    let repository = Arc::new(made.repository);
    let engine = SoftwareEngine::new(1, 4).unwrap();
    let work = SessionOptions { compression, uploads: 1, dry_run: false };
    let mut session = Session::start(&repository, &engine, work, "backup").unwrap();
    let root = model::store(&mut session);
    session.checkpoint().unwrap();
    let first = repository.put_snapshot(&snapshot(&session, root, 1)).unwrap();
    let second = snapshot(&session, root, 2);
    repository.put_snapshot(&Snapshot { parent: Some(first.name), previous: Some(first.name), ..second }).unwrap();
    session.end().unwrap();
}

#[test]
fn the_manifest_is_what_the_model_says() {
    same_as_fixture("golden/manifest.txt", &model::manifest());
}

#[test]
fn every_golden_repository_restores_to_the_model() {
    for (name, suite, compression) in GOLDEN {
        let path = fixtures().join("golden").join(name);
        if bless().is_some_and(|what| what == "golden") {
            write(&path, suite, compression);
        }
        let recovery = std::fs::read_to_string(path.join("recovery-key.txt")).unwrap();
        let storage = Arc::new(LocalStorage::open(&path));
        let secret = Secret::new(recovery.trim().to_owned().into());
        Repository::open(storage.clone(), fixed_world(1), &secret).unwrap();
        let repository = Arc::new(Repository::open(storage, fixed_world(1), &password()).unwrap());
        assert_eq!(repository.suite(), suite);
        assert_eq!(restored(&repository), model::manifest(), "{name}");
    }
}

/// Restores the newest snapshot and describes what is there then.
fn restored(repository: &Arc<Repository>) -> String {
    let index = Arc::new(Index::load(repository).unwrap());
    assert!(index.damaged().is_empty());
    let list = SnapshotList::load(repository).unwrap();
    assert_eq!(list.snapshots.len(), 2);
    let newest = &list.snapshots[1].snapshot;
    assert_eq!((newest.sequence, newest.parent), (2, Some(list.snapshots[0].name)));
    let selected = select(&mut ChunkReader::new(repository, &index), newest, b"/").unwrap();
    let target = tempfile::tempdir().unwrap();
    let engine = SoftwareEngine::new(2, 4).unwrap();
    let request = RestoreRequest { selected, target: target.path().into(), readers: 2 };
    let watch = Watch { meter: Arc::default(), cancel: nightjar::base::cancel::Cancel::default(), failed: &|_| {} };
    let report = restore(repository, &index, &engine, &request, &watch).unwrap();
    assert!(report.damaged.is_empty(), "{:?}", report.damaged);
    let top = target.path().join("top");
    let mut lines = String::new();
    found::describe(&top, "", &mut lines);
    lines
}

/// Describes what lies in the file system in the words of the manifest.
mod found {
    use std::fmt::Write as _;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    use std::path::Path;

    pub(super) fn describe(path: &Path, above: &str, lines: &mut String) {
        let mut shown = format!("{above}/");
        for byte in path.file_name().unwrap().as_bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => shown.push(char::from(*byte)),
                other => write!(shown, "%{other:02x}").unwrap(),
            }
        }
        let meta = path.symlink_metadata().unwrap();
        let kind = meta.file_type();
        let (name, hash) = if kind.is_dir() {
            ("Directory", "-".to_owned())
        } else if kind.is_symlink() {
            let target = std::fs::read_link(path).unwrap();
            ("Symlink", nightjar::base::hex::encode(target.as_os_str().as_bytes()))
        } else if kind.is_file() {
            ("File", blake3::hash(&std::fs::read(path).unwrap()).to_hex().to_string())
        } else if kind.is_fifo() {
            ("Fifo", "-".to_owned())
        } else if kind.is_socket() {
            ("Socket", "-".to_owned())
        } else if kind.is_block_device() {
            ("BlockDevice", "-".to_owned())
        } else {
            ("CharDevice", "-".to_owned())
        };
        let size = if kind.is_file() { meta.size() } else { 0 };
        let nanos = i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec());
        writeln!(lines, "{shown} {name} {:o} {size} {nanos} {hash}", meta.mode() & 0o7777).unwrap();
        if kind.is_dir() {
            let mut below: Vec<_> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
            below.sort_by(|a, b| a.as_os_str().as_bytes().cmp(b.as_os_str().as_bytes()));
            for entry in below {
                describe(&entry, &shown, lines);
            }
        }
    }
}
