//! Tail loss probe: when acknowledgments stop coming, one segment asks for another before the time-out does.
//!
//! Source: Linux `tcp_schedule_loss_probe`, `tcp_send_loss_probe`, `tcp_process_tlp_ack`; RFC 8985 §7.

use super::ack_3_10::Findings;
use super::sender::{Sender, State};
use super::stack::ProbeTimeout;
use super::timer::Timer;
use super::{Ticks, Wire};
use sojourn_aqm::Duration;

/// The probe that is out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    /// `snd_nxt` when it was sent; `None` if there is none.
    pub high_seq: Option<u64>,
    /// It was a retransmission.
    pub retransmitted: bool,
}

impl Probe {
    pub fn forget(&mut self) {
        self.high_seq = None;
    }
}

impl Sender {
    /// Sets the timer for a probe in place of the time-out; `advancing` if the time-out would start anew.
    /// Returns whether a probe makes sense.
    pub(super) fn schedule_loss_probe(&mut self, now: Ticks, advancing: bool) -> bool {
        let Some(form) = self.stack.loss_probe else { return false };
        let out = self.board.packets_out();
        let state_fits = match form {
            ProbeTimeout::Linux3_10 => self.state == State::Open,
            ProbeTimeout::Linux6_1 => matches!(self.state, State::Open | State::Cwr),
        };
        if out == 0 || !self.sack || !state_fits {
            return false;
        }
        let delayed_ack = self.clock.span(DELAYED_ACK);
        let timeout = match form {
            // Not while the sender could send without it.
            ProbeTimeout::Linux3_10 if self.may_send_now() || self.timer != Timer::Retransmit => return false,
            ProbeTimeout::Linux3_10 => {
                let alone = if out == 1 { self.rtt.srtt_eighths(12) + delayed_ack } else { 0 };
                self.rtt.srtt_eighths(16).max(self.clock.span(LEAST_TIMEOUT)).max(alone)
            }
            ProbeTimeout::Linux6_1 if !self.rtt.is_measured() => self.rtt.rto(),
            ProbeTimeout::Linux6_1 if out == 1 => self.rtt.two_srtt_up() + delayed_ack,
            ProbeTimeout::Linux6_1 => self.rtt.two_srtt_up() + self.clock.span(MARGIN),
        };
        // The time-out may come first: the probe takes its place.
        let rto = match form {
            ProbeTimeout::Linux3_10 => self.deadline.map_or(0, |expiry| expiry.saturating_sub(now)),
            ProbeTimeout::Linux6_1 if advancing => self.rtt.rto(),
            ProbeTimeout::Linux6_1 => self.rto_left(now),
        };
        self.set_timer(Timer::LossProbe, now, if rto > 0 { timeout.min(rto) } else { timeout });
        true
    }

    /// The probe's time has come: something new, else the last segment again.
    #[inline(never)]
    pub(super) fn send_loss_probe(&mut self, now: Ticks, wire: &mut impl Wire) {
        if self.board.packets_out() == 0 {
            self.deadline = None;
            return;
        }
        let one_at_a_time = self.stack.loss_probe == Some(ProbeTimeout::Linux6_1);
        if one_at_a_time && self.probe.high_seq.is_some() {
            self.rearm_after_other_timer(now);
            return;
        }
        if self.can_send_beyond_window() {
            self.send_one(now, wire);
            if one_at_a_time {
                self.probe = Probe { high_seq: Some(self.queue.nxt()), retransmitted: false };
            }
        } else if self.probe.high_seq.is_none() {
            let last = self.board.packets_out() as usize - 1;
            self.retransmit_uncounted(last, now, wire);
            self.probe = Probe { high_seq: Some(self.queue.nxt()), retransmitted: true };
        }
        // The time-out runs from the probe.
        self.rearm(now);
    }

    /// An acknowledgment while a probe is out: did it repair a loss?
    pub(super) fn process_probe_ack(&mut self, ack: &Findings) {
        let Some(high_seq) = self.probe.high_seq.filter(|&seq| self.queue.una() >= seq) else { return };
        let nothing_new = !ack.advanced && !ack.data_acked() && !ack.sacked.new;
        let needless = match self.stack.loss_probe {
            Some(ProbeTimeout::Linux6_1) => {
                !self.probe.retransmitted
                    || ack.duplicate_end == Some(high_seq)
                    || (nothing_new && !ack.sacked.duplicate)
            }
            _ => nothing_new && self.queue.una() == high_seq,
        };
        if needless {
            self.probe.forget();
        } else if self.queue.una() > high_seq {
            self.probe.forget();
            let duplicate_counts = self.stack.loss_probe == Some(ProbeTimeout::Linux3_10);
            if duplicate_counts && ack.sacked.duplicate {
                return;
            }
            // Data beyond the probe is acknowledged and no duplicate was reported: the probe filled a hole.
            self.init_reduction(true);
            self.state = State::Cwr;
            self.end_reduction();
            self.state = State::Open;
            self.keep_open();
        }
    }
}

/// A receiver may hold an acknowledgment back for this long.
const DELAYED_ACK: Duration = Duration::from_millis(200);

/// Shortest time-out of a probe (3.10).
const LEAST_TIMEOUT: Duration = Duration::from_millis(10);

/// What a timer needs at least (6.1).
const MARGIN: Duration = Duration::from_millis(2);
