//! Captures of a run in pcapng: packets at the queues, with the payload bytes of programs.
//!
//! Each queue is an interface. A packet enters it when it is offered to the queue and leaves it at the start of its
//! transmission; a dropped one is repeated at its drop without a direction. Datagrams of endpoints are whole, with
//! valid checksums; packets of endpoints with `layer = "ip"` are as sent, except for the ECN field. Other packets have
//! addresses of their own, and are truncated after eight bytes of their transport header, as ICMP quotes them (RFC 792).

use crate::capture::pcapng::{self, COMMENT, FLAGS, INBOUND, OUTBOUND, PacketRecord};
use crate::packet::{Handle, Packets};
use crate::payload::{Payload, Place};
use crate::queue_event::QueueEvent;
use crate::scenario::Scenario;
use sojourn_aqm::headers::{self, IpFields, TCP, UDP, set_ecn, write_udp};
use sojourn_aqm::{DropReason, Meta};
use std::io::{self, Write};
use std::net::SocketAddr;

/// Writer of the capture of a run.
pub(crate) struct PacketCapture {
    output: Box<dyn Write + Send>,
    buffer: Vec<u8>,
    /// The packet being written.
    data: Vec<u8>,
    /// First error of the output; nothing is written after it.
    error: Option<io::Error>,
}

impl PacketCapture {
    /// A capture of the queues of a scenario.
    pub fn new(scenario: &Scenario, output: Box<dyn Write + Send>) -> Self {
        let mut buffer = Vec::with_capacity(FULL + 4096);
        pcapng::section(&mut buffer);
        for name in queue_names(scenario) {
            pcapng::interface(&mut buffer, &name, 0);
        }
        Self { output, buffer, data: Vec::new(), error: None }
    }

    /// Writes a packet that is offered to a queue.
    pub fn arrived(&mut self, event: QueueEvent<'_>, packets: &Packets) {
        self.write(event, packets, &[(FLAGS, &INBOUND.to_ne_bytes())]);
    }

    /// Writes a packet whose transmission starts.
    pub fn sent(&mut self, event: QueueEvent<'_>, newly_marked: bool, packets: &Packets) {
        let comment = sojourn(event) + if newly_marked { ", marked" } else { "" };
        self.write(event, packets, &[(COMMENT, comment.as_bytes()), (FLAGS, &OUTBOUND.to_ne_bytes())]);
    }

    /// Writes a packet that is dropped.
    pub fn dropped(&mut self, event: QueueEvent<'_>, reason: DropReason, packets: &Packets) {
        let comment = format!("{}, dropped: {}", sojourn(event), reason.name().replace('-', " "));
        self.write(event, packets, &[(COMMENT, comment.as_bytes())]);
    }

