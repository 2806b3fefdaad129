//! DualPI2 as listed in RFC 9332 (Appendix A), in floating point.

use super::config::{Classification, Config, Marking, Scheduler};
use super::wrr::Wrr;
use crate::aqm::{Cx, Verdict};
use crate::coupled::{Controller, Coupling, RandomTrial, VerdictInput};
use crate::dual::{DualAqm, DualSnapshot, QueueKind};
use crate::error::ConfigError;
use crate::link::Link;
use crate::packet::Meta;
use crate::time::{Duration, Instant};

/// State of two coupled queues.
#[derive(Clone, Debug)]
pub(super) struct Rfc9332 {
    pub(super) config: Config,
    pub(super) controller: Controller,
    coupling: Coupling,
    next_update: Instant,
    wrr: Wrr,
    /// Sums of probabilities, per queue.
    counts: [f64; 2],
}

impl Rfc9332 {
    pub fn new(config: &Config) -> Self {
        let coupling = Coupling { k: config.coupling_factor, drop_overload: config.drop_on_overload };
        Self {
            controller: Controller::new(config.target, config.alpha, config.beta, coupling.max_p()),
            coupling,
            next_update: Instant::ZERO + config.tupdate,
            wrr: Wrr::new(config.classic_protection),
            counts: [0.0; 2],
            config: config.clone(),
        }
    }

    pub fn set_p(&mut self, p: f64) {
        self.controller.p = p.min(self.coupling.max_p());
    }

    /// Decision about a packet at p'.
    fn decide(&mut self, p: f64, packet: VerdictInput, cx: &mut Cx) -> Verdict {
        let side = if packet.scalable { QueueKind::L4s } else { QueueKind::Classic };
        match self.config.marking {
            Marking::Random => self.coupling.judge(p, packet, cx.rng),
            Marking::Recur => self.coupling.judge(p, packet, &mut Recur(&mut self.counts[side as usize])),
        }
    }

    /// p', or zero for a short backlog.
    fn p(&self, cx: &Cx) -> f64 {
        let enough = cx.total_backlog.bytes >= self.config.min_backlog * cx.link.mtu as u64;
        if enough { self.controller.p } else { 0.0 }
    }

    /// Marking probability of the L4S queue itself (laqm), for a packet that leaves `behind` packets behind.
    fn native(&self, sojourn: Duration, behind: u64) -> f64 {
        if behind < self.config.min_qlen_step {
            return 0.0;
        }
        if self.config.step_packets > 0 {
            return if behind > self.config.step_packets { 1.0 } else { 0.0 };
        }
        let above = sojourn - self.config.step_thresh;
        match (above > Duration::ZERO, above >= self.config.ramp) {
            (false, _) => 0.0,
            (true, true) => 1.0,
            (true, false) => above.as_nanos() as f64 / self.config.ramp.as_nanos() as f64,
        }
    }
}

/// Refuses changes of parameters that act at enqueue, because they would misinterpret queued packets.
pub(super) fn refuse_fixed(new: &Config, old: &Config) -> Result<(), ConfigError> {
    if new.classify != old.classify {
        return Err(ConfigError::ImmutableParam("classify"));
    }
    if (new.min_qlen_step > 0) != (old.min_qlen_step > 0) {
        return Err(ConfigError::ImmutableParam("min_qlen_step"));
    }
    Ok(())
}

/// Queue that a packet joins.
pub(super) fn side(classify: Classification, meta: &Meta) -> QueueKind {
    let is_l4s = match classify {
        Classification::L4sEct => meta.ecn.is_l4s(),
        Classification::AnyEct => meta.ecn.is_ect(),
    };
    if is_l4s { QueueKind::L4s } else { QueueKind::Classic }
}

impl DualAqm for Rfc9332 {
    fn inherit(&mut self, old: &Self) -> Result<(), ConfigError> {
        refuse_fixed(&self.config, &old.config)?;
        self.controller.inherit(&old.controller);
        (self.next_update, self.counts) = (old.next_update, old.counts);
        self.wrr.inherit(&old.wrr);
        Ok(())
    }

    fn classify(&self, meta: &Meta) -> QueueKind {
        side(self.config.classify, meta)
    }

    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, side: QueueKind) -> Verdict {
        let p = self.p(cx);
        if !self.config.drop_enqueue || p == 0.0 {
            return Verdict::Accept;
        }
        self.decide(p, judged(meta, side, 0.0), cx)
    }

    fn choose(&mut self, _: Instant, link: Link, queues: &DualSnapshot) -> Option<QueueKind> {
        match (self.config.scheduler, queues.classic.head_enqueued, queues.l4s.head_enqueued) {
            (Scheduler::TsFifo, Some(classic), Some(l4s)) => {
                Some(if l4s <= classic + self.config.tshift { QueueKind::L4s } else { QueueKind::Classic })
            }
            _ => self.wrr.choose(link, queues),
        }
    }

    fn judge(&mut self, cx: &mut Cx, meta: &Meta, side: QueueKind) -> Verdict {
        let native = match side {
            QueueKind::L4s => self.native(cx.now - meta.enqueued, cx.backlog.packets as u64),
            QueueKind::Classic => 0.0,
        };
        let p = if self.config.drop_enqueue { 0.0 } else { self.p(cx) };
        if p == 0.0 && native == 0.0 {
            return Verdict::Accept;
        }
        self.decide(p, judged(meta, side, native), cx)
    }

    fn sent(&mut self, side: QueueKind, len: u32, queues: &DualSnapshot) {
        self.wrr.sent(side, len, queues);
    }

    fn next_update(&self) -> Instant {
        self.next_update
    }

    fn update(&mut self, at: Instant, queues: &DualSnapshot) {
        self.next_update = at + self.config.tupdate;
        self.controller.update(queues.classic.head_delay(at).max(queues.l4s.head_delay(at)));
    }

    fn skip_idle(&mut self, until: Instant) {
        if self.controller.is_at_rest() {
            self.next_update = self.next_update.stepped_to(self.config.tupdate, until);
        }
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.controller.observe(see);
        see("p_c", self.controller.p * self.controller.p);
        see("p_cl", (self.coupling.k * self.controller.p).min(1.0));
        see("credit", self.wrr.bytes());
    }
}

/// Evenly spaced decisions (recur of RFC 9332, Appendix A), with the sum of the probabilities since the last one.
pub(super) struct Recur<'a>(pub &'a mut f64);

impl RandomTrial for Recur<'_> {
    fn with_probability(&mut self, p: f64) -> bool {
        *self.0 += p;
        let passes = *self.0 > 1.0;
        if passes {
            *self.0 -= 1.0;
        }
        passes
    }
    fn with_squared_probability(&mut self, p: f64) -> bool {
        self.with_probability(p * p)
    }
}

/// Packet at the head of the queue `side`, which itself marks with probability `native`.
fn judged(meta: &Meta, side: QueueKind, native: f64) -> VerdictInput {
    VerdictInput { ect: meta.ecn.is_ect(), scalable: side == QueueKind::L4s, native }
}
