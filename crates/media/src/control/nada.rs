//! NADA (RFC 8698): one congestion signal from delay, losses and marks, and a rate that follows it.
//!
//! In the RFC the receiver computes the signal; here the sender does, from the arrival times of each packet, as in the
//! authors' code for ns-3. [`Variant`] holds the other differences between the two.
//!
//! Differs: the round-trip time excludes the receiver's wait before its report, and is the minimum of the last 15, like
//! the delay. The sources of the constants are in docs/decisions/media.md.

use super::{Control, Feedback, Rates};
use crate::frames::Source;
use crate::report::{Format, ReportConfig};
use sojourn_aqm::{Duration, Instant};
use std::collections::VecDeque;

/// NADA; signals are in milliseconds.
#[derive(Clone, Debug)]
pub(super) struct Nada {
    variant: Variant,
    source: Source,
    r_ref: f64,
    x_curr: f64,
    x_prev: f64,
    t_last: Instant,
    /// Arrivals within `LOGWIN`.
    log: VecDeque<LogEntry>,
    d_base: Option<Duration>,
    /// The last `TAPS` round-trip times.
    rtts: VecDeque<Duration>,
    /// Packets lost since the last arrival.
    lost: u32,
    losses: LossIntervals,
    p_loss: f64,
    p_mark: f64,
}

/// Differences between the RFC and the code for ns-3. The name `nada` is the latter: the RFC's reading does not recover
/// from heavy losses, because the signal is the square of the loss ratio and falls by seconds when that does (equation
/// 7).
#[derive(Clone, Copy, Debug, PartialEq)]
struct Variant {
    /// Ratios of losses and marks are smoothed per packet, not per update.
    smooths_each_packet: bool,
    /// The receive rate is over the span of the arrivals without the first one, not over `LOGWIN`.
    rate_over_span: bool,
    /// Maximum of the signal, in ms.
    ceiling: f64,
    /// Minimum time between updates, in ms; earlier reports do not update.
    min_delta: f64,
}

#[derive(Clone, Copy, Debug)]
struct LogEntry {
    arrived: Instant,
    delay: Duration,
    bytes: u32,
    lost_before: u32,
    is_marked: bool,
}

impl Nada {
    /// As in the RFC.
    pub fn rfc8698() -> Self {
        let (ceiling, min_delta) = (f64::INFINITY, 0.0);
        Self::of(Variant { smooths_each_packet: true, rate_over_span: false, ceiling, min_delta })
    }

    /// As in `nada-controller.cc`.
    pub fn ns3_rmcat() -> Self {
        let (ceiling, min_delta) = (XMAX, DELTA / 2.0);
        Self::of(Variant { smooths_each_packet: false, rate_over_span: true, ceiling, min_delta })
    }

    fn of(variant: Variant) -> Self {
        Self {
            variant,
            source: Source::default(),
            r_ref: 0.0,
            x_curr: 0.0,
            x_prev: 0.0,
            t_last: Instant::ZERO,
            log: VecDeque::new(),
            d_base: None,
            rtts: VecDeque::new(),
            lost: 0,
            losses: LossIntervals::default(),
            p_loss: 0.0,
            p_mark: 0.0,
        }
    }

    /// Section 4.2, "on receiving a media packet".
    fn arrived(&mut self, arrived: Instant, delay: Duration, bytes: u32, is_marked: bool) {
        self.d_base = Some(self.d_base.map_or(delay, |base| base.min(delay)));
        let lost_before = std::mem::take(&mut self.lost);
        self.losses.packet(lost_before);
        self.log.push_back(LogEntry { arrived, delay, bytes, lost_before, is_marked });
        while self.log.front().is_some_and(|oldest| arrived - oldest.arrived >= LOGWIN) {
            self.log.pop_front();
        }
        if self.variant.smooths_each_packet {
            self.smooth();
        }
    }

