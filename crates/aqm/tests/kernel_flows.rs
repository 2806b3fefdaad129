//! Linux 6.1's flow queueing, packet by packet: the recorded vectors of the real kernel.

#[path = "common/kernel.rs"]
mod kernel;

use kernel::{Vector, assert_agreement, differences, replay, vectors, with_units};
use sojourn_aqm::Limits;

/// The kernel's hash is seeded from its run; the few flows of these vectors do not collide in 1024 queues, which is
/// what `perfect` stands for.
#[test]
fn fq_codel_agrees_with_the_kernel_on_every_packet() {
    assert_agreement("fq_codel", |vector| {
        let (params, quantum) = vector.words_without("quantum");
        // tc takes bytes without a unit.
        let quantum = format!("quantum {}B", quantum.expect("a quantum"));
        vector.build(&format!("fq_codel@linux hash perfect {quantum} {}", params.join(" ")), Limits::default())
    });
}

/// Credit is counted in bytes, as in Linux since 6.10 and what was carried back to 6.1; in units of 8 bytes, as before,
/// flows of different packets take other turns.
#[test]
fn sfq_red_agrees_with_the_kernel_on_every_packet() {
    let build = |vector: &Vector, aqm: &str| {
        let words: Vec<_> = vector.qdisc.split(' ').skip(1).collect();
        let sizes = ["quantum", "redflowlimit", "min", "max", "avpkt"];
        vector.build(&with_units(aqm, &words, &sizes), Limits::default())
    };
    assert_agreement("sfq_red", |vector| build(vector, "sfq_red hash perfect"));
    for vector in vectors("sfq_red.burst") {
        let fates = replay(&vector, build(&vector, "sfq_red hash perfect scaled_allot"));
        assert!(differences(&vector, &fates).is_some(), "{}: the unit makes no difference", vector.name);
    }
}
