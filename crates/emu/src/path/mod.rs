//! One direction of a shell: processing of a packet between the read from one TUN device and the write to the other.
//!
//! Time is virtual: [`Instant`] counts nanoseconds since the shell's start on the monotonic clock, and an event due at
//! t is decided as of t, however late [`Direction::run`] is called. The caller first reads and then runs, so no arrival
//! is older than the last `run`.

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
mod ports;
mod queued_link;

pub use buffer::{Buffer, Pool};
pub use coalesce::Sink;
pub use config::{DirectionConfig, Gso, LogConfig, LogFormat, PathKind, Side};
pub use counters::Counters;
pub use header::tcp_flow;
pub use ports::PortRules;

use crate::Error;
use crate::log::{RecordKind as Logged, Recorder};
use coalesce::{Coalescer, Departure, WriteResult};
use current_config::CurrentConfig;
use datapath::Datapath;
use goodput::GoodputTracker;
use on_off::OnOff;
use packets::{Packet, Packets, segments, superframe_size};
use queued_link::QueuedLink;
use sojourn_aqm::{Duration, Instant, Meta};
use sojourn_sim::scenario::Steps;
use sojourn_sim::{Histogram, Medium};
use std::io::{self, IoSlice};

/// Result of a direction.
#[derive(Clone, Debug)]
pub struct Report {
    /// Its side.
    pub side: Side,
    /// Counters at the end.
    pub counters: Counters,
    /// Write time minus departure time of every packet.
    pub lateness: Histogram,
    /// Capacity used divided by capacity available, from 0 to 1; links only.
    pub utilisation: Option<f64>,
    /// First error of writing a log, with the name of the file; the log is incomplete.
    pub log_error: Option<String>,
}

/// One running direction.
pub struct Direction {
    side: Side,
    link: Option<QueuedLink>,
    datapath: Datapath,
    /// Payload that has left, for the logs.
    goodput: GoodputTracker,
    coalescer: Coalescer,
    window: Duration,
    /// Whether the last packets left within the window of each other, so that it pays to wait for the next one.
    dense: bool,
    lateness: Histogram,
    now: Instant,
    /// Whether super-packets stay whole.
    keeps_superframes: bool,
    /// Whether they stay whole if the queue accepts them.
    gso_keep: bool,
    /// Whether frames have a link-layer header.
    ethernet: bool,
    /// Classes and hosts of packets by port.
    ports: PortRules,
    /// Current configuration, and planned changes.
    current: CurrentConfig,
}

