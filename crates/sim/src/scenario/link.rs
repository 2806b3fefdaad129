//! A link of the dumbbell: service, propagation, and the queue in front of it.

use super::keys::{Key, Kind, Need, Table, as_table, check_known, write};
use super::{AqmSpec, Error, Service, service};
use serde_json::{Map, Value};
use sojourn_aqm::registry::Catalogue;
use sojourn_aqm::{Duration, Limits};
use std::path::Path;

/// One direction of the bottleneck.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// When and how fast packets are sent.
    pub service: Service,
    /// One-way propagation delay.
    pub delay: Duration,
    /// Framing bytes added to each packet on the wire and in the queue's accounting.
    pub overhead: u32,
    /// Bytes of IP that one opportunity of a trace carries, and the largest packet that the queue manager expects.
    pub mtu: u32,
    /// The queue manager.
    pub aqm: AqmSpec,
    /// How much the queue may hold.
    pub limits: Limits,
}

impl LinkSpec {
    /// Reads the link at `place`.
    pub(super) fn read(place: &str, value: &Value, base: &Path, own: &dyn Catalogue) -> Result<Self, Error> {
        let values = as_table(place, value)?;
        check_known(place, values, KEYS.iter().chain(service::KINDS.iter().copied().flatten()))?;
        let table = Table::new(place, values, KEYS);
        Ok(Self {
            service: Service::read(place, values, base)?,
            delay: table.field("delay")?,
            overhead: table.field("overhead")?,
            mtu: table.field("mtu")?,
            aqm: match values.get("aqm") {
                Some(value) => AqmSpec::read_with(value, own).map_err(|text| table.error("aqm", text))?,
                None => table.field("aqm")?,
            },
            limits: table.field("limit")?,
        })
    }

    /// Reads the way back of `self`, which lends it what `value` leaves out, but not its queue.
    pub(super) fn read_way_back(
        &self,
        place: &str,
        value: Option<&Value>,
        base: &Path,
        own: &dyn Catalogue,
    ) -> Result<Self, Error> {
        let mut values = value.map_or_else(|| Ok(Map::new()), |value| as_table(place, value).cloned())?;
        let lent = self.write();
        for name in ["delay", "overhead", "mtu"] {
            values.entry(name).or_insert_with(|| lent[name].clone());
        }
        if !Service::is_given(&values) {
            self.service.write_way_back(self.mtu, &mut values);
        }
        Self::read(place, &Value::Object(values), base, own)
    }

    pub(super) fn write(&self) -> Map<String, Value> {
        let mut out = Map::new();
        self.service.write(&mut out);
        write(KEYS, "delay", &self.delay, &mut out);
        write(KEYS, "overhead", &self.overhead, &mut out);
        write(KEYS, "mtu", &self.mtu, &mut out);
        write(KEYS, "aqm", &self.aqm, &mut out);
        write(KEYS, "limit", &self.limits, &mut out);
        out
    }
}

/// The keys of a link, whatever its service.
pub(super) const KEYS: &[Key] = &[
    Key { name: "delay", kind: Kind::Time, need: Need::Default("0 s"), doc: "One-way propagation delay." },
    Key {
        name: "overhead",
        kind: Kind::Size(0, 65_535),
        need: Need::Default("0 B"),
        doc: "Framing bytes added to each packet on the wire and in the queue's accounting.",
    },
    Key {
        name: "mtu",
        kind: Kind::Size(1, 65_535),
        need: Need::Default("1500 B"),
        doc: "Bytes of IP that one opportunity of a trace carries, and the largest packet the queue manager expects.",
    },
    Key {
        name: "aqm",
        kind: Kind::Aqm,
        need: Need::Default("droptail"),
        doc: "Queue manager, as a text like \"codel@act target 5ms\" or as a table.",
    },
    Key {
        name: "limit",
        kind: Kind::Limits,
        need: Need::Default("1000 packets"),
        doc: "Most that may wait, in packets, bytes or time at the link's mean rate; a list for several.",
    },
];
