//! `--engine`: QuickAssist as people meet it, over the simulated library and a made-up `/sys`. Nothing was run on a device.

use super::{Ended, Place, of_type};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// A host with a device of model 4xxx that is up and one virtual function of it.
fn plug(place: &Place) -> PathBuf {
    let root = place.path("host");
    let devices = root.join("sys/bus/pci/devices");
    for (address, id, driver) in [("0000:6b:00.0", "0x4940", "4xxx"), ("0000:6b:00.1", "0x4941", "vfio-pci")] {
        let folder = devices.join(address);
        fs::create_dir_all(folder.join("qat")).unwrap();
        fs::write(folder.join("vendor"), "0x8086\n").unwrap();
        fs::write(folder.join("device"), format!("{id}\n")).unwrap();
        symlink(format!("../../../../bus/pci/drivers/{driver}"), folder.join("driver")).unwrap();
    }
    fs::write(devices.join("0000:6b:00.0/qat/state"), "up\n").unwrap();
    fs::write(devices.join("0000:6b:00.0/qat/cfg_services"), "dc\n").unwrap();
    symlink("../../../../kernel/iommu_groups/9", devices.join("0000:6b:00.1/iommu_group")).unwrap();
    fs::create_dir_all(root.join("dev/vfio")).unwrap();
    fs::write(root.join("dev/vfio/9"), "").unwrap();
    root
}

/// The library that stands for QATzip, built beside this test.
fn simulator() -> PathBuf {
    let path = std::env::current_exe().unwrap().with_file_name("libqatzip_sim.so");
    assert!(path.exists(), "{} is missing", path.display());
    path
}

/// Runs the program on a host with a device and `library`, which follows `script`.
fn with(place: &Place, library: &Path, script: &str, words: &[&str]) -> Ended {
    let mut command = place.command(words);
    command.env("NIGHTJAR_QAT_ROOT", place.path("host")).env("NIGHTJAR_QATZIP_LIB", library).env("QATZIP_SIM", script);
    Ended(command.output().unwrap())
}

/// A repository, a host with a device, and a source with much to compress.
fn place() -> Place {
    let place = Place::new();
    plug(&place);
    for file in 0..6 {
        let lines: Vec<String> = (0..40_000).map(|line| format!("{file} {line} {}\n", line * 7919 % 1013)).collect();
        place.write(&format!("source/{file}.txt"), lines.concat());
    }
    place
}

fn summary(ended: Ended) -> Value {
    let records = ended.json();
    of_type(&records, "summary")[0].clone()
}

/// Restores the newest snapshot on a host without device and library, and compares.
fn check(place: &Place) {
    place.run(&["--engine", "cpu", "restore", "latest", "-t", "back"]).code(0);
    let back = place.path("back").join(place.source_in_snapshot().trim_start_matches('/'));
    for entry in fs::read_dir(place.path("source")).unwrap() {
        let path = entry.unwrap().path();
        let same = fs::read(&path).unwrap() == fs::read(back.join(path.file_name().unwrap())).unwrap();
        assert!(same, "{} is not what it was", path.display());
    }
    fs::remove_dir_all(place.path("back")).unwrap();
}

#[test]
fn a_repository_half_by_the_device_and_half_by_the_cpu_restores_without_either() {
    let place = place();
    let words = ["--json", "--engine", "qat", "backup", "source"];
    let first = summary(with(&place, &simulator(), "instances=4", &words).code(0));
    assert_eq!(first["engine"]["name"], "qat");
    assert_eq!(first["engine"]["compression"], "deflate:1");
    assert_eq!(first["engine"]["qat"]["workers"], 4);
    let count = |name: &str| first["engine"]["qat"][name].as_u64().unwrap();
    assert!(count("requests") > 4, "{first}");
    assert_eq!(count("offered"), count("requests") + count("incompressible") + count("failed") + count("abandoned"));
    check(&place);
    for file in 0..3 {
        place.write(&format!("source/{file}.txt"), format!("another {file}\n").repeat(100_000));
    }
    let words = ["--json", "--engine", "cpu", "--compression", "zstd:3", "backup", "source"];
    let second = summary(with(&place, &simulator(), "init=101", &words).code(0));
    assert_eq!(second["engine"]["name"], "cpu");
    assert!(second["engine"]["qat"].is_null());
    check(&place);
}

