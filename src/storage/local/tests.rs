//! The order of system calls, and what remains when one of them fails.

use super::calls::{Calls, SystemCalls};
use super::{Folder, LocalStorage, ObjectName, PutMode, Storage, StorageFault};
use bytes::Bytes;
use rustix::io::Errno;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// What was called, and what shall fail: call, how often, with what.
#[derive(Debug, Default)]
struct Script {
    log: Mutex<Vec<String>>,
    failing: Mutex<Vec<(&'static str, u32, Errno)>>,
}

/// The system's calls, recorded and failing as scripted.
#[derive(Clone, Debug)]
struct Recorder(Arc<Script>, std::path::PathBuf);

impl Recorder {
    fn note(&self, call: &'static str, path: Option<&Path>) -> io::Result<()> {
        let path = path.map_or(String::new(), |path| {
            let path = path.strip_prefix(&self.1).unwrap_or(path).to_string_lossy().into_owned();
            match path.strip_prefix("tmp/") {
                Some(_) => " tmp/*".to_owned(),
                None => format!(" {path}"),
            }
        });
        self.0.log.lock().unwrap().push(format!("{call}{path}"));
        for (failing, left, errno) in self.0.failing.lock().unwrap().iter_mut() {
            if *failing == call && *left > 0 {
                *left -= 1;
                return Err((*errno).into());
            }
        }
        Ok(())
    }
}

impl Calls for Recorder {
    fn open(&self, path: &Path) -> io::Result<File> {
        self.note("open", Some(path))?;
        SystemCalls.open(path)
    }
    fn create(&self, path: &Path) -> io::Result<File> {
        self.note("create", Some(path))?;
        SystemCalls.create(path)
    }
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        self.note("write", None)?;
        SystemCalls.write(file, bytes)
    }
    fn sync_file(&self, file: &File) -> io::Result<()> {
        self.note("sync_file", None)?;
        SystemCalls.sync_file(file)
    }
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.note("link", Some(to))?;
        SystemCalls.link(from, to)
    }
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.note("rename_new", Some(to))?;
        SystemCalls.rename_new(from, to)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.note("rename", Some(to))?;
        SystemCalls.rename(from, to)
    }
    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.note("sync_folder", Some(path))?;
        SystemCalls.sync_folder(path)
    }
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.note("make_folder", Some(path))?;
        SystemCalls.make_folder(path)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.note("remove", Some(path))?;
        SystemCalls.remove(path)
    }
}

/// A prepared storage whose calls are recorded from here on.
struct Bench {
    scratch: TempDir,
    script: Arc<Script>,
    storage: LocalStorage,
}

impl Bench {
    fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let script = Arc::<Script>::default();
        let recorder = Recorder(Arc::clone(&script), scratch.path().to_owned());
        let storage = LocalStorage::with_calls(scratch.path().to_owned(), Box::new(recorder));
        storage.prepare().unwrap();
        let bench = Self { scratch, script, storage };
        bench.log();
        bench
    }

    fn fail(&self, call: &'static str, times: u32, errno: Errno) {
        self.script.failing.lock().unwrap().push((call, times, errno));
    }

    /// The calls since this was asked last.
    fn log(&self) -> Vec<String> {
        std::mem::take(&mut *self.script.log.lock().unwrap())
    }

    fn put(&self, bytes: &'static [u8], mode: PutMode) -> Result<(), StorageFault> {
        self.storage.put(&name(), &[Bytes::from_static(bytes)], mode).map_err(|e| e.fault)
    }

    fn get(&self) -> Result<Bytes, StorageFault> {
        self.storage.get(&name()).map_err(|e| e.fault)
    }

    fn leftovers(&self) -> usize {
        fs::read_dir(self.scratch.path().join("tmp")).unwrap().count()
    }
}

fn name() -> ObjectName {
    ObjectName::hashed(Folder::Index, &[1; 32])
}

#[test]
fn a_put_answers_only_after_bytes_then_name_are_durable() {
    let bench = Bench::new();
    bench.put(b"bytes", PutMode::Exclusive).unwrap();
    let path = name().path();
    assert_eq!(
        bench.log(),
        ["create tmp/*", "write", "sync_file", &format!("link {path}"), "sync_folder index", "remove tmp/*"]
    );
    bench.put(b"bytes", PutMode::Keep).unwrap();
    assert_eq!(bench.log(), ["sync_folder index"], "an object that is there may not be durable yet");
}

#[test]
fn a_delete_answers_only_after_the_name_is_durably_gone() {
    let bench = Bench::new();
    bench.put(b"bytes", PutMode::Keep).unwrap();
    bench.log();
    bench.storage.delete(&name()).unwrap();
    assert_eq!(bench.log(), [format!("remove {}", name().path()), "sync_folder index".into()]);
}

