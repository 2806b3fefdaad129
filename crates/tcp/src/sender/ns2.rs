//! Processing of an acknowledgment in ns-2.
//!
//! Source: ns-2 `tcp.cc` (`TcpAgent::recv`, `recv_newack_helper`), `tcp-sack1.cc`.

use super::Sender;
use crate::context::Rexmit;
use crate::state::CaState;
use crate::{Header, HostTime, SeqRange, Wire};

impl Sender {
    /// Processes an acknowledgment as ns-2 does: the window grows whether it was used or not, up to the maximum.
    pub(super) fn on_ack_ns2(&mut self, now: HostTime, header: &Header, wire: &mut impl Wire) {
        let Self { transmission: tx, recovery, control, .. } = self;
        if header.ack > tx.queue.nxt() || header.ack < tx.queue.una() {
            return;
        }
        let advanced = tx.queue.acknowledge(header.ack) > 0;
        let blocks: &[SeqRange] = header.sack.blocks();
        if !blocks.is_empty() && !tx.board.is_reno() && recovery.reads_sacks_ns2(&control.cc) {
            recovery.on_sacks(header, &tx.queue, &mut tx.board, |_, _, _| {});
        }
        if tx.board.packets_out() > 0 {
            // ns-2 never infers reordering.
            let (una, state) = (tx.queue.una(), recovery.state());
            let restarts = !recovery.keeps_timer(una, &tx.board);
            let partial = advanced && recovery.continues_ns2(una, &tx.board, &control.cc);
            if partial {
                tx.rtt.on_partial_acknowledgment(una, !tx.board.is_reno());
            }
            let acked = advanced.then(|| tx.clean_acked(now, header, !partial, restarts));
            let echo = tx.ecn.is_echo(header);
            if echo {
                recovery.on_echo_ns2(&mut tx.cx(now, control));
            }
            let progress = recovery.on_ack_ns2(acked.as_ref(), blocks, &mut tx.cx(now, control));
            if recovery.state() == CaState::Recovery && state != CaState::Recovery {
                tx.rtt.cancel_timing();
            }
            if let Some(acked) = acked.filter(|_| progress.grows && !echo) {
                let ack = || tx.cc_ack(now, acked.packets, acked.sent_once(), recovery.state());
                control.acked(ack);
                control.increase(ack);
                control.limit_cwnd(tx.offered.segments(control.window.mss));
            }
            self.xmit_recovery(progress.rexmit, now, wire);
            if matches!(progress.rexmit, Rexmit::ByPipe | Rexmit::HeadOnly | Rexmit::Hold) {
                return;
            }
        }
        self.send_new(now, wire);
    }
}
