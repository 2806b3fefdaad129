//! SFB, Stochastic Fair BLUE: a flow counts in eight bins, one of each level; a bin's probability rises while it is long
//! and falls when an arrival finds it empty, and an arrival is marked or dropped with the least probability of its bins.
//! Where that is one the flow does not listen, and is held to a rate (W. Feng, D. Kandlur, D. Saha, K. Shin, INFOCOM 2001;
//! Linux, `sch_sfb.c` of 6.1, whose order, names and integers this follows).
//!
//! Every `rehash` the bins of the other slot take over, under the key that they have had since; from `db` before that on
//! they are warmed by packets of flows that do not listen. What a bin has learnt stays in it, so it comes back with the
//! swap after the next.
//!
//! A flow is hashed by its number, as Linux hashes the class that a filter gives to a packet (`siphash_1u32`); without a
//! filter it hashes addresses and ports. The queue's random stream is drawn from in this order: before the first packet is
//! judged two words for the key of slot 0, then two for that of slot 1; at each swap two for the slot that is left; for
//! each arrival that is neither refused by the limit, nor finds `max` packets, nor probability one, the upper 16 bits of
//! a word.
//!
//! Differs: as in Linux with a filter, but the other slot is warmed by the class as well, where Linux takes addresses and
//! ports there. The queue inside is always first-in-first-out, with the host's limit (tc's `limit`).
//!
//! # When to use
//!
//! To hold flows that do not react with a constant amount of memory, where queues per flow cannot be had. A single flow
//! gets no more than `max` packets of queue. Flow queueing shares more evenly.

mod bins;
mod siphash;
#[cfg(test)]
mod tests;

use crate::aqm::{Aqm, Cx, Fifo, Lifecycle, PoppedPacket, Verdict};
use crate::config;
use crate::error::ConfigError;
use crate::limits::Limits;
use crate::link::Link;
use crate::packet::Meta;
use crate::params::Value;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use alloc::collections::VecDeque;
use alloc::format;
use bins::{BinMinimum, BinParams, Bins};
use siphash::{Key, siphash_1u32};

config! {
    /// SFB's configuration; the defaults are the kernel's own. Names are tc's.
    pub struct Config {
        /// How often the slots of bins change places; zero is never.
        rehash: Duration = Duration::from_secs(600), in Value::Time(Duration::ZERO) => Value::Time(Duration::from_secs(4_000_000));
        /// How long before that the other slot is warmed (double buffering); zero is not at all.
        db: Duration = Duration::from_secs(60), in Value::Time(Duration::ZERO) => Value::Time(Duration::from_secs(4_000_000));
        /// Packets of a flow's shortest bin from which on its arrivals are dropped. Zero: 5/4 of target, or 25.
        max: u64 = 0, in Value::Count(0) => Value::Count(65_535);
        /// Packets of a bin from which on its probability rises with each arrival (bin_size). Zero: 4/5 of max, or 20.
        target: u64 = 0, in Value::Count(0) => Value::Count(65_535);
        /// What an arrival adds to the probability of a long bin; in units of 1/65535, rounded: 66 of them.
        increment: f64 = 0.001007, in Value::Number(0.0) => Value::Number(1.0);
        /// What an arrival takes from the probability of an empty bin; in units of 1/65535, rounded: 11 of them.
        decrement: f64 = 0.000168, in Value::Number(0.0) => Value::Number(1.0);
        /// Packets per second that flows with probability one get together; zero is none.
        penalty_rate: u64 = 10, in Value::Count(0) => Value::Count(1_000_000);
        /// How many of them may come at once; zero is none.
        penalty_burst: u64 = 20, in Value::Count(0) => Value::Count(1_000_000);
        /// The unit of the kernel's clock, 1/HZ.
        jiffy: Duration = Duration::from_millis(1), in Value::Time(Duration::from_millis(1)) => Value::Time(Duration::from_millis(10));
        /// When the queue was made, on the clock of the host: from then on the first rehash and the tokens count.
        created: Duration = Duration::ZERO, in Value::Time(Duration::ZERO) => Value::Time(Duration::from_secs(1_000_000_000));
    }
    profiles {
        "linux", "Linux 6.1 with the kernel's own parameters" => |_| {};
        "tc", "the same as tc makes it without words: increment 33, decrement 3 units" => |c| {
            c.increment = 0.0005;
            c.decrement = 0.00005;
        };
    }
    validate validate
}

impl Config {
    /// `max` and `target`, one by the other where it is not given (q_sfb.c).
    fn lengths(&self) -> (u64, u64) {
        let max = match (self.max, self.target) {
            (0, 0) => USUAL_MAX,
            (0, target) => (target * 5 + 1) / 4,
            (max, _) => max,
        };
        (max, if self.target > 0 { self.target } else { (max * 4 + 3) / 5 })
    }
}

