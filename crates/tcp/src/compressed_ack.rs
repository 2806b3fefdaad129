//! Compressed acknowledgments: while data arrives out of order, duplicate acknowledgments are held back for a moment
//! and merged.
//!
//! Source: Linux 6.1 `__tcp_ack_snd_check`, `tcp_compressed_ack_kick`, `tcp_sack_compress_send_ack`.
//! `Differs:` no other timer of the host expires during the slack of this one and takes it along.

use super::stack::CompressedAcks;
use sojourn_aqm::{Duration, Instant};

/// The compressed acknowledgments that are held back.
#[derive(Clone, Debug)]
pub(super) struct AckCompression {
    config: CompressedAcks,
    /// Number of acknowledgments held back.
    pending: u32,
    /// Duplicates sent at once since `rcv_nxt` had this value.
    duplicates: u32,
    rcv_nxt: u64,
    /// When the held acknowledgment is sent.
    pub due: Instant,
}

impl AckCompression {
    pub fn new(config: CompressedAcks) -> Self {
        Self { config, pending: 0, duplicates: 0, rcv_nxt: 0, due: Instant::NEVER }
    }

    /// Out-of-order data arrived. Returns whether its acknowledgment is held back. An RTT of zero is unknown. `delayed`
    /// is when the delayed-ACK timer expires, which is still running although acknowledgments were sent since; the held
    /// acknowledgment leaves by then at the latest (`tcp_delack_timer_handler`).
    pub fn may_defer(&mut self, now: Instant, rcv_nxt: u64, rtt: Duration, delayed: Instant) -> bool {
        if self.pending >= self.config.max_segments {
            return false;
        }
        if self.rcv_nxt != rcv_nxt {
            (self.rcv_nxt, self.duplicates) = (rcv_nxt, 0);
        }
        // The sender needs its three duplicates without delay.
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

    /// Whether an acknowledgment is held back, and a block in position `i` would push one of the usual two out of the
    /// SACK option.
    pub fn must_flush_before(&self, i: usize) -> bool {
        self.pending > 0 && i >= USUAL_BLOCKS
    }

    /// An acknowledgment was sent; it covers everything held back.
    pub fn on_ack_sent(&mut self) {
        self.pending = 0;
        self.due = Instant::NEVER;
    }
}

/// Slack of the timer when no other timer is due (`tcp_comp_sack_slack_ns`). hrtimers are batched within their slack,
/// and this one, alone in its host, expires at the end. The kernel engine's guest is patched to do so always
/// (`edits.toml`), because its hosts share one processor.
const SLACK: Duration = Duration::from_micros(100);

/// Duplicates that start a fast retransmission.
const FAST_RETRANSMIT_THRESHOLD: u32 = 3;

/// SACK blocks that Linux expects to arrive (`TCP_SACK_BLOCKS_EXPECTED`).
const USUAL_BLOCKS: usize = 2;
