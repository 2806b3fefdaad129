//! A wireless LAN: an access point and its stations share one channel of 802.11g or 802.11n.
//!
//! Node 0 is the access point, node i + 1 is station i; each has a queue (the link of the same number), a driver's ring
//! below it and a part in the contention. Everybody hears everybody at once. An access to the channel is one event: when
//! it starts, it is known how it ends. A second event follows where a frame arrives or is given up.

mod access;
mod block_ack;
mod dcf;
mod driver;
mod error;
mod host;
mod node;
mod phy;
mod queues;
mod rate;
mod rtt;
mod sockets;
mod stats;
mod tid;
mod turns;

pub use error::ErrorModel;
pub use phy::Bitrate;
pub use stats::{AggregateSummary, NodeSummary, RateUse, RttSummary, StationSummary, WlanSummary};

use crate::link::Link;
use crate::packet::Packet;
use crate::scenario::{
    Direction, Eifs, FlowSpec, LinkSpec, Queues, RateSpec, Rates, Scenario, SlotTime, StationSpec, WlanSpec,
};
use crate::table::Table;
use crate::window::Window;
use dcf::{Contention, Dcf};
use error::Signal;
use node::Node;
use phy::{LONG_SLOT, SHORT_SLOT};
use queues::{Asked, StationQueues};
use rate::{AnyControl, Fixed, Minstrel};
use rtt::Rtts;
use sockets::Sockets;
use sojourn_aqm::{Duration, Instant, Rng};
use sojourn_tcp::Header;
use stats::ChannelTally;
use tid::{Limits, Tid};
use turns::Turns;

/// What the links of a network share besides the packets: nothing, or the channel of a wireless LAN. A network without
/// one is compiled without all of this.
pub(crate) trait Air: Send + Sized {
    /// Whether there is a channel.
    const PRESENT: bool;
    /// What a queue's drops are told to.
    type Hosts<'a>: Hosts
    where
        Self: 'a;

    /// The channel of a scenario, over which these links lead.
    fn new(scenario: &Scenario, seed: u64, links: &mut [Link]) -> Self;
    /// What a queue's drops are told to.
    fn hosts(&mut self) -> Self::Hosts<'_>;
    /// The channel, which is there.
    fn wlan(&mut self) -> &mut Wlan;
    /// Whether the host of a sender takes another packet.
    fn has_room(&self, slot: u32) -> bool;
    /// What it has done from instant `number` of the window on.
    fn report(self, number: usize) -> (Option<WlanSummary>, Option<Table>);
}

/// Hears of the packets that a queue drops.
pub(crate) trait Hosts {
    /// A packet was dropped in the queue of `link`.
    fn dropped(&mut self, link: usize, packet: &Packet, header: &Header);
}

impl Air for () {
    const PRESENT: bool = false;
    type Hosts<'a> = ();

    fn new(_: &Scenario, _: u64, _: &mut [Link]) -> Self {}
    fn hosts(&mut self) -> Self::Hosts<'_> {}
    fn wlan(&mut self) -> &mut Wlan {
        unreachable!("nobody asks for a channel that is not there")
    }
    fn has_room(&self, _: u32) -> bool {
        true
    }
    fn report(self, _: usize) -> (Option<WlanSummary>, Option<Table>) {
        (None, None)
    }
}

impl Hosts for () {
    fn dropped(&mut self, _: usize, _: &Packet, _: &Header) {}
}

impl Air for Box<Wlan> {
    const PRESENT: bool = true;
    type Hosts<'a> = &'a mut Sockets;

    fn new(scenario: &Scenario, seed: u64, links: &mut [Link]) -> Self {
        let spec = scenario.wlan.as_ref().expect("a cell is made for a scenario with one");
        let mut wlan = Wlan::new(spec, scenario, seed, links[ACCESS_POINT].tally.window());
        if spec.channel.queues != Queues::Shared {
            links[ACCESS_POINT].qdisc = Box::new(wlan.station_queues(&scenario.link, seed));
        }
        Self::new(wlan)
    }
    fn hosts(&mut self) -> Self::Hosts<'_> {
        &mut self.sockets
    }
    fn wlan(&mut self) -> &mut Wlan {
        self
    }
    fn has_room(&self, slot: u32) -> bool {
        self.sockets.has_room(slot)
    }
    fn report(self, number: usize) -> (Option<WlanSummary>, Option<Table>) {
        let rtts = self.rtts.report(number);
        let (summary, table) = self.tally.report(number, rtts);
        (Some(summary), table)
    }
}

impl Hosts for &mut Sockets {
    fn dropped(&mut self, link: usize, packet: &Packet, header: &Header) {
        if is_counted(link, header) {
            self.left(packet.slot);
        }
    }
}

/// Whether a packet in the queue of `link` is data of a sender in that host.
fn is_counted(link: usize, header: &Header) -> bool {
    link != ACCESS_POINT && header.len > 0
}

/// The channel and everybody on it.
#[derive(Debug)]
pub(crate) struct Wlan {
    dcf: Dcf,
    nodes: Vec<Node>,
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
    /// Whose queue the access point's driver asks, if each station has one.
    asked: Option<Asked>,
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
    fn new(spec: &WlanSpec, scenario: &Scenario, seed: u64, window: &Window) -> Self {
        let channel = &spec.channel;
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
            asked: None,
            placed: vec![0; scenario.flows.len()],
            nodes,
        }
    }

    /// A queue like `link`'s for each station.
    fn station_queues(&mut self, link: &LinkSpec, seed: u64) -> StationQueues {
        let queue = |i| crate::link::queue(link, Rng::stream(seed, "station queue", i as u64));
        let asked = self.asked.insert(Asked::default()).clone();
        StationQueues::new((0..self.nodes.len() - 1).map(queue).collect(), self.station_host(0), asked)
    }

    /// Number of a station's host, behind those of the wired hosts.
    fn station_host(&self, station: u32) -> u32 {
        2 * self.placed.len() as u32 + station
    }

    /// The links of the data and of the acknowledgments of the next flow of a group, and the hosts of its source and its
    /// sink. Flows without a station take the stations in turn.
    pub fn place(&mut self, group: u32, spec: &FlowSpec) -> ((usize, usize), (u32, u32)) {
        let stations = self.nodes.len() as u32 - 1;
        let place = &mut self.placed[group as usize];
        let station = spec.station.unwrap_or(*place % stations);
        *place += 1;
        let (link, host) = (station as usize + 1, self.station_host(station));
        match spec.direction {
            Direction::Forward => ((ACCESS_POINT, link), (2 * group, host)),
            Direction::Reverse => ((link, ACCESS_POINT), (host, 2 * group + 1)),
        }
    }
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
