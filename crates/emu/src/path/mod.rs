//! One direction of a shell: what happens to a packet between a read of one TUN device and a write to the other.
//!
//! Time is virtual: [`Instant`] counts nanoseconds since the shell's start on the monotonic clock, and what is due at t
//! is decided as of t, however late [`Direction::run`] is called. The caller reads first and runs then: an arrival is
//! never older than the instant of the last `run`.

mod buffer;
pub mod case;
mod change;
pub(crate) mod coalesce;
pub(crate) mod config;
mod counters;
mod current_config;
mod damage;
mod datapath;
mod ethernet;
mod goodput;
mod header;
mod on_off;
pub(crate) mod packet_header;
pub(crate) mod packets;
mod queued_link;

pub use buffer::{Buffer, Pool};
pub use coalesce::Sink;
pub use config::{DirectionConfig, Gso, LogConfig, LogFormat, PathKind, Side};
pub use counters::Counters;
pub use header::tcp_flow;

use crate::Error;
use crate::log::{RecordKind as Logged, Recorder};
use coalesce::{Coalescer, Departure, WriteResult};
use current_config::CurrentConfig;
use datapath::Datapath;
use goodput::GoodputTracker;
use header::Headers;
use on_off::OnOff;
use packets::{Packet, Packets, segments, superframe_size};
use queued_link::QueuedLink;
use sojourn_aqm::class::ClassId;
use sojourn_aqm::{Duration, Instant, Meta};
use sojourn_sim::scenario::Steps;
use sojourn_sim::{Histogram, Medium};
use std::io::{self, IoSlice};

/// What a direction did.
#[derive(Clone, Debug)]
pub struct Report {
    /// Which way it went.
    pub side: Side,
    /// Counters at the end.
    pub counters: Counters,
    /// Writing minus due time of every packet.
    pub lateness: Histogram,
    /// Of a link, the share of what it could have sent that it sent, from 0 to 1.
    pub utilisation: Option<f64>,
    /// Why a log is not complete: the first error of writing it, with the file's name.
    pub log_error: Option<String>,
}

/// One direction at work.
pub struct Direction {
    side: Side,
    link: Option<QueuedLink>,
    datapath: Datapath,
    /// Of what is logged, the payload that has left.
    goodput: GoodputTracker,
    coalescer: Coalescer,
    window: Duration,
    /// Whether the last packets left within the window of each other, so that it pays to wait for the next one.
    dense: bool,
    lateness: Histogram,
    now: Instant,
    /// Whether super-packets stay whole.
    keeps_superframes: bool,
    /// Whether they do where the queue takes them.
    gso_keep: bool,
    /// Whether frames have a link's header.
    ethernet: bool,
    /// Classes that packets name by a port.
    classes: Vec<(u16, ClassId)>,
    /// What it does now, and what of that changes.
    current: CurrentConfig,
}

impl Direction {
    /// A direction with random streams of `seed`; opens its logs.
    pub fn new(config: DirectionConfig, seed: u64) -> Result<Self, Error> {
        let index = config.number;
        let none = Steps::constant(Duration::ZERO);
        let medium = |loss, delays: &Steps<Duration>, reorder| Medium::new(loss, delays, reorder, seed, index);
        let (mut station, mut on_off) = (None, None);
        let medium = match &config.kind {
            PathKind::Link(spec) => {
                if spec.below.is_some() {
                    return Err(Error::Input(
                        "below: an emulated link has no buffer below its queue; leave it out".into(),
                    ));
                }
                if spec.gro.is_some() {
                    return Err(Error::Input("gro: an emulated link has no receive offload; leave it out".into()));
                }
                if spec.tick.is_some() {
                    return Err(Error::Input("tick: an emulated link has no clock of its own; leave it out".into()));
                }
                station = Some(QueuedLink::new(spec, seed, index));
                Some(medium(spec.loss, &spec.delays, spec.reorder))
            }
            PathKind::Delay(delays) => Some(medium(None, delays, false)),
            PathKind::Loss(loss) => Some(medium(*loss, &none, false)),
            PathKind::OnOff { on, off, fixed } => {
                on_off = OnOff::new([*on, *off], *fixed, seed, index);
                None
            }
        };
        let recorder = Recorder::new(&config, seed)?;
        let whole = match &config.kind {
            PathKind::Link(_) => !station.as_ref().is_some_and(QueuedLink::splits_gso),
            PathKind::Delay(_) => true,
            // A medium loses what is on it, segments.
            PathKind::Loss(_) | PathKind::OnOff { .. } => false,
        };
        let gso_keeps = config.gso == Gso::Keep;
        let keeps = whole && gso_keeps;
        Ok(Self {
            side: config.side,
            link: station,
            datapath: Datapath::new(medium, on_off, recorder),
            goodput: GoodputTracker::default(),
            coalescer: Coalescer::new(config.window > Duration::ZERO),
            window: config.window,
            dense: false,
            lateness: Histogram::default(),
            now: Instant::ZERO,
            keeps_superframes: keeps,
            gso_keep: gso_keeps,
            ethernet: config.ethernet,
            classes: config.classes,
            current: CurrentConfig::new(config.kind, seed, index),
        })
    }

