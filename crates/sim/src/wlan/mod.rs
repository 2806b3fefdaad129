//! A wireless LAN: an access point and its stations share one channel of 802.11g or 802.11n. A run may have several,
//! which do not interfere.
//!
//! Node 0 is the access point, node i + 1 is station i. Each node has a queue (numbered from the cell's first queue), a
//! driver ring below it, and contends for the channel. All nodes receive all frames, without propagation delay. A
//! channel access is one event: its outcome is known when it starts. A second event follows only if a frame arrives or
//! is completed.

mod access;
mod block_ack;
mod cells;
mod dcf;
mod driver;
mod host;
mod interface;
mod node;
mod queues;
mod rate;
mod rtt;
mod scheduler;
mod sockets;
mod stats;
mod tid;

pub(crate) use cells::{Cells, QueueOwner, StationPlacement, WlanSet};
pub(crate) use stats::ACCESS_BYTES;
pub use stats::{AggregateSummary, NodeSummary, RateUse, RttSummary, StationSummary, WlanSummary};

use crate::link::discipline;
use crate::packet::Handle;
use crate::radio::phy::{LONG_SLOT, PREAMBLE, SHORT_SLOT, SIFS};
use crate::radio::{Bitrate, ErrorModel, Signal};
use crate::scenario::{Cell, Eifs, LinkSpec, Queues, RateSpec, Rates, Scenario, SlotTime, StationSpec, WlanSpec};
use crate::table::Table;
use crate::warmup::Statistics;
use crate::window::Window;
use dcf::{Contention, Dcf};
use interface::Interface;
use node::Node;
use queues::StationQueues;
use rate::{AnyRateControl, FixedRate, Minstrel};
use rtt::RttTracker;
use scheduler::StationScheduler;
use sockets::Sockets;
use sojourn_aqm::{Duration, Instant, Rng};
use stats::ChannelTally;
use tid::{AggregateLimits, Tid};

/// Calls to schedule after a call of the cell, and the packets that have arrived.
#[derive(Debug, Default)]
pub(crate) struct PendingCalls {
    /// Changed call times of drivers, by queue, each at most once; [`Instant::NEVER`] for the next arrival.
    pub drivers: Vec<(usize, Instant)>,
    /// Whether the channel's next event may have changed.
    pub channel: bool,
    /// Packets that have arrived over the channel, with their queue, and how many of them the caller has taken.
    pub arrived: Vec<(usize, Handle)>,
    processed: usize,
}

impl PendingCalls {
    /// Takes the next packet that has arrived.
    #[inline(always)]
    pub fn next_arrived(&mut self) -> Option<(usize, Handle)> {
        let next = self.arrived.get(self.processed).copied();
        self.processed += 1;
        if self.processed >= self.arrived.len() {
            self.arrived.clear();
            self.processed = 0;
        }
        next
    }
}

/// The channel and its nodes.
pub(crate) struct Wlan {
    /// Index of the access point's queue.
    pub first: usize,
    /// Index of the first station's host; the others follow.
    first_host: u32,
    dcf: Dcf,
    nodes: Vec<Node>,
    pub interfaces: Vec<Interface>,
    errors: ErrorModel,
    /// Signal by station; `None` if frames are lost only by collisions.
    signals: Vec<Option<Signal>>,
    beacon: Option<Beacon>,
    /// Transmitting nodes, in ascending order.
    transmitting: Vec<usize>,
    /// End of the current access, if it needs an event.
    ends_at: Option<Instant>,
    /// Transmitters whose frames arrive or complete at that event, in ascending order.
    completing: Vec<usize>,
    pub sockets: Sockets,
    pub rtts: RttTracker,
    tally: ChannelTally,
    pub calls: PendingCalls,
    /// Time of the channel's next event, as last reported to the caller.
    called_at: Instant,
    /// Number of flows by group that were assigned a station.
    stations_assigned: Vec<u32>,
}

/// The access point's beacons, sent without back-off and without retries.
#[derive(Clone, Copy, Debug)]
struct Beacon {
    due: Instant,
    airtime: Duration,
}

