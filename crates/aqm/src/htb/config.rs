//! Parameters and classes of HTB, in tc's notation.

use crate::class::Minor;
use crate::error::ConfigError;
use crate::params::{Bytes, Config as _, Param, Value};
use crate::parent::class::{Match, own, read_matches, spelled};
use crate::parent::{ChildConfig, ChildrenConfig, ParentConfig, text};
use crate::psched::{Framing, LinkLayer, RATES, check_rate};
use crate::rate::Rate;
use crate::{choice, config};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Configuration of `htb`.
pub type Config<H> = ParentConfig<Settings, Classes<H>>;

config! {
    /// Parameters of the whole tree.
    pub struct Settings {
        /// Handle, as in tc's `handle 1:`; classes that senders name must belong to it.
        handle: Minor = Minor(1), in Value::Minor(Minor(1)) => Value::Minor(Minor(0xffff));
        /// Class, in hexadecimal as in tc, of packets that match no filter; with 0 they are sent directly, without
        /// shaping.
        default: Minor = Minor(0), in Value::Minor(Minor(0)) => Value::Minor(Minor(0xffff));
        /// Divisor: a class without a quantum gets its rate in bytes per second divided by this.
        r2q: u64 = 10, in Value::Count(1) => Value::Count(u32::MAX as u64);
        /// Maximum packets queued for direct transmission; the device's queue length in Linux.
        direct_qlen: u64 = 1000, in Value::Count(0) => Value::Count(1_000_000_000);
        /// Rounding with which tc converts bucket depths into ticks of 64 ns.
        rounding: Rounding = Rounding::Up, in Value::Choice("") => Value::Choice(""), choices Rounding::WORDS;
    }
    profiles {
        "linux", "Linux 6.12 and a tc of 6.14 or later, which rounds bucket depths up" => |_| {};
        "linux-6.1", "as a tc before 6.14 sets it up, which rounds bucket depths down" => |c| c.rounding = Rounding::Down;
    }
    validate |_| Ok(())
}

choice! {
    /// Rounding of bucket depths to ticks in tc (`tc_calc_xmittime` of iproute2).
    pub enum Rounding {
        /// Up to the next tick, since 6.14.
        Up = "up",
        /// Down to a microsecond, then down to a tick.
        Down = "down",
    }
}

config! {
    /// Parameters of a class: the keywords of `tc class add … htb`.
    pub struct ClassSettings {
        /// Guaranteed rate; 8 bit/s or more.
        rate: Rate = Rate::from_bps(0), in RATES.0 => RATES.1;
        /// Maximum rate, borrowed bandwidth included; zero is its rate.
        ceil: Rate = Rate::from_bps(0), in RATES.0 => RATES.1;
        /// Bucket depth of the rate; zero is `mtu` plus the bytes that the rate carries in a nanosecond.
        burst: Bytes = Bytes(0), in Value::Bytes(0) => SIZE;
        /// Bucket depth of the ceiling, likewise.
        cburst: Bytes = Bytes(0), in Value::Bytes(0) => SIZE;
        /// Priority: among classes that may send, the lowest goes first.
        prio: u64 = 0, in Value::Count(0) => Value::Count(7);
        /// Bytes per turn; zero is the rate divided by `r2q`, from 1000 to 200,000.
        quantum: Bytes = Bytes(0), in Value::Bytes(0) => Value::Bytes(i32::MAX as u64);
        /// Packet size from which tc computes bucket depths.
        mtu: Bytes = Bytes(1600), in Value::Bytes(1) => SIZE;
        /// Overhead of each packet on the wire in bytes.
        overhead: u64 = 0, in Value::Count(0) => Value::Count(65_535);
        /// Minimum size on the wire, overhead included.
        mpu: u64 = 0, in Value::Count(0) => Value::Count(65_535);
        /// Link layer, which determines the size on the wire of a packet with its overhead.
        linklayer: LinkLayer = LinkLayer::Ethernet, in Value::Choice("") => Value::Choice(""), choices LinkLayer::WORDS;
    }
    profiles { "class", "a class" => |_| {}; }
    validate |_| Ok(())
}

/// Maximum of tc's 32 bits.
const SIZE: Value = Value::Bytes(u32::MAX as u64);

impl ClassSettings {
    /// Maximum rate: `ceil`, or the rate if it is zero.
    pub fn ceiling(&self) -> Rate {
        if self.ceil > Rate::from_bps(0) { self.ceil } else { self.rate }
    }

