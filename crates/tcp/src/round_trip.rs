//! RTT measurement: samples and their units. The estimator itself is in `rtt.rs`.
//!
//! Source: Linux `tcp_ack_update_rtt`, `tcp_rto_delta_us`; ns-2 `rtt_update` for one timed segment.

use crate::rtt::RttEstimator;
use crate::segment::Segment;
use crate::stack::Stack;
use crate::{Clock, HostTime, Ticks};
use sojourn_aqm::{Duration, Instant};

/// The sender's RTT measurement, and the time-out derived from it. Fields used for every segment come first and share a
/// cache line.
#[repr(C)]
#[derive(Clone, Debug)]
pub(crate) struct RoundTrip {
    estimator: RttEstimator,
    /// Sum of all samples in units, and their number.
    sum: u64,
    samples: u64,
    clock: Clock,
    timestamps: bool,
    tick: Duration,
    unit: Duration,
    /// Without timestamps: end and send tick of the timed segment.
    timed: Option<(u64, Ticks)>,
}

impl RoundTrip {
    /// No sample yet.
    pub fn new(stack: &Stack) -> Self {
        let (estimator, clock) = (RttEstimator::for_stack(stack), stack.clock());
        let (tick, unit, timestamps) = (stack.tick, stack.rtt_unit, stack.timestamps);
        Self { estimator, sum: 0, samples: 0, clock, tick, unit, timestamps, timed: None }
    }

    /// The host's coarse clock.
    #[inline]
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Adds a sample of `units`; `una` and `nxt` delimit rounds.
    #[inline]
    pub fn sample(&mut self, units: u32, una: u64, nxt: u64) {
        self.count(units);
        self.estimator.sample(units, una, nxt);
    }

    #[inline(always)]
    fn count(&mut self, units: u32) {
        self.sum += u64::from(units);
        self.samples += 1;
    }

    /// Sum of all samples in nanoseconds, and their number.
    pub fn total(&self) -> (u64, u64) {
        (self.sum * self.unit.as_nanos() as u64, self.samples)
    }

    /// Ticks since the transmission of the segments that an acknowledgment of `una` covers: by its echoed timestamp, or
    /// by the timed segment, if that is among them.
    #[inline(always)]
    pub fn since_sent(&mut self, now: HostTime, ts_ecr: u32, una: u64) -> Option<Ticks> {
        if self.timestamps {
            return Some(now.since_echoed(ts_ecr));
        }
        self.stop_timing(una).map(|sent| now.tick.saturating_sub(sent))
    }

    /// Units since tick `sent`.
    pub fn units_since(&self, now: HostTime, sent: Ticks) -> u32 {
        now.tick.saturating_sub(sent) as u32 * self.estimator.per_tick()
    }

    /// Units since the tick whose timestamp the peer echoes; `None` without timestamps.
    pub fn units_by_echo(&self, now: HostTime, ts_ecr: u32) -> Option<u32> {
        self.timestamps.then(|| self.units_since(now, now.echoed(ts_ecr)))
    }

    /// Time between the timestamps of a segment and of its acknowledgment, on two clocks; `None` without timestamps.
    pub fn one_way(&self, ts_val: u32, ts_ecr: u32) -> Option<Duration> {
        self.timestamps.then(|| self.tick * ts_val.wrapping_sub(ts_ecr) as i32 as i64)
    }

    /// Units since the instant `sent`.
    pub fn age_in_units(&self, now: HostTime, sent: Instant) -> u32 {
        self.units_at(now.at).saturating_sub(self.units_at(sent)) as u32
    }

    /// Whole units at an instant.
    #[inline]
    pub fn units_at(&self, at: Instant) -> u64 {
        Clock::new(self.unit).ticks(at)
    }

    /// A span of `units`.
    pub fn span(&self, units: u32) -> Duration {
        self.unit * units as i64
    }

    /// The smoothed RTT in whole units; zero before the first sample.
    pub fn srtt(&self) -> Duration {
        self.span(self.estimator.srtt_x8() >> 3)
    }

    /// Eight times the smoothed RTT in microseconds; zero before the first sample.
    pub fn srtt_us_x8(&self) -> u64 {
        self.estimator.srtt_x8() as u64 * self.unit.as_nanos() as u64 / 1_000
    }

    /// The smoothed RTT in seconds, with fractions of a unit.
    pub fn srtt_s(&self) -> f64 {
        self.estimator.srtt() * self.unit.as_secs_f64()
    }

    /// The estimator.
    pub fn estimator(&self) -> &RttEstimator {
        &self.estimator
    }

    /// The time-out in ticks, with back-off.
    #[inline]
    pub fn rto(&self) -> Ticks {
        self.estimator.rto()
    }

    /// Doubles the time-out after it has expired.
    pub fn back_off(&mut self) {
        self.estimator.back_off();
    }

    /// Ticks until the time-out of a segment sent at `sent`, rounded up; zero if it is due.
    pub fn time_out_left(&self, now: HostTime, sent: Instant) -> Ticks {
        let (unit, rto) = (self.unit, self.clock.instant(self.rto()).as_nanos());
        let due = sent.as_nanos() / unit.as_nanos() as u64 * unit.as_nanos() as u64 + rto;
        let at = if unit == self.tick { self.clock.instant(now.tick).as_nanos() } else { now.at.as_nanos() };
        due.saturating_sub(at).div_ceil(self.tick.as_nanos() as u64)
    }

    /// Whether more than `ticks` are certainly left until that time-out, without a division.
    #[inline]
    pub fn has_ticks_left(&self, ticks: Ticks, now: HostTime, sent: Instant) -> bool {
        let rto = self.clock.instant(self.rto());
        // A segment's age counts from the beginning of its send unit.
        now.at + self.clock.duration(ticks) + self.unit < rto + (sent - Instant::ZERO)
    }

