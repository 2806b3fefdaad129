//! Parameters of netem. Probabilities and correlations are in percent, as in tc.

use super::distribution::Distribution;
use crate::error::ConfigError;
use crate::params::{Bytes, Value};
use crate::parent::{OnlyChild, ParentConfig, SingleParent};
use crate::psched::RATES;
use crate::rate::Rate;
use crate::time::Duration;
use crate::{choice, config};
use alloc::format;

/// Configuration of `netem`.
pub type Config<H> = ParentConfig<Settings, OnlyChild<H>>;

choice! {
    /// Loss model.
    pub enum LossModel {
        /// Same probability for each packet, or correlated with the previous one.
        Random = "random",
        /// Markov chain of four states (S. Salsano et al., Definition of a general and intuitive loss model).
        State = "state",
        /// Gilbert–Elliott model: a good and a bad state with separate probabilities.
        Gemodel = "gemodel",
    }
}

config! {
    /// Impairments of packets.
    pub struct Settings {
        /// Maximum queued packets, delayed or in a child discipline in braces; tc's own limit.
        limit: u64 = 1000, in Value::Count(1) => Value::Count(u32::MAX as u64);
        /// Delay of packets, also `latency`; tc's `delay TIME JITTER CORRELATION` gives three parameters.
        delay: Duration = Duration::ZERO, in Value::Time(Duration::ZERO) => LONGEST;
        /// Deviation of delays from their mean, shaped by `distribution`. Negative delays become zero, and packets may
        /// be reordered.
        jitter: Duration = Duration::ZERO, in Value::Time(Duration::ZERO) => JITTER;
        /// Correlation of a delay with the one before, in percent.
        delay_corr: f64 = 0.0, in NONE => ALL;
        /// Distribution of delays: one of the words, or a table file in tc's format, with or without its suffix
        /// `.dist`.
        distribution: Distribution = Distribution::Uniform, in EVENLY => EVENLY, choices Distribution::WORDS;
        /// Packets lost at random, in percent; tc's `loss PERCENT CORRELATION` gives two parameters.
        loss: f64 = 0.0, in NONE => ALL;
        /// Correlation of a loss with the packet before, in percent.
        loss_corr: f64 = 0.0, in NONE => ALL;
        /// Loss model; tc's `loss random …`, `loss state P13 P31 P32 P23 P14` and `loss gemodel P R 1-H 1-K`.
        loss_model: LossModel = LossModel::Random, in Value::Choice("") => Value::Choice(""), choices LossModel::WORDS;
        /// `loss state`, P13: from received in a gap to lost in a burst, in percent.
        p13: f64 = 0.0, in NONE => ALL;
        /// P31: from lost in a burst to received in a gap; in tc's syntax 100 % minus P13 if omitted.
        p31: f64 = 100.0, in NONE => ALL;
        /// P32: from lost in a burst to received in a burst.
        p32: f64 = 0.0, in NONE => ALL;
        /// P23: from received in a burst to lost in a burst.
        p23: f64 = 100.0, in NONE => ALL;
        /// P14: from received in a gap to lost in a gap.
        p14: f64 = 0.0, in NONE => ALL;
        /// `loss gemodel`, P: from the good state to the bad one, in percent.
        ge_p: f64 = 0.0, in NONE => ALL;
        /// R: from the bad state to the good one; in tc's syntax 100 % minus P if omitted.
        ge_r: f64 = 100.0, in NONE => ALL;
        /// Loss probability in the bad state, tc's 1-H.
        ge_1_h: f64 = 100.0, in NONE => ALL;
        /// Loss probability in the good state, tc's 1-K.
        ge_1_k: f64 = 0.0, in NONE => ALL;
        /// Marks ECN-capable packets instead of losing them.
        ecn: bool = false, in Value::Flag(false) => Value::Flag(true);
        /// Packets that are duplicated, in percent; tc's `duplicate PERCENT CORRELATION` gives two parameters.
        duplicate: f64 = 0.0, in NONE => ALL;
        /// Correlation of duplicates, in percent; as with tc it has an effect only if there is another correlation.
        duplicate_corr: f64 = 0.0, in NONE => ALL;
        /// Packets with one bit flipped, in percent; tc's `corrupt PERCENT CORRELATION` gives two parameters.
        corrupt: f64 = 0.0, in NONE => ALL;
        /// Correlation of corruption, in percent.
        corrupt_corr: f64 = 0.0, in NONE => ALL;
        /// Share of packets sent at once, in percent, from each `gap`th packet on; tc's `reorder PERCENT CORRELATION`.
        reorder: f64 = 0.0, in NONE => ALL;
        /// Correlation of reordering, in percent.
        reorder_corr: f64 = 0.0, in NONE => ALL;
        /// Distance between packets that are sent at once: gap - 1 packets in between are delayed; zero is one, with
        /// `reorder`.
        gap: u64 = 0, in Value::Count(0) => Value::Count(u32::MAX as u64);
        /// Rate at which packets are serialised; zero is unlimited. tc's `rate RATE PACKETOVERHEAD CELLSIZE
        /// CELLOVERHEAD` gives four parameters.
        rate: Rate = Rate::from_bps(0), in RATES.0 => RATES.1;
        /// Overhead of each packet at the rate, in bytes; may be negative.
        packet_overhead: f64 = 0.0, in Value::Number(-65_535.0) => Value::Number(65_535.0);
        /// Cell size in bytes of packet; zero is no cells.
        cell_size: u64 = 0, in Value::Count(0) => Value::Count(65_535);
        /// Overhead of each cell in bytes; may be negative.
        cell_overhead: f64 = 0.0, in Value::Number(-65_535.0) => Value::Number(65_535.0);
        /// Minimum time between two slots in which packets leave; tc's `slot MIN MAX packets N bytes N`. Zero: no
        /// slots.
        slot_min: Duration = Duration::ZERO, in Value::Time(Duration::ZERO) => LONGEST;
        /// Maximum time between two slots; at least the minimum.
        slot_max: Duration = Duration::ZERO, in Value::Time(Duration::ZERO) => LONGEST;
        /// Distribution of times between slots; tc's `slot distribution NAME DELAY JITTER`.
        slot_distribution: Distribution = Distribution::Uniform, in EVENLY => EVENLY, choices Distribution::WORDS;
        /// Mean time between slots, with `slot_jitter`.
        slot_delay: Duration = Duration::ZERO, in Value::Time(Duration::ZERO) => LONGEST;
        /// Deviation of times between slots from their mean; zero: `slot_min` and `slot_max` apply.
        slot_jitter: Duration = Duration::ZERO, in Value::Time(Duration::ZERO) => JITTER;
        /// Maximum packets per slot; zero is unlimited.
        slot_packets: u64 = 0, in Value::Count(0) => Value::Count(i32::MAX as u64);
        /// Maximum bytes per slot, which the last packet may exceed; zero is unlimited.
        slot_bytes: Bytes = Bytes(0), in Value::Bytes(0) => Value::Bytes(i32::MAX as u64);
    }
    profiles { "linux", "Linux 6.1" => |_| {}; }
    validate validate
}

