//! RED for one flow among many: Linux's arithmetic without idle time, because a flow is deleted when it runs empty.

use crate::aqm::{Aqm, Cx, Fifo, Lifecycle, Verdict};
use crate::config;
use crate::error::ConfigError;
use crate::packet::Meta;
use crate::params::{Bytes, Value};
use crate::red::linux::{Action, Params, Vars};
use crate::red::tc::{check_burst, wlog};
use alloc::format;

config! {
    /// RED's parameters in tc, shared by all flows.
    pub struct Config {
        /// Bytes of a flow from which automatic thresholds follow. Not a limit: limit and depth are.
        redflowlimit: Bytes = Bytes(100_000), in Value::Bytes(1) => Value::Bytes(1 << 30);
        /// Average backlog of a flow above which packets are dropped; zero: a third of max.
        min: Bytes = Bytes(0), in Value::Bytes(0) => Value::Bytes(1 << 30);
        /// Average backlog of a flow above which every packet is dropped; zero: a quarter of redflowlimit.
        max: Bytes = Bytes(0), in Value::Bytes(0) => Value::Bytes(1 << 30);
        /// Mean packet size, the unit of burst.
        avpkt: Bytes = Bytes(1000), in Value::Bytes(1) => Value::Bytes(1 << 20);
        /// Packets of avpkt that pass before the average reaches min, which sets its weight; zero: (2 min + max) / (3
        /// avpkt).
        burst: u64 = 0, in Value::Count(0) => Value::Count(1_000_000);
        /// Probability just below max.
        probability: f64 = 0.02, in Value::Number(1e-6) => Value::Number(1.0);
        /// Marks ECN-capable packets instead of dropping them.
        ecn: bool = false, in Value::Flag(false) => Value::Flag(true);
        /// Drops ECN-capable packets too beyond max.
        harddrop: bool = false, in Value::Flag(false) => Value::Flag(true);
    }
    profiles { "tc", "tc's automatic parameters" => |_| {}; }
    validate validate
}

/// RED of a flow.
#[derive(Clone, Debug)]
pub struct SlotRed {
    params: Params,
    vars: Vars,
    ecn: bool,
    harddrop: bool,
}

impl SlotRed {
    /// State of a flow without packets.
    pub fn new(config: &Config) -> Self {
        let (min, max) = thresholds(config);
        let wlog = weight(config).expect("a configuration without a weight is refused");
        Self {
            params: Params::new(min, max, wlog, config.probability),
            vars: Vars::new(),
            ecn: config.ecn,
            harddrop: config.harddrop,
        }
    }
}

impl Aqm for SlotRed {
    fn enqueue(&mut self, cx: &mut Cx, _: &Meta, queue: &mut dyn Fifo) -> Verdict {
        // The first packet of a flow is not judged.
        if queue.is_empty() {
            return Verdict::Accept;
        }
        self.vars.sample(&self.params, queue.bytes());
        let mark = match self.vars.action(&self.params, cx.rng) {
            Action::DontMark => return Verdict::Accept,
            Action::ProbMark => self.ecn,
            Action::HardMark => self.ecn && !self.harddrop,
        };
        if mark { Verdict::Mark } else { Verdict::Drop }
    }

    #[inline(always)]
    fn lifecycle(&mut self) -> Option<&mut dyn Lifecycle> {
        Some(self)
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.vars.observe(&self.params, see);
    }
}

impl Lifecycle for SlotRed {
    fn unscheduled(&mut self) {
        self.vars = Vars::new();
    }

    fn adopt(&mut self, cx: &mut Cx, _: &Meta) {
        self.vars.sample(&self.params, cx.backlog.bytes);
    }
}

/// Thresholds in bytes.
fn thresholds(c: &Config) -> (u64, u64) {
    let max = if c.max.0 > 0 { c.max.0 } else { c.redflowlimit.0 / 4 };
    let min = if c.min.0 > 0 { c.min.0 } else { max / 3 };
    (min, max)
}

fn burst(c: &Config) -> u64 {
    let (min, max) = thresholds(c);
    if c.burst > 0 { c.burst } else { (2 * min + max) / (3 * c.avpkt.0) }
}

fn weight(c: &Config) -> Option<u32> {
    wlog(thresholds(c).0, burst(c), c.avpkt.0)
}

fn validate(c: &Config) -> Result<(), ConfigError> {
    let (min, max) = thresholds(c);
    let limit = c.redflowlimit.0;
    if min >= max {
        return Err(format!("min ({min} B) must be below max ({max} B); write e.g. min 8000B max 24000B").into());
    }
    if max > limit {
        return Err(format!(
            "max ({max} B) must not be above redflowlimit ({limit} B); write e.g. redflowlimit {max}B"
        )
        .into());
    }
    if weight(c).is_none() {
        let (burst, avpkt) = (burst(c), c.avpkt.0);
        return Err(format!(
            "no averaging weight lets a burst of {burst} packets of {avpkt} B pass below min ({min} B); tc refuses it too; write e.g. min 8000B max 24000B avpkt 1000B burst 13"
        ).into());
    }
    check_burst((min, max), burst(c), c.avpkt.0, " B")
}