#[test]
fn a_device_that_misbehaves_costs_a_warning_and_nothing_else() {
    let place = place();
    for (number, script) in [
        "long-every=1",
        "greedy-every=2",
        "short-every=1,instances=3",
        "fail-every=1,instances=2",
        "corrupt-every=2",
        "taken=1",
        "lose-from=3,lose=1",
        // It hangs until the watchdog, after ten seconds; so does the library's exit handler.
        "hang-at=2,instances=2",
    ]
    .into_iter()
    .enumerate()
    {
        place.write("source/changing.txt", format!("{number}: {script}\n").repeat(400_000));
        let words = ["--engine", "qat", "backup", "--force", "source"];
        let ended = with(&place, &simulator(), script, &words).code(0);
        let warnings = ended.err().matches("warning: ").count();
        assert!(warnings <= 1, "{script}: {}", ended.err());
        if script == "corrupt-every=2" || script.starts_with("hang") {
            assert!(
                ended.err().contains("no longer used in this run, and the CPU goes on"),
                "{script}: {}",
                ended.err()
            );
        }
        check(&place);
    }
}

#[test]
fn what_cannot_be_used_is_said_before_anything_is_written() {
    let place = place();
    let before = place.objects("packs").len() + place.objects("leases").len();
    let no_library = place.path("source/0.txt");
    let incomplete = place.path("incomplete.so");
    let mut bytes = fs::read(simulator()).unwrap();
    let at = bytes.windows(12).position(|window| window == b"\0qzCompress\0").unwrap();
    bytes[at + 1] = b'X';
    fs::write(&incomplete, bytes).unwrap();
    let words = ["--engine", "qat", "backup", "source"];
    for (library, script, reason) in [
        (&no_library, "", "cannot be used"),
        (&place.path("absent.so"), "", "cannot be used"),
        (&incomplete, "", "has no function `qzCompress`"),
        (&simulator(), "init=101", "answered -101: it finds no device"),
        (&simulator(), "setup=104", "answered -104: it has too little memory"),
        (&simulator(), "instances=0", "no instance for compression"),
    ] {
        let ended = with(&place, library, script, &words).code(1);
        assert!(ended.err().contains("the engine qat cannot be used, and nothing was done"), "{}", ended.err());
        assert!(ended.err().contains(reason), "{reason}: {}", ended.err());
        // Without being asked for by name it is done without, in silence.
        let words = ["--compression", "deflate:1", "--dry-run", "backup", "source"];
        let words = [words[0], words[1], words[3], words[2], words[4]];
        assert_eq!(with(&place, library, script, &words).code(0).err(), "");
    }
    let services = place.path("host/sys/bus/pci/devices/0000:6b:00.0/qat/cfg_services");
    fs::write(&services, "sym;asym\n").unwrap();
    let ended = with(&place, &simulator(), "", &words).code(1);
    assert!(ended.err().contains("does not offer the service `dc` but `sym;asym`"), "{}", ended.err());
    fs::remove_dir_all(place.path("host/sys")).unwrap();
    let ended = with(&place, &simulator(), "", &words).code(1);
    assert!(ended.err().contains("no QuickAssist device is on the PCI bus"), "{}", ended.err());
    assert_eq!(place.objects("packs").len() + place.objects("leases").len(), before);
}

#[test]
fn the_device_does_deflate_only() {
    let place = place();
    for compression in ["zstd:3", "auto", "lz4", "off"] {
        let words = ["--engine", "qat", "--compression", compression, "backup", "source"];
        let ended = with(&place, &simulator(), "", &words).code(2);
        assert!(ended.err().contains("the device does deflate only"), "{}", ended.err());
    }
    let words = ["--engine", "qat", "bench", "--codecs", "zstd:1", "--seconds", "0.01"];
    let ended = with(&place, &simulator(), "", &words).code(2);
    assert!(ended.err().contains("the device does deflate only"), "{}", ended.err());
    for level in ["deflate:1", "deflate:9"] {
        let words = ["--json", "--engine", "qat", "--compression", level, "backup", "--force", "source"];
        assert_eq!(summary(with(&place, &simulator(), "", &words).code(0))["engine"]["compression"], level);
    }
    check(&place);
}