impl Wlan {
    /// A wireless LAN of a scenario at the start of a run.
    pub fn new(cell: &Cell, scenario: &Scenario, seed: u64) -> Self {
        let statistics = Statistics::of(scenario);
        let (spec, window) = (cell.wlan, statistics.window());
        let channel = &spec.channel;
        let nodes = nodes(cell, seed);
        let slot = if channel.slot == SlotTime::Short { SHORT_SLOT } else { LONG_SLOT };
        let signals = spec.each_station().enumerate().map(|(i, station)| {
            let fading = station.fading.map(|sd| (sd.0, station.coherence));
            station.snr.map(|snr| Signal::new(snr.0, fading, stream(cell, seed, "signal", i)))
        });
        Self {
            first: cell.queue,
            first_host: first_host(cell, scenario),
            dcf: Dcf::new(
                rules(spec, &nodes),
                slot,
                |i| stream(cell, seed, "backoff", i),
                channel.eifs == Eifs::Listeners,
            ),
            errors: channel.errors,
            signals: signals.collect(),
            beacon: Beacon::new(channel.beacon),
            transmitting: Vec::with_capacity(nodes.len()),
            ends_at: None,
            completing: Vec::with_capacity(nodes.len()),
            sockets: Sockets::new(channel.tsq),
            rtts: RttTracker::new(scenario.flows.len(), window),
            tally: ChannelTally::new(cell.queue, nodes.len() - 1, window, scenario.probes.accesses == Some(true)),
            calls: PendingCalls { channel: true, ..PendingCalls::default() },
            called_at: Instant::NEVER,
            interfaces: interfaces(cell, scenario, seed, window),
            stations_assigned: vec![0; scenario.flows.len()],
            nodes,
        }
    }

    /// Airtimes of the nodes from each instant of the window on, starting with instant `first`.
    pub fn airtimes(&self, first: usize) -> Table {
        self.tally.airtimes(first)
    }

    /// The report from instant `number` of the window on.
    pub fn report(self, number: usize) -> (WlanSummary, Option<Table>) {
        let rtts = self.rtts.report(number);
        self.tally.report(number, rtts)
    }

    /// Removes and returns the recorded attempts, if there are at least `least`.
    pub fn take_attempts(&mut self, least: usize) -> Option<Table> {
        self.tally.take_attempts(least)
    }

    /// Time of the channel's next event, if it has changed since the last call.
    #[inline(always)]
    pub fn take_channel_change(&mut self) -> Option<Instant> {
        if !std::mem::take(&mut self.calls.channel) {
            return None;
        }
        let next = self.next_event();
        (std::mem::replace(&mut self.called_at, next) != next).then_some(next)
    }

    /// Number of nodes.
    #[inline]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Index of a station's host.
    fn station_host(&self, station: u32) -> u32 {
        self.first_host + station
    }

    /// Assigns a station to the next flow of a group: the `named` one, otherwise the stations in turn.
    fn assign_station(&mut self, group: u32, named: Option<u32>) -> u32 {
        let stations = self.nodes.len() as u32 - 1;
        let assigned = &mut self.stations_assigned[group as usize];
        let station = named.unwrap_or(*assigned % stations);
        *assigned += 1;
        station
    }
}

/// Index of the first station's host, after the wired hosts of all groups of flows and the stations of earlier wireless
/// LANs.
fn first_host(cell: &Cell, scenario: &Scenario) -> u32 {
    (2 * scenario.flows.len() + cell.stations_before) as u32
}

/// Random stream of node or station `i` for one purpose. Numbers go on from the wireless LANs before, so `[wlan]` and a
/// first `[[links]]` entry draw from the same streams and have one fingerprint.
fn stream(cell: &Cell, seed: u64, purpose: &str, i: usize) -> Rng {
    Rng::stream(seed, purpose, (cell.stations_before + i) as u64)
}

/// The interfaces of the nodes.
fn interfaces(cell: &Cell, scenario: &Scenario, seed: u64, window: &Window) -> Vec<Interface> {
    let &Cell { queue: first, wlan: spec, down, up, .. } = cell;
    let access_point = match spec.channel.queues {
        Queues::Shared => Interface::new(down, (ACCESS_POINT, first), seed, window),
        _ => {
            let queue = |i| discipline(down, stream(cell, seed, "station queue", i));
            let queues = (0..spec.each_station().count()).map(queue).collect();
            Interface::by_station(down, StationQueues::new(queues, first_host(cell, scenario)), window)
        }
    };
    let stations = (1..=spec.each_station().count()).map(|i| Interface::new(up, (i, first + i), seed, window));
    std::iter::once(access_point).chain(stations).collect()
}

