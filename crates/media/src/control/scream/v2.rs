//! SCReAM version 2 (draft-ietf-ccwg-rfc8298bis-screamv2): a reference window that is reduced by losses, marks and
//! queueing delay and grows with acknowledged bytes, and a target rate of window / round-trip time.
//!
//! With ECT(1) it is scalable: marks reduce the window in proportion to their fraction (L4S). With ECT(0) a mark
//! reduces it by a fifth.
//!
//! Differs: optional parts of the draft are left out: less growth with jitter (`REDUCE_JITTER`), non-congestive losses,
//! policers, undershoot, competing flows, clock drift. The window does not limit before the first report, and is then
//! at least as large as the start rate needs, so that this rate is kept.

use super::{MSS, PathStats, newly_acked};
use crate::control::{Control, Feedback, NewFrame, Rates, SentPacket};
use crate::frames::Source;
use crate::report::{Format, ReportConfig};
use sojourn_aqm::{Duration, Ecn, Instant};

/// SCReAM version 2; delays in seconds, rates in bit/s, windows in bytes.
#[derive(Clone, Debug)]
pub(in crate::control) struct Scream2 {
    source: Source,
    is_l4s: bool,
    path: PathStats,
    alpha: L4sAlpha,
    qdelay_avg: f64,
    qdelay_avg_updated: Instant,
    ref_wnd: f64,
    /// Reference window at the last congestion.
    ref_wnd_i: f64,
    ref_wnd_i_update_allowed: bool,
    /// Since the last reaction.
    loss_detected: bool,
    data_units_marked: bool,
    // `None`: long before the flow. The draft's 0, with a clock that starts with the flow, would forbid fast growth for
    // 100 round trips.
    last_congestion_detected: Option<Instant>,
    last_reaction: Option<Instant>,
    max_bytes_in_flight: f64,
    max_bytes_in_flight_prev: f64,
    round_began: Instant,
    target_bitrate: f64,
    rate_adjust_factor: f64,
    frame_size_dev: f64,
}

/// Reason of a window reduction.
#[derive(Clone, Copy, Debug, PartialEq)]
enum CongestionEvent {
    Loss,
    Marks,
    /// Queueing delay, with the equivalent fraction of marks.
    Delay(f64),
}

impl Scream2 {
    pub fn new() -> Self {
        Self {
            source: Source::default(),
            is_l4s: false,
            path: PathStats::default(),
            alpha: L4sAlpha::default(),
            qdelay_avg: 0.0,
            qdelay_avg_updated: Instant::ZERO,
            ref_wnd: MIN_REF_WND,
            ref_wnd_i: 1.0,
            ref_wnd_i_update_allowed: true,
            loss_detected: false,
            data_units_marked: false,
            last_congestion_detected: None,
            last_reaction: None,
            max_bytes_in_flight: 0.0,
            max_bytes_in_flight_prev: 0.0,
            round_began: Instant::ZERO,
            target_bitrate: 0.0,
            rate_adjust_factor: 0.0,
            frame_size_dev: 0.0,
        }
    }

    /// "Detecting Increased Queue Delay": slow attack, fast decay.
    fn update_qdelay_avg(&mut self, now: Instant, s_rtt: f64) {
        if (now - self.qdelay_avg_updated).as_secs_f64() >= s_rtt.min(VIRTUAL_RTT) {
            let averaged = QDELAY_AVG_G * self.path.qdelay + (1.0 - QDELAY_AVG_G) * self.qdelay_avg;
            self.qdelay_avg = averaged.min(self.path.qdelay);
            self.qdelay_avg_updated = now;
        }
    }

    /// Reduces changes of the window near its value at the last congestion: the draft's `scl_t`.
    fn scale(&self) -> f64 {
        let distance = 8.0 * (self.ref_wnd - self.ref_wnd_i) / self.ref_wnd_i;
        (distance * distance).clamp(0.1, 1.0)
    }

    /// "Reference Window Reduction".
    fn reduce(&mut self, now: Instant, s_rtt: f64, scale: f64) {
        if self.loss_detected || self.data_units_marked {
            self.last_congestion_detected = Some(now);
        }
        let since = self.last_reaction.map_or(f64::INFINITY, |last| (now - last).as_secs_f64());
        let Some(congestion) = self.congestion().filter(|_| since >= s_rtt.min(VIRTUAL_RTT)) else { return };
        if std::mem::take(&mut self.ref_wnd_i_update_allowed) {
            self.ref_wnd_i = self.ref_wnd;
        }
        let per_round = (s_rtt / VIRTUAL_RTT).max(1.0);
        self.ref_wnd *= match congestion {
            CongestionEvent::Loss => BETA_LOSS,
            CongestionEvent::Marks if !self.is_l4s => BETA_ECN,
            CongestionEvent::Marks => {
                let mut backoff = self.alpha.value / 2.0 / per_round;
                if self.path.qdelay < QDELAY_TARGET * 0.25 {
                    backoff *= scale.max(0.25);
                }
                if since > 100.0 * s_rtt.max(VIRTUAL_RTT) {
                    self.ref_wnd = self.ref_wnd.min(self.max_bytes_in_flight_prev);
                }
                1.0 - backoff
            }
            CongestionEvent::Delay(share) => 1.0 - share / 2.0 / per_round,
        };
        self.ref_wnd = self.ref_wnd.max(MIN_REF_WND);
        (self.loss_detected, self.data_units_marked, self.last_reaction) = (false, false, Some(now));
    }

