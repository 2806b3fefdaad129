//! Groups of like flows: where they run, when, and over which access links.

use super::keys::{DIRECTIONS, Key, Kind, LONGEST, Need, Table, as_table, check_known, write};
use super::{Error, LinkSpec, Paths, Traffic, hop, traffic};
use serde_json::{Map, Value};
use sojourn_aqm::{Duration, Rate};

/// Which way a flow's data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Over `link`; acknowledgements over `reverse`.
    Forward,
    /// Over `reverse`; acknowledgements over `link`.
    Reverse,
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
    /// Names of the links that the forward direction crosses, in order; without them, the first one.
    pub route: Option<Vec<String>>,
    /// Number of the station at one end, in a wireless LAN; without it, the flows of the group take them in turn.
    pub station: Option<u32>,
    /// Number of the first and of the last of them.
    pub hops: (usize, usize),
    /// The links that data and acknowledgments cross.
    pub paths: Paths,
    /// Rate of each flow's own access link; `None` takes no time to send.
    pub access_rate: Option<Rate>,
    /// One-way delay of the access link, in each direction.
    pub access_delay: Duration,
    /// By how much the round-trip time of each flow is longer than that of the one before it.
    pub rtt_stagger: Option<Duration>,
    /// What is sent.
    pub traffic: Traffic,
}

impl FlowSpec {
    /// Reads the group at `place`, whose flows cross some of `hops`, or the channel of a wireless LAN.
    pub(super) fn read(
        place: &str,
        value: &Value,
        hops: &[(&str, &LinkSpec, &LinkSpec)],
        in_a_cell: bool,
    ) -> Result<Self, Error> {
        let values = as_table(place, value)?;
        check_known(place, values, KEYS.iter().chain(traffic::KINDS.iter().flat_map(|kind| kind.keys)))?;
        let table = Table::new(place, values, KEYS);
        let route: Option<Vec<String>> = table.field("route")?;
        let names: Vec<&str> = hops.iter().map(|&(name, ..)| name).collect();
        let (first, last) = hop::ends(route.as_ref(), &names).map_err(|text| table.error("route", text))?;
        let shared = hops[first..=last].iter().fold(Duration::ZERO, |sum, (_, out, back)| sum + out.delay + back.delay);
        let direction = table.field("direction")?;
        let paths = if in_a_cell { Paths::in_a_cell() } else { Paths::along_row((first, last), direction) };
        let flow = Self {
            hops: (first, last),
            paths,
            direction,
            count: table.field("count")?,
            start: table.field("start")?,
            spread: table.field("spread")?,
            stop: table.field("stop")?,
            stagger: table.field("stagger")?,
            access_rate: table.field("access_rate")?,
            access_delay: access_delay(&table, shared, first == last)?,
            rtt_stagger: table.field("rtt_stagger")?,
            route,
            station: table.field("station")?,
            traffic: Traffic::read(&table.field::<String>("kind")?, place, values)?,
        };
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
        match flow.stop {
            Some(stop) if stop <= flow.start || stop < flow.start + flow.spread => {
                let last = flow.start + flow.spread;
                Err(table.error("stop", format!("{stop} is not after the last start at {last}; write a later one")))
            }
            _ => Ok(flow),
        }
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
        write(KEYS, "route", &self.route, &mut out);
        write(KEYS, "station", &self.station, &mut out);
        write(KEYS, "access_rate", &self.access_rate, &mut out);
        write(KEYS, "access_delay", &self.access_delay, &mut out);
        write(KEYS, "rtt_stagger", &self.rtt_stagger, &mut out);
        self.traffic.write(&mut out);
        out
    }
}

/// The access delay as given, or what `rtt` leaves to it after the `shared` delay of the links, both ways.
fn access_delay(table: &Table, shared: Duration, one_hop: bool) -> Result<Duration, Error> {
    let given: Option<Duration> = table.field("access_delay")?;
    let Some(rtt) = table.field::<Option<Duration>>("rtt")? else { return Ok(given.unwrap_or(Duration::ZERO)) };
    if given.is_some() {
        return Err(table.error("rtt", "excludes access_delay; keep one"));
    }
    if rtt < shared {
        let delays =
            if one_hop { "link.delay + reverse.delay" } else { "the delays of the links on the route, both ways" };
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
        kind: Kind::Count(1, super::MOST_FLOWS),
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
        doc: "Names of neighbouring links that the flows cross, in order; without it, the first one, called link.",
    },
    Key {
        name: "station",
        kind: Kind::Count(0, super::MOST_STATIONS - 1),
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
];
