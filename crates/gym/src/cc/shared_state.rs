//! What a connection has told since it was looked at last, and what its agent asks of it: shared by its congestion control
//! and whoever steers it.

use sojourn_aqm::{Duration, Instant};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The board of a connection. One writes at a time, so that the lock is always free.
#[derive(Debug, Default)]
pub(super) struct SharedState(Mutex<State>);

/// What is on it.
#[derive(Debug, Default)]
pub(super) struct State {
    pub last_ack: AckSnapshot,
    pub rtts: RttSums,
    /// What was delivered when the connection was opened: the SYN.
    pub first_delivered: u64,
    /// Actions, and when each is due.
    pub actions: VecDeque<(Instant, f64)>,
    /// The most that a step has delivered, in payload bits per second.
    pub max_bps: f64,
    /// The longest RTT.
    pub max_rtt: Duration,
    /// The shortest RTT.
    pub min_rtt: Option<Duration>,
}

/// What the last acknowledgment told; counts are those since the connection was opened.
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
    /// None where nothing is paced.
    pub pacing_bps: Option<u64>,
    pub is_app_limited: bool,
}

/// Sums over the RTT samples of a step; times are those since it began.
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

    /// Begins anew.
    pub fn clear(&self) {
        *self.lock() = State::default();
    }

    /// Asks for an action at an instant that is not before those asked for already.
    pub fn push_action(&self, at: Instant, action: f64) {
        self.lock().actions.push_back((at, action));
    }
}

impl State {
    /// The next action that is due.
    pub fn pop_due(&mut self, now: Instant) -> Option<f64> {
        let is_due = self.actions.front().is_some_and(|&(at, _)| at <= now);
        if is_due { self.actions.pop_front().map(|(_, action)| action) } else { None }
    }

    /// An RTT was measured.
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

    /// The largest window that guards against a runaway: ten times what the fastest step delivers in the longest RTT, and
    /// no less than the first window.
    pub fn max_cwnd(&self, first: u32) -> u32 {
        let segments = self.max_bps * self.max_rtt.as_secs_f64() / (8.0 * f64::from(self.last_ack.mss.max(1)));
        (GUARD * segments).max(f64::from(first)) as u32
    }

    /// The smallest and the largest pacing rate that go with it, in bit/s: two segments per longest RTT, and ten times the
    /// fastest step or, before there is one, of the first window in an RTT.
    pub fn rates_bps(&self, first: u32) -> (f64, f64) {
        let least = self.rate_of(MIN_CWND);
        (least, (GUARD * self.max_bps.max(self.rate_of(first))).max(least))
    }

    /// The rate in bit/s of so many segments per longest RTT.
    pub fn rate_of(&self, cwnd: u32) -> f64 {
        f64::from(cwnd) * 8.0 * f64::from(self.last_ack.mss.max(1)) / self.max_rtt.as_secs_f64().max(MIN_RTT_S)
    }
}

impl RttSums {
    /// Mean, if there was any.
    pub fn mean_s(&self) -> Option<f64> {
        (self.samples > 0).then(|| self.sum_s / self.samples as f64)
    }

    /// Slope of the line of least squares, in seconds per second; zero without two samples at different times.
    pub fn gradient(&self) -> f64 {
        let n = self.samples as f64;
        let spread = n * self.sum_tt - self.sum_t * self.sum_t;
        // Times differ by a microsecond at least; below is what rounding leaves.
        if spread > 1e-12 { (n * self.sum_t_rtt - self.sum_t * self.sum_s) / spread } else { 0.0 }
    }
}

/// How much more than what was seen an agent may ask for.
const GUARD: f64 = 10.0;
/// The smallest window of an agent, in segments.
pub(super) const MIN_CWND: u32 = 2;
/// So that what is divided by it is finite.
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
        // 2 ms more per millisecond.
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
        // 8 Mbit/s for 37 ms are 37,000 B, 25.55 segments.
        assert_eq!(state.max_cwnd(10), 255);
        let (least, most) = state.rates_bps(10);
        assert!((least - 2.0 * 1448.0 * 8.0 / 0.037).abs() < 1e-6 && (most - 8e7).abs() < 1e-6, "{least} {most}");
    }

    #[test]
    fn an_action_is_due_when_its_time_has_come() {
        let board = SharedState::default();
        board.push_action(at(5), 0.25);
        board.push_action(at(9), -0.5);
        let mut state = board.lock();
        assert_eq!((state.pop_due(at(4)), state.pop_due(at(5)), state.pop_due(at(8))), (None, Some(0.25), None));
        assert_eq!((state.pop_due(at(30)), state.pop_due(at(30))), (Some(-0.5), None));
    }
}
