//! Packets with a flipped bit, as by netem's `corrupt`. Their checksums are completed before, so that the receiver
//! detects the flip.

use super::header::{NEEDS_CSUM, VNET, fold, sum};
use super::packet_header::own_head;
use super::packets::{BitFlip, FrameBuffer, Packet};

/// A single packet with `flip` applied: a virtio header without offloads, and IP.
pub fn damaged(page: &FrameBuffer, packet: &Packet, flip: BitFlip) -> Vec<u8> {
    let headers = &page.headers;
    let mut frame = vec![0; VNET + headers.end];
    own_head(page, packet, &mut frame[VNET..]);
    frame.extend_from_slice(page.payload(packet));
    let ip = &mut frame[VNET..];
    let vnet = &page.vnet;
    let (from, offset) =
        if page.split { (headers.at, headers.checksum_offset()) } else { (vnet.csum_start.into(), vnet.csum_offset) };
    let field = from + offset as usize;
    let incomplete = page.split || vnet.flags & NEEDS_CSUM != 0;
    let whole = ip.get(from..).map(|covered| !fold(sum(covered)));
    // The field holds the checksum of the pseudo-header (`skb_checksum_help`).
    if let (true, Some(whole), Some(sum)) = (incomplete, whole, ip.get_mut(field..field + 2)) {
        sum.copy_from_slice(&whole.to_be_bytes());
    }
    // An Ethernet frame may end after its link-layer header.
    if let Some(byte) = (flip.byte as usize).checked_rem(ip.len()) {
        ip[byte] ^= 1 << flip.bit;
    }
    frame
}
