//! HTB's parameters and its classes, in tc's words.

use crate::class::Minor;
use crate::error::ConfigError;
use crate::params::{Bytes, Config as _, Param, Value};
use crate::parent::class::{Match, own, read_matches, spelled};
use crate::parent::{ChildConfig, ChildrenConfig, ParentConfig, text};
use crate::psched::{Framing, LinkLayer, MIN_RATE, RATES};
use crate::rate::Rate;
use crate::{choice, config};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The configuration.
pub type Config<H> = ParentConfig<Settings, Classes<H>>;

config! {
    /// What holds of all classes.
    pub struct Settings {
        /// The handle, as in tc's `handle 1:`: classes that senders name belong to it.
        handle: Minor = Minor(1), in Value::Minor(Minor(1)) => Value::Minor(Minor(0xffff));
        /// The class, in hexadecimal as tc has it, of what matches no filter; with 0 that goes directly, without a shaper.
        default: Minor = Minor(0), in Value::Minor(Minor(0)) => Value::Minor(Minor(0xffff));
        /// A class's rate in bytes per second over this is its quantum where it has none of its own.
        r2q: u64 = 10, in Value::Count(1) => Value::Count(u32::MAX as u64);
        /// Most packets that wait to go directly; the length of the device's queue in Linux.
        direct_qlen: u64 = 1000, in Value::Count(0) => Value::Count(1_000_000_000);
        /// How tc makes ticks of 64 ns of the depth of a bucket.
        rounding: Rounding = Rounding::Up, in Value::Choice("") => Value::Choice(""), choices Rounding::WORDS;
    }
    profiles {
        "linux", "Linux 6.12 and a tc of 6.14 or later, which rounds the depths of buckets up" => |_| {};
        "linux-6.1", "as a tc before 6.14 sets it up, which rounds the depths of buckets down" => |c| c.rounding = Rounding::Down;
    }
    validate |_| Ok(())
}

choice! {
    /// How tc makes ticks of the depth of a bucket (`tc_calc_xmittime` of iproute2).
    pub enum Rounding {
        /// The next tick, since 6.14.
        Up = "up",
        /// Down to a microsecond, then down to a tick.
        Down = "down",
    }
}

config! {
    /// A class's own parameters: the words of `tc class add … htb`.
    pub struct ClassSettings {
        /// What it is promised; 8 bit/s or more.
        rate: Rate = Rate::from_bps(0), in RATES.0 => RATES.1;
        /// What it may have at most, with what it borrows; zero is its rate.
        ceil: Rate = Rate::from_bps(0), in RATES.0 => RATES.1;
        /// Depth of the rate's bucket; zero is `mtu` and what the rate carries in a nanosecond.
        burst: Bytes = Bytes(0), in Value::Bytes(0) => SIZE;
        /// Depth of the ceiling's bucket, likewise.
        cburst: Bytes = Bytes(0), in Value::Bytes(0) => SIZE;
        /// Of those that may send the lowest goes first.
        prio: u64 = 0, in Value::Count(0) => Value::Count(7);
        /// Bytes of a turn; zero takes the rate over `r2q`, from 1000 to 200,000.
        quantum: Bytes = Bytes(0), in Value::Bytes(0) => Value::Bytes(i32::MAX as u64);
        /// The size that tc takes for the depth of a bucket.
        mtu: Bytes = Bytes(1600), in Value::Bytes(1) => SIZE;
        /// Bytes that every packet has more on the wire.
        overhead: u64 = 0, in Value::Count(0) => Value::Count(65_535);
        /// The least size on the wire, with the overhead.
        mpu: u64 = 0, in Value::Count(0) => Value::Count(65_535);
        /// What the link layer makes of a packet with its overhead.
        linklayer: LinkLayer = LinkLayer::Ethernet, in Value::Choice("") => Value::Choice(""), choices LinkLayer::WORDS;
    }
    profiles { "class", "a class" => |_| {}; }
    validate |_| Ok(())
}

/// What tc's 32 bits hold.
const SIZE: Value = Value::Bytes(u32::MAX as u64);

