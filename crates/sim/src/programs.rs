//! Statistics of the programs at the ends of endpoint flows: their datagrams by end and tag, and the values that they
//! note.

use crate::endpoint::Side;
use crate::histogram::Histogram;
use crate::quantiles::Quantiles;
use crate::scenario::EndpointSpec;
use crate::window::Counters;
use serde::Serialize;
use sojourn_aqm::Duration;
use std::collections::BTreeMap;

/// Counts of a group in one interval of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProgramCounts {
    /// By tag, 0 for none: datagrams of the source, then of the sink.
    datagrams: Vec<[SentCounts; 2]>,
    notes: Vec<NoteCounts>,
}

/// Datagrams that one end sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentCounts {
    pub sent: u64,
    pub sent_bytes: u64,
    pub received: u64,
    pub received_bytes: u64,
    pub lost: u64,
    pub marked: u64,
    pub duplicates: u64,
    pub reordered: u64,
    pub too_big: u64,
    pub no_endpoint: u64,
    /// One-way delays of those received.
    pub delay: Histogram,
}

/// Values that one end noted by one name.
#[derive(Clone, Debug)]
struct NoteCounts {
    side: Side,
    name: String,
    count: u64,
    sum: f64,
    min: f64,
    max: f64,
    last: f64,
}

impl ProgramCounts {
    /// Datagrams with a tag that one end sent.
    #[inline]
    pub fn sent_by(&mut self, side: Side, tag: u8) -> &mut SentCounts {
        let tag = usize::from(tag);
        if tag >= self.datagrams.len() {
            self.datagrams.resize_with(tag + 1, Default::default);
        }
        &mut self.datagrams[tag][side as usize]
    }

    /// Adds a value that an end notes.
    pub fn note(&mut self, side: Side, name: &str, value: f64) {
        let one = NoteCounts { side, name: String::new(), count: 1, sum: value, min: value, max: value, last: value };
        match self.notes.iter_mut().find(|note| note.side == side && note.name == name) {
            Some(note) => note.add(&one),
            None => self.notes.push(NoteCounts { name: name.to_string(), ..one }),
        }
    }
}

impl NoteCounts {
    /// Adds later values.
    fn add(&mut self, later: &Self) {
        self.count += later.count;
        self.sum += later.sum;
        self.min = self.min.min(later.min);
        self.max = self.max.max(later.max);
        self.last = later.last;
    }
}

impl SentCounts {
    /// Counts a datagram that arrives `delay` after it left its host.
    pub fn arrived(&mut self, delay: Duration, bytes: u32) {
        self.received += 1;
        self.received_bytes += u64::from(bytes);
        self.delay.record(delay);
    }
}

impl Counters for SentCounts {
    fn add(&mut self, other: &Self) {
        for (sum, more) in [
            (&mut self.sent, other.sent),
            (&mut self.sent_bytes, other.sent_bytes),
            (&mut self.received, other.received),
            (&mut self.received_bytes, other.received_bytes),
            (&mut self.lost, other.lost),
            (&mut self.marked, other.marked),
            (&mut self.duplicates, other.duplicates),
            (&mut self.reordered, other.reordered),
            (&mut self.too_big, other.too_big),
            (&mut self.no_endpoint, other.no_endpoint),
        ] {
            *sum += more;
        }
        self.delay.merge(&other.delay);
    }

    fn pack(&mut self) {
        self.delay.pack();
    }
}

impl Counters for ProgramCounts {
    fn add(&mut self, other: &Self) {
        if self.datagrams.len() < other.datagrams.len() {
            self.datagrams.resize_with(other.datagrams.len(), Default::default);
        }
        for (sums, more) in self.datagrams.iter_mut().zip(&other.datagrams) {
            sums.iter_mut().zip(more).for_each(|(sum, more)| sum.add(more));
        }
        for note in &other.notes {
            match self.notes.iter_mut().find(|own| own.side == note.side && own.name == note.name) {
                Some(own) => own.add(note),
                None => self.notes.push(note.clone()),
            }
        }
    }

