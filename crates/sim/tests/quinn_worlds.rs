//! Worlds with quinn at both ends of flows, and the fingerprints of its first adapter there. Only with the feature
//! `quinn`.
#![cfg(feature = "quinn")]

use crate::common::scenario;
use crate::common::worlds::quinn_worlds;
use sojourn_sim::Simulation;

#[test]
fn fingerprints_are_those_of_the_record() {
    let found: String = quinn_worlds()
        .iter()
        .map(|(name, text)| {
            let summary = Simulation::new(&scenario(text), 40).finish().summary;
            format!("{name} {}\n", summary.fingerprint)
        })
        .collect();
    assert_eq!(found, include_str!("quinn_worlds.txt"));
}
