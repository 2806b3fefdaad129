//! Plan of a scenario's traffic: when its sources start, send or request, for the same traffic on another engine.

use super::{AnyFlow, ConnectionEvent, Host, TrafficSource};
use crate::media::MediaEvent;
use crate::scenario::Scenario;
use sojourn_aqm::{Ecn, Instant};
use sojourn_tcp::{Header, Wire};

/// The part of a scenario's source that does not depend on a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedSource {
    /// Index of its entry in `[[flows]]`.
    pub group: u32,
    /// When it starts.
    pub start: Instant,
    /// When it stops; [`Instant::NEVER`] if it has no stop.
    pub stop: Instant,
    /// Send time of each datagram, or request time of each connection; empty for a TCP flow.
    pub times: Vec<Instant>,
}

/// Every source of a run with `seed`, in the order of their numbers. Times end with the run.
///
/// Transfers with a `pause` and clients with several connections have only their first time, because later ones depend
/// on earlier ones.
pub fn plan(scenario: &Scenario, seed: u64) -> Vec<PlannedSource> {
    let end = Instant::ZERO + scenario.duration;
    let specs = (0..).zip(&scenario.flows);
    let specs = specs.flat_map(|(group, spec)| (0..spec.count).map(move |member| ((group, member), spec)));
    let planned = |(index, ((group, member), spec)): (u32, _)| {
        let (start, stop) = super::span(spec, member, index, seed);
        let times = match TrafficSource::new(spec, (group, member), index, seed, None) {
            TrafficSource::Flow(AnyFlow::Udp(flow)) => datagrams(AnyFlow::Udp(flow), end),
            TrafficSource::Flow(_) => Vec::new(),
            TrafficSource::Opener(opener) => opener.request_times_until(end),
        };
        PlannedSource { group, start, stop, times }
    };
    (0..).zip(specs).map(planned).collect()
}

fn datagrams(mut flow: AnyFlow, end: Instant) -> Vec<Instant> {
    let mut times = SendTimeRecorder(Vec::new());
    let mut at = flow.source_deadline();
    while at <= end {
        let before = times.0.len();
        let next = flow.on_source_timer(at, &mut times);
        times.0[before..].fill(at);
        at = next;
    }
    times.0
}

/// A host that records send times and drops all packets.
struct SendTimeRecorder(Vec<Instant>);

impl Wire for SendTimeRecorder {
    fn transmit(&mut self, _: &Header, _: u32, _: Ecn) {
        self.0.push(Instant::ZERO);
    }
}

impl Host for SendTimeRecorder {
    fn offered(&mut self, _: u64) {}
    fn completed(&mut self, _: Instant, _: u64) {}
    fn closed(&mut self) {}
    fn notify_client(&mut self, _: ConnectionEvent) {}
    fn record_media(&mut self, _: &MediaEvent) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simulation;
    use std::path::Path;

    fn scenario(flows: &str) -> Scenario {
        let text = format!("duration = \"10 s\"\n[link]\nrate = \"100 Mbit/s\"\n{flows}");
        Scenario::parse(&text, &[], Path::new("/")).unwrap()
    }

    #[test]
    fn as_many_datagrams_and_connections_as_in_a_run() {
        let flows = "[[flows]]\nkind = \"voice\"\ncount = 3\nspread = \"1 s\"\n[[flows]]\nkind = \"poisson\"\nrate = \"1 Mbit/s\"\n\
                     stop = \"5 s\"\n[[flows]]\nkind = \"web\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\n\
                     interval = \"100 ms\"\nrandom = true\nsize = \"20 kB\"\n\
                     [[flows]]\nkind = \"tcp\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\nstart = \"2 s\"\n";
        let scenario = scenario(flows);
        let plan = plan(&scenario, 7);
        assert_eq!(plan.iter().map(|source| source.group).collect::<Vec<_>>(), [0, 0, 0, 1, 2, 3]);
        let summary = Simulation::new(&scenario, 7).finish().summary;
        let times = |group: u32| plan.iter().filter(|s| s.group == group).map(|s| s.times.len() as u64).sum::<u64>();
        assert_eq!((times(0), times(1)), (summary.groups[0].sent, summary.groups[1].sent));
        assert_eq!(times(2), summary.groups[2].opened);
        assert!(plan[4].times.is_sorted() && plan[4].times.len() > 50);
        assert_eq!((plan[5].times.len(), plan[5].start.as_secs_f64(), plan[5].stop), (0, 2.0, Instant::NEVER));
    }
}
