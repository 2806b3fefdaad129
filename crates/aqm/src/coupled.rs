//! Common parts of PI2 and DualPI2: the controller of p', and the coupling of p' to verdicts (K. De Schepper et al.,
//! CoNEXT 2016; RFC 9332).

use crate::aqm::Verdict;
use crate::rng::Rng;
use crate::time::Duration;

/// Proportional-integral controller of p', without scaling. Delays are in seconds.
#[derive(Clone, Debug)]
pub(crate) struct Controller {
    target: f64,
    alpha: f64,
    beta: f64,
    /// The output p', from 0 to `max_p`.
    pub p: f64,
    max_p: f64,
    pub qdelay: f64,
    pub qdelay_old: f64,
}

impl Controller {
    /// A controller before its first delay sample; the gains are per second.
    pub fn new(target: Duration, alpha: f64, beta: f64, max_p: f64) -> Self {
        Self { target: target.as_secs_f64(), alpha, beta, p: 0.0, max_p, qdelay: 0.0, qdelay_old: 0.0 }
    }

    /// Continues from the state of `old` with its own target, gains and maximum.
    pub fn inherit(&mut self, old: &Self) {
        (self.p, self.qdelay, self.qdelay_old) = (old.p.min(self.max_p), old.qdelay, old.qdelay_old);
    }

    /// Runs the update of every Tupdate.
    pub fn update(&mut self, qdelay: f64) {
        self.qdelay = qdelay;
        let delta = self.alpha * (qdelay - self.target) + self.beta * (qdelay - self.qdelay_old);
        self.p = (self.p + delta).clamp(0.0, self.max_p);
        self.qdelay_old = qdelay;
    }

    /// Whether updates without delay leave the state unchanged.
    pub fn is_at_rest(&self) -> bool {
        self.p == 0.0 && self.qdelay == 0.0 && self.qdelay_old == 0.0
    }

    pub fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("p", self.p);
        see("qdelay", self.qdelay);
        see("qdelay_old", self.qdelay_old);
    }
}

/// Probabilities of classic and scalable packets as functions of p'.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coupling {
    /// Coupling factor: scalable packets use k p'.
    pub k: f64,
    /// Whether to drop if k p' exceeds one.
    pub drop_overload: bool,
}

/// Inputs of a verdict besides p'.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VerdictInput {
    pub ect: bool,
    pub scalable: bool,
    /// Marking probability of the scalable packet's own queue.
    pub native: f64,
}

/// Source of random decisions.
pub(crate) trait RandomTrial {
    /// True with probability `p`.
    fn with_probability(&mut self, p: f64) -> bool;
    /// True with probability `p`².
    fn with_squared_probability(&mut self, p: f64) -> bool;
}

impl RandomTrial for Rng {
    fn with_probability(&mut self, p: f64) -> bool {
        self.uniform() < p
    }
    fn with_squared_probability(&mut self, p: f64) -> bool {
        self.uniform() < p && self.uniform() < p
    }
}

impl Coupling {
    /// Maximum of p'.
    pub fn max_p(self) -> f64 {
        if self.drop_overload { 1.0 } else { (1.0 / self.k).min(1.0) }
    }

    /// The verdict at `p`: a scalable packet uses the maximum of k p' and `native`, a classic one p'². If k p' exceeds
    /// one (overload), both are dropped with p'².
    pub fn judge(self, p: f64, packet: VerdictInput, dice: &mut impl RandomTrial) -> Verdict {
        let overload = self.k * p > 1.0;
        if packet.scalable {
            return match overload {
                true if self.drop_overload && dice.with_squared_probability(p) => Verdict::Drop,
                true => Verdict::Mark,
                false if dice.with_probability(packet.native.max(self.k * p)) => Verdict::Mark,
                false => Verdict::Accept,
            };
        }
        match dice.with_squared_probability(p) {
            false => Verdict::Accept,
            true if packet.ect && !(overload && self.drop_overload) => Verdict::Mark,
            true => Verdict::Drop,
        }
    }
}
