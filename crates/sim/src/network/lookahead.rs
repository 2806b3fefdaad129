//! The far side of a dumbbell ahead of time.
//!
//! Where all data go one way, the sinks and the reverse link hear of the sources only through the packets that leave the
//! forward link. When the transmission of one begins it is known when it reaches its sink, and nothing that happens
//! elsewhere until then can change what it finds there. So it is delivered at once, with the time of its arrival; before
//! it, in their order, the sinks' timers and the departures from the reverse link that come earlier. What they send towards
//! the sources waits in the pipe for its time, as it would have.
//!
//! That needs no event for the packet's arrival, nor a place in the pipe. Whoever looks at the run sees no difference: no
//! packet is delivered before a sampler or a step of the run that comes earlier than its arrival ([`Lookahead::before`]), and
//! what is done ahead counts as the events that it stands for.

use super::{Component, Network, Topology};
use crate::event::EventSet as _;
use crate::link::NONE;
use crate::packet::Handle;
use crate::probe::Probe;
use crate::scenario::{Direction, FlowSpec, Scenario, Traffic};
use sojourn_aqm::{Duration, Instant};

/// How far the far side may run ahead, and the packet that makes it do so.
#[derive(Debug)]
pub(crate) struct Lookahead {
    /// Whether it may at all.
    enabled: bool,
    /// What reaches its sink earlier than that is delivered at once; zero where nothing is.
    horizon: Instant,
    /// When what has just left the forward link reaches its sink, and what that is; never if nothing has.
    at: Instant,
    handle: Handle,
}

impl Lookahead {
    /// Nothing is delivered ahead of time.
    pub const NONE: Self = Self { enabled: false, horizon: Instant::ZERO, at: Instant::NEVER, handle: NONE };

    /// The packet that has left and is to be delivered at once, and when it reaches its sink.
    #[inline(always)]
    pub fn take(&mut self) -> Option<(Instant, Handle)> {
        let at = std::mem::replace(&mut self.at, Instant::NEVER);
        (at != Instant::NEVER).then_some((at, self.handle))
    }
}

impl<P: Probe, T: Topology> Network<P, T> {
    /// Lets the far side run ahead if `scenario` allows it.
    pub fn enable_lookahead(&mut self, scenario: &Scenario) {
        // A change of the reverse link would find it ahead of the change.
        let may_change = scenario.queues().any(|link| !link.changes.is_empty());
        let one_way = !may_change && scenario.flows.iter().all(is_one_way) && !scenario.has_super_packets();
        // A probe of every packet records both links in the order of time.
        if self.as_scheduled || T::HAS_PATHS || scenario.probes.packets || !one_way || !share_delay(&scenario.flows) {
            return;
        }
        self.ahead.enabled = self.links[FORWARD].keeps_order() && self.links[REVERSE].is_plain();
    }

    /// From now on, nobody looks at the run earlier than at `look`, nor goes on behind `last`. Whether the far side may run
    /// ahead.
    pub fn set_lookahead(&mut self, look: Instant, last: Instant) -> bool {
        if self.ahead.enabled {
            self.ahead.horizon = look.min(last + Duration::from_nanos(1));
        }
        self.ahead.enabled
    }

    /// A packet leaves a link and reaches its sink at `at`. Whether that is done ahead of time; else it goes into the pipe,
    /// as it does behind others there.
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

    /// The next packet in the pipe, if it can be delivered ahead of time, and when it reaches its sink.
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

    /// What happens at the far side before a packet reaches its sink at `at`: a departure from the reverse link up to then,
    /// or a sink's timer.
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

/// Whether all that a flow's source hears of is what comes back over the reverse link, and whether its ends stay.
fn is_one_way(flow: &FlowSpec) -> bool {
    let answers = matches!(flow.traffic, Traffic::Request(_)) || flow.traffic.opens_connections();
    flow.direction == Direction::Forward && !answers
}

/// Whether all packets take the same time over the access links, so that none overtakes another one there.
fn share_delay(flows: &[FlowSpec]) -> bool {
    let delay = |flow: &FlowSpec| (flow.access_delay, flow.access_rate, flow.rtt_stagger);
    flows.iter().all(|flow| delay(flow) == (flows[0].access_delay, None, None))
}

/// The directions of a dumbbell.
const FORWARD: usize = 0;
const REVERSE: usize = 1;
