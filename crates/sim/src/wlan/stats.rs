//! What the channel and its stations have done inside the statistics window.

use super::ACCESS_POINT;
use super::node::Frame;
use crate::histogram::Histogram;
use crate::quantiles::Quantiles;
use crate::radio::phy::Bitrate;
use crate::table::{Table, recorder};
use crate::window::{Counters, PerInterval, Window};
use serde::Serialize;
use sojourn_aqm::{Duration, Instant};

/// A wireless LAN in numbers, inside the statistics window.
#[derive(Clone, Debug, Serialize)]
pub struct WlanSummary {
    /// Times that somebody began to transmit.
    pub accesses: u64,
    /// Accesses of more than one at once.
    pub collisions: u64,
    /// Beacons sent; those that collided included.
    pub beacons: u64,
    /// Share of the time in which the medium was busy: frames with their acknowledgments.
    pub busy: f64,
    /// The access point.
    pub access_point: NodeSummary,
    /// The stations in their order.
    pub stations: Vec<StationSummary>,
    /// Round-trip times of each group of flows.
    pub rtts: Vec<RttSummary>,
}

/// A sender in numbers.
#[derive(Clone, Debug, Serialize)]
pub struct NodeSummary {
    /// Share of the time that its frames took, with their acknowledgments and collisions; without pauses.
    pub airtime: f64,
    /// Frames that were acknowledged.
    pub frames: u64,
    /// Frames that were given up after their last attempt.
    pub given_up: u64,
    /// Attempts to send a frame, or an aggregate of frames.
    pub attempts: u64,
    /// Attempts that collided.
    pub collisions: u64,
    /// Attempts that were lost by errors of the channel, or whose acknowledgments were; of an aggregate all frames.
    pub errors: u64,
    /// Attempts by rate, from the slowest; those of 802.11n come last.
    pub rates: Vec<RateUse>,
    /// Time that frames waited in the driver's ring behind others.
    pub ring_ms: Quantiles,
    /// Time from when a frame came to the head of the ring until it was through: access, attempts, acknowledgment.
    pub mac_ms: Quantiles,
    /// What was sent in aggregates, if something was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggregation: Option<AggregateSummary>,
}

/// The aggregates (A-MPDUs) of a sender in numbers.
#[derive(Clone, Debug, Serialize)]
pub struct AggregateSummary {
    /// Attempts that were aggregates.
    pub aggregates: u64,
    /// Frames in them; one that is sent again counts again.
    pub frames: u64,
    /// Frames in them that were not acknowledged: by errors, collisions, or a lost Block Ack.
    pub failed: u64,
    /// Time that frames waited at their receiver for others that were missing before them.
    pub reorder_ms: Quantiles,
}

/// A station in numbers.
#[derive(Clone, Debug, Serialize)]
pub struct StationSummary {
    /// What it sent.
    #[serde(flatten)]
    pub node: NodeSummary,
    /// Share of the time that the access point's frames to it took.
    pub airtime_down: f64,
}

/// How often a rate was used.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RateUse {
    /// The rate in Mbit/s.
    pub mbit_per_s: f64,
    /// Its number among the modulation and coding schemes of 802.11n, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcs: Option<u8>,
    /// Attempts at it.
    pub attempts: u64,
}

/// Round-trip times of a group's segments that were sent once.
#[derive(Clone, Debug, Serialize)]
pub struct RttSummary {
    /// From when TCP handed a segment down.
    pub sent_ms: Quantiles,
    /// From when it left its host's queue for the driver, where a capture would see it.
    pub tapped_ms: Quantiles,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// With an acknowledgment.
    Acknowledged,
    /// In a collision.
    Collided,
    /// The channel garbled it.
    Lost,
    /// The channel garbled the acknowledgment.
    AckLost,
}

/// Running counts.
#[derive(Debug)]
pub(crate) struct ChannelTally {
    /// Number of the access point's queue.
    first: usize,
    counts: PerInterval<ChannelCounts>,
    stations: usize,
    recorder: Option<Accesses>,
}

