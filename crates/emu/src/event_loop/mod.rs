//! The event loop of an emulation: read what has arrived at the devices, do what is due, wait.
//!
//! A shell and a network of nodes are a [`Network`] each: devices from which frames come, packets that leave at a time,
//! and events of their own. Everything else is here once: stalls, orders, the live view, the machine's load.

pub(crate) mod control_protocol;
pub(crate) mod control_socket;
pub(crate) mod load;
pub(crate) mod meter;
pub(crate) mod stalls;
pub(crate) mod usage;

use crate::Error;
use crate::error::machine;
use crate::path::{Buffer, Direction, Pool, Sink};
use crate::sys::clock::{self, Interest, Poll};
use crate::sys::tun::{Tun, VIRTIO_HEADER};
use control_protocol::DirectionSet;
use control_socket::ControlSocket;
use load::MachineLoad;
use meter::CounterPublisher;
use sojourn_aqm::Instant;
use sojourn_aqm::registry::Catalogue;
use stalls::{HEARTBEAT, Stalls};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd};
use usage::Usage;

/// Devices, the packets between them, and events that are no packets.
pub trait Network {
    /// Number of devices.
    fn devices(&self) -> usize;

    /// A device by its number; `None` if the network has it only sometimes, and not now.
    fn device(&self, number: usize) -> Option<&Tun>;

    /// Buffers for frames.
    fn pool(&self) -> &Pool;

    /// Whether a frame takes part: what a kernel sends to its neighbours alone does not.
    fn accepts(&self, frame: &[u8]) -> bool {
        !is_local_noise(frame)
    }

    /// Takes a frame that a device had at `at`, never before the last [`Self::run`].
    fn arrive(&mut self, device: usize, at: Instant, frame: Buffer);

    /// Packets that have arrived so far; they tell how many were read after a stall.
    fn arrived(&self) -> u64;

    /// Whether so many packets are due at `now` that a write of their own is worth it, if they were to leave in a group.
    fn should_flush(&self, now: Instant) -> bool;

    /// When [`Self::run`] has something to do next. Where packets leave in groups, it is the end of the group's window.
    fn due(&self) -> Option<Instant>;

    /// Whether packets leave in groups, and the next group so soon, within `left` nanoseconds, that what arrives
    /// meanwhile can be read with it.
    fn can_defer(&self, left: u64) -> bool;

    /// Does what is due up to and including `now`, and writes what leaves to the devices.
    fn run(&mut self, now: Instant);

    /// The two directions that the live view shows, up first.
    fn metered(&self) -> [&Direction; 2];

    /// Gives an order the directions as of `now`, by their names.
    fn order(&mut self, now: Instant, order: &mut dyn FnMut(DirectionSet<'_>));

    /// Watches descriptors of its own; their tokens are [`EVENTS`] and above, below [`EVENTS_END`].
    fn watch(&self, poll: &Poll) -> io::Result<()>;

    /// Handles an event of a descriptor of its own; whether it ends the run.
    fn event(&mut self, token: u64, now: Instant, poll: &Poll) -> Result<bool, Error>;
}

/// The loop, and what it serves besides the network.
pub struct EventLoop<'a> {
    /// Virtual time zero, on the monotonic clock.
    pub zero_ns: u64,
    /// How long before something is due the loop polls the devices without sleeping; `None`: never, also not when
    /// something is overdue, because there may be many devices.
    pub spin_ns: Option<u64>,
    /// What the live view shows.
    pub gauges: Option<CounterPublisher>,
    /// Where orders come in.
    pub control_socket: Option<ControlSocket>,
    /// Queue managers that orders may name besides the registered ones.
    pub catalogue: &'a dyn Catalogue,
}

impl EventLoop<'_> {
    /// Runs until an event ends it and the packets under way have left, or [`LINGER_NS`] have passed since; before
    /// ordinary processes and with exact timers, if this process may. What it used counts from the call.
    pub fn run(mut self, network: &mut impl Network) -> (Result<(), Error>, Usage) {
        let exact = clock::exact_timers().is_ok();
        let first = clock::run_first().is_ok();
        let (cpu_ns, load) = (clock::cpu_ns(), MachineLoad::now());
        let mut stalls = Stalls::default();
        let ended = self.turn(network, &mut stalls);
        let (wall_ns, cpu_ns) = (clock::monotonic_ns().saturating_sub(self.zero_ns), clock::cpu_ns() - cpu_ns);
        let load = MachineLoad::now().since(load);
        if first {
            let _ = clock::run_as_others();
        }
        (ended, Usage { stalls, load, wall_ns, cpu_ns, realtime: first && exact })
    }

