use super::*;
use crate::event_loop::is_local_noise;
use crate::log;
use crate::path::{LogConfig, LogFormat};
use crate::shell::{Frame, PacketSummary};
use crate::topology::ends;
use proptest::prelude::*;
use sojourn_aqm::TcpView;
use sojourn_sim::capture;

proptest! {
    #[test]
    fn no_bytes_from_inside_break_a_direction(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let case = Case::from_bytes(&bytes);
        prop_assert_eq!(case.run(), Ok(()), "{:?}", bytes);
    }

    /// Logs and captures can be read again.
    #[test]
    fn no_bytes_from_inside_break_what_is_written_down(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let folder = tempfile::tempdir().unwrap();
        let (path, prefix) = (folder.path().join("records"), folder.path().join("capture"));
        let mut case = Case::from_bytes(&bytes);
        case.config.logs = vec![LogConfig { path: path.clone(), format: LogFormat::Records, command: "case".into() }];
        case.config.pcap = Some(prefix);
        prop_assert_eq!(case.run(), Ok(()), "{:?}", bytes);
        let (_, records) = log::read(&std::fs::read(path).unwrap()).unwrap();
        prop_assert_eq!(records.last().map(|record| record.kind), Some(log::RecordKind::End));
        for suffix in ["in", "out"] {
            let written = std::fs::read(folder.path().join(format!("capture.down.{suffix}.pcapng"))).unwrap();
            let read = capture::read(&written);
            prop_assert!(!read.as_ref().is_err_and(|error| error.contains("damaged")), "{:?}: {:?}", read, bytes);
        }
    }

    #[test]
    fn every_reader_takes_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        read_all(&bytes);
    }

    #[test]
    fn every_reader_takes_sound_packets_that_are_cut_off(
        bytes in prop::collection::vec(any::<u8>(), 0..40), cut in 0usize..140, tagged in any::<bool>()
    ) {
        let mut bytes = ByteReader(&bytes);
        let link = if tagged { link_header(&mut bytes) } else { Vec::new() };
        let mut frame = frame(&mut bytes);
        frame.truncate(cut);
        read_all(&frame);
        read_all(&[&frame[..VNET.min(cut).min(frame.len())], &link, &frame[VNET.min(frame.len())..]].concat());
    }
}

/// Passes bytes to every parser: as a frame with a virtio header, after a link-layer header, as a bare packet, and in
/// files.
fn read_all(bytes: &[u8]) {
    let _ = Vnet::parse(bytes);
    for from in [0, VNET.min(bytes.len())] {
        let packet = &bytes[from..];
        if let Some(headers) = Headers::parse(packet) {
            let head = &packet[..headers.end];
            let _ = (headers.ports(head), headers.tcp_flags(head), headers.seq(head), headers.length(head));
            let _ = headers.matches(head, &headers, head, 0);
        }
        let _ = (TcpView::of_ip(packet), ethernet::length(packet), ethernet::is_ip(packet), Headers::other(packet));
    }
    let _ = (PacketSummary::of(bytes), is_local_noise(bytes), ends(bytes));
    if let Some(Frame::Datagrams(burst)) = Frame::parse(bytes) {
        assert!(burst.payloads.iter().count() <= bytes.len().max(1));
    }
    read_capture(bytes);
    let text = [&(bytes.len() as u32).to_le_bytes(), bytes].concat();
    let _ = (log::read(bytes), log::read(&[log::MAGIC, &text[..]].concat()));
}

/// Parses bytes as a capture file, and as a frame in a capture of either format and of each link type.
fn read_capture(bytes: &[u8]) {
    let _ = capture::read(bytes);
    let length = (bytes.len() as u32).to_le_bytes();
    for link in [0u32, 1, 12, 101, 108, 113, 228, 276, 9] {
        let words = [0xa1b2_c3d4, 4 << 16 | 2, 0, 0, 262_144, link, 7, 9].map(u32::to_le_bytes);
        for size in [length, 0u32.to_le_bytes(), u32::MAX.to_le_bytes()] {
            let _ = capture::read(&[&words.concat()[..], &length, &size, bytes].concat());
        }
        let mut packet = [1u32.to_le_bytes(), [0; 4], [9; 4], length, length].concat();
        packet[0] = 0;
        packet.extend(bytes);
        packet.resize(packet.len().next_multiple_of(4), 0);
        let block = |kind: u32, body: &[u8]| {
            let size = (12 + body.len() as u32).to_le_bytes();
            [&kind.to_le_bytes(), &size[..], body, &size].concat()
        };
        let section = [0x1a2b_3c4d_u32, 1, u32::MAX, u32::MAX].map(u32::to_le_bytes).concat();
        let interface = [link, 262_144].map(u32::to_le_bytes).concat();
        let blocks = [block(0x0a0d_0d0a, &section), block(1, &interface), block(6, &packet)].concat();
        let found = capture::read(&blocks);
        assert!(!found.as_ref().is_err_and(|error| error.contains("damaged")), "{found:?}");
        let _ = capture::read(&[&blocks[..blocks.len() - 4], bytes].concat());
    }
}
