//! What the sender makes of an acknowledgment: the queue is cleaned, the window grows, suspicions go to recovery.
//!
//! Source: Linux 2.6.29 `tcp_ack` and its helpers. From 3.10 on: `ack_3_10.rs`.

use super::cc::{self, CongestionControl, Counting};
use super::scoreboard::{Acked, Sacked, is_duplicate};
use super::sender::{Sender, State};
use super::stack::Machine;
use super::{Flags, Header, Ticks, Wire};

/// What one acknowledgment told, after the queue was cleaned.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ack {
    /// `snd_una` moved.
    pub advanced: bool,
    pub acked: Acked,
    pub sacked: Sacked,
    pub ece: bool,
    /// The timestamp that it echoes.
    pub ts_ecr: u32,
    /// Segments newly known to have arrived.
    pub delivered: u32,
}

impl Ack {
    pub fn data_acked(&self) -> bool {
        self.acked.packets > 0
    }
    /// Something moved forward.
    pub fn forward_progress(&self) -> bool {
        self.data_acked() || self.sacked.new
    }
    pub fn any_progress(&self) -> bool {
        self.forward_progress() || self.advanced
    }
    /// A duplicate acknowledgment: nothing moved.
    pub fn is_duplicate(&self) -> bool {
        !self.advanced && !self.data_acked()
    }
}

impl Sender {
    /// Takes an acknowledgment, as up to Linux 3.9, from where speed matters less.
    #[inline(never)]
    pub(super) fn on_ack_3_8(&mut self, now: Ticks, header: &Header, wire: &mut impl Wire) {
        self.on_ack(now, header, wire);
    }

    /// Takes an acknowledgment, as up to Linux 3.9.
    #[inline(always)]
    pub(super) fn on_ack(&mut self, now: Ticks, header: &Header, wire: &mut impl Wire) {
        if header.ack > self.queue.nxt() {
            return;
        }
        self.ts_recent = self.ts_recent.max(header.ts_val);
        if header.ack < self.queue.una() {
            // An old acknowledgment can still bring SACKs.
            if self.sack && !header.sack.blocks().is_empty() {
                self.tag(header);
            }
            return;
        }
        let prior_in_flight = self.board.in_flight();
        let (prior_fackets, prior_sacked) = (self.board.fackets_out, self.board.sacked_out);
        let advanced = header.ack > self.queue.una();
        let prior_una = self.queue.una();
        let bytes = self.queue.acknowledge(header.ack);
        self.count_bytes(bytes);
        let sacked = if self.sack && !header.sack.blocks().is_empty() {
            self.count_duplicate(header, prior_una);
            self.tag(header)
        } else {
            Sacked::default()
        };
        if self.board.packets_out() == 0 {
            self.send_new(now, wire);
            return;
        }
        let ece = self.ecn && header.flags.contains(Flags::ECE);
        let acked = self.clean(now, header, prior_fackets);
        let mut ack = Ack { advanced, acked, sacked, ece, ts_ecr: header.ts_ecr, delivered: 0 };
        let frto_held = self.frto.is_active() && self.process_frto(&ack);
        let suspicious = ack.is_duplicate() || ack.sacked.new || ack.ece || self.state != State::Open;
        if ack.data_acked() {
            let acked = &ack.acked;
            let news = || {
                // Karn: of a retransmission nobody knows which copy was acknowledged.
                let once = !acked.retransmitted && acked.reordered_at.is_some();
                let rtt = now.saturating_sub(self.clock.ticks(acked.last_sent));
                cc::Ack {
                    now: self.at,
                    packets: acked.packets,
                    rtt: (once && rtt > 0).then(|| self.clock.duration(rtt)),
                    una: self.queue.una(),
                    nxt: self.queue.nxt(),
                    open: self.state == State::Open,
                }
            };
            self.cc.acked(&mut self.window, news);
            let may_grow = !frto_held && (!suspicious || self.may_raise(&ack));
            if may_grow && self.is_cwnd_limited(prior_in_flight) {
                self.cc.increase(&mut self.window, acked.packets, news);
            }
        }
        if suspicious {
            ack.delivered = (ack.acked.packets + self.board.sacked_out).saturating_sub(prior_sacked);
            self.fast_retransmit_alert(now, &ack, wire);
        }
        self.send_new(now, wire);
    }

