//! The flows of a run: those of the scenario, and connections that are opened and closed in slots of their own.

mod connections;
mod sums;
mod windows;

pub use sums::{BulkShares, ForwardTotals};

use crate::endpoint::{EndId, Side};
use crate::ledger::{GroupCounts, GroupTally};
use crate::media::MediaSummary;
use crate::network::{Component, Layout, NO_FLOW, Network, Topology};
use crate::packet::{Handle, Packet, ReceivedPacket};
use crate::payload::LostDatagrams;
use crate::playback::VideoSummary;
use crate::probe::Probe;
use crate::programs::ProgramSummary;
use crate::quantiles::Quantiles;
use crate::scenario::{Direction, FlowSpec, Scenario, Traffic};
use crate::status::{RoundTrips, Status};
use crate::summary::{DatagramSummary, FlowSummary, GroupSummary, PayloadSummary};
use crate::traffic::{AnyFlow, EndpointFlow, Opener, Port, TrafficSource};
use crate::window::Window;
use sojourn_aqm::{Duration, Ecn, Instant};
use sojourn_tcp::Header;
use sojourn_tcp::cc::AnyCc;
use sums::GroupReport;

/// All endpoints of a run.
pub(crate) struct Flows {
    groups: Vec<Group>,
    /// By slot: first the flows of the scenario, whose numbers equal their slots; then connections.
    slots: Vec<FlowSlot>,
    /// Header of the packet that is being delivered.
    header: Header,
    /// Number of flows that last the whole run.
    fixed: u32,
    /// By slot, from `fixed` on: the slot of the endpoint whose packets take another path there. Connections follow.
    path_owners: Vec<u32>,
    /// By slot, from [`Flows::first_connection`] on: the opener that owns the connection.
    owners: Vec<u32>,
    openers: Vec<Opener>,
    /// By opener: when its event is due.
    due: Vec<Instant>,
    /// Status of each fixed flow, and of the connections per group, at each instant at which the statistics window may
    /// start.
    window_starts: Vec<Snapshot>,
}

/// Both ends of a flow. The timers come first, beside the fields that every packet reads.
#[repr(C, align(64))]
struct FlowSlot {
    /// When the timers are due: a copy of the event set's entries, which need not be read for it.
    source_at: Instant,
    sink_at: Instant,
    flow: AnyFlow,
}

impl FlowSlot {
    const fn new(flow: AnyFlow) -> Self {
        Self { source_at: Instant::NEVER, sink_at: Instant::NEVER, flow }
    }

    /// Sets both timers to their deadlines.
    fn set<P: Probe, T: Topology>(&mut self, slot: u32, network: &mut Network<P, T>) {
        self.set_source(slot, network);
        self.set_sink(slot, network);
    }

    #[inline]
    fn set_source<P: Probe, T: Topology>(&mut self, slot: u32, network: &mut Network<P, T>) {
        self.move_source(self.flow.source_deadline(), slot, network);
    }

    #[inline]
    fn set_sink<P: Probe, T: Topology>(&mut self, slot: u32, network: &mut Network<P, T>) {
        self.move_sink(self.flow.sink_deadline(), slot, network);
    }

    /// Sets the source's timer; the event set is written only if the time differs.
    #[inline(always)]
    fn move_source<P: Probe, T: Topology>(&mut self, at: Instant, slot: u32, network: &mut Network<P, T>) {
        if std::mem::replace(&mut self.source_at, at) != at {
            network.set(Component::Source(slot), at);
        }
    }

    /// Sets the sink's timer; the event set is written only if the time differs.
    #[inline(always)]
    fn move_sink<P: Probe, T: Topology>(&mut self, at: Instant, slot: u32, network: &mut Network<P, T>) {
        if std::mem::replace(&mut self.sink_at, at) != at {
            network.set(Component::Sink(slot), at);
        }
    }

    /// Arms the source's timer for an earlier deadline. A later deadline leaves it: the timer fires early, finds
    /// nothing due and is armed again, which costs less than moving it with every ACK.
    #[inline(always)]
    fn arm_source<P: Probe, T: Topology>(&mut self, deadline: Instant, slot: u32, network: &mut Network<P, T>) {
        if deadline < self.source_at {
            self.source_at = deadline;
            network.set(Component::Source(slot), deadline);
        }
    }

    /// Arms the sink's timer for an earlier deadline.
    #[inline(always)]
    fn arm_sink<P: Probe, T: Topology>(&mut self, deadline: Instant, slot: u32, network: &mut Network<P, T>) {
        if deadline < self.sink_at {
            self.sink_at = deadline;
            network.set(Component::Sink(slot), deadline);
        }
    }
}

