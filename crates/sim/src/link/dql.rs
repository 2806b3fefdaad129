//! Dynamic queue limits (DQL, the algorithm of BQL): the minimum of queued bytes that keeps a driver busy.
//!
//! Source: T. Herbert's `lib/dynamic_queue_limits.c` (Linux 3.3 and later) and `netdev_tx_sent_queue`,
//! `netdev_tx_completed_queue`. Each completion here is of one packet, as from a NIC that interrupts per packet.
//! Batched completions, under which the limit grows to twice the bytes sent in between, are not modelled.
//!
//! Differs: time is exact instead of in jiffies; counters do not wrap.

use sojourn_aqm::{Duration, Instant};

/// The limit and the state it is computed from (`struct dql`), in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Dql {
    /// Upper bound of the limit.
    max_limit: u64,
    limit: u64,
    /// `limit` plus the completed bytes when it was set; comparable with `num_queued`.
    adj_limit: u64,
    /// Total bytes queued and completed.
    num_queued: u64,
    num_completed: u64,
    /// Size of the last packet queued.
    last_obj_cnt: u64,
    /// At the last completion: bytes beyond the limit, total queued bytes, and size of the last packet.
    prev_ovlimit: u64,
    prev_num_queued: u64,
    prev_last_obj_cnt: u64,
    /// Minimum slack since `slack_start_time`, if measured.
    lowest_slack: Option<u64>,
    slack_start_time: Instant,
}

impl Dql {
    /// An empty driver; the limit grows from 0 up to `max_limit`. `min_limit` is 0, the kernel's default.
    pub fn new(max_limit: u64) -> Self {
        Self {
            max_limit,
            limit: 0,
            adj_limit: 0,
            num_queued: 0,
            num_completed: 0,
            last_obj_cnt: 0,
            prev_ovlimit: 0,
            prev_num_queued: 0,
            prev_last_obj_cnt: 0,
            lowest_slack: None,
            slack_start_time: Instant::ZERO,
        }
    }

    /// Whether another packet may be queued (`dql_avail() >= 0`).
    pub fn is_open(&self) -> bool {
        self.num_queued <= self.adj_limit
    }

    /// Queues a packet of `count` bytes (`dql_queued`).
    pub fn queued(&mut self, count: u64) {
        self.last_obj_cnt = count;
        self.num_queued += count;
    }

    /// Completes `count` bytes at `now` and updates the limit (`dql_completed`).
    pub fn completed(&mut self, now: Instant, count: u64) {
        let completed = self.num_completed + count;
        let over = (self.num_queued - self.num_completed).saturating_sub(self.limit);
        let in_progress = self.num_queued > completed;
        let was_in_progress = self.prev_num_queued > self.num_completed;
        let beyond_previous = completed.saturating_sub(self.prev_num_queued);
        let limit = if over > 0 && !in_progress || self.prev_ovlimit > 0 && beyond_previous > 0 {
            // The queue was starved, or may have been between a completion and the next packet.
            self.watch_slack(now);
            self.limit + beyond_previous + self.prev_ovlimit
        } else if in_progress && was_in_progress && beyond_previous == 0 {
            self.without_slack(now, count)
        } else {
            self.limit
        };
        let limit = limit.min(self.max_limit);
        let is_same = limit == self.limit;
        self.limit = limit;
        self.adj_limit = limit + completed;
        self.prev_ovlimit = if is_same { over } else { 0 };
        self.prev_last_obj_cnt = self.last_obj_cnt;
        self.num_completed = completed;
        self.prev_num_queued = self.num_queued;
    }

    /// The limit after a completion of `count` bytes that left the driver busy: reduced by the minimum slack of the
    /// hold time.
    fn without_slack(&mut self, now: Instant, count: u64) -> u64 {
        let slack = (self.limit + self.prev_ovlimit).saturating_sub(2 * count);
        // `slack_last_objs`: bytes of the last packet within the limit.
        let slack_last_objs = match self.prev_ovlimit {
            0 => 0,
            over => self.prev_last_obj_cnt.saturating_sub(over),
        };
        let lowest = self.lowest_slack.unwrap_or(u64::MAX).min(slack.max(slack_last_objs));
        self.lowest_slack = Some(lowest);
        if now <= self.slack_start_time + SLACK_HOLD_TIME {
            return self.limit;
        }
        self.watch_slack(now);
        self.limit.saturating_sub(lowest)
    }

    fn watch_slack(&mut self, now: Instant) {
        (self.slack_start_time, self.lowest_slack) = (now, None);
    }
}

