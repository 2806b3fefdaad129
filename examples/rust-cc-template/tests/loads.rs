//! The template of `sojourn cc new --lang rust` is a library that the simulator loads, with its parameter.
#![cfg(target_os = "linux")]

use my_cc as _; // builds the library
use sojourn_library::control::Controls;
use sojourn_library::foreign::Libraries;
use sojourn_sim::Simulation;
use sojourn_sim::scenario::{ControlArguments, Error, Files, Folder, Scenario};
use sojourn_tcp::cc::foreign::ControlDefinition;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

const SCENARIO: &str = r#"
duration = "5 s"
warmup = "1 s"
seed = 271

[link]
rate = "6.1 Mbit/s"
limit = "40 packets"

[[flows]]
kind = "tcp"
count = 2
rtt = "29 ms"
"#;

/// Files of a folder, with the libraries in it.
struct Local<'a>(&'a Path);

impl Files for Local<'_> {
    fn find(&self, name: &str) -> Result<String, String> {
        Folder(self.0).find(name)
    }

    fn open(&self, path: &str) -> Result<Box<dyn Read + '_>, String> {
        Err(format!("{path} is not needed"))
    }

    fn has(&self, path: &str) -> bool {
        Folder(self.0).has(path)
    }

    fn control(&self, name: &str, arguments: &ControlArguments) -> Option<Result<Arc<dyn ControlDefinition>, String>> {
        let pairs = match arguments {
            ControlArguments::Words(text) => vec![("text".to_string(), text.to_string())],
            ControlArguments::Pairs(pairs) => pairs.to_vec(),
        };
        Controls { base: self.0 }.find(name, &pairs)
    }
}

/// Fingerprint of a run with the congestion control `cc`.
fn run(cc: &str) -> Result<String, Error> {
    let program = std::env::current_exe().expect("the test runs");
    let base = program.parent().expect("it lies in a folder");
    let sets = [("flows.0.cc".to_string(), cc.to_string())];
    let scenario = Scenario::parse_among(SCENARIO, &sets, &Local(base), &Libraries { base })?;
    Ok(Simulation::new(&scenario, scenario.seed).finish().summary.fingerprint)
}

#[test]
fn it_is_reno_with_a_factor_of_its_own() {
    let [plain, same, other] = ["libmy_cc.so", "libmy_cc.so beta 0.5", "libmy_cc.so beta 0.8"].map(|cc| run(cc).ok());
    assert!(plain.is_some());
    assert_eq!(plain, same);
    assert_ne!(plain, other);
    let error = run("libmy_cc.so beta 3").expect_err("it is out of range").to_string();
    assert!(error.contains("beta: from 0.1 to 1"), "{error}");
}
