//! The first packet that two queues treat differently.

use crate::arrivals::RecordedArrivals;
use crate::reply::state;
use crate::request::RequestError;
use crate::rows::TableRows;
use serde_json::{Map, Value, json};
use sojourn_aqm::replay::{Comparison, Difference, DropNotification, Fate, FateKind, Reference, State};
use sojourn_aqm::{Backlog, DropReason, Duration, Instant};
use sojourn_sim::scenario::Scenario;
use sojourn_sim::{Simulation, Table, fate_of_drop};

/// The difference on the same arrivals, as `sojourn aqm diff` reports it; null if there is none.
pub fn on_arrivals(arrived: &RecordedArrivals, a: &str, b: &str) -> Result<Value, RequestError> {
    let arrivals = arrived.arrivals();
    let (of_a, of_b) = (arrived.replay(a, None)?, arrived.replay(b, None)?);
    let mut comparison = Comparison::new(arrivals, of_a, Reference::Replay(Box::new(of_b)));
    while comparison.step() {}
    let before = |aqm: &str, packet| Ok(State::before_arrival(arrived.replay(aqm, None)?, packet));
    let first = match comparison.judged_before() {
        Some(packet) => {
            Some(Difference { packet, at: arrivals[packet].at, a: before(a, packet)?, b: Some(before(b, packet)?) })
        }
        None => comparison.first().cloned(),
    };
    let Some(Difference { packet, at, a, b }) = first else { return Ok(Value::Null) };
    let arrival = arrived.arrival(packet);
    let fate_b = comparison.fate_b(packet).unwrap_or(Fate::Waiting);
    Ok(json!({
        "arrival": packet, "arrived_ns": arrival.at.as_nanos(), "at_ns": at.as_nanos(),
        "flow": arrival.meta.flow, "bytes": arrival.meta.len, "ecn": arrival.meta.ecn as u8,
        "a": of_replay(comparison.fate_a(packet), &a),
        "b": of_replay(fate_b, &b.unwrap_or_default()),
    }))
}

fn of_replay(fate: Fate, before: &State) -> Value {
    let reason = match fate {
        Fate::Dropped { reason, .. } => Some(reason.name()),
        _ => None,
    };
    let variables = state(&|see| before.variables.iter().for_each(|&(name, value)| see(name, value)));
    treatment(fate.kind(DropNotification::ALL), reason, fate.at(), before.backlog, variables)
}

fn treatment(
    verdict: FateKind,
    reason: Option<&str>,
    at: Option<Instant>,
    backlog: Backlog,
    variables: Value,
) -> Value {
    json!({
        "verdict": verdict.name(), "reason": reason, "at_ns": at.map(Instant::as_nanos),
        "backlog_packets": backlog.packets, "backlog_bytes": backlog.bytes, "state": variables,
    })
}

