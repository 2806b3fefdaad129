//! The loop between the devices of all nodes: read what has arrived, do what is due, wait.

use super::mesh::Mesh;
use super::node::Said;
use crate::Error;
use crate::event_loop::desk::{Desk, Sides};
use crate::event_loop::meter::Gauges;
use crate::event_loop::stalls::{HEARTBEAT, Stalls};
use crate::shell::machine;
use crate::shell::pump::{BATCH, LINGER_NS, ROUNDS, is_local_noise};
use crate::sys::clock::{Interest, Poll, monotonic_ns};
use crate::sys::fds::Channel;
use crate::sys::tun::Tun;
use nix::sys::signal::{Signal, kill};
use nix::sys::signalfd::SignalFd;
use nix::unistd::Pid;
use sojourn_aqm::Instant;
use sojourn_aqm::registry::Catalogue;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Everything that the loop holds.
pub struct Pump<'a> {
    /// The links.
    pub mesh: Mesh,
    /// The devices of the nodes.
    pub tuns: Vec<&'a Tun>,
    /// The processes of the nodes.
    pub keepers: &'a [(Pid, Channel)],
    /// Programs that end the run, by node and number there, once all of them have ended.
    pub awaited: Vec<(usize, usize)>,
    /// What nodes and programs are called in errors.
    pub names: &'a dyn Fn(usize, usize) -> String,
    /// Whether the run is a command of the user's, to which signals are passed on.
    pub entered: bool,
    /// Signals sent to this process.
    pub signals: &'a SignalFd,
    /// Virtual time zero, on the monotonic clock.
    pub zero_ns: u64,
    /// When the loop stood still.
    pub stalls: Stalls,
    /// What the live view shows, and of which link.
    pub gauges: Option<(Gauges, usize)>,
    /// Where an entered run takes orders.
    pub desk: Option<Desk>,
    /// Names of the directions of the links, for orders.
    pub queues: &'a [String],
    /// Queue managers that orders may name besides the registered ones.
    pub own: &'a dyn Catalogue,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The exit code: that of the last program that failed, or minus the number of a signal.
    pub code: i32,
    /// Programs that ended before the others and should not have.
    pub early: Vec<String>,
}

