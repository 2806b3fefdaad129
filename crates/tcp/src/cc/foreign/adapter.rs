//! A user's control as a congestion control of a sender: translates callbacks and checks results.

use super::call::{Call, CallSet, CongestionCause, DeliveryCounts, SsthreshCause};
use super::view::{AckView, FlightView, LossView, NONE, SampleView, time};
use super::{ControlDefinition, ControlHost, Fault, ForeignControl};
use crate::cc::{
    Ack, AnyCc, BurstSize, CongestionControl, CongestionEvent, DeliveryControl, Flight, LostSegment, Needs,
    SteeringControl, Window, WindowControl, WindowEvent,
};
use crate::rate_sample::RateSample;
use crate::segmentation::MIN_BURST;
use crate::stack::Stack;
use crate::state::CaState;
use sojourn_aqm::{Instant, Rate, Rng};
use std::sync::Arc;

/// A user's control in a sender. The control is created by its first call, when the connection is established.
///
/// After a fault no more calls are made, and the window stays as it is, except that a reduction halves it: the run ends
/// soon.
#[derive(Debug)]
pub struct ForeignAdapter {
    definition: Arc<dyn ControlDefinition>,
    calls: CallSet,
    needs: Needs,
    host: ControlHost,
    view: FlightView,
    /// Payload of a full segment before the control has changed it.
    full_mss: u32,
    control: Option<Box<dyn ForeignControl>>,
    has_failed: bool,
}

impl ForeignAdapter {
    /// A control of `definition`, not created yet.
    pub(super) fn new(definition: Arc<dyn ControlDefinition>) -> Self {
        let needs = definition.needs();
        let host = ControlHost {
            random: 0,
            stack: "",
            ticks_per_second: 1_000,
            is_quic: false,
            is_paced: needs.paces,
            ecn: needs.ecn,
        };
        let (calls, view) = (definition.calls(), FlightView::EMPTY);
        Self { definition, calls, needs, host, view, full_mss: 0, control: None, has_failed: false }
    }

    /// Makes a call; none if the control does not take it, or has failed.
    fn call(&mut self, call: Call) -> Option<u32> {
        if self.has_failed || !self.calls.has(call.kind()) {
            return None;
        }
        let before = self.view;
        self.full_mss = self.full_mss.max(before.mss);
        let result = self.call_checked(call, &before);
        if let Err(fault) = &result {
            self.view = before;
            self.fail(call.kind().name(), fault);
        }
        result.ok()
    }

    fn call_checked(&mut self, call: Call, before: &FlightView) -> Result<u32, Fault> {
        if self.control.is_none() {
            let created = self.definition.create(&self.host);
            self.control = Some(created.inspect_err(|fault| self.fail("create", fault))?);
        }
        let control = self.control.as_mut().expect("it was created");
        let value = control.call(call, &mut self.view)?;
        let after = &self.view;
        self.check(call, before, value).map_err(Fault::Text)?;
        let &FlightView { cwnd, ssthresh, cwnd_cnt, bytes_acked, pacing_rate, burst, mss, flags, .. } = after;
        self.view = FlightView { cwnd, ssthresh, cwnd_cnt, bytes_acked, pacing_rate, burst, mss, flags, ..*before };
        Ok(value)
    }

    /// Checks the changes that a call made, and its value.
    fn check(&self, call: Call, before: &FlightView, value: u32) -> Result<(), String> {
        let after = &self.view;
        let in_range = |name: &str, value: u32, most: u32| match value {
            n if (1..=most).contains(&n) => Ok(()),
            n => Err(format!("{name} is {n}; keep it from 1 to {most}")),
        };
        in_range("cwnd", after.cwnd, MAX_CWND)?;
        if after.ssthresh > Window::INFINITE_SSTHRESH || after.ssthresh == 0 && !self.needs.steers {
            return in_range("ssthresh", after.ssthresh, Window::INFINITE_SSTHRESH);
        }
        in_range("mss", after.mss, self.full_mss)?;
        match call {
            Call::Ssthresh(SsthreshCause::Loss | SsthreshCause::TimeOut) if value == 0 => {}
            Call::Ssthresh(_) if !self.needs.steers => in_range("its value", value, Window::INFINITE_SSTHRESH)?,
            Call::Undo | Call::MinCwnd => in_range("its value", value, MAX_CWND)?,
            _ => {}
        }
        if after.pacing_rate == 0 {
            return Err("pacing_rate is 0; give a rate in bit/s, or leave it unpaced".to_string());
        }
        if matches!(call, Call::Ssthresh(_) | Call::Undo | Call::MinCwnd) {
            let window = |view: &FlightView| (view.cwnd, view.ssthresh, view.cwnd_cnt, view.mss);
            if window(after) != window(before) {
                return Err("changes the window; return the value instead".to_string());
            }
        }
        if !self.needs.steers && (after.pacing_rate, after.mss) != (before.pacing_rate, before.mss) {
            return Err("sets pacing_rate or mss; only a control with `ack` does that".to_string());
        }
        Ok(())
    }

