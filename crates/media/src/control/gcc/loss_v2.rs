//! The second loss-based estimator, libwebrtc's default (`loss_based_bwe_v2.cc`).
//!
//! Each quarter of a second is an observation of sent and lost bytes. The channel model has a bandwidth, whose excess
//! is lost, and an inherent loss rate. Among some candidates for the bandwidth, the one with the highest likelihood
//! given the last fifteen observations is chosen, with a preference for high rates. After a decrease the rate is held
//! for a time that doubles with each decrease.
//!
//! Differs: rates are real numbers, where libwebrtc has whole bit/s, and whole kbit/s in that preference. There is no
//! padding while the estimate rises, because the encoder keeps to its target.

use crate::control::PacketResult;
use sojourn_aqm::{Duration, Instant};
use std::collections::VecDeque;

/// The estimator; rates in bit/s.
#[derive(Clone, Debug)]
pub(super) struct LossBased {
    min_bps: f64,
    max_bps: f64,
    acked_bps: Option<f64>,
    /// Best candidate so far.
    best: Option<ChannelParameters>,
    observations: VecDeque<Observation>,
    count: u32,
    partial: Observation,
    last_sent: Option<Instant>,
    average_loss: f64,
    limit_in_window: f64,
    recovering: Option<Instant>,
    hold: HoldInfo,
    padding: PaddingInfo,
    pub state: State,
    result_bps: f64,
}

/// The limit of the estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// `kDelayBasedEstimate`.
    Delay,
    /// `kIncreaseUsingPadding`.
    Increasing,
    Decreasing,
}

#[derive(Clone, Copy, Debug)]
struct ChannelParameters {
    bps: f64,
    inherent: f64,
}

/// Kilobytes sent and lost in an interval, and the send rate.
#[derive(Clone, Copy, Debug, Default)]
struct Observation {
    sent: f64,
    lost: f64,
    bps: f64,
}

/// The estimate does not rise above `bps` before `until`.
#[derive(Clone, Copy, Debug)]
struct HoldInfo {
    until: Option<Instant>,
    duration: Duration,
    bps: f64,
}

#[derive(Clone, Copy, Debug)]
struct PaddingInfo {
    bps: f64,
    since: Option<Instant>,
}

impl LossBased {
    pub fn new(min_bps: f64, max_bps: f64) -> Self {
        Self {
            min_bps,
            max_bps,
            acked_bps: None,
            best: None,
            observations: VecDeque::new(),
            count: 0,
            partial: Observation::default(),
            last_sent: None,
            average_loss: 0.0,
            limit_in_window: f64::INFINITY,
            recovering: None,
            hold: HoldInfo::NONE,
            padding: PaddingInfo::NONE,
            state: State::Delay,
            result_bps: 0.0,
        }
    }

    pub fn set_acked(&mut self, bps: Option<f64>) {
        self.acked_bps = bps.or(self.acked_bps);
    }

    /// The estimate, after enough observations.
    pub fn bps(&self) -> Option<f64> {
        (self.best.is_some() && self.count >= MIN_OBSERVATIONS).then_some(self.result_bps)
    }

    /// Processes a report; `delay_bps` is the delay-based limit, infinite if unknown.
    pub fn update(&mut self, packets: &[PacketResult], delay_bps: f64) {
        if !self.observe(packets) {
            return;
        }
        let Some(now) = self.last_sent else { return };
        let current = match self.best {
            Some(best) => best,
            None if !delay_bps.is_finite() => return,
            None => {
                (self.result_bps, self.state) = (delay_bps, State::Delay);
                ChannelParameters { bps: delay_bps, inherent: FIRST_INHERENT }
            }
        };
        let mut best = self.likeliest(current, delay_bps);
        if self.average_loss > best.inherent && current.bps < best.bps {
            best.bps = current.bps;
        }
        if self.state != State::Delay {
            self.bound_rise(now, current.bps, &mut best);
        }
        let bounded = best.bps.min(self.upper_bps()).min(delay_bps).max(self.lower_bps());
        self.best = Some(if bounded < best.bps {
            ChannelParameters { bps: bounded, inherent: 0.0 }
        } else {
            ChannelParameters { bps: best.bps.max(self.lower_bps()), ..best }
        });
        self.decide(now, bounded, delay_bps);
    }

