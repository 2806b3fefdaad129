//! A link of the dumbbell: service, propagation, and the queue in front of it.

use super::below::{BELOW, BelowSpec};
use super::framing::{self, Framing};
use super::keys::{Key, Kind, Need, Table, as_table, check_known, write};
use super::loss::{LOSS, LossSpec};
use super::steps::{DELAYS, Steps};
use super::{AqmSpec, Error, Files, Folder, Service, WithTables, service};
use serde_json::{Map, Value};
use sojourn_aqm::registry::{AnyConfig, Catalogue, REGISTERED};
use sojourn_aqm::{Duration, Limits, Link};
use sojourn_tcp::UPTIME;
use std::path::Path;

/// One direction of the bottleneck.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// When and how fast packets are sent.
    pub service: Service,
    /// One-way propagation delay at the start.
    pub delay: Duration,
    /// The delay over time.
    pub delays: Steps<Duration>,
    /// Whether packets overtake each other when the delay falls; else none arrives before its predecessors.
    pub reorder: bool,
    /// The clock of the node that delays: packets arrive at its ticks only.
    pub tick: Option<Duration>,
    /// Receive offload: segments of a flow that arrive within such a time become one super-packet.
    pub gro: Option<Duration>,
    /// What becomes of an IP packet on the medium.
    pub framing: Framing,
    /// Loss between the server and the far end.
    pub loss: Option<LossSpec>,
    /// The buffer between the queue and the server.
    pub below: Option<BelowSpec>,
    /// Bytes of IP that one opportunity of a trace carries, and the largest packet that the queue manager expects.
    pub mtu: u32,
    /// The queue manager.
    pub aqm: AqmSpec,
    /// How much the queue may hold.
    pub limits: Limits,
    /// What changes of queue and loss while the run goes on, in order; rates and delays have schedules.
    pub changes: Vec<LinkChange>,
}

/// A change of a link's queue or of its loss.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkChange {
    /// When, from the start of the run.
    pub at: Duration,
    /// The queue manager from then on.
    pub aqm: Option<AqmSpec>,
    /// How much the queue may hold from then on.
    pub limits: Option<Limits>,
    /// Loss from then on.
    pub loss: Option<LossSpec>,
    /// Whether what waits stays and the manager goes on from its state, because its parameters change at most.
    pub keeps: bool,
}

impl LinkChange {
    /// Whether the queue changes.
    pub fn is_of_queue(&self) -> bool {
        self.aqm.is_some() || self.limits.is_some()
    }
}

impl LinkSpec {
    /// Reads a link by itself, for a host that is no scenario; errors begin with `place`, relative paths start from
    /// `base`.
    pub fn parse(place: &str, value: &Value, base: &Path) -> Result<Self, Error> {
        Self::parse_with(place, value, base, REGISTERED)
    }

    /// [`Self::parse`] that knows the algorithms of `own` as well.
    pub fn parse_with(place: &str, value: &Value, base: &Path, own: &dyn Catalogue) -> Result<Self, Error> {
        let files = &Folder(base);
        Self::read(place, value, files, &WithTables { own, files })
    }

    /// The link with every default written out.
    pub fn canonical(&self) -> Value {
        Value::Object(self.write())
    }

    /// The configuration of its queue at the start, and of each that a change brings.
    pub fn configs(&self) -> impl Iterator<Item = &AnyConfig> {
        let changed = self.changes.iter().filter_map(|change| change.aqm.as_ref());
        std::iter::once(&self.aqm).chain(changed).map(|aqm| &aqm.config)
    }

    /// What its queue manager is told of it: the nominal rate, whatever changes.
    pub fn told(&self) -> Link {
        let (rate, mtu) = (self.service.nominal_rate(self.mtu), self.framing.accounted(self.mtu));
        Link { rate, mtu, delay: self.delay, uptime: UPTIME }
    }

    /// Reads the link at `place`, which is not over the channel of a wireless LAN.
    pub(super) fn read(place: &str, value: &Value, files: &dyn Files, own: &dyn Catalogue) -> Result<Self, Error> {
        let link = Self::read_any(place, value, files, own)?;
        if matches!(link.service, Service::Wlan(_)) {
            return Err(Error::new(place, "its channel is missing; write [wlan] with [[wlan.stations]]"));
        }
        Ok(link)
    }

    /// Reads the link at `place`.
    pub(super) fn read_any(place: &str, value: &Value, files: &dyn Files, own: &dyn Catalogue) -> Result<Self, Error> {
        let values = as_table(place, value)?;
        check_known(place, values, KEYS.iter().chain(service::KINDS.iter().copied().flatten()))?;
        let table = Table::new(place, values, KEYS);
        let (service, framing) = (Service::read(place, (values, KEYS), files)?, Framing::read(&table)?);
        let mtu = table.field("mtu")?;
        service.check(framing.wire(mtu)).map_err(|(key, text)| table.error(key, text))?;
        let delays = delays(&table, files)?;
        Ok(Self {
            delay: delays.first(),
            delays,
            reorder: table.field("reorder")?,
            // A Cox link's rate moves in steps of that name.
            tick: if matches!(service, Service::Cox(_)) { None } else { table.field("tick")? },
            gro: table.field("gro")?,
            framing,
            loss: table.field("loss")?,
            below: table.field("below")?,
            mtu,
            aqm: match values.get("aqm") {
                Some(value) => AqmSpec::read_with(value, own).map_err(|wrong| table.error("aqm", wrong.to_string()))?,
                None => table.field("aqm")?,
            },
            limits: table.field("limit")?,
            changes: Vec::new(),
            service,
        })
        .and_then(|link: Self| {
            let checked = link.aqm.config.check_link(link.limits, link.told());
            checked.map(|()| link).map_err(|wrong| table.error("aqm", wrong.to_string()))
        })
    }

