//! A run on another engine: its queue events give the summary and the tables of a simulation.

use crate::fingerprint::{Fate, Fingerprint};
use crate::flows::ForwardTotals;
use crate::link::{Link, MeteredQueue, metered};
use crate::packet::Packets;
use crate::probe::{CombinedRecorder, Probe, Recorder};
use crate::queue_event::QueueEvent;
use crate::report::report_links;
use crate::sampler::{Queue, Utilisation};
use crate::scenario::{Probes, Scenario};
use crate::summary::{HopSummary, Links};
use crate::table::Table;
use crate::warmup::{Statistics, StatisticsStart};
use crate::windows::windows;
use serde::Serialize;
use sojourn_aqm::{Backlog, DropReason, Duration, Ecn, Instant, Meta};
use thiserror::Error;

/// Event of a packet in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// Offered to the queue.
    Offered,
    /// Transmission started, with this ECN field.
    Sent(Ecn),
    /// Dropped without an arrival.
    Dropped,
    /// Dropped because of an arrival, maybe its own.
    Refused,
    /// Dropped for a reason that the recorder knows.
    DroppedFor(DropReason),
    /// Dropped with its queue, because another queue manager replaced it.
    Replaced,
}

/// One entry of a recording.
#[derive(Clone, Copy, Debug)]
pub struct RecordingEntry {
    /// Time, from the start of the run.
    pub at: Instant,
    /// Index of the link.
    pub link: usize,
    /// Number of the packet, unique in the run; numbers count up from zero in order of arrival.
    pub packet: u32,
    /// The packet as it arrived, for [`EntryKind::Offered`]; `len` as the queue counts it.
    pub meta: Meta,
    /// The event.
    pub kind: EntryKind,
}

/// Why a queue discipline drops because of an arrival, for recordings that do not contain it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropPolicy {
    /// Whether it drops arrivals before its queue is full, as RED and PIE do.
    pub drops_early: bool,
    /// Maximum number of queued packets.
    pub packets: Option<u32>,
    /// Maximum number of queued bytes.
    pub bytes: Option<u64>,
}

/// An entry that contradicts the entries before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// It is before the last one, or names a link that does not exist.
    #[error("the recording is out of order at {}", at.as_nanos())]
    OutOfOrder {
        /// Time of the entry.
        at: Instant,
    },
    /// A packet arrives a second time.
    #[error("packet {0} of the recording arrives twice")]
    DuplicateArrival(u32),
    /// A packet is sent or dropped that is not in this queue, or an arrival skips a number.
    #[error("packet {0} of the recording is not queued where it should be")]
    Misplaced(u32),
}

/// Turns a recording into a summary and tables.
pub struct RecordingAnalysis {
    links: Vec<Link>,
    policies: Vec<DropPolicy>,
    /// Bytes queued at each link.
    bytes: Vec<u64>,
    packets: Vec<PacketState>,
    probe: Option<CombinedRecorder>,
    none: Packets,
    queue: SampledTable<Queue>,
    utilisation: SampledTable<Utilisation>,
    /// Per link at the last sample of the utilisation: bytes, capacity used, capacity available.
    before: Vec<(u64, u64, u64)>,
    names: Vec<String>,
    statistics: Statistics,
    now: Instant,
}

/// The summary of a recording.
#[derive(Clone, Debug, Serialize)]
pub struct RecordingSummary {
    /// Start of the statistics.
    pub warmup_s: f64,
    /// With an automatic warm-up: whether a steady state was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled: Option<bool>,
    /// Why no steady state was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_settled: Option<String>,
    /// The two directions of the first bottleneck.
    pub links: Links,
    /// The other bottlenecks.
    pub hops: Vec<HopSummary>,
    /// Hash of every verdict and departure of every queue.
    pub fingerprint: String,
}

#[derive(Clone, Copy)]
struct PacketState {
    meta: Meta,
    link: u16,
    is_queued: bool,
}

struct SampledTable<T> {
    step: Option<Duration>,
    next: Instant,
    table: T,
}