#[test]
fn auto_takes_the_device_for_deflate_and_tries_out_which_is_faster_otherwise() {
    let place = place();
    let words = ["--json", "--compression", "deflate:1", "backup", "source"];
    let deflate = summary(with(&place, &simulator(), "instances=2", &words).code(0));
    assert_eq!(deflate["engine"]["name"], "qat");
    // So slow a device that no CPU is slower.
    let words = ["backup", "--force", "source"];
    let ended = with(&place, &simulator(), "base-us=200000", &words).code(0);
    assert!(ended.err().contains("calibration: deflate:1 at the accelerator"), "{}", ended.err());
    assert!(ended.err().contains("engine cpu"), "{}", ended.err());
    let words = ["--json", "backup", "--force", "source"];
    let tried = summary(with(&place, &simulator(), "base-us=200000", &words).code(0));
    assert!(tried["engine"]["calibration"].as_str().unwrap().contains("MB/s"), "{tried}");
    // What somebody chose is kept, whatever the device could do.
    let words = ["--json", "--compression", "lz4", "backup", "--force", "source"];
    assert_eq!(summary(with(&place, &simulator(), "", &words).code(0))["engine"]["name"], "cpu");
    check(&place);
}

#[test]
fn what_was_found_is_told_to_those_who_ask() {
    let place = place();
    let ended = with(&place, &simulator(), "instances=3", &["-vv", "--engine", "qat", "backup", "source"]).code(0);
    for line in [
        "quickassist device 0000:6b:00.0 4xxx, driver 4xxx, up, services dc",
        "virtual function 0000:6b:00.1 4xxx, driver vfio-pci",
        "3 instances, 3 workers",
        "QATzip 1.3 or later",
        "blocks offered were compressed there",
    ] {
        assert!(ended.err().contains(line), "{line}: {}", ended.err());
    }
    let ended = with(&place, &simulator(), "", &["stats", "--engine"]).code(0);
    assert!(ended.out().contains("quickassist can be used"), "{}", ended.out());
    assert!(ended.out().contains("QATzip 1.3 or later, 1 instances"), "{}", ended.out());
    let refused = with(&place, &simulator(), "init=101", &["stats", "--engine"]).code(0);
    assert!(refused.out().contains("quickassist is off: the library") && refused.out().contains("answered -101"));
    assert!(ended.out().contains("Blocks that were offered to the device."), "{}", ended.out());
    fs::write(place.path("host/sys/bus/pci/devices/0000:6b:00.0/qat/state"), "down\n").unwrap();
    let found = summary(with(&place, &simulator(), "", &["--json", "stats", "--engine"]).code(0));
    assert_eq!(found["usable"], false);
    assert_eq!(found["reason"], "the device 0000:6b:00.0 (4xxx) is down");
    assert_eq!(found["devices"][1]["access"], "granted");
    let words = ["-vv", "--compression", "deflate:1", "backup", "--force", "source"];
    let ended = with(&place, &simulator(), "", &words).code(0);
    assert!(ended.err().contains("engine cpu: the device 0000:6b:00.0 (4xxx) is down"), "{}", ended.err());
}

#[test]
fn verification_of_all_outputs_is_an_option() {
    let place = place();
    let words = ["--json", "--engine", "qat", "--qat-verify", "always", "backup", "source"];
    let always = summary(with(&place, &simulator(), "", &words).code(0));
    assert_eq!(always["engine"]["qat"]["verified"], always["engine"]["qat"]["requests"]);
    place.run(&["--qat-verify", "sometimes", "backup", "source"]).code(2);
}

#[test]
fn variables_that_say_nothing_are_mistakes() {
    let place = place();
    for (variable, value) in
        [("NIGHTJAR_ENGINE", ""), ("NIGHTJAR_ENGINE", "gpu"), ("NIGHTJAR_QATZIP_LIB", ""), ("NIGHTJAR_QAT_ROOT", "")]
    {
        let ended = Ended(place.command(&["snapshots"]).env(variable, value).output().unwrap()).code(2);
        assert!(ended.err().contains(variable), "{}", ended.err());
    }
    place.run(&["--engine", "gpu", "snapshots"]).code(2);
    let cpu = Ended(place.command(&["--json", "backup", "source"]).env("NIGHTJAR_ENGINE", "cpu").output().unwrap());
    assert_eq!(summary(cpu.code(0))["engine"]["name"], "cpu");
}
