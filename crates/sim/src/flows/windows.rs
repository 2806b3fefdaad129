//! Flows over every window of the statistics.

use super::{Flows, Snapshot, Whole};
use crate::network::{Network, Topology};
use crate::probe::Probe;
use crate::status::{Payload, Status};
use crate::summary::{DatagramSummary, FlowSummary, PayloadSummary};
use crate::table::{Table, recorder};
use crate::window::Window;

recorder! {
    /// Each flow that lasts, from every instant at which the statistics could begin, as in the summary.
    FlowWindows("flow_windows") {
        start_ns: u64 => U64,
        flow: u32 => U32,
        bytes: u64 => U64,
        delivered_bytes: u64 => U64,
        delay_ms: f64 => F64,
        delay_variation_ms: f64 => F64,
        loss_rate: f64 => F64,
        mos: f64 => F64,
    }
}

impl FlowWindows {
    fn add(&mut self, start_ns: u64, flow: &FlowSummary) {
        let seen = &flow.datagrams;
        let [delay, variation, loss, mos] =
            [seen.delay_ms, seen.delay_variation_ms, seen.loss_rate, seen.mos].map(|number| number.unwrap_or(f64::NAN));
        let PayloadSummary { bytes, delivered_bytes, .. } = flow.payload;
        self.push(start_ns, flow.id, bytes, delivered_bytes, delay, variation, loss, mos);
    }
}

impl Flows {
    /// The run's flows together, from each instant of the window on; and each flow that lasts, from those on that are
    /// not before instant `first`.
    pub fn windows<P: Probe, T: Topology>(
        &self,
        network: &Network<P, T>,
        window: &Window,
        first: usize,
    ) -> (Vec<Whole>, Table) {
        let connections = self.connections(network);
        let mut table = FlowWindows::default();
        let flows: Vec<_> = (0..)
            .zip(self.fixed())
            .map(|(slot, flow)| (network.tenant(slot).1 as usize, flow, flow.status()))
            .collect();
        let mut from = |(number, begin): (usize, &Snapshot)| {
            let start_ns = window.starts()[number].as_nanos();
            let window_s = window.length(number).as_secs_f64();
            let mut groups: Vec<Payload> = connections
                .iter()
                .zip(&begin.connections)
                .map(|(now, then)| now.payload.since(&then.payload))
                .collect();
            let mut shares = self.shares();
            for (id, ((group, flow, status), before)) in (0..).zip(flows.iter().zip(&begin.flows)) {
                let payload = status.payload.since(&before.payload);
                groups[*group].add(&payload);
                let datagrams = status.datagrams.since(&before.datagrams, before.sent, flow.strays(number));
                let is_voice = self.groups[*group].spec.traffic.name() == "voice";
                let seen = DatagramSummary::of(&datagrams, is_voice);
                let counted = (PayloadSummary::of(&payload, window_s), seen);
                let flow = self.groups[*group].flow_summary((id, *group as u32), status, counted);
                shares.add(*group, flow.payload.goodput_bps);
                if number >= first {
                    table.add(start_ns, &flow);
                }
            }
            let groups = groups.iter().zip(&self.groups).filter(|(_, group)| group.forward);
            Whole::of(groups.map(|(payload, _)| PayloadSummary::of(payload, window_s)), &shares)
        };
        let wholes = self.begins.iter().enumerate().map(&mut from).collect();
        (wholes, table.into_table())
    }
}