impl ClassSettings {
    /// The ceiling.
    pub fn ceiling(&self) -> Rate {
        if self.ceil > Rate::from_bps(0) { self.ceil } else { self.rate }
    }

    pub(super) fn framing(&self) -> Framing {
        Framing { overhead: self.overhead as u32, mpu: self.mpu as u32, layer: self.linklayer }
    }
}

/// The classes.
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

/// A class.
#[derive(Clone, Debug, PartialEq)]
pub struct Class<H> {
    /// Its number, not 0.
    pub minor: u16,
    /// The number of the class that it borrows from; none for a class of the root.
    pub parent: Option<u16>,
    /// Rates and buckets.
    pub settings: ClassSettings,
    /// Who joins it.
    pub matches: Vec<Match>,
    /// What waits in it; without it a queue that drops at its tail.
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
    /// By number, as HTB has them in its trees.
    pub(super) fn sorted(&self) -> Vec<&Class<H>> {
        let mut classes: Vec<_> = self.0.iter().collect();
        classes.sort_by_key(|class| class.minor);
        classes
    }

    /// The classes that hold packets.
    pub(crate) fn leaves(&self) -> impl Iterator<Item = &Class<H>> {
        let inner: BTreeSet<u16> = self.0.iter().filter_map(|class| class.parent).collect();
        self.0.iter().filter(move |class| !inner.contains(&class.minor))
    }
}

/// The classes by number, to look up parents: a text may have tens of thousands.
struct Index<'a, H> {
    by_number: BTreeMap<u16, &'a Class<H>>,
    inner: BTreeSet<u16>,
}

impl<'a, H> Index<'a, H> {
    /// The classes, each number once.
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

    /// Refuses what is wrong with one class among the others.
    fn check(&self, class: &Class<H>) -> Result<(), String> {
        let Class { minor, settings, .. } = class;
        if settings.rate == Rate::from_bps(0) {
            return Err("rate is required; write e.g. rate 1mbit".into());
        }
        for (name, rate) in [("rate", settings.rate), ("ceil", settings.ceiling())] {
            if rate < MIN_RATE {
                return Err(format!(
                    "{name} ({rate}) is below {MIN_RATE}, a byte per second, the least that Linux shapes to"
                ));
            }
        }
        if settings.ceiling() < settings.rate {
            let text = format!("ceil ({}) is below rate ({})", settings.ceil, settings.rate);
            return Err(format!("{text}, which it would never reach; write a higher ceil or a lower rate"));
        }
        self.check_parents(class)?;
        if self.is_inner(*minor) && (class.child.is_some() || !class.matches.is_empty()) {
            let what = if class.child.is_some() { "hold a queue" } else { "have a filter" };
            return Err(format!("has classes below it and cannot {what}; write that at one of those"));
        }
        Ok(())
    }

    /// Refuses a parent that is not there, parents in a circle, and too many of them.
    fn check_parents(&self, class: &Class<H>) -> Result<(), String> {
        let (mut above, mut seen, mut at) = (Vec::from([class.minor]), BTreeSet::from([class.minor]), class);
        while let Some(parent) = at.parent {
            at = self.find(parent).ok_or_else(|| {
                format!(
                    "parent {parent:x} is no class of this htb; write it as well, or leave parent out for a class of the root"
                )
            })?;
            above.push(parent);
            if !seen.insert(parent) {
                let begin = above.iter().position(|&minor| minor == parent).expect("it was seen before");
                let circle = spelled_circle(&above[begin..]);
                return Err(format!("its parents go in a circle, {circle}; let one of them be a class of the root"));
            }
        }
        if above.len() > LEVELS {
            return Err(format!("is too deep: Linux has {LEVELS} levels; write it below a class nearer to the root"));
        }
        Ok(())
    }
}

/// `1 below 2 below 1`; of a long circle the first ones.
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
            minor if index.find(minor).is_none() => Err(format!(
                "default {minor:x}: there is no class {minor:x}; write e.g. {{ class {minor:x} rate 10mbit }}"
            )
            .into()),
            minor if index.is_inner(minor) => {
                Err(format!("default {minor:x}: the class {minor:x} has classes below it; write one of those").into())
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
