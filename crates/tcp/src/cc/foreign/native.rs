//! A control of the registry behind the calls of a user's control.

use super::call::{Call, CallKind, CallSet};
use super::view::FlightView;
use super::{ControlDefinition, ControlHost, Fault, ForeignControl};
use crate::cc::{AnyCc, BurstSize, Needs, WindowEvent};
use crate::segmentation::MIN_BURST;
use crate::stack::Stack;
use sojourn_aqm::{Instant, Rng};
use std::sync::OnceLock;

/// A control of the registry as if it were a user's.
#[derive(Debug)]
pub struct NativeDefinition {
    cc: AnyCc,
    spelling: String,
    fault: OnceLock<String>,
}

impl NativeDefinition {
    /// The control called `name`, if it is registered.
    pub fn find(name: &str) -> Option<Self> {
        Some(Self::new(AnyCc::new(name)?, name))
    }

    /// `cc` in its initial state; `spelling` is used in messages.
    pub fn new(cc: AnyCc, spelling: &str) -> Self {
        Self { cc, spelling: spelling.to_string(), fault: OnceLock::new() }
    }
}

impl ControlDefinition for NativeDefinition {
    fn spelling(&self) -> &str {
        &self.spelling
    }

    fn needs(&self) -> Needs {
        // `NativeControl` builds each callback's arguments from the whole view.
        Needs { flight: true, ..self.cc.needs() }
    }

    fn calls(&self) -> CallSet {
        CallSet::of(CallKind::ALL.iter().copied())
    }

    fn distinguishes_causes(&self) -> bool {
        true
    }

    fn fits_quic(&self) -> bool {
        crate::quic::fits(&self.cc)
    }

    fn create(&self, host: &ControlHost) -> Result<Box<dyn ForeignControl>, Fault> {
        Ok(Box::new(NativeControl::new(self.cc.clone(), host)?))
    }

    fn record_fault(&self, text: String) {
        // The first one counts.
        let _ = self.fault.set(text);
    }

    fn fault(&self) -> Option<String> {
        self.fault.get().cloned()
    }
}

/// A control of the registry that takes [`Call`]s. A library exports it, and tools play recorded calls to it.
#[derive(Clone, Debug)]
pub struct NativeControl {
    cc: AnyCc,
    steers: bool,
}

impl NativeControl {
    /// `cc` for a connection in `host`.
    ///
    /// # Errors
    /// If the host's stack is unknown.
    pub fn new(mut cc: AnyCc, host: &ControlHost) -> Result<Self, Fault> {
        let unknown = || Fault::Text(format!("the stack {:?} is unknown to this library; rebuild it", host.stack));
        let stack = Stack::find(host.stack).ok_or_else(unknown)?;
        cc.attach(stack, false);
        if !host.ecn {
            if let Some(plain) = cc.without_ecn() {
                cc = plain;
                cc.attach(stack, false);
            }
        }
        if host.is_paced && !cc.needs().paces && !host.is_quic {
            cc.attach(stack, true);
        }
        if host.is_quic {
            cc.attach_quic();
        }
        cc.seed(Rng::from_state(host.random));
        Ok(Self { steers: cc.needs().steers, cc })
    }

    /// Calls the control with the connection's state, and copies what it changes.
    fn with_flight(&mut self, view: &mut FlightView, call: impl FnOnce(&mut AnyCc, &mut crate::cc::Flight)) -> u32 {
        let mut window = view.window();
        let mut flight = view.flight(&mut window);
        call(&mut self.cc, &mut flight);
        let (rate, limits) = (flight.pacing_rate, flight.limits_by_application);
        view.load_window(&window);
        view.pacing_rate = rate.map_or(FlightView::UNPACED, |rate| rate.as_bps());
        if limits {
            view.flags |= FlightView::MARK_APP_LIMITED;
        }
        0
    }

