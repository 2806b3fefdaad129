//! The event loop of a run: takes the earliest event and lets its component handle it.

use crate::event::EventSet as _;
use crate::fingerprint::Fingerprint;
use crate::flows::{ControlFactory, FORWARD, Flows, ForwardTotals};
use crate::hosts::{Hosts, PendingEvent};
use crate::ledger::Ledger;
use crate::link::{Link, MeteredQueue, PlannedChange};
use crate::network::{Component, Network, Topology};
use crate::packet::Handle;
use crate::packet_capture::PacketCapture;
use crate::probe::Recorder;
use crate::report::report_links;
use crate::sampler::Samplers;
use crate::scenario::{HostTable, LinkSpec, Scenario};
#[cfg(feature = "engines")]
use crate::simulation::OfferedPacket;
use crate::simulation::Output;
use crate::summary::Summary;
use crate::table::Table;
use crate::warmup::Statistics;
use crate::windows::windows;
use crate::wlan::{QueueOwner, WlanSet};
use sojourn_aqm::{Duration, Instant};
use std::io;

/// A run on a topology, with its probe of packets or senders.
pub(crate) struct Run<P: Recorder, T: Topology> {
    /// Names of all hops but the first.
    names: Vec<String>,
    /// Per hop: number of queues of its reverse direction.
    reverse: Vec<usize>,
    /// Time of the last event.
    pub now: Instant,
    /// Time up to which events are processed now, and the end of the run.
    last: Instant,
    end: Instant,
    statistics: Statistics,
    events: u64,
    /// Events that only check for a window start or sample the backlog for the warm-up.
    window_checks: u64,
    pub network: Network<P, T>,
    pub flows: Flows,
    samplers: Samplers,
    /// Pending changes of links; the next one is last.
    changes: Vec<PlannedChange>,
    /// Channel whose arrivals an endpoint's event has interrupted.
    interrupted: Option<usize>,
    /// The event of an endpoint that was taken last; it owns a reference to its payload.
    taken: Option<PendingEvent>,
}

impl<P: Recorder, T: Topology> Run<P, T> {
    /// A run on the links of a scenario, and on the wireless LANs of its topology.
    pub fn new(scenario: &Scenario, seed: u64, air: T::Air, controls: &ControlFactory) -> Self {
        #[cfg(feature = "run-order")]
        crate::fingerprint::run_order::begin();
        let statistics = Statistics::of(scenario);
        let window = statistics.window();
        let links = scenario.queues().enumerate().filter(|&(i, _)| matches!(air.owner(i), QueueOwner::Link(_)));
        let super_packets = scenario.has_super_packets();
        let links: Vec<Link> = links.map(|(i, spec)| Link::new(spec, i, seed, window, super_packets)).collect();
        // One more slot than there are samplers, for the checks for a window start.
        let layout = Flows::layout(scenario, Samplers::COUNT + 1);
        let ledger = Ledger::new(scenario, window);
        let queues = scenario.queues().count();
        let mut network: Network<P, T> = Network::new(links, air, layout, ledger, P::new(&scenario.probes));
        network.host_table = HostTable::of(scenario);
        network.hosts = Hosts::new(scenario, &network.host_table);
        network.count_in_devices(&scenario.devices_of_hosts());
        let flows = Flows::new(scenario, seed, controls, &mut network);
        let samplers = Samplers::new(&scenario.probes, queues, flows.fixed().len());
        for i in 0..Samplers::COUNT {
            network.set(Component::Sampler(i), samplers.first(i));
        }
        network.set(Component::Sampler(Samplers::COUNT), next_window_check(&statistics, 1));
        network.arm_channels();
        if scenario.queues().flat_map(LinkSpec::configs).any(|config| config.effects().damages) {
            network.expect_damage();
        }
        network.set_ns2_order(scenario);
        network.enable_lookahead(scenario);
        let names = scenario.links.iter().map(|hop| hop.name.clone()).collect();
        let end = window.end;
        let reverse = scenario.reverse_queues().collect();
        Self {
            names,
            reverse,
            now: Instant::ZERO,
            last: Instant::ZERO,
            end,
            statistics,
            events: 0,
            window_checks: 0,
            network,
            flows,
            samplers,
            changes: PlannedChange::all(scenario, seed).into_iter().rev().collect(),
            interrupted: None,
            taken: None,
        }
    }

    /// Processes up to `events` events. Returns whether the run is finished.
    pub fn advance(&mut self, events: u64) -> bool {
        let finished = self.process(events, self.end);
        self.discard_events();
        if finished {
            self.now = self.end;
        }
        finished
    }

