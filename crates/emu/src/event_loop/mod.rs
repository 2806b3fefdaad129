//! The event loop of an emulation: read packets from the devices, process what is due, wait.
//!
//! A shell and a network of nodes each implement [`Network`]: devices, packets that leave at scheduled times, and
//! descriptors of their own. Stalls, control requests, the live view and the machine's load are handled here for both.

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

/// Devices, the packets between them, and further descriptors.
pub trait Network {
    /// Number of devices.
    fn devices(&self) -> usize;

    /// A device by its number; `None` if it does not exist at present.
    fn device(&self, number: usize) -> Option<&Tun>;

    /// Buffers for frames.
    fn pool(&self) -> &Pool;

    /// Whether a frame is emulated; traffic for neighbours on the link is not.
    fn accepts(&self, frame: &[u8]) -> bool {
        !is_local_noise(frame)
    }

    /// Handles a frame read from a device at `at`, not before the last [`Self::run`].
    fn arrive(&mut self, device: usize, at: Instant, frame: Buffer);

    /// Packets that have arrived so far, to count those read after a stall.
    fn arrived(&self) -> u64;

    /// Whether enough packets are due at `now` to justify a write before the end of their group's window.
    fn should_flush(&self, now: Instant) -> bool;

    /// Time of the next call of [`Self::run`]; if packets leave in groups, the end of the group's window.
    fn due(&self) -> Option<Instant>;

    /// Whether packets leave in groups, and the next group within `left` nanoseconds, so soon that reads can wait for
    /// it.
    fn can_defer(&self, left: u64) -> bool;

    /// Processes everything due up to and including `now`, and writes departing packets to the devices.
    fn run(&mut self, now: Instant);

    /// The two directions that the live view shows, up first.
    fn metered(&self) -> [&Direction; 2];

    /// Passes the directions at `now`, by name, to the control request `order`.
    fn control(&mut self, now: Instant, order: &mut dyn FnMut(DirectionSet<'_>));

    /// Registers the network's own descriptors, with tokens from [`EVENTS`] to below [`EVENTS_END`].
    fn watch(&self, poll: &Poll) -> io::Result<()>;

    /// Handles an event of one of these descriptors; returns whether it ends the run.
    fn event(&mut self, token: u64, now: Instant, poll: &Poll) -> Result<bool, Error>;
}

/// The event loop, and what it handles besides the network.
pub struct EventLoop<'a> {
    /// Virtual time zero in nanoseconds of the monotonic clock.
    pub zero_ns: u64,
    /// Duration of busy polling before the next event is due. `None`: the loop never spins, not even if an event is
    /// overdue, because there may be many devices.
    pub spin_ns: Option<u64>,
    /// Counters for the live view.
    pub publisher: Option<CounterPublisher>,
    /// Socket for control requests.
    pub control_socket: Option<ControlSocket>,
    /// Queue managers that control requests can name besides the registered ones.
    pub catalogue: &'a dyn Catalogue,
}

impl EventLoop<'_> {
    /// Runs until an event ends the run and the packets in flight have left, at most [`LINGER_NS`] later. Uses
    /// real-time priority and exact timers if permitted. Usage is measured from the call on.
    pub fn run(mut self, network: &mut impl Network) -> (Result<(), Error>, Usage) {
        let exact = clock::minimize_timer_slack().is_ok();
        let first = clock::set_realtime().is_ok();
        let (cpu_ns, load) = (clock::cpu_ns(), MachineLoad::now());
        let mut stalls = Stalls::default();
        let ended = self.run_to_end(network, &mut stalls);
        let (wall_ns, cpu_ns) = (clock::monotonic_ns().saturating_sub(self.zero_ns), clock::cpu_ns() - cpu_ns);
        let load = MachineLoad::now().since(load);
        if first {
            let _ = clock::unset_realtime();
        }
        (ended, Usage { stalls, load, wall_ns, cpu_ns, realtime: first && exact })
    }

