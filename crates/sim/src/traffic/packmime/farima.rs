//! Fractional ARIMA sequences by Hosking's recursion.
//!
//! Source: J. R. M. Hosking, "Fractional differencing", Biometrika 68 (1981); ns-2.35 `packmime_ranvar.cc`, which
//! truncates the recursion and adds a moving average of weight 1. Other methods with the same distribution (Davies and
//! Harte) would draw other values and change every run.
//!
//! The prediction of value t has, for the value j steps back, the coefficient (Hosking's φ_tj) −C(t, j) Γ(j − d) Γ(t −
//! d − j + 1) / (Γ(−d) Γ(t − d + 1)). It equals a_j b_(t−j) / b_t with b_m = Γ(m − d + 1) / (Γ(1 − d) m!) and a_j =
//! −Γ(j − d) / (Γ(−d) j!). So the values, each multiplied by its b, follow a recursion whose weights a_j do not change
//! while it grows; after truncation the values themselves follow one with the weights of the last step. Neither needs
//! Durbin and Levinson's steps, and the sums over the past are convolutions.

use super::convolution::{BLOCK, Convolution};
use crate::random::normal;
use sojourn_aqm::Rng;

/// A sequence of normal variables, each correlated with those before it.
#[derive(Clone, Debug)]
pub(super) struct Farima {
    d: f64,
    /// Maximum number of past values in the recursion.
    memory: usize,
    rng: Rng,
    /// The recursion's sums over past values.
    past: Convolution,
    /// State of the recursion while it grows; none afterwards.
    growth: Option<Growth>,
    /// Variance of the innovation.
    variance: f64,
    last: f64,
    /// The current block of values, how many there are, and how many were drawn.
    block: [f64; BLOCK],
    filled: usize,
    drawn: usize,
}

/// A recursion that still covers all past values.
#[derive(Clone, Debug)]
struct Growth {
    /// The weights a_j.
    weights: Vec<f64>,
    /// All values so far, and the b of the next one.
    values: Vec<f64>,
    scale: f64,
}

impl Farima {
    /// The sequence of order (0, `d`, 1) with unit innovations, truncated to `memory` past values.
    pub fn new(d: f64, memory: usize, rng: Rng) -> Self {
        let (variance, weights) = (gamma_ratio(d), lag_weights(d, memory.next_multiple_of(BLOCK) + BLOCK));
        let past = Convolution::new(&weights[..BLOCK]);
        let growth = Some(Growth { weights, values: Vec::with_capacity(memory), scale: 1.0 });
        let block = [0.0; BLOCK];
        let mut farima = Self { d, memory, rng, past, growth, variance, last: 0.0, block, filled: 0, drawn: 0 };
        farima.last = farima.step();
        farima
    }

    /// The next value.
    #[inline]
    pub fn draw(&mut self) -> f64 {
        let before = self.last;
        self.last = self.step();
        self.last + before
    }

    /// The next value of the fractionally differenced noise.
    #[inline]
    fn step(&mut self) -> f64 {
        if self.drawn == self.filled {
            self.refill();
        }
        self.drawn += 1;
        self.block[self.drawn - 1]
    }

    /// Computes the next block of values, which depend on nothing else.
    #[inline(never)]
    fn refill(&mut self) {
        self.drawn = 0;
        match self.growth.take() {
            Some(growth) if growth.values.len() < self.memory => self.growth = Some(self.grow(growth)),
            Some(growth) => {
                self.past = self.steady_state(&growth);
                self.extend();
            }
            None => self.extend(),
        }
    }

    /// Computes a block while the recursion covers all values; shorter if it reaches its maximum length.
    fn grow(&mut self, mut growth: Growth) -> Growth {
        let Self { past, rng, variance, d, .. } = self;
        let start = growth.values.len();
        self.filled = BLOCK.min(self.memory - start);
        let (mut scales, mut scale) = ([0.0; BLOCK], growth.scale);
        let block = &mut self.block[..self.filled];
        past.block(block, |index, sum| {
            let value = sum + scale * (variance.sqrt() * normal(rng));
            let t = (start + index + 1) as f64;
            let partial = *d / (t - *d);
            *variance *= 1.0 - partial * partial;
            scales[index] = scale;
            scale *= (t - *d) / t;
            value
        });
        growth.scale = scale;
        past.reach_back(&growth.weights[past.reach() * BLOCK..][..2 * BLOCK]);
        past.push(block);
        block.iter_mut().zip(scales).for_each(|(value, scale)| *value /= scale);
        growth.values.extend_from_slice(block);
        growth
    }

    /// The sums of the recursion at its full length, with the last values as its past.
    fn steady_state(&self, growth: &Growth) -> Convolution {
        let Growth { weights, values, scale } = growth;
        // b_(memory-j) / b_memory, from j = 0 on.
        let (mut ratio, mut last_weights) = (*scale, vec![0.0; weights.len()]);
        for j in 1..=self.memory {
            let t = (self.memory - j + 1) as f64;
            ratio *= t / (t - self.d);
            last_weights[j] = weights[j] * ratio / scale;
        }
        let mut past = Convolution::new(&last_weights[..BLOCK]);
        let blocks: Vec<&[f64]> = values.rchunks(BLOCK).collect();
        (0..blocks.len()).for_each(|i| past.reach_back(&last_weights[i * BLOCK..][..2 * BLOCK]));
        blocks.into_iter().rev().for_each(|block| past.push(block));
        past
    }

