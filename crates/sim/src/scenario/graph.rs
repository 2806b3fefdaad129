//! Graphs: named nodes, and the two nodes that each link connects.

use super::hop::{FIRST, Hop, HopNames};
use super::keys::{Key, Kind, Need, Table, as_table, check_known, mismatch, of_word, word_of, write};
use super::{Error, LinkSpec, wlan};
use serde_json::{Map, Value};
use sojourn_aqm::Duration;
use sojourn_aqm::params::{listed, unknown};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Nodes of a scenario and the ends of its links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Nodes in the order of the file.
    pub nodes: Vec<Node>,
    /// Name of the first link.
    pub first: String,
    /// Per link, the nodes at the start and the end of its forward direction.
    pub ends: Vec<(usize, usize)>,
    /// Numbers of the nodes by name.
    numbers: BTreeMap<String, usize>,
    /// Per node, the links that leave it in the order of the file: number of the link, next node.
    leaving: Vec<Vec<(u16, usize)>>,
}

/// A node: links meet here, and flows begin and end here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Name in links and flows; unique.
    pub name: String,
    /// Decides whether it forwards packets.
    pub kind: NodeKind,
}

/// Kinds of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Forwards packets of any flow; flows may also begin and end here.
    Router,
    /// Forwards no packets; flows begin and end here.
    Host,
    /// A router from which a wireless LAN leads to stations.
    AccessPoint,
    /// All stations of a wireless LAN; forwards no packets.
    Stations,
}

impl NodeKind {
    /// Word in scenario files.
    pub(super) fn word(self) -> String {
        word_of(KINDS, &self)
    }

    /// Whether it forwards packets.
    fn forwards(self) -> bool {
        matches!(self, Self::Router | Self::AccessPoint)
    }
}

