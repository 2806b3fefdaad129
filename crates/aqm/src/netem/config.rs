//! netem's parameters. Probabilities and correlations are in percent, as tc writes them.

use super::distribution::Distribution;
use crate::error::ConfigError;
use crate::params::{Bytes, Value};
use crate::parent::{ChildConfig, ChildrenConfig, ParentConfig, text};
use crate::psched::RATES;
use crate::rate::Rate;
use crate::time::Duration;
use crate::{choice, config};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// The configuration.
pub type Config<H> = ParentConfig<Settings, Child<H>>;

choice! {
    /// What loses packets.
    pub enum LossModel {
        /// Each with the same probability, or one that depends on the packet before.
        Random = "random",
        /// A Markov chain of four states (S. Salsano et al., Definition of a general and intuitive loss model).
        State = "state",
        /// The Gilbert–Elliott model: a good and a bad state, each with a probability of its own.
        Gemodel = "gemodel",
    }
}

config! {
    /// What is done to packets.
    pub struct Settings {
        /// Most packets that wait, for their times or in a discipline in braces; tc's own limit.
        limit: u64 = 1000, in Value::Count(1) => Value::Count(u32::MAX as u64);
        /// How long packets are held up, also `latency`; tc's `delay TIME JITTER CORRELATION` gives three parameters.
        delay: Duration = Duration::ZERO, in Value::Time(Duration::ZERO) => LONGEST;
        /// How far delays lie from their mean, by `distribution`. A delay below zero is none, and packets overtake each other.
        jitter: Duration = Duration::ZERO, in Value::Time(Duration::ZERO) => JITTER;
        /// How much a delay depends on the one before, in percent.
        delay_corr: f64 = 0.0, in NONE => ALL;
        /// How delays lie about their mean: one of the words, or a file with a table of tc's form, without its ending `.dist` too.
        distribution: Distribution = Distribution::Uniform, in EVENLY => EVENLY, choices Distribution::WORDS;
        /// Packets lost at random, in percent; tc's `loss PERCENT CORRELATION` gives two parameters.
        loss: f64 = 0.0, in NONE => ALL;
        /// How much a loss depends on the packet before, in percent.
        loss_corr: f64 = 0.0, in NONE => ALL;
        /// What loses packets; tc's `loss random …`, `loss state P13 P31 P32 P23 P14` and `loss gemodel P R 1-H 1-K`.
        loss_model: LossModel = LossModel::Random, in Value::Choice("") => Value::Choice(""), choices LossModel::WORDS;
        /// Of `loss state`: from received in a gap to lost in a burst, in percent.
        p13: f64 = 0.0, in NONE => ALL;
        /// From lost in a burst to received in a gap; in tc's words 100 % less P13 where it is left out.
        p31: f64 = 100.0, in NONE => ALL;
        /// From lost in a burst to received in a burst.
        p32: f64 = 0.0, in NONE => ALL;
        /// From received in a burst to lost in a burst.
        p23: f64 = 100.0, in NONE => ALL;
        /// From received in a gap to lost in a gap.
        p14: f64 = 0.0, in NONE => ALL;
        /// Of `loss gemodel`: from the good state to the bad one, in percent.
        ge_p: f64 = 0.0, in NONE => ALL;
        /// From the bad state to the good one; in tc's words 100 % less P where it is left out.
        ge_r: f64 = 100.0, in NONE => ALL;
        /// Lost in the bad state, tc's 1-H.
        ge_1_h: f64 = 100.0, in NONE => ALL;
        /// Lost in the good state, tc's 1-K.
        ge_1_k: f64 = 0.0, in NONE => ALL;
        /// Whether ECN-capable packets are marked instead of lost.
        ecn: bool = false, in Value::Flag(false) => Value::Flag(true);
        /// Packets that come twice, in percent; tc's `duplicate PERCENT CORRELATION` gives two parameters.
        duplicate: f64 = 0.0, in NONE => ALL;
        /// How much that depends on the packet before; as with tc it has an effect only if there is another correlation, too.
        duplicate_corr: f64 = 0.0, in NONE => ALL;
        /// Packets of which a bit is flipped, in percent; tc's `corrupt PERCENT CORRELATION` gives two parameters.
        corrupt: f64 = 0.0, in NONE => ALL;
        /// How much that depends on the packet before, in percent.
        corrupt_corr: f64 = 0.0, in NONE => ALL;
        /// Packets that go at once, in percent, of each `gap`th and those behind it; tc's `reorder PERCENT CORRELATION`.
        reorder: f64 = 0.0, in NONE => ALL;
        /// How much that depends on the packet before, in percent.
        reorder_corr: f64 = 0.0, in NONE => ALL;
        /// So many packets less one are held up between two that go at once; zero is one, with `reorder`.
        gap: u64 = 0, in Value::Count(0) => Value::Count(u32::MAX as u64);
        /// Rate at which packets leave one after the other; zero does not bound it. tc's `rate RATE PACKETOVERHEAD CELLSIZE
        /// CELLOVERHEAD` gives four parameters.
        rate: Rate = Rate::from_bps(0), in RATES.0 => RATES.1;
        /// Bytes that every packet has more at the rate; may be below zero.
        packet_overhead: f64 = 0.0, in Value::Number(-65_535.0) => Value::Number(65_535.0);
        /// Bytes of a packet in each cell; zero has no cells.
        cell_size: u64 = 0, in Value::Count(0) => Value::Count(65_535);
        /// Bytes that every cell has more; may be below zero.
        cell_overhead: f64 = 0.0, in Value::Number(-65_535.0) => Value::Number(65_535.0);
        /// Least time between two slots in which packets leave; tc's `slot MIN MAX packets N bytes N`. Zero has no slots.
        slot_min: Duration = Duration::ZERO, in Value::Time(Duration::ZERO) => LONGEST;
        /// Most time between two slots; no less than the least.
        slot_max: Duration = Duration::ZERO, in Value::Time(Duration::ZERO) => LONGEST;
        /// How times between slots lie about their mean; tc's `slot distribution NAME DELAY JITTER`.
        slot_distribution: Distribution = Distribution::Uniform, in EVENLY => EVENLY, choices Distribution::WORDS;
        /// Mean time between slots, with `slot_jitter`.
        slot_delay: Duration = Duration::ZERO, in Value::Time(Duration::ZERO) => LONGEST;
        /// How far times between slots lie from their mean; zero takes `slot_min` and `slot_max`.
        slot_jitter: Duration = Duration::ZERO, in Value::Time(Duration::ZERO) => JITTER;
        /// Most packets of a slot; zero bounds none.
        slot_packets: u64 = 0, in Value::Count(0) => Value::Count(i32::MAX as u64);
        /// Most bytes of a slot, the last packet's beyond them included; zero bounds none.
        slot_bytes: Bytes = Bytes(0), in Value::Bytes(0) => Value::Bytes(i32::MAX as u64);
    }
    profiles { "linux", "Linux 6.1" => |_| {}; }
    validate validate
}

