//! Tin: a set of flow queues with a share of the rate.

use super::config::{Config, Isolation};
use super::flow::{Flow, FlowList, FlowLists, Set};
use super::hash::{CAKE_QUEUES, DESTINATION, Host, SOURCE, WayStats};
use super::tins::Share;
use crate::cobalt::law::Params;
use crate::cobalt::rate::ScaledRate;
use crate::link::Link;
use crate::rng::Rng;
use crate::time::Instant;
use alloc::vec;
use alloc::vec::Vec;

/// Flows and the state that they share.
#[derive(Clone, Debug)]
pub(super) struct Tin {
    pub flows: Vec<Flow>,
    pub tags: Vec<u32>,
    pub hosts: Vec<Host>,
    pub way_stats: WayStats,
    pub lists: FlowLists,
    pub sparse: u32,
    pub bulk: u32,
    pub decaying: u32,
    pub unresponsive: u32,
    pub params: Params,
    pub share: Share,
    pub rate: ScaledRate,
    /// Time of the next departure by its own share.
    pub next: Instant,
    /// Credit, used if there is no rate.
    pub deficit: i64,
    pub backlog: u64,
    pub stats: TinStats,
}

/// Statistics of a tin.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TinStats {
    pub packets: u64,
    pub bytes: u64,
    pub drops: u64,
    pub marks: u64,
    pub ack_drops: u64,
    /// Averages of the delay in nanoseconds: plain, with fast rise, with fast fall.
    pub average: u64,
    pub peak: u64,
    pub base: u64,
    pub largest: u32,
}

impl Tin {
    /// Memory of a tin with its flows and hosts, in bytes.
    pub const BYTES: u64 =
        (size_of::<Self>() + CAKE_QUEUES * (size_of::<Flow>() + size_of::<u32>() + size_of::<Host>())) as u64;

    pub fn new(config: &Config, share: Share, link: Link) -> Self {
        let rate = ScaledRate::new(share.threshold, link.mtu, config.target(), config.rtt);
        Self {
            flows: vec![Flow::new(link.boot()); CAKE_QUEUES],
            tags: vec![0; CAKE_QUEUES],
            hosts: vec![Host::default(); CAKE_QUEUES],
            way_stats: WayStats::default(),
            lists: FlowLists::default(),
            sparse: 0,
            bulk: 0,
            decaying: 0,
            unresponsive: 0,
            params: params(config, &rate),
            share,
            rate,
            next: Instant::ZERO,
            deficit: 0,
            backlog: 0,
            stats: TinStats::default(),
        }
    }

    /// Changes the share.
    pub fn reconfigure(&mut self, config: &Config, share: Share, mtu: u32) {
        self.rate = ScaledRate::new(share.threshold, mtu, config.target(), config.rtt);
        (self.share, self.params) = (share, params(config, &self.rate));
    }

    /// Whether any of its flows may have packets.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.sparse + self.bulk > 0
    }

    /// Next flow to serve; decaying flows go first on the first look of a call.
    #[inline]
    pub fn first(&self, first_look: bool) -> Option<usize> {
        let decaying = || self.lists.first(FlowList::Decaying);
        let ahead = if first_look { decaying() } else { None };
        ahead.or_else(|| self.lists.first(FlowList::New)).or_else(|| self.lists.first(FlowList::Old)).or_else(decaying)
    }

    /// `cake_get_flow_quantum`: credit of flow `i` per round, shared with the other bulk flows of its busier host. A
    /// random number compensates the rounding. A packet of one of n flows takes n rounds with a draw each, and skipping
    /// rounds would change the draws and the order of packets, so the cost grows with n as in Linux.
    #[inline]
    fn quantum(&self, i: usize, isolation: Isolation, rng: &mut Rng) -> i32 {
        let (source, destination) = self.flows[i].hosts;
        let mut load = 1;
        if isolation.counts(SOURCE) {
            load = load.max(self.hosts[source as usize].bulk[SOURCE]);
        }
        if isolation.counts(DESTINATION) {
            load = load.max(self.hosts[destination as usize].bulk[DESTINATION]);
        }
        ((self.rate.quantum * (65_535 / load as u32) + rng.next_u16() as u32) >> 16) as i32
    }

    /// Activates flow `i`, into which a packet was queued.
    #[inline]
    pub fn activate(&mut self, i: usize, isolation: Isolation, rng: &mut Rng) {
        match self.flows[i].set {
            set @ (Set::None | Set::Decaying) => {
                if set == Set::Decaying {
                    self.decaying -= 1;
                    self.lists.unlink(&mut self.flows, i);
                }
                self.lists.append(&mut self.flows, i, FlowList::New);
                self.flows[i].set = Set::Sparse;
                self.sparse += 1;
                // The remaining credit is discarded.
                self.flows[i].deficit = self.quantum(i, isolation, rng);
            }
            Set::SparseWait => self.become_bulk(i, isolation),
            Set::Sparse | Set::Bulk => {}
        }
    }

    /// Flow `i` has used up its credit: grants another round after the other flows.
    #[inline]
    pub fn replenish(&mut self, i: usize, isolation: Isolation, rng: &mut Rng) {
        if self.flows[i].set == Set::Sparse {
            if self.flows[i].queue.is_empty() {
                self.flows[i].set = Set::SparseWait;
            } else {
                self.become_bulk(i, isolation);
            }
        }
        self.flows[i].deficit += self.quantum(i, isolation, rng);
        self.lists.shift(&mut self.flows, i, FlowList::Old);
    }

    fn become_bulk(&mut self, i: usize, isolation: Isolation) {
        self.sparse -= 1;
        self.bulk += 1;
        self.count_bulk(i, isolation, true);
        self.flows[i].set = Set::Bulk;
    }

    /// Flow `i` was served and is empty: removes it, or lets it decay until no trace of congestion is left.
    pub fn found_empty(&mut self, i: usize, isolation: Isolation, now: Instant) {
        let state = &mut self.flows[i].state;
        self.unresponsive -= u32::from(state.queue_empty(&self.params, now));
        let rests = state.is_at_rest(now);
        match self.flows[i].set {
            Set::Bulk => {
                self.bulk -= 1;
                self.count_bulk(i, isolation, false);
            }
            Set::Sparse | Set::SparseWait => self.sparse -= 1,
            Set::Decaying | Set::None => self.decaying -= 1,
        }
        self.lists.unlink(&mut self.flows, i);
        if rests {
            self.flows[i].set = Set::None;
        } else {
            self.flows[i].set = Set::Decaying;
            self.decaying += 1;
            self.lists.append(&mut self.flows, i, FlowList::Decaying);
        }
    }
}

impl TinStats {
    /// Accounts for a sent packet that has waited for `delay` nanoseconds.
    #[inline]
    pub fn sent(&mut self, delay: u64) {
        self.average = ewma(self.average, delay, 8);
        self.peak = ewma(self.peak, delay, if delay > self.peak { 2 } else { 8 });
        self.base = ewma(self.base, delay, if delay < self.base { 2 } else { 8 });
    }
}

/// `cake_ewma`.
#[inline]
pub(super) fn ewma(average: u64, sample: u64, shift: u32) -> u64 {
    average - (average >> shift) + (sample >> shift)
}

fn params(config: &Config, rate: &ScaledRate) -> Params {
    let release = config.version.release();
    Params { mtu_time: rate.mtu_time, ..Params::new(rate.target, rate.interval, release) }
}
