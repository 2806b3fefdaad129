//! CAKE, Common Applications Kept Enhanced: a shaper, tins by DSCP, flow queueing with host fairness, and
//! [COBALT](crate::cobalt) in every flow's queue (T. Høiland-Jørgensen, D. Täht, J. Morton, LANMAN 2018; Linux,
//! `sch_cake.c` of 6.1 and 6.12, whose order and names this follows).
//!
//! With a `bandwidth` it returns the time of the next transmission; without one it works like any other queue
//! discipline. All keywords of tc are accepted: `cake bandwidth 50mbit diffserv4 dual-srchost nat docsis`. `nat` has no
//! effect, because a packet here carries the hosts at its ends.
//!
//! Differs: flows and hosts are hashed by their numbers, and memory is counted in bytes of packets. Linux reports an
//! overflow to the sender at once (`NET_XMIT_CN`); here the sender detects the loss.
//!
//! # When to use
//!
//! On a home link, on either side of the modem: with `bandwidth` slightly below the link's rate, its `overhead`, and
//! `nat dual-srchost` upstream, `ingress dual-dsthost` downstream. On a link whose rate is known to the queue,
//! [FQ-CoDel](crate::fq_codel) is cheaper and nearly as good. If the rates downstream and upstream differ by more than
//! about 15 to 1, add `ack-filter` upstream.

mod ack_filter;
mod autorate;
mod config;
mod dequeue;
mod enqueue;
mod flow;
mod hash;
mod heap;
mod overhead;
mod shaper;
mod statistics;
pub(crate) mod tc_args;
#[cfg(test)]
mod tests;
mod tin;
mod tins;

pub use config::{AckFilter, CellFraming, Config, DiffservMode, Hash, Isolation, Version};

use crate::aqm::DropReason;
use crate::backlog::Backlog;
use crate::error::ConfigError;
use crate::flow::packet_list::Slab;
use crate::limits::Limits;
use crate::packet::Meta;
use crate::params::WordsParser;
use crate::qdisc::{DequeueResult, EnqueueResult, Host, Qdisc, Sink, Stats, SubqueueInfo};
use crate::queue_layout::QueueLayout;
use crate::reservation::{Reservation, ReservationError};
use crate::rng::mix;
use crate::time::{Duration, Instant};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use autorate::Autorate;
use core::any::Any;
use core::fmt;
use flow::Set;
use hash::CAKE_QUEUES;
use heap::Heap;
use overhead::Overhead;
use shaper::Shaper;
use tin::Tin;

/// CAKE queue discipline.
pub struct Cake<P> {
    config: Config,
    limits: Limits,
    host: Host,
    /// Shaped rate in bytes per second; 0 for none.
    rate: u64,
    framing: Overhead,
    /// Tin of each DSCP.
    table: [u8; 64],
    tins: Vec<Tin>,
    /// Current tin.
    current: usize,
    shaper: Shaper,
    autorate: Option<Autorate>,
    heap: Heap,
    packets: Slab<P>,
    /// Seed of the hash of flows and hosts.
    seed: u64,
    total: Backlog,
    memory_limit: u64,
    stats: Stats,
    xstats: XStats,
    /// Tin and flow slot that were served last.
    last_served: (usize, usize),
}

/// Statistics of the whole queue.
#[derive(Clone, Copy, Debug)]
struct XStats {
    overlimits: u64,
    max_memory_used: u64,
    /// Minimum and maximum packet size, from the IP header on and on the wire.
    network: (u32, u32),
    adjusted: (u32, u32),
}