const EVENLY: Value = Value::Distribution(Distribution::Uniform);
const NONE: Value = Value::Number(0.0);
const ALL: Value = Value::Number(100.0);
const LONGEST: Value = Value::Time(Duration::from_secs(1000));
/// What the kernel's 32 bits hold.
const JITTER: Value = Value::Time(Duration::from_nanos(i32::MAX as i64));

fn validate(c: &Settings) -> Result<(), ConfigError> {
    check_delay(c)?;
    check_rate(c)?;
    check_slots(c)?;
    if c.ecn && !c.loses() {
        return Err("ecn marks in place of a loss, and there is none; write e.g. loss 1% ecn".into());
    }
    Ok(())
}

fn check_delay(c: &Settings) -> Result<(), ConfigError> {
    if c.distribution != Distribution::Uniform && (c.jitter == Duration::ZERO || c.delay == Duration::ZERO) {
        return Err("distribution is that of the jitter; write e.g. delay 20ms 5ms distribution normal".into());
    }
    if c.reorder > 0.0 && c.delay == Duration::ZERO {
        return Err("reorder lets packets overtake delayed ones; write e.g. delay 10ms reorder 25%".into());
    }
    if c.gap > 0 && c.reorder == 0.0 {
        return Err("gap is part of reorder; write e.g. delay 10ms reorder 25% gap 5".into());
    }
    Ok(())
}

