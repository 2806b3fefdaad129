//! A run: the loop that takes the earliest event and lets its component act.

use crate::histogram::Histogram;
use crate::link::Link;
use crate::network::{Component, LINKS, Network};
use crate::packet::Handle;
use crate::probe::{EveryPacket, Probe};
use crate::sampler::Samplers;
use crate::scenario::{Direction, FlowSpec, Scenario};
use crate::summary::{FlowSummary, LinkSummary, Links, Summary, jain};
use crate::table::{Table, recorder};
use crate::traffic::{AnyFlow, Endpoints, Port, Status};
use sojourn_aqm::{Duration, Instant};

/// A run of a scenario with one seed.
pub struct Simulation(Engine);

/// What a run gives.
#[derive(Clone, Debug)]
pub struct Output {
    /// The run in numbers.
    pub summary: Summary,
    /// What was recorded; `sojourn_histogram` always.
    pub tables: Vec<Table>,
}

/// With a probe of every packet or without: the hooks of the latter compile to nothing.
enum Engine {
    Plain(Box<Run<()>>),
    EveryPacket(Box<Run<EveryPacket>>),
}

impl Simulation {
    /// The run of `scenario` with `seed`, before its first event.
    pub fn new(scenario: &Scenario, seed: u64) -> Self {
        Self(match scenario.probes.packets {
            false => Engine::Plain(Box::new(Run::new(scenario, seed))),
            true => Engine::EveryPacket(Box::new(Run::new(scenario, seed))),
        })
    }

    /// Processes up to `events` events. Returns whether the run is finished.
    pub fn advance(&mut self, events: u64) -> bool {
        match &mut self.0 {
            Engine::Plain(run) => run.advance(events),
            Engine::EveryPacket(run) => run.advance(events),
        }
    }

    /// The time of the last event.
    pub fn now(&self) -> Instant {
        match &self.0 {
            Engine::Plain(run) => run.now,
            Engine::EveryPacket(run) => run.now,
        }
    }

    /// Runs to the end and reports.
    pub fn finish(mut self) -> Output {
        while !self.advance(u64::MAX) {}
        match self.0 {
            Engine::Plain(run) => run.report(),
            Engine::EveryPacket(run) => run.report(),
        }
    }
}

struct Run<P> {
    now: Instant,
    end: Instant,
    warmup: Instant,
    events: u64,
    network: Network<P>,
    flows: Vec<AnyFlow>,
    forward: Vec<bool>,
    /// Each flow when the statistics began.
    at_warmup: Vec<Status>,
    samplers: Samplers,
}

impl<P: Probe> Run<P> {
    fn new(scenario: &Scenario, seed: u64) -> Self {
        let specs: Vec<(u32, &FlowSpec)> = (0..)
            .zip(&scenario.flows)
            .flat_map(|(group, spec)| std::iter::repeat_n((group, spec), spec.count as usize))
            .collect();
        let (warmup, end) = (Instant::ZERO + scenario.warmup, Instant::ZERO + scenario.duration);
        let links = [&scenario.link, &scenario.reverse];
        let link = |i: usize| Link::new(links[i], i, seed, warmup, end);
        // One slot more than there are samplers: the start of the statistics.
        let network = Network::new([link(0), link(1)], &specs, Samplers::COUNT + 1);
        let flows: Vec<_> = specs.iter().enumerate().map(|(i, (_, spec))| AnyFlow::new(spec, i as u32, seed)).collect();
        let samplers = Samplers::new(&scenario.probes, flows.len());
        let mut run = Self {
            now: Instant::ZERO,
            end,
            warmup,
            events: 0,
            network,
            forward: specs.iter().map(|(_, spec)| spec.direction == Direction::Forward).collect(),
            at_warmup: vec![Status::default(); flows.len()],
            flows,
            samplers,
        };
        run.schedule_first();
        run
    }

    fn schedule_first(&mut self) {
        let layout = self.network.layout;
        for (i, flow) in self.flows.iter().enumerate() {
            self.network.events.set(layout.slot(Component::Source(i as u32)), flow.source_deadline());
        }
        for i in 0..Samplers::COUNT {
            self.network.events.set(layout.slot(Component::Sampler(i)), self.samplers.first(i));
        }
        if self.warmup > Instant::ZERO {
            self.network.events.set(layout.slot(Component::Sampler(Samplers::COUNT)), self.warmup);
        }
    }

    fn advance(&mut self, events: u64) -> bool {
        for _ in 0..events {
            let (at, slot) = self.network.events.first();
            if at > self.end {
                self.now = self.end;
                return true;
            }
            debug_assert!(at >= self.now, "{:?} at {at:?}, after {:?}", self.network.layout.component(slot), self.now);
            self.now = at;
            self.events += 1;
            self.handle(self.network.layout.component(slot));
        }
        false
    }

