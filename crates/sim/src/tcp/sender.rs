//! The sending endpoint.
//!
//! Source: Linux `tcp_output.c` and `tcp_input.c`. This file holds the connection's life: handshake, new data,
//! acknowledgments, timers; loss recovery lies in `recovery.rs` and `frto.rs`.

use super::cc::{self, AnyCc, CongestionControl, Counting, Window};
use super::frto::Frto;
use super::rtt::RttEstimator;
use super::scoreboard::{Acked, Sacked, Scoreboard, Segment, Tags, is_duplicate};
use super::stack::{Machine, Stack};
use super::{Clock, FIRST_BYTE, Flags, Header, Ticks, Wire};
use sojourn_aqm::{Ecn, Instant};

/// What a sender is made of.
#[derive(Clone, Debug)]
pub struct SenderConfig {
    /// The stack's mechanisms.
    pub stack: &'static Stack,
    /// The congestion control.
    pub cc: AnyCc,
    /// Payload of a full segment in bytes.
    pub mss: u32,
    /// Whether SACK is negotiated.
    pub sack: bool,
    /// Whether ECN is negotiated.
    pub ecn: bool,
    /// Initial window in segments; the stack's when absent.
    pub initial_window: Option<u32>,
    /// The receiver's window in bytes; unlimited when absent.
    pub receive_window: Option<u64>,
}

/// Where congestion avoidance stands (Linux `TCP_CA_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Nothing suspicious.
    Open,
    /// Duplicates or SACKs were seen.
    Disorder,
    /// The window is being reduced because of a congestion mark.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// A time-out expired.
    Loss,
}

/// Counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Data segments sent, retransmissions included.
    pub sent: u64,
    /// Data segments sent again.
    pub retransmissions: u64,
    /// Retransmission time-outs.
    pub timeouts: u64,
}