fn check_rate(c: &Settings) -> Result<(), ConfigError> {
    for (name, bytes) in [("packet_overhead", c.packet_overhead), ("cell_overhead", c.cell_overhead)] {
        if libm::trunc(bytes) != bytes {
            return Err(format!("{name}: {bytes} is not a whole number of bytes").into());
        }
    }
    let zero = Rate::from_bps(0);
    if c.rate > zero && c.rate < crate::psched::MIN_RATE {
        return Err(format!("rate ({}) is below a byte per second, the least that Linux takes", c.rate).into());
    }
    let added = c.packet_overhead != 0.0 || c.cell_size > 0 || c.cell_overhead != 0.0;
    if c.rate == zero && added {
        return Err("overheads and cells are those of a rate; write e.g. rate 5mbit 10 48 5".into());
    }
    Ok(())
}

fn check_slots(c: &Settings) -> Result<(), ConfigError> {
    let (between, by) = (c.slot_min.max(c.slot_max), c.slot_delay.max(c.slot_jitter));
    if c.slot_max > Duration::ZERO && c.slot_max < c.slot_min {
        return Err(format!("slot_max ({}) is below slot_min ({})", c.slot_max, c.slot_min).into());
    }
    if between > Duration::ZERO && by > Duration::ZERO {
        return Err("slot has bounds and a distribution; leave one of them out".into());
    }
    if by > Duration::ZERO && c.slot_jitter == Duration::ZERO
        || by == Duration::ZERO && c.slot_distribution != Distribution::Uniform
    {
        return Err("slot distribution needs a delay and a jitter; write e.g. slot distribution normal 10ms 2ms".into());
    }
    if between == Duration::ZERO && by == Duration::ZERO && (c.slot_packets > 0 || c.slot_bytes.0 > 0) {
        return Err("packets and bytes are those of a slot; write e.g. slot 10ms packets 5".into());
    }
    Ok(())
}

impl Settings {
    /// Whether packets are lost.
    fn loses(&self) -> bool {
        match self.loss_model {
            LossModel::Random => self.loss > 0.0,
            LossModel::State => self.p13 > 0.0 || self.p14 > 0.0,
            LossModel::Gemodel => self.ge_p > 0.0 || self.ge_1_k > 0.0,
        }
    }

    /// Whether a packet may leave before one that came earlier.
    pub(crate) fn reorders(&self) -> bool {
        self.jitter > Duration::ZERO || self.reorder > 0.0
    }
}

/// Where packets go that have been held up.
#[derive(Clone, Debug, PartialEq)]
pub struct Child<H>(
    /// Without one they leave in the order of their times.
    pub Option<Box<H>>,
);

impl<H> Default for Child<H> {
    fn default() -> Self {
        Self(None)
    }
}

impl<H: ChildConfig> ChildrenConfig<Settings> for Child<H> {
    type Child = H;
    const EXAMPLE: &'static str = "netem delay 20ms { fq_codel }";

    fn read(text: &str, _: &Settings, names: H::Names<'_>) -> Result<Self, ConfigError> {
        match text::parts(text)?[..] {
            [] => Ok(Self(None)),
            [one] => Ok(Self(Some(Box::new(H::read(one, names)?)))),
            _ => Err(ConfigError::InvalidChild { parent: "netem", inside: text.into(), example: Self::EXAMPLE.into() }),
        }
    }

    fn check(&self, _: &Settings) -> Result<(), ConfigError> {
        Ok(())
    }

    fn spelling(&self) -> Option<String> {
        self.0.as_ref().map(|named| named.spelling())
    }

    fn children(&self) -> Vec<&H> {
        self.0.as_deref().map_or_else(Vec::new, |named| vec![named])
    }
}