impl Pump<'_> {
    /// Runs until the programs that are awaited have ended and what they sent has arrived, or a second has passed since.
    pub fn run(&mut self) -> Result<Ended, Error> {
        let poll = self.watch().map_err(machine)?;
        let mut ready = Vec::new();
        let mut ended = Ended { code: 0, early: Vec::new() };
        let mut ending: Option<Instant> = None;
        let mut expected = self.now();
        let (mut late, mut beat) = (false, 0);
        // Whether the devices were not waited for, since the loop slept until a group of packets left.
        let (mut unwatched, mut rounds) = (false, 0u32);
        loop {
            let back = self.now();
            late |= self.stalls.back(expected, back);
            let before = late.then(|| self.mesh.passed());
            // What is in a device makes it readable.
            let look = late || back.as_nanos() >= beat;
            let (mut now, mut drained) = (back, true);
            for node in 0..self.tuns.len() {
                if look || unwatched || ready.contains(&(NODES + node as u64)) {
                    let (at, empty) = self.read(node).map_err(machine)?;
                    (now, drained) = (now.max(at), drained && empty);
                }
            }
            if look || self.mesh.due().is_some_and(|due| due <= now) {
                self.mesh.advance(now);
                self.mesh.write(now, &mut self.tuns);
                beat = now.as_nanos() + HEARTBEAT.as_nanos() as u64;
            }
            if let Some(before) = before {
                self.stalls.late_packets += self.mesh.passed() - before;
                late = !drained;
            }
            if let Some((gauges, link)) = &self.gauges {
                // As in a shell, what goes back is up.
                gauges.show(now, &self.mesh.links()[2 * link + 1], &self.mesh.links()[2 * link]);
            }
            let mut due = self.mesh.due();
            if let Some(end) = ending {
                if due.is_none() || self.now() >= end {
                    return Ok(ended);
                }
                // A link that will not send again is due at no time that comes.
                due = due.map(|due| due.min(end));
            }
            let now = self.now();
            // Whoever stood still at work has not read meanwhile either.
            late |= self.stalls.back(back, now);
            let left = due.map_or(u64::MAX, |due| due.as_nanos().saturating_sub(now.as_nanos()));
            let sleep = left.min(HEARTBEAT.as_nanos() as u64);
            expected = Instant::from_nanos(now.as_nanos() + sleep);
            rounds = rounds.wrapping_add(1);
            unwatched = drained && self.mesh.can_wait(left) && rounds % ROUNDS != 0;
            if unwatched {
                std::thread::sleep(std::time::Duration::from_nanos(sleep));
                continue;
            }
            poll.wait(Some(sleep), &mut ready).map_err(machine)?;
            for &token in ready.iter().filter(|&&token| token >= KEEPERS) {
                let over = if token == SIGNALS {
                    self.heed(&mut ended)
                } else if token >= DESK {
                    self.take_orders(token, &poll);
                    false
                } else {
                    self.hear((token - KEEPERS) as usize, &poll, &mut ended)?
                };
                if over && ending.is_none() {
                    ending = Some(Instant::from_nanos(self.now().as_nanos() + LINGER_NS));
                }
            }
        }
    }

    /// Virtual time; zero until it begins.
    fn now(&self) -> Instant {
        Instant::from_nanos(monotonic_ns().saturating_sub(self.zero_ns))
    }

    fn watch(&self) -> io::Result<Poll> {
        let poll = Poll::new()?;
        for (tun, token) in self.tuns.iter().zip(NODES..) {
            poll.add(tun.as_fd(), token, Interest::READ)?;
        }
        for ((_, channel), token) in self.keepers.iter().zip(KEEPERS..) {
            poll.add(channel.as_fd(), token, Interest::READ)?;
        }
        poll.add(self.signals.as_fd(), SIGNALS, Interest::READ)?;
        if let Some(desk) = &self.desk {
            poll.add(desk.listener(), DESK, Interest::READ)?;
        }
        Ok(poll)
    }

    /// Takes a connection of who gives orders, or hears one.
    fn take_orders(&mut self, token: u64, poll: &Poll) {
        let now = self.now();
        let Some(desk) = &mut self.desk else { return };
        if token == DESK {
            if let Some(client) = desk.accept() {
                let _ = poll.add(client, CLIENTS + client.as_raw_fd() as u64, Interest::READ);
            }
            return;
        }
        let (queues, own) = (self.queues, self.own);
        self.mesh.with_links(now, |links| {
            let sides = queues.iter().map(String::as_str).zip(links).collect();
            desk.hear_of((token - CLIENTS) as i32, now, Sides::Links(sides), own);
        });
    }

    /// Reads what a node has sent: a time at which nothing older was left, and whether nothing was left.
    fn read(&mut self, node: usize) -> io::Result<(Instant, bool)> {
        let mut at = Instant::ZERO;
        for _ in 0..BATCH {
            at = self.now();
            let mut buffer = self.mesh.pool().take();
            match self.tuns[node].read(buffer.room())? {
                None => return Ok((at, true)),
                Some(length) => buffer.set_len(length),
            }
            if !is_local_noise(buffer.frame()) {
                self.mesh.advance(at);
                self.mesh.arrive(at, buffer);
            }
        }
        Ok((at, false))
    }

    /// What the process of a node says; whether the run is over.
    fn hear(&mut self, node: usize, poll: &Poll, ended: &mut Ended) -> Result<bool, Error> {
        let channel = &self.keepers[node].1;
        let (number, code) = match Said::receive(channel) {
            Said::Ended { number, code } => (number, code),
            Said::NotStarted { number, errno } => {
                let error = io::Error::from_raw_os_error(errno);
                return Err(Error::Machine(format!("{}: {error}", (self.names)(node, number))));
            }
            Said::Ready => return Ok(false),
            Said::Gone => {
                poll.remove(channel.as_fd()).map_err(machine)?;
                ended.code = -(Signal::SIGKILL as i32);
                ended.early.push(format!("the process of node {} was killed", (self.names)(node, usize::MAX)));
                return Ok(true);
            }
        };
        match self.awaited.iter().position(|&one| one == (node, number)) {
            Some(i) => {
                self.awaited.swap_remove(i);
                ended.code = if code == 0 { ended.code } else { code };
            }
            // Of the programs of the flows, an entered run awaits none.
            None if self.entered && code == 0 => {}
            None => ended.early.push(format!("{} ended before the run", (self.names)(node, number))),
        }
        Ok(self.awaited.is_empty())
    }

    /// What signals are for: the user's command, where there is one; else they end the run. Whether it is over.
    fn heed(&mut self, ended: &mut Ended) -> bool {
        let mut over = false;
        while let Ok(Some(info)) = self.signals.read_signal() {
            let from_terminal = info.ssi_code == libc::SI_KERNEL;
            let Ok(signal) = Signal::try_from(info.ssi_signo as i32) else { continue };
            if self.entered {
                // What comes from the terminal has reached the command already.
                if let (false, Some(&(node, _))) = (from_terminal, self.awaited.first()) {
                    let _ = kill(self.keepers[node].0, signal);
                }
            } else if ENDING.contains(&signal) {
                ended.code = -(signal as i32);
                over = true;
            }
        }
        over
    }
}

/// Signals that end a run.
const ENDING: [Signal; 4] = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGHUP];

const NODES: u64 = 0;
const KEEPERS: u64 = 1 << 32;
const SIGNALS: u64 = 1 << 33;
const DESK: u64 = 1 << 34;
const CLIENTS: u64 = 1 << 35;
