//! Checks that involve keys of several tables.

use super::{Error, FlowSpec, MAX_FLOWS, Scenario, Service, Traffic, changes, hop};
use sojourn_aqm::registry::Effects;
use std::collections::BTreeSet;

impl Scenario {
    /// Rejects super-packets in scenarios with a wireless LAN, whose frames carry one IP packet.
    pub(super) fn check_super_packets(&self) -> Result<(), Error> {
        if self.cells().next().is_none() {
            return Ok(());
        }
        if let Some(i) = self.flows.iter().position(|flow| flow.traffic.offloads()) {
            return Err(Error::new(format!("flows[{i}].gso"), "a wireless LAN carries no super-packets; leave it out"));
        }
        match self.hops().find(|(_, link, reverse)| link.gro.is_some() || reverse.gro.is_some()) {
            Some((name, ..)) => Err(Error::new(
                format!("{name}.gro"),
                "no super-packets are allowed beside a wireless LAN; leave it out",
            )),
            None => Ok(()),
        }
    }

    /// Rejects queue managers with effects that the scenario does not support, at the start or after a change: in a
    /// wireless LAN all but reordering, in datagram flows duplicates, which would count as datagrams.
    pub(super) fn check_effects(&self, later: &[changes::Change]) -> Result<(), Error> {
        let of_start = || {
            self.hops().flat_map(|(name, link, reverse)| {
                [(self.place_of(name, false), link), (self.place_of(name, true), reverse)]
            })
        };
        for (place, link) in of_start().filter(|(_, link)| matches!(link.service, Service::Wlan(_))) {
            let can = Effects { reorders: true, ..Effects::default() };
            let checked = link.aqm.config.effects().check("a wireless LAN", can);
            checked.map_err(|wrong| Error::new(place, wrong.to_string()))?;
        }
        let Some(flow) = self.flows.iter().find(|flow| flow.traffic.counts_duplicates()) else { return Ok(()) };
        let of_start = of_start().map(|(place, link)| (place, &link.aqm));
        let of_changes = changes::aqms(later, self).map(|(place, aqm)| (place.to_string(), aqm));
        match of_start.chain(of_changes).find(|(_, aqm)| aqm.config.effects().duplicates) {
            None => Ok(()),
            Some((place, _)) => {
                let kind = flow.traffic.name();
                let text = format!("{kind} flows would count duplicates as datagrams; leave duplicate of netem out");
                Err(Error::new(place, text))
            }
        }
    }

    /// Place of the queue manager of one direction of hop `name`.
    fn place_of(&self, name: &str, is_back: bool) -> String {
        match (name == hop::FIRST && self.graph.is_none(), is_back) {
            (_, false) => format!("{name}.aqm"),
            (true, true) => "reverse.aqm".into(),
            (false, true) => format!("{name}.reverse.aqm"),
        }
    }

    /// Rejects endpoints with one name, and socket buffers of hosts without a queue.
    pub(super) fn check_endpoints(&self) -> Result<(), Error> {
        let mut seen = BTreeSet::new();
        for (i, flow) in self.flows.iter().enumerate() {
            let Traffic::Endpoint(endpoint) = &flow.traffic else { continue };
            if !seen.insert(endpoint.name.as_str()) {
                let text = format!("{:?} is another group's already; write another name", endpoint.name);
                return Err(Error::new(format!("flows[{i}].name"), text));
            }
            if endpoint.socket_buffer.is_some() && flow.access_rate.is_none() {
                let text = "needs access_rate, because packets leave the host at once without one; leave it out";
                return Err(Error::new(format!("flows[{i}].socket_buffer"), text));
            }
        }
        Ok(())
    }

    /// Rejects sizes that would exhaust memory, e.g. after a slip in a unit.
    pub(super) fn check_size(&self) -> Result<(), Error> {
        let flows = self.flow_count();
        if flows > MAX_FLOWS {
            return Err(Error::new("flows", format!("{flows} flows in all; at most {MAX_FLOWS}")));
        }
        let connections = |flow: &FlowSpec| f64::from(flow.count) * flow.traffic.connections_in(self.duration);
        let connections: f64 = self.flows.iter().map(connections).sum();
        if connections > MAX_CONNECTIONS {
            let text = format!("about {connections:.0} connections in all; at most {MAX_CONNECTIONS}");
            return Err(Error::new("flows", text));
        }
        for (i, flow) in self.flows.iter().enumerate() {
            if matches!(flow.traffic, Traffic::PackMime(_)) && flow.count > MAX_CLOUDS {
                let text = format!(
                    "{} clouds of clients; at most {MAX_CLOUDS}, write a higher connections_per_second",
                    flow.count
                );
                return Err(Error::new(format!("flows[{i}].count"), text));
            }
        }
        let (probes, links) = (&self.probes, self.queues().count() as u64);
        if links > MAX_QUEUES {
            let text = format!("{links} queues in all, those of stations included; at most {MAX_QUEUES}, write fewer");
            return Err(Error::new("links", text));
        }
        let steps = [
            ("queue", probes.queue, links),
            ("flows", probes.flows, flows),
            ("state", probes.state, links),
            ("utilisation", probes.utilisation, links),
        ];
        for (name, step, rows) in steps {
            let Some(step) = step else { continue };
            let samples = (self.duration.as_nanos() / step.as_nanos()) as u64;
            if samples.saturating_mul(rows) > MAX_SAMPLES {
                let text = format!("a step of {step} gives more than {MAX_SAMPLES} rows; write a longer one");
                return Err(Error::new(format!("probes.{name}"), text));
            }
        }
        Ok(())
    }
}

/// Maximum connections of all sources together.
const MAX_CONNECTIONS: f64 = 1e9;

/// Maximum PackMime clouds per group: each keeps the last thousands of its draws.
const MAX_CLOUDS: u32 = 1000;

/// Maximum queues: the tables number them in two bytes. Whether they fit into memory depends on the machine, so hosts
/// check that before a run ([`crate::MemoryEstimate`]), and the same file is valid everywhere.
const MAX_QUEUES: u64 = 1 << 16;

/// Maximum rows of a sampling probe.
const MAX_SAMPLES: u64 = 20_000_000;
