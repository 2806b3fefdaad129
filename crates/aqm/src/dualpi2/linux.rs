//! DualPI2 as in Linux (`net/sched/sch_dualpi2.c` since 6.17), with its arithmetic: a 32-bit probability, gains in
//! units of 64 ns, delays in nanoseconds. Names follow the kernel's.
//!
//! Differs: only the ECN field classifies a packet, because there are no filters and socket priorities here; so every
//! packet in the L queue is ECN-capable.

use super::config::{Config, ControllerParams};
use super::rfc9332::{refuse_fixed, side};
use super::wrr::Wrr;
use crate::aqm::{Cx, Verdict};
use crate::dual::{DualAqm, DualSnapshot, QueueKind, QueueSnapshot};
use crate::error::ConfigError;
use crate::link::Link;
use crate::packet::Meta;
use crate::reservation::{Reservation, ReservationError};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use alloc::collections::VecDeque;

/// State of two coupled queues (`dualpi2_sched_data`).
#[derive(Clone, Debug)]
pub(super) struct Linux {
    pub(super) config: Config,
    pi2_target: i64,
    pi2_tupdate: Duration,
    /// p' in units of 1/(2³² - 1).
    pub(super) pi2_prob: u32,
    pub(super) pi2_alpha: u32,
    pub(super) pi2_beta: u32,
    coupling_factor: u64,
    /// Step threshold in nanoseconds, or in packets.
    step_thresh: u64,
    step_in_packets: bool,
    pub(super) last_qdelay: i64,
    next_update: Instant,
    wrr: Wrr,
    /// `apply_step` of each packet in the L queue: whether the step applies to it. `None` if it applies to all.
    apply_step: Option<VecDeque<bool>>,
}

impl Linux {
    pub fn new(config: &Config) -> Self {
        let ControllerParams { target_us, tupdate_us, alpha, beta } = config.controller_params();
        let pi2_tupdate = Duration::from_nanos(nanos(tupdate_us) as i64);
        let step_in_packets = config.step_packets > 0;
        let step_us = config.step_thresh.as_nanos() as u64 / 1000;
        Self {
            pi2_target: (target_us * 1000) as i64,
            pi2_tupdate,
            pi2_prob: 0,
            pi2_alpha: scale_alpha_beta(alpha),
            pi2_beta: scale_alpha_beta(beta),
            coupling_factor: config.coupling_factor as u64,
            step_thresh: if step_in_packets { config.step_packets } else { nanos(step_us) },
            step_in_packets,
            last_qdelay: 0,
            next_update: Instant::ZERO + config.created + pi2_tupdate,
            wrr: Wrr::new(config.classic_protection),
            // Usual queue length, so that later enqueues do not allocate.
            apply_step: (config.min_qlen_step > 0).then(|| VecDeque::with_capacity(MAX_PREALLOCATED)),
            config: config.clone(),
        }
    }

    /// `must_drop`: the decision that p' implies for a packet; `Verdict::Drop` drops it.
    fn must_drop(&self, cx: &mut Cx, meta: &Meta, side: QueueKind) -> Verdict {
        // Never drop or mark below a backlog of two MTUs: a slow link needs it to stay utilised.
        if cx.total_backlog.bytes < 2 * cx.link.mtu as u64 {
            return Verdict::Accept;
        }
        let prob = self.pi2_prob;
        let local_l_prob = prob as u64 * self.coupling_factor;
        let overload = local_l_prob > MAX_PROB as u64;
        match side {
            QueueKind::Classic => classic_marking(prob, overload || !meta.ecn.is_ect(), cx.rng),
            QueueKind::L4s if !overload => mark_if(roll(local_l_prob as u32, cx.rng)),
            QueueKind::L4s if self.config.drop_on_overload => match classic_marking(prob, true, cx.rng) {
                Verdict::Drop => Verdict::Drop,
                _ => Verdict::Mark,
            },
            QueueKind::L4s => Verdict::Mark,
        }
    }

    /// `do_step_aqm`: whether the L queue marks a packet that leaves `behind` packets behind.
    fn step(&mut self, sojourn: Duration, behind: u32) -> bool {
        let applies = self.apply_step.as_mut().is_none_or(|queued| queued.pop_front().unwrap_or(false));
        let qdelay = if self.step_in_packets { behind as u64 } else { sojourn.as_nanos() as u64 };
        applies && qdelay > self.step_thresh
    }

    pub fn set_p(&mut self, p: f64) {
        self.pi2_prob = ((p * MAX_PROB as f64) as u32).min(self.max_prob());
    }

    /// Maximum probability: if overload does not drop, the L queue's probability ends at one, so that windows stay
    /// proportional.
    fn max_prob(&self) -> u32 {
        if self.config.drop_on_overload { MAX_PROB } else { MAX_PROB / self.coupling_factor as u32 }
    }

    /// `calculate_probability`.
    fn calculate_probability(&self, qdelay: i64) -> u32 {
        let deviation = (qdelay - self.pi2_target).wrapping_mul(self.pi2_alpha as i64);
        let change = (qdelay - self.last_qdelay).wrapping_mul(self.pi2_beta as i64);
        let delta = deviation.wrapping_add(change);
        let step = (delta.unsigned_abs() / ALPHA_BETA_GRANULARITY) as u32;
        // As in the kernel, 32 bits truncate a step beyond 2³²: a delay that falls by more than a third of a second
        // between two updates lowers the probability by less than it should.
        let new_prob = match delta > 0 {
            true => Some(self.pi2_prob.wrapping_add(step)).filter(|&new| new >= self.pi2_prob).unwrap_or(MAX_PROB),
            false => Some(self.pi2_prob.wrapping_sub(step)).filter(|&new| new <= self.pi2_prob).unwrap_or(0),
        };
        new_prob.min(self.max_prob())
    }
}

