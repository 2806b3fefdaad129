//! A result from the packets that links of another host forwarded or dropped: the same summary and tables as a
//! simulation's.
//!
//! Packets go through the simulator's queues once more for the samples of queue length and state; their fates come from
//! the recording.

use crate::fingerprint::{Fate, Fingerprint};
use crate::flows::ForwardTotals;
use crate::link::{Link, MeteredQueue, PlannedChange, metered};
use crate::packet::Packets;
use crate::probe::{CombinedRecorder, Probe, Recorder};
use crate::queue_event::QueueEvent;
use crate::report::report_links;
use crate::sampler::Samplers;
use crate::scenario::{LinkSpec, Probes};
use crate::simulation::Output;
use crate::summary::Summary;
use crate::warmup::Statistics;
use crate::windows::windows;
use sojourn_aqm::{DropReason, Duration, Instant, Meta};
use std::collections::VecDeque;
use std::iter;

/// Replays the packets of both directions of every link, in order of time.
pub struct LinkReplay {
    links: Vec<Link>,
    /// Pending changes of queues, earliest first.
    changes: VecDeque<PlannedChange>,
    samplers: Samplers,
    due: [Instant; Samplers::COUNT],
    probe: Option<CombinedRecorder>,
    packets: Packets,
    events: u64,
    statistics: Statistics,
    /// Names of all links but the first.
    names: Vec<String>,
}

impl LinkReplay {
    /// An empty replay of at least one hop in a run with `seed`: each with its name, its forward and its reverse
    /// direction, which are links 2i and 2i + 1.
    pub fn new(hops: &[(&str, &LinkSpec, &LinkSpec)], probes: &Probes, seed: u64, statistics: Statistics) -> Self {
        let links: Vec<&LinkSpec> = hops.iter().flat_map(|&(_, link, reverse)| [link, reverse]).collect();
        let names = hops[1..].iter().map(|&(name, ..)| name.to_string()).collect();
        // Flow statistics and headers are not in the recording.
        let probes = Probes { flows: None, headers: false, senders: None, ..*probes };
        let samplers = Samplers::new(&probes, links.len(), 0);
        let due = std::array::from_fn(|i| samplers.first(i));
        let window = statistics.window();
        let changes = PlannedChange::of_links(links.iter().copied(), seed).into();
        let links = links.iter().enumerate().map(|(i, spec)| Link::new(spec, i, seed, window, false)).collect();
        let probe = probes.each().then(|| CombinedRecorder::new(&probes));
        Self { links, changes, samplers, due, probe, packets: Packets::default(), events: 0, statistics, names }
    }

    /// Records a packet that arrived at its queue; each queue numbers its own packets.
    pub fn arrived(&mut self, event: QueueEvent<'_>) {
        let QueueEvent { at, link: l, packet: number, meta } = event;
        self.advance_to(at);
        let link = &mut self.links[l];
        link.qdisc_mut().enqueue(at, *meta, number, &mut |_: Meta, _: u32, _: DropReason| {});
        link.tally_mut().arrival(at, true);
        link.tally_mut().fingerprint.record(at, l, meta, Fate::Queued);
        let event = self.numbered(event);
        if let Some(probe) = &mut self.probe {
            probe.arrived(event, &self.packets);
        }
    }

    /// Records a packet that the link dequeued; `meta` holds its arrival time.
    pub fn sent(&mut self, event: QueueEvent<'_>, marked: bool) {
        let QueueEvent { at, link: l, meta, .. } = event;
        self.on_empty_dequeue(at, l);
        self.links[l].replay_transmission(at, meta, marked);
        let fate = if marked { Fate::DepartedMarked } else { Fate::Departed };
        self.links[l].tally_mut().fingerprint.record(at, l, meta, fate);
        let event = self.numbered(event);
        if let Some(probe) = &mut self.probe {
            probe.sent(event, marked, &self.packets);
        }
    }

    /// Records a packet that the queue dropped; `meta` holds its arrival time.
    pub fn dropped(&mut self, event: QueueEvent<'_>, reason: DropReason) {
        let QueueEvent { at, link: l, meta, .. } = event;
        self.advance_to(at);
        self.links[l].tally_mut().drop(at, reason, Some(meta.enqueued));
        self.links[l].tally_mut().fingerprint.record(at, l, meta, Fate::Dropped(reason));
        let event = self.numbered(event);
        if let Some(probe) = &mut self.probe {
            probe.dropped(event, reason, &self.packets);
        }
    }

