//! The engine over the simulated QATzip (`crates/qatzip-sim`): every fault, one to eight instances, with and without the
//! optional functions. Nothing here was ever run on a device.
//!
//! The library keeps its state per process, so each case is a process of its own: this program again, with the case in its
//! environment (`case_in_its_own_process`).
#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]
#![expect(clippy::print_stdout, reason = "a case tells its outcome that way")]

#[path = "qat/case.rs"]
mod case;
#[path = "qat/distrust.rs"]
mod distrust;
#[path = "qat/library.rs"]
mod library;

use case::{Case, Outcome};

/// A case in which the device is used.
fn run(case: &Case) -> Outcome {
    let outcome = case.run();
    assert_eq!(outcome.refused, "");
    assert!(outcome.engine("offered") > 0, "{outcome:?}");
    check(case, &outcome);
    outcome
}

/// What is true whatever the device does: right outputs, sums that agree, and no rule of the library broken.
fn check(case: &Case, outcome: &Outcome) {
    let of = |name| outcome.engine(name);
    assert_eq!(of("offered"), of("requests") + of("incompressible") + of("failed") + of("abandoned"), "{outcome:?}");
    assert_eq!(of("fallback_blocks"), of("offered") - of("requests"), "{outcome:?}");
    for rule in ["calls_after_refusal", "foreign_calls", "calls_without_setup", "divided_calls", "differing_sessions"] {
        assert_eq!(outcome.device(rule), 0, "{rule}: {outcome:?}");
    }
    assert!(outcome.device("most_in_flight") <= case.instances(), "{outcome:?}");
}

#[test]
fn as_many_requests_are_in_flight_as_there_are_instances() {
    for instances in 1..=8 {
        let script = format!("instances={instances},base-us=10000");
        let outcome = run(&Case { script: &script, blocks: 96, ..Case::default() });
        assert_eq!(outcome.device("most_in_flight"), instances, "{outcome:?}");
        assert_eq!(outcome.engine("requests"), outcome.engine("offered"), "{outcome:?}");
        assert_eq!(outcome.device("sessions"), instances);
        assert_eq!(outcome.device("torn_down"), instances, "every session is ended");
        assert_eq!(outcome.off, "");
    }
}

#[test]
fn blocks_that_are_not_for_the_device_never_reach_it() {
    let outcome = run(&Case { script: "instances=2", mixed: true, blocks: 70, ..Case::default() });
    for kind in ["too_small", "too_large", "unpromising", "unfit"] {
        assert!(outcome.engine(kind) > 0, "{kind}: {outcome:?}");
    }
    assert_eq!(outcome.device("requests"), outcome.engine("offered"), "{outcome:?}");
    assert_eq!(outcome.engine("offered"), outcome.engine("requests") + outcome.engine("incompressible"));
    assert!(outcome.engine("incompressible") > 0, "{outcome:?}");
}

#[test]
fn without_the_optional_functions_it_works_too() {
    for without in
        [&["qzSetLogLevel"][..], &["cpaDcGetNumInstances"], &["qzSetLogLevel", "cpaDcGetNumInstances", "qzClose"]]
    {
        let outcome = run(&Case { script: "instances=16", without, ..Case::default() });
        assert_eq!(outcome.engine("requests"), outcome.engine("offered"), "{outcome:?}");
    }
}

#[test]
fn without_a_needed_function_it_is_not_used() {
    for needed in ["qzInit", "qzSetupSessionDeflate", "qzGetDefaultsDeflate", "qzCompress", "qzTeardownSession"] {
        let outcome = Case { without: &[needed], ..Case::default() }.run();
        assert!(outcome.refused.contains(&format!("has no function `{needed}`")), "{outcome:?}");
    }
}

#[test]
fn a_refusal_at_the_start_is_told_and_nothing_is_called_after_it() {
    for (script, code) in [("init=101", "-101"), ("init=102", "-102"), ("setup=104", "-104"), ("setup=116", "-116")] {
        let case = Case { script, ..Case::default() };
        let outcome = case.run();
        check(&case, &outcome);
        assert!(outcome.refused.contains(code), "{outcome:?}");
        assert_eq!(outcome.device("requests"), 0, "{outcome:?}");
    }
    let outcome = Case { script: "instances=0", ..Case::default() }.run();
    assert!(outcome.refused.contains("no instance"), "{outcome:?}");
}

