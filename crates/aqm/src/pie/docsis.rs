//! DOCSIS-PIE, the PIE of cable modems (RFC 8034, Appendix A).
//!
//! The delay is computed from the backlog and the modem's token bucket, not measured. A modem only drops; marking
//! (`ecn`) is our addition.

use super::Config;
use super::controller::{PROB_LOW, accumulated, updated_probability};
use super::rfc8033::ThirdOfLimits;
use crate::aqm::{Aqm, Cx, Fifo, Lifecycle, PoppedPacket, Timer, Verdict};
use crate::backlog::Backlog;
use crate::limits::Limits;
use crate::link::Link;
use crate::packet::Meta;
use crate::rng::Rng;
use crate::time::{Duration, Instant};

/// State of a queue; delays in seconds.
#[derive(Clone, Debug)]
pub(super) struct Docsis {
    config: Config,
    target: f64,
    third: ThirdOfLimits,
    bucket: TokenBucket,
    state: State,
    /// Drop probability of a packet of `mean_pktsize`, 0..=13.6.
    p: f64,
    qdelay: f64,
    qdelay_old: f64,
    burst_allowance: Duration,
    /// Time since congestion ended.
    burst_reset: Duration,
    accu_prob: f64,
    next_update: Instant,
}

/// Congestion state (aqm_state).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Less than a third of the buffer has been in use; nothing is dropped.
    Inactive = 0,
    /// The next drop starts a burst allowance.
    Quiescent = 1,
    /// Congestion, at first with the burst allowance.
    Active = 2,
}

impl Docsis {
    /// State of an idle queue.
    pub fn new(config: &Config) -> Self {
        Self {
            target: config.target.as_secs_f64(),
            third: ThirdOfLimits::default(),
            bucket: TokenBucket::default(),
            state: State::Inactive,
            p: 0.0,
            qdelay: 0.0,
            qdelay_old: 0.0,
            burst_allowance: Duration::ZERO,
            burst_reset: Duration::ZERO,
            accu_prob: 0.0,
            next_update: Instant::ZERO + config.tupdate,
            config: config.clone(),
        }
    }

    /// Takes over the state of `old` and keeps its own parameters.
    pub fn inherit(&mut self, old: &Self) {
        let Self { config, target, third, .. } = self.clone();
        *self = Self { config, target, third, ..old.clone() };
    }

    /// Whether to drop the arriving packet of `len` bytes.
    fn drop_early(&mut self, backlog: Backlog, len: u32, rng: &mut Rng) -> bool {
        if self.burst_allowance > Duration::ZERO {
            return false;
        }
        if self.p == 0.0 {
            self.accu_prob = 0.0;
        }
        if self.state == State::Inactive {
            if !self.third.is_reached_by(backlog) {
                return false;
            }
            self.state = State::Quiescent;
        }
        let mean_pktsize = self.config.mean_pktsize.0.max(1);
        let p1 = (self.p * len as f64 / mean_pktsize as f64).min(PROB_LOW);
        self.accu_prob += p1;
        if self.qdelay_old < self.target / 2.0 && self.p < 0.2 || backlog.bytes <= 2 * mean_pktsize {
            return false;
        }
        accumulated(self.accu_prob, p1, rng)
    }

    /// Updates the congestion state.
    fn next_state(&mut self) {
        let half = self.target / 2.0;
        let quiet =
            self.qdelay < half && self.qdelay_old < half && self.p == 0.0 && self.burst_allowance == Duration::ZERO;
        match self.state {
            State::Active if quiet => {
                self.state = State::Quiescent;
                self.burst_reset = Duration::ZERO;
            }
            State::Quiescent if quiet => {
                self.burst_reset += self.config.tupdate;
                if self.burst_reset > self.config.burst_reset {
                    self.burst_reset = Duration::ZERO;
                    self.state = State::Inactive;
                }
            }
            State::Quiescent => self.burst_reset = Duration::ZERO,
            State::Active | State::Inactive => {}
        }
    }
}

