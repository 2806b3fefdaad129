//! Shells: a command in its own network namespace, behind the two directions of an emulated path.

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
mod names;
mod refusals;
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
use names::NameServers;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::signalfd::SignalFd;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Pid, getpid};
use refusals::Refusals;
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

/// Configuration of a shell.
pub struct Shell {
    /// Name of the shell, such as `link`, `delay`, `loss`.
    pub name: String,
    /// From inside to outside; `epoch_ns` is set at the start.
    pub up: DirectionConfig,
    /// From outside to inside; `epoch_ns` is set at the start.
    pub down: DirectionConfig,
    /// Seed of all random streams.
    pub seed: u64,
    /// Command inside the shell.
    pub command: InnerCommand,
    /// Existing interface whose packets pass through the shell; the command then runs in the current network namespace.
    pub attach: Option<AttachPoint>,
    /// `sh` command for the outer end, which then has its own network namespace; nothing beyond it is reachable.
    pub peer: Option<CString>,
    /// Whether the outer end has its own network namespace, beyond which nothing is reachable, even without a peer.
    pub isolated: bool,
    /// Host names that resolve to `$SOJOURN_HOST` inside.
    pub hosts: Vec<String>,
    /// TCP congestion control at both ends.
    pub cc: Option<String>,
    /// Contents of the live view; no view if empty.
    pub meter: MeterView,
    /// Whether to serve the live view as a web page on a loopback address, too.
    pub meter_web: bool,
    /// Whether the command is the user's shell, whose prompt shows the names of the shells around it.
    pub prompts: bool,
    /// Name of its control socket, besides its PID.
    pub control_name: Option<String>,
    /// Time before a deadline from which the event loop polls the clock instead of sleeping.
    pub spin: Duration,
}

impl Shell {
    /// A shell with default options; `up` is the first direction.
    pub fn new(name: &str, [up, down]: [DirectionConfig; 2], command: InnerCommand) -> Self {
        Self {
            name: name.to_string(),
            up,
            down,
            seed: 1,
            command,
            attach: None,
            peer: None,
            isolated: false,
            hosts: Vec::new(),
            cc: None,
            meter: MeterView::default(),
            meter_web: false,
            prompts: false,
            control_name: None,
            spin: Duration::ZERO,
        }
    }

    /// Whether nothing beyond the outer end is reachable.
    fn is_closed(&self) -> bool {
        self.isolated || self.peer.is_some()
    }
}

/// Runs the command of `shell` to its end. Orders on the control socket may use the queue managers in `own`. Requires a
/// single-threaded process, because it forks.
pub fn run(shell: Shell, own: &dyn Catalogue) -> Result<Outcome, Error> {
    in_current_namespaces(|| Session::of(shell).and_then(|session| session.run(own)))
}

/// Runs `f`, which forks, and then restores the terminal, the signal mask and the subreaper setting of this process.
pub(crate) fn in_current_namespaces<T>(f: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let terminal = Terminal::save();
    let before = SigSet::thread_get_mask().map_err(machine)?;
    // If an inner process is killed, its orphans are reparented to this process, which can kill them.
    let adopted = process::set_subreaper(true).unwrap_or(false);
    let outcome = f();
    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&before), None);
    let _ = process::set_subreaper(adopted);
    if let Some(terminal) = terminal {
        terminal.restore();
    }
    outcome
}

/// A shell with its namespaces and devices.
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
    /// Children of this process from before this shell.
    others: Vec<Pid>,
    /// Whether senders outside run in the machine's own network stack, with its `tcp_wmem`.
    monitors_senders: bool,
}

impl Session {
    fn of(shell: Shell) -> Result<Self, Error> {
        match shell.attach.clone() {
            Some(point) => Self::attach(shell, &point),
            None => Self::start(shell),
        }
    }

