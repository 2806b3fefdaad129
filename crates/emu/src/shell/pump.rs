//! The loop between the two devices: read what has arrived, do what is due, wait.

use super::attach::Attached;
use super::control::Leases;
use super::end::End;
use super::helpers::Gateways;
use super::inside::FOR_THE_COMMAND;
use super::message;
use super::route::Outside;
use crate::event_loop::desk::Desk;
use crate::event_loop::meter::Gauges;
use crate::event_loop::stalls::{HEARTBEAT, Stalls};
use crate::path::{Direction, Pool, Sink};
use crate::sys::clock::{Interest, Poll, monotonic_ns};
use crate::sys::fds::Channel;
use crate::sys::tun::{Tun, VIRTIO_HEADER};
use nix::sys::signal::{Signal, kill};
use nix::sys::signalfd::SignalFd;
use nix::unistd::Pid;
use sojourn_aqm::Instant;
use sojourn_aqm::registry::Catalogue;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// With an exit code.
    Exited(i32),
    /// By a signal.
    Killed(i32),
    /// It did not start: an errno.
    NotStarted(i32),
}

/// Everything that the loop holds.
pub struct Pump<'a> {
    /// From inside to outside.
    pub up: Direction,
    /// From outside to inside.
    pub down: Direction,
    /// The end on which the command is.
    pub inner: End,
    /// Where packets go that leave the shell, and come from.
    pub outside: Outside,
    /// Addresses given to shells inside; none where no shell can be.
    pub leases: Option<Leases>,
    /// What holds it at an interface that was there before.
    pub attached: Option<Attached>,
    /// The process on the inner side.
    pub inside: Channel,
    /// Signals sent to the shell.
    pub signals: SignalFd,
    /// Signals that came for the command before it had started.
    pub early: Vec<Signal>,
    /// The last signal that is to end the shell, whoever has got it.
    pub signalled: Option<Signal>,
    /// Virtual time zero, on the monotonic clock.
    pub zero_ns: u64,
    /// How long before something is due the loop stops sleeping.
    pub spin_ns: u64,
    /// When the loop stood still.
    pub stalls: Stalls,
    /// The processes that lead beyond the machine.
    pub gateways: Gateways,
    /// What the live view shows.
    pub gauges: Option<Gauges>,
    /// Where it takes orders.
    pub desk: Option<Desk>,
    /// Queue managers that orders may name besides the registered ones.
    pub own: &'a dyn Catalogue,
}

