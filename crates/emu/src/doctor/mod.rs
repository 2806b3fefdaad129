//! Checks of the machine: devices and permissions, what each command needs, accuracy of timers, and the highest rate
//! emulated faithfully.

mod commands;
mod rates;

use crate::remedy::Situation;
use crate::sys::clock::{self, Poll};
use crate::sys::namespace::new_network;
use crate::sys::netlink::Netlink;
use crate::sys::process;
use crate::sys::tun::{DEVICE, Tun};
use commands::REQUIREMENTS;
use nix::sys::prctl::set_dumpable;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{geteuid, setgid, setuid};
use serde_json::{Value, json};
use sojourn_aqm::Duration;
use sojourn_sim::Histogram;
use std::io;
use std::net::IpAddr;

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

/// Checks the machine; the process must be single-threaded. If `measures`, rates are measured as well, which takes about
/// 20 s: before each measurement `goes_on` is called with the number of measurements done and the total, and the checks
/// stop if it returns false.
///
/// The JSON has `possible` (whether shells are), `checks` (`name`; `ok`; `needed`, whether shells are impossible
/// without this feature; `text`; `remedy`, also under its former name `mend`), `commands` (`command`; `possible`; its
/// needs `device`, `namespace`, `capability` and `kernel`; `text` and `remedy` if it is impossible), `timer_ns` (how
/// late waits of 1 ms ended), `rates` (medians of five measurements each, with `runs` and `faithful_runs`),
/// `highest_faithful_rates` (one per round, the last rate before one that is not faithful; ascending, `null` for none)
/// and their median, `highest_faithful_rate`.
pub fn examine(measures: bool, goes_on: &mut dyn FnMut(usize, usize) -> bool) -> Result<Value, Interruption> {
    let rows: Vec<(Value, bool)> = REQUIREMENTS.iter().map(|requirement| requirement.examine()).collect();
    let possible = rows.first().is_some_and(|&(_, possible)| possible);
    let checks = checks();
    let timer = timer_error();
    let measured = if possible && measures { rates::measure_all(goes_on)? } else { rates::none() };
    let mut found = json!({
        "possible": possible,
        "checks": checks.iter().map(Check::json).collect::<Vec<_>>(),
        "commands": rows.into_iter().map(|(row, _)| row).collect::<Vec<_>>(),
        "timer_ns": { "p50": timer.quantile(0.5), "p99": timer.quantile(0.99), "max": timer.max() },
    });
    if let (Value::Object(found), Value::Object(measured)) = (&mut found, measured) {
        found.extend(measured);
    }
    Ok(found)
}

struct Check {
    name: &'static str,
    ok: bool,
    needed: bool,
    text: String,
    remedy: String,
}

impl Check {
    fn json(&self) -> Value {
        let remedy = (!self.ok).then_some(&self.remedy);
        let Self { name, ok, needed, text, .. } = self;
        json!({ "name": name, "ok": ok, "needed": needed, "text": text, "remedy": remedy, "mend": remedy })
    }
}

fn checks() -> Vec<Check> {
    let here = Situation::present();
    let check = |name, needed, result: io::Result<String>, remedy: String| {
        let ok = result.is_ok();
        Check { name, ok, needed, text: result.unwrap_or_else(|e| e.to_string()), remedy }
    };
    let open = || std::fs::OpenOptions::new().read(true).write(true).open(DEVICE);
    let device = open();
    let namespaces = in_child(|| new_network(false).map(|_| ()));
    let direct = in_child(|| Tun::create("sojourn%d").map(|_| ()));
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
    let (of_device, of_namespaces) = (
        device.as_ref().err().map(|error| here.device(error)).unwrap_or_default(),
        namespaces.as_ref().err().map(|error| here.namespace(error).1).unwrap_or_default(),
    );
    let of_user = match user.as_ref().map_err(|error| (error.raw_os_error(), error)) {
        Err((Some(libc::EACCES), _)) => "let users open /dev/net/tun (chmod 666 /dev/net/tun)".to_string(),
        Err((Some(libc::ENOENT | libc::ENXIO | libc::ENODEV), error)) => here.device(error),
        Err((Some(libc::ENOSPC), _)) => "allow user namespaces (user.max_user_namespaces)".to_string(),
        _ => "allow user namespaces (user_namespaces(7))".to_string(),
    };
    let of_direct = match direct.as_ref().err().and_then(io::Error::raw_os_error) {
        Some(libc::EPERM) => {
            let remedy = here.capabilities(&["NET_ADMIN"]);
            format!("{remedy}: otherwise this machine's services are reached through a gateway, which costs CPU time")
        }
        _ => of_device.clone(),
    };
    let of_udp = match udp.as_ref().err().and_then(io::Error::raw_os_error) {
        Some(libc::EINVAL) => "use Linux 6.2 or later",
        _ => "make devices and namespaces possible first",
    };
    let yes = |text: &str| text.to_string();
    vec![
        check("tun", true, device.map(|_| yes("TUN devices can be opened")), of_device),
        check("namespaces", true, namespaces.map(|()| yes("network namespaces can be made")), of_namespaces),
        check("direct", false, direct.map(|()| yes("this machine is reached without a gateway")), of_direct),
        check("unprivileged", false, user.map(|()| yes("users can run shells")), of_user),
        check(
            "realtime",
            false,
            fifo.map(|()| yes("shells run with real-time priority (SCHED_FIFO)")),
            format!("{}, or raise the limit of real-time priority (ulimit -r 10)", here.capabilities(&["SYS_NICE"])),
        ),
        check("udp-offload", false, udp.map(|()| yes("UDP segmentation offload is available")), yes(of_udp)),
        check(
            "ipv6",
            false,
            ipv6.map(|()| yes("IPv6 is emulated as well")),
            yes("use a kernel with IPv6; only IPv4 is emulated"),
        ),
        check("tcp", false, controls.map(|names| names.trim().replace(' ', ", ")), yes("mount /proc")),
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

/// Unprivileged user as which root checks what users may do.
const NOBODY: u32 = 65_534;

const WAITS: usize = 300;
const WAIT_NS: u64 = 1_000_000;
