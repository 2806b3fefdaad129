//! The process of a node: it creates the node's network namespace and device, runs the node's programs, and leaves none
//! of them behind.
//!
//! A program that starts with the run gets a socket (gate) with its descriptor in `$SOJOURN_GATE`: the program sends
//! one byte when it is ready, and then receives the start of the run in nanoseconds of the monotonic clock (8 bytes,
//! native byte order).

use super::plan;
use crate::Error;
use crate::shell::endpoint::{Endpoint, EndpointConfig};
use crate::shell::inner_side::{COMMAND_SIGNALS, PARENT_DEATH_SIGNAL, follow_parent, missing, new_host, prepare_exec};
use crate::sys::clock::{Interest, Poll};
use crate::sys::fds::{self, Channel};
use crate::sys::namespace::replace_file;
use crate::sys::netlink::Netlink;
use crate::sys::process;
use crate::sys::tun::Tun;
use nix::sys::signal::{SigHandler, Signal};
use nix::sys::signalfd::SignalFd;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpid};
use std::ffi::CString;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Configuration of a node.
pub struct Node<'a> {
    /// Number of the node.
    pub number: usize,
    /// Maximum IP packet.
    pub mtu: u32,
    /// Addresses besides its own.
    pub addresses: Vec<IpAddr>,
    /// Text of `/etc/hosts`.
    pub hosts: &'a str,
    /// Programs of the node.
    pub programs: Vec<Program>,
}

/// A program of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Program and arguments.
    pub words: Vec<CString>,
    /// Additional environment variables.
    pub env: Vec<(&'static str, String)>,
    /// Its role.
    pub role: Role,
}

/// Role of a program of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Serves the groups of flows.
    Server,
    /// Client of a group of flows.
    Client,
    /// The user's command.
    Entered,
}

impl Program {
    /// Whether it has a gate; other programs are started at the start of the run.
    fn has_gate(&self) -> bool {
        self.role != Role::Entered
    }
}

/// Message of a node's process; the first byte is the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeEvent {
    /// Program `number` ended.
    Ended {
        /// Its number among the programs of the node.
        number: usize,
        /// Exit code, or minus the signal's number.
        code: i32,
    },
    /// Program `number` could not be started.
    NotStarted {
        /// Its number among the programs of the node.
        number: usize,
        /// Error of `execve`.
        errno: i32,
    },
    /// All programs with a gate are ready.
    Ready,
    /// The process has exited.
    Gone,
}

impl NodeEvent {
    /// Receives the next message of a node's process.
    pub fn receive(channel: &Channel) -> Self {
        let mut room = [0; 16];
        let (length, _) = channel.receive(&mut room).unwrap_or((0, Vec::new()));
        let half = |at: usize| i32::from_ne_bytes(room[at..at + 4].try_into().expect("four bytes"));
        match (length, room[0]) {
            (9, ENDED) => Self::Ended { number: half(1) as usize, code: half(5) },
            (9, NOT_STARTED) => Self::NotStarted { number: half(1) as usize, errno: half(5) },
            (1, READY) => Self::Ready,
            _ => Self::Gone,
        }
    }
}

/// Receives the device of a node from its process, or the error that prevented it.
pub fn receive_end(channel: &Channel) -> Result<Endpoint, Error> {
    let mut room = [0; 4096];
    let (length, fds) = channel.receive(&mut room).map_err(crate::error::machine)?;
    match (&room[..length], <[OwnedFd; 2]>::try_from(fds)) {
        ([MADE, index @ ..], Ok([tun, netlink])) if index.len() == 4 => {
            let index = u32::from_ne_bytes(index.try_into().expect("four bytes"));
            Ok(Endpoint { tun: Tun::from_fd(tun), netlink: Netlink::from_fd(netlink), index, listener: None })
        }
        ([FAILED, text @ ..], _) => Err(Error::Machine(String::from_utf8_lossy(text).into_owned())),
        _ => Err(Error::Machine("the process of a node exited during setup; see `sojourn doctor`".into())),
    }
}

/// Notifies a node's process that the run begins at `zero_ns` of the monotonic clock.
pub fn begin(channel: &Channel, zero_ns: u64) -> io::Result<()> {
    channel.send(&zero_ns.to_ne_bytes(), &[], false)
}

/// Runs in the process of a node, forked by `parent`; returns the exit code.
pub fn main(node: &Node<'_>, parent: Pid, channel: &Channel) -> i32 {
    match prepare(node, parent) {
        Ok(end) => {
            let text = [&[MADE], &end.index.to_ne_bytes()[..]].concat();
            if channel.send(&text, &[end.tun.as_fd(), end.netlink.as_fd()], false).is_err() {
                return 1;
            }
        }
        Err(error) => {
            let _ = channel.send(&[&[FAILED], error.to_string().as_bytes()].concat(), &[], false);
            return 1;
        }
    }
    // A terminal signals the whole process group, but only the programs react.
    for signal in COMMAND_SIGNALS {
        let _ = process::set_signal_action(signal, SigHandler::SigIgn);
    }
    let code = match process::signal_fd(&[Signal::SIGCHLD, PARENT_DEATH_SIGNAL]) {
        Ok(signals) => {
            NodeSupervisor { node, channel, signals, running: Vec::new(), gates: Vec::new() }.run().map_or(1, |()| 0)
        }
        Err(_) => 1,
    };
    process::kill_descendants(&[]);
    code
}

