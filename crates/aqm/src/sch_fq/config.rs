//! The parameters of the pacing scheduler, in tc's words.

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
    /// The configuration; the default is Linux's.
    pub struct Config {
        /// Most packets that wait, of each band where there are bands.
        limit: u64 = 10_000, in Value::Count(1) => Value::Count(u32::MAX as u64);
        /// Most packets of a flow.
        flow_limit: u64 = 100, in Value::Count(1) => Value::Count(u32::MAX as u64);
        /// Bytes of a flow's turn; zero takes two packets of the largest size.
        quantum: Bytes = Bytes(0), in Value::Bytes(0) => Value::Bytes(1 << 20);
        /// Bytes that a new flow may send at once; zero takes ten packets of the largest size.
        initial_quantum: Bytes = Bytes(0), in Value::Bytes(0) => Value::Bytes(i32::MAX as u64);
        /// Whether flows are paced.
        pacing: bool = true, in Value::Flag(false) => Value::Flag(true);
        /// Most that a flow gets; zero bounds none.
        maxrate: Rate = Rate::from_bps(0), in Value::Rate(Rate::from_bps(0)) => Value::Rate(Rate::from_bps(1_000_000_000_000));
        /// Flows up to this rate are paced packet by packet, faster ones by their quanta.
        low_rate_threshold: Rate = Rate::from_bps(550_000), in Value::Rate(Rate::from_bps(0)) => Value::Rate(Rate::from_bps(1_000_000_000_000));
        /// A flow that has been idle for longer gets a quantum when it comes again.
        refill_delay: Duration = Duration::from_millis(40), in Value::Time(Duration::ZERO) => Value::Time(Duration::from_secs(1000));
        /// A packet that leaves so much later than it could have gone is marked; one that is not ECN-capable stays as it is.
        ce_threshold: Duration = Duration::from_micros(u32::MAX as i64), in Value::Time(Duration::ZERO) => Value::Time(Duration::from_micros(u32::MAX as i64));
        /// How far ahead a packet's own time may lie.
        horizon: Duration = Duration::from_secs(10), in Value::Time(Duration::ZERO) => Value::Time(Duration::from_secs(1000));
        /// Whether a packet beyond the horizon is dropped, as tc's `horizon_drop` says; `horizon_cap` lets it go at the horizon.
        horizon_drop: bool = true, in Value::Flag(false) => Value::Flag(true);
        /// The band, from 0 to 2, of each of the priorities 0 to 15: 16 numbers.
        priomap: Priomap = Priomap::DEFAULT, in Value::Bands(Priomap::DEFAULT) => Value::Bands(Priomap::DEFAULT);
        /// Bytes of a turn of the first band; tc's `weights` are all three.
        weight_1: u64 = 9 << 16, in Value::Count(MIN_WEIGHT) => Value::Count(i32::MAX as u64);
        /// Of the second.
        weight_2: u64 = 3 << 16, in Value::Count(MIN_WEIGHT) => Value::Count(i32::MAX as u64);
        /// Of the third.
        weight_3: u64 = 1 << 16, in Value::Count(MIN_WEIGHT) => Value::Count(i32::MAX as u64);
        /// How packets find their flows.
        hash: Hash = Hash::Socket, in Value::Choice("") => Value::Choice(""), choices Hash::WORDS;
        /// With `hash orphan` the number of flows, less one.
        orphan_mask: u64 = 1023, in Value::Count(0) => Value::Count(u32::MAX as u64);
        /// Whose scheduler it is.
        version: Version = Version::Linux, in Value::Choice("") => Value::Choice(""), choices Version::WORDS;
    }
    profiles {
        "linux", "Linux since 6.8: three bands with weights, and a path for what finds all flows idle" => |_| {};
        "linux-6.1", "Linux 6.1: one band; network control goes first" => |c| c.version = Version::Linux61;
    }
    validate validate
}

choice! {
    /// How packets find their flows.
    pub enum Hash {
        /// Every flow has a socket on this host, and so a queue of its own.
        Socket = "socket",
        /// Packets of others, as in a router: a hash of the flow, of which `orphan_mask` keeps the lower bits.
        Orphan = "orphan",
    }
}

choice! {
    /// Whose scheduler it is.
    pub enum Version {
        /// Linux since 6.8.
        Linux = "linux",
        /// Linux 6.1.
        Linux61 = "linux-6.1",
    }
}

/// `FQ_MIN_WEIGHT`.
const MIN_WEIGHT: u64 = 1 << 14;

fn validate(c: &Config) -> Result<(), ConfigError> {
    if c.priomap.max_band() > 2 {
        return Err(format!("priomap has the band {}; fq has three, 0 to 2", c.priomap.max_band()).into());
    }
    if c.version == Version::Linux61 {
        let plain = Config::default();
        let bands = |c: &Config| (c.priomap, c.weight_1, c.weight_2, c.weight_3);
        if bands(c) != bands(&plain) {
            return Err(
                "fq of Linux 6.1 has no bands; leave priomap and weights out, or take fq without @linux-6.1".into()
            );
        }
    }
    if c.maxrate > Rate::from_bps(0) && c.maxrate < Rate::from_bps(8) {
        return Err(format!("maxrate ({}) is below 8 bit/s, a byte per second", c.maxrate).into());
    }
    Ok(())
}

/// Reads tc's other words: `weights`, `priomap`, `horizon_cap`, `bands 3`.
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
