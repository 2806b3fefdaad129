//! Explicit congestion notification at the sender (RFC 3168): what is negotiated, marked capable, echoed and announced.

use crate::stack::Stack;
use crate::{Flags, Header};
use sojourn_aqm::Ecn;

/// The sender's side of ECN.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EcnSender {
    on: bool,
    /// A reduction is to be announced by CWR on the next new segment.
    reduced: bool,
    /// A SYN that is sent again does not ask any more.
    fallback: bool,
}

impl EcnSender {
    /// ECN is `asked` for.
    pub fn new(stack: &Stack, asked: bool) -> Self {
        Self { on: asked, reduced: false, fallback: stack.ecn_fallback }
    }

    /// RFC 3168 §6.1.1: ECE and CWR on the SYN ask for ECN.
    pub fn of_syn(&self) -> Flags {
        Flags::default().with_if(Flags::ECE.with(Flags::CWR), self.on)
    }

    /// The SYN was lost: something on the path may not like SYNs that ask for ECN (RFC 3168 §6.1.1.1).
    pub fn syn_lost(&mut self) {
        self.on &= !self.fallback;
    }

    /// The answer to the SYN.
    pub fn answered(&mut self, flags: Flags) {
        self.on &= flags.contains(Flags::ECE);
    }

    /// Whether an acknowledgment tells of a congestion mark.
    #[inline]
    pub fn is_echo(&self, header: &Header) -> bool {
        self.on && header.flags.contains(Flags::ECE)
    }

    /// The window is reduced.
    pub fn reduction_begins(&mut self) {
        self.reduced = true;
    }

    /// The window is as it was.
    pub fn reduction_undone(&mut self) {
        self.reduced = false;
    }

    /// Flags and codepoint of a new segment, which announces a reduction.
    #[inline(always)]
    pub fn of_new(&mut self) -> (Flags, Ecn) {
        let flags = Flags::ACK.with_if(Flags::CWR, self.reduced && self.on);
        self.reduced = false;
        (flags, if self.on { Ecn::Ect0 } else { Ecn::NotEct })
    }

    /// Whether ECN is in use, or asked for.
    #[cfg(test)]
    pub fn is_on(&self) -> bool {
        self.on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ecn(stack: &str, asked: bool) -> EcnSender {
        EcnSender::new(Stack::find(stack).expect("a stack"), asked)
    }

    #[test]
    fn a_reduction_is_announced_once() {
        let mut ecn = ecn("linux-6.1", true);
        ecn.reduction_begins();
        assert_eq!(ecn.of_new(), (Flags::ACK.with(Flags::CWR), Ecn::Ect0));
        assert_eq!(ecn.of_new(), (Flags::ACK, Ecn::Ect0));
        ecn.reduction_begins();
        ecn.reduction_undone();
        assert_eq!(ecn.of_new(), (Flags::ACK, Ecn::Ect0));
    }

    #[test]
    fn a_refusal_or_a_lost_syn_ends_it() {
        let mut refused = ecn("linux-6.1", true);
        refused.answered(Flags::SYN.with(Flags::ACK));
        refused.reduction_begins();
        assert_eq!(refused.of_new(), (Flags::ACK, Ecn::NotEct));
        assert!(!refused.is_echo(&Header { flags: Flags::ECE, ..Header::default() }));
        for (stack, asks_again) in [("linux-6.1", false), ("linux-3.8", true)] {
            let mut lost = ecn(stack, true);
            assert!(lost.of_syn().contains(Flags::ECE.with(Flags::CWR)));
            lost.syn_lost();
            assert_eq!(lost.of_syn().contains(Flags::ECE), asks_again, "{stack}");
        }
    }
}
