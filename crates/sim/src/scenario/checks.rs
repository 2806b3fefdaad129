//! What keys of several tables have to agree on.

use super::{Error, FlowSpec, MOST_FLOWS, Scenario, Service, Traffic, changes, hop};
use sojourn_aqm::registry::Effects;

impl Scenario {
    /// Refuses super-packets where a wireless LAN would have to carry them.
    pub(super) fn check_super_packets(&self) -> Result<(), Error> {
        if self.cells().next().is_none() {
            return Ok(());
        }
        if let Some(i) = self.flows.iter().position(|flow| flow.traffic.offloads()) {
            return Err(Error::new(format!("flows[{i}].gso"), "a wireless LAN carries packets only; leave it out"));
        }
        match self.hops().find(|(_, link, reverse)| link.gro.is_some() || reverse.gro.is_some()) {
            Some((name, ..)) => {
                Err(Error::new(format!("{name}.gro"), "beside a wireless LAN there are packets only; leave it out"))
            }
            None => Ok(()),
        }
    }

    /// Refuses what queues do to packets where the scenario cannot carry it, at the start or after a change.
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
        let Some(flow) = self.flows.iter().find(|flow| flow.traffic.tcp().is_none()) else { return Ok(()) };
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

    /// Where the queue manager of a direction of a bottleneck is written.
    fn place_of(&self, name: &str, is_back: bool) -> String {
        match (name == hop::FIRST && self.graph.is_none(), is_back) {
            (_, false) => format!("{name}.aqm"),
            (true, true) => "reverse.aqm".into(),
            (false, true) => format!("{name}.reverse.aqm"),
        }
    }

    /// Refuses what would exhaust the memory by a slip of a unit.
    pub(super) fn check_size(&self) -> Result<(), Error> {
        let flows = self.flow_count();
        if flows > MOST_FLOWS {
            return Err(Error::new("flows", format!("{flows} flows in all; at most {MOST_FLOWS}")));
        }
        let connections = |flow: &FlowSpec| f64::from(flow.count) * flow.traffic.connections_in(self.duration);
        let connections: f64 = self.flows.iter().map(connections).sum();
        if connections > MOST_CONNECTIONS {
            let text = format!("about {connections:.0} connections in all; at most {MOST_CONNECTIONS}");
            return Err(Error::new("flows", text));
        }
        for (i, flow) in self.flows.iter().enumerate() {
            if matches!(flow.traffic, Traffic::PackMime(_)) && flow.count > MOST_CLOUDS {
                let text = format!(
                    "{} clouds of clients; at most {MOST_CLOUDS}, write a higher connections_per_second",
                    flow.count
                );
                return Err(Error::new(format!("flows[{i}].count"), text));
            }
        }
        let (probes, links) = (&self.probes, self.queues().count() as u64);
        if links > MOST_QUEUES {
            let text = format!("{links} queues in all, those of stations included; at most {MOST_QUEUES}");
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
            if samples.saturating_mul(rows) > MOST_SAMPLES {
                let text = format!("a step of {step} gives more than {MOST_SAMPLES} rows; write a longer one");
                return Err(Error::new(format!("probes.{name}"), text));
            }
        }
        Ok(())
    }
}

/// Most connections of all sources that open them.
const MOST_CONNECTIONS: f64 = 1e9;

/// Most sources of PackMime traffic in a group: each keeps the last thousands of its draws.
const MOST_CLOUDS: u32 = 1000;

/// Most queues: tables number them in a byte.
const MOST_QUEUES: u64 = 256;

/// Most rows that a sampling probe may write.
const MOST_SAMPLES: u64 = 20_000_000;
