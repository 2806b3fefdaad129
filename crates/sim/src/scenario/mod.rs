//! Scenario files as checked types.
//!
//! Every [`Scenario`] can run. [`Scenario::parse`] is the only way from text to it; its errors name the place and the
//! correction. [`Scenario::canonical`] is the inverse, with every default written out.

mod aqm;
mod cells;
mod changes;
mod checks;
mod control;
mod depth;
mod error;
mod fields;
mod files;
mod flow;
mod framing;
mod graph;
mod hop;
mod hosts;
mod implementation;
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
mod tx_ring;
mod value_error;
mod values;
mod warmup;
mod wlan;

pub use aqm::AqmSpec;
pub(crate) use cells::Cell;
pub use control::{ControlArguments, ControlSpec};
pub use error::Error;
pub use files::{ConfinedFolder, Files, Folder, absent};
pub use flow::{FlowSpec, MAX_FLOWS, Middlebox};
pub use framing::Framing;
pub use graph::{Graph, Node, NodeKind};
pub use hop::Hop;
pub use hosts::HostTable;
pub use implementation::Implementation;
pub use link::{DEFAULT_LIMIT, LinkChange, LinkSpec, MIN_MTU};
pub use loss::{Gilbert, LossSpec};
pub use paths::{Direction, Paths};
pub use probes::Probes;
pub use running::RunningChange;
pub use schema::schema;
pub use sender::Dscp;
pub use service::{
    BucketService, CoxService, PoissonService, RateChange, Service, StepsService, TraceService, WlanService,
};
pub use sojourn_aqm::link_layer::CellFraming;
pub use sojourn_tcp::UPTIME;
pub use steps::{StepValue, Steps};
pub use tables::{TableCatalogue, UnreadTables};
pub use traffic::{
    Addresses, BrowserSpec, CbrSpec, EndpointSpec, FileSpec, Http, Ladder, MediaSpec, NamedPaths, PackMimeSpec,
    PathEffect, PathEvent, PathEvents, PcapKeys, PcapSpec, RequestSpec, RpmSpec, SizeDistribution, TcpSpec, Traffic,
    UdpSpec, VideoSpec, VoiceSpec, WebSpec,
};
pub use tree::check_depth;
#[cfg(test)]
pub(crate) use tx_ring::MAX_BQL;
pub use tx_ring::{RingUnit, TxRingSpec};
pub use value_error::{AqmError, LossError, StepsError, ValueError};
pub use warmup::Warmup;
pub use wlan::{ChannelSpec, Decibels, Eifs, MAX_STATIONS, Queues, RateSpec, Rates, SlotTime, StationSpec, WlanSpec};

use keys::{Key, Kind, Need, Table, as_table, check_known, mismatch, write};
use paths::{Topology, TopologyForm};
use serde_json::{Map, Value};
use sojourn_aqm::Duration;
use sojourn_aqm::registry::{Catalogue, REGISTERED};
use sojourn_tcp::cc::foreign::ControlDefinition;
use std::path::Path;
use std::sync::Arc;

/// Everything that determines a run, apart from the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Title; may be empty.
    pub name: String,
    /// Length of the run; above zero.
    pub duration: Duration,
    /// Start of the run that the statistics leave out; shorter than the duration.
    pub warmup: Warmup,
    /// Default seed of every random stream.
    pub seed: u64,
    /// Wireless LAN of the first hop, if it is one.
    pub wlan: Option<WlanSpec>,
    /// First hop, forward direction; in a wireless LAN the queue of the access point.
    pub link: LinkSpec,
    /// First hop, reverse direction; in a wireless LAN the queue of every station.
    pub reverse: LinkSpec,
    /// Other hops: in a row behind the first, or of the graph.
    pub links: Vec<Hop>,
    /// Nodes that the links connect; `None` for a row.
    pub graph: Option<Graph>,
    /// Groups of like flows; at least one group, at most [`MAX_FLOWS`] flows.
    pub flows: Vec<FlowSpec>,
    /// Recorders beyond the summary.
    pub probes: Probes,
}

