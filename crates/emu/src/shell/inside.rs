//! The process on the inner side of a shell: it makes the namespaces and the devices, runs the command, and sees to it
//! that nothing is left of it.
//!
//! It is a child of the shell, which keeps its own network namespace. The devices go to the shell as descriptors.

use super::Command;
use super::address::Block;
use super::control::Listener;
use super::gateway;
use crate::sys::fds::Channel;
use crate::sys::namespace::{new_network, replace_file, set_sysctl};
use crate::sys::netlink::{Netlink, Prefix, Route};
use crate::sys::process;
use crate::sys::tun::Tun;
use nix::errno::Errno;
use nix::sys::signal::{SigHandler, SigSet, Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpid};
use std::ffi::CString;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd};

/// What the inner side is to be.
pub struct Plan {
    /// Addresses of both ends.
    pub block: Block,
    /// Whether the outer end is to lie in a network namespace of its own, too.
    pub private: bool,
    /// Whether a user namespace is needed even for the first of them.
    pub unprivileged: bool,
    /// Largest IP packet.
    pub mtu: u32,
    /// TCP's congestion control.
    pub cc: Option<String>,
    /// A command for the outer end, for `sh -c`; only where that is private.
    pub peer: Option<CString>,
    /// Further variables of the environment.
    pub env: Vec<(String, String)>,
    /// Text of `/etc/resolv.conf` where the machine's own does not do.
    pub resolv_conf: Option<String>,
}

/// What a shell learns from its inner side, by the first byte of a message.
pub mod message {
    /// All is made; the devices and sockets come along.
    pub const READY: u8 = b'r';
    /// It failed: the text says why.
    pub const FAILED: u8 = b'f';
    /// The command could not be started: its errno.
    pub const NOT_STARTED: u8 = b'n';
    /// The command has started: its number.
    pub const STARTED: u8 = b's';
    /// The command exited with a code.
    pub const EXITED: u8 = b'x';
    /// A signal ended the command.
    pub const KILLED: u8 = b'k';
    /// To the inner side: run the command.
    pub const GO: u8 = b'g';
}

/// Everything the inner side does, as the process `parent` forked it; `gateway` starts the process that takes
/// connections further where the outer end is private. Returns its exit code, which nobody looks at.
pub fn main(plan: &Plan, command: &Command, parent: Pid, shell: &Channel, gateway: Option<gateway::Seat>) -> i32 {
    match prepare(plan, parent, gateway) {
        Ok(made) => {
            let fds: Vec<BorrowedFd<'_>> = made.fds();
            let indices = [Some(&made.inner), made.outer.as_ref()].into_iter().flatten().map(|end| end.index);
            let text: Vec<u8> = [message::READY].into_iter().chain(indices.flat_map(u32::to_ne_bytes)).collect();
            if shell.send(&text, &fds, false).is_err() {
                return 1;
            }
        }
        Err(text) => {
            let _ = shell.send(&[&[message::FAILED], text.as_bytes()].concat(), &[], false);
            return 1;
        }
    }
    // The shell has its own descriptors of everything now.
    let mut go = [0];
    match shell.receive(&mut go) {
        Ok((1, _)) => {}
        _ => return 1,
    }
    run(plan, command, shell)
}

/// One end of the shell's path: a device, and what changes and watches it.
pub struct End {
    /// The device.
    pub tun: Tun,
    /// A socket to its namespace.
    pub netlink: Netlink,
    /// Its number there.
    pub index: u32,
    /// Where the shells in that namespace come for addresses; none where another shell answers.
    pub listener: Option<Listener>,
}

struct Made {
    inner: End,
    outer: Option<End>,
}

impl Made {
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        let mut fds = Vec::new();
        for end in [Some(&self.inner), self.outer.as_ref()].into_iter().flatten() {
            let listener = end.listener.as_ref().expect("an end in a namespace of our own has one");
            fds.extend([end.tun.as_fd(), end.netlink.as_fd(), listener.as_fd()]);
        }
        fds
    }
}

