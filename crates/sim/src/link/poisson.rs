//! Opportunities that are a Poisson process.

use super::opportunity::{Opportunities, Source};
use super::{Seat, Server};
use sojourn_aqm::{Duration, Instant, Rate, Rng};

/// A Poisson process.
#[derive(Clone, Debug)]
struct Poisson {
    mean_gap: Duration,
    rng: Rng,
    next: Instant,
}

impl Server {
    /// Opportunities of one MTU at a mean `rate`.
    pub fn poisson(rate: Rate, seat: &Seat) -> Self {
        let mean_gap = rate.time_for(seat.mtu as u64);
        let mut process = Poisson { mean_gap, rng: seat.rng(), next: Instant::ZERO };
        process.step();
        Self::Opportunities(Opportunities::new(process, seat))
    }
}

impl Source for Poisson {
    fn next_at(&self) -> Instant {
        self.next
    }

    fn step(&mut self) {
        self.next += self.mean_gap.mul_f64(self.rng.exponential());
    }
}
