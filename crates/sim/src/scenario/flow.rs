//! Groups of like flows: where they run, when, and over which access links.

use super::keys::{Key, Kind, LONGEST, Need, Table, as_table, check_known, write};
use super::paths::{Direction, Topology, Wanted};
use super::sender::{CLASS, DSCP, Dscp};
use super::wlan::MOST_STATIONS;
use super::{Error, FileSpec, Files, Paths, Traffic, traffic};
use serde_json::{Map, Value};
use sojourn_aqm::class::ClassId;
use sojourn_aqm::{Duration, Rate};

/// What somebody between a flow's ends does to its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Middlebox {
    /// All flows of the group are in one tunnel: queues take them for one flow.
    Tunnel,
    /// The ECN field is cleared behind the last link: nobody hears of marks.
    Bleach,
    /// ECT(0) becomes ECT(1) before the first link: the packets claim to be of a scalable sender.
    Ect1,
}

/// A group of `count` flows that differ only in their random starts; they run between the same two hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSpec {
    /// Which way the data goes.
    pub direction: Direction,
    /// Number of flows; at least 1.
    pub count: u32,
    /// Earliest start.
    pub start: Duration,
    /// Each flow starts uniformly in [start, start + spread).
    pub spread: Duration,
    /// When the application stops sending; later than the last start.
    pub stop: Option<Duration>,
    /// By how much start and stop of each flow come after those of the one before it.
    pub stagger: Option<Duration>,
    /// In a graph: the nodes at which the data begin and end.
    pub from: Option<String>,
    /// See `from`.
    pub to: Option<String>,
    /// Names of the links that the forward direction crosses, in order; without them the first one, or in a graph the
    /// shortest path.
    pub route: Option<Vec<String>>,
    /// In a graph: names of the links that acknowledgments cross, in order; without them, the shortest path.
    pub return_route: Option<Vec<String>>,
    /// Number of the station at one end, in a wireless LAN; without it, the flows of the group take them in turn.
    pub station: Option<u32>,
    /// The links that data and acknowledgments cross.
    pub paths: Paths,
    /// Rate of each flow's own access link; `None` takes no time to send.
    pub access_rate: Option<Rate>,
    /// One-way delay of the access link, in each direction.
    pub access_delay: Duration,
    /// Propagation delay of the links that the data cross, at the start of the run.
    pub links_delay: Duration,
    /// By how much the round-trip time of each flow is longer than that of the one before it.
    pub rtt_stagger: Option<Duration>,
    /// The code point that packets of both directions carry; without it, 0.
    pub dscp: Option<Dscp>,
    /// The class of a queue that packets of both directions name.
    pub class: Option<ClassId>,
    /// What somebody on the way does to the packets of both directions.
    pub middlebox: Option<Middlebox>,
    /// What is sent.
    pub traffic: Traffic,
}

impl FlowSpec {
    /// Whether its flows always have data to send until a run of so long a `duration` is over, at no rate of their own.
    pub fn is_bulk(&self, duration: Duration) -> bool {
        let endless = self.stop.is_none_or(|stop| stop >= duration);
        endless
            && matches!(&self.traffic, Traffic::Tcp(FileSpec { size: None, tcp, .. }) if tcp.max_pacing_rate.is_none())
    }

