//! Linux 6.1's flow queueing, packet by packet: the recorded vectors of the real kernel.

use crate::kernel::{FateKind, assert_agreement, differences, own_vectors, replay, vectors};

/// The kernel seeds its hash at run time; the few flows of these vectors do not collide in 1024 queues, so `perfect` is
/// equivalent.
#[test]
fn fq_codel_agrees_with_the_kernel_on_every_packet() {
    assert_agreement("fq_codel", |vector| vector.build_as("fq_codel@linux"));
}

/// Linux 6.1.192, which does not report early drops to the sender.
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

/// The deficit counts bytes, as in Linux since 6.10 and in 6.1 by backport; in units of 8 bytes, as before, flows of
/// different packet sizes are served in another order.
#[test]
fn sfq_red_agrees_with_the_kernel_on_every_packet() {
    assert_agreement("sfq_red", |vector| vector.build_as("sfq_red"));
    for vector in vectors("sfq_red.burst") {
        let fates = replay(&vector, vector.build_as("sfq_red scaled_allot"));
        assert!(differences(&vector, &fates).is_some(), "{}: the unit makes no difference", vector.name);
    }
}
