//! Congestion window, bytes in flight and pacing (RFC 9002 §7, appendix B).

use super::newreno::NewReno;
use super::recovery::SentPacket;
use super::registered::{AckSummary, PathState, RegisteredControl};
use super::{Config, is_newreno};
use crate::cc::Window;
use crate::pacing::Pacer;
use crate::state::CaState;
use sojourn_aqm::{Duration, Instant, Rate, Rng};

/// Window, data in flight and pacer of a path.
#[derive(Clone, Debug)]
pub(super) struct Congestion {
    kind: Controller,
    pub pacer: Pacer,
    bytes_in_flight: u64,
    packets_in_flight: u32,
    /// `congestion_recovery_start_time`; none before the first recovery period.
    recovery_start: Option<Instant>,
    state: CaState,
    /// Time at which `state` was entered, unless it is Open.
    entered: Instant,
    /// One packet may be sent regardless of the window (`MaybeSendOnePacket`).
    sends_one: bool,
    /// The sender last stopped because it had no more data (`IsAppOrFlowControlLimited`).
    is_app_limited: bool,
    last_sent: Instant,
}

#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // one per connection, and the larger one is the usual one
enum Controller {
    NewReno(NewReno),
    Registered(RegisteredControl),
}

/// Signal of a congestion event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CongestionSignal {
    Loss,
    Mark,
}

/// State of a connection, apart from its window.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendState {
    pub now: Instant,
    /// Oldest outstanding packet number, and the next one to be sent.
    pub una: u64,
    pub nxt: u64,
    pub srtt: Duration,
}

impl Congestion {
    /// Initial window of a new connection.
    pub fn new(config: &Config) -> Self {
        let mds = config.max_datagram_size;
        let limit = u64::from(INITIAL_BYTES.max(2 * mds));
        let bytes = match config.initial_window {
            Some(packets) => u64::from(packets) * u64::from(mds),
            None => limit.min(10 * u64::from(mds)),
        };
        let kind = match is_newreno(&config.cc) {
            true => Controller::NewReno(NewReno::new(bytes, mds)),
            false => {
                Controller::Registered(RegisteredControl::new(config.cc.clone(), (bytes / u64::from(mds)) as u32, mds))
            }
        };
        Self {
            kind,
            pacer: Pacer::unlimited(),
            bytes_in_flight: 0,
            packets_in_flight: 0,
            recovery_start: None,
            state: CaState::Open,
            entered: Instant::ZERO,
            sends_one: false,
            is_app_limited: true,
            last_sent: Instant::ZERO,
        }
    }

    /// Passes the control its random stream.
    pub fn seed(&mut self, rng: Rng) {
        if let Controller::Registered(control) = &mut self.kind {
            control.seed(rng);
        }
    }

    /// The handshake is complete; it measured `rtt`.
    pub fn opened(&mut self, send_state: &SendState, rtt: Duration) {
        let path = self.path(send_state);
        if let Controller::Registered(control) = &mut self.kind {
            control.opened(&path, rtt, &mut self.pacer);
        }
        self.pace(send_state);
    }

    /// `OnPacketSentCC`.
    pub fn on_sent(&mut self, send_state: &SendState, packet: &SentPacket) {
        let path = self.path(send_state);
        if let Controller::Registered(control) = &mut self.kind {
            control.on_sent(&path, packet, self.last_sent, &mut self.pacer);
        }
        self.bytes_in_flight += u64::from(packet.size);
        self.packets_in_flight += 1;
        self.sends_one = false;
        self.last_sent = send_state.now;
        self.pacer.on_burst(send_state.now, 1, packet.size.into());
    }

    /// A frame newly acknowledges packets; loss detection has not run yet.
    pub fn on_newly_acked(&mut self, send_state: &SendState, acked: &[SentPacket], ce: u64, rtt: Option<Duration>) {
        let bytes: u64 = acked.iter().map(|packet| u64::from(packet.size)).sum();
        self.bytes_in_flight -= bytes;
        self.packets_in_flight -= acked.len() as u32;
        let path = self.path(send_state);
        if let Controller::Registered(control) = &mut self.kind {
            control.show_flight(&path, &mut self.pacer);
            control.on_newly_acked(&path, (acked, ce as u32), rtt, &mut self.pacer);
        }
    }

