//! Linux 6.1's flow queueing, packet by packet: the recorded vectors of the real kernel.

#[path = "common/kernel.rs"]
mod kernel;

use kernel::{FateKind, assert_agreement, differences, own_vectors, replay, vectors};

/// The kernel's hash is seeded from its run; the few flows of these vectors do not collide in 1024 queues, which is
/// what the hash `perfect` stands for.
#[test]
fn fq_codel_agrees_with_the_kernel_on_every_packet() {
    assert_agreement("fq_codel", |vector| vector.build_as("fq_codel@linux"));
}

/// Linux 6.1.192, which tells nobody of early drops.
#[test]
fn fq_pie_agrees_with_the_kernel_on_every_packet() {
    let found = own_vectors("fq_pie");
    assert_eq!(found.len(), 3);
    for vector in found {
        let fates = replay(&vector, vector.build_as("fq_pie"));
        assert_eq!(differences(&vector, &fates), None, "{}", vector.name);
        let drops = fates.iter().filter(|fate| fate.verdict == FateKind::Drop).count();
        assert!(drops > 10, "{}: {drops} drops", vector.name);
    }
}

/// Credit is counted in bytes, as in Linux since 6.10 and what was carried back to 6.1; in units of 8 bytes, as before,
/// flows of different packets take other turns.
#[test]
fn sfq_red_agrees_with_the_kernel_on_every_packet() {
    assert_agreement("sfq_red", |vector| vector.build_as("sfq_red"));
    for vector in vectors("sfq_red.burst") {
        let fates = replay(&vector, vector.build_as("sfq_red scaled_allot"));
        assert!(differences(&vector, &fates).is_some(), "{}: the unit makes no difference", vector.name);
    }
}
