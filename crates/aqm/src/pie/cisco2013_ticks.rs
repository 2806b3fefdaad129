//! PIE in the arithmetic of Cisco's 2013 module: 32-bit integers and scheduler ticks of 64 ns. [`super::cisco2013`] is
//! the same algorithm in floating point; the two differ when the integers are coarse.
//!
//! Source: the module of December 2013 for Linux 3.10 (`pie.h`) and the first one in Linux itself (3.14,
//! `net/sched/sch_pie.c`), which has the same arithmetic. The departure rate is in bytes per tick with 8 fractional
//! bits: at 10 Mbit/s it is 20, and because 16 to 23 have the same eighth, an average between them never moves. Gains
//! are integer changes of `prob` per tick: 4 and 42 below 1 %, 17 and 171 below 10 %, 34 and 342 above, for 0.125 and
//! 1.25 per second. Changes of `prob` are signed 32-bit numbers and wrap. The product of its decay, `prob * 98 / 100`,
//! wraps above 1/98, so an empty queue's probability falls below 1 % at once.

use super::Config;
use crate::aqm::{Aqm, Cx, Fifo, PoppedPacket, Timer, Verdict};
use crate::packet::Meta;
use crate::rng::Rng;
use crate::time::{Duration, Instant};

/// State of a queue; times in ticks.
#[derive(Clone, Debug)]
pub(super) struct Cisco2013Ticks {
    config: Config,
    target: u64,
    /// Gains in sixteenths per second (tc's unit), as change of `prob` per tick before the shift.
    alpha: u32,
    beta: u32,
    mark_ecnth: u32,
    /// Drop probability times `MAX_PROB`.
    prob: u32,
    qdelay: u64,
    qdelay_old: u64,
    burst_time: u64,
    /// Start of the measurement.
    dq_tstamp: u64,
    /// Bytes that have departed in this measurement.
    dq_count: Option<u32>,
    /// Departure rate in bytes per tick, with 8 fractional bits.
    avg_dq_rate: u32,
    next_update: Instant,
}

impl Cisco2013Ticks {
    /// State of an idle queue.
    pub fn new(config: &Config) -> Self {
        let mut pie = Self {
            target: ticks(config.target),
            alpha: gain(config.alpha),
            beta: gain(config.beta),
            mark_ecnth: (config.mark_ecnth * f64::from(MAX_PROB)) as u32,
            prob: 0,
            qdelay: 0,
            qdelay_old: 0,
            burst_time: 0,
            dq_tstamp: 0,
            dq_count: None,
            avg_dq_rate: 0,
            next_update: Instant::ZERO + FIRST_UPDATE,
            config: config.clone(),
        };
        pie.vars_init();
        pie
    }

    /// Takes over the state of `old` and keeps its own parameters.
    pub fn inherit(&mut self, old: &Self) {
        let Self { config, target, alpha, beta, mark_ecnth, .. } = self.clone();
        *self = Self { config, target, alpha, beta, mark_ecnth, ..old.clone() };
    }

    /// `pie_vars_init`: leaves `prob` and the delays unchanged.
    fn vars_init(&mut self) {
        self.dq_count = None;
        self.avg_dq_rate = 0;
        self.burst_time = ticks(self.config.max_burst);
    }

    /// `drop_early`: whether to drop the arriving packet of `len` bytes; `backlog` bytes are queued.
    fn drop_early(&mut self, backlog: u64, len: u32, mtu: u32, rng: &mut Rng) -> bool {
        if self.burst_time > 0 || self.qdelay < self.target / 2 && self.prob < MAX_PROB / 5 || backlog < 2 * mtu as u64
        {
            return false;
        }
        let local_prob = if self.config.bytemode && len <= mtu { self.prob / mtu * len } else { self.prob };
        (rng.next_u64() >> 32) < u64::from(local_prob)
    }

    /// `pie_process_dequeue`: times the departure of `dq_threshold` bytes; `backlog` is the backlog after the
    /// departure.
    fn measure(&mut self, now: u64, len: u32, backlog: u64) {
        let threshold = self.config.dq_threshold.0;
        if backlog >= threshold && self.dq_count.is_none() {
            (self.dq_tstamp, self.dq_count) = (now, Some(0));
        }
        let Some(dq_count) = self.dq_count.map(|count| count.wrapping_add(len)) else { return };
        self.dq_count = Some(dq_count);
        let dtime = (now - self.dq_tstamp) as u32;
        if u64::from(dq_count) < threshold || dtime == 0 {
            return;
        }
        let count = (dq_count << PIE_SCALE) / dtime;
        self.avg_dq_rate = match self.avg_dq_rate {
            0 => count,
            avg => avg - (avg >> 3) + (count >> 3),
        };
        self.dq_count = (backlog >= threshold).then_some(0);
        if self.dq_count.is_some() {
            self.dq_tstamp = now;
        }
        self.burst_time = self.burst_time.saturating_sub(u64::from(dtime));
    }

