//! Checks of the machine: devices and permissions, accuracy of timers, and the highest rate emulated faithfully.

use crate::path::{DirectionConfig, PathKind, Side};
use crate::shell::{self, InnerCommand, Outcome, Shell};
use crate::sys::clock::{self, Poll};
use crate::sys::namespace::new_network;
use crate::sys::netlink::Netlink;
use crate::sys::process;
use crate::sys::tun::{DEVICE, Tun};
use nix::sys::prctl::set_dumpable;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{geteuid, setgid, setuid};
use serde_json::{Value, json};
use sojourn_aqm::Duration;
use sojourn_aqm::registry::REGISTERED;
use sojourn_sim::Histogram;
use sojourn_sim::scenario::LinkSpec;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;

/// The checks were interrupted: by the caller (`None`), or by this signal during a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interruption(pub Option<i32>);

impl Interruption {
    /// Raises the signal in this process.
    pub fn raise(self) {
        if let Some(signal) = self.0.and_then(|number| Signal::try_from(number).ok()) {
            let _ = nix::sys::signal::raise(signal);
        }
    }
}

/// Checks the machine, which takes about 20 s; the process must be single-threaded. Before each measurement `goes_on`
/// is called with the number of measurements done and the total; the checks stop if it returns false.
///
/// The JSON has `checks` (`name`; `ok`; `needed`, whether shells are impossible without it; `text`; `remedy`, also
/// under its former name `mend`), `timer_ns` (how late waits of 1 ms ended), `rates` (medians of five measurements
/// each, with `runs` and `faithful_runs`), `highest_faithful_rates` (one per round, ascending, `null` for none) and
/// their median, `highest_faithful_rate`.
pub fn examine(goes_on: &mut dyn FnMut(usize, usize) -> bool) -> Result<Value, Interruption> {
    let checks = checks();
    let possible = checks.iter().all(|check| check.ok || !check.needed);
    let timer = timer_error();
    // Measure every rate once per round, so that a temporary disturbance does not affect one rate only.
    let mut rounds: Vec<Vec<Measurement>> = Vec::new();
    let all = ROUNDS * RATES.len();
    for round in 0..if possible { ROUNDS } else { 0 } {
        let mut measured = Vec::new();
        for (number, rate) in RATES.iter().enumerate() {
            if !goes_on(round * RATES.len() + number, all) {
                return Err(Interruption(None));
            }
            match measure(rate)? {
                Some(found) => measured.push(found),
                None => break,
            }
        }
        rounds.push(measured);
    }
    let highest = highest(&rounds);
    let name = |rate: Option<usize>| rate.map(|rate| RATES[rate]);
    Ok(json!({
        "possible": possible,
        "checks": checks.iter().map(Check::json).collect::<Vec<_>>(),
        "timer_ns": { "p50": timer.quantile(0.5), "p99": timer.quantile(0.99), "max": timer.max() },
        "rates": (0..RATES.len()).filter_map(|rate| rate_summary(rate, &rounds)).collect::<Vec<_>>(),
        "highest_faithful_rate": highest.get(highest.len() / 2).copied().and_then(name),
        "highest_faithful_rates": highest.iter().copied().map(name).collect::<Vec<_>>(),
    }))
}

/// Index of the highest faithful rate of each round, in ascending order, `None` first.
fn highest(rounds: &[Vec<Measurement>]) -> Vec<Option<usize>> {
    let mut found: Vec<_> = rounds.iter().map(|round| round.iter().rposition(|run| run.faithful)).collect();
    found.sort();
    found
}

