//! How a sender chooses its rates: one kind, one file, one line in [`AnyRateControl`].

mod fixed;
mod minstrel;

pub use fixed::FixedRate;
pub use minstrel::Minstrel;

use crate::radio::phy::Bitrate;
use sojourn_aqm::Instant;

/// Chooses the rates of the frames from one sender to one receiver.
pub trait RateControl {
    /// The rates of a frame that is handed to the card.
    fn choose(&mut self, now: Instant) -> RetryChain;
    /// The card is through with a frame of `chain`, after so many attempts.
    fn report(&mut self, now: Instant, chain: &RetryChain, attempts: u8, acknowledged: bool);
}

/// The rates of a frame's attempts: up to four, each for a number of attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryChain {
    stages: [(Bitrate, u8); Self::STAGES],
    /// Which of them is tried out, if one is.
    pub sample: Option<u8>,
}

impl RetryChain {
    /// Most rates of a frame.
    pub const STAGES: usize = 4;

    /// A chain; stages without attempts are passed over.
    pub fn new(stages: [(Bitrate, u8); Self::STAGES]) -> Self {
        Self { stages, sample: None }
    }

    /// The rate of an attempt, counted from zero; none if the frame is to be given up.
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

    /// Each stage that was used, with the number of its attempts; `attempts` in all.
    pub fn used(&self, attempts: u8) -> impl Iterator<Item = (Bitrate, u8)> + '_ {
        self.stages.iter().scan(attempts, |left, &(rate, tries)| {
            let used = tries.min(*left);
            *left -= used;
            Some((rate, used))
        })
    }
}

/// A rate control of any kind.
#[derive(Clone, Debug)]
pub enum AnyRateControl {
    /// One rate.
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
