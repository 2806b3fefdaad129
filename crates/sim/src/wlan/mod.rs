//! A wireless LAN: an access point and its stations share one channel of 802.11g.
//!
//! Node 0 is the access point, node i + 1 is station i; each has a queue (the link of the same number), a driver's ring
//! below it and a part in the contention. Everybody hears everybody at once. An access to the channel is one event: when
//! it starts, it is known how it ends. A second event follows where a frame arrives or is given up.

mod dcf;
mod error;
mod host;
mod node;
mod phy;
mod queues;
mod rate;
mod rtt;
mod sockets;
mod stats;

pub use error::ErrorModel;
pub use phy::Bitrate;
pub use stats::{NodeSummary, RateUse, RttSummary, StationSummary, WlanSummary};

use crate::link::Link;
use crate::packet::Packet;
use crate::scenario::{
    Direction, Eifs, FlowSpec, LinkSpec, Queues, RateSpec, Rates, Scenario, SlotTime, StationSpec, WlanSpec,
};
use crate::table::Table;
use crate::tcp::Header;
use dcf::{Contention, Dcf};
use error::Signal;
use node::{Frame, Node};
use phy::{LONG_SLOT, MAC_OVERHEAD, SHORT_SLOT, SIFS};
use queues::{Airtimes, StationQueues};
use rate::{AnyControl, Fixed, Minstrel};
use rtt::Rtts;
use sockets::Sockets;
use sojourn_aqm::{Duration, Instant, Rng};
use stats::{Attempt, ChannelTally, Ending};
use std::sync::atomic::{AtomicI64, Ordering};

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
    /// What it has done.
    fn report(self) -> (Option<WlanSummary>, Option<Table>);
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
    fn report(self) -> (Option<WlanSummary>, Option<Table>) {
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
        let mut wlan = Wlan::new(spec, scenario, seed);
        if spec.channel.queues != Queues::Shared {
            links[ACCESS_POINT].qdisc = Box::new(wlan.station_queues(spec, &scenario.link, seed));
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
    fn report(self) -> (Option<WlanSummary>, Option<Table>) {
        let rtts = self.rtts.report();
        let (summary, table) = self.tally.report(rtts);
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
    outcomes: Vec<Outcome>,
    pub sockets: Sockets,
    pub rtts: Rtts,
    tally: ChannelTally,
    /// What the stations' queues at the access point have to be told, if their turns depend on it.
    airtimes: Option<Airtimes>,
    /// Flows of each group that have their station.
    placed: Vec<u32>,
}

/// What an access means for the head of a node's ring.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    node: usize,
    /// It arrives for the first time.
    arrives: bool,
    /// The sender is through with it, and whether it was acknowledged.
    through: Option<bool>,
}

/// The access point's beacons. They need no back-off, and are not sent again.
#[derive(Clone, Copy, Debug)]
struct Beacon {
    due: Instant,
    airtime: Duration,
}

impl Wlan {
    fn new(spec: &WlanSpec, scenario: &Scenario, seed: u64) -> Self {
        let channel = &spec.channel;
        let rates = if channel.rates == Rates::Ofdm { Bitrate::OFDM } else { Bitrate::ALL };
        let control = |kind: &str, i: usize, station: &StationSpec| match station.rate {
            RateSpec::Fixed(rate) => AnyControl::Fixed(Fixed(rate)),
            RateSpec::Minstrel => {
                AnyControl::Minstrel(Box::new(Minstrel::new(rates, Rng::stream(seed, kind, i as u64))))
            }
        };
        let ring = |link: &LinkSpec| link.below.expect("a link over a channel has a ring");
        let down = spec.each_station().enumerate().map(|(i, station)| control("rates down", i, station)).collect();
        let access_point = Node::new(ring(&scenario.link), channel.cpu_gap, channel.htb_rate, down);
        let stations = spec.each_station().enumerate().map(|(i, station)| {
            Node::new(ring(&scenario.reverse), channel.cpu_gap, None, vec![control("rates up", i, station)])
        });
        let nodes: Vec<Node> = std::iter::once(access_point).chain(stations).collect();
        let ap_rules = Contention { aifs: channel.ap_aifs, least: channel.ap_cwmin, most: channel.ap_cwmax };
        let rules = spec.each_station().map(|it| Contention { aifs: it.aifs, least: it.cwmin, most: it.cwmax });
        let slot = if channel.slot == SlotTime::Short { SHORT_SLOT } else { LONG_SLOT };
        let signals = spec.each_station().enumerate().map(|(i, station)| {
            let fading = station.fading.map(|sd| (sd.0, station.coherence));
            station.snr.map(|snr| Signal::new(snr.0, fading, Rng::stream(seed, "signal", i as u64)))
        });
        let (from, to) = (Instant::ZERO + scenario.warmup, Instant::ZERO + scenario.duration);
        Self {
            dcf: Dcf::new(std::iter::once(ap_rules).chain(rules), slot, seed, channel.eifs == Eifs::Listeners),
            errors: channel.errors,
            signals: signals.collect(),
            beacon: Beacon::new(channel.beacon),
            transmitting: Vec::with_capacity(nodes.len()),
            ends_at: None,
            outcomes: Vec::with_capacity(nodes.len()),
            sockets: Sockets::new(channel.tsq),
            rtts: Rtts::new(scenario.flows.len(), from),
            tally: ChannelTally::new(nodes.len() - 1, from, to, scenario.probes.accesses == Some(true)),
            airtimes: None,
            placed: vec![0; scenario.flows.len()],
            nodes,
        }
    }

    /// A queue like `link`'s for each station.
    fn station_queues(&mut self, spec: &WlanSpec, link: &LinkSpec, seed: u64) -> StationQueues {
        let queue = |i| crate::link::queue(link, Rng::stream(seed, "station queue", i as u64));
        let stations = self.nodes.len() - 1;
        let by_airtime = spec.channel.queues == Queues::Airtime;
        self.airtimes = by_airtime.then(|| (0..stations).map(|_| AtomicI64::new(0)).collect());
        StationQueues::new((0..stations).map(queue).collect(), self.station_host(0), self.airtimes.clone())
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

    /// When the next event of the channel is due.
    pub fn next_event(&self) -> Instant {
        match (self.ends_at, &self.beacon) {
            (Some(end), _) => end,
            (None, None) => self.dcf.next(),
            (None, Some(beacon)) => self.dcf.next().min(self.beacon_starts(beacon)),
        }
    }

    fn beacon_starts(&self, beacon: &Beacon) -> Instant {
        beacon.due.max(self.dcf.available(ACCESS_POINT))
    }

    /// An access starts. Its transmitters and their times are told to `book`.
    fn access_begins(&mut self, now: Instant, book: impl FnMut(usize, Duration)) {
        let mut who = std::mem::take(&mut self.transmitting);
        let beacon = self.beacon.filter(|beacon| self.beacon_starts(beacon) == now);
        self.dcf.turns_busy(now, &mut who);
        if beacon.is_some() {
            // The access point's own frame comes after the beacon.
            who.retain(|&node| node != ACCESS_POINT);
        }
        let end = match (&who[..], beacon) {
            (&[node], None) => self.alone(now, node, book),
            (nodes, beacon) => self.together(now, nodes, beacon.map(|beacon| beacon.airtime), book),
        };
        if let Some(beacon) = self.beacon.as_mut().filter(|_| beacon.is_some()) {
            beacon.due += BEACON_INTERVAL;
        }
        self.tally.access(now, end, who.len(), beacon.is_some());
        self.transmitting = who;
        self.ends_at = (!self.outcomes.is_empty()).then_some(end);
    }

    /// One frame on the air. Returns when the medium falls idle.
    fn alone(&mut self, now: Instant, node: usize, mut book: impl FnMut(usize, Duration)) -> Instant {
        let frame = self.nodes[node].head();
        let (station, bytes, rate) = (frame.station, frame.bytes, frame.rate());
        let (airtime, answered) = (frame.airtime(), SIFS + rate.ack());
        let (end, idle) = (now + airtime, now + airtime + answered);
        let errors = self.errors;
        let mut loses = |at, loss: &dyn Fn(f64) -> f64| match &mut self.signals[station] {
            None => false,
            Some(signal) => signal.loses(at, loss),
        };
        let ending = if loses(now, &|snr| errors.loss(rate, snr, bytes + MAC_OVERHEAD)) {
            Ending::Lost
        } else if loses(end, &|snr| errors.ack_loss(rate, snr)) {
            Ending::AckLost
        } else {
            Ending::Acknowledged
        };
        // Who has understood the frame stays silent until its acknowledgment is over, also if that never comes.
        (0..self.nodes.len()).for_each(|other| self.dcf.heard(other, idle));
        let spent = if ending == Ending::Lost { airtime } else { airtime + answered };
        match ending {
            Ending::Lost => {
                let receiver = if node == ACCESS_POINT { station + 1 } else { ACCESS_POINT };
                self.dcf.heard_garbled(receiver, end);
                self.dcf.heard_nothing(node, end, end);
            }
            Ending::AckLost => self.dcf.heard_garbled(node, idle),
            Ending::Acknowledged | Ending::Collided => {}
        }
        book(node, spent);
        self.attempted(now, node, ending, spent);
        now + spent
    }

    /// Several frames at once, or a beacon: nobody understands anything of what collides.
    fn together(
        &mut self,
        now: Instant,
        nodes: &[usize],
        beacon: Option<Duration>,
        mut book: impl FnMut(usize, Duration),
    ) -> Instant {
        debug_assert!(!nodes.is_empty() || beacon.is_some(), "an access has somebody who transmits");
        let airtimes = nodes.iter().map(|&node| self.nodes[node].head().airtime());
        let end = now + airtimes.fold(beacon.unwrap_or(Duration::ZERO), Duration::max);
        for other in 0..self.nodes.len() {
            // A beacon is not answered; its sender has heard nothing that it could not understand.
            if nodes.is_empty() || (beacon.is_some() && other == ACCESS_POINT) {
                self.dcf.heard(other, end);
            } else {
                self.dcf.heard_garbled(other, end);
            }
        }
        for &node in nodes {
            let airtime = self.nodes[node].head().airtime();
            self.dcf.heard_nothing(node, now + airtime, end);
            book(node, airtime);
            self.attempted(now, node, Ending::Collided, airtime);
        }
        end
    }

    /// Notes an attempt of `node` and what comes of it.
    fn attempted(&mut self, now: Instant, node: usize, ending: Ending, airtime: Duration) {
        let frame = self.nodes[node].head();
        let rate = frame.rate();
        frame.attempts += 1;
        let acknowledged = ending == Ending::Acknowledged;
        let arrives = matches!(ending, Ending::Acknowledged | Ending::AckLost) && !frame.received;
        frame.received |= arrives;
        let is_over = acknowledged || frame.chain.rate(frame.attempts).is_none();
        let (station, bytes, number) = (frame.station, frame.bytes, frame.attempts);
        if let Some(airtimes) = &self.airtimes {
            airtimes[station].fetch_add(airtime.as_nanos(), Ordering::Relaxed);
        }
        self.tally.attempt(now, &Attempt { node, station, rate, bytes, number, ending, airtime });
        if is_over {
            self.dcf.through(node);
        } else {
            self.dcf.failed(node);
        }
        let through = is_over.then_some(acknowledged);
        if arrives || is_over {
            self.outcomes.push(Outcome { node, arrives, through });
        }
    }

    /// A packet comes from the queue of `node`, which counts it as so many bytes, into the ring.
    fn enters_ring(&mut self, now: Instant, node: usize, frame: Frame, accounted: u32) {
        self.nodes[node].push(now, frame, accounted);
        if !self.dcf.is_contending(node) {
            self.dcf.frame_came(now, node);
        }
    }
}

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