    /// Admits the packet that the topology holds, and runs until the next one arrives.
    #[cfg(feature = "engines")]
    pub fn next_arrival(&mut self) -> Option<OfferedPacket> {
        self.network.admit_held(self.now);
        loop {
            if let Some((_, packet)) = self.network.awaiting_verdict.front() {
                return Some(OfferedPacket { bytes: packet.len, flow: packet.flow, ecn: packet.ecn });
            }
            if self.process(u64::MAX, self.end) {
                self.now = self.end;
                return None;
            }
        }
    }

    /// Processes every event up to `until`. Returns whether the run is finished.
    pub fn advance_until(&mut self, until: Instant) -> bool {
        while !self.process(u64::MAX, until.min(self.end)) && self.network.is_paused() {
            self.discard_events();
        }
        let next = self.network.events.first().0.min(self.next_change());
        if next > self.end {
            self.now = self.end;
        }
        next > self.end
    }

    /// When the next event or change is due.
    pub fn due(&self) -> Option<Instant> {
        let next = self.network.events.first().0.min(self.next_change());
        (next <= self.end).then_some(next)
    }

    /// When the next change is due.
    fn next_change(&self) -> Instant {
        self.changes.last().map_or(Instant::NEVER, |change| change.at)
    }

    /// Processes up to `events` events, and all changes, that are due up to `last`. Returns whether none are left.
    fn process(&mut self, events: u64, last: Instant) -> bool {
        let limit = self.events.saturating_add(events);
        while self.next_change() <= last {
            let at = self.next_change();
            let left = limit.saturating_sub(self.events);
            // A change comes before all events of its instant; between changes a run pays nothing per packet for them.
            if !self.process_events(left, at - Duration::from_nanos(1)) {
                return false;
            }
            self.now = at;
            while self.next_change() == at {
                self.events += 1;
                let change = self.changes.pop().expect("a next change exists");
                self.network.change(at, &change);
            }
            self.flows.resume_senders(at, &mut self.network);
        }
        self.process_events(limit.saturating_sub(self.events), last)
    }

    /// Processes up to `events` events that are due up to `last`. Returns whether none are left.
    #[inline(never)]
    fn process_events(&mut self, events: u64, last: Instant) -> bool {
        while T::HOLDS && !self.network.awaiting_verdict.is_empty() {
            self.network.admit_held(self.now);
        }
        self.last = last;
        self.run_lookahead();
        self.network.left = events;
        let finished = self.handle_events(last);
        self.events += events - self.network.left - std::mem::take(&mut self.network.unused);
        finished
    }

    /// Processes events that are due up to `last` until the step's limit is used up, which an endpoint's event does at
    /// once. Returns whether none are left.
    #[inline(always)]
    fn handle_events(&mut self, last: Instant) -> bool {
        while let Some(left) = self.network.left.checked_sub(1) {
            let Some((at, slot)) = self.network.events.first_until(last) else { return true };
            self.network.left = left;
            debug_assert!(at >= self.now, "{:?} at {at:?}, after {:?}", self.network.layout.component(slot), self.now);
            self.now = at;
            self.handle(self.network.layout.component(slot));
            self.flows.resume_senders(at, &mut self.network);
            if let Some((at, handle)) = self.network.ahead.take() {
                if self.network.first_ahead(at).is_some() {
                    self.run_ahead(at, handle);
                } else {
                    // The same as `run_ahead` if nothing else happens before: the usual case.
                    self.events += 1;
                    self.flows.deliver_here(at, handle, &mut self.network);
                    if let Some((at, handle)) = self.network.next_ahead() {
                        self.run_ahead(at, handle);
                    }
                }
            }
            if T::HOLDS && !self.network.awaiting_verdict.is_empty() {
                return false;
            }
        }
        false
    }

    /// Lets the far side of a dumbbell run ahead, up to the next instant at which the run's state is read.
    #[inline(always)]
    fn run_lookahead(&mut self) {
        if self.network.ahead.is_enabled() {
            self.run_far_side();
        }
    }

    #[inline(never)]
    fn run_far_side(&mut self) {
        let due = |i| self.network.events.at(self.network.layout.slot(Component::Sampler(i)));
        let next_sample = (0..=Samplers::COUNT).map(due).min().expect("there are samplers");
        self.network.set_lookahead(next_sample, self.last);
        if let Some((at, handle)) = self.network.next_ahead() {
            self.run_ahead(at, handle);
        }
    }

    /// Delivers a packet that reaches its sink at `at` and the packets after it in the pipe; events of the far side
    /// that are due before each come first.
    #[inline(never)]
    fn run_ahead(&mut self, mut at: Instant, mut handle: Handle) {
        loop {
            while let Some((now, component)) = self.network.first_ahead(at) {
                self.handle_ahead(now, component);
            }
            self.events += 1;
            self.flows.deliver(at, handle, &mut self.network);
            match self.network.next_ahead() {
                Some(next) => (at, handle) = next,
                None => return,
            }
        }
    }