    /// `calculate_probability`.
    fn calculate_probability(&mut self, backlog: u64) {
        self.qdelay_old = self.qdelay;
        let qdelay = match self.avg_dq_rate {
            0 => 0,
            rate => u64::from(((backlog as u32) << PIE_SCALE) / rate),
        };
        // A delay of zero with a backlog carries no information: the backlog is very small.
        let mut update_prob = qdelay != 0 || backlog == 0;
        let delta = self.delta(qdelay);
        let oldprob = self.prob;
        self.prob = oldprob.wrapping_add_signed(delta);
        if delta > 0 {
            if self.prob < oldprob {
                self.prob = MAX_PROB;
                update_prob = false;
            }
        } else if self.prob > oldprob {
            self.prob = 0;
        }
        if qdelay == 0 && self.qdelay_old == 0 && update_prob {
            // Above 1/98 the product wraps: the result is below 1 %.
            self.prob = self.prob.wrapping_mul(98) / 100;
        }
        self.qdelay = qdelay;
        let half = self.target / 2;
        if qdelay < half && self.qdelay_old < half && self.prob == 0 && self.avg_dq_rate > 0 {
            self.vars_init();
        }
    }

    /// Change of `prob` that the controller computes.
    fn delta(&self, qdelay: u64) -> i32 {
        let shift = match self.prob {
            prob if prob < MAX_PROB / 100 => 7,
            prob if prob < MAX_PROB / 10 => 5,
            _ => 4,
        };
        let product = |gain: u32, delay: u64| u64::from(gain >> shift).wrapping_mul(qdelay.wrapping_sub(delay));
        let mut delta = product(self.alpha, self.target).wrapping_add(product(self.beta, self.qdelay_old)) as i32;
        if delta > (MAX_PROB / 50) as i32 && self.prob >= MAX_PROB / 10 {
            delta = (MAX_PROB / 100 * 2) as i32;
        }
        if qdelay > ticks(HIGH_DELAY) {
            delta = delta.wrapping_add((MAX_PROB / 50) as i32);
        }
        delta
    }
}

impl Aqm for Cisco2013Ticks {
    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, queue: &mut dyn Fifo) -> Verdict {
        if !self.drop_early(queue.bytes(), meta.len, cx.link.mtu, cx.rng) {
            return Verdict::Accept;
        }
        let mark = self.config.ecn && meta.ecn.is_ect() && self.prob <= self.mark_ecnth;
        if mark { Verdict::Mark } else { Verdict::Drop }
    }

    #[inline(always)]
    fn dequeue(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) -> Option<PoppedPacket> {
        let popped = queue.pop()?;
        self.measure(cx.now.as_nanos() >> TICK_SHIFT, popped.meta.len, queue.bytes());
        Some(popped)
    }

    #[inline(always)]
    fn timer(&mut self) -> Option<&mut dyn Timer> {
        Some(self)
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let secs = |ticks: u64| (ticks << TICK_SHIFT) as f64 / 1e9;
        see("p", f64::from(self.prob) / f64::from(MAX_PROB));
        see("qdelay", secs(self.qdelay));
        see("qdelay_old", secs(self.qdelay_old));
        see("burst_allowance", secs(self.burst_time));
        see("avg_dq_rate", f64::from(self.avg_dq_rate) * f64::from(TICKS_PER_SEC) / f64::from(1 << PIE_SCALE));
    }
}

impl Timer for Cisco2013Ticks {
    fn next_update(&mut self) -> Option<Instant> {
        Some(self.next_update)
    }

    fn update(&mut self, at: Instant, cx: &mut Cx) {
        self.next_update = at + self.config.tupdate;
        self.calculate_probability(cx.backlog.bytes);
    }

    fn skip_idle(&mut self, until: Instant) {
        if self.prob == 0 && self.qdelay == 0 && self.qdelay_old == 0 && self.avg_dq_rate == 0 && self.delta(0) <= 0 {
            self.next_update = self.next_update.stepped_to(self.config.tupdate, until);
        }
    }
}

/// Ticks of a span, rounded down.
fn ticks(span: Duration) -> u64 {
    span.as_nanos() as u64 >> TICK_SHIFT
}

/// Gain per second, rounded to the module's sixteenths, as change of `prob` per tick before the shift.
fn gain(per_second: f64) -> u32 {
    (libm::round(per_second * 16.0) as u32).wrapping_mul(MAX_PROB / TICKS_PER_SEC)
}

/// Probability 1.
const MAX_PROB: u32 = u32::MAX;
const PIE_SCALE: u32 = 8;
const TICK_SHIFT: u32 = 6;
const TICKS_PER_SEC: u32 = 1_000_000_000 >> TICK_SHIFT;
/// Delay above which the probability grows by another 2 % per update.
const HIGH_DELAY: Duration = Duration::from_millis(250);
/// The module starts its timer half a second after the queue is created.
const FIRST_UPDATE: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests;