/// How long slack is observed before the limit falls by it (`slack_hold_time`, one second in every kernel).
const SLACK_HOLD_TIME: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::MAX_BQL as MAX_LIMIT;
    use std::collections::VecDeque;

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1000)
    }

    #[test]
    fn the_limit_grows_from_nothing_to_what_keeps_the_driver_busy() {
        let mut dql = Dql::new(MAX_LIMIT);
        // One packet is always accepted; when it completes and none is left, the driver has starved.
        assert!(dql.is_open());
        dql.queued(1514);
        assert!(!dql.is_open());
        dql.completed(at(100), 1514);
        assert_eq!((dql.limit, dql.prev_ovlimit), (1514, 0));
        // Now two are accepted: exactly at the limit it is still open, one byte above it is not.
        dql.queued(1514);
        assert!(dql.is_open());
        dql.queued(777);
        assert!(!dql.is_open());
        // 777 B above the limit, but another packet waits: not starved. All that was queued at the last completion is
        // completed.
        dql.completed(at(200), 1514);
        assert_eq!((dql.limit, dql.prev_ovlimit), (1514, 777));
        // The bytes above the limit are completed, and the rest exceeds it by 263.
        dql.queued(1000);
        dql.completed(at(300), 777);
        assert_eq!((dql.limit, dql.prev_ovlimit), (1514, 263));
        dql.completed(at(400), 1000);
        assert_eq!((dql.limit, dql.prev_ovlimit), (1514, 0), "the last packet had not exceeded the limit");
    }

    #[test]
    fn the_limit_falls_by_the_least_slack_of_more_than_a_second() {
        let mut dql = Dql { limit: 10_000, adj_limit: 10_000, ..Dql::new(MAX_LIMIT) };
        // About ten packets of 1000 bytes are queued at any time; they complete one by one.
        (0..10).for_each(|_| dql.queued(1000));
        let mut limits = Vec::new();
        for ms in (100..=2300).step_by(100) {
            dql.completed(at(ms * 1000), 1000);
            dql.queued(1000);
            limits.push(dql.limit);
        }
        // The first completion has no predecessor. Slack is 10,000 - 2 * 1000, and 8000 less from 1.1 s on.
        assert_eq!(limits[..10], [10_000; 10]);
        assert_eq!(limits[10], 2000, "{limits:?}");
        assert!(limits[11..].iter().all(|&limit| limit <= 2000), "{limits:?}");
    }

    /// The limit after each `every` of 20,000 packets of a saturated queue, with sizes from a linear congruential
    /// generator and 0.8 µs per byte; before each 97th packet the queue runs empty.
    fn limits(max_limit: u64, every: usize) -> Vec<u64> {
        let (mut dql, mut ring, mut state, mut us) = (Dql::new(max_limit), VecDeque::new(), 12_345u64, 0);
        let mut size = || {
            state = (state * 1_103_515_245 + 12_345) % (1 << 31);
            54 + state % 1461
        };
        let mut send = |dql: &mut Dql, sent: u64| {
            us += sent * 4 / 5;
            dql.completed(at(us), sent);
        };
        let mut limits = Vec::new();
        for i in 0..20_000 {
            while dql.is_open() {
                ring.push_back(size());
                dql.queued(ring[ring.len() - 1]);
            }
            send(&mut dql, ring.pop_front().expect("the driver always takes a packet"));
            if i % 97 == 0 {
                ring.drain(..).for_each(|sent| send(&mut dql, sent));
            }
            if i % every == 0 {
                limits.push(dql.limit);
            }
        }
        limits
    }

    #[test]
    fn limits_of_uneven_packets_are_those_of_another_implementation() {
        // From a program in Python with the kernel's 32-bit counters.
        let expected = [1348, 2189, 2189, 2189, 2181, 2180, 2180, 2178, 2178, 2171, 2145, 2143, 2136, 2136];
        assert_eq!(limits(MAX_LIMIT, 1500), expected);
        assert_eq!(limits(2000, 4000), [1348, 1995, 1990, 1982, 1973]);
    }

    #[test]
    fn the_most_is_kept() {
        let mut dql = Dql::new(1514);
        for step in 0..50 {
            while dql.is_open() {
                dql.queued(1514);
            }
            let inside = dql.num_queued - dql.num_completed;
            assert!(inside <= 2 * 1514, "{inside}");
            dql.completed(at(step * 1200), inside);
            assert!(dql.limit <= 1514);
        }
    }
}
