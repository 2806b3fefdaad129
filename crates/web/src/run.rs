//! A run of the simulator that can be paused, and its views.

use crate::reply::{Reply, state};
use serde_json::{Map, Value, json};
use sojourn_aqm::Instant;
use sojourn_sim::scenario::Scenario;
use sojourn_sim::{Column, FlowCounters, LinkCounters, Output, Simulation, SubqueueVisitor, Table};

/// A run in progress.
pub struct ActiveRun {
    simulation: Simulation,
    /// Time up to which all events have run.
    now: Instant,
    end: Instant,
    finished: bool,
}

impl ActiveRun {
    /// Creates a run, before its first event.
    pub fn new(scenario: &Scenario, seed: u64) -> Self {
        let end = Instant::ZERO + scenario.duration;
        Self { simulation: Simulation::new(scenario, seed), now: Instant::ZERO, end, finished: false }
    }

    /// Advances to `until`, inclusive; returns the time and whether the run has ended.
    pub fn advance(&mut self, until: Instant) -> (Instant, bool) {
        let until = until.min(self.end);
        if until >= self.now {
            self.finished = self.simulation.advance_until(until) || until == self.end;
            self.now = until;
        }
        (self.now, self.finished)
    }

    /// Advances to the next event of the queue of `link`, or of any queue; returns the time and whether the run has
    /// ended.
    pub fn step(&mut self, link: Option<usize>) -> (Instant, bool) {
        let before = self.events(link);
        while self.events(link) == before {
            match self.simulation.due() {
                Some(next) => drop(self.advance(next)),
                None => return self.advance(self.end),
            }
        }
        (self.now, self.finished)
    }

    /// State of all queues and flows, and the events since the last view.
    pub fn view(&mut self) -> Reply {
        let mut reply = Reply::default();
        let waiting = QueuedPackets::of(self.simulation.waiting());
        let links: Vec<Value> = self
            .simulation
            .links()
            .iter()
            .enumerate()
            .map(|(number, counters)| {
                let mut link = counted(counters);
                self.simulation.queue(number, self.now, &mut |look| {
                    link.insert("state".into(), state(look.observe));
                    link.insert("parts".into(), parts(look.subqueues));
                });
                link.insert("waiting".into(), waiting.at(number as u16, &mut reply));
                Value::Object(link)
            })
            .collect();
        let flows = flows(&self.simulation.flows(), &mut reply);
        let events = match self.simulation.take_packets() {
            Some(packets) => reply.table(packets, Some(EVENTS)),
            None => Value::Null,
        };
        reply.value = json!({
            "now_ns": self.now.as_nanos(), "finished": self.finished,
            "links": links, "flows": flows, "events": events,
        });
        reply
    }

    /// Runs to the end.
    pub fn finish(self) -> Reply {
        let Output { summary, tables } = self.simulation.finish();
        let mut reply = Reply::default();
        let tables = tables.into_iter().map(|table| (table.name.to_string(), reply.table(table, None)));
        let tables: Map<String, Value> = tables.collect();
        reply.value = json!({ "fingerprint": summary.fingerprint, "summary": summary, "tables": tables });
        reply
    }

    /// Number of queue events so far.
    fn events(&self, link: Option<usize>) -> u64 {
        let of = |counters: &LinkCounters| counters.arrived + counters.sent + counters.dropped();
        let links = self.simulation.links();
        link.map_or_else(|| links.iter().map(of).sum(), |link| links.get(link).map_or(0, of))
    }
}

/// A queue's counters.
pub(crate) fn counted(counters: &LinkCounters) -> Map<String, Value> {
    let Value::Object(counted) = json!({
        "backlog_packets": counters.backlog.packets,
        "backlog_bytes": counters.backlog.bytes,
        "arrived": counters.arrived,
        "dropped_by": counters.dropped_by,
        "marked": counters.marked,
        "sent": counters.sent,
        "sent_bytes": counters.bytes,
        "sojourn_ns": counters.sojourn_ns as f64,
        "lost": counters.lost,
    }) else {
        unreachable!("it is written as an object")
    };
    counted
}

/// Subqueues of a qdisc.
pub(crate) fn parts(show: &SubqueueVisitor<'_>) -> Value {
    let mut parts = Vec::new();
    show(&mut |part| {
        parts.push(json!({
            "kind": part.kind,
            "number": part.number,
            "list": part.list,
            "packets": part.backlog.packets,
            "bytes": part.backlog.bytes,
            "deficit": part.deficit,
            "flow": part.head.map(|head| head.flow),
            "state": state(part.observe),
        }));
    });
    parts.into()
}

fn flows(flows: &[FlowCounters], reply: &mut Reply) -> Value {
    let mut column = |of: fn(&FlowCounters) -> f64| reply.column(Column::F64(flows.iter().map(of).collect()));
    json!({
        "arrived_bytes": column(|flow| flow.arrived_bytes as f64),
        "delivered_bytes": column(|flow| flow.delivered_bytes as f64),
        "sent": column(|flow| flow.sent as f64),
        "retransmissions": column(|flow| flow.retransmissions as f64),
        "timeouts": column(|flow| flow.timeouts as f64),
        "cwnd": column(|flow| flow.cwnd),
        "srtt_ms": column(|flow| flow.srtt_ms),
        "in_flight": column(|flow| flow.in_flight.into()),
    })
}

/// Packets in all queues.
pub(crate) struct QueuedPackets(Option<Table>);

impl QueuedPackets {
    /// Wraps the table `waiting`, with rows in order of links.
    pub fn of(table: Option<Table>) -> Self {
        Self(table)
    }

    /// The packets in a link's queue.
    fn at(&self, link: u16, reply: &mut Reply) -> Value {
        let Some(table) = &self.0 else { return Value::Null };
        let links = table.columns.iter().find_map(|(name, column)| match column {
            Column::U16(links) if name == "link" => Some(links),
            _ => None,
        });
        let links = links.expect("the table has a link column");
        let rows = links.partition_point(|&other| other < link)..links.partition_point(|&other| other <= link);
        let columns = table.columns.iter().filter(|(name, _)| WAITING.contains(&name.as_str()));
        Value::Object(columns.map(|(name, column)| (name.clone(), reply.column(column.part(rows.clone())))).collect())
    }
}

/// Columns of `waiting` in a view.
pub(crate) const WAITING: &[&str] = &["time_ns", "flow", "bytes", "arrival", "ecn"];
/// Columns of `packets` in a view.
pub(crate) const EVENTS: &[&str] = &["time_ns", "link", "flow", "bytes", "sojourn_ns", "fate", "arrival", "ecn"];
