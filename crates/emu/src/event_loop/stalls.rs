//! When the loop stood still, so that what arrived lay in the devices unread.
//!
//! A frame in a device has no stamp. So the loop is never to be away for longer than [`HEARTBEAT`], and tells when it
//! was: stopped by a signal, or waiting for a CPU. What it then reads may have arrived at any time since.

use sojourn_aqm::{Duration, Instant};

/// The times at which the loop came back too late.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// How many there were.
    pub count: u64,
    /// What they took together.
    pub total: Duration,
    /// The longest ones in the order of time, each from when the loop was to be back until it was.
    pub longest: Vec<(Instant, Instant)>,
    /// Packets read after them of which nobody knows when they arrived.
    pub late_packets: u64,
}

impl Stalls {
    /// The loop is back at `now` and was to be at `expected`: whether that is a stall.
    pub fn back(&mut self, expected: Instant, now: Instant) -> bool {
        let away = now - expected;
        if away <= TOLERATED {
            return false;
        }
        self.count += 1;
        self.total += away;
        self.longest.push((expected, now));
        if self.longest.len() > KEPT {
            let shortest = (0..self.longest.len()).min_by_key(|&i| self.longest[i].1 - self.longest[i].0);
            self.longest.remove(shortest.expect("more stalls than are kept"));
        }
        true
    }

    /// As a result has it.
    pub fn json(&self) -> serde_json::Value {
        let longest: Vec<_> = self.longest.iter().map(|&(from, to)| [from.as_nanos(), to.as_nanos()]).collect();
        let (count, total, late) = (self.count, self.total.as_nanos(), self.late_packets);
        serde_json::json!({ "count": count, "total_ns": total, "late_packets": late, "longest_ns": longest })
    }

    /// What is wrong with a run in which `arrived` packets arrived, if more than 1 % of them were read late.
    pub fn fault(&self, arrived: u64) -> Option<String> {
        if self.late_packets * 100 <= arrived {
            return None;
        }
        let each = |&(from, to): &(Instant, Instant)| {
            format!("{:.3} to {:.3} s", from.as_nanos() as f64 / 1e9, to.as_nanos() as f64 / 1e9)
        };
        let times = self.longest.iter().map(each).collect::<Vec<_>>().join(", ");
        let others = match self.count - self.longest.len() as u64 {
            0 => String::new(),
            n => format!(" and {n} shorter stalls"),
        };
        let late = self.late_packets;
        Some(format!("{late} of {arrived} packets were read late: the shell was stalled from {times}{others}"))
    }
}

/// The longest time that the loop sleeps.
pub const HEARTBEAT: Duration = Duration::from_millis(10);

/// A loop that is back within this time did not stand still; packets that leave so late are told of, too.
const TOLERATED: Duration = Duration::from_millis(1);

/// So many stalls are told one by one.
const KEPT: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn the_longest_stalls_are_kept_in_order() {
        let mut stalls = Stalls::default();
        assert!(!stalls.back(ms(7), ms(8)), "a millisecond is tolerated");
        for (from, length) in [(10, 3), (20, 9), (40, 2), (50, 1500), (2000, 5), (3000, 4), (4000, 7)] {
            assert!(stalls.back(ms(from), ms(from + length)));
        }
        assert_eq!((stalls.count, stalls.total), (7, Duration::from_millis(1530)));
        let lengths: Vec<_> = stalls.longest.iter().map(|&(from, to)| (to - from).as_nanos() / 1_000_000).collect();
        assert_eq!(lengths, [9, 1500, 5, 4, 7]);
    }

    #[test]
    fn late_packets_are_a_fault_from_one_in_a_hundred_on() {
        let mut stalls = Stalls::default();
        stalls.back(ms(1310), ms(2817));
        stalls.late_packets = 3;
        assert_eq!(stalls.fault(300), None);
        let told = "3 of 299 packets were read late: the shell was stalled from 1.310 to 2.817 s";
        assert_eq!(stalls.fault(299).as_deref(), Some(told));
    }
}
