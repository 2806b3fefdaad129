//! PIE as published by Cisco in 2013: the first Linux module, and R. Pan et al., HPSR 2013.
//!
//! Differs: the module computes in 32-bit integers and ticks of 64 ns; this is floating point and nanoseconds. Its flag
//! that keeps `p` from decaying is left out, because it guards cases that only integers have: a non-zero backlog whose
//! delay rounds to zero, and an overflow of `p`.

use super::Config;
use super::controller::{accumulated, updated_probability};
use crate::aqm::{Aqm, Cx, Fifo, Lifecycle, PoppedPacket, Timer, Verdict};
use crate::departure::{DepartureTimer, Measurement};
use crate::packet::Meta;
use crate::time::{Duration, Instant};

/// State of a queue; delays in seconds.
#[derive(Clone, Debug)]
pub(super) struct Cisco2013 {
    config: Config,
    target: f64,
    /// Drop probability, 0..=1.
    p: f64,
    qdelay: f64,
    qdelay_old: f64,
    burst_time: Duration,
    accu_prob: f64,
    departures: DepartureTimer,
    /// Average departure rate in bytes per second; zero before the first measurement.
    avg_dq_rate: f64,
    next_update: Instant,
}

impl Cisco2013 {
    /// State of an idle queue.
    pub fn new(config: &Config) -> Self {
        Self {
            target: config.target.as_secs_f64(),
            p: 0.0,
            qdelay: 0.0,
            qdelay_old: 0.0,
            burst_time: config.max_burst,
            accu_prob: 0.0,
            departures: DepartureTimer::new(config.dq_threshold.0),
            avg_dq_rate: 0.0,
            next_update: Instant::ZERO + FIRST_UPDATE,
            config: config.clone(),
        }
    }

    /// Takes over the state of `old` and keeps its own parameters.
    pub fn inherit(&mut self, old: &Self) {
        let Self { config, target, .. } = self.clone();
        *self = Self { config, target, ..old.clone() };
    }

    /// Whether to drop the arriving packet of `len` bytes; `backlog` bytes are queued.
    fn drop_early(&mut self, backlog: u64, len: u32, cx: &mut Cx) -> bool {
        let mtu = cx.link.mtu;
        if self.burst_time > Duration::ZERO
            || self.qdelay < self.target / 2.0 && self.p < 0.2
            || backlog < 2 * mtu as u64
        {
            return false;
        }
        let scaled = self.config.bytemode && len <= mtu;
        let local_prob = if scaled { self.p * len as f64 / mtu as f64 } else { self.p };
        if !self.config.derandomise {
            return cx.rng.uniform() < local_prob;
        }
        self.accu_prob = if local_prob == 0.0 { 0.0 } else { self.accu_prob + local_prob };
        accumulated(self.accu_prob, local_prob, cx.rng)
    }

    /// Times the departure of `dq_threshold` bytes; `backlog` is the backlog after the packet of `len` bytes has left.
    fn measure(&mut self, now: Instant, len: u32, backlog: u64) {
        let threshold = self.config.dq_threshold.0;
        let Some(Measurement { rate, time }) = self.departures.departed(now, len, backlog, threshold) else { return };
        self.avg_dq_rate = match self.avg_dq_rate {
            0.0 => rate,
            avg => avg - avg / 8.0 + rate / 8.0,
        };
        // Only measured time uses up the burst allowance: a queue too short to be measured keeps it.
        self.burst_time = (self.burst_time - time).max(Duration::ZERO);
    }
}

impl Aqm for Cisco2013 {
    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, queue: &mut dyn Fifo) -> Verdict {
        if !self.drop_early(queue.bytes(), meta.len, cx) {
            return Verdict::Accept;
        }
        self.accu_prob = 0.0;
        let mark = self.config.ecn && meta.ecn.is_ect() && self.p <= self.config.mark_ecnth;
        if mark { Verdict::Mark } else { Verdict::Drop }
    }

    #[inline(always)]
    fn dequeue(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) -> Option<PoppedPacket> {
        let popped = queue.pop()?;
        self.measure(cx.now, popped.meta.len, queue.bytes());
        Some(popped)
    }

    #[inline(always)]
    fn timer(&mut self) -> Option<&mut dyn Timer> {
        Some(self)
    }

    #[inline(always)]
    fn lifecycle(&mut self) -> Option<&mut dyn Lifecycle> {
        Some(self)
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("p", self.p);
        see("qdelay", self.qdelay);
        see("qdelay_old", self.qdelay_old);
        see("accu_prob", self.accu_prob);
        see("burst_allowance", self.burst_time.as_secs_f64());
        see("avg_dq_rate", self.avg_dq_rate);
    }
}

impl Timer for Cisco2013 {
    fn next_update(&mut self) -> Option<Instant> {
        Some(self.next_update)
    }

