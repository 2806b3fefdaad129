//! Measurements since the last sample and pending actions: shared by a connection's congestion control and its agent.
//!
//! An action waits for the next ACK, because a step is no event of the simulation; a real sender behaves the same.

use sojourn_aqm::{Duration, Instant};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// State shared by a connection and its agent. They run in turn on one thread, so the lock is uncontended.
#[derive(Debug, Default)]
pub(super) struct SharedState(Mutex<State>);

/// The state behind the lock.
#[derive(Debug, Default)]
pub(super) struct State {
    pub last_ack: AckSnapshot,
    pub rtts: RttSums,
    /// Value of `delivered` when the connection opened: it counts the SYN.
    pub first_delivered: u64,
    /// Pending actions and their due times, in order.
    pub actions: VecDeque<(Instant, f64)>,
    /// Maximum delivery rate of a step, in bit/s of payload.
    pub max_bps: f64,
    /// Maximum RTT.
    pub max_rtt: Duration,
    /// Minimum RTT.
    pub min_rtt: Option<Duration>,
}

/// Sender state at the last ACK; counters start when the connection opens.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckSnapshot {
    pub is_open: bool,
    pub delivered: u64,
    pub delivered_ce: u64,
    pub lost: u64,
    pub last_loss: Option<Instant>,
    pub in_flight: u32,
    pub cwnd: u32,
    pub mss: u32,
    pub srtt: Duration,
    /// `None` without pacing.
    pub pacing_bps: Option<u64>,
    pub is_app_limited: bool,
}

/// Sums over the RTT samples of a step, for their mean and least-squares slope; `t` is the time since `since`.
#[derive(Clone, Copy, Debug)]
pub(super) struct RttSums {
    pub since: Instant,
    pub samples: u64,
    pub sum_s: f64,
    pub sum_t: f64,
    pub sum_tt: f64,
    pub sum_t_rtt: f64,
}

impl Default for RttSums {
    fn default() -> Self {
        Self { since: Instant::ZERO, samples: 0, sum_s: 0.0, sum_t: 0.0, sum_tt: 0.0, sum_t_rtt: 0.0 }
    }
}

impl SharedState {
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resets for a new episode.
    pub fn clear(&self) {
        *self.lock() = State::default();
    }

    /// Schedules an action; `at` must not be before the pending ones.
    pub fn push_action(&self, at: Instant, action: f64) {
        self.lock().actions.push_back((at, action));
    }
}

impl State {
    /// Removes and returns the next due action.
    pub fn pop_due(&mut self, now: Instant) -> Option<f64> {
        let is_due = self.actions.front().is_some_and(|&(at, _)| at <= now);
        if is_due { self.actions.pop_front().map(|(_, action)| action) } else { None }
    }

    /// Records an RTT sample.
    pub fn measure(&mut self, now: Instant, rtt: Duration) {
        let (t, rtt_s, sums) = ((now - self.rtts.since).as_secs_f64(), rtt.as_secs_f64(), &mut self.rtts);
        sums.samples += 1;
        sums.sum_s += rtt_s;
        sums.sum_t += t;
        sums.sum_tt += t * t;
        sums.sum_t_rtt += t * rtt_s;
        self.max_rtt = self.max_rtt.max(rtt);
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
    }

    /// Maximum window, against runaway agents: ten times the product of maximum delivery rate and maximum RTT, and at
    /// least the initial window `first`.
    pub fn max_cwnd(&self, first: u32) -> u32 {
        let segments = self.max_bps * self.max_rtt.as_secs_f64() / (8.0 * f64::from(self.last_ack.mss.max(1)));
        (GUARD * segments).max(f64::from(first)) as u32
    }

    /// Minimum and maximum pacing rate in bit/s: two segments per maximum RTT, and ten times the maximum delivery rate,
    /// or the rate of the initial window if that is higher.
    pub fn rates_bps(&self, first: u32) -> (f64, f64) {
        let least = self.rate_of(MIN_CWND);
        (least, (GUARD * self.max_bps.max(self.rate_of(first))).max(least))
    }

    /// Rate in bit/s of `cwnd` segments per maximum RTT.
    pub fn rate_of(&self, cwnd: u32) -> f64 {
        f64::from(cwnd) * 8.0 * f64::from(self.last_ack.mss.max(1)) / self.max_rtt.as_secs_f64().max(MIN_RTT_S)
    }
}

impl RttSums {
    /// Mean RTT in seconds; `None` without samples.
    pub fn mean_s(&self) -> Option<f64> {
        (self.samples > 0).then(|| self.sum_s / self.samples as f64)
    }

    /// Least-squares slope in seconds per second; 0 without two samples at different times.
    pub fn gradient(&self) -> f64 {
        let n = self.samples as f64;
        let spread = n * self.sum_tt - self.sum_t * self.sum_t;
        // Sample times differ by at least a microsecond; anything below is rounding.
        if spread > 1e-12 { (n * self.sum_t_rtt - self.sum_t * self.sum_s) / spread } else { 0.0 }
    }
}

/// Ratio of the maximum action to the measured maximum.
const GUARD: f64 = 10.0;
/// Minimum window of an agent, in segments.
pub(super) const MIN_CWND: u32 = 2;
/// Keeps quotients by the RTT finite.
const MIN_RTT_S: f64 = 1e-6;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn round_trips_have_a_mean_and_a_slope() {
        let mut state = State { rtts: RttSums { since: at(70), ..RttSums::default() }, ..State::default() };
        assert_eq!((state.rtts.mean_s(), state.rtts.gradient()), (None, 0.0));
        for (ms, rtt) in [(71, 43), (74, 49), (79, 59)] {
            state.measure(at(ms), Duration::from_millis(rtt));
        }
        // 2 ms per millisecond.
        assert!((state.rtts.gradient() - 2.0).abs() < 1e-9, "{}", state.rtts.gradient());
        assert!((state.rtts.mean_s().unwrap() - 0.151 / 3.0).abs() < 1e-12);
        assert_eq!((state.min_rtt, state.max_rtt), (Some(Duration::from_millis(43)), Duration::from_millis(59)));
    }

    #[test]
    fn a_window_is_bounded_by_what_was_seen() {
        let mut state = State::default();
        state.last_ack.mss = 1448;
        assert_eq!(state.max_cwnd(10), 10, "before anything is known");
        state.measure(at(50), Duration::from_millis(37));
        assert_eq!(state.max_cwnd(10), 10);
        state.max_bps = 8e6;
        // 8 Mbit/s for 37 ms is 37,000 B, 25.55 segments.
        assert_eq!(state.max_cwnd(10), 255);
        let (least, most) = state.rates_bps(10);
        assert!((least - 2.0 * 1448.0 * 8.0 / 0.037).abs() < 1e-6 && (most - 8e7).abs() < 1e-6, "{least} {most}");
    }

    #[test]
    fn an_action_is_due_when_its_time_has_come() {
        let shared = SharedState::default();
        shared.push_action(at(5), 0.25);
        shared.push_action(at(9), -0.5);
        let mut state = shared.lock();
        assert_eq!((state.pop_due(at(4)), state.pop_due(at(5)), state.pop_due(at(8))), (None, Some(0.25), None));
        assert_eq!((state.pop_due(at(30)), state.pop_due(at(30))), (Some(-0.5), None));
    }
}
