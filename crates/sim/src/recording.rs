//! A run that another engine did: what it saw at the queues, in the summary and the tables of a simulation.

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

/// What a recording says of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// It reached the queue.
    Offered,
    /// Its transmission began, with this ECN field.
    Sent(Ecn),
    /// It was dropped while nothing arrived.
    Dropped,
    /// It was dropped because of an arrival, which may be its own.
    Refused,
    /// It was dropped with its queue, as another queue manager took the place.
    Replaced,
}

/// One entry of a recording.
#[derive(Clone, Copy, Debug)]
pub struct RecordingEntry {
    /// When; from the start of the run.
    pub at: Instant,
    /// At which link.
    pub link: usize,
    /// Number of the packet, which no other one has; they count up from zero in the order of arrival.
    pub packet: u32,
    /// The packet as it arrived, of [`EntryKind::Offered`]; `len` as the queue counts it.
    pub meta: Meta,
    /// What happened.
    pub kind: EntryKind,
}

/// Why a queue discipline drops because of an arrival, which a recording does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropPolicy {
    /// Whether it drops arrivals before its queue is full, as RED and PIE do.
    pub drops_early: bool,
    /// Most packets and bytes that may wait.
    pub packets: Option<u32>,
    /// Most bytes that may wait.
    pub bytes: Option<u64>,
}

/// Why an entry does not go with those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// It comes before the last one, or is of a link that is not there.
    #[error("the recording is out of order at {}", at.as_nanos())]
    OutOfOrder {
        /// When it is.
        at: Instant,
    },
    /// An arrival of a packet that has arrived.
    #[error("packet {0} of the recording arrives twice")]
    DuplicateArrival(u32),
    /// A packet is sent or dropped that is not in this queue, or an arrival leaves out a number.
    #[error("packet {0} of the recording does not wait where it should")]
    Misplaced(u32),
}

/// A recording on its way into numbers.
pub struct RecordingAnalysis {
    links: Vec<Link>,
    limited: Vec<DropPolicy>,
    /// Bytes that wait at each link.
    bytes: Vec<u64>,
    packets: Vec<PacketState>,
    probe: Option<CombinedRecorder>,
    none: Packets,
    queue: SampledTable<Queue>,
    utilisation: SampledTable<Utilisation>,
    /// Of each link at the last sample of the utilisation: bytes, what was used, what could have been.
    before: Vec<(u64, u64, u64)>,
    names: Vec<String>,
    statistics: Statistics,
    now: Instant,
}