    /// Removes what is acknowledged, takes the RTT sample and restarts the timer.
    pub(super) fn clean(&mut self, now: Ticks, header: &Header, prior_fackets: u32) -> Acked {
        let fackets = self.board.fackets_out;
        let acked = self.board.acknowledge(self.queue.una(), self.sack, |_| {});
        if acked.packets == 0 {
            return acked;
        }
        let timestamps = self.is_plain || self.stack.timestamps;
        let sent = if timestamps { Some(header.ts_ecr) } else { self.stop_timing() };
        if let Some(sent) = sent {
            self.rtt.sample(now.saturating_sub(sent), self.queue.una(), self.queue.nxt());
        }
        if self.board.packets_out() == 0 {
            self.deadline = None;
        } else if self.is_plain || !self.keeps_timer() {
            self.rearm(now);
        }
        if !self.is_plain && self.stack.machine == Machine::Ns2 {
            // It takes nothing for reordering.
        } else if self.is_reno() {
            self.remove_reno_sacks(acked.packets);
        } else if let Some(at) = acked.reordered_at.filter(|&at| at < prior_fackets) {
            self.update_reordering(fackets - at);
        }
        acked
    }

    /// The SACK option, and FACK's consequences for retransmissions.
    pub(super) fn tag(&mut self, header: &Header) -> Sacked {
        let told = self.board.tag(header.sack.blocks(), header.ack, self.frto.highmark(), |_| {});
        if self.fack && self.state == State::Recovery {
            self.board.mark_lost_retransmissions(self.queue.nxt());
        }
        if let Some(at) = told.reordered_at {
            let undoable = self.state != State::Loss || self.undo_marker.is_some();
            let after_frto = self.frto.highmark() == 0 || self.queue.una() > self.frto.highmark();
            if undoable && after_frto {
                self.update_reordering(self.board.fackets_out.saturating_sub(at));
            }
        }
        told
    }

    /// A D-SACK for data that was retransmitted in this episode tells that the retransmission was not needed.
    pub(super) fn count_duplicate(&mut self, header: &Header, prior_una: u64) {
        let blocks = header.sack.blocks();
        let Some(marker) = self.undo_marker.filter(|_| is_duplicate(blocks, header.ack)) else { return };
        let (_, end) = blocks[0];
        let needless = match end <= prior_una {
            true => (end > marker) as u32,
            false => self.board.retransmitted_in(blocks[0], marker),
        };
        if self.undo_retrans > 0 {
            self.undo_retrans = (self.undo_retrans - needless as i32).max(0);
        }
    }

    fn count_bytes(&mut self, bytes: u64) {
        if self.stack.counting == Counting::Bytes {
            match self.state {
                State::Open | State::Disorder => self.window.bytes_acked += bytes,
                // One segment is assumed to have left the network.
                State::Loss => self.window.bytes_acked += bytes.min(self.window.mss as u64),
                State::Cwr | State::Recovery => {}
            }
        }
    }

    fn may_raise(&self, ack: &Ack) -> bool {
        (!ack.ece || self.window.cwnd < self.window.ssthresh) && !matches!(self.state, State::Recovery | State::Cwr)
    }

    pub(super) fn update_reordering(&mut self, metric: u32) {
        if metric > 0 {
            self.early_retransmit = false;
            self.rack.reordering_seen = true;
        }
        if metric > self.reordering {
            self.reordering = metric.min(if self.stack.rack { MAX_REORDERING_RACK } else { MAX_REORDERING });
            self.fack = false;
        }
    }
}

/// Linux `TCP_MAX_REORDERING`.
const MAX_REORDERING: u32 = 127;

/// Linux `tcp_max_reordering`, from 3.19 on.
const MAX_REORDERING_RACK: u32 = 300;
