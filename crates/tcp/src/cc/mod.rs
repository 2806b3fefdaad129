//! Congestion controls: how the window grows, and what it falls to.

mod about;
mod bbr;
mod bbr3;
mod bbr3_draft;
mod bic;
pub mod cubic;
mod cubic_rfc9438;
mod dctcp;
mod dctcp_rfc8257;
mod delays;
mod highspeed;
mod htcp;
pub mod hystart;
mod hystart_pp;
mod illinois;
mod ledbat;
mod ledbat_pp;
mod newreno;
mod own;
mod prague;
pub(crate) mod reno;
mod report;
mod rounds;
mod scalable;
mod steering;
#[cfg(test)]
mod told;
mod vegas;
mod westwood;
mod window;
mod yeah;

pub use about::{Constant, Description};
pub use own::Own;
pub use report::Report;
pub use steering::{Flight, Loss, Needs};
pub use window::{Counting, Window};

use super::config::State;
use super::rate_sample::RateSample;
use super::segmentation::LEAST_BURST;
use super::stack::Stack;
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

/// What a sender runs where nothing is said: Linux's own default since 2.6.19, in the version of the stack.
pub const DEFAULT: &str = "cubic";

/// How a control lies in [`AnyCc`]: in it, or in a box.
macro_rules! held {
    (Box $type:ty) => { Box<$type> };
    ($type:ty) => { $type };
}

