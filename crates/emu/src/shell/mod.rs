//! Shells: a command in a network namespace of its own, behind two directions of a path.

mod address;
pub(crate) mod attach;
mod command;
mod control;
pub(crate) mod endpoint;
mod gateway;
mod helpers;
mod http;
pub(crate) mod inner_side;
mod message;
pub(crate) mod report;
mod route;
mod sender_monitor;
pub(crate) mod terminal;
mod tunnel;
mod web_meter;

pub use report::{BufferLimit, Outcome, RunFault};
pub use tunnel::Status;

use crate::Error;
use crate::error::machine;
use crate::event_loop::EventLoop;
use crate::event_loop::control_socket::ControlSocket;
pub use crate::event_loop::meter::MeterView;
use crate::event_loop::meter::{CounterPublisher, Meter, SharedCounters};
use crate::path::{Direction, DirectionConfig, Pool};
use crate::sys::clock;
use crate::sys::fds::Channel;
use crate::sys::netlink::Netlink;
use crate::sys::process;
use crate::sys::tun::Tun;
use address::AddressBlock;
pub use attach::AttachPoint;
use attach::{Attachment, attach};
pub use command::InnerCommand;
pub(crate) use command::texts;
use control::{Lease, Leases, Listener};
use endpoint::{Endpoint, EndpointConfig};
use gateway::{AddressMap, GatewayConfig};
#[cfg(test)]
pub(crate) use gateway::{Frame, PacketSummary};
use helpers::{GatewayProcesses, HelperProcesses};
use inner_side::InnerConfig;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::signalfd::SignalFd;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Pid, getpid};
use route::{GatewayRoute, OuterSide};
use sender_monitor::SenderMonitor;
use sojourn_aqm::Duration;
use sojourn_aqm::registry::Catalogue;
use std::ffi::CString;
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use terminal::Terminal;
use tunnel::Tunnel;
use web_meter::WebMeter;

/// A shell as it was asked for.
pub struct Shell {
    /// What it is called: `link`, `delay`, `loss`.
    pub name: String,
    /// From inside to outside; the time of its start is filled in.
    pub up: DirectionConfig,
    /// From outside to inside; likewise.
    pub down: DirectionConfig,
    /// Seed of every random stream.
    pub seed: u64,
    /// What runs inside.
    pub command: InnerCommand,
    /// An interface that was there before, whose packets pass the shell; the command then runs where the shell was started.
    pub attach: Option<AttachPoint>,
    /// A command for the outer end, in `sh`'s language; that end is then a network namespace of its own.
    pub peer: Option<CString>,
    /// Names of hosts that lead to `$SOJOURN_HOST` inside.
    pub hosts: Vec<String>,
    /// TCP's congestion control at both ends.
    pub cc: Option<String>,
    /// What the live view has; with nothing there is none.
    pub meter: MeterView,
    /// Whether to show it as a page at a loopback address, too.
    pub meter_web: bool,
    /// Whether the command is the user's shell, whose prompt is to tell where it is.
    pub prompts: bool,
    /// The name by which it takes orders, besides the number of its process.
    pub control_name: Option<String>,
    /// How long before something is due the shell stops sleeping and looks at the clock instead.
    pub spin: Duration,
}

impl Shell {
    /// A shell without further wishes: its directions, up first, and what runs inside.
    pub fn new(name: &str, [up, down]: [DirectionConfig; 2], command: InnerCommand) -> Self {
        Self {
            name: name.to_string(),
            up,
            down,
            seed: 1,
            command,
            attach: None,
            peer: None,
            hosts: Vec::new(),
            cc: None,
            meter: MeterView::default(),
            meter_web: false,
            prompts: false,
            control_name: None,
            spin: Duration::ZERO,
        }
    }
}

/// Runs the command of `shell` to its end; who gives it orders may name queue managers of `own` as well. Only for a process
/// with a single thread, as it forks.
pub fn run(shell: Shell, own: &dyn Catalogue) -> Result<Outcome, Error> {
    in_current_namespaces(|| Session::of(shell).and_then(|session| session.run(own)))
}

