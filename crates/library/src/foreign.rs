//! A queue of a library as a queue discipline: every packet that it was given comes back once, as it was, and its
//! answers make sense. The first one that does not is remembered as a fault, and the queue takes part no more.

use crate::abi::{self, Packet};
use crate::load::{Instance, Library, NO_PACKET};
use crate::name::{escape, is_library, path_and_queue, unescape};
use sojourn_aqm::foreign::{self, Ticket};
use sojourn_aqm::params::Refusal;
use sojourn_aqm::qdisc::Count;
use sojourn_aqm::registry::{Algorithm, AnyConfig, Catalogue, Foreign, ForeignConfig, Queues};
use sojourn_aqm::{
    Backlog, Dequeued, DropReason, Ecn, Enqueued, Host, Instant, Limits, Link, Meta, Qdisc, Rate, Rng, Sink, Stats,
    TcpView,
};
use std::ffi::c_int;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The libraries that names like `./blue.so` stand for; relative paths start from `base`, else from the current folder.
/// A blank, bracket, comma, `@`, `%` or colon in a path is written `%20`, `%28`, …. `./blue.so:blue` also says what the
/// queue discipline in it is called, and is refused where it is called otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Libraries<'a> {
    /// The folder.
    pub base: &'a Path,
}

impl Catalogue for Libraries<'_> {
    fn find(&self, name: &str) -> Option<Result<&'static Algorithm, Refusal>> {
        is_library(name).then(|| self.load(name).map_err(Refusal::Catalogue))
    }
}

impl Libraries<'_> {
    fn load(&self, name: &str) -> Result<&'static Algorithm, String> {
        let (name, inside) = path_and_queue(name);
        let path = unescape(name);
        let folders = [self.base, Path::new("")];
        let found = folders.iter().map(|folder| folder.join(&path)).find(|path| path.is_file());
        let found = found.ok_or_else(|| match path.is_absolute() {
            true => format!("{name}: no such file; give the path of a shared library"),
            false => format!("{name}: no such file in {}; write e.g. \"./blue.so\"", self.base.display()),
        })?;
        let library = Library::open(&found)?;
        match inside {
            Some(inside) if inside != library.name => {
                let own = &library.name;
                Err(format!(
                    "{name} has no queue manager {inside:?}; the one in it is {own:?}: {name}:{own}, or {name}"
                ))
            }
            _ => Ok(algorithm(library)),
        }
    }
}

/// A library as an algorithm; there is one per library, and it lives as long as the program.
fn algorithm(library: &'static Library) -> &'static Algorithm {
    static KNOWN: Mutex<Vec<(&'static Library, &'static Algorithm)>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, algorithm)) = known.iter().find(|(of, _)| std::ptr::eq(*of, library)) {
        return algorithm;
    }
    let (words, states) = (Words::leaked(usize::MAX), Words::leaked(MOST_STATES));
    let configure =
        move |algorithm: &'static Algorithm, profile: &str, params: &[(String, String)], _: &dyn Catalogue| {
            let text = words.keep(&foreign::words(profile, params)?).expect("there is no bound");
            let config = Config { library, name: algorithm.name, text, states, fault: Arc::default() };
            Ok(AnyConfig::Foreign(Foreign::new(algorithm, text, Box::new(config))))
        };
    let algorithm: &'static Algorithm = Box::leak(Box::new(Algorithm {
        name: Box::leak(escape(&library.path).into_boxed_str()),
        summary: &library.summary,
        source: &library.source,
        params: foreign::PARAMS,
        profiles: foreign::PROFILES,
        queues: match library.order {
            abi::FIFO => Queues::One,
            abi::PER_FLOW => Queues::PerFlow,
            abi::PER_FLOW_AND_ECN => Queues::Two,
            _ => Queues::Any,
        },
        state_bytes: 0,
        queue_bytes: 0,
        words: None,
        configure: Box::leak(Box::new(configure)),
    }));
    known.push((library, algorithm));
    algorithm
}

/// Texts that live as long as the program, each kept once; so many at most.
struct Words {
    kept: Mutex<Vec<&'static str>>,
    most: usize,
}