impl Aqm for Docsis {
    fn attach(&mut self, limits: &Limits, link: Link) {
        self.third = ThirdOfLimits::of(limits, link);
        self.bucket = TokenBucket::new(&self.config, link);
    }

    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, queue: &mut dyn Fifo) -> Verdict {
        let backlog = Backlog { packets: queue.len() as u32, bytes: queue.bytes() };
        if !self.drop_early(backlog, meta.len, cx.rng) {
            return Verdict::Accept;
        }
        self.accu_prob = 0.0;
        if self.state == State::Quiescent {
            self.state = State::Active;
            self.burst_allowance = self.config.max_burst;
        }
        let mark = self.config.ecn && meta.ecn.is_ect() && self.p < self.config.mark_ecnth;
        if mark { Verdict::Mark } else { Verdict::Drop }
    }

    #[inline(always)]
    fn dequeue(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) -> Option<PoppedPacket> {
        let popped = queue.pop()?;
        self.bucket.spend(cx.now, popped.meta.len);
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
        see("burst_allowance", self.burst_allowance.as_secs_f64());
        see("active", self.state as u8 as f64);
    }
}

impl Timer for Docsis {
    fn next_update(&mut self) -> Option<Instant> {
        Some(self.next_update)
    }

    fn update(&mut self, at: Instant, cx: &mut Cx) {
        self.next_update = at + self.config.tupdate;
        self.qdelay = self.bucket.delay(at, cx.backlog.bytes);
        if self.burst_allowance > Duration::ZERO {
            self.p = 0.0;
            self.burst_allowance = (self.burst_allowance - self.config.tupdate).max(Duration::ZERO);
        } else {
            self.p = updated_probability(&self.config, self.p, self.qdelay, self.qdelay_old);
        }
        self.next_state();
        self.qdelay_old = self.qdelay;
    }
}

impl Lifecycle for Docsis {
    fn overflowed(&mut self, _: &mut Cx, _: &Meta) {
        self.accu_prob = 0.0;
    }
}

/// Tokens to send at the peak rate, refilled at the sustained rate (MSR).
#[derive(Clone, Debug, Default)]
struct TokenBucket {
    /// Bytes per second.
    peak_rate: f64,
    msr: f64,
    depth: f64,
    /// Tokens in bytes, at `since`.
    tokens: f64,
    since: Instant,
}

impl TokenBucket {
    fn new(config: &Config, link: Link) -> Self {
        let peak_rate = link.rate.as_bps() as f64 / 8.0;
        let depth = config.max_traffic_burst.0 as f64;
        Self { peak_rate, msr: config.msr * peak_rate, depth, tokens: depth, since: Instant::ZERO }
    }

    /// Charges a departure of `len` bytes.
    fn spend(&mut self, now: Instant, len: u32) {
        self.tokens = (self.tokens_at(now) - len as f64).max(0.0);
        self.since = now;
    }

    fn tokens_at(&self, now: Instant) -> f64 {
        (self.tokens + self.msr * (now - self.since).as_secs_f64()).min(self.depth)
    }

