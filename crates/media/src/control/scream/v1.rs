//! SCReAM of RFC 8298: a window that follows the queueing delay like LEDBAT's, with a target that rises when competing
//! flows fill the queue, and a target rate that follows losses and the pacer queue.
//!
//! Differs: if the RFC is silent, Ericsson's implementation decides (`ScreamV1Tx.cpp`, before it was removed): the
//! fraction of round trips with losses is smoothed by 0.01, and `target_bitrate_last_max` is set at losses and marks.

use super::{MSS, PathStats, newly_acked};
use crate::control::{Control, Feedback, NewFrame, Rates, SentPacket};
use crate::frames::Source;
use crate::report::{Format, ReportConfig};
use sojourn_aqm::{Duration, Instant};
use std::collections::VecDeque;

/// SCReAM of RFC 8298; delays in seconds, rates in bit/s.
#[derive(Clone, Debug)]
pub(in crate::control) struct Scream1 {
    source: Source,
    path: PathStats,
    qdelay_target: f64,
    trend: QdelayTrend,
    /// Queueing delays divided by `QDELAY_TARGET_LO`, the newest last.
    qdelay_norm_hist: VecDeque<f64>,
    in_fast_increase: bool,
    /// Since when the trend has been low.
    low_since: Option<Instant>,
    cwnd: f64,
    bytes_newly_acked: f64,
    in_flight: MaxBytesInFlight,
    loss_event_rate: f64,
    lost_in_round: bool,
    round_began: Instant,
    last_event: Option<Instant>,
    next_sample: Instant,
    rates: RateEstimates,
    next_rates: Instant,
    target_bitrate: f64,
    target_bitrate_last_max: f64,
}

impl Scream1 {
    pub fn new() -> Self {
        Self {
            source: Source::default(),
            path: PathStats::default(),
            qdelay_target: QDELAY_TARGET_LO,
            trend: QdelayTrend::default(),
            qdelay_norm_hist: VecDeque::from([0.0; NORM_SAMPLES]),
            in_fast_increase: true,
            low_since: None,
            cwnd: MIN_CWND,
            bytes_newly_acked: 0.0,
            in_flight: MaxBytesInFlight::default(),
            loss_event_rate: 0.0,
            lost_in_round: false,
            round_began: Instant::ZERO,
            last_event: None,
            next_sample: Instant::NEVER,
            rates: RateEstimates::default(),
            next_rates: Instant::NEVER,
            target_bitrate: 0.0,
            target_bitrate_last_max: 1.0,
        }
    }

    /// Section 4.1.2.1 and 4.1.2.2, "on congestion event", and section 4.1.3, "on loss" and "on ecn_mark".
    fn on_event(&mut self, is_loss: bool) {
        self.in_fast_increase = false;
        self.cwnd = (self.cwnd * if is_loss { BETA_LOSS } else { BETA_ECN }).max(MIN_CWND);
        self.target_bitrate_last_max = self.target_bitrate;
        let beta = if is_loss { BETA_R } else { BETA_ECN };
        self.target_bitrate = (beta * self.target_bitrate).max(self.source.min_bps);
    }

    fn update_cwnd(&mut self, bytes_in_flight: f64) {
        let acked = std::mem::take(&mut self.bytes_newly_acked);
        if self.in_fast_increase {
            if self.trend.value < QDELAY_TREND_TH {
                if bytes_in_flight * 1.5 + acked > self.cwnd {
                    self.cwnd += acked;
                }
                return;
            }
            self.in_fast_increase = false;
        }
        let off_target = (self.qdelay_target - self.path.qdelay) / self.qdelay_target;
        let is_used = bytes_in_flight * 1.25 + acked > self.cwnd;
        if off_target <= 0.0 || is_used {
            self.cwnd += GAIN * off_target * acked * MSS / self.cwnd;
        }
        self.cwnd = self.cwnd.min(self.in_flight.max() * MAX_BYTES_IN_FLIGHT_HEAD_ROOM).max(MIN_CWND);
    }