impl DualAqm for Linux {
    fn reserve(&mut self, packets: usize, memory: &mut Reservation) -> Result<(), ReservationError> {
        self.apply_step.as_mut().map_or(Ok(()), |queued| memory.deque(queued, packets))
    }

    /// `dualpi2_change` leaves the probability, the credit and the timer unchanged. The `apply_step` of queued packets
    /// cannot be determined later, so it is kept too.
    fn inherit(&mut self, old: &Self) -> Result<(), ConfigError> {
        refuse_fixed(&self.config, &old.config)?;
        (self.pi2_prob, self.last_qdelay, self.next_update) = (old.pi2_prob, old.last_qdelay, old.next_update);
        self.wrr.inherit(&old.wrr);
        self.apply_step.clone_from(&old.apply_step);
        Ok(())
    }

    /// `dualpi2_skb_classify`.
    fn classify(&self, meta: &Meta) -> QueueKind {
        side(self.config.classify, meta)
    }

    /// `dualpi2_enqueue_skb`, after the limits.
    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, side: QueueKind) -> Verdict {
        let verdict = match self.config.drop_enqueue {
            true => self.must_drop(cx, meta, side),
            false => Verdict::Accept,
        };
        if let (Some(queued), QueueKind::L4s, Verdict::Accept | Verdict::Mark) = (&mut self.apply_step, side, verdict) {
            queued.push_back(cx.backlog.packets as u64 >= self.config.min_qlen_step);
        }
        verdict
    }

    /// `dequeue_packet`.
    fn choose(&mut self, _: Instant, link: Link, queues: &DualSnapshot) -> Option<QueueKind> {
        self.wrr.choose(link, queues)
    }

    /// `dualpi2_qdisc_dequeue`: packets that p' leaves unmarked are judged by the step.
    fn judge(&mut self, cx: &mut Cx, meta: &Meta, side: QueueKind) -> Verdict {
        let verdict = match self.config.drop_enqueue {
            true => Verdict::Accept,
            false => self.must_drop(cx, meta, side),
        };
        let step = side == QueueKind::L4s && self.step(cx.now - meta.enqueued, cx.backlog.packets);
        if step && verdict != Verdict::Drop { Verdict::Mark } else { verdict }
    }

    fn sent(&mut self, side: QueueKind, len: u32, queues: &DualSnapshot) {
        self.wrr.sent(side, len, queues);
    }

    fn next_update(&self) -> Instant {
        self.next_update
    }

    /// `dualpi2_timer`.
    fn update(&mut self, at: Instant, queues: &DualSnapshot) {
        self.next_update = at + self.pi2_tupdate;
        let delay = |queue: QueueSnapshot| queue.head_enqueued.map_or(0, |since| (at - since).as_nanos());
        let qdelay = delay(queues.l4s).max(delay(queues.classic));
        self.pi2_prob = self.calculate_probability(qdelay);
        self.last_qdelay = qdelay;
    }

    fn skip_idle(&mut self, until: Instant) {
        if self.pi2_prob == 0 && self.last_qdelay == 0 && self.calculate_probability(0) == 0 {
            self.next_update = self.next_update.stepped_to(self.pi2_tupdate, until);
        }
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let p = self.pi2_prob as f64 / MAX_PROB as f64;
        let qdelay = self.last_qdelay as f64 / 1e9;
        see("p", p);
        see("qdelay", qdelay);
        see("qdelay_old", qdelay);
        see("p_c", p * p);
        see("p_cl", (self.coupling_factor as f64 * p).min(1.0));
        see("credit", self.wrr.bytes());
    }
}

/// `dualpi2_classic_marking`: with p'², by two draws: a drop if `drops`, otherwise a mark.
fn classic_marking(prob: u32, drops: bool, rng: &mut Rng) -> Verdict {
    match roll(prob, rng) && roll(prob, rng) {
        true if drops => Verdict::Drop,
        hit => mark_if(hit),
    }
}

fn mark_if(hit: bool) -> Verdict {
    if hit { Verdict::Mark } else { Verdict::Accept }
}

/// `dualpi2_roll`: even a probability of zero hits once in 2³² draws.
fn roll(prob: u32, rng: &mut Rng) -> bool {
    rng.next_u32() <= prob
}

/// `dualpi2_scale_alpha_beta`: converts a gain of tc, in 1/256 per second, to units of 64 ns.
fn scale_alpha_beta(units: u32) -> u32 {
    (((units as u64 * MAX_PROB as u64) >> 2) / 1_000_000_000) as u32
}

/// `convert_us_to_nsec`: saturates at 32 bits.
fn nanos(micros: u64) -> u64 {
    (micros * 1000).min(u32::MAX as u64)
}

/// Probability 1.
const MAX_PROB: u32 = u32::MAX;
/// Converts units of 64 ns to nanoseconds.
const ALPHA_BETA_GRANULARITY: u64 = 64;
const MAX_PREALLOCATED: usize = 1024;

#[cfg(test)]
mod tests;
