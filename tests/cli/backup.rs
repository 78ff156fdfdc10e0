//! `backup`

use super::{Ended, Place, of_type};
use serde_json::Value;
use std::fs;
use std::process::Stdio;

fn summary(ended: Ended) -> Value {
    let records = ended.json();
    of_type(&records, "summary")[0].clone()
}

#[test]
fn a_second_backup_reads_only_what_changed() {
    let place = Place::with_snapshot();
    place.write("source/a.txt", "alpha and omega\n");
    let second = place.run(&["backup", "source", "--tag", "x,y", "--job", "j"]).code(0);
    for part in ["snapshot ", "files   ", "time "] {
        assert!(second.out().contains(part), "{}", second.out());
    }
    // Another job: no parent. The same job again: all but nothing is taken over.
    place.write("source/new", "new\n");
    let third = summary(place.run(&["--json", "backup", "source", "--job", "j"]).code(0));
    assert_eq!(third["statistics"]["files_new"], 1);
    assert_eq!(third["statistics"]["files_unmodified"], 3);
    assert_eq!(third["snapshot"]["job"], "j");
    let skipped = summary(place.run(&["--json", "backup", "source", "--job", "j", "--skip-if-unchanged"]).code(0));
    assert_eq!((&skipped["unchanged"], &skipped["snapshot"]), (&Value::Bool(true), &Value::Null));
    let forced = summary(place.run(&["--json", "backup", "source", "--force", "--dry-run"]).code(0));
    assert_eq!(forced["statistics"]["files_new"], 4);
    assert_eq!(place.objects("snapshots").len(), 3);
}

#[test]
fn what_cannot_be_read_is_named_twice_and_ends_in_3() {
    let place = Place::new();
    place.write("source/a", "a");
    let ended = place.run(&["backup", "source", "gone\nfor ever"]).code(3);
    assert_eq!(ended.err().matches("gone\\x0afor ever").count(), 2, "{}", ended.err());
    let records = place.run(&["--json", "backup", "source", "gone"]).code(3).json();
    let warning = of_type(&records, "warning")[0];
    assert!(warning["path"].as_str().unwrap().ends_with("/gone"));
    assert_eq!(of_type(&records, "summary")[0]["failed"].as_array().unwrap().len(), 1);
    let ended = place.run(&["backup", "gone"]).code(1);
    assert!(ended.err().contains("no snapshot was made"));
    let shown = place.run(&["snapshots"]).code(0);
    assert!(shown.out().contains("1 item failed"), "{}", shown.out());
}

#[test]
fn selections_leave_out_and_lists_name() {
    let place = Place::new();
    for name in ["source/keep", "source/no.tmp", "source/big", "source/deep/NO.ISO", "other/x", "third/y"] {
        place.write(name, "x".repeat(if name.ends_with("big") { 5000 } else { 10 }));
    }
    place.write("rules", "*.tmp\n# a comment\n");
    place.write("list", format!("{}\n", place.path("other").display()));
    place.write("list0", b"third\0");
    let words = [
        "backup",
        "source",
        "--exclude-file",
        "rules",
        "--iexclude",
        "*.iso",
        "--exclude-larger-than",
        "4K",
        "--files-from",
        "list",
        "--files-from0",
        "list0",
    ];
    place.run(&words).code(0);
    let listed = place.run(&["ls", "latest"]).code(0).out();
    for (name, there) in
        [("keep", true), ("no.tmp", false), ("big", false), ("NO.ISO", false), ("other/x", true), ("third/y", true)]
    {
        assert_eq!(listed.contains(&format!("/{name}\n")), there, "{name} in {listed}");
    }
}

#[test]
fn standard_input_and_commands_are_saved_as_one_file() {
    let place = Place::new();
    let mut command = place.command(&["backup", "--stdin-filename", "dump.sql"]);
    Ended(command.write_stdin("select 1;\n".repeat(50_000)).output().unwrap()).code(0);
    let listed = place.run(&["ls", "-l", "latest"]).code(0).out();
    assert!(listed.contains(" 500000 ") && listed.contains("/dump.sql"), "{listed}");
    let from = ["backup", "--stdin-from-command", "--stdin-filename", "out", "--", "sh", "-c"];
    place.run(&[&from[..], &["echo -n hello --json"]].concat()).code(0);
    place.run(&["restore", "latest", "--target", "back"]).code(0);
    assert_eq!(fs::read(place.path("back/out")).unwrap(), b"hello --json");
    let failed = place.run(&[&from[..], &["echo half; exit 7"]].concat()).code(1);
    assert!(failed.err().contains("exit status: 7"), "{}", failed.err());
    place.run(&["backup", "--stdin-from-command", "--", "/nonexistent/program"]).code(1);
    assert_eq!(place.objects("snapshots").len(), 2);
}

