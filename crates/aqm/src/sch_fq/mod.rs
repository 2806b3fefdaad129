//! `fq`, Linux's pacing scheduler: round robin over flows, each sending no earlier than its pacing rate or its packets'
//! departure times allow (E. Dumazet; `sch_fq.c`, whose order and names this follows).
//!
//! In configurations its name is `fq`, as in tc: `fq maxrate 20mbit`. `fq(NAME)`, with brackets, is something else:
//! [flow queueing](crate::fq) with a manager per flow. In results and tables this one is called `sch_fq`.
//!
//! A flow is paced by `maxrate`, or by the departure times that its sender gives its packets, if the host provides
//! them. New flows go first, then all flows share by `quantum`. Three bands by priority have shares by `weights`. While
//! all flows are idle or throttled, packets without a later departure time take a fast path.
//!
//! Differs: with `hash socket` every flow number is a socket. Idle flows are never deleted; the kernel deletes one
//! after 3 s if the search for another flow passes it in its tree, one of `buckets` (1024). A jiffy is 1 ms, and the
//! timer has no slack. There is no offloading to a NIC.
//!
//! # When to use
//!
//! On a sending host, as on most servers: it paces the host's sockets. It does not manage the queue of a bottleneck;
//! use [FQ-CoDel](crate::fq_codel) there.

mod config;
mod flow;
#[cfg(test)]
mod tests;

pub use config::{Config, Hash, Version};

use crate::aqm::DropReason;
use crate::backlog::Backlog;
use crate::limits::Limits;
use crate::packet::Meta;
use crate::params::WordsParser;
use crate::qdisc::{DequeueResult, EnqueueResult, Host, Qdisc, Sink, Stats};
use crate::queue_layout::QueueLayout;
use crate::rate::Rate;
use crate::rng::mix;
use crate::single::mark;
use crate::time::{Duration, Instant};
use core::fmt;
use flow::{BANDS, FlowListId, Flows, INTERNAL, Refill, TimedPacket};

/// fq queue discipline.
pub struct SchFq<P> {
    config: Config,
    limits: Limits,
    host: Host,
    /// Seed of the flow hash.
    seed: u64,
    quantum: i64,
    initial_quantum: i64,
    /// Bytes per second; `None` if unlimited.
    maxrate: Option<u64>,
    /// In jiffies.
    refill_delay: u64,
    flows: Flows<P>,
    /// Current band, and the remaining credit of each band.
    band: usize,
    credit: [i64; BANDS],
    total: Backlog,
    stats: Stats,
    xstats: XStats,
}

/// Statistics of the whole queue.
#[derive(Clone, Copy, Debug, Default)]
struct XStats {
    throttled: u64,
    flows_plimit: u64,
    horizon_drops: u64,
    horizon_caps: u64,
    fastpath: u64,
    pkts_too_long: u64,
}

impl<P> SchFq<P> {
    /// Empty queue.
    pub fn new(config: &Config, limits: Limits, host: Host) -> Self {
        let mtu = host.link.mtu as i64;
        let or = |given: u64, packets: i64| if given > 0 { given as i64 } else { packets * mtu };
        let waiting = limits.packets.map_or(config.limit, |packets| config.limit.min(packets as u64));
        Self {
            limits,
            seed: mix(host.rng.clone().next_u64()),
            quantum: or(config.quantum.0, 2),
            initial_quantum: or(config.initial_quantum.0, 10),
            maxrate: (config.maxrate > Rate::from_bps(0)).then_some(config.maxrate.as_bps() / 8),
            refill_delay: flow::in_jiffies(config.refill_delay),
            flows: Flows::new(waiting.min(MAX_PREALLOCATED) as usize),
            band: 0,
            credit: [0; BANDS],
            total: Backlog::default(),
            stats: Stats::default(),
            xstats: XStats::default(),
            host,
            config: config.clone(),
        }
    }

    /// Band of a packet, and whether it precedes all flows.
    fn band_of(&self, meta: &Meta) -> (usize, bool) {
        let priority = meta.priority().minor();
        match self.config.version {
            Version::Linux => (self.config.priomap.band(priority), false),
            Version::Linux61 => (0, priority & 15 == CONTROL),
        }
    }