impl Direction {
    /// Creates a direction with the random streams of `seed`, and opens its logs.
    pub fn new(config: DirectionConfig, seed: u64) -> Result<Self, Error> {
        let index = config.number;
        let none = Steps::constant(Duration::ZERO);
        let medium = |loss, delays: &Steps<Duration>, reorder| Medium::new(loss, delays, reorder, seed, index);
        let (mut queued_link, mut on_off) = (None, None);
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
                queued_link = Some(QueuedLink::new(spec, seed, index));
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
            PathKind::Link(_) => !queued_link.as_ref().is_some_and(QueuedLink::splits_gso),
            PathKind::Delay(_) => true,
            // A medium loses single segments.
            PathKind::Loss(_) | PathKind::OnOff { .. } => false,
        };
        let gso_keep = config.gso == Gso::Keep;
        let keeps_superframes = whole && gso_keep;
        Ok(Self {
            side: config.side,
            link: queued_link,
            datapath: Datapath::new(medium, on_off, recorder),
            goodput: GoodputTracker::default(),
            coalescer: Coalescer::new(config.window > Duration::ZERO),
            window: config.window,
            dense: false,
            lateness: Histogram::default(),
            now: Instant::ZERO,
            keeps_superframes,
            gso_keep,
            ethernet: config.ethernet,
            ports: config.ports,
            current: CurrentConfig::new(config.kind, seed, index),
        })
    }

    /// Handles one read of the TUN device at `at`, not before the last [`Self::run`]: virtio header, and packet or
    /// superframe.
    ///
    /// Each segment of a superframe arrives at `at` and is enqueued by itself, unless super-packets stay whole.
    pub fn arrive(&mut self, at: Instant, mut buffer: Buffer) {
        let at = at.max(self.now);
        self.change_until(at);
        self.now = at;
        let datapath = &mut self.datapath;
        let link = if self.ethernet { ethernet::split(&mut buffer) } else { Some(0) };
        let Some(number) = link.and_then(|link| datapath.packets.admit(buffer, link)) else {
            datapath.counters.malformed += 1;
            return;
        };
        let page = datapath.packets.page(number);
        let headers = page.headers;
        let (class, hosts) = self.ports.of(&headers, page.head());
        let named = Meta { hosts, dscp: headers.dscp, class, ..Meta::new(0, headers.flow) };
        let named = named.with_ecn(headers.ecn);
        let packet = Packet {
            page: number,
            number: 0,
            arrived: at,
            offset: 0,
            len: 0,
            index: 0,
            segments: 1,
            last: true,
            ecn: headers.ecn,
            flip: None,
        };
        // Either one packet of all segments, or one packet per segment.
        let superframe = superframe_size(page).filter(|_| self.keeps_superframes).map(|(len, segments)| Packet {
            len,
            segments,
            ..packet
        });
        let cut = segments(page).filter(|_| superframe.is_none()).zip(0..);
        let each = cut.map(|((offset, len, last), index)| Packet { offset, len, index, last, ..packet });
        for packet in superframe.into_iter().chain(each) {
            let bytes = datapath.packets.page(number).ip_bytes(&packet);
            let packet = Packet { number: datapath.counters.offered as u32, ..packet };
            datapath.counters.offered += 1;
            datapath.counters.arrived.0 += u64::from(packet.segments);
            datapath.counters.arrived.1 += u64::from(bytes);
            let handle = datapath.packets.insert(packet);
            let meta = Meta { len: bytes, ..named }.with_segments(packet.segments);
            match &mut self.link {
                Some(queued_link) => {
                    queued_link.advance(at, datapath);
                    queued_link.arrive(at, meta, handle, datapath);
                }
                None => datapath.forward(at, &meta, handle),
            }
        }
        datapath.packets.release_page(number);
    }

    /// Processes everything due up to and including `now`.
    pub fn run(&mut self, now: Instant, out: &mut dyn Sink) {
        self.change_until(now);
        self.now = self.now.max(now);
        let datapath = &mut self.datapath;
        if let Some(queued_link) = &mut self.link {
            queued_link.advance(now, datapath);
        }
        let mut last = None;
        while let Some(departure) = next_departure(datapath, &mut self.goodput, now) {
            let due = departure.due;
            self.dense = last.is_some_and(|last| due - last <= self.window);
            last = Some(due);
            self.lateness.record(now - due);
            let (recorder, refused) = (&mut datapath.recorder, &mut datapath.counters.refused);
            let mut done =
                |written: WriteResult, packets: &Packets| record_write(recorder, refused, now, &written, packets);
            self.coalescer.push(departure, &mut datapath.packets, out, &mut done);
        }
        let (recorder, refused) = (&mut datapath.recorder, &mut datapath.counters.refused);
        let mut done =
            |written: WriteResult, packets: &Packets| record_write(recorder, refused, now, &written, packets);
        self.coalescer.flush(&mut datapath.packets, out, &mut done);
        datapath.recorder.tick(now);
    }

    /// Processes everything due up to and including `now`, and passes each departing packet, as its own frame and with
    /// its virtual departure time, to `next`.
    pub fn forward(&mut self, now: Instant, next: &mut dyn FnMut(Instant, &[IoSlice<'_>])) {
        self.change_until(now);
        self.now = self.now.max(now);
        let datapath = &mut self.datapath;
        if let Some(queued_link) = &mut self.link {
            queued_link.advance(now, datapath);
        }
        while let Some(departure) = next_departure(datapath, &mut self.goodput, now) {
            let mut out = ForwardingSink { due: departure.due, next };
            // The next direction rejects no frame, and in virtual time no packet is late.
            self.coalescer.push(departure, &mut datapath.packets, &mut out, &mut |_, _| {});
            self.coalescer.flush(&mut datapath.packets, &mut out, &mut |_, _| {});
        }
        datapath.recorder.tick(now);
    }

    /// Time of the next externally visible event: a departure, or a change of the backlog.
    pub fn next_event(&self) -> Option<Instant> {
        let exit = self.datapath.exits.front().map(|&(due, _)| due);
        let queued_link =
            self.link.as_ref().filter(|queued_link| queued_link.is_backlogged()).and_then(QueuedLink::next);
        let queued_link = queued_link.map(|next| next.min(self.current.next_change));
        [exit, queued_link].into_iter().flatten().min()
    }

    /// Time of the next call of [`Self::run`]; `None` until a packet arrives.
    ///
    /// If packets follow each other within the window, this is the end of the first packet's window.
    pub fn due(&self) -> Option<Instant> {
        self.due_within(self.dense)
    }

    /// [`Self::due`] with `dense` given, because packets of one direction leave together with those of the other if
    /// either is dense.
    pub fn due_within(&self, dense: bool) -> Option<Instant> {
        let exit = self.datapath.exits.front().map(|&(due, _)| due);
        let waiting = || self.link.as_ref().filter(|queued_link| queued_link.is_backlogged());
        let next =
            exit.or_else(|| waiting().and_then(QueuedLink::next).map(|next| next.min(self.current.next_change)))?;
        Some(if dense { next + self.window } else { next })
    }

    /// Whether the last departures followed each other within the window.
    pub fn is_dense(&self) -> bool {
        self.dense
    }

    /// Whether packets leave in groups, and the next group within `left` nanoseconds, so soon that reads can wait for
    /// it: a wake-up costs more than an earlier read gains.
    pub fn can_defer(&self, left: u64) -> bool {
        self.dense && left <= 2 * self.window.as_nanos() as u64
    }

    /// Whether enough packets are due at `now` to justify a write of their own.
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

    /// Current configuration; of a link, with the changes made so far.
    pub fn kind(&self) -> &PathKind {
        self.current.kind()
    }

    /// Ends the direction and closes its logs; waiting packets are lost.
    pub fn finish(mut self) -> Report {
        let utilisation = self.link.as_mut().map(|queued_link| queued_link.utilisation(self.now));
        Report {
            side: self.side,
            counters: self.datapath.counters,
            lateness: self.lateness,
            utilisation,
            log_error: self.datapath.recorder.finish(self.now).map(|error| error.to_string()),
        }
    }
}

/// Removes and counts the next packet that has left by `now`.
fn next_departure(datapath: &mut Datapath, goodput: &mut GoodputTracker, now: Instant) -> Option<Departure> {
    let &(due, handle) = datapath.exits.front().filter(|&&(due, _)| due <= now)?;
    datapath.exits.pop_front();
    let packet = *datapath.packets.get(handle);
    datapath.counters.delay_ns = (due - packet.arrived).as_nanos() as u64;
    datapath.counters.departed.0 += u64::from(packet.segments);
    let page = datapath.packets.page(packet.page);
    datapath.counters.departed.1 += u64::from(page.ip_bytes(&packet));
    if datapath.recorder.logs() {
        match goodput.new_payload(page, &packet) {
            0 => {}
            bytes => datapath.recorder.event(due, Logged::Payload, packet.number, bytes.into()),
        }
    }
    Some(Departure { due, handle })
}

/// Passes on frames that leave at one instant.
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

/// Logs rejected and late writes.
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

/// Number of due packets that justify a write before the end of the window.
const FLUSH_THRESHOLD: usize = 8;

/// Later writes are logged.
const OVERDUE: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests;
