//! F-RTO: detection of spurious time-outs (RFC 5682).
//!
//! Source: Linux 2.6.29 `tcp_enter_frto`, `tcp_process_frto`, `tcp_enter_frto_loss`, where the test precedes the Loss
//! state and uses SACKs; Linux 3.10 `tcp_process_loss`, where it is part of that state.

use crate::ack::AckInfo;
use crate::stack::Stack;

/// The test before the Loss state (up to Linux 3.9).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frto {
    enabled: bool,
    progress: Phase,
    /// SND.NXT at the time-out, or the end of an earlier recovery.
    highmark: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Off,
    /// The oldest segment was retransmitted; waits for its acknowledgment.
    HeadSent,
    /// Two new segments were sent; waits for the next acknowledgment.
    NewSent,
}

/// Outcome of an acknowledgment for the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Send no new data until the head is acknowledged.
    Wait,
    /// Send two new segments.
    SendTwo,
    /// The time-out was genuine: all outstanding segments are lost, except the head if it is in flight; `segments` may
    /// be sent at once.
    Genuine { segments: u32, head_in_flight: bool },
    /// The time-out was spurious: the originals arrived.
    Spurious,
}

impl Frto {
    /// No test in progress.
    pub fn new(stack: &Stack, sack: bool) -> Self {
        Self { enabled: stack.frto && sack, progress: Phase::Off, highmark: 0 }
    }

    /// Whether a time-out begins a test.
    pub fn is_used(&self) -> bool {
        self.enabled
    }

    /// Whether a test is in progress.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.progress != Phase::Off
    }

    /// End of the data that was sent before the time-out.
    pub fn highmark(&self) -> u64 {
        self.highmark
    }

    /// Begins a test at a time-out; the head is retransmitted. `highmark` is the end of the outstanding data.
    pub fn begin(&mut self, highmark: u64) {
        (self.highmark, self.progress) = (highmark, Phase::HeadSent);
    }

    /// Ends the test.
    pub fn abort(&mut self) {
        self.progress = Phase::Off;
    }

    /// Whether an acknowledgment covers a retransmission other than the test's, so that spurious and genuine cannot be
    /// distinguished.
    pub fn is_ambiguous(&self, ack: &AckInfo) -> bool {
        let only_head = self.progress == Phase::HeadSent;
        ack.acked.retransmitted_behind_head || (!only_head && ack.acked.retransmitted)
    }

    /// Processes an acknowledgment of `una` during the test.
    pub fn on_ack(&mut self, ack: &AckInfo, una: u64) -> Outcome {
        let waiting_for_first = self.progress == Phase::HeadSent;
        let head_in_flight = waiting_for_first && !ack.data_acked();
        if una >= self.highmark {
            return Outcome::Genuine { segments: if waiting_for_first { 2 } else { 3 }, head_in_flight };
        }
        if waiting_for_first {
            if !ack.data_acked() {
                return Outcome::Wait;
            }
            self.progress = Phase::NewSent;
            return Outcome::SendTwo;
        }
        let retransmission_helped = ack.sacked.new && !ack.sacked.only_original;
        if !ack.forward_progress() || retransmission_helped {
            return Outcome::Genuine { segments: 3, head_in_flight };
        }
        Outcome::Spurious
    }
}

/// The test within the Loss state (from Linux 3.10 on).
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrtoInLoss {
    enabled: bool,
    running: bool,
}

impl FrtoInLoss {
    /// No test in progress.
    pub fn new(stack: &Stack) -> Self {
        Self { enabled: stack.frto, running: false }
    }

    /// Begins a test at a time-out if that is `fresh`: not the first one that interrupts a recovery.
    pub fn begin(&mut self, fresh: bool) {
        self.running = self.enabled && fresh;
    }

    /// Whether a test is in progress.
    pub fn is_running(&self) -> bool {
        self.running
    }

    /// Ends the test.
    pub fn abort(&mut self) {
        self.running = false;
    }

    /// An acknowledgment after new data was sent. RFC 5682 §3.1 step 3.a: a duplicate means that the loss was genuine.
    pub fn on_ack_after_new(&mut self, ack: &AckInfo) {
        self.running &= !(ack.sacked.new || ack.is_duplicate());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{AckedSegments, SackedSegments};

    fn testing() -> Frto {
        let mut frto = Frto::new(Stack::find("linux-3.8").expect("a stack"), true);
        frto.begin(10_000);
        frto
    }

    fn of_data() -> AckInfo {
        AckInfo {
            advanced: true,
            acked: AckedSegments { packets: 1, ..AckedSegments::default() },
            ..AckInfo::default()
        }
    }

    #[test]
    fn two_acknowledgments_of_originals_make_it_spurious() {
        let mut frto = testing();
        assert_eq!(frto.on_ack(&AckInfo::default(), 1_000), Outcome::Wait);
        assert_eq!(frto.on_ack(&of_data(), 2_000), Outcome::SendTwo);
        assert_eq!(frto.on_ack(&of_data(), 3_000), Outcome::Spurious);
    }

    #[test]
    fn a_duplicate_or_the_end_of_what_was_out_makes_it_real() {
        let mut frto = testing();
        assert_eq!(frto.on_ack(&of_data(), 10_000), Outcome::Genuine { segments: 2, head_in_flight: false });
        frto.on_ack(&of_data(), 2_000);
        assert_eq!(frto.on_ack(&AckInfo::default(), 2_000), Outcome::Genuine { segments: 3, head_in_flight: false });
        let sacked = SackedSegments { new: true, ..SackedSegments::default() };
        let helped = AckInfo { sacked, ..AckInfo::default() };
        assert_eq!(frto.on_ack(&helped, 2_000), Outcome::Genuine { segments: 3, head_in_flight: false });
    }

    #[test]
    fn a_retransmission_behind_the_head_leaves_nothing_to_undo() {
        let mut frto = testing();
        let of_head = AckedSegments { packets: 2, retransmitted: true, ..AckedSegments::default() };
        let behind = AckedSegments { retransmitted_behind_head: true, ..of_head };
        let ambiguous = |frto: &Frto, acked| frto.is_ambiguous(&AckInfo { acked, ..AckInfo::default() });
        assert_eq!([ambiguous(&frto, of_head), ambiguous(&frto, behind)], [false, true]);
        frto.on_ack(&of_data(), 2_000);
        assert!(ambiguous(&frto, of_head));
    }

    #[test]
    fn in_the_loss_state_a_duplicate_after_new_data_ends_it() {
        let mut frto = FrtoInLoss::new(Stack::find("linux-6.1").expect("a stack"));
        frto.begin(false);
        assert!(!frto.is_running());
        frto.begin(true);
        frto.on_ack_after_new(&of_data());
        assert!(frto.is_running());
        frto.on_ack_after_new(&AckInfo::default());
        assert!(!frto.is_running());
    }
}
