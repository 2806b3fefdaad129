//! Weighted sums of many past values, for a block of future values at a time.
//!
//! Source: T. G. Stockham, "High-speed convolution and correlation", AFIPS SJCC 1966 (sections by transforms); W. G.
//! Gardner, "Efficient convolution without input-output delay", J. Audio Eng. Soc. 43 (1995), for the sums within a
//! block; H. J. Nussbaumer, "Fast Fourier Transform and Convolution Algorithms" (1981), for real values as halves of
//! complex ones.
//!
//! The order of all additions is fixed and all functions are `libm`'s, so the sums are the same on every machine. FFT
//! libraries choose instructions, and with them last digits, by the machine. Values differ from plain sums by at most
//! 3e-13.

use std::collections::VecDeque;

/// Values per block.
pub(super) const BLOCK: usize = 128;
/// Values whose weighted contributions are added together; a block is a whole number of groups.
const GROUP: usize = 8;

/// Past values in whole blocks, weights by lag, and their sums for future values.
#[derive(Clone, Debug)]
pub(super) struct Convolution {
    roots: Roots,
    /// Weights of lags within a block; lag 0 has weight 0.
    near: [f64; BLOCK],
    /// Transforms of the weights between the next block and the last one, the one before, ….
    weights: Vec<Spectrum>,
    /// Transforms of the blocks, newest first.
    blocks: VecDeque<Spectrum>,
}

impl Convolution {
    /// An empty past. `near` are the weights of lags 0 (ignored) to BLOCK - 1.
    pub fn new(near: &[f64]) -> Self {
        let mut near_weights = [0.0; BLOCK];
        near_weights.copy_from_slice(near);
        near_weights[0] = 0.0;
        Self { roots: Roots::new(), near: near_weights, weights: Vec::new(), blocks: VecDeque::new() }
    }

    /// Number of past blocks that have weights.
    pub fn reach(&self) -> usize {
        self.weights.len()
    }

    /// Adds the weights of one more past block: `weights` are those of 2 BLOCK lags from BLOCK times [`Self::reach`]
    /// on.
    pub fn reach_back(&mut self, weights: &[f64]) {
        let (low, high) = weights.split_at(BLOCK);
        let spectrum = Spectrum::of(low, Some(high), &self.roots);
        self.weights.push(spectrum);
    }

    /// Adds a completed block, whose first values may be missing. Drops the oldest block beyond the reach.
    pub fn push(&mut self, block: &[f64]) {
        let mut whole = [0.0; BLOCK];
        whole[BLOCK - block.len()..].copy_from_slice(block);
        if self.blocks.len() == self.reach() {
            self.blocks.pop_back();
        }
        let spectrum = Spectrum::of(&whole, None, &self.roots);
        self.blocks.push_front(spectrum);
    }

    /// Computes the next block: `next` makes each value from its index and the weighted sum of all values before it.
    pub fn block(&self, values: &mut [f64], mut next: impl FnMut(usize, f64) -> f64) {
        let mut sums = self.sums();
        for from in (0..values.len()).step_by(GROUP) {
            let mut group = [0.0; GROUP];
            for index in from..values.len().min(from + GROUP) {
                let value = next(index, sums[index]);
                (values[index], group[index - from]) = (value, value);
                let later = &mut sums[index + 1..from + GROUP];
                later.iter_mut().zip(&self.near[1..]).for_each(|(sum, weight)| *sum += weight * value);
            }
            self.add_group(&group, from, &mut sums);
        }
    }

    /// Adds the contributions of a group that starts at `from` to the sums of later groups. Left to right, so that each
    /// sum gets its terms in the order of time; a group at a time, so that each sum is read and written once.
    fn add_group(&self, group: &[f64; GROUP], from: usize, sums: &mut [f64; BLOCK]) {
        for at in (from + GROUP..BLOCK).step_by(GROUP) {
            // From the lag between the last value of the group and the first index to the lag between its first value
            // and the last index.
            let weights: &[f64; 2 * GROUP - 1] =
                self.near[at - from - GROUP + 1..][..2 * GROUP - 1].try_into().expect("the length is fixed");
            let later: &mut [f64; GROUP] = (&mut sums[at..at + GROUP]).try_into().expect("the length is fixed");
            let mut sum = *later;
            for (value, weights) in group.iter().zip(weights.windows(GROUP).rev()) {
                sum.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += weight * value);
            }
            *later = sum;
        }
    }

    /// The contributions of the past blocks to each value of the next one.
    fn sums(&self) -> [f64; BLOCK] {
        if self.blocks.is_empty() {
            return [0.0; BLOCK];
        }
        let mut sum = Spectrum::ZERO;
        self.blocks.iter().zip(&self.weights).for_each(|(block, weights)| sum.add_product(block, weights));
        sum.upper_half(&self.roots)
    }
}

/// The transform of 2 BLOCK real values: the second half is the imaginary part of the first, and a quarter turn is
/// spread over all values. Products of such transforms are transforms of negacyclic convolutions: what wraps around the
/// end comes in at the start with the opposite sign. In the order in which the transform leaves its values.
#[derive(Clone, Debug)]
struct Spectrum {
    re: [f64; BLOCK],
    im: [f64; BLOCK],
}

impl Spectrum {
    const ZERO: Self = Self { re: [0.0; BLOCK], im: [0.0; BLOCK] };

