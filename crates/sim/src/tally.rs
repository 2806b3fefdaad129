//! Counters of a queue and its server; their size does not depend on the number of packets.

use crate::fingerprint::Fingerprint;
use crate::histogram::Histogram;
use crate::window::{Counters, PerInterval, Window};
use sojourn_aqm::{DropReason, Duration, Instant, Meta};

/// Running counters of one link.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    parts: PerInterval<Counts>,
    /// Hash of the fates of its packets.
    pub fingerprint: Fingerprint,
    /// Since the start of the run, for rates over time: bytes whose transmission started, and link capacity that they
    /// use or will use.
    pub total_bytes: u64,
    pub total_used: u64,
    /// Sojourn time of the packet that was sent last.
    last_sojourn: Duration,
    backlog: u32,
    backlog_since: Instant,
}

/// The counters of one link in one interval of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    sojourn: Histogram,
    pub arrived: u64,
    pub departed: u64,
    pub dropped: [u64; DropReason::ALL.len()],
    pub marked: u64,
    /// Packets that arrived in this interval and were dropped, or newly marked, in this or a later one.
    pub dropped_of_arrived: u64,
    pub marked_of_arrived: u64,
    /// Capacity used: time that the transmitter was busy, bits of a varying rate, or bytes that opportunities carried.
    pub used: u64,
    pub lost: u64,
    pub bytes: u64,
    /// Packet-nanoseconds queued.
    pub area: u128,
}

impl Tally {
    pub fn new(window: &Window) -> Self {
        Self {
            parts: PerInterval::new(window),
            fingerprint: Fingerprint::default(),
            total_bytes: 0,
            total_used: 0,
            last_sojourn: Duration::ZERO,
            backlog: 0,
            backlog_since: Instant::ZERO,
        }
    }

    /// The possible starts of the statistics, and their end.
    pub fn window(&self) -> &Window {
        self.parts.window()
    }

    /// The counters of the interval of `now`.
    #[inline(always)]
    fn counts(&mut self, now: Instant) -> &mut Counts {
        if now >= self.parts.next() {
            self.advance_interval(now);
        }
        self.parts.current_mut()
    }

    #[cold]
    fn advance_interval(&mut self, now: Instant) {
        while now >= self.parts.next() {
            self.accumulate(self.parts.next());
            self.parts.advance();
        }
    }

    /// Counts a packet offered to the queue; `queued` is false if it was dropped at once.
    #[inline(always)]
    pub fn arrival(&mut self, now: Instant, queued: bool) {
        self.counts(now).arrived += 1;
        if queued {
            self.accumulate(now);
            self.backlog += 1;
        }
    }

    /// Counts a packet that passed an idle link without waiting.
    #[inline(always)]
    pub fn pass_through(&mut self, now: Instant, meta: &Meta) {
        self.total_bytes += meta.len as u64;
        let counts = self.counts(now);
        counts.arrived += 1;
        counts.departed += 1;
        counts.bytes += meta.len as u64;
        counts.sojourn.record(Duration::ZERO);
        self.last_sojourn = Duration::ZERO;
    }

    /// Counts a packet whose transmission started.
    #[inline(always)]
    pub fn departure(&mut self, now: Instant, meta: &Meta, newly_marked: bool) {
        let counts = self.counts(now);
        counts.marked += newly_marked as u64;
        counts.departed += 1;
        counts.bytes += meta.len as u64;
        let sojourn = now - meta.enqueued;
        counts.sojourn.record(sojourn);
        self.last_sojourn = sojourn;
        self.accumulate(now);
        self.backlog -= 1;
        self.total_bytes += meta.len as u64;
    }

    /// Counts a dropped packet that was queued at `arrived`; none if it was dropped on arrival.
    pub fn drop(&mut self, now: Instant, reason: DropReason, arrived: Option<Instant>) {
        self.counts(now).dropped[reason as usize] += 1;
        self.parts.of(arrived.unwrap_or(now)).dropped_of_arrived += 1;
        if arrived.is_some() {
            self.accumulate(now);
            self.backlog -= 1;
        }
    }

    /// Counts a newly marked packet that arrived at `arrived`.
    pub fn mark(&mut self, arrived: Instant) {
        self.parts.of(arrived).marked_of_arrived += 1;
    }

    /// Packets queued.
    #[inline]
    pub fn waiting(&self) -> u32 {
        self.backlog
    }

    /// Sojourn time of the packet that was sent last; zero before the first.
    pub fn last_sojourn(&self) -> Duration {
        self.last_sojourn
    }

    /// Counts a busy span of the medium. The span before `counted` overlaps with other stations' transmissions, which
    /// are reported together with this queue and contain it already.
    pub fn shared_transmission(&mut self, (start, end): (Instant, Instant), counted: Instant) {
        let span = |from: Instant, to: Instant| (to - from).as_nanos() as u64;
        self.total_used += span(start, end);
        self.use_in_pieces(start.max(counted), end, &span);
    }

    /// Counts a busy span of the transmitter that starts at `now` or later; `capacity` gives the capacity of a span.
    #[inline(always)]
    pub fn transmission(&mut self, start: Instant, end: Instant, capacity: impl Fn(Instant, Instant) -> u64) {
        let whole = capacity(start, end);
        self.total_used += whole;
        match self.parts.current_until(end) {
            Some(counts) => counts.used += whole,
            None => self.use_in_pieces(start, end, &capacity),
        }
    }

