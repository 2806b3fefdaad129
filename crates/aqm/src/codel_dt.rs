//! CoDel-DT (drop tail): CoDel's law applied to arrivals, by the predicted delay of the arriving packet (CableLabs, in
//! the ns-2 simulations of DOCSIS 3.1). Only the arriving packet can be dropped, so at most one per arrival.
//!
//! Differs: the first measurement of the departure rate starts when the backlog suffices, not at time zero, where its
//! first sample would include the idle time before the first packet.
//!
//! # When to use
//!
//! In hardware or firmware that can drop an arriving packet but not the head of a queue (cable modems), and to measure
//! the benefit of head drops in CoDel: here the signal waits behind the whole queue.

use crate::aqm::{Aqm, Cx, Fifo, PoppedPacket, Verdict};
use crate::departure::{DepartureTimer, Measurement};
use crate::packet::Meta;
use crate::params::{Bytes, Value};
use crate::time::{Duration, Instant};
use crate::{choice, config};
use alloc::format;

config! {
    /// CoDel-DT's configuration.
    pub struct Config {
        /// Acceptable standing queue delay: packets with a lower expected delay are never dropped.
        target: Duration = Duration::from_millis(5), in MICROSECOND => Value::Time(Duration::from_secs(10));
        /// Time for which the delay must stay above target before the first drop: a worst-case round-trip time.
        interval: Duration = Duration::from_millis(100), in MICROSECOND => Value::Time(Duration::from_secs(100));
        /// Time subtracted from the target: a cable modem's wait for its grant (6 ms there); if the result is negative,
        /// no delay is below it.
        dt_offset: Duration = Duration::ZERO, in Value::Time(Duration::ZERO) => Value::Time(Duration::from_secs(10));
        /// Source of the departure rate.
        predictor: Predictor = Predictor::Measured, in WORD => WORD, choices Predictor::WORDS;
        /// Bytes whose departure is timed for the estimate of the departure rate (dq_threshold_).
        dq_threshold: Bytes = Bytes(10_000), in Value::Bytes(1) => Value::Bytes(1 << 30);
        /// Marks ECN-capable packets instead of dropping them; the original has no ECN.
        ecn: bool = false, in Value::Flag(false) => Value::Flag(true);
    }
    profiles {
        "cablelabs", "codeldt.cc (CableLabs, 2012)" => |_| {};
    }
    validate |c| {
        if c.target < c.interval {
            return Ok(());
        }
        Err(format!("target ({}) must be below interval ({}); write e.g. target 5ms interval 100ms", c.target, c.interval).into())
    }
}

choice! {
    /// Source of the departure rate for delay prediction.
    pub enum Predictor {
        /// Measured over dq_threshold bytes; before the first sample no delay is predicted.
        Measured = "measured",
        /// The link's nominal rate.
        Link = "link",
    }
}

/// State of a CoDel-DT-managed queue.
#[derive(Clone, Debug)]
pub struct CodelDt {
    config: Config,
    /// Next drop; `None` while the delay is below target.
    drop_time: Option<Instant>,
    /// `drop_time` after the last drop.
    last_drop_time: Option<Instant>,
    drop_count: u32,
    dropping: bool,
    /// Largest packet that arrived, in bytes.
    maxpacket: u32,
    /// Departure rate in bytes per second; zero before the first measurement.
    avg_rate: f64,
    departures: DepartureTimer,
}

impl CodelDt {
    /// State of an idle queue.
    pub fn new(config: &Config) -> Self {
        Self {
            config: config.clone(),
            drop_time: None,
            last_drop_time: None,
            drop_count: 0,
            dropping: false,
            maxpacket: 256,
            avg_rate: 0.0,
            departures: DepartureTimer::new(config.dq_threshold.0),
        }
    }