    /// Adds a report to the current observation; returns whether that is complete now.
    fn observe(&mut self, packets: &[PacketResult]) -> bool {
        let kilobytes = |lost_only: bool| -> f64 {
            let counted = packets.iter().filter(|packet| !lost_only || packet.arrived.is_none());
            counted.map(|packet| f64::from(packet.bytes)).sum::<f64>() / 1e3
        };
        self.partial.sent += kilobytes(false);
        self.partial.lost += kilobytes(true);
        let Some((first, last)) = packets.first().zip(packets.last()) else { return false };
        let duration = last.sent - *self.last_sent.get_or_insert(first.sent);
        if duration <= Duration::ZERO || duration < OBSERVATION {
            return false;
        }
        self.last_sent = Some(last.sent);
        let whole = std::mem::take(&mut self.partial);
        self.observations.push_front(Observation { bps: whole.sent * 8e3 / duration.as_secs_f64(), ..whole });
        self.observations.truncate(WINDOW);
        self.count += 1;
        self.average_loss = self.average_loss();
        true
    }

    /// Observations with their weights; the newest has 1.
    fn weighted(&self) -> impl Iterator<Item = (f64, &Observation)> {
        (0..).map(|age| libm::pow(WEIGHT, f64::from(age))).zip(&self.observations)
    }

    /// Fraction of lost bytes, without the observations with the maximum and the minimum.
    fn average_loss(&self) -> f64 {
        let (mut sent, mut lost) = (0.0, 0.0);
        let (mut highest, mut lowest) = ((0.0, 0.0, 0.0, 0.0), (1.0, 0.0, 0.0));
        for (weight, observation) in self.weighted() {
            sent += weight * observation.sent;
            lost += weight * observation.lost;
            let share = if observation.sent > 0.0 { observation.lost / observation.sent } else { 0.0 };
            if self.count > 3 {
                if share > highest.0 {
                    highest = (share, weight * observation.lost, weight * observation.sent, observation.bps);
                }
                if share < lowest.0 {
                    lowest = (share, weight * observation.lost, weight * observation.sent);
                }
            }
        }
        let others = sent - highest.2 - lowest.2;
        if self.median_bps() * SPIKE <= highest.3 || others == 0.0 {
            return lost / sent;
        }
        (lost - lowest.1 - highest.1) / others
    }

    fn median_bps(&self) -> f64 {
        let mut rates: Vec<f64> =
            self.observations.iter().map(|observation| observation.bps).filter(|&bps| bps > 0.0).collect();
        rates.sort_by(f64::total_cmp);
        let middle = rates.len() / 2;
        match rates.len() {
            0 => 0.0,
            odd if odd % 2 == 1 => rates[middle],
            _ => (rates[middle - 1] + rates[middle]) / 2.0,
        }
    }

    /// The candidate with the highest objective, the first of equals.
    fn likeliest(&self, current: ChannelParameters, delay_bps: f64) -> ChannelParameters {
        let mut rates: Vec<f64> = CANDIDATES.iter().map(|factor| factor * current.bps).collect();
        rates.extend(self.acked_bps);
        rates.extend(Some(delay_bps).filter(|bps| bps.is_finite() && *bps > current.bps));
        let in_window = Some(self.limit_in_window).filter(|limit| self.state != State::Delay && limit.is_finite());
        let max_bps = in_window.unwrap_or(self.max_bps).max(current.bps);
        let (mut best, mut largest) = (current, f64::MIN);
        for bps in rates {
            let mut candidate = ChannelParameters { bps: bps.min(max_bps), ..current };
            candidate.inherent = candidate.feasible();
            self.fit_inherent(&mut candidate);
            let objective = self.objective(&candidate);
            if objective > largest {
                (best, largest) = (candidate, objective);
            }
        }
        best
    }

