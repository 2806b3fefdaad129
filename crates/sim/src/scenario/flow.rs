//! Groups of like flows: paths, times, access links and traffic.

use super::keys::{Key, Kind, LONGEST, Need, Table, as_table, check_known, write};
use super::paths::{Direction, PathRequest, Topology};
use super::sender::{CLASS, DSCP, Dscp};
use super::wlan::MAX_STATIONS;
use super::{EndpointSpec, Error, FileSpec, Files, Paths, Traffic, traffic};
use serde_json::{Map, Value};
use sojourn_aqm::class::ClassId;
use sojourn_aqm::{Duration, Rate};

/// Middlebox between the ends of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Middlebox {
    /// All flows of the group are in one tunnel: queues see a single flow.
    Tunnel,
    /// Clears the ECN field behind the last link, so that no mark reaches an end.
    Bleach,
    /// Turns ECT(0) into ECT(1) before the first link, as if the sender were scalable (L4S).
    Ect1,
}

/// A group of `count` flows with the same keys and the same paths.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSpec {
    /// Direction of the data.
    pub direction: Direction,
    /// Number of flows; at least 1.
    pub count: u32,
    /// Earliest start.
    pub start: Duration,
    /// Each flow starts at a uniformly random time in [start, start + spread).
    pub spread: Duration,
    /// Time at which the application stops sending; after the last start.
    pub stop: Option<Duration>,
    /// Offset of each flow's start and stop to those of the previous flow.
    pub stagger: Option<Duration>,
    /// In a graph: node at which the data begin.
    pub from: Option<String>,
    /// In a graph: node at which the data end.
    pub to: Option<String>,
    /// Names of the links that the data cross, in order; by default the first link, or in a graph the shortest path.
    pub route: Option<Vec<String>>,
    /// In a graph: names of the links that acknowledgments cross, in order; by default the shortest path.
    pub return_route: Option<Vec<String>>,
    /// Number of the station at one end, in a wireless LAN; by default the flows of the group take the stations in
    /// turn.
    pub station: Option<u32>,
    /// Name of the host at the home: of the sinks of data over `link`, of the sources of data over `reverse`.
    pub host: Option<String>,
    /// Name of the host at the other end.
    pub peer_host: Option<String>,
    /// Number of hosts at the home, which the flows take in turn.
    pub hosts: Option<u32>,
    /// Links that data and acknowledgments cross.
    pub paths: Paths,
    /// Other paths that events of the group choose, in the order of their names.
    pub other_paths: Vec<Paths>,
    /// Rate of each flow's access link; `None` for infinite.
    pub access_rate: Option<Rate>,
    /// Propagation delay of the access link, one way.
    pub access_delay: Duration,
    /// Sum of the initial propagation delays on the data path.
    pub links_delay: Duration,
    /// Sum of the initial propagation delays of the links on both paths.
    pub links_round_trip: Duration,
    /// Increase of the round-trip time from each flow to the next.
    pub rtt_stagger: Option<Duration>,
    /// Code point of the packets of both directions; by default 0.
    pub dscp: Option<Dscp>,
    /// Class that the packets of both directions name (`skb->priority`).
    pub class: Option<ClassId>,
    /// Middlebox for the packets of both directions.
    pub middlebox: Option<Middlebox>,
    /// Traffic that the flows send.
    pub traffic: Traffic,
}

impl FlowSpec {
    /// Whether its flows have unlimited data during the whole run of length `duration`, and no maximum rate.
    pub fn is_bulk(&self, duration: Duration) -> bool {
        let endless = self.stop.is_none_or(|stop| stop >= duration);
        endless
            && matches!(&self.traffic, Traffic::Tcp(FileSpec { size: None, tcp, .. }) if tcp.max_pacing_rate.is_none())
    }

