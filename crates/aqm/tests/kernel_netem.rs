//! netem of Linux 6.1, packet by packet: vectors that use its random draws (`python -m sojourn.kernel.vectors`).

use crate::kernel::{DropNotification, FateKind, KernelFate, Vector, differences, own_vectors, replay_notifying};
use sojourn_aqm::{Limits, registry};

/// Losses by four states and by two, with and without marks, duplicates, corruption, reordering with a gap,
/// correlations and jitter tables, a rate with cells, slots, and a child in the braces.
#[test]
fn netem_agrees_with_the_kernel_on_every_packet() {
    let found = own_vectors("netem.");
    assert_eq!(found.len(), 5);
    for vector in &found {
        let aqm = vector.aqm.as_deref().expect("its parameters");
        assert_eq!(differences(vector, &fates(vector, aqm)), None, "{}: {aqm}", vector.name);
    }
    let all = || found.iter().flat_map(|vector| &vector.packets);
    let count = |verdict| all().filter(|packet| packet.fate.verdict == verdict).count();
    assert!([FateKind::Pass, FateKind::Mark, FateKind::Drop].iter().all(|&verdict| count(verdict) > 300));
    assert!(all().filter(|packet| packet.copy).count() > 50);
}

/// Shows that a vector depends on a parameter: without it, or with another value, fates differ.
#[test]
fn the_vectors_tell_parameters_apart() {
    let found = own_vectors("netem.");
    for (name, from, to) in [
        ("netem.chain", "gap 5", "gap 4"),
        ("netem.chain", "57.70%", "57.60%"),
        ("netem.chain", "paretonormal", "pareto"),
        ("netem.duplicates", "11 41", "11 40"),
        ("netem.gilbert", "bytes 10466", "bytes 9000"),
        ("netem.slots", "50000ns", "49999ns"),
        ("netem.braces", "quantum 1567B", "quantum 300B"),
    ] {
        let vector = found.iter().find(|vector| vector.name == name).expect("a vector");
        let aqm = vector.aqm.as_deref().expect("its parameters");
        let other = aqm.replace(from, to);
        assert_ne!(aqm, other, "{name}: {from}");
        assert!(differences(vector, &fates(vector, &other)).is_some(), "{name}: {other}");
    }
}

/// Fates of a vector's packets in a queue. All drops are one kind: the notifications of the sender were not recorded.
fn fates(vector: &Vector, aqm: &str) -> Vec<KernelFate> {
    let queue = registry::parse(aqm).expect(aqm).build(Limits::default(), vector.host());
    replay_notifying(vector, queue, DropNotification { early: false, limit: false, queued: false })
}