    /// Replaces the packet's number by one that is unique among all queues.
    fn numbered<'a>(&self, event: QueueEvent<'a>) -> QueueEvent<'a> {
        QueueEvent { packet: handle(&self.links, event.link, event.packet), ..event }
    }

    /// Records a packet lost on the medium.
    pub fn lost(&mut self, now: Instant, l: usize) {
        self.links[l].tally_mut().loss(now);
    }

    /// Records a dequeue call that found no packet: a discipline may change its state then.
    pub fn on_empty_dequeue(&mut self, now: Instant, l: usize) {
        self.advance_to(now);
        self.links[l].qdisc_mut().dequeue(now, &mut |_: Meta, _: u32, _: DropReason| {});
    }

    /// Ends the replay and returns its result. Payload, groups and flows stay empty; only the endpoints know them.
    pub fn finish(mut self) -> Output {
        let end = self.statistics.window().end;
        self.advance_to(end + Duration::from_nanos(1));
        self.links.iter_mut().for_each(|link| link.close());
        let begin = self.statistics.begin();
        let windows = windows(metered(&mut self.links), &begin, |_| ForwardTotals::UNKNOWN);
        let fingerprint = Fingerprint::of_run(self.links.iter().map(|link| link.tally().fingerprint));
        let reverse = vec![1; self.names.len() + 1];
        let (links, hops, histogram) = report_links(metered(&mut self.links), &reverse, self.names, begin.number);
        let summary = Summary {
            duration_s: (end - Instant::ZERO).as_secs_f64(),
            warmup_s: begin.warmup_s,
            settled: begin.settled,
            not_settled: begin.not_settled,
            events: self.events,
            fingerprint: format!("{fingerprint:016x}"),
            goodput_bps: 0.0,
            delivered_bps: 0.0,
            jain: None,
            links,
            hops,
            groups: Vec::new(),
            flows: Vec::new(),
            wlan: None,
        };
        let mut tables = vec![histogram];
        tables.extend(windows);
        tables.extend(self.probe.into_iter().flat_map(Recorder::tables));
        tables.extend(self.samplers.into_tables());
        Output { summary, tables }
    }

    /// Takes the samples due before `now`, and applies the changes due up to `now`.
    fn advance_to(&mut self, now: Instant) {
        self.events += 1;
        while let Some(change) = self.next_change(now) {
            self.sample(change.at);
            self.links[change.link].replay_change(change.at, &change);
        }
        self.sample(now);
    }

    /// Removes and returns the next change if it is due by `now`.
    fn next_change(&mut self, now: Instant) -> Option<PlannedChange> {
        self.changes.front().is_some_and(|change| change.at <= now).then(|| self.changes.pop_front())?
    }

    /// Takes the samples due before `now`.
    fn sample(&mut self, now: Instant) {
        while self.statistics.due() < now {
            let waiting = |link: &mut dyn MeteredQueue| u64::from(link.backlog().packets);
            self.statistics.add_sample(metered(&mut self.links).map(waiting).sum());
        }
        while let Some(i) = (0..self.due.len()).min_by_key(|&i| self.due[i]).filter(|&i| self.due[i] < now) {
            self.due[i] = self.samplers.sample(i, self.due[i], metered(&mut self.links), iter::empty());
        }
    }
}

