//! netem in a shell: duplicates and corrupted packets are written, and their logs can be replayed.

use super::*;

#[test]
fn a_duplicate_is_written_like_its_original_and_before_it() {
    let kind = link("rate = 1 Gbit/s; aqm = netem delay 3ms duplicate 100%");
    let mut direction = Direction::new(config(kind, 0), 1).unwrap();
    let packet = TcpFrame { seq: 77, payload: vec![5; 333], ..TcpFrame::default() };
    direction.arrive(at(0), buffer(&packet.frame()));
    let mut kernel = RecordingSink::default();
    let times = drain(&mut direction, &mut kernel);
    assert_eq!((times.len(), kernel.frames[0] == kernel.frames[1]), (2, true));
    assert_eq!(checked(&kernel.frames[1]).2, 77);
    let counters = direction.finish().counters;
    assert_eq!((counters.offered, counters.arrived.0, counters.departed.0, counters.dropped), (2, 2, 2, 0));
}

#[test]
fn a_damaged_packet_differs_in_a_bit_from_one_whose_sums_are_right() {
    for version in [4, 6] {
        // A superframe is split, because each segment is corrupted by itself.
        let kind = link("rate = 1 Gbit/s; aqm = netem corrupt 100%");
        let mut direction = Direction::new(config(kind, 5000), 9).unwrap();
        let burst = TcpFrame { version, seq: 1000, payload: vec![9; 3 * 1448 + 55], ..TcpFrame::default() };
        direction.arrive(at(0), buffer(&burst.frame()));
        let mut kernel = RecordingSink::default();
        drain(&mut direction, &mut kernel);
        assert_eq!(kernel.frames.len(), 4, "none is joined with another");
        for (i, frame) in kernel.frames.iter().enumerate() {
            let ip = &frame[VNET..];
            assert_eq!(frame[..VNET], [0; VNET], "the kernel is to check it");
            let head = if version == 4 { 20 } else { 40 };
            let right = |ip: &[u8]| {
                let whole = header::sum(&ip[head..]) + pseudo(ip, ip.len() - head);
                let of_ip = version == 6 || header::fold(header::sum(&ip[..20])) == 0xffff;
                // No other checksum covers the headers.
                of_ip && header::fold(whole) == 0xffff
            };
            // Flipping one bit back restores the segment.
            let flipped_back = (0..ip.len() * 8).filter(|bit| {
                let mut repaired = ip.to_vec();
                repaired[bit / 8] ^= 1 << (bit % 8);
                right(&repaired)
                    && repaired[head + 4..head + 8] == (1000 + 1448 * i as u32).to_be_bytes()
                    && repaired[head + 32..].iter().all(|&byte| byte == 9)
            });
            assert!(flipped_back.count() >= 1, "IPv{version}, segment {i}");
        }
    }
}

#[test]
fn a_log_with_duplicates_is_replayed() {
    for aqm in ["netem delay 9ms 7ms 20% loss 3% duplicate 5%", "netem duplicate 9% corrupt 2% rate 7mbit { codel }"] {
        let kind = link(&format!("rate = 10 Mbit/s; aqm = {aqm}; limit = 200 packets"));
        let arrivals = made_up(3, 1000, Ecn::NotEct);
        let (head, records) = logged(config(kind, 50), 7, &arrivals);
        let found = replay(&head, &records).unwrap();
        assert_eq!((found.agreeing, found.first), (found.packets, None), "{aqm}");
        assert!(found.packets > 2500, "{aqm}: {found:?}");
    }
}
