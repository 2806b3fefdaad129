//! Loss recovery in ns-2: halve at once, and let duplicates inflate the window.
//!
//! Source: ns-2 `tcp.cc`, `tcp-reno.cc`, `tcp-newreno.cc`, `tcp-sack1.cc` with the defaults of `ns-default.tcl`;
//! RFC 6582, RFC 6675. A duplicate counts as a segment that left the network (`sacked_out`, `dupwnd_`), which is what
//! inflating the window by it comes to; so are the first two, whose new segments are limited transmit (`singledup_`).
//!
//! `Differs:` with SACK it is RFC 6675 rather than `tcp-sack1.cc`, which also stands in for `TCP/Linux`.

use super::cc::{self, CongestionControl};
use super::scoreboard::{Acked, Tags};
use super::sender::{Sender, State};
use super::stack::Machine;
use super::{Flags, Header, Ticks, Wire};

impl Sender {
    /// An acknowledgment.
    #[inline(never)]
    pub(super) fn on_ack_ns2(&mut self, now: Ticks, header: &Header, wire: &mut impl Wire) {
        if header.ack > self.queue.nxt() || header.ack < self.queue.una() {
            return;
        }
        let advanced = header.ack > self.queue.una();
        self.queue.acknowledge(header.ack);
        if self.sack && !header.sack.blocks().is_empty() {
            self.tag(header);
        }
        if self.board.packets_out() > 0 {
            if advanced {
                let acked = self.clean(now, header, self.board.fackets_out);
                self.on_progress(now, &acked, wire);
            } else {
                self.on_duplicate(now, wire);
            }
            if self.ecn && header.flags.contains(Flags::ECE) {
                self.halve_on_echo();
            }
        }
        self.send_new(now, wire);
    }

    /// Ends the timing of a segment that is acknowledged; returns when it was sent.
    pub(super) fn stop_timing(&mut self) -> Option<Ticks> {
        let (_, sent) = self.timed.filter(|&(end, _)| end <= self.queue.una())?;
        self.timed = None;
        Some(sent)
    }

    fn on_duplicate(&mut self, now: Ticks, wire: &mut impl Wire) {
        if self.is_reno() && self.state != State::Loss {
            let missing = self.board.lost_out.max(1);
            self.board.sacked_out = (self.board.sacked_out + 1).min(self.board.packets_out() - missing);
        }
        match self.state {
            State::Recovery => self.repair(now, wire),
            // RFC 6582 §4: duplicates of what was sent before a time-out tell of nothing new.
            State::Loss => {}
            // bugFix_: nor do those of what was sent before a recovery; what else it lost waits for the time-out.
            _ if self.is_reno() && self.queue.una() <= self.high_seq && self.board.sacked_out >= self.reordering => {
                self.board.sacked_out = self.reordering - 1;
            }
            _ if self.board.sacked_out >= self.reordering => {
                self.halve();
                self.state = State::Recovery;
                self.partial_acked = false;
                self.resend_head(now, wire);
                self.rearm(now);
            }
            _ => self.state = State::Disorder,
        }
    }

    fn on_progress(&mut self, now: Ticks, acked: &Acked, wire: &mut impl Wire) {
        let finished = self.queue.una() >= self.high_seq;
        match self.state {
            // exit_recovery_fix_ 0: the window stays, whatever burst that gives.
            State::Recovery if self.is_reno() && (finished || self.cc.partial_ack_ends_recovery()) => {
                self.board.sacked_out = 0;
                self.state = State::Open;
                self.grow(now, acked);
            }
            State::Recovery if finished => {
                self.state = State::Open;
                // RFC 6582 §3.2 step 3, option 1: no burst.
                self.window.cwnd = self.window.ssthresh.min(self.board.in_flight() + 1);
            }
            State::Recovery if self.is_reno() => {
                self.partial_acked = true;
                self.deflate(acked.packets);
                self.resend_head(now, wire);
            }
            State::Recovery => self.repair(now, wire),
            _ => {
                if self.is_reno() {
                    self.board.sacked_out = 0;
                }
                if self.state != State::Loss || finished {
                    self.state = State::Open;
                }
                self.grow(now, acked);
                self.retransmit_lost(now, wire);
            }
        }
    }

    /// The window grows whether it was used or not, up to the largest.
    fn grow(&mut self, now: Ticks, acked: &Acked) {
        let rtt = now.saturating_sub(self.clock.ticks(acked.last_sent));
        let measured = !acked.retransmitted && rtt > 0;
        let news = || cc::Ack {
            now: self.at,
            packets: acked.packets,
            rtt: measured.then(|| self.clock.duration(rtt)),
            una: self.queue.una(),
            nxt: self.queue.nxt(),
            open: self.state == State::Open,
        };
        self.cc.acked(&mut self.window, news);
        self.cc.increase(&mut self.window, acked.packets, news);
        let most = (self.receive_window / self.window.mss as u64).clamp(1, u32::MAX as u64) as u32;
        self.window.cwnd = self.window.cwnd.min(most);
    }

    /// Whether an acknowledgment leaves the retransmission timer as it is: in a recovery without SACK all partial ones
    /// but the first (`newreno_changes1_`; RFC 6582's impatient variant), so that many losses end in a time-out.
    pub(super) fn keeps_timer(&self) -> bool {
        self.stack.machine == Machine::Ns2
            && self.state == State::Recovery
            && self.is_reno()
            && self.partial_acked
            && self.queue.una() < self.high_seq
    }

    /// Half the window and the threshold, for what is out now.
    fn halve(&mut self) {
        self.window.ssthresh = self.cc.ssthresh(&self.window);
        if self.is_reno() {
            // precisionReduce_: to the fraction; and only the threshold is at least two segments.
            self.window.halve_exactly();
        } else {
            (self.window.cwnd, self.window.cwnd_cnt) = (self.window.ssthresh, 0);
        }
        self.high_seq = self.queue.nxt();
        self.cwr_pending = true;
    }

    /// A partial acknowledgment takes from the window what it acknowledged, and gives one for the retransmission that
    /// arrived (`partial_window_deflation_`).
    fn deflate(&mut self, packets: u32) {
        let inflated = self.board.sacked_out;
        if inflated > packets {
            self.board.sacked_out = inflated - (packets - 1);
        } else {
            self.window.cwnd = self.window.cwnd.saturating_sub(packets - inflated).max(1);
            self.board.sacked_out = 1;
        }
    }

    /// With SACK: what three SACKed segments lie above is lost, and sent again as the window allows.
    fn repair(&mut self, now: Ticks, wire: &mut impl Wire) {
        if self.sack {
            self.update_scoreboard(now, false);
            self.retransmit_lost(now, wire);
        }
    }

    /// The oldest segment is sent again, whatever the window.
    fn resend_head(&mut self, now: Ticks, wire: &mut impl Wire) {
        if self.board.head().is_none_or(|head| head.tags.any(Tags::RETRANS)) {
            return;
        }
        self.board.mark_lost(0);
        self.retransmit(0, now, wire);
    }

    /// RFC 3168 §6.1.2: one reduction per window.
    fn halve_on_echo(&mut self) {
        if self.state <= State::Disorder && self.queue.una() >= self.high_seq {
            self.halve();
        }
    }
}
