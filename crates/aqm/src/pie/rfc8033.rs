//! PIE as in the IETF's documents: RFC 8033, draft-ietf-aqm-pie-00.
//!
//! Names and order follow RFC 8033, Appendix A. Two corrections of the draft's pseudocode are from Schwarzkopf et al.
//! 2016, II.C: `accu_prob` restarts at each drop, and `p` stays within [0, 1]. Table I of that paper also decided how
//! to read the draft: the control is never switched off again, `p` decays only while both delays are zero, damping has
//! seven levels.

use super::config::{Activation, Config};
use super::controller::{accumulated, updated_probability};
use crate::aqm::{Aqm, Cx, Fifo, Lifecycle, PoppedPacket, Timer, Verdict};
use crate::backlog::Backlog;
use crate::limits::Limits;
use crate::link::Link;
use crate::packet::Meta;
use crate::rng::Rng;
use crate::time::{Duration, Instant};

/// State of a queue; delays in seconds.
#[derive(Clone, Debug)]
pub(super) struct Rfc8033 {
    config: Config,
    target: f64,
    /// Backlog that activates the control.
    third: ThirdOfLimits,
    active: bool,
    /// Drop probability, 0..=1.
    p: f64,
    qdelay: f64,
    qdelay_old: f64,
    burst_allowance: Duration,
    accu_prob: f64,
    in_measurement: bool,
    measurement_start: Instant,
    dq_count: u64,
    /// Average time for `dq_threshold` bytes to depart; zero before the first measurement.
    avg_dq_time: f64,
    next_update: Instant,
}

impl Rfc8033 {
    /// State of an idle queue.
    pub fn new(config: &Config) -> Self {
        Self {
            target: config.target.as_secs_f64(),
            third: ThirdOfLimits::default(),
            active: false,
            p: 0.0,
            qdelay: 0.0,
            qdelay_old: 0.0,
            burst_allowance: Duration::ZERO,
            accu_prob: 0.0,
            in_measurement: false,
            measurement_start: Instant::ZERO,
            dq_count: 0,
            avg_dq_time: 0.0,
            next_update: Instant::NEVER,
            config: config.clone(),
        }
    }

    /// Takes over the state of `old` and keeps its own parameters.
    pub fn inherit(&mut self, old: &Self) {
        let Self { config, target, third, .. } = self.clone();
        *self = Self { config, target, third, ..old.clone() };
    }

    fn activate(&mut self, now: Instant) {
        self.active = true;
        self.qdelay = 0.0;
        self.qdelay_old = 0.0;
        self.p = 0.0;
        self.in_measurement = true;
        self.measurement_start = now;
        self.dq_count = 0;
        self.avg_dq_time = 0.0;
        self.burst_allowance = self.config.max_burst;
        self.accu_prob = 0.0;
        // Updates are due at multiples of t_update; updates while inactive would do nothing.
        let period = self.config.tupdate.as_nanos() as u64;
        self.next_update = Instant::from_nanos((now.as_nanos() / period + 1) * period);
    }

    /// Once congestion is over, renews the burst allowance and deactivates the control of an empty queue.
    fn reset_if_quiet(&mut self, backlog: Backlog) {
        let half = self.target / 2.0;
        if self.p > 0.0 || self.qdelay >= half || self.qdelay_old >= half {
            return;
        }
        self.burst_allowance = self.config.max_burst;
        if backlog.packets == 0 && self.config.activation == Activation::OnOff {
            self.active = false;
        }
    }

    /// Whether to drop the arriving packet; `bytes` are queued.
    fn drop_early(&mut self, bytes: u64, rng: &mut Rng) -> bool {
        if self.qdelay_old < self.target / 2.0 && self.p < 0.2 || bytes <= 2 * self.config.mean_pktsize.0 {
            return false;
        }
        if self.p == 0.0 {
            self.accu_prob = 0.0;
        }
        self.accu_prob += self.p;
        match self.config.derandomise {
            true => accumulated(self.accu_prob, self.p, rng),
            false => rng.uniform() < self.p,
        }
    }

