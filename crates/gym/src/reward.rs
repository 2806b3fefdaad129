//! Reward functions of a step.

use sojourn_aqm::policy::{REFERENCE, StepStats};

/// Measurements of a step.
#[derive(Clone, Copy, Debug)]
pub struct RewardInput {
    /// Bytes that the link sent over bytes that it could have sent; 0 if it could send none.
    pub utilisation: f64,
    /// Jain's index of the bytes delivered to each active flow in the last second; 1 with fewer than two, and unless
    /// the reward is [`Reward::Fair`].
    pub jain: f64,
    /// Minimum base RTT (without queueing) of all flows, in seconds.
    pub base_s: f64,
    /// Counters of the queue.
    pub step: StepStats,
}

/// Reward functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reward {
    /// Utilisation − 0.5 · delay / 20 ms (at most 10) − 0.5 · loss ratio.
    DelayGoodput,
    /// ln(utilisation) − ln(RTT / base RTT).
    Power,
    /// As [`Reward::DelayGoodput`], with the utilisation multiplied by Jain's index of the bytes delivered to each flow
    /// in the last second, which only a simulator knows.
    Fair,
    /// Quality of Outcome of a video call (draft-ietf-ippm-qoo) from the 95th percentile of this queue's sojourn times
    /// and its loss ratio. From 0 to 1; 0 if nothing was sent.
    Qoo,
}

/// Requirements of a video call, as in `sojourn qoo`: perfect up to the first value, useless from the second.
const LATENCY_S: (f64, f64) = (0.05, 0.1);
const LOSS: (f64, f64) = (0.001, 0.005);

/// Weights of delay and loss.
const ALPHA: f64 = 0.5;
const BETA: f64 = 0.5;
/// Maximum delay that counts, in units of 20 ms.
const MAX_DELAY: f64 = 10.0;
/// Minimum utilisation, so that its logarithm is finite.
const MIN_USE: f64 = 1e-3;

impl Reward {
    /// All rewards by name.
    pub const ALL: [(&'static str, Self); 4] =
        [("delay-goodput", Self::DelayGoodput), ("power", Self::Power), ("fair", Self::Fair), ("qoo", Self::Qoo)];

    pub(crate) fn of(self, measured: &RewardInput) -> f64 {
        let &RewardInput { utilisation, jain, base_s, step } = measured;
        let delay_s = step.delay_s();
        let cost = ALPHA * (delay_s / REFERENCE).min(MAX_DELAY) + BETA * step.loss();
        match self {
            Self::DelayGoodput => utilisation - cost,
            // Only the utilisation: if delay makes the reward negative, a lower index would otherwise raise it.
            Self::Fair => utilisation * jain - cost,
            Self::Power => utilisation.max(MIN_USE).ln() - (delay_s / base_s).ln_1p(),
            // A link that delivers nothing has no delay; do not reward it.
            Self::Qoo if step.departed == 0 => 0.0,
            Self::Qoo => score(step.p95_s, LATENCY_S).min(score(step.loss(), LOSS)),
        }
    }
}

fn score(measured: f64, (optimal, unacceptable): (f64, f64)) -> f64 {
    (1.0 - (measured - optimal) / (unacceptable - optimal)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_aqm::policy::StepStats;

    #[test]
    fn rewards_are_as_documented() {
        let busy =
            StepStats { departed: 10, sojourn_s: 0.1, p95_s: 0.06, arrived: 20, dropped: 5, ..StepStats::default() };
        let stuck = StepStats { head_s: 9.0, ..StepStats::default() };
        let closed = StepStats { arrived: 4, dropped: 4, ..StepStats::default() };
        // 60 ms is a fifth of the range from 50 to 100 ms; 2 of 1000 is a quarter of the range from 0.1 to 0.5 %.
        let call =
            StepStats { departed: 10, sojourn_s: 0.2, p95_s: 0.06, arrived: 1000, dropped: 2, ..StepStats::default() };
        for (step, utilisation, jain, rewards) in [
            (call, 1.0, 1.0, [0.499, -(1.5_f64.ln()), 0.499, 0.75]),
            // 10 ms of delay is half the reference; a quarter of the packets is dropped.
            (busy, 0.9, 0.5, [0.9 - 0.25 - 0.125, 0.9_f64.ln() - 1.25_f64.ln(), 0.45 - 0.25 - 0.125, 0.0]),
            // A stalled link with a backlog: the delay counts at most ten times the reference.
            (stuck, 0.0, 1.0, [-5.0, 1e-3_f64.ln() - 226.0_f64.ln(), -5.0, 0.0]),
            (closed, 0.0, 1.0, [-0.5, 1e-3_f64.ln(), -0.5, 0.0]),
            (StepStats::default(), 0.0, 1.0, [0.0, 1e-3_f64.ln(), 0.0, 0.0]),
        ] {
            let measured = RewardInput { utilisation, jain, base_s: 0.04, step };
            for ((name, reward), expected) in Reward::ALL.into_iter().zip(rewards) {
                let found = reward.of(&measured);
                assert!((found - expected).abs() < 1e-12, "{name}: {found}, not {expected}");
            }
        }
    }
}
