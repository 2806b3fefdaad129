//! TUN devices that pass super-packets (GSO) to and from the kernel (`linux/if_tun.h`).
#![allow(unsafe_code)]

use super::check;
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

/// Size of the virtio header (`struct virtio_net_hdr`) before each packet, in bytes.
pub const VIRTIO_HEADER: usize = 10;

/// A TUN device of the network namespace that created it, removed when its last descriptor closes.
#[derive(Debug)]
pub struct Tun {
    file: File,
}

impl Tun {
    /// Creates a device (IFF_NO_PI, IFF_VNET_HDR) with offloads of checksums, TCP segmentation and, if the kernel can,
    /// UDP segmentation. A `%d` in `name` is replaced by the next free number.
    ///
    /// Returns the device and its name. The descriptor is nonblocking.
    pub fn create(name: &str) -> io::Result<(Self, String)> {
        Self::create_as(name, libc::IFF_TUN)
    }

    /// Creates a TAP device in the same way: an Ethernet header follows the virtio header.
    pub fn create_tap(name: &str) -> io::Result<(Self, String)> {
        Self::create_as(name, libc::IFF_TAP)
    }

    /// Whether this process may open the driver.
    pub fn is_permitted() -> bool {
        OpenOptions::new().read(true).write(true).open(DEVICE).is_ok()
    }

    fn create_as(name: &str, kind: libc::c_int) -> io::Result<(Self, String)> {
        let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE)?;
        // SAFETY: an all-zero ifreq is valid; it has an array of characters and a union of plain integers.
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

    /// Wraps a descriptor received from another process.
    pub fn from_fd(fd: OwnedFd) -> Self {
        Self { file: fd.into() }
    }

    /// Reads one frame; `None` if none is queued.
    pub fn read(&self, room: &mut [u8]) -> io::Result<Option<usize>> {
        // SAFETY: pointer and length are those of a live slice.
        let read = unsafe { libc::read(self.file.as_raw_fd(), room.as_mut_ptr().cast(), room.len()) };
        match check(read as i64) {
            Ok(n) => Ok(Some(n as usize)),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Writes one frame, gathered from `parts`.
    pub fn write(&self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        // SAFETY: IoSlice is documented to be ABI compatible with iovec, and the slices outlive the call.
        let written = unsafe { libc::writev(self.file.as_raw_fd(), parts.as_ptr().cast(), parts.len() as libc::c_int) };
        check(written as i64).map(|_| ())
    }

    /// Enables UDP segmentation offload (Linux 6.2); an error if the kernel lacks it.
    pub fn offloads_udp(&self) -> io::Result<()> {
        self.set_offload(TCP_OFFLOADS | UDP_OFFLOADS)
    }

    fn offload(&self) -> io::Result<()> {
        self.offloads_udp().or_else(|_| self.set_offload(TCP_OFFLOADS))
    }

    fn set_offload(&self, flags: libc::c_uint) -> io::Result<()> {
        // SAFETY: TUNSETOFFLOAD takes an integer, no pointer.
        check(unsafe { libc::ioctl(self.file.as_raw_fd(), libc::TUNSETOFFLOAD, libc::c_ulong::from(flags)) })
            .map(|_| ())
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Device node of the TUN driver.
pub const DEVICE: &str = "/dev/net/tun";

/// TUN_F_CSUM, TUN_F_TSO4, TUN_F_TSO6 and TUN_F_TSO_ECN.
const TCP_OFFLOADS: libc::c_uint = 0x01 | 0x02 | 0x04 | 0x08;

/// TUN_F_USO4 and TUN_F_USO6.
const UDP_OFFLOADS: libc::c_uint = 0x20 | 0x40;
