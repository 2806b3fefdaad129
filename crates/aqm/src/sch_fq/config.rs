//! Parameters of the pacing scheduler, in tc's notation.

use crate::class::Priomap;
use crate::error::ConfigError;
use crate::param_list;
use crate::params::{Bytes, Param, Value};
use crate::quote::quoted;
use crate::rate::Rate;
use crate::time::Duration;
use crate::{choice, config};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::iter::Peekable;
use core::str::SplitWhitespace;

config! {
    /// Configuration of `fq`; the default is Linux's.
    pub struct Config {
        /// Maximum queued packets, per band if there are bands.
        limit: u64 = 10_000, in Value::Count(1) => Value::Count(u32::MAX as u64);
        /// Maximum queued packets of a flow.
        flow_limit: u64 = 100, in Value::Count(1) => Value::Count(u32::MAX as u64);
        /// Bytes of a flow's turn; zero is two packets of the largest size.
        quantum: Bytes = Bytes(0), in Value::Bytes(0) => Value::Bytes(1 << 20);
        /// Bytes that a new flow may send at once; zero is ten packets of the largest size.
        initial_quantum: Bytes = Bytes(0), in Value::Bytes(0) => Value::Bytes(i32::MAX as u64);
        /// Paces flows.
        pacing: bool = true, in Value::Flag(false) => Value::Flag(true);
        /// Maximum rate of a flow; zero is unlimited.
        maxrate: Rate = Rate::from_bps(0), in Value::Rate(Rate::from_bps(0)) => Value::Rate(Rate::from_bps(1_000_000_000_000));
        /// Rate up to which flows are paced per packet; faster ones are paced per quantum.
        low_rate_threshold: Rate = Rate::from_bps(550_000), in Value::Rate(Rate::from_bps(0)) => Value::Rate(Rate::from_bps(1_000_000_000_000));
        /// Idle time after which a flow gets a new quantum.
        refill_delay: Duration = Duration::from_millis(40), in Value::Time(Duration::ZERO) => Value::Time(Duration::from_secs(1000));
        /// Delay beyond the earliest departure time above which a packet is marked; packets that are not ECN-capable
        /// pass.
        ce_threshold: Duration = Duration::from_micros(u32::MAX as i64), in Value::Time(Duration::ZERO) => Value::Time(Duration::from_micros(u32::MAX as i64));
        /// Maximum time that a packet's departure time may lie ahead.
        horizon: Duration = Duration::from_secs(10), in Value::Time(Duration::ZERO) => Value::Time(Duration::from_secs(1000));
        /// Drops packets beyond the horizon, as tc's `horizon_drop`; otherwise they leave at the horizon
        /// (`horizon_cap`).
        horizon_drop: bool = true, in Value::Flag(false) => Value::Flag(true);
        /// Band, from 0 to 2, of each of the priorities 0 to 15: 16 numbers.
        priomap: Priomap = Priomap::DEFAULT, in Value::Bands(Priomap::DEFAULT) => Value::Bands(Priomap::DEFAULT);
        /// Bytes per turn of the first band; tc's `weights` gives all three.
        weight_1: u64 = 9 << 16, in Value::Count(MIN_WEIGHT) => Value::Count(i32::MAX as u64);
        /// Bytes per turn of the second band.
        weight_2: u64 = 3 << 16, in Value::Count(MIN_WEIGHT) => Value::Count(i32::MAX as u64);
        /// Bytes per turn of the third band.
        weight_3: u64 = 1 << 16, in Value::Count(MIN_WEIGHT) => Value::Count(i32::MAX as u64);
        /// Hash by which packets find their flows.
        hash: Hash = Hash::Socket, in Value::Choice("") => Value::Choice(""), choices Hash::WORDS;
        /// With `hash orphan`: number of flows, minus one.
        orphan_mask: u64 = 1023, in Value::Count(0) => Value::Count(u32::MAX as u64);
        /// Version of the scheduler.
        version: Version = Version::Linux, in Value::Choice("") => Value::Choice(""), choices Version::WORDS;
    }
    profiles {
        "linux", "Linux since 6.8: three weighted bands, and a fast path when all flows are idle" => |_| {};
        "linux-6.1", "Linux 6.1: one band; network control goes first" => |c| c.version = Version::Linux61;
    }
    validate validate
}

choice! {
    /// Mapping of packets to flows.
    pub enum Hash {
        /// Packets of local sockets: each flow has its own queue.
        Socket = "socket",
        /// Forwarded packets, as in a router: a hash of the flow, reduced to the lower bits by `orphan_mask`.
        Orphan = "orphan",
    }
}

choice! {
    /// Kernel release to follow.
    pub enum Version {
        /// Linux since 6.8, with bands and the fast path.
        Linux = "linux",
        /// Linux 6.1, without them: a packet of priority 7 goes first, and the limit counts all packets (from memory).
        Linux61 = "linux-6.1",
    }
}

/// `FQ_MIN_WEIGHT`.
const MIN_WEIGHT: u64 = 1 << 14;

fn validate(c: &Config) -> Result<(), ConfigError> {
    if c.priomap.max_band() > 2 {
        return Err(format!("priomap names band {}; fq has bands 0 to 2", c.priomap.max_band()).into());
    }
    if c.version == Version::Linux61 {
        let plain = Config::default();
        let bands = |c: &Config| (c.priomap, c.weight_1, c.weight_2, c.weight_3);
        if bands(c) != bands(&plain) {
            return Err(
                "fq of Linux 6.1 has no bands; leave priomap and weights out, or use fq without @linux-6.1".into()
            );
        }
    }
    if c.maxrate > Rate::from_bps(0) && c.maxrate < Rate::from_bps(8) {
        return Err(
            format!("maxrate ({}) is below 8 bit/s (one byte per second); write a higher rate", c.maxrate).into()
        );
    }
    Ok(())
}

/// Parses tc's other keywords: `weights`, `priomap`, `horizon_cap`, `bands 3`.
pub(super) fn words(
    words: &mut Peekable<SplitWhitespace<'_>>,
    given: &mut Vec<(String, String)>,
    _: &[Param],
) -> Result<bool, ConfigError> {
    let Some(&word) = words.peek() else { return Ok(false) };
    let mut set = |name: &str, value: String| param_list::add(given, "fq", name, value);
    match word {
        "horizon_cap" => {
            words.next();
            set("horizon_drop", "off".into())?;
        }
        "bands" => {
            words.next();
            let number = words.next().unwrap_or("");
            if number != "3" {
                return Err(
                    format!("bands: fq has three, not {}; write bands 3, or leave it out", quoted(number)).into()
                );
            }
        }
        "priomap" | "weights" => {
            words.next();
            let numbers = param_list::numbers(words);
            match (word, &numbers[..]) {
                ("weights", [first, second, third]) => {
                    for (name, weight) in [("weight_1", first), ("weight_2", second), ("weight_3", third)] {
                        set(name, weight.to_string())?;
                    }
                }
                ("weights", _) => return Err("weights: fq has three; write e.g. weights 589824 196608 65536".into()),
                _ => set("priomap", numbers.join(","))?,
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}
