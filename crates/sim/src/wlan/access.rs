//! A channel access. Transmitters, duration and outcome are computed when it starts.

use super::stats::{Attempt, AttemptOutcome};
use super::{ACCESS_POINT, BEACON_INTERVAL, Beacon, Wlan};
use crate::radio::phy::{ACK_BYTES, BLOCK_ACK_BYTES, Bitrate, SIFS};
use sojourn_aqm::{Duration, Instant};

impl Wlan {
    /// Time of the channel's next event.
    pub(super) fn next_event(&self) -> Instant {
        match (self.ends_at, &self.beacon) {
            (Some(end), _) => end,
            (None, None) => self.dcf.next(),
            (None, Some(beacon)) => self.dcf.next().min(self.beacon_starts(beacon)),
        }
    }

    fn beacon_starts(&self, beacon: &Beacon) -> Instant {
        beacon.due.max(self.dcf.available(ACCESS_POINT))
    }

    /// Starts an access. A second event follows only if a frame arrives or is completed: then the sender takes its next
    /// packet and TCP gets the frame, and both may queue a packet before the next access.
    pub(super) fn access_begins(&mut self, now: Instant) {
        let mut transmitters = std::mem::take(&mut self.transmitting);
        let beacon = self.beacon.filter(|beacon| self.beacon_starts(beacon) == now);
        self.dcf.on_busy(now, &mut transmitters);
        if beacon.is_some() {
            // The access point sends its own frame after the beacon.
            transmitters.retain(|&node| node != ACCESS_POINT);
        }
        let end = match (&transmitters[..], beacon) {
            (&[node], None) => self.transmit_alone(now, node),
            (nodes, beacon) => self.transmit_colliding(now, nodes, beacon.map(|beacon| beacon.airtime)),
        };
        if let Some(beacon) = self.beacon.as_mut().filter(|_| beacon.is_some()) {
            beacon.due += BEACON_INTERVAL;
        }
        self.tally.access(now, end, transmitters.len(), beacon.is_some());
        self.transmitting = transmitters;
        self.ends_at = (!self.completing.is_empty()).then_some(end);
    }

    /// Transmits one frame or one aggregate. Returns when the medium falls idle.
    fn transmit_alone(&mut self, now: Instant, node: usize) -> Instant {
        let psdu = self.nodes[node].head();
        let (station, rate) = (psdu.station(), psdu.rate());
        let (airtime, response) = (psdu.airtime(rate), SIFS + psdu.response_airtime(rate));
        let (end, idle) = (now + airtime, now + airtime + response);
        let (errors, overhead) = (self.errors, psdu.overhead());
        let response_bytes = if psdu.is_aggregate() { BLOCK_ACK_BYTES } else { ACK_BYTES };
        let mut loses = |at, loss: &dyn Fn(f64) -> f64| match &mut self.signals[station] {
            None => false,
            Some(signal) => signal.is_lost(at, loss),
        };
        let mut any_decoded = false;
        for frame in psdu.frames_mut() {
            frame.garbled = loses(now, &|snr| errors.loss(rate, snr, frame.bytes + overhead));
            any_decoded |= !frame.garbled;
        }
        let ending = if !any_decoded {
            AttemptOutcome::Lost
        } else if loses(end, &|snr| errors.response_loss(rate, snr, response_bytes)) {
            AttemptOutcome::AckLost
        } else {
            AttemptOutcome::Acknowledged
        };
        let spent = if ending == AttemptOutcome::Lost { airtime } else { airtime + response };
        let mut attempt = Attempt::new(node, station, rate, ending, spent);
        let progress = psdu.on_attempt(&mut attempt);
        // Virtual carrier sense: stations that decoded the frame defer until the end of its acknowledgment, sent or
        // not.
        self.dcf.on_frame_ok_all(idle);
        match ending {
            AttemptOutcome::Lost => {
                let receiver = if node == ACCESS_POINT { station + 1 } else { ACCESS_POINT };
                self.dcf.on_frame_error(receiver, end);
                self.dcf.on_ack_timeout(node, end, end);
            }
            AttemptOutcome::AckLost => self.dcf.on_frame_error(node, idle),
            AttemptOutcome::Acknowledged | AttemptOutcome::Collided => {}
        }
        self.interfaces[node].record_transmission(now, spent);
        self.record_attempt(now, &attempt, progress);
        now + spent
    }

    /// Transmits several frames at once, or a beacon; frames that collide are not decoded. Returns when the medium
    /// falls idle.
    fn transmit_colliding(&mut self, now: Instant, nodes: &[usize], beacon: Option<Duration>) -> Instant {
        debug_assert!(!nodes.is_empty() || beacon.is_some(), "a channel access has a transmitter");
        let airtimes = nodes.iter().map(|&node| self.next_attempt(node).1);
        let end = now + airtimes.fold(beacon.unwrap_or(Duration::ZERO), Duration::max);
        for other in 0..self.nodes.len() {
            // A beacon has no acknowledgment, and its sender cannot detect a collision.
            if nodes.is_empty() || (beacon.is_some() && other == ACCESS_POINT) {
                self.dcf.on_frame_ok(other, end);
            } else {
                self.dcf.on_frame_error(other, end);
            }
        }
        let mut counted = now;
        for &node in nodes {
            let (rate, airtime) = self.next_attempt(node);
            self.dcf.on_ack_timeout(node, now + airtime, end);
            if node == ACCESS_POINT {
                self.interfaces[node].record_transmission(now, airtime);
            } else {
                self.interfaces[node].record_collision(now, airtime, counted);
                counted = counted.max(now + airtime);
            }
            self.record_collision(now, node, rate, airtime);
        }
        end
    }

    /// Rate and airtime of the next attempt of `node`.
    fn next_attempt(&mut self, node: usize) -> (Bitrate, Duration) {
        let psdu = self.nodes[node].head();
        let rate = psdu.rate();
        (rate, psdu.airtime(rate))
    }

    /// Records a collided attempt of `node`.
    #[inline(never)]
    fn record_collision(&mut self, now: Instant, node: usize, rate: Bitrate, airtime: Duration) {
        let psdu = self.nodes[node].head();
        let mut attempt = Attempt::new(node, psdu.station(), rate, AttemptOutcome::Collided, airtime);
        let progress = psdu.on_attempt(&mut attempt);
        self.record_attempt(now, &attempt, progress);
    }

    /// Records an attempt: whether frames arrive with it, and whether its sender completes any (`is_over`).
    #[inline(always)]
    fn record_attempt(&mut self, now: Instant, attempt: &Attempt, (arrives, is_over): (bool, bool)) {
        let &Attempt { node, airtime, .. } = attempt;
        if let Some(scheduler) = &mut self.nodes[ACCESS_POINT].scheduler {
            scheduler.charge(attempt.station, airtime);
        }
        self.tally.attempt(now, attempt);
        if is_over {
            self.dcf.on_complete(node);
        } else {
            self.dcf.on_retry(node);
        }
        if arrives || is_over || attempt.is_aggregate {
            self.completing.push(node);
        }
    }
}