/// Creates congestion controls, by group and index within the group.
pub type ControlFactory<'a> = dyn Fn(u32, u32) -> Option<AnyCc> + 'a;

/// Properties shared by all flows of a group.
struct Group {
    spec: FlowSpec,
    /// Slot of its first flow; the others follow. A group that opens connections has none.
    first_slot: Option<u32>,
    forward: bool,
    is_bulk: bool,
}

#[derive(Default)]
struct Snapshot {
    flows: Vec<Status>,
    connections: Vec<Status>,
}

impl Flows {
    /// The slots that a scenario needs: one per flow, and room for some connections per generator.
    pub fn layout<T: Topology>(scenario: &Scenario, samplers: usize) -> Layout<T> {
        let count = |opens: bool| -> u32 {
            scenario.flows.iter().filter(|f| f.traffic.opens_connections() == opens).map(|f| f.count).sum()
        };
        let (flows, generators) = (count(false), count(true));
        let flows = flows + scenario.flows.iter().map(|f| f.count * f.other_paths.len() as u32).sum::<u32>();
        let room = if generators > 0 { generators.max(FIRST_ROOM) } else { 0 };
        let links = scenario.queues().count() as u32;
        let channels = scenario.cells().count() as u32;
        Layout::new(links, flows + room, generators, samplers as u32, channels)
    }

    /// Creates the flows and openers of a scenario.
    pub fn new<P: Probe, T: Topology>(
        scenario: &Scenario,
        seed: u64,
        controls: &ControlFactory,
        network: &mut Network<P, T>,
    ) -> Self {
        let group = |spec: &FlowSpec| Group {
            spec: spec.clone(),
            first_slot: None,
            forward: spec.direction == Direction::Forward,
            is_bulk: spec.is_bulk(scenario.duration),
        };
        let mut flows = Self {
            groups: scenario.flows.iter().map(group).collect(),
            slots: Vec::with_capacity(network.layout.flows() as usize),
            header: Header::default(),
            fixed: 0,
            path_owners: Vec::new(),
            owners: Vec::new(),
            openers: Vec::new(),
            due: Vec::new(),
            window_starts: Vec::new(),
        };
        let specs = (0..)
            .zip(&scenario.flows)
            .flat_map(|(group, spec)| (0..spec.count).map(move |member| ((group, member), spec)));
        for (index, ((group, member), spec)) in (0..).zip(specs) {
            match TrafficSource::new(spec, (group, member), index, seed, controls(group, member)) {
                TrafficSource::Opener(opener) => flows.openers.push(*opener),
                TrafficSource::Flow(flow) => {
                    let slot = network.add_slot((group, member), spec);
                    flows.groups[group as usize].first_slot.get_or_insert(slot);
                    network.ledger.groups[group as usize].lasting += 1;
                    flows.slots.push(FlowSlot::new(flow));
                    flows.start_flow(slot, network);
                }
            }
        }
        flows.fixed = network.next_flow;
        let (lasting, connections) =
            (vec![Status::default(); flows.slots.len()], vec![Status::default(); flows.groups.len()]);
        flows.add_paths(network);
        flows.window_starts.push(Snapshot { flows: lasting, connections });
        for (i, opener) in flows.openers.iter().enumerate() {
            flows.due.push(opener.due());
            network.set(Component::Generator(i), opener.due());
        }
        flows
    }

    /// Adds a slot for every further path of endpoints: packets that take it are those of the endpoint.
    fn add_paths<P: Probe, T: Topology>(&mut self, network: &mut Network<P, T>) {
        for (number, group) in (0..).zip(&self.groups) {
            let members = 0..if group.spec.other_paths.is_empty() { 0 } else { group.spec.count };
            for (slot, member) in (group.first_slot.unwrap_or(0)..).zip(members) {
                network.add_paths(slot, (number, member), &group.spec);
                for _ in &group.spec.other_paths {
                    let never = (Instant::NEVER, Instant::NEVER);
                    self.slots.push(FlowSlot::new(AnyFlow::Endpoint(Box::new(EndpointFlow::between_hosts(never)))));
                    self.path_owners.push(slot);
                }
            }
        }
    }

    /// Slot of the first connection.
    fn first_connection(&self) -> u32 {
        self.fixed + self.path_owners.len() as u32
    }

    /// The slot whose flow gets a packet of slot `slot`, which is none of a fixed flow; `None` if the packet belongs to
    /// a connection that has closed.
    #[inline(always)]
    fn receiving_slot<P: Probe, T: Topology>(&self, packet: &Packet, network: &Network<P, T>) -> Option<u32> {
        match self.path_owners.get((packet.slot - self.fixed) as usize) {
            Some(&owner) => Some(owner),
            None => (network.current_flow(packet.slot).0 == packet.flow).then_some(packet.slot),
        }
    }