    /// Whether a packet may take the fast path (`fq_fastpath_check`).
    fn can_bypass(&self, now: Instant, time_to_send: Instant) -> bool {
        if self.config.version == Version::Linux61 || self.maxrate.is_some() || time_to_send > now {
            return false;
        }
        let flows = &self.flows;
        self.total.packets == 0
            || flows.eligible() == 0
                && flows[INTERNAL].queue.packets < 8
                && flows.next_delayed().is_none_or(|at| at > now)
    }

    /// Flow of a packet (`fq_classify`).
    fn flow_of(&mut self, now: Instant, meta: &Meta) -> usize {
        let key = match self.config.hash {
            Hash::Socket => meta.flow,
            Hash::Orphan => (mix(meta.flow as u64 ^ self.seed) >> 32) as u32 & self.config.orphan_mask as u32,
        };
        self.flows.find(key, now, self.initial_quantum)
    }

    fn refuse(&mut self, meta: Meta, packet: P, sink: &mut dyn Sink<P>) -> EnqueueResult {
        self.stats.dropped[DropReason::Limit as usize].add(meta.len);
        sink.dropped(meta, packet, DropReason::Limit);
        EnqueueResult::Dropped(DropReason::Limit)
    }

    /// Sets the time of the next packet of flow `f`, which sends `len` bytes at `now` (`fq_dequeue`).
    fn pace(&mut self, f: usize, now: Instant, len: u32, has_time: bool) {
        if !self.config.pacing {
            return;
        }
        let mut bytes = len as u64;
        if !has_time {
            // Slow flows are paced per packet, fast ones once their quantum is used up.
            let low = self.config.low_rate_threshold.as_bps() / 8;
            if self.maxrate.is_some_and(|rate| rate <= low) {
                self.flows[f].credit = 0;
            } else {
                bytes = bytes.max(self.quantum as u64);
                if self.flows[f].credit > 0 {
                    return;
                }
            }
        }
        let Some(rate) = self.maxrate else { return };
        let mut wait = (bytes as u128 * 1_000_000_000 / rate as u128) as i64;
        if wait > SECOND {
            wait = SECOND;
            self.xstats.pkts_too_long += 1;
        }
        let flow = &mut self.flows[f];
        // A late dequeue shortens the next wait by the lateness, at most by half.
        if let Some(due) = flow.time_next_packet {
            wait -= (wait / 2).min((now - due).as_nanos().max(0));
        }
        flow.time_next_packet = Some(now + Duration::from_nanos(wait));
    }

    /// List whose first flow is served: of the band `self.band` if that has credit, otherwise of the next band with
    /// credit and flows; `None` if all are empty.
    fn choose(&mut self) -> Option<FlowListId> {
        let mut tried = 0;
        loop {
            if self.credit[self.band] > 0 {
                if let Some(list) = self.flows.first_list(self.band) {
                    return Some(list);
                }
            }
            if tried == self.bands() {
                return None;
            }
            // Repeat until the band has credit: its debt may exceed one quantum.
            loop {
                self.band = (self.band + 1) % self.bands();
                let quantum = [self.config.weight_1, self.config.weight_2, self.config.weight_3][self.band] as i64;
                self.credit[self.band] = (self.credit[self.band] + quantum).min(quantum);
                if self.credit[self.band] > 0 {
                    tried += 1;
                    break;
                }
                tried = 0;
            }
        }
    }

    fn bands(&self) -> usize {
        if self.config.version == Version::Linux { BANDS } else { 1 }
    }

    fn leave(&mut self, meta: Meta, packet: P) -> DequeueResult<P> {
        self.total.packets -= 1;
        self.total.bytes -= meta.len as u64;
        self.stats.departed.add(meta.len);
        DequeueResult::Packet(meta, packet)
    }
}

