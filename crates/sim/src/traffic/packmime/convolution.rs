//! Sums of many past values with fixed weights, for a block of coming values at a time.
//!
//! Source: T. G. Stockham, "High-speed convolution and correlation", AFIPS SJCC 1966 (sections by transforms); W. G. Gardner,
//! "Efficient convolution without input-output delay", J. Audio Eng. Soc. 43 (1995), for what lies within a block; H. J.
//! Nussbaumer, "Fast Fourier Transform and Convolution Algorithms" (1981) for real values as halves of complex ones.
//!
//! The order of all additions is fixed and all functions are `libm`'s, so the sums are the same on every machine.

use std::collections::VecDeque;

/// Values in a block.
pub(super) const BLOCK: usize = 128;
/// Values whose weights are added up together; a block is made of whole groups.
const GROUP: usize = 8;

/// Past values in whole blocks, weights by their lag, and what the two make of the values to come.
#[derive(Clone, Debug)]
pub(super) struct Convolution {
    roots: Roots,
    /// Weights of lags within a block, that of lag 0 (nothing) first.
    near: [f64; BLOCK],
    /// Transforms of the weights that join the coming block with the last one, the one before, ….
    weights: Vec<Spectrum>,
    /// Transforms of the blocks, the last one first.
    blocks: VecDeque<Spectrum>,
}

impl Convolution {
    /// Without a past. `near` are the weights of the lags 0 (which is not looked at) to BLOCK - 1.
    pub fn new(near: &[f64]) -> Self {
        let mut own = [0.0; BLOCK];
        own.copy_from_slice(near);
        own[0] = 0.0;
        Self { roots: Roots::new(), near: own, weights: Vec::new(), blocks: VecDeque::new() }
    }

    /// How many blocks back there are weights for.
    pub fn reach(&self) -> usize {
        self.weights.len()
    }

    /// Weights for one block farther back: `weights` are those of the 2 BLOCK lags from BLOCK times [`Self::reach`] on.
    pub fn reach_back(&mut self, weights: &[f64]) {
        let (low, high) = weights.split_at(BLOCK);
        let spectrum = Spectrum::of(low, Some(high), &self.roots);
        self.weights.push(spectrum);
    }

    /// A block is over: its values, of which the first ones may be absent. The oldest beyond the reach is forgotten.
    pub fn push(&mut self, block: &[f64]) {
        let mut whole = [0.0; BLOCK];
        whole[BLOCK - block.len()..].copy_from_slice(block);
        if self.blocks.len() == self.reach() {
            self.blocks.pop_back();
        }
        let spectrum = Spectrum::of(&whole, None, &self.roots);
        self.blocks.push_front(spectrum);
    }

    /// Values of the next block: each is what `next` makes of its place and of the weighted sum of all values before it.
    pub fn block(&self, values: &mut [f64], mut next: impl FnMut(usize, f64) -> f64) {
        let mut sums = self.sums();
        for from in (0..values.len()).step_by(GROUP) {
            let mut group = [0.0; GROUP];
            for place in from..values.len().min(from + GROUP) {
                let value = next(place, sums[place]);
                (values[place], group[place - from]) = (value, value);
                let later = &mut sums[place + 1..from + GROUP];
                later.iter_mut().zip(&self.near[1..]).for_each(|(sum, weight)| *sum += weight * value);
            }
            self.add_group(&group, from, &mut sums);
        }
    }

