//! A Sojourn queue for a host in C: packets are opaque pointers, times count from the host's own origin. Safe code
//! only: the implementor of [`Owner`] returns packets to the host and reads their headers.

use crate::abi::{self, Packet, Time};
use sojourn_aqm::class::ClassId;
use sojourn_aqm::registry::{Catalogue, Effects, NamedConfig};
use sojourn_aqm::{
    Backlog, DequeueResult, DropReason, Duration, Ecn, EnqueueResult, Instant, Limits, Link, Meta, Qdisc, Rate, Rng,
    Sink, Stats, TcpView,
};
use std::ffi::c_int;

/// Error of a call: an error code of the header, and one line of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// [`abi::INVALID`] or another negative code.
    pub code: c_int,
    /// Location and remedy.
    pub text: String,
}

impl Error {
    /// An [`abi::INVALID`] error.
    pub fn invalid(text: impl Into<String>) -> Self {
        Self { code: abi::INVALID, text: text.into() }
    }
}

/// The host's operations on its packets.
pub trait Owner {
    /// Takes back a packet that was dropped.
    fn dropped(&mut self, packet: &Packet, reason: c_int);
    /// The TCP header of a queued or arriving packet, if it has one.
    fn tcp(&self, packet: &Packet) -> Option<TcpView>;
}

/// A qdisc, and the host's descriptors of the packets in it.
pub struct Queue<O> {
    qdisc: Box<dyn Qdisc<u32> + Send>,
    packets: Packets<O>,
    start: Time,
    /// Time of the last call; `None` before the first.
    last: Option<Time>,
}

impl<O: Owner> Queue<O> {
    /// Creates an empty queue configured by `text`, which may use the registered AQMs and those of `own`.
    ///
    /// # Errors
    /// If `text` or a field of `host` is invalid, or if the AQM duplicates or damages packets.
    pub fn new(text: &str, own: &dyn Catalogue, host: &abi::Host, owner: O) -> Result<Self, Error> {
        let refused =
            |refusal: sojourn_aqm::params::ConfigError| Error { code: abi::REFUSED, text: refusal.to_string() };
        let config = NamedConfig::parse_with(text, own).map_err(refused)?.config;
        let can = Effects { reorders: true, ..Effects::default() };
        config.effects().check("a host in C", can).map_err(refused)?;
        let (limits, host, start) = (limits_from(host)?, host_from(host)?, host.start);
        let packets = Packets { slots: Vec::new(), free: Vec::new(), start, owner };
        Ok(Self { qdisc: config.build(limits, host), packets, start, last: None })
    }

    /// Enqueues a packet and returns a result code of `enqueue`.
    pub fn enqueue(&mut self, now: Time, packet: &Packet) -> Result<c_int, Error> {
        let meta = meta_from(packet)?;
        let at = self.advance(now)?;
        let slot = self.packets.insert(Packet { enqueued: now, ..*packet });
        Ok(match self.qdisc.enqueue(at, meta, slot, &mut self.packets) {
            EnqueueResult::Queued => abi::QUEUED,
            EnqueueResult::Marked => abi::MARKED,
            EnqueueResult::Dropped(_) => abi::DROPPED,
        })
    }

    /// Dequeues the next packet.
    pub fn dequeue(&mut self, now: Time) -> Result<DequeueResult<Packet>, Error> {
        let now = self.advance(now)?;
        Ok(match self.qdisc.dequeue(now, &mut self.packets) {
            DequeueResult::Packet(meta, slot) => DequeueResult::Packet(meta, self.packets.release(slot, &meta)),
            DequeueResult::Empty => DequeueResult::Empty,
            DequeueResult::NotBefore(at) => DequeueResult::NotBefore(at),
        })
    }

    /// Passes a packet through an empty queue in one call; returns whether the qdisc allowed it.
    pub fn pass(&mut self, now: Time, packet: &Packet) -> Result<bool, Error> {
        let meta = meta_from(packet)?;
        let last = self.last;
        let at = self.advance(now)?;
        let passes = self.qdisc.bypass(at, meta).is_some();
        if !passes {
            // Nothing was done, so a later call may still be for an earlier time.
            self.last = last;
        }
        Ok(passes)
    }