/// A handle that is unique for the whole run, because packets keep theirs to the end.
fn handle(links: &[Link], l: usize, number: u32) -> u32 {
    links.len() as u32 * number + l as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simulation;
    use crate::scenario::Scenario;
    use crate::table::Column;
    use std::path::Path;

    /// A column of a table, by name.
    fn column(output: &Output, table: &str, name: &str) -> Column {
        let table = output.tables.iter().find(|found| found.name == table).unwrap();
        table.columns.iter().find(|(found, _)| found == name).unwrap().1.clone()
    }

    #[test]
    fn a_replayed_simulation_gives_its_own_result() {
        replays("5 s", "1 s");
        replays("12 s", "auto");
    }

    fn replays(duration: &str, warmup: &str) {
        let text = "[link]\nrate = \"8 Mbit/s\"\naqm = \"codel\"\ndelay = \"5 ms\"\n\
                    [[flows]]\nkind = \"tcp\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\ncount = 4\nrtt = \"40 ms\"\n\
                    [probes]\npackets = true\nqueue = \"10 ms\"\n\
                    state = \"10 ms\"\nutilisation = \"100 ms\"";
        let text = format!("duration = \"{duration}\"\nwarmup = \"{warmup}\"\n{text}");
        let scenario = Scenario::parse(&text, &[], Path::new("/")).unwrap();
        let simulated = Simulation::new(&scenario, 3).finish();
        assert!(warmup != "auto" || simulated.summary.settled == Some(true) && simulated.summary.warmup_s > 0.5);
        let statistics = Statistics::of(&scenario);
        let mut replayed = LinkReplay::new(&scenario.hops().collect::<Vec<_>>(), &scenario.probes, 3, statistics);

        let all = |table: &str, name: &str| column(&simulated, table, name).wholes().expect("whole numbers");
        let [time, link, flow, bytes, sojourn, fate, arrival] =
            ["time_ns", "link", "flow", "bytes", "sojourn_ns", "fate", "arrival"].map(|name| all("packets", name));
        // Arrivals and fates in order of time: departures before arrivals, each drop just after its own arrival.
        let mut events = Vec::new();
        for i in 0..time.len() {
            let at_once = sojourn[i] == 0;
            events.push((time[i] - sojourn[i], 1, arrival[i], link[i], i, true));
            events.push((time[i], if at_once { 1 } else { 0 }, arrival[i], link[i], i, false));
        }
        for (i, &at) in all("waiting", "time_ns").iter().enumerate() {
            events.push((at, 1, all("waiting", "arrival")[i], all("waiting", "link")[i], i, true));
        }
        events.sort_by_key(|&(at, rank, arrival, link, _, arrives)| (at, rank, link, arrival, !arrives));
        assert!(events.len() > 5000);
        let waiting = |i: usize| (all("waiting", "bytes")[i], all("waiting", "flow")[i]);
        let left: std::collections::BTreeSet<(u64, u64)> =
            all("waiting", "link").into_iter().zip(all("waiting", "arrival")).collect();
        for (at, _, arrival, link, i, arrives) in events {
            let (now, l) = (Instant::from_nanos(at), link as usize);
            let (bytes, flow) = if left.contains(&(link, arrival)) { waiting(i) } else { (bytes[i], flow[i]) };
            let meta = Meta::new(bytes as u32, flow as u32);
            if arrives {
                replayed.arrived(QueueEvent { at: now, link: l, packet: arrival as u32, meta: &meta });
                continue;
            }
            let meta = Meta { enqueued: now - Duration::from_nanos(sojourn[i] as i64), ..meta };
            let event = QueueEvent { at: now, link: l, packet: arrival as u32, meta: &meta };
            match fate[i] {
                0 | 1 => replayed.sent(event, fate[i] == 1),
                reason => {
                    let reason = DropReason::ALL[reason as usize - 2];
                    replayed.dropped(event, reason);
                }
            }
        }
        let found = replayed.finish();
        for (table, names) in [
            ("packets", &["time_ns", "link", "sojourn_ns", "fate", "arrival", "bytes"][..]),
            ("waiting", &["time_ns", "arrival"]),
            ("sojourn_histogram", &["link", "lower_ns", "count"]),
            ("queue", &["time_ns", "link", "packets", "bytes", "last_sojourn_ns"]),
        ] {
            for name in names {
                let (found, expected) =
                    (column(&found, table, name).wholes().expect("whole numbers"), all(table, name));
                assert_eq!(found, expected, "{table}.{name}");
            }
        }
        let json = |output: &Output| serde_json::to_value(&output.summary.links).unwrap();
        assert_eq!(json(&found), json(&simulated));
        assert_eq!(found.summary.warmup_s, simulated.summary.warmup_s);
        assert_eq!(found.summary.settled, simulated.summary.settled);
        assert_eq!(column(&found, "utilisation", "utilisation"), column(&simulated, "utilisation", "utilisation"));
        // The reverse path has no such variable, and NaN is not equal to itself.
        let count = |output: &Output| match column(output, "state", "count") {
            Column::F64(values) => values.into_iter().step_by(2).collect::<Vec<f64>>(),
            other => unreachable!("{other:?} is no column of floats"),
        };
        assert!(count(&found) == count(&simulated) && count(&found).iter().any(|&count| count > 3.0));
    }
}
