//! Headers of outgoing segments.
//!
//! Source: Linux `__tcp_transmit_skb`; RFC 7323 for timestamps.

use crate::segment::Segment;
use crate::stack::Stack;
use crate::stats::SenderStats;
use crate::{FIRST_BYTE, Flags, Header, HostTime, SenderEvent, Wire, is_newer};
use sojourn_aqm::{Ecn, Instant};

/// Fills in headers and hands segments to the host. Fields used for every segment come first and share a cache line.
#[repr(C)]
#[derive(Clone, Debug)]
pub(crate) struct Output {
    /// IP bytes of a data segment without its payload.
    overhead: u32,
    /// The newest timestamp of the peer (TS.Recent).
    ts_recent: u32,
    /// Time of the last data transmission.
    last_sent: Instant,
    pub stats: SenderStats,
    stack: &'static Stack,
}

impl Output {
    /// No segment sent yet.
    pub fn new(stack: &'static Stack) -> Self {
        Self {
            stack,
            overhead: Header::ip_overhead_of(stack),
            ts_recent: 0,
            last_sent: Instant::ZERO,
            stats: SenderStats::default(),
        }
    }

    /// Whether the peer's timestamp `ts_val` is newer than those before.
    pub fn is_newer(&self, ts_val: u32) -> bool {
        is_newer(ts_val, self.ts_recent)
    }

    /// Whether the SYN-ACK is acknowledged at once.
    pub fn acks_handshake(&self) -> bool {
        self.stack.acks_handshake
    }

    /// IP bytes of a segment of the peer.
    pub fn len_of(&self, header: &Header) -> u32 {
        header.ip_len_of(self.stack)
    }

    /// The peer's first segment carried the timestamp `ts_val`.
    pub fn init_ts_recent(&mut self, ts_val: u32) {
        self.ts_recent = ts_val;
    }

    /// A segment of the peer carried the timestamp `ts_val`.
    #[inline]
    pub fn update_ts_recent(&mut self, ts_val: u32) {
        if self.is_newer(ts_val) {
            self.ts_recent = ts_val;
        }
    }

    /// Time of the last data transmission; zero if none.
    #[inline]
    pub fn last_sent(&self) -> Instant {
        self.last_sent
    }

    /// Sends new data. Inlined into the caller together with the host's part.
    #[inline(always)]
    pub fn send_data(&mut self, segment: &Segment, (flags, ecn): (Flags, Ecn), now: HostTime, wire: &mut impl Wire) {
        self.stats.sent += 1;
        let (header, len) = self.segment(segment, flags, now);
        wire.notify(|| SenderEvent::Sent { header: &header, len, ecn, is_retransmission: false });
        wire.send_data(&header, len, ecn);
    }

    /// Retransmits a segment.
    pub fn retransmit(&mut self, segment: &Segment, how: (Flags, Ecn), now: HostTime, wire: &mut impl Wire) {
        self.stats.sent += 1;
        self.stats.retransmissions += 1;
        let (flags, ecn) = how;
        let (header, len) = self.segment(segment, flags, now);
        self.hand_down((&header, len, ecn), true, wire);
    }

    /// Sends a SYN.
    pub fn send_syn(&self, (flags, ecn): (Flags, Ecn), now: HostTime, wire: &mut impl Wire) {
        let header = Header { seq: 0, ack: 0, flags: Flags::SYN.with(flags), ..self.empty_header(now) };
        self.hand_down((&header, header.ip_len_of(self.stack), ecn), self.stats.timeouts > 0, wire);
    }

    /// Sends a pure acknowledgment.
    pub fn send_pure_ack(&self, seq: u64, (flags, ecn): (Flags, Ecn), now: HostTime, wire: &mut impl Wire) {
        let header = Header { seq, flags, ..self.empty_header(now) };
        self.hand_down((&header, header.ip_len_of(self.stack), ecn), false, wire);
    }

    /// Header and IP bytes of a segment that is sent now.
    #[inline(always)]
    fn segment(&mut self, segment: &Segment, flags: Flags, now: HostTime) -> (Header, u32) {
        self.last_sent = now.at;
        let flags = flags.with_if(Flags::FIN, segment.fin);
        let header = Header { seq: segment.seq, len: segment.len, flags, ..self.empty_header(now) };
        (header, self.overhead + segment.len as u32)
    }

    /// Hands a segment to the host: header, IP bytes, codepoint.
    #[inline(always)]
    fn hand_down(&self, (header, len, ecn): (&Header, u32, Ecn), is_retransmission: bool, wire: &mut impl Wire) {
        wire.notify(|| SenderEvent::Sent { header, len, ecn, is_retransmission });
        wire.transmit(header, len, ecn);
    }

    #[inline]
    fn empty_header(&self, now: HostTime) -> Header {
        // The receiver sends no data, so only its SYN is acknowledged.
        Header { ack: FIRST_BYTE, ts_val: now.tick as u32, ts_ecr: self.ts_recent, ..Header::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Collects sent segments: header, IP bytes, codepoint.
    struct SentSegments(Vec<(Header, u32, Ecn)>);

    impl Wire for SentSegments {
        fn transmit(&mut self, header: &Header, len: u32, ecn: Ecn) {
            self.0.push((*header, len, ecn));
        }
    }

    #[test]
    fn lengths_are_of_the_stack_and_a_retransmission_is_counted() {
        for (stack, syn, data) in [("linux-6.1", 60, 1052), ("ns2", 40, 1040)] {
            let stack = Stack::find(stack).expect("a stack");
            let (mut output, mut sent, now) =
                (Output::new(stack), SentSegments(Vec::new()), stack.clock().now(Instant::ZERO));
            let segment = Segment::new(1, 1000, true, now.at);
            output.update_ts_recent(77);
            output.update_ts_recent(5);
            output.send_syn((Flags::default(), Ecn::NotEct), now, &mut sent);
            output.send_data(&segment, (Flags::ACK.with(Flags::CWR), Ecn::Ect0), now, &mut sent);
            output.retransmit(&segment, (Flags::ACK, Ecn::NotEct), now, &mut sent);
            let seen: Vec<_> = sent.0.iter().map(|(header, len, ecn)| (header.flags, *len, *ecn)).collect();
            let fin = Flags::ACK.with(Flags::FIN);
            let expected =
                [(Flags::SYN, syn, Ecn::NotEct), (fin.with(Flags::CWR), data, Ecn::Ect0), (fin, data, Ecn::NotEct)];
            assert_eq!(seen, expected);
            assert_eq!((sent.0[1].0.ts_ecr, output.stats.sent, output.stats.retransmissions), (77, 2, 1));
        }
    }
}
