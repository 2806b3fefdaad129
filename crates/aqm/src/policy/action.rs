//! What an action of a policy means.

use super::SharedState;
use crate::time::Duration;

/// How an action becomes what is in force during a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// The action is the probability, from 0 to 1.
    Probability,
    /// It is the probability's logarithm to base 2, from -14 to 0; at the lower edge the probability is zero.
    ProbabilityLog,
    /// One of five changes of the probability: by -0.1, -0.01, 0, 0.01, 0.1.
    Delta,
    /// The natural logarithm of the target, in milliseconds from 0.5 to 100, of a CoDel below (RFC 8289).
    Target,
    /// The action is p' of two coupled queues ([`Coupled`](super::Coupled)), from 0 to 1.
    Coupled,
    /// A verdict on each packet, set before it arrives: 0 lets it in, 1 marks it, or drops it if it does not understand marks,
    /// 2 drops it. For an agent outside only, that sees packets one by one.
    Packet,
}

/// The lowest logarithm to base 2, which stands for no probability.
pub const MIN_LOG: f64 = -14.0;
/// The smallest and the largest target in milliseconds.
pub const MAX_TARGET_MS: (f64, f64) = (0.5, 100.0);

const DELTAS: [f64; 5] = [-0.1, -0.01, 0.0, 0.01, 0.1];

impl ActionKind {
    /// Every law of steps, with its name.
    pub const ALL: [(&'static str, Self); 5] = [
        ("probability", Self::Probability),
        ("probability-log", Self::ProbabilityLog),
        ("delta", Self::Delta),
        ("target", Self::Target),
        ("coupled", Self::Coupled),
    ];

    /// The law called `name`.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|&(_, law)| law)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|&&(_, law)| law == self).map_or("packet", |(name, _)| name)
    }

    /// Numbers that a network gives for an action: one, or one for each choice, of which the largest is taken.
    pub fn outputs(self) -> usize {
        if self == Self::Delta { DELTAS.len() } else { 1 }
    }

    /// Puts the action that a network's outputs mean in force.
    pub(super) fn apply(self, outputs: &[f32], board: &SharedState) {
        let best = || outputs.iter().enumerate().fold(0, |best, (i, x)| if *x > outputs[best] { i } else { best });
        self.act(if self == Self::Delta { best() as f64 } else { outputs[0].into() }, board);
    }

    /// Puts an action in force. What lies outside of its range, or is not a number, is taken as the nearest end, or the
    /// lower one; a change of [`ActionKind::Delta`] is named by its place.
    pub fn act(self, action: f64, board: &SharedState) {
        let within = |least: f64, most: f64| if action > least { action.min(most) } else { least };
        match self {
            Self::Probability | Self::Coupled => board.set_probability(within(0.0, 1.0)),
            Self::ProbabilityLog => {
                let log = within(MIN_LOG, 0.0);
                board.set_probability(if log > MIN_LOG { libm::exp2(log) } else { 0.0 });
            }
            Self::Delta => {
                let by = DELTAS[within(0.0, DELTAS.len() as f64 - 1.0) as usize];
                board.set_probability((board.probability() + by).clamp(0.0, 1.0));
            }
            Self::Target => {
                let (least, most) = MAX_TARGET_MS;
                let ms = libm::exp(within(libm::log(least), libm::log(most)));
                board.set_target(Duration::from_nanos(libm::round(ms.clamp(least, most) * 1e6) as i64));
            }
            Self::Packet => board.set_verdict(within(0.0, 2.0) as u64),
        }
    }

    /// What is in force as a number about one at most, for an observation.
    pub(super) fn in_force(self, board: &SharedState) -> f64 {
        match self {
            Self::Target => board.target().as_millis_f64() / MAX_TARGET_MS.1,
            Self::Probability | Self::ProbabilityLog | Self::Delta | Self::Coupled => board.probability(),
            Self::Packet => board.verdict() as f64,
        }
    }
}