    fn pack(&mut self) {
        self.datagrams.iter_mut().flatten().for_each(Counters::pack);
    }
}

/// Results of a group of endpoints, inside the statistics window.
#[derive(Clone, Debug, Serialize)]
pub struct ProgramSummary {
    /// Name of the group.
    pub name: String,
    /// Datagrams that the sources sent.
    pub source: SentSummary,
    /// Datagrams that the sinks sent.
    pub sink: SentSummary,
    /// Values that the programs noted, by end and name: `source.cwnd`.
    pub notes: BTreeMap<String, NoteSummary>,
}

/// Datagrams that the sources of a group sent, or its sinks.
#[derive(Clone, Debug, Serialize)]
pub struct SentSummary {
    /// Datagrams sent.
    pub sent: u64,
    /// Their payload bytes.
    pub sent_bytes: u64,
    /// Datagrams received, without duplicates.
    pub received: u64,
    /// Their payload bytes.
    pub bytes: u64,
    /// Datagrams without any copy that arrived: dropped or lost.
    pub lost: u64,
    /// Datagrams received with a CE mark that their sender had not set.
    pub marked: u64,
    /// Further copies received.
    pub duplicates: u64,
    /// Datagrams received after one that was sent later.
    pub reordered: u64,
    /// Datagrams above the MTU, which count as lost.
    pub too_big: u64,
    /// Datagrams received at an address that no host has, which count as lost.
    pub no_endpoint: u64,
    /// Lost per datagram whose fate is known.
    pub loss_rate: Option<f64>,
    /// Marked per datagram received.
    pub mark_rate: Option<f64>,
    /// One-way delays.
    pub delay_ms: Quantiles,
    /// The same per tag.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, Self>,
}

/// Values that the ends of a group noted by one name.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct NoteSummary {
    /// Number of values.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Their minimum.
    pub min: f64,
    /// Their maximum.
    pub max: f64,
    /// The last one.
    pub last: f64,
}

impl ProgramSummary {
    /// The results of a group from its counts.
    pub(crate) fn of(spec: &EndpointSpec, counts: &ProgramCounts) -> Self {
        let side = |side: Side| {
            let mut total = SentCounts::default();
            counts.datagrams.iter().for_each(|tag| total.add(&tag[side as usize]));
            let tags = (1..).zip(spec.tags.iter().flatten()).map(|(number, name): (usize, _)| {
                let mut sum = SentCounts::default();
                counts.datagrams.get(number).into_iter().for_each(|tag| sum.add(&tag[side as usize]));
                (name.clone(), SentSummary::of(&sum, BTreeMap::new()))
            });
            SentSummary::of(&total, tags.collect())
        };
        let notes = counts.notes.iter().map(|note| {
            let &NoteCounts { side, ref name, count, sum, min, max, last } = note;
            let summary = NoteSummary { count, mean: sum / count as f64, min, max, last };
            (format!("{}.{name}", side.name()), summary)
        });
        let notes = notes.collect();
        Self { name: spec.name.clone(), source: side(Side::Source), sink: side(Side::Sink), notes }
    }
}

impl SentSummary {
    fn of(counts: &SentCounts, tags: BTreeMap<String, Self>) -> Self {
        let &SentCounts { sent, sent_bytes, received, received_bytes, lost, marked, .. } = counts;
        let share = |part: u64, all: u64| (all > 0).then(|| part as f64 / all as f64);
        Self {
            sent,
            sent_bytes,
            received,
            bytes: received_bytes,
            lost,
            marked,
            duplicates: counts.duplicates,
            reordered: counts.reordered,
            too_big: counts.too_big,
            no_endpoint: counts.no_endpoint,
            loss_rate: share(lost, lost + received),
            mark_rate: share(marked, received),
            delay_ms: Quantiles::of(&counts.delay),
            tags,
        }
    }
}