    /// Reads the group at `place`, whose flows run somewhere in `topology`; files are found among `files`.
    pub(super) fn read(place: &str, value: &Value, topology: &Topology, files: &dyn Files) -> Result<Self, Error> {
        let values = as_table(place, value)?;
        check_known(place, values, KEYS.iter().chain(traffic::KINDS.iter().flat_map(|kind| kind.keys)))?;
        let table = Table::new(place, values, KEYS);
        let wanted = Wanted {
            direction: table.field("direction")?,
            route: table.field("route")?,
            return_route: table.field("return_route")?,
        };
        let paths = topology.paths(&table, &wanted)?;
        let access_delay = access_delay(&table, topology.delay(&paths), topology.is_dumbbell())?;
        let links_delay = topology.delay_of(&paths.data);
        let Wanted { direction, route, return_route } = wanted;
        let mut flow = Self {
            links_delay,
            paths,
            direction,
            from: table.field("from")?,
            to: table.field("to")?,
            count: table.field("count")?,
            start: table.field("start")?,
            spread: table.field("spread")?,
            stop: table.field("stop")?,
            stagger: table.field("stagger")?,
            access_rate: table.field("access_rate")?,
            access_delay,
            rtt_stagger: table.field("rtt_stagger")?,
            route,
            return_route,
            station: table.field("station")?,
            dscp: table.field("dscp")?,
            class: table.field("class")?,
            middlebox: table.field("middlebox")?,
            traffic: Traffic::read(&table.field::<String>("kind")?, place, (values, KEYS), files)?,
        };
        if let Some(own) = flow.traffic.own_count() {
            if values.contains_key("count") && flow.count != own {
                let text =
                    format!("the capture has {own}, and is replayed once; leave it out, or write a group for each");
                return Err(table.error("count", text));
            }
            flow.count = own;
        }
        for (key, step) in [("stagger", flow.stagger), ("rtt_stagger", flow.rtt_stagger)] {
            let most = LONGEST / i64::from(flow.count);
            if let Some(step) = step.filter(|&step| step > most) {
                let text = format!("{step} is out of range; at most {most} for {} flows", flow.count);
                return Err(table.error(key, text));
            }
        }
        if flow.rtt_stagger.is_some() && flow.traffic.opens_connections() {
            let text = "all connections of a group have one round-trip time; write a group for each";
            return Err(table.error("rtt_stagger", text));
        }
        if matches!(flow.traffic, Traffic::Rpm(_)) && flow.count > 1 {
            return Err(table.error("count", "a test of responsiveness has one client; write a group for each"));
        }
        match flow.stop {
            Some(stop) if stop <= flow.start || stop < flow.start + flow.spread => {
                let last = flow.start + flow.spread;
                Err(table.error("stop", format!("{stop} is not after the last start at {last}; write a later one")))
            }
            _ => Ok(flow),
        }
    }

    /// Propagation delay of the data of flow number `place` of the group, at the start of the run.
    pub(crate) fn propagation(&self, place: u32) -> Duration {
        self.links_delay + self.access_delay_of(place)
    }

    /// Delay of the access link of flow number `place` of the group.
    pub(crate) fn access_delay_of(&self, place: u32) -> Duration {
        self.access_delay + self.rtt_stagger.unwrap_or(Duration::ZERO) * i64::from(place) / 2
    }

    pub(super) fn write(&self) -> Map<String, Value> {
        let mut out = Map::new();
        write(KEYS, "kind", &self.traffic.name().to_string(), &mut out);
        write(KEYS, "direction", &self.direction, &mut out);
        write(KEYS, "count", &self.count, &mut out);
        write(KEYS, "start", &self.start, &mut out);
        write(KEYS, "spread", &self.spread, &mut out);
        write(KEYS, "stop", &self.stop, &mut out);
        write(KEYS, "stagger", &self.stagger, &mut out);
        write(KEYS, "from", &self.from, &mut out);
        write(KEYS, "to", &self.to, &mut out);
        write(KEYS, "route", &self.route, &mut out);
        write(KEYS, "return_route", &self.return_route, &mut out);
        write(KEYS, "station", &self.station, &mut out);
        write(KEYS, "access_rate", &self.access_rate, &mut out);
        write(KEYS, "access_delay", &self.access_delay, &mut out);
        write(KEYS, "rtt_stagger", &self.rtt_stagger, &mut out);
        write(KEYS, "dscp", &self.dscp, &mut out);
        write(KEYS, "class", &self.class, &mut out);
        write(KEYS, "middlebox", &self.middlebox, &mut out);
        self.traffic.write(&mut out);
        out
    }
}

