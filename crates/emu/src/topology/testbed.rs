//! The nodes of a topology and the links between them as the event loop serves them: devices, and the processes of the
//! nodes.

use super::mesh::Mesh;
use super::node::NodeEvent;
use crate::Error;
use crate::error::machine;
use crate::event_loop::control_protocol::DirectionSet;
use crate::event_loop::{EVENTS, Network};
use crate::path::{Buffer, Direction, Pool};
use crate::sys::clock::{Interest, Poll};
use crate::sys::fds::Channel;
use crate::sys::process::received;
use crate::sys::tun::Tun;
use nix::sys::signal::{Signal, kill};
use nix::sys::signalfd::SignalFd;
use nix::unistd::Pid;
use sojourn_aqm::Instant;
use std::io;
use std::os::fd::AsFd;

/// The nodes, and the links between them.
pub struct Testbed<'a> {
    /// The links.
    pub mesh: Mesh,
    /// The devices of the nodes.
    pub tuns: Vec<&'a Tun>,
    /// The processes of the nodes.
    pub supervisors: &'a [(Pid, Channel)],
    /// Programs that end the run, by node and number there, once all of them have ended.
    pub awaited: Vec<(usize, usize)>,
    /// What nodes and programs are called in errors.
    pub names: &'a dyn Fn(usize, usize) -> String,
    /// Whether the run is a command of the user's, to which signals are passed on.
    pub entered: bool,
    /// Signals sent to this process.
    pub signals: &'a SignalFd,
    /// The link that the live view shows; without a live view any one.
    pub metered: usize,
    /// Names of the directions of the links, for orders.
    pub queues: &'a [String],
    /// How it has ended so far.
    pub ended: RunResult,
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunResult {
    /// The exit code: that of the last program that failed, or minus the number of a signal.
    pub code: i32,
    /// Programs that ended before the others and should not have.
    pub early: Vec<String>,
}

impl Network for Testbed<'_> {
    fn devices(&self) -> usize {
        self.tuns.len()
    }

    fn device(&self, number: usize) -> Option<&Tun> {
        self.tuns.get(number).copied()
    }

    fn pool(&self) -> &Pool {
        self.mesh.pool()
    }

    fn arrive(&mut self, _: usize, at: Instant, frame: Buffer) {
        self.mesh.advance(at);
        self.mesh.arrive(at, frame);
    }

    fn arrived(&self) -> u64 {
        self.mesh.passed()
    }

    fn should_flush(&self, _: Instant) -> bool {
        false
    }

    fn due(&self) -> Option<Instant> {
        self.mesh.due()
    }

    fn can_defer(&self, left: u64) -> bool {
        self.mesh.can_defer(left)
    }

    fn run(&mut self, now: Instant) {
        self.mesh.advance(now);
        self.mesh.write(now, &mut self.tuns);
    }

    fn metered(&self) -> [&Direction; 2] {
        // As in a shell, what goes back is up.
        let links = self.mesh.links();
        [&links[2 * self.metered + 1], &links[2 * self.metered]]
    }

    fn order(&mut self, now: Instant, order: &mut dyn FnMut(DirectionSet<'_>)) {
        let queues = self.queues;
        self.mesh.with_links(now, |links| {
            order(DirectionSet::Network(queues.iter().map(String::as_str).zip(links).collect()))
        });
    }

    fn watch(&self, poll: &Poll) -> io::Result<()> {
        for ((_, channel), token) in self.supervisors.iter().zip(KEEPERS..) {
            poll.add(channel.as_fd(), token, Interest::READ)?;
        }
        poll.add(self.signals.as_fd(), SIGNALS, Interest::READ)
    }

    fn event(&mut self, token: u64, _: Instant, poll: &Poll) -> Result<bool, Error> {
        if token == SIGNALS { Ok(self.handle_signals()) } else { self.news((token - KEEPERS) as usize, poll) }
    }
}

impl Testbed<'_> {
    /// What the process of a node says; whether the run is over.
    fn news(&mut self, node: usize, poll: &Poll) -> Result<bool, Error> {
        let channel = &self.supervisors[node].1;
        let (number, code) = match NodeEvent::receive(channel) {
            NodeEvent::Ended { number, code } => (number, code),
            NodeEvent::NotStarted { number, errno } => {
                let error = io::Error::from_raw_os_error(errno);
                return Err(Error::Machine(format!("{}: {error}", (self.names)(node, number))));
            }
            NodeEvent::Ready => return Ok(false),
            NodeEvent::Gone => {
                poll.remove(channel.as_fd()).map_err(machine)?;
                self.ended.code = -(Signal::SIGKILL as i32);
                self.ended.early.push(format!("the process of node {} was killed", (self.names)(node, usize::MAX)));
                return Ok(true);
            }
        };
        match self.awaited.iter().position(|&one| one == (node, number)) {
            Some(i) => {
                self.awaited.swap_remove(i);
                self.ended.code = if code == 0 { self.ended.code } else { code };
            }
            // Of the programs of the flows, an entered run awaits none.
            None if self.entered && code == 0 => {}
            None => self.ended.early.push(format!("{} exited before the run", (self.names)(node, number))),
        }
        Ok(self.awaited.is_empty())
    }

    /// Passes signals on to the user's command; without one, they end the run. Returns whether it is over.
    fn handle_signals(&mut self) -> bool {
        let mut over = false;
        for (signal, from_terminal) in received(self.signals) {
            if self.entered {
                // What comes from the terminal has reached the command already.
                if let (false, Some(&(node, _))) = (from_terminal, self.awaited.first()) {
                    let _ = kill(self.supervisors[node].0, signal);
                }
            } else if ENDING.contains(&signal) {
                self.ended.code = -(signal as i32);
                over = true;
            }
        }
        over
    }
}

/// Signals that end a run.
const ENDING: [Signal; 4] = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGHUP];

const SIGNALS: u64 = EVENTS;
const KEEPERS: u64 = EVENTS + 1;
