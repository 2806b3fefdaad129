//! Parameters of DualPI2, and its versions as sets of parameters.

use crate::limits::Limits;
use crate::link::Link;
use crate::params::{self, Bytes, ConfigError, Value};
use crate::time::Duration;
use crate::{choice, config};
use alloc::format;

config! {
    /// DualPI2's configuration; the default is RFC 9332. Names are those of tc-dualpi2.
    pub struct Config {
        /// Maximum packets in both queues; the host's own limit applies as well.
        limit: u64 = 10_000, in Value::Count(1) => Value::Count(1_000_000_000);
        /// Maximum bytes in both queues; zero is twice the packet limit times the link's largest packet. Linux counts
        /// the memory of its skbs, here packet sizes count (linux).
        memlimit: Bytes = Bytes(0), in Value::Bytes(0) => Value::Bytes(u32::MAX as u64);
        /// Target delay of the controller.
        target: Duration = Duration::from_millis(15), in MICROSECOND => MINUTE;
        /// Update interval of the probability (Tupdate).
        tupdate: Duration = Duration::from_millis(15), in Value::Time(Duration::from_micros(100)) => MINUTE;
        /// Gain of the deviation from the target, per second; linux rounds down to 1/256, tc's unit.
        alpha: f64 = 0.15, in Value::Number(0.0) => Value::Number(1000.0);
        /// Gain of the delay's change between two updates, per second; linux rounds down to 1/256, tc's unit.
        beta: f64 = 3.0, in Value::Number(0.0) => Value::Number(1000.0);
        /// Maximum expected round-trip time: sets target, tupdate, alpha and beta as tc does; zero leaves these as
        /// given (linux).
        max_rtt: Duration = Duration::ZERO, in Value::Time(Duration::ZERO) => MINUTE;
        /// Typical round-trip time, used with max_rtt; zero is a sixth of that (linux).
        typical_rtt: Duration = Duration::ZERO, in Value::Time(Duration::ZERO) => MINUTE;
        /// Creation time of the queue on the host's clock: the first update is due `tupdate` later (linux).
        created: Duration = Duration::ZERO, in Value::Time(Duration::ZERO) => Value::Time(Duration::from_secs(1_000_000_000));
        /// Coupling factor k, the ratio of p' for L4S packets to p'; a whole number in linux.
        coupling_factor: f64 = 2.0, in Value::Number(0.01) => Value::Number(255.0);
        /// Sojourn time above which the L4S queue marks its packets itself (minTh).
        step_thresh: Duration = Duration::from_micros(800), in Value::Time(Duration::ZERO) => MINUTE;
        /// Sojourn time, added to step_thresh, over which the probability of these marks rises to 1 (range); zero is a
        /// step.
        ramp: Duration = Duration::from_micros(400), in Value::Time(Duration::ZERO) => MINUTE;
        /// Marks by the length of the L4S queue instead: when more packets than this stay behind. Zero: by sojourn
        /// time.
        step_packets: u64 = 0, in Value::Count(0) => Value::Count(1_000_000);
        /// Minimum length of the L4S queue in packets for its own marks: counted at an arrival (linux), or behind a
        /// departing packet.
        min_qlen_step: u64 = 0, in Value::Count(0) => Value::Count(1_000_000);
        /// Backlog of both queues, in packets of the link's largest size, below which p' has no effect; always two in
        /// linux.
        min_backlog: u64 = 0, in Value::Count(0) => Value::Count(1_000_000);
        /// Drops when k times p' exceeds one; otherwise p' is capped there, and ECN-capable packets are always marked.
        drop_on_overload: bool = true, in Value::Flag(false) => Value::Flag(true);
        /// Splits GSO super-packets into their segments.
        split_gso: bool = true, in Value::Flag(false) => Value::Flag(true);
        /// Applies p' on arrival (tc's drop_enqueue) instead of on departure.
        drop_enqueue: bool = false, in Value::Flag(false) => Value::Flag(true);
        /// Packets that join the L4S queue.
        classify: Classification = Classification::L4sEct, in WORD => WORD, choices Classification::WORDS;
        /// Scheduler, which chooses the queue to serve when both have packets.
        scheduler: Scheduler = Scheduler::Wrr, in WORD => WORD, choices Scheduler::WORDS;
        /// wrr: share of the bytes that the classic queue gets, in percent.
        classic_protection: u64 = 10, in Value::Count(0) => Value::Count(100);
        /// ts-fifo: head start of an L4S packet over a classic packet that arrived at the same time.
        tshift: Duration = Duration::from_millis(30), in Value::Time(Duration::ZERO) => MINUTE;
        /// Selection of packets at a given probability; always at random in linux.
        marking: Marking = Marking::Recur, in WORD => WORD, choices Marking::WORDS;
        /// Version of the algorithm; each has its profile and refuses parameters that it lacks.
        version: Version = Version::Rfc9332, in WORD => WORD, choices Version::WORDS;
    }
    profiles {
        "rfc9332", "RFC 9332 (2023), Appendix A: a ramp in the L4S queue, evenly spaced marks" => |_| {};
        "linux", "Linux since 6.17, in its integers: a step at 1 ms, random marks, none below a backlog of two packets" => linux;
    }
    validate validate
}

