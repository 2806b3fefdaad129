//! Disciplines of Linux 7.3 that 6.12 does not have, packet by packet: vectors of the real kernel's DualPI2, of CAKE's
//! instances with a shared rate, and of changes in CAKE (`python -m sojourn.kernel.vectors --version 7.3`).

use crate::kernel::{FateKind, KernelFate, Vector, differences, own_vectors, replay};

/// Drops on arrival, at dequeue and at the limits; a step by time and by packets; gains given and derived from
/// round-trip times; both ways to fill the L queue, overload with and without drops.
#[test]
fn dualpi2_agrees_with_the_kernel_on_every_packet() {
    let found = own_vectors("dualpi2.");
    assert_eq!(found.len(), 6);
    for vector in found {
        assert_eq!(differences(&vector, &fates(&vector, "dualpi2@linux")), None, "{}", vector.name);
        assert!(count(&vector, FateKind::Drop) > 100 && count(&vector, FateKind::Mark) > 50, "{}", vector.name);
    }
}

/// The plain one has the RFC's real numbers, and other constants.
#[test]
fn a_vector_tells_the_kernel_s_dualpi2_from_the_rfc_s() {
    let [vector] = &own_vectors("dualpi2.any_ect")[..] else { panic!("one vector") };
    assert!(differences(vector, &fates(vector, "dualpi2")).is_some());
}

#[test]
fn cakes_that_share_a_rate_agree_with_the_kernel_on_every_packet() {
    for (name, queues) in [("cake_mq.fast", 3), ("cake_mq.ingress", 4)] {
        let [vector] = &own_vectors(name)[..] else { panic!("one vector {name}") };
        let aqm = format!("cake_mq queues {queues} hash modulo");
        assert_eq!(differences(vector, &fates(vector, &aqm)), None, "{name}");
        // With a longer interval between counts, the instances share differently.
        assert!(differences(vector, &fates(vector, &format!("{aqm} sync_time 5ms"))).is_some(), "{name}");
    }
}

/// By BLUE's draws under a memory limit, and by the frequency of changes of the estimated rate.
#[test]
fn cake_agrees_with_linux_7_and_not_with_linux_6() {
    let found = own_vectors("cake-7.3.");
    assert_eq!(found.len(), 2);
    for vector in found {
        assert_eq!(differences(&vector, &fates(&vector, "cake@linux-7.3")), None, "{}", vector.name);
        assert!(differences(&vector, &fates(&vector, "cake@linux")).is_some(), "{}", vector.name);
    }
}

/// Fates of a vector's packets in a queue. All drops are one kind: the notifications of the sender were not recorded.
fn fates(vector: &Vector, aqm: &str) -> Vec<KernelFate> {
    let mut fates = replay(vector, vector.build_as(aqm));
    let drops = fates.iter_mut().filter(|fate| fate.verdict == FateKind::DropOnArrival);
    drops.for_each(|fate| fate.verdict = FateKind::Drop);
    fates
}

fn count(vector: &Vector, verdict: FateKind) -> usize {
    vector.packets.iter().filter(|packet| packet.fate.verdict == verdict).count()
}
