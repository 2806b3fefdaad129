//! A congestion control of the registry over QUIC. It counts packets; packet numbers replace sequence numbers.
//!
//! The control gets the callbacks of TCP's sender at RFC 9002's events: one congestion event per recovery period, at
//! which the window falls to the threshold at once; persistent congestion is reported as a time-out. Differs from TCP:
//! there is no undo, and bursts are one packet. Differs: Prague counts TCP's 52 bytes of headers per packet; QUIC has
//! 28 besides the bytes that the window counts.

use super::recovery::SentPacket as Packet;
use crate::cc::{Ack, AnyCc, Flight, GrowthCounting, Needs, Window, WindowEvent};
use crate::pacing::Pacer;
use crate::rate_sample::{RateSampler, SampleInput, SendCounts};
use crate::segment::Segment;
use crate::stack::Stack;
use crate::state::CaState;
use sojourn_aqm::{Duration, Instant, Rng};

/// A registered congestion control as a QUIC sender calls it, with its congestion window and the inputs it requests.
#[derive(Clone, Debug)]
pub(super) struct RegisteredControl {
    cc: AnyCc,
    pub window: Window,
    needs: Needs,
    sampler: Option<RateSampler>,
    /// State last reported to a control that steers; none after a reduction has begun.
    notified_state: Option<CaState>,
    lost: u64,
}

/// State of the connection as a control sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathState {
    pub now: Instant,
    pub state: CaState,
    /// Oldest unacknowledged packet number, and the next one to be sent.
    pub una: u64,
    pub nxt: u64,
    pub in_flight: u32,
    pub srtt: Duration,
    /// Whether only the window limits transmission.
    pub is_cwnd_limited: bool,
}

impl RegisteredControl {
    /// An initial window of `cwnd` packets of `max_datagram_size` bytes.
    pub fn new(mut cc: AnyCc, cwnd: u32, max_datagram_size: u32) -> Self {
        let stack = Stack::find("linux-6.1").expect("the stack whose controls these are");
        cc.attach(stack, false);
        cc.attach_quic();
        let needs = cc.needs();
        let ssthresh = Window::INFINITE_SSTHRESH;
        Self {
            window: Window {
                cwnd,
                ssthresh,
                cwnd_cnt: 0,
                bytes_acked: 0,
                mss: max_datagram_size,
                counting: GrowthCounting::Packets,
            },
            sampler: (needs.samples || needs.flight || needs.sent || needs.steers).then(RateSampler::new),
            needs,
            cc,
            notified_state: Some(CaState::Open),
            lost: 0,
        }
    }

    /// Passes the control its random stream.
    pub fn seed(&mut self, rng: Rng) {
        self.cc.seed(rng);
    }

    /// Whether the control sets window and pacing rate itself.
    pub fn steers(&self) -> bool {
        self.needs.steers
    }

    /// Whether recovery lasts until a round trip has no loss.
    pub fn prolongs_recovery(&self) -> bool {
        self.needs.long_recovery
    }

    /// Shows the state of the connection to a control that observes it.
    pub fn show_flight(&mut self, path: &PathState, pacer: &mut Pacer) {
        if self.needs.flight {
            self.with_control(path, pacer, |cc, flight| cc.observe(flight));
        }
    }

    /// The connection is established; the handshake measured `rtt`.
    pub fn opened(&mut self, path: &PathState, rtt: Duration, pacer: &mut Pacer) {
        if let Some(sampler) = &mut self.sampler {
            sampler.observe_rtt(path.now, rtt);
        }
        self.with_control(path, pacer, |cc, flight| cc.on_established(flight));
    }

    /// A packet is sent with `path.in_flight` others in flight; the previous one was sent at `last_sent`.
    pub fn on_sent(&mut self, path: &PathState, packet: &Packet, last_sent: Instant, pacer: &mut Pacer) {
        if path.in_flight == 0 {
            let event = WindowEvent::Restarted { now: path.now, last_sent };
            self.cc.event(&mut self.window, event);
            if self.needs.steers {
                self.with_control(path, pacer, |cc, flight| cc.on_restart(flight));
            }
        }
        let counters = SendCounts { out: path.in_flight, in_flight: path.in_flight + 1, lost: self.lost };
        if let Some(sampler) = &mut self.sampler {
            sampler.on_sent(&segment(packet), counters);
        }
        if self.needs.sent {
            let path = PathState { in_flight: path.in_flight + 1, ..*path };
            self.with_control(&path, pacer, |cc, flight| cc.on_sent(flight, packet.size));
        }
    }

