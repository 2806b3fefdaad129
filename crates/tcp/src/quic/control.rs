//! What an acknowledgment does, and a timer: loss detection, ECN and the window, in the order of RFC 9002's `OnAckReceived` and
//! `OnLossDetectionTimeout`.

use super::congestion::{Congestion, CongestionSignal, SendState};
use super::ecn::EcnValidation;
use super::recovery::{Recovery, SentPacket};
use super::registered::AckSummary;
use super::{AckFrame, Config, wants_ecn};
use sojourn_aqm::{Duration, Ecn, Instant};

/// All that decides how much of a path may be used.
#[derive(Clone, Debug)]
pub(super) struct PathControl {
    pub recovery: Recovery,
    pub congestion: Congestion,
    pub ecn: EcnValidation,
}

impl PathControl {
    /// Nothing was sent.
    pub fn new(config: &Config) -> Self {
        let codepoint = match wants_ecn(config) {
            false => Ecn::NotEct,
            true if config.cc.needs().ect1 => Ecn::Ect1,
            true => Ecn::Ect0,
        };
        Self { recovery: Recovery::new(), congestion: Congestion::new(config), ecn: EcnValidation::new(codepoint) }
    }

    /// The handshake is over: it took `rtt`.
    pub fn open(&mut self, now: Instant, rtt: Duration) {
        self.recovery.rtt.update(now, rtt, Duration::ZERO);
        // `OnPacketNumberSpaceDiscarded`.
        self.recovery.finish_ack();
        let place = self.send_state(now);
        self.congestion.opened(&place, rtt);
    }

    /// A packet goes out.
    pub fn on_sent(&mut self, packet: SentPacket) {
        let place = self.send_state(packet.at);
        self.congestion.on_sent(&place, &packet);
        self.recovery.on_sent(packet);
    }

    /// `OnAckReceived`. What it acknowledged, and what it showed to be lost, is in [`Recovery`]; whether there is anything of
    /// it.
    pub fn on_ack(&mut self, now: Instant, frame: &AckFrame) -> bool {
        let prior_in_flight = self.congestion.in_flight();
        let is_largest_new = self.recovery.on_ack(now, frame);
        let Some(&newest) = self.recovery.acked.last() else { return false };
        let ce = if is_largest_new { self.count_marks(frame) } else { 0 };
        let rtt = is_largest_new.then(|| self.recovery.rtt.latest());
        // What is acknowledged counts as such before losses are looked for.
        self.recovery.remove_finished();
        let place = self.send_state(now);
        self.congestion.on_newly_acked(&place, &self.recovery.acked, ce, rtt);
        if ce > 0 {
            self.congestion.on_event(&place, newest.at, CongestionSignal::Mark);
        }
        self.detect(now);
        let place = self.send_state(now);
        let acked = &self.recovery.acked;
        let (packets, losses) = (acked.len() as u32, self.recovery.lost.len() as u32);
        let summary = AckSummary { packets, growing: 0, ce: ce as u32, losses, prior_in_flight, rtt };
        self.congestion.on_acked(&place, acked, summary);
        self.recovery.finish_ack();
        true
    }

    /// The time has come at which what was sent earlier than something that has arrived counts as lost.
    pub fn on_loss_time(&mut self, now: Instant) {
        self.detect(now);
        let place = self.send_state(now);
        self.congestion.on_timer(&place);
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
        let place = self.send_state(now);
        self.congestion.on_lost(&place, &self.recovery.lost, is_persistent);
    }

    /// `ProcessECN`: packets that arrived with a mark since the last time.
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