    /// One step of Newton's method.
    fn fit_inherent(&self, channel: &mut ChannelParameters) {
        let (mut first, mut second) = (0.0, 0.0);
        for (weight, observation) in self.weighted() {
            let p = channel.loss_at(observation.bps);
            let received = observation.sent - observation.lost;
            first += weight * (observation.lost / p - received / (1.0 - p));
            second -= weight * (observation.lost / (p * p) + received / ((1.0 - p) * (1.0 - p)));
        }
        channel.inherent -= STEP * first / if second >= 0.0 { -1e-6 } else { second };
        channel.inherent = channel.feasible();
    }

    fn objective(&self, channel: &ChannelParameters) -> f64 {
        let above = HIGH_LOSS - self.average_loss;
        let preference = above / (PREFERENCE_SMOOTHING + above.abs());
        let kbps = channel.bps / 1e3;
        let bias = preference * (PREFERENCE * kbps + LOG_PREFERENCE * libm::log(1.0 + kbps));
        let of_one = |(weight, observation): (f64, &Observation)| {
            let p = channel.loss_at(observation.bps);
            weight
                * (observation.lost * libm::log(p)
                    + (observation.sent - observation.lost) * libm::log(1.0 - p)
                    + bias * observation.sent)
        };
        self.weighted().map(of_one).sum()
    }

    /// Bounds an increase while losses limit the estimate.
    fn bound_rise(&mut self, now: Instant, current_bps: f64, best: &mut ChannelParameters) {
        let recovers = self.recovering.is_some_and(|since| since + RISE_WINDOW > now);
        if recovers && best.bps > self.limit_in_window {
            best.bps = self.limit_in_window;
        }
        let Some(acked) = self.acked_bps.filter(|_| self.rises(current_bps, best.bps)) else { return };
        let is_held = self.hold.bps.is_finite() && acked < HOLD_THRESHOLD * self.hold.bps;
        let factor = if is_held { RISE_IN_HOLD } else { RISE };
        best.bps = best.bps.min(factor * acked).max(current_bps);
        if self.state == State::Decreasing && best.bps == current_bps {
            best.bps += 1.0;
        }
    }

    fn rises(&self, old_bps: f64, new_bps: f64) -> bool {
        self.state != State::Delay && (old_bps < new_bps || (old_bps == new_bps && self.state == State::Increasing))
    }

    /// Sets state and result from the bounded estimate.
    fn decide(&mut self, now: Instant, bounded: f64, delay_bps: f64) {
        let is_limited = bounded < delay_bps;
        if self.state == State::Decreasing && self.hold.until.is_some_and(|until| until > now) && is_limited {
            self.hold.bps = self.hold.bps.max(self.lower_bps());
            self.result_bps = self.hold.bps.min(bounded);
            return;
        }
        let is_limited = is_limited && bounded < self.max_bps;
        if is_limited && self.rises(self.result_bps, bounded) && self.may_go_on_rising(now, bounded) {
            if bounded > self.padding.bps {
                self.padding = PaddingInfo { bps: bounded, since: Some(now) };
            }
            self.state = State::Increasing;
        } else if is_limited {
            if self.state != State::Decreasing {
                let HoldInfo { duration, .. } = self.hold;
                let longer = (duration * HOLD_FACTOR).min(LONGEST_HOLD);
                self.hold = HoldInfo { until: Some(now + duration), duration: longer, bps: bounded };
            }
            (self.padding, self.state) = (PaddingInfo::NONE, State::Decreasing);
        } else {
            (self.hold, self.padding, self.state) = (HoldInfo::NONE, PaddingInfo::NONE, State::Delay);
        }
        self.result_bps = bounded;
        let begins = self.recovering.is_none_or(|since| since + RISE_WINDOW < now);
        if let Some(best) = self.best.filter(|_| self.state != State::Delay && begins) {
            self.limit_in_window = (best.bps * RISE_OF_WINDOW).max(MIN_BPS);
            self.recovering = Some(now);
        }
    }

