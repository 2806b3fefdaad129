//! Token bucket: a long-term rate, and bursts at a higher one ("power boost").

use super::ServiceKind;
use crate::scenario::keys::{Key, Kind, Need, Table, table};
use crate::scenario::{Error, Files};
use serde_json::{Map, Value};
use sojourn_aqm::Rate;

table! {
    /// Token bucket, full at the start.
    pub struct BucketService {
        /// Token bucket, full at the start: rate at which tokens arrive.
        bucket: Rate = Kind::Rate, Need::Required("10 Mbit/s");
        /// Size of the token bucket; at least a full packet with its framing, unless `overdraft` is set.
        burst: u64 = Kind::Size(1, LARGEST_BURST), Need::Required("100 kB");
        /// Rate at which packets are sent while there are tokens; at least `bucket`. After a pause a saturated link
        /// sends at `peak` for `burst` / (`peak` − `bucket`).
        peak: Rate = Kind::Rate, Need::Required("50 Mbit/s");
        /// Send as soon as there is any token and let the count go negative, as HTB and DOCSIS do. Otherwise a packet
        /// that lacks tokens has left the queue and waits in front of the transmitter, as under TBF.
        overdraft: bool = Kind::Flag, Need::Default("false");
    }
}

impl ServiceKind for BucketService {
    const KEYS: &'static [Key] = Self::KEYS;

    fn read(table: &Table, _files: &dyn Files) -> Result<Self, Error> {
        let spec = Self::read(table)?;
        if spec.peak < spec.bucket {
            let text = format!("{} is below bucket ({}); write at least that", spec.peak, spec.bucket);
            return Err(table.error("peak", text));
        }
        Ok(spec)
    }

    fn check(&self, largest: u32) -> Result<(), (&'static str, String)> {
        if self.overdraft || self.burst >= u64::from(largest) {
            return Ok(());
        }
        let text = format!(
            "{} B is below a full packet with its framing ({largest} B), which would never be sent; write at least \
             that, or overdraft = true",
            self.burst
        );
        Err(("burst", text))
    }

    fn write(&self, out: &mut Map<String, Value>) {
        self.write(out);
    }

    fn nominal_rate(&self, _mtu: u32) -> Rate {
        self.bucket
    }
}

/// 1 GB: its bit-nanoseconds stay within 63 bits.
const LARGEST_BURST: u64 = 1_000_000_000;