    #[inline(never)]
    fn handle_ahead(&mut self, now: Instant, component: Component) {
        self.events += 1;
        match component {
            Component::Server(link) => self.network.on_server(now, link),
            Component::Sink(slot) => self.flows.on_sink_timer(now, slot, &mut self.network),
            other => unreachable!("{other:?} is not at the far side"),
        }
    }

    #[inline(always)]
    fn handle(&mut self, component: Component) {
        let now = self.now;
        match component {
            Component::Server(link) => {
                if let Some(cell) = self.network.cell_of(link) {
                    self.on_driver(now, cell, link);
                } else if let Some(arrival) = self.network.first_of_departure(now, link) {
                    self.arrive_first(now, arrival);
                } else {
                    self.network.on_server(now, link);
                }
            }
            Component::Pipe(link) => match self.network.timer_of_arrival(now, component) {
                None => self.on_pipe(now, link),
                Some(slot) => self.flows.on_source_timer(now, slot, &mut self.network),
            },
            Component::Exit(link) => match self.network.timer_of_arrival(now, component) {
                None => self.on_exit(now, link),
                Some(slot) => self.flows.on_source_timer(now, slot, &mut self.network),
            },
            Component::Entry(link) => self.network.on_entry(now, link),
            Component::Up(slot) => self.network.on_up(now, slot),
            Component::Down(slot) => {
                let handle = self.network.on_down(slot);
                self.flows.deliver(now, handle, &mut self.network);
            }
            Component::Source(slot) => self.flows.on_source_timer(now, slot, &mut self.network),
            Component::Sink(slot) => self.flows.on_sink_timer(now, slot, &mut self.network),
            Component::Generator(i) => self.events += self.flows.on_generator(now, i, &mut self.network) - 1,
            Component::Sampler(i) if i == Samplers::COUNT => {
                let next = self.check_window_start(now);
                self.network.set(component, next);
                self.run_lookahead();
            }
            Component::Channel(cell) => {
                self.network.on_channel(now, cell);
                self.flows.resume_stations(now, &mut self.network);
                self.deliver_over_channel(now, cell);
            }
            Component::Poll(link) => self.network.on_poll(now, link),
            Component::Sampler(i) => {
                let next = self.samplers.sample(i, now, self.network.queues(), self.flows.fixed());
                self.network.set(component, next);
                self.run_lookahead();
            }
        }
    }

    /// Delivers the packets that have arrived over a channel, up to one that an endpoint's program must answer first.
    #[inline(always)]
    fn deliver_over_channel(&mut self, now: Instant, cell: usize) {
        while !self.network.is_paused() {
            let Some(handle) = self.network.next_over_channel(now, cell) else { return };
            self.events += 1;
            if let Some(handle) = self.network.forward_or_deliver(now, handle) {
                self.flows.deliver(now, handle, &mut self.network);
            }
        }
        self.interrupted = Some(cell);
    }

    /// The driver of a wireless LAN's node polls its queue.
    #[inline(always)]
    fn on_driver(&mut self, now: Instant, cell: usize, queue: usize) {
        let (now, more) = self.network.on_driver(now, cell, queue, self.last);
        self.now = now;
        self.events += more;
        self.flows.resume_stations(now, &mut self.network);
    }

    /// Handles an arrival before the departure of the same instant; the departure's event stays pending.
    #[inline(never)]
    fn arrive_first(&mut self, now: Instant, arrival: Component) {
        if let Some(slot) = self.network.timer_of_arrival(now, arrival) {
            return self.flows.on_source_timer(now, slot, &mut self.network);
        }
        let handle = match arrival {
            Component::Entry(link) => return self.network.on_entry(now, link),
            Component::Exit(link) => Some(self.network.on_exit(link)),
            Component::Pipe(link) => self.network.on_pipe(now, link),
            other => unreachable!("{other:?} is no arrival"),
        };
        if let Some(handle) = handle {
            self.flows.deliver(now, handle, &mut self.network);
        }
    }

    #[inline(always)]
    fn on_pipe(&mut self, now: Instant, link: usize) {
        if let Some(handle) = self.network.on_pipe(now, link) {
            self.flows.deliver_here(now, handle, &mut self.network);
        }
    }

    #[inline(always)]
    fn on_exit(&mut self, now: Instant, link: usize) {
        let handle = self.network.on_exit(link);
        self.flows.deliver_here(now, handle, &mut self.network);
    }

