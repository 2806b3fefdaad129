//! Congestion controls: how the window grows, and what it falls to.

pub mod cubic;
mod cubic_rfc9438;
pub mod hystart;
mod hystart_pp;
mod newreno;
mod reno;
mod window;

pub use window::{Counting, Window};

use super::stack::Stack;
use sojourn_aqm::{Duration, Instant};

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
pub trait CongestionControl {
    /// Learns whose kernel it runs in, before anything else.
    fn attach(&mut self, _stack: &Stack) {}
    /// Takes the RTT sample of an acknowledgment of new data; may end slow start.
    fn acked(&mut self, _window: &mut Window, _ack: impl Fn() -> Ack) {}
    /// Grows the window on an acknowledgment of `packets` new ones; the sender was limited by the window.
    fn increase(&mut self, window: &mut Window, packets: u32, ack: impl Fn() -> Ack);
    /// The slow-start threshold after a congestion event.
    fn ssthresh(&mut self, window: &Window) -> u32;
    /// The window below which rate halving does not go during recovery.
    fn min_cwnd(&self, window: &Window) -> u32;
    /// The window after a reduction that turned out to be needless.
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
}

/// What a sender runs where nothing is said: Linux's own default since 2.6.19, in the version of the stack.
pub const DEFAULT: &str = "cubic";

macro_rules! congestion_controls {
    ($( $name:literal => $module:ident :: $type:ident, $summary:literal; )+) => {
        /// Name and summary of every congestion control.
        pub const NAMES: &[(&str, &str)] = &[ $( ($name, $summary), )+ ];

        /// Any registered congestion control.
        // A plain tag: one hidden among the fields takes a dozen instructions to read.
        #[repr(u8)]
        #[derive(Clone, Debug)]
        #[allow(missing_docs)]
        pub enum AnyCc { $( $type($module::$type), )+ }

        impl AnyCc {
            /// The congestion control called `name`, in its initial state.
            pub fn new(name: &str) -> Option<Self> {
                match name {
                    $( $name => Some(Self::$type(Default::default())), )+
                    _ => None,
                }
            }
        }

        impl CongestionControl for AnyCc {
            fn attach(&mut self, stack: &Stack) {
                match self { $( Self::$type(cc) => cc.attach(stack), )+ }
            }
            #[inline(always)]
            fn acked(&mut self, window: &mut Window, ack: impl Fn() -> Ack) {
                match self { $( Self::$type(cc) => cc.acked(window, ack), )+ }
            }
            #[inline(always)]
            fn increase(&mut self, window: &mut Window, packets: u32, ack: impl Fn() -> Ack) {
                match self { $( Self::$type(cc) => cc.increase(window, packets, ack), )+ }
            }
            fn ssthresh(&mut self, window: &Window) -> u32 {
                match self { $( Self::$type(cc) => cc.ssthresh(window), )+ }
            }
            fn min_cwnd(&self, window: &Window) -> u32 {
                match self { $( Self::$type(cc) => cc.min_cwnd(window), )+ }
            }
            fn undone(&mut self, window: &Window) -> u32 {
                match self { $( Self::$type(cc) => cc.undone(window), )+ }
            }
            fn timed_out(&mut self) {
                match self { $( Self::$type(cc) => cc.timed_out(), )+ }
            }
            fn restarted(&mut self, now: Instant, last_sent: Instant) {
                match self { $( Self::$type(cc) => cc.restarted(now, last_sent), )+ }
            }
            fn partial_ack_ends_recovery(&self) -> bool {
                match self { $( Self::$type(cc) => cc.partial_ack_ends_recovery(), )+ }
            }
        }
    };
}

congestion_controls! {
    "reno" => reno::Reno, "Reno (RFC 5681) as in Linux; without SACK a partial acknowledgment ends recovery";
    "newreno" => newreno::NewReno, "NewReno (RFC 6582): Reno that without SACK stays in recovery on partial acknowledgments";
    "cubic" => cubic::Cubic, "CUBIC with HyStart as in the Linux of the stack, in its integer arithmetic";
    "cubic@rfc9438" => cubic_rfc9438::CubicRfc9438, "CUBIC as in RFC 9438, with HyStart++ (RFC 9406)";
}
