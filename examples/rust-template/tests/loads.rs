//! The template of `sojourn aqm new` is a library that the simulator loads, with its parameters.
#![cfg(target_os = "linux")]

use my_aqm as _; // builds the library
use sojourn_library::foreign::Libraries;
use sojourn_sim::{Simulation, scenario::Scenario};

const SCENARIO: &str = r#"
duration = "5 s"
warmup = "1 s"
seed = 271

[link]
rate = "6.1 Mbit/s"

[[flows]]
kind = "tcp"
count = 3
rtt = "29 ms"
"#;

/// 95 % quantile of the sojourn time in ms, and the fingerprint.
fn run(words: &str) -> (f64, String) {
    let program = std::env::current_exe().expect("the test runs");
    let base = program.parent().expect("it lies in a folder");
    let sets = [("link.aqm".to_string(), format!("libmy_aqm.so{words}"))];
    let scenario = Scenario::parse_with(SCENARIO, &sets, base, &Libraries { base }).expect("the scenario is good");
    let summary = Simulation::new(&scenario, scenario.seed).finish().summary;
    assert_eq!(scenario.link.aqm.config.fault(), None);
    let p95 = summary.links.forward.sojourn_ms.p95.expect("packets were sent");
    (p95, summary.fingerprint)
}

#[test]
fn it_keeps_its_target() {
    let (plain, first) = run("");
    let (shorter, other) = run(" target 4ms");
    assert!(plain < 17.0 && shorter < 6.0, "{plain} and {shorter} ms");
    assert_ne!(first, other);
    assert_eq!(run("").1, first);
}
