//! Classification of packets, and the state of flows, created on a flow's first packet.

use super::config::{Config, Hash, Isolation};
use super::packet_list::{NONE, PacketList};
use super::scheduler_entry::SchedulerEntry;
use crate::error::ConfigError;
use crate::packet::Meta;
use crate::reservation::{Reservation, ReservationError, move_to_larger};
use crate::rng::{Rng, mix};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// A host's own classifier: packets with the same number are one flow.
pub type Classifier = Box<dyn Fn(&Meta) -> u64 + Send>;

/// A flow: its packets, scheduling state and queue manager.
#[derive(Debug)]
pub(super) struct Flow<A> {
    pub queue: PacketList,
    pub sched: SchedulerEntry,
    pub aqm: A,
    /// Number of its hash bucket; with a perfect hash, its own number.
    pub bucket: u32,
    /// The next flow of the same bucket, with a perfect hash.
    next_in_bucket: u32,
    key: u64,
    /// Value of the change counter when its packet count last changed.
    pub changed: u64,
}

/// Flows by hash bucket.
pub(super) struct Table<A> {
    hash: Hash,
    isolation: Isolation,
    /// Whether flows are classified by number and hashed with a seed, as in Linux.
    is_linux_hash: bool,
    classifier: Option<Classifier>,
    perturbation: u64,
    /// The bucket's flow, or the first of its flows.
    buckets: Vec<u32>,
    pub flows: Vec<Flow<A>>,
    /// Start of the next search for an idle flow.
    search_position: u32,
    /// Maximum number of flows; only a perfect hash needs more than the buckets.
    most: u32,
}

/// A packet's flow, and whether it was created.
pub(super) struct FlowLookup {
    pub flow: usize,
    pub is_new: bool,
}

impl<A> Table<A> {
    pub fn new(config: &Config, rng: &Rng) -> Self {
        Self {
            hash: config.hash,
            isolation: config.isolation,
            is_linux_hash: config.isolation == Isolation::Flow
                && matches!(config.hash, Hash::Perturbed | Hash::Perfect),
            classifier: None,
            // From a copy of the stream, so that the managers' draws do not depend on the hash.
            perturbation: mix(rng.clone().next_u64()),
            buckets: vec![NONE; config.flows.max(config.divisor) as usize],
            flows: Vec::new(),
            search_position: 0,
            most: u32::MAX,
        }
    }

    /// Rejects a classification other than that of `old`.
    pub fn check_same(&self, old: &Self) -> Result<(), ConfigError> {
        let differs = [
            ("flows", self.buckets.len() != old.buckets.len()),
            ("hash", self.hash != old.hash),
            ("isolation", self.isolation != old.isolation),
        ];
        differs
            .into_iter()
            .find(|&(_, differs)| differs)
            .map_or(Ok(()), |(name, _)| Err(ConfigError::ImmutableParam(name)))
    }

    /// Whether a bucket may have several flows.
    pub fn is_perfect(&self) -> bool {
        self.hash == Hash::Perfect
    }

    /// Reserves memory for the flows of `packets`. Returns the number of flows.
    pub fn reserve(&mut self, packets: usize, memory: &mut Reservation) -> Result<usize, ReservationError> {
        // With a perfect hash idle flows are remembered beside those with packets.
        let waiting = if self.is_perfect() { packets } else { 0 };
        let flows = self.buckets.len().saturating_add(waiting);
        self.most = u32::try_from(flows).unwrap_or(u32::MAX);
        memory.vec(&mut self.flows, flows)?;
        Ok(flows)
    }

    /// Takes the flows of `old`, in the larger of both memories.
    pub fn take_over(&mut self, old: &mut Self) {
        core::mem::swap(self, old);
        core::mem::swap(&mut self.most, &mut old.most);
        move_to_larger(&mut old.flows, &mut self.flows);
        core::mem::swap(&mut self.flows, &mut old.flows);
    }

    pub fn classify_by(&mut self, classifier: Classifier) {
        self.classifier = Some(classifier);
        self.is_linux_hash = false;
    }

    /// Draws the next seed of the hash.
    pub fn perturb(&mut self) {
        self.perturbation = Rng::from_state(self.perturbation).next_u64();
    }

    /// Finds the flow of a packet; `make` creates the manager of a new one.
    #[inline(always)]
    pub fn find(&mut self, meta: &Meta, make: &mut dyn FnMut() -> A) -> FlowLookup {
        let (key, bucket) = match self.is_linux_hash {
            true => (meta.flow as u64, self.perturbed(meta.flow as u64)),
            false => self.hashed(meta),
        };
        let first = self.buckets[bucket as usize];
        if self.hash == Hash::Perfect {
            return self.find_chained(key, bucket, first, make);
        }
        if first != NONE {
            return FlowLookup { flow: first as usize, is_new: false };
        }
        self.add(key, bucket, bucket, make)
    }

    /// The flow of a packet, if flows are classified by number alone and it exists.
    #[inline(always)]
    pub fn known(&self, meta: &Meta) -> Option<usize> {
        if !self.is_linux_hash || self.hash == Hash::Perfect {
            return None;
        }
        let first = self.buckets[self.perturbed(meta.flow as u64) as usize];
        (first != NONE).then_some(first as usize)
    }

    /// Key of the packet's flow, and its bucket.
    #[inline(never)]
    fn hashed(&self, meta: &Meta) -> (u64, u32) {
        let key = self.key(meta);
        (key, self.bucket(key, meta))
    }

    /// Key of the packet's flow.
    #[inline]
    fn key(&self, meta: &Meta) -> u64 {
        if let Some(classifier) = &self.classifier {
            return classifier(meta);
        }
        let (source, destination) = (meta.hosts.0 as u64, meta.hosts.1 as u64);
        match self.isolation {
            Isolation::Flow => meta.flow as u64,
            Isolation::SrcHost => source,
            Isolation::DstHost => destination,
            Isolation::HostPair => source << 32 | destination,
        }
    }

