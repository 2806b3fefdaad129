//! Random numbers correlated with the previous one (`get_crandom` of `sch_netem.c`).

use crate::rng::Rng;

/// Probability or correlation of `percent` in 32 bits (`get_percent` of tc): 0 is never, all ones is always.
pub(super) fn scaled(percent: f64) -> u32 {
    libm::rint(percent / 100.0 * u32::MAX as f64) as u32
}

/// Stream of correlated 32-bit numbers.
///
/// Each is the average of a fresh number and the previous one, weighted by the correlation. As in the kernel the
/// average is not spread out again, so that with a correlation the numbers concentrate around the middle: a loss of 1 %
/// with a correlation of 50 % loses far less than 1 %.
#[derive(Clone, Debug)]
pub(super) struct Crandom {
    last: u32,
    rho: u32,
}

impl Crandom {
    /// Stream with a correlation of `percent`; `last` acts as the number before the first.
    pub fn new(percent: f64, last: u32) -> Self {
        Self { last, rho: scaled(percent) }
    }

    /// Draws the next number.
    #[inline]
    pub fn next(&mut self, rng: &mut Rng) -> u32 {
        let value = rng.next_u32();
        if self.rho == 0 {
            return value;
        }
        let rho = self.rho as u64 + 1;
        let answer = (value as u64 * ((1 << 32) - rho) + self.last as u64 * rho) >> 32;
        self.last = answer as u32;
        self.last
    }
}

/// Random event of a packet.
#[derive(Clone, Debug)]
pub(super) struct RandomEvent {
    pub probability: u32,
    pub numbers: Crandom,
}

impl RandomEvent {
    /// Event with a probability of `percent`.
    pub fn new(percent: f64, numbers: Crandom) -> Self {
        Self { probability: scaled(percent), numbers }
    }

    /// Draws whether the event occurs; draws nothing if it never does.
    #[inline]
    pub fn occurs(&mut self, rng: &mut Rng) -> bool {
        self.probability > 0 && self.probability >= self.numbers.next(rng)
    }
}
