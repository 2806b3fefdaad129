//! Linux 6.1.

use super::*;

/// Linux 6.1.
pub const STACK: Stack = Stack {
    rtt_unit: Duration::from_micros(1),
    timer_wheel: true,
    reduction: WindowReduction::CarefulPrr,
    max_reordering: 300,
    forward_retransmit: false,
    reduces_after_timeout: true,
    keeps_flight_on_timeout: true,
    detects_after_undo: true,
    undo: UndoPolicy {
        window: UndoWindow::Prior,
        needs_retransmission: true,
        needs_progress: true,
        stamp_may_be_missing: true,
    },
    fack: false,
    rack: true,
    early_retransmit: false,
    loss_probe: Some(ProbeTimeout::Linux6_1),
    counting: GrowthCounting::Packets,
    cubic: cubic::LINUX_6,
    validation: CwndValidation::Round,
    grows_before_sending: true,
    growth_counts_delivered: true,
    ecn_fallback: true,
    bursts: true,
    buffers_sends: true,
    small_queues: true,
    fin_beyond_window: true,
    tunes_window: true,
    // The first advertised window, 64,240 bytes, would allow for more; the limit of 16 applies.
    quickacks_at_start: 16,
    // Since 4.18 out-of-order data starts no quick acknowledgments.
    quickacks_on_reordering: false,
    quickacks_on_ecn: true,
    compressed_acks: Some(CompressedAcks { delay: Duration::from_millis(1), rtt_divisor: 20, max_segments: 44 }),
    forgets_blocks: true,
    ..linux_3_13::STACK
};
