//! Opportunities of a doubly stochastic Poisson process: Sprout's model of a cellular link.
//!
//! Source: `scenario/service/cox.rs` names it. In each tick the rate is constant; from tick to tick it moves by a
//! normal step and is clipped to the range from zero to the highest. Zero is an outage: it is left, upwards, in a tick
//! with the probability that a process of rate 1 / outage has an event in it. There is no mean reversion: the rate
//! wanders over the whole range. It starts anywhere in it.

use super::server::{OpportunitySource, ServerParams};
use crate::random::normal;
use crate::scenario::CoxService;
use sojourn_aqm::{Duration, Instant, Rng};

/// The process in one tick.
#[derive(Clone, Debug)]
pub(super) struct Cox {
    /// Packets per second: the highest rate, and the standard deviation of a step.
    max: f64,
    step_sd: f64,
    tick: Duration,
    /// Mean length of an outage.
    outage: Duration,
    tick_end: Instant,
    rate: f64,
    rng: Rng,
    next: Instant,
}

impl Cox {
    /// The process that `spec` describes.
    pub fn new(spec: &CoxService, seat: &ServerParams) -> Self {
        let (max, tick_s) = (spec.cox.as_bps() as f64 / (8.0 * seat.mtu as f64), spec.tick.as_secs_f64());
        let mut rng = seat.rng();
        let mut process = Self {
            max,
            step_sd: spec.sigma as f64 * tick_s.sqrt(),
            tick: spec.tick,
            outage: spec.outage,
            tick_end: Instant::ZERO + spec.tick,
            rate: max * rng.uniform(),
            rng,
            next: Instant::ZERO,
        };
        process.step();
        process
    }

    /// Goes to the next tick that need not be empty.
    fn next_tick(&mut self) {
        if self.rate > 0.0 {
            self.tick_end += self.tick;
            self.rate = (self.rate + self.step_sd * normal(&mut self.rng)).clamp(0.0, self.max);
            return;
        }
        // All ticks of an outage at once: it ends with the one in which the process of its end has an event.
        let left = self.outage.mul_f64(self.rng.exponential());
        self.tick_end += self.tick * (left.as_nanos() / self.tick.as_nanos() + 1);
        self.rate = (self.step_sd * normal(&mut self.rng)).abs().min(self.max);
    }
}

impl OpportunitySource for Cox {
    fn next_at(&self) -> Instant {
        self.next
    }

    /// Within a tick gaps are exponential; where one reaches over its end, the next tick begins anew, which is the
    /// same because the process has no memory.
    fn step(&mut self) {
        let mut now = self.next;
        loop {
            if self.rate > 0.0 {
                let at = now + Duration::from_secs_f64(self.rng.exponential() / self.rate);
                if at < self.tick_end {
                    self.next = at;
                    return;
                }
            }
            self.next_tick();
            now = self.tick_end - self.tick;
        }
    }
}
