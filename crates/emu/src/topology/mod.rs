//! Whole topologies: a network namespace for each node of a scenario, programs in them, and all links between them in
//! one process.
//!
//! Each node of a scenario's graph, or of its row of links, has one device. This process reads the packets that nodes
//! send, passes them over the links of their route in virtual time (`mesh`), and writes them to the destination node.
//! Routers are nodes like others, but this process forwards for them: a hop takes no time and does not change the TTL.

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
use crate::path::{Gso, PortRules};
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
use sojourn_aqm::registry::{AnyConfig, Catalogue};
use sojourn_sim::scenario::{LinkSpec, Scenario};
use std::ffi::CString;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration as Span;
use testbed::{RunResult, Testbed};

/// Configuration of a network.
pub struct Topology {
    /// Its links, nodes and flows; without wireless LANs.
    pub scenario: Scenario,
    /// Seed of all random streams.
    pub seed: u64,
    /// Folder for logs: `N.records` per direction of a link.
    pub log: Option<PathBuf>,
    /// Handling of super-packets.
    pub gso: Gso,
    /// Classes and hosts of packets by port.
    pub ports: PortRules,
    /// Server program, run at each node with the server of a group of flows.
    pub server: Vec<CString>,
    /// Client program, run at the node of the clients of each group of flows; the number of the group is appended.
    pub client: Vec<CString>,
    /// A node and the user's command there; the run ends with the command.
    pub enter: Option<(String, Vec<CString>)>,
    /// Path prefix of captures, two for each direction of a link.
    pub pcap: Option<PathBuf>,
    /// Link shown by the live view.
    pub meter: Option<String>,
    /// Name of the network for control requests, besides its PID.
    pub control_name: Option<String>,
}

/// Runs the programs of a topology to their end. The process must be single-threaded, because it forks.
pub fn run(topology: &Topology, own: &dyn Catalogue) -> Result<Outcome, Error> {
    in_current_namespaces(|| start(topology, own, &mut Nodes { supervisors: Vec::new(), others: process::children() }))
}

/// The processes of the nodes; dropping it ends them and their descendants.
struct Nodes {
    supervisors: Vec<(Pid, Channel)>,
    /// Earlier children of this process, which are spared.
    others: Vec<Pid>,
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for (pid, channel) in self.supervisors.drain(..) {
            drop(channel);
            let _ = waitpid(pid, None);
        }
        process::kill_descendants(&self.others);
    }
}

fn start(topology: &Topology, catalogue: &dyn Catalogue, nodes: &mut Nodes) -> Result<Outcome, Error> {
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
    let configs: Vec<Node<'_>> =
        (0..plan.nodes.len()).map(|number| node(topology, &plan, number, entered, &hosts)).collect();
    let parent = getpid();
    for node in &configs {
        let (parent_end, child_end) = Channel::pair().map_err(machine)?;
        let (mut parent_end, earlier) = (Some(parent_end), &mut nodes.supervisors);
        let pid = process::spawn(|| {
            // Only the parent may hold these ends, so that they close with it.
            drop((parent_end.take(), std::mem::take(earlier)));
            node::main(node, parent, &child_end)
        });
        let pid = pid.map_err(machine)?;
        nodes.supervisors.extend(parent_end.map(|parent_end| (pid, parent_end)));
    }
    let ends = nodes.supervisors.iter().map(|(_, channel)| receive_end(channel)).collect::<Result<Vec<_>, _>>()?;
    let names = |node: usize, number: usize| match configs[node].programs.get(number) {
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
        ports: topology.ports.clone(),
    };
    let mesh = Mesh::new(scenario, &plan, &common)?;
    let command = match &topology.enter {
        Some((_, command)) => texts(command),
        None => vec![scenario.name.clone()],
    };
    let control_socket = ControlSocket::of_shell("network", topology.control_name.as_deref(), command, epoch_ns)?;
    let queues = scenario.queue_names();
    let shared = metered.map(|_| SharedCounters::default());
    for (_, channel) in &nodes.supervisors {
        begin(channel, zero_ns).map_err(machine)?;
    }
    // The sleep below must be exact, too.
    let _ = clock::minimize_timer_slack();
    sleep(Span::from_nanos(zero_ns.saturating_sub(clock::monotonic_ns())));
    let meter =
        shared.as_ref().zip(topology.meter.clone()).zip(metered).map(|((shared, name), link)| {
            Meter::start(name, MeterView::EVERYTHING, mesh.links()[2 * link].kind(), shared)
        });
    let meter = meter.transpose().map_err(machine)?;
    let event_loop =
        EventLoop { zero_ns, spin_ns: None, publisher: shared.map(CounterPublisher::of), control_socket, catalogue };
    let mut testbed = Testbed {
        mesh,
        tuns: ends.iter().map(|end| &end.tun).collect(),
        supervisors: &nodes.supervisors,
        awaited: awaited(&configs, entered.is_some()),
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

/// Index of the link called `name`.
fn metered(scenario: &Scenario, name: &str) -> Result<usize, Error> {
    let names = || scenario.hops().map(|(name, ..)| name);
    names().position(|known| known == name).ok_or_else(|| {
        let known: Vec<&str> = names().collect();
        Error::Input(format!("--meter: {}", sojourn_aqm::params::unknown("link", name, known.into_iter())))
    })
}

/// A node with its programs: the server, then the clients of each group, then the user's command.
fn node<'a>(
    topology: &Topology,
    plan: &TopologyPlan,
    number: usize,
    entered: Option<usize>,
    hosts: &'a str,
) -> Node<'a> {
    let address = plan::addresses(number)[0].to_string();
    let of_groups = || plan.groups.iter().enumerate();
    let mut programs = Vec::new();
    if of_groups().any(|(_, group)| group.server == number) {
        let env = vec![("SOJOURN_INSIDE", address.clone()), ("SOJOURN_SHELL", plan.nodes[number].clone())];
        programs.push(Program { words: topology.server.clone(), env, role: Role::Server });
    }
    for (index, _) in of_groups().filter(|(_, group)| group.client == number) {
        let (server, client) = Group::addresses(index);
        let word = CString::new(index.to_string()).expect("digits are no zero byte");
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
            ("SOJOURN_INSIDE", address),
            ("SOJOURN_SHELL", plan.nodes[number].clone()),
            ("PROMPT_COMMAND", PROMPT.to_string()),
        ];
        programs.push(Program { words: words.clone(), env, role: Role::Entered });
    }
    let addresses = plan.addresses_of_groups(number).collect();
    Node { number, mtu: mtu(&topology.scenario), addresses, hosts, programs }
}

