//! The channel of a wireless LAN, which all its queues share: the rate that it gives one of them is for nobody to say.

use super::ServiceKind;
use crate::scenario::keys::{Key, Kind, Need, Table, write};
use crate::scenario::{Error, Files};
use serde_json::{Map, Value};
use sojourn_aqm::Rate;

/// A link over the channel of `[wlan]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WlanService {
    /// The rate that queue managers and limits in time take for the link's; above zero.
    pub rate: Rate,
}

impl WlanService {
    /// The key of links over the channel.
    pub(in crate::scenario) const KEY: &'static str = "wlan_rate";

    /// What one TCP connection at 54 Mbit/s gets without losses.
    pub(in crate::scenario) const USUAL: &'static str = "24.6 Mbit/s";
}

impl ServiceKind for WlanService {
    const KEYS: &'static [Key] = &[Key {
        name: Self::KEY,
        kind: Kind::Rate,
        need: Need::Required("24.6 Mbit/s"),
        doc: "Sends over the channel of [wlan]; the rate that the queue manager takes for the link's.",
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
