//! Report of a shell at its end.

use super::refusals::Refusals;
pub use super::sender_monitor::BufferLimit;
use super::{Shell, Status};
use crate::event_loop::usage::Usage;
use crate::path::{PathKind, Report};
use crate::sys::netlink::Losses;
use serde_json::{Value, json};
use sojourn_aqm::registry::AnyConfig;
use sojourn_aqm::{Duration, Instant};
use sojourn_sim::scenario::LossSpec;

/// Outcome of a shell's run.
pub struct Outcome {
    /// The shell, with `epoch_ns` set.
    pub shell: Shell,
    /// How its command ended.
    pub status: Status,
    /// Report of each direction, up first.
    pub reports: [Report; 2],
    /// Losses of the inner device, the outer one, and the one to the gateway.
    pub losses: Vec<Losses>,
    /// Resource usage of the shell.
    pub usage: Usage,
    /// The download limited most by a send buffer of this machine, if there is one.
    pub buffer_limited: Option<BufferLimit>,
    /// Attempts to reach other hosts from a closed shell.
    pub refusals: Option<Refusals>,
    /// When a gateway process ended, if it ended before the command.
    pub gateway_ended: Option<Instant>,
    /// Whether the command's supervisor was killed.
    pub supervisor_killed: bool,
    /// The last terminating signal received, forwarded to the command.
    pub signalled: Option<i32>,
}

/// A reason to doubt the results of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFault(pub String);

impl Outcome {
    /// Packets lost outside the queues: in a device before they were read, or refused by the kernel after they left the
    /// path.
    pub fn hidden_drops(&self) -> u64 {
        let in_devices: u64 = self.losses.iter().map(|losses| losses.sent).sum();
        in_devices + self.reports.iter().map(|report| report.counters.refused).sum::<u64>()
    }

    /// Faults of the run.
    pub fn faults(&self) -> Vec<RunFault> {
        let mut faults = Vec::new();
        for report in &self.reports {
            let side = report.side.name();
            faults.extend(late(side, report));
            faults.extend(incomplete(side, report));
        }
        faults.extend(lost_in_devices(self.hidden_drops()));
        if let Some(at) = self.gateway_ended {
            let at = at.as_nanos() as f64 / 1e9;
            faults.push(format!("the gateway ended at {at:.3} s: the hosts behind it were unreachable from then on"));
        }
        for config in [&self.shell.up, &self.shell.down] {
            let PathKind::Link(spec) = &config.kind else { continue };
            // Invariants that foreign queue managers have violated.
            faults.extend(spec.configs().filter_map(AnyConfig::fault));
        }
        if self.supervisor_killed {
            faults.push("the supervisor of the command was killed, and the command with it".to_string());
        }
        let arrived = self.reports.iter().map(|report| report.counters.arrived.0).sum();
        faults.extend(self.usage.stalls.fault(arrived));
        faults.into_iter().map(RunFault).collect()
    }

    /// Those faults that concern the logs: they are incomplete.
    pub fn log_faults(&self) -> Vec<RunFault> {
        self.reports.iter().filter_map(|report| incomplete(report.side.name(), report)).map(RunFault).collect()
    }

    /// Everything about the run except its packets, as JSON.
    pub fn json(&self) -> String {
        let direction = |i: usize| {
            let (config, report) = ([&self.shell.up, &self.shell.down][i], &self.reports[i]);
            let c = &report.counters;
            json!({
                "kind": kind(&config.kind),
                "offered": c.offered,
                "arrived": { "packets": c.arrived.0, "bytes": c.arrived.1 },
                "departed": { "packets": c.departed.0, "bytes": c.departed.1 },
                "dropped": c.dropped, "marked": c.marked, "malformed": c.malformed, "refused": c.refused,
                "undelivered": c.inside(),
                "late_ns": {
                    "p50": report.lateness.quantile(0.5), "p99": report.lateness.quantile(0.99),
                    "max": report.lateness.max(),
                },
                "window_ns": config.window.as_nanos(),
                "mtu": config.mtu,
                "gso": config.gso.name(),
                "log_error": report.log_error,
            })
        };
        let status = match self.status {
            Status::Exited(code) => json!({ "exit": code }),
            Status::Killed(signal) => json!({ "signal": signal }),
            Status::NotStarted(errno) => json!({ "errno": errno }),
        };
        let faults: Vec<_> = self.faults().into_iter().map(|fault| fault.0).collect();
        let json = json!({
            "shell": self.shell.name, "seed": self.shell.seed, "command": self.shell.command.words(),
            "epoch_ns": self.shell.up.epoch_ns,
            "up": direction(0), "down": direction(1),
            "status": status,
            "hidden_drops": self.hidden_drops(),
            "refused": self.refusals.as_ref().map(Refusals::json),
            "sender_held": self.buffer_limited.map(|held| json!({
                "port": held.connection.port, "share": held.share(), "rtt_ms": f64::from(held.connection.rtt_us) / 1e3,
                "rate_bps": held.rate(), "buffer_bytes": held.wmem_max, "buffer_bytes_per_gbit": held.per_gbit(),
            })),
            "faults": faults,
        });
        self.usage.add_to(json).to_string()
    }

