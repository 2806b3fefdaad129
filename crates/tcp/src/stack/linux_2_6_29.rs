//! Linux 2.6.29, the stack that the Network Simulation Cradle 0.5.3 carries.

use super::*;

/// Linux 2.6.29.
pub const STACK: Stack = Stack {
    initial_window: 3,
    rto_initial: Duration::from_secs(3),
    rto_min: Duration::from_millis(200),
    rto_max: Duration::from_secs(120),
    tick: Duration::from_millis(1),
    rtt_unit: Duration::from_millis(1),
    timer_wheel: false,
    machine: Machine::Linux2_6,
    reduction: Reduction::RateHalving,
    moderation: Moderation::Always,
    timestamps: true,
    rto: Rto::Linux,
    most_window: None,
    acks_every_segment: false,
    fack: true,
    rack: false,
    early_retransmit: false,
    loss_probe: None,
    frto: true,
    counting: Counting::Acknowledgments,
    cubic: cubic::LINUX_2_6_29,
    validation: Validation::InFlight,
    idle_restart: true,
    ecn_fallback: false,
    bursts: false,
    tunes_window: false,
    reordering: 3,
    // tcp_select_initial_window: four segments, so 5792 / (2 * 1448).
    quickacks_at_start: 2,
    quickacks: 16,
    quickacks_on_reordering: true,
    quickacks_on_ecn: false,
    compressed_acks: None,
    ato_min: Duration::from_millis(40),
};
