//! Channel of a wireless LAN, which all its queues share; the share of a single queue is not known in advance.

use super::ServiceKind;
use crate::scenario::keys::{Key, Kind, Need, Table, write};
use crate::scenario::{Error, Files};
use serde_json::{Map, Value};
use sojourn_aqm::Rate;

/// Link over the channel of `[wlan]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WlanService {
    /// Rate that queue managers and limits in time assume; above zero.
    pub rate: Rate,
}

impl WlanService {
    /// Key of links over the channel.
    pub(in crate::scenario) const KEY: &'static str = "wlan_rate";

    /// Default: goodput of one TCP connection at 54 Mbit/s without losses.
    pub(in crate::scenario) const USUAL: &'static str = "24.6 Mbit/s";
}

impl ServiceKind for WlanService {
    const KEYS: &'static [Key] = &[Key {
        name: Self::KEY,
        kind: Kind::Rate,
        need: Need::Required("24.6 Mbit/s"),
        doc: "Serves the link by the channel of `[wlan]`; the queue manager and limits in time assume this rate. \
              Default: `24.6 Mbit/s` with a wireless LAN.",
    }];

    fn read(table: &Table, _: &dyn Files) -> Result<Self, Error> {
        Ok(Self { rate: table.field(Self::KEY)? })
    }

    fn write(&self, out: &mut Map<String, Value>) {
        write(Self::KEYS, Self::KEY, &self.rate, out);
    }

    fn nominal_rate(&self, _: u32) -> Rate {
        self.rate
    }
}
