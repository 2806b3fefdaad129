//! The links of a scenario between its nodes, in virtual time, in one process.
//!
//! A packet that leaves a link reaches the next one at that nanosecond, however late the process wakes up: the
//! machine's clock matters only at the end, when a frame is written to the device of a node. So the queues of a route
//! get the calls of a simulation with the same arrivals at the first of them. With a process per link there would be
//! two clocks between two queues, and the second queue would see what the scheduler did to the first.

use super::plan::{Group, TopologyPlan, addresses};
use crate::Error;
use crate::path::config::WINDOW;
use crate::path::{
    Buffer, Direction, DirectionConfig, Gso, LogConfig, LogFormat, PathKind, Pool, PortRules, Report, Side, Sink,
};
use sojourn_aqm::headers::IpHeader;
use sojourn_aqm::{Duration, Instant};
use sojourn_sim::scenario::{Scenario, Steps};
use std::collections::BTreeMap;
use std::io::IoSlice;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Configuration common to all links.
#[derive(Clone, Debug, Default)]
pub struct MeshConfig {
    /// Seed of all random streams.
    pub seed: u64,
    /// Nanoseconds since 1970 at virtual time zero.
    pub epoch_ns: u64,
    /// Folder for logs.
    pub log: Option<PathBuf>,
    /// Path prefix of captures.
    pub pcap: Option<PathBuf>,
    /// Handling of super-packets.
    pub gso: Gso,
    /// Classes and hosts of packets by port.
    pub ports: PortRules,
}

/// Everything between the devices of the nodes.
pub struct Mesh {
    /// The links by number, then the access links.
    stages: Vec<Direction>,
    /// Time of the next event of each stage.
    next: Vec<Instant>,
    /// Frames to be written to each node.
    exits: Vec<Direction>,
    routes: Routes,
    pool: Pool,
    /// Frames that have left a stage and not reached the next one.
    in_transit: Vec<(Instant, Buffer)>,
    /// Frames without a route: not between addresses of the network, or between nodes without a path.
    unrouted: u64,
    links: usize,
}

/// A hop of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hop {
    Stage(usize),
    Exit(usize),
}

/// Routes of packets by their addresses.
#[derive(Default)]
struct Routes {
    /// Route number of each pair of source and destination address.
    pairs: BTreeMap<(IpAddr, IpAddr), usize>,
    /// First hop of each route.
    first_hops: Vec<Hop>,
    /// Hop after a stage of a route.
    after: BTreeMap<(usize, usize), Hop>,
}

impl Mesh {
    /// Creates the network of a scenario.
    pub fn new(scenario: &Scenario, plan: &TopologyPlan, common: &MeshConfig) -> Result<Self, Error> {
        let mtu = mtu(scenario);
        let plain = |side, number, kind| DirectionConfig {
            number,
            mtu,
            epoch_ns: common.epoch_ns,
            gso: common.gso,
            ports: common.ports.clone(),
            ..DirectionConfig::new(side, kind)
        };
        let mut stages = Vec::new();
        for (number, link) in scenario.hops().flat_map(|(_, link, reverse)| [link, reverse]).enumerate() {
            let side = if number % 2 == 0 { Side::Down } else { Side::Up };
            let log = common.log.as_deref().map(|folder| log_of(folder, number));
            // Between stages each packet is passed on by itself.
            let (window, logs) = (Duration::ZERO, log.into_iter().collect());
            let pcap = common.pcap.as_deref().map(|prefix| capture_of(prefix, number / 2, scenario));
            let config = plain(side, number, PathKind::Link(Box::new(link.clone())));
            stages.push(Direction::new(DirectionConfig { window, logs, pcap, ..config }, common.seed)?);
        }
        let links = stages.len();
        let mut routes = Routes::default();
        for (number, group) in plan.groups.iter().enumerate() {
            let mut access = || -> Result<Vec<usize>, Error> {
                if group.access == Duration::ZERO {
                    return Ok(Vec::new());
                }
                let config = plain(Side::Down, stages.len(), PathKind::Delay(Steps::constant(group.access)));
                stages.push(Direction::new(DirectionConfig { window: Duration::ZERO, ..config }, common.seed)?);
                Ok(vec![stages.len() - 1])
            };
            let (server, client) = Group::addresses(number);
            let (before, after) = (access()?, access()?);
            let along = |links: &[u16]| links.iter().map(|&link| usize::from(link)).collect::<Vec<_>>();
            let (to_client, to_server) = (along(&group.to_client), along(&group.to_server));
            // The access link is at the source of the data: before the other links on the data path, after them on the
            // reverse path.
            let (to_client, to_server) = if group.downward {
                ([before, to_client].concat(), [to_server, after].concat())
            } else {
                ([to_client, after].concat(), [before, to_server].concat())
            };
            routes.add((server, client), &to_client, group.client);
            routes.add((client, server), &to_server, group.server);
        }
        let all = |node: usize| -> Vec<IpAddr> {
            addresses(node).into_iter().chain(plan.addresses_of_groups(node)).collect()
        };
        for (from, to) in pairs(plan.nodes.len()) {
            let Some(links) = TopologyPlan::path(scenario, from, to) else { continue };
            let stages: Vec<usize> = links.into_iter().map(usize::from).collect();
            let route = routes.make(&stages, to);
            for (source, destination) in all(from).iter().flat_map(|&a| all(to).into_iter().map(move |b| (a, b))) {
                routes.pairs.entry((source, destination)).or_insert(route);
            }
        }
        let exit = |node| {
            Direction::new(plain(Side::Down, node, PathKind::Delay(Steps::constant(Duration::ZERO))), common.seed)
        };
        let exits = (0..plan.nodes.len()).map(exit).collect::<Result<_, _>>()?;
        let next = vec![Instant::NEVER; stages.len()];
        Ok(Self { stages, next, exits, routes, pool: Pool::new(), in_transit: Vec::new(), unrouted: 0, links })
    }

