//! A closed loop between a sender and its receiver over a path, deterministic by its random stream.

use super::ends::{Ends, Event, Sent};
use super::path::{Impairments, Path, Transit};
use crate::Flags;
use sojourn_aqm::{Duration, Instant, Rng};
use std::ops::DerefMut;

/// A connection, boxed, and its path.
#[derive(Debug)]
pub(crate) struct World<E> {
    pub ends: E,
    pub now: Instant,
    pub path: Path,
    /// Whether impairments, writes of the application and pauses are random.
    is_random: bool,
    /// Whether the application writes in pieces.
    writes: bool,
    /// Number of the sender's events.
    n: u64,
    rng: Rng,
}

impl<E: DerefMut<Target: Ends>> World<E> {
    /// A world with random impairments. Returns its first event.
    pub fn random(ends: E, mut rng: Rng) -> (Self, Event) {
        let [writes, is_finite] = [0.3, 0.5].map(|share| rng.uniform() < share);
        let writes = writes && ends.takes_writes();
        let bytes = is_finite.then(|| 1_000 + rng.below(2_000_000));
        let path = Path::new(Impairments::default());
        let world = Self { ends, now: Instant::ZERO, path, is_random: true, writes, n: 0, rng };
        (world, if writes { Event::Connects } else { Event::Opens(bytes) })
    }

    /// A world whose path and application change only by commands; the application has not opened the connection yet.
    pub fn scripted(ends: E, impairments: Impairments, rng: Rng) -> Self {
        let path = Path::new(impairments);
        Self { ends, now: Instant::ZERO, path, is_random: false, writes: false, n: 0, rng }
    }

    /// From now on the path is good, and the application writes no more by itself.
    pub fn become_good(&mut self) {
        (self.is_random, self.path.impairments) = (false, Impairments::GOOD);
    }

    /// Whether the application writes in pieces.
    pub fn writes(&self) -> bool {
        self.writes
    }

    /// Whether nothing happens any more.
    pub fn is_over(&self) -> bool {
        !self.writes && self.ends.is_finished() && self.next_time() == Instant::NEVER
    }

    /// Carries out an event at the sender, and puts the packets that it sends onto the path. Returns their number.
    pub fn carry_out(&mut self, event: Event) -> usize {
        let sent = self.ends.carry_out(self.now, event);
        let packets = sent.len();
        self.transmit(sent);
        packets
    }

    /// Puts packets of the sender's last event onto the path.
    pub fn transmit(&mut self, sent: Sent) {
        if self.is_random {
            // A blackout has few events: time-outs.
            let rarity = if self.path.impairments == Impairments::BLACKOUT { 8 } else { 150 };
            if self.rng.below(rarity) == 0 {
                self.path.impairments = Impairments::draw(&mut self.rng);
            }
        }
        // A little reordering, even on a path without impairments.
        let jitter = if self.is_random { self.n % 997 * 1_000 } else { 0 };
        for packet in sent {
            self.path.send(self.now, packet, (self.n, jitter), &mut self.rng);
        }
        self.n += 1;
    }

    /// Advances to the next event at the sender; none if it is after `until`, which is the time then.
    pub fn next_event(&mut self, until: Instant) -> Option<Event> {
        loop {
            let wakes = self.next_time();
            if self.is_random && self.writes && self.rng.below(12) == 0 {
                let max = if self.rng.below(4) == 0 { 200_000 } else { 12_000 };
                return Some(Event::Writes(1 + self.rng.below(max)));
            }
            if wakes > until {
                self.now = until;
                return None;
            }
            if wakes == Instant::NEVER {
                // Everything has arrived; an early timer call does nothing.
                if self.writes && self.rng.below(3) == 0 {
                    self.now += Duration::from_nanos(self.rng.below(MAX_PAUSE) as i64);
                }
                return Some(Event::Wakes);
            }
            self.now = wakes;
            let [sender, _] = self.ends.deadlines();
            let answers = if wakes == self.path.arrival() {
                let packet = self.path.take();
                if !packet.to_receiver {
                    return Some(self.received(packet));
                }
                self.ends.receive(self.now, &packet.header, packet.ecn)
            } else if wakes == sender {
                return Some(Event::Wakes);
            } else {
                self.ends.wake_receiver(self.now)
            };
            for packet in answers {
                if self.rng.below(100) >= self.path.impairments.acks_lost {
                    self.path.answer(self.now, packet, &mut self.rng);
                }
            }
        }
    }

    /// Runs until `until`, or until `watch` returns true; it is called after each event of the sender, with the number
    /// of packets that it sent.
    pub fn run_until(&mut self, until: Instant, watch: &mut dyn FnMut(&Self, usize) -> bool) {
        while let Some(event) = self.next_event(until) {
            let packets = self.carry_out(event);
            if watch(self, packets) {
                return;
            }
        }
    }

    /// An acknowledgment arrives at the sender; a random world may disturb it.
    fn received(&mut self, packet: Transit) -> Event {
        if !self.is_random {
            return Event::Receives(packet.header);
        }
        if self.rng.below(400) == 0 || (self.n <= 3 && self.rng.below(3) == 0) {
            self.path.duplicate(packet);
            return Event::Receives(self.ends.invalid(packet.header, &mut self.rng));
        }
        let is_mangled =
            !packet.header.flags.contains(Flags::SYN) && self.rng.below(100) < self.path.impairments.mangled;
        Event::Receives(if is_mangled { self.ends.mangled(packet.header, &mut self.rng) } else { packet.header })
    }

    fn next_time(&self) -> Instant {
        let [sender, receiver] = self.ends.deadlines();
        self.path.arrival().min(sender).min(receiver)
    }
}

/// Maximum pause of an application that writes in pieces, in nanoseconds.
const MAX_PAUSE: u64 = 8_000_000_000;
