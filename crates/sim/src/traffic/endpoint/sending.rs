//! Datagrams that leave their host: at their departure times, through the socket buffer, past the MTU, to the network.

use super::{End, EndpointFlow};
use crate::endpoint::{OtherEvent, SendError, Transmit};
use crate::hosts::Decision;
use crate::payload::{MAX_SEGMENTS, PayloadInfo, PayloadPacket, Place, header_bytes};
use crate::traffic::host::{Host, ProgramParts};
use sojourn_aqm::headers::{IpHeader, TCP, UDP, ports_at};
use sojourn_aqm::{Ecn, Instant, Rate};
use sojourn_tcp::{Flags, Header};
use std::net::SocketAddr;

/// Datagrams of one transmission as they reach the network.
pub(super) struct Outgoing<'a> {
    /// Source address on the wire.
    pub from: &'a SocketAddr,
    pub transmit: &'a Transmit,
    pub bytes: &'a [u8],
    /// Bytes of each datagram but the last.
    pub segment: usize,
}

impl EndpointFlow {
    /// Sends datagrams of the end that `host` is of, now or at the departure time given.
    pub fn send(
        &mut self,
        now: Instant,
        transmit: &Transmit,
        bytes: &[u8],
        host: &mut impl Host,
    ) -> Result<(), SendError> {
        let of_header;
        let transmit = match self.is_ip {
            false if transmit.remote.ip().is_unspecified() => return Err(SendError::Remote),
            false => transmit,
            true => {
                of_header = addressed(transmit, bytes)?;
                &of_header
            }
        };
        let parts = host.program_parts();
        let from = &parts.hosts.leave(parts.end, transmit)?;
        let segment = transmit.segment_size.unwrap_or(bytes.len());
        let longest = if segment < bytes.len() { MAX_PAYLOAD * MAX_SEGMENTS as usize } else { MAX_PAYLOAD };
        if bytes.len() > longest || segment > MAX_PAYLOAD {
            return Err(SendError::TooLong(segment.min(bytes.len()), MAX_PAYLOAD));
        }
        if transmit.segment_size.is_some() && (segment == 0 || bytes.len().div_ceil(segment) > MAX_SEGMENTS as usize) {
            return Err(SendError::Segments(bytes.len(), segment));
        }
        if usize::from(transmit.tag) > self.tags {
            return Err(SendError::Tag(transmit.tag, self.tags));
        }
        if !self.has_room(now, host) {
            return Err(SendError::WouldBlock);
        }
        let end = &mut self.ends[host.end().side as usize];
        let at = end.departure(now, transmit);
        if at > now {
            let place = end.timed.partition_point(|&(other, ..)| other <= at);
            end.timed.insert(place, (at, *transmit, bytes.to_vec()));
            return Ok(());
        }
        self.leave(now, Outgoing { from, transmit, bytes, segment }, host);
        Ok(())
    }

    /// Whether the host of an end accepts a datagram; if not, the end is notified when it does.
    #[inline(always)]
    pub fn has_room(&mut self, now: Instant, host: &mut impl Host) -> bool {
        let Some((bytes, rate)) = self.socket_buffer else { return true };
        self.has_room_in_buffer(now, (bytes, rate), host)
    }

    #[inline(never)]
    fn has_room_in_buffer(&mut self, now: Instant, (bytes, rate): (u32, Rate), host: &mut impl Host) -> bool {
        let side = host.end().side;
        let (drain, span) = (host.drain_time(), rate.time_for(bytes.into()));
        let has_room = drain <= now + span;
        self.ends[side as usize].room_at = if has_room { Instant::NEVER } else { drain - span };
        has_room
    }

    /// Lets datagrams leave their host: together if the host has segmentation offload, else one by one.
    pub(super) fn leave(&mut self, now: Instant, outgoing: Outgoing<'_>, host: &mut impl Host) {
        let Outgoing { from, bytes, segment, .. } = outgoing;
        let headers = header_bytes(self.is_ip, from);
        let passes = || segment as u32 + headers <= self.mtu && now >= self.down_until;
        let fits = || bytes.len() + headers as usize * bytes.len().div_ceil(segment.max(1)) <= MAX_PACKET;
        let is_whole = self.gso && bytes.len() > segment && passes() && fits() && host.keeps_super_packets();
        let step = if is_whole { bytes.len() } else { segment };
        let mut rest = bytes;
        loop {
            let (bytes, more) = rest.split_at(step.min(rest.len()));
            let part = Outgoing { bytes, segment: segment.min(bytes.len()), ..outgoing };
            if part.segment as u32 + headers > self.mtu {
                self.refuse_oversized(now, &part, host);
            } else if now < self.down_until {
                self.lose(now, &part, host);
            } else {
                self.transmit(now, &part, headers, host);
            }
            rest = more;
            if rest.is_empty() {
                return;
            }
        }
    }

