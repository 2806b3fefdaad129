//! A queue for each station at the access point, which take turns: a packet each, or by the airtime that they use.
//!
//! Source: T. Høiland-Jørgensen et al., "Ending the Anomaly" (USENIX ATC 2017), algorithm 3: deficit round robin over
//! the stations with lists of new and old ones as in FQ-CoDel, deficits in airtime. A station is charged what its
//! frames have taken, retries included, in both directions; since that is known only when they have been sent, a
//! deficit may be overdrawn by what the driver holds.

use crate::packet::Handle;
use sojourn_aqm::{Backlog, Dequeued, DropReason, Duration, Enqueued, Instant, Meta, Qdisc, Sink, Stats};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// The queues of all stations as one discipline.
pub struct StationQueues {
    queues: Vec<Box<dyn Qdisc<Handle> + Send>>,
    /// Number of the first station's host; the others follow.
    first_host: u32,
    turns: Turns,
    stats: Stats,
}

/// Airtime of each station in nanoseconds that was not yet charged. The channel adds, the queues take; a run is one
/// thread, which owns both.
pub type Airtimes = Arc<[AtomicI64]>;

impl StationQueues {
    /// Empty queues, one for each station; their turns follow `airtimes`, or without it each has one packet.
    pub fn new(queues: Vec<Box<dyn Qdisc<Handle> + Send>>, first_host: u32, airtimes: Option<Airtimes>) -> Self {
        let turns = Turns::new(queues.len(), airtimes);
        Self { queues, first_host, turns, stats: Stats::default() }
    }
}

impl Qdisc<Handle> for StationQueues {
    fn enqueue(&mut self, now: Instant, meta: Meta, packet: Handle, sink: &mut dyn Sink<Handle>) -> Enqueued {
        let (_, to) = meta.hosts;
        let station = (to - self.first_host) as usize;
        count(&mut self.stats.arrived, meta.len);
        let enqueued = self.queues[station].enqueue(now, meta, packet, &mut counting(&mut self.stats, sink));
        if enqueued == Enqueued::Marked {
            count(&mut self.stats.marked, meta.len);
        }
        self.turns.has_packet(station);
        enqueued
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<Handle>) -> Dequeued<Handle> {
        while let Some(station) = self.turns.next(|station| self.queues[station].backlog().packets > 0) {
            let dequeued = self.queues[station].dequeue(now, &mut counting(&mut self.stats, sink));
            match dequeued {
                // It has dropped all that it had.
                Dequeued::Empty => {}
                Dequeued::Packet(meta, packet) => {
                    self.turns.served(station);
                    count(&mut self.stats.departed, meta.len);
                    return Dequeued::Packet(meta, packet);
                }
                later => return later,
            }
        }
        Dequeued::Empty
    }

    fn settle(&mut self, now: Instant) {
        self.queues.iter_mut().for_each(|queue| queue.settle(now));
    }

    fn backlog(&self) -> Backlog {
        self.queues.iter().map(|queue| queue.backlog()).fold(Backlog::default(), |sum, one| Backlog {
            packets: sum.packets + one.packets,
            bytes: sum.bytes + one.bytes,
        })
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The state of the queue whose turn it was last.
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.queues[self.turns.last].observe(see);
    }
}

fn count(count: &mut sojourn_aqm::qdisc::Count, len: u32) {
    count.packets += 1;
    count.bytes += u64::from(len);
}

/// A sink that counts what passes through to `sink`.
fn counting<'a>(stats: &'a mut Stats, sink: &'a mut dyn Sink<Handle>) -> impl FnMut(Meta, Handle, DropReason) + 'a {
    move |meta, packet, reason| {
        count(&mut stats.dropped[reason as usize], meta.len);
        sink.dropped(meta, packet, reason);
    }
}

/// Whose turn it is.
struct Turns {
    /// Stations that have had nothing to send, and those that have had their turn.
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    listed: Vec<bool>,
    /// Nanoseconds that a station may still use.
    deficits: Vec<i64>,
    airtimes: Option<Airtimes>,
    last: usize,
}

