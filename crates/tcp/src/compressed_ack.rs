//! Compressed acknowledgments: while data arrives out of order, acknowledgments wait for each other for a moment.
//!
//! Source: Linux 6.1 `__tcp_ack_snd_check`, `tcp_compressed_ack_kick`, `tcp_sack_compress_send_ack`.
//! `Differs:` another timer of the host that is due during the slack of this one would take it along.

use super::stack::CompressedAcks;
use sojourn_aqm::{Duration, Instant};

/// Which acknowledgments wait.
#[derive(Clone, Debug)]
pub(super) struct AckCompression {
    config: CompressedAcks,
    /// Acknowledgments that wait.
    pending: u32,
    /// Duplicates sent at once since `rcv_nxt` was this.
    duplicates: u32,
    rcv_nxt: u64,
    /// When what waits is sent.
    pub due: Instant,
}

impl AckCompression {
    pub fn new(config: CompressedAcks) -> Self {
        Self { config, pending: 0, duplicates: 0, rcv_nxt: 0, due: Instant::NEVER }
    }

    /// Out-of-order data arrived. Returns whether its acknowledgment waits; an RTT of zero is unknown. The timer of delayed
    /// acknowledgments, which those that were sent since have not stopped, expires at `delayed`: then it goes at the latest
    /// (`tcp_delack_timer_handler`).
    pub fn may_defer(&mut self, now: Instant, rcv_nxt: u64, rtt: Duration, delayed: Instant) -> bool {
        if self.pending >= self.config.max_segments {
            return false;
        }
        if self.rcv_nxt != rcv_nxt {
            (self.rcv_nxt, self.duplicates) = (rcv_nxt, 0);
        }
        // The sender needs its three duplicates at once.
        if self.duplicates < FAST_RETRANSMIT_THRESHOLD {
            self.duplicates += 1;
            return false;
        }
        self.pending += 1;
        if self.due == Instant::NEVER {
            let due = now + self.config.delay.min(rtt / self.config.rtt_divisor as i64) + SLACK;
            self.due = if delayed > now { due.min(delayed) } else { due };
        }
        true
    }

    /// Whether an acknowledgment waits that a block in position `i` would push out of the SACK option's usual two.
    pub fn must_flush_before(&self, i: usize) -> bool {
        self.pending > 0 && i >= USUAL_BLOCKS
    }

    /// An acknowledgment was sent: it tells of everything.
    pub fn on_ack_sent(&mut self) {
        self.pending = 0;
        self.due = Instant::NEVER;
    }
}

/// How late the timer is where no other one is due (`tcp_comp_sack_slack_ns`).
const SLACK: Duration = Duration::from_micros(100);

/// Duplicates that start a fast retransmission.
const FAST_RETRANSMIT_THRESHOLD: u32 = 3;

/// SACK blocks that Linux expects to arrive (`TCP_SACK_BLOCKS_EXPECTED`).
const USUAL_BLOCKS: usize = 2;
