//! Whether a log holds what the simulator's queue makes of the same arrivals.

use super::error::LogError;
use super::record::{Record, RecordKind};
use super::tcp::views;
use serde_json::Value;
use sojourn_aqm::qdisc::drop_all;
use sojourn_aqm::registry::{Catalogue, REGISTERED};
use sojourn_aqm::replay::{Arrival, Fate, Replay, ReplayLink};
use sojourn_aqm::{DequeueResult, DropReason, Ecn, Host, Instant, Meta, Sink, TcpView};
use sojourn_sim::scenario::{self, LinkSpec, Service};
use sojourn_sim::stream_of_queue;
use std::path::Path;

/// How far a log agrees with a replay of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// Packets of the log that were sent or dropped.
    pub packets: usize,
    /// Those to which the same happened at the same nanosecond.
    pub agreeing: usize,
    /// Number of the first other one.
    pub first: Option<u32>,
    /// Whether the times at which the link takes packets were computed anew, not taken from the log: where it has a
    /// constant rate, and a queue that does not look at TCP headers.
    pub timed: bool,
}

/// What became of a packet: its kind, and when.
type Fates = Vec<Option<(RecordKind, Instant)>>;

/// Plays the arrivals of a log, as [`super::read`] gives it, through a new queue.
pub fn replay(head: &Value, records: &[Record]) -> Result<Agreement, LogError> {
    replay_with(head, records, REGISTERED)
}

/// [`replay`] that knows the queue managers of `own` as well.
pub fn replay_with(head: &Value, records: &[Record], own: &dyn Catalogue) -> Result<Agreement, LogError> {
    let spec = changing(head, own)?;
    let seed = head["seed"].as_u64().ok_or(LogError::NoSeed)?;
    let index = link_number(head);
    let framing = spec.framing;
    let host = Host { link: spec.nominal_link(), rng: stream_of_queue(seed, index, 0) };
    let arrivals: Vec<&Record> = records.iter().filter(|record| record.kind == RecordKind::Arrival).collect();
    if let Some(i) = arrivals.iter().enumerate().position(|(i, record)| record.number as usize != i) {
        return Err(LogError::NoArrival(i));
    }
    let logged = fates(records, arrivals.len())?;
    let headers = views(records, arrivals.len());
    let timed = matches!(spec.service, Service::Rate(_))
        && framing.adjusted
        && headers.is_empty()
        && head["changes"].is_null()
        && !spec.configs().any(|config| config.effects().duplicates);
    let found = if timed {
        let arrivals: Vec<Arrival> =
            arrivals.iter().map(|record| Arrival { at: record.at, meta: record.meta() }).collect();
        let queue = spec.aqm.queue(spec.limits, host);
        Replay::new(&arrivals, queue, ReplayLink::simulator(spec.nominal_link().rate))
            .run()
            .into_iter()
            .map(of_fate)
            .collect()
    } else {
        replay_queue(&spec, (seed, index), records, &headers, arrivals.len())
    };
    let decided = || logged.iter().zip(&found).enumerate().filter(|(_, (logged, _))| logged.is_some());
    let same = decided().filter(|(_, (logged, found))| logged == found).count();
    let first = decided().find(|(_, (logged, found))| logged != found).map(|(i, _)| i as u32);
    Ok(Agreement { packets: decided().count(), agreeing: same, first, timed })
}

/// The number of the link of a log in its run; of a shell, that of the side.
fn link_number(head: &Value) -> usize {
    head["number"].as_u64().map_or_else(|| usize::from(head["side"] == "up"), |number| number as usize)
}

/// The link of a log, with what changed while it ran.
pub(super) fn changing(head: &Value, own: &dyn Catalogue) -> Result<LinkSpec, scenario::Error> {
    let changes = head["changes"].as_array().map_or(&[][..], Vec::as_slice);
    LinkSpec::parse_changing("link", &head["link"], changes, Path::new("/"), own)
}

/// What the log says; refuses a log whose packets do not arrive once, in the order of time, and leave once at most.
fn fates(records: &[Record], packets: usize) -> Result<Fates, LogError> {
    let (mut fates, mut came, mut now) = (vec![None; packets], 0, Instant::ZERO);
    for (i, record) in records.iter().enumerate() {
        if record.kind == RecordKind::Arrival {
            came += 1;
            // Behind the header of a frame at an interface there may be nothing.
            if record.segments == 0 || u64::from(record.bytes) > LARGEST * u64::from(record.segments) {
                return Err(LogError::Size { bytes: record.bytes, record: i });
            }
        } else if is_fate(record.kind) {
            let place = fates[..came].get_mut(record.number as usize);
            let place = place.ok_or(LogError::LateArrival { packet: record.number, record: i })?;
            if place.replace((record.kind, record.at)).is_some() {
                return Err(LogError::TwoFates(record.number));
            }
        }
        // What was written late is told later than it happened.
        if matches!(record.kind, RecordKind::Arrival | RecordKind::Idle) || is_fate(record.kind) {
            if record.at < now || record.at.as_nanos() > LONGEST {
                return Err(LogError::Time(i));
            }
            now = record.at;
        }
    }
    Ok(fates)
}