    fn congestion(&self) -> Option<CongestionEvent> {
        let above = (self.qdelay_avg - QDELAY_TARGET / 2.0) / (QDELAY_TARGET / 2.0);
        match (self.loss_detected, self.data_units_marked) {
            (true, _) => Some(CongestionEvent::Loss),
            (_, true) => Some(CongestionEvent::Marks),
            _ => (above > 0.0).then(|| CongestionEvent::Delay(above.min(1.0))),
        }
    }

    /// "Reference Window Increase".
    fn increase(&mut self, now: Instant, s_rtt: f64, scale: f64, acked_unmarked: f64) {
        let cautious = POST_CONGESTION_DELAY_RTT * s_rtt.max(VIRTUAL_RTT);
        let since = self.last_congestion_detected.map_or(f64::INFINITY, |last| (now - last).as_secs_f64());
        let multiplicative = MUL_INCREASE_FACTOR * self.ref_wnd / MSS * (since / cautious).min(1.0) * scale;
        let increment = acked_unmarked * self.ref_wnd_ratio() * (s_rtt / VIRTUAL_RTT).min(1.0) * scale.max(0.25);
        let ref_wnd = self.ref_wnd + increment * (1.0 + multiplicative);
        let in_flight = self.max_bytes_in_flight.max(self.max_bytes_in_flight_prev);
        if ref_wnd <= MSS + in_flight * BYTES_IN_FLIGHT_HEAD_ROOM && self.target_bitrate < self.source.max_bps {
            self.ref_wnd_i_update_allowed |= ref_wnd > self.ref_wnd;
            self.ref_wnd = ref_wnd;
        }
    }

    fn ref_wnd_ratio(&self) -> f64 {
        (MSS / self.ref_wnd).min(1.0)
    }

    /// "Media Rate Control".
    fn update_target(&mut self, s_rtt: f64) {
        let small = 1.0 - (self.ref_wnd_ratio() - 0.1).clamp(0.0, 0.2);
        let headers = MSS / (MSS + PACKET_OVERHEAD);
        let slack = SLACK + self.rate_adjust_factor + self.frame_size_dev;
        let bps = small * headers / slack * 8.0 * self.ref_wnd / s_rtt;
        // Not clamp(), which panics if the minimum is above the maximum.
        self.target_bitrate = bps.max(self.source.min_bps).min(self.source.max_bps);
    }
}

impl Control for Scream2 {
    fn report_config(&self) -> ReportConfig {
        let timed = ReportConfig::timed(Format::Rfc8888, |_| MAX_FEEDBACK_INTERVAL);
        ReportConfig { early_after: Some(FEEDBACK_PACKETS), ..timed }
    }

    fn begin(&mut self, now: Instant, source: &Source) {
        (self.source, self.target_bitrate) = (*source, source.start_bps);
        (self.qdelay_avg_updated, self.alpha.updated, self.round_began) = (now, now, now);
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.is_l4s = ecn == Ecn::Ect1;
    }

    fn on_frame(&mut self, frame: &NewFrame) {
        let period = 1.0 / f64::from(self.source.fps);
        let error = (frame.waited.as_secs_f64() - period / 4.0) / period;
        self.rate_adjust_factor = (self.rate_adjust_factor + error * RATE_ADJUST_GAIN).clamp(0.0, 0.5);
        let nominal = self.target_bitrate * period / 8.0;
        let deviation = ((frame.bytes as f64 - nominal) / nominal).max(0.0);
        let dev = (1.0 - FRAME_SIZE_DEV_ALPHA) * self.frame_size_dev + FRAME_SIZE_DEV_ALPHA * deviation;
        self.frame_size_dev = dev.min(0.2);
    }

    fn on_sent(&mut self, _: &SentPacket, in_flight: u64) {
        self.max_bytes_in_flight = self.max_bytes_in_flight.max(in_flight as f64);
    }