    /// Delay of a packet that leaves `bytes` queued, itself included.
    fn predicted_delay(&self, bytes: u64, cx: &Cx) -> Duration {
        match self.config.predictor {
            Predictor::Link => cx.link.rate.time_for(bytes),
            Predictor::Measured if self.avg_rate == 0.0 => Duration::ZERO,
            Predictor::Measured => Duration::from_secs_f64(bytes as f64 / self.avg_rate),
        }
    }

    /// Earliest drop time if the delay first exceeds the target at `now`.
    fn first_drop_time(&self, now: Instant) -> Instant {
        let shortened = !self.is_stale(now) && self.drop_count > 1;
        now + if shortened { self.step(self.drop_count) } else { self.config.interval }
    }

    /// Control law: the next drop time after a drop at `now`.
    fn count_drop(&mut self, now: Instant) {
        let since = if self.dropping { self.drop_time.unwrap_or(now) } else { now };
        self.drop_count = match self.drop_count {
            count if self.dropping => (count + 1).min(MAX_COUNT),
            0..=2 => 1,
            _ if self.is_stale(now) => 1,
            count @ 3..=128 => count - 2,
            count => (0.9844 * count as f64) as u32,
        };
        self.dropping = true;
        self.drop_time = Some(since + self.step(self.drop_count));
        self.last_drop_time = self.drop_time;
    }

    fn is_stale(&self, now: Instant) -> bool {
        self.last_drop_time.is_none_or(|last| now - last >= self.config.interval * 8)
    }

    /// `interval / sqrt(count)`.
    fn step(&self, count: u32) -> Duration {
        let nanos = self.config.interval.as_nanos() as f64 / libm::sqrt(count as f64);
        Duration::from_nanos(libm::round(nanos) as i64)
    }

    /// Times the departure of `dq_threshold` bytes; `backlog` is the backlog after the departure of `len` bytes.
    fn measure(&mut self, now: Instant, len: u32, backlog: u64) {
        // A backlog equal to the threshold does not continue the measurement.
        let to_go_on = self.config.dq_threshold.0 + 1;
        let Some(Measurement { rate, .. }) = self.departures.departed(now, len, backlog, to_go_on) else { return };
        self.avg_rate = if self.avg_rate == 0.0 { rate } else { 0.5 * self.avg_rate + 0.5 * rate };
    }
}

impl Aqm for CodelDt {
    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, _: &mut dyn Fifo) -> Verdict {
        let (now, curq) = (cx.now, cx.backlog.bytes);
        self.maxpacket = self.maxpacket.max(meta.len);
        let delay = self.predicted_delay(curq + meta.len as u64, cx);
        if delay < self.config.target - self.config.dt_offset || curq <= self.maxpacket as u64 {
            self.dropping = false;
            self.drop_time = None;
            return Verdict::Accept;
        }
        match self.drop_time {
            None => {
                self.drop_time = Some(self.first_drop_time(now));
                Verdict::Accept
            }
            Some(drop_time) if now < drop_time => Verdict::Accept,
            Some(_) => {
                self.count_drop(now);
                if self.config.ecn { Verdict::Mark } else { Verdict::Drop }
            }
        }
    }

    #[inline(always)]
    fn dequeue(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) -> Option<PoppedPacket> {
        let popped = queue.pop()?;
        self.measure(cx.now, popped.meta.len, queue.bytes());
        Some(popped)
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("count", self.drop_count as f64);
        see("dropping", self.dropping as u8 as f64);
        see("drop_next", self.drop_time.map_or(0.0, Instant::as_secs_f64));
        see("avg_dq_rate", self.avg_rate);
    }
}

