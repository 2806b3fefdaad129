//! From the logs of both directions of a link to the summary and tables of a simulation.

use super::error::LogError;
use super::record::{Kind, Record};
use super::replay::{Agreement, changing, replay_with};
use serde_json::Value;
use sojourn_aqm::registry::Catalogue;
use sojourn_aqm::{Instant, Meta};
use sojourn_sim::scenario::{LinkSpec, Probes};
use sojourn_sim::{Output, Replayed, Statistics};
use std::collections::BTreeMap;

/// A log as [`super::read`] gives it.
pub type Log = (Value, Vec<Record>);

/// Payload in bytes by direction and flow.
pub type Payload = [BTreeMap<u32, u64>; 2];

/// What two logs say, and how far each agrees with a replay.
pub struct Results {
    /// As a simulation gives it, without what only programs know: what was delivered, groups, flows.
    pub output: Output,
    /// Payload that left for the first time from each instant on at which the statistics can begin.
    pub payload: Vec<(Instant, Payload)>,
    /// Of the forward direction, down, and of the reverse direction, up.
    pub agreement: [Agreement; 2],
    /// Packets that were written more than a millisecond late, and the latest, in nanoseconds, by direction.
    pub overdue: [(u64, u64); 2],
    /// Packets that the kernel refused, by direction.
    pub refused: [u64; 2],
}

/// What is wrong with which of two logs.
#[derive(Debug)]
pub struct InLog {
    /// 0 for the first, down; 1 for the second, up.
    pub log: usize,
    /// What is wrong with it.
    pub error: LogError,
}

/// The time of a log's last record: the end of the run, unless the log was cut off.
pub fn end(records: &[Record]) -> Instant {
    records.iter().map(|record| record.at).max().unwrap_or(Instant::ZERO)
}

/// Reads the logs `down` and `up` until the statistics end; their links may have queue managers of `own`.
pub fn results(
    logs: [&Log; 2],
    probes: &Probes,
    statistics: Statistics,
    own: &dyn Catalogue,
) -> Result<Results, InLog> {
    let of = |log: usize| move |error: LogError| InLog { log, error };
    let (down, up) = (of(0), of(1));
    let specs = [link(&logs[0].0, "down", own).map_err(down)?, link(&logs[1].0, "up", own).map_err(up)?];
    let again = |log: &Log| replay_with(&log.0, &log.1, own);
    let agreement = [again(logs[0]).map_err(down)?, again(logs[1]).map_err(up)?];
    let end = statistics.end();
    let seed = logs[0].0["seed"].as_u64().unwrap_or(0);
    let mut payload: Vec<(Instant, Payload)> = statistics.starts().iter().map(|&at| (at, Payload::default())).collect();
    let mut replayed = Replayed::new([&specs[0], &specs[1]], probes, seed, statistics);
    let (mut overdue, mut refused) = ([(0, 0); 2], [0; 2]);
    let mut metas: [Vec<Meta>; 2] = [Vec::new(), Vec::new()];
    for (l, record) in merged([&logs[0].1, &logs[1].1]) {
        let Record { at, number, kind, value, .. } = *record;
        if at > end {
            continue;
        }
        match kind {
            Kind::Arrival => {
                metas[l].push(Meta { enqueued: at, ..record.meta() });
                replayed.arrived(at, l, number, &record.meta());
            }
            Kind::Sent | Kind::Marked => {
                let meta = &metas[l][number as usize];
                replayed.sent(at, l, number, meta, kind == Kind::Marked);
            }
            Kind::Limit | Kind::Early | Kind::Late | Kind::HardLimit | Kind::Replaced => {
                let (meta, reason) = (&metas[l][number as usize], kind.reason().expect("these are the drops"));
                replayed.dropped(at, l, number, meta, reason);
            }
            Kind::Idle => replayed.asked(at, l),
            Kind::Lost => replayed.lost(at, l),
            Kind::Refused => refused[l] += 1,
            Kind::Payload => {
                let meta = metas[l].get(number as usize).filter(|meta| value <= meta.len as u64);
                let flow = meta.ok_or(InLog { log: l, error: LogError::Payload(number) })?.flow;
                let part = payload.partition_point(|&(start, _)| start < at).max(1) - 1;
                *payload[part].1[l].entry(flow).or_insert(0) += value;
            }
            Kind::Overdue => overdue[l] = (overdue[l].0 + 1, overdue[l].1.max(value)),
            Kind::More | Kind::Tcp | Kind::TcpTimes | Kind::TcpSack | Kind::End => {}
            // The links that are replayed know of it.
            Kind::Changed | Kind::Text => {}
        }
    }
    let mut output = replayed.finish();
    add_up(&mut payload);
    let since = |start: Instant| (start - Instant::ZERO).as_secs_f64();
    let begun = payload.iter().find(|&&(start, _)| since(start) == output.summary.warmup_s);
    let (begin, left) = begun.expect("the statistics begin at one of their instants");
    output.summary.goodput_bps = left[0].values().sum::<u64>() as f64 * 8.0 / (end - *begin).as_secs_f64();
    Ok(Results { output, payload, agreement, overdue, refused })
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

/// The records of both directions in the order of time, each direction's in its own.
fn merged(logs: [&[Record]; 2]) -> impl Iterator<Item = (usize, &Record)> {
    let [mut down, mut up] = logs.map(|log| log.iter().peekable());
    std::iter::from_fn(move || match (down.peek(), up.peek()) {
        (Some(a), Some(b)) if b.at < a.at => up.next().map(|record| (1, record)),
        (Some(_), _) => down.next().map(|record| (0, record)),
        (None, _) => up.next().map(|record| (1, record)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_left_between_instants_adds_up_from_the_end() {
        let at = |nanos| Instant::ZERO + sojourn_aqm::Duration::from_nanos(nanos);
        let part = |down: &[(u32, u64)], up: &[(u32, u64)]| [down, up].map(|pairs| pairs.iter().copied().collect());
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