impl Scenario {
    /// Reads TOML or JSON and applies the overrides `sets` (`("link.rate", "20 Mbit/s")`, `("flows.0.count", "8")`; an
    /// empty value removes the key). Relative paths of files start from `base`.
    pub fn parse(text: &str, sets: &[(String, String)], base: &Path) -> Result<Self, Error> {
        Self::parse_with(text, sets, base, REGISTERED)
    }

    /// [`Scenario::parse`] with the queue managers of `own` as well.
    pub fn parse_with(text: &str, sets: &[(String, String)], base: &Path, own: &dyn Catalogue) -> Result<Self, Error> {
        Self::parse_among(text, sets, &Folder(base), own)
    }

    /// [`Scenario::parse_with`] with access to files through `files`, which need not be on disk.
    pub fn parse_among(
        text: &str,
        sets: &[(String, String)],
        files: &dyn Files,
        own: &dyn Catalogue,
    ) -> Result<Self, Error> {
        let own = &TableCatalogue { own, files };
        let mut tree = tree::parse(text)?;
        // Parameters of queue managers last: they apply to the final manager, whatever the order of the overrides.
        let (params, others): (Vec<_>, Vec<_>) = sets.iter().partition(|(path, _)| tree::is_aqm_parameter(path));
        for (path, value) in others.into_iter().chain(params) {
            tree::set(&mut tree, path, value, own)?;
        }
        Self::read(as_table("", &tree)?, files, own)
    }

    /// JSON with every default written out: equal scenarios give equal texts, and [`Scenario::parse`] restores the
    /// scenario. The hash of a run covers this text.
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

    /// Hops in order: name, forward direction, reverse direction.
    pub fn hops(&self) -> impl Iterator<Item = (&str, &LinkSpec, &LinkSpec)> {
        all_hops(self.graph.as_ref(), (&self.link, &self.reverse), &self.links)
    }

    /// In a graph: shortest path by initial propagation delay from node `from` to node `to`, as numbers of links (2i
    /// and 2i + 1 are the directions of hop i); `None` if there is no path.
    pub fn shortest(&self, from: usize, to: usize) -> Option<Vec<u16>> {
        let hops: Vec<_> = self.hops().collect();
        self.graph.as_ref()?.shortest(&Graph::delays(&hops), from, to)
    }

    /// Names of the queues in results, by number.
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

    /// Whether super-packets occur: senders with segmentation offload, or links with receive offload.
    pub fn has_super_packets(&self) -> bool {
        self.flows.iter().any(|flow| flow.traffic.offloads()) || self.queues().any(|link| link.gro.is_some())
    }

    /// Numbers of the queues that are devices of hosts: a flow without an access link begins at the host, so that flow
    /// and queue are in one machine. Links with receive offload are not devices: their packets come from a wire.
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

    /// Definitions of the users' congestion controls, one per group with such a control.
    pub fn user_controls(&self) -> impl Iterator<Item = &Arc<dyn ControlDefinition>> {
        self.flows.iter().filter_map(|flow| flow.traffic.tcp()?.cc.definition.as_ref())
    }

    /// Total number of flows.
    pub fn flow_count(&self) -> u64 {
        self.flows.iter().map(|flow| u64::from(flow.count)).sum()
    }