impl<T: Default> SampledTable<T> {
    fn new(step: Option<Duration>) -> Self {
        Self { step, next: step.map_or(Instant::NEVER, |step| Instant::ZERO + step), table: T::default() }
    }
}

impl RecordingAnalysis {
    /// An empty recording of `scenario`; `policies` has an entry per link.
    pub fn new(scenario: &Scenario, seed: u64, policies: Vec<DropPolicy>) -> Self {
        let statistics = Statistics::of(scenario);
        let window = statistics.window();
        let specs = scenario.hops().flat_map(|(_, link, reverse)| [link, reverse]);
        let links: Vec<Link> = specs.enumerate().map(|(i, spec)| Link::new(spec, i, seed, window, false)).collect();
        let count = links.len();
        assert_eq!(count, policies.len(), "an entry for each link");
        let wanted = Probes { headers: false, senders: None, ..scenario.probes.clone() };
        Self {
            links,
            policies,
            bytes: vec![0; count],
            packets: Vec::new(),
            probe: wanted.each().then(|| CombinedRecorder::new(&wanted)),
            none: Packets::default(),
            queue: SampledTable::new(scenario.probes.queue),
            utilisation: SampledTable::new(scenario.probes.utilisation),
            before: vec![(0, 0, 0); count],
            names: scenario.links.iter().map(|hop| hop.name.clone()).collect(),
            statistics,
            now: Instant::ZERO,
        }
    }

    /// Adds the next entry. Entries after the end of the run are ignored.
    pub fn add(&mut self, entry: RecordingEntry) -> Result<(), RecordingError> {
        if entry.at < self.now || entry.link >= self.links.len() {
            return Err(RecordingError::OutOfOrder { at: entry.at });
        }
        // A sample includes the events of its instant.
        let end = self.statistics.window().end;
        self.sample_before(entry.at.min(end));
        self.now = entry.at;
        if entry.at > end {
            return Ok(());
        }
        let packet = entry.packet as usize;
        match (entry.kind, self.packets.get(packet)) {
            (EntryKind::Offered, None) if packet == self.packets.len() => self.offered(&entry),
            (_, Some(&state)) if state.is_queued && usize::from(state.link) == entry.link => match entry.kind {
                EntryKind::Sent(ecn) => self.sent(&entry, state, ecn),
                EntryKind::Dropped => self.dropped(&entry, state, DropReason::Late),
                EntryKind::DroppedFor(reason) => self.dropped(&entry, state, reason),
                EntryKind::Refused => self.dropped(&entry, state, self.reason(entry.link)),
                EntryKind::Replaced => self.dropped(&entry, state, DropReason::Replaced),
                EntryKind::Offered => return Err(RecordingError::DuplicateArrival(entry.packet)),
            },
            _ => return Err(RecordingError::Misplaced(entry.packet)),
        }
        Ok(())
    }

    /// Closes the recording. With an automatic warm-up, the table of windows lacks the statistics that only endpoints
    /// know.
    pub fn finish(mut self) -> (RecordingSummary, Vec<Table>) {
        self.sample_before(self.statistics.window().end + Duration::from_nanos(1));
        self.links.iter_mut().for_each(|link| link.close());
        let begin = self.statistics.begin();
        let windows = windows(metered(&mut self.links), &begin, |_| ForwardTotals::UNKNOWN);
        let reverse = vec![1; self.names.len() + 1];
        let (links, hops, histogram) = report_links(metered(&mut self.links), &reverse, self.names, begin.number);
        let mut tables = vec![histogram];
        tables.extend(windows);
        tables.extend(self.probe.into_iter().flat_map(Recorder::tables));
        tables.extend(self.queue.step.map(|_| self.queue.table.into_table()));
        tables.extend(self.utilisation.step.map(|_| self.utilisation.table.into_table()));
        let fingerprint =
            format!("{:016x}", Fingerprint::of_run(self.links.iter().map(|link| link.tally().fingerprint)));
        let StatisticsStart { warmup_s, settled, not_settled, .. } = begin;
        (RecordingSummary { warmup_s, settled, not_settled, links, hops, fingerprint }, tables)
    }

