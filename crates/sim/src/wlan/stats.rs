//! Statistics of the channel and its nodes within the statistics window.

use super::ACCESS_POINT;
use super::node::Frame;
use crate::histogram::Histogram;
use crate::quantiles::Quantiles;
use crate::radio::phy::Bitrate;
use crate::table::{Table, recorder};
use crate::window::{Counters, PerInterval, Window};
use serde::Serialize;
use sojourn_aqm::{Duration, Instant};

/// Statistics of a wireless LAN.
#[derive(Clone, Debug, Serialize)]
pub struct WlanSummary {
    /// Channel accesses.
    pub accesses: u64,
    /// Accesses with more than one transmitter.
    pub collisions: u64,
    /// Beacons sent, including those that collided.
    pub beacons: u64,
    /// Fraction of time with a busy medium: frames with their acknowledgments.
    pub busy: f64,
    /// The access point.
    pub access_point: NodeSummary,
    /// The stations in order.
    pub stations: Vec<StationSummary>,
    /// Round-trip times of each group of flows.
    pub rtts: Vec<RttSummary>,
}

/// Statistics of a sender.
#[derive(Clone, Debug, Serialize)]
pub struct NodeSummary {
    /// Fraction of time used by its frames, with acknowledgments and collisions, without back-offs.
    pub airtime: f64,
    /// Acknowledged frames.
    pub frames: u64,
    /// Frames abandoned after the last attempt.
    pub given_up: u64,
    /// Attempts to send a frame or an aggregate.
    pub attempts: u64,
    /// Attempts that collided.
    pub collisions: u64,
    /// Attempts lost to channel errors, in the frame or the acknowledgment; an aggregate counts if all its frames are
    /// lost.
    pub errors: u64,
    /// Attempts by rate in ascending order; those of 802.11n come last.
    pub rates: Vec<RateUse>,
    /// Waiting time of frames in the driver ring behind others.
    pub ring_ms: Quantiles,
    /// Time from the head of the ring until completion: access, attempts, acknowledgment.
    pub mac_ms: Quantiles,
    /// Statistics of aggregates, if any were sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggregation: Option<AggregateSummary>,
}

/// Statistics of a sender's aggregates (A-MPDUs).
#[derive(Clone, Debug, Serialize)]
pub struct AggregateSummary {
    /// Attempts to send an aggregate.
    pub aggregates: u64,
    /// Frames in aggregates; retries count again.
    pub frames: u64,
    /// Frames in aggregates that were not acknowledged, because of errors, collisions or a lost Block Ack.
    pub failed: u64,
    /// Time of frames in the receiver's reorder buffer.
    pub reorder_ms: Quantiles,
}

/// Statistics of a station.
#[derive(Clone, Debug, Serialize)]
pub struct StationSummary {
    /// The station as a sender.
    #[serde(flatten)]
    pub node: NodeSummary,
    /// Fraction of time used by the access point's frames to this station.
    pub airtime_down: f64,
}

/// Use of a rate.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RateUse {
    /// The rate in Mbit/s.
    pub mbit_per_s: f64,
    /// Index of the modulation and coding scheme, for 802.11n.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcs: Option<u8>,
    /// Attempts at this rate.
    pub attempts: u64,
}

/// Round-trip times of a group's segments, without retransmitted ones.
#[derive(Clone, Debug, Serialize)]
pub struct RttSummary {
    /// Since TCP passed the segment down.
    pub sent_ms: Quantiles,
    /// Since the segment left its host's queue for the driver, as seen by a packet capture.
    pub tapped_ms: Quantiles,
}

/// Outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// Acknowledged.
    Acknowledged,
    /// Lost in a collision.
    Collided,
    /// Lost to channel errors.
    Lost,
    /// Received, but the acknowledgment was lost to channel errors.
    AckLost,
}

/// Counters of the channel.
#[derive(Debug)]
pub(crate) struct ChannelTally {
    /// Index of the access point's queue.
    first: usize,
    counts: PerInterval<ChannelCounts>,
    stations: usize,
    recorder: Option<Accesses>,
}

/// Counters of one interval.
#[derive(Clone, Debug, Default)]
struct ChannelCounts {
    accesses: u64,
    collisions: u64,
    beacons: u64,
    busy: u64,
    /// The access point, then the stations, up to the last one that has sent.
    nodes: Vec<NodeTally>,
    /// Airtime of the access point's frames by station, up to the last one with any.
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
    /// Airtime fractions from each instant at which statistics may begin, by the index of the node's queue, as in the
    /// summary.
    AirtimeWindows("airtime_windows") {
        start_ns: u64 => U64,
        node: u16 => U16,
        airtime: f64 => F64,
        airtime_down: f64 => F64,
    }
}