/// The counts of a part of the run.
#[derive(Clone, Debug, Default)]
struct ChannelCounts {
    accesses: u64,
    collisions: u64,
    beacons: u64,
    busy: u64,
    /// The access point, then the stations; as far as they have sent.
    nodes: Vec<NodeTally>,
    /// Airtime of the access point's frames, by station; as far as there were some.
    down: Vec<u64>,
}

#[derive(Clone, Debug, Default)]
struct NodeTally {
    airtime: u64,
    frames: u64,
    given_up: u64,
    attempts: u64,
    collisions: u64,
    errors: u64,
    rates: [u64; Bitrate::COUNT],
    ring: Histogram,
    mac: Histogram,
    aggregates: u64,
    aggregated: u64,
    failed: u64,
    reorder: Histogram,
}

recorder! {
    /// Shares of the time from each instant at which the statistics could begin, by the number of the node's queue, as in
    /// the summary.
    AirtimeWindows("airtime_windows") {
        start_ns: u64 => U64,
        node: u8 => U8,
        airtime: f64 => F64,
        airtime_down: f64 => F64,
    }
}

recorder! {
    Accesses("accesses") {
        time_ns: u64 => U64,
        node: u8 => U8,
        station: u8 => U8,
        kbit_per_s: u32 => U32,
        bytes: u32 => U32,
        attempt: u8 => U8,
        outcome: u8 => U8,
        airtime_ns: u64 => U64,
        frames: u8 => U8,
        acknowledged: u8 => U8,
    }
}

/// Bytes of a row of `accesses`.
pub(crate) const ACCESS_BYTES: u64 = Accesses::ROW_BYTES;

/// An attempt to send a frame or an aggregate.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    /// Who sends: 0 is the access point, others are stations.
    pub node: usize,
    /// The station at either end of it.
    pub station: usize,
    /// At what rate.
    pub rate: Bitrate,
    /// Whether it is an aggregate.
    pub is_aggregate: bool,
    /// What became of it.
    pub ending: AttemptOutcome,
    /// Time of the frame, and of its acknowledgment if there is one.
    pub airtime: Duration,
    /// Frames in it, and those of them that were acknowledged.
    pub frames: u8,
    pub acknowledged: u8,
    /// Bytes of IP.
    pub bytes: u32,
    /// Which attempt of its first frame; the first is 1.
    pub number: u8,
}

impl Attempt {
    /// One of a single frame at most, which is still to be [counted](Self::count).
    pub fn new(node: usize, station: usize, rate: Bitrate, ending: AttemptOutcome, airtime: Duration) -> Self {
        let (is_aggregate, frames, acknowledged, bytes, number) = (false, 0, 0, 0, 0);
        Self { node, station, rate, is_aggregate, ending, airtime, frames, acknowledged, bytes, number }
    }

    /// Adds a frame, which has heard what became of it.
    pub fn count(&mut self, frame: &Frame) {
        if self.frames == 0 {
            self.number = frame.attempts;
        }
        self.frames += 1;
        self.acknowledged += u8::from(frame.completed == Some(true));
        self.bytes += frame.bytes;
    }
}

impl ChannelTally {
    /// Counts of so many stations, whose queues follow the `first`.
    pub fn new(first: usize, stations: usize, window: &Window, recording: bool) -> Self {
        Self { first, counts: PerInterval::new(window), stations, recorder: recording.then(Accesses::default) }
    }

    /// The medium is busy from `start` to `end` with what so many senders, and perhaps a beacon, have to say.
    pub fn access(&mut self, start: Instant, end: Instant, senders: usize, beacon: bool) {
        let counts = self.counts.at(start);
        counts.accesses += 1;
        counts.collisions += u64::from(senders + usize::from(beacon) > 1);
        counts.beacons += u64::from(beacon);
        self.spend(start, end, |counts, spent| counts.busy += spent);
    }