impl Words {
    fn leaked(most: usize) -> &'static Self {
        Box::leak(Box::new(Self { kept: Mutex::default(), most }))
    }

    /// The same text for ever; `None` when there would be too many.
    fn keep(&self, text: &str) -> Option<&'static str> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.iter().find(|known| **known == text) {
            return Some(known);
        }
        if kept.len() == self.most {
            return None;
        }
        kept.push(Box::leak(text.into()));
        kept.last().copied()
    }
}

/// Most names of variables of state of a library; more are not shown.
const MOST_STATES: usize = 64;

type Fault = Arc<Mutex<Option<String>>>;

/// A library and what it is told.
#[derive(Clone)]
struct Config {
    library: &'static Library,
    name: &'static str,
    text: &'static str,
    states: &'static Words,
    fault: Fault,
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple(self.name).field(&self.text).finish()
    }
}

impl ForeignConfig for Config {
    fn check(&self) -> Result<(), Refusal> {
        let link = Link::new(Rate::from_bps(10_000_000), 1500);
        let host = Host { link, rng: Rng::from_state(1) };
        let made = self.library.create(self.text, Limits::packets(1000), &host);
        made.map(drop).map_err(|error| Refusal::Catalogue(format!("{}: {error}", self.name)))
    }

    fn queue(&self, limits: Limits, host: Host) -> Box<dyn Qdisc<Ticket> + Send> {
        let instance = self.library.create(self.text, limits, &host);
        let mut queue = Queue {
            config: self.clone(),
            instance: None,
            slots: Vec::new(),
            headers: Vec::new(),
            waiting: Backlog::default(),
            stats: Stats::default(),
        };
        match instance {
            Ok(instance) => queue.instance = Some(instance),
            Err(error) => queue.tell(&format!("create: {error}"), Instant::ZERO),
        }
        Box::new(queue)
    }

    fn fault(&self) -> Option<String> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn boxed(&self) -> Box<dyn ForeignConfig> {
        Box::new(self.clone())
    }
}

/// A packet that waits, or a place for one.
#[derive(Clone, Copy)]
struct Slot {
    /// Of how many packets this is the place; a part of the opaque pointer, so that one that comes late is known.
    generation: u32,
    waits: bool,
    marked: bool,
    meta: Meta,
}

/// A queue of a library.
struct Queue {
    config: Config,
    /// None after a fault.
    instance: Option<Instance>,
    slots: Vec<Slot>,
    /// The headers of the packets in `slots`; boxed, as the library has their addresses while they wait.
    #[allow(clippy::vec_box)]
    headers: Vec<Box<[u8; TcpView::IP_BYTES]>>,
    waiting: Backlog,
    stats: Stats,
}

/// What a library did wrong.
type Wrong = String;

impl Qdisc<Ticket> for Queue {
    fn enqueue(&mut self, now: Instant, meta: Meta, ticket: Ticket, sink: &mut dyn Sink<Ticket>) -> Enqueued {
        let meta = Meta { enqueued: now, ..meta };
        add(&mut self.stats.arrived, meta.len);
        let header = sink.tcp(&ticket);
        let packet = self.admit(meta, ticket, header);
        self.offer(now, &packet, ticket, sink).unwrap_or_else(|wrong| {
            self.give_up(&wrong, now, sink);
            Enqueued::Dropped(DropReason::Limit)
        })
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<Ticket>) -> Dequeued<Ticket> {
        self.ask(now, sink).unwrap_or_else(|wrong| {
            self.give_up(&wrong, now, sink);
            Dequeued::Empty
        })
    }

    fn pass(&mut self, now: Instant, meta: Meta) -> Option<Meta> {
        let instance = self.instance.as_mut().filter(|_| self.waiting.packets == 0)?;
        match instance.pass(time(now), &describe(&meta, 0)) {
            abi::PACKET => {
                add(&mut self.stats.arrived, meta.len);
                add(&mut self.stats.departed, meta.len);
                Some(Meta { enqueued: now, ..meta })
            }
            abi::EMPTY => None,
            code => {
                let wrong = self.refused("pass", code);
                self.tell(&wrong, now);
                None
            }
        }
    }