    /// Converts the queue's time to the host's.
    pub fn time(&self, at: Instant) -> Time {
        self.packets.time(at)
    }

    /// Runs all due periodic updates.
    pub fn settle(&mut self, now: Time) -> Result<(), Error> {
        let now = self.advance(now)?;
        self.qdisc.settle(now);
        Ok(())
    }

    /// Queued packets and bytes.
    pub fn backlog(&self) -> Backlog {
        self.qdisc.backlog()
    }

    /// Calls `see` for each state variable.
    pub fn states(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.qdisc.observe(see);
    }

    /// Calls `see` for each statistic.
    pub fn statistics(&self, see: &mut dyn FnMut(&'static str, u64)) {
        let stats = self.qdisc.stats();
        for (name, value) in STATISTICS {
            see(name, value(stats));
        }
    }

    /// Returns every queued packet to the host as [`abi::FREED`], with the ECN field of its arrival.
    pub fn return_all(&mut self) {
        for slot in 0..self.packets.slots.len() {
            if let Some(packet) = self.packets.slots[slot].take() {
                self.packets.owner.dropped(&packet, abi::FREED);
            }
        }
    }

    /// Converts the time of a call to the queue's time; calls must be in order of time.
    fn advance(&mut self, now: Time) -> Result<Instant, Error> {
        let least = self.last.unwrap_or(self.start);
        if now < least {
            return Err(Error::invalid(format!("now: {now} ns is before {least} ns, the time of an earlier call")));
        }
        let since = now.checked_sub(self.start).filter(|&since| self.last.is_some() || since <= MAX_GAP);
        let Some(since) = since else {
            let start = self.start;
            return Err(Error::invalid(format!(
                "now: {now} ns is over a day after host.start, {start} ns; set host.start to the time of the creation"
            )));
        };
        self.last = Some(now);
        Ok(Instant::from_nanos(since as u64))
    }
}

/// Descriptors of the queued packets; the qdisc holds indices into `slots`.
struct Packets<O> {
    slots: Vec<Option<Packet>>,
    free: Vec<u32>,
    start: Time,
    owner: O,
}

impl<O> Packets<O> {
    fn insert(&mut self, packet: Packet) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            u32::try_from(self.slots.len() - 1).expect("memory ends before 4 G packets")
        });
        self.slots[slot as usize] = Some(packet);
        slot
    }

    /// Removes the descriptor of a departing packet, and writes ECN field and enqueue time from `meta`.
    fn release(&mut self, slot: u32, meta: &Meta) -> Packet {
        let packet = self.slots[slot as usize].take().expect("a packet leaves once");
        self.free.push(slot);
        Packet { ecn: meta.ecn as u8, enqueued: self.time(meta.enqueued), ..packet }
    }

    fn time(&self, at: Instant) -> Time {
        self.start.saturating_add_unsigned(at.as_nanos())
    }
}

impl<O: Owner> Sink<u32> for Packets<O> {
    fn dropped(&mut self, meta: Meta, slot: u32, reason: DropReason) {
        let packet = self.release(slot, &meta);
        self.owner.dropped(&packet, reason as c_int);
    }

    fn tcp_header(&self, slot: &u32) -> Option<TcpView> {
        self.owner.tcp(self.slots[*slot as usize].as_ref()?)
    }
}