    /// The smoothed ratios (section 5.1).
    fn smooth(&mut self) {
        let lost: u32 = self.log.iter().map(|packet| packet.lost_before).sum();
        let marked = self.log.iter().filter(|packet| packet.is_marked).count();
        let all = f64::from(lost) + self.log.len() as f64;
        self.p_loss += ALPHA * (f64::from(lost) / all - self.p_loss);
        self.p_mark += ALPHA * (marked as f64 / all - self.p_mark);
    }

    /// Equations 1 and 2: the aggregate signal.
    fn signal(&self, d_base: Duration) -> f64 {
        let newest = self.log.iter().rev().take(TAPS);
        let d_queue = newest.map(|packet| packet.delay - d_base).min().unwrap_or(Duration::ZERO).as_millis_f64();
        let (loss, mark) = (self.p_loss / PLRREF, self.p_mark / PMRREF);
        let x = self.equivalent_delay(d_queue) + DMARK * mark * mark + DLOSS * loss * loss;
        x.min(self.variant.ceiling)
    }

    /// The queueing delay, reduced above `QTH` after losses, so that a flow that competes with loss-based flows is not
    /// starved.
    fn equivalent_delay(&self, d_queue: f64) -> f64 {
        let Some((since, average)) = self.losses.current_and_average() else { return d_queue };
        let warped = if d_queue < QTH { d_queue } else { QTH * libm::exp(-LAMBDA * (d_queue - QTH) / QTH) };
        let expired = (since - MULTILOSS * average) / average;
        match expired {
            expired if expired < 0.0 => warped,
            expired if expired < 1.0 => expired * d_queue + (1.0 - expired) * warped,
            _ => d_queue,
        }
    }

    /// Section 4.2, end: neither losses nor a delay above `QEPS` within `LOGWIN`.
    fn may_ramp_up(&self, d_base: Duration) -> bool {
        self.log.iter().all(|packet| packet.lost_before == 0 && packet.delay - d_base <= QEPS)
    }

    /// Section 4.3, equations 3 and 4.
    fn ramp_up(&mut self) {
        let rtt = self.rtts.iter().min().map_or(0.0, |rtt| rtt.as_millis_f64());
        let gamma = GAMMA_MAX.min(QBOUND / (rtt + DELTA + DFILT));
        self.r_ref = self.r_ref.max((1.0 + gamma) * self.received_bps());
    }

    fn received_bps(&self) -> f64 {
        let bytes: u32 = self.log.iter().map(|packet| packet.bytes).sum();
        let (Some(first), Some(last)) = (self.log.front(), self.log.back()) else { return 0.0 };
        if !self.variant.rate_over_span {
            return f64::from(bytes) * 8.0 / LOGWIN.as_secs_f64();
        }
        let span = last.arrived - first.arrived;
        if span > Duration::ZERO { f64::from(bytes - first.bytes) * 8.0 / span.as_secs_f64() } else { 0.0 }
    }

    /// Section 4.3, equations 5 to 7.
    fn update_gradually(&mut self, delta: f64) {
        let x_offset = self.x_curr - PRIO * XREF * self.source.max_bps / self.r_ref;
        let x_diff = self.x_curr - self.x_prev;
        let change = KAPPA * (delta / TAU) * (x_offset / TAU) + KAPPA * ETA * x_diff / TAU;
        self.r_ref -= change * self.r_ref;
    }

    fn update(&mut self, now: Instant, delta: f64) {
        let Some(d_base) = self.d_base else { return };
        if !self.variant.smooths_each_packet {
            self.smooth();
        }
        self.x_curr = self.signal(d_base);
        if self.may_ramp_up(d_base) {
            self.ramp_up()
        } else {
            self.update_gradually(delta)
        }
        // Not clamp(), which panics if the minimum is above the maximum.
        self.r_ref = self.r_ref.min(self.source.max_bps).max(self.source.min_bps);
        (self.x_prev, self.t_last) = (self.x_curr, now);
    }

