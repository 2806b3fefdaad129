//! Linux 6.1's CoDel, packet by packet: the recorded vectors of the real kernel against the profile `linux`.

#[path = "common/kernel.rs"]
mod kernel;

use sojourn_aqm::Limits;

#[test]
fn linux_profile_agrees_with_the_kernel_on_every_packet() {
    kernel::assert_agreement("codel", |vector| {
        let (params, limit) = vector.words_without("limit");
        let limit = limit.expect("a limit").parse().expect("a number of packets");
        vector.build(&format!("codel@linux {}", params.join(" ")), Limits::packets(limit))
    });
}
