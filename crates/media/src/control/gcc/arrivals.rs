//! Inter-arrival and inter-departure times of packet groups (`inter_arrival_delta.cc`).

use sojourn_aqm::{Duration, Instant};

/// Compares each group of packets with the one before it.
#[derive(Clone, Debug, Default)]
pub(super) struct InterArrival {
    current: Option<PacketGroup>,
    before: Option<PacketGroup>,
}

/// Packets sent within [`GROUP`] or received as a burst.
#[derive(Clone, Copy, Debug)]
struct PacketGroup {
    first_sent: Instant,
    sent: Instant,
    first_arrived: Instant,
    complete: Instant,
}

/// Time between two groups, at the sender and at the receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct GroupDeltas {
    pub sent: Duration,
    pub arrived: Duration,
}

impl InterArrival {
    /// Processes an arrival. If it starts a group, returns the deltas of the two groups before it.
    pub fn packet(&mut self, sent: Instant, arrived: Instant) -> Option<GroupDeltas> {
        let begun = PacketGroup { first_sent: sent, sent, first_arrived: arrived, complete: arrived };
        let Some(current) = &mut self.current else {
            self.current = Some(begun);
            return None;
        };
        if sent < current.first_sent {
            return None;
        }
        if !current.ends_before(sent, arrived) {
            current.sent = current.sent.max(sent);
            current.complete = arrived;
            return None;
        }
        let current = self.current.replace(begun)?;
        let before = self.before.replace(current)?;
        Some(GroupDeltas { sent: current.sent - before.sent, arrived: current.complete - before.complete })
    }
}

impl PacketGroup {
    /// Whether a packet starts the next group.
    fn ends_before(&self, sent: Instant, arrived: Instant) -> bool {
        !self.is_burst_with(sent, arrived) && sent - self.first_sent > GROUP
    }

    fn is_burst_with(&self, sent: Instant, arrived: Instant) -> bool {
        let (at_sender, at_receiver) = (sent - self.sent, arrived - self.complete);
        let closes_up = at_receiver < at_sender && at_receiver <= BURST && arrived - self.first_arrived < LONGEST_BURST;
        at_sender == Duration::ZERO || closes_up
    }
}

/// `kSendTimeGroupLength`, `kBurstDeltaThreshold`, `kMaxBurstDuration`.
const GROUP: Duration = Duration::from_millis(5);
const BURST: Duration = Duration::from_millis(5);
const LONGEST_BURST: Duration = Duration::from_millis(100);