    fn read(values: &Map<String, Value>, files: &dyn Files, own: &dyn Catalogue) -> Result<Self, Error> {
        if values.contains_key("sweep") {
            return Err(Error::new("sweep", r#"makes this a study of many runs; run it with "sojourn sweep""#));
        }
        if values.contains_key("draw") {
            return Err(Error::new("draw", r#"must be drawn first; use the output of "sojourn scenario draw""#));
        }
        check_known("", values, KEYS.iter())?;
        let folded = changes::fold(values)?;
        let values = &*folded.values;
        graph::check_form(values)?;
        let table = Table::new("", values, KEYS);
        let (duration, warmup) = (table.field("duration")?, table.field("warmup")?);
        if let Warmup::Fixed(span) = warmup {
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
        let form = graph.as_ref().map_or(TopologyForm::Row, TopologyForm::Graph);
        let hops = all_hops(graph.as_ref(), (&link, &reverse), &links).collect();
        let flows = read_flows(values.get("flows"), &Topology::new(hops, form), files)?;
        let probes = read_probes(values.get("probes"))?;
        let scenario = Self { name, duration, warmup, seed, wlan, link, reverse, links, graph, flows, probes };
        if scenario.probes.accesses.is_some() && scenario.cells().next().is_none() {
            return Err(Error::new("probes.accesses", "needs [wlan]; leave it out"));
        }
        scenario.check_stations()?;
        scenario.check_super_packets()?;
        scenario.check_effects(&folded.later)?;
        scenario.check_endpoints()?;
        scenario.check_hosts()?;
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

/// Reads the two directions of the first hop.
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
        return Err(Error::new("flows", r#"none given; write e.g. [[flows]] with kind = "tcp""#));
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
        return Err(Error::new("probes.headers", "needs packets; add packets = true"));
    }
    Ok(probes)
}

/// Keys of the file's top level.
const KEYS: &[Key] = &[
    Key { name: "name", kind: Kind::Text, need: Need::Default(""), doc: "Title of the scenario." },
    Key {
        name: "duration",
        kind: Kind::PositiveTime,
        need: Need::Required("100 s"),
        doc: "Simulated time that the run covers.",
    },
    Key {
        name: "warmup",
        kind: Kind::Custom(&warmup::WARMUP),
        need: Need::Default("0 s"),
        doc: "Start of the run that the summary leaves out: a packet counts by its departure, a drop by its time. \
              `auto` finds it from the backlog, and is the default of studies and of `sojourn compare`.",
    },
    Key {
        name: "seed",
        kind: Kind::Count(0, u64::MAX),
        need: Need::Default("1"),
        doc: "Seed of all random draws; the same seed gives the same run.",
    },
    Key {
        name: wlan::KEY,
        kind: Kind::Section,
        need: Need::Optional,
        doc: "Wireless LAN as the bottleneck; `link` is then the queue of its access point, `reverse` the queue of \
              each station. Not with `nodes`, where it is a key of one of the `links`.",
    },
    Key {
        name: "link",
        kind: Kind::Section,
        need: Need::Optional,
        doc: "The bottleneck in the direction of the data (forward); required without `wlan` and `nodes`.",
    },
    Key {
        name: "reverse",
        kind: Kind::Section,
        need: Need::Optional,
        doc: "The bottleneck in the other direction. Default: as `link`, but tail drop with 1000 packets.",
    },
    Key {
        name: "links",
        kind: Kind::Section,
        need: Need::Optional,
        doc: "Further links in a row behind the first, each with its reverse direction; with `nodes`, all links of the \
              graph.",
    },
    Key {
        name: "nodes",
        kind: Kind::Section,
        need: Need::Optional,
        doc: "Nodes of a graph, between which the `links` run; replaces `link` and `reverse`.",
    },
    Key {
        name: "flows",
        kind: Kind::Section,
        need: Need::Required("list"),
        doc: "Groups of like flows, at least one.",
    },
    Key {
        name: changes::KEY,
        kind: Kind::Section,
        need: Need::Optional,
        doc: "Changes of links during the run, in order of time.",
    },
    Key {
        name: "probes",
        kind: Kind::Section,
        need: Need::Optional,
        doc: "Recorders beyond the summary. Default: all off.",
    },
];

/// Places of the two directions of the first hop outside of a graph.
const FIRST_HOP: [&str; 2] = ["link", "reverse"];