    /// Nobody knows which libraries do.
    fn looks_at_tcp(&self) -> bool {
        true
    }

    fn settle(&mut self, now: Instant) {
        let Some(instance) = &mut self.instance else { return };
        let code = instance.settle(time(now));
        let wrong = if code < 0 { Err(instance.error(code)) } else { self.agrees() };
        if let Err(wrong) = wrong {
            // What waits goes back with the next call that has a sink.
            self.tell(&format!("settle: {wrong}"), now);
        }
    }

    fn backlog(&self) -> Backlog {
        self.waiting
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        if let Some(instance) = &self.instance {
            instance.states(&mut |name, value| {
                if let Some(name) = self.config.states.keep(name) {
                    see(name, value);
                }
            });
        }
    }
}

impl Queue {
    /// Notes an arriving packet and describes it, with the TCP header that the host tells.
    fn admit(&mut self, meta: Meta, ticket: Ticket, header: Option<TcpView>) -> Packet {
        if self.slots.len() <= ticket as usize {
            let unused = Slot { generation: 0, waits: false, marked: false, meta };
            self.slots.resize(ticket as usize + 1, unused);
            self.headers.resize_with(ticket as usize + 1, || Box::new([0; TcpView::IP_BYTES]));
        }
        let generation = self.slots[ticket as usize].generation.wrapping_add(1);
        self.slots[ticket as usize] = Slot { generation, waits: true, marked: false, meta };
        self.waiting = Backlog { packets: self.waiting.packets + 1, bytes: self.waiting.bytes + meta.len as u64 };
        let packet = describe(&meta, handle(ticket, generation));
        let Some(view) = header else { return packet };
        let bytes = &mut self.headers[ticket as usize];
        let header_length = view.write_ip(&meta, bytes) as u32;
        Packet { header: bytes.as_ptr().cast(), header_length, ..packet }
    }

    fn offer(
        &mut self,
        now: Instant,
        packet: &Packet,
        ticket: Ticket,
        sink: &mut dyn Sink<Ticket>,
    ) -> Result<Enqueued, Wrong> {
        let Some(instance) = &mut self.instance else { return Err(String::new()) };
        let code = instance.enqueue(time(now), packet);
        let reason = self.take_back(sink)?;
        let slot = &mut self.slots[ticket as usize];
        let answer = match (code, slot.waits) {
            (abi::QUEUED, true) => Enqueued::Queued,
            (abi::MARKED, true) if !matches!(slot.meta.ecn, Ecn::Ect0 | Ecn::Ect1) => {
                return Err(format!("enqueue says that it marked a packet that came as {:?}", slot.meta.ecn));
            }
            (abi::MARKED, true) => {
                slot.marked = true;
                add(&mut self.stats.marked, slot.meta.len);
                Enqueued::Marked
            }
            (abi::DROPPED, _) => match reason {
                Some(reason) => Enqueued::Dropped(reason),
                None => return Err("enqueue says that it dropped a packet and gives none back".into()),
            },
            (abi::QUEUED | abi::MARKED, false) => {
                return Err("enqueue has dropped the packet and says that it waits".into());
            }
            (code, _) => return Err(self.refused("enqueue", code)),
        };
        self.agrees()?;
        Ok(answer)
    }

    fn ask(&mut self, now: Instant, sink: &mut dyn Sink<Ticket>) -> Result<Dequeued<Ticket>, Wrong> {
        let Some(instance) = &mut self.instance else { return Err(String::new()) };
        let (code, packet, not_before) = instance.dequeue(time(now));
        self.take_back(sink)?;
        let waiting = self.waiting.packets;
        let answer = match code {
            abi::PACKET => {
                let (ticket, meta) = self.leave(&packet).map_err(|wrong| format!("dequeue {wrong}"))?;
                add(&mut self.stats.departed, meta.len);
                Dequeued::Packet(meta, ticket)
            }
            abi::EMPTY if waiting > 0 => return Err(format!("dequeue says empty and keeps {waiting} packets")),
            abi::EMPTY => Dequeued::Empty,
            abi::NOT_BEFORE if waiting == 0 => return Err("dequeue says not-before, and nothing waits".into()),
            abi::NOT_BEFORE if not_before <= time(now) => {
                return Err(format!("dequeue says not before {not_before} ns, which is not later than now"));
            }
            abi::NOT_BEFORE => Dequeued::NotBefore(Instant::from_nanos(not_before as u64)),
            code => return Err(self.refused("dequeue", code)),
        };
        self.agrees()?;
        Ok(answer)
    }

