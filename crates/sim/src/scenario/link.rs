//! One direction of a link: queue, service and propagation.

use super::framing::{self, Framing};
use super::keys::{Key, Kind, Need, Table, as_table, check_known, write};
use super::loss::{LOSS, LossSpec};
use super::steps::{DELAYS, Steps};
use super::tx_ring::{BELOW, TxRingSpec};
use super::{AqmSpec, Error, Files, Folder, Service, TableCatalogue, service};
use serde_json::{Map, Value};
use sojourn_aqm::registry::{AnyConfig, Catalogue, REGISTERED};
use sojourn_aqm::{Duration, Limits, Link};
use sojourn_tcp::UPTIME;
use std::path::Path;

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// Service of the queue.
    pub service: Service,
    /// One-way propagation delay at the start.
    pub delay: Duration,
    /// Propagation delay over time.
    pub delays: Steps<Duration>,
    /// Whether packets overtake each other when the delay falls; otherwise none arrives before its predecessors.
    pub reorder: bool,
    /// Clock period of the delaying node: packets arrive at its ticks only.
    pub tick: Option<Duration>,
    /// Receive offload: segments of a flow that arrive within this time become one super-packet.
    pub gro: Option<Duration>,
    /// Framing of IP packets on the medium.
    pub framing: Framing,
    /// Loss between the server and the far end.
    pub loss: Option<LossSpec>,
    /// Buffer between the queue and the server.
    pub below: Option<TxRingSpec>,
    /// Bytes of IP per delivery opportunity, and the maximum packet that the queue manager assumes.
    pub mtu: u32,
    /// Queue manager at the start.
    pub aqm: AqmSpec,
    /// Limits of the queue at the start.
    pub limits: Limits,
    /// Changes of queue and loss during the run, in order of time; rates and delays have schedules instead.
    pub changes: Vec<LinkChange>,
}

/// Change of a link's queue or loss during the run.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkChange {
    /// Time since the start of the run.
    pub at: Duration,
    /// New queue manager.
    pub aqm: Option<AqmSpec>,
    /// New limits of the queue.
    pub limits: Option<Limits>,
    /// New loss.
    pub loss: Option<LossSpec>,
    /// Whether waiting packets and the manager's state are kept, because only parameters or limits change.
    pub keeps: bool,
}

impl LinkChange {
    /// Whether it changes the queue.
    pub fn is_of_queue(&self) -> bool {
        self.aqm.is_some() || self.limits.is_some()
    }
}

impl LinkSpec {
    /// Reads a link outside of a scenario; errors begin with `place`, relative paths start from `base`.
    pub fn parse(place: &str, value: &Value, base: &Path) -> Result<Self, Error> {
        Self::parse_with(place, value, base, REGISTERED)
    }

    /// [`Self::parse`] with the algorithms of `own` as well.
    pub fn parse_with(place: &str, value: &Value, base: &Path, own: &dyn Catalogue) -> Result<Self, Error> {
        let files = &Folder(base);
        Self::read(place, value, files, &TableCatalogue { own, files })
    }

    /// The link with every default written out.
    pub fn canonical(&self) -> Value {
        Value::Object(self.write())
    }

    /// Configurations of its queue managers: at the start and after each change.
    pub fn configs(&self) -> impl Iterator<Item = &AnyConfig> {
        let changed = self.changes.iter().filter_map(|change| change.aqm.as_ref());
        std::iter::once(&self.aqm).chain(changed).map(|aqm| &aqm.config)
    }

    /// Link as its queue manager sees it, with the nominal rate: managers are not notified of rate changes.
    pub fn nominal_link(&self) -> Link {
        let (rate, mtu) = (self.service.nominal_rate(self.mtu), self.framing.accounted(self.mtu));
        Link { rate, mtu, delay: self.delay, uptime: UPTIME }
    }

    /// Reads the link at `place`; an error if it is over the channel of a wireless LAN.
    pub(super) fn read(place: &str, value: &Value, files: &dyn Files, own: &dyn Catalogue) -> Result<Self, Error> {
        let link = Self::read_any(place, value, files, own)?;
        if matches!(link.service, Service::Wlan(_)) {
            return Err(Error::new(place, "its channel is missing; write [wlan] with [[wlan.stations]]"));
        }
        Ok(link)
    }

    /// Reads the link at `place`, of any service.
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
            // For a Cox link `tick` is the step of its rate process.
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
            let checked = link.aqm.config.check_link(link.limits, link.nominal_link());
            checked.map(|()| link).map_err(|wrong| table.error("aqm", wrong.to_string()))
        })
    }

    /// Reads the reverse direction of `self`. Service, delay and framing default to those of `self`, the queue does
    /// not.
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
            // A preset of its own comes with its own overhead and minimum size.
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

/// Delay over time, from the key or from the file of `delay_trace`; the canonical form has the schedule in both cases.
fn delays(table: &Table, files: &dyn Files) -> Result<Steps<Duration>, Error> {
    let Some(name) = table.field::<Option<String>>("delay_trace")? else { return table.field("delay") };
    if table.values.contains_key("delay") {
        return Err(table.error("delay_trace", "there is also a delay; leave one of them out"));
    }
    let read = files.find(&name).and_then(|path| Steps::read_trace(files.open(&path)?, &path));
    read.map_err(|text| table.error("delay_trace", text))
}

