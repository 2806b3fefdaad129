//! Opportunities of a doubly stochastic Poisson process: Sprout's model of a cellular link.
//!
//! Source: named in `scenario/service/cox.rs`. The rate is constant within a tick and moves between ticks by a normal
//! step, clipped to the range from zero to the maximum. Zero is an outage: a tick ends it with the probability that a
//! process of rate 1 / outage has an event in the tick. The rate starts anywhere in its range and wanders over all of
//! it; there is no mean reversion.
//!
//! The step out of an outage is taken as its absolute value, because Sprout's filter moves probability away from zero
//! only upwards.

use super::server::{OpportunitySource, ServerParams};
use crate::random::normal;
use crate::scenario::CoxService;
use sojourn_aqm::{Duration, Instant, Rng};

/// State of the process in one tick.
#[derive(Clone, Debug)]
pub(super) struct Cox {
    /// Packets per second: the maximum rate, and the standard deviation of a step.
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
    /// The process of `spec`, at its first opportunity.
    pub fn new(spec: &CoxService, params: &ServerParams) -> Self {
        let (max, tick_s) = (spec.cox.as_bps() as f64 / (8.0 * params.mtu as f64), spec.tick.as_secs_f64());
        let mut rng = params.rng();
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

    /// Advances by one tick, or to the end of an outage.
    fn next_tick(&mut self) {
        if self.rate > 0.0 {
            self.tick_end += self.tick;
            self.rate = (self.rate + self.step_sd * normal(&mut self.rng)).clamp(0.0, self.max);
            return;
        }
        // Skip all ticks of an outage at once: it ends with the tick that contains the exponential time.
        let left = self.outage.mul_f64(self.rng.exponential());
        self.tick_end += self.tick * (left.as_nanos() / self.tick.as_nanos() + 1);
        self.rate = (self.step_sd * normal(&mut self.rng)).abs().min(self.max);
    }
}

impl OpportunitySource for Cox {
    fn next_at(&self) -> Instant {
        self.next
    }

    /// Gaps within a tick are exponential. A gap that crosses the end of the tick is drawn again in the next one, which
    /// is equivalent because the process is memoryless.
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
