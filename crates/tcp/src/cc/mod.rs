//! Congestion controls: how the window grows, and what it falls to.

mod about;
mod bbr;
mod bbr3;
mod bbr3_draft;
mod bic;
mod congestion_control;
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

pub use crate::stack::Counting;
pub use about::{Constant, Description};
pub use congestion_control::{Ack, CongestionControl};
pub use own::Own;
pub use report::Report;
pub use steering::{Flight, Loss, Needs};
pub use window::Window;

use super::rate_sample::RateSample;
use super::stack::Stack;
use super::state::State;
use sojourn_aqm::{Instant, Rate, Rng};

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
