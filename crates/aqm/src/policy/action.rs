//! Actions of a policy.

use super::SharedState;
use crate::time::Duration;

/// Meaning of an action during a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// Probability, from 0 to 1.
    Probability,
    /// Binary logarithm of the probability, from -14 to 0; the minimum means zero.
    ProbabilityLog,
    /// One of five changes of the probability: -0.1, -0.01, 0, 0.01, 0.1.
    Delta,
    /// Natural logarithm of the target, in milliseconds from 0.5 to 100, of a CoDel (RFC 8289).
    Target,
    /// p' of two coupled queues ([`CoupledPolicy`](super::CoupledPolicy)), from 0 to 1.
    Coupled,
    /// Verdict on each packet, set before it arrives: 0 accepts it, 1 marks it or drops it if it is not ECN-capable, 2
    /// drops it. Only for an external agent that sees each packet.
    Packet,
}

/// Minimum binary logarithm; it means a probability of zero.
pub const MIN_LOG: f64 = -14.0;
/// Minimum and maximum target in milliseconds.
pub const MAX_TARGET_MS: (f64, f64) = (0.5, 100.0);

const DELTAS: [f64; 5] = [-0.1, -0.01, 0.0, 0.01, 0.1];

impl ActionKind {
    /// Every kind of action per step, with its name.
    pub const ALL: [(&'static str, Self); 5] = [
        ("probability", Self::Probability),
        ("probability-log", Self::ProbabilityLog),
        ("delta", Self::Delta),
        ("target", Self::Target),
        ("coupled", Self::Coupled),
    ];

    /// The kind called `name`.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|&(_, law)| law)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|&&(_, law)| law == self).map_or("packet", |(name, _)| name)
    }

    /// Network outputs per action: one, or one per choice, the maximum of which is selected.
    pub fn outputs(self) -> usize {
        if self == Self::Delta { DELTAS.len() } else { 1 }
    }

    /// Applies the action given by a network's outputs.
    pub(super) fn apply(self, outputs: &[f32], state: &SharedState) {
        let best = || outputs.iter().enumerate().fold(0, |best, (i, x)| if *x > outputs[best] { i } else { best });
        self.act(if self == Self::Delta { best() as f64 } else { outputs[0].into() }, state);
    }

    /// Applies an action. Values outside the range are clamped, NaN to the minimum; a change of [`ActionKind::Delta`]
    /// is given by its index.
    pub fn act(self, action: f64, state: &SharedState) {
        let within = |least: f64, most: f64| if action > least { action.min(most) } else { least };
        match self {
            Self::Probability | Self::Coupled => state.set_probability(within(0.0, 1.0)),
            Self::ProbabilityLog => {
                let log = within(MIN_LOG, 0.0);
                state.set_probability(if log > MIN_LOG { libm::exp2(log) } else { 0.0 });
            }
            Self::Delta => {
                let by = DELTAS[within(0.0, DELTAS.len() as f64 - 1.0) as usize];
                state.set_probability((state.probability() + by).clamp(0.0, 1.0));
            }
            Self::Target => {
                let (least, most) = MAX_TARGET_MS;
                let ms = libm::exp(within(libm::log(least), libm::log(most)));
                state.set_target(Duration::from_nanos(libm::round(ms.clamp(least, most) * 1e6) as i64));
            }
            Self::Packet => state.set_verdict(within(0.0, 2.0) as u64),
        }
    }

    /// The current action as a number of at most about one, for an observation.
    pub(super) fn in_force(self, state: &SharedState) -> f64 {
        match self {
            Self::Target => state.target().as_millis_f64() / MAX_TARGET_MS.1,
            Self::Probability | Self::ProbabilityLog | Self::Delta | Self::Coupled => state.probability(),
            Self::Packet => state.verdict() as f64,
        }
    }
}
