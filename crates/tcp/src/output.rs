//! The headers of what the sender sends.
//!
//! Source: Linux `__tcp_transmit_skb`; RFC 7323 for timestamps.

use crate::config::SenderStats;
use crate::segment::Segment;
use crate::stack::Stack;
use crate::{FIRST_BYTE, Flags, Header, Now, Wire};
use sojourn_aqm::{Ecn, Instant};

/// Fills in headers and hands segments to the host.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    stack: &'static Stack,
    /// The newest timestamp of the peer, to be echoed.
    ts_recent: u32,
    /// When data was last sent.
    last_sent: Instant,
    pub stats: SenderStats,
}

impl Output {
    /// Nothing was sent.
    pub fn new(stack: &'static Stack) -> Self {
        Self { stack, ts_recent: 0, last_sent: Instant::ZERO, stats: SenderStats::default() }
    }

    /// A segment of the peer carried the timestamp `ts_val`.
    #[inline]
    pub fn heard(&mut self, ts_val: u32) {
        self.ts_recent = self.ts_recent.max(ts_val);
    }

    /// When data was last sent; zero if never.
    #[inline]
    pub fn last_sent(&self) -> Instant {
        self.last_sent
    }

    /// Sends data for the first time.
    #[inline(always)]
    pub fn data(&mut self, segment: &Segment, flags: Flags, ecn: Ecn, now: Now, wire: &mut impl Wire) {
        self.stats.sent += 1;
        self.segment(segment, flags, ecn, now, wire);
    }

    /// Sends data again. RFC 3168 §6.1.5: retransmissions are not ECN-capable.
    pub fn again(&mut self, segment: &Segment, now: Now, wire: &mut impl Wire) {
        self.stats.sent += 1;
        self.stats.retransmissions += 1;
        self.segment(segment, Flags::ACK, Ecn::NotEct, now, wire);
    }

    /// Sends a SYN.
    pub fn syn(&self, flags: Flags, now: Now, wire: &mut impl Wire) {
        let header = Header { seq: 0, ack: 0, flags: Flags::SYN.with(flags), ..self.blank(now) };
        wire.transmit(&header, header.ip_len_of(self.stack), Ecn::NotEct);
    }

    /// Sends an acknowledgment without data.
    pub fn pure_ack(&self, seq: u64, now: Now, wire: &mut impl Wire) {
        let header = Header { seq, flags: Flags::ACK, ..self.blank(now) };
        wire.transmit(&header, header.ip_len_of(self.stack), Ecn::NotEct);
    }

    #[inline(always)]
    fn segment(&mut self, segment: &Segment, flags: Flags, ecn: Ecn, now: Now, wire: &mut impl Wire) {
        self.last_sent = now.at;
        let flags = flags.with_if(Flags::FIN, segment.fin);
        let header = Header { seq: segment.seq, len: segment.len, flags, ..self.blank(now) };
        wire.transmit(&header, header.ip_len_of(self.stack), ecn);
    }

    #[inline]
    fn blank(&self, now: Now) -> Header {
        // The receiver sends no data: all that is acknowledged is its SYN.
        Header { ack: FIRST_BYTE, ts_val: now.tick, ts_ecr: self.ts_recent, ..Header::default() }
    }
}
