//! Replays recorded arrivals through another queue on the same link, open-loop: senders do not react.

use crate::reply::{Reply, state};
use crate::request::RequestError;
use crate::rows::TableRows;
use crate::run::{EVENTS, WAITING, counted, parts};
use serde_json::{Map, Value, json};
use sojourn_aqm::replay::{Arrival, Fate, Replay, ReplayLink};
use sojourn_aqm::{Ecn, Host, Instant, Limits, Link, Meta, Qdisc, Rate, Rng};
use sojourn_sim::scenario::{AqmSpec, CellFraming, Framing, LinkSpec, Scenario, Service, UPTIME};
use sojourn_sim::{Column, LinkCounters, Simulation, Table, fate_of_drop};

/// Queue of a replay.
pub type Queue = dyn Qdisc<u32> + Send;

/// Arrivals at the first queue of a run.
#[derive(Clone)]
pub struct RecordedArrivals {
    /// Seed of the run, which also seeds the queues' random stream.
    pub seed: u64,
    /// Never freed: a session records once, and the page discards its memory.
    arrivals: &'static [Arrival],
    rate: Rate,
    mtu: u32,
    limits: Limits,
    end: Instant,
}

impl RecordedArrivals {
    /// Runs a scenario and records the arrivals at its first queue.
    ///
    /// # Errors
    /// If the first link cannot be replayed, or no packet arrives.
    pub fn of(scenario: &Scenario, seed: u64) -> Result<Self, RequestError> {
        let link = &scenario.link;
        let rate = match unsupported_feature(scenario) {
            Some(what) => {
                return Err(RequestError(format!("its link has {what}; only a link of constant rate can be replayed")));
            }
            None => link.service.nominal_rate(link.mtu),
        };
        let mut recorded = scenario.clone();
        recorded.probes.packets = true;
        let mut simulation = Simulation::new(&recorded, seed);
        let mut arrivals = Vec::new();
        let mut until = Instant::ZERO;
        loop {
            until += INTERVAL;
            let finished = simulation.advance_until(until);
            if let Some(packets) = simulation.take_packets() {
                read(&packets, true, &mut arrivals);
            }
            if finished {
                break;
            }
        }
        if let Some(waiting) = simulation.waiting() {
            read(&waiting, false, &mut arrivals);
        }
        arrivals.sort_by_key(|&(number, _)| number);
        if arrivals.is_empty() {
            return Err(RequestError("no packet reached the link; give a longer duration".into()));
        }
        let arrivals: Vec<Arrival> = arrivals.into_iter().map(|(_, arrival)| arrival).collect();
        let mtu = link.framing.accounted(link.mtu);
        let end = Instant::ZERO + scenario.duration;
        Ok(Self { seed, arrivals: arrivals.leak(), rate, mtu, limits: link.limits, end })
    }

    /// Number of packets.
    pub fn packets(&self) -> usize {
        self.arrivals.len()
    }

    /// The `i`-th arrival.
    pub fn arrival(&self, i: usize) -> &Arrival {
        &self.arrivals[i]
    }

    /// All arrivals.
    pub fn arrivals(&self) -> &'static [Arrival] {
        self.arrivals
    }

    /// Starts a replay through a queue with `aqm`, and with `limit` instead of the link's if given.
    ///
    /// # Errors
    /// If `aqm` or `limit` is invalid, or the AQM duplicates or damages packets.
    pub fn replay(&self, aqm: &str, limit: Option<&str>) -> Result<Replay<'static, Queue>, RequestError> {
        let spec = match aqm.trim_start().starts_with('{') {
            true => {
                let table = serde_json::from_str(aqm).map_err(|wrong| RequestError(format!("aqm: {wrong}")))?;
                AqmSpec::read(&table)
            }
            false => AqmSpec::parse(aqm),
        };
        let spec = spec.map_err(|wrong| RequestError(format!("aqm: {wrong}")))?;
        let effects = spec.config.effects();
        if effects.duplicates || effects.damages {
            return Err(RequestError("aqm: a replay cannot duplicate or corrupt packets; leave that out".into()));
        }
        let limits = match limit {
            None => self.limits,
            Some(text) => Limits::parse(text).map_err(|wrong| RequestError(format!("limit: {}", wrong.0)))?,
        };
        let link = Link { uptime: UPTIME, ..Link::new(self.rate, self.mtu) };
        let host = Host { link, rng: Rng::stream(self.seed, "queue", 0) };
        Ok(Replay::new(self.arrivals, spec.queue(limits, host), ReplayLink::simulator(self.rate)))
    }
}

