//! HyStart++ (RFC 9406): a rise of the RTT ends slow start, after a trial period in conservative slow start (CSS).

use super::Ack;
use sojourn_aqm::Duration;

/// State of the first slow start of a connection, with the RFC's names in its order.
#[derive(Clone, Debug)]
pub(super) struct HyStartPlusPlus {
    window_end: u64,
    last_round_min_rtt: Duration,
    current_round_min_rtt: Duration,
    rtt_sample_count: u32,
    /// In CSS: the RTT at its start, and the rounds completed so far.
    css: Option<(Duration, u32)>,
}

/// Growth of the window by an acknowledgment in slow start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum SlowStartStep {
    /// Grow by this number of segments.
    Grow(f64),
    /// Slow start ends: the window becomes the threshold.
    Exit,
}

impl Default for HyStartPlusPlus {
    fn default() -> Self {
        Self {
            window_end: 0,
            last_round_min_rtt: INFINITY,
            current_round_min_rtt: INFINITY,
            rtt_sample_count: 0,
            css: None,
        }
    }
}

impl HyStartPlusPlus {
    /// Handles an acknowledgment in the first slow start.
    pub fn acked(&mut self, ack: &Ack) -> SlowStartStep {
        if ack.una > self.window_end && self.start_round(ack.nxt) {
            return SlowStartStep::Exit;
        }
        if let Some(rtt) = ack.rtt {
            self.current_round_min_rtt = self.current_round_min_rtt.min(rtt);
            self.rtt_sample_count += 1;
            self.judge();
        }
        let acked = ack.packets.min(L) as f64;
        SlowStartStep::Grow(if self.css.is_some() { acked / CSS_GROWTH_DIVISOR } else { acked })
    }

    /// Starts a round. Returns whether the last round of CSS is over.
    fn start_round(&mut self, window_end: u64) -> bool {
        self.window_end = window_end;
        self.last_round_min_rtt = self.current_round_min_rtt;
        self.current_round_min_rtt = INFINITY;
        self.rtt_sample_count = 0;
        let Some((_, rounds)) = &mut self.css else { return false };
        *rounds += 1;
        *rounds >= CSS_ROUNDS
    }

    fn judge(&mut self) {
        let (current, last) = (self.current_round_min_rtt, self.last_round_min_rtt);
        if self.rtt_sample_count < N_RTT_SAMPLE {
            return;
        }
        match self.css {
            None if last != INFINITY && current >= last + (last / 8).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH) => {
                self.css = Some((current, 0));
            }
            // The rise was spurious: resume slow start.
            Some((baseline, _)) if current < baseline => self.css = None,
            _ => {}
        }
    }
}

const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;
/// Maximum number of segments that one acknowledgment counts for if the sender is not paced.
const L: u32 = 8;
const INFINITY: Duration = Duration::from_secs(1 << 30);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::CaState;
    use sojourn_aqm::Instant;

    /// Rounds of ten acknowledgments with the given RTTs in ms: growth by the last acknowledgment of each.
    fn rounds(rtts_ms: &[i64]) -> Vec<SlowStartStep> {
        let mut hystart = HyStartPlusPlus::default();
        let mut una = 0;
        let round = |rtt: &i64| {
            let mut last = SlowStartStep::Exit;
            let nxt = una + 20;
            for _ in 0..10 {
                una += 1;
                let rtt = Some(Duration::from_millis(*rtt));
                let ack = Ack {
                    now: Instant::ZERO,
                    packets: 1,
                    rtt,
                    una,
                    nxt: nxt - 10,
                    state: CaState::Open,
                    one_way: None,
                    slow_path: false,
                };
                last = hystart.acked(&ack);
                if last == SlowStartStep::Exit {
                    break;
                }
            }
            last
        };
        rtts_ms.iter().map(round).collect()
    }

    const FULL: SlowStartStep = SlowStartStep::Grow(1.0);
    const QUARTER: SlowStartStep = SlowStartStep::Grow(0.25);

    #[test]
    fn a_rise_by_an_eighth_leads_to_five_rounds_of_conservative_slow_start() {
        let expected = [FULL, FULL, QUARTER, QUARTER, QUARTER, QUARTER, QUARTER, SlowStartStep::Exit];
        assert_eq!(rounds(&[80, 80, 90, 90, 90, 90, 90, 90]), expected);
    }

    #[test]
    fn the_rise_that_counts_is_an_eighth_of_the_last_round_between_4_and_16_ms() {
        for (rtt, rise) in [(10, 4), (80, 10), (400, 16)] {
            assert_eq!(rounds(&[rtt, rtt + rise - 1]), [FULL, FULL], "{rtt} ms");
            assert_eq!(rounds(&[rtt, rtt + rise]), [FULL, QUARTER], "{rtt} ms");
        }
    }

    #[test]
    fn a_rise_that_passes_resumes_slow_start() {
        assert_eq!(rounds(&[80, 95, 90, 90]), [FULL, QUARTER, FULL, FULL]);
    }

    #[test]
    fn an_acknowledgment_of_many_segments_counts_for_eight() {
        let ack = Ack {
            now: Instant::ZERO,
            packets: 20,
            rtt: None,
            una: 1,
            nxt: 100,
            state: CaState::Open,
            one_way: None,
            slow_path: false,
        };
        assert_eq!(HyStartPlusPlus::default().acked(&ack), SlowStartStep::Grow(8.0));
    }
}