    /// Packets `acked` are newly acknowledged and `ce` are newly reported as marked; loss detection has not run yet.
    pub fn on_newly_acked(
        &mut self,
        path: &PathState,
        (acked, ce): (&[Packet], u32),
        rtt: Option<Duration>,
        pacer: &mut Pacer,
    ) {
        let packets = acked.len() as u32;
        if let Some(sampler) = &mut self.sampler {
            acked.iter().for_each(|packet| sampler.on_sacked(&segment(packet)));
            sampler.forget_below(path.una);
        }
        self.cc.on_ack(&mut self.window, || cc_ack(path, packets, rtt));
        if self.needs.reports {
            let slow_path = ce > 0 || path.state != CaState::Open;
            let report = Ack { slow_path, ..cc_ack(path, packets, rtt) };
            self.cc.on_report(&mut self.window, &report);
        }
        if let Some(sampler) = &mut self.sampler {
            sampler.count(packets, ce);
            if self.needs.samples {
                self.with_control(path, pacer, |cc, flight| cc.on_delivered(flight, packets, ce));
            }
        }
    }

    /// A congestion event: sets the threshold, and the window unless the control steers.
    pub fn reduce(&mut self, path: &PathState, on_loss: bool) {
        self.window.ssthresh = self.cc.ssthresh(&self.window);
        if on_loss {
            self.reduce_on_loss();
        }
        self.enter_reduced(path);
    }

    /// A loss in a period that a mark began, for a control that responds to losses and marks differently. Returns
    /// whether it reduces.
    pub fn reduce_further(&mut self, path: &PathState) -> bool {
        let reduces = self.reduce_on_loss() || self.needs.steers;
        if reduces {
            self.enter_reduced(path);
        }
        reduces
    }

    /// Persistent congestion: sets the minimum window.
    pub fn collapse(&mut self, path: &PathState) {
        self.window.ssthresh = self.cc.timeout_ssthresh(&self.window);
        (self.window.cwnd, self.window.cwnd_cnt) = (MIN_WINDOW, 0);
        self.cc.event(&mut self.window, WindowEvent::TimedOut);
        self.notified_state = None;
        self.cc.state_changed(&mut self.window, path.state, path.now, path.nxt);
    }

    /// The recovery period ends.
    pub fn on_recovery_end(&mut self, path: &PathState, pacer: &mut Pacer) {
        if !self.needs.steers {
            self.cc.event(&mut self.window, WindowEvent::Reduced);
        }
        self.notify_state(path, pacer);
        self.cc.state_changed(&mut self.window, CaState::Open, path.now, path.nxt);
    }

    /// Reports lost packets to the control, with the window `cwnd` as it was before the reduction that followed.
    pub fn on_lost(&mut self, path: &PathState, lost: &[Packet], cwnd: u32, pacer: &mut Pacer) {
        self.lost += lost.len() as u64;
        if !(self.needs.steers && self.needs.losses) {
            return;
        }
        // Linux reports each loss before it reduces the window, so the control sees the old one here, too.
        let after = std::mem::replace(&mut self.window.cwnd, cwnd);
        let mut before = None;
        for (index, packet) in lost.iter().enumerate() {
            let continues = before == packet.number.checked_sub(1) && before.is_some();
            before = Some(packet.number);
            let lost = self.lost - lost.len() as u64 + index as u64 + 1;
            let Some(loss) = self.sampler.as_ref().and_then(|s| s.loss_of(packet.number, lost, continues)) else {
                continue;
            };
            self.with_control(path, pacer, |cc, flight: &mut Flight| cc.on_loss(flight, &loss));
        }
        self.window.cwnd = after;
    }

    /// Grows the window on the packets of `acked` outside a recovery period, or lets the control set it.
    pub fn on_ack_processed(&mut self, path: &PathState, acked: &AckSummary, pacer: &mut Pacer) {
        if let Some(sampler) = &mut self.sampler {
            let context = SampleInput {
                prior_in_flight: acked.prior_in_flight,
                losses: acked.losses,
                lost: self.lost,
                rtt: acked.rtt,
                // Not tracked over QUIC: no sample counts as delayed, and probe time-outs send ordinary packets.
                lone_runt: false,
                acks_probe: false,
            };
            let sample = sampler.generate(path.now, acked.packets, acked.ce, &context);
            if self.needs.steers {
                self.notify_state(path, pacer);
                return self.with_control(path, pacer, |cc, flight| cc.steer(flight, &sample));
            }
        }
        if acked.growing == 0 {
            return;
        }
        let (growing, rtt) = (acked.growing, acked.rtt);
        match path.is_cwnd_limited {
            true => self.cc.grow(&mut self.window, || cc_ack(path, growing, rtt)),
            false => self.cc.on_unlimited_ack(&mut self.window, || cc_ack(path, growing, rtt)),
        }
    }

