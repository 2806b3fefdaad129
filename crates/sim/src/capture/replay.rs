//! Traffic from a capture: packets at their original times, or the bytes of connections as transfers.

use super::{Capture, CapturedPacket, SYN};
use serde::Serialize;
use sojourn_aqm::{Duration, Ecn};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Packets and connections of selected hosts, from the first packet of the capture on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replay {
    /// By source, destination and protocol, in the order of their first packets.
    pub flows: Vec<Vec<ReplayPacket>>,
    /// Addresses of the source and of the sink of each flow.
    pub ends: Vec<[IpAddr; 2]>,
    /// One per TCP connection that carries data, in the order of their first packets.
    pub transfers: Vec<Transfer>,
    /// Repairs of the capture.
    pub repairs: Repairs,
}

/// A packet to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayPacket {
    /// Since the first packet of the capture.
    pub at: Duration,
    /// Bytes of its IP and transport headers.
    pub headers: u32,
    /// Bytes after the headers.
    pub payload: u32,
    /// As captured.
    pub ecn: Ecn,
}

/// The bytes that one end of a connection sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Time from the first packet of the capture to that of the connection.
    pub at: Duration,
    /// From the first sequence number to the last; at least 1.
    pub bytes: u64,
    /// Addresses of the source and of the sink.
    pub ends: [IpAddr; 2],
}

/// Artefacts of a capture that were repaired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Repairs {
    /// Packets with a timestamp up to 10 ms before that of an earlier packet in the file; they are sorted.
    pub reordered: u64,
    /// Clock steps removed.
    pub clock_steps: u64,
    /// Duplicate packets removed.
    pub duplicates: u64,
}

/// The traffic that a run replays from a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ReplaySummary {
    /// Packets, if they are sent as captured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<u64>,
    /// Connections with data, if their bytes are sent as transfers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfers: Option<u64>,
    /// Packets above the MTU.
    pub super_packets: u64,
    /// Packets on the wire that the super-packets become.
    pub pieces: u64,
    /// Repairs of the capture.
    #[serde(flatten)]
    pub repairs: Repairs,
}

/// Selection and repair options of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureFilter {
    /// The sending hosts; all if none.
    pub source: Option<HostSet>,
    /// TCP only (`true`) or UDP only (`false`); both if none.
    pub tcp: Option<bool>,
    /// Whether clock steps are removed instead of rejected.
    pub join_clock: bool,
    /// Treatment of duplicate packets.
    pub duplicates: DuplicatePolicy,
}

/// Treatment of duplicate packets, as from a port that mirrors both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DuplicatePolicy {
    /// Reject the capture.
    #[default]
    Refuse,
    /// Drop the second one.
    Drop,
    /// Send both.
    Keep,
}

/// The addresses of some networks, or all other addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostSet {
    /// Address and length of the prefix.
    nets: Vec<(IpAddr, u8)>,
    others: bool,
}

impl HostSet {
    /// Reads `10.0.0.1`, `10.0.0.0/8` or `10.0.0.0/8, 2001:db8::/32`, each also after `not`.
    pub fn parse(text: &str) -> Option<Self> {
        let (text, others) = text.strip_prefix("not ").map_or((text, false), |text| (text, true));
        let nets = text.split(',').map(|net| Self::net(net.trim())).collect::<Option<_>>()?;
        Some(Self { nets, others })
    }

    fn net(text: &str) -> Option<(IpAddr, u8)> {
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().ok()?;
        let max = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Some(max), |bits| bits.parse().ok())?;
        (bits <= max).then_some((address, bits))
    }

    /// Whether the set contains an address.
    pub fn has(&self, address: IpAddr) -> bool {
        let alike = |net| match (net, address) {
            (IpAddr::V4(a), IpAddr::V4(b)) => Some((u32::from(a) ^ u32::from(b)).leading_zeros()),
            (IpAddr::V6(a), IpAddr::V6(b)) => Some((u128::from(a) ^ u128::from(b)).leading_zeros()),
            _ => None,
        };
        let is_in = |&(net, bits): &(IpAddr, u8)| alike(net).is_some_and(|same| same >= u32::from(bits));
        self.nets.iter().any(is_in) != self.others
    }
}

