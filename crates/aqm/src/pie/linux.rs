//! PIE as in Linux (`net/sched/sch_pie.c`, `include/net/pie.h` of 6.1), with its arithmetic: 56-bit probabilities,
//! ticks of 64 ns, updates on the kernel's timer wheel. Names follow the kernel's.
//!
//! The delay is the sojourn time of the last departed packet, or, with `dq_rate_estimator`, the backlog over the
//! departure rate. `tc`'s `alpha 2 beta 20` are sixteenths per second: `alpha 0.125 beta 1.25` here.

use super::Config;
use crate::aqm::{Aqm, Cx, Fifo, Lifecycle, PoppedPacket, Timer, Verdict};
use crate::packet::Meta;
use crate::rng::Rng;
use crate::time::{Duration, Instant};

/// State of a queue; times in ticks.
#[derive(Clone, Debug)]
pub(super) struct Linux {
    config: Config,
    target: u64,
    /// Maximum probability for marks (ecn_prob of sch_fq_pie.c; 10 % in sch_pie.c).
    ecn_threshold: u64,
    alpha: u64,
    beta: u64,
    /// Drop probability times `MAX_PROB`; as in the kernel, it is not clamped to `MAX_PROB`.
    prob: u64,
    accu_prob: u64,
    qdelay: u64,
    qdelay_old: u64,
    burst_time: u64,
    /// Departure of the last packet, or start of the measurement.
    dq_tstamp: Option<u64>,
    /// Bytes that have departed in this measurement.
    dq_count: Option<u64>,
    /// Departure rate in bytes per tick, with 8 fractional bits.
    avg_dq_rate: u32,
    timer: WheelTimer,
}

impl Linux {
    /// State of an idle queue.
    pub fn new(config: &Config) -> Self {
        let mut pie = Self {
            target: ticks(config.target),
            ecn_threshold: (MAX_PROB as u128 * thousandths(config.mark_ecnth) as u128 / 1000) as u64,
            alpha: gain(config.alpha),
            beta: gain(config.beta),
            prob: 0,
            accu_prob: 0,
            qdelay: 0,
            qdelay_old: 0,
            burst_time: 0,
            dq_tstamp: None,
            dq_count: None,
            avg_dq_rate: 0,
            timer: WheelTimer::started(config.created, config.jiffy),
            config: config.clone(),
        };
        pie.vars_init();
        pie
    }

    /// Takes over the state of `old` and keeps its own parameters.
    pub fn inherit(&mut self, old: &Self) {
        let Self { config, target, ecn_threshold, alpha, beta, .. } = self.clone();
        *self = Self { config, target, ecn_threshold, alpha, beta, ..old.clone() };
    }

    /// `pie_vars_init`: leaves `prob` and the delays unchanged, which are low when it is called.
    fn vars_init(&mut self) {
        self.burst_time = ticks(self.config.max_burst);
        self.dq_tstamp = None;
        self.accu_prob = 0;
        self.dq_count = None;
        self.avg_dq_rate = 0;
    }

    /// Whether the state equals that after `pie_vars_init`, without delay. An update of the empty queue then changes
    /// nothing unless it raises `prob`. Every idle queue gets here, because `prob` decays at each update; then updates
    /// can be skipped.
    fn is_fresh(&self) -> bool {
        let quiet = self.prob == 0 && self.accu_prob == 0 && self.qdelay == 0 && self.qdelay_old == 0;
        let measures_nothing = self.dq_tstamp.is_none() && self.dq_count.is_none() && self.avg_dq_rate == 0;
        quiet && measures_nothing && self.burst_time == ticks(self.config.max_burst)
    }

    /// `pie_drop_early`.
    fn drop_early(&mut self, backlog: u64, packet_size: u32, mtu: u32, rng: &mut Rng) -> bool {
        // No drops during the burst allowance, at low delay and probability, or below a backlog of two MTUs.
        if self.burst_time > 0 || self.qdelay < self.target / 2 && self.prob < MAX_PROB / 5 || backlog < 2 * mtu as u64
        {
            return false;
        }
        let local_prob = match self.config.bytemode && packet_size <= mtu {
            true => (self.prob / mtu as u64).wrapping_mul(packet_size as u64),
            false => self.prob,
        };
        self.accu_prob = if local_prob == 0 { 0 } else { self.accu_prob.wrapping_add(local_prob) };
        if self.accu_prob < MAX_PROB / 100 * 85 {
            return false;
        }
        // From a sum of 8.5 on a drop is certain. The sum is reset when the packet is dropped, not here: a marked
        // packet leaves it unchanged.
        if self.accu_prob >= MAX_PROB / 2 * 17 {
            return true;
        }
        let hit = rng.next_u64() >> 8 < local_prob;
        if hit {
            self.accu_prob = 0;
        }
        hit
    }

