//! Descriptors between processes: a pair of sockets that keeps messages apart and carries descriptors along.
#![allow(unsafe_code)]

use nix::cmsg_space;
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, recvmsg, sendmsg, socketpair,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// One end of a pair.
#[derive(Debug)]
pub struct Channel {
    fd: OwnedFd,
}

impl Channel {
    /// Two ends; both block.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (a, b) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
        Ok((Self { fd: a }, Self { fd: b }))
    }

    /// The end that is this socket.
    pub fn of(fd: OwnedFd) -> Self {
        Self { fd }
    }

    /// Sends one message; waits for room unless `now`.
    pub fn send(&self, bytes: &[u8], fds: &[BorrowedFd<'_>], now: bool) -> io::Result<()> {
        let raw: Vec<RawFd> = fds.iter().map(AsRawFd::as_raw_fd).collect();
        let rights = [ControlMessage::ScmRights(&raw)];
        let control = if raw.is_empty() { &[][..] } else { &rights[..] };
        let mut flags = MsgFlags::MSG_NOSIGNAL;
        flags.set(MsgFlags::MSG_DONTWAIT, now);
        sendmsg::<()>(self.fd.as_raw_fd(), &[IoSlice::new(bytes)], control, flags, None)?;
        Ok(())
    }

    /// Receives one message into `room`: its length, zero at the end, and its descriptors.
    pub fn receive(&self, room: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
        let mut space = cmsg_space!([RawFd; MOST_FDS]);
        let mut parts = [IoSliceMut::new(room)];
        let message = recvmsg::<()>(self.fd.as_raw_fd(), &mut parts, Some(&mut space), MsgFlags::MSG_CMSG_CLOEXEC)?;
        let mut fds = Vec::new();
        for control in message.cmsgs()? {
            if let ControlMessageOwned::ScmRights(raw) = control {
                // SAFETY: the kernel has just made these descriptors for us, and nobody else knows them.
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

/// Takes the next connection to a socket that listens; the new descriptor does not block.
pub fn accept(listener: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let raw = nix::sys::socket::accept4(listener.as_raw_fd(), SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK)?;
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Most descriptors in a message.
const MOST_FDS: usize = 8;