fn validate(c: &Config) -> Result<(), ConfigError> {
    let (max, target) = c.lengths();
    if target > max {
        return Err(format!("target ({target}) must not exceed max ({max}); write e.g. target 20 max 25").into());
    }
    if c.rehash > Duration::ZERO && c.db >= c.rehash {
        let (db, rehash) = (c.db, c.rehash);
        return Err(format!("db ({db}) must be below rehash ({rehash}); write e.g. rehash 600s db 60s").into());
    }
    Ok(())
}

/// An SFB-managed queue's state (`sfb_sched_data`).
#[derive(Clone, Debug)]
pub struct Sfb {
    max: u64,
    steps: BinParams,
    penalty_rate: u64,
    penalty_burst: u64,
    clock: Clock,
    /// In jiffies, as all times below.
    rehash_interval: u64,
    warmup_time: u64,
    rehash_time: u64,
    token_time: u64,
    tokens_avail: u64,
    /// The bins that judge.
    slot: usize,
    double_buffering: bool,
    bins: [Bins; 2],
    /// What each slot's hashes are made with; drawn before the first packet is judged.
    keys: Option<[Key; 2]>,
    /// For each waiting packet the hash under which it was counted in each slot; zero where it was not.
    hashes: VecDeque<[u32; 2]>,
    /// The least probability that the last arrival found.
    p_min: u16,
    drops: Drops,
}

/// Drops by cause, and marks, under the names of tc's statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Drops {
    earlydrop: u64,
    penaltydrop: u64,
    bucketdrop: u64,
    queuedrop: u64,
    marked: u64,
}

impl Sfb {
    /// An idle queue's state.
    pub fn new(config: &Config) -> Self {
        let (max, bin_size) = config.lengths();
        let units = |p: f64| (p * u16::MAX as f64 + 0.5) as u16;
        let clock = Clock { jiffy: config.jiffy.as_nanos() as u64 };
        let created = clock.jiffies(Instant::ZERO + config.created);
        Self {
            max,
            steps: BinParams { bin_size, increment: units(config.increment), decrement: units(config.decrement) },
            penalty_rate: config.penalty_rate,
            penalty_burst: config.penalty_burst,
            rehash_interval: clock.rounded_up(config.rehash),
            warmup_time: clock.rounded_up(config.db),
            clock,
            rehash_time: created,
            token_time: created,
            tokens_avail: config.penalty_burst,
            slot: 0,
            double_buffering: false,
            bins: [Bins::new(), Bins::new()],
            keys: None,
            hashes: VecDeque::new(),
            p_min: 0,
            drops: Drops::default(),
        }
    }

    /// Lets the slots change places when it is time, or begins to warm the other one.
    fn swap_slots(&mut self, jiffies: u64, rng: &mut Rng) {
        if self.rehash_interval == 0 {
            return;
        }
        let limit = self.rehash_time + self.rehash_interval;
        if jiffies > limit {
            // sfb_swap_slot: the slot that is left gets another key, and keeps what it has learnt.
            if let Some(keys) = &mut self.keys {
                keys[self.slot] = drawn(rng);
            }
            self.slot ^= 1;
            self.double_buffering = false;
            self.rehash_time = jiffies;
        } else if self.warmup_time > 0 && jiffies + self.warmup_time > limit {
            self.double_buffering = true;
        }
    }

    /// Whether a packet of a flow that does not listen is beyond what such flows get (`sfb_rate_limit`).
    fn rate_limit(&mut self, jiffies: u64) -> bool {
        if self.penalty_rate == 0 || self.penalty_burst == 0 {
            return true;
        }
        if self.tokens_avail < 1 {
            let hz = self.clock.hz();
            let age = jiffies.saturating_sub(self.token_time).min(10 * hz);
            self.tokens_avail = (age * self.penalty_rate / hz).min(self.penalty_burst);
            self.token_time = jiffies;
            if self.tokens_avail < 1 {
                return true;
            }
        }
        self.tokens_avail -= 1;
        false
    }

    /// What becomes of an arrival that is not inelastic (`sfb_enqueue`, its second half).
    fn decide(&mut self, p_min: u16, meta: &Meta, rng: &mut Rng) -> Verdict {
        let (r, p_min) = (rng.next_u16() as u32, p_min as u32);
        if r >= p_min {
            return Verdict::Accept;
        }
        // So much has to be marked that the flow does not listen, or all is badly congested: drops come in.
        let drops = p_min > HALF && r < (p_min - HALF) * 2;
        if drops || !meta.ecn.is_ect() {
            self.drops.earlydrop += 1;
            return Verdict::Drop;
        }
        self.drops.marked += 1;
        Verdict::Mark
    }

    /// The hash of a packet in a slot.
    fn hash(&self, slot: usize, meta: &Meta) -> u32 {
        let keys = self.keys.as_ref().expect("they are drawn before a packet is judged");
        (siphash_1u32(meta.flow, keys[slot]) as u32).max(1)
    }

    /// Forgets packets that the limits took from the tail.
    fn trim_hashes(&mut self, len: usize) {
        while self.hashes.len() > len {
            let hashes = self.hashes.pop_back();
            self.uncount(hashes);
        }
    }

