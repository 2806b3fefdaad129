//! The process on the inner side of a shell, the command's supervisor: it creates namespaces and devices, runs the
//! command, and kills the processes that the command leaves behind.
//!
//! A child of the shell creates the namespaces, because a process that entered a user namespace cannot return; the same
//! code serves root. It passes the devices to the shell as descriptors.

use super::address::AddressBlock;
use super::command::InnerCommand;
use super::control::Listener;
use super::endpoint::{Endpoint, EndpointConfig};
use super::gateway;
use super::message;
use super::names;
use crate::Error;
use crate::remedy::Situation;
use crate::sys::fds::Channel;
use crate::sys::namespace::{enlarge_windows, new_network, replace_file, set_sysctl};
use crate::sys::netlink::Netlink;
use crate::sys::process;
use nix::errno::Errno;
use nix::sys::signal::{SigHandler, SigSet, Signal};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpid};
use std::ffi::CString;
use std::fmt::Display;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, BorrowedFd};

/// Configuration of the inner side.
pub struct InnerConfig {
    /// Addresses of both ends.
    pub block: AddressBlock,
    /// Whether the outer end has its own network namespace, too.
    pub private: bool,
    /// Whether nothing beyond the outer end is reachable; only if `private`.
    pub closed: bool,
    /// Whether the first network namespace needs a user namespace.
    pub unprivileged: bool,
    /// MTU of the inner and the outer device, in bytes: the largest packet up and down.
    pub mtu: [u32; 2],
    /// TCP congestion control.
    pub cc: Option<String>,
    /// Command of the outer end, for `sh -c`; only if `private`.
    pub peer: Option<CString>,
    /// Additional environment variables.
    pub env: Vec<(String, String)>,
    /// Replacement of `/etc/resolv.conf`, if the machine's name server is unreachable from inside.
    pub resolv_conf: Option<String>,
    /// Host names that resolve to the outermost shell's outer end.
    pub hosts: Vec<String>,
}

/// Main function of the inner side, a child of `parent`. `gateway` is set if the outer end is private: the gateway
/// process then starts here. Returns an exit code, which the shell ignores.
pub fn main(
    plan: &InnerConfig,
    command: &InnerCommand,
    parent: Pid,
    shell: &Channel,
    gateway: Option<gateway::GatewayConfig>,
) -> i32 {
    let gateway = match prepare(plan, parent, gateway) {
        Ok(made) => {
            let fds: Vec<BorrowedFd<'_>> = made.fds();
            let indices = [Some(&made.inner), made.outer.as_ref()].into_iter().flatten().map(|end| end.index);
            let numbers = [made.gateway.map_or(0, |pid| pid.as_raw() as u32)].into_iter().chain(indices);
            let text: Vec<u8> = [message::READY].into_iter().chain(numbers.flat_map(u32::to_ne_bytes)).collect();
            if shell.send(&text, &fds, false).is_err() {
                return 1;
            }
            made.gateway
        }
        Err(error) => {
            let _ = shell.send(&[&[message::FAILED], error.to_string().as_bytes()].concat(), &[], false);
            return 1;
        }
    };
    // The shell has duplicates of the descriptors now; ours were closed with `made`.
    let mut go = [0];
    match shell.receive(&mut go) {
        Ok((1, _)) => {}
        _ => return 1,
    }
    run(&plan.env, plan.block.host().0, command, shell, gateway)
}

/// Main function of the inner side of an attached shell: runs the command in the current network namespace, with the
/// additional environment variables `env`.
pub fn main_in_place(env: &[(String, String)], command: &InnerCommand, parent: Pid, shell: &Channel) -> i32 {
    let prepared = process::set_subreaper(true).and_then(|_| process::follow_parent(parent, PARENT_DEATH_SIGNAL));
    match (prepared, shell.receive(&mut [0])) {
        (Ok(true), Ok((1, _))) => run(env, IpAddr::V4(Ipv4Addr::LOCALHOST), command, shell, None),
        _ => 1,
    }
}

struct InnerDevices {
    inner: Endpoint,
    outer: Option<Endpoint>,
    /// The gateway process, if the outer end is private.
    gateway: Option<Pid>,
}

impl InnerDevices {
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        let mut fds = Vec::new();
        for end in [Some(&self.inner), self.outer.as_ref()].into_iter().flatten() {
            let listener = end.listener.as_ref().expect("an end in a namespace of our own has one");
            fds.extend([end.tun.as_fd(), end.netlink.as_fd(), listener.as_fd()]);
        }
        fds
    }
}

/// Error of a namespace that cannot be created.
fn no_namespace(error: io::Error) -> Error {
    let (cause, remedy) = Situation::present().namespace(&error);
    Error::Machine(format!("network namespace: {cause}; {remedy}"))
}

