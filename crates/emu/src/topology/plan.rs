//! The nodes of a scenario, their addresses, and the route between each pair of addresses.
//!
//! Packets of a node's own addresses take the path of minimum propagation delay. Each group of flows has two more
//! addresses, one at its server and one at its clients, so that its packets take its own path.

use crate::Error;
use sojourn_aqm::Duration;
use sojourn_sim::scenario::{Direction, FlowSpec, Scenario};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Nodes and groups of flows of a scenario's network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyPlan {
    /// Names of the nodes; in a row of links `0`, `1`, … from the source of forward flows on.
    pub nodes: Vec<String>,
    /// The groups of flows.
    pub groups: Vec<Group>,
}

/// Nodes of a group's programs, and the links between them by number: 2i is the forward direction of the i-th link of
/// the scenario, 2i + 1 the reverse one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The node of the server.
    pub server: usize,
    /// The node of the clients.
    pub client: usize,
    /// Links from the server to the clients.
    pub to_client: Vec<u16>,
    /// Links from the clients to the server.
    pub to_server: Vec<u16>,
    /// One-way delay of the access link, at the source of the data.
    pub access: Duration,
    /// Whether the server is the source of the data.
    pub downward: bool,
}

impl TopologyPlan {
    /// The plan of a scenario without wireless LANs.
    pub fn of(scenario: &Scenario) -> Result<Self, Error> {
        let nodes: Vec<String> = match &scenario.graph {
            Some(graph) => graph.nodes.iter().map(|node| node.name.clone()).collect(),
            None => (0..=scenario.hops().count()).map(|i| i.to_string()).collect(),
        };
        if nodes.len() > MAX_NODES {
            return Err(Error::Input(format!("nodes: {} of them; at most {MAX_NODES} can be emulated", nodes.len())));
        }
        if scenario.flows.len() > MAX_GROUPS {
            let text = format!("flows: {} groups; at most {MAX_GROUPS} can be emulated", scenario.flows.len());
            return Err(Error::Input(text));
        }
        let groups = scenario.flows.iter().enumerate().map(|(i, flow)| group(scenario, i, flow));
        Ok(Self { nodes, groups: groups.collect::<Result<_, _>>()? })
    }

    /// Number of the node `name`.
    pub fn node(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node == name)
    }

    /// Addresses of groups of flows at a node.
    pub fn addresses_of_groups(&self, node: usize) -> impl Iterator<Item = IpAddr> {
        let all = self.groups.iter().enumerate().flat_map(|(number, group)| {
            let (server, client) = Group::addresses(number);
            [(group.server, server), (group.client, client)]
        });
        all.filter(move |&(at, _)| at == node).map(|(_, address)| address)
    }

    /// Links, by number, of the path of minimum propagation delay; `None` without a path.
    pub fn path(scenario: &Scenario, from: usize, to: usize) -> Option<Vec<u16>> {
        if scenario.graph.is_some() {
            return scenario.shortest(from, to);
        }
        let hops = |from: usize, to: usize| (from..to).map(|hop| hop as u16);
        Some(if from < to {
            hops(from, to).map(|hop| 2 * hop).collect()
        } else {
            hops(to, from).rev().map(|hop| 2 * hop + 1).collect()
        })
    }
}

impl Group {
    /// Addresses of the server and of the clients of group `number`.
    pub fn addresses(number: usize) -> (IpAddr, IpAddr) {
        let first = GROUPS + 2 * number as u32;
        (Ipv4Addr::from(first).into(), Ipv4Addr::from(first + 1).into())
    }
}

/// IPv4 and IPv6 address of node `number` itself.
pub fn addresses(number: usize) -> [IpAddr; 2] {
    let ip = Ipv4Addr::from(NODES + 1 + number as u32);
    let ip6 = Ipv6Addr::new(0xfd53, 0x6f6a, 0x6f75, 0xffff, 0, 0, 0, 1 + number as u16);
    [ip.into(), ip6.into()]
}

/// Prefixes of all addresses of a network.
pub fn everywhere() -> [(IpAddr, u8); 2] {
    let ip6 = Ipv6Addr::new(0xfd53, 0x6f6a, 0x6f75, 0xffff, 0, 0, 0, 0);
    [(Ipv4Addr::from(NODES).into(), 10), (ip6.into(), 64)]
}

