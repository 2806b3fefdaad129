//! Fairness over the last second of a run.

use sojourn_aqm::{Duration, Instant};
use sojourn_sim::{FlowCounters, jain};
use std::collections::VecDeque;

/// Delivered bytes and sent packets of each flow at the samples of the last second.
pub(crate) struct Shares(VecDeque<(Instant, Vec<(u64, u64)>)>);

impl Shares {
    /// No samples.
    pub fn new() -> Self {
        Self(VecDeque::new())
    }

    /// Jain's index of the bytes delivered to each active flow in the last second up to `now`; 1 with fewer than two.
    pub fn jain(&mut self, now: Instant, flows: &[FlowCounters]) -> f64 {
        while self.0.front().is_some_and(|&(at, _)| now - at > Duration::from_secs(1)) {
            self.0.pop_front();
        }
        let before = self.0.front().map(|(_, before)| before);
        let mut active = Vec::with_capacity(flows.len());
        for (i, flow) in flows.iter().enumerate() {
            let (delivered, sent) = before.map_or((0, 0), |before| before[i]);
            let (delivered, sent) = (flow.delivered_bytes - delivered, flow.sent - sent);
            // A starved flow is active; a flow that has not started, or has ended, is not.
            if delivered > 0 || sent > 0 || flow.in_flight > 0 {
                active.push(delivered as f64);
            }
        }
        self.0.push_back((now, flows.iter().map(|flow| (flow.delivered_bytes, flow.sent)).collect()));
        if active.len() < 2 { 1.0 } else { jain(&active) }
    }
}