/// Summary of a rate over all rounds; `None` if no round measured it.
fn rate_summary(rate: usize, rounds: &[Vec<Measurement>]) -> Option<Value> {
    let runs: Vec<&Measurement> = rounds.iter().filter_map(|round| round.get(rate)).collect();
    let median = |of: fn(&Measurement) -> f64| {
        let mut values: Vec<f64> = runs.iter().map(|run| of(run)).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let faithful = runs.iter().filter(|run| run.faithful).count();
    (!runs.is_empty()).then(|| {
        json!({
            "rate": RATES[rate],
            "utilisation": median(|run| run.used),
            "throughput_bps": median(|run| run.throughput_bps),
            "cpu_share": median(|run| run.cpu_share),
            "late_p99_ns": median(|run| run.late_p99_ns),
            "hidden_drops": runs.iter().map(|run| run.hidden_drops).sum::<u64>(),
            "runs": runs.len(),
            "faithful_runs": faithful,
            "faithful": 2 * faithful > runs.len(),
        })
    })
}

/// One measurement of a rate.
struct Measurement {
    used: f64,
    throughput_bps: f64,
    cpu_share: f64,
    late_p99_ns: f64,
    hidden_drops: u64,
    faithful: bool,
}

struct Check {
    name: &'static str,
    ok: bool,
    needed: bool,
    text: String,
    remedy: &'static str,
}

impl Check {
    fn json(&self) -> Value {
        let remedy = (!self.ok).then_some(self.remedy);
        let Self { name, ok, needed, text, .. } = self;
        json!({ "name": name, "ok": ok, "needed": needed, "text": text, "remedy": remedy, "mend": remedy })
    }
}

fn checks() -> Vec<Check> {
    let check = |name, needed, result: io::Result<String>, remedy| {
        let ok = result.is_ok();
        Check { name, ok, needed, text: result.unwrap_or_else(|e| e.to_string()), remedy }
    };
    let open = || std::fs::OpenOptions::new().read(true).write(true).open(DEVICE);
    let device = open();
    let in_place = in_child(|| Tun::create("sojourn%d").map(|_| ()));
    let user = in_child(|| {
        if geteuid().is_root() {
            setgid(NOBODY.into())?;
            setuid(NOBODY.into())?;
            // Otherwise the files of this process in /proc would still belong to root.
            set_dumpable(true)?;
        }
        open()?;
        new_network(true).map(|_| ())
    });
    let either = in_place.as_ref().or(user.as_ref()).map(|()| String::new()).map_err(copy);
    let udp = in_child(|| {
        new_network(false)?;
        Tun::create("sojourn%d")?.0.offloads_udp()
    });
    let fifo = in_child(clock::set_realtime);
    let ipv6 = in_child(|| {
        new_network(false)?;
        let mut netlink = Netlink::open()?;
        let lo = netlink.index("lo")?;
        netlink.set_up(lo, None)?;
        netlink.addresses()?.iter().any(IpAddr::is_ipv6).then_some(()).ok_or(io::ErrorKind::Unsupported.into())
    });
    let controls = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    let number = |result: &io::Result<()>| result.as_ref().err().and_then(io::Error::raw_os_error);
    let (user_error, udp_error) = (number(&user), number(&udp));
    let yes = |text: &str| text.to_string();
    vec![
        check(
            "tun",
            true,
            device.map(|_| yes("TUN devices can be created")),
            "load the module tun, or let users open /dev/net/tun",
        ),
        check(
            "namespaces",
            true,
            either.map(|_| yes("network namespaces can be created")),
            "run as root, or allow user namespaces",
        ),
        check(
            "direct",
            false,
            in_place.map(|()| yes("this machine is reached without a gateway")),
            "run as root: otherwise its services are reached through a gateway, which costs CPU time",
        ),
        check(
            "unprivileged",
            false,
            user.map(|()| yes("users can run shells")),
            match &user_error {
                Some(libc::EACCES) => "let users open /dev/net/tun (chmod 666 /dev/net/tun)",
                _ => "allow user namespaces (user.max_user_namespaces)",
            },
        ),
        check(
            "realtime",
            false,
            fifo.map(|()| yes("shells run with real-time priority (SCHED_FIFO)")),
            "run as root, or raise the limit of real-time priority (ulimit -r 10)",
        ),
        check(
            "udp-offload",
            false,
            udp.map(|()| yes("UDP segmentation offload is available")),
            match &udp_error {
                Some(libc::EINVAL) => "use Linux 6.2 or later",
                _ => "make devices and namespaces possible first",
            },
        ),
        check(
            "ipv6",
            false,
            ipv6.map(|()| yes("IPv6 is emulated as well")),
            "use a kernel with IPv6; only IPv4 is emulated",
        ),
        check("tcp", false, controls.map(|names| names.trim().replace(' ', ", ")), "mount /proc"),
    ]
}

/// Runs `attempt` in a child process, so that changes of namespaces, user or priority stay there.
fn in_child(attempt: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let pid = process::spawn(|| attempt().err().map_or(0, |e| e.raw_os_error().unwrap_or(libc::EINVAL)))?;
    match waitpid(pid, None) {
        Ok(WaitStatus::Exited(_, 0)) => Ok(()),
        Ok(WaitStatus::Exited(_, errno)) => Err(io::Error::from_raw_os_error(errno)),
        _ => Err(io::ErrorKind::Interrupted.into()),
    }
}

fn copy(error: &io::Error) -> io::Error {
    io::Error::from_raw_os_error(error.raw_os_error().unwrap_or(libc::EINVAL))
}

/// Lateness of waits of 1 ms.
fn timer_error() -> Histogram {
    let mut late = Histogram::default();
    let first = clock::set_realtime().is_ok();
    let _ = clock::minimize_timer_slack();
    if let Ok(poll) = Poll::new() {
        let mut none = Vec::new();
        for _ in 0..WAITS {
            let due = clock::monotonic_ns() + WAIT_NS;
            let _ = poll.wait(Some(WAIT_NS), &mut none);
            late.record(Duration::from_nanos(clock::monotonic_ns() as i64 - due as i64));
        }
    }
    if first {
        let _ = clock::unset_realtime();
    }
    late
}

/// Measures one TCP flow in the up direction of a link of this rate; `None` if the shell fails.
fn measure(rate: &str) -> Result<Option<Measurement>, Interruption> {
    let Some(outcome) = run(rate) else { return Ok(None) };
    // The shell forwards signals to its command, which is our own sender: the signal was meant for us.
    if outcome.signalled.is_some() {
        return Err(Interruption(outcome.signalled));
    }
    let up = &outcome.reports[0];
    let used = up.utilisation.unwrap_or(0.0);
    Ok(Some(Measurement {
        used,
        throughput_bps: up.counters.departed.1 as f64 * 8e9 / outcome.usage.wall_ns as f64,
        cpu_share: outcome.usage.cpu_ns as f64 / outcome.usage.wall_ns as f64,
        late_p99_ns: up.lateness.quantile(0.99).unwrap_or(0.0),
        hidden_drops: outcome.hidden_drops(),
        faithful: used >= BUSY && outcome.faults().is_empty(),
    }))
}

/// Runs a shell with a TCP sender inside and a receiver outside.
fn run(rate: &str) -> Option<Outcome> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    let port = listener.local_addr().ok()?.port();
    let receiver = process::spawn(move || i32::from(receive(&listener).is_err())).ok()?;
    let link = |side| {
        let table = json!({ "rate": rate, "limit": "1000 packets" });
        let spec = LinkSpec::parse("", &table, Path::new(".")).expect("the rates below are valid");
        DirectionConfig::new(side, PathKind::Link(Box::new(spec)))
    };
    let sends = InnerCommand::Own(Box::new(move |host| i32::from(send(SocketAddr::new(host, port)).is_err())));
    let shell = Shell::new("doctor", [link(Side::Up), link(Side::Down)], sends);
    let outcome = shell::run(shell, REGISTERED);
    let _ = kill(receiver, Signal::SIGKILL);
    let _ = waitpid(receiver, None);
    outcome.ok()
}