    /// Passes on what the library has dropped in this call; the reason of the last one.
    fn take_back(&mut self, sink: &mut dyn Sink<Ticket>) -> Result<Option<DropReason>, Wrong> {
        let Some(instance) = &mut self.instance else { return Ok(None) };
        let mut last = None;
        for (packet, number) in instance.returned() {
            let reason = usize::try_from(number).ok().and_then(|number| DropReason::ALL.get(number).copied());
            let reason = reason.ok_or_else(|| format!("dropped a packet for reason {number}, which is none"))?;
            let (ticket, meta) = self.leave(&packet).map_err(|wrong| format!("dropped {wrong}"))?;
            add(&mut self.stats.dropped[reason as usize], meta.len);
            sink.dropped(meta, ticket, reason);
            last = Some(reason);
        }
        Ok(last)
    }

    /// A packet that the library gives back, checked.
    fn leave(&mut self, packet: &Packet) -> Result<(Ticket, Meta), Wrong> {
        let (ticket, generation) = parts(packet.handle as usize);
        let Some(slot) = self.slots.get_mut(ticket as usize).filter(|slot| slot.generation >= generation) else {
            return Err("gives back a packet that it never had (a wrong `handle`)".into());
        };
        if !slot.waits || slot.generation != generation {
            return Err("gives back a packet for the second time".into());
        }
        let came = slot.meta;
        let given = (packet.length, packet.flow, packet.enqueued);
        if given != (came.len, came.flow, time(came.enqueued)) {
            return Err(format!(
                "gives back a packet of {} B, flow {}, enqueued at {} ns; it came with {} B, flow {}, at {} ns",
                packet.length,
                packet.flow,
                packet.enqueued,
                came.len,
                came.flow,
                time(came.enqueued),
            ));
        }
        let ecn = Ecn::ALL.get(packet.ecn as usize).copied();
        let newly = came.ecn != Ecn::Ce && ecn == Some(Ecn::Ce);
        if ecn != Some(came.ecn) && !(newly && came.ecn.is_ect()) || slot.marked && !newly {
            let field = packet.ecn;
            let was = if slot.marked { Ecn::Ce } else { came.ecn };
            return Err(format!("gives back a packet with ECN field {field}; it had {} ({was:?})", was as u8));
        }
        slot.waits = false;
        let counted = std::mem::replace(&mut slot.marked, false);
        if newly && !counted {
            add(&mut self.stats.marked, came.len);
        }
        let Backlog { packets, bytes } = self.waiting;
        self.waiting = Backlog { packets: packets - 1, bytes: bytes - came.len as u64 };
        Ok((ticket, Meta { ecn: ecn.expect("it is one of two that are"), ..came }))
    }

    /// Whether the library's backlog is what it was given less what came back.
    fn agrees(&self) -> Result<(), Wrong> {
        let Some(instance) = &self.instance else { return Ok(()) };
        let (code, packets, bytes) = instance.backlog();
        if code < 0 {
            return Err(self.refused("backlog", code));
        }
        let Backlog { packets: waiting, bytes: waiting_bytes } = self.waiting;
        if (packets, bytes) == (waiting, waiting_bytes) {
            return Ok(());
        }
        Err(format!("backlog says {packets} packets, {bytes} B; it has {waiting} packets, {waiting_bytes} B"))
    }

    fn refused(&self, call: &str, code: c_int) -> Wrong {
        match &self.instance {
            Some(instance) if code < 0 => format!("{call}: {}", instance.error(code)),
            _ => format!("{call} returns {code}, which is no answer"),
        }
    }

