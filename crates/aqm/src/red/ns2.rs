//! RED as in ns-2 (`queue/red.cc` 1.90), in its order and with its names.

use super::config::{AdaptiveMode, Config, GentleSlope};
use crate::aqm::{Cx, Verdict};
use crate::backlog::Backlog;
use crate::link::Link;
use crate::packet::Meta;
use crate::params::Bytes;
use crate::rng::Rng;
use crate::time::{Duration, Instant};

/// State, and the parameters derived from the link. Queue lengths are in bytes or packets, depending on
/// `queue_in_bytes`.
#[derive(Clone, Debug)]
pub(super) struct Ns2Red {
    pub(super) config: Config,
    /// Packets of avpkt that the link sends per second.
    pub(super) ptc: f64,
    pub(super) th_min: f64,
    pub(super) th_max: f64,
    pub(super) q_w: f64,
    pub(super) bottom: f64,
    /// Average queue length.
    pub(super) ave: f64,
    /// Maximum probability below `th_max`.
    pub(super) cur_max_p: f64,
    /// Maximum probability at the start of the gentle segment.
    gentle_max_p: f64,
    /// Packets and bytes since the last drop or mark.
    pub(super) count: u64,
    pub(super) count_bytes: u64,
    /// Whether the average was above `th_min` at the last arrival.
    pub(super) old: bool,
    idle_since: Option<Instant>,
    lastset: Instant,
    range: AverageRange,
}

/// Range of the average when it last crossed a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AverageRange {
    Below,
    Between,
    Above,
}

/// Decision about an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DropType {
    None,
    Forced,
    Unforced,
}

impl Ns2Red {
    pub(super) fn new(config: &Config, link: Link) -> Self {
        let avpkt = config.avpkt.0 as f64;
        let bandwidth = if config.bandwidth.as_bps() > 0 { config.bandwidth } else { link.rate };
        let ptc = bandwidth.as_bps() as f64 / (8.0 * avpkt);
        let (min, max) = thresholds(config, link);
        let unit = if config.queue_in_bytes { 1.0 } else { avpkt };
        Self {
            ptc,
            th_min: min / unit,
            th_max: max / unit,
            q_w: weight(config.weight, ptc, link.delay),
            bottom: if config.bottom > 0.0 { config.bottom } else { (80_000.0 / bandwidth.as_bps() as f64).min(0.01) },
            ave: 0.0,
            cur_max_p: config.probability,
            gentle_max_p: config.probability,
            count: 0,
            count_bytes: 0,
            old: false,
            idle_since: Some(Instant::ZERO),
            lastset: Instant::ZERO,
            range: AverageRange::Below,
            config: config.clone(),
        }
    }

    /// Takes over the state of `old` and keeps its own parameters, and its maximum probability if that was changed.
    pub(super) fn inherit(&mut self, old: &Self) {
        let Self { config, ptc, th_min, th_max, q_w, bottom, gentle_max_p, .. } = self.clone();
        let is_as_before = config.probability == old.config.probability;
        let cur_max_p = if is_as_before { old.cur_max_p } else { self.cur_max_p };
        *self = Self { config, ptc, th_min, th_max, q_w, bottom, gentle_max_p, cur_max_p, ..old.clone() };
    }

    /// Judges a packet that finds `backlog`.
    pub(super) fn arrive(&mut self, cx: &mut Cx, meta: &Meta, backlog: Backlog) -> Verdict {
        let q = if self.config.queue_in_bytes { backlog.bytes } else { backlog.packets as u64 };
        // Packets that could have left during an idle period count as arrivals at an empty queue.
        let m = match self.idle_since.take() {
            Some(since) => libm::floor(self.ptc * (cx.now - since).as_secs_f64()),
            None => 0.0,
        };
        let of_each = 1.0 - self.q_w;
        let retained = if m > 0.0 { libm::pow(of_each, m + 1.0) } else { of_each };
        self.ave = self.ave * retained + self.q_w * q as f64;
        self.adapt(cx.now);
        self.count += 1;
        self.count_bytes += meta.len as u64;
        match self.drop_type(q, meta, cx.rng) {
            DropType::None => Verdict::Accept,
            DropType::Unforced if self.may_mark(meta) => Verdict::Mark,
            DropType::Unforced => Verdict::Drop,
            DropType::Forced => {
                self.forced_drop();
                Verdict::Drop
            }
        }
    }

    /// Restarts the spacing after a drop without a draw.
    pub(super) fn forced_drop(&mut self) {
        self.count = 0;
        self.count_bytes = 0;
    }

    /// Marks the start of an idle period: the link found the queue empty.
    pub(super) fn fall_idle(&mut self, now: Instant) {
        // ns-2's link polls an empty queue once; a host that polls again must not shorten the idle period.
        self.idle_since.get_or_insert(now);
    }

