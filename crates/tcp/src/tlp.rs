//! Tail loss probe: if acknowledgments stop, one segment elicits another before the time-out expires.
//!
//! Source: Linux `tcp_schedule_loss_probe`, `tcp_send_loss_probe`, `tcp_process_tlp_ack`; RFC 8985 §7.

use crate::Ticks;
use crate::ack::{AckInfo, ProbeOutcome};
use crate::context::Cx;
use crate::round_trip::RoundTrip;
use crate::stack::{ProbeTimeout, Stack};
use crate::state::CaState;
use crate::timer::TimerPurpose;
use sojourn_aqm::Duration;

/// The probe: when it is due, and its outcome.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LossProbe {
    form: Option<ProbeTimeout>,
    /// [`DELAYED_ACK`] in ticks.
    delayed_ack: Ticks,
    /// Minimum time-out of a probe (3.10), or its margin beyond two round trips (6.1), in ticks.
    min_timeout: Ticks,
    /// SND.NXT when the probe was sent that is still unresolved.
    high_seq: Option<u64>,
    /// The probe was a retransmission.
    retransmitted: bool,
}

impl LossProbe {
    /// No probe outstanding.
    pub fn new(stack: &Stack) -> Self {
        let (form, clock) = (stack.loss_probe, stack.clock());
        let min_timeout =
            clock.ticks_at_least_one(if form == Some(ProbeTimeout::Linux6_1) { MARGIN } else { MIN_TIMEOUT });
        Self {
            form,
            delayed_ack: clock.ticks_at_least_one(DELAYED_ACK),
            min_timeout,
            high_seq: None,
            retransmitted: false,
        }
    }

    /// Whether the timer is set for a probe after every acknowledgment, whatever its purpose before.
    #[inline]
    pub fn follows_every_ack(&self) -> bool {
        self.form == Some(ProbeTimeout::Linux3_10)
    }

    /// Whether the timer is set for a probe whenever the time-out would be restarted.
    #[inline]
    pub fn replaces_time_out(&self) -> bool {
        self.form == Some(ProbeTimeout::Linux6_1)
    }

    /// Whether a probe may be scheduled in `state`.
    #[inline(always)]
    pub fn is_allowed(&self, state: CaState) -> bool {
        match self.form {
            None => false,
            Some(ProbeTimeout::Linux3_10) => state == CaState::Open,
            Some(ProbeTimeout::Linux6_1) => matches!(state, CaState::Open | CaState::Cwr),
        }
    }

    /// Sets the timer for a probe, which must be [allowed](Self::is_allowed) in the state, in place of the time-out;
    /// `advancing` if the time-out would restart. Returns whether it was set.
    #[inline(always)]
    pub fn schedule(&self, advancing: bool, cx: &mut Cx) -> bool {
        let Some(form) = self.form else { return false };
        let out = cx.board.packets_out();
        if out == 0 || cx.board.is_reno() {
            return false;
        }
        // Not while the sender could send without it.
        if form == ProbeTimeout::Linux3_10 && (cx.may_send_now() || cx.timer.purpose() != TimerPurpose::Retransmit) {
            return false;
        }
        // If the time-out would expire first, the probe takes its place.
        let timeout = self.timeout(form, out, cx.rtt);
        let rto = match form {
            ProbeTimeout::Linux3_10 => cx.timer.expiry().map_or(0, |expiry| expiry.saturating_sub(cx.now.tick)),
            ProbeTimeout::Linux6_1 if advancing => cx.rtt.rto(),
            ProbeTimeout::Linux6_1 => cx.board.head().map_or(0, |head| {
                // Mostly so many ticks are left that their number does not matter.
                let comes_later = cx.rtt.has_ticks_left(timeout, cx.now, head.sent);
                if comes_later { timeout } else { cx.rtt.time_out_left(cx.now, head.sent) }
            }),
        };
        cx.timer.set(TimerPurpose::LossProbe, cx.now, if rto > 0 { timeout.min(rto) } else { timeout });
        true
    }

    /// Whether a new probe has to wait for the outcome of the last one.
    pub fn is_pending(&self) -> bool {
        self.form == Some(ProbeTimeout::Linux6_1) && self.is_out()
    }

    /// Whether a probe is outstanding.
    pub fn is_out(&self) -> bool {
        self.high_seq.is_some()
    }

    /// New data was sent as a probe, up to `nxt`.
    pub fn on_sent_new(&mut self, nxt: u64) {
        if self.form == Some(ProbeTimeout::Linux6_1) {
            (self.high_seq, self.retransmitted) = (Some(nxt), false);
        }
    }

    /// The last segment, which ends at `nxt`, was retransmitted as a probe.
    pub fn on_retransmitted(&mut self, nxt: u64) {
        (self.high_seq, self.retransmitted) = (Some(nxt), true);
    }

    /// A reduction begins: the probe's outcome no longer matters.
    pub fn cancel(&mut self) {
        self.high_seq = None;
    }

