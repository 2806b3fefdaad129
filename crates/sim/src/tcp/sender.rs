//! The sending endpoint.
//!
//! Source: Linux `tcp_output.c` and `tcp_timer.c`. This file holds the connection's life: handshake, new data, timers;
//! acknowledgments lie in `ack.rs`, loss recovery in `recovery/`, and each mechanism of it in its own file.

use super::cc::{AnyCc, CongestionControl, Window};
use super::frto::Frto;
use super::offered::{FIRST_WINDOW, Offered};
use super::prr::Prr;
use super::rack::Rack;
use super::rtt::RttEstimator;
use super::scoreboard::{Scoreboard, Segment, Tags};
use super::segmentation::Bursts;
use super::stack::{Machine, Stack};
use super::timer::Timer;
use super::tlp::Probe;
use super::validation::Usage;
use super::{Clock, FIRST_BYTE, Flags, Header, Ticks, Wire};
use sojourn_aqm::{Duration, Ecn, Instant};

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
    /// The receiver's window in bytes; the stack's when absent.
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
    /// The stack has none of the mechanisms after Linux 2.6: the common case, told by one look.
    pub(super) is_plain: bool,
    pub(super) clock: Clock,
    pub(super) cc: AnyCc,
    pub(super) window: Window,
    pub(super) board: Scoreboard,
    pub(super) rtt: RttEstimator,
    pub(super) state: State,
    /// The instant of the event that is being dealt with.
    pub(super) at: Instant,
    syn_sent: Instant,
    /// When data was last sent.
    pub(super) last_sent: Instant,
    pub(super) phase: Phase,
    pub(super) sack: bool,
    /// FACK is used until reordering is seen.
    pub(super) fack: bool,
    /// Early retransmit is used until reordering is seen.
    pub(super) early_retransmit: bool,
    pub(super) ecn: bool,
    /// A reduction is to be announced by CWR on the next new segment.
    pub(super) cwr_pending: bool,
    pub(super) receive_window: u64,
    /// How that window grows, if it does.
    pub(super) offered: Option<Offered>,
    pub(super) snd_una: u64,
    pub(super) snd_nxt: u64,
    /// End of what the application wants to send.
    pub(super) app_limit: u64,
    pub(super) closing: bool,
    pub(super) fin_sent: bool,
    /// `snd_nxt` when the present state was entered.
    pub(super) high_seq: u64,
    /// ns-2: there was a partial acknowledgment in this recovery.
    pub(super) partial_acked: bool,
    pub(super) reordering: u32,
    pub(super) prior_ssthresh: u32,
    /// Where `snd_una` stood when the window was reduced; while set, the reduction may be undone.
    pub(super) undo_marker: Option<u64>,
    /// Retransmissions that no D-SACK has reported; negative if nothing was retransmitted (Linux 3.10 on).
    pub(super) undo_retrans: i32,
    /// Tick of the first retransmission of the episode.
    pub(super) retrans_stamp: Option<u32>,
    /// Retransmission time-outs in a row.
    pub(super) retransmits: u32,
    pub(super) frto: Frto,
    /// Without timestamps: end of the one segment that is timed, and the tick at which it was sent.
    pub(super) timed: Option<(u64, Ticks)>,
    pub(super) prr: Prr,
    pub(super) rack: Rack,
    pub(super) probe: Probe,
    pub(super) usage: Usage,
    pub(super) bursts: Bursts,
    /// The next new segment is the last of a burst.
    pub(super) pushes: bool,
    /// Tick at which the timer expires.
    pub(super) deadline: Option<u32>,
    /// What it is set for.
    pub(super) timer: Timer,
    pub(super) ts_recent: u32,
    pub(super) stats: SenderStats,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Closed,
    SynSent,
    Established,
}