    /// `OnCongestionEvent`, for a packet sent at `sent`.
    pub fn on_event(&mut self, send_state: &SendState, sent: Instant, cause: CongestionSignal) {
        if (self.state, cause) == (CaState::Recovery, CongestionSignal::Loss) && self.prolongs_recovery() {
            // Recovery continues until data sent after this loss is acknowledged.
            (self.recovery_start, self.entered) = (Some(send_state.now), send_state.now);
            return;
        }
        // RFC 9002 §7.3.2: one reduction per recovery period; a loss still counts if only a mark began the period.
        let within = self.is_in_recovery(sent);
        if within && (self.state, cause) != (CaState::Cwr, CongestionSignal::Loss) {
            return;
        }
        if !within && self.state != CaState::Open {
            // The loss of a packet sent after the period began implies that a later packet has been acknowledged.
            self.recover(send_state);
        }
        // The control sees the new state during the reduction; `before` is restored if it does not reduce.
        let (before, state) =
            (self.state, if cause == CongestionSignal::Loss { CaState::Recovery } else { CaState::Cwr });
        self.state = state;
        let path = self.path(send_state);
        match &mut self.kind {
            Controller::Registered(control) if within => {
                if !control.reduce_further(&path) {
                    self.state = before;
                }
                return;
            }
            _ if within => {
                self.state = before;
                return;
            }
            Controller::NewReno(window) => window.reduce(),
            Controller::Registered(control) => control.reduce(&path, cause == CongestionSignal::Loss),
        }
        (self.recovery_start, self.entered, self.sends_one) = (Some(send_state.now), send_state.now, true);
    }

    /// `OnPacketsLost`; `lost` may be empty.
    pub fn on_lost(&mut self, send_state: &SendState, lost: &[SentPacket], is_persistent: bool) {
        let Some(last) = lost.last() else { return };
        self.bytes_in_flight -= lost.iter().map(|packet| u64::from(packet.size)).sum::<u64>();
        self.packets_in_flight -= lost.len() as u32;
        let (cwnd, path) = (self.packets(), self.path(send_state));
        if let Controller::Registered(control) = &mut self.kind {
            control.show_flight(&path, &mut self.pacer);
        }
        // The last lost packet was sent last.
        self.on_event(send_state, last.at, CongestionSignal::Loss);
        if is_persistent {
            // RFC 9002, appendix B.8: persistent congestion also ends the recovery period.
            (self.state, self.entered, self.recovery_start) = (CaState::Loss, send_state.now, None);
            let path = self.path(send_state);
            match &mut self.kind {
                Controller::NewReno(window) => window.collapse(),
                Controller::Registered(control) => control.collapse(&path),
            }
        }
        let path = self.path(send_state);
        if let Controller::Registered(control) = &mut self.kind {
            control.on_lost(&path, lost, cwnd, &mut self.pacer);
        }
    }

    /// `OnPacketsAcked`. A control that steers sets the window here.
    pub fn on_acked(&mut self, send_state: &SendState, acked: &[SentPacket], summary: AckSummary) {
        let grows = |packet: &&SentPacket| !self.is_in_recovery(packet.at);
        let growing = acked.iter().filter(grows).count() as u32;
        if self.state != CaState::Open && acked.iter().any(|packet| packet.at > self.entered) {
            self.recover(send_state);
        }
        let path = self.path(send_state);
        let (start, limited) = (self.recovery_start, self.is_app_limited);
        match &mut self.kind {
            Controller::NewReno(window) => {
                let used = acked.iter().filter(|packet| !limited && start.is_none_or(|start| packet.at > start));
                used.for_each(|packet| window.on_acked(packet.size));
            }
            Controller::Registered(control) => {
                let summary = AckSummary { growing, ..summary };
                control.on_ack_processed(&path, &summary, &mut self.pacer);
            }
        }
        self.pace(send_state);
    }

    /// The recovery period ends: a packet sent during it is acknowledged.
    fn recover(&mut self, send_state: &SendState) {
        self.state = CaState::Open;
        let path = self.path(send_state);
        if let Controller::Registered(control) = &mut self.kind {
            control.on_recovery_end(&path, &mut self.pacer);
        }
    }

    /// The loss timer has detected losses without an acknowledgment.
    pub fn on_timer(&mut self, send_state: &SendState) {
        let path = self.path(send_state);
        if let Controller::Registered(control) = &mut self.kind {
            control.notify_state(&path, &mut self.pacer);
        }
        self.pace(send_state);
    }

