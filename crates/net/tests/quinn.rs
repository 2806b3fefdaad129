//! quinn in one fingerprint (J1): within the run, called by it, fed by its events, and led by another clock. Only with
//! the feature `quinn`.
#![cfg(feature = "quinn")]

#[path = "../../sim/tests/common/worlds.rs"]
mod worlds;

use crate::common::{Programs, followed, pulled};
use sojourn_net::{Net, Report};
use sojourn_sim::quinn_programs;
use sojourn_sim::scenario::Scenario;
use std::path::Path;

const SEED: u64 = 41;

/// The world with quinn's flows as endpoints without a program.
fn open(text: &str) -> Net {
    Net::parse(text, SEED).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn programs(net: &Net, inside: &Scenario) -> Programs {
    let ends: Vec<_> = net.ends().collect();
    let mut programs = Programs::new();
    for (member, pair) in (0..).zip(ends.chunks(2)) {
        let [source, sink] = quinn_programs(inside, SEED, (0, member)).expect("the first group is quinn's");
        programs.extend([(pair[0], source), (pair[1], sink)]);
    }
    programs
}

#[test]
fn every_drive_has_the_fingerprint_of_quinn_inside() {
    let inside = worlds::quinn_worlds();
    let outside = worlds::worlds("kind = \"endpoint\"\nname = \"quic\"\nmtu = \"65535 B\"\n");
    assert!(inside.len() >= 40);
    let mut datagrams = 0;
    for ((name, inside), (_, outside)) in inside.iter().zip(&outside) {
        // The keys of TCP that one world has are quinn's own settings.
        let outside = outside.replace("\necn = true", "");
        let scenario = Scenario::parse(inside, &[], Path::new(".")).expect("a world is valid");
        let expected = sojourn_sim::Simulation::new(&scenario, SEED).finish().summary.fingerprint;
        let mut called = open(&outside);
        called
            .attach_each("quic", |member| quinn_programs(&scenario, SEED, (0, member)).expect("it is quinn's"))
            .expect("the group is there");
        let drive = |run: fn(Net, Programs) -> Result<Report, sojourn_net::Error>| {
            let net = open(&outside);
            let programs = programs(&net, &scenario);
            run(net, programs).expect("no program fails")
        };
        let (called, pulled, followed) = (called.run().expect("no program fails"), drive(pulled), drive(followed));
        for (drive, report) in [("called", &called), ("pulled", &pulled), ("followed", &followed)] {
            assert_eq!(report.fingerprint(), expected, "{name}, {drive}");
            assert_eq!(report.decisions(), called.decisions(), "{name}, {drive}");
        }
        datagrams += called.datagrams();
    }
    assert!(datagrams > 100_000, "{datagrams}");
}

#[test]
fn a_log_repeats_the_run_without_the_programs() {
    let (name, inside) = &worlds::quinn_worlds()[5];
    let outside = &worlds::worlds("kind = \"endpoint\"\nname = \"quic\"\nmtu = \"65535 B\"\n")[5].1;
    let scenario = Scenario::parse(inside, &[], Path::new(".")).expect("a world is valid");
    let net = open(outside);
    let programs = programs(&net, &scenario);
    let report = pulled(net, programs).expect("no program fails");
    let folder = tempfile::tempdir().expect("a folder");
    let log = report.write(folder.path()).expect("it is writable");
    let again = sojourn_net::DecisionLog::load(log).expect("it is readable").replay().expect("it can be sent");
    assert_eq!((again.fingerprint(), again.decisions()), (report.fingerprint(), report.decisions()), "{name}");
}