impl Graph {
    /// Reads `nodes`, and the ends of each of the `links`.
    pub(super) fn read(nodes: &Value, links: Option<&Value>, hops: &[Hop]) -> Result<Self, Error> {
        let (nodes, numbers) = read_nodes(nodes)?;
        let tables = links.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let ends = tables.iter().enumerate().map(|(i, link)| read_ends(&format!("links[{i}]"), link, &nodes, &numbers));
        let ends = ends.collect::<Result<Vec<_>, _>>()?;
        let Some(first) = hops.first() else {
            return Err(Error::new("links", r#"none given; write [[links]] with a name, from and to"#));
        };
        let mut leaving = vec![Vec::new(); nodes.len()];
        for (hop, &(from, to)) in ends.iter().enumerate() {
            leaving[from].push((2 * hop as u16, to));
            leaving[to].push((2 * hop as u16 + 1, from));
        }
        let graph = Self { first: first.name.clone(), nodes, ends, numbers, leaving };
        check_ends(&graph, hops)?;
        if let Some(alone) = graph.leaving.iter().position(Vec::is_empty) {
            let name = &graph.nodes[alone].name;
            let text = format!("{name:?} has no link; write one in [[links]], or leave the node out");
            return Err(Error::new(format!("nodes[{alone}]"), text));
        }
        Ok(graph)
    }

    pub(super) fn write_nodes(&self) -> Value {
        let node = |node: &Node| {
            let mut out = Map::new();
            write(KEYS, "name", &node.name, &mut out);
            out.insert("kind".into(), node.kind.word().into());
            Value::Object(out)
        };
        self.nodes.iter().map(node).collect()
    }

    /// Writes the nodes that hop `hop` connects.
    pub(super) fn write_ends(&self, hop: usize, out: &mut Map<String, Value>) {
        let (from, to) = self.ends[hop];
        for (key, node) in [("from", from), ("to", to)] {
            write(super::hop::KEYS, key, &self.nodes[node].name, out);
        }
    }

    /// Number of the node that key `name` of `table` names.
    pub(super) fn node(&self, table: &Table, name: &str) -> Result<usize, Error> {
        read_node(table, name, &self.nodes, &self.numbers)
    }

    /// Whether a node of kind `host` has this name.
    pub(super) fn is_host(&self, name: &str) -> bool {
        self.numbers.get(name).is_some_and(|&number| self.nodes[number].kind == NodeKind::Host)
    }

    /// Path from node `from` to node `to` with the minimum sum of `delays` (per link), or none if there is no path.
    /// Ties go to the path with fewer hops, then to the one whose link is first in the file at the first difference, so
    /// the result does not depend on the search.
    pub(super) fn shortest(&self, delays: &[Duration], from: usize, to: usize) -> Option<Vec<u16>> {
        let costs = self.costs_to(delays, (from, to));
        let (mut current, mut path) = (from, Vec::new());
        while current != to {
            let left = costs[current]?;
            let on_the_path = |&&(link, next): &&(u16, usize)| {
                self.may_enter(next, to)
                    && costs[next].is_some_and(|(delay, hops)| left == (delay + delays[usize::from(link)], hops + 1))
            };
            let &(link, next) =
                self.leaving[current].iter().find(on_the_path).expect("a path of this cost begins with a link");
            path.push(link);
            current = next;
        }
        Some(path)
    }

    /// Per node, delay and hops of the shortest path to node `to`, by Dijkstra's algorithm from there. The search ends at
    /// `from`: values of nodes that are farther away are upper bounds.
    fn costs_to(&self, delays: &[Duration], (from, to): (usize, usize)) -> Vec<Option<(Duration, u32)>> {
        let mut costs = vec![None; self.nodes.len()];
        let start = (Duration::ZERO, 0);
        costs[to] = Some(start);
        let mut reached = BinaryHeap::from([Reverse((start, to))]);
        while let Some(Reverse((cost, node))) = reached.pop() {
            if node == from {
                break;
            }
            if costs[node] != Some(cost) || !self.may_enter(node, to) {
                continue;
            }
            for &(link, before) in &self.leaving[node] {
                // The other direction of the same hop leads here.
                let longer = (cost.0 + delays[usize::from(link ^ 1)], cost.1 + 1);
                if costs[before].is_none_or(|known| longer < known) {
                    costs[before] = Some(longer);
                    reached.push(Reverse((longer, before)));
                }
            }
        }
        costs
    }

    /// Whether packets for node `to` may enter node `node`: it forwards, or is the destination.
    fn may_enter(&self, node: usize, to: usize) -> bool {
        node == to || self.nodes[node].kind.forwards()
    }

    /// Resolves `route`, names of links from node `from` to node `to`, by the names of the hops.
    pub(super) fn named(
        &self,
        route: &[String],
        names: &HopNames<'_>,
        (from, to): (usize, usize),
    ) -> Result<Vec<u16>, String> {
        let name = |node: usize| &self.nodes[node].name;
        let (mut path, mut passed) = (Vec::new(), vec![from]);
        for called in route {
            let current = passed[passed.len() - 1];
            let hop = names.find(called)?;
            if current != from && !self.nodes[current].kind.forwards() {
                let kind = if self.nodes[current].kind == NodeKind::Host {
                    "is a host, which forwards"
                } else {
                    "are stations, which forward"
                };
                let text = format!("{:?} {kind} nothing; route around it", name(current));
                return Err(text);
            }
            let Some(&(link, next)) = self.leaving[current].iter().find(|(link, _)| usize::from(link / 2) == hop)
            else {
                let (a, b) = self.ends[hop];
                let leaving = self.leaving[current].iter().map(|(link, _)| names.in_order[usize::from(link / 2)]);
                let text = format!(
                    "{called:?} connects {:?} and {:?}, but the route is at {:?}; links from there: {}",
                    name(a),
                    name(b),
                    name(current),
                    listed(leaving)
                );
                return Err(text);
            };
            if passed.contains(&next) {
                let text = format!("{called:?} leads back to {:?}; leave out the loop", name(next));
                return Err(text);
            }
            passed.push(next);
            path.push(link);
        }
        let end = passed[passed.len() - 1];
        if end == to {
            return Ok(path);
        }
        let text = format!("ends at {:?}; add the links from there to {:?}", name(end), name(to));
        Err(text)
    }

    /// Initial delays of the links, by number.
    pub(super) fn delays(hops: &[(&str, &LinkSpec, &LinkSpec)]) -> Vec<Duration> {
        hops.iter().flat_map(|(_, link, reverse)| [link.delay, reverse.delay]).collect()
    }
}

/// Nodes in the order of the file, and their numbers by name.
fn read_nodes(value: &Value) -> Result<(Vec<Node>, BTreeMap<String, usize>), Error> {
    let Value::Array(values) = value else {
        return Err(Error::new("nodes", mismatch(value, "a list of tables, [[nodes]]").to_string()));
    };
    let (mut nodes, mut numbers) = (Vec::new(), BTreeMap::new());
    for (i, value) in values.iter().enumerate() {
        let place = format!("nodes[{i}]");
        let values = as_table(&place, value)?;
        wlan::refuse_keys(&place, values)?;
        check_known(&place, values, KEYS.iter())?;
        let table = Table::new(&place, values, KEYS);
        let name: String = table.field("name")?;
        if name.is_empty() {
            return Err(table.error("name", "is empty; write one"));
        }
        if numbers.insert(name.clone(), i).is_some() {
            return Err(table.error("name", format!("{name:?} is already the name of a node; choose another one")));
        }
        nodes.push(Node { name, kind: of_word(KINDS, &table.field::<String>("kind")?) });
    }
    Ok((nodes, numbers))
}

fn read_ends(
    place: &str,
    link: &Value,
    nodes: &[Node],
    numbers: &BTreeMap<String, usize>,
) -> Result<(usize, usize), Error> {
    let table = Table::new(place, as_table(place, link)?, super::hop::KEYS);
    let (from, to) = (read_node(&table, "from", nodes, numbers)?, read_node(&table, "to", nodes, numbers)?);
    if from == to {
        let name = &nodes[to].name;
        return Err(table.error("to", format!("{name:?} is also where the link begins; write another node")));
    }
    Ok((from, to))
}

fn read_node(table: &Table, key: &str, nodes: &[Node], numbers: &BTreeMap<String, usize>) -> Result<usize, Error> {
    let Some(name) = table.field::<Option<String>>(key)? else {
        let example = nodes.first().map_or("A", |node| &node.name);
        return Err(table.error(key, format!("missing; write the name of a node, e.g. {key} = {example:?}")));
    };
    let unknown = || table.error(key, unknown("node", &name, nodes.iter().map(|node| node.name.as_str())));
    numbers.get(&name).copied().ok_or_else(unknown)
}

/// Rejects keys of the other topologies: with `nodes` those of a row or of `[wlan]`, without `nodes` the ends of links.
pub(super) fn check_form(values: &Map<String, Value>) -> Result<(), Error> {
    if values.contains_key("nodes") {
        if values.contains_key(wlan::KEY) {
            let text =
                "is not allowed beside [[nodes]]; write it as [links.wlan] at a link from an access point to stations";
            return Err(Error::new(wlan::KEY, text));
        }
        return match [FIRST, "reverse"].into_iter().find(|&key| values.contains_key(key)) {
            Some("reverse") => {
                Err(Error::new("reverse", "needs [link]; beside [[nodes]] write reverse = { ... } in [[links]]"))
            }
            Some(key) => {
                Err(Error::new(key, "is not allowed beside [[nodes]]; write it as [[links]] with a name, from and to"))
            }
            None => Ok(()),
        };
    }
    let links = values.get("links").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for (i, link) in links.iter().enumerate() {
        if let Some(key) = ["from", "to"].into_iter().find(|key| link.get(key).is_some()) {
            let text = "needs [[nodes]]; write them, and the first link in [[links]] too, or leave it out";
            return Err(Error::new(format!("links[{i}].{key}"), text));
        }
    }
    Ok(())
}

/// Kinds of nodes and their words.
const KINDS: &[(&str, NodeKind)] = &[
    ("router", NodeKind::Router),
    ("host", NodeKind::Host),
    ("access-point", NodeKind::AccessPoint),
    ("stations", NodeKind::Stations),
];

/// Keys of a node.
pub(super) const KEYS: &[Key] = &[
    Key { name: "name", kind: Kind::Text, need: Need::Required("A"), doc: "Name of the node in links and flows." },
    Key {
        name: "kind",
        kind: Kind::Word("kind of node", || KINDS.iter().map(|&(word, _)| word).collect()),
        need: Need::Default("router"),
        doc: "A `router` forwards packets of others. A `host` forwards none; its first link is the device of the flows \
              that begin there. An `access-point` is a router from which a wireless LAN leads to its `stations`, which \
              forward none. Flows may begin and end at any of them.",
    },
];

/// Checks that wireless LANs lead from an access point to stations of their own, and that no other link reaches
/// stations.
fn check_ends(graph: &Graph, hops: &[Hop]) -> Result<(), Error> {
    let node = |number: usize| &graph.nodes[number];
    for (i, (hop, &(from, to))) in hops.iter().zip(&graph.ends).enumerate() {
        let error = |key: &str, text: String| Err(Error::new(format!("links[{i}].{key}"), text));
        if hop.wlan.is_none() {
            let stations =
                [("from", from), ("to", to)].into_iter().find(|&(_, end)| node(end).kind == NodeKind::Stations);
            let Some((key, end)) = stations else { continue };
            let text = "are stations, which only a link with [links.wlan] reaches; write that, or another node";
            return error(key, format!("{:?} {text}", node(end).name));
        }
        for (key, end, kind) in [("from", from, NodeKind::AccessPoint), ("to", to, NodeKind::Stations)] {
            if node(end).kind != kind {
                let (name, is, word) = (&node(end).name, node(end).kind.word(), kind.word());
                let text = "a wireless LAN leads from an access point to stations";
                return error(key, format!("the kind of {name:?} is {is}, but {text}; write kind = {word:?} there"));
            }
        }
        if let Some(&(link, _)) = graph.leaving[to].iter().find(|&&(link, _)| usize::from(link / 2) < i) {
            let other = &hops[usize::from(link / 2)].name;
            let text = format!("{:?} belong to {other:?} already; write a node of their own", node(to).name);
            return error("to", text);
        }
    }
    let has_cell = |n: usize| graph.leaving[n].iter().any(|(link, _)| hops[usize::from(link / 2)].wlan.is_some());
    let without = (0..graph.nodes.len()).find(|&n| node(n).kind == NodeKind::AccessPoint && !has_cell(n));
    without.map_or(Ok(()), |n| {
        let text = r#"has no wireless LAN; write [links.wlan] at a link from it, or kind = "router""#;
        Err(Error::new(format!("nodes[{n}].kind"), format!("{:?} {text}", node(n).name)))
    })
}
