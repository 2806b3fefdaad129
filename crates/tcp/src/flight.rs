//! Interface to controls that need samples: notifications, and the values that they may set.
//!
//! Source: Linux `tcp_ack`, `tcp_cong_control`, `tcp_update_pacing_rate`; `tcp_rate_check_app_limited`.

use crate::ack::AckInfo;
use crate::ack::ProbeOutcome;
use crate::cc::{AnyCc, Flight};
use crate::context::PriorState;
use crate::control::Control;
use crate::pacing;
use crate::rate_sample::SampleInput;
use crate::state::CaState;
use crate::transmission::Transmission;
use crate::{Header, HostTime, Wire};
use sojourn_aqm::Duration;

impl Transmission {
    /// Calls the control with the state of the connection, and applies the values that it sets.
    #[inline(never)]
    pub fn with_control(
        &mut self,
        now: HostTime,
        state: CaState,
        control: &mut Control,
        call: impl FnOnce(&mut AnyCc, &mut Flight),
    ) {
        self.with_control_inline(now, state, control, call);
    }

    /// [`Self::with_control`], compiled into the caller.
    #[inline(always)]
    fn with_control_inline(
        &mut self,
        now: HostTime,
        state: CaState,
        control: &mut Control,
        call: impl FnOnce(&mut AnyCc, &mut Flight),
    ) {
        let Some(sampler) = &mut self.sampler else { return };
        let (in_flight, steers) = (self.board.in_flight(), control.steers());
        let is_cwnd_limited = control.is_limited(in_flight, 0);
        let Control { cc, window, .. } = control;
        let mut flight = Flight {
            now: now.at,
            state,
            una: self.queue.una(),
            nxt: self.queue.nxt(),
            packets_out: self.board.packets_out(),
            in_flight,
            is_cwnd_limited,
            delivered: sampler.delivered(),
            delivered_ce: sampler.delivered_ce(),
            delivered_at: sampler.delivered_at(),
            lost: self.board.lost_total,
            is_app_limited: sampler.is_app_limited(),
            srtt: Duration::from_nanos(self.rtt.srtt_us_x8() as i64 * 125),
            min_rtt: sampler.min_rtt(),
            next_departure: self.pacer.as_ref().map_or(now.at, |pacer| pacer.departure()),
            pacing_rate: self.pacer.as_ref().and_then(|pacer| pacer.rate()),
            window,
            limits_by_application: false,
        };
        call(cc, &mut flight);
        let (rate, limits) = (flight.pacing_rate, flight.limits_by_application);
        self.queue.set_mss(flight.window.mss);
        if let Some(pacer) = self.pacer.as_mut().filter(|_| steers) {
            pacer.set_rate(rate);
        }
        if limits {
            sampler.mark_app_limited(in_flight);
        }
    }

    /// Shows the state of the connection to a control that observes it.
    #[inline]
    pub fn show_flight(&mut self, now: HostTime, state: CaState, control: &mut Control) {
        if control.wants_flight() {
            self.with_control(now, state, control, |cc, flight| cc.observe(flight));
        }
    }

    /// Notifies the control of the bytes that were sent since the last notification, if any.
    #[cold]
    #[inline(never)]
    pub fn notify_sent(&mut self, now: HostTime, state: CaState, control: &mut Control) {
        let bytes = self.sampler.as_mut().map_or(0, |sampler| sampler.take_sent());
        if bytes > 0 {
            self.with_control(now, state, control, |cc, flight| cc.on_sent(flight, bytes));
        }
    }

    /// Notifies a steering control of a new state.
    pub fn notify_state(&mut self, now: HostTime, state: CaState, control: &mut Control) {
        if control.needs_state_notification(state) {
            self.with_control(now, state, control, |cc, flight| cc.on_state(flight, state));
        }
    }

    /// Notifies a control that wants losses of each segment that was marked lost; `cwnd` is the window before that.
    #[inline]
    pub fn notify_losses(&mut self, now: HostTime, state: CaState, cwnd: u32, control: &mut Control) {
        if control.wants_losses() {
            self.notify_each_loss(now, state, cwnd, control);
        }
    }

    #[inline(never)]
    fn notify_each_loss(&mut self, now: HostTime, state: CaState, cwnd: u32, control: &mut Control) {
        let Some(sampler) = &mut self.sampler else { return };
        let losses = sampler.take_lost(&self.board);
        if losses.is_empty() {
            return;
        }
        let after = std::mem::replace(&mut control.window.cwnd, cwnd);
        for loss in &losses {
            self.with_control(now, state, control, |cc, flight| cc.on_loss(flight, loss));
        }
        control.window.cwnd = after;
    }