    /// Passes datagrams to the network as one packet.
    fn transmit(&mut self, now: Instant, outgoing: &Outgoing<'_>, headers: u32, host: &mut impl Host) {
        let &Outgoing { from, transmit, bytes, segment } = outgoing;
        let count = if bytes.len() <= segment { 1 } else { bytes.len().div_ceil(segment.max(1)) as u32 };
        let mut parts = host.program_parts();
        record(now, outgoing, &mut parts);
        let end = &mut self.ends[parts.end.side as usize];
        let info = || PayloadInfo {
            from: *from,
            to: transmit.remote,
            sent_at: now,
            ecn: transmit.ecn,
            is_ip: self.is_ip,
            tag: transmit.tag,
            number: end.sent,
            group: parts.group,
            side: parts.end.side,
            segment: segment as u32,
            datagrams: count,
        };
        let index = parts.payloads.insert(bytes, info);
        end.sent += u64::from(count);
        let flow = parts.hosts.flow(parts.end.slot, (from, &transmit.remote), parts.flow, parts.next_flow);
        let (mut payload_len, mut flags, mut of_super_packet) = (0, Flags::default(), 0);
        if count > 1 {
            // An offset in bytes, as links that cut and merge super-packets expect it of TCP.
            (payload_len, flags, of_super_packet) = (bytes.len() as u16, Flags::ACK, segment as u16);
        }
        let dscp = if self.is_ip { IpHeader::parse(bytes).map(|header| header.class >> 2) } else { None };
        host.transmit_payload(&PayloadPacket {
            header: Header { seq: Place { index, offset: 0 }.seq(), len: payload_len, flags, ..Header::default() },
            len: bytes.len() as u32 + count * headers,
            segment: of_super_packet,
            ecn: transmit.ecn,
            dscp,
            flow,
        });
    }

    /// Loses a datagram that leaves its host: while the path is down, or because it is too big for it.
    #[cold]
    fn lose(&mut self, now: Instant, outgoing: &Outgoing<'_>, host: &mut impl Host) {
        let mut parts = host.program_parts();
        record(now, outgoing, &mut parts);
        self.ends[parts.end.side as usize].sent += 1;
        parts.ledger.endpoint(now, parts.group).sent_by(parts.end.side, outgoing.transmit.tag).lost += 1;
    }

    /// Drops a packet above the MTU; its sender gets a message, or not.
    #[cold]
    fn refuse_oversized(&mut self, now: Instant, outgoing: &Outgoing<'_>, host: &mut impl Host) {
        self.lose(now, outgoing, host);
        let (parts, transmit) = (host.program_parts(), outgoing.transmit);
        parts.ledger.endpoint(now, parts.group).sent_by(parts.end.side, transmit.tag).too_big += 1;
        if let Some(delay) = self.report_delay {
            let message = OtherEvent::TooBig { mtu: self.mtu, remote: transmit.remote };
            self.ends[parts.end.side as usize].messages.push_back((now + delay, message));
        }
    }
}

impl End {
    /// When a datagram that is passed down now leaves: after those of its 5-tuple that still wait, so that a path
    /// delivers them in order.
    #[inline]
    fn departure(&self, now: Instant, transmit: &Transmit) -> Instant {
        let at = transmit.at.unwrap_or(now).max(now);
        if self.timed.is_empty() {
            return at;
        }
        let same = |(_, other, _): &&(Instant, Transmit, Vec<u8>)| {
            (other.local, other.remote) == (transmit.local, transmit.remote)
        };
        self.timed.iter().rev().find(same).map_or(at, |&(last, ..)| at.max(last))
    }
}

/// A transmission of an IP packet with the addresses, ports and ECN field of its headers; ports are 0 if the packet is
/// neither TCP nor UDP, or a later fragment.
fn addressed(transmit: &Transmit, packet: &[u8]) -> Result<Transmit, SendError> {
    if transmit.segment_size.is_some() {
        return Err(SendError::Packet("it has a segment size"));
    }
    let header = IpHeader::parse(packet).ok_or(SendError::Packet("its header is truncated, or of another version"))?;
    if header.length != Some(packet.len()) {
        return Err(SendError::Packet("the length in its header is not its own"));
    }
    let transport = header.of_first_fragment(packet).filter(|first| matches!(first.protocol, TCP | UDP));
    let ports = transport.and_then(|first| ports_at(packet, first.next)).unwrap_or_default();
    let [source, destination] = ports;
    let ecn = Ecn::ALL[usize::from(header.class & 3)];
    let local = Some(SocketAddr::new(header.source, source));
    Ok(Transmit { remote: SocketAddr::new(header.destination, destination), local, ecn, ..*transmit })
}

/// Records datagrams that leave their host.
#[inline(always)]
fn record(now: Instant, outgoing: &Outgoing<'_>, parts: &mut ProgramParts<'_>) {
    let &Outgoing { from, transmit, bytes, segment } = outgoing;
    let counts = parts.ledger.endpoint(now, parts.group).sent_by(parts.end.side, transmit.tag);
    let mut rest = bytes.len();
    loop {
        let one = rest.min(segment);
        counts.sent += 1;
        counts.sent_bytes += one as u64;
        let (end, to) = (parts.end, transmit.remote);
        parts.hosts.decisions.add(Decision {
            at: now,
            end,
            from: *from,
            to,
            bytes: one as u32,
            ecn: transmit.ecn,
            tag: transmit.tag,
        });
        rest -= one;
        if rest == 0 {
            return;
        }
    }
}

/// Maximum payload of a UDP datagram, and length of an IP packet.
const MAX_PAYLOAD: usize = 65_507;
pub(super) const MAX_PACKET: usize = 65_535;
