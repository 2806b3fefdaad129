//! Packet captures as columns; the simulator's crate parses them.

use crate::error::input;
use crate::output::columns;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_sim::capture::{self, CapturedPacket};
use sojourn_sim::{Column, Table};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// TCP segments and UDP datagrams of a pcap or pcapng file, their SACK blocks, the texts of their addresses by number,
/// and notes on what could not be used.
#[pyfunction]
pub fn read_capture<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Read<'py>> {
    let capture = py.detach(|| capture::read(data)).map_err(input)?;
    let mut numbers = BTreeMap::new();
    for packet in &capture.packets {
        for (address, _) in [packet.source, packet.destination] {
            numbers.entry(address).or_insert(0);
        }
    }
    numbers.values_mut().zip(0..).for_each(|(number, index)| *number = index);
    let addresses = numbers.keys().map(IpAddr::to_string).collect();
    let packets = columns(py, packets(&capture.packets, &numbers))?;
    let blocks = columns(py, blocks(&capture.packets))?;
    Ok((packets, blocks, addresses, capture.notes()))
}

type Read<'py> = (Bound<'py, PyDict>, Bound<'py, PyDict>, Vec<String>, Vec<String>);

fn packets(packets: &[CapturedPacket], numbers: &BTreeMap<IpAddr, u32>) -> Table {
    let u8s = |of: fn(&CapturedPacket) -> u8| Column::U8(packets.iter().map(of).collect());
    let u32s = |of: fn(&CapturedPacket) -> u32| Column::U32(packets.iter().map(of).collect());
    let ends =
        |of: fn(&CapturedPacket) -> IpAddr| Column::U32(packets.iter().map(|packet| numbers[&of(packet)]).collect());
    let columns = [
        ("time_ns", Column::U64(packets.iter().map(|packet| packet.time_ns).collect())),
        ("source", ends(|packet| packet.source.0)),
        ("source_port", u32s(|packet| packet.source.1.into())),
        ("destination", ends(|packet| packet.destination.0)),
        ("destination_port", u32s(|packet| packet.destination.1.into())),
        ("protocol", u8s(|packet| packet.is_tcp.into())),
        ("identification", u32s(|packet| packet.identification.into())),
        ("seq", u32s(|packet| packet.seq)),
        ("ack", u32s(|packet| packet.ack)),
        ("flags", u8s(|packet| packet.flags)),
        ("payload", u32s(|packet| packet.payload)),
        ("ecn", u8s(|packet| packet.ecn)),
        ("ip_bytes", u32s(|packet| packet.ip_bytes)),
    ];
    Table { name: "packets", columns: columns.map(|(name, column)| (name.to_string(), column)).to_vec() }
}

/// Row of the packet, first sequence number and end of each SACK block.
fn blocks(packets: &[CapturedPacket]) -> Table {
    let found = || {
        let of = |(row, packet): (u32, &CapturedPacket)| packet.sack.map(|(first, end)| (row, first, end));
        (0..).zip(packets).flat_map(of).filter(|&(_, first, end)| first != end)
    };
    let columns = [
        ("row", found().map(|block| block.0).collect()),
        ("first", found().map(|block| block.1).collect()),
        ("end", found().map(|block| block.2).collect()),
    ];
    Table { name: "blocks", columns: columns.map(|(name, values)| (name.to_string(), Column::U32(values))).to_vec() }
}