impl Pump<'_> {
    /// Runs until the command has ended and what it sent has arrived, or [`LINGER_NS`] have passed since.
    pub fn run(&mut self) -> io::Result<Status> {
        let poll = self.watch()?;
        let pool = Pool::new();
        let mut ready = Vec::new();
        let mut command = None;
        let mut rounds = 0u32;
        let mut ending: Option<(Status, Instant)> = None;
        let mut expected = self.now();
        // Whether the devices may hold what arrived during a stall.
        let mut late = false;
        // When both directions are to be run at the latest.
        let mut beat = 0;
        // Whether the devices were not waited for, since the loop spins or sleeps until a group of packets leaves.
        let mut unwatched = false;
        loop {
            let back = self.now();
            late |= self.stalls.back(expected, back);
            let before = late.then(|| self.arrived());
            // What is in a device makes it readable; whoever does not wait for that looks there as well.
            let look = late || back.as_nanos() >= beat;
            let mut now = back;
            let mut drained = true;
            for (device, token) in [INNER, OUTER, FAR].into_iter().enumerate() {
                if look || unwatched || ready.contains(&token) {
                    let (tun, direction) = match device {
                        0 => (Some(&self.inner.tun), &mut self.up),
                        1 => (Some(&self.outside.end.tun), &mut self.down),
                        _ => (self.outside.far_tun(), &mut self.down),
                    };
                    let Some(tun) = tun else { continue };
                    let read = read(tun, direction, &pool, self.zero_ns, self.attached.is_some())?;
                    (now, drained) = (now.max(read.at), drained && read.drained);
                }
            }
            // Arrivals alone do not let packets go one by one that were to leave together.
            let enough = self.up.has_enough(now) || self.down.has_enough(now);
            if look || enough || self.due().is_some_and(|due| due <= now) {
                self.up.run(now, &mut self.outside);
                self.down.run(now, &mut Inside(&self.inner.tun));
                beat = now.as_nanos() + HEARTBEAT.as_nanos() as u64;
            }
            if let Some(before) = before {
                self.stalls.late_packets += self.arrived() - before;
                late = !drained;
            }
            if let Some(gauges) = &self.gauges {
                gauges.show(now, &self.up, &self.down);
            }
            let mut due = self.due();
            if let Some((status, end)) = ending {
                if due.is_none() || self.now() >= end {
                    return Ok(status);
                }
                // A link that will not send again is due at no time that comes.
                due = due.map(|due| due.min(end));
            }
            let now = self.now();
            // Whoever stood still at work has not read meanwhile either.
            late |= self.stalls.back(back, now);
            let left = due.map_or(u64::MAX, |due| due.as_nanos().saturating_sub(now.as_nanos()));
            rounds = rounds.wrapping_add(1);
            let spins = left <= self.spin_ns;
            let waits = drained && (self.up.can_wait(left) || self.down.can_wait(left));
            unwatched = (spins || waits) && rounds % ROUNDS != 0;
            if spins && unwatched {
                expected = back;
                continue;
            }
            let sleep = left.saturating_sub(self.spin_ns).min(HEARTBEAT.as_nanos() as u64);
            expected = Instant::from_nanos(now.as_nanos() + sleep);
            if unwatched {
                std::thread::sleep(std::time::Duration::from_nanos(sleep));
                continue;
            }
            poll.wait(Some(sleep), &mut ready)?;
            for &token in ready.iter().filter(|&&token| token > FAR) {
                if let Some(status) = self.on(token, &poll, &mut command) {
                    poll.remove(self.inside.as_fd())?;
                    if let Some(attached) = &mut self.attached {
                        attached.detach();
                    }
                    ending = Some((status, Instant::from_nanos(self.now().as_nanos() + LINGER_NS)));
                }
            }
        }
    }

    /// When a packet is to leave. Where they leave together in one direction, those of the other one go with them.
    fn due(&self) -> Option<Instant> {
        let dense = self.up.is_dense() || self.down.is_dense();
        [&self.up, &self.down].into_iter().filter_map(|direction| direction.due_within(dense)).min()
    }

    /// Packets that have arrived in both directions.
    fn arrived(&self) -> u64 {
        self.up.counters().arrived.0 + self.down.counters().arrived.0
    }

    /// Virtual time.
    fn now(&self) -> Instant {
        Instant::from_nanos(monotonic_ns().saturating_sub(self.zero_ns))
    }

    fn watch(&self) -> io::Result<Poll> {
        let poll = Poll::new()?;
        let devices = [Some(&self.inner.tun), Some(&self.outside.end.tun), self.outside.far_tun()];
        for (tun, token) in devices.into_iter().zip([INNER, OUTER, FAR]) {
            if let Some(tun) = tun {
                poll.add(tun.as_fd(), token, Interest::READ)?;
            }
        }
        poll.add(self.inside.as_fd(), INSIDE, Interest::READ)?;
        poll.add(self.signals.as_fd(), SIGNALS, Interest::READ)?;
        if let Some(desk) = &self.desk {
            poll.add(desk.listener(), DESK, Interest::READ)?;
        }
        for fd in &self.gateways.running {
            poll.add(fd.as_fd(), GATEWAYS + fd.as_raw_fd() as u64, Interest::READ)?;
        }
        for (end, token) in [(&self.inner, SHELLS_INSIDE), (&self.outside.end, SHELLS_BESIDE)] {
            if let Some(listener) = &end.listener {
                poll.add(listener.as_fd(), token, Interest::READ)?;
            }
        }
        Ok(poll)
    }

    /// Whatever is not a packet.
    fn on(&mut self, token: u64, poll: &Poll, command: &mut Option<Pid>) -> Option<Status> {
        match token {
            INSIDE => return self.hear(command),
            SIGNALS => self.pass_on(*command),
            SHELLS_INSIDE | SHELLS_BESIDE => {
                let outer = &mut self.outside.end;
                let (listener, inside) = match token {
                    SHELLS_INSIDE => (self.inner.listener.as_ref(), Some((&mut outer.netlink, outer.index))),
                    _ => (outer.listener.as_ref(), None),
                };
                let connection = self.leases.as_mut()?.accept(listener?, inside)?;
                let _ = poll.add(connection, CONNECTIONS + connection.as_raw_fd() as u64, Interest::READ);
            }
            DESK => {
                let client = self.desk.as_mut()?.accept()?;
                let _ = poll.add(client, CLIENTS + client.as_raw_fd() as u64, Interest::READ);
            }
            client if client >= CLIENTS => {
                let now = self.now();
                let desk = self.desk.as_mut()?;
                desk.hear((client - CLIENTS) as i32, now, [&mut self.up, &mut self.down], self.own);
            }
            gateway if gateway >= GATEWAYS => {
                if let Some(fd) = self.gateways.gone((gateway - GATEWAYS) as i32, self.now()) {
                    let _ = poll.remove(fd.as_fd());
                }
            }
            connection => {
                let outer = &mut self.outside.end;
                let fd = (connection - CONNECTIONS) as i32;
                self.leases.as_mut()?.ended(fd, Some((&mut outer.netlink, outer.index)));
            }
        }
        None
    }

    /// What the inner side says.
    fn hear(&mut self, command: &mut Option<Pid>) -> Option<Status> {
        let mut room = [0; 16];
        let (length, _) = self.inside.receive(&mut room).unwrap_or((0, Vec::new()));
        let number = room[1..5].try_into().map_or(0, i32::from_ne_bytes);
        match (length, room[0]) {
            (5, message::STARTED) => {
                let pid = Pid::from_raw(number);
                for signal in self.early.drain(..) {
                    let _ = kill(pid, signal);
                }
                *command = Some(pid);
            }
            (5, message::EXITED) => return Some(Status::Exited(number)),
            (5, message::KILLED) => return Some(Status::Killed(number)),
            (5, message::NOT_STARTED) => return Some(Status::NotStarted(number)),
            // Somebody has killed the process itself.
            _ => return Some(Status::Killed(Signal::SIGKILL as i32)),
        }
        None
    }

    /// Passes signals on to the command; what comes from the terminal has reached it already.
    fn pass_on(&mut self, command: Option<Pid>) {
        while let Ok(Some(info)) = self.signals.read_signal() {
            let from_terminal = info.ssi_code == libc::SI_KERNEL;
            let Ok(signal) = Signal::try_from(info.ssi_signo as i32) else { continue };
            if FOR_THE_COMMAND.contains(&signal) {
                self.signalled = Some(signal);
            }
            // From the terminal the command has it, too.
            if from_terminal {
                continue;
            }
            match command {
                Some(pid) => {
                    let _ = kill(pid, signal);
                }
                None => self.early.push(signal),
            }
        }
    }
}