#[test]
fn a_deletion_that_did_not_become_durable_is_made_so_by_a_retry() {
    let bench = Bench::new();
    bench.put(b"bytes", PutMode::Keep).unwrap();
    bench.fail("sync_folder", 1, Errno::IO);
    assert_eq!(bench.storage.delete(&name()).unwrap_err().fault, StorageFault::Transient);
    bench.log();
    bench.storage.delete(&name()).unwrap();
    assert_eq!(bench.log().last().unwrap(), "sync_folder index");
    fs::remove_dir(bench.scratch.path().join("index")).unwrap();
    bench.storage.delete(&name()).unwrap();
}

#[test]
fn folders_are_durable_before_anything_lies_in_them() {
    let bench = Bench::new();
    let pack = ObjectName::hashed(Folder::Packs, &[0xab; 32]);
    // Opened anew, the storage does not know whether whoever made the folders came as far as making them durable.
    let recorder = Recorder(Arc::clone(&bench.script), bench.scratch.path().to_owned());
    let storage = LocalStorage::with_calls(bench.scratch.path().to_owned(), Box::new(recorder));
    fs::remove_dir(bench.scratch.path().join("packs/ab")).unwrap();
    storage.put(&pack, &[], PutMode::Keep).unwrap();
    let log = bench.log();
    let made = log.iter().position(|call| call == "make_folder packs/ab").unwrap();
    assert_eq!(log[made - 1], "sync_folder ", "the name of packs/");
    assert_eq!(log[made + 1], "sync_folder packs", "the name of packs/ab/");
    assert!(log[made + 2..].contains(&format!("link {}", pack.path())));
    storage.delete(&pack).unwrap();
    bench.log();
    storage.put(&pack, &[], PutMode::Keep).unwrap();
    let folders = bench.log().iter().filter(|call| call.starts_with("sync_folder")).count();
    assert_eq!(folders, 1, "once known, not again");
}

#[test]
fn a_folder_that_went_away_is_made_again_but_a_whole_repository_is_not() {
    let bench = Bench::new();
    fs::remove_dir(bench.scratch.path().join("index")).unwrap();
    fs::remove_dir(bench.scratch.path().join("tmp")).unwrap();
    bench.put(b"bytes", PutMode::Exclusive).unwrap();
    assert_eq!(bench.get().unwrap(), "bytes");

    let moved = bench.scratch.path().join("moved");
    fs::create_dir(&moved).unwrap();
    for folder in ["config", "index", "tmp", "packs"] {
        fs::rename(bench.scratch.path().join(folder), moved.join(folder)).unwrap();
    }
    assert_eq!(bench.put(b"bytes", PutMode::Keep), Err(StorageFault::Other));
    assert!(!bench.scratch.path().join("index").exists(), "a mount point must stay empty");
}

#[test]
fn any_failing_call_leaves_no_object_and_no_temporary_file() {
    let bench = Bench::new();
    for call in ["create", "write", "sync_file", "link"] {
        for (errno, fault) in [
            (Errno::NOSPC, StorageFault::NoSpace),
            (Errno::DQUOT, StorageFault::NoSpace),
            (Errno::IO, StorageFault::Transient),
            (Errno::ACCESS, StorageFault::Denied),
            (Errno::NOENT, StorageFault::Other),
        ] {
            // Twice, since a missing folder and a stale handle are tried again once.
            bench.fail(call, 2, errno);
            assert_eq!(bench.put(b"bytes", PutMode::Keep), Err(fault), "{call} {errno}");
            assert_eq!(bench.get(), Err(StorageFault::NotFound), "{call} {errno}");
            assert_eq!(bench.leftovers(), 0, "{call} {errno}");
            bench.script.failing.lock().unwrap().clear();
        }
    }
}

#[test]
fn a_name_that_did_not_become_durable_is_no_success_and_a_retry_makes_it_so() {
    let bench = Bench::new();
    bench.fail("sync_folder", 1, Errno::IO);
    assert_eq!(bench.put(b"bytes", PutMode::Keep), Err(StorageFault::Transient));
    bench.log();
    bench.put(b"bytes", PutMode::Keep).unwrap();
    assert_eq!(bench.log(), ["sync_folder index"]);
    assert_eq!(bench.leftovers(), 0);
}

