//! A path with impairments and a bottleneck, and its packets in transit.

use crate::Header;
use sojourn_aqm::{Duration, Ecn, Instant, Rng};

/// Impairments of a path for a while. Shares are percentages, times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Impairments {
    /// Data segments lost, delayed and marked; acknowledgments modified, lost and delayed.
    pub lost: u64,
    pub late: u64,
    pub marked: u64,
    pub mangled: u64,
    pub acks_lost: u64,
    pub acks_late: u64,
    /// Maximum additional delay of a delayed packet.
    pub max_delay: u64,
    /// Additional delay of all data segments.
    pub slow: u64,
    /// Rate of the bottleneck in bit/s; 0 without one.
    pub rate: u64,
    /// Maximum waiting time before the bottleneck; beyond it, packets are dropped.
    pub queue: u64,
    /// Waiting time beyond which the bottleneck marks ECN-capable packets; 0 if it does not mark.
    pub marks_from: u64,
}

impl Impairments {
    /// A path without losses up to its bottleneck of 6 Mbit/s: with an RTT of 80 ms and a queue of 80 ms it holds 80
    /// packets of 1,500 bytes, eight initial windows of Linux.
    pub const GOOD: Self = Self {
        lost: 0,
        late: 0,
        marked: 0,
        mangled: 0,
        acks_lost: 0,
        acks_late: 0,
        max_delay: 0,
        slow: 60_000_000,
        rate: 6_000_000,
        queue: 80_000_000,
        marks_from: 0,
    };
    /// Nothing arrives.
    pub const BLACKOUT: Self = Self { lost: 100, acks_lost: 100, ..Self::GOOD };

    /// Random impairments.
    pub fn draw(rng: &mut Rng) -> Self {
        let none = Self::default();
        let (rare, many) = (1 + rng.below(4), 5 + rng.below(12));
        let slow = 20_000_000 + rng.below(130_000_000);
        match rng.below(16) {
            0 => none,
            1 => Self { lost: many, ..none },
            2 => Self { lost: rare, late: rare, max_delay: 4_000_000, ..none },
            3 => Self { late: many, max_delay: 30_000_000, ..none },
            4 => Self { late: 5 * many, lost: rare, max_delay: 900_000_000, ..none },
            5 => Self { marked: many, lost: rare, ..none },
            6 => Self { lost: many, acks_lost: 3 * many, ..none },
            7 => Self { lost: many, late: rare, mangled: 2 * many, acks_lost: rare, max_delay: 50_000_000, ..none },
            8 => Self { acks_late: many, late: many, max_delay: 150_000_000, ..none },
            9 => {
                let acks_late = 3 * many;
                Self { acks_late, lost: rare, late: rare, mangled: rare, max_delay: 40_000_000, ..none }
            }
            10 => Self { slow, ..none },
            11 => Self { slow, late: many, max_delay: 3_000_000, ..none },
            12 => Self::BLACKOUT,
            13 => Self { slow, lost: rare, ..Self::drawn_bottleneck(rng) },
            14 => Self { slow, marks_from: 1_000_000 + rng.below(20_000_000), ..Self::drawn_bottleneck(rng) },
            _ => Self::drawn_bottleneck(rng),
        }
    }

    fn drawn_bottleneck(rng: &mut Rng) -> Self {
        let rate = 1_000_000 * (1 + rng.below(30));
        Self { rate, queue: 5_000_000 + rng.below(200_000_000), ..Self::default() }
    }

    /// Packets that path and queue hold, if there is a bottleneck.
    pub fn capacity(&self) -> u64 {
        let round_trip = 2 * HALF_RTT.as_nanos() as u64 + self.slow;
        (u128::from(self.rate) * u128::from(round_trip + self.queue) / (8 * PACKET * NANOS)) as u64
    }
}

/// A packet in transit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transit {
    pub at: Instant,
    pub to_receiver: bool,
    pub header: Header,
    pub ecn: Ecn,
}

/// A path and its packets in transit.
#[derive(Debug)]
pub(crate) struct Path {
    pub impairments: Impairments,
    transits: Vec<Transit>,
    /// End of the last transmission at the bottleneck.
    idle_at: Instant,
}

impl Path {
    pub fn new(impairments: Impairments) -> Self {
        Self { impairments, transits: Vec::new(), idle_at: Instant::ZERO }
    }

    /// The sender transmits a packet in its event number `n`; `jitter` is added to its delay.
    pub fn send(&mut self, now: Instant, (header, ecn): (Header, Ecn), (n, jitter): (u64, u64), rng: &mut Rng) {
        let path = self.impairments;
        let mut happens = |share: u64| rng.below(100) < share;
        let (is_lost, is_late) = (happens(path.lost), happens(path.late));
        let mut is_marked = ecn != Ecn::NotEct && happens(path.marked);
        let mut departs = now;
        let bytes = u64::from(header.len) + HEADERS;
        // Without a bottleneck the rate is 0.
        if let Some(service) = (bytes * 8_000_000_000).checked_div(path.rate) {
            let begins = self.idle_at.max(now);
            let wait = (begins - now).as_nanos() as u64;
            if wait > path.queue {
                return;
            }
            is_marked |= ecn != Ecn::NotEct && path.marks_from > 0 && wait > path.marks_from;
            self.idle_at = begins + Duration::from_nanos(service as i64);
            departs = self.idle_at;
        }
        if !is_lost {
            let late = jitter + path.slow + if is_late { path.max_delay * (1 + n % 16) / 16 } else { 0 };
            let ecn = if is_marked { Ecn::Ce } else { ecn };
            self.push(departs + HALF_RTT + Duration::from_nanos(late as i64), true, (header, ecn));
        }
    }

    /// The receiver transmits a packet, which is not lost.
    pub fn answer(&mut self, now: Instant, packet: (Header, Ecn), rng: &mut Rng) {
        let path = self.impairments;
        let late = if rng.below(100) < path.acks_late { rng.below(path.max_delay) } else { 0 };
        self.push(now + HALF_RTT + Duration::from_nanos(late as i64), false, packet);
    }

    /// The same packet arrives at the sender once more.
    pub fn duplicate(&mut self, transit: Transit) {
        self.push(transit.at + Duration::from_nanos(1), false, (transit.header, transit.ecn));
    }

    /// Time of the next arrival.
    pub fn arrival(&self) -> Instant {
        self.transits.first().map_or(Instant::NEVER, |packet| packet.at)
    }

    /// Removes the packet that arrives next.
    pub fn take(&mut self) -> Transit {
        self.transits.remove(0)
    }

    /// Inserts a packet in the order of arrival, after others that arrive at the same time.
    fn push(&mut self, at: Instant, to_receiver: bool, (header, ecn): (Header, Ecn)) {
        let index = self.transits.partition_point(|packet| packet.at <= at);
        self.transits.insert(index, Transit { at, to_receiver, header, ecn });
    }
}

/// Delay of an empty path in one direction.
const HALF_RTT: Duration = Duration::from_millis(10);
/// Bytes of headers per packet, and of a full packet.
const HEADERS: u64 = 52;
const PACKET: u128 = 1_500;
const NANOS: u128 = 1_000_000_000;
