//! End of PROBE_RTT, common to all versions.

/// PROBE_RTT lasts a fixed time and one round after the flight has become small enough (`bbr_update_min_rtt`). `T` is
/// an instant.
#[derive(Clone, Debug)]
pub struct ProbeRtt<T> {
    /// Earliest end (`probe_rtt_done_stamp`).
    done_stamp: Option<T>,
    /// Whether the round is complete (`probe_rtt_round_done`).
    pub round_done: bool,
}

/// Progress of PROBE_RTT after an acknowledgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeRttState {
    /// The flight is too large, or the round is not complete.
    Waiting,
    /// The flight has become small enough; a round begins.
    Drained,
    /// The round is complete.
    RoundDone,
}

impl<T> Default for ProbeRtt<T> {
    fn default() -> Self {
        Self { done_stamp: None, round_done: false }
    }
}

impl<T: Copy + PartialOrd> ProbeRtt<T> {
    /// Begins PROBE_RTT.
    pub fn begin(&mut self) {
        self.done_stamp = None;
    }

    /// Handles an acknowledgment; `until` is the earliest end if the flight `is_small` now.
    pub fn advance(&mut self, is_small: bool, until: T, round_start: bool) -> ProbeRttState {
        if self.done_stamp.is_none() {
            if !is_small {
                return ProbeRttState::Waiting;
            }
            (self.done_stamp, self.round_done) = (Some(until), false);
            return ProbeRttState::Drained;
        }
        self.round_done |= round_start;
        if self.round_done { ProbeRttState::RoundDone } else { ProbeRttState::Waiting }
    }

    /// Whether the earliest end has passed at `now`.
    pub fn is_over(&self, now: T) -> bool {
        self.done_stamp.is_some_and(|done| now > done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_after_its_time_and_a_round_of_a_small_flight() {
        let mut probe = ProbeRtt::default();
        let mut take = |is_small, round_start, now: u64| {
            let step = probe.advance(is_small, now + 200, round_start);
            (step, probe.is_over(now))
        };
        assert_eq!(take(false, true, 1_007), (ProbeRttState::Waiting, false), "the flight is large");
        assert_eq!(take(true, true, 1_031), (ProbeRttState::Drained, false));
        assert_eq!(take(true, false, 1_232), (ProbeRttState::Waiting, true), "no round is over");
        assert_eq!(take(false, true, 1_231), (ProbeRttState::RoundDone, false), "the time is not over");
        assert_eq!(take(false, false, 1_232), (ProbeRttState::RoundDone, true));
        probe.begin();
        assert_eq!((probe.is_over(9_999), probe.advance(false, 9_999, true)), (false, ProbeRttState::Waiting));
    }
}