fn prepare(plan: &Plan, parent: Pid, gateway: Option<gateway::Seat>) -> Result<Made, String> {
    let no_namespace = |e: io::Error| {
        format!("network namespace: {e}; run as root, or on a kernel that lets users make user namespaces")
    };
    process::adopt_orphans().map_err(|e| e.to_string())?;
    let mut in_user_namespace = false;
    let outer = if plan.private {
        in_user_namespace = new_network(plan.unprivileged).map_err(no_namespace)?;
        loopback().map_err(|e| format!("loopback: {e}"))?;
        forward();
        enlarge_windows();
        let mut end = Site::outer(plan.block, plan.mtu, plan.cc.as_deref()).make()?;
        end.listener = Some(listen()?);
        if let Some(seat) = gateway {
            seat.spawn_here(&end.tun).map_err(|e| format!("gateway: {e}"))?;
        }
        spawn_peer(plan, in_user_namespace)?;
        Some(end)
    } else {
        None
    };
    in_user_namespace |= new_network(false).map_err(no_namespace)?;
    loopback().map_err(|e| format!("loopback: {e}"))?;
    forward();
    enlarge_windows();
    let mut inner = Site::inner(plan.block, plan.mtu, plan.cc.as_deref()).make()?;
    inner.listener = Some(listen()?);
    if let Some(text) = &plan.resolv_conf {
        // Without it the command has no names, but all else; the kernel may forbid mounts.
        let _ = replace_file("/etc/resolv.conf", text);
    }
    if in_user_namespace && !nix::unistd::geteuid().is_root() {
        process::keep_capabilities().map_err(|e| format!("capabilities: {e}"))?;
    }
    // Changed credentials undo it, so it comes last.
    match process::follow_parent(parent, SHELL_IS_GONE) {
        Ok(true) => Ok(Made { inner, outer }),
        _ => Err("the shell is gone".to_string()),
    }
}

/// What an end of a path is to be.
pub struct Site<'a> {
    /// Name of the device; a `%d` becomes a number.
    pub name: &'a str,
    /// Largest IP packet.
    pub mtu: u32,
    /// Its own addresses, and those at the other end of the device.
    pub addresses: [(IpAddr, IpAddr); 2],
    /// What is reached through it.
    pub reaches: [Prefix; 2],
    /// TCP's congestion control on the way there.
    pub cc: Option<&'a str>,
}

impl<'a> Site<'a> {
    /// The outer end of a shell, which reaches what is inside.
    pub fn outer(block: Block, mtu: u32, cc: Option<&'a str>) -> Self {
        let (v4, v6) = (block.v4(), block.v6());
        Self { name: "sojourn%d", mtu, addresses: [v4, v6], reaches: [(v4.1, 32), (v6.1, 128)], cc }
    }

    /// The inner end, which reaches everything.
    fn inner(block: Block, mtu: u32, cc: Option<&'a str>) -> Self {
        let ends = [block.v4(), block.v6()];
        let everywhere = [(Ipv4Addr::UNSPECIFIED.into(), 0), (Ipv6Addr::UNSPECIFIED.into(), 0)];
        Self { name: "sojourn", mtu, addresses: ends.map(|(outer, inner)| (inner, outer)), reaches: everywhere, cc }
    }

    /// Makes the end in the present network namespace.
    pub fn make(&self) -> Result<End, String> {
        let (tun, name) = Tun::create(self.name).map_err(|e| no_tun(&e))?;
        let fail = |what: &str, e: io::Error| format!("{name}: {what}: {e}; see `sojourn doctor`");
        let mut netlink = Netlink::open().map_err(|e| fail("netlink", e))?;
        let index = netlink.index(&name).map_err(|e| fail("device", e))?;
        netlink.up(index, Some((self.mtu, QUEUE))).map_err(|e| fail("switching on", e))?;
        for ((own, peer), to) in self.addresses.into_iter().zip(self.reaches) {
            let address = netlink.add_address(index, own, peer);
            let route = netlink.add_route(to, index, Route::Device, Some(own), self.cc);
            // A machine without IPv6 emulates IPv4.
            if own.is_ipv4() {
                address.map_err(|e| fail("address", e))?;
                route.map_err(|e| match (e.raw_os_error(), self.cc) {
                    (Some(libc::EINVAL), Some(cc)) => unknown_control(cc),
                    _ => fail("route", e),
                })?;
            }
        }
        Ok(End { tun, netlink, index, listener: None })
    }
}

fn unknown_control(cc: &str) -> String {
    let known = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    let known = known.split_whitespace().collect::<Vec<_>>().join(", ");
    format!("--cc {cc}: this kernel has none of that name; it has {known}")
}

/// Why there is no device, and the mend.
pub fn no_tun(error: &io::Error) -> String {
    use crate::sys::tun::DEVICE;
    let mend = match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENXIO | libc::ENODEV) => "load the kernel's module tun (modprobe tun)",
        Some(libc::EACCES | libc::EPERM) => "run as root, or let users open it (chmod 666)",
        Some(libc::EMFILE | libc::ENFILE) => "raise the limit on open files (ulimit -n)",
        _ => "see `sojourn doctor`",
    };
    format!("{DEVICE}: {error}; {mend}")
}

fn listen() -> Result<Listener, String> {
    Listener::open().map_err(|e| format!("control socket: {e}; raise the limit on open files (ulimit -n)"))
}

fn loopback() -> io::Result<()> {
    let mut netlink = Netlink::open()?;
    let index = netlink.index("lo")?;
    netlink.up(index, None)
}