/// What a recording says, as a summary has it.
#[derive(Clone, Debug, Serialize)]
pub struct RecordingSummary {
    /// Start of the statistics.
    pub warmup_s: f64,
    /// Where that was to be found from the run: whether a steady state was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled: Option<bool>,
    /// Why none was found.
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
    link: u8,
    waits: bool,
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
    /// An empty recording of `scenario`; `limited` has an entry for each link.
    pub fn new(scenario: &Scenario, seed: u64, limited: Vec<DropPolicy>) -> Self {
        let statistics = Statistics::of(scenario);
        let window = statistics.window();
        let specs = scenario.hops().flat_map(|(_, link, reverse)| [link, reverse]);
        let links: Vec<Link> = specs.enumerate().map(|(i, spec)| Link::new(spec, i, seed, window, false)).collect();
        let count = links.len();
        assert_eq!(count, limited.len(), "an entry for each link");
        let wanted = Probes { headers: false, senders: None, ..scenario.probes.clone() };
        Self {
            links,
            limited,
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

    /// Adds the next entry. What comes after the end of the run is left out.
    pub fn add(&mut self, entry: RecordingEntry) -> Result<(), RecordingError> {
        if entry.at < self.now || entry.link >= self.links.len() {
            return Err(RecordingError::OutOfOrder { at: entry.at });
        }
        // What happens at the instant of a sample is in it.
        let end = self.statistics.window().end;
        self.sample_before(entry.at.min(end));
        self.now = entry.at;
        if entry.at > end {
            return Ok(());
        }
        let packet = entry.packet as usize;
        match (entry.kind, self.packets.get(packet)) {
            (EntryKind::Offered, None) if packet == self.packets.len() => self.offered(&entry),
            (_, Some(&known)) if known.waits && usize::from(known.link) == entry.link => match entry.kind {
                EntryKind::Sent(ecn) => self.sent(&entry, known, ecn),
                EntryKind::Dropped => self.dropped(&entry, known, DropReason::Late),
                EntryKind::Refused => self.dropped(&entry, known, self.reason(entry.link)),
                EntryKind::Replaced => self.dropped(&entry, known, DropReason::Replaced),
                EntryKind::Offered => return Err(RecordingError::DuplicateArrival(entry.packet)),
            },
            _ => return Err(RecordingError::Misplaced(entry.packet)),
        }
        Ok(())
    }

    /// Closes the recording. The windows, if the warm-up was to be found, lack what only the ends know.
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
        self.packets.push(PacketState { meta, link: link as u8, waits: true });
        if let Some(probe) = &mut self.probe {
            probe.arrived(QueueEvent { at, link, packet, meta: &meta }, &self.none);
        }
        self.links[link].tally_mut().arrival(at, true);
        self.bytes[link] += u64::from(meta.len);
        self.links[link].tally_mut().fingerprint.record(at, link, &meta, Fate::Queued);
    }

    fn sent(&mut self, entry: &RecordingEntry, known: PacketState, ecn: Ecn) {
        let RecordingEntry { at, link, packet, .. } = *entry;
        let newly_marked = ecn == Ecn::Ce && known.meta.ecn != Ecn::Ce;
        let meta = Meta { ecn, ..known.meta };
        self.leave(entry, known);
        self.links[link].replay_transmission(at, &meta, newly_marked);
        let fate = if newly_marked { Fate::DepartedMarked } else { Fate::Departed };
        self.links[link].tally_mut().fingerprint.record(at, link, &meta, fate);
        if let Some(probe) = &mut self.probe {
            probe.sent(QueueEvent { at, link, packet, meta: &meta }, newly_marked);
        }
    }

    fn dropped(&mut self, entry: &RecordingEntry, known: PacketState, reason: DropReason) {
        let RecordingEntry { at, link, packet, .. } = *entry;
        self.leave(entry, known);
        self.links[link].tally_mut().drop(at, reason, Some(known.meta.enqueued));
        self.links[link].tally_mut().fingerprint.record(at, link, &known.meta, Fate::Dropped(reason));
        if let Some(probe) = &mut self.probe {
            probe.dropped(QueueEvent { at, link, packet, meta: &known.meta }, reason, &self.none);
        }
    }

    fn leave(&mut self, entry: &RecordingEntry, known: PacketState) {
        self.packets[entry.packet as usize].waits = false;
        self.bytes[entry.link] -= u64::from(known.meta.len);
    }

    /// Why a packet was dropped on an arrival: the limit, unless the discipline also judges and the queue, in which
    /// that packet is counted, has room for it.
    fn reason(&self, link: usize) -> DropReason {
        let DropPolicy { drops_early: judges_arrivals, packets, bytes } = self.limited[link];
        let waiting = self.links[link].tally().waiting();
        let full = packets.is_some_and(|most| waiting > most) || bytes.is_some_and(|most| self.bytes[link] > most);
        if judges_arrivals && !full { DropReason::Early } else { DropReason::Limit }
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

    /// A simulation, and the same told as a recording.
    fn both(text: &str) -> (Output, (RecordingSummary, Vec<Table>)) {
        let scenario = Scenario::parse(&format!("{text}{PROBES}"), &[], Path::new("/")).unwrap();
        let output = Simulation::new(&scenario, 1).finish();
        let limited = DropPolicy { packets: Some(60), ..DropPolicy::default() };
        let mut recorded = RecordingAnalysis::new(&scenario, 1, vec![limited; 2]);
        entries(&output).into_iter().for_each(|entry| recorded.add(entry).unwrap());
        (output, recorded.finish())
    }

    fn column<'a>(output: &'a Output, table: &str, name: &str) -> &'a Column {
        let table = output.tables.iter().find(|t| t.name == table).unwrap();
        &table.columns.iter().find(|(n, _)| n == name).unwrap().1
    }

