//! Attempts of programs in a closed shell to reach other hosts. The kernel of the outer end refuses them, because it has
//! no route; here they are counted.

use super::address::{AddressBlock, overlap};
use super::gateway::{Frame, PacketSummary};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Attempts by protocol and destination.
#[derive(Debug)]
pub struct Refusals {
    block: AddressBlock,
    /// TCP SYNs and UDP datagrams; without the destinations beyond [`MAX_DESTINATIONS`].
    attempts: BTreeMap<(&'static str, SocketAddr), u64>,
    total: u64,
}

impl Refusals {
    /// No attempt so far in a closed shell with addresses of `block`.
    pub fn new(block: AddressBlock) -> Self {
        Self { block, attempts: BTreeMap::new(), total: 0 }
    }

    /// Counts a frame that leaves the shell, given by its first bytes, if it is an attempt to reach another host.
    pub fn count(&mut self, head: &[u8]) {
        let Some(PacketSummary { to, opens: true, .. }) = PacketSummary::of(head) else { return };
        let bits = if to.is_ipv4() { 32 } else { 128 };
        if self.block.tree_prefixes().iter().any(|&tree| overlap(tree, (to, bits))) {
            return;
        }
        self.total += 1;
        let destination = match Frame::parse(head) {
            Some(Frame::Syn { to, .. }) => ("TCP", to),
            Some(Frame::Datagrams(burst)) => ("UDP", burst.to),
            None => return,
        };
        if self.attempts.len() < MAX_DESTINATIONS || self.attempts.contains_key(&destination) {
            *self.attempts.entry(destination).or_insert(0) += 1;
        }
    }

    /// One line, if there was any attempt.
    pub fn line(&self) -> Option<String> {
        let each = |(&(protocol, to), count): (&(&str, SocketAddr), &u64)| format!("{to} {protocol} ({count})");
        let shown: Vec<String> = self.attempts.iter().take(SHOWN).map(each).collect();
        let more = if self.attempts.len() > SHOWN { ", …" } else { "" };
        let (total, shown) = (self.total, shown.join(", "));
        let packets = if total == 1 { "packet" } else { "packets" };
        (total > 0).then(|| format!("refused {total} {packets} to other hosts: {shown}{more}"))
    }

    /// The object `refused` of a report.
    pub fn json(&self) -> Value {
        let each = |(&(protocol, to), count): (&(&str, SocketAddr), &u64)| json!({ "protocol": protocol, "address": to.ip(), "port": to.port(), "packets": count });
        json!({ "packets": self.total, "destinations": self.attempts.iter().map(each).collect::<Vec<_>>() })
    }
}

/// Maximum number of destinations that are remembered.
const MAX_DESTINATIONS: usize = 1000;

/// Number of destinations in the report.
const SHOWN: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    /// A TCP SYN over IPv4, with a virtio header.
    fn syn(to: [u8; 4], port: u16) -> Vec<u8> {
        let mut frame = vec![0; 10 + 40];
        frame[10..14].copy_from_slice(&[0x45, 0, 0, 40]);
        (frame[18], frame[19]) = (64, 6);
        frame[26..30].copy_from_slice(&to);
        frame[32..34].copy_from_slice(&port.to_be_bytes());
        (frame[42], frame[43]) = (0x50, 2);
        frame
    }

    #[test]
    fn attempts_outside_of_the_shells_are_counted_by_destination() {
        let mut refusals = Refusals::new(AddressBlock { tree: 7, n: 0 });
        assert_eq!(refusals.line(), None);
        for (to, port) in [([100, 64, 7, 1], 80), ([10, 1, 2, 3], 443), ([10, 1, 2, 3], 443), ([10, 1, 2, 3], 80)] {
            refusals.count(&syn(to, port));
        }
        let mut ack = syn([10, 1, 2, 3], 443);
        ack[43] = 16;
        refusals.count(&ack);
        assert_eq!(
            refusals.line().as_deref(),
            Some("refused 3 packets to other hosts: 10.1.2.3:80 TCP (1), 10.1.2.3:443 TCP (2)")
        );
        assert_eq!(refusals.json()["destinations"][1]["packets"], 2);
    }
}
