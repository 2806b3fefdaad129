//! The access point's queues, one per station, as one qdisc. The driver selects the station, because with aggregates it
//! also holds frames to be retried; in reports the queues are one link.

use crate::link::Discipline;
use crate::packet::Handle;
use sojourn_aqm::qdisc::Count;
use sojourn_aqm::{Backlog, DequeueResult, DropReason, EnqueueResult, Instant, Meta, Qdisc, Sink, Stats, TcpView};

/// The queues of all stations as one qdisc.
pub struct StationQueues {
    queues: Vec<Box<Discipline>>,
    /// Index of the first station's host; the others follow.
    first_host: u32,
    /// The station that the driver dequeues for.
    pub current_station: usize,
    stats: Stats,
}

impl StationQueues {
    /// One empty queue per station.
    pub fn new(queues: Vec<Box<Discipline>>, first_host: u32) -> Self {
        Self { queues, first_host, current_station: 0, stats: Stats::default() }
    }
}

impl Qdisc<Handle> for StationQueues {
    fn enqueue(&mut self, now: Instant, meta: Meta, packet: Handle, sink: &mut dyn Sink<Handle>) -> EnqueueResult {
        let (_, to) = meta.hosts;
        let station = (to - self.first_host) as usize;
        count(&mut self.stats.arrived, meta.len);
        let mut sink = CountingSink { stats: &mut self.stats, sink };
        let enqueued = self.queues[station].enqueue(now, meta, packet, &mut sink);
        if enqueued == EnqueueResult::Marked {
            count(&mut self.stats.marked, meta.len);
        }
        enqueued
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<Handle>) -> DequeueResult<Handle> {
        let station = self.current_station;
        if self.queues[station].backlog().packets == 0 {
            return DequeueResult::Empty;
        }
        let mut sink = CountingSink { stats: &mut self.stats, sink };
        let dequeued = self.queues[station].dequeue(now, &mut sink);
        if let DequeueResult::Packet(meta, _) = &dequeued {
            count(&mut self.stats.departed, meta.len);
        }
        dequeued
    }

    fn settle(&mut self, now: Instant) {
        self.queues.iter_mut().for_each(|queue| queue.settle(now));
    }

    fn backlog(&self) -> Backlog {
        self.queues.iter().map(|queue| queue.backlog()).fold(Backlog::default(), |sum, backlog| Backlog {
            packets: sum.packets + backlog.packets,
            bytes: sum.bytes + backlog.bytes,
        })
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The state of the queue that was last dequeued from.
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.queues[self.current_station].observe(see);
    }
}

fn count(count: &mut Count, len: u32) {
    count.packets += 1;
    count.bytes += u64::from(len);
}

/// Counts drops and passes them on to `sink`.
struct CountingSink<'a> {
    stats: &'a mut Stats,
    sink: &'a mut dyn Sink<Handle>,
}

impl Sink<Handle> for CountingSink<'_> {
    fn dropped(&mut self, meta: Meta, packet: Handle, reason: DropReason) {
        count(&mut self.stats.dropped[reason as usize], meta.len);
        self.sink.dropped(meta, packet, reason);
    }

    fn tcp_header(&self, packet: &Handle) -> Option<TcpView> {
        self.sink.tcp_header(packet)
    }
}
