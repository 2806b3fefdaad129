//! What a step is worth.

use sojourn_aqm::policy::{REFERENCE, StepStats};

/// What happened in a step, beyond what its queue has counted.
#[derive(Clone, Copy, Debug)]
pub struct RewardInput {
    /// What was used of the link, over what could have been; zero where nothing could.
    pub utilisation: f64,
    /// Jain's index of what each active flow was delivered in the last second; 1 where it is not asked for, and with fewer
    /// than two.
    pub jain: f64,
    /// The smallest round-trip time without queues, in seconds.
    pub base_s: f64,
    /// What the queue has counted.
    pub step: StepStats,
}

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
    /// Quality of Outcome of a video call (draft-ietf-ippm-qoo) by what this queue adds: the 95th percentile of its
    /// sojourn times, and the share that was dropped. From 0 to 1; 0 where nothing was sent.
    Qoo,
}

/// A video call is as good as it can be up to the first value, and of no use from the second one on, as `sojourn qoo` has
/// it.
const LATENCY_S: (f64, f64) = (0.05, 0.1);
const LOSS: (f64, f64) = (0.001, 0.005);

/// Weights of delay and drops.
const ALPHA: f64 = 0.5;
const BETA: f64 = 0.5;
/// The largest delay that counts, in units of 20 ms.
const MAX_DELAY: f64 = 10.0;
/// What an unused link counts as, so that its logarithm is finite.
const MIN_USE: f64 = 1e-3;

impl Reward {
    /// Every reward, with its name.
    pub const ALL: [(&'static str, Self); 4] =
        [("delay-goodput", Self::DelayGoodput), ("power", Self::Power), ("fair", Self::Fair), ("qoo", Self::Qoo)];

    pub(crate) fn of(self, measured: &RewardInput) -> f64 {
        let &RewardInput { utilisation, jain, base_s, step } = measured;
        let delay_s = step.delay_s();
        let cost = ALPHA * (delay_s / REFERENCE).min(MAX_DELAY) + BETA * step.loss();
        match self {
            Self::DelayGoodput => utilisation - cost,
            Self::Fair => utilisation * jain - cost,
            Self::Power => utilisation.max(MIN_USE).ln() - (delay_s / base_s).ln_1p(),
            // What nobody receives is of no use; a closed link would have the best delay.
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
        // 60 ms are a fifth of the way from 50 to 100 ms, 2 of 1000 a quarter of that from 0.1 to 0.5 %.
        let call =
            StepStats { departed: 10, sojourn_s: 0.2, p95_s: 0.06, arrived: 1000, dropped: 2, ..StepStats::default() };
        for (step, utilisation, jain, rewards) in [
            (call, 1.0, 1.0, [0.499, -(1.5_f64.ln()), 0.499, 0.75]),
            // 10 ms of delay are half of the reference; a quarter is dropped.
            (busy, 0.9, 0.5, [0.9 - 0.25 - 0.125, 0.9_f64.ln() - 1.25_f64.ln(), 0.45 - 0.25 - 0.125, 0.0]),
            // A link that stands still under a queue: the delay counts ten times the reference at most.
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
