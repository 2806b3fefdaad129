//! Parameters of CAKE; their names are those of `tc -j`, with underscores.

pub use super::tins::DiffservMode;
pub use crate::link_layer::CellFraming;

use super::heap::Heap;
use super::overhead::Overhead;
use super::tin::Tin;
use crate::cobalt;
use crate::cobalt::law::KernelRelease;
use crate::error::ConfigError;
use crate::params::{Bytes, Value};
use crate::rate::Rate;
use crate::time::Duration;
use crate::{choice, config};
use alloc::format;

config! {
    /// CAKE's configuration; the default is tc's.
    pub struct Config {
        /// Shaped rate, 512 bit/s or more; zero (tc's `unlimited`): the link's rate.
        bandwidth: Rate = Rate::from_bps(0), in Value::Rate(Rate::from_bps(0)) => Value::Rate(Rate::from_bps(1_000_000_000_000));
        /// Shapes to 15/16 of the arrival rate, estimated from `bandwidth` on.
        autorate_ingress: bool = false, in Value::Flag(false) => Value::Flag(true);
        /// Tins, chosen by DSCP.
        tins: DiffservMode = DiffservMode::Diffserv3, in WORD => WORD, choices DiffservMode::WORDS;
        /// Entities that get equal shares.
        isolation: Isolation = Isolation::TripleIsolate, in WORD => WORD, choices Isolation::WORDS;
        /// Interval of COBALT, a usual round-trip time; its target is 1/20 of it. tc's words `lan`, `internet`,
        /// `satellite` and so on stand for such times.
        rtt: Duration = Duration::from_millis(100), in MICROSECOND => Value::Time(Duration::from_secs(1000));
        /// Clears the DSCP of outgoing packets; the ECN field stays.
        wash: bool = false, in Value::Flag(false) => Value::Flag(true);
        /// Drops acknowledgments that a later one in the queue makes redundant, if the host passes TCP headers.
        ack_filter: AckFilter = AckFilter::Off, in WORD => WORD, choices AckFilter::WORDS;
        /// Shapes ingress traffic: drops are charged too, because the packets have already crossed the link in front.
        ingress: bool = false, in Value::Flag(false) => Value::Flag(true);
        /// Memory limit in bytes; zero: four intervals at the rate, at least 4 MiB. Linux counts the memory of its
        /// skbs, here packet sizes count. The host's own limit applies as well.
        memlimit: Bytes = Bytes(0), in Value::Bytes(0) => Value::Bytes(u32::MAX as u64);
        /// Overhead of each packet on the wire in whole bytes, from -64 to 256.
        overhead: f64 = 0.0, in Value::Number(-64.0) => Value::Number(256.0);
        /// Minimum size on the wire, overhead included.
        mpu: u64 = 0, in Value::Count(0) => Value::Count(256);
        /// Link layer, which determines the size on the wire of a packet with its overhead.
        layer: CellFraming = CellFraming::Plain, in WORD => WORD, choices CellFraming::WORDS;
        /// Bytes of a packet, as this queue accounts it, before its IP header; they do not count on the wire. 14 on
        /// Ethernet; links of scenarios account packets from the IP header on.
        link_header: u64 = 0, in Value::Count(0) => Value::Count(256);
        /// Splits GSO super-packets into their segments; otherwise each is one packet, whose segments count on the wire
        /// as if they were equally long.
        split_gso: bool = true, in Value::Flag(false) => Value::Flag(true);
        /// Hash by which flows find their queues.
        hash: Hash = Hash::Perturbed, in WORD => WORD, choices Hash::WORDS;
        /// Version: versions differ in their COBALT, and in autorate-ingress.
        version: Version = Version::Linux, in WORD => WORD, choices Version::WORDS;
    }
    profiles {
        "linux", "Linux 6.12" => |_| {};
        "linux-6.1", "Linux 6.1: three square roots of its COBALT are less exact" => |c| c.version = Version::Linux61;
        "linux-7.3", "Linux 7.3: BLUE draws no random number for packets that CoDel's law drops; autorate-ingress changes the rate every 250 ms" => |c| c.version = Version::Linux73;
    }
    validate validate
}