    fn update(&mut self, at: Instant, cx: &mut Cx) {
        self.next_update = at + self.config.tupdate;
        self.qdelay_old = self.qdelay;
        self.qdelay = if self.avg_dq_rate > 0.0 { cx.backlog.bytes as f64 / self.avg_dq_rate } else { 0.0 };
        self.p = updated_probability(&self.config, self.p, self.qdelay, self.qdelay_old);
        let half = self.target / 2.0;
        if self.qdelay < half && self.qdelay_old < half && self.p == 0.0 && self.avg_dq_rate > 0.0 {
            self.departures.stop();
            self.avg_dq_rate = 0.0;
            self.burst_time = self.config.max_burst;
        }
    }

    fn skip_idle(&mut self, until: Instant) {
        if self.p == 0.0 && self.qdelay == 0.0 && self.qdelay_old == 0.0 && self.avg_dq_rate == 0.0 {
            self.next_update = self.next_update.stepped_to(self.config.tupdate, until);
        }
    }
}

impl Lifecycle for Cisco2013 {
    fn overflowed(&mut self, _: &mut Cx, _: &Meta) {
        self.accu_prob = 0.0;
    }
}

/// The module starts its timer half a second after the queue is created.
const FIRST_UPDATE: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::DropReason;
    use crate::limits::Limits;
    use crate::packet::Ecn;
    use crate::qdisc::{DequeueResult, EnqueueResult, Qdisc};
    use crate::rng::Rng;
    use crate::testing::{self, ETHERNET, cx, ms, push, queue_under};

    fn config() -> Config {
        testing::config("cisco2013", &[])
    }

    /// Controller during congestion, with a constant `p`.
    fn congested(config: Config, p: f64) -> Cisco2013 {
        Cisco2013 { p, qdelay: 1.0, burst_time: Duration::ZERO, next_update: Instant::NEVER, ..Cisco2013::new(&config) }
    }

    #[test]
    fn gains_and_limits_of_the_controller() {
        for (p, qdelay, qdelay_old, expected) in [
            // 0.125 × 80 ms + 1.25 × 50 ms = 0.0725, divided by 8, by 2 and by 1.
            (0.0, 0.100, 0.050, 0.0090625),
            (0.05, 0.100, 0.050, 0.08625),
            (0.2, 0.100, 0.050, 0.22),
            (0.2, 0.251, 0.251, 0.24),
            (0.2, 0.250, 0.250, 0.22),
            (0.05, 0.0, 0.0, 0.98 * (0.05 - 0.0025 / 2.0)),
            (0.99, 0.4, 0.0, 1.0),
            (0.0, 0.0, 0.1, 0.0),
        ] {
            let p_new = updated_probability(&config(), p, qdelay, qdelay_old);
            assert!((p_new - expected).abs() < 1e-12, "from {p}, {qdelay}, {qdelay_old}: {p_new}");
        }
    }

    #[test]
    fn the_burst_allowance_shrinks_by_measured_time_only() {
        let mut pie = Cisco2013::new(&config());
        // A short queue is never measured.
        (0..1000).for_each(|t| pie.measure(ms(t), 1500, 9_999));
        assert_eq!((pie.burst_time, pie.avg_dq_rate), (Duration::from_millis(100), 0.0));
        // The packet at 1000 ms starts a measurement; including it, 7 packets are 10,500 bytes in 6 ms.
        (1000..1007).for_each(|t| pie.measure(ms(t), 1500, 10_000));
        assert_eq!((pie.burst_time, pie.avg_dq_rate), (Duration::from_millis(94), 10_500.0 / 0.006));
        // The next measurement starts when this one ends, with no packet counted: 7 packets in 7 ms.
        (1007..1014).for_each(|t| pie.measure(ms(t), 1500, 9_999));
        assert_eq!(pie.burst_time, Duration::from_millis(87));
        let expected = 1_750_000.0 * 7.0 / 8.0 + 1_500_000.0 / 8.0;
        assert!((pie.avg_dq_rate - expected).abs() < 1e-6, "{}", pie.avg_dq_rate);
        assert_eq!(pie.departures.count(), None, "the backlog has become too short");
    }

    #[test]
    fn packets_that_leave_at_one_instant_are_no_measurement() {
        let mut pie = Cisco2013::new(&config());
        (0..9).for_each(|_| pie.measure(ms(5), 1500, 20_000));
        assert_eq!((pie.departures.count(), pie.avg_dq_rate), (Some(13_500), 0.0));
    }

    #[test]
    fn small_queues_short_delays_and_bursts_are_left_alone() {
        for (name, burst_ms, qdelay, p, backlog, dropped) in [
            ("congested", 0, 0.1, 1.0, 3028, true),
            ("less than two packets", 0, 0.1, 1.0, 3027, false),
            ("burst", 1, 0.1, 1.0, 9000, false),
            ("short delay, low p", 0, 0.0099, 0.199, 9000, false),
            ("half the target", 0, 0.0100, 1.0, 9000, true),
        ] {
            let mut rng = Rng::from_state(1);
            let mut cx = cx(ms(1), &mut rng, Default::default(), ETHERNET);
            let burst_time = Duration::from_millis(burst_ms);
            let mut pie = Cisco2013 { burst_time, qdelay, ..congested(config(), p) };
            assert_eq!(pie.drop_early(backlog, 1500, &mut cx), dropped, "{name}");
        }
    }

    #[test]
    fn drops_are_geometric_and_in_bytemode_proportional_to_size() {
        for (bytemode, len, p) in [(false, 757, 0.02), (true, 757, 0.01), (true, 1514, 0.02), (true, 9000, 0.02)] {
            let mut rng = Rng::from_state(3);
            let mut cx = cx(ms(1), &mut rng, Default::default(), ETHERNET);
            let mut pie = congested(Config { bytemode, ..config() }, 0.02);
            let drops = (0..1_000_000).filter(|_| pie.drop_early(9000, len, &mut cx)).count() as f64;
            assert!((drops / 1e6 - p).abs() < 5e-4, "bytemode {bytemode}, {len} bytes: {drops}");
        }
    }

    #[test]
    fn updates_begin_after_half_a_second_and_read_the_backlog_over_the_rate() {
        let mut queue = queue_under(Cisco2013::new(&config()), Limits::packets(1000), ETHERNET);
        for t in 0..500 {
            let arrivals = if t == 0 { 300 } else { 1 };
            for _ in 0..arrivals {
                assert_eq!(push(&mut queue, ms(t), 1500, Ecn::NotEct), EnqueueResult::Queued, "p is zero");
            }
            assert!(matches!(queue.dequeue(ms(t), &mut |_, _, _| {}), DequeueResult::Packet(..)));
        }
        assert_eq!((queue.aqm().qdelay, queue.aqm().next_update), (0.0, ms(500)));
        queue.settle(ms(500));
        // 299 packets at nearly one per millisecond: 0.0348 from the deviation, 0.37 from the change, divided by 8.
        let (qdelay, p) = (queue.aqm().qdelay, queue.aqm().p);
        assert!((qdelay - 0.299).abs() < 1e-5, "{qdelay}");
        assert!((p - ((0.125 * 0.279 + 1.25 * 0.299) / 8.0 + 0.02)).abs() < 1e-5, "{p}");
        assert_eq!(queue.aqm().next_update, ms(530));
        assert_eq!(queue.aqm().burst_time, Duration::ZERO);
    }

    #[test]
    fn the_measurement_starts_again_once_congestion_is_over() {
        for (p, qdelay, avg_dq_rate, reset) in
            [(0.0, 0.0099, 1e6, true), (0.0, 0.0100, 1e6, false), (0.0, 0.0099, 0.0, false), (0.5, 0.0, 1e6, false)]
        {
            let mut rng = Rng::from_state(1);
            let mut cx = cx(ms(530), &mut rng, Default::default(), ETHERNET);
            let mut pie = Cisco2013 { qdelay, avg_dq_rate, ..congested(config(), p) };
            pie.departures.departed(ms(1), 7, 10_000, 0);
            pie.update(ms(530), &mut cx);
            let burst_ms = if reset { 100 } else { 0 };
            assert_eq!(pie.burst_time, Duration::from_millis(burst_ms), "p {p}, {qdelay} s, {avg_dq_rate} B/s");
            assert_eq!(pie.departures.count().is_none(), reset);
        }
    }

    #[test]
    fn marks_up_to_ten_percent() {
        for (ecn, packet, p, expected) in [
            (true, Ecn::Ect0, 0.1, EnqueueResult::Marked),
            (true, Ecn::Ect0, 0.1001, EnqueueResult::Dropped(DropReason::Early)),
            (true, Ecn::NotEct, 0.1, EnqueueResult::Dropped(DropReason::Early)),
            (false, Ecn::Ect0, 0.1, EnqueueResult::Dropped(DropReason::Early)),
        ] {
            // Derandomised, so that the packet is certainly due.
            let config = Config { ecn, derandomise: true, ..config() };
            let pie = Cisco2013 { accu_prob: 8.5, ..congested(config, p) };
            let mut queue = queue_under(pie, Limits::packets(9), ETHERNET);
            push(&mut queue, ms(1), 3028, Ecn::NotEct);
            assert_eq!(push(&mut queue, ms(1), 1500, packet), expected, "ecn {ecn}, {packet:?}, p {p}");
            assert_eq!(queue.aqm().accu_prob, 0.0);
        }
    }
}
