//! A run of a scenario, independent of the engine that it is compiled for.

use crate::counters::{FlowCounters, LinkCounters};
use crate::endpoint::{EndEvent, EndId, Endpoint, SendError, Side, Standing, Transmit};
use crate::flows::ControlFactory;
use crate::hosts::Decision;
use crate::link::MeteredQueue;
#[cfg(feature = "engines")]
use crate::network::Graph;
use crate::network::{CellGraph, Dumbbell};
use crate::packet_capture::PacketCapture;
use crate::probe::CombinedRecorder;
use crate::run::Run;
use crate::scenario::{FlowSpec, Scenario};
use crate::summary::Summary;
use crate::table::Table;
use crate::wlan::Cells;
use sojourn_aqm::{Ecn, Instant, ObserveFn, SubqueueInfo};
use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;

/// A run of a scenario with one seed.
pub struct Simulation(Engine);

/// Results of a run.
#[derive(Clone, Debug)]
pub struct Output {
    /// Summary of the run.
    pub summary: Summary,
    /// Recorded tables; always with `sojourn_histogram`.
    pub tables: Vec<Table>,
}

/// A packet that is about to be offered to the first queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfferedPacket {
    /// IP bytes.
    pub bytes: u32,
    /// Number of its flow.
    pub flow: u32,
    /// Its ECN field.
    pub ecn: Ecn,
}

/// Read access to a queue discipline.
#[derive(Clone, Copy)]
pub struct QueueView<'a> {
    /// Visits its state variables by name.
    pub observe: &'a ObserveFn<'a>,
    /// Visits its internal queues.
    pub subqueues: &'a SubqueueVisitor<'a>,
}

/// Visits the internal queues of a queue discipline.
pub type SubqueueVisitor<'a> = dyn Fn(&mut dyn FnMut(SubqueueInfo<'_>)) + 'a;

/// With or without a probe of packets or senders; on a dumbbell, a graph, or a graph with wireless LANs. Unused hooks
/// compile to nothing, and two links to an array.
enum Engine {
    #[cfg(feature = "engines")]
    Plain(Box<Run<(), Dumbbell>>),
    Recorded(Box<Run<CombinedRecorder, Dumbbell>>),
    #[cfg(feature = "engines")]
    Graph(Box<Run<(), Graph<false>>>),
    #[cfg(feature = "engines")]
    GraphEverything(Box<Run<CombinedRecorder, Graph<false>>>),
    #[cfg(feature = "engines")]
    Cells(Box<Run<(), CellGraph>>),
    CellsEverything(Box<Run<CombinedRecorder, CellGraph>>),
    #[cfg(feature = "engines")]
    Gated(Box<Run<(), Graph<true>>>),
}

macro_rules! with {
    ($engine:expr, $run:ident => $do:expr) => {
        match $engine {
            #[cfg(feature = "engines")]
            Engine::Plain($run) => $do,
            Engine::Recorded($run) => $do,
            #[cfg(feature = "engines")]
            Engine::Graph($run) => $do,
            #[cfg(feature = "engines")]
            Engine::GraphEverything($run) => $do,
            #[cfg(feature = "engines")]
            Engine::Cells($run) => $do,
            Engine::CellsEverything($run) => $do,
            #[cfg(feature = "engines")]
            Engine::Gated($run) => $do,
        }
    };
}

impl Simulation {
    /// A run of `scenario` with `seed`, before its first event.
    pub fn new(scenario: &Scenario, seed: u64) -> Self {
        Self::controlled(scenario, seed, &|_, _| None)
    }

    /// The same with congestion controls that are not in the scenario: `controls` is called with the group and index of
    /// each TCP flow that lasts the whole run; if it returns none, the flow uses its group's control.
    pub fn controlled(scenario: &Scenario, seed: u64, controls: &ControlFactory) -> Self {
        Self::on_engine(scenario, seed, controls, scenario.probes.each())
    }

    /// The same run, which also writes a capture in pcapng to `output`: every packet that is offered to a queue, leaves
    /// it or is dropped there, in the order of the run, one interface per queue.
    pub fn with_capture(scenario: &Scenario, seed: u64, output: Box<dyn io::Write + Send>) -> Self {
        let mut simulation = Self::on_engine(scenario, seed, &|_, _| None, true);
        let capture = PacketCapture::new(scenario, output);
        with!(&mut simulation.0, run => run.start_capture(capture));
        simulation
    }

