//! Addresses of shells.
//!
//! An outermost shell reserves a tree of addresses, 100.64.K.0/24 and fd53:6f6a:6f75:K::/64, unused on the machine, and
//! assigns a block of four addresses to itself and to each shell inside it.

use crate::sys::netlink::Prefix;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses of one shell: block `n` of tree `tree`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressBlock {
    /// Number of the tree: K in its prefixes.
    pub tree: u8,
    /// Number of the block in the tree, below [`BLOCKS`].
    pub n: u8,
}

impl AddressBlock {
    /// IPv4 addresses of the outer and the inner end.
    pub fn v4(self) -> (IpAddr, IpAddr) {
        (self.host4(1), self.host4(2))
    }

    /// IPv6 addresses of the outer and the inner end.
    pub fn v6(self) -> (IpAddr, IpAddr) {
        (self.host6(1), self.host6(2))
    }

    /// IPv4 and IPv6 prefix of the block.
    pub fn prefixes(self) -> [Prefix; 2] {
        [(self.host4(0), 30), (self.host6(0), 126)]
    }

    /// IPv4 and IPv6 prefix of the tree.
    pub fn tree_prefixes(self) -> [Prefix; 2] {
        let root = Self { n: 0, ..self };
        [(root.host4(0), 24), (root.host6(0), 64)]
    }

    /// Addresses of the outermost shell's outer end: `$SOJOURN_HOST` and `$SOJOURN_HOST6`.
    pub fn host(self) -> (IpAddr, IpAddr) {
        let root = Self { n: 0, ..self };
        (root.v4().0, root.v6().0)
    }

    /// Address inside of the machine's name server, if that has a loopback address.
    pub fn name_server(self) -> IpAddr {
        Self { n: BLOCKS, ..self }.host4(0)
    }

    /// IPv6 counterpart of [`Self::name_server`].
    pub fn name_server6(self) -> IpAddr {
        Self { n: BLOCKS, ..self }.host6(0)
    }

    fn host4(self, i: u8) -> IpAddr {
        Ipv4Addr::new(100, 64, self.tree, 4 * self.n + i).into()
    }

    fn host6(self, i: u8) -> IpAddr {
        Ipv6Addr::new(0xfd53, 0x6f6a, 0x6f75, self.tree.into(), 0, 0, 0, (4 * u16::from(self.n)) + u16::from(i)).into()
    }
}

/// Whether two prefixes overlap.
pub fn overlap((a, a_bits): Prefix, (b, b_bits): Prefix) -> bool {
    let bits = a_bits.min(b_bits);
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => bits == 0 || (u32::from(a) ^ u32::from(b)) >> (32 - u32::from(bits)) == 0,
        (IpAddr::V6(a), IpAddr::V6(b)) => bits == 0 || (u128::from(a) ^ u128::from(b)) >> (128 - u32::from(bits)) == 0,
        _ => false,
    }
}

/// Blocks per tree; the last four addresses are reserved for the name server.
pub const BLOCKS: u8 = 63;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_lie_side_by_side_in_their_tree() {
        let (first, last) = (AddressBlock { tree: 7, n: 0 }, AddressBlock { tree: 7, n: BLOCKS - 1 });
        assert_eq!(first.v4(), ("100.64.7.1".parse().unwrap(), "100.64.7.2".parse().unwrap()));
        assert_eq!(last.v4().1, "100.64.7.250".parse::<IpAddr>().unwrap());
        assert_eq!(last.v6().0, "fd53:6f6a:6f75:7::f9".parse::<IpAddr>().unwrap());
        assert_eq!(last.host(), first.host());
        assert_eq!(first.name_server(), "100.64.7.252".parse::<IpAddr>().unwrap());
        let blocks: Vec<_> = (0..BLOCKS).map(|n| AddressBlock { tree: 7, n }.prefixes()[0]).collect();
        for (i, &a) in blocks.iter().enumerate() {
            assert!(overlap(a, first.tree_prefixes()[0]));
            assert!(!overlap(a, (first.name_server(), 32)));
            assert!(blocks[..i].iter().all(|&b| !overlap(a, b)));
        }
    }

    #[test]
    fn ranges_overlap_when_one_holds_the_other() {
        let range = |text: &str, bits| (text.parse().unwrap(), bits);
        assert!(overlap(range("100.64.0.0", 10), range("100.64.3.0", 24)));
        assert!(!overlap(range("100.64.2.0", 24), range("100.64.3.0", 24)));
        assert!(!overlap(range("::", 0), range("100.64.3.0", 24)));
        assert!(overlap(range("fd53:6f6a:6f75::", 48), range("fd53:6f6a:6f75:3::1", 128)));
    }
}
