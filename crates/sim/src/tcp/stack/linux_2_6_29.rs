//! Linux 2.6.29, the stack that the Network Simulation Cradle 0.5.3 carries.

use super::{Machine, Rto, Stack};
use crate::tcp::cc::{Counting, cubic};
use sojourn_aqm::Duration;

/// Linux 2.6.29.
pub const STACK: Stack = Stack {
    initial_window: 3,
    rto_initial: Duration::from_secs(3),
    rto_min: Duration::from_millis(200),
    rto_max: Duration::from_secs(120),
    tick: Duration::from_millis(1),
    machine: Machine::Linux2_6,
    timestamps: true,
    rto: Rto::Linux,
    most_window: None,
    acks_every_segment: false,
    fack: true,
    frto: true,
    counting: Counting::Acknowledgments,
    cubic: cubic::LINUX_2_6_29,
    reordering: 3,
    // tcp_select_initial_window: four segments, so 5792 / (2 * 1448).
    quickacks_at_start: 2,
    quickacks: 16,
    ato_min: Duration::from_millis(40),
};