    /// Reads the reverse path of `self`, from which it inherits what `value` leaves out, but not the queue.
    pub(super) fn read_reverse(
        &self,
        place: &str,
        value: Option<&Value>,
        files: &dyn Files,
        own: &dyn Catalogue,
    ) -> Result<Self, Error> {
        let mut values = value.map_or_else(|| Ok(Map::new()), |value| as_table(place, value).cloned())?;
        let (inherited, inherits_framing) = (self.write(), !values.contains_key("framing"));
        for name in ["delay", "reorder", "framing", "overhead", "mpu", "account", "mtu"] {
            // A framing of its own brings its own overhead and least size.
            if !inherits_framing && matches!(name, "overhead" | "mpu") {
                continue;
            }
            if name == "delay" && values.contains_key("delay_trace") {
                continue;
            }
            values.entry(name).or_insert_with(|| inherited[name].clone());
        }
        if !Service::is_given(&values) {
            self.service.write_reverse(self.mtu, &mut values);
        }
        Self::read(place, &Value::Object(values), files, own)
    }

    pub(super) fn write(&self) -> Map<String, Value> {
        let mut out = Map::new();
        self.service.write(&mut out);
        write(KEYS, "delay", &self.delays, &mut out);
        write(KEYS, "reorder", &self.reorder, &mut out);
        write(KEYS, "tick", &self.tick, &mut out);
        write(KEYS, "gro", &self.gro, &mut out);
        self.framing.write(KEYS, &mut out);
        write(KEYS, "loss", &self.loss, &mut out);
        write(KEYS, "below", &self.below, &mut out);
        write(KEYS, "mtu", &self.mtu, &mut out);
        write(KEYS, "aqm", &self.aqm, &mut out);
        write(KEYS, "limit", &self.limits, &mut out);
        out
    }
}

/// The delay over time: that of the key, or of a trace, which then stands as the schedule that it is.
fn delays(table: &Table, files: &dyn Files) -> Result<Steps<Duration>, Error> {
    let Some(name) = table.field::<Option<String>>("delay_trace")? else { return table.field("delay") };
    if table.values.contains_key("delay") {
        return Err(table.error("delay_trace", "there is a delay, too; leave one of them out"));
    }
    let read = files.find(&name).and_then(|path| Steps::read_trace(files.open(&path)?, &path));
    read.map_err(|text| table.error("delay_trace", text))
}

/// Smallest MTU: what every IPv4 link has to carry (RFC 791).
pub const LEAST_MTU: u64 = 68;

/// The keys of a link, whatever its service.
pub(super) const KEYS: &[Key] = &[
    Key {
        name: "delay",
        kind: Kind::Own(&DELAYS),
        need: Need::Default("0 s"),
        doc: "One-way propagation delay: constant (\"20 ms\") or in steps (\"20 ms@0s,60 ms@50s\").",
    },
    Key {
        name: "delay_trace",
        kind: Kind::File,
        need: Need::Optional,
        doc: "Instead of delay: a file with a step of it in each line (\"20 ms@0 s\"); its path starts from the scenario's folder.",
    },
    Key {
        name: "reorder",
        kind: Kind::Flag,
        need: Need::Default("false"),
        doc: "Whether packets overtake each other when the delay falls; else none arrives before its predecessors.",
    },
    Key {
        name: "tick",
        kind: Kind::PositiveTime,
        need: Need::Optional,
        doc: "Clock of the node that delays, as dummynet's at 1/HZ: packets arrive with its next tick; without it, at once.",
    },
    Key {
        name: "gro",
        kind: Kind::PositiveTime,
        need: Need::Optional,
        doc: "Receive offload before the queue: a card is polled so long after the first packet, and segments of a flow that \
              have come by then are one super-packet; without it, packets reach the queue as they come.",
    },
    Key {
        name: "framing",
        kind: Kind::Word("framing", framing::names),
        need: Need::Default("ethernet"),
        doc: "Link layer, or a preset with its overhead and mpu.",
    },
    Key {
        name: "overhead",
        kind: Kind::Size(0, 65_535),
        need: Need::Default("0 B"),
        doc: "Framing bytes added to each packet; without it, those of the framing's preset.",
    },
    Key {
        name: "mpu",
        kind: Kind::Size(0, 65_535),
        need: Need::Default("0 B"),
        doc: "Least size of a packet with its overhead; without it, that of the framing's preset.",
    },
    Key {
        name: "account",
        kind: Kind::Word("account", || framing::ACCOUNTS.to_vec()),
        need: Need::Default("adjusted"),
        doc: "Whether the queue counts the bytes of the medium (adjusted) or those of IP (ip).",
    },
    Key {
        name: "loss",
        kind: Kind::Own(&LOSS),
        need: Need::Optional,
        doc: "Loss between the server and the far end: a probability, or Gilbert-Elliott's { p, r, bad, good, step }.",
    },
    Key {
        name: "below",
        kind: Kind::Own(&BELOW),
        need: Need::Optional,
        doc: "Buffer between the queue and the server: bytes (\"1514 B\"), a ring (\"256 packets wake 64 packets\"), byte queue limits (\"bql\", \"bql max 3 kB\"), or both (\"4 packets bql\").",
    },
    Key {
        name: "mtu",
        kind: Kind::Size(LEAST_MTU, 65_535),
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
