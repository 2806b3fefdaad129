//! A run: the loop that takes the earliest event and lets its component act.

use crate::flows::{FORWARD, Flows, Whole};
use crate::link::Link;
use crate::network::{AirOf, Component, LinkList, Network};
use crate::probe::{EveryPacket, InACell, InARow, Probe};
use crate::sampler::Samplers;
use crate::scenario::Scenario;
use crate::summary::{Counts, HopSummary, LinkSummary, Links, Summary};
use crate::table::{Table, recorder};
use crate::traffic::Ledger;
use crate::warmup::Statistics;
use crate::window::Part;
use crate::windows::windows;
use crate::wlan::Air;
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

/// With a probe of every packet or without, on a dumbbell, a row of bottlenecks or a wireless LAN: hooks that nobody
/// needs compile to nothing, and two links to an array.
enum Engine {
    Plain(Box<Run<()>>),
    EveryPacket(Box<Run<EveryPacket>>),
    Row(Box<Run<InARow<()>>>),
    RowEveryPacket(Box<Run<InARow<EveryPacket>>>),
    Cell(Box<Run<InACell<()>>>),
    CellEveryPacket(Box<Run<InACell<EveryPacket>>>),
}

macro_rules! with {
    ($engine:expr, $run:ident => $do:expr) => {
        match $engine {
            Engine::Plain($run) => $do,
            Engine::EveryPacket($run) => $do,
            Engine::Row($run) => $do,
            Engine::RowEveryPacket($run) => $do,
            Engine::Cell($run) => $do,
            Engine::CellEveryPacket($run) => $do,
        }
    };
}

impl Simulation {
    /// The run of `scenario` with `seed`, before its first event.
    pub fn new(scenario: &Scenario, seed: u64) -> Self {
        let in_a_cell = scenario.wlan.is_some();
        Self(match (scenario.links.is_empty(), scenario.probes.packets) {
            (_, false) if in_a_cell => Engine::Cell(Box::new(Run::new(scenario, seed))),
            (_, true) if in_a_cell => Engine::CellEveryPacket(Box::new(Run::new(scenario, seed))),
            (true, false) => Engine::Plain(Box::new(Run::new(scenario, seed))),
            (true, true) => Engine::EveryPacket(Box::new(Run::new(scenario, seed))),
            (false, false) => Engine::Row(Box::new(Run::new(scenario, seed))),
            (false, true) => Engine::RowEveryPacket(Box::new(Run::new(scenario, seed))),
        })
    }

    /// Processes up to `events` events. Returns whether the run is finished.
    pub fn advance(&mut self, events: u64) -> bool {
        with!(&mut self.0, run => run.advance(events))
    }

    /// The time of the last event.
    pub fn now(&self) -> Instant {
        with!(&self.0, run => run.now)
    }

    /// Runs to the end and reports.
    pub fn finish(mut self) -> Output {
        while !self.advance(u64::MAX) {}
        with!(self.0, run => run.report())
    }
}

struct Run<P: Probe> {
    /// Of the hops behind the first one.
    names: Vec<String>,
    now: Instant,
    end: Instant,
    statistics: Statistics,
    events: u64,
    /// Events that only look when the statistics begin.
    looks: u64,
    network: Network<P>,
    flows: Flows,
    samplers: Samplers,
}