    fn may_go_on_rising(&self, now: Instant, bps: f64) -> bool {
        let is_recent = self.padding.since.is_some_and(|since| since + PADDING >= now);
        self.state != State::Increasing || is_recent || self.padding.bps < bps
    }

    fn upper_bps(&self) -> f64 {
        let above = self.average_loss - LOSS_OFFSET;
        if above > 0.0 { BALANCE / above } else { self.max_bps }
    }

    fn lower_bps(&self) -> f64 {
        self.acked_bps.unwrap_or(0.0).max(self.min_bps)
    }
}

impl ChannelParameters {
    /// Loss probability at a send rate.
    fn loss_at(&self, sent_bps: f64) -> f64 {
        let beyond = if sent_bps > self.bps { (1.0 - self.inherent) * (sent_bps - self.bps) / sent_bps } else { 0.0 };
        (self.inherent + beyond).clamp(1e-6, 1.0 - 1e-6)
    }

    fn feasible(&self) -> f64 {
        let max_inherent = if self.bps > 0.0 { LOSS_OFFSET + BALANCE / self.bps } else { 1.0 };
        self.inherent.max(MIN_INHERENT).min(max_inherent.min(1.0))
    }
}

impl HoldInfo {
    const NONE: Self = Self { until: None, duration: FIRST_HOLD, bps: f64::INFINITY };
}

impl PaddingInfo {
    const NONE: Self = Self { bps: 0.0, since: None };
}

/// `CandidateFactors`.
const CANDIDATES: [f64; 3] = [1.02, 1.0, 0.95];
/// `ObservationDurationLowerBound`, `ObservationWindowSize`, `MinNumObservations`, both `…TemporalWeightFactor`s.
const OBSERVATION: Duration = Duration::from_millis(250);
const WINDOW: usize = 15;
const MIN_OBSERVATIONS: u32 = 3;
const WEIGHT: f64 = 0.9;
/// `MedianSendingRateFactor`.
const SPIKE: f64 = 2.0;
/// `InitialInherentLossEstimate`, `InherentLossLowerBound`, `NewtonStepSize`.
const FIRST_INHERENT: f64 = 0.01;
const MIN_INHERENT: f64 = 1e-3;
const STEP: f64 = 0.75;
/// `…LossOffset` and `…BwBalance` of the inherent loss and of the instant upper bound.
const LOSS_OFFSET: f64 = 0.05;
const BALANCE: f64 = 100e3;
/// `LossThresholdOfHighBandwidthPreference`, `BandwidthPreferenceSmoothingFactor`, `HigherBwBiasFactor`,
/// `HigherLogBwBiasFactor`.
const HIGH_LOSS: f64 = 0.2;
const PREFERENCE_SMOOTHING: f64 = 0.002;
const PREFERENCE: f64 = 0.0002;
const LOG_PREFERENCE: f64 = 0.02;
/// `BwRampupUpperBoundFactor`, `BwRampupUpperBoundInHoldFactor`, `BwRampupUpperBoundHoldThreshold`,
/// `MaxIncreaseFactor`, `DelayedIncreaseWindow`.
const RISE: f64 = 1.5;
const RISE_IN_HOLD: f64 = 1.2;
const HOLD_THRESHOLD: f64 = 1.3;
const RISE_OF_WINDOW: f64 = 1.3;
const RISE_WINDOW: Duration = Duration::from_millis(300);
/// `kInitHoldDuration`, `kMaxHoldDuration`, `HoldDurationFactor`, `PaddingDuration`.
const FIRST_HOLD: Duration = Duration::from_millis(300);
const LONGEST_HOLD: Duration = Duration::from_secs(60);
const HOLD_FACTOR: i64 = 2;
const PADDING: Duration = Duration::from_secs(2);
/// `kCongestionControllerMinBitrate`.
const MIN_BPS: f64 = 5e3;