recorder! {
    Accesses("accesses") {
        time_ns: u64 => U64,
        node: u16 => U16,
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

/// Bytes per row of `accesses`.
pub(crate) const ACCESS_BYTES: u64 = Accesses::ROW_BYTES;

/// An attempt to send a frame or an aggregate.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    /// Sender: 0 is the access point, others are stations.
    pub node: usize,
    /// The sending or receiving station.
    pub station: usize,
    /// Bitrate.
    pub rate: Bitrate,
    /// Whether this is an aggregate.
    pub is_aggregate: bool,
    /// Outcome.
    pub ending: AttemptOutcome,
    /// Airtime of the frame and of its acknowledgment, if any.
    pub airtime: Duration,
    /// Frames, and acknowledged frames.
    pub frames: u8,
    pub acknowledged: u8,
    /// Bytes of IP.
    pub bytes: u32,
    /// Attempt number of the first frame, from 1.
    pub number: u8,
}

impl Attempt {
    /// An attempt without frames; [`Self::count`] adds them.
    pub fn new(node: usize, station: usize, rate: Bitrate, ending: AttemptOutcome, airtime: Duration) -> Self {
        let (is_aggregate, frames, acknowledged, bytes, number) = (false, 0, 0, 0, 0);
        Self { node, station, rate, is_aggregate, ending, airtime, frames, acknowledged, bytes, number }
    }

    /// Adds a frame, after its own [`Frame::on_attempt`].
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
    /// Counters of `stations` stations, whose queues follow `first`.
    pub fn new(first: usize, stations: usize, window: &Window, recording: bool) -> Self {
        Self { first, counts: PerInterval::new(window), stations, recorder: recording.then(Accesses::default) }
    }

    /// Counts an access from `start` to `end` by `senders` nodes and possibly a beacon.
    pub fn access(&mut self, start: Instant, end: Instant, senders: usize, beacon: bool) {
        let counts = self.counts.at(start);
        counts.accesses += 1;
        counts.collisions += u64::from(senders + usize::from(beacon) > 1);
        counts.beacons += u64::from(beacon);
        self.spend(start, end, |counts, spent| counts.busy += spent);
    }

    /// Counts one attempt of an access.
    #[inline(always)]
    pub fn attempt(&mut self, start: Instant, attempt: &Attempt) {
        let &Attempt { node, station, rate, ending, airtime, frames, acknowledged, .. } = attempt;
        if let Some(recorder) = &mut self.recorder {
            let kbps = (rate.rate().as_bps() / 1_000) as u32;
            let (spent, outcome) = (airtime.as_nanos() as u64, ending as u8);
            let (sender, station, at) = ((self.first + node) as u16, station as u8, start.as_nanos());
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
        // Fast path: most attempts start and end in one interval.
        match self.counts.current_until(start + airtime) {
            Some(counts) => counts.spend(node, station, airtime.as_nanos() as u64),
            None => self.spend(start, start + airtime, |counts, spent| counts.spend(node, station, spent)),
        }
    }

    /// Counts a frame completed by `node` that entered the ring at `entered` and reached its head at `first`.
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

    /// Counts a frame that the receiver of `node` passes up, received at `since`.
    pub fn released(&mut self, now: Instant, node: usize, since: Instant) {
        self.counts.at(now).node(node).reorder.record(now - since);
    }

    /// Removes and returns the recorded attempts, if there are at least `least`.
    pub fn take_attempts(&mut self, least: usize) -> Option<Table> {
        self.recorder.as_mut()?.take(least)
    }

    /// Airtimes of the nodes from each instant of the window on, starting with instant `first`.
    pub fn airtimes(&self, first: usize) -> Table {
        let window = self.counts.window();
        let (mut airtime, mut down) = (vec![0; self.stations + 1], vec![0; self.stations + 1]);
        let mut rows = Vec::new();
        // Suffix sums over the intervals.
        for number in (first..window.starts().len()).rev() {
            if let Some(part) = self.counts.intervals().nth(number) {
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
                table.push(start_ns, (self.first + node) as u16, spent as f64 / length, down as f64 / length);
            }
        }
        table.into_table()
    }

    /// The summary from instant `number` of the window on, and the remaining recorded attempts, if recording.
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

    /// Passes to `spend` the nanoseconds of a span in each interval; the span starts in the current one.
    #[inline(always)]
    fn spend(&mut self, start: Instant, end: Instant, mut spend: impl FnMut(&mut ChannelCounts, u64)) {
        self.counts.split_from_current(start, end, |counts, from, to| spend(counts, (to - from).as_nanos() as u64));
    }
}

impl ChannelCounts {
    /// Adds airtime of a node for a packet to or from `station`.
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

/// Entry `i` of a list, which grows as needed.
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
