//! Lookahead: the far side of a dumbbell runs ahead of time.
//!
//! If all data flow one way, the sinks and the reverse link depend on the sources only through the packets that leave
//! the forward link. When a packet's transmission starts, its arrival time at the sink is known, and no other event
//! until then can change the sink's state. So the packet is delivered at once, with the time of its arrival; the sinks'
//! timers and the departures from the reverse link that are due before come first, in order. Packets that these send
//! towards the sources wait in the pipe for their time, as without lookahead.
//!
//! This saves the event of the packet's arrival and its place in the pipe. No reader of the run sees a difference: no
//! packet is delivered ahead of the next sample, of a window start, or of the end of a step if these are before its
//! arrival ([`Lookahead::horizon`]), and each step taken ahead counts as the event that it replaces. 2 % fewer
//! instructions per packet.

use super::{Component, Network, Topology};
use crate::event::EventSet as _;
use crate::link::NONE;
use crate::packet::Handle;
use crate::probe::Probe;
use crate::scenario::{Direction, FlowSpec, Scenario, Traffic};
use sojourn_aqm::{Duration, Instant};

/// How far the far side may run ahead, and the packet that is delivered ahead.
#[derive(Debug)]
pub(crate) struct Lookahead {
    /// Whether the scenario allows it.
    enabled: bool,
    /// Packets that reach their sinks before this are delivered at once; zero if none are.
    horizon: Instant,
    /// When the packet that has just left the forward link reaches its sink, and the packet; never if there is none.
    at: Instant,
    handle: Handle,
}

impl Lookahead {
    /// No lookahead.
    pub const NONE: Self = Self { enabled: false, horizon: Instant::ZERO, at: Instant::NEVER, handle: NONE };

    /// Whether the far side may run ahead.
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Takes the packet to deliver at once, with its arrival time at the sink.
    #[inline(always)]
    pub fn take(&mut self) -> Option<(Instant, Handle)> {
        let at = std::mem::replace(&mut self.at, Instant::NEVER);
        (at != Instant::NEVER).then_some((at, self.handle))
    }
}

impl<P: Probe, T: Topology> Network<P, T> {
    /// Enables lookahead if `scenario` allows it.
    pub fn enable_lookahead(&mut self, scenario: &Scenario) {
        // A changed reverse link would have run ahead of its change.
        let may_change = scenario.queues().any(|link| !link.changes.is_empty());
        let one_way = !may_change && scenario.flows.iter().all(is_one_way) && !scenario.has_super_packets();
        // A probe of every packet records both links in order of time.
        // Programs of endpoints may share state, and act in order of time.
        if self.hosts.is_some()
            || self.ns2_order
            || T::HAS_PATHS
            || scenario.probes.packets
            || !one_way
            || !share_delay(&scenario.flows)
        {
            return;
        }
        self.ahead.enabled = self.links[FORWARD].keeps_order() && self.links[REVERSE].is_plain();
    }

    /// Sets the next reading of the run's state, `look`, and the end of the step, `last`; only if lookahead is enabled.
    pub fn set_lookahead(&mut self, look: Instant, last: Instant) {
        self.ahead.horizon = look.min(last + Duration::from_nanos(1));
    }

    /// Delivers a packet that leaves link `l` and reaches its sink at `at` ahead of time, if possible. Returns whether
    /// it does; otherwise the packet enters the pipe, as it must behind others there.
    #[inline(always)]
    pub(super) fn try_deliver_ahead(&mut self, l: usize, at: Instant, handle: Handle) -> bool {
        let ahead = &mut self.ahead;
        let is_eligible = !T::HAS_PATHS
            && l == FORWARD
            && at < ahead.horizon
            && ahead.at == Instant::NEVER
            && self.links[FORWARD].pipe.is_empty();
        if is_eligible {
            (ahead.at, ahead.handle) = (at, handle);
        }
        is_eligible
    }

    /// The next packet in the pipe, with its arrival time, if it can be delivered ahead of time.
    #[inline(always)]
    pub fn next_ahead(&mut self) -> Option<(Instant, Handle)> {
        if self.links[FORWARD].pipe.is_empty() { None } else { self.pop_ahead() }
    }

    #[inline(never)]
    fn pop_ahead(&mut self) -> Option<(Instant, Handle)> {
        let pipe = &mut self.links[FORWARD].pipe;
        let at = pipe.first().filter(|&at| at < self.ahead.horizon)?;
        let (handle, next) = pipe.pop();
        self.set(Component::Pipe(FORWARD), next);
        Some((at, handle))
    }

    /// The next event of the far side before a packet reaches its sink at `at`: a departure from the reverse link, that
    /// instant included, or a sink's timer.
    #[inline(always)]
    pub fn first_ahead(&self, at: Instant) -> Option<(Instant, Component)> {
        let departure = self.events.at(self.layout.slot(Component::Server(REVERSE)));
        let timer = self.events.sinks_due();
        if departure.min(timer) > at {
            return None;
        }
        if departure <= at && departure <= timer {
            return Some((departure, Component::Server(REVERSE)));
        }
        (timer < at).then(|| (timer, self.layout.component(self.events.first_of_sinks())))
    }
}

/// Whether a flow's source depends only on packets from the reverse link, and the flow lasts the whole run.
fn is_one_way(flow: &FlowSpec) -> bool {
    let answers = matches!(flow.traffic, Traffic::Request(_)) || flow.traffic.opens_connections();
    flow.direction == Direction::Forward && !answers
}

/// Whether all access delays are equal. Otherwise one acknowledgment overtakes another, and the pipe it takes depends
/// on the packets in it at that time.
fn share_delay(flows: &[FlowSpec]) -> bool {
    let delay = |flow: &FlowSpec| (flow.access_delay, flow.access_rate, flow.rtt_stagger);
    flows.iter().all(|flow| delay(flow) == (flows[0].access_delay, None, None))
}

/// The directions of a dumbbell.
const FORWARD: usize = 0;
const REVERSE: usize = 1;
