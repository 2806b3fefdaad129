//! PIE, Proportional Integral controller Enhanced: drops arrivals with a probability `p` that a controller steers
//! by the queueing delay (R. Pan et al., HPSR 2013; draft-ietf-aqm-pie-00; RFC 8033).
//!
//! Names and order are those of RFC 8033, Appendix A. Two mends of the draft's pseudocode follow
//! Schwarzkopf et al. 2016, II.C: `accu_prob` starts again at each drop, and `p` stays within [0, 1].

use crate::aqm::{Aqm, Backlog, Cx, Fifo, Link, Popped, Verdict};
use crate::limits::Limits;
use crate::packet::Meta;
use crate::params::{Bytes, Value};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::{choice, config};

config! {
    /// PIE's configuration; the default is RFC 8033.
    pub struct Config {
        /// The delay that the controller steers to (QDELAY_REF).
        target: Duration = Duration::from_millis(15), in MICROSECOND => MINUTE;
        /// How often the drop probability is updated (T_UPDATE).
        tupdate: Duration = Duration::from_millis(15), in Value::Time(Duration::from_micros(100)) => MINUTE;
        /// Gain of the deviation from the target, per second.
        alpha: f64 = 0.125, in Value::Number(0.0) => Value::Number(1000.0);
        /// Gain of the delay's change between two updates, per second.
        beta: f64 = 1.25, in Value::Number(0.0) => Value::Number(1000.0);
        /// How long nothing is dropped after the queue becomes busy (MAX_BURST).
        max_burst: Duration = Duration::from_millis(150), in Value::Time(Duration::ZERO) => MINUTE;
        /// Marks ECN-capable packets instead of dropping them while p is below mark_ecnth.
        ecn: bool = false, in Value::Flag(false) => Value::Flag(true);
        /// The drop probability from which on also ECN-capable packets are dropped.
        mark_ecnth: f64 = 0.1, in Value::Number(0.0) => Value::Number(1.0);
        /// Spaces drops more evenly: none before the accumulated probability is 0.85, one for sure at 8.5.
        derandomise: bool = true, in Value::Flag(false) => Value::Flag(true);
        /// When the control is on; a queue without limits is always controlled.
        activation: Activation = Activation::OnOff, in WORD => WORD, choices Activation::WORDS;
        /// Bytes whose departure is timed for the estimate of the departure rate (DQ_THRESHOLD).
        dq_threshold: Bytes = Bytes(1 << 14), in Value::Bytes(1) => Value::Bytes(1 << 30);
        /// A packet's typical size (MEAN_PKTSIZE): at a backlog of two or less nothing is dropped.
        mean_pktsize: Bytes = Bytes(1024), in Value::Bytes(0) => Value::Bytes(1 << 20);
        /// The damping of changes of p while p is small.
        scaling: Scaling = Scaling::SevenLevels, in WORD => WORD, choices Scaling::WORDS;
        /// The largest increase of p per update where p is at least 0.1.
        cap: f64 = 0.02, in Value::Number(0.0) => Value::Number(1.0);
        /// The delay above which p grows by another 0.02 per update; zero switches the rule off.
        high_delay: Duration = Duration::from_millis(250), in Value::Time(Duration::ZERO) => MINUTE;
        /// When p decays by itself.
        decay: Decay = Decay::Empty, in WORD => WORD, choices Decay::WORDS;
    }
    profiles {
        "rfc8033", "RFC 8033 (2017)" => |_| {};
        "draft00", "draft-ietf-aqm-pie-00 (2014) with the mends of Schwarzkopf et al. 2016" => draft00;
    }
    validate |_| Ok(())
}

choice! {
    /// How much changes of `p` are damped while it is small.
    pub enum Scaling {
        /// By 32, 8 and 2 below 0.1 %, 1 % and 10 %.
        FourLevels = "four-levels",
        /// By 2048, 512, 128, 32, 8 and 2 below 0.0001 %, 0.001 %, … and 10 %.
        SevenLevels = "seven-levels",
    }
}

choice! {
    /// When the control is on.
    pub enum Activation {
        /// On when a third of the buffer is in use, off when congestion is over.
        OnOff = "on-off",
        /// On from when a third of the buffer is in use for the first time.
        Once = "once",
        /// On from the first packet.
        Always = "always",
    }
}

choice! {
    /// When `p` decays by itself.
    pub enum Decay {
        /// By 1/64 per update while both delays are zero.
        Empty = "empty",
        /// By 2 % per update while both delays are below half the target.
        Short = "short",
    }
}

/// A PIE-managed queue's state. Delays are in seconds.
#[derive(Clone, Debug)]
pub struct Pie {
    config: Config,
    target: f64,
    /// The backlog beyond which the control is switched on.
    third: Third,
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
    /// Average time in which `dq_threshold` bytes depart; zero before the first measurement.
    avg_dq_time: f64,
    next_update: Instant,
}

