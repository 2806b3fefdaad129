//! A link of constant rate.

use super::ServiceKind;
use crate::scenario::Error;
use crate::scenario::keys::{Key, Kind, Need, Table, write};
use serde_json::{Map, Value};
use sojourn_aqm::Rate;
use std::path::Path;

impl ServiceKind for Rate {
    const KEYS: &'static [Key] = &[Key {
        name: "rate",
        kind: Kind::Rate,
        need: Need::Optional,
        doc: "Constant rate on the wire, framing included, e.g. \"10 Mbit/s\".",
    }];

    fn read(table: &Table, _base: &Path) -> Result<Self, Error> {
        table.field("rate")
    }

    fn write(&self, out: &mut Map<String, Value>) {
        write(Self::KEYS, "rate", self, out);
    }

    /// The same rate.
    fn write_way_back(&self, _mtu: u32, out: &mut Map<String, Value>) {
        self.write(out);
    }

    fn mean_rate(&self, _mtu: u32) -> Rate {
        *self
    }
}