impl Replay {
    /// Selects packets from a capture. The error has the problem and the key that solves it.
    pub fn of(capture: &Capture, filter: &CaptureFilter) -> Result<Self, String> {
        let mut repairs = Repairs::default();
        let mut packets = on_one_clock(&capture.packets, filter.join_clock, &mut repairs)?;
        drop_duplicates(&mut packets, filter.duplicates, &mut repairs)?;
        let is_selected = |packet: &CapturedPacket| {
            filter.source.as_ref().is_none_or(|hosts| hosts.has(packet.source.0))
                && filter.tcp.is_none_or(|tcp| tcp == packet.is_tcp)
        };
        let mut replay = Self { repairs, ..Self::default() };
        let (mut numbers, mut streams) = (BTreeMap::new(), BTreeMap::new());
        for (at, packet) in packets.iter().filter(|(_, packet)| is_selected(packet)) {
            let ends = (packet.source, packet.destination, packet.is_tcp);
            let number = *numbers.entry(ends).or_insert(replay.flows.len());
            if number == replay.flows.len() {
                replay.flows.push(Vec::new());
                replay.ends.push([packet.source.0, packet.destination.0]);
            }
            let headers = packet.ip_bytes.saturating_sub(packet.payload);
            replay.flows[number].push(ReplayPacket { at: *at, headers, payload: packet.payload, ecn: ecn(packet.ecn) });
            if packet.is_tcp {
                let known = streams.get(&ends).copied();
                let stream = stream(packet, *at, known, &mut replay.transfers);
                streams.insert(ends, stream);
            }
        }
        replay.transfers.retain(|transfer| transfer.bytes > 0);
        if replay.flows.is_empty() {
            return Err(format!("no packet of it matches; {}", hosts(capture)));
        }
        Ok(replay)
    }

    /// Number of packets of all flows.
    pub fn packets(&self) -> u64 {
        self.flows.iter().map(|flow| flow.len() as u64).sum()
    }

    /// Number of packets above `mtu`, as offload leaves them, and of the packets that they are cut into.
    pub fn cut(&self, mtu: u32) -> (u64, u64) {
        let large = self.flows.iter().flatten().filter(|packet| packet.headers + packet.payload > mtu);
        large.fold((0, 0), |(packets, pieces), packet| (packets + 1, pieces + u64::from(packet.pieces(mtu))))
    }
}

impl ReplayPacket {
    /// Number of packets of at most `mtu` bytes that carry its payload.
    pub fn pieces(&self, mtu: u32) -> u32 {
        self.payload.div_ceil(self.segment(mtu)).max(1)
    }

    /// Payload of each of these packets but the last.
    pub fn segment(&self, mtu: u32) -> u32 {
        mtu.saturating_sub(self.headers).max(1)
    }
}

/// A connection: its index in the transfers, its first sequence number, and the one after its last.
#[derive(Clone, Copy)]
struct Stream {
    transfer: usize,
    first: u32,
    /// Lowest sequence number, in a capture that begins within the connection, perhaps out of order.
    low: Option<u32>,
    end: u32,
}

/// The connection of a segment: the known one, or a new one if it is a SYN with another sequence number.
fn stream(packet: &CapturedPacket, at: Duration, known: Option<Stream>, transfers: &mut Vec<Transfer>) -> Stream {
    let begins = packet.flags & SYN != 0;
    let first = packet.seq.wrapping_add(u32::from(begins));
    let mut stream = known.filter(|known| !begins || first == known.first).unwrap_or_else(|| {
        transfers.push(Transfer { at, bytes: 0, ends: [packet.source.0, packet.destination.0] });
        Stream { transfer: transfers.len() - 1, first, low: (!begins).then_some(first), end: first }
    });
    let below = stream.low.map_or(0, |low| low.wrapping_sub(first) as i32);
    if below > 0 && packet.payload > 0 {
        stream.low = Some(first);
        transfers[stream.transfer].bytes += below as u64;
    }
    let ahead = first.wrapping_add(packet.payload).wrapping_sub(stream.end) as i32;
    if ahead > 0 {
        stream.end = stream.end.wrapping_add(ahead as u32);
        transfers[stream.transfer].bytes += ahead as u64;
    }
    stream
}