/// Does something with processes of its own, after which terminal, signals and orphans of this one are as before.
pub(crate) fn in_current_namespaces<T>(does: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let terminal = Terminal::save();
    let before = SigSet::thread_get_mask().map_err(machine)?;
    // What an inner side leaves that somebody has killed comes here.
    let adopted = process::adopt_orphans(true).unwrap_or(false);
    let outcome = does();
    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&before), None);
    let _ = process::adopt_orphans(adopted);
    if let Some(terminal) = terminal {
        terminal.restore();
    }
    outcome
}

/// A shell whose namespaces and devices are there.
struct Session {
    shell: Shell,
    inner: Endpoint,
    outer: OuterSide,
    leases: Option<Leases>,
    attachment: Option<Attachment>,
    inside: Channel,
    process: Pid,
    signals: SignalFd,
    helpers: HelperProcesses,
    gateways: GatewayProcesses,
    /// Children of this process that are not ours.
    others: Vec<Pid>,
    /// Whether senders outside are the machine's own, with its settings.
    monitors_senders: bool,
}

impl Session {
    fn of(shell: Shell) -> Result<Self, Error> {
        match shell.attach.clone() {
            Some(place) => Self::attach(shell, &place),
            None => Self::start(shell),
        }
    }

    /// At an interface that was there before.
    fn attach(shell: Shell, place: &AttachPoint) -> Result<Self, Error> {
        let others = process::children();
        let signals = process::signal_fd(&FORWARDED_SIGNALS).map_err(machine)?;
        let (inside, child_end) = Channel::pair().map_err(machine)?;
        let (mut inside, me) = (Some(inside), getpid());
        let env = [("SOJOURN_SHELL".to_string(), shell.name.clone())];
        let process = process::spawn(|| {
            // This end is for the parent alone: with it the command ends.
            drop(inside.take());
            inner_side::main_in_place(&env, &shell.command, me, &child_end)
        });
        let process = process.map_err(machine)?;
        drop(child_end);
        let inside = inside.ok_or_else(|| machine(io::Error::from(io::ErrorKind::UnexpectedEof)))?;
        let (inner, outer, attached) = match attach(place) {
            Ok(made) => made,
            Err(error) => {
                drop(inside);
                let _ = waitpid(process, None);
                return Err(error);
            }
        };
        let plain = Self::of_ends(shell, [inner, outer], (inside, process), signals, others);
        Ok(Self { attachment: Some(attached), ..plain })
    }