#[test]
fn without_hard_links_a_rename_that_replaces_nothing_serves() {
    let bench = Bench::new();
    bench.fail("link", u32::MAX, Errno::PERM);
    bench.put(b"bytes", PutMode::Exclusive).unwrap();
    assert_eq!(bench.log()[3..5], [format!("link {}", name().path()), format!("rename_new {}", name().path())]);
    assert_eq!(bench.put(b"other", PutMode::Exclusive), Err(StorageFault::Exists));
    assert_eq!(bench.get().unwrap(), "bytes");
    assert!(bench.storage.capabilities().exclusive_create);
    assert_eq!(bench.leftovers(), 0);
}

/// A file system that can neither link nor rename without replacing; eight writers come as far together.
#[derive(Debug)]
struct Plain(std::sync::Barrier);

impl Calls for Plain {
    fn link(&self, _: &Path, _: &Path) -> io::Result<()> {
        Err(Errno::OPNOTSUPP.into())
    }
    fn rename_new(&self, _: &Path, _: &Path) -> io::Result<()> {
        self.0.wait();
        Err(Errno::INVAL.into())
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        // Lets the others look now, if nothing keeps them from it.
        (0..100).for_each(|_| std::thread::yield_now());
        SystemCalls.rename(from, to)
    }
}

#[test]
fn without_either_a_look_and_a_rename_serve_and_the_storage_says_that_it_is_weaker() {
    let scratch = tempfile::tempdir().unwrap();
    let plain = Box::new(Plain(std::sync::Barrier::new(8)));
    let storage = LocalStorage::with_calls(scratch.path().to_owned(), plain);
    storage.prepare().unwrap();
    for round in 0..20 {
        let name = ObjectName::lease(&[1; 16], round);
        let told: Vec<bool> = std::thread::scope(|scope| {
            let put = || storage.put(&name, &[], PutMode::Exclusive).is_ok();
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(put)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(told.iter().filter(|won| **won).count(), 1, "{told:?}");
    }
    assert!(!storage.capabilities().exclusive_create);
    assert_eq!(fs::read_dir(scratch.path().join("tmp")).unwrap().count(), 0);
}

#[test]
fn a_stale_file_handle_is_opened_again_once() {
    let bench = Bench::new();
    for call in ["create", "link", "sync_folder", "open"] {
        bench.fail(call, 1, Errno::STALE);
    }
    bench.put(b"bytes", PutMode::Exclusive).unwrap();
    assert_eq!(bench.get().unwrap(), "bytes");
    bench.fail("open", 2, Errno::STALE);
    assert_eq!(bench.get(), Err(StorageFault::Transient), "never that it is not there");
}

/// Links, and answers as an NFS client does whose first answer was lost on the way.
#[derive(Debug)]
struct LostAnswer;

impl Calls for LostAnswer {
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        SystemCalls.link(from, to)?;
        Err(Errno::EXIST.into())
    }
}

#[test]
fn our_own_link_whose_answer_was_lost_is_not_taken_for_anothers() {
    let scratch = tempfile::tempdir().unwrap();
    let storage = LocalStorage::with_calls(scratch.path().to_owned(), Box::new(LostAnswer));
    storage.prepare().unwrap();
    storage.put(&name(), &[], PutMode::Exclusive).unwrap();
    let again = storage.put(&name(), &[], PutMode::Exclusive);
    assert_eq!(again.unwrap_err().fault, StorageFault::Exists);
}

#[test]
fn the_first_put_clears_files_of_ended_writers_and_no_others() {
    let bench = Bench::new();
    let tmp = bench.scratch.path().join("tmp");
    let me = super::Writer::this_process().next_name();
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let pid = child.id();
    child.wait().unwrap();
    let parts: Vec<&str> = me.split('-').collect();
    let ended = format!("{}-{pid}-{}-0.tmp", parts[0], parts[2]);
    let elsewhere = format!("{}-{pid}-{}-0.tmp", "00".repeat(16), parts[2]);
    let abandoned = format!("{}-{pid}-{}-1.tmp", "00".repeat(16), parts[2]);
    for file in [me.as_str(), &ended, &elsewhere, &abandoned, "notes.txt"] {
        fs::write(tmp.join(file), "").unwrap();
    }
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_hours(1);
    for file in [&abandoned, "notes.txt"] {
        File::options().write(true).open(tmp.join(file)).unwrap().set_modified(long_ago).unwrap();
    }
    LocalStorage::open(bench.scratch.path()).put(&name(), &[], PutMode::Keep).unwrap();
    for file in [&ended, &abandoned] {
        assert!(!tmp.join(file).exists(), "{file}");
    }
    for file in [me.as_str(), &elsewhere, "notes.txt"] {
        assert!(tmp.join(file).exists(), "{file}");
    }
}