    /// One of them.
    #[inline(always)]
    pub fn attempt(&mut self, start: Instant, attempt: &Attempt) {
        let &Attempt { node, station, rate, ending, airtime, frames, acknowledged, .. } = attempt;
        if let Some(recorder) = &mut self.recorder {
            let kbps = (rate.rate().as_bps() / 1_000) as u32;
            let (spent, outcome) = (airtime.as_nanos() as u64, ending as u8);
            let (sender, station, at) = ((self.first + node) as u8, station as u8, start.as_nanos());
            let (bytes, number) = (attempt.bytes, attempt.number);
            recorder.push(at, sender, station, kbps, bytes, number, outcome, spent, frames, acknowledged);
        }
        let tally = self.counts.at(start).node(node);
        tally.attempts += 1;
        tally.rates[rate.index()] += 1;
        tally.collisions += u64::from(ending == AttemptOutcome::Collided);
        tally.errors += u64::from(matches!(ending, AttemptOutcome::Lost | AttemptOutcome::AckLost));
        if attempt.is_aggregate {
            tally.aggregates += 1;
            tally.aggregated += u64::from(frames);
            tally.failed += u64::from(frames - acknowledged);
        }
        // As a rule in that part to its end.
        match self.counts.present_until(start + airtime) {
            Some(counts) => counts.spend(node, station, airtime.as_nanos() as u64),
            None => self.spend(start, start + airtime, |counts, spent| counts.spend(node, station, spent)),
        }
    }

    /// `node` is through with a frame that came into its ring at `entered` and to its head at `first`.
    #[inline(always)]
    pub fn record_completion(
        &mut self,
        now: Instant,
        node: usize,
        acknowledged: bool,
        (entered, first): (Instant, Instant),
    ) {
        let tally = self.counts.at(now).node(node);
        tally.frames += u64::from(acknowledged);
        tally.given_up += u64::from(!acknowledged);
        tally.ring.record(first - entered);
        tally.mac.record(now - first);
    }

    /// The receiver of `node` hands up a frame of an aggregate that it has had since an instant.
    pub fn released(&mut self, now: Instant, node: usize, since: Instant) {
        self.counts.at(now).node(node).reorder.record(now - since);
    }

    /// The attempts so far, if at least so many were recorded; it goes on without them.
    pub fn take(&mut self, least: usize) -> Option<Table> {
        self.recorder.as_mut()?.take(least)
    }

    /// Airtimes of the nodes from every instant of the window on that is not before the one numbered `first`.
    pub fn airtimes(&self, first: usize) -> Table {
        let window = self.counts.window();
        let (mut airtime, mut down) = (vec![0; self.stations + 1], vec![0; self.stations + 1]);
        let mut rows = Vec::new();
        // From the end, each part is added to those after it.
        for number in (first..window.starts().len()).rev() {
            if let Some(part) = self.counts.parts().nth(number) {
                airtime.iter_mut().zip(&part.nodes).for_each(|(sum, node)| *sum += node.airtime);
                down[1..].iter_mut().zip(&part.down).for_each(|(sum, spent)| *sum += spent);
            }
            rows.push((number, airtime.clone(), down.clone()));
        }
        let mut table = AirtimeWindows::default();
        for (number, airtime, down) in rows.into_iter().rev() {
            let length = window.length(number).as_nanos() as f64;
            let start_ns = window.starts()[number].as_nanos();
            for (node, (spent, down)) in airtime.into_iter().zip(down).enumerate() {
                table.push(start_ns, (self.first + node) as u8, spent as f64 / length, down as f64 / length);
            }
        }
        table.into_table()
    }