    /// Section 4.1.2.3: compensation for competing flows.
    fn adjust_qdelay_target(&mut self) {
        self.qdelay_norm_hist.pop_front();
        self.qdelay_norm_hist.push_back(self.path.qdelay / QDELAY_TARGET_LO);
        let all = mean(self.qdelay_norm_hist.iter());
        let variance = self.qdelay_norm_hist.iter().map(|x| (x - all) * (x - all)).sum::<f64>() / NORM_SAMPLES as f64;
        let recent = mean(self.qdelay_norm_hist.iter().skip(NORM_SAMPLES - NORM_RECENT));
        let wanted = (recent + variance.sqrt()) * QDELAY_TARGET_LO;
        let target = if self.loss_event_rate > 0.002 {
            1.5 * wanted
        } else if variance < 0.2 {
            wanted
        } else if wanted < QDELAY_TARGET_LO {
            (self.qdelay_target * 0.5).max(wanted)
        } else {
            self.qdelay_target * 0.9
        };
        self.qdelay_target = target.clamp(QDELAY_TARGET_LO, QDELAY_TARGET_HI);
    }

    fn count_rounds(&mut self, now: Instant, s_rtt: f64) {
        if (now - self.round_began).as_secs_f64() > s_rtt {
            let lost = f64::from(std::mem::take(&mut self.lost_in_round));
            self.loss_event_rate += LOSS_EVENT_GAIN * (lost - self.loss_event_rate);
            self.round_began = now;
        }
    }

    /// Section 4.1.2.7.
    fn check_to_resume_fast_increase(&mut self, now: Instant) {
        if self.trend.value >= QDELAY_TREND_LO {
            self.low_since = None;
        } else if now - *self.low_since.get_or_insert(now) >= T_RESUME_FAST_INCREASE {
            self.in_fast_increase = true;
        }
    }

    /// Section 4.1.3.
    fn adjust_rate(&mut self, waiting: u64) {
        self.rates.close();
        let interval = RATE_ADJUST_INTERVAL.as_secs_f64();
        let current_rate = self.rates.transmit.max(self.rates.ack);
        let ramp_up = RAMP_UP_SPEED.min(self.target_bitrate / 2.0) * interval;
        let above = 4.0 * (self.target_bitrate - self.target_bitrate_last_max) / self.target_bitrate_last_max;
        let scale = (above * above).clamp(0.2, 1.0);
        if self.in_fast_increase {
            self.target_bitrate += ramp_up * scale;
        } else {
            let queue = waiting as f64 * 8.0;
            let delta = current_rate * (1.0 - PRE_CONGESTION_GUARD * self.trend.value) - TX_QUEUE_SIZE_FACTOR * queue;
            self.target_bitrate += if delta > 0.0 { (delta * scale).min(ramp_up) } else { delta };
            if queue / current_rate > RTP_QDELAY_TH {
                self.target_bitrate *= TARGET_RATE_SCALE_RTP_QDELAY;
            }
        }
        let of_media = self.rates.media.max(self.rates.media_median());
        let limit = current_rate.max(of_media) * (2.0 - self.trend.memory);
        // Not clamp(), which panics if the minimum is above the maximum.
        self.target_bitrate = self.target_bitrate.min(limit).max(self.source.min_bps).min(self.source.max_bps);
    }
}

impl Control for Scream1 {
    fn report_config(&self) -> ReportConfig {
        ReportConfig::timed(Format::Rfc8888, feedback_interval)
    }

    fn begin(&mut self, now: Instant, source: &Source) {
        (self.source, self.target_bitrate) = (*source, source.start_bps);
        self.round_began = now;
        (self.next_sample, self.next_rates) = (now + SAMPLE_INTERVAL, now + RATE_ADJUST_INTERVAL);
    }

