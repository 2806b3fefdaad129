//! The seam between a sender and its congestion control.

use super::{AnyCc, Constant, Flight, Loss, Needs, Report, Window};
use crate::rate_sample::RateSample;
use crate::segmentation::LEAST_BURST;
use crate::stack::Stack;
use crate::state::State;
use sojourn_aqm::{Duration, Instant, Rate, Rng};

/// An acknowledgment of new data, as a congestion control sees it.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it arrived.
    pub now: Instant,
    /// Segments that it acknowledged anew; at least 1.
    pub packets: u32,
    /// RTT of the newest of them; none when one had been retransmitted, or when it was too short for the clock.
    pub rtt: Option<Duration>,
    /// Everything before this sequence number is acknowledged.
    pub una: u64,
    /// The next sequence number to be sent: a round ends when `una` passes what was `nxt` at its start.
    pub nxt: u64,
    /// Whether nothing suspicious is going on: no duplicates, no reduction, no recovery.
    pub open: bool,
}

/// A congestion control. One file, and one line in the registry below.
///
/// For each acknowledgment of new data the sender calls [`acked`](Self::acked), and then, if the window was used up and
/// may grow, [`increase`](Self::increase). Both get a function that tells of the acknowledgment, so that a control pays
/// for no more than it asks.
///
/// A control that sets the window and the pacing rate itself says so in [`needs`](Self::needs), and is called once per
/// acknowledgment, with a [`RateSample`], by [`steer`](Self::steer) (Linux `cong_control`). Then no growth, no
/// reduction (PRR), no restart after a pause and no decay of an unused window touch the window. A time-out still sets it
/// to one segment more than what is in flight. An example is at [`AnyCc::own`].
pub trait CongestionControl {
    /// The documents and files that it follows, for its page.
    const SOURCE: &'static str = "";
    /// The constants of its algorithm, for its page.
    const CONSTANTS: &'static [Constant] = &[];

    /// What it asks of its sender beyond the calls that every control gets.
    fn needs(&self) -> Needs {
        Needs::default()
    }
    /// Learns whose kernel it runs in, before anything else.
    fn attach(&mut self, _stack: &Stack) {}
    /// The host paces what is sent, before the connection is opened, whether the control needs it or not.
    fn paced(&mut self) {}
    /// Takes the RTT sample of an acknowledgment of new data; may end slow start.
    fn acked(&mut self, _window: &mut Window, _ack: impl Fn() -> Ack) {}
    /// Grows the window on an acknowledgment of `packets` new ones; the sender was limited by the window.
    fn increase(&mut self, window: &mut Window, packets: u32, ack: impl Fn() -> Ack);
    /// The window was not used up, so that [`increase`](Self::increase) is not called (Linux calls `cong_avoid` all the
    /// same, and most controls do nothing then).
    fn unused(&mut self, _window: &mut Window, _packets: u32, _ack: impl Fn() -> Ack) {}
    /// With [`Needs::reports`]: an acknowledgment arrived, whatever it tells.
    fn reported(&mut self, _window: &mut Window, _report: &Report) {}
    /// Congestion avoidance is in `state` from `now` on, also if only until another one is entered by the same
    /// acknowledgment; `nxt` is the next sequence number to be sent (Linux `set_state`). Only from Linux 3.10 on.
    fn state_changed(&mut self, _state: State, _now: Instant, _nxt: u64) {}
    /// The slow-start threshold after a congestion event.
    fn ssthresh(&mut self, window: &Window) -> u32;
    /// The threshold after a loss, for a control whose answer to marks is another one: asked for when recovery begins, also
    /// within the reduction that a mark began.
    fn ssthresh_on_loss(&mut self, _window: &Window) -> Option<u32> {
        None
    }
    /// The threshold after a time-out; a loss like others unless the control says otherwise.
    fn timeout_ssthresh(&mut self, window: &Window) -> u32 {
        self.ssthresh_on_loss(window).unwrap_or_else(|| self.ssthresh(window))
    }
    /// A reduction has ended, at the threshold unless it was undone (Linux `CA_EVENT_COMPLETE_CWR`).
    fn reduced(&mut self, _window: &mut Window) {}
    /// The window below which rate halving does not go during recovery.
    fn min_cwnd(&self, window: &Window) -> u32;
    /// A reduction turned out to be needless: the window after it, where the stack leaves that to the control.
    fn undone(&mut self, window: &Window) -> u32 {
        window.cwnd.max(window.reduced_ssthresh().saturating_mul(2))
    }
    /// A time-out expired and everything outstanding is taken for lost.
    fn timed_out(&mut self) {}
    /// Data is sent at `now` into an empty network; the last was sent at `last_sent`.
    fn restarted(&mut self, _now: Instant, _last_sent: Instant) {}
    /// Whether, without SACK, the first partial acknowledgment ends recovery (Reno; NewReno stays, RFC 6582).
    fn partial_ack_ends_recovery(&self) -> bool {
        false
    }
    /// What takes its place on a connection that did not agree on ECN; by default it stays.
    fn without_ecn(&self) -> Option<AnyCc> {
        None
    }
    /// Takes its own stream of random numbers, before the connection is opened; without this call a control that draws
    /// numbers has a stream that is the same everywhere.
    fn seed(&mut self, _rng: Rng) {}
    /// With [`Needs::samples`]: the connection is established, its first RTT known; nothing was sent.
    fn opened(&mut self, _flight: &mut Flight) {}
    /// With [`Needs::samples`]: an acknowledgment delivered `packets`, and reports `ce` of them as marked; recovery and the
    /// window have not been considered yet (Linux `in_ack_event`).
    fn delivered(&mut self, _flight: &mut Flight, _packets: u32, _ce: u32) {}
    /// With [`Needs::steers`]: congestion avoidance has entered `state`, after [`ssthresh`](Self::ssthresh) where it is a
    /// reduction. What an acknowledgment enters and leaves again is not told.
    fn entered(&mut self, _flight: &mut Flight, _state: State) {}
    /// With [`Needs::losses`]: a segment was marked lost; one call each, before [`steer`](Self::steer) and
    /// [`entered`](Self::entered), with the window as it was when that happened.
    fn lost(&mut self, _flight: &mut Flight, _loss: &Loss) {}
    /// With [`Needs::losses`]: a loss probe has repaired the loss of one segment, which nobody marked; the application may
    /// have limited the rate when that was sent (Linux `CA_EVENT_TLP_RECOVERY` of BBRv3).
    fn probe_repaired(&mut self, _flight: &mut Flight, _is_app_limited: bool) {}
    /// With [`Needs::steers`]: sets the window and the pacing rate. Called once for each acknowledgment that finds
    /// something out, after losses were marked and before anything is sent.
    fn steer(&mut self, _flight: &mut Flight, _sample: &RateSample) {}
    /// Segments of the smallest burst at a pacing rate, where the stack sends bursts.
    fn least_burst(&self, _rate: Option<Rate>) -> u32 {
        LEAST_BURST
    }
    /// Segments of the largest burst, where the control and not the stack sizes them (Linux `tso_segs`).
    fn burst(&self) -> Option<u32> {
        None
    }
    /// With [`Needs::steers`]: data is sent into an empty network; also at the start of the connection.
    fn resumed(&mut self, _flight: &mut Flight) {}
}
