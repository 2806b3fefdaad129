//! Whole topologies: a network namespace for each node of a scenario, programs in them, and all links between them in one
//! process.
//!
//! The nodes of a scenario's graph, or of its row of links, have one device each. This process reads what the nodes send,
//! takes it over the links of its route in virtual time (`mesh`), and writes it to the node where the route ends. Routers
//! are nodes like others, whose forwarding happens here: it takes no time, and does not touch the packets.

mod mesh;
mod node;
mod plan;
mod report;
mod testbed;

pub use report::Outcome;

use crate::Error;
use crate::error::machine;
use crate::event_loop::EventLoop;
use crate::event_loop::control_socket::ControlSocket;
use crate::event_loop::meter::{CounterPublisher, Meter, MeterView, SharedCounters};
use crate::path::Gso;
use crate::shell::{FORWARDED_SIGNALS, PROMPT, in_current_namespaces, texts};
use crate::sys::clock;
use crate::sys::fds::Channel;
use crate::sys::process;
#[cfg(test)]
pub(crate) use mesh::ends;
use mesh::{Mesh, MeshConfig, mtu};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, getpid};
use node::{Node, NodeEvent, Program, Role, begin, receive_end};
use plan::{Group, TopologyPlan};
use sojourn_aqm::class::ClassId;
use sojourn_aqm::registry::{AnyConfig, Catalogue};
use sojourn_sim::scenario::{LinkSpec, Scenario};
use std::ffi::CString;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration as Span;
use testbed::{RunResult, Testbed};

/// A network as it was asked for.
pub struct Topology {
    /// Its links, nodes and flows; without wireless LANs.
    pub scenario: Scenario,
    /// Seed of every random stream.
    pub seed: u64,
    /// The folder for logs: `N.records` of each link.
    pub log: Option<PathBuf>,
    /// What becomes of super-packets.
    pub gso: Gso,
    /// Classes that packets name by a port.
    pub classes: Vec<(u16, ClassId)>,
    /// The program that serves, at each node where a group of flows has its server.
    pub server: Vec<CString>,
    /// The program that runs a group of flows at the node of its clients; the number of the group follows.
    pub client: Vec<CString>,
    /// A node and a command of the user's there, with whose end the run ends.
    pub enter: Option<(String, Vec<CString>)>,
    /// What the paths of captures begin with: two for each direction of a link.
    pub pcap: Option<PathBuf>,
    /// The link that the live view shows.
    pub meter: Option<String>,
    /// The name by which the network takes orders, besides the number of its process.
    pub control_name: Option<String>,
}

/// Runs the programs of a topology to their end. Only for a process with a single thread, as it forks.
pub fn run(topology: &Topology, own: &dyn Catalogue) -> Result<Outcome, Error> {
    in_current_namespaces(|| start(topology, own, &mut Nodes { supervisors: Vec::new(), others: process::children() }))
}

/// The processes of the nodes; with it they end, and what they leave.
struct Nodes {
    supervisors: Vec<(Pid, Channel)>,
    /// Children of this process that are not ours.
    others: Vec<Pid>,
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for (pid, channel) in self.supervisors.drain(..) {
            drop(channel);
            let _ = waitpid(pid, None);
        }
        process::end_descendants(&self.others);
    }
}

