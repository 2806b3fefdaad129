//! Address leases between nested shells.
//!
//! Each shell listens on an abstract socket in its inner network namespace; abstract names are local to a namespace. A
//! shell started there connects and receives a block of addresses. Requests are forwarded to the outermost shell, which
//! allocates the block; as the response returns, each shell adds a route for the block to its inside. When the
//! connection ends, the block is free again. Abstract sockets leave no file to clean up.

use super::address::{AddressBlock, BLOCKS, overlap};
use crate::Error;
use crate::sys::fds::{Channel, accept};
use crate::sys::netlink::{Netlink, Route};
use nix::sys::socket::sockopt::{PeerCredentials, ReceiveTimeout};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, connect, getsockopt, listen, setsockopt, socket,
};
use nix::sys::time::{TimeVal, TimeValLike};
use nix::unistd::geteuid;
use std::fmt::Display;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Listening socket of a shell, for shells inside it.
#[derive(Debug)]
pub struct Listener {
    fd: OwnedFd,
}

/// A block of addresses, reserved until this is dropped.
#[derive(Debug)]
pub struct Lease {
    /// The addresses.
    pub block: AddressBlock,
    /// Number of shells around this one.
    pub depth: u8,
    /// The connection to the outer shell, or the lock on the tree.
    _hold: OwnedFd,
}

/// Leases that a shell has granted to shells inside it.
#[derive(Debug)]
pub struct Leases {
    own: Lease,
    /// Bitmap of blocks in use; only in an outermost shell.
    allotted: u64,
    children: Vec<Child>,
    /// TCP congestion control of the routes to them.
    cc: Option<String>,
}

#[derive(Debug)]
struct Child {
    connection: OwnedFd,
    lease: Option<Lease>,
    block: AddressBlock,
    routed: bool,
}

impl Listener {
    /// Listens in the current network namespace.
    pub fn open() -> io::Result<Self> {
        let fd = unix_socket(SockFlag::SOCK_NONBLOCK)?;
        bind(fd.as_raw_fd(), &UnixAddr::new_abstract(NAME)?)?;
        listen(&fd, Backlog::new(16)?)?;
        Ok(Self { fd })
    }

