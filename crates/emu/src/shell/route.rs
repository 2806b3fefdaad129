//! Routing of packets that leave a shell on its outer side: to this machine, or through the gateway to other hosts.

use super::address::{AddressBlock, overlap};
use super::endpoint::Endpoint;
use super::gateway::PacketSummary;
use super::refusals::Refusals;
use crate::path::Sink;
use crate::sys::fds::Channel;
use crate::sys::tun::Tun;
use std::io::{self, IoSlice};
use std::net::IpAddr;

/// The outer side of a shell.
pub struct OuterSide {
    /// The end in the namespace that started the shell, or in a namespace of its own.
    pub end: Endpoint,
    /// Route to the gateway; `None` in a nested shell, because the outermost one has it.
    pub gateway: Option<GatewayRoute>,
    /// Attempts to reach other hosts from a closed shell; `None` in others.
    pub refusals: Option<Refusals>,
}

/// Route to hosts beyond this machine.
pub struct GatewayRoute {
    /// Device to the gateway; `None` if the gateway is in the namespace of the outer end.
    pub end: Option<Endpoint>,
    /// To the gateway: TCP SYNs and UDP datagrams.
    pub channel: Channel,
    /// Addresses of this machine.
    pub machine: Vec<IpAddr>,
    /// Addresses of the shell.
    pub block: AddressBlock,
    /// Buffer to assemble a frame for the gateway.
    pub scratch: Vec<u8>,
}

/// Next hop of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextHop {
    /// The outer end.
    OuterEnd,
    /// The kernel of the gateway's namespace.
    GatewayNamespace,
    /// The gateway process, which connects outside first.
    Gateway,
    /// Dropped: the gateway's namespace accepts all addresses, so it would answer a ping to any host.
    Drop,
}

impl OuterSide {
    /// The device to the gateway, if it differs from the outer end's.
    pub fn gateway_tun(&self) -> Option<&Tun> {
        self.gateway.as_ref()?.end.as_ref().map(|end| &end.tun)
    }
}

impl Sink for OuterSide {
    fn write(&mut self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        if let Some(refusals) = &mut self.refusals {
            refusals.count(FrameHead::of(parts).bytes());
        }
        let Some(gateway) = &mut self.gateway else { return self.end.tun.write(parts) };
        match gateway.next_hop(&FrameHead::of(parts)) {
            NextHop::OuterEnd => self.end.tun.write(parts),
            NextHop::GatewayNamespace => gateway.end.as_ref().unwrap_or(&self.end).tun.write(parts),
            NextHop::Gateway => gateway.send_to_gateway(parts),
            NextHop::Drop => Ok(()),
        }
    }
}

impl GatewayRoute {
    fn next_hop(&self, head: &FrameHead) -> NextHop {
        let Some(packet) = PacketSummary::of(head.bytes()) else { return NextHop::OuterEnd };
        let bits = if packet.to.is_ipv4() { 32 } else { 128 };
        let in_tree = self.block.tree_prefixes().iter().any(|&tree| overlap(tree, (packet.to, bits)));
        let (host, host6) = self.block.host();
        // If the outer end is private, the machine itself is reached through the gateway.
        let is_machine = self.end.is_none() && (packet.to == host || packet.to == host6);
        let is_server = packet.to == self.block.name_server() || packet.to == self.block.name_server6();
        let is_near = self.machine.contains(&packet.to) || in_tree && !is_machine && !is_server;
        match packet {
            _ if is_near => NextHop::OuterEnd,
            PacketSummary { opens: true, .. } => NextHop::Gateway,
            // The gateway's namespace answers pings to the machine itself.
            PacketSummary { pings: true, .. } if !is_machine => NextHop::Drop,
            _ => NextHop::GatewayNamespace,
        }
    }

    fn send_to_gateway(&mut self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        self.scratch.clear();
        parts.iter().for_each(|part| self.scratch.extend_from_slice(part));
        self.channel.send(&self.scratch, &[], true)
    }
}

/// First bytes of a frame given in parts.
struct FrameHead {
    bytes: [u8; HEAD],
    length: usize,
}

impl FrameHead {
    fn of(parts: &[IoSlice<'_>]) -> Self {
        let mut head = Self { bytes: [0; HEAD], length: 0 };
        for part in parts {
            let n = part.len().min(HEAD - head.length);
            head.bytes[head.length..head.length + n].copy_from_slice(&part[..n]);
            head.length += n;
            if head.length == HEAD {
                break;
            }
        }
        head
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Virtio header, the longest IPv4 header, and a TCP header without options.
const HEAD: usize = 10 + 60 + 20;
