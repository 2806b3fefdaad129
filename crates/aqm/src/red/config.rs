//! Parameters of RED: those of ns-2 and of tc share a name if they mean the same.

use super::tc::{check_burst, wlog};
use crate::error::ConfigError;
use crate::limits::Limits;
use crate::link::Link;
use crate::params::{Bytes, Value};
use crate::rate::Rate;
use crate::time::Duration;
use crate::{choice, config};
use alloc::format;

config! {
    /// RED's configuration; the default is that of ns-2.35 (ns-default.tcl), with its automatic thresholds and weight.
    pub struct Config {
        /// Average backlog above which packets are dropped (thresh, min). Zero: ns-2 takes half of the bytes that the
        /// link carries in target, at least 5 packets of avpkt; tc a third of max, or half of target if that is set.
        min: Bytes = Bytes(0), in Value::Bytes(0) => Value::Bytes(1 << 30);
        /// Average backlog of the maximum probability (maxthresh, max). Zero: three times min; for tc without min a
        /// quarter of the queue's limit, or 1.5 times target if that is set.
        max: Bytes = Bytes(0), in Value::Bytes(0) => Value::Bytes(1 << 30);
        /// Queueing delay from which min and max follow if they are zero (targetdelay). Linux's arithmetic uses the
        /// mapping of Khademi et al. 2013: 0.5 and 1.5 times the bytes of the link in it, at least one and two MTU;
        /// zero: tc's rules.
        target: Duration = Duration::from_millis(5), in Value::Time(Duration::ZERO) => Value::Time(Duration::from_secs(10));
        /// Mean packet size (mean_pktsize).
        avpkt: Bytes = Bytes(500), in Value::Bytes(1) => Value::Bytes(1 << 20);
        /// Rate at which packets are assumed to leave during an idle time; zero is the link's rate.
        bandwidth: Rate = Rate::from_bps(0), in Value::Rate(Rate::from_bps(0)) => Value::Rate(Rate::from_bps(1_000_000_000_000));
        /// Maximum probability below max (1/linterm, max_p); if adaptive, the initial one.
        probability: f64 = 0.1, in Value::Number(1e-6) => Value::Number(1.0);
        /// Marks ECN-capable packets instead of dropping them.
        ecn: bool = false, in Value::Flag(false) => Value::Flag(true);
        /// Arithmetic: of ns-2 or of Linux.
        arithmetic: Arithmetic = Arithmetic::Ns2, in WORD => WORD, choices Arithmetic::WORDS;
        /// Adapts the probability so that the average stays halfway between min and max.
        adaptive: AdaptiveMode = AdaptiveMode::Off, in WORD => WORD, choices AdaptiveMode::WORDS;
        /// Minimum time between two steps of the probability; in Linux the period of a timer.
        interval: Duration = Duration::from_millis(500), in Value::Time(Duration::from_millis(1)) => Value::Time(Duration::from_secs(60));
        /// ns2: increment of the probability with aimd, at most a quarter of it; divisor with mimd.
        alpha: f64 = 0.01, in Value::Number(0.0) => Value::Number(100.0);
        /// ns2: factor of the probability with aimd and mimd.
        beta: f64 = 0.9, in Value::Number(0.0) => Value::Number(100.0);
        /// ns2: aimd raises the probability only below this value.
        top: f64 = 0.5, in Value::Number(0.0) => Value::Number(1.0);
        /// ns2: aimd lowers the probability only above this value. Zero: 0.01, or 80 kbit/s over the link's rate if
        /// less.
        bottom: f64 = 0.0, in Value::Number(0.0) => Value::Number(1.0);
        /// ns2: weight of a new sample in the average (q_weight). 0: 1 - exp(-1/C), C in packets of avpkt per second;
        /// -1: 1 - exp(-1/(10 RTT C)), with an RTT of 100 ms, or three times the link's delay and a packet's time; -2:
        /// 1 - exp(-10/C).
        weight: f64 = -1.0, in Value::Number(-2.0) => Value::Number(1.0);
        /// ns2: beyond max the probability grows to 1 at twice max instead of jumping there (gentle).
        gentle: bool = true, in Value::Flag(false) => Value::Flag(true);
        /// ns2: whether the segment beyond max starts from the current probability or from the initial one.
        gentle_slope: GentleSlope = GentleSlope::Recomputed, in WORD => WORD, choices GentleSlope::WORDS;
        /// ns2: leaves at least 1/p packets between two drops.
        wait: bool = true, in Value::Flag(false) => Value::Flag(true);
        /// ns2: measures the queue in bytes; otherwise in packets, with min and max in packets of avpkt.
        queue_in_bytes: bool = true, in Value::Flag(false) => Value::Flag(true);
        /// ns2: drops large packets with a higher probability, and counts bytes between two drops, in packets of avpkt.
        bytes: bool = true, in Value::Flag(false) => Value::Flag(true);
        /// ns2: probability above which ECN-capable packets are dropped too.
        mark_p: f64 = 0.1, in Value::Number(0.0) => Value::Number(1.0);
        /// ns2: applies mark_p; otherwise everything is dropped at a probability of 1, and marks have no limit below.
        use_mark_p: bool = true, in Value::Flag(false) => Value::Flag(true);
        /// linux: burst in packets of avpkt that the weight lets pass. Zero: (2 min + max)/(3 avpkt), rounded up with
        /// target.
        burst: u64 = 0, in Value::Count(0) => Value::Count(1_000_000);
        /// linux: drops ECN-capable packets too beyond max.
        harddrop: bool = false, in Value::Flag(false) => Value::Flag(true);
        /// linux: passes packets that are not ECN-capable instead of dropping them.
        nodrop: bool = false, in Value::Flag(false) => Value::Flag(true);
    }
    profiles {
        "ns2", "ns-2.35: in bytes, gentle, uniform spacing with wait, thresholds and weight from the link" => |_| {};
        "linux", "Linux 6.1 with tc's parameters: fixed-point average in bytes, not gentle" => linux;
    }
    validate |c| c.check()
}

