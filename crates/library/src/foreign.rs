//! A library's queue as a qdisc, with checks: each packet must return exactly once and unchanged, and each result must
//! be consistent. The first violation is recorded as a fault, and the queue is disabled.
//!
//! A library that keeps a packet would give a plausible result, so every packet, backlog and statistic is checked in
//! every run. [`Qdisc`] has no error path, because built-in qdiscs need none.

use crate::abi::{self, Packet};
use crate::load::{Instance, KIND, Library, NO_PACKET};
use crate::name::{escape, is_library};
use sojourn_aqm::foreign::{self, Ticket};
use sojourn_aqm::params::ConfigError;
use sojourn_aqm::qdisc::Count;
use sojourn_aqm::registry::{Algorithm, AnyConfig, Catalogue, ForeignConfig, ForeignDiscipline, QueueLayout};
use sojourn_aqm::{
    Backlog, DequeueResult, DropReason, Ecn, EnqueueResult, Host, Instant, Limits, Link, Meta, Qdisc, Rate, Rng, Sink,
    Stats, TcpView,
};
use std::ffi::c_int;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Catalogue of names like `./blue.so`. Relative paths are looked up in `base`, then in the current directory. Blanks,
/// brackets, commas, `@`, `%` and colons in a path are percent-encoded (`%20`, `%28`, …). `./blue.so:blue` also names
/// the qdisc in the library, and fails if that is another.
#[derive(Clone, Copy, Debug)]
pub struct Libraries<'a> {
    /// First directory for relative paths.
    pub base: &'a Path,
}

impl Catalogue for Libraries<'_> {
    fn find(&self, name: &str) -> Option<Result<&'static Algorithm, ConfigError>> {
        is_library(name).then(|| self.load(name).map_err(ConfigError::Catalogue))
    }
}

impl Libraries<'_> {
    fn load(&self, name: &str) -> Result<&'static Algorithm, String> {
        KIND.open_named(name, self.base, Library::open).map(algorithm)
    }
}

/// The algorithm of a library, leaked once per library, because [`Algorithm`]s are `'static`.
fn algorithm(library: &'static Library) -> &'static Algorithm {
    static KNOWN: Mutex<Vec<(&'static Library, &'static Algorithm)>> = Mutex::new(Vec::new());
    let mut algorithms = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, algorithm)) = algorithms.iter().find(|(of, _)| std::ptr::eq(*of, library)) {
        return algorithm;
    }
    let (words, states) = (StringInterner::leak(usize::MAX), StringInterner::leak(MAX_STATES));
    let configure =
        move |algorithm: &'static Algorithm, profile: &str, params: &[(String, String)], _: &dyn Catalogue| {
            let text = words.intern(&foreign::words(profile, params)?).expect("there is no bound");
            let config = Config { library, name: algorithm.name, text, states, fault: Arc::default() };
            Ok(AnyConfig::Foreign(ForeignDiscipline::new(algorithm, text, Box::new(config))))
        };
    let algorithm: &'static Algorithm = Box::leak(Box::new(Algorithm {
        name: Box::leak(escape(library.path()).into_boxed_str()),
        summary: &library.summary,
        source: &library.source,
        params: foreign::PARAMS,
        profiles: foreign::PROFILES,
        queues: match library.order {
            abi::FIFO => QueueLayout::One,
            abi::PER_FLOW => QueueLayout::PerFlow,
            abi::PER_FLOW_AND_ECN => QueueLayout::Two,
            _ => QueueLayout::Any,
        },
        state_bytes: 0,
        queue_bytes: 0,
        words: None,
        configure: Box::leak(Box::new(configure)),
    }));
    algorithms.push((library, algorithm));
    algorithm
}

/// Leaks strings, each once, up to a capacity.
struct StringInterner {
    strings: Mutex<Vec<&'static str>>,
    capacity: usize,
}

impl StringInterner {
    fn leak(capacity: usize) -> &'static Self {
        Box::leak(Box::new(Self { strings: Mutex::default(), capacity }))
    }

    /// The leaked copy of `text`; `None` if the interner is full.
    fn intern(&self, text: &str) -> Option<&'static str> {
        let mut strings = self.strings.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = strings.iter().find(|known| **known == text) {
            return Some(known);
        }
        if strings.len() == self.capacity {
            return None;
        }
        strings.push(Box::leak(text.into()));
        strings.last().copied()
    }
}

/// Maximum number of a library's state variables; further ones are skipped.
const MAX_STATES: usize = 64;

type SharedFault = Arc<Mutex<Option<String>>>;

