//! Linux 6.1's fq, packet by packet: a vector of the real kernel with flows that are paced, become idle and are
//! refilled (`python -m sojourn.kernel.vectors`).

use crate::kernel::{FateKind, differences, own_vectors, replay};

#[test]
fn fq_agrees_with_the_kernel_on_every_packet() {
    let [vector] = &own_vectors("fq.")[..] else { panic!("one vector") };
    let mut fates = replay(vector, vector.build_as("fq@linux-6.1"));
    // It drops only arrivals, which the kernel reports to the sender; the vector does not record that.
    let drops = fates.iter_mut().filter(|fate| fate.verdict == FateKind::DropOnArrival);
    drops.for_each(|fate| fate.verdict = FateKind::Drop);
    assert_eq!(differences(vector, &fates), None);
    for (verdict, least) in [(FateKind::Drop, 100), (FateKind::Mark, 30)] {
        let found = vector.packets.iter().filter(|packet| packet.fate.verdict == verdict).count();
        assert!(found >= least, "{verdict:?}: {found}");
    }
}