impl<P: Probe> Run<P> {
    fn new(scenario: &Scenario, seed: u64) -> Self {
        let statistics = Statistics::of(scenario);
        let window = statistics.window();
        let links = scenario.queues().enumerate().map(|(i, spec)| Link::new(spec, i, seed, window));
        let mut links: Vec<Link> = links.collect();
        let air = AirOf::<P>::new(scenario, seed, &mut links);
        // One slot more than there are samplers: for when the statistics begin.
        let layout = Flows::layout(scenario, Samplers::COUNT + 1);
        let ledger = Ledger::new(scenario.flows.len(), window, scenario.probes.transfers);
        let mut network: Network<P> = Network::new(P::Links::of(links), layout, ledger, P::new(&scenario.probes), air);
        let flows = Flows::new(scenario, seed, &mut network);
        let samplers = Samplers::new(&scenario.probes, network.links.as_slice().len(), flows.fixed().len());
        for i in 0..Samplers::COUNT {
            network.events.set(layout.slot(Component::Sampler(i)), samplers.first(i));
        }
        network.events.set(layout.slot(Component::Sampler(Samplers::COUNT)), next_look(&statistics, 1));
        if AirOf::<P>::PRESENT {
            network.expect_channel();
        }
        let names = scenario.links.iter().map(|hop| hop.name.clone()).collect();
        let end = window.end;
        Self { names, now: Instant::ZERO, end, statistics, events: 0, looks: 0, network, flows, samplers }
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

    #[inline(always)]
    fn handle(&mut self, component: Component) {
        let now = self.now;
        match component {
            Component::Server(link) => {
                self.network.on_server(now, link);
                self.flows.resume(now, &mut self.network);
            }
            Component::Pipe(link) => {
                if let Some(handle) = self.network.on_pipe(now, link) {
                    self.flows.deliver(now, handle, &mut self.network);
                }
            }
            Component::Exit(link) => {
                let handle = self.network.on_exit(link);
                self.flows.deliver(now, handle, &mut self.network);
            }
            Component::Entry(link) => self.network.on_entry(now, link),
            Component::Up(slot) => self.network.on_up(now, slot),
            Component::Down(slot) => {
                let handle = self.network.on_down(slot);
                self.flows.deliver(now, handle, &mut self.network);
            }
            Component::Source(slot) => self.flows.on_source_timer(now, slot, &mut self.network),
            Component::Sink(slot) => self.flows.on_sink_timer(now, slot, &mut self.network),
            Component::Generator(i) => self.flows.on_generator(now, i, &mut self.network),
            Component::Sampler(i) if i == Samplers::COUNT => {
                let next = self.look(now);
                self.network.events.set(self.network.layout.slot(component), next);
            }
            Component::Channel => {
                self.network.on_channel(now);
                self.flows.resume(now, &mut self.network);
            }
            Component::Sampler(i) => {
                let next = self.samplers.sample(i, now, self.network.links.as_mut_slice(), self.flows.fixed());
                self.network.events.set(self.network.layout.slot(component), next);
            }
        }
    }

    /// Notes what is needed to tell later when the statistics begin, and what there is then; returns when to look again.
    #[cold]
    fn look(&mut self, now: Instant) -> Instant {
        self.looks += 1;
        if self.statistics.due() == now {
            let waiting = |link: &Link| u64::from(link.qdisc.backlog().packets);
            self.statistics.tell(self.network.links.as_slice().iter().map(waiting).sum());
        }
        let begun = self.flows.begun();
        if self.statistics.window().starts().get(begun) == Some(&now) {
            self.flows.begin(&self.network);
        }
        next_look(&self.statistics, self.flows.begun())
    }

    fn report(mut self) -> Output {
        self.network.links.as_mut_slice().iter_mut().for_each(|link| link.tally.close());
        let (begin, window) = (self.statistics.begin(), self.statistics.window().clone());
        let (flows, groups) = self.flows.report(&self.network, begin.number, &window);
        let whole = Whole::of(
            groups.iter().filter(|group| group.direction == FORWARD).map(|group| group.payload),
            flows.iter().filter(|flow| flow.direction == FORWARD).map(|flow| flow.payload.goodput_bps),
        );
        let wholes = if begin.settled == Some(true) { self.flows.wholes(&self.network, &window) } else { Vec::new() };
        let windows = windows(&mut self.network.links.as_mut_slice()[0], &begin, |number| wholes[number]);
        let (links, hops, histogram) = match AirOf::<P>::PRESENT {
            true => report_cell(self.network.links.into_vec(), begin.number),
            false => report_links(self.network.links.into_vec(), self.names, begin.number),
        };
        let (wlan, accesses) = self.network.air.report(begin.number);
        let summary = Summary {
            duration_s: (self.end - Instant::ZERO).as_secs_f64(),
            warmup_s: begin.warmup_s,
            settled: begin.settled,
            not_settled: begin.not_settled,
            // What a run has that is told when they begin.
            events: self.events - self.looks + u64::from(begin.number > 0),
            fingerprint: format!("{:016x}", self.network.fingerprint.finish()),
            goodput_bps: whole.goodput_bps,
            delivered_bps: whole.delivered_bps,
            jain: whole.jain,
            links,
            hops,
            wlan,
            groups,
            flows,
        };
        let mut tables = vec![histogram];
        tables.extend(windows);
        tables.extend(self.network.probe.tables());
        tables.extend(accesses);
        tables.extend(self.network.ledger.into_table());
        tables.extend(self.samplers.into_tables());
        Output { summary, tables }
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

/// When `statistics` want to look next: at the backlog, or because they can begin at instant `number` of their window.
fn next_look(statistics: &Statistics, number: usize) -> Instant {
    let begin = statistics.window().starts().get(number).copied().unwrap_or(Instant::NEVER);
    statistics.due().min(begin)
}

/// The first hop, and the others with their names, from instant `number` of the window on; the books are closed.
pub(crate) fn report_links(links: Vec<Link>, names: Vec<String>, number: usize) -> (Links, Vec<HopSummary>, Table) {
    let mut table = SojournHistogram::default();
    let mut reports = links.into_iter().enumerate().map(|(l, link)| report_link(l, link, number, &mut table));
    let mut both = || Some(Links { forward: reports.next()?, reverse: reports.next()? });
    let first = both().expect("there is a first hop");
    let hops = names.into_iter().map_while(|name| Some(HopSummary { name, links: both()? })).collect();
    (first, hops, table.into_table())
}

/// The access point's queue as the forward direction, those of the stations together as the reverse direction.
fn report_cell(links: Vec<Link>, number: usize) -> (Links, Vec<HopSummary>, Table) {
    let (mut table, mut usable) = (SojournHistogram::default(), 0);
    let mut links = links.into_iter().enumerate();
    let mut report = |(l, link)| report_link(l, link, number, &mut table);
    let forward = links.next().map(&mut report).expect("there is an access point");
    let mut together = Counts::default();
    let mut length = Duration::ZERO;
    for (l, mut link) in links {
        (usable, length) = (link.usable_from(number), link.tally.window().length(number));
        together.add(&link.tally.sum(number));
        report((l, link));
    }
    let reverse = together.report(length, usable);
    (Links { forward, reverse }, Vec::new(), table.into_table())
}

fn report_link(l: usize, mut link: Link, number: usize, table: &mut SojournHistogram) -> LinkSummary {
    let counts = link.tally.sum(number);
    counts.sojourn().buckets().for_each(|(lower, upper, count)| table.push(l as u8, lower, upper, count));
    counts.report(link.tally.window().length(number), link.usable_from(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Handle;
    use sojourn_aqm::{Backlog, Dequeued, Ecn, Enqueued, Meta, Qdisc, Sink, Stats, TcpView};
    use sojourn_tcp::{Flags, Header};
    use std::collections::VecDeque;
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    /// Slots used, slots laid out, and connections opened by pages of `size` every 20 ms for 40 s.
    fn slots(size: &str) -> (usize, usize, u64) {
        let text = format!(
            "duration = \"60 s\"\n[link]\nrate = \"8 Mbit/s\"\n[[flows]]\nkind = \"web\"\nstack = \"linux-2.6.29\"\n\
             cc = \"reno\"\ninterval = \"20 ms\"\n\
             size = \"{size}\"\nrtt = \"50 ms\"\nstop = \"40 s\"\n[[flows]]\nkind = \"cbr\"\nrate = \"80 kbit/s\""
        );
        let scenario = Scenario::parse(&text, &[], Path::new("/")).unwrap();
        let mut run = Run::<()>::new(&scenario, 1);
        while !run.advance(u64::MAX) {}
        let (used, laid_out) = (run.flows.slots(), run.network.layout.flows() as usize);
        (used, laid_out, run.report().summary.groups[0].opened)
    }

    #[test]
    fn slots_follow_the_connections_at_a_time() {
        // A page of two packets is over after four round trips, so at most eleven are open.
        let (used, laid_out, opened) = slots("2 kB");
        assert_eq!((laid_out, opened), (17, 2000));
        assert!((9..=13).contains(&used), "{used} slots");
        // Twice what the link carries: connections pile up and the layout grows with them.
        let (used, laid_out, opened) = slots("40 kB");
        assert_eq!(opened, 2000);
        assert!((200..2000).contains(&used) && (used..2 * used).contains(&laid_out), "{used} of {laid_out} slots");
    }

    /// A FIFO queue that notes the TCP headers of what comes.
    #[derive(Default)]
    struct Spy {
        queue: VecDeque<(Meta, Handle)>,
        seen: Arc<Mutex<Vec<Option<TcpView>>>>,
        stats: Stats,
    }

    impl Qdisc<Handle> for Spy {
        fn enqueue(&mut self, now: Instant, meta: Meta, packet: Handle, sink: &mut dyn Sink<Handle>) -> Enqueued {
            self.seen.lock().unwrap().push(sink.tcp(&packet));
            self.queue.push_back((Meta { enqueued: now, ..meta }, packet));
            Enqueued::Queued
        }
        fn dequeue(&mut self, _: Instant, _: &mut dyn Sink<Handle>) -> Dequeued<Handle> {
            self.queue.pop_front().map_or(Dequeued::Empty, |(meta, packet)| Dequeued::Packet(meta, packet))
        }
        fn settle(&mut self, _: Instant) {}
        fn backlog(&self) -> Backlog {
            Backlog { packets: self.queue.len() as u32, ..Backlog::default() }
        }
        fn stats(&self) -> &Stats {
            &self.stats
        }
        fn observe(&self, _: &mut dyn FnMut(&'static str, f64)) {}
    }

    #[test]
    fn a_queue_discipline_sees_the_tcp_headers_of_packets() {
        let text = "duration = \"9 s\"\n[link]\nrate = \"1.3 Mbit/s\"\n[[flows]]\nkind = \"tcp\"\nsize = \"77 kB\"\n\
                    [[flows]]\nkind = \"cbr\"\nrate = \"80 kbit/s\"";
        let scenario = Scenario::parse(text, &[], Path::new("/")).unwrap();
        let mut run = Run::<()>::new(&scenario, 1);
        let seen = [(); 2].map(|()| Arc::<Mutex<Vec<_>>>::default());
        for (link, seen) in run.network.links.as_mut_slice().iter_mut().zip(&seen) {
            link.qdisc = Box::new(Spy { seen: Arc::clone(seen), ..Spy::default() });
        }
        while !run.advance(u64::MAX) {}
        let [data, acks] = seen.map(|seen| std::mem::take(&mut *seen.lock().unwrap()));
        let payload: u32 = data.iter().flatten().map(|view| view.payload).sum();
        assert_eq!(payload, 77_000, "nothing is lost, and nothing sent twice");
        assert!(data.iter().filter(|view| view.is_none()).count() > 50, "datagrams have no TCP header");
        let numbers: Vec<u32> = acks.iter().map(|view| view.expect("only TCP answers").ack).collect();
        assert!(numbers.is_sorted() && numbers.last() == Some(&77_002), "all, the SYN and the FIN: {numbers:?}");
    }

    #[test]
    fn a_packet_of_a_connection_that_is_no_more_reaches_nobody() {
        let text = "duration = \"20 s\"\n[link]\nrate = \"8 Mbit/s\"\n[[flows]]\nkind = \"web\"\n\
                    stack = \"linux-2.6.29\"\ncc = \"reno\"\ninterval = \"1 s\"\n\
                    size = \"100 kB\"\nrtt = \"50 ms\"\nstop = \"9.5 s\"";
        let scenario = Scenario::parse(text, &[], Path::new("/")).unwrap();
        let mut run = Run::<()>::new(&scenario, 1);
        while run.now.as_secs_f64() < 3.2 {
            run.advance(1);
        }
        let (slot, old, present) = (0, 0, 3);
        assert_eq!((run.flows.slots(), run.network.tenant(slot).0), (1, present), "the fourth page is under way");
        // A late segment that would end the answer after its first thousand bytes.
        let flags = Flags::ANSWER.with(Flags::ACK).with(Flags::FIN);
        let header = Header { seq: 1, len: 1000, flags, ..Header::default() };
        run.network.assign(slot, old);
        run.network.send_from_source(run.now, slot, &header, header.ip_len(), Ecn::NotEct);
        run.network.assign(slot, present);
        while !run.advance(u64::MAX) {}
        let summary = run.report().summary;
        let group = &summary.groups[0];
        assert_eq!(
            (group.opened, group.closed, group.transfers, group.payload.bytes),
            (10, 10, 10, 1_000_000),
            "{group:?}"
        );
    }
}