    /// Remembers the first fault.
    fn tell(&mut self, wrong: &str, now: Instant) {
        self.instance = None;
        let mut fault = self.config.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.get_or_insert_with(|| format!("{}: {wrong}, at {} s", self.config.name, now.as_secs_f64()));
    }

    /// Remembers a fault and gives everything back that waits: the library is not called again.
    fn give_up(&mut self, wrong: &str, now: Instant, sink: &mut dyn Sink<Ticket>) {
        if self.instance.is_some() {
            self.tell(wrong, now);
        }
        for ticket in 0..self.slots.len() {
            if std::mem::replace(&mut self.slots[ticket].waits, false) {
                let meta = self.slots[ticket].meta;
                add(&mut self.stats.dropped[DropReason::Limit as usize], meta.len);
                sink.dropped(meta, ticket as Ticket, DropReason::Limit);
            }
        }
        self.waiting = Backlog::default();
    }

    /// What is wrong with the statistics, or with how the queue ends.
    fn last_words(&mut self) -> Result<(), Wrong> {
        let (stats, Some(instance)) = (self.stats, &mut self.instance) else { return Ok(()) };
        let counted = [("arrived", stats.arrived), ("departed", stats.departed), ("dropped", stats.dropped_total())];
        let mut wrong = None;
        let code = instance.statistics(&mut |name, value| {
            let same = |&&(what, _): &&(&str, Count)| name.strip_prefix(what).is_some_and(|rest| rest.starts_with('_'));
            let Some((what, count)) = counted.iter().find(same) else { return };
            let expected = match &name[what.len()..] {
                "_packets" => count.packets,
                "_bytes" => count.bytes,
                _ => return,
            };
            if value != expected {
                wrong.get_or_insert_with(|| format!("statistics say {name} {value}; it is {expected}"));
            }
        });
        if code < 0 {
            return Err(self.refused("statistics", code));
        }
        instance.free();
        let returned = instance.returned();
        // A mark on what is freed need not show any more.
        self.slots.iter_mut().for_each(|slot| slot.marked = false);
        for (packet, reason) in returned {
            let (_, meta) = self.leave(&packet).map_err(|wrong| format!("free {wrong}"))?;
            if reason != abi::FREED {
                let reason = format!("free gives back a packet of {} B for reason {reason}", meta.len);
                return Err(format!("{reason}; it is SOJOURN_FREED"));
            }
        }
        match (wrong, self.waiting.packets) {
            (Some(wrong), _) => Err(wrong),
            (None, 0) => Ok(()),
            (None, kept) => Err(format!("free keeps {kept} packets; it has to give back what waits")),
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if let Err(wrong) = self.last_words() {
            let last = self.slots.iter().map(|slot| slot.meta.enqueued).max().unwrap_or_default();
            self.tell(&wrong, last);
        }
    }
}

fn describe(meta: &Meta, handle: usize) -> Packet {
    Packet {
        length: meta.len,
        segments: meta.segments.into(),
        flow: meta.flow,
        source: meta.hosts.0,
        destination: meta.hosts.1,
        dscp: meta.dscp,
        ecn: meta.ecn as u8,
        handle: handle as *mut _,
        priority: u32::from(meta.class.major()) << 16 | u32::from(meta.class.minor()),
        ..NO_PACKET
    }
}

fn add(count: &mut Count, len: u32) {
    count.packets += 1;
    count.bytes += len as u64;
}

fn time(at: Instant) -> abi::Time {
    i64::try_from(at.as_nanos()).unwrap_or(i64::MAX)
}

/// An opaque pointer: never null, and never the same for two packets that wait.
fn handle(ticket: Ticket, generation: u32) -> usize {
    (generation as usize) << HALF | (ticket as usize + 1)
}

fn parts(handle: usize) -> (Ticket, u32) {
    let place = handle & ((1 << HALF) - 1);
    ((place as u32).wrapping_sub(1), (handle >> HALF) as u32)
}

const HALF: u32 = usize::BITS / 2;
