//! RED as Linux has it (`include/net/red.h`, `sch_red.c` of 6.1), and the parameters that tc makes for it.
//!
//! Its average is an integer with `Wlog` fractional bits, of bytes for RED and of packets for CHOKe.

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

/// What tc makes of its words, and what adaptation makes of `max_P` (red_parms).
#[derive(Clone, Debug)]
pub struct Params {
    /// Thresholds of the average, with `wlog` fractional bits.
    pub qth_min: u64,
    /// See [`Params::qth_min`].
    pub qth_max: u64,
    /// The range that adaptation aims at, without fractional bits.
    pub target_min: u64,
    /// See [`Params::target_min`].
    pub target_max: u64,
    /// Distance of the thresholds.
    pub qth_delta: u32,
    /// The weight of a new sample is 2⁻ʷˡᵒᵍ.
    pub wlog: u32,
    /// The greatest probability, in units of 2⁻³².
    pub max_p: u32,
    /// What a random number is divided by: `max_p / qth_delta`.
    pub max_p_delta: u32,
}

/// By how many bits the average is shifted after a pause (Scell_log, Stab).
#[derive(Clone, Debug)]
pub struct IdleTable {
    /// A cell covers 2 to the power of this microseconds.
    pub scell_log: u32,
    /// Bits by cell.
    pub stab: [u8; 256],
}

/// The variables (red_vars).
#[derive(Clone, Debug, Default)]
pub struct Vars {
    /// The average, with `wlog` fractional bits.
    pub qavg: u64,
    /// Packets since the random number was drawn; -1 outside the thresholds.
    pub qcount: i64,
    /// The random number that decides on the next drop.
    pub q_r: u32,
    /// Since when there is nothing to send.
    pub qidlestart: Option<Instant>,
}

/// What the average says about an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    DontMark,
    /// It was drawn between the thresholds.
    ProbMark,
    /// The average is beyond the upper one.
    HardMark,
}

impl Params {
    /// Parameters for thresholds `min` and `max` in the unit of the average, which is that of tc's thresholds.
    pub fn new(min: u64, max: u64, wlog: u32, probability: f64) -> Self {
        Self::in_units(1, min, max, wlog, probability)
    }

    /// The same where tc counts the thresholds in `unit` times smaller ones, as CHOKe's in bytes.
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

    /// A step of adaptation (red_adaptative_algo). The bounds are looked at before the step.
    pub fn adapt(&mut self, qavg: u64) {
        let qavg = qavg >> self.wlog;
        if qavg > self.target_max && self.max_p <= 50 * PERCENT {
            self.max_p += (self.max_p / 4).min(PERCENT);
        } else if qavg < self.target_min && self.max_p >= PERCENT {
            self.max_p = self.max_p / 10 * 9;
        }
        // Thresholds gigabytes apart, as of a delay of seconds at gigabits a second: the kernel's 32 bits wrap.
        self.max_p_delta = (self.max_p.wrapping_add(self.qth_delta / 2) / self.qth_delta).max(1);
    }
}

impl Vars {
    /// An idle queue's, of which nothing has been asked yet.
    pub fn new() -> Self {
        Self { qcount: -1, ..Self::default() }
    }

    /// An arrival finds `backlog`: the average moves, or decays if there was nothing to send.
    pub fn average(&mut self, params: &Params, idle: &IdleTable, backlog: u64, now: Instant) {
        match self.qidlestart {
            None => self.sample(params, backlog),
            Some(_) => self.qavg = self.decayed(idle, now),
        }
        self.qidlestart = None;
    }

    /// An arrival finds `backlog` at a queue that is never idle (red_calc_qavg_no_idle_time).
    pub fn sample(&mut self, params: &Params, backlog: u64) {
        self.qavg = self.qavg - (self.qavg >> params.wlog) + backlog;
    }

    /// The average as it has decayed by `now`, if the queue is idle.
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

    /// The queue was found empty.
    pub fn fall_idle(&mut self, now: Instant) {
        self.qidlestart.get_or_insert(now);
    }

    /// What the average says (red_action).
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

    /// Shows the variables: the average in its own unit.
    pub fn observe(&self, params: &Params, see: &mut dyn FnMut(&'static str, f64)) {
        see("avg", self.qavg as f64 / (1u64 << params.wlog) as f64);
        see("count", self.qcount as f64);
        see("qR", self.q_r as f64);
    }

    /// Between the thresholds: a packet is drawn so that the spacing is uniform.
    pub fn draw(&mut self, params: &Params, rng: &mut Rng) -> Action {
        self.qcount += 1;
        if self.qcount == 0 {
            self.q_r = random(params, rng);
            return Action::DontMark;
        }
        let above = (self.qavg - params.qth_min) >> params.wlog;
        if above * (self.qcount as u64) < self.q_r as u64 {
            return Action::DontMark;
        }
        self.qcount = 0;
        self.q_r = random(params, rng);
        Action::ProbMark
    }
}

/// 32 random bits in units of the greatest probability over the distance of the thresholds (red_random).
fn random(params: &Params, rng: &mut Rng) -> u32 {
    random32(rng) / params.max_p_delta
}

/// The kernel's 32 random bits: the upper half of the stream's word.
pub fn random32(rng: &mut Rng) -> u32 {
    (rng.next_u64() >> 32) as u32
}

/// A queue under Linux's RED.
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
        // tc refuses thresholds for which there is no weight; those of a link cannot be refused, so follow the queue.
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

    /// `red_change` as tc calls it, with a limit: a new queue, which is idle, and `red_set_vars`; adaptation's timer starts.
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

    /// The timer runs from the host's origin on, whether there is traffic or not.
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
    /// The table that tc makes for packets of `avpkt` bytes at `bandwidth`.
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
        // Khademi et al. 2013: 0.5 and 1.5 times the target queue, and 1 and 2 MTU for the smallest one.
        let (queue, mtu) = (link.rate.bytes_in(config.target), link.mtu as u64);
        return ((queue / 2).max(mtu), (3 * queue / 2).max(2 * mtu));
    }
    let max = limit_bytes(limits, link) / 4;
    (max / 3, max)
}

/// The queue's limit in bytes; tc demands one, and a thousand packets is the usual.
fn limit_bytes(limits: &Limits, link: Link) -> u64 {
    let packets = |n: u32| n as u64 * link.mtu as u64;
    let in_time = limits.time.map(|time| link.rate.bytes_in(time));
    let all = [limits.bytes, in_time, limits.packets.map(packets)];
    all.into_iter().flatten().min().unwrap_or(packets(1000))
}

const TWO_TO_32: f64 = (1u64 << 32) as f64;
/// A hundredth of the probability 1, rounded (RED_ONE_PERCENT).
const PERCENT: u32 = 42_949_673;

#[cfg(test)]
mod tests;