fn prepare(plan: &InnerConfig, parent: Pid, gateway: Option<gateway::GatewayConfig>) -> Result<InnerDevices, Error> {
    process::set_subreaper(true).map_err(|e| Error::Machine(e.to_string()))?;
    let (mut in_user_namespace, mut gateway_process) = (false, None);
    let outer = if plan.private {
        in_user_namespace = new_host(plan.unprivileged)?;
        let mut end = EndpointConfig::outer(plan.block, plan.mtu[1], plan.cc.as_deref()).make()?;
        end.listener = Some(listen()?);
        if plan.closed {
            refuse_at_once();
        }
        if let Some(config) = gateway {
            gateway_process = Some(config.spawn_in_place(&end.tun).map_err(|e| missing("gateway", &e))?);
        }
        spawn_peer(plan, in_user_namespace)?;
        Some(end)
    } else {
        None
    };
    in_user_namespace |= new_host(false)?;
    let mut inner = EndpointConfig::inner(plan.block, plan.mtu[0], plan.cc.as_deref()).make()?;
    inner.listener = Some(listen()?);
    if let Some(text) = &plan.resolv_conf {
        // The kernel may forbid mounts; then only name resolution is missing.
        let _ = replace_file("/etc/resolv.conf", text);
    }
    if !plan.hosts.is_empty() {
        name_hosts(plan)
            .map_err(|e| Error::Machine(format!("--host: /etc/hosts cannot be replaced: {e}; see mount(2)")))?;
    }
    if follow_parent(parent, in_user_namespace)? {
        Ok(InnerDevices { inner, outer, gateway: gateway_process })
    } else {
        Err(Error::Machine("the shell has exited".to_string()))
    }
}

/// Replaces the files of name resolution, so that the names lead to the outer end only.
fn name_hosts(plan: &InnerConfig) -> io::Result<()> {
    let own = std::fs::read_to_string("/etc/hosts").unwrap_or_default();
    replace_file("/etc/hosts", &names::hosts(&own, &plan.hosts, plan.block))?;
    // Without this file, files and the name server are the default.
    match std::fs::read_to_string("/etc/nsswitch.conf") {
        Ok(own) => replace_file("/etc/nsswitch.conf", &names::name_switch(&own)),
        Err(_) => Ok(()),
    }
}

/// Error of a feature that the machine lacks.
pub fn missing(feature: &str, error: &dyn Display) -> Error {
    Error::Machine(format!("{feature}: {error}"))
}

fn listen() -> Result<Listener, Error> {
    let open = Listener::open();
    open.map_err(|e| Error::Machine(format!("control socket: {e}; raise the limit on open files (ulimit -n)")))
}

fn loopback() -> io::Result<()> {
    let mut netlink = Netlink::open()?;
    let index = netlink.index("lo")?;
    netlink.set_up(index, None)
}

/// Enables forwarding for shells inside, and unprivileged ping sockets.
fn forward() {
    set_sysctl("net/ipv4/ip_forward", "1");
    set_sysctl("net/ipv6/conf/all/forwarding", "1");
    // The whole range is invalid in a user namespace that maps one group.
    if !set_sysctl("net/ipv4/ping_group_range", "0 2147483647") {
        let group = nix::unistd::getegid();
        set_sysctl("net/ipv4/ping_group_range", &format!("{group} {group}"));
    }
}

/// Removes the limits of ICMP errors of this network namespace: each attempt to reach another host fails at once.
fn refuse_at_once() {
    set_sysctl("net/ipv4/icmp_ratelimit", "0");
    set_sysctl("net/ipv6/icmp/ratelimit", "0");
}

fn spawn_peer(plan: &InnerConfig, in_user_namespace: bool) -> Result<(), Error> {
    let Some(peer) = &plan.peer else { return Ok(()) };
    let words = [c"/bin/sh", c"-c", peer].map(CString::from);
    let me = getpid();
    process::spawn(|| {
        if in_user_namespace && !nix::unistd::geteuid().is_root() {
            let _ = process::keep_capabilities();
        }
        prepare_exec(me, &plan.env);
        let error = process::exec(&words);
        eprintln!("Error: --peer: {error}");
        127
    })
    .map(|_| ())
    .map_err(|e| missing("--peer", &e))
}

