//! Behaviour of the stacks as scripts, in the notation of `script.rs`. Each script lists the features that it depends
//! on and must fail when one of them is switched off.

mod cubic;
mod dctcp;
mod growth;
mod loss;
mod marks;
mod ns2;
mod receiving;
mod timeouts;
mod undo;

use super::script::{receiver, sender};
use super::*;
use crate::cc::GrowthCounting;
use sojourn_aqm::Duration;

/// A change to a setup.
type Change = fn(&mut Setup);

/// A script and the features that it depends on.
struct Case {
    name: &'static str,
    /// Differences from Linux 2.6.29 with Reno, SACK and an initial window of ten segments.
    with: Change,
    script: &'static str,
    /// The script must fail with each of these changes.
    without: &'static [Change],
}

/// Runs each case unchanged and with each of its features switched off.
fn check(cases: &[Case], run: fn(Setup, &str) -> Result<(), String>) {
    let mut broken = Vec::new();
    for case in cases {
        let mut setup = window(10);
        (case.with)(&mut setup);
        if let Err(error) = run(setup, case.script) {
            broken.push(format!("{}: {error}", case.name));
        }
        assert!(!case.without.is_empty(), "{} depends on nothing", case.name);
        for (i, without) in case.without.iter().enumerate() {
            let mut setup = setup;
            without(&mut setup);
            if run(setup, case.script).is_ok() {
                broken.push(format!("{}: holds even with change {i}", case.name));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Counts packets instead of acknowledgments, as Linux since 4.0.
fn counting_packets(setup: &mut Setup) {
    setup.stack.counting = GrowthCounting::Packets;
}

fn counting_acknowledgments(setup: &mut Setup) {
    setup.stack.counting = GrowthCounting::Acknowledgments;
}

fn without_sack(setup: &mut Setup) {
    setup.sack = false;
}

fn plain(_: &mut Setup) {}