    /// Samples the backlog and takes snapshots that decide later when the statistics start; returns when to check
    /// again.
    #[cold]
    fn check_window_start(&mut self, now: Instant) -> Instant {
        self.window_checks += 1;
        if self.statistics.due() == now {
            let waiting = |queue: &mut dyn MeteredQueue| u64::from(queue.backlog().packets);
            self.statistics.add_sample(self.network.queues().map(waiting).sum());
        }
        let passed = self.flows.window_starts_passed();
        if self.statistics.window().starts().get(passed) == Some(&now) {
            self.flows.on_window_start(now, &mut self.network);
        }
        next_window_check(&self.statistics, self.flows.window_starts_passed())
    }

    /// Bytes that the largest table will allocate when it next grows, if that may happen within `events` events.
    pub fn growth(&self, events: u64) -> u64 {
        // An event that unblocks a sender sends a window; few events do, and none of the others sends more than one
        // packet.
        let packets = events.saturating_mul(PACKETS_PER_EVENT);
        self.network.packets.growth(packets).max(self.flows.growth(events))
    }

    /// The packets in the queues now, if packets are recorded.
    pub fn waiting(&self) -> Option<Table> {
        self.network.probe.waiting()
    }

    /// Takes the rows of packets that have left a queue.
    pub fn take_packets(&mut self) -> Option<Table> {
        self.network.probe.take_packets()
    }

    /// Takes the rows of tables that have at least `min_rows`.
    pub fn take_rows(&mut self, min_rows: usize) -> Vec<Table> {
        let mut taken = Vec::new();
        self.network.probe.take(min_rows, &mut taken);
        // Several of these tables are merged in order of time at the end.
        if let [cell] = self.network.air.cells_mut() {
            taken.extend(cell.take_attempts(min_rows));
        }
        taken.extend(self.network.ledger.take_rows(min_rows));
        self.samplers.take(min_rows, &mut taken);
        taken
    }

    /// Captures packets from now on, if the run has a probe of packets.
    pub fn start_capture(&mut self, capture: PacketCapture) {
        self.network.probe.start_capture(capture);
    }

    /// Writes the rest of the capture, if there is one.
    pub fn end_capture(&mut self) -> io::Result<()> {
        self.network.probe.end_capture()
    }

    /// The results of a finished run.
    pub fn report(mut self) -> Output {
        self.flows.collect_lost(self.end, &mut self.network);
        self.network.queues().for_each(|queue| queue.close());
        self.flows.close(self.end, &mut self.network);
        let (begin, window) = (self.statistics.begin(), self.statistics.window().clone());
        let (flows, groups, shares) = self.flows.report(&self.network, begin.number, &window);
        let forward = groups.iter().filter(|group| group.direction == FORWARD);
        let totals = ForwardTotals::of(forward.map(|group| group.payload), &shares);
        let mut later = Vec::new();
        if begin.settled.is_some() {
            let (totals_from, of_flows) = self.flows.windows(&self.network, &window, begin.number);
            later.extend(windows(self.network.queues(), &begin, |number| totals_from[number - begin.number]));
            later.extend(of_flows);
            later.extend(self.network.air.airtimes(begin.number));
        }
        let (links, mut hops, histogram) = report_links(self.network.queues(), &self.reverse, self.names, begin.number);
        let fingerprint = Fingerprint::of_run(self.network.queues().map(|queue| queue.tally().fingerprint));
        let (cells, accesses) = self.network.air.report(begin.number);
        let mut wlan = None;
        for (hop, cell) in cells {
            *hop.checked_sub(1).map_or(&mut wlan, |other| &mut hops[other].wlan) = Some(cell);
        }
        let summary = Summary {
            duration_s: (self.end - Instant::ZERO).as_secs_f64(),
            warmup_s: begin.warmup_s,
            settled: begin.settled,
            not_settled: begin.not_settled,
            // The number of events with a given warm-up, so that it does not depend on how the start was found.
            events: self.events - self.window_checks + u64::from(begin.number > 0),
            fingerprint: format!("{fingerprint:016x}"),
            goodput_bps: totals.goodput_bps,
            delivered_bps: totals.delivered_bps,
            jain: totals.jain,
            links,
            hops,
            wlan,
            groups,
            flows,
        };
        let mut tables = vec![histogram];
        tables.extend(later);
        tables.extend(self.network.probe.tables());
        tables.extend(accesses);
        tables.extend(self.network.ledger.into_tables());
        tables.extend(self.samplers.into_tables());
        Output { summary, tables }
    }
}

/// Maximum packets per event, averaged over thousands of events.
const PACKETS_PER_EVENT: u64 = 4;

/// When `statistics` are due next: for a sample of the backlog, or because instant `number` is a possible window start.
fn next_window_check(statistics: &Statistics, number: usize) -> Instant {
    let begin = statistics.window().starts().get(number).copied().unwrap_or(Instant::NEVER);
    statistics.due().min(begin)
}

mod programs;
#[cfg(test)]
mod tests;
