//! Controls that no line of the registry names: those of other crates and of tests.

use super::{Ack, AnyCc, CongestionControl, Flight, Loss, Needs, Report, Window};
use crate::rate_sample::RateSample;
use crate::stack::Stack;
use crate::state::State;
use sojourn_aqm::{Instant, Rate, Rng};
use std::fmt::Debug;

/// A control in a box; [`AnyCc::own`](super::AnyCc::own) makes one.
#[derive(Debug)]
pub struct Own(Box<dyn DynCongestionControl>);

impl Own {
    /// `control` in a box.
    pub(super) fn new(control: impl CongestionControl + Clone + Debug + Send + Sync + 'static) -> Self {
        Self(Box::new(control))
    }
}

impl Clone for Own {
    fn clone(&self) -> Self {
        Self(self.0.boxed())
    }
}

/// The object-safe twin of [`CongestionControl`].
trait DynCongestionControl: Debug + Send + Sync {
    fn boxed(&self) -> Box<dyn DynCongestionControl>;
    fn needs(&self) -> Needs;
    fn attach(&mut self, stack: &Stack);
    fn acked(&mut self, window: &mut Window, ack: &dyn Fn() -> Ack);
    fn increase(&mut self, window: &mut Window, packets: u32, ack: &dyn Fn() -> Ack);
    fn unused(&mut self, window: &mut Window, packets: u32, ack: &dyn Fn() -> Ack);
    fn reported(&mut self, window: &mut Window, report: &Report);
    fn state_changed(&mut self, state: State, now: Instant, nxt: u64);
    fn ssthresh(&mut self, window: &Window) -> u32;
    fn ssthresh_on_loss(&mut self, window: &Window) -> Option<u32>;
    fn timeout_ssthresh(&mut self, window: &Window) -> u32;
    fn reduced(&mut self, window: &mut Window);
    fn min_cwnd(&self, window: &Window) -> u32;
    fn undone(&mut self, window: &Window) -> u32;
    fn timed_out(&mut self);
    fn paced(&mut self);
    fn restarted(&mut self, now: Instant, last_sent: Instant);
    fn partial_ack_ends_recovery(&self) -> bool;
    fn without_ecn(&self) -> Option<AnyCc>;
    fn seed(&mut self, rng: Rng);
    fn opened(&mut self, flight: &mut Flight);
    fn delivered(&mut self, flight: &mut Flight, packets: u32, ce: u32);
    fn entered(&mut self, flight: &mut Flight, state: State);
    fn lost(&mut self, flight: &mut Flight, loss: &Loss);
    fn probe_repaired(&mut self, flight: &mut Flight, is_app_limited: bool);
    fn steer(&mut self, flight: &mut Flight, sample: &RateSample);
    fn resumed(&mut self, flight: &mut Flight);
    fn least_burst(&self, rate: Option<Rate>) -> u32;
    fn burst(&self) -> Option<u32>;
}

impl<C: CongestionControl + Clone + Debug + Send + Sync + 'static> DynCongestionControl for C {
    fn boxed(&self) -> Box<dyn DynCongestionControl> {
        Box::new(self.clone())
    }
    fn needs(&self) -> Needs {
        self.needs()
    }
    fn attach(&mut self, stack: &Stack) {
        self.attach(stack);
    }
    fn acked(&mut self, window: &mut Window, ack: &dyn Fn() -> Ack) {
        self.acked(window, ack);
    }
    fn increase(&mut self, window: &mut Window, packets: u32, ack: &dyn Fn() -> Ack) {
        self.increase(window, packets, ack);
    }
    fn unused(&mut self, window: &mut Window, packets: u32, ack: &dyn Fn() -> Ack) {
        self.unused(window, packets, ack);
    }
    fn reported(&mut self, window: &mut Window, report: &Report) {
        self.reported(window, report);
    }
    fn state_changed(&mut self, state: State, now: Instant, nxt: u64) {
        self.state_changed(state, now, nxt);
    }
    fn timeout_ssthresh(&mut self, window: &Window) -> u32 {
        self.timeout_ssthresh(window)
    }
    fn reduced(&mut self, window: &mut Window) {
        self.reduced(window);
    }
    fn ssthresh(&mut self, window: &Window) -> u32 {
        self.ssthresh(window)
    }
    fn ssthresh_on_loss(&mut self, window: &Window) -> Option<u32> {
        self.ssthresh_on_loss(window)
    }
    fn min_cwnd(&self, window: &Window) -> u32 {
        self.min_cwnd(window)
    }
    fn undone(&mut self, window: &Window) -> u32 {
        self.undone(window)
    }
    fn timed_out(&mut self) {
        self.timed_out();
    }
    fn paced(&mut self) {
        self.paced();
    }
    fn restarted(&mut self, now: Instant, last_sent: Instant) {
        self.restarted(now, last_sent);
    }
    fn partial_ack_ends_recovery(&self) -> bool {
        self.partial_ack_ends_recovery()
    }
    fn without_ecn(&self) -> Option<AnyCc> {
        self.without_ecn()
    }
    fn seed(&mut self, rng: Rng) {
        self.seed(rng);
    }
    fn opened(&mut self, flight: &mut Flight) {
        self.opened(flight);
    }
    fn delivered(&mut self, flight: &mut Flight, packets: u32, ce: u32) {
        self.delivered(flight, packets, ce);
    }
    fn entered(&mut self, flight: &mut Flight, state: State) {
        self.entered(flight, state);
    }
    fn lost(&mut self, flight: &mut Flight, loss: &Loss) {
        self.lost(flight, loss);
    }
    fn probe_repaired(&mut self, flight: &mut Flight, is_app_limited: bool) {
        self.probe_repaired(flight, is_app_limited);
    }
    fn steer(&mut self, flight: &mut Flight, sample: &RateSample) {
        self.steer(flight, sample);
    }
    fn resumed(&mut self, flight: &mut Flight) {
        self.resumed(flight);
    }
    fn least_burst(&self, rate: Option<Rate>) -> u32 {
        self.least_burst(rate)
    }
    fn burst(&self) -> Option<u32> {
        self.burst()
    }
}

