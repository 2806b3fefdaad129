//! CoDel's parameters, the knobs in which its published variants differ, and the variants as sets of knobs.

use super::Law;
use crate::params::Value;
use crate::time::Duration;
use crate::{choice, config};
use alloc::format;
use alloc::string::String;

config! {
    /// CoDel's configuration; the default is RFC 8289.
    pub struct Config {
        /// Acceptable standing queue delay: sojourn times below it are never acted upon.
        target: Duration = Duration::from_millis(5), in MICROSECOND => Value::Time(Duration::from_secs(10));
        /// How long the sojourn time must stay above target before the first drop: a worst-case round-trip time.
        interval: Duration = Duration::from_millis(100), in MICROSECOND => Value::Time(Duration::from_secs(100));
        /// Marks ECN-capable packets instead of dropping them, at most one per dequeue.
        ecn: bool = false, in Value::Flag(false) => Value::Flag(true);
        /// Marks every ECN-capable packet that has waited longer than this; an hour, the default, is never reached.
        ce_threshold: Duration = HOUR, in Value::Time(Duration::ZERO) => Value::Time(HOUR);
        /// The constant drop count where reentry is const.
        n: u64 = 600, in Value::Count(1) => Value::Count(1_000_000_000);
        /// The longest sojourn time where there is a hard limit.
        max_delay: Duration = Duration::from_millis(50), in MICROSECOND => Value::Time(Duration::from_secs(100));
        /// Whether packets older than max_delay are dropped outright: off, as printed in the paper, or strictly.
        hard_limit: HardLimit = HardLimit::Off, in WORD => WORD, choices HardLimit::WORDS;
        /// What a first drop needs beyond a sojourn time that stayed above target.
        entry: Entry = Entry::AtOnce, in WORD => WORD, choices Entry::WORDS;
        /// How long the sojourn time must stay above target: the interval, or less after a recent phase (act).
        window: Window = Window::Interval, in WORD => WORD, choices Window::WORDS;
        /// Where the drop count starts when dropping begins again soon after the last phase.
        reentry: Reentry = Reentry::Delta, in WORD => WORD, choices Reentry::WORDS;
        /// Which drops count.
        count_on: CountOn = CountOn::StillOk, in WORD => WORD, choices CountOn::WORDS;
        /// Backlogs in which nothing is dropped: below one largest packet, or at most one.
        small_backlog: SmallBacklog = SmallBacklog::AtMost, in WORD => WORD, choices SmallBacklog::WORDS;
        /// The largest packet: the link's, or the largest seen so far.
        maxpacket: MaxPacket = MaxPacket::Mtu, in WORD => WORD, choices MaxPacket::WORDS;
        /// The arithmetic of times and of the control law.
        law: Law = Law::Float, in WORD => WORD, choices Law::WORDS;
        /// Which packet is dropped: the one judged, or (mahimahi's error) the one behind it.
        victim: Victim = Victim::Judged, in WORD => WORD, choices Victim::WORDS;
        /// Remembers since when the sojourn time was above target where the queue is found empty, as older Linux did; it
        /// matters where other flows' bytes count too.
        keep_above: bool = false, in Value::Flag(false) => Value::Flag(true);
    }
    profiles {
        "rfc8289", "RFC 8289 (2018)" => |_| {};
        "acm2012", "the first publication, ACM Queue 10(5), 2012: a fresh phase waits for two intervals" => acm2012;
        "ns2-2012", "ns-2 (ns-2.36): count - 2 on re-entry" => ns2_2012;
        "draft00", "draft-ietf-aqm-codel-00 (2014) as printed by Schwarzkopf et al. 2016: count - 2 on re-entry" => draft00;
        "act", "CoDel-ACT (K. Nichols, July 2012): count decays, and a recent phase shortens the wait" => act;
        "linux", "Linux since 4.0: fixed-point law, count at each drop" => linux;
        "linux-3.10", "Linux 3.6 to 3.19: the largest packet is the largest seen" => |c| { linux(c); c.maxpacket = MaxPacket::Seen256; c.keep_above = true; };
        "hardlimit", "Hard Limit CoDel (Gao et al. 2015) as printed: at most one packet per dequeue beyond max_delay" => hardlimit;
        "hardlimit-strict", "Hard Limit CoDel, no packet beyond max_delay" => |c| { hardlimit(c); c.hard_limit = HardLimit::Strict; };
        "mahimahi", "mahimahi's queue, errors included: whole milliseconds, and the packet behind the judged one is dropped" => mahimahi;
        "count-n", "draft00 with a constant count n (Schwarzkopf et al. 2016, III.E.4)" => count_n;
    }
    validate |c| {
        if c.target >= c.interval {
            return Err(format!("target ({}) must be below interval ({}); write e.g. target 5ms interval 100ms", c.target, c.interval));
        }
        if c.law == Law::Millis && c.interval < MILLISECOND {
            return Err(format!("interval ({}) is nothing in whole milliseconds, in which law = millis computes", c.interval));
        }
        if c.victim == Victim::Successor && (c.ecn || c.ce_threshold != HOUR || c.hard_limit != HardLimit::Off) {
            return Err(String::from("victim = successor drops only; leave ecn, ce_threshold and hard_limit off"));
        }
        Ok(())
    }
}