    /// Numbers the flow in `slot` and starts its timers.
    fn start_flow<P: Probe, T: Topology>(&mut self, slot: u32, network: &mut Network<P, T>) {
        Self::number(slot, network);
        self.slots[slot as usize].set(slot, network);
    }

    /// Gives the flow in `slot` the next number.
    fn number<P: Probe, T: Topology>(slot: u32, network: &mut Network<P, T>) {
        network.assign(slot, network.next_flow);
        network.next_flow += 1;
    }

    #[inline]
    pub fn on_source_timer<P: Probe, T: Topology>(&mut self, now: Instant, slot: u32, network: &mut Network<P, T>) {
        let ends = &mut self.slots[slot as usize];
        let mut port = Port::new(network, now, slot, true);
        let deadline = ends.flow.on_source_timer(now, &mut port);
        ends.move_source(deadline, slot, network);
    }

    #[inline]
    pub fn on_sink_timer<P: Probe, T: Topology>(&mut self, now: Instant, slot: u32, network: &mut Network<P, T>) {
        let ends = &mut self.slots[slot as usize];
        let mut port = Port::new(network, now, slot, false);
        ends.flow.on_sink_timer(now, &mut port);
        ends.set_sink(slot, network);
        if !network.ledger.notifications.is_empty() {
            self.deliver_notifications(now, network);
        }
    }

    /// Delivers a packet to its destination.
    #[inline(never)]
    pub fn deliver<P: Probe, T: Topology>(&mut self, now: Instant, handle: Handle, network: &mut Network<P, T>) {
        self.deliver_here(now, handle, network);
    }

    /// The same, inlined into the caller.
    #[inline(always)]
    pub fn deliver_here<P: Probe, T: Topology>(&mut self, now: Instant, handle: Handle, network: &mut Network<P, T>) {
        let mut packet = network.packets.take(handle, &mut self.header);
        let header = &self.header;
        let Packet { mut slot, to_sink, .. } = packet;
        if network.changes_packets() {
            if network.packets.is_damaged(handle) && !self.accepts_damage(handle, network) {
                // The checksum is wrong.
                return;
            }
            if network.is_bleached(slot) {
                packet.ecn = Ecn::NotEct;
            }
        }
        if !to_sink {
            network.on_source_packet(now, &packet, header);
        }
        if slot >= self.fixed {
            let Some(receiving) = self.receiving_slot(&packet, network) else { return };
            slot = receiving;
        }
        let ends = &mut self.slots[slot as usize];
        let mut port = Port::new(network, now, slot, !to_sink);
        let arrived = ReceivedPacket { len: packet.len, segment: packet.segment, ecn: packet.ecn, to_sink };
        let deadline = ends.flow.on_packet(now, header, arrived, &mut port);
        match to_sink {
            true => ends.arm_sink(deadline, slot, network),
            false => ends.arm_source(deadline, slot, network),
        }
        if !network.ledger.notifications.is_empty() {
            self.deliver_notifications(now, network);
        }
        if !network.ledger.ended.is_empty() {
            self.release_ended(now, network);
        }
    }

    /// Whether a damaged packet is delivered nonetheless, because its endpoint wants it; otherwise its payload is
    /// released.
    #[cold]
    fn accepts_damage<P: Probe, T: Topology>(&self, handle: Handle, network: &mut Network<P, T>) -> bool {
        let group = network.packets.payload_of(handle).map(|payload| payload.info.group as usize);
        let accepts = match group.map(|group| &self.groups[group].spec.traffic) {
            Some(Traffic::Endpoint(spec)) => spec.delivers_damage(),
            _ => false,
        };
        match &mut network.hosts {
            Some(hosts) if accepts => hosts.damage = true,
            _ => network.packets.release_payload(handle),
        }
        accepts
    }

    /// Resumes senders in stations whose packets have left room in the station's queue.
    #[inline(always)]
    pub fn resume_stations<P: Probe, T: Topology>(&mut self, now: Instant, network: &mut Network<P, T>) {
        if network.any_with_room() {
            self.resume_some_stations(now, network);
        }
    }

