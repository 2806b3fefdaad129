//! Both directions of a shell as a network of the event loop, and its other events: status of the command, signals,
//! requests of shells inside, exits of gateway processes.

use super::attach::Attachment;
use super::control::Leases;
use super::endpoint::Endpoint;
use super::helpers::GatewayProcesses;
use super::inner_side::COMMAND_SIGNALS;
use super::message;
use super::route::OuterSide;
use crate::Error;
use crate::error::machine;
use crate::event_loop::control_protocol::DirectionSet;
use crate::event_loop::{EVENTS, Network, is_local_noise};
use crate::path::{Buffer, Direction, Pool};
use crate::sys::clock::{Interest, Poll};
use crate::sys::fds::Channel;
use crate::sys::process::drain_signals;
use crate::sys::tun::Tun;
use nix::sys::signal::{Signal, kill};
use nix::sys::signalfd::SignalFd;
use nix::unistd::Pid;
use sojourn_aqm::Instant;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// With an exit code.
    Exited(i32),
    /// By a signal.
    Killed(i32),
    /// It did not start: an `errno`.
    NotStarted(i32),
}

/// The two directions between the devices of a shell.
pub struct Tunnel {
    /// From inside to outside.
    pub up: Direction,
    /// From outside to inside.
    pub down: Direction,
    /// Buffer pool for frames.
    pub pool: Pool,
    /// The end on the command's side.
    pub inner: Endpoint,
    /// The end outside the shell, and the route to the gateway.
    pub outer: OuterSide,
    /// Address leases of shells inside; `None` for an attached shell, which has no addresses.
    pub leases: Option<Leases>,
    /// Hooks at an existing interface.
    pub attachment: Option<Attachment>,
    /// Channel to the process on the inner side.
    pub inside: Channel,
    /// Signals sent to the shell.
    pub signals: SignalFd,
    /// Processes of the gateway.
    pub gateways: GatewayProcesses,
    /// The process of the command.
    pub command: CommandProcess,
}

/// The command of a shell, as the event loop sees it.
#[derive(Debug, Default)]
pub struct CommandProcess {
    /// Its PID; `None` until it has started.
    pid: Option<Pid>,
    /// Signals received before it started.
    pending_signals: Vec<Signal>,
    /// The last terminating signal received, from the terminal or from a process.
    pub signalled: Option<Signal>,
    /// How it ended.
    pub status: Option<Status>,
}

impl Network for Tunnel {
    fn devices(&self) -> usize {
        3
    }

    fn device(&self, number: usize) -> Option<&Tun> {
        match number {
            INNER => Some(&self.inner.tun),
            OUTER => Some(&self.outer.end.tun),
            _ => self.outer.gateway_tun(),
        }
    }

    fn pool(&self) -> &Pool {
        &self.pool
    }

    fn accepts(&self, frame: &[u8]) -> bool {
        // An existing interface has real neighbours, which need multicast and broadcast.
        self.attachment.is_some() || !is_local_noise(frame)
    }

    fn arrive(&mut self, device: usize, at: Instant, frame: Buffer) {
        let direction = if device == INNER { &mut self.up } else { &mut self.down };
        direction.arrive(at, frame);
    }

    fn arrived(&self) -> u64 {
        self.up.counters().arrived.0 + self.down.counters().arrived.0
    }

    fn should_flush(&self, now: Instant) -> bool {
        self.up.should_flush(now) || self.down.should_flush(now)
    }

    fn due(&self) -> Option<Instant> {
        // If one direction writes in batches, the other one joins its wake-ups.
        let dense = self.up.is_dense() || self.down.is_dense();
        [&self.up, &self.down].into_iter().filter_map(|direction| direction.due_within(dense)).min()
    }

    fn can_defer(&self, left: u64) -> bool {
        self.up.can_defer(left) || self.down.can_defer(left)
    }

    fn run(&mut self, now: Instant) {
        self.up.run(now, &mut self.outer);
        self.down.run(now, &mut &self.inner.tun);
    }

    fn metered(&self) -> [&Direction; 2] {
        [&self.up, &self.down]
    }