/// Sorts the packets by time, relative to the first. A clock that steps back by more than 10 ms or ahead by more than
/// an hour was set; a NIC with several queues stamps packets out of order by microseconds.
fn on_one_clock(
    packets: &[CapturedPacket],
    join: bool,
    repairs: &mut Repairs,
) -> Result<Vec<(Duration, CapturedPacket)>, String> {
    let first = packets.first().map_or(0, |packet| packet.time_ns as i64);
    let (mut high, mut shift) = (0, 0);
    let mut found = Vec::with_capacity(packets.len());
    for (index, packet) in packets.iter().enumerate() {
        let mut at = packet.time_ns as i64 - first + shift;
        let step = at - high;
        if !(-LARGEST_REORDERING_NS..=LONGEST_PAUSE_NS).contains(&step) {
            if !join {
                let direction = if step < 0 { "back" } else { "ahead" };
                return Err(format!(
                    "between its packets {index} and {} the clock steps {direction} by {:.3} s; write clock = \
                     \"join\" to take the steps out, or cut the capture there",
                    index + 1,
                    step.abs() as f64 / 1e9
                ));
            }
            repairs.clock_steps += 1;
            shift -= step;
            at = high;
        }
        repairs.reordered += u64::from(at < high);
        high = high.max(at);
        found.push((at, *packet));
    }
    let earliest = found.iter().map(|&(at, _)| at).min().unwrap_or(0);
    found.sort_by_key(|&(at, _)| at);
    Ok(found.into_iter().map(|(at, packet)| (Duration::from_nanos(at - earliest), packet)).collect())
}

/// Handles packets within a millisecond that are equal but for time, TTL and ECN. UDP datagrams and pure ACKs without
/// IP identification are never duplicates: two of them may be equal.
fn drop_duplicates(
    packets: &mut Vec<(Duration, CapturedPacket)>,
    duplicates: DuplicatePolicy,
    repairs: &mut Repairs,
) -> Result<(), String> {
    if duplicates == DuplicatePolicy::Keep {
        return Ok(());
    }
    let (mut seen, whole) = (BTreeMap::new(), packets.len());
    packets.retain(|&(at, packet)| {
        let is_known = packet.identification != 0 || packet.is_tcp && packet.payload > 0;
        let same = CapturedPacket { time_ns: 0, ecn: 0, ..packet };
        !is_known || seen.insert(same, at).is_none_or(|before| at - before > SAME)
    });
    let twice = (whole - packets.len()) as u64;
    if twice > 0 && duplicates == DuplicatePolicy::Refuse {
        return Err(format!(
            "{twice} of its {whole} packets appear twice, as from a port that mirrors both directions; write \
             duplicates = \"drop\", or \"keep\""
        ));
    }
    repairs.duplicates = twice;
    Ok(())
}

/// The hosts that send most packets, for an error message.
fn hosts(capture: &Capture) -> String {
    let mut counts = BTreeMap::new();
    for packet in &capture.packets {
        *counts.entry(packet.source.0).or_insert(0) += 1;
    }
    let mut counts: Vec<(IpAddr, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|&(address, count)| (std::cmp::Reverse(count), address));
    let named: Vec<String> = counts.iter().take(4).map(|(address, count)| format!("{address} ({count})")).collect();
    format!("its hosts send {}{}", named.join(", "), if counts.len() > 4 { ", …" } else { "" })
}