    /// The sender stops; `is_app_limited` if it has no more data.
    pub fn on_blocked(&mut self, is_app_limited: bool) {
        self.is_app_limited = is_app_limited;
        if let Controller::Registered(control) = &mut self.kind {
            if is_app_limited {
                control.mark_app_limited(self.packets_in_flight);
            }
        }
    }

    /// ECN validation of the path has failed.
    pub fn on_ecn_failed(&mut self) {
        if let Controller::Registered(control) = &mut self.kind {
            control.on_ecn_failed();
        }
    }

    /// Whether the window has room for a packet of `size` bytes.
    pub fn has_room(&self, size: u32) -> bool {
        self.sends_one || self.bytes_in_flight + u64::from(size) <= self.window()
    }

    /// Congestion window in bytes.
    pub fn window(&self) -> u64 {
        match &self.kind {
            Controller::NewReno(window) => window.cwnd,
            Controller::Registered(control) => u64::from(control.window.cwnd) * u64::from(control.window.mss),
        }
    }

    /// Slow-start threshold in bytes; none before a congestion event.
    pub fn ssthresh(&self) -> Option<u64> {
        match &self.kind {
            Controller::NewReno(window) => window.ssthresh,
            Controller::Registered(control) => {
                let Window { ssthresh, mss, .. } = control.window;
                (ssthresh != Window::INFINITE_SSTHRESH).then(|| u64::from(ssthresh) * u64::from(mss))
            }
        }
    }

    /// UDP payload of a full packet, at most `max_size`: a control may make packets smaller.
    pub fn datagram(&self, max_size: u32) -> u32 {
        match &self.kind {
            Controller::NewReno(_) => max_size,
            Controller::Registered(control) => control.window.mss.min(max_size),
        }
    }

    /// Packets in flight.
    pub fn in_flight(&self) -> u32 {
        self.packets_in_flight
    }

    /// Bytes in flight.
    #[cfg(test)]
    pub fn bytes_in_flight(&self) -> u64 {
        self.bytes_in_flight
    }

    /// State of congestion avoidance.
    pub fn state(&self) -> CaState {
        self.state
    }

    /// Minimum RTT that the control sees.
    pub fn min_rtt(&self) -> Option<Duration> {
        match &self.kind {
            Controller::NewReno(_) => None,
            Controller::Registered(control) => control.min_rtt(),
        }
    }

    /// Whether a loss during recovery extends it. A recovery period of RFC 9002 lasts one round trip, and BBR conserves
    /// packets in the first one: behind CoDel, which drops in every round trip of four flows, that would be 63 % of the
    /// time.
    fn prolongs_recovery(&self) -> bool {
        matches!(&self.kind, Controller::Registered(control) if control.prolongs_recovery())
    }

    /// `InCongestionRecovery`.
    fn is_in_recovery(&self, sent: Instant) -> bool {
        self.recovery_start.is_some_and(|start| sent <= start)
    }

    /// Window of a control that counts packets; unused if the control counts bytes.
    fn packets(&self) -> u32 {
        match &self.kind {
            Controller::NewReno(_) => 0,
            Controller::Registered(control) => control.window.cwnd,
        }
    }

    /// Sets the pacing rate to 1.25 windows per RTT (§7.7), unless the control sets the rate.
    fn pace(&mut self, send_state: &SendState) {
        if matches!(&self.kind, Controller::Registered(control) if control.steers()) {
            return;
        }
        let bits = u128::from(self.window()) * 8 * 5 / 4;
        let bps = bits * 1_000_000_000 / (send_state.srtt.as_nanos().max(1) as u128);
        self.pacer.set_rate(Some(Rate::from_bps(bps.min(u128::from(u64::MAX)) as u64)));
    }

    fn path(&self, send_state: &SendState) -> PathState {
        let &SendState { now, una, nxt, srtt } = send_state;
        let (state, in_flight, is_cwnd_limited) = (self.state, self.packets_in_flight, !self.is_app_limited);
        PathState { now, state, una, nxt, in_flight, srtt, is_cwnd_limited }
    }
}

/// Upper bound of the initial window of ten packets, in bytes (§7.2).
const INITIAL_BYTES: u32 = 14_720;