// What takes more than 40 bytes is in a box: every flow has room for the largest that is not.
macro_rules! congestion_controls {
    ($( $name:literal $( | $alias:literal )? => $([$boxed:ident])? $module:ident :: $type:ident, $summary:literal; )+) => {
        /// Name and summary of every congestion control.
        pub const NAMES: &[(&str, &str)] = &[ $( ($name, $summary), )+ ];

        /// Shorter names, and what they stand for.
        pub const ALIASES: &[(&str, &str)] = &[ $( $( ($alias, $name), )? )+ ];
        /// Every congestion control.
        pub const DESCRIPTIONS: &[Description] = &[ $( Description {
            name: $name,
            summary: $summary,
            source: <$module::$type as CongestionControl>::SOURCE,
            constants: <$module::$type as CongestionControl>::CONSTANTS,
            state_bytes: size_of::<$module::$type>(),
        }, )+ ];

        /// Any registered congestion control.
        // A plain tag: one hidden among the fields takes a dozen instructions to read.
        #[repr(u8)]
        #[derive(Clone, Debug)]
        #[allow(missing_docs)]
        pub enum AnyCc {
            $( $type(held!($($boxed)? $module::$type)), )+
            /// None of the registry; see [`AnyCc::own`].
            Own(Own),
        }

        impl AnyCc {
            /// One that the registry does not name.
            #[doc = include_str!("own.md")]
            pub fn own(control: impl CongestionControl + Clone + std::fmt::Debug + Send + Sync + 'static) -> Self {
                Self::Own(Own::new(control))
            }

            /// The congestion control called `name`, in its initial state.
            pub fn new(name: &str) -> Option<Self> {
                match name {
                    $( $name $( | $alias )? => Some(Self::$type(Default::default())), )+
                    _ => None,
                }
            }
        }

        impl AnyCc {
            /// Whether it is Reno, which wants to know of an acknowledgment only how many segments it is of.
            #[inline(always)]
            pub(crate) fn is_reno(&self) -> bool {
                matches!(self, Self::Reno(_))
            }
        }

        impl CongestionControl for AnyCc {
            fn needs(&self) -> Needs {
                match self { $( Self::$type(cc) => cc.needs(), )+ Self::Own(cc) => cc.needs() }
            }
            fn attach(&mut self, stack: &Stack) {
                match self { $( Self::$type(cc) => cc.attach(stack), )+ Self::Own(cc) => cc.attach(stack) }
            }
            #[inline(always)]
            fn acked(&mut self, window: &mut Window, ack: impl Fn() -> Ack) {
                match self { $( Self::$type(cc) => cc.acked(window, ack), )+ Self::Own(cc) => cc.acked(window, ack) }
            }
            #[inline(always)]
            fn increase(&mut self, window: &mut Window, packets: u32, ack: impl Fn() -> Ack) {
                match self { $( Self::$type(cc) => cc.increase(window, packets, ack), )+ Self::Own(cc) => cc.increase(window, packets, ack) }
            }
            #[cold]
            fn unused(&mut self, window: &mut Window, packets: u32, ack: impl Fn() -> Ack) {
                match self { $( Self::$type(cc) => cc.unused(window, packets, ack), )+ Self::Own(cc) => cc.unused(window, packets, ack) }
            }
            fn reported(&mut self, window: &mut Window, report: &Report) {
                match self { $( Self::$type(cc) => cc.reported(window, report), )+ Self::Own(cc) => cc.reported(window, report) }
            }
            fn state_changed(&mut self, state: State, now: Instant, nxt: u64) {
                match self { $( Self::$type(cc) => cc.state_changed(state, now, nxt), )+ Self::Own(cc) => cc.state_changed(state, now, nxt) }
            }
            fn timeout_ssthresh(&mut self, window: &Window) -> u32 {
                match self { $( Self::$type(cc) => cc.timeout_ssthresh(window), )+ Self::Own(cc) => cc.timeout_ssthresh(window) }
            }
            fn reduced(&mut self, window: &mut Window) {
                match self { $( Self::$type(cc) => cc.reduced(window), )+ Self::Own(cc) => cc.reduced(window) }
            }
            fn ssthresh(&mut self, window: &Window) -> u32 {
                match self { $( Self::$type(cc) => cc.ssthresh(window), )+ Self::Own(cc) => cc.ssthresh(window) }
            }
            fn ssthresh_on_loss(&mut self, window: &Window) -> Option<u32> {
                match self { $( Self::$type(cc) => cc.ssthresh_on_loss(window), )+ Self::Own(cc) => cc.ssthresh_on_loss(window) }
            }
            fn min_cwnd(&self, window: &Window) -> u32 {
                match self { $( Self::$type(cc) => cc.min_cwnd(window), )+ Self::Own(cc) => cc.min_cwnd(window) }
            }
            fn undone(&mut self, window: &Window) -> u32 {
                match self { $( Self::$type(cc) => cc.undone(window), )+ Self::Own(cc) => cc.undone(window) }
            }
            fn paced(&mut self) {
                match self { $( Self::$type(cc) => cc.paced(), )+ Self::Own(cc) => cc.paced() }
            }
            fn timed_out(&mut self) {
                match self { $( Self::$type(cc) => cc.timed_out(), )+ Self::Own(cc) => cc.timed_out() }
            }
            fn restarted(&mut self, now: Instant, last_sent: Instant) {
                match self { $( Self::$type(cc) => cc.restarted(now, last_sent), )+ Self::Own(cc) => cc.restarted(now, last_sent) }
            }
            fn partial_ack_ends_recovery(&self) -> bool {
                match self {
                    $( Self::$type(cc) => cc.partial_ack_ends_recovery(), )+
                    Self::Own(cc) => cc.partial_ack_ends_recovery(),
                }
            }
            fn without_ecn(&self) -> Option<AnyCc> {
                match self { $( Self::$type(cc) => cc.without_ecn(), )+ Self::Own(cc) => cc.without_ecn() }
            }
            fn seed(&mut self, rng: Rng) {
                match self { $( Self::$type(cc) => cc.seed(rng), )+ Self::Own(cc) => cc.seed(rng) }
            }
            fn opened(&mut self, flight: &mut Flight) {
                match self { $( Self::$type(cc) => cc.opened(flight), )+ Self::Own(cc) => cc.opened(flight) }
            }
            fn delivered(&mut self, flight: &mut Flight, packets: u32, ce: u32) {
                match self {
                    $( Self::$type(cc) => cc.delivered(flight, packets, ce), )+
                    Self::Own(cc) => cc.delivered(flight, packets, ce),
                }
            }
            fn entered(&mut self, flight: &mut Flight, state: State) {
                match self { $( Self::$type(cc) => cc.entered(flight, state), )+ Self::Own(cc) => cc.entered(flight, state) }
            }
            fn lost(&mut self, flight: &mut Flight, loss: &Loss) {
                match self { $( Self::$type(cc) => cc.lost(flight, loss), )+ Self::Own(cc) => cc.lost(flight, loss) }
            }
            fn probe_repaired(&mut self, flight: &mut Flight, is_app_limited: bool) {
                match self {
                    $( Self::$type(cc) => cc.probe_repaired(flight, is_app_limited), )+
                    Self::Own(cc) => cc.probe_repaired(flight, is_app_limited),
                }
            }
            fn steer(&mut self, flight: &mut Flight, sample: &RateSample) {
                match self { $( Self::$type(cc) => cc.steer(flight, sample), )+ Self::Own(cc) => cc.steer(flight, sample) }
            }
            fn least_burst(&self, rate: Option<Rate>) -> u32 {
                match self { $( Self::$type(cc) => cc.least_burst(rate), )+ Self::Own(cc) => cc.least_burst(rate) }
            }
            fn burst(&self) -> Option<u32> {
                match self { $( Self::$type(cc) => cc.burst(), )+ Self::Own(cc) => cc.burst() }
            }
            fn resumed(&mut self, flight: &mut Flight) {
                match self { $( Self::$type(cc) => cc.resumed(flight), )+ Self::Own(cc) => cc.resumed(flight) }
            }
        }
    };
}