impl Pie {
    /// An idle queue's state.
    pub fn new(config: &Config) -> Self {
        Self {
            target: config.target.as_secs_f64(),
            third: Third::default(),
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
        // Updates are due at the multiples of t_update; those while inactive would do nothing.
        let period = self.config.tupdate.as_nanos() as u64;
        self.next_update = Instant::from_nanos((now.as_nanos() / period + 1) * period);
    }

    /// Once congestion is over, bursts are allowed again, and an empty queue needs no control.
    fn rest_if_quiet(&mut self, backlog: Backlog) {
        let half = self.target / 2.0;
        if self.p > 0.0 || self.qdelay >= half || self.qdelay_old >= half {
            return;
        }
        self.burst_allowance = self.config.max_burst;
        if backlog.packets == 0 && self.config.activation == Activation::OnOff {
            self.active = false;
        }
    }

    /// Whether the arriving packet is to be dropped, `bytes` being queued.
    fn drop_early(&mut self, bytes: u64, rng: &mut Rng) -> bool {
        if self.qdelay_old < self.target / 2.0 && self.p < 0.2 || bytes <= 2 * self.config.mean_pktsize.0 {
            return false;
        }
        if self.p == 0.0 {
            self.accu_prob = 0.0;
        }
        self.accu_prob += self.p;
        if self.config.derandomise {
            if self.accu_prob < 0.85 {
                return false;
            }
            // The draft has "> 8.5"; the rounding of the sum decides before the comparison does.
            if self.accu_prob >= 8.5 {
                return true;
            }
        }
        rng.uniform() < self.p
    }

    /// Times the departure of `dq_threshold` bytes; `backlog` is what the packet of `len` bytes leaves behind.
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

impl Aqm for Pie {
    fn attach(&mut self, limits: &Limits, link: Link) {
        self.third = Third::of(limits, link);
    }

    fn enqueue<Q: Fifo>(&mut self, cx: &mut Cx, meta: &Meta, queue: &mut Q) -> Verdict {
        let bytes = queue.bytes();
        if self.active && self.burst_allowance == Duration::ZERO && self.drop_early(bytes, cx.rng) {
            // A mark is as good a signal as a drop: the spacing starts again with both.
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

    fn dequeue<Q: Fifo>(&mut self, cx: &mut Cx, queue: &mut Q) -> Option<Popped> {
        let popped = queue.pop()?;
        if self.active {
            self.measure(cx.now, popped.meta.len, queue.bytes());
        }
        Some(popped)
    }

    fn next_update(&self) -> Option<Instant> {
        self.active.then_some(self.next_update)
    }

    fn update(&mut self, at: Instant, cx: &mut Cx) {
        self.next_update = at + self.config.tupdate;
        // Little's law; the departure rate is dq_threshold / avg_dq_time.
        self.qdelay = cx.total_backlog.bytes as f64 * self.avg_dq_time / self.config.dq_threshold.0 as f64;
        self.p = updated_probability(&self.config, self.p, self.qdelay, self.qdelay_old);
        self.burst_allowance = (self.burst_allowance - self.config.tupdate).max(Duration::ZERO);
        self.rest_if_quiet(cx.total_backlog);
        self.qdelay_old = self.qdelay;
    }

    fn overflowed(&mut self, _: &mut Cx, _: &Meta) {
        self.accu_prob = 0.0;
    }

    fn emptied(&mut self, _: &mut Cx) {
        self.rest_if_quiet(Backlog::default());
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

/// The drop probability after an update, from the one before and the delays (s) now and at the last update.
pub fn updated_probability(config: &Config, p: f64, qdelay: f64, qdelay_old: f64) -> f64 {
    let target = config.target.as_secs_f64();
    let mut delta = config.alpha * (qdelay - target) + config.beta * (qdelay - qdelay_old);
    delta /= config.scaling.divisor(p);
    if p >= 0.1 {
        delta = delta.min(config.cap);
    }
    if config.high_delay > Duration::ZERO && qdelay > config.high_delay.as_secs_f64() {
        delta += 0.02;
    }
    let p = p + delta;
    let p = match config.decay {
        Decay::Empty if qdelay == 0.0 && qdelay_old == 0.0 => p * (1.0 - 1.0 / 64.0),
        Decay::Short if qdelay < target / 2.0 && qdelay_old < target / 2.0 => p * 0.98,
        Decay::Empty | Decay::Short => p,
    };
    p.clamp(0.0, 1.0)
}

impl Scaling {
    /// What changes of `p` are divided by.
    fn divisor(self, p: f64) -> f64 {
        const LEVELS: [(f64, f64); 6] =
            [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
        let levels = match self {
            Self::FourLevels => &LEVELS[3..],
            Self::SevenLevels => &LEVELS[..],
        };
        levels.iter().find(|&&(below, _)| p < below).map_or(1.0, |&(_, divisor)| divisor)
    }
}

/// A third of each limit; without a limit nothing, which every backlog exceeds.
#[derive(Clone, Copy, Debug, Default)]
struct Third {
    packets: Option<u32>,
    bytes: Option<u64>,
}

impl Third {
    fn of(limits: &Limits, link: Link) -> Self {
        let in_time = limits.time.map(|time| link.rate.bytes_in(time));
        let bytes = [limits.bytes, in_time].into_iter().flatten().min();
        Self { packets: limits.packets.map(|n| n / 3), bytes: bytes.map(|n| n / 3) }
    }

    fn is_exceeded_by(&self, backlog: Backlog) -> bool {
        let unlimited = self.packets.is_none() && self.bytes.is_none();
        unlimited || self.packets.is_some_and(|n| backlog.packets > n) || self.bytes.is_some_and(|n| backlog.bytes > n)
    }
}

fn draft00(c: &mut Config) {
    c.target = Duration::from_millis(16);
    c.tupdate = Duration::from_millis(16);
    c.max_burst = Duration::from_millis(100);
    // Schwarzkopf et al. 2016, II.C: in their runs PIE is never switched off, although the queue runs empty.
    c.activation = Activation::Once;
    // Differs from later texts: the rule is not in the draft's.
    c.high_delay = Duration::ZERO;
}

const MICROSECOND: Value = Value::Time(Duration::from_micros(1));
const MINUTE: Value = Value::Time(Duration::from_secs(60));
/// The range of a choice is its words.
const WORD: Value = Value::Choice("");

#[cfg(test)]
mod tests;