fn prepare(node: &Node<'_>, parent: Pid) -> Result<Endpoint, Error> {
    process::set_subreaper(true).map_err(|e| Error::Machine(e.to_string()))?;
    let in_user_namespace = new_host(false)?;
    let own_addresses = plan::addresses(node.number);
    let addresses = own_addresses.map(|address| (address, address));
    let config = EndpointConfig { name: "sojourn", mtu: node.mtu, addresses, reaches: plan::everywhere(), cc: None };
    let mut end = config.make()?;
    for &address in &node.addresses {
        end.netlink.add_address(end.index, address, address).map_err(|e| missing("address", &e))?;
    }
    // Optional: without it only host names are missing. The kernel may forbid mounts.
    let _ = replace_file("/etc/hosts", node.hosts);
    if follow_parent(parent, in_user_namespace)? {
        Ok(end)
    } else {
        Err(Error::Machine("the process of the links has exited".to_string()))
    }
}

/// State of a node's process.
struct NodeSupervisor<'a> {
    node: &'a Node<'a>,
    channel: &'a Channel,
    signals: SignalFd,
    /// Running programs, with their numbers.
    running: Vec<(Pid, usize)>,
    /// Gates of the programs, this process's ends.
    gates: Vec<Channel>,
}

impl NodeSupervisor<'_> {
    /// Runs the programs until the process of the links closes the channel or exits.
    fn run(&mut self) -> io::Result<()> {
        let poll = Poll::new()?;
        poll.add(self.channel.as_fd(), CHANNEL, Interest::READ)?;
        poll.add(self.signals.as_fd(), SIGNALS, Interest::READ)?;
        let mut expected = self.node.programs.iter().filter(|program| program.has_gate()).count();
        self.start(true)?;
        for (number, gate) in (0..).zip(&self.gates) {
            poll.add(gate.as_fd(), GATES + number, Interest::READ)?;
        }
        if expected == 0 {
            self.channel.send(&[READY], &[], false)?;
        }
        let mut ready = Vec::new();
        loop {
            poll.wait(None, &mut ready)?;
            for token in std::mem::take(&mut ready) {
                match token {
                    SIGNALS => {
                        while let Ok(Some(info)) = self.signals.read_signal() {
                            if info.ssi_signo == PARENT_DEATH_SIGNAL as u32 {
                                return Ok(());
                            }
                        }
                        self.reap()?;
                    }
                    CHANNEL => {
                        let mut zero = [0; 8];
                        match self.channel.receive(&mut zero) {
                            Ok((8, _)) => {
                                for gate in self.gates.drain(..) {
                                    // Ignore programs that have ended: `reap` reports them.
                                    let _ = gate.send(&zero, &[], false);
                                }
                                self.start(false)?;
                            }
                            _ => return Ok(()),
                        }
                    }
                    gate => {
                        let Some(gate) = self.gates.get((gate - GATES) as usize) else { continue };
                        poll.remove(gate.as_fd())?;
                        if matches!(gate.receive(&mut [0]), Ok((1, _))) {
                            expected -= 1;
                            if expected == 0 {
                                self.channel.send(&[READY], &[], false)?;
                            }
                        }
                    }
                }
            }
        }
    }

    /// Starts the programs with a gate if `gated`, otherwise those without.
    fn start(&mut self, gated: bool) -> io::Result<()> {
        for (number, program) in
            self.node.programs.iter().enumerate().filter(|(_, program)| program.has_gate() == gated)
        {
            let mut gate = None;
            if gated {
                let (gate_end, program_end) = Channel::pair()?;
                self.gates.push(gate_end);
                gate = Some(program_end);
            }
            let (started, exec) = Channel::pair()?;
            let parent = getpid();
            let pid = process::spawn(|| {
                prepare_exec(parent, &program.env);
                if let Some(gate) = &gate {
                    let _ = fds::keep_open(gate.as_fd());
                    process::set_variable("SOJOURN_GATE", &gate.as_fd().as_raw_fd().to_string());
                }
                let error = process::exec(&program.words);
                let errno = error.raw_os_error().unwrap_or(libc::EINVAL);
                let _ = exec.send(&errno.to_ne_bytes(), &[], false);
                127
            })?;
            drop(exec);
            self.running.push((pid, number));
            let mut errno = [0; 4];
            // The child sends an errno if exec fails; if it succeeds, the channel closes.
            if let Ok((4, _)) = started.receive(&mut errno) {
                self.report(NOT_STARTED, number, i32::from_ne_bytes(errno))?;
            }
        }
        Ok(())
    }

    /// Reports programs that have ended.
    fn reap(&mut self) -> io::Result<()> {
        loop {
            let (pid, code) = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) => (pid, code),
                Ok(WaitStatus::Signaled(pid, signal, _)) => (pid, -(signal as i32)),
                Ok(WaitStatus::StillAlive) | Err(_) => return Ok(()),
                Ok(_) => continue,
            };
            if let Some(i) = self.running.iter().position(|&(running, _)| running == pid) {
                let (_, number) = self.running.swap_remove(i);
                self.report(ENDED, number, code)?;
            }
        }
    }

    fn report(&self, kind: u8, number: usize, code: i32) -> io::Result<()> {
        let text = [&[kind][..], &(number as i32).to_ne_bytes(), &code.to_ne_bytes()].concat();
        self.channel.send(&text, &[], false)
    }
}

const MADE: u8 = b'm';
const FAILED: u8 = b'f';
const READY: u8 = b'r';
const ENDED: u8 = b'e';
const NOT_STARTED: u8 = b'n';

const CHANNEL: u64 = 0;
const SIGNALS: u64 = 1;
const GATES: u64 = 2;
