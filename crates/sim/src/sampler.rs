//! Samplers: records at regular times. They only read.

use crate::link::MeteredQueue;
use crate::scenario::Probes;
use crate::status::Payload;
use crate::table::{Column, Table, recorder};
use crate::tally::Tally;
use crate::traffic::AnyFlow;
use sojourn_aqm::{Backlog, Duration, Instant};

/// All samplers of a run, by the index of their slot.
pub(crate) struct Samplers {
    steps: [Option<Duration>; Self::COUNT],
    queue: Queue,
    flows: Flows,
    utilisation: Utilisation,
    state: State,
    /// Payload of each flow at the last sample.
    payload: Vec<Payload>,
    /// Per link at the last sample: bytes, capacity used, capacity available.
    totals: Vec<(u64, u64, u64)>,
}

recorder! {
    Queue("queue") {
        time_ns: u64 => U64,
        link: u16 => U16,
        packets: u32 => U32,
        bytes: u64 => U64,
        last_sojourn_ns: u64 => U64,
    }
}

recorder! {
    Flows("flows") {
        time_ns: u64 => U64,
        flow: u32 => U32,
        cwnd: f64 => F64,
        ssthresh: f64 => F64,
        srtt_ms: f64 => F64,
        in_flight: u32 => U32,
        goodput_bps: f64 => F64,
        delivered_bps: f64 => F64,
    }
}

recorder! {
    Utilisation("utilisation") {
        time_ns: u64 => U64,
        link: u16 => U16,
        bytes: u64 => U64,
        utilisation: f64 => F64,
    }
}

/// State variables: one column each, in order of first appearance.
#[derive(Default)]
struct State {
    time_ns: Vec<u64>,
    link: Vec<u16>,
    columns: Vec<(&'static str, Vec<f64>)>,
}

impl Samplers {
    /// Bytes per row of `queue`, `flows`, `state` (with `variables` columns) and `utilisation`.
    pub const fn row_bytes(variables: u64) -> [u64; Self::COUNT] {
        let state = (size_of::<u64>() + size_of::<u8>()) as u64 + variables * size_of::<f64>() as u64;
        [Queue::ROW_BYTES, Flows::ROW_BYTES, state, Utilisation::ROW_BYTES]
    }

    /// Number of samplers: queue, flows, state, utilisation.
    pub const COUNT: usize = 4;

    pub fn new(probes: &Probes, links: usize, flows: usize) -> Self {
        Self {
            steps: [probes.queue, probes.flows, probes.state, probes.utilisation],
            queue: Queue::default(),
            flows: Flows::default(),
            utilisation: Utilisation::default(),
            state: State::default(),
            payload: vec![Payload::default(); flows],
            totals: vec![(0, 0, 0); links],
        }
    }

    /// Time of the first sample of sampler `i`: after one step.
    pub fn first(&self, i: usize) -> Instant {
        self.steps[i].map_or(Instant::NEVER, |step| Instant::ZERO + step)
    }

    /// Takes a sample with sampler `i` and returns when the next is due.
    pub fn sample<'a>(
        &mut self,
        i: usize,
        now: Instant,
        links: impl Iterator<Item = &'a mut dyn MeteredQueue>,
        flows: impl Iterator<Item = &'a AnyFlow>,
    ) -> Instant {
        let step = self.steps[i].expect("only samplers with a step have events");
        match i {
            0 => self.sample_queues(now, links),
            1 => self.sample_flows(now, step, flows),
            2 => self.sample_state(now, links),
            _ => self.sample_utilisation(now, links),
        }
        now + step
    }

    /// Moves the samples of tables that have at least `min_rows` into `taken`.
    pub fn take(&mut self, min_rows: usize, taken: &mut Vec<Table>) {
        let Self { queue, flows, state, utilisation, .. } = self;
        taken.extend(
            [queue.take(min_rows), flows.take(min_rows), state.take(min_rows), utilisation.take(min_rows)]
                .into_iter()
                .flatten(),
        );
    }

    pub fn into_tables(self) -> Vec<Table> {
        let tables =
            [self.queue.into_table(), self.flows.into_table(), self.state.into_table(), self.utilisation.into_table()];
        tables.into_iter().zip(self.steps).filter(|(_, step)| step.is_some()).map(|(table, _)| table).collect()
    }

