//! Hosts: which ends of flows are on one machine.
//!
//! A host has a name: that of `host` or `peer_host`, that of a node of kind `host`, or the address of an endpoint or of a
//! packet in a capture. Ends with one name are on one host. The ends of a group that names none are two hosts of its
//! own. Queues see the numbers of hosts. Stations of a wireless LAN are hosts by themselves.

use super::{Direction, Error, FlowSpec, Graph, Middlebox, Scenario, Traffic, WlanSpec};
use crate::endpoint::Side;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Numbers of the hosts of all flows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostTable {
    /// Per group, the hosts of its sources and of its sinks; members take them in turn.
    groups: Vec<[Vec<u32>; 2]>,
    /// By number, the addresses of hosts whose names are addresses.
    addresses: BTreeMap<u32, IpAddr>,
}

impl HostTable {
    /// The hosts of a scenario.
    pub fn of(scenario: &Scenario) -> Self {
        let stations: usize = scenario.cells().map(|cell| 1 + cell.wlan.station_count() as usize).sum();
        // Each end has a number of its own, which its first host takes; stations and further hosts follow.
        let mut free = (2 * scenario.flows.len() + stations) as u32..;
        let mut known = BTreeMap::new();
        let mut number = |own: u32, (place, name): (u32, Option<Name>)| {
            let mut new = || if place == 0 { own } else { free.next().expect("fewer hosts than numbers") };
            match name {
                Some(name) => *known.entry(name).or_insert_with(new),
                None => new(),
            }
        };
        let mut end = |group: u32, flow: &FlowSpec, side: Side| {
            let own = 2 * group + side as u32;
            (0..).zip(flow.names_of_hosts(side, scenario.graph.as_ref())).map(|named| number(own, named)).collect()
        };
        let groups = (0..).zip(&scenario.flows);
        let groups = groups.map(|(group, flow)| Side::BOTH.map(|side| end(group, flow, side))).collect();
        // Of the hosts that a name is spread over, the first has the address.
        let first = known.into_iter().filter(|&((_, place), _)| place == 0);
        let addresses = first.filter_map(|((name, _), number)| Some((number, name.parse().ok()?))).collect();
        Self { groups, addresses }
    }

    /// Hosts of the source and of the sink of flow number `member` of a group. The members of a capture's group are the
    /// flows or transfers that it replays.
    pub fn pair(&self, group: u32, member: u32) -> (u32, u32) {
        let [source, sink] = &self.groups[group as usize];
        let of = |hosts: &[u32]| hosts[member as usize % hosts.len()];
        (of(source), of(sink))
    }

    /// By number, the addresses of hosts whose names are addresses.
    pub fn addresses(&self) -> &BTreeMap<u32, IpAddr> {
        &self.addresses
    }
}

/// Name of a host, and its number among those of the group that a name is spread over.
type Name = (String, u32);

impl FlowSpec {
    /// Names of the hosts at one end, in the order of the group's flows; none for a host of its own.
    fn names_of_hosts(&self, side: Side, graph: Option<&Graph>) -> Vec<Option<Name>> {
        let of_address = |address: IpAddr| Some((address.to_string(), 0));
        match &self.traffic {
            Traffic::Pcap(spec) => {
                let hosts: Vec<_> = spec.replayed_ends().map(|ends| of_address(ends[side as usize])).collect();
                return if hosts.is_empty() { vec![None] } else { hosts };
            }
            Traffic::Endpoint(spec) => {
                if let Some(pair) = &spec.address {
                    return vec![of_address(pair.0[side as usize])];
                }
            }
            _ => {}
        }
        let host_node = || self.node_at(side).filter(|node| graph.is_some_and(|graph| graph.is_host(node)));
        let name = self.host_at(side).or_else(host_node);
        let count = if self.is_home(side) { self.hosts.unwrap_or(1) } else { 1 };
        (0..count).map(|place| name.map(|name| (name.to_string(), place))).collect()
    }

    /// Whether an end is the one at the home, which `host` and `hosts` name: the sink of data over `link`, the source
    /// of data over `reverse`, and with `nodes` the sink.
    fn is_home(&self, side: Side) -> bool {
        (side == Side::Sink) == (self.direction == Direction::Forward)
    }

    /// Name that a key gives the host of an end.
    fn host_at(&self, side: Side) -> Option<&str> {
        if self.is_home(side) { self.host.as_deref() } else { self.peer_host.as_deref() }
    }

    /// Node of an end, in a graph.
    fn node_at(&self, side: Side) -> Option<&str> {
        match side {
            Side::Source => self.from.as_deref(),
            Side::Sink => self.to.as_deref(),
        }
    }
}

impl Scenario {
    /// Rejects names of hosts where something else decides which host an end is, and a host at two nodes.
    pub(super) fn check_hosts(&self) -> Result<(), Error> {
        let is_host = |node: &str| self.graph.as_ref().is_some_and(|graph| graph.is_host(node));
        let wlans: Vec<Option<&WlanSpec>> = self.wlans().collect();
        let mut places: BTreeMap<&str, &str> = BTreeMap::new();
        for (i, flow) in self.flows.iter().enumerate() {
            let error = |key: &str, text: String| Err(Error::new(format!("flows[{i}].{key}"), text));
            if let Some((key, text)) = decided_elsewhere(flow) {
                return error(key, text.into());
            }
            let (source, sink) = flow.paths.stations(|hop| wlans[hop].is_some());
            for (side, station) in Side::BOTH.into_iter().zip([source, sink]) {
                let (is_home, name) = (flow.is_home(side), flow.host_at(side));
                let spread = flow.hosts.filter(|_| is_home);
                let key = match (name, spread) {
                    (None, None) => continue,
                    (None, Some(_)) => "hosts",
                    (Some(_), _) if is_home => "host",
                    (Some(_), _) => "peer_host",
                };
                if station.is_some() {
                    return error(key, "this end is at a station, which is a host; write its number as station".into());
                }
                let Some(node) = flow.node_at(side) else { continue };
                if is_host(node) && (name.is_some_and(|name| name != node) || spread.is_some()) {
                    return error(
                        key,
                        format!("{node:?} is a host by itself; leave it out, or make the node a router"),
                    );
                }
                let Some(name) = name else { continue };
                let other = if is_host(name) { name } else { places.entry(name).or_insert(node) };
                if other != node {
                    let text = format!("{name:?} is at {other:?} and cannot be at {node:?} too; write another name");
                    return error(key, text);
                }
            }
        }
        Ok(())
    }
}

/// The first key of a group that names a host although its traffic decides, and why.
fn decided_elsewhere(flow: &FlowSpec) -> Option<(&'static str, &'static str)> {
    let keys =
        [("host", flow.host.is_some()), ("peer_host", flow.peer_host.is_some()), ("hosts", flow.hosts.is_some())];
    let (key, _) = keys.into_iter().find(|&(_, is_given)| is_given)?;
    match &flow.traffic {
        Traffic::Pcap(_) => Some((key, "the capture's addresses are the hosts; leave it out")),
        Traffic::Endpoint(spec) if spec.address.is_some() => Some((key, "address names both hosts; keep one")),
        _ if flow.hosts.is_some() && flow.middlebox == Some(Middlebox::Tunnel) => {
            Some(("hosts", "a tunnel ends at one host; leave it out, or write a group for each tunnel"))
        }
        _ => None,
    }
}
