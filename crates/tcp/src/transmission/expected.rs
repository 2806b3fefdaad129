//! The acknowledgment that is expected: of new data and of nothing else, while nothing is suspicious, in a stack that has
//! none of the mechanisms after Linux 2.6.
//!
//! What any acknowledgment is asked for would be told by it in the same way; here nobody asks.

use super::Transmission;
use crate::control::Control;
use crate::recovery::Recovery;
use crate::state::State;
use crate::{Flags, Header, Now, Wire};

impl Transmission {
    /// Whether an acknowledgment is one that is expected.
    #[inline(always)]
    pub fn expects(&self, header: &Header) -> bool {
        let is_plain = header.sack.is_empty() & !header.flags.has_any(Flags::SYN.with(Flags::ECE));
        self.is_calm && (self.queue.una() < header.ack) & (header.ack <= self.queue.nxt()) & is_plain
    }

    /// An event is over that was none of these: whether the next acknowledgment can be.
    #[inline(always)]
    pub fn look_for_calm(&mut self, control: &Control, recovery: &Recovery) {
        self.is_calm = self.is_plain && recovery.state() == State::Open && self.finds_calm(control, recovery);
    }

    #[inline(never)]
    fn finds_calm(&self, control: &Control, recovery: &Recovery) -> bool {
        let is_untouched = self.board.is_untouched_from(self.queue.una()) && self.board.retransmit_hint.is_none();
        let is_counted = control.counts_acknowledgments() && self.rtt.is_measured();
        !recovery.tests_time_out() && is_untouched && is_counted
    }

    /// Takes an acknowledgment that [is expected](Self::expects).
    #[inline(always)]
    pub fn on_expected(
        &mut self,
        now: Now,
        header: &Header,
        control: &mut Control,
        recovery: &mut Recovery,
        wire: &mut impl Wire,
    ) {
        self.output.heard(header.ts_val);
        let in_flight = self.board.packets_out();
        self.queue.acknowledge(header.ack);
        let acked = self.board.acknowledge_untouched(header.ack);
        if acked.packets > 0 {
            self.rtt.sample_next(now.since_echoed(header.ts_ecr) as u32, header.ack, self.queue.nxt());
            if self.board.packets_out() == 0 {
                self.timer.stop();
            } else {
                self.timer.restart_in_ticks(now, &self.rtt);
            }
            // By value, so that what was acknowledged need not be in memory.
            let (tx, packets, last) = (&*self, acked.packets, acked.last_sent);
            let news = move || tx.news(now, packets, Some(last), State::Open);
            control.hear_next(in_flight, || recovery.reordering(), news);
        }
        self.send_plain_here::<true>(now, control, recovery, wire);
    }
}
