//! NIC queue of a host with receive offload (GRO): segments that arrive within a poll are passed up merged.
//!
//! Source: Linux `dev_gro_receive`, `napi_complete_done`; merging as in `tcp_gro_receive`. It waits like the NIC before
//! a link's queue (`link/gro.rs`). A poll comes after the arrivals of its instant, so these are merged as well.

use sojourn_aqm::{Duration, Ecn, Instant};
use sojourn_tcp::Header;

/// Segments that a host has received and not polled.
#[derive(Clone, Debug)]
pub(super) struct NicQueue {
    wait: Duration,
    /// Segments or super-packets, each with the payload of its first segment.
    segments: Vec<(Header, Ecn, u16)>,
    /// When it is polled; never while it is empty.
    due: Instant,
}

impl NicQueue {
    /// A NIC that raises an interrupt `wait` after the first packet.
    pub fn new(wait: Duration) -> Self {
        Self { wait, segments: Vec::new(), due: Instant::NEVER }
    }

    /// Adds a segment, merged with the last one if it continues it.
    pub fn receive(&mut self, now: Instant, header: &Header, ecn: Ecn) {
        if let Some((last, of_last, size)) = self.segments.last_mut() {
            if *of_last == ecn && last.is_continued_by(header, *size) {
                return last.join(header);
            }
        }
        if self.segments.is_empty() {
            self.due = now + self.wait;
        }
        self.segments.push((*header, ecn, header.len));
    }

    /// When it is polled next.
    #[inline]
    pub fn due(&self) -> Instant {
        self.due
    }

    /// Takes the segments in order of arrival; none before the poll is due.
    pub fn poll(&mut self, now: Instant) -> Vec<(Header, Ecn)> {
        if now < self.due {
            return Vec::new();
        }
        self.due = Instant::NEVER;
        self.segments.drain(..).map(|(header, ecn, _)| (header, ecn)).collect()
    }
}

/// Segments that a host's NIC queue, if it has one, passes up now, each with the number of those after it.
pub(super) fn polled(
    nic_queue: Option<&mut NicQueue>,
    now: Instant,
) -> impl Iterator<Item = (usize, Header, Ecn)> + use<> {
    let segments = nic_queue.map_or_else(Vec::new, |nic_queue| nic_queue.poll(now));
    let count = segments.len();
    segments.into_iter().enumerate().map(move |(i, (header, ecn))| (count - 1 - i, header, ecn))
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
        let mut queue = NicQueue::new(Duration::from_micros(77));
        assert!(queue.due() == Instant::NEVER && queue.poll(us(1)).is_empty());
        queue.receive(us(10), &segment(1, 500), Ecn::Ect0);
        queue.receive(us(20), &segment(501, 500), Ecn::Ect0);
        // Marked, then after a hole.
        queue.receive(us(30), &segment(1_001, 500), Ecn::Ce);
        queue.receive(us(40), &segment(2_001, 500), Ecn::Ce);
        queue.receive(us(50), &segment(2_501, 499), Ecn::Ce);
        assert_eq!((queue.due(), queue.poll(us(86)).len()), (us(87), 0));
        let seen: Vec<_> = queue.poll(us(87)).iter().map(|(header, ecn)| (header.seq, header.len, *ecn)).collect();
        assert_eq!(seen, [(1, 1_000, Ecn::Ect0), (1_001, 500, Ecn::Ce), (2_001, 999, Ecn::Ce)]);
        assert_eq!(queue.due(), Instant::NEVER);
        queue.receive(us(99), &segment(3_000, 500), Ecn::Ect0);
        assert_eq!(queue.due(), us(176), "each poll waits anew");
    }
}