/// The difference at the first queue of two scenarios with the same traffic, each with its own closed loop; null if
/// there is none before the shorter one ends.
pub fn of_traffic(a: &Scenario, b: &Scenario, seed: u64) -> Value {
    let end = Instant::ZERO + a.duration.min(b.duration);
    let (mut of_a, mut of_b) = (ObservedRun::new(a, seed), ObservedRun::new(b, seed));
    let mut until = Instant::ZERO;
    let divergence = loop {
        until = (until + INTERVAL).min(end);
        let (rows_a, rows_b) = (of_a.advance(until), of_b.advance(until));
        // Rows are in order of departure: the queues diverge at the first rows that differ, with the earlier packet of
        // the two.
        let differing = rows_a.iter().zip(&rows_b).find(|(a, b)| a != b).map(|(a, b)| *std::cmp::min(a, b));
        let more = || if rows_a.len() > rows_b.len() { rows_a.get(rows_b.len()) } else { rows_b.get(rows_a.len()) };
        match differing.or_else(|| more().copied()) {
            Some(row) => break row,
            None if until == end => return Value::Null,
            None => {}
        }
    };
    let before = divergence.at - Duration::from_nanos(1);
    let states = [a, b].map(|scenario| ObservedRun::new(scenario, seed).snapshot(before));
    // The other queue may decide on the packet later; run until it does, or to the end.
    let fates = [&mut of_a, &mut of_b].map(|run| run.fate_of(divergence.arrival, end));
    let [a, b] = [0, 1].map(|i| {
        let (fate, (backlog, variables)) = (&fates[i], states[i].clone());
        let Some(row) = fate else { return treatment(FateKind::Waiting, None, None, backlog, variables) };
        let reason = DropReason::ALL.into_iter().find(|&reason| fate_of_drop(reason) == row.fate);
        let verdict = match (row.fate, reason) {
            (0, _) => FateKind::Pass,
            (1, _) => FateKind::Mark,
            (_, Some(DropReason::Limit | DropReason::Early)) if row.sojourn_ns == 0 => FateKind::DropOnArrival,
            _ => FateKind::Drop,
        };
        treatment(verdict, reason.map(DropReason::name), Some(row.at), backlog, variables)
    });
    json!({
        "arrival": divergence.arrival, "arrived_ns": divergence.at.as_nanos() - divergence.sojourn_ns,
        "at_ns": divergence.at.as_nanos(), "flow": divergence.flow, "bytes": divergence.bytes, "ecn": divergence.ecn,
        "a": a, "b": b,
    })
}

/// A packet that the first queue has sent or dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct DepartedPacket {
    at: Instant,
    arrival: u32,
    flow: u32,
    bytes: u32,
    fate: u8,
    sojourn_ns: u64,
    ecn: u8,
}

/// A run with the events of its first queue.
struct ObservedRun {
    run: Simulation,
    departures: Vec<DepartedPacket>,
}

impl ObservedRun {
    fn new(scenario: &Scenario, seed: u64) -> Self {
        let mut scenario = scenario.clone();
        scenario.probes.packets = true;
        Self { run: Simulation::new(&scenario, seed), departures: Vec::new() }
    }

    /// Advances to `until`, and returns the packets that the first queue has sent or dropped meanwhile.
    fn advance(&mut self, until: Instant) -> Vec<DepartedPacket> {
        self.run.advance_until(until);
        let departed = self.run.take_packets().map(|table| read(&table)).unwrap_or_default();
        self.departures.extend(&departed);
        departed
    }

    /// Backlog and state of the first queue at a time.
    fn snapshot(mut self, at: Instant) -> (Backlog, Value) {
        self.run.advance_until(at);
        let (backlog, mut variables) = (self.run.links()[0].backlog, Value::Object(Map::new()));
        self.run.queue(0, at, &mut |look| variables = state(look.observe));
        (backlog, variables)
    }

    /// The fate of a packet; `None` if it is still queued at the end.
    fn fate_of(&mut self, arrival: u32, end: Instant) -> Option<DepartedPacket> {
        let mut until = self.run.now();
        loop {
            let found = self.departures.iter().find(|departed| departed.arrival == arrival).copied();
            if found.is_some() || until >= end {
                return found;
            }
            until = (until + INTERVAL).min(end);
            self.advance(until);
        }
    }
}

fn read(table: &Table) -> Vec<DepartedPacket> {
    let rows = TableRows(table);
    let number = |name: &str, row: usize| rows.number(name, row);
    let departed = |row| DepartedPacket {
        at: Instant::from_nanos(number("time_ns", row)),
        arrival: number("arrival", row) as u32,
        flow: number("flow", row) as u32,
        bytes: number("bytes", row) as u32,
        fate: number("fate", row) as u8,
        sojourn_ns: number("sojourn_ns", row),
        ecn: number("ecn", row) as u8,
    };
    rows.of_first_queue().map(departed).collect()
}

/// Simulated time per comparison of the two runs.
const INTERVAL: Duration = Duration::from_millis(100);
