//! What a topology says at its end.

use super::plan::Group;
use super::testbed::RunResult;
use crate::event_loop::usage::Usage;
use crate::path::Report;
use crate::shell::report::{incomplete, late, lost_in_devices};
use serde_json::{Value, json};

/// How a topology went.
pub struct Outcome {
    /// How its programs ended.
    pub ended: RunResult,
    /// Names of the nodes.
    pub nodes: Vec<String>,
    /// Names of the queues, of each link the forward one and then the reverse one.
    pub queues: Vec<String>,
    /// Where the groups of flows are.
    pub groups: Vec<Group>,
    /// What queue managers of others did that none may do.
    pub faults_of_managers: Vec<String>,
    /// Seed of every random stream.
    pub seed: u64,
    /// Nanoseconds since 1970 at its start.
    pub epoch_ns: u64,
    /// What the links did, by queue.
    pub links: Vec<Report>,
    /// What was written to the nodes, by node.
    pub exits: Vec<Report>,
    /// Packets that the devices lost before they were read.
    pub losses: u64,
    /// Packets for nobody.
    pub unrouted: u64,
    /// Packets that reached a node.
    pub passed: u64,
    /// What it used of the machine.
    pub usage: Usage,
}

impl Outcome {
    /// What is wrong with the run.
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

    /// Everything about the run but its packets, as JSON.
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
        self.usage.added_to(json).to_string()
    }

    /// One line for each queue that had packets, and one for the whole.
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
