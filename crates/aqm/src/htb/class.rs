//! Class at run time: its buckets, its mode, and the feeds of its children.

use super::config::{Class as Configured, LEVELS, Rounding, Settings};
use crate::psched::PschedRate;
use crate::rate::Rate;
use crate::time::{Duration, Instant};
use alloc::vec::Vec;

/// Mode of a class (`htb_cmode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// The ceiling has no tokens.
    CantSend,
    /// The rate has no tokens, but an ancestor may have some.
    MayBorrow,
    CanSend,
}

/// Class.
#[derive(Clone, Debug)]
pub(super) struct Class {
    pub minor: u16,
    pub parent: Option<usize>,
    /// 0 for leaves; 7 for inner classes of the root, and one less per step down.
    pub level: usize,
    /// Index of the queue, if the class is a leaf.
    pub leaf: Option<usize>,
    rate: PschedRate,
    ceil: PschedRate,
    /// Depths and contents of the buckets, in nanoseconds.
    buffer: i64,
    cbuffer: i64,
    pub tokens: i64,
    pub ctokens: i64,
    /// Time of the last token update.
    t_c: Instant,
    pub prio: usize,
    quantum: i64,
    deficit: [i64; LEVELS],
    pub mode: Mode,
    /// Bitmap of the priorities with packets in the class or its descendants.
    pub prio_activity: u8,
    /// Time of the next mode change, while one is pending.
    pub pq_key: Instant,
    /// Per priority, the children that want to borrow.
    pub feeds: Vec<Feed>,
}

/// Position of a class in the tree.
pub(super) struct Position {
    pub parent: Option<usize>,
    pub level: usize,
    /// Index of its queue, if it is a leaf.
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
            // tc's default with a nanosecond clock; that its `get_hz` then is 10^9 is from memory.
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

    /// Time since the last token update, at most one minute.
    #[inline]
    pub fn since(&self, now: Instant) -> i64 {
        (now - self.t_c).as_nanos().min(LONGEST)
    }

    /// Mode `ahead` nanoseconds after the last token update, and nanoseconds until it changes (`htb_class_mode`;
    /// without hysteresis, which is off unless a module parameter is set).
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

    /// Charges the tokens for `len` bytes; those of the rate only if the class `lends` them (`htb_accnt_tokens`,
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

    /// Charges `len` bytes to its turn at `level`. Returns whether the turn is over.
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

/// Classes in numeric order, with the one whose turn it is.
#[derive(Clone, Debug)]
pub(super) struct Feed {
    classes: Vec<usize>,
    pub ptr: Option<usize>,
    /// Class whose turn it was when it was removed.
    pub last: Option<usize>,
}

impl Feed {
    pub fn new(capacity: usize) -> Self {
        Self { classes: Vec::with_capacity(capacity), ptr: None, last: None }
    }

    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    pub fn insert(&mut self, class: usize) {
        let at = self.classes.partition_point(|&other| other < class);
        self.classes.insert(at, class);
    }

    pub fn remove(&mut self, class: usize) {
        let at = self.classes.binary_search(&class).expect("the class is in the list");
        self.classes.remove(at);
    }

    pub fn first(&self) -> Option<usize> {
        self.classes.first().copied()
    }

    /// Returns class `class` if it is in the feed, otherwise the next one.
    pub fn from(&self, class: usize) -> Option<usize> {
        self.classes.get(self.classes.partition_point(|&other| other < class)).copied()
    }

    /// Advances to the next class; `ptr` is `None` after the last one.
    pub fn advance(&mut self) {
        self.ptr = self.ptr.and_then(|class| self.from(class + 1));
    }
}

/// Time of a bucket of `bytes`: tc passes ticks of 64 ns to the kernel (`tc_calc_xmittime`).
pub(super) fn ticks(bytes: u64, bytes_per_second: u64, rounding: Rounding) -> i64 {
    let ticks = match rounding {
        Rounding::Up => (bytes as u128 * 1_000_000_000).div_ceil(bytes_per_second as u128 * TICK),
        // Whole microseconds, then whole ticks.
        Rounding::Down => bytes as u128 * 1_000_000 / bytes_per_second as u128 * 1000 / TICK,
    };
    // The kernel uses 32 bits.
    (ticks.min(u32::MAX as u128) * TICK) as i64
}

/// Bytes per turn (`htb_change_class`).
pub(super) fn quantum(given: u64, rate: Rate, r2q: u64) -> i64 {
    match given {
        0 => (rate.as_bps() / 8 / r2q).clamp(1000, 200_000) as i64,
        given => given as i64,
    }
}

/// `TC_HTB_NUMPRIO`.
pub(super) const PRIOS: usize = 8;
/// `mbuffer`: one minute.
const LONGEST: i64 = Duration::from_secs(60).as_nanos();
/// Nanoseconds per tick; `PSCHED_SHIFT` is 6.
const TICK: u128 = 64;