    pub(super) fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("avg", self.ave);
        see("prob", self.probability(self.ave));
        see("max_p", self.cur_max_p);
        see("count", self.count as f64);
        see("count_bytes", self.count_bytes as f64);
    }

    fn drop_type(&mut self, q: u64, meta: &Meta, rng: &mut Rng) -> DropType {
        if self.ave < self.th_min || q <= 1 {
            self.old = false;
            return DropType::None;
        }
        let sure = if self.config.gentle { 2.0 * self.th_max } else { self.th_max };
        if !self.config.use_mark_p && self.ave >= sure {
            DropType::Forced
        } else if !self.old {
            // The average has just crossed the threshold: the spacing starts with this packet.
            self.count = 1;
            self.count_bytes = meta.len as u64;
            self.old = true;
            DropType::None
        } else if self.drop_early(meta.len, rng) {
            DropType::Unforced
        } else {
            DropType::None
        }
    }

    fn drop_early(&mut self, len: u32, rng: &mut Rng) -> bool {
        let p = self.spaced(self.probability(self.ave), len);
        // ns-2's random number is never 0, this one never 1, so "less than" here matches "at most" there.
        if rng.uniform() >= p {
            return false;
        }
        self.forced_drop();
        true
    }

    fn may_mark(&self, meta: &Meta) -> bool {
        // Strictly below, as in `red.cc`: with the default of 0.1, drops begin at max.
        let c = &self.config;
        c.ecn && meta.ecn.is_ect() && (!c.use_mark_p || self.probability(self.ave) < c.mark_p)
    }

    /// Drop curve: probability as a function of the average, before spacing.
    pub(super) fn probability(&self, ave: f64) -> f64 {
        let p = if ave < self.th_max {
            self.cur_max_p * (ave - self.th_min) / (self.th_max - self.th_min)
        } else if self.config.gentle {
            (1.0 - self.gentle_max_p) * ave / self.th_max + 2.0 * self.gentle_max_p - 1.0
        } else {
            1.0
        };
        p.clamp(0.0, 1.0)
    }

    /// Makes the spacing of drops uniform instead of geometric (modify_p).
    pub(super) fn spaced(&self, p: f64, len: u32) -> f64 {
        let Bytes(avpkt) = self.config.avpkt;
        // Whole packets, because red.cc divides integers.
        let n = if self.config.bytes { self.count_bytes / avpkt } else { self.count } as f64;
        let mut spaced = match n * p {
            np if self.config.wait && np < 1.0 => 0.0,
            np if self.config.wait && np < 2.0 => p / (2.0 - np),
            np if np < 1.0 => p / (1.0 - np),
            _ => 1.0,
        };
        if self.config.bytes && spaced < 1.0 {
            spaced = spaced * len as f64 / avpkt as f64;
        }
        spaced.min(1.0)
    }

    fn adapt(&mut self, now: Instant) {
        match self.config.adaptive {
            AdaptiveMode::Off => {}
            AdaptiveMode::Aimd if now - self.lastset > self.config.interval => self.step_aimd(now),
            AdaptiveMode::Aimd => {}
            AdaptiveMode::Mimd => self.step_mimd(),
        }
    }

    /// Floyd, Gummadi and Shenker 2001; the interval counts from the last change.
    fn step_aimd(&mut self, now: Instant) {
        let part = 0.4 * (self.th_max - self.th_min);
        if self.ave < self.th_min + part && self.cur_max_p > self.bottom {
            self.set_max_p(self.cur_max_p * self.config.beta);
        } else if self.ave > self.th_max - part && self.cur_max_p < self.config.top {
            self.set_max_p(self.cur_max_p + self.config.alpha.min(0.25 * self.cur_max_p));
        } else {
            return;
        }
        self.lastset = now;
    }

    /// Feng et al. 1999: adapts when the average leaves the thresholds.
    fn step_mimd(&mut self) {
        let range = match self.ave {
            ave if ave < self.th_min => AverageRange::Below,
            ave if ave > self.th_max => AverageRange::Above,
            _ => AverageRange::Between,
        };
        if range == self.range {
            return;
        }
        self.range = range;
        match range {
            AverageRange::Below => self.set_max_p(self.cur_max_p / self.config.alpha),
            AverageRange::Above => self.set_max_p(self.cur_max_p * self.config.beta),
            AverageRange::Between => {}
        }
    }

    fn set_max_p(&mut self, max_p: f64) {
        self.cur_max_p = max_p.min(1.0);
        if self.config.gentle_slope == GentleSlope::Recomputed {
            self.gentle_max_p = self.cur_max_p;
        }
    }
}

/// Weight; if automatic, derived from the packets per second. -1 also needs the propagation delay: without it goodput
/// at an RTT of 500 ms is up to a third off.
fn weight(weight: f64, ptc: f64, delay: Duration) -> f64 {
    if weight == 0.0 {
        1.0 - libm::exp(-1.0 / ptc)
    } else if weight == -1.0 {
        let rtt = (3.0 * (delay.as_secs_f64() + 1.0 / ptc)).max(0.1);
        1.0 - libm::exp(-1.0 / (10.0 * rtt * ptc))
    } else if weight == -2.0 {
        1.0 - libm::exp(-10.0 / ptc)
    } else {
        weight
    }
}

/// Thresholds in bytes; if automatic, derived from the target delay.
fn thresholds(config: &Config, link: Link) -> (f64, f64) {
    let (min, max) = (config.min.0 as f64, config.max.0 as f64);
    let half_target = link.rate.as_bps() as f64 * config.target.as_secs_f64() / 16.0;
    let automatic = half_target.max(5.0 * config.avpkt.0 as f64);
    match (min > 0.0, max > 0.0) {
        (true, true) => (min, max),
        (true, false) => (min, 3.0 * min),
        // Differs: ns-2 would accept an automatic min beyond max.
        (false, true) => (automatic.min(max / 3.0), max),
        (false, false) => (automatic, 3.0 * automatic),
    }
}

#[cfg(test)]
mod tests;
