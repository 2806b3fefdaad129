//! RED as in Linux (`include/net/red.h`, `sch_red.c` of 6.1), with the parameters that tc computes for it.
//!
//! The average is an integer with `Wlog` fractional bits, in bytes for RED and in packets for CHOKe.

use super::config::{AdaptiveMode, Config};
use super::tc::{idle_damping, max_p, wlog};
use crate::aqm::{Cx, Verdict};
use crate::backlog::Backlog;
use crate::limits::Limits;
use crate::link::Link;
use crate::packet::Meta;
use crate::params::Bytes;
use crate::rate::Rate;
use crate::rng::Rng;
use crate::time::{Duration, Instant};

/// Parameters that tc computes, with the adapted `max_P` (red_parms).
#[derive(Clone, Debug)]
pub struct Params {
    /// Lower threshold of the average, with `wlog` fractional bits.
    pub qth_min: u64,
    /// Upper threshold of the average, with `wlog` fractional bits.
    pub qth_max: u64,
    /// Lower bound of the range that adaptation aims at, without fractional bits.
    pub target_min: u64,
    /// Upper bound of that range.
    pub target_max: u64,
    /// Difference of the thresholds.
    pub qth_delta: u32,
    /// The weight of a new sample is 2⁻ʷˡᵒᵍ.
    pub wlog: u32,
    /// Maximum probability, in units of 2⁻³².
    pub max_p: u32,
    /// Divisor of random numbers: `max_p / qth_delta`.
    pub max_p_delta: u32,
}

/// Bits to shift the average by after an idle time (Scell_log, Stab).
#[derive(Clone, Debug)]
pub struct IdleTable {
    /// Logarithm to base 2 of a cell's duration in microseconds.
    pub scell_log: u32,
    /// Shift per cell, in bits.
    pub stab: [u8; 256],
}

/// Variables of the average (red_vars).
#[derive(Clone, Debug, Default)]
pub struct Vars {
    /// The average, with `wlog` fractional bits.
    pub qavg: u64,
    /// Packets since the random number was drawn; -1 outside the thresholds.
    pub qcount: i64,
    /// Random number that decides on the next drop.
    pub q_r: u32,
    /// Start of the idle time, if the queue is idle.
    pub qidlestart: Option<Instant>,
}

/// Decision that the average implies for an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Accept the packet.
    DontMark,
    /// Signal congestion: the packet was selected between the thresholds.
    ProbMark,
    /// Signal congestion: the average is above the upper threshold.
    HardMark,
}

impl Params {
    /// Parameters for thresholds `min` and `max`, in the same unit for tc and the average.
    pub fn new(min: u64, max: u64, wlog: u32, probability: f64) -> Self {
        Self::in_units(1, min, max, wlog, probability)
    }

    /// Parameters for thresholds that tc counts in a unit of 1/`unit` of the average's, as CHOKe's in bytes.
    pub fn in_units(unit: u64, min: u64, max: u64, wlog: u32, probability: f64) -> Self {
        let qth_delta = (max.saturating_sub(min) as u32).max(1);
        let max_p = max_p(probability, qth_delta as u64 * unit, qth_delta);
        let fifth = (qth_delta / 5) as u64;
        Self {
            qth_min: min << wlog,
            qth_max: max << wlog,
            target_min: min + 2 * fifth,
            target_max: min + 3 * fifth,
            qth_delta,
            wlog,
            max_p,
            max_p_delta: (max_p / qth_delta).max(1),
        }
    }

    /// Adaptation step (red_adaptative_algo). The bounds are checked before the step.
    pub fn adapt(&mut self, qavg: u64) {
        let qavg = qavg >> self.wlog;
        if qavg > self.target_max && self.max_p <= 50 * PERCENT {
            self.max_p += (self.max_p / 4).min(PERCENT);
        } else if qavg < self.target_min && self.max_p >= PERCENT {
            self.max_p = self.max_p / 10 * 9;
        }
        // Thresholds gigabytes apart, as for a delay of seconds at gigabits per second, wrap in 32 bits as in the
        // kernel.
        self.max_p_delta = (self.max_p.wrapping_add(self.qth_delta / 2) / self.qth_delta).max(1);
    }
}

