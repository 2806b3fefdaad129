//! Parameters of PIE, and its versions as sets of parameters.

use crate::params::{self, Bytes, Value};
use crate::time::Duration;
use crate::{choice, config};

config! {
    /// PIE's configuration; the default is RFC 8033.
    pub struct Config {
        /// Target delay of the controller (QDELAY_REF).
        target: Duration = Duration::from_millis(15), in MICROSECOND => MINUTE;
        /// Update interval of the drop probability (T_UPDATE); linux counts in jiffies, rounded up, plus one.
        tupdate: Duration = Duration::from_millis(15), in Value::Time(Duration::from_micros(100)) => MINUTE;
        /// Gain of the deviation from the target, per second; linux and cisco2013-ticks round to sixteenths, tc's unit.
        alpha: f64 = 0.125, in Value::Number(0.0) => Value::Number(1000.0);
        /// Gain of the delay's change between two updates, per second; linux and cisco2013-ticks round to sixteenths,
        /// tc's unit.
        beta: f64 = 1.25, in Value::Number(0.0) => Value::Number(1000.0);
        /// Time without drops after the queue becomes busy (MAX_BURST).
        max_burst: Duration = Duration::from_millis(150), in Value::Time(Duration::ZERO) => MINUTE;
        /// Marks ECN-capable packets instead of dropping them while p is below mark_ecnth.
        ecn: bool = false, in Value::Flag(false) => Value::Flag(true);
        /// Drop probability above which ECN-capable packets are dropped too (tc's ecn_prob of fq_pie, in percent
        /// there); linux counts in thousandths.
        mark_ecnth: f64 = 0.1, in Value::Number(0.0) => Value::Number(1.0);
        /// Spaces drops more evenly: none before the accumulated probability reaches 0.85, a certain one at 8.5.
        derandomise: bool = true, in Value::Flag(false) => Value::Flag(true);
        /// When the control is active; a queue without limits is always controlled.
        activation: Activation = Activation::OnOff, in WORD => WORD, choices Activation::WORDS;
        /// Bytes whose departure is timed for the estimate of the departure rate (DQ_THRESHOLD).
        dq_threshold: Bytes = Bytes(1 << 14), in Value::Bytes(1) => Value::Bytes(1 << 30);
        /// Typical packet size (MEAN_PKTSIZE): nothing is dropped at a backlog of two or less.
        mean_pktsize: Bytes = Bytes(1024), in Value::Bytes(0) => Value::Bytes(1 << 20);
        /// Damping of changes of p while p is small.
        scaling: Scaling = Scaling::SevenLevels, in WORD => WORD, choices Scaling::WORDS;
        /// Maximum increase of p per update once p is at least 0.1.
        cap: f64 = 0.02, in Value::Number(0.0) => Value::Number(1.0);
        /// Delay above which p grows by another 0.02 per update; zero disables the rule.
        high_delay: Duration = Duration::from_millis(250), in Value::Time(Duration::ZERO) => MINUTE;
        /// Condition for p to decay by itself.
        decay: Decay = Decay::Empty, in WORD => WORD, choices Decay::WORDS;
        /// Version of the algorithm; each has its profile and refuses parameters that it lacks.
        version: Version = Version::Rfc8033, in WORD => WORD, choices Version::WORDS;
        /// Drops small packets less often: with p times their size over the link's largest one.
        bytemode: bool = false, in Value::Flag(false) => Value::Flag(true);
        /// Estimates the delay from the departure rate instead of timestamps (linux).
        dq_rate_estimator: bool = false, in Value::Flag(false) => Value::Flag(true);
        /// Unit of the kernel's timers, 1/HZ (linux).
        jiffy: Duration = Duration::from_millis(1), in Value::Time(Duration::from_millis(1)) => Value::Time(Duration::from_millis(10));
        /// Creation time of the queue on the host's clock: the first update is due half a second later (linux).
        created: Duration = Duration::ZERO, in Value::Time(Duration::ZERO) => Value::Time(Duration::from_secs(1_000_000_000));
        /// Delay below which p decays if decay is low (LATENCY_LOW).
        latency_low: Duration = Duration::from_millis(5), in MICROSECOND => MINUTE;
        /// Time for which congestion must be over before a burst is allowed again (docsis, BURST_RESET_TIMEOUT).
        burst_reset: Duration = Duration::from_secs(1), in Value::Time(Duration::ZERO) => MINUTE;
        /// Maximum sustained rate of the service (docsis, MSR) as a share of the link's rate, which is the peak rate.
        msr: f64 = 1.0, in Value::Number(0.001) => Value::Number(1.0);
        /// Bytes that may be sent at the peak rate (docsis, Maximum Traffic Burst), the depth of the token bucket.
        max_traffic_burst: Bytes = Bytes(3044), in Value::Bytes(0) => Value::Bytes(1 << 30);
    }
    profiles {
        "rfc8033", "RFC 8033 (2017)" => |_| {};
        "cisco2013", "the first Linux module (Cisco 2013; R. Pan et al., HPSR 2013)" => cisco2013;
        "cisco2013-ticks", "the same module in its arithmetic: 32-bit integers, ticks of 64 ns" => cisco2013_ticks;
        "draft00", "draft-ietf-aqm-pie-00 (2014) with the corrections of Schwarzkopf et al. 2016" => draft00;
        "docsis", "DOCSIS-PIE (RFC 8034, 2017) of cable modems" => docsis;
        "linux", "Linux since 5.1, in its arithmetic of 64-bit integers" => linux;
    }
    validate |c| {
        params::refuse_unsupported(c, "PIE", c.version.profile(), |param| c.version.has(param))
    }
}

