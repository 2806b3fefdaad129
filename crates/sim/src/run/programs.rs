//! Endpoints without an attached program: their events are taken one by one, and the run waits for the answers.
//!
//! An event ends the current step, so nothing else happens before its program has acted. The steps that follow an event
//! of an attached program come here with the request for the next event.

use super::Run;
use crate::endpoint::{EndEvent, EndId, Endpoint, SendError, Side, Standing, Transmit};
use crate::hosts::{Decision, Hosts, PendingEvent};
use crate::network::Topology;
use crate::payload::ReceivedBytes;
use crate::probe::Recorder;
use crate::traffic::{Host as _, Port};
use sojourn_aqm::Instant;
use std::borrow::Cow;

impl<P: Recorder, T: Topology> Run<P, T> {
    /// Runs until an event of an endpoint without a program, or up to and including `until`; none if none is left until
    /// then.
    pub fn next_event(&mut self, until: Instant) -> Option<&PendingEvent> {
        self.release_taken();
        loop {
            let hosts = self.network.hosts.as_mut()?;
            if hosts.fault.is_some() {
                return None;
            }
            self.taken = hosts.events.pop_front();
            if self.taken.is_some() {
                return self.taken.as_ref();
            }
            self.resume();
            if self.network.is_paused() {
                continue;
            }
            let until = until.min(self.end);
            if self.process(u64::MAX, until) {
                self.now = self.now.max(until);
                return None;
            }
        }
    }

    /// Completes the event that an endpoint's program has interrupted.
    fn resume(&mut self) {
        let now = self.now;
        self.flows.resume_stations(now, &mut self.network);
        if self.network.is_paused() {
            return;
        }
        if let Some(cell) = self.interrupted.take() {
            self.deliver_over_channel(now, cell);
        }
        if !self.network.is_paused() {
            self.flows.resume_senders(now, &mut self.network);
        }
    }

    /// Discards the events that no program will take.
    pub fn discard_events(&mut self) {
        let Some(hosts) = &mut self.network.hosts else { return };
        for (place, _) in hosts.events.drain(..).filter_map(|event| event.payload) {
            self.network.packets.payloads.release(place.index);
        }
    }

    fn release_taken(&mut self) {
        let taken = self.taken.as_ref().and_then(|event| event.payload);
        self.taken = None;
        if let Some((place, _)) = taken {
            self.network.packets.payloads.release(place.index);
        }
    }

    /// Bytes of the datagram that was taken last.
    pub fn received_bytes(&self) -> Cow<'_, [u8]> {
        let Some(PendingEvent {
            event: EndEvent::Datagram { ecn, .. }, payload: Some((place, size)), is_damaged, ..
        }) = self.taken
        else {
            return Cow::Borrowed(&[]);
        };
        let payload = self.network.packets.payloads.get(place.index);
        payload.received(ReceivedBytes { place, size, ecn, is_damaged })
    }

    /// Sends datagrams of an end now, or at the departure time that they name.
    pub fn send(&mut self, end: EndId, transmit: &Transmit, bytes: &[u8]) -> Result<(), SendError> {
        let mut port = Port::new(&mut self.network, self.now, end.slot, end.side == Side::Source);
        let sent = self.flows.endpoint_mut(end).send(self.now, transmit, bytes, &mut port);
        self.flows.arm_end(end, &mut self.network);
        sent
    }

    /// Whether the host of an end accepts a datagram now; if not, an event follows when it does.
    pub fn has_room(&mut self, end: EndId) -> bool {
        let mut port = Port::new(&mut self.network, self.now, end.slot, end.side == Side::Source);
        let has_room = self.flows.endpoint_mut(end).has_room(self.now, &mut port);
        self.flows.arm_end(end, &mut self.network);
        has_room
    }

    /// Sets the deadline of an end; a time in the past means now.
    pub fn set_wake(&mut self, end: EndId, at: Instant) {
        self.flows.endpoint_mut(end).set_wake(end.side, at.max(self.now));
        // As for an attached program: a timer that has fired moves to the deadline, one that has not only comes earlier.
        let has_fired = self.taken.as_ref().is_some_and(|taken| taken.end == end && taken.event.is_of_timer());
        match has_fired {
            true => self.flows.move_end(end, &mut self.network),
            false => self.flows.arm_end(end, &mut self.network),
        }
    }

    /// The host of an end.
    fn port(&mut self, end: EndId) -> Port<'_, P, T> {
        Port::new(&mut self.network, self.now, end.slot, end.side == Side::Source)
    }

    /// Sets the state of an end for tables and summaries.
    pub fn set_standing(&mut self, end: EndId, standing: Standing) {
        self.flows.endpoint_mut(end).set_standing(end.side, standing);
    }

    /// Adds a value to the statistics of an end.
    pub fn note(&mut self, end: EndId, name: &str, value: f64) {
        let now = self.now;
        self.port(end).program_parts().note(now, name, value);
    }

    /// Counts a transfer whose last byte has arrived.
    pub fn completed(&mut self, end: EndId, begun: Instant, bytes: u64) {
        let mut port = self.port(end);
        port.offered(bytes);
        port.completed(begun.min(port.now), bytes);
    }

    /// Records every datagram from now on.
    pub fn record_decisions(&mut self) {
        if let Some(hosts) = &mut self.network.hosts {
            hosts.decisions.log.get_or_insert_default();
        }
    }

    /// Takes the datagrams recorded so far.
    pub fn take_decisions(&mut self) -> Vec<Decision> {
        let log = self.network.hosts.as_mut().and_then(|hosts| hosts.decisions.log.as_mut());
        log.map(std::mem::take).unwrap_or_default()
    }

    /// Forgets the datagrams recorded, and records none from now on.
    pub fn forget_decisions(&mut self) {
        if let Some(hosts) = &mut self.network.hosts {
            hosts.decisions.log = None;
        }
    }

    /// Attaches the programs of a pair of ends.
    pub fn attach(&mut self, slot: u32, programs: [Box<dyn Endpoint>; 2]) {
        self.flows.endpoint_mut(EndId { slot, side: Side::Source }).attach(programs);
    }

    /// The hosts of endpoints, if the scenario has any.
    pub fn hosts(&self) -> Option<&Hosts> {
        self.network.hosts.as_deref()
    }
}