    /// Reads the group at `place`, with paths in `topology`; `files` gives access to captures.
    pub(super) fn read(place: &str, value: &Value, topology: &Topology, files: &dyn Files) -> Result<Self, Error> {
        let values = as_table(place, value)?;
        check_known(place, values, KEYS.iter().chain(traffic::KINDS.iter().flat_map(|kind| kind.keys)))?;
        let table = Table::new(place, values, KEYS);
        let wanted = PathRequest {
            direction: table.field("direction")?,
            route: table.field("route")?,
            return_route: table.field("return_route")?,
        };
        let paths = topology.paths(&table, &wanted)?;
        let access_delay = access_delay(&table, topology.delay(&paths), topology.is_dumbbell())?;
        let (links_delay, links_round_trip) = (topology.delay_of(&paths.data), topology.delay(&paths));
        let PathRequest { direction, route, return_route } = wanted;
        let mut flow = Self {
            links_delay,
            links_round_trip,
            paths,
            other_paths: Vec::new(),
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
            host: name_of_host(&table, "host")?,
            peer_host: name_of_host(&table, "peer_host")?,
            hosts: table.field("hosts")?,
            dscp: table.field("dscp")?,
            class: table.field("class")?,
            middlebox: table.field("middlebox")?,
            traffic: Traffic::read(&table.field::<String>("kind")?, place, (values, KEYS), files)?,
        };
        if let Traffic::Endpoint(EndpointSpec { paths: Some(named), .. }) = &flow.traffic {
            let routes = named.0.values().map(|route| (route.as_slice(), direction));
            let paths = routes.map(|route| topology.there_and_back(&table, "paths", route));
            flow.other_paths = paths.collect::<Result<_, _>>()?;
        }
        if let Some(own) = flow.traffic.own_count() {
            if values.contains_key("count") && flow.count != own {
                let text =
                    format!("the capture has {own}, and is replayed once; leave it out, or write a group for each");
                return Err(table.error("count", text));
            }
            flow.count = own;
        }
        for (key, step) in [("stagger", flow.stagger), ("rtt_stagger", flow.rtt_stagger)] {
            // The last flow's offset must stay within the maximum time.
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

    /// Initial propagation delay of the data of flow `place` of the group.
    pub(crate) fn propagation(&self, place: u32) -> Duration {
        self.links_delay + self.access_delay_of(place)
    }

    /// Initial round-trip time of propagation of flow `place` of the group.
    pub(crate) fn round_trip(&self, place: u32) -> Duration {
        self.links_round_trip + self.access_delay_of(place) * 2
    }

    /// Delay of the access link of flow `place` of the group, one way.
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
        write(KEYS, "host", &self.host, &mut out);
        write(KEYS, "peer_host", &self.peer_host, &mut out);
        write(KEYS, "hosts", &self.hosts, &mut out);
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

fn name_of_host(table: &Table, key: &str) -> Result<Option<String>, Error> {
    match table.field::<Option<String>>(key)? {
        Some(name) if name.trim().is_empty() => Err(table.error(key, "is empty; write a name, or leave it out")),
        name => Ok(name),
    }
}

/// Access delay: the key, or half of the difference of `rtt` and `shared`, the delay of the links in both directions.
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

/// Keys of every group, regardless of its traffic.
pub(super) const KEYS: &[Key] = &[
    Key {
        name: "kind",
        kind: Kind::Word("kind of traffic", traffic::names),
        need: Need::Required("tcp"),
        doc: "Kind of traffic, see below.",
    },
    Key {
        name: "direction",
        kind: Kind::Word("direction", || DIRECTIONS.iter().map(|&(word, _)| word).collect()),
        need: Need::Default("forward"),
        doc: "Direction of the data; requests and acknowledgments go the other way. Not with `nodes`.",
    },
    Key {
        name: "count",
        kind: Kind::Count(1, MAX_FLOWS),
        need: Need::Default("1"),
        doc: "Number of such flows, or of such sources of connections.",
    },
    Key { name: "start", kind: Kind::Time, need: Need::Default("0 s"), doc: "Earliest start." },
    Key {
        name: "spread",
        kind: Kind::Time,
        need: Need::Default("0 s"),
        doc: "Each flow starts at a random time in [`start`, `start` + `spread`). In studies the default is `1 s` for \
              flows without a `stop`.",
    },
    Key {
        name: "stop",
        kind: Kind::PositiveTime,
        need: Need::Optional,
        doc: "Time at which the application stops sending or requesting. Default: the end of the run.",
    },
    Key {
        name: "stagger",
        kind: Kind::PositiveTime,
        need: Need::Optional,
        doc: "Start and stop of each flow of the group come this much later than those of the previous one.",
    },
    Key {
        name: "route",
        kind: Kind::Names,
        need: Need::Optional,
        doc: "Names of the links that the flows cross, in order, e.g. `[\"link\", \"second\"]`; data of `reverse` \
              flows cross them backwards. With `nodes`: links from `from` to `to`. Default: the first link, with \
              `nodes` the shortest path.",
    },
    Key {
        name: "return_route",
        kind: Kind::Names,
        need: Need::Optional,
        doc: "With `nodes`: names of the links that acknowledgments and requests cross, in order, from `to` to `from`. \
              Default: the shortest path.",
    },
    Key {
        name: "from",
        kind: Kind::Text,
        need: Need::Optional,
        doc: "With `nodes`, required: node at which the data begin. The senders' hosts are there, each behind its own \
              access link; without access links a node of kind `host` is the senders' host itself.",
    },
    Key {
        name: "to",
        kind: Kind::Text,
        need: Need::Optional,
        doc: "With `nodes`, required: node at which the data end.",
    },
    Key {
        name: "station",
        kind: Kind::Count(0, MAX_STATIONS - 1),
        need: Need::Optional,
        doc: "With a wireless LAN at one end: number of the station there. Default: the flows of the group take the \
              stations in turn.",
    },
    Key {
        name: "host",
        kind: Kind::Text,
        need: Need::Optional,
        doc: "Name of the host at the home, where `forward` data end and `reverse` data begin; with `nodes` of the one at \
              `to`. Groups with one name share a host, as queues that are fair between hosts see (CAKE), and its name may \
              be the address of an `endpoint`. Default: a node of kind `host` or a station is the host, otherwise each \
              group has its own; a `pcap` has those of its addresses.",
    },
    Key {
        name: "peer_host",
        kind: Kind::Text,
        need: Need::Optional,
        doc: "Name of the host at the other end, as `host`; with `nodes` of the one at `from`.",
    },
    Key {
        name: "hosts",
        kind: Kind::Count(1, MAX_FLOWS),
        need: Need::Optional,
        doc: "Number of hosts at the home, which the flows of the group take in turn. With `host` the first of them is \
              the host of that name, and groups with equal names share the others as well. Default: `1`.",
    },
    Key {
        name: "access_rate",
        kind: Kind::Rate,
        need: Need::Optional,
        doc: "Rate of each flow's own link between source and bottleneck. Default: unlimited, packets take no time \
              there.",
    },
    Key {
        name: "access_delay",
        kind: Kind::Time,
        need: Need::Optional,
        doc: "Propagation delay of the access link, one way. Default: `0 s`.",
    },
    Key {
        name: "rtt",
        kind: Kind::Time,
        need: Need::Optional,
        doc: "Instead of `access_delay`: round-trip time of propagation, at least the delays of the links. \
              Transmission times of the packets come on top; if a `delay` is a schedule, its first step counts.",
    },
    Key {
        name: "rtt_stagger",
        kind: Kind::PositiveTime,
        need: Need::Optional,
        doc: "The round-trip time of each flow of the group is this much longer than that of the previous one; not for \
              kinds that open connections.",
    },
    Key {
        name: "dscp",
        kind: Kind::Custom(&DSCP),
        need: Need::Optional,
        doc: "Code point of the packets of both directions, by name (`EF`, `CS1`, `AF41`) or number. `cake` chooses a \
              tin by it; `prio`, `pfifo_fast` and `htb` a band or a class. Default: `0`.",
    },
    Key {
        name: "class",
        kind: Kind::Custom(&CLASS),
        need: Need::Optional,
        doc: "Class of `htb` or `prio` that the packets of both directions name, as tc writes it (`1:10`), or a \
              priority (`0:6`). Default: their filters choose one.",
    },
    Key {
        name: "middlebox",
        kind: Kind::Word("middlebox", || MIDDLEBOXES.iter().map(|&(word, _)| word).collect()),
        need: Need::Optional,
        doc: "Middlebox on the path, for packets of both directions. `tunnel` hides the flows of the group: queues, \
              and the tables of packets, see one flow. `bleach` clears the ECN field behind the last link, so that no \
              mark reaches an end. `ect1` turns ECT(0) into ECT(1) before the first link, so that the packets claim to \
              be from a scalable sender.",
    },
];

/// Words of [`Direction`].
pub(super) const DIRECTIONS: &[(&str, Direction)] = &[("forward", Direction::Forward), ("reverse", Direction::Reverse)];

/// Words of [`Middlebox`].
pub(super) const MIDDLEBOXES: &[(&str, Middlebox)] =
    &[("tunnel", Middlebox::Tunnel), ("bleach", Middlebox::Bleach), ("ect1", Middlebox::Ect1)];

/// Maximum flows of a scenario.
pub const MAX_FLOWS: u64 = 1_000_000;