    /// Notifies the control that a loss probe has repaired a loss.
    #[cold]
    pub fn notify_repair(&mut self, now: HostTime, state: CaState, control: &mut Control) {
        if control.wants_losses() {
            let limited = self.sampler.as_ref().is_some_and(|sampler| sampler.original_app_limited());
            self.with_control(now, state, control, |cc, flight| cc.probe_repaired(flight, limited));
        }
    }

    /// Notifies a steering control that data is sent into an empty network.
    #[cold]
    #[inline(never)]
    pub fn notify_resumed(&mut self, now: HostTime, state: CaState, control: &mut Control) {
        self.with_control(now, state, control, |cc, flight| cc.on_restart(flight));
    }

    /// Notes whether the timestamp of an acknowledgment is newer, for accurate ECN.
    #[cold]
    #[inline(never)]
    pub fn note_timestamp(&mut self, header: &Header) {
        if let Some(counter) = self.ecn.counter() {
            counter.is_newer_timestamp = self.output.is_newer(header.ts_val);
        }
    }

    /// Counts the packets that an acknowledgment delivered, and their marks.
    #[inline(always)]
    pub fn count_delivery(
        &mut self,
        now: HostTime,
        header: &Header,
        (ack, state): (&mut AckInfo, CaState),
        control: &mut Control,
    ) {
        match self.ecn.counter() {
            Some(counter) => {
                ack.ce = counter.on_ack(header.flags, ack.delivered, ack.forward_progress());
                ack.ece = ack.ce > 0;
            }
            // Classic ECN (RFC 3168) does not report the number of marks: an echo counts for all packets.
            None => ack.ce = if ack.ece { ack.delivered } else { 0 },
        }
        let (packets, ce) = (ack.delivered, ack.ce);
        if let Some(sampler) = &mut self.sampler {
            sampler.count(packets, ce);
            if control.wants_deliveries() {
                self.with_control(now, state, control, |cc, flight| cc.on_delivered(flight, packets, ce));
            }
        }
    }

    /// Takes the rate sample of an acknowledgment; a steering control gets it.
    pub fn take_rate_sample(
        &mut self,
        now: HostTime,
        before: &PriorState,
        (ack, state): (&AckInfo, CaState),
        control: &mut Control,
    ) {
        let cwnd = control.window.cwnd;
        self.notify_losses(now, state, cwnd, control);
        let Some(sampler) = &mut self.sampler else { return };
        let short = self.queue.una() - before.una < control.window.mss as u64;
        let context = SampleInput {
            prior_in_flight: before.in_flight,
            losses: (self.board.lost_total - before.lost) as u32,
            lost: self.board.lost_total,
            acks_probe: ack.probe == ProbeOutcome::Ambiguous,
            rtt: ack.sample_rtt(now, &self.rtt),
            lone_runt: short && before.sacked == 0 && ack.acks_one_original(),
        };
        let sample = sampler.generate(now.at, ack.delivered, ack.ce, &context);
        if control.steers() {
            self.notify_state(now, state, control);
            self.with_control_inline(now, state, control, |cc, flight| cc.steer(flight, &sample));
        }
    }

    /// The pacing rate follows the window of a control that does not set the rate.
    #[inline]
    pub fn follow_window(&mut self, control: &Control) {
        match &mut self.pacer {
            Some(pacer) if !control.steers() => {
                pacer.follow_window(&control.window, self.board.packets_out(), &self.rtt);
            }
            None if self.bursts.follow_rate() => {
                self.rate = pacing::bytes_per_s(&control.window, self.board.packets_out(), &self.rtt);
            }
            _ => {}
        }
    }

    /// The application is about to write. If less than a segment is unsent, the window has room and no retransmission
    /// is pending, the flow was application-limited (`tcp_rate_check_app_limited`).
    pub fn check_application(&mut self, now: HostTime, control: &Control, wire: &impl Wire) {
        let is_idle_below = self.is_idle_below(now, wire);
        let Some(sampler) = &mut self.sampler else { return };
        let in_flight = self.board.in_flight();
        let idle = is_idle_below && self.queue.waiting_bytes() < control.window.mss as u64;
        if idle && in_flight < control.window.cwnd && self.board.lost_out <= self.board.retrans_out {
            sampler.mark_app_limited(in_flight);
        }
    }
}
