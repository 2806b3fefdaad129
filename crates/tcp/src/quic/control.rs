//! Processing of acknowledgments and timers: loss detection, ECN and the window, in the order of RFC 9002's
//! `OnAckReceived` and `OnLossDetectionTimeout`.

use super::congestion::{Congestion, CongestionSignal, SendState};
use super::ecn::EcnValidation;
use super::recovery::{Recovery, SentPacket};
use super::registered::AckSummary;
use super::{AckFrame, Config, wants_ecn};
use sojourn_aqm::{Duration, Ecn, Instant};

/// Loss recovery, congestion control and ECN validation of a path.
#[derive(Clone, Debug)]
pub(super) struct PathControl {
    pub recovery: Recovery,
    pub congestion: Congestion,
    pub ecn: EcnValidation,
}

impl PathControl {
    /// State of a connection before any packet is sent.
    pub fn new(config: &Config) -> Self {
        let codepoint = match wants_ecn(config) {
            false => Ecn::NotEct,
            true if config.cc.needs().ect1 => Ecn::Ect1,
            true => Ecn::Ect0,
        };
        Self { recovery: Recovery::new(), congestion: Congestion::new(config), ecn: EcnValidation::new(codepoint) }
    }

    /// The handshake is complete; it took `rtt`.
    pub fn open(&mut self, now: Instant, rtt: Duration) {
        self.recovery.rtt.update(now, rtt, Duration::ZERO);
        // `OnPacketNumberSpaceDiscarded`.
        self.recovery.finish_ack();
        let send_state = self.send_state(now);
        self.congestion.opened(&send_state, rtt);
    }

    /// A packet is sent.
    pub fn on_sent(&mut self, packet: SentPacket) {
        let send_state = self.send_state(packet.at);
        self.congestion.on_sent(&send_state, &packet);
        self.recovery.on_sent(packet);
    }

    /// `OnAckReceived`. Leaves the newly acknowledged and the lost packets in [`Recovery`]; returns whether any packet
    /// is newly acknowledged.
    pub fn on_ack(&mut self, now: Instant, frame: &AckFrame) -> bool {
        let prior_in_flight = self.congestion.in_flight();
        let is_largest_new = self.recovery.on_ack(now, frame);
        let Some(&newest) = self.recovery.acked.last() else { return false };
        // RFC 9000 §13.4.2.1: counts of a frame without a new largest number may be older than those already seen.
        let ce = if is_largest_new { self.count_marks(frame) } else { 0 };
        let rtt = is_largest_new.then(|| self.recovery.rtt.latest());
        // Packets acknowledged by this frame leave the flight before loss detection runs.
        self.recovery.remove_finished();
        let send_state = self.send_state(now);
        self.congestion.on_newly_acked(&send_state, &self.recovery.acked, ce, rtt);
        if ce > 0 {
            self.congestion.on_event(&send_state, newest.at, CongestionSignal::Mark);
        }
        self.detect(now);
        let send_state = self.send_state(now);
        let acked = &self.recovery.acked;
        let (packets, losses) = (acked.len() as u32, self.recovery.lost.len() as u32);
        let summary = AckSummary { packets, growing: 0, ce: ce as u32, losses, prior_in_flight, rtt };
        self.congestion.on_acked(&send_state, acked, summary);
        self.recovery.finish_ack();
        true
    }

    /// The loss timer of the time threshold has expired.
    pub fn on_loss_time(&mut self, now: Instant) {
        self.detect(now);
        let send_state = self.send_state(now);
        self.congestion.on_timer(&send_state);
        self.recovery.remove_finished();
    }

    /// The probe time-out has expired, and probes were sent.
    pub fn on_pto(&mut self) {
        self.recovery.on_pto();
        self.ecn.on_pto(self.recovery.pto_count());
    }

    fn detect(&mut self, now: Instant) {
        self.recovery.detect_lost_packets(now);
        let is_persistent = self.recovery.is_congested_persistently();
        let send_state = self.send_state(now);
        self.congestion.on_lost(&send_state, &self.recovery.lost, is_persistent);
    }

    /// `ProcessECN`: packets newly reported with a CE mark.
    fn count_marks(&mut self, frame: &AckFrame) -> u64 {
        let ect = self.recovery.acked.iter().filter(|packet| packet.ect).count() as u64;
        let before = self.ecn.has_failed();
        let ce = self.ecn.on_ack(ect, frame.ecn);
        if !before && self.ecn.has_failed() {
            self.congestion.on_ecn_failed();
        }
        ce
    }

    fn send_state(&self, now: Instant) -> SendState {
        let recovery = &self.recovery;
        SendState { now, una: recovery.oldest(), nxt: recovery.next_number(), srtt: recovery.rtt.smoothed() }
    }
}
