//! A shell at an interface that was there before: what passes it is taken out, goes through the path, and is put back.
//!
//! Two TAP devices beside the interface stand for its two sides. A hook at the interface sends what goes out to the first
//! one, and what comes in to the second one; what is written to them goes on at the interface by hooks of theirs. All hooks
//! and devices are gone with their descriptors, whatever ends this process.

use super::endpoint::{Endpoint, QUEUE, no_tun};
use crate::Error;
use crate::sys::bpf::{Hook, HookDirection};
use crate::sys::namespace::{set_sysctl, within};
use crate::sys::netlink::Netlink;
use crate::sys::tun::Tun;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, bind, socket};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

/// An interface to attach to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachPoint {
    /// Its name.
    pub interface: String,
    /// The file of its network namespace; none for the present one.
    pub namespace: Option<PathBuf>,
}

/// What holds a shell at its interface.
#[derive(Debug)]
pub struct Attachment {
    /// At the interface.
    diverting: Vec<Hook>,
    /// At the devices.
    _injecting: [Hook; 2],
    /// A name that another shell there cannot have.
    _lock: OwnedFd,
}

impl Attachment {
    /// Lets what passes the interface go its way again; what was taken out before is still put back.
    pub fn detach(&mut self) {
        self.diverting.clear();
    }
}

/// Attaches to `place`: the device that has what goes out, the one that has what comes in, and what holds them there.
pub fn attach(place: &AttachPoint) -> Result<(Endpoint, Endpoint, Attachment), Error> {
    let Some(file) = &place.namespace else { return attach_in_place(&place.interface) };
    within(file, || attach_in_place(&place.interface)).map_err(|e| {
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
    let hook = |made: io::Result<Hook>| {
        made.map_err(|e| match e.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => {
                Error::Machine(format!("--attach {interface}: hooks: {e}; run as root"))
            }
            _ => Error::Machine(format!("--attach {interface}: hooks: {e}; they need Linux 6.6 with BPF")),
        })
    };
    let injecting = [
        hook(Hook::inject(outer.index, index, HookDirection::Out, mark))?,
        hook(Hook::inject(inner.index, index, HookDirection::In, mark))?,
    ];
    // From here on packets go through the devices.
    let diverting = vec![
        hook(Hook::divert(index, HookDirection::Out, inner.index, mark))?,
        hook(Hook::divert(index, HookDirection::In, outer.index, mark))?,
    ];
    Ok((inner, outer, Attachment { diverting, _injecting: injecting, _lock: lock }))
}

/// A device without addresses that takes the largest frames.
fn device() -> Result<Endpoint, Error> {
    let (tun, name) = Tun::create_tap("sojourn%d").map_err(|e| Error::Machine(no_tun(&e)))?;
    let fail = |what: &str, e: io::Error| Error::Machine(format!("{name}: {what}: {e}; see `sojourn doctor`"));
    let mut netlink = Netlink::open().map_err(|e| fail("netlink", e))?;
    let index = netlink.index(&name).map_err(|e| fail("device", e))?;
    // The machine itself is to say nothing there: it would go out at the interface.
    set_sysctl(&format!("net/ipv6/conf/{name}/disable_ipv6"), "1");
    netlink.up(index, Some((LARGEST_MTU, QUEUE))).map_err(|e| fail("bringing it up", e))?;
    Ok(Endpoint { tun, netlink, index, listener: None })
}

/// Takes the name of interface `index` of the present network namespace, to which abstract names belong.
fn lock(index: u32) -> io::Result<OwnedFd> {
    let fd = socket(AddressFamily::Unix, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    bind(fd.as_raw_fd(), &UnixAddr::new_abstract(format!("sojourn attach {index}").as_bytes())?)?;
    Ok(fd)
}

/// Frames that are put back have this mark, changed by the number of the interface, until its hook has seen them.
const MARK: u32 = 0x736f_6a00;

/// Of a TAP device.
const LARGEST_MTU: u32 = 65_521;