impl Turns {
    fn new(stations: usize, airtimes: Option<Airtimes>) -> Self {
        Self {
            new: VecDeque::with_capacity(stations),
            old: VecDeque::with_capacity(stations),
            listed: vec![false; stations],
            deficits: vec![QUANTUM.as_nanos(); stations],
            airtimes,
            last: 0,
        }
    }

    fn has_packet(&mut self, station: usize) {
        if !self.listed[station] {
            self.listed[station] = true;
            self.new.push_back(station);
        }
    }

    /// The station that is served now, if one `waits`.
    fn next(&mut self, waits: impl Fn(usize) -> bool) -> Option<usize> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let &station = list.front()?;
            let airtime = self.airtimes.as_ref().map(|used| used[station].swap(0, Ordering::Relaxed));
            self.deficits[station] -= airtime.unwrap_or(0);
            if airtime.is_some() && self.deficits[station] <= 0 {
                self.deficits[station] += QUANTUM.as_nanos();
                list.pop_front();
                self.old.push_back(station);
            } else if !waits(station) {
                list.pop_front();
                // As in FQ-CoDel: a new one goes through the old ones once, so that it cannot always be first.
                self.listed[station] = is_new;
                if is_new {
                    self.old.push_back(station);
                }
            } else {
                self.last = station;
                return Some(station);
            }
        }
    }

    /// The station that was served is behind all others if a packet is a turn.
    fn served(&mut self, station: usize) {
        if self.airtimes.is_none() {
            let list = if self.new.front() == Some(&station) { &mut self.new } else { &mut self.old };
            list.pop_front();
            self.old.push_back(station);
        }
    }
}

/// mac80211's `airtime_weight` of 256 µs, rounded as in the paper's implementation: 300 µs.
const QUANTUM: Duration = Duration::from_micros(300);

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(stations: usize, by_airtime: bool) -> (Turns, Airtimes) {
        let airtimes: Airtimes = (0..stations).map(|_| AtomicI64::new(0)).collect();
        let mut turns = Turns::new(stations, by_airtime.then(|| airtimes.clone()));
        (0..stations).for_each(|station| turns.has_packet(station));
        (turns, airtimes)
    }

    #[test]
    fn a_packet_each() {
        let (mut turns, _) = turns(3, false);
        let order: Vec<usize> = (0..7)
            .map(|_| {
                let station = turns.next(|_| true).unwrap();
                turns.served(station);
                station
            })
            .collect();
        assert_eq!(order, [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(turns.next(|_| false), None);
        assert_eq!(turns.listed, [false; 3], "all have left the lists");
        turns.has_packet(1);
        assert_eq!(turns.next(|_| true), Some(1));
    }

    #[test]
    fn shares_of_airtime_are_equal_whatever_a_packet_takes() {
        let (mut turns, airtimes) = turns(3, true);
        let costs = [250_000, 250_000, 2_000_000];
        let (mut used, mut served) = ([0; 3], [0; 3]);
        for _ in 0..10_000 {
            let station = turns.next(|_| true).unwrap();
            turns.served(station);
            airtimes[station].fetch_add(costs[station], Ordering::Relaxed);
            used[station] += costs[station];
            served[station] += 1;
        }
        let total: i64 = used.iter().sum();
        assert!(used.iter().all(|&one| (one * 3 - total).abs() < 3 * 3_000_000), "{used:?}");
        assert!(served[0] > 7 * served[2], "{served:?}");
    }

    #[test]
    fn who_has_used_too_much_waits_until_the_others_have_had_as_much() {
        let (mut turns, airtimes) = turns(2, true);
        assert_eq!(turns.next(|_| true), Some(0));
        airtimes[0].store(800_000, Ordering::Relaxed);
        assert_eq!((turns.next(|_| true), turns.deficits[0]), (Some(1), -200_000));
        airtimes[1].store(100_000, Ordering::Relaxed);
        assert_eq!(turns.next(|_| true), Some(1), "200 us are left");
        airtimes[1].store(300_000, Ordering::Relaxed);
        assert_eq!(turns.next(|_| true), Some(1), "each has got another 300 us, the second one is at the head");
        assert_eq!(turns.deficits, [100_000, 200_000]);
        airtimes[1].store(250_000, Ordering::Relaxed);
        assert_eq!((turns.next(|_| true), turns.deficits), (Some(0), vec![100_000, 250_000]));
    }
}