/// How far a device was read.
struct Read {
    /// A time at which nothing older was left, or from which on the rest will be stamped.
    at: Instant,
    /// Whether nothing was left.
    drained: bool,
}

/// Reads what a device has for a direction; of the devices of a shell, what is for neighbours alone is left out unless `all`.
fn read(tun: &Tun, direction: &mut Direction, pool: &Pool, zero_ns: u64, all: bool) -> io::Result<Read> {
    let mut at = Instant::ZERO;
    for _ in 0..BATCH {
        at = Instant::from_nanos(monotonic_ns().saturating_sub(zero_ns));
        let mut buffer = pool.take();
        match tun.read(buffer.room())? {
            None => return Ok(Read { at, drained: true }),
            Some(length) => buffer.set_len(length),
        }
        if all || !is_local_noise(buffer.frame()) {
            direction.arrive(at, buffer);
        }
    }
    Ok(Read { at, drained: false })
}

/// Whether a frame is what a kernel says to its neighbours on a link: multicast and broadcast, which no router would
/// take further.
pub(crate) fn is_local_noise(frame: &[u8]) -> bool {
    let Some(ip) = frame.get(VIRTIO_HEADER..) else { return false };
    match ip.first().map(|first| first >> 4) {
        Some(4) => ip.get(16).is_some_and(|&to| to >= 224),
        Some(6) => ip.get(24).is_some_and(|&to| to == 0xff),
        _ => false,
    }
}

/// The inner device as a sink.
struct Inside<'a>(&'a Tun);

impl Sink for Inside<'_> {
    fn write(&mut self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        self.0.write(parts)
    }
}

/// Most frames read in a row from one device.
pub(crate) const BATCH: usize = 8;

/// Rounds without a look at what is no packet.
pub(crate) const ROUNDS: u32 = 64;

/// How long the last packets of a command may be under way after its end.
pub(crate) const LINGER_NS: u64 = 1_000_000_000;

const INNER: u64 = 0;
const OUTER: u64 = 1;
const FAR: u64 = 2;
const INSIDE: u64 = 3;
const SIGNALS: u64 = 4;
const SHELLS_INSIDE: u64 = 5;
const SHELLS_BESIDE: u64 = 6;
const DESK: u64 = 7;
const CONNECTIONS: u64 = 16;
const GATEWAYS: u64 = 1 << 32;
const CLIENTS: u64 = 1 << 33;