    fn numbers(output: &Output, table: &str, name: &str) -> Vec<u64> {
        match column(output, table, name) {
            Column::U8(v) => v.iter().map(|&x| x.into()).collect(),
            Column::U32(v) => v.iter().map(|&x| x.into()).collect(),
            Column::U64(v) => v.clone(),
            Column::F64(_) => unreachable!("whole numbers"),
        }
    }

    /// What the tables of a simulation say, in the order of time: what was there before an instant leaves first.
    fn entries(output: &Output) -> Vec<RecordingEntry> {
        let mut packets = Vec::new();
        for table in ["packets", "waiting"] {
            let of = |name| numbers(output, table, name);
            let (time, link, arrival, bytes) = (of("time_ns"), of("link"), of("arrival"), of("bytes"));
            let (flow, field) = (of("flow"), of("ecn"));
            for i in 0..time.len() {
                let meta = Meta::new(bytes[i] as u32, flow[i] as u32).with_ecn(Ecn::ALL[field[i] as usize]);
                let (at, fate) = match table {
                    "packets" => {
                        (time[i] - of_one(output, "sojourn_ns", i), Some((time[i], of_one(output, "fate", i))))
                    }
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
            let what = match fate {
                0 => EntryKind::Sent(meta.ecn),
                1 => EntryKind::Sent(Ecn::Ce),
                2 => EntryKind::Refused,
                _ => EntryKind::Dropped,
            };
            let order = if when == at { 2 } else { 0 };
            all.push((when, order, RecordingEntry { at: Instant::from_nanos(when), kind: what, ..entry }));
        }
        all.sort_by_key(|&(at, order, entry)| (at, order, entry.packet));
        all.into_iter().map(|(.., entry)| entry).collect()
    }

    fn of_one(output: &Output, name: &str, i: usize) -> u64 {
        match column(output, "packets", name) {
            Column::U8(v) => v[i].into(),
            Column::U64(v) => v[i],
            _ => unreachable!("fate or sojourn time"),
        }
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
                // Added up in another order.
                value["forward"]["mean_backlog_packets"] = 0.into();
                value
            };
            assert_eq!((warmup_s, settled), (output.summary.warmup_s, output.summary.settled));
            if text.contains("auto") {
                let find = |tables: &[Table]| tables.iter().find(|t| t.name == "windows").expect("a table").clone();
                let (windows, expected) = (find(&tables), find(&output.tables));
                // The last two are not known, and the mean backlog is added up in another order.
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
        for (limited, expected) in [
            (DropPolicy { drops_early: true, packets: Some(1), bytes: None }, [1, 1]),
            (DropPolicy { drops_early: false, packets: Some(1), bytes: None }, [2, 0]),
            (DropPolicy { drops_early: true, packets: None, bytes: Some(999) }, [2, 0]),
        ] {
            let mut recorded = RecordingAnalysis::new(&scenario, 1, vec![limited; 2]);
            let entry = |at, packet, what| RecordingEntry {
                at: Instant::from_nanos(at),
                link: 0,
                packet,
                meta: Meta::new(1000, 0),
                kind: what,
            };
            for one in [
                entry(0, 0, EntryKind::Offered),
                entry(0, 0, EntryKind::Refused),
                entry(5, 1, EntryKind::Offered),
                entry(6, 2, EntryKind::Offered),
                entry(6, 2, EntryKind::Refused),
            ] {
                recorded.add(one).unwrap();
            }
            assert!(recorded.add(entry(7, 2, EntryKind::Dropped)).unwrap_err().to_string().contains("does not wait"));
            assert!(recorded.add(entry(2, 1, EntryKind::Dropped)).unwrap_err().to_string().contains("out of order"));
            let (RecordingSummary { links, .. }, _) = recorded.finish();
            let by = &links.forward.dropped_by;
            assert_eq!([by["limit"], by["early"]], expected, "{limited:?}");
        }
    }
}