#[test]
fn init_on_the_way_makes_the_repository_once() {
    let place = Place::empty();
    place.write("source/a", "a");
    place.run(&["backup", "source"]).code(10);
    // No recovery key on the way: the output of a backup goes into logs.
    let first = place.run(&["backup", "--init", "source"]).code(0);
    assert!(first.out().contains("made repository") && !first.out().contains("nj1-"), "{}", first.out());
    let second = place.run(&["backup", "--init", "source"]).code(0);
    assert!(!second.out().contains("made repository"));
}

#[test]
fn a_signal_stops_cleanly_and_the_lease_is_ended() {
    let place = Place::new();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_nightjar"))
        .args(["--json", "backup", "--stdin-filename", "endless"])
        .current_dir(place.path(""))
        .env("NIGHTJAR_REPO", place.repo())
        .env("NIGHTJAR_PASSWORD", super::PASSWORD)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Waiting for a child would close its input, which is never to end.
    let input = child.stdin.take();
    // The first status tells that it reads.
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.as_mut().unwrap()), &mut line).unwrap();
    assert!(line.contains("status"), "{line}");
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    drop(input);
    assert!(place.objects("leases").is_empty());
    assert!(place.objects("snapshots").is_empty());
}

#[test]
fn a_quiet_backup_tells_only_its_result() {
    let place = Place::with_snapshot();
    let ended = place.run(&["-q", "backup", "source"]).code(0);
    assert_eq!(ended.err(), "");
    let details = place.run(&["-v", "backup", "source"]).code(0);
    assert!(details.err().contains("opened in "), "{}", details.err());
}

#[test]
fn a_repository_in_its_own_source_does_not_save_itself() {
    let place = Place::with_snapshot();
    place.run(&["backup", "."]).code(0);
    let listed = place.run(&["ls", "latest"]).code(0);
    assert!(listed.out().contains("/source/a.txt"));
    assert!(!listed.out().contains("/repo"), "{}", listed.out());
    // Named on the command line it is saved all the same.
    place.run(&["backup", "repo/config"]).code(0);
    assert!(place.run(&["ls", "latest"]).code(0).out().contains("/repo/config/"));
}

#[test]
fn more_paths_than_a_snapshot_can_list_leave_a_snapshot_that_can_be_read() {
    let place = Place::with_snapshot();
    let mut list: Vec<String> = (0..10_100).map(|n| format!("gone{n}")).collect();
    list.push("source".into());
    place.write("list", list.join("\0"));
    place.run(&["backup", "--files-from0", "list"]).code(3);
    assert!(place.run(&["ls", "latest"]).code(0).out().contains("/source/a.txt"));
    assert_eq!(place.run(&["--json", "snapshots"]).code(0).json().len(), 2);
}

#[test]
fn a_stream_that_is_the_same_again_can_be_skipped() {
    let place = Place::new();
    for (text, snapshots) in [("one".repeat(200), 1), ("one".repeat(200), 1), ("two".repeat(200), 2)] {
        let mut command = place.command(&["backup", "--stdin-filename", "dump", "--skip-if-unchanged"]);
        Ended(command.write_stdin(text).output().unwrap()).code(0);
        assert_eq!(place.objects("snapshots").len(), snapshots);
    }
}

#[test]
fn sources_that_shrink_change_or_cannot_be_read_are_stored_as_far_as_they_go_and_end_in_3() {
    let place = Place::new();
    place.write("source/good", "good");
    // The kernel says that these have 4,096 bytes; one gives fewer, the other none.
    let (short, closed) = ("/sys/kernel/mm/transparent_hugepage/enabled", "/sys/bus/cpu/uevent");
    if !std::path::Path::new(short).exists() || !std::path::Path::new(closed).exists() {
        println!("skipped: the kernel has no such files here");
        return;
    }
    let growing = place.path("source/growing");
    fs::write(&growing, vec![7; 1 << 20]).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let records = std::thread::scope(|scope| {
        scope.spawn(|| {
            use std::io::Write as _;
            let mut file = fs::File::options().append(true).open(&growing).unwrap();
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                file.write_all(&[8; 4096]).unwrap();
                if file.metadata().unwrap().len() > 1 << 30 {
                    break;
                }
            }
        });
        let ended = place.run(&["--json", "backup", "source", short, closed]);
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        ended.code(3).json()
    });
    let failed = &of_type(&records, "summary")[0]["failed"];
    let reason = |path: &str| {
        let items = failed.as_array().unwrap().iter();
        let found =
            items.filter(|item| item["path"].as_str().unwrap().ends_with(path)).map(|item| item["reason"].clone());
        found.collect::<Vec<_>>()
    };
    assert_eq!(reason("/enabled"), ["it shrank while it was read"]);
    assert_eq!(reason("/growing"), ["it changed while it was read"]);
    assert_eq!(reason("/uevent").len(), 1);
    let snapshots = place.run(&["--json", "snapshots"]).code(0).json();
    assert_eq!(snapshots[0]["failed"].as_array().unwrap().len(), 3, "the snapshot says so too");
    place.run(&["restore", "latest", "--target", "back"]).code(0);
    let back = |path: &str| place.path("back").join(path.trim_start_matches('/'));
    assert_eq!(fs::read(back(short)).unwrap(), fs::read(short).unwrap());
    assert!(!back(closed).exists());
    assert_eq!(fs::read_to_string(back(&place.source_in_snapshot()).join("good")).unwrap(), "good");
}