choice! {
    /// Reference implementation whose arithmetic to use.
    pub enum Arithmetic {
        /// ns-2's `red.cc`.
        Ns2 = "ns2",
        /// Linux's `red.h` with tc's parameters.
        Linux = "linux",
    }
}

choice! {
    /// Adaptation of the maximum probability.
    pub enum AdaptiveMode {
        /// No adaptation.
        Off = "off",
        /// Additive increase, multiplicative decrease (Floyd, Gummadi, Shenker 2001; Linux's adaptative).
        Aimd = "aimd",
        /// Multiplied when the average leaves the range above, divided when it leaves it below (Feng et al. 1999); ns2
        /// only.
        Mimd = "mimd",
    }
}

choice! {
    /// Start of the gentle segment while the maximum probability is adapted.
    pub enum GentleSlope {
        /// At the current maximum probability: the drop curve is continuous at max.
        Recomputed = "recomputed",
        /// At the initial one, as in ns-2 and ns-3: the curve jumps at max, downwards once the probability has grown.
        Initial = "initial",
    }
}

impl Config {
    fn check(&self) -> Result<(), ConfigError> {
        let (min, max) = (self.min.0, self.max.0);
        if min > 0 && max > 0 && min >= max {
            return Err(format!("min ({min} B) must be below max ({max} B); write e.g. min 12500B max 37500B").into());
        }
        match self.arithmetic {
            Arithmetic::Ns2 => self.check_ns2(),
            Arithmetic::Linux => self.check_linux(),
        }
    }

    fn check_ns2(&self) -> Result<(), ConfigError> {
        if self.weight < 0.0 && self.weight != -1.0 && self.weight != -2.0 {
            return Err(format!("weight ({}) must be from 0 to 1, or -1 or -2 for ns-2's rules", self.weight).into());
        }
        let (alpha, beta) = (self.alpha, self.beta);
        match self.adaptive {
            AdaptiveMode::Off => Ok(()),
            AdaptiveMode::Aimd if self.bottom >= self.top => {
                Err(format!("bottom ({}) must be below top ({})", self.bottom, self.top).into())
            }
            AdaptiveMode::Aimd if alpha > 1.0 || beta > 1.0 => Err(format!(
                "alpha ({alpha}) and beta ({beta}) of aimd must be at most 1; write e.g. alpha 0.01 beta 0.9"
            )
            .into()),
            AdaptiveMode::Mimd if alpha < 1.0 || beta < 1.0 => {
                Err(format!("alpha ({alpha}) and beta ({beta}) of mimd must be at least 1; write e.g. alpha 3 beta 2")
                    .into())
            }
            AdaptiveMode::Aimd | AdaptiveMode::Mimd => Ok(()),
        }
    }

    fn check_linux(&self) -> Result<(), ConfigError> {
        if self.nodrop && !self.ecn {
            return Err("nodrop needs ecn; write e.g. ecn nodrop".into());
        }
        if self.adaptive == AdaptiveMode::Mimd {
            return Err("adaptive mimd exists only in ns-2; use adaptive aimd".into());
        }
        let Some((min, max)) = self.given_thresholds() else { return Ok(()) };
        let burst = self.burst(min, max);
        if wlog(min, burst, self.avpkt.0).is_some() {
            return check_burst((min, max), burst, self.avpkt.0, " B");
        }
        let avpkt = self.avpkt.0;
        Err(format!(
            "no averaging weight lets a burst of {burst} packets of {avpkt} B pass below min ({min} B); tc refuses it too; write e.g. min 12500B max 37500B avpkt 1000B burst 25"
        ).into())
    }

    /// Refuses a burst that does not fit the thresholds derived from a queue's limit.
    pub(crate) fn check_link(&self, limits: &Limits, link: Link) -> Result<(), ConfigError> {
        if self.arithmetic != Arithmetic::Linux || self.burst == 0 || self.given_thresholds().is_some() {
            return Ok(());
        }
        let given = super::linux::thresholds(self, limits, link);
        check_burst(given, self.burst, self.avpkt.0, " B")
    }

    /// Linux's thresholds, if they do not depend on the queue's limit or its link.
    pub(super) fn given_thresholds(&self) -> Option<(u64, u64)> {
        match (self.min.0, self.max.0) {
            (0, 0) => None,
            (min, 0) => Some((min, 3 * min)),
            (0, max) => Some((max / 3, max)),
            (min, max) => Some((min, max)),
        }
    }

    /// Linux's burst; tc's rule if it is automatic.
    pub(super) fn burst(&self, min: u64, max: u64) -> u64 {
        let (bytes, packets) = (2 * min + max, 3 * self.avpkt.0);
        let up = bytes.div_ceil(packets);
        match self.burst {
            0 if self.target > Duration::ZERO && wlog(min, up, self.avpkt.0).is_some_and(|wlog| wlog < SLOW) => up,
            0 => bytes / packets,
            burst => burst,
        }
    }
}

/// Wlog from which on tc warns that the burst is too large.
const SLOW: u32 = 10;

fn linux(c: &mut Config) {
    c.arithmetic = Arithmetic::Linux;
    c.target = Duration::ZERO;
    c.avpkt = Bytes(1000);
    c.bandwidth = Rate::from_bps(10_000_000);
    c.probability = 0.02;
}

/// A choice has no numeric range, only its keywords.
const WORD: Value = Value::Choice("");
