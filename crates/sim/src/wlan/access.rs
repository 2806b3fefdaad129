//! An access to the channel: who transmits, how long, and what becomes of it. All of it is known when it begins.

use super::stats::{Attempt, Ending};
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
        self.dcf.turns_busy(now, &mut who);
        if beacon.is_some() {
            // The access point's own frame comes after the beacon.
            who.retain(|&node| node != ACCESS_POINT);
        }
        let end = match (&who[..], beacon) {
            (&[node], None) => self.alone(now, node),
            (nodes, beacon) => self.together(now, nodes, beacon.map(|beacon| beacon.airtime)),
        };
        if let Some(beacon) = self.beacon.as_mut().filter(|_| beacon.is_some()) {
            beacon.due += BEACON_INTERVAL;
        }
        self.tally.access(now, end, who.len(), beacon.is_some());
        self.transmitting = who;
        self.ends_at = (!self.concerned.is_empty()).then_some(end);
    }

    /// One frame on the air, or one aggregate. Returns when the medium falls idle.
    fn alone(&mut self, now: Instant, node: usize) -> Instant {
        let load = self.nodes[node].head();
        let (station, rate) = (load.station(), load.rate());
        let (airtime, answered) = (load.airtime(rate), SIFS + load.answer(rate));
        let (end, idle) = (now + airtime, now + airtime + answered);
        let (errors, overhead) = (self.errors, load.overhead());
        let answer_bytes = if load.is_aggregate() { BLOCK_ACK_BYTES } else { ACK_BYTES };
        let mut loses = |at, loss: &dyn Fn(f64) -> f64| match &mut self.signals[station] {
            None => false,
            Some(signal) => signal.loses(at, loss),
        };
        let mut understood = false;
        for frame in load.frames_mut() {
            frame.garbled = loses(now, &|snr| errors.loss(rate, snr, frame.bytes + overhead));
            understood |= !frame.garbled;
        }
        let ending = if !understood {
            Ending::Lost
        } else if loses(end, &|snr| errors.answer_loss(rate, snr, answer_bytes)) {
            Ending::AckLost
        } else {
            Ending::Acknowledged
        };
        let spent = if ending == Ending::Lost { airtime } else { airtime + answered };
        let mut attempt = Attempt::new(node, station, rate, ending, spent);
        let became = load.attempted(&mut attempt);
        // Who has understood the frame stays silent until its acknowledgment is over, also if that never comes.
        self.dcf.all_heard(idle);
        match ending {
            Ending::Lost => {
                let receiver = if node == ACCESS_POINT { station + 1 } else { ACCESS_POINT };
                self.dcf.heard_garbled(receiver, end);
                self.dcf.heard_nothing(node, end, end);
            }
            Ending::AckLost => self.dcf.heard_garbled(node, idle),
            Ending::Acknowledged | Ending::Collided => {}
        }
        self.interfaces[node].transmits(now, spent);
        self.attempted(now, &attempt, became);
        now + spent
    }

    /// Several frames at once, or a beacon: nobody understands anything of what collides.
    fn together(&mut self, now: Instant, nodes: &[usize], beacon: Option<Duration>) -> Instant {
        debug_assert!(!nodes.is_empty() || beacon.is_some(), "an access has somebody who transmits");
        let airtimes = nodes.iter().map(|&node| self.next_attempt(node).1);
        let end = now + airtimes.fold(beacon.unwrap_or(Duration::ZERO), Duration::max);
        for other in 0..self.nodes.len() {
            // A beacon is not answered; its sender has heard nothing that it could not understand.
            if nodes.is_empty() || (beacon.is_some() && other == ACCESS_POINT) {
                self.dcf.heard(other, end);
            } else {
                self.dcf.heard_garbled(other, end);
            }
        }
        let mut counted = now;
        for &node in nodes {
            let (rate, airtime) = self.next_attempt(node);
            self.dcf.heard_nothing(node, now + airtime, end);
            if node == ACCESS_POINT {
                self.interfaces[node].transmits(now, airtime);
            } else {
                self.interfaces[node].collides(now, airtime, counted);
                counted = counted.max(now + airtime);
            }
            self.collided(now, node, rate, airtime);
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
    fn collided(&mut self, now: Instant, node: usize, rate: Bitrate, airtime: Duration) {
        let load = self.nodes[node].head();
        let mut attempt = Attempt::new(node, load.station(), rate, Ending::Collided, airtime);
        let became = load.attempted(&mut attempt);
        self.attempted(now, &attempt, became);
    }

    /// Notes an attempt, and whether with it something arrives, and its sender is through with something.
    #[inline(always)]
    fn attempted(&mut self, now: Instant, attempt: &Attempt, (arrives, is_over): (bool, bool)) {
        let &Attempt { node, airtime, .. } = attempt;
        if let Some(turns) = &mut self.nodes[ACCESS_POINT].turns {
            turns.charge(attempt.station, airtime);
        }
        self.tally.attempt(now, attempt);
        if is_over {
            self.dcf.through(node);
        } else {
            self.dcf.failed(node);
        }
        if arrives || is_over || attempt.is_aggregate {
            self.concerned.push(node);
        }
    }
}