    /// Whether a segment has been outstanding for longer than the time-out.
    #[inline(always)]
    pub fn has_timed_out(&self, now: HostTime, segment: &Segment) -> bool {
        // Equivalent to ticks(sent) < now - rto, without the division.
        segment.sent < self.clock.instant(now.tick.saturating_sub(self.rto()))
    }

    /// A new segment is sent: it is timed if no other one is.
    #[inline]
    pub fn on_sent(&mut self, now: HostTime, segment: &Segment) {
        if !self.timestamps {
            self.timed.get_or_insert((segment.end(), now.tick));
        }
    }

    /// A recovery begins, or a time-out has expired (ns-2's `reset_rtx_timer`). Karn's algorithm: an acknowledgment
    /// does not show which copy of a retransmitted segment arrived.
    #[inline]
    pub fn cancel_timing(&mut self) {
        self.timed = None;
    }

    /// A partial acknowledgment of `una` in ns-2. It gives no sample: NewReno cancels the timing of the segment
    /// (`partialnewack`); with SACK the timed segment counts as acknowledged only at the end of the recovery.
    pub fn on_partial_acknowledgment(&mut self, una: u64, sack: bool) {
        if sack || self.stop_timing(una).is_some() {
            self.estimator.end_back_off();
        }
    }

    /// Ends the timing of an acknowledged segment; returns when it was sent.
    fn stop_timing(&mut self, una: u64) -> Option<Ticks> {
        let (_, sent) = self.timed.filter(|&(end, _)| end <= una)?;
        self.timed = None;
        Some(sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(seq: u64, sent: Instant) -> Segment {
        Segment::new(seq, 1000, false, sent)
    }

    fn now(rtt: &RoundTrip, us: u64) -> HostTime {
        rtt.clock().now(Instant::from_nanos(us * 1_000))
    }

    #[test]
    fn without_timestamps_one_segment_at_a_time_is_timed_and_none_that_was_sent_again() {
        let mut rtt = RoundTrip::new(Stack::find("ns2").expect("a stack"));
        let (early, late) = (now(&rtt, 50_000), now(&rtt, 90_000));
        rtt.on_sent(early, &segment(1, early.at));
        rtt.on_sent(late, &segment(1_001, late.at));
        assert_eq!([900, 1_001, 2_001].map(|una| rtt.since_sent(late, 77, una)), [None, Some(4), None]);
        rtt.on_sent(late, &segment(2_001, late.at));
        rtt.cancel_timing();
        assert_eq!(rtt.since_sent(late, 77, 3_001), None);
        let mut rtt = RoundTrip::new(Stack::find("linux-6.1").expect("a stack"));
        assert_eq!(rtt.since_sent(now(&rtt, 90_000), 77, 1), Some(13), "timestamps tell");
    }

    #[test]
    fn the_time_since_an_echo_is_that_since_its_tick() {
        let stamps = [0, 1, 76, 77, 90, 1_000, 1 << 31, (1 << 31) + 90, u32::MAX - 5, u32::MAX];
        for tick in [0, 90, 1 << 31, (1 << 31) + 77, (1 << 32) + 3, (7 << 32) + (1 << 31)] {
            for stamp in stamps {
                let now = HostTime { at: Instant::ZERO, tick };
                assert_eq!(now.since_echoed(stamp), tick.saturating_sub(now.echoed(stamp)), "{stamp} at {tick}");
            }
        }
    }

    #[test]
    fn a_partial_acknowledgment_of_ns_2_s_ends_the_back_off_and_gives_no_sample() {
        let after = |sack: bool, una: u64| {
            let mut rtt = RoundTrip::new(Stack::find("ns2").expect("a stack"));
            rtt.sample(25, 1, 1);
            rtt.on_sent(now(&rtt, 50_000), &segment(1_001, Instant::from_nanos(50_000_000)));
            rtt.back_off();
            rtt.on_partial_acknowledgment(una, sack);
            (rtt.rto(), rtt.since_sent(now(&rtt, 90_000), 0, 9_001))
        };
        assert_eq!(after(false, 1_001), (150, Some(4)), "NewReno: not by another segment than the timed one");
        assert_eq!(after(false, 2_001), (75, None), "which is forgotten then");
        assert_eq!(after(true, 1_001), (75, Some(4)), "Sack1: by any, and the timed one waits");
        assert_eq!(after(true, 2_001), (75, Some(4)));
    }

    #[test]
    fn ages_are_counted_in_the_stack_s_units() {
        for (stack, age) in [("linux-3.13", 3), ("linux-6.1", 2_300), ("ns2", 1)] {
            let rtt = RoundTrip::new(Stack::find(stack).expect("a stack"));
            let sent = Instant::from_nanos(107_900_000);
            assert_eq!(rtt.age_in_units(now(&rtt, 110_200), sent), age, "{stack}");
        }
    }

    #[test]
    fn the_time_out_of_a_segment_counts_from_its_transmission() {
        let mut rtt = RoundTrip::new(Stack::find("linux-6.1").expect("a stack"));
        rtt.sample(100_000, 1, 1);
        let sent = Instant::from_nanos(10_400_000);
        assert_eq!((rtt.rto(), rtt.time_out_left(now(&rtt, 60_000), sent)), (300, 251));
        assert_eq!(rtt.time_out_left(now(&rtt, 400_000), sent), 0);
        let timed_out = [310_000, 311_000].map(|us| rtt.has_timed_out(now(&rtt, us), &segment(1, sent)));
        assert_eq!(timed_out, [false, true]);
    }
}