    /// One read of the TUN device at `at`, never before the last [`Self::run`]: virtio header and packet or superframe.
    ///
    /// Every packet of a superframe arrives at `at`, and is judged alone, unless super-packets are kept.
    pub fn arrive(&mut self, at: Instant, mut buffer: Buffer) {
        let at = at.max(self.now);
        self.change_until(at);
        self.now = at;
        let course = &mut self.datapath;
        let link = if self.ethernet { ethernet::split(&mut buffer) } else { Some(0) };
        let Some(number) = link.and_then(|link| course.packets.admit(buffer, link)) else {
            course.counters.malformed += 1;
            return;
        };
        let page = course.packets.page(number);
        let about = page.headers;
        let class = class_of(&self.classes, &about, page.head());
        let named = Meta { hosts: about.hosts, dscp: about.dscp, class, ..Meta::new(0, about.flow) };
        let named = named.with_ecn(about.ecn);
        let packet = Packet {
            page: number,
            number: 0,
            arrived: at,
            offset: 0,
            len: 0,
            index: 0,
            segments: 1,
            last: true,
            ecn: about.ecn,
            flip: None,
        };
        // Either one of all segments, or each of them.
        let superframe = superframe_size(page).filter(|_| self.keeps_superframes).map(|(len, segments)| Packet {
            len,
            segments,
            ..packet
        });
        let cut = segments(page).filter(|_| superframe.is_none()).zip(0..);
        let each = cut.map(|((offset, len, last), index)| Packet { offset, len, index, last, ..packet });
        for packet in superframe.into_iter().chain(each) {
            let bytes = course.packets.page(number).ip_bytes(&packet);
            let packet = Packet { number: course.counters.offered as u32, ..packet };
            course.counters.offered += 1;
            course.counters.arrived.0 += u64::from(packet.segments);
            course.counters.arrived.1 += u64::from(bytes);
            let handle = course.packets.insert(packet);
            let meta = Meta { len: bytes, ..named }.with_segments(packet.segments);
            match &mut self.link {
                Some(station) => {
                    station.advance(at, course);
                    station.arrive(at, meta, handle, course);
                }
                None => course.forward(at, &meta, handle),
            }
        }
        course.packets.release_page(number);
    }

    /// Does everything that is due up to and including `now`.
    pub fn run(&mut self, now: Instant, out: &mut dyn Sink) {
        self.change_until(now);
        self.now = self.now.max(now);
        let course = &mut self.datapath;
        if let Some(station) = &mut self.link {
            station.advance(now, course);
        }
        let mut last = None;
        while let Some(departure) = next_departure(course, &mut self.goodput, now) {
            let due = departure.due;
            self.dense = last.is_some_and(|last| due - last <= self.window);
            last = Some(due);
            self.lateness.record(now - due);
            let (recorder, refused) = (&mut course.recorder, &mut course.counters.refused);
            let mut done =
                |written: WriteResult, packets: &Packets| record_write(recorder, refused, now, &written, packets);
            self.coalescer.push(departure, &mut course.packets, out, &mut done);
        }
        let (recorder, refused) = (&mut course.recorder, &mut course.counters.refused);
        let mut done =
            |written: WriteResult, packets: &Packets| record_write(recorder, refused, now, &written, packets);
        self.coalescer.flush(&mut course.packets, out, &mut done);
        course.recorder.tick(now);
    }