/// Minimum MTU in bytes, which every IPv4 link must carry (RFC 791).
pub const MIN_MTU: u64 = 68;

/// Keys of every link, regardless of its service.
pub(super) const KEYS: &[Key] = &[
    Key {
        name: "delay",
        kind: Kind::Custom(&DELAYS),
        need: Need::Default("0 s"),
        doc: "Propagation delay, one way: constant, or a schedule, e.g. `20 ms@0s,60 ms@50s`. Packets under way keep \
              theirs.",
    },
    Key {
        name: "delay_trace",
        kind: Kind::File,
        need: Need::Optional,
        doc: "Instead of `delay`: file with one step in each line, e.g. `20 ms@0 s`, relative to the scenario file; \
              the first at 0 s, the others in order, the last one holds to the end; `#` starts a comment. Results \
              contain the schedule itself.",
    },
    Key {
        name: "reorder",
        kind: Kind::Flag,
        need: Need::Default("false"),
        doc: "Let packets overtake each other when the delay falls; otherwise none arrives before its predecessors.",
    },
    Key {
        name: "tick",
        kind: Kind::PositiveTime,
        need: Need::Optional,
        doc: "Clock of the node that delays, as dummynet's at 1/HZ: a packet arrives at the first tick (0, `1 ms`, \
              `2 ms`, …) at or after its time, together with the others of that tick. The reverse direction has a \
              clock only if it has this key. For `cox` the key is the step in which the rate moves, `20 ms` unless \
              given, and there is no clock.",
    },
    Key {
        name: "gro",
        kind: Kind::PositiveTime,
        need: Need::Optional,
        doc: "Receive offload before the queue: the network card is polled this long after the first packet that it \
              receives, e.g. `50 us`, and the segments of a flow that have arrived by then reach the queue as one \
              super-packet.",
    },
    Key {
        name: "framing",
        kind: Kind::Word("framing", framing::names),
        need: Need::Default("ethernet"),
        doc: "Link layer: bytes as they are (`ethernet`), ATM cells (`atm`, 53 bytes for each 48) or 64b/65b coding \
              (`ptm`, one byte for each 64); or a preset of link layer, `overhead` and `mpu`.",
    },
    Key {
        name: "overhead",
        kind: Kind::Custom(&framing::OVERHEAD),
        need: Need::Default("0 B"),
        doc: "Framing bytes added to each packet, negative in some size tables of tc; a preset of `framing` has its own.",
    },
    Key {
        name: "mpu",
        kind: Kind::Size(0, 65_535),
        need: Need::Default("0 B"),
        doc: "Minimum size of a packet with its overhead; a preset of `framing` has its own.",
    },
    Key {
        name: "account",
        kind: Kind::Word("account", || framing::ACCOUNTS.to_vec()),
        need: Need::Default("adjusted"),
        doc: "Bytes that the queue counts: those on the medium (`adjusted`, as Linux's size tables do) or those of IP \
              (`ip`). Transmission takes the time of those on the medium in any case.",
    },
    Key {
        name: "loss",
        kind: Kind::Custom(&LOSS),
        need: Need::Optional,
        doc: "Loss between the server and the far end, apart from the drops of the queue: a probability (`0.01`, \
              `\"1%\"`; a plain `1` could be either, write `1.0` or `\"1%\"`), or Gilbert–Elliott: \
              `{ p = 0.002, r = 0.2 }`, also with `bad`, `good` and `step`.",
    },
    Key {
        name: "below",
        kind: Kind::Custom(&BELOW),
        need: Need::Optional,
        doc: "Buffer between queue and server, e.g. a driver's: bytes (`1514 B`), a ring of packets \
              (`256 packets wake 64 packets`), byte queue limits (`bql`, `bql max 3 kB`) or both (`4 packets bql`). \
              Default: none; with a wireless LAN `50 packets wake 24 packets`.",
    },
    Key {
        name: "mtu",
        kind: Kind::Size(MIN_MTU, 65_535),
        need: Need::Default("1500 B"),
        doc: "Maximum size of an IP packet, and the size of one delivery opportunity; at least 68 B, which every IPv4 \
              link carries.",
    },
    Key {
        name: "aqm",
        kind: Kind::Aqm,
        need: Need::Default("droptail"),
        doc: "Queue manager: a text as for tc (`codel@act target 5ms`) or a table \
              (`{ name = \"codel\", profile = \"act\", target = \"5 ms\" }`); or a class in a Python file \
              (`my_aqm.py:MyAqm`) or a shared library (`./blue.so increment 0.05`), relative to the scenario file. \
              `sojourn aqm list` names all, `sojourn aqm show NAME` their parameters.",
    },
    Key {
        name: "limit",
        kind: Kind::Limits,
        need: Need::Default(DEFAULT_LIMIT),
        doc: "Maximum that may wait: packets, bytes (`250 kB`), time at the link's nominal rate (`50 ms`), or a list \
              of several.",
    },
];

/// Limit of a link without the key `limit`.
pub const DEFAULT_LIMIT: &str = "1000 packets";
