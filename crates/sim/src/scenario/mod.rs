//! Scenario files: what is simulated, in typed and checked form.
//!
//! A [`Scenario`] that exists can run. [`Scenario::parse`] is the only way from text to it; its errors name the
//! place and the remedy. [`Scenario::canonical`] is the inverse, with every default written out.

mod aqm;
mod below;
mod cells;
mod changes;
mod checks;
mod depth;
mod error;
mod fields;
mod files;
mod flow;
mod framing;
mod graph;
mod hop;
mod keys;
mod link;
mod loss;
mod paths;
mod probes;
mod running;
mod schema;
mod sender;
pub mod service;
mod steps;
mod tables;
#[cfg(test)]
mod tests;
pub mod traffic;
mod tree;
mod value_error;
mod values;
mod warmup;
mod wlan;

pub use aqm::AqmSpec;
#[cfg(test)]
pub(crate) use below::MOST_BQL;
pub use below::{BelowSpec, Unit};
pub(crate) use cells::Cell;
pub use error::Error;
pub use files::{Files, Folder, Within, absent};
pub use flow::{FlowSpec, MOST_FLOWS, Middlebox};
pub use framing::Framing;
pub use graph::{Graph, Node, NodeKind};
pub use hop::Hop;
pub use link::{LEAST_MTU, LinkChange, LinkSpec};
pub use loss::{Gilbert, LossSpec};
pub use paths::{Direction, Paths};
pub use probes::Probes;
pub use running::Changed;
pub use schema::schema;
pub use sender::Dscp;
pub use service::{
    BucketService, Change, CoxService, PoissonService, Service, StepsService, TraceService, WlanService,
};
pub use sojourn_aqm::link_layer::Layer;
pub use sojourn_tcp::UPTIME;
pub use steps::{Stepped, Steps};
pub use tables::{Unread, WithTables};
pub use traffic::{
    BrowserSpec, FileSpec, Http, Ladder, MediaSpec, PackMimeSpec, PcapKeys, PcapSpec, RequestSpec, RpmSpec, Sizes,
    TcpSpec, Traffic, UdpSpec, VideoSpec, VoiceSpec, WebSpec,
};
pub use tree::check_depth;
pub use value_error::{AqmError, LossError, StepsError, ValueError};
pub use warmup::Warmup;
pub use wlan::{ChannelSpec, Decibels, Eifs, MOST_STATIONS, Queues, RateSpec, Rates, SlotTime, StationSpec, WlanSpec};

use keys::{Key, Kind, Need, Table, as_table, check_known, mismatch, write};
use paths::{Form, Topology};
use serde_json::{Map, Value};
use sojourn_aqm::Duration;
use sojourn_aqm::registry::{Catalogue, REGISTERED};
use std::path::Path;

/// Everything that determines a run, but for the program itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What the scenario is about, for titles; may be empty.
    pub name: String,
    /// Length of the run; above zero.
    pub duration: Duration,
    /// What the statistics leave out; shorter than the duration.
    pub warmup: Warmup,
    /// Default seed of every random stream.
    pub seed: u64,
    /// The wireless LAN that is the bottleneck, in a graph the first link; without one, it is a link with a reverse path.
    pub wlan: Option<WlanSpec>,
    /// The bottleneck in the direction of the data; in a wireless LAN the queue of the access point, in a graph the first
    /// link.
    pub link: LinkSpec,
    /// The reverse path; in a wireless LAN the queue of every station.
    pub reverse: LinkSpec,
    /// Further bottlenecks: in a row behind the first, or the other links of the graph.
    pub links: Vec<Hop>,
    /// The nodes between which the links run; without them, the links lie in a row.
    pub graph: Option<Graph>,
    /// Groups of like flows; at least one, together at most [`MOST_FLOWS`].
    pub flows: Vec<FlowSpec>,
    /// What is recorded beyond the summary.
    pub probes: Probes,
}

impl Scenario {
    /// Reads TOML or JSON after the overrides `sets` (`("link.rate", "20 Mbit/s")`, `("flows.0.count", "8")`; an
    /// empty value removes the key); relative paths of traces start from `base`.
    pub fn parse(text: &str, sets: &[(String, String)], base: &Path) -> Result<Self, Error> {
        Self::parse_with(text, sets, base, REGISTERED)
    }

