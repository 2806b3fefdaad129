//! Link-layer headers of an interface's frames, kept unchanged.
//!
//! Sources: IEEE 802.3 §3.2.6 (the field after the addresses), IEEE 802.1Q §9.6 (tags of four bytes). A frame that is
//! not IP is queued and sent like others; its flow is its link-layer header.

use super::buffer::{Buffer, MAX_LINK, MAX_TAGS};
use super::header::VNET;
use sojourn_aqm::headers::u16_at;

/// Length of the link-layer header at the start of `frame`, with up to two VLAN tags; `None` if the frame is too short.
pub fn length(frame: &[u8]) -> Option<usize> {
    let mut at = 12;
    for _ in 0..MAX_TAGS {
        if !TAGS.contains(&u16_at(frame, at)?) {
            break;
        }
        at += 4;
    }
    u16_at(frame, at).map(|_| at + 2)
}

/// Whether the type in the link-layer header `link` is IP.
pub fn is_ip(link: &[u8]) -> bool {
    link.last_chunk::<2>().is_some_and(|kind| IP.contains(&u16::from_be_bytes(*kind)))
}

/// Moves the link-layer header of a frame before its virtio header, whose offsets then count from the IP header;
/// returns its length.
pub fn split(buffer: &mut Buffer) -> Option<usize> {
    let link = length(buffer.frame().get(VNET..)?)?;
    let frame = buffer.frame_mut();
    frame[..VNET + link].rotate_left(VNET);
    shift(&mut frame[link..link + VNET], |at| at.saturating_sub(link as u16));
    Some(link)
}

/// Reverts [`split`]: writes the virtio header `vnet` and the link-layer header `link` to `out`; returns their length.
pub fn join(vnet: &[u8], link: &[u8], out: &mut [u8; VNET + MAX_LINK]) -> usize {
    out[..VNET].copy_from_slice(&vnet[..VNET]);
    out[VNET..VNET + link.len()].copy_from_slice(link);
    shift(&mut out[..VNET], |at| at.saturating_add(link.len() as u16));
    VNET + link.len()
}

/// Applies `change` to the offsets in the virtio header, `hdr_len` and `csum_start`, unless they are unused.
fn shift(vnet: &mut [u8], change: impl Fn(u16) -> u16) {
    for at in [2, 6] {
        let field = u16::from_ne_bytes([vnet[at], vnet[at + 1]]);
        if field > 0 {
            vnet[at..at + 2].copy_from_slice(&change(field).to_ne_bytes());
        }
    }
}

/// Types of customer and service-provider tags.
const TAGS: [u16; 2] = [0x8100, 0x88a8];
const IP: [u16; 2] = [0x0800, 0x86dd];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::Pool;

    #[test]
    fn a_links_header_goes_before_the_virtio_header_and_back() {
        for (tags, link) in [(&[][..], 14), (&[0x81, 0, 0, 7][..], 18), (&[0x88, 0xa8, 0, 9, 0x81, 0, 0, 7][..], 22)] {
            // The checksum to be completed begins 20 bytes into IP.
            let mut vnet = [1, 0, 0, 0, 0, 0, 0, 0, 16, 0];
            vnet[6..8].copy_from_slice(&(link as u16 + 20).to_ne_bytes());
            let frame = [&vnet[..], &[2; 6], &[4; 6], tags, &[0x08, 0, 0x45, 0, 0, 20]].concat();
            let mut buffer = Pool::new().take();
            buffer.room()[..frame.len()].copy_from_slice(&frame);
            buffer.set_len(frame.len());
            assert_eq!(split(&mut buffer), Some(link));
            let (before, packet) = buffer.frame().split_at(link);
            assert!(is_ip(before));
            assert_eq!((u16::from_ne_bytes([packet[6], packet[7]]), &packet[VNET..]), (20, &[0x45, 0, 0, 20][..]));
            let mut out = [0; VNET + MAX_LINK];
            let size = join(packet, before, &mut out);
            assert_eq!([&out[..size], &packet[VNET..]].concat(), frame);
        }
    }

    #[test]
    fn what_is_too_short_is_no_frame() {
        let mut buffer = Pool::new().take();
        for size in [0, VNET, VNET + 13] {
            buffer.set_len(size);
            assert_eq!(split(&mut buffer), None);
        }
    }
}