/// Notes what the queue drops, and shows it the headers of the log.
struct FateSink<'a> {
    at: Instant,
    fates: &'a mut Fates,
    headers: &'a [Option<TcpView>],
    /// The packet that is being offered; the log has its copies behind it.
    arriving: u32,
    copies: u32,
}

impl Sink<u32> for FateSink<'_> {
    fn dropped(&mut self, _: Meta, packet: u32, reason: DropReason) {
        self.fates[packet as usize] = Some((RecordKind::dropped(reason), self.at));
    }

    fn duplicated(&mut self, _: &Meta, _: &u32) -> Option<u32> {
        let copy = self.arriving + self.copies + 1;
        // A log that lacks it is one of another queue.
        ((copy as usize) < self.fates.len()).then(|| {
            self.copies += 1;
            copy
        })
    }

    fn tcp_header(&self, packet: &u32) -> Option<TcpView> {
        *self.headers.get(*packet as usize)?
    }
}

/// Asks the queue of a link in a run with a seed, which has a number, whenever the log says that the link did.
fn replay_queue(
    spec: &LinkSpec,
    (seed, index): (u64, usize),
    records: &[Record],
    headers: &[Option<TcpView>],
    packets: usize,
) -> Fates {
    let host = |rng| Host { link: spec.nominal_link(), rng };
    let mut queue = spec.aqm.queue(spec.limits, host(stream_of_queue(seed, index, 0)));
    let (mut number, mut fates) = (1, vec![None; packets]);
    let mut ecn_at_arrival = vec![Ecn::NotEct; packets];
    // Up to where arrivals are copies that the queue has made.
    let mut copied = None;
    for record in records {
        let at = record.at;
        let mut dropped = FateSink { at, fates: &mut fates, headers, arriving: record.number, copies: 0 };
        match record.kind {
            RecordKind::Arrival => {
                ecn_at_arrival[record.number as usize] = record.ecn;
                if copied.is_none_or(|last| record.number > last) {
                    queue.enqueue(at, record.meta(), record.number, &mut dropped);
                    copied = Some(record.number + dropped.copies);
                }
            }
            RecordKind::Sent | RecordKind::Marked | RecordKind::Idle => {
                if let DequeueResult::Packet(meta, packet) = queue.dequeue(at, &mut dropped) {
                    let marked = meta.ecn == Ecn::Ce && ecn_at_arrival[packet as usize] != Ecn::Ce;
                    fates[packet as usize] = Some((if marked { RecordKind::Marked } else { RecordKind::Sent }, at));
                }
            }
            RecordKind::Changed => {
                while let Some((_, changed)) = spec.planned(number).filter(|&(due, _)| Instant::ZERO + due <= at) {
                    number += 1;
                    let Some(link) = changed.queue else { continue };
                    let rng = stream_of_queue(seed, index, changed.number);
                    let mut new = link.aqm.queue(link.limits, host(rng));
                    match queue.as_any().filter(|_| changed.keeps) {
                        Some(old) => new.inherit(old, at, &mut dropped).expect("reading the link has tried this"),
                        None => drop_all(&mut *queue, at, &mut dropped),
                    }
                    queue = new;
                }
            }
            _ => {}
        }
    }
    fates
}

fn of_fate(fate: Fate) -> Option<(RecordKind, Instant)> {
    match fate {
        Fate::Waiting => None,
        Fate::Sent { at, marked } => Some((if marked { RecordKind::Marked } else { RecordKind::Sent }, at)),
        Fate::Dropped { at, reason, .. } => Some((RecordKind::dropped(reason), at)),
    }
}

/// Largest packet of a log, or segment of a super-packet, in bytes: IP's, with its framing.
const LARGEST: u64 = 200_000;

/// Longest log: a year.
const LONGEST: u64 = 366 * 86_400 * 1_000_000_000;

fn is_fate(kind: RecordKind) -> bool {
    matches!(kind, RecordKind::Sent | RecordKind::Marked) || kind.reason().is_some()
}
