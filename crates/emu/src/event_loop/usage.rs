//! CPU time used by an emulation, its stalls, and the load of the machine.

use super::load::MachineLoad;
use super::stalls::Stalls;
use serde_json::{Value, json};

/// Resources used by a run, and how timely its loop was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Stalls of the loop.
    pub stalls: Stalls,
    /// CPU contention of the machine.
    pub load: MachineLoad,
    /// Duration of the run.
    pub wall_ns: u64,
    /// CPU time of the process during the run.
    pub cpu_ns: u64,
    /// Whether the loop ran with real-time priority and exact timers.
    pub realtime: bool,
}

impl Usage {
    /// Duration, CPU time and scheduling in one line.
    pub fn line(&self) -> String {
        let cpu = self.cpu_ns as f64 / self.wall_ns.max(1) as f64 * 100.0;
        let how = if self.realtime { "real-time scheduling" } else { "ordinary scheduling" };
        format!("{:.1} s, {cpu:.1} % of a CPU, {how}", self.wall_ns as f64 / 1e9)
    }

    /// `json`, an object that describes a run, with the keys common to all runs added.
    pub fn add_to(&self, mut json: Value) -> Value {
        let own = json!({
            "format": 1,
            "version": env!("CARGO_PKG_VERSION"),
            "wall_ns": self.wall_ns, "cpu_ns": self.cpu_ns, "realtime": self.realtime,
            "stalls": self.stalls.json(),
            "cpu_waiting": self.load.waiting(self.wall_ns), "cpu_steal": self.load.steal(),
        });
        if let (Value::Object(json), Value::Object(own)) = (&mut json, own) {
            json.extend(own);
        }
        json
    }
}