choice! {
    /// Published algorithm or implementation to follow.
    pub enum Version {
        /// IETF documents.
        Rfc8033 = "rfc8033",
        /// Cisco's first module.
        Cisco2013 = "cisco2013",
        /// Cisco's first module in its integer arithmetic.
        Cisco2013Ticks = "cisco2013-ticks",
        /// Cable modems.
        Docsis = "docsis",
        /// Linux.
        Linux = "linux",
    }
}

choice! {
    /// Divisor of changes of `p` while it is small.
    pub enum Scaling {
        /// By 8 and 2 below 1 % and 10 %.
        ThreeLevels = "three-levels",
        /// By 32, 8 and 2 below 0.1 %, 1 % and 10 %.
        FourLevels = "four-levels",
        /// By 2048, 512, 128, 32, 8 and 2 below 0.0001 %, 0.001 %, … and 10 %.
        SevenLevels = "seven-levels",
        /// As seven-levels; from 10 % on times 2, from 100 % on times 8, from 1000 % on times 32.
        NineLevels = "nine-levels",
    }
}

choice! {
    /// Condition for the control to be active.
    pub enum Activation {
        /// Active once a third of the buffer is in use, inactive when congestion is over.
        OnOff = "on-off",
        /// Active for ever once a third of the buffer has been in use.
        Once = "once",
        /// Active from the first packet.
        Always = "always",
    }
}

choice! {
    /// Condition for p to decay by itself.
    pub enum Decay {
        /// By 1/64 per update while both delays are zero.
        Empty = "empty",
        /// By 2 % per update while both delays are zero.
        Empty2 = "empty-2",
        /// By 2 % per update while both delays are below half the target.
        Short = "short",
        /// By 2 % per update while both delays are below latency_low.
        Low = "low",
    }
}

impl Version {
    /// Profile of the version.
    fn profile(self) -> &'static str {
        match self {
            Self::Rfc8033 => "rfc8033",
            Self::Cisco2013 => "cisco2013",
            Self::Cisco2013Ticks => "cisco2013-ticks",
            Self::Docsis => "docsis",
            Self::Linux => "linux",
        }
    }

    /// Whether the version has the parameter.
    fn has(self, param: &str) -> bool {
        let own: &[&str] = match self {
            Self::Rfc8033 => &["derandomise", "activation", "dq_threshold", "mean_pktsize"],
            Self::Cisco2013 => &["derandomise", "dq_threshold", "bytemode"],
            Self::Cisco2013Ticks => &["dq_threshold", "bytemode", "mark_ecnth"],
            Self::Docsis => &["mean_pktsize", "burst_reset", "msr", "max_traffic_burst"],
            Self::Linux => &["mark_ecnth", "bytemode", "dq_rate_estimator", "jiffy", "created"],
        };
        let in_reals = !matches!(self, Self::Linux | Self::Cisco2013Ticks) && IN_REALS.contains(&param);
        COMMON.contains(&param) || in_reals || own.contains(&param)
    }
}

