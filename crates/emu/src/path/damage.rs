//! Packets with a flipped bit, as netem damages them: their sums are complete before, so that whoever receives one can tell.

use super::header::{NEEDS_CSUM, VNET, fold, sum};
use super::packet_header::own_head;
use super::packets::{BitFlip, FrameBuffer, Packet};

/// A packet alone with `flip`: a virtio header that asks for nothing, and IP.
pub fn damaged(page: &FrameBuffer, packet: &Packet, flip: BitFlip) -> Vec<u8> {
    let about = &page.headers;
    let mut frame = vec![0; VNET + about.end];
    own_head(page, packet, &mut frame[VNET..]);
    frame.extend_from_slice(page.payload(packet));
    let ip = &mut frame[VNET..];
    let vnet = &page.vnet;
    let (from, offset) =
        if page.split { (about.at, about.checksum_offset()) } else { (vnet.csum_start.into(), vnet.csum_offset) };
    let field = from + offset as usize;
    let incomplete = page.split || vnet.flags & NEEDS_CSUM != 0;
    let whole = ip.get(from..).map(|covered| !fold(sum(covered)));
    // What is there is the sum of the pseudo-header (`skb_checksum_help`).
    if let (true, Some(whole), Some(sum)) = (incomplete, whole, ip.get_mut(field..field + 2)) {
        sum.copy_from_slice(&whole.to_be_bytes());
    }
    // A frame of Ethernet may have nothing behind its link's header.
    if let Some(place) = (flip.byte as usize).checked_rem(ip.len()) {
        ip[place] ^= 1 << flip.bit;
    }
    frame
}
