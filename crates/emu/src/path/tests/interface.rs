//! Frames of an interface, including those that are not IP.

use super::*;

/// A frame of type `kind` with `payload` after the link-layer header.
fn frame(kind: u16, payload: &[u8]) -> Vec<u8> {
    [&[0; VNET][..], &[2; 6], &[4; 6], &kind.to_be_bytes(), payload].concat()
}

#[test]
fn a_frame_with_less_than_a_header_passes_as_it_came() {
    for (kind, window, size) in [0x0800, 0x86dd, 0x0806, 0x88cc]
        .into_iter()
        .flat_map(|k| [(k, 0), (k, 50)])
        .flat_map(|(k, w)| (0..48).map(move |s| (k, w, s)))
    {
        let sent = frame(kind, &vec![0x45; size]);
        let mut direction =
            Direction::new(DirectionConfig { ethernet: true, ..config(link("rate = 1 Gbit/s"), window) }, 1).unwrap();
        direction.arrive(at(0), buffer(&sent));
        let mut kernel = RecordingSink::default();
        drain(&mut direction, &mut kernel);
        assert_eq!(kernel.frames, [sent], "{size} bytes of {kind:#x}");
    }
}

#[test]
fn a_frame_is_damaged_behind_its_links_header_if_anything_is_there() {
    for size in 0..8 {
        let sent = frame(0x88cc, &vec![0; size]);
        let kind = link("rate = 1 Gbit/s; aqm = netem corrupt 100%");
        let mut direction = Direction::new(DirectionConfig { ethernet: true, ..config(kind, 0) }, 1).unwrap();
        direction.arrive(at(0), buffer(&sent));
        let mut kernel = RecordingSink::default();
        drain(&mut direction, &mut kernel);
        let flipped: u32 = sent.iter().zip(&kernel.frames[0]).map(|(a, b)| (a ^ b).count_ones()).sum();
        assert_eq!((kernel.frames[0].len(), flipped), (sent.len(), (size > 0).into()), "{size} bytes");
    }
}

#[test]
fn a_packet_longer_than_any_length_field_is_thrown_away() {
    let mut direction =
        Direction::new(DirectionConfig { ethernet: true, ..config(PathKind::Loss(None), 50) }, 1).unwrap();
    for size in [65_535, 65_536] {
        direction.arrive(at(0), buffer(&frame(0x88cc, &vec![1; size])));
    }
    assert_eq!((direction.counters().arrived, direction.counters().malformed), ((1, 65_535), 1));
}
