//! Configuration of flow queueing, independent of the flows' managers.

use crate::error::ConfigError;
use crate::limits::Limits;
use crate::params::{Bytes, Value};
use crate::time::Duration;
use crate::{choice, config};
use alloc::format;

config! {
    /// Classification, scheduling and limits of flows; the default is RFC 8290's.
    pub struct Config {
        /// Maximum packets of all flows; the host's own limit applies as well.
        limit: u64 = 10_240, in Value::Count(1) => Value::Count(MANY);
        /// Maximum bytes of all flows. Linux counts the memory of its skbs, here packet sizes count.
        memory_limit: Bytes = Bytes(32 << 20), in Value::Bytes(1) => Value::Bytes(1 << 40);
        /// Queues that the flows are hashed to; with a perfect hash, flows remembered while idle.
        flows: u64 = 1024, in Value::Count(1) => Value::Count(65_536);
        /// Hash values, if they are more than the queues: then at most `flows`, or the limit in packets if lower, have
        /// packets queued at once, and the first packet of a further flow is dropped (Linux's SFQ). Zero: one queue per
        /// value.
        divisor: u64 = 0, in Value::Count(0) => Value::Count(65_536);
        /// Interval at which the perturbed hash gets a new seed and queued packets are rehashed (tc's perturb); zero is
        /// never.
        perturb_period: Duration = Duration::ZERO, in Value::Time(Duration::ZERO) => Value::Time(Duration::from_secs(1_000_000));
        /// Bytes that a flow may send per round; the schedulers sfq and ns2 accept 0 for one packet.
        quantum: Bytes = Bytes(1514), in Value::Bytes(0) => Value::Bytes(1 << 20);
        /// Order in which flows are served.
        scheduler: Scheduler = Scheduler::DrrPlusPlus, in WORD => WORD, choices Scheduler::WORDS;
        /// Counts credit in units of 8 bytes, quantum and packets rounded up (SFQ_ALLOT_SIZE of Linux before 6.10).
        scaled_allot: bool = false, in Value::Flag(false) => Value::Flag(true);
        /// Hash by which a flow finds its queue.
        hash: Hash = Hash::Perturbed, in WORD => WORD, choices Hash::WORDS;
        /// Definition of a flow.
        isolation: Isolation = Isolation::Flow, in WORD => WORD, choices Isolation::WORDS;
        /// Packets that are dropped when a limit is reached.
        overflow: Overflow = Overflow::Fattest, in WORD => WORD, choices Overflow::WORDS;
        /// Maximum packets dropped from the fattest flow at once; dropping half of its bytes also ends the batch.
        drop_batch: u64 = 64, in Value::Count(1) => Value::Count(MANY);
        /// Notifies the fattest flow's AQM of the drops: CoDel adds them to its count.
        raise: bool = true, in Value::Flag(false) => Value::Flag(true);
        /// Maximum queued packets of one flow; the default, 1,000,000,000, is never reached.
        depth: u64 = MANY, in Value::Count(1) => Value::Count(MANY);
        /// SFQ drops at the head of a flow instead of at its tail, and a decision of a flow's AQM on an arrival, to
        /// drop or to mark, applies to the flow's head; if the head cannot be marked, the arrival is.
        headdrop: bool = false, in Value::Flag(false) => Value::Flag(true);
    }
    profiles { "plain", "FQ-CoDel's queueing (RFC 8290)" => |_| {}; }
    validate validate
}

impl Config {
    /// The host's limits combined with the configured ones.
    pub(super) fn within(&self, limits: Limits) -> Limits {
        limits.with_packets(self.limit as u32).with_bytes(self.memory_limit.0)
    }
}

choice! {
    /// Order of service.
    pub enum Scheduler {
        /// FQ-CoDel's DRR++: a list of new flows before a list of old ones; a flow with a positive deficit sends.
        DrrPlusPlus = "drr++",
        /// Linux's SFQ: one list; a flow with a positive deficit sends, and one that becomes empty leaves. Quantum 0:
        /// one packet per turn.
        Sfq = "sfq",
        /// Deficit round robin (Shreedhar and Varghese): a flow sends packets that its deficit covers.
        Drr = "drr",
        /// sfqCoDel of ns-2: one list, new flows at its front; with quantum 0 one packet per turn.
        Ns2 = "ns2",
    }
}

choice! {
    /// Mapping of flows to queues.
    pub enum Hash {
        /// A 32-bit mix of the flow and a seed of the run, scaled by multiplication, as in Linux.
        Perturbed = "perturbed",
        /// Jenkins' lookup3 of destination, source and flow without a seed, modulo the queues (ns-2).
        Jenkins = "jenkins",
        /// The flow's number modulo the queues.
        Modulo = "modulo",
        /// ns-2's SFQ: a mix of the sum of both hosts' numbers, modulo the queues.
        HostSum = "host-sum",
        /// A queue for every flow.
        Perfect = "perfect",
    }
}

choice! {
    /// Definition of a flow.
    pub enum Isolation {
        /// A transport flow, its 5-tuple.
        Flow = "flow",
        /// All packets of a source host.
        SrcHost = "src-host",
        /// All packets to a destination host.
        DstHost = "dst-host",
        /// All packets between two hosts, per direction.
        HostPair = "host-pair",
    }
}

choice! {
    /// Packets dropped to make room when a limit is reached.
    pub enum Overflow {
        /// The arriving one.
        Arrival = "arrival",
        /// After the arrival is queued, a batch at the head of the flow with the most bytes (Linux's FQ-CoDel).
        Fattest = "fattest",
        /// After the arrival is queued, one of the flow with the most packets (Linux's SFQ).
        Longest = "longest",
        /// Before the arrival is queued, the tail of the flow with the most packets (sfqCoDel of ns-2).
        LongestFirst = "longest-first",
        /// The arriving one, also if its flow has at least half as many packets as there is room for, or if the room is
        /// less than the number of flows and its flow exceeds its share of the limit (ns-2's SFQ).
        FairShare = "fair-share",
    }
}

fn validate(c: &Config) -> Result<(), ConfigError> {
    if c.quantum.0 == 0 && !matches!(c.scheduler, Scheduler::Ns2 | Scheduler::Sfq) {
        return Err("quantum (0 B) must be positive: only the schedulers sfq and ns2 accept 0 (one packet per turn); write e.g. quantum 1514B".into());
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

/// No limit on a count.
pub(super) const MANY: u64 = 1_000_000_000;
/// Unit of the perturbation period in tc.
const SECOND: Duration = Duration::from_secs(1);
/// The range of a choice is its words.
const WORD: Value = Value::Choice("");
