//! Transmissions at the expiry of a timer: the time-out, early retransmit, a tail loss probe, RACK's timer, pacing.
//!
//! Source: Linux `tcp_retransmit_timer`, `tcp_resume_early_retransmit`, `tcp_send_loss_probe`, `tcp_rack_reo_timeout`,
//! `tcp_tsq_write`.

use crate::context::Rexmit;
use crate::control::Control;
use crate::recovery::Recovery;
use crate::timer::TimerPurpose;
use crate::transmission::Transmission;
use crate::{HostTime, Wire};

impl Transmission {
    /// The timer has expired. Returns the transmission that recovery requests in addition.
    #[inline(never)]
    pub fn on_expiry(
        &mut self,
        now: HostTime,
        control: &mut Control,
        recovery: &mut Recovery,
        wire: &mut impl Wire,
    ) -> Rexmit {
        match self.timer.purpose() {
            TimerPurpose::Retransmit => self.on_retransmission_timeout(now, control, recovery, wire),
            TimerPurpose::LossProbe => self.send_loss_probe(now, control, recovery, wire),
            TimerPurpose::EarlyRetransmit => {
                // The delay is over: the first hole counts as lost.
                self.resume_timer(now);
                return recovery.on_early_retransmit(&mut self.cx(now, control));
            }
            TimerPurpose::Reordering => {
                // RACK's reordering window has passed for some segment.
                let cwnd = control.window.cwnd;
                if recovery.episode.on_reordering_timeout(&mut self.cx(now, control)) {
                    self.notify_losses(now, recovery.state(), cwnd, control);
                    self.notify_state(now, recovery.state(), control);
                    return Rexmit::Lost;
                }
            }
        }
        Rexmit::Nothing
    }

    /// Sends segments that were held back (by pacing or TSQ): retransmissions first, then new data.
    #[inline(never)]
    pub fn send_held(&mut self, now: HostTime, control: &mut Control, recovery: &mut Recovery, wire: &mut impl Wire) {
        let cwnd = control.window.cwnd;
        if self.board.lost_out > self.board.retrans_out && self.board.in_flight() < cwnd {
            self.retransmit_lost(now, cwnd, (control, recovery), wire);
        }
        self.send_new(now, control, recovery, wire);
    }

    /// The retransmission time-out.
    pub fn on_retransmission_timeout(
        &mut self,
        now: HostTime,
        control: &mut Control,
        recovery: &mut Recovery,
        wire: &mut impl Wire,
    ) {
        if self.board.packets_out() == 0 {
            return self.timer.stop();
        }
        self.output.stats.timeouts += 1;
        self.rtt.cancel_timing();
        let cwnd = control.window.cwnd;
        recovery.on_time_out(&mut self.cx(now, control));
        self.notify_losses(now, recovery.state(), cwnd, control);
        self.notify_state(now, recovery.state(), control);
        self.retransmit((0, 1), now, &mut recovery.episode, wire);
        recovery.episode.timeouts += 1;
        self.rtt.back_off();
        self.timer.restart(now, &self.rtt);
    }

    /// Sends a tail loss probe: new data, else the last segment again.
    fn send_loss_probe(&mut self, now: HostTime, control: &mut Control, recovery: &mut Recovery, wire: &mut impl Wire) {
        let episode = &mut recovery.episode;
        if self.board.packets_out() == 0 {
            return self.timer.stop();
        }
        if episode.probe.is_pending() {
            return self.resume_timer(now);
        }
        if let Some(len) = self.queue.next_len(self.right_edge()) {
            if self.is_held(now) {
                return self.resume_timer(now);
            }
            self.send_one(len, now, (control, episode), wire);
            episode.probe.on_sent_new(self.queue.nxt());
        } else if !episode.probe.is_out() {
            self.retransmit_uncounted((self.board.packets_out() as usize - 1, 1), now, episode, wire);
            episode.probe.on_retransmitted(self.queue.nxt());
        }
        // The time-out runs from the probe on.
        self.timer.restart(now, &self.rtt);
    }
}
