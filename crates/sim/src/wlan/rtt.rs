//! Round-trip times of single segments, as a packet capture would measure them.
//!
//! "Sent" starts when TCP passes a segment down; "tapped" when it leaves its host's queue for the driver, where tcpdump
//! sees it. Both end with the arrival of the first acknowledgment that covers the segment. Retransmitted segments give
//! no sample (Karn's algorithm).

use super::stats::RttSummary;
use crate::histogram::Histogram;
use crate::quantiles::Quantiles;
use crate::window::{Counters, PerInterval, Window};
use sojourn_aqm::Instant;
use sojourn_aqm::deque::Deque;
use sojourn_tcp::{Flags, Header};

/// Round-trip times of all flows, by group.
#[derive(Debug)]
pub(crate) struct RttTracker {
    /// Unacknowledged segments by slot of the flow, in the order of their sequence numbers.
    pending: Vec<Deque<PendingSegment>>,
    groups: usize,
    /// By group.
    times: PerInterval<Vec<GroupRtts>>,
}

/// Round-trip times of a group in one interval.
#[derive(Clone, Debug, Default)]
struct GroupRtts {
    sent: Histogram,
    tapped: Histogram,
}

impl Counters for GroupRtts {
    fn add(&mut self, other: &Self) {
        self.sent.merge(&other.sent);
        self.tapped.merge(&other.tapped);
    }

    fn pack(&mut self) {
        self.sent.pack();
        self.tapped.pack();
    }
}

#[derive(Clone, Copy, Debug)]
struct PendingSegment {
    end: u64,
    sent: Instant,
    tapped: Instant,
    once: bool,
}

impl RttTracker {
    /// Statistics of `groups` groups.
    pub fn new(groups: usize, window: &Window) -> Self {
        Self { pending: Vec::new(), groups, times: PerInterval::new(window) }
    }

    /// A new flow reuses `slot`.
    pub fn reset_slot(&mut self, slot: u32) {
        if let Some(pending) = self.pending.get_mut(slot as usize) {
            pending.clear_to(KEPT);
        }
    }

    /// The source in `slot` sends a segment.
    pub fn sent(&mut self, now: Instant, slot: u32, header: &Header) {
        if !is_of_source(header) || header.len == 0 {
            return;
        }
        let slot = slot as usize;
        if slot >= self.pending.len() {
            self.pending.resize_with(slot + 1, Deque::new);
        }
        let (pending, end) = (&mut self.pending[slot], header.end_seq());
        if pending.back().is_none_or(|last| last.end < end) {
            pending.push_back(PendingSegment { end, sent: now, tapped: now, once: true });
        } else if let Some(segment) = find(pending, header) {
            segment.once = false;
        }
    }

    /// A segment of the source in `slot` leaves its host's queue.
    pub fn tapped(&mut self, now: Instant, slot: u32, header: &Header) {
        if !is_of_source(header) || header.len == 0 {
            return;
        }
        let pending = self.pending.get_mut(slot as usize);
        if let Some(segment) = pending.and_then(|pending| find(pending, header)) {
            segment.tapped = now;
        }
    }

    /// The source in `slot` receives a packet of its sink.
    pub fn on_ack(&mut self, now: Instant, slot: u32, group: u32, header: &Header) {
        let Some(pending) = self.pending.get_mut(slot as usize) else { return };
        if !is_of_source(header) {
            return;
        }
        while pending.front().is_some_and(|first| first.end <= header.ack) {
            let PendingSegment { sent, tapped, once, .. } = pending.pop_front().expect("the head was just checked");
            if once {
                let groups = self.times.at(now);
                if groups.is_empty() {
                    groups.resize_with(self.groups, GroupRtts::default);
                }
                let times = &mut groups[group as usize];
                times.sent.record(now - sent);
                times.tapped.record(now - tapped);
            }
        }
    }

    /// The summary of each group from instant `number` of the window on.
    pub fn report(&self, number: usize) -> Vec<RttSummary> {
        let summary = |times: &GroupRtts| RttSummary {
            sent_ms: Quantiles::of(&times.sent),
            tapped_ms: Quantiles::of(&times.tapped),
        };
        self.sum(number).iter().map(summary).collect()
    }

    fn sum(&self, number: usize) -> Vec<GroupRtts> {
        let mut groups = self.times.sum(number);
        groups.resize_with(self.groups, GroupRtts::default);
        groups
    }
}

/// Excludes the answers of dialogues: both ends send data, each with its own sequence numbers.
fn is_of_source(header: &Header) -> bool {
    !header.flags.contains(Flags::ANSWER)
}

/// The pending segment with this header.
fn find<'a>(pending: &'a mut Deque<PendingSegment>, header: &Header) -> Option<&'a mut PendingSegment> {
    let end = header.end_seq();
    // The index if all segments before it are of the same length.
    let guess = (end.checked_sub(pending.front()?.end)? / u64::from(header.len.max(1))) as usize;
    if pending.get(guess).is_some_and(|segment| segment.end == end) {
        return pending.get_mut(guess);
    }
    let index = pending.partition_point(|segment| segment.end < end);
    pending.get_mut(index).filter(|segment| segment.end == end)
}

/// Capacity in segments that a slot keeps for its next flow.
const KEPT: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Instant {
        Instant::from_nanos(n * 1_000_000)
    }

    fn data(seq: u64) -> Header {
        Header { seq, len: 1000, flags: Flags::ACK, ..Header::default() }
    }

    fn ack(ack: u64) -> Header {
        Header { ack, flags: Flags::ACK, ..Header::default() }
    }

    #[test]
    fn every_segment_that_was_sent_once_is_measured() {
        let mut rtts = RttTracker::new(1, &Window::new([], ms(1000)));
        for i in 0..4 {
            rtts.sent(ms(10 * i), 5, &data(1 + 1000 * i));
        }
        rtts.tapped(ms(40), 5, &data(1));
        // The third segment is retransmitted.
        rtts.sent(ms(50), 5, &data(2001));
        rtts.on_ack(ms(100), 5, 0, &ack(2001));
        rtts.on_ack(ms(120), 5, 0, &ack(4001));
        let GroupRtts { sent, tapped } = &rtts.sum(0)[0];
        assert_eq!((sent.total(), sent.max()), (3, Some(100_000_000)));
        assert_eq!(sent.mean(), Some((100.0 + 90.0 + 90.0) / 3.0 * 1e6));
        assert_eq!(tapped.mean(), Some((60.0 + 90.0 + 90.0) / 3.0 * 1e6));
    }

    #[test]
    fn what_comes_before_the_statistics_begin_is_left_out() {
        let mut rtts = RttTracker::new(1, &Window::new([ms(60)], ms(1000)));
        (0..2).for_each(|i| rtts.sent(ms(0), 0, &data(1 + 1000 * i)));
        rtts.on_ack(ms(50), 0, 0, &ack(1001));
        rtts.on_ack(ms(60), 0, 0, &ack(2001));
        assert_eq!(rtts.sum(1)[0].sent.total(), 1);
        rtts.sent(ms(61), 0, &data(2001));
        rtts.reset_slot(0);
        rtts.on_ack(ms(70), 0, 0, &ack(3001));
        assert_eq!(rtts.sum(1)[0].sent.total(), 1);
    }
}
