//! SFB, Stochastic Fair BLUE: a flow counts in eight bins, one per level. A bin's probability rises while it is long
//! and falls when an arrival finds it empty, and an arrival is marked or dropped with the minimum probability of its
//! bins. At probability one the flow is unresponsive, and is rate-limited (W. Feng, D. Kandlur, D. Saha, K. Shin,
//! INFOCOM 2001; Linux, `sch_sfb.c` of 6.1, whose order, names and integers this follows).
//!
//! Every `rehash` the bins of the other slot take over, with the key that they have had since; for the time `db` before
//! the swap, packets of unresponsive flows warm them up. Bins keep their probabilities, so these return with the swap
//! after the next.
//!
//! A flow is hashed by its number, as Linux hashes the class that a filter assigns (`siphash_1u32`); without a filter
//! Linux hashes addresses and ports. The queue's random stream is read in a fixed order, so that a kernel whose
//! `get_random_bytes` reads the same stream makes the same bins: before the first packet two words for the key of slot
//! 0, then two for that of slot 1; at each swap two for the slot that becomes inactive; for each arrival that is
//! neither refused by the limit, nor finds `max` packets, nor probability one, the upper 16 bits of a word.
//!
//! Differs: as in Linux with a filter, but the other slot is also warmed by the class, while Linux uses addresses and
//! ports there. The inner queue is always first-in-first-out, with the host's limit (tc's `limit`).
//!
//! # When to use
//!
//! To limit unresponsive flows with a constant amount of memory, if per-flow queues are not possible. A single flow
//! gets at most `max` packets of queue. Flow queueing shares more evenly.

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
use crate::reservation::{Reservation, ReservationError};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use alloc::collections::VecDeque;
use alloc::format;
use bins::{BinMinimum, BinParams, Bins};
use siphash::{Key, siphash_1u32};

config! {
    /// SFB's configuration; the defaults are those of the kernel. Names are tc's.
    pub struct Config {
        /// Interval at which the two slots of bins are swapped; zero is never.
        rehash: Duration = Duration::from_secs(600), in Value::Time(Duration::ZERO) => Value::Time(Duration::from_secs(4_000_000));
        /// Time before the swap for which the other slot is warmed up (double buffering); zero is none.
        db: Duration = Duration::from_secs(60), in Value::Time(Duration::ZERO) => Value::Time(Duration::from_secs(4_000_000));
        /// Packets in a flow's shortest bin above which its arrivals are dropped. Zero: 5/4 of target, or 25.
        max: u64 = 0, in Value::Count(0) => Value::Count(65_535);
        /// Packets in a bin above which its probability rises with each arrival (bin_size). Zero: 4/5 of max, or 20.
        target: u64 = 0, in Value::Count(0) => Value::Count(65_535);
        /// Increment of a long bin's probability per arrival; in units of 1/65535, rounded: 66 of them.
        increment: f64 = 0.001007, in Value::Number(0.0) => Value::Number(1.0);
        /// Decrement of an empty bin's probability per arrival; in units of 1/65535, rounded: 11 of them.
        decrement: f64 = 0.000168, in Value::Number(0.0) => Value::Number(1.0);
        /// Packets per second that flows with probability one get together; zero is none.
        penalty_rate: u64 = 10, in Value::Count(0) => Value::Count(1_000_000);
        /// Maximum burst of these packets; zero is none.
        penalty_burst: u64 = 20, in Value::Count(0) => Value::Count(1_000_000);
        /// Unit of the kernel's clock, 1/HZ.
        jiffy: Duration = Duration::from_millis(1), in Value::Time(Duration::from_millis(1)) => Value::Time(Duration::from_millis(10));
        /// Creation time of the queue on the host's clock, from which the first rehash and the tokens count.
        created: Duration = Duration::ZERO, in Value::Time(Duration::ZERO) => Value::Time(Duration::from_secs(1_000_000_000));
    }
    profiles {
        "linux", "Linux 6.1 with the kernel's own parameters" => |_| {};
        "tc", "as tc configures it without arguments: increment 33, decrement 3 units" => |c| {
            c.increment = 0.0005;
            c.decrement = 0.00005;
        };
    }
    validate validate
}