    fn on_engine(scenario: &Scenario, seed: u64, controls: &ControlFactory, has_probe: bool) -> Self {
        let has_paths =
            |flow: &FlowSpec| flow.paths.data.len() > 1 || flow.paths.acks.len() > 1 || !flow.other_paths.is_empty();
        // A dumbbell's senders share no devices.
        let is_dumbbell = scenario.links.is_empty()
            && !scenario.flows.iter().any(has_paths)
            && scenario.devices_of_hosts().is_empty();
        // `Graph` has no code for shared devices either; `CellGraph` has.
        let needs_all = scenario.cells().next().is_some() || !scenario.devices_of_hosts().is_empty();
        Self(match (needs_all, is_dumbbell, has_probe) {
            #[cfg(feature = "engines")]
            (false, true, false) => Engine::Plain(Box::new(Run::new(scenario, seed, (), controls))),
            (false, true, _) => Engine::Recorded(Box::new(Run::new(scenario, seed, (), controls))),
            #[cfg(feature = "engines")]
            (false, false, false) => Engine::Graph(Box::new(Run::new(scenario, seed, (), controls))),
            #[cfg(feature = "engines")]
            (false, false, true) => Engine::GraphEverything(Box::new(Run::new(scenario, seed, (), controls))),
            #[cfg(feature = "engines")]
            (true, _, false) => Engine::Cells(Box::new(Run::new(scenario, seed, Cells::new(scenario, seed), controls))),
            // Without the `engines` feature links alone run on the engine for wireless LANs.
            _ => Engine::CellsEverything(Box::new(Run::new(scenario, seed, Cells::new(scenario, seed), controls))),
        })
    }

    /// The run without wireless LANs and probes, for a caller that decides on packets one by one: it stops at each
    /// packet that arrives at the first queue ([`Simulation::next_arrival`]).
    #[cfg(feature = "engines")]
    pub fn with_gate(scenario: &Scenario, seed: u64) -> Self {
        Self(Engine::Gated(Box::new(Run::new(scenario, seed, (), &|_, _| None))))
    }

    /// Offers the packet that stopped the run to the first queue, and runs until the next packet arrives there. Returns
    /// that packet, which is not yet offered; its arrival time is [`Simulation::now`]. Several may arrive at one
    /// instant. `None` if the run is finished or was not made by [`Simulation::with_gate`].
    #[cfg(feature = "engines")]
    pub fn next_arrival(&mut self) -> Option<OfferedPacket> {
        match &mut self.0 {
            Engine::Gated(run) => run.next_arrival(),
            _ => None,
        }
    }

    /// Processes up to `events` events. Returns whether the run is finished. Sinks may be ahead of [`Simulation::now`]
    /// then; to read the state of a run, use [`Simulation::advance_until`].
    pub fn advance(&mut self, events: u64) -> bool {
        with!(&mut self.0, run => run.advance(events))
    }

    /// Bytes that the largest table of the run (packets in flight or connections) will allocate when it next grows, if
    /// that may happen within `events` events; otherwise 0. A caller that checks it before each step can end the run
    /// with an error instead of running out of memory.
    pub fn growth(&self, events: u64) -> u64 {
        with!(&self.0, run => run.growth(events))
    }

    /// Processes every event due up to and including `until`. Returns whether the run is finished. The length of the
    /// steps does not change the results. [`Simulation::links`] and [`Simulation::flows`] read the counters so far:
    ///
    /// ```
    /// use sojourn_aqm::{Duration, Instant};
    /// use sojourn_sim::{Simulation, scenario::Scenario};
    ///
    /// let text = "duration = \"2 s\"\n[link]\nrate = \"8 Mbit/s\"\n[[flows]]\nkind = \"cbr\"\nrate = \"9 Mbit/s\"";
    /// let scenario = Scenario::parse(text, &[], std::path::Path::new("."))?;
    /// let mut run = Simulation::new(&scenario, 1);
    /// let (mut until, mut before) = (Instant::ZERO, 0);
    /// while !run.advance_until(until) {
    ///     let forward = run.links()[0];
    ///     println!("{until:?}: {} waiting, {} B sent", forward.backlog.packets, forward.bytes - before);
    ///     (until, before) = (until + Duration::from_millis(100), forward.bytes);
    /// }
    /// assert_eq!(run.finish().summary.fingerprint, Simulation::new(&scenario, 1).finish().summary.fingerprint);
    /// # Ok::<(), sojourn_sim::scenario::Error>(())
    /// ```
    pub fn advance_until(&mut self, until: Instant) -> bool {
        with!(&mut self.0, run => run.advance_until(until))
    }