fn group(scenario: &Scenario, number: usize, flow: &FlowSpec) -> Result<Group, Error> {
    let (data, acks) = (flow.paths.data.to_vec(), flow.paths.acks.to_vec());
    let (Some(&first), Some(&last)) = (data.first(), data.last()) else {
        return Err(Error::Input(format!("flows[{number}]: begins and ends at the same node; write another one")));
    };
    let (begin, end) = (ends(scenario, first).0, ends(scenario, last).1);
    let downward = flow.direction == Direction::Forward;
    // In a row, servers are before the first link in either direction of the data.
    let (server, client) = if downward { (begin, end) } else { (end, begin) };
    let (to_client, to_server) = if downward { (data, acks) } else { (acks, data) };
    Ok(Group { server, client, to_client, to_server, access: flow.access_delay, downward })
}

/// Source and destination node of a link.
fn ends(scenario: &Scenario, link: u16) -> (usize, usize) {
    let hop = usize::from(link / 2);
    let (from, to) = scenario.graph.as_ref().map_or((hop, hop + 1), |graph| graph.ends[hop]);
    if link % 2 == 0 { (from, to) } else { (to, from) }
}

/// 100.64.0.0 (RFC 6598) for nodes, 100.96.0.0 for groups.
const NODES: u32 = 100 << 24 | 64 << 16;
const GROUPS: u32 = 100 << 24 | 96 << 16;

/// Each node has processes and a device.
const MAX_NODES: usize = 1000;
const MAX_GROUPS: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn plan(text: &str) -> (Scenario, TopologyPlan) {
        let text = format!("duration = \"1 s\"\n{text}");
        let scenario = Scenario::parse(&text, &[], Path::new("/")).unwrap();
        let plan = TopologyPlan::of(&scenario).unwrap();
        (scenario, plan)
    }

    #[test]
    fn in_a_row_servers_are_before_the_first_link() {
        let (scenario, plan) = plan(
            "[link]\nrate = \"1 Mbit/s\"\n[[links]]\nname = \"second\"\nrate = \"1 Mbit/s\"\n\
             [[links]]\nname = \"third\"\nrate = \"1 Mbit/s\"\n\
             [[flows]]\nkind = \"tcp\"\nroute = [\"link\", \"second\", \"third\"]\nrtt = \"30 ms\"\n\
             [[flows]]\nkind = \"tcp\"\nroute = [\"second\", \"third\"]\ndirection = \"reverse\"\n",
        );
        assert_eq!(plan.nodes, ["0", "1", "2", "3"]);
        let [long, back] = &plan.groups[..] else { panic!("two groups") };
        assert_eq!(
            (long.server, long.client, &long.to_client[..], &long.to_server[..]),
            (0, 3, &[0, 2, 4][..], &[5, 3, 1][..])
        );
        assert_eq!((long.access, long.downward), (Duration::from_millis(15), true));
        assert_eq!(
            (back.server, back.client, &back.to_client[..], &back.to_server[..]),
            (1, 3, &[2, 4][..], &[5, 3][..])
        );
        assert!(!back.downward);
        assert_eq!(TopologyPlan::path(&scenario, 3, 1), Some(vec![5, 3]));
        assert_eq!(TopologyPlan::path(&scenario, 0, 2), Some(vec![0, 2]));
    }

    #[test]
    fn in_a_graph_flows_have_routes_of_their_own() {
        let (scenario, plan) = plan(
            "[[nodes]]\nname = \"alice\"\nkind = \"host\"\n[[nodes]]\nname = \"core\"\n[[nodes]]\nname = \"bob\"\nkind = \"host\"\n\
             [[links]]\nname = \"slow\"\nfrom = \"alice\"\nto = \"core\"\nrate = \"1 Mbit/s\"\ndelay = \"9 ms\"\n\
             [[links]]\nname = \"fast\"\nfrom = \"core\"\nto = \"alice\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
             [[links]]\nname = \"last\"\nfrom = \"core\"\nto = \"bob\"\nrate = \"1 Mbit/s\"\n\
             [[flows]]\nkind = \"tcp\"\nfrom = \"alice\"\nto = \"bob\"\nroute = [\"slow\", \"last\"]\n",
        );
        assert_eq!(plan.nodes, ["alice", "core", "bob"]);
        assert_eq!(plan.node("bob"), Some(2));
        let group = &plan.groups[0];
        assert_eq!((group.server, group.client), (0, 2));
        assert_eq!((&group.to_client[..], &group.to_server[..]), (&[0, 4][..], &[5, 2][..]));
        assert_eq!(TopologyPlan::path(&scenario, 0, 2), Some(vec![3, 4]));
        assert_eq!(addresses(0)[0], "100.64.0.1".parse::<IpAddr>().unwrap());
        assert_eq!(Group::addresses(1).1, "100.96.0.3".parse::<IpAddr>().unwrap());
    }
}