// Cold: the registered controls do not pay for the closures' places in memory.
impl CongestionControl for Own {
    fn needs(&self) -> Needs {
        self.0.needs()
    }
    fn attach(&mut self, stack: &Stack) {
        self.0.attach(stack);
    }
    #[cold]
    #[inline(never)]
    fn acked(&mut self, window: &mut Window, ack: impl Fn() -> Ack) {
        self.0.acked(window, &ack);
    }
    #[cold]
    #[inline(never)]
    fn increase(&mut self, window: &mut Window, packets: u32, ack: impl Fn() -> Ack) {
        self.0.increase(window, packets, &ack);
    }
    #[cold]
    #[inline(never)]
    fn unused(&mut self, window: &mut Window, packets: u32, ack: impl Fn() -> Ack) {
        self.0.unused(window, packets, &ack);
    }
    fn reported(&mut self, window: &mut Window, report: &Report) {
        self.0.reported(window, report);
    }
    fn state_changed(&mut self, state: State, now: Instant, nxt: u64) {
        self.0.state_changed(state, now, nxt);
    }
    fn timeout_ssthresh(&mut self, window: &Window) -> u32 {
        self.0.timeout_ssthresh(window)
    }
    fn reduced(&mut self, window: &mut Window) {
        self.0.reduced(window);
    }
    fn ssthresh(&mut self, window: &Window) -> u32 {
        self.0.ssthresh(window)
    }
    fn ssthresh_on_loss(&mut self, window: &Window) -> Option<u32> {
        self.0.ssthresh_on_loss(window)
    }
    fn min_cwnd(&self, window: &Window) -> u32 {
        self.0.min_cwnd(window)
    }
    fn undone(&mut self, window: &Window) -> u32 {
        self.0.undone(window)
    }
    fn timed_out(&mut self) {
        self.0.timed_out();
    }
    fn restarted(&mut self, now: Instant, last_sent: Instant) {
        self.0.restarted(now, last_sent);
    }
    fn partial_ack_ends_recovery(&self) -> bool {
        self.0.partial_ack_ends_recovery()
    }
    fn paced(&mut self) {
        self.0.paced();
    }
    fn without_ecn(&self) -> Option<AnyCc> {
        self.0.without_ecn()
    }
    fn seed(&mut self, rng: Rng) {
        self.0.seed(rng);
    }
    fn opened(&mut self, flight: &mut Flight) {
        self.0.opened(flight);
    }
    fn delivered(&mut self, flight: &mut Flight, packets: u32, ce: u32) {
        self.0.delivered(flight, packets, ce);
    }
    fn entered(&mut self, flight: &mut Flight, state: State) {
        self.0.entered(flight, state);
    }
    fn lost(&mut self, flight: &mut Flight, loss: &Loss) {
        self.0.lost(flight, loss);
    }
    fn probe_repaired(&mut self, flight: &mut Flight, is_app_limited: bool) {
        self.0.probe_repaired(flight, is_app_limited);
    }
    fn steer(&mut self, flight: &mut Flight, sample: &RateSample) {
        self.0.steer(flight, sample);
    }
    fn resumed(&mut self, flight: &mut Flight) {
        self.0.resumed(flight);
    }
    fn least_burst(&self, rate: Option<Rate>) -> u32 {
        self.0.least_burst(rate)
    }
    fn burst(&self) -> Option<u32> {
        self.0.burst()
    }
}
