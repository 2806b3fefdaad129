//! TUN devices that hand over superframes (`linux/if_tun.h`).
#![allow(unsafe_code)]

use super::check;
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

/// Bytes of the virtio header before each packet.
pub const VIRTIO_HEADER: usize = 10;

/// A TUN device of the network namespace in which it was made; it is gone when the last descriptor closes.
#[derive(Debug)]
pub struct Tun {
    file: File,
}

impl Tun {
    /// Makes a device without packet information, with a virtio header of 10 bytes before each frame, checksums left to
    /// us and TCP (where the kernel can: UDP) segmentation, too; a `%d` in `name` becomes the next free number.
    ///
    /// Returns the device and its name. The descriptor does not block.
    pub fn create(name: &str) -> io::Result<(Self, String)> {
        Self::create_as(name, libc::IFF_TUN)
    }

    /// The same with Ethernet's header in each frame, behind the virtio header: a TAP device.
    pub fn create_tap(name: &str) -> io::Result<(Self, String)> {
        Self::create_as(name, libc::IFF_TAP)
    }

    fn create_as(name: &str, kind: libc::c_int) -> io::Result<(Self, String)> {
        let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE)?;
        // SAFETY: an all-zero ifreq is valid; it has an array of characters and a union of plain numbers.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (kind | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
        // SAFETY: TUNSETIFF reads and writes one ifreq.
        check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &mut request) })?;
        let name = request.ifr_name.iter().take_while(|&&c| c != 0).map(|&c| c as u8 as char).collect();
        let tun = Self { file };
        tun.offload()?;
        Ok((tun, name))
    }

    /// The device of a descriptor that came from another process.
    pub fn from_fd(fd: OwnedFd) -> Self {
        Self { file: fd.into() }
    }

    /// Reads one frame; `None` when there is none.
    pub fn read(&self, room: &mut [u8]) -> io::Result<Option<usize>> {
        // SAFETY: the pointer and the length are those of a live slice.
        let read = unsafe { libc::read(self.file.as_raw_fd(), room.as_mut_ptr().cast(), room.len()) };
        match check(read as i64) {
            Ok(n) => Ok(Some(n as usize)),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Writes one frame that lies in parts.
    pub fn write(&self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        // SAFETY: IoSlice is the same as iovec (its documentation says so), and the slices live during the call.
        let written = unsafe { libc::writev(self.file.as_raw_fd(), parts.as_ptr().cast(), parts.len() as libc::c_int) };
        check(written as i64).map(|_| ())
    }

    /// Whether the kernel leaves the segmentation of UDP to us, which came with Linux 6.2.
    pub fn offloads_udp(&self) -> io::Result<()> {
        self.set_offload(TCP_OFFLOADS | UDP_OFFLOADS)
    }

    fn offload(&self) -> io::Result<()> {
        self.offloads_udp().or_else(|_| self.set_offload(TCP_OFFLOADS))
    }

    fn set_offload(&self, flags: libc::c_uint) -> io::Result<()> {
        // SAFETY: TUNSETOFFLOAD takes a number, no pointer.
        check(unsafe { libc::ioctl(self.file.as_raw_fd(), libc::TUNSETOFFLOAD, libc::c_ulong::from(flags)) })
            .map(|_| ())
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Where devices come from.
pub const DEVICE: &str = "/dev/net/tun";

/// Checksums, segments of TCP over IPv4 and IPv6, also with ECN.
const TCP_OFFLOADS: libc::c_uint = 0x01 | 0x02 | 0x04 | 0x08;

/// Segments of UDP over IPv4 and IPv6.
const UDP_OFFLOADS: libc::c_uint = 0x20 | 0x40;