/// The sending half of a connection.
#[derive(Clone, Debug)]
pub struct Sender {
    pub(super) stack: &'static Stack,
    pub(super) clock: Clock,
    pub(super) cc: AnyCc,
    pub(super) window: Window,
    pub(super) board: Scoreboard,
    pub(super) rtt: RttEstimator,
    pub(super) state: State,
    /// The instant of the event that is being dealt with.
    pub(super) at: Instant,
    /// When data was last sent.
    last_sent: Instant,
    phase: Phase,
    pub(super) sack: bool,
    /// FACK is used until reordering is seen.
    pub(super) fack: bool,
    pub(super) ecn: bool,
    /// A reduction is to be announced by CWR on the next new segment.
    pub(super) cwr_pending: bool,
    pub(super) receive_window: u64,
    pub(super) snd_una: u64,
    pub(super) snd_nxt: u64,
    /// End of what the application wants to send.
    pub(super) app_limit: u64,
    closing: bool,
    fin_sent: bool,
    /// `snd_nxt` when the present state was entered.
    pub(super) high_seq: u64,
    pub(super) reordering: u32,
    pub(super) prior_ssthresh: u32,
    /// Where `snd_una` stood when the window was reduced; while set, the reduction may be undone.
    pub(super) undo_marker: Option<u64>,
    pub(super) undo_retrans: u32,
    /// Tick of the first retransmission of the episode.
    pub(super) retrans_stamp: Option<u32>,
    /// Retransmission time-outs in a row.
    pub(super) retransmits: u32,
    pub(super) frto: Frto,
    /// Without timestamps: end of the one segment that is timed, and the tick at which it was sent.
    pub(super) timed: Option<(u64, Ticks)>,
    /// Tick at which the retransmission timer expires.
    deadline: Option<u32>,
    ts_recent: u32,
    stats: SenderStats,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Closed,
    SynSent,
    Established,
}

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
    /// A closed connection.
    pub fn new(config: SenderConfig) -> Self {
        let stack = config.stack;
        let clock = stack.clock();
        let cwnd = config.initial_window.unwrap_or(stack.initial_window);
        let mss = config.mss as u64;
        let most_window = stack.most_window.map(|segments| segments as u64 * mss);
        let receive_window = config.receive_window.or(most_window).unwrap_or(u64::MAX / 2);
        let ssthresh = match stack.most_window {
            None => Window::INFINITE_SSTHRESH,
            Some(_) => (receive_window / mss).clamp(1, Window::INFINITE_SSTHRESH as u64) as u32,
        };
        let window = Window { cwnd, ssthresh, cwnd_cnt: 0, bytes_acked: 0, mss: config.mss, counting: stack.counting };
        let mut cc = config.cc;
        cc.attach(stack);
        Self {
            stack,
            clock,
            cc,
            window,
            board: Scoreboard::default(),
            rtt: stack.rtt_estimator(),
            state: State::Open,
            at: Instant::ZERO,
            last_sent: Instant::ZERO,
            phase: Phase::Closed,
            sack: config.sack,
            fack: config.sack && stack.fack,
            ecn: config.ecn,
            cwr_pending: false,
            receive_window,
            snd_una: 0,
            snd_nxt: 0,
            app_limit: FIRST_BYTE,
            closing: false,
            fin_sent: false,
            high_seq: 0,
            reordering: stack.reordering,
            prior_ssthresh: 0,
            undo_marker: None,
            undo_retrans: 0,
            retrans_stamp: None,
            retransmits: 0,
            frto: Frto::default(),
            timed: None,
            deadline: None,
            ts_recent: 0,
            stats: SenderStats::default(),
        }
    }

    /// Opens the connection with `bytes` to send; `None` for a source that never runs dry.
    pub fn open(&mut self, now: Instant, bytes: Option<u64>, wire: &mut impl Wire) {
        let now = self.clock.ticks(now);
        self.app_limit = bytes.map_or(u64::MAX, |n| FIRST_BYTE + n);
        self.closing = bytes.is_some();
        self.phase = Phase::SynSent;
        self.snd_nxt = FIRST_BYTE;
        self.send_syn(now, wire);
    }

    /// The application, which has not stopped, has `bytes` more to send.
    pub fn write(&mut self, now: Instant, bytes: u64, wire: &mut impl Wire) {
        self.at = now;
        self.app_limit = self.app_limit.saturating_add(bytes);
        if self.phase == Phase::Established {
            self.send_new(self.clock.ticks(now), wire);
        }
    }

    /// The application stops: nothing is sent anew but a FIN.
    pub fn close(&mut self, now: Instant, wire: &mut impl Wire) {
        self.at = now;
        let now = self.clock.ticks(now);
        self.app_limit = self.app_limit.min(self.snd_nxt.max(FIRST_BYTE));
        self.closing = true;
        if self.phase == Phase::Established {
            self.send_new(now, wire);
        }
    }

    /// Takes a segment from the receiver.
    pub fn on_segment(&mut self, now: Instant, header: &Header, wire: &mut impl Wire) {
        self.at = now;
        let now = self.clock.ticks(now);
        match self.phase {
            Phase::Closed => {}
            Phase::SynSent => self.on_syn_ack(now, header, wire),
            // The handshake's last acknowledgment was lost: the receiver asks again.
            Phase::Established if header.flags.contains(Flags::SYN) => self.send_pure_ack(now, wire),
            Phase::Established if self.stack.machine == Machine::Ns2 => self.on_ack_ns2(now, header, wire),
            Phase::Established => self.on_ack(now, header, wire),
        }
    }

    /// The time of [`Self::deadline`] has come (or may have: an early call does nothing).
    pub fn on_timer(&mut self, now: Instant, wire: &mut impl Wire) {
        self.at = now;
        let now = self.clock.ticks(now);
        let due = self.deadline.is_some_and(|tick| tick <= now);
        match self.phase {
            _ if !due => {}
            Phase::Closed => self.deadline = None,
            Phase::SynSent => {
                self.stats.timeouts += 1;
                self.rtt.back_off();
                self.send_syn(now, wire);
            }
            Phase::Established => self.on_retransmission_timeout(now, wire),
        }
    }

    /// When [`Self::on_timer`] is to be called.
    pub fn deadline(&self) -> Instant {
        self.deadline.map_or(Instant::NEVER, |tick| self.clock.instant(tick))
    }

    /// Congestion window and slow-start threshold, in segments.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// Smoothed RTT in seconds; zero before the first sample.
    pub fn srtt_s(&self) -> f64 {
        self.rtt.srtt() * self.stack.tick.as_secs_f64()
    }

    /// Segments in the network, by the sender's belief.
    pub fn in_flight(&self) -> u32 {
        self.board.in_flight()
    }

    /// Where congestion avoidance stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// Counters.
    pub fn stats(&self) -> &SenderStats {
        &self.stats
    }

    /// Sends what the window allows.
    pub(super) fn send_new(&mut self, now: Ticks, wire: &mut impl Wire) {
        let right_edge = self.snd_una + self.receive_window;
        while self.board.in_flight() < self.window.cwnd && self.may_send_next(right_edge) {
            self.send_next(now, wire);
        }
    }

    /// Whether something new could be sent at once.
    pub(super) fn may_send_now(&self) -> bool {
        self.board.in_flight() < self.window.cwnd && self.may_send_next(self.snd_una + self.receive_window)
    }

    /// Sends segment `i` of the queue again.
    pub(super) fn retransmit(&mut self, i: usize, now: Ticks, wire: &mut impl Wire) {
        let segment = self.board.retransmitted(i, now, self.snd_nxt);
        self.retrans_stamp.get_or_insert(segment.sent);
        // Karn: of a retransmission nobody knows which copy was acknowledged.
        self.timed = self.timed.filter(|&(end, _)| end <= segment.seq);
        self.undo_retrans += 1;
        self.stats.sent += 1;
        self.stats.retransmissions += 1;
        // RFC 3168 §6.1.5: retransmissions are not ECN-capable.
        self.transmit(segment, Flags::ACK, Ecn::NotEct, now, wire);
    }

    /// Starts the retransmission timer anew.
    pub(super) fn rearm(&mut self, now: Ticks) {
        self.deadline = Some(now + self.rtt.rto());
    }

    /// Whether the oldest segment has been out for longer than the time-out.
    pub(super) fn head_timed_out(&self, now: Ticks) -> bool {
        self.board.head().is_some_and(|head| self.timed_out(head, now))
    }

    pub(super) fn timed_out(&self, segment: &Segment, now: Ticks) -> bool {
        now.saturating_sub(segment.sent) > self.rtt.rto()
    }

    /// Duplicate acknowledgments instead of SACKs tell of losses.
    pub(super) fn is_reno(&self) -> bool {
        !self.sack
    }

    fn on_syn_ack(&mut self, now: Ticks, header: &Header, wire: &mut impl Wire) {
        if !header.flags.contains(Flags::SYN.with(Flags::ACK)) || header.ack != FIRST_BYTE {
            return;
        }
        self.phase = Phase::Established;
        self.snd_una = FIRST_BYTE;
        self.ts_recent = header.ts_val;
        self.retrans_stamp = None;
        if self.stack.timestamps {
            self.rtt.sample(now.saturating_sub(header.ts_ecr), self.snd_una, self.snd_nxt);
        }
        self.deadline = None;
        self.send_pure_ack(now, wire);
        self.send_new(now, wire);
    }

    fn on_ack(&mut self, now: Ticks, header: &Header, wire: &mut impl Wire) {
        if header.ack > self.snd_nxt {
            return;
        }
        self.ts_recent = self.ts_recent.max(header.ts_val);
        if header.ack < self.snd_una {
            // An old acknowledgment can still bring SACKs.
            if self.sack && !header.sack.blocks().is_empty() {
                self.tag(header);
            }
            return;
        }
        let prior_in_flight = self.board.in_flight();
        let prior_fackets = self.board.fackets_out;
        let mut ack = Ack { advanced: header.ack > self.snd_una, ts_ecr: header.ts_ecr, ..Ack::default() };
        self.count_bytes(header.ack - self.snd_una);
        let prior_una = self.snd_una;
        self.snd_una = header.ack;
        if self.sack && !header.sack.blocks().is_empty() {
            self.count_duplicate(header, prior_una);
            ack.sacked = self.tag(header);
        }
        ack.ece = self.ecn && header.flags.contains(Flags::ECE);
        if self.board.packets_out() == 0 {
            self.send_new(now, wire);
            return;
        }
        ack.acked = self.clean(now, header, prior_fackets);
        let frto_held = self.frto.is_active() && self.process_frto(&ack);
        let suspicious = ack.is_duplicate() || ack.sacked.new || ack.ece || self.state != State::Open;
        if ack.data_acked() {
            let acked = &ack.acked;
            let news = || {
                let rtt = now.saturating_sub(acked.last_sent);
                // Karn: of a retransmission nobody knows which copy was acknowledged.
                let measured = !acked.retransmitted && acked.reordered_at.is_some() && rtt > 0;
                cc::Ack {
                    now: self.at,
                    packets: acked.packets,
                    rtt: measured.then(|| self.clock.duration(rtt)),
                    una: self.snd_una,
                    nxt: self.snd_nxt,
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
            self.fast_retransmit_alert(now, &ack, wire);
        }
        self.send_new(now, wire);
    }

    /// Removes what is acknowledged, takes the RTT sample and restarts the timer.
    #[inline(always)]
    pub(super) fn clean(&mut self, now: Ticks, header: &Header, prior_fackets: u32) -> Acked {
        let fackets = self.board.fackets_out;
        let acked = self.board.acknowledge(self.snd_una, self.sack);
        if acked.packets == 0 {
            return acked;
        }
        let sent = if self.stack.timestamps { Some(header.ts_ecr) } else { self.stop_timing() };
        if let Some(sent) = sent {
            self.rtt.sample(now.saturating_sub(sent), self.snd_una, self.snd_nxt);
        }
        if self.board.packets_out() == 0 {
            self.deadline = None;
        } else {
            self.rearm(now);
        }
        if self.stack.machine == Machine::Ns2 {
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
        let told = self.board.tag(header.sack.blocks(), header.ack, self.frto.highmark());
        if self.fack && self.state == State::Recovery {
            self.board.mark_lost_retransmissions(self.snd_nxt);
        }
        if let Some(at) = told.reordered_at {
            let undoable = self.state != State::Loss || self.undo_marker.is_some();
            let after_frto = self.frto.highmark() == 0 || self.snd_una > self.frto.highmark();
            if undoable && after_frto {
                self.update_reordering(self.board.fackets_out.saturating_sub(at));
            }
        }
        told
    }

    /// A D-SACK for data that was retransmitted in this episode tells that the retransmission was not needed.
    fn count_duplicate(&mut self, header: &Header, prior_una: u64) {
        let blocks = header.sack.blocks();
        let Some(marker) = self.undo_marker.filter(|_| is_duplicate(blocks, header.ack)) else { return };
        let (_, end) = blocks[0];
        let needless = match end <= prior_una {
            true => (end > marker) as u32,
            false => self.board.retransmitted_in(blocks[0], marker),
        };
        self.undo_retrans = self.undo_retrans.saturating_sub(needless);
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

    /// Old congestion window validation: no growth unless the window was (almost) used.
    fn is_cwnd_limited(&self, in_flight: u32) -> bool {
        in_flight >= self.window.cwnd || self.window.cwnd - in_flight <= self.reordering
    }

    pub(super) fn update_reordering(&mut self, metric: u32) {
        if metric > self.reordering {
            self.reordering = metric.min(MAX_REORDERING);
            self.fack = false;
        }
    }

    fn may_send_next(&self, right_edge: u64) -> bool {
        if self.snd_nxt < self.app_limit {
            let len = (self.app_limit - self.snd_nxt).min(self.window.mss as u64);
            self.snd_nxt + len <= right_edge
        } else {
            self.closing && !self.fin_sent
        }
    }

    fn send_next(&mut self, now: Ticks, wire: &mut impl Wire) {
        let len = (self.app_limit - self.snd_nxt).min(self.window.mss as u64) as u16;
        let fin = self.closing && self.snd_nxt + len as u64 >= self.app_limit;
        let segment = Segment { seq: self.snd_nxt, retrans_nxt: 0, len, fin, tags: Tags::default(), sent: now };
        self.fin_sent |= fin;
        self.snd_nxt = segment.end();
        if self.board.packets_out() == 0 {
            self.rearm(now);
            self.cc.restarted(self.at, self.last_sent);
        }
        if !self.stack.timestamps {
            self.timed.get_or_insert((segment.end(), now));
        }
        self.board.push(segment);
        self.stats.sent += 1;
        let flags = Flags::ACK.with_if(Flags::CWR, self.cwr_pending && self.ecn);
        self.cwr_pending = false;
        let ecn = if self.ecn { Ecn::Ect0 } else { Ecn::NotEct };
        self.transmit(segment, flags, ecn, now, wire);
    }

    fn transmit(&mut self, segment: Segment, flags: Flags, ecn: Ecn, now: Ticks, wire: &mut impl Wire) {
        let flags = flags.with_if(Flags::FIN, segment.fin);
        self.last_sent = self.at;
        let header = Header { seq: segment.seq, len: segment.len, flags, ..self.blank(now) };
        wire.transmit(&header, header.ip_len_of(self.stack), ecn);
    }

    fn send_syn(&mut self, now: Ticks, wire: &mut impl Wire) {
        self.rearm(now);
        // RFC 3168 §6.1.1: ECE and CWR on the SYN ask for ECN.
        let flags = Flags::SYN.with_if(Flags::ECE.with(Flags::CWR), self.ecn);
        let header = Header { seq: 0, ack: 0, flags, ..self.blank(now) };
        wire.transmit(&header, header.ip_len_of(self.stack), Ecn::NotEct);
    }

    fn send_pure_ack(&mut self, now: Ticks, wire: &mut impl Wire) {
        let header = Header { seq: self.snd_nxt, flags: Flags::ACK, ..self.blank(now) };
        wire.transmit(&header, header.ip_len_of(self.stack), Ecn::NotEct);
    }

    fn blank(&self, now: Ticks) -> Header {
        // The receiver sends no data: all that is acknowledged is its SYN.
        Header { ack: FIRST_BYTE, ts_val: now, ts_ecr: self.ts_recent, ..Header::default() }
    }

    fn on_retransmission_timeout(&mut self, now: Ticks, wire: &mut impl Wire) {
        if self.board.packets_out() == 0 {
            self.deadline = None;
            return;
        }
        self.stats.timeouts += 1;
        if self.stack.frto && self.sack {
            self.enter_frto();
        } else {
            self.enter_loss();
        }
        self.retransmit(0, now, wire);
        self.retransmits += 1;
        self.rtt.back_off();
        self.rearm(now);
    }
}

/// Linux `TCP_MAX_REORDERING`.
const MAX_REORDERING: u32 = 127;
