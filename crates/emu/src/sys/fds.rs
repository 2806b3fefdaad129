//! Sockets and descriptors: a SOCK_SEQPACKET socket pair that passes descriptors, and transparent sockets.
#![allow(unsafe_code)]

use super::check;
use nix::cmsg_space;
use nix::sys::socket::{
    AddressFamily, Backlog, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, SockaddrStorage, bind,
    listen, recvmsg, sendmsg, socket, socketpair,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// One end of a SOCK_SEQPACKET socket pair.
#[derive(Debug)]
pub struct Channel {
    fd: OwnedFd,
}

impl Channel {
    /// Creates a connected pair; both ends block.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (a, b) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
        Ok((Self { fd: a }, Self { fd: b }))
    }

    /// Wraps a connected socket.
    pub fn from_fd(fd: OwnedFd) -> Self {
        Self { fd }
    }

    /// Sends one message with descriptors (SCM_RIGHTS); waits for buffer space unless `now`.
    pub fn send(&self, bytes: &[u8], fds: &[BorrowedFd<'_>], now: bool) -> io::Result<()> {
        let raw: Vec<RawFd> = fds.iter().map(AsRawFd::as_raw_fd).collect();
        let rights = [ControlMessage::ScmRights(&raw)];
        let control = if raw.is_empty() { &[][..] } else { &rights[..] };
        let mut flags = MsgFlags::MSG_NOSIGNAL;
        flags.set(MsgFlags::MSG_DONTWAIT, now);
        sendmsg::<()>(self.fd.as_raw_fd(), &[IoSlice::new(bytes)], control, flags, None)?;
        Ok(())
    }

    /// Receives one message into `room`. Returns its length (zero at the end of the connection) and its descriptors.
    pub fn receive(&self, room: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
        let mut space = cmsg_space!([RawFd; MAX_FDS]);
        let mut parts = [IoSliceMut::new(room)];
        let message = recvmsg::<()>(self.fd.as_raw_fd(), &mut parts, Some(&mut space), MsgFlags::MSG_CMSG_CLOEXEC)?;
        let mut fds = Vec::new();
        for control in message.cmsgs()? {
            if let ControlMessageOwned::ScmRights(raw) = control {
                // SAFETY: the kernel has just created these descriptors for this process; no other code owns them.
                fds.extend(raw.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
            }
        }
        Ok((message.bytes, fds))
    }
}

impl From<Channel> for OwnedFd {
    fn from(channel: Channel) -> Self {
        channel.fd
    }
}

/// Clears FD_CLOEXEC: the descriptor stays open across `exec`.
pub fn keep_open(fd: BorrowedFd<'_>) -> io::Result<()> {
    use nix::fcntl::{FcntlArg, FdFlag, fcntl};
    Ok(fcntl(fd, FcntlArg::F_SETFD(FdFlag::empty())).map(|_| ())?)
}

/// Accepts the next connection of a listening socket; the new descriptor is nonblocking.
pub fn accept(listener: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let raw = nix::sys::socket::accept4(listener.as_raw_fd(), SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK)?;
    // SAFETY: the kernel has just created this descriptor for this process.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// A UDP socket bound to `address`, which need not be local (IP_TRANSPARENT). Requires CAP_NET_ADMIN.
pub fn transparent_socket(address: SocketAddr) -> io::Result<OwnedFd> {
    transparent(address, SockType::Datagram)
}

/// A TCP socket listening on `address`, which need not be local (IP_TRANSPARENT). Requires CAP_NET_ADMIN.
pub fn transparent_listener(address: SocketAddr) -> io::Result<OwnedFd> {
    let fd = transparent(address, SockType::Stream)?;
    listen(&fd, Backlog::new(128)?)?;
    Ok(fd)
}

fn transparent(address: SocketAddr, kind: SockType) -> io::Result<OwnedFd> {
    let (family, level, option) = match address {
        SocketAddr::V4(_) => (AddressFamily::Inet, libc::SOL_IP, libc::IP_TRANSPARENT),
        SocketAddr::V6(_) => (AddressFamily::Inet6, libc::SOL_IPV6, IPV6_TRANSPARENT),
    };
    let fd = socket(family, kind, SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK, None)?;
    let on: libc::c_int = 1;
    let (value, size) = (std::ptr::from_ref(&on).cast(), size_of_val(&on) as libc::socklen_t);
    // SAFETY: the option takes one int, which outlives the call.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), level, option, value, size) })?;
    bind(fd.as_raw_fd(), &SockaddrStorage::from(address))?;
    Ok(fd)
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// From `linux/in6.h`.
const IPV6_TRANSPARENT: libc::c_int = 75;

/// Maximum number of descriptors per message.
const MAX_FDS: usize = 8;
