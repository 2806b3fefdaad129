//! Measurements and observation of a step, from information that a real sender has.

use super::shared_state::{AckSnapshot, RttSums, SharedState};
use sojourn_aqm::{Duration, Instant};

sojourn_aqm::entries! {
    /// Packets sent, over packets delivered; 1 if none was delivered.
    SendRatio = "send_ratio",
    /// Mean round-trip time, or the last one if none was measured, over the minimum so far; 1 before the first sample.
    LatencyRatio = "latency_ratio",
    /// Slope of the round-trip times, in seconds per second.
    LatencyGradient = "latency_gradient",
    /// Packets declared lost, over lost and delivered packets.
    Loss = "loss",
    /// Delivery rate, over the maximum of all steps.
    AckRate = "ack_rate",
    /// Smoothed round-trip time, over 100 ms.
    Srtt = "srtt",
    /// Packets in flight at the last acknowledgment, over the window.
    InFlight = "inflight",
    /// Packets delivered that carried a congestion mark, over all that were delivered.
    Ce = "ce",
    /// Pacing rate over the delivery rate, at most 100; zero without pacing.
    Pacing = "pacing",
    /// Seconds since the last loss; at most 10, and 10 before the first loss.
    SinceLoss = "since_loss",
    /// Whether the application, not the network, limits the rate.
    AppLimited = "app_limited",
    /// The last action.
    Action = "action",
}

impl Feature {
    /// Default observation.
    pub const DEFAULT: [Self; 4] = [Self::SendRatio, Self::LatencyRatio, Self::LatencyGradient, Self::Loss];
}

/// Measurements of a connection during a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// Length of the step in seconds.
    pub span_s: f64,
    /// Data packets sent.
    pub sent: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Packets delivered with CE.
    pub marked: u64,
    /// Packets declared lost.
    pub lost: u64,
    /// Mean RTT in seconds; the previous step's if none was measured, 0 before the first.
    pub rtt_s: f64,
    /// Slope of the RTT samples in seconds per second.
    pub gradient: f64,
    /// Minimum RTT so far in seconds; 0 before the first sample.
    pub min_rtt_s: f64,
    /// Smoothed RTT in seconds.
    pub srtt_s: f64,
    /// Delivery rate in bit/s of payload.
    pub rate_bps: f64,
    /// Maximum `rate_bps` of all steps.
    pub max_bps: f64,
    /// Pacing rate in bit/s; 0 without pacing.
    pub pacing_bps: f64,
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Packets in flight at the last ACK.
    pub in_flight: u32,
    /// Seconds since a packet was last declared lost; infinite before the first.
    pub since_loss_s: f64,
    /// Whether the application limits the rate.
    pub is_app_limited: bool,
}

/// Samples the shared state at the end of each step, and builds the observation.
#[derive(Clone, Debug)]
pub(super) struct Observer {
    entries: Vec<Feature>,
    at: Instant,
    previous: AckSnapshot,
    sent: u64,
    pub interval: Interval,
    pub action: f64,
    /// Entries of the last steps, oldest first.
    frames: Vec<f32>,
}

impl Observer {
    /// An observer of `stack` steps, without samples.
    pub fn new(entries: &[Feature], stack: usize) -> Self {
        Self {
            entries: entries.to_vec(),
            at: Instant::ZERO,
            previous: AckSnapshot::default(),
            sent: 0,
            interval: Interval::default(),
            action: 0.0,
            frames: vec![0.0; entries.len() * stack],
        }
    }

    /// Resets for a new episode.
    pub fn clear(&mut self) {
        *self = Self::new(&self.entries, self.frames.len() / self.entries.len());
    }

    /// Records the step from the last sample to `now`; `sent` counts the data packets since the start of the run.
    pub fn sample(&mut self, now: Instant, sent: u64, shared: &SharedState) {
        let mut state = shared.lock();
        let (ack, previous, rtts) = (state.last_ack, self.previous, state.rtts);
        // The first step starts when the connection opens.
        let from = if previous.is_open { self.at } else { self.at.max(rtts.since) };
        let span_s = (now - from).as_secs_f64().max(0.0);
        let delivered = ack.delivered - if previous.is_open { previous.delivered } else { state.first_delivered };
        let rate_bps = over(8.0 * delivered as f64 * f64::from(ack.mss), span_s);
        state.max_bps = state.max_bps.max(rate_bps);
        self.interval = Interval {
            span_s,
            sent: sent - self.sent,
            delivered,
            marked: ack.delivered_ce - previous.delivered_ce,
            lost: ack.lost - previous.lost,
            rtt_s: rtts.mean_s().unwrap_or(self.interval.rtt_s),
            gradient: rtts.gradient(),
            min_rtt_s: state.min_rtt.unwrap_or(Duration::ZERO).as_secs_f64(),
            srtt_s: ack.srtt.as_secs_f64(),
            rate_bps,
            max_bps: state.max_bps,
            pacing_bps: ack.pacing_bps.unwrap_or(0) as f64,
            cwnd: ack.cwnd,
            in_flight: ack.in_flight,
            since_loss_s: ack.last_loss.map_or(f64::INFINITY, |at| (now - at).as_secs_f64()),
            is_app_limited: ack.is_app_limited,
        };
        state.rtts = RttSums { since: now, ..RttSums::default() };
        drop(state);
        (self.at, self.sent, self.previous) = (now, sent, ack);
        self.push_frame();
    }

    /// Writes the observation of the last steps.
    pub fn write(&self, into: &mut [f32]) {
        into.copy_from_slice(&self.frames);
    }

    fn push_frame(&mut self) {
        let width = self.entries.len();
        self.frames.copy_within(width.., 0);
        let first = self.frames.len() - width;
        for i in 0..width {
            self.frames[first + i] = if self.previous.is_open { self.value(self.entries[i]) as f32 } else { 0.0 };
        }
    }

    fn value(&self, entry: Feature) -> f64 {
        let step = &self.interval;
        let or_one = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 1.0 };
        match entry {
            Feature::SendRatio => or_one(step.sent as f64, step.delivered as f64),
            Feature::LatencyRatio => or_one(step.rtt_s, step.min_rtt_s),
            Feature::LatencyGradient => step.gradient,
            Feature::Loss => step.loss(),
            Feature::AckRate => over(step.rate_bps, step.max_bps),
            Feature::Srtt => step.srtt_s / REFERENCE_S,
            Feature::InFlight => over(step.in_flight.into(), step.cwnd.into()),
            Feature::Ce => over(step.marked as f64, step.delivered as f64),
            Feature::Pacing if step.pacing_bps > 0.0 => or_most(step.pacing_bps, step.rate_bps, MAX_PACING),
            Feature::Pacing => 0.0,
            Feature::SinceLoss => step.since_loss_s.min(MAX_SINCE_S),
            Feature::AppLimited => f64::from(u8::from(step.is_app_limited)),
            Feature::Action => self.action,
        }
    }
}

impl Interval {
    /// Lost over lost and delivered packets; 0 without any.
    pub fn loss(&self) -> f64 {
        over(self.lost as f64, (self.lost + self.delivered) as f64)
    }
}

/// Smoothed RTT, in seconds, that is 1.0 in an observation.
const REFERENCE_S: f64 = 0.1;
const MAX_PACING: f64 = 100.0;
const MAX_SINCE_S: f64 = 10.0;

fn over(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn or_most(part: f64, whole: f64, most: f64) -> f64 {
    if whole > 0.0 { (part / whole).min(most) } else { most }
}
