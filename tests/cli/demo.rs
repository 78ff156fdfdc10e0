//! `demo`

use super::{Place, of_type};
use std::fs;

#[test]
fn the_demo_ends_equal_and_leaves_nothing_behind() {
    let place = Place::empty();
    place.write("mine/file", "mine\n");
    fs::create_dir(place.path("scratch")).unwrap();
    let ended = place.run(&["demo", "mine", "--dir", "scratch"]).code(0);
    for part in ["first backup", "second backup", "copy to the NAS", "stand-in", "every byte and all metadata"] {
        assert!(ended.out().contains(part), "{}", ended.out());
    }
    assert_eq!(fs::read_dir(place.path("scratch")).unwrap().count(), 0);
    assert_eq!(fs::read_to_string(place.path("mine/file")).unwrap(), "mine\n");
}

#[test]
fn on_request_the_demo_stays_and_can_be_opened() {
    let place = Place::empty();
    fs::create_dir(place.path("scratch")).unwrap();
    let records = place.run(&["--json", "demo", "--keep", "--dir", "scratch"]).code(0).json();
    assert_eq!(of_type(&records, "summary")[0]["equal"], true);
    assert!(of_type(&records, "step").len() >= 6);
    let left = fs::read_dir(place.path("scratch")).unwrap().next().unwrap().unwrap().path();
    let mut command = super::bare();
    command.arg("-r").arg(left.join("nas")).arg("-p").arg(left.join("password")).arg("snapshots");
    assert_eq!(super::Ended(command.output().unwrap()).code(0).out().lines().count(), 3);
}
