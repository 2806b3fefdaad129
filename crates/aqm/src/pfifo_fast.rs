//! `pfifo_fast`: three bands in strict priority order, each a tail-drop queue; Linux's default discipline of a device
//! unless `net.core.default_qdisc` is set (`sch_generic.c`, since 4.16).
//!
//! The band follows from the packet's priority, which follows from its DSCP unless the sender sets one: the former "low
//! delay" goes first, the former "throughput" last, everything else between, so EF (46) and best effort share the
//! middle band.
//!
//! # When to use
//!
//! As the queue of a host or router with default settings. For configurable bands, or bands with child disciplines, use
//! [prio](crate::prio).

use crate::aqm::DropReason;
use crate::backlog::Backlog;
use crate::class::Priomap;
use crate::config;
use crate::limits::Limits;
use crate::link::Link;
use crate::packet::Meta;
use crate::params::Value;
use crate::params::WordsParser;
use crate::qdisc::{DequeueResult, EnqueueResult, Host, Qdisc, Sink, Stats};
use crate::queue_layout::QueueLayout;
use crate::reservation::{Reservation, ReservationError};
use crate::ring::Ring;
use crate::time::Instant;
use alloc::string::String;
use alloc::vec::Vec;

config! {
    /// The configuration.
    pub struct Config {
        /// Maximum queued packets in each band: the device's queue length in Linux.
        limit: u64 = 1000, in Value::Count(1) => Value::Count(1_000_000_000);
    }
    profiles { "linux", "Linux since 4.16: each band has its own limit" => |_| {}; }
    validate |_| Ok(())
}

/// The queue discipline.
#[derive(Debug)]
pub struct PfifoFast<P> {
    limit: u64,
    limits: Limits,
    link: Link,
    bands: [Ring<P>; 3],
    total: Backlog,
    stats: Stats,
}

impl<P> PfifoFast<P> {
    /// Creates empty bands.
    pub fn new(config: &Config, limits: Limits, host: Host) -> Self {
        let most = limits.packets.map_or(config.limit, |most| config.limit.min(most as u64));
        let bands = [(); 3].map(|()| Ring::with_capacity(most.min(MAX_PREALLOCATED) as usize));
        let (total, stats) = Default::default();
        Self { limit: config.limit, limits, link: host.link, bands, total, stats }
    }
}

impl<P> Qdisc<P> for PfifoFast<P> {
    fn reserve(&mut self, memory: &mut Reservation) -> Result<(), ReservationError> {
        let packets = memory.bound(&mut self.limits, self.link);
        let most = usize::try_from(self.limit).map_or(packets, |limit| limit.min(packets));
        self.bands.iter_mut().try_for_each(|band| band.reserve(most, memory))
    }

    fn enqueue(&mut self, now: Instant, mut meta: Meta, packet: P, sink: &mut dyn Sink<P>) -> EnqueueResult {
        meta.enqueued = now;
        self.stats.arrived.add(meta.len);
        let band = &mut self.bands[band_of(&meta)];
        if band.len() as u64 >= self.limit || !self.limits.admit(self.total, meta.len, self.link) {
            self.stats.dropped[DropReason::Limit as usize].add(meta.len);
            sink.dropped(meta, packet, DropReason::Limit);
            return EnqueueResult::Dropped(DropReason::Limit);
        }
        self.total.packets += 1;
        self.total.bytes += meta.len as u64;
        band.push(meta, packet);
        EnqueueResult::Queued
    }

    fn dequeue(&mut self, _: Instant, _: &mut dyn Sink<P>) -> DequeueResult<P> {
        let Some(queued) = self.bands.iter_mut().find_map(Ring::pop) else { return DequeueResult::Empty };
        self.total.packets -= 1;
        self.total.bytes -= queued.meta.len as u64;
        self.stats.departed.add(queued.meta.len);
        DequeueResult::Packet(queued.meta, queued.packet)
    }

    fn settle(&mut self, _: Instant) {}

    fn backlog(&self) -> Backlog {
        self.total
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn queues(&self) -> Vec<String> {
        ["band 1", "band 2", "band 3"].map(String::from).into()
    }

    fn queue_of(&self, meta: &Meta) -> usize {
        band_of(meta)
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        for (name, band) in ["backlog_1", "backlog_2", "backlog_3"].into_iter().zip(&self.bands) {
            see(name, band.len() as f64);
        }
    }
}

/// Band of a packet; of a class or a priority the lower four bits of its number count.
fn band_of(meta: &Meta) -> usize {
    Priomap::DEFAULT.band(meta.priority().minor())
}

pub(crate) const QUEUES: QueueLayout = QueueLayout::PerFlowAndClass;
pub(crate) const WORDS: Option<WordsParser> = None;
pub(crate) const STATE_BYTES: usize = size_of::<PfifoFast<u32>>();
const MAX_PREALLOCATED: u64 = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::ClassId;
    use crate::{Rate, Rng};
    use alloc::vec::Vec;

    fn queue(config: Config, limits: Limits) -> PfifoFast<u32> {
        let link = Link::new(Rate::from_bps(10_000_000), 1514);
        PfifoFast::new(&config, limits, Host { link, rng: Rng::from_state(1) })
    }

    #[test]
    fn bands_are_linuxs_and_go_in_order() {
        let mut queue = queue(Config::default(), Limits::default());
        // (DSCP, class): AF41 and 2, next to LE, are "throughput"; EF and CS6 are neither; 4 is "low delay";
        // SO_PRIORITY 6.
        let none = ClassId::NONE;
        let cases = [(34, none), (46, none), (48, none), (4, none), (2, none), (0, none), (34, ClassId::new(0, 6))];
        for (id, (dscp, class)) in cases.into_iter().enumerate() {
            let meta = Meta { dscp, class, ..Meta::new(100, 0) };
            assert_eq!(queue.enqueue(Instant::ZERO, meta, id as u32, &mut |_, _, _| {}), EnqueueResult::Queued);
        }
        let order: Vec<_> = core::iter::from_fn(|| match queue.dequeue(Instant::ZERO, &mut |_, _, _| {}) {
            DequeueResult::Packet(_, id) => Some(id),
            _ => None,
        })
        .collect();
        assert_eq!(order, [3, 6, 1, 2, 5, 0, 4]);
    }

    #[test]
    fn each_band_has_the_limit_and_the_links_holds_for_all() {
        for (limits, taken) in [(Limits::default(), [2, 2]), (Limits::packets(3), [2, 1])] {
            let mut queue = queue(Config { limit: 2 }, limits);
            let got = [0, 34].map(|dscp| {
                let offer =
                    |id| queue.enqueue(Instant::ZERO, Meta { dscp, ..Meta::new(100, 0) }, id, &mut |_, _, _| {});
                (0..3).map(offer).filter(|fate| *fate == EnqueueResult::Queued).count()
            });
            assert_eq!(got, taken);
        }
    }
}