    fn start(shell: Shell) -> Result<Self, Error> {
        let others = process::children();
        let signals = process::signal_fd(&FORWARDED_SIGNALS).map_err(machine)?;
        let (lease, outer, unprivileged) = outer_end(&shell)?;
        let block = lease.block;
        let private = outer.is_none();
        let servers = name_servers();
        let mut own = [None, None];
        if private {
            let found = machine_addresses()?;
            own = [IpAddr::is_ipv4, IpAddr::is_ipv6]
                .map(|family| found.iter().copied().find(|ip| family(ip) && is_permanent(ip)));
        }
        let addresses = AddressMap { block, machine: private, own, name_server: servers.loopback };
        let plan = InnerConfig {
            block,
            private,
            unprivileged,
            mtu: [shell.up.mtu, shell.down.mtu],
            cc: shell.cc.clone(),
            peer: shell.peer.clone(),
            env: environment(&shell, &lease),
            hosts: shell.hosts.clone(),
            resolv_conf: servers.replaced(block).filter(|_| lease.depth == 0),
        };
        let (mut helpers, mut gateways) = (HelperProcesses::default(), GatewayProcesses::default());
        let plain_senders = lease.depth == 0 && !private;
        let mut seat = None;
        let mut far = None;
        if lease.depth == 0 {
            let (channel, made, porter) = GatewayConfig::prepare(addresses).map_err(machine)?;
            helpers.add(porter);
            gateways.watch(porter);
            let end = if private {
                seat = Some(made);
                None
            } else {
                let apart = made.spawn_apart(shell.down.mtu, shell.cc.as_deref()).map_err(machine)?;
                helpers.add(apart);
                gateways.watch(apart);
                Some(gateway_end(&channel)?)
            };
            let machine = if private { Vec::new() } else { machine_addresses()? };
            far = Some(GatewayRoute { end, channel, machine, block, scratch: Vec::new() });
        }
        let (inside, child_end) = Channel::pair().map_err(machine)?;
        let me = getpid();
        let process =
            process::spawn(|| inner_side::main(&plan, &shell.command, me, &child_end, seat)).map_err(machine)?;
        drop(child_end);
        let (inner, made, gateway) = receive_ends(&inside)?;
        gateway.into_iter().for_each(|pid| gateways.watch(pid));
        let end = outer.or(made).ok_or_else(|| machine(io::Error::from(io::ErrorKind::UnexpectedEof)))?;
        let leases = Some(Leases::new(lease, shell.cc.clone()));
        let mut plain = Self::of_ends(shell, [inner, end], (inside, process), signals, others);
        plain.outer.gateway = far;
        Ok(Self { leases, helpers, gateways, monitors_senders: plain_senders, ..plain })
    }

    /// Between two ends, the inner one first, and with the process that runs the command: without shells around it or
    /// inside, and with no way beyond.
    fn of_ends(
        shell: Shell,
        [inner, outer]: [Endpoint; 2],
        (inside, process): (Channel, Pid),
        signals: SignalFd,
        others: Vec<Pid>,
    ) -> Self {
        Self {
            shell,
            inner,
            outer: OuterSide { end: outer, gateway: None },
            leases: None,
            attachment: None,
            inside,
            process,
            signals,
            helpers: HelperProcesses::default(),
            gateways: GatewayProcesses::default(),
            others,
            monitors_senders: false,
        }
    }

    fn run(self, own: &dyn Catalogue) -> Result<Outcome, Error> {
        let Self {
            mut shell,
            inner,
            outer: outside,
            leases,
            attachment: attached,
            inside,
            process,
            signals,
            helpers,
            ..
        } = self;
        let (gateways, others) = (self.gateways, self.others);
        let zero_ns = clock::monotonic_ns();
        let epoch_ns = clock::epoch_ns();
        (shell.up.epoch_ns, shell.down.epoch_ns) = (epoch_ns, epoch_ns);
        let up = Direction::new(shell.up.clone(), shell.seed)?;
        let down = Direction::new(shell.down.clone(), shell.seed)?;
        let desk =
            ControlSocket::of_shell(&shell.name, shell.control_name.as_deref(), shell.command.words(), epoch_ns)?;
        let board = (shell.meter.anything() || shell.meter_web).then(SharedCounters::default);
        let web = match (&board, shell.meter_web) {
            (Some(board), true) => Some(WebMeter::start(board, &shell.name, up.kind()).map_err(machine)?),
            _ => None,
        };
        inside.send(&[message::GO], &[], false).map_err(machine)?;
        let shown = board.as_ref().filter(|_| shell.meter.anything());
        let meter = shown.map(|board| Meter::start(shell.name.clone(), shell.meter, &shell.up.kind, board)).transpose();
        let meter = meter.map_err(machine)?;
        let gauges = board.map(CounterPublisher::of);
        let block = leases.as_ref().filter(|_| self.monitors_senders).map(Leases::block);
        let senders = block.and_then(|block| SenderMonitor::watch(block).ok());
        let spin_ns = Some(shell.spin.as_nanos().max(0) as u64);
        let event_loop = EventLoop { zero_ns, spin_ns, gauges, control_socket: desk, catalogue: own };
        let mut tunnel = Tunnel {
            up,
            down,
            pool: Pool::new(),
            inner,
            outside,
            leases,
            attached,
            inside,
            signals,
            gateways,
            command: tunnel::CommandProcess::default(),
        };
        let (end, usage) = event_loop.run(&mut tunnel);
        drop((meter, web));
        let held = senders.and_then(SenderMonitor::finish);
        let far = tunnel.outside.gateway.as_mut().and_then(|far| far.end.as_mut());
        let ends = [Some(&mut tunnel.inner), Some(&mut tunnel.outside.end), far].into_iter().flatten();
        let losses = ends.map(|end| end.netlink.losses(end.index).unwrap_or_default()).collect();
        let Tunnel { up, down, inner, outside, leases, attached, inside, gateways, command, .. } = tunnel;
        let reports = [up.finish(), down.finish()];
        // The devices go, and with them the routes to them; then the addresses are free for others.
        drop((attached, inner, outside));
        drop(leases);
        let _ = inside.send(&[message::DONE], &[], true);
        let keeper = waitpid(process, None);
        drop(helpers);
        let keeper_killed = matches!(keeper, Ok(WaitStatus::Signaled(..)));
        if keeper_killed {
            process::end_descendants(&others);
        }
        end?;
        let status = command.status.ok_or_else(|| machine(io::Error::from(io::ErrorKind::UnexpectedEof)))?;
        Ok(Outcome {
            shell,
            status,
            reports,
            losses,
            usage,
            buffer_limited: held,
            gateway_ended: gateways.ended,
            supervisor_killed: keeper_killed,
            signalled: command.signalled.map(|signal| signal as i32),
        })
    }
}

