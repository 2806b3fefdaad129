//! Link of constant rate.

use super::ServiceKind;
use crate::scenario::keys::{Key, Kind, Need, Table, write};
use crate::scenario::{Error, Files};
use serde_json::{Map, Value};
use sojourn_aqm::Rate;

impl ServiceKind for Rate {
    const KEYS: &'static [Key] =
        &[Key { name: "rate", kind: Kind::Rate, need: Need::Optional, doc: "Rate on the wire, framing included." }];

    /// A rate that is not a schedule.
    fn is_chosen(values: &Map<String, Value>) -> bool {
        values.get("rate").is_some_and(|rate| !super::steps::are_steps(rate))
    }

    fn read(table: &Table, _files: &dyn Files) -> Result<Self, Error> {
        table.field("rate")
    }

    fn write(&self, out: &mut Map<String, Value>) {
        write(Self::KEYS, "rate", self, out);
    }

    fn nominal_rate(&self, _mtu: u32) -> Rate {
        *self
    }
}
