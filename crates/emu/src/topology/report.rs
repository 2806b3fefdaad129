//! Report of a topology.

use super::plan::Group;
use super::testbed::RunResult;
use crate::event_loop::usage::Usage;
use crate::path::Report;
use crate::shell::report::{incomplete, late, lost_in_devices};
use serde_json::{Value, json};

/// Outcome of a topology.
pub struct Outcome {
    /// Exit of its programs.
    pub ended: RunResult,
    /// Names of the nodes.
    pub nodes: Vec<String>,
    /// Names of the queues, for each link the forward one and then the reverse one.
    pub queues: Vec<String>,
    /// Groups of flows.
    pub groups: Vec<Group>,
    /// Violations of the queue interface by external queue managers.
    pub faults_of_managers: Vec<String>,
    /// Seed of all random streams.
    pub seed: u64,
    /// Start time in nanoseconds since 1970.
    pub epoch_ns: u64,
    /// Reports of the links, by queue.
    pub links: Vec<Report>,
    /// Reports of the writes to nodes, by node.
    pub exits: Vec<Report>,
    /// Packets that the devices dropped before they were read.
    pub losses: u64,
    /// Frames without a route.
    pub unrouted: u64,
    /// Packets that reached a node.
    pub passed: u64,
    /// Resources used.
    pub usage: Usage,
}

impl Outcome {
    /// Faults of the run.
    pub fn faults(&self) -> Vec<String> {
        let mut faults: Vec<String> = Vec::new();
        faults.extend(self.exits.iter().zip(&self.nodes).filter_map(|(report, node)| late(node, report)));
        faults.extend(self.links.iter().zip(&self.queues).filter_map(|(report, queue)| incomplete(queue, report)));
        faults.extend(lost_in_devices(self.hidden_drops()));
        faults.extend(self.faults_of_managers.iter().cloned());
        faults.extend(self.ended.early.iter().cloned());
        faults.extend(self.usage.stalls.fault(self.passed));
        faults
    }

    /// The run as JSON, without its packets.
    pub fn json(&self) -> String {
        let link = |report: &Report| {
            let c = &report.counters;
            json!({
                "arrived": c.arrived.0, "departed": c.departed.0, "dropped": c.dropped, "marked": c.marked,
                "malformed": c.malformed, "undelivered": c.inside(), "log_error": report.log_error,
            })
        };
        let node = |report: &Report| {
            let lateness = &report.lateness;
            json!({
                "packets": report.counters.departed.0, "refused": report.counters.refused,
                "late_ns": { "p50": lateness.quantile(0.5), "p99": lateness.quantile(0.99), "max": lateness.max() },
            })
        };
        let group = |group: &Group| {
            json!({
                "server": self.nodes[group.server], "client": self.nodes[group.client],
                "to_client": group.to_client, "to_server": group.to_server, "downward": group.downward,
            })
        };
        let named = |names: &[String], values: Vec<Value>| -> Value {
            names.iter().cloned().zip(values).collect::<serde_json::Map<_, _>>().into()
        };
        let json = json!({
            "seed": self.seed, "command": ["run"], "epoch_ns": self.epoch_ns,
            "queues": named(&self.queues, self.links.iter().map(link).collect()),
            "nodes": named(&self.nodes, self.exits.iter().map(node).collect()),
            "groups": self.groups.iter().map(group).collect::<Vec<_>>(),
            "hidden_drops": self.hidden_drops(), "unrouted": self.unrouted,
            "faults": self.faults(),
        });
        self.usage.add_to(json).to_string()
    }

    /// One line for each queue with packets, and one for the resources used.
    pub fn lines(&self) -> Vec<String> {
        let queue = |(report, name): (&Report, &String)| {
            let c = &report.counters;
            let mb = c.departed.1 as f64 / 1e6;
            let (packets, dropped, marked) = (c.departed.0, c.dropped, c.marked);
            (c.arrived.0 > 0)
                .then(|| format!("{name}: {packets} packets, {mb:.3} MB, {dropped} dropped, {marked} marked"))
        };
        let mut lines: Vec<String> = self.links.iter().zip(&self.queues).filter_map(queue).collect();
        lines.push(self.usage.line());
        lines
    }

    fn hidden_drops(&self) -> u64 {
        self.losses + self.exits.iter().map(|report| report.counters.refused).sum::<u64>()
    }
}
