//! What flows of media have done and met with.

use crate::histogram::Histogram;
use crate::quantiles::Quantiles;
use crate::table::recorder;
use crate::window::Counters;
use serde::Serialize;
use sojourn_aqm::{Duration, Instant};

/// What an end of a flow of media tells.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MediaEvent {
    /// Frames were made; the sum of the rates that the encoder was told.
    FramesEncoded { frames: u64, targets_bps: u64 },
    /// A packet was sent, of so many bytes of IP.
    Sent(u32),
    /// A packet arrived, so long after it was sent and would have been there on an empty path of infinite rate.
    Arrived { bytes: u32, queueing: Duration },
    /// The last packet of a frame arrived so long after the frame was made.
    FrameReceived { latency: Duration, is_late: bool },
    /// A report was sent.
    ReportSent,
    /// A report arrived; the rate that the encoder is told after it.
    ReportReceived { heard: ReportStats, target_bps: f64 },
}

/// What a report told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReportStats {
    pub arrived: u32,
    pub lost: u32,
    pub marked: u32,
    /// Sum of the queueing delays of what arrived.
    pub queueing: Duration,
    /// What came to the receiver since it made the report before.
    pub since: IntervalCounts,
}

/// What came to a receiver of media in a time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IntervalCounts {
    /// IP bytes.
    pub bytes: u64,
    /// Frames that came whole too late.
    pub late: u32,
}

/// Sums over the flows of media of a group in a part of the run.
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
    pub fn record(&mut self, news: &MediaEvent) {
        match *news {
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

/// The flows of media of a group in numbers, inside the statistics window.
#[derive(Clone, Debug, Serialize)]
pub struct MediaSummary {
    /// Rate that the encoder was told, the mean over the frames; `None` where there was none.
    pub target_bps: Option<f64>,
    /// Bits of IP packets sent, per second, of all flows together.
    pub sent_bps: f64,
    /// Bits of IP packets that arrived.
    pub received_bps: f64,
    /// One-way delays less the propagation delay of the path at the start of the run.
    pub queueing_ms: Quantiles,
    /// Frames made.
    pub frames: u64,
    /// Frames whose last packet arrived.
    pub frames_whole: u64,
    /// Those of them that took longer than `late`.
    pub frames_late: u64,
    /// Times from the making of a frame to the arrival of its last packet.
    pub frame_ms: Quantiles,
    /// Reports that receivers sent.
    pub reports: u64,
    /// Reports that arrived.
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
    /// A row for each report that a sender of media has got.
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
        let ReportStats { arrived, lost, marked, queueing, since: IntervalCounts { bytes, late } } = *heard;
        let mean = queueing / i64::from(arrived.max(1));
        let mean_ns = mean.as_nanos().max(0) as u64;
        self.push(now.as_nanos(), group, flow, target_bps, mean_ns, arrived, lost, marked, bytes, late);
    }
}
