//! What an agent sees of its connection: numbers of a step, from what a sender can know.

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
    /// What is observed where nothing is said.
    pub const DEFAULT: [Self; 4] = [Self::SendRatio, Self::LatencyRatio, Self::LatencyGradient, Self::Loss];
}

/// What a connection did in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// Its length in seconds.
    pub span_s: f64,
    /// Data packets sent.
    pub sent: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// … of which so many carried a congestion mark.
    pub marked: u64,
    /// Packets taken for lost.
    pub lost: u64,
    /// Mean round-trip time in seconds; the last one where none was measured, zero before.
    pub rtt_s: f64,
    /// Slope of the round-trip times, in seconds per second.
    pub gradient: f64,
    /// The smallest round-trip time so far in seconds; zero before the first.
    pub min_rtt_s: f64,
    /// Smoothed round-trip time in seconds.
    pub srtt_s: f64,
    /// Rate of delivery in payload bits per second.
    pub rate_bps: f64,
    /// The largest of these of any step.
    pub max_bps: f64,
    /// Pacing rate; zero where nothing is paced.
    pub pacing_bps: f64,
    /// Window in segments.
    pub cwnd: u32,
    /// Packets in flight at the last acknowledgment.
    pub in_flight: u32,
    /// Seconds since a packet was last taken for lost; infinite before there is one.
    pub since_loss_s: f64,
    /// Whether the application limits the rate.
    pub is_app_limited: bool,
}

/// Makes steps, and observations of them.
#[derive(Clone, Debug)]
pub(super) struct Observer {
    entries: Vec<Feature>,
    at: Instant,
    previous: AckSnapshot,
    sent: u64,
    pub interval: Interval,
    pub action: f64,
    /// The last steps, the oldest first.
    frames: Vec<f32>,
}

impl Observer {
    /// One that has seen nothing, of `stack` steps.
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

    /// Begins anew.
    pub fn clear(&mut self) {
        *self = Self::new(&self.entries, self.frames.len() / self.entries.len());
    }

    /// The step that ends now; it began at the last look. `sent`: data packets sent since the start of the run.
    pub fn sample(&mut self, now: Instant, sent: u64, board: &SharedState) {
        let mut state = board.lock();
        let (ack, previous, rtts) = (state.last_ack, self.previous, state.rtts);
        // Before the connection was open nothing was a step.
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

    /// The observation of the last steps.
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
    /// Packets taken for lost, over these and those delivered; zero without any.
    pub fn loss(&self) -> f64 {
        over(self.lost as f64, (self.lost + self.delivered) as f64)
    }
}

/// Seconds of smoothed round-trip time that are one in an observation.
const REFERENCE_S: f64 = 0.1;
const MAX_PACING: f64 = 100.0;
const MAX_SINCE_S: f64 = 10.0;

fn over(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn or_most(part: f64, whole: f64, most: f64) -> f64 {
    if whole > 0.0 { (part / whole).min(most) } else { most }
}