    fn control(&mut self, _: Instant, order: &mut dyn FnMut(DirectionSet<'_>)) {
        order(DirectionSet::Shell([&mut self.up, &mut self.down]));
    }

    fn watch(&self, poll: &Poll) -> io::Result<()> {
        poll.add(self.inside.as_fd(), INSIDE, Interest::READ)?;
        poll.add(self.signals.as_fd(), SIGNALS, Interest::READ)?;
        for fd in &self.gateways.running {
            poll.add(fd.as_fd(), GATEWAYS + fd.as_raw_fd() as u64, Interest::READ)?;
        }
        for (end, token) in [(&self.inner, SHELLS_INSIDE), (&self.outer.end, SHELLS_BESIDE)] {
            if let Some(listener) = &end.listener {
                poll.add(listener.as_fd(), token, Interest::READ)?;
            }
        }
        Ok(())
    }

    fn event(&mut self, token: u64, now: Instant, poll: &Poll) -> Result<bool, Error> {
        match token {
            INSIDE => {
                self.command.status = self.command_status();
                if self.command.status.is_some() {
                    poll.remove(self.inside.as_fd()).map_err(machine)?;
                    self.attachment.iter_mut().for_each(Attachment::detach);
                    return Ok(true);
                }
            }
            SIGNALS => self.forward_signals(),
            SHELLS_INSIDE | SHELLS_BESIDE => self.lease(token, poll),
            gateway if gateway >= GATEWAYS => {
                if let Some(fd) = self.gateways.on_exit((gateway - GATEWAYS) as i32, now) {
                    let _ = poll.remove(fd.as_fd());
                }
            }
            connection => {
                let outer = &mut self.outer.end;
                if let Some(leases) = &mut self.leases {
                    leases.on_disconnect((connection - CONNECTIONS) as i32, Some((&mut outer.netlink, outer.index)));
                }
            }
        }
        Ok(false)
    }
}

impl Tunnel {
    /// Serves a shell that requests addresses.
    fn lease(&mut self, token: u64, poll: &Poll) {
        let outer = &mut self.outer.end;
        let (listener, inside) = match token {
            SHELLS_INSIDE => (self.inner.listener.as_ref(), Some((&mut outer.netlink, outer.index))),
            _ => (outer.listener.as_ref(), None),
        };
        let (Some(leases), Some(listener)) = (&mut self.leases, listener) else { return };
        if let Some(connection) = leases.accept(listener, inside) {
            let _ = poll.add(connection, CONNECTIONS + connection.as_raw_fd() as u64, Interest::READ);
        }
    }

    /// Reads a message of the inner side; returns how the command ended, if it has.
    fn command_status(&mut self) -> Option<Status> {
        let mut room = [0; 16];
        let (length, _) = self.inside.receive(&mut room).unwrap_or((0, Vec::new()));
        let number = room[1..5].try_into().map_or(0, i32::from_ne_bytes);
        match (length, room[0]) {
            (5, message::STARTED) => {
                let pid = Pid::from_raw(number);
                for signal in self.command.pending_signals.drain(..) {
                    let _ = kill(pid, signal);
                }
                self.command.pid = Some(pid);
            }
            (5, message::EXITED) => return Some(Status::Exited(number)),
            (5, message::KILLED) => return Some(Status::Killed(number)),
            (5, message::NOT_STARTED) => return Some(Status::NotStarted(number)),
            // The inner process itself was killed.
            _ => return Some(Status::Killed(Signal::SIGKILL as i32)),
        }
        None
    }

    /// Forwards signals to the command.
    fn forward_signals(&mut self) {
        for (signal, from_terminal) in drain_signals(&self.signals) {
            if COMMAND_SIGNALS.contains(&signal) {
                self.command.signalled = Some(signal);
            }
            // The terminal signals the whole foreground process group: the command has received it already.
            if from_terminal {
                continue;
            }
            match self.command.pid {
                Some(pid) => {
                    let _ = kill(pid, signal);
                }
                None => self.command.pending_signals.push(signal),
            }
        }
    }
}

const INNER: usize = 0;
const OUTER: usize = 1;
const INSIDE: u64 = EVENTS;
const SIGNALS: u64 = EVENTS + 1;
const SHELLS_INSIDE: u64 = EVENTS + 2;
const SHELLS_BESIDE: u64 = EVENTS + 3;
const CONNECTIONS: u64 = EVENTS + 16;
const GATEWAYS: u64 = EVENTS + (1 << 32);