    fn with_window(
        &mut self,
        view: &mut FlightView,
        call: impl FnOnce(&mut AnyCc, &mut crate::cc::Window, &FlightView),
    ) -> u32 {
        let mut window = view.window();
        call(&mut self.cc, &mut window, view);
        view.load_window(&window);
        0
    }
}

impl ForeignControl for NativeControl {
    fn call(&mut self, call: Call, view: &mut FlightView) -> Result<u32, Fault> {
        let value = match call {
            Call::Ssthresh(super::SsthreshCause::Reduction) => self.cc.ssthresh(&view.window()),
            Call::Ssthresh(super::SsthreshCause::Loss) => self.cc.ssthresh_on_loss(&view.window()).unwrap_or(0),
            Call::Ssthresh(super::SsthreshCause::TimeOut) => self.cc.timeout_ssthresh(&view.window()),
            Call::Grow(ack) => {
                self.with_window(view, |cc, window, view| match ack.flags & super::AckView::LIMITED != 0 {
                    true => cc.grow(window, || ack.ack(view)),
                    false => cc.on_unlimited_ack(window, || ack.ack(view)),
                })
            }
            Call::Acked(ack) => self.with_window(view, |cc, window, view| cc.on_ack(window, || ack.ack(view))),
            Call::Report(ack) => self.with_window(view, |cc, window, view| cc.on_report(window, &ack.ack(view))),
            Call::Delivered(counts) => {
                self.with_flight(view, |cc, flight| cc.on_delivered(flight, counts.packets, counts.ce))
            }
            Call::State(state) if self.steers => self.with_flight(view, |cc, flight| cc.on_state(flight, state)),
            Call::State(state) => self.with_window(view, |cc, window, view| {
                cc.state_changed(window, state, Instant::from_nanos(view.now.max(0) as u64), view.nxt);
            }),
            Call::Idle(_) if self.steers => self.with_flight(view, |cc, flight| cc.on_restart(flight)),
            Call::Idle(last_sent) => {
                let [now, last_sent] = [view.now, last_sent].map(|time| Instant::from_nanos(time.max(0) as u64));
                self.with_window(view, |cc, window, _| cc.event(window, WindowEvent::Restarted { now, last_sent }))
            }
            Call::Reduced => self.with_window(view, |cc, window, _| cc.event(window, WindowEvent::Reduced)),
            Call::TimedOut => self.with_window(view, |cc, window, _| cc.event(window, WindowEvent::TimedOut)),
            Call::Undo if view.prior_cwnd > 0 => {
                let window = view.window();
                // As the sender's own rule: a control that gets reports undoes its own part as well.
                if self.cc.needs().reports {
                    self.cc.undo_cwnd(&window);
                }
                window.cwnd.max(view.prior_cwnd)
            }
            Call::Undo => self.cc.undo_cwnd(&view.window()),
            Call::MinCwnd => self.cc.min_cwnd(&view.window()),
            Call::Start => self.with_flight(view, |cc, flight| cc.on_established(flight)),
            Call::Ack(sample) => self.with_flight(view, |cc, flight| cc.steer(flight, &sample.sample())),
            Call::Lost(loss) => self.with_flight(view, |cc, flight| cc.on_loss(flight, &loss.loss())),
            Call::Repaired(limited) => self.with_flight(view, |cc, flight| cc.probe_repaired(flight, limited != 0)),
            Call::Sent(bytes) => self.with_flight(view, |cc, flight| cc.on_sent(flight, bytes)),
            // The state says the same.
            Call::Congestion(_) => 0,
        };
        view.flags &= !FlightView::EXACT_BURST;
        view.burst = match self.cc.burst(view.rate()) {
            BurstSize::AtLeast(MIN_BURST) => 0,
            BurstSize::AtLeast(segments) => segments,
            BurstSize::Exactly(segments) => {
                view.flags |= FlightView::EXACT_BURST;
                segments
            }
        };
        Ok(value)
    }

    fn copy(&self) -> Result<Box<dyn ForeignControl>, Fault> {
        Ok(Box::new(self.clone()))
    }
}
