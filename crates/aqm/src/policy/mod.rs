//! A queue manager driven by a policy in steps: an external agent that writes to its [`SharedState`] between steps, or
//! a small embedded [`Network`].
//!
//! [`Policy`] manages one queue, [`CoupledPolicy`] the two of DualPI2. The manager counts in the shared state, and an
//! [`Observer`] computes the observation of a step from it. The manager counts, not the simulator, so that a policy
//! trained in an environment and one run as `policy:FILE`, also on an emulated link, see the same numbers. Both kinds
//! of policy use the same observer and the same [`ActionKind`], so a policy trained step by step from outside is the
//! same queue manager when it runs by itself.

mod action;
mod backlog_snapshot;
mod counting_fifo;
mod coupled;
mod features;
mod network;
mod observer;
mod shared_state;

pub use action::{ActionKind, MAX_TARGET_MS, MIN_LOG};
pub use coupled::CoupledPolicy;
pub use network::{Activation, Layer, MAX_INPUTS, MAX_LAYERS, MAX_WIDTH, Network, ShapeError};
pub use observer::{Feature, ObservationSpec, Observer, REFERENCE, StepStats};
pub use shared_state::{Counters, SharedState};

use crate::aqm::{
    Aqm, Bypass, Cx, Fifo, Lifecycle, PoppedPacket, Timer, Verdict, emptied, judges_overflow, next_update, overflowed,
    shed,
};
use crate::codel::{self, Codel};
use crate::limits::Limits;
use crate::link::Link;
use crate::packet::Meta;
use crate::time::{Duration, Instant};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use backlog_snapshot::BacklogSnapshot;
use core::fmt;
use counting_fifo::CountingFifo;

/// A queue managed by a policy.
pub struct Policy {
    state: Arc<SharedState>,
    action: ActionKind,
    /// Initial manager, up to and including an instant.
    start: Option<(Box<dyn Aqm + Send>, Instant)>,
    /// CoDel whose target the policy sets.
    codel: Option<Codel>,
    agent: Option<Box<NetworkAgent>>,
}

/// An agent that acts through a network.
#[derive(Clone, Debug)]
pub struct NetworkAgent {
    network: Network,
    observer: Observer,
    step: Duration,
    next: Instant,
    observation: Vec<f32>,
}

impl NetworkAgent {
    /// A network that acts every `step` from the start, on observations of `sight`.
    ///
    /// # Errors
    ///
    /// The network's shape does not match the observation or the action.
    pub fn new(network: Network, sight: ObservationSpec, step: Duration, law: ActionKind) -> Result<Self, ShapeError> {
        network.check(sight.len(), law.outputs())?;
        let observation = alloc::vec![0.0; sight.len()];
        Ok(Self { network, observer: Observer::new(sight), step, next: Instant::ZERO, observation })
    }

    fn act(&mut self, now: Instant, law: ActionKind, state: &SharedState) {
        self.observer.sample(now, state);
        self.observer.write(&mut self.observation);
        law.apply(self.network.forward(&self.observation), state);
        self.next = now + self.step;
    }
}

impl Policy {
    /// A queue whose agent writes to `state`; `start` manages it up to and including an instant.
    pub fn controlled(
        state: Arc<SharedState>,
        action: ActionKind,
        start: Option<(Box<dyn Aqm + Send>, Instant)>,
    ) -> Self {
        Self { codel: action.codel(), state, action, start, agent: None }
    }

    /// A queue with an embedded policy.
    pub fn autonomous(agent: NetworkAgent, action: ActionKind) -> Self {
        let state = Arc::new(SharedState::new(agent.observer.spec().has(Feature::Flows)));
        Self { codel: action.codel(), state, action, start: None, agent: Some(Box::new(agent)) }
    }

    fn judge(&mut self, cx: &mut Cx, meta: &Meta, queue: &mut dyn Fifo) -> Verdict {
        if let Some((manager, _)) = &mut self.start {
            return manager.enqueue(cx, meta, &mut CountingFifo { queue, state: &self.state });
        }
        if self.action == ActionKind::Packet {
            return match self.state.verdict() {
                0 => Verdict::Accept,
                1 => Verdict::Mark,
                _ => Verdict::Drop,
            };
        }
        let p = self.state.probability();
        if p > 0.0 && cx.rng.uniform() < p { Verdict::Mark } else { Verdict::Accept }
    }
}

