//! Random draws of given distributions: plain arithmetic and `libm`, so that every machine draws the same.

use sojourn_aqm::Rng;

/// Standard normal (Box and Muller, 1958; the second of the pair is not used, so a draw takes two numbers always).
pub(super) fn normal(rng: &mut Rng) -> f64 {
    let radius = (2.0 * rng.exponential()).sqrt();
    radius * libm::cos(2.0 * std::f64::consts::PI * rng.uniform())
}

/// Weibull: mean `scale`·Γ(1 + 1/`shape`).
pub(super) fn weibull(rng: &mut Rng, shape: f64, scale: f64) -> f64 {
    scale * libm::pow(rng.exponential(), 1.0 / shape)
}

/// Gamma of mean `shape`, which is at least 1 (Marsaglia and Tsang, 2000).
pub(super) fn gamma(rng: &mut Rng, shape: f64) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(rng);
        let v = (1.0 + c * x) * (1.0 + c * x) * (1.0 + c * x);
        if v > 0.0 && libm::log(1.0 - rng.uniform()) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v;
        }
    }
}

/// The share of a standard normal variable that lies below `z`.
pub(super) fn normal_below(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean, variance and third central moment of 200,000 draws.
    fn moments(mut draw: impl FnMut(&mut Rng) -> f64) -> [f64; 3] {
        let mut rng = Rng::from_state(5);
        let draws: Vec<f64> = (0..200_000).map(|_| draw(&mut rng)).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let central = |power: i32| draws.iter().map(|x| (x - mean).powi(power)).sum::<f64>() / draws.len() as f64;
        [mean, central(2), central(3)]
    }

    fn assert_close(found: [f64; 3], expected: [f64; 3], what: &str) {
        for (found, expected) in found.into_iter().zip(expected) {
            // Sampling errors of the third moments here are below 2 %.
            assert!((found - expected).abs() < 0.02 + 0.05 * expected.abs(), "{what}: {found}, expected {expected}");
        }
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        assert_close(moments(normal), [0.0, 1.0, 0.0], "normal");
        for shape in [1.0, 1.85, 3.22] {
            assert_close(moments(|rng| gamma(rng, shape)), [shape, shape, 2.0 * shape], "gamma");
        }
        for (shape, scale) in [(0.8, 1.0), (1.0, 0.5), (2.0, 3.0)] {
            let raw = |k: f64| f64::powi(scale, k as i32) * libm::tgamma(1.0 + k / shape);
            let mean = raw(1.0);
            let expected = [mean, raw(2.0) - mean * mean, raw(3.0) - 3.0 * mean * raw(2.0) + 2.0 * mean.powi(3)];
            assert_close(moments(|rng| weibull(rng, shape, scale)), expected, "weibull");
        }
    }

    #[test]
    fn normal_shares_are_the_tabulated_ones() {
        for (z, share) in [(0.0, 0.5), (1.0, 0.841_344_746), (-1.96, 0.024_997_895), (3.0, 0.998_650_102)] {
            assert!((normal_below(z) - share).abs() < 1e-8, "{z}");
        }
    }
}
