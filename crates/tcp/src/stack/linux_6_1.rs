//! Linux 6.1.

use super::*;

/// Linux 6.1.
pub const STACK: Stack = Stack {
    rtt_unit: Duration::from_micros(1),
    timer_wheel: true,
    reduction: Reduction::CarefulPrr,
    fack: false,
    rack: true,
    early_retransmit: false,
    loss_probe: Some(ProbeTimeout::Linux6_1),
    counting: Counting::Packets,
    cubic: cubic::LINUX_6,
    validation: Validation::Round,
    ecn_fallback: true,
    bursts: true,
    tunes_window: true,
    // The first window advertised, 64,240 bytes, would allow for more: the limit of 16 rules.
    quickacks_at_start: 16,
    quickacks_on_reordering: false,
    quickacks_on_ecn: true,
    compressed_acks: Some(CompressedAcks { delay: Duration::from_millis(1), rtt_divisor: 20, most: 44 }),
    ..linux_3_13::STACK
};
