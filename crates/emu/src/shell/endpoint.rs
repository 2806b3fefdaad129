//! Ends of a shell's path: a device with its addresses and routes.

use super::address::AddressBlock;
use super::control::Listener;
use crate::Error;
use crate::remedy::Situation;
use crate::sys::netlink::{Netlink, Prefix, Route};
use crate::sys::tun::{DEVICE, Tun};
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// One end of a shell's path.
pub struct Endpoint {
    /// The device.
    pub tun: Tun,
    /// Netlink socket to its network namespace.
    pub netlink: Netlink,
    /// Its interface index.
    pub index: u32,
    /// Listener for address requests of shells in that namespace; `None` if this shell does not serve them.
    pub listener: Option<Listener>,
}

/// Configuration of an end of a path.
pub struct EndpointConfig<'a> {
    /// Name of the device; a `%d` is replaced by a number.
    pub name: &'a str,
    /// MTU in bytes.
    pub mtu: u32,
    /// Local and peer address, of IPv4 and IPv6.
    pub addresses: [(IpAddr, IpAddr); 2],
    /// Prefixes routed through it.
    pub reaches: [Prefix; 2],
    /// TCP congestion control of these routes.
    pub cc: Option<&'a str>,
}

impl<'a> EndpointConfig<'a> {
    /// Outer end of a shell, with a route to the inner address.
    pub fn outer(block: AddressBlock, mtu: u32, cc: Option<&'a str>) -> Self {
        let (v4, v6) = (block.v4(), block.v6());
        Self { name: "sojourn%d", mtu, addresses: [v4, v6], reaches: [(v4.1, 32), (v6.1, 128)], cc }
    }

    /// Inner end, with default routes.
    pub fn inner(block: AddressBlock, mtu: u32, cc: Option<&'a str>) -> Self {
        let ends = [block.v4(), block.v6()];
        let everywhere = [(Ipv4Addr::UNSPECIFIED.into(), 0), (Ipv6Addr::UNSPECIFIED.into(), 0)];
        Self { name: "sojourn", mtu, addresses: ends.map(|(outer, inner)| (inner, outer)), reaches: everywhere, cc }
    }

    /// Creates this endpoint in the current network namespace.
    pub fn make(&self) -> Result<Endpoint, Error> {
        let (tun, name) = Tun::create(self.name).map_err(|e| Error::Machine(no_tun(&e)))?;
        // AppArmor lets a process make a user namespace, but gives it no capabilities there.
        let fail = |what: &str, e: io::Error| match e.raw_os_error() {
            Some(libc::EPERM) => {
                let (cause, remedy) = Situation::present().namespace(&e);
                Error::Machine(format!("{name}: {what}: {cause}; {remedy}"))
            }
            _ => Error::Machine(format!("{name}: {what}: {e}; see `sojourn doctor`")),
        };
        let mut netlink = Netlink::open().map_err(|e| fail("netlink", e))?;
        let index = netlink.index(&name).map_err(|e| fail("device", e))?;
        netlink.set_up(index, Some((self.mtu, QUEUE))).map_err(|e| fail("switching on", e))?;
        for ((own, peer), to) in self.addresses.into_iter().zip(self.reaches) {
            let address = netlink.add_address(index, own, peer);
            let route = netlink.add_route(&Route { source: Some(own), cc: self.cc, ..Route::to(to, index) });
            // IPv6 is optional: its errors are ignored.
            if own.is_ipv4() {
                address.map_err(|e| fail("address", e))?;
                route.map_err(|e| match (e.raw_os_error(), self.cc) {
                    (Some(libc::EINVAL), Some(cc)) => Error::Machine(unknown_control(cc)),
                    _ => fail("route", e),
                })?;
            }
        }
        Ok(Endpoint { tun, netlink, index, listener: None })
    }
}

fn unknown_control(cc: &str) -> String {
    let available = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    let known = available.split_whitespace().collect::<Vec<_>>().join(", ");
    format!("--cc {cc}: this kernel has no such congestion control; it has {known}")
}

/// Error text for a device that cannot be created, with the remedy.
pub fn no_tun(error: &io::Error) -> String {
    format!("{DEVICE}: {error}; {}", Situation::present().device(error))
}

/// Transmit queue length of a device, in super-packets.
pub const QUEUE: u32 = 10_000;