    /// Whether the D-SACK of an acknowledgment reports the probe.
    pub fn is_reported(&self, ack: &AckInfo) -> bool {
        ack.duplicate_end == self.high_seq
    }

    /// Processes an acknowledgment of `una`. Returns the outcome of the probe.
    #[inline]
    pub fn on_ack(&mut self, ack: &AckInfo, una: u64) -> ProbeOutcome {
        let Some(high_seq) = self.high_seq.filter(|&seq| una >= seq) else { return ProbeOutcome::NoLoss };
        let nothing_new = !ack.advanced && !ack.data_acked() && !ack.sacked.new;
        let needless = match self.form {
            Some(ProbeTimeout::Linux6_1) => {
                !self.retransmitted || ack.duplicate_end == Some(high_seq) || (nothing_new && !ack.sacked.duplicate)
            }
            _ => nothing_new && una == high_seq,
        };
        if needless {
            self.cancel();
            return ProbeOutcome::NoLoss;
        }
        if una <= high_seq {
            return ProbeOutcome::Ambiguous;
        }
        self.cancel();
        // Data after the probe is acknowledged: the probe filled a hole, unless a D-SACK was reported (3.10).
        match self.form == Some(ProbeTimeout::Linux3_10) && ack.sacked.duplicate {
            true => ProbeOutcome::NoLoss,
            false => ProbeOutcome::Repaired,
        }
    }

    /// Time to wait for an acknowledgment, with `out` segments outstanding.
    fn timeout(&self, form: ProbeTimeout, out: u32, rtt: &RoundTrip) -> Ticks {
        let srtt = rtt.estimator();
        match form {
            ProbeTimeout::Linux3_10 => {
                let alone = if out == 1 { srtt.srtt_eighths(12) + self.delayed_ack } else { 0 };
                srtt.srtt_eighths(16).max(self.min_timeout).max(alone)
            }
            ProbeTimeout::Linux6_1 if !srtt.is_measured() => rtt.rto(),
            ProbeTimeout::Linux6_1 => {
                srtt.two_srtt_ticks() + if out == 1 { self.delayed_ack } else { self.min_timeout }
            }
        }
    }
}

/// Maximum delay of an acknowledgment at the receiver.
const DELAYED_ACK: Duration = Duration::from_millis(200);

/// Minimum time-out of a probe (3.10).
const MIN_TIMEOUT: Duration = Duration::from_millis(10);

/// Margin for timers (6.1).
const MARGIN: Duration = Duration::from_millis(2);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::SackedSegments;

    fn probe(stack: &str) -> LossProbe {
        LossProbe::new(Stack::find(stack).expect("a stack"))
    }

    fn of_data(duplicate_end: Option<u64>) -> AckInfo {
        let sacked = SackedSegments { duplicate: duplicate_end.is_some(), ..SackedSegments::default() };
        AckInfo { advanced: true, sacked, duplicate_end, ..AckInfo::default() }
    }

    #[test]
    fn it_waits_two_round_trips_and_longer_for_a_lone_segment() {
        for (stack, form, waits) in
            [("linux-3.13", ProbeTimeout::Linux3_10, [200, 350]), ("linux-6.1", ProbeTimeout::Linux6_1, [202, 400])]
        {
            let mut rtt = RoundTrip::new(Stack::find(stack).expect("a stack"));
            rtt.sample(rtt.estimator().per_tick() * 100, 1, 1);
            let probe = probe(stack);
            assert_eq!([5, 1].map(|out| probe.timeout(form, out, &rtt)), waits, "{stack}");
        }
    }

    #[test]
    fn a_probe_that_no_duplicate_reports_repaired_a_loss() {
        for stack in ["linux-3.13", "linux-6.1"] {
            let repaired = |ack: AckInfo, una| {
                let mut probe = probe(stack);
                probe.on_retransmitted(5_000);
                (probe.on_ack(&ack, una), probe.is_out())
            };
            assert_eq!(repaired(of_data(None), 4_000), (ProbeOutcome::NoLoss, true), "{stack}: not acknowledged yet");
            assert_eq!(repaired(of_data(None), 5_000), (ProbeOutcome::Ambiguous, true), "{stack}: up to the probe");
            assert_eq!(repaired(of_data(None), 6_000), (ProbeOutcome::Repaired, false), "{stack}");
            assert_eq!(
                repaired(of_data(Some(5_000)), 6_000),
                (ProbeOutcome::NoLoss, false),
                "{stack}: the original arrived too"
            );
        }
    }

    #[test]
    fn new_data_as_a_probe_repairs_nothing_and_the_next_one_waits_for_it() {
        let mut probe = probe("linux-6.1");
        probe.on_sent_new(5_000);
        assert!(probe.is_pending());
        assert_eq!((probe.on_ack(&of_data(None), 5_000), probe.is_out()), (ProbeOutcome::NoLoss, false));
    }
}