impl Sender {
    /// A closed connection.
    pub fn new(config: SenderConfig) -> Self {
        let stack = config.stack;
        let clock = stack.clock();
        let mut cc = config.cc;
        cc.attach(stack);
        let cwnd = config.initial_window.unwrap_or(stack.initial_window);
        let mss = config.mss as u64;
        let most_window = stack.most_window.map(|segments| segments as u64 * mss);
        let offered = (stack.tunes_window && config.receive_window.is_none()).then(|| Offered::new(config.mss));
        let first_window = most_window.or(offered.map(|_| FIRST_WINDOW));
        let receive_window = config.receive_window.or(first_window).unwrap_or(u64::MAX / 2);
        let ssthresh = match stack.most_window {
            None => Window::INFINITE_SSTHRESH,
            Some(_) => (receive_window / mss).clamp(1, Window::INFINITE_SSTHRESH as u64) as u32,
        };
        let window = Window { cwnd, ssthresh, cwnd_cnt: 0, bytes_acked: 0, mss: config.mss, counting: stack.counting };
        Self {
            stack,
            is_plain: stack.is_plain(),
            clock,
            cc,
            window,
            board: Scoreboard::default(),
            rtt: stack.rtt_estimator(),
            state: State::Open,
            at: Instant::ZERO,
            syn_sent: Instant::ZERO,
            last_sent: Instant::ZERO,
            phase: Phase::Closed,
            sack: config.sack,
            fack: config.sack && stack.fack,
            early_retransmit: stack.early_retransmit,
            ecn: config.ecn,
            cwr_pending: false,
            receive_window,
            offered,
            snd_una: 0,
            snd_nxt: 0,
            app_limit: FIRST_BYTE,
            closing: false,
            fin_sent: false,
            high_seq: 0,
            partial_acked: false,
            reordering: stack.reordering,
            prior_ssthresh: 0,
            undo_marker: None,
            undo_retrans: 0,
            retrans_stamp: None,
            retransmits: 0,
            frto: Frto::default(),
            timed: None,
            prr: Prr::default(),
            rack: Rack::default(),
            probe: Probe::default(),
            usage: Usage::default(),
            bursts: Bursts::default(),
            pushes: false,
            deadline: None,
            timer: Timer::Retransmit,
            ts_recent: 0,
            stats: SenderStats::default(),
        }
    }

    /// Opens the connection with `bytes` to send; `None` for a source that never runs dry.
    pub fn open(&mut self, now: Instant, bytes: Option<u64>, wire: &mut impl Wire) {
        let now = self.enter(now);
        self.app_limit = bytes.map_or(u64::MAX, |n| FIRST_BYTE + n);
        self.closing = bytes.is_some();
        self.phase = Phase::SynSent;
        self.snd_nxt = FIRST_BYTE;
        self.send_syn(now, wire);
    }

    /// The application, which has not stopped, has `bytes` more to send.
    pub fn write(&mut self, now: Instant, bytes: u64, wire: &mut impl Wire) {
        let now = self.enter(now);
        self.app_limit = self.app_limit.saturating_add(bytes);
        if self.phase == Phase::Established {
            self.send_new(now, wire);
        }
    }

    /// The application stops: nothing is sent anew but a FIN.
    pub fn close(&mut self, now: Instant, wire: &mut impl Wire) {
        let now = self.enter(now);
        self.app_limit = self.app_limit.min(self.snd_nxt.max(FIRST_BYTE));
        self.closing = true;
        if self.phase == Phase::Established {
            self.send_new(now, wire);
        }
    }

    /// Takes a segment from the receiver.
    pub fn on_segment(&mut self, now: Instant, header: &Header, wire: &mut impl Wire) {
        let now = self.enter(now);
        match self.phase {
            Phase::Closed => {}
            Phase::SynSent => self.on_syn_ack(now, header, wire),
            // The handshake's last acknowledgment was lost: the receiver asks again.
            Phase::Established if header.flags.contains(Flags::SYN) => self.send_pure_ack(now, wire),
            Phase::Established if self.is_plain => self.on_ack(now, header, wire),
            Phase::Established if self.stack.machine == Machine::Linux2_6 => self.on_ack_3_8(now, header, wire),
            Phase::Established if self.stack.machine == Machine::Ns2 => self.on_ack_ns2(now, header, wire),
            Phase::Established => self.on_ack_3_10(now, header, wire),
        }
    }

    /// The host takes new data again.
    pub fn on_room(&mut self, now: Instant, wire: &mut impl Wire) {
        let now = self.enter(now);
        if self.phase == Phase::Established {
            self.send_new(now, wire);
        }
    }