/// The access delay as given, or what `rtt` leaves to it after the `shared` delay of the links, both ways.
fn access_delay(table: &Table, shared: Duration, is_dumbbell: bool) -> Result<Duration, Error> {
    let given: Option<Duration> = table.field("access_delay")?;
    let Some(rtt) = table.field::<Option<Duration>>("rtt")? else { return Ok(given.unwrap_or(Duration::ZERO)) };
    if given.is_some() {
        return Err(table.error("rtt", "excludes access_delay; keep one"));
    }
    if rtt < shared {
        let delays =
            if is_dumbbell { "link.delay + reverse.delay" } else { "the delays of the links on the route, both ways" };
        let text = format!(r#"{rtt} is below {delays}; write at least "{shared}""#);
        return Err(table.error("rtt", text));
    }
    Ok((rtt - shared) / 2)
}

/// The keys of a group, whatever it sends.
pub(super) const KEYS: &[Key] = &[
    Key {
        name: "kind",
        kind: Kind::Word("kind of traffic", traffic::names),
        need: Need::Required("tcp"),
        doc: "What the flows send.",
    },
    Key {
        name: "direction",
        kind: Kind::Word("direction", || DIRECTIONS.iter().map(|&(word, _)| word).collect()),
        need: Need::Default("forward"),
        doc: "Which way the data goes: over link (forward) or over reverse.",
    },
    Key {
        name: "count",
        kind: Kind::Count(1, MOST_FLOWS),
        need: Need::Default("1"),
        doc: "Number of flows of this group.",
    },
    Key { name: "start", kind: Kind::Time, need: Need::Default("0 s"), doc: "Earliest start of a flow." },
    Key {
        name: "spread",
        kind: Kind::Time,
        need: Need::Default("0 s"),
        doc: "Each flow starts uniformly in [start, start + spread).",
    },
    Key {
        name: "stop",
        kind: Kind::PositiveTime,
        need: Need::Optional,
        doc: "When the application stops sending; without it, at the end of the run.",
    },
    Key {
        name: "stagger",
        kind: Kind::PositiveTime,
        need: Need::Optional,
        doc: "Start and stop of each flow of the group come so much later than those of the one before it.",
    },
    Key {
        name: "route",
        kind: Kind::Names,
        need: Need::Optional,
        doc: "Names of neighbouring links that the flows cross, in order; without it the first one, called link, or with \
              nodes the path of the shortest propagation delay.",
    },
    Key {
        name: "return_route",
        kind: Kind::Names,
        need: Need::Optional,
        doc: "With nodes: names of the links that acknowledgments and requests cross, in order; without it, the shortest \
              path.",
    },
    Key { name: "from", kind: Kind::Text, need: Need::Optional, doc: "With nodes: the node where the data begin." },
    Key { name: "to", kind: Kind::Text, need: Need::Optional, doc: "With nodes: the node where the data end." },
    Key {
        name: "station",
        kind: Kind::Count(0, MOST_STATIONS - 1),
        need: Need::Optional,
        doc: "In a wireless LAN: number of the station at one end; without it, the flows take the stations in turn.",
    },
    Key {
        name: "access_rate",
        kind: Kind::Rate,
        need: Need::Optional,
        doc: "Rate of each flow's own access link; without it, sending takes no time there.",
    },
    Key {
        name: "access_delay",
        kind: Kind::Time,
        need: Need::Optional,
        doc: "One-way delay of the access link in each direction; without it, and without rtt, 0 s.",
    },
    Key {
        name: "rtt",
        kind: Kind::Time,
        need: Need::Optional,
        doc: "Round-trip propagation delay, instead of access_delay: the links' delays both ways + 2 access_delay.",
    },
    Key {
        name: "rtt_stagger",
        kind: Kind::PositiveTime,
        need: Need::Optional,
        doc: "The round-trip time of each flow of the group is so much longer than that of the one before it.",
    },
    Key {
        name: "dscp",
        kind: Kind::Own(&DSCP),
        need: Need::Optional,
        doc: "Differentiated services code point of the packets of both directions, by name (EF, CS1, AF41) or number; without \
              it, 0. Sorts them into the tins of cake, the bands of prio and the classes of htb.",
    },
    Key {
        name: "class",
        kind: Kind::Own(&CLASS),
        need: Need::Optional,
        doc: "Class of htb or prio that the packets of both directions name, as tc writes it (1:10), or a priority (0:6); \
              without it, the filters there choose one.",
    },
    Key {
        name: "middlebox",
        kind: Kind::Word("middlebox", || MIDDLEBOXES.iter().map(|&(word, _)| word).collect()),
        need: Need::Optional,
        doc: "What somebody on the way does to the packets of both directions: a tunnel hides the group's flows from queues,               which take them for one; bleach clears the ECN field behind the last link; ect1 makes ECT(0) ECT(1) before               the first one.",
    },
];

/// The words of a direction.
pub(super) const DIRECTIONS: &[(&str, Direction)] = &[("forward", Direction::Forward), ("reverse", Direction::Reverse)];

/// The words of what is done to packets on the way.
pub(super) const MIDDLEBOXES: &[(&str, Middlebox)] =
    &[("tunnel", Middlebox::Tunnel), ("bleach", Middlebox::Bleach), ("ect1", Middlebox::Ect1)];

/// Most flows of a scenario.
pub const MOST_FLOWS: u64 = 1_000_000;
