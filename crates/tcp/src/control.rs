//! The congestion control and its window.

use crate::HostTime;
use crate::ack::AckInfo;
use crate::cc::{Ack, AnyCc, GrowthCounting, Window, WindowEvent, reno};
use crate::config::SenderConfig;
use crate::round_trip::RoundTrip;
use crate::stack::Stack;
use crate::state::CaState;
use crate::validation::CwndUsage;
use sojourn_aqm::Instant;

/// A congestion control, its window, and its validation. Fields used for every segment come first and share a cache
/// line.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Control {
    pub window: Window,
    /// The control is Reno. Kept beside the window, because most acknowledgments need nothing else of the control.
    is_reno: bool,
    pub usage: CwndUsage,
    /// The control sets the window itself.
    steers: bool,
    /// The control gets a report of every acknowledgment.
    wants_reports: bool,
    /// The control is notified of each segment that is marked lost.
    wants_losses: bool,
    /// The control is notified of the packets that each acknowledgment delivered.
    wants_deliveries: bool,
    /// The control observes the connection before its other callbacks.
    wants_flight: bool,
    /// The control is notified of each segment sent.
    wants_sent: bool,
    /// Size of the send buffer, in windows.
    windows_in_buffer: u8,
    grows_before_sending: bool,
    counts_delivered: bool,
    /// The last state that a steering control was notified of; `None` once another reduction has begun.
    notified_state: Option<CaState>,
    pub cc: AnyCc,
}

cloned_in_place! {
    Control {
        window, is_reno, usage, steers, wants_reports, wants_losses, wants_deliveries, wants_flight, wants_sent, windows_in_buffer, grows_before_sending,
        counts_delivered, notified_state, cc,
    }
}

impl Control {
    /// The window of a new connection whose receiver offers `receive_window` bytes.
    pub fn from_config(config: &SenderConfig, receive_window: u64) -> Self {
        let (stack, mss) = (config.stack, config.mss);
        let ssthresh = match stack.max_window {
            None => Window::INFINITE_SSTHRESH,
            Some(_) => (receive_window / mss as u64).clamp(1, Window::INFINITE_SSTHRESH as u64) as u32,
        };
        let cwnd = config.initial_window.unwrap_or(stack.initial_window);
        Self::new(stack, config.cc.clone(), cwnd, mss, ssthresh)
    }

    /// Growth counts bytes, in slow start up to `max_segments` segments per acknowledgment; with 0 it counts
    /// acknowledgments.
    pub fn set_byte_counting(&mut self, max_segments: u32) {
        self.window.counting =
            if max_segments == 0 { GrowthCounting::Acknowledgments } else { GrowthCounting::Bytes(max_segments) };
    }

    /// A window of `cwnd` segments of `mss` bytes, with the threshold `ssthresh`.
    pub fn new(stack: &Stack, mut cc: AnyCc, cwnd: u32, mss: u32, ssthresh: u32) -> Self {
        cc.attach(stack, false);
        let needs = cc.needs();
        let (steers, reports) = (needs.steers, needs.reports);
        let window = Window { cwnd, ssthresh, cwnd_cnt: 0, bytes_acked: 0, mss, counting: stack.counting };
        Self {
            is_reno: cc.is_reno(),
            cc,
            window,
            usage: if steers { CwndUsage::left_to_control(stack) } else { CwndUsage::new(stack) },
            grows_before_sending: stack.grows_before_sending,
            counts_delivered: stack.growth_counts_delivered,
            steers,
            wants_reports: reports,
            wants_losses: steers && needs.losses,
            wants_deliveries: needs.samples,
            wants_flight: needs.flight,
            wants_sent: needs.sent,
            windows_in_buffer: if needs.wide_buffer { 3 } else { 2 },
            notified_state: Some(CaState::Open),
        }
    }

    /// An acknowledgment of new data.
    #[inline(always)]
    pub fn acked(&mut self, ack: impl Fn() -> Ack) {
        self.cc.on_ack(&mut self.window, ack);
    }

    /// Grows the window on an acknowledgment.
    #[inline(always)]
    pub fn increase(&mut self, ack: impl Fn() -> Ack) {
        self.cc.grow(&mut self.window, ack);
    }

