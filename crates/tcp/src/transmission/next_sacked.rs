//! The duplicate acknowledgment that tells of the next segment and of nothing else, in a stack that has none of the mechanisms
//! after Linux 2.6: what most acknowledgments with SACKs are.
//!
//! What any acknowledgment is asked for would be told by it in the same way; here only what can follow is asked.

use super::Transmission;
use crate::ack::AckInfo;
use crate::context::Rexmit;
use crate::control::Control;
use crate::recovery::Recovery;
use crate::segment::Sacked;
use crate::{Flags, Header, Now, Wire};

impl Transmission {
    /// Whether an acknowledgment may be such a one.
    #[inline(always)]
    pub fn may_tell_of_next(&self, header: &Header) -> bool {
        let is_duplicate = (header.ack == self.queue.una()) & !header.sack.is_empty();
        self.is_plain && is_duplicate & !header.flags.has_any(Flags::SYN.with(Flags::ECE))
    }

    /// Takes one that [may be](Self::may_tell_of_next), if it is; returns whether it was.
    #[inline(never)]
    pub fn on_next_sacked(
        &mut self,
        now: Now,
        header: &Header,
        control: &mut Control,
        recovery: &mut Recovery,
        wire: &mut impl Wire,
    ) -> bool {
        let blocks = header.sack.blocks();
        if recovery.tests_time_out() {
            return false;
        }
        let Some(i) = self.board.next_sacked(blocks, self.queue.una()) else { return false };
        self.is_calm = false;
        self.output.heard(header.ts_val);
        self.board.sack_next(i, blocks);
        let sacked = Sacked { new: true, ..Sacked::default() };
        recovery.episode.on_sacked(&sacked, true, self.queue.nxt(), &mut self.board);
        let ack = AckInfo { sacked, ts_ecr: header.ts_ecr, delivered: 1, ..AckInfo::default() };
        let rexmit = match recovery.on_next_sacked(&ack, &mut self.cx(now, control)) {
            Some(rexmit) => rexmit,
            None => self.decide_on_sacked(now, header.ts_ecr, control, recovery),
        };
        let cwnd = control.window.cwnd;
        if rexmit == Rexmit::Lost {
            self.retransmit_lost_plain(now, cwnd, recovery, wire);
        }
        if self.board.room(cwnd) > 0 || self.queue.is_dry() {
            self.send_plain(now, control, recovery, wire);
        }
        true
    }

    /// What recovery makes of it where it may be more than a duplicate among others.
    #[inline(never)]
    fn decide_on_sacked(&mut self, now: Now, ts_ecr: u32, control: &mut Control, recovery: &mut Recovery) -> Rexmit {
        let sacked = Sacked { new: true, ..Sacked::default() };
        let ack = AckInfo { sacked, ts_ecr, delivered: 1, ..AckInfo::default() };
        recovery.on_ack(&ack, &mut self.cx(now, control))
    }
}
