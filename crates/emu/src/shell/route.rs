//! Where a packet goes that leaves a shell upwards: to this machine, or through the gateway beyond it.

use super::address::{Block, overlap};
use super::end::End;
use super::gateway::Outline;
use crate::path::Sink;
use crate::sys::fds::Channel;
use crate::sys::tun::Tun;
use std::io::{self, IoSlice};
use std::net::IpAddr;

/// The outer side of a shell.
pub struct Outside {
    /// The end in the namespace where the shell was started, or in one of its own.
    pub end: End,
    /// The way beyond this machine; shells inside others leave that to the one around them.
    pub far: Option<Far>,
}

/// The way beyond this machine.
pub struct Far {
    /// What leads to the gateway; none where it is in the namespace of the outer end.
    pub end: Option<End>,
    /// To the gateway: frames that open something.
    pub channel: Channel,
    /// This machine's addresses.
    pub machine: Vec<IpAddr>,
    /// The shell's own.
    pub block: Block,
    /// A frame put together for the gateway.
    pub scratch: Vec<u8>,
}

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// To the outer end.
    Near,
    /// To the gateway's namespace.
    Far,
    /// To the gateway itself, which decides.
    Asking,
    /// Nowhere: the gateway's namespace would answer a ping to anybody.
    Nowhere,
}

impl Outside {
    /// The device to what lies beyond this machine, if it is another one.
    pub fn far_tun(&self) -> Option<&Tun> {
        self.far.as_ref()?.end.as_ref().map(|end| &end.tun)
    }
}

impl Sink for Outside {
    fn write(&mut self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        let Some(far) = &mut self.far else { return self.end.tun.write(parts) };
        match far.way(&Head::of(parts)) {
            Way::Near => self.end.tun.write(parts),
            Way::Far => far.end.as_ref().unwrap_or(&self.end).tun.write(parts),
            Way::Asking => far.ask(parts),
            Way::Nowhere => Ok(()),
        }
    }
}

impl Far {
    fn way(&self, head: &Head) -> Way {
        let Some(outline) = Outline::of(head.bytes()) else { return Way::Near };
        let bits = if outline.to.is_ipv4() { 32 } else { 128 };
        let in_tree = self.block.tree_prefixes().iter().any(|&tree| overlap(tree, (outline.to, bits)));
        let (host, host6) = self.block.host();
        // Where the outer end is private, the machine itself is beyond the gateway.
        let is_machine = self.end.is_none() && (outline.to == host || outline.to == host6);
        let is_server = outline.to == self.block.name_server() || outline.to == self.block.name_server6();
        let near = self.machine.contains(&outline.to) || in_tree && !is_machine && !is_server;
        match outline {
            _ if near => Way::Near,
            Outline { opens: true, .. } => Way::Asking,
            // Pings to the machine itself are for its stand-in.
            Outline { pings: true, .. } if !is_machine => Way::Nowhere,
            _ => Way::Far,
        }
    }

    fn ask(&mut self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        self.scratch.clear();
        parts.iter().for_each(|part| self.scratch.extend_from_slice(part));
        self.channel.send(&self.scratch, &[], true)
    }
}

/// The first bytes of a frame that lies in parts.
struct Head {
    bytes: [u8; HEAD],
    length: usize,
}

impl Head {
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