impl Config {
    /// `max` and `target`; if one is not given, it follows from the other (q_sfb.c).
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

/// State of a queue under SFB (`sfb_sched_data`).
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
    /// Index of the active slot.
    slot: usize,
    double_buffering: bool,
    bins: [Bins; 2],
    /// Hash keys of the slots, drawn before the first packet is judged.
    keys: Option<[Key; 2]>,
    /// Hashes of each queued packet, per slot; zero if not counted there.
    hashes: VecDeque<[u32; 2]>,
    /// Minimum probability found by the last arrival.
    p_min: u16,
    drops: Drops,
}

/// Drops by cause, and marks, with the names of tc's statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Drops {
    earlydrop: u64,
    penaltydrop: u64,
    bucketdrop: u64,
    queuedrop: u64,
    marked: u64,
}

impl Sfb {
    /// State of an idle queue.
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

    /// Swaps the slots when due, or starts to warm up the other one.
    fn swap_slots(&mut self, jiffies: u64, rng: &mut Rng) {
        if self.rehash_interval == 0 {
            return;
        }
        let limit = self.rehash_time + self.rehash_interval;
        if jiffies > limit {
            // sfb_swap_slot: the inactive slot gets another key, and keeps its probabilities.
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

    /// Whether a packet of an unresponsive flow exceeds the rate of such flows (`sfb_rate_limit`). New tokens are
    /// computed only when none is left, as whole ones for the jiffies since the last computation, so a flow that sends
    /// often gets the burst and then nothing.
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

    /// Verdict for an arrival that is not inelastic (second half of `sfb_enqueue`).
    fn decide(&mut self, p_min: u16, meta: &Meta, rng: &mut Rng) -> Verdict {
        let (r, p_min) = (rng.next_u16() as u32, p_min as u32);
        if r >= p_min {
            return Verdict::Accept;
        }
        // A high mark probability means an unresponsive flow or severe congestion: start to drop.
        let drops = p_min > HALF && r < (p_min - HALF) * 2;
        if drops || !meta.ecn.is_ect() {
            self.drops.earlydrop += 1;
            return Verdict::Drop;
        }
        self.drops.marked += 1;
        Verdict::Mark
    }

    /// Hash of a packet in a slot.
    fn hash(&self, slot: usize, meta: &Meta) -> u32 {
        let keys = self.keys.as_ref().expect("they are drawn before a packet is judged");
        (siphash_1u32(meta.flow, keys[slot]) as u32).max(1)
    }

    /// Removes packets that the limits dropped at the tail.
    fn trim_hashes(&mut self, len: usize) {
        while self.hashes.len() > len {
            let hashes = self.hashes.pop_back();
            self.uncount(hashes);
        }
    }

    /// Removes a packet, counted under these hashes, from the bins.
    fn uncount(&mut self, hashes: Option<[u32; 2]>) {
        let Some(hashes) = hashes else { return };
        for (bins, hash) in self.bins.iter_mut().zip(hashes).filter(|&(_, hash)| hash != 0) {
            bins.left(hash);
        }
    }
}

impl Aqm for Sfb {
    fn attach(&mut self, limits: &Limits, _: Link) {
        // Usual queue length, up to a cheap maximum.
        self.hashes.reserve(limits.packets.unwrap_or(MAX_PREALLOCATED).min(MAX_PREALLOCATED) as usize);
    }

    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, queue: &mut dyn Fifo) -> Verdict {
        self.trim_hashes(queue.len());
        self.keys.get_or_insert_with(|| [drawn(cx.rng), drawn(cx.rng)]);
        let jiffies = self.clock.jiffies(cx.now);
        // The packet that triggers the swap is still judged by the old slot, with its new key.
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

    #[inline(always)]
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
    /// One more, for an accepted packet that the limits then drop.
    fn reserve(&mut self, packets: usize, memory: &mut Reservation) -> Result<(), ReservationError> {
        let usual = MAX_PREALLOCATED as usize;
        memory.deque(&mut self.hashes, packets.saturating_add(1).max(usual))
    }

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

/// Clock of the kernel in whole jiffies.
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

/// Draws a key, sixteen bytes of the stream.
fn drawn(rng: &mut Rng) -> Key {
    [rng.next_u64(), rng.next_u64()]
}

/// Probability above which some of the selected packets are dropped even if they are ECN-capable.
const HALF: u32 = u16::MAX as u32 / 2;
/// tc's max.
const USUAL_MAX: u64 = 25;
const MAX_PREALLOCATED: u32 = 1024;
