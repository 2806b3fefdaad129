//! `cake_mq`: one instance of [CAKE](crate::cake) per hardware queue of a network card; the instances share one rate
//! (Linux 7.3, `sch_cake.c`: `cake_dequeue` with `is_shared`).
//!
//! Every `sync_time`, an instance that is polled counts the other active instances: those with packets and those that
//! have sent one since its last count. It then takes its part of the rate, and its shaper and tins divide that. It is
//! polled when a packet arrives, when its shaper's timer expires, and once after its last packet, CoDel's target later,
//! if the state of a flow has to decay by then. No instance waits for another: until the next count the sum of the
//! rates can be too high, by at most `sync_time` times the rate.
//!
//! It models the card as well, because a simulated link has none: a flow's number selects its hardware queue, like a
//! hash in Linux, and the card polls the queues in round robin. Linux takes `queues` from the card; the other words are
//! CAKE's: `cake_mq queues 4 bandwidth 1gbit besteffort`. Each instance has CAKE's memory limit, and the host's own
//! limit as well.
//!
//! Refused as in Linux 7.3: `autorate-ingress` (`cake_config_change`), a class as its place and a card with a single
//! queue (`mq_init_common`), and settings or another discipline for one instance (`cake_change`, `cake_mq_graft`).
//!
//! Differs: the first packet of an instance makes it count; Linux compares with a clock that started at boot.
//!
//! # When to use
//!
//! For a router that shapes more than one CPU can, with a card of several hardware queues. Flows of different hardware
//! queues do not see each other: shares are fair within an instance only, and an instance with one flow gets as much as
//! one with a hundred. If one CPU suffices, use [CAKE](crate::cake).

use crate::backlog::Backlog;
use crate::cake::{self, Cake};
use crate::error::ConfigError;
use crate::limits::Limits;
use crate::packet::Meta;
use crate::params::Value;
use crate::params::WordsParser;
use crate::parent::children::Children;
use crate::parent::leaf::{Leaf, leaf_host};
use crate::qdisc::{Arrival, DequeueResult, EnqueueResult, Host, Qdisc, Sink, Stats, SubqueueInfo};
use crate::queue_layout::QueueLayout;
use crate::reservation::{Reservation, ReservationError};
use crate::rng::mix;
use crate::time::{Duration, Instant};
use crate::{config, joined_config};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

config! {
    /// Configuration shared by the instances.
    pub struct SharedConfig {
        /// Hardware queues of the card, one instance each.
        queues: u64 = 4, in Value::Count(2) => Value::Count(256);
        /// Interval at which an instance recounts the active ones and adapts its share of the rate; 200 us in Linux.
        sync_time: Duration = Duration::from_micros(200), in Value::Time(Duration::from_nanos(1)) => Value::Time(Duration::from_secs(1));
    }
    profiles { "plain", "Linux's" => |_| {}; }
    validate |_| Ok(())
}

joined_config! {
    /// `cake_mq`'s configuration; the default is tc's for a card with four hardware queues.
    pub struct Config {
        /// Configuration of the shared shaper.
        sharing: SharedConfig,
        /// Configuration of each instance.
        cake: cake::Config,
    }
    profiles { "linux", "Linux 7.3" => |_| {}; }
    validate |c| {
        if c.cake.autorate_ingress {
            return Err(ConfigError::from("cake_mq: autorate-ingress estimates the rate of one queue; leave it out, or use cake"));
        }
        Ok(())
    }
}

/// The queue discipline.
pub struct CakeMq<P> {
    family: Children<P, Cake<P>>,
    instances: Vec<Instance>,
    sync_time: Duration,
    /// Whether there is a rate to share.
    is_shaping: bool,
    hash: cake::Hash,
    /// Seed of the hash of flows to hardware queues.
    seed: u64,
    /// The hardware queue to poll first.
    next: usize,
    /// The instance that sent last.
    last_served: usize,
}

/// State of an instance that the instances share.
#[derive(Clone, Copy, Debug)]
struct Instance {
    last_checked_active: Option<Instant>,
    last_active: Option<Instant>,
    active_queues: u32,
    /// End of its shaper's wait, unless a packet arrives before (its watchdog).
    throttled_until: Instant,
    /// Time at which its watchdog polls it although it may be empty.
    watchdog_at: Option<Instant>,
}

impl Instance {
    const IDLE: Self = Self {
        last_checked_active: None,
        last_active: None,
        active_queues: 0,
        throttled_until: Instant::ZERO,
        watchdog_at: None,
    };
}

impl<P: Send + 'static> CakeMq<P> {
    /// An empty queue.
    pub fn new(config: &Config, limits: Limits, host: Host) -> Self {
        let queues = config.sharing.queues as usize;
        let instance = |i| Cake::new(&config.cake, limits, leaf_host(&host, i, host.link.rate));
        let leaves = (0..queues).map(|i| Leaf::holding(instance(i).into(), host.link)).collect();
        Self {
            family: Children::new(leaves),
            instances: vec![Instance::IDLE; queues],
            sync_time: config.sharing.sync_time,
            is_shaping: config.cake.bandwidth.as_bps() > 0,
            hash: config.cake.hash,
            seed: mix(host.rng.clone().next_u64() ^ SALT),
            next: 0,
            last_served: 0,
        }
    }
}

