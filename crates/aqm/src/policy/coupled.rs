//! The two queues of DualPI2 (RFC 9332) under a policy that sets p' instead of the controller: classic packets are
//! dropped or marked with p'², L4S packets marked with k p' or by their own queue. The rest is DualPI2's:
//! classification, scheduling, the step or ramp of the L4S queue.

use super::backlog_snapshot::BacklogSnapshot;
use super::{ActionKind, Feature, NetworkAgent, SharedState};
use crate::aqm::{Cx, PoppedPacket, Verdict};
use crate::backlog::Backlog;
use crate::dual::{DualAqm, DualQueue, DualSnapshot, QueueKind};
use crate::dualpi2::{Config, DualPi2};
use crate::limits::Limits;
use crate::link::Link;
use crate::packet::{Ecn, Meta};
use crate::qdisc::Host;
use crate::time::Instant;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

/// Two coupled queues under a policy.
pub struct CoupledPolicy {
    state: Arc<SharedState>,
    dualpi2: DualPi2,
    /// End of the initial phase (inclusive), during which its own controller sets p'.
    start: Option<Instant>,
    agent: Option<Box<NetworkAgent>>,
    /// The packet judged last, about to depart.
    leaving: Option<(Instant, Meta)>,
}

impl CoupledPolicy {
    /// Queues of `config` whose agent writes to `state`; their own controller sets p' up to and including `start`.
    pub fn controlled(state: Arc<SharedState>, config: &Config, start: Option<Instant>) -> Self {
        Self { state, dualpi2: DualPi2::new(config), start, agent: None, leaving: None }
    }

    /// Queues with an embedded policy.
    pub fn autonomous(agent: NetworkAgent, config: &Config) -> Self {
        let state = Arc::new(SharedState::new(agent.observer.spec().has(Feature::Flows)));
        Self { agent: Some(Box::new(agent)), ..Self::controlled(state, config, None) }
    }

    /// Creates the empty queues; `config` is the one they were configured with.
    pub fn queue<P>(mut self, config: &Config, limits: Limits, host: Host) -> DualQueue<Self, P> {
        self.state.attach(host.link);
        if let Some(agent) = &mut self.agent {
            agent.act(Instant::ZERO, ActionKind::Coupled, &self.state);
        }
        DualQueue::new(self, config.within(limits, host.link), host)
    }

    /// Applies the policy's p' after the initial phase.
    fn apply_action(&mut self) {
        if self.start.is_none() {
            self.dualpi2.set_p(self.state.probability());
        }
    }
}

impl DualAqm for CoupledPolicy {
    fn splits_gso(&self) -> bool {
        self.dualpi2.splits_gso()
    }

    fn classify(&self, meta: &Meta) -> QueueKind {
        self.dualpi2.classify(meta)
    }

    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, side: QueueKind) -> Verdict {
        self.state.arrival(cx.now, meta);
        self.apply_action();
        let verdict = self.dualpi2.enqueue(cx, meta, side);
        let Backlog { packets, bytes } = cx.total_backlog;
        let head = if packets > 0 { self.state.head() } else { None };
        self.state.judged(cx.now, meta, verdict, BacklogSnapshot { packets: packets.into(), bytes, head });
        verdict
    }

    fn overflowed(&mut self, now: Instant, meta: &Meta, waiting: Backlog) {
        self.state.overflowed(now, meta, false, waiting);
    }

    fn choose(&mut self, now: Instant, link: Link, queues: &DualSnapshot) -> Option<QueueKind> {
        let side = self.dualpi2.choose(now, link, queues);
        if side.is_none() {
            self.state.departure(now, None, BacklogSnapshot::default());
        }
        side
    }

    fn judge(&mut self, cx: &mut Cx, meta: &Meta, side: QueueKind) -> Verdict {
        self.apply_action();
        let verdict = self.dualpi2.judge(cx, meta, side);
        match verdict {
            Verdict::Mark if meta.ecn.is_ect() => {
                if meta.ecn != Ecn::Ce {
                    self.state.marked();
                }
            }
            Verdict::Mark | Verdict::Drop => {
                self.state.dropped();
                return verdict;
            }
            Verdict::Accept => {}
        }
        self.leaving = Some((cx.now, *meta));
        verdict
    }

    fn sent(&mut self, side: QueueKind, len: u32, queues: &DualSnapshot) {
        self.dualpi2.sent(side, len, queues);
        if let Some((now, meta)) = self.leaving.take() {
            self.state.departure(now, Some(PoppedPacket { meta }), BacklogSnapshot::both(queues));
        }
    }

    fn next_update(&self) -> Instant {
        let of_start = self.start.map_or(Instant::NEVER, |until| self.dualpi2.next_update().min(until));
        self.agent.as_ref().map_or(of_start, |agent| agent.next.min(of_start))
    }

    fn update(&mut self, at: Instant, queues: &DualSnapshot) {
        if self.start.is_some() && self.dualpi2.next_update() == at {
            self.dualpi2.update(at, queues);
        } else if self.start == Some(at) {
            self.start = None;
        }
        if let Some(agent) = self.agent.as_mut().filter(|agent| agent.next == at) {
            agent.act(at, ActionKind::Coupled, &self.state);
        }
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.dualpi2.observe(see);
    }
}

impl fmt::Debug for CoupledPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coupled").field("dualpi2", &self.dualpi2).field("agent", &self.agent).finish_non_exhaustive()
    }
}