    /// What the values of a group, which begins at `from`, add to the sums of the groups behind it. Left to right, so that each
    /// sum gets its terms in the order of time; a group at a time, so that each sum is read and written once.
    fn add_group(&self, group: &[f64; GROUP], from: usize, sums: &mut [f64; BLOCK]) {
        for at in (from + GROUP..BLOCK).step_by(GROUP) {
            // Of the lags from the last value of the group to the first place, to those from its first value to the last place.
            let weights: &[f64; 2 * GROUP - 1] =
                self.near[at - from - GROUP + 1..][..2 * GROUP - 1].try_into().expect("so many");
            let later: &mut [f64; GROUP] = (&mut sums[at..at + GROUP]).try_into().expect("so many");
            let mut sum = *later;
            for (value, weights) in group.iter().zip(weights.windows(GROUP).rev()) {
                sum.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += weight * value);
            }
            *later = sum;
        }
    }

    /// What the blocks add to each value of the next one.
    fn sums(&self) -> [f64; BLOCK] {
        if self.blocks.is_empty() {
            return [0.0; BLOCK];
        }
        let mut sum = Spectrum::ZERO;
        self.blocks.iter().zip(&self.weights).for_each(|(block, weights)| sum.add_product(block, weights));
        sum.upper_half(&self.roots)
    }
}

/// The transform of 2 BLOCK real values, of which the second half is the imaginary part of the first, turned by a quarter
/// of a turn over all: products of such transforms are transforms of convolutions in which what runs over the end comes in
/// again at the beginning with the other sign. In the order that the transform leaves it in.
#[derive(Clone, Debug)]
struct Spectrum {
    re: [f64; BLOCK],
    im: [f64; BLOCK],
}

impl Spectrum {
    const ZERO: Self = Self { re: [0.0; BLOCK], im: [0.0; BLOCK] };

    /// Of the first half, and the second one if there is any.
    fn of(low: &[f64], high: Option<&[f64]>, roots: &Roots) -> Self {
        let mut spectrum = Self::ZERO;
        let Self { re, im } = &mut spectrum;
        for place in 0..BLOCK {
            let (x, y) = (low[place], high.map_or(0.0, |high| high[place]));
            let (cos, sin) = (roots.turn_re[place], roots.turn_im[place]);
            (re[place], im[place]) = (x * cos - y * sin, x * sin + y * cos);
        }
        spectrum.forward(roots);
        spectrum
    }

    /// Cooley and Tukey's transform, decimation in frequency: the values come out in the order of their reversed places.
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

    /// The second half of the values: what has run over an end is in the first one.
    fn upper_half(mut self, roots: &Roots) -> [f64; BLOCK] {
        self.backward(roots);
        let mut values = [0.0; BLOCK];
        for (place, value) in values.iter_mut().enumerate() {
            let (cos, sin) = (roots.turn_re[place], roots.turn_im[place]);
            *value = (self.im[place] * cos - self.re[place] * sin) * (1.0 / BLOCK as f64);
        }
        values
    }
}

/// Roots of unity.
#[derive(Clone, Debug)]
struct Roots {
    /// From `half` on the first half of those of order 2 `half`, which turn clockwise.
    re: [f64; BLOCK],
    im: [f64; BLOCK],
    /// The first quarter of those of order 4 BLOCK.
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
        // Weights for three blocks back, values of four and a half; the first one is short.
        let weights: Vec<f64> = (0..4 * BLOCK).map(|_| draw()).collect();
        let mut convolution = Convolution::new(&weights[..BLOCK]);
        (0..3).for_each(|i| convolution.reach_back(&weights[i * BLOCK..][..2 * BLOCK]));
        let mut values: Vec<f64> = Vec::new();
        for len in [BLOCK - 28, BLOCK, BLOCK, BLOCK, BLOCK / 2] {
            let (begun, mut block) = (values.len(), vec![0.0; len]);
            let mut sums = Vec::new();
            convolution.block(&mut block, |place, sum| {
                assert_eq!(place, sums.len());
                sums.push(sum);
                draw()
            });
            values.extend(&block);
            for (place, found) in sums.into_iter().enumerate() {
                let at = begun + place;
                // Of the oldest block in reach all values count, although some have lags beyond those of others.
                let first = begun.saturating_sub(3 * BLOCK);
                let expected: f64 = (first..at).map(|s| weights[at - s] * values[s]).sum();
                assert!((found - expected).abs() < 1e-13, "{at}: {found}, expected {expected}");
            }
            convolution.push(&block);
        }
    }
}