/// Addresses, and the outer end if it lies in the present network namespace; whether a user namespace is needed.
fn outer_end(shell: &Shell) -> Result<(Lease, Option<Endpoint>, bool), Error> {
    if shell.peer.is_some() {
        return Ok((Lease::new_tree()?, None, false));
    }
    let lease = Lease::obtain()?;
    match Tun::create("sojourn%d") {
        Ok(probe) => {
            drop(probe);
            let end = EndpointConfig::outer(lease.block, shell.down.mtu, shell.cc.as_deref()).make()?;
            Ok((lease, Some(end), false))
        }
        // The device may be opened, but this namespace is not ours to add one to.
        Err(e) if e.raw_os_error() == Some(libc::EPERM) => Ok((lease, None, true)),
        Err(e) => Err(Error::Machine(endpoint::no_tun(&e))),
    }
}

/// Whether an address is one of those that a machine has for others, for as long as it runs: no loopback address, none of
/// a single link, none of a shell.
fn is_permanent(address: &IpAddr) -> bool {
    let others = match address {
        IpAddr::V4(ip) => ip.is_link_local() || ip.octets()[..2] == [100, 64],
        IpAddr::V6(ip) => ip.is_unicast_link_local() || ip.segments()[..3] == [0xfd53, 0x6f6a, 0x6f75],
    };
    !(others || address.is_loopback())
}

/// The device that leads to the gateway.
fn gateway_end(channel: &Channel) -> Result<Endpoint, Error> {
    let mut room = [0; 4096];
    let (length, fds) = channel.receive(&mut room).map_err(machine)?;
    match (<[OwnedFd; 2]>::try_from(fds), <[u8; 4]>::try_from(&room[..length])) {
        (Ok([tun, netlink]), Ok(index)) => {
            let (tun, netlink) = (Tun::from_fd(tun), Netlink::from_fd(netlink));
            Ok(Endpoint { tun, netlink, index: u32::from_ne_bytes(index), listener: None })
        }
        _ => Err(Error::Machine(String::from_utf8_lossy(&room[..length]).into_owned())),
    }
}

/// The addresses under which this machine is reached.
fn machine_addresses() -> Result<Vec<IpAddr>, Error> {
    let addresses = Netlink::open().and_then(|mut netlink| netlink.addresses()).map_err(machine)?;
    Ok(addresses.into_iter().filter(|address| !address.is_loopback()).collect())
}

