//! Random streams: one per component, all from one seed.

/// A random stream: splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
///
/// The state is one word, so a stream is cheap, and a recorded kernel run with a documented initial state can be
/// replayed draw by draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// The stream that starts from `state`.
    pub const fn from_state(state: u64) -> Self {
        Self { state }
    }

    /// The state for [`Rng::from_state`] to continue from.
    pub const fn state(&self) -> u64 {
        self.state
    }

    /// The stream of component `index` of `kind` in the run with `seed`.
    ///
    /// Streams of different components are independent, so the number of draws of one does not affect the others:
    /// traffic is unchanged when the queue manager changes.
    pub fn stream(seed: u64, kind: &str, index: u64) -> Self {
        let mut state = mix(seed ^ GOLDEN);
        for byte in kind.bytes() {
            state = mix(state ^ byte as u64);
        }
        Self { state: mix(state ^ index.wrapping_mul(GOLDEN)) }
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// The upper 32 of the next 64 random bits.
    pub fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// The upper 16 of the next 64 random bits.
    pub fn next_u16(&mut self) -> u16 {
        (self.next_u64() >> 48) as u16
    }

    /// Uniform in [0, 1), in steps of 2⁻⁵³.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in 0..n; zero for n = 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((self.next_u64() as u128 * n as u128) >> 64) as u64
    }

    /// Exponentially distributed with mean 1.
    pub fn exponential(&mut self) -> f64 {
        // 1 - uniform() lies in (0, 1], so the logarithm is finite.
        -libm::log(1.0 - self.uniform())
    }
}

pub(crate) const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_published_sequence() {
        // First outputs of splitmix64 from state 1234567, as published with the algorithm.
        let mut rng = Rng::from_state(1_234_567);
        assert_eq!(rng.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(rng.next_u64(), 3_203_168_211_198_807_973);
        assert_eq!(rng.next_u64(), 9_817_491_932_198_370_423);
    }

    #[test]
    fn streams_differ_by_seed_kind_and_index() {
        let first = |seed, kind, index| Rng::stream(seed, kind, index).next_u64();
        let base = first(1, "source", 0);
        assert_ne!(base, first(2, "source", 0));
        assert_ne!(base, first(1, "queue", 0));
        assert_ne!(base, first(1, "source", 1));
        assert_eq!(base, first(1, "source", 0));
    }

    #[test]
    fn uniform_and_exponential_have_their_means() {
        let mut rng = Rng::from_state(7);
        let n = 100_000;
        let uniform: f64 = (0..n).map(|_| rng.uniform()).sum::<f64>() / n as f64;
        let exponential: f64 = (0..n).map(|_| rng.exponential()).sum::<f64>() / n as f64;
        assert!((uniform - 0.5).abs() < 0.005, "{uniform}");
        assert!((exponential - 1.0).abs() < 0.01, "{exponential}");
    }
}
