//! Loads the library of this build in the simulator.
#![cfg(target_os = "linux")]

use sojourn_aqm::registry::Catalogue;
use sojourn_example_aqm::BLUE;
use sojourn_example_library as _; // builds the library
use sojourn_library::foreign::Libraries;
use sojourn_sim::{Simulation, scenario::Scenario};
use std::path::Path;

const SCENARIO: &str = r#"
duration = "5 s"
warmup = "1 s"
seed = 271

[link]
rate = "6.1 Mbit/s"
limit = "37 packets"

[[flows]]
kind = "tcp"
count = 3
rtt = "29 ms"
"#;

fn fingerprint(aqm: String, base: &Path, own: &dyn Catalogue) -> String {
    let sets = [("link.aqm".to_string(), aqm)];
    let scenario = Scenario::parse_with(SCENARIO, &sets, base, own).expect("the scenario is good");
    let found = Simulation::new(&scenario, scenario.seed).finish().summary.fingerprint;
    assert_eq!(scenario.link.aqm.config.fault(), None);
    found
}

#[test]
fn it_does_as_a_library_what_it_does_in_a_program() {
    let program = std::env::current_exe().expect("the test runs");
    let base = program.parent().expect("it lies in a folder");
    for text in ["", " increment 0.21 ecn"] {
        let library = format!("libsojourn_example_library.so{text}");
        let as_library = fingerprint(library, base, &Libraries { base });
        assert_eq!(as_library, fingerprint(format!("my_blue{text}"), base, &[&BLUE]));
    }
}
