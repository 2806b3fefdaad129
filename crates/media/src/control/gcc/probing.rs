//! Probe schedule and estimates (`probe_controller.cc`, `probe_bitrate_estimator.cc`).
//!
//! Without application-limited regions, which an encoder that keeps to its target does not have, libwebrtc probes only
//! at the start: at three and six times the start rate, then at twice the estimate as long as that is above 0.7 of the
//! last probe.

use crate::prober::ProbeCluster;
use sojourn_aqm::{Duration, Instant};
use std::collections::BTreeMap;

/// The probes of a flow.
#[derive(Clone, Debug)]
pub(super) struct ProbeController {
    max_bps: f64,
    /// Clusters for the pacer.
    pending: Vec<ProbeCluster>,
    next_id: u32,
    last: Instant,
    /// While waiting for results: an estimate above this triggers another probe.
    probe_further_above_bps: Option<f64>,
    /// Each cluster with its arrivals.
    clusters: BTreeMap<u32, (ProbeCluster, AggregatedCluster)>,
}

/// The arrived packets of a cluster.
#[derive(Clone, Copy, Debug)]
struct AggregatedCluster {
    packets: u32,
    bytes: u64,
    first_sent: Instant,
    last_sent: Instant,
    last_sent_bytes: u64,
    first_arrived: Instant,
    first_arrived_bytes: u64,
    last_arrived: Instant,
}

impl ProbeController {
    /// Starts with the first probes of a flow.
    pub fn new(now: Instant, start_bps: f64, max_bps: f64) -> Self {
        let (pending, clusters) = (Vec::new(), BTreeMap::new());
        let mut new = Self { max_bps, pending, next_id: 0, last: now, probe_further_above_bps: None, clusters };
        new.begin(now, &FIRST.map(|scale| scale * start_bps));
        new
    }

    /// Removes and returns the clusters for the pacer.
    pub fn take(&mut self) -> Vec<ProbeCluster> {
        std::mem::take(&mut self.pending)
    }

    /// The estimate has changed. `may_probe` is false while delay, losses or a round-trip time of seconds limit it.
    pub fn estimated(&mut self, now: Instant, bps: f64, may_probe: bool) {
        if may_probe && self.probe_further_above_bps.is_some_and(|limit| bps > limit) {
            self.begin(now, &[FURTHER * bps]);
        }
    }

    /// Stops waiting for results after one second.
    pub fn update(&mut self, now: Instant) {
        if now - self.last > LONGEST_WAIT {
            self.probe_further_above_bps = None;
        }
    }

    fn begin(&mut self, now: Instant, rates: &[f64]) {
        let (mut further, mut last_bps) = (true, 0.0);
        for &wanted_bps in rates {
            further &= wanted_bps < self.max_bps;
            last_bps = wanted_bps.min(self.max_bps);
            let bytes = (last_bps * MIN_DURATION.as_secs_f64() / 8.0) as u64;
            let cluster = ProbeCluster { id: self.next_id, bps: last_bps, bytes, bursts: MIN_BURSTS };
            self.next_id += 1;
            self.pending.push(cluster);
            self.clusters.insert(cluster.id, (cluster, AggregatedCluster::EMPTY));
        }
        (self.last, self.probe_further_above_bps) = (now, further.then_some(FURTHER_ABOVE * last_bps));
    }

    /// Processes the arrival of a probe packet; returns the cluster's estimate, if it has enough arrivals.
    pub fn arrived(&mut self, id: u32, bytes: u32, sent: Instant, arrived: Instant) -> Option<f64> {
        self.clusters.retain(|_, (_, seen)| seen.packets == 0 || arrived - seen.last_arrived <= HISTORY);
        let (cluster, aggregate) = self.clusters.get_mut(&id)?;
        aggregate.add(u64::from(bytes), sent, arrived);
        let enough_packets = f64::from(aggregate.packets) >= (MIN_SHARE * f64::from(cluster.bursts)).floor();
        if !enough_packets || (aggregate.bytes as f64) < MIN_SHARE * cluster.bytes as f64 {
            return None;
        }
        aggregate.bps()
    }
}

impl AggregatedCluster {
    const EMPTY: Self = Self {
        packets: 0,
        bytes: 0,
        first_sent: Instant::NEVER,
        last_sent: Instant::ZERO,
        last_sent_bytes: 0,
        first_arrived: Instant::NEVER,
        first_arrived_bytes: 0,
        last_arrived: Instant::ZERO,
    };

    fn add(&mut self, bytes: u64, sent: Instant, arrived: Instant) {
        self.first_sent = self.first_sent.min(sent);
        if self.packets == 0 || sent > self.last_sent {
            (self.last_sent, self.last_sent_bytes) = (sent, bytes);
        }
        if arrived < self.first_arrived {
            (self.first_arrived, self.first_arrived_bytes) = (arrived, bytes);
        }
        self.last_arrived = self.last_arrived.max(arrived);
        self.packets += 1;
        self.bytes += bytes;
    }

    fn bps(&self) -> Option<f64> {
        let valid = |span: Duration| (span > Duration::ZERO && span <= LONGEST).then(|| span.as_secs_f64());
        let sending = valid(self.last_sent - self.first_sent)?;
        let receiving = valid(self.last_arrived - self.first_arrived)?;
        let sent_bps = (self.bytes - self.last_sent_bytes) as f64 * 8.0 / sending;
        let received_bps = (self.bytes - self.first_arrived_bytes) as f64 * 8.0 / receiving;
        let is_saturated = received_bps < SATURATED * sent_bps;
        let bps = if is_saturated { UTILISATION * received_bps } else { sent_bps.min(received_bps) };
        (received_bps <= MAX_RATIO * sent_bps).then_some(bps)
    }
}

/// `first_` and `second_exponential_probe_scale`, `further_exponential_probe_scale`, `further_probe_threshold`.
const FIRST: [f64; 2] = [3.0, 6.0];
const FURTHER: f64 = 2.0;
const FURTHER_ABOVE: f64 = 0.7;
/// `min_probe_duration`, `min_probe_packets_sent`, `kMaxWaitingTimeForProbingResult`.
const MIN_DURATION: Duration = Duration::from_millis(15);
const MIN_BURSTS: u32 = 5;
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// `kMinReceivedProbesRatio` and `kMinReceivedBytesRatio`, `kMaxValidRatio`, `kMinRatioForUnsaturatedLink`,
/// `kTargetUtilizationFraction`, `kMaxClusterHistory`, `kMaxProbeInterval`.
const MIN_SHARE: f64 = 0.8;
const MAX_RATIO: f64 = 2.0;
const SATURATED: f64 = 0.9;
const UTILISATION: f64 = 0.95;
const HISTORY: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(1);