    /// Computes a block at the recursion's full length.
    fn extend(&mut self) {
        let Self { past, rng, variance, block, .. } = self;
        self.filled = BLOCK;
        let deviation = variance.sqrt();
        past.block(block, |_, sum| sum + deviation * normal(rng));
        past.push(block);
    }
}

/// The weights a_j for `count` lags, from 0 on; lag 0 has none.
fn lag_weights(d: f64, count: usize) -> Vec<f64> {
    let mut weights = vec![0.0; count];
    let mut weight = d;
    for (j, slot) in weights.iter_mut().enumerate().skip(1) {
        *slot = weight;
        weight *= (j as f64 - d) / (j as f64 + 1.0);
    }
    weights
}

/// The factor by which `Farima` values must be multiplied to have the variance `share`.
pub(super) fn scale_for(d: f64, share: f64) -> f64 {
    (share / gamma_ratio(d) / (2.0 + 2.0 * d / (1.0 - d))).sqrt()
}

/// Variance of fractionally differenced noise: Γ(1 − 2d) / Γ(1 − d)².
fn gamma_ratio(d: f64) -> f64 {
    libm::exp(libm::lgamma(1.0 - 2.0 * d) - 2.0 * libm::lgamma(1.0 - d))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_durbin_and_levinson_s_recursion() {
        // Shorter than a block, exactly one, across the end of one, and long enough for several blocks afterwards.
        for (memory, count) in [(1, 300), (50, 500), (BLOCK, 700), (300, 1500), (1000, 3000)] {
            let (d, rng) = (0.31, Rng::from_state(3));
            let mut farima = Farima::new(d, memory, rng.clone());
            let (plain, coefficients) = plain(d, memory, rng, count);
            let first = farima.last;
            assert!((first - plain[0]).abs() < 1e-12, "{first}, expected {}", plain[0]);
            for (t, &expected) in plain.iter().enumerate().skip(1) {
                let found = farima.step();
                assert!((found - expected).abs() < 1e-11, "{memory}, value {t}: {found}, expected {expected}");
            }
            // Hosking's closed form, by products from j = 1 on.
            let t = memory as f64;
            let mut expected = t * d / (t - d);
            for (i, &phi) in coefficients.iter().enumerate() {
                assert!((phi - expected).abs() < 1e-12, "phi_{t},{}: {phi}, expected {expected}", i + 1);
                let j = (i + 1) as f64;
                expected *= (t - j) / (j + 1.0) * (j - d) / (t - d - j);
            }
        }
    }

    /// The recursion in its textbook form, with one more coefficient after each value. Returns the values and the last
    /// coefficients.
    fn plain(d: f64, memory: usize, mut rng: Rng, count: usize) -> (Vec<f64>, Vec<f64>) {
        let (mut phi, mut values, mut variance) = (Vec::<f64>::new(), Vec::new(), gamma_ratio(d));
        for _ in 0..count {
            let sum: f64 = phi.iter().zip(values.iter().rev()).map(|(phi, x)| phi * x).sum();
            values.push(sum + variance.sqrt() * normal(&mut rng));
            if phi.len() < memory {
                let t = (phi.len() + 1) as f64;
                let partial = d / (t - d);
                let before = phi.clone();
                phi.iter_mut().zip(before.iter().rev()).for_each(|(phi, other)| *phi -= partial * other);
                phi.push(partial);
                variance *= 1.0 - partial * partial;
            }
        }
        (values, phi)
    }

    #[test]
    fn autocorrelation_is_that_of_fractional_noise() {
        // rho_k = rho_(k-1) (k - 1 + d) / (k - d), for the noise before the moving average.
        let (d, n) = (0.33, 400_000);
        let mut farima = Farima::new(d, 1000, Rng::from_state(2));
        let x: Vec<f64> = (0..n).map(|_| farima.step()).collect();
        let covariance = |k: usize| x.iter().zip(&x[k..]).map(|(a, b)| a * b).sum::<f64>() / (n - k) as f64;
        assert!((covariance(0) / gamma_ratio(d) - 1.0).abs() < 0.03, "variance {}", covariance(0));
        let mut rho = 1.0;
        for k in 1..=20 {
            rho *= (k as f64 - 1.0 + d) / (k as f64 - d);
            let found = covariance(k) / covariance(0);
            assert!((found - rho).abs() < 0.02, "lag {k}: {found}, expected {rho}");
        }
    }

    #[test]
    fn scaled_values_have_the_variance_asked_for() {
        let (d, share) = (0.31, 0.3);
        let scale = scale_for(d, share);
        let mut farima = Farima::new(d, 1000, Rng::from_state(4));
        let n = 400_000;
        let variance = (0..n).map(|_| farima.draw() * scale).map(|y| y * y).sum::<f64>() / n as f64;
        assert!((variance / share - 1.0).abs() < 0.05, "{variance}");
    }
}
