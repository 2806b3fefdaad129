//! Opportunities of a Poisson process.

use super::server::{OpportunitySource, ServerParams};
use sojourn_aqm::{Duration, Instant, Rate, Rng};

/// A Poisson process.
#[derive(Clone, Debug)]
pub(super) struct Poisson {
    mean_gap_ns: f64,
    rng: Rng,
    next: Instant,
}

impl Poisson {
    /// Opportunities of one MTU at a mean `rate`.
    pub fn new(rate: Rate, params: &ServerParams) -> Self {
        let mean_gap_ns = params.mtu as f64 * 8e9 / rate.as_bps() as f64;
        let mut process = Self { mean_gap_ns, rng: params.rng(), next: Instant::ZERO };
        process.step();
        process
    }
}

impl OpportunitySource for Poisson {
    fn next_at(&self) -> Instant {
        self.next
    }

    fn step(&mut self) {
        self.next += Duration::from_nanos(libm::round(self.mean_gap_ns * self.rng.exponential()) as i64);
    }
}