    /// Counters since the start of the run of every queue, by its number in tables: both directions of each link; for a
    /// wireless LAN the access point and each station.
    pub fn links(&self) -> Vec<LinkCounters> {
        with!(&self.0, run => run.network.counters())
    }

    /// Counters of every flow that lasts the whole run, in the order of the summary.
    pub fn flows(&self) -> Vec<FlowCounters> {
        with!(&self.0, run => run.flows.fixed().map(|flow| FlowCounters::of(&flow.status())).collect())
    }

    /// Capacity of a link's server used until `at`, and available until then, in the server's own unit: time, bits, or
    /// bytes of opportunity. `at` must be the instant up to which the run was last advanced.
    pub fn used_and_usable(&mut self, link: usize, at: Instant) -> (u64, u64) {
        with!(&mut self.0, run => run.network.queues().nth(link).map_or((0, 0), |queue| queue.used_and_usable(at)))
    }

    /// Takes the rows of tables that have at least `min_rows`; [`Simulation::finish`] returns the rest. So memory holds
    /// that many rows and what is recorded between two calls, however long the run is. If several wireless LANs record
    /// `accesses`, these are returned at the end.
    pub fn take_rows(&mut self, min_rows: usize) -> Vec<Table> {
        with!(&mut self.0, run => run.take_rows(min_rows))
    }

    /// When the next event or change is due; none if the run is finished. Advancing a run until then covers exactly the
    /// events of one instant.
    pub fn due(&self) -> Option<Instant> {
        with!(&self.0, run => run.due())
    }

    /// The packets in the queues now, if packets are recorded: the table `waiting`.
    pub fn waiting(&self) -> Option<Table> {
        with!(&self.0, run => run.waiting())
    }

    /// Takes the rows of packets that have left a queue, like [`Simulation::take_rows`]; none if there are no rows.
    pub fn take_packets(&mut self) -> Option<Table> {
        with!(&mut self.0, run => run.take_packets())
    }

    /// Visits the queue discipline of a link at `at`, the instant up to which the run was last advanced; periodic
    /// updates due by then have run, as for the probe of states.
    pub fn queue(&mut self, link: usize, at: Instant, look: &mut dyn FnMut(QueueView<'_>)) {
        let show = |queue: &mut dyn MeteredQueue| {
            queue.qdisc_mut().settle(at);
            let qdisc = queue.qdisc();
            look(QueueView { observe: &|visit| qdisc.observe(visit), subqueues: &|visit| qdisc.subqueues(visit) });
        };
        with!(&mut self.0, run => run.network.queues().nth(link).map_or((), show));
    }

    /// The ends of member `index` of flow group `group`, source and sink, if the group is one of endpoints.
    pub fn ends(&self, group: u32, index: u32) -> Option<[EndId; 2]> {
        let slot = with!(&self.0, run => run.flows.endpoint_slot((group, index)))?;
        Some(Side::BOTH.map(|side| EndId { slot, side }))
    }

    /// Flow group of an end, and its number there.
    pub fn member(&self, end: EndId) -> (u32, u32) {
        with!(&self.0, run => run.flows.member(end, &run.network))
    }

    /// Address of an end.
    pub fn address(&self, end: EndId) -> SocketAddr {
        with!(&self.0, run => run.hosts().expect("an end has a host").address(end))
    }

    /// Attaches programs to a pair of ends: the run calls them. Before the run starts.
    pub fn attach(&mut self, [source, _]: [EndId; 2], programs: [Box<dyn Endpoint>; 2]) {
        with!(&mut self.0, run => run.attach(source.slot, programs));
    }

    /// Runs until an event of an end that has no program, or up to and including `until`; none if none is left until
    /// then, or if a program has failed ([`Simulation::fault`]). Acts of the caller until the next call happen at
    /// [`Simulation::now`].
    pub fn next_event(&mut self, until: Instant) -> Option<(EndId, EndEvent)> {
        with!(&mut self.0, run => run.next_event(until)).map(|pending| (pending.end, pending.event))
    }

    /// Bytes of the datagram that [`Simulation::next_event`] returned last; empty after other events.
    pub fn received_bytes(&self) -> Cow<'_, [u8]> {
        with!(&self.0, run => run.received_bytes())
    }