    fn turn(&mut self, network: &mut impl Network, stalls: &mut Stalls) -> Result<(), Error> {
        let poll = self.watch(network)?;
        let mut ready = Vec::new();
        let mut rounds = 0u32;
        let mut ending: Option<Instant> = None;
        let mut expected = self.now();
        // Whether the devices may hold what arrived during a stall.
        let mut late = false;
        // When the network is to be run at the latest.
        let mut beat = 0;
        // Whether the devices were not waited for, because the loop spins or sleeps until a group of packets leaves.
        let mut unwatched = false;
        loop {
            let back = self.now();
            late |= stalls.back(expected, back);
            let before = late.then(|| network.arrived());
            // A device with frames is readable; unless the loop waited for that, it looks at all of them.
            let look = late || back.as_nanos() >= beat;
            let (mut now, mut drained) = (back, true);
            for device in 0..network.devices() {
                if look || unwatched || ready.contains(&(device as u64)) {
                    let read = self.read(network, device).map_err(machine)?;
                    (now, drained) = (now.max(read.at), drained && read.drained);
                }
            }
            // Arrivals alone do not let packets go one by one that were to leave together.
            if look || network.should_flush(now) || network.due().is_some_and(|due| due <= now) {
                network.run(now);
                beat = now.as_nanos() + HEARTBEAT.as_nanos() as u64;
            }
            if let Some(before) = before {
                stalls.late_packets += network.arrived() - before;
                late = !drained;
            }
            if let Some(gauges) = &self.gauges {
                let [up, down] = network.metered();
                gauges.show(now, up, down);
            }
            let mut due = network.due();
            if let Some(end) = ending {
                if due.is_none() || self.now() >= end {
                    return Ok(());
                }
                // A link that will not send again is due at no time that comes.
                due = due.map(|due| due.min(end));
            }
            let now = self.now();
            // If the loop stood still at work, it did not read meanwhile either.
            late |= stalls.back(back, now);
            let left = due.map_or(u64::MAX, |due| due.as_nanos().saturating_sub(now.as_nanos()));
            rounds = rounds.wrapping_add(1);
            let spins = self.spin_ns.is_some_and(|spin| left <= spin);
            let waits = drained && network.can_defer(left);
            unwatched = (spins || waits) && rounds % ROUNDS != 0;
            if spins && unwatched {
                expected = back;
                continue;
            }
            let sleep = left.saturating_sub(self.spin_ns.unwrap_or(0)).min(HEARTBEAT.as_nanos() as u64);
            expected = Instant::from_nanos(now.as_nanos() + sleep);
            if unwatched {
                std::thread::sleep(std::time::Duration::from_nanos(sleep));
                continue;
            }
            poll.wait(Some(sleep), &mut ready).map_err(machine)?;
            for &token in ready.iter().filter(|&&token| token >= EVENTS) {
                let over = if token >= EVENTS_END {
                    self.order(token, network, &poll);
                    false
                } else {
                    network.event(token, self.now(), &poll)?
                };
                if over && ending.is_none() {
                    ending = Some(Instant::from_nanos(self.now().as_nanos() + LINGER_NS));
                }
            }
        }
    }

    /// Virtual time; zero until it begins.
    fn now(&self) -> Instant {
        Instant::from_nanos(clock::monotonic_ns().saturating_sub(self.zero_ns))
    }

    fn watch(&self, network: &impl Network) -> Result<Poll, Error> {
        let watch = || -> io::Result<Poll> {
            let poll = Poll::new()?;
            for (number, token) in (0..network.devices()).zip(0..) {
                if let Some(tun) = network.device(number) {
                    poll.add(tun.as_fd(), token, Interest::READ)?;
                }
            }
            network.watch(&poll)?;
            if let Some(desk) = &self.control_socket {
                poll.add(desk.listener(), DESK, Interest::READ)?;
            }
            Ok(poll)
        };
        watch().map_err(machine)
    }

    /// Reads what a device has, up to [`BATCH`] frames.
    fn read(&self, network: &mut impl Network, device: usize) -> io::Result<ReadProgress> {
        let mut at = Instant::ZERO;
        for _ in 0..BATCH {
            let Some(tun) = network.device(device) else { return Ok(ReadProgress { at, drained: true }) };
            at = self.now();
            let mut buffer = network.pool().take();
            match tun.read(buffer.room())? {
                None => return Ok(ReadProgress { at, drained: true }),
                Some(length) => buffer.set_len(length),
            }
            if network.accepts(buffer.frame()) {
                network.arrive(device, at, buffer);
            }
        }
        Ok(ReadProgress { at, drained: false })
    }

    /// Takes a connection to the desk, or an order of a client.
    fn order(&mut self, token: u64, network: &mut impl Network, poll: &Poll) {
        let (now, own) = (self.now(), self.catalogue);
        let Some(desk) = &mut self.control_socket else { return };
        if token < CLIENTS {
            if let Some(client) = desk.accept() {
                let _ = poll.add(client, CLIENTS + client.as_raw_fd() as u64, Interest::READ);
            }
            return;
        }
        network.order(now, &mut |sides| desk.answer((token - CLIENTS) as i32, now, sides, own));
    }
}

/// How far a device was read.
struct ReadProgress {
    /// A time at which nothing older was left, or from which on the rest will be stamped.
    at: Instant,
    /// Whether nothing was left.
    drained: bool,
}

/// Whether a frame is what a kernel sends to its neighbours on a link: multicast and broadcast, which no router would
/// take further.
pub(crate) fn is_local_noise(frame: &[u8]) -> bool {
    let Some(ip) = frame.get(VIRTIO_HEADER..) else { return false };
    match ip.first().map(|first| first >> 4) {
        Some(4) => ip.get(16).is_some_and(|&to| to >= 224),
        Some(6) => ip.get(24).is_some_and(|&to| to == 0xff),
        _ => false,
    }
}

impl Sink for &Tun {
    fn write(&mut self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        Tun::write(self, parts)
    }
}

/// Most frames read in a row from one device.
const BATCH: usize = 8;

/// Rounds without a look at what is no packet.
const ROUNDS: u32 = 64;

/// How long the last packets may be under way after the end.
const LINGER_NS: u64 = 1_000_000_000;

/// The first token of a network's own descriptors; those below are its devices.
pub const EVENTS: u64 = 1 << 32;
/// The first token that is no network's.
pub const EVENTS_END: u64 = DESK;
const DESK: u64 = 1 << 36;
const CLIENTS: u64 = 1 << 37;