    /// Does everything that is due up to and including `now`, and hands each packet on at the virtual time at which it
    /// leaves, as a frame of its own, to another direction.
    pub fn forward(&mut self, now: Instant, next: &mut dyn FnMut(Instant, &[IoSlice<'_>])) {
        self.change_until(now);
        self.now = self.now.max(now);
        let course = &mut self.datapath;
        if let Some(station) = &mut self.link {
            station.advance(now, course);
        }
        while let Some(departure) = next_departure(course, &mut self.goodput, now) {
            let mut out = ForwardingSink { due: departure.due, next };
            // There is nobody who could refuse it, and nothing is late in virtual time.
            self.coalescer.push(departure, &mut course.packets, &mut out, &mut |_, _| {});
            self.coalescer.flush(&mut course.packets, &mut out, &mut |_, _| {});
        }
        course.recorder.tick(now);
    }

    /// When something happens next in virtual time that others may see: a packet leaves, or what waits changes.
    pub fn next_event(&self) -> Option<Instant> {
        let exit = self.datapath.exits.front().map(|&(due, _)| due);
        let station = self.link.as_ref().filter(|station| station.is_backlogged()).and_then(QueuedLink::next);
        let station = station.map(|next| next.min(self.current.next_change));
        [exit, station].into_iter().flatten().min()
    }

    /// When [`Self::run`] has something to do next; `None` until a packet arrives.
    ///
    /// Where packets follow each other within the window, it is the end of the window of the first one.
    pub fn due(&self) -> Option<Instant> {
        self.due_within(self.dense)
    }

    /// [`Self::due`] as if packets followed each other within the window, or as if they did not: where they do in one
    /// direction, the other one's leave with them.
    pub fn due_within(&self, dense: bool) -> Option<Instant> {
        let exit = self.datapath.exits.front().map(|&(due, _)| due);
        let waiting = || self.link.as_ref().filter(|station| station.is_backlogged());
        let next =
            exit.or_else(|| waiting().and_then(QueuedLink::next).map(|next| next.min(self.current.next_change)))?;
        Some(if dense { next + self.window } else { next })
    }

    /// Whether the packets that left last followed each other within the window.
    pub fn is_dense(&self) -> bool {
        self.dense
    }

    /// Whether packets leave in groups, and the next one leaves in `left` nanoseconds at the latest, so that what arrives
    /// meanwhile may be read with it: a wake-up costs more than that is worth.
    pub fn can_defer(&self, left: u64) -> bool {
        self.dense && left <= 2 * self.window.as_nanos() as u64
    }

    /// Whether so many packets are due at `now` that a write of their own is worth it.
    pub fn should_flush(&self, now: Instant) -> bool {
        self.datapath.exits.get(FLUSH_THRESHOLD - 1).is_some_and(|&(due, _)| due <= now)
    }

    /// Counters so far, for the live view.
    pub fn counters(&self) -> Counters {
        match self.link {
            Some(_) => self.datapath.counters,
            None => Counters { backlog: self.datapath.exits.len() as u64, ..self.datapath.counters },
        }
    }

    /// Of a link, its keys now; of others what they do.
    pub fn kind(&self) -> &PathKind {
        self.current.kind()
    }

    /// Ends the direction: closes its logs. What still waits is lost.
    pub fn finish(mut self) -> Report {
        let utilisation = self.link.as_mut().map(|station| station.utilisation(self.now));
        Report {
            side: self.side,
            counters: self.datapath.counters,
            lateness: self.lateness,
            utilisation,
            log_error: self.datapath.recorder.finish(self.now).map(|error| error.to_string()),
        }
    }
}

/// The next packet that has left at `now`; it counts.
fn next_departure(course: &mut Datapath, fresh: &mut GoodputTracker, now: Instant) -> Option<Departure> {
    let &(due, handle) = course.exits.front().filter(|&&(due, _)| due <= now)?;
    course.exits.pop_front();
    let packet = *course.packets.get(handle);
    course.counters.delay_ns = (due - packet.arrived).as_nanos() as u64;
    course.counters.departed.0 += u64::from(packet.segments);
    let page = course.packets.page(packet.page);
    course.counters.departed.1 += u64::from(page.ip_bytes(&packet));
    if course.recorder.logs() {
        match fresh.new_payload(page, &packet) {
            0 => {}
            bytes => course.recorder.event(due, Logged::Payload, packet.number, bytes.into()),
        }
    }
    Some(Departure { due, handle })
}

/// Hands frames on that leave at one instant.
struct ForwardingSink<'a> {
    due: Instant,
    next: &'a mut dyn FnMut(Instant, &[IoSlice<'_>]),
}

impl Sink for ForwardingSink<'_> {
    fn write(&mut self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        (self.next)(self.due, parts);
        Ok(())
    }
}

/// The class that a packet names by one of its ports; the first rule that holds.
fn class_of(classes: &[(u16, ClassId)], about: &Headers, head: &[u8]) -> ClassId {
    if classes.is_empty() {
        return ClassId::NONE;
    }
    let named = |ports: [u16; 2]| classes.iter().find(|(port, _)| ports.contains(port)).map(|&(_, class)| class);
    about.ports(head).and_then(named).unwrap_or_default()
}

/// Writes down what became of a write, where that was not as it should be.
fn record_write(recorder: &mut Recorder, refused: &mut u64, now: Instant, written: &WriteResult, packets: &Packets) {
    if !written.accepted {
        for &handle in written.handles {
            *refused += u64::from(packets.get(handle).segments);
            recorder.event(now, Logged::Refused, packets.get(handle).number, 1);
        }
    }
    let late = now - written.due;
    if late > OVERDUE {
        let number = packets.get(written.handles[0]).number;
        recorder.event(now, Logged::Overdue, number, late.as_nanos() as u64);
    }
}

/// Packets that are worth a write where more are on their way.
const FLUSH_THRESHOLD: usize = 8;

/// A write that is later is in the log.
const OVERDUE: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests;
