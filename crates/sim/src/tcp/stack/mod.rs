//! TCP stacks: which mechanisms a sender and a receiver have, apart from the congestion control.

mod linux_2_6_29;
mod ns2;

use super::Clock;
use super::cc::{Counting, cubic};
use super::rtt::RttEstimator;
use sojourn_aqm::Duration;

/// What a stack does. One file, and one line in the registry below.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    /// Initial window in segments of up to 1460 bytes.
    pub initial_window: u32,
    /// Retransmission time-out before the first sample.
    pub rto_initial: Duration,
    /// Least variance term of the time-out: RTO ≥ srtt + this.
    pub rto_min: Duration,
    /// Largest time-out.
    pub rto_max: Duration,
    /// Resolution of timers and timestamps.
    pub tick: Duration,
    /// The state machine of loss recovery.
    pub machine: Machine,
    /// Timestamps: every acknowledgment gives an RTT sample, and every header has twelve bytes more.
    pub timestamps: bool,
    /// How the time-out follows from the RTT.
    pub rto: Rto,
    /// Largest window in segments where nothing else is said; the first slow-start threshold is the largest window.
    pub most_window: Option<u32>,
    /// The receiver acknowledges every segment, whatever else is said.
    pub acks_every_segment: bool,
    /// Forward acknowledgment: everything more than `reordering` packets below the highest SACK is lost.
    pub fack: bool,
    /// SACK-enhanced F-RTO (RFC 5682) on a time-out.
    pub frto: bool,
    /// What the growth of the window counts.
    pub counting: Counting,
    /// The kernel's CUBIC.
    pub cubic: cubic::Version,
    /// Initial reordering tolerance in packets; also the largest burst after a pause.
    pub reordering: u32,
    /// Quick acknowledgments at the start of a connection: the first window advertised by two segments.
    pub quickacks_at_start: u32,
    /// Quick acknowledgments after out-of-order data, a duplicate or a pause.
    pub quickacks: u32,
    /// Least delay of a delayed acknowledgment, and unit of its adaptation.
    pub ato_min: Duration,
}

/// The state machine of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// Linux up to 3.9.
    Linux2_6,
    /// ns-2: the window is halved at once and inflated by duplicates.
    Ns2,
}

/// How the time-out follows from smoothed RTT and deviation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rto {
    /// Linux: the variance term is at least `rto_min`, and falls slowly.
    Linux,
    /// RFC 6298: max(`rto_min`, srtt + 4 rttvar).
    Rfc6298,
}

impl Stack {
    /// The stack's clock.
    pub const fn clock(&self) -> Clock {
        Clock::new(self.tick)
    }

    /// The stack's estimator of RTT and time-out, before the first sample.
    pub(super) fn rtt_estimator(&self) -> RttEstimator {
        let clock = self.clock();
        let (initial, min, max) = (clock.span(self.rto_initial), clock.span(self.rto_min), clock.span(self.rto_max));
        RttEstimator::new(initial, min, max).with_form(self.rto)
    }

    /// The stack called `name`.
    pub fn find(name: &str) -> Option<&'static Self> {
        STACKS.iter().find(|(n, _)| *n == name).map(|(_, stack)| *stack)
    }
}

macro_rules! stacks {
    ($( $name:literal => $module:ident, $summary:literal; )+) => {
        /// Name and summary of every stack.
        pub const NAMES: &[(&str, &str)] = &[ $( ($name, $summary), )+ ];

        const STACKS: &[(&str, &Stack)] = &[ $( ($name, &$module::STACK), )+ ];
    };
}

stacks! {
    "linux-2.6.29" => linux_2_6_29, "Linux 2.6.29 (2009): IW 3, SACK + FACK + D-SACK, rate halving, F-RTO, RTO from 3 s";
    "ns2" => ns2, "ns-2: no timestamps, headers of 40 bytes, ticks of 10 ms, window_ 20, NewReno by window inflation";
}