    fn offered(&mut self, entry: &RecordingEntry) {
        let RecordingEntry { at, link, packet, .. } = *entry;
        let meta = Meta { enqueued: at, ..entry.meta };
        self.packets.push(PacketState { meta, link: link as u16, is_queued: true });
        if let Some(probe) = &mut self.probe {
            probe.arrived(QueueEvent { at, link, packet, meta: &meta }, &self.none);
        }
        self.links[link].tally_mut().arrival(at, true);
        self.bytes[link] += u64::from(meta.len);
        self.links[link].tally_mut().fingerprint.record(at, link, &meta, Fate::Queued);
    }

    fn sent(&mut self, entry: &RecordingEntry, state: PacketState, ecn: Ecn) {
        let RecordingEntry { at, link, packet, .. } = *entry;
        let newly_marked = ecn == Ecn::Ce && state.meta.ecn != Ecn::Ce;
        let meta = Meta { ecn, ..state.meta };
        self.remove(entry, state);
        self.links[link].replay_transmission(at, &meta, newly_marked);
        let fate = if newly_marked { Fate::DepartedMarked } else { Fate::Departed };
        self.links[link].tally_mut().fingerprint.record(at, link, &meta, fate);
        if let Some(probe) = &mut self.probe {
            probe.sent(QueueEvent { at, link, packet, meta: &meta }, newly_marked, &self.none);
        }
    }

    fn dropped(&mut self, entry: &RecordingEntry, state: PacketState, reason: DropReason) {
        let RecordingEntry { at, link, packet, .. } = *entry;
        self.remove(entry, state);
        self.links[link].tally_mut().drop(at, reason, Some(state.meta.enqueued));
        self.links[link].tally_mut().fingerprint.record(at, link, &state.meta, Fate::Dropped(reason));
        if let Some(probe) = &mut self.probe {
            probe.dropped(QueueEvent { at, link, packet, meta: &state.meta }, reason, &self.none);
        }
    }

    fn remove(&mut self, entry: &RecordingEntry, state: PacketState) {
        self.packets[entry.packet as usize].is_queued = false;
        self.bytes[entry.link] -= u64::from(state.meta.len);
    }

    /// The reason of a drop on an arrival: the limit, unless the discipline drops early and the queue, that packet
    /// included, is within its limits.
    fn reason(&self, link: usize) -> DropReason {
        let DropPolicy { drops_early, packets, bytes } = self.policies[link];
        let waiting = self.links[link].tally().waiting();
        let full = packets.is_some_and(|max| waiting > max) || bytes.is_some_and(|max| self.bytes[link] > max);
        if drops_early && !full { DropReason::Early } else { DropReason::Limit }
    }

