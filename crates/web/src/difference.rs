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

/// On the same arrivals, as `sojourn aqm diff` finds it; null if there is none.
pub fn on_arrivals(arrived: &RecordedArrivals, a: &str, b: &str) -> Result<Value, RequestError> {
    let arrivals = arrived.arrivals();
    let (of_a, of_b) = (arrived.replay(a, None)?, arrived.replay(b, None)?);
    let mut comparison = Comparison::new(arrivals, of_a, Reference::Replay(of_b));
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

/// Of two scenarios with the same traffic, each with its own closed loop, at the first queue; null if there is none until the
/// shorter one ends.
pub fn of_traffic(a: &Scenario, b: &Scenario, seed: u64) -> Value {
    let end = Instant::ZERO + a.duration.min(b.duration);
    let (mut of_a, mut of_b) = (ObservedRun::new(a, seed), ObservedRun::new(b, seed));
    let mut until = Instant::ZERO;
    let parting = loop {
        until = (until + PART).min(end);
        let (seen_a, seen_b) = (of_a.advance(until), of_b.advance(until));
        // Rows come in the order in which packets leave a queue: the first that differ are where the queues part, and the
        // earlier of the two is the packet.
        let differing = seen_a.iter().zip(&seen_b).find(|(a, b)| a != b).map(|(a, b)| *std::cmp::min(a, b));
        let more = || if seen_a.len() > seen_b.len() { seen_a.get(seen_b.len()) } else { seen_b.get(seen_a.len()) };
        match differing.or_else(|| more().copied()) {
            Some(row) => break row,
            None if until == end => return Value::Null,
            None => {}
        }
    };
    let before = parting.at - Duration::from_nanos(1);
    let states = [a, b].map(|scenario| ObservedRun::new(scenario, seed).snapshot(before));
    // What the other one makes of the packet may show later; that is waited for, within the run.
    let fates = [&mut of_a, &mut of_b].map(|run| run.fate_of(parting.arrival, end));
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
        "arrival": parting.arrival, "arrived_ns": parting.at.as_nanos() - parting.sojourn_ns,
        "at_ns": parting.at.as_nanos(), "flow": parting.flow, "bytes": parting.bytes, "ecn": parting.ecn,
        "a": a, "b": b,
    })
}

/// A packet that has left the first queue.
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

/// A run whose first queue is watched.
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

    /// What leaves the first queue up to `until`.
    fn advance(&mut self, until: Instant) -> Vec<DepartedPacket> {
        self.run.advance_until(until);
        let left = self.run.take_packets().map(|table| read(&table)).unwrap_or_default();
        self.departures.extend(&left);
        left
    }

    /// The first queue at an instant.
    fn snapshot(mut self, at: Instant) -> (Backlog, Value) {
        self.run.advance_until(at);
        let (backlog, mut variables) = (self.run.links()[0].backlog, Value::Object(Map::new()));
        self.run.queue(0, at, &mut |look| variables = state(look.observe));
        (backlog, variables)
    }

    /// What became of a packet until the end.
    fn fate_of(&mut self, arrival: u32, end: Instant) -> Option<DepartedPacket> {
        let mut until = self.run.now();
        loop {
            let found = self.departures.iter().find(|left| left.arrival == arrival).copied();
            if found.is_some() || until >= end {
                return found;
            }
            until = (until + PART).min(end);
            self.advance(until);
        }
    }
}

fn read(table: &Table) -> Vec<DepartedPacket> {
    let rows = TableRows(table);
    let number = |name: &str, row: usize| rows.number(name, row);
    let left = |row| DepartedPacket {
        at: Instant::from_nanos(number("time_ns", row)),
        arrival: number("arrival", row) as u32,
        flow: number("flow", row) as u32,
        bytes: number("bytes", row) as u32,
        fate: number("fate", row) as u8,
        sojourn_ns: number("sojourn_ns", row),
        ecn: number("ecn", row) as u8,
    };
    rows.of_first_queue().map(left).collect()
}

/// How far the two runs go at a time.
const PART: Duration = Duration::from_millis(100);