choice! {
    /// What a first drop needs beyond a sojourn time above target for the window.
    pub enum Entry {
        /// Nothing.
        AtOnce = "at-once",
        /// The last drop less than an interval ago, or the sojourn time above target for another interval.
        Acm = "acm",
    }
}

choice! {
    /// How long the sojourn time must stay above target.
    pub enum Window {
        /// An interval.
        Interval = "interval",
        /// interval/sqrt(count) if the last drop is less than 8 intervals ago.
        Act = "act",
    }
}

choice! {
    /// `count` when dropping begins again; where the condition fails it is 1.
    pub enum Reentry {
        /// count - 2 within an interval of the last drop.
        Acm = "acm",
        /// count - 2 within 8 intervals of the last drop.
        Sub2 = "sub2",
        /// As sub2, but decaying by 0.9844 where that leaves more than 126.
        Act = "act",
        /// The drops counted in the last phase, within 16 intervals of the last drop.
        Delta = "delta",
        /// The parameter n.
        Const = "const",
    }
}

choice! {
    /// Which drops after the first of a phase count.
    pub enum CountOn {
        /// Each.
        Drop = "drop",
        /// Those after which the next packet is still ok to drop.
        StillOk = "still-ok",
        /// None.
        Never = "never",
    }
}

choice! {
    /// Backlogs, without the packet looked at, in which nothing is dropped.
    pub enum SmallBacklog {
        /// Less than a largest packet.
        Below = "below",
        /// A largest packet or less.
        AtMost = "at-most",
        /// A largest packet or less, or nothing more in this queue (sfqCoDel's bins).
        AtMostOrLast = "at-most-or-last",
    }
}

choice! {
    /// What the largest packet is.
    pub enum MaxPacket {
        /// The link's.
        Mtu = "mtu",
        /// The largest one that came to the head, starting from 256 bytes.
        Seen256 = "seen-256",
        /// The largest one that came to the head, starting from 512 bytes.
        Seen512 = "seen-512",
        /// 1504 bytes whatever the link: 1500 and the header of a TUN device.
        Tun = "tun",
    }
}

choice! {
    /// What happens to packets that have waited longer than max_delay.
    pub enum HardLimit {
        /// Nothing.
        Off = "off",
        /// They are dropped before the first look only, as printed: one of them can still pass behind a drop.
        Printed = "printed",
        /// They are dropped wherever they come to the head.
        Strict = "strict",
    }
}

choice! {
    /// Which packet is dropped when one is ok to drop.
    pub enum Victim {
        /// That one.
        Judged = "judged",
        /// The one behind it, which nobody judged; the old one is sent.
        Successor = "successor",
    }
}

impl SmallBacklog {
    #[inline]
    pub(super) fn holds(self, bytes: u64, maxpacket: u32, last: bool) -> bool {
        match self {
            Self::AtMostOrLast => last || bytes <= maxpacket as u64,
            Self::Below => bytes < maxpacket as u64,
            Self::AtMost => bytes <= maxpacket as u64,
        }
    }
}

impl MaxPacket {
    pub(super) fn initial(self) -> u32 {
        match self {
            Self::Mtu => 0,
            Self::Tun => 1504,
            Self::Seen256 => 256,
            Self::Seen512 => 512,
        }
    }
}

fn acm2012(c: &mut Config) {
    c.entry = Entry::Acm;
    c.reentry = Reentry::Acm;
    c.count_on = CountOn::Drop;
    c.small_backlog = SmallBacklog::Below;
    c.maxpacket = MaxPacket::Seen512;
}

fn hardlimit(c: &mut Config) {
    acm2012(c);
    c.hard_limit = HardLimit::Printed;
}

fn ns2_2012(c: &mut Config) {
    c.reentry = Reentry::Sub2;
    c.maxpacket = MaxPacket::Seen256;
}

fn act(c: &mut Config) {
    ns2_2012(c);
    c.window = Window::Act;
    c.reentry = Reentry::Act;
}

fn draft00(c: &mut Config) {
    c.reentry = Reentry::Sub2;
    c.maxpacket = MaxPacket::Seen512;
}

fn count_n(c: &mut Config) {
    draft00(c);
    c.reentry = Reentry::Const;
    c.count_on = CountOn::Never;
}

fn linux(c: &mut Config) {
    c.count_on = CountOn::Drop;
    c.law = Law::Linux;
}

fn mahimahi(c: &mut Config) {
    c.count_on = CountOn::Drop;
    c.maxpacket = MaxPacket::Tun;
    c.law = Law::Millis;
    c.victim = Victim::Successor;
}

const HOUR: Duration = Duration::from_secs(3600);
const MILLISECOND: Duration = Duration::from_millis(1);
const MICROSECOND: Value = Value::Time(Duration::from_micros(1));
/// The range of a choice is its words.
const WORD: Value = Value::Choice("");
