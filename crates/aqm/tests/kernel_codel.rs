//! Linux 6.1's CoDel, packet by packet: the recorded vectors of the real kernel against the profile `linux`.

use crate::kernel;

#[test]
fn linux_profile_agrees_with_the_kernel_on_every_packet() {
    kernel::assert_agreement("codel", |vector| vector.build_as("codel@linux"));
}