    fn run_to_end(&mut self, network: &mut impl Network, stalls: &mut Stalls) -> Result<(), Error> {
        let poll = self.watch(network)?;
        let mut ready = Vec::new();
        let mut rounds = 0u32;
        let mut ending: Option<Instant> = None;
        let mut expected = self.now();
        // Whether the devices may hold packets that arrived during a stall.
        let mut late = false;
        // Latest time of the next `Network::run`.
        let mut beat = 0;
        // Whether the last wait did not poll the devices: the loop spins, or sleeps until a group of packets leaves.
        let mut unwatched = false;
        loop {
            let back = self.now();
            late |= stalls.on_wakeup(expected, back);
            let before = late.then(|| network.arrived());
            // Read the devices that epoll reported; all of them after a stall, at a heartbeat, or if the last wait did
            // not poll.
            let look = late || back.as_nanos() >= beat;
            let (mut now, mut drained) = (back, true);
            for device in 0..network.devices() {
                if look || unwatched || ready.contains(&(device as u64)) {
                    let read = self.read(network, device).map_err(machine)?;
                    (now, drained) = (now.max(read.at), drained && read.drained);
                }
            }
            // Arrivals alone must not make packets of a group leave one by one.
            if look || network.should_flush(now) || network.due().is_some_and(|due| due <= now) {
                network.run(now);
                beat = now.as_nanos() + HEARTBEAT.as_nanos() as u64;
            }
            if let Some(before) = before {
                stalls.late_packets += network.arrived() - before;
                // Until the devices are empty, frames in them may have arrived during the stall.
                late = !drained;
            }
            if let Some(gauges) = &self.publisher {
                let [up, down] = network.metered();
                gauges.show(now, up, down);
            }
            let mut due = network.due();
            if let Some(end) = ending {
                if due.is_none() || self.now() >= end {
                    return Ok(());
                }
                // A link that never sends again is due at `Instant::NEVER`.
                due = due.map(|due| due.min(end));
            }
            let now = self.now();
            // If the process was descheduled while working, it did not read either.
            late |= stalls.on_wakeup(back, now);
            let left = due.map_or(u64::MAX, |due| due.as_nanos().saturating_sub(now.as_nanos()));
            rounds = rounds.wrapping_add(1);
            let spins = self.spin_ns.is_some_and(|spin| left <= spin);
            // Reads wait for the next group of departures, because a wake-up costs more than handling the packets. No
            // packet leaves early, and an arrival is stamped late by at most two windows.
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

    /// Current virtual time; zero before the start of the run.
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
            if let Some(socket) = &self.control_socket {
                poll.add(socket.listener(), LISTENER, Interest::READ)?;
            }
            Ok(poll)
        };
        watch().map_err(machine)
    }

    /// Reads up to [`BATCH`] frames from a device.
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

    /// Accepts a control connection, or answers the request of a client.
    fn order(&mut self, token: u64, network: &mut impl Network, poll: &Poll) {
        let (now, own) = (self.now(), self.catalogue);
        let Some(socket) = &mut self.control_socket else { return };
        if token < CLIENTS {
            if let Some(client) = socket.accept() {
                let _ = poll.add(client, CLIENTS + client.as_raw_fd() as u64, Interest::READ);
            }
            return;
        }
        network.control(now, &mut |sides| socket.answer((token - CLIENTS) as i32, now, sides, own));
    }
}

/// Result of reading a device.
struct ReadProgress {
    /// No unread frame will be stamped before this time.
    at: Instant,
    /// Whether the device was empty.
    drained: bool,
}

/// Whether a frame is multicast or broadcast, which kernels send to neighbours and no router forwards: neighbour
/// discovery would appear in the logs of idle links.
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

/// Maximum number of frames read in a row from one device, so that due packets do not wait for the end of a burst.
const BATCH: usize = 8;

/// Rounds of spinning or sleeping between two polls of all descriptors.
const ROUNDS: u32 = 64;

/// Maximum time for the last packets in flight after the end. Without it, the server at the far end of a delay would
/// never see the connection close.
const LINGER_NS: u64 = 1_000_000_000;

/// First token of a network's own descriptors; lower tokens are the numbers of its devices.
pub const EVENTS: u64 = 1 << 32;
/// First token beyond those of a network.
pub const EVENTS_END: u64 = LISTENER;
const LISTENER: u64 = 1 << 36;
const CLIENTS: u64 = 1 << 37;