    /// Time to send `bytes`, in seconds.
    fn delay(&self, now: Instant, bytes: u64) -> f64 {
        let (bytes, tokens) = (bytes as f64, self.tokens_at(now));
        if bytes <= tokens {
            return bytes / self.peak_rate;
        }
        (bytes - tokens) / self.msr + tokens / self.peak_rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::DropReason;
    use crate::packet::Ecn;
    use crate::params::Bytes;
    use crate::qdisc::{EnqueueResult, Qdisc};
    use crate::single::SingleQueue;
    use crate::testing::{self, LINK, cx, ms, push, queue_under};

    fn config() -> Config {
        testing::config("docsis", &[])
    }

    fn backlog(packets: u32) -> Backlog {
        Backlog { packets, bytes: 1500 * packets as u64 }
    }

    /// Controller during congestion, with a constant `p`.
    fn congested(p: f64) -> Docsis {
        Docsis { p, qdelay_old: 1.0, state: State::Active, next_update: Instant::NEVER, ..Docsis::new(&config()) }
    }

    /// Updates at `at` with `bytes` queued.
    fn update(pie: &mut Docsis, at: Instant, bytes: u64) {
        pie.update(at, &mut cx(at, &mut Rng::from_state(1), Backlog { packets: 1, bytes }, LINK));
    }

    #[test]
    fn gains_and_limits_of_the_controller() {
        for (p, qdelay, qdelay_old, expected) in [
            // 0.25 × 90 ms + 2.5 × 50 ms = 0.1475.
            (0.0, 0.100, 0.050, 0.1475 / 2048.0),
            (0.05, 0.100, 0.050, 0.05 + 0.1475 / 2.0),
            (0.2, 0.100, 0.050, 0.22),
            // 0.25 × -2 ms + 2.5 × -10 ms = -0.0255, times 2, times 8 and times 32.
            (0.5, 0.008, 0.018, 0.5 - 0.0255 * 2.0),
            (5.0, 0.008, 0.018, 5.0 - 0.0255 * 8.0),
            (12.0, 0.008, 0.018, 12.0 - 0.0255 * 32.0),
            (0.05, 0.004, 0.004, 0.98 * (0.05 - 0.0015 / 2.0)),
            (0.05, 0.005, 0.004, 0.05 + (0.0025 - 0.00125) / 2.0),
            (0.5, 0.201, 0.201, 0.54),
            (0.5, 0.200, 0.200, 0.52),
            (13.59, 0.3, 0.0, 13.6),
        ] {
            let p_new = updated_probability(&config(), p, qdelay, qdelay_old);
            assert!((p_new - expected).abs() < 1e-12, "from {p}, {qdelay}, {qdelay_old}: {p_new}, not {expected}");
        }
    }

    #[test]
    fn the_delay_is_that_of_the_token_bucket() {
        // 1.5 MB/s peak rate, half of it sustained, 3000 bytes deep.
        let config = Config { msr: 0.5, max_traffic_burst: Bytes(3000), ..config() };
        let mut bucket = TokenBucket::new(&config, LINK);
        for (at, spent, bytes, delay) in [
            (0, 0, 3000, 0.002),
            (0, 0, 4500, 0.002 + 0.002),
            (0, 1500, 4500, 0.001 + 0.004),
            (1, 0, 4500, 2250.0 / 1.5e6 + 2250.0 / 0.75e6),
            (1, 9000, 750, 0.001), // never negative
            (99, 0, 3000, 0.002),  // never above the depth
        ] {
            bucket.spend(ms(at), spent);
            let found = bucket.delay(ms(at), bytes);
            assert!((found - delay).abs() < 1e-12, "{bytes} bytes at {at} ms: {found}");
        }
        let mut steady = TokenBucket::new(&super::super::Config { msr: 1.0, ..config }, LINK);
        steady.spend(ms(5), 1000);
        assert!((steady.delay(ms(5), 15_000) - 0.010).abs() < 1e-12, "without a lower rate it is the link's");
    }

    #[test]
    fn congestion_begins_with_an_allowance_for_bursts_and_ends_after_a_quiet_second() {
        let mut queue = queue_under(Docsis::new(&config()), Limits::packets(90), LINK);
        let push = |queue: &mut SingleQueue<Docsis, u32>, at: u64| push(queue, ms(at), 1500, Ecn::NotEct);
        // The 31st packet finds a third of the buffer in use.
        for n in 0..=30 {
            assert_eq!(queue.aqm().state, State::Inactive, "{n} packets");
            push(&mut queue, 0);
        }
        assert_eq!(queue.aqm().state, State::Quiescent);
        (31..60).for_each(|_| assert_eq!(push(&mut queue, 0), EnqueueResult::Queued));
        // Each update finds 90 ms; `p` has grown a little when the first drop is due, which starts the burst allowance.
        let mut t = 0;
        while queue.aqm().state == State::Quiescent {
            t += 1;
            assert!(t < 10_000, "probabilities add up to a drop");
            if push(&mut queue, t) == EnqueueResult::Queued {
                queue.dequeue(ms(t), &mut |_, _, _| {});
            }
        }
        assert_eq!(queue.aqm().burst_allowance, Duration::from_millis(142));
        // During the allowance nothing is dropped and `p` is 0; afterwards the queue is below half the target.
        let next = queue.aqm().next_update;
        assert_eq!(push(&mut queue, t), EnqueueResult::Queued);
        queue.settle(next);
        assert_eq!((queue.aqm().p, queue.aqm().burst_allowance), (0.0, Duration::from_millis(126)));
        while let crate::qdisc::DequeueResult::Packet(..) = queue.dequeue(next, &mut |_, _, _| {}) {}
        let quiet_from = (1..).map(|n| next + config().tupdate * n).find(|&at| {
            queue.settle(at);
            queue.aqm().state == State::Quiescent
        });
        assert_eq!(quiet_from, Some(next + config().tupdate * 8), "126 ms take eight updates");
        // 62 updates take 992 ms; at the 63rd the queue has been quiet for more than a second.
        queue.settle(quiet_from.unwrap() + config().tupdate * 62);
        assert_eq!(queue.aqm().state, State::Quiescent);
        queue.settle(quiet_from.unwrap() + config().tupdate * 63);
        assert_eq!(queue.aqm().state, State::Inactive);
    }

    #[test]
    fn noise_in_the_quiet_second_starts_it_again() {
        let mut pie = Docsis { state: State::Quiescent, ..Docsis::new(&config()) };
        pie.attach(&Limits::packets(90), LINK);
        (1..60).for_each(|n| update(&mut pie, ms(16 * n), 0));
        assert_eq!(pie.burst_reset, Duration::from_millis(59 * 16));
        update(&mut pie, ms(16 * 60), 9000);
        assert_eq!((pie.burst_reset, pie.state), (Duration::ZERO, State::Quiescent));
    }

    #[test]
    fn small_packets_are_dropped_less_often_and_none_for_sure() {
        for (p, len, expected) in [(0.02, 1024, 0.02), (0.02, 512, 0.01), (0.02, 64, 0.00125), (13.6, 64, 0.85)] {
            let mut rng = Rng::from_state(3);
            let mut pie = congested(p);
            let drops = (0..400_000).filter(|_| {
                let dropped = pie.drop_early(backlog(100), len, &mut rng);
                if dropped {
                    pie.accu_prob = 0.0; // as `enqueue` does
                }
                dropped
            });
            // Derandomised: at least 0.85 / p between drops, then 1 / p more on average, at most 8.5 / p in total.
            let apart = 400_000.0 / drops.count() as f64 * expected;
            let bounds = if p > 1.0 { 0.99..1.02 } else { 1.7..1.95 };
            assert!(bounds.contains(&apart), "p {p}, {len} bytes: {apart}");
        }
    }

    #[test]
    fn uncongested_queues_are_left_alone_but_probabilities_add_up() {
        for (name, qdelay_old, p, bytes, dropped) in [
            ("congested", 0.1, 0.9, 2049, true),
            ("two packets", 0.1, 0.9, 2048, false),
            ("short delay, low p", 0.0049, 0.19, 9000, false),
            ("half the target", 0.0050, 0.19, 9000, true),
        ] {
            let mut pie = Docsis { qdelay_old, accu_prob: 8.5, ..congested(p) };
            let backlog = Backlog { packets: 9, bytes };
            assert_eq!(pie.drop_early(backlog, 1024, &mut Rng::from_state(1)), dropped, "{name}");
            assert!((pie.accu_prob - 8.5 - p.min(0.85)).abs() < 1e-12, "{name}");
        }
    }

    #[test]
    fn the_option_to_mark() {
        for (ecn, packet, p, expected) in [
            (true, Ecn::Ect0, 0.09, EnqueueResult::Marked),
            (true, Ecn::Ect0, 0.1, EnqueueResult::Dropped(DropReason::Early)),
            (true, Ecn::NotEct, 0.09, EnqueueResult::Dropped(DropReason::Early)),
            (false, Ecn::Ect0, 0.09, EnqueueResult::Dropped(DropReason::Early)),
        ] {
            let pie = Docsis { accu_prob: 8.5, config: Config { ecn, ..config() }, ..congested(p) };
            let mut queue = queue_under(pie, Limits::packets(9), LINK);
            push(&mut queue, ms(1), 3000, Ecn::NotEct);
            assert_eq!(push(&mut queue, ms(1), 1500, packet), expected, "ecn {ecn}, {packet:?}, p {p}");
            assert_eq!(queue.aqm().accu_prob, 0.0);
        }
    }
}
