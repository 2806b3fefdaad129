//! The handshake.
//!
//! Source: RFC 9293 §3.5; Linux `tcp_rcv_synsent_state_process`, `tcp_synack_rtt_meas`.

use crate::round_trip::RoundTrip;
use crate::{FIRST_BYTE, Flags, Header, HostTime};
use sojourn_aqm::Instant;

/// State of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Closed,
    SynSent,
    Established,
}

/// The handshake, from the sender's side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handshake {
    phase: Phase,
    /// When the last SYN was sent.
    syn_sent: Instant,
    /// SYNs sent.
    syns: u32,
}

impl Handshake {
    /// Closed.
    pub fn new() -> Self {
        Self { phase: Phase::Closed, syn_sent: Instant::ZERO, syns: 0 }
    }

    /// How far the connection is.
    #[inline]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Whether data may be sent.
    #[inline]
    pub fn is_established(&self) -> bool {
        self.phase == Phase::Established
    }

    /// A SYN is sent, the first or a retransmission.
    pub fn on_syn_sent(&mut self, now: HostTime) {
        (self.phase, self.syn_sent, self.syns) = (Phase::SynSent, now.at, self.syns + 1);
    }

    /// A segment arrived in SYN-SENT. Returns whether it is the SYN-ACK, which establishes the connection.
    pub fn on_syn_ack(&mut self, header: &Header) -> bool {
        let answers = header.flags.contains(Flags::SYN.with(Flags::ACK)) && header.ack == FIRST_BYTE;
        if answers {
            self.phase = Phase::Established;
        }
        answers
    }

    /// Passive side: returns whether `header` completes the handshake.
    pub fn on_connection(&mut self, header: &Header) -> bool {
        let opens = self.phase == Phase::Closed && !header.flags.contains(Flags::SYN);
        if opens {
            self.phase = Phase::Established;
        }
        opens
    }

    /// The RTT sample, in units, from the segment that established the connection. After a retransmitted SYN only a
    /// timestamp shows which SYN was answered, in whole ticks.
    pub fn rtt_sample(&self, now: HostTime, header: &Header, rtt: &RoundTrip) -> Option<u32> {
        if self.syns == 1 { Some(rtt.age_in_units(now, self.syn_sent)) } else { rtt.units_by_echo(now, header.ts_ecr) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::Stack;

    #[test]
    fn the_rtt_is_of_the_syn_that_was_answered() {
        let rtt = RoundTrip::new(Stack::find("linux-6.1").expect("a stack"));
        let now = |us: u64| rtt.clock().now(Instant::from_nanos(us * 1_000));
        let flags = Flags::SYN.with(Flags::ACK);
        let answer = Header { ack: FIRST_BYTE, ts_ecr: 5, flags, ..Header::default() };
        let mut once = Handshake::new();
        once.on_syn_sent(now(5_300));
        assert!(!once.on_syn_ack(&Header { ack: 0, ..answer }), "of something else");
        assert!(once.on_syn_ack(&answer) && once.phase() == Phase::Established);
        assert_eq!(once.rtt_sample(now(47_800), &answer, &rtt), Some(42_500));
        let mut twice = Handshake::new();
        twice.on_syn_sent(now(5_300));
        twice.on_syn_sent(now(1_005_300));
        assert_eq!(twice.rtt_sample(now(1_020_100), &answer, &rtt), Some(1_015_000), "the first was, in whole ticks");
        let untold = RoundTrip::new(Stack::find("ns2").expect("a stack"));
        assert_eq!(twice.rtt_sample(now(1_020_100), &answer, &untold), None, "nothing tells");
    }

    #[test]
    fn a_listener_is_open_with_the_first_segment_behind_the_syn() {
        let rtt = RoundTrip::new(Stack::find("linux-3.8").expect("a stack"));
        let now = rtt.clock().now(Instant::from_nanos(90_000_000));
        let mut handshake = Handshake::new();
        let syn = Header { flags: Flags::SYN, ..Header::default() };
        assert!(!handshake.on_connection(&syn));
        let ack = Header { flags: Flags::ACK, ts_ecr: 20, ..Header::default() };
        assert!(handshake.on_connection(&ack) && handshake.is_established());
        assert_eq!(handshake.rtt_sample(now, &ack, &rtt), Some(70));
        assert!(!handshake.on_connection(&ack), "once");
    }
}