    /// Sends a datagram of an end, or several of one size, now or at the departure time of `transmit`.
    ///
    /// # Errors
    ///
    /// [`SendError::WouldBlock`] if the host accepts none now, others for datagrams that no host can send.
    pub fn send(&mut self, end: EndId, transmit: &Transmit, bytes: &[u8]) -> Result<(), SendError> {
        with!(&mut self.0, run => run.send(end, transmit, bytes))
    }

    /// Whether the host of an end accepts a datagram now; if not, [`OtherEvent::Room`](crate::endpoint::OtherEvent::Room)
    /// follows when it does.
    pub fn has_room(&mut self, end: EndId) -> bool {
        with!(&mut self.0, run => run.has_room(end))
    }

    /// Sets the one deadline of an end that has no program; `None` for never.
    pub fn set_wake(&mut self, end: EndId, at: Option<Instant>) {
        with!(&mut self.0, run => run.set_wake(end, at.unwrap_or(Instant::NEVER)));
    }

    /// Sets the state of an end that has no program, for tables and summaries.
    pub fn set_standing(&mut self, end: EndId, standing: Standing) {
        with!(&mut self.0, run => run.set_standing(end, standing));
    }

    /// Adds a value to the statistics of an end's `name`.
    pub fn note(&mut self, end: EndId, name: &str, value: f64) {
        with!(&mut self.0, run => run.note(end, name, value));
    }

    /// Counts a transfer of an end's group: its start, then its last byte at this instant.
    pub fn completed(&mut self, end: EndId, begun: Instant, bytes: u64) {
        with!(&mut self.0, run => run.completed(end, begun, bytes));
    }

    /// Records every datagram that endpoints send from now on ([`Simulation::take_decisions`]).
    pub fn record_decisions(&mut self) {
        with!(&mut self.0, run => run.record_decisions());
    }

    /// Forgets the datagrams that endpoints have sent, and records none from now on.
    pub fn forget_decisions(&mut self) {
        with!(&mut self.0, run => run.forget_decisions());
    }

    /// Takes the datagrams that endpoints have sent since the last call, if they are recorded; otherwise none.
    pub fn take_decisions(&mut self) -> Vec<Decision> {
        with!(&mut self.0, run => run.take_decisions())
    }

    /// Hash of all datagrams that endpoints have sent, and their number.
    pub fn decisions_hash(&self) -> (u64, u64) {
        with!(&self.0, run => run.hosts().map_or((0, 0), |hosts| (hosts.decisions.hash(), hosts.decisions.count)))
    }

    /// Why the run cannot go on: an end whose program waits for nothing, or sends what no host can.
    pub fn fault(&self) -> Option<(EndId, &str)> {
        with!(&self.0, run => run.hosts()?.fault.as_ref().map(|(end, text)| (*end, text.as_str())))
    }

    /// Runs to the end and writes the rest of the [capture](Simulation::with_capture), if there is one.
    ///
    /// # Errors
    ///
    /// The first error of its output.
    pub fn end_capture(&mut self) -> io::Result<()> {
        while !self.advance(u64::MAX) {}
        with!(&mut self.0, run => run.end_capture())
    }

    /// Payloads that packets in flight carry, or events that have not been taken.
    pub fn payloads_in_flight(&self) -> usize {
        with!(&self.0, run => run.network.packets.payloads.in_flight())
    }

    /// Time of the last event.
    pub fn now(&self) -> Instant {
        with!(&self.0, run => run.now)
    }

    /// Runs to the end and returns the results.
    pub fn finish(mut self) -> Output {
        while !self.advance(u64::MAX) {}
        with!(self.0, run => run.report())
    }
}
