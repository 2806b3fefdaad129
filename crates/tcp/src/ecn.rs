//! Explicit congestion notification at the sender: what is negotiated, marked capable, echoed and announced (RFC 3168), or
//! counted (accurate ECN, RFC 9768).
//!
//! Source: Linux 6.1 `tcp_ecn_*`; for accurate ECN Linux 6.18 `tcp_accecn_process` without the option, whose three bits
//! are those of AE, CWR and ECE.
//!
//! Differs: the sender takes acknowledgments only, and counts no marks on them, so its own counter stays at its start.

use crate::cc::Needs;
use crate::stack::Stack;
use crate::{Flags, Header};
use sojourn_aqm::Ecn;

/// The sender's side of ECN.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EcnSender {
    /// ECN is in use, or asked for, in the classic way.
    enabled: bool,
    /// A reduction is to be announced by CWR on the next new segment.
    cwr_pending: bool,
    /// A SYN that is sent again does not ask any more.
    fallback: bool,
    /// The flags of new segments.
    flags: Flags,
    /// The codepoints of new segments, and of the others, if ECN is in use.
    new_codepoint: Ecn,
    syn_codepoint: Ecn,
    ack_codepoint: Ecn,
    rexmit_codepoint: Ecn,
    accurate: AccEcn,
}

/// Whether marks are counted.
#[derive(Clone, Copy, Debug)]
enum AccEcn {
    Off,
    Requested,
    Counting(AceCounter),
}

/// What the receiver's counter has told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AceCounter {
    /// Marked packets reported so far, modulo 2^32.
    marked: u32,
    /// Mean packets per acknowledgment in 1/64, zero before the first.
    mean_per_ack: u32,
    /// The present acknowledgment has a newer timestamp than those before.
    pub is_newer_timestamp: bool,
}

impl EcnSender {
    /// ECN is `asked` for, or the control needs it.
    pub fn new(stack: &Stack, requested: bool, needs: &Needs) -> Self {
        let requested = requested || needs.ecn;
        let capable = if stack.ect1 || needs.ect1 { Ecn::Ect1 } else { Ecn::Ect0 };
        let also = |stack: bool| if requested && (stack || needs.ect_on_control) { capable } else { Ecn::NotEct };
        let accurate = requested && (stack.accurate_ecn || needs.accurate_ecn);
        Self {
            enabled: requested,
            cwr_pending: false,
            fallback: stack.ecn_fallback,
            flags: Flags::ACK,
            new_codepoint: if requested { capable } else { Ecn::NotEct },
            syn_codepoint: also(stack.ect_on_syn),
            ack_codepoint: also(stack.ect_on_acks),
            rexmit_codepoint: also(stack.ect_on_retransmissions),
            accurate: if accurate { AccEcn::Requested } else { AccEcn::Off },
        }
    }

    /// RFC 3168 §6.1.1: ECE and CWR on the SYN ask for ECN; with AE for accurate ECN.
    pub fn of_syn(&self) -> (Flags, Ecn) {
        let classic = Flags::default().with_if(Flags::ECE.with(Flags::CWR), self.enabled);
        (classic.with_if(Flags::AE, self.requests_accurate()), self.syn_codepoint)
    }

    /// The SYN was lost: something on the path may not like SYNs that ask for ECN (RFC 3168 §6.1.1.1).
    pub fn on_syn_lost(&mut self) {
        if self.fallback {
            self.disable();
        }
    }

    /// The answer to the SYN.
    pub fn on_syn_ack(&mut self, flags: Flags) {
        let requested_accurate = self.requests_accurate();
        self.accurate = AccEcn::Off;
        match flags.ace() {
            // RFC 9768 §3.1.2: each tells under which codepoint the SYN arrived.
            0b010 | 0b011 | 0b100 | 0b110 if requested_accurate => self.start_counting(),
            // All three set: the server reflects what it does not know.
            0b111 if requested_accurate => self.disable(),
            _ if !flags.contains(Flags::ECE) => self.disable(),
            _ => {}
        }
    }

    /// The side that was connected to: its answer agreed on what it was asked for.
    pub fn on_accept(&mut self) {
        if self.requests_accurate() {
            self.start_counting();
        }
    }

    /// Marks are counted from now on.
    fn start_counting(&mut self) {
        self.accurate = AccEcn::Counting(AceCounter::default());
        self.enabled = false;
        self.flags = Flags::ACK.with_ace(Flags::ACE_START);
    }

    /// Whether an acknowledgment tells of a congestion mark in the classic way.
    #[inline]
    pub fn is_echo(&self, header: &Header) -> bool {
        self.enabled && header.flags.contains(Flags::ECE)
    }

    /// Whether the SYN asks for accurate ECN.
    pub fn requests_accurate(&self) -> bool {
        matches!(self.accurate, AccEcn::Requested)
    }