/// A library's qdisc and its parameters.
#[derive(Clone)]
struct Config {
    library: &'static Library,
    name: &'static str,
    text: &'static str,
    states: &'static StringInterner,
    fault: SharedFault,
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple(self.name).field(&self.text).finish()
    }
}

impl ForeignConfig for Config {
    fn check(&self) -> Result<(), ConfigError> {
        let link = Link::new(Rate::from_bps(10_000_000), 1500);
        let host = Host { link, rng: Rng::from_state(1) };
        let made = self.library.create(self.text, Limits::packets(1000), &host);
        made.map(drop).map_err(|error| ConfigError::Catalogue(format!("{}: {error}", self.name)))
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
            Err(error) => queue.record_fault(&format!("create: {error}"), Instant::ZERO),
        }
        Box::new(queue)
    }

    fn fault(&self) -> Option<String> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn clone_box(&self) -> Box<dyn ForeignConfig> {
        Box::new(self.clone())
    }
}

/// A queued packet, or a free slot.
#[derive(Clone, Copy)]
struct Slot {
    /// Number of packets that have used this slot. Part of the opaque pointer, so that a stale pointer is detected.
    generation: u32,
    is_queued: bool,
    marked: bool,
    meta: Meta,
}

/// A library's queue.
struct Queue {
    config: Config,
    /// `None` after a fault.
    instance: Option<Instance>,
    slots: Vec<Slot>,
    /// Headers of the packets in `slots`; boxed, because the library holds their addresses while the packets are
    /// queued.
    #[allow(clippy::vec_box)]
    headers: Vec<Box<[u8; TcpView::IP_BYTES]>>,
    waiting: Backlog,
    stats: Stats,
}

/// Description of a library's error.
type Violation = String;

impl Qdisc<Ticket> for Queue {
    fn enqueue(&mut self, now: Instant, meta: Meta, ticket: Ticket, sink: &mut dyn Sink<Ticket>) -> EnqueueResult {
        let meta = Meta { enqueued: now, ..meta };
        add(&mut self.stats.arrived, meta.len);
        let header = sink.tcp_header(&ticket);
        let packet = self.admit(meta, ticket, header);
        self.enqueue_checked(now, &packet, ticket, sink).unwrap_or_else(|wrong| {
            self.disable(&wrong, now, sink);
            EnqueueResult::Dropped(DropReason::Limit)
        })
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<Ticket>) -> DequeueResult<Ticket> {
        self.dequeue_checked(now, sink).unwrap_or_else(|wrong| {
            self.disable(&wrong, now, sink);
            DequeueResult::Empty
        })
    }

    fn bypass(&mut self, now: Instant, meta: Meta) -> Option<Meta> {
        let instance = self.instance.as_mut().filter(|_| self.waiting.packets == 0)?;
        match instance.pass(time(now), &describe(&meta, 0)) {
            abi::PACKET => {
                add(&mut self.stats.arrived, meta.len);
                add(&mut self.stats.departed, meta.len);
                Some(Meta { enqueued: now, ..meta })
            }
            abi::EMPTY => None,
            code => {
                let wrong = self.call_error("pass", code);
                self.record_fault(&wrong, now);
                None
            }
        }
    }

    /// Always true, because the interface does not declare whether a library reads headers.
    fn needs_tcp_headers(&self) -> bool {
        true
    }

    fn settle(&mut self, now: Instant) {
        let Some(instance) = &mut self.instance else { return };
        let code = instance.settle(time(now));
        let wrong = if code < 0 { Err(instance.error(code)) } else { self.check_backlog() };
        if let Err(wrong) = wrong {
            // The queued packets return in the next call that has a sink.
            self.record_fault(&format!("settle: {wrong}"), now);
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
                if let Some(name) = self.config.states.intern(name) {
                    see(name, value);
                }
            });
        }
    }
}

impl Queue {
    /// Records an arriving packet, and builds its descriptor with the TCP header, if the host knows it.
    fn admit(&mut self, meta: Meta, ticket: Ticket, header: Option<TcpView>) -> Packet {
        if self.slots.len() <= ticket as usize {
            let unused = Slot { generation: 0, is_queued: false, marked: false, meta };
            self.slots.resize(ticket as usize + 1, unused);
            self.headers.resize_with(ticket as usize + 1, || Box::new([0; TcpView::IP_BYTES]));
        }
        let generation = self.slots[ticket as usize].generation.wrapping_add(1);
        self.slots[ticket as usize] = Slot { generation, is_queued: true, marked: false, meta };
        self.waiting = Backlog { packets: self.waiting.packets + 1, bytes: self.waiting.bytes + meta.len as u64 };
        let packet = describe(&meta, handle(ticket, generation));
        let Some(view) = header else { return packet };
        let bytes = &mut self.headers[ticket as usize];
        let header_length = view.write_ip(&meta, bytes) as u32;
        Packet { header: bytes.as_ptr().cast(), header_length, ..packet }
    }