    /// Buffers for frames.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Handles a frame that a node sends at `at`, after [`Self::advance`] to `at`.
    pub fn arrive(&mut self, at: Instant, buffer: Buffer) {
        match self.routes.first_hop(buffer.frame()) {
            Some(hop) => self.forward(hop, at, buffer),
            None => self.unrouted += 1,
        }
    }

    /// Processes everything due up to and including `until` in the order of virtual time, without writing to nodes.
    pub fn advance(&mut self, until: Instant) {
        while let Some(stage) = (0..self.next.len()).min_by_key(|&stage| self.next[stage]) {
            let at = self.next[stage];
            if at > until {
                return;
            }
            let (pool, in_transit) = (&self.pool, &mut self.in_transit);
            self.stages[stage].forward(at, &mut |due, parts| in_transit.push((due, copied(pool, parts))));
            self.update_next(stage);
            let mut in_transit = std::mem::take(&mut self.in_transit);
            for (due, buffer) in in_transit.drain(..) {
                match self.routes.hop_after(stage, buffer.frame()) {
                    Some(hop) => self.forward(hop, due, buffer),
                    None => self.unrouted += 1,
                }
            }
            self.in_transit = in_transit;
        }
    }

    /// Writes the frames due at `now` to the nodes' sinks.
    pub fn write<S: Sink>(&mut self, now: Instant, sinks: &mut [S]) {
        for (exit, sink) in self.exits.iter_mut().zip(sinks) {
            if exit.next_event().is_some_and(|due| due <= now) {
                exit.run(now, sink);
            }
        }
    }

    /// Time of the next event; if packets leave together, the end of the window.
    pub fn due(&self) -> Option<Instant> {
        let dense = self.exits.iter().any(Direction::is_dense);
        let exit = self.exits.iter().filter_map(|exit| exit.due_within(dense)).min();
        let stage = self.next.iter().copied().min().filter(|&at| at < Instant::NEVER);
        let stage = stage.map(|at| if dense { at + WINDOW } else { at });
        [exit, stage].into_iter().flatten().min()
    }

    /// Whether reads can wait for the packets that leave in `left` nanoseconds ([`Direction::can_defer`]).
    pub fn can_defer(&self, left: u64) -> bool {
        self.exits.iter().any(|exit| exit.can_defer(left))
    }

    /// Directions of the links, by number.
    pub fn links(&self) -> &[Direction] {
        &self.stages[..self.links]
    }