/// Metadata of a packet for the AQM, checked.
fn meta_from(packet: &Packet) -> Result<Meta, Error> {
    let Packet { length, segments, flow, source, destination, dscp, ecn, priority, .. } = *packet;
    if length == 0 {
        return Err(Error::invalid("packet.length: 0 B is not a packet; give at least 1"));
    }
    if dscp > 63 {
        return Err(Error::invalid(format!("packet.dscp: {dscp} is out of range; from 0 to 63")));
    }
    let Some(&ecn) = Ecn::ALL.get(ecn as usize) else {
        return Err(Error::invalid(format!("packet.ecn: {ecn} is out of range; from 0 to 3")));
    };
    let Ok(segments) = u16::try_from(segments.max(1)) else {
        return Err(Error::invalid(format!("packet.segments: {segments} is out of range; at most {}", u16::MAX)));
    };
    if packet.reserved != 0 || packet.reserved_2 != 0 {
        return Err(Error::invalid("packet.reserved is not 0; set the whole struct to zero before its fields"));
    }
    let meta = Meta::new(length, flow).with_ecn(ecn).with_segments(segments);
    let class = ClassId::new((priority >> 16) as u16, priority as u16);
    Ok(Meta { hosts: (source, destination), dscp, class, ..meta })
}

fn limits_from(host: &abi::Host) -> Result<Limits, Error> {
    let abi::Host { limit_packets, limit_bytes, limit_time, .. } = *host;
    if limit_time < 0 {
        return Err(Error::invalid(format!("host.limit_time: {limit_time} ns is negative; 0 sets no limit")));
    }
    Ok(Limits {
        packets: (limit_packets > 0).then_some(limit_packets),
        bytes: (limit_bytes > 0).then_some(limit_bytes),
        time: (limit_time > 0).then_some(Duration::from_nanos(limit_time)),
    })
}

fn host_from(host: &abi::Host) -> Result<sojourn_aqm::Host, Error> {
    if host.rate == 0 {
        return Err(Error::invalid("host.rate is 0; give the link's nominal rate in bit/s"));
    }
    if host.reserved != 0 {
        return Err(Error::invalid("host.reserved is not 0; set the whole struct to zero before its fields"));
    }
    let mtu = if host.mtu == 0 { 1500 } else { host.mtu };
    if host.delay < 0 {
        return Err(Error::invalid(format!("host.delay: {} ns is negative; 0 means unknown", host.delay)));
    }
    let (delay, uptime) = (Duration::from_nanos(host.delay), Duration::from_nanos(host.start));
    let link = Link { rate: Rate::from_bps(host.rate), mtu, delay, uptime };
    Ok(sojourn_aqm::Host { link, rng: Rng::from_state(host.random) })
}

type StatisticGetter = (&'static str, fn(&Stats) -> u64);

/// Statistics by name.
const STATISTICS: [StatisticGetter; 8 + 2 * DropReason::ALL.len()] = [
    ("arrived_packets", |s| s.arrived.packets),
    ("arrived_bytes", |s| s.arrived.bytes),
    ("departed_packets", |s| s.departed.packets),
    ("departed_bytes", |s| s.departed.bytes),
    ("marked_packets", |s| s.marked.packets),
    ("marked_bytes", |s| s.marked.bytes),
    ("dropped_packets", |s| s.dropped_total().packets),
    ("dropped_bytes", |s| s.dropped_total().bytes),
    ("dropped_limit_packets", |s| s.dropped[DropReason::Limit as usize].packets),
    ("dropped_limit_bytes", |s| s.dropped[DropReason::Limit as usize].bytes),
    ("dropped_early_packets", |s| s.dropped[DropReason::Early as usize].packets),
    ("dropped_early_bytes", |s| s.dropped[DropReason::Early as usize].bytes),
    ("dropped_late_packets", |s| s.dropped[DropReason::Late as usize].packets),
    ("dropped_late_bytes", |s| s.dropped[DropReason::Late as usize].bytes),
    ("dropped_hard_limit_packets", |s| s.dropped[DropReason::HardLimit as usize].packets),
    ("dropped_hard_limit_bytes", |s| s.dropped[DropReason::HardLimit as usize].bytes),
    ("dropped_replaced_packets", |s| s.dropped[DropReason::Replaced as usize].packets),
    ("dropped_replaced_bytes", |s| s.dropped[DropReason::Replaced as usize].bytes),
];

/// Maximum nanoseconds from `host.start` to the first call, a day. An AQM catches up on every periodic update since the
/// start; from the Unix epoch, that would take minutes.
const MAX_GAP: i64 = 86_400_000_000_000;