    /// [`Scenario::parse`] that knows the queue managers of `own` as well as the registered ones.
    pub fn parse_with(text: &str, sets: &[(String, String)], base: &Path, own: &dyn Catalogue) -> Result<Self, Error> {
        Self::parse_among(text, sets, &Folder(base), own)
    }

    /// [`Scenario::parse_with`] with files that need not be on disk.
    pub fn parse_among(
        text: &str,
        sets: &[(String, String)],
        files: &dyn Files,
        own: &dyn Catalogue,
    ) -> Result<Self, Error> {
        let own = &WithTables { own, files };
        let mut tree = tree::parse(text)?;
        // A parameter of a queue manager is that of the one which is there in the end.
        let (params, others): (Vec<_>, Vec<_>) = sets.iter().partition(|(path, _)| tree::is_aqm_parameter(path));
        for (path, value) in others.into_iter().chain(params) {
            tree::set(&mut tree, path, value, own)?;
        }
        Self::read(as_table("", &tree)?, files, own)
    }

    /// The scenario as JSON with every default written out: equal scenarios give equal texts, and
    /// [`Scenario::parse`] gives an equal scenario back.
    pub fn canonical(&self) -> String {
        let mut out = Map::new();
        write(KEYS, "name", &self.name, &mut out);
        write(KEYS, "duration", &self.duration, &mut out);
        write(KEYS, "warmup", &self.warmup, &mut out);
        write(KEYS, "seed", &self.seed, &mut out);
        match &self.graph {
            Some(graph) => {
                let write = |(i, ((name, link, reverse), wlan))| {
                    let mut out = hop::write_hop(name, (link, reverse), wlan);
                    graph.write_ends(i, &mut out);
                    Value::Object(out)
                };
                out.insert("nodes".into(), graph.write_nodes());
                out.insert("links".into(), self.hops().zip(self.wlans()).enumerate().map(write).collect());
            }
            None => {
                out.extend(self.wlan.iter().map(|wlan| (wlan::KEY.into(), wlan.write().into())));
                out.insert("link".into(), self.link.write().into());
                out.insert("reverse".into(), self.reverse.write().into());
                if !self.links.is_empty() {
                    out.insert("links".into(), self.links.iter().map(Hop::write).map(Value::Object).collect());
                }
            }
        }
        let changes = changes::write_all(self);
        if !changes.is_empty() {
            out.insert(changes::KEY.into(), changes.into());
        }
        out.insert("flows".into(), self.flows.iter().map(FlowSpec::write).map(Value::Object).collect());
        let mut probes = Map::new();
        self.probes.write(&mut probes);
        out.insert("probes".into(), probes.into());
        Value::Object(out).to_string()
    }

    /// Every bottleneck in its order: name, forward direction, reverse direction.
    pub fn hops(&self) -> impl Iterator<Item = (&str, &LinkSpec, &LinkSpec)> {
        all_hops(self.graph.as_ref(), (&self.link, &self.reverse), &self.links)
    }

    /// In a graph: the links from node `from` to node `to` with the least sum of propagation delays, by their numbers (2i and
    /// 2i + 1 are the directions of hop i); none where there is no path.
    pub fn shortest(&self, from: usize, to: usize) -> Option<Vec<u16>> {
        let hops: Vec<_> = self.hops().collect();
        self.graph.as_ref()?.shortest(&Graph::delays(&hops), from, to)
    }

    /// What results call every queue, by its number.
    pub fn queue_names(&self) -> Vec<String> {
        let prefix = |name: &str| self.graph.as_ref().map_or_else(String::new, |_| format!("{name} "));
        let hops = self.hops().enumerate().zip(self.wlans()).zip(self.reverse_queues());
        let names = hops.flat_map(|(((number, (name, ..)), wlan), reverse)| {
            let is_first = number == 0 && self.graph.is_none();
            let back = match wlan {
                Some(_) => (0..reverse).map(|station| format!("{}station {station}", prefix(name))).collect(),
                None if is_first => vec!["reverse".to_string()],
                None => vec![format!("{name} reverse")],
            };
            std::iter::once(if is_first { "forward".to_string() } else { name.to_string() }).chain(back)
        });
        names.collect()
    }

    /// Whether there are super-packets: senders with segmentation offload, or links with receive offload.
    pub fn has_super_packets(&self) -> bool {
        self.flows.iter().any(|flow| flow.traffic.offloads()) || self.queues().any(|link| link.gro.is_some())
    }

