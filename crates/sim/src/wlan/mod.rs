//! A wireless LAN: an access point and its stations share one channel of 802.11g or 802.11n. A run may have several, which
//! do not hear each other.
//!
//! Node 0 is the access point, node i + 1 is station i; each has a queue (of the number of the first one plus that of the
//! node), a driver's ring below it and a part in the contention. Everybody hears everybody at once. An access to the channel is one event: when
//! it starts, it is known how it ends. A second event follows where a frame arrives or is given up.

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

/// What the cell wants its caller to do after a call, and what has arrived.
#[derive(Debug, Default)]
pub(crate) struct PendingCalls {
    /// When the drivers at these queues are to be called, each at most once, where that has changed; [`Instant::NEVER`]
    /// until something arrives.
    pub drivers: Vec<(usize, Instant)>,
    /// Whether the channel's next event may have changed.
    pub channel: bool,
    /// Packets that have arrived over the channel, by the queue that they came from, and how many of them were looked at.
    pub arrived: Vec<(usize, Handle)>,
    processed: usize,
}

impl PendingCalls {
    /// What has arrived and was not yet looked at.
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

/// The channel and everybody on it.
pub(crate) struct Wlan {
    /// Number of the access point's queue.
    pub first: usize,
    /// Number of the first station's host; the others follow.
    first_host: u32,
    dcf: Dcf,
    nodes: Vec<Node>,
    pub interfaces: Vec<Interface>,
    errors: ErrorModel,
    /// By station; none where nothing but collisions destroys frames.
    signals: Vec<Option<Signal>>,
    beacon: Option<Beacon>,
    /// Who transmits: nodes in their order.
    transmitting: Vec<usize>,
    /// When the present access ends, if something is left to do then, and what.
    ends_at: Option<Instant>,
    /// Receivers: nodes in their order.
    receivers: Vec<usize>,
    pub sockets: Sockets,
    pub rtts: RttTracker,
    tally: ChannelTally,
    pub calls: PendingCalls,
    /// When the channel's next event is due, as far as who calls it has heard.
    called_at: Instant,
    /// Flows of each group that have their station.
    stations_assigned: Vec<u32>,
}

/// The access point's beacons. They need no back-off, and are not sent again.
#[derive(Clone, Copy, Debug)]
struct Beacon {
    due: Instant,
    airtime: Duration,
}

impl Wlan {
    /// A wireless LAN of a scenario, before the first packet.
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
            receivers: Vec::with_capacity(nodes.len()),
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

    /// Airtimes of the nodes from every instant of the window on that is not before the one numbered `first`.
    pub fn airtimes(&self, first: usize) -> Table {
        self.tally.airtimes(first)
    }

    /// What it has done from instant `number` of the window on.
    pub fn report(self, number: usize) -> (WlanSummary, Option<Table>) {
        let rtts = self.rtts.report(number);
        self.tally.report(number, rtts)
    }

    /// The attempts to send so far, if at least so many were recorded; it goes on without them.
    pub fn take_attempts(&mut self, least: usize) -> Option<Table> {
        self.tally.take(least)
    }

    /// When the channel's next event is due, if that has changed since the last time.
    #[inline(always)]
    pub fn take_channel_change(&mut self) -> Option<Instant> {
        if !std::mem::take(&mut self.calls.channel) {
            return None;
        }
        let next = self.next_event();
        (std::mem::replace(&mut self.called_at, next) != next).then_some(next)
    }

    /// How many nodes there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Number of a station's host.
    fn station_host(&self, station: u32) -> u32 {
        self.first_host + station
    }

    /// The station of the next flow of a group. Flows that do not name theirs take the stations in turn.
    fn place(&mut self, group: u32, named: Option<u32>) -> u32 {
        let stations = self.nodes.len() as u32 - 1;
        let place = &mut self.stations_assigned[group as usize];
        let station = named.unwrap_or(*place % stations);
        *place += 1;
        station
    }
}

/// Number of the first station's host, behind those of the wired hosts of all groups of flows and of other wireless LANs.
fn first_host(cell: &Cell, scenario: &Scenario) -> u32 {
    (2 * scenario.flows.len() + cell.stations_before) as u32
}

/// The random stream of node or station `i` for one purpose; no two wireless LANs share one.
fn stream(cell: &Cell, seed: u64, purpose: &str, i: usize) -> Rng {
    Rng::stream(seed, purpose, (cell.stations_before + i) as u64)
}

/// What the nodes have above their rings.
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
        let turns = StationScheduler::new(tids.len(), channel.queues == Queues::Airtime);
        access_point.set_station_queues(tids, turns);
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

/// How each of them contends.
fn rules<'a>(spec: &'a WlanSpec, nodes: &'a [Node]) -> impl Iterator<Item = Contention> + use<'a> {
    let channel = &spec.channel;
    let ap = (channel.ap_aifs, channel.ap_cwmin, channel.ap_cwmax);
    let stations = spec.each_station().map(|it| (it.aifs, it.cwmin, it.cwmax));
    std::iter::once(ap).chain(stations).zip(nodes).map(|((aifs, least, most), node)| {
        // Who has QoS contends by its rules, to whomever it sends.
        let has_qos = node.tids.iter().any(Tid::aggregates);
        Contention { aifs: aifs.unwrap_or(if has_qos { AIFS_OF_BEST_EFFORT } else { DIFS }), cwmin: least, cwmax: most }
    })
}

/// Slots after a SIFS for which who has no QoS waits, and who has it, for best effort (IEEE 802.11-2012 §9.3, §8.4.2.31).
const DIFS: u32 = 2;
const AIFS_OF_BEST_EFFORT: u32 = 3;

impl Beacon {
    /// A beacon of so many bytes without header; none for zero.
    fn new(bytes: u32) -> Option<Self> {
        let airtime = Bitrate::SIX.airtime(bytes + BEACON_HEADER);
        (bytes > 0).then_some(Self { due: Instant::ZERO + BEACON_INTERVAL, airtime })
    }
}

/// Node of the access point.
const ACCESS_POINT: usize = 0;

/// Time that an access takes at least: a DIFS and a frame's preamble (IEEE 802.11-2020, 10.3.2.3 and 17.3.2).
pub(crate) const SHORTEST_ACCESS: Duration =
    Duration::from_nanos(SIFS.as_nanos() + 2 * SHORT_SLOT.as_nanos() + PREAMBLE.as_nanos());

/// 100 time units of 1024 µs.
const BEACON_INTERVAL: Duration = Duration::from_micros(102_400);

/// MAC header 24, check sequence 4.
const BEACON_HEADER: u32 = 28;
