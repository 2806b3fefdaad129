//! Connections that come and go: due openers, and slots of closed connections.

use super::{FlowSlot, Flows};
use crate::event::EventSet as _;
use crate::network::{Component, NO_FLOW, Network, Topology};
use crate::packet::next_size;
use crate::probe::Probe;
use crate::traffic::{ClientAction, ConnectionEvent, Opening, Port};
use sojourn_aqm::Instant;

impl Flows {
    /// Runs opener `i`, whose event is due. Returns the number of events handled: 2 if it opened a connection that
    /// starts at once and nothing else is due at this instant, because that connection then starts within this event.
    pub fn on_generator<P: Probe, T: Topology>(&mut self, now: Instant, i: usize, network: &mut Network<P, T>) -> u64 {
        let Some(timer) = self.open_due(now, i, network) else { return 1 };
        if network.events.due() <= now {
            self.arm(timer, network);
            return 1;
        }
        match timer {
            Component::Source(slot) => self.on_source_timer(now, slot, network),
            Component::Sink(slot) => self.on_sink_timer(now, slot, network),
            other => unreachable!("{other:?} is no timer of a connection"),
        }
        2
    }

    /// Runs an opener; each connection it opens starts in an event of its own.
    fn run_opener<P: Probe, T: Topology>(&mut self, now: Instant, i: usize, network: &mut Network<P, T>) {
        if let Some(timer) = self.open_due(now, i, network) {
            self.arm(timer, network);
        }
    }

    /// Performs the due actions of an opener. If the last connection opened has a timer that is due now, that timer is
    /// returned unset: the caller sets it, or calls it if it is next.
    fn open_due<P: Probe, T: Topology>(
        &mut self,
        now: Instant,
        i: usize,
        network: &mut Network<P, T>,
    ) -> Option<Component> {
        let mut last = None;
        while let Some(step) = self.openers[i].next(now) {
            if let Some(timer) = last.take() {
                self.arm(timer, network);
            }
            match step {
                ClientAction::Open(opening, free) => last = self.open(now, i, (opening, free), network),
                ClientAction::Request(slot, exchange) => {
                    let ends = &mut self.slots[slot as usize];
                    ends.flow.request(now, exchange, &mut Port::new(network, now, slot, false));
                    ends.set_sink(slot, network);
                }
                ClientAction::Close(slot) => {
                    let ends = &mut self.slots[slot as usize];
                    ends.flow.close(now, &mut Port::new(network, now, slot, false));
                    ends.set_sink(slot, network);
                }
                ClientAction::Count(slot) => {
                    let bytes = self.slots[slot as usize].flow.status().payload.delivered;
                    self.openers[i].on_event(now, slot, ConnectionEvent::Counted(bytes));
                }
                ClientAction::Record(client, record) => {
                    let group = self.openers[i].group();
                    network.ledger.record(now, (group, client), record);
                }
                ClientAction::Completed(slot, begun, bytes) => {
                    let tenant = network.current_flow(slot);
                    network.ledger.completed(now, tenant, begun, bytes);
                }
            }
        }
        let due = self.openers[i].due();
        if std::mem::replace(&mut self.due[i], due) != due {
            network.set(Component::Generator(i), due);
        }
        last
    }

    /// Sets the timer of a connection to its deadline.
    fn arm<P: Probe, T: Topology>(&mut self, timer: Component, network: &mut Network<P, T>) {
        match timer {
            Component::Source(slot) => self.slots[slot as usize].set_source(slot, network),
            Component::Sink(slot) => self.slots[slot as usize].set_sink(slot, network),
            other => unreachable!("{other:?} is no timer of a connection"),
        }
    }

    /// Opens a connection of opener `i`, in a free slot if there is one. Returns the timer of it that is due now, if
    /// any; that one is not set.
    fn open<P: Probe, T: Topology>(
        &mut self,
        now: Instant,
        i: usize,
        (opening, free): (Opening, Option<u32>),
        network: &mut Network<P, T>,
    ) -> Option<Component> {
        let opener = &mut self.openers[i];
        let (group, member) = (opener.group(), opener.member());
        let slot = free.unwrap_or_else(|| network.add_slot((group, member), &self.groups[group as usize].spec));
        if free.is_some() {
            network.move_slot(slot, (group, member));
            // Its timers were stopped when the previous connection closed.
            let memory = opening.replace(&mut self.slots[slot as usize].flow, now, opener.template());
            memory.into_iter().for_each(|exchanges| opener.recycle(exchanges));
        } else {
            self.slots.push(FlowSlot::new(opening.flow(now, opener.template())));
            self.owners.push(i as u32);
        }
        network.ledger.opened(now, group);
        Self::number(slot, network);
        self.openers[i].set_slot(slot);
        let ends = &mut self.slots[slot as usize];
        let (source, sink) = (ends.flow.source_deadline(), ends.flow.sink_deadline());
        // If both timers are due, the source's comes first and is left to the caller.
        if source <= now {
            ends.move_sink(sink, slot, network);
            return Some(Component::Source(slot));
        }
        ends.move_source(source, slot, network);
        if sink <= now {
            return Some(Component::Sink(slot));
        }
        ends.move_sink(sink, slot, network);
        None
    }

    /// Delivers pending notifications of connections to their clients.
    #[cold]
    pub(super) fn deliver_notifications<P: Probe, T: Topology>(&mut self, now: Instant, network: &mut Network<P, T>) {
        while let Some((slot, event)) = network.ledger.notifications.pop_front() {
            let owner = self.owners[(slot - self.first_connection()) as usize] as usize;
            self.openers[owner].on_event(now, slot, event);
            self.run_opener(now, owner, network);
        }
    }

    /// Frees the slots of closed connections; their openers may reuse them.
    #[cold]
    pub(super) fn release_ended<P: Probe, T: Topology>(&mut self, now: Instant, network: &mut Network<P, T>) {
        while let Some(slot) = network.ledger.ended.pop() {
            let (_, group) = network.current_flow(slot);
            network.ledger.closed(now, group);
            let Some(owner) = slot.checked_sub(self.first_connection()) else { continue };
            let owner = self.owners[owner as usize] as usize;
            network.ledger.groups[group as usize].ended_connections.add(&self.slots[slot as usize].flow.status());
            network.assign(slot, NO_FLOW);
            let ends = &mut self.slots[slot as usize];
            ends.move_source(Instant::NEVER, slot, network);
            ends.move_sink(Instant::NEVER, slot, network);
            self.openers[owner].on_closed(now, slot);
            self.run_opener(now, owner, network);
        }
    }

    /// Bytes that the table of flow slots will allocate when it next grows, if it may grow within `connections` more.
    pub fn growth(&self, connections: u64) -> u64 {
        if self.openers.is_empty() { 0 } else { next_size(&self.slots, connections) }
    }

    /// Ends the run: records what openers have pending.
    pub fn close<P: Probe, T: Topology>(&mut self, end: Instant, network: &mut Network<P, T>) {
        for opener in &mut self.openers {
            let group = opener.group();
            for step in opener.close(end) {
                if let ClientAction::Record(client, record) = step {
                    network.ledger.record(end, (group, client), record);
                }
            }
        }
    }
}
