//! From the logs of both directions of every link to the summary and tables of a simulation.

use super::error::LogError;
use super::record::{Record, RecordKind};
use super::replay::{Agreement, changing, replay_with};
use serde_json::Value;
use sojourn_aqm::registry::Catalogue;
use sojourn_aqm::{Instant, Meta};
use sojourn_sim::scenario::{LinkSpec, Probes};
use sojourn_sim::{LinkReplay, Output, QueueEvent, Statistics};
use std::collections::BTreeMap;

/// A log as [`super::read`] gives it.
pub type Log = (Value, Vec<Record>);

/// Payload in bytes by direction and flow.
pub type Payload = Vec<BTreeMap<u32, u64>>;

/// What the logs of a run say, and how far each agrees with a replay.
pub struct Results {
    /// As a simulation gives it, without what only programs know: what was delivered, groups, flows.
    pub output: Output,
    /// Payload that left for the first time from each instant on at which the statistics can begin.
    pub payload: Vec<(Instant, Payload)>,
    /// Of each log.
    pub agreement: Vec<Agreement>,
    /// Packets that were written more than a millisecond late, and the latest, in nanoseconds, of each log.
    pub overdue: Vec<(u64, u64)>,
    /// Packets that the kernel refused, of each log.
    pub rejected_writes: Vec<u64>,
}

/// What is wrong with which log.
#[derive(Debug)]
pub struct LogFileError {
    /// Its number; 0 for the first.
    pub log: usize,
    /// What is wrong with it.
    pub error: LogError,
}

/// The time of a log's last record: the end of the run, unless the log was cut off.
pub fn end(records: &[Record]) -> Instant {
    records.iter().map(|record| record.at).max().unwrap_or(Instant::ZERO)
}

/// Reads the logs of the hops called `names`, of each the forward direction (down) and then the reverse one (up), until the
/// statistics end; their links may have queue managers of `own`.
pub fn results(
    names: &[String],
    logs: &[Log],
    probes: &Probes,
    statistics: Statistics,
    own: &dyn Catalogue,
) -> Result<Results, LogFileError> {
    let of = |log: usize| move |error: LogError| LogFileError { log, error };
    let sides = ["down", "up"].into_iter().cycle();
    let specs = logs.iter().zip(sides).enumerate().map(|(l, (log, side))| link(&log.0, side, own).map_err(of(l)));
    let specs = specs.collect::<Result<Vec<_>, _>>()?;
    let again = logs.iter().enumerate().map(|(l, log)| replay_with(&log.0, &log.1, own).map_err(of(l)));
    let agreement = again.collect::<Result<Vec<_>, _>>()?;
    let hops: Vec<_> =
        names.iter().zip(specs.chunks_exact(2)).map(|(name, pair)| (&**name, &pair[0], &pair[1])).collect();
    let end = statistics.end();
    let seed = logs[0].0["seed"].as_u64().unwrap_or(0);
    let mut payload: Vec<(Instant, Payload)> =
        statistics.starts().iter().map(|&at| (at, vec![BTreeMap::new(); logs.len()])).collect();
    let mut replayed = LinkReplay::new(&hops, probes, seed, statistics);
    let (mut overdue, mut refused) = (vec![(0, 0); logs.len()], vec![0; logs.len()]);
    let mut metas: Vec<Vec<Meta>> = vec![Vec::new(); logs.len()];
    for (l, record) in merged(logs) {
        let Record { at, number, kind, value, .. } = *record;
        if at > end {
            continue;
        }
        let event = |meta| QueueEvent { at, link: l, packet: number, meta };
        match kind {
            RecordKind::Arrival => {
                metas[l].push(Meta { enqueued: at, ..record.meta() });
                replayed.arrived(event(&record.meta()));
            }
            RecordKind::Sent | RecordKind::Marked => {
                let meta = since(&metas[l][number as usize], at, value);
                replayed.sent(event(&meta), kind == RecordKind::Marked);
            }
            RecordKind::Limit | RecordKind::Early | RecordKind::Late | RecordKind::HardLimit | RecordKind::Replaced => {
                let (meta, reason) =
                    (since(&metas[l][number as usize], at, value), kind.reason().expect("these are the drops"));
                replayed.dropped(event(&meta), reason);
            }
            RecordKind::Idle => replayed.on_empty_dequeue(at, l),
            RecordKind::Lost => replayed.lost(at, l),
            RecordKind::Refused => refused[l] += 1,
            RecordKind::Payload => {
                let meta = metas[l].get(number as usize).filter(|meta| value <= meta.len as u64);
                let flow = meta.ok_or(LogFileError { log: l, error: LogError::Payload(number) })?.flow;
                let part = payload.partition_point(|&(start, _)| start < at).max(1) - 1;
                *payload[part].1[l].entry(flow).or_insert(0) += value;
            }
            RecordKind::Overdue => overdue[l] = (overdue[l].0 + 1, overdue[l].1.max(value)),
            RecordKind::More | RecordKind::Tcp | RecordKind::TcpTimes | RecordKind::TcpSack | RecordKind::End => {}
            // The links that are replayed know of it.
            RecordKind::Changed | RecordKind::Text => {}
        }
    }
    let mut output = replayed.finish();
    add_up(&mut payload);
    let begun_at = |start: Instant| (start - Instant::ZERO).as_secs_f64();
    let begun = payload.iter().find(|&&(start, _)| begun_at(start) == output.summary.warmup_s);
    let (begin, left) = begun.expect("the statistics begin at one of their instants");
    output.summary.goodput_bps = left[0].values().sum::<u64>() as f64 * 8.0 / (end - *begin).as_secs_f64();
    Ok(Results { output, payload, agreement, overdue, rejected_writes: refused })
}