    pub(super) fn framing(&self) -> Framing {
        Framing { overhead: self.overhead as u32, mpu: self.mpu as u32, layer: self.linklayer }
    }
}

/// Classes of the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Classes<H>(
    /// In the order of their filters.
    pub Vec<Class<H>>,
);

impl<H> Default for Classes<H> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// Configured class.
#[derive(Clone, Debug, PartialEq)]
pub struct Class<H> {
    /// Minor number, not 0.
    pub minor: u16,
    /// Number of the class that it borrows from; `None` for a class of the root.
    pub parent: Option<u16>,
    /// Rates and buckets.
    pub settings: ClassSettings,
    /// Filters that assign packets to it.
    pub matches: Vec<Match>,
    /// Queue discipline; tail drop if there is none.
    pub child: Option<H>,
}

impl<H: ChildConfig> Class<H> {
    fn read(part: &str, handle: u16, names: H::Names<'_>) -> Result<Self, ConfigError> {
        let (head, child) = text::split(part)?;
        let mut words = head.split_whitespace().peekable();
        if words.next() != Some("class") {
            let example = Classes::<H>::EXAMPLE.into();
            return Err(ConfigError::InvalidChild { parent: "htb", inside: part.into(), example });
        }
        let lacks = |param: &str| ConfigError::MissingValue { param: param.into(), name: "htb".into() };
        let name = words.next().ok_or_else(|| lacks("class"))?;
        let minor = own(name, handle)?;
        let (mut parent, mut settings, mut seen) = (None, ClassSettings::default(), Vec::new());
        let placed = |reason: ConfigError| ConfigError::from(format!("class {name}: {reason}"));
        let matches = read_matches(&mut words, |word, words| {
            let word = match word {
                "buffer" | "maxburst" => "burst",
                "cbuffer" | "cmaxburst" => "cburst",
                word => word,
            };
            let value = words.next().ok_or_else(|| lacks(&format!("{word} of class {name}")))?;
            if seen.iter().any(|known| known == word) {
                return Err(ConfigError::DuplicateParam {
                    param: format!("{word} of class {name}"),
                    name: "htb".into(),
                });
            }
            seen.push(word.to_string());
            match (word, value) {
                ("parent", value) => own(value, handle).map(|minor| parent = Some(minor)),
                ("linklayer", "adsl") => settings.set("linklayer", "atm").map_err(placed),
                ("overhead" | "mpu", value) => settings.set(word, value.trim_end_matches('b')).map_err(placed),
                (word, value) => settings.set(word, value).map_err(placed),
            }
        })?;
        let child = child.map(|child| H::read(child, names)).transpose()?;
        Ok(Self { minor, parent, settings, matches, child })
    }

    fn spelling(&self) -> String {
        let plain = ClassSettings::default();
        let mut words = format!("class {:x}", self.minor);
        if let Some(parent) = self.parent {
            words += &format!(" parent {parent:x}");
        }
        for Param { name, .. } in ClassSettings::PARAMS {
            let value = self.settings.value(name).filter(|&value| plain.value(name) != Some(value));
            if let Some(value) = value {
                words += &format!(" {name} {}", value.to_string().replace(' ', ""));
            }
        }
        text::join(&(words + &spelled(&self.matches)), self.child.as_ref().map(H::spelling))
    }
}

impl<H> Classes<H> {
    /// Classes sorted by number, as in HTB's trees.
    pub(super) fn sorted(&self) -> Vec<&Class<H>> {
        let mut classes: Vec<_> = self.0.iter().collect();
        classes.sort_by_key(|class| class.minor);
        classes
    }

    /// Classes that hold packets.
    pub(crate) fn leaves(&self) -> impl Iterator<Item = &Class<H>> {
        let inner: BTreeSet<u16> = self.0.iter().filter_map(|class| class.parent).collect();
        self.0.iter().filter(move |class| !inner.contains(&class.minor))
    }
}

/// Index of the classes by number, to look up parents: a configuration may have tens of thousands.
struct Index<'a, H> {
    by_number: BTreeMap<u16, &'a Class<H>>,
    inner: BTreeSet<u16>,
}

impl<'a, H> Index<'a, H> {
    /// Builds the index; each number must be unique.
    fn of(classes: &'a [Class<H>]) -> Result<Self, (u16, String)> {
        let mut by_number = BTreeMap::new();
        for class in classes {
            if by_number.insert(class.minor, class).is_some() {
                return Err((class.minor, "is given twice; leave one of them out".into()));
            }
        }
        Ok(Self { by_number, inner: classes.iter().filter_map(|class| class.parent).collect() })
    }