/// Lets packets of shells inside pass.
fn forward() {
    set_sysctl("net/ipv4/ip_forward", "1");
    set_sysctl("net/ipv6/conf/all/forwarding", "1");
    // Users may ping.
    if !set_sysctl("net/ipv4/ping_group_range", "0 2147483647") {
        let group = nix::unistd::getegid();
        set_sysctl("net/ipv4/ping_group_range", &format!("{group} {group}"));
    }
}

/// Windows that fill long paths.
fn enlarge_windows() {
    for (name, start) in [("net/ipv4/tcp_rmem", "4096 131072"), ("net/ipv4/tcp_wmem", "4096 65536")] {
        set_sysctl(name, &format!("{start} {LARGEST_WINDOW}"));
    }
}

fn spawn_peer(plan: &Plan, in_user_namespace: bool) -> Result<(), String> {
    let Some(peer) = &plan.peer else { return Ok(()) };
    let words = [c"/bin/sh", c"-c", peer].map(CString::from);
    let me = getpid();
    process::spawn(|| {
        if in_user_namespace && !nix::unistd::geteuid().is_root() {
            let _ = process::keep_capabilities();
        }
        let _ = process::follow_parent(me, Signal::SIGKILL);
        export(plan);
        let _ = process::ordinary_signals();
        let error = process::become_program(&words);
        eprintln!("Error: --peer: {error}");
        127
    })
    .map(|_| ())
    .map_err(|e| format!("--peer: {e}"))
}

/// Runs the command and waits for its end, then ends whatever it has left behind.
fn run(plan: &Plan, command: &Command, shell: &Channel) -> i32 {
    for signal in FOR_THE_COMMAND {
        let _ = process::on(signal, SigHandler::SigIgn);
    }
    let waited: SigSet = [Signal::SIGCHLD, SHELL_IS_GONE].into_iter().collect();
    if waited.thread_block().is_err() {
        return 1;
    }
    let (started, mut exec) = match Channel::pair() {
        Ok((started, exec)) => (started, Some(exec)),
        Err(_) => return 1,
    };
    let spawned = process::spawn(|| {
        export(plan);
        for signal in FOR_THE_COMMAND {
            let _ = process::on(signal, SigHandler::SigDfl);
        }
        let _ = process::ordinary_signals();
        let words = match command {
            Command::Program(words) => words,
            Command::Own(function) => {
                // Starting is over, as after an exec.
                drop(exec.take());
                return function(plan.block.host().0);
            }
        };
        let error = process::become_program(words);
        // The other end sees either this, or the end of the channel when the program starts.
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
        end_descendants();
        return 1;
    }
    let _ = shell.send(&[&[message::STARTED], &command.as_raw().to_ne_bytes()[..]].concat(), &[], false);
    let end = wait_for(command, &waited);
    end_descendants();
    let (kind, number) = match end {
        Some(WaitStatus::Exited(_, code)) => (message::EXITED, code),
        Some(WaitStatus::Signaled(_, signal, _)) => (message::KILLED, signal as i32),
        _ => (message::KILLED, Signal::SIGKILL as i32),
    };
    let _ = shell.send(&[&[kind], &number.to_ne_bytes()[..]].concat(), &[], false);
    0
}

/// Waits for the end of the command, or for that of the shell (`None`).
fn wait_for(command: Pid, waited: &SigSet) -> Option<WaitStatus> {
    loop {
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
            Ok(SHELL_IS_GONE) => return None,
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return None,
        }
    }
}

/// Kills every descendant: orphans come to us, so that in the end all have been our children.
fn end_descendants() {
    let path = format!("/proc/self/task/{}/children", getpid());
    loop {
        let children = fs::read_to_string(&path).unwrap_or_default();
        let mut alive = false;
        for pid in children.split_whitespace().filter_map(|pid| pid.parse().ok()) {
            alive |= kill(Pid::from_raw(pid), Signal::SIGKILL).is_ok();
        }
        if !alive {
            return;
        }
        // What was killed comes here; what it leaves is found in the next round.
        while let Ok(status) = waitpid(None, Some(WaitPidFlag::empty())) {
            if !matches!(status, WaitStatus::StillAlive) {
                break;
            }
        }
    }
}

fn export(plan: &Plan) {
    for (name, value) in &plan.env {
        // Safe wrappers do not exist, because another thread might read; there is none.
        process::set_variable(name, value);
    }
}

/// What the terminal, or somebody who ends a whole group of processes, sends to the command as well.
const FOR_THE_COMMAND: [Signal; 4] = [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGHUP, Signal::SIGTERM];

/// What the kernel sends when the shell dies; nobody else sends it.
const SHELL_IS_GONE: Signal = Signal::SIGPWR;

/// Most superframes that wait in a device.
const QUEUE: u32 = 10_000;

/// Largest window of TCP in bytes: 2 Gbit/s over 250 ms.
const LARGEST_WINDOW: u32 = 64 << 20;