    /// Grows the window on an acknowledgment if the flow is limited by it ([`Self::is_limited`]).
    #[inline(always)]
    pub fn grow(&mut self, now: HostTime, in_flight: u32, reordering: u32, ack: impl Fn() -> Ack) {
        if self.is_limited(in_flight, reordering) {
            self.increase(ack);
            self.usage.on_cwnd_checked(now);
        } else {
            self.on_unlimited_ack(ack);
        }
    }

    /// An acknowledgment of `packets` new segments. The window grows if it `may_grow` and limits the flow; `flight` is
    /// the number of segments in flight, and the reordering tolerance.
    #[inline(always)]
    pub fn on_ack(&mut self, packets: u32, may_grow: bool, flight: (u32, u32), ack: impl Fn() -> Ack) {
        if !self.is_reno {
            self.report_and_grow(may_grow, flight, &ack());
        } else if may_grow && self.is_limited(flight.0, flight.1) {
            reno::increase(&mut self.window, packets);
        }
    }

    #[inline(never)]
    fn report_and_grow(&mut self, may_grow: bool, flight: (u32, u32), ack: &Ack) {
        self.acked(|| *ack);
        if may_grow && self.is_limited(flight.0, flight.1) {
            self.increase(|| *ack);
        }
    }

    /// Whether the window was (almost) used; see [`CwndUsage::is_limited`].
    #[inline(always)]
    pub fn is_limited(&self, in_flight: u32, reordering: u32) -> bool {
        self.usage.is_limited(&self.window, in_flight, reordering)
    }

    /// Whether the control sets the window itself: of the stack's rules only that of the time-out changes it.
    #[inline]
    pub fn steers(&self) -> bool {
        self.steers
    }

    /// Whether the control is notified of each segment that is marked lost.
    #[inline]
    pub fn wants_losses(&self) -> bool {
        self.wants_losses
    }

    /// Whether the control is notified of the packets that each acknowledgment delivered.
    #[inline]
    pub fn wants_deliveries(&self) -> bool {
        self.wants_deliveries
    }

    /// Whether the control observes the connection before its other callbacks.
    #[inline]
    pub fn wants_flight(&self) -> bool {
        self.wants_flight
    }

    /// Whether the control is notified of each segment sent.
    #[inline]
    pub fn wants_sent(&self) -> bool {
        self.wants_sent
    }

    /// Size of the send buffer, in windows.
    #[inline]
    pub fn windows_in_buffer(&self) -> u64 {
        self.windows_in_buffer.into()
    }

    /// Whether a steering control has to be notified that congestion avoidance is in `state` now.
    pub fn needs_state_notification(&mut self, state: CaState) -> bool {
        self.steers && self.notified_state.replace(state) != Some(state)
    }

    /// A reduction begins, or another time-out expired: the control is notified of the state even if it is unchanged.
    /// Controls such as Prague reduce once per such event.
    pub fn forget_notified_state(&mut self) {
        self.notified_state = None;
    }

    /// Replaces the control of a connection that has not sent anything.
    pub fn replace(&mut self, stack: &Stack, cc: AnyCc) {
        let Window { cwnd, mss, ssthresh, .. } = self.window;
        *self = Self::new(stack, cc, cwnd, mss, ssthresh);
    }

    /// Whether the window grows before recovery's transmissions are sent.
    pub fn grows_before_sending(&self) -> bool {
        self.grows_before_sending
    }

    /// Segments of an acknowledgment that count for growth.
    pub fn growth_of(&self, ack: &AckInfo) -> u32 {
        if self.counts_delivered { ack.delivered } else { ack.acked.packets }
    }

    /// A congestion event: the control lowers the threshold.
    pub fn lower_ssthresh(&mut self) {
        self.window.ssthresh = self.cc.ssthresh(&self.window);
    }

    /// A loss: lowers the threshold, if the control has a separate response to losses.
    pub fn lower_ssthresh_on_loss(&mut self) {
        if let Some(ssthresh) = self.cc.ssthresh_on_loss(&self.window) {
            self.window.ssthresh = ssthresh;
        }
    }

    /// A time-out: the control lowers the threshold.
    pub fn lower_ssthresh_after_timeout(&mut self) {
        self.window.ssthresh = self.cc.timeout_ssthresh(&self.window);
    }

    /// A reduction has ended.
    pub fn on_reduction_end(&mut self) {
        self.cc.event(&mut self.window, WindowEvent::Reduced);
    }

    /// A time-out expired; all outstanding segments are marked lost.
    pub fn on_timeout(&mut self) {
        self.cc.event(&mut self.window, WindowEvent::TimedOut);
    }

