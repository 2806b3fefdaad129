//! Tests beyond those in Python, which cover all file formats: SACK blocks, and truncated frames.

use super::*;

/// A pcap file of raw IP frames with timestamps in ns.
fn file(frames: &[(u32, &[u8])]) -> Vec<u8> {
    let mut data = Vec::new();
    for word in [0xA1B2_3C4Du32, 2 | 4 << 16, 0, 0, 65_535, 101] {
        data.extend(word.to_le_bytes());
    }
    for &(fraction, frame) in frames {
        for word in [1_700_000_000, fraction, frame.len() as u32, frame.len() as u32] {
            data.extend(word.to_le_bytes());
        }
        data.extend(frame);
    }
    data
}

/// An acknowledgment with `options`, a multiple of four bytes.
fn segment(options: &[u8]) -> Vec<u8> {
    let size = (40 + options.len()) as u16;
    let mut ip = vec![0x45, 2, 0, 0, 0, 7, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    ip[2..4].copy_from_slice(&size.to_be_bytes());
    ip.extend([0x0F, 0xA0, 0, 80, 0, 0, 0, 9, 0, 0, 1, 0]);
    ip.extend([((20 + options.len()) as u8 / 4) << 4, 0x10, 0, 99, 0xAB, 0xCD, 0, 0]);
    ip.extend(options);
    ip
}

#[test]
fn blocks_of_sack_are_read_beside_other_options() {
    let mut options = vec![1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1, 5, 18];
    for number in [1000u32, 2448, 0xFFFF_FF00, 100] {
        options.extend(number.to_be_bytes());
    }
    let capture = read(&file(&[(3, &segment(&options)), (5, &segment(&[]))])).unwrap();
    let [with, without] = capture.packets[..] else { panic!("two packets") };
    assert_eq!(with.sack, [(1000, 2448), (0xFFFF_FF00, 100), (0, 0), (0, 0)]);
    assert_eq!((with.ack, with.ecn, with.checksum, with.payload), (256, 2, 0xABCD, 0));
    assert_eq!((without.sack, without.time_ns), ([(0, 0); 4], 1_700_000_000_000_000_005));
}

#[test]
fn options_that_lie_about_their_length_are_no_blocks() {
    for options in [[5, 255, 0, 0], [5, 0, 0, 0], [5, 1, 9, 9], [8, 200, 0, 0]] {
        let mut padded = vec![1; 8];
        padded.extend(options);
        let capture = read(&file(&[(0, &segment(&padded))])).unwrap();
        assert_eq!(capture.packets[0].sack, [(0, 0); 4], "{options:?}");
    }
}

#[test]
fn a_frame_cut_within_any_header_is_left_out_and_counted() {
    let whole = segment(&[]);
    for kept in 0..20 + 14 {
        let capture = read(&file(&[(0, &whole[..kept]), (1, &whole)])).unwrap();
        assert_eq!((capture.packets.len(), capture.left_out()), (1, 1), "{kept} bytes");
    }
}

#[test]
fn a_note_names_a_limited_number_of_kinds() {
    let whole = segment(&[]);
    let mut frames = vec![(0, whole.clone())];
    for protocol in 140..200 {
        let mut other = whole.clone();
        other[9] = protocol;
        frames.push((u32::from(protocol), other));
    }
    let frames: Vec<(u32, &[u8])> = frames.iter().map(|(at, frame)| (*at, frame.as_slice())).collect();
    let notes = read(&file(&frames)).unwrap().notes();
    assert_eq!(notes.len(), 1);
    assert!(notes[0].starts_with("60 packets are left out: 1 IP protocol 140, "), "{notes:?}");
    assert!(notes[0].ends_with("1 IP protocol 159, and 40 other kinds"), "{notes:?}");
}