impl<P> Cake<P> {
    /// Empty queue.
    pub fn new(config: &Config, limits: Limits, host: Host) -> Self {
        let rate = crate::cobalt::rate::bytes_per_second(config.bandwidth);
        let link = host.link;
        let tins: Vec<_> = config.tins.shares(rate).into_iter().map(|share| Tin::new(config, share, link)).collect();
        let autorate = || Autorate::new(rate, config.version == Version::Linux73, link.boot());
        let waiting = limits.packets.unwrap_or(MAX_PREALLOCATED).min(MAX_PREALLOCATED) as usize;
        Self {
            limits,
            rate,
            framing: config.framing(),
            table: config.tins.table(),
            shaper: Shaper::new(tins[0].rate),
            tins,
            current: 0,
            autorate: config.autorate_ingress.then(autorate),
            heap: Heap::new(),
            // One more, for the packet that is queued before another one is dropped.
            packets: Slab::with_capacity(waiting + 1),
            // A clone of the stream, so that draws do not depend on the hash.
            seed: mix(host.rng.clone().next_u64()),
            host,
            total: Backlog::default(),
            memory_limit: config.memory_limit(rate, link.mtu),
            stats: Stats::default(),
            xstats: XStats { overlimits: 0, max_memory_used: 0, network: (u32::MAX, 0), adjusted: (u32::MAX, 0) },
            last_served: (0, 0),
            config: config.clone(),
        }
    }

    /// Changes the rate and everything derived from it (`cake_reconfigure`).
    fn reconfigure(&mut self, rate: u64) {
        self.rate = rate;
        let mtu = self.host.link.mtu;
        let Self { config, tins, .. } = self;
        config.tins.each_share(rate, |i, share| tins[i].reconfigure(config, share, mtu));
        self.shaper.rate = self.tins[0].rate;
        self.memory_limit = self.config.memory_limit(rate, mtu);
    }

    /// Takes over all of `old` except its parameters (`cake_change`, then `cake_reconfigure`). As in Linux, a backlog
    /// beyond a smaller memory limit is dropped at the next arrival. Differs: Linux drops the packets of removed tins;
    /// here the number of tins, the flow isolation and the hash cannot change.
    fn inherit_from(&mut self, old: &mut Self) -> Result<(), ConfigError> {
        let (new, before) = (&self.config, &old.config);
        let differs = [
            ("tins", new.tins != before.tins),
            ("isolation", new.isolation != before.isolation),
            ("hash", new.hash != before.hash),
            ("version", new.version != before.version),
            ("autorate_ingress", new.autorate_ingress != before.autorate_ingress),
        ];
        if let Some((name, _)) = differs.into_iter().find(|&(_, differs)| differs) {
            return Err(ConfigError::ImmutableParam(name));
        }
        core::mem::swap(self, old);
        old.packets.take_over(&mut self.packets);
        core::mem::swap(&mut self.packets, &mut old.packets);
        // `old` is now the queue that was created with the new parameters.
        let rate = old.rate;
        (self.config, self.limits, self.framing) = (old.config.clone(), old.limits, old.framing);
        self.host.link = old.host.link;
        self.reconfigure(rate);
        Ok(())
    }

    /// Sets the shaper to 1/`n` of the rate and each tin to its share of it; COBALT's times are unchanged
    /// (`cake_configure_rates` with `rate_adjust`).
    pub(crate) fn divide_rate(&mut self, n: u32) {
        let Self { config, tins, rate, .. } = self;
        config.tins.each_share(*rate / u64::from(n), |i, share| {
            tins[i].rate = tins[i].rate.at(share.threshold);
            tins[i].share = share;
        });
        self.shaper.rate = self.tins[0].rate;
    }

    /// Target of the first tin with a decaying flow: Linux's timer polls the queue again this long after the last
    /// packet.
    pub(crate) fn decay_target(&self) -> Option<Duration> {
        let tin = self.tins.iter().find(|tin| tin.decaying > 0)?;
        Some(Duration::from_nanos(tin.params.target))
    }

    /// Accounts for a packet removed from tin `t`.
    #[inline]
    fn removed(&mut self, t: usize, meta: &Meta) {
        self.tins[t].backlog -= meta.len as u64;
        self.total.packets -= 1;
        self.total.bytes -= meta.len as u64;
    }