impl Aqm for Policy {
    fn attach(&mut self, limits: &Limits, link: Link) {
        self.state.attach(link);
        if let Some((manager, _)) = &mut self.start {
            manager.attach(limits, link);
        }
        if let Some(codel) = &mut self.codel {
            codel.attach(limits, link);
        }
        if let Some(agent) = &mut self.agent {
            agent.act(Instant::ZERO, self.action, &self.state);
        }
    }

    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, queue: &mut dyn Fifo) -> Verdict {
        self.state.arrival(cx.now, meta);
        let verdict = self.judge(cx, meta, queue);
        self.state.judged(cx.now, meta, verdict, BacklogSnapshot::of(queue));
        verdict
    }

    fn dequeue(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) -> Option<PoppedPacket> {
        let popped = if self.start.is_none() && self.codel.is_none() {
            queue.pop()
        } else {
            let mut watched = CountingFifo { queue, state: &self.state };
            if let Some((manager, _)) = &mut self.start {
                manager.dequeue(cx, &mut watched)
            } else if let Some(codel) = &mut self.codel {
                codel.set_target(self.state.target());
                codel.dequeue(cx, &mut watched)
            } else {
                watched.pop()
            }
        };
        self.state.departure(cx.now, popped, BacklogSnapshot::of(queue));
        popped
    }

    #[inline(always)]
    fn timer(&mut self) -> Option<&mut dyn Timer> {
        Some(self)
    }

    #[inline(always)]
    fn lifecycle(&mut self) -> Option<&mut dyn Lifecycle> {
        Some(self)
    }

    #[inline(always)]
    fn bypass(&mut self) -> Option<&mut dyn Bypass> {
        Some(self)
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        match self.action {
            ActionKind::Target => see("target", self.state.target().as_secs_f64()),
            ActionKind::Probability | ActionKind::ProbabilityLog | ActionKind::Delta | ActionKind::Coupled => {
                see("p", self.state.probability())
            }
            ActionKind::Packet => see("verdict", self.state.verdict() as f64),
        }
    }
}

impl Timer for Policy {
    fn next_update(&mut self) -> Option<Instant> {
        // The last update of the initial manager is its end.
        let of_start = self
            .start
            .as_mut()
            .map(|&mut (ref mut manager, until)| next_update(manager).map_or(until, |at| at.min(until)));
        let of_agent = self.agent.as_ref().map(|agent| agent.next);
        of_start.into_iter().chain(of_agent).min()
    }

    fn update(&mut self, at: Instant, cx: &mut Cx) {
        if let Some((manager, until)) = &mut self.start {
            if next_update(manager) == Some(at) {
                manager.timer().expect("an update is due").update(at, cx);
            } else if *until == at {
                self.start = None;
            }
        }
        if let Some(agent) = self.agent.as_mut().filter(|agent| agent.next == at) {
            agent.act(at, self.action, &self.state);
        }
    }
}

impl Lifecycle for Policy {
    fn judges_overflow(&mut self) -> bool {
        self.start.as_mut().is_some_and(|(manager, _)| judges_overflow(manager))
    }

    fn overflowed(&mut self, cx: &mut Cx, meta: &Meta) {
        // If it was judged, it has been counted as an arrival.
        let was_judged = self.judges_overflow();
        self.state.overflowed(cx.now, meta, was_judged, cx.backlog);
        if let Some((manager, _)) = &mut self.start {
            overflowed(manager, cx, meta);
        }
    }

    fn emptied(&mut self, cx: &mut Cx) {
        if let Some((manager, _)) = &mut self.start {
            emptied(manager, cx);
        }
    }

    fn shed(&mut self, cx: &mut Cx, n: u32) {
        self.state.shed(n);
        if let Some((manager, _)) = &mut self.start {
            shed(manager, cx, n);
        }
    }
}

impl Bypass for Policy {
    /// A policy that drops nothing equals tail drop, down to the statistics.
    fn can_bypass(&mut self, now: Instant) -> bool {
        match &mut self.start {
            Some((manager, until)) if now <= *until => manager.bypass().is_some_and(|manager| manager.can_bypass(now)),
            // The result of a due update is not known yet.
            _ => {
                let is_due = self.next_update().is_some_and(|at| at < now);
                let drops = if self.action == ActionKind::Packet {
                    self.state.verdict() > 0
                } else {
                    self.state.probability() > 0.0
                };
                self.codel.is_none() && (is_due || !drops)
            }
        }
    }

    fn on_bypass(&mut self, now: Instant, meta: &Meta) {
        self.state.passed(now, meta);
        if let Some((manager, _)) = &mut self.start {
            if let Some(manager) = manager.bypass() {
                manager.on_bypass(now, meta);
            }
        }
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy").field("law", &self.action).field("agent", &self.agent).finish_non_exhaustive()
    }
}

impl ActionKind {
    /// CoDel below an action that sets a target: RFC 8289's, which marks ECN-capable packets.
    fn codel(self) -> Option<Codel> {
        let config = codel::Config { ecn: true, ..codel::Config::default() };
        (self == Self::Target).then(|| Codel::new(&config))
    }
}

#[cfg(test)]
mod tests;