    #[inline(never)]
    fn resume_some_stations<P: Probe, T: Topology>(&mut self, now: Instant, network: &mut Network<P, T>) {
        while !network.is_paused() {
            let Some((slot, from_source)) = network.next_with_room() else { return };
            let ends = &mut self.slots[slot as usize];
            let mut port = Port::new(network, now, slot, from_source);
            ends.flow.on_room(now, from_source, &mut port);
            // The other end did nothing, so its timer is unchanged.
            if from_source {
                let deadline = ends.flow.source_deadline();
                ends.arm_source(deadline, slot, network);
            } else {
                let deadline = ends.flow.sink_deadline();
                ends.arm_sink(deadline, slot, network);
            }
        }
    }

    /// Resumes TSQ-limited senders after departures from their host's device.
    #[inline(always)]
    pub fn resume_senders<P: Probe, T: Topology>(&mut self, now: Instant, network: &mut Network<P, T>) {
        while let Some(slot) = network.next_resumable() {
            let ends = &mut self.slots[slot as usize];
            ends.flow.on_departure(now, &mut Port::new(network, now, slot, true));
            let deadline = ends.flow.source_deadline();
            ends.arm_source(deadline, slot, network);
        }
    }

    /// Slot of member `index` of a group, if it is a pair of ends.
    pub fn endpoint_slot(&self, (group, index): (u32, u32)) -> Option<u32> {
        let Group { spec, first_slot, .. } = self.groups.get(group as usize)?;
        let slot = first_slot.filter(|_| index < spec.count)? + index;
        matches!(self.slots.get(slot as usize)?.flow, AnyFlow::Endpoint(_)).then_some(slot)
    }

    /// Group of an end, and its number there.
    pub fn member<P: Probe, T: Topology>(&self, end: EndId, network: &Network<P, T>) -> (u32, u32) {
        let (_, group) = network.current_flow(end.slot);
        (group, end.slot - self.groups[group as usize].first_slot.unwrap_or(end.slot))
    }

    /// The flow that an end belongs to.
    pub fn endpoint_mut(&mut self, end: EndId) -> &mut EndpointFlow {
        match &mut self.slots[end.slot as usize].flow {
            AnyFlow::Endpoint(flow) => flow,
            _ => unreachable!("ends belong to endpoint flows"),
        }
    }

    /// Sets the timer of an end without a program, after its caller has acted.
    pub fn arm_end<P: Probe, T: Topology>(&mut self, end: EndId, network: &mut Network<P, T>) {
        let ends = &mut self.slots[end.slot as usize];
        match end.side {
            Side::Source => ends.arm_source(ends.flow.source_deadline(), end.slot, network),
            Side::Sink => ends.arm_sink(ends.flow.sink_deadline(), end.slot, network),
        }
    }

    /// Moves the timer of an end without a program to its deadline.
    pub fn move_end<P: Probe, T: Topology>(&mut self, end: EndId, network: &mut Network<P, T>) {
        match end.side {
            Side::Source => self.slots[end.slot as usize].set_source(end.slot, network),
            Side::Sink => self.slots[end.slot as usize].set_sink(end.slot, network),
        }
    }

    /// Counts the datagrams of endpoints that have been lost.
    pub fn collect_lost<P: Probe, T: Topology>(&mut self, now: Instant, network: &mut Network<P, T>) {
        for LostDatagrams { group, side, tag, count } in network.packets.payloads.take_lost() {
            network.ledger.endpoint_of(now, group).sent_by(side, tag).lost += count;
        }
    }

    /// Takes a snapshot at an instant at which the statistics window may start.
    pub fn on_window_start<P: Probe, T: Topology>(&mut self, now: Instant, network: &mut Network<P, T>) {
        // Those lost until now belong to the interval that ends.
        self.collect_lost(now - Duration::from_nanos(1), network);
        self.slots[..self.fixed as usize].iter_mut().for_each(|ends| ends.flow.on_window_start());
        let flows = self.fixed().map(AnyFlow::status).collect();
        self.window_starts.push(Snapshot { flows, connections: self.connections(network) });
    }

    /// The flows that last the whole run.
    pub fn fixed(&self) -> impl ExactSizeIterator<Item = &AnyFlow> {
        self.slots[..self.fixed as usize].iter().map(|ends| &ends.flow)
    }

    /// Slots in use or free for reuse.
    #[cfg(test)]
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Status of the connections per group, closed ones included.
    fn connections<P: Probe, T: Topology>(&self, network: &Network<P, T>) -> Vec<Status> {
        let mut sums: Vec<Status> = network.ledger.groups.iter().map(|group| group.ended_connections).collect();
        for slot in self.first_connection()..self.slots.len() as u32 {
            let (flow, group) = network.current_flow(slot);
            if flow != NO_FLOW {
                sums[group as usize].add(&self.slots[slot as usize].flow.status());
            }
        }
        sums
    }