    /// Writes the rest.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush();
        self.error.map_or(Ok(()), Err)
    }

    fn flush(&mut self) {
        if self.error.is_none() {
            self.error = self.output.write_all(&self.buffer).and_then(|()| self.output.flush()).err();
        }
        self.buffer.clear();
    }

    /// Writes a packet; of a super-packet each datagram, or one truncated segment that has the size of all.
    fn write(&mut self, event: QueueEvent<'_>, packets: &Packets, options: &[(u16, &[u8])]) {
        let QueueEvent { packet, meta, .. } = event;
        let Some(payload) = packets.payload_of(packet) else {
            let size = self.fill_other(packet, meta, packets);
            return self.push(event, size, options);
        };
        let (count, each, last) = packets.segments(packet);
        let headers = payload.headers();
        let mut offset = Place::of(packets.header(packet).seq).offset;
        for index in 1..=count {
            let size = if index == count { last } else { each }.saturating_sub(headers);
            self.fill_datagram(payload, (offset, size), meta);
            self.push(event, headers + size, options);
            offset += size;
        }
    }

    fn push(&mut self, event: QueueEvent<'_>, size: u32, options: &[(u16, &[u8])]) {
        let record = PacketRecord { interface: event.link as u32, time_ns: event.at.as_nanos(), size };
        pcapng::packet(&mut self.buffer, record, &self.data, options);
        if self.buffer.len() >= FULL {
            self.flush();
        }
    }

    /// Makes the datagram of `size` payload bytes from `offset` on.
    fn fill_datagram(&mut self, payload: &Payload, (offset, size): (u32, u32), meta: &Meta) {
        let bytes = payload.bytes.get(offset as usize..).unwrap_or_default();
        let bytes = &bytes[..bytes.len().min(size as usize)];
        self.data.clear();
        if payload.info.is_ip {
            self.data.extend(bytes);
            return set_ecn(&mut self.data, meta.ecn);
        }
        let number = payload.number_at(offset);
        let head = head_of((payload.info.from, payload.info.to), meta);
        let head = IpFields { identification: number as u16, ..head };
        write_udp(&mut self.data, head, (payload.info.from.port(), payload.info.to.port()), bytes);
    }

    /// Makes the truncated packet of another flow; returns its size on the wire.
    fn fill_other(&mut self, packet: Handle, meta: &Meta, packets: &Packets) -> u32 {
        let (record, header) = (packets.packet(packet), packets.header(packet));
        // A header of TCP has flags; datagrams have none.
        let protocol = if header.flags.bits() == 0 { UDP } else { TCP };
        let size = record.len.max(IPV4_BYTES + UDP_BYTES);
        let length = size - IPV4_BYTES;
        let ports = [FIRST_PORT + (record.flow % PORTS) as u16, SERVICE.wrapping_add((record.flow / PORTS) as u16)];
        let [near, far] = if record.to_sink { ports } else { [ports[1], ports[0]] };
        let address = |host: u32, port| SocketAddr::from(((OTHERS | (host & HOSTS)).to_be_bytes(), port));
        let (from, to) = (address(meta.hosts.0, near), address(meta.hosts.1, far));
        self.data.clear();
        IpFields { protocol, length, ..head_of((from, to), meta) }.write(&mut self.data);
        self.data.extend(near.to_be_bytes());
        self.data.extend(far.to_be_bytes());
        // No checksum (RFC 768) of a datagram.
        let rest = if protocol == TCP { header.seq as u32 } else { length << 16 };
        self.data.extend(rest.to_be_bytes());
        size
    }
}

/// Names of the queues by number, such as `link forward` and `link reverse`; a wireless LAN has several reverse ones.
fn queue_names(scenario: &Scenario) -> Vec<String> {
    let hops = scenario.hops().zip(scenario.reverse_queues());
    let of_hop = |((name, _, _), count): ((&str, _, _), usize)| {
        let reverse = (0..count).map(move |queue| match count {
            1 => format!("{name} reverse"),
            _ => format!("{name} reverse {queue}"),
        });
        std::iter::once(format!("{name} forward")).chain(reverse).collect::<Vec<_>>()
    };
    hops.flat_map(of_hop).collect()
}

fn sojourn(event: QueueEvent<'_>) -> String {
    let sojourn = event.at - event.meta.enqueued;
    format!("sojourn {:.6} ms", sojourn.as_secs_f64() * 1e3)
}

/// The IP header of a packet without its protocol and its length.
fn head_of((from, to): (SocketAddr, SocketAddr), meta: &Meta) -> IpFields {
    let (source, destination, class) = (from.ip(), to.ip(), (meta.dscp << 2) | meta.ecn as u8);
    IpFields { source, destination, protocol: 0, class, identification: 0, length: 0 }
}

/// Bytes after which the buffer is written.
const FULL: usize = 1 << 18;
const IPV4_BYTES: u32 = headers::IP4_BYTES as u32;
const UDP_BYTES: u32 = headers::UDP_BYTES as u32;
/// 10.128.0.0/9, for the hosts of other flows.
const OTHERS: u32 = (10 << 24) | (1 << 23);
const HOSTS: u32 = (1 << 23) - 1;
/// Ports of other flows at their source and their sink, as captures of results have them.
const FIRST_PORT: u16 = 10_000;
const PORTS: u32 = 50_000;
const SERVICE: u16 = 5_001;
