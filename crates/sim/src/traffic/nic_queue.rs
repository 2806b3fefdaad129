//! The card of a host with receive offload: segments that arrive within a poll come up as one.
//!
//! Source: Linux `dev_gro_receive`, `napi_complete_done`; what may be joined is `tcp_gro_receive`'s. It waits as the card
//! before a link's queue does (`link/gro.rs`).

use sojourn_aqm::{Duration, Ecn, Instant};
use sojourn_tcp::Header;

/// What a host has received and not polled.
#[derive(Clone, Debug)]
pub(super) struct NicQueue {
    wait: Duration,
    /// Segments or super-packets, each with the payload of its first segment.
    held: Vec<(Header, Ecn, u16)>,
    /// When it is polled; never while it holds nothing.
    due: Instant,
}

impl NicQueue {
    /// A card that interrupts so long after the first packet.
    pub fn new(wait: Duration) -> Self {
        Self { wait, held: Vec::new(), due: Instant::NEVER }
    }

    /// A segment arrives.
    pub fn receive(&mut self, now: Instant, header: &Header, ecn: Ecn) {
        if let Some((last, of_last, size)) = self.held.last_mut() {
            if *of_last == ecn && last.is_continued_by(header, *size) {
                return last.join(header);
            }
        }
        if self.held.is_empty() {
            self.due = now + self.wait;
        }
        self.held.push((*header, ecn, header.len));
    }

    /// When it is polled next.
    #[inline]
    pub fn due(&self) -> Instant {
        self.due
    }

    /// What it holds at its poll, in the order of arrival; nothing before.
    pub fn poll(&mut self, now: Instant) -> Vec<(Header, Ecn)> {
        if now < self.due {
            return Vec::new();
        }
        self.due = Instant::NEVER;
        self.held.drain(..).map(|(header, ecn, _)| (header, ecn)).collect()
    }
}

/// What a host's card, if it has one, brings up now, each with how much comes behind it.
pub(super) fn polled(card: Option<&mut NicQueue>, now: Instant) -> impl Iterator<Item = (usize, Header, Ecn)> + use<> {
    let held = card.map_or_else(Vec::new, |card| card.poll(now));
    let count = held.len();
    held.into_iter().enumerate().map(move |(i, (header, ecn))| (count - 1 - i, header, ecn))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_tcp::Flags;

    fn us(us: u64) -> Instant {
        Instant::from_nanos(us * 1000)
    }

    fn segment(seq: u64, len: u16) -> Header {
        Header { seq, len, flags: Flags::ACK, ack: 1, ..Header::default() }
    }

    #[test]
    fn a_poll_has_what_came_since_the_first_packet() {
        let mut card = NicQueue::new(Duration::from_micros(77));
        assert!(card.due() == Instant::NEVER && card.poll(us(1)).is_empty());
        card.receive(us(10), &segment(1, 500), Ecn::Ect0);
        card.receive(us(20), &segment(501, 500), Ecn::Ect0);
        // Marked, and then behind a hole.
        card.receive(us(30), &segment(1_001, 500), Ecn::Ce);
        card.receive(us(40), &segment(2_001, 500), Ecn::Ce);
        card.receive(us(50), &segment(2_501, 499), Ecn::Ce);
        assert_eq!((card.due(), card.poll(us(86)).len()), (us(87), 0));
        let seen: Vec<_> = card.poll(us(87)).iter().map(|(header, ecn)| (header.seq, header.len, *ecn)).collect();
        assert_eq!(seen, [(1, 1_000, Ecn::Ect0), (1_001, 500, Ecn::Ce), (2_001, 999, Ecn::Ce)]);
        assert_eq!(card.due(), Instant::NEVER);
        card.receive(us(99), &segment(3_000, 500), Ecn::Ect0);
        assert_eq!(card.due(), us(176), "each poll waits anew");
    }
}