fn start(topology: &Topology, own: &dyn Catalogue, nodes: &mut Nodes) -> Result<Outcome, Error> {
    let scenario = &topology.scenario;
    let plan = TopologyPlan::of(scenario)?;
    let entered = topology.enter.as_ref().map(|(name, _)| {
        let known = || sojourn_aqm::params::unknown("node", name, plan.nodes.iter().map(String::as_str));
        plan.node(name).ok_or_else(|| Error::Input(format!("--enter: {}", known())))
    });
    let entered = entered.transpose()?;
    let metered = topology.meter.as_deref().map(|name| metered(scenario, name)).transpose()?;
    let signals = process::signal_fd(&FORWARDED_SIGNALS).map_err(machine)?;
    let hosts = hosts(&plan);
    let made: Vec<Node<'_>> =
        (0..plan.nodes.len()).map(|number| node(topology, &plan, number, entered, &hosts)).collect();
    let me = getpid();
    for one in &made {
        let (parent_end, child_end) = Channel::pair().map_err(machine)?;
        let (mut ours, earlier) = (Some(parent_end), &mut nodes.supervisors);
        let pid = process::spawn(|| {
            // These ends are for the parent alone: with it they close.
            drop((ours.take(), std::mem::take(earlier)));
            node::main(one, me, &child_end)
        });
        let pid = pid.map_err(machine)?;
        nodes.supervisors.extend(ours.map(|ours| (pid, ours)));
    }
    let ends = nodes.supervisors.iter().map(|(_, channel)| receive_end(channel)).collect::<Result<Vec<_>, _>>()?;
    let names = |node: usize, number: usize| match made[node].programs.get(number) {
        Some(program) => format!("{} at {}", program.words[0].to_string_lossy(), plan.nodes[node]),
        None => plan.nodes[node].clone(),
    };
    await_programs(&nodes.supervisors, &names)?;

    let zero_ns = clock::monotonic_ns() + LEAD_NS;
    let epoch_ns = clock::epoch_ns() + LEAD_NS;
    let common = MeshConfig {
        seed: topology.seed,
        epoch_ns,
        log: topology.log.clone(),
        pcap: topology.pcap.clone(),
        gso: topology.gso,
        classes: topology.classes.clone(),
    };
    let mesh = Mesh::new(scenario, &plan, &common)?;
    let command = match &topology.enter {
        Some((_, command)) => texts(command),
        None => vec![scenario.name.clone()],
    };
    let desk = ControlSocket::of_shell("network", topology.control_name.as_deref(), command, epoch_ns)?;
    let queues = scenario.queue_names();
    let board = metered.map(|_| SharedCounters::default());
    for (_, channel) in &nodes.supervisors {
        begin(channel, zero_ns).map_err(machine)?;
    }
    // The sleep is to be exact, too.
    let _ = clock::exact_timers();
    sleep(Span::from_nanos(zero_ns.saturating_sub(clock::monotonic_ns())));
    let meter =
        board.as_ref().zip(topology.meter.clone()).zip(metered).map(|((board, name), link)| {
            Meter::start(name, MeterView::EVERYTHING, mesh.links()[2 * link].kind(), board)
        });
    let meter = meter.transpose().map_err(machine)?;
    let event_loop = EventLoop {
        zero_ns,
        spin_ns: None,
        gauges: board.map(CounterPublisher::of),
        control_socket: desk,
        catalogue: own,
    };
    let mut testbed = Testbed {
        mesh,
        tuns: ends.iter().map(|end| &end.tun).collect(),
        supervisors: &nodes.supervisors,
        awaited: awaited(&made, entered.is_some()),
        names: &names,
        entered: entered.is_some(),
        signals: &signals,
        metered: metered.unwrap_or_default(),
        queues: &queues,
        ended: RunResult::default(),
    };
    let (run, usage) = event_loop.run(&mut testbed);
    drop(meter);
    let Testbed { mesh, ended, .. } = testbed;
    let (unrouted, passed) = (mesh.unrouted(), mesh.passed());
    let (links, exits) = mesh.finish();
    let mut ends = ends;
    let losses = ends.iter_mut().map(|end| end.netlink.losses(end.index).unwrap_or_default().sent).sum();
    Ok(Outcome {
        ended: run.map(|()| ended)?,
        nodes: plan.nodes.clone(),
        queues,
        groups: plan.groups.clone(),
        faults_of_managers: managers(scenario),
        seed: topology.seed,
        epoch_ns,
        links,
        exits,
        losses,
        unrouted,
        passed,
        usage,
    })
}

/// The number of the link that is to be shown.
fn metered(scenario: &Scenario, name: &str) -> Result<usize, Error> {
    let names = || scenario.hops().map(|(name, ..)| name);
    names().position(|known| known == name).ok_or_else(|| {
        let known: Vec<&str> = names().collect();
        Error::Input(format!("--meter: {}", sojourn_aqm::params::unknown("link", name, known.into_iter())))
    })
}

