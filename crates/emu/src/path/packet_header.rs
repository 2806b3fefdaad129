//! Headers of a single packet, derived from those of its frame.

use super::header::{CWR, FIN, PSH, Segment, TCP, patch, patch_ecn};
use super::packets::{FrameBuffer, Packet};

/// Writes the headers of a single packet, without a virtio header, as far as they fit; returns their length.
pub fn own_head(page: &FrameBuffer, packet: &Packet, out: &mut [u8]) -> usize {
    let size = page.headers.end.min(out.len());
    let head = &mut out[..size];
    head.copy_from_slice(&page.head()[..size]);
    if size < page.headers.end {
        return size;
    }
    if page.split {
        let Packet { offset, index, len, ecn, .. } = *packet;
        patch(head, &page.headers, Segment { offset, index, payload: len.into(), ecn });
        if page.headers.transport == TCP {
            head[page.headers.at + 13] = flags(page, packet);
        }
    } else if packet.ecn != page.headers.ecn {
        patch_ecn(head, &page.headers, packet.ecn);
    }
    size
}

/// TCP flags of a packet: CWR only on the first segment, PSH and FIN only on the last.
pub fn flags(page: &FrameBuffer, packet: &Packet) -> u8 {
    let mut flags = page.headers.tcp_flags(page.head());
    if packet.index > 0 {
        flags &= !CWR;
    }
    if !packet.last {
        flags &= !(PSH | FIN);
    }
    flags
}
