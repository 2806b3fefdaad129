//! Simultaneous events in the order of ns-2.
//!
//! Source: ns-2.35 `common/scheduler.cc` (`CalendarScheduler::insert` puts an event after those of the same time) and
//! `link/delay.cc` (`LinkDelay::recv` schedules, when a transmission starts, its end and the packet's arrival at the
//! far end). So if an arrival and the end of another transmission are simultaneous, the one whose transmission started
//! earlier comes first. If the delay before a queue is longer than a transmission there, a packet that arrives just
//! when the previous one has left finds one more packet in the queue than if the departure came first, and maybe no
//! room.
//!
//! A retransmission timeout was set longer ago than its minimum, so it comes before an acknowledgment of the same
//! instant.
//!
//! This is not rare: acknowledgments space packets exactly by the bottleneck's transmission time, so in a train each
//! arrives at the instant of a departure. ns-2's times are floating-point numbers, but between powers of two of the
//! seconds their sums have the same error in each round, so these instants are equal in ns-2, too.
//!
//! It is not a key of scenarios: the stack `ns2` exists to reproduce ns-2, and the order with other stacks is part of
//! the format.

use super::{Component, Network, Topology};
use crate::event::EventSet as _;
use crate::link::Pipe;
use crate::probe::Probe;
use crate::scenario::Scenario;
use sojourn_aqm::{Duration, Instant};

/// Maximum distance of instants that are equal in ns-2, if a transmission takes no whole number of nanoseconds: each
/// transmitter on a packet's round trip is off by less than one.
const APART: Duration = Duration::from_nanos(8);

/// ns-2's `minrto_`.
const MIN_TIME_OUT: Duration = Duration::from_millis(200);

impl<P: Probe, T: Topology> Network<P, T> {
    /// Uses ns-2's order if all TCP flows of the run use the stack `ns2`.
    pub fn set_ns2_order(&mut self, scenario: &Scenario) {
        let mut stacks = scenario.flows.iter().filter_map(|flow| flow.traffic.tcp()).map(|tcp| tcp.orders_as_ns2());
        self.ns2_order = !T::HAS_CELLS && stacks.next() == Some(true) && stacks.all(|as_ns2| as_ns2);
    }

    /// The slot of a source whose timer comes before an acknowledgment's `arrival` at the same instant.
    #[inline(always)]
    pub fn timer_of_arrival(&self, now: Instant, arrival: Component) -> Option<u32> {
        if self.ns2_order { self.timer_set_before(now, arrival) } else { None }
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

    /// The arrival that comes before a simultaneous departure from a link, if any.
    #[inline(always)]
    pub fn first_of_departure(&self, now: Instant, link: usize) -> Option<Component> {
        if self.ns2_order { self.sent_before_departure(now, link) } else { None }
    }

    /// The arrival at `now`, within [`APART`], whose transmission started first, if that was before the departing
    /// packet's.
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

    /// When the transmission of the packet that arrives at `now` started; none if that is unknown.
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
