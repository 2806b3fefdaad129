//! Dispatch of a sender's callbacks to its congestion control.

use super::{Ack, AnyCc, BurstSize, CongestionEvent, Flight, LostSegment, Needs, Window, WindowEvent};
use crate::stack::Stack;
use crate::state::CaState;
use sojourn_aqm::{Instant, Rate, Rng};

impl AnyCc {
    /// Whether this is Reno, whose growth depends only on the number of acknowledged segments.
    #[inline(always)]
    pub(crate) fn is_reno(&self) -> bool {
        matches!(self, Self::Reno(_))
    }

    /// See [`CongestionControl::needs`](super::CongestionControl::needs).
    pub fn needs(&self) -> Needs {
        self.control().needs()
    }

    /// See [`CongestionControl::attach`](super::CongestionControl::attach).
    pub fn attach(&mut self, stack: &Stack, is_paced: bool) {
        self.control_mut().attach(stack, is_paced);
    }

    /// See [`CongestionControl::attach_quic`](super::CongestionControl::attach_quic).
    pub fn attach_quic(&mut self) {
        self.control_mut().attach_quic();
    }

    /// See [`CongestionControl::observe`](super::CongestionControl::observe).
    #[cold]
    pub fn observe(&mut self, flight: &Flight) {
        self.control_mut().observe(flight);
    }

    /// See [`CongestionControl::seed`](super::CongestionControl::seed).
    pub fn seed(&mut self, rng: Rng) {
        self.control_mut().seed(rng);
    }

    /// See [`CongestionControl::without_ecn`](super::CongestionControl::without_ecn).
    pub fn without_ecn(&self) -> Option<Self> {
        self.control().without_ecn()
    }

    /// Whether, without SACK, the first partial acknowledgment ends recovery.
    pub fn partial_ack_ends_recovery(&self) -> bool {
        self.needs().partial_ack_ends_recovery
    }

    /// See [`CongestionControl::burst`](super::CongestionControl::burst).
    pub fn burst(&self, rate: Option<Rate>) -> BurstSize {
        self.control().burst(rate)
    }

    /// Slow-start threshold after a congestion event; unchanged for a control that steers.
    pub fn ssthresh(&mut self, window: &Window) -> u32 {
        if let Some(control) = self.window_control() {
            return control.ssthresh(window);
        }
        if let Some(control) = self.control_mut().steering() {
            control.before_reduction(window);
        }
        window.ssthresh
    }

    /// Threshold after a loss, if the control responds to losses and to marks differently.
    pub fn ssthresh_on_loss(&mut self, window: &Window) -> Option<u32> {
        self.window_control()?.event_ssthresh(window, CongestionEvent::Loss)
    }

    /// Threshold after a retransmission time-out.
    pub fn timeout_ssthresh(&mut self, window: &Window) -> u32 {
        let own = self.window_control().and_then(|control| control.event_ssthresh(window, CongestionEvent::TimeOut));
        own.unwrap_or_else(|| self.ssthresh(window))
    }

    /// Reports any acknowledgment to a control with [`Needs::reports`].
    pub fn on_report(&mut self, window: &mut Window, ack: &Ack) {
        let reports = self.needs().reports;
        if let Some(control) = self.window_control().filter(|_| reports) {
            control.on_ack(window, ack);
        }
    }

    /// Offers growth to a control with [`Needs::grows_unlimited`] when the window was not the limit.
    #[cold]
    pub fn on_unlimited_ack(&mut self, window: &mut Window, ack: impl Fn() -> Ack) {
        let grows = self.needs().grows_unlimited;
        if let Some(control) = self.window_control().filter(|_| grows) {
            control.grow(window, &ack(), false);
        }
    }

    /// See [`WindowControl::state_changed`](super::WindowControl::state_changed).
    pub fn state_changed(&mut self, window: &mut Window, state: CaState, now: Instant, nxt: u64) {
        if let Some(control) = self.window_control() {
            control.state_changed(window, state, now, nxt);
        }
    }

    /// See [`WindowControl::event`](super::WindowControl::event).
    pub fn event(&mut self, window: &mut Window, event: WindowEvent) {
        if let Some(control) = self.window_control() {
            control.event(window, event);
        }
    }

    /// See [`WindowControl::undo_from`](super::WindowControl::undo_from).
    pub fn undo_from(&mut self, window: &Window, prior_cwnd: u32) -> Option<u32> {
        self.window_control()?.undo_from(window, prior_cwnd)
    }

    /// Window after a reduction turned out to be spurious.
    pub fn undo_cwnd(&mut self, window: &Window) -> u32 {
        if let Some(control) = self.window_control() {
            return control.undo_cwnd(window);
        }
        self.control_mut().steering().map_or(window.cwnd, |control| control.undo_cwnd(window))
    }

    /// Called when the connection is established and its first RTT is known, before any data is sent.
    pub fn on_established(&mut self, flight: &mut Flight) {
        let control = self.control_mut();
        if let Some(control) = control.steering() {
            control.on_established(flight);
        } else if let Some(control) = control.deliveries() {
            control.on_established(flight);
        }
    }

    /// See [`DeliveryControl::on_delivered`](super::DeliveryControl::on_delivered).
    pub fn on_delivered(&mut self, flight: &mut Flight, packets: u32, ce: u32) {
        if let Some(control) = self.control_mut().deliveries() {
            control.on_delivered(flight, packets, ce);
        }
    }

    /// See [`DeliveryControl::on_sent`](super::DeliveryControl::on_sent).
    #[cold]
    pub fn on_sent(&mut self, flight: &mut Flight, bytes: u32) {
        if let Some(control) = self.control_mut().deliveries() {
            control.on_sent(flight, bytes);
        }
    }

    /// See [`SteeringControl::on_state`](super::SteeringControl::on_state).
    pub fn on_state(&mut self, flight: &mut Flight, state: CaState) {
        if let Some(control) = self.control_mut().steering() {
            control.on_state(flight, state);
        }
    }

    /// See [`SteeringControl::on_loss`](super::SteeringControl::on_loss).
    pub fn on_loss(&mut self, flight: &mut Flight, loss: &LostSegment) {
        if let Some(control) = self.control_mut().steering() {
            control.on_loss(flight, loss);
        }
    }

    /// See [`SteeringControl::probe_repaired`](super::SteeringControl::probe_repaired).
    pub fn probe_repaired(&mut self, flight: &mut Flight, is_app_limited: bool) {
        if let Some(control) = self.control_mut().steering() {
            control.probe_repaired(flight, is_app_limited);
        }
    }

    /// See [`SteeringControl::on_restart`](super::SteeringControl::on_restart).
    pub fn on_restart(&mut self, flight: &mut Flight) {
        if let Some(control) = self.control_mut().steering() {
            control.on_restart(flight);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CustomControl, NAMES};
    use super::*;

    #[test]
    fn every_registered_control_has_one_face_the_one_that_it_needs() {
        for (name, _) in NAMES {
            let cc = AnyCc::new(name).expect("a registered name");
            // The constructor asserts that the control implements exactly one interface.
            let own = CustomControl::new(cc.control().clone_box());
            let needs = cc.needs();
            assert_eq!(own.control().needs(), needs, "{name}");
            assert!(needs.samples || own.clone().control_mut().deliveries().is_none(), "{name}");
            assert!(!(needs.grows_unlimited && needs.steers), "{name}");
        }
    }
}
