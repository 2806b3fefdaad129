//! Fractional ARIMA sequences by Hosking's recursion.
//!
//! Source: J. R. M. Hosking, "Fractional differencing", Biometrika 68 (1981); ns-2.35 `packmime_ranvar.cc`, which
//! truncates the recursion and adds a moving average of weight 1.

use crate::random::normal;
use sojourn_aqm::Rng;

/// A sequence of normal variables of which each leans on those before it.
#[derive(Clone, Debug)]
pub(super) struct Farima {
    d: f64,
    /// Values that the recursion looks back at, at most.
    memory: usize,
    rng: Rng,
    /// Partial regression coefficients of the next value on the last one, the one before, ….
    phi: Vec<f64>,
    /// Variance of the innovation.
    variance: f64,
    /// The last values: twice in a row, so that any number of them are neighbours.
    past: Vec<f64>,
    /// Where the next value goes, counted downwards; the last one lies behind it.
    at: usize,
    last: f64,
    /// Values that have been computed ahead, and how many of them were drawn.
    ahead: [f64; AHEAD],
    drawn: usize,
}

impl Farima {
    /// The sequence of order (0, `d`, 1) with unit innovations, cut off after `memory` values.
    pub fn new(d: f64, memory: usize, rng: Rng) -> Self {
        let variance = gamma_ratio(d);
        let (past, ahead) = (vec![0.0; 2 * memory], [0.0; AHEAD]);
        let mut farima =
            Self { d, memory, rng, phi: Vec::new(), variance, past, at: 0, last: 0.0, ahead, drawn: AHEAD };
        farima.last = farima.step();
        farima
    }

    /// The next value.
    pub fn draw(&mut self) -> f64 {
        if self.drawn == AHEAD {
            self.go_ahead();
        }
        self.drawn += 1;
        self.ahead[self.drawn - 1]
    }

    /// Computes the next values, which depend on nothing else: coefficients and past, which drive all else out of a cache,
    /// come into it once for all of them.
    fn go_ahead(&mut self) {
        for place in 0..AHEAD {
            let before = self.last;
            self.last = self.step();
            self.ahead[place] = self.last + before;
        }
        self.drawn = 0;
    }

    /// The next value of the fractionally differenced noise.
    fn step(&mut self) -> f64 {
        let lag = self.phi.len();
        let x = dot(&self.phi, &self.past[self.at..self.at + lag]) + self.variance.sqrt() * normal(&mut self.rng);
        self.at = if self.at == 0 { self.memory - 1 } else { self.at - 1 };
        self.past[self.at] = x;
        self.past[self.at + self.memory] = x;
        if lag < self.memory {
            self.extend();
        }
        x
    }

    /// Durbin and Levinson's recursion: the coefficients for one value more.
    fn extend(&mut self) {
        let t = self.phi.len() + 1;
        let partial = self.d / (t as f64 - self.d);
        let middle = (t - 1) / 2;
        let (front, back) = self.phi.split_at_mut(middle);
        // Of an odd number of coefficients the one in the middle is its own partner.
        let (own, back) = back.split_at_mut(usize::from(t % 2 == 0));
        own.iter_mut().for_each(|phi| *phi -= partial * *phi);
        let (mut fronts, mut backs) = (front.chunks_exact_mut(MANY), back.rchunks_exact_mut(MANY));
        for (front, back) in (&mut fronts).zip(&mut backs) {
            // Copied and turned round before any is written, so that all are computed side by side.
            let (mut partners, mut theirs) = ([0.0; MANY], [0.0; MANY]);
            partners.copy_from_slice(back);
            theirs.copy_from_slice(front);
            partners.reverse();
            theirs.reverse();
            front.iter_mut().zip(partners).for_each(|(phi, other)| *phi -= partial * other);
            back.iter_mut().zip(theirs).for_each(|(phi, other)| *phi -= partial * other);
        }
        let rest = fronts.into_remainder().iter_mut().zip(backs.into_remainder().iter_mut().rev());
        for (a, b) in rest {
            (*a, *b) = (*a - partial * *b, *b - partial * *a);
        }
        self.phi.push(partial);
        self.variance *= 1.0 - partial * partial;
    }
}