    /// Times the departure of `dq_threshold` bytes; `backlog` is the backlog after the packet of `len` bytes has left.
    fn measure(&mut self, now: Instant, len: u32, backlog: u64) {
        let dq_threshold = self.config.dq_threshold.0;
        if self.in_measurement {
            self.dq_count += len as u64;
            if self.dq_count >= dq_threshold {
                let dq_time = (now - self.measurement_start).as_secs_f64();
                self.avg_dq_time = match self.avg_dq_time {
                    0.0 => dq_time,
                    avg => 0.25 * dq_time + 0.75 * avg,
                };
                self.in_measurement = false;
            }
        }
        if backlog >= dq_threshold && !self.in_measurement {
            self.in_measurement = true;
            self.measurement_start = now;
            self.dq_count = 0;
        }
    }
}

impl Aqm for Rfc8033 {
    fn attach(&mut self, limits: &Limits, link: Link) {
        self.third = ThirdOfLimits::of(limits, link);
    }

    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, queue: &mut dyn Fifo) -> Verdict {
        let bytes = queue.bytes();
        if self.active && self.burst_allowance == Duration::ZERO && self.drop_early(bytes, cx.rng) {
            // A mark is as good a signal as a drop, so both restart the spacing.
            self.accu_prob = 0.0;
            let mark = self.config.ecn && meta.ecn.is_ect() && self.p < self.config.mark_ecnth;
            return if mark { Verdict::Mark } else { Verdict::Drop };
        }
        if !self.active {
            let backlog = Backlog { packets: queue.len() as u32 + 1, bytes: bytes + meta.len as u64 };
            if self.config.activation == Activation::Always || self.third.is_exceeded_by(backlog) {
                self.activate(cx.now);
            }
        }
        Verdict::Accept
    }

    #[inline(always)]
    fn dequeue(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) -> Option<PoppedPacket> {
        let popped = queue.pop()?;
        if self.active {
            self.measure(cx.now, popped.meta.len, queue.bytes());
        }
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
        see("avg_dq_time", self.avg_dq_time);
        see("active", self.active as u8 as f64);
    }
}

impl Timer for Rfc8033 {
    fn next_update(&mut self) -> Option<Instant> {
        self.active.then_some(self.next_update)
    }

    fn update(&mut self, at: Instant, cx: &mut Cx) {
        self.next_update = at + self.config.tupdate;
        // Little's law; the departure rate is dq_threshold / avg_dq_time.
        self.qdelay = cx.backlog.bytes as f64 * self.avg_dq_time / self.config.dq_threshold.0 as f64;
        self.p = updated_probability(&self.config, self.p, self.qdelay, self.qdelay_old);
        self.burst_allowance = (self.burst_allowance - self.config.tupdate).max(Duration::ZERO);
        self.reset_if_quiet(cx.backlog);
        self.qdelay_old = self.qdelay;
    }

    fn skip_idle(&mut self, until: Instant) {
        let at_rest = self.p == 0.0 && self.qdelay == 0.0 && self.qdelay_old == 0.0;
        if at_rest && self.burst_allowance == self.config.max_burst {
            self.next_update = self.next_update.stepped_to(self.config.tupdate, until);
        }
    }
}

impl Lifecycle for Rfc8033 {
    fn overflowed(&mut self, _: &mut Cx, _: &Meta) {
        self.accu_prob = 0.0;
    }

    fn emptied(&mut self, _: &mut Cx) {
        self.reset_if_quiet(Backlog::default());
    }
}

/// A third of each limit; without a limit, 0, which every backlog exceeds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ThirdOfLimits {
    packets: Option<u32>,
    bytes: Option<u64>,
}

impl ThirdOfLimits {
    pub fn of(limits: &Limits, link: Link) -> Self {
        let in_time = limits.time.map(|time| link.rate.bytes_in(time));
        let bytes = [limits.bytes, in_time].into_iter().flatten().min();
        Self { packets: limits.packets.map(|n| n / 3), bytes: bytes.map(|n| n / 3) }
    }

    /// Whether a third of a limit is in use.
    pub fn is_reached_by(&self, backlog: Backlog) -> bool {
        let unlimited = self.packets.is_none() && self.bytes.is_none();
        unlimited
            || self.packets.is_some_and(|n| backlog.packets >= n)
            || self.bytes.is_some_and(|n| backlog.bytes >= n)
    }

    /// Whether more than a third of a limit is in use.
    pub fn is_exceeded_by(&self, backlog: Backlog) -> bool {
        let unlimited = self.packets.is_none() && self.bytes.is_none();
        unlimited || self.packets.is_some_and(|n| backlog.packets > n) || self.bytes.is_some_and(|n| backlog.bytes > n)
    }
}

#[cfg(test)]
mod tests;
