//! Shared by the floating-point versions: the controller of the drop probability, and derandomisation.

use super::config::{Config, Decay, Scaling, Version};
use crate::rng::Rng;
use crate::time::Duration;

/// Returns the drop probability after an update, from the previous one and the delays (s) now and at the last update.
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
    let both_below = |delay: f64| qdelay < delay && qdelay_old < delay;
    let both_zero = qdelay == 0.0 && qdelay_old == 0.0;
    let p = match config.decay {
        Decay::Empty if both_zero => p * (1.0 - 1.0 / 64.0),
        Decay::Empty2 if both_zero => p * 0.98,
        Decay::Short if both_below(target / 2.0) => p * 0.98,
        Decay::Low if both_below(config.latency_low.as_secs_f64()) => p * 0.98,
        Decay::Empty | Decay::Empty2 | Decay::Short | Decay::Low => p,
    };
    p.clamp(0.0, largest_probability(config))
}

/// Maximum `p`; DOCSIS-PIE scales it by the packet size, so that the smallest packet reaches 0.85.
fn largest_probability(config: &Config) -> f64 {
    match config.version {
        Version::Docsis => PROB_LOW * config.mean_pktsize.0 as f64 / MIN_PKTSIZE,
        Version::Rfc8033 | Version::Cisco2013 | Version::Cisco2013Ticks | Version::Linux => 1.0,
    }
}

/// Whether to drop a packet whose drop probability is `p`; the probabilities since the last drop sum up to `accu_prob`.
/// Never below a sum of 0.85, always from 8.5 on.
pub(super) fn accumulated(accu_prob: f64, p: f64, rng: &mut Rng) -> bool {
    if accu_prob < PROB_LOW {
        return false;
    }
    // The draft has "> 8.5"; rounding of the sum matters more than the comparison.
    accu_prob >= PROB_HIGH || rng.uniform() < p
}

impl Scaling {
    /// Divisor of changes of `p`.
    pub(super) fn divisor(self, p: f64) -> f64 {
        let levels = match self {
            Self::ThreeLevels => &LEVELS[4..6],
            Self::FourLevels => &LEVELS[3..6],
            Self::SevenLevels => &LEVELS[..6],
            Self::NineLevels => &LEVELS[..],
        };
        let beyond = if self == Self::NineLevels { 1.0 / 32.0 } else { 1.0 };
        levels.iter().find(|&&(below, _)| p < below).map_or(beyond, |&(_, divisor)| divisor)
    }
}

/// Upper bounds of `p` and the divisors of its changes below them.
const LEVELS: [(f64, f64); 8] = [
    (1e-6, 2048.0),
    (1e-5, 512.0),
    (1e-4, 128.0),
    (1e-3, 32.0),
    (1e-2, 8.0),
    (1e-1, 2.0),
    (1.0, 1.0 / 2.0),
    (10.0, 1.0 / 8.0),
];
pub(super) const PROB_LOW: f64 = 0.85;
const PROB_HIGH: f64 = 8.5;
const MIN_PKTSIZE: f64 = 64.0;