impl Vars {
    /// Variables of an idle queue without any arrivals yet.
    pub fn new() -> Self {
        Self { qcount: -1, ..Self::default() }
    }

    /// Updates the average at an arrival that finds `backlog`; after an idle time the average only decays.
    pub fn average(&mut self, params: &Params, idle: &IdleTable, backlog: u64, now: Instant) {
        match self.qidlestart {
            None => self.sample(params, backlog),
            Some(_) => self.qavg = self.decayed(idle, now),
        }
        self.qidlestart = None;
    }

    /// Updates the average of a queue that is never idle (red_calc_qavg_no_idle_time).
    pub fn sample(&mut self, params: &Params, backlog: u64) {
        self.qavg = self.qavg - (self.qavg >> params.wlog) + backlog;
    }

    /// Average, decayed until `now` if the queue is idle.
    pub fn decayed(&self, idle: &IdleTable, now: Instant) -> u64 {
        let Some(start) = self.qidlestart else { return self.qavg };
        let IdleTable { scell_log, stab } = idle;
        // Scell_max has 32 bits.
        let us_idle = ((now - start).as_nanos() as u64 / 1000).min((255u32 << scell_log) as u64);
        match stab[(us_idle >> scell_log) as usize & 255] {
            0 => {
                let linear = self.qavg.wrapping_mul(us_idle) >> scell_log;
                if linear < self.qavg >> 1 { self.qavg - linear } else { self.qavg >> 1 }
            }
            shift => self.qavg >> shift,
        }
    }

    /// Marks the start of an idle time: the queue was found empty.
    pub fn fall_idle(&mut self, now: Instant) {
        self.qidlestart.get_or_insert(now);
    }

    /// red_action: the decision for an arriving packet.
    pub fn action(&mut self, params: &Params, rng: &mut Rng) -> Action {
        if self.qavg < params.qth_min {
            self.qcount = -1;
            Action::DontMark
        } else if self.qavg >= params.qth_max {
            self.qcount = -1;
            Action::HardMark
        } else {
            self.draw(params, rng)
        }
    }

    /// Exports the variables; the average in its own unit.
    pub fn observe(&self, params: &Params, see: &mut dyn FnMut(&'static str, f64)) {
        see("avg", self.qavg as f64 / (1u64 << params.wlog) as f64);
        see("count", self.qcount as f64);
        see("qR", self.q_r as f64);
    }

    /// Between the thresholds: selects packets with uniform spacing.
    pub fn draw(&mut self, params: &Params, rng: &mut Rng) -> Action {
        self.qcount += 1;
        if self.qcount == 0 {
            self.q_r = random(params, rng);
            return Action::DontMark;
        }
        // red_mark_probability: compares products, so no division per packet is needed.
        let above = (self.qavg - params.qth_min) >> params.wlog;
        if above * (self.qcount as u64) < self.q_r as u64 {
            return Action::DontMark;
        }
        self.qcount = 0;
        self.q_r = random(params, rng);
        Action::ProbMark
    }
}

/// 32 random bits in units of the maximum probability over the difference of the thresholds (red_random).
fn random(params: &Params, rng: &mut Rng) -> u32 {
    random32(rng) / params.max_p_delta
}

/// 32 random bits of the kernel: the upper half of the stream's word.
pub fn random32(rng: &mut Rng) -> u32 {
    (rng.next_u64() >> 32) as u32
}

/// State of a queue under Linux's RED.
#[derive(Clone, Debug)]
pub(super) struct LinuxRed {
    pub(super) params: Params,
    idle: IdleTable,
    pub(super) vars: Vars,
    ecn: bool,
    harddrop: bool,
    nodrop: bool,
    adaptive: bool,
    interval: Duration,
    next_update: Instant,
}

impl LinuxRed {
    pub(super) fn new(config: &Config, limits: &Limits, link: Link) -> Self {
        let (min, max) = thresholds(config, limits, link);
        let Bytes(avpkt) = config.avpkt;
        // tc refuses thresholds without a valid weight; thresholds derived from the link cannot be refused, so use the
        // fastest average.
        let wlog = wlog(min, config.burst(min, max), avpkt).unwrap_or(1);
        let bandwidth = if config.bandwidth.as_bps() > 0 { config.bandwidth } else { link.rate };
        Self {
            params: Params::new(min, max, wlog, config.probability),
            idle: IdleTable::new(wlog, avpkt, bandwidth),
            vars: Vars { qidlestart: Some(Instant::ZERO), ..Vars::new() },
            ecn: config.ecn,
            harddrop: config.harddrop,
            nodrop: config.nodrop,
            adaptive: config.adaptive == AdaptiveMode::Aimd,
            interval: config.interval,
            next_update: Instant::ZERO + config.interval,
        }
    }

