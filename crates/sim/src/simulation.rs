//! A run of a scenario, whatever it is compiled for.

use crate::counters::{FlowCounters, LinkCounters};
use crate::flows::ControlFactory;
use crate::link::MeteredQueue;
#[cfg(feature = "engines")]
use crate::network::Graph;
use crate::network::{CellGraph, Dumbbell};
use crate::probe::CombinedRecorder;
use crate::run::Run;
use crate::scenario::{FlowSpec, Scenario};
use crate::summary::Summary;
use crate::table::Table;
use crate::wlan::Cells;
use sojourn_aqm::{Ecn, Instant, ObserveFn, SubqueueInfo};

/// A run of a scenario with one seed.
pub struct Simulation(Engine);

/// What a run gives.
#[derive(Clone, Debug)]
pub struct Output {
    /// The run in numbers.
    pub summary: Summary,
    /// What was recorded; `sojourn_histogram` always.
    pub tables: Vec<Table>,
}

/// A packet that is to be offered to the first queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfferedPacket {
    /// Its IP bytes.
    pub bytes: u32,
    /// Number of its flow.
    pub flow: u32,
    /// Its ECN field.
    pub ecn: Ecn,
}

/// What there is to see of a queue discipline.
#[derive(Clone, Copy)]
pub struct QueueView<'a> {
    /// Shows its state variables by name.
    pub observe: &'a ObserveFn<'a>,
    /// Shows the queues within it.
    pub parts: &'a SubqueueVisitor<'a>,
}

/// Shows the queues within a queue discipline.
pub type SubqueueVisitor<'a> = dyn Fn(&mut dyn FnMut(SubqueueInfo<'_>)) + 'a;

/// With a probe of every packet or of senders or without, on a dumbbell, a graph or one with wireless LANs: hooks that nobody needs
/// compile to nothing, and two links to an array.
enum Engine {
    #[cfg(feature = "engines")]
    Plain(Box<Run<(), Dumbbell>>),
    Everything(Box<Run<CombinedRecorder, Dumbbell>>),
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
            Engine::Everything($run) => $do,
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
    /// The run of `scenario` with `seed`, before its first event.
    pub fn new(scenario: &Scenario, seed: u64) -> Self {
        Self::controlled(scenario, seed, &|_, _| None)
    }

    /// The same with congestion controls that the scenario does not name: of each TCP flow that lasts for the whole run,
    /// `controls` is asked by group and place in it; where it gives none, the flow has the control of its group.
    pub fn controlled(scenario: &Scenario, seed: u64, controls: &ControlFactory) -> Self {
        let has_paths = |flow: &FlowSpec| flow.paths.data.len() > 1 || flow.paths.acks.len() > 1;
        // A dumbbell's senders have no devices that they share.
        let is_dumbbell = scenario.links.is_empty()
            && !scenario.flows.iter().any(has_paths)
            && scenario.devices_of_hosts().is_empty();
        // A graph has no code for them either: theirs is the network with code for everything.
        let needs_all = scenario.cells().next().is_some() || !scenario.devices_of_hosts().is_empty();
        Self(match (needs_all, is_dumbbell, scenario.probes.each()) {
            #[cfg(feature = "engines")]
            (false, true, false) => Engine::Plain(Box::new(Run::new(scenario, seed, (), controls))),
            (false, true, _) => Engine::Everything(Box::new(Run::new(scenario, seed, (), controls))),
            #[cfg(feature = "engines")]
            (false, false, false) => Engine::Graph(Box::new(Run::new(scenario, seed, (), controls))),
            #[cfg(feature = "engines")]
            (false, false, true) => Engine::GraphEverything(Box::new(Run::new(scenario, seed, (), controls))),
            #[cfg(feature = "engines")]
            (true, _, false) => Engine::Cells(Box::new(Run::new(scenario, seed, Cells::new(scenario, seed), controls))),
            // Links alone are wireless LANs and links without the former.
            _ => Engine::CellsEverything(Box::new(Run::new(scenario, seed, Cells::new(scenario, seed), controls))),
        })
    }

    /// The same run without wireless LANs and probes, for somebody who judges packets one by one: it stops at each that
    /// arrives at the first queue ([`Simulation::next_arrival`]).
    #[cfg(feature = "engines")]
    pub fn with_gate(scenario: &Scenario, seed: u64) -> Self {
        Self(Engine::Gated(Box::new(Run::new(scenario, seed, (), &|_, _| None))))
    }

