//! Explicit congestion notification at the sender: negotiation, codepoints, echoes and CWR (RFC 3168), and the counter
//! of accurate ECN (RFC 9768).
//!
//! Source: Linux 6.1 `tcp_ecn_*`; for accurate ECN Linux 6.18 `tcp_accecn_process` without the option. AE, CWR and ECE
//! are bits of the header's flags, so headers do not grow and an ACK filter sees the bits of the wire.
//!
//! Differs: the sender receives pure acknowledgments only and counts no marks on them, so its own counter stays at its
//! initial value.

use crate::cc::Needs;
use crate::stack::Stack;
use crate::{Flags, Header};
use sojourn_aqm::Ecn;

/// The sender's side of ECN.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EcnSender {
    /// Classic ECN is in use, or requested.
    enabled: bool,
    /// The next new segment carries CWR.
    cwr_pending: bool,
    /// A retransmitted SYN does not request ECN.
    fallback: bool,
    /// Flags of new segments.
    flags: Flags,
    /// Codepoints of new segments and of the others; Not-ECT if ECN is not in use.
    new_codepoint: Ecn,
    syn_codepoint: Ecn,
    ack_codepoint: Ecn,
    rexmit_codepoint: Ecn,
    accurate: AccEcn,
}

/// State of accurate ECN.
#[derive(Clone, Copy, Debug)]
enum AccEcn {
    Off,
    Requested,
    Counting(AceCounter),
}

/// The receiver's counter of marks, as reported by its acknowledgments.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AceCounter {
    /// Marked packets reported so far, modulo 2^32.
    marked: u32,
    /// Mean number of packets per acknowledgment in 1/64; zero before the first.
    mean_per_ack: u32,
    /// The current acknowledgment has a newer timestamp than those before.
    pub is_newer_timestamp: bool,
}

impl EcnSender {
    /// Requests ECN if `requested` or if the control needs it.
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

    /// RFC 3168 §6.1.1: ECE and CWR on the SYN request ECN, together with AE accurate ECN.
    pub fn of_syn(&self) -> (Flags, Ecn) {
        let classic = Flags::default().with_if(Flags::ECE.with(Flags::CWR), self.enabled);
        (classic.with_if(Flags::AE, self.requests_accurate()), self.syn_codepoint)
    }

    /// The SYN was lost: a middlebox may drop SYNs that request ECN (RFC 3168 §6.1.1.1).
    pub fn on_syn_lost(&mut self) {
        if self.fallback {
            self.disable();
        }
    }

    /// The SYN-ACK arrived.
    pub fn on_syn_ack(&mut self, flags: Flags) {
        let requested_accurate = self.requests_accurate();
        self.accurate = AccEcn::Off;
        match flags.ace() {
            // RFC 9768 §3.1.2: each reports the codepoint of the SYN on arrival.
            0b010 | 0b011 | 0b100 | 0b110 if requested_accurate => self.start_counting(),
            // All three set: the server reflects flags that it does not understand.
            0b111 if requested_accurate => self.disable(),
            _ if !flags.contains(Flags::ECE) => self.disable(),
            _ => {}
        }
    }

    /// Passive side: its SYN-ACK has accepted the request.
    pub fn on_accept(&mut self) {
        if self.requests_accurate() {
            self.start_counting();
        }
    }

    /// Counts marks from now on.
    fn start_counting(&mut self) {
        self.accurate = AccEcn::Counting(AceCounter::default());
        self.enabled = false;
        self.flags = Flags::ACK.with_ace(Flags::ACE_START);
    }

    /// Whether an acknowledgment echoes a congestion mark (classic ECN).
    #[inline]
    pub fn is_echo(&self, header: &Header) -> bool {
        self.enabled && header.flags.contains(Flags::ECE)
    }

    /// Whether the SYN requests accurate ECN.
    pub fn requests_accurate(&self) -> bool {
        matches!(self.accurate, AccEcn::Requested)
    }

    /// Whether ECN of either form is in use, once the handshake is complete.
    pub fn is_used(&self) -> bool {
        self.enabled || matches!(self.accurate, AccEcn::Counting(_))
    }

    /// The counter of accurate ECN, if in use.
    #[inline]
    pub fn counter(&mut self) -> Option<&mut AceCounter> {
        match &mut self.accurate {
            AccEcn::Counting(counter) => Some(counter),
            AccEcn::Off | AccEcn::Requested => None,
        }
    }

    /// The window was reduced: CWR is due.
    pub fn on_reduction(&mut self) {
        self.cwr_pending = true;
    }

    /// The reduction was undone.
    pub fn on_undo(&mut self) {
        self.cwr_pending = false;
    }

    /// Flags and codepoint of a new segment, with CWR if it is due.
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

    /// Flags and codepoint of a retransmission. RFC 3168 §6.1.5: it is not ECN-capable.
    pub fn of_retransmission(&self) -> (Flags, Ecn) {
        (self.flags, self.rexmit_codepoint)
    }

    /// Flags and codepoint of a pure acknowledgment.
    pub fn of_ack(&self) -> (Flags, Ecn) {
        (self.flags, self.ack_codepoint)
    }

    /// Stops using ECN.
    fn disable(&mut self) {
        (self.enabled, self.accurate) = (false, AccEcn::Off);
        [self.new_codepoint, self.syn_codepoint, self.ack_codepoint, self.rexmit_codepoint] = [Ecn::NotEct; 4];
    }

    /// Whether classic ECN is in use, or requested.
    #[cfg(test)]
    pub fn is_on(&self) -> bool {
        self.enabled
    }
}

impl AceCounter {
    /// Newly reported marked packets of an acknowledgment that delivered `delivered` packets. Without `progress` and a
    /// newer timestamp it may be an old one, and reports nothing.
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
        // The counter may have wrapped if more was delivered than its three bits can count: assume the largest number
        // that fits, unless acknowledgments usually cover many packets.
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
        // For each ACE of a SYN-ACK: accurate ECN in use, classic ECN in use.
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
        // Test vectors of the specification: 2 delivered, ACE 7, none reported before.
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