    #[inline]
    fn handle(&mut self, component: Component) {
        let now = self.now;
        match component {
            Component::Server(link) => self.network.on_server(now, link),
            Component::Pipe(link) => {
                let handle = self.network.on_pipe(link);
                self.deliver(handle);
            }
            Component::Exit(link) => {
                let handle = self.network.on_exit(link);
                self.deliver(handle);
            }
            Component::Entry(link) => self.network.on_entry(now, link),
            Component::Up(flow) => self.network.on_up(now, flow),
            Component::Down(flow) => {
                let handle = self.network.on_down(flow);
                self.deliver(handle);
            }
            Component::Source(flow) => {
                let mut wire = Port { network: &mut self.network, now, flow, from_source: true };
                self.flows[flow as usize].on_source_timer(now, &mut wire);
                let deadline = self.flows[flow as usize].source_deadline();
                self.network.events.set(self.network.layout.slot(component), deadline);
            }
            Component::Sink(flow) => {
                let mut wire = Port { network: &mut self.network, now, flow, from_source: false };
                self.flows[flow as usize].on_sink_timer(now, &mut wire);
                let deadline = self.flows[flow as usize].sink_deadline();
                self.network.events.set(self.network.layout.slot(component), deadline);
            }
            Component::Sampler(i) if i == Samplers::COUNT => {
                self.at_warmup = self.flows.iter().map(Endpoints::status).collect();
                self.network.events.set(self.network.layout.slot(component), Instant::NEVER);
            }
            Component::Sampler(i) => {
                let next = self.samplers.sample(i, now, &mut self.network, &self.flows);
                self.network.events.set(self.network.layout.slot(component), next);
            }
        }
    }

    /// A packet is at the end of its way.
    #[inline]
    fn deliver(&mut self, handle: Handle) {
        let now = self.now;
        let (header, packet) = (*self.network.packets.header(handle), *self.network.packets.packet(handle));
        self.network.packets.remove(handle);
        let flow = packet.flow;
        let ends = &mut self.flows[flow as usize];
        let mut wire = Port { network: &mut self.network, now, flow, from_source: !packet.to_sink };
        let (timer, deadline) = if packet.to_sink {
            ends.on_sink_packet(now, &header, packet, &mut wire);
            (Component::Sink(flow), ends.sink_deadline())
        } else {
            ends.on_source_packet(now, &header, &mut wire);
            (Component::Source(flow), ends.source_deadline())
        };
        self.arm(timer, deadline);
    }

    /// Arms a timer for an earlier deadline. A later one is left: the timer fires early, finds that nothing is
    /// due and is armed again, which costs less than moving it with every acknowledgment.
    #[inline]
    fn arm(&mut self, timer: Component, deadline: Instant) {
        let slot = self.network.layout.slot(timer);
        if deadline < self.network.events.at(slot) {
            self.network.events.set(slot, deadline);
        }
    }

    fn report(self) -> Output {
        let window = self.end - self.warmup;
        let mut flows = Vec::with_capacity(self.flows.len());
        for (i, flow) in self.flows.iter().enumerate() {
            flows.push(self.flow_summary(i, flow, window));
        }
        let goodputs: Vec<f64> =
            flows.iter().zip(&self.forward).filter(|&(_, &forward)| forward).map(|(f, _)| f.goodput_bps).collect();
        let (links, histogram) = report_links(self.network.links);
        let summary = Summary {
            duration_s: (self.end - Instant::ZERO).as_secs_f64(),
            warmup_s: (self.warmup - Instant::ZERO).as_secs_f64(),
            events: self.events,
            fingerprint: format!("{:016x}", self.network.fingerprint.finish()),
            goodput_bps: goodputs.iter().sum(),
            jain: jain(&goodputs),
            links,
            flows,
        };
        let mut tables = vec![histogram];
        tables.extend(self.network.probe.tables());
        tables.extend(self.samplers.into_tables());
        Output { summary, tables }
    }

    fn flow_summary(&self, i: usize, flow: &AnyFlow, window: Duration) -> FlowSummary {
        let status = flow.status();
        let bytes = status.delivered - self.at_warmup[i].delivered;
        FlowSummary {
            id: i as u32,
            kind: flow.kind(),
            direction: if self.forward[i] { "forward" } else { "reverse" },
            goodput_bps: bytes as f64 * 8.0 / window.as_secs_f64(),
            bytes,
            sent: status.sent,
            retransmissions: status.retransmissions,
            timeouts: status.timeouts,
        }
    }
}

recorder! {
    SojournHistogram("sojourn_histogram") {
        link: u8 => U8,
        lower_ns: u64 => U64,
        upper_ns: u64 => U64,
        count: u64 => U64,
    }
}

fn report_links(links: [Link; LINKS]) -> (Links, Table) {
    let mut table = SojournHistogram::default();
    let mut report = |l: usize, mut link: Link| -> LinkSummary {
        let usable = link.usable_in_window();
        let (summary, sojourn): (LinkSummary, Histogram) = link.tally.report(usable);
        sojourn.buckets().for_each(|(lower, upper, count)| table.push(l as u8, lower, upper, count));
        summary
    };
    let [forward, reverse] = links;
    let links = Links { forward: report(0, forward), reverse: report(1, reverse) };
    (links, table.into_table())
}