fn draft00(c: &mut Config) {
    c.target = Duration::from_millis(16);
    c.tupdate = Duration::from_millis(16);
    c.max_burst = Duration::from_millis(100);
    // Schwarzkopf et al. 2016, II.C: in their runs PIE is never switched off, although the queue runs empty.
    c.activation = Activation::Once;
    // Differs from later texts: the draft does not have this rule.
    c.high_delay = Duration::ZERO;
}

fn cisco2013(c: &mut Config) {
    c.version = Version::Cisco2013;
    c.target = Duration::from_millis(20);
    c.tupdate = Duration::from_millis(30);
    c.max_burst = Duration::from_millis(100);
    c.derandomise = false;
    c.activation = Activation::Always;
    c.dq_threshold = Bytes(10_000);
    c.scaling = Scaling::ThreeLevels;
    c.decay = Decay::Empty2;
}

fn cisco2013_ticks(c: &mut Config) {
    cisco2013(c);
    c.version = Version::Cisco2013Ticks;
    // The rules below are built into the module's integer arithmetic.
    let reals = Config::default();
    (c.derandomise, c.activation, c.scaling, c.decay) =
        (reals.derandomise, reals.activation, reals.scaling, reals.decay);
}

fn docsis(c: &mut Config) {
    c.version = Version::Docsis;
    c.target = Duration::from_millis(10);
    c.tupdate = Duration::from_millis(16);
    c.alpha = 0.25;
    c.beta = 2.5;
    c.max_burst = Duration::from_millis(142);
    c.scaling = Scaling::NineLevels;
    c.high_delay = Duration::from_millis(200);
    c.decay = Decay::Low;
    c.bytemode = true;
}

fn linux(c: &mut Config) {
    c.version = Version::Linux;
    c.activation = Activation::Always;
}

/// Parameters of every version.
const COMMON: [&str; 7] = ["version", "target", "tupdate", "alpha", "beta", "max_burst", "ecn"];
/// Parameters of the floating-point versions.
const IN_REALS: [&str; 6] = ["mark_ecnth", "scaling", "cap", "high_delay", "decay", "latency_low"];
const MICROSECOND: Value = Value::Time(Duration::from_micros(1));
const MINUTE: Value = Value::Time(Duration::from_secs(60));
/// A choice has no numeric range, only its keywords.
const WORD: Value = Value::Choice("");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Config as _;
    use alloc::string::ToString;

    #[test]
    fn a_version_refuses_what_it_does_not_have() {
        for (profile, param, text, refused) in [
            ("rfc8033", "activation", "always", false),
            ("rfc8033", "created", "1 s", true),
            ("linux", "created", "1 s", false),
            ("linux", "scaling", "four-levels", true),
            ("linux", "scaling", "seven-levels", false),
            ("linux", "derandomise", "off", true),
            ("cisco2013", "derandomise", "on", false),
            ("cisco2013", "activation", "once", true),
            ("cisco2013-ticks", "bytemode", "on", false),
            ("cisco2013-ticks", "scaling", "four-levels", true),
            ("cisco2013-ticks", "high_delay", "1 s", true),
            ("docsis", "msr", "0.5", false),
            ("docsis", "bytemode", "off", true),
            ("draft00", "msr", "0.5", true),
        ] {
            let mut config = Config::profile(profile).expect("a profile of the table");
            config.set(param, text).expect("a parameter in its range");
            assert_eq!(config.validate().is_err(), refused, "{profile} {param} {text}");
        }
        let mut config = Config::default();
        config.set("version", "linux").expect("a version");
        let refusal = config.validate().unwrap_err().to_string();
        assert!(refusal.starts_with("activation: version linux of PIE does not have this parameter"), "{refusal}");
        assert!(refusal.ends_with("(or write pie@linux for the version)"), "{refusal}");
    }

    #[test]
    fn every_version_is_its_profiles_and_every_profile_is_valid() {
        for word in Version::WORDS {
            let config = Config::profile(word).expect("a profile of the version's name");
            assert_eq!((config.version.profile(), config.validate()), (*word, Ok(())));
        }
        assert_eq!(Config::profile("rfc8033"), Some(Config::default()), "the plain name's profile is the default");
    }
}