    /// Rate that the pacer queue takes from the encoder and adds to the pacer (equations 11 and 12).
    fn shaping(&self, waiting: u64, beta: f64) -> f64 {
        (0.05 * self.r_ref).min(beta * 8.0 * waiting as f64 * f64::from(self.source.fps))
    }
}

impl Control for Nada {
    fn report_config(&self) -> ReportConfig {
        ReportConfig::timed(Format::Rfc8888, |_| Duration::from_millis(DELTA as i64))
    }

    fn begin(&mut self, now: Instant, source: &Source) {
        (self.source, self.r_ref, self.t_last) = (*source, source.start_bps, now);
    }

    fn on_feedback(&mut self, results: &Feedback) {
        for packet in results.packets {
            match (packet.arrived, packet.delay()) {
                (Some(arrived), Some(delay)) => self.arrived(arrived, delay, packet.bytes, packet.is_marked()),
                _ => self.lost += 1,
            }
        }
        self.rtts.extend(results.round_trips());
        self.rtts.drain(..self.rtts.len().saturating_sub(TAPS));
        let delta = (results.now - self.t_last).as_millis_f64();
        if delta >= self.variant.min_delta {
            self.update(results.now, delta);
        }
    }

    /// Equations 11 to 14.
    fn rates(&self, waiting: u64) -> Rates {
        Rates {
            target_bps: (self.r_ref - self.shaping(waiting, BETA_V)).max(self.source.min_bps),
            pacing_bps: (self.r_ref + self.shaping(waiting, BETA_S)).min(self.source.max_bps),
        }
    }
}

/// Loss intervals in packets, the newest first (RFC 5348, section 5.4).
#[derive(Clone, Debug, Default)]
struct LossIntervals(VecDeque<u32>);

impl LossIntervals {
    /// Counts an arrival after `lost_before` consecutive losses.
    fn packet(&mut self, lost_before: u32) {
        match self.0.front_mut() {
            Some(newest) if lost_before == 0 => *newest += 1,
            _ => {
                self.0.push_front(1);
                self.0.truncate(WEIGHTS.len() + 1);
            }
        }
    }

    /// Length of the newest interval, and the average; `None` before the first loss.
    fn current_and_average(&self) -> Option<(f64, f64)> {
        let closed = self.0.len().checked_sub(1).filter(|&closed| closed > 0)?;
        let mean = |skipped: usize| -> f64 {
            self.0.iter().skip(skipped).zip(WEIGHTS).take(closed).map(|(&n, weight)| f64::from(n) * weight).sum()
        };
        let weights: f64 = WEIGHTS[..closed].iter().sum();
        Some((f64::from(self.0[0]), mean(0).max(mean(1)) / weights))
    }
}

// Names of RFC 8698, figure 3; times in ms.
const PRIO: f64 = 1.0;
const XREF: f64 = 10.0;
const KAPPA: f64 = 0.5;
const ETA: f64 = 2.0;
const TAU: f64 = 500.0;
const DELTA: f64 = 100.0;
const LOGWIN: Duration = Duration::from_millis(500);
const QEPS: Duration = Duration::from_millis(10);
const DFILT: f64 = 120.0;
const GAMMA_MAX: f64 = 0.5;
const QBOUND: f64 = 50.0;
const MULTILOSS: f64 = 7.0;
const QTH: f64 = 50.0;
const LAMBDA: f64 = 0.5;
const PLRREF: f64 = 0.01;
const PMRREF: f64 = 0.01;
const DLOSS: f64 = 10.0;
const DMARK: f64 = 2.0;
const BETA_S: f64 = 0.1;
const BETA_V: f64 = 0.1;
const ALPHA: f64 = 0.1;
/// Taps of the filters of delay and round-trip time (section 5.1.1).
const TAPS: usize = 15;
/// From the code for ns-3.
const XMAX: f64 = 500.0;
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