    /// Lets the packet in that arrived at the first queue last, and goes on until the next one does, which is not offered to
    /// the queue yet: what there is to know of it, its instant is [`Simulation::now`]. Several may arrive at one instant.
    /// `None` when the run is finished, and where it was not made by [`Simulation::gated`].
    #[cfg(feature = "engines")]
    pub fn next_arrival(&mut self) -> Option<OfferedPacket> {
        match &mut self.0 {
            Engine::Gated(run) => run.next_arrival(),
            _ => None,
        }
    }

    /// Processes up to `events` events. Returns whether the run is finished. Sinks may be ahead of [`Simulation::now`] then;
    /// who wants to know how a run stands advances it until an instant.
    pub fn advance(&mut self, events: u64) -> bool {
        with!(&mut self.0, run => run.advance(events))
    }

    /// Bytes that the largest list of the run, of the packets under way or of connections, is to take when it grows next, if
    /// it may within so many events more; else 0. A host that has so many left, and asks before each step, goes on until
    /// there is no room, and can end the run in words of its own.
    pub fn growth(&self, events: u64) -> u64 {
        with!(&self.0, run => run.growth(events))
    }

    /// Processes every event up to `until`, what is due then included, and none after it. Returns whether the run is
    /// finished. A run in steps is the same run, however long they are. [`Simulation::links`] and [`Simulation::flows`]
    /// read what has happened so far:
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

    /// The counters of every link, or rather queue, since the start of the run, by the number that it has in tables: both
    /// directions of each link, of a wireless LAN those of the access point and of each station.
    pub fn links(&self) -> Vec<LinkCounters> {
        with!(&self.0, run => run.network.counters())
    }

    /// The counters of every flow that lasts for the whole run, in the order of the summary.
    pub fn flows(&self) -> Vec<FlowCounters> {
        with!(&self.0, run => run.flows.fixed().map(|flow| FlowCounters::of(&flow.status())).collect())
    }

    /// What the server of a link, by its number, has used until `at` and could have used, in a measure of its own: time, bits,
    /// or bytes of opportunity. `at` is the instant until which the run was advanced last.
    pub fn used_and_usable(&mut self, link: usize, at: Instant) -> (u64, u64) {
        with!(&mut self.0, run => run.network.queues().nth(link).map_or((0, 0), |queue| queue.used_and_usable(at)))
    }

    /// What was recorded so far of tables with at least so many rows: the run forgets it, and [`Simulation::finish`] gives
    /// the rows that follow. So a run of any length takes memory for so many rows only, and what is recorded between two
    /// calls. Where several wireless LANs record `accesses`, these are given at the end.
    pub fn take_rows(&mut self, least: usize) -> Vec<Table> {
        with!(&mut self.0, run => run.take_rows(least))
    }

    /// When the next event is due, or the next change; none of a finished run. Who advances a run until then sees all that
    /// happens at one instant and nothing else.
    pub fn due(&self) -> Option<Instant> {
        with!(&self.0, run => run.due())
    }

    /// The packets in the queues now, of a run with the probe of packets: the table `waiting`.
    pub fn waiting(&self) -> Option<Table> {
        with!(&self.0, run => run.waiting())
    }

    /// What was recorded so far of each packet that has left a queue, as [`Simulation::take_rows`] gives it; none if there is
    /// nothing.
    pub fn take_packets(&mut self) -> Option<Table> {
        with!(&mut self.0, run => run.take_packets())
    }

    /// Shows the queue discipline of a link, by its number, as it is at `at`, the instant until which the run was advanced
    /// last: the updates that are due by then have run, as for the probe of states.
    pub fn queue(&mut self, link: usize, at: Instant, look: &mut dyn FnMut(QueueView<'_>)) {
        let see = |queue: &mut dyn MeteredQueue| {
            queue.qdisc_mut().settle(at);
            let qdisc = queue.qdisc();
            look(QueueView { observe: &|see| qdisc.observe(see), parts: &|see| qdisc.subqueues(see) });
        };
        with!(&mut self.0, run => run.network.queues().nth(link).map_or((), see));
    }

    /// The time of the last event.
    pub fn now(&self) -> Instant {
        with!(&self.0, run => run.now)
    }

    /// Runs to the end and reports.
    pub fn finish(mut self) -> Output {
        while !self.advance(u64::MAX) {}
        with!(self.0, run => run.report())
    }
}
