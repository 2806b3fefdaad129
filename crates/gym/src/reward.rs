//! What a step is worth.

use crate::episode::Measured;
use sojourn_aqm::policy::REFERENCE;

/// A reward by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reward {
    /// Utilisation, less half of the delay over 20 ms (ten at most), less half of the share that was dropped.
    DelayGoodput,
    /// Logarithm of the utilisation, less that of the round-trip time over the smallest one there is.
    Power,
    /// As the first one, with the utilisation times Jain's index of what each flow was delivered in the last second: what
    /// only a simulator knows.
    Fair,
}

/// Weights of delay and drops.
const ALPHA: f64 = 0.5;
const BETA: f64 = 0.5;
/// The largest delay that counts, in units of 20 ms.
const MOST_DELAY: f64 = 10.0;
/// What an unused link counts as, so that its logarithm is finite.
const LEAST_USE: f64 = 1e-3;

impl Reward {
    /// Every reward, with its name.
    pub const ALL: [(&'static str, Self); 3] =
        [("delay-goodput", Self::DelayGoodput), ("power", Self::Power), ("fair", Self::Fair)];

    /// The reward called `name`.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|&(_, reward)| reward)
    }

    pub(crate) fn of(self, measured: &Measured) -> f64 {
        let &Measured { utilisation, jain, base_s, step } = measured;
        let delay_s = step.delay_s();
        let cost = ALPHA * (delay_s / REFERENCE).min(MOST_DELAY) + BETA * step.loss();
        match self {
            Self::DelayGoodput => utilisation - cost,
            Self::Fair => utilisation * jain - cost,
            Self::Power => utilisation.max(LEAST_USE).ln() - (delay_s / base_s).ln_1p(),
        }
    }
}
