//! Comparison of a log with a replay of its arrivals through the simulator's queue.
//!
//! The queue is polled whenever the log records that the link polled it; at a constant rate departures are recomputed
//! too.

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

/// Agreement of a log with its replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// Packets of the log that were sent or dropped.
    pub packets: usize,
    /// Packets with the same fate at the same nanosecond.
    pub agreeing: usize,
    /// Number of the first packet that differs.
    pub first: Option<u32>,
    /// Whether departures were recomputed instead of polled at the logged times: the link has a constant rate and no
    /// changes, and the queue neither reads TCP headers nor duplicates packets.
    pub timed: bool,
}

/// Fate of each packet, with its time.
type Fates = Vec<Option<(RecordKind, Instant)>>;

/// Replays the arrivals of a log, as parsed by [`super::read`], through a new queue.
pub fn replay(head: &Value, records: &[Record]) -> Result<Agreement, LogError> {
    replay_with(head, records, REGISTERED)
}

/// Like [`replay`], with the queue managers of `own` as well.
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

/// Number of a log's link in its run; in a shell, that of the side.
fn link_number(head: &Value) -> usize {
    head["number"].as_u64().map_or_else(|| usize::from(head["side"] == "up"), |number| number as usize)
}

/// The link of a log, with its changes during the run.
pub(super) fn changing(head: &Value, own: &dyn Catalogue) -> Result<LinkSpec, scenario::Error> {
    let changes = head["changes"].as_array().map_or(&[][..], Vec::as_slice);
    LinkSpec::parse_changing("link", &head["link"], changes, Path::new("/"), own)
}

/// Fates recorded in the log. Rejects a log with a fate before the arrival, two fates of a packet, an impossible size,
/// or times out of order.
fn fates(records: &[Record], packets: usize) -> Result<Fates, LogError> {
    let (mut fates, mut arrivals, mut now) = (vec![None; packets], 0, Instant::ZERO);
    for (i, record) in records.iter().enumerate() {
        if record.kind == RecordKind::Arrival {
            arrivals += 1;
            // A length of 0 is valid: a frame of an interface may end after its link-layer header.
            if record.segments == 0 || u64::from(record.bytes) > MAX_SEGMENT * u64::from(record.segments) {
                return Err(LogError::Size { bytes: record.bytes, record: i });
            }
        } else if is_fate(record.kind) {
            let slot = fates[..arrivals].get_mut(record.number as usize);
            let slot = slot.ok_or(LogError::LateArrival { packet: record.number, record: i })?;
            if slot.replace((record.kind, record.at)).is_some() {
                return Err(LogError::TwoFates(record.number));
            }
        }
        // Records of other kinds may follow records of later times.
        if matches!(record.kind, RecordKind::Arrival | RecordKind::Idle) || is_fate(record.kind) {
            if record.at < now || record.at.as_nanos() > MAX_TIME_NS {
                return Err(LogError::Time(i));
            }
            now = record.at;
        }
    }
    Ok(fates)
}

/// Records the queue's drops, and supplies the TCP headers of the log.
struct FateSink<'a> {
    at: Instant,
    fates: &'a mut Fates,
    headers: &'a [Option<TcpView>],
    /// The packet being enqueued; in the log its copies have the next numbers.
    arriving: u32,
    copies: u32,
}

impl Sink<u32> for FateSink<'_> {
    fn dropped(&mut self, _: Meta, packet: u32, reason: DropReason) {
        self.fates[packet as usize] = Some((RecordKind::dropped(reason), self.at));
    }

    fn duplicated(&mut self, _: &Meta, _: &u32) -> Option<u32> {
        let copy = self.arriving + self.copies + 1;
        // Without the copy, it is the log of another queue.
        ((copy as usize) < self.fates.len()).then(|| {
            self.copies += 1;
            copy
        })
    }

    fn tcp_header(&self, packet: &u32) -> Option<TcpView> {
        *self.headers.get(*packet as usize)?
    }
}

/// Replays a log through the queue of link `index` in a run with `seed`, polling it whenever the log records that the
/// link did.
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
    // Number of the last arrival that the queue already has: a packet enqueued below, or one of its copies.
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

/// Maximum length of a packet, or of a segment of a super-packet, in bytes with framing.
const MAX_SEGMENT: u64 = 200_000;

/// Maximum time in a log: a year.
const MAX_TIME_NS: u64 = 366 * 86_400 * 1_000_000_000;

fn is_fate(kind: RecordKind) -> bool {
    matches!(kind, RecordKind::Sent | RecordKind::Marked) || kind.reason().is_some()
}
