//! Any acknowledgment up to Linux 3.9: the window grows before recovery is considered.
//!
//! Source: Linux 2.6.29 `tcp_ack`.

use super::Transmission;
use crate::ack::AckInfo;
use crate::context::Before;
use crate::context::Rexmit;
use crate::control::Control;
use crate::recovery::Recovery;
use crate::segment::{Acked, Sacked};
use crate::state::State;
use crate::{Flags, Header, Now, Wire};

impl Transmission {
    /// Whether an acknowledgment tells of new data and of nothing else, without a test of a time-out, in a stack that has none of
    /// the mechanisms after Linux 2.6.
    #[inline(always)]
    pub fn is_progress(&self, header: &Header, recovery: &Recovery) -> bool {
        let is_plain = header.sack.is_empty() & !header.flags.has_any(Flags::SYN.with(Flags::ECE));
        let is_next = (header.ack > self.queue.una()) & is_plain & (self.board.packets_out() > 0);
        self.is_plain && is_next && !recovery.tests_time_out()
    }

    /// Takes an acknowledgment.
    pub fn on_any_ack(
        &mut self,
        now: Now,
        header: &Header,
        control: &mut Control,
        recovery: &mut Recovery,
        wire: &mut impl Wire,
    ) {
        match self.is_progress(header, recovery) {
            true => self.on_ack::<true>(now, header, control, recovery, wire),
            false => self.on_ack::<false>(now, header, control, recovery, wire),
        }
    }

    /// The same, where it brings nothing but new data if it is `PROGRESS`.
    #[inline(never)]
    fn on_ack<const PROGRESS: bool>(
        &mut self,
        now: Now,
        header: &Header,
        control: &mut Control,
        recovery: &mut Recovery,
        wire: &mut impl Wire,
    ) {
        if header.ack > self.queue.nxt() {
            return;
        }
        self.output.heard(header.ts_val);
        let has_sack = !PROGRESS && !header.sack.is_empty() && !self.board.is_reno();
        let before = Before::of(&self.queue, &self.board);
        if !PROGRESS && header.ack < before.una {
            // An old acknowledgment can still bring SACKs.
            if has_sack {
                recovery.on_sacks(header, &self.queue, &mut self.board, |_, _, _| {});
            }
            return;
        }
        let bytes = self.queue.acknowledge(header.ack);
        let advanced = PROGRESS || bytes > 0;
        control.count_bytes(bytes, recovery.state());
        let mut sacked = Sacked::default();
        if has_sack {
            recovery.episode.undo.count_duplicate(header, before.una, &self.board);
            sacked = recovery.on_sacks(header, &self.queue, &mut self.board, |_, _, _| {});
        }
        if self.board.packets_out() == 0 {
            return self.send_new(now, control, recovery, wire);
        }
        // Of a duplicate there is nothing to remove.
        let mut acked = Acked::default();
        if advanced {
            let fackets = self.board.fackets_out;
            acked = self.clean(now, header);
            if acked.packets > 0 {
                recovery.episode.on_acknowledged(&acked, fackets, before.fackets, &mut self.board);
            }
        }
        let ece = !PROGRESS && self.ecn.is_echo(header);
        let ack_of = |delivered| AckInfo {
            advanced,
            acked,
            sacked,
            ece,
            ts_ecr: header.ts_ecr,
            delivered,
            ..AckInfo::default()
        };
        let tests = !PROGRESS && recovery.tests_time_out();
        let held = tests && recovery.test_time_out(&ack_of(0), &mut self.cx(now, control));
        let state = recovery.state();
        let is_duplicate = !advanced && acked.packets == 0;
        let suspicious = is_duplicate || sacked.new || ece || state != State::Open;
        if acked.packets > 0 {
            let may_raise = || (!ece || control.window.cwnd < control.window.ssthresh) && !recovery.is_reducing();
            let may_grow = !held && (!suspicious || may_raise());
            let (tx, packets, last) = (&*self, acked.packets, acked.sent_once());
            let news = move || tx.news(now, packets, last, state);
            control.hear(packets, may_grow, (before.in_flight, recovery.reordering()), news);
        }
        if suspicious {
            let delivered = (acked.packets + self.board.sacked_out).saturating_sub(before.sacked);
            let told = match PROGRESS {
                true => recovery.on_progress(&ack_of(delivered), &mut self.cx(now, control)),
                false => None,
            };
            let rexmit = match told {
                Some(rexmit) => rexmit,
                None => recovery.on_ack(&ack_of(delivered), &mut self.cx(now, control)),
            };
            if rexmit == Rexmit::Lost {
                let cwnd = control.window.cwnd;
                match self.is_plain {
                    true => self.retransmit_lost_plain(now, cwnd, recovery, wire),
                    false => self.retransmit_lost(now, cwnd, control, recovery, wire),
                }
            }
        }
        self.send_new(now, control, recovery, wire);
    }
}