    /// The time of [`Self::deadline`] has come (or may have: an early call does nothing).
    pub fn on_timer(&mut self, now: Instant, wire: &mut impl Wire) {
        let now = self.enter(now);
        let due = self.deadline.is_some_and(|tick| tick <= now);
        match self.phase {
            _ if !due => {}
            Phase::Closed => self.deadline = None,
            Phase::SynSent => {
                self.stats.timeouts += 1;
                self.rtt.back_off();
                // Something on the path may not like SYNs that ask for ECN (RFC 3168 §6.1.1.1).
                self.ecn &= !self.stack.ecn_fallback;
                self.send_syn(now, wire);
            }
            Phase::Established => match self.timer {
                Timer::Retransmit => self.on_retransmission_timeout(now, wire),
                Timer::EarlyRetransmit => self.resume_early_retransmit(now, wire),
                Timer::LossProbe => self.send_loss_probe(now, wire),
                Timer::Reordering => self.on_reordering_timeout(now, wire),
            },
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
        self.rtt.srtt() * self.stack.rtt_unit.as_secs_f64()
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
        if self.board.packets_out() == 0 && self.stack.idle_restart {
            self.restart_after_idle(now);
        }
        if !self.is_plain {
            self.send_as_stack(now, wire);
            return;
        }
        let right_edge = self.snd_una + self.receive_window;
        while self.board.in_flight() < self.window.cwnd && self.may_send_next(right_edge) && wire.has_room() {
            self.send_next(now, wire);
        }
        if self.is_dry() {
            self.after_sending(now, self.last_sent == self.at, false);
        }
    }

    #[inline(never)]
    fn send_as_stack(&mut self, now: Ticks, wire: &mut impl Wire) {
        let right_edge = self.right_edge();
        let first = self.snd_nxt;
        let mut limited = false;
        if self.stack.bursts {
            limited = self.send_bursts(right_edge, now, wire);
        } else {
            while self.board.in_flight() < self.window.cwnd && self.may_send_next(right_edge) && wire.has_room() {
                self.send_one(now, wire);
            }
        }
        if self.stack.machine == Machine::Linux3_10 || self.is_dry() {
            self.after_sending(now, self.snd_nxt > first, limited);
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
        self.board.in_flight() < self.window.cwnd && self.may_send_next(self.right_edge())
    }

    /// Where the receiver's window ends.
    fn right_edge(&self) -> u64 {
        self.offered.as_ref().map_or(self.snd_una + self.receive_window, |offered| offered.edge)
    }

    /// Whether there is something new that the receive window has room for.
    pub(super) fn can_send_beyond_window(&self) -> bool {
        self.may_send_next(self.right_edge())
    }

    /// Sends segment `i` of the queue again.
    pub(super) fn retransmit(&mut self, i: usize, now: Ticks, wire: &mut impl Wire) {
        // Karn: of a retransmission nobody knows which copy was acknowledged.
        let seq = self.board.get(i).map_or(0, |segment| segment.seq);
        self.timed = self.timed.filter(|&(end, _)| end <= seq);
        self.board.retransmitted(i, self.snd_nxt);
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

    /// Duplicate acknowledgments instead of SACKs tell of losses.
    pub(super) fn is_reno(&self) -> bool {
        !self.sack
    }

    /// Begins an event: everything in it happens now.
    #[inline]
    pub(super) fn enter(&mut self, now: Instant) -> Ticks {
        self.at = now;
        self.clock.ticks(now)
    }

    /// The age of something sent at `sent`, in the RTT's units.
    pub(super) fn in_rtt_units(&self, sent: Instant) -> u32 {
        let unit = Clock::new(self.stack.rtt_unit);
        unit.ticks_wide(self.at).saturating_sub(unit.ticks_wide(sent)) as u32
    }

    pub(super) fn rtt_from_units(&self, units: u32) -> Duration {
        self.stack.rtt_unit * units as i64
    }

    fn on_syn_ack(&mut self, now: Ticks, header: &Header, wire: &mut impl Wire) {
        if !header.flags.contains(Flags::SYN.with(Flags::ACK)) || header.ack != FIRST_BYTE {
            return;
        }
        self.phase = Phase::Established;
        self.snd_una = FIRST_BYTE;
        self.ecn &= header.flags.contains(Flags::ECE);
        self.ts_recent = header.ts_val;
        self.retrans_stamp = None;
        // Finer than a tick only if the SYN was sent once: else the timestamp tells which one was answered.
        let rtt = match self.stats.timeouts {
            0 => self.in_rtt_units(self.syn_sent),
            _ => now.saturating_sub(header.ts_ecr) * self.rtt.per_tick(),
        };
        if self.stack.timestamps {
            self.rtt.sample(rtt, self.snd_una, self.snd_nxt);
        }
        self.rack.observe_rtt(self.at, self.rtt_from_units(rtt));
        self.deadline = None;
        self.usage.touched(now);
        self.send_pure_ack(now, wire);
        self.send_new(now, wire);
    }

    /// Whether the application has nothing more to send for now.
    pub(super) fn is_dry(&self) -> bool {
        self.snd_nxt >= self.app_limit
    }

    pub(super) fn may_send_next(&self, right_edge: u64) -> bool {
        if self.snd_nxt < self.app_limit {
            let len = (self.app_limit - self.snd_nxt).min(self.window.mss as u64);
            self.snd_nxt + len <= right_edge
        } else {
            self.closing && !self.fin_sent
        }
    }

    /// Sends the next new segment, from where speed matters less.
    #[inline(never)]
    pub(super) fn send_one(&mut self, now: Ticks, wire: &mut impl Wire) {
        self.send_next(now, wire);
    }

    #[inline(always)]
    fn send_next(&mut self, now: Ticks, wire: &mut impl Wire) {
        let len = (self.app_limit - self.snd_nxt).min(self.window.mss as u64) as u16;
        let fin = self.closing && self.snd_nxt + len as u64 >= self.app_limit;
        let segment = Segment { seq: self.snd_nxt, retrans_nxt: 0, len, fin, tags: Tags::default(), sent: self.at };
        self.fin_sent |= fin;
        self.snd_nxt = segment.end();
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

    fn send_syn(&mut self, now: Ticks, wire: &mut impl Wire) {
        self.rearm(now);
        self.syn_sent = self.at;
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
}