    /// Summary lines: one per direction, one for the shell, and warnings.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.reports.iter().map(|report| self.direction(report)).collect();
        lines.push(format!("shell  {}", self.usage.line()));
        let Usage { load, wall_ns, .. } = &self.usage;
        if let Some(waiting) = load.waiting(*wall_ns) {
            let (waiting, steal) = (100.0 * waiting, 100.0 * load.steal());
            lines.push(format!("CPUs   a program waited for a CPU {waiting:.0} % of the time; {steal:.1} % stolen"));
        }
        lines.extend(self.refusals.as_ref().and_then(Refusals::line));
        lines.extend(self.buffer_limited.as_ref().map(BufferLimit::line));
        lines
    }

    fn direction(&self, report: &Report) -> String {
        let counters = &report.counters;
        let undelivered = match counters.inside() {
            0 => String::new(),
            packets => format!(", {packets} undelivered at the end"),
        };
        let super_packets = match counters.offered {
            offered if offered == counters.arrived.0 => String::new(),
            offered => format!(" (the queue was offered {}, as {offered})", counters.arrived.0),
        };
        let us = |q| report.lateness.quantile(q).unwrap_or(0.0) / 1e3;
        format!(
            "{:<5}  {} packets{super_packets}, {:.3} MB, {} dropped, {} marked{undelivered}; late by {:.0} us (median), {:.0} us (99 %)",
            report.side.name(),
            counters.departed.0,
            counters.departed.1 as f64 / 1e6,
            counters.dropped,
            counters.marked,
            us(0.5),
            us(0.99),
        )
    }
}

/// Fault if the 99th percentile of lateness exceeds [`LATE`], by more than one packet; `place` names the direction.
pub fn late(place: &str, report: &Report) -> Option<String> {
    let bound = LATE.as_nanos() as u64;
    let overdue: u64 =
        report.lateness.buckets().filter(|&(from, ..)| from >= bound).map(|(_, _, packets)| packets).sum();
    // The 99th percentile of fewer than a hundred packets is the latest one alone.
    let late = report.lateness.quantile(LATE_QUANTILE).filter(|&late| late > bound as f64 && overdue > 1)?;
    let ms = late / 1e6;
    Some(format!("{place}: 1 % of the packets left more than {ms:.1} ms late (bound: {LATE})"))
}

/// Fault if the log of `place` is incomplete.
pub fn incomplete(place: &str, report: &Report) -> Option<String> {
    report.log_error.as_ref().map(|error| format!("{place}: the log is not complete: {error}"))
}

/// Fault if devices lost packets.
pub fn lost_in_devices(packets: u64) -> Option<String> {
    (packets > 0).then(|| format!("{packets} packets were lost in the devices, outside of any queue"))
}

/// Emulation of a direction, with all defaults spelled out.
fn kind(kind: &PathKind) -> Value {
    match kind {
        PathKind::Link(link) => json!({ "link": link.canonical() }),
        PathKind::Delay(delay) => json!({ "delay": delay.to_string() }),
        PathKind::Loss(loss) => json!({ "loss": loss.as_ref().map(LossSpec::canonical) }),
        PathKind::OnOff { on, off, fixed } => {
            let name = if *fixed { "intermittent" } else { "onoff" };
            json!({ name: { "on": on.to_string(), "off": off.to_string() } })
        }
    }
}

/// Maximum lateness of a packet at [`LATE_QUANTILE`]; above it the run has a fault.
const LATE: Duration = Duration::from_millis(1);

const LATE_QUANTILE: f64 = 0.99;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::{Counters, Side};
    use sojourn_sim::Histogram;

    #[test]
    fn a_single_late_packet_of_a_short_run_is_no_fault() {
        let report = |late: usize, packets: usize| {
            let mut lateness = Histogram::default();
            for i in 0..packets {
                lateness.record(Duration::from_millis(if i < late { 3 } else { 0 }));
            }
            Report { side: Side::Up, counters: Counters::default(), lateness, utilisation: None, log_error: None }
        };
        assert_eq!(super::late("up", &report(1, 9)), None);
        assert_eq!(super::late("up", &report(0, 0)), None);
        assert!(super::late("up", &report(2, 9)).is_some_and(|fault| fault.contains("3.0 ms late")));
        assert_eq!(super::late("up", &report(2, 900)), None);
    }
}
