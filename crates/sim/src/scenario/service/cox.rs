//! Link whose delivery opportunities are a doubly stochastic Poisson (Cox) process.
//!
//! Source: K. Winstein, A. Sivaraman, H. Balakrishnan, "Stochastic Forecasts Achieve High Throughput and Low Delay over
//! Cellular Networks", NSDI 2013, §3.1; the defaults are those of keithw/sprout, `src/sprout/receiver.hh`.

use super::ServiceKind;
use crate::scenario::keys::{Key, Kind, Need, Table, table};
use crate::scenario::{Error, Files};
use serde_json::{Map, Value};
use sojourn_aqm::{Duration, Rate};

table! {
    /// Cox process of delivery opportunities.
    pub struct CoxService {
        /// Maximum rate of a link whose delivery opportunities are a Poisson process with a rate that moves at random
        /// over the whole range (Sprout's model of a cellular link: `12 Mbit/s`).
        cox: Rate = Kind::Rate, Need::Required("12 Mbit/s");
        /// With `cox`: strength of the Brownian motion of its rate, in packets per second per square root of a second.
        sigma: u64 = Kind::Count(0, 1_000_000_000), Need::Default("200");
        /// Step in which the rate of a `cox` link moves.
        tick: Duration = Kind::PositiveTime, Need::Default("20 ms");
        /// With `cox`: mean time until a rate of zero is left.
        outage: Duration = Kind::PositiveTime, Need::Default("1 s");
    }
}

impl ServiceKind for CoxService {
    const KEYS: &'static [Key] = Self::KEYS;

    fn read(table: &Table, _files: &dyn Files) -> Result<Self, Error> {
        let spec = Self::read(table)?;
        if spec.tick < SHORTEST_TICK {
            return Err(table.error("tick", format!("{} is below {SHORTEST_TICK}; write a longer one", spec.tick)));
        }
        Ok(spec)
    }

    fn write(&self, out: &mut Map<String, Value>) {
        self.write(out);
    }

    /// Middle of the range.
    fn nominal_rate(&self, _mtu: u32) -> Rate {
        Rate::from_bps((self.cox.as_bps() / 2).max(1))
    }
}

/// Minimum tick: the process steps through every tick, even when the link is idle.
const SHORTEST_TICK: Duration = Duration::from_nanos(10_000);