/// The name servers of this machine.
struct NameServers {
    /// Text of `/etc/resolv.conf`.
    text: String,
    /// The first of them, if it is at a loopback address, where nobody inside can reach it.
    loopback: Option<IpAddr>,
}

fn name_servers() -> NameServers {
    let text = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    let server = |line: &str| line.trim().strip_prefix("nameserver")?.trim().parse::<IpAddr>().ok();
    let loopback = text.lines().find_map(server).filter(IpAddr::is_loopback);
    NameServers { text, loopback }
}

impl NameServers {
    /// The text with an address that is reached from inside, where that is needed.
    fn replaced(&self, block: AddressBlock) -> Option<String> {
        self.loopback?;
        let others = self.text.lines().filter(|line| !line.trim().starts_with("nameserver"));
        let server = format!("nameserver {}", block.name_server());
        Some(others.map(str::to_string).chain([server, String::new()]).collect::<Vec<_>>().join("\n"))
    }
}

/// What the inner side has made, or why it has not.
fn receive_ends(inside: &Channel) -> Result<(Endpoint, Option<Endpoint>, Option<Pid>), Error> {
    let mut room = [0; 4096];
    let (length, fds) = inside.receive(&mut room).map_err(machine)?;
    let mut fds = fds.into_iter();
    let mut end = || -> Option<Endpoint> {
        let mut next = || fds.next();
        let (tun, netlink, listener): (OwnedFd, OwnedFd, OwnedFd) = (next()?, next()?, next()?);
        let index = 0;
        let listener = Some(Listener::from_fd(listener));
        Some(Endpoint { tun: Tun::from_fd(tun), netlink: Netlink::from_fd(netlink), index, listener })
    };
    match &room[..length] {
        [message::READY, numbers @ ..] => {
            let read = |i: usize| Some(u32::from_ne_bytes(numbers.get(4 * i..4 * i + 4)?.try_into().ok()?));
            let number = |end: Option<Endpoint>, i| Some(Endpoint { index: read(i)?, ..end? });
            let gateway = read(0).filter(|&pid| pid > 0).map(|pid| Pid::from_raw(pid as i32));
            let inner = number(end(), 1).ok_or_else(|| machine(io::Error::from(io::ErrorKind::UnexpectedEof)))?;
            Ok((inner, number(end(), 2), gateway))
        }
        [message::FAILED, text @ ..] => Err(Error::Machine(String::from_utf8_lossy(text).into_owned())),
        _ => Err(Error::Machine("the inner process of the shell exited during setup; see `sojourn doctor`".into())),
    }
}

/// Variables by which programs find what is around them.
fn environment(shell: &Shell, lease: &Lease) -> Vec<(String, String)> {
    let (host, host6) = lease.block.host();
    let names = match std::env::var("SOJOURN_SHELL") {
        Ok(around) if lease.depth > 0 => format!("{around} {}", shell.name),
        _ => shell.name.clone(),
    };
    let pairs = [
        ("SOJOURN_HOST", host.to_string()),
        ("SOJOURN_HOST6", host6.to_string()),
        ("MAHIMAHI_BASE", host.to_string()),
        ("SOJOURN_INSIDE", lease.block.v4().1.to_string()),
        ("SOJOURN_SHELL", names),
    ];
    let prompt = shell.prompts.then(|| ("PROMPT_COMMAND", PROMPT.to_string()));
    pairs.into_iter().chain(prompt).map(|(name, value)| (name.to_string(), value)).collect()
}

/// What bash does before its first prompt: the names of the shells come before it, as Mahimahi does it.
pub(crate) const PROMPT: &str = "PS1=\"[$SOJOURN_SHELL] $PS1\"; unset PROMPT_COMMAND";

/// Signals that are for the command.
pub(crate) const FORWARDED_SIGNALS: [Signal; 7] = [
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGHUP,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGCONT,
];
