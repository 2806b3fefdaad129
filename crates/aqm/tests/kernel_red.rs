//! Linux 6.1's RED, with and without `adaptative`, and CHOKe, packet by packet.

#[path = "common/kernel.rs"]
mod kernel;

use kernel::{Vector, with_units};
use sojourn_aqm::{Limits, Qdisc};

#[test]
fn red_agrees_with_the_kernel_on_every_packet() {
    kernel::assert_agreement("red", |vector| red(vector, "red@linux"));
}

/// These vectors were recorded with `adaptative`, and their kernel never adapted: tc since 5.7 sends the flag in
/// TCA_RED_FLAGS and leaves tc_red_qopt.flags zero, while __red_change starts the timer by
/// `if (ctl->flags & TC_RED_ADAPTATIVE)`. The profile `linux`, which adapts, must differ.
#[test]
fn ared_agrees_with_the_kernel_on_every_packet() {
    kernel::assert_agreement("ared", |vector| red(vector, "ared@linux-5.7"));
    for vector in kernel::vectors("ared") {
        let fates = kernel::replay(&vector, red(&vector, "ared@linux"));
        assert!(kernel::differences(&vector, &fates).is_some(), "{}: adaptation makes no difference", vector.name);
    }
}

#[test]
fn choke_agrees_with_the_kernel_on_every_packet() {
    kernel::assert_agreement("choke", |vector| {
        let (words, limit) = vector.words_without("limit");
        let limit = limit.expect("a limit").parse().expect("a number of packets");
        vector.build(&with_units("choke", &words, &["avpkt"]), Limits::packets(limit))
    });
}

/// tc's words for RED: the limit is the queue's.
fn red(vector: &Vector, aqm: &str) -> Box<dyn Qdisc<u32>> {
    let (mut words, limit) = vector.words_without("limit");
    words.retain(|&word| word != "adaptative");
    let limit = limit.expect("a limit").parse().expect("a number of bytes");
    vector.build(&with_units(aqm, &words, &["min", "max", "avpkt"]), Limits::bytes(limit))
}
