//! What a sender sends: new segments, as far as the windows allow, and segments again.
//!
//! Source: Linux `tcp_output.c`; bursts have their own file, `segmentation.rs`.

use super::scoreboard::Segment;
use super::sender::Sender;
use super::stack::Machine;
use super::timer::Timer;
use super::{FIRST_BYTE, Flags, Header, Ticks, Wire};
use sojourn_aqm::Ecn;

impl Sender {
    /// Sends what the window allows.
    pub(super) fn send_new(&mut self, now: Ticks, wire: &mut impl Wire) {
        if self.board.packets_out() == 0 && self.stack.idle_restart {
            self.restart_after_idle(now);
        }
        if !self.is_plain {
            self.send_as_stack(now, wire);
            return;
        }
        let right_edge = self.queue.una() + self.receive_window;
        while self.board.in_flight() < self.window.cwnd && self.queue.fits(right_edge) && wire.has_room() {
            self.send_next(now, wire);
        }
        if self.queue.is_dry() {
            self.after_sending(now, self.last_sent == self.at, false);
        }
    }

    #[inline(never)]
    fn send_as_stack(&mut self, now: Ticks, wire: &mut impl Wire) {
        let right_edge = self.right_edge();
        let first = self.queue.nxt();
        let mut limited = false;
        if self.stack.bursts {
            limited = self.send_bursts(right_edge, now, wire);
        } else {
            while self.board.in_flight() < self.window.cwnd && self.queue.fits(right_edge) && wire.has_room() {
                self.send_one(now, wire);
            }
        }
        if self.stack.machine == Machine::Linux3_10 || self.queue.is_dry() {
            self.after_sending(now, self.queue.nxt() > first, limited);
        }
    }

    #[inline(never)]
    fn after_sending(&mut self, now: Ticks, sent: bool, limited: bool) {
        self.validate_window(now, sent, limited || self.board.in_flight() >= self.window.cwnd);
        if sent {
            self.schedule_loss_probe(now, false);
        }
    }

    /// Whether something new could be sent at once.
    pub(super) fn may_send_now(&self) -> bool {
        self.board.in_flight() < self.window.cwnd && self.queue.fits(self.right_edge())
    }

    /// Where the receiver's window ends.
    fn right_edge(&self) -> u64 {
        self.offered.as_ref().map_or(self.queue.una() + self.receive_window, |offered| offered.edge)
    }

    /// Whether there is something new that the receive window has room for.
    pub(super) fn can_send_beyond_window(&self) -> bool {
        self.queue.fits(self.right_edge())
    }

    /// Sends segment `i` of the queue again.
    pub(super) fn retransmit(&mut self, i: usize, now: Ticks, wire: &mut impl Wire) {
        // Karn: of a retransmission nobody knows which copy was acknowledged.
        let seq = self.board.get(i).map_or(0, |segment| segment.seq);
        self.timed = self.timed.filter(|&(end, _)| end <= seq);
        self.board.retransmitted(i, self.queue.nxt());
        self.retrans_stamp.get_or_insert(now);
        self.undo_retrans = self.undo_retrans.max(0) + 1;
        self.count_for_prr(1);
        self.retransmit_uncounted(i, now, wire);
    }

    /// Sends segment `i` again without believing it lost, as a probe does.
    pub(super) fn retransmit_uncounted(&mut self, i: usize, now: Ticks, wire: &mut impl Wire) {
        let segment = self.board.resent(i, self.at);
        if self.stack.rack {
            self.rack.on_sent(&segment);
        }
        self.bursts.last = self.at;
        self.stats.sent += 1;
        self.stats.retransmissions += 1;
        // RFC 3168 §6.1.5: retransmissions are not ECN-capable.
        self.transmit(segment, Flags::ACK, Ecn::NotEct, now, wire);
    }

    /// Sends the next new segment, from where speed matters less.
    #[inline(never)]
    pub(super) fn send_one(&mut self, now: Ticks, wire: &mut impl Wire) {
        self.send_next(now, wire);
    }

    #[inline(always)]
    fn send_next(&mut self, now: Ticks, wire: &mut impl Wire) {
        let segment = self.queue.take(self.at);
        if self.board.packets_out() == 0 || self.timer != Timer::Retransmit {
            self.rearm_for_new(now);
        }
        self.board.push(segment);
        self.stats.sent += 1;
        let mut flags = Flags::ACK.with_if(Flags::CWR, self.cwr_pending && self.ecn);
        if !self.is_plain {
            self.note_sent(&segment, now);
            flags = flags.with_if(Flags::PSH, self.pushes);
        }
        self.cwr_pending = false;
        let ecn = if self.ecn { Ecn::Ect0 } else { Ecn::NotEct };
        self.transmit(segment, flags, ecn, now, wire);
    }

    /// What a new segment means to the RTT's timing, PRR, RACK and the bursts.
    pub(super) fn note_sent(&mut self, segment: &Segment, now: Ticks) {
        if !self.stack.timestamps {
            self.timed.get_or_insert((segment.end(), now));
        }
        self.count_for_prr(1);
        if self.stack.rack {
            self.rack.on_sent(segment);
        }
        self.bursts.last = self.at;
    }

    fn transmit(&mut self, segment: Segment, flags: Flags, ecn: Ecn, now: Ticks, wire: &mut impl Wire) {
        self.last_sent = self.at;
        let flags = flags.with_if(Flags::FIN, segment.fin);
        let header = Header { seq: segment.seq, len: segment.len, flags, ..self.blank(now) };
        wire.transmit(&header, header.ip_len_of(self.stack), ecn);
    }

    pub(super) fn send_syn(&mut self, now: Ticks, wire: &mut impl Wire) {
        self.rearm(now);
        self.syn_sent = self.at;
        // RFC 3168 §6.1.1: ECE and CWR on the SYN ask for ECN.
        let flags = Flags::SYN.with_if(Flags::ECE.with(Flags::CWR), self.ecn);
        let header = Header { seq: 0, ack: 0, flags, ..self.blank(now) };
        wire.transmit(&header, header.ip_len_of(self.stack), Ecn::NotEct);
    }

    pub(super) fn send_pure_ack(&mut self, now: Ticks, wire: &mut impl Wire) {
        let header = Header { seq: self.queue.nxt(), flags: Flags::ACK, ..self.blank(now) };
        wire.transmit(&header, header.ip_len_of(self.stack), Ecn::NotEct);
    }

    fn blank(&self, now: Ticks) -> Header {
        // The receiver sends no data: all that is acknowledged is its SYN.
        Header { ack: FIRST_BYTE, ts_val: now, ts_ecr: self.ts_recent, ..Header::default() }
    }
}
