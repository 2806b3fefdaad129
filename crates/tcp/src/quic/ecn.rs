//! Validation of ECN (RFC 9000 §13.4.2 and appendix A.4): packets are sent ECN-capable until the counts of the other side show
//! that something on the way changes their codepoints.

use super::EcnCounts;
use sojourn_aqm::Ecn;

/// Whether a path carries ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Packets are marked; nobody has told of them.
    Testing,
    /// Enough were marked; none is until somebody tells of them.
    Unknown,
    Capable,
    Failed,
}

/// What is known of a path's ECN.
#[derive(Clone, Debug)]
pub(super) struct EcnValidation {
    state: State,
    /// What packets are sent as.
    codepoint: Ecn,
    /// Packets that were sent so.
    sent: u64,
    /// What the other side has told, with its largest packet number so far.
    reported: EcnCounts,
}

impl EcnValidation {
    /// A path whose packets are to be sent as `codepoint`.
    pub fn new(codepoint: Ecn) -> Self {
        let state = if codepoint == Ecn::NotEct { State::Failed } else { State::Testing };
        Self { state, codepoint, sent: 0, reported: EcnCounts::default() }
    }

    /// What the next packet is sent as; it is sent.
    pub fn mark(&mut self) -> Ecn {
        if !matches!(self.state, State::Testing | State::Capable) {
            return Ecn::NotEct;
        }
        self.sent += 1;
        if self.state == State::Testing && self.sent >= TESTED {
            self.state = State::Unknown;
        }
        self.codepoint
    }

    /// Probe time-outs may be the work of something that drops packets which are ECN-capable.
    pub fn on_pto(&mut self, count: u32) {
        if self.state == State::Testing && count >= TESTED_PTOS {
            self.state = State::Unknown;
        }
    }

    /// A frame whose largest packet number is a new one acknowledges `acked` packets anew that were sent ECN-capable. Returns
    /// how many of those that have arrived since the last one carried a mark.
    pub fn on_ack(&mut self, acked: u64, counts: Option<EcnCounts>) -> u64 {
        if self.state == State::Failed {
            return 0;
        }
        let Some(counts) = counts else {
            if acked > 0 {
                self.state = State::Failed;
            }
            return 0;
        };
        let before = std::mem::replace(&mut self.reported, counts);
        let since = |now: u64, before: u64| now.saturating_sub(before);
        let ce = since(counts.ce, before.ce);
        let (sent_as, other, all_as) = match self.codepoint {
            Ecn::Ect1 => (since(counts.ect1, before.ect1), counts.ect0, counts.ect1),
            _ => (since(counts.ect0, before.ect0), counts.ect1, counts.ect0),
        };
        if sent_as + ce < acked || other > 0 || all_as > self.sent {
            self.state = State::Failed;
            return 0;
        }
        if acked > 0 {
            self.state = State::Capable;
        }
        ce
    }

    /// Whether packets that are sent are not ECN-capable, and will not be.
    pub fn has_failed(&self) -> bool {
        self.state == State::Failed
    }
}

/// Packets that are sent ECN-capable before somebody tells of them, and probe time-outs until none is.
const TESTED: u64 = 10;
const TESTED_PTOS: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(ect0: u64, ect1: u64, ce: u64) -> Option<EcnCounts> {
        Some(EcnCounts { ect0, ect1, ce })
    }

    #[test]
    fn ten_packets_are_marked_until_somebody_tells_of_them() {
        let mut path = EcnValidation::new(Ecn::Ect0);
        let sent: Vec<Ecn> = (0..12).map(|_| path.mark()).collect();
        assert_eq!(sent.iter().filter(|&&ecn| ecn == Ecn::Ect0).count(), 10);
        assert_eq!(path.on_ack(2, counts(1, 0, 1)), 1);
        assert_eq!((path.mark(), path.has_failed()), (Ecn::Ect0, false));
        assert_eq!(path.on_ack(3, counts(4, 0, 1)), 0);
        assert_eq!(path.on_ack(2, counts(4, 0, 3)), 2);
    }

    #[test]
    fn codepoints_that_were_changed_on_the_way_end_it() {
        for (name, acked, told) in [
            ("cleared, so that there are no counts", 2, None),
            ("cleared in part", 3, counts(2, 0, 0)),
            ("made ECT(1)", 2, counts(0, 2, 0)),
            ("more than were sent", 2, counts(12, 0, 0)),
        ] {
            let mut path = EcnValidation::new(Ecn::Ect0);
            assert!((0..5).all(|_| path.mark() == Ecn::Ect0));
            assert_eq!((path.on_ack(acked, told), path.has_failed(), path.mark()), (0, true, Ecn::NotEct), "{name}");
        }
        let mut path = EcnValidation::new(Ecn::Ect1);
        path.mark();
        assert_eq!((path.on_ack(1, counts(0, 1, 0)), path.has_failed()), (0, false));
        path.on_pto(3);
        assert_eq!(path.mark(), Ecn::Ect1, "what is known to work stays");
        let mut path = EcnValidation::new(Ecn::Ect0);
        path.on_pto(3);
        assert_eq!((path.mark(), path.has_failed()), (Ecn::NotEct, false));
    }
}