fn ecn(bits: u8) -> Ecn {
    match bits {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

/// Maximum reordering of timestamps in a capture: NICs have several queues.
const LARGEST_REORDERING_NS: i64 = 10_000_000;
/// A longer pause is a clock step.
const LONGEST_PAUSE_NS: i64 = 3_600_000_000_000;
/// Equal packets closer than this are one packet.
const SAME: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    use crate::capture::ACK;

    const S: u64 = 1_000_000_000;

    fn segment(time_ns: u64, seq: u32, payload: u32, flags: u8) -> CapturedPacket {
        let end = |host: u8, port| (IpAddr::from([10, 0, 0, host]), port);
        CapturedPacket {
            time_ns: 1_700_000_000 * S + time_ns,
            source: end(1, 4000),
            destination: end(2, 80),
            is_tcp: true,
            identification: 0,
            seq,
            ack: 1,
            flags,
            checksum: 7,
            payload,
            ecn: 2,
            ip_bytes: 52 + payload,
            sack: [(0, 0); 4],
        }
    }

    fn capture(packets: &[CapturedPacket]) -> Capture {
        Capture { packets: packets.to_vec(), others: BTreeMap::new(), cut: None }
    }

    fn replay(packets: &[CapturedPacket], wanted: &CaptureFilter) -> Result<Replay, String> {
        Replay::of(&capture(packets), wanted)
    }

    #[test]
    fn packets_keep_their_instants_sizes_and_code_points_by_flow() {
        let other =
            CapturedPacket { source: (IpAddr::from([10, 0, 0, 9]), 53), is_tcp: false, ecn: 3, ..segment(7, 0, 80, 0) };
        let found =
            replay(&[segment(0, 1, 100, ACK), other, segment(1_234_567, 101, 1448, ACK)], &CaptureFilter::default());
        let found = found.unwrap();
        assert_eq!(found.flows.len(), 2);
        let sent = |at, payload| ReplayPacket { at: Duration::from_nanos(at), headers: 52, payload, ecn: Ecn::Ect0 };
        assert_eq!(found.flows[0], [sent(0, 100), sent(1_234_567, 1448)]);
        assert_eq!(found.flows[1], [ReplayPacket { ecn: Ecn::Ce, ..sent(7, 80) }]);
        assert_eq!(found.ends, [1, 9].map(|source| [[10, 0, 0, source], [10, 0, 0, 2]].map(IpAddr::from)));
        assert_eq!(found.packets(), 3);
    }

    #[test]
    fn the_wanted_hosts_and_protocol_are_taken_and_times_stay_those_of_the_capture() {
        let back = CapturedPacket { source: (IpAddr::from([10, 0, 0, 2]), 80), ..segment(0, 1, 0, ACK) };
        let packets = [back, segment(500, 1, 100, ACK)];
        let of = |source: &str| CaptureFilter { source: HostSet::parse(source), ..CaptureFilter::default() };
        let found = replay(&packets, &of("10.0.0.1")).unwrap();
        assert_eq!(found.flows[0][0].at, Duration::from_nanos(500));
        assert_eq!(replay(&packets, &of("10.0.0.0/30")).unwrap().flows.len(), 2);
        let refused = replay(&packets, &of("192.168.0.0/16")).unwrap_err();
        assert_eq!(refused, "no packet of it matches; its hosts send 10.0.0.1 (1), 10.0.0.2 (1)");
        let udp = CaptureFilter { tcp: Some(false), ..CaptureFilter::default() };
        assert!(replay(&packets, &udp).is_err());
    }

    #[test]
    fn networks_are_read_and_wrong_ones_are_not() {
        for (net, inside, outside) in [
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.0"),
            ("0.0.0.0/0", "255.0.0.1", "::1"),
            ("2001:db8::/33", "2001:db8:7fff::1", "2001:db8:8000::1"),
            ("192.168.1.7", "192.168.1.7", "192.168.1.6"),
            ("not 10.0.0.0/8", "11.0.0.0", "10.255.0.1"),
            ("not 10.0.0.0/8", "::1", "10.0.0.1"),
            ("10.0.0.0/8, 2001:db8::/32", "2001:db8::9", "::1"),
            ("not 10.0.0.0/8,2001:db8::/32", "9.0.0.1", "10.0.0.1"),
        ] {
            let net = HostSet::parse(net).unwrap();
            assert!(net.has(inside.parse().unwrap()) && !net.has(outside.parse().unwrap()), "{net:?}");
        }
        for wrong in ["", "10.0.0", "10.0.0.0/33", "::/129", "home", "10.0.0.0/x", "not", "not home", "10.0.0.1,"] {
            assert_eq!(HostSet::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_capture_that_begins_out_of_order_has_all_bytes_of_its_transfers_once() {
        let middle = [
            (0, 2000, 1000),
            (1, 1000, 1000),
            (2, 3000, 500),
            (9_000_000, 1000, 1000),
            (9_000_001, 500, 100),
            (9_000_002, 499, 0),
        ];
        let packets = middle.map(|(at, seq, payload)| segment(at, seq, payload, ACK));
        let found = replay(&packets, &CaptureFilter::default()).unwrap();
        let sent: Vec<_> = found.transfers.iter().map(|transfer| (transfer.at, transfer.bytes)).collect();
        assert_eq!(sent, [(Duration::ZERO, 3000)]);
        let whole = [segment(0, 1999, 0, SYN), segment(1, 2000, 1000, ACK), segment(2, 1000, 1000, ACK)];
        let found = replay(&whole, &CaptureFilter::default()).unwrap();
        assert_eq!(found.transfers[0].bytes, 1000, "nothing is before a SYN");
    }

    #[test]
    fn a_transfer_is_what_the_sequence_numbers_cover_also_over_the_wrap_and_with_ports_used_again() {
        let near = u32::MAX - 999;
        let packets = [
            segment(0, near.wrapping_sub(1), 0, SYN),
            segment(1, near, 600, ACK),
            segment(2, near.wrapping_add(1200), 600, ACK), // after a segment that the capture lacks
            segment(3_000_000, near, 600, ACK),            // retransmission
            segment(2 * S, 77, 0, SYN),
            segment(2 * S + 1, 78, 5, ACK),
        ];
        let found = replay(&packets, &CaptureFilter::default()).unwrap();
        let ends = [[10, 0, 0, 1], [10, 0, 0, 2]].map(IpAddr::from);
        let expected =
            [(0, 1800), (2 * S as i64, 5)].map(|(at, bytes)| Transfer { at: Duration::from_nanos(at), bytes, ends });
        assert_eq!(found.transfers, expected);
        assert!(
            replay(&[segment(0, 5, 0, ACK)], &CaptureFilter::default()).unwrap().transfers.is_empty(),
            "without data"
        );
    }

    #[test]
    fn steps_of_the_clock_are_refused_by_place_or_taken_out() {
        let packets = [
            segment(5 * S, 1, 10, ACK),
            segment(6 * S, 11, 10, ACK),
            segment(S, 21, 10, ACK),
            segment(2 * S, 31, 10, ACK),
        ];
        let refused = replay(&packets, &CaptureFilter::default()).unwrap_err();
        assert!(refused.starts_with("between its packets 2 and 3 the clock steps back by 5.000 s"), "{refused}");
        let joined = replay(&packets, &CaptureFilter { join_clock: true, ..CaptureFilter::default() }).unwrap();
        let at: Vec<i64> = joined.flows[0].iter().map(|sent| sent.at.as_nanos() / S as i64).collect();
        assert_eq!((at, joined.repairs.clock_steps), (vec![0, 1, 1, 2], 1));
        let later = [segment(0, 1, 10, ACK), segment(7200 * S, 11, 10, ACK)];
        assert!(replay(&later, &CaptureFilter::default()).unwrap_err().contains("ahead by 7200.000 s"));
    }

    #[test]
    fn what_several_queues_of_a_card_put_out_of_order_is_sorted() {
        let packets = [segment(9_000_000, 1, 10, ACK), segment(0, 11, 20, ACK), segment(9_500_000, 31, 30, ACK)];
        let found = replay(&packets, &CaptureFilter::default()).unwrap();
        let sizes: Vec<u32> = found.flows[0].iter().map(|sent| sent.payload).collect();
        assert_eq!((sizes, found.repairs.reordered), (vec![20, 10, 30], 1));
        assert_eq!(found.flows[0][0].at, Duration::ZERO);
    }

    #[test]
    fn packets_that_are_there_twice_are_refused_left_out_or_kept() {
        let packets = [
            segment(0, 1, 10, ACK),
            CapturedPacket { ecn: 3, ..segment(40_000, 1, 10, ACK) },
            segment(2_000_000, 1, 10, ACK),
        ];
        let with = |duplicates| replay(&packets, &CaptureFilter { duplicates, ..CaptureFilter::default() });
        assert!(with(DuplicatePolicy::Refuse).unwrap_err().starts_with("1 of its 3 packets appear twice"));
        let dropped = with(DuplicatePolicy::Drop).unwrap();
        assert_eq!((dropped.packets(), dropped.repairs.duplicates), (2, 1), "a retransmission is none");
        assert_eq!(with(DuplicatePolicy::Keep).unwrap().packets(), 3);
        let alike = [segment(0, 1, 0, ACK), segment(10, 1, 0, ACK)];
        assert_eq!(replay(&alike, &CaptureFilter::default()).unwrap().packets(), 2, "two acknowledgments");
    }

    #[test]
    fn super_packets_are_counted_with_the_packets_that_they_are_cut_into() {
        let packets = [segment(0, 1, 14_480, ACK), segment(1, 1, 14_481, ACK), segment(2, 1, 1448, ACK)];
        assert_eq!(replay(&packets, &CaptureFilter::default()).unwrap().cut(1500), (2, 21));
    }
}
