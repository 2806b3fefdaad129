//! Reward functions of a connection's step.

use super::observer::Interval;
use sojourn_aqm::policy::REFERENCE;

/// Measurements of a step.
#[derive(Clone, Copy, Debug, Default)]
pub struct RewardInput {
    /// Bytes that the first link sent over bytes that it could have sent; 0 if it could send none.
    pub utilisation: f64,
    /// Jain's index of the bytes delivered to each active flow in the last second; 1 with fewer than two.
    pub jain: f64,
    /// Base RTT (without queueing) of the connection, in seconds.
    pub base_s: f64,
    /// Nominal rate of the first link in bit/s.
    pub nominal_bps: f64,
    /// Measurements of the sender.
    pub interval: Interval,
}

/// Reward functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reward {
    /// ln(delivery rate / nominal rate of the link) − ln(RTT / base RTT).
    Power,
    /// (10 · delivery rate in packets/s − 1000 · mean RTT in s − 2000 · loss ratio) / 1000 (N. Jay et al., ICML 2019,
    /// as in its published code).
    Aurora,
    /// Utilisation · Jain's index over the last second − 0.5 · queueing delay / 20 ms (at most 10) − 0.5 · loss ratio.
    /// Only a simulator knows these.
    Fair,
}

impl Reward {
    /// All rewards by name.
    pub const ALL: [(&'static str, Self); 3] = [("power", Self::Power), ("aurora", Self::Aurora), ("fair", Self::Fair)];

    pub(super) fn of(self, measured: &RewardInput) -> f64 {
        let RewardInput { utilisation, jain, base_s, nominal_bps, interval } = measured;
        let queued_s = (interval.rtt_s - base_s).max(0.0);
        match self {
            Self::Power => (interval.rate_bps / nominal_bps).max(MIN_USE).ln() - (queued_s / base_s).ln_1p(),
            Self::Aurora => {
                let packets = if interval.span_s > 0.0 { interval.delivered as f64 / interval.span_s } else { 0.0 };
                (10.0 * packets - 1e3 * interval.rtt_s - 2e3 * interval.loss()) / 1e3
            }
            Self::Fair => utilisation * jain - ALPHA * (queued_s / REFERENCE).min(MAX_DELAY) - BETA * interval.loss(),
        }
    }
}

/// Weights of delay and loss.
const ALPHA: f64 = 0.5;
const BETA: f64 = 0.5;
/// Maximum delay that counts, in units of 20 ms.
const MAX_DELAY: f64 = 10.0;
/// Minimum relative rate, so that its logarithm is finite.
const MIN_USE: f64 = 1e-3;

#[cfg(test)]
mod tests {
    use super::super::observer::Interval;
    use super::*;

    #[test]
    fn rewards_are_as_documented() {
        let busy =
            Interval { span_s: 0.02, delivered: 17, lost: 3, rtt_s: 0.053, rate_bps: 7e6, ..Interval::default() };
        for (interval, [power, aurora, fair]) in [
            // 10 ms of queueing delay on a path of 43 ms; 15 % loss; 850 packets/s.
            (busy, [0.7_f64.ln() - (53.0_f64 / 43.0).ln(), 8.5 - 0.053 - 0.3, 0.9 * 0.8 - 0.25 - 0.075]),
            (Interval::default(), [1e-3_f64.ln(), 0.0, 0.72]),
        ] {
            let measured = RewardInput { utilisation: 0.9, jain: 0.8, base_s: 0.043, nominal_bps: 1e7, interval };
            for ((name, reward), expected) in Reward::ALL.into_iter().zip([power, aurora, fair]) {
                let found = reward.of(&measured);
                assert!((found - expected).abs() < 1e-12, "{name}: {found}, not {expected}");
            }
        }
    }
}
