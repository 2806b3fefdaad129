//! Summary and tables, as of a simulation, computed from the logs of both directions of every link.

use super::error::LogError;
use super::record::{Record, RecordKind};
use super::replay::{Agreement, changing, replay_with};
use serde_json::Value;
use sojourn_aqm::registry::Catalogue;
use sojourn_aqm::{Instant, Meta};
use sojourn_sim::scenario::{LinkSpec, Probes};
use sojourn_sim::{LinkReplay, Output, QueueEvent, Statistics};
use std::collections::BTreeMap;

/// A log as parsed by [`super::read`].
pub type Log = (Value, Vec<Record>);

/// Payload in bytes by direction and flow.
pub type Payload = Vec<BTreeMap<u32, u64>>;

/// Results of a run, computed from its logs.
pub struct Results {
    /// Output as of a simulation, without delivered data, groups and flows, which only the programs know.
    pub output: Output,
    /// New payload that left after each instant at which the statistics can begin.
    pub payload: Vec<(Instant, Payload)>,
    /// Agreement of each log with a replay.
    pub agreement: Vec<Agreement>,
    /// Per log: packets written more than 1 ms late, and the maximum lateness in nanoseconds.
    pub overdue: Vec<(u64, u64)>,
    /// Per log: packets that the kernel rejected.
    pub rejected_writes: Vec<u64>,
    /// Per log: numbers of the packets that were lost on the medium after their link.
    pub lost: Vec<Vec<u32>>,
}

/// An error in one of several logs.
#[derive(Debug)]
pub struct LogFileError {
    /// Index of the log.
    pub log: usize,
    /// The error.
    pub error: LogError,
}

/// Time of the last record: the end of the run, unless the log is truncated.
pub fn end(records: &[Record]) -> Instant {
    records.iter().map(|record| record.at).max().unwrap_or(Instant::ZERO)
}

/// Computes results up to the end of the statistics from the logs of the hops `names`, for each hop the forward (down)
/// and then the reverse (up) direction. Links can use queue managers of `own`.
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
    let (mut overdue, mut rejected_writes) = (vec![(0, 0); logs.len()], vec![0; logs.len()]);
    let mut lost = vec![Vec::new(); logs.len()];
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
            RecordKind::Lost => {
                lost[l].push(number);
                replayed.lost(at, l);
            }
            RecordKind::Refused => rejected_writes[l] += 1,
            RecordKind::Payload => {
                let meta = metas[l].get(number as usize).filter(|meta| value <= meta.len as u64);
                let flow = meta.ok_or(LogFileError { log: l, error: LogError::Payload(number) })?.flow;
                let part = payload.partition_point(|&(start, _)| start < at).max(1) - 1;
                *payload[part].1[l].entry(flow).or_insert(0) += value;
            }
            RecordKind::Overdue => overdue[l] = (overdue[l].0 + 1, overdue[l].1.max(value)),
            RecordKind::More | RecordKind::Tcp | RecordKind::TcpTimes | RecordKind::TcpSack | RecordKind::End => {}
            // The replayed links include the changes.
            RecordKind::Changed | RecordKind::Text => {}
        }
    }
    let mut output = replayed.finish();
    add_up(&mut payload);
    let begun_at = |start: Instant| (start - Instant::ZERO).as_secs_f64();
    let begun = payload.iter().find(|&&(start, _)| begun_at(start) == output.summary.warmup_s);
    let (begin, left) = begun.expect("the statistics begin at one of their instants");
    output.summary.goodput_bps = left[0].values().sum::<u64>() as f64 * 8.0 / (end - *begin).as_secs_f64();
    Ok(Results { output, payload, agreement, overdue, rejected_writes, lost })
}

/// Metadata of a packet that left its queue at `at` after `sojourn` nanoseconds; under netem with a child, the time in
/// the child.
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

/// Turns the payload between consecutive instants into the payload from each instant on.
fn add_up(payload: &mut [(Instant, Payload)]) {
    for i in (1..payload.len()).rev() {
        let (before, from) = payload.split_at_mut(i);
        for (sum, part) in before[i - 1].1.iter_mut().zip(&from[0].1) {
            part.iter().for_each(|(&flow, bytes)| *sum.entry(flow).or_insert(0) += bytes);
        }
    }
}

/// Records of all logs in time order. Records of one log keep their order; at one instant, those of the first log come
/// first.
fn merged(logs: &[Log]) -> impl Iterator<Item = (usize, &Record)> {
    let mut remaining: Vec<&[Record]> = logs.iter().map(|(_, records)| &records[..]).collect();
    std::iter::from_fn(move || {
        let heads = remaining.iter().enumerate().filter_map(|(l, records)| Some((records.first()?.at, l)));
        let (_, l) = heads.min()?;
        let (first, others) = remaining[l].split_first()?;
        remaining[l] = others;
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