/// The access point and the stations.
fn nodes(cell: &Cell, seed: u64) -> Vec<Node> {
    let (spec, channel) = (cell.wlan, &cell.wlan.channel);
    let rates = if channel.rates == Rates::Ofdm { Bitrate::OFDM } else { Bitrate::ALL };
    let control = |kind: &str, i: usize, station: &StationSpec| match station.rate {
        RateSpec::Fixed(rate) => AnyRateControl::Fixed(FixedRate(rate)),
        RateSpec::Minstrel => AnyRateControl::Minstrel(Box::new(Minstrel::new(rates, stream(cell, seed, kind, i)))),
    };
    let tid = |station: &StationSpec| match station.rate {
        RateSpec::Fixed(rate) if rate.mcs().is_some() => {
            Tid::new(Some(AggregateLimits::new(rate, station.longest_aggregate())))
        }
        _ => Tid::new(None),
    };
    let ring = |link: &LinkSpec| link.below.expect("a link over a channel has a ring");
    let down = spec.each_station().enumerate().map(|(i, station)| control("rates down", i, station)).collect();
    let mut access_point = Node::new(ring(cell.down), channel.cpu_gap, channel.htb_rate, down);
    let tids: Vec<Tid> = spec.each_station().map(tid).collect();
    if channel.queues != Queues::Shared || tids.iter().any(Tid::aggregates) {
        let scheduler = StationScheduler::new(tids.len(), channel.queues == Queues::Airtime);
        access_point.set_station_queues(tids, scheduler);
    }
    let stations = spec.each_station().enumerate().map(|(i, station)| {
        let control = control("rates up", i, station);
        let mut node = Node::new(ring(cell.up), channel.cpu_gap, None, vec![control]);
        let tid = tid(station);
        if tid.aggregates() {
            node.set_station_queues(vec![tid], StationScheduler::new(1, false));
        }
        node
    });
    std::iter::once(access_point).chain(stations).collect()
}

/// Contention parameters by node.
fn rules<'a>(spec: &'a WlanSpec, nodes: &'a [Node]) -> impl Iterator<Item = Contention> + use<'a> {
    let channel = &spec.channel;
    let ap = (channel.ap_aifs, channel.ap_cwmin, channel.ap_cwmax);
    let stations = spec.each_station().map(|station| (station.aifs, station.cwmin, station.cwmax));
    std::iter::once(ap).chain(stations).zip(nodes).map(|((aifs, cwmin, cwmax), node)| {
        // A node with QoS contends with EDCA parameters for every receiver: at the access point of a mixed cell,
        // 802.11g frames share the access category.
        let has_qos = node.tids.iter().any(Tid::aggregates);
        Contention { aifs: aifs.unwrap_or(if has_qos { AIFS_OF_BEST_EFFORT } else { DIFS }), cwmin, cwmax }
    })
}

/// Slots after a SIFS before contention, without QoS and for best effort (IEEE 802.11-2012 §9.3, §8.4.2.31).
const DIFS: u32 = 2;
const AIFS_OF_BEST_EFFORT: u32 = 3;

impl Beacon {
    /// Beacons of `bytes` without header; `None` for zero.
    fn new(bytes: u32) -> Option<Self> {
        let airtime = Bitrate::SIX.airtime(bytes + BEACON_HEADER);
        (bytes > 0).then_some(Self { due: Instant::ZERO + BEACON_INTERVAL, airtime })
    }
}

/// Node index of the access point.
const ACCESS_POINT: usize = 0;

/// Minimum duration of an access: a DIFS and a frame's preamble (IEEE 802.11-2020, 10.3.2.3 and 17.3.2).
pub(crate) const SHORTEST_ACCESS: Duration =
    Duration::from_nanos(SIFS.as_nanos() + 2 * SHORT_SLOT.as_nanos() + PREAMBLE.as_nanos());

/// 100 time units of 1024 µs.
const BEACON_INTERVAL: Duration = Duration::from_micros(102_400);

/// MAC header 24, FCS 4.
const BEACON_HEADER: u32 = 28;