    fn on_frame(&mut self, frame: &NewFrame) {
        self.rates.made += frame.bytes;
    }

    fn on_sent(&mut self, sent: &SentPacket, in_flight: u64) {
        self.rates.sent += u64::from(sent.bytes);
        self.in_flight.note(sent.at, in_flight);
    }

    fn on_feedback(&mut self, results: &Feedback) {
        self.path.update(results);
        let Some(s_rtt) = self.path.s_rtt else { return };
        let now = results.now;
        let is_loss = results.packets.iter().any(|packet| packet.arrived.is_none());
        let is_marked = results.packets.iter().any(|packet| packet.is_marked());
        let acked = newly_acked(results);
        self.rates.acked += acked as u64;
        self.bytes_newly_acked += acked;
        self.lost_in_round |= is_loss;
        self.count_rounds(now, s_rtt);
        let may_react = self.last_event.is_none_or(|last| (now - last).as_secs_f64() >= s_rtt);
        if (is_loss || is_marked) && may_react {
            self.last_event = Some(now);
            self.on_event(is_loss);
            self.adjust_qdelay_target();
        } else {
            self.update_cwnd(results.in_flight as f64);
            self.adjust_qdelay_target();
            self.check_to_resume_fast_increase(now);
        }
    }

    fn deadline(&self) -> Instant {
        self.next_sample.min(self.next_rates)
    }

    fn on_timer(&mut self, now: Instant, waiting: u64) {
        if now >= self.next_sample {
            self.trend.sample(self.path.qdelay / self.qdelay_target);
            self.next_sample = now + SAMPLE_INTERVAL;
        }
        if now >= self.next_rates {
            self.adjust_rate(waiting);
            self.next_rates = now + RATE_ADJUST_INTERVAL;
        }
    }

    /// The pacer: section 4.1.2.6.
    fn rates(&self, _: u64) -> Rates {
        // Before the first round-trip time: the start rate.
        let pacing_bps = self.path.s_rtt.map_or(self.target_bitrate, |s_rtt| self.cwnd * 8.0 / s_rtt);
        Rates { target_bps: self.target_bitrate, pacing_bps: pacing_bps.max(RATE_PACE_MIN) }
    }

    /// Section 4.1.2.5.
    fn window_bytes(&self) -> Option<u64> {
        let slack = if self.path.qdelay <= self.qdelay_target { MSS } else { 0.0 };
        Some((self.cwnd + slack) as u64)
    }
}

/// Trend of the queueing delay (section 4.1.2, `update_variables`).
#[derive(Clone, Debug)]
struct QdelayTrend {
    fraction_avg: f64,
    fraction_hist: VecDeque<f64>,
    value: f64,
    /// Slowly decaying maximum of the trend.
    memory: f64,
}

impl Default for QdelayTrend {
    fn default() -> Self {
        Self { fraction_avg: 0.0, fraction_hist: VecDeque::from([0.0; TREND_SAMPLES]), value: 0.0, memory: 0.0 }
    }
}

impl QdelayTrend {
    /// Adds a sample of the queueing delay divided by its target, every 50 ms.
    fn sample(&mut self, fraction: f64) {
        self.fraction_avg = (1.0 - QDELAY_WEIGHT) * self.fraction_avg + QDELAY_WEIGHT * fraction;
        self.fraction_hist.pop_front();
        self.fraction_hist.push_back(fraction);
        let average = mean(self.fraction_hist.iter());
        let lagged = |lag: usize| -> f64 {
            let pairs = self.fraction_hist.iter().zip(self.fraction_hist.iter().skip(lag));
            pairs.map(|(one, other)| (one - average) * (other - average)).sum()
        };
        let power = lagged(0);
        let a = if power > 0.0 { lagged(1) / power } else { 0.0 };
        self.value = (a * self.fraction_avg).clamp(0.0, 1.0);
        self.memory = (0.99 * self.memory).max(self.value);
    }
}