choice! {
    /// Published algorithm or implementation to follow.
    pub enum Version {
        /// RFC 9332, in floating point.
        Rfc9332 = "rfc9332",
        /// Linux, in its integer arithmetic.
        Linux = "linux",
    }
}

choice! {
    /// Packets that join the L4S queue.
    pub enum Classification {
        /// ECT(1) and CE packets.
        L4sEct = "l4s-ect",
        /// All ECN-capable packets.
        AnyEct = "any-ect",
    }
}

choice! {
    /// Queue to serve if both have packets.
    pub enum Scheduler {
        /// The L4S queue, except for a share of the bytes (weighted round robin by credit).
        Wrr = "wrr",
        /// The queue whose head arrived first, with a head start for L4S packets (time-shifted FIFO).
        TsFifo = "ts-fifo",
    }
}

choice! {
    /// Selection of packets at a given probability.
    pub enum Marking {
        /// Probabilities add up, and a packet is selected when the sum exceeds one (recur).
        Recur = "recur",
        /// At random; with p'² by two draws.
        Random = "random",
    }
}

fn linux(c: &mut Config) {
    c.version = Version::Linux;
    c.tupdate = Duration::from_millis(16);
    c.alpha = 41.0 / GAIN_UNITS;
    c.beta = 819.0 / GAIN_UNITS;
    c.step_thresh = Duration::from_millis(1);
    c.ramp = Duration::ZERO;
    c.min_backlog = 2;
    c.marking = Marking::Random;
}

/// Parameters of the controller of p' as tc sends them to Linux: whole microseconds, gains in 1/256 per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ControllerParams {
    pub target_us: u64,
    pub tupdate_us: u64,
    pub alpha: u32,
    pub beta: u32,
}

impl Config {
    /// Limits of both queues together, within the host's limits.
    pub(crate) fn within(&self, limits: Limits, link: Link) -> Limits {
        let limits = limits.with_packets(self.limit as u32);
        if self.version != Version::Linux {
            return limits;
        }
        // get_memory_limit of sch_dualpi2.c: saturates at 32 bits.
        let usual = (self.limit * 2 * link.mtu as u64).min(u32::MAX as u64);
        limits.with_bytes(if self.memlimit.0 > 0 { self.memlimit.0 } else { usual })
    }

