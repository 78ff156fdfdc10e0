//! `nightjar bench`: what it prints hangs together. How fast anything is, is never tested.

use super::{Place, of_type};
use serde_json::Value;
use std::fs;

const SHORT: [&str; 3] = ["bench", "--seconds", "0.01"];

fn measurements(records: &[Value], table: &str) -> Vec<Value> {
    let rows = of_type(records, "measurement").into_iter().filter(|row| row["table"] == table);
    rows.cloned().collect()
}

#[test]
fn rows_are_what_was_asked_for_and_gzip_comes_first() {
    let place = Place::empty();
    let words = [
        &["--json"][..],
        &SHORT,
        &[
            "--codecs",
            "off,zstd:1,deflate:1",
            "--ciphers",
            "none,aes,chacha",
            "--block-sizes",
            "4K,64K",
            "--jobs",
            "1,2",
        ],
    ];
    let records = place.run(&words.concat()).code(0).json();
    let rows = measurements(&records, "codec");
    assert_eq!(rows.len(), 2 * 2 * (1 + 3 * 3));
    assert_eq!(rows[0]["codec"], "gzip:6");
    assert_eq!((&rows[0]["times_gzip"], &rows[0]["times_gzip_one_thread"]), (&1.0.into(), &1.0.into()));
    for row in &rows {
        let of = |name: &str| row[name].as_f64().unwrap();
        assert!(of("mb_per_second") > 0.0 && of("operations_per_second") > 0.0 && of("ratio") > 0.9, "{row}");
        // Bytes are blocks times their size.
        let bytes = of("operations_per_second") * of("block_bytes") / 1e6;
        assert!((of("mb_per_second") / bytes - 1.0).abs() < 0.01, "{row}");
        assert!(of("p50_us") <= of("p99_us") && of("p99_us") <= of("p999_us"), "{row}");
        let gzip = rows.iter().find(|other| {
            other["codec"] == "gzip:6" && ["block_bytes", "threads"].iter().all(|name| other[name] == row[name])
        });
        let expected = of("mb_per_second") / gzip.unwrap()["mb_per_second"].as_f64().unwrap();
        assert!((of("times_gzip") / expected - 1.0).abs() < 1e-9, "{row}");
    }
    // What is encrypted is a tag longer, and nothing else.
    let ratio = |cipher: &str| {
        let row =
            rows.iter().find(|row| row["codec"] == "zstd:1" && row["cipher"] == cipher && row["block_bytes"] == 65_536);
        row.unwrap()["ratio"].as_f64().unwrap()
    };
    assert!((ratio("none") / ratio("aes-256-gcm") - 1.0).abs() < 0.05);
    let small = measurements(&records, "cipher");
    assert_eq!(small.len(), 6 * 3);
    assert!(small.iter().all(|row| row["block_bytes"] == 4096 && row["codec"] == "off"));
    for depth in [1, 32, 128] {
        assert_eq!(small.iter().filter(|row| row["depth"] == depth && row["jobs"] == 8).count(), 3);
    }
    let summary = of_type(&records, "summary")[0];
    assert_eq!((&summary["command"], &summary["complete"]), (&"bench".into(), &true.into()));
    assert_eq!(summary["rows"].as_u64().unwrap(), (rows.len() + small.len()) as u64);
}

#[test]
fn files_are_measured_and_written_to_where_one_says() {
    let place = Place::empty();
    place.write("data/<b>.txt", "some lines of text\n".repeat(10_000));
    fs::create_dir(place.path("target")).unwrap();
    let words = [
        &SHORT[..],
        &["data/<b>.txt", "--target", "target", "--codecs", "lz4", "--block-sizes", "64K", "--jobs", "1"],
        &["--csv", "rows.csv", "--html", "page.html", "--explain"],
    ];
    let ended = place.run(&words.concat()).code(0);
    assert!(ended.out().contains("data: `data/<b>.txt`, 186 KiB"), "{}", ended.out());
    assert!(ended.out().contains("published rates, not measured here"), "{}", ended.out());
    assert!(ended.out().contains("with at least gzip's ratio"), "{}", ended.out());
    assert!(ended.err().contains("is written to `target/nightjar-bench-"), "{}", ended.err());
    assert_eq!(fs::read_dir(place.path("target")).unwrap().count(), 0, "nothing is left");
    let csv = fs::read_to_string(place.path("rows.csv")).unwrap();
    let columns: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert!(columns.len() == 1 + 2 + 12 && columns.iter().all(|number| *number == columns[0]), "{csv}");
    let page = fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("data/&lt;b&gt;.txt") && !page.contains("<b>"), "{page}");
    assert!(page.contains("<svg") && page.contains("<rect") && page.ends_with("</html>\n"));
    assert!(!page.contains("http"), "it needs nothing from elsewhere");
    assert!(!place.path("page.html.part").exists());
}

