//! A shell attached to an existing interface: packets are redirected through the path and injected again.
//!
//! Two TAP devices represent the two sides of the interface. Hooks at the interface redirect outgoing packets to the
//! first device and incoming packets to the second; hooks at the devices inject packets written to them at the
//! interface. Hooks and devices are removed with their descriptors, however this process ends.

use super::endpoint::{Endpoint, QUEUE, no_tun};
use crate::Error;
use crate::remedy::Situation;
use crate::sys::bpf::{Hook, HookDirection};
use crate::sys::namespace::{in_network_namespace, set_sysctl};
use crate::sys::netlink::Netlink;
use crate::sys::tun::{DEVICE, Tun};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, bind, socket};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

/// An interface to attach to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachPoint {
    /// Its name.
    pub interface: String,
    /// The file of its network namespace; `None` for the current one.
    pub namespace: Option<PathBuf>,
}

/// Hooks of a shell at its interface.
#[derive(Debug)]
pub struct Attachment {
    /// At the interface; empty after [`Self::detach`].
    diverting: Vec<Hook>,
    /// At the devices.
    _injecting: [Hook; 2],
    /// Lock on the interface: an abstract socket name.
    _lock: OwnedFd,
}

impl Attachment {
    /// Stops redirecting packets. Queued ones are still delivered for up to a second: new packets may overtake a few of
    /// them, but none is lost.
    pub fn detach(&mut self) {
        self.diverting.clear();
    }
}

/// Attaches to `point`. Returns the device of outgoing packets, the device of incoming packets, and the hooks.
pub fn attach(point: &AttachPoint) -> Result<(Endpoint, Endpoint, Attachment), Error> {
    let Some(file) = &point.namespace else { return attach_in_place(&point.interface) };
    in_network_namespace(file, || attach_in_place(&point.interface)).map_err(|e| {
        let remedy = "give the name of a namespace (ip netns), the PID of a process in it, or a file";
        Error::Input(format!("--netns {}: {e}; {remedy}", file.display()))
    })?
}

fn attach_in_place(interface: &str) -> Result<(Endpoint, Endpoint, Attachment), Error> {
    let fail =
        |what: &str, e: io::Error| Error::Machine(format!("--attach {interface}: {what}: {e}; see `sojourn doctor`"));
    let mut netlink = Netlink::open().map_err(|e| fail("netlink", e))?;
    let index = netlink
        .index(interface)
        .map_err(|_| Error::Input(format!("--attach: no interface {interface:?}; see `ip link`")))?;
    let lock = lock(index).map_err(|e| match e.raw_os_error() {
        Some(libc::EADDRINUSE) => Error::Input(format!(
            "--attach {interface}: another shell is attached to it; change that one (sojourn ctl)"
        )),
        _ => fail("lock", e),
    })?;
    let (inner, outer) = (device()?, device()?);
    let mark = MARK ^ index;
    let hook = |made: io::Result<Hook>| made.map_err(|e| no_hook(&format!("--attach {interface}"), &e));
    let injecting = [
        hook(Hook::inject(outer.index, index, HookDirection::Out, mark))?,
        hook(Hook::inject(inner.index, index, HookDirection::In, mark))?,
    ];
    // Last, because packets pass through the devices from here on.
    let diverting = vec![
        hook(Hook::divert(index, HookDirection::Out, inner.index, mark))?,
        hook(Hook::divert(index, HookDirection::In, outer.index, mark))?,
    ];
    Ok((inner, outer, Attachment { diverting, _injecting: injecting, _lock: lock }))
}

/// Tries what [`attach`] needs at two devices of its own.
pub fn probe() -> Result<(), Error> {
    let (inner, outer) = (device()?, device()?);
    let made = Hook::inject(outer.index, inner.index, HookDirection::Out, MARK);
    made.map(drop).map_err(|e| no_hook("--attach", &e))
}

fn no_hook(place: &str, error: &io::Error) -> Error {
    let remedy = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => Situation::present().capabilities(&NEEDED),
        _ => "they need Linux 6.6 with BPF".to_string(),
    };
    Error::Machine(format!("{place}: hooks: {error}; {remedy}"))
}

/// A TAP device without addresses and with the maximum MTU.
fn device() -> Result<Endpoint, Error> {
    let (tun, name) = Tun::create_tap("sojourn%d").map_err(|e| match Tun::is_permitted() {
        // The driver may be opened, but adding a device requires a capability.
        true if e.raw_os_error() == Some(libc::EPERM) => {
            Error::Machine(format!("{DEVICE}: {e}; {}", Situation::present().capabilities(&NEEDED)))
        }
        _ => Error::Machine(no_tun(&e)),
    })?;
    let fail = |what: &str, e: io::Error| Error::Machine(format!("{name}: {what}: {e}; see `sojourn doctor`"));
    let mut netlink = Netlink::open().map_err(|e| fail("netlink", e))?;
    let index = netlink.index(&name).map_err(|e| fail("device", e))?;
    // The machine must not send IPv6 packets of its own there: they would go out at the interface.
    set_sysctl(&format!("net/ipv6/conf/{name}/disable_ipv6"), "1");
    netlink.set_up(index, Some((LARGEST_MTU, QUEUE))).map_err(|e| fail("bringing it up", e))?;
    Ok(Endpoint { tun, netlink, index, listener: None })
}

/// Locks interface `index` of the current network namespace; abstract socket names are local to a namespace.
fn lock(index: u32) -> io::Result<OwnedFd> {
    let fd = socket(AddressFamily::Unix, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    bind(fd.as_raw_fd(), &UnixAddr::new_abstract(format!("sojourn attach {index}").as_bytes())?)?;
    Ok(fd)
}

/// Capabilities that devices and hooks need, without `CAP_`.
const NEEDED: [&str; 2] = ["NET_ADMIN", "BPF"];

/// XOR the interface index: mark of injected packets, cleared when the interface's hook passes them.
const MARK: u32 = 0x736f_6a00;

/// Maximum MTU of a TAP device.
const LARGEST_MTU: u32 = 65_521;
