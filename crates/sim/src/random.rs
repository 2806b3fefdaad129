//! Draws from distributions; the same on every machine, because all functions come from `libm`.

use sojourn_aqm::Rng;

/// Standard normal (Box and Muller, 1958: one of the pair).
pub(crate) fn normal(rng: &mut Rng) -> f64 {
    let radius = (2.0 * rng.exponential()).sqrt();
    radius * libm::cos(2.0 * core::f64::consts::PI * rng.uniform())
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
    }
}
