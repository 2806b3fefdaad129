//! Counters of a run, readable between its steps: cumulative from the start of the run, so a step's share is a
//! difference.

use crate::link::MeteredQueue;
use crate::status::Status;
use sojourn_aqm::{Backlog, DropReason};

/// A queue and the link that serves it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Packets and bytes in the queue now.
    pub backlog: Backlog,
    /// Packets that arrived at the queue.
    pub arrived: u64,
    /// Packets dropped by the queue, by the number of their [`DropReason`].
    pub dropped_by: [u64; DropReason::ALL.len()],
    /// Packets that the queue marked CE.
    pub marked: u64,
    /// Packets whose transmission has started.
    pub sent: u64,
    /// Bytes of these packets, as the queue counts them.
    pub bytes: u64,
    /// Sum of the sojourn times of these packets, in nanoseconds.
    pub sojourn_ns: u128,
    /// Packets lost on the medium after transmission.
    pub lost: u64,
}

/// A flow that lasts the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowCounters {
    /// Payload bytes that have arrived, without duplicates.
    pub arrived_bytes: u64,
    /// Payload bytes that have been delivered in order.
    pub delivered_bytes: u64,
    /// Data packets sent.
    pub sent: u64,
    /// Data packets retransmitted.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Current congestion window in segments; NaN if the flow has none.
    pub cwnd: f64,
    /// Current smoothed RTT in milliseconds; NaN if the flow has none.
    pub srtt_ms: f64,
    /// Segments in flight now.
    pub in_flight: u32,
}

impl LinkCounters {
    /// Packets dropped by the queue, for any reason.
    pub fn dropped(&self) -> u64 {
        self.dropped_by.iter().sum()
    }

    pub(crate) fn of(queue: &dyn MeteredQueue) -> Self {
        let tally = queue.tally();
        let mut counters = Self { backlog: queue.backlog(), bytes: tally.total_bytes, ..Self::default() };
        for part in tally.intervals() {
            counters.arrived += part.arrived;
            counters.dropped_by.iter_mut().zip(part.dropped).for_each(|(sum, more)| *sum += more);
            counters.marked += part.marked;
            counters.sent += part.departed;
            counters.sojourn_ns += part.sojourn().sum();
            counters.lost += part.lost;
        }
        counters
    }
}

impl FlowCounters {
    pub(crate) fn of(status: &Status) -> Self {
        let &Status { payload, sent, retransmissions, timeouts, cwnd, srtt_ms, in_flight, .. } = status;
        let (arrived_bytes, delivered_bytes) = (payload.arrived, payload.delivered);
        Self { arrived_bytes, delivered_bytes, sent, retransmissions, timeouts, cwnd, srtt_ms, in_flight }
    }
}
