//! A class at work: its buckets, its mode, and the children that want its tokens.

use super::config::{Class as Configured, LEVELS, Rounding, Settings};
use crate::psched::PschedRate;
use crate::rate::Rate;
use crate::time::{Duration, Instant};
use alloc::vec::Vec;

/// What a class may do (`htb_cmode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Its ceiling has no tokens.
    CantSend,
    /// Its rate has none; an ancestor may.
    MayBorrow,
    CanSend,
}

/// A class.
#[derive(Clone, Debug)]
pub(super) struct Class {
    pub minor: u16,
    pub parent: Option<usize>,
    /// 0 for leaves; 7 for inner classes of the root, and one less for each step down.
    pub level: usize,
    /// Number of the queue of a leaf.
    pub leaf: Option<usize>,
    rate: PschedRate,
    ceil: PschedRate,
    /// Depths of the buckets, and what is in them, in nanoseconds.
    buffer: i64,
    cbuffer: i64,
    pub tokens: i64,
    pub ctokens: i64,
    /// When they were counted last.
    t_c: Instant,
    pub prio: usize,
    quantum: i64,
    deficit: [i64; LEVELS],
    pub mode: Mode,
    /// The priorities that it has packets of, itself or below.
    pub prio_activity: u8,
    /// When its mode changes, while it waits for that.
    pub pq_key: Instant,
    /// For each priority the children that want to borrow.
    pub feeds: Vec<Feed>,
}

/// The place of a class in the tree.
pub(super) struct Position {
    pub parent: Option<usize>,
    pub level: usize,
    /// The index of its queue, if it is a leaf.
    pub leaf: Option<usize>,
    /// Number of classes that borrow from it.
    pub children: usize,
}

impl Class {
    pub fn new<H>(settings: &Settings, configured: &Configured<H>, position: Position) -> Self {
        let Position { parent, level, leaf, children } = position;
        let own = &configured.settings;
        let rate = PschedRate::new(own.rate, own.framing());
        let ceil = PschedRate::new(own.ceiling(), own.framing());
        let depth = |given: u64, rate: PschedRate| {
            let bytes = if given > 0 { given } else { rate.bytes_per_second / 1_000_000_000 + own.mtu.0 };
            ticks(bytes, rate.bytes_per_second, settings.rounding)
        };
        let (buffer, cbuffer) = (depth(own.burst.0, rate), depth(own.cburst.0, ceil));
        Self {
            minor: configured.minor,
            parent,
            level,
            leaf,
            buffer,
            cbuffer,
            tokens: buffer,
            ctokens: cbuffer,
            t_c: Instant::ZERO,
            prio: own.prio as usize,
            quantum: quantum(own.quantum.0, own.rate, settings.r2q),
            deficit: [0; LEVELS],
            mode: Mode::CanSend,
            prio_activity: 0,
            pq_key: Instant::ZERO,
            feeds: if leaf.is_some() { Vec::new() } else { (0..PRIOS).map(|_| Feed::new(children)).collect() },
            rate,
            ceil,
        }
    }

    /// The time since its tokens were counted, a minute at most.
    #[inline]
    pub fn since(&self, now: Instant) -> i64 {
        (now - self.t_c).as_nanos().min(LONGEST)
    }

    /// Its mode `ahead` nanoseconds after its tokens were counted, and in how many it changes (`htb_class_mode`; the
    /// hysteresis is off, as it is unless a module's parameter is set).
    #[inline]
    pub fn mode_in(&self, ahead: i64) -> (Mode, i64) {
        let (ctokens, tokens) = (self.ctokens + ahead, self.tokens + ahead);
        if ctokens < 0 {
            (Mode::CantSend, -ctokens)
        } else if tokens >= 0 {
            (Mode::CanSend, ahead)
        } else {
            (Mode::MayBorrow, -tokens)
        }
    }

    /// Takes the tokens of `len` bytes; those of the rate only where it `lends` them (`htb_accnt_tokens`,
    /// `htb_accnt_ctokens`).
    #[inline]
    pub fn account(&mut self, now: Instant, len: u32, lends: bool) {
        let since = self.since(now);
        let spent = |tokens: i64, buffer: i64, time: i64| {
            let left = (tokens + since).min(buffer) - time;
            if left <= -LONGEST { 1 - LONGEST } else { left }
        };
        if lends {
            self.tokens = spent(self.tokens, self.buffer, self.rate.time_for(len));
        } else {
            self.tokens += since;
        }
        self.ctokens = spent(self.ctokens, self.cbuffer, self.ceil.time_for(len));
        self.t_c = now;
    }

    /// Takes `len` bytes from its turn at `level`; whether that is over.
    #[inline]
    pub fn spend_turn(&mut self, level: usize, len: u32) -> bool {
        let deficit = &mut self.deficit[level];
        *deficit -= len as i64;
        let is_over = *deficit < 0;
        if is_over {
            *deficit += self.quantum;
        }
        is_over
    }
}

/// Classes in the order of their numbers, and whose turn it is.
#[derive(Clone, Debug)]
pub(super) struct Feed {
    classes: Vec<usize>,
    pub ptr: Option<usize>,
    /// The class that it was when that went away.
    pub last: Option<usize>,
}

impl Feed {
    pub fn new(most: usize) -> Self {
        Self { classes: Vec::with_capacity(most), ptr: None, last: None }
    }

    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    pub fn insert(&mut self, class: usize) {
        let at = self.classes.partition_point(|&other| other < class);
        self.classes.insert(at, class);
    }

    pub fn remove(&mut self, class: usize) {
        let at = self.classes.binary_search(&class).expect("a class is removed from where it is");
        self.classes.remove(at);
    }

    pub fn first(&self) -> Option<usize> {
        self.classes.first().copied()
    }

    /// The class `class`, or else the next one.
    pub fn from(&self, class: usize) -> Option<usize> {
        self.classes.get(self.classes.partition_point(|&other| other < class)).copied()
    }

    /// The turn goes on; behind the last one it is nobody's.
    pub fn advance(&mut self) {
        self.ptr = self.ptr.and_then(|class| self.from(class + 1));
    }
}

/// How long the bucket of `bytes` lasts: tc hands the kernel ticks of 64 ns (`tc_calc_xmittime`).
pub(super) fn ticks(bytes: u64, bytes_per_second: u64, rounding: Rounding) -> i64 {
    let ticks = match rounding {
        Rounding::Up => (bytes as u128 * 1_000_000_000).div_ceil(bytes_per_second as u128 * TICK),
        // Whole microseconds, then whole ticks.
        Rounding::Down => bytes as u128 * 1_000_000 / bytes_per_second as u128 * 1000 / TICK,
    };
    // The kernel takes 32 bits.
    (ticks.min(u32::MAX as u128) * TICK) as i64
}

/// Bytes of a turn (`htb_change_class`).
pub(super) fn quantum(given: u64, rate: Rate, r2q: u64) -> i64 {
    match given {
        0 => (rate.as_bps() / 8 / r2q).clamp(1000, 200_000) as i64,
        given => given as i64,
    }
}

/// `TC_HTB_NUMPRIO`.
pub(super) const PRIOS: usize = 8;
/// `mbuffer`: a minute.
const LONGEST: i64 = Duration::from_secs(60).as_nanos();
/// `PSCHED_SHIFT` is 6: nanoseconds of a tick.
const TICK: u128 = 64;
