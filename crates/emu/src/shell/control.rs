//! How a shell finds the one around it and gets addresses from it.
//!
//! Each shell listens on an abstract socket in its inner network namespace, where names are the namespace's own. A
//! shell that is started there connects to it and gets a block of addresses; the request goes on to the outermost shell, which
//! allots, and as the answer returns each shell routes the block to its inside. A block is free again when the connection
//! that asked for it ends.

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

/// A socket on which a shell listens for those inside it.
#[derive(Debug)]
pub struct Listener {
    fd: OwnedFd,
}

/// A block of addresses, ours until this is dropped.
#[derive(Debug)]
pub struct Lease {
    /// The addresses.
    pub block: AddressBlock,
    /// How many shells are around this one.
    pub depth: u8,
    /// The connection to the shell around, or the lock on the tree.
    _hold: OwnedFd,
}

/// The leases that a shell has given to those inside it.
#[derive(Debug)]
pub struct Leases {
    own: Lease,
    /// Blocks in use, by number; of an outermost shell only.
    allotted: u64,
    children: Vec<Child>,
    /// TCP's congestion control on the way to them.
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
    /// Listens in the present network namespace.
    pub fn open() -> io::Result<Self> {
        let fd = unix_socket(SockFlag::SOCK_NONBLOCK)?;
        bind(fd.as_raw_fd(), &UnixAddr::new_abstract(NAME)?)?;
        listen(&fd, Backlog::new(16)?)?;
        Ok(Self { fd })
    }

    /// The socket of a descriptor that came from another process.
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
    /// A lease from the shell around the present network namespace, or of a tree of our own.
    pub fn obtain() -> Result<Self, Error> {
        match outer_shell() {
            Some(connection) => Self::from_outer_shell(connection),
            None => Self::new_tree(),
        }
    }

    /// The first block of a tree that nobody uses.
    pub fn new_tree() -> Result<Self, Error> {
        let lacks = |e: io::Error| Error::Machine(format!("addresses: {e}; see `sojourn doctor`"));
        let routed = Netlink::open().and_then(|mut netlink| netlink.routed()).map_err(lacks)?;
        for tree in 0..=u8::MAX {
            let block = AddressBlock { tree, n: 0 };
            if routed.iter().any(|&used| block.tree_prefixes().iter().any(|&ours| overlap(used, ours))) {
                continue;
            }
            // The name is the lock: two shells that start at once find the same trees free.
            let lock = unix_socket(SockFlag::empty()).map_err(lacks)?;
            let name = UnixAddr::new_abstract(format!("{LOCK}{tree}").as_bytes()).map_err(|e| lacks(e.into()))?;
            if bind(lock.as_raw_fd(), &name).is_ok() {
                return Ok(Self { block, depth: 0, _hold: lock });
            }
        }
        let text = "addresses: 100.64.0.0/16 is in use; end other shells, or free a part of it";
        Err(Error::Machine(text.to_string()))
    }

    fn from_outer_shell(connection: OwnedFd) -> Result<Self, Error> {
        let lost = |e: &dyn Display| Error::Machine(format!("the outer shell does not answer ({e}); restart it"));
        let channel = Channel::of(connection);
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
    /// None given yet by the shell whose own lease this is.
    pub fn new(ours: Lease, cc: Option<String>) -> Self {
        Self { own: ours, allotted: 1, children: Vec::new(), cc }
    }

    /// Our own block.
    pub fn block(&self) -> AddressBlock {
        self.own.block
    }

    /// Takes a connection and answers it at once; `outer` is where the block is routed to our inside, if the shell that
    /// asks is inside and not beside us. The descriptor is to be watched, and given to [`Self::ended`] at its end.
    pub fn accept(&mut self, listener: &Listener, outer: Option<(&mut Netlink, u32)>) -> Option<BorrowedFd<'_>> {
        let channel = Channel::of(accept(listener.as_fd()).ok()?);
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

    /// A connection has ended: its block is free.
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

    /// A block, from the shell around ours where there is one.
    fn allot(&mut self, depth: u8) -> Result<(AddressBlock, Option<Lease>), Error> {
        if depth > DEEPEST {
            let text = format!(
                "already nested in {} shells, the maximum; start it outside of one of them",
                self.own.depth + 1
            );
            return Err(Error::Machine(text));
        }
        if self.own.depth > 0 {
            let around =
                outer_shell().ok_or_else(|| Error::Machine("the outer shell has exited; start again".to_string()))?;
            let lease = Lease::from_outer_shell(around)?;
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

/// A connection to the shell around the present network namespace, if there is one.
fn outer_shell() -> Option<OwnedFd> {
    let fd = unix_socket(SockFlag::empty()).ok()?;
    connect(fd.as_raw_fd(), &UnixAddr::new_abstract(NAME).ok()?).ok()?;
    // Anybody can take the name; we listen to root and to ourselves only.
    let owner = getsockopt(&fd, PeerCredentials).ok()?.uid();
    if owner != 0 && owner != geteuid().as_raw() {
        return None;
    }
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

/// Most shells around a shell.
const DEEPEST: u8 = 31;