    fn sample_before(&mut self, at: Instant) {
        while self.statistics.due() < at {
            self.statistics.add_sample(self.links.iter().map(|link| u64::from(link.tally().waiting())).sum());
        }
        while let Some(step) = self.queue.step.filter(|_| self.queue.next < at) {
            let now = self.queue.next;
            for (l, link) in self.links.iter().enumerate() {
                let backlog = Backlog { packets: link.tally().waiting(), bytes: self.bytes[l] };
                self.queue.table.sample(now, l, link.tally(), backlog);
            }
            self.queue.next = now + step;
        }
        while let Some(step) = self.utilisation.step.filter(|_| self.utilisation.next < at) {
            let now = self.utilisation.next;
            for (l, link) in self.links.iter_mut().enumerate() {
                self.before[l] = self.utilisation.table.sample(now, l, link, self.before[l]);
            }
            self.utilisation.next = now + step;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Output, Simulation};
    use std::path::Path;

    const PROBES: &str = "[probes]\npackets = true\nqueue = \"20 ms\"\nutilisation = \"500 ms\"\n";

    /// A simulation, and its replay as a recording.
    fn both(text: &str) -> (Output, (RecordingSummary, Vec<Table>)) {
        let scenario = Scenario::parse(&format!("{text}{PROBES}"), &[], Path::new("/")).unwrap();
        let output = Simulation::new(&scenario, 1).finish();
        let policy = DropPolicy { packets: Some(60), ..DropPolicy::default() };
        let mut recorded = RecordingAnalysis::new(&scenario, 1, vec![policy; 2]);
        entries(&output).into_iter().for_each(|entry| recorded.add(entry).unwrap());
        (output, recorded.finish())
    }

    fn column<'a>(output: &'a Output, table: &str, name: &str) -> &'a Column {
        let table = output.tables.iter().find(|t| t.name == table).unwrap();
        &table.columns.iter().find(|(n, _)| n == name).unwrap().1
    }

    fn numbers(output: &Output, table: &str, name: &str) -> Vec<u64> {
        column(output, table, name).wholes().expect("whole numbers")
    }

    /// The tables of a simulation as entries in order of time; at one instant packets that were queued before leave
    /// first.
    fn entries(output: &Output) -> Vec<RecordingEntry> {
        let mut packets = Vec::new();
        for table in ["packets", "waiting"] {
            let of = |name| numbers(output, table, name);
            let (time, link, arrival, bytes) = (of("time_ns"), of("link"), of("arrival"), of("bytes"));
            let (flow, field) = (of("flow"), of("ecn"));
            for i in 0..time.len() {
                let meta = Meta::new(bytes[i] as u32, flow[i] as u32).with_ecn(Ecn::ALL[field[i] as usize]);
                let (at, fate) = match table {
                    "packets" => (time[i] - value(output, "sojourn_ns", i), Some((time[i], value(output, "fate", i)))),
                    _ => (time[i], None),
                };
                packets.push((at, link[i] as usize, arrival[i], meta, fate));
            }
        }
        packets.sort_by_key(|&(at, link, arrival, ..)| (at, link, arrival));
        let mut all = Vec::new();
        for (packet, &(at, link, _, meta, fate)) in (0..).zip(&packets) {
            let entry = RecordingEntry { at: Instant::from_nanos(at), link, packet, meta, kind: EntryKind::Offered };
            all.push((at, 1, entry));
            let Some((when, fate)) = fate else { continue };
            let kind = match fate {
                0 => EntryKind::Sent(meta.ecn),
                1 => EntryKind::Sent(Ecn::Ce),
                2 => EntryKind::Refused,
                _ => EntryKind::Dropped,
            };
            let order = if when == at { 2 } else { 0 };
            all.push((when, order, RecordingEntry { at: Instant::from_nanos(when), kind, ..entry }));
        }
        all.sort_by_key(|&(at, order, entry)| (at, order, entry.packet));
        all.into_iter().map(|(.., entry)| entry).collect()
    }

    fn value(output: &Output, name: &str, i: usize) -> u64 {
        column(output, "packets", name).whole(i).expect("fate or sojourn time")
    }

    #[test]
    fn a_simulation_told_as_a_recording_has_the_same_numbers() {
        for text in [
            "duration = \"8 s\"\nwarmup = \"2 s\"\n[link]\nrate = \"7 Mbit/s\"\noverhead = \"38 B\"\naqm = \"codel ecn\"\n\
             limit = \"60 packets\"\n[[flows]]\nkind = \"tcp\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\ncount = 4\n\
             rtt = \"40 ms\"\n[[flows]]\nkind = \"tcp\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\n\
             ecn = true\ncount = 2\nrtt = \"40 ms\"\n",
            "duration = \"19 s\"\nwarmup = \"auto\"\n[link]\nrate = \"7 Mbit/s\"\naqm = \"codel\"\nlimit = \"60 packets\"\n\
             [[flows]]\nkind = \"tcp\"\ncount = 4\nstack = \"linux-2.6.29\"\ncc = \"reno\"\nrtt = \"40 ms\"\n",
            "duration = \"8 s\"\n[link]\nrate = \"9 Mbit/s@0s,3 Mbit/s@4s\"\nlimit = \"60 packets\"\n[[flows]]\n\
             kind = \"tcp\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\n\
             count = 3\nrtt = \"40 ms\"\n",
        ] {
            let (output, (RecordingSummary { links, warmup_s, settled, .. }, tables)) = both(text);
            let summary = |links: &Links| {
                let mut value = serde_json::to_value(links).unwrap();
                // Summed in another order.
                value["forward"]["mean_backlog_packets"] = 0.into();
                value
            };
            assert_eq!((warmup_s, settled), (output.summary.warmup_s, output.summary.settled));
            if text.contains("auto") {
                let find = |tables: &[Table]| tables.iter().find(|t| t.name == "windows").expect("a table").clone();
                let (windows, expected) = (find(&tables), find(&output.tables));
                // Goodputs are unknown, and the mean backlog is summed in another order.
                let same = |i: &usize| {
                    !["mean_backlog_packets", "goodput_bps", "delivered_bps", "jain"]
                        .contains(&&*expected.columns[*i].0)
                };
                let columns: Vec<usize> = (0..expected.columns.len()).filter(same).collect();
                assert!(columns.len() > 20);
                columns.iter().for_each(|&i| assert_eq!(windows.columns[i], expected.columns[i]));
                let find = |tables: &[Table]| tables.iter().find(|t| t.name == "sojourn_windows").unwrap().clone();
                assert_eq!(find(&tables), find(&output.tables));
            }
            assert_eq!(summary(&links), summary(&output.summary.links));
            assert!(output.summary.links.forward.dropped > 10 && output.summary.links.forward.utilisation > 0.8);
            for name in ["sojourn_histogram", "utilisation"] {
                let find = |tables: &[Table]| tables.iter().find(|t| t.name == name).unwrap().clone();
                assert_eq!(find(&tables), find(&output.tables), "{name}");
            }
        }
    }

    #[test]
    fn drops_on_arrival_have_the_reason_that_the_queue_s_length_tells() {
        let text = "duration = \"1 s\"\n[link]\nrate = \"8 Mbit/s\"\n[[flows]]\nkind = \"tcp\"\n\
                    stack = \"linux-2.6.29\"\ncc = \"reno\"\n";
        let scenario = Scenario::parse(text, &[], Path::new("/")).unwrap();
        for (policy, expected) in [
            (DropPolicy { drops_early: true, packets: Some(1), bytes: None }, [1, 1]),
            (DropPolicy { drops_early: false, packets: Some(1), bytes: None }, [2, 0]),
            (DropPolicy { drops_early: true, packets: None, bytes: Some(999) }, [2, 0]),
        ] {
            let mut recorded = RecordingAnalysis::new(&scenario, 1, vec![policy; 2]);
            let entry = |at, packet, kind| RecordingEntry {
                at: Instant::from_nanos(at),
                link: 0,
                packet,
                meta: Meta::new(1000, 0),
                kind,
            };
            for next in [
                entry(0, 0, EntryKind::Offered),
                entry(0, 0, EntryKind::Refused),
                entry(5, 1, EntryKind::Offered),
                entry(6, 2, EntryKind::Offered),
                entry(6, 2, EntryKind::Refused),
                entry(6, 3, EntryKind::Offered),
                entry(6, 3, EntryKind::DroppedFor(DropReason::HardLimit)),
            ] {
                recorded.add(next).unwrap();
            }
            assert!(recorded.add(entry(7, 2, EntryKind::Dropped)).unwrap_err().to_string().contains("is not queued"));
            assert!(recorded.add(entry(2, 1, EntryKind::Dropped)).unwrap_err().to_string().contains("out of order"));
            let (RecordingSummary { links, .. }, _) = recorded.finish();
            let by = &links.forward.dropped_by;
            assert_eq!([by["limit"], by["early"]], expected, "{policy:?}");
            assert_eq!(by[DropReason::HardLimit.name()], 1);
        }
    }
}
