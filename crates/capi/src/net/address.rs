//! Addresses of sockets in C.

use libc::{AF_INET, AF_INET6, sa_family_t, sockaddr_in, sockaddr_in6};
use sojourn_library::queue::Error;
use std::ffi::c_int;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// `struct sockaddr_storage`.
pub type SockaddrStorage = libc::sockaddr_storage;

/// The address; `None` if it has another family than AF_INET and AF_INET6.
#[inline]
pub fn read_address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    let place = &raw const *storage;
    match c_int::from(storage.ss_family) {
        AF_INET => {
            // SAFETY: a sockaddr_storage is as large and as aligned as any address.
            let v4 = unsafe { &*place.cast::<sockaddr_in>() };
            let ip = Ipv4Addr::from_bits(u32::from_be(v4.sin_addr.s_addr));
            Some((ip, u16::from_be(v4.sin_port)).into())
        }
        AF_INET6 => {
            // SAFETY: as above.
            let v6 = unsafe { &*place.cast::<sockaddr_in6>() };
            let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            Some((ip, u16::from_be(v6.sin6_port)).into())
        }
        _ => None,
    }
}

/// The error of an address of another family; `name` is its place.
#[cold]
pub fn unreadable(name: &str, storage: &SockaddrStorage) -> Error {
    let family = storage.ss_family;
    Error::invalid(format!("{name}: family {family}; give AF_INET or AF_INET6"))
}

/// Writes an address.
#[inline]
pub fn write_address(address: &SocketAddr, storage: &mut SockaddrStorage) {
    let place = &raw mut *storage;
    match address {
        SocketAddr::V4(v4) => {
            // SAFETY: a sockaddr_storage is as large and as aligned as any address; zero is a valid one.
            let target = unsafe {
                place.cast::<sockaddr_in>().write_bytes(0, 1);
                &mut *place.cast::<sockaddr_in>()
            };
            target.sin_family = AF_INET as sa_family_t;
            target.sin_port = v4.port().to_be();
            target.sin_addr.s_addr = v4.ip().to_bits().to_be();
        }
        SocketAddr::V6(v6) => write_v6(v6, storage),
    }
}

fn write_v6(v6: &SocketAddrV6, storage: &mut SockaddrStorage) {
    // SAFETY: a sockaddr_storage is as large and as aligned as any address; zero is a valid one.
    let target = unsafe {
        let place = (&raw mut *storage).cast::<sockaddr_in6>();
        place.write_bytes(0, 1);
        &mut *place
    };
    target.sin6_family = AF_INET6 as sa_family_t;
    target.sin6_port = v6.port().to_be();
    target.sin6_addr.s6_addr = v6.ip().octets();
}