    fn enqueue_checked(
        &mut self,
        now: Instant,
        packet: &Packet,
        ticket: Ticket,
        sink: &mut dyn Sink<Ticket>,
    ) -> Result<EnqueueResult, Violation> {
        let Some(instance) = &mut self.instance else { return Err(String::new()) };
        let code = instance.enqueue(time(now), packet);
        let reason = self.forward_drops(sink)?;
        let slot = &mut self.slots[ticket as usize];
        let answer = match (code, slot.is_queued) {
            (abi::QUEUED, true) => EnqueueResult::Queued,
            (abi::MARKED, true) if !matches!(slot.meta.ecn, Ecn::Ect0 | Ecn::Ect1) => {
                return Err(format!("enqueue reports a mark on a packet that arrived as {:?}", slot.meta.ecn));
            }
            (abi::MARKED, true) => {
                slot.marked = true;
                add(&mut self.stats.marked, slot.meta.len);
                EnqueueResult::Marked
            }
            (abi::DROPPED, _) => match reason {
                Some(reason) => EnqueueResult::Dropped(reason),
                None => return Err("enqueue reports a drop but returns no packet".into()),
            },
            (abi::QUEUED | abi::MARKED, false) => {
                return Err("enqueue dropped the packet but reports it as queued".into());
            }
            (code, _) => return Err(self.call_error("enqueue", code)),
        };
        self.check_backlog()?;
        Ok(answer)
    }

    fn dequeue_checked(
        &mut self,
        now: Instant,
        sink: &mut dyn Sink<Ticket>,
    ) -> Result<DequeueResult<Ticket>, Violation> {
        let Some(instance) = &mut self.instance else { return Err(String::new()) };
        let (code, packet, not_before) = instance.dequeue(time(now));
        self.forward_drops(sink)?;
        let waiting = self.waiting.packets;
        let answer = match code {
            abi::PACKET => {
                let (ticket, meta) = self.check_returned(&packet).map_err(|wrong| format!("dequeue {wrong}"))?;
                add(&mut self.stats.departed, meta.len);
                DequeueResult::Packet(meta, ticket)
            }
            abi::EMPTY if waiting > 0 => return Err(format!("dequeue reports empty but keeps {waiting} packets")),
            abi::EMPTY => DequeueResult::Empty,
            abi::NOT_BEFORE if waiting == 0 => return Err("dequeue reports not-before, but no packet is queued".into()),
            abi::NOT_BEFORE if not_before <= time(now) => {
                return Err(format!("dequeue reports not before {not_before} ns, which is not later than now"));
            }
            abi::NOT_BEFORE => DequeueResult::NotBefore(Instant::from_nanos(not_before as u64)),
            code => return Err(self.call_error("dequeue", code)),
        };
        self.check_backlog()?;
        Ok(answer)
    }

    /// Forwards the packets that the library has dropped in this call to `sink`; returns the last reason.
    fn forward_drops(&mut self, sink: &mut dyn Sink<Ticket>) -> Result<Option<DropReason>, Violation> {
        let Some(instance) = &mut self.instance else { return Ok(None) };
        let mut last = None;
        for (packet, number) in instance.take_returned() {
            let reason = usize::try_from(number).ok().and_then(|number| DropReason::ALL.get(number).copied());
            let reason = reason.ok_or_else(|| format!("dropped a packet for the unknown reason {number}"))?;
            let (ticket, meta) = self.check_returned(&packet).map_err(|wrong| format!("dropped {wrong}"))?;
            add(&mut self.stats.dropped[reason as usize], meta.len);
            sink.dropped(meta, ticket, reason);
            last = Some(reason);
        }
        Ok(last)
    }

