//! Where a packet goes that leaves a shell upwards: to this machine, or through the gateway beyond it.

use super::address::{AddressBlock, overlap};
use super::endpoint::Endpoint;
use super::gateway::PacketSummary;
use crate::path::Sink;
use crate::sys::fds::Channel;
use crate::sys::tun::Tun;
use std::io::{self, IoSlice};
use std::net::IpAddr;

/// The outer side of a shell.
pub struct OuterSide {
    /// The end in the namespace where the shell was started, or in one of its own.
    pub end: Endpoint,
    /// The way beyond this machine; shells inside others leave that to the one around them.
    pub gateway: Option<GatewayRoute>,
}

/// The way beyond this machine.
pub struct GatewayRoute {
    /// What leads to the gateway; none where it is in the namespace of the outer end.
    pub end: Option<Endpoint>,
    /// To the gateway: frames that open something.
    pub channel: Channel,
    /// This machine's addresses.
    pub machine: Vec<IpAddr>,
    /// The shell's own.
    pub block: AddressBlock,
    /// A frame put together for the gateway.
    pub scratch: Vec<u8>,
}

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextHop {
    /// To the outer end.
    OuterEnd,
    /// To the gateway's namespace.
    GatewayNamespace,
    /// To the gateway itself, which decides.
    Gateway,
    /// Nowhere: the gateway's namespace would answer a ping to anybody.
    Drop,
}

impl OuterSide {
    /// The device to what lies beyond this machine, if it is another one.
    pub fn gateway_tun(&self) -> Option<&Tun> {
        self.gateway.as_ref()?.end.as_ref().map(|end| &end.tun)
    }
}

impl Sink for OuterSide {
    fn write(&mut self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        let Some(far) = &mut self.gateway else { return self.end.tun.write(parts) };
        match far.next_hop(&FrameHead::of(parts)) {
            NextHop::OuterEnd => self.end.tun.write(parts),
            NextHop::GatewayNamespace => far.end.as_ref().unwrap_or(&self.end).tun.write(parts),
            NextHop::Gateway => far.send_to_gateway(parts),
            NextHop::Drop => Ok(()),
        }
    }
}

impl GatewayRoute {
    fn next_hop(&self, head: &FrameHead) -> NextHop {
        let Some(outline) = PacketSummary::of(head.bytes()) else { return NextHop::OuterEnd };
        let bits = if outline.to.is_ipv4() { 32 } else { 128 };
        let in_tree = self.block.tree_prefixes().iter().any(|&tree| overlap(tree, (outline.to, bits)));
        let (host, host6) = self.block.host();
        // Where the outer end is private, the machine itself is beyond the gateway.
        let is_machine = self.end.is_none() && (outline.to == host || outline.to == host6);
        let is_server = outline.to == self.block.name_server() || outline.to == self.block.name_server6();
        let near = self.machine.contains(&outline.to) || in_tree && !is_machine && !is_server;
        match outline {
            _ if near => NextHop::OuterEnd,
            PacketSummary { opens: true, .. } => NextHop::Gateway,
            // Pings to the machine itself are for its stand-in.
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

/// The first bytes of a frame that lies in parts.
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

/// Virtio header, the longest IPv4 header without options or an IPv6 one, and the flags of a TCP header.
const HEAD: usize = 10 + 60 + 20;