    /// Calls `change` with the directions of the links, after everything that is due until `now`.
    pub fn with_links(&mut self, now: Instant, change: impl FnOnce(&mut [Direction])) {
        self.advance(now);
        change(&mut self.stages[..self.links]);
        (0..self.links).for_each(|stage| self.update_next(stage));
    }

    /// Frames without a route.
    pub fn unrouted(&self) -> u64 {
        self.unrouted
    }

    /// Packets that have crossed between two nodes.
    pub fn passed(&self) -> u64 {
        self.exits.iter().map(|exit| exit.counters().arrived.0).sum()
    }

    /// Ends the network; returns the reports of the links by number, and of the writes to each node.
    pub fn finish(mut self) -> (Vec<Report>, Vec<Report>) {
        let exits = self.exits.into_iter().map(Direction::finish).collect();
        self.stages.truncate(self.links);
        (self.stages.into_iter().map(Direction::finish).collect(), exits)
    }

    fn forward(&mut self, hop: Hop, at: Instant, buffer: Buffer) {
        match hop {
            Hop::Stage(stage) => {
                self.stages[stage].arrive(at, buffer);
                self.update_next(stage);
            }
            Hop::Exit(node) => self.exits[node].arrive(at, buffer),
        }
    }

    fn update_next(&mut self, stage: usize) {
        self.next[stage] = self.stages[stage].next_event().unwrap_or(Instant::NEVER);
    }
}

impl Routes {
    fn add(&mut self, pair: (IpAddr, IpAddr), stages: &[usize], node: usize) {
        let route = self.make(stages, node);
        self.pairs.insert(pair, route);
    }

    /// Adds a route over `stages` to a node; returns its number.
    fn make(&mut self, stages: &[usize], node: usize) -> usize {
        let number = self.first_hops.len();
        let hops = stages.iter().map(|&stage| Hop::Stage(stage)).chain([Hop::Exit(node)]);
        self.first_hops.push(hops.clone().next().expect("its end is a place"));
        self.after.extend(stages.iter().zip(hops.skip(1)).map(|(&stage, hop)| ((number, stage), hop)));
        number
    }

    fn first_hop(&self, frame: &[u8]) -> Option<Hop> {
        self.route(frame).map(|route| self.first_hops[route])
    }

    fn hop_after(&self, stage: usize, frame: &[u8]) -> Option<Hop> {
        self.after.get(&(self.route(frame)?, stage)).copied()
    }

    fn route(&self, frame: &[u8]) -> Option<usize> {
        self.pairs.get(&ends(frame)?).copied()
    }
}

/// Source and destination address of a frame.
pub(crate) fn ends(frame: &[u8]) -> Option<(IpAddr, IpAddr)> {
    let ip = IpHeader::parse(frame.get(crate::sys::tun::VIRTIO_HEADER..)?)?;
    Some((ip.source, ip.destination))
}

/// Copies the parts of a frame into a buffer.
fn copied(pool: &Pool, parts: &[IoSlice<'_>]) -> Buffer {
    let mut buffer = pool.take();
    let (mut length, room) = (0, buffer.room());
    for part in parts {
        let end = room.len().min(length + part.len());
        room[length..end].copy_from_slice(&part[..end - length]);
        length = end;
    }
    buffer.set_len(length);
    buffer
}

/// Every pair of different nodes.
fn pairs(nodes: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..nodes).flat_map(move |from| (0..nodes).filter(move |&to| to != from).map(move |to| (from, to)))
}

/// Maximum IP packet that all links carry.
pub fn mtu(scenario: &Scenario) -> u32 {
    let of_links = scenario.hops().flat_map(|(_, link, reverse)| [link.mtu, reverse.mtu]);
    of_links.min().expect("there is a link")
}

/// Path prefix of the captures of a link: its number, and its name in characters allowed in file names.
fn capture_of(prefix: &Path, number: usize, scenario: &Scenario) -> PathBuf {
    let name = scenario.hops().nth(number).map_or("", |(name, ..)| name);
    let fits = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' };
    let mut path = prefix.as_os_str().to_owned();
    path.push(format!(".{number}-{}", name.chars().map(fits).collect::<String>()));
    path.into()
}

fn log_of(folder: &Path, number: usize) -> LogConfig {
    LogConfig { path: folder.join(format!("{number}.records")), format: LogFormat::Records, command: String::new() }
}

#[cfg(test)]
mod tests;
