//! The target: what the delay allows, losses and an RTT of seconds (`send_side_bandwidth_estimation.cc`).

use super::loss_v2::{LossBased, State};
use crate::control::PacketResult;
use sojourn_aqm::{Duration, Instant};
use std::collections::VecDeque;

/// The target rate, in bit/s.
#[derive(Clone, Debug)]
pub(super) struct Target {
    least_bps: f64,
    most_bps: f64,
    pub bps: f64,
    /// The second estimator by losses; without it, or before it has an estimate, the rule of 2 % and 10 %.
    by_loss: Option<LossBased>,
    /// What the delay allows.
    limit_bps: f64,
    /// Rates of the last second that none after them is below.
    least_of_second: VecDeque<(Instant, f64)>,
    lost: u32,
    told: u32,
    /// Share of losses, in 1/256, and when it was told.
    share: u32,
    shared: Option<Instant>,
    first_told: Option<Instant>,
    decreased: Option<Instant>,
    has_decreased: bool,
    rtt: Duration,
    /// When the round-trip time was told.
    rtt_told: Instant,
    sent: Instant,
}

impl Target {
    pub fn new(now: Instant, least_bps: f64, most_bps: f64, start_bps: f64) -> Self {
        Self {
            least_bps,
            most_bps,
            bps: start_bps.min(most_bps).max(least_bps),
            by_loss: None,
            limit_bps: f64::INFINITY,
            least_of_second: VecDeque::new(),
            lost: 0,
            told: 0,
            share: 0,
            shared: None,
            first_told: None,
            decreased: None,
            has_decreased: false,
            rtt: Duration::ZERO,
            rtt_told: now,
            sent: now,
        }
    }

    /// The same with the second estimator.
    pub fn with_estimator(self) -> Self {
        let by_loss = Some(LossBased::new(self.least_bps, self.most_bps));
        Self { by_loss, ..self }
    }

    /// A report was taken, with which so much was known to arrive.
    pub fn report(&mut self, now: Instant, packets: &[PacketResult], acked_bps: Option<f64>) {
        let Some(by_loss) = &mut self.by_loss else { return };
        by_loss.set_acked(acked_bps);
        by_loss.update(packets, self.limit_bps);
        self.update(now);
    }

    /// A probe has told the rate, which the delay allowed so far does not limit.
    pub fn restart(&mut self, bps: f64) {
        self.limit_bps = f64::INFINITY;
        self.set(bps);
        self.least_of_second.clear();
    }

    /// Whether neither losses nor a round-trip time of seconds limit it.
    pub fn may_probe(&self) -> bool {
        let by_delay = self.by_loss.as_ref().is_none_or(|by_loss| by_loss.state == State::Delay);
        by_delay && self.silence() <= MOST_RTT
    }

    pub fn sent(&mut self, now: Instant) {
        self.sent = now;
    }

    /// The least round-trip time of a report.
    pub fn set_rtt(&mut self, now: Instant, rtt: Duration) {
        (self.rtt, self.rtt_told) = (rtt, now);
    }

    /// What the delay allows from now on.
    pub fn limit(&mut self, bps: f64) {
        self.limit_bps = bps;
        self.set(self.bps);
    }

    /// Of so many packets so many were lost, since it was told last.
    pub fn losses(&mut self, now: Instant, lost: u32, told: u32) {
        self.first_told.get_or_insert(now);
        self.lost += lost;
        self.told += told;
        if self.told < LEAST_PACKETS {
            return;
        }
        self.has_decreased = false;
        self.share = (256 * self.lost / self.told).min(255);
        (self.lost, self.told, self.shared) = (0, 0, Some(now));
        self.update(now);
    }

    /// What is due by the clock.
    pub fn update(&mut self, now: Instant) {
        if self.silence() > MOST_RTT {
            return self.back_off(now);
        }
        let by_loss = self.by_loss.as_ref().and_then(LossBased::bps);
        let starts = by_loss.is_none() && self.first_told.is_none_or(|first| now - first < START);
        if self.share == 0 && starts && self.limit_bps.is_finite() && self.limit_bps > self.bps {
            self.least_of_second = VecDeque::from([(now, self.bps)]);
            return self.set(self.limit_bps);
        }
        self.remember(now);
        if let (Some(_), Some(bps)) = (self.shared, by_loss) {
            return self.set(bps);
        }
        if self.shared.is_some_and(|shared| now - shared < FRESH) {
            self.follow_losses(now);
        }
        self.set(self.bps);
    }

    /// The round-trip time, and for how long none was told while packets were sent.
    fn silence(&self) -> Duration {
        self.rtt + (self.sent - self.rtt_told).max(Duration::ZERO)
    }

    fn follow_losses(&mut self, now: Instant) {
        let share = f64::from(self.share) / 256.0;
        if share <= LOW_LOSS {
            let least = self.least_of_second.front().map_or(self.bps, |&(_, bps)| bps);
            self.set(least * 1.08 + 0.5 + 1e3);
        } else if share > HIGH_LOSS && !self.has_decreased && self.is_over(now, DECREASE + self.rtt) {
            (self.decreased, self.has_decreased) = (Some(now), true);
            self.set(self.bps * f64::from(512 - self.share) / 512.0);
        }
    }

    fn back_off(&mut self, now: Instant) {
        if self.is_over(now, BACK_OFF) && self.bps > FLOOR {
            self.decreased = Some(now);
            self.set((0.8 * self.bps).max(FLOOR));
        }
    }

    /// Whether the last decrease was so long ago.
    fn is_over(&self, now: Instant, span: Duration) -> bool {
        self.decreased.is_none_or(|decreased| now - decreased >= span)
    }

    fn remember(&mut self, now: Instant) {
        let bps = self.bps;
        while self.least_of_second.front().is_some_and(|&(at, _)| now - at + ONE_MS > SECOND) {
            self.least_of_second.pop_front();
        }
        while self.least_of_second.back().is_some_and(|&(_, known)| bps <= known) {
            self.least_of_second.pop_back();
        }
        self.least_of_second.push_back((now, bps));
    }

    fn set(&mut self, bps: f64) {
        self.bps = bps.min(self.limit_bps).min(self.most_bps).max(self.least_bps);
    }
}

const LEAST_PACKETS: u32 = 20;
const LOW_LOSS: f64 = 0.02;
const HIGH_LOSS: f64 = 0.1;
const START: Duration = Duration::from_secs(2);
const SECOND: Duration = Duration::from_secs(1);
const ONE_MS: Duration = Duration::from_millis(1);
const DECREASE: Duration = Duration::from_millis(300);
/// 1.2 times the longest interval of reports of losses.
const FRESH: Duration = Duration::from_secs(6);
const MOST_RTT: Duration = Duration::from_secs(3);
const BACK_OFF: Duration = Duration::from_secs(1);
const FLOOR: f64 = 5e3;