/// A replay of arrivals through a queue.
pub struct ArrivalReplay {
    arrived: RecordedArrivals,
    replay: Replay<'static, Queue>,
    now: Instant,
    counters: LinkCounters,
    /// Lower bound of the queued packets' indices.
    oldest: usize,
    /// Packets sent or dropped since the last view.
    events: Vec<u32>,
}

impl ArrivalReplay {
    /// Wraps a replay that has not started.
    pub fn new(arrived: RecordedArrivals, replay: Replay<'static, Queue>) -> Self {
        let counters = LinkCounters::default();
        Self { arrived, replay, now: Instant::ZERO, counters, oldest: 0, events: Vec::new() }
    }

    /// Advances to `until`, inclusive; returns the time and whether the replay has ended.
    pub fn advance(&mut self, until: Instant) -> (Instant, bool) {
        let until = until.min(self.arrived.end);
        while self.replay.next_at().is_some_and(|at| at <= until) {
            self.step_packet();
        }
        self.now = self.now.max(until);
        (self.now, self.now == self.arrived.end)
    }

    /// Advances to the next event of the queue; returns the time and whether the replay has ended.
    pub fn step(&mut self) -> (Instant, bool) {
        let happened = |counters: &LinkCounters| counters.arrived + counters.sent + counters.dropped();
        let before = happened(&self.counters);
        while happened(&self.counters) == before {
            match self.replay.next_at() {
                Some(next) if next <= self.arrived.end => drop(self.advance(next)),
                _ => return self.advance(self.arrived.end),
            }
        }
        (self.now, self.now == self.arrived.end)
    }

    /// The queue's state, its packets, and the events since the last view.
    pub fn view(&mut self) -> Reply {
        let mut reply = Reply::default();
        self.replay.queue().settle(self.now);
        self.counters.backlog = self.replay.queue().backlog();
        let mut link = counted(&self.counters);
        let queue = &*self.replay.queue();
        link.insert("state".into(), state(&|see| queue.observe(see)));
        link.insert("parts".into(), parts(&|see| queue.subqueues(see)));
        let waiting = self.waiting();
        link.insert("waiting".into(), reply.table(waiting, None));
        let events = self.take_events();
        reply.value = json!({
            "now_ns": self.now.as_nanos(), "finished": self.now == self.arrived.end, "links": [link], "flows": null,
            "events": reply.table(events, None),
        });
        reply
    }

    /// Runs to the end.
    pub fn finish(&mut self) -> Value {
        self.advance(self.arrived.end);
        json!({ "fingerprint": null, "summary": null, "tables": Map::new() })
    }

    fn step_packet(&mut self) {
        self.replay.step();
        self.counters.arrived = self.replay.arrived() as u64;
        for &packet in self.replay.decided() {
            let Arrival { at: arrived_at, meta } = self.arrived.arrivals[packet as usize];
            match self.replay.fates()[packet as usize] {
                Fate::Sent { at, marked } => {
                    self.counters.sent += 1;
                    self.counters.bytes += u64::from(meta.len);
                    self.counters.marked += u64::from(marked);
                    self.counters.sojourn_ns += (at - arrived_at).as_nanos() as u128;
                }
                Fate::Dropped { reason, .. } => self.counters.dropped_by[reason as usize] += 1,
                Fate::Waiting => unreachable!("the verdict is recorded"),
            }
            self.events.push(packet);
        }
    }

