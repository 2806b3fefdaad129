//! Probes: packets sent faster than the pacing rate to measure the capacity of the path (libwebrtc's
//! `bitrate_prober.cc` and its use in `pacing_controller.cc`).
//!
//! A cluster is sent in bursts of the bytes of [`BURST`] at the cluster's rate, from the pacer queue, or padding if
//! that is empty. The next burst follows when the bytes so far have taken their time at that rate.

use sojourn_aqm::{Duration, Instant};
use std::collections::VecDeque;

/// A probe requested by a control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbeCluster {
    /// Identifier.
    pub id: u32,
    /// Probing rate, in bit/s; above zero.
    pub bps: f64,
    /// Minimum bytes.
    pub bytes: u64,
    /// Minimum bursts.
    pub bursts: u32,
}

/// Pending clusters; the first one may be in progress.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prober {
    clusters: VecDeque<ProbeCluster>,
    /// Whether bursts are sent; if not, the next large enough packet of the encoder starts them.
    is_active: bool,
    /// Progress of the first cluster.
    started: Option<Instant>,
    sent: u64,
    bursts: u32,
    next: Instant,
    /// Bytes sent of the current burst.
    burst_bytes: u64,
}

impl Prober {
    /// Adds clusters.
    pub fn add(&mut self, clusters: impl IntoIterator<Item = ProbeCluster>) {
        self.clusters.extend(clusters);
    }

    /// The encoder has generated packets of up to `largest` bytes.
    pub fn on_packets(&mut self, now: Instant, largest: u32) {
        let Some(cluster) = self.clusters.front() else { return };
        if !self.is_active && u64::from(largest) >= burst_bytes(cluster).min(MIN_PACKET) {
            (self.is_active, self.next) = (true, now);
        }
    }

    /// When the next probe packet is due.
    pub fn due(&self) -> Instant {
        if self.is_active { self.next } else { Instant::NEVER }
    }

    /// Cluster of the packet that is due, and the remaining bytes of its burst.
    pub fn pending(&self) -> Option<(u32, u64)> {
        let cluster = self.clusters.front().filter(|_| self.is_active)?;
        Some((cluster.id, burst_bytes(cluster).saturating_sub(self.burst_bytes).max(1)))
    }

    /// A packet of the current burst was sent.
    pub fn on_sent(&mut self, now: Instant, bytes: u32) {
        let Some(cluster) = self.clusters.front() else { return };
        let started = *self.started.get_or_insert(now);
        self.burst_bytes += u64::from(bytes);
        if self.burst_bytes < burst_bytes(cluster) {
            return;
        }
        self.sent += std::mem::take(&mut self.burst_bytes);
        self.bursts += 1;
        self.next = started + Duration::from_secs_f64(self.sent as f64 * 8.0 / cluster.bps);
        if self.sent >= cluster.bytes && self.bursts >= cluster.bursts {
            self.clusters.pop_front();
            (self.started, self.sent, self.bursts) = (None, 0, 0);
            self.is_active = !self.clusters.is_empty();
        }
    }
}

fn burst_bytes(cluster: &ProbeCluster) -> u64 {
    (cluster.bps * BURST.as_secs_f64() / 8.0) as u64
}

/// `min_probe_delta` and `min_packet_size`.
const BURST: Duration = Duration::from_millis(2);
const MIN_PACKET: u64 = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_follow_at_the_rate_of_their_cluster() {
        let mut prober = Prober::default();
        // 2 ms at 937 kbit/s are 234 bytes, at 1.9 Mbit/s 475.
        prober.add([
            ProbeCluster { id: 4, bps: 937e3, bytes: 700, bursts: 2 },
            ProbeCluster { id: 5, bps: 1.9e6, bytes: 1, bursts: 1 },
        ]);
        assert_eq!((prober.due(), prober.pending()), (Instant::NEVER, None));
        let at = |us| Instant::ZERO + Duration::from_micros(us);
        prober.on_packets(at(100), 150);
        assert_eq!(prober.due(), Instant::NEVER);
        prober.on_packets(at(3000), 201);
        assert_eq!((prober.due(), prober.pending()), (at(3000), Some((4, 234))));
        prober.on_sent(at(3000), 201);
        assert_eq!((prober.due(), prober.pending()), (at(3000), Some((4, 33))));
        prober.on_sent(at(3000), 73);
        // 274 bytes take 2339 us.
        assert_eq!(prober.due().as_nanos() / 1000, 5339);
        prober.on_sent(at(5339), 500);
        assert_eq!((prober.due().as_nanos() / 1000, prober.pending()), (9608, Some((5, 475))));
        prober.on_sent(at(9608), 475);
        assert_eq!((prober.due(), prober.pending()), (Instant::NEVER, None));
    }
}