    /// Checks a packet that the library returns, and frees its slot.
    fn check_returned(&mut self, packet: &Packet) -> Result<(Ticket, Meta), Violation> {
        let (ticket, generation) = split_handle(packet.handle as usize);
        let Some(slot) = self.slots.get_mut(ticket as usize).filter(|slot| slot.generation >= generation) else {
            return Err("returns a packet that it does not hold (a wrong `handle`)".into());
        };
        if !slot.is_queued || slot.generation != generation {
            return Err("returns a packet for the second time".into());
        }
        let original = slot.meta;
        let given = (packet.length, packet.flow, packet.enqueued);
        if given != (original.len, original.flow, time(original.enqueued)) {
            return Err(format!(
                "returns a packet of {} B, flow {}, enqueued at {} ns; it arrived with {} B, flow {}, at {} ns",
                packet.length,
                packet.flow,
                packet.enqueued,
                original.len,
                original.flow,
                time(original.enqueued),
            ));
        }
        let ecn = Ecn::ALL.get(packet.ecn as usize).copied();
        let newly = original.ecn != Ecn::Ce && ecn == Some(Ecn::Ce);
        if ecn != Some(original.ecn) && !(newly && original.ecn.is_ect()) || slot.marked && !newly {
            let field = packet.ecn;
            let was = if slot.marked { Ecn::Ce } else { original.ecn };
            return Err(format!("returns a packet with ECN field {field}; it had {} ({was:?})", was as u8));
        }
        slot.is_queued = false;
        let counted = std::mem::replace(&mut slot.marked, false);
        if newly && !counted {
            add(&mut self.stats.marked, original.len);
        }
        let Backlog { packets, bytes } = self.waiting;
        self.waiting = Backlog { packets: packets - 1, bytes: bytes - original.len as u64 };
        Ok((ticket, Meta { ecn: ecn.expect("checked to be one of the two"), ..original }))
    }

    /// Checks the library's backlog against the packets that it holds.
    fn check_backlog(&self) -> Result<(), Violation> {
        let Some(instance) = &self.instance else { return Ok(()) };
        let (code, packets, bytes) = instance.backlog();
        if code < 0 {
            return Err(self.call_error("backlog", code));
        }
        let Backlog { packets: waiting, bytes: waiting_bytes } = self.waiting;
        if (packets, bytes) == (waiting, waiting_bytes) {
            return Ok(());
        }
        Err(format!(
            "backlog reports {packets} packets, {bytes} B; the queue holds {waiting} packets, {waiting_bytes} B"
        ))
    }

    fn call_error(&self, call: &str, code: c_int) -> Violation {
        match &self.instance {
            Some(instance) if code < 0 => format!("{call}: {}", instance.error(code)),
            _ => format!("{call} returns the invalid code {code}"),
        }
    }

    /// Records a fault, if it is the first, and frees the instance.
    fn record_fault(&mut self, wrong: &str, now: Instant) {
        self.instance = None;
        let mut fault = self.config.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.get_or_insert_with(|| format!("{}: {wrong}, at {} s", self.config.name, now.as_secs_f64()));
    }

    /// Records a fault and drops every queued packet. The library is not called again.
    fn disable(&mut self, wrong: &str, now: Instant, sink: &mut dyn Sink<Ticket>) {
        if self.instance.is_some() {
            self.record_fault(wrong, now);
        }
        for ticket in 0..self.slots.len() {
            if std::mem::replace(&mut self.slots[ticket].is_queued, false) {
                let meta = self.slots[ticket].meta;
                add(&mut self.stats.dropped[DropReason::Limit as usize], meta.len);
                sink.dropped(meta, ticket as Ticket, DropReason::Limit);
            }
        }
        self.waiting = Backlog::default();
    }

    /// Checks the statistics, and that freeing the queue returns every packet.
    fn final_check(&mut self) -> Result<(), Violation> {
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
                wrong.get_or_insert_with(|| format!("statistics report {name} {value}; expected {expected}"));
            }
        });
        if code < 0 {
            return Err(self.call_error("statistics", code));
        }
        instance.free();
        let returned = instance.take_returned();
        // Freed packets need not carry their mark.
        self.slots.iter_mut().for_each(|slot| slot.marked = false);
        for (packet, reason) in returned {
            let (_, meta) = self.check_returned(&packet).map_err(|wrong| format!("free {wrong}"))?;
            if reason != abi::FREED {
                let reason = format!("free returns a packet of {} B with reason {reason}", meta.len);
                return Err(format!("{reason}; expected SOJOURN_FREED"));
            }
        }
        match (wrong, self.waiting.packets) {
            (Some(wrong), _) => Err(wrong),
            (None, 0) => Ok(()),
            (None, kept) => Err(format!("free keeps {kept} packets; it must return every queued packet")),
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if let Err(wrong) = self.final_check() {
            let last = self.slots.iter().map(|slot| slot.meta.enqueued).max().unwrap_or_default();
            self.record_fault(&wrong, last);
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

/// An opaque pointer: never null, and unique among the queued packets.
fn handle(ticket: Ticket, generation: u32) -> usize {
    (generation as usize) << HALF | (ticket as usize + 1)
}

fn split_handle(handle: usize) -> (Ticket, u32) {
    let place = handle & ((1 << HALF) - 1);
    ((place as u32).wrapping_sub(1), (handle >> HALF) as u32)
}

const HALF: u32 = usize::BITS / 2;