    /// Controller parameters that tc computes (q_dualpi2.c).
    pub(super) fn controller_params(&self) -> ControllerParams {
        let micros = |span: Duration| (span.as_nanos() / 1000) as u64;
        if !self.follows_rtt() {
            let units = |gain: f64| (gain as f32 * GAIN_UNITS as f32) as u32;
            let (target_us, tupdate_us) = (micros(self.target), micros(self.tupdate));
            return ControllerParams { target_us, tupdate_us, alpha: units(self.alpha), beta: units(self.beta) };
        }
        let (mut max, mut typical) = (micros(self.max_rtt), micros(self.typical_rtt));
        if typical == 0 {
            typical = (max / TYPICAL_TO_MAX).max(1);
        } else if max == 0 {
            max = typical * TYPICAL_TO_MAX;
        }
        let (rtt, third) = (max as f64, max as f64 / 3.0);
        let tupdate_us = (if (typical as f64) < third { typical } else { third as u64 }).max(1);
        let alpha = tupdate_us as f64 / rtt / rtt * MICROS_PER_S * 0.1f32 as f64;
        let beta = 0.3f32 as f64 / rtt * MICROS_PER_S;
        let units = |gain: f64| (gain * GAIN_UNITS) as u32;
        ControllerParams { target_us: typical, tupdate_us, alpha: units(alpha), beta: units(beta) }
    }

    fn follows_rtt(&self) -> bool {
        self.max_rtt > Duration::ZERO || self.typical_rtt > Duration::ZERO
    }
}

fn validate(c: &Config) -> Result<(), ConfigError> {
    let (version, lacks): (_, &[&str]) = match c.version {
        Version::Rfc9332 => ("rfc9332", &["memlimit", "max_rtt", "typical_rtt", "created"]),
        Version::Linux => ("linux", &["ramp", "min_backlog", "scheduler", "tshift", "marking"]),
    };
    params::refuse_unsupported(c, "DualPI2", version, |param| !lacks.contains(&param))?;
    if c.version == Version::Linux { validate_linux(c) } else { Ok(()) }
}

fn validate_linux(c: &Config) -> Result<(), ConfigError> {
    if c.coupling_factor < 1.0 || c.coupling_factor % 1.0 != 0.0 {
        let k = c.coupling_factor;
        return Err(format!(
            "coupling_factor ({k}) must be a whole number in version linux; write e.g. coupling_factor 2"
        )
        .into());
    }
    let rtts = (c.typical_rtt, c.max_rtt);
    if c.follows_rtt() {
        let plain = <Config as params::Config>::profile("linux").expect("it is a profile");
        let follows = ["target", "tupdate", "alpha", "beta"];
        let set = |name: &&str| params::Config::value(c, name) != params::Config::value(&plain, name);
        if let Some(name) = follows.into_iter().find(set) {
            return Err(format!("{name} follows from max_rtt and typical_rtt; leave one of them out").into());
        }
        if rtts.1 > Duration::ZERO && rtts.0 > rtts.1 {
            let (typical, max) = rtts;
            return Err(format!(
                "typical_rtt ({typical}) must not exceed max_rtt ({max}); write e.g. typical_rtt 16ms max_rtt 100ms"
            )
            .into());
        }
    }
    let ControllerParams { alpha, beta, .. } = c.controller_params();
    for (name, gain, units, write) in [("alpha", c.alpha, alpha, 0.16), ("beta", c.beta, beta, 3.2)] {
        match (units, c.follows_rtt()) {
            (0, true) => {
                return Err(format!(
                    "max_rtt makes {name} round to 0 in tc's unit of 1/256 per second; write e.g. max_rtt 100ms"
                )
                .into());
            }
            (0, false) => {
                return Err(format!(
                    "{name} ({gain}) rounds to 0 in tc's unit of 1/256 per second; write e.g. {name} {write}"
                )
                .into());
            }
            _ => {}
        }
    }
    Ok(())
}

/// tc's unit of gains: one per second is this many units.
const GAIN_UNITS: f64 = 256.0;
/// RTT_TYP_TO_MAX of tc.
const TYPICAL_TO_MAX: u64 = 6;
const MICROS_PER_S: f64 = 1e6;
const MICROSECOND: Value = Value::Time(Duration::from_micros(1));
const MINUTE: Value = Value::Time(Duration::from_secs(60));
/// A choice has no numeric range, only its keywords.
const WORD: Value = Value::Choice("");