const EVENLY: Value = Value::Distribution(Distribution::Uniform);
const NONE: Value = Value::Number(0.0);
const ALL: Value = Value::Number(100.0);
const LONGEST: Value = Value::Time(Duration::from_secs(1000));
/// Maximum of the kernel's 32 bits.
const JITTER: Value = Value::Time(Duration::from_nanos(i32::MAX as i64));

fn validate(c: &Settings) -> Result<(), ConfigError> {
    check_delay(c)?;
    check_rate(c)?;
    check_slots(c)?;
    if c.ecn && !c.loses() {
        return Err("ecn marks packets instead of losing them and needs a loss; write e.g. loss 1% ecn".into());
    }
    Ok(())
}

fn check_delay(c: &Settings) -> Result<(), ConfigError> {
    if c.distribution != Distribution::Uniform && (c.jitter == Duration::ZERO || c.delay == Duration::ZERO) {
        return Err("distribution needs a jitter; write e.g. delay 20ms 5ms distribution normal".into());
    }
    if c.reorder > 0.0 && c.delay == Duration::ZERO {
        return Err("reorder needs a delay, which the reordered packets skip; write e.g. delay 10ms reorder 25%".into());
    }
    if c.gap > 0 && c.reorder == 0.0 {
        return Err("gap needs reorder; write e.g. delay 10ms reorder 25% gap 5".into());
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
        return Err(format!("rate ({}) is below 8 bit/s (one byte per second), the minimum of Linux", c.rate).into());
    }
    let added = c.packet_overhead != 0.0 || c.cell_size > 0 || c.cell_overhead != 0.0;
    if c.rate == zero && added {
        return Err("overheads and cells need a rate; write e.g. rate 5mbit 10 48 5".into());
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
        return Err("packets and bytes need a slot; write e.g. slot 10ms packets 5".into());
    }
    Ok(())
}

impl Settings {
    /// Whether packets can be lost.
    fn loses(&self) -> bool {
        match self.loss_model {
            LossModel::Random => self.loss > 0.0,
            LossModel::State => self.p13 > 0.0 || self.p14 > 0.0,
            LossModel::Gemodel => self.ge_p > 0.0 || self.ge_1_k > 0.0,
        }
    }

    /// Whether a packet may leave before an earlier one.
    pub(crate) fn reorders(&self) -> bool {
        self.jitter > Duration::ZERO || self.reorder > 0.0
    }
}

impl SingleParent for Settings {
    const NAME: &'static str = "netem";
    const EXAMPLE: &'static str = "netem delay 20ms { fq_codel }";
}