/// A node with its programs: the servers first, then the clients of each group, then the user's command.
fn node<'a>(
    topology: &Topology,
    plan: &TopologyPlan,
    number: usize,
    entered: Option<usize>,
    hosts: &'a str,
) -> Node<'a> {
    let own = plan::addresses(number)[0].to_string();
    let of_groups = || plan.groups.iter().enumerate();
    let mut programs = Vec::new();
    if of_groups().any(|(_, group)| group.server == number) {
        let env = vec![("SOJOURN_INSIDE", own.clone()), ("SOJOURN_SHELL", plan.nodes[number].clone())];
        programs.push(Program { words: topology.server.clone(), env, role: Role::Server });
    }
    for (place, _) in of_groups().filter(|(_, group)| group.client == number) {
        let (server, client) = Group::addresses(place);
        let word = CString::new(place.to_string()).expect("digits are no zero byte");
        let words = topology.client.iter().cloned().chain([word]).collect();
        let env = vec![
            ("SOJOURN_HOST", server.to_string()),
            ("SOJOURN_INSIDE", client.to_string()),
            ("SOJOURN_SHELL", plan.nodes[number].clone()),
        ];
        programs.push(Program { words, env, role: Role::Client });
    }
    if let (Some((_, words)), true) = (&topology.enter, entered == Some(number)) {
        let env = vec![
            ("SOJOURN_INSIDE", own),
            ("SOJOURN_SHELL", plan.nodes[number].clone()),
            ("PROMPT_COMMAND", PROMPT.to_string()),
        ];
        programs.push(Program { words: words.clone(), env, role: Role::Entered });
    }
    let addresses = plan.addresses_of_groups(number).collect();
    Node { number, mtu: mtu(&topology.scenario), addresses, hosts, programs }
}

/// The programs whose end is the end of the run: the user's command, or the clients.
fn awaited(nodes: &[Node<'_>], entered: bool) -> Vec<(usize, usize)> {
    let role = if entered { Role::Entered } else { Role::Client };
    let awaited = |one: &Node<'_>| -> Vec<usize> {
        one.programs.iter().enumerate().filter(|(_, program)| program.role == role).map(|(number, _)| number).collect()
    };
    nodes
        .iter()
        .enumerate()
        .flat_map(|(node, one)| awaited(one).into_iter().map(move |number| (node, number)))
        .collect()
}

/// Text of `/etc/hosts`: every node by its name.
fn hosts(plan: &TopologyPlan) -> String {
    let nodes = plan.nodes.iter().enumerate().flat_map(|(number, name)| {
        // What a resolver would take for an address or for two names is left out.
        let fits = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
        let named = fits && !name.chars().all(|c| c.is_ascii_digit());
        plan::addresses(number).into_iter().filter(move |_| named).map(move |ip| format!("{ip} {name}\n"))
    });
    ["127.0.0.1 localhost\n::1 localhost\n".to_string()].into_iter().chain(nodes).collect()
}

/// Waits until all programs with a gate are ready.
fn await_programs(keepers: &[(Pid, Channel)], names: &dyn Fn(usize, usize) -> String) -> Result<(), Error> {
    let end = clock::monotonic_ns() + PATIENCE_NS;
    for (node, (_, channel)) in keepers.iter().enumerate() {
        let left = end.saturating_sub(clock::monotonic_ns()) / 1_000_000;
        let mut fds = [PollFd::new(channel.as_fd(), PollFlags::POLLIN)];
        if poll(&mut fds, PollTimeout::try_from(left as i32).unwrap_or(PollTimeout::MAX)).map_err(machine)? == 0 {
            let text = format!(
                "node {}: its programs are not ready after {} s",
                names(node, usize::MAX),
                PATIENCE_NS / 1_000_000_000
            );
            return Err(Error::Machine(format!("{text}; the machine is too busy")));
        }
        match NodeEvent::receive(channel) {
            NodeEvent::Ready => {}
            NodeEvent::NotStarted { number, errno } => {
                let error = std::io::Error::from_raw_os_error(errno);
                return Err(Error::Machine(format!("{}: {error}", names(node, number))));
            }
            NodeEvent::Ended { number, code } => {
                return Err(Error::Machine(format!("{} exited at startup with {code}", names(node, number))));
            }
            NodeEvent::Gone => {
                return Err(Error::Machine(format!(
                    "the process of node {} exited at startup",
                    names(node, usize::MAX)
                )));
            }
        }
    }
    Ok(())
}

/// What queue managers of others did that none may do.
fn managers(scenario: &Scenario) -> Vec<String> {
    let links = scenario.hops().flat_map(|(_, link, reverse)| [link, reverse]);
    links.flat_map(LinkSpec::configs).filter_map(AnyConfig::fault).collect()
}

/// From telling the programs to the start of the run.
const LEAD_NS: u64 = 100_000_000;

/// How long the programs may take to be ready.
const PATIENCE_NS: u64 = 60_000_000_000;
