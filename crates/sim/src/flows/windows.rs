//! Flows and groups over every statistics window.

use super::{FORWARD, Flows, ForwardTotals};
use crate::ledger::GroupCounts;
use crate::network::{Network, Topology};
use crate::probe::Probe;
use crate::summary::{DatagramSummary, FlowSummary, GroupSummary, PayloadSummary};
use crate::table::{Table, recorder};
use crate::window::{Counters, Window};

recorder! {
    /// Each flow that lasts the whole run, from every possible window start, as in the summary.
    FlowWindows("flow_windows") {
        start_ns: u64 => U64,
        flow: u32 => U32,
        bytes: u64 => U64,
        delivered_bytes: u64 => U64,
        delay_ms: f64 => F64,
        delay_variation_ms: f64 => F64,
        loss_rate: f64 => F64,
        mos: f64 => F64,
        rtt_ms: f64 => F64,
    }
}

recorder! {
    /// Each group of flows, from every possible window start, as in the summary.
    GroupWindows("group_windows") {
        start_ns: u64 => U64,
        group: u32 => U32,
        bytes: u64 => U64,
        delivered_bytes: u64 => U64,
        jain: f64 => F64,
        offered_bytes: u64 => U64,
        opened: u64 => U64,
        closed: u64 => U64,
        transfers: u64 => U64,
        completion_mean_ms: f64 => F64,
        completion_p10_ms: f64 => F64,
        completion_p25_ms: f64 => F64,
        completion_p50_ms: f64 => F64,
        completion_p75_ms: f64 => F64,
        completion_p90_ms: f64 => F64,
        completion_p95_ms: f64 => F64,
        completion_p99_ms: f64 => F64,
        completion_max_ms: f64 => F64,
        delay_ms: f64 => F64,
        delay_variation_ms: f64 => F64,
        loss_rate: f64 => F64,
        mos: f64 => F64,
        rtt_ms: f64 => F64,
    }
}

impl FlowWindows {
    fn add(&mut self, start_ns: u64, flow: &FlowSummary) {
        let PayloadSummary { bytes, delivered_bytes, .. } = flow.payload;
        let [delay, variation, loss, mos] = columns(&flow.datagrams);
        self.push(start_ns, flow.id, bytes, delivered_bytes, delay, variation, loss, mos, real(flow.rtt_ms));
    }
}

impl GroupWindows {
    fn add(&mut self, start_ns: u64, number: u32, group: &GroupSummary) {
        let &GroupSummary { jain, offered_bytes, opened, closed, transfers, .. } = group;
        let PayloadSummary { bytes, delivered_bytes, .. } = group.payload;
        let times = &group.completion_ms;
        let quantiles = [times.p10, times.p25, times.p50, times.p75, times.p90, times.p95, times.p99];
        let [p10, p25, p50, p75, p90, p95, p99] = quantiles.map(real);
        let (mean, max) = (real(times.mean), real(times.max));
        let [delay, variation, loss, mos] = columns(&group.datagrams);
        self.push(
            start_ns,
            number,
            bytes,
            delivered_bytes,
            real(jain),
            offered_bytes,
            opened,
            closed,
            transfers,
            mean,
            p10,
            p25,
            p50,
            p75,
            p90,
            p95,
            p99,
            max,
            delay,
            variation,
            loss,
            mos,
            real(group.rtt_ms),
        );
    }
}

fn columns(seen: &DatagramSummary) -> [f64; 4] {
    [seen.delay_ms, seen.delay_variation_ms, seen.loss_rate, seen.mos].map(real)
}

fn real(number: Option<f64>) -> f64 {
    number.unwrap_or(f64::NAN)
}

impl Flows {
    /// Forward totals from each possible window start on, from the one numbered `first`, in order; and the tables of
    /// flows that last the whole run and of groups.
    pub fn windows<P: Probe, T: Topology>(
        &self,
        network: &Network<P, T>,
        window: &Window,
        first: usize,
    ) -> (Vec<ForwardTotals>, [Table; 2]) {
        let mut counts: Vec<GroupCounts> = Vec::new();
        let mut reports = Vec::with_capacity(self.window_starts_passed() - first);
        // Backwards, so that each interval is added to the sum of those after it.
        for number in (first..self.window_starts_passed()).rev() {
            if let Some(interval) = network.ledger.intervals().nth(number) {
                counts.add(interval);
            }
            counts.resize_with(self.groups.len(), GroupCounts::default);
            reports.push((number, self.report_of(network, number, window, &counts)));
        }
        let (mut of_flows, mut of_groups) = (FlowWindows::default(), GroupWindows::default());
        let mut totals = Vec::with_capacity(reports.len());
        for (number, (flows, groups, shares)) in reports.into_iter().rev() {
            let start_ns = window.starts()[number].as_nanos();
            flows.iter().for_each(|flow| of_flows.add(start_ns, flow));
            (0..).zip(&groups).for_each(|(group, summary)| of_groups.add(start_ns, group, summary));
            let forward = groups.iter().filter(|group| group.direction == FORWARD);
            totals.push(ForwardTotals::of(forward.map(|group| group.payload), &shares));
        }
        (totals, [of_flows.into_table(), of_groups.into_table()])
    }
}