#[test]
fn it_tells_how_it_goes_while_it_runs() {
    let place = Place::empty();
    let few = [&SHORT[..], &["--codecs", "lz4", "--block-sizes", "64K", "--jobs", "1"]].concat();
    let ended = place.run(&[&few[..], &["--live", "influx"]].concat()).code(0);
    assert!(!ended.out().is_empty());
    for line in ended.out().lines() {
        let parts: Vec<&str> = line.split(' ').collect();
        assert!(parts.len() == 3 && parts[0].starts_with("nightjar_bench,codec="), "{line}");
        assert!(parts[1].contains("bytes_per_second=") && parts[2].parse::<u128>().is_ok(), "{line}");
    }
    let ended = place.run(&[&few[..], &["--live", "prometheus:bench.prom"]].concat()).code(0);
    assert!(ended.out().contains("gzip:6"), "the tables are printed too");
    let metrics = fs::read_to_string(place.path("bench.prom")).unwrap();
    assert!(metrics.contains("# TYPE nightjar_bench_bytes_per_second gauge"), "{metrics}");
}

#[test]
fn what_cannot_be_is_said_at_once() {
    let place = Place::empty();
    place.write("empty", "");
    fs::create_dir(place.path("folder")).unwrap();
    for (words, code, reason) in [
        (&["absent"][..], 1, "no such file"),
        (&["folder"], 1, "is a directory"),
        (&["empty"], 1, "it is empty"),
        (&["--codecs", "gzip"], 2, "`gzip` is no compression"),
        (&["--codecs", "zstd:99"], 2, "`zstd:99` is no compression"),
        (&["--ciphers", "rot13"], 2, "is no cipher"),
        (&["--block-sizes", "0"], 2, "is not between 1K and 4M"),
        (&["--block-sizes", "8M"], 2, "is not between 1K and 4M"),
        (&["--jobs", "0"], 2, "0 is not in 1..=256"),
        (&["--seconds", "0"], 2, "is no number of seconds"),
        (&["--seconds", "nan"], 2, "is no number of seconds"),
        (&["--live", "graphite"], 2, "is neither influx nor prometheus:FILE"),
        (&["--html", "absent/page.html"], 1, "there is no such folder"),
        (&["--csv", "folder"], 1, "it is a folder"),
        (&["--live", "prometheus:absent/x"], 1, "there is no such folder"),
        (&["--target", "absent"], 1, "it is no folder"),
        (&["--engine", "qat"], 1, "no QuickAssist device is on the PCI bus"),
    ] {
        let mut command = place.command(&[&["bench"], words].concat());
        let ended = super::Ended(command.env("NIGHTJAR_QAT_ROOT", place.path("folder")).output().unwrap()).code(code);
        assert!(ended.err().contains(reason), "{words:?}: {}", ended.err());
        assert_eq!(ended.out(), "");
    }
}

#[test]
fn a_signal_ends_it_with_the_rows_so_far() {
    let place = Place::empty();
    let words = ["bench", "--seconds", "3600", "--codecs", "lz4", "--live", "prometheus:live"];
    let mut running = place.process(&words).stdout(std::process::Stdio::piped()).spawn().unwrap();
    // It works once it has told of itself.
    while !place.path("live").exists() {
        assert_eq!(running.try_wait().unwrap(), None);
        std::thread::yield_now();
    }
    let id = rustix::process::Pid::from_child(&running);
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    let ended = running.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    let out = String::from_utf8(ended.stdout).unwrap();
    assert!(out.contains("gzip:6") && out.contains("stopped before all rows were measured"), "{out}");
}