    /// Whether ECN is in use, in either form, once the SYN is answered.
    pub fn is_used(&self) -> bool {
        self.enabled || matches!(self.accurate, AccEcn::Counting(_))
    }

    /// The counter, where marks are counted.
    #[inline]
    pub fn counter(&mut self) -> Option<&mut AceCounter> {
        match &mut self.accurate {
            AccEcn::Counting(counter) => Some(counter),
            AccEcn::Off | AccEcn::Requested => None,
        }
    }

    /// The window is reduced.
    pub fn on_reduction(&mut self) {
        self.cwr_pending = true;
    }

    /// The window is as it was.
    pub fn on_undo(&mut self) {
        self.cwr_pending = false;
    }

    /// Flags and codepoint of a new segment, which announces a reduction.
    #[inline(always)]
    pub fn of_new(&mut self) -> (Flags, Ecn) {
        if self.cwr_pending {
            return self.of_first_after_reduction();
        }
        (self.flags, self.new_codepoint)
    }

    #[cold]
    fn of_first_after_reduction(&mut self) -> (Flags, Ecn) {
        self.cwr_pending = false;
        (self.flags.with_if(Flags::CWR, self.enabled), self.new_codepoint)
    }

    /// Flags and codepoint of a segment that is sent again. RFC 3168 §6.1.5: it is not ECN-capable.
    pub fn of_retransmission(&self) -> (Flags, Ecn) {
        (self.flags, self.rexmit_codepoint)
    }

    /// Flags and codepoint of an acknowledgment without data.
    pub fn of_ack(&self) -> (Flags, Ecn) {
        (self.flags, self.ack_codepoint)
    }

    /// ECN is not used.
    fn disable(&mut self) {
        (self.enabled, self.accurate) = (false, AccEcn::Off);
        [self.new_codepoint, self.syn_codepoint, self.ack_codepoint, self.rexmit_codepoint] = [Ecn::NotEct; 4];
    }

    /// Whether ECN is in use, or asked for.
    #[cfg(test)]
    pub fn is_on(&self) -> bool {
        self.enabled
    }
}

impl AceCounter {
    /// Marked packets that an acknowledgment reports anew which delivered `delivered` packets. It may be an old one, which
    /// tells nothing, if it made no `progress` and its timestamp is not newer.
    pub fn on_ack(&mut self, flags: Flags, delivered: u32, progress: bool) -> u32 {
        if !progress && !self.is_newer_timestamp {
            return 0;
        }
        if delivered > 0 {
            let scaled = delivered << MEAN_SHIFT;
            let mean = match self.mean_per_ack {
                0 => scaled,
                mean => ((mean << MEAN_SHIFT) - mean + scaled) >> MEAN_SHIFT,
            };
            self.mean_per_ack = mean.min(0xffff);
        }
        let delta = (flags.ace() as u32).wrapping_sub(Flags::ACE_START as u32).wrapping_sub(self.marked) & ACE_MASK;
        // The counter may have wrapped where more was delivered than it can tell: the largest number that fits is taken,
        // unless acknowledgments for many packets are the rule.
        let wrapped = delivered > ACE_MASK && self.mean_per_ack <= FEW_PER_ACK << MEAN_SHIFT;
        let marked = if wrapped { delivered - ((delivered - delta) & ACE_MASK) } else { delta };
        self.marked = self.marked.wrapping_add(marked);
        marked
    }
}

/// The bits of the counter in a header.
const ACE_MASK: u32 = 0b111;

/// Linux `PKTS_ACKED_WEIGHT` and `PKTS_ACKED_PREC`.
const MEAN_SHIFT: u32 = 6;