impl<P: 'static> CakeMq<P> {
    /// The hardware queue of a packet (`skb_tx_hash`).
    fn queue_of(&self, meta: &Meta) -> usize {
        let queues = self.instances.len() as u64;
        match self.hash {
            cake::Hash::Perturbed => (((mix(meta.flow as u64 ^ self.seed) >> 32) * queues) >> 32) as usize,
            cake::Hash::Modulo => (meta.flow as u64 % queues) as usize,
        }
    }

    /// Instance `i` is polled: counts the active instances if it is time.
    fn synchronise(&mut self, i: usize, now: Instant) {
        let last = self.instances[i].last_checked_active;
        if !self.is_shaping || last.is_some_and(|last| now - last < self.sync_time) {
            return;
        }
        let is_active = |&j: &usize| !self.family.is_empty(j) || self.instances[j].last_active > last;
        let active = 1 + (0..self.instances.len()).filter(|&j| j != i).filter(is_active).count() as u32;
        self.family.child(i).divide_rate(active);
        (self.instances[i].last_checked_active, self.instances[i].active_queues) = (Some(now), active);
    }

    /// Expires watchdogs before `now` (and at it if `inclusive`): empty instances are polled and so count the active
    /// ones. Instances are polled exactly when the kernel polls them: without the watchdog the shares differ from
    /// Linux's.
    fn run_watchdogs(&mut self, now: Instant, inclusive: bool) {
        for i in 0..self.instances.len() {
            let due = |at: &Instant| *at < now || (inclusive && *at == now);
            if let Some(at) = self.instances[i].watchdog_at.filter(due) {
                self.instances[i].watchdog_at = None;
                if self.family.is_empty(i) {
                    self.synchronise(i, at);
                }
            }
        }
    }

    /// Instance `i` has sent a packet; restarts its watchdog if a state has to decay.
    fn on_sent(&mut self, i: usize, now: Instant) {
        self.instances[i].last_active = Some(now);
        if self.family.is_empty(i) {
            if let Some(target) = self.family.child(i).decay_target() {
                self.instances[i].watchdog_at = Some(now + target);
            }
        }
    }
}

impl<P: 'static> Qdisc<P> for CakeMq<P> {
    fn reserve(&mut self, memory: &mut Reservation) -> Result<(), ReservationError> {
        self.family.reserve(memory)
    }

    fn enqueue(&mut self, now: Instant, meta: Meta, packet: P, sink: &mut dyn Sink<P>) -> EnqueueResult {
        self.run_watchdogs(now, false);
        let i = self.queue_of(&meta);
        self.instances[i].throttled_until = now;
        self.family.enqueue(i, now, Arrival { meta, packet }, sink)
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> DequeueResult<P> {
        self.run_watchdogs(now, false);
        let mut soonest: Option<Instant> = None;
        let queues = self.instances.len();
        for i in (self.next..queues).chain(0..self.next) {
            if self.family.is_empty(i) {
                continue;
            }
            if self.instances[i].throttled_until <= now {
                self.synchronise(i, now);
                match self.family.dequeue(i, now, sink) {
                    DequeueResult::Empty => continue,
                    DequeueResult::NotBefore(at) => {
                        (self.instances[i].throttled_until, self.instances[i].watchdog_at) = (at, None);
                    }
                    packet => {
                        self.on_sent(i, now);
                        (self.next, self.last_served) = ((i + 1) % queues, i);
                        return packet;
                    }
                }
            }
            let at = self.instances[i].throttled_until;
            soonest = Some(soonest.map_or(at, |other| other.min(at)));
        }
        soonest.map_or(DequeueResult::Empty, DequeueResult::NotBefore)
    }

    fn splits_gso(&self) -> bool {
        self.family.splits_gso()
    }

    fn needs_tcp_headers(&self) -> bool {
        self.family.needs_tcp_headers()
    }

    fn settle(&mut self, now: Instant) {
        self.run_watchdogs(now, true);
        self.family.settle(now);
    }

    fn backlog(&self) -> Backlog {
        self.family.accounting.total
    }

    fn stats(&self) -> &Stats {
        &self.family.accounting.stats
    }

    fn statistics(&self) -> Option<String> {
        let (stats, backlog) = (self.stats(), self.backlog());
        let instances: Vec<String> = self.family.children().filter_map(Qdisc::statistics).collect();
        Some(format!(
            r#"{{"kind":"cake_mq","bytes":{},"packets":{},"drops":{},"backlog":{},"qlen":{},"queues":[{}]}}"#,
            stats.departed.bytes,
            stats.departed.packets,
            stats.dropped_total().packets,
            backlog.bytes,
            backlog.packets,
            instances.join(",")
        ))
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("active_queues", self.instances[self.last_served].active_queues as f64);
        if let Some(shown) = self.family.children().nth(self.last_served) {
            shown.observe(see);
        }
    }

    fn queues(&self) -> Vec<String> {
        self.family.leaves().next().map_or_else(Vec::new, |leaf| leaf.qdisc().queues())
    }

    fn queue_of(&self, meta: &Meta) -> usize {
        self.family.leaves().next().map_or(0, |leaf| leaf.qdisc().queue_of(meta))
    }

    fn subqueues(&self, see: &mut dyn FnMut(SubqueueInfo<'_>)) {
        (0..).zip(self.family.leaves()).for_each(|(queue, leaf)| leaf.show("queue", queue, see));
    }
}

impl<P> fmt::Debug for CakeMq<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CakeMq")
            .field("instances", &self.instances)
            .field("books", &self.family.accounting)
            .finish_non_exhaustive()
    }
}

pub(crate) const QUEUES: QueueLayout = QueueLayout::PerFlowAndClass;
pub(crate) const WORDS: Option<WordsParser> = cake::WORDS;
/// Bytes of state per flow.
pub(crate) const STATE_BYTES: usize = cake::STATE_BYTES;
/// Separates the hash of the hardware queue from the hash within it.
const SALT: u64 = 0x7175_6575_6500_0000;

#[cfg(test)]
mod tests;
