//! What there is to choose about queueing flows apart, whatever manages each flow's queue.

use crate::error::ConfigError;
use crate::params::{Bytes, Value};
use crate::time::Duration;
use crate::{choice, config};
use alloc::format;

config! {
    /// How flows are told apart, served in turn and kept within limits; the default is RFC 8290's.
    pub struct Config {
        /// The most waiting packets of all flows; the host's own limit holds as well.
        limit: u64 = 10_240, in Value::Count(1) => Value::Count(MANY);
        /// The most waiting bytes of all flows. Linux counts what its packets occupy in memory, here it is their sizes.
        memory_limit: Bytes = Bytes(32 << 20), in Value::Bytes(1) => Value::Bytes(1 << 40);
        /// Queues that the flows are hashed to; where the hash is perfect, flows remembered while idle.
        flows: u64 = 1024, in Value::Count(1) => Value::Count(65_536);
        /// Values of the hash where they are more than the queues: then `flows`, or the limit in packets where that is less,
        /// is the most flows that wait at once, and the first packet of another one is refused (Linux's SFQ). Zero: each
        /// value has its queue.
        divisor: u64 = 0, in Value::Count(0) => Value::Count(65_536);
        /// How often the perturbed hash is seeded anew and the waiting packets are hashed again (tc's perturb); zero is never.
        perturb_period: Duration = Duration::ZERO, in Value::Time(Duration::ZERO) => Value::Time(Duration::from_secs(1_000_000));
        /// Bytes that a flow may send per round; the schedulers sfq and ns2 take 0 for one packet.
        quantum: Bytes = Bytes(1514), in Value::Bytes(0) => Value::Bytes(1 << 20);
        /// In which order the flows are served.
        scheduler: Scheduler = Scheduler::DrrPlusPlus, in WORD => WORD, choices Scheduler::WORDS;
        /// Counts credit in units of 8 bytes, quantum and packets rounded up (SFQ_ALLOT_SIZE of Linux before 6.10).
        scaled_allot: bool = false, in Value::Flag(false) => Value::Flag(true);
        /// How a flow finds its queue.
        hash: Hash = Hash::Perturbed, in WORD => WORD, choices Hash::WORDS;
        /// What counts as one flow.
        isolation: Isolation = Isolation::Flow, in WORD => WORD, choices Isolation::WORDS;
        /// Which packets make room when a limit is reached.
        overflow: Overflow = Overflow::Fattest, in WORD => WORD, choices Overflow::WORDS;
        /// The most packets that the fattest flow loses at once; half of its bytes end it as well.
        drop_batch: u64 = 64, in Value::Count(1) => Value::Count(MANY);
        /// Tells the fattest flow's AQM how many packets it lost: CoDel adds them to its count.
        raise: bool = true, in Value::Flag(false) => Value::Flag(true);
        /// The most waiting packets of one flow; a thousand million, the default, are never reached.
        depth: u64 = MANY, in Value::Count(1) => Value::Count(MANY);
        /// SFQ makes room at the head of a flow instead of at its tail, and what a flow's AQM decides about an arriving
        /// packet, to drop or to mark it, befalls the flow's head: a head that cannot be marked leaves the mark to the arrival.
        headdrop: bool = false, in Value::Flag(false) => Value::Flag(true);
    }
    profiles { "plain", "FQ-CoDel's queueing (RFC 8290)" => |_| {}; }
    validate validate
}

choice! {
    /// In which order the flows are served.
    pub enum Scheduler {
        /// FQ-CoDel's DRR++: a list of new flows before a list of old ones, each flow in credit sends.
        DrrPlusPlus = "drr++",
        /// Linux's SFQ: one round, a flow in credit sends, and one that runs empty leaves. Quantum 0: a packet per turn.
        Sfq = "sfq",
        /// Deficit round robin (Shreedhar and Varghese): a flow sends what its credit covers.
        Drr = "drr",
        /// sfqCoDel of ns-2: one round in which new flows go first; with quantum 0 a packet per turn.
        Ns2 = "ns2",
    }
}

choice! {
    /// How a flow finds its queue.
    pub enum Hash {
        /// A 32-bit mix of the flow and a seed of the run, scaled by multiplication, as in Linux.
        Perturbed = "perturbed",
        /// Jenkins' lookup3 of destination, source and flow without a seed, modulo the queues (ns-2).
        Jenkins = "jenkins",
        /// The flow's number modulo the queues.
        Modulo = "modulo",
        /// ns-2's SFQ: a mix of the sum of both hosts' numbers, modulo the queues.
        HostSum = "host-sum",
        /// Every flow has its own queue.
        Perfect = "perfect",
    }
}

choice! {
    /// What counts as one flow.
    pub enum Isolation {
        /// A transport flow, its 5-tuple.
        Flow = "flow",
        /// All that a host sends.
        SrcHost = "src-host",
        /// All that a host receives.
        DstHost = "dst-host",
        /// All that one host sends to another.
        HostPair = "host-pair",
    }
}

choice! {
    /// Which packets make room when a limit is reached.
    pub enum Overflow {
        /// The arriving one is refused.
        Arrival = "arrival",
        /// After it is queued, a batch at the head of the flow with the most bytes (Linux's FQ-CoDel).
        Fattest = "fattest",
        /// After it is queued, one of the flow with the most packets (Linux's SFQ).
        Longest = "longest",
        /// Before it is queued, the tail of the flow with the most packets (sfqCoDel of ns-2).
        LongestFirst = "longest-first",
        /// The arriving one is refused, also where its flow has half as many packets as there is room for, or where there is
        /// less room than flows and its flow has more than its share of the limit (ns-2's SFQ).
        FairShare = "fair-share",
    }
}

fn validate(c: &Config) -> Result<(), ConfigError> {
    if c.quantum.0 == 0 && !matches!(c.scheduler, Scheduler::Ns2 | Scheduler::Sfq) {
        return Err("quantum (0 B) must be positive: only the schedulers sfq and ns2 take 0, for a packet per turn; write e.g. quantum 1514B".into());
    }
    if c.perturb_period > Duration::ZERO && (c.hash != Hash::Perturbed || c.perturb_period < SECOND) {
        let period = c.perturb_period;
        return Err(format!(
            "perturb_period ({period}) must be 1 s or more, or zero, and needs hash perturbed; write e.g. perturb_period 10s hash perturbed"
        ).into());
    }
    if c.divisor > 0 && c.divisor < c.flows {
        let (divisor, flows) = (c.divisor, c.flows);
        return Err(
            format!("divisor ({divisor}) must not be less than flows ({flows}); write e.g. divisor {flows}").into()
        );
    }
    Ok(())
}

/// Stands for "no limit" where a count is asked for.
pub(super) const MANY: u64 = 1_000_000_000;
/// tc's unit of the perturbation.
const SECOND: Duration = Duration::from_secs(1);
/// The range of a choice is its words.
const WORD: Value = Value::Choice("");