    /// Sets up a shell at an existing interface.
    fn attach(shell: Shell, point: &AttachPoint) -> Result<Self, Error> {
        let others = process::children();
        let signals = process::signal_fd(&FORWARDED_SIGNALS).map_err(machine)?;
        let (inside, child_end) = Channel::pair().map_err(machine)?;
        let (mut inside, me) = (Some(inside), getpid());
        let env = [("SOJOURN_SHELL".to_string(), shell.name.clone())];
        let process = process::spawn(|| {
            // Only the parent may hold this end: the command ends when it is closed.
            drop(inside.take());
            inner_side::main_in_place(&env, &shell.command, me, &child_end)
        });
        let process = process.map_err(machine)?;
        drop(child_end);
        let inside = inside.ok_or_else(|| machine(io::Error::from(io::ErrorKind::UnexpectedEof)))?;
        let (inner, outer, attached) = match attach(point) {
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

    /// Sets up a shell with its own network namespace.
    fn start(shell: Shell) -> Result<Self, Error> {
        let others = process::children();
        let signals = process::signal_fd(&FORWARDED_SIGNALS).map_err(machine)?;
        let (lease, outer, unprivileged) = outer_end(&shell)?;
        let block = lease.block;
        let (private, closed) = (outer.is_none(), shell.is_closed());
        let servers = NameServers::read();
        let mut own = [None, None];
        if private && !closed {
            let found = machine_addresses()?;
            own = [IpAddr::is_ipv4, IpAddr::is_ipv6]
                .map(|family| found.iter().copied().find(|ip| family(ip) && is_permanent(ip)));
        }
        let addresses = AddressMap { block, machine: private, own, name_server: servers.loopback };
        let plan = InnerConfig {
            block,
            private,
            closed,
            unprivileged,
            mtu: [shell.up.mtu, shell.down.mtu],
            cc: shell.cc.clone(),
            peer: shell.peer.clone(),
            env: environment(&shell, &lease),
            hosts: shell.hosts.clone(),
            resolv_conf: servers.replaced(block, closed).filter(|_| lease.depth == 0),
        };
        let (mut helpers, mut gateways) = (HelperProcesses::default(), GatewayProcesses::default());
        let monitors_senders = lease.depth == 0 && !private;
        let mut gateway_config = None;
        let mut route = None;
        if lease.depth == 0 && !closed {
            let (channel, config, socket_process) = GatewayConfig::prepare(addresses).map_err(machine)?;
            helpers.add(socket_process);
            gateways.watch(socket_process);
            let end = if private {
                gateway_config = Some(config);
                None
            } else {
                let gateway = config.spawn_in_namespace(shell.down.mtu, shell.cc.as_deref()).map_err(machine)?;
                helpers.add(gateway);
                gateways.watch(gateway);
                Some(gateway_end(&channel)?)
            };
            let machine = if private { Vec::new() } else { machine_addresses()? };
            route = Some(GatewayRoute { end, channel, machine, block, scratch: Vec::new() });
        }
        let (inside, child_end) = Channel::pair().map_err(machine)?;
        let me = getpid();
        let process = process::spawn(|| inner_side::main(&plan, &shell.command, me, &child_end, gateway_config))
            .map_err(machine)?;
        drop(child_end);
        let (inner, made, gateway) = receive_ends(&inside)?;
        gateway.into_iter().for_each(|pid| gateways.watch(pid));
        let end = outer.or(made).ok_or_else(|| machine(io::Error::from(io::ErrorKind::UnexpectedEof)))?;
        let leases = Some(Leases::new(lease, shell.cc.clone()));
        let mut plain = Self::of_ends(shell, [inner, end], (inside, process), signals, others);
        plain.outer.gateway = route;
        plain.outer.refusals = closed.then(|| Refusals::new(block));
        Ok(Self { leases, helpers, gateways, monitors_senders, ..plain })
    }

    /// A session between the inner and the outer end, with the process that runs the command: no leases, no gateway.
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
            outer: OuterSide { end: outer, gateway: None, refusals: None },
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

    fn run(self, catalogue: &dyn Catalogue) -> Result<Outcome, Error> {
        let Self { mut shell, inner, outer, leases, attachment, inside, process, signals, helpers, .. } = self;
        let (gateways, others) = (self.gateways, self.others);
        let zero_ns = clock::monotonic_ns();
        let epoch_ns = clock::epoch_ns();
        (shell.up.epoch_ns, shell.down.epoch_ns) = (epoch_ns, epoch_ns);
        let up = Direction::new(shell.up.clone(), shell.seed)?;
        let down = Direction::new(shell.down.clone(), shell.seed)?;
        let control_socket =
            ControlSocket::of_shell(&shell.name, shell.control_name.as_deref(), shell.command.words(), epoch_ns)?;
        let counters = (shell.meter.is_enabled() || shell.meter_web).then(SharedCounters::default);
        let web = match (&counters, shell.meter_web) {
            (Some(counters), true) => Some(WebMeter::start(counters, &shell.name, up.kind()).map_err(machine)?),
            _ => None,
        };
        inside.send(&[message::GO], &[], false).map_err(machine)?;
        let shown = counters.as_ref().filter(|_| shell.meter.is_enabled());
        let meter =
            shown.map(|counters| Meter::start(shell.name.clone(), shell.meter, &shell.up.kind, counters)).transpose();
        let meter = meter.map_err(machine)?;
        let publisher = counters.map(CounterPublisher::of);
        let block = leases.as_ref().filter(|_| self.monitors_senders).map(Leases::block);
        let senders = block.and_then(|block| SenderMonitor::watch(block).ok());
        let spin_ns = Some(shell.spin.as_nanos().max(0) as u64);
        let event_loop = EventLoop { zero_ns, spin_ns, publisher, control_socket, catalogue };
        let mut tunnel = Tunnel {
            up,
            down,
            pool: Pool::new(),
            inner,
            outer,
            leases,
            attachment,
            inside,
            signals,
            gateways,
            command: tunnel::CommandProcess::default(),
        };
        let (end, usage) = event_loop.run(&mut tunnel);
        drop((meter, web));
        let buffer_limited = senders.and_then(SenderMonitor::finish);
        let gateway_end = tunnel.outer.gateway.as_mut().and_then(|gateway| gateway.end.as_mut());
        let ends = [Some(&mut tunnel.inner), Some(&mut tunnel.outer.end), gateway_end].into_iter().flatten();
        let losses = ends.map(|end| end.netlink.losses(end.index).unwrap_or_default()).collect();
        let Tunnel { up, down, inner, mut outer, leases, attachment, inside, gateways, command, .. } = tunnel;
        let reports = [up.finish(), down.finish()];
        let refusals = outer.refusals.take();
        // Close the devices, which removes their routes, before other shells can lease the addresses.
        drop((attachment, inner, outer));
        drop(leases);
        let _ = inside.send(&[message::DONE], &[], true);
        let supervisor = waitpid(process, None);
        drop(helpers);
        let supervisor_killed = matches!(supervisor, Ok(WaitStatus::Signaled(..)));
        if supervisor_killed {
            process::kill_descendants(&others);
        }
        end?;
        let status = command.status.ok_or_else(|| machine(io::Error::from(io::ErrorKind::UnexpectedEof)))?;
        Ok(Outcome {
            shell,
            status,
            reports,
            losses,
            usage,
            buffer_limited,
            refusals,
            gateway_ended: gateways.ended,
            supervisor_killed,
            signalled: command.signalled.map(|signal| signal as i32),
        })
    }
}

/// Obtains the addresses and creates the outer end, unless it lies in another network namespace. Returns also whether a
/// user namespace is needed.
fn outer_end(shell: &Shell) -> Result<(Lease, Option<Endpoint>, bool), Error> {
    if shell.is_closed() {
        return Ok((Lease::new_tree()?, None, false));
    }
    let lease = Lease::obtain()?;
    match Tun::create("sojourn%d") {
        Ok(probe) => {
            drop(probe);
            let end = EndpointConfig::outer(lease.block, shell.down.mtu, shell.cc.as_deref()).make()?;
            Ok((lease, Some(end), false))
        }
        // The TUN driver may be opened, but adding a device requires CAP_NET_ADMIN in this namespace.
        Err(e) if e.raw_os_error() == Some(libc::EPERM) => Ok((lease, None, true)),
        Err(e) => Err(Error::Machine(endpoint::no_tun(&e))),
    }
}

/// Whether an address of this machine is reachable and permanent: not loopback, not link-local, not of a shell.
fn is_permanent(address: &IpAddr) -> bool {
    let is_excluded = match address {
        IpAddr::V4(ip) => ip.is_link_local() || ip.octets()[..2] == [100, 64],
        IpAddr::V6(ip) => ip.is_unicast_link_local() || ip.segments()[..3] == [0xfd53, 0x6f6a, 0x6f75],
    };
    !(is_excluded || address.is_loopback())
}

/// Receives the device to the gateway.
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

/// Addresses of this machine, except loopback.
fn machine_addresses() -> Result<Vec<IpAddr>, Error> {
    let addresses = Netlink::open().and_then(|mut netlink| netlink.addresses()).map_err(machine)?;
    Ok(addresses.into_iter().filter(|address| !address.is_loopback()).collect())
}

/// Receives the ends and the gateway's PID from the inner side, or its error.
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

/// Environment variables that describe the shell to programs inside.
fn environment(shell: &Shell, lease: &Lease) -> Vec<(String, String)> {
    let (host, host6) = lease.block.host();
    let names = match std::env::var("SOJOURN_SHELL") {
        Ok(outer) if lease.depth > 0 => format!("{outer} {}", shell.name),
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

/// Run by bash before its first prompt: prefixes the prompt with the names of the shells, as Mahimahi does.
pub(crate) const PROMPT: &str = "PS1=\"[$SOJOURN_SHELL] $PS1\"; unset PROMPT_COMMAND";

/// Signals forwarded to the command.
pub(crate) const FORWARDED_SIGNALS: [Signal; 7] = [
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGHUP,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGCONT,
];