/// Runs the command, waits for its end and kills the processes that it left behind. The gateway process lives until the
/// shell sends `DONE`.
fn run(env: &[(String, String)], host: IpAddr, command: &InnerCommand, shell: &Channel, gateway: Option<Pid>) -> i32 {
    for signal in COMMAND_SIGNALS {
        let _ = process::set_signal_action(signal, SigHandler::SigIgn);
    }
    let waited: SigSet = [Signal::SIGCHLD, PARENT_DEATH_SIGNAL].into_iter().collect();
    if waited.thread_block().is_err() {
        return 1;
    }
    let (started, mut exec) = match Channel::pair() {
        Ok((started, exec)) => (started, Some(exec)),
        Err(_) => return 1,
    };
    let me = getpid();
    let spawned = process::spawn(|| {
        prepare_exec(me, env);
        let words = match command {
            InnerCommand::Program(words) => words,
            InnerCommand::Own(function) => {
                // Signals a successful start, as close-on-exec does.
                drop(exec.take());
                return function(host);
            }
        };
        let error = process::exec(words);
        // The other end receives this, or the end of the channel if exec succeeds (close-on-exec).
        let errno = error.raw_os_error().unwrap_or(libc::EINVAL);
        if let Some(exec) = &exec {
            let _ = exec.send(&errno.to_ne_bytes(), &[], false);
        }
        127
    });
    drop(exec);
    let command = match spawned {
        Ok(pid) => pid,
        Err(e) => {
            let errno = e.raw_os_error().unwrap_or(libc::EAGAIN);
            let _ = shell.send(&[&[message::NOT_STARTED], &errno.to_ne_bytes()[..]].concat(), &[], false);
            return 1;
        }
    };
    let mut errno = [0; 4];
    if let Ok((4, _)) = started.receive(&mut errno) {
        let _ = shell.send(&[&[message::NOT_STARTED], &errno[..]].concat(), &[], false);
        process::kill_descendants(&[]);
        return 1;
    }
    let _ = shell.send(&[&[message::STARTED], &command.as_raw().to_ne_bytes()[..]].concat(), &[], false);
    let end = wait_for(command, &waited);
    let spared: Vec<Pid> = gateway.into_iter().filter(|_| end.is_some()).collect();
    process::kill_descendants(&spared);
    let (kind, number) = match end {
        Some(WaitStatus::Exited(_, code)) => (message::EXITED, code),
        Some(WaitStatus::Signaled(_, signal, _)) => (message::KILLED, signal as i32),
        _ => (message::KILLED, Signal::SIGKILL as i32),
    };
    let _ = shell.send(&[&[kind], &number.to_ne_bytes()[..]].concat(), &[], false);
    // If the shell dies meanwhile, PARENT_DEATH_SIGNAL kills this process, and SIGKILL follows for the gateway.
    if !spared.is_empty() && waited.thread_unblock().is_ok() {
        let _ = shell.receive(&mut [0]);
    }
    process::kill_descendants(&[]);
    0
}

/// Waits for the command; `None` if the shell has died.
fn wait_for(command: Pid, waited: &SigSet) -> Option<WaitStatus> {
    loop {
        // One SIGCHLD may announce several children, adopted orphans among them.
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(status @ (WaitStatus::Exited(pid, _) | WaitStatus::Signaled(pid, ..))) if pid == command => {
                    return Some(status);
                }
                Ok(WaitStatus::StillAlive) | Err(_) => break,
                Ok(_) => {}
            }
        }
        match waited.wait() {
            Ok(PARENT_DEATH_SIGNAL) => return None,
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return None,
        }
    }
}

/// Prepares a child of `supervisor` for exec, or for a function instead of a program. The child is killed with the
/// supervisor; its orphans are reparented to the supervisor's parent.
pub fn prepare_exec<N: AsRef<str>>(supervisor: Pid, env: &[(N, String)]) {
    let _ = process::follow_parent(supervisor, Signal::SIGKILL);
    for (name, value) in env {
        process::set_variable(name.as_ref(), value);
    }
    for signal in COMMAND_SIGNALS {
        let _ = process::set_signal_action(signal, SigHandler::SigDfl);
    }
    let _ = process::reset_signals();
}

/// Last step of a supervisor's setup: keeps capabilities in a user namespace and requests the parent-death signal.
/// Returns false if the parent is dead already.
pub fn follow_parent(parent: Pid, in_user_namespace: bool) -> Result<bool, Error> {
    if in_user_namespace && !nix::unistd::geteuid().is_root() {
        process::keep_capabilities().map_err(|e| missing("capabilities", &e))?;
    }
    // Last, because a change of credentials clears the parent-death signal (prctl(2)).
    Ok(process::follow_parent(parent, PARENT_DEATH_SIGNAL).unwrap_or(false))
}

/// Moves this process to a new network namespace that forwards packets. Returns whether a user namespace was created.
pub fn new_host(unprivileged: bool) -> Result<bool, Error> {
    let in_user_namespace = new_network(unprivileged).map_err(no_namespace)?;
    loopback().map_err(|e| missing("loopback", &e))?;
    forward();
    enlarge_windows();
    Ok(in_user_namespace)
}

/// Signals that the supervisor ignores: a terminal or a `kill` of the process group sends them to the command, too.
pub const COMMAND_SIGNALS: [Signal; 4] = [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGHUP, Signal::SIGTERM];

/// Signal from the kernel when the shell dies; SIGPWR, because it has no other sender here.
pub const PARENT_DEATH_SIGNAL: Signal = Signal::SIGPWR;
