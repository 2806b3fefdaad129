//! A wireless LAN: an access point and its stations share one channel of 802.11g or 802.11n.
//!
//! Node 0 is the access point, node i + 1 is station i; each has a queue (the link of the same number), a driver's ring
//! below it and a part in the contention. Everybody hears everybody at once. An access to the channel is one event: when
//! it starts, it is known how it ends. A second event follows where a frame arrives or is given up.

mod access;
mod block_ack;
mod dcf;
mod driver;
mod host;
mod interface;
mod node;
mod queues;
mod rate;
mod rtt;
mod sockets;
mod stats;
mod tid;
mod turns;

pub use stats::{AggregateSummary, NodeSummary, RateUse, RttSummary, StationSummary, WlanSummary};

use crate::link::discipline;
use crate::packet::Handle;
use crate::radio::phy::{LONG_SLOT, SHORT_SLOT};
use crate::radio::{Bitrate, ErrorModel, Signal};
use crate::scenario::{
    Direction, Eifs, FlowSpec, LinkSpec, Paths, Queues, RateSpec, Rates, Scenario, SlotTime, StationSpec, WlanSpec,
};
use crate::table::Table;
use crate::warmup::Statistics;
use crate::window::Window;
use dcf::{Contention, Dcf};
use interface::Interface;
use node::Node;
use queues::StationQueues;
use rate::{AnyControl, Fixed, Minstrel};
use rtt::Rtts;
use sockets::Sockets;
use sojourn_aqm::{Duration, Instant, Rng};
use stats::ChannelTally;
use tid::{Limits, Tid};
use turns::Turns;

/// What a network may have besides links: nothing, or a wireless LAN. Where there is none, what is done with
/// [`Air::cell`] is compiled to nothing.
pub(crate) trait Air: Send {
    /// The wireless LAN, if there is one.
    fn cell_mut(&mut self) -> Option<&mut Wlan>;
    /// The wireless LAN, if there is one.
    fn cell(&self) -> Option<&Wlan>;
    /// The wireless LAN, if there is one.
    fn into_cell(self) -> Option<Box<Wlan>>;
}

impl Air for () {
    #[inline(always)]
    fn cell_mut(&mut self) -> Option<&mut Wlan> {
        None
    }
    #[inline(always)]
    fn cell(&self) -> Option<&Wlan> {
        None
    }
    fn into_cell(self) -> Option<Box<Wlan>> {
        None
    }
}

impl Air for Box<Wlan> {
    #[inline(always)]
    fn cell_mut(&mut self) -> Option<&mut Wlan> {
        Some(self)
    }
    #[inline(always)]
    fn cell(&self) -> Option<&Wlan> {
        Some(self)
    }
    fn into_cell(self) -> Option<Box<Wlan>> {
        Some(self)
    }
}

/// What the cell wants its caller to do after a call, and what has arrived.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// When the drivers of these nodes are to be called; [`Instant::NEVER`] until something arrives.
    pub drivers: Vec<(usize, Instant)>,
    /// Whether the channel's next event has changed.
    pub channel: bool,
    /// Packets that have arrived over the channel, by the node that sent them.
    pub arrived: Vec<(usize, Handle)>,
}

/// The channel and everybody on it.
pub(crate) struct Wlan {
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
    concerned: Vec<usize>,
    pub sockets: Sockets,
    pub rtts: Rtts,
    tally: ChannelTally,
    pub calls: Calls,
    /// Flows of each group that have their station.
    placed: Vec<u32>,
}

/// The access point's beacons. They need no back-off, and are not sent again.
#[derive(Clone, Copy, Debug)]
struct Beacon {
    due: Instant,
    airtime: Duration,
}

impl Wlan {
    /// The wireless LAN of a scenario, before the first packet.
    pub fn new(spec: &WlanSpec, scenario: &Scenario, seed: u64) -> Self {
        let statistics = Statistics::of(scenario);
        let (channel, window) = (&spec.channel, statistics.window());
        let nodes = nodes(spec, scenario, seed);
        let slot = if channel.slot == SlotTime::Short { SHORT_SLOT } else { LONG_SLOT };
        let signals = spec.each_station().enumerate().map(|(i, station)| {
            let fading = station.fading.map(|sd| (sd.0, station.coherence));
            station.snr.map(|snr| Signal::new(snr.0, fading, Rng::stream(seed, "signal", i as u64)))
        });
        Self {
            dcf: Dcf::new(rules(spec, &nodes), slot, seed, channel.eifs == Eifs::Listeners),
            errors: channel.errors,
            signals: signals.collect(),
            beacon: Beacon::new(channel.beacon),
            transmitting: Vec::with_capacity(nodes.len()),
            ends_at: None,
            concerned: Vec::with_capacity(nodes.len()),
            sockets: Sockets::new(channel.tsq),
            rtts: Rtts::new(scenario.flows.len(), window),
            tally: ChannelTally::new(nodes.len() - 1, window, scenario.probes.accesses == Some(true)),
            calls: Calls { channel: true, ..Calls::default() },
            interfaces: interfaces(spec, scenario, seed, window),
            placed: vec![0; scenario.flows.len()],
            nodes,
        }
    }