/// Programs that end the run: the user's command, or the clients.
fn awaited(nodes: &[Node<'_>], entered: bool) -> Vec<(usize, usize)> {
    let role = if entered { Role::Entered } else { Role::Client };
    let awaited = |node: &Node<'_>| -> Vec<usize> {
        node.programs.iter().enumerate().filter(|(_, program)| program.role == role).map(|(number, _)| number).collect()
    };
    nodes
        .iter()
        .enumerate()
        .flat_map(|(index, node)| awaited(node).into_iter().map(move |number| (index, number)))
        .collect()
}

/// Text of `/etc/hosts` with all nodes.
fn hosts(plan: &TopologyPlan) -> String {
    let nodes = plan.nodes.iter().enumerate().flat_map(|(number, name)| {
        // Skip names that a resolver would parse as an address or as two names.
        let fits = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
        let named = fits && !name.chars().all(|c| c.is_ascii_digit());
        plan::addresses(number).into_iter().filter(move |_| named).map(move |ip| format!("{ip} {name}\n"))
    });
    ["127.0.0.1 localhost\n::1 localhost\n".to_string()].into_iter().chain(nodes).collect()
}

/// Waits until all programs with a gate are ready.
fn await_programs(supervisors: &[(Pid, Channel)], names: &dyn Fn(usize, usize) -> String) -> Result<(), Error> {
    let end = clock::monotonic_ns() + READY_TIMEOUT_NS;
    for (node, (_, channel)) in supervisors.iter().enumerate() {
        let left = end.saturating_sub(clock::monotonic_ns()) / 1_000_000;
        let mut fds = [PollFd::new(channel.as_fd(), PollFlags::POLLIN)];
        if poll(&mut fds, PollTimeout::try_from(left as i32).unwrap_or(PollTimeout::MAX)).map_err(machine)? == 0 {
            let text = format!(
                "node {}: its programs are not ready after {} s",
                names(node, usize::MAX),
                READY_TIMEOUT_NS / 1_000_000_000
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

/// Violations of the queue interface by external queue managers.
fn managers(scenario: &Scenario) -> Vec<String> {
    let links = scenario.hops().flat_map(|(_, link, reverse)| [link, reverse]);
    links.flat_map(LinkSpec::configs).filter_map(AnyConfig::fault).collect()
}

/// Time between the message to the programs and the start of the run. All programs are ready before it: there are as
/// many interpreters as flows, and on a busy machine they start seconds apart.
const LEAD_NS: u64 = 100_000_000;

/// Timeout for the programs to be ready.
const READY_TIMEOUT_NS: u64 = 60_000_000_000;
