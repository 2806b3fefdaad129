//! CPU contention of the machine during a run: pressure (PSI) and steal time.
//!
//! Programs inside a shell need CPU time as the shell does, but the shell runs with real-time priority and does not
//! notice that they are late. Pressure is only a hint: it counts all programs of the machine.

use std::fs::read_to_string;

/// Counters of the machine, or their increase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineLoad {
    /// Microseconds while some task waited for a CPU; `None` if the kernel does not count them.
    pub waiting_us: Option<u64>,
    /// Steal ticks (spent on other virtual machines), and all ticks.
    pub stolen: (u64, u64),
}

impl MachineLoad {
    /// Reads the counters.
    pub fn now() -> Self {
        let pressure = read_to_string("/proc/pressure/cpu").unwrap_or_default();
        let stat = read_to_string("/proc/stat").unwrap_or_default();
        Self { waiting_us: waiting_us(&pressure), stolen: stolen(&stat) }
    }

    /// Increase since `before`.
    pub fn since(self, before: Self) -> Self {
        let waiting_us = self.waiting_us.zip(before.waiting_us).map(|(now, before)| now.saturating_sub(before));
        let grown = |now: u64, before: u64| now.saturating_sub(before);
        Self { waiting_us, stolen: (grown(self.stolen.0, before.stolen.0), grown(self.stolen.1, before.stolen.1)) }
    }

    /// Share of `wall_ns` while some task waited for a CPU, from 0 to 1.
    pub fn waiting(self, wall_ns: u64) -> Option<f64> {
        self.waiting_us.map(|us| (us as f64 * 1e3 / wall_ns.max(1) as f64).min(1.0))
    }

    /// Steal share of the CPUs' time, from 0 to 1.
    pub fn steal(self) -> f64 {
        self.stolen.0 as f64 / self.stolen.1.max(1) as f64
    }
}

/// `total` of the line `some` of `/proc/pressure/cpu` (Documentation/accounting/psi.rst).
fn waiting_us(text: &str) -> Option<u64> {
    let some = text.lines().find(|line| line.starts_with("some "))?;
    some.split_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

/// Steal, and sum of the first eight fields of the line `cpu` of `/proc/stat` (proc_stat(5)); guest time is included in
/// the first field.
fn stolen(text: &str) -> (u64, u64) {
    let line = text.lines().next().unwrap_or_default();
    let ticks: Vec<u64> = line.split_whitespace().skip(1).take(8).map_while(|word| word.parse().ok()).collect();
    (ticks.get(7).copied().unwrap_or(0), ticks.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_as_the_kernel_writes_them() {
        let pressure = "some avg10=1.53 avg60=0.87 avg300=0.16 total=7312077\nfull avg10=0.00 total=9\n";
        assert_eq!(waiting_us(pressure), Some(7_312_077));
        assert_eq!(waiting_us(""), None);
        assert_eq!(stolen("cpu  100 1 20 700 3 0 6 70 40 0\ncpu0 1 2 3\n"), (70, 900));
    }

    #[test]
    fn shares_are_of_what_was_added() {
        let before = MachineLoad { waiting_us: Some(1_000), stolen: (5, 1_000) };
        let grown = MachineLoad { waiting_us: Some(251_000), stolen: (35, 1_200) }.since(before);
        assert_eq!((grown.waiting(1_000_000_000), grown.steal()), (Some(0.25), 0.15));
        assert_eq!(MachineLoad::default().since(before).waiting(1), None);
    }
}
