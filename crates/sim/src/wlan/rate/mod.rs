//! Rate controls of senders. A new one is a file and a line in [`AnyRateControl`].

mod fixed;
mod minstrel;

pub use fixed::FixedRate;
pub use minstrel::Minstrel;

use crate::radio::phy::Bitrate;
use sojourn_aqm::Instant;

/// Rate control from one sender to one receiver.
pub trait RateControl {
    /// Returns the rates of a frame that is passed to the NIC.
    fn choose(&mut self, now: Instant) -> RetryChain;
    /// Reports a completed frame of `chain` after `attempts` attempts.
    fn report(&mut self, now: Instant, chain: &RetryChain, attempts: u8, acknowledged: bool);
}

/// The rates of a frame (multi-rate retry): up to four, each with a number of attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryChain {
    stages: [(Bitrate, u8); Self::STAGES],
    /// Index of the sampled stage, if any.
    pub sample: Option<u8>,
}

impl RetryChain {
    /// Maximum rates of a frame.
    pub const STAGES: usize = 4;

    /// A chain of stages; those without attempts are skipped.
    pub fn new(stages: [(Bitrate, u8); Self::STAGES]) -> Self {
        Self { stages, sample: None }
    }

    /// Rate of an attempt, counted from zero; `None` if the frame is abandoned.
    pub fn rate(&self, attempt: u8) -> Option<Bitrate> {
        let mut left = attempt;
        for &(rate, tries) in &self.stages {
            match left.checked_sub(tries) {
                Some(rest) => left = rest,
                None => return Some(rate),
            }
        }
        None
    }

    /// Attempts in each stage, of `attempts` in total.
    pub fn used(&self, attempts: u8) -> impl Iterator<Item = (Bitrate, u8)> + '_ {
        self.stages.iter().scan(attempts, |left, &(rate, tries)| {
            let used = tries.min(*left);
            *left -= used;
            Some((rate, used))
        })
    }
}

/// Any rate control.
#[derive(Clone, Debug)]
pub enum AnyRateControl {
    /// A fixed rate.
    Fixed(FixedRate),
    /// Minstrel.
    Minstrel(Box<Minstrel>),
}

impl RateControl for AnyRateControl {
    fn choose(&mut self, now: Instant) -> RetryChain {
        match self {
            Self::Fixed(control) => control.choose(now),
            Self::Minstrel(control) => control.choose(now),
        }
    }

    fn report(&mut self, now: Instant, chain: &RetryChain, attempts: u8, acknowledged: bool) {
        match self {
            Self::Fixed(control) => control.report(now, chain, attempts, acknowledged),
            Self::Minstrel(control) => control.report(now, chain, attempts, acknowledged),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_goes_from_rate_to_rate() {
        let [a, b, .., c] = Bitrate::OFDM else { unreachable!() };
        let chain = RetryChain::new([(*c, 2), (*b, 0), (*a, 1), (*b, 3)]);
        let rates: Vec<_> = (0..7).map(|attempt| chain.rate(attempt)).collect();
        assert_eq!(rates, [Some(*c), Some(*c), Some(*a), Some(*b), Some(*b), Some(*b), None]);
        assert_eq!(chain.used(3).collect::<Vec<_>>(), [(*c, 2), (*b, 0), (*a, 1), (*b, 0)]);
        assert_eq!(chain.used(6).map(|(_, n)| n).sum::<u8>(), 6);
    }
}