choice! {
    /// Entities that get equal shares.
    pub enum Isolation {
        /// No isolation: one queue.
        Flowblind = "flowblind",
        /// Sending hosts.
        Srchost = "srchost",
        /// Receiving hosts.
        Dsthost = "dsthost",
        /// Pairs of sending and receiving host.
        Hosts = "hosts",
        /// Flows.
        Flows = "flows",
        /// Sending hosts, and their flows.
        DualSrchost = "dual-srchost",
        /// Receiving hosts, and their flows.
        DualDsthost = "dual-dsthost",
        /// Hosts at both ends, and their flows.
        TripleIsolate = "triple-isolate",
    }
}

choice! {
    /// Acknowledgments to drop.
    pub enum AckFilter {
        /// None.
        Off = "off",
        /// The older of two that the new one makes redundant.
        Filter = "filter",
        /// Also a single one right before the new one.
        Aggressive = "aggressive",
    }
}

choice! {
    /// Hash of packets into 128 sets of 8 queues.
    pub enum Hash {
        /// A 32-bit mix of flow or host number and a seed of the run.
        Perturbed = "perturbed",
        /// Flow and host numbers modulo 1024: up to 1024 consecutive ones do not collide.
        Modulo = "modulo",
    }
}

choice! {
    /// Kernel release to follow.
    pub enum Version {
        /// Linux 6.12.
        Linux = "linux",
        /// Linux 6.1.
        Linux61 = "linux-6.1",
        /// Linux 7.3.
        Linux73 = "linux-7.3",
    }
}

impl Version {
    /// Kernel release whose COBALT it has.
    pub(super) fn release(self) -> KernelRelease {
        match self {
            Self::Linux61 => KernelRelease::Linux61,
            Self::Linux => KernelRelease::Linux612,
            Self::Linux73 => KernelRelease::Linux73,
        }
    }
}

impl Config {
    /// Memory of its tins and its heap, in bytes.
    pub(crate) fn built_bytes(&self) -> u64 {
        self.tins.shares(0).len() as u64 * Tin::BYTES + Heap::BYTES
    }

    /// COBALT's target: 1/20 of the interval, in whole microseconds.
    pub(super) fn target(&self) -> Duration {
        Duration::from_micros((self.rtt.as_nanos() / 20_000).max(1))
    }

    pub(super) fn framing(&self) -> Overhead {
        let (overhead, mpu) = (self.overhead as i32, self.mpu as u32);
        Overhead { header: self.link_header as u32, overhead, mpu, layer: self.layer }
    }

    /// Maximum backlog in bytes at `rate` bytes per second.
    pub(super) fn memory_limit(&self, rate: u64, mtu: u32) -> u64 {
        let given = self.memlimit.0;
        let wanted = match (given, rate) {
            (0, 0) => u32::MAX as u64,
            (0, rate) => {
                let intervals = rate as u128 * (self.rtt.as_nanos() / 1000) as u128 / (1_000_000 / 4);
                // Truncated to 32 bits, as in the kernel.
                (intervals as u32 as u64).max(4 << 20)
            }
            (given, _) => given,
        };
        wanted.min((PACKETS * mtu as u64).max(given))
    }
}

fn validate(c: &Config) -> Result<(), ConfigError> {
    if libm::trunc(c.overhead) != c.overhead {
        return Err(format!("overhead ({}) is not a whole number of bytes; write e.g. overhead 18", c.overhead).into());
    }
    cobalt::refuse_slow(c.bandwidth)
}

/// Linux's `sch->limit`: not a limit in packets, but a bound for the limit in bytes.
const PACKETS: u64 = 10_240;
const MICROSECOND: Value = Value::Time(Duration::from_micros(1));
/// A choice has no numeric range, only its keywords.
const WORD: Value = Value::Choice("");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_four_intervals_of_the_rate_within_bounds() {
        let plain = Config::default();
        let limits = [1, 10, 100, 311, 1000, 10_000].map(|mbit| plain.memory_limit(mbit * 125_000, 1514));
        assert_eq!(limits, [4_194_304, 4_194_304, 5_000_000, 15_503_360, 15_503_360, 15_503_360]);
        assert_eq!(plain.memory_limit(0, 1514), 15_503_360);
        let given = Config { memlimit: Bytes(99_999_999), ..plain };
        assert_eq!(given.memory_limit(125_000, 1514), 99_999_999);
    }

    #[test]
    fn targets_are_whole_microseconds() {
        let target = |rtt| Config { rtt, ..Config::default() }.target();
        assert_eq!(target(Duration::from_micros(77_777)), Duration::from_micros(3888));
        assert_eq!(target(Duration::from_micros(7)), Duration::from_micros(1));
    }
}