/// The factor that gives `Farima` values, once scaled by it, the variance `share`.
pub(super) fn scale_for(d: f64, share: f64) -> f64 {
    (share / gamma_ratio(d) / (2.0 + 2.0 * d / (1.0 - d))).sqrt()
}

/// Variance of fractionally differenced noise: Γ(1 − 2d) / Γ(1 − d)².
fn gamma_ratio(d: f64) -> f64 {
    libm::exp(libm::lgamma(1.0 - 2.0 * d) - 2.0 * libm::lgamma(1.0 - d))
}

/// Four sums side by side, in a fixed order: the processor need not wait for one addition before the next.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let whole = a.len() / LANES * LANES;
    let (a, rest_of_a) = a.split_at(whole);
    let (b, rest_of_b) = b.split_at(whole);
    let rest: f64 = rest_of_a.iter().zip(rest_of_b).map(|(x, y)| x * y).sum();
    let sums = sums_of_products(a, b);
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// Each lane's own sum. Not inlined: a compiler that sees how the sums are added up rearranges the lanes of every element
/// for it, which takes twice the instructions.
#[inline(never)]
fn sums_of_products(a: &[f64], b: &[f64]) -> [f64; LANES] {
    let mut sums = [0.0; LANES];
    let (many_of_a, many_of_b) = (a.chunks_exact(MANY), b.chunks_exact(MANY));
    let (rest_of_a, rest_of_b) = (many_of_a.remainder(), many_of_b.remainder());
    for (a, b) in many_of_a.zip(many_of_b) {
        for i in 0..MANY {
            sums[i % LANES] += a[i] * b[i];
        }
    }
    for (a, b) in rest_of_a.chunks_exact(LANES).zip(rest_of_b.chunks_exact(LANES)) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums
}

/// Values that are computed at a time.
const AHEAD: usize = 16;

/// Sums that are computed side by side.
const LANES: usize = 4;

/// Products, or coefficients, between two looks at whether there are more.
const MANY: usize = 4 * LANES;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_are_hosking_s_closed_form() {
        // phi_tj = -C(t, j) Γ(j - d) Γ(t - d - j + 1) / (Γ(-d) Γ(t - d + 1)), by products from j = 1 on.
        let (d, t) = (0.33, 40);
        let mut farima = Farima::new(d, 100, Rng::from_state(1));
        while farima.phi.len() < t {
            farima.step();
        }
        let mut expected = t as f64 * d / (t as f64 - d);
        for (i, &phi) in farima.phi.iter().enumerate() {
            assert!((phi - expected).abs() < 1e-12, "phi_{t},{}: {phi}, expected {expected}", i + 1);
            let j = (i + 1) as f64;
            expected *= (t as f64 - j) / (j + 1.0) * (j - d) / (t as f64 - d - j);
        }
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
    fn the_ring_gives_what_the_plain_recursion_gives() {
        let (d, memory) = (0.31, 50);
        let mut ring = Farima::new(d, memory, Rng::from_state(3));
        let phi = {
            let mut grown = ring.clone();
            while grown.phi.len() < memory {
                grown.step();
            }
            (grown.phi, grown.variance)
        };
        let mut plain: Vec<f64> = (0..memory).map(|_| ring.step()).collect();
        for _ in 0..200 {
            let mut rng = ring.rng.clone();
            let expected: f64 = phi.0.iter().zip(plain.iter().rev()).map(|(phi, x)| phi * x).sum::<f64>()
                + phi.1.sqrt() * normal(&mut rng);
            let found = ring.step();
            assert!((found - expected).abs() < 1e-9, "{found}, expected {expected}");
            plain.push(found);
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