/// Every way in which a request can fail, rarely and often, at every number of instances.
#[test]
fn failures_cost_nothing_but_time() {
    for fault in ["fail", "buffer", "unknown", "short", "empty", "long", "greedy"] {
        for (every, instances) in [(40, 1), (40, 3), (7, 2), (2, 8), (1, 1), (1, 4)] {
            let script = format!("instances={instances},{fault}-every={every}");
            let outcome = run(&Case { script: &script, ..Case::default() });
            assert!(outcome.engine("failed") > 0, "{outcome:?}");
            assert_eq!(outcome.engine("verify_failed"), 0, "{outcome:?}");
            let goes_on = every == 40;
            assert_eq!(outcome.off.is_empty(), goes_on, "{script}: {outcome:?}");
            assert_eq!(outcome.warnings, u64::from(!goes_on), "one warning, not more: {outcome:?}");
            if goes_on {
                assert!(outcome.engine("verified") >= outcome.engine("requests").min(64), "{outcome:?}");
                assert!(outcome.device("sessions") > instances, "a failure asks for a new session: {outcome:?}");
            } else {
                // What was inside when it was given up may come back, and nothing more goes in.
                assert!(outcome.device("requests") < 120, "{outcome:?}");
                assert!(outcome.engine("after_off") > 0, "{outcome:?}");
            }
        }
    }
}

#[test]
fn a_wrong_output_is_not_used_and_ends_the_use_of_the_device() {
    for verify in ["suspect", "always"] {
        for instances in [1, 2, 8] {
            let script = format!("instances={instances},corrupt-every=9");
            let outcome = run(&Case { script: &script, verify, ..Case::default() });
            assert!(outcome.engine("verify_failed") > 0, "{outcome:?}");
            assert!(outcome.off.contains("does not inflate"), "{outcome:?}");
            assert_eq!(outcome.warnings, 1);
        }
    }
}

#[test]
fn with_always_every_output_is_verified_and_with_off_none() {
    for (verify, share) in [("always", 1), ("off", 0)] {
        let outcome = run(&Case { script: "instances=2", verify, ..Case::default() });
        assert_eq!(outcome.engine("verified"), outcome.engine("requests") * share, "{outcome:?}");
    }
}

#[test]
fn a_request_that_hangs_is_done_elsewhere_and_the_process_ends() {
    // For ever; for so long that its answer comes when all others are done; and in the first request of the only instance.
    for script in ["instances=3,hang-at=5", "instances=2,hang-at=4,hang-ms=600", "instances=1,hang-at=1"] {
        let outcome = run(&Case { script, timeout_ms: 300, ..Case::default() });
        assert!(outcome.engine("abandoned") >= 1, "{outcome:?}");
        assert!(outcome.off.contains("not answered"), "{outcome:?}");
        assert_eq!(outcome.warnings, 1);
    }
}

#[test]
fn a_slow_tail_is_waited_for() {
    let outcome = run(&Case { script: "instances=4,slow-every=20,slow-us=60000", ..Case::default() });
    assert_eq!(outcome.engine("requests"), outcome.engine("offered"), "{outcome:?}");
}

#[test]
fn instances_that_are_lost_or_taken_are_done_without() {
    // Others hold half of them: some waits, and what finds none is sealed on the CPU.
    let outcome = run(&Case { script: "instances=4,taken=2,base-us=4000", ..Case::default() });
    assert!(outcome.engine("busy_waits") > 0, "{outcome:?}");
    for script in ["instances=4,lose-from=10,lose=4", "instances=2,taken=2"] {
        let outcome = run(&Case { script, ..Case::default() });
        assert!(outcome.off.contains("-103"), "{outcome:?}");
    }
    let outcome = run(&Case { script: "instances=4,dead-from=30", ..Case::default() });
    assert!(outcome.off.contains("8 times in a row"), "{outcome:?}");
}

/// The real library without a device must refuse with -101, and is then left alone.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test has no cli above it")]
fn the_real_library_refuses_cleanly_without_a_device() {
    let Some(library) = std::env::var_os("NIGHTJAR_QATZIP_REAL") else {
        println!("skipped: NIGHTJAR_QATZIP_REAL names no library");
        return;
    };
    let outcome = Case { real: Some(library.into()), ..Case::default() }.run();
    if !outcome.refused.is_empty() {
        assert!(outcome.refused.contains("-101"), "{outcome:?}");
        return;
    }
    // There is a device.
    let of = |name| outcome.engine(name);
    assert_eq!(of("offered"), of("requests") + of("incompressible") + of("failed") + of("abandoned"), "{outcome:?}");
}

/// Does nothing unless a test above has started it.
#[test]
fn case_in_its_own_process() {
    case::serve();
}
