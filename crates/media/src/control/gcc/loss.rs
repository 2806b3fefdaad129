//! The target rate: the delay-based limit, losses, and back-off at an RTT of seconds
//! (`send_side_bandwidth_estimation.cc`).

use super::loss_v2::{LossBased, State};
use crate::control::PacketResult;
use sojourn_aqm::{Duration, Instant};
use std::collections::VecDeque;

/// The target rate, in bit/s.
#[derive(Clone, Debug)]
pub(super) struct SendSideEstimator {
    min_bps: f64,
    max_bps: f64,
    pub bps: f64,
    /// The second loss-based estimator; without it, or before its first estimate, the rule of 2 % and 10 % applies.
    by_loss: Option<LossBased>,
    /// The delay-based limit.
    limit_bps: f64,
    /// Sliding minimum: rates of the last second without a later lower one.
    min_history: VecDeque<(Instant, f64)>,
    lost: u32,
    reported: u32,
    /// Loss fraction in 1/256, and the time of its report.
    share: u32,
    shared: Option<Instant>,
    first_reported: Option<Instant>,
    decreased: Option<Instant>,
    has_decreased: bool,
    rtt: Duration,
    /// When the round-trip time was reported.
    rtt_updated: Instant,
    sent: Instant,
}

impl SendSideEstimator {
    pub fn new(now: Instant, min_bps: f64, max_bps: f64, start_bps: f64) -> Self {
        Self {
            min_bps,
            max_bps,
            bps: start_bps.min(max_bps).max(min_bps),
            by_loss: None,
            limit_bps: f64::INFINITY,
            min_history: VecDeque::new(),
            lost: 0,
            reported: 0,
            share: 0,
            shared: None,
            first_reported: None,
            decreased: None,
            has_decreased: false,
            rtt: Duration::ZERO,
            rtt_updated: now,
            sent: now,
        }
    }

    /// Adds the second loss-based estimator.
    pub fn with_estimator(self) -> Self {
        let by_loss = Some(LossBased::new(self.min_bps, self.max_bps));
        Self { by_loss, ..self }
    }

    /// Processes a report; `acked_bps` is the throughput including it.
    pub fn on_report(&mut self, now: Instant, packets: &[PacketResult], acked_bps: Option<f64>) {
        let Some(by_loss) = &mut self.by_loss else { return };
        by_loss.set_acked(acked_bps);
        by_loss.update(packets, self.limit_bps);
        self.update(now);
    }

    /// Sets the rate from a probe, without the delay-based limit so far.
    pub fn restart(&mut self, bps: f64) {
        self.limit_bps = f64::INFINITY;
        self.set(bps);
        self.min_history.clear();
    }

    /// Whether neither losses nor a round-trip time of seconds limit the rate.
    pub fn may_probe(&self) -> bool {
        let by_delay = self.by_loss.as_ref().is_none_or(|by_loss| by_loss.state == State::Delay);
        by_delay && self.silence() <= MAX_RTT
    }

    pub fn sent(&mut self, now: Instant) {
        self.sent = now;
    }

    /// Sets the minimum round-trip time of a report.
    pub fn set_rtt(&mut self, now: Instant, rtt: Duration) {
        (self.rtt, self.rtt_updated) = (rtt, now);
    }

    /// Sets the delay-based limit.
    pub fn limit(&mut self, bps: f64) {
        self.limit_bps = bps;
        self.set(self.bps);
    }

    /// Counts `lost` of `reported` packets since the last call.
    pub fn on_losses(&mut self, now: Instant, lost: u32, reported: u32) {
        self.first_reported.get_or_insert(now);
        self.lost += lost;
        self.reported += reported;
        if self.reported < MIN_PACKETS {
            return;
        }
        self.has_decreased = false;
        self.share = (256 * self.lost / self.reported).min(255);
        (self.lost, self.reported, self.shared) = (0, 0, Some(now));
        self.update(now);
    }

    /// Periodic update.
    pub fn update(&mut self, now: Instant) {
        if self.silence() > MAX_RTT {
            return self.back_off(now);
        }
        let by_loss = self.by_loss.as_ref().and_then(LossBased::bps);
        let starts = by_loss.is_none() && self.first_reported.is_none_or(|first| now - first < START);
        if self.share == 0 && starts && self.limit_bps.is_finite() && self.limit_bps > self.bps {
            self.min_history = VecDeque::from([(now, self.bps)]);
            return self.set(self.limit_bps);
        }
        self.update_min_history(now);
        if let (Some(_), Some(bps)) = (self.shared, by_loss) {
            return self.set(bps);
        }
        if self.shared.is_some_and(|shared| now - shared < FRESH) {
            self.follow_losses(now);
        }
        self.set(self.bps);
    }

    /// The round-trip time plus the time of sending since it was last reported.
    fn silence(&self) -> Duration {
        self.rtt + (self.sent - self.rtt_updated).max(Duration::ZERO)
    }

    fn follow_losses(&mut self, now: Instant) {
        let share = f64::from(self.share) / 256.0;
        if share <= LOW_LOSS {
            let min_bps = self.min_history.front().map_or(self.bps, |&(_, bps)| bps);
            self.set(min_bps * 1.08 + 0.5 + 1e3);
        } else if share > HIGH_LOSS && !self.has_decreased && self.has_elapsed(now, DECREASE + self.rtt) {
            (self.decreased, self.has_decreased) = (Some(now), true);
            self.set(self.bps * f64::from(512 - self.share) / 512.0);
        }
    }

    fn back_off(&mut self, now: Instant) {
        if self.has_elapsed(now, BACK_OFF) && self.bps > FLOOR {
            self.decreased = Some(now);
            self.set((0.8 * self.bps).max(FLOOR));
        }
    }

    /// Whether the last decrease is at least `span` ago.
    fn has_elapsed(&self, now: Instant, span: Duration) -> bool {
        self.decreased.is_none_or(|decreased| now - decreased >= span)
    }

    fn update_min_history(&mut self, now: Instant) {
        let bps = self.bps;
        while self.min_history.front().is_some_and(|&(at, _)| now - at + ONE_MS > SECOND) {
            self.min_history.pop_front();
        }
        while self.min_history.back().is_some_and(|&(_, known)| bps <= known) {
            self.min_history.pop_back();
        }
        self.min_history.push_back((now, bps));
    }

    fn set(&mut self, bps: f64) {
        self.bps = bps.min(self.limit_bps).min(self.max_bps).max(self.min_bps);
    }
}

const MIN_PACKETS: u32 = 20;
const LOW_LOSS: f64 = 0.02;
const HIGH_LOSS: f64 = 0.1;
const START: Duration = Duration::from_secs(2);
const SECOND: Duration = Duration::from_secs(1);
const ONE_MS: Duration = Duration::from_millis(1);
const DECREASE: Duration = Duration::from_millis(300);
/// 1.2 times the maximum interval of loss reports.
const FRESH: Duration = Duration::from_secs(6);
const MAX_RTT: Duration = Duration::from_secs(3);
const BACK_OFF: Duration = Duration::from_secs(1);
const FLOOR: f64 = 5e3;