    /// Number of possible window starts so far, the start of the run included.
    pub fn window_starts_passed(&self) -> usize {
        self.window_starts.len()
    }

    fn shares(&self) -> BulkShares {
        BulkShares::new(self.groups.iter().map(|group| (group.is_bulk, group.forward)))
    }

    /// Summaries of every fixed flow and every group, from window start `number` on.
    pub fn report<P: Probe, T: Topology>(
        &self,
        network: &Network<P, T>,
        number: usize,
        window: &Window,
    ) -> (Vec<FlowSummary>, Vec<GroupSummary>, BulkShares) {
        self.report_of(network, number, window, &network.ledger.counts_from(number))
    }

    /// The same with the groups' counts from that instant on given.
    fn report_of<P: Probe, T: Topology>(
        &self,
        network: &Network<P, T>,
        number: usize,
        window: &Window,
        counts: &[GroupCounts],
    ) -> (Vec<FlowSummary>, Vec<GroupSummary>, BulkShares) {
        let window_s = window.length(number).as_secs_f64();
        let connections = self.connections(network);
        let begin = &self.window_starts[number];
        let mut groups: Vec<GroupReport> =
            connections.iter().zip(&begin.connections).map(|(now, then)| GroupReport::new(now, then)).collect();
        let mut flows = Vec::with_capacity(self.fixed as usize);
        let mut shares = self.shares();
        for (slot, flow) in (0..).zip(self.fixed()) {
            let (_, group) = network.current_flow(slot);
            let (status, before) = (flow.status(), &begin.flows[slot as usize]);
            let datagrams = status.datagrams.since(&before.datagrams, before.sent, flow.strays(number));
            let kind = self.groups[group as usize].spec.traffic.name();
            let seen = DatagramSummary::of(&datagrams, kind == "voice");
            let payload = PayloadSummary::of(&status.payload.since(&before.payload), window_s);
            let rtts = status.rtts.since(&before.rtts);
            let summary = self.groups[group as usize].flow_summary((slot, group), &status, (payload, rtts, seen));
            groups[group as usize].add(&status, before, (&datagrams, seen.mos));
            shares.add(group as usize, summary.payload.goodput_bps);
            flows.push(summary);
        }
        let groups = groups.into_iter().zip(&self.groups).zip(counts).zip(&network.ledger.groups);
        let groups =
            (0..).zip(groups).map(|(number, (((report, group), counts), &GroupTally { lasting, rpm, .. }))| {
                let Status { sent, retransmissions, timeouts, .. } = report.total;
                GroupSummary {
                    kind: group.spec.traffic.name(),
                    direction: group.direction(),
                    payload: PayloadSummary::of(&report.payload, window_s),
                    jain: shares.of_group(number),
                    offered_bytes: counts.offered,
                    opened: lasting + counts.opened,
                    closed: counts.closed,
                    transfers: counts.completion.total(),
                    completion_ms: Quantiles::of(&counts.completion),
                    sent,
                    retransmissions,
                    timeouts,
                    rtt_ms: report.rtts.mean_ms(),
                    datagrams: report.datagrams(),
                    video: (group.spec.traffic.name() == "video").then(|| VideoSummary::of(&counts.playback)),
                    capture: match &group.spec.traffic {
                        Traffic::Pcap(pcap) => Some(pcap.summary()),
                        _ => None,
                    },
                    media: (group.spec.traffic.name() == "media").then(|| MediaSummary::of(&counts.media, window_s)),
                    rpm,
                    endpoint: match &group.spec.traffic {
                        Traffic::Endpoint(spec) => Some(ProgramSummary::of(spec, &counts.endpoint)),
                        _ => None,
                    },
                }
            });
        let groups = groups.collect();
        (flows, groups, shares)
    }
}

impl Group {
    fn direction(&self) -> &'static str {
        if self.forward { FORWARD } else { "reverse" }
    }

    fn flow_summary(
        &self,
        (id, group): (u32, u32),
        status: &Status,
        (payload, rtts, datagrams): (PayloadSummary, RoundTrips, DatagramSummary),
    ) -> FlowSummary {
        FlowSummary {
            id,
            group,
            kind: self.spec.traffic.name(),
            direction: self.direction(),
            payload,
            sent: status.sent,
            retransmissions: status.retransmissions,
            timeouts: status.timeouts,
            rtt_ms: rtts.mean_ms(),
            datagrams,
        }
    }
}

/// Name of the direction in the summary.
pub(crate) const FORWARD: &str = "forward";

/// Minimum room for connections before the table first grows.
const FIRST_ROOM: u32 = 16;
