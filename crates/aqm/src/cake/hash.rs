//! Set-associative hash of flows into the slots of a tin (`cake_hash`): 128 sets of 8, so that flows collide only if 8
//! of them are active in one set. Hosts have slots too, found in the same way.

use super::config::Isolation;
use super::flow::Set;
use super::tin::Tin;

/// Hashes of a packet's flow and hosts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    pub flow: u32,
    pub source: u32,
    pub destination: u32,
}

/// Host slot, for its role as a source and as a destination.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Host {
    pub tags: [u32; 2],
    /// Bulk flows from it and to it.
    pub bulk: [u16; 2],
}

/// Counters of the slot search.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WayStats {
    pub directs: u32,
    pub hits: u32,
    pub misses: u32,
    pub collisions: u32,
}

/// Ends of a flow.
pub(super) const SOURCE: usize = 0;
pub(super) const DESTINATION: usize = 1;

impl Isolation {
    /// Whether isolation counts hosts at this end of a flow.
    #[inline]
    pub(super) fn counts(self, end: usize) -> bool {
        let bits = self.bits();
        bits & FLOWS != 0 && bits & [SRC, DST][end] != 0
    }

    #[inline]
    fn bits(self) -> u8 {
        match self {
            Self::Flowblind => 0,
            Self::Srchost => SRC,
            Self::Dsthost => DST,
            Self::Hosts => SRC | DST,
            Self::Flows => FLOWS,
            Self::DualSrchost => SRC | FLOWS,
            Self::DualDsthost => DST | FLOWS,
            Self::TripleIsolate => SRC | DST | FLOWS,
        }
    }

    /// Hash that separates flows.
    #[inline]
    fn key(self, keys: &Keys) -> u32 {
        let bits = self.bits();
        if bits & FLOWS != 0 {
            return keys.flow;
        }
        let source = if bits & SRC != 0 { keys.source } else { 0 };
        source ^ if bits & DST != 0 { keys.destination } else { 0 }
    }
}

impl Tin {
    /// Slot of a packet's flow.
    #[inline]
    pub fn flow_index(&mut self, keys: &Keys, isolation: Isolation) -> usize {
        if isolation == Isolation::Flowblind {
            return 0;
        }
        let key = isolation.key(keys);
        let direct = key as usize % CAKE_QUEUES;
        if self.tags[direct] == key && self.flows[direct].set != Set::None {
            self.way_stats.directs += 1;
            return direct;
        }
        self.search(key, direct, keys, isolation)
    }

    #[inline(never)]
    fn search(&mut self, key: u32, direct: usize, keys: &Keys, isolation: Isolation) -> usize {
        let tagged = ways(direct).position(|at| self.tags[at] == key);
        let (i, allocate) = match tagged {
            Some(n) => {
                self.way_stats.hits += u32::from(n > 0);
                let i = way(direct, n);
                (i, self.flows[i].set == Set::None)
            }
            None => match ways(direct).find(|&at| self.flows[at].set == Set::None) {
                Some(i) => {
                    self.way_stats.misses += 1;
                    (i, true)
                }
                None => {
                    self.way_stats.collisions += 1;
                    if self.flows[direct].set == Set::Bulk {
                        self.count_bulk(direct, isolation, false);
                    }
                    (direct, true)
                }
            },
        };
        self.tags[i] = key;
        if allocate {
            for (end, key) in [keys.source, keys.destination].into_iter().enumerate() {
                if isolation.counts(end) {
                    self.allocate(i, end, key);
                }
            }
        }
        i
    }

    /// Finds a slot for the host at one end of flow `i`.
    fn allocate(&mut self, i: usize, end: usize, key: u32) {
        let direct = key as usize % CAKE_QUEUES;
        let tagged = ways(direct).find(|&at| self.hosts[at].tags[end] == key);
        let free = || ways(direct).find(|&at| self.hosts[at].bulk[end] == 0).unwrap_or(direct);
        let at = tagged.unwrap_or_else(free);
        self.hosts[at].tags[end] = key;
        match end {
            SOURCE => self.flows[i].hosts.0 = at as u16,
            _ => self.flows[i].hosts.1 = at as u16,
        }
        if self.flows[i].set == Set::Bulk {
            self.count_at(at, end, true);
        }
    }

    /// Accounts at its hosts that flow `i` became bulk (`more`), or is no longer bulk.
    #[inline]
    pub fn count_bulk(&mut self, i: usize, isolation: Isolation, more: bool) {
        let (source, destination) = self.flows[i].hosts;
        if isolation.counts(SOURCE) {
            self.count_at(source as usize, SOURCE, more);
        }
        if isolation.counts(DESTINATION) {
            self.count_at(destination as usize, DESTINATION, more);
        }
    }

    /// Clamped to 0 and the number of flows; older kernels let the counts wrap.
    #[inline]
    fn count_at(&mut self, host: usize, end: usize, more: bool) {
        let count = &mut self.hosts[host].bulk[end];
        *count = if more { (*count + 1).min(CAKE_QUEUES as u16) } else { count.saturating_sub(1) };
    }
}

/// Slots of a set, starting with `direct`.
#[inline]
fn ways(direct: usize) -> impl Iterator<Item = usize> {
    (0..WAYS).map(move |n| way(direct, n))
}

/// Slot number `n` of the set, counted from `direct`.
#[inline]
fn way(direct: usize, n: usize) -> usize {
    direct - direct % WAYS + (direct + n) % WAYS
}

/// Flow slots in a tin, and host slots.
pub(super) const CAKE_QUEUES: usize = 1024;
/// Slots per set.
const WAYS: usize = 8;
const SRC: u8 = 1;
const DST: u8 = 2;
const FLOWS: u8 = 4;
