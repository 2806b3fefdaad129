//! Statistics of media flows: frames, queueing delays, reports.

use crate::histogram::Histogram;
use crate::quantiles::Quantiles;
use crate::table::recorder;
use crate::window::Counters;
use serde::Serialize;
use sojourn_aqm::{Duration, Instant};

/// An event at an end of a media flow.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MediaEvent {
    /// Frames were encoded; `targets_bps` is the sum of the encoder's target rates.
    FramesEncoded { frames: u64, targets_bps: u64 },
    /// A packet with this many IP bytes was sent.
    Sent(u32),
    /// A packet arrived; `queueing` is its one-way delay above that of an empty path of infinite rate.
    Arrived { bytes: u32, queueing: Duration },
    /// The last packet of a frame arrived, `latency` after the frame was encoded.
    FrameReceived { latency: Duration, is_late: bool },
    /// The receiver sent a report.
    ReportSent,
    /// The sender received a report; `target_bps` is the encoder's target rate after it.
    ReportReceived { stats: ReportStats, target_bps: f64 },
}

/// Contents of a report.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReportStats {
    pub arrived: u32,
    pub lost: u32,
    pub marked: u32,
    /// Sum of the queueing delays of the packets that arrived.
    pub queueing: Duration,
    /// Counts at the receiver since its previous report.
    pub interval: IntervalCounts,
}

/// Counts at a media receiver in an interval.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IntervalCounts {
    /// IP bytes.
    pub bytes: u64,
    /// Frames completed too late.
    pub late: u32,
}

/// Sums over the media flows of a group in one interval of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct MediaCounts {
    frames: u64,
    targets_bps: u64,
    packets: u64,
    sent_bytes: u64,
    arrived_bytes: u64,
    queueing: Histogram,
    latency: Histogram,
    late: u64,
    reports: u64,
    reports_arrived: u64,
}

impl MediaCounts {
    pub fn record(&mut self, event: &MediaEvent) {
        match *event {
            MediaEvent::FramesEncoded { frames, targets_bps } => {
                self.frames += frames;
                self.targets_bps += targets_bps;
            }
            MediaEvent::Sent(bytes) => {
                self.packets += 1;
                self.sent_bytes += u64::from(bytes);
            }
            MediaEvent::Arrived { bytes, queueing } => {
                self.arrived_bytes += u64::from(bytes);
                self.queueing.record(queueing);
            }
            MediaEvent::FrameReceived { latency, is_late } => {
                self.latency.record(latency);
                self.late += u64::from(is_late);
            }
            MediaEvent::ReportSent => self.reports += 1,
            MediaEvent::ReportReceived { .. } => self.reports_arrived += 1,
        }
    }
}

impl Counters for MediaCounts {
    fn add(&mut self, other: &Self) {
        self.queueing.merge(&other.queueing);
        self.latency.merge(&other.latency);
        for (sum, more) in [
            (&mut self.frames, other.frames),
            (&mut self.targets_bps, other.targets_bps),
            (&mut self.packets, other.packets),
            (&mut self.sent_bytes, other.sent_bytes),
            (&mut self.arrived_bytes, other.arrived_bytes),
            (&mut self.late, other.late),
            (&mut self.reports, other.reports),
            (&mut self.reports_arrived, other.reports_arrived),
        ] {
            *sum += more;
        }
    }

    fn pack(&mut self) {
        self.queueing.pack();
        self.latency.pack();
    }
}

/// Statistics of the media flows of a group, inside the statistics window.
#[derive(Clone, Debug, Serialize)]
pub struct MediaSummary {
    /// The encoder's target rate, averaged over frames; `None` without frames.
    pub target_bps: Option<f64>,
    /// Bits of IP packets sent per second, by all flows together.
    pub sent_bps: f64,
    /// Bits of IP packets received per second.
    pub received_bps: f64,
    /// One-way delays less the path's propagation delay at the start of the run.
    pub queueing_ms: Quantiles,
    /// Frames encoded.
    pub frames: u64,
    /// Frames whose last packet arrived.
    pub frames_whole: u64,
    /// Complete frames that took longer than `late`.
    pub frames_late: u64,
    /// Times from the encoding of a frame to the arrival of its last packet.
    pub frame_ms: Quantiles,
    /// Reports that receivers sent.
    pub reports: u64,
    /// Reports that senders received.
    pub reports_arrived: u64,
}

impl MediaSummary {
    pub(crate) fn of(counts: &MediaCounts, window_s: f64) -> Self {
        let rate = |bytes: u64| bytes as f64 * 8.0 / window_s;
        Self {
            target_bps: (counts.frames > 0).then(|| counts.targets_bps as f64 / counts.frames as f64),
            sent_bps: rate(counts.sent_bytes),
            received_bps: rate(counts.arrived_bytes),
            queueing_ms: Quantiles::of(&counts.queueing),
            frames: counts.frames,
            frames_whole: counts.latency.total(),
            frames_late: counts.late,
            frame_ms: Quantiles::of(&counts.latency),
            reports: counts.reports,
            reports_arrived: counts.reports_arrived,
        }
    }
}

recorder! {
    /// A row for each report that a media sender received.
    MediaRows("media") {
        time_ns: u64 => U64,
        group: u32 => U32,
        flow: u32 => U32,
        target_bps: f64 => F64,
        queueing_ns: u64 => U64,
        arrived: u32 => U32,
        lost: u32 => U32,
        marked: u32 => U32,
        bytes: u64 => U64,
        frames_late: u32 => U32,
    }
}

impl MediaRows {
    pub fn record_report(&mut self, now: Instant, (flow, group): (u32, u32), heard: &ReportStats, target_bps: f64) {
        let ReportStats { arrived, lost, marked, queueing, interval: IntervalCounts { bytes, late } } = *heard;
        let mean = queueing / i64::from(arrived.max(1));
        let mean_ns = mean.as_nanos().max(0) as u64;
        self.push(now.as_nanos(), group, flow, target_bps, mean_ns, arrived, lost, marked, bytes, late);
    }
}
