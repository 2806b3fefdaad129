//! Linux 6.1's CAKE and COBALT, packet by packet: vectors of the real kernel, recorded with flows, hosts and memory set
//! by the sender (`python -m sojourn.kernel.vectors`).

use crate::kernel::{FateKind, Vector, differences, own_vectors, replay};

/// Tins of every mode, with and without a shaper, on egress and ingress, by host and by flow, with and without
/// overflow.
#[test]
fn cake_agrees_with_the_kernel_on_every_packet() {
    let found = own_vectors("cake.");
    assert_eq!(found.len(), 9);
    for vector in found {
        let fates = replay(&vector, vector.build_as("cake@linux-6.1"));
        assert_eq!(differences(&vector, &fates), None, "{}", vector.name);
        assert!(count(&vector, FateKind::Drop) > 80 && count(&vector, FateKind::Mark) > 15, "{}", vector.name);
    }
}

/// Linux 6.12 starts with other square roots: gaps of 70.711 ms; in 6.1 they are 70.671 ms.
#[test]
fn a_vector_tells_the_square_roots_of_the_kernels_apart() {
    let [vector] = &own_vectors("cake.roots")[..] else { panic!("one vector") };
    let differs = |aqm: &str| differences(vector, &replay(vector, vector.build_as(aqm))).is_some();
    assert_eq!(["cake@linux-6.1", "cake@linux"].map(differs), [false, true]);
}

#[test]
fn cobalt_agrees_with_the_kernel_on_every_packet() {
    let found = own_vectors("cobalt.");
    assert_eq!(found.len(), 3);
    for vector in found {
        let fates = replay(&vector, vector.build_as(&cobalt(&vector, "linux-6.1")));
        assert_eq!(differences(&vector, &fates), None, "{}", vector.name);
    }
}

/// Measures a comment of `sch_cake.c`: the first congestion of a queue has no interval of grace, later ones have.
#[test]
fn a_virgin_queue_drops_the_second_packet_that_is_late() {
    let [vector] = &own_vectors("cobalt.virgin")[..] else { panic!("one vector") };
    let late = |&i: &usize| {
        let packet = &vector.packets[i];
        packet.fate.departure.is_none_or(|at| (at - packet.arrival).as_nanos() > 5_000_000)
    };
    let first: Vec<_> = (0..vector.packets.len()).filter(late).take(2).collect();
    let verdicts = first.iter().map(|&i| vector.packets[i].fate.verdict).collect::<Vec<_>>();
    assert_eq!(verdicts, [FateKind::Pass, FateKind::Drop], "{first:?}");
    // ns-3 grants 100 ms: it does not drop as early.
    let fates = replay(vector, vector.build_as("cobalt@ns3"));
    let first_drop = |verdicts: Vec<FateKind>| {
        let i = verdicts.iter().position(|&verdict| verdict == FateKind::Drop).expect("it is congested");
        vector.packets[i].arrival.as_nanos()
    };
    let ns3 = first_drop(fates.iter().map(|fate| fate.verdict).collect());
    let linux = first_drop(vector.packets.iter().map(|packet| packet.fate.verdict).collect());
    assert!(ns3 > linux + 80_000_000, "{ns3} {linux}");
}

/// COBALT with the parameters of CAKE, whose target is a twentieth of its interval in whole microseconds.
fn cobalt(vector: &Vector, profile: &str) -> String {
    let words: Vec<_> = vector.qdisc.split(' ').collect();
    let given = words.iter().position(|&word| word == "rtt").map(|i| words[i + 1].trim_end_matches("us"));
    let us: u64 = given.unwrap_or("100000").parse().expect("whole microseconds");
    format!("cobalt@{profile} target {}us interval {us}us", us / 20)
}

fn count(vector: &Vector, verdict: FateKind) -> usize {
    vector.packets.iter().filter(|packet| packet.fate.verdict == verdict).count()
}
