//! An access to the channel: who transmits, how long, and what becomes of it. All of it is known when it begins.

use super::stats::{Attempt, AttemptOutcome};
use super::{ACCESS_POINT, BEACON_INTERVAL, Beacon, Wlan};
use crate::radio::phy::{ACK_BYTES, BLOCK_ACK_BYTES, Bitrate, SIFS};
use sojourn_aqm::{Duration, Instant};

impl Wlan {
    /// When the next event of the channel is due.
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

    /// An access starts.
    pub(super) fn access_begins(&mut self, now: Instant) {
        let mut who = std::mem::take(&mut self.transmitting);
        let beacon = self.beacon.filter(|beacon| self.beacon_starts(beacon) == now);
        self.dcf.on_busy(now, &mut who);
        if beacon.is_some() {
            // The access point's own frame comes after the beacon.
            who.retain(|&node| node != ACCESS_POINT);
        }
        let end = match (&who[..], beacon) {
            (&[node], None) => self.transmit_alone(now, node),
            (nodes, beacon) => self.transmit_colliding(now, nodes, beacon.map(|beacon| beacon.airtime)),
        };
        if let Some(beacon) = self.beacon.as_mut().filter(|_| beacon.is_some()) {
            beacon.due += BEACON_INTERVAL;
        }
        self.tally.access(now, end, who.len(), beacon.is_some());
        self.transmitting = who;
        self.ends_at = (!self.receivers.is_empty()).then_some(end);
    }

    /// One frame on the air, or one aggregate. Returns when the medium falls idle.
    fn transmit_alone(&mut self, now: Instant, node: usize) -> Instant {
        let load = self.nodes[node].head();
        let (station, rate) = (load.station(), load.rate());
        let (airtime, answered) = (load.airtime(rate), SIFS + load.response_airtime(rate));
        let (end, idle) = (now + airtime, now + airtime + answered);
        let (errors, overhead) = (self.errors, load.overhead());
        let answer_bytes = if load.is_aggregate() { BLOCK_ACK_BYTES } else { ACK_BYTES };
        let mut loses = |at, loss: &dyn Fn(f64) -> f64| match &mut self.signals[station] {
            None => false,
            Some(signal) => signal.is_lost(at, loss),
        };
        let mut understood = false;
        for frame in load.frames_mut() {
            frame.garbled = loses(now, &|snr| errors.loss(rate, snr, frame.bytes + overhead));
            understood |= !frame.garbled;
        }
        let ending = if !understood {
            AttemptOutcome::Lost
        } else if loses(end, &|snr| errors.response_loss(rate, snr, answer_bytes)) {
            AttemptOutcome::AckLost
        } else {
            AttemptOutcome::Acknowledged
        };
        let spent = if ending == AttemptOutcome::Lost { airtime } else { airtime + answered };
        let mut attempt = Attempt::new(node, station, rate, ending, spent);
        let became = load.on_attempt(&mut attempt);
        // Who has understood the frame stays silent until its acknowledgment is over, also if that never comes.
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
        self.record_attempt(now, &attempt, became);
        now + spent
    }

    /// Several frames at once, or a beacon: nobody understands anything of what collides.
    fn transmit_colliding(&mut self, now: Instant, nodes: &[usize], beacon: Option<Duration>) -> Instant {
        debug_assert!(!nodes.is_empty() || beacon.is_some(), "an access has somebody who transmits");
        let airtimes = nodes.iter().map(|&node| self.next_attempt(node).1);
        let end = now + airtimes.fold(beacon.unwrap_or(Duration::ZERO), Duration::max);
        for other in 0..self.nodes.len() {
            // A beacon is not answered; its sender has heard nothing that it could not understand.
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

    /// The rate at which `node` sends next, and the time on the air.
    fn next_attempt(&mut self, node: usize) -> (Bitrate, Duration) {
        let load = self.nodes[node].head();
        let rate = load.rate();
        (rate, load.airtime(rate))
    }

    /// Notes an attempt of `node` that has collided.
    #[inline(never)]
    fn record_collision(&mut self, now: Instant, node: usize, rate: Bitrate, airtime: Duration) {
        let load = self.nodes[node].head();
        let mut attempt = Attempt::new(node, load.station(), rate, AttemptOutcome::Collided, airtime);
        let became = load.on_attempt(&mut attempt);
        self.record_attempt(now, &attempt, became);
    }

    /// Notes an attempt, and whether with it something arrives, and its sender is through with something.
    #[inline(always)]
    fn record_attempt(&mut self, now: Instant, attempt: &Attempt, (arrives, is_over): (bool, bool)) {
        let &Attempt { node, airtime, .. } = attempt;
        if let Some(turns) = &mut self.nodes[ACCESS_POINT].scheduler {
            turns.charge(attempt.station, airtime);
        }
        self.tally.attempt(now, attempt);
        if is_over {
            self.dcf.on_complete(node);
        } else {
            self.dcf.on_retry(node);
        }
        if arrives || is_over || attempt.is_aggregate {
            self.receivers.push(node);
        }
    }
}
