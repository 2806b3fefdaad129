//! Draws from distributions; identical on every machine, because all functions come from `libm`.

use sojourn_aqm::Rng;

/// Standard normal (Box and Muller, 1958; one of the pair).
pub(crate) fn normal(rng: &mut Rng) -> f64 {
    let radius = (2.0 * rng.exponential()).sqrt();
    radius * libm::cos(2.0 * core::f64::consts::PI * rng.uniform())
}

/// Gamma with mean `shape` and variance `shape`, above zero (Marsaglia and Tsang, 2000; for `shape` below 1 with their
/// boost).
pub(crate) fn gamma(rng: &mut Rng, shape: f64) -> f64 {
    if shape < 1.0 {
        let boost = libm::pow(1.0 - rng.uniform(), 1.0 / shape);
        return gamma(rng, shape + 1.0) * boost;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(rng);
        let v = 1.0 + c * x;
        if v <= 0.0 {
            continue;
        }
        let v = v * v * v;
        if -rng.exponential() < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v;
        }
    }
}

/// Weibull: mean `scale`·Γ(1 + 1/`shape`).
pub(crate) fn weibull(rng: &mut Rng, shape: f64, scale: f64) -> f64 {
    weibull_of(rng.exponential(), shape, scale)
}

/// Transforms an exponential variable of mean 1 into a Weibull one.
pub(crate) fn weibull_of(exponential: f64, shape: f64, scale: f64) -> f64 {
    scale * libm::pow(exponential, 1.0 / shape)
}

/// The standard normal distribution function: P(X < `z`).
pub(crate) fn normal_below(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

/// Geometric on 1, 2, …; `mean` is at least 1.
pub(crate) fn geometric(rng: &mut Rng, mean: f64) -> u32 {
    if mean <= 1.0 {
        return 1;
    }
    // Number of trials until the first success, by inversion.
    1 + (rng.exponential() / -libm::log1p(-1.0 / mean)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and variance of 200,000 draws.
    fn moments(mut draw: impl FnMut() -> f64) -> (f64, f64) {
        let draws: Vec<f64> = (0..200_000).map(|_| draw()).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        (mean, draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / draws.len() as f64)
    }

    #[test]
    fn means_and_variances() {
        let rng = &mut Rng::from_state(1);
        let (mean, variance) = moments(|| normal(rng));
        assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.015, "{mean} {variance}");
        for shape in [0.41, 0.719, 1.0, 2.404] {
            let (mean, variance) = moments(|| gamma(rng, shape));
            assert!(
                (mean / shape - 1.0).abs() < 0.015 && (variance / shape - 1.0).abs() < 0.04,
                "{shape}: {mean} {variance}"
            );
        }
        for mean in [1.0, 1.041, 3.276] {
            let (found, variance) = moments(|| f64::from(geometric(rng, mean)));
            let expected = mean * (mean - 1.0);
            assert!(
                (found / mean - 1.0).abs() < 0.01 && (variance - expected).abs() < 0.03 * expected + 1e-9,
                "{mean}: {found} {variance}"
            );
        }
    }

    #[test]
    fn weibull_s_mean_and_variance() {
        let rng = &mut Rng::from_state(5);
        for (shape, scale) in [(0.8, 1.0), (1.0, 0.5), (2.0, 3.0)] {
            let (mean, variance) = moments(|| weibull(rng, shape, scale));
            let raw = |k: f64| f64::powi(scale, k as i32) * libm::tgamma(1.0 + k / shape);
            assert!((mean / raw(1.0) - 1.0).abs() < 0.015, "{shape}, {scale}: {mean}");
            assert!((variance / (raw(2.0) - raw(1.0) * raw(1.0)) - 1.0).abs() < 0.05, "{shape}, {scale}: {variance}");
        }
    }

    #[test]
    fn normal_shares_are_the_tabulated_ones() {
        for (z, share) in [(0.0, 0.5), (1.0, 0.841_344_746), (-1.96, 0.024_997_895), (3.0, 0.998_650_102)] {
            assert!((normal_below(z) - share).abs() < 1e-8, "{z}");
        }
    }
}