congestion_controls! {
    "reno" => reno::Reno, "Reno (RFC 5681) as in Linux; without SACK a partial acknowledgment ends recovery";
    "newreno" => newreno::NewReno, "NewReno (RFC 6582): Reno that without SACK stays in recovery on partial acknowledgments";
    "cubic" => [Box] cubic::Cubic, "CUBIC with HyStart as in the Linux of the stack, in its integer arithmetic";
    "cubic@rfc9438" => [Box] cubic_rfc9438::CubicRfc9438, "CUBIC as in RFC 9438, with HyStart++ (RFC 9406)";
    "dctcp@linux" | "dctcp" => dctcp::Dctcp, "DCTCP as in Linux 6.1, in its integers: Reno whose answer to marks follows their share";
    "bbr@linux-6.1" | "bbr" => [Box] bbr::Bbr, "BBR, version 1, as in Linux 6.1: paced at the rate delivered, twice its bandwidth-delay product in flight";
    "bbr3@google" | "bbr3" => [Box] bbr3::Bbr3, "BBR, version 3, as in Google's Linux: bounds on rate and data in flight that losses set";
    "bbr3@draft" => [Box] bbr3_draft::Bbr3Draft, "BBR, version 3, as in draft-ietf-ccwg-bbr-06, in real numbers";
    "prague@0.7" | "prague" => [Box] prague::Prague, "TCP Prague 0.7: scalable, with accurate ECN and ECT(1), paced, RTT-independent below 25 ms";
    "prague@0.6" => [Box] prague::Prague06, "TCP Prague 0.6: the same with a window of fractions alone";
    "dctcp@rfc8257" => dctcp_rfc8257::DctcpRfc8257, "DCTCP as in RFC 8257, in real numbers";
    "vegas" => vegas::Vegas, "Vegas as in Linux 6.1: two to four packets in the queue, by the RTT";
    "westwood" => [Box] westwood::Westwood, "Westwood+ as in Linux 6.1: after a loss the measured rate times the least RTT";
    "highspeed" => highspeed::HighSpeed, "HighSpeed TCP (RFC 3649) as in Linux 6.1: a table of increase and decrease by the window";
    "scalable" => scalable::Scalable, "Scalable TCP as in Linux 6.1: 1 % more per round trip, an eighth less after a loss";
    "htcp" => [Box] htcp::Htcp, "H-TCP as in Linux 6.1: an increase by the time since the last loss";
    "illinois" => illinois::Illinois, "Illinois as in Linux 6.1: increase and decrease by the queueing delay";
    "bic" => bic::Bic, "BIC as in Linux 6.1: binary search of the window of the last loss";
    "yeah" => yeah::Yeah, "YeAH as in Linux 6.1: Scalable TCP while the queue is short, else Reno";
    "ledbat" => [Box] ledbat::Ledbat, "LEDBAT (RFC 6817): yields to others by the one-way delay, 100 ms at the most";
    "ledbat++" => [Box] ledbat_pp::LedbatPp, "LEDBAT++: LEDBAT by the RTT, 60 ms at the most, with slowdowns that make it fair";
}
