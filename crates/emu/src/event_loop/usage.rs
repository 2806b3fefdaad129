//! What an emulation used of the machine, and what it lacked.

use super::load::MachineLoad;
use super::stalls::Stalls;
use serde_json::{Value, json};

/// What a run used of the machine, and how well its loop kept time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// When the loop stood still.
    pub stalls: Stalls,
    /// What programs lacked of the machine's CPUs.
    pub load: MachineLoad,
    /// Duration of the run.
    pub wall_ns: u64,
    /// CPU time of the process meanwhile.
    pub cpu_ns: u64,
    /// Whether the loop ran before ordinary processes, with exact timers.
    pub realtime: bool,
}

impl Usage {
    /// Duration, CPU time and scheduling in one line.
    pub fn line(&self) -> String {
        let cpu = self.cpu_ns as f64 / self.wall_ns.max(1) as f64 * 100.0;
        let how = if self.realtime { "real-time scheduling" } else { "ordinary scheduling" };
        format!("{:.1} s, {cpu:.1} % of a CPU, {how}", self.wall_ns as f64 / 1e9)
    }

    /// `json`, an object about a run, with the keys that are told of every run.
    pub fn added_to(&self, mut json: Value) -> Value {
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
