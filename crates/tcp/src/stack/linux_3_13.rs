//! Linux 3.13.

use super::*;

/// Linux 3.13. Differs: an undo is Reno's, also with CUBIC. From memory: the first advertised window, and no moderation
/// in Disorder.
pub const STACK: Stack = Stack {
    machine: RecoveryMachine::Linux3_10,
    moderation: Moderation::Never,
    undo: UndoPolicy { needs_retransmission: true, ..linux_2_6_29::STACK.undo },
    validates_every_send: true,
    loss_probe: Some(ProbeTimeout::Linux3_10),
    counting: GrowthCounting::PacketsInSlowStart,
    sizes_bursts_by_rate: true,
    // The first advertised window is twenty segments.
    quickacks_at_start: 10,
    ..linux_3_8::STACK
};