    /// Records a fault and disables the control; the first one counts.
    fn fail(&mut self, call: &str, fault: &Fault) {
        if let (Fault::Text(text), false) = (fault, self.has_failed) {
            let at = Instant::from_nanos(self.view.now.max(0) as u64).as_secs_f64();
            self.definition.record_fault(format!("{}: {call}: {text} (at {at} s)", self.definition.spelling()));
        }
        self.has_failed = true;
    }

    /// Makes a call that may change the window.
    fn call_with(&mut self, window: &mut Window, call: Call) {
        if self.calls.has(call.kind()) {
            self.view.load_window(window);
            self.call(call);
            self.view.store_window(window);
        }
    }

    /// Makes a call that may change all that a control may change.
    fn call_in(&mut self, flight: &mut Flight, call: Call) {
        self.view.load(flight);
        if self.calls.has(call.kind()) {
            self.call(call);
            self.view.store(flight);
        }
    }

    /// Asks for a value that depends on the window; none if the control does not take the call, or has failed.
    fn value_of(&mut self, window: &Window, call: Call) -> Option<u32> {
        self.view.load_window(window);
        self.call(call)
    }

    /// [`Self::value_of`], with the default.
    fn value_or_default(&mut self, window: &Window, call: Call) -> u32 {
        self.value_of(window, call).unwrap_or_else(|| call.default_value(&self.view, self.needs.steers))
    }

    fn set_time(&mut self, now: Instant) {
        self.view.now = time(now);
    }
}

impl Clone for ForeignAdapter {
    fn clone(&self) -> Self {
        let control = self.control.as_ref().map(|control| control.copy());
        let definition = Arc::clone(&self.definition);
        let &Self { calls, needs, host, view, full_mss, has_failed, .. } = self;
        let mut copy = Self { definition, calls, needs, host, view, full_mss, control: None, has_failed };
        match control {
            None => {}
            Some(Ok(control)) => copy.control = Some(control),
            Some(Err(fault)) => copy.fail("clone", &fault),
        }
        copy
    }
}

impl CongestionControl for ForeignAdapter {
    fn needs(&self) -> Needs {
        self.needs
    }

    fn attach(&mut self, stack: &Stack, is_paced: bool) {
        self.host.stack = stack.name();
        self.host.ticks_per_second = stack.clock().ticks(Instant::from_nanos(1_000_000_000)) as u32;
        self.host.is_paced |= is_paced;
    }

    fn attach_quic(&mut self) {
        (self.host.is_quic, self.host.is_paced) = (true, true);
    }

    fn seed(&mut self, rng: Rng) {
        self.host.random = rng.state();
    }

    fn without_ecn(&self) -> Option<AnyCc> {
        if !self.needs.ecn {
            return None;
        }
        let mut copy = self.clone();
        copy.host.ecn = false;
        copy.needs = Needs { ecn: false, accurate_ecn: false, ect1: false, echo_per_packet: false, ..self.needs };
        Some(AnyCc::custom(copy))
    }

    fn burst(&self, _: Option<Rate>) -> BurstSize {
        match self.view.burst {
            0 => BurstSize::AtLeast(MIN_BURST),
            n if self.view.flags & FlightView::EXACT_BURST != 0 => BurstSize::Exactly(n),
            n => BurstSize::AtLeast(n),
        }
    }

    fn observe(&mut self, flight: &Flight) {
        self.view.load(flight);
    }

    fn window(&mut self) -> Option<&mut dyn WindowControl> {
        if self.needs.steers { None } else { Some(self) }
    }

    fn steering(&mut self) -> Option<&mut dyn SteeringControl> {
        if self.needs.steers { Some(self) } else { None }
    }

    fn deliveries(&mut self) -> Option<&mut dyn DeliveryControl> {
        Some(self)
    }
}