impl<P> Qdisc<P> for SchFq<P> {
    fn enqueue(&mut self, now: Instant, mut meta: Meta, packet: P, sink: &mut dyn Sink<P>) -> EnqueueResult {
        meta.enqueued = now;
        self.stats.arrived.add(meta.len);
        let (band, goes_first) = self.band_of(&meta);
        let waiting = if self.bands() > 1 { self.flows.waiting(band) } else { self.total.packets as u64 };
        if waiting >= self.config.limit || !self.limits.admit(self.total, meta.len, self.host.link) {
            return self.refuse(meta, packet, sink);
        }
        let mut departs = sink.departure_time(&packet);
        if departs.is_some_and(|at| at > now + self.config.horizon) {
            if self.config.horizon_drop {
                self.xstats.horizon_drops += 1;
                return self.refuse(meta, packet, sink);
            }
            self.xstats.horizon_caps += 1;
            departs = Some(now + self.config.horizon);
        }
        let time_to_send = departs.unwrap_or(now);
        let f = if goes_first || self.can_bypass(now, time_to_send) {
            self.xstats.fastpath += u64::from(!goes_first);
            INTERNAL
        } else {
            let f = self.flow_of(now, &meta);
            if self.flows[f].queue.packets as u64 >= self.config.flow_limit {
                self.xstats.flows_plimit += 1;
                return self.refuse(meta, packet, sink);
            }
            let refill = Refill { delay: self.refill_delay, quantum: self.quantum };
            self.flows.activate(f, band, now, refill);
            f
        };
        self.flows.queue(f, meta, TimedPacket { packet, time_to_send, has_time: departs.is_some(), band });
        self.total.packets += 1;
        self.total.bytes += meta.len as u64;
        EnqueueResult::Queued
    }

    fn dequeue(&mut self, now: Instant, _: &mut dyn Sink<P>) -> DequeueResult<P> {
        if self.total.packets == 0 {
            return DequeueResult::Empty;
        }
        if self.flows[INTERNAL].queue.head().is_some() {
            let (meta, timed) = self.flows.pop(INTERNAL);
            return self.leave(meta, timed.packet);
        }
        self.flows.release(now);
        loop {
            let Some(list) = self.choose() else {
                let at = self.flows.next_delayed().expect("a queued flow outside of the round is throttled");
                return DequeueResult::NotBefore(at);
            };
            let f = self.flows.first(list);
            if self.flows[f].credit <= 0 {
                self.flows[f].credit += self.quantum;
                self.flows.move_to_old(list);
                continue;
            }
            let Some(time_to_send) = self.flows.time_to_send(f) else {
                // A new flow makes one round among the old ones, so that it cannot become new again at once; in 6.1
                // only if there are old flows.
                if list.is_new && (self.bands() > 1 || self.flows.has_old(self.band)) {
                    self.flows.move_to_old(list)
                } else {
                    self.flows.detach(list, now)
                }
                continue;
            };
            let due = self.flows[f].time_next_packet.map_or(time_to_send, |next| next.max(time_to_send));
            if due > now {
                self.xstats.throttled += 1;
                self.flows.throttle(list, due);
                continue;
            }
            let (mut meta, timed) = self.flows.pop(f);
            if now - due > self.config.ce_threshold && meta.ecn.is_ect() {
                mark(&mut meta, &mut self.stats);
            }
            self.flows[f].credit -= meta.len as i64;
            self.credit[self.band] -= meta.len as i64;
            self.pace(f, now, meta.len, timed.has_time);
            return self.leave(meta, timed.packet);
        }
    }

    fn paces(&self) -> bool {
        self.config.pacing
    }

    fn settle(&mut self, _: Instant) {}

    fn backlog(&self) -> Backlog {
        self.total
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("flows", self.flows.len() as f64);
        see("inactive_flows", self.flows.inactive() as f64);
        see("throttled_flows", self.flows.throttled() as f64);
        see("throttled", self.xstats.throttled as f64);
        see("flows_plimit", self.xstats.flows_plimit as f64);
        see("horizon_drops", self.xstats.horizon_drops as f64);
        see("horizon_caps", self.xstats.horizon_caps as f64);
        see("fastpath", self.xstats.fastpath as f64);
        see("pkts_too_long", self.xstats.pkts_too_long as f64);
    }
}

impl<P> fmt::Debug for SchFq<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("SchFq");
        shown
            .field("config", &self.config)
            .field("total", &self.total)
            .field("seen", &self.xstats)
            .finish_non_exhaustive()
    }
}

pub(crate) const QUEUES: QueueLayout = QueueLayout::PerFlowAndClass;
pub(crate) const WORDS: Option<WordsParser> = Some(config::words);
pub(crate) const STATE_BYTES: usize = flow::FLOW_BYTES;
/// `TC_PRIO_CONTROL`.
const CONTROL: u16 = 7;
const SECOND: i64 = 1_000_000_000;
const MAX_PREALLOCATED: u64 = 1024;
