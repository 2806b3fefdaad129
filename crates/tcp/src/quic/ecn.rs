//! ECN validation (RFC 9000 §13.4.2 and appendix A.4): packets are sent ECN-capable until the peer's counts show that
//! the path changes their codepoints.

use super::EcnCounts;
use sojourn_aqm::Ecn;

/// State of ECN validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Packets are sent ECN-capable; none has been acknowledged with counts.
    Testing,
    /// The test packets are sent; further packets are not ECN-capable until counts arrive.
    Unknown,
    Capable,
    Failed,
}

/// ECN validation of a path.
#[derive(Clone, Debug)]
pub(super) struct EcnValidation {
    state: State,
    /// Codepoint of sent packets.
    codepoint: Ecn,
    /// Packets sent with this codepoint.
    sent: u64,
    /// Counts of the peer's ACK frame with the largest packet number so far.
    reported: EcnCounts,
}

impl EcnValidation {
    /// A path on which packets are to be sent with `codepoint`.
    pub fn new(codepoint: Ecn) -> Self {
        let state = if codepoint == Ecn::NotEct { State::Failed } else { State::Testing };
        Self { state, codepoint, sent: 0, reported: EcnCounts::default() }
    }

    /// Codepoint of the next packet, which is counted as sent.
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

    /// Repeated probe time-outs may mean that the path drops ECN-capable packets.
    pub fn on_pto(&mut self, count: u32) {
        if self.state == State::Testing && count >= TESTED_PTOS {
            self.state = State::Unknown;
        }
    }

    /// Processes the counts of a frame with a new largest packet number that newly acknowledges `acked` ECN-capable
    /// packets. Returns the increase of the CE count.
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
        // Marks erased, codepoint rewritten, or more packets reported than sent with it.
        if sent_as + ce < acked || other > 0 || all_as > self.sent {
            self.state = State::Failed;
            return 0;
        }
        if acked > 0 {
            self.state = State::Capable;
        }
        ce
    }

    /// Whether ECN is disabled for good.
    pub fn has_failed(&self) -> bool {
        self.state == State::Failed
    }
}

/// ECN-capable packets sent before counts arrive, and probe time-outs that end the test.
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