    /// Takes a packet that was counted under these hashes out of the bins.
    fn uncount(&mut self, hashes: Option<[u32; 2]>) {
        let Some(hashes) = hashes else { return };
        for (bins, hash) in self.bins.iter_mut().zip(hashes).filter(|&(_, hash)| hash != 0) {
            bins.left(hash);
        }
    }
}

impl Aqm for Sfb {
    fn attach(&mut self, limits: &Limits, _: Link) {
        // As many as may wait, up to a size that costs little.
        self.hashes.reserve(limits.packets.unwrap_or(MAX_PREALLOCATED).min(MAX_PREALLOCATED) as usize);
    }

    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, queue: &mut dyn Fifo) -> Verdict {
        self.trim_hashes(queue.len());
        self.keys.get_or_insert_with(|| [drawn(cx.rng), drawn(cx.rng)]);
        let jiffies = self.clock.jiffies(cx.now);
        // The packet that makes the slots change places is still judged by the one that is left, under its new key.
        let (slot, other) = (self.slot, self.slot ^ 1);
        self.swap_slots(jiffies, cx.rng);
        let mut hashes = [0; 2];
        hashes[slot] = self.hash(slot, meta);
        let BinMinimum { qlen, p_mark: p_min } = self.bins[slot].arrived(hashes[slot], self.steps);
        self.p_min = p_min;
        if qlen as u64 >= self.max {
            self.drops.bucketdrop += 1;
            return Verdict::Drop;
        }
        let verdict = if p_min == u16::MAX {
            // Inelastic.
            if self.double_buffering {
                hashes[other] = self.hash(other, meta);
                self.bins[other].arrived(hashes[other], self.steps);
            }
            if self.rate_limit(jiffies) {
                self.drops.penaltydrop += 1;
                return Verdict::Drop;
            }
            Verdict::Accept
        } else {
            self.decide(p_min, meta, cx.rng)
        };
        if verdict != Verdict::Drop {
            for (bins, hash) in self.bins.iter_mut().zip(hashes).filter(|&(_, hash)| hash != 0) {
                bins.queued(hash);
            }
            self.hashes.push_back(hashes);
        }
        verdict
    }

    fn dequeue(&mut self, _: &mut Cx, queue: &mut dyn Fifo) -> Option<PoppedPacket> {
        self.trim_hashes(queue.len());
        let popped = queue.pop()?;
        let hashes = self.hashes.pop_front();
        self.uncount(hashes);
        Some(popped)
    }

    #[inline(always)]
    fn lifecycle(&mut self) -> Option<&mut dyn Lifecycle> {
        Some(self)
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let (maxqlen, maxprob, avgprob) = self.bins[self.slot].summary();
        let share = |p: u16| p as f64 / u16::MAX as f64;
        see("p_min", share(self.p_min));
        see("maxqlen", maxqlen as f64);
        see("maxprob", share(maxprob));
        see("avgprob", share(avgprob));
        see("slot", self.slot as f64);
        see("double_buffering", self.double_buffering as u8 as f64);
        see("tokens_avail", self.tokens_avail as f64);
        see("earlydrop", self.drops.earlydrop as f64);
        see("penaltydrop", self.drops.penaltydrop as f64);
        see("bucketdrop", self.drops.bucketdrop as f64);
        see("queuedrop", self.drops.queuedrop as f64);
        see("marked", self.drops.marked as f64);
    }
}

impl Lifecycle for Sfb {
    fn overflowed(&mut self, _: &mut Cx, _: &Meta) {
        self.drops.queuedrop += 1;
    }

    fn shed(&mut self, _: &mut Cx, n: u32) {
        for _ in 0..n {
            let hashes = self.hashes.pop_front();
            self.uncount(hashes);
        }
    }

    fn adopt(&mut self, _: &mut Cx, _: &Meta) {
        // Not judged, so counted in no bin.
        self.hashes.push_back([0; 2]);
    }
}

/// The kernel's clock of whole jiffies.
#[derive(Clone, Copy, Debug)]
struct Clock {
    /// In nanoseconds.
    jiffy: u64,
}

impl Clock {
    fn jiffies(self, now: Instant) -> u64 {
        now.as_nanos() / self.jiffy
    }

    /// `msecs_to_jiffies`, rounded up.
    fn rounded_up(self, span: Duration) -> u64 {
        (span.as_nanos() as u64).div_ceil(self.jiffy)
    }

    fn hz(self) -> u64 {
        1_000_000_000 / self.jiffy
    }
}

/// The next key, sixteen bytes of the stream.
fn drawn(rng: &mut Rng) -> Key {
    [rng.next_u64(), rng.next_u64()]
}

/// The probability from which on some of what is picked is dropped, also where it understands marks.
const HALF: u32 = u16::MAX as u32 / 2;
/// tc's max.
const USUAL_MAX: u64 = 25;
const MAX_PREALLOCATED: u32 = 1024;