impl DeliveryControl for ForeignAdapter {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        // Without reports, `WindowControl::on_ack` gets the same acknowledgment; a control that steers gets samples.
        if self.needs.reports && !self.needs.steers {
            let view = AckView::load(ack, false, &mut self.view);
            self.call_with(window, Call::Acked(view));
        }
    }

    fn on_established(&mut self, flight: &mut Flight) {
        self.call_in(flight, Call::Start);
    }

    fn on_delivered(&mut self, flight: &mut Flight, packets: u32, ce: u32) {
        self.call_in(flight, Call::Delivered(DeliveryCounts { packets, ce }));
    }

    fn on_sent(&mut self, flight: &mut Flight, bytes: u32) {
        self.call_in(flight, Call::Sent(bytes));
    }
}

impl WindowControl for ForeignAdapter {
    fn ssthresh(&mut self, window: &Window) -> u32 {
        self.value_or_default(window, Call::Ssthresh(SsthreshCause::Reduction))
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack, is_limited: bool) {
        let view = AckView::load(ack, is_limited, &mut self.view);
        self.call_with(window, Call::Grow(view));
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let view = AckView::load(ack, false, &mut self.view);
        self.call_with(window, if self.needs.reports { Call::Report(view) } else { Call::Acked(view) });
    }

    fn event_ssthresh(&mut self, window: &Window, cause: CongestionEvent) -> Option<u32> {
        if !self.definition.distinguishes_causes() {
            return None;
        }
        let cause = match cause {
            CongestionEvent::Loss => SsthreshCause::Loss,
            CongestionEvent::TimeOut => SsthreshCause::TimeOut,
        };
        self.value_of(window, Call::Ssthresh(cause)).filter(|&value| value > 0)
    }

    fn state_changed(&mut self, window: &mut Window, state: CaState, now: Instant, nxt: u64) {
        self.set_time(now);
        self.view.nxt = nxt;
        self.call_with(window, Call::State(state));
        self.view.state = state as u32;
    }

    fn event(&mut self, window: &mut Window, event: WindowEvent) {
        let call = match event {
            WindowEvent::Restarted { now, last_sent } => {
                self.set_time(now);
                Call::Idle(time(last_sent))
            }
            WindowEvent::Reduced => Call::Reduced,
            WindowEvent::TimedOut => Call::TimedOut,
        };
        self.call_with(window, call);
    }

    fn min_cwnd(&mut self, window: &Window) -> u32 {
        self.value_or_default(window, Call::MinCwnd)
    }

    fn undo_from(&mut self, window: &Window, prior_cwnd: u32) -> Option<u32> {
        self.view.prior_cwnd = prior_cwnd;
        let value = self.value_of(window, Call::Undo);
        self.view.prior_cwnd = 0;
        value
    }

    fn undo_cwnd(&mut self, window: &Window) -> u32 {
        self.value_or_default(window, Call::Undo)
    }
}

impl SteeringControl for ForeignAdapter {
    fn on_established(&mut self, flight: &mut Flight) {
        self.call_in(flight, Call::Start);
    }

    fn steer(&mut self, flight: &mut Flight, sample: &RateSample) {
        self.call_in(flight, Call::Ack(SampleView::load(sample)));
    }

    fn on_loss(&mut self, flight: &mut Flight, loss: &LostSegment) {
        self.call_in(flight, Call::Lost(LossView::load(loss)));
    }

    fn probe_repaired(&mut self, flight: &mut Flight, is_app_limited: bool) {
        self.call_in(flight, Call::Repaired(is_app_limited.into()));
    }

    fn before_reduction(&mut self, window: &Window) {
        self.value_of(window, Call::Ssthresh(SsthreshCause::Reduction));
    }

    fn on_state(&mut self, flight: &mut Flight, state: CaState) {
        self.call_in(flight, Call::State(state));
        let cause = match state {
            CaState::Open | CaState::Disorder => return,
            CaState::Cwr => CongestionCause::Ecn,
            CaState::Recovery => CongestionCause::Loss,
            CaState::Loss if self.host.is_quic => CongestionCause::Persistent,
            CaState::Loss => CongestionCause::TimeOut,
        };
        self.call_in(flight, Call::Congestion(cause));
    }

    fn on_restart(&mut self, flight: &mut Flight) {
        self.call_in(flight, Call::Idle(NONE));
    }

    fn undo_cwnd(&mut self, window: &Window) -> u32 {
        self.value_or_default(window, Call::Undo)
    }
}

/// Maximum window in segments.
const MAX_CWND: u32 = 1 << 30;