    /// Data is sent into an empty network.
    pub fn on_restart(&mut self, now: Instant, last_sent: Instant) {
        self.cc.event(&mut self.window, WindowEvent::Restarted { now, last_sent });
    }

    /// Reports an acknowledgment of any kind to the control.
    #[inline(never)]
    pub fn report(&mut self, report: &Ack) {
        self.cc.on_report(&mut self.window, report);
    }

    /// The flow was not limited by the window, which does not grow.
    #[inline(never)]
    pub fn on_unlimited_ack(&mut self, ack: impl Fn() -> Ack) {
        self.cc.on_unlimited_ack(&mut self.window, ack);
    }

    /// Whether the control gets a report of every acknowledgment.
    #[inline]
    pub fn wants_reports(&self) -> bool {
        self.wants_reports
    }

    /// Restarts the window from `cwnd` segments after a time-out.
    pub fn restart(&mut self, cwnd: u32) {
        (self.window.cwnd, self.window.cwnd_cnt, self.window.bytes_acked) = (cwnd, 0, 0);
    }

    /// The window after a spurious reduction before which it was `prior_cwnd`, for a control that leaves recovery to the
    /// stack: that of the control if it decides, otherwise Linux's `tcp_reno_undo_cwnd`.
    pub fn undo_from(&mut self, prior_cwnd: u32) -> u32 {
        if let Some(own) = self.cc.undo_from(&self.window, prior_cwnd) {
            return own;
        }
        // A control that gets reports undoes its own part as well.
        if self.wants_reports() {
            self.undo_cwnd();
        }
        self.window.cwnd.max(prior_cwnd)
    }

    /// The window after a spurious reduction.
    pub fn undo_cwnd(&mut self) -> u32 {
        self.cc.undo_cwnd(&self.window)
    }

    /// Limits the window to `cwnd`.
    pub fn limit_cwnd(&mut self, cwnd: u32) {
        self.window.cwnd = self.window.cwnd.min(cwnd);
    }

    /// Data is to be sent into an empty network at `now`; the last was sent at `last_sent`.
    #[inline]
    pub fn restart_after_idle(&mut self, now: HostTime, last_sent: Instant, state: CaState, rtt: &RoundTrip) {
        self.usage.restart((now, last_sent), state, rtt, &mut self.window);
    }

    /// The threshold in `state` (`tcp_current_ssthresh`): outside Cwr and Recovery at least three quarters of the window.
    pub fn current_ssthresh(&self, state: CaState) -> u32 {
        self.window.current_ssthresh(state)
    }

    /// Counts `bytes` acknowledged in `state`, for controls with byte counting (RFC 3465).
    #[inline]
    pub fn count_bytes(&mut self, bytes: u64, state: CaState) {
        let window = &mut self.window;
        if matches!(window.counting, GrowthCounting::Bytes(_)) {
            match state {
                CaState::Open | CaState::Disorder => window.bytes_acked += bytes,
                // Only one segment is assumed to have left the network.
                CaState::Loss => window.bytes_acked += bytes.min(window.mss as u64),
                CaState::Cwr | CaState::Recovery => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(cwnd: u32, ssthresh: u32) -> Control {
        let stack = Stack::find("linux-3.8").expect("a stack");
        Control::new(stack, AnyCc::new("reno").expect("a control"), cwnd, 1000, ssthresh)
    }

    #[test]
    fn an_open_window_is_worth_a_threshold_of_three_quarters() {
        let ssthresh = |state| control(20, 8).current_ssthresh(state);
        assert_eq!([CaState::Open, CaState::Loss, CaState::Cwr, CaState::Recovery].map(ssthresh), [15, 15, 8, 8]);
        assert_eq!(control(20, 17).current_ssthresh(CaState::Open), 17);
    }

    #[test]
    fn bytes_count_where_the_window_may_grow() {
        let mut control = control(20, 8);
        let mut after = |state| {
            control.count_bytes(2_500, state);
            control.window.bytes_acked
        };
        let states = [CaState::Open, CaState::Disorder, CaState::Cwr, CaState::Recovery, CaState::Loss];
        assert_eq!(states.map(&mut after), [2_500, 5_000, 5_000, 5_000, 6_000]);
        control.restart(1);
        assert_eq!((control.window.cwnd, control.window.bytes_acked), (1, 0));
    }
}
