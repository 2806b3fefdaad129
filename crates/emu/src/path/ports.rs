//! Classes and hosts of packets by TCP or UDP port, as a sender's `SO_PRIORITY`, a filter of its host or addresses
//! would set them.

use super::header::Headers;
use sojourn_aqm::class::ClassId;

/// What ports say about their packets; the first rule of a port counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortRules {
    /// Class of the packets from and to a port.
    pub classes: Vec<(u16, ClassId)>,
    /// Numbers of the hosts of a port's packets: its client's and its server's.
    pub hosts: Vec<(u16, (u32, u32))>,
}

impl PortRules {
    /// Class and hosts of a packet; `head` begins with the IP header. Without a rule a packet has no class, and the
    /// hosts of its addresses.
    pub fn of(&self, headers: &Headers, head: &[u8]) -> (ClassId, (u32, u32)) {
        let plain = (ClassId::NONE, headers.hosts);
        if self.classes.is_empty() && self.hosts.is_empty() {
            return plain;
        }
        let Some([from, to]) = headers.ports(head) else { return plain };
        let class = self.classes.iter().find(|(port, _)| [from, to].contains(port)).map(|&(_, class)| class);
        let hosts = self.hosts.iter().find_map(|&(port, (client, server))| match port {
            _ if port == to => Some((client, server)),
            _ if port == from => Some((server, client)),
            _ => None,
        });
        (class.unwrap_or_default(), hosts.unwrap_or(headers.hosts))
    }
}