/// Linux `ACK_COMP_THRESH`.
const FEW_PER_ACK: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn ecn(stack: &str, requested: bool) -> EcnSender {
        EcnSender::new(Stack::find(stack).expect("a stack"), requested, &Needs::default())
    }

    #[test]
    fn a_reduction_is_announced_once() {
        let mut ecn = ecn("linux-6.1", true);
        ecn.on_reduction();
        assert_eq!(ecn.of_new(), (Flags::ACK.with(Flags::CWR), Ecn::Ect0));
        assert_eq!(ecn.of_new(), (Flags::ACK, Ecn::Ect0));
        ecn.on_reduction();
        ecn.on_undo();
        assert_eq!(ecn.of_new(), (Flags::ACK, Ecn::Ect0));
    }

    #[test]
    fn a_refusal_or_a_lost_syn_ends_it() {
        let mut refused = ecn("linux-6.1", true);
        refused.on_syn_ack(Flags::SYN.with(Flags::ACK));
        refused.on_reduction();
        assert_eq!(refused.of_new(), (Flags::ACK, Ecn::NotEct));
        assert!(!refused.is_echo(&Header { flags: Flags::ECE, ..Header::default() }));
        for (stack, asks_again) in [("linux-6.1", false), ("linux-3.8", true)] {
            let mut lost = ecn(stack, true);
            assert!(lost.of_syn().0.contains(Flags::ECE.with(Flags::CWR)));
            lost.on_syn_lost();
            assert_eq!(lost.of_syn().0.contains(Flags::ECE), asks_again, "{stack}");
        }
    }

    #[test]
    fn codepoints_are_what_stack_and_control_ask_for() {
        let six_one = *Stack::find("linux-6.1").expect("a stack");
        let none = Needs::default();
        let codepoints = |stack: Stack, needs: Needs| {
            let mut ecn = EcnSender::new(&stack, true, &needs);
            [ecn.of_syn().1, ecn.of_new().1, ecn.of_ack().1, ecn.of_retransmission().1]
        };
        let (no, zero, one) = (Ecn::NotEct, Ecn::Ect0, Ecn::Ect1);
        assert_eq!(codepoints(six_one, none), [no, zero, no, no]);
        assert_eq!(codepoints(Stack { ect_on_syn: true, ..six_one }, none), [zero, zero, no, no]);
        assert_eq!(codepoints(Stack { ect_on_acks: true, ect1: true, ..six_one }, none), [no, one, one, no]);
        assert_eq!(codepoints(Stack { ect_on_retransmissions: true, ..six_one }, none), [no, zero, no, zero]);
        let prague = Needs { ect1: true, ect_on_control: true, ..none };
        assert_eq!(codepoints(six_one, prague), [one; 4]);
        let mut refused = EcnSender::new(&six_one, true, &prague);
        refused.on_syn_ack(Flags::SYN.with(Flags::ACK));
        assert_eq!([refused.of_new().1, refused.of_ack().1, refused.of_retransmission().1], [no; 3]);
        assert_eq!(EcnSender::new(&six_one, false, &prague).of_syn(), (Flags::default(), no), "it was not asked for");
    }

    #[test]
    fn the_answer_to_the_syn_says_which_ecn_it_is() {
        // Each ACE of an answer: whether it counts, whether it is classic.
        let answer = |ace: u64| {
            let needs = Needs { accurate_ecn: true, ..Needs::default() };
            let mut ecn = EcnSender::new(Stack::find("linux-6.1").expect("a stack"), true, &needs);
            assert_eq!(ecn.of_syn().0.ace(), 7);
            ecn.on_syn_ack(Flags::SYN.with(Flags::ACK).with_ace(ace));
            (ecn.counter().is_some(), ecn.is_on())
        };
        let (accurate, classic, none) = ((true, false), (false, true), (false, false));
        let expected = [none, classic, accurate, accurate, accurate, classic, accurate, none];
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(answer), expected);
    }

    /// The counter after `marked` packets were reported, with a mean of two packets per acknowledgment.
    fn counter(marked: u32) -> AceCounter {
        AceCounter { marked, mean_per_ack: 2 << MEAN_SHIFT, is_newer_timestamp: false }
    }

    fn take(mut counter: AceCounter, ace: u64, delivered: u32) -> u32 {
        counter.on_ack(Flags::ACK.with_ace(ace), delivered, true)
    }

    #[test]
    fn up_to_seven_packets_the_counter_tells_exactly() {
        // The vectors of specs: 2 delivered, ACE 7, nothing reported before.
        assert_eq!(take(counter(0), 7, 2), 2);
        assert_eq!([take(counter(3), 0, 1), take(counter(3), 2, 7), take(counter(u32::MAX), 5, 3)], [0, 2, 1]);
        let mut old = counter(0);
        assert_eq!(old.on_ack(Flags::ACK.with_ace(7), 0, false), 0, "an old acknowledgment");
        old.is_newer_timestamp = true;
        assert_eq!(old.on_ack(Flags::ACK.with_ace(7), 0, false), 2, "a new one");
    }

    #[test]
    fn beyond_seven_the_largest_number_that_fits_is_taken() {
        assert_eq!([take(counter(0), 5, 20), take(counter(0), 6, 20), take(counter(0), 5, 8)], [16, 17, 8]);
        let thinned = AceCounter { mean_per_ack: 5 << MEAN_SHIFT, ..AceCounter::default() };
        assert_eq!(take(thinned, 6, 20), 1, "acknowledgments are for many packets as a rule");
    }

    #[test]
    fn the_mean_of_packets_per_acknowledgment_moves_by_a_64th() {
        let mut counter = AceCounter::default();
        let mut mean = |delivered| {
            counter.on_ack(Flags::ACK.with_ace(5), delivered, true);
            counter.mean_per_ack
        };
        assert_eq!([mean(2), mean(66), mean(2)], [128, 192, 191]);
    }
}