/// Saturation value of `drop_count`.
const MAX_COUNT: u32 = i32::MAX as u32;
const MICROSECOND: Value = Value::Time(Duration::from_micros(1));
/// The range of a choice is its words.
const WORD: Value = Value::Choice("");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::DropReason;
    use crate::limits::Limits;
    use crate::packet::Ecn;
    use crate::params::Config as _;
    use crate::qdisc::{DequeueResult, EnqueueResult, Qdisc};
    use crate::single::SingleQueue;
    use crate::testing::{self, LINK};
    use alloc::string::ToString;
    use alloc::vec::Vec;

    fn ms(millis: f64) -> Instant {
        Instant::from_nanos(libm::round(millis * 1e6) as u64)
    }

    fn config(params: &[(&str, &str)]) -> Config {
        testing::config("cablelabs", params)
    }

    fn queue(config: &Config) -> SingleQueue<CodelDt, u32> {
        queue_under(CodelDt::new(config))
    }

    fn queue_under(codel: CodelDt) -> SingleQueue<CodelDt, u32> {
        testing::queue_under(codel, Limits::default(), LINK)
    }

    fn push(queue: &mut SingleQueue<CodelDt, u32>, now: Instant, len: u32) -> EnqueueResult {
        testing::push(queue, now, len, Ecn::Ect0)
    }

    /// Milliseconds at which arrivals are dropped or marked: 100 packets are queued at 0, and each millisecond has one
    /// arrival and then one departure.
    fn signals(config: &Config, until: u64) -> Vec<u64> {
        let mut queue = queue(config);
        (0..100).for_each(|_| assert_eq!(push(&mut queue, ms(0.0), 1500), EnqueueResult::Queued));
        (0..=until)
            .filter(|&t| {
                let signalled = push(&mut queue, ms(t as f64), 1500) != EnqueueResult::Queued;
                let out = queue.dequeue(ms(t as f64), &mut |_, _, _| panic!("only arrivals are dropped"));
                assert!(matches!(out, DequeueResult::Packet(..)));
                signalled
            })
            .collect()
    }

    /// With the link's rate the delay is above target from the fifth packet at 0: the first drop at 100, then the law,
    /// rounded up to the next arrival: 200, + 70.71 = 270.71, + 57.74 = 328.45, + 50 = 378.45 ms. With a measured rate,
    /// the first 10,500 bytes have left at 6 ms, and the next arrival sees the delay.
    #[test]
    fn drop_times_under_constant_overload_are_those_by_hand() {
        for (params, expected) in [
            (&[("predictor", "link")][..], [100, 200, 271, 329, 379]),
            (&[], [107, 207, 278, 336, 386]),
            (&[("predictor", "link"), ("interval", "50 ms")], [50, 100, 136, 165, 190]),
            (&[("predictor", "link"), ("ecn", "on")], [100, 200, 271, 329, 379]),
        ] {
            assert_eq!(signals(&config(params), 400)[..5], expected, "{params:?}");
        }
    }

    #[test]
    fn the_offset_comes_off_the_target_which_may_become_negative() {
        // Four packets of 1 ms each, the arrival included: a delay of 4 ms.
        for (offset, waiting, above) in
            [("0 s", 3, false), ("0 s", 4, true), ("1 ms", 3, true), ("2 ms", 1, false), ("6 ms", 2, true)]
        {
            let mut queue = queue(&config(&[("predictor", "link"), ("dt_offset", offset)]));
            (0..waiting).for_each(|_| assert_eq!(push(&mut queue, ms(0.0), 1500), EnqueueResult::Queued));
            push(&mut queue, ms(1.0), 1500);
            assert_eq!(queue.aqm().drop_time.is_some(), above, "offset {offset}, {waiting} packets wait");
        }
    }

    #[test]
    fn a_small_backlog_protects_the_arrival_whatever_the_delay() {
        for (waiting, len, above) in [
            ([750, 750], 1500, false),
            ([750, 751], 1500, true),
            ([100, 156], 50, false), // the maximum is 256 bytes until a larger packet arrives
            ([100, 157], 50, true),
            ([100, 1400], 50, true),
        ] {
            let mut queue = queue_under(CodelDt { avg_rate: 1000.0, ..CodelDt::new(&config(&[])) });
            waiting.iter().for_each(|&len| assert_eq!(push(&mut queue, ms(0.0), len), EnqueueResult::Queued));
            push(&mut queue, ms(1.0), len);
            assert_eq!(queue.aqm().drop_time.is_some(), above, "{waiting:?} bytes before {len}");
        }
    }

    #[test]
    fn re_entry_counts_and_waits() {
        for (count, last_drop_ms, count_after, window_ms) in [
            // (drop_count, last drop time, drop_count of the next phase, wait before its first drop)
            (0, None, 1, 100.0),
            (2, Some(9_900.0), 1, 70.710678),
            (3, Some(9_900.0), 1, 57.735027),
            (10, Some(9_900.0), 8, 31.622777),
            (10, Some(10_050.0), 8, 31.622777), // a drop time in the future
            (10, Some(9_200.1), 8, 31.622777),
            (10, Some(9_200.0), 1, 100.0),
            (128, Some(9_900.0), 126, 8.838835),
            (129, Some(9_900.0), 126, 8.804509),
            (1300, Some(9_900.0), 1279, 2.773501),
        ] {
            let now = ms(10_000.0);
            let mut codel = CodelDt::new(&config(&[]));
            (codel.drop_count, codel.last_drop_time) = (count, last_drop_ms.map(ms));
            let window = codel.first_drop_time(now) - now;
            assert!((window.as_millis_f64() - window_ms).abs() < 1e-6, "{count}, {last_drop_ms:?}: {window}");
            codel.count_drop(now);
            assert_eq!(codel.drop_count, count_after, "{count}, {last_drop_ms:?}");
            // The first drop time counts from now, the next one from the first.
            let first = now + codel.step(count_after);
            assert_eq!((codel.drop_time, codel.last_drop_time), (Some(first), Some(first)));
            codel.count_drop(now + Duration::from_secs(1));
            assert_eq!(codel.drop_time, Some(first + codel.step(count_after + 1)));
        }
    }

    #[test]
    fn one_arrival_below_target_ends_the_phase() {
        let mut queue = queue(&config(&[("predictor", "link")]));
        (0..50).for_each(|_| assert_eq!(push(&mut queue, ms(0.0), 1500), EnqueueResult::Queued));
        assert_eq!(push(&mut queue, ms(100.0), 1500), EnqueueResult::Dropped(DropReason::Early));
        assert!(queue.aqm().dropping);
        while queue.backlog().packets > 2 {
            queue.dequeue(ms(100.0), &mut |_, _, _| {});
        }
        assert_eq!(push(&mut queue, ms(100.0), 1500), EnqueueResult::Queued);
        assert_eq!((queue.aqm().dropping, queue.aqm().drop_time, queue.aqm().drop_count), (false, None, 1));
    }

    #[test]
    fn the_departure_rate_is_measured_from_a_backlog_of_the_threshold_on() {
        let mut codel = CodelDt::new(&config(&[]));
        (0..1000).for_each(|t| codel.measure(ms(t as f64), 1500, 9_999));
        assert_eq!((codel.departures.count(), codel.avg_rate), (None, 0.0), "idle time is no measurement");
        // The packet at 1000 ms starts the measurement and counts in it: 7 packets in 6 ms; then 7 in 7 ms.
        (1000..1007).for_each(|t| codel.measure(ms(t as f64), 1500, 10_001));
        assert_eq!(codel.avg_rate, 10_500.0 / 0.006);
        (1007..1014).for_each(|t| codel.measure(ms(t as f64), 1500, 10_000));
        assert!((codel.avg_rate - (875_000.0 + 750_000.0)).abs() < 1e-6, "{}", codel.avg_rate);
        assert_eq!(codel.departures.count(), None, "a backlog of the threshold does not suffice to go on");
    }

    #[test]
    fn target_must_be_below_interval() {
        let refused = config(&[("target", "100 ms")]).validate().unwrap_err().to_string();
        assert_eq!(refused, "target (100 ms) must be below interval (100 ms); write e.g. target 5ms interval 100ms");
    }
}
