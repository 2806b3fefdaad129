//! Linux 6.1's flow queueing, packet by packet: the recorded vectors of the real kernel.

#[path = "common/kernel.rs"]
mod kernel;

use sojourn_aqm::Limits;

/// The kernel's hash is seeded from its run; the few flows of these vectors do not collide in 1024 queues, which is
/// what `perfect` stands for.
#[test]
fn fq_codel_agrees_with_the_kernel_on_every_packet() {
    kernel::assert_agreement("fq_codel", |vector| {
        let (params, quantum) = vector.words_without("quantum");
        // tc takes bytes without a unit.
        let quantum = format!("quantum {}B", quantum.expect("a quantum"));
        vector.build(&format!("fq_codel@linux hash perfect {quantum} {}", params.join(" ")), Limits::default())
    });
}