    /// Wraps a descriptor received from another process.
    pub fn from_fd(fd: OwnedFd) -> Self {
        Self { fd }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Lease {
    /// Obtains a lease from the shell around the current network namespace, or of a new tree if there is none.
    pub fn obtain() -> Result<Self, Error> {
        match outer_shell() {
            Some(connection) => Self::from_outer_shell(connection),
            None => Self::new_tree(),
        }
    }

    /// Reserves an unused tree and its first block.
    pub fn new_tree() -> Result<Self, Error> {
        let fail = |e: io::Error| Error::Machine(format!("addresses: {e}; see `sojourn doctor`"));
        let routed = Netlink::open().and_then(|mut netlink| netlink.route_destinations()).map_err(fail)?;
        for tree in 0..=u8::MAX {
            let block = AddressBlock { tree, n: 0 };
            if routed.iter().any(|&used| block.tree_prefixes().iter().any(|&prefix| overlap(used, prefix))) {
                continue;
            }
            // The socket name is the lock: two shells that start at the same time find the same trees free.
            let lock = unix_socket(SockFlag::empty()).map_err(fail)?;
            let name = UnixAddr::new_abstract(format!("{LOCK}{tree}").as_bytes()).map_err(|e| fail(e.into()))?;
            if bind(lock.as_raw_fd(), &name).is_ok() {
                return Ok(Self { block, depth: 0, _hold: lock });
            }
        }
        let text = "addresses: 100.64.0.0/16 is in use; end other shells, or free a part of it";
        Err(Error::Machine(text.to_string()))
    }

    fn from_outer_shell(connection: OwnedFd) -> Result<Self, Error> {
        let lost = |e: &dyn Display| Error::Machine(format!("the outer shell does not answer ({e}); restart it"));
        let channel = Channel::from_fd(connection);
        let mut answer = [0; 512];
        let (n, _) = channel.receive(&mut answer).map_err(|e| lost(&e))?;
        match answer[..n] {
            [OK, tree, n, depth] => Ok(Self { block: AddressBlock { tree, n }, depth, _hold: channel.into() }),
            [NO, ref text @ ..] => Err(Error::Machine(String::from_utf8_lossy(text).into_owned())),
            _ => Err(lost(&"it closed the connection")),
        }
    }
}

impl Leases {
    /// Leases of the shell that holds `own`; none granted yet.
    pub fn new(own: Lease, cc: Option<String>) -> Self {
        Self { own, allotted: 1, children: Vec::new(), cc }
    }

    /// Block of this shell.
    pub fn block(&self) -> AddressBlock {
        self.own.block
    }

    /// Accepts a connection and responds at once. If the client runs inside this shell, the route for its block is
    /// added through `outer` (netlink socket, interface index); `None` if it runs beside this shell.
    ///
    /// Returns the connection to poll; its end is passed to [`Self::on_disconnect`].
    pub fn accept(&mut self, listener: &Listener, outer: Option<(&mut Netlink, u32)>) -> Option<BorrowedFd<'_>> {
        let channel = Channel::from_fd(accept(listener.as_fd()).ok()?);
        let depth = self.own.depth + 1;
        match self.allot(depth) {
            Ok((block, lease)) => {
                let routed = outer.is_some_and(|(netlink, index)| {
                    block.prefixes().into_iter().for_each(|to| {
                        let _ = netlink.add_route(&Route { cc: self.cc.as_deref(), ..Route::to(to, index) });
                    });
                    true
                });
                let _ = channel.send(&[OK, block.tree, block.n, depth], &[], true);
                self.children.push(Child { connection: channel.into(), lease, block, routed });
                self.children.last().map(|child| child.connection.as_fd())
            }
            Err(error) => {
                let _ = channel.send(&[&[NO], error.to_string().as_bytes()].concat(), &[], true);
                None
            }
        }
    }

    /// Frees the block of a connection that has ended, and removes its routes.
    pub fn on_disconnect(&mut self, fd: i32, outer: Option<(&mut Netlink, u32)>) {
        let Some(i) = self.children.iter().position(|child| child.connection.as_raw_fd() == fd) else { return };
        let child = self.children.swap_remove(i);
        if let (true, Some((netlink, index))) = (child.routed, outer) {
            child.block.prefixes().into_iter().for_each(|to| {
                let _ = netlink.remove_route(to, index);
            });
        }
        if child.lease.is_none() {
            self.allotted &= !(1 << child.block.n);
        }
    }

    /// Allocates a block, from the outer shell if there is one.
    fn allot(&mut self, depth: u8) -> Result<(AddressBlock, Option<Lease>), Error> {
        if depth > MAX_DEPTH {
            let text = format!(
                "already nested in {} shells, the maximum; start it outside of one of them",
                self.own.depth + 1
            );
            return Err(Error::Machine(text));
        }
        if self.own.depth > 0 {
            let outer =
                outer_shell().ok_or_else(|| Error::Machine("the outer shell has exited; start again".to_string()))?;
            let lease = Lease::from_outer_shell(outer)?;
            return Ok((lease.block, Some(lease)));
        }
        match (0..BLOCKS).find(|n| self.allotted & 1 << n == 0) {
            Some(n) => {
                self.allotted |= 1 << n;
                Ok((AddressBlock { n, ..self.own.block }, None))
            }
            None => Err(Error::Machine(format!("{BLOCKS} shells are in one tree, the maximum; end one of them"))),
        }
    }
}

/// Connects to the shell around the current network namespace, if there is one.
fn outer_shell() -> Option<OwnedFd> {
    let fd = unix_socket(SockFlag::empty()).ok()?;
    connect(fd.as_raw_fd(), &UnixAddr::new_abstract(NAME).ok()?).ok()?;
    // Any user can bind the name; only root and our own user are trusted.
    let owner = getsockopt(&fd, PeerCredentials).ok()?.uid();
    if owner != 0 && owner != geteuid().as_raw() {
        return None;
    }
    // A stopped outer shell must not block this one for ever.
    setsockopt(&fd, ReceiveTimeout, &TimeVal::seconds(5)).ok()?;
    Some(fd)
}

fn unix_socket(flags: SockFlag) -> io::Result<OwnedFd> {
    Ok(socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC | flags, None)?)
}

const NAME: &[u8] = b"sojourn-shell";
const LOCK: &str = "sojourn-tree-";
const OK: u8 = 1;
const NO: u8 = 0;

/// Maximum number of shells around a shell.
const MAX_DEPTH: u8 = 31;