    /// Reports the current state to a control that steers.
    pub fn notify_state(&mut self, path: &PathState, pacer: &mut Pacer) {
        if self.needs.steers && self.notified_state.replace(path.state) != Some(path.state) {
            self.with_control(path, pacer, |cc, flight| cc.on_state(flight, path.state));
        }
    }

    /// The application limits transmission while `in_flight` packets are in flight.
    pub fn mark_app_limited(&mut self, in_flight: u32) {
        if let Some(sampler) = &mut self.sampler {
            sampler.mark_app_limited(in_flight);
        }
    }

    /// ECN validation has failed: replaces a control that requires ECN.
    pub fn on_ecn_failed(&mut self) {
        if let Some(cc) = self.cc.without_ecn() {
            let Window { cwnd, mss, ssthresh, .. } = self.window;
            *self = Self::new(cc, cwnd, mss);
            self.window.ssthresh = ssthresh;
        }
    }

    /// Minimum RTT of the last 300 s, if rates are sampled.
    pub fn min_rtt(&self) -> Option<Duration> {
        self.sampler.as_ref().and_then(|sampler| sampler.min_rtt())
    }

    fn reduce_on_loss(&mut self) -> bool {
        let own = self.cc.ssthresh_on_loss(&self.window);
        if let Some(ssthresh) = own {
            self.window.ssthresh = ssthresh;
        }
        own.is_some()
    }

    fn enter_reduced(&mut self, path: &PathState) {
        self.notified_state = None;
        if !self.needs.steers {
            (self.window.cwnd, self.window.cwnd_cnt) = (self.window.ssthresh.max(MIN_WINDOW), 0);
        }
        self.cc.state_changed(&mut self.window, path.state, path.now, path.nxt);
    }

    fn with_control(&mut self, path: &PathState, pacer: &mut Pacer, callback: impl FnOnce(&mut AnyCc, &mut Flight)) {
        let Some(sampler) = &mut self.sampler else { return };
        let mut flight = Flight {
            now: path.now,
            state: path.state,
            una: path.una,
            nxt: path.nxt,
            packets_out: path.in_flight,
            in_flight: path.in_flight,
            is_cwnd_limited: path.is_cwnd_limited,
            delivered: sampler.delivered(),
            delivered_ce: sampler.delivered_ce(),
            delivered_at: sampler.delivered_at(),
            lost: self.lost,
            is_app_limited: sampler.is_app_limited(),
            srtt: path.srtt,
            min_rtt: sampler.min_rtt(),
            next_departure: pacer.departure(),
            pacing_rate: pacer.rate(),
            window: &mut self.window,
            limits_by_application: false,
        };
        callback(&mut self.cc, &mut flight);
        let (rate, limits) = (flight.pacing_rate, flight.limits_by_application);
        if self.needs.steers {
            pacer.set_rate(rate);
        }
        if limits {
            sampler.mark_app_limited(path.in_flight);
        }
    }
}

/// Summary of an acknowledgment after all its packets are counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckSummary {
    /// Packets acknowledged, and packets among them by which the window may grow.
    pub packets: u32,
    pub growing: u32,
    pub ce: u32,
    /// Packets that it reveals as lost.
    pub losses: u32,
    /// Packets in flight before it.
    pub prior_in_flight: u32,
    pub rtt: Option<Duration>,
}

fn cc_ack(path: &PathState, packets: u32, rtt: Option<Duration>) -> Ack {
    let PathState { now, una, nxt, state, .. } = *path;
    Ack { now, packets, rtt, una, nxt, state, one_way: None, slow_path: false }
}

/// A packet as a one-byte segment at its packet number, for the rate sampler.
fn segment(packet: &Packet) -> Segment {
    Segment::new(packet.number, 1, false, packet.at)
}

/// `kMinimumWindow`.
const MIN_WINDOW: u32 = 2;