    /// `red_change` as called by tc, with a limit: an idle new queue, `red_set_vars`, and a restart of the adaptation
    /// timer.
    pub(super) fn restart(&mut self, now: Instant) {
        self.vars = Vars { qidlestart: Some(now), ..Vars::new() };
        self.next_update = now + self.interval;
    }

    /// Judges a packet that finds `backlog`.
    pub(super) fn arrive(&mut self, cx: &mut Cx, meta: &Meta, backlog: Backlog) -> Verdict {
        self.vars.average(&self.params, &self.idle, backlog.bytes, cx.now);
        let mark = match self.vars.action(&self.params, cx.rng) {
            Action::DontMark => return Verdict::Accept,
            Action::ProbMark => self.ecn,
            Action::HardMark => self.ecn && !self.harddrop,
        };
        match (mark, meta.ecn.is_ect()) {
            (true, true) => Verdict::Mark,
            (true, false) if self.nodrop => Verdict::Accept,
            _ => Verdict::Drop,
        }
    }

    pub(super) fn fall_idle(&mut self, now: Instant) {
        self.vars.fall_idle(now);
    }

    /// The timer runs from the host's origin on, with or without traffic.
    pub(super) fn next_update(&self) -> Option<Instant> {
        self.adaptive.then_some(self.next_update)
    }

    pub(super) fn update(&mut self, at: Instant) {
        self.next_update = at + self.interval;
        self.params.adapt(self.vars.decayed(&self.idle, at));
    }

    pub(super) fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.vars.observe(&self.params, see);
        see("max_p", self.params.max_p as f64 / TWO_TO_32);
    }
}

impl IdleTable {
    /// Table that tc computes for packets of `avpkt` bytes at `bandwidth`.
    pub fn new(wlog: u32, avpkt: u64, bandwidth: Rate) -> Self {
        let (stab, scell_log) = idle_damping(wlog, avpkt, bandwidth);
        Self { scell_log, stab }
    }
}

pub(super) fn thresholds(config: &Config, limits: &Limits, link: Link) -> (u64, u64) {
    if let Some(given) = config.given_thresholds() {
        return given;
    }
    if config.target > Duration::ZERO {
        // Khademi et al. 2013: 0.5 and 1.5 times the target queue, at least 1 and 2 MTU.
        let (queue, mtu) = (link.rate.bytes_in(config.target), link.mtu as u64);
        return ((queue / 2).max(mtu), (3 * queue / 2).max(2 * mtu));
    }
    let max = limit_bytes(limits, link) / 4;
    (max / 3, max)
}

/// Limit of the queue in bytes; tc requires one, and 1000 packets are usual.
fn limit_bytes(limits: &Limits, link: Link) -> u64 {
    let packets = |n: u32| n as u64 * link.mtu as u64;
    let in_time = limits.time.map(|time| link.rate.bytes_in(time));
    let all = [limits.bytes, in_time, limits.packets.map(packets)];
    all.into_iter().flatten().min().unwrap_or(packets(1000))
}

const TWO_TO_32: f64 = (1u64 << 32) as f64;
/// Probability 0.01, rounded (RED_ONE_PERCENT).
const PERCENT: u32 = 42_949_673;

#[cfg(test)]
mod tests;
