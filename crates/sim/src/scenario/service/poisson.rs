//! Link whose delivery opportunities are a Poisson process.

use super::ServiceKind;
use crate::scenario::keys::{Key, Kind, Need, Table, table};
use crate::scenario::{Error, Files};
use serde_json::{Map, Value};
use sojourn_aqm::Rate;

table! {
    /// Poisson process of delivery opportunities.
    pub struct PoissonService {
        /// Mean rate of a link whose delivery opportunities, of one MTU each, are a Poisson process.
        poisson: Rate = Kind::Rate, Need::Required("10 Mbit/s");
    }
}

impl ServiceKind for PoissonService {
    const KEYS: &'static [Key] = Self::KEYS;

    fn read(table: &Table, _files: &dyn Files) -> Result<Self, Error> {
        Self::read(table)
    }

    fn write(&self, out: &mut Map<String, Value>) {
        self.write(out);
    }

    fn nominal_rate(&self, _mtu: u32) -> Rate {
        self.poisson
    }
}