/// Maximum bytes in flight within five seconds.
#[derive(Clone, Debug, Default)]
struct MaxBytesInFlight(VecDeque<(Instant, u64)>);

impl MaxBytesInFlight {
    fn note(&mut self, now: Instant, bytes: u64) {
        while self.0.back().is_some_and(|&(_, known)| known <= bytes) {
            self.0.pop_back();
        }
        self.0.push_back((now, bytes));
        while self.0.front().is_some_and(|&(at, _)| now - at > IN_FLIGHT_WINDOW) {
            self.0.pop_front();
        }
    }

    fn max(&self) -> f64 {
        self.0.front().map_or(0.0, |&(_, bytes)| bytes as f64)
    }
}

/// Rates over intervals of `RATE_ADJUST_INTERVAL`, in bit/s, and the bytes of the current interval.
#[derive(Clone, Debug, Default)]
struct RateEstimates {
    sent: u64,
    acked: u64,
    made: u64,
    transmit: f64,
    ack: f64,
    media: f64,
    /// Media rates of the last ten seconds.
    media_hist: VecDeque<f64>,
}

impl RateEstimates {
    fn close(&mut self) {
        let bps = |bytes: &mut u64| std::mem::take(bytes) as f64 * 8.0 / RATE_ADJUST_INTERVAL.as_secs_f64();
        (self.transmit, self.ack, self.media) = (bps(&mut self.sent), bps(&mut self.acked), bps(&mut self.made));
        self.media_hist.push_back(self.media);
        if self.media_hist.len() > MEDIA_SAMPLES {
            self.media_hist.pop_front();
        }
    }

    fn media_median(&self) -> f64 {
        let mut sorted: Vec<f64> = self.media_hist.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
    }
}

/// Section 4.2.2.
fn feedback_interval(rate_bps: Option<f64>) -> Duration {
    let per_second = (rate_bps.unwrap_or(0.0) / 10_000.0).clamp(2.5, 50.0);
    Duration::from_secs_f64(1.0 / per_second)
}

fn mean<'a>(values: impl ExactSizeIterator<Item = &'a f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

// Names of RFC 8298, section 4.1.1.1; bit/s, bytes, seconds.
const QDELAY_TARGET_LO: f64 = 0.1;
const QDELAY_TARGET_HI: f64 = 0.4;
const QDELAY_WEIGHT: f64 = 0.1;
const QDELAY_TREND_TH: f64 = 0.2;
const QDELAY_TREND_LO: f64 = 0.2;
const MIN_CWND: f64 = 3000.0;
const MAX_BYTES_IN_FLIGHT_HEAD_ROOM: f64 = 1.1;
const GAIN: f64 = 1.0;
const BETA_LOSS: f64 = 0.8;
const BETA_ECN: f64 = 0.9;
const BETA_R: f64 = 0.9;
const RATE_ADJUST_INTERVAL: Duration = Duration::from_millis(200);
const RAMP_UP_SPEED: f64 = 200e3;
const PRE_CONGESTION_GUARD: f64 = 0.1;
const TX_QUEUE_SIZE_FACTOR: f64 = 1.0;
const RTP_QDELAY_TH: f64 = 0.02;
const TARGET_RATE_SCALE_RTP_QDELAY: f64 = 0.95;
const T_RESUME_FAST_INCREASE: Duration = Duration::from_secs(5);
const RATE_PACE_MIN: f64 = 50e3;
/// From the text of sections 4.1.2 to 4.1.3.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(50);
const TREND_SAMPLES: usize = 20;
const NORM_SAMPLES: usize = 200;
const NORM_RECENT: usize = 50;
const IN_FLIGHT_WINDOW: Duration = Duration::from_secs(5);
const MEDIA_SAMPLES: usize = 51;
/// From `ScreamV1Tx.cpp`.
const LOSS_EVENT_GAIN: f64 = 0.01;