    /// The transform of `low` followed by `high`, if that is given.
    fn of(low: &[f64], high: Option<&[f64]>, roots: &Roots) -> Self {
        let mut spectrum = Self::ZERO;
        let Self { re, im } = &mut spectrum;
        for index in 0..BLOCK {
            let (x, y) = (low[index], high.map_or(0.0, |high| high[index]));
            let (cos, sin) = (roots.turn_re[index], roots.turn_im[index]);
            (re[index], im[index]) = (x * cos - y * sin, x * sin + y * cos);
        }
        spectrum.forward(roots);
        spectrum
    }

    /// Cooley and Tukey's transform, decimation in frequency; the output is in bit-reversed order.
    fn forward(&mut self, roots: &Roots) {
        let mut half = BLOCK / 2;
        while half > 0 {
            let (cos, sin) = (&roots.re[half..2 * half], &roots.im[half..2 * half]);
            for (re, im) in self.re.chunks_exact_mut(2 * half).zip(self.im.chunks_exact_mut(2 * half)) {
                let ((re0, re1), (im0, im1)) = (re.split_at_mut(half), im.split_at_mut(half));
                for k in 0..half {
                    let (re, im) = (re0[k] - re1[k], im0[k] - im1[k]);
                    (re0[k], im0[k]) = (re0[k] + re1[k], im0[k] + im1[k]);
                    (re1[k], im1[k]) = (re * cos[k] - im * sin[k], re * sin[k] + im * cos[k]);
                }
            }
            half /= 2;
        }
    }

    /// The inverse transform, decimation in time, without the division by BLOCK.
    fn backward(&mut self, roots: &Roots) {
        let mut half = 1;
        while half < BLOCK {
            let (cos, sin) = (&roots.re[half..2 * half], &roots.im[half..2 * half]);
            for (re, im) in self.re.chunks_exact_mut(2 * half).zip(self.im.chunks_exact_mut(2 * half)) {
                let ((re0, re1), (im0, im1)) = (re.split_at_mut(half), im.split_at_mut(half));
                for k in 0..half {
                    let (re, im) = (re1[k] * cos[k] + im1[k] * sin[k], im1[k] * cos[k] - re1[k] * sin[k]);
                    (re1[k], im1[k]) = (re0[k] - re, im0[k] - im);
                    (re0[k], im0[k]) = (re0[k] + re, im0[k] + im);
                }
            }
            half *= 2;
        }
    }

    fn add_product(&mut self, a: &Self, b: &Self) {
        for k in 0..BLOCK {
            self.re[k] += a.re[k] * b.re[k] - a.im[k] * b.im[k];
            self.im[k] += a.re[k] * b.im[k] + a.im[k] * b.re[k];
        }
    }

    /// The second half of the values; the wrapped-around part is in the first half.
    fn upper_half(mut self, roots: &Roots) -> [f64; BLOCK] {
        self.backward(roots);
        let mut values = [0.0; BLOCK];
        for (index, value) in values.iter_mut().enumerate() {
            let (cos, sin) = (roots.turn_re[index], roots.turn_im[index]);
            *value = (self.im[index] * cos - self.re[index] * sin) * (1.0 / BLOCK as f64);
        }
        values
    }
}

/// Roots of unity.
#[derive(Clone, Debug)]
struct Roots {
    /// From `half` on: the first half of the roots of order 2 `half`, clockwise.
    re: [f64; BLOCK],
    im: [f64; BLOCK],
    /// The first quarter of the roots of order 4 BLOCK.
    turn_re: [f64; BLOCK],
    turn_im: [f64; BLOCK],
}

impl Roots {
    fn new() -> Self {
        let [mut re, mut im, mut turn_re, mut turn_im] = [[0.0; BLOCK]; 4];
        let turns = |part: usize, whole: usize| 2.0 * core::f64::consts::PI * part as f64 / whole as f64;
        let mut half = 1;
        while half < BLOCK {
            for k in 0..half {
                let angle = turns(k, 2 * half);
                (re[half + k], im[half + k]) = (libm::cos(angle), -libm::sin(angle));
            }
            half *= 2;
        }
        for k in 0..BLOCK {
            let angle = turns(k, 4 * BLOCK);
            (turn_re[k], turn_im[k]) = (libm::cos(angle), libm::sin(angle));
        }
        Self { re, im, turn_re, turn_im }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_aqm::Rng;

    #[test]
    fn sums_are_those_of_the_definition() {
        let mut rng = Rng::from_state(7);
        let mut draw = || rng.uniform() - 0.5;
        // Weights for three past blocks, values of four and a half; the first block is short.
        let weights: Vec<f64> = (0..4 * BLOCK).map(|_| draw()).collect();
        let mut convolution = Convolution::new(&weights[..BLOCK]);
        (0..3).for_each(|i| convolution.reach_back(&weights[i * BLOCK..][..2 * BLOCK]));
        let mut values: Vec<f64> = Vec::new();
        for len in [BLOCK - 28, BLOCK, BLOCK, BLOCK, BLOCK / 2] {
            let (start, mut block) = (values.len(), vec![0.0; len]);
            let mut sums = Vec::new();
            convolution.block(&mut block, |index, sum| {
                assert_eq!(index, sums.len());
                sums.push(sum);
                draw()
            });
            values.extend(&block);
            for (index, found) in sums.into_iter().enumerate() {
                let at = start + index;
                // All values of the oldest block in reach count, although some have larger lags than others.
                let first = start.saturating_sub(3 * BLOCK);
                let expected: f64 = (first..at).map(|s| weights[at - s] * values[s]).sum();
                assert!((found - expected).abs() < 1e-13, "{at}: {found}, expected {expected}");
            }
            convolution.push(&block);
        }
    }
}