    /// The queues of a graph that are in hosts, by their numbers, if flows begin there without an access link: such a flow and
    /// the queue are in one host. One whose packets a card joins first is not.
    pub fn devices_of_hosts(&self) -> Vec<usize> {
        let Some(graph) = &self.graph else { return Vec::new() };
        let sends = |node: usize| {
            let begins =
                |flow: &FlowSpec| flow.from.as_ref() == Some(&graph.nodes[node].name) && !flow.has_access_link();
            graph.nodes[node].kind == NodeKind::Host && self.flows.iter().any(begins)
        };
        let (mut found, mut number) = (Vec::new(), 0);
        for (((_, link, reverse), &(from, to)), queues) in self.hops().zip(&graph.ends).zip(self.reverse_queues()) {
            let directions = [(number, link, from), (number + 1, reverse, to)];
            found.extend(
                directions.into_iter().filter(|(_, link, node)| link.gro.is_none() && sends(*node)).map(|(n, ..)| n),
            );
            number += 1 + queues;
        }
        found
    }

    /// Number of flows of all groups.
    pub fn flow_count(&self) -> u64 {
        self.flows.iter().map(|flow| u64::from(flow.count)).sum()
    }

    fn read(values: &Map<String, Value>, files: &dyn Files, own: &dyn Catalogue) -> Result<Self, Error> {
        if values.contains_key("sweep") {
            return Err(Error::new("sweep", r#"makes this a study of many runs; run it with "sojourn sweep""#));
        }
        if values.contains_key("draw") {
            return Err(Error::new("draw", r#"has to be drawn first; take what "sojourn scenario draw" prints"#));
        }
        check_known("", values, KEYS.iter())?;
        let folded = changes::fold(values)?;
        let values = &*folded.values;
        graph::check_form(values)?;
        let table = Table::new("", values, KEYS);
        let (duration, warmup) = (table.field("duration")?, table.field("warmup")?);
        if let Warmup::Given(span) = warmup {
            if span >= duration {
                let text = format!("{span} is not below duration ({duration}); write a shorter one");
                return Err(table.error("warmup", text));
            }
        }
        let (name, seed) = (table.field("name")?, table.field("seed")?);
        let mut wlan = values.get(wlan::KEY).map(|value| WlanSpec::read(wlan::KEY, value)).transpose()?;
        let nodes = values.get("nodes");
        let mut links = Hop::read_all(values.get("links"), files, own, nodes.is_some())?;
        let graph = nodes.map(|nodes| Graph::read(nodes, values.get("links"), &links)).transpose()?;
        let (mut link, mut reverse) = match (&wlan, &graph) {
            (Some(_), _) if !links.is_empty() => {
                return Err(
                    table.error("links", "a wireless LAN is the only bottleneck; leave them out, or write [[nodes]]")
                );
            }
            (Some(wlan), _) => {
                let [link, reverse] = wlan::read_links(wlan, FIRST_HOP.map(|key| (key, values.get(key))), files, own)?;
                (link, reverse)
            }
            (None, None) => read_first_hop(&table, files, own)?,
            (None, Some(_)) => {
                let first = links.remove(0);
                wlan = first.wlan;
                (first.link, first.reverse)
            }
        };
        changes::attach(&folded.later, (&mut link, &mut reverse), &mut links, graph.is_some(), own)?;
        let form = graph.as_ref().map_or(Form::Row, Form::Graph);
        let hops = all_hops(graph.as_ref(), (&link, &reverse), &links).collect();
        let flows = read_flows(values.get("flows"), &Topology { hops, form }, files)?;
        let probes = read_probes(values.get("probes"))?;
        let scenario = Self { name, duration, warmup, seed, wlan, link, reverse, links, graph, flows, probes };
        if scenario.probes.accesses.is_some() && scenario.cells().next().is_none() {
            return Err(Error::new("probes.accesses", "goes with [wlan]; leave it out"));
        }
        scenario.check_stations()?;
        scenario.check_super_packets()?;
        scenario.check_effects(&folded.later)?;
        scenario.check_size()?;
        Ok(scenario)
    }
}

fn all_hops<'a>(
    graph: Option<&'a Graph>,
    (link, reverse): (&'a LinkSpec, &'a LinkSpec),
    more: &'a [Hop],
) -> impl Iterator<Item = (&'a str, &'a LinkSpec, &'a LinkSpec)> {
    let first = graph.map_or(hop::FIRST, |graph| graph.first.as_str());
    let more = more.iter().map(|hop| (hop.name.as_str(), &hop.link, &hop.reverse));
    std::iter::once((first, link, reverse)).chain(more)
}

/// The bottleneck and its reverse direction.
fn read_first_hop(table: &Table, files: &dyn Files, own: &dyn Catalogue) -> Result<(LinkSpec, LinkSpec), Error> {
    let values = table.values;
    let missing = || table.error("link", r#"missing; write e.g. [link] with rate = "10 Mbit/s""#);
    let link = LinkSpec::read("link", values.get("link").ok_or_else(missing)?, files, own)?;
    let reverse = link.read_reverse("reverse", values.get("reverse"), files, own)?;
    Ok((link, reverse))
}

fn read_flows(value: Option<&Value>, topology: &Topology, files: &dyn Files) -> Result<Vec<FlowSpec>, Error> {
    let groups = match value {
        None => &[],
        Some(Value::Array(groups)) => groups.as_slice(),
        Some(other) => return Err(Error::new("flows", mismatch(other, "a list of tables, [[flows]]").to_string())),
    };
    if groups.is_empty() {
        return Err(Error::new("flows", r#"there are none; write e.g. [[flows]] with kind = "tcp""#));
    }
    let read = |(i, value)| FlowSpec::read(&format!("flows[{i}]"), value, topology, files);
    groups.iter().enumerate().map(read).collect()
}

fn read_probes(value: Option<&Value>) -> Result<Probes, Error> {
    let Some(value) = value else { return Ok(Probes::default()) };
    let values = as_table("probes", value)?;
    check_known("probes", values, Probes::KEYS.iter())?;
    let probes = Probes::read(&Table::new("probes", values, Probes::KEYS))?;
    if probes.headers && !probes.packets {
        return Err(Error::new("probes.headers", "goes with packets; add packets = true"));
    }
    Ok(probes)
}

/// The keys of the whole file.
const KEYS: &[Key] = &[
    Key { name: "name", kind: Kind::Text, need: Need::Default(""), doc: "What the scenario is about, for titles." },
    Key {
        name: "duration",
        kind: Kind::PositiveTime,
        need: Need::Required("100 s"),
        doc: "Length of the run in simulated time.",
    },
    Key {
        name: "warmup",
        kind: Kind::Own(&warmup::WARMUP),
        need: Need::Default("0 s"),
        doc: "Start of the statistics; what happens before is left out. With auto it is found from the run's own backlog.",
    },
    Key {
        name: "seed",
        kind: Kind::Count(0, u64::MAX),
        need: Need::Default("1"),
        doc: "Default seed of every random stream.",
    },
    Key {
        name: wlan::KEY,
        kind: Kind::Section,
        need: Need::Optional,
        doc: "A wireless LAN as the bottleneck; link is then the queue of its access point, reverse that of each station.",
    },
    Key {
        name: "link",
        kind: Kind::Section,
        need: Need::Optional,
        doc: "The bottleneck in the direction of the data; needed without wlan and nodes.",
    },
    Key {
        name: "reverse",
        kind: Kind::Section,
        need: Need::Optional,
        doc: "The reverse path; what it leaves out is as in link, but for the queue: tail drop, 1000 packets.",
    },
    Key {
        name: "links",
        kind: Kind::Section,
        need: Need::Optional,
        doc: "Further links in a row behind the first, each with its reverse direction; with nodes all links of the graph.",
    },
    Key {
        name: "nodes",
        kind: Kind::Section,
        need: Need::Optional,
        doc: "The nodes of a graph, between which the links run; instead of link and reverse.",
    },
    Key { name: "flows", kind: Kind::Section, need: Need::Required("list"), doc: "Groups of like flows." },
    Key {
        name: changes::KEY,
        kind: Kind::Section,
        need: Need::Optional,
        doc: "Keys of links that change while the run goes on: entries of an instant and what changes then.",
    },
    Key {
        name: "probes",
        kind: Kind::Section,
        need: Need::Optional,
        doc: "What is recorded beyond the summary; all off without their keys.",
    },
];

/// The two directions of the first bottleneck, where they have places of their own.
const FIRST_HOP: [&str; 2] = ["link", "reverse"];
