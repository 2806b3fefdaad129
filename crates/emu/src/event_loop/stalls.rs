//! Stalls of the event loop, during which arriving frames lay unread in the devices.
//!
//! A frame in a device has no timestamp. The loop therefore must not be away for longer than [`HEARTBEAT`], and records
//! when it was: stopped by a signal, or waiting for a CPU. Frames read after a stall may have arrived at any time in
//! it.

use sojourn_aqm::{Duration, Instant};

/// Late wake-ups of the loop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// Number of stalls.
    pub count: u64,
    /// Total duration.
    pub total: Duration,
    /// The longest stalls in time order, each from the expected to the actual wake-up.
    pub longest: Vec<(Instant, Instant)>,
    /// Packets read after a stall, with unknown arrival times.
    pub late_packets: u64,
}

impl Stalls {
    /// Records a wake-up at `now` that was expected at `expected`; returns whether that is a stall.
    pub fn on_wakeup(&mut self, expected: Instant, now: Instant) -> bool {
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

    /// The object `stalls` of a result.
    pub fn json(&self) -> serde_json::Value {
        let longest: Vec<_> = self.longest.iter().map(|&(from, to)| [from.as_nanos(), to.as_nanos()]).collect();
        let (count, total, late) = (self.count, self.total.as_nanos(), self.late_packets);
        serde_json::json!({ "count": count, "total_ns": total, "late_packets": late, "longest_ns": longest })
    }

    /// Describes the stalls if more than 1 % of `arrived` packets were read late, and more than one.
    pub fn fault(&self, arrived: u64) -> Option<String> {
        if self.late_packets <= 1 || self.late_packets * 100 <= arrived {
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

/// Maximum sleep of the loop.
pub const HEARTBEAT: Duration = Duration::from_millis(10);

/// Lateness that does not count as a stall; packets that leave later than this are reported as well.
const TOLERATED: Duration = Duration::from_millis(1);

/// Number of stalls reported one by one.
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
        assert!(!stalls.on_wakeup(ms(7), ms(8)), "a millisecond is tolerated");
        for (from, length) in [(10, 3), (20, 9), (40, 2), (50, 1500), (2000, 5), (3000, 4), (4000, 7)] {
            assert!(stalls.on_wakeup(ms(from), ms(from + length)));
        }
        assert_eq!((stalls.count, stalls.total), (7, Duration::from_millis(1530)));
        let lengths: Vec<_> = stalls.longest.iter().map(|&(from, to)| (to - from).as_nanos() / 1_000_000).collect();
        assert_eq!(lengths, [9, 1500, 5, 4, 7]);
    }

    #[test]
    fn late_packets_are_a_fault_from_one_in_a_hundred_on() {
        let mut stalls = Stalls::default();
        stalls.on_wakeup(ms(1310), ms(2817));
        stalls.late_packets = 3;
        assert_eq!(stalls.fault(300), None);
        let expected = "3 of 299 packets were read late: the shell was stalled from 1.310 to 2.817 s";
        assert_eq!(stalls.fault(299).as_deref(), Some(expected));
        stalls.late_packets = 1;
        assert_eq!(stalls.fault(9), None, "a single packet of a short run");
    }
}