    /// The report from instant `number` of the window on, and every attempt that was not taken if that was wanted.
    pub fn report(self, number: usize, rtts: Vec<RttSummary>) -> (WlanSummary, Option<Table>) {
        let window = self.counts.window().length(number).as_nanos() as f64;
        let mut sum = self.counts.sum(number);
        sum.nodes.resize_with(self.stations + 1, NodeTally::default);
        sum.down.resize(self.stations, 0);
        let share = |spent: u64| spent as f64 / window;
        let mut nodes = sum.nodes.iter().map(|node| node.report(window));
        let access_point = nodes.next().expect("there is an access point");
        let stations = nodes.zip(&sum.down).map(|(node, &down)| StationSummary { node, airtime_down: share(down) });
        let summary = WlanSummary {
            accesses: sum.accesses,
            collisions: sum.collisions,
            beacons: sum.beacons,
            busy: share(sum.busy),
            access_point,
            stations: stations.collect(),
            rtts,
        };
        (summary, self.recorder.map(Accesses::into_table))
    }

    /// Tells every part how many nanoseconds of a span lie in it, which begins in the present one.
    #[inline(always)]
    fn spend(&mut self, start: Instant, end: Instant, mut spend: impl FnMut(&mut ChannelCounts, u64)) {
        self.counts.pieces_from_now(start, end, |counts, from, to| spend(counts, (to - from).as_nanos() as u64));
    }
}

impl ChannelCounts {
    /// A node has the channel for so many nanoseconds, for a packet to a station or from it.
    #[inline(always)]
    fn spend(&mut self, node: usize, station: usize, spent: u64) {
        self.node(node).airtime += spent;
        if node == ACCESS_POINT {
            *at(&mut self.down, station) += spent;
        }
    }

    fn node(&mut self, node: usize) -> &mut NodeTally {
        at(&mut self.nodes, node)
    }
}

impl Counters for ChannelCounts {
    fn add(&mut self, other: &Self) {
        self.accesses += other.accesses;
        self.collisions += other.collisions;
        self.beacons += other.beacons;
        self.busy += other.busy;
        self.nodes.add(&other.nodes);
        self.down.add(&other.down);
    }

    fn pack(&mut self) {
        self.nodes.pack();
    }
}

impl Counters for NodeTally {
    fn add(&mut self, other: &Self) {
        for (sum, more) in [
            (&mut self.airtime, other.airtime),
            (&mut self.frames, other.frames),
            (&mut self.given_up, other.given_up),
            (&mut self.attempts, other.attempts),
            (&mut self.collisions, other.collisions),
            (&mut self.errors, other.errors),
            (&mut self.aggregates, other.aggregates),
            (&mut self.aggregated, other.aggregated),
            (&mut self.failed, other.failed),
        ] {
            *sum += more;
        }
        self.rates.iter_mut().zip(other.rates).for_each(|(sum, more)| *sum += more);
        self.ring.merge(&other.ring);
        self.mac.merge(&other.mac);
        self.reorder.merge(&other.reorder);
    }

    fn pack(&mut self) {
        self.ring.pack();
        self.mac.pack();
        self.reorder.pack();
    }
}

/// Entry `i` of a list that grows to it.
fn at<T: Default>(list: &mut Vec<T>, i: usize) -> &mut T {
    if i >= list.len() {
        list.resize_with(i + 1, T::default);
    }
    &mut list[i]
}

impl NodeTally {
    fn report(&self, window: f64) -> NodeSummary {
        let rates = Bitrate::every().zip(self.rates).filter(|&(_, attempts)| attempts > 0);
        NodeSummary {
            airtime: self.airtime as f64 / window,
            frames: self.frames,
            given_up: self.given_up,
            attempts: self.attempts,
            collisions: self.collisions,
            errors: self.errors,
            rates: rates
                .map(|(rate, attempts)| RateUse {
                    mbit_per_s: rate.rate().as_bps() as f64 / 1e6,
                    mcs: rate.mcs(),
                    attempts,
                })
                .collect(),
            ring_ms: Quantiles::of(&self.ring),
            mac_ms: Quantiles::of(&self.mac),
            aggregation: (self.aggregates > 0).then(|| AggregateSummary {
                aggregates: self.aggregates,
                frames: self.aggregated,
                failed: self.failed,
                reorder_ms: Quantiles::of(&self.reorder),
            }),
        }
    }
}