    /// Charges a packet to the shaper. Returns its size on the wire.
    #[inline]
    fn charge(&mut self, t: usize, meta: &Meta, now: Instant, dropped: bool) -> u32 {
        let bytes = self.framing.of_packet(meta.len, meta.segments);
        self.shaper.charge(&mut self.tins[t], bytes, now, dropped);
        bytes
    }

    fn discard(&mut self, meta: Meta, packet: P, reason: DropReason, sink: &mut dyn Sink<P>) {
        self.stats.dropped[reason as usize].add(meta.len);
        sink.dropped(meta, packet, reason);
    }
}

impl<P: 'static> Qdisc<P> for Cake<P> {
    fn reserve(&mut self, memory: &mut Reservation) -> Result<(), ReservationError> {
        let packets = memory.bound(&mut self.limits, self.host.link);
        // One more, for the packet that is queued before another one is dropped.
        self.packets.reserve(packets.saturating_add(1), memory)
    }

    fn inherit(&mut self, old: &mut dyn Any, _: Instant, _: &mut dyn Sink<P>) -> Result<(), ConfigError> {
        self.inherit_from(old.downcast_mut().ok_or(ConfigError::Immutable)?)
    }

    fn as_any(&mut self) -> Option<&mut dyn Any> {
        Some(self)
    }

    fn enqueue(&mut self, now: Instant, meta: Meta, packet: P, sink: &mut dyn Sink<P>) -> EnqueueResult {
        self.accept(now, meta, packet, sink)
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> DequeueResult<P> {
        self.dequeue_packet(now, sink)
    }

    fn splits_gso(&self) -> bool {
        self.config.split_gso
    }

    fn needs_tcp_headers(&self) -> bool {
        self.config.ack_filter != AckFilter::Off
    }

    fn settle(&mut self, _: Instant) {}

    fn backlog(&self) -> Backlog {
        self.total
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn statistics(&self) -> Option<String> {
        Some(self.tc_statistics().to_string())
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let sum = |count: fn(&Tin) -> u32| self.tins.iter().map(count).sum::<u32>() as f64;
        see("sparse_flows", sum(|tin| tin.sparse));
        see("bulk_flows", sum(|tin| tin.bulk));
        see("decaying_flows", sum(|tin| tin.decaying));
        see("unresponsive_flows", sum(|tin| tin.unresponsive));
        see("capacity", self.rate as f64);
        let (tin, place) = self.last_served;
        let flow = &self.tins[tin].flows[place];
        see("deficit", flow.deficit as f64);
        flow.state.observe(see);
    }

    fn queues(&self) -> Vec<String> {
        let names = self.config.tins.names();
        // A single tin is the whole queue.
        names.iter().filter(|_| names.len() > 1).map(|&name| name.into()).collect()
    }

    fn queue_of(&self, meta: &Meta) -> usize {
        self.tin_of(meta)
    }

    fn subqueues(&self, see: &mut dyn FnMut(SubqueueInfo<'_>)) {
        for (t, tin) in self.tins.iter().enumerate() {
            let busy = tin.flows.iter().enumerate().filter(|(_, flow)| flow.set != Set::None);
            for (place, flow) in busy {
                see(SubqueueInfo {
                    kind: "flow",
                    number: (t * CAKE_QUEUES + place) as u32,
                    list: flow.set.name(),
                    backlog: flow.queue.backlog(),
                    deficit: Some(flow.deficit.into()),
                    head: flow.queue.head().map(|head| *self.packets.meta(head)),
                    observe: &|see| flow.state.observe(see),
                });
            }
        }
    }
}

impl<P> fmt::Debug for Cake<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cake")
            .field("config", &self.config)
            .field("total", &self.total)
            .field("stats", &self.stats)
            .finish_non_exhaustive()
    }
}

pub(crate) const QUEUES: QueueLayout = QueueLayout::PerFlowAndClass;
pub(crate) const WORDS: Option<WordsParser> = Some(tc_args::read);
/// Bytes of state per flow.
pub(crate) const STATE_BYTES: usize = size_of::<flow::Flow>() + size_of::<u32>();
const MAX_PREALLOCATED: u32 = 1024;