    /// `pie_process_dequeue` with timestamps. Returns the time since the previous packet.
    fn take_timestamps(&mut self, now: u64, enqueue_time: u64, backlog: u64) -> u64 {
        self.qdelay = if backlog == 0 { 0 } else { now - enqueue_time };
        self.dq_tstamp.replace(now).map_or(0, |before| (now - before) as u32 as u64)
    }

    /// `pie_process_dequeue` with the estimator. Returns the duration of a measurement that ends here, otherwise zero.
    fn measure(&mut self, now: u64, len: u32, backlog: u64) -> u64 {
        if backlog >= QUEUE_THRESHOLD && self.dq_count.is_none() {
            self.dq_tstamp = Some(now);
            self.dq_count = Some(0);
        }
        let (Some(dq_count), Some(start)) = (self.dq_count, self.dq_tstamp) else { return 0 };
        let dq_count = dq_count + len as u64;
        self.dq_count = Some(dq_count);
        let dtime = (now - start) as u32;
        if dq_count < QUEUE_THRESHOLD || dtime == 0 {
            return 0;
        }
        let count = ((dq_count << PIE_SCALE) as u32) / dtime;
        self.avg_dq_rate = match self.avg_dq_rate {
            0 => count,
            avg => avg - (avg >> 3) + (count >> 3),
        };
        self.dq_count = (backlog >= QUEUE_THRESHOLD).then_some(0);
        if self.dq_count.is_some() {
            self.dq_tstamp = Some(now);
        }
        dtime as u64
    }

    /// `pie_calculate_probability`.
    fn calculate_probability(&mut self, backlog: u64) {
        let qdelay = match (self.config.dq_rate_estimator, self.avg_dq_rate) {
            (false, _) => self.qdelay,
            (true, 0) => 0,
            (true, rate) => (((backlog as u32) << PIE_SCALE) / rate) as u64,
        };
        if self.config.dq_rate_estimator {
            self.qdelay_old = self.qdelay;
        }
        // A delay of zero with a backlog carries no information: the backlog is very small.
        let mut update_prob = qdelay != 0 || backlog == 0;
        let delta = self.delta(qdelay);
        let oldprob = self.prob;
        self.prob = oldprob.wrapping_add_signed(delta);
        if delta > 0 {
            // The sum wraps at 2⁶⁴, not at a probability of 1.
            if self.prob < oldprob {
                self.prob = MAX_PROB;
                update_prob = false;
            }
        } else if self.prob > oldprob {
            self.prob = 0;
        }
        if qdelay == 0 && self.qdelay_old == 0 && update_prob {
            self.prob -= self.prob / 64;
        }
        self.qdelay = qdelay;
        let half = self.target / 2;
        let measured = !self.config.dq_rate_estimator || self.avg_dq_rate > 0;
        if self.qdelay < half && self.qdelay_old < half && self.prob == 0 && measured {
            self.vars_init();
        }
        if !self.config.dq_rate_estimator {
            self.qdelay_old = qdelay;
        }
    }

    /// Change of `prob` that the controller computes.
    fn delta(&self, qdelay: u64) -> i64 {
        let (mut alpha, mut beta) = (self.alpha, self.beta);
        if self.prob < MAX_PROB / 10 {
            (alpha, beta) = (alpha >> 1, beta >> 1);
            let mut power = 100;
            while self.prob < MAX_PROB / power && power <= 1_000_000 {
                (alpha, beta) = (alpha >> 2, beta >> 2);
                power *= 10;
            }
        }
        let deviation = alpha.wrapping_mul(qdelay.wrapping_sub(self.target));
        let change = beta.wrapping_mul(qdelay.wrapping_sub(self.qdelay_old));
        let mut delta = deviation.wrapping_add(change) as i64;
        // From 10 % on at most 2 % more per update, and 2 % on top at a delay above 250 ms.
        if delta > (MAX_PROB / 50) as i64 && self.prob >= MAX_PROB / 10 {
            delta = (MAX_PROB / 100 * 2) as i64;
        }
        if qdelay > ticks(Duration::from_millis(250)) {
            delta = delta.wrapping_add((MAX_PROB / 50) as i64);
        }
        delta
    }
}

impl Aqm for Linux {
    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, queue: &mut dyn Fifo) -> Verdict {
        if !self.drop_early(queue.bytes(), meta.len, cx.link.mtu, cx.rng) {
            return Verdict::Accept;
        }
        if self.config.ecn && self.prob <= self.ecn_threshold && meta.ecn.is_ect() {
            return Verdict::Mark;
        }
        self.accu_prob = 0;
        Verdict::Drop
    }

    #[inline(always)]
    fn dequeue(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) -> Option<PoppedPacket> {
        let popped = queue.pop()?;
        let (now, backlog) = (clock(cx.now), queue.bytes());
        let dtime = match self.config.dq_rate_estimator {
            false => self.take_timestamps(now, clock(popped.meta.enqueued), backlog),
            true => self.measure(now, popped.meta.len, backlog),
        };
        self.burst_time = self.burst_time.saturating_sub(dtime);
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
        let share = |prob: u64| prob as f64 / MAX_PROB as f64;
        see("p", share(self.prob));
        see("qdelay", secs(self.qdelay));
        see("qdelay_old", secs(self.qdelay_old));
        see("accu_prob", share(self.accu_prob));
        see("burst_allowance", secs(self.burst_time));
        see("avg_dq_rate", self.avg_dq_rate as f64 * TICKS_PER_SEC as f64 / (1 << PIE_SCALE) as f64);
    }
}