    fn find(&self, minor: u16) -> Option<&'a Class<H>> {
        self.by_number.get(&minor).copied()
    }

    fn is_inner(&self, minor: u16) -> bool {
        self.inner.contains(&minor)
    }

    /// Refuses invalid parameters of a class in its context.
    fn check(&self, class: &Class<H>) -> Result<(), String> {
        let Class { minor, settings, .. } = class;
        if settings.rate == Rate::from_bps(0) {
            return Err("rate is required; write e.g. rate 1mbit".into());
        }
        for (name, rate) in [("rate", settings.rate), ("ceil", settings.ceiling())] {
            check_rate(name, rate).map_err(|error| error.to_string())?;
        }
        if settings.ceiling() < settings.rate {
            let text = format!("ceil ({}) is below rate ({})", settings.ceil, settings.rate);
            return Err(format!("{text}, so the rate would never be reached; write a higher ceil or a lower rate"));
        }
        self.check_parents(class)?;
        if self.is_inner(*minor) && (class.child.is_some() || !class.matches.is_empty()) {
            let what = if class.child.is_some() { "hold a queue" } else { "have a filter" };
            return Err(format!("has child classes and cannot {what}; move it to a child class"));
        }
        Ok(())
    }

    /// Refuses missing parents, cycles, and too many levels.
    fn check_parents(&self, class: &Class<H>) -> Result<(), String> {
        let (mut above, mut seen, mut at) = (Vec::from([class.minor]), BTreeSet::from([class.minor]), class);
        while let Some(parent) = at.parent {
            at = self.find(parent).ok_or_else(|| {
                format!(
                    "parent {parent:x} is not a class of this htb; add it, or leave parent out for a class of the root"
                )
            })?;
            above.push(parent);
            if !seen.insert(parent) {
                let begin = above.iter().position(|&minor| minor == parent).expect("it was seen before");
                let circle = spelled_circle(&above[begin..]);
                return Err(format!("its parents form a loop, {circle}; attach one of them to the root"));
            }
        }
        if above.len() > LEVELS {
            return Err(format!(
                "is nested too deep: Linux has {LEVELS} levels; attach it to a class nearer to the root"
            ));
        }
        Ok(())
    }
}

/// `1 below 2 below 1`; for a long cycle only the beginning.
fn spelled_circle(classes: &[u16]) -> String {
    const SHOWN: usize = 12;
    let names: Vec<_> = classes.iter().take(SHOWN).map(|minor| format!("{minor:x}")).collect();
    let more =
        if classes.len() > SHOWN { format!(" below … ({} classes)", classes.len() - 1) } else { String::new() };
    names.join(" below ") + &more
}

impl<H: ChildConfig> ChildrenConfig<Settings> for Classes<H> {
    type Child = H;
    const EXAMPLE: &'static str = "htb default 20 { class 1 rate 10mbit; class 10 parent 1 rate 2mbit ceil 10mbit match dscp EF; \
         class 20 parent 1 rate 8mbit ceil 10mbit { fq_codel } }";

    fn read(inside: &str, settings: &Settings, names: H::Names<'_>) -> Result<Self, ConfigError> {
        let parts = text::parts(inside)?.into_iter();
        parts.map(|part| Class::read(part, settings.handle.0, names)).collect::<Result<_, _>>().map(Self)
    }

    fn check(&self, settings: &Settings) -> Result<(), ConfigError> {
        let refuse = |minor: u16, reason: String| ConfigError::from(format!("class {minor:x}: {reason}"));
        let index = Index::of(&self.0).map_err(|(minor, reason)| refuse(minor, reason))?;
        for class in &self.0 {
            index.check(class).map_err(|reason| refuse(class.minor, reason))?;
        }
        match settings.default.0 {
            0 => Ok(()),
            minor if index.find(minor).is_none() => {
                Err(format!("default {minor:x}: no such class; write e.g. {{ class {minor:x} rate 10mbit }}").into())
            }
            minor if index.is_inner(minor) => {
                Err(format!("default {minor:x}: class {minor:x} has child classes; name one of them").into())
            }
            _ => Ok(()),
        }
    }

    fn spelling(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.iter().map(Class::spelling).collect::<Vec<_>>().join("; "))
    }

    fn children(&self) -> Vec<&H> {
        self.0.iter().filter_map(|class| class.child.as_ref()).collect()
    }
}

/// `TC_HTB_MAXDEPTH`.
pub(super) const LEVELS: usize = 8;