#[test]
fn hosts_jobs_and_parents_share_what_is_stored() {
    let place = Place::with_snapshot();
    let new = |words: &[&str]| {
        let records = place.run(&[&["--json", "backup", "source"], words].concat()).code(0).json();
        let statistics = of_type(&records, "summary")[0]["statistics"].clone();
        (statistics["bytes_new"].as_u64().unwrap(), statistics["files_unmodified"].as_u64().unwrap())
    };
    assert_eq!(new(&["--host", "other"]), (0, 0), "nothing is stored twice, though everything is read");
    assert_eq!(new(&["--host", "third", "--job", "j", "--parent", "latest"]), (0, 3), "nor read, with a parent");
    assert_eq!(new(&["--force"]), (0, 0));
    place.run(&["backup", "source", "--parent", "ffffffff"]).code(1);
}

#[test]
fn caches_and_marked_folders_are_left_out_on_request() {
    let place = Place::new();
    place.write("source/keep", "k");
    place.write("source/cache/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n");
    place.write("source/cache/big", "b");
    place.write("source/marked/.nobackup", "");
    place.write("source/marked/big", "b");
    place.run(&["backup", "source", "--exclude-caches", "--exclude-if-present", ".nobackup", "-x"]).code(0);
    let listed = place.run(&["ls", "latest"]).code(0).out();
    for there in ["/keep", "/cache/CACHEDIR.TAG", "/marked/.nobackup"] {
        assert!(listed.contains(there), "{listed}");
    }
    assert!(!listed.contains("/big"), "{listed}");
}

#[test]
fn a_source_that_has_lost_most_of_its_files_gives_a_suspicious_snapshot_until_that_is_accepted() {
    let place = Place::new();
    for n in 0..30 {
        place.write(&format!("source/folder{}/file{n}", n % 3), format!("content of {n}\n").repeat(100));
    }
    place.run(&["backup", "source"]).code(0);
    let hidden = place.path("hidden");
    std::fs::rename(place.path("source"), &hidden).unwrap();
    std::fs::create_dir(place.path("source")).unwrap();
    // Not mounted, night after night.
    for _ in 0..2 {
        let told = place.run(&["backup", "source"]).code(3).err();
        assert!(told.contains("only 0 files where there were 30"), "{told}");
    }
    let listed = place.run(&["--json", "snapshots"]).code(0).json();
    let suspicious: Vec<_> = of_type(&listed, "snapshot").iter().map(|s| s["suspicious"].as_bool().unwrap()).collect();
    assert_eq!(suspicious, [false, true, true]);
    // The good one is not pushed out by those that count for nothing.
    let kept = place.run(&["--json", "forget", "--keep-last", "1", "-n"]).code(0).json();
    assert!(of_type(&kept, "snapshot").iter().all(|snapshot| snapshot["keep"].as_bool().unwrap()));
    // It is back, and nothing is read again but what changed.
    std::fs::remove_dir(place.path("source")).unwrap();
    std::fs::rename(&hidden, place.path("source")).unwrap();
    let back = place.run(&["--json", "backup", "source"]).code(0).json();
    let statistics = &of_type(&back, "summary")[0]["statistics"];
    assert_eq!((&statistics["files_unmodified"], &statistics["files_new"]), (&30.into(), &0.into()), "{statistics}");
    // It is as it should be.
    for n in 0..25 {
        std::fs::remove_file(place.path(&format!("source/folder{}/file{n}", n % 3))).unwrap();
    }
    place.run(&["backup", "source"]).code(3);
    place.run(&["backup", "source", "--accept-shrink"]).code(0);
    place.run(&["backup", "source"]).code(0);
    // Half of a few files may go in a day.
    place.run(&["backup", "source/folder0"]).code(0);
    std::fs::remove_dir_all(place.path("source/folder0")).unwrap();
    std::fs::create_dir(place.path("source/folder0")).unwrap();
    place.run(&["backup", "source/folder0"]).code(0);
}