impl Timer for Linux {
    fn next_update(&mut self) -> Option<Instant> {
        Some(self.timer.expires)
    }

    fn update(&mut self, at: Instant, cx: &mut Cx) {
        self.calculate_probability(cx.backlog.bytes);
        self.timer.restart(at, self.config.tupdate);
    }

    fn skip_idle(&mut self, until: Instant) {
        if self.is_fresh() && self.delta(0) <= 0 {
            self.timer.skip(self.config.tupdate, until);
        }
    }
}

impl Lifecycle for Linux {
    fn overflowed(&mut self, _: &mut Cx, _: &Meta) {
        self.accu_prob = 0;
    }
}

/// Timer on the kernel's timer wheel.
#[derive(Clone, Debug)]
struct WheelTimer {
    jiffy: u64,
    expires: Instant,
}

impl WheelTimer {
    /// Timer of a queue created at `created`: expires after half a second (HZ / 2 jiffies).
    fn started(created: Duration, jiffy: Duration) -> Self {
        let mut timer = Self { jiffy: jiffy.as_nanos() as u64, expires: Instant::ZERO };
        let jiffies = created.as_nanos() as u64 / timer.jiffy;
        timer.set(jiffies + timer.hz() / 2, jiffies);
        timer
    }

    /// Restarts the timer that expired at `at` to expire `span` later, in jiffies rounded up.
    fn restart(&mut self, at: Instant, span: Duration) {
        let jiffies = at.as_nanos() / self.jiffy;
        // While the wheel runs timers, it is at the next jiffy.
        self.set(jiffies + (span.as_nanos() as u64).div_ceil(self.jiffy), jiffies + 1);
    }

    /// Expires and restarts with `span` until it is due at `until` or later.
    fn skip(&mut self, span: Duration, until: Instant) {
        if self.expires < until {
            self.restart(self.expires, span);
        }
        if self.expires < until {
            // The timer has now expired on a slot of its level, so it continues from slot to slot at equal intervals.
            let slot = self.expires;
            self.restart(slot, span);
            self.expires = self.expires.stepped_to(self.expires - slot, until);
        }
    }

    /// Adds the timer, due at jiffy `expires`, to the wheel, which is at jiffy `now`. Each level has 64 slots and is
    /// eight times coarser than the one below; the timer goes into the slot after its due time, so even a short timer
    /// is a jiffy late.
    fn set(&mut self, expires: u64, now: u64) {
        let mut shift = 0;
        while shift < 24 && expires - now >= 63 << shift {
            shift += 3;
        }
        // Jiffies start at -300 s, and the slots of the coarser levels are aligned to that.
        let boot = (1 << 32) - 300 * self.hz();
        let slot = ((boot + expires) >> shift) + 1;
        self.expires = Instant::from_nanos(((slot << shift) - boot) * self.jiffy);
    }

    fn hz(&self) -> u64 {
        1_000_000_000 / self.jiffy
    }
}

/// Time on the scheduler's clock, in ticks.
fn clock(at: Instant) -> u64 {
    at.as_nanos() >> TICK_SHIFT
}

/// Ticks of a span, rounded down.
fn ticks(span: Duration) -> u64 {
    span.as_nanos() as u64 >> TICK_SHIFT
}

fn secs(ticks: u64) -> f64 {
    (ticks << TICK_SHIFT) as f64 / 1e9
}

fn thousandths(share: f64) -> u64 {
    libm::round(share * 1000.0) as u64
}

/// Gain per second, rounded to the kernel's sixteenths, as change of `prob` per tick.
fn gain(per_second: f64) -> u64 {
    let sixteenths = libm::round(per_second * 16.0) as u64;
    (sixteenths * (MAX_PROB / TICKS_PER_SEC)) >> 4
}

/// Probability 1.
const MAX_PROB: u64 = u64::MAX >> 8;
/// Number of bytes whose departure is timed.
const QUEUE_THRESHOLD: u64 = 16_384;
const PIE_SCALE: u32 = 8;
const TICK_SHIFT: u32 = 6;
const TICKS_PER_SEC: u64 = 1_000_000_000 >> TICK_SHIFT;

#[cfg(test)]
mod tests;
