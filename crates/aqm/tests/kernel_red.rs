//! Linux 6.1's RED, with and without `adaptative`, and CHOKe, packet by packet.

use crate::kernel;

#[test]
fn red_agrees_with_the_kernel_on_every_packet() {
    kernel::assert_agreement("red", |vector| vector.build_as("red@linux"));
}

/// These vectors were recorded with `adaptative`, but their kernel never adapted: tc since 5.7 sends the flag in
/// TCA_RED_FLAGS and leaves tc_red_qopt.flags zero, while __red_change starts the timer by `if (ctl->flags &
/// TC_RED_ADAPTATIVE)`. The profile `linux`, which adapts, must differ.
#[test]
fn ared_agrees_with_the_kernel_on_every_packet() {
    kernel::assert_agreement("ared", |vector| vector.build_as("ared@linux-5.7"));
    for vector in kernel::vectors("ared") {
        let fates = kernel::replay(&vector, vector.build_as("ared@linux"));
        assert!(kernel::differences(&vector, &fates).is_some(), "{}: adaptation makes no difference", vector.name);
    }
}

#[test]
fn choke_agrees_with_the_kernel_on_every_packet() {
    kernel::assert_agreement("choke", |vector| vector.build_as("choke"));
}
