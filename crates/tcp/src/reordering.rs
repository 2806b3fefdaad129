//! Reordering observed on the path; it switches off FACK and early retransmit.
//!
//! Source: Linux `tcp_update_reordering`, `tcp_check_sack_reordering`.

use crate::stack::Stack;

/// The reordering tolerance: the number of later segments that may arrive before a missing one counts as lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reordering {
    degree: u32,
    initial: u32,
    max_degree: u32,
    seen: bool,
    /// Forward acknowledgment: used until a segment exceeded the tolerance.
    fack: bool,
}

impl Reordering {
    /// No reordering seen.
    pub fn new(stack: &Stack, sack: bool) -> Self {
        let (initial, max_degree) = (stack.reordering, stack.max_reordering);
        Self { degree: initial, initial, max_degree, seen: false, fack: sack && stack.fack }
    }

    /// A segment arrived `metric` positions late; zero is ignored.
    pub fn observe(&mut self, metric: u32) {
        self.seen |= metric > 0;
        if metric > self.degree {
            self.degree = metric.min(self.max_degree);
            self.fack = false;
        }
    }

    /// The tolerance in segments.
    #[inline]
    pub fn degree(&self) -> u32 {
        self.degree
    }

    /// The initial tolerance.
    pub fn initial(&self) -> u32 {
        self.initial
    }

    /// Whether the tolerance is above the initial one.
    pub fn is_raised(&self) -> bool {
        self.degree > self.initial
    }

    /// A time-out: the losses were real, so the tolerance returns to the initial one.
    pub fn reset_degree(&mut self) {
        self.degree = self.degree.min(self.initial);
    }

    /// Whether any reordering was seen.
    pub fn is_seen(&self) -> bool {
        self.seen
    }

    /// FACK: whether segments more than the tolerance below the highest SACK count as lost.
    pub fn uses_fack(&self) -> bool {
        self.fack
    }

    #[cfg(test)]
    pub fn without_fack(&mut self) {
        self.fack = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_lateness_is_seen_and_large_lateness_raises_the_tolerance_and_ends_fack() {
        let stack = Stack::find("linux-3.8").expect("a stack");
        let mut reordering = Reordering::new(stack, true);
        let mut after = |metric| {
            reordering.observe(metric);
            (reordering.degree(), reordering.is_seen(), reordering.uses_fack())
        };
        assert_eq!(after(0), (3, false, true));
        assert_eq!(after(2), (3, true, true));
        assert_eq!(after(7), (7, true, false));
        assert_eq!(after(1_000), (127, true, false), "Linux's limit before 3.19");
        reordering.reset_degree();
        assert_eq!((reordering.degree(), reordering.is_seen()), (3, true));
    }

    #[test]
    fn fack_needs_sack() {
        let stack = Stack::find("linux-3.8").expect("a stack");
        assert!(!Reordering::new(stack, false).uses_fack());
    }
}
