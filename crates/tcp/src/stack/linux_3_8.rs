//! Linux 3.8 of the CoDel and PIE measurements of 2013, with appropriate byte counting.

use super::*;

/// Linux 3.8. From memory: the first advertised window, and moderation in Disorder.
pub const STACK: Stack = Stack {
    initial_window: 10,
    rto_initial: Duration::from_secs(1),
    reduction: WindowReduction::Prr,
    moderation: Moderation::Disorder,
    // From 3.2 on SACKs also mark losses among segments sent during the recovery.
    marks_beyond_high_seq: true,
    disorder_while_undoable: false,
    early_retransmit: true,
    counting: GrowthCounting::Bytes(1),
    cubic: cubic::LINUX_3,
    validation: CwndValidation::NearlyFull,
    // The first advertised window is ten segments.
    quickacks_at_start: 5,
    ..linux_2_6_29::STACK
};