    #[inline]
    fn bucket(&self, key: u64, meta: &Meta) -> u32 {
        let n = self.buckets.len() as u64;
        match self.hash {
            Hash::Perturbed | Hash::Perfect => self.perturbed(key),
            Hash::Modulo => (key % n) as u32,
            Hash::HostSum if self.isolation == Isolation::HostPair && self.classifier.is_none() => {
                host_sum(meta.hosts.0.wrapping_add(meta.hosts.1)) % n as u32
            }
            Hash::HostSum => host_sum(key as u32) % n as u32,
            Hash::Jenkins if self.isolation == Isolation::Flow && self.classifier.is_none() => {
                jhash_3words([meta.hosts.1, meta.hosts.0, meta.flow], 0) % n as u32
            }
            Hash::Jenkins => jhash_3words([key as u32, (key >> 32) as u32, 0], 0) % n as u32,
        }
    }

    /// Upper 32 bits of the hash, scaled by multiplication: Linux's reciprocal_scale.
    #[inline]
    fn perturbed(&self, key: u64) -> u32 {
        (((mix(key ^ self.perturbation) >> 32) * self.buckets.len() as u64) >> 32) as u32
    }

    /// Perfect hash: the flow with this key, in the chain of its bucket.
    fn find_chained(&mut self, key: u64, bucket: u32, first: u32, make: &mut dyn FnMut() -> A) -> FlowLookup {
        let mut at = first;
        while at != NONE {
            let flow = &self.flows[at as usize];
            if flow.key == key {
                return FlowLookup { flow: at as usize, is_new: false };
            }
            at = flow.next_in_bucket;
        }
        if self.flows.len() < self.buckets.len() {
            return self.add(key, bucket, self.flows.len() as u32, make);
        }
        match self.idle() {
            Some(idle) => self.replace(idle, key, bucket, make),
            // Flows that lost all their packets before their turn fill a table that may not grow: flows share queues.
            None if self.flows.len() >= self.most as usize => {
                FlowLookup { flow: bucket as usize % self.flows.len(), is_new: false }
            }
            None => self.add(key, bucket, self.flows.len() as u32, make),
        }
    }

    fn add(&mut self, key: u64, bucket: u32, number: u32, make: &mut dyn FnMut() -> A) -> FlowLookup {
        let at = self.flows.len();
        self.flows.push(Flow {
            queue: PacketList::default(),
            sched: SchedulerEntry::default(),
            aqm: make(),
            bucket: number,
            next_in_bucket: self.buckets[bucket as usize],
            key,
            changed: 0,
        });
        self.buckets[bucket as usize] = at as u32;
        FlowLookup { flow: at, is_new: true }
    }

    /// An unscheduled flow, found round robin.
    fn idle(&mut self) -> Option<u32> {
        let n = self.flows.len() as u32;
        let idle =
            (0..n).map(|i| (self.search_position + i) % n).find(|&i| self.flows[i as usize].sched.is_unscheduled())?;
        self.search_position = (idle + 1) % n;
        Some(idle)
    }

    /// Reuses the slot of an idle flow for another.
    fn replace(&mut self, idle: u32, key: u64, bucket: u32, make: &mut dyn FnMut() -> A) -> FlowLookup {
        self.unchain(idle);
        let first = self.buckets[bucket as usize];
        let flow = &mut self.flows[idle as usize];
        *flow = Flow {
            aqm: make(),
            key,
            next_in_bucket: first,
            queue: PacketList::default(),
            sched: SchedulerEntry::default(),
            ..*flow
        };
        self.buckets[bucket as usize] = idle;
        FlowLookup { flow: idle as usize, is_new: true }
    }

    fn unchain(&mut self, at: u32) {
        let (key, next) = (self.flows[at as usize].key, self.flows[at as usize].next_in_bucket);
        let bucket = self.perturbed(key) as usize;
        if self.buckets[bucket] == at {
            self.buckets[bucket] = next;
            return;
        }
        let mut before = self.buckets[bucket];
        while self.flows[before as usize].next_in_bucket != at {
            before = self.flows[before as usize].next_in_bucket;
        }
        self.flows[before as usize].next_in_bucket = next;
    }
}

impl<A> fmt::Debug for Table<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("hash", &self.hash).field("flows", &self.flows.len()).finish_non_exhaustive()
    }
}

/// Hash of ns-2's SFQ over the sum of source and destination. There 0 has no bucket; here it is the first.
pub(super) fn host_sum(sum: u32) -> u32 {
    sum.wrapping_add(sum >> 8).wrapping_sub((sum >> 4).wrapping_add(sum.min(1))) % ((2 << 19) - 1)
}

/// Bob Jenkins' lookup3 of three words (public domain, 2006), as in ns-2.
pub(super) fn jhash_3words(words: [u32; 3], initval: u32) -> u32 {
    let initval = initval.wrapping_add(0xdead_beef + (3 << 2));
    let [mut a, mut b, mut c] = words.map(|word| word.wrapping_add(initval));
    // lookup3 rotates the roles of its three words; here the names rotate.
    for r in [4, 6, 8, 16, 19, 4] {
        a = a.wrapping_sub(c) ^ c.rotate_left(r);
        c = c.wrapping_add(b);
        (a, b, c) = (b, c, a);
    }
    for r in [14, 11, 25, 16, 4, 14] {
        c = (c ^ b).wrapping_sub(b.rotate_left(r));
        (a, b, c) = (b, c, a);
    }
    (c ^ b).wrapping_sub(b.rotate_left(24))
}