    /// What it has done from instant `number` of the window on.
    pub fn report(self, number: usize) -> (WlanSummary, Option<Table>) {
        let rtts = self.rtts.report(number);
        self.tally.report(number, rtts)
    }

    /// When the channel's next event is due, if that has changed since the last time.
    pub fn channel_moved(&mut self) -> Option<Instant> {
        std::mem::take(&mut self.calls.channel).then(|| self.next_event())
    }

    /// How many nodes there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Number of a station's host, behind those of the wired hosts.
    fn station_host(&self, station: u32) -> u32 {
        first_station_host(self.placed.len()) + station
    }

    /// The paths of the next flow of a group, and the hosts of its source and its sink. Flows without a station take the
    /// stations in turn.
    pub fn place(&mut self, group: u32, spec: &FlowSpec) -> (Paths, (u32, u32)) {
        let stations = self.nodes.len() as u32 - 1;
        let place = &mut self.placed[group as usize];
        let station = spec.station.unwrap_or(*place % stations);
        *place += 1;
        let (down, up, host) = ([ACCESS_POINT as u16].into(), [station as u16 + 1].into(), self.station_host(station));
        match spec.direction {
            Direction::Forward => (Paths { data: down, acks: up }, (2 * group, host)),
            Direction::Reverse => (Paths { data: up, acks: down }, (host, 2 * group + 1)),
        }
    }
}

/// Number of the first station's host, behind those of the wired hosts of all groups of flows.
fn first_station_host(groups: usize) -> u32 {
    2 * groups as u32
}

/// What the nodes have above their rings.
fn interfaces(spec: &WlanSpec, scenario: &Scenario, seed: u64, window: &Window) -> Vec<Interface> {
    let (down, up) = (&scenario.link, &scenario.reverse);
    let access_point = match spec.channel.queues {
        Queues::Shared => Interface::new(down, ACCESS_POINT, seed, window),
        _ => {
            let queue = |i| discipline(down, Rng::stream(seed, "station queue", i as u64));
            let queues = (0..spec.each_station().count()).map(queue).collect();
            let first_host = first_station_host(scenario.flows.len());
            Interface::by_station(down, StationQueues::new(queues, first_host), window)
        }
    };
    let stations = (1..=spec.each_station().count()).map(|i| Interface::new(up, i, seed, window));
    std::iter::once(access_point).chain(stations).collect()
}

/// The access point and the stations.
fn nodes(spec: &WlanSpec, scenario: &Scenario, seed: u64) -> Vec<Node> {
    let channel = &spec.channel;
    let rates = if channel.rates == Rates::Ofdm { Bitrate::OFDM } else { Bitrate::ALL };
    let control = |kind: &str, i: usize, station: &StationSpec| match station.rate {
        RateSpec::Fixed(rate) => AnyControl::Fixed(Fixed(rate)),
        RateSpec::Minstrel => AnyControl::Minstrel(Box::new(Minstrel::new(rates, Rng::stream(seed, kind, i as u64)))),
    };
    let tid = |station: &StationSpec| match station.rate {
        RateSpec::Fixed(rate) if rate.mcs().is_some() => Tid::new(Some(Limits::new(rate, station.longest_aggregate()))),
        _ => Tid::new(None),
    };
    let ring = |link: &LinkSpec| link.below.expect("a link over a channel has a ring");
    let down = spec.each_station().enumerate().map(|(i, station)| control("rates down", i, station)).collect();
    let mut access_point = Node::new(ring(&scenario.link), channel.cpu_gap, channel.htb_rate, down);
    let tids: Vec<Tid> = spec.each_station().map(tid).collect();
    if channel.queues != Queues::Shared || tids.iter().any(Tid::aggregates) {
        let turns = Turns::new(tids.len(), channel.queues == Queues::Airtime);
        access_point.sorts(tids, turns);
    }
    let stations = spec.each_station().enumerate().map(|(i, station)| {
        let control = control("rates up", i, station);
        let mut node = Node::new(ring(&scenario.reverse), channel.cpu_gap, None, vec![control]);
        let tid = tid(station);
        if tid.aggregates() {
            node.sorts(vec![tid], Turns::new(1, false));
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
        Contention { aifs: aifs.unwrap_or(if has_qos { AIFS_OF_BEST_EFFORT } else { DIFS }), least, most }
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

/// Node and link of the access point.
pub(crate) const ACCESS_POINT: usize = 0;

/// 100 time units of 1024 µs.
const BEACON_INTERVAL: Duration = Duration::from_micros(102_400);

/// MAC header 24, check sequence 4.
const BEACON_HEADER: u32 = 28;