    fn on_feedback(&mut self, results: &Feedback) {
        let is_first = self.path.s_rtt.is_none();
        self.path.update(results);
        let Some(s_rtt) = self.path.s_rtt else { return };
        let now = results.now;
        if is_first {
            self.ref_wnd = self.ref_wnd.max(SLACK * self.source.start_bps * s_rtt / 8.0);
        }
        let marked = results.packets.iter().filter(|packet| packet.is_marked());
        let acked_ce: f64 = marked.map(|packet| f64::from(packet.bytes)).sum();
        self.alpha.update(results, s_rtt);
        self.update_qdelay_avg(now, s_rtt);
        self.loss_detected |= results.packets.iter().any(|packet| packet.arrived.is_none());
        self.data_units_marked |= acked_ce > 0.0;
        let scale = self.scale();
        self.reduce(now, s_rtt, scale);
        self.increase(now, s_rtt, scale, newly_acked(results) - acked_ce);
        self.update_target(s_rtt);
        if (now - self.round_began).as_secs_f64() >= s_rtt {
            self.max_bytes_in_flight_prev = self.max_bytes_in_flight;
            (self.max_bytes_in_flight, self.round_began) = (results.in_flight as f64, now);
        }
    }

    /// The pacer: "Packet Pacing", relaxed near the maximum rate.
    fn rates(&self, _: u64) -> Rates {
        let nominal = self.target_bitrate / self.source.max_bps;
        let near = ((nominal - RELAXED_PACING_LIMIT_LOW) / (1.0 - RELAXED_PACING_LIMIT_LOW)).min(1.0);
        let scale = (1.0 - near).clamp(1.0 / MAX_RELAXED_PACING_FACTOR, 1.0);
        let pacing_bps = self.target_bitrate.max(RATE_PACE_MIN) * PACKET_PACING_HEADROOM / scale;
        Rates { target_bps: self.target_bitrate, pacing_bps }
    }

    /// "Send Window Calculation", without jitter.
    fn window_bytes(&self) -> Option<u64> {
        self.path.s_rtt.map(|_| (self.ref_wnd * REF_WND_OVERHEAD_MAX) as u64)
    }
}

/// Fraction of marked packets ("Receiving ECN-CE for L4S"): fast attack, slow decay.
#[derive(Clone, Debug)]
struct L4sAlpha {
    value: f64,
    delivered: usize,
    marked: usize,
    updated: Instant,
}

impl Default for L4sAlpha {
    fn default() -> Self {
        Self { value: 0.0, delivered: 0, marked: 0, updated: Instant::ZERO }
    }
}

impl L4sAlpha {
    fn update(&mut self, results: &Feedback, s_rtt: f64) {
        self.delivered += results.packets.iter().filter(|packet| packet.arrived.is_some()).count();
        self.marked += results.packets.iter().filter(|packet| packet.is_marked()).count();
        if (results.now - self.updated).as_secs_f64() >= s_rtt.min(ALPHA_INTERVAL) && self.delivered > 0 {
            let share = self.marked as f64 / self.delivered as f64;
            let up = L4S_AVG_G_UP * share + (1.0 - L4S_AVG_G_UP) * self.value;
            self.value = if share >= self.value { up } else { (1.0 - L4S_AVG_G_DOWN) * self.value };
            (self.delivered, self.marked, self.updated) = (0, 0, results.now);
        }
    }
}

// Names of the draft; bit/s, bytes, seconds. `QDELAY_TARGET` is `QDELAY_TARGET_LO`, which competing flows do not raise
// here.
const QDELAY_TARGET: f64 = 0.06;
const MIN_REF_WND: f64 = 3000.0;
const BYTES_IN_FLIGHT_HEAD_ROOM: f64 = 1.5;
const BETA_LOSS: f64 = 0.7;
const BETA_ECN: f64 = 0.8;
const POST_CONGESTION_DELAY_RTT: f64 = 100.0;
const MUL_INCREASE_FACTOR: f64 = 0.02;
const VIRTUAL_RTT: f64 = 0.025;
const L4S_AVG_G_UP: f64 = 1.0 / 8.0;
const L4S_AVG_G_DOWN: f64 = 1.0 / 128.0;
/// Maximum time between updates of the fraction of marks.
const ALPHA_INTERVAL: f64 = 0.01;
const QDELAY_AVG_G: f64 = 0.25;
const REF_WND_OVERHEAD_MAX: f64 = 3.0;
const RATE_PACE_MIN: f64 = 50e3;
const PACKET_PACING_HEADROOM: f64 = 1.5;
const MAX_RELAXED_PACING_FACTOR: f64 = 4.0;
const RELAXED_PACING_LIMIT_LOW: f64 = 0.8;
const PACKET_OVERHEAD: f64 = 20.0;
const RATE_ADJUST_GAIN: f64 = 1.0 / 16.0;
const FRAME_SIZE_DEV_ALPHA: f64 = 1.0 / 64.0;
/// Slack of the window above the rate: the draft's 1.2 in the target's denominator.
const SLACK: f64 = 1.2;
/// "Receiver Requirements on Feedback Intensity".
const FEEDBACK_PACKETS: usize = 16;
const MAX_FEEDBACK_INTERVAL: Duration = Duration::from_millis(40);