    fn waiting(&mut self) -> Table {
        let (fates, arrived) = (self.replay.fates(), self.replay.arrived());
        let waits = |&i: &usize| fates[i] == Fate::Waiting;
        self.oldest = (self.oldest..arrived).find(waits).unwrap_or(arrived);
        let packets: Vec<usize> = (self.oldest..arrived).filter(waits).collect();
        let of = |i: &usize| self.arrived.arrivals[*i];
        let columns = [
            Column::U64(packets.iter().map(|i| of(i).at.as_nanos()).collect()),
            Column::U32(packets.iter().map(|i| of(i).meta.flow).collect()),
            Column::U32(packets.iter().map(|i| of(i).meta.len).collect()),
            Column::U32(packets.iter().map(|&i| i as u32).collect()),
            Column::U8(packets.iter().map(|i| of(i).meta.ecn as u8).collect()),
        ];
        Table { name: "waiting", columns: WAITING.iter().map(|name| name.to_string()).zip(columns).collect() }
    }

    fn take_events(&mut self) -> Table {
        let events = std::mem::take(&mut self.events);
        let arrival = |i: &u32| self.arrived.arrivals[*i as usize];
        let fates = self.replay.fates();
        let decided = |i: &u32| fates[*i as usize].at().expect("the verdict is recorded");
        let fate = |i: &u32| match fates[*i as usize] {
            Fate::Sent { marked, .. } => u8::from(marked),
            Fate::Dropped { reason, .. } => fate_of_drop(reason),
            Fate::Waiting => unreachable!("the verdict is recorded"),
        };
        let columns = [
            Column::U64(events.iter().map(|i| decided(i).as_nanos()).collect()),
            Column::U16(vec![0; events.len()]),
            Column::U32(events.iter().map(|i| arrival(i).meta.flow).collect()),
            Column::U32(events.iter().map(|i| arrival(i).meta.len).collect()),
            Column::U64(events.iter().map(|i| (decided(i) - arrival(i).at).as_nanos() as u64).collect()),
            Column::U8(events.iter().map(fate).collect()),
            Column::U32(events.clone()),
            Column::U8(events.iter().map(|i| arrival(i).meta.ecn as u8).collect()),
        ];
        Table { name: "packets", columns: EVENTS.iter().map(|name| name.to_string()).zip(columns).collect() }
    }
}

/// A feature of the first link that a replay lacks; it serves the queued bytes at a constant rate.
fn unsupported_feature(scenario: &Scenario) -> Option<&'static str> {
    let LinkSpec { service, framing, below, changes, .. } = &scenario.link;
    let plain = Framing { layer: CellFraming::Plain, overhead: framing.overhead, mpu: 0, adjusted: true };
    [
        ("a rate that is not constant", !matches!(service, Service::Rate(_))),
        ("a buffer below its queue", below.is_some()),
        ("a framing of its own", *framing != plain),
        ("changes", !changes.is_empty()),
    ]
    .into_iter()
    .find_map(|(what, is_so)| is_so.then_some(what))
}

/// Reads the packets of the first queue, with their arrival numbers, from a table. If they are `decided`, the table has
/// the time of the verdict and the sojourn time instead of the arrival time.
fn read(table: &Table, decided: bool, into: &mut Vec<(u32, Arrival)>) {
    let rows = TableRows(table);
    let number = |name: &str, row: usize| rows.number(name, row);
    for row in rows.of_first_queue() {
        let waited = if decided { number("sojourn_ns", row) } else { 0 };
        let meta = Meta::new(number("bytes", row) as u32, number("flow", row) as u32);
        let hosts = (number("from_host", row) as u32, number("to_host", row) as u32);
        let meta = Meta { hosts, ..meta.with_ecn(Ecn::ALL[number("ecn", row) as usize]) };
        let at = Instant::from_nanos(number("time_ns", row) - waited);
        into.push((number("arrival", row) as u32, Arrival { at, meta }));
    }
}

/// Simulated time between collections of the recorded packets.
const INTERVAL: sojourn_aqm::Duration = sojourn_aqm::Duration::from_secs(1);
