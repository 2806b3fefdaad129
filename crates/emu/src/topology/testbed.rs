//! The [`Network`] of a topology: the devices and processes of its nodes, and the links between them.

use super::mesh::Mesh;
use super::node::NodeEvent;
use crate::Error;
use crate::error::machine;
use crate::event_loop::control_protocol::DirectionSet;
use crate::event_loop::{EVENTS, Network};
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
use std::os::fd::AsFd;

/// Nodes, and the links between them.
pub struct Testbed<'a> {
    /// Links, and routes of packets over them.
    pub mesh: Mesh,
    /// Devices of the nodes.
    pub tuns: Vec<&'a Tun>,
    /// Processes of the nodes, and the channels to them.
    pub supervisors: &'a [(Pid, Channel)],
    /// Programs whose end ends the run, by node and number in the node.
    pub awaited: Vec<(usize, usize)>,
    /// Names of nodes and programs for errors.
    pub names: &'a dyn Fn(usize, usize) -> String,
    /// Whether the run is the user's command, which gets signals forwarded.
    pub entered: bool,
    /// Signals sent to this process.
    pub signals: &'a SignalFd,
    /// Link shown by the live view; any without one.
    pub metered: usize,
    /// Names of the links' directions, for control requests.
    pub queues: &'a [String],
    /// Result so far.
    pub ended: RunResult,
}

/// Result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunResult {
    /// Exit code of the last program that failed, or minus a signal's number.
    pub code: i32,
    /// Messages about programs that ended too early.
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
        // The reverse direction is up, as in a shell.
        let links = self.mesh.links();
        [&links[2 * self.metered + 1], &links[2 * self.metered]]
    }

    fn control(&mut self, now: Instant, order: &mut dyn FnMut(DirectionSet<'_>)) {
        let queues = self.queues;
        self.mesh.with_links(now, |links| {
            order(DirectionSet::Network(queues.iter().map(String::as_str).zip(links).collect()))
        });
    }

    fn watch(&self, poll: &Poll) -> io::Result<()> {
        for ((_, channel), token) in self.supervisors.iter().zip(SUPERVISORS..) {
            poll.add(channel.as_fd(), token, Interest::READ)?;
        }
        poll.add(self.signals.as_fd(), SIGNALS, Interest::READ)
    }

    fn event(&mut self, token: u64, _: Instant, poll: &Poll) -> Result<bool, Error> {
        if token == SIGNALS { Ok(self.handle_signals()) } else { self.on_message((token - SUPERVISORS) as usize, poll) }
    }
}

impl Testbed<'_> {
    /// Handles a message of a node's process; returns whether the run is over.
    fn on_message(&mut self, node: usize, poll: &Poll) -> Result<bool, Error> {
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
        match self.awaited.iter().position(|&program| program == (node, number)) {
            Some(i) => {
                self.awaited.swap_remove(i);
                self.ended.code = if code == 0 { self.ended.code } else { code };
            }
            // A run of the user's command does not wait for the flows' programs.
            None if self.entered && code == 0 => {}
            None => self.ended.early.push(format!("{} exited before the run", (self.names)(node, number))),
        }
        Ok(self.awaited.is_empty())
    }

    /// Forwards signals to the user's command; without one, they end the run. Returns whether the run is over.
    fn handle_signals(&mut self) -> bool {
        let mut over = false;
        for (signal, from_terminal) in drain_signals(self.signals) {
            if self.entered {
                // A signal from the terminal has reached the command already.
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
const SUPERVISORS: u64 = EVENTS + 1;