    fn sample_queues<'a>(&mut self, now: Instant, links: impl Iterator<Item = &'a mut dyn MeteredQueue>) {
        for (l, link) in links.enumerate() {
            let backlog = link.backlog();
            self.queue.sample(now, l, link.tally(), backlog);
        }
    }

    fn sample_flows<'a>(&mut self, now: Instant, step: Duration, flows: impl Iterator<Item = &'a AnyFlow>) {
        for (i, flow) in flows.enumerate() {
            let s = flow.status();
            let since = s.payload.since(&self.payload[i]);
            self.payload[i] = s.payload;
            let rate = |bytes: u64| bytes as f64 * 8.0 / step.as_secs_f64();
            let (goodput, delivered) = (rate(since.arrived), rate(since.delivered));
            self.flows.push(now.as_nanos(), i as u32, s.cwnd, s.ssthresh, s.srtt_ms, s.in_flight, goodput, delivered);
        }
    }

    fn sample_state<'a>(&mut self, now: Instant, links: impl Iterator<Item = &'a mut dyn MeteredQueue>) {
        for (l, link) in links.enumerate() {
            link.qdisc_mut().settle(now);
            self.state.begin_row(now, l as u16);
            link.qdisc().observe(&mut |name, value| self.state.set(name, value));
        }
    }

    fn sample_utilisation<'a>(&mut self, now: Instant, links: impl Iterator<Item = &'a mut dyn MeteredQueue>) {
        for (l, link) in links.enumerate() {
            self.totals[l] = self.utilisation.sample(now, l, link, self.totals[l]);
        }
    }
}

impl Queue {
    /// Takes a sample of link `l` with its `tally` and its queue's backlog.
    pub fn sample(&mut self, now: Instant, l: usize, tally: &Tally, Backlog { packets, bytes }: Backlog) {
        self.push(now.as_nanos(), l as u16, packets, bytes, tally.last_sojourn().as_nanos() as u64);
    }
}

impl Utilisation {
    /// Takes a sample of link `l`. `before` is the result of the previous sample: bytes, capacity used, capacity
    /// available.
    pub fn sample(
        &mut self,
        now: Instant,
        l: usize,
        link: &mut dyn MeteredQueue,
        before: (u64, u64, u64),
    ) -> (u64, u64, u64) {
        let bytes = link.tally().total_bytes;
        let (used, usable) = link.used_and_usable(now);
        let (used_now, usable_now) = (used - before.1, usable - before.2);
        let utilisation = if usable_now > 0 { used_now as f64 / usable_now as f64 } else { 0.0 };
        self.push(now.as_nanos(), l as u16, bytes - before.0, utilisation);
        (bytes, used, usable)
    }
}

impl State {
    fn begin_row(&mut self, now: Instant, link: u16) {
        self.time_ns.push(now.as_nanos());
        self.link.push(link);
        self.columns.iter_mut().for_each(|(_, column)| column.push(f64::NAN));
    }

    fn set(&mut self, name: &'static str, value: f64) {
        let rows = self.time_ns.len();
        let i = self.columns.iter().position(|(n, _)| *n == name).unwrap_or_else(|| {
            self.columns.push((name, vec![f64::NAN; rows]));
            self.columns.len() - 1
        });
        self.columns[i].1[rows - 1] = value;
    }

    /// Takes the rows if there are at least `min_rows`; the columns stay.
    fn take(&mut self, min_rows: usize) -> Option<Table> {
        let columns = self.columns.iter().map(|(name, _)| (*name, Vec::new())).collect();
        (self.time_ns.len() >= min_rows)
            .then(|| std::mem::replace(self, Self { columns, ..Self::default() }).into_table())
    }

    fn into_table(self) -> Table {
        let mut columns =
            vec![("time_ns".to_string(), Column::U64(self.time_ns)), ("link".to_string(), Column::U16(self.link))];
        columns.extend(self.columns.into_iter().map(|(name, values)| (name.to_string(), Column::F64(values))));
        Table { name: "state", columns }
    }
}