/// A packet as its queue had it that it left at `at` after `sojourn` nanoseconds: where netem holds another discipline,
/// that is the time in the inner queue.
fn since(arrived: &Meta, at: Instant, sojourn: u64) -> Meta {
    Meta { enqueued: Instant::from_nanos(at.as_nanos().saturating_sub(sojourn)), ..*arrived }
}

/// The link of a log of direction `side`.
fn link(head: &Value, side: &'static str, own: &dyn Catalogue) -> Result<LinkSpec, LogError> {
    if head["kind"] != "link" || head["side"] != side {
        let (kind, found) = (head["kind"].to_string(), head["side"].to_string());
        return Err(LogError::Other { kind, side: found, expected: side });
    }
    Ok(changing(head, own)?)
}

/// From what left between each instant and the next to what left from it on.
fn add_up(payload: &mut [(Instant, Payload)]) {
    for i in (1..payload.len()).rev() {
        let (before, from) = payload.split_at_mut(i);
        for (sum, part) in before[i - 1].1.iter_mut().zip(&from[0].1) {
            part.iter().for_each(|(&flow, bytes)| *sum.entry(flow).or_insert(0) += bytes);
        }
    }
}

/// The records of all logs in the order of time, each log's in its own; at one instant those of the first log come first.
fn merged(logs: &[Log]) -> impl Iterator<Item = (usize, &Record)> {
    let mut rest: Vec<&[Record]> = logs.iter().map(|(_, records)| &records[..]).collect();
    std::iter::from_fn(move || {
        let heads = rest.iter().enumerate().filter_map(|(l, records)| Some((records.first()?.at, l)));
        let (_, l) = heads.min()?;
        let (first, others) = rest[l].split_first()?;
        rest[l] = others;
        Some((l, first))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_left_between_instants_adds_up_from_the_end() {
        let at = |nanos| Instant::ZERO + sojourn_aqm::Duration::from_nanos(nanos);
        let part =
            |down: &[(u32, u64)], up: &[(u32, u64)]| [down, up].map(|pairs| pairs.iter().copied().collect()).to_vec();
        let mut payload =
            vec![(at(0), part(&[(1, 5)], &[(3, 2)])), (at(7), part(&[(2, 40)], &[])), (at(9), part(&[(1, 100)], &[]))];
        add_up(&mut payload);
        let expected = [
            (at(0), part(&[(1, 105), (2, 40)], &[(3, 2)])),
            (at(7), part(&[(1, 100), (2, 40)], &[])),
            (at(9), part(&[(1, 100)], &[])),
        ];
        assert_eq!(payload, expected);
    }
}