    #[cold]
    #[inline(never)]
    fn use_in_pieces(&mut self, start: Instant, end: Instant, capacity: &dyn Fn(Instant, Instant) -> u64) {
        self.parts.split(start, end, |counts, from, to| counts.used += capacity(from, to));
    }

    /// Counts a packet that left the server at `at` and was lost on the medium.
    pub fn loss(&mut self, at: Instant) {
        self.parts.of(at).lost += (at <= self.window().end) as u64;
    }

    #[inline]
    pub fn opportunity(&mut self, now: Instant, bytes: u32) {
        self.total_used += bytes as u64;
        // At the instant of a window start it counts in the interval before, like the capacity.
        if now > Instant::ZERO {
            self.parts.of(now - Duration::from_nanos(1)).used += bytes as u64;
        }
    }

    /// Adds the time that the current backlog has waited.
    #[inline(always)]
    fn accumulate(&mut self, now: Instant) {
        // Branchless: whether several packets arrive at one instant is hard to predict.
        let span = (now - self.backlog_since).as_nanos().max(0) as u64;
        self.parts.current_mut().area += (self.backlog as u64 * span) as u128;
        self.backlog_since = self.backlog_since.max(now);
    }

    /// Closes the counters at the end of the window.
    pub fn close(&mut self) {
        let end = self.window().end;
        self.counts(end);
        self.accumulate(end);
    }

    /// The counters of each interval, after `close`.
    pub fn intervals(&self) -> impl DoubleEndedIterator<Item = &Counts> + ExactSizeIterator {
        self.parts.intervals()
    }

    /// The counters from window start `number` on, after `close`.
    pub fn sum(&self, number: usize) -> Counts {
        self.parts.sum(number)
    }
}

impl Counts {
    /// `packets` as a share of the arrivals; zero without arrivals.
    pub fn share(&self, packets: u64) -> f64 {
        if self.arrived > 0 { packets as f64 / self.arrived as f64 } else { 0.0 }
    }
}

impl Counters for Counts {
    fn add(&mut self, other: &Self) {
        self.sojourn.merge(&other.sojourn);
        self.area += other.area;
        self.dropped.iter_mut().zip(&other.dropped).for_each(|(sum, more)| *sum += more);
        for (sum, more) in [
            (&mut self.arrived, other.arrived),
            (&mut self.departed, other.departed),
            (&mut self.marked, other.marked),
            (&mut self.dropped_of_arrived, other.dropped_of_arrived),
            (&mut self.marked_of_arrived, other.marked_of_arrived),
            (&mut self.used, other.used),
            (&mut self.lost, other.lost),
            (&mut self.bytes, other.bytes),
        ] {
            *sum += more;
        }
    }

    fn pack(&mut self) {
        self.sojourn.pack();
    }
}

impl Counts {
    /// Sojourn times of the packets sent.
    pub fn sojourn(&self) -> &Histogram {
        &self.sojourn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_time_is_cut_at_the_window() {
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let mut tally = Tally::new(&Window::new([at(10)], at(20)));
        let time = |from: Instant, to: Instant| (to - from).as_nanos() as u64;
        tally.transmission(at(8), at(12), time);
        tally.transmission(at(18), at(24), time);
        tally.close();
        assert_eq!(tally.sum(1).used, time(at(10), at(14)));
        assert_eq!(tally.sum(0).used, time(at(10), at(16)));
    }

    #[test]
    fn a_rate_of_drops_is_of_the_packets_that_arrived_in_the_window() {
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let mut tally = Tally::new(&Window::new([at(10)], at(20)));
        (0..30).for_each(|_| tally.arrival(at(3), true));
        tally.arrival(at(11), true);
        (0..30).for_each(|_| tally.drop(at(12), DropReason::Replaced, Some(at(3))));
        tally.arrival(at(13), false);
        tally.drop(at(13), DropReason::Limit, None);
        tally.close();
        let late = tally.sum(1);
        assert_eq!((late.arrived, late.dropped.iter().sum::<u64>(), late.dropped_of_arrived), (2, 31, 1));
        let whole = tally.sum(0);
        assert_eq!((whole.arrived, whole.dropped_of_arrived), (32, 31));
    }

    #[test]
    fn transmissions_at_the_same_time_are_busy_time_once() {
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let mut tallies = [(); 3].map(|()| Tally::new(&Window::new([at(10)], at(20))));
        let mut counted = at(8);
        for (tally, end) in tallies.iter_mut().zip([at(13), at(11), at(15)]) {
            tally.shared_transmission((at(8), end), counted);
            counted = counted.max(end);
            tally.close();
        }
        assert_eq!(tallies.iter().map(|tally| tally.sum(1).used).sum::<u64>(), 5_000_000);
        assert_eq!(tallies.iter().map(|tally| tally.sum(0).used).sum::<u64>(), 7_000_000);
        assert_eq!(tallies.map(|tally| tally.total_used), [5_000_000, 3_000_000, 7_000_000]);
    }

    #[test]
    fn mean_backlog_is_a_time_average_of_the_window() {
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let mut tally = Tally::new(&Window::new([at(10)], at(20)));
        (0..5).for_each(|_| tally.arrival(at(0), true));
        (0..4).for_each(|_| tally.drop(at(12), DropReason::Late, Some(at(0))));
        tally.departure(at(16), &Meta::new(1500, 0), false);
        // 5 packets for 2 ms, 1 for 4 ms, none for 4 ms.
        tally.close();
        assert_eq!(tally.sum(1).area, 14 * 1_000_000);
    }
}
