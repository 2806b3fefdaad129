//! Linux 6.1's SFB, packet by packet: a vector of the real kernel in which the slots are swapped (`python -m
//! sojourn.kernel.vectors`).

use crate::kernel::{FateKind, differences, own_vectors, replay};

/// `sfb_enqueue` reads the slot before it swaps, so the packet that causes a swap counts in the old slot.
#[test]
fn sfb_agrees_with_the_kernel_on_every_packet() {
    let [vector] = &own_vectors("sfb.rehash")[..] else { panic!("one vector") };
    let fates = replay(vector, vector.build_as("sfb@tc"));
    assert_eq!(differences(vector, &fates), None);
    let drops = vector.packets.iter().filter(|packet| packet.fate.verdict == FateKind::Drop).count();
    assert!(drops > 50, "{drops} drops");
}