fn send(to: SocketAddr) -> io::Result<()> {
    let mut stream = TcpStream::connect(to)?;
    let bytes = vec![0; 1 << 18];
    let end = clock::monotonic_ns() + SEND_NS;
    while clock::monotonic_ns() < end {
        stream.write_all(&bytes)?;
    }
    Ok(())
}

fn receive(listener: &TcpListener) -> io::Result<()> {
    let (mut stream, _) = listener.accept()?;
    let mut room = vec![0; 1 << 20];
    while stream.read(&mut room)? > 0 {}
    Ok(())
}

/// Rates that are measured.
const RATES: &[&str] = &["100 Mbit/s", "300 Mbit/s", "1 Gbit/s", "2 Gbit/s", "3 Gbit/s", "5 Gbit/s"];

/// Minimum utilisation of a saturated link, including start and end of the flow.
const BUSY: f64 = 0.85;

/// Sending time of a flow.
const SEND_NS: u64 = 600_000_000;

/// Unprivileged user as which root checks what users may do.
const NOBODY: u32 = 65_534;

/// Measurements of each rate; odd, so that there is a median.
const ROUNDS: usize = 5;

const WAITS: usize = 300;
const WAIT_NS: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(faithful: bool, used: f64) -> Measurement {
        let (throughput_bps, cpu_share, late_p99_ns) = (used * 1e8, 0.1, 1e4);
        Measurement { used, throughput_bps, cpu_share, late_p99_ns, hidden_drops: 1, faithful }
    }

    #[test]
    fn one_disturbed_round_does_not_move_the_median() {
        let rounds: Vec<_> =
            [[true, true, false], [true, true, true], [false, false, false], [true, false, true], [true; 3]]
                .map(|round| round.map(|faithful| measured(faithful, if faithful { 0.9 } else { 0.1 })).into())
                .into();
        assert_eq!(highest(&rounds), [None, Some(1), Some(2), Some(2), Some(2)]);
        assert_eq!(highest(&[]), []);
        let second = rate_summary(1, &rounds).unwrap();
        assert_eq!((&second["faithful_runs"], &second["runs"]), (&json!(3), &json!(5)));
        assert_eq!((&second["faithful"], &second["utilisation"]), (&json!(true), &json!(0.9)));
        assert_eq!(second["hidden_drops"], 5);
        assert_eq!(rate_summary(3, &rounds), None, "not measured");
    }
}
