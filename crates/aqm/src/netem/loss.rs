//! Loss of packets: at random, or by a Markov chain (`loss_event` of `sch_netem.c`).

use super::config::{LossModel, Settings};
use super::crandom::{Crandom, RandomEvent, scaled};
use crate::rng::Rng;

/// State of a loss model.
#[derive(Clone, Debug)]
pub(super) enum LossState {
    Random(RandomEvent),
    State { chain: MarkovChain, state: ChainState },
    Gemodel { p: u32, r: u32, h: u32, k1: u32, bad: bool },
}

/// Transition probabilities between the states 1 (received in a gap), 2 (received in a burst), 3 (lost in a burst) and
/// 4 (lost in a gap).
#[derive(Clone, Debug)]
pub(super) struct MarkovChain {
    p13: u32,
    p31: u32,
    p32: u32,
    p14: u32,
    p23: u32,
}

/// State of the chain of four states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChainState {
    /// State 1.
    SentInGap,
    /// State 2.
    SentInBurst,
    /// State 3.
    LostInBurst,
    /// State 4.
    LostInGap,
}

impl LossState {
    /// Model of `c`; `numbers` are for the random one.
    pub fn new(c: &Settings, numbers: Crandom) -> Self {
        match c.loss_model {
            LossModel::Random => Self::Random(RandomEvent::new(c.loss, numbers)),
            LossModel::State => {
                let (p13, p31, p32) = (scaled(c.p13), scaled(c.p31), scaled(c.p32));
                let chain = MarkovChain { p13, p31, p32, p14: scaled(c.p14), p23: scaled(c.p23) };
                Self::State { chain, state: ChainState::SentInGap }
            }
            LossModel::Gemodel => {
                // tc's parameter is 1 - h, the kernel's is h.
                let h = u32::MAX - scaled(c.ge_1_h);
                Self::Gemodel { p: scaled(c.ge_p), r: scaled(c.ge_r), h, k1: scaled(c.ge_1_k), bad: false }
            }
        }
    }

    /// Draws whether the next packet is lost.
    #[inline]
    pub fn loses(&mut self, rng: &mut Rng) -> bool {
        match self {
            Self::Random(chance) => chance.occurs(rng),
            Self::State { chain, state } => {
                let (next, lost) = chain.step(*state, rng.next_u32());
                *state = next;
                lost
            }
            Self::Gemodel { p, r, h, k1, bad } => {
                // The state changes first, but the previous state decides.
                let was_bad = *bad;
                if rng.next_u32() < (if was_bad { *r } else { *p }) {
                    *bad = !was_bad;
                }
                if was_bad { rng.next_u32() > *h } else { rng.next_u32() < *k1 }
            }
        }
    }
}

impl MarkovChain {
    /// Next state, and whether the packet is lost (`loss_4state`). Sums of probabilities wrap around, as in the kernel;
    /// a random number equal to a bound belongs to the state above, as in Debian's 6.1.192.
    fn step(&self, state: ChainState, random: u32) -> (ChainState, bool) {
        use ChainState::{LostInBurst, LostInGap, SentInBurst, SentInGap};
        match state {
            SentInGap if random < self.p14 => (LostInGap, true),
            SentInGap if random < self.p13.wrapping_add(self.p14) => (LostInBurst, true),
            SentInGap => (SentInGap, false),
            SentInBurst if random < self.p23 => (LostInBurst, true),
            SentInBurst => (SentInBurst, false),
            LostInBurst if random < self.p32 => (SentInBurst, false),
            LostInBurst if random < self.p31.wrapping_add(self.p32) => (SentInGap, false),
            LostInBurst => (LostInBurst, true),
            LostInGap => (SentInGap, false),
        }
    }
}
