//! The events of one instant in the order in which ns-2 has them.
//!
//! Source: ns-2.35 `common/scheduler.cc` (`CalendarScheduler::insert` puts an event behind those of its time) and
//! `link/delay.cc` (`LinkDelay::recv` schedules, when a transmission begins, its end and the packet's arrival at the far
//! end). So of an arrival and the end of another transmission at one instant that one comes first whose transmission began
//! earlier. Where the way to a queue takes longer than a transmission there, a packet that arrives just when the one
//! before it has gone finds the queue longer by one than if the departure came first, and the last place taken.
//!
//! A time-out, which was set longer ago than its least value, comes before an acknowledgment of the same instant.
//!
//! That is no rare case. Acknowledgments space packets exactly by the transmission time of the bottleneck, so in a train of
//! them each arrives at the instant of a departure. ns-2's times are floating-point numbers, but between powers of two of
//! the seconds their sums differ by the same in each round, so that these instants are equal there, too.

use super::{Component, Network, Topology};
use crate::event::EventSet as _;
use crate::link::Pipe;
use crate::probe::Probe;
use crate::scenario::Scenario;
use sojourn_aqm::{Duration, Instant};

/// How far apart instants may be that are one in ns-2, where a transmission takes no whole number of nanoseconds: each of
/// the transmitters on a packet's way round is less than one off.
const APART: Duration = Duration::from_nanos(8);

/// ns-2's `minrto_`.
const MIN_TIME_OUT: Duration = Duration::from_millis(200);

impl<P: Probe, T: Topology> Network<P, T> {
    /// Follows ns-2's order in a run in which all TCP is ns-2's.
    pub fn set_ns2_order(&mut self, scenario: &Scenario) {
        let mut stacks = scenario.flows.iter().filter_map(|flow| flow.traffic.tcp()).map(|tcp| tcp.orders_as_ns2());
        self.as_scheduled = !T::HAS_CELLS && stacks.next() == Some(true) && stacks.all(|as_ns2| as_ns2);
    }

    /// The flow whose source has a timer that comes before an acknowledgment's `arrival` at the same instant.
    #[inline(always)]
    pub fn timer_of_arrival(&self, now: Instant, arrival: Component) -> Option<u32> {
        if self.as_scheduled { self.timer_set_before(now, arrival) } else { None }
    }

    #[inline(never)]
    fn timer_set_before(&self, now: Instant, arrival: Component) -> Option<u32> {
        let packet = self.packets.packet(self.pipe_of(arrival)?.next_packet()?);
        if packet.to_sink || now - self.sent_at(now, arrival)? >= MIN_TIME_OUT {
            return None;
        }
        match self.events.timer_at(now).map(|slot| self.layout.component(slot)) {
            Some(Component::Source(slot)) => Some(slot),
            _ => {
                let due = self.events.at(self.layout.slot(Component::Source(packet.slot))) == now;
                due.then_some(packet.slot)
            }
        }
    }

    /// The arrival that comes before a departure from a link at the same instant, if there is one.
    #[inline(always)]
    pub fn first_of_departure(&self, now: Instant, link: usize) -> Option<Component> {
        if self.as_scheduled { self.sent_before_departure(now, link) } else { None }
    }

    /// Of the arrivals as good as at `now`, that whose transmission began first, if that was before the departing packet's.
    #[inline(never)]
    fn sent_before_departure(&self, now: Instant, link: usize) -> Option<Component> {
        let began = self.links[link].transmission_began()?;
        let arrivals =
            (0..self.links.len()).flat_map(|l| [Component::Pipe(l), Component::Exit(l), Component::Entry(l)]);
        let at = arrivals.map(|arrival| (self.events.at(self.layout.slot(arrival)), arrival));
        let due = at.filter(|&(at, _)| at < now + APART);
        let sent = due.filter_map(|(at, arrival)| Some((self.sent_at(at, arrival)?, arrival)));
        sent.filter(|&(at, _)| at < began).min_by_key(|&(at, _)| at).map(|(_, arrival)| arrival)
    }

    /// When the transmission began of the packet that arrives at `now`; none where nobody can tell.
    fn sent_at(&self, now: Instant, arrival: Component) -> Option<Instant> {
        let packet = self.packets.packet(self.pipe_of(arrival)?.next_packet()?);
        let detail = &self.slots.details[packet.slot as usize];
        match arrival {
            Component::Pipe(link) => self.links[link].sent_at(now, packet.len),
            Component::Exit(_) => Some(detail.downlink.sent_at(now, packet.len)),
            _ => Some(detail.uplink.sent_at(now, packet.len)),
        }
    }

    fn pipe_of(&self, arrival: Component) -> Option<&Pipe> {
        match arrival {
            Component::Pipe(link) => Some(&self.links[link].pipe),
            Component::Exit(link) => Some(&self.ends[link].exit),
            Component::Entry(link) => Some(&self.ends[link].entry),
            _ => None,
        }
    }
}
