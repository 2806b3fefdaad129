//! The sending endpoint.
//!
//! Source: Linux `tcp_output.c` and `tcp_timer.c`. This file holds the connection's life: handshake, data, timers; what
//! is sent lies in `transmission.rs`, acknowledgments in `ack.rs`, loss recovery in `recovery/`, and each mechanism of it
//! in its own file.

use super::cc::{AnyCc, CongestionControl, Window};
use super::frto::Frto;
use super::offered::{FIRST_WINDOW, Offered};
use super::prr::Prr;
use super::queue::SendQueue;
use super::rack::Rack;
use super::rtt::RttEstimator;
use super::scoreboard::Scoreboard;
use super::segmentation::Bursts;
use super::stack::{Machine, Stack};
use super::timer::Timer;
use super::tlp::Probe;
use super::validation::Usage;
use super::{Clock, FIRST_BYTE, Flags, Header, Ticks, Wire};
use sojourn_aqm::{Duration, Instant};

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
    pub(super) syn_sent: Instant,
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
    pub(super) queue: SendQueue,
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
        let offered = stack.tunes_window_of(config.receive_window).then(|| Offered::new(config.mss));
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
            queue: SendQueue::new(config.mss),
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
        self.queue.open(bytes);
        self.phase = Phase::SynSent;
        self.send_syn(now, wire);
    }

    /// The application, which has not stopped, has `bytes` more to send.
    pub fn write(&mut self, now: Instant, bytes: u64, wire: &mut impl Wire) {
        let now = self.enter(now);
        self.queue.write(bytes);
        if self.phase == Phase::Established {
            self.send_new(now, wire);
        }
    }

    /// The application stops: nothing is sent anew but a FIN.
    pub fn close(&mut self, now: Instant, wire: &mut impl Wire) {
        let now = self.enter(now);
        self.queue.close();
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
        self.queue.established();
        self.ecn &= header.flags.contains(Flags::ECE);
        self.ts_recent = header.ts_val;
        self.retrans_stamp = None;
        // Finer than a tick only if the SYN was sent once: else the timestamp tells which one was answered.
        let rtt = match self.stats.timeouts {
            0 => self.in_rtt_units(self.syn_sent),
            _ => now.saturating_sub(header.ts_ecr) * self.rtt.per_tick(),
        };
        if self.stack.timestamps {
            self.rtt.sample(rtt, self.queue.una(), self.queue.nxt());
        }
        self.rack.observe_rtt(self.at, self.rtt_from_units(rtt));
        self.deadline = None;
        self.usage.touched(now);
        self.send_pure_ack(now, wire);
        self.send_new(now, wire);
    }
}

#[cfg(test)]
#[path = "tests/mod.rs"]
mod tests;
